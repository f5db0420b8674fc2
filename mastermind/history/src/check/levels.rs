//! The levels of a series and where they change, by the posterior over all segmentations.
//!
//! ```text
//! z_r = l_r + noise,   l_r = l_(r-1) with probability 1 - h, else a jump of Laplace's distribution
//! noise: Student's with 5 degrees of freedom and the run's scale; one run in 50 is an outlier and can be anywhere
//! ```
//!
//! Levels are on a grid, on which the sums over all segmentations are exact: a forward pass gives the weight of each
//! level at each run, a backward pass the probability that the last level began at each run. The most likely beginning
//! is used if a change before the end is certain enough, and the part before it is segmented likewise. A step has to
//! last [`MIN_LASTING`] runs: a later change is pending. The prior probability `h` contains the number of series that
//! are checked, so that more of them cause no more false alarms.
//!
//! # Source
//! Yao, *Estimation of a noisy discrete-time step function: Bayes and empirical Bayes approaches*, Annals of Statistics 12 (1984), 1434–1447, with a
//! grid in place of normal levels, so that noise may be of any distribution. It was not compared with PELT or E-divisive.

use super::noise::median;

/// Fewest runs of a new level.
pub(super) const MIN_LASTING: usize = 4;

/// Minimum number of runs before the first change: with fewer the noise is unknown.
pub(super) const MIN_BEFORE: usize = 8;

/// Probability that there is a change from which it is one.
pub(super) const SURE: f64 = 0.95;

/// Mean size of a jump, a logarithm. Arbitrary: between 0.05 and 0.2 it moves the evidence by 1, of 20 that a step of 5 % has.
pub(super) const JUMP: f64 = 0.1;

/// Mean size of large jumps, which one in ten is: a component may become ten times slower as well.
const LARGE_JUMP: f64 = 1.0;
const LARGE: f64 = 0.1;

/// Share of runs that are outliers, and the width of their logarithms: a factor of 7.
const OUTLIERS: f64 = 0.02;
const OUTLIER_WIDTH: f64 = 2.0;

/// Most levels of the grid, and how far apart they are in scales of the noise where these suffice.
const MAX_GRID: usize = 600;
const GRID_STEP: f64 = 0.5;

/// Maximum number of changes of a series.
const MAX_CHANGES: usize = 50;

/// Runs of one level.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Segment {
    /// First run.
    pub(super) start: usize,
    /// Behind the last run.
    pub(super) end: usize,
    /// The level, a logarithm.
    pub(super) mean: f64,
    /// Its standard error.
    pub(super) error: f64,
    /// Probability that a level began within the series before `end`, in a series cut at `end`; 0 of the first segment.
    pub(super) probability: f64,
    /// The runs with which it may have begun, with 90 %.
    pub(super) began: (usize, usize),
}

/// Levels of a series.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Levels {
    /// In order, none empty; together all runs but pending ones.
    pub(super) segments: Vec<Segment>,
    /// The first of the last runs that may be of another level, which are too few for a verdict.
    pub(super) pending: Option<usize>,
}

/// The levels of a series.
///
/// # Arguments
/// * `series` - finite logarithms
/// * `scales` - standard deviation of each run's noise, > 0
/// * `hazard` - prior probability of a change at a run
pub(super) fn levels(series: &[f64], scales: &[f64], hazard: f64) -> Levels {
    let mut found = Levels {
        segments: Vec::new(),
        pending: None,
    };
    if series.is_empty() {
        return found;
    }
    let passes = Passes::new(series, scales, hazard);
    let mut end = series.len();
    while end > 0 && found.segments.len() < MAX_CHANGES {
        let (begins, level) = passes.beginnings(end);
        let lasting = end.saturating_sub(MIN_LASTING);
        let late: f64 = begins.iter().skip(lasting + 1).sum();
        let probability = 1.0 - begins[0];
        let (start, _) = greatest(&begins);
        if found.segments.is_empty() && found.pending.is_none() && late >= SURE {
            found.pending = Some(start);
            end = start;
            continue;
        }
        let is_change = probability - late >= SURE && end >= MIN_BEFORE + MIN_LASTING;
        let start = match is_change {
            true => greatest(&begins[..=lasting]).0.max(1),
            false => 0,
        };
        let start = if start < MIN_BEFORE { 0 } else { start };
        let (mean, error) = if start == greatest(&begins).0 {
            level
        } else {
            passes.level(start, end)
        };
        found.segments.push(Segment {
            start,
            end,
            mean,
            error,
            probability: if start == 0 { 0.0 } else { probability },
            began: credible(&begins, start),
        });
        end = start;
    }
    found.segments.reverse();
    found
}

