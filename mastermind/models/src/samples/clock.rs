//! The step of the clock that times were read off, where nobody recorded it.
//!
//! In: the calls of all coordinates. Out: the largest number of which all readings are multiples, if it is not small
//! compared with the shortest one.
//!
//! ```text
//! 3, 3, 4 ms   5, 6, 6 ms   11, 12, 13 ms     a step of 1 ms
//! 3.1413, 3.1371, 3.1502 ms ...               0.1 us, too small to matter
//! ```

use crate::samples::sample::Summary;

/// Share of the shortest time above which a step matters: it adds a tenth to the variance of calls that scatter by 3 %.
pub(crate) const MATTERS: f64 = 0.023;

/// Share of the longest time that counts as rounding of a reading.
const ROUNDING: f64 = 1e-9;

/// Coordinates at which calls must differ by one step: exact times are multiples of something too.
const SEEN_AT: usize = 2;

/// The largest number of which all readings are multiples, seconds. 0 if it is too small to matter, and if neither calls
/// read 0 nor calls of the same coordinate differ by it.
///
/// # Arguments
/// * `calls` - those of each coordinate, binned by time
pub(crate) fn common_step_s(calls: impl Iterator<Item = Vec<Summary>> + Clone) -> f64 {
    let (mut step_s, mut shortest_s, mut longest_s) = (0.0_f64, f64::INFINITY, 0.0_f64);
    for read_s in calls.clone().flat_map(|bins| readings(&bins)) {
        longest_s = longest_s.max(read_s);
        if read_s > 0.0 {
            shortest_s = shortest_s.min(read_s);
        }
        step_s = common(step_s, read_s, ROUNDING * longest_s);
        if step_s < MATTERS * shortest_s && shortest_s.is_finite() {
            return 0.0;
        }
    }
    let (mut has_zero, mut n_apart) = (false, 0);
    for bins in calls {
        let read_s = readings(&bins);
        has_zero |= read_s.contains(&0.0);
        let mut pairs = read_s.windows(2).map(|pair| (pair[1] - pair[0]) / step_s);
        n_apart += usize::from(pairs.any(|steps| steps.round() == 1.0));
    }
    match has_zero || n_apart >= SEEN_AT {
        true => step_s,
        false => 0.0,
    }
}

/// The ends of bins, ascending, seconds.
fn readings(bins: &[Summary]) -> Vec<f64> {
    bins.iter().flat_map(|bin| [bin.min_s, bin.max_s]).collect()
}

/// Greatest common divisor by Euclid's algorithm, with the remainder nearest to 0.
fn common(mut a: f64, mut b: f64, rounding: f64) -> f64 {
    while b > rounding {
        (a, b) = (b, (a - b * (a / b).round()).abs());
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step_s(calls: &[&[f64]]) -> f64 {
        common_step_s(calls.iter().map(|times_s| {
            let each = times_s.iter().map(|&s| Summary {
                count: 1,
                mean_s: s,
                m2_s2: 0.0,
                min_s: s,
                max_s: s,
            });
            each.collect()
        }))
    }

    #[test]
    fn readings_that_are_multiples_have_a_step() {
        let ms = |n: f64| 1e-3 * n;
        let found = step_s(&[
            &[ms(6.0), ms(9.0)],
            &[ms(15.0), ms(16.0)],
            &[ms(7.0), ms(8.0)],
        ]);
        assert!((found - 1e-3).abs() < 1e-9, "{found}");
        assert_eq!(
            step_s(&[&[ms(1.0), ms(800.0)], &[ms(2.0)], &[ms(3.0), ms(2400.0)]]),
            0.0,
            "exact but for two"
        );
        assert!(
            (step_s(&[&[0.0, 0.0], &[0.5], &[1.5]]) - 0.5).abs() < 1e-9,
            "a zero"
        );
        assert_eq!(step_s(&[&[1.0, 1.0], &[2.0], &[3.0]]), 0.0, "exact times");
        assert_eq!(
            step_s(&[&[3.1413, 3.1371], &[6.4501, 6.2927]]),
            0.0,
            "digits"
        );
    }
}
