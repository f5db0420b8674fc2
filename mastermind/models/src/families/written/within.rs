//! The fit of a written formula within limits: nowhere negative on the range, not falling with the named parameters, and unknowns
//! within their bounds.
//!
//! The search starts from the best fits without limits. Each step solves the damped least-squares problem with the formula and the limits
//! linearised at the present values. A step is made if it reduces the sum of squares plus a penalty for broken limits.
//!
//! # Source
//! S.P. Han, J. Optim. Theory Appl. 22 (1977) 297, for the price; the damping is Levenberg's and
//! Marquardt's (recalled, not looked up).

use crate::families::candidate::Candidate;
use crate::families::written::fit::{N_REFINED, Problem};
use crate::solve::constrained::{Limit, solve_beyond, solve_within};
use crate::solve::least_squares::{LeastSquares, norm};
use crate::solve::limits::Limits;

/// Most starts whose sum of squares is computed.
const MAX_STARTS: usize = 256;

/// Most steps from one start.
const MAX_STEPS: usize = 100;

/// Damping at the start, relative to the squared lengths of the columns.
const DAMPING: f64 = 1e-3;

/// Factor by which the damping decreases after a successful step, and increases after an unsuccessful one.
const EASING: f64 = 10.0;

/// Least damping, which has no effect.
const LEAST_DAMPING: f64 = 1e-15;

/// Damping at which steps vanish and the search ends.
const MOST_DAMPING: f64 = 1e10;

/// Relative change of every unknown at which the search ends.
const SETTLED: f64 = 1e-15;

/// A formula whose values are all below this share of the longest time counts as 0.
const NOTHING: f64 = 1e-9;

/// Share of the longest time by which a start may break limits.
const BROKEN: f64 = 1e-9;

/// Sum of the amounts by which limits are broken.
fn broken(sides: &[Limit]) -> f64 {
    sides.iter().map(|side| side.least.max(0.0)).sum()
}

