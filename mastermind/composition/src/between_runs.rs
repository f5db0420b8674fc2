//! Spread of the total of an assembly between runs.
//!
//! The calls of one run share the state of the process and of the machine, so their spread says little about the next
//! run. Repeated runs do: the spread of the logarithms of their totals, pooled over assemblies. The variance is
//! estimated by `mastermind_models::between_runs`, with each assembly as a site.

use mastermind_models::{RunResidual, between_runs};
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Degrees of freedom below which the spread counts as unknown: the interval is 4.3 standard deviations to either side
/// with two and 12.7 with one, which is too wide to be useful.
pub const LEAST_FREEDOM: f64 = 3.0;

/// Relative standard deviation of a total due to its own calls: their sum is far more precise than runs agree.
const WITHIN_RUN: f64 = 1e-4;

/// Spread of totals between runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct BetweenRuns {
    /// Standard deviation of the logarithm of a total, about equal to the relative standard deviation.
    pub deviation: f64,
    /// Degrees of freedom of `deviation`.
    pub freedom: f64,
    /// Number of runs of the assembly that was run least often.
    pub runs: usize,
}

/// Earlier knowledge of the spread on this machine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EarlierSpread {
    /// Standard deviation of the logarithm of a total.
    pub deviation: f64,
    /// Degrees of freedom with which it is weighted.
    pub freedom: f64,
}

impl BetweenRuns {
    /// Pools the spread about the mean of each assembly, by restricted maximum likelihood.
    ///
    /// # Arguments
    /// * `totals_s` - for each assembly and workload the totals of its runs, seconds, > 0
    /// * `earlier` - earlier spread, weighted by its degrees of freedom
    ///
    /// # Returns
    /// None if no assembly was run twice and there is no earlier spread.
    pub fn pooled(totals_s: &[Vec<f64>], earlier: Option<EarlierSpread>) -> Option<Self> {
        let run = totals_s.iter().map(Vec::len).filter(|n| *n > 0);
        let runs = run.clone().min().unwrap_or(1);
        let freedom: f64 = run.map(|n| n as f64 - 1.0).sum();
        let seen = match freedom > 0.0 {
            true => Some((variance(totals_s)?, freedom)),
            false => None,
        };
        let earlier = earlier.map(|earlier| (earlier.deviation.powi(2), earlier.freedom));
        let told = || seen.iter().chain(&earlier);
        let freedom: f64 = told().map(|(_, freedom)| freedom).sum();
        let squares: f64 = told().map(|(variance, freedom)| variance * freedom).sum();
        let known = freedom > 0.0 && squares.is_finite();
        known.then(|| Self {
            deviation: (squares / freedom).sqrt(),
            freedom,
            runs,
        })
    }

    /// Whether enough runs were repeated for a useful interval.
    pub fn is_known(&self) -> bool {
        self.freedom >= LEAST_FREEDOM
    }

    /// Converts the spread into earlier knowledge for later runs on the same machine.
    ///
    /// # Arguments
    /// * `most` - upper limit of its degrees of freedom
    pub fn as_earlier(&self, most: f64) -> EarlierSpread {
        EarlierSpread {
            deviation: self.deviation,
            freedom: self.freedom.min(most),
        }
    }

    /// The interval of the total of one fresh run.
    ///
    /// `exp(ln total ± t · √(s² (1 + 1/k) + v))`: `s` between runs, `k` runs that the total was estimated from, `v` of
    /// the models.
    ///
    /// # Arguments
    /// * `total_s` - the predicted total, seconds, > 0
    /// * `model_variance` - variance of the logarithm of the prediction due to its models
    /// * `level` - probability, in 0..1
    pub fn interval_s(&self, total_s: f64, model_variance: f64, level: f64) -> [f64; 2] {
        let runs = self.runs.max(1) as f64;
        let variance = self.deviation.powi(2) * (1.0 + 1.0 / runs) + model_variance;
        let Ok(student) = StudentsT::new(0.0, 1.0, self.freedom) else {
            return [0.0, f64::INFINITY];
        };
        let half = student.inverse_cdf(0.5 + 0.5 * level) * variance.sqrt();
        match half.is_finite() {
            true => [total_s * (-half).exp(), total_s * half.exp()],
            false => [0.0, f64::INFINITY],
        }
    }
}

