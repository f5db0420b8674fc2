//! What few, degenerate and bad samples give; modes; storage.

use mastermind_models::{
    Coordinate, Error, Family, Metric, Model, ModelSet, Note, Parameter, SampleSet, Samples, fit,
    fit_family, predict,
};

const METHOD: &str = "hydro.GodunovFlux::flux.compute";

fn samples(parameters: &[Parameter], calls: &[(&[f64], f64)]) -> Samples {
    let mut set = SampleSet::new(Metric::Wall);
    let method = set.declare(METHOD, parameters).unwrap();
    for (coordinate, seconds) in calls {
        let _ = set.push(method, coordinate, *seconds);
    }
    set.finish().remove(0)
}

fn q() -> Vec<Parameter> {
    vec![Parameter::integer("q", "double")]
}

fn at(q: f64) -> Coordinate {
    Coordinate::new().with("q", q)
}

/// Two modes, the second twice as slow, with a constant parameter beside.
fn two_modes() -> Vec<Model> {
    let parameters = [
        Parameter::integer("q", "double"),
        Parameter::enumeration("axis", &["x", "y"]),
        Parameter::integer("ghost", "cell"),
    ];
    let mut set = SampleSet::new(Metric::Wall);
    let method = set.declare(METHOD, &parameters).unwrap();
    for i in 1..=6_u32 {
        for axis in [0.0, 1.0] {
            let q = 1000.0 * f64::from(i * i);
            let wobble = 1.0 + 0.01 * f64::from(i % 3);
            set.push(
                method,
                &[q, axis, 2.0],
                (1e-5 + 1e-8 * q) * (1.0 + axis) * wobble,
            )
            .unwrap();
        }
    }
    fit(&set.finish()[0]).unwrap()
}

#[test]
fn each_mode_has_its_model() {
    let models = two_modes();
    assert_eq!(models.len(), 2);
    assert_eq!(models[1].mode["axis"], "y");
    assert_eq!(models[0].range["ghost"], [2.0, 2.0]);
    assert_eq!(models[0].coefficients.len(), 2);
    assert_eq!(models[0].coefficients[1].unit, "s/double");
    let set = ModelSet { models };
    let slow = at(5000.0).with("axis", "y");
    let model = set.find(METHOD, Metric::Wall, &slow).unwrap();
    let p = predict(model, &slow).unwrap();
    assert!((p.value_s - 1.2e-4).abs() < 2e-6 && !p.extrapolated && p.upper_s > p.value_s);
    assert!(
        predict(model, &slow.clone().with("ghost", 3.0))
            .unwrap()
            .extrapolated
    );
    let error = set
        .find(METHOD, Metric::Wall, &at(5000.0).with("axis", "z"))
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot predict \"hydro.GodunovFlux::flux.compute\": no model where axis=z, \
         expected axis=x or axis=y; record that mode and fit"
    );
    let error = set.find(METHOD, Metric::Wall, &at(5000.0)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot predict \"hydro.GodunovFlux::flux.compute\": no mode is named, expected axis=x or axis=y; add it"
    );
    assert!(matches!(
        set.find("other", Metric::Wall, &slow),
        Err(Error::NoModel { .. })
    ));
    assert!(matches!(
        set.find(METHOD, Metric::Mpi, &slow),
        Err(Error::NoModel { .. })
    ));
}

#[test]
fn a_set_survives_json_to_the_bit() {
    let mut models = two_modes();
    let power = samples(
        &q(),
        &[
            (&[1e3], 1e-6),
            (&[2e3], 3.1e-6),
            (&[4e3], 9.3e-6),
            (&[8e3], 2.71e-5),
        ],
    );
    models.extend(fit_family(&power, Family::PowerLaw).unwrap());
    let one = samples(&q(), &[(&[1e3], 1e-6)]);
    models.extend(fit(&one).unwrap());
    let set = ModelSet { models };
    let text = set.to_json().unwrap();
    assert_eq!(ModelSet::from_json(&text).unwrap(), set);
    for key in [
        "\"where\": {",
        "\"axis\": \"x\"",
        "\"family\": \"power-law\"",
        "\"constant\": 0.0",
    ] {
        assert!(text.contains(key), "{key} in {text}");
    }
}

