//! Chooses when to decide: decisions take their share of the run, and come early if steps take longer than usual.
//!
//! A class that becomes slow costs excess time until the next decision. Steps that take far longer than earlier ones
//! reveal it for the price of reading a clock: that of the process's processor time, since any step may wait on a
//! busy machine. Regular and early decisions each have a share of the run's time, and beyond it only trials are
//! decided on.
//!
//! ```text
//! a run of 8 s, 4 ms per decision: regular decisions may take 40 ms (DUE_SHARE), so 8 more fit after 8 ms of them
//!     steps 5 to 16 to come: a decision every 2 steps (Meetings::stride)
//! two steps of 1.5 times the usual length: Alarm::Long, an early decision if their share has room
//! ```

use std::collections::VecDeque;

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// Part of the run's processor seconds that regular decisions may take.
const DUE_SHARE: f64 = 0.005;

/// Part that early decisions may take. It is separate: early decisions are worth most after reading many records has
/// used up the other share.
const ALARMED_SHARE: f64 = 0.0025;

/// Part beyond which no dispatcher begins a trial, however valuable: all decisions together then stay within a
/// hundredth, or one decision more.
const TRYING_SHARE: f64 = 0.01;

/// Processor seconds that either sort of decision may take in any case, so that a run of a fifth of a second can
/// adapt too.
const LEAST_S: f64 = 0.002;

/// Lower bound of the reported fraction, so that a first report does not promise an endless run.
const LEAST_FRACTION: f64 = 0.01;

/// Maximum number of steps between two decisions.
const MOST_STEPS: f64 = 50.0;

/// Number of steps whose median length is the usual one.
const USUAL: usize = 31;

/// Ratio to the usual length above which a step is unusual, if the previous one was too.
const ALARMING: f64 = 1.3;

/// Ratio above which a step costs more than a decision, whatever was spent; after a few such steps the length is
/// usual.
const FAR_TOO_LONG: f64 = 2.0;

/// Length of steps compared with the usual length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Alarm {
    /// Usual, or a single unusual step.
    None,
    /// Two successive unusual steps: worth a decision if the share has room.
    Long,
    /// Two successive steps that are far too long: worth a decision in any case.
    FarTooLong,
}

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
    /// Processor seconds of early decisions.
    pub alarmed_s: f64,
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
        self.own_s - self.alarmed_s + self.a_decision_s <= LEAST_S.max(share_s)
    }

    /// Whether a dispatcher may begin trials, which need a decision at the next step.
    pub fn may_try(&self) -> bool {
        let share_s = TRYING_SHARE * self.run_s * self.whole();
        self.own_s + self.a_decision_s <= LEAST_S.max(share_s)
    }

    /// Whether an early decision is within its share.
    ///
    /// # Arguments
    /// * `is_pressing` - whether a class has become far slower or is suspected to have changed; smaller changes leave
    ///   half of the share for such cases
    pub fn has_room(&self, is_pressing: bool) -> bool {
        let share_s = LEAST_S.max(ALARMED_SHARE * self.run_s * self.whole());
        let part = if is_pressing { 1.0 } else { 0.5 };
        self.alarmed_s + self.a_decision_s <= part * share_s
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
    /// Lengths of the latest steps, processor seconds.
    lengths_s: VecDeque<f64>,
    /// Lengths of the latest steps without a trial, processor seconds.
    untried_s: VecDeque<f64>,
    /// Alarm of the last step alone.
    last: Alarm,
}

impl Pace {
    /// # Arguments
    /// * `now_s` - processor seconds of the process
    pub fn new(now_s: f64) -> Self {
        Pace {
            began_s: now_s,
            lengths_s: VecDeque::with_capacity(USUAL),
            untried_s: VecDeque::with_capacity(USUAL),
            last: Alarm::None,
        }
    }

