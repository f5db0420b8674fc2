//! MPI activity of a wrapped program: by rank, by function and call site, by phase.
//!
//! ```text
//! mpi_ranks     application and MPI time        from the totals, which every recording has
//! mpi_phases    the same, between calls of MPI_Pcontrol
//! mpi_calls     shortest, longest call, sizes   from the records of calls, where each was recorded
//! ```

use std::collections::BTreeMap;

use cca_abi::recording::MPI_COMPLETED;
use serde::{Deserialize, Serialize};

use crate::definition::{
    MpiCallSumDefinition, MpiPhaseDefinition, MpiRoutineDefinition, PROGRAM_CLASS,
};
use crate::log::Log;
use crate::records::{Record, Value};
use crate::run::{MpiRoutine, Run};

/// Functions that start and end MPI; their time is not communication of the program.
const START_AND_END: [&str; 3] = ["MPI_Init", "MPI_Init_thread", "MPI_Finalize"];

/// Whether a function starts or ends MPI. Its time counts neither as application time nor as time in MPI.
pub fn starts_or_ends(function: &str) -> bool {
    START_AND_END.contains(&function)
}

/// The initial level of `MPI_Pcontrol`, by the MPI standard.
const FIRST_LEVEL: i32 = 1;

/// How a rank of a wrapped program spent its time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MpiRank {
    /// Rank.
    pub rank: u32,
    /// Time from the first MPI call to the end of the program, without starting and ending MPI, nanoseconds.
    pub application_ns: u64,
    /// The part of `application_ns` in MPI, nanoseconds, over all threads.
    pub mpi_ns: u64,
    /// Number of threads that called MPI, at the same time or one after the other; for several processes, the largest
    /// of their numbers. 0 if it is not known, as in logs older than these sums.
    pub threads: u32,
    /// Time for starting and ending MPI, nanoseconds.
    pub start_and_end_ns: u64,
    /// Number of MPI calls.
    pub calls: u64,
    /// Number of calls that returned an error.
    pub failed: u64,
    /// Whether the program was killed or still runs; its time then ends at its latest MPI call.
    pub is_open: bool,
}

impl MpiRank {
    /// Share of time in MPI of the threads that called it, percent.
    pub fn percent(&self) -> f64 {
        100.0 * self.mpi_ns as f64 / self.thread_ns().max(1) as f64
    }

    /// Application time, summed over the threads that called MPI, nanoseconds.
    pub fn thread_ns(&self) -> u64 {
        self.application_ns * u64::from(self.threads.max(1))
    }

    fn add(&mut self, routines: &[MpiRoutine], whole_ns: u64) {
        let is_end = |routine: &&MpiRoutine| starts_or_ends(&routine.name);
        let ns = |routines: &mut dyn Iterator<Item = &MpiRoutine>| routines.map(|r| r.ns).sum();
        self.start_and_end_ns = ns(&mut routines.iter().filter(is_end));
        self.mpi_ns = ns(&mut routines.iter().filter(|routine| !is_end(routine)));
        self.application_ns = whole_ns.saturating_sub(self.start_and_end_ns);
        self.calls = routines.iter().map(|routine| routine.calls).sum();
        self.failed = routines.iter().map(|routine| routine.failed).sum();
    }
}

/// The part of a rank's run between two calls of `MPI_Pcontrol`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MpiPhase {
    /// Number within the rank; 0 is the part before the first such call.
    pub number: usize,
    /// Argument of the call that began the phase; 1 before the first call.
    pub level: i32,
    /// How the rank spent its time.
    #[serde(flatten)]
    pub time: MpiRank,
    /// Time in each MPI function.
    #[serde(skip)]
    pub routines: Vec<MpiRoutine>,
}

/// Number, sum and extremes of the wall times of calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CallTimes {
    /// Number of calls.
    pub calls: u64,
    /// Number of calls that returned an error.
    pub failed: u64,
    /// Sum of their times, nanoseconds.
    pub ns: u64,
    /// Shortest time, nanoseconds.
    pub least_ns: u64,
    /// Longest time, nanoseconds.
    pub greatest_ns: u64,
}

