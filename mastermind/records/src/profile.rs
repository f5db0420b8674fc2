//! The profile of a run: time and calls of each method, computed from the records.
//!
//! A profile has a row per method, like Table 1 of Ray et al. (IPDPS 2004): calls, inclusive time (with the measured
//! calls made from it), exclusive time (without them, and without MPI), and time in MPI. MPI functions have rows of
//! their own. [`ProfileSums`] sums up one rank, from sums by call path; calls without a record count too. Sums of ranks
//! are added in a fixed order ([`RankTree`]), so several processes that share the ranks get the same digits as one.
//! [`Profile`] is the mean over the ranks.
//!
//! ```text
//! main.go, 10 ms, calls          method          calls   inclusive   exclusive   MPI     %
//!   flux.compute, 7 ms     -->   main.go             1     10 ms       2 ms      1 ms   100
//!   MPI_Allreduce, 1 ms          flux.compute        1      7 ms       7 ms      0 ms    70
//!                                MPI_Allreduce()     1      1 ms       1 ms      1 ms    10
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::definition::{AtomicEventDefinition, MPI_CLASS, PROGRAM_CLASS, UnmonitoredDefinition};
use crate::log::Log;
use crate::mpi::ended_by;
use crate::parallel::in_parallel;
use crate::rank_tree::RankTree;
use crate::run::Run;
use crate::spread::{RankSpread, Spread};

/// Name of the row with the measurement's own cost.
pub const SELF_COST: &str = "(measurement)";

/// Name of the row for all time in MPI, if the run ended before it wrote the times of single functions.
const ALL_MPI: &str = "MPI (all functions)";

/// The profile of a run: means over its ranks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Profile {
    /// Number of ranks that left records.
    pub ranks: usize,
    /// One row per method, ordered by exclusive time, largest first.
    pub rows: Vec<Row>,
    /// Number of recorded calls, over all ranks.
    pub records: u64,
    /// Number of calls without a record, over all ranks; the rows include those whose methods are known.
    pub lost_records: u64,
    /// Reasons why calls have no record.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub lost_reasons: BTreeSet<String>,
    /// Connections whose calls should be recorded and are not; the number of these calls is not known.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub unmonitored: BTreeSet<UnmonitoredDefinition>,
    /// Cost of the measurement itself, nanoseconds, mean over the ranks; `None` if it was not calibrated.
    pub self_cost_ns: Option<f64>,
    /// Step of the clock, nanoseconds, largest over the ranks: the possible error of the time of a single call. `None`
    /// if it was not measured.
    pub clock_step_ns: Option<f64>,
    /// Requested counters that could not be read, each with the reasons.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub missing_counters: BTreeMap<String, BTreeSet<String>>,
    /// Atomic events of the components, over all ranks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<AtomicEventDefinition>,
}

/// One method. Times in nanoseconds, calls and counters are means over the ranks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// `instance.method`.
    pub name: String,
    /// Class of the instance; several classes if it was replaced during the run.
    pub class: String,
    /// The rank, in a profile of single ranks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// Calls.
    pub calls: f64,
    /// Time including the measured calls made from the method.
    pub inclusive_ns: f64,
    /// Time without these calls and without time in MPI, whose functions have rows of their own.
    pub exclusive_ns: f64,
    /// Time in MPI; `None` if it was not measured.
    pub mpi_ns: Option<f64>,
    /// Inclusive time relative to that of the longest row.
    pub percent: f64,
    /// Counters that were read, including those of the measured calls made from the method.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<String, f64>,
    /// How the exclusive time differs between the ranks, on request ([`ProfileSums::spreads`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<RankSpread>,
}

/// Number of ranks whose sums are in memory at a time. Arbitrary: large enough that threads seldom wait for one
/// another.
const RANKS_AT_ONCE: usize = 1024;

/// Sums over the calls of a method.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Sums {
    classes: Vec<String>,
    calls: u64,
    inclusive_ns: u64,
    exclusive_ns: u64,
    mpi_ns: Option<u64>,
    #[serde(default)]
    counters: BTreeMap<String, u64>,
    /// Exclusive time of each rank.
    #[serde(default, skip_serializing_if = "Spread::is_empty")]
    spread: Spread,
}

impl Sums {
    fn add(&mut self, other: &Sums) {
        for class in &other.classes {
            if !self.classes.contains(class) {
                self.classes.push(class.clone());
            }
        }
        self.calls += other.calls;
        self.inclusive_ns += other.inclusive_ns;
        self.exclusive_ns += other.exclusive_ns;
        if let Some(mpi_ns) = other.mpi_ns {
            *self.mpi_ns.get_or_insert(0) += mpi_ns;
        }
        for (name, count) in &other.counters {
            *self.counters.entry(name.clone()).or_default() += count;
        }
        self.spread.add(&other.spread);
    }
}

