//! Detects that a class's time at equal parameters has changed.
//!
//! The residuals are those of whole steps, beyond the state of the machine that all instances share
//! ([`machine`](super::machine)). The watch explains the latest ones, of any number of steps, by three hypotheses and
//! decides by the ratio of their likelihoods:
//!
//! ```text
//! usual     each is noise about 0, or a delay                          ∏ f(r)
//! stretch   another state affects this class alone for some steps      P(begins) · stays^(steps − 1) · ∫ ∏ f(r − μ) p(μ) dμ,  |μ| ≤ ln 2;
//!           μ ~ N(0, 1) where no other instance shows the machine's state
//! change    the class has another level from here on                   P(changes) · ∫ ∏ f(r − μ) p(μ) dμ
//! f(r) = (1 − p) N(0, σ²/calls + ω²) + p / 8                           noise and delays ([`noise`](super::noise))
//! ```
//!
//! So a few steps that agree on a distant level are a change, delayed calls, which do not agree, are no change, and a
//! small change must outlast the usual states. Meanwhile, calls that noise does not explain are not believed. The
//! integral is Laplace's approximation.
//!
//! ```text
//! residuals 0.0, 0.0, ..., 4.1, 4.1, 4.1      Changed(4.1) at the second or third step
//! residuals 0.0, 0.0, ..., 0.6 for six steps  Suspected, then Same again
//! ```
//!
//! # Source
//! The maximum over the beginnings of a change: G. Lorden, *Procedures for reacting to a change in distribution*, Ann. Math. Stat. 42 (1971)
//! (recalled, not looked up).

use std::f64::consts::{LN_2, TAU};

use super::noise::{Noise, RANGE, WOBBLE};

/// Logarithms of the probabilities, per step, that a class changes permanently and that the machine enters another
/// state for a while: e⁻⁹ and ten times that. Arbitrary: in a run of some thousand steps a change is as likely as
/// not.
const LN_CHANGES: f64 = -9.0;
const LN_STRETCH: f64 = LN_CHANGES + std::f64::consts::LN_10;

/// Logarithm of the probability that such a state lasts for another step: five steps on average.
const LN_STAYS: f64 = -0.223;

/// Maximum effect of a state that affects one class alone on the logarithm of a time: a neighbour on the same core or
/// in the same cache takes at most half of its speed.
pub const STATE: f64 = LN_2;

/// Variance of the logarithm of the factor by which a state of the machine slows calls down, where other instances do
/// not show it. Chosen on recorded runs on a machine with other tenants: factors of 2 to 12, the largest ones rare.
const OF_MACHINE: f64 = 1.0;

/// Logarithm of the odds at which a change is accepted: 19 to 1.
const LN_ODDS: f64 = 2.944;

/// Smallest accepted change of a level, in logarithms: 15 %. Arbitrary: below it, a class that is tried again would
/// rarely be kept.
const MIN_CHANGE: f64 = 0.14;

/// Maximum number of recorded steps; a longer state without a verdict is forgotten.
const MAX_STEPS: usize = 128;

/// Verdict on the residuals so far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Level {
    /// Unchanged.
    Same,
    /// Possibly changed: these calls must not be believed yet.
    Suspected,
    /// Changed by a factor of which this is the logarithm.
    Changed(f64),
}

/// Watches the residuals of one class at one site.
#[derive(Debug, Clone, Default)]
pub struct LevelWatch {
    /// Residual and number of calls of each step since the first unusual one.
    since: Vec<(f64, f64)>,
}

