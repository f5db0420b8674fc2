//! Formulas that a user wrote: which of their names are unknowns, and how they are held within limits.

use std::collections::BTreeMap;

use mastermind_models::{
    Coordinate, Error, Family, FitOptions, Metric, Model, Note, Parameter, SampleSet, Samples,
    Unknown, UserFormula, fit_family, fit_with, predict,
};
use proptest::array::{uniform3, uniform12};
use proptest::prelude::*;

/// Samples of one method in `parameters`: a coordinate and seconds a call.
fn samples(parameters: &[Parameter], calls: impl IntoIterator<Item = (Vec<f64>, f64)>) -> Samples {
    let mut set = SampleSet::new(Metric::Wall);
    let method = set.declare("c.Flux::flux.compute", parameters).unwrap();
    for (point, seconds) in calls {
        set.push(method, &point, seconds).unwrap();
    }
    set.finish().remove(0)
}

/// One call at each of `sizes`.
fn along(sizes: &[f64], f: impl Fn(f64) -> f64) -> Samples {
    let parameters = [Parameter::real("q", "B")];
    samples(&parameters, sizes.iter().map(|&q| (vec![q], f(q))))
}

fn doubled(from: f64, n: i32) -> Vec<f64> {
    (0..n).map(|i| from * 2_f64.powi(i)).collect()
}

fn values(model: &Model) -> Vec<f64> {
    model.coefficients.iter().map(|c| c.value).collect()
}

fn at(model: &Model, q: f64) -> f64 {
    let coordinate = Coordinate::new().with("q", q);
    predict(model, &coordinate).unwrap().value_s
}

fn close(found: f64, planted: f64, relative: f64) -> bool {
    (found - planted).abs() <= relative * planted.abs()
}

fn parse(text: &str, unknowns: &[&str]) -> Result<UserFormula, Error> {
    let unknowns = unknowns
        .iter()
        .map(|name| ((*name).to_owned(), Unknown::default()));
    UserFormula::parse(text, unknowns.collect())
}

/// Fits a formula that must not fall with the parameters named.
fn fitted(samples: &Samples, formula: UserFormula, monotone: &[&str]) -> Result<Model, Error> {
    let options = FitOptions {
        formula: Some(formula),
        monotone: monotone.iter().map(|name| (*name).to_owned()).collect(),
        ..FitOptions::default()
    };
    Ok(fit_with(samples, &options)?.remove(0))
}

fn written(samples: &Samples, text: &str, unknowns: &[&str]) -> Result<Model, Error> {
    fitted(samples, parse(text, unknowns)?, &[])
}

fn rising(samples: &Samples, text: &str, unknowns: &[&str]) -> Result<Model, Error> {
    fitted(samples, parse(text, unknowns)?, &["q"])
}

fn notes(model: &Model) -> String {
    let notes: Vec<String> = model.notes.iter().map(ToString::to_string).collect();
    notes.join("; ")
}

#[test]
fn bounds_hold_a_written_formula() {
    let samples = along(&doubled(10.0, 8), |q| 1e-6 * q.powf(1.5));
    let unknowns = BTreeMap::from([
        ("a".to_owned(), Unknown::within(1e-9, 1.0)),
        ("b".to_owned(), Unknown::within(0.5, 1.25)),
    ]);
    let formula = UserFormula::parse("a * q^b", unknowns).unwrap();
    assert_eq!(values(&fitted(&samples, formula, &[]).unwrap())[1], 1.25);
}

#[test]
fn wrong_formulas_are_refused() {
    assert!(matches!(parse("a * (q", &["a"]), Err(Error::Formula(_))));
    assert_eq!(
        parse("a * q", &["b"]).unwrap_err().to_string(),
        "cannot fit unknown \"b\": from -inf to inf in formula \"a * q\", expected a name in it and bounds with room between"
    );
    let samples = along(&[1.0, 2.0, 3.0], |q| q);
    let error = |text: &str| written(&samples, text, &["a"]).unwrap_err();
    assert_eq!(
        error("a * n").to_string(),
        "cannot fit formula \"a * n\": \"n\" is unknown, expected a parameter (q) or a declared unknown"
    );
    assert!(matches!(error("a * ln(-q)"), Error::Unsuitable { .. }));
}

#[test]
fn unknowns_that_points_do_not_tell_apart_are_told() {
    let samples = along(&doubled(10.0, 8), |q| 1e-6 * q);
    let notes = |text: &str, unknowns: &[&str]| notes(&written(&samples, text, unknowns).unwrap());
    assert_eq!(
        notes("a * p + b", &["a", "b", "p"]),
        "the points do not tell \"b\" from the other unknowns: its value is one of many"
    );
    assert!(notes("a * q + b * q", &["a", "b"]).contains("\"b\""));
    assert_eq!(notes("a * q + b", &["a", "b"]), "");
}

