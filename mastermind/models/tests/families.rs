//! Planted coefficients come back from noiseless records in every family, also by choice.

use std::collections::BTreeMap;

use mastermind_models::{
    Coordinate, Error, Family, FitOptions, Metric, Model, Modes, Note, Parameter, SampleSet,
    Samples, Statistic, Unknown, UserFormula, fit, fit_family, fit_with, predict,
};
use proptest::prelude::*;

/// Samples of one method in `names`: a coordinate and seconds a call.
fn samples(names: &[&str], calls: impl IntoIterator<Item = (Vec<f64>, f64)>) -> Samples {
    samples_of(Statistic::Mean, names, calls)
}

fn samples_of(
    statistic: Statistic,
    names: &[&str],
    calls: impl IntoIterator<Item = (Vec<f64>, f64)>,
) -> Samples {
    let parameters: Vec<Parameter> = names.iter().map(|n| Parameter::real(n, "B")).collect();
    let mut set = SampleSet::new(Metric::Wall).with_statistic(statistic);
    let method = set.declare("c.Flux::flux.compute", &parameters).unwrap();
    for (point, seconds) in calls {
        set.push(method, &point, seconds).unwrap();
    }
    set.finish().remove(0)
}

/// One call at each of `sizes`.
fn along(sizes: &[f64], f: impl Fn(f64) -> f64) -> Samples {
    samples(&["q"], sizes.iter().map(|&q| (vec![q], f(q))))
}

fn geometric(from: f64, ratio: f64, n: i32) -> Vec<f64> {
    (0..n).map(|i| (from * ratio.powi(i)).round()).collect()
}

fn close(found: f64, planted: f64) -> bool {
    (found - planted).abs() <= 1e-9 * planted.abs()
}

fn values(model: &Model) -> Vec<f64> {
    model.coefficients.iter().map(|c| c.value).collect()
}

fn only(samples: &Samples, family: Family) -> Model {
    fit_family(samples, family).unwrap().remove(0)
}

fn chosen(samples: &Samples) -> Model {
    fit(samples).unwrap().remove(0)
}

