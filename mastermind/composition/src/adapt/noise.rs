//! Distribution of single calls of one class at one call kind: undelayed calls lie around their level, delayed ones
//! anywhere above it.
//!
//! ```text
//! f(r) = (1 − p) N(r; 0, σ²/calls + ω²) + p / 8        r > 0: a delay is uniform over 8 e-folds
//!        (1 − q) N(r; 0, σ²/calls + ω²) + q / 8        r < 0: a call is rarely faster than its level
//! ```
//!
//! σ and p belong to the site and follow its recent calls, as the machine gets busier. All calls count for them,
//! including those that are not believed yet: without these, σ would be too small, and growing noise would count as a
//! change. The level of a cell maximizes the product of f, with the estimate from other cells as a prior: three of
//! five calls may be delayed. If two levels are similarly likely, the calls count as one normal number with the mean
//! and variance of both, which preserves the uncertainty.
//!
//! ```text
//! calls at 0, 0.05, 5, 5.1 and 5.2 e-folds at a site with a quarter of its calls delayed: level 0.025, two undelayed calls
//! ```
//!
//! # Source
//! Expectation and maximisation: Dempster, Laird, Rubin, J. R. Stat. Soc. B 39 (1977). Matched moments, divided by
//! the prior: expectation propagation, T. P. Minka, UAI 2001 (recalled, not looked up).

use std::f64::consts::TAU;

/// Prior standard deviation of a call, and its weight in calls.
const DEVIATION: (f64, f64) = (0.1, 5.0);

/// Lower bound of the standard deviation of a call.
const LEAST: f64 = 0.01;

/// Prior fraction of delayed calls, and its weight in calls. Arbitrary: forgotten after some steps.
const DELAYED: (f64, f64) = (0.05, 50.0);

/// Upper bound of that fraction. Arbitrary: with more delays the level cannot be determined.
const MOST_DELAYED: f64 = 0.4;

/// Fraction of the calls that are faster than their level, through other data or unknown causes. Arbitrary: one in
/// two hundred.
const QUICKER: f64 = 0.005;

/// Calls of one step share delays, so the median of many calls is delayed more often than if they were independent:
/// at least a tenth as often as one call. Arbitrary.
const LEAST_OF_MANY: f64 = 0.1;

/// Range of delays and of faster calls, in e-folds.
pub(super) const RANGE: f64 = 8.0;

/// Standard deviation of the error that the calls of one step share, which does not shrink with their number.
pub(super) const WOBBLE: f64 = 0.03;

/// Memory of the spread, in batches, so that it follows the latest. Arbitrary: their spread is then known to 5 %.
const MEMORY: f64 = 400.0;

/// Lower bound of the number of undisturbed calls that disturbed ones are worth. Arbitrary: such a batch says nothing.
const LEAST_CALLS: f64 = 1e-3;

/// Rounds of expectation and maximisation; three are as good as ten.
const ROUNDS: usize = 3;

/// Fraction of undelayed calls from which on a level needs no alternative.
const CLEAN: f64 = 0.75;

/// Minimum number of undelayed calls that move a level.
const LEAST_CLEAN: f64 = 0.5;

/// Fraction of the cells that differ from their neighbours, such as powers of two, and the standard deviation of that. Arbitrary.
const UNLIKE: (f64, f64) = (0.05, 2.0);

/// Precision relative to the prior below which calls add nothing, and the largest variance of a level.
const LEAST_TOLD: f64 = 1e-3;
const MOST_VARIANCE: f64 = 1e3;

/// Distribution of the calls of a site around their levels.
#[derive(Debug, Clone)]
pub(super) struct Noise {
    /// Sum of squared deviations from the levels, weighted by the probability of being undelayed, and the sum of
    /// these weights.
    squares: (f64, f64),
    /// Number of delayed batches, and number of all batches.
    delayed: (f64, f64),
}

