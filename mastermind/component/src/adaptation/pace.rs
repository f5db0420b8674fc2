//! Chooses when to decide: regular decisions take their share of the run, and a decision comes early once steps have
//! lost as much as it costs.
//!
//! A class that becomes slow costs excess time until the next decision. Steps that take longer than earlier ones
//! reveal it for the price of reading a clock: that of the process's processor time, since any step may wait on a
//! busy machine. Only the excess that two successive steps have in common counts: a single long step is no change, and
//! for steps of equal distribution the common excess is negative on average.
//!
//! ```text
//! lost = max(0, lost + min(excess, excess of the step before))     since the last decision; excess over the median of
//!                                                                  31 steps before it
//! early decision   lost > patience · cost of a decision
//! patience         1; doubled by an early decision that changes nothing and suspects nothing, 1 again after one that
//!                  changes something
//! ```
//!
//! So a class that becomes slow loses at most about as much as a decision costs before it is examined, and early
//! decisions in vain cost less than what the steps before them have lost: their number grows with the logarithm of
//! the loss only.
//!
//! ```text
//! a run of 8 s, 4 ms per decision: regular decisions may take 40 ms (DUE_SHARE), so 8 more fit after 8 ms of them
//!     steps 5 to 16 to come: a decision every 2 steps (Meetings::stride)
//! two steps of 10 ms where 5 ms are usual: 5 ms lost, an early decision; without a change there, the next after 8 ms
//! ```
//!
//! # Source
//! A. R. Karlin, M. S. Manasse, L. Rudolph, D. D. Sleator, *Competitive snoopy caching*, Algorithmica 3 (1988): pay
//! once as much was lost. E. S. Page, *Continuous inspection schemes*, Biometrika 41 (1954): the cumulative sum.

use std::collections::VecDeque;

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// Part of the run's processor seconds that regular decisions may take.
const DUE_SHARE: f64 = 0.005;

/// Part beyond which no dispatcher begins a trial, however valuable: all decisions together then stay within a
/// hundredth, or one decision more.
const TRYING_SHARE: f64 = 0.01;

/// Processor seconds that decisions may take in any case, so that a run of a fifth of a second can
/// adapt too.
const LEAST_S: f64 = 0.002;

/// Lower bound of the reported fraction, so that a first report does not promise an endless run.
const LEAST_FRACTION: f64 = 0.01;

/// Maximum number of steps between two decisions.
const MOST_STEPS: f64 = 50.0;

/// Number of steps whose median length is the usual one.
const USUAL: usize = 31;

/// Seconds that a vote of the ranks on an early decision takes: a reduction of two numbers within a node.
pub const ASKING_S: f64 = 20e-6;

/// Part of the run's time that votes may take.
const ASKING_SHARE: f64 = 0.0025;

/// Schedule of the ranks' meetings; the same on every rank.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Meetings {
    /// Steps until the next decision.
    pub stride: u64,
    /// Steps between votes on an early decision.
    pub asked_every: u64,
}

/// Cost of decisions so far, and progress of the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Spent {
    /// Processor seconds of all decisions so far, and of one decision now.
    pub own_s: f64,
    pub a_decision_s: f64,
    /// Processor seconds of early decisions and of those about trials.
    pub extra_s: f64,
    /// Processor seconds and steps since the run began.
    pub run_s: f64,
    pub step: u64,
    /// Part of the run that is done; 0 if unknown.
    pub fraction: f64,
}

impl Spent {
    /// Expected length of the whole run as a multiple of the length so far: 2 if the fraction is unknown.
    fn whole(&self) -> f64 {
        match self.fraction > 0.0 {
            true => 1.0 / self.fraction.clamp(LEAST_FRACTION, 1.0),
            false => 2.0,
        }
    }

    /// Distributes the remaining share of regular decisions over the steps to come.
    pub fn meetings(&self) -> Meetings {
        let steps = self.step.max(1) as f64;
        let asked_every = asked_every(ASKING_S, self.run_s / steps, MOST_STEPS);
        let steps_to_come = steps * (self.whole() - 1.0);
        let left_s = DUE_SHARE * self.run_s * self.whole() - self.own_s;
        let stride = match left_s > 0.0 {
            _ if self.own_s + self.a_decision_s <= LEAST_S => 1.0,
            true => (self.a_decision_s * steps_to_come / left_s).ceil(),
            false => MOST_STEPS,
        };
        Meetings {
            stride: stride.clamp(1.0, MOST_STEPS) as u64,
            asked_every: asked_every as u64,
        }
    }

