//! Definitions: JSON entries in a log that give the numbers in its records a meaning.
//!
//! Each definition is committed before the first record that needs it, so every log can be read by itself, complete or
//! truncated.

use std::collections::BTreeMap;

use cca_abi::recording::MPI_PARTS;
use cca_abi::recording::word::{self, EntryKind};
use serde::{Deserialize, Serialize};

/// One definition of a log: a JSON object whose field `define` names the variant. Unknown ones are read as
/// [`Definition::Unknown`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "define", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Definition {
    /// The run that the log belongs to.
    Run(RunDefinition),
    /// How, and on which machine, a process of the run was started.
    Circumstances(CircumstancesDefinition),
    /// The recording of a process has ended.
    End(EndDefinition),
    /// The clock of start, wall and MPI times.
    Clock(ClockDefinition),
    /// Cost of a measurement.
    Cost(CostDefinition),
    /// A method, to which records refer through their call path.
    Method(MethodDefinition),
    /// A call path.
    CallPath(CallPathDefinition),
    /// A component was replaced while the run went on.
    Swap(SwapDefinition),
    /// Totals of calls that could not be recorded.
    Unrecorded(UnrecordedDefinition),
    /// The log takes no more records.
    Stop(StopDefinition),
    /// Some calls have no record from now on.
    Loss(LossDefinition),
    /// Time spent in MPI, by function; written at the end of a run, identical in each log of a rank.
    MpiRoutines(MpiRoutinesDefinition),
    /// Measuring time in MPI was switched off, or on again.
    MpiSwitch(MpiSwitchDefinition),
    /// Values that components reported; written at the end of a run, identical in each log of a rank.
    AtomicEvents(AtomicEventsDefinition),
    /// Where the log keeps its thread's totals of MPI functions while the run goes on.
    MpiTotals(MpiTotalsDefinition),
    /// The program started another phase by `MPI_Pcontrol`.
    MpiPhase(MpiPhaseDefinition),
    /// A communicator to which later records refer.
    MpiCommunicator(MpiCommunicatorDefinition),
    /// A connection whose calls should be recorded and are not.
    Unmonitored(UnmonitoredDefinition),
    /// Sums of MPI calls that have no individual record; written at the end of a run, identical in each log of a
    /// process.
    MpiCallSums(MpiCallSumsDefinition),
    /// Sums of OpenMP constructs; written at the end of a run, identical in each log of a process.
    OpenMpSums(OpenMpSumsDefinition),
    /// Written by a later version; ignored by this one.
    #[serde(other)]
    Unknown,
}

/// The run that a log belongs to: its program, parameters and machine, the same in all its logs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunDefinition {
    /// Name of the assembly, or the program.
    pub assembly: String,
    /// Parameters of the assembly, `instance.port.key` → value.
    pub parameters: BTreeMap<String, String>,
    /// The components.
    pub classes: Vec<ClassDefinition>,
    /// Connections.
    pub connections: Vec<ConnectionDefinition>,
    /// Number of ranks of the run.
    pub ranks: u32,
    /// Name of the machine of this rank.
    pub host: String,
    /// Number of processors online on that machine; 0 if it is not known.
    pub processors: u32,
    /// Process of this rank.
    pub process: u32,
    /// Process id of the rank, if a child that it forked wrote the log.
    pub forked_from: Option<u32>,
    /// Start of the run in this rank, nanoseconds since 1970-01-01 UTC.
    pub started_unix_ns: u64,
    /// Source of MPI times, if they are measured.
    pub mpi: Option<String>,
    /// Methods that a dry run leaves out, each `INSTANCE.PORT.METHOD`: their calls are recorded, and take no time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dry: Vec<String>,
}

