//! The semi-empirical model: a formula whose unknowns are fitted within their bounds.
//!
//! [`SemiEmpirical::fit`] takes the formula (`specification`) and the observed times (`table`), and gives the value of
//! each unknown with its standard error, and [`Finding`]s if the points do not determine it. It is Levenberg–Marquardt
//! from several starts, the first in the middle of the bounds, so it needs no guess and is deterministic. A value never
//! leaves its bounds; one at an end is reported ([`End`]) and has no standard error. An unknown whose bounds are
//! positive and span more than a factor of a hundred is searched by its logarithm, since otherwise no start between
//! 1e-9 and 1e-3 is near all of them. `correction` continues from the fit.
//!
//! ```
//! use mastermind_correction::{End, Residuals, SemiEmpirical, Specification, Table};
//!
//! let law = Specification::from_toml(
//!     r#"
//!     name = "law"
//!     observation = "t"
//!     inputs = ["n"]
//!     formula = "a + b*n"
//!     [unknowns]
//!     a = { lower = 0, upper = 10, unit = "s" }
//!     b = { lower = 0, upper = 0.02, unit = "s" }
//!     "#,
//! )?;
//! // 2 s + 0.03 s n, of which b may not take the 0.03.
//! let table = Table::from_csv("n,t\n100,5\n200,8\n300,11\n400,14\n".as_bytes(), &law)?;
//! let fit = SemiEmpirical::fit(&law, &table, Residuals::Relative)?;
//! assert_eq!((fit.values[1], fit.at_bound[1], fit.std_errors[1]), (0.02, Some(End::Upper), None));
//! assert!(fit.values[0] > 2.0 && fit.std_errors[0].is_some());
//! # Ok::<(), mastermind_correction::Error>(())
//! ```

use mastermind_models::Arithmetic;
use nalgebra::{DMatrix, SymmetricEigen};
use rmpfit::{MPConfig, MPError, MPFitter, MPPar, MPResult, MPSide};
use serde::Serialize;

use crate::error::Error;
use crate::specification::{Specification, Unknown};
use crate::table::Table;

/// Number of starts that are evaluated, and of those that are refined.
const N_STARTS: usize = 400;
const N_REFINED: usize = 8;

/// Ratio of bounds from which on the logarithm is searched.
const DECADES: f64 = 100.0;

/// Correlation beyond which the points cannot distinguish two unknowns.
const ENTANGLED: f64 = 0.995;

/// Ratio of an unknown's standard error to its value beyond which the data do not determine it.
const MAX_RELATIVE_ERROR: f64 = 1.0;

/// Definition of a residual.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Residuals {
    /// Observed less calculated time, as in the paper's Eq. 1.
    Squared,
    /// The same as a share of the observed time.
    Relative,
}

impl Residuals {
    /// Factors of the residuals whose squares are summed, shape `[n_points]`.
    pub fn roots(self, table: &Table) -> Vec<f64> {
        let pairs = table.weights.iter().zip(&table.observed);
        let root = |(weight, observed): (&f64, &f64)| match self {
            Self::Squared => weight.sqrt(),
            Self::Relative => weight.sqrt() / observed,
        };
        pairs.map(root).collect()
    }
}

/// An end of a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum End {
    /// The lower bound.
    Lower,
    /// The upper bound.
    Upper,
}

/// Something to know of a fit before it is believed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "finding", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Finding {
    /// The times do not change with an unknown: any value within its bounds would do.
    NoEffect {
        /// The unknown.
        unknown: String,
    },
    /// The standard error of an unknown is larger than its value.
    Untold {
        /// The unknown.
        unknown: String,
    },
    /// The points cannot distinguish two unknowns.
    Entangled {
        /// One.
        unknown: String,
        /// The other.
        other: String,
        /// Their correlation.
        correlation: f64,
    },
    /// No standard errors: as many unknowns as points.
    NoFreedom {
        /// Points fitted.
        n_points: usize,
    },
    /// The points do not determine a combination of the unknowns.
    Undetermined,
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoEffect { unknown } => {
                write!(
                    f,
                    "\"{unknown}\" changes no time at these points: any value would do"
                )
            }
            Self::Untold { unknown } => write!(
                f,
                "the points do not tell \"{unknown}\": its standard error is larger than its value"
            ),
            Self::Entangled {
                unknown,
                other,
                correlation,
            } => write!(
                f,
                "the points do not tell \"{unknown}\" from \"{other}\": their correlation is {correlation:.4}"
            ),
            Self::NoFreedom { n_points } => {
                write!(
                    f,
                    "no standard errors: {n_points} points and as many unknowns"
                )
            }
            Self::Undetermined => f.write_str(
                "the points leave a combination of the unknowns open: no standard errors",
            ),
        }
    }
}

