//! Definitions: what the numbers in a log mean, as JSON entries in the log itself.
//!
//! Each is committed before the first record that needs it, so that every log can be read by itself, whole or cut.

use std::collections::BTreeMap;

use cca_abi::recording::MPI_PARTS;
use cca_abi::recording::word::{self, EntryKind};
use serde::{Deserialize, Serialize};

/// One definition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "define", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Definition {
    /// The run that the log belongs to.
    Run(RunDefinition),
    /// How a process of the run was started, and on what.
    Circumstances(CircumstancesDefinition),
    /// The recording of a process has ended.
    End(EndDefinition),
    /// The clock of start, wall and MPI times.
    Clock(ClockDefinition),
    /// What a measurement costs by itself.
    Cost(CostDefinition),
    /// A method that records name through their call path.
    Method(MethodDefinition),
    /// A call path.
    CallPath(CallPathDefinition),
    /// A component was replaced while the run went on.
    Swap(SwapDefinition),
    /// Totals of calls that could not be recorded.
    Unrecorded(UnrecordedDefinition),
    /// The log takes no more records.
    Stop(StopDefinition),
    /// From now on some calls have no record.
    Loss(LossDefinition),
    /// What was spent in MPI, by function; at the end of a run, the same in each log of a rank.
    MpiRoutines(MpiRoutinesDefinition),
    /// Time in MPI was measured no longer, or again.
    MpiSwitch(MpiSwitchDefinition),
    /// Values that components told; at the end of a run, the same in each log of a rank.
    AtomicEvents(AtomicEventsDefinition),
    /// Where the log keeps what its thread spends in MPI, by function, while the run goes on.
    MpiTotals(MpiTotalsDefinition),
    /// The program said by `MPI_Pcontrol` that another phase begins.
    MpiPhase(MpiPhaseDefinition),
    /// A communicator that calls recorded from now on name.
    MpiCommunicator(MpiCommunicatorDefinition),
    /// A connection whose calls are not recorded though they were to be.
    Unmonitored(UnmonitoredDefinition),
    /// What calls of MPI come to that have no record each; at the end of a run, the same in each log of a process.
    MpiCallSums(MpiCallSumsDefinition),
    /// What constructs of OpenMP come to; at the end of a run, the same in each log of a process.
    OpenMpSums(OpenMpSumsDefinition),
    /// Written by a later version; of no consequence to this one.
    #[serde(other)]
    Unknown,
}

/// The run: what was run, where.
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
    /// Processors that work on that machine; 0 where that is not known.
    pub processors: u32,
    /// Process of this rank.
    pub process: u32,
    /// Process of the rank, where a child that it forked wrote the log.
    pub forked_from: Option<u32>,
    /// Start of the run in this rank, nanoseconds since 1970-01-01 UTC.
    pub started_unix_ns: u64,
    /// Where MPI time comes from, if it is measured.
    pub mpi: Option<String>,
    /// Methods that a dry run left out, each `INSTANCE.PORT.METHOD`: their calls are recorded, and took no time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dry: Vec<String>,
}

impl RunDefinition {
    /// Whether a dry run left the method out.
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

/// How a process was started, and on what. What is `None` is not known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CircumstancesDefinition {
    /// Words of its command line.
    pub command: Vec<String>,
    /// Number of words at the end of a long command line that the log does not have.
    pub words_left_out: u32,
    /// Place in the command line of the first argument of a wrapped program; `None` where Mastermind itself was run.
    pub first_argument: Option<u32>,
    /// Its working folder when the recording began.
    pub folder: Option<String>,
    /// Name of its user, or the user's number.
    pub user: Option<String>,
    /// Version of Mastermind that recorded.
    pub version: Option<String>,
    /// Name and version of the MPI library; `None` without MPI too.
    pub mpi_library: Option<String>,
    /// Model of the processor.
    pub processor: Option<String>,
    /// Number of processors that it may use.
    pub processors_usable: Option<u32>,
    /// Load average of the last minute when the recording began.
    pub load: Option<f64>,
}

impl CircumstancesDefinition {
    /// The arguments of a wrapped program, as far as the log has them.
    pub fn arguments(&self) -> &[String] {
        let first = self.first_argument.map(|first| first as usize);
        first
            .and_then(|first| self.command.get(first..))
            .unwrap_or_default()
    }
}

/// The end of a recording. What is `None` is not known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EndDefinition {
    /// When, nanoseconds since 1970-01-01 UTC.
    pub ended_unix_ns: u64,
    /// Load average of the last minute then.
    pub load: Option<f64>,
    /// How long the threads of the process had run on a processor, nanoseconds.
    pub running_ns: Option<u64>,
    /// How long they were ready to run and had waited for a processor, nanoseconds.
    pub waiting_ns: Option<u64>,
}