fn at(model: &Model, q: f64) -> f64 {
    predict(model, &Coordinate::new().with("q", q))
        .unwrap()
        .value_s
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn constants_lines_and_logarithms(a in 1e-6..1e-3_f64, b in 1e-8..1e-5_f64) {
        let sizes = geometric(100.0, 1.9, 10);
        prop_assert!(close(values(&only(&along(&sizes, |_| a), Family::Constant))[0], a));
        let line = along(&sizes, |q| a + b * q);
        for model in [only(&line, Family::Line), chosen(&line)] {
            prop_assert_eq!(model.family, Family::Line);
            prop_assert!(close(values(&model)[0], a) && close(values(&model)[1], b));
        }
        let logarithm = along(&sizes, |q| a + b * q.log2());
        for model in [only(&logarithm, Family::Logarithm), chosen(&logarithm)] {
            prop_assert_eq!(model.family, Family::Logarithm, "{}", model.expression);
            prop_assert!(close(values(&model)[0], a) && close(values(&model)[1], b));
        }
    }

    #[test]
    fn power_laws_and_exponentials(b in -20.0..-10.0_f64, a in 1.05..1.45_f64) {
        let sizes = geometric(100.0, 1.9, 10);
        let power = along(&sizes, |q| (a * q.ln() + b).exp());
        for model in [only(&power, Family::PowerLaw), chosen(&power)] {
            prop_assert_eq!(model.family, Family::PowerLaw, "{}", model.expression);
            prop_assert!(close(values(&model)[0], b) && close(values(&model)[1], a));
        }
        let sizes: Vec<f64> = (1..12).map(|i| f64::from(i) * 10.0).collect();
        let growth = along(&sizes, |q| (a / 30.0 * q + b).exp());
        for model in [only(&growth, Family::Exponential), chosen(&growth)] {
            prop_assert_eq!(model.family, Family::Exponential, "{}", model.expression);
            prop_assert!(close(values(&model)[0], b) && close(values(&model)[1], a / 30.0));
            prop_assert!(close(at(&model, 130.0), (a / 30.0 * 130.0 + b).exp()));
        }
    }

    #[test]
    fn polynomials(c in prop::array::uniform5(0.2..5.0_f64), degree in 2..5_usize) {
        let sizes: Vec<f64> = (1..14).map(|i| f64::from(i * i)).collect();
        let f = |q: f64| (0..=degree).map(|k| c[k] * (q / 60.0).powi(k as i32)).sum::<f64>() * 1e-5;
        let model = chosen(&along(&sizes, f));
        prop_assert_eq!(model.family, Family::Polynomial, "{}", model.expression);
        prop_assert_eq!(model.coefficients.len(), degree + 1);
        for (k, found) in values(&model).into_iter().enumerate() {
            prop_assert!(close(found, c[k] * 1e-5 / 60_f64.powi(k as i32)), "{k}: {found}");
        }
    }

    #[test]
    fn polynomials_of_two_parameters(c in prop::array::uniform6(0.2..5.0_f64)) {
        let f = |x: f64, y: f64| {
            1e-6 * (c[0] + c[1] * x + c[2] * y + c[3] * x * x + c[4] * x * y + c[5] * y * y)
        };
        let grid = (1..6).flat_map(|x| (1..6).map(move |y| (f64::from(x), f64::from(y * y))));
        let model = only(&samples(&["x", "y"], grid.map(|(x, y)| (vec![x, y], f(x, y)))), Family::Polynomial);
        let names: Vec<&str> = model.coefficients.iter().map(|c| c.name.as_str()).collect();
        prop_assert_eq!(names, ["constant", "x", "y", "x^(2)", "x * y", "y^(2)"]);
        for (found, planted) in values(&model).into_iter().zip(c) {
            prop_assert!(close(found, 1e-6 * planted));
        }
    }

    #[test]
    fn stairs(a in 1e-6..1e-4_f64, b in 1e-6..1e-4_f64, width in 5..200_u32) {
        let width = f64::from(width);
        // Either side of the first steps, then here and there.
        let mut sizes: Vec<f64> = (1..6).flat_map(|k| [width * f64::from(k), width * f64::from(k) + 1.0]).collect();
        sizes.extend((1..20).map(|i| f64::from(i * i * 7 + i)));
        let model = chosen(&along(&sizes, |q| a + b * (q / width).ceil()));
        prop_assert_eq!(model.family, Family::Stairs, "{}", model.expression);
        prop_assert_eq!(model.formula.terms[0].factors[0].step, Some(width));
        prop_assert!(close(values(&model)[0], a) && close(values(&model)[1], b));
    }

    #[test]
    fn lines_by_regime(slope in 1e-9..1e-8_f64, steeper in 2.0..6.0_f64, at_index in 4..10_usize) {
        let sizes = geometric(1000.0, 1.8, 14);
        let wall = (sizes[at_index - 1] * sizes[at_index]).sqrt();
        let f = |q: f64| if q < wall { 2e-6 + slope * q } else { 5e-6 + steeper * slope * q };
        let model = chosen(&along(&sizes, f));
        prop_assert_eq!(model.family, Family::Regimes, "{}", model.expression);
        prop_assert!(close(model.formula.terms[0].regime.as_ref().unwrap().to.unwrap(), wall));
        for (found, planted) in values(&model).into_iter().zip([2e-6, slope, 5e-6, steeper * slope]) {
            prop_assert!(close(found, planted), "{found} {planted}");
        }
    }

    /// Five sizes are too few for two lines of their own, and enough for two that meet, wherever that is.
    #[test]
    fn lines_that_meet(slope in 1e-9..1e-8_f64, steeper in 3.0..8.0_f64, place in 2..5_usize) {
        let sizes = [4e3, 12e3, 32e3, 92e3, 256e3];
        let wall = [12e3, (12e3_f64 * 32e3).sqrt(), 32e3, (32e3_f64 * 92e3).sqrt(), 92e3][place - 1];
        let f = |q: f64| 2e-6 + slope * q.min(wall) + steeper * slope * (q - wall).max(0.0);
        let calls = sizes.iter().flat_map(|&q| [0.995, 1.0, 1.005].map(|noise| (vec![q], noise * f(q))));
        let model = chosen(&samples(&["q"], calls));
        prop_assert_eq!(model.family, Family::Regimes, "{}", model.expression);
        for (found, planted) in values(&model)[..2].iter().zip([2e-6, slope]) {
            prop_assert!(close(*found, planted), "{found} {planted}");
        }
        prop_assert!(close(values(&model)[3], steeper * slope), "{}", model.expression);
        let (here, before) = (at(&model, wall), at(&model, wall * (1.0 - 1e-12)));
        prop_assert!((here / before - 1.0).abs() < 1e-9, "{before} {here}");
        prop_assert!((at(&model, 1024e3) / f(1024e3) - 1.0).abs() < 0.05);
    }

    #[test]
    fn written_formulas(a in 1e-6..1e-4_f64, b in 0.3..2.5_f64, c in 1e-5..1e-3_f64) {
        let sizes = geometric(10.0, 1.9, 10);
        let unknowns = ["a", "b", "c"].map(|name| (name.to_owned(), Unknown::default()));
        let formula = UserFormula::parse("a * q^b + c", BTreeMap::from(unknowns)).unwrap();
        let options = FitOptions { formula: Some(formula), ..FitOptions::default() };
        let model = fit_with(&along(&sizes, |q| a * q.powf(b) + c), &options).unwrap().remove(0);
        prop_assert_eq!(model.family, Family::Written);
        for (found, planted) in values(&model).into_iter().zip([a, b, c]) {
            prop_assert!(close(found, planted), "{found} {planted}");
        }
        prop_assert!(close(at(&model, 1e5), a * 1e5_f64.powf(b) + c));
    }

    /// Seconds or hours, bytes or kilobytes: the same family, the same times.
    #[test]
    fn units_do_not_matter(which in 0..5_usize, time in 1e-6..1e6_f64, power in -10..20_i32) {
        let size = 2_f64.powi(power);
        let f: fn(f64) -> f64 = [
            |q: f64| 3e-6 + 1e-8 * q,
            |q: f64| 1e-9 * q.powf(1.3),
            |q: f64| 1e-6 + 1e-9 * q + 1e-13 * q * q,
            |q: f64| 1e-6 + 2e-6 * (q / 512.0).ceil(),
            |q: f64| if q < 3000.0 { 1e-9 * q } else { 3e-9 * q },
        ][which];
        let sizes: Vec<f64> = (1..16).map(|i| f64::from(64 * i * i)).collect();
        let wobble = |q: f64| 1.0 + 0.01 * (q * 0.37).sin();
        let plain = chosen(&along(&sizes, |q| f(q) * wobble(q)));
        let scaled: Vec<(Vec<f64>, f64)> =
            sizes.iter().map(|&q| (vec![q * size], time * f(q) * wobble(q))).collect();
        let scaled = chosen(&samples(&["q"], scaled));
        // A logarithm has no unit but that of its parameter: only it may change the form.
        let has_logarithm = |model: &Model| {
            let mut factors = model.formula.terms.iter().flat_map(|term| &term.factors);
            factors.any(|factor| factor.log_exponent > 0)
        };
        let there = at(&scaled, 5000.0 * size) / time;
        let off = (there / at(&plain, 5000.0) - 1.0).abs();
        if has_logarithm(&plain) || has_logarithm(&scaled) {
            prop_assert!(off < 0.01, "{} {}", plain.expression, scaled.expression);
        } else {
            prop_assert_eq!(plain.family, scaled.family, "{} {}", plain.expression, scaled.expression);
            prop_assert!(off < 1e-6);
        }
    }

    /// Not without noise: there, what a longer form adds is rounding, another for each order.
    #[test]
    fn order_and_duplicates_do_not_matter(seed in 1..1000_u32) {
        let sizes = geometric(100.0, 1.7, 12);
        let seconds = |q: f64| (1e-6 + 1e-9 * q) * (1.0 + 0.02 * (q * f64::from(seed)).sin());
        let calls: Vec<(Vec<f64>, f64)> = sizes.iter().map(|&q| (vec![q], seconds(q))).collect();
        let once = chosen(&samples(&["q"], calls.clone()));
        let backwards = chosen(&samples(&["q"], calls.iter().rev().cloned()));
        prop_assert_eq!(&once, &backwards);
        for family in [Family::Line, Family::Polynomial, Family::Regimes, Family::PowerLaw] {
            let once = only(&samples(&["q"], calls.clone()), family);
            let thrice = only(&samples(&["q"], [&calls[..], &calls, &calls].concat()), family);
            for (a, b) in values(&once).into_iter().zip(values(&thrice)) {
                prop_assert!(close(a, b), "{family}: {a} {b}");
            }
        }
    }
}

