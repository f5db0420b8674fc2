//! Coefficients planted in samples come back, and the total time of the samples is kept.

use mastermind_models::{
    Coordinate, Family, Metric, Model, Parameter, SampleSet, Samples, Total, fit, fit_family,
    predict,
};
use proptest::prelude::*;

/// Samples of one method in one parameter `q`: (value, seconds) a call.
fn samples(calls: impl IntoIterator<Item = (f64, f64)>) -> Samples {
    let mut set = SampleSet::new(Metric::Wall);
    let method = set
        .declare("c.Flux::flux.compute", &[Parameter::integer("q", "double")])
        .unwrap();
    for (q, seconds) in calls {
        set.push(method, &[q], seconds).unwrap();
    }
    set.finish().remove(0)
}

fn close(found: f64, planted: f64, relative: f64) -> bool {
    (found - planted).abs() <= relative * planted.abs()
}

fn total_s(samples: &Samples) -> f64 {
    samples.times.iter().map(|summary| summary.total_s()).sum()
}

/// Time that the model gives all calls of the samples together.
fn predicted_s(samples: &Samples, model: &Model) -> f64 {
    let mut total = Total::new(model);
    for (i, summary) in samples.times.iter().enumerate() {
        total
            .add(&samples.coordinate(i), summary.count as f64)
            .unwrap();
    }
    total.time_s()
}

/// Between 4 and 12 distinct sizes, 10³ to 4·10⁶, each with 1 to 6 calls.
fn sizes() -> impl Strategy<Value = Vec<(f64, u32)>> {
    proptest::collection::btree_map(1_000..4_000_000_u32, 1..6_u32, 4..12)
        .prop_map(|sizes| sizes.into_iter().map(|(q, n)| (f64::from(q), n)).collect())
}