/// One component of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClassDefinition {
    /// Instance in the assembly.
    pub instance: String,
    /// Class of the component.
    pub class: String,
    /// Its version.
    pub version: String,
    /// File name of the library it came from.
    pub library: String,
    /// Hash of that library's content, hexadecimal.
    pub library_hash: String,
}

/// One connection of the run, uses port to provides port.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConnectionDefinition {
    /// Instance that uses.
    pub user: String,
    /// Its uses port.
    pub uses_port: String,
    /// Instance that provides.
    pub provider: String,
    /// Its provides port.
    pub provides_port: String,
    /// Whether calls through it are recorded.
    pub monitored: bool,
}

/// The clock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClockDefinition {
    /// `tsc`, `clock_monotonic`, or the name of a simulated one.
    pub name: String,
    /// Rate as known at the start, ticks a second; the calibrations in the header are better once they are far apart.
    pub ticks_per_second: f64,
    /// What the clock advances by at once, ticks, as measured at the start; 0 where that is not known.
    #[serde(default)]
    pub step_ticks: f64,
}

impl ClockDefinition {
    /// What the clock advances by at once, nanoseconds; `None` where that is not known.
    pub fn step_ns(&self) -> Option<f64> {
        let ns = self.step_ticks * 1e9 / self.ticks_per_second;
        (ns.is_finite() && ns > 0.0).then_some(ns)
    }
}

/// What a measurement costs by itself, calibrated at start.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CostDefinition {
    /// Time that a recorded call with two parameters takes longer than the bare one, nanoseconds.
    pub record_ns: f64,
    /// The part of it that falls within the call's own wall time, nanoseconds.
    pub inside_ns: f64,
}

/// A monitored method.
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
    /// Parameters, in the order of their words in the record.
    pub parameters: Vec<ParameterDefinition>,
    /// Counters, after the parameters; only the available ones have a word.
    pub counters: Vec<CounterDefinition>,
    /// What their two readings cost a call, calibrated when the method was first monitored; 0 without counters.
    pub counters_ns: u64,
}

impl MethodDefinition {
    /// `instance.method`, as call paths and profiles show it.
    pub fn name(&self) -> String {
        format!("{}.{}", self.instance, self.method)
    }

    /// Whether it is a function of MPI, whose calls are recorded one by one only where that was asked for.
    #[inline]
    pub fn is_mpi(&self) -> bool {
        self.interface == MPI_CLASS && self.class == MPI_CLASS
    }

    /// Whether it is no function but a part of a call, such as a request that `MPI_Waitall` completed: it takes no time of its own.
    pub fn is_mpi_part(&self) -> bool {
        self.is_mpi() && MPI_PARTS.contains(&&*self.method)
    }
}

/// How the word of a parameter is read.
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

/// A performance parameter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ParameterDefinition {
    /// Name from the mark-up.
    pub name: String,
    /// How its word is read.
    pub kind: ParameterKind,
    /// Unit; empty for pure numbers.
    pub unit: String,
    /// Names of the values of an enumeration.
    pub labels: Vec<String>,
}

impl ParameterDefinition {
    /// Whether a time can grow with it: not with the number of a rank, a communicator, a tag or a request, with an address, or with what
    /// was before the call.
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

    /// Whether it is another one in each call or run, whatever the call does: an address, the number of a request, or a time.
    pub fn is_incidental(&self) -> bool {
        self.is_call_site() || [REQUEST_UNIT, PROCESSOR_TIME_UNIT].contains(&&*self.unit)
    }

    /// Whether it is the address that the call returns to.
    pub fn is_call_site(&self) -> bool {
        self.unit == CALL_SITE_UNIT
    }
}

/// A counter read at each call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CounterDefinition {
    /// Name.
    pub name: String,
    /// Unit; empty for pure numbers.
    pub unit: String,
    /// Why it cannot be read here, with the error's number; `None` if it can.
    pub unavailable: Option<String>,
    /// Whether it may have been counted for a part of the time only: its word is then to be multiplied by the record's
    /// [`TIME_ENABLED`] over its [`TIME_RUNNING`].
    pub multiplexed: bool,
}

/// Counter: for how long the events of a record were enabled, nanoseconds.
pub const TIME_ENABLED: &str = "time_enabled_ns";
/// Counter: for how long the events of a record were counted, nanoseconds.
pub const TIME_RUNNING: &str = "time_running_ns";

