//! Saving of an action, and its interval.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::order::MIN_SHARE;

/// Level of the intervals.
pub const LEVEL: f64 = 0.95;

/// The factor of a deviation in an interval of [`LEVEL`]: of the normal distribution.
const NORMAL: f64 = 1.959_964;

/// Half the width of an interval of [`LEVEL`] by a variance: Student's; infinite without a degree of freedom.
pub fn half_width(variance: f64, freedom: f64) -> f64 {
    let student = StudentsT::new(0.0, 1.0, freedom);
    let factor = student.map_or(f64::INFINITY, |student| {
        student.inverse_cdf(0.5 + 0.5 * LEVEL)
    });
    factor * variance.sqrt()
}

/// Seconds that an action would save.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Saving {
    /// The saving, for a limit its maximum; below 0 for a loss.
    pub seconds: f64,
    /// Interval of [`LEVEL`], seconds.
    pub interval_s: [f64; 2],
    /// Whether only the loss is known: a changed program avoids between nothing and all of it.
    pub is_limit: bool,
}

impl Saving {
    /// A predicted saving.
    ///
    /// # Arguments
    /// * `interval_s` - interval of [`LEVEL`], seconds
    pub fn predicted(seconds: f64, interval_s: [f64; 2]) -> Self {
        Self {
            seconds,
            interval_s,
            is_limit: false,
        }
    }

    /// Between nothing and a loss.
    pub fn up_to(loss_s: f64) -> Self {
        Self {
            seconds: loss_s,
            interval_s: [0.0, loss_s],
            is_limit: true,
        }
    }

    /// The difference of two predictions, each with an interval of [`LEVEL`]: their errors are assumed to be
    /// independent.
    pub fn of_difference(now: (f64, [f64; 2]), then: (f64, [f64; 2])) -> Self {
        let seconds = now.0 - then.0;
        let below = (now.0 - now.1[0]).hypot(then.1[1] - then.0);
        let above = (now.1[1] - now.0).hypot(then.0 - then.1[0]);
        Self::predicted(seconds, [seconds - below, seconds + above])
    }

    /// A normal distribution about a saving.
    pub fn normal(seconds: f64, deviation_s: f64) -> Self {
        let half_s = NORMAL * deviation_s;
        Self::predicted(seconds, [seconds - half_s, seconds + half_s])
    }

    /// Measured saving: the mean of some runs less that of the others, with the interval for two samples of one
    /// variance; without an interval if neither was run twice.
    pub fn of_runs(before_s: &[f64], after_s: &[f64]) -> Self {
        let mean = |times: &[f64]| times.iter().sum::<f64>() / times.len().max(1) as f64;
        let squares = |times: &[f64]| {
            let mean = mean(times);
            times.iter().map(|time| (time - mean).powi(2)).sum::<f64>()
        };
        let seconds = mean(before_s) - mean(after_s);
        let [n, m] = [before_s, after_s].map(|times| times.len() as f64);
        let freedom = n + m - 2.0;
        let half_s = match freedom > 0.0 {
            true => half_width(
                (squares(before_s) + squares(after_s)) / freedom * (1.0 / n + 1.0 / m),
                freedom,
            ),
            false => 0.0,
        };
        Self::predicted(seconds, [seconds - half_s, seconds + half_s])
    }

    /// Saving of one run against another: runs differ by a hundredth without a reason.
    pub fn of_single_runs(before_s: f64, after_s: f64) -> Self {
        let seconds = before_s - after_s;
        let half_s = MIN_SHARE * before_s.hypot(after_s);
        Self::predicted(seconds, [seconds - half_s, seconds + half_s])
    }

    /// Its expected value, by which actions are ordered: for a limit all values between its ends are equally likely.
    pub fn expected_s(&self) -> f64 {
        match self.is_limit {
            true => 0.5 * (self.interval_s[0] + self.interval_s[1]),
            false => self.seconds,
        }
    }

    /// The same with an interval that is wider, or narrower, by a factor. A limit's interval stays: no value is beyond
    /// it.
    pub fn stretched(self, factor: f64) -> Self {
        if self.is_limit {
            return self;
        }
        let end = |end: f64| self.seconds + factor * (end - self.seconds);
        Self {
            interval_s: self.interval_s.map(end),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_two_predictions_add_up_in_squares() {
        let saving = Saving::of_difference((10.0, [7.0, 13.0]), (6.0, [2.0, 10.0]));
        assert_eq!(saving, Saving::predicted(4.0, [-1.0, 9.0]));
    }

    #[test]
    fn what_runs_saved_has_the_interval_of_two_samples() {
        let saving = Saving::of_runs(&[3.0, 3.2, 3.1], &[1.0, 1.2, 1.1]);
        assert!((saving.seconds - 2.0).abs() < 1e-12);
        // Student's t of 4 degrees of freedom at 97.5 %: 2.776; the deviation of a mean of three is 0.1/sqrt(3).
        let half = 2.776_445 * 0.1 * (2.0_f64 / 3.0).sqrt();
        assert!(
            (saving.interval_s[1] - 2.0 - half).abs() < 1e-5,
            "{saving:?}"
        );
    }

    #[test]
    fn a_limit_is_expected_to_save_half_and_is_not_stretched() {
        let limit = Saving::up_to(2.0);
        assert!((limit.expected_s() - 1.0).abs() < 1e-12);
        assert_eq!(limit.stretched(3.0), limit);
        let stretched = Saving::predicted(1.0, [0.0, 3.0]).stretched(2.0);
        assert_eq!(stretched.interval_s, [-1.0, 5.0]);
    }
}
