//! The formulas tried on the points of one mode, and the fit of one of them.

use crate::least_squares::{LeastSquares, solve};
use crate::model::{Family, Note};
use crate::points::Points;
use crate::quality::smape;

/// Leverage above which a point cannot be predicted from the others.
const ALONE: f64 = 1.0 - 1e-12;

/// A family over some of the numeric parameters.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Hypothesis {
    /// The family.
    pub family: Family,
    /// Positions of the parameters, none for a constant.
    pub params: Vec<usize>,
}

/// A hypothesis with its coefficients.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    /// What was fitted.
    pub hypothesis: Hypothesis,
    /// The intercept, then one coefficient a parameter; of `ln T` for a power law.
    pub coefficients: Vec<f64>,
    /// Covariance of the coefficients; `None` where there is no spread to estimate it from.
    pub covariance: Option<Vec<Vec<f64>>>,
    /// Degrees of freedom behind the covariance, 0 where there is none.
    pub freedom: f64,
    /// Fitted time, seconds, shape `[n_points]`.
    pub fitted_s: Vec<f64>,
    /// Time of each point predicted from the others, seconds; `None` with no point to spare.
    pub left_out_s: Option<Vec<f64>>,
    /// SMAPE of these.
    pub cv_smape: Option<f64>,
}

/// Everything worth trying on `points`, simple before complex, and the parameters left out.
///
/// A constant; then lines, then power laws: in each varying parameter alone, then in all that are
/// independent of one another.
pub(crate) fn hypotheses(points: &Points) -> (Vec<Hypothesis>, Vec<Note>) {
    let varying = points.varying();
    let mut list = vec![Hypothesis {
        family: Family::Constant,
        params: Vec::new(),
    }];
    let mut notes = Vec::new();
    for family in [Family::Line, Family::PowerLaw] {
        list.extend(varying.iter().map(|&param| Hypothesis {
            family,
            params: vec![param],
        }));
        let (together, dependent) = independent(points, family, &varying);
        if together.len() > 1 {
            list.push(Hypothesis {
                family,
                params: together,
            });
        }
        if family == Family::Line {
            let note = |&param: &usize| Note::Collinear {
                param: points.names[param].clone(),
            };
            notes.extend(dependent.iter().map(note));
        }
    }
    if varying.is_empty() {
        notes.push(Note::NoVaryingParameter {
            n_points: points.len(),
        });
    }
    (list, notes)
}

/// The parameters of `varying` that are no combination of those before them, and the others.
fn independent(points: &Points, family: Family, varying: &[usize]) -> (Vec<usize>, Vec<usize>) {
    let (mut kept, mut dependent): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
    for &param in varying {
        if kept.len() + 1 >= points.len() {
            break;
        }
        let params: Vec<usize> = kept.iter().copied().chain([param]).collect();
        let design = Hypothesis { family, params }.design(points);
        match solve(&design, &points.mean_s, &points.count) {
            Ok(_) => kept.push(param),
            Err(_) => dependent.push(param),
        }
    }
    (kept, dependent)
}

impl Hypothesis {
    /// Fits the coefficients, weighing each point by its calls.
    ///
    /// A line reproduces the total time of the samples by its intercept. A power law is fitted to
    /// `ln T`; what that leaves the total short of is put back into its factor.
    ///
    /// # Returns
    /// `None` if the parameters are dependent or more than the points carry, if a power law meets a
    /// value or time that is not positive, or if the fit is negative at a measured point.
    ///
    /// # Source
    /// P. Snowdon, Can. J. For. Res. 21 (1991) 720: the ratio estimator for the bias of a
    /// logarithmic regression; it keeps the total, which Duan's smearing does not (recalled, not
    /// looked up).
    pub fn fit(&self, points: &Points) -> Option<Candidate> {
        let observed: Vec<f64> = points.mean_s.iter().map(|&y| self.link(y)).collect();
        let design = self.design(points);
        let finite = |column: &Vec<f64>| column.iter().all(|value| value.is_finite());
        if !design.iter().chain([&observed]).all(finite) {
            return None;
        }
        let solution = solve(&design, &observed, &points.count).ok()?;
        let times = |residuals: &[f64]| -> Vec<f64> {
            let pairs = observed.iter().zip(residuals);
            pairs.map(|(y, r)| self.unlink(y - r)).collect()
        };
        let mut fitted_s = times(&solution.residuals);
        let mut left_out_s = times(&left_out_residuals(&solution));
        let mut coefficients = solution.coefficients.clone();
        if self.family == Family::PowerLaw {
            let ratio = points.total_s() / total(&fitted_s, &points.count);
            let times = fitted_s.iter_mut().chain(&mut left_out_s);
            times.for_each(|f| *f *= ratio);
            coefficients[0] += ratio.ln();
        }
        if !finite(&fitted_s) || !finite(&coefficients) || negative(&fitted_s, points) {
            return None;
        }
        let spare = points.len() > coefficients.len();
        let (covariance, freedom) = self.covariance(points, &design, &solution);
        Some(Candidate {
            hypothesis: self.clone(),
            coefficients,
            covariance,
            freedom,
            cv_smape: spare.then(|| smape(&points.mean_s, &left_out_s, &points.count)),
            left_out_s: spare.then_some(left_out_s),
            fitted_s,
        })
    }