    /// Whether a regular decision is within its share.
    pub fn is_affordable(&self) -> bool {
        let share_s = DUE_SHARE * self.run_s * self.whole();
        self.own_s - self.extra_s + self.a_decision_s <= LEAST_S.max(share_s)
    }

    /// Whether a dispatcher may begin trials, which need a decision at the next step.
    pub fn may_try(&self) -> bool {
        let share_s = TRYING_SHARE * self.run_s * self.whole();
        self.own_s + self.a_decision_s <= LEAST_S.max(share_s)
    }
}

/// Number of steps between votes of the ranks, a whole number.
///
/// # Arguments
/// * `asking_s` - seconds of a vote
/// * `a_step_s` - seconds of a step
/// * `most` - upper bound, for immeasurably short steps
pub fn asked_every(asking_s: f64, a_step_s: f64, most: f64) -> f64 {
    let steps = (asking_s / (ASKING_SHARE * a_step_s)).ceil();
    steps.clamp(1.0, most)
}

/// Does some work and adds its processor seconds to an account.
pub fn timed<T>(account_s: &mut f64, work: impl FnOnce() -> T) -> T {
    let begin_s = thread_s();
    let done = work();
    *account_s += thread_s() - begin_s;
    done
}

/// Processor seconds of this process, of all its threads.
pub fn process_s() -> f64 {
    clock_s(ClockId::ProcessCPUTime)
}

/// Processor seconds of this thread.
pub fn thread_s() -> f64 {
    clock_s(ClockId::ThreadCPUTime)
}

fn clock_s(clock: ClockId) -> f64 {
    let time = clock_gettime(clock);
    time.tv_sec as f64 + 1e-9 * time.tv_nsec as f64
}

/// Lengths of the application's steps.
#[derive(Debug)]
pub struct Pace {
    /// Processor seconds of the process when the present step began.
    began_s: f64,
    /// Lengths of the latest steps before the last decision, processor seconds, and the usual one of them.
    lengths_s: VecDeque<f64>,
    usual_s: Option<f64>,
    /// Lengths of the steps since: they count as usual only once a decision has examined them.
    since_s: VecDeque<f64>,
    /// Lengths of the latest steps without a trial, processor seconds.
    untried_s: VecDeque<f64>,
    /// Excess of the last step over the usual length, seconds; negative if it was shorter.
    excess_s: f64,
    /// Excess that successive steps have had in common since the last decision, seconds.
    lost_s: f64,
    /// Number of decisions' costs that the next early decision needs as loss.
    patience: f64,
}

impl Pace {
    /// # Arguments
    /// * `now_s` - processor seconds of the process
    pub fn new(now_s: f64) -> Self {
        Pace {
            began_s: now_s,
            lengths_s: VecDeque::with_capacity(USUAL),
            usual_s: None,
            since_s: VecDeque::with_capacity(USUAL),
            untried_s: VecDeque::with_capacity(USUAL),
            excess_s: 0.0,
            lost_s: 0.0,
            patience: 1.0,
        }
    }

    /// Reports the end of a step.
    ///
    /// # Arguments
    /// * `is_trial` - whether a class was being explored in it
    pub fn step_ended(&mut self, now_s: f64, is_trial: bool) {
        let length_s = now_s - self.began_s;
        if !is_trial {
            push_last(&mut self.untried_s, length_s);
        }
        self.take(length_s);
    }

    /// Whether the steps since the last decision have lost what an early decision needs.
    ///
    /// # Arguments
    /// * `a_decision_s` - seconds that it takes
    pub fn is_early_worth(&self, a_decision_s: f64) -> bool {
        self.lost_s > self.patience * a_decision_s
    }

