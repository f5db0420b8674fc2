//! A run whose calls of MPI were recorded one by one, as the input of a replay.
//!
//! A replay repeats a recorded program on another machine: the same messages, with the computation
//! between them. This file turns the records of a run into what the crate `mastermind-replay`
//! needs: for each rank and thread the calls of MPI with their partners, tags and requests, the
//! communicators, and the processor time between calls. It refuses runs that lack any of it, since
//! a missing rank or tag would silently change the pattern.
//!
//! ```text
//! record  | MPI_Recv | computing | MPI_Wtime (left out) | computing | MPI_Send |
//!                    |<-------- one gap: computation of the rank ------->|
//! cpu_before of the send  +  processor time in and before what was left out
//! ```
//!
//! With processor time recorded, a gap counts as long as the thread ran, not as long as it waited
//! for a processor; readings of the clock within a gap cost up to `MAX_OWN_NS`, which does not
//! count as waiting.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

use anyhow::bail;
use mastermind_component::method_name;
use mastermind_programs::Collectives;
use mastermind_records::definition::MPI_CLASS;
use mastermind_records::{Log, ProcessorTime, Record, Run, Value, starts_or_ends};
use mastermind_replay::{
    ComponentCall, POLL_GAP_NS, RecordedCall, RecordedProgram, RecordedRank, Replay,
    is_communication, program, replay,
};

use crate::commands::profile;
use crate::run_notes;

/// The parameter that holds the processor time before a call of MPI ([`cca_abi::recording::MPI_EVENT_PARAMETERS`]).
const CPU_BEFORE: &str = "cpu_before";

/// Longest time between two calls that is due to recording, nanoseconds: two readings of the processor's time, at most
/// 0.5 us each on the machines measured, and the append of a record.
pub const MAX_OWN_NS: u64 = 2000;

/// A recorded run as a replay needs it: the calls of each rank, and how long the run took in
/// reality.
pub struct RecordedRun {
    /// How long each rank took, nanoseconds.
    pub elapsed_ns: Vec<u64>,
    /// Whether computation is processor time or wall time.
    pub computation: &'static str,
    /// The least share that a rank had of the processor time that it was ready for, 0 to 1.
    pub processor_share: Option<f64>,
    /// The processors that it ran on, as the system named them.
    pub processors: BTreeSet<String>,
    /// The calls of each rank.
    pub ranks: Vec<RecordedRank>,
    /// Methods that it left out, as a dry run, and that have no predicted times yet.
    pub unpriced: BTreeSet<String>,
}

/// Whether a path is a record directory, or a program in one (`DIR:PROGRAM`).
pub fn is_one(path: &Path) -> bool {
    profile::selected(path).0.is_dir()
}

impl RecordedRun {
    /// Reads a run.
    ///
    /// # Errors
    /// The records cannot be read, or have no calls of MPI with their tags and requests.
    pub fn read(records: &Path) -> anyhow::Result<Self> {
        let run = profile::open(records)?;
        let recorded = Self::of(&run, records)?;
        if !has_processor_time(&recorded.ranks) {
            run_notes::warn_of_waiting(&run);
        }
        Ok(recorded)
    }

    /// Extracts the data for a replay from an open run.
    ///
    /// # Errors
    /// It has no calls of MPI with their tags and requests, or lacks ranks.
    pub fn of(run: &Run, records: &Path) -> anyhow::Result<Self> {
        let act = || format!("cannot replay run \"{}\"", records.display());
        let mut methods = run
            .logs()
            .iter()
            .flat_map(|log| log.definitions().methods());
        let mut of_mpi = methods
            .by_ref()
            .filter(|method| method.class == MPI_CLASS)
            .peekable();
        if of_mpi.peek().is_none() {
            bail!(
                "{}: no recorded calls of MPI, expected some; record with wrap --mpi-events or run --mpi-events",
                act()
            );
        }
        if !of_mpi.any(|method| {
            method
                .parameters
                .iter()
                .any(|parameter| parameter.name == "request")
        }) {
            bail!(
                "{}: calls of MPI without their tags and requests, as an earlier version recorded them, expected both; record again",
                act()
            );
        }
        let n_ranks = run
            .logs()
            .iter()
            .map(|log| log.definitions().run.ranks)
            .max();
        let n_ranks = n_ranks
            .unwrap_or(0)
            .max(run.ranks().last().map_or(0, |last| last + 1));
        let n_logged = run.ranks().len();
        if n_logged < n_ranks as usize {
            bail!(
                "{}: records of {n_logged} ranks, expected those of all {n_ranks}",
                act()
            );
        }
        let ranks: Vec<_> = (0..n_ranks).map(|rank| recorded_rank(run, rank)).collect();
        Ok(Self {
            elapsed_ns: ranks.iter().map(RecordedRank::elapsed_ns).collect(),
            computation: match has_processor_time(&ranks) {
                true => "processor time",
                false => "wall time",
            },
            processor_share: run
                .processor_times()
                .values()
                .map(ProcessorTime::share)
                .min_by(f64::total_cmp),
            processors: processors(run),
            ranks,
            unpriced: run.dry_methods(),
        })
    }

