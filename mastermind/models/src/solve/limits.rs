//! Limits that make a formula a cost: nowhere negative on the range, and not falling with selected parameters.

use crate::formula::sum::{Factor, Formula, Term};
use crate::samples::points::Points;

/// Places between the ends of the range where a formula is evaluated.
const N_LOOKED_AT: u32 = 32;

/// Distance of the outermost places from the ends, as a share of the distance between the others. Between an end and
/// its neighbour a curve could turn unseen.
const NEAR_END: f64 = 1e-3;

/// Share of the longest time by which a formula may fall or be negative and still satisfy the limits.
const ROUNDING: f64 = 1e-12;

/// Maximum number of varying parameters for which all corners of the range are evaluated: as many as normal forms are
/// searched with.
const MAX_CORNERED: usize = 5;

/// Limits of a fit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits<'a> {
    /// Numeric parameters with which the time must not fall.
    pub monotone: &'a [String],
}

/// Places along one parameter, with the others as at one point.
pub(crate) struct Walk<'a> {
    points: &'a Points,
    param: usize,
    /// The point.
    others: usize,
    /// Whether the time must not fall along the walk.
    pub rises: bool,
    /// Ascending, the ends of the range among them.
    pub values: Vec<f64>,
}

impl<'a> Walk<'a> {
    /// # Arguments
    /// * `terms` - terms of the formula: both sides of a break of their regimes are places
    fn new(points: &'a Points, param: usize, others: usize, terms: &[Term]) -> Self {
        let [low, high] = points.range(param);
        let value = |k: u32| {
            let share = f64::from(k) / f64::from(N_LOOKED_AT);
            let x = if low > 0.0 && high > 10.0 * low {
                low * (high / low).powf(share)
            } else {
                low + (high - low) * share
            };
            // The exact ends: a regime or a step may begin right beyond them.
            x.max(low).min(high)
        };
        let mut values: Vec<f64> = (0..=N_LOOKED_AT).map(value).collect();
        let n = values.len();
        values.push(low + NEAR_END * (values[1] - low));
        values.push(high - NEAR_END * (high - values[n - 2]));
        let regimes = terms.iter().filter_map(|term| term.regime.as_ref());
        let breaks = regimes
            .filter(|regime| regime.param == points.names[param])
            .filter_map(|regime| regime.to);
        let inside = breaks.filter(|end| (low..high).contains(end));
        values.extend(inside.flat_map(|end| [end.next_down(), end]));
        values.sort_by(f64::total_cmp);
        values.dedup();
        Walk {
            points,
            param,
            others,
            rises: false,
            values,
        }
    }

    /// The walked parameter.
    fn name(&self) -> &str {
        &self.points.names[self.param]
    }

    /// Value of a parameter, where the walked one is `x`.
    pub fn number(&self, name: &str, x: f64) -> Option<f64> {
        match name == self.points.names[self.param] {
            true => Some(x),
            false => self.points.number(self.others, name),
        }
    }
}