impl CallTimes {
    /// Adds other calls; extremes of sums without calls do not count.
    pub fn add(&mut self, other: &Self) {
        self.least_ns = match self.calls {
            0 => other.least_ns,
            _ if other.calls == 0 => self.least_ns,
            _ => self.least_ns.min(other.least_ns),
        };
        self.greatest_ns = self.greatest_ns.max(other.greatest_ns);
        self.calls += other.calls;
        self.failed += other.failed;
        self.ns += other.ns;
    }

    /// Mean time of a call, nanoseconds; 0 without calls.
    pub fn mean_ns(&self) -> f64 {
        self.ns as f64 / self.calls.max(1) as f64
    }
}

/// Sizes of messages; calls without bytes do not count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MessageSizes {
    /// Number of messages.
    pub messages: u64,
    /// Sum of bytes.
    pub bytes: u64,
    /// Smallest, bytes.
    pub least_bytes: u64,
    /// Largest, bytes.
    pub greatest_bytes: u64,
    /// Number of messages by size; class `k` contains those of 2ᵏ up to 2ᵏ⁺¹ − 1 bytes.
    #[serde(skip)]
    pub classes: BTreeMap<u32, (CallTimes, u64)>,
}

impl MessageSizes {
    fn push(&mut self, bytes: u64, time: &CallTimes) {
        let mut one = Self {
            messages: 1,
            bytes,
            least_bytes: bytes,
            greatest_bytes: bytes,
            classes: BTreeMap::new(),
        };
        one.classes.insert(bytes.ilog2(), (*time, bytes));
        self.add(&one);
    }

    /// Adds other messages; extremes of sums without messages do not count, and bytes saturate.
    pub fn add(&mut self, other: &Self) {
        self.least_bytes = match self.messages {
            0 => other.least_bytes,
            _ if other.messages == 0 => self.least_bytes,
            _ => self.least_bytes.min(other.least_bytes),
        };
        self.greatest_bytes = self.greatest_bytes.max(other.greatest_bytes);
        self.messages += other.messages;
        self.bytes = self.bytes.saturating_add(other.bytes);
        for (class, (times, bytes)) in &other.classes {
            let known = self.classes.entry(*class).or_default();
            known.0.add(times);
            known.1 = known.1.saturating_add(*bytes);
        }
    }

    /// Mean size of a message, bytes; 0 without messages.
    pub fn mean_bytes(&self) -> f64 {
        self.bytes as f64 / self.messages.max(1) as f64
    }
}

/// Class of calls with similar sizes of communicator and message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CommunicatorClass {
    /// Class `k` of communicator sizes: 2ᵏ up to 2ᵏ⁺¹ − 1 ranks.
    pub ranks: u32,
    /// Class `k` of message sizes: 2ᵏ up to 2ᵏ⁺¹ − 1 bytes; `None` for no bytes.
    pub bytes: Option<u32>,
}

/// The recorded calls of one MPI function by one rank, from one call site.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MpiCalls {
    /// Rank.
    pub rank: u32,
    /// Process of the rank, in which the call site is an address.
    pub process: u32,
    /// Name in C.
    pub function: String,
    /// Return address of the calls; `None` if it was not recorded.
    pub site: Option<u64>,
    /// Their times.
    pub times: CallTimes,
    /// Their messages.
    pub sizes: MessageSizes,
    /// Times and bytes by class of communicator and message.
    pub by_communicator: BTreeMap<CommunicatorClass, (CallTimes, u64)>,
    /// Messages and bytes by rank of the receiver in `MPI_COMM_WORLD`; for functions that send or write to one rank.
    pub to: BTreeMap<u32, (u64, u64)>,
    /// Messages and bytes by rank of the source in `MPI_COMM_WORLD`; for one-sided functions that read from one rank.
    pub from: BTreeMap<u32, (u64, u64)>,
}

