//! Spread of the time of a class between runs, and the precision of its mean over runs.
//!
//! The calls of one run share the state of the process and of the machine. So the precision of a class's mean depends
//! on the number of runs that show the class, however many calls each of them has. The logarithm of the seconds of
//! instance `s` with class `c` in run `r`, relative to the model's prediction for the run's own calls, follows a mixed
//! model:
//!
//! ```text
//! y(r, s) = μ(s, c) + b(r) + e(r, s)      b ~ N(0, s_b²), e ~ N(0, s_e²(s))
//! ```
//!
//! `b` is the speed of the machine during the run, which all instances share. A model is fitted to the runs as
//! measured, so it contains the `b` of the runs with its class. [`RunSpread::shift`] is its offset from `μ`, compared
//! with the other classes of the instance. The variance of a difference `Σ a(s, c) μ(s, c)` is, with `k` runs of a
//! class and `S = diag(1/s_b² + Σ 1/s_e²) − Σ 1/(k s_e²)` over the runs that share a class:
//!
//! ```text
//! Σ a² s_e² / k + gᵀ S⁻¹ g      g(r) = Σ a / k over the classes of run r
//! ```
//!
//! # Source
//! C. R. Henderson, Biometrics 31 (1975) 423–447: the mixed-model equations (recalled, not looked up). The variances
//! are estimated by the method of moments from the residuals about the class means: `E uᵀu = ν (s_b² + s_e²)`, and `E
//! uᵀw = tr(M N) s_b²` for two instances with residual projections `M` and `N`.

use std::collections::BTreeMap;

use nalgebra::{Cholesky, DMatrix, DVector};
use statrs::function::gamma::digamma;

use crate::interaction::RunTimes;

/// Smallest relative standard deviation of an instance's time between runs: clock and median limit the precision of the
/// sum over a run to about 1e-4.
const LEAST_DEVIATION: f64 = 1e-4;

/// Iterations of the variance estimate: each one reduces the error by the number of instances, at least by half.
const STEPS: usize = 20;

/// Largest number of runs for which variances are refined, at cubic cost: with more runs the moments are known to 10 %.
const MOST_REFINED: usize = 200;

/// Spread of the times of classes between runs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunSpread {
    /// By instance and class.
    cells: BTreeMap<(String, String), Cell>,
    /// By instance.
    sites: BTreeMap<String, SiteSpread>,
    /// None where the instances of a run share no effect.
    shared: Option<Shared>,
    n_runs: usize,
}

/// The runs that show a class.
#[derive(Debug, Clone, PartialEq)]
struct Cell {
    runs: Vec<usize>,
    /// Mean of `y` over them.
    mean: f64,
    /// `μ` minus the mean `μ` over the runs of the instance.
    shift: f64,
}

/// Spread of an instance between runs.
#[derive(Debug, Clone, Copy, PartialEq)]
struct SiteSpread {
    /// `s_e²`.
    variance: f64,
    freedom: f64,
}

/// The time of a class in a difference of two assemblies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Part<'a> {
    /// The instance.
    pub instance: &'a str,
    /// Its class.
    pub class: &'a str,
    /// Predicted seconds; negative in the assembly that is subtracted.
    pub seconds: f64,
}

/// Variance of a difference due to the means over runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeanVariance {
    /// Seconds squared.
    pub variance_s2: f64,
    /// Its degrees of freedom.
    pub freedom: f64,
}

/// Residuals of an instance about the means of its classes, by run.
type Residuals = BTreeMap<usize, f64>;

