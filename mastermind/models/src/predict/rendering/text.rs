//! Models as plain text.

use std::fmt::Write as _;

use super::{range, title};
use crate::formula::sum::short;
use crate::select::model::Model;

/// One paragraph per model.
pub(super) fn sheets(models: &[Model]) -> String {
    let sheets: Vec<_> = models.iter().map(sheet).collect();
    sheets.join("\n")
}

fn sheet(model: &Model) -> String {
    let mut text = format!("{}, {}\n", title(model), model.metric.quantity());
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "  {name:<12} {value}");
    };
    line("T", model.metric.with_unit(&model.expression));
    if let Some(sigma) = &model.sigma {
        line("sigma", model.metric.with_unit(&sigma.to_string()));
    }
    line("form", model.family.to_string());
    for (name, value) in average(model) {
        line(name, value);
    }
    for coefficient in &model.coefficients {
        let value = short(coefficient.value);
        let unit = match coefficient.unit.as_str() {
            "" => String::new(),
            unit => format!(" {unit}"),
        };
        let error = match coefficient.std_error {
            Some(error) => format!("{value} +- {}{unit}", short(error)),
            None => format!("{value}{unit}, error unknown"),
        };
        line(&coefficient.name, error);
    }
    line("fit", measures(model));
    let range = range(model);
    if !range.is_empty() {
        line("range", range);
    }
    let refused = match model.n_refused {
        0 => String::new(),
        n => format!(", {n} not taken"),
    };
    line(
        "samples",
        format!(
            "{} calls at {} coordinates{refused}",
            model.n_records, model.n_points
        ),
    );
    for note in &model.notes {
        line("note", note.to_string());
    }
    text
}

/// The formulas that predictions average over; empty where the shown formula is the only one.
fn average(model: &Model) -> Vec<(&'static str, String)> {
    let parts = &model.alternatives;
    let Some(likeliest) = parts.iter().max_by(|a, b| a.weight.total_cmp(&b.weight)) else {
        return Vec::new();
    };
    let mut lines = vec![(
        "weight",
        format!(
            "{} of {} credible formulas; predictions are their median by weight",
            percent(model.weight()),
            parts.len()
        ),
    )];
    if likeliest.weight > model.weight() {
        let formula = model.metric.with_unit(&likeliest.formula.to_string());
        lines.push((
            "likeliest",
            format!("{}: {formula}", percent(likeliest.weight)),
        ));
    }
    lines
}

/// `62 %`, `0.31 %`.
fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    let digits = if percent < 1.0 { 2 } else { 0 };
    format!("{percent:.digits$} %")
}

fn measures(model: &Model) -> String {
    let mut list = Vec::new();
    if let Some(r2) = model.r2 {
        list.push(format!("R2 {r2:.5}"));
    }
    if let Some(r2) = model.r2_adjusted {
        list.push(format!("adjusted {r2:.5}"));
    }
    list.push(format!("SMAPE {:.3} %", model.smape));
    match model.cv_smape {
        Some(cv) => list.push(format!("cross-validated {cv:.3} %")),
        None => list.push("not cross-validated".into()),
    }
    if let Some(aicc) = model.aicc {
        list.push(format!("AICc {aicc:.1}"));
    }
    if let Some(bic) = model.bic {
        list.push(format!("BIC {bic:.1}"));
    }
    list.join(", ")
}