    /// Reports a decision.
    ///
    /// # Arguments
    /// * `was_early` - whether [`Self::is_early_worth`] asked for it
    /// * `has_changed` - whether it changed anything
    /// * `is_suspecting` - whether a class is suspected to have changed, which more steps decide
    pub fn decided(&mut self, was_early: bool, has_changed: bool, is_suspecting: bool) {
        for length_s in self.since_s.drain(..) {
            push_last(&mut self.lengths_s, length_s);
        }
        self.usual_s = middle(&self.lengths_s);
        self.lost_s = 0.0;
        self.patience = match (has_changed, was_early) {
            (true, _) => 1.0,
            (false, true) if !is_suspecting => 2.0 * self.patience,
            (false, _) => self.patience,
        };
    }

    /// Seconds by which the latest step was longer than the usual one without a trial; negative if it was shorter.
    pub fn lost_in_trial_s(&self) -> f64 {
        let usual_s = middle(&self.untried_s);
        let last_s = self.since_s.back();
        last_s
            .zip(usual_s)
            .map_or(0.0, |(last, usual)| last - usual)
    }

    /// Processor seconds of the process at which the present step will be as long as the longest recent step without
    /// a trial.
    pub fn longest_until_s(&self) -> f64 {
        self.began_s + self.untried_s.iter().copied().fold(0.0, f64::max)
    }

    /// Reports the start of the next step: work between steps does not count.
    pub fn step_begins(&mut self, now_s: f64) {
        self.began_s = now_s;
    }

    fn take(&mut self, length_s: f64) {
        let excess_s = self.usual_s.map_or(0.0, |usual_s| length_s - usual_s);
        let before_s = std::mem::replace(&mut self.excess_s, excess_s);
        self.lost_s = (self.lost_s + excess_s.min(before_s)).max(0.0);
        push_last(&mut self.since_s, length_s);
    }
}

fn push_last(lengths_s: &mut VecDeque<f64>, length_s: f64) {
    if lengths_s.len() == USUAL {
        lengths_s.pop_front();
    }
    lengths_s.push_back(length_s);
}

