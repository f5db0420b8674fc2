//! How well a run uses its ranks, as factors between 0 and 1 that multiply.
//!
//! ```text
//! parallel      mean / T                  the part of the time in which a rank computes
//!   load balance    mean / max            even work
//!   communication   max / T               the rest besides waiting and messages
//!     serialisation   max / ideal T       waiting that remains if messages take no time
//!     transfer        ideal T / T         messages
//! ```
//!
//! `mean` and `max` are of the ranks' computation, `T` is the length of the run, `ideal T` that of its replay with
//! messages that take no time.
//!
//! # Source
//! M. Wagner et al., "A structured approach to performance analysis" (POP), 2018; the names are those of its users.

use std::fmt;

use serde::Serialize;

/// The factors of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Efficiency {
    /// Mean computation of the ranks, divided by the length of the run.
    pub parallel: f64,
    /// Mean by largest.
    pub load_balance: f64,
    /// Largest by the length of the run.
    pub communication: f64,
    /// Largest by the length of the replay; `None` without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serialisation: Option<f64>,
    /// Length of the replay divided by that of the run; `None` without a replay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfer: Option<f64>,
}

impl Efficiency {
    /// # Arguments
    /// * `elapsed_s` - length of the run, seconds
    /// * `computing_s` - computation of each rank, shape `[ranks]`, seconds
    /// * `ideal_s` - length of the run with messages that take no time, seconds; if noise makes it longer than the run,
    ///   the run's length is used
    ///
    /// # Returns
    /// `None` if nothing was computed, or nothing took time.
    pub fn of(elapsed_s: f64, computing_s: &[f64], ideal_s: Option<f64>) -> Option<Self> {
        let mean_s = computing_s.iter().sum::<f64>() / computing_s.len().max(1) as f64;
        let most_s = computing_s.iter().copied().fold(0.0, f64::max);
        Self::of_sums(elapsed_s, mean_s, most_s, ideal_s)
    }

    /// As [`Efficiency::of`], from the mean and the largest computation of the ranks.
    pub fn of_sums(elapsed_s: f64, mean_s: f64, most_s: f64, ideal_s: Option<f64>) -> Option<Self> {
        if elapsed_s <= 0.0 || most_s <= 0.0 {
            return None;
        }
        let length_s = elapsed_s.max(most_s);
        let ideal_s = ideal_s.map(|ideal_s| ideal_s.clamp(most_s, length_s));
        Some(Self {
            parallel: mean_s / length_s,
            load_balance: mean_s / most_s,
            communication: most_s / length_s,
            serialisation: ideal_s.map(|ideal_s| most_s / ideal_s),
            transfer: ideal_s.map(|ideal_s| ideal_s / length_s),
        })
    }
}

impl fmt::Display for Efficiency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |share: f64| format!("{:.1} %", 100.0 * share);
        write!(
            f,
            "parallel efficiency {}: load balance {}, communication {}",
            percent(self.parallel),
            percent(self.load_balance),
            percent(self.communication)
        )?;
        match (self.serialisation, self.transfer) {
            (Some(serialisation), Some(transfer)) => write!(
                f,
                " (serialisation {}, transfer {})",
                percent(serialisation),
                percent(transfer)
            ),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn factors_are_those_of_a_run_counted_by_hand() {
        // Ranks compute for 3 and 1 s; the run takes 5 s, and 4 s where messages take no time.
        let found = Efficiency::of(5.0, &[3.0, 1.0], Some(4.0)).expect("they compute");
        let expected = Efficiency {
            parallel: 0.4,
            load_balance: 2.0 / 3.0,
            communication: 0.6,
            serialisation: Some(0.75),
            transfer: Some(0.8),
        };
        assert_eq!(found, expected);
        let text = "parallel efficiency 40.0 %: load balance 66.7 %, communication 60.0 % (serialisation 75.0 %, transfer 80.0 %)";
        assert_eq!(found.to_string(), text);
        assert_eq!(Efficiency::of(5.0, &[0.0, 0.0], None), None);
        assert_eq!(Efficiency::of(0.0, &[], None), None);
    }

    proptest! {
        #[test]
        fn factors_multiply_and_are_shares(elapsed_s in 0.1..20.0_f64, computing_s in prop::collection::vec(0.0..20.0_f64, 1..9), ideal_s in 0.0..30.0_f64) {
            prop_assume!(computing_s.iter().any(|own_s| *own_s > 0.0));
            let found = Efficiency::of(elapsed_s, &computing_s, Some(ideal_s));
            let found = found.expect("something is computed");
            prop_assert!((found.load_balance * found.communication - found.parallel).abs() < 1e-12);
            let (serialisation, transfer) = (found.serialisation.unwrap_or(0.0), found.transfer.unwrap_or(0.0));
            prop_assert!((serialisation * transfer - found.communication).abs() < 1e-12);
            for factor in [found.parallel, found.load_balance, found.communication, serialisation, transfer] {
                prop_assert!((0.0..=1.0 + 1e-12).contains(&factor));
            }
        }
    }
}