/// The sums from which a profile is computed, of one rank or of several.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProfileSums {
    ranks: usize,
    records: u64,
    lost_records: u64,
    #[serde(default)]
    lost_reasons: BTreeSet<String>,
    #[serde(default)]
    unmonitored: BTreeSet<UnmonitoredDefinition>,
    self_cost_ns: Option<f64>,
    #[serde(default)]
    clock_step_ns: Option<f64>,
    missing_counters: BTreeMap<String, BTreeSet<String>>,
    methods: BTreeMap<String, Sums>,
    #[serde(default)]
    events: BTreeMap<String, AtomicEventDefinition>,
}

impl ProfileSums {
    /// Sums the calls of one rank by method, in one reading of its records.
    pub fn of_rank(run: &Run, rank: u32) -> Self {
        let mut sums = Self {
            ranks: 1,
            ..Self::default()
        };
        let mpi_ns = run.logs_of(rank).map(|(log, _)| sums.add_log(log)).sum();
        sums.add_mpi(run, rank, mpi_ns);
        sums.add_events(run, rank);
        for method in sums.methods.values_mut() {
            method.spread = Spread::of(rank, method.exclusive_ns);
        }
        sums
    }

    /// Number of ranks whose calls are in the sums.
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// How the exclusive time of each method differs between the ranks, by `instance.method`.
    pub fn spreads(&self) -> BTreeMap<String, RankSpread> {
        let of_methods = self.methods.iter();
        let known = of_methods.filter_map(|(name, sum)| Some((name.clone(), sum.spread.shown()?)));
        known.collect()
    }

    /// Adds the sums of other ranks, whose calls must not be in `self` already.
    pub fn add(&mut self, other: &Self) {
        self.ranks += other.ranks;
        self.records += other.records;
        self.lost_records += other.lost_records;
        self.lost_reasons.extend(other.lost_reasons.iter().cloned());
        self.unmonitored.extend(other.unmonitored.iter().cloned());
        if let Some(ns) = other.self_cost_ns {
            *self.self_cost_ns.get_or_insert(0.0) += ns;
        }
        self.see_clock(other.clock_step_ns);
        for (name, why) in &other.missing_counters {
            let known = self.missing_counters.entry(name.clone()).or_default();
            known.extend(why.iter().cloned());
        }
        for (name, sums) in &other.methods {
            self.methods.entry(name.clone()).or_default().add(sums);
        }
        other
            .events
            .values()
            .for_each(|event| self.add_event(event));
    }

    /// As [`ProfileSums::add`], with the signature that a [`RankTree`] expects.
    pub fn join(&mut self, later: Self) {
        self.add(&later);
    }

    fn see_clock(&mut self, step_ns: Option<f64>) {
        let steps = self.clock_step_ns.into_iter().chain(step_ns);
        self.clock_step_ns = steps.reduce(f64::max);
    }

    fn add_event(&mut self, event: &AtomicEventDefinition) {
        let known = self.events.entry(event.name.clone());
        known
            .or_insert_with(|| AtomicEventDefinition::new(&event.name))
            .add(event);
    }

    /// Adds the values that components reported; all logs of the rank contain the same ones.
    fn add_events(&mut self, run: &Run, rank: u32) {
        let definition = run
            .logs_of(rank)
            .find_map(|(log, _)| log.definitions().events.as_ref());
        for event in definition.iter().flat_map(|definition| &definition.events) {
            self.add_event(event);
        }
    }