impl Problem<'_> {
    /// The best fit within the limits, from several starts.
    ///
    /// # Arguments
    /// * `free` - values that fit well without limits
    ///
    /// # Returns
    /// `None` if no fit is found, or only one that is 0 over the whole range.
    pub(crate) fn held(&self, free: Vec<Vec<f64>>, limits: &Limits<'_>) -> Option<Candidate> {
        let starts = self.starts_within(limits).into_iter().chain(free);
        let held = starts.filter_map(|start| {
            let values = self.nearest(start, limits)?;
            let shown = self.shown(&values, &self.active(&values, limits)?)?;
            let largest = shown.fitted_s.iter().copied().fold(0.0, f64::max);
            let is_cost = largest > NOTHING * self.points.largest_s();
            (is_cost && limits.hold(&shown.formula, self.points)).then_some((values, shown))
        });
        let nearest = held.min_by(|(a, _), (b, _)| self.squares(a).total_cmp(&self.squares(b)));
        nearest.map(|(_, shown)| Candidate {
            held: true,
            ..shown
        })
    }

    /// The starts with the least sums of squares, with the linear unknowns at their optimum within the limits.
    ///
    /// This keeps the starts away from times that are all 0, which no step leaves.
    fn starts_within(&self, limits: &Limits<'_>) -> Vec<Vec<f64>> {
        let linear: Vec<usize> = (0..self.linear.len()).filter(|&j| self.linear[j]).collect();
        let within = |mut values: Vec<f64>| {
            let sides = self.sides(&values, limits)?;
            if let Some((step, _)) = self.step(&values, &sides, &linear, LEAST_DAMPING) {
                self.make(&mut values, &linear, &step);
            }
            let broken = broken(&self.sides(&values, limits)?);
            let squares = self.squares(&values);
            Some((broken > BROKEN * self.points.largest_s(), squares, values))
        };
        let choices = self.choices();
        let every = choices.len().div_ceil(MAX_STARTS);
        let choices = choices.into_iter().step_by(every.max(1));
        let mut starts: Vec<(bool, f64, Vec<f64>)> = choices.filter_map(within).collect();
        starts.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        starts.truncate(N_REFINED);
        starts.into_iter().map(|(.., values)| values).collect()
    }

    /// Changes unknowns by a step, clamped to their bounds.
    fn make(&self, values: &mut [f64], which: &[usize], step: &[f64]) {
        for (&j, step) in which.iter().zip(step) {
            let bounds = &self.bounds[j];
            values[j] = (values[j] + step).max(bounds.lower).min(bounds.upper);
        }
    }

    fn nearest(&self, mut values: Vec<f64>, limits: &Limits<'_>) -> Option<Vec<f64>> {
        let mut sides = self.sides(&values, limits)?;
        let (mut damping, mut price) = (DAMPING, 0.0_f64);
        let all: Vec<usize> = (0..values.len()).collect();
        for _ in 0..MAX_STEPS {
            let Some((step, prices)) = self.step(&values, &sides, &all, damping) else {
                break;
            };
            // With a penalty of twice the multiplier of a limit, breaking it never pays.
            price = prices
                .iter()
                .fold(price, |most, worth| most.max(2.0 * worth));
            let mut next = values.clone();
            self.make(&mut next, &all, &step);
            let merit =
                |values: &[f64], sides: &[Limit]| self.squares(values) + price * broken(sides);
            let better = self
                .sides(&next, limits)
                .filter(|there| merit(&next, there) < merit(&values, &sides));
            let Some(there) = better else {
                damping *= EASING;
                if damping > MOST_DAMPING {
                    break;
                }
                continue;
            };
            damping = (damping / EASING).max(LEAST_DAMPING);
            let moved = values.iter().zip(&next);
            let is_settled = moved
                .into_iter()
                .all(|(a, b)| (a - b).abs() <= SETTLED * a.abs());
            (values, sides) = (next, there);
            if is_settled {
                break;
            }
        }
        Some(values)
    }

    /// The best change of some unknowns in the linearised problem, and the multiplier of each limit.
    fn step(
        &self,
        values: &[f64],
        sides: &[Limit],
        which: &[usize],
        damping: f64,
    ) -> Option<(Vec<f64>, Vec<f64>)> {
        let (slopes, mut rest) = self.tangent(values)?;
        let mut weights = self.weights();
        let column = |(place, &j): (usize, &usize)| {
            let weighted = slopes[j].iter().zip(&self.roots).map(|(x, root)| x * root);
            // An unknown without effect here keeps its value.
            let length = match norm(&weighted.collect::<Vec<f64>>()) {
                0.0 => 1.0,
                length => length,
            };
            let mut column = slopes[j].clone();
            column.resize(column.len() + which.len(), 0.0);
            column[slopes[j].len() + place] = damping.sqrt() * length;
            column
        };
        let design: Vec<Vec<f64>> = which.iter().enumerate().map(column).collect();
        rest.resize(rest.len() + which.len(), 0.0);
        weights.resize(rest.len(), 1.0);
        let side = |side: &Limit| Limit {
            slopes: which.iter().map(|&j| side.slopes[j]).collect(),
            least: side.least,
        };
        let sides: Vec<Limit> = sides.iter().map(side).collect();
        solve_beyond(&design, &rest, &weights, &sides)
    }

    /// The limits, linearised as constraints on a change of the unknowns; `None` if the formula has no value.
    fn sides(&self, values: &[f64], limits: &Limits<'_>) -> Option<Vec<Limit>> {
        let points = (0..self.points.len()).map(|i| self.at(i, values));
        let mut sides: Vec<(f64, Vec<f64>)> = points.collect::<Option<_>>()?;
        for walk in limits.walks(self.points, &[]) {
            let along = walk.values.iter();
            let along = along.map(|&x| self.tangent_at(values, |name| walk.number(name, x)));
            let along: Vec<(f64, Vec<f64>)> = along.collect::<Option<_>>()?;
            if walk.rises {
                sides.extend(along.windows(2).map(|pair| {
                    let slopes = pair[1].1.iter().zip(&pair[0].1).map(|(b, a)| b - a);
                    (pair[1].0 - pair[0].0, slopes.collect())
                }));
            }
            sides.extend(along);
        }
        for (j, bounds) in self.bounds.iter().enumerate() {
            let alone = |slope: f64| {
                let mut slopes = vec![0.0; values.len()];
                slopes[j] = slope;
                slopes
            };
            if bounds.lower.is_finite() {
                sides.push((values[j] - bounds.lower, alone(1.0)));
            }
            if bounds.upper.is_finite() {
                sides.push((bounds.upper - values[j], alone(-1.0)));
            }
        }
        let limit = |(value, slopes): (f64, Vec<f64>)| Limit {
            slopes,
            least: -value,
        };
        Some(sides.into_iter().map(limit).collect())
    }

    /// The active limits at these values, as directions of the unknowns.
    fn active(&self, values: &[f64], limits: &Limits<'_>) -> Option<Vec<Vec<f64>>> {
        let sides = self.sides(values, limits)?;
        let all: Vec<usize> = (0..values.len()).collect();
        let (_, prices) = self.step(values, &sides, &all, LEAST_DAMPING)?;
        let held = sides.into_iter().zip(prices);
        let held = held.filter(|(_, price)| *price > 0.0);
        Some(held.map(|(side, _)| side.slopes).collect())
    }

    /// The least-squares problem of a step from `values` in the directions orthogonal to `active`.
    pub(crate) fn linearised(&self, values: &[f64], active: &[Vec<f64>]) -> Option<LeastSquares> {
        let (design, rest) = self.tangent(values)?;
        let solved = solve_within(&design, &rest, &self.weights(), active);
        Some(solved.ok()?.solution)
    }
}
