//! Detects that a class's time at equal parameters has changed.
//!
//! The watch explains the residuals since the first unusual one by three hypotheses and decides by the ratio of their
//! likelihoods:
//!
//! ```text
//! usual     each is noise about 0, or a delay                          ∏ f(r)
//! stretch   the machine is in another state for some steps             P(begins) · stays^(steps − 1) · ∫ ∏ f(r − μ) p(μ) dμ,  |μ| ≤ ln 2
//! change    the class has another level from here on                   P(changes) · ∫ ∏ f(r − μ) p(μ) dμ
//! f(r) = (1 − p) N(0, σ²/calls + ω²) + p / 8                           noise and delays ([`noise`](super::noise))
//! ```
//!
//! So a few calls that agree on a distant level are a change at once, delayed calls, which do not agree, are no
//! change, and a small change must outlast the usual states of the machine. Meanwhile, calls that noise does not
//! explain are not believed. The integral is Laplace's approximation.
//!
//! ```text
//! residuals 0.0, 0.0, ..., 4.1, 4.1, 4.1      Changed(4.1) at the third call
//! residuals 0.0, 0.0, ..., 0.6 for six steps  Suspected, then Same again
//! ```

use std::f64::consts::{LN_2, TAU};

use super::noise::{Noise, RANGE, WOBBLE};

/// Logarithms of the probabilities, per step, that a class changes permanently and that the machine enters another
/// state for a while: e⁻⁹ and ten times that. Arbitrary: in a run of some thousand steps a change is as likely as
/// not.
const LN_CHANGES: f64 = -9.0;
const LN_STRETCH: f64 = LN_CHANGES + std::f64::consts::LN_10;

/// Logarithm of the probability that such a state lasts for another step: five steps on average.
const LN_STAYS: f64 = -0.223;

/// Maximum effect of a state of the machine on the logarithm of a time: a neighbour on the same core takes at most
/// half of its speed, and waiting for a processor is not in a call's time.
pub const STATE: f64 = LN_2;

/// Logarithm of the odds at which a change is accepted: 19 to 1.
const LN_ODDS: f64 = 2.944;

/// Smallest accepted change of a level, in logarithms: 15 %. Arbitrary: below it, a class that is tried again would
/// rarely be kept.
const LEAST: f64 = 0.14;

/// Maximum number of recorded batches; a longer state without a verdict is forgotten.
const MOST: usize = 512;

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
    /// Residual and number of calls of each batch since the first unusual one.
    since: Vec<(f64, f64)>,
    /// Number of steps of these batches, and the last step.
    steps: (u64, u64),
}

impl LevelWatch {
    /// Takes in calls.
    ///
    /// # Arguments
    /// * `calls` - their step and number
    /// * `residual` - mean logarithm of the ratio of their time to the expected one
    /// * `noise` - noise of the site
    pub(super) fn take(
        &mut self,
        (step, calls): (u64, f64),
        residual: f64,
        noise: &Noise,
    ) -> Level {
        self.since.push((residual, calls));
        let (n_steps, last) = self.steps;
        self.steps = (n_steps + u64::from(n_steps == 0 || step != last), step);
        let (level, gain) = self.other_level(noise);
        if gain <= 0.0 || level.abs() < LEAST || self.since.len() > MOST {
            self.forget();
            return Level::Same;
        }
        let stretch = match level.abs() <= STATE {
            true => {
                let narrower = (RANGE / (2.0 * STATE)).ln();
                LN_STRETCH + narrower + LN_STAYS * (self.steps.0 - 1) as f64
            }
            false => f64::NEG_INFINITY,
        };
        let is_change = LN_CHANGES + gain >= LN_ODDS && LN_CHANGES - stretch >= LN_ODDS;
        if is_change {
            self.forget();
            return Level::Changed(level);
        }
        Level::Suspected
    }

    /// Whether recent calls were unusual.
    pub fn is_suspecting(&self) -> bool {
        !self.since.is_empty()
    }

    fn forget(&mut self) {
        self.since.clear();
        self.steps = (0, 0);
    }

    /// The level that the calls agree on, and the logarithm of the likelihood ratio of any other level to the usual
    /// one.
    fn other_level(&self, noise: &Noise) -> (f64, f64) {
        let since = self.since.iter();
        let mut weighted: Vec<_> = since
            .map(|(r, calls)| (1.0 / noise.spread(*calls), *r))
            .collect();
        let level = weighted_median(&mut weighted);
        let weights: f64 = weighted.iter().map(|(weight, _)| weight).sum();
        let since = self.since.iter();
        let density = |calls: f64, off: f64| noise.ln_density(calls, off, 0.0);
        let likelier = since.map(|(r, calls)| density(*calls, r - level) - density(*calls, *r));
        let gain = likelier.sum::<f64>();
        (level, gain + 0.5 * (TAU / weights).ln() - RANGE.ln())
    }
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
    /// Takes in calls, as [`LevelWatch::take`] does, and leaves out residuals beyond [`STATE`].
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

    /// Verdicts on single calls, eight in a step.
    fn levels(residuals: impl Iterator<Item = f64>, deviation: f64) -> Vec<Level> {
        let mut watch = LevelWatch::default();
        let mut noise = Noise::of(deviation);
        let taken = residuals.zip(0_u64..);
        let levels = taken.map(|(r, call)| {
            noise.add(1.0, r, 100.0);
            watch.take((call / 8, 1.0), r, &noise)
        });
        levels.collect()
    }

    fn changes(levels: &[Level]) -> Vec<usize> {
        let is_changed = |call: &usize| matches!(levels[*call], Level::Changed(_));
        (0..levels.len()).filter(is_changed).collect()
    }

    #[test]
    fn a_few_calls_that_agree_on_a_far_level_are_a_change() {
        let wobble = |call: usize| 0.02 * (call as f64).sin();
        let found = levels(
            (0..100).map(|c| wobble(c) + if c < 50 { 0.0 } else { 4.1 }),
            0.05,
        );
        assert_eq!(changes(&found)[..1], [52], "{found:?}");
        let Level::Changed(by) = found[52] else {
            panic!()
        };
        assert!((by - 4.1).abs() < 0.03, "{by}");
    }

    #[test]
    fn delayed_calls_agree_on_nothing() {
        let mut rng = fastrand::Rng::with_seed(1);
        let residual = move |_| match rng.f64() < 0.3 {
            true => 5.0 * rng.f64(),
            false => 0.05 * (rng.f64() - 0.5),
        };
        let found = levels((0..20_000).map(residual), 0.05);
        assert!(changes(&found).is_empty(), "{:?}", changes(&found));
    }

    /// A neighbour on the same core, for six steps at a time.
    #[test]
    fn a_state_of_the_machine_is_no_change_and_nothing_to_learn_from() {
        let slow = |call: usize| if (call / 48) % 5 == 3 { 0.6 } else { 0.0 };
        let found = levels((0..4000).map(slow), 0.05);
        assert!(changes(&found).is_empty(), "{:?}", changes(&found));
        let n_believed = (0..4000)
            .filter(|c| slow(*c) > 0.0 && found[*c] == Level::Same)
            .count();
        assert!(n_believed < 40, "{n_believed}");
    }

    #[test]
    fn a_small_change_that_lasts_is_one() {
        let found = levels((0..1000).map(|c| if c < 100 { 0.0 } else { 0.4 }), 0.05);
        let changes = changes(&found);
        assert!((200..500).contains(&changes[0]), "{changes:?}");
    }
}