impl RunDefinition {
    /// Whether a dry run leaves the method out.
    pub fn leaves_out(&self, method: &MethodDefinition) -> bool {
        let is_it = |name: &String| {
            let rest = name.strip_prefix(&method.instance);
            let rest = rest.and_then(|rest| rest.strip_prefix('.'));
            let rest = rest.and_then(|rest| rest.strip_prefix(&method.port));
            rest.and_then(|rest| rest.strip_prefix('.')) == Some(&method.method)
        };
        self.dry.iter().any(is_it)
    }
}

/// How a process was started, and on which machine. Unknown fields are `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CircumstancesDefinition {
    /// Words of its command line.
    pub command: Vec<String>,
    /// Number of words at the end of a long command line that the log lacks.
    pub words_left_out: u32,
    /// Index in the command line of the first argument of a wrapped program; `None` if Mastermind itself was run.
    pub first_argument: Option<u32>,
    /// Its working folder when the recording began.
    pub folder: Option<String>,
    /// Name of its user, or the user's number.
    pub user: Option<String>,
    /// Version of the Mastermind that recorded.
    pub version: Option<String>,
    /// Name and version of the MPI library; also `None` if there is none.
    pub mpi_library: Option<String>,
    /// Model of the processor.
    pub processor: Option<String>,
    /// Number of processors that the process may use.
    pub processors_usable: Option<u32>,
    /// Load average of the last minute at the beginning of the recording.
    pub load: Option<f64>,
}

impl CircumstancesDefinition {
    /// The arguments of a wrapped program that the log contains.
    pub fn arguments(&self) -> &[String] {
        let first = self.first_argument.map(|first| first as usize);
        first
            .and_then(|first| self.command.get(first..))
            .unwrap_or_default()
    }
}

/// The end of a recording. Unknown fields are `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EndDefinition {
    /// When, nanoseconds since 1970-01-01 UTC.
    pub ended_unix_ns: u64,
    /// Load average of the last minute at that time.
    pub load: Option<f64>,
    /// Time for which the threads of the process ran on a processor, nanoseconds.
    pub running_ns: Option<u64>,
    /// Time for which they were ready to run and waited for a processor, nanoseconds.
    pub waiting_ns: Option<u64>,
}

/// An instance of the assembly, with its class and the library that contains it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClassDefinition {
    /// Name of the instance in the assembly.
    pub instance: String,
    /// Class of the component.
    pub class: String,
    /// Its version.
    pub version: String,
    /// File name of the library that contains it.
    pub library: String,
    /// Hash of that library's content, hexadecimal.
    pub library_hash: String,
}

/// One connection of the run, from a uses port to a provides port.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConnectionDefinition {
    /// Instance with the uses port.
    pub user: String,
    /// Name of the uses port.
    pub uses_port: String,
    /// Instance with the provides port.
    pub provider: String,
    /// Name of the provides port.
    pub provides_port: String,
    /// Whether calls through it are recorded.
    pub monitored: bool,
}

/// The clock that a log's ticks are readings of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClockDefinition {
    /// `tsc`, `clock_monotonic`, or the name of a simulated one.
    pub name: String,
    /// Rate estimated at the start, ticks per second; the calibrations in the header are more accurate once they are
    /// far apart.
    pub ticks_per_second: f64,
    /// Step of the clock, ticks, as measured at the start; 0 if it is not known.
    #[serde(default)]
    pub step_ticks: f64,
}

impl ClockDefinition {
    /// Step of the clock, nanoseconds; `None` if it is not known.
    pub fn step_ns(&self) -> Option<f64> {
        let ns = self.step_ticks * 1e9 / self.ticks_per_second;
        (ns.is_finite() && ns > 0.0).then_some(ns)
    }
}

/// Cost of a measurement, calibrated at the start.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CostDefinition {
    /// Additional time of a recorded call with two parameters over a bare call, nanoseconds.
    pub record_ns: f64,
    /// The part of `record_ns` that falls within the call's own wall time, nanoseconds.
    pub inside_ns: f64,
}