/// A normal number: its mean and variance.
pub(super) type Normal = (f64, f64);

impl Default for Noise {
    fn default() -> Self {
        let (deviation, calls) = DEVIATION;
        Noise {
            squares: (deviation * deviation * calls, calls),
            delayed: (DELAYED.0 * DELAYED.1, DELAYED.1),
        }
    }
}

impl Noise {
    /// Creates noise with a standard deviation.
    #[cfg(test)]
    pub(super) fn of(deviation: f64) -> Self {
        let mut noise = Self::default();
        noise.squares.0 = deviation * deviation * noise.squares.1;
        noise
    }

    /// Takes in calls, including those that are not believed yet.
    ///
    /// # Arguments
    /// * `off` - their deviation from the level
    /// * `known` - number of calls that the level is based on
    pub(super) fn add(&mut self, calls: f64, off: f64, known: f64) {
        let clean = self.clean(calls, off, self.variance() / known);
        // The variance of the mean of `calls` is that of one call, divided by their number.
        let square = off * off * calls * known / (calls + known);
        forget(&mut self.squares);
        self.squares.0 += clean * square;
        self.squares.1 += clean;
        forget(&mut self.delayed);
        self.delayed.0 += if off > 0.0 { 1.0 - clean } else { 0.0 };
        self.delayed.1 += 1.0;
    }

    /// Standard deviation of a call about its level, in logarithms.
    pub(super) fn deviation(&self) -> f64 {
        (self.squares.0 / self.squares.1).sqrt().max(LEAST)
    }

    pub(super) fn variance(&self) -> f64 {
        self.deviation().powi(2)
    }

    /// Fraction of delayed calls.
    fn part(&self) -> f64 {
        (self.delayed.0 / self.delayed.1).min(MOST_DELAYED)
    }

    /// Variance of a batch about its level.
    pub(super) fn spread(&self, calls: f64) -> f64 {
        self.variance() / calls.max(LEAST_CALLS) + WOBBLE * WOBBLE
    }

    /// Logarithm of the density of a batch's deviation.
    ///
    /// # Arguments
    /// * `more` - variance of the reference level, added to that of the batch
    pub(super) fn ln_density(&self, calls: f64, off: f64, more: f64) -> f64 {
        self.density(calls, more).ln(off)
    }

    /// Probability that a batch is undelayed.
    pub(super) fn clean(&self, calls: f64, off: f64, more: f64) -> f64 {
        self.density(calls, more).clean(off)
    }

    /// Distribution of the deviation of a batch. The batch's time is the median of its calls, so half of its calls
    /// must be delayed.
    pub(super) fn density(&self, calls: f64, more: f64) -> Density {
        let of_batch = |part: f64| {
            let of_many = (4.0 * part * (1.0 - part)).powf(0.5 * (calls - 1.0).max(0.0));
            part * of_many.max(LEAST_OF_MANY)
        };
        Density {
            calls,
            variance: self.spread(calls) + more,
            delayed: of_batch(self.part()),
            quicker: of_batch(QUICKER),
        }
    }

    /// Level of calls of one kind, from these calls alone.
    ///
    /// # Arguments
    /// * `sorted` - number of calls and logarithm of each batch, ascending, at least one
    /// * `prior` - estimate of the level without these calls, if any
    pub(super) fn level(&self, sorted: &[(f64, f64)], prior: Option<Normal>) -> Level {
        let all: f64 = sorted.iter().map(|(calls, _)| calls).sum();
        // Most batches have equally many calls.
        let mut densities: Vec<Density> = Vec::with_capacity(sorted.len());
        for (calls, _) in sorted {
            let same = densities.iter().rfind(|density| density.calls == *calls);
            let density = same.copied();
            densities.push(density.unwrap_or_else(|| self.density(*calls, 0.0)));
        }
        let mut modes: Vec<Mode> = Vec::with_capacity(3);
        let begins = [
            middle_of_narrowest(sorted),
            sorted[(sorted.len() - 1) / 4].1,
        ];
        for begin in begins.into_iter().chain(prior.map(|(mean, _)| mean)) {
            if modes.iter().any(|mode| (mode.level - begin).abs() < WOBBLE) {
                continue;
            }
            let mode = self.mode((sorted, &densities), begin, prior);
            let is_plain = mode.clean > CLEAN * all
                && prior
                    .is_none_or(|(mean, variance)| (mode.level - mean).powi(2) < 4.0 * variance);
            if modes
                .iter()
                .all(|known| (known.level - mode.level).abs() >= 1e-3)
            {
                modes.push(mode);
            }
            if is_plain {
                break;
            }
        }
        matched(&modes, prior)
    }

