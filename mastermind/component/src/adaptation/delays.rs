//! Subtracts the time that a thread waited for a processor from the calls that it lengthened.
//!
//! On a busy machine a call of a tenth of a millisecond may take four, which says nothing about its class. The system
//! reports how long the thread was ready to run but did not. That delay is subtracted from the call of the step that
//! it explains best: the likelihood of the step's times, given the expected times, must be far larger without the
//! delay than with it. Waiting for anything else, such as a disk or another rank, is the call's own time.
//!
//! ```text
//! step   wall 5.1 ms, of which 4.0 ms without a processor
//! calls  pack 0.2 ms (expected 0.2)   convolve 4.3 ms (expected 0.3)   group 0.4 ms (expected 0.4)
//! so     convolve took 0.3 ms
//! ```

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Instant;

use super::pace::thread_s;

/// Difference between the wall clock and the processor clock in a step, seconds, below which the system is not asked.
/// Arbitrary: less changes no decision.
const LEAST_S: f64 = 20e-6;

/// Difference of the two clocks as a part of the step, below which the system is not asked. Arbitrary: less changes
/// no decision.
const LEAST_PART: f64 = 0.02;

/// Logarithm of the likelihood ratio from which on a delay is subtracted from a call. Arbitrary: the delay explains
/// the call 7 times better.
const LIKELIER: f64 = 2.0;

/// Size that the file is within: three numbers of at most 20 digits.
const MAX_BYTES: usize = 64;

/// Time that a thread waits for a processor.
pub struct RunDelay {
    source: Source,
    /// Accumulated wait at the last query, seconds; `None` before the first.
    waited_s: Option<f64>,
    total_s: f64,
    began: Instant,
    began_s: f64,
}

/// The file that contains it. Opening it takes ten times as long as reading it.
enum Source {
    /// It stays open: for a process of our own.
    Open(File),
    /// It is opened at each query: an open file would stay in the file table of a program that is not ours.
    At(&'static str),
    Unknown,
}

impl RunDelay {
    /// Of the calling thread.
    pub fn of_this_thread() -> Self {
        let file = File::open("/proc/thread-self/schedstat");
        let mut run_delay = Self::of(file.map_or(Source::Unknown, Source::Open));
        run_delay.new_s();
        run_delay
    }

    /// Of the main thread of a program that is not ours, from the first query on.
    pub fn of_main_thread() -> Self {
        Self::of(Source::At("/proc/self/schedstat"))
    }

    /// For a process that may open no file: reports no waits.
    pub fn unknown() -> Self {
        Self::of(Source::Unknown)
    }

    fn of(source: Source) -> Self {
        RunDelay {
            source,
            waited_s: None,
            total_s: 0.0,
            began: Instant::now(),
            began_s: thread_s(),
        }
    }

    /// Reports the start of a step, on the calling thread.
    ///
    /// # Returns
    /// Processor seconds of the thread so far.
    pub fn step_begins(&mut self) -> f64 {
        self.began = Instant::now();
        self.began_s = thread_s();
        self.began_s
    }

    /// Reports the end of the step.
    ///
    /// # Arguments
    /// * `now_s` - processor seconds of the thread so far
    ///
    /// # Returns
    /// Time that the thread waited in the step, seconds; 0 if unknown.
    pub fn step_ended(&mut self, now_s: f64) -> f64 {
        let wall_s = self.began.elapsed().as_secs_f64();
        let off_s = wall_s - (now_s - self.began_s);
        match off_s < LEAST_S.max(LEAST_PART * wall_s) {
            true => 0.0,
            false => self.new_s().min(off_s),
        }
    }

    /// Time that the thread has waited since the last query, seconds; 0 at the first one, and if the system does not
    /// report it.
    pub fn new_s(&mut self) -> f64 {
        let Some(waited_s) = self.read() else {
            return 0.0;
        };
        let before_s = self.waited_s.replace(waited_s).unwrap_or(waited_s);
        let new_s = (waited_s - before_s).max(0.0);
        self.total_s += new_s;
        new_s
    }

    /// Sum of the waits that queries have returned, seconds.
    pub fn total_s(&self) -> f64 {
        self.total_s
    }

