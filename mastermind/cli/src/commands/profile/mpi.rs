//! `profile --mpi`: how a wrapped program used MPI, in the tables that mpiP's users know. `mastermind-records` sums the
//! calls of a run up, [`Report::of`] makes the rows of each table, and `text` lays them out; `--json` prints
//! the rows. No percentage includes the start and end of MPI. The matrix of senders and receivers is in `matrix`.
//! Example, 100 messages of 800 bytes:
//!
//! ```text
//!  MPI ms  APP %  MPI %  CALLS  FAILED   LEAST us    MEAN us  GREATEST us  MAX/MEAN   COV  BYTES ...  FUNCTION
//!   0.131   1.20   1.27    100       0       0.49       1.31        56.41      2.00  1.00  80000 ...  MPI_Send
//! ```

mod text;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::bail;
use mastermind_history::Computing;
use mastermind_recommend::Efficiency;
use mastermind_records::{
    CallTimes, CommunicatorClass, MessageSizes, MpiCallNow, MpiCalls, MpiRank, Run, starts_or_ends,
};
use serde::Serialize;

pub use self::text::rank_text;
use super::communicators::{self, CommunicatorRow};
use super::moved::{MovedBytes, MovedShare};
use super::now;
use super::phases::{PhaseRow, phases};
use crate::call_site;
use crate::unseen_calls;

/// All tables of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Whether it is of an assembly: its functions have shares of the recorded calls, and the times and calls of whole
    /// processes.
    pub is_assembly: bool,
    /// Application and MPI time of each rank.
    pub ranks: Vec<RankRow>,
    /// Time in MPI over the ranks.
    pub over_ranks: Spread,
    /// Time of the application over the ranks.
    pub application_over_ranks: Spread,
    /// How well the ranks are used, for a run of several ranks; none for an assembly, of which only a part is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub efficiency: Option<Efficiency>,
    /// Each function of MPI.
    pub functions: Vec<FunctionRow>,
    /// Sizes of messages, a histogram for each function; empty if calls were not recorded one by one.
    pub sizes: Vec<SizeRow>,
    /// Calls by function, size of the communicator and size of the message; empty if calls were not recorded one by
    /// one.
    pub by_communicator: Vec<CommunicatorSizeRow>,
    /// Calls by function and call site; empty if call sites were not recorded.
    pub call_sites: Vec<SiteRow>,
    /// Parts of the run between calls of `MPI_Pcontrol`, by level; empty without such calls.
    pub phases: Vec<PhaseRow>,
    /// Communicators of each rank.
    pub communicators: Vec<CommunicatorRow>,
    /// The calls that threads are in, for a run that is in progress or was killed.
    pub calls_now: Vec<MpiCallNow>,
    /// Calls that are only in the functions' rows: there was no room for their sizes and call sites.
    pub calls_without_site: u64,
    /// Ranks of the run.
    pub ranks_of_run: u32,
    /// Whether processes were spawned, which have an `MPI_COMM_WORLD` of their own.
    pub has_spawned: bool,
    /// Findings of `wrap` on calls that are not in the records.
    pub unseen_calls: Vec<String>,
}

/// A rank.
#[derive(Clone, Debug, Serialize)]
pub struct RankRow {
    #[serde(flatten)]
    pub rank: MpiRank,
    /// Time in MPI relative to the application's.
    mpi_percent: f64,
}

impl RankRow {
    /// Whether the rank called MPI.
    pub fn has_mpi(&self) -> bool {
        self.rank.calls > 0
    }
}

/// How a time differs between ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    /// Mean over the ranks, nanoseconds.
    pub mean_ns: f64,
    /// Largest, nanoseconds.
    pub max_ns: f64,
    /// Smallest, nanoseconds.
    pub min_ns: f64,
    /// Largest by mean; 1 where all are alike.
    pub imbalance: f64,
    /// Coefficient of variation: standard deviation (divided by the number of ranks) by mean.
    pub cov: f64,
}