impl LevelWatch {
    /// Takes in the calls of a step.
    ///
    /// # Arguments
    /// * `residual` - median logarithm of the ratio of their time to the expected one
    /// * `noise` - noise of the site
    /// * `is_machine_seen` - whether other instances show the state of the machine
    pub(super) fn take(
        &mut self,
        (calls, residual): (f64, f64),
        noise: &Noise,
        is_machine_seen: bool,
    ) -> Level {
        self.since.push((residual, calls));
        let mut is_unusual = false;
        for n_steps in latest(self.since.len()) {
            let steps = &self.since[self.since.len() - n_steps..];
            let (level, gain) = other_level(steps, noise);
            if gain <= 0.0 || level.abs() < MIN_CHANGE {
                continue;
            }
            is_unusual = true;
            let stretch = LN_STRETCH
                + ln_of_state(level, is_machine_seen)
                + RANGE.ln()
                + LN_STAYS * (n_steps - 1) as f64;
            if LN_CHANGES + gain >= LN_ODDS && LN_CHANGES - stretch >= LN_ODDS {
                self.since.clear();
                return Level::Changed(level);
            }
        }
        if !is_unusual || self.since.len() > MAX_STEPS {
            self.since.clear();
            return Level::Same;
        }
        Level::Suspected
    }

    /// Whether recent calls were unusual.
    pub fn is_suspecting(&self) -> bool {
        !self.since.is_empty()
    }
}

/// Logarithm of the prior density of the effect of a passing state on the logarithm of a time.
fn ln_of_state(level: f64, is_machine_seen: bool) -> f64 {
    match is_machine_seen {
        true if level.abs() <= STATE => -(2.0 * STATE).ln(),
        true => f64::NEG_INFINITY,
        false => -0.5 * (level * level / OF_MACHINE + (TAU * OF_MACHINE).ln()),
    }
}

/// Numbers of latest steps that a change may have lasted: every one up to four, then in steps of about a quarter, so
/// that a long watch takes little time; and all `n`.
fn latest(n: usize) -> impl Iterator<Item = usize> {
    let next = |k: &usize| Some(k + k.div_ceil(4));
    let some = std::iter::successors(Some(1), next).take_while(move |k| *k < n);
    some.chain([n])
}

/// The level that some steps agree on, and the logarithm of the likelihood ratio of any other level to the usual one.
fn other_level(steps: &[(f64, f64)], noise: &Noise) -> (f64, f64) {
    let weighted = steps
        .iter()
        .map(|(r, calls)| (1.0 / noise.spread(*calls), *r));
    let mut weighted: Vec<_> = weighted.collect();
    let level = weighted_median(&mut weighted);
    let weights: f64 = weighted.iter().map(|(weight, _)| weight).sum();
    let density = |calls: f64, off: f64| noise.ln_density(calls, off, 0.0);
    let likelier = steps
        .iter()
        .map(|(r, calls)| density(*calls, r - level) - density(*calls, *r));
    let gain = likelier.sum::<f64>();
    (level, gain + 0.5 * (TAU / weights).ln() - RANGE.ln())
}

/// Prior weight of [`WOBBLE`], in steps.
const STEPS_KNOWN: f64 = 5.0;

/// Effect of the machine's state on the calls of successive steps, in logarithms: the error of the mean of a few
/// steps that does not shrink with the number of calls.
#[derive(Debug, Clone)]
pub struct StepStates {
    /// The current step: its number, its calls, and the sum of their residuals.
    step: (u64, f64, f64),
    /// Mean of the previous step.
    before: f64,
    n_steps: f64,
    /// Sums of the squares of the steps' means, minus the contribution of the spread of calls, and of the products of
    /// successive means.
    squares: f64,
    products: f64,
}

impl Default for StepStates {
    fn default() -> Self {
        StepStates {
            step: (0, 0.0, 0.0),
            before: 0.0,
            n_steps: STEPS_KNOWN,
            squares: STEPS_KNOWN * WOBBLE * WOBBLE,
            products: 0.0,
        }
    }
}

impl StepStates {
    /// Takes in calls of a step, as [`LevelWatch::take`] does, and leaves out residuals beyond [`STATE`].
    pub fn take(&mut self, (step, calls): (u64, f64), residual: f64, deviation: f64) {
        if step != self.step.0 {
            self.end_step(deviation);
            self.step = (step, 0.0, 0.0);
        }
        if residual.abs() <= STATE {
            self.step.1 += calls;
            self.step.2 += calls * residual;
        }
    }

    fn end_step(&mut self, deviation: f64) {
        let (_, calls, sum) = self.step;
        if calls > 0.0 {
            let mean = sum / calls;
            self.n_steps += 1.0;
            self.squares += mean * mean - deviation * deviation / calls;
            self.products += mean * self.before;
            self.before = mean;
        }
    }