/// A theory to hold against measurements: nothing is found, everything else of a model is there.
#[test]
fn a_formula_without_unknowns_is_judged() {
    let samples = along(&doubled(10.0, 8), |q| 2.2e-6 * q);
    let model = written(&samples, "2e-6 * q", &[]).unwrap();
    assert_eq!(values(&model), [0.0; 0]);
    assert!((model.cv_smape.unwrap() - 200.0 * 0.2 / 4.2).abs() < 1e-9);
    assert!(at(&model, 15.0) == 2e-6 * 15.0);
    assert!(written(&samples, "1 - q", &[]).is_err());
}

/// Names are unknowns where nothing but the formula says so, unless they look like a parameter.
#[test]
fn misspelt_parameters_are_found() {
    let parameters = [
        Parameter::real("size", "B"),
        Parameter::real("n", ""),
        Parameter::enumeration("axis", &["x", "y"]),
    ];
    let grid = (1..5).flat_map(|size| (1..5).map(move |n| (f64::from(size), f64::from(n * n))));
    let calls = grid.map(|(size, n)| (vec![size, n, 0.0], 1e-6 * (1.0 + size * n)));
    let samples = samples(&parameters, calls);
    let bounds = |names: &[&str]| {
        let bounds = names
            .iter()
            .map(|name| ((*name).to_owned(), Unknown::default()));
        bounds.collect::<BTreeMap<_, _>>()
    };
    let fit = |text: &str, names: &[&str]| {
        let formula = UserFormula::over(text, &parameters, bounds(names))?;
        fitted(&samples, formula, &[])
    };
    let error = |text: &str| fit(text, &[]).unwrap_err().to_string();
    assert_eq!(
        error("a * sise * n + b"),
        "cannot fit formula \"a * sise * n + b\": \"sise\" is unknown, expected a parameter (size, n), perhaps \"size\"; \
         give \"sise\" bounds if it is a number to be found"
    );
    assert!(error("a * size * N + b").contains("perhaps \"n\""));
    assert_eq!(
        error("a * size * m + b"),
        "cannot fit formula \"a * size * m + b\": the points do not tell \"m\" from the other unknowns (a, b), \
         expected a parameter that varies (n) in place of one; give all of them bounds if they are meant"
    );
    assert!(
        error("a * axis").contains("\"axis\" has labels, expected a numeric parameter (size, n)")
    );
    assert!(
        fit("a * n", &["n"])
            .unwrap_err()
            .to_string()
            .contains("\"n\" of formula \"a * n\": it is a parameter of the samples")
    );
    // Coefficients of one letter and of any other name, and what is said to be meant.
    for (text, names) in [
        ("a * size * n + b", &[][..]),
        ("slope * size * n + t0", &[]),
        ("c", &[]),
        ("a * n + sise", &["sise"]),
        ("a * n * m + b", &["a", "m", "b"]),
    ] {
        assert!(fit(text, names).is_ok(), "{text}");
    }
}

/// What falls freely and must not is level: the mean with the weights of relative noise.
#[test]
fn a_formula_that_falls_is_held_level() {
    let samples = along(&[1.0, 2.0, 3.0, 6.0], |q| 1e-6 * (9.0 - q));
    let sum = |power: i32| -> f64 { [8.0, 7.0, 6.0, 3.0_f64].map(|y| y.powi(power)).iter().sum() };
    let level = 1e-6 * sum(-1) / sum(-2);
    for (text, unknowns) in [
        ("a + b * q", &["a", "b"][..]),
        ("a * q^b", &["a", "b"]),
        ("a * exp(b * q)", &["a", "b"]),
        ("a / (1 + b * q)", &["a", "b"]),
        ("a + b * q^c", &["a", "b", "c"]),
        ("exp(a + b * ln(q))", &["a", "b"]),
    ] {
        let model =
            rising(&samples, text, unknowns).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert!(
            model.notes.contains(&Note::Held),
            "{text}: {}",
            notes(&model)
        );
        for q in [1.0, 2.5, 6.0] {
            assert!(
                close(at(&model, q), level, 1e-6),
                "{text}: {}",
                model.expression
            );
        }
    }
    let line = rising(&samples, "a + b * q", &["a", "b"]).unwrap();
    assert!(values(&line)[1].abs() < 1e-18, "{:?}", line.coefficients);
    // The slope is held, so that nothing but the level is unsure.
    let errors: Vec<f64> = line
        .coefficients
        .iter()
        .map(|c| c.std_error.unwrap())
        .collect();
    assert!(errors[0] > 1e-7 && errors[1] < 1e-15, "{errors:?}");
}

