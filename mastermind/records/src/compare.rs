//! Two runs side by side.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::exclusive::ExclusiveTimes;
use crate::run::Run;

/// Standard errors that a difference must have to be more than noise.
///
/// Calls are neither independent nor normal, so this is a rule of thumb and wider than the 1.96 of a 5 % level.
const STANDARD_ERRORS: f64 = 3.0;

/// What became of a method from the first run to the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// A call takes less time, by more than the noise.
    Faster,
    /// A call takes more time, by more than the noise.
    Slower,
    /// The difference is within the noise.
    Same,
    /// Only one run has the method, or too few calls to tell noise.
    Unknown,
}

/// A method in one run; times are exclusive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Side {
    /// Calls, mean over the ranks.
    pub calls: f64,
    /// Time of all calls, nanoseconds, mean over the ranks.
    pub exclusive_ns: f64,
    /// The part of it in MPI, nanoseconds, mean over the ranks; `None` where it was not measured.
    pub mpi_ns: Option<f64>,
    /// Time of a call, nanoseconds.
    pub mean_ns: f64,
    /// Standard error of `mean_ns`; `None` with fewer than two calls.
    pub std_error_ns: Option<f64>,
}

/// A method in both runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Compared {
    /// `instance.method`.
    pub name: String,
    /// The first run.
    pub first: Side,
    /// The second run.
    pub second: Side,
    /// Time of a call in the second run by that in the first, minus 1, in percent; `None` where one has no calls.
    pub difference_percent: Option<f64>,
    /// What to make of it.
    pub verdict: Verdict,
}

/// Compares two runs method by method, by the time a call takes without the measured calls made from it.
///
/// # Returns
/// The methods of both runs, those with the largest change of total time first.
///
/// # Source
/// Welch's comparison of two means, *Biometrika* 34 (1947), with [`Verdict`]'s own threshold.
pub fn compare(first: &Run, second: &Run) -> Vec<Compared> {
    let (mut first, second) = (sides(first), sides(second));
    for name in second.keys() {
        first.entry(name.clone()).or_default();
    }
    let mut compared: Vec<_> = first
        .into_iter()
        .map(|(name, first)| {
            let second = second.get(&name).copied().unwrap_or_default();
            let both = first.calls > 0.0 && second.calls > 0.0 && first.mean_ns > 0.0;
            Compared {
                verdict: verdict(&first, &second),
                difference_percent: both.then(|| 100.0 * (second.mean_ns / first.mean_ns - 1.0)),
                name,
                first,
                second,
            }
        })
        .collect();
    let change = |c: &Compared| (c.second.exclusive_ns - c.first.exclusive_ns).abs();
    compared.sort_by(|a, b| change(b).total_cmp(&change(a)));
    compared
}

fn verdict(first: &Side, second: &Side) -> Verdict {
    let (Some(a), Some(b)) = (first.std_error_ns, second.std_error_ns) else {
        return Verdict::Unknown;
    };
    let difference = second.mean_ns - first.mean_ns;
    if difference.abs() <= STANDARD_ERRORS * a.hypot(b) {
        Verdict::Same
    } else if difference < 0.0 {
        Verdict::Faster
    } else {
        Verdict::Slower
    }
}

#[derive(Default)]
struct Sums {
    calls: u64,
    mean_ns: f64,
    /// Sum of squared deviations from the mean (Welford).
    squares: f64,
    mpi_ns: Option<u64>,
}

fn sides(run: &Run) -> BTreeMap<String, Side> {
    let mut sums = BTreeMap::<String, Sums>::new();
    for log in run.logs() {
        let mut records = ExclusiveTimes::new(log);
        while let Some((record, own)) = records.next_record() {
            let sum = sums.entry(record.method.name()).or_default();
            sum.calls += 1;
            let ns = own.wall_ns as f64;
            let deviation = ns - sum.mean_ns;
            sum.mean_ns += deviation / sum.calls as f64;
            sum.squares += deviation * (ns - sum.mean_ns);
            if record.mpi_ns.is_some() {
                *sum.mpi_ns.get_or_insert(0) += own.mpi_ns;
            }
        }
    }
    let ranks = run.ranks().len().max(1) as f64;
    // Equal readings of a clock that steps are not equal times.
    let step_ns = run.clock_step_ns().unwrap_or(0.0);
    let least_variance = step_ns * step_ns / 6.0;
    let side = |sum: Sums| {
        let calls = sum.calls as f64;
        Side {
            calls: calls / ranks,
            exclusive_ns: sum.mean_ns * calls / ranks,
            mpi_ns: sum.mpi_ns.map(|ns| ns as f64 / ranks),
            mean_ns: sum.mean_ns,
            std_error_ns: (sum.calls > 1).then(|| {
                let variance = (sum.squares / (calls - 1.0)).max(least_variance);
                (variance / calls).sqrt()
            }),
        }
    };
    sums.into_iter()
        .map(|(name, sum)| (name, side(sum)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(mean_ns: f64, std_error_ns: Option<f64>) -> Side {
        Side {
            calls: 10.0,
            mean_ns,
            std_error_ns,
            ..Side::default()
        }
    }

    #[test]
    fn a_difference_must_be_more_than_the_noise() {
        let (a, b) = (side(100.0, Some(3.0)), side(112.0, Some(4.0)));
        assert_eq!(verdict(&a, &b), Verdict::Same);
        assert_eq!(verdict(&a, &side(116.0, Some(4.0))), Verdict::Slower);
        assert_eq!(verdict(&side(116.0, Some(4.0)), &a), Verdict::Faster);
        assert_eq!(verdict(&a, &side(900.0, None)), Verdict::Unknown);
    }
}
