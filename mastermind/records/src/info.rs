//! Facts about a run that its logs contain, apart from its calls.
//!
//! [`RunInfo::of`] collects the definitions of all logs: the program and its components, ranks and machines, clocks,
//! counters, damage. It reads no record. Facts that differ between ranks, such as clocks, are grouped: one entry with the
//! list of its ranks. Several processes may each read some of the ranks; [`RunInfo::append`] then merges their parts.
//! `mastermind info` prints the result.
//!
//! ```text
//! assembly     case-study                    first log of the run
//! ranks        8, of which 8 left logs       all logs
//! clocks       tsc, 2.6 GHz: ranks 0-7       one entry per group of like clocks
//! records      1102, 0 lost                  sums over all logs
//! ```

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::definition::{
    CircumstancesDefinition, ClassDefinition, ConnectionDefinition, SwapDefinition,
    UnmonitoredDefinition,
};
use crate::log::Log;
use crate::run::Run;

/// Facts about a run from its logs, or from the logs of some of its ranks ([`RunInfo::append`]).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunInfo {
    /// Name of the assembly, or of the program.
    pub assembly: String,
    /// Values of the parameters by `INSTANCE.PORT.KEY`.
    pub parameters: BTreeMap<String, String>,
    /// Methods that a dry run left out, each `INSTANCE.PORT.METHOD`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dry: Vec<String>,
    /// Instances and their classes.
    pub classes: Vec<ClassDefinition>,
    /// The connections, each from a uses port to a provides port.
    pub connections: Vec<ConnectionDefinition>,
    /// Components replaced while the run went on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub swaps: Vec<SwapDefinition>,
    /// Ranks of the run.
    pub ranks: u32,
    /// Number of ranks that left logs.
    pub ranks_with_logs: usize,
    /// Number of logs, one per rank and thread.
    pub logs: usize,
    /// Names of the machines.
    pub hosts: BTreeSet<String>,
    /// Start of the first rank, nanoseconds since 1970-01-01 UTC.
    pub started_unix_ns: Option<u64>,
    /// End of the last rank, nanoseconds since 1970-01-01 UTC; `None` if one has not ended.
    pub ended_unix_ns: Option<u64>,
    /// Load average of the last minute at the beginning of the recording, the largest of all machines.
    pub load_begin: Option<f64>,
    /// The same at the end.
    pub load_end: Option<f64>,
    /// Share of the processor time that each rank received of the time that it was ready to run, 0 to 1; for ranks
    /// whose system reports it.
    pub processor_shares: BTreeMap<u32, f64>,
    /// How, and on which machine, the processes were started: one entry for all ranks that were started alike; empty
    /// for logs of earlier versions.
    pub circumstances: Vec<CircumstancesInfo>,
    /// Source of MPI times, if they were measured.
    pub mpi: Option<String>,
    /// The clocks: one entry for all ranks whose clocks are alike.
    pub clocks: Vec<ClockInfo>,
    /// Counters that were read, with their units.
    pub counters: BTreeMap<String, String>,
    /// Counters that could not be read, with the reasons.
    pub missing_counters: BTreeMap<String, BTreeSet<String>>,
    /// Whether the run ended and finished its logs.
    pub finished: bool,
    /// Number of records.
    pub records: u64,
    /// Calls without a record.
    pub lost_records: u64,
    /// Number of logs of which a part cannot be read: an unknown number of further calls is missing.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub damaged_logs: u64,
    /// Connections whose calls should be recorded and are not; the number of these calls is not known.
    pub unmonitored: BTreeSet<UnmonitoredDefinition>,
    /// The parts that cannot be read.
    pub damage: Vec<String>,
}

/// How, and on which machine, processes were started.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CircumstancesInfo {
    /// The circumstances from their logs, without the load.
    #[serde(flatten)]
    pub started: CircumstancesDefinition,
    /// Their ranks.
    pub ranks: Vec<u32>,
}

/// A clock, and the cost of a recorded call with it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ClockInfo {
    /// Name.
    pub name: String,
    /// Rate.
    pub ticks_per_second: f64,
    /// Step, nanoseconds.
    pub step_ns: Option<f64>,
    /// Cost of a recorded call with two parameters, nanoseconds.
    pub record_ns: Option<f64>,
    /// Ranks with this clock.
    pub ranks: Vec<u32>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl RunInfo {
    /// Collects the facts from the definitions; reads no record.
    pub fn of(run: &Run) -> Self {
        // All logs describe the run alike.
        let definition = run.logs().first().map(|log| &log.definitions().run);
        let definition = definition.cloned().unwrap_or_default();
        let definitions = || run.logs().iter().map(Log::definitions);
        let ends = || definitions().filter_map(|definitions| definitions.end.as_ref());
        let started = definitions().map(|definitions| definitions.run.started_unix_ns);
        let (counters, missing_counters) = counters(run);
        Self {
            assembly: definition.assembly,
            parameters: definition.parameters,
            dry: definition.dry,
            classes: definition.classes,
            connections: definition.connections,
            swaps: run
                .logs()
                .first()
                .map_or_else(Vec::new, |log| log.definitions().swaps.clone()),
            ranks: definition.ranks,
            ranks_with_logs: run.ranks().len(),
            logs: run.logs().len(),
            hosts: definitions()
                .map(|definitions| definitions.run.host.clone())
                .collect(),
            started_unix_ns: started.filter(|ns| *ns > 0).min(),
            ended_unix_ns: run
                .is_finished()
                .then(|| ends().map(|end| end.ended_unix_ns).max())
                .flatten(),
            load_begin: definitions()
                .filter_map(|definitions| definitions.circumstances.as_ref()?.load)
                .reduce(f64::max),
            load_end: ends().filter_map(|end| end.load).reduce(f64::max),
            processor_shares: run
                .processor_times()
                .into_iter()
                .map(|(rank, time)| (rank, time.share()))
                .collect(),
            circumstances: circumstances(run),
            mpi: definition.mpi,
            clocks: clocks(run),
            counters,
            missing_counters,
            finished: run.is_finished(),
            records: run.n_records(),
            lost_records: run.dropped(),
            damaged_logs: run.damaged_logs(),
            unmonitored: run.unmonitored(),
            damage: run.damage().map(ToString::to_string).collect(),
        }
    }
}