    /// Reports the end of a step.
    ///
    /// # Arguments
    /// * `is_trial` - whether a class was being explored in it
    ///
    /// # Returns
    /// The smaller alarm of this step and the previous one.
    pub fn step_ended(&mut self, now_s: f64, is_trial: bool) -> Alarm {
        let length_s = now_s - self.began_s;
        if !is_trial {
            push_last(&mut self.untried_s, length_s);
        }
        self.take(length_s)
    }

    /// Seconds by which the latest step was longer than the usual one; negative if it was shorter.
    pub fn lost_s(&self) -> f64 {
        let usual_s = middle(&self.untried_s);
        let last_s = self.lengths_s.back();
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

    fn take(&mut self, length_s: f64) -> Alarm {
        let usual_s = middle(&self.lengths_s);
        let alarm = usual_s.map_or(Alarm::None, |usual_s| match length_s / usual_s {
            ratio if ratio > FAR_TOO_LONG => Alarm::FarTooLong,
            ratio if ratio > ALARMING => Alarm::Long,
            _ => Alarm::None,
        });
        push_last(&mut self.lengths_s, length_s);
        std::mem::replace(&mut self.last, alarm).min(alarm)
    }
}

fn push_last(lengths_s: &mut VecDeque<f64>, length_s: f64) {
    if lengths_s.len() == USUAL {
        lengths_s.pop_front();
    }
    lengths_s.push_back(length_s);
}

fn middle(lengths_s: &VecDeque<f64>) -> Option<f64> {
    let mut sorted: Vec<f64> = lengths_s.iter().copied().collect();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_long_steps_are_alarming_and_after_a_while_they_are_usual() {
        let mut pace = Pace::new(0.0);
        let mut is = |alarm, length_s| pace.take(length_s) == alarm;
        assert!((0..40).all(|_| is(Alarm::None, 1.0)));
        assert!(is(Alarm::None, 3.0), "a spike");
        assert!((0..40).all(|k| is(Alarm::None, 1.0 + 0.02 * f64::from(k % 3))));
        assert!(is(Alarm::None, 1.5));
        assert!(is(Alarm::Long, 5.0), "the one before was not far too long");
        assert!(is(Alarm::FarTooLong, 5.0));
        let alarmed = (0..40).filter(|_| is(Alarm::Long, 1.5)).count();
        assert!((10..20).contains(&alarmed), "{alarmed}");
    }

    /// 4 ms per decision, 500 ms per step, 12 steps to come: 40 ms are due to decisions, and 8 ms are spent.
    #[test]
    fn decisions_take_their_share() {
        let spent = Spent {
            own_s: 0.008,
            a_decision_s: 0.004,
            alarmed_s: 0.0,
            run_s: 2.0,
            step: 4,
            fraction: 0.25,
        };
        let meetings = spent.meetings();
        assert_eq!((meetings.stride, meetings.asked_every), (2, 1));
        assert!(spent.has_room(true));
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
        assert!(
            spendthrift.has_room(true),
            "what is brought forward has its own"
        );
        // 0.005 of 8 s, whatever early decisions took.
        assert!(spent.is_affordable() && !spendthrift.is_affordable());
        let brought_forward = Spent {
            alarmed_s: 0.02,
            ..spendthrift
        };
        assert!(brought_forward.is_affordable() && !brought_forward.has_room(true));
        let alarmed = Spent {
            alarmed_s: 0.018,
            ..spent
        };
        assert!(!alarmed.has_room(true), "20 ms");
        // 10 ms of these are reserved for classes that are far slower.
        let half = Spent {
            alarmed_s: 0.009,
            ..spent
        };
        assert!(half.has_room(true) && !half.has_room(false));
        let short = Spent {
            run_s: 0.004,
            ..spent
        };
        assert_eq!(short.meetings().asked_every, 8);
        assert!(!short.has_room(true));
        let first = Spent {
            own_s: 0.001,
            a_decision_s: 0.001,
            ..short
        };
        assert!(first.has_room(true) && first.is_affordable(), "2 ms");
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