/// Length of an open call of a log: until the thread's latest record or MPI call; nanoseconds.
pub fn ended_by(log: &Log, start_ns: u64) -> u64 {
    let latest = match log.latest_mpi_ns() {
        0 => log.last_end_ns(),
        ns => ns,
    };
    latest.saturating_sub(start_ns)
}

/// The program in a log: its start and length in nanoseconds, and whether it is open.
fn program_of(log: &Log) -> Option<(u64, u64, bool)> {
    let is_program = |call_path: u32| {
        let method = log.definitions().method_of(call_path);
        method.is_some_and(|method| method.class == PROGRAM_CLASS)
    };
    let open = log
        .open_calls()
        .iter()
        .find(|call| is_program(call.call_path));
    if let Some(open) = open.filter(|_| !log.is_finished()) {
        return Some((open.start_ns, ended_by(log, open.start_ns), true));
    }
    if !log
        .definitions()
        .methods()
        .any(|m| m.class == PROGRAM_CLASS)
    {
        return None;
    }
    // The program's record is the last one.
    let mut times = log.path_times(false).into_iter();
    let time = times.rfind(|path| is_program(path.call_path))?;
    let last = log
        .last_started()
        .filter(|(call_path, _)| is_program(*call_path));
    let start_ns = last.map(|(_, start_ns)| start_ns).or_else(|| {
        let mut records = log.records().filter(|record| is_program(record.call_path));
        records.next().map(|record| record.start_ns)
    });
    Some((start_ns.unwrap_or(0), time.wall_ns, false))
}

/// Whether a function sends its bytes to a single peer.
fn sends_to_one(function: &str) -> bool {
    let name = function.strip_suffix("_c").unwrap_or(function);
    matches!(
        name.strip_prefix("MPI_").unwrap_or(name),
        "Send"
            | "Bsend"
            | "Ssend"
            | "Rsend"
            | "Isend"
            | "Ibsend"
            | "Issend"
            | "Irsend"
            | "Sendrecv"
            | "Sendrecv_replace"
            | "Isendrecv"
            | "Isendrecv_replace"
            | "Start_send"
    )
}

/// Whether a one-sided function writes to its peer, and whether it reads from it.
pub fn one_sided(function: &str) -> Option<(bool, bool)> {
    let name = function.strip_suffix("_c").unwrap_or(function);
    match name.strip_prefix("MPI_").unwrap_or(name) {
        "Put" | "Rput" | "Accumulate" | "Raccumulate" => Some((true, false)),
        "Get" | "Rget" => Some((false, true)),
        "Get_accumulate" | "Rget_accumulate" | "Fetch_and_op" | "Compare_and_swap" => {
            Some((true, true))
        }
        _ => None,
    }
}

/// Whether a function sends its bytes, or exchanges that number of bytes.
pub fn sends(function: &str) -> bool {
    let name = function.strip_prefix("MPI_").unwrap_or(function);
    if name == "Start_send" {
        return true;
    }
    let others = [
        "Recv",
        "Irecv",
        "Mrecv",
        "Imrecv",
        "Wait",
        "Test",
        "Start",
        "File_",
        "Get",
        "Sendrecv_recv",
        "Completed",
    ];
    !others.iter().any(|other| name.starts_with(other)) && !name.to_lowercase().contains("probe")
}

/// An MPI call that a thread was in when its log was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MpiCallNow {
    /// Rank.
    pub rank: u32,
    /// Number of the log within the rank.
    pub thread: u32,
    /// Name in C.
    pub function: String,
    /// Start of the call, nanoseconds since the start of the run.
    pub start_ns: u64,
}

impl Run {
    /// The MPI calls that the threads of a running program are in, or that the threads of a killed program were in.
    pub fn mpi_calls_now(&self) -> Vec<MpiCallNow> {
        let now = |log: &Log| {
            let (function, start_ns) = log.mpi_call_now()?;
            Some(MpiCallNow {
                rank: log.identity().rank,
                thread: log.identity().thread,
                function: function.to_owned(),
                start_ns,
            })
        };
        self.logs().iter().filter_map(now).collect()
    }