impl RunInfo {
    /// Adds the facts from the logs of later ranks.
    pub fn append(&mut self, mut later: Self) {
        if self.logs == 0 {
            // All logs describe the run alike.
            std::mem::swap(self, &mut later);
        }
        let finished = self.finished && later.finished;
        self.ended_unix_ns = match later.logs {
            0 => self.ended_unix_ns,
            _ if !finished => None,
            _ => self.ended_unix_ns.max(later.ended_unix_ns),
        };
        self.finished = finished;
        self.ranks_with_logs += later.ranks_with_logs;
        self.logs += later.logs;
        self.hosts.append(&mut later.hosts);
        let started = self
            .started_unix_ns
            .into_iter()
            .chain(later.started_unix_ns);
        self.started_unix_ns = started.min();
        let most = |own: Option<f64>, later| own.into_iter().chain(later).reduce(f64::max);
        self.load_begin = most(self.load_begin, later.load_begin);
        self.load_end = most(self.load_end, later.load_end);
        self.processor_shares.append(&mut later.processor_shares);
        for found in later.circumstances {
            let mut known = self.circumstances.iter_mut();
            match known.find(|known| known.started == found.started) {
                Some(known) => known.ranks.extend(found.ranks),
                None => self.circumstances.push(found),
            }
        }
        for clock in later.clocks {
            match self.clocks.iter_mut().find(|known| known.is_alike(&clock)) {
                Some(known) => known.ranks.extend(clock.ranks),
                None => self.clocks.push(clock),
            }
        }
        self.counters.append(&mut later.counters);
        for (counter, reasons) in later.missing_counters {
            let known = self.missing_counters.entry(counter).or_default();
            known.extend(reasons);
        }
        self.records += later.records;
        self.lost_records += later.lost_records;
        self.damaged_logs += later.damaged_logs;
        self.unmonitored.append(&mut later.unmonitored);
        self.damage.append(&mut later.damage);
    }
}

impl ClockInfo {
    /// Whether two clocks are equal apart from the last digits of their measured values.
    fn is_alike(&self, other: &Self) -> bool {
        let near = |a: f64, b: f64| (a / b - 1.0).abs() < 0.1;
        let steps = self.step_ns.zip(other.step_ns);
        self.name == other.name
            && near(self.ticks_per_second, other.ticks_per_second)
            && self.step_ns.is_some() == other.step_ns.is_some()
            && steps.is_none_or(|(a, b)| near(a, b))
    }
}

/// The circumstances of the ranks; those that differ only in the load are grouped.
fn circumstances(run: &Run) -> Vec<CircumstancesInfo> {
    let mut all = Vec::<CircumstancesInfo>::new();
    for log in run.logs() {
        let Some(found) = &log.definitions().circumstances else {
            continue;
        };
        let started = CircumstancesDefinition {
            load: None,
            ..CircumstancesDefinition::clone(found)
        };
        let rank = log.identity().rank;
        match all.iter_mut().find(|known| known.started == started) {
            Some(known) => known.ranks.push(rank),
            None => all.push(CircumstancesInfo {
                started,
                ranks: vec![rank],
            }),
        }
    }
    all.iter_mut().for_each(|known| known.ranks.dedup());
    all
}

/// The clocks of the ranks, like clocks grouped: the measured rates of two ranks on one machine differ in the last
/// digits.
fn clocks(run: &Run) -> Vec<ClockInfo> {
    let mut clocks = Vec::<ClockInfo>::new();
    for log in run.logs() {
        let (definitions, rank) = (log.definitions(), log.identity().rank);
        let Some(clock) = &definitions.clock else {
            continue;
        };
        let found = ClockInfo {
            name: clock.name.clone(),
            ticks_per_second: clock.ticks_per_second,
            step_ns: clock.step_ns(),
            record_ns: definitions.cost.map(|cost| cost.record_ns),
            ranks: vec![rank],
        };
        match clocks.iter_mut().find(|known| known.is_alike(&found)) {
            Some(known) => known.ranks.push(rank),
            None => clocks.push(found),
        }
    }
    clocks.iter_mut().for_each(|clock| clock.ranks.dedup());
    clocks
}

/// Counters that were read, with their units, and counters that were not, with the reasons.
fn counters(run: &Run) -> (BTreeMap<String, String>, BTreeMap<String, BTreeSet<String>>) {
    let (mut read, mut missing) = (BTreeMap::new(), BTreeMap::<String, BTreeSet<_>>::new());
    let methods = run
        .logs()
        .iter()
        .flat_map(|log| log.definitions().methods());
    for counter in methods.flat_map(|method| &method.counters) {
        match &counter.unavailable {
            None => drop(read.insert(counter.name.clone(), counter.unit.clone())),
            Some(why) => drop(
                missing
                    .entry(counter.name.clone())
                    .or_default()
                    .insert(why.clone()),
            ),
        }
    }
    (read, missing)
}