/// A method whose calls are recorded, with its parameters and counters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MethodDefinition {
    /// Id within the rank, from 1.
    pub id: u32,
    /// Instance that provides it.
    pub instance: String,
    /// Class of that instance.
    pub class: String,
    /// Provides port.
    pub port: String,
    /// Interface (port type).
    pub interface: String,
    /// Name of the method.
    pub method: String,
    /// Parameters, in the order of their words in a record.
    pub parameters: Vec<ParameterDefinition>,
    /// Counters, stored after the parameters; only available counters have a word.
    pub counters: Vec<CounterDefinition>,
    /// Time that two readings of the counters add to a call, calibrated when the method was first monitored,
    /// nanoseconds; 0 without counters.
    pub counters_ns: u64,
}

impl MethodDefinition {
    /// `instance.method`, as call paths and profiles show it.
    pub fn name(&self) -> String {
        format!("{}.{}", self.instance, self.method)
    }

    /// Whether it is an MPI function; their calls are recorded one by one only on request.
    #[inline]
    pub fn is_mpi(&self) -> bool {
        self.interface == MPI_CLASS && self.class == MPI_CLASS
    }

    /// Whether it is a part of a call, such as a request that `MPI_Waitall` completed, rather than a function; it takes
    /// no time of its own.
    pub fn is_mpi_part(&self) -> bool {
        self.is_mpi() && MPI_PARTS.contains(&&*self.method)
    }
}

/// How the 64-bit word of a parameter in a record is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParameterKind {
    /// A signed integer.
    #[default]
    Integer,
    /// An `f64`.
    Real,
    /// An index into the labels.
    Enumeration,
}

impl From<cca_abi::recording::ParameterKind> for ParameterKind {
    fn from(kind: cca_abi::recording::ParameterKind) -> Self {
        match kind {
            cca_abi::recording::ParameterKind::Integer => Self::Integer,
            cca_abi::recording::ParameterKind::Real => Self::Real,
            cca_abi::recording::ParameterKind::Enumeration => Self::Enumeration,
        }
    }
}

/// A performance parameter of a method: one word of each record of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ParameterDefinition {
    /// Name from the mark-up.
    pub name: String,
    /// Type of its word.
    pub kind: ParameterKind,
    /// Unit; empty for pure numbers.
    pub unit: String,
    /// Names of the values of an enumeration.
    pub labels: Vec<String>,
}

impl ParameterDefinition {
    /// Whether a time can grow with the parameter. False for numbers of ranks, communicators, tags and requests, for
    /// addresses, and for values from before the call.
    pub fn is_size(&self) -> bool {
        const NO_SIZES: [&str; 5] = [
            RANK_UNIT,
            COMMUNICATOR_UNIT,
            TAG_UNIT,
            REQUEST_UNIT,
            PROCESSOR_TIME_UNIT,
        ];
        !NO_SIZES.contains(&&*self.unit) && !self.is_call_site()
    }

    /// Whether the parameter differs between calls or runs with equal work: an address, the number of a request, or a
    /// time.
    pub fn is_incidental(&self) -> bool {
        self.is_call_site() || [REQUEST_UNIT, PROCESSOR_TIME_UNIT].contains(&&*self.unit)
    }

    /// Whether it is the return address of the call.
    pub fn is_call_site(&self) -> bool {
        self.unit == CALL_SITE_UNIT
    }
}

/// A counter that is read at each call; its increase during the call is one word of the record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CounterDefinition {
    /// Name.
    pub name: String,
    /// Unit; empty for pure numbers.
    pub unit: String,
    /// Why it cannot be read on this machine, with the error number; `None` if it can.
    pub unavailable: Option<String>,
    /// Whether it may have been counted for only part of the time. Its word then has to be multiplied by the record's
    /// [`TIME_ENABLED`] / [`TIME_RUNNING`].
    pub multiplexed: bool,
}

/// Counter: time for which the events of a record were enabled, nanoseconds.
pub const TIME_ENABLED: &str = "time_enabled_ns";
/// Counter: time for which the events of a record were counted, nanoseconds.
pub const TIME_RUNNING: &str = "time_running_ns";

