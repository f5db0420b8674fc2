//! Corrections of the EVH1 formula: their gain, their repeatability, and that they are models like any other.

use mastermind_correction::{
    Case, Corrected, Outcome, Plan, Refusal, Residuals, SemiEmpirical, Settings, Specification,
    Table, correct, procedure, relative_error,
};
use mastermind_models::{Coordinate, Metric, ModelSet, predict};
use proptest::prelude::*;

const SPECIFICATION: &str = include_str!("../../../examples/semi-empirical/evh1.toml");
const DATA: &str = include_str!("../../../examples/semi-empirical/evh1.csv");

fn example() -> (Specification, Table) {
    let specification = Specification::from_toml(SPECIFICATION).unwrap();
    let table = Table::from_csv(DATA.as_bytes(), &specification).unwrap();
    (specification, table)
}

/// A smaller search, for time.
fn plan(n_trials: usize) -> Plan {
    let mut plan = Plan {
        n_trials,
        ..Plan::default()
    };
    plan.settings.search.population = 600;
    plan.settings.search.generations = 40;
    plan
}

#[test]
fn all_cases_improve_on_both_bases_and_repeat() {
    let (specification, table) = example();
    let report = procedure(&specification, &table, &plan(4), &|_| ()).unwrap();
    let again = procedure(&specification, &table, &plan(4), &|_| ()).unwrap();
    let base = report.base().1.rrmse_test.unwrap();
    assert_eq!(report.summary.len(), 4);
    for (summary, case) in report.summary.iter().zip(Case::ALL) {
        assert_eq!(summary.case, case);
        let against = summary.chosen.expect("test points");
        assert!(
            against.median_reduction_percent > 15.0,
            "{summary:?} of {base}"
        );
    }
    for (a, b) in report.trials.iter().zip(&again.trials) {
        assert_eq!(
            a.errors.rmse_test.map(f64::to_bits),
            b.errors.rmse_test.map(f64::to_bits)
        );
    }
}

#[test]
fn a_formula_that_is_good_enough_is_left_alone() {
    let (specification, mut table) = example();
    table.observed = specification.evaluate(&table, &[2.45e-8, 1.13, 1.69e-5, 1.62e-7]);
    let report = procedure(&specification, &table, &plan(1), &|_| ()).unwrap();
    assert!(report.is_good_enough && report.trials.is_empty());
}