/// The forms of Eq. 2 of the paper, the logarithm's lost constant put in: the deviation of StatesConstructor a power
/// law, of GodunovFlux a line, of EFMFlux a polynomial of degree 4, each from 200 calls a size, so that
/// the deviation at a size is known to 5 %.
#[test]
fn equation_2_of_the_paper_is_found() {
    let found: Vec<[bool; 3]> = (1..=12).map(equation_2).collect();
    for which in 0..3 {
        let times = found.iter().filter(|found| found[which]).count();
        // Normal forms near a power law of exponent 1.19, and near a line of which a call is off by up to 45 %, are as
        // likely beforehand.
        let wanted = if which < 2 { 8 } else { 9 };
        assert!(times >= wanted, "{which}: {times} of 12");
    }
}

/// Whether the mean and the deviation of each of the three have the form they were made by, and
/// coefficients near.
fn equation_2(seed: u64) -> [bool; 3] {
    let measured = |sizes: &[f64], mean: fn(f64) -> f64, deviation: fn(f64) -> f64| {
        let mut state = 0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(seed);
        let mut uniform = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state as f64 / u64::MAX as f64
        };
        let mut calls = Vec::new();
        for &q in sizes {
            for _ in 0..200 {
                let normal = (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
                calls.push((vec![q], 1e-6 * (mean(q) + deviation(q) * normal).max(0.0)));
            }
        }
        chosen(&samples(&["q"], calls))
    };
    let form = |model: &Model| (model.family, model.sigma_family);
    let near = |found: f64, planted: f64, within: f64| (found / planted - 1.0).abs() < within;
    let sizes = geometric(4000.0, 1.25, 16);
    let states = |q: f64| (1.19 * q.ln() - 3.68).exp();
    let model = measured(&sizes, states, |q| (1.29 * q.ln() - 6.0).exp());
    let sigma = model.sigma.clone().unwrap();
    let states = form(&model) == (Family::PowerLaw, Some(Family::PowerLaw))
        && near(sigma.terms[0].factors[0].exponent.value(), 1.29, 0.08);
    let model = measured(&sizes, |q| 1e3 + 0.315 * q, |q| -526.0 + 0.152 * q);
    let sigma = model.sigma.clone().unwrap();
    let godunov = form(&model) == (Family::Line, Some(Family::Line))
        && near(sigma.terms[0].coefficient, 0.152e-6, 0.1);
    let sizes: Vec<f64> = (0..32).map(|i| 14e3 + 4e3 * f64::from(i)).collect();
    let efm = |q: f64| {
        66.7 - 0.015 * q + 9.24e-7 * q.powi(2) - 1.12e-11 * q.powi(3) + 3.85e-17 * q.powi(4)
    };
    let model = measured(&sizes, |q| -8.13 + 0.16 * q, efm);
    let sigma = model.sigma.clone().unwrap();
    // Its intercept is too small to be seen from 14 000 doubles on.
    let efm = model.sigma_family == Some(Family::Polynomial)
        && near(at(&model, 5e4), 0.16e-6 * 5e4, 0.02)
        && sigma.terms.len() == 4
        && near(sigma.terms[3].coefficient, 3.85e-23, 0.2);
    [states, godunov, efm]
}

