//! Converts clock ticks to nanoseconds.

use crate::layout::Calibration;

/// Minimum distance of two calibrations, nanoseconds; over a shorter one the nominal rate is more accurate.
const SHORTEST_NS: u64 = 5_000_000;
const SHIFT: u32 = 40;

/// Turns ticks of a log's clock into nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeBase {
    start: Calibration,
    /// Nanoseconds per tick, times 2⁴⁰. Clocks with a tick longer than 16 ms are treated as if it were 16 ms.
    ns_per_tick: u64,
}

impl Default for TimeBase {
    /// A clock that ticks nanoseconds.
    fn default() -> Self {
        Self {
            start: Calibration::default(),
            ns_per_tick: 1 << SHIFT,
        }
    }
}

impl TimeBase {
    /// # Arguments
    /// * `start`, `latest` - calibrations of the header
    /// * `ticks_per_second` - rate by the definition of the clock
    /// * `first` - ticks that count as start where the calibration is lost
    pub(crate) fn new(
        start: Option<Calibration>,
        latest: Option<Calibration>,
        ticks_per_second: Option<f64>,
        first: u64,
    ) -> Self {
        let measured = start.zip(latest).and_then(|(start, latest)| {
            let ns = latest
                .ns
                .checked_sub(start.ns)
                .filter(|ns| *ns >= SHORTEST_NS)?;
            let ticks = latest
                .ticks
                .checked_sub(start.ticks)
                .filter(|ticks| *ticks > 0)?;
            let ns_per_tick = ((u128::from(ns)) << SHIFT) / u128::from(ticks);
            Some(u64::try_from(ns_per_tick).unwrap_or(u64::MAX))
        });
        let defined = ticks_per_second
            .filter(|rate| *rate >= 1.0)
            .map(|rate| (1e9 / rate * (1u64 << SHIFT) as f64) as u64);
        Self {
            start: start.unwrap_or(Calibration {
                ticks: first,
                ns: 0,
            }),
            ns_per_tick: measured.or(defined).unwrap_or(1 << SHIFT),
        }
    }

    /// A duration, nanoseconds, rounded down. To sum many durations, sum their ticks.
    #[inline]
    pub fn length_ns(&self, ticks: u64) -> u64 {
        let ns = (u128::from(ticks) * u128::from(self.ns_per_tick)) >> SHIFT;
        u64::try_from(ns).unwrap_or(u64::MAX)
    }

    /// A moment and the duration that begins there: nanoseconds since the start of the run, and nanoseconds.
    ///
    /// The duration is the difference of the two ends in nanoseconds. Rounding therefore biases neither the sum of many
    /// durations nor that of parts, and parts, which lie within the whole, never add up to more than the whole.
    #[inline]
    pub fn span_ns(&self, from: u64, length: u64) -> (u64, u64) {
        let offset = from.saturating_sub(self.start.ticks);
        let begin = self.length_ns(offset);
        let end = self.length_ns(offset.saturating_add(length));
        (begin, end - begin)
    }

    /// A moment, nanoseconds since the start of the run; 0 for earlier ones.
    #[inline]
    pub fn since_start_ns(&self, ticks: u64) -> u64 {
        self.length_ns(ticks.saturating_sub(self.start.ticks))
    }

    /// The start of the run on both clocks.
    pub fn start(&self) -> Calibration {
        self.start
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calibrations_far_apart_beat_the_definition() {
        let start = Calibration {
            ticks: 1_000,
            ns: 77,
        };
        let far = Calibration {
            ticks: 1_000 + 3_000_000_000,
            ns: 77 + 1_000_000_000,
        };
        let time = TimeBase::new(Some(start), Some(far), Some(2e9), 0);
        assert_eq!(time.since_start_ns(1_000 + 300), 99); // rounded down: 3 ticks a nanosecond, rate rounded down
        let near = Calibration {
            ticks: 1_300,
            ns: 177,
        };
        let time = TimeBase::new(Some(start), Some(near), Some(2e9), 0);
        assert_eq!(time.since_start_ns(1_000 + 300), 150);
        assert_eq!(time.since_start_ns(0), 0);
    }

    #[test]
    fn the_sum_of_many_short_lengths_is_unbiased() {
        // 2.6 GHz: a step of 26 ticks is a little less than 10 ns.
        let start = Calibration {
            ticks: 1_000,
            ns: 77,
        };
        let time = TimeBase::new(Some(start), None, Some(2.6e9), 0);
        let lengths: u64 = (0..100_000)
            .map(|call| time.span_ns(1_000 + call * 131, 26).1)
            .sum();
        assert!((lengths as f64 / 1e6 - 1.0).abs() < 1e-3, "{lengths}");
        // Parts that fill the whole add up to the whole.
        let parts: u64 = (0..1_000)
            .map(|part| time.span_ns(1_013 + 7 * part, 7).1)
            .sum();
        assert_eq!(parts, time.span_ns(1_013, 7_000).1);
        assert_eq!(time.span_ns(0, 2_600), (0, 999), "before the start");
    }
}