/// A fitted semi-empirical model.
#[derive(Debug, Clone, PartialEq)]
pub struct SemiEmpirical {
    /// Residuals that were minimised.
    pub residuals: Residuals,
    /// Values of the unknowns in the order of their names, each within its bounds.
    pub values: Vec<f64>,
    /// Standard errors; `None` at a bound, or if the points do not determine the unknown.
    pub std_errors: Vec<Option<f64>>,
    /// Bounds that are active.
    pub at_bound: Vec<Option<End>>,
    /// Correlations of the unknowns, `[n][n]`; 0 for one at a bound; `None` if the points do not
    /// determine the unknowns.
    pub correlation: Option<Vec<Vec<f64>>>,
    /// Further findings.
    pub findings: Vec<Finding>,
}

impl SemiEmpirical {
    /// Fits the unknowns of a formula to the points for training.
    ///
    /// # Errors
    /// [`Error::TooFewPoints`], [`Error::NotPositive`], [`Error::OutsideDomain`], [`Error::NoFit`].
    pub fn fit(
        specification: &Specification,
        train: &Table,
        residuals: Residuals,
    ) -> Result<Self, Error> {
        let all: Vec<usize> = (0..specification.unknowns.len()).collect();
        let middle = specification.unknowns.values().map(middle).collect();
        Self::fit_some(specification, train, residuals, &all, middle)
    }

    /// As [`SemiEmpirical::fit`], with only some unknowns free: those that another platform
    /// changes.
    ///
    /// # Arguments
    /// * `free` - indices of the unknowns that are fitted
    /// * `held` - values of all unknowns; those that are not free are kept
    ///
    /// # Errors
    /// The errors of [`SemiEmpirical::fit`].
    pub fn fit_some(
        specification: &Specification,
        train: &Table,
        residuals: Residuals,
        free: &[usize],
        held: Vec<f64>,
    ) -> Result<Self, Error> {
        check_points(specification, train, residuals, free.len())?;
        let mut problem = Problem::new(specification, train, residuals, free, held);
        let values = problem.solve()?;
        Ok(problem.with_errors(values))
    }
}

fn check_points(
    specification: &Specification,
    train: &Table,
    residuals: Residuals,
    n_free: usize,
) -> Result<(), Error> {
    let model = || specification.name.clone();
    if train.len() < n_free.max(1) {
        return Err(Error::TooFewPoints {
            model: model(),
            n_points: train.len(),
            needed: n_free.max(1),
        });
    }
    let mut points = train.observed.iter().zip(&train.lines);
    let is_wrong = |(y, _): &(&f64, &usize)| residuals == Residuals::Relative && **y <= 0.0;
    match points.find(is_wrong) {
        Some((value, line)) => Err(Error::NotPositive {
            model: model(),
            value: *value,
            line: *line,
        }),
        None => Ok(()),
    }
}

/// Whether an unknown is searched by its logarithm.
fn is_logarithmic(unknown: &Unknown) -> bool {
    unknown.lower > 0.0 && unknown.upper / unknown.lower >= DECADES
}

fn middle(unknown: &Unknown) -> f64 {
    match is_logarithmic(unknown) {
        true => (unknown.lower * unknown.upper).sqrt(),
        false => 0.5 * (unknown.lower + unknown.upper),
    }
}

struct Problem<'a> {
    specification: &'a Specification,
    train: &'a Table,
    residuals: Residuals,
    roots: Vec<f64>,
    names: Vec<&'a str>,
    bounds: Vec<&'a Unknown>,
    /// Places of the unknowns that are fitted.
    free: Vec<usize>,
    /// All unknowns.
    held: Vec<f64>,
    config: MPConfig,
    limits: Vec<MPPar>,
}