    /// The likeliest level near a starting point.
    fn mode(
        &self,
        (sorted, densities): (&[(f64, f64)], &[Density]),
        begin: f64,
        prior: Option<Normal>,
    ) -> Mode {
        let (mut level, mut clean) = (begin, 0.0);
        for _ in 0..ROUNDS {
            let (mut sum, mut weights) = (0.0, 0.0);
            for ((calls, value), density) in sorted.iter().zip(densities) {
                let weight = calls * density.clean(value - level);
                sum += weight * value;
                weights += weight;
            }
            let before = level;
            clean = weights;
            if weights < LEAST_CLEAN {
                break;
            }
            level = sum / weights;
            if (level - before).abs() < 1e-3 {
                break;
            }
        }
        let (mut ln_weight, mut precision) = (0.0, clean / self.variance());
        if let Some((mean, variance)) = prior {
            let off = level - mean;
            let (part, broad) = UNLIKE;
            let unlike = part * normal_density(off, variance + broad * broad);
            ln_weight = ((1.0 - part) * normal_density(off, variance) + unlike).ln();
            precision += 1.0 / variance;
        }
        for ((_, value), density) in sorted.iter().zip(densities) {
            ln_weight += density.ln(value - level);
        }
        ln_weight -= 0.5 * precision.max(1e-2).ln();
        Mode {
            level,
            clean,
            ln_weight,
            variance: self.variance() / clean.max(1e-3),
        }
    }
}

/// Distribution of a batch's deviation from its level.
#[derive(Debug, Clone, Copy)]
pub(super) struct Density {
    calls: f64,
    /// Variance of an undelayed batch.
    pub variance: f64,
    /// Probabilities of being delayed, and of being faster for another reason.
    delayed: f64,
    quicker: f64,
}

impl Density {
    /// Logarithm of the density of a deviation.
    pub(super) fn ln(&self, off: f64) -> f64 {
        let [clean, other] = self.of_both(off);
        (clean + other).ln()
    }

    /// Probability that the batch is undelayed.
    pub(super) fn clean(&self, off: f64) -> f64 {
        let [clean, other] = self.of_both(off);
        clean / (clean + other)
    }

    /// Densities of an undelayed and of a delayed batch.
    fn of_both(&self, off: f64) -> [f64; 2] {
        let part = if off > 0.0 {
            self.delayed
        } else {
            self.quicker
        };
        [
            (1.0 - part) * normal_density(off, self.variance),
            part / RANGE,
        ]
    }
}

/// Level of calls of one kind.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Level {
    /// The likeliest level.
    pub likeliest: f64,
    /// Number of undelayed calls at this level.
    pub clean: f64,
    /// Normal approximation of the likelihood of the level.
    pub says: Normal,
}

struct Mode {
    level: f64,
    clean: f64,
    ln_weight: f64,
    /// Variance of the level.
    variance: f64,
}

