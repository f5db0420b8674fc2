//! Fits the standard deviation of one call about its model, as a function of its own.
//!
//! Calls rarely scatter equally at all sizes. At each point the mean squared distance of the calls to the model
//! estimates their variance. Functions of the parameters are fitted to these estimates by likelihood: a constant, a
//! share of the modelled time, lines, power laws and polynomials. A function with more coefficients is chosen only if
//! its gain in deviance pays for them.
//!
//! ```text
//! n        100    200    400        mean times 1, 2 and 4 s
//! scatter  0.01   0.02   0.04 s     chosen: a share of 1 % of the modelled time, one coefficient
//! ```

use crate::families::candidate::Candidate;
use crate::formula::exponent::Exponent;
use crate::formula::family::Family;
use crate::formula::sum::{Factor, Formula, Term};
use crate::samples::points::Points;
use crate::solve::least_squares;

/// Maximum passes of the scoring, which doubles the digits in each pass.
const PASSES: usize = 30;

/// Relative change at which the passes end.
const SETTLED: f64 = 1e-13;

/// Relative change at which the possible gain of a deviation is known: the deviance error is of second order.
const ROUGH: f64 = 1e-4;

/// Largest change of a logarithm, and relative change of a deviation, in one pass.
const BOUND: f64 = 2.0;

/// Deviations below this share of the largest are raised to it.
const SMALLEST: f64 = 1e-9;

/// Deviance that each coefficient must gain in addition to Schwarz's price.
const COST: f64 = 2.0;

/// Points per coefficient that a deviation with more than one coefficient needs.
const POINTS_EACH: usize = 2;

/// The standard deviation of one call about the model, and its family.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Deviation {
    /// Its family.
    pub family: Family,
    /// Seconds; positive at every point.
    pub formula: Formula,
}

/// A candidate for the deviation: its columns and whether they form its logarithm.
struct Tried {
    family: Family,
    logarithmic: bool,
    /// The terms that go with the columns, the first being the constant where there is one.
    terms: Vec<Term>,
}

/// Standard deviation of one call about the model, chosen among a constant, a share of the modelled
/// time, lines, power laws and polynomials of the model's parameters.
///
/// At each point the mean squared distance of its calls to the model estimates the variance there, as if of `nᵢ`
/// normal calls. The functions are fitted to these estimates by likelihood and compared by their gain per
/// coefficient. The chosen function is scaled so that its squares add up to the estimates.
///
/// # Arguments
/// * `spare` - calls less coefficients, > 0
///
/// # Source
/// P. McCullagh, J.A. Nelder, *Generalized Linear Models* (1989), chapter 10: the dispersion as a gamma
/// variable (recalled, not looked up).
pub(crate) fn sigma(points: &Points, best: &Candidate, spare: f64) -> Deviation {
    let squares = mean_squares(points, best);
    let sum = total(&squares, &points.count);
    let wanted = sum * points.n_records() / spare;
    let overall = (sum / spare).sqrt();
    let share = (0..points.len()).map(|i| {
        let f = best.fitted_s[i].max(SMALLEST * points.largest_s());
        points.count[i] * squares[i] / (f * f)
    });
    let share = (share.sum::<f64>() / spare).sqrt();
    let constant = Deviation {
        family: Family::Constant,
        formula: Formula::new(overall, Vec::new()),
    };
    if overall.is_nan() || overall <= 1e-12 * points.largest_s() {
        return constant;
    }
    let mut fits = vec![(
        deviance(points, &squares, &vec![overall; points.len()]),
        1,
        constant,
    )];
    if best.formula.written.is_none() {
        let relative: Vec<f64> = best.fitted_s.iter().map(|f| share * f).collect();
        let family = best.family;
        let formula = best.formula.scaled(share);
        let relative = deviance(points, &squares, &relative);
        let deviation = Deviation { family, formula };
        // No gain by a second coefficient could pay for it.
        if relative <= cost(points) && relative <= fits[0].0 {
            return deviation;
        }
        fits.push((relative, 1, deviation));
    }
    let of_one = fits.iter().map(|(distance, ..)| *distance);
    let least = of_one.fold(f64::INFINITY, f64::min);
    for tried in tried(points, best) {
        // Few candidates gain what their coefficients cost; only those are fitted to full precision.
        let may_win = |values: &[f64]| {
            let gain = least - deviance(points, &squares, values) + ROUGH;
            gain > cost(points) * (tried.terms.len() as f64 - 1.0)
        };
        let rough = tried.fit(points, &squares, ROUGH);
        let fitted = match rough {
            Some((values, _)) if may_win(&values) => tried.fit(points, &squares, SETTLED),
            rough => rough,
        };
        let Some((values, coefficients)) = fitted else {
            continue;
        };
        let scaled: Vec<f64> = values.iter().map(|value| value * value).collect();
        let scale = (wanted / total(&scaled, &points.count)).sqrt();
        if scale.is_finite() && tried.positive(points, &coefficients) {
            let deviation = Deviation {
                family: tried.family,
                formula: tried.formula(&coefficients, scale),
            };
            let distance = deviance(points, &squares, &values);
            fits.push((distance, coefficients.len(), deviation));
        }
    }
    simplest(points, fits)
}

