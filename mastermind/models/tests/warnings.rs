//! What a fit says of itself where it knows little.

use mastermind_models::{
    Coordinate, Family, Metric, Model, Note, Parameter, SampleSet, fit, predict,
};

fn fitted(names: &[&str], calls: impl IntoIterator<Item = (Vec<f64>, f64)>) -> Model {
    let parameters: Vec<Parameter> = names.iter().map(|name| Parameter::real(name, "")).collect();
    let mut set = SampleSet::new(Metric::Wall);
    let method = set.declare("m", &parameters).unwrap();
    for (x, seconds) in calls {
        set.push(method, &x, seconds).unwrap();
    }
    fit(&set.finish().remove(0)).unwrap().remove(0)
}

fn normal(random: &mut fastrand::Rng) -> f64 {
    (0..12).map(|_| random.f64()).sum::<f64>() - 6.0
}

#[test]
fn three_sizes_are_said_to_be_few() {
    let few = |n: i32| {
        let sizes = (0..n).map(|i| 2_f64.powi(i));
        let calls =
            sizes.flat_map(|q| [1.0, 1.01, 0.99].map(|scatter| (vec![q], (1.0 + q) * scatter)));
        let model = fitted(&["q"], calls);
        model.notes.iter().any(|note| {
            matches!(
                note,
                Note::FewSizes { n_points: 3 } | Note::NotValidated { .. }
            )
        })
    };
    assert!(few(2) && few(3));
    assert!(!few(5));
}

/// Three sizes called three times say that the time follows them, where it does; three of scattered times say nothing.
#[test]
fn times_that_follow_three_sizes_have_a_formula() {
    let model_of = |seed: u64, time_s: &dyn Fn(f64) -> f64, scatter: f64| {
        let mut random = fastrand::Rng::with_seed(seed);
        let sizes = [100.0, 200.0, 400.0].into_iter();
        let calls = sizes.flat_map(|n| [n; 3]);
        let calls: Vec<(Vec<f64>, f64)> = calls
            .map(|n| (vec![n], time_s(n) * (scatter * normal(&mut random)).exp()))
            .collect();
        fitted(&["n"], calls)
    };
    for seed in 1..=20 {
        let model = model_of(seed, &|n| 0.01 + 1e-4 * n.powf(1.5), 0.03);
        assert_ne!(model.family, Family::Constant, "{seed}: {:?}", model.notes);
        assert!(!model.notes.contains(&Note::NoModel), "{seed}");
    }
    let constants = (1..=20).map(|seed| model_of(seed, &|_| 1.0, 0.3));
    let n_constants = constants.filter(|model| model.family == Family::Constant);
    assert!(n_constants.count() >= 16);
}

/// Times that follow no formula well are not passed without a word.
#[test]
fn a_fit_whose_left_out_sizes_are_far_off_says_so() {
    let mut n_far = 0;
    for seed in 1..=60 {
        let mut random = fastrand::Rng::with_seed(seed);
        let calls: Vec<(Vec<f64>, f64)> = (0..7)
            .map(|i| {
                (
                    vec![2_f64.powi(i)],
                    2_f64.powi(i) * (0.5 * normal(&mut random)).exp(),
                )
            })
            .collect();
        let model = fitted(&["q"], calls);
        if model.cv_smape.is_some_and(|percent| percent > 20.0) {
            n_far += 1;
            let is_said = model.notes.iter().any(|note| {
                matches!(
                    note,
                    Note::LeftOutFar { .. }
                        | Note::Poor { .. }
                        | Note::Scattered { .. }
                        | Note::NoModel
                        | Note::HeldUp { .. }
                )
            });
            assert!(is_said, "{seed}: {:?} {:?}", model.cv_smape, model.notes);
        }
    }
    assert!(n_far > 20, "{n_far}");
}

/// Parameters varied one at a time, and one point with both.
#[test]
fn no_call_of_a_crossed_design_takes_0_to_0() {
    let laws: [fn(f64, f64) -> f64; 4] = [
        |p, n| 1e-3 + 1e-5 * n * n / p,
        |p, n| 1e-6 * n * n * n / p + 1e-4 * p.log2(),
        |p, n| 1e-4 * n * n.log2() / p,
        |p, n| 1e-2 + 1e-4 * n / p.sqrt(),
    ];
    for law in laws {
        for seed in 1..=8 {
            let mut random = fastrand::Rng::with_seed(seed);
            let of_p = [4.0, 8.0, 16.0, 32.0, 64.0].map(|p| (p, 100.0));
            let of_n = [200.0, 400.0, 800.0, 1600.0].map(|n| (4.0, n));
            let points = of_p.into_iter().chain(of_n).chain([(16.0, 400.0)]);
            let mut calls = Vec::new();
            for (p, n) in points {
                calls.extend(
                    [(); 3].map(|()| (vec![p, n], law(p, n) * (1.0 + 0.05 * normal(&mut random)))),
                );
            }
            let model = fitted(&["p", "n"], calls);
            for (p, n) in [
                (64.0, 1600.0),
                (256.0, 1600.0),
                (256.0, 6400.0),
                (128.0, 100.0),
            ] {
                let here = Coordinate::new().with("p", p).with("n", n);
                let predicted = predict(&model, &here).unwrap();
                assert!(predicted.upper_s > 0.0, "{p} {n}: {predicted:?}");
            }
        }
    }
}