fn greatest(probabilities: &[f64]) -> (usize, f64) {
    let all = probabilities.iter().copied().enumerate();
    all.fold((0, f64::NEG_INFINITY), |best, (place, p)| {
        if p > best.1 { (place, p) } else { best }
    })
}

/// The shortest range around a place that has 90 % of the probability behind the first run.
fn credible(begins: &[f64], place: usize) -> (usize, usize) {
    let (mut low, mut high) = (place, place);
    let all: f64 = begins.iter().skip(1).sum();
    let mut within = begins.get(place).copied().unwrap_or(0.0);
    while within < 0.9 * all {
        let below = if low > 1 { begins[low - 1] } else { -1.0 };
        let above = begins.get(high + 1).copied().unwrap_or(-1.0);
        match below.max(above) {
            next if next < 0.0 => break,
            next => within += next,
        }
        if below >= above { low -= 1 } else { high += 1 }
    }
    (low, high)
}

/// The sums over all segmentations of a series.
struct Passes {
    grid: Vec<f64>,
    hazard: f64,
    /// Likelihood of each level at each run, `[run][level]`.
    likelihood: Vec<Vec<f64>>,
    /// Weight of each level of a segment that begins at each run, before the run is seen; and the logarithm of their
    /// common factor.
    begun: Vec<(Vec<f64>, f64)>,
}

impl Passes {
    fn new(series: &[f64], scales: &[f64], hazard: f64) -> Self {
        let grid = grid(series, scales);
        let step = match grid[..] {
            [first, second, ..] => second - first,
            _ => 1.0,
        };
        let decays = [JUMP, LARGE_JUMP].map(|size| (-step / size).exp());
        let of_run = |(z, scale): (&f64, &f64)| {
            // A level between two of the grid must not seem off.
            let scale = scale.max(step);
            let levels = grid.iter().map(|level| density(z - level, scale));
            levels.collect::<Vec<f64>>()
        };
        let likelihood: Vec<_> = series.iter().zip(scales).map(of_run).collect();
        let mut begun = Vec::new();
        let uniform = vec![1.0 / grid.len() as f64; grid.len()];
        let (mut weights, mut log) = (uniform.clone(), 0.0);
        for (run, of_run) in likelihood.iter().enumerate() {
            let mut predicted = weights.clone();
            if run == 0 {
                begun.push((uniform.clone(), 0.0));
            } else {
                let jumped = jump(&weights, decays);
                for (weight, jumped) in predicted.iter_mut().zip(&jumped) {
                    *weight = (1.0 - hazard) * *weight + hazard * jumped;
                }
                begun.push((jumped, log + hazard.ln()));
            }
            for (weight, likelihood) in predicted.iter_mut().zip(of_run) {
                *weight *= likelihood;
            }
            let sum: f64 = predicted.iter().sum();
            predicted.iter_mut().for_each(|weight| *weight /= sum);
            log += sum.ln();
            weights = predicted;
        }
        Self {
            grid,
            hazard,
            likelihood,
            begun,
        }
    }

