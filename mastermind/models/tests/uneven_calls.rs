//! Sizes that are called thousands of times beside sizes that are called twenty times, as a mesh that is refined has them, each size off by
//! something of its own that more calls do not take away.

use std::f64::consts::TAU;

use mastermind_models::{Coordinate, Metric, Parameter, SampleSet, fit, predict};

const SETS: u64 = 20;

/// Sizes of a set, from 500 to 8000.
const SIZES: i32 = 60;

fn normal(random: &mut fastrand::Rng) -> f64 {
    (-2.0 * (1.0 - random.f64()).ln()).sqrt() * (TAU * random.f64()).cos()
}

/// By how much the time at twice the largest size is missed, relative: 10 % is of the sizes, 5 % of the calls.
fn error_at_twice(seed: u64, time_s: impl Fn(f64) -> f64) -> f64 {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut set = SampleSet::new(Metric::Wall);
    let method = set.declare("c.m", &[Parameter::real("q", "")]).unwrap();
    for i in 0..SIZES {
        let q = (500.0 * 16_f64.powf(f64::from(i) / f64::from(SIZES - 1))).round();
        let of_size = 1.0 + 0.1 * normal(&mut random);
        for _ in 0..20 + (2000.0 * (500.0 / q).powi(2)) as u32 {
            let seconds = time_s(q) * of_size * (1.0 + 0.05 * normal(&mut random));
            set.push(method, &[q], seconds).unwrap();
        }
    }
    let model = fit(&set.finish().remove(0)).unwrap().remove(0);
    let predicted = predict(&model, &Coordinate::new().with("q", 16_000.0)).unwrap();
    (predicted.value_s / time_s(16_000.0) - 1.0).abs()
}

fn median(mut errors: Vec<f64>) -> f64 {
    errors.sort_by(f64::total_cmp);
    errors[errors.len() / 2]
}

#[test]
fn sizes_that_are_called_often_do_not_decide() {
    let power = |q: f64| 2e-9 * q.powf(1.2);
    let errors: Vec<f64> = (0..SETS).map(|seed| error_at_twice(seed, power)).collect();
    let worst = errors.iter().copied().fold(0.0, f64::max);
    assert!(
        median(errors.clone()) < 0.06 && worst < 0.25,
        "{errors:.3?}"
    );
}

/// A break that is there is found all the same.
#[test]
fn a_break_among_such_sizes_is_found() {
    let lines = |q: f64| 1e-6 + 2e-9 * q + 6e-9 * (q - 2000.0).max(0.0);
    let errors: Vec<f64> = (0..SETS).map(|seed| error_at_twice(seed, lines)).collect();
    let worst = errors.iter().copied().fold(0.0, f64::max);
    assert!(worst < 0.1, "{errors:.3?}");
}
