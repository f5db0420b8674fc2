//! The clock of the records.
//!
//! A clock has a rate and a step. The rate turns ticks into seconds; the step is the clock's resolution: a time-stamp
//! counter may advance by 26 ticks at once, every 10 ns, and a call within a step then has a wall time of 0. The sum
//! over many calls is still correct, since as many calls gain a step as lose one.

use std::time::Duration;

use cca_abi::recording::ClockFunction;
use mastermind_records::Calibration;
use rustix::time::{ClockId, clock_gettime};

use crate::clock_step::step_ticks;

/// A clock that proxies read twice per call.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    name: &'static str,
    function: Option<ClockFunction>,
    ticks_per_second: f64,
    step_ticks: f64,
}

impl Clock {
    /// The time-stamp counter if the processor reports it as constant and non-stop, else `CLOCK_MONOTONIC`.
    ///
    /// Takes 5 ms in the first case, to measure the rate, and less than 1 ms to measure the step.
    ///
    /// # Source
    /// AMD64 Architecture Programmer's Manual vol. 3, CPUID Fn8000_0007_EDX bit 8 (TscInvariant); Intel SDM vol. 3,
    /// 17.17.1.
    pub fn detect() -> Self {
        if !time_stamp_counter_is_invariant() {
            return Self::monotonic();
        }
        let mut clock = Self {
            name: "tsc",
            function: None,
            ticks_per_second: 0.0,
            step_ticks: 0.0,
        };
        let begin = clock.calibration();
        std::thread::sleep(Duration::from_millis(5));
        let end = clock.calibration();
        let seconds = (end.ns - begin.ns) as f64 * 1e-9;
        clock.ticks_per_second = end.ticks.wrapping_sub(begin.ticks) as f64 / seconds;
        // 10 MHz: slower counters are no better than `CLOCK_MONOTONIC`, and a stopped one is
        // useless.
        if clock.ticks_per_second > 1e7 {
            clock.with_step()
        } else {
            Self::monotonic()
        }
    }

    /// `CLOCK_MONOTONIC`, with ticks of a nanosecond.
    pub fn monotonic() -> Self {
        Self::simulated("clock_monotonic", 1e9, 0.0, monotonic_ns).with_step()
    }

    /// `CLOCK_MONOTONIC` as on a machine whose clock has a step of `STEP_NS` nanoseconds.
    pub fn coarse<const STEP_NS: u64>(name: &'static str) -> Self {
        Self::simulated(name, 1e9, 0.0, coarse_ns::<STEP_NS>).with_step()
    }

    /// A clock with readings from a function: simulated, or replayed from a run.
    ///
    /// # Arguments
    /// * `name` - name in the log's definition
    /// * `ticks_per_second` - its rate, > 0
    /// * `step_ticks` - its step, ticks
    /// * `function` - its reading, ticks; never less than before in the same thread
    pub const fn simulated(
        name: &'static str,
        ticks_per_second: f64,
        step_ticks: f64,
        function: ClockFunction,
    ) -> Self {
        Self {
            name,
            function: Some(function),
            ticks_per_second,
            step_ticks,
        }
    }

    fn with_step(self) -> Self {
        Self {
            step_ticks: step_ticks(|| self.now(), self.ticks_per_second),
            ..self
        }
    }

    /// `tsc`, `clock_monotonic` or the name of a simulated clock, as in the definition.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Rate as measured at start.
    pub fn ticks_per_second(&self) -> f64 {
        self.ticks_per_second
    }

    /// The step of the clock, ticks, as measured at start; at least 1 if it was measured.
    pub fn step_ticks(&self) -> f64 {
        self.step_ticks
    }

    /// The step of the clock, nanoseconds.
    pub fn step_ns(&self) -> f64 {
        self.step_ticks * 1e9 / self.ticks_per_second
    }

    /// The function that the recording context calls; `None` for the time-stamp counter.
    pub fn function(&self) -> Option<ClockFunction> {
        self.function
    }

    /// Reads the clock, in ticks.
    #[inline]
    pub fn now(&self) -> u64 {
        match self.function {
            Some(function) => function(),
            None => time_stamp_counter(),
        }
    }

    /// The present moment on both clocks: the closest of five pairs of readings.
    pub fn calibration(&self) -> Calibration {
        if let Some(function) = self.function {
            let ticks = function();
            let ns = match self.ticks_per_second {
                1e9 => ticks,
                rate => (ticks as f64 * 1e9 / rate) as u64,
            };
            return Calibration { ticks, ns };
        }
        let pair = || {
            let before = time_stamp_counter();
            let ns = monotonic_ns();
            let between = time_stamp_counter().saturating_sub(before);
            (
                between,
                Calibration {
                    ticks: before + between / 2,
                    ns,
                },
            )
        };
        (0..5)
            .map(|_| pair())
            .min_by_key(|(between, _)| *between)
            .map_or_else(Calibration::default, |(_, best)| best)
    }
}

extern "C" fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

extern "C" fn coarse_ns<const STEP_NS: u64>() -> u64 {
    let now = monotonic_ns();
    now - now.checked_rem(STEP_NS).unwrap_or(0)
}

#[cfg(target_arch = "x86_64")]
fn time_stamp_counter_is_invariant() -> bool {
    raw_cpuid::CpuId::new()
        .get_advanced_power_mgmt_info()
        .is_some_and(|info| info.has_invariant_tsc())
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn time_stamp_counter() -> u64 {
    // SAFETY: the instruction exists on every x86-64 processor and touches no memory.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
fn time_stamp_counter_is_invariant() -> bool {
    false
}

#[cfg(not(target_arch = "x86_64"))]
fn time_stamp_counter() -> u64 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_keeps_time() {
        let coarse = Clock::coarse::<1_000>("coarse");
        for clock in [Clock::detect(), Clock::monotonic(), coarse] {
            let (begin, ns) = (clock.calibration(), monotonic_ns());
            std::thread::sleep(Duration::from_millis(20));
            let (end, ns) = (clock.calibration(), monotonic_ns() - ns);
            let measured = (end.ticks - begin.ticks) as f64 / clock.ticks_per_second() * 1e9;
            assert!(
                (measured / ns as f64 - 1.0).abs() < 0.01,
                "{}: {measured} of {ns} ns",
                clock.name()
            );
        }
    }

    #[test]
    fn the_step_of_a_coarse_clock_is_found() {
        let clock = Clock::coarse::<1_000>("coarse");
        assert_eq!((clock.step_ticks(), clock.step_ns()), (1_000.0, 1_000.0));
        assert!(Clock::detect().step_ticks() >= 1.0);
    }
}