    /// Variance of the mean of consecutive steps, for an autoregressive process of first order.
    pub fn variance_of_mean(&self, steps: f64) -> f64 {
        if self.squares <= 0.0 {
            return 0.0;
        }
        let of_step = self.squares / self.n_steps;
        let follows = (self.products / self.squares).clamp(0.0, 0.95);
        of_step * ((1.0 + follows) / (1.0 - follows) / steps.max(1.0)).min(1.0)
    }
}

/// The value with half of the weight on either side.
///
/// # Arguments
/// * `weighted` - weight and value, in any order; the function sorts them
pub fn weighted_median(weighted: &mut [(f64, f64)]) -> f64 {
    weighted.sort_by(|a, b| a.1.total_cmp(&b.1));
    sorted_median(weighted)
}

/// [`weighted_median`] of sorted values.
pub(super) fn sorted_median(weighted: &[(f64, f64)]) -> f64 {
    let half = weighted.iter().map(|(weight, _)| weight).sum::<f64>() / 2.0;
    let mut sum = 0.0;
    for (weight, value) in weighted.iter() {
        sum += weight;
        if sum >= half {
            return *value;
        }
    }
    0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Verdicts on steps of eight calls.
    fn levels(residuals: impl Iterator<Item = f64>, deviation: f64) -> Vec<Level> {
        let mut watch = LevelWatch::default();
        let mut noise = Noise::of(deviation);
        let levels = residuals.map(|r| {
            noise.add(8.0, r, 100.0);
            watch.take((8.0, r), &noise, true)
        });
        levels.collect()
    }

    fn changes(levels: &[Level]) -> Vec<usize> {
        let is_changed = |step: &usize| matches!(levels[*step], Level::Changed(_));
        (0..levels.len()).filter(is_changed).collect()
    }

    #[test]
    fn a_few_steps_that_agree_on_a_far_level_are_a_change() {
        let wobble = |step: usize| 0.02 * (step as f64).sin();
        let found = levels(
            (0..100).map(|s| wobble(s) + if s < 50 { 0.0 } else { 4.1 }),
            0.05,
        );
        assert_eq!(changes(&found)[..1], [51], "{found:?}");
        let Level::Changed(by) = found[51] else {
            panic!()
        };
        assert!((by - 4.1).abs() < 0.03, "{by}");
    }

    /// The median of all of them since the first unusual one would be the nearer level for another fifteen steps.
    #[test]
    fn a_far_change_is_found_in_a_stretch() {
        let level = |step: usize| match step {
            0..50 => 0.0,
            50..65 => 0.6,
            _ => 4.1,
        };
        let found = levels((0..100).map(level), 0.05);
        assert!((67..70).contains(&changes(&found)[0]), "{found:?}");
    }

    #[test]
    fn delayed_steps_agree_on_nothing() {
        let mut rng = fastrand::Rng::with_seed(1);
        let residual = move |_| match rng.f64() < 0.3 {
            true => 5.0 * rng.f64(),
            false => 0.05 * (rng.f64() - 0.5),
        };
        let found = levels((0..20_000).map(residual), 0.05);
        assert!(changes(&found).len() <= 1, "{:?}", changes(&found));
    }

    /// A neighbour on the same core, for six steps at a time.
    #[test]
    fn a_state_of_the_machine_is_no_change_and_nothing_to_learn_from() {
        let slow = |step: usize| if (step / 6) % 5 == 3 { 0.6 } else { 0.0 };
        let found = levels((0..500).map(slow), 0.05);
        assert!(changes(&found).is_empty(), "{:?}", changes(&found));
        let n_believed = (0..500)
            .filter(|s| slow(*s) > 0.0 && found[*s] == Level::Same)
            .count();
        assert!(n_believed < 5, "{n_believed}");
    }

    #[test]
    fn a_small_change_that_lasts_is_one() {
        let found = levels((0..200).map(|s| if s < 12 { 0.0 } else { 0.4 }), 0.05);
        let changes = changes(&found);
        assert!((25..60).contains(&changes[0]), "{changes:?}");
    }
}