/// Variance of the logarithm of a total between runs; None where a total is not positive.
fn variance(totals_s: &[Vec<f64>]) -> Option<f64> {
    let mut residuals = Vec::new();
    for (site, totals_s) in totals_s.iter().enumerate() {
        let logs: Vec<f64> = totals_s.iter().map(|t| t.ln()).collect();
        let mean = logs.iter().sum::<f64>() / logs.len().max(1) as f64;
        for log in logs {
            residuals.push(RunResidual {
                site,
                run: residuals.len(),
                log_ratio: log - mean,
                variance: WITHIN_RUN * WITHIN_RUN,
            });
        }
    }
    between_runs(&residuals).ok()?.variance
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Normal random numbers from a linear congruential generator, by the Box–Muller transform.
    struct Normal(u64);

    impl Normal {
        fn uniform(&mut self) -> f64 {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            ((self.0 >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
        }

        fn next(&mut self) -> f64 {
            let radius = (-2.0 * self.uniform().ln()).sqrt();
            radius * (std::f64::consts::TAU * self.uniform()).cos()
        }
    }

    /// Four assemblies run three times each; a fresh total of the first assembly must lie in the interval about its
    /// mean.
    #[test]
    fn a_fresh_run_lies_in_the_interval_as_often_as_it_says() {
        let mut normal = Normal(1);
        for earlier in [
            None,
            Some(EarlierSpread {
                deviation: 0.075,
                freedom: 20.0,
            }),
        ] {
            let mut inside = 0;
            for _ in 0..4000 {
                let total =
                    |at: usize, normal: &mut Normal| (at as f64 + 0.075 * normal.next()).exp();
                let totals: Vec<Vec<f64>> = (0..4)
                    .map(|at| (0..3).map(|_| total(at, &mut normal)).collect())
                    .collect();
                let spread = BetweenRuns::pooled(&totals, earlier).unwrap();
                let mean = totals[0].iter().map(|t| t.ln()).sum::<f64>() / 3.0;
                let [low, high] = spread.interval_s(mean.exp(), 0.0, 0.95);
                inside += u32::from((low..high).contains(&total(0, &mut normal)));
            }
            let percent = f64::from(inside) / 40.0;
            assert!((94.0..96.0).contains(&percent), "{earlier:?}: {percent} %");
        }
    }

    #[test]
    fn one_run_of_each_tells_nothing() {
        assert_eq!(BetweenRuns::pooled(&[vec![1.0], vec![2.0]], None), None);
        assert_eq!(BetweenRuns::pooled(&[], None), None);
        let earlier = EarlierSpread {
            deviation: 0.1,
            freedom: 20.0,
        };
        let known = BetweenRuns::pooled(&[vec![1.0]], Some(earlier)).unwrap();
        assert_eq!((known.freedom, known.runs), (20.0, 1));
        assert!((known.deviation - 0.1).abs() < 1e-12 && known.is_known());
        // A single repetition does not make a useful interval.
        let once = BetweenRuns::pooled(&[vec![1.0, 1.5]], None).unwrap();
        assert!(!once.is_known());
        let prior = BetweenRuns::pooled(&[vec![1.0, 1.5]], Some(earlier)).unwrap();
        assert!(prior.is_known() && prior.freedom == 21.0 && prior.runs == 2);
    }

    /// ln 1 and ln e² about 1: s² = 2 with one degree of freedom, whose t is 12.706.
    #[test]
    fn the_interval_by_hand() {
        let totals = [vec![1.0, std::f64::consts::E.powi(2)]];
        let spread = BetweenRuns::pooled(&totals, None).unwrap();
        assert!((spread.deviation.powi(2) - 2.0).abs() < 1e-3);
        let [low, high] = spread.interval_s(3.0, 1.0, 0.95);
        let half = 12.706_2 * 4.0_f64.sqrt();
        assert!(((high / 3.0).ln() / half - 1.0).abs() < 1e-3 && (low * high - 9.0).abs() < 1e-9);
    }
}
