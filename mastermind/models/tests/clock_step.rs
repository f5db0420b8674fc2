//! Times read off a clock that steps: the step is a part of the spread, and the model is that of the true times.

use mastermind_models::{Coordinate, Metric, Model, Note, Parameter, SampleSet, fit, predict};

const STEP_S: f64 = 1e-8;

/// Fits calls of the true times `f` at sizes, as a clock of [`STEP_S`] shows them that they meet at any place in a step.
fn fitted(sizes: impl Iterator<Item = f64>, step_s: f64, f: impl Fn(f64) -> f64) -> Model {
    const CALLS: u32 = 400;
    let mut set = SampleSet::new(Metric::Wall);
    set.set_clock_step(step_s);
    let method = set.declare("m", &[Parameter::integer("q", "")]).unwrap();
    for q in sizes {
        for call in 0..CALLS {
            let begin = (f64::from(call) + 0.5) / f64::from(CALLS);
            let steps = (begin + f(q) / STEP_S).floor();
            set.push(method, &[q], steps * STEP_S).unwrap();
        }
    }
    fit(&set.finish()[0]).unwrap().remove(0)
}

fn at(model: &Model, q: f64) -> (f64, f64) {
    let predicted = predict(model, &Coordinate::new().with("q", q)).unwrap();
    (predicted.value_s, predicted.upper_s - predicted.lower_s)
}

#[test]
fn calls_shorter_than_a_step_have_the_model_of_their_true_times() {
    let f = |q: f64| 2e-10 + 1e-12 * q;
    let sizes = || (1..=30).map(|k| 50.0 * f64::from(k));
    let model = fitted(sizes(), STEP_S, f);
    for q in sizes() {
        let (value_s, _) = at(&model, q);
        assert!(
            (value_s / f(q) - 1.0).abs() < 0.1,
            "{q}: {value_s} of {}",
            f(q)
        );
    }
    let (value_s, total_s): (f64, f64) = sizes().fold((0.0, 0.0), |(value, total), q| {
        (value + model.total_ratio * at(&model, q).0, total + f(q))
    });
    assert!(
        (value_s / total_s - 1.0).abs() < 0.02,
        "{value_s} of {total_s}"
    );
}

#[test]
fn equal_readings_are_no_certainty() {
    // Whole steps: all calls of a size read the same.
    let f = |q: f64| q * STEP_S;
    let sizes = || (1..=12).map(f64::from);
    let (value_s, width_s) = at(&fitted(sizes(), STEP_S, f), 6.0);
    assert!((value_s / f(6.0) - 1.0).abs() < 0.02, "{value_s}");
    // 95 % of a deviation of the step by the square root of 6.
    assert!((1.0..5.0).contains(&(width_s / STEP_S)), "{width_s}");
    let (_, exact_s) = at(&fitted(sizes(), 0.0, f), 6.0);
    assert!(exact_s < 1e-3 * STEP_S, "a clock without a step: {exact_s}");
}

/// Times of a table, read off a clock of 1 ms that nobody recorded: they are whole milliseconds. Calls that read one step more were reported as
/// held up by the machine, or set aside, and intervals beyond the sizes held four of five calls.
#[test]
fn the_step_of_a_table_is_seen_in_its_readings() {
    let f = |n: f64| 2.2e-3 + 4e-5 * n;
    let sizes = [50.0, 100.0, 200.0, 400.0, 800.0, 1600.0];
    let (mut wrong, mut missed) = (Vec::new(), 0);
    for seed in 0..20 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut set = SampleSet::new(Metric::Wall);
        let method = set.declare("m", &[Parameter::real("n", "")]).unwrap();
        for n in sizes {
            for _ in 0..5 {
                let true_s = f(n) * (1.0 + 0.1 * (random.f64() - 0.5));
                let steps = (true_s / 1e-3 + random.f64()).floor();
                set.push(method, &[n], 1e-3 * steps).unwrap();
            }
        }
        let model = fit(&set.finish()[0]).unwrap().remove(0);
        let is_said = |note: &Note| matches!(note, Note::SetAside { .. } | Note::HeldUp { .. });
        if model.held_up.is_some() || model.notes.iter().any(is_said) {
            wrong.push((seed, model.expression.clone()));
        }
        let predicted = predict(&model, &Coordinate::new().with("n", 6400.0)).unwrap();
        missed += u32::from(!(predicted.lower_s..=predicted.upper_s).contains(&f(6400.0)));
    }
    assert!(wrong.len() <= 1, "{wrong:?}");
    assert!(missed <= 1, "{missed} of 20");
}
