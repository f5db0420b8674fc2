//! The clock of the records.

use std::time::Duration;

use cca_abi::recording::ClockFunction;
use mastermind_records::Calibration;
use rustix::time::{ClockId, clock_gettime};

/// A clock that proxies read twice a call.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    function: Option<ClockFunction>,
    ticks_per_second: f64,
}

impl Clock {
    /// The time-stamp counter if the processor says that it is constant and non-stop, else `CLOCK_MONOTONIC`.
    ///
    /// Takes 5 ms in the first case, to measure the rate.
    ///
    /// # Source
    /// AMD64 Architecture Programmer's Manual vol. 3, CPUID Fn8000_0007_EDX bit 8 (TscInvariant); Intel SDM vol. 3,
    /// 17.17.1.
    pub fn detect() -> Self {
        if !time_stamp_counter_is_invariant() {
            return Self::monotonic();
        }
        let mut clock = Self {
            function: None,
            ticks_per_second: 0.0,
        };
        let begin = clock.calibration();
        std::thread::sleep(Duration::from_millis(5));
        let end = clock.calibration();
        let seconds = (end.ns - begin.ns) as f64 * 1e-9;
        clock.ticks_per_second = end.ticks.wrapping_sub(begin.ticks) as f64 / seconds;
        // 10 MHz: slower counters are no better than `CLOCK_MONOTONIC`, and a stopped one is none.
        if clock.ticks_per_second > 1e7 {
            clock
        } else {
            Self::monotonic()
        }
    }

    /// `CLOCK_MONOTONIC`, in nanoseconds.
    pub const fn monotonic() -> Self {
        Self {
            function: Some(monotonic_ns),
            ticks_per_second: 1e9,
        }
    }

    /// `tsc` or `clock_monotonic`, as in the definition.
    pub fn name(&self) -> &'static str {
        if self.function.is_none() {
            "tsc"
        } else {
            "clock_monotonic"
        }
    }

    /// Rate as measured at start.
    pub fn ticks_per_second(&self) -> f64 {
        self.ticks_per_second
    }

    /// What the recording context calls; `None` for the time-stamp counter.
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

    /// This moment on both clocks: the closest of five pairs of readings.
    pub fn calibration(&self) -> Calibration {
        if self.function.is_some() {
            let ns = monotonic_ns();
            return Calibration { ticks: ns, ns };
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
        for clock in [Clock::detect(), Clock::monotonic()] {
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
}
