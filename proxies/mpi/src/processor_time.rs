//! How long a thread has run on a processor between its calls of MPI.
//!
//! ```text
//! ─ call ─┤ computes ├── waits for a processor ──┤ computes ├─ call ─
//!         after_call                                        before_call: both parts that it computed
//! ```
//!
//! Ranks that share a processor take turns on it, and the time between two calls contains the turns of the others. The
//! thread's own time is the time that the rank would have taken alone. The system is queried (a system call, some 150
//! to 450 ns) only if the thread may have lost the processor: never within an interval shorter than [`MIN_ABSENCE_NS`],
//! which counts whole.
//!
//! # Decisions
//!
//! A thread's processor time is read at the two ends of a call (`--cpu`;
//! `proxies/mpi/src/processor_time.rs`), and the difference since the previous call is a parameter
//! of its record. Where ranks take turns on a processor, only this value contains the rank's own
//! computation: `replay` uses it in place of the time between two calls. The system is not queried
//! within intervals that are too short for two switches between threads.

use std::cell::Cell;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

/// In place of a time that is not known, as a word of a record.
const UNKNOWN: u64 = u64::MAX;

/// A thread is not away from its processor for less, nanoseconds: two switches between threads take 2.4 µs or more (C. Li, C. Ding,
/// K. Shen, "Quantifying the cost of context switch", 2007), and 1 µs on processors that are twice as fast.
const MIN_ABSENCE_NS: u64 = 1000;

/// Maximum computation of a thread between two consecutive polls in vain, nanoseconds, for them to be merged;
/// `mastermind-replay` also treats less as a part of its waiting.
const MAX_POLL_GAP_NS: u64 = 1000;

/// How often the cost of a reading is measured; the least counts.
const N_COST_READINGS: usize = 64;

/// Cost of a reading, which is part of the time that it ends, nanoseconds.
static READING_NS: AtomicU64 = AtomicU64::new(0);

/// Measures the cost of a reading.
pub(crate) fn measure_cost() {
    let costs = (0..N_COST_READINGS).map(|_| {
        let first = black_box(processor_ns());
        processor_ns().saturating_sub(first)
    });
    READING_NS.store(costs.min().unwrap_or(0), Ordering::Relaxed);
}

/// The processor time of a thread at its latest call of MPI.
pub(crate) struct ProcessorTime {
    /// Nanoseconds; [`UNKNOWN`] within a call, and before the first one.
    processor_ns: Cell<u64>,
    /// When that was, nanoseconds of the monotonic clock.
    at_ns: Cell<u64>,
    /// Whether the processor time was read.
    was_read: Cell<bool>,
    /// Nanoseconds at the start of the call that is being made.
    at_start: Cell<(u64, u64)>,
}

impl ProcessorTime {
    pub(crate) const fn new() -> Self {
        Self {
            processor_ns: Cell::new(UNKNOWN),
            at_ns: Cell::new(0),
            was_read: Cell::new(false),
            at_start: Cell::new((UNKNOWN, 0)),
        }
    }

    /// A call begins.
    ///
    /// # Arguments
    /// * `polls` - whether the latest call found nothing, and has no record yet
    ///
    /// # Returns
    /// The processor time since the latest call ended, nanoseconds; [`UNKNOWN`] before the first call, or if that call
    /// did not return.
    pub(crate) fn before_call(&self, polls: bool) -> u64 {
        let before_ns = self.processor_ns.replace(UNKNOWN);
        let now_ns = monotonic_ns();
        let passed_ns = now_ns.saturating_sub(self.at_ns.get());
        if before_ns == UNKNOWN {
            self.at_start.set((processor_ns(), now_ns));
            return UNKNOWN;
        }
        let (start_ns, computed_ns) = if passed_ns < MIN_ABSENCE_NS {
            (before_ns + passed_ns, passed_ns)
        } else {
            let start_ns = processor_ns();
            let reading_ns = READING_NS.load(Ordering::Relaxed);
            // Half of each of the readings at its two ends falls between them.
            let own_ns = match self.was_read.get() {
                true => reading_ns,
                false => reading_ns / 2,
            };
            // In a forked child it begins anew.
            let computed_ns = start_ns.saturating_sub(before_ns).saturating_sub(own_ns);
            (start_ns, computed_ns)
        };
        self.at_start.set((start_ns, now_ns));
        match polls && computed_ns <= MAX_POLL_GAP_NS {
            true => 0,
            false => computed_ns,
        }
    }

    /// It ended.
    pub(crate) fn after_call(&self) {
        let (start_ns, at_start_ns) = self.at_start.get();
        let now_ns = monotonic_ns();
        let taken_ns = now_ns.saturating_sub(at_start_ns);
        let is_short = taken_ns < MIN_ABSENCE_NS;
        self.processor_ns.set(match is_short {
            true => start_ns + taken_ns,
            false => processor_ns(),
        });
        self.at_ns.set(now_ns);
        self.was_read.set(!is_short);
    }
}

/// Processor time of the calling thread, nanoseconds.
fn processor_ns() -> u64 {
    clock_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Nanoseconds of the monotonic clock: no system call on most machines.
fn monotonic_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC)
}

fn clock_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: there is room for the time; both clocks exist on every Linux.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    (time.tv_sec as u64) * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computes for `ns` nanoseconds of processor time.
    fn compute(ns: u64) {
        let begun = processor_ns();
        while processor_ns() < begun + ns {}
    }

    #[test]
    fn a_thread_that_waits_does_not_compute() {
        measure_cost();
        let time = ProcessorTime::new();
        assert_eq!(time.before_call(false), UNKNOWN);
        time.after_call();
        compute(2_000_000);
        let (waited, begun) = (std::sync::mpsc::channel::<()>(), monotonic_ns());
        // No message comes.
        let _ = waited.1.recv_timeout(std::time::Duration::from_millis(20));
        assert!(monotonic_ns() - begun > 10_000_000);
        compute(2_000_000);
        let computed = time.before_call(false);
        assert!((4_000_000..14_000_000).contains(&computed), "{computed}");
        // The time of the call itself is not counted.
        compute(50_000_000);
        time.after_call();
        let computed = time.before_call(false);
        assert!(computed < 50_000_000, "{computed}");
    }

    #[test]
    fn a_call_that_did_not_return_leaves_no_time() {
        let time = ProcessorTime::new();
        time.before_call(false);
        assert_eq!(time.before_call(false), UNKNOWN);
    }
}