    /// Adds a row per method. Recorded MPI calls count in the rows of their functions, and calls without a record count
    /// too.
    ///
    /// The exclusive time of a path is the time of all its calls minus that of all calls made from them, so the sums by
    /// path suffice.
    ///
    /// # Returns
    /// Time in MPI within the outermost calls, nanoseconds.
    fn add_log(&mut self, log: &Log) -> u64 {
        let definitions = log.definitions();
        let totals = log.path_totals_once();
        let mut all_mpi_ns = 0;
        for path in log.times_of(&totals, false) {
            if definitions.shape(path.call_path).parent == 0 {
                all_mpi_ns += path.mpi_ns.unwrap_or(0);
            }
            let method = definitions.recorded_method(path.call_path);
            let Some(method) = method.filter(|method| path.calls > 0 && !method.is_mpi()) else {
                continue;
            };
            let counters = method.counters.iter().zip(totals.counters(path.call_path));
            let counters = counters.filter_map(|(c, sum)| Some((c.name.clone(), (*sum)?)));
            if method.counters_ns > 0 {
                let ns = method.counters_ns as f64 * path.calls as f64;
                *self.self_cost_ns.get_or_insert(0.0) += ns;
            }
            let sum = Sums {
                classes: vec![method.class.clone()],
                calls: path.calls,
                inclusive_ns: path.wall_ns,
                exclusive_ns: path.own.wall_ns.saturating_sub(path.own.mpi_ns),
                mpi_ns: path.mpi_ns,
                counters: counters.collect(),
                spread: Spread::default(),
            };
            self.methods.entry(method.name()).or_default().add(&sum);
        }
        self.add_open_program(log);
        for method in log.definitions().methods() {
            for counter in &method.counters {
                if let Some(why) = &counter.unavailable {
                    let known = self.missing_counters.entry(counter.name.clone());
                    known.or_default().insert(why.clone());
                }
            }
        }
        self.see_clock(log.clock_step_ns());
        self.records += log.n_records();
        self.lost_records += log.dropped();
        self.lost_reasons.extend(log.loss_reasons());
        self.unmonitored
            .extend(definitions.unmonitored.iter().cloned());
        if let Some(cost) = log.definitions().cost {
            // Summing up a call costs as much as recording it (`totals`).
            let n_measured = log.n_records() + log.dropped();
            *self.self_cost_ns.get_or_insert(0.0) += cost.record_ns * n_measured as f64;
        }
        all_mpi_ns
    }

    /// Adds a row for a wrapped program that was killed or still runs, up to its last known moment.
    fn add_open_program(&mut self, log: &Log) {
        let open = log.open_calls().iter().filter(|_| !log.is_finished());
        for open in open {
            let method = log.definitions().method_of(open.call_path);
            let Some(method) = method.filter(|method| method.class == PROGRAM_CLASS) else {
                continue;
            };
            let ns = ended_by(log, open.start_ns);
            let in_mpi = log.mpi_totals().iter().map(|routine| routine.ticks).sum();
            let mpi_ns = log.time().length_ns(in_mpi).min(ns);
            let sum = Sums {
                classes: vec![method.class.clone()],
                calls: 1,
                inclusive_ns: ns,
                exclusive_ns: ns - mpi_ns,
                mpi_ns: Some(mpi_ns),
                ..Sums::default()
            };
            self.methods.entry(method.name()).or_default().add(&sum);
        }
    }

    /// Adds a row per MPI function; one row for all functions if the logs have no times of single functions.
    fn add_mpi(&mut self, run: &Run, rank: u32, recorded_ns: u64) {
        let mut add = |name: String, calls, ns| {
            let sum = Sums {
                classes: vec![MPI_CLASS.into()],
                calls,
                inclusive_ns: ns,
                exclusive_ns: ns,
                mpi_ns: Some(ns),
                ..Sums::default()
            };
            self.methods.entry(name).or_default().add(&sum);
        };
        let routines = run.mpi_routines(rank);
        for routine in &routines {
            add(format!("{}()", routine.name), routine.calls, routine.ns);
        }
        if routines.is_empty() && recorded_ns > 0 {
            add(ALL_MPI.into(), 0, recorded_ns);
        }
    }

    /// The rows of one rank, or the means over all ranks.
    fn rows(&self, rank: Option<u32>, n_ranks: f64) -> impl Iterator<Item = Row> {
        self.methods.iter().map(move |(name, sum)| Row {
            name: name.clone(),
            class: sum.classes.join(", "),
            rank,
            calls: sum.calls as f64 / n_ranks,
            inclusive_ns: sum.inclusive_ns as f64 / n_ranks,
            exclusive_ns: sum.exclusive_ns as f64 / n_ranks,
            mpi_ns: sum.mpi_ns.map(|ns| ns as f64 / n_ranks),
            percent: 0.0,
            counters: sum
                .counters
                .iter()
                .map(|(name, count)| (name.clone(), *count as f64 / n_ranks))
                .collect(),
            spread: None,
        })
    }
}

impl Profile {
    /// Reads the records of a run once.
    ///
    /// # Arguments
    /// * `per_rank` - one row per method and rank, instead of the mean over the ranks
    ///
    /// # Source
    /// Ray et al., IPDPS 2004, Table 1. `percent` is relative to the longest inclusive time, which is that of the run
    /// if its Go port was recorded.
    pub fn new(run: &Run, per_rank: bool) -> Self {
        ProfileOfRanks::new(run, per_rank).profile(false)
    }