/// Calls of two labels: the second `ratio` times as long, all with a little noise.
fn two_labels(ratio: f64) -> Samples {
    let parameters = [
        Parameter::integer("q", "double"),
        Parameter::enumeration("axis", &["x", "y"]),
    ];
    let mut set = SampleSet::new(Metric::Wall);
    let method = set.declare("m", &parameters).unwrap();
    for i in 0..240_u32 {
        let (q, axis) = (1e3 * f64::from(i % 6 + 1), f64::from(i / 6 % 2));
        let noise = 1.0 + 0.03 * (f64::from(i) * 1.7).sin();
        let seconds = 1e-9 * q * if axis > 0.0 { ratio } else { 1.0 };
        set.push(method, &[q, axis], seconds * noise).unwrap();
    }
    set.finish().remove(0)
}

#[test]
fn labels_that_make_no_difference_share_a_model() {
    let same = two_labels(1.0);
    let models = fit(&same).unwrap();
    assert_eq!((models.len(), models[0].n_records), (1, 240));
    assert_eq!(models[0].shared["axis"], ["x", "y"]);
    assert!(models[0].notes.contains(&Note::Shared {
        param: "axis".into()
    }));
    let here = Coordinate::new().with("q", 2e3);
    let plain = predict(&models[0], &here).unwrap();
    assert_eq!(
        predict(&models[0], &here.clone().with("axis", "y")).unwrap(),
        plain
    );
    let other = predict(&models[0], &here.with("axis", "z")).unwrap_err();
    assert!(matches!(other, Error::NoMode { .. }), "{other}");
    let apart = FitOptions {
        modes: Modes::Apart,
        ..FitOptions::default()
    };
    assert_eq!(fit_with(&same, &apart).unwrap().len(), 2);
}

