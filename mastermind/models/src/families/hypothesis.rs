//! A formula that is linear in its coefficients, perhaps after a logarithm, and its fit.
//!
//! In: points and a formula without coefficients. Out: a `Candidate` with coefficients, their covariance and the time of each point predicted
//! from the others. The coefficients solve a weighted least-squares problem; the weight of a point is its number of calls over the variance
//! of one call. With relative noise that variance depends on the fitted times, so the weights are recomputed a few times. If the free
//! fit breaks a limit, the problem is solved again within the limits.
//!
//! ```text
//! T = a + b q              times = [1, q] · [a, b]
//! T = exp(b + a ln q)      ln times = [1, ln q] · [b, a]
//! ```

use crate::families::candidate::Candidate;
use crate::formula::exponent::Exponent;
use crate::formula::family::Family;
use crate::formula::sum::{Factor, Formula, Regime, Term};
use crate::samples::noise::Noise;
use crate::samples::points::Points;
use crate::solve::constrained::solve_within;
use crate::solve::covariance::Covariance;
use crate::solve::least_squares::{LeastSquares, coefficients, solve};
use crate::solve::limits::{Limits, Walk};

/// Leverage above which a point cannot be predicted from the others.
const ALONE: f64 = 1.0 - 1e-12;

/// Passes of reweighting by the fitted times.
const PASSES: usize = 4;

/// Relative change of the weights at which reweighting ends: with relative noise, the weights of logarithms do not change at all.
const SETTLED: f64 = 1e-14;

/// If a fitted time is below this share of the measured one, the spread is computed from the measured time.
const FAR_BELOW: f64 = 0.1;

/// The form of a formula.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Shape {
    /// `T = [c₀ +] Σ cₖ · productₖ`.
    Sum {
        /// Whether there is a constant.
        constant: bool,
        /// The products; their coefficients are ignored.
        terms: Vec<Term>,
    },
    /// `T = exp(b + Σ aⱼ ln xⱼ)` over the parameters at these positions.
    Power(Vec<usize>),
    /// `T = exp(b + Σ aⱼ xⱼ)` over the parameters at these positions.
    Exponential(Vec<usize>),
    /// `T = a + b · min(x, at) + c · max(x − at, 0)`: two lines that meet.
    Meeting {
        /// Position of the parameter.
        param: usize,
        /// Value at which the lines meet.
        at: f64,
    },
}

/// A formula without its coefficients.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Hypothesis {
    /// The family.
    pub family: Family,
    /// The form.
    pub shape: Shape,
    /// Numbers found from the same points in addition to the coefficients: breaks, a step.
    pub n_searched: usize,
}

/// The least-squares problem of the coefficients.
struct Problem {
    /// Mean times, or their logarithms, shape `[n_points]`.
    observed: Vec<f64>,
    /// Shape `[n_coefficients][n_points]`.
    design: Vec<Vec<f64>>,
}

impl Hypothesis {
    /// A constant.
    pub fn constant() -> Self {
        Self::sum(Family::Constant, Vec::new())
    }

    /// A constant and terms.
    pub fn sum(family: Family, terms: Vec<Term>) -> Self {
        let constant = true;
        Self {
            family,
            shape: Shape::Sum { constant, terms },
            n_searched: 0,
        }
    }

    /// Fits the coefficients, each point weighted by its calls and the variance of one of them. If the free fit breaks a limit, fits
    /// within the limits.
    ///
    /// # Returns
    /// `None` if the columns are dependent or too many for the points, if a logarithm is taken of a value that is not positive, or if
    /// only 0 is within the limits.
    pub fn fit(&self, points: &Points, limits: &Limits<'_>) -> Option<Candidate> {
        let hold = |formula: &Formula| limits.hold(formula, points);
        self.fit_within(points, limits, hold)
    }