    /// Adds to each method how its exclusive time differs between the ranks.
    pub fn show_spreads(&mut self, sums: &ProfileSums) {
        let mut spreads = sums.spreads();
        for row in &mut self.rows {
            row.spread = spreads.remove(&row.name);
        }
    }

    /// The profile of a mean rank: the sums divided by their number of ranks.
    pub fn of_sums(sums: &ProfileSums) -> Self {
        let n_ranks = sums.ranks.max(1) as f64;
        Profile {
            ranks: sums.ranks,
            rows: ordered(sums.rows(None, n_ranks).collect()),
            records: sums.records,
            lost_records: sums.lost_records,
            lost_reasons: sums.lost_reasons.clone(),
            unmonitored: sums.unmonitored.clone(),
            self_cost_ns: sums.self_cost_ns.map(|sum| sum / n_ranks),
            clock_step_ns: sums.clock_step_ns,
            missing_counters: sums.missing_counters.clone(),
            events: sums.events.values().cloned().collect(),
        }
    }
}

/// The part of a profile from those ranks that one of several processes has read.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ProfileOfRanks {
    sums: RankTree<ProfileSums>,
    /// Rows per method and rank, unordered, if they were requested.
    rows: Option<Vec<Row>>,
}

impl ProfileOfRanks {
    /// Reads the records of a run, or of some of its ranks, once.
    ///
    /// # Arguments
    /// * `per_rank` - one row per method and rank, instead of the mean over the ranks
    pub fn new(run: &Run, per_rank: bool) -> Self {
        let mut of_ranks = Self {
            rows: per_rank.then(Vec::new),
            ..Self::default()
        };
        for ranks in run.ranks().chunks(RANKS_AT_ONCE) {
            of_ranks.add_ranks(run, ranks);
        }
        of_ranks
    }

    /// As [`Self::new`] without rows of single ranks, with a time limit.
    ///
    /// # Arguments
    /// * `n_at_once` - number of ranks that are read before the time is checked
    ///
    /// # Returns
    /// `None` if time ran out before all ranks were read.
    pub fn until(run: &Run, end: Instant, n_at_once: usize) -> Option<Self> {
        let mut of_ranks = Self::default();
        for ranks in run.ranks().chunks(n_at_once.max(1)) {
            if Instant::now() >= end {
                return None;
            }
            of_ranks.add_ranks(run, ranks);
        }
        Some(of_ranks)
    }

    /// Adds the records of later ranks.
    fn add_ranks(&mut self, run: &Run, ranks: &[u32]) {
        let sums = in_parallel(ranks.to_vec(), |rank| {
            (rank, ProfileSums::of_rank(run, rank))
        });
        for (rank, own) in sums {
            if let Some(rows) = &mut self.rows {
                rows.extend(own.rows(Some(rank), 1.0));
            }
            self.sums.push(rank, own, ProfileSums::join);
        }
    }

    /// Adds the part of a process whose ranks are all later than these.
    pub fn append(&mut self, later: Self) {
        self.sums.append(later.sums, ProfileSums::join);
        if let (Some(rows), Some(more)) = (&mut self.rows, later.rows) {
            rows.extend(more);
        }
    }

    /// Adds the part of other ranks, in any position.
    pub fn merge(&mut self, other: Self) {
        self.sums.merge(other.sums, ProfileSums::join);
        if let (Some(rows), Some(more)) = (&mut self.rows, other.rows) {
            rows.extend(more);
        }
    }

    /// The sums over all ranks, added in the order of ranks; empty without ranks.
    pub fn into_sums(self) -> ProfileSums {
        self.sums.into_joined(ProfileSums::join).unwrap_or_default()
    }

    /// The profile of all ranks.
    ///
    /// # Arguments
    /// * `has_spread` - whether rows include how the exclusive time differs between the ranks
    pub fn profile(mut self, has_spread: bool) -> Profile {
        let rows = self.rows.take();
        let sums = self.into_sums();
        let mut profile = Profile::of_sums(&sums);
        if let Some(rows) = rows {
            profile.rows = ordered(rows);
        }
        if has_spread {
            profile.show_spreads(&sums);
        }
        profile
    }
}

/// Orders rows by exclusive time, and sets the percentages.
fn ordered(mut rows: Vec<Row>) -> Vec<Row> {
    let longest = rows.iter().map(|row| row.inclusive_ns).fold(1.0, f64::max);
    for row in &mut rows {
        row.percent = 100.0 * row.inclusive_ns / longest;
    }
    rows.sort_by(|a, b| b.exclusive_ns.total_cmp(&a.exclusive_ns));
    rows
}