/// Combines modes into one level by matching moments, and divides by the prior.
fn matched(modes: &[Mode], prior: Option<Normal>) -> Level {
    let best = modes
        .iter()
        .max_by(|a, b| a.ln_weight.total_cmp(&b.ln_weight));
    let Some(best) = best else {
        return Level::default();
    };
    let likeliest = Level {
        likeliest: best.level,
        clean: best.clean,
        says: (best.level, best.variance),
    };
    let (mut weights, mut mean, mut square) = (0.0, 0.0, 0.0);
    for mode in modes {
        let weight = (mode.ln_weight - best.ln_weight).exp();
        let (level, variance) = match prior {
            Some((known, of_known)) => {
                let part = of_known / (of_known + mode.variance);
                (known + part * (mode.level - known), part * mode.variance)
            }
            None => (mode.level, mode.variance),
        };
        let off = level - best.level;
        weights += weight;
        mean += weight * off;
        square += weight * (variance + off * off);
    }
    if modes.len() == 1 {
        return likeliest;
    }
    let off = mean / weights;
    let variance = square / weights - off * off;
    let (mean, says) = match prior {
        None => (best.level + off, variance),
        Some((known, of_known)) => {
            let precision = 1.0 / variance - 1.0 / of_known;
            match precision * of_known > LEAST_TOLD {
                true => (
                    ((best.level + off) / variance - known / of_known) / precision,
                    1.0 / precision,
                ),
                false => (best.level + off, of_known / LEAST_TOLD),
            }
        }
    };
    Level {
        says: (mean, says.min(MOST_VARIANCE)),
        ..likeliest
    }
}

/// Middle batch of the shortest half of the batches.
///
/// # Source
/// Andrews et al., *Robust Estimates of Location* (1972): the shortest half.
fn middle_of_narrowest(sorted: &[(f64, f64)]) -> f64 {
    let half = sorted.len().div_ceil(2);
    let width = |at: &usize| sorted[at + half - 1].1 - sorted[*at].1;
    let first = (0..=sorted.len() - half).min_by(|a, b| width(a).total_cmp(&width(b)));
    sorted[first.unwrap_or(0) + (half - 1) / 2].1
}

fn normal_density(off: f64, variance: f64) -> f64 {
    (-0.5 * off * off / variance).exp() / (TAU * variance).sqrt()
}

/// Reduces the weight of earlier batches.
fn forget(sum: &mut (f64, f64)) {
    let kept = 1.0 - 1.0 / MEMORY;
    *sum = (kept * sum.0, kept * sum.1);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three of five are delayed, by about as much.
    const SORTED: [(f64, f64); 5] = [(1.0, 0.0), (1.0, 0.05), (1.0, 5.0), (1.0, 5.1), (1.0, 5.2)];

    fn of_many_delays() -> Noise {
        let mut noise = Noise::of(0.05);
        for call in 0..500 {
            let off = if call % 4 == 0 {
                1.0 + 0.01 * f64::from(call)
            } else {
                0.0
            };
            noise.add(1.0, off, 100.0);
        }
        noise
    }

    #[test]
    fn the_part_of_delayed_calls_is_found() {
        let noise = of_many_delays();
        assert!((noise.part() - 0.25).abs() < 0.03, "{noise:?}");
        assert!(noise.deviation() < 0.06, "{noise:?}");
    }

    #[test]
    fn of_five_calls_three_may_be_delayed() {
        let noise = of_many_delays();
        for known in [None, Some((0.3, 0.1))] {
            let level = noise.level(&SORTED, known);
            assert!((level.likeliest - 0.025).abs() < 0.02, "{level:?}");
            assert!((level.clean - 2.0).abs() < 0.1, "{level:?}");
        }
    }

    #[test]
    fn a_doubt_about_the_level_is_counted() {
        let noise = of_many_delays();
        let few = [(1.0, 0.0), (1.0, 5.0)];
        let level = noise.level(&few, Some((2.5, 4.0)));
        assert!(level.says.1 > 0.1, "{level:?}");
        let level = noise.level(&[(1.0, 0.0); 5], Some((2.5, 4.0)));
        assert!(level.says.1 < 0.001, "{level:?}");
    }
}