impl<'a> Problem<'a> {
    fn new(
        specification: &'a Specification,
        train: &'a Table,
        residuals: Residuals,
        free: &[usize],
        held: Vec<f64>,
    ) -> Self {
        let bounds: Vec<&Unknown> = specification.unknowns.values().collect();
        let limit = |place: &usize| {
            let [lower, upper] = searched_bounds(bounds[*place]);
            MPPar {
                limited_low: true,
                limited_up: true,
                limit_low: lower,
                limit_up: upper,
                side: MPSide::User,
                ..MPPar::default()
            }
        };
        Self {
            specification,
            train,
            residuals,
            roots: residuals.roots(train),
            names: specification.unknown_names(),
            limits: free.iter().map(limit).collect(),
            bounds,
            free: free.to_vec(),
            held,
            config: MPConfig {
                ftol: 1e-14,
                xtol: 1e-14,
                gtol: 1e-14,
                max_iter: 300,
                ..MPConfig::default()
            },
        }
    }

    /// All unknowns where the free ones have these searched values.
    fn unknowns(&self, searched: &[f64]) -> Vec<f64> {
        let mut values = self.held.clone();
        for (place, x) in self.free.iter().zip(searched) {
            let unknown = self.bounds[*place];
            let value = if is_logarithmic(unknown) { x.exp() } else { *x };
            values[*place] = value.clamp(unknown.lower, unknown.upper);
        }
        values
    }

    /// Time and derivatives by the free unknowns as searched; `None` where not finite.
    fn tangent(&self, i: usize, values: &[f64]) -> Option<(f64, Vec<f64>)> {
        let arithmetic: &Arithmetic = self.specification.arithmetic();
        let number = |name: &str| {
            if let Some(place) = self.names.iter().position(|known| *known == name) {
                return Some(values[place]);
            }
            let input = self.specification.inputs.iter().position(|n| n == name);
            match input {
                Some(place) => Some(self.train.inputs[place][i]),
                None => self.specification.constants.get(name).copied(),
            }
        };
        let free: Vec<&str> = self.free.iter().map(|place| self.names[*place]).collect();
        let (value, mut slopes) = arithmetic.gradient(&number, &free).ok()?;
        for (slope, place) in slopes.iter_mut().zip(&self.free) {
            if is_logarithmic(self.bounds[*place]) {
                *slope *= values[*place];
            }
        }
        let is_finite = value.is_finite() && slopes.iter().all(|s| s.is_finite());
        is_finite.then_some((value, slopes))
    }

    /// The best values of all unknowns.
    fn solve(&mut self) -> Result<Vec<f64>, Error> {
        let model = || self.specification.name.clone();
        let Some(formula) = self.specification.over(self.train) else {
            return Err(Error::NoFit { model: model() });
        };
        let mut ranked: Vec<(f64, Vec<f64>)> = Vec::new();
        let mut out = Vec::new();
        let mut ever_finite = vec![false; self.train.len()];
        for k in 0..N_STARTS {
            let searched = self.start(k);
            formula.evaluate(&self.unknowns(&searched), &mut out);
            for (is_ever, t) in ever_finite.iter_mut().zip(&out) {
                *is_ever |= t.is_finite();
            }
            // By logarithms: a start a decade too high is as near as one a decade too low.
            let distance = |i: usize| {
                let (y, t) = (self.train.observed[i], out[i]);
                match y > 0.0 && t > 0.0 {
                    true => (t / y).ln().powi(2),
                    false => ((y - t) * self.roots[i]).powi(2) + 100.0,
                }
            };
            let sum: f64 = (0..self.train.len()).map(distance).sum();
            if sum.is_finite() {
                ranked.push((sum, searched));
            }
        }
        if let Some(i) = ever_finite.iter().position(|is_ever| !is_ever) {
            return Err(Error::OutsideDomain {
                model: model(),
                point: self.train.describe(i, self.specification),
            });
        }
        ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
        ranked.truncate(N_REFINED);
        let mut best: Option<(f64, Vec<f64>)> = None;
        for (_, mut searched) in ranked {
            if !searched.is_empty() {
                // The point it has reached counts, whatever its status.
                let _ = self.mpfit(&mut searched);
            }
            let values = self.unknowns(&searched);
            let squares = self.squares(&values);
            if squares.is_finite() && best.as_ref().is_none_or(|(least, _)| squares < *least) {
                best = Some((squares, values));
            }
        }
        let values = best.map(|(_, values)| values);
        values.ok_or_else(|| Error::NoFit { model: model() })
    }