    /// Refuses a dry run without times for its calls.
    fn check_priced(&self, act: &str) -> anyhow::Result<()> {
        if self.unpriced.is_empty() {
            return Ok(());
        }
        let methods: Vec<_> = self.unpriced.iter().map(String::as_str).collect();
        bail!(
            "{act}: a dry run, which left out {}, expected models of them; mastermind simulate RECORDS --models MODELS",
            methods.join(", ")
        )
    }

    /// The schedule that makes the same calls; missing parts are reported.
    ///
    /// # Errors
    /// The records of the ranks do not fit together.
    pub fn replay(&self, library: Collectives) -> anyhow::Result<Replay> {
        self.check_priced("cannot replay run")?;
        let replay = replay(&self.ranks, library)?;
        for note in &replay.notes {
            crate::output::complain!("warning: {note}");
        }
        Ok(replay)
    }

    /// The program model that makes the same calls; missing parts are reported.
    ///
    /// # Errors
    /// The records of the ranks do not fit together, or no single program makes their calls.
    pub fn program(&self, name: &str) -> anyhow::Result<RecordedProgram> {
        self.check_priced("cannot write run as a program")?;
        let program = program(name, &self.ranks)?;
        for note in &program.notes {
            crate::output::complain!("warning: {note}");
        }
        Ok(program)
    }

    /// Scales its computation to another processor.
    ///
    /// # Arguments
    /// * `records` - the record directory
    /// * `factors` - by method, time there relative to time here
    /// * `others` - the factor for all else
    ///
    /// # Errors
    /// The records can no longer be read.
    pub fn scale(
        &mut self,
        records: &Path,
        factors: &BTreeMap<String, f64>,
        others: f64,
    ) -> anyhow::Result<()> {
        let run = profile::open(records)?;
        for (rank, recorded) in (0..).zip(&mut self.ranks) {
            let logs = run
                .logs_of(rank)
                .map(|(log, _)| component_calls(log, factors));
            // As for threads: those without calls of MPI are left out.
            let components: Vec<_> = logs.flatten().collect();
            recorded.scale(&components, others);
        }
        Ok(())
    }

    /// How long the slowest rank took, nanoseconds.
    pub fn longest_ns(&self) -> u64 {
        self.elapsed_ns.iter().copied().max().unwrap_or(0)
    }
}

fn processors(run: &Run) -> BTreeSet<String> {
    let circumstances = run.logs().iter();
    let circumstances = circumstances.filter_map(|log| log.definitions().circumstances.as_ref());
    circumstances
        .filter_map(|found| found.processor.clone())
        .collect()
}

/// Calls of components on a thread with their factors; `None` for a thread without calls of MPI that are replayed.
fn component_calls(log: &Log, factors: &BTreeMap<String, f64>) -> Option<Vec<ComponentCall>> {
    let mut by_method = HashMap::new();
    let (mut calls, mut has_mpi) = (Vec::new(), false);
    for record in log.records() {
        if record.method.is_mpi() {
            has_mpi |= !record.failed && is_communication(&record.method.method);
            continue;
        }
        let factor = by_method.entry(record.method.id);
        let factor = factor.or_insert_with(|| factors.get(&method_name(record.method)).copied());
        if let Some(factor) = *factor {
            calls.push(ComponentCall {
                start_ns: record.start_ns,
                end_ns: record.start_ns.saturating_add(record.wall_ns),
                factor,
            });
        }
    }
    has_mpi.then_some(calls)
}

