//! The price of a form before any measurement: minus the logarithm of its prior probability.
//!
//! All forms are drawn from one flat list of 64 entries: each term of a normal form is one choice from it, and so is each other family.
//! A form of `t` terms out of `c` choices costs `c·ln L + (t − 1)·T − ln t!`; each physical absurdity adds [`LN_ABSURD`]; a break
//! or a step found by search adds the logarithm of the number of its places.
//!
//! # Source
//! Own derivation: the description length of a form (J. Rissanen, Automatica 14 (1978) 465, recalled, not looked up) over
//! one code for all families. `T`, [`LN_ABSURD`] and [`LN_FAST`] are chosen on the generators of `benches/extrap/tuning.py`, which the
//! benchmark does not report on.

use std::f64::consts::LN_2;

use crate::families::candidate::Candidate;
use crate::families::paths::Paths;
use crate::families::regimes::last_factors;
use crate::formula::family::Family;
use crate::formula::sum::{Formula, Term};
use crate::samples::points::Points;

/// Logarithm of the number of forms in the flat list, 64: the rising terms, the falling terms, one each for a power law, an exponential,
/// polynomials of three degrees, steps, and regimes, and two sums of divided work plus communication cost.
const LN_FORMS: f64 = 6.0 * LN_2;

/// Price of each term after the first, in addition to the price of choosing it.
const LN_TERM: f64 = 2.0;

/// Price of each absurdity: a negative coefficient (except of a falling term in a time that rises to a limit); a time that is negative, or
/// that rises and then falls, up to [`AHEAD`] times the range; one that grows faster than [`STEEPEST`] there.
pub(crate) const LN_ABSURD: f64 = 4.0;

/// Factor beyond the largest value of a parameter up to which a time must make sense.
pub(crate) const AHEAD: f64 = 4.0;

/// Price of an exponential, a polynomial or the larger of two costs, in addition to the price of their choices.
///
/// With few sizes these forms follow a single term within the noise and leave it beyond the sizes, so they set the ends of intervals. A
/// lower price makes intervals wider and exact forms rarer; with a higher one, intervals of exponentials and polynomials cover too little.
const LN_FAST: f64 = 1.0;

/// Price of the same scatter at every size, which is less usual than a relative scatter.
pub(crate) const LN_EVEN: f64 = LN_2;

/// Steepest growth, as a power of a parameter, that is expected of a sum of powers beyond the range: the largest power of the normal forms,
/// and that of matrix multiplication.
const STEEPEST: f64 = 3.0;

/// Relative change along a path that counts as rounding.
const ROUNDING: f64 = 1e-9;

/// Price of `n_choices` out of the list for a form of `n_terms`.
pub(crate) fn of_choices(n_choices: usize, n_terms: usize) -> f64 {
    let orders = match n_terms {
        0 | 1 => 0.0,
        2 => LN_2,
        _ => (2..=n_terms).map(|n| (n as f64).ln()).sum(),
    };
    n_choices as f64 * LN_FORMS + n_terms.saturating_sub(1) as f64 * LN_TERM - orders
}

/// Price of `n` products of parameters that were never varied together: an interaction that was not measured must not be cheaper than the
/// sum of both terms, so each product costs as much as the term that it saves.
pub(crate) fn of_unseen(n_products: usize) -> f64 {
    n_products as f64 * LN_TERM
}

/// Price of one of `n` places, `n_searched` times.
pub(crate) fn of_places(n_places: usize, n_searched: usize) -> f64 {
    n_searched as f64 * (n_places.max(1) as f64).ln()
}

/// Price of `n` negative coefficients, and of times that are negative or turn along paths.
///
/// # Arguments
/// * `paths` - values along each path, ascending in the parameter, shape `[n_paths][..]`
pub(crate) fn of_absurdities<'v>(
    n_negative: usize,
    paths: impl Iterator<Item = &'v [f64]> + Clone,
) -> f64 {
    let is_negative = paths.clone().flatten().any(|&value| value <= 0.0);
    let turns = paths.clone().any(|path| turns(path, n_negative > 0));
    (n_negative + usize::from(is_negative) + usize::from(turns)) as f64 * LN_ABSURD
}

/// Refund for a negative constant added to a logarithm: where a logarithm is 0 depends on the unit, and the constant only shifts that
/// place. A negative time is priced separately.
pub(crate) fn of_shift(is_shift: bool) -> f64 {
    if is_shift { LN_ABSURD } else { 0.0 }
}

/// Whether values along one of the paths rise and then fall, or fall and then rise.
pub(crate) fn turn<'v>(mut paths: impl Iterator<Item = &'v [f64]>) -> bool {
    paths.any(|path| turns(path, true))
}

