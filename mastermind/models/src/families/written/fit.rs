//! The fit of a formula that a user wrote: bounded, non-linear least squares.
//!
//! The search tries a grid of start values for the unknowns that enter the formula non-linearly; the linear ones are solved for at each
//! start. The best few starts are refined by Levenberg–Marquardt and a few Gauss–Newton steps with exact derivatives. If the result
//! breaks a limit, `within` continues from it.
//!
//! ```text
//! a * x^b + c      b is non-linear: starts b = 1, -1, 0.5, …; a and c are linear: solved for each b
//! ```

use std::collections::BTreeMap;

use rmpfit::{MPConfig, MPError, MPFitter, MPPar, MPResult, MPSide};

use crate::families::candidate::Candidate;
use crate::families::written::{Unknown, UserFormula};
use crate::formula::family::Family;
use crate::formula::sum::Formula;
use crate::formula::written::Written;
use crate::samples::points::Points;
use crate::solve::covariance::Covariance;
use crate::solve::least_squares::solve;
use crate::solve::limits::Limits;

/// Number of the best starts that are refined by non-linear least squares.
pub(crate) const N_REFINED: usize = 6;

/// Most starts whose sum of squares is computed.
const MAX_STARTS: usize = 4096;

/// Gauss–Newton steps with exact derivatives after the refinement.
const POLISH: usize = 4;

/// The fit of the unknowns of a formula to points.
pub(crate) struct Problem<'a> {
    formula: &'a UserFormula,
    /// The points.
    pub points: &'a Points,
    names: Vec<&'a str>,
    /// Bounds and start of each unknown.
    pub bounds: Vec<Unknown>,
    /// Roots of the weights, shape `[n_points]`.
    pub roots: Vec<f64>,
    /// Whether the formula is linear in each unknown, with all others fixed.
    pub linear: Vec<bool>,
    config: MPConfig,
    limits: Vec<MPPar>,
}

impl<'a> Problem<'a> {
    /// The problem.
    pub fn new(formula: &'a UserFormula, points: &'a Points) -> Self {
        let largest = points.largest_s();
        let pairs = points.mean_s.iter().zip(&points.count);
        let root = |(&y, n): (&f64, &f64)| (n / points.noise.variance(y, largest)).sqrt();
        let bounds: Vec<Unknown> = formula.unknowns().values().copied().collect();
        let limit = |unknown: &Unknown| MPPar {
            limited_low: unknown.lower.is_finite(),
            limited_up: unknown.upper.is_finite(),
            limit_low: unknown.lower,
            limit_up: unknown.upper,
            side: MPSide::User,
            ..MPPar::default()
        };
        let mut problem = Self {
            formula,
            points,
            names: formula.unknowns().keys().map(String::as_str).collect(),
            roots: pairs.map(root).collect(),
            linear: Vec::new(),
            config: MPConfig {
                ftol: 1e-15,
                xtol: 1e-15,
                gtol: 1e-15,
                max_iter: 400,
                ..MPConfig::default()
            },
            limits: bounds.iter().map(limit).collect(),
            bounds,
        };
        problem.linear = problem.linear();
        problem
    }

    /// Fits the unknowns; within the limits if the free fit breaks them.
    pub fn fit(&mut self, limits: &Limits<'_>) -> Option<Candidate> {
        let starts = self.starts();
        let found = self.refined(&starts);
        let free = found.first().and_then(|best| self.shown(best, &[]));
        free.filter(|free| limits.hold(&free.formula, self.points))
            .or_else(|| self.held(found, limits))
    }

    /// The time and its derivatives at a point; `None` where it is not finite.
    pub fn at(&self, i: usize, values: &[f64]) -> Option<(f64, Vec<f64>)> {
        self.tangent_at(values, |name| self.points.number(i, name))
    }

