//! Compares two runs method by method.
//!
//! A program or a machine has changed between two runs: which methods became slower? For each method, [`compare()`]
//! reads the recorded calls of both runs and compares the median times of calls with equal parameters (`effect`). It
//! widens the interval of that difference by the shift that all other methods share (`state`). A method is slower or
//! faster only if the whole interval lies beyond a margin of 5 %; if the interval contains the margin, the verdict is
//! unknown. [`overall`] gives one verdict for the whole run.
//!
//! ```text
//! method          first     second    difference   interval         verdict
//! flux.compute    1.20 ms   1.45 ms   +20.8 %      +17 … +24 %      slower
//! rk2.advance     0.31 ms   0.32 ms    +3.2 %       +1 … +4.5 %     same
//! mesh.refine     8.00 ms   8.60 ms    +7.5 %       −2 … +17 %      cannot tell
//! ```

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher};

use serde::{Deserialize, Serialize};

use crate::coverage::{Coverage, MethodCoverage};
use crate::effect::{Calls, Effect, estimate};
use crate::exclusive::ExclusiveTimes;
use crate::log::Log;
use crate::parallel::in_parallel;
use crate::records::Record;
use crate::run::Run;
use crate::state;

/// Difference below which two runs of a method count as equal, percent. Smaller differences hardly matter, and a change
/// in the state of the machine causes them.
pub const MARGIN_PERCENT: f64 = 5.0;

/// What became of a method from the first run to the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// At equal parameters a call takes less time, by more than the margin.
    Faster,
    /// At equal parameters a call takes more time, by more than the margin.
    Slower,
    /// The difference is within the margin.
    Same,
    /// The interval of the difference contains the margin, only one run has the method, too few calls have equal
    /// parameters, or too many calls have no record.
    #[serde(rename = "cannot tell")]
    Unknown,
}

/// A method in one run; times are exclusive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Side {
    /// Calls, mean over the ranks.
    pub calls: f64,
    /// Time of all calls, nanoseconds, mean over the ranks.
    pub exclusive_ns: f64,
    /// The part of `exclusive_ns` in MPI, nanoseconds, mean over the ranks; `None` where it was not measured.
    pub mpi_ns: Option<f64>,
    /// Time of a call, nanoseconds.
    pub mean_ns: f64,
    /// Share of the calls that have no record, from 0 to 1. They count in the sums and in `mean_ns`, not in its error.
    pub without_record: f64,
}

/// Largest share of calls without a record at which the recorded calls still estimate the noise.
const MAX_WITHOUT_RECORD: f64 = 0.01;

/// Mean times of a method in two runs, and whether they differ by more than noise.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Compared {
    /// `instance.method`.
    pub name: String,
    /// The first run.
    pub first: Side,
    /// The second run.
    pub second: Side,
    /// Mean time of a call in the second run divided by that in the first, minus 1, in percent; `None` if either run
    /// has no calls.
    pub difference_percent: Option<f64>,
    /// Increase of a call's time at equal parameters, from medians; `None` if it is not known.
    pub effect: Option<Effect>,
    /// The conclusion.
    pub verdict: Verdict,
}

/// Compares two runs method by method, by the time a call takes without the measured calls made from it.
///
/// # Returns
/// The methods of both runs and the functions of MPI, those with the largest change of total time first.
pub fn compare(first: &Run, second: &Run) -> Vec<Compared> {
    compare_within(first, second, MARGIN_PERCENT)
}

/// As [`compare()`]; differences up to `margin_percent`, percent of the first run's time, count as equal.
pub fn compare_within(first: &Run, second: &Run, margin_percent: f64) -> Vec<Compared> {
    compare_calls(RunCalls::of(first), RunCalls::of(second), margin_percent)
}