/// Deviance that a coefficient must gain.
fn cost(points: &Points) -> f64 {
    (points.len() as f64).ln() + COST
}

/// The deviation with the least deviance by its dispersion plus what its coefficients cost; the first
/// of equals.
///
/// The dispersion is that of the closest, and not below that of normal calls: calls have heavier tails.
fn simplest(points: &Points, fits: Vec<(f64, usize, Deviation)>) -> Deviation {
    let n = points.len() as f64;
    let dispersion =
        |(distance, k, _): &(f64, usize, Deviation)| distance / (n - *k as f64).max(1.0);
    let dispersion = fits
        .iter()
        .map(dispersion)
        .fold(f64::INFINITY, f64::min)
        .max(1.0);
    let cost = cost(points);
    let criterion =
        |(distance, k, _): &(f64, usize, Deviation)| distance / dispersion + cost * *k as f64;
    let least = fits
        .into_iter()
        .reduce(|a, b| if criterion(&b) < criterion(&a) { b } else { a });
    least.map_or_else(
        || Deviation {
            family: Family::Constant,
            formula: Formula::default(),
        },
        |(_, _, deviation)| deviation,
    )
}

/// Mean squared distance of the calls to the model, s², shape `[n_points]`.
fn mean_squares(points: &Points, best: &Candidate) -> Vec<f64> {
    let square = |i: usize| {
        let distance = points.mean_s[i] - best.fitted_s[i];
        points.m2_s2[i] / points.count[i] + distance * distance
    };
    (0..points.len()).map(square).collect()
}

/// `Σ nᵢ (r − 1 − ln r)` with `r` the estimate of the variance at a point over its value: about the
/// number of points where the estimates scatter as those of normal calls do.
fn deviance(points: &Points, squares: &[f64], values: &[f64]) -> f64 {
    let smallest = (SMALLEST * values.iter().copied().fold(0.0, f64::max)).powi(2);
    let pairs = squares.iter().zip(values).zip(&points.count);
    let parts = pairs.map(|((square, value), count)| {
        let ratio = square.max(smallest) / (value * value);
        count * (ratio - 1.0 - ratio.ln())
    });
    parts.sum()
}

/// The functions of the model's parameters to try; of one parameter at a time, but for the line.
fn tried(points: &Points, best: &Candidate) -> Vec<Tried> {
    let used = best.formula.params();
    let mut params = points.varying();
    params.retain(|&param| used.contains(points.names[param].as_str()));
    let power = |param: usize, exponent| {
        Term::new(
            1.0,
            vec![Factor::new(
                &points.names[param],
                Exponent::Fraction(exponent, 1),
                0,
            )],
        )
    };
    let constant = || Term::new(1.0, Vec::new());
    let mut list = Vec::new();
    if params.len() > 1 {
        let terms = params.iter().map(|&param| power(param, 1));
        list.push(Tried {
            family: Family::Line,
            logarithmic: false,
            terms: [constant()].into_iter().chain(terms).collect(),
        });
        let terms = params.iter().map(|&param| power(param, 1));
        list.push(Tried {
            family: Family::PowerLaw,
            logarithmic: true,
            terms: [constant()].into_iter().chain(terms).collect(),
        });
    }
    for &param in &params {
        list.push(Tried {
            family: Family::PowerLaw,
            logarithmic: true,
            terms: vec![constant(), power(param, 1)],
        });
        for degree in 1..=4 {
            let family = if degree == 1 {
                Family::Line
            } else {
                Family::Polynomial
            };
            let terms = (1..=degree).map(|exponent| power(param, exponent));
            list.push(Tried {
                family,
                logarithmic: false,
                terms: [constant()].into_iter().chain(terms).collect(),
            });
        }
    }
    list.retain(|tried| tried.terms.len() * POINTS_EACH <= points.len());
    list
}

