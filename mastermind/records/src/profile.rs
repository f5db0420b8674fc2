//! The profile of a run: Table 1 of the paper, from the records.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::exclusive::ExclusiveTimes;
use crate::run::Run;

/// Name of the row that the measurement's own cost has.
pub const SELF_COST: &str = "(measurement)";

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
    /// Time without them.
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
        let mut sums: BTreeMap<(String, Option<u32>), Sums> = BTreeMap::new();
        let mut self_cost_ns = None;
        for rank in &ranks {
            for (log, _) in run.logs_of(*rank) {
                for (record, exclusive_ns) in ExclusiveTimes::new(log) {
                    let key = (record.method.name(), per_rank.then_some(*rank));
                    let sum = sums.entry(key).or_default();
                    if !sum.classes.contains(&record.method.class) {
                        sum.classes.push(record.method.class.clone());
                    }
                    sum.calls += 1;
                    sum.inclusive_ns += record.wall_ns;
                    sum.exclusive_ns += exclusive_ns;
                    if let Some(mpi_ns) = record.mpi_ns {
                        *sum.mpi_ns.get_or_insert(0) += mpi_ns;
                    }
                }
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

fn rows(sums: BTreeMap<(String, Option<u32>), Sums>, n_ranks: f64) -> Vec<Row> {
    let longest = sums
        .values()
        .map(|sum| sum.inclusive_ns)
        .max()
        .unwrap_or(0)
        .max(1) as f64;
    let row = |((name, rank), sum): ((String, Option<u32>), Sums)| Row {
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