    /// Covariance of the coefficients and its degrees of freedom; (`None`, 0) where nothing tells.
    ///
    /// The spread of the times grows with the times, so that one variance for all points would be
    /// too small where it matters; each point brings its own. It is the larger of two estimates:
    /// from the spread of the calls there, and from the distance of their mean to the fit without
    /// them (this one sees that the formula is wrong).
    ///
    /// # Source
    /// J.G. MacKinnon, H. White, J. Econometrics 29 (1985) 305 (HC3) (recalled, not looked up).
    fn covariance(
        &self,
        points: &Points,
        design: &[Vec<f64>],
        solution: &LeastSquares,
    ) -> (Option<Vec<Vec<f64>>>, f64) {
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
        let larger = total(&between, &points.count) > total(&within, &points.count);
        let variances = within.iter().zip(&between).map(|(a, b)| a.max(*b));
        let covariance = sandwich(
            &solution.unscaled_covariance,
            design,
            &points.count,
            variances,
        );
        (
            Some(covariance),
            if larger || spare < 1.0 {
                freedom
            } else {
                spare
            },
        )
    }

    /// Variance of the calls at each point on the scale of the link, shape `[n_points]`; where a
    /// point has one call, that of all points together.
    fn within(&self, points: &Points) -> Vec<f64> {
        // The derivative of the logarithm takes the spread of times to that of their logarithms.
        let slope = |y: f64| match self.family {
            Family::PowerLaw => 1.0 / y,
            _ => 1.0,
        };
        let spreads = points.mean_s.iter().zip(&points.m2_s2);
        let m2: Vec<f64> = spreads.map(|(&y, m2)| m2 * slope(y).powi(2)).collect();
        let spare = points.n_records() - points.len() as f64;
        let pooled = m2.iter().sum::<f64>() / spare.max(1.0);
        let pairs = m2.iter().zip(&points.count);
        pairs
            .map(|(m2, n)| if *n > 1.0 { m2 / (n - 1.0) } else { pooled })
            .collect()
    }

    /// Columns of the design, shape `[1 + n_params][n_points]`.
    fn design(&self, points: &Points) -> Vec<Vec<f64>> {
        let ones = vec![1.0; points.len()];
        let column = |&param: &usize| {
            points.columns[param]
                .iter()
                .map(|&x| self.link(x))
                .collect()
        };
        [ones]
            .into_iter()
            .chain(self.params.iter().map(column))
            .collect()
    }

    /// What the fit is linear in.
    fn link(&self, value: f64) -> f64 {
        if self.family == Family::PowerLaw {
            value.ln()
        } else {
            value
        }
    }

    fn unlink(&self, value: f64) -> f64 {
        if self.family == Family::PowerLaw {
            value.exp()
        } else {
            value
        }
    }
}

/// `A (Σᵢ nᵢ vᵢ xᵢ xᵢᵀ) A`: covariance of coefficients from the variance `vᵢ` of a call at each point.
///
/// # Arguments
/// * `a` - `(XᵀWX)⁻¹`, shape `[n_columns][n_columns]`
/// * `design` - the columns of `X`, shape `[n_columns][n_points]`
/// * `count` - calls, shape `[n_points]`
/// * `variances` - variance of one call, `n_points` of them
fn sandwich(
    a: &[Vec<f64>],
    design: &[Vec<f64>],
    count: &[f64],
    variances: impl Iterator<Item = f64>,
) -> Vec<Vec<f64>> {
    let mut sum = vec![vec![0.0; a.len()]; a.len()];
    for (i, (n, variance)) in count.iter().zip(variances).enumerate() {
        let product = |row: &Vec<f64>| row.iter().zip(design).map(|(a, x)| a * x[i]).sum();
        let u: Vec<f64> = a.iter().map(product).collect();
        for (row, left) in sum.iter_mut().zip(&u) {
            let terms = row.iter_mut().zip(&u);
            terms.for_each(|(sum, right)| *sum += n * variance * left * right);
        }
    }
    sum
}

/// Residual of each point about the fit to the others, `eᵢ / (1 − hᵢ)`; NaN where there is none.
///
/// # Source
/// D.M. Allen, Technometrics 16 (1974) 125 (PRESS) (recalled, not looked up).
fn left_out_residuals(solution: &LeastSquares) -> Vec<f64> {
    let pairs = solution.residuals.iter().zip(&solution.leverages);
    pairs
        .map(|(e, &h)| if h < ALONE { e / (1.0 - h) } else { f64::NAN })
        .collect()
}

/// Time of `count` calls each, seconds.
fn total(times_s: &[f64], count: &[f64]) -> f64 {
    times_s.iter().zip(count).map(|(time, n)| time * n).sum()
}

/// Whether a fitted time is negative by more than rounding.
fn negative(fitted_s: &[f64], points: &Points) -> bool {
    let largest = points.mean_s.iter().copied().fold(0.0, f64::max);
    fitted_s.iter().any(|&f| f < -1e-12 * largest)
}
