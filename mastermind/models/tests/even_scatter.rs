//! Points that lie off their formula by as much at every size, in seconds, and by a share of the time.

use mastermind_models::{Coordinate, Metric, Model, Parameter, SampleSet, fit, predict};

const SIZES: [f64; 9] = [2.0, 3.0, 4.0, 6.0, 10.0, 15.0, 16.0, 18.0, 20.0];

/// How far each point is off, smooth along the sizes as what a formula leaves out is.
const OFF: [f64; 9] = [0.9, 0.3, -0.8, -1.4, 0.4, 1.3, 0.3, -1.0, 0.0];

/// One call at each size.
fn fitted(time_s: impl Fn(f64, f64) -> f64) -> Model {
    let mut set = SampleSet::new(Metric::Wall);
    let method = set.declare("m", &[Parameter::real("n", "")]).unwrap();
    for (n, off) in SIZES.into_iter().zip(OFF) {
        set.push(method, &[n], time_s(n, off)).unwrap();
    }
    fit(&set.finish().remove(0)).unwrap().remove(0)
}

fn at(model: &Model, n: f64) -> f64 {
    let coordinate = Coordinate::new().with("n", n);
    predict(model, &coordinate).unwrap().value_s
}

#[test]
fn small_sizes_that_are_off_by_as_much_as_large_ones_do_not_decide_beyond_them() {
    let time_s = |n: f64| 0.08 + 0.003 * n * n;
    let model = fitted(|n, off| time_s(n) + 0.013 * off);
    let found = at(&model, 30.0) / time_s(30.0);
    assert!((found - 1.0).abs() < 0.02, "{found}");
}

#[test]
fn small_sizes_that_are_off_by_a_share_of_their_time_still_tell_the_constant() {
    let time_s = |n: f64| 0.08 + 0.003 * n * n;
    let model = fitted(|n, off| time_s(n) * (1.0 + 0.03 * off));
    let found = at(&model, 1.0) / time_s(1.0);
    assert!((found - 1.0).abs() < 0.05, "{found}");
}