    /// Of a series that is cut at `end`: the probability that its last level began at each run, and the level of the likeliest.
    fn beginnings(&self, end: usize) -> (Vec<f64>, (f64, f64)) {
        let mut backward = vec![1.0; self.grid.len()];
        let mut backward_log = 0.0;
        let mut logs = vec![f64::NEG_INFINITY; end];
        let (mut best, mut level) = (f64::NEG_INFINITY, (0.0, 0.0));
        for start in (0..end).rev() {
            let stays = if start + 1 < end {
                1.0 - self.hazard
            } else {
                1.0
            };
            let mut most = 0.0_f64;
            for (weight, likelihood) in backward.iter_mut().zip(&self.likelihood[start]) {
                *weight *= likelihood * stays;
                most = most.max(*weight);
            }
            backward.iter_mut().for_each(|weight| *weight /= most);
            backward_log += most.ln();
            let (begun, log) = &self.begun[start];
            let joint = begun.iter().zip(&backward).map(|(a, b)| a * b);
            logs[start] = joint.sum::<f64>().ln() + log + backward_log;
            if logs[start] > best {
                best = logs[start];
                level = self.moments(&backward);
            }
        }
        let mut begins: Vec<f64> = logs.iter().map(|log| (log - best).exp()).collect();
        let sum: f64 = begins.iter().sum();
        begins.iter_mut().for_each(|p| *p /= sum);
        (begins, level)
    }

    /// Mean and standard error of the level of some runs.
    fn level(&self, start: usize, end: usize) -> (f64, f64) {
        let mut weights = vec![1.0; self.grid.len()];
        for of_run in &self.likelihood[start..end] {
            for (weight, likelihood) in weights.iter_mut().zip(of_run) {
                *weight *= likelihood;
            }
            let most = weights.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
            weights.iter_mut().for_each(|weight| *weight /= most);
        }
        self.moments(&weights)
    }

    fn moments(&self, weights: &[f64]) -> (f64, f64) {
        let sum: f64 = weights.iter().sum();
        let pairs = || self.grid.iter().zip(weights);
        let mean = pairs().map(|(level, weight)| level * weight).sum::<f64>() / sum;
        let squares = pairs().map(|(level, weight)| (level - mean).powi(2) * weight);
        (mean, (squares.sum::<f64>() / sum).sqrt())
    }
}

/// Levels that runs may have: from the least to the greatest that two runs which follow one another share.
fn grid(series: &[f64], scales: &[f64]) -> Vec<f64> {
    let least_scale = scales.iter().copied().fold(f64::INFINITY, f64::min);
    let mut lasting: Vec<f64> = series.to_vec();
    if series.len() > 2 {
        lasting = series
            .windows(3)
            .map(|three| median(three.iter().copied()))
            .collect();
    }
    let margin = 3.0 * median(scales.iter().copied());
    let low = lasting.iter().copied().fold(f64::INFINITY, f64::min) - margin;
    let high = lasting.iter().copied().fold(f64::NEG_INFINITY, f64::max) + margin;
    let n = ((high - low) / (GRID_STEP * least_scale)).ceil();
    let n = (n as usize).clamp(8, MAX_GRID);
    let step = (high - low) / (n - 1) as f64;
    (0..n).map(|place| low + step * place as f64).collect()
}

/// Density of a run at a distance from its level, without a factor that all levels share.
pub(super) fn density(distance: f64, scale: f64) -> f64 {
    // Student's of 5 degrees of freedom: Γ(3) / (√(5π) Γ(5/2)) = 0.3796.
    let x = distance / scale;
    let student = 0.379_606_7 / scale / (1.0 + x * x / 5.0).powi(3);
    (1.0 - OUTLIERS) * student + OUTLIERS / OUTLIER_WIDTH
}