    /// As [`Problem::at`], with the values of the parameters from `number`.
    pub fn tangent_at(
        &self,
        values: &[f64],
        number: impl Fn(&str) -> Option<f64>,
    ) -> Option<(f64, Vec<f64>)> {
        let number = |name: &str| match self.names.iter().position(|known| *known == name) {
            Some(j) => Some(values[j]),
            None => number(name),
        };
        let (value, slopes) = self
            .formula
            .expression()
            .gradient(&number, &self.names)
            .ok()?;
        (value.is_finite() && slopes.iter().all(|s| s.is_finite())).then_some((value, slopes))
    }

    /// Whether each unknown belongs to a set that the formula is jointly linear in. Unknowns are added to the set in the order of their names
    /// if the derivatives by the unknowns of the set do not depend on them.
    fn linear(&self) -> Vec<bool> {
        let base: Vec<f64> = (0..self.names.len())
            .map(|j| 0.7 + 0.13 * j as f64)
            .collect();
        let mut linear = vec![false; self.names.len()];
        for j in 0..linear.len() {
            linear[j] = true;
            let moved = base.iter().zip(&linear);
            let moved: Vec<f64> = moved.map(|(x, l)| if *l { 2.3 * x } else { *x }).collect();
            let same =
                (0..self.points.len()).all(|i| match (self.at(i, &base), self.at(i, &moved)) {
                    (Some((_, a)), Some((_, b))) => (0..linear.len())
                        .filter(|&k| linear[k])
                        .all(|k| (a[k] - b[k]).abs() <= 1e-12 * a[k].abs()),
                    _ => false,
                });
            linear[j] = same;
        }
        linear
    }

    /// The starts with the least sums of squares, with the linear unknowns at their optimum.
    fn starts(&self) -> Vec<Vec<f64>> {
        let starts = self.choices().into_iter();
        let mut starts: Vec<Vec<f64>> = starts.map(|start| self.with_linear(start)).collect();
        self.rank(&mut starts);
        starts.truncate(N_REFINED);
        starts
    }

    /// The starts refined by non-linear least squares, the best first.
    fn refined(&mut self, starts: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let mut found = starts.to_vec();
        // The solver does not accept a problem without unknowns.
        for values in found.iter_mut().filter(|values| !values.is_empty()) {
            // The values it reached are used whatever its status.
            let _ = self.mpfit(values);
            *values = self.polished(std::mem::take(values));
        }
        self.rank(&mut found);
        found
    }

    /// Sorts by the sum of squares and removes entries without one.
    fn rank(&self, list: &mut Vec<Vec<f64>>) {
        list.retain(|values| self.squares(values).is_finite());
        list.sort_by(|a, b| self.squares(a).total_cmp(&self.squares(b)));
    }

    /// Start values of the unknowns: every combination for those that the formula is not linear in.
    pub fn choices(&self) -> Vec<Vec<f64>> {
        let mut starts = vec![Vec::new()];
        for (j, unknown) in self.bounds.iter().enumerate() {
            let choices = if self.linear[j] {
                vec![unknown.start.unwrap_or(1.0)]
            } else {
                self.choices_of(unknown)
            };
            let longer = starts.iter().flat_map(|start: &Vec<f64>| {
                choices.iter().map(|&x| {
                    let inside = x.max(unknown.lower).min(unknown.upper);
                    start.iter().copied().chain([inside]).collect::<Vec<f64>>()
                })
            });
            starts = longer.take(MAX_STARTS).collect();
        }
        starts
    }

    fn choices_of(&self, unknown: &Unknown) -> Vec<f64> {
        if let Some(start) = unknown.start {
            return vec![start];
        }
        let (low, high) = (unknown.lower, unknown.upper);
        if low.is_finite() && high.is_finite() {
            let share = |k: usize| k as f64 / 8.0;
            return match low > 0.0 && high / low > 100.0 {
                true => (0..=8).map(|k| low * (high / low).powf(share(k))).collect(),
                false => (0..=8).map(|k| low + (high - low) * share(k)).collect(),
            };
        }
        // Exponents are of the order of one, rates of the order of a reciprocal parameter.
        let mut choices = vec![1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, 0.1];
        for param in self.points.varying() {
            let largest = self.points.range(param)[1].abs();
            for scale in [0.1, 1.0, 10.0] {
                choices.extend([scale / largest, -scale / largest, scale * largest / 10.0]);
            }
        }
        choices.retain(|x| x.is_finite());
        choices
    }