/// A call path: the path of the caller and the method called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallPathDefinition {
    /// Id within the log, from 1 without gaps; parents before children.
    pub id: u32,
    /// Path of the caller; 0 if no measured call encloses this one.
    pub parent: u32,
    /// Method called.
    pub method: u32,
}

/// A component replaced by another class during the run, or one that came during it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwapDefinition {
    /// When, in clock ticks.
    pub ticks: u64,
    /// Class before; empty if there was no instance of that name.
    pub from: String,
    /// Class after, with the instance.
    pub to: ClassDefinition,
}

/// A connection that was to be recorded and has no proxy.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct UnmonitoredDefinition {
    /// Instance that uses.
    pub user: String,
    /// Its uses port.
    pub uses_port: String,
    /// Instance that provides.
    pub provider: String,
    /// Its provides port.
    pub provides_port: String,
    /// Why there is none.
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

/// From a moment on calls have no record; their sums are in the header.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StopDefinition {
    /// When, in clock ticks, or a little earlier.
    pub ticks: u64,
    /// Why.
    pub reason: String,
}

/// Why single calls have no record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LossDefinition {
    /// Why.
    pub reason: String,
}

/// What a rank spent in MPI, by function.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MpiRoutinesDefinition {
    /// The functions that were called.
    pub routines: Vec<MpiRoutineDefinition>,
}

/// What a rank spent in one function of MPI, over all threads; calls that MPI makes itself are not counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MpiRoutineDefinition {
    /// Name in C, whatever language it was called from.
    pub name: String,
    /// Number of calls.
    pub calls: u64,
    /// Their time, clock ticks.
    pub ticks: u64,
    /// Those of the calls that returned an error.
    #[serde(skip_serializing_if = "is_none")]
    pub failed: u64,
}

fn is_none(number: &u64) -> bool {
    *number == 0
}

/// Sums of calls of MPI; a process may have several such definitions, each with other sums.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MpiCallSumsDefinition {
    /// The sums.
    pub sums: Vec<MpiCallSumDefinition>,
}

/// What the calls of one function of MPI come to, from one call site, of one class of size, in communicators of one class of size.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MpiCallSumDefinition {
    /// Name in C; empty for calls that there was no room for, of which nothing else is known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub function: String,
    /// Address that the calls return to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub site: Option<u64>,
    /// `k` for 2ᵏ up to 2ᵏ⁺¹ − 1 bytes; `None` for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_class: Option<u32>,
    /// `k` for 2ᵏ up to 2ᵏ⁺¹ − 1 ranks; `None` where there is no communicator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranks_class: Option<u32>,
    /// Calls.
    pub calls: u64,
    /// Those that returned an error.
    #[serde(skip_serializing_if = "is_none")]
    pub failed: u64,
    /// Their time, clock ticks.
    #[serde(skip_serializing_if = "is_none")]
    pub ticks: u64,
    /// Shortest, clock ticks.
    #[serde(skip_serializing_if = "is_none")]
    pub least_ticks: u64,
    /// Longest, clock ticks.
    #[serde(skip_serializing_if = "is_none")]
    pub greatest_ticks: u64,
    /// Bytes of all.
    #[serde(skip_serializing_if = "is_none")]
    pub bytes: u64,
    /// Fewest bytes.
    #[serde(skip_serializing_if = "is_none")]
    pub least_bytes: u64,
    /// Most bytes.
    #[serde(skip_serializing_if = "is_none")]
    pub greatest_bytes: u64,
}

/// Sums of constructs of OpenMP; a process may have several such definitions, each with other sums and the same of all else.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OpenMpSumsDefinition {
    /// Runtimes that were measured: `GCC`, `LLVM`.
    pub runtimes: Vec<String>,
    /// Why something was not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unmeasured: Vec<String>,
    /// Regions that were in progress at the end; their sums are of what they came to by then.
    #[serde(skip_serializing_if = "is_none")]
    pub open_regions: u64,
    /// The sums.
    pub sums: Vec<OpenMpSumDefinition>,
}