/// Weights after a jump from each level: convolution with two of Laplace's distributions, in two passes each.
fn jump(weights: &[f64], decays: [f64; 2]) -> Vec<f64> {
    let mut jumped = vec![0.0; weights.len()];
    for (decay, share) in decays.into_iter().zip([1.0 - LARGE, LARGE]) {
        let norm = share * (1.0 - decay) / (1.0 + decay);
        let mut carried = 0.0;
        for (to, weight) in jumped.iter_mut().zip(weights) {
            carried = carried * decay + weight;
            *to += norm * carried;
        }
        carried = 0.0;
        for (to, weight) in jumped.iter_mut().zip(weights).rev() {
            *to += norm * decay * carried;
            carried = carried * decay + weight;
        }
    }
    jumped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::generator::Generator;

    const HAZARD: f64 = 0.01 / 20.0;

    fn noise(seed: u64, n: usize, scale: f64) -> Vec<f64> {
        let mut random = Generator::new(seed);
        (0..n).map(|_| scale * random.normal()).collect()
    }

    fn found(series: &[f64], scale: f64) -> Levels {
        levels(series, &vec![scale; series.len()], HAZARD)
    }

    #[test]
    fn equal_runs_have_one_level() {
        let alarms = (0..200).filter(|seed| {
            let found = found(&noise(*seed, 60, 0.01), 0.01);
            found.segments.len() > 1
        });
        assert!(alarms.count() <= 1);
    }

    #[test]
    fn a_step_is_found_within_five_runs_where_it_is_and_as_large_as_it_is() {
        let mut n_found = 0;
        for seed in 0..100 {
            let mut series = noise(seed, 45, 0.01);
            series[40..].iter_mut().for_each(|z| *z += 0.05);
            let levels = found(&series, 0.01);
            if let [before, after] = &levels.segments[..] {
                n_found += 1;
                assert!((38..=41).contains(&after.start), "{levels:?}");
                let (difference, error) = (after.mean - before.mean, after.error);
                assert!((difference - 0.05).abs() < 4.0 * error, "{levels:?}");
                assert!((0.003..0.01).contains(&error), "{levels:?}");
            }
        }
        assert!(n_found >= 95, "{n_found}");
    }

    #[test]
    fn a_step_has_to_last() {
        for n_off in 1..MIN_LASTING {
            let mut series = noise(9, 40, 0.01);
            let from = series.len() - n_off;
            series[from..].iter_mut().for_each(|z| *z += 0.4);
            let levels = found(&series, 0.01);
            assert_eq!(levels.segments.len(), 1, "{n_off}: {levels:?}");
            // Back to the old level: outliers.
            series.extend(noise(10, 6, 0.01));
            assert_eq!(found(&series, 0.01).segments.len(), 1, "{n_off}");
        }
    }

    #[test]
    fn a_far_level_makes_no_steps_of_the_others() {
        for seed in 0..20 {
            let mut series = noise(seed, 80, 0.0003);
            series[40..46].iter_mut().for_each(|z| *z += 3.0);
            assert_eq!(found(&series, 0.0003).segments.len(), 3, "{seed}");
        }
    }

    #[test]
    fn several_steps_are_found() {
        let mut series = noise(5, 300, 0.01);
        series[100..].iter_mut().for_each(|z| *z += 0.05);
        series[200..].iter_mut().for_each(|z| *z -= 0.1);
        let starts: Vec<_> = found(&series, 0.01)
            .segments
            .iter()
            .map(|s| s.start)
            .collect();
        assert_eq!(starts.len(), 3, "{starts:?}");
        assert!(
            starts[1].abs_diff(100) < 3 && starts[2].abs_diff(200) < 3,
            "{starts:?}"
        );
    }

    #[test]
    fn a_jump_moves_weight_and_loses_only_at_the_ends() {
        let mut weights = vec![0.0; 201];
        weights[100] = 1.0;
        let jumped = jump(&weights, [0.8, 0.9]);
        let sum: f64 = jumped.iter().sum();
        assert!((sum - 1.0).abs() < 1e-3, "{sum}");
        assert!((jumped[95] - jumped[105]).abs() < 1e-12);
    }
}