impl Spread {
    /// From one number for each rank; missing ranks count as 0.
    fn of(of_ranks: impl Iterator<Item = u64>, n_ranks: usize) -> Self {
        let mut ns: Vec<f64> = of_ranks.map(|ns| ns as f64).collect();
        ns.resize(n_ranks.max(1), 0.0);
        let n = ns.len() as f64;
        let mean_ns = ns.iter().sum::<f64>() / n;
        let variance = ns.iter().map(|ns| (ns - mean_ns).powi(2)).sum::<f64>() / n;
        let max_ns = ns.iter().copied().fold(0.0, f64::max);
        let by_mean = |number: f64| if mean_ns > 0.0 { number / mean_ns } else { 0.0 };
        Self {
            mean_ns,
            max_ns,
            min_ns: ns.iter().copied().fold(f64::INFINITY, f64::min),
            imbalance: by_mean(max_ns),
            cov: by_mean(variance.sqrt()),
        }
    }
}

/// Percent of the application's and of all MPI time, over all ranks.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Shares {
    pub app_percent: f64,
    pub mpi_percent: f64,
}

/// A function, over all ranks.
#[derive(Clone, Debug, Serialize)]
pub struct FunctionRow {
    pub name: String,
    pub calls: u64,
    pub failed: u64,
    pub ns: u64,
    /// None for functions that start and end MPI, which are in neither time.
    #[serde(flatten)]
    pub shares: Option<Shares>,
    pub over_ranks: Spread,
    /// Least and greatest call, where each was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    recorded: Option<CallTimes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sizes: Option<MessageSizes>,
    /// None for functions that move nothing.
    #[serde(flatten)]
    moved: MovedShare,
}

/// Messages of a function in a class of sizes.
#[derive(Clone, Debug, Serialize)]
pub struct SizeRow {
    name: String,
    /// Smallest and largest size of the class, bytes.
    from_bytes: u64,
    to_bytes: u64,
    messages: u64,
    bytes: u64,
    #[serde(flatten)]
    times: CallTimes,
}

/// Calls of a function in communicators of about one size, with messages of about one size.
#[derive(Clone, Debug, Serialize)]
pub struct CommunicatorSizeRow {
    name: String,
    /// Fewest and most ranks of the class.
    from_ranks: u64,
    to_ranks: u64,
    /// Smallest and largest size of the class, bytes; 0 for messages without bytes.
    from_bytes: u64,
    to_bytes: u64,
    /// Bytes of all.
    bytes: u64,
    #[serde(flatten)]
    times: CallTimes,
    #[serde(flatten)]
    shares: Option<Shares>,
}

/// The calls of a function from one place, of a rank or of all.
#[derive(Clone, Debug, Serialize)]
pub struct SiteRow {
    pub name: String,
    pub call_site: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    rank: Option<u32>,
    #[serde(flatten)]
    pub times: CallTimes,
    #[serde(flatten)]
    pub shares: Option<Shares>,
    /// Coefficient of variation of the time over the ranks; none for a single rank.
    #[serde(skip_serializing_if = "Option::is_none")]
    cov: Option<f64>,
    #[serde(flatten)]
    pub sizes: MessageSizes,
    #[serde(flatten)]
    pub moved: MovedShare,
}

/// Computation of the ranks of a wrapped program, the mean over the threads of a rank that call MPI. `None` for one
/// rank, and for an assembly, of which only a part is known.
pub fn computing(run: &Run) -> Option<Computing> {
    computing_of(&run.mpi_ranks())
}

fn computing_of(ranks: &[MpiRank]) -> Option<Computing> {
    if ranks.len() < 2 {
        return None;
    }
    let elapsed_ns = ranks.iter().map(|rank| rank.application_ns).max()?;
    let computing = ranks.iter().map(|rank| {
        let all_ns = rank.thread_ns().saturating_sub(rank.mpi_ns);
        all_ns as f64 * 1e-9 / f64::from(rank.threads.max(1))
    });
    let computing: Vec<f64> = computing.collect();
    Some(Computing {
        ranks: ranks.len() as u32,
        elapsed_s: elapsed_ns as f64 * 1e-9,
        mean_s: computing.iter().sum::<f64>() / computing.len() as f64,
        most_s: computing.iter().copied().fold(0.0, f64::max),
    })
}

/// How well they use the ranks.
pub fn efficiency(computing: &Computing) -> Option<Efficiency> {
    let Computing {
        elapsed_s,
        mean_s,
        most_s,
        ..
    } = *computing;
    Efficiency::of_sums(elapsed_s, mean_s, most_s, None)
}