impl Tried {
    /// The deviation at each point and the coefficients; `None` where it has no such form that is
    /// positive at all points.
    ///
    /// # Arguments
    /// * `settled` - relative change of a deviation below which the passes end
    ///
    /// # Source
    /// R.W.M. Wedderburn, Biometrika 61 (1974) 439: Fisher scoring as reweighted least squares, here for
    /// a variance that is a gamma variable (recalled, not looked up).
    fn fit(&self, points: &Points, squares: &[f64], settled: f64) -> Option<(Vec<f64>, Vec<f64>)> {
        let mut design: Vec<Vec<f64>> = Vec::with_capacity(self.terms.len());
        for term in &self.terms {
            let column = points.column(term)?;
            let logarithmic = self.logarithmic && !term.factors.is_empty();
            let link = |x: f64| if logarithmic { x.ln() } else { x };
            design.push(column.into_iter().map(link).collect());
        }
        if design.iter().flatten().any(|x| !x.is_finite()) {
            return None;
        }
        let largest = squares.iter().copied().fold(0.0, f64::max).sqrt();
        let mut values: Vec<f64> = squares
            .iter()
            .map(|square| square.sqrt().max(1e-3 * largest))
            .collect();
        let mut coefficients = Vec::new();
        let (mut response, mut weights) = (Vec::new(), Vec::new());
        for _ in 0..PASSES {
            response.clear();
            weights.clear();
            for ((value, square), count) in values.iter().zip(squares).zip(&points.count) {
                let relative = (0.5 * (square / (value * value) - 1.0)).min(BOUND);
                if self.logarithmic {
                    response.push(value.ln() + relative);
                    weights.push(*count);
                } else {
                    response.push(value * (1.0 + relative));
                    weights.push(count / (value * value));
                }
            }
            let (found, residuals) =
                least_squares::coefficients(&design, &response, &weights).ok()?;
            let mut change: f64 = 0.0;
            for (i, value) in values.iter_mut().enumerate() {
                let linear = response[i] - residuals[i];
                let next = if self.logarithmic {
                    linear.exp()
                } else {
                    linear
                };
                // A step to below zero goes half the way there.
                let next = if next > 0.0 { next } else { 0.5 * *value };
                change = change.max((next / *value - 1.0).abs());
                *value = next;
            }
            coefficients = found;
            if change < settled {
                break;
            }
        }
        let positive = |i: usize| {
            let columns = coefficients.iter().zip(&design);
            let linear: f64 = columns.map(|(c, column)| c * column[i]).sum();
            self.logarithmic || linear > 0.0
        };
        let is_one = (0..points.len()).all(positive) && values.iter().all(|v| v.is_finite());
        is_one.then_some((values, coefficients))
    }

    /// Whether the deviation is positive between the points as well, and where the range begins.
    fn positive(&self, points: &Points, coefficients: &[f64]) -> bool {
        let formula = self.formula(coefficients, 1.0);
        points.varying().into_iter().all(|param| {
            let values = points.values(param);
            let between = values.windows(2).map(|pair| 0.5 * (pair[0] + pair[1]));
            let mut places = between.chain([points.range(param)[0]]);
            places.all(|place| {
                let number = |name: &str| {
                    if points.names[param] == name {
                        Some(place)
                    } else {
                        points.number(0, name)
                    }
                };
                formula.params().len() > 1 || formula.evaluate(number).is_ok_and(|s| s > 0.0)
            })
        })
    }

    fn formula(&self, coefficients: &[f64], scale: f64) -> Formula {
        if self.logarithmic {
            let pairs = self.terms[1..].iter().zip(&coefficients[1..]);
            let factors =
                pairs.map(|(term, &a)| Factor::new(&term.factors[0].param, Exponent::Real(a), 0));
            let term = Term::new(coefficients[0].exp() * scale, factors);
            return Formula::new(0.0, vec![term]);
        }
        let pairs = self.terms[1..].iter().zip(&coefficients[1..]);
        let terms = pairs.map(|(term, c)| Term::new(c * scale, term.factors.clone()));
        Formula::new(coefficients[0] * scale, terms.collect())
    }
}

/// Sum of `values`, each as often as `count` says.
fn total(values: &[f64], count: &[f64]) -> f64 {
    values.iter().zip(count).map(|(value, n)| value * n).sum()
}