/// Whether values rise and then fall; with `either` also whether they fall and then rise, which a sum of positive
/// terms may.
fn turns(path: &[f64], either: bool) -> bool {
    let largest = path.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
    let (mut rose, mut fell) = (false, false);
    for pair in path.windows(2) {
        let step = pair[1] - pair[0];
        if step < -ROUNDING * largest {
            if rose {
                return true;
            }
            fell = true;
        } else if step > ROUNDING * largest {
            if fell && either {
                return true;
            }
            rose = true;
        }
    }
    false
}

/// Minus the logarithm of the prior probability of a candidate that is no normal form.
pub(crate) fn of_candidate(candidate: &Candidate, points: &Points, paths: &Paths) -> f64 {
    let formula = &candidate.formula;
    let n_params = formula.params().len();
    let n_negative = |numbers: &[f64]| numbers.iter().filter(|c| **c < 0.0).count();
    let n_searched = candidate.n_free - candidate.coefficients.len();
    let (n_choices, n_terms, n_negative) = match candidate.family {
        Family::Written => return 0.0,
        Family::PowerLaw | Family::Exponential => (n_params, 1, 0),
        // The terms of a polynomial are one choice; negative coefficients turn the curve, which is priced once.
        Family::Polynomial => {
            let n_terms = formula.terms.len();
            (
                n_params,
                n_terms,
                n_negative(&candidate.coefficients).min(1),
            )
        }
        Family::Stairs => (1, 1, n_negative(&candidate.coefficients)),
        // Subtracting a curve gives a time that rises to a limit, so a negative coefficient of it is free.
        Family::Curve => {
            let rates = formula.terms.iter().flat_map(|term| &term.factors);
            let grows = rates
                .filter_map(|factor| factor.rate)
                .any(|rate| rate > 0.0);
            let is_bent = !grows && n_searched > 0;
            let others = candidate.coefficients.len() - usize::from(is_bent);
            (1, 1, n_negative(&candidate.coefficients[..others]))
        }
        Family::Regimes => {
            // The line of a later range may be negative before that range begins; the first range includes the smallest sizes.
            let is_first = |term: &Term| (term.regime.as_ref()).is_some_and(|of| of.from.is_none());
            let slopes = formula.terms.iter();
            let slopes = slopes.filter(|term| !term.factors.is_empty() || is_first(term));
            let slopes: Vec<f64> = slopes.map(|term| term.coefficient).collect();
            // The lines of all ranges are one choice; another term in the last range is a second one.
            let n_choices = 1 + usize::from(last_factors(&formula.terms).is_some());
            (n_choices, 1, n_negative(&slopes).min(1))
        }
        _ => {
            let n_terms = formula.terms.len();
            (n_terms, n_terms, n_negative(&candidate.coefficients))
        }
    };
    let searched: f64 = match n_searched {
        0 => 0.0,
        n => {
            let params = formula.params();
            let places = points.names.iter().enumerate();
            let places = places.filter(|(_, name)| params.contains(name.as_str()));
            let most = places.map(|(param, _)| points.values(param).len()).max();
            of_places(most.unwrap_or(1), n)
        }
    };
    let ahead = paths.values(formula, points);
    let soaring = if soars(formula, points) {
        LN_ABSURD
    } else {
        0.0
    };
    let is_shift = candidate.family == Family::Logarithm && candidate.coefficients[0] < 0.0;
    let absurd = of_absurdities(n_negative, paths.split(&ahead)) + soaring - of_shift(is_shift);
    let fast = match candidate.family {
        Family::Exponential | Family::Polynomial | Family::Curve => LN_FAST,
        Family::Regimes if n_searched == 0 && formula.terms.len() == 2 => LN_FAST,
        _ => 0.0,
    };
    let unseen = formula.terms.iter().filter(|term| {
        let has = |param: usize| term.factors.iter().any(|f| f.param == points.names[param]);
        paths.is_unseen(has)
    });
    let scatter = if candidate.is_even { LN_EVEN } else { 0.0 };
    of_choices(n_choices, n_terms) + searched + absurd + fast + scatter + of_unseen(unseen.count())
}