/// A call path: the path of the caller and the called method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallPathDefinition {
    /// Id within the log, from 1 without gaps; parents before children.
    pub id: u32,
    /// Path of the caller; 0 if no measured call encloses this one.
    pub parent: u32,
    /// The called method.
    pub method: u32,
}

/// A component that was replaced by another class, or added, during the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwapDefinition {
    /// When, in clock ticks.
    pub ticks: u64,
    /// Class before; empty if there was no instance of that name.
    pub from: String,
    /// Class after, with the instance.
    pub to: ClassDefinition,
}

/// A connection that should be recorded and has no proxy.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct UnmonitoredDefinition {
    /// Instance with the uses port.
    pub user: String,
    /// Name of the uses port.
    pub uses_port: String,
    /// Instance with the provides port.
    pub provider: String,
    /// Name of the provides port.
    pub provides_port: String,
    /// Why it has no proxy.
    pub reason: String,
}

/// Calls of one path that ended and could not be recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnrecordedDefinition {
    /// The call path.
    pub call_path: u32,
    /// Number of calls.
    pub calls: u64,
    /// Sum of their wall times, clock ticks.
    pub wall_ticks: u64,
    /// Sum of their MPI times, clock ticks.
    pub mpi_ticks: u64,
}

/// Calls after this moment have no record; the header contains their sums.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StopDefinition {
    /// That moment or shortly before it, clock ticks.
    pub ticks: u64,
    /// The reason.
    pub reason: String,
}

/// A reason why individual calls have no record while later ones do; one definition for each reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LossDefinition {
    /// The reason.
    pub reason: String,
}

/// Time that a rank spent in MPI, by function.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MpiRoutinesDefinition {
    /// The functions that were called.
    pub routines: Vec<MpiRoutineDefinition>,
}

/// Time that a rank spent in one MPI function, over all threads. Calls that MPI makes itself are not counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MpiRoutineDefinition {
    /// Name in C, whatever language it was called from.
    pub name: String,
    /// Number of calls.
    pub calls: u64,
    /// Their time, clock ticks.
    pub ticks: u64,
    /// Number of calls that returned an error.
    #[serde(skip_serializing_if = "is_none")]
    pub failed: u64,
}

fn is_none(number: &u64) -> bool {
    *number == 0
}

/// Sums of MPI calls. A process may have several such definitions, each with other sums.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MpiCallSumsDefinition {
    /// The sums.
    pub sums: Vec<MpiCallSumDefinition>,
}

/// Sum over the calls of one MPI function from one call site, with message sizes of one class and communicators of one
/// class of size.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MpiCallSumDefinition {
    /// Name in C; empty for calls that the table had no room for: only their number is known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub function: String,
    /// Return address of the calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub site: Option<u64>,
    /// Class `k` of message sizes: 2ᵏ up to 2ᵏ⁺¹ − 1 bytes; `None` for no bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_class: Option<u32>,
    /// Class `k` of communicator sizes: 2ᵏ up to 2ᵏ⁺¹ − 1 ranks; `None` without a communicator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranks_class: Option<u32>,
    /// Number of calls.
    pub calls: u64,
    /// Number of calls that returned an error.
    #[serde(skip_serializing_if = "is_none")]
    pub failed: u64,
    /// Sum of their times, clock ticks.
    #[serde(skip_serializing_if = "is_none")]
    pub ticks: u64,
    /// Shortest time, clock ticks.
    #[serde(skip_serializing_if = "is_none")]
    pub least_ticks: u64,
    /// Longest time, clock ticks.
    #[serde(skip_serializing_if = "is_none")]
    pub greatest_ticks: u64,
    /// Sum of bytes.
    #[serde(skip_serializing_if = "is_none")]
    pub bytes: u64,
    /// Fewest bytes.
    #[serde(skip_serializing_if = "is_none")]
    pub least_bytes: u64,
    /// Most bytes.
    #[serde(skip_serializing_if = "is_none")]
    pub greatest_bytes: u64,
}

