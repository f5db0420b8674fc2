//! Normal forms come back from the times they make, in one to three parameters.

use mastermind_models::{
    Coordinate, Error, Factor, Family, Metric, Model, ModelSet, Parameter, SampleSet, Samples,
    Total, fit, fit_family, predict,
};
use proptest::array::uniform2;
use proptest::prelude::*;

/// Samples over a grid of `sizes` in each of `names`, the value of `f` at each point `repetitions`
/// times, times one plus noise.
fn samples(
    names: &[&str],
    sizes: &[f64],
    repetitions: usize,
    level: f64,
    f: impl Fn(&[f64]) -> f64,
) -> Samples {
    let parameters: Vec<Parameter> = names.iter().map(|name| Parameter::real(name, "")).collect();
    let mut set = SampleSet::new(Metric::Wall);
    let method = set.declare("c.Solver::solver.solve", &parameters).unwrap();
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut normal = move || {
        let sum: f64 = (0..12)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state as f64 / u64::MAX as f64
            })
            .sum();
        sum - 6.0
    };
    for i in 0..sizes.len().pow(names.len() as u32) {
        let digit = |param: usize| i / sizes.len().pow(param as u32) % sizes.len();
        let point: Vec<f64> = (0..names.len()).map(|param| sizes[digit(param)]).collect();
        for _ in 0..repetitions {
            let seconds = f(&point) * (1.0 + level * normal());
            set.push(method, &point, seconds).unwrap();
        }
    }
    set.finish().remove(0)
}

const SIZES: [f64; 7] = [4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];

fn normal_form(samples: &Samples) -> Model {
    fit_family(samples, Family::NormalForm).unwrap().remove(0)
}

fn close(found: f64, planted: f64, relative: f64) -> bool {
    (found - planted).abs() <= relative * planted.abs()
}

/// A power of a parameter and of its logarithm to base 2.
type Term = (f64, u32);

fn value(&(exponent, logarithm): &Term, x: f64) -> f64 {
    x.powf(exponent) * x.log2().powi(logarithm as i32)
}

/// Extra-P's terms: exponents, and how many powers of the logarithm from 0 on go with each.
fn all_terms() -> Vec<Term> {
    let exponents = [
        (0.25, 3),
        (1.0 / 3.0, 3),
        (0.5, 3),
        (2.0 / 3.0, 3),
        (0.75, 3),
        (0.8, 1),
        (1.0, 3),
        (1.25, 2),
        (4.0 / 3.0, 2),
        (1.5, 3),
        (5.0 / 3.0, 1),
        (1.75, 1),
        (2.0, 3),
        (2.25, 1),
        (7.0 / 3.0, 1),
        (2.5, 3),
        (8.0 / 3.0, 1),
        (2.75, 1),
        (3.0, 2),
    ];
    let with_powers = exponents
        .into_iter()
        .flat_map(|(exponent, n)| (0..n).map(move |j| (exponent, j)));
    [(0.0, 1), (0.0, 2)]
        .into_iter()
        .chain(with_powers)
        .collect()
}

fn any_term() -> impl Strategy<Value = Term> {
    prop::sample::select(all_terms())
}

/// Two that are not the same.
fn two_terms() -> impl Strategy<Value = [Term; 2]> {
    let two = prop::sample::subsequence(all_terms(), 2);
    two.prop_map(|two| [two[0], two[1]])
}

