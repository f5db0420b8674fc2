//! Bounds that keep a run finite, and times in whole nanoseconds.

use super::error::{BoxedError, SimulationError};

/// Where a run is stopped; by default nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most events, up to some thousand more.
    pub max_events: u64,
    /// Longest simulated time, nanoseconds, up to a window more.
    pub max_time_ns: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_events: u64::MAX,
            max_time_ns: u64::MAX,
        }
    }
}

/// Longest simulated time, nanoseconds: 73 years. Later times are still far from where clocks overflow.
pub(crate) const MAX_TIME_NS: u64 = 1 << 61;

impl Limits {
    /// The same, and no longer than clocks hold.
    pub(crate) fn of_clocks(self) -> Self {
        Self {
            max_time_ns: self.max_time_ns.min(MAX_TIME_NS),
            ..self
        }
    }

    /// Refuses a time that clocks may not hold.
    pub(crate) fn check_clock(events: u64, now_ns: u64) -> Result<(), BoxedError> {
        Self::default().of_clocks().check(events, now_ns)
    }

    /// Stops a run that is behind one of them.
    #[inline]
    pub(crate) fn check(&self, events: u64, now_ns: u64) -> Result<(), BoxedError> {
        if events <= self.max_events && now_ns <= self.max_time_ns {
            return Ok(());
        }
        Err(Box::new(SimulationError::Limit {
            events,
            now_ns,
            limits: *self,
        }))
    }
}

/// Maximum number of rounds of a loop: a run of more would take days, whatever the rounds contain.
pub(crate) const MAX_ROUNDS: f64 = 1e12;

/// Allowed numbers of rounds.
pub(crate) const ROUNDS: &str = "a number of rounds, at least 0 and at most 1e12";

/// The rounds of a loop as a whole number; `None` for an invalid number.
#[inline]
pub(crate) fn rounds_of(count: f64) -> Option<f64> {
    let rounds = count.round();
    (0.0..=MAX_ROUNDS).contains(&rounds).then_some(rounds)
}

/// Most steps of a process or thread without time passing.
pub(crate) const MAX_TIMELESS_STEPS: u64 = 100_000_000;

/// Longest time of an action, seconds: ten years, so that no clock overflows.
pub(crate) const MAX_COST_S: f64 = 3.2e8;

/// Seconds ≥ 0 as nanoseconds, halves up.
#[inline]
pub(crate) fn nanoseconds(seconds: f64) -> u64 {
    let ns = seconds * 1e9;
    let whole = ns as u64;
    whole + u64::from(ns - whole as f64 >= 0.5)
}