    /// Start `k`: the middle of all ranges, then the points of a Halton sequence.
    fn start(&self, k: usize) -> Vec<f64> {
        const PRIMES: [u32; 12] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37];
        let value = |(j, place): (usize, &usize)| {
            let [lower, upper] = searched_bounds(self.bounds[*place]);
            let share = match k {
                0 => 0.5,
                _ => halton(k, PRIMES[j % PRIMES.len()]),
            };
            lower + share * (upper - lower)
        };
        self.free.iter().enumerate().map(value).collect()
    }

    fn squares(&self, values: &[f64]) -> f64 {
        let square = |i: usize| {
            let (time, _) = self.tangent(i, values)?;
            Some(((self.train.observed[i] - time) * self.roots[i]).powi(2))
        };
        let sum: Option<f64> = (0..self.train.len()).map(square).sum();
        sum.unwrap_or(f64::INFINITY)
    }

    /// Values with their standard errors and findings.
    fn with_errors(&self, values: Vec<f64>) -> SemiEmpirical {
        let n = values.len();
        let mut at_bound = vec![None; n];
        for place in &self.free {
            let Unknown { lower, upper, .. } = *self.bounds[*place];
            let room =
                1e-6 * (upper - lower).min(values[*place].abs().max(1e-12 * (upper - lower)));
            at_bound[*place] = match values[*place] {
                x if x - lower <= room => Some(End::Lower),
                x if upper - x <= room => Some(End::Upper),
                _ => None,
            };
        }
        let mut fit = SemiEmpirical {
            residuals: self.residuals,
            values,
            std_errors: vec![None; n],
            at_bound,
            correlation: None,
            findings: Vec::new(),
        };
        self.estimate_errors(&mut fit);
        fit
    }

    /// Estimates standard errors and correlations of the unknowns that are not at a bound, from the slopes at the
    /// solution; finds the unknowns that the points do not determine.
    fn estimate_errors(&self, fit: &mut SemiEmpirical) {
        let inner = |place: &&usize| fit.at_bound[**place].is_none();
        let places: Vec<usize> = self.free.iter().filter(inner).copied().collect();
        let n_points = self.train.len();
        let Some((slopes, lengths)) = self.scaled_slopes(&fit.values, &places) else {
            return;
        };
        let without_effect = places.iter().zip(&lengths).filter(|(_, l)| l.is_none());
        let without_effect = without_effect.map(|(place, _)| Finding::NoEffect {
            unknown: self.names[*place].to_owned(),
        });
        fit.findings.extend(without_effect);
        let lengths: Option<Vec<f64>> = lengths.into_iter().collect();
        let Some(lengths) = lengths.filter(|_| !places.is_empty()) else {
            return;
        };
        if n_points <= places.len() {
            fit.findings.push(Finding::NoFreedom { n_points });
            return;
        }
        let normal = slopes.tr_mul(&slopes);
        let eigen = SymmetricEigen::new(normal.clone());
        let least = eigen.eigenvalues.min();
        let Some(inverse) = normal.try_inverse().filter(|_| least > 1e-12) else {
            fit.findings.push(Finding::Undetermined);
            return;
        };
        self.add_errors(fit, &places, &lengths, &inverse);
    }

    /// Slopes of the weighted time over the unknowns at the solution.
    ///
    /// # Arguments
    /// * `places` - the unknowns
    ///
    /// # Returns
    /// Slopes, shape `[n_points][n_places]`, in columns of length one, so that units do not affect the test; and the
    /// lengths that the columns had, shape `[n_places]`, `None` for an unknown without effect. `None` if the formula
    /// has no value at a point.
    fn scaled_slopes(
        &self,
        values: &[f64],
        places: &[usize],
    ) -> Option<(DMatrix<f64>, Vec<Option<f64>>)> {
        let n_points = self.train.len();
        let mut slopes = DMatrix::zeros(n_points, places.len());
        for i in 0..n_points {
            let (_, row) = self.tangent(i, values)?;
            for (column, place) in places.iter().enumerate() {
                let of = self.free.iter().position(|free| free == place);
                slopes[(i, column)] = of.map_or(0.0, |j| row[j] * self.roots[i]);
            }
        }
        let lengths: Vec<f64> = slopes.column_iter().map(|c| c.norm()).collect();
        let largest = lengths.iter().copied().fold(0.0, f64::max);
        let has_none = |length: &f64| *length <= 1e-9 * largest || *length == 0.0;
        for (column, length) in lengths.iter().enumerate().filter(|(_, l)| !has_none(l)) {
            slopes.column_mut(column).scale_mut(1.0 / length);
        }
        let lengths = lengths.into_iter().map(|l| (!has_none(&l)).then_some(l));
        Some((slopes, lengths.collect()))
    }

    /// Adds standard errors and correlations, and finds the unknowns that the points do not determine or distinguish.
    ///
    /// # Arguments
    /// * `places` - the unknowns that are not at a bound
    /// * `lengths` - of the columns of slopes, shape `[n_places]`
    /// * `inverse` - inverse of the normal matrix of the scaled slopes, shape `[n_places][n_places]`
    fn add_errors(
        &self,
        fit: &mut SemiEmpirical,
        places: &[usize],
        lengths: &[f64],
        inverse: &DMatrix<f64>,
    ) {
        let name = |place: usize| self.names[place].to_owned();
        let (n_points, n) = (self.train.len(), fit.values.len());
        let variance = self.squares(&fit.values) / (n_points - places.len()) as f64;
        let mut correlation = vec![vec![0.0; n]; n];
        (0..n).for_each(|j| correlation[j][j] = 1.0);
        for (a, place) in places.iter().enumerate() {
            let searched = (variance * inverse[(a, a)]).sqrt() / lengths[a];
            let value = fit.values[*place];
            let is_logarithmic = is_logarithmic(self.bounds[*place]);
            let std_error = if is_logarithmic {
                searched * value
            } else {
                searched
            };
            fit.std_errors[*place] = Some(std_error);
            if std_error > MAX_RELATIVE_ERROR * value.abs() {
                let unknown = name(*place);
                fit.findings.push(Finding::Untold { unknown });
            }
            for (b, other) in places.iter().enumerate().skip(a + 1) {
                let r = inverse[(a, b)] / (inverse[(a, a)] * inverse[(b, b)]).sqrt();
                correlation[*place][*other] = r;
                correlation[*other][*place] = r;
                if r.abs() > ENTANGLED {
                    fit.findings.push(Finding::Entangled {
                        unknown: name(*place),
                        other: name(*other),
                        correlation: r,
                    });
                }
            }
        }
        fit.correlation = Some(correlation);
    }
}