fn recorded_rank(run: &Run, rank: u32) -> RecordedRank {
    let mut recorded = RecordedRank {
        off_processor_ns: Some(0),
        waiting_ns: run.processor_times().get(&rank).map(|time| time.waiting_ns),
        ..RecordedRank::default()
    };
    let (mut first_ns, mut last_ns) = (u64::MAX, 0);
    let (mut started_ns, mut ended_ns) = (None, None);
    for (log, _) in run.logs_of(rank) {
        let mut calls = Vec::new();
        let mut names = HashMap::new();
        // Processor time in and before omitted calls.
        let mut left_out_ns = Some(0);
        let mut latest_end_ns = None;
        for record in log.records() {
            let end_ns = record.start_ns.saturating_add(record.wall_ns);
            if !record.method.is_mpi() {
                // The work of a program or a component before its first call of MPI and after its last one is
                // computation too.
                (first_ns, last_ns) = (first_ns.min(record.start_ns), last_ns.max(end_ns));
                continue;
            }
            let function = &*record.method.method;
            (first_ns, last_ns) = (first_ns.min(record.start_ns), last_ns.max(end_ns));
            match function {
                "MPI_Finalize" => ended_ns = Some(record.start_ns),
                _ if starts_or_ends(function) => started_ns = Some(end_ns),
                _ => {}
            }
            let is_replayed = !record.failed && is_communication(function);
            let function = names
                .entry(record.call_path)
                .or_insert_with(|| Arc::from(function));
            let mut call = recorded_call(&record, Arc::clone(function));
            let mut parameters = record.method.parameters.iter();
            if !parameters.any(|parameter| parameter.name == CPU_BEFORE) {
                recorded.off_processor_ns = None;
            }
            let latest_ns = latest_end_ns.replace(end_ns).unwrap_or(end_ns);
            // If that is unknown, the thread counts as running.
            if let (Some(off_ns), Some(cpu_ns)) =
                (&mut recorded.off_processor_ns, call.cpu_before_ns)
            {
                let gap_ns = record.start_ns.saturating_sub(latest_ns);
                *off_ns += off_processor_ns(gap_ns, cpu_ns);
            }
            // Calls that are not replayed become part of the computation before the next one that
            // is.
            call.cpu_before_ns = call.cpu_before_ns.zip(left_out_ns).map(|(a, b)| a + b);
            left_out_ns = match is_replayed {
                true => Some(0),
                false => call.cpu_before_ns.map(|ns| ns + record.wall_ns),
            };
            if is_replayed {
                calls.push(call);
            }
        }
        recorded.lost += log.dropped();
        // A forked process need not finish its log: the run is not cut by that.
        recorded.is_cut |= !log.is_finished() && log.definitions().run.forked_from.is_none();
        know_communicators(log, run.ranks().len(), &mut recorded);
        // A thread without calls of MPI has nothing to replay.
        if !calls.is_empty() {
            calls.sort_by_key(|call: &RecordedCall| call.start_ns);
            recorded.threads.push(calls);
        }
    }
    // From the end of MPI_Init to the start of MPI_Finalize: starting and ending MPI is no
    // communication of the program.
    let start_ns = started_ns.unwrap_or(first_ns).min(last_ns);
    recorded.span_ns = (start_ns, ended_ns.unwrap_or(last_ns).max(start_ns));
    recorded
}

/// Whether the processor time of every rank was recorded.
fn has_processor_time(ranks: &[RecordedRank]) -> bool {
    ranks.iter().all(|rank| rank.off_processor_ns.is_some())
}

/// How long a thread did not run in the time between two calls, nanoseconds.
fn off_processor_ns(gap_ns: u64, cpu_ns: u64) -> u64 {
    match gap_ns.saturating_sub(cpu_ns) {
        ..=MAX_OWN_NS => 0,
        off_ns => off_ns,
    }
}

/// Begin and end of a call, nanoseconds. Polls in a row that found nothing end at their recorded end, and begin as if
/// they had followed each other without a pause, if the program did other work in between.
fn span(record: &Record<'_>) -> (u64, u64) {
    let end_ns = record.start_ns.saturating_add(record.wall_ns);
    let in_mpi_ns = record.mpi_ns.unwrap_or(record.wall_ns).min(record.wall_ns);
    let between_ns = record.wall_ns - in_mpi_ns;
    match record.calls() {
        1 => (record.start_ns, end_ns),
        calls if between_ns / calls <= POLL_GAP_NS => (record.start_ns, end_ns),
        _ => (end_ns - in_mpi_ns, end_ns),
    }
}

fn recorded_call(record: &Record<'_>, function: Arc<str>) -> RecordedCall {
    let (start_ns, end_ns) = span(record);
    let mut call = RecordedCall {
        function,
        start_ns,
        end_ns,
        cpu_before_ns: None,
        bytes: 0,
        peer: None,
        world_peer: None,
        communicator: None,
        tag: None,
        request: None,
        requests: 0,
    };
    for (definition, value) in record.method.parameters.iter().zip(record.parameters()) {
        let Value::Integer(value) = value else {
            continue;
        };
        match &*definition.name {
            "bytes" => call.bytes = value.max(0).cast_unsigned(),
            "peer" => call.peer = u32::try_from(value).ok(),
            "world_peer" => call.world_peer = u32::try_from(value).ok(),
            "comm" => call.communicator = Some(value).filter(|number| *number >= 0),
            "tag" => call.tag = u32::try_from(value).ok(),
            "request" => call.request = u64::try_from(value).ok(),
            CPU_BEFORE => call.cpu_before_ns = u64::try_from(value).ok(),
            "requests" => call.requests = value.max(0).cast_unsigned(),
            _ => {}
        }
    }
    call
}

/// Communicators that connect two groups, or have ranks beyond `MPI_COMM_WORLD`, are left out.
fn know_communicators(log: &Log, n_ranks: usize, recorded: &mut RecordedRank) {
    let all = log.definitions().mpi_communicators.iter();
    for communicator in all.filter(|one| one.ranks as usize <= n_ranks) {
        let members = match &communicator.world_ranks {
            None => Some((0..communicator.ranks).collect()),
            Some(ranks) => ranks.iter().map(|rank| u32::try_from(*rank).ok()).collect(),
        };
        if let Some(members) = members.filter(|_| !communicator.is_inter) {
            recorded.communicators.insert(communicator.number, members);
        }
    }
}
