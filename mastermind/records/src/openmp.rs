//! What a wrapped program did with OpenMP.

use std::collections::BTreeMap;

use crate::definition::{OpenMpSumDefinition, OpenMpSumsDefinition};
use crate::{Log, Run};

/// The constructs of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenMpProcess {
    /// Its rank.
    pub rank: u32,
    /// Its number on its machine.
    pub process: u32,
    /// Runtimes that were measured.
    pub runtimes: Vec<String>,
    /// Why something was not.
    pub unmeasured: Vec<String>,
    /// Regions that were in progress at the end.
    pub open_regions: u64,
    /// What constructs come to.
    pub sums: Vec<OpenMpTimes>,
}

/// What constructs of one kind come to, from one call site; of parallel regions also the part of one thread of the team.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenMpTimes {
    /// The directive.
    pub construct: String,
    /// Address that the calls return to.
    pub site: u64,
    /// Number of the thread whose part this is.
    pub thread: Option<u32>,
    /// Whether the regions are within others.
    pub nested: bool,
    /// How often threads came to it; of regions and tasks how many there were.
    pub calls: u64,
    /// How many there were, however many threads came to each; of tasks how many ran.
    pub instances: u64,
    /// Time of regions, of a thread's part in them, of what tasks ran, nanoseconds.
    pub ns: u64,
    /// Time of waiting, nanoseconds.
    pub wait_ns: u64,
    /// Of a thread's part the time from the begin of regions until it came, nanoseconds.
    pub start_ns: u64,
    /// Threads of teams, pieces of work.
    pub items: u64,
}

impl Run {
    /// What each process did with OpenMP, by rank; none where that was not recorded, or the process has not ended by itself.
    pub fn openmp(&self) -> Vec<OpenMpProcess> {
        // Each log of a process has the same, unless one of them is damaged.
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