/// What constructs of one kind come to, from one call site; of parallel regions also the part of one thread of the team.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OpenMpSumDefinition {
    /// The directive: `parallel`, `loop`, `sections`, `single`, `barrier`, `task`, `taskloop`, `taskwait`, `taskgroup`, `critical`,
    /// `ordered`, `atomic`, `lock`.
    pub construct: String,
    /// Address that the calls return to.
    pub site: u64,
    /// Number of the thread in its team, whose part in regions this is; `None` for the constructs as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<u32>,
    /// Whether the regions are within others.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub nested: bool,
    /// How often threads came to it; of regions and tasks how many there were.
    pub calls: u64,
    /// How many there were, however many threads came to each; of tasks how many ran.
    #[serde(skip_serializing_if = "is_none")]
    pub instances: u64,
    /// Time of regions from begin to end, of a thread's part from when it came to the end of the region, of tasks what they ran, without
    /// waiting and without other tasks; clock ticks.
    #[serde(skip_serializing_if = "is_none")]
    pub ticks: u64,
    /// Time that threads waited, without tasks that they ran meanwhile, clock ticks.
    #[serde(skip_serializing_if = "is_none")]
    pub wait_ticks: u64,
    /// Of a thread's part the time from the begin of regions until it came, clock ticks.
    #[serde(skip_serializing_if = "is_none")]
    pub start_ticks: u64,
    /// Threads of the teams of regions; pieces of work that threads got of loops and sections.
    #[serde(skip_serializing_if = "is_none")]
    pub items: u64,
}

/// A phase begins, and ends the one before it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MpiPhaseDefinition {
    /// When, in clock ticks.
    pub ticks: u64,
    /// The argument of `MPI_Pcontrol`.
    pub level: i32,
    /// What the rank had spent in MPI by then.
    pub routines: Vec<MpiRoutineDefinition>,
}

/// A communicator as recorded calls of one rank name it; ranks number theirs in the order of their first use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MpiCommunicatorDefinition {
    /// Its number, 0 for `MPI_COMM_WORLD`.
    pub number: i64,
    /// The own rank in it.
    pub own: i64,
    /// Whether it joins two groups; then ranks are those of the other one.
    pub is_inter: bool,
    /// Number of its ranks.
    pub ranks: u32,
    /// Their ranks in `MPI_COMM_WORLD`, −1 for one that is not in there; `None` where they are the same.
    pub world_ranks: Option<Vec<i32>>,
}

/// Class of the methods that are timers of components.
pub const TIMER_CLASS: &str = "timer";

/// From a moment on, time in MPI was measured or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MpiSwitchDefinition {
    /// When, in clock ticks.
    pub ticks: u64,
    /// Whether it is measured from then on.
    pub measured: bool,
}

/// The atomic events of a rank.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AtomicEventsDefinition {
    /// Those that were made.
    pub events: Vec<AtomicEventDefinition>,
}

/// One atomic event: what its values come to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AtomicEventDefinition {
    /// Name.
    pub name: String,
    /// Number of values; the others mean nothing while it is 0.
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
    /// An event without values.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }

    /// Adds a finite value.
    pub fn push(&mut self, value: f64) {
        self.add(&Self {
            count: 1,
            min: value,
            max: value,
            mean: value,
            ..Self::default()
        });
    }

    /// Adds the values of another.
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

    /// Standard deviation of the values, divided by their number; NaN without values.
    pub fn std_deviation(&self) -> f64 {
        (self.squares / self.count as f64).sqrt()
    }
}

/// Where a log keeps what its thread spends in MPI, by function: a pair of words for each, calls and clock ticks, in the
/// unused part of a padding entry, changed in place at each call. So a killed run has them too.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MpiTotalsDefinition {
    /// Place of the first pair, words from the beginning of the entries.
    pub word: u64,
    /// Names in C.
    pub functions: Vec<String>,
    /// What the rank had spent before it recorded; of its first log only.
    pub before: Vec<MpiRoutineDefinition>,
    /// Place of the first number of failed calls, one a function; `None` in older logs, which do not count them.
    pub failed: Option<u64>,
}

/// Class, interface and instance of the functions of MPI.
pub const MPI_CLASS: &str = "MPI";

/// Unit of a parameter that names a rank: no size that a time could grow with.
pub const RANK_UNIT: &str = "rank";

/// Unit of a parameter that names a communicator.
pub const COMMUNICATOR_UNIT: &str = "communicator";

/// Unit of a parameter that is the tag of a message.
pub const TAG_UNIT: &str = "tag";

/// Unit of parameters that number requests.
pub const REQUEST_UNIT: &str = "request";

/// Unit of the processor time before a call of MPI, nanoseconds.
pub const PROCESSOR_TIME_UNIT: &str = "ns of processor time";

/// Class of the method that stands for a whole program that was wrapped.
pub const PROGRAM_CLASS: &str = "program";

/// Unit of a parameter that is the address a call returns to, the last of its method's parameters.
pub const CALL_SITE_UNIT: &str = "address";

/// A definition as an entry of a log.
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