    /// How each rank spent its time; empty for a run that was not wrapped.
    pub fn mpi_ranks(&self) -> Vec<MpiRank> {
        let ranks = self.ranks().into_iter();
        let rank = |rank| {
            let programs: Vec<_> = self
                .logs_of(rank)
                .filter_map(|(log, _)| program_of(log))
                .collect();
            if programs.is_empty() {
                return None;
            }
            let mut sum = MpiRank {
                rank,
                is_open: programs.iter().any(|(.., is_open)| *is_open),
                threads: self.mpi_threads(rank),
                ..MpiRank::default()
            };
            let whole_ns = programs.iter().map(|(_, ns, _)| ns).sum();
            sum.add(&self.mpi_routines(rank), whole_ns);
            Some(sum)
        };
        ranks.filter_map(rank).collect()
    }

    /// How each rank of an assembly spent its time, from its first record to its last one, if its MPI calls were
    /// recorded one by one.
    pub fn assembly_mpi_ranks(&self) -> Vec<MpiRank> {
        let calls = self.mpi_calls();
        let rank = |rank| {
            let whole_ns = self.logs_of(rank).map(|(log, _)| {
                let start_ns = log.records().map(|record| record.start_ns).min();
                start_ns.map_or(0, |start_ns| ended_by(log, start_ns))
            });
            let mut sum = MpiRank {
                rank,
                threads: self.mpi_threads(rank),
                ..MpiRank::default()
            };
            let whole_ns = whole_ns.max().unwrap_or(0);
            sum.add(&self.mpi_routines(rank), whole_ns);
            // MPI is started, and communicators are created, before the first record; both end after the last one.
            sum.application_ns = whole_ns;
            let own = calls
                .iter()
                .filter(|call| call.rank == rank && !starts_or_ends(&call.function));
            sum.mpi_ns = own.map(|call| call.times.ns).sum();
            sum
        };
        self.ranks().into_iter().map(rank).collect()
    }

    /// Number of threads of a rank that called MPI, in the process with most of them.
    fn mpi_threads(&self, rank: u32) -> u32 {
        let mut processes = BTreeMap::<u32, u32>::new();
        for (log, _) in self.logs_of(rank) {
            if log.has_called_mpi() {
                *processes.entry(log.definitions().run.process).or_default() += 1;
            }
        }
        processes.into_values().max().unwrap_or(0)
    }

    /// The phases of a rank: one if it never called `MPI_Pcontrol`, none for a run that was not wrapped.
    pub fn mpi_phases(&self, rank: u32) -> Vec<MpiPhase> {
        let logs = self.logs_of(rank).map(|(log, _)| log);
        let with_program = logs.filter_map(|log| Some((log, program_of(log)?)));
        let Some((log, (start_ns, whole_ns, is_open))) =
            with_program.max_by_key(|(log, _)| log.definitions().mpi_phases.len())
        else {
            return Vec::new();
        };
        let phases = &log.definitions().mpi_phases;
        let (mut before, mut begin, mut level) = (Vec::new(), start_ns, FIRST_LEVEL);
        let mut all = Vec::new();
        let mut add = |number, until: Option<&MpiPhaseDefinition>| {
            let (end, so_far) = match until {
                Some(next) => (
                    log.time().since_start_ns(next.ticks),
                    next.routines
                        .iter()
                        .map(|routine| in_ns(log, routine))
                        .collect(),
                ),
                None => (start_ns + whole_ns, self.mpi_routines(rank)),
            };
            let routines = without(&so_far, &before);
            let mut time = MpiRank {
                rank,
                is_open: is_open && until.is_none(),
                threads: self.mpi_threads(rank),
                ..MpiRank::default()
            };
            time.add(&routines, end.saturating_sub(begin));
            all.push(MpiPhase {
                number,
                level,
                time,
                routines,
            });
            (before, begin) = (so_far, end);
            level = until.map_or(level, |next| next.level);
        };
        for (number, phase) in phases.iter().enumerate() {
            add(number, Some(phase));
        }
        add(phases.len(), None);
        all
    }