    /// As [`Hypothesis::fit`] for a shape without regimes, with the walks made before.
    pub fn fit_on(
        &self,
        walks: &[Walk<'_>],
        points: &Points,
        limits: &Limits<'_>,
    ) -> Option<Candidate> {
        let hold = |formula: &Formula| limits.hold_on(walks, formula, points);
        self.fit_within(points, limits, hold)
    }

    fn fit_within(
        &self,
        points: &Points,
        limits: &Limits<'_>,
        hold: impl Fn(&Formula) -> bool,
    ) -> Option<Candidate> {
        let problem = self.problem(points)?;
        let (solution, weights) = self.free(points, &problem)?;
        let free = self.shown(points, &problem, &solution, &weights);
        if free.as_ref().is_some_and(|free| hold(&free.formula)) {
            return free;
        }
        let (solution, weights) = self.held(points, &problem, limits)?;
        let shown = self.shown(points, &problem, &solution, &weights)?;
        Some(Candidate {
            held: true,
            ..shown
        })
    }

    /// The fit within the limits and its weights; `None` if no limit is active, or if only 0 is within the limits.
    fn held(
        &self,
        points: &Points,
        problem: &Problem,
        limits: &Limits<'_>,
    ) -> Option<(LeastSquares, Vec<f64>)> {
        let rows = self.limits(points, limits)?;
        let mut fitted_s = points.mean_s.clone();
        let mut solved = None;
        for _ in 0..PASSES {
            let weights = self.weights(points, &fitted_s);
            let within = solve_within(&problem.design, &problem.observed, &weights, &rows).ok()?;
            if !(1..problem.design.len()).contains(&within.n_held) {
                return None;
            }
            let times = self.times(problem, &within.solution.residuals);
            // A fitted time of 0 would get an infinite weight, so there the spread is computed from the measured time.
            let pairs = times.iter().zip(&points.mean_s);
            let not_small = pairs.map(|(&f, &y)| if f > FAR_BELOW * y { f } else { y });
            fitted_s = not_small.collect();
            solved = Some((within.solution, weights));
        }
        solved
    }

    fn problem(&self, points: &Points) -> Option<Problem> {
        let observed: Vec<f64> = points.mean_s.iter().map(|&y| self.link(y)).collect();
        let design = self.design(points)?;
        let is_finite = |column: &Vec<f64>| column.iter().all(|x| x.is_finite());
        if !design.iter().chain([&observed]).all(is_finite) {
            return None;
        }
        Some(Problem { observed, design })
    }

    /// The fit without limits and its weights.
    fn free(&self, points: &Points, problem: &Problem) -> Option<(LeastSquares, Vec<f64>)> {
        let mut weights = self.weights(points, &points.mean_s);
        if points.noise != Noise::Absolute || self.logarithmic() {
            for _ in 1..PASSES {
                let (_, residuals) =
                    coefficients(&problem.design, &problem.observed, &weights).ok()?;
                let next = self.weights(points, &self.times(problem, &residuals));
                let is_same = |(a, b): (&f64, &f64)| (a - b).abs() <= SETTLED * a.abs();
                let is_settled = weights.iter().zip(&next).all(is_same);
                weights = next;
                if is_settled {
                    break;
                }
            }
        }
        let solution = solve(&problem.design, &problem.observed, &weights).ok()?;
        Some((solution, weights))
    }

    /// The half-spaces that the coefficients must lie in; for logarithmic fits, that the time does not fall.
    fn limits(&self, points: &Points, limits: &Limits<'_>) -> Option<Vec<Vec<f64>>> {
        match &self.shape {
            Shape::Sum { constant, terms } => limits.rows(*constant, terms, points),
            Shape::Power(params) | Shape::Exponential(params) => {
                let held = |&(_, &param): &(usize, &usize)| limits.rises_with(points, param);
                let row = |(place, _)| {
                    let mut row = vec![0.0; params.len() + 1];
                    row[place] = 1.0;
                    row
                };
                Some((1..).zip(params).filter(held).map(row).collect())
            }
            // Lines that meet are not fitted within limits: a free fit that breaks one is dropped.
            Shape::Meeting { .. } => None,
        }
    }

    /// Fitted times from the residuals, seconds.
    fn times(&self, problem: &Problem, residuals: &[f64]) -> Vec<f64> {
        let pairs = problem.observed.iter().zip(residuals);
        pairs.map(|(y, r)| self.unlink(y - r)).collect()
    }

    /// The model of a solution; `None` where it is not finite, or negative at a measured point.
    ///
    /// # Source
    /// P. Snowdon, Can. J. For. Res. 21 (1991) 720: the ratio estimator for the bias of a
    /// logarithmic regression (recalled, not looked up).
    fn shown(
        &self,
        points: &Points,
        problem: &Problem,
        solution: &LeastSquares,
        weights: &[f64],
    ) -> Option<Candidate> {
        let mut fitted_s = self.times(problem, &solution.residuals);
        let mut left_out_s = self.times(problem, &left_out_residuals(solution));
        let mut coefficients = solution.coefficients.clone();
        if self.logarithmic() {
            let ratios = points.mean_s.iter().zip(&fitted_s).zip(&points.count);
            let ratio = ratios.map(|((y, f), n)| n * y / f).sum::<f64>() / points.n_records();
            let times = fitted_s.iter_mut().chain(&mut left_out_s);
            times.for_each(|f| *f *= ratio);
            coefficients[0] += ratio.ln();
        }
        let formula = self.formula(points, &coefficients);
        let finite = fitted_s.iter().all(|f| f.is_finite());
        if !finite || !formula.is_finite() || negative(&fitted_s, points) {
            return None;
        }
        let (mut covariance, freedom) = self.covariance(points, &problem.design, solution, weights);
        if let Shape::Meeting { at, .. } = self.shape {
            let lines = of_lines(at);
            covariance = covariance.map(|inner| carried(&lines, &inner));
            coefficients = times_vector(&lines, &coefficients);
        }
        let spare = points.len() > coefficients.len() + self.n_searched;
        Some(Candidate {
            family: self.family,
            formula,
            names: self.names(points),
            n_free: coefficients.len() + self.n_searched,
            coefficients,
            covariance,
            freedom,
            left_out_s: (spare && self.n_searched == 0).then_some(left_out_s),
            fitted_s,
            sigma: None,
            alternatives: Vec::new(),
            predicted_s: Vec::new(),
            odds_against: 0.0,
            held: false,
            is_even: false,
            design_effect: 1.0,
        })
    }

    fn weights(&self, points: &Points, fitted_s: &[f64]) -> Vec<f64> {
        let largest = points.largest_s();
        let pairs = fitted_s.iter().zip(&points.count);
        pairs
            .map(|(&f, n)| {
                // The derivative of the logarithm converts the spread of times to that of logarithms.
                let slope = if self.logarithmic() { f } else { 1.0 };
                n * slope * slope / points.noise.variance(f, largest)
            })
            .collect()
    }

    /// Covariance of the coefficients and its degrees of freedom; (`None`, 0) with neither repeated calls nor more points than
    /// coefficients.
    ///
    /// The variance of each point is the larger of two estimates: the spread of its calls, and the distance of their mean from
    /// the fit without the point (which also detects a wrong formula).
    ///
    /// # Source
    /// J.G. MacKinnon, H. White, J. Econometrics 29 (1985) 305 (HC3) (recalled, not looked up).
    fn covariance(
        &self,
        points: &Points,
        design: &[Vec<f64>],
        solution: &LeastSquares,
        weights: &[f64],
    ) -> (Option<Covariance>, f64) {
        let n_points = points.len() as f64;
        let (spare, freedom) = (
            points.n_records() - n_points,
            n_points - design.len() as f64,
        );
        if spare < 1.0 && freedom < 1.0 {
            return (None, 0.0);
        }
        let within = self.within(points);
        let between: Vec<f64> = left_out_residuals(solution)
            .iter()
            .zip(&points.count)
            .map(|(e, n)| if e.is_nan() { 0.0 } else { n * e * e })
            .collect();
        let larger = total(&between, weights) > total(&within, weights);
        let variances = within.iter().zip(&between).map(|(a, b)| a.max(*b));
        let means = variances
            .zip(&points.count)
            .map(|(variance, n)| variance / n);
        let covariance = sandwich(&solution.unscaled_covariance, design, weights, means);
        (
            Some(covariance),
            if larger || spare < 1.0 {
                freedom
            } else {
                spare
            },
        )
    }

    /// Variance of the calls at each point on the scale of the link, shape `[n_points]`; the pooled variance where a point has one call.
    fn within(&self, points: &Points) -> Vec<f64> {
        let slope = |y: f64| if self.logarithmic() { 1.0 / y } else { 1.0 };
        let spreads = points.mean_s.iter().zip(&points.m2_s2);
        let m2: Vec<f64> = spreads.map(|(&y, m2)| m2 * slope(y).powi(2)).collect();
        let spare = points.n_records() - points.len() as f64;
        let pooled = m2.iter().sum::<f64>() / spare.max(1.0);
        let pairs = m2.iter().zip(&points.count);
        pairs
            .map(|(m2, n)| if *n > 1.0 { m2 / (n - 1.0) } else { pooled })
            .collect()
    }

    /// Columns of the design, shape `[n_coefficients][n_points]`; `None` for an unknown parameter, or for a power where the range
    /// reaches to 0.
    fn design(&self, points: &Points) -> Option<Vec<Vec<f64>>> {
        let ones = vec![1.0; points.len()];
        let of = |param: &usize, f: fn(f64) -> f64| -> Vec<f64> {
            points.columns[*param].iter().map(|&x| f(x)).collect()
        };
        match &self.shape {
            Shape::Sum { constant, terms } => {
                let columns = terms.iter().map(|term| points.column(term));
                constant
                    .then_some(Some(ones))
                    .into_iter()
                    .chain(columns)
                    .collect()
            }
            Shape::Power(params) => {
                if params.iter().any(|&param| points.range(param)[0] <= 0.0) {
                    return None;
                }
                let columns = params.iter().map(|param| of(param, f64::ln));
                Some([ones].into_iter().chain(columns).collect())
            }
            Shape::Exponential(params) => {
                let columns = params.iter().map(|param| of(param, |x| x));
                Some([ones].into_iter().chain(columns).collect())
            }
            Shape::Meeting { param, at } => {
                let column = &points.columns[*param];
                let below = column.iter().map(|x| x.min(*at)).collect();
                let above = column.iter().map(|x| (x - at).max(0.0)).collect();
                Some(vec![ones, below, above])
            }
        }
    }

    fn logarithmic(&self) -> bool {
        matches!(self.shape, Shape::Power(_) | Shape::Exponential(_))
    }

    /// The transformed time that the fit is linear in: the time itself, or its logarithm.
    fn link(&self, value: f64) -> f64 {
        if self.logarithmic() {
            value.ln()
        } else {
            value
        }
    }

    fn unlink(&self, value: f64) -> f64 {
        if self.logarithmic() {
            value.exp()
        } else {
            value
        }
    }

    fn formula(&self, points: &Points, coefficients: &[f64]) -> Formula {
        let factors = |params: &[usize], factor: fn(&str, f64) -> Factor| {
            let pairs = params.iter().zip(&coefficients[1..]);
            let factors = pairs.map(|(&param, &a)| factor(&points.names[param], a));
            Formula::new(0.0, vec![Term::new(coefficients[0].exp(), factors)])
        };
        match &self.shape {
            Shape::Sum { constant, terms } => {
                let (first, others) = coefficients.split_at(usize::from(*constant));
                let terms = terms.iter().zip(others).map(|(term, &coefficient)| Term {
                    coefficient,
                    ..term.clone()
                });
                Formula::new(first.first().copied().unwrap_or(0.0), terms.collect())
            }
            Shape::Power(params) => {
                factors(params, |name, a| Factor::new(name, Exponent::Real(a), 0))
            }
            Shape::Exponential(params) => factors(params, Factor::exponential),
            Shape::Meeting { param, at } => {
                let numbers = times_vector(&of_lines(*at), coefficients);
                let terms = lines_by_regime(&points.names[*param], &[*at]).into_iter();
                let terms = terms.zip(numbers).map(|(term, coefficient)| Term {
                    coefficient,
                    ..term
                });
                Formula::new(0.0, terms.collect())
            }
        }
    }

    /// Name and unit of the fitted numbers of `ln T`, for a power law or an exponential; `None` if they are the coefficients of a sum.
    fn names(&self, points: &Points) -> Option<Vec<(String, String)>> {
        let unit = |param: usize| match points.units[param].as_str() {
            "" => "1/1".into(),
            unit => format!("1/{unit}"),
        };
        let (params, units): (_, Vec<String>) = match &self.shape {
            Shape::Power(params) => (params, vec!["1".into(); params.len()]),
            Shape::Exponential(params) => (params, params.iter().map(|&p| unit(p)).collect()),
            Shape::Sum { .. } | Shape::Meeting { .. } => return None,
        };
        let names = params.iter().map(|&param| points.names[param].clone());
        let first = ("ln factor".to_owned(), format!("ln {}", points.per("")));
        Some([first].into_iter().chain(names.zip(units)).collect())
    }
}

/// A line in a parameter for each range between `breaks`, ascending, as terms without coefficients: constant and slope of the
/// first range, of the second, and so on.
pub(crate) fn lines_by_regime(param: &str, breaks: &[f64]) -> Vec<Term> {
    let regime = |place: usize| Regime {
        param: param.into(),
        from: place.checked_sub(1).map(|before| breaks[before]),
        to: breaks.get(place).copied(),
    };
    let line = |place: usize| {
        let terms = [Term::new(1.0, Vec::new()), Term::linear(1.0, param)];
        terms.map(|term| Term {
            regime: Some(regime(place)),
            ..term
        })
    };
    (0..=breaks.len()).flat_map(line).collect()
}

/// The matrix that maps the coefficients of two lines that meet to the constant and slope of each, shape `[4][3]`.
fn of_lines(at: f64) -> [[f64; 3]; 4] {
    [
        [1.0, 0.0, 0.0],
        [0.0, 1.0, 0.0],
        [1.0, at, -at],
        [0.0, 0.0, 1.0],
    ]
}

fn times_vector(rows: &[[f64; 3]], vector: &[f64]) -> Vec<f64> {
    let product = |row: &[f64; 3]| row.iter().zip(vector).map(|(a, b)| a * b).sum();
    rows.iter().map(product).collect()
}

/// `A C Aᵀ`: the covariance of `A b`, where `C` is the covariance of the coefficients `b`.
fn carried(rows: &[[f64; 3]], covariance: &Covariance) -> Covariance {
    let half: Vec<Vec<f64>> = rows.iter().map(|row| covariance.times(row)).collect();
    let cell = |i: usize, j: usize| rows[i].iter().zip(&half[j]).map(|(a, c)| a * c).sum();
    Covariance::new(rows.len(), cell)
}

/// Name and unit of the coefficient of a term.
pub(crate) fn term_name(term: &Term, points: &Points) -> (String, String) {
    let product = term.product_text();
    let name = match &term.regime {
        Some(regime) => format!("{product} where {regime}"),
        None => product.clone(),
    };
    let known = points.names.iter().position(|known| *known == product);
    let unit = match known.map(|param| points.units[param].as_str()) {
        _ if term.factors.is_empty() => points.per(""),
        Some(unit) => points.per(unit),
        None => points.per(&format!("({product})")),
    };
    (name, unit)
}

/// `A (Σᵢ wᵢ² vᵢ xᵢ xᵢᵀ) A`: covariance of coefficients from the variance `vᵢ` of the mean at each point.
///
/// # Arguments
/// * `a` - `(XᵀWX)⁻¹`, shape `[n_columns][n_columns]`
/// * `design` - the columns of `X`, shape `[n_columns][n_points]`
/// * `weights` - shape `[n_points]`
/// * `variances` - `n_points` of them
fn sandwich(
    a: &[Vec<f64>],
    design: &[Vec<f64>],
    weights: &[f64],
    variances: impl Iterator<Item = f64>,
) -> Covariance {
    // `wᵢ A xᵢ` of each point is computed first, since weights are very large where all times are 0.
    let mut parts = Vec::with_capacity(weights.len() * a.len());
    for (i, w) in weights.iter().enumerate() {
        let product = |row: &Vec<f64>| row.iter().zip(design).map(|(a, x)| a * x[i]).sum::<f64>();
        parts.extend(a.iter().map(|row| w * product(row)));
    }
    let variances: Vec<f64> = variances.collect();
    let parts = || parts.chunks_exact(a.len()).zip(&variances);
    Covariance::new(a.len(), |i, j| {
        parts().map(|(part, v)| v * part[i] * part[j]).sum()
    })
}

/// Residual of each point from the fit to the others, `eᵢ / (1 − hᵢ)`; NaN if the others do not determine the fit.
///
/// # Source
/// D.M. Allen, Technometrics 16 (1974) 125 (PRESS) (recalled, not looked up).
fn left_out_residuals(solution: &LeastSquares) -> Vec<f64> {
    let pairs = solution.residuals.iter().zip(&solution.leverages);
    pairs
        .map(|(e, &h)| if h < ALONE { e / (1.0 - h) } else { f64::NAN })
        .collect()
}

/// Weighted sum of `values`.
fn total(values: &[f64], weights: &[f64]) -> f64 {
    values.iter().zip(weights).map(|(value, w)| value * w).sum()
}

/// Whether a fitted time is negative by more than rounding.
fn negative(fitted_s: &[f64], points: &Points) -> bool {
    let largest = points.largest_s();
    fitted_s.iter().any(|&f| f < -1e-12 * largest)
}