    /// The start with the linear unknowns at their optimum, within their bounds.
    fn with_linear(&self, mut start: Vec<f64>) -> Vec<f64> {
        let columns: Vec<usize> = (0..start.len()).filter(|&j| self.linear[j]).collect();
        let rows: Option<Vec<(f64, Vec<f64>)>> =
            (0..self.points.len()).map(|i| self.at(i, &start)).collect();
        let Some(rows) = rows.filter(|_| !columns.is_empty()) else {
            return start;
        };
        let design: Vec<Vec<f64>> = columns
            .iter()
            .map(|&j| rows.iter().map(|(_, slopes)| slopes[j]).collect())
            .collect();
        let rest = rows
            .iter()
            .zip(&self.points.mean_s)
            .map(|((value, slopes), y)| {
                let linear: f64 = columns.iter().map(|&j| slopes[j] * start[j]).sum();
                y - (value - linear)
            });
        if let Ok(solution) = solve(&design, &rest.collect::<Vec<_>>(), &self.weights()) {
            for (&j, value) in columns.iter().zip(&solution.coefficients) {
                start[j] = value.max(self.bounds[j].lower).min(self.bounds[j].upper);
            }
        }
        start
    }

    /// Shape `[n_points]`.
    pub fn weights(&self) -> Vec<f64> {
        self.roots.iter().map(|root| root * root).collect()
    }

    /// Weighted sum of squares; infinite where a time is not finite.
    pub fn squares(&self, values: &[f64]) -> f64 {
        let square = |i: usize| {
            let (value, _) = self.at(i, values)?;
            Some(((self.points.mean_s[i] - value) * self.roots[i]).powi(2))
        };
        let sum: Option<f64> = (0..self.points.len()).map(square).sum();
        sum.unwrap_or(f64::INFINITY)
    }

    /// Makes a few Gauss–Newton steps, each only if it stays in the bounds and reduces the sum of squares.
    fn polished(&self, mut values: Vec<f64>) -> Vec<f64> {
        let mut least = self.squares(&values);
        for _ in 0..POLISH {
            let Some(solution) = self.linearised(&values, &[]) else {
                break;
            };
            let next: Vec<f64> = values
                .iter()
                .zip(&solution.coefficients)
                .map(|(value, step)| value + step)
                .collect();
            let inside = next.iter().zip(&self.bounds);
            let inside = inside
                .into_iter()
                .all(|(x, u)| (u.lower..=u.upper).contains(x));
            let squares = self.squares(&next);
            if !inside || squares >= least {
                break;
            }
            (least, values) = (squares, next);
        }
        values
    }

    /// The first unknown within its bounds whose effect on the times is a linear combination of the effects of others.
    pub fn entangled(&self, values: &[f64]) -> Option<&str> {
        let within = |&j: &usize| {
            let bounds = &self.bounds[j];
            bounds.lower < values[j] && values[j] < bounds.upper
        };
        let free: Vec<usize> = (0..values.len()).filter(within).collect();
        let (columns, _) = self.tangent(values)?;
        let design: Vec<Vec<f64>> = free.iter().map(|&j| columns[j].clone()).collect();
        let dependent = solve(&design, &self.points.mean_s, &self.weights()).err()?;
        Some(self.names[free[dependent.column]])
    }