/// Bounds of an unknown as it is searched.
fn searched_bounds(unknown: &Unknown) -> [f64; 2] {
    match is_logarithmic(unknown) {
        true => [unknown.lower.ln(), unknown.upper.ln()],
        false => [unknown.lower, unknown.upper],
    }
}

/// The van der Corput sequence of a prime: from 0 to 1, evenly spread wherever it is cut off.
fn halton(mut k: usize, prime: u32) -> f64 {
    let prime = prime as usize;
    let (mut share, mut sum) = (1.0 / prime as f64, 0.0);
    while k > 0 {
        sum += share * (k % prime) as f64;
        k /= prime;
        share /= prime as f64;
    }
    sum
}

impl MPFitter for Problem<'_> {
    fn eval(&mut self, searched: &[f64], deviates: &mut [f64]) -> MPResult<()> {
        let values = self.unknowns(searched);
        for (i, deviate) in deviates.iter_mut().enumerate() {
            let (time, _) = self.tangent(i, &values).ok_or(MPError::Eval)?;
            *deviate = (self.train.observed[i] - time) * self.roots[i];
        }
        Ok(())
    }

    fn number_of_points(&self) -> usize {
        self.train.len()
    }

    fn config(&self) -> &MPConfig {
        &self.config
    }

    fn parameters(&self) -> &[MPPar] {
        &self.limits
    }

    fn jacobian(
        &mut self,
        searched: &[f64],
        deviates: &mut [f64],
        slopes: &mut [Option<Vec<f64>>],
    ) -> MPResult<()> {
        let values = self.unknowns(searched);
        for (i, deviate) in deviates.iter_mut().enumerate() {
            let (time, gradient) = self.tangent(i, &values).ok_or(MPError::Eval)?;
            *deviate = (self.train.observed[i] - time) * self.roots[i];
            for (column, slope) in slopes.iter_mut().zip(gradient) {
                if let Some(column) = column {
                    column[i] = -slope * self.roots[i];
                }
            }
        }
        Ok(())
    }
}