/// A formula that rises is fitted as if nothing had been asked.
#[test]
fn a_formula_that_rises_is_not_held() {
    let samples = along(&doubled(10.0, 9), |q| 1e-6 * q.powf(1.3) + 1e-5);
    let free = written(&samples, "a * q^b + c", &["a", "b", "c"]).unwrap();
    let model = rising(&samples, "a * q^b + c", &["a", "b", "c"]).unwrap();
    assert_eq!(model, free);
}

/// Where nothing but 0 does not fall, there is no cost to be had.
#[test]
fn a_formula_that_cannot_rise_is_refused() {
    let samples = along(&doubled(10.0, 8), |q| 1e-3 / q);
    let error = rising(&samples, "a / q", &["a"]).unwrap_err().to_string();
    assert!(
        error.contains("no written formula is positive and finite and does not fall with \"q\" at"),
        "{error}"
    );
    let bounded = BTreeMap::from([("a".to_owned(), Unknown::within(1e-6, 1.0))]);
    let formula = UserFormula::parse("a / q", bounded).unwrap();
    assert!(matches!(
        fitted(&samples, formula, &["q"]),
        Err(Error::Unsuitable { .. })
    ));
}

/// Bounds go on to hold where limits do: the line through the bound that is nearest and nowhere negative.
#[test]
fn bounds_and_limits_hold_together() {
    let samples = along(&[1.0, 2.0, 3.0, 6.0], |q| 1e-6 * (9.0 - q));
    let unknowns = BTreeMap::from([
        ("a".to_owned(), Unknown::within(0.0, 2e-6)),
        ("b".to_owned(), Unknown::default()),
    ]);
    let formula = UserFormula::parse("a + b * q", unknowns).unwrap();
    let model = fitted(&samples, formula, &["q"]).unwrap();
    let found = values(&model);
    assert!(close(found[0], 2e-6, 1e-12), "{found:?}");
    let sum = |f: fn(f64, f64) -> f64| -> f64 {
        [1.0, 2.0, 3.0, 6.0]
            .map(|q: f64| f(q, 9.0 - q))
            .iter()
            .sum()
    };
    let slope = sum(|q, y| q * (y - 2.0) / (y * y)) / sum(|q, y| q * q / (y * y));
    assert!(close(found[1], 1e-6 * slope, 1e-9), "{found:?}");
}

/// A formula that is freely negative within the range is held at 0 there, as a line is.
#[test]
fn a_formula_that_turns_negative_is_held_at_zero() {
    // All calls off by the same, so that small sizes do not weigh more.
    let calls = [1e3, 1e4, 1e5, 1e6].into_iter().flat_map(|q| {
        let seconds = [1e-9, -1e-9].map(|off| 1e-12 * q * q + off);
        seconds.map(|seconds| (vec![q], seconds))
    });
    let samples = samples(&[Parameter::real("q", "B")], calls);
    let model = written(&samples, "a + b * q", &["a", "b"]).unwrap();
    assert!(model.notes.contains(&Note::Held), "{}", notes(&model));
    let lowest = at(&model, 1e3);
    assert!(
        (0.0..1e-15).contains(&lowest) && at(&model, 1e6) > 0.1,
        "{lowest}"
    );
}

/// y falls a little and is held, x is as planted wherever y is: the design is balanced.
#[test]
fn one_of_two_parameters_is_held() {
    let parameters = [Parameter::real("x", ""), Parameter::real("y", "")];
    let grid = (1..7).flat_map(|x| (1..7).map(move |y| (f64::from(x), f64::from(y))));
    let calls = grid.map(|(x, y)| (vec![x, y], 1e-6 * (20.0 + 3.0 * x - 0.01 * y)));
    let samples = samples(&parameters, calls);
    let formula = parse("a + b * x + c * y", &["a", "b", "c"]).unwrap();
    let model = fitted(&samples, formula, &["x", "y"]).unwrap();
    let found = values(&model);
    assert!(
        close(found[1], 3e-6, 0.01) && found[2].abs() < 1e-15,
        "{found:?}"
    );
    let freely = parse("a + b * x + c * y", &["a", "b", "c"]).unwrap();
    let free = values(&fitted(&samples, freely, &["x"]).unwrap());
    assert!(close(free[2], -1e-8, 1e-9), "{free:?}");
}