    /// Derivatives of the times by each unknown, shape `[n_unknowns][n_points]`, and the residuals.
    pub fn tangent(&self, values: &[f64]) -> Option<(Vec<Vec<f64>>, Vec<f64>)> {
        let rows = (0..self.points.len()).map(|i| self.at(i, values));
        let rows: Vec<(f64, Vec<f64>)> = rows.collect::<Option<_>>()?;
        let column = |j: usize| rows.iter().map(|(_, slopes)| slopes[j]).collect();
        let pairs = rows.iter().zip(&self.points.mean_s);
        let rest = pairs.map(|((value, _), y)| y - value).collect();
        Some(((0..values.len()).map(column).collect(), rest))
    }

    /// The model with these values; `None` if it is not finite, or negative at a point.
    ///
    /// # Arguments
    /// * `active` - directions of the unknowns that active limits fix
    pub fn shown(&self, values: &[f64], active: &[Vec<f64>]) -> Option<Candidate> {
        let named = self.names.iter().map(|name| (*name).to_owned());
        let named: BTreeMap<String, f64> = named.zip(values.iter().copied()).collect();
        let formula = Formula {
            written: Some(Written::new(self.formula.text(), named).ok()?),
            ..Formula::default()
        };
        let fitted_s: Option<Vec<f64>> = (0..self.points.len())
            .map(|i| Some(self.at(i, values)?.0))
            .collect();
        let fitted_s = fitted_s?;
        if fitted_s
            .iter()
            .any(|f| *f < -1e-12 * self.points.largest_s())
        {
            return None;
        }
        let n = values.len();
        let freedom = self.points.len() as f64 - n as f64;
        let solution = self.linearised(values, active);
        let (mut covariance, mut left_out_s) = (None, None);
        if let Some(solution) = &solution
            && freedom >= 1.0
        {
            let variance = self.squares(values) / freedom;
            let unscaled = &solution.unscaled_covariance;
            covariance = Some(Covariance::new(n, |i, j| variance * unscaled[i][j]));
            let left_out = |i: usize| {
                let y = self.points.mean_s[i];
                let free = 1.0 - solution.leverages[i];
                if free > 1e-12 {
                    y - (y - fitted_s[i]) / free
                } else {
                    f64::NAN
                }
            };
            left_out_s = Some((0..self.points.len()).map(left_out).collect());
        }
        Some(Candidate {
            family: Family::Written,
            formula,
            names: Some(
                (self.names.iter())
                    .map(|name| ((*name).to_owned(), String::new()))
                    .collect(),
            ),
            coefficients: values.to_vec(),
            n_free: n,
            covariance,
            freedom: freedom.max(0.0),
            fitted_s,
            left_out_s,
            sigma: None,
            alternatives: Vec::new(),
            predicted_s: Vec::new(),
            odds_against: 0.0,
            held: false,
            is_even: false,
            design_effect: 1.0,
        })
    }
}

impl MPFitter for Problem<'_> {
    fn eval(&mut self, values: &[f64], deviates: &mut [f64]) -> MPResult<()> {
        for (i, deviate) in deviates.iter_mut().enumerate() {
            let (value, _) = self.at(i, values).ok_or(MPError::Eval)?;
            *deviate = (self.points.mean_s[i] - value) * self.roots[i];
        }
        Ok(())
    }

    fn number_of_points(&self) -> usize {
        self.points.len()
    }

    fn config(&self) -> &MPConfig {
        &self.config
    }

    fn parameters(&self) -> &[MPPar] {
        &self.limits
    }

    fn jacobian(
        &mut self,
        values: &[f64],
        deviates: &mut [f64],
        slopes: &mut [Option<Vec<f64>>],
    ) -> MPResult<()> {
        for (i, deviate) in deviates.iter_mut().enumerate() {
            let (value, gradient) = self.at(i, values).ok_or(MPError::Eval)?;
            *deviate = (self.points.mean_s[i] - value) * self.roots[i];
            for (column, slope) in slopes.iter_mut().zip(gradient) {
                if let Some(column) = column {
                    column[i] = -slope * self.roots[i];
                }
            }
        }
        Ok(())
    }
}
