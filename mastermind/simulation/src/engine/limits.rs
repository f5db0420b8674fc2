//! Bounds that keep a run finite, and times in whole nanoseconds.

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
