//! The median of many times in bounded memory.

/// Maximum number of times kept; beyond it every second one is dropped, repeatedly.
const MAX_KEPT: usize = 512;

/// Minimum number of times for a median: of two, either may be the disturbed one.
const MIN_FOR_MEDIAN: usize = 3;

/// A sample of the times of similar calls, evenly spread over all of them.
#[derive(Debug, Clone)]
pub struct Times {
    kept: Vec<f64>,
    /// One of this many times is kept.
    every: u64,
    taken: u64,
}

impl Default for Times {
    fn default() -> Self {
        Times {
            kept: Vec::new(),
            every: 1,
            taken: 0,
        }
    }
}

impl Times {
    /// Adds a time.
    pub fn take(&mut self, seconds: f64) {
        if self.taken.is_multiple_of(self.every) {
            if self.kept.len() == MAX_KEPT {
                let mut at = 0;
                self.kept.retain(|_| {
                    at += 1;
                    at % 2 == 1
                });
                self.every *= 2;
            }
            // After halving, this time may lie between two kept ones.
            if self.taken.is_multiple_of(self.every) {
                self.kept.push(seconds);
            }
        }
        self.taken += 1;
    }

    /// Their median, seconds; `None` if there are too few.
    pub fn median_s(&self) -> Option<f64> {
        let n = self.kept.len();
        if n < MIN_FOR_MEDIAN {
            return None;
        }
        let mut sorted = self.kept.clone();
        sorted.sort_by(f64::total_cmp);
        Some(f64::midpoint(sorted[(n - 1) / 2], sorted[n / 2]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_spread_over_all() {
        let mut times = Times::default();
        for k in 0..100_000 {
            times.take(f64::from(k));
        }
        assert!((MAX_KEPT / 2..=MAX_KEPT).contains(&times.kept.len()));
        let median = times.median_s().expect("a median");
        assert!((median / 50_000.0 - 1.0).abs() < 0.01, "{median}");
    }

    #[test]
    fn a_call_that_waited_for_the_processor_does_not_count() {
        let mut times = Times::default();
        for seconds in [1.0, 1.0] {
            times.take(seconds);
        }
        assert_eq!(times.median_s(), None);
        for seconds in [90.0, 1.5, 1.1] {
            times.take(seconds);
        }
        assert_eq!(times.median_s(), Some(1.1));
    }
}
