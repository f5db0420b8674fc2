//! What predicts and what is shown do not contradict each other without a word.

use mastermind_models::{
    Coordinate, Metric, Model, Parameter, Prediction, Predictor, SampleSet, fit, predict,
};
use proptest::prelude::*;

/// Sizes that are measured.
const SIZES: [f64; 5] = [4.0, 12.0, 32.0, 92.0, 256.0];

/// A model of one of several functions with relative noise of a generator that is seeded.
fn model(seed: u64, kind: usize, noise: f64) -> Model {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut uniform = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as f64 / u64::MAX as f64
    };
    let (a, b) = (1.0 + 9.0 * uniform(), 1.0 + 9.0 * uniform());
    let time = move |x: f64| match kind {
        0 => a + b * x / 256.0,
        1 => a + b * (x / 256.0).powi(2),
        2 => a + b * x.log2() / 8.0,
        3 => a / 10.0 + 4.0 * b / x,
        4 => a * (x / 256.0).exp(),
        5 => a + b * (x / 70.0).ceil(),
        _ => a,
    };
    let mut set = SampleSet::new(Metric::Wall);
    let method = set.declare("m", &[Parameter::real("x", "")]).unwrap();
    for x in SIZES {
        for _ in 0..3 {
            let normal = (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
            let seconds = time(x) * (1.0 + noise * normal).max(0.01);
            set.push(method, &[x], seconds).unwrap();
        }
    }
    fit(&set.finish()[0]).unwrap().remove(0)
}

fn at(model: &Model, x: f64) -> (Prediction, Coordinate) {
    let coordinate = Coordinate::new().with("x", x);
    (predict(model, &coordinate).unwrap(), coordinate)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn a_prediction_off_the_shown_formula_is_told(
        seed in any::<u64>(), kind in 0..7_usize, noise in 0.0..0.15, far in 0.5..16.0_f64,
    ) {
        let model = model(seed, kind, noise);
        let (found, coordinate) = at(&model, 256.0 * far);
        let inside = (found.shown_lower_s..=found.shown_upper_s).contains(&found.value_s);
        let near = (found.value_s / found.shown_s - 1.0).abs() < 1e-5;
        prop_assert!(inside || near || found.contradicts, "{found:?}");
        let beyond = found.value_s > 10.0 * found.shown_s || found.value_s < 0.1 * found.shown_s;
        prop_assert!(!beyond || found.contradicts || found.clamped, "{found:?}");
        prop_assert!(found.value_s > 0.0 || found.clamped, "{found:?}");
        // A simulation takes what is predicted.
        let predictor = Predictor::new(&model, |_| true);
        let value_s = predictor.evaluate(|name| coordinate.number(name));
        prop_assert_eq!(value_s.unwrap().max(0.0), found.value_s);
        // Alone, the shown formula predicts.
        let mut alone = model;
        alone.alternatives.clear();
        let (alone, _) = at(&alone, 256.0 * far);
        prop_assert!(alone.value_s == found.shown_s.max(0.0) && !alone.contradicts);
    }
}
