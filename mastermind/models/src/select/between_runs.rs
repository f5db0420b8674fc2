//! Estimates the variance between runs: calls of one run share the state of the machine, so their spread does not
//! predict the next run.
//!
//! In: for each site (a method at a call path, say) and run, how far the measured time is from the model's, as a logarithm. Out:
//! the variance of the factor that all sites of a run have in common, estimated over all sites together.

use crate::error::Error;

/// Points of the search for the variance, and steps that narrow it down.
const N_LOOKED_AT: usize = 60;

/// Steps of the golden section after it.
const N_STEPS: usize = 40;

/// Ends of the standard deviations looked at, as factors of the largest residual.
const RANGE: [f64; 2] = [1e-4, 4.0];

/// Ratio of a measured time to the modelled one, for one site in one run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunResidual {
    /// Which site, from 0.
    pub site: usize,
    /// Which run, from 0.
    pub run: usize,
    /// `ln(measured / modelled)`.
    pub log_ratio: f64,
    /// Variance of `log_ratio` by the spread of the calls within the run, > 0.
    pub variance: f64,
}

/// The variance between runs.
#[derive(Debug, Clone, PartialEq)]
pub struct BetweenRuns {
    /// Variance of the logarithm of the factor that the sites of a run share; `None` with a single run.
    pub variance: Option<f64>,
    /// Degrees of freedom behind it: runs less one.
    pub freedom: f64,
    /// Runs with a residual.
    pub n_runs: usize,
}

/// The variance between runs by restricted maximum likelihood.
///
/// A residual is `b_site + u_run + e`: a constant of the site, which the model is off by, a factor of the run that is common to
/// its sites, with the variance looked for, and the mean of the calls about both, of which the variance is known. The `b` are
/// integrated out, so that as many sites as there are do not make the variance too small.
///
/// # Arguments
/// * `residuals` - one for each site and run that was measured, in any order
///
/// # Errors
/// [`Error::Residual`] if a number is not finite or a variance is not above 0.
///
/// # Source
/// H.D. Patterson, R. Thompson, Biometrika 58 (1971) 545 (recalled, not looked up).
pub fn between_runs(residuals: &[RunResidual]) -> Result<BetweenRuns, Error> {
    let wrong =
        |r: &&RunResidual| !(r.log_ratio.is_finite() && r.variance > 0.0 && r.variance.is_finite());
    if let Some(&RunResidual {
        site,
        run,
        log_ratio,
        variance,
    }) = residuals.iter().find(wrong)
    {
        return Err(Error::Residual {
            site,
            run,
            log_ratio,
            variance,
        });
    }
    let blocks = Blocks::new(residuals);
    let n_runs = blocks.runs.len();
    let told = BetweenRuns {
        variance: None,
        freedom: (n_runs as f64 - 1.0).max(0.0),
        n_runs,
    };
    if n_runs < 2 {
        return Ok(told);
    }
    Ok(BetweenRuns {
        variance: Some(blocks.likeliest()),
        ..told
    })
}

/// The residuals of each run; sites numbered without gaps.
struct Blocks {
    /// (site, log ratio, variance), shape `[n_runs][..]`.
    runs: Vec<Vec<(usize, f64, f64)>>,
    n_sites: usize,
}

impl Blocks {
    fn new(residuals: &[RunResidual]) -> Self {
        let numbered = |of: fn(&RunResidual) -> usize| {
            let mut known: Vec<usize> = residuals.iter().map(of).collect();
            known.sort_unstable();
            known.dedup();
            known
        };
        let (sites, run_names) = (numbered(|r| r.site), numbered(|r| r.run));
        let mut runs = vec![Vec::new(); run_names.len()];
        for r in residuals {
            let place = |names: &[usize], name: usize| names.partition_point(|known| *known < name);
            let site = place(&sites, r.site);
            runs[place(&run_names, r.run)].push((site, r.log_ratio, r.variance));
        }
        Self {
            runs,
            n_sites: sites.len(),
        }
    }

    /// The variance with the largest restricted likelihood.
    fn likeliest(&self) -> f64 {
        let all = self.runs.iter().flatten();
        let largest = all.map(|(_, y, v)| y.abs() + v.sqrt()).fold(0.0, f64::max);
        let [low, high] = RANGE.map(|factor| (factor * largest).ln());
        let step = (high - low) / N_LOOKED_AT as f64;
        let cost = |log_deviation: f64| self.deviance((2.0 * log_deviation).exp());
        let places = (0..=N_LOOKED_AT).map(|k| low + step * k as f64);
        let least = places.fold((f64::INFINITY, low), |least, at| {
            let here = cost(at);
            if here < least.0 { (here, at) } else { least }
        });
        let (mut a, mut b) = (least.1 - step, least.1 + step);
        let golden = 0.5 * (5_f64.sqrt() - 1.0);
        for _ in 0..N_STEPS {
            let (c, d) = (b - golden * (b - a), a + golden * (b - a));
            if cost(c) < cost(d) {
                b = d;
            } else {
                a = c;
            }
        }
        let found = (a + b).exp();
        if self.deviance(0.0) <= self.deviance(found) {
            0.0
        } else {
            found
        }
    }