/// As [`compare_within`], from the extracted calls of the two runs, which may be closed by then.
pub fn compare_calls(first: RunCalls, second: RunCalls, margin_percent: f64) -> Vec<Compared> {
    let steps = [&first, &second].map(|run| run.clock_step_ns.unwrap_or(0.0));
    let step_ns = f64::max(steps[0], steps[1]);
    let (mut first, mut second) = (first.sides(), second.sides());
    for name in second.keys() {
        first.entry(name.clone()).or_default();
    }
    let of_method = |(name, (first, first_calls)): (String, (Side, Calls))| {
        let (second, second_calls) = second.remove(&name).unwrap_or_default();
        let estimate = estimate(&first_calls, &second_calls, step_ns);
        let lacks = f64::max(first.without_record, second.without_record);
        let estimate = estimate.filter(|_| lacks <= MAX_WITHOUT_RECORD);
        ((name, first, second), estimate)
    };
    let (methods, estimates): (Vec<_>, Vec<_>) = first.into_iter().map(of_method).unzip();
    let effects = state::effects(&estimates);
    let of_method = |((name, first, second), effect): ((String, Side, Side), Option<Effect>)| {
        let both = first.calls > 0.0 && second.calls > 0.0 && first.mean_ns > 0.0;
        Compared {
            verdict: verdict(effect, margin_percent),
            difference_percent: both.then(|| 100.0 * (second.mean_ns / first.mean_ns - 1.0)),
            name,
            first,
            second,
            effect,
        }
    };
    let mut compared: Vec<_> = methods.into_iter().zip(effects).map(of_method).collect();
    let change = |c: &Compared| (c.second.exclusive_ns - c.first.exclusive_ns).abs();
    compared.sort_by(|a, b| change(b).total_cmp(&change(a)));
    compared
}

/// The change of all methods together, each weighted by its time in the first run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Overall {
    /// Increase of the time of the first run's calls in the second; `None` if too little of the time can be compared.
    pub effect: Option<Effect>,
    /// Share of the time of both runs that can be compared at equal parameters, 0 to 1.
    pub share: f64,
    /// The conclusion.
    pub verdict: Verdict,
}

/// Minimum share of comparable time for a verdict over both runs: below it, the other methods would decide.
const MIN_SHARE: f64 = 0.8;

/// One verdict over all methods.
///
/// Methods of one run share the main cause of a change, the state of the machine. Their errors are therefore
/// correlated, and the ends of their intervals are added, not the squares. A method without an interval cannot be
/// compared. If one method has a lower end only, so has the sum.
pub fn overall(compared: &[Compared], margin_percent: f64) -> Overall {
    let (mut all, mut known, mut weight) = (0.0, 0.0, 0.0);
    let (mut percent, mut lower, mut upper) = (0.0, Some(0.0), Some(0.0));
    for method in compared {
        let longer_ns = f64::max(method.first.exclusive_ns, method.second.exclusive_ns);
        all += longer_ns;
        let ns = method.first.exclusive_ns;
        let Some(effect) = method.effect.filter(|of| ns > 0.0 && of.has_interval()) else {
            continue;
        };
        known += longer_ns;
        weight += ns;
        percent += ns * effect.percent;
        let add = |sum: Option<f64>, end: Option<f64>| Some(sum? + ns * end?);
        lower = add(lower, effect.lower_percent);
        upper = add(upper, effect.upper_percent);
    }
    let share = if all > 0.0 { known / all } else { 0.0 };
    let effect = (share >= MIN_SHARE && weight > 0.0).then(|| Effect {
        percent: percent / weight,
        lower_percent: lower.map(|sum| sum / weight),
        upper_percent: upper.map(|sum| sum / weight),
    });
    Overall {
        effect,
        share,
        verdict: verdict(effect, margin_percent),
    }
}

