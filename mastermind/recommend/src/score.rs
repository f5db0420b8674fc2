//! Outcomes of recommendations, and the resulting correction of the next ones' intervals.
//!
//! A score is a recommendation that was carried out: its predicted and its measured saving. Its error is measured in
//! half-widths of its interval. With right intervals 95 % of these are below 1. The interval of a new recommendation is
//! stretched by their 95 % quantile (split conformal prediction), where [`PRIOR`] scores of right intervals are added
//! to the real ones: without any score nothing changes, and a single error of three half-widths does not widen all by
//! three.
//!
//! # Source
//! G. Shafer, V. Vovk, "A tutorial on conformal prediction", J. Machine Learning Research 9, 2008.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, Normal};

use crate::order::Kind;
use crate::saving::{LEVEL, Saving};

/// Scores of right intervals that are added to the real ones: 19 is the least number whose 95 % quantile is one of
/// them.
const PRIOR: usize = 19;

/// A recommendation that was carried out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Its type.
    pub kind: Kind,
    /// The action.
    pub action: String,
    /// Its predicted saving.
    pub predicted: Saving,
    /// Its measured saving, seconds.
    pub measured_s: f64,
    /// Interval of that by the runs that it was measured in, of 95 %, seconds.
    pub measured_interval_s: [f64; 2],
    /// Runs as before and changed.
    pub runs: [usize; 2],
}

impl Score {
    /// Whether the measured saving is within the predicted interval, given its own interval.
    pub fn is_within(&self) -> bool {
        let [low, high] = self.predicted.interval_s;
        self.measured_interval_s[0] <= high && self.measured_interval_s[1] >= low
    }

    /// How far off the prediction was, in half-widths of its interval; `None` of a limit, which predicts no saving.
    fn off(&self) -> Option<f64> {
        let Saving {
            seconds,
            interval_s: [low, high],
            is_limit,
        } = self.predicted;
        let half_s = match self.measured_s < seconds {
            true => seconds - low,
            false => high - seconds,
        };
        let off = (self.measured_s - seconds).abs() / half_s;
        (!is_limit && half_s > 0.0 && off.is_finite()).then_some(off)
    }
}

/// Correction of intervals by scores.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Calibration {
    scores: Vec<Score>,
}

impl Calibration {
    /// Of the scores that there are.
    pub fn new(scores: Vec<Score>) -> Self {
        Self { scores }
    }

    /// Number of scores of a type.
    pub fn n_of(&self, kind: Kind) -> usize {
        self.scores
            .iter()
            .filter(|score| score.kind == kind)
            .count()
    }

    /// Factor by which intervals of a type should be wider.
    pub fn factor(&self, kind: Kind) -> f64 {
        let own = self.scores.iter().filter(|score| score.kind == kind);
        let mut off: Vec<f64> = own.filter_map(Score::off).collect();
        if off.is_empty() {
            return 1.0;
        }
        off.extend((1..=PRIOR).map(prior));
        off.sort_by(f64::total_cmp);
        let nth = (LEVEL * (off.len() + 1) as f64).ceil() as usize;
        off[nth.clamp(1, off.len()) - 1]
    }
}

/// How far off the k-th of [`PRIOR`] right predictions is, in half-widths of a normal interval.
fn prior(k: usize) -> f64 {
    let share = k as f64 / (PRIOR + 1) as f64;
    let normal = Normal::standard();
    normal.inverse_cdf(0.5 + 0.5 * share) / normal.inverse_cdf(0.5 + 0.5 * LEVEL)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn score(measured_s: f64) -> Score {
        Score {
            kind: Kind::Implementation,
            action: String::new(),
            predicted: Saving::predicted(1.0, [0.5, 1.5]),
            measured_s,
            measured_interval_s: [measured_s; 2],
            runs: [3, 3],
        }
    }

    #[test]
    fn intervals_learn_from_scores() {
        let factor = |measured: &[f64]| {
            let scores = measured.iter().map(|at| score(*at)).collect();
            Calibration::new(scores).factor(Kind::Implementation)
        };
        assert!((factor(&[]) - 1.0).abs() < 1e-12);
        // One right score changes next to nothing; many with errors of twice the half-width widen by two.
        assert!((factor(&[1.1]) - 1.0).abs() < 0.05, "{}", factor(&[1.1]));
        assert!((factor(&[0.0; 40]) - 2.0).abs() < 1e-9);
        // Many errors smaller than their intervals narrow these.
        assert!(factor(&[1.0; 400]) < 0.8);
        let other = Calibration::new(vec![score(0.0); 40]);
        assert!((other.factor(Kind::Setting) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_measured_saving_is_within_as_far_as_its_own_interval_says() {
        assert!(score(1.4).is_within());
        assert!(!score(1.6).is_within());
        let unsure = Score {
            measured_interval_s: [1.4, 1.8],
            ..score(1.6)
        };
        assert!(unsure.is_within());
    }

    proptest! {
        #[test]
        fn more_scores_that_are_far_off_never_make_intervals_narrower(off in prop::collection::vec(-3.0..5.0_f64, 1..60), far in 1_usize..10) {
            let mut scores: Vec<Score> = off.into_iter().map(score).collect();
            let before = Calibration::new(scores.clone()).factor(Kind::Implementation);
            scores.extend((0..far).map(|_| score(20.0)));
            let after = Calibration::new(scores).factor(Kind::Implementation);
            prop_assert!(after >= before - 1e-12);
        }
    }
}