impl Report {
    /// # Arguments
    /// * `per_rank` - a row a call site and rank
    ///
    /// # Errors
    /// The run is not of a wrapped program.
    pub fn of(run: &Run, directory: &Path, per_rank: bool) -> anyhow::Result<Self> {
        let calls = run.mpi_calls();
        let mut ranks = run.mpi_ranks();
        let is_assembly = ranks.is_empty() && !calls.is_empty();
        if is_assembly {
            ranks = run.assembly_mpi_ranks();
        }
        if ranks.is_empty() {
            bail!(
                "cannot show MPI of \"{}\": no program and no calls of MPI in its records, expected those of mastermind wrap or of run --mpi-events",
                directory.display()
            );
        }
        let all = All::of(&ranks);
        Ok(Self {
            is_assembly,
            over_ranks: Spread::of(ranks.iter().map(|rank| rank.mpi_ns), ranks.len()),
            application_over_ranks: Spread::of(
                ranks.iter().map(|rank| rank.application_ns),
                ranks.len(),
            ),
            efficiency: computing_of(&ranks)
                .filter(|_| !is_assembly)
                .and_then(|computing| efficiency(&computing)),
            functions: functions(run, &ranks, &calls, all, is_assembly),
            sizes: sizes(&calls),
            by_communicator: by_communicator(&calls, all),
            call_sites: sites(&calls, (run, directory), per_rank, ranks.len(), all),
            phases: phases(run),
            communicators: communicators::rows(run),
            calls_now: run.mpi_calls_now(),
            calls_without_site: run.mpi_calls_without_site(),
            ranks_of_run: now::ranks_of_run(run),
            has_spawned: now::has_spawned(run),
            unseen_calls: unseen_calls::read(directory),
            ranks: rows(ranks),
        })
    }
}

/// Time of all ranks, on the threads that called MPI.
#[derive(Clone, Copy)]
struct All {
    thread_ns: u64,
    mpi_ns: u64,
}

impl All {
    fn of(ranks: &[MpiRank]) -> Self {
        Self {
            thread_ns: ranks.iter().map(MpiRank::thread_ns).sum(),
            mpi_ns: ranks.iter().map(|rank| rank.mpi_ns).sum(),
        }
    }

    fn shares(self, function: &str, ns: u64) -> Option<Shares> {
        let percent = |all: u64| 100.0 * ns as f64 / all.max(1) as f64;
        (!starts_or_ends(function)).then(|| Shares {
            app_percent: percent(self.thread_ns),
            mpi_percent: percent(self.mpi_ns),
        })
    }
}

/// The rows of ranks.
pub fn rows(ranks: Vec<MpiRank>) -> Vec<RankRow> {
    let row = |rank: MpiRank| RankRow {
        mpi_percent: rank.percent(),
        rank,
    };
    ranks.into_iter().map(row).collect()
}

fn functions(
    run: &Run,
    ranks: &[MpiRank],
    calls: &[MpiCalls],
    all: All,
    is_assembly: bool,
) -> Vec<FunctionRow> {
    let mut of_ranks = BTreeMap::<String, Vec<(u64, u64, u64)>>::new();
    for routine in ranks.iter().flat_map(|rank| run.mpi_routines(rank.rank)) {
        let one = (routine.calls, routine.ns, routine.failed);
        of_ranks.entry(routine.name).or_default().push(one);
    }
    let mut recorded = BTreeMap::<&str, (CallTimes, MessageSizes)>::new();
    for call in calls {
        let (times, sizes) = recorded.entry(&call.function).or_default();
        times.add(&call.times);
        sizes.add(&call.sizes);
    }
    let moved = MovedBytes::of(calls);
    let mut rows: Vec<_> = of_ranks
        .into_iter()
        .map(|(name, of_ranks)| {
            let ns = of_ranks.iter().map(|(_, ns, _)| ns).sum();
            let known = recorded.get(&*name);
            let sizes = known
                .map(|(_, sizes)| sizes)
                .filter(|sizes| sizes.messages > 0);
            let share = |sizes: &MessageSizes| moved.share(&name, sizes.bytes);
            let shared_ns = match is_assembly {
                true => known.map_or(0, |(times, _)| times.ns),
                false => ns,
            };
            FunctionRow {
                calls: of_ranks.iter().map(|(calls, ..)| calls).sum(),
                failed: of_ranks.iter().map(|(.., failed)| failed).sum(),
                ns,
                shares: all.shares(&name, shared_ns),
                over_ranks: Spread::of(of_ranks.iter().map(|(_, ns, _)| *ns), ranks.len()),
                recorded: known.map(|(times, _)| *times),
                moved: sizes.map(share).unwrap_or_default(),
                sizes: sizes.cloned(),
                name,
            }
        })
        .collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.ns));
    rows
}