#[test]
fn the_least_that_a_hand_written_model_needs() {
    let text = r#"{"models":[{"method":"m","metric":"wall","family":"line","params":["x"],
        "expression":"1 + 2 * x","constant":1,"terms":[{"coefficient":2,"factors":
        [{"param":"x","exponent":"1","log_exponent":0}]}],"coefficients":[
        {"value":1,"std_error":null,"unit":"s"},{"value":2,"std_error":null,"unit":"s"}],
        "smape":0,"r2":null,"aicc":null,"cv_smape":null,"range":{"x":[1,2]},"sigma":null}]}"#;
    let set = ModelSet::from_json(text).unwrap();
    let p = predict(&set.models[0], &Coordinate::new().with("x", 3.0)).unwrap();
    assert_eq!(
        (p.value_s, p.lower_s, p.upper_s, p.extrapolated),
        (7.0, 0.0, f64::INFINITY, true)
    );
    assert!(matches!(
        ModelSet::from_json("{\"models\":[{}]}"),
        Err(Error::Json(_))
    ));
    let bad = text.replace(r#"{"value":1,"std_error":null,"unit":"s"},"#, "");
    assert_eq!(
        ModelSet::from_json(&bad).unwrap_err().to_string(),
        "cannot read model \"m\": 1 coefficients, expected 2; fit again"
    );
}

#[test]
fn one_size_gives_a_flagged_constant() {
    let samples = samples(&q(), &[(&[1e3], 1e-6), (&[1e3], 3e-6)]);
    let model = fit(&samples).unwrap().remove(0);
    assert_eq!(model.family, Family::Constant);
    assert!((model.formula.constant - 2e-6).abs() < 1e-18);
    assert_eq!(model.notes, [Note::NoVaryingParameter { n_points: 1 }]);
    assert_eq!((model.r2, model.aicc, model.cv_smape), (None, None, None));
    let p = predict(&model, &at(2e3)).unwrap();
    assert!(p.extrapolated && p.lower_s == 0.0 && p.upper_s > 1e-5 && p.upper_s.is_finite());
    let error = fit_family(&samples, Family::Line).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot fit \"hydro.GodunovFlux::flux.compute\": 1 point, expected at least 2; measure 1 more coordinate"
    );
}

#[test]
fn two_sizes_give_a_line_that_is_not_validated() {
    let model = fit(&samples(&q(), &[(&[1e3], 1e-6), (&[2e3], 3e-6)]))
        .unwrap()
        .remove(0);
    assert_eq!(model.family, Family::Line);
    assert_eq!(
        model.notes,
        [Note::NotValidated {
            n_points: 2,
            needed: 3
        }]
    );
    assert_eq!(model.coefficients[0].std_error, None);
    let p = predict(&model, &at(400.0)).unwrap();
    assert!(p.clamped && p.extrapolated);
    assert_eq!((p.value_s, p.lower_s, p.upper_s), (0.0, 0.0, f64::INFINITY));
}

#[test]
fn nothing_usable_is_an_error() {
    let error = fit(&samples(&q(), &[(&[1e3], f64::NAN), (&[1e3], -1.0)])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot fit \"hydro.GodunovFlux::flux.compute\": 0 samples, as 2 were not taken, \
         expected at least 1 with a finite time not below 0 and all parameters"
    );
    let zero = samples(&q(), &[(&[1e3], 0.0), (&[2e3], 0.0), (&[3e3], 0.0)]);
    assert_eq!(fit(&zero).unwrap()[0].formula.constant, 0.0);
    assert!(matches!(
        fit_family(&zero, Family::PowerLaw),
        Err(Error::Unsuitable { .. })
    ));
}