    /// −2 ln of the restricted likelihood, up to a constant.
    ///
    /// The covariance of a run is `D + τ² 1 1ᵀ`, inverted by Sherman and Morrison's formula.
    fn deviance(&self, variance: f64) -> f64 {
        let n = self.n_sites;
        let mut information = vec![vec![0.0; n]; n];
        let mut right = vec![0.0; n];
        let (mut sum, mut squares) = (0.0, 0.0);
        for run in &self.runs {
            let total: f64 = run.iter().map(|(_, _, v)| v.recip()).sum();
            let mean: f64 = run.iter().map(|(_, y, v)| y / v).sum();
            let shared = variance / (1.0 + variance * total);
            sum += run.iter().map(|(_, _, v)| v.ln()).sum::<f64>() + (variance * total).ln_1p();
            squares += run.iter().map(|(_, y, v)| y * y / v).sum::<f64>() - shared * mean * mean;
            for &(i, y, v) in run {
                information[i][i] += v.recip();
                right[i] += y / v - shared * mean / v;
                for &(j, _, w) in run {
                    information[i][j] -= shared / (v * w);
                }
            }
        }
        match cholesky(&mut information) {
            Some(log_determinant) => {
                let explained: f64 = forward(&information, &right).iter().map(|x| x * x).sum();
                sum + log_determinant + squares - explained
            }
            None => f64::INFINITY,
        }
    }
}

/// Puts the lower Cholesky factor in place of a symmetric matrix and returns the logarithm of its determinant; `None` where
/// it is not positive.
fn cholesky(a: &mut [Vec<f64>]) -> Option<f64> {
    let mut log_determinant = 0.0;
    for j in 0..a.len() {
        for i in j..a.len() {
            let sum: f64 = (0..j).map(|k| a[i][k] * a[j][k]).sum();
            let rest = a[i][j] - sum;
            if i == j {
                if rest.is_nan() || rest <= 0.0 {
                    return None;
                }
                a[j][j] = rest.sqrt();
                log_determinant += rest.ln();
            } else {
                a[i][j] = rest / a[j][j];
            }
        }
    }
    Some(log_determinant)
}

/// `L⁻¹ b`.
fn forward(lower: &[Vec<f64>], b: &[f64]) -> Vec<f64> {
    let mut x = Vec::with_capacity(b.len());
    for (i, row) in lower.iter().enumerate() {
        let known: f64 = row.iter().zip(&x).map(|(l, x): (&f64, &f64)| l * x).sum();
        x.push((b[i] - known) / row[i]);
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that are about normal, of a generator that is seeded.
    fn normals(seed: u64) -> impl FnMut() -> f64 {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let mut uniform = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state as f64 / u64::MAX as f64
        };
        move || (0..12).map(|_| uniform()).sum::<f64>() - 6.0
    }

    fn residuals(seed: u64, n_runs: usize, between: f64, within: f64) -> Vec<RunResidual> {
        let mut normal = normals(seed);
        let bias: Vec<f64> = (0..8).map(|_| 0.1 * normal()).collect();
        let mut list = Vec::new();
        for run in 0..n_runs {
            let shared = between * normal();
            for (site, bias) in bias.iter().enumerate() {
                list.push(RunResidual {
                    site,
                    run: 3 * run,
                    log_ratio: bias + shared + within * normal(),
                    variance: within * within,
                });
            }
        }
        list
    }

    #[test]
    fn the_planted_variance_is_found() {
        let of = |seed| {
            between_runs(&residuals(seed, 12, 0.1, 0.02))
                .unwrap()
                .variance
                .unwrap()
        };
        let mean = (1..=40).map(of).sum::<f64>() / 40.0;
        assert!((mean / 0.01 - 1.0).abs() < 0.2, "{mean}");
    }

    #[test]
    fn where_runs_do_not_differ_there_is_little_or_none() {
        let of = |seed| {
            between_runs(&residuals(seed, 12, 0.0, 0.02))
                .unwrap()
                .variance
                .unwrap()
        };
        let mean = (1..=40).map(of).sum::<f64>() / 40.0;
        assert!(mean < 0.1 * 0.02 * 0.02, "{mean}");
    }

    #[test]
    fn one_run_does_not_tell() {
        let told = between_runs(&residuals(1, 1, 0.1, 0.02)).unwrap();
        assert_eq!((told.variance, told.n_runs, told.freedom), (None, 1, 0.0));
        assert_eq!(between_runs(&[]).unwrap().variance, None);
        let mut wrong = residuals(1, 2, 0.1, 0.02);
        wrong[3].variance = 0.0;
        assert!(between_runs(&wrong).is_err());
    }

    /// Balanced, with equal variances, the estimate is that of the analysis of variance.
    #[test]
    fn balanced_runs_give_the_analysis_of_variance() {
        let list = residuals(5, 6, 0.2, 0.01);
        let site_mean = |site: usize| {
            list.iter()
                .filter(|r| r.site == site)
                .map(|r| r.log_ratio)
                .sum::<f64>()
                / 6.0
        };
        let run_mean = |run: usize| {
            let of_run = list.iter().filter(|r| r.run == 3 * run);
            of_run.map(|r| r.log_ratio - site_mean(r.site)).sum::<f64>() / 8.0
        };
        let squares: f64 = (0..6).map(|run| run_mean(run).powi(2)).sum();
        let expected = squares / 5.0 - 0.01 * 0.01 / 8.0;
        let found = between_runs(&list).unwrap().variance.unwrap();
        assert!((found / expected - 1.0).abs() < 1e-4, "{found} {expected}");
    }
}