/// What falls in one parameter at large values of the other only does not, wherever that is.
#[test]
fn a_formula_does_not_fall_anywhere_on_the_range() {
    let parameters = [Parameter::real("n", ""), Parameter::real("p", "")];
    let sizes = [10.0, 40.0, 160.0, 320.0];
    let grid = sizes
        .into_iter()
        .flat_map(|n| doubled(1.0, 5).into_iter().map(move |p| (n, p)));
    let calls = grid.map(|(n, p)| (vec![n, p], 1e-3 + 1e-5 * n / p + 2e-4 * p));
    let samples = samples(&parameters, calls);
    let unknowns = ["a", "b", "c"];
    for family in [false, true] {
        let model = if family {
            let options = FitOptions {
                family: Some(Family::Polynomial),
                monotone: vec!["p".into()],
                ..FitOptions::default()
            };
            fit_with(&samples, &options).unwrap().remove(0)
        } else {
            let formula = parse("a + b * n / p + c * p", &unknowns).unwrap();
            fitted(&samples, formula, &["p"]).unwrap()
        };
        assert!(model.notes.contains(&Note::Held), "{}", model.expression);
        for n in sizes {
            let value = |p: f64| {
                let coordinate = Coordinate::new().with("n", n).with("p", p);
                predict(&model, &coordinate).unwrap().value_s
            };
            let times: Vec<f64> = (0..=30).map(|i| value(1.0 + 0.5 * f64::from(i))).collect();
            let rises = times
                .windows(2)
                .all(|pair| pair[1] >= pair[0] * (1.0 - 1e-6));
            assert!(rises, "{} at {n}: {times:?}", model.expression);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Of a formula that is linear in its unknowns the sum of squares is convex, and so are the limits: the
    /// nearest is where no way to another that keeps them gains. A call that was set aside is in no sum.
    #[test]
    fn nothing_within_the_limits_is_nearer(
        times in uniform12(1.0..9.0_f64), rivals in prop::array::uniform8(uniform3(0.0..1.0_f64)),
    ) {
        let sizes: Vec<f64> = (1..13).map(f64::from).collect();
        let samples = along(&sizes, |q| 1e-6 * times[q as usize - 1]);
        let model = rising(&samples, "a + b * q + c * q^2", &["a", "b", "c"]).unwrap();
        prop_assume!(!model.notes.iter().any(|note| matches!(note, Note::SetAside { .. })));
        let steps: Vec<f64> = (0..=110).map(|i| at(&model, 1.0 + 0.1 * f64::from(i))).collect();
        prop_assert!(steps.windows(2).all(|pair| pair[1] >= pair[0] * (1.0 - 1e-6)), "{}", model.expression);
        let squares = |v: &[f64]| -> f64 {
            let off = |(q, y): (&f64, &f64)| (1e-6 * y - v[0] - v[1] * q - v[2] * q * q) / (1e-6 * y);
            sizes.iter().zip(&times).map(|pair| off(pair).powi(2)).sum()
        };
        let best = values(&model);
        for [a, b, c] in rivals {
            // Rising, or rising ever less up to the end of the range.
            for rival in [[a, b, c], [a, 24.0 * c, -c]] {
                let nearer: Vec<f64> =
                    best.iter().zip(rival).map(|(x, to)| x + 1e-4 * (1e-6 * to - x)).collect();
                prop_assert!(squares(&nearer) >= squares(&best) * (1.0 - 1e-9), "{best:?} {rival:?}");
            }
        }
    }

    /// Formulas that bend both ways, freely falling somewhere: what comes out never does.
    #[test]
    fn whatever_is_measured_it_does_not_fall(times in uniform12(1.0..9.0_f64), which in 0..4_usize) {
        let (text, unknowns): (&str, &[&str]) = [
            ("a * q^b + c", &["a", "b", "c"][..]),
            ("a + b * q + c * ln(q)", &["a", "b", "c"]),
            ("a * exp(b * q) + c * q", &["a", "b", "c"]),
            ("a + b * (q - c)^2", &["a", "b", "c"]),
        ][which];
        let sizes: Vec<f64> = (1..13).map(f64::from).collect();
        let samples = along(&sizes, |q| 1e-6 * times[q as usize - 1]);
        let model = rising(&samples, text, unknowns).unwrap();
        let steps: Vec<f64> = (0..=110).map(|i| at(&model, 1.0 + 0.1 * f64::from(i))).collect();
        // Between two of the places looked at it may bend a little.
        prop_assert!(steps.windows(2).all(|pair| pair[1] >= pair[0] * (1.0 - 1e-5)), "{}", model.expression);
        // A constant is one of each: nothing is farther than the level.
        let level = fit_family(&samples, Family::Constant).unwrap().remove(0);
        let squares = |model: &Model| -> f64 {
            sizes.iter().zip(&times).map(|(q, y)| (at(model, *q) / (1e-6 * y) - 1.0).powi(2)).sum()
        };
        prop_assert!(squares(&model) <= squares(&level) * (1.0 + 1e-9), "{}", model.expression);
    }
}