#[test]
fn a_line_that_turns_negative_where_measured_is_held_at_zero() {
    // Quadratic over three decades, all calls off by the same: the line is negative at the small sizes.
    let calls: Vec<([f64; 1], f64)> = [1e3, 1e4, 1e5, 1e6]
        .iter()
        .flat_map(|&q| [1e-9, -1e-9].map(|off| ([q], 1e-12 * q * q + off)))
        .collect();
    let calls: Vec<(&[f64], f64)> = calls.iter().map(|(q, s)| (q.as_slice(), *s)).collect();
    let samples = samples(&q(), &calls);
    let chosen = fit(&samples).unwrap().remove(0);
    // A power law and a normal form say the same, but for the last digit.
    let beside = predict(&chosen, &Coordinate::new().with("q", 2e5)).unwrap();
    assert!(
        (beside.value_s - 0.04).abs() < 1e-6,
        "{}",
        chosen.expression
    );
    assert!(!chosen.notes.contains(&Note::Held));
    let line = fit_family(&samples, Family::Line).unwrap().remove(0);
    assert!(line.notes.contains(&Note::Held), "{:?}", line.notes);
    let value = |x: f64| {
        let p = predict(&line, &Coordinate::new().with("q", x)).unwrap();
        assert!(!p.clamped, "{x}");
        p.value_s
    };
    assert!(value(1e3) < 1e-15 && value(1e6) > 0.0);
}

#[test]
fn lines_over_two_parameters_and_a_dependent_one() {
    let parameters = [
        Parameter::integer("nx", "cell"),
        Parameter::integer("ny", "cell"),
        Parameter::real("sum", ""),
    ];
    let mut calls = Vec::new();
    for (nx, ny) in [
        (8.0, 8.0),
        (16.0, 8.0),
        (8.0, 32.0),
        (64.0, 16.0),
        (32.0, 40.0),
    ] {
        calls.push(([nx, ny, nx + ny], 1e-6 + 2e-8 * nx + 5e-8 * ny));
    }
    let calls: Vec<(&[f64], f64)> = calls.iter().map(|(c, s)| (c.as_slice(), *s)).collect();
    let model = fit(&samples(&parameters, &calls)).unwrap().remove(0);
    let values: Vec<f64> = model.coefficients.iter().map(|c| c.value).collect();
    assert!((values[1] / 2e-8 - 1.0).abs() < 1e-9 && (values[2] / 5e-8 - 1.0).abs() < 1e-9);
    assert_eq!(
        model.notes,
        [Note::Collinear {
            param: "sum".into()
        }]
    );
    let here = Coordinate::new().with("nx", 10.0).with("ny", 10.0);
    assert!((predict(&model, &here).unwrap().value_s - 1.7e-6).abs() < 1e-14);
}

#[test]
fn a_coordinate_must_be_one_of_the_model() {
    let model = fit(&samples(
        &q(),
        &[(&[1e3], 1e-6), (&[2e3], 3e-6), (&[3e3], 5e-6)],
    ))
    .unwrap()
    .remove(0);
    let message = |coordinate| predict(&model, &coordinate).unwrap_err().to_string();
    assert_eq!(
        message(Coordinate::new()),
        "cannot predict \"hydro.GodunovFlux::flux.compute\": no number for parameter \"q\", expected one; add q=VALUE"
    );
    assert_eq!(
        message(at(1e3).with("n", 1.0)),
        "cannot predict \"hydro.GodunovFlux::flux.compute\": parameter \"n\" is unknown, expected q"
    );
    assert!(message(at(f64::NAN)).contains("NaN s at q=NaN, expected a finite time"));
}

#[test]
fn infinite_times_are_refused_and_counted() {
    let calls: [(&[f64], f64); 3] = [(&[1e3], 1e-6), (&[2e3], f64::INFINITY), (&[3e3], 3e-6)];
    let model = fit(&samples(&q(), &calls)).unwrap().remove(0);
    assert_eq!((model.n_refused, model.n_records), (1, 2));
}

#[test]
fn calls_of_no_time_are_told() {
    let calls: [(&[f64], f64); 3] = [(&[1e3], 0.0), (&[2e3], 2e-6), (&[3e3], 3e-6)];
    let model = fit(&samples(&q(), &calls)).unwrap().remove(0);
    assert!(model.notes.contains(&Note::Zero { n_records: 1 }));
    assert_eq!(
        Note::Zero { n_records: 1 }.to_string(),
        "1 call of 0 s, too short for the clock or not timed"
    );
}

