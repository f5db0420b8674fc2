//! Which of the credible formulas is shown, and how much of the weight it has.

use mastermind_models::{Family, Metric, Model, Parameter, SampleSet, fit};
use proptest::prelude::*;

/// How much likelier another formula, about as simple, may be than the one that is shown.
const LIKELIER: f64 = 21.0;

/// The model of `repetitions` calls of `f` at `n` sizes, each off by a normal share of the size `level`.
fn measured(f: impl Fn(f64) -> f64, n: usize, repetitions: usize, level: f64, seed: u64) -> Model {
    let mut state = seed | 1;
    let mut uniform = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as f64 / u64::MAX as f64
    };
    let mut set = SampleSet::new(Metric::Wall);
    let method = set.declare("m", &[Parameter::real("q", "")]).unwrap();
    for i in 0..n * repetitions {
        let q = 10.0 * 1.8_f64.powi((i / repetitions) as i32);
        let normal = (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
        set.push(method, &[q], f(q) * (1.0 + level * normal).max(0.01))
            .unwrap();
    }
    fit(&set.finish()[0]).unwrap().remove(0)
}

/// Coefficients of a formula whose form holds no searched number.
fn n_free(family: Family) -> Option<usize> {
    match family {
        Family::Constant => Some(1),
        Family::Line | Family::Logarithm | Family::PowerLaw | Family::Exponential => Some(2),
        _ => None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_other_as_simple_is_far_likelier(
        which in 0..4_usize, n in 6..14_usize, repetitions in 1..6_usize, level in 0.01..0.3_f64, seed: u64,
    ) {
        let f: fn(f64) -> f64 = [
            |q: f64| 1e-6 + 1e-8 * q,
            |q: f64| 1e-9 * q.powf(1.2),
            |q: f64| 1e-6 + 1e-8 * q * q.log2(),
            |q: f64| 1e-6 + 3e-7 * q.log2(),
        ][which];
        let model = measured(f, n, repetitions, level, seed);
        let sum: f64 = model.alternatives.iter().map(|part| part.weight).sum();
        prop_assert!(model.alternatives.is_empty() || (sum - 1.0).abs() < 1e-9);
        prop_assert_eq!(model.weight(), model.alternatives.first().map_or(1.0, |first| first.weight));
        let Some(shown) = n_free(model.family) else { return Ok(()) };
        for part in &model.alternatives {
            if n_free(part.family).is_some_and(|n| n <= shown + 1) {
                prop_assert!(part.weight <= LIKELIER * model.weight(), "{} of {}", part.formula, part.weight);
            }
        }
    }
}
