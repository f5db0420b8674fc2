//! The profile of a run: Table 1 of the paper, from the records.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::definition::MPI_CLASS;
use crate::exclusive::ExclusiveTimes;
use crate::log::Log;
use crate::records::Record;
use crate::run::Run;

/// Name of the row that the measurement's own cost has.
pub const SELF_COST: &str = "(measurement)";

/// Name of the row of all time in MPI, where the run did not come to tell its functions apart.
const ALL_MPI: &str = "MPI (all functions)";

/// The profile of a run, mean over its ranks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Profile {
    /// Number of ranks that left records.
    pub ranks: usize,
    /// One row a method, by exclusive time, largest first.
    pub rows: Vec<Row>,
    /// Calls that could not be recorded, over all ranks.
    pub lost_records: u64,
    /// What the measurement itself cost, nanoseconds, mean over the ranks; `None` where it was not calibrated.
    pub self_cost_ns: Option<f64>,
}

/// One method. Times in nanoseconds and calls are means over the ranks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// `instance.method`.
    pub name: String,
    /// Class of the instance; several where it was replaced in mid-run.
    pub class: String,
    /// The rank, in a profile of single ranks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// Calls.
    pub calls: f64,
    /// Time with the measured calls made from it.
    pub inclusive_ns: f64,
    /// Time without them, and without that in MPI, whose functions have rows of their own.
    pub exclusive_ns: f64,
    /// Time inside MPI; `None` where it was not measured.
    pub mpi_ns: Option<f64>,
    /// Inclusive time, of the longest row's.
    pub percent: f64,
}

#[derive(Default)]
struct Sums {
    classes: Vec<String>,
    calls: u64,
    inclusive_ns: u64,
    exclusive_ns: u64,
    mpi_ns: Option<u64>,
}

impl Profile {
    /// Reads the records of a run once.
    ///
    /// # Arguments
    /// * `per_rank` - a row a method and rank, instead of the mean over the ranks
    ///
    /// # Source
    /// Ray et al., IPDPS 2004, Table 1. `percent` is of the longest inclusive time, which is the run's own where its Go
    /// port was recorded.
    pub fn new(run: &Run, per_rank: bool) -> Self {
        let ranks = run.ranks();
        let mut sums = BTreeMap::new();
        let mut self_cost_ns = None;
        for rank in &ranks {
            let key = |name: String| (name, per_rank.then_some(*rank));
            add_records(run, *rank, &mut sums, key);
            add_mpi(run, *rank, &mut sums, key);
            for (log, _) in run.logs_of(*rank) {
                if let Some(cost) = log.definitions().cost {
                    *self_cost_ns.get_or_insert(0.0) += cost.record_ns * log.n_records() as f64;
                }
            }
        }
        let n_ranks = ranks.len().max(1) as f64;
        let mut profile = Profile {
            ranks: ranks.len(),
            rows: rows(sums, if per_rank { 1.0 } else { n_ranks }),
            lost_records: run.dropped(),
            self_cost_ns: self_cost_ns.map(|sum: f64| sum / n_ranks),
        };
        profile
            .rows
            .sort_by(|a, b| b.exclusive_ns.total_cmp(&a.exclusive_ns));
        profile
    }
}

/// Name, and the rank in a profile of single ranks.
type Key = (String, Option<u32>);

/// A row a method; recorded calls of MPI are in the rows of its functions.
fn add_records(run: &Run, rank: u32, sums: &mut BTreeMap<Key, Sums>, key: impl Fn(String) -> Key) {
    for (log, _) in run.logs_of(rank) {
        for (path, path_sums) in sums_by_path(log).into_iter().enumerate() {
            let method = log.definitions().method_of(path as u32);
            let Some(method) = method.filter(|m| path_sums.calls > 0 && !m.is_mpi()) else {
                continue;
            };
            let sum = sums.entry(key(method.name())).or_default();
            if !sum.classes.contains(&method.class) {
                sum.classes.push(method.class.clone());
            }
            sum.calls += path_sums.calls;
            sum.inclusive_ns += path_sums.inclusive_ns;
            sum.exclusive_ns += path_sums.exclusive_ns;
            if let Some(mpi_ns) = path_sums.mpi_ns {
                *sum.mpi_ns.get_or_insert(0) += mpi_ns;
            }
        }
    }
}

/// Index: call path. A record costs no look-up by name.
fn sums_by_path(log: &Log) -> Vec<Sums> {
    let mut sums: Vec<Sums> = Vec::new();
    let mut records = ExclusiveTimes::new(log);
    while let Some((record, own)) = records.next_record() {
        let path = record.call_path as usize;
        if path >= sums.len() {
            sums.resize_with(path + 1, Sums::default);
        }
        let sum = &mut sums[path];
        sum.calls += 1;
        sum.inclusive_ns += record.wall_ns;
        sum.exclusive_ns += own.wall_ns.saturating_sub(own.mpi_ns);
        if let Some(mpi_ns) = record.mpi_ns {
            *sum.mpi_ns.get_or_insert(0) += mpi_ns;
        }
    }
    sums
}

/// A row a function of MPI; of a run whose logs do not tell, one row with what its records say.
fn add_mpi(run: &Run, rank: u32, sums: &mut BTreeMap<Key, Sums>, key: impl Fn(String) -> Key) {
    let mut add = |name: String, calls, ns| {
        let sum = sums.entry(key(name)).or_default();
        sum.classes = vec![MPI_CLASS.into()];
        sum.calls += calls;
        sum.inclusive_ns += ns;
        sum.exclusive_ns += ns;
        *sum.mpi_ns.get_or_insert(0) += ns;
    };
    let routines = run.mpi_routines(rank);
    for routine in &routines {
        add(format!("{}()", routine.name), routine.calls, routine.ns);
    }
    if !routines.is_empty() {
        return;
    }
    let outermost = |record: &Record<'_>| record.parent_seq.is_none();
    let records = run.logs_of(rank).flat_map(|(log, _)| log.records());
    let ns = records
        .filter(outermost)
        .filter_map(|record| record.mpi_ns)
        .sum();
    if ns > 0 {
        add(ALL_MPI.into(), 0, ns);
    }
}

fn rows(sums: BTreeMap<Key, Sums>, n_ranks: f64) -> Vec<Row> {
    let longest = sums
        .values()
        .map(|sum| sum.inclusive_ns)
        .max()
        .unwrap_or(0)
        .max(1) as f64;
    let row = |((name, rank), sum): (Key, Sums)| Row {
        name,
        class: sum.classes.join(", "),
        rank,
        calls: sum.calls as f64 / n_ranks,
        inclusive_ns: sum.inclusive_ns as f64 / n_ranks,
        exclusive_ns: sum.exclusive_ns as f64 / n_ranks,
        mpi_ns: sum.mpi_ns.map(|ns| ns as f64 / n_ranks),
        percent: 100.0 * sum.inclusive_ns as f64 / longest,
    };
    sums.into_iter().map(row).collect()
}