#[test]
fn times_that_do_not_change_give_a_constant() {
    let sizes: Vec<[f64; 1]> = (1..9).map(|i| [1e3 * f64::from(i)]).collect();
    let calls: Vec<(&[f64], f64)> = sizes.iter().map(|q| (q.as_slice(), 2e-6)).collect();
    let model = fit(&samples(&q(), &calls)).unwrap().remove(0);
    assert_eq!(model.family, Family::Constant, "{}", model.expression);
    assert!((model.formula.constant / 2e-6 - 1.0).abs() < 1e-12);
    let p = predict(&model, &at(4500.0)).unwrap();
    assert!((p.value_s - 2e-6).abs() < 1e-15 && p.upper_s < 2.1e-6);
}

#[test]
fn runs_whose_parameters_have_other_names_do_not_mix() {
    let mut set = SampleSet::new(Metric::Wall);
    set.declare(METHOD, &q()).unwrap();
    let other = [Parameter::integer("size", "double")];
    assert_eq!(
        set.declare(METHOD, &other).unwrap_err().to_string(),
        "cannot take samples of \"hydro.GodunovFlux::flux.compute\": parameters [size (double)], \
         expected [q (double)] as in the samples before; fit the runs apart"
    );
}

#[test]
fn a_family_says_how_many_points_it_needs() {
    let calls: [(&[f64], f64); 2] = [(&[1e3], 1e-6), (&[2e3], 2e-6)];
    let samples = samples(&q(), &calls);
    for (family, needed) in [
        (Family::Polynomial, 4),
        (Family::NormalForm, 3),
        (Family::Stairs, 6),
        (Family::Regimes, 5),
    ] {
        let error = fit_family(&samples, family).unwrap_err();
        let Error::TooFewPoints {
            found: 2,
            needed: said,
            ..
        } = error
        else {
            panic!("{family}: {error}");
        };
        assert_eq!(said, needed, "{family}");
    }
}

/// Outside the range the deviation stays a share of the time, whatever its own function does there.
#[test]
fn the_interval_far_outside_is_wide() {
    let sizes: Vec<[f64; 1]> = (0..160).map(|i| [1e3 * f64::from(i / 20 + 1)]).collect();
    let calls: Vec<(&[f64], f64)> = (0..)
        .zip(&sizes)
        .map(|(i, q)| {
            (
                q.as_slice(),
                1e-9 * q[0] * (1.0 + 0.05 * f64::from(i * i % 97 - 48) / 30.0),
            )
        })
        .collect();
    let model = fit(&samples(&q(), &calls)).unwrap().remove(0);
    let (inside, far) = (
        predict(&model, &at(8e3)).unwrap(),
        predict(&model, &at(6.4e4)).unwrap(),
    );
    let share = |p: mastermind_models::Prediction| (p.upper_s - p.lower_s) / p.value_s;
    assert!(far.extrapolated && share(far) >= share(inside) && share(inside) > 0.1);
    assert!(!inside.extrapolated);
}

/// A model of what took no time is read back as it was written.
#[test]
fn a_model_of_zeros_is_stored() {
    let calls: [(&[f64], f64); 3] = [(&[1e3], 0.0), (&[2e3], 0.0), (&[3e3], 0.0)];
    let models = fit(&samples(&q(), &calls)).unwrap();
    let set = ModelSet { models };
    let read = ModelSet::from_json(&set.to_json().unwrap()).unwrap();
    assert_eq!(read, set);
    assert_eq!(predict(&read.models[0], &at(2.5e3)).unwrap().value_s, 0.0);
}

