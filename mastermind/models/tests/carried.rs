//! Models for another machine: synthetic worlds in which the factor of each method is known.

use std::collections::BTreeMap;

use mastermind_models::{
    Coordinate, Expected, Family, Formula, KnownBy, Measured, Metric, Model, ModelSet,
    NamedMachine, Parameter, SampleSet, Total, Written, carry, fit, fit_family, predict,
};
use proptest::prelude::*;

/// Sizes that are fitted.
const SIZES: [f64; 6] = [1e3, 2e3, 4e3, 8e3, 16e3, 32e3];

/// As wide as without a measured call.
const EXPECTED: Expected = Expected {
    factor: 1.0,
    deviation: 0.319,
};

/// Numbers from 0 to 1 that look random (splitmix64, Steele et al. 2014).
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Of the standard normal distribution (Box, Muller 1958).
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().max(1e-300).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

fn machines() -> [NamedMachine; 2] {
    ["a.toml", "b.toml"].map(|file| NamedMachine {
        file: file.into(),
        processor: format!("processor of {file}"),
    })
}

/// Models of methods that take some nanoseconds for each unit of `n`.
fn models(n_methods: usize) -> ModelSet {
    let mut set = SampleSet::new(Metric::Wall);
    for place in 0..n_methods {
        let name = format!("Class{place}::port.method");
        let method = set.declare(&name, &[Parameter::integer("n", "")]).unwrap();
        for n in SIZES {
            let seconds = 1e-9 * (1.0 + place as f64) * n;
            set.push(method, &[n], seconds).unwrap();
        }
    }
    let samples = set.finish();
    let models = samples.iter().flat_map(|of| fit(of).unwrap());
    ModelSet {
        models: models.collect(),
    }
}

fn carried(set: &ModelSet, expected: Expected, measured: &[Measured], other: bool) -> ModelSet {
    let [from, to] = machines();
    carry(set, [&from, &to], expected, measured, other).0
}

/// The factor of a model, and how it is known.
fn factor(model: &Model) -> (f64, KnownBy) {
    let carried = model.carried.as_ref().unwrap();
    (carried.factor, carried.known_by)
}

fn call(model: usize, ratio: f64) -> Measured {
    Measured {
        model,
        ratio,
        deviation: 0.02,
    }
}

fn at(n: f64) -> Coordinate {
    Coordinate::new().with("n", n)
}

#[test]
fn without_calls_the_factor_is_that_of_the_processors() {
    let expected = Expected {
        factor: 0.7,
        deviation: 0.4,
    };
    for model in carried(&models(3), expected, &[], false).models {
        assert_eq!(factor(&model).1, KnownBy::Processors);
        assert!((factor(&model).0 - 0.7).abs() < 1e-12);
        assert_eq!(model.carried.unwrap().deviation, Some(0.4));
    }
}

#[test]
fn a_method_that_runs_other_code_has_its_own_factor_and_leaves_the_others() {
    let set = models(6);
    let calls: Vec<Measured> = (0..6)
        .map(|place| call(place, if place == 2 { 2.4 } else { 0.8 }))
        .collect();
    let found = carried(&set, EXPECTED, &calls, true);
    for (place, model) in found.models.iter().enumerate() {
        let (factor, known_by) = factor(model);
        if place == 2 {
            assert_eq!(known_by, KnownBy::OwnCalls);
            assert!((factor / 2.4 - 1.0).abs() < 1e-9, "{factor}");
        } else {
            assert_eq!(known_by, KnownBy::CommonFactor);
            assert!((factor / 0.8 - 1.0).abs() < 0.02, "{factor}");
        }
    }
}

#[test]
fn what_was_not_measured_is_not_known_where_code_differs() {
    let set = models(3);
    let calls = [call(0, 0.5), call(1, 0.5)];
    let known = carried(&set, EXPECTED, &calls, false);
    assert_eq!(factor(&known.models[2]).1, KnownBy::OtherMethods);
    assert!(
        predict(&known.models[2], &at(4e3))
            .unwrap()
            .upper_s
            .is_finite()
    );
    let unknown = carried(&set, EXPECTED, &calls, true);
    assert_eq!(factor(&unknown.models[2]).1, KnownBy::Nothing);
    let prediction = predict(&unknown.models[2], &at(4e3)).unwrap();
    assert_eq!(
        (prediction.lower_s, prediction.upper_s),
        (0.0, f64::INFINITY)
    );
    assert!(predict(&unknown.models[0], &at(4e3)).unwrap().upper_s < 1e-4);
    // A sum over its calls is not known either.
    let mut total = Total::new(&unknown.models[2]);
    total.add(&at(4e3), 3.0).unwrap();
    assert_eq!(total.uncertainty().variance_s2(), f64::INFINITY);
}