    /// The MPI calls that were recorded one by one, by rank, function and call site.
    pub fn mpi_calls(&self) -> Vec<MpiCalls> {
        let mut all = BTreeMap::<(u32, String, u32, Option<u64>), MpiCalls>::new();
        for log in self.logs() {
            let run = &log.definitions().run;
            let process = run.forked_from.unwrap_or(run.process);
            let rank = log.identity().rank;
            let mut of_log = BTreeMap::<(CallsOf, Option<u64>), MpiCalls>::new();
            for record in log.records().filter(|record| record.method.is_mpi()) {
                // A completed request is neither a call nor a message.
                if record.method.method == MPI_COMPLETED {
                    continue;
                }
                let call = Call::of(&record);
                let of = CallsOf::Path(record.call_path);
                let sum = of_log.entry((of, call.site)).or_default();
                if sum.times.calls == 0 {
                    sum.function.clone_from(&record.method.method);
                }
                call.add_to(sum);
            }
            self.add_sums(log, &mut of_log);
            for ((_, site), sum) in of_log {
                let key = (rank, sum.function.clone(), process, site);
                let known = all.entry(key).or_insert_with(|| MpiCalls {
                    rank,
                    process,
                    function: sum.function.clone(),
                    site,
                    ..MpiCalls::default()
                });
                known.times.add(&sum.times);
                known.sizes.add(&sum.sizes);
                for (class, (times, bytes)) in sum.by_communicator {
                    let known = known.by_communicator.entry(class).or_default();
                    known.0.add(&times);
                    known.1 = known.1.saturating_add(bytes);
                }
                add_peers(&mut known.to, sum.to);
                add_peers(&mut known.from, sum.from);
            }
        }
        all.into_values().collect()
    }

    /// Adds the sums of a process's calls, which each of its logs contains.
    fn add_sums(&self, log: &Log, calls: &mut BTreeMap<(CallsOf, Option<u64>), MpiCalls>) {
        let of_process = |log: &&Log| log.definitions().run.process;
        let same = self
            .logs()
            .iter()
            .filter(|other| of_process(other) == of_process(&log));
        let of_rank = same.filter(|other| other.identity().rank == log.identity().rank);
        let most = of_rank.max_by_key(|other| other.definitions().mpi_call_sums.len());
        if most.is_none_or(|most| most.identity() != log.identity()) {
            return;
        }
        for sum in &log.definitions().mpi_call_sums {
            if sum.function.is_empty() {
                continue;
            }
            let of = CallsOf::Function(sum.function.clone());
            let known = calls.entry((of, sum.site)).or_default();
            known.function.clone_from(&sum.function);
            add_sum(known, log, sum);
        }
    }

    /// Number of MPI calls that are only in the sums by function, since the table had no room for their call site and
    /// size.
    pub fn mpi_calls_without_site(&self) -> u64 {
        let mut of_processes = BTreeMap::new();
        for log in self.logs() {
            let sums = log.definitions().mpi_call_sums.iter();
            let calls: u64 = sums
                .filter(|sum| sum.function.is_empty())
                .map(|sum| sum.calls)
                .sum();
            let process = (log.identity().rank, log.definitions().run.process);
            let known = of_processes.entry(process).or_insert(0);
            *known = calls.max(*known);
        }
        of_processes.into_values().sum()
    }
}

/// Key of a group of calls: a call path, or a sum.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum CallsOf {
    Path(u32),
    Function(String),
}

fn add_peers(sums: &mut BTreeMap<u32, (u64, u64)>, more: BTreeMap<u32, (u64, u64)>) {
    for (peer, (messages, bytes)) in more {
        let known = sums.entry(peer).or_default();
        known.0 += messages;
        known.1 = known.1.saturating_add(bytes);
    }
}

