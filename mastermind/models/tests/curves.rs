//! Curves with a scale, and what is said where the points do not tell an exponential from another form.

use mastermind_models::{
    Coordinate, Family, Metric, Model, ModelSet, Note, Parameter, Prediction, SampleSet, fit,
    fit_family, predict,
};

/// A relative scatter of 3 %, the same in each run.
const SCATTER: [f64; 7] = [1.02, -0.6, 0.3, -1.3, 0.9, -0.4, 1.1];

fn calls(sizes: &[f64], time_s: impl Fn(f64) -> f64) -> SampleSet {
    let mut set = SampleSet::new(Metric::Wall);
    let method = set.declare("m", &[Parameter::real("x", "")]).unwrap();
    for (i, &x) in sizes.iter().enumerate() {
        for k in 0..3 {
            let off = 1.0 + 0.03 * SCATTER[(3 * i + k) % SCATTER.len()];
            set.push(method, &[x], time_s(x) * off).unwrap();
        }
    }
    set
}

fn fitted(sizes: &[f64], time_s: impl Fn(f64) -> f64) -> Model {
    let samples = calls(sizes, time_s).finish().remove(0);
    fit(&samples).unwrap().remove(0)
}

fn at(model: &Model, x: f64) -> Prediction {
    predict(model, &Coordinate::new().with("x", x)).unwrap()
}

fn doubling(n: i32) -> Vec<f64> {
    (2..2 + n).map(|k| 2_f64.powi(k)).collect()
}

/// Predictions at 2 and 4 times the largest size are near and inside.
fn holds(model: &Model, largest: f64, time_s: impl Fn(f64) -> f64) {
    for x in [2.0 * largest, 4.0 * largest] {
        let (found, wanted) = (at(model, x), time_s(x));
        let off = (found.value_s / wanted - 1.0).abs();
        assert!(
            off < 0.1,
            "{} at {x}: {found:?}, {wanted}",
            model.expression
        );
        assert!(
            found.lower_s < wanted && wanted < found.upper_s,
            "{found:?}, {wanted}"
        );
    }
}

#[test]
fn what_saturates_does_so_beyond_the_sizes() {
    let time_s = |x: f64| 2e-3 * x / (x + 60.0);
    holds(&fitted(&doubling(8), time_s), 512.0, time_s);
}

/// Curves have no constant of their own, among the alternatives either.
#[test]
fn a_file_of_models_keeps_curves() {
    let model = fitted(&doubling(8), |x| 2e-3 * x / (x + 60.0));
    let has_curve = |a: &mastermind_models::Alternative| a.family == Family::Curve;
    assert!(model.alternatives.iter().any(has_curve), "{model:?}");
    let set = ModelSet {
        models: vec![model],
    };
    let text = set.to_json().unwrap();
    assert_eq!(ModelSet::from_json(&text).unwrap(), set);
}

#[test]
fn what_wears_off_ends_at_its_level() {
    let time_s = |x: f64| 1e-3 + 4e-3 * (-x / 50.0).exp();
    holds(&fitted(&doubling(8), time_s), 512.0, time_s);
}

#[test]
fn a_curve_may_be_asked_for() {
    let time_s = |x: f64| 2e-3 * x / (x + 60.0);
    let samples = calls(&doubling(8), time_s).finish().remove(0);
    let model = fit_family(&samples, Family::Curve).unwrap().remove(0);
    assert_eq!(model.family, Family::Curve);
    assert!(
        model.expression.contains("(x / (x + "),
        "{}",
        model.expression
    );
    let text = serde_json::to_string(&model).unwrap();
    let read: Model = serde_json::from_str(&text).unwrap();
    assert_eq!(at(&read, 2000.0), at(&model, 2000.0));
}

/// Five sizes do not tell an exponential from a power above a constant.
#[test]
fn that_an_exponential_follows_the_points_is_said() {
    let sizes = [100.0, 150.0, 225.0, 338.0, 506.0, 759.0];
    let model = fitted(&sizes, |x| 0.27 + 0.04 * (4.5e-3 * x).exp());
    let is_told = model
        .notes
        .iter()
        .any(|note| matches!(note, Note::MaySoar { .. }));
    assert!(
        is_told || model.expression.contains("exp"),
        "{:?}",
        model.notes
    );
    let line = fitted(&sizes, |x| 0.1 + 1e-3 * x);
    let is_told = line
        .notes
        .iter()
        .any(|note| matches!(note, Note::MaySoar { .. }));
    assert!(!is_told, "{:?}", line.notes);
}

/// Public strong scaling, one call a size: sizes that follow a power within a per cent do not say that the next one does.
#[test]
fn the_next_size_of_divided_work_is_inside() {
    let measured = [
        (4.0, 5.49469),
        (8.0, 2.8293),
        (16.0, 1.46488),
        (32.0, 0.75939),
        (64.0, 0.38992),
        (128.0, 0.19814),
    ];
    let mut set = SampleSet::new(Metric::Wall);
    let method = set.declare("m", &[Parameter::real("x", "")]).unwrap();
    for (nodes, time_s) in measured {
        set.push(method, &[nodes], time_s).unwrap();
    }
    let model = fit(&set.finish()[0]).unwrap().remove(0);
    let next = at(&model, 256.0);
    assert!(next.lower_s < 0.10673 && 0.10673 < next.upper_s, "{next:?}");
    assert!(next.upper_s < 1.5 * next.value_s, "{next:?}");
}