/// As of a counter: nothing anywhere, and nothing at the small sizes.
#[test]
fn zeros_are_fitted() {
    let parameters = [
        Parameter::integer("q", "double"),
        Parameter::enumeration("axis", &["x", "y"]),
    ];
    let counted = |value: fn(f64, u32) -> f64| {
        let mut set = SampleSet::new(Metric::named("faults"));
        let method = set.declare(METHOD, &parameters).unwrap();
        for call in 0..160_u32 {
            let (q, axis) = (f64::from(1 << (call % 8)), f64::from(call / 8 % 2));
            set.push(method, &[q, axis], value(q, call)).unwrap();
        }
        fit(&set.finish()[0]).unwrap().remove(0)
    };
    let here = Coordinate::new().with("q", 12.0).with("axis", "x");
    let model = counted(|_, _| 0.0);
    let p = predict(&model, &here).unwrap();
    assert_eq!((p.value_s, p.upper_s), (0.0, 0.0), "{}", model.expression);
    assert_eq!(model.metric.name(), "faults");
    let model = counted(|q, call| {
        if q < 8.0 {
            0.0
        } else {
            q + f64::from(call % 3)
        }
    });
    let p = predict(&model, &here).unwrap();
    assert!(p.value_s > 4.0 && p.value_s < 30.0, "{}", model.expression);
}

/// A form that seems near after two passes may be nowhere in the end: the next one is taken, and some fit there always is.
#[test]
fn a_call_that_was_interrupted_leaves_a_model() {
    for seed in 1..=400_u64 {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut random = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 40) as f64 / (1_u64 << 24) as f64
        };
        let (base, noise) = (20.0 + 200.0 * random(), 20.0 * random());
        let first = 3000.0 * random();
        let (cut, level) = (150.0 * random(), 10_f64.powf(2.0 * random() - 1.0));
        let at = (100.0 * random()) as usize;
        let longer = 10_f64.powf(2.0 + 5.0 * random());
        let mut call = |i: usize| {
            let own = base + noise * random();
            let scale = if i as f64 >= cut { level } else { 1.0 };
            let more = if i == at { longer } else { 0.0 } + if i == 0 { first } else { 0.0 };
            ([i as f64], 1e-9 * (own * scale + more).round())
        };
        let calls: Vec<([f64; 1], f64)> = (0..100).map(&mut call).collect();
        let calls: Vec<(&[f64], f64)> = calls.iter().map(|(x, s)| (&x[..], *s)).collect();
        let seen = samples(&q(), &calls);
        let mut unseen = seen.clone();
        unseen.kept.clone_from(&unseen.times);
        for samples in [seen, unseen] {
            let models = fit(&samples).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
            assert_eq!(models[0].n_records, 100);
            // What was called has a prediction, at a size of 0 too, whose only call may be one that was set aside.
            for (x, _) in &calls {
                let told = predict(&models[0], &Coordinate::new().with("q", x[0]));
                let told = told.unwrap_or_else(|e| panic!("seed {seed}, q = {}: {e}", x[0]));
                assert!(!told.extrapolated, "seed {seed}, q = {}", x[0]);
            }
        }
    }
}

/// More coordinates than positions are kept for, whose calls lie between one another, some of them refused.
#[test]
fn calls_of_many_coordinates_go_where_they_belong() {
    let n = 20_011;
    let parameters = [q(), vec![Parameter::integer("r", "")]].concat();
    let mut calls: Vec<([f64; 2], f64)> = (0..3 * n)
        .map(|k: u64| {
            let coordinate = [(k * k % n) as f64, (k % 3) as f64];
            (coordinate, (k % 7) as f64 - 1.0)
        })
        .collect();
    let taken = |calls: &[([f64; 2], f64)]| {
        let mut set = SampleSet::new(Metric::Wall);
        let method = set.declare(METHOD, &parameters).unwrap();
        for part in calls.chunks(1000) {
            let coordinates: Vec<f64> = part.iter().flat_map(|(at, _)| *at).collect();
            let seconds: Vec<f64> = part.iter().map(|(_, seconds)| *seconds).collect();
            set.push_all(method, &coordinates, &seconds);
        }
        set.finish().remove(0)
    };
    let mixed = taken(&calls);
    // Stable: the calls of a coordinate stay in their order.
    calls.sort_by(|(a, _), (b, _)| a.partial_cmp(b).unwrap());
    assert_eq!(mixed, taken(&calls));
    assert!(mixed.n_refused > 0 && mixed.coordinates.len() > n as usize);
}
