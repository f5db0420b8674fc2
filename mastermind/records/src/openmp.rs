//! OpenMP activity of a wrapped program.

use std::collections::BTreeMap;

use crate::definition::{OpenMpSumDefinition, OpenMpSumsDefinition};
use crate::{Log, Run};

/// The measured OpenMP constructs of a process, summed by directive and call site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenMpProcess {
    /// Its rank.
    pub rank: u32,
    /// Its number on its machine.
    pub process: u32,
    /// Runtimes that were measured.
    pub runtimes: Vec<String>,
    /// Why some measurements are missing.
    pub unmeasured: Vec<String>,
    /// Number of regions that were still in progress at the end.
    pub open_regions: u64,
    /// Sums of the constructs.
    pub sums: Vec<OpenMpTimes>,
}

/// Sum over OpenMP constructs of one directive from one call site; for parallel regions also the share of one thread of
/// the team.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenMpTimes {
    /// The directive, such as `parallel` or `task`.
    pub construct: String,
    /// Return address of the calls.
    pub site: u64,
    /// Number of the thread, for its share.
    pub thread: Option<u32>,
    /// Whether the regions are nested in others.
    pub nested: bool,
    /// Number of times that threads reached the construct; for regions and tasks, their number.
    pub calls: u64,
    /// Number of instances, regardless of how many threads reached each; for tasks, the number that ran.
    pub instances: u64,
    /// Time of regions, of a thread's share in them, or of running tasks, nanoseconds.
    pub ns: u64,
    /// Waiting time, nanoseconds.
    pub wait_ns: u64,
    /// For a thread's share: time from the begin of regions until its arrival, nanoseconds.
    pub start_ns: u64,
    /// Team sizes of regions, or pieces of work.
    pub items: u64,
}

impl Run {
    /// OpenMP activity of each process, by rank; empty if it was not recorded, or if the process was killed.
    pub fn openmp(&self) -> Vec<OpenMpProcess> {
        // All logs of a process contain the same sums, unless one is damaged.
        let mut logs = BTreeMap::<(u32, u32), (&Log, &OpenMpSumsDefinition)>::new();
        for log in self.logs() {
            let Some(openmp) = &log.definitions().openmp else {
                continue;
            };
            let process = (log.identity().rank, log.definitions().run.process);
            let known = logs.entry(process).or_insert((log, openmp));
            if known.1.sums.len() < openmp.sums.len() {
                *known = (log, openmp);
            }
        }
        let of_process =
            |((rank, process), (log, openmp)): ((u32, u32), (&Log, &OpenMpSumsDefinition))| {
                OpenMpProcess {
                    rank,
                    process,
                    runtimes: openmp.runtimes.clone(),
                    unmeasured: openmp.unmeasured.clone(),
                    open_regions: openmp.open_regions,
                    sums: openmp.sums.iter().map(|sum| times(log, sum)).collect(),
                }
            };
        logs.into_iter().map(of_process).collect()
    }
}

fn times(log: &Log, sum: &OpenMpSumDefinition) -> OpenMpTimes {
    let ns = |ticks| log.time().length_ns(ticks);
    OpenMpTimes {
        construct: sum.construct.clone(),
        site: sum.site,
        thread: sum.thread,
        nested: sum.nested,
        calls: sum.calls,
        instances: sum.instances,
        ns: ns(sum.ticks),
        wait_ns: ns(sum.wait_ticks),
        start_ns: ns(sum.start_ticks),
        items: sum.items,
    }
}
