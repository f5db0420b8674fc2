//! The profile of a run: Table 1 of the paper, from the records.

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
    /// Calls recorded, over all ranks.
    pub records: u64,
    /// Calls that have no record, over all ranks; they are in the rows as far as their methods are known.
    pub lost_records: u64,
    /// Why they have none.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub lost_reasons: BTreeSet<String>,
    /// Connections whose calls, of unknown number, are not recorded though they were to be.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub unmonitored: BTreeSet<UnmonitoredDefinition>,
    /// What the measurement itself cost, nanoseconds, mean over the ranks; `None` where it was not calibrated.
    pub self_cost_ns: Option<f64>,
    /// What the clock advances by at once, nanoseconds, largest over the ranks: how far the time of a single call may be off.
    /// `None` where it was not measured.
    pub clock_step_ns: Option<f64>,
    /// Counters that were asked for and could not be read, each with the reasons.
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
    /// Class of the instance; several where it was replaced in mid-run.
    pub class: String,
    /// The rank, in a profile of single ranks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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
    /// Counters that were read, with those of the measured calls made from it; none that could not be read.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<String, f64>,
    /// How the exclusive time differs between the ranks, where that was asked for ([`ProfileSums::spreads`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<RankSpread>,
}

/// Ranks of which the sums are in memory at once. Arbitrary: enough that threads seldom wait for one another.
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

/// The sums that a profile is made of: of one rank, or of several that were added.
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
    /// Reads the records of one rank once.
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

    /// Number of ranks that are summed up.
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// How the exclusive time of each method differs between the ranks, by `instance.method`.
    pub fn spreads(&self) -> BTreeMap<String, RankSpread> {
        let of_methods = self.methods.iter();
        let known = of_methods.filter_map(|(name, sum)| Some((name.clone(), sum.spread.shown()?)));
        known.collect()
    }

    /// Adds those of another rank.
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

    /// As [`ProfileSums::add`], for a [`RankTree`].
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

    /// Adds what the components told; each log of the rank says the same.
    fn add_events(&mut self, run: &Run, rank: u32) {
        let told = run
            .logs_of(rank)
            .find_map(|(log, _)| log.definitions().events.as_ref());
        for event in told.iter().flat_map(|told| &told.events) {
            self.add_event(event);
        }
    }

    /// A row a method; recorded calls of MPI are in the rows of its functions. Calls that have no record count as well.
    ///
    /// Exclusive time is that of all calls of a path without that of all calls made from there: so it needs the sums by path
    /// only.
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
            // A call that is only summed up costs what a record does (`totals`).
            let n_measured = log.n_records() + log.dropped();
            *self.self_cost_ns.get_or_insert(0.0) += cost.record_ns * n_measured as f64;
        }
        all_mpi_ns
    }

    /// The row of a wrapped program that was killed, or still runs: up to what is known of it last.
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

    /// A row a function of MPI; of a run whose logs do not tell, one row with what its records say.
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

    /// The rows, of `rank` alone or the mean over all.
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
    /// * `per_rank` - a row a method and rank, instead of the mean over the ranks
    ///
    /// # Source
    /// Ray et al., IPDPS 2004, Table 1. `percent` is of the longest inclusive time, which is the run's own where its Go
    /// port was recorded.
    pub fn new(run: &Run, per_rank: bool) -> Self {
        ProfileOfRanks::new(run, per_rank).profile(false)
    }

    /// Shows with each method how its exclusive time differs between the ranks.
    pub fn show_spreads(&mut self, sums: &ProfileSums) {
        let mut spreads = sums.spreads();
        for row in &mut self.rows {
            row.spread = spreads.remove(&row.name);
        }
    }

    /// The mean over the ranks that were added.
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

/// What the ranks of one of several processes add to the profile of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ProfileOfRanks {
    sums: RankTree<ProfileSums>,
    /// With a row a method and rank these, unordered.
    rows: Option<Vec<Row>>,
}

impl ProfileOfRanks {
    /// Reads the records of a run, or of some of its ranks, once.
    ///
    /// # Arguments
    /// * `per_rank` - a row a method and rank, instead of the mean over the ranks
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

    /// The same without rows of single ranks, given up at a time.
    ///
    /// # Arguments
    /// * `n_at_once` - ranks that are read before the time is looked at
    ///
    /// # Returns
    /// `None` where not all ranks are read by then.
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

    /// Reads the records of ranks behind those that are here.
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

    /// Adds those of the ranks behind these.
    pub fn append(&mut self, later: Self) {
        self.sums.append(later.sums, ProfileSums::join);
        if let (Some(rows), Some(more)) = (&mut self.rows, later.rows) {
            rows.extend(more);
        }
    }

    /// Adds those of other ranks, before, between and behind these.
    pub fn merge(&mut self, other: Self) {
        self.sums.merge(other.sums, ProfileSums::join);
        if let (Some(rows), Some(more)) = (&mut self.rows, other.rows) {
            rows.extend(more);
        }
    }

    /// The sums of all.
    pub fn into_sums(self) -> ProfileSums {
        self.sums.into_joined(ProfileSums::join).unwrap_or_default()
    }

    /// The profile of all.
    ///
    /// # Arguments
    /// * `has_spread` - how the exclusive times differ between the ranks, in a row a method
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

/// By exclusive time, with the percentages.
fn ordered(mut rows: Vec<Row>) -> Vec<Row> {
    let longest = rows.iter().map(|row| row.inclusive_ns).fold(1.0, f64::max);
    for row in &mut rows {
        row.percent = 100.0 * row.inclusive_ns / longest;
    }
    rows.sort_by(|a, b| b.exclusive_ns.total_cmp(&a.exclusive_ns));
    rows
}