fn add_sum(known: &mut MpiCalls, log: &Log, sum: &MpiCallSumDefinition) {
    let ns = |ticks| log.time().length_ns(ticks);
    let times = CallTimes {
        calls: sum.calls,
        failed: sum.failed,
        ns: ns(sum.ticks),
        least_ns: ns(sum.least_ticks),
        greatest_ns: ns(sum.greatest_ticks),
    };
    known.times.add(&times);
    if let Some(class) = sum.bytes_class {
        known.sizes.add(&MessageSizes {
            messages: sum.calls,
            bytes: sum.bytes,
            least_bytes: sum.least_bytes,
            greatest_bytes: sum.greatest_bytes,
            classes: BTreeMap::from([(class, (times, sum.bytes))]),
        });
    }
    if let Some(ranks) = sum.ranks_class {
        let bytes = sum.bytes_class;
        let class = CommunicatorClass { ranks, bytes };
        let of_class = known.by_communicator.entry(class).or_default();
        of_class.0.add(&times);
        of_class.1 = of_class.1.saturating_add(sum.bytes);
    }
}

/// The fields of a recorded MPI call.
struct Call {
    times: CallTimes,
    bytes: u64,
    /// Size of its communicator; 0 without one.
    ranks: u64,
    world_peer: Option<u32>,
    site: Option<u64>,
}

impl Call {
    fn of(record: &Record<'_>) -> Self {
        let ns = record.mpi_ns.unwrap_or(record.wall_ns);
        let calls = record.calls();
        // For calls that share a record, only the mean is known.
        let mean_ns = ns / calls;
        let mut call = Self {
            times: CallTimes {
                calls,
                failed: u64::from(record.failed),
                ns,
                least_ns: mean_ns,
                greatest_ns: mean_ns,
            },
            bytes: 0,
            ranks: 0,
            world_peer: None,
            site: None,
        };
        for (definition, value) in record.method.parameters.iter().zip(record.parameters()) {
            let Value::Integer(value) = value else {
                continue;
            };
            match &*definition.name {
                "bytes" if !record.failed => call.bytes = value.max(0).cast_unsigned(),
                "ranks" => call.ranks = value.max(0).cast_unsigned(),
                "world_peer" => call.world_peer = u32::try_from(value).ok(),
                _ if definition.is_call_site() => call.site = Some(value.cast_unsigned()),
                _ => {}
            }
        }
        call
    }

    fn add_to(&self, sum: &mut MpiCalls) {
        sum.times.add(&self.times);
        if let Some(ranks) = self.ranks.checked_ilog2() {
            let bytes = self.bytes.checked_ilog2();
            let class = CommunicatorClass { ranks, bytes };
            let known = sum.by_communicator.entry(class).or_default();
            known.0.add(&self.times);
            known.1 = known.1.saturating_add(self.bytes);
        }
        if let Some(peer) = self.world_peer {
            let sends = || sends_to_one(&sum.function).then_some((true, false));
            let (writes, reads) = one_sided(&sum.function).or_else(sends).unwrap_or_default();
            let ways = [(writes, &mut sum.to), (reads, &mut sum.from)];
            for (_, peers) in ways.into_iter().filter(|(goes, _)| *goes) {
                // A message without bytes is still a message.
                let known = peers.entry(peer).or_default();
                known.0 += 1;
                known.1 = known.1.saturating_add(self.bytes);
            }
        }
        if self.bytes > 0 {
            sum.sizes.push(self.bytes, &self.times);
        }
    }
}

fn in_ns(log: &Log, routine: &MpiRoutineDefinition) -> MpiRoutine {
    MpiRoutine {
        name: routine.name.clone(),
        calls: routine.calls,
        ns: log.time().length_ns(routine.ticks),
        failed: routine.failed,
    }
}

/// The difference from `before`.
fn without(now: &[MpiRoutine], before: &[MpiRoutine]) -> Vec<MpiRoutine> {
    let mut left = now.to_vec();
    for routine in &mut left {
        if let Some(before) = before.iter().find(|before| before.name == routine.name) {
            routine.calls = routine.calls.saturating_sub(before.calls);
            routine.ns = routine.ns.saturating_sub(before.ns);
            routine.failed = routine.failed.saturating_sub(before.failed);
        }
    }
    left.retain(|routine| routine.calls > 0);
    left
}