impl RunSpread {
    /// Estimates the spread from runs.
    ///
    /// # Arguments
    /// * `runs` - runs of one workload, with any classes; runs of equal classes are needed to estimate anything
    pub fn of(runs: &[RunTimes]) -> Self {
        let mut logs: BTreeMap<(String, String), BTreeMap<usize, f64>> = BTreeMap::new();
        for (number, run) in runs.iter().enumerate() {
            for (instance, time) in run {
                let log = time.ratio.ln();
                if log.is_finite() {
                    let of_class = logs.entry((instance.clone(), time.class.clone()));
                    of_class.or_default().insert(number, log);
                }
            }
        }
        let cells = logs.iter().map(|(names, logs)| {
            let cell = Cell {
                runs: logs.keys().copied().collect(),
                mean: logs.values().sum::<f64>() / logs.len() as f64,
                shift: 0.0,
            };
            (names.clone(), cell)
        });
        let cells: BTreeMap<(String, String), Cell> = cells.collect();
        let mut residuals: BTreeMap<&str, Residuals> = BTreeMap::new();
        for (names, logs) in &logs {
            let off = logs
                .iter()
                .map(|(run, log)| (*run, log - cells[names].mean));
            residuals.entry(&names.0).or_default().extend(off);
        }
        let n_classes = |instance: &str| logs.keys().filter(|(of, _)| of == instance).count();
        let mut sites = BTreeMap::new();
        for (instance, residuals) in &residuals {
            let freedom = (residuals.len() - n_classes(instance)) as f64;
            if freedom > 0.0 {
                let squares: f64 = residuals.values().map(|u| u * u).sum();
                let variance = (squares / freedom).max(LEAST_DEVIATION.powi(2));
                sites.insert((*instance).to_owned(), SiteSpread { variance, freedom });
            }
        }
        let mut spread = Self {
            cells,
            sites,
            shared: None,
            n_runs: runs.len(),
        };
        let (shared, parted) = spread.part(&residuals);
        spread.moderate();
        // Solved again with the final variances.
        spread.shared = parted.and(spread.solve(shared, &residuals));
        spread.level();
        spread
    }

    /// Logarithm of the factor between the runs and the model of a class, compared with the other classes of its
    /// instance; 0 where no class of the instance was run twice.
    pub fn shift(&self, instance: &str, class: &str) -> f64 {
        let cell = self.cells.get(&(instance.to_owned(), class.to_owned()));
        cell.map_or(0.0, |cell| cell.shift)
    }

    /// Whether runs show the mean of a class, and the spread of its instance.
    pub fn knows(&self, instance: &str, class: &str) -> bool {
        let cell = (instance.to_owned(), class.to_owned());
        self.sites.contains_key(instance) && self.cells.contains_key(&cell)
    }

    /// Relative variance of an instance's time in one run, without the shared part, and its degrees of freedom.
    pub fn of_instance(&self, instance: &str) -> Option<MeanVariance> {
        let site = self.sites.get(instance)?;
        Some(MeanVariance {
            variance_s2: site.variance,
            freedom: site.freedom,
        })
    }