#[test]
fn a_class_of_other_code_lends_its_factor() {
    let mut set = models(6);
    set.models[1].method = "Class0::port.other".into();
    let mut calls = vec![call(0, 3.0)];
    calls.extend((2..6).map(|place| call(place, 1.0)));
    let found = carried(&set, EXPECTED, &calls, false);
    assert_eq!(factor(&found.models[1]).1, KnownBy::Class);
    assert!((factor(&found.models[1]).0 / 3.0 - 1.0).abs() < 1e-9);
}

#[test]
fn a_call_that_scatters_much_is_no_other_code() {
    let set = models(5);
    let noisy = Measured {
        model: 0,
        ratio: 2.0,
        deviation: 0.6,
    };
    let calls: Vec<Measured> = [noisy]
        .into_iter()
        .chain((1..5).map(|place| call(place, 1.0)))
        .collect();
    let found = carried(&set, EXPECTED, &calls, false);
    assert_eq!(factor(&found.models[0]).1, KnownBy::CommonFactor);
    let quiet = [&[call(0, 2.0)], &calls[1..]].concat();
    let found = carried(&set, EXPECTED, &quiet, false);
    assert_eq!(factor(&found.models[0]).1, KnownBy::OwnCalls);
}

#[test]
fn counts_and_times_in_mpi_are_left_out() {
    let mut set = models(4);
    set.models[0].metric = Metric::named("PAPI_TOT_INS");
    set.models[1].metric = Metric::Mpi;
    set.models[2].method = "MPI::MPI.MPI_Send".into();
    let found = carried(&set, EXPECTED, &[call(0, 9.0)], false);
    let [left] = &found.models[..] else {
        panic!("{found:?}")
    };
    assert_eq!(left.method, set.models[3].method);
    assert_eq!(factor(left).1, KnownBy::Processors);
}

/// Everything that a prediction is made of is multiplied, whatever the form.
#[test]
fn a_model_of_every_form_takes_the_factor() {
    let mut set = SampleSet::new(Metric::Wall);
    let method = set
        .declare("C::p.m", &[Parameter::integer("n", "")])
        .unwrap();
    let mut random = Random(7);
    for n in SIZES {
        for call in 0..40 {
            let delay = if call % 20 == 19 { 4.0 } else { 1.0 };
            let seconds = (1e-6 + 1e-9 * n) * (0.02 * random.normal()).exp() * delay;
            set.push(method, &[n], seconds).unwrap();
        }
    }
    let samples = &set.finish()[0];
    let mut models = fit(samples).unwrap();
    for family in [Family::PowerLaw, Family::Exponential, Family::Polynomial] {
        models.extend(fit_family(samples, family).unwrap());
    }
    assert!(models[0].held_up.is_some());
    for model in models {
        let scaled = model.clone().times(3.0);
        for n in [500.0, 4e3, 1e5] {
            let [one, three] = [&model, &scaled].map(|of| predict(of, &at(n)).unwrap());
            let pairs = [
                (one.value_s, three.value_s),
                (one.lower_s, three.lower_s),
                (one.upper_s, three.upper_s),
                (one.mean_s, three.mean_s),
                (one.shown_s, three.shown_s),
            ];
            for (one, three) in pairs {
                let is_both = one == three && (one == 0.0 || one.is_infinite());
                assert!(
                    is_both || (three / one - 3.0).abs() < 1e-6,
                    "{one} {three} {model:?}"
                );
            }
        }
        let [one, three] = [&model, &scaled].map(|model| {
            let mut total = Total::new(model);
            total.add(&at(4e3), 100.0).unwrap();
            (total.time_s(), total.uncertainty().half_width_s(0.95))
        });
        assert!((three.0 / one.0 - 3.0).abs() < 1e-9);
        assert!((three.1 / one.1 - 3.0).abs() < 1e-6, "{one:?} {three:?}");
    }
}