#[test]
fn labels_that_differ_are_fitted_apart_unless_asked_not_to() {
    let differ = two_labels(1.05);
    let models = fit(&differ).unwrap();
    assert_eq!(models.len(), 2);
    assert_eq!(models[1].mode["axis"], "y");
    let together = FitOptions {
        modes: Modes::Together,
        ..FitOptions::default()
    };
    let model = fit_with(&differ, &together).unwrap().remove(0);
    assert!((at(&model, 2e3) / 2.05e-6 - 1.0).abs() < 0.01);
    let param = "axis".to_owned();
    assert!(model.notes.contains(&Note::Together { param }));
}

#[test]
fn spikes_are_set_aside_and_told_but_belong_to_the_total() {
    let noise = |i: u32| 1.0 + 0.05 * (f64::from(i) * 2.3).sin();
    let mut calls: Vec<(Vec<f64>, f64)> = (0..400_u32)
        .map(|i| {
            let q = 1e3 * f64::from(i % 8 + 1);
            (vec![q], (1e-6 + 1e-9 * q) * noise(i))
        })
        .collect();
    let clean = chosen(&samples(&["q"], calls.clone()));
    let total: f64 = calls.iter().map(|(_, seconds)| seconds).sum();
    calls[17].1 += 4e-3;
    calls[200].1 += 9e-4;
    let spiky = samples(&["q"], calls);
    let model = chosen(&spiky);
    assert_eq!((model.family, clean.family), (Family::Line, Family::Line));
    assert!((at(&model, 4500.0) / at(&clean, 4500.0) - 1.0).abs() < 0.01);
    let Some(Note::SetAside { n_records, percent }) = model.notes.first() else {
        panic!("{:?}", model.notes);
    };
    assert_eq!(*n_records, 2);
    assert!(
        (percent - 100.0 * 4.9e-3 / (total + 4.9e-3)).abs() < 0.5,
        "{percent}"
    );
    assert!((model.total_ratio / (1.0 + 4.9e-3 / total) - 1.0).abs() < 0.01);
    assert_eq!(model.n_records, 400);
}

/// As in an application that waits in one call of fifty for all others: 12 of 640 calls with nearly all of the time.
#[test]
fn few_calls_that_hold_most_of_the_time_are_fitted_and_told() {
    let calls: Vec<(Vec<f64>, f64)> = (0..640_u32)
        .map(|i| {
            let q = 1e3 * f64::from(i % 8 + 1);
            let factor = if i % 53 == 5 { 800.0 } else { 1.0 };
            (vec![q], 1e-9 * q * factor)
        })
        .collect();
    let total: f64 = calls.iter().map(|(_, seconds)| seconds).sum();
    let model = chosen(&samples(&["q"], calls.clone()));
    let is_told = |note: &Note| matches!(note, Note::Uneven { n_records: 12 | 13, of: 640, percent } if *percent > 90.0);
    assert!(model.notes.iter().any(is_told), "{:?}", model.notes);
    let of_formula: f64 = calls.iter().map(|(q, _)| at(&model, q[0])).sum();
    assert!(
        (of_formula / total - 1.0).abs() < 0.5,
        "calls alone give {of_formula} of {total} s"
    );
}

/// Two of five calls take three times as long, as beside another process: the mean is 1.8 medians.
#[test]
fn a_formula_of_means_far_from_typical_calls_is_told() {
    let calls = |slow: f64| -> Vec<(Vec<f64>, f64)> {
        let call = |i: u32| {
            let q = 1e3 * f64::from(i % 8 + 1);
            let factor = if i % 5 < 2 { slow } else { 1.0 };
            (vec![q], 1e-9 * q * factor * (1.0 + 0.01 * f64::from(i % 7)))
        };
        (0..640).map(call).collect()
    };
    let told =
        |slow: f64, statistic: Statistic| chosen(&samples_of(statistic, &["q"], calls(slow))).notes;
    let all = Note::BesideMedians { n_points: 8, of: 8 };
    assert!(told(3.0, Statistic::Mean).contains(&all));
    let is_told = |note: &Note| matches!(note, Note::BesideMedians { .. });
    assert!(!told(1.1, Statistic::Mean).iter().any(is_told));
    assert!(!told(3.0, Statistic::Median).iter().any(is_told));
}