    /// # Source
    /// Linux, Documentation/scheduler/sched-stats.rst, `/proc/<pid>/schedstat`: nanoseconds on a processor, nanoseconds on a run queue.
    fn read(&self) -> Option<f64> {
        let mut text = [0; MAX_BYTES];
        let n_bytes = match &self.source {
            Source::Open(file) => file.read_at(&mut text, 0),
            Source::At(path) => File::open(path).and_then(|file| file.read_at(&mut text, 0)),
            Source::Unknown => return None,
        };
        let text = str::from_utf8(text.get(..n_bytes.ok()?)?).ok()?;
        let waited_ns: f64 = text.split_ascii_whitespace().nth(1)?.parse().ok()?;
        Some(1e-9 * waited_ns)
    }
}

/// A call that is the only one of its kind in a step.
#[derive(Debug, Clone, PartialEq)]
pub struct Single {
    /// Number of its kind.
    pub kind: usize,
    pub seconds: f64,
    /// Logarithm of its expected seconds, and standard deviation of that.
    pub expected: (f64, f64),
}

impl Single {
    /// Part of a delay that lengthened the call, if the call had it, seconds; and the logarithm of the likelihood
    /// ratio. A call shorter than the delay had only a part of it.
    fn explained(&self, delay_s: f64) -> (f64, f64) {
        let (ln_expected, deviation) = self.expected;
        let part_s = match self.seconds > delay_s {
            true => delay_s,
            false => self.seconds - ln_expected.exp(),
        };
        if part_s <= 0.0 {
            return (0.0, 0.0);
        }
        let square = |seconds: f64| ((seconds.ln() - ln_expected) / deviation).powi(2);
        let likelier = 0.5 * (square(self.seconds) - square(self.seconds - part_s));
        (part_s, likelier)
    }
}

/// Subtracts the delays of a step from the calls that they explain best.
pub fn take_out(mut delays_s: Vec<f64>, calls: &mut [Single]) {
    delays_s.sort_by(f64::total_cmp);
    let mut is_taken = vec![false; calls.len()];
    while let Some(delay_s) = delays_s.pop() {
        let explained = calls.iter().map(|call| call.explained(delay_s)).enumerate();
        let left = explained.filter(|(place, _)| !is_taken[*place]);
        let best = left.max_by(|a, b| a.1.1.total_cmp(&b.1.1));
        let Some((place, (part_s, likelier))) = best else {
            return;
        };
        if likelier < LIKELIER {
            continue;
        }
        calls[place].seconds -= part_s;
        is_taken[place] = true;
        let rest_s = delay_s - part_s;
        if rest_s > LEAST_S {
            delays_s.push(rest_s);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(kind: usize, seconds: f64, expected_s: f64, deviation: f64) -> Single {
        Single {
            kind,
            seconds,
            expected: (expected_s.ln(), deviation),
        }
    }

    fn without(delays_s: &[f64], calls: &[Single]) -> Vec<f64> {
        let mut calls = calls.to_vec();
        take_out(delays_s.to_vec(), &mut calls);
        let micros = calls.iter().map(|call| (1e6 * call.seconds).round());
        micros.collect()
    }

    #[test]
    fn a_delay_is_taken_from_the_call_that_it_explains() {
        let calls = [
            call(0, 6e-3, 100e-6, 0.1),
            call(1, 4.2e-3, 200e-6, 0.1),
            call(2, 5e-3, 5e-3, 0.1),
        ];
        // The first call is slow for another reason: without four milliseconds it would still be slow.
        assert_eq!(without(&[4e-3], &calls), [6000.0, 200.0, 5000.0]);
        assert_eq!(without(&[], &calls), [6000.0, 4200.0, 5000.0]);
    }

    #[test]
    fn what_is_as_long_as_expected_has_waited_for_something_else() {
        let calls = [call(0, 5e-3, 5e-3, 0.1), call(1, 1e-3, 1e-3, 0.1)];
        assert_eq!(without(&[4e-3], &calls), [5000.0, 1000.0]);
    }

    #[test]
    fn a_class_of_which_little_is_known_is_the_last_to_be_corrected() {
        let unknown = call(0, 4.1e-3, 100e-6, 1.5);
        let known = call(1, 4.1e-3, 100e-6, 0.1);
        assert_eq!(without(&[4e-3], &[unknown.clone(), known]), [4100.0, 100.0]);
        let as_usual = call(1, 100e-6, 100e-6, 0.1);
        assert_eq!(without(&[4e-3], &[unknown, as_usual]), [100.0, 100.0]);
    }

    #[test]
    fn calls_share_a_delay_that_is_longer_than_each() {
        let calls = [call(0, 3.1e-3, 100e-6, 0.1), call(1, 2.1e-3, 100e-6, 0.1)];
        assert_eq!(without(&[5e-3], &calls), [100.0, 100.0]);
    }
}