#[test]
fn carried_models_are_stored_with_where_they_are_from() {
    let found = carried(&models(3), EXPECTED, &[call(0, 2.0), call(1, 2.0)], true);
    let text = found.to_json().unwrap();
    assert_eq!(ModelSet::from_json(&text).unwrap(), found);
    let wrong = text.replace("\"deviation\":", "\"deviation\":-");
    assert!(wrong != text && ModelSet::from_json(&wrong).is_err());
}

#[test]
fn a_written_formula_is_multiplied_as_a_whole() {
    let mut model = models(1).models.remove(0);
    model.alternatives.clear();
    model.family = Family::Written;
    let written = Written::new(
        "c + a * n",
        BTreeMap::from([("a".into(), 1e-9), ("c".into(), 1e-6)]),
    );
    model.formula = Formula {
        written: Some(written.unwrap()),
        ..Formula::default()
    };
    let scaled = model.clone().times(0.25);
    assert_eq!(scaled.coefficients, model.coefficients);
    let [one, quarter] = [&model, &scaled].map(|of| predict(of, &at(1000.0)).unwrap().value_s);
    assert!((quarter / one - 0.25).abs() < 1e-12, "{one} {quarter}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Most methods take a common factor, some three times as long, or a third: those are found, the others keep the common factor.
    #[test]
    fn methods_of_other_code_are_found(
        seed in any::<u64>(),
        log in -1.0_f64..1.0,
        n_methods in 5_usize..16,
        noise in 0.0_f64..0.08,
        slower in any::<bool>(),
    ) {
        let set = models(n_methods);
        let mut random = Random(seed);
        let n_far = 1 + (random.uniform() * (n_methods as f64 / 3.0 - 1.0)) as usize;
        let true_log = |place: usize| match place < n_far {
            true if slower => log + 3_f64.ln(),
            true => log - 3_f64.ln(),
            false => log,
        };
        let calls: Vec<Measured> = (0..n_methods)
            .map(|place| call(place, (true_log(place) + noise * random.normal()).exp()))
            .collect();
        // The processors say something of it.
        let expected = Expected { factor: (log + 0.3 * random.normal()).exp(), deviation: 0.319 };
        let found = carried(&set, expected, &calls, true);
        let mut n_own = 0;
        for (place, model) in found.models.iter().enumerate() {
            let (factor, known_by) = factor(model);
            if place < n_far {
                prop_assert_eq!(known_by, KnownBy::OwnCalls, "{} {}", place, factor);
            }
            // Of the others one may be off by more than two deviations by chance.
            let off = (factor.ln() - true_log(place)).abs();
            prop_assert!(off < 0.12 + 4.0 * noise, "{} {} {}", place, factor.ln(), log);
            n_own += usize::from(known_by == KnownBy::OwnCalls);
        }
        prop_assert!(n_own <= n_far + 2, "{} {}", n_own, n_far);
    }
}

/// The share of other calls within the intervals, over worlds in which methods differ as those of the study do.
#[test]
fn intervals_hold_what_they_say() {
    let set = models(10);
    let sizes = [1500.0, 6e3, 24e3];
    let (mut inside, mut n, mut ratio) = (0, 0, 0.0);
    for seed in 0..200 {
        let mut random = Random(seed);
        let log = random.normal() * 0.3;
        let own: Vec<f64> = (0..10)
            .map(|place| {
                let other_code = if place < 2 { 1.2 } else { 0.0 };
                log + other_code + 0.08 * random.normal()
            })
            .collect();
        let calls: Vec<Measured> = (0..10)
            .map(|place| call(place, (own[place] + 0.1 * random.normal()).exp()))
            .collect();
        for (place, model) in carried(&set, EXPECTED, &calls, true)
            .models
            .iter()
            .enumerate()
        {
            for size in sizes {
                let here_s = predict(&set.models[place], &at(size)).unwrap().value_s;
                let time_s = here_s * (own[place] + 0.1 * random.normal()).exp();
                let prediction = predict(model, &at(size)).unwrap();
                inside += i32::from((prediction.lower_s..=prediction.upper_s).contains(&time_s));
                ratio += (prediction.upper_s / prediction.lower_s).ln();
                n += 1;
            }
        }
    }
    let share = f64::from(inside) / f64::from(n);
    assert!((0.92..0.995).contains(&share), "{share}");
    let width = (ratio / f64::from(n)).exp();
    assert!(width < 2.5, "{width}");
}