/// Deterministic noise in −1..1 from the number of the call.
fn noise(call: usize, seed: u64) -> f64 {
    let mut x = (call as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ seed;
    for shift in [30, 27, 31] {
        x = (x ^ (x >> shift)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    }
    x as f64 / u64::MAX as f64 * 2.0 - 1.0
}

/// Each size as often as it is called, with the time `f` gives it, noise of the share `level` added.
fn calls(sizes: &[(f64, u32)], f: impl Fn(f64) -> f64, level: f64, seed: u64) -> Samples {
    let list = sizes
        .iter()
        .flat_map(|&(q, n)| (0..n).map(move |_| q))
        .enumerate();
    samples(list.map(|(i, q)| (q, f(q) * (1.0 + level * noise(i, seed)))))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_line_comes_back(sizes in sizes(), a in 1e-6..1e-3_f64, b in 1e-10..1e-6_f64) {
        let model = fit(&calls(&sizes, |q| a + b * q, 0.0, 0)).unwrap().remove(0);
        prop_assert_eq!(model.family, Family::Line);
        let found = &model.coefficients;
        // The intercept is what cancellation against the largest time leaves.
        let largest = a + b * sizes.last().unwrap().0;
        prop_assert!((found[0].value - a).abs() <= 1e-8 * a + 1e-13 * largest);
        prop_assert!(close(found[1].value, b, 1e-8));
        prop_assert!(model.smape < 1e-7 && model.cv_smape.unwrap() < 1e-7);
        prop_assert!(close(model.r2.unwrap(), 1.0, 1e-9));
    }

    #[test]
    fn a_power_law_comes_back(sizes in sizes(), a in 0.3..2.5_f64, b in -25.0..-15.0_f64) {
        prop_assume!((a - 1.0).abs() > 1e-3);
        let samples = calls(&sizes, |q| (a * q.ln() + b).exp(), 0.0, 0);
        let model = fit(&samples).unwrap().remove(0);
        let spread = sizes.last().unwrap().0 / sizes[0].0;
        prop_assume!(spread > 1.5);
        prop_assert_eq!(model.family, Family::PowerLaw);
        prop_assert!(close(model.coefficients[0].value, b, 1e-8));
        prop_assert!(close(model.coefficients[1].value, a, 1e-8));
    }

    #[test]
    fn noise_moves_a_line_little_and_by_its_standard_error(a in 1e-6..1e-4_f64, b in 1e-9..1e-7_f64, seed: u64) {
        let sizes: Vec<(f64, u32)> = (0..8).map(|i| (1e3 * f64::from(1 << i), 200)).collect();
        let model = fit_family(&calls(&sizes, |q| a + b * q, 0.05, seed), Family::Line).unwrap().remove(0);
        prop_assert!(close(model.coefficients[1].value, b, 0.02));
        let error = model.coefficients[1].std_error.unwrap();
        prop_assert!((model.coefficients[1].value - b).abs() < 6.0 * error);
    }

    #[test]
    fn noise_moves_a_power_law_little(a in 0.5..2.0_f64, b in -22.0..-15.0_f64, seed: u64) {
        let sizes: Vec<(f64, u32)> = (0..8).map(|i| (1e3 * f64::from(1 << i), 200)).collect();
        let samples = calls(&sizes, |q| (a * q.ln() + b).exp(), 0.05, seed);
        let model = fit_family(&samples, Family::PowerLaw).unwrap().remove(0);
        prop_assert!((model.coefficients[1].value - a).abs() < 0.01);
        prop_assert!((model.coefficients[0].value - b).abs() < 0.1);
    }

    /// Also where the counts differ by orders of magnitude and the form is neither family's.
    #[test]
    fn the_total_is_kept(
        sizes in sizes(), c in 0.0..1.0_f64, seed: u64,
        family in prop_oneof![
            Just(Family::Constant), Just(Family::Line), Just(Family::Logarithm), Just(Family::PowerLaw),
            Just(Family::Polynomial), Just(Family::NormalForm), Just(Family::Stairs), Just(Family::Regimes),
        ],
    ) {
        let f = |q: f64| 1e-4 + 1e-9 * q + c * 1e-15 * q * q;
        let samples = calls(&sizes, f, 0.3, seed);
        for models in [fit(&samples), fit_family(&samples, family)] {
            // A line that is negative at a size is refused, not clamped.
            let Ok(models) = models else { continue };
            prop_assert!(close(predicted_s(&samples, &models[0]), total_s(&samples), 1e-9));
        }
    }

    #[test]
    fn the_order_of_the_calls_does_not_matter(sizes in sizes(), seed: u64) {
        let forward: Vec<(f64, f64)> =
            sizes.iter().enumerate().map(|(i, &(q, _))| (q, 1e-9 * q * (1.5 + noise(i, seed)))).collect();
        let backward = forward.iter().rev().copied();
        prop_assert_eq!(fit(&samples(backward)).unwrap(), fit(&samples(forward.clone())).unwrap());
    }
}

/// The lines of the paper's Eq. 1, seconds: EFMFlux −8.13 + 0.16 Q µs from Q = 100.
#[test]
fn equation_1_of_the_paper_comes_back() {
    let sizes: Vec<f64> = (0..12).map(|i| 100.0 * 2_f64.powi(i)).collect();
    let efm = samples(sizes.iter().map(|&q| (q, (-8.13 + 0.16 * q) * 1e-6)));
    let model = fit(&efm).unwrap().remove(0);
    assert!(close(model.coefficients[0].value, -8.13e-6, 1e-8));
    assert!(close(model.coefficients[1].value, 0.16e-6, 1e-8));
    let states = samples(
        sizes
            .iter()
            .map(|&q| (q, (1.19 * q.ln() - 3.68).exp() * 1e-6)),
    );
    let model = fit(&states).unwrap().remove(0);
    assert!(close(model.coefficients[1].value, 1.19, 1e-8));
    assert!(close(
        model.coefficients[0].value,
        -3.68 + 1e-6_f64.ln(),
        1e-8
    ));
}

/// New calls at sizes inside the range lie in their interval about as often as it says.
#[test]
fn intervals_cover() {
    let sizes: Vec<(f64, u32)> = (0..8).map(|i| (1e4 + 2e4 * f64::from(i), 50)).collect();
    let f = |q: f64| 1e-4 + 1e-9 * q;
    let model = fit(&calls(&sizes, f, 0.1, 7)).unwrap().remove(0);
    let inside = (0..2000).filter(|&i| {
        let q = 1e4 + 70.0 * i as f64;
        let seconds = f(q) * (1.0 + 0.1 * noise(i, 99));
        let p = predict(&model, &Coordinate::new().with("q", q)).unwrap();
        assert!(!p.extrapolated && p.upper_s < 1.5 * f(q));
        (p.lower_s..=p.upper_s).contains(&seconds)
    });
    let share = inside.count() as f64 / 2000.0;
    assert!(share > 0.9, "{share}");
}