/// Whether a time grows from the end of a parameter's range to [`AHEAD`] times it by more than its [`STEEPEST`] power, the other
/// parameters at the ends of theirs.
///
/// Exponentials are exempt: they always grow faster, and their choice is priced.
fn soars(formula: &Formula, points: &Points) -> bool {
    let mut factors = formula.terms.iter().flat_map(|term| &term.factors);
    if factors.any(|factor| factor.rate.is_some()) {
        return false;
    }
    let most = AHEAD.powf(STEEPEST) * (1.0 + ROUNDING);
    points.varying().into_iter().any(|param| {
        let at = |factor: f64| {
            let value = |name: &str| {
                let known = points.names.iter().position(|known| known == name)?;
                let [_, high] = points.range(known);
                Some(if known == param { factor * high } else { high })
            };
            formula.evaluate(value).unwrap_or(f64::NAN)
        };
        at(AHEAD) > most * at(1.0).max(0.0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::families::hypothesis::Hypothesis;
    use crate::formula::exponent::Exponent;
    use crate::formula::sum::Factor;
    use crate::samples::metric::Metric;
    use crate::samples::modes::{Modes, split};
    use crate::samples::parameter::Parameter;
    use crate::samples::sample::SampleSet;
    use crate::solve::limits::Limits;

    /// The price of a polynomial fitted to the times of the sizes from 1 to 8.
    fn price(degree: i32, time_s: impl Fn(f64) -> f64) -> f64 {
        let mut set = SampleSet::new(Metric::Wall);
        let method = set.declare("m", &[Parameter::real("x", "")]).unwrap();
        for x in (1..=8).map(f64::from) {
            set.push(method, &[x], time_s(x)).unwrap();
        }
        let samples = set.finish().remove(0);
        let points = split(&samples, Modes::ByTest, 4096).remove(0);
        let power = |exponent| Factor::new("x", Exponent::Fraction(exponent, 1), 0);
        let terms = (1..=degree).map(|exponent| Term::new(1.0, vec![power(exponent)]));
        let hypothesis = Hypothesis::sum(Family::Polynomial, terms.collect());
        let limits = Limits { monotone: &[] };
        let candidate = hypothesis.fit(&points, &limits).unwrap();
        of_candidate(&candidate, &points, &Paths::new(&points))
    }

    /// The powers are one choice; each after the first is priced like a term, since it turns the curve once more.
    #[test]
    fn a_polynomial_pays_for_its_powers_and_for_where_it_turns() {
        let square = price(2, |x| 5.0 + 2.0 * x + x * x);
        let cube = price(3, |x| 5.0 + 2.0 * x + x * x + 0.5 * x * x * x);
        assert!((square - (LN_FORMS + LN_TERM - 2_f64.ln() + LN_FAST)).abs() < 1e-12);
        assert!((cube - square - (LN_TERM - 3_f64.ln())).abs() < 1e-12);
        // Three absurdities: a negative coefficient, a time that rises and then falls, and a negative time at 4 times the range.
        let falling = price(2, |x| 100.0 + 5.0 * x - 0.5 * x * x);
        assert!((falling - square - 3.0 * LN_ABSURD).abs() < 1e-12);
    }

    /// At 4 times the range a fourth power is 256 times as large, a cube 64 times.
    #[test]
    fn what_grows_faster_than_the_cube_beyond_the_range_is_absurd() {
        let cube = price(3, |x| 5.0 + 2.0 * x + x * x + 50.0 * x * x * x);
        let fourth = price(4, |x| 5.0 + 2.0 * x + x * x + x * x * x + 50.0 * x.powi(4));
        assert!((fourth - cube - (LN_TERM - 4_f64.ln() + LN_ABSURD)).abs() < 1e-9);
    }

    /// The price of `a + b ln x` fitted to the times of the sizes from 8 to 64.
    fn price_of_logarithm(time_s: impl Fn(f64) -> f64) -> f64 {
        let mut set = SampleSet::new(Metric::Wall);
        let method = set.declare("m", &[Parameter::real("x", "")]).unwrap();
        for x in [8.0, 16.0, 32.0, 64.0] {
            set.push(method, &[x], time_s(x)).unwrap();
        }
        let samples = set.finish().remove(0);
        let points = split(&samples, Modes::ByTest, 4096).remove(0);
        let logarithm = Factor::new("x", Exponent::Fraction(0, 1), 1);
        let terms = vec![Term::new(1.0, vec![logarithm])];
        let hypothesis = Hypothesis::sum(Family::Logarithm, terms);
        let limits = Limits { monotone: &[] };
        let candidate = hypothesis.fit(&points, &limits).unwrap();
        of_candidate(&candidate, &points, &Paths::new(&points))
    }

    /// `5 log2(x / 8) + 1` is no more absurd than `5 log2(x) + 1`; a negative coefficient with which the time becomes negative is.
    #[test]
    fn a_constant_that_shifts_a_logarithm_costs_nothing() {
        let plain = price_of_logarithm(|x| 5.0 * x.log2() + 1.0);
        assert!((plain - LN_FORMS).abs() < 1e-9);
        let shifted = price_of_logarithm(|x| 5.0 * (x / 8.0).log2() + 1.0);
        assert!((shifted - plain).abs() < 1e-9);
        let falling = price_of_logarithm(|x| 31.0 - 5.0 * x.log2());
        assert!((falling - plain - 2.0 * LN_ABSURD).abs() < 1e-9);
    }
}