fn sizes(calls: &[MpiCalls]) -> Vec<SizeRow> {
    let mut of_functions = BTreeMap::<&str, MessageSizes>::new();
    for call in calls {
        of_functions
            .entry(&call.function)
            .or_default()
            .add(&call.sizes);
    }
    let classes = of_functions.iter().flat_map(|(name, sizes)| {
        sizes
            .classes
            .iter()
            .map(move |(class, (times, bytes))| SizeRow {
                name: (*name).to_owned(),
                from_bytes: 1 << class,
                to_bytes: u64::MAX >> (u64::BITS - 1 - class),
                messages: times.calls,
                bytes: *bytes,
                times: *times,
            })
    });
    classes.collect()
}

/// The rows with the most time first.
fn by_communicator(calls: &[MpiCalls], all: All) -> Vec<CommunicatorSizeRow> {
    let mut sums = BTreeMap::<(&str, CommunicatorClass), (CallTimes, u64)>::new();
    for call in calls {
        for (class, (times, bytes)) in &call.by_communicator {
            let sum = sums.entry((&call.function, *class)).or_default();
            sum.0.add(times);
            sum.1 = sum.1.saturating_add(*bytes);
        }
    }
    let ends = |class: u32| (1 << class, u64::MAX >> (u64::BITS - 1 - class));
    let rows = sums.into_iter().map(|((name, class), (times, bytes))| {
        let ((from_ranks, to_ranks), (from_bytes, to_bytes)) =
            (ends(class.ranks), class.bytes.map_or((0, 0), ends));
        CommunicatorSizeRow {
            name: name.to_owned(),
            from_ranks,
            to_ranks,
            from_bytes,
            to_bytes,
            bytes,
            shares: all.shares(name, times.ns),
            times,
        }
    });
    let mut rows: Vec<_> = rows.collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.times.ns));
    rows
}

fn sites(
    calls: &[MpiCalls],
    (run, directory): (&Run, &Path),
    per_rank: bool,
    n_ranks: usize,
    all: All,
) -> Vec<SiteRow> {
    let known = call_site::read(directory, run).into_iter();
    let names: BTreeMap<(u32, u64), String> = known
        .map(|site| ((site.process, site.address), site.name()))
        .collect();
    let mut rows = BTreeMap::<(String, String, Option<u32>), (SiteRow, BTreeMap<u32, u64>)>::new();
    for call in calls {
        let Some(address) = call.site else { continue };
        let name = names.get(&(call.process, address));
        let site = name.cloned().unwrap_or_else(|| format!("{address:#x}"));
        let rank = per_rank.then_some(call.rank);
        let key = (call.function.clone(), site.clone(), rank);
        let (row, of_ranks) = rows.entry(key).or_insert_with(|| {
            let row = SiteRow {
                name: call.function.clone(),
                call_site: site,
                rank,
                times: CallTimes::default(),
                shares: None,
                cov: None,
                sizes: MessageSizes::default(),
                moved: MovedShare::default(),
            };
            (row, BTreeMap::new())
        });
        row.times.add(&call.times);
        row.sizes.add(&call.sizes);
        *of_ranks.entry(call.rank).or_default() += call.times.ns;
    }
    let moved = MovedBytes::of(calls);
    let mut rows: Vec<_> = rows
        .into_values()
        .map(|(mut row, of_ranks)| {
            row.shares = all.shares(&row.name, row.times.ns);
            if row.sizes.messages > 0 {
                row.moved = moved.share(&row.name, row.sizes.bytes);
            }
            row.cov = (!per_rank).then(|| Spread::of(of_ranks.into_values(), n_ranks).cov);
            row
        })
        .collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.times.ns));
    rows
}
