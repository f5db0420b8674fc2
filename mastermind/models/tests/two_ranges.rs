//! Forms of two ranges with few coefficients: what rests on the last size is one possibility among others, and where a break lies is averaged.

use mastermind_models::{
    Coordinate, Family, Metric, Model, Parameter, Prediction, SampleSet, fit, predict,
};

/// Powers of two, each called three times, with 3 % of noise.
fn fitted(powers: std::ops::Range<i32>, time_s: impl Fn(f64) -> f64) -> Model {
    let mut random = fastrand::Rng::with_seed(7);
    let mut set = SampleSet::new(Metric::Wall);
    let method = set.declare("m", &[Parameter::real("n", "")]).unwrap();
    for n in powers.map(|power| 2_f64.powi(power)) {
        for _ in 0..3 {
            let off: f64 = (0..12).map(|_| random.f64() - 0.5).sum();
            set.push(method, &[n], time_s(n) * (0.03 * off).exp())
                .unwrap();
        }
    }
    fit(&set.finish().remove(0)).unwrap().remove(0)
}

fn at(model: &Model, n: f64) -> Prediction {
    predict(model, &Coordinate::new().with("n", n)).unwrap()
}

fn is_inside(prediction: &Prediction, time_s: f64) -> bool {
    (prediction.lower_s..=prediction.upper_s).contains(&time_s)
}

/// A polynomial through the last of eight sizes gave 1300 s.
#[test]
fn a_last_size_that_jumps_does_not_soar() {
    let model = fitted(4..12, |n| match n <= 1024.0 {
        true => 1e-3 * n,
        false => 0.3 + 2e-3 * n,
    });
    let there = at(&model, 8192.0);
    assert!(there.value_s < 25.0, "{there:?} by {}", model.expression);
    // On with the slope of before, and with the one that a single size shows.
    let (of_before, of_last) = (8.2 + 1.3, 0.3 + 2.0 * 8.192);
    assert!(is_inside(&there, of_before), "{there:?}");
    assert!(is_inside(&there, of_last), "{there:?}");
}

#[test]
fn the_larger_or_the_lesser_of_two_costs_is_found() {
    let is_near = |model: &Model, n: f64, time_s: f64| {
        let there = at(model, n);
        assert_eq!(model.family, Family::Regimes, "{}", model.expression);
        assert!(
            (there.value_s / time_s - 1.0).abs() < 0.05 && is_inside(&there, time_s),
            "{there:?} by {}",
            model.expression
        );
    };
    is_near(&fitted(4..12, |n| f64::max(0.2, 1e-3 * n)), 8192.0, 8.192);
    is_near(&fitted(4..12, |n| f64::min(1e-3 * n, 0.4)), 8192.0, 0.4);
    is_near(&fitted(0..7, |p| f64::max(10.0 / p, 0.4)), 256.0, 0.4);
}

/// Where both sides have sizes enough, and where one size lies at the knee, polynomials had gone through the points and soared, by up to 17
/// times at four times the largest size.
#[test]
fn of_two_costs_each_may_be_the_larger_at_any_size() {
    let is_near = |model: &Model, x: f64, time_s: f64| {
        let there = at(model, x);
        assert!(
            (there.value_s / time_s - 1.0).abs() < 0.03 && is_inside(&there, time_s),
            "{there:?} by {}",
            model.expression
        );
        let width = (there.upper_s - there.lower_s) / there.value_s;
        // The drift that is expected at four times the range makes 0.55 of it.
        assert!(width < 0.65, "{there:?} by {}", model.expression);
    };
    for knee in [11.0, 22.0, 45.0, 70.0, 132.0] {
        is_near(&fitted(1..9, |p| f64::max(knee / p, 1.0)), 1024.0, 1.0);
    }
    for knee in [25.0, 50.0] {
        let rising = fitted(1..9, |x| f64::max(1.0, x / knee));
        is_near(&rising, 1024.0, 1024.0 / knee);
        is_near(&fitted(1..9, |x| f64::min(1.0, x / knee)), 1024.0, 1.0);
    }
}

/// Messages that fit a buffer of 65,536 B, measured at powers of two: whether 50,000 B fit was not seen.
#[test]
fn between_two_sizes_a_break_may_be_anywhere() {
    let time_s = |bytes: f64| match bytes < 65_536.0 {
        true => 2.35e-6 + 1e-10 * bytes,
        false => 6e-6 + 1e-10 * bytes,
    };
    let model = fitted(0..21, time_s);
    let there = at(&model, 50_000.0);
    assert!(is_inside(&there, 7.35e-6), "{there:?}");
    assert!(is_inside(&there, 11e-6), "{there:?}");
    let far = at(&model, 20_000.0);
    assert!(!is_inside(&far, 8e-6), "{far:?}");
    let stored: Model = serde_json::from_str(&serde_json::to_string(&model).unwrap()).unwrap();
    assert_eq!(at(&stored, 50_000.0), there);
}