/// Sums of OpenMP constructs. A process may have several such definitions: they differ in the sums only.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OpenMpSumsDefinition {
    /// Runtimes that were measured: `GCC`, `LLVM`.
    pub runtimes: Vec<String>,
    /// Why some measurements are missing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unmeasured: Vec<String>,
    /// Regions that were still in progress at the end; they count up to that moment.
    #[serde(skip_serializing_if = "is_none")]
    pub open_regions: u64,
    /// The sums.
    pub sums: Vec<OpenMpSumDefinition>,
}

/// Sum over OpenMP constructs of one directive from one call site; for parallel regions also the share of one thread of
/// the team.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OpenMpSumDefinition {
    /// The directive: `parallel`, `loop`, `sections`, `single`, `barrier`, `task`, `taskloop`, `taskwait`, `taskgroup`, `critical`,
    /// `ordered`, `atomic`, `lock`.
    pub construct: String,
    /// Return address of the calls.
    pub site: u64,
    /// Number of the thread within its team, for its share of regions; `None` for the constructs as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<u32>,
    /// Whether the regions are nested in others.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub nested: bool,
    /// Number of times that threads reached the construct; for regions and tasks, their number.
    pub calls: u64,
    /// Number of instances, regardless of how many threads reached each; for tasks, the number that ran.
    #[serde(skip_serializing_if = "is_none")]
    pub instances: u64,
    /// Time, clock ticks: from begin to end for regions; from a thread's arrival to the end of the region for its
    /// share; running time without waiting and without other tasks for tasks.
    #[serde(skip_serializing_if = "is_none")]
    pub ticks: u64,
    /// Time that threads waited, without the tasks that they ran meanwhile, clock ticks.
    #[serde(skip_serializing_if = "is_none")]
    pub wait_ticks: u64,
    /// For a thread's share: time from the begin of regions until its arrival, clock ticks.
    #[serde(skip_serializing_if = "is_none")]
    pub start_ticks: u64,
    /// Team sizes of regions; for loops and sections, pieces of work that threads received.
    #[serde(skip_serializing_if = "is_none")]
    pub items: u64,
}

/// A phase begins, which ends the previous one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MpiPhaseDefinition {
    /// When, in clock ticks.
    pub ticks: u64,
    /// The argument of `MPI_Pcontrol`.
    pub level: i32,
    /// Time that the rank had spent in MPI by then.
    pub routines: Vec<MpiRoutineDefinition>,
}

/// A communicator to which the records of one rank refer; ranks number their communicators in the order of first use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MpiCommunicatorDefinition {
    /// Its number, 0 for `MPI_COMM_WORLD`.
    pub number: i64,
    /// This process's rank in it.
    pub own: i64,
    /// Whether it is an intercommunicator; its ranks are then those of the remote group.
    pub is_inter: bool,
    /// Number of its ranks.
    pub ranks: u32,
    /// Their ranks in `MPI_COMM_WORLD`, −1 for a process outside of it; `None` if both numberings are equal.
    pub world_ranks: Option<Vec<i32>>,
}

/// Class of the methods that represent timers of components.
pub const TIMER_CLASS: &str = "timer";

/// From this moment on, time in MPI is measured, or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MpiSwitchDefinition {
    /// When, in clock ticks.
    pub ticks: u64,
    /// Whether it is measured from then on.
    pub measured: bool,
}

/// The statistics of all atomic events of a rank, written once at the end of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AtomicEventsDefinition {
    /// The events that components created.
    pub events: Vec<AtomicEventDefinition>,
}

/// Statistics of the values of one atomic event, in its own unit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AtomicEventDefinition {
    /// Name.
    pub name: String,
    /// Number of values; the other fields are meaningless while it is 0.
    pub count: u64,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
    /// Mean.
    pub mean: f64,
    /// Sum of the squared deviations from the mean.
    pub squares: f64,
}

