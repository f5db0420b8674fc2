//! How single calls of one class at one kind spread: clean ones about their level, and delayed ones anywhere above it.
//!
//! ```text
//! f(r) = (1 − p) N(r; 0, σ²/calls + ω²) + p / 8        r > 0: a delay is anything within 8 e-folds
//!        (1 − q) N(r; 0, σ²/calls + ω²) + q / 8        r < 0: a call is hardly ever quicker than it takes
//! ```
//!
//! σ and p are those of the site, of late: both follow a machine that gets busier. All calls count for them, those too that are not believed yet:
//! without these σ would be too small, and growing noise would count as a change. The level of a cell is where the product of f is largest, with the
//! estimate from other cells as a prior: three of five calls may be delayed. Where two levels are similarly likely, the calls count as a normal number
//! with the mean and variance of both, so that the doubt remains.
//!
//! # Source
//! Expectation and maximisation: Dempster, Laird, Rubin, J. R. Stat. Soc. B 39 (1977). Matched moments, divided by the prior: expectation
//! propagation, T. P. Minka, UAI 2001 (recalled, not looked up).

use std::f64::consts::TAU;

/// Standard deviation of a call before any was seen, and how many calls that counts for.
const DEVIATION: (f64, f64) = (0.1, 5.0);

/// Smallest standard deviation of a call that is believed.
const LEAST: f64 = 0.01;

/// Part of the calls that are delayed, before any was seen, and how many calls that counts for. Arbitrary: forgotten after some steps.
const DELAYED: (f64, f64) = (0.05, 50.0);

/// Most of them. Arbitrary: with more nobody knows what a call takes.
const MOST_DELAYED: f64 = 0.4;

/// Part of the calls that are quicker than they take: of other data, or for another reason that nobody knows. Arbitrary: one in two hundred.
const QUICKER: f64 = 0.005;

/// Of many calls the middle one is delayed more often than if they were one by one: they share a step. Arbitrary: a tenth as often as one.
const LEAST_OF_MANY: f64 = 0.1;

/// Range of both, in e-folds.
pub(super) const RANGE: f64 = 8.0;

/// Standard deviation of what calls of one step share, which their number does not take away.
pub(super) const WOBBLE: f64 = 0.03;

/// Batches that the spread counts for, so that it follows the latest. Arbitrary: their spread is then known to 5 %.
const MEMORY: f64 = 400.0;

/// Rounds of expectation and maximisation; three are as good as ten.
const ROUNDS: usize = 3;

/// Part of the calls that are clean where their level is beyond doubt.
const CLEAN: f64 = 0.75;

/// Clean calls below which a level is not moved by them.
const LEAST_CLEAN: f64 = 0.5;

/// Fraction of the cells that differ from their neighbours, such as powers of two, and the standard deviation of that. Arbitrary.
const UNLIKE: (f64, f64) = (0.05, 2.0);

/// Precision relative to the prior, below which calls add nothing, and the largest variance of what they add.
const LEAST_TOLD: f64 = 1e-3;
const MOST_VARIANCE: f64 = 1e3;

/// How calls of a site spread.
#[derive(Debug, Clone)]
pub(super) struct Noise {
    /// Sum of squared deviations of calls from their levels, those of calls far off cut, and how many.
    squares: (f64, f64),
    /// Calls that were delayed, and all of them.
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
    /// With a standard deviation.
    #[cfg(test)]
    pub(super) fn of(deviation: f64) -> Self {
        let mut noise = Self::default();
        noise.squares.0 = deviation * deviation * noise.squares.1;
        noise
    }

    /// Takes in calls, those too that are not believed yet.
    ///
    /// # Arguments
    /// * `off` - by how much they are off what is known of them
    /// * `known` - calls that this is known from
    pub(super) fn add(&mut self, calls: f64, off: f64, known: f64) {
        let clean = self.clean(calls, off, self.variance() / known);
        // The mean of `calls` spreads as one call does, divided by their number.
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

    /// Part of the calls that are delayed.
    fn part(&self) -> f64 {
        (self.delayed.0 / self.delayed.1).min(MOST_DELAYED)
    }

    /// Variance of a batch about its level.
    pub(super) fn spread(&self, calls: f64) -> f64 {
        self.variance() / calls.max(1.0) + WOBBLE * WOBBLE
    }

    /// Logarithm of the density of what a batch is off.
    ///
    /// # Arguments
    /// * `more` - variance of what it is off from, in addition to that of the batch
    pub(super) fn ln_density(&self, calls: f64, off: f64, more: f64) -> f64 {
        let [clean, other] = self.densities(calls, off, more);
        (clean + other).ln()
    }

    /// Of a clean batch, and of another one: as it is the middle one of its calls, as many of these must be delayed.
    fn densities(&self, calls: f64, off: f64, more: f64) -> [f64; 2] {
        let part = if off > 0.0 { self.part() } else { QUICKER };
        let of_many = (4.0 * part * (1.0 - part)).powf(0.5 * (calls - 1.0).max(0.0));
        let part = part * of_many.max(LEAST_OF_MANY);
        let variance = self.spread(calls) + more;
        [(1.0 - part) * normal_density(off, variance), part / RANGE]
    }

    /// Probability that a batch is not delayed.
    fn clean(&self, calls: f64, off: f64, more: f64) -> f64 {
        let [clean, other] = self.densities(calls, off, more);
        clean / (clean + other)
    }

    /// Where calls of one kind lie, as they alone say it.
    ///
    /// # Arguments
    /// * `sorted` - calls and logarithm of each batch, ascending, at least one
    /// * `prior` - what is known of the level without them, if anything is
    pub(super) fn level(&self, sorted: &[(f64, f64)], prior: Option<Normal>) -> Level {
        let all: f64 = sorted.iter().map(|(calls, _)| calls).sum();
        let mut modes: Vec<Mode> = Vec::with_capacity(3);
        let begins = [
            middle_of_narrowest(sorted),
            sorted[(sorted.len() - 1) / 4].1,
        ];
        for begin in begins.into_iter().chain(prior.map(|(mean, _)| mean)) {
            if modes.iter().any(|mode| (mode.level - begin).abs() < WOBBLE) {
                continue;
            }
            let mode = self.mode(sorted, begin, prior);
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

    /// The likeliest level near one.
    fn mode(&self, sorted: &[(f64, f64)], begin: f64, prior: Option<Normal>) -> Mode {
        let (mut level, mut clean) = (begin, 0.0);
        for _ in 0..ROUNDS {
            let (mut sum, mut weights) = (0.0, 0.0);
            for (calls, value) in sorted {
                let weight = calls * self.clean(*calls, value - level, 0.0);
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
        for (calls, value) in sorted {
            ln_weight += self.ln_density(*calls, value - level, 0.0);
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

/// What calls of one kind say of their level.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Level {
    /// The likeliest.
    pub likeliest: f64,
    /// How many calls are not delayed if it is there.
    pub clean: f64,
    /// The normal number that says as much of the level.
    pub says: Normal,
}

struct Mode {
    level: f64,
    clean: f64,
    ln_weight: f64,
    /// Of the level.
    variance: f64,
}

/// A level that says as much as those together, without what was known before.
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

/// The middle of the half of the batches that lie closest together.
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

/// What was seen counts for less with each batch.
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
