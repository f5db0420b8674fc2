//! When is it worth deciding? Decisions take their share of the run, and are brought forward where steps take longer than usual.
//!
//! A class that becomes slow costs what its calls take until the next decision. Steps that take far longer than those before
//! tell it at the price of reading a clock; what is less far off costs little until the next decision that is due.

use std::collections::VecDeque;
use std::time::Instant;

/// Part of the run's time that following and deciding may take; where it takes more it is done after several steps.
const OWN_SHARE: f64 = 0.01;

/// Part of it that it may take where steps take longer than usual.
const ALARMED_SHARE: f64 = 0.02;

/// Seconds that it may take in any case: a run of a second is to be adapted too.
const OWN_LEAST_S: f64 = 0.05;

/// Most steps between two decisions.
const MOST_STEPS: f64 = 50.0;

/// Steps that tell what is usual.
const USUAL: usize = 31;

/// A step that takes so many times the usual is out of the ordinary, if the one before was too.
const ALARMING: f64 = 1.3;

/// Seconds that the ranks take to ask one another whether any is alarmed: a reduction of two numbers in a node.
const ASKING_S: f64 = 20e-6;

/// Part of the run's time that asking may take.
const ASKING_SHARE: f64 = 0.0025;

/// What decides when ranks meet; the same on every rank.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Meetings {
    /// Steps until the next decision.
    pub stride: u64,
    /// Steps after which the ranks ask one another whether one is to be brought forward.
    pub asked_every: u64,
}

/// What deciding has taken, of which run.
#[derive(Debug, Clone, Copy)]
pub struct Spent {
    /// Processor seconds of all decisions so far, and how many they were.
    pub own_s: f64,
    pub n_decided: u64,
    /// Processor seconds and steps since the run began.
    pub run_s: f64,
    pub step: u64,
    /// Part of the run that is done.
    pub fraction: f64,
}

impl Spent {
    /// What decisions may take is spendable from the start; after that each is to take its share of the steps since the last.
    pub fn meetings(&self) -> Meetings {
        let a_step_s = self.run_s / self.step.max(1) as f64;
        let expected_s = self.run_s / self.fraction.clamp(0.01, 1.0);
        let asked_every = (ASKING_S / (ASKING_SHARE * a_step_s)).ceil();
        let stride = match self.own_s <= OWN_LEAST_S.max(OWN_SHARE * expected_s) {
            true => 1.0,
            false => {
                let a_decision_s = self.own_s / self.n_decided.max(1) as f64;
                (a_decision_s / (OWN_SHARE * a_step_s)).round()
            }
        };
        Meetings {
            stride: stride.clamp(1.0, MOST_STEPS) as u64,
            asked_every: asked_every.clamp(1.0, MOST_STEPS) as u64,
        }
    }

    /// Whether decisions may be brought forward.
    pub fn has_room(&self) -> bool {
        self.own_s <= OWN_LEAST_S + ALARMED_SHARE * self.run_s
    }
}

/// Lengths of the application's steps.
#[derive(Debug)]
pub struct Pace {
    last: Instant,
    /// The latest, seconds.
    lengths_s: VecDeque<f64>,
    was_long: bool,
}

impl Pace {
    pub fn new() -> Self {
        Pace {
            last: Instant::now(),
            lengths_s: VecDeque::with_capacity(USUAL),
            was_long: false,
        }
    }

    /// A step has ended.
    ///
    /// # Returns
    /// Whether it and the one before took far longer than usual.
    pub fn step_ended(&mut self) -> bool {
        let length_s = self.last.elapsed().as_secs_f64();
        self.take(length_s)
    }

    /// The next step begins: what was done between steps does not count.
    pub fn step_begins(&mut self) {
        self.last = Instant::now();
    }

    fn take(&mut self, length_s: f64) -> bool {
        let mut sorted: Vec<f64> = self.lengths_s.iter().copied().collect();
        sorted.sort_by(f64::total_cmp);
        let usual_s = sorted.get(sorted.len() / 2);
        let is_long = usual_s.is_some_and(|usual_s| length_s > ALARMING * usual_s);
        if self.lengths_s.len() == USUAL {
            self.lengths_s.pop_front();
        }
        self.lengths_s.push_back(length_s);
        std::mem::replace(&mut self.was_long, is_long) && is_long
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_long_steps_are_alarming_and_after_a_while_they_are_usual() {
        let mut pace = Pace::new();
        assert!((0..40).all(|_| !pace.take(1.0)));
        assert!(!pace.take(3.0), "a spike");
        assert!((0..40).all(|k| !pace.take(1.0 + 0.02 * f64::from(k % 3))));
        assert!(!pace.take(1.5));
        assert!(pace.take(1.5));
        let alarmed = (0..40).filter(|_| pace.take(1.5)).count();
        assert!((10..20).contains(&alarmed), "{alarmed}");
    }

    /// 45 ms a decision, of steps of 500 ms; asking takes 20 us.
    #[test]
    fn decisions_take_their_share() {
        let spent = Spent {
            own_s: 0.09,
            n_decided: 2,
            run_s: 2.0,
            step: 4,
            fraction: 0.25,
        };
        let meetings = spent.meetings();
        assert_eq!((meetings.stride, meetings.asked_every), (9, 1));
        assert!(spent.has_room());
        let short = Spent {
            run_s: 0.004,
            ..spent
        };
        assert_eq!(short.meetings().asked_every, 8);
        assert!(!short.has_room());
        let cheap = Spent {
            own_s: 0.01,
            ..spent
        };
        assert_eq!(cheap.meetings().stride, 1);
    }
}