impl Limits<'_> {
    /// Whether a formula is finite and not negative on the range, and does not fall with the parameters named:
    /// along each parameter between its least and its greatest value, and where several are at such a value at once.
    pub fn hold(&self, formula: &Formula, points: &Points) -> bool {
        self.hold_on(&self.walks(points, &formula.terms), formula, points)
    }

    /// As [`Self::hold`], on precomputed walks, for formulas without regimes.
    pub fn hold_on(&self, walks: &[Walk<'_>], formula: &Formula, points: &Points) -> bool {
        let smallest = -ROUNDING * points.largest_s();
        let is_positive = is_positive(formula, points);
        let is_level =
            |walk: &Walk<'_>| formula.written.is_none() && !depends_on(&formula.terms, walk.name());
        let corners = || points.corners(MAX_CORNERED);
        let is_time = |corner: &Vec<f64>| {
            let value = formula.evaluate(|name| points.at(corner, name));
            value.is_ok_and(|value| value >= smallest && value.is_finite())
        };
        if !is_positive && formula.written.is_none() && !corners().iter().all(is_time) {
            return false;
        }
        // Along a parameter that it does not contain, a formula is constant.
        let mut level_at = Vec::new();
        walks.iter().all(|walk| {
            let value = |&x: &f64| {
                formula
                    .evaluate(|name| walk.number(name, x))
                    .unwrap_or(f64::NAN)
            };
            if is_level(walk) {
                if level_at.contains(&walk.others) {
                    return true;
                }
                level_at.push(walk.others);
                return walk
                    .values
                    .iter()
                    .take(1)
                    .map(value)
                    .all(|value| value >= smallest && value.is_finite());
            }
            if let (true, false, [low, .., high]) =
                (is_positive, walk.rises, walk.values.as_slice())
            {
                return [low, high].into_iter().all(|x| value(x).is_finite());
            }
            let values: Vec<f64> = walk.values.iter().map(value).collect();
            let rises = || values.windows(2).all(|pair| pair[1] >= pair[0] + smallest);
            let positive = |value: &f64| *value >= smallest && value.is_finite();
            values.iter().all(positive) && (!walk.rises || rises())
        })
    }

    /// The walks on which a formula of these terms is evaluated: along each parameter, with the others as at the
    /// middle point. Along parameters that it must not fall with, there are more walks, at the points with the least
    /// and the greatest value of each other parameter.
    pub fn walks<'p>(&self, points: &'p Points, terms: &[Term]) -> Vec<Walk<'p>> {
        let varying = points.varying();
        let along = |&param: &usize| {
            let rises = self.rises_with(points, param);
            let others = varying.iter().filter(|&&other| rises && other != param);
            let ends = others.flat_map(|&other| {
                let column = &points.columns[other];
                let by = |a: &usize, b: &usize| column[*a].total_cmp(&column[*b]);
                let rows = 0..points.len();
                [rows.clone().min_by(by), rows.max_by(by)]
            });
            let mut places: Vec<usize> = ends.flatten().chain([points.len() / 2]).collect();
            places.sort_unstable();
            places.dedup();
            let walk = |others| Walk {
                rises,
                ..Walk::new(points, param, others, terms)
            };
            places.into_iter().map(walk).collect::<Vec<_>>()
        };
        varying.iter().flat_map(along).collect()
    }

    /// Whether the time must not fall with the parameter at this position.
    pub fn rises_with(&self, points: &Points, param: usize) -> bool {
        self.monotone.contains(&points.names[param])
    }

    /// The same limits for a sum of terms, as half-spaces of its coefficients; the points are places too.
    ///
    /// # Returns
    /// Shape `[n_limits][n_coefficients]`; `None` where a term has no value.
    pub fn rows(&self, constant: bool, terms: &[Term], points: &Points) -> Option<Vec<Vec<f64>>> {
        let mut rows = Vec::new();
        for i in 0..points.len() {
            rows.push(row(constant, terms, |name| points.number(i, name))?);
        }
        for corner in points.corners(MAX_CORNERED) {
            rows.push(row(constant, terms, |name| points.at(&corner, name))?);
        }
        // Along a parameter that no term contains, the sum is constant and equals its value at a point.
        let walks = self.walks(points, terms).into_iter();
        for walk in walks.filter(|walk| depends_on(terms, walk.name())) {
            let along = walk.values.iter();
            let along = along.map(|&x| row(constant, terms, |name| walk.number(name, x)));
            let along: Vec<Vec<f64>> = along.collect::<Option<_>>()?;
            if walk.rises {
                let steps = along.windows(2).map(|pair| {
                    let rise = pair[1].iter().zip(&pair[0]).map(|(b, a)| b - a);
                    rise.collect()
                });
                rows.extend(steps);
            }
            rows.extend(along);
        }
        Some(rows)
    }
}

/// Whether a sum of terms depends on a parameter.
fn depends_on(terms: &[Term], name: &str) -> bool {
    terms.iter().any(|term| {
        let regime = term.regime.iter().map(|regime| &regime.param);
        let mut names = term
            .factors
            .iter()
            .map(|factor| &factor.param)
            .chain(regime);
        names.any(|param| param == name)
    })
}

/// Whether the form alone guarantees that a formula is nowhere negative on the range and largest at its ends: a sum
/// of powers, or of exponentials, without a coefficient below 0.
fn is_positive(formula: &Formula, points: &Points) -> bool {
    let low = |name: &str| {
        let param = points.names.iter().position(|known| known == name);
        param.map_or(f64::NAN, |param| points.range(param)[0])
    };
    let is_power = |factor: &Factor| {
        let is_alone = factor.rate.is_none() || factor.exponent.value() == 0.0;
        is_alone && factor.log_exponent == 0 && factor.step.is_none() && low(&factor.param) >= 0.0
    };
    let term = |term: &Term| {
        let is_one = term.factors.len() < 2 && term.factors.iter().all(is_power);
        is_one && term.coefficient >= 0.0 && term.regime.is_none()
    };
    formula.written.is_none() && formula.constant >= 0.0 && formula.terms.iter().all(term)
}

/// Value of each term of a sum at a place, by which its coefficient is multiplied.
fn row(constant: bool, terms: &[Term], number: impl Fn(&str) -> Option<f64>) -> Option<Vec<f64>> {
    let products = terms.iter().map(|term| term.product(&number).ok());
    let row: Vec<f64> = constant
        .then_some(Some(1.0))
        .into_iter()
        .chain(products)
        .collect::<Option<_>>()?;
    row.iter().all(|x| x.is_finite()).then_some(row)
}