fn middle(lengths_s: &VecDeque<f64>) -> Option<f64> {
    let mut lengths_s: Vec<f64> = lengths_s.iter().copied().collect();
    let middle = lengths_s.len() / 2;
    (!lengths_s.is_empty()).then(|| *lengths_s.select_nth_unstable_by(middle, f64::total_cmp).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Early decisions of a run, by the number of its step; each takes 1 s and changes nothing.
    fn early_decisions(lengths_s: impl Iterator<Item = f64>) -> Vec<usize> {
        let mut pace = Pace::new(0.0);
        pace.take(1.0);
        pace.decided(false, false, false);
        let is_early = |(step, length_s): (usize, f64)| {
            pace.take(length_s);
            let is_early = pace.is_early_worth(1.0);
            if is_early {
                pace.decided(true, false, false);
            }
            is_early.then_some(step)
        };
        lengths_s.enumerate().filter_map(is_early).collect()
    }

    #[test]
    fn steps_that_lose_more_than_a_decision_costs_bring_it_forward() {
        let slow =
            |from: usize, by: f64| move |step: usize| 1.0 + if step < from { 0.0 } else { by };
        let far_slower = early_decisions((0..60).map(slow(40, 7.0)));
        assert_eq!(
            far_slower[..4],
            [41, 42, 43, 45],
            "each needs twice the loss"
        );
        let slower = early_decisions((0..2000).map(slow(1000, 0.3)));
        assert_eq!(slower, [1004, 1011, 1025], "usual once it was examined");
        let spikes = (0..1000).map(|step| if step % 10 == 9 { 100.0 } else { 1.0 });
        assert!(early_decisions(spikes).is_empty());
    }

    /// A number from 0 to 1 that has nothing to do with that of the next `k`.
    fn uniform(k: u64) -> f64 {
        let mixed = (k + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// The lengths of steps differ by more than several decisions cost.
    #[test]
    fn decisions_in_vain_become_rare() {
        let lengths_s: Vec<f64> = (0..10_000).map(|k| (4.0 * uniform(k)).exp()).collect();
        let early = early_decisions(lengths_s.iter().copied());
        assert!(early.len() < 12, "{early:?}");
        let slow = lengths_s.iter().map(|length_s| length_s + 200.0);
        let n_steps = lengths_s.len();
        let early = early_decisions(lengths_s.iter().copied().chain(slow));
        let first = early.iter().find(|step| **step >= n_steps);
        assert!(first.is_some_and(|step| *step < n_steps + 10), "{early:?}");
    }

    #[test]
    fn a_suspicion_is_not_in_vain() {
        let mut pace = Pace::new(0.0);
        (0..40).for_each(|_| pace.take(1.0));
        pace.decided(false, false, false);
        for (is_suspecting, is_early) in [(true, true), (true, true), (false, false)] {
            pace.decided(true, false, is_suspecting);
            (0..2).for_each(|_| pace.take(1.0));
            (0..2).for_each(|_| pace.take(2.2));
            assert_eq!(pace.is_early_worth(1.0), is_early);
        }
    }

    #[test]
    fn a_decision_that_changes_something_makes_the_next_one_as_early() {
        let mut pace = Pace::new(0.0);
        (0..40).for_each(|_| pace.take(1.0));
        pace.decided(false, false, false);
        for (has_changed, is_early) in [(false, false), (false, false), (true, true)] {
            pace.decided(true, has_changed, false);
            (0..2).for_each(|_| pace.take(1.0));
            (0..2).for_each(|_| pace.take(2.2));
            assert_eq!(pace.is_early_worth(1.0), is_early);
        }
    }

    /// 4 ms per decision, 500 ms per step, 12 steps to come: 40 ms are due to decisions, and 8 ms are spent.
    #[test]
    fn decisions_take_their_share() {
        let spent = Spent {
            own_s: 0.008,
            a_decision_s: 0.004,
            extra_s: 0.0,
            run_s: 2.0,
            step: 4,
            fraction: 0.25,
        };
        let meetings = spent.meetings();
        assert_eq!((meetings.stride, meetings.asked_every), (2, 1));
        assert!(spent.may_try());
        let trying = Spent {
            own_s: spent.own_s.max(0.011 * spent.run_s * spent.whole()),
            ..spent
        };
        assert!(!trying.may_try());
        let spendthrift = Spent {
            own_s: 0.05,
            ..spent
        };
        assert_eq!(spendthrift.meetings().stride, 50, "more than the due share");
        // 0.005 of 8 s, whatever early decisions and those about trials took.
        assert!(spent.is_affordable() && !spendthrift.is_affordable());
        let extra = Spent {
            extra_s: 0.02,
            ..spendthrift
        };
        assert!(extra.is_affordable());
        let short = Spent {
            run_s: 0.004,
            ..spent
        };
        assert_eq!(short.meetings().asked_every, 8);
        let first = Spent {
            own_s: 0.001,
            a_decision_s: 0.001,
            ..short
        };
        assert!(first.is_affordable(), "2 ms");
        assert_eq!(first.meetings().stride, 1);
        let cheap = Spent {
            a_decision_s: 0.002,
            ..spent
        };
        assert_eq!(cheap.meetings().stride, 1);
        // As much is to come as has passed: 4 steps, for which 12 ms are left.
        let unknown = Spent {
            fraction: 0.0,
            a_decision_s: 0.0065,
            ..spent
        };
        assert_eq!(unknown.meetings().stride, 3);
    }

    /// Whatever a decision costs, all decisions together use their share of the run.
    #[test]
    fn all_decisions_keep_to_their_share() {
        for a_decision_s in [1e-5, 1e-4, 1e-3] {
            let mut spent = Spent {
                a_decision_s,
                ..Spent::default()
            };
            let (n_steps, mut next) = (2000, 1);
            for step in 1..=n_steps {
                (spent.step, spent.run_s) = (step, spent.run_s + 1e-3);
                spent.fraction = step as f64 / n_steps as f64;
                if step >= next {
                    spent.own_s += a_decision_s;
                    next = step + spent.meetings().stride;
                }
            }
            let least = a_decision_s * n_steps as f64 / MOST_STEPS;
            let share_s = (DUE_SHARE * spent.run_s).max(least);
            assert!(
                spent.own_s < 1.1 * share_s,
                "{a_decision_s}: {}",
                spent.own_s
            );
            assert!(spent.own_s > 0.8 * share_s.min(a_decision_s * n_steps as f64));
        }
    }
}