/// Fits `c + Σ aₖ Πₖ` without noise, each product `Πₖ` of a parameter's position and its term, `aₖ` such that at
/// the largest sizes it is its share of `c`; says what comes back otherwise, or off by more than 1e-9.
fn planted(
    names: &[&str],
    sizes: &[f64],
    c: f64,
    shares: [f64; 2],
    terms: [Vec<(usize, Term)>; 2],
) -> Result<(), String> {
    let product = |k: usize, at: &dyn Fn(usize) -> f64| -> f64 {
        terms[k]
            .iter()
            .map(|(param, term)| value(term, at(*param)))
            .product()
    };
    let largest = sizes[sizes.len() - 1];
    let a = [0, 1].map(|k| c * shares[k] / product(k, &|_| largest));
    let f = |p: &[f64]| {
        c + (0..2)
            .map(|k| a[k] * product(k, &|param| p[param]))
            .sum::<f64>()
    };
    let model = normal_form(&samples(names, sizes, 1, 0.0, f));
    let found = model.formula.terms.iter().map(|term| {
        let factor = |f: &Factor| {
            let param = names.iter().position(|name| *name == f.param).unwrap();
            (param, (f.exponent.value(), f.log_exponent))
        };
        (
            term.factors.iter().map(factor).collect::<Vec<_>>(),
            term.coefficient,
        )
    });
    let found: Vec<(Vec<(usize, Term)>, f64)> = found.collect();
    let off = |found: f64, planted: f64| (found / planted - 1.0).abs();
    let coefficient = |k: usize| found.iter().find(|(product, _)| *product == terms[k]);
    match (found.len(), coefficient(0), coefficient(1)) {
        (2, Some(first), Some(second)) => {
            let errors = [
                off(model.coefficients[0].value, c),
                off(first.1, a[0]),
                off(second.1, a[1]),
            ];
            match errors.iter().all(|error| *error < 1e-9) {
                true => Ok(()),
                false => Err(format!("off by {errors:?}")),
            }
        }
        _ => Err(model.expression),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn one_term_comes_back(c in 1e-6..1e-3_f64, a in 1e-7..1e-3_f64, which in 0..3_usize) {
        let (term, text): (fn(f64) -> f64, _) = [
            ((|x: f64| x * x.log2()) as fn(f64) -> f64, " * x * log2(x)^1"),
            (|x: f64| x.powf(1.5), " * x^(3/2)"),
            (|x: f64| x.log2() * x.log2(), " * log2(x)^2"),
        ][which];
        let model = normal_form(&samples(&["x"], &SIZES, 2, 0.0, |p| c + a * term(p[0])));
        prop_assert!(model.expression.ends_with(text), "{}", model.expression);
        prop_assert!(close(model.coefficients[0].value, c, 1e-9));
        prop_assert!(close(model.coefficients[1].value, a, 1e-9));
        let far = predict(&model, &Coordinate::new().with("x", 1024.0)).unwrap();
        prop_assert!(far.extrapolated && close(far.value_s, c + a * term(1024.0), 1e-9));
    }

    /// Any two of the terms, each as large at the largest size as the constant but for a factor of ten.
    #[test]
    fn coefficients_of_two_terms_come_back(
        c in 1e-6..1.0_f64, shares in uniform2(0.1..10.0_f64), x in two_terms(),
    ) {
        let terms = x.map(|term| vec![(0, term)]);
        prop_assert_eq!(planted(&["x"], &SIZES, c, shares, terms), Ok(()));
    }

    /// A term of each parameter, or of one of them and the product of both.
    #[test]
    fn coefficients_of_two_terms_in_two_parameters_come_back(
        c in 1e-6..1.0_f64, shares in uniform2(0.1..10.0_f64), terms in uniform2(any_term()), form in 0..3_usize,
    ) {
        let (x, y) = ((0, terms[0]), (1, terms[1]));
        let terms = [
            [vec![x], vec![y]],
            [vec![x], vec![x, y]],
            [vec![x, y], vec![y]],
        ][form].clone();
        prop_assert_eq!(planted(&["x", "y"], &SIZES[..5], c, shares, terms), Ok(()));
    }

    #[test]
    fn a_product_and_a_sum_of_two_parameters_come_back(a in 1e-6..1e-3_f64, b in 1e-6..1e-3_f64) {
        let product = samples(&["n", "p"], &SIZES[..5], 1, 0.0, |x| a + b * x[0].powi(2) * x[1].log2());
        let model = normal_form(&product);
        prop_assert!(model.expression.ends_with(" * n^(2) * log2(p)^1"), "{}", model.expression);
        prop_assert!(close(model.coefficients[1].value, b, 1e-9));
        let sum = samples(&["n", "p"], &SIZES[..5], 1, 0.0, |x| 1e-5 + a * x[0] + b * x[1].sqrt());
        let model = normal_form(&sum);
        prop_assert_eq!(model.formula.terms.len(), 2, "{}", model.expression);
        let mut found = [model.coefficients[1].value, model.coefficients[2].value];
        if model.formula.terms[0].factors[0].param == "p" { found.reverse(); }
        prop_assert!(close(found[0], a, 1e-9) && close(found[1], b, 1e-9));
    }

    /// Times in another unit, calls in another number: the same terms, the same relative errors.
    #[test]
    fn units_and_duplicates_do_not_matter(unit in 1e-9..1e9_f64, level in 0.0..0.1_f64) {
        let f = |p: &[f64]| 1.0 + 0.02 * p[0].powf(1.25);
        let model = normal_form(&samples(&["x"], &SIZES, 5, level, f));
        let scaled = normal_form(&samples(&["x"], &SIZES, 5, level, |p| unit * f(p)));
        prop_assert_eq!(&model.formula.terms[0].factors, &scaled.formula.terms[0].factors);
        for (a, b) in model.coefficients.iter().zip(&scaled.coefficients) {
            prop_assert!(close(a.value * unit, b.value, 1e-9));
        }
        let twice = normal_form(&samples(&["x"], &SIZES, 2, 0.0, f));
        let once = normal_form(&samples(&["x"], &SIZES, 1, 0.0, f));
        prop_assert_eq!(twice.expression, once.expression);
    }
}

#[test]
fn a_product_of_three_parameters_comes_back() {
    let f = |x: &[f64]| 1e-4 + 3e-7 * x[0].powf(1.5) * x[1] * x[2].log2();
    let model = normal_form(&samples(&["x", "y", "z"], &SIZES[..5], 1, 0.0, f));
    assert!(
        model.expression.ends_with(" * x^(3/2) * y * log2(z)^1"),
        "{}",
        model.expression
    );
    assert!(close(model.coefficients[1].value, 3e-7, 1e-9));
}

#[test]
fn it_is_chosen_where_a_line_is_wrong_and_only_there() {
    let curved = samples(&["x"], &SIZES, 5, 0.02, |p| {
        1e-6 + 1e-8 * p[0] * p[0].log2()
    });
    let curved = fit(&curved).unwrap().remove(0);
    assert_eq!(curved.family, Family::NormalForm, "{}", curved.expression);
    let straight = samples(&["x"], &SIZES, 5, 0.02, |p| 1e-6 + 1e-8 * p[0]);
    assert_eq!(fit(&straight).unwrap()[0].family, Family::Line);
}

#[test]
fn noise_leaves_several_forms_credible_and_the_interval_wide() {
    let noisy = samples(&["x"], &SIZES, 5, 0.1, |p| 1e-6 + 1e-8 * p[0].powf(1.25));
    let model = normal_form(&noisy);
    assert!(model.alternatives.len() > 1);
    let sum: f64 = model.alternatives.iter().map(|a| a.weight).sum();
    assert!((sum - 1.0).abs() < 1e-12);
    let at = |x: f64| predict(&model, &Coordinate::new().with("x", x)).unwrap();
    let width = |x: f64| (at(x).upper_s - at(x).lower_s) / at(x).value_s;
    assert!(
        width(4096.0) > 2.0 * width(100.0),
        "{} {}",
        width(4096.0),
        width(100.0)
    );
    let set = ModelSet {
        models: vec![model.clone()],
    };
    assert_eq!(ModelSet::from_json(&set.to_json().unwrap()).unwrap(), set);
}

/// What one call leaves open, ten thousand calls average out, but not which formula is right.
#[test]
fn the_total_of_many_calls_keeps_the_doubt_about_the_formula() {
    let noisy = samples(&["x"], &SIZES, 5, 0.1, |p| 1e-6 + 1e-8 * p[0].powf(1.25));
    let model = normal_form(&noisy);
    let far = Coordinate::new().with("x", 4096.0);
    let mut total = Total::new(&model);
    total.add(&far, 1e4).unwrap();
    let one = predict(&model, &far).unwrap();
    assert!(
        close(total.time_s(), 1e4 * one.value_s * model.total_ratio, 1e-12) && total.extrapolated()
    );
    let half_s = total.uncertainty().half_width_s(0.95);
    assert!(
        half_s > 0.05 * total.time_s(),
        "{half_s} of {}",
        total.time_s()
    );
}

#[test]
fn too_few_and_unsuitable_points_are_refused() {
    let few = samples(&["x"], &SIZES[..2], 3, 0.0, |p| 1e-6 * p[0]);
    assert!(matches!(
        fit_family(&few, Family::NormalForm),
        Err(Error::TooFewPoints {
            found: 2,
            needed: 3,
            ..
        })
    ));
    let zero = samples(&["x"], &SIZES, 1, 0.0, |_| 0.0);
    assert!(matches!(
        fit_family(&zero, Family::NormalForm),
        Err(Error::Unsuitable { .. })
    ));
}

/// Eq. 1 of the paper, microseconds, measured with 5 % noise where the times are positive: the power
/// law of StatesConstructor, the lines of GodunovFlux and EFMFlux.
#[test]
fn equation_1_of_the_paper_is_found_under_noise() {
    let measured = |smallest: f64, f: fn(f64) -> f64| {
        let sizes: Vec<f64> = (0..10).map(|i| smallest * 1.8_f64.powi(i)).collect();
        let samples = samples(&["q"], &sizes, 100, 0.05, |p| 1e-6 * f(p[0]));
        fit(&samples).unwrap().remove(0)
    };
    let states = measured(500.0, |q| (1.19 * q.ln() - 3.68).exp());
    assert_eq!(states.family, Family::PowerLaw, "{}", states.expression);
    assert!(close(states.coefficients[1].value, 1.19, 0.01));
    let godunov = measured(4000.0, |q| -963.0 + 0.315 * q);
    assert_eq!(godunov.family, Family::Line, "{}", godunov.expression);
    assert!(close(godunov.coefficients[1].value, 0.315e-6, 0.01));
    let efm = measured(200.0, |q| -8.13 + 0.16 * q);
    assert_eq!(efm.family, Family::Line, "{}", efm.expression);
    assert!(close(efm.coefficients[1].value, 0.16e-6, 0.01));
}

/// A tree of messages among ranks that were never few, beside work of a size: `150 log2(p / 32)` is a tree as much as `150 log2 p` is,
/// although its constant, the time at one rank, is below 0. Priced as absurd, it lost to a product that is 6 % off.
#[test]
fn a_logarithm_that_begins_late_is_found_beside_a_size() {
    let parameters = [Parameter::real("p", ""), Parameter::real("n", "")];
    let mut set = SampleSet::new(Metric::Wall);
    let method = set.declare("c.Solver::solver.solve", &parameters).unwrap();
    let work = |n: f64| 400.0 * n * n.log2() / (5000.0 * 5000_f64.log2());
    let time_s = |p: f64, n: f64| 150.0 * (p / 32.0).log2() + work(n);
    let ranks = [32.0, 64.0, 128.0, 256.0].map(|p| [p, 5000.0]);
    let sizes = [6000.0, 7000.0, 8000.0, 9000.0].map(|n| [32.0, n]);
    for (i, point) in ranks.into_iter().chain(sizes).enumerate() {
        let noise = [1.01, 0.99][i % 2];
        for call in [1.002, 0.998] {
            let seconds = noise * call * time_s(point[0], point[1]);
            set.push(method, &point, seconds).unwrap();
        }
    }
    let model = &fit(&set.finish().remove(0)).unwrap()[0];
    let at = Coordinate::new().with("p", 512.0).with("n", 5000.0);
    let found = predict(model, &at).unwrap().value_s;
    assert!(close(found, time_s(512.0, 5000.0), 0.03), "{found}");
}

/// Four sizes called once, of which each takes 3 % more than the one before: a logarithm or a small power, not a constant with noise of
/// 3 %, as it was while a small growth was taken to be less likely than a large one.
#[test]
fn a_small_growth_that_is_followed_closely_is_no_noise() {
    let mut set = SampleSet::new(Metric::Wall);
    let parameters = [Parameter::real("p", "")];
    let method = set.declare("c.Solver::solver.solve", &parameters).unwrap();
    let time_s = |p: f64| 8.8 + 0.3 * p.log2();
    for (p, noise) in [(16.0, 1.002), (32.0, 0.999), (64.0, 1.001), (128.0, 0.999)] {
        set.push(method, &[p], noise * time_s(p)).unwrap();
    }
    let model = &fit(&set.finish().remove(0)).unwrap()[0];
    let found = predict(model, &Coordinate::new().with("p", 512.0)).unwrap();
    assert!(
        close(found.value_s, time_s(512.0), 0.02),
        "{}",
        found.value_s
    );
}

/// Of what each of `p` ranks has, a share of `1 − 1/p` is for others: a time that rises to a limit, which
/// neither a logarithm beyond the range nor a constant is.
#[test]
fn what_rises_to_a_limit_over_ranks_is_no_logarithm() {
    let mut set = SampleSet::new(Metric::Wall);
    let parameters = [Parameter::real("ranks", "")];
    let method = set
        .declare("c.Solver::solver.exchange", &parameters)
        .unwrap();
    let time_s = |p: f64| 10.0 - 77.0 / p;
    for (p, noise) in [(16.0, 1.01), (32.0, 0.99), (64.0, 1.01), (128.0, 0.99)] {
        set.push(method, &[p], noise * time_s(p)).unwrap();
    }
    let model = &fit(&set.finish().remove(0)).unwrap()[0];
    let found = predict(model, &Coordinate::new().with("ranks", 1024.0)).unwrap();
    assert!(
        close(found.value_s, time_s(1024.0), 0.05),
        "{}",
        found.value_s
    );
}