    /// Precision of a difference of means over runs; None where a class was not run, or no class of its instance twice.
    pub fn of_difference(&self, parts: &[Part<'_>]) -> Option<MeanVariance> {
        let mut seconds: BTreeMap<(&str, &str), f64> = BTreeMap::new();
        for part in parts {
            *seconds.entry((part.instance, part.class)).or_default() += part.seconds;
        }
        let mut shared = DVector::zeros(self.n_runs);
        let (mut variance, mut squares, mut least) = (0.0, 0.0, f64::INFINITY);
        for ((instance, class), seconds) in seconds {
            if seconds == 0.0 {
                continue;
            }
            let site = self.sites.get(instance)?;
            let cell = self.cells.get(&(instance.to_owned(), class.to_owned()))?;
            let k = cell.runs.len() as f64;
            let own = seconds * seconds * site.variance / k;
            variance += own;
            squares += own * own / site.freedom;
            least = f64::min(least, site.freedom);
            cell.runs.iter().for_each(|run| shared[*run] += seconds / k);
        }
        let of_runs = match &self.shared {
            Some(known) => known.variance(&shared),
            None => 0.0,
        };
        // The shared part is known at most as well as the spread of the instance with the fewest degrees of freedom.
        squares += of_runs * of_runs / least;
        variance += of_runs;
        Some(MeanVariance {
            variance_s2: variance,
            freedom: if squares > 0.0 {
                variance * variance / squares
            } else {
                least
            },
        })
    }

    /// Subtracts the speed of the machine from the class means.
    fn level(&mut self) {
        let mut sums: BTreeMap<String, (f64, f64)> = BTreeMap::new();
        for ((instance, _), cell) in &mut self.cells {
            if self.sites.contains_key(instance) {
                let speed = self.shared.as_ref().map_or(0.0, |s| s.mean(&cell.runs));
                cell.shift = cell.mean - speed;
                let k = cell.runs.len() as f64;
                let sum = sums.entry(instance.clone()).or_default();
                *sum = (sum.0 + k * cell.shift, sum.1 + k);
            }
        }
        for ((instance, _), cell) in &mut self.cells {
            if let Some((sum, n)) = sums.get(instance) {
                cell.shift -= sum / n;
            }
        }
    }

    /// Variance of the effect that all instances of a run share, from the products of residuals of two instances, each
    /// weighted by its precision.
    fn shared_variance(&self, residuals: &BTreeMap<&str, Residuals>) -> f64 {
        let (mut products, mut traces) = (0.0, 0.0);
        let known: Vec<_> = self.sites.iter().collect();
        for (at, (first, of_first)) in known.iter().enumerate() {
            for (second, of_second) in &known[at + 1..] {
                let weight = 1.0 / (of_first.variance * of_second.variance);
                let others = &residuals[second.as_str()];
                let product = residuals[first.as_str()].iter();
                let product = product.filter_map(|(run, u)| Some(u * others.get(run)?));
                products += weight * product.sum::<f64>();
                traces += weight * self.trace(first, second);
            }
        }
        match traces > 0.0 {
            true => (products / traces).max(0.0),
            false => 0.0,
        }
    }

    /// `tr(M N)` of the residual projections of two instances, over the runs that call both.
    fn trace(&self, first: &str, second: &str) -> f64 {
        let of = |instance: &str| -> Vec<&[usize]> {
            let cells = self.cells.iter().filter(|((of, _), _)| of == instance);
            cells.map(|(_, cell)| cell.runs.as_slice()).collect()
        };
        let seconds = of(second);
        let mut trace = 0.0;
        for a in of(first) {
            for b in &seconds {
                let both = a.iter().filter(|run| b.binary_search(run).is_ok()).count() as f64;
                let (n_a, n_b) = (a.len() as f64, b.len() as f64);
                trace += both * (1.0 - 1.0 / n_a - 1.0 / n_b + both / (n_a * n_b));
            }
        }
        trace
    }

    /// Solves the mixed-model equations for the shared effect of each run, with the class means eliminated.
    fn solve(&self, shared: f64, residuals: &BTreeMap<&str, Residuals>) -> Option<Shared> {
        let n = self.n_runs;
        let mut system = DMatrix::from_diagonal_element(n, n, 1.0 / shared);
        let mut right = DVector::zeros(n);
        for ((instance, _), cell) in &self.cells {
            let Some(site) = self.sites.get(instance) else {
                continue;
            };
            let weight = 1.0 / site.variance;
            let share = weight / cell.runs.len() as f64;
            for run in &cell.runs {
                system[(*run, *run)] += weight;
                right[*run] += weight * residuals[instance.as_str()][run];
                let others = cell.runs.iter();
                others.for_each(|other| system[(*run, *other)] -= share);
            }
        }
        let cholesky = Cholesky::new(system)?;
        Some(Shared {
            speeds: cholesky.solve(&right),
            factor: cholesky.unpack(),
        })
    }

    /// Splits the variance of each instance into its own part and the part shared within a run: restricted maximum
    /// likelihood by expectation-maximisation, starting from the moments.
    ///
    /// # Returns
    /// The shared variance, and the shared effects; None where runs share no effect.
    fn part(&mut self, residuals: &BTreeMap<&str, Residuals>) -> (f64, Option<Shared>) {
        let mut shared = self.shared_variance(residuals);
        if shared <= 0.0 {
            return (0.0, None);
        }
        for site in self.sites.values_mut() {
            // A variance cannot be resolved below its own standard error.
            let least = site.variance * (2.0 / site.freedom).sqrt().min(1.0);
            site.variance = (site.variance - shared).max(least);
        }
        let steps = if self.n_runs > MOST_REFINED { 0 } else { STEPS };
        let mut solved = self.solve(shared, residuals);
        for _ in 0..steps {
            let Some(known) = &solved else { break };
            shared = self.refine(known, residuals);
            solved = self.solve(shared, residuals);
        }
        (shared, solved)
    }

    /// One iteration: the expected squares, given the shared effects, become the next variances.
    fn refine(&mut self, known: &Shared, residuals: &BTreeMap<&str, Residuals>) -> f64 {
        let covariance = known.covariance();
        let mut squares: BTreeMap<&str, f64> = BTreeMap::new();
        for ((instance, _), cell) in &self.cells {
            let Some(own) = residuals.get(instance.as_str()) else {
                continue;
            };
            let mean = known.mean(&cell.runs);
            let k = cell.runs.len() as f64;
            for run in &cell.runs {
                let off = own[run] - (known.speeds[*run] - mean);
                let row = cell.runs.iter().map(|other| covariance[(*run, *other)]);
                let variance = covariance[(*run, *run)] - row.sum::<f64>() / k;
                *squares.entry(instance).or_default() += off * off + variance;
            }
        }
        for (instance, site) in &mut self.sites {
            let variance = squares[instance.as_str()] / site.freedom;
            site.variance = variance.max(LEAST_DEVIATION.powi(2));
        }
        (known.speeds.norm_squared() + covariance.trace()) / self.n_runs as f64
    }

    /// Shrinks the variance of each instance towards the common one, more strongly the more alike the instances are: a
    /// variance with few degrees of freedom is imprecise by itself.
    ///
    /// # Source
    /// G. K. Smyth, Statistical Applications in Genetics and Molecular Biology 3 (2004), section 6.2: the hyperparameters of an inverse
    /// gamma prior by moments of the logarithms (recalled, not looked up).
    fn moderate(&mut self) {
        let n = self.sites.len() as f64;
        if n < 2.0 {
            return;
        }
        let centred = |site: &SiteSpread| {
            let half = 0.5 * site.freedom;
            site.variance.ln() - digamma(half) + half.ln()
        };
        let logs: Vec<f64> = self.sites.values().map(centred).collect();
        let mean = logs.iter().sum::<f64>() / n;
        let spread = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let by_chance = self.sites.values().map(|site| trigamma(0.5 * site.freedom));
        let beyond = spread - by_chance.sum::<f64>() / n;
        // The common variance has no more degrees of freedom than all residuals together.
        let most: f64 = self.sites.values().map(|site| site.freedom).sum();
        let prior = match beyond > 0.0 {
            true => (2.0 * inverse_trigamma(beyond)).min(most),
            false => most,
        };
        let half = 0.5 * prior;
        let common = (mean + digamma(half) - half.ln()).exp();
        for site in self.sites.values_mut() {
            let freedom = site.freedom + prior;
            site.variance = (site.freedom * site.variance + prior * common) / freedom;
            site.freedom = freedom;
        }
    }
}

/// Second derivative of the logarithm of the gamma function: up to 6 by recurrence, then by the asymptotic series.
fn trigamma(x: f64) -> f64 {
    if x < 6.0 {
        return 1.0 / (x * x) + trigamma(x + 1.0);
    }
    let y = 1.0 / (x * x);
    1.0 / x + 0.5 * y + y / x * (1.0 / 6.0 - y * (1.0 / 30.0 - y / 42.0))
}

/// Inverts [`trigamma`] by bisection of the logarithm; the function is decreasing.
fn inverse_trigamma(value: f64) -> f64 {
    let (mut low, mut high) = (-20.0_f64, 20.0_f64);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        match trigamma(middle.exp()) > value {
            true => low = middle,
            false => high = middle,
        }
    }
    (0.5 * (low + high)).exp()
}

/// The effect that the instances of each run share.
#[derive(Debug, Clone, PartialEq)]
struct Shared {
    /// `b` of each run.
    speeds: DVector<f64>,
    /// `L` of `S = L Lᵀ`.
    factor: DMatrix<f64>,
}

impl Shared {
    /// `gᵀ S⁻¹ g`.
    fn variance(&self, weights: &DVector<f64>) -> f64 {
        let half = self.factor.solve_lower_triangular(weights);
        half.map_or(f64::INFINITY, |half| half.norm_squared())
    }

    fn covariance(&self) -> DMatrix<f64> {
        Cholesky::pack_dirty(self.factor.clone()).inverse()
    }

    fn mean(&self, runs: &[usize]) -> f64 {
        let sum: f64 = runs.iter().map(|run| self.speeds[*run]).sum();
        sum / runs.len() as f64
    }
}
