//! Which points are suggested, and why.

use std::collections::BTreeMap;

use mastermind_models::{
    Error, Family, FitOptions, Metric, Model, Parameter, SampleSet, SuggestOptions, UserFormula,
    fit, fit_family, fit_with, suggest,
};

fn model(family: Option<Family>, calls: &[(f64, f64)]) -> Model {
    let mut set = SampleSet::new(Metric::Wall);
    let method = set
        .declare("m", &[Parameter::integer("q", "double")])
        .unwrap();
    for &(q, seconds) in calls {
        set.push(method, &[q], seconds).unwrap();
    }
    let samples = set.finish().remove(0);
    let models = family.map_or_else(|| fit(&samples), |family| fit_family(&samples, family));
    models.unwrap().remove(0)
}

/// A line with 5 % noise at sizes that leave a hole in the middle of the range.
fn noisy(family: Option<Family>) -> Model {
    let sizes = [1e3, 1.1e3, 1.2e3, 1.3e3, 9e4, 9.5e4, 1e5];
    let calls = sizes.iter().enumerate().flat_map(|(i, &q)| {
        (0..4).map(move |k| {
            let noise = 1.0 + 0.05 * ((4 * i + k) as f64 * 2.1).sin();
            (q, (1e-5 + 1e-9 * q) * noise)
        })
    });
    model(family, &calls.collect::<Vec<_>>())
}

#[test]
fn measuring_costs_nothing_leads_to_the_far_end_of_a_line() {
    let free = SuggestOptions {
        setup_s: Some(1e9),
        reach: 4.0,
        ..SuggestOptions::default()
    };
    let found = suggest(&noisy(Some(Family::Line)), &free).unwrap();
    assert_eq!(found[0].coordinate.number("q"), Some(4e5));
    assert!(found[0].extrapolated && found[0].gain > 0.2 && found[0].unsure > 0.0);
    assert_eq!(found.len(), 3);
    // What is measured once is known better: the second gains less.
    assert!(found[1].gain < found[0].gain);
}

#[test]
fn cost_leads_to_smaller_points() {
    let line = noisy(Some(Family::Line));
    let at = |setup_s| {
        let options = SuggestOptions {
            setup_s: Some(setup_s),
            reach: 4.0,
            ..SuggestOptions::default()
        };
        let found = suggest(&line, &options).unwrap();
        (found[0].coordinate.number("q").unwrap(), found[0].cost_s)
    };
    assert!(at(0.0).0 < at(1e9).0 && at(0.0).1 < at(1e9).1);
}

#[test]
fn disagreeing_formulas_lead_to_where_they_disagree() {
    let model = noisy(None);
    assert!(model.alternatives.len() > 1);
    let options = SuggestOptions {
        setup_s: Some(1.0),
        reach: 1.0,
        n: 1,
        ..SuggestOptions::default()
    };
    let found = suggest(&model, &options).unwrap();
    let q = found[0].coordinate.number("q").unwrap();
    assert!(q > 1.4e3 && q < 9e4 && !found[0].extrapolated, "{q}");
    assert_eq!(q.fract(), 0.0);
}

#[test]
fn two_points_are_enough_to_ask() {
    let line = model(None, &[(1e3, 1e-6), (2e3, 2.2e-6)]);
    let found = suggest(&line, &SuggestOptions::default()).unwrap();
    assert!(found.iter().all(|s| s.gain > 0.0 && s.gain <= 1.0 + 1e-9));
    let one = model(None, &[(1e3, 1e-6)]);
    let error = suggest(&one, &SuggestOptions::default()).unwrap_err();
    assert!(matches!(error, Error::NothingVaries { .. }));
    assert_eq!(
        error.to_string(),
        "cannot suggest points for \"m\": no parameter varies among q, expected one; measure a second size first"
    );
}

/// A theory without a number to be found is as sure after a measurement as before.
#[test]
fn a_formula_without_unknowns_leaves_nothing_to_measure() {
    let mut set = SampleSet::new(Metric::Wall);
    let method = set.declare("m", &[Parameter::integer("q", "")]).unwrap();
    for q in [1e3, 2e3, 4e3] {
        set.push(method, &[q], 2.1e-9 * q).unwrap();
    }
    let options = FitOptions {
        formula: Some(UserFormula::parse("2e-9 * q", BTreeMap::new()).unwrap()),
        ..FitOptions::default()
    };
    let theory = fit_with(&set.finish()[0], &options).unwrap().remove(0);
    let error = suggest(&theory, &SuggestOptions::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot suggest points for \"m\": its formula has no coefficient that is unsure, expected one; fit one with unknowns"
    );
}
