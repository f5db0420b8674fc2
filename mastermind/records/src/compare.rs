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
    /// Only one run has the method, or too few calls to tell noise, or too many have no record.
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
    /// Share of the calls that have no record, from 0 to 1: they are in the sums and in `mean_ns`, not in its error.
    pub without_record: f64,
}

/// Share of calls without a record up to which the others tell the noise.
const MOST_WITHOUT_RECORD: f64 = 0.01;

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
    if first.without_record.max(second.without_record) > MOST_WITHOUT_RECORD {
        return Verdict::Unknown;
    }
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
    /// Recorded calls whose own time is known.
    n: u64,
    mean_ns: f64,
    /// Sum of squared deviations from the mean (Welford).
    squares: f64,
    /// All calls.
    calls: u64,
    exclusive_ns: u64,
    mpi_ns: Option<u64>,
}

impl Sums {
    fn add_call(&mut self, ns: f64) {
        self.n += 1;
        let deviation = ns - self.mean_ns;
        self.mean_ns += deviation / self.n as f64;
        self.squares += deviation * (ns - self.mean_ns);
    }
}

impl Sums {
    /// Adds those of another call path of the method.
    fn merge(&mut self, other: &Sums) {
        let (n, m) = (self.n as f64, other.n as f64);
        if other.n > 0 {
            let apart = other.mean_ns - self.mean_ns;
            self.n += other.n;
            self.mean_ns += apart * m / (n + m);
            self.squares += other.squares + apart * apart * n * m / (n + m);
        }
        self.calls += other.calls;
        self.exclusive_ns += other.exclusive_ns;
        if let Some(ns) = other.mpi_ns {
            *self.mpi_ns.get_or_insert(0) += ns;
        }
    }
}

fn sides(run: &Run) -> BTreeMap<String, Side> {
    let mut sums = BTreeMap::<String, Sums>::new();
    for log in run.logs() {
        // By call path, since names are put together anew each time.
        let mut of_log = BTreeMap::<u32, Sums>::new();
        let has_all = log.unrecorded().is_empty();
        let mut records = ExclusiveTimes::new(log);
        while let Some((record, own)) = records.next_record() {
            let sum = of_log.entry(record.call_path).or_default();
            if has_all || !log.lacks_calls_of(&record) {
                sum.add_call(own.wall_ns as f64);
            }
            sum.calls += 1;
            sum.exclusive_ns += own.wall_ns;
            if record.mpi_ns.is_some() {
                *sum.mpi_ns.get_or_insert(0) += own.mpi_ns;
            }
        }
        if !has_all {
            for path in log.path_times(false) {
                let sum = of_log.entry(path.call_path).or_default();
                (sum.calls, sum.exclusive_ns) = (path.calls, path.own.wall_ns);
                sum.mpi_ns = path.mpi_ns.map(|_| path.own.mpi_ns);
            }
        }
        for (path, sum) in of_log.into_iter().filter(|(_, sum)| sum.calls > 0) {
            if let Some(method) = log.definitions().method_of(path) {
                sums.entry(method.name()).or_default().merge(&sum);
            }
        }
    }
    let ranks = run.ranks().len().max(1) as f64;
    // Equal readings of a clock that steps are not equal times.
    let step_ns = run.clock_step_ns().unwrap_or(0.0);
    let least_variance = step_ns * step_ns / 6.0;
    let coverage = run.coverage();
    let side = |name: &str, sum: Sums| {
        let n = sum.n as f64;
        Side {
            calls: sum.calls as f64 / ranks,
            exclusive_ns: sum.exclusive_ns as f64 / ranks,
            mpi_ns: sum.mpi_ns.map(|ns| ns as f64 / ranks),
            mean_ns: sum.exclusive_ns as f64 / sum.calls as f64,
            std_error_ns: (sum.n > 1).then(|| {
                let variance = (sum.squares / (n - 1.0)).max(least_variance);
                (variance / n).sqrt()
            }),
            without_record: coverage.share_without(name),
        }
    };
    sums.into_iter()
        .map(|(name, sum)| {
            let side = side(&name, sum);
            (name, side)
        })
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
        let lacking = Side {
            without_record: 0.9,
            ..side(116.0, Some(4.0))
        };
        assert_eq!(verdict(&a, &lacking), Verdict::Unknown);
    }
}