/// A formula that explains less than 0.7 of how the means differ never passes without a word, though the calls' spread is the reason.
#[test]
fn a_formula_in_the_spread_of_the_calls_is_told() {
    let mut n_scattered = 0;
    for seed in 1..40_u64 {
        let mut state = seed;
        let mut uniform = || {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (state >> 33) as f64 / f64::from(1_u32 << 31)
        };
        let calls: Vec<(Vec<f64>, f64)> = (0..36)
            .map(|i| {
                let q = f64::from(i % 18 + 1);
                (vec![q], 1e-4 * (1.0 + 0.05 * q) * (0.2 + uniform()))
            })
            .collect();
        let model = chosen(&samples(&["q"], calls));
        if model.family == Family::Constant || model.r2.is_none_or(|r2| r2 >= 0.7) {
            continue;
        }
        let is_told = |note: &Note| {
            matches!(
                note,
                Note::Scattered { .. } | Note::Poor { .. } | Note::NoModel
            )
        };
        assert!(
            model.notes.iter().any(is_told),
            "seed {seed}: {:?}",
            model.notes
        );
        let is_scattered = |note: &Note| matches!(note, Note::Scattered { .. });
        n_scattered += usize::from(model.notes.iter().any(is_scattered));
    }
    assert!(n_scattered > 0);
}

/// A quartic through noise falls somewhere; asked not to, another form is taken.
#[test]
fn what_is_asked_to_be_monotone_is() {
    let sizes: Vec<f64> = (1..14).map(f64::from).collect();
    let dented = along(&sizes, |q| {
        1e-3 * (1.0 + q + 3.0 * (-(q - 7.0).powi(2)).exp())
    });
    let monotone = FitOptions {
        monotone: vec!["q".into()],
        ..FitOptions::default()
    };
    let model = fit_with(&dented, &monotone).unwrap().remove(0);
    let times: Vec<f64> = (10..130).map(|i| at(&model, f64::from(i) / 10.0)).collect();
    assert!(
        times
            .windows(2)
            .all(|pair| pair[1] >= pair[0] * (1.0 - 1e-12)),
        "{}",
        model.expression
    );
    let unknown = FitOptions {
        monotone: vec!["n".into()],
        ..FitOptions::default()
    };
    assert_eq!(
        fit_with(&dented, &unknown).unwrap_err().to_string(),
        "cannot fit \"c.Flux::flux.compute\": no numeric parameter \"n\", expected one of q"
    );
}

/// Within limits the nearest fit is known: a falling line that may not fall is the mean, and what falls in
/// one parameter alone keeps the other's coefficient.
#[test]
fn what_falls_is_held_level_and_the_rest_is_planted() {
    let monotone = |names: &[&str], family| FitOptions {
        family: Some(family),
        monotone: names.iter().map(|name| (*name).to_owned()).collect(),
        ..FitOptions::default()
    };
    let falling = along(&[1.0, 2.0, 3.0, 6.0], |q| 1e-6 * (9.0 - q));
    let line = fit_with(&falling, &monotone(&["q"], Family::Line))
        .unwrap()
        .remove(0);
    assert!(line.notes.contains(&Note::Held));
    assert!(values(&line)[1].abs() < 1e-18, "{:?}", line.coefficients);
    let level = only(&falling, Family::Constant);
    assert!(close(at(&line, 4.0), at(&level, 4.0)));
    assert_eq!(line.coefficients[1].std_error, Some(0.0));
    let power = fit_with(&falling, &monotone(&["q"], Family::PowerLaw))
        .unwrap()
        .remove(0);
    assert!(values(&power)[1].abs() < 1e-12, "{:?}", power.coefficients);
    // y falls a little, x is as planted wherever y is: the design is balanced.
    let grid = (1..7).flat_map(|x| (1..7).map(move |y| (f64::from(x), f64::from(y))));
    let two = samples(
        &["x", "y"],
        grid.map(|(x, y)| (vec![x, y], 1e-6 * (20.0 + 3.0 * x - 0.01 * y))),
    );
    let held = fit_with(&two, &monotone(&["x", "y"], Family::Line))
        .unwrap()
        .remove(0);
    let value = |x: f64, y: f64| {
        let coordinate = Coordinate::new().with("x", x).with("y", y);
        predict(&held, &coordinate).unwrap().value_s
    };
    assert!(
        (value(5.0, 1.0) / value(5.0, 6.0) - 1.0).abs() < 1e-9,
        "{}",
        held.expression
    );
    assert!(
        (value(6.0, 3.0) - value(2.0, 3.0) - 12e-6).abs() < 1e-7,
        "{}",
        held.expression
    );
}