#[test]
fn without_contention_the_base_is_not_made_worse() {
    let (specification, mut table) = example();
    let mut rng = fastrand::Rng::with_seed(5);
    let exact = specification.evaluate(&table, &[2.45e-8, 1.13, 1.69e-5, 1.62e-7]);
    let mut noise = || (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0;
    table.observed = exact.iter().map(|t| t * (1.0 + 0.03 * noise())).collect();
    let (train, test) = (table.part(true), table.part(false));
    let base = SemiEmpirical::fit(&specification, &train, Residuals::Relative).unwrap();
    let error = |times: Vec<f64>| relative_error(&test.observed, &times);
    let of_base = error(specification.evaluate(&test, &base.values));
    // The errors of the corrected models divided by that of the base, and the number of refused
    // ones.
    let errors = |settings: &Settings| {
        let trials = Case::ALL
            .into_iter()
            .flat_map(|case| [1, 2, 3].map(|seed| (case, seed)));
        let of = |(case, seed)| {
            let outcome = correct(&specification, &train, &base, case, seed, settings).unwrap();
            match outcome {
                Outcome::Accepted(corrected) => {
                    error(corrected.predict(&specification, &test)) / of_base
                }
                Outcome::Refused(_) => 1.0,
            }
        };
        trials.map(of).collect::<Vec<f64>>()
    };
    let mut settings = plan(1).settings;
    let usual = errors(&settings);
    assert!(usual.iter().all(|e| *e < 1.05), "{usual:?}");
    // Points held out of the search protect where neither the price of a term nor the shrinkage of a small gain does.
    (settings.search.node_price, settings.evidence) = (0.0, 1e-9);
    let whole = errors(&settings);
    let n_worse = whole.iter().filter(|e| **e >= 1.05).count();
    assert!(n_worse <= 1, "{whole:?}");
}

#[test]
fn a_correction_that_points_held_out_speak_against_is_refused() {
    let (specification, table) = example();
    let train = table.part(true);
    let base = SemiEmpirical::fit(&specification, &train, Residuals::Relative).unwrap();
    let mut settings = plan(1).settings;
    settings.held_out = 1e-3;
    let outcome = correct(&specification, &train, &base, Case::One, 1, &settings).unwrap();
    let Outcome::Refused(Refusal::HeldOut { base, corrected }) = outcome else {
        panic!("{outcome:?}");
    };
    assert!(corrected < base && base < 1.0, "{corrected} {base}");
}

#[test]
fn more_inputs_than_a_term_takes_are_refused() {
    let names: Vec<String> = (0..40).map(|k| format!("x{k}")).collect();
    let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    let text = format!(
        "name = \"many\"\nobservation = \"t\"\ninputs = [{}]\nformula = \"a + {}\"\n[unknowns]\na = {{ lower = 0, upper = 9 }}",
        quoted.join(", "),
        names.join(" + ")
    );
    let specification = Specification::from_toml(&text).unwrap();
    let mut rng = fastrand::Rng::with_seed(1);
    let train = Table {
        inputs: (0..40)
            .map(|_| (0..50).map(|_| 1.0 + rng.f64()).collect())
            .collect(),
        observed: (0..50).map(|_| 50.0 + 40.0 * rng.f64()).collect(),
        weights: vec![1.0; 50],
        is_train: vec![true; 50],
        lines: (2..52).collect(),
    };
    let base = SemiEmpirical::fit(&specification, &train, Residuals::Relative).unwrap();
    let settings = plan(1).settings;
    let error = correct(&specification, &train, &base, Case::One, 1, &settings).unwrap_err();
    let message = error.to_string();
    assert!(
        message.contains("40 inputs that vary") && message.contains("expected at most 31"),
        "{message}"
    );
}

/// One corrected model a case.
fn corrected() -> Vec<(Specification, Table, Corrected)> {
    let (specification, table) = example();
    let train = table.part(true);
    let base = SemiEmpirical::fit(&specification, &train, Residuals::Relative).unwrap();
    let of = |case| match correct(&specification, &train, &base, case, 7, &plan(1).settings)
        .unwrap()
    {
        Outcome::Accepted(corrected) => Some((specification.clone(), train.clone(), *corrected)),
        Outcome::Refused(_) => None,
    };
    Case::ALL.into_iter().filter_map(of).collect()
}

#[test]
fn a_corrected_model_is_a_model_like_any_other() {
    let found = corrected();
    assert!(!found.is_empty());
    assert!(
        found
            .iter()
            .any(|(_, _, corrected)| corrected.n_members() > 1)
    );
    for (specification, train, corrected) in found {
        let model = corrected.model(&specification, &train).unwrap();
        let set = ModelSet {
            models: vec![model],
        };
        let set = ModelSet::from_json(&set.to_json().unwrap()).unwrap();
        for (nx, np, t) in [
            (256.0, 4.0, 0.5),
            (2048.0, 256.0, 1.0),
            (777.0, 100.0, 3.0),
            (9e4, 1e5, 1.0),
            (1.0, 1.0, 1.0),
        ] {
            let point = Table {
                inputs: vec![vec![nx], vec![np], vec![t]],
                observed: vec![1.0],
                weights: vec![1.0],
                is_train: vec![true],
                lines: vec![1],
            };
            let at = Coordinate::new().with("nx", nx).with("np", np).with("T", t);
            let model = set.find(&specification.name, Metric::Wall, &at).unwrap();
            let prediction = predict(model, &at).unwrap();
            let own = corrected.predict(&specification, &point)[0];
            assert!(
                (prediction.value_s / own - 1.0).abs() < 1e-6,
                "{prediction:?} {own}: {}",
                corrected.shown(&specification)
            );
            assert!(
                prediction.lower_s < own
                    && own < prediction.upper_s
                    && prediction.upper_s.is_finite()
            );
        }
    }
}

#[test]
fn far_away_the_correction_goes_back_to_the_base() {
    for (specification, train, corrected) in corrected() {
        let fitted = SemiEmpirical::fit(&specification, &train, Residuals::Relative).unwrap();
        let highest = train.inputs[1].iter().copied().fold(0.0, f64::max);
        let ratio = |np: f64| {
            let mut far = train.at(&[0]);
            (far.inputs[0][0], far.inputs[1][0]) = (2048.0, np);
            let of = |unknowns: &[f64]| specification.evaluate(&far, unknowns)[0].ln();
            // Without a term: the base with as much of its own searched parameters as counts.
            let share = corrected.share();
            let bases = corrected.bases();
            let searched: f64 = bases.map(|(weight, unknowns)| weight * of(unknowns)).sum();
            let base = (1.0 - share) * of(&fitted.values) + share * searched;
            (corrected.predict(&specification, &far)[0].ln() - base).abs()
        };
        let [low, high] = corrected.ratio_range();
        let most = low.ln().abs().max(high.ln().abs());
        assert!(
            ratio(1e6 * highest) <= most / 5.0,
            "{}",
            ratio(1e6 * highest)
        );
    }
}

/// The root mean square relative error at times of the example's machine without noise, and the model; median of three searches.
///
/// # Arguments
/// * `calibration` - how well the unknowns of the base are known
fn error_without_noise(case: Case, calibration: f64, forms: usize) -> (f64, String) {
    let (mut specification, mut table) = example();
    let known = [2.45e-8, 1.13, 1.69e-5, 1.62e-7];
    table.observed = machine_without_noise(&specification, &table, &known);
    for (unknown, value) in specification.unknowns.values_mut().zip(known) {
        unknown.lower = unknown.lower.max(value / calibration);
        unknown.upper = unknown.upper.min(value * calibration);
    }
    let (train, test) = (table.part(true), table.part(false));
    let base = SemiEmpirical::fit(&specification, &train, Residuals::Relative).unwrap();
    let mut settings = plan(1).settings;
    (settings.noise, settings.search.forms) = (1e-3, forms);
    let of = |seed| match correct(&specification, &train, &base, case, seed, &settings).unwrap() {
        Outcome::Accepted(corrected) => (
            relative_error(&test.observed, &corrected.predict(&specification, &test)),
            corrected.shown(&specification),
        ),
        Outcome::Refused(why) => panic!("{why:?}"),
    };
    let mut found = [1, 2, 3].map(of);
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    found[1].clone()
}

/// Contention that begins at 24 processes is no sum of products of powers and logarithms.
#[test]
fn a_threshold_is_found_where_the_search_begins_with_such_forms() {
    let (with, shown) = error_without_noise(Case::Two, 1.001, 300);
    let (without, _) = error_without_noise(Case::Two, 1.001, 0);
    println!("{with} {without} {shown}");
    assert!(
        with < 0.01 && with < 0.5 * without,
        "{with} {without} {shown}"
    );
    assert!(shown.contains("max(0, "), "{shown}");
}

/// The fit has put contention into the unknowns, which a term of the inputs alone takes back by the slopes.
#[test]
fn a_term_that_is_added_takes_back_what_the_fit_put_into_the_unknowns() {
    let (error, shown) = error_without_noise(Case::Two, 1e9, 300);
    println!("{error} {shown}");
    assert!(error < 0.05, "{error} {shown}");
}

/// Times of a machine with the parameters `unknowns` and the contention of the example, no more than the formula lacks.
fn machine_without_noise(
    specification: &Specification,
    table: &Table,
    unknowns: &[f64],
) -> Vec<f64> {
    let base = specification.evaluate(table, unknowns);
    let time = |(i, base): (usize, &f64)| {
        let [nx, np, t] = [0, 1, 2].map(|input| table.inputs[input][i]);
        base + 4965.0 * t * 6.5e-7 * (np - 24.0).max(0.0).powf(1.25) * nx.powf(0.6)
    };
    base.iter().enumerate().map(time).collect()
}

/// The same with 3 % noise.
fn machine(specification: &Specification, table: &Table, unknowns: &[f64], seed: u64) -> Table {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut normal = || (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0;
    let exact = machine_without_noise(specification, table, unknowns);
    let noisy = exact.iter().map(|time| time * (1.0 + NOISE * normal()));
    Table {
        observed: noisy.collect(),
        ..table.clone()
    }
}

const NOISE: f64 = 0.03;

/// Within 1.5 times the noise floor, the median of five trials. The parameters of the first machine are known from a
/// calibration, within 3 %; those of the other are fitted to times of the other. If the parameters are fitted to times
/// that contain contention, the base takes part of it, and no term that is added to that base alone can be kept.
#[test]
fn another_machine_needs_only_its_own_parameters() {
    let (specification, table) = example();
    let known = [2.45e-8, 1.13, 1.69e-5, 1.62e-7];
    let mut calibrated = specification.clone();
    for (unknown, value) in calibrated.unknowns.values_mut().zip(known) {
        (unknown.lower, unknown.upper) = (0.97 * value, 1.03 * value);
    }
    let everything = Table {
        is_train: vec![true; table.len()],
        ..table.clone()
    };
    let here = machine(&specification, &everything, &known, 1);
    let there = machine(&specification, &table, &[7e-8, 1.13, 4e-5, 4e-8], 2);
    let base = SemiEmpirical::fit(&calibrated, &here, Residuals::Relative).unwrap();
    let (train, test) = (there.part(true), there.part(false));
    let error =
        |model: &Corrected| relative_error(&test.observed, &model.predict(&specification, &test));
    let exact = machine_without_noise(&specification, &test, &[7e-8, 1.13, 4e-5, 4e-8]);
    let floor = relative_error(&test.observed, &exact);
    for case in [Case::Two, Case::Four] {
        let mut fitted = Vec::new();
        for seed in 1..=5 {
            let settings = Settings::default();
            let outcome = correct(&calibrated, &here, &base, case, seed, &settings).unwrap();
            let Outcome::Accepted(corrected) = outcome else {
                panic!("{case:?} refused");
            };
            assert!(
                error(&corrected) > 0.5,
                "{}",
                corrected.shown(&specification)
            );
            fitted.push(error(&corrected.on_platform(&specification, &train).unwrap()) / floor);
        }
        fitted.sort_by(f64::total_cmp);
        assert!(fitted[2] <= 1.5, "{case:?}: {fitted:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// For any inputs above 0, a prediction is finite and not negative.
    #[test]
    fn predictions_are_finite(nx in 1e-3..1e9f64, np in 1.0..1e9f64, t in 1e-6..1e6f64) {
        thread_local! {
            static FOUND: Vec<(Specification, Table, Corrected)> = corrected();
        }
        FOUND.with(|found| {
            for (specification, train, corrected) in found {
                let mut point = train.at(&[0]);
                for (column, x) in point.inputs.iter_mut().zip([nx, np, t]) {
                    column[0] = x;
                }
                let time = corrected.predict(specification, &point)[0];
                prop_assert!(time.is_finite() && time >= 0.0, "{time}");
            }
            Ok(())
        })?;
    }
}