impl AtomicEventDefinition {
    /// An event of this name without values: a count of 0.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }

    /// Adds a value, which must be finite: others would make the mean NaN.
    pub fn push(&mut self, value: f64) {
        self.add(&Self {
            count: 1,
            min: value,
            max: value,
            mean: value,
            ..Self::default()
        });
    }

    /// Adds the values of another event.
    ///
    /// # Source
    /// Chan, Golub, LeVeque, "Algorithms for computing the sample variance", The American Statistician 37 (1983), 242–247.
    pub fn add(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            let name = std::mem::take(&mut self.name);
            *self = Self {
                name,
                ..other.clone()
            };
            return;
        }
        let (n, m) = (self.count as f64, other.count as f64);
        let apart = other.mean - self.mean;
        self.count += other.count;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.mean += apart * m / (n + m);
        self.squares += other.squares + apart * apart * n * m / (n + m);
    }

    /// Standard deviation of the values, with their number as divisor; NaN without values.
    pub fn std_deviation(&self) -> f64 {
        (self.squares / self.count as f64).sqrt()
    }
}

/// Where a log keeps its thread's totals of MPI functions: two words per function, calls and clock ticks, in the unused
/// part of a padding entry. The recorder updates them at each call, so the log of a killed run has them too.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MpiTotalsDefinition {
    /// Position of the first pair, in words from the beginning of the entries.
    pub word: u64,
    /// Names in C.
    pub functions: Vec<String>,
    /// Totals of the rank from before the recording; in its first log only.
    pub before: Vec<MpiRoutineDefinition>,
    /// Position of the first number of failed calls, one per function; `None` in older logs, which do not count them.
    pub failed: Option<u64>,
}

/// Class, interface and instance of MPI functions.
pub const MPI_CLASS: &str = "MPI";

/// Unit of a parameter that is the number of a rank. Times cannot grow with it.
pub const RANK_UNIT: &str = "rank";

/// Unit of a parameter that is the number of a communicator.
pub const COMMUNICATOR_UNIT: &str = "communicator";

/// Unit of a parameter that is the tag of a message.
pub const TAG_UNIT: &str = "tag";

/// Unit of a parameter that is the number of a nonblocking request within its thread.
pub const REQUEST_UNIT: &str = "request";

/// Unit of the processor time before an MPI call, nanoseconds.
pub const PROCESSOR_TIME_UNIT: &str = "ns of processor time";

/// Class of the method that represents a whole wrapped program.
pub const PROGRAM_CLASS: &str = "program";

/// Unit of a parameter that is the return address of a call; the last one of its method's parameters.
pub const CALL_SITE_UNIT: &str = "address";

/// Encodes a definition as an entry of a log.
pub(crate) fn definition_entry(definition: &Definition) -> serde_json::Result<Vec<u64>> {
    let payload = serde_json::to_vec(definition)?;
    let words = 2 + payload.len().div_ceil(size_of::<u64>());
    let sum = payload.len() as u64 | u64::from(crc32fast::hash(&payload)) << 32;
    let mut entry = vec![word::other(EntryKind::Definition, words as u32), sum];
    entry.extend(payload.chunks(size_of::<u64>()).map(|bytes| {
        let mut word = [0; size_of::<u64>()];
        word[..bytes.len()].copy_from_slice(bytes);
        u64::from_ne_bytes(word)
    }));
    Ok(entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_kinds_and_fields_are_tolerated() {
        let unknown: Definition = serde_json::from_str(r#"{"define":"galaxy","size":3}"#).unwrap();
        assert_eq!(unknown, Definition::Unknown);
        let path: Definition =
            serde_json::from_str(r#"{"define":"call_path","id":2,"parent":1,"method":4,"hue":1}"#)
                .unwrap();
        assert_eq!(
            path,
            Definition::CallPath(CallPathDefinition {
                id: 2,
                parent: 1,
                method: 4
            })
        );
    }
}
