//! Measures the step of a clock.

use std::hint::black_box;

/// Number of differences between readings.
const N_DIFFERENCES: usize = 1_000;

/// Longest time of readings, seconds; the step of a slower clock is estimated from the few differences
/// seen.
const MAX_S: f64 = 0.05;

/// Maximum number of readings without a change, after which the clock counts as stopped.
const MAX_STILL: usize = 10_000_000;

/// Share of the differences that are used, beginning with the smallest; larger differences contain interruptions.
const UNDISTURBED: f64 = 0.9;

/// Maximum mean distance of the differences to multiples of a candidate step, as a share of it, at which it is
/// accepted. For unrelated differences, a quarter is expected.
const NEAR: f64 = 0.08;

/// Maximum multiple of the step that a difference may be; larger multiples carry too little information.
const MAX_MULTIPLE: f64 = 32.0;

/// The step of a clock: the longest time of which all differences between its readings are approximate multiples.
///
/// A reading within the step of the one before is the same, or one tick later if the processor makes readings distinct;
/// such differences contain no information. Work of different length between the readings keeps the reading's own time
/// from being mistaken for the step.
///
/// # Arguments
/// * `now` - reads the clock, ticks
/// * `ticks_per_second` - its rate, > 0
///
/// # Returns
/// Ticks, at least 1.
pub(crate) fn step_ticks(now: impl Fn() -> u64, ticks_per_second: f64) -> f64 {
    let longest = (ticks_per_second * MAX_S) as u64;
    let mut differences = Vec::with_capacity(N_DIFFERENCES);
    let begin = now();
    let (mut last, mut first_of_step, mut still, mut noise) = (begin, begin, 0, 1_u32);
    while differences.len() < N_DIFFERENCES && still < MAX_STILL {
        noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        for turn in 0..noise >> 26 {
            black_box(turn);
        }
        let reading = now();
        still += 1;
        if reading.saturating_sub(last) > 1 {
            differences.push(reading - first_of_step);
            (first_of_step, still) = (reading, 0);
        }
        last = reading;
        if reading.saturating_sub(begin) > longest {
            break;
        }
    }
    // The first difference began at an unknown position within a step.
    if !differences.is_empty() {
        differences.swap_remove(0);
    }
    step_of(differences)
}

/// Estimates the step from differences between readings.
fn step_of(mut differences: Vec<u64>) -> f64 {
    differences.sort_unstable();
    let undisturbed = (differences.len() as f64 * UNDISTURBED).ceil() as usize;
    differences.truncate(undisturbed);
    let Some(&smallest) = differences.first() else {
        return 1.0;
    };
    // The step is the most frequent difference near the smallest one, or a part of it.
    let near = differences.partition_point(|d| *d as f64 <= 1.5 * smallest as f64);
    let middle = differences[near / 2] as f64;
    let mut parts = (1..=middle as u64).map(|part| middle / part as f64);
    let fits = |step: &f64| *step < 4.0 || distance(&differences, *step) < NEAR;
    parts.find(fits).filter(|step| *step >= 4.0).unwrap_or(1.0)
}

/// Mean distance of the differences to the nearest multiple of `step`, as a share of it.
fn distance(differences: &[u64], step: f64) -> f64 {
    let multiples = differences.iter().map(|d| *d as f64 / step);
    let multiples = multiples.filter(|multiple| *multiple <= MAX_MULTIPLE);
    let (sum, n) = multiples.fold((0.0, 0.0), |(sum, n), multiple| {
        (sum + (multiple - multiple.round()).abs(), n + 1.0)
    });
    if n == 0.0 { 1.0 } else { sum / n }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Readings of a clock of `step` ticks, one each `cost` to `2 × cost` ticks; `apart` keeps readings within a step apart.
    fn measured(step: f64, cost: u64, apart: bool) -> f64 {
        let (time, noise, last) = (Cell::new(7_u64), Cell::new(1_u64), Cell::new(0_u64));
        step_ticks(
            || {
                noise.set(
                    noise
                        .get()
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1_442_695_040_888_963_407),
                );
                time.set(time.get() + cost + (noise.get() >> 33) % (cost + 1));
                let shown = ((time.get() as f64 / step).floor() * step) as u64;
                let shown = match apart {
                    true if shown <= last.get() => last.get() + 1,
                    _ => shown,
                };
                last.set(shown);
                shown
            },
            2.6e9,
        )
    }

    #[test]
    fn steps_are_found_whatever_a_reading_costs() {
        for cost in [3, 20, 40, 70] {
            for (step, apart) in [(26.0, true), (26.0, false), (24.45, true), (1000.0, true)] {
                let found = measured(step, cost, apart);
                assert!(
                    (found / step - 1.0).abs() < 0.05,
                    "{step} at {cost}: {found}"
                );
            }
        }
    }

    #[test]
    fn a_fine_clock_has_no_step() {
        for cost in [3, 20, 40, 70] {
            assert_eq!(measured(1.0, cost, false), 1.0, "{cost}");
        }
    }

    #[test]
    fn a_clock_that_stands_still_has_none_either() {
        assert_eq!(step_ticks(|| 5, 1e9), 1.0);
        // Every 4 ms, as the system's timer ticks.
        let time = Cell::new(0_u64);
        let step = step_ticks(
            || {
                time.set(time.get() + 500);
                time.get() / 4_000_000 * 4_000_000
            },
            1e9,
        );
        assert_eq!(step, 4_000_000.0);
    }
}
