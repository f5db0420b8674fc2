//! The text output of `correct`.

use mastermind_correction::{
    End, Errors, HeldOutErrors, Outcome, Report, SemiEmpirical, Specification,
};

use super::Elsewhere;
use super::document::refusal;
use crate::output;

/// Prints all of it.
pub fn print(specification: &Specification, report: &Report, elsewhere: &[Elsewhere]) {
    output::line(format!("{}: {}", specification.name, specification.formula));
    print_base(specification, "squared residuals", &report.squared);
    if let Some(relative) = &report.relative {
        print_base(specification, "relative residuals", relative);
    }
    let (_, errors) = report.base();
    if report.is_good_enough {
        output::line(format!(
            "\nthe formula is good enough: {} relative error at the training points; no correction",
            percent(errors.rrmse_train)
        ));
        return;
    }
    if let Some(control) = report.control {
        output::line(format!(
            "\ninterpolating the ratio to the base, without a search: {} relative error at the test points",
            percent(control)
        ));
    }
    output::line(format!("\n{}", trials(report)));
    match report.best() {
        Some(best) => {
            let Some(corrected) = best.corrected() else {
                return;
            };
            let [low, high] = corrected.ratio_range();
            output::line(format!(
                "\nbest at points held out: case {}, seed {}\n  {}\n  held from {:.2} to {:.2} times the base; the gain is evidence for {:.0} % of this correction, which is what counts",
                best.case.number(),
                best.seed,
                corrected.shown(specification),
                low,
                high,
                100.0 * corrected.share()
            ));
            if let Some(held_out) = corrected.held_out() {
                output::line(error("within the points", &held_out.within));
                output::line(held_out.beyond.as_ref().map_or_else(
                    || "  beyond them nothing was held out: no input has values enough".into(),
                    |errors| error("beyond them", errors),
                ));
            }
            if corrected.n_members() > 1 {
                output::line(format!(
                    "  a weighted geometric mean of {} models that the points speak for nearly as much; the range is that of the first, which alone is\n  {}\n  --single writes it",
                    corrected.n_members(),
                    corrected.alone().shown(specification)
                ));
            }
        }
        None => {
            let why = report.trials.iter().find_map(|trial| match &trial.outcome {
                Outcome::Refused(why) => Some(refusal(why)),
                Outcome::Accepted(_) => None,
            });
            output::line(format!(
                "\nno term was accepted, the formula stands: {}",
                why.unwrap_or_else(|| "no trial was made".into())
            ));
        }
    }
    for there in elsewhere {
        let pairs = specification.unknowns.keys().zip(&there.model.unknowns);
        let values: Vec<String> = pairs.map(|(n, v)| format!("{n} = {v:.3e}")).collect();
        output::line(format!(
            "on the other machine, case {}: {} relative error at its test points, {}",
            there.case.number(),
            there.errors.rrmse_test.map_or_else(|| "no".into(), percent),
            values.join(", ")
        ));
    }
}

/// Errors at points that the search did not use.
fn error(place: &str, errors: &HeldOutErrors) -> String {
    format!(
        "  relative error {place}, held out of the search: {}, of the base {}, of the first tree alone {}",
        percent(errors.corrected),
        percent(errors.base),
        percent(errors.single)
    )
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

fn print_base(specification: &Specification, what: &str, (fit, errors): &(SemiEmpirical, Errors)) {
    let test = errors
        .rrmse_test
        .map(|e| format!(", {} at the test points", percent(e)));
    output::line(format!(
        "\nfitted to {what}: {} relative error at the training points{}",
        percent(errors.rrmse_train),
        test.unwrap_or_default()
    ));
    let header = ["UNKNOWN", "VALUE", "STD ERROR", "UNIT", "BOUND"];
    let rows = specification.unknowns.iter().enumerate();
    let rows = rows.map(|(place, (name, unknown))| {
        let bound = match fit.at_bound[place] {
            Some(End::Lower) => "at the lower bound",
            Some(End::Upper) => "at the upper bound",
            None => "",
        };
        let error = fit.std_errors[place].map_or_else(|| "-".into(), |e| format!("{e:.2e}"));
        let value = format!("{:.4e}", fit.values[place]);
        vec![
            name.clone(),
            value,
            error,
            unknown.unit.clone(),
            bound.into(),
        ]
    });
    output::line(output::table(&header, &[1, 2], rows));
    for finding in &fit.findings {
        output::line(format!("note: {finding}"));
    }
}

/// The paper's Figures 7 and 12 as a table.
fn trials(report: &Report) -> String {
    let header = [
        "CASE",
        "TRIALS",
        "ACCEPTED",
        "BETTER %",
        "WORSE %",
        "MEDIAN REDUCTION %",
        "BEST %",
        "VS SQUARED %",
        "VS RELATIVE %",
    ];
    let rows = report.summary.iter().map(|summary| {
        let number = |value: Option<f64>| value.map_or_else(|| "-".into(), |x| format!("{x:.1}"));
        let chosen = summary.chosen.as_ref();
        vec![
            summary.case.number().to_string(),
            summary.trials.to_string(),
            summary.accepted.to_string(),
            number(chosen.map(|c| c.better_percent)),
            number(chosen.map(|c| c.worse_percent)),
            number(chosen.map(|c| c.median_reduction_percent)),
            number(chosen.map(|c| c.best_reduction_percent)),
            number(summary.against_squared.map(|c| c.median_reduction_percent)),
            number(summary.against_relative.map(|c| c.median_reduction_percent)),
        ]
    });
    output::table(&header, &[1, 2, 3, 4, 5, 6, 7, 8], rows)
}