fn verdict(effect: Option<Effect>, margin_percent: f64) -> Verdict {
    // The inverse of the margin: 4.76 % less undoes 5 % more.
    let less = 100.0 * (1.0 / (1.0 + margin_percent / 100.0) - 1.0);
    let (lower, upper) = effect.map_or((None, None), |of| (of.lower_percent, of.upper_percent));
    match (lower, upper) {
        (Some(lower), _) if lower > margin_percent => Verdict::Slower,
        (_, Some(upper)) if upper < less => Verdict::Faster,
        (Some(lower), Some(upper)) if lower >= less && upper <= margin_percent => Verdict::Same,
        _ => Verdict::Unknown,
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Sums {
    /// All calls.
    calls: u64,
    exclusive_ns: u64,
    mpi_ns: Option<u64>,
    /// Recorded calls with a known exclusive time.
    known: Calls,
}

impl Sums {
    /// Adds the sums of another call path of the method.
    fn merge(&mut self, other: Sums) {
        self.known.merge(other.known);
        self.calls += other.calls;
        self.exclusive_ns += other.exclusive_ns;
        if let Some(ns) = other.mpi_ns {
            *self.mpi_ns.get_or_insert(0) += ns;
        }
    }
}

/// Hash of the words of a call's parameters; collisions of 64 bits are negligible. Call sites and request numbers are
/// left out, since they differ between runs.
fn hashed(record: &Record<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    let words = record.values.iter().zip(&record.method.parameters);
    for (word, _) in words.filter(|(_, definition)| !definition.is_incidental()) {
        hasher.write_u64(*word);
    }
    hasher.finish()
}

/// Name of an MPI function in tables.
fn function(name: &str) -> String {
    format!("{name}()")
}

/// Number of logs whose calls are in memory at a time before they are merged. Arbitrary: large enough that threads
/// seldom wait for one another.
const LOGS_AT_ONCE: usize = 1024;

/// The calls of a run that a comparison needs, or of those ranks that one of several processes has read.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct RunCalls {
    sums: BTreeMap<String, Sums>,
    /// Calls and time of each MPI function over all ranks.
    functions: BTreeMap<String, (u64, u64)>,
    ranks: usize,
    coverage: Coverage,
    clock_step_ns: Option<f64>,
}

impl RunCalls {
    /// Reads the records of a run, or of some of its ranks, once.
    pub fn of(run: &Run) -> Self {
        let mut calls = Self {
            ranks: run.ranks().len(),
            coverage: run.coverage_in_total(),
            clock_step_ns: run.clock_step_ns(),
            ..Self::default()
        };
        for logs in run.logs().chunks(LOGS_AT_ONCE) {
            for (log, of_log) in in_parallel(logs.iter().collect(), |log| (log, sums_of(log))) {
                calls.add_log(log, of_log);
            }
        }
        for routine in run.ranks().iter().flat_map(|rank| run.mpi_routines(*rank)) {
            let name = function(&routine.name);
            let (n, ns) = calls.functions.entry(name).or_default();
            *n += routine.calls;
            *ns += routine.ns;
        }
        calls
    }

    /// Adds the calls of the ranks after these.
    pub fn append(&mut self, later: Self) {
        for (name, sum) in later.sums {
            self.sums.entry(name).or_default().merge(sum);
        }
        for (name, (n, ns)) in later.functions {
            let of_function = self.functions.entry(name).or_default();
            of_function.0 += n;
            of_function.1 += ns;
        }
        self.ranks += later.ranks;
        self.coverage.add(later.coverage);
        let steps = self.clock_step_ns.into_iter().chain(later.clock_step_ns);
        self.clock_step_ns = steps.reduce(f64::max);
    }

    fn add_log(&mut self, log: &Log, of_log: BTreeMap<u32, Sums>) {
        let definitions = log.definitions();
        for (path, sum) in of_log.into_iter().filter(|(_, sum)| sum.calls > 0) {
            if let Some(method) = definitions.recorded_method(path) {
                self.covered(method.name()).calls += sum.calls;
            }
            if let Some(method) = definitions.method_of(path) {
                let name = match method.is_mpi() {
                    true => function(&method.method),
                    false => method.name(),
                };
                self.sums.entry(name).or_default().merge(sum);
            }
        }
        for lost in log.unrecorded() {
            if let Some(method) = definitions.recorded_method(lost.call_path) {
                self.covered(method.name()).without_record += lost.calls;
            }
        }
    }

    fn covered(&mut self, name: String) -> &mut MethodCoverage {
        self.coverage.methods.entry(name).or_default()
    }

    fn sides(mut self) -> BTreeMap<String, (Side, Calls)> {
        for (name, (calls, ns)) in self.functions {
            let sum = self.sums.entry(name).or_default();
            // Calls that were recorded one by one are in the totals too.
            (sum.calls, sum.exclusive_ns, sum.mpi_ns) = (calls, ns, Some(ns));
        }
        let ranks = self.ranks.max(1) as f64;
        let side = |name: &str, sum: &Sums| Side {
            calls: sum.calls as f64 / ranks,
            exclusive_ns: sum.exclusive_ns as f64 / ranks,
            mpi_ns: sum.mpi_ns.map(|ns| ns as f64 / ranks),
            mean_ns: sum.exclusive_ns as f64 / sum.calls as f64,
            without_record: self.coverage.share_without(name),
        };
        let sums = self.sums.into_iter();
        sums.map(|(name, sum)| {
            let side = side(&name, &sum);
            (name, (side, sum.known))
        })
        .collect()
    }
}

/// Sums over the calls of each call path of a log.
fn sums_of(log: &Log) -> BTreeMap<u32, Sums> {
    // By call path, since building names for each call would be slow.
    let mut of_log = BTreeMap::<u32, Sums>::new();
    let has_all = log.unrecorded().is_empty();
    let mut records = ExclusiveTimes::new(log);
    while let Some((record, own)) = records.next_record() {
        let sum = of_log.entry(record.call_path).or_insert_with(|| {
            let mut sum = Sums::default();
            sum.known.begin();
            sum
        });
        if !record.failed && (has_all || !log.lacks_calls_of(&record)) {
            sum.known.add(hashed(&record), own.wall_ns as f64);
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
    of_log
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_must_be_beyond_the_margin() {
        let verdict = |lower_percent, upper_percent| {
            let percent = 0.5 * (lower_percent + upper_percent);
            let effect = Effect {
                percent,
                lower_percent: Some(lower_percent),
                upper_percent: Some(upper_percent),
            };
            verdict(Some(effect), MARGIN_PERCENT)
        };
        assert_eq!(verdict(6.0, 300.0), Verdict::Slower);
        assert_eq!(verdict(-40.0, -6.0), Verdict::Faster);
        assert_eq!(verdict(-4.0, 4.9), Verdict::Same);
        assert_eq!(verdict(-37.0, 269.0), Verdict::Unknown);
        assert_eq!(verdict(1.0, 7.0), Verdict::Unknown);
        assert_eq!(super::verdict(None, MARGIN_PERCENT), Verdict::Unknown);
    }

    fn method(exclusive_ns: f64, effect: Option<(f64, Option<f64>, Option<f64>)>) -> Compared {
        let side = Side {
            exclusive_ns,
            ..Side::default()
        };
        Compared {
            name: String::new(),
            first: side,
            second: side,
            difference_percent: None,
            effect: effect.map(|(percent, lower_percent, upper_percent)| Effect {
                percent,
                lower_percent,
                upper_percent,
            }),
            verdict: Verdict::Unknown,
        }
    }

    #[test]
    fn methods_weigh_as_much_as_their_time() {
        let long = method(900.0, Some((1.0, Some(0.0), Some(2.0))));
        let short = method(100.0, Some((100.0, Some(90.0), Some(110.0))));
        let both = overall(&[long.clone(), short.clone()], 5.0);
        let effect = both.effect.unwrap();
        assert!((effect.percent - 10.9).abs() < 1e-9, "{effect:?}");
        let lower = effect.lower_percent.unwrap();
        assert!((lower - 9.0).abs() < 1e-9, "{effect:?}");
        assert_eq!(both.verdict, Verdict::Slower);
        // With half of the time not comparable, there is no verdict.
        let unknown = overall(&[long, short, method(1000.0, None)], 5.0);
        assert_eq!((unknown.effect, unknown.verdict), (None, Verdict::Unknown));
        assert_eq!(overall(&[], 5.0).verdict, Verdict::Unknown);
    }

    #[test]
    fn a_method_without_an_interval_cannot_be_compared() {
        let known = method(850.0, Some((1.0, Some(-1.0), Some(3.0))));
        let of_few_calls = |ns: f64| method(ns, Some((40.0, None, None)));
        let both = overall(&[known.clone(), of_few_calls(150.0)], 5.0);
        let interval = both.effect.map(|of| (of.lower_percent, of.upper_percent));
        assert_eq!(interval, Some((Some(-1.0), Some(3.0))));
        assert!((both.share - 0.85).abs() < 1e-9);
        let half = overall(&[known.clone(), of_few_calls(850.0)], 5.0);
        assert_eq!((half.effect, half.verdict), (None, Verdict::Unknown));
        // A lower end alone is enough for "slower".
        let longer = method(500.0, Some((2e5, Some(1e4), None)));
        let both = overall(&[known, longer], 5.0);
        assert_eq!(both.verdict, Verdict::Slower);
        assert_eq!(both.effect.unwrap().upper_percent, None);
    }
}
