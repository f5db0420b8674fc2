//! Records a program that was not written for it.
//!
//! `mastermind wrap` preloads a library that reads a [`WrapConfig`] from the environment and starts a [`Wrapped`] in
//! each process before its first call of MPI. The proxies of MPI, OpenMP and C libraries then record through the same
//! recorder as components do: the whole program is one open call, and each call of a proxied function is a call made
//! from it. A process may have its calls sent to another library ([`Wrapped::use_library`]), or choose among
//! libraries while it runs ([`LibraryAdaptation`]).
//!
//! ```text
//! mastermind wrap ─▶ MASTERMIND_WRAP (WrapConfig) ─▶ Wrapped::start in each rank ─▶ records in DIR ─▶ Wrapped::finish
//! ```

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use cca_abi::recording::{
    MpiCallSum, MpiEventOptions, OPENMP_GCC, OPENMP_LLVM, OPENMP_OTHER_TOOL, OPENMP_OUTDATED,
    OPENMP_SANITIZER, OpenMpFacts, ProxyMethod, Recorder, Recording,
};
use cca_abi::{PortError, guest};
use cca_loader::{
    AttachedMpi, LibraryProxy, LoadError, MpiCommunicator, MpiProxy, OpenMpConstruct, OpenMpProxy,
    mpi_library_version,
};
use mastermind_measurement::{
    Clock, MpiFunctions, RecorderConfig, RunRecorder, RunTotals, circumstances, end,
    processors_online, ranks_share_processors,
};
use mastermind_records::definition::{
    CircumstancesDefinition, MethodDefinition, MpiCallSumDefinition, MpiCallSumsDefinition,
    MpiPhaseDefinition, OpenMpSumDefinition, OpenMpSumsDefinition, PROGRAM_CLASS, RunDefinition,
};
use mastermind_records::{
    ChunkSizes, Definition, RecordsError, check_file_size, create_anew, own_thread,
};
use rustix::thread::{Pid, gettid};
use serde::{Deserialize, Serialize};
use thiserror::Error;

mod adapting;
pub mod claim;
mod libraries;

pub use adapting::LibraryAdaptation;
use libraries::Libraries;

use crate::communicators::{MAX_COMMUNICATORS, communicator_definition};
use crate::mastermind::{mpi_routines, routine_definitions};

/// The environment variable through which `mastermind wrap` reaches the library that it preloads; a [`WrapConfig`] in JSON.
pub const WRAP_VARIABLE: &str = "MASTERMIND_WRAP";

/// Environment variable with the path of the file to which the processes of the program write what they map and start;
/// `proxies/audit` defines its format.
pub const TRACE_VARIABLE: &str = "MASTERMIND_WRAP_TRACE";

/// Name of the abstract socket on which a wrapped process listens to `mastermind redirect`.
pub fn control_name(process: u32) -> String {
    format!("mastermind: use in {process}")
}

/// File name extension of a rank's error message.
pub const MESSAGE_EXTENSION: &str = "error";

/// File name extension of a rank's message that a part of the requested data is not recorded.
pub const REMARK_EXTENSION: &str = "remark";

/// File name extension of a rank's message that nothing can be chosen.
pub const NOTE_EXTENSION: &str = "note";

/// Maximum number of phases of a process; later ones count as the last one. Each is a definition in every log.
const MAX_PHASES: usize = 4096;

/// The data to record of a program, and where.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WrapConfig {
    /// Absolute path of the record directory, which exists.
    pub directory: PathBuf,
    /// Name of the run that the directory belongs to, by its [`claim`].
    pub run: String,
    /// Path of the proxy of MPI.
    pub proxy: PathBuf,
    /// Name of the program.
    pub program: String,
    /// Settings that the user gives to the run; they become its parameters.
    pub settings: BTreeMap<String, String>,
    /// Bytes that the records of a rank may take; `None` for no limit.
    pub limit_bytes: Option<u64>,
    /// Path of the proxy of OpenMP; `None` where that is not measured.
    pub openmp: Option<PathBuf>,
    /// Whether each call of MPI is recorded.
    pub mpi_events: bool,
    /// Paths of the generated proxies of C libraries.
    pub libraries: Vec<PathBuf>,
    /// Whether the processor time between calls of MPI is recorded; `None` to do so where ranks share a processor.
    pub processor_time: Option<bool>,
    /// Whether the address that a recorded call returns to is recorded.
    pub call_sites: bool,
    /// Depth of the call stack that is recorded with a call of MPI.
    pub call_depth: u32,
    /// Libraries that the calls of interfaces go to from the start, instead of the program's own.
    pub uses: Vec<UseConfig>,
    /// The choice of libraries while the program runs; `None` without one.
    pub adapt: Option<LibraryAdaptConfig>,
}

/// Identifies this process among those of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankOfRun {
    /// The rank, from 0.
    pub rank: u32,
    /// Number of ranks.
    pub ranks: u32,
    /// Number of ranks on this machine; `None` if the launcher does not report it.
    pub local_ranks: Option<u32>,
}

/// The libraries to choose between while a program runs, and the models to choose by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LibraryAdaptConfig {
    /// Absolute path of the stored models, as `fit` writes them; `None` where all is learnt in the run.
    pub models: Option<PathBuf>,
    /// Part of the run's seconds that trials may cost, 0 to 1.
    pub explore: f64,
    /// Libraries that calls may be sent to, in addition to the program's own.
    pub alternatives: Vec<UseConfig>,
}

/// Another library for an interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UseConfig {
    /// Name of the interface.
    pub interface: String,
    /// Absolute path of the library.
    pub library: PathBuf,
}

impl WrapConfig {
    /// The configuration for a world of ranks that this run's ranks spawned, with the next directory.
    ///
    /// # Arguments
    /// * `world` - its name, the same for all its ranks and for no other launch
    ///
    /// # Errors
    /// The directory cannot be made.
    pub fn of_spawned(&self, world: &str) -> std::io::Result<Self> {
        let claimant = claim::Claimant {
            run: format!("{} {SPAWNED} {world}", self.run),
            rank: None,
        };
        let claimed = claim::claim(&self.directory, &claimant, None)?;
        Ok(Self {
            directory: claimed.directory,
            ..self.clone()
        })
    }

    /// Directories of worlds that this run's ranks spawned.
    pub fn spawned(&self) -> Vec<PathBuf> {
        let spawned = format!("{} {SPAWNED} ", self.run);
        let further = (2..).map(|number| claim::numbered(&self.directory, number));
        let further = further.take_while(|directory| directory.is_dir());
        let is_own = |directory: &PathBuf| {
            claim::claimed_by(directory).is_some_and(|run| run.starts_with(&spawned))
        };
        further.filter(is_own).collect()
    }

    /// File in which a rank leaves an error message.
    pub fn message_file(&self, rank: u32) -> PathBuf {
        let name = format!("rank{rank:04}.{MESSAGE_EXTENSION}");
        self.directory.join(name)
    }

    /// File in which a rank leaves the reason why nothing can be chosen.
    pub fn note_file(&self, rank: u32) -> PathBuf {
        self.directory
            .join(format!("rank{rank:04}.{NOTE_EXTENSION}"))
    }

    /// Leaves a message about an error.
    ///
    /// # Errors
    /// It cannot be written; the caller that started the recording then finds no records and reports that.
    pub fn leave_message(&self, rank: u32, message: &str) -> std::io::Result<()> {
        write(&self.message_file(rank), message)
    }

    /// File in which a rank leaves a message about requested data that are not recorded.
    pub fn remark_file(&self, rank: u32) -> PathBuf {
        self.directory
            .join(format!("rank{rank:04}.{REMARK_EXTENSION}"))
    }

    /// Leaves a message about requested data that are not recorded.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn leave_remark(&self, rank: u32, message: &str) -> std::io::Result<()> {
        write(&self.remark_file(rank), message)
    }

    /// Leaves a message if calls of this MPI cannot be recorded one by one although that was requested; the program
    /// goes on.
    pub fn remark_unknown_abi(&self, proxy: &MpiProxy, rank: u32) {
        let Some(name) = proxy.unknown_abi().filter(|_| self.mpi_events) else {
            return;
        };
        let text = format!(
            "cannot record calls of MPI one by one: MPI library {name}, expected the ABI of Open MPI, of MPICH or of MPI 5.0; \
             calls and time by function are recorded"
        );
        // If it cannot be written, only the sums are visible.
        let _ = self.leave_remark(rank, &text);
    }

    /// Leaves a message why nothing can be chosen.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn leave_note(&self, rank: u32, message: &str) -> std::io::Result<()> {
        write(&self.note_file(rank), message)
    }
}

/// Separates the name of a run from the name of a world that it spawned.
const SPAWNED: &str = "spawned";

/// Writes a file that a program's process leaves behind, in a thread with open files of its own.
fn write(path: &Path, message: &str) -> std::io::Result<()> {
    // The signal for a file that is too large would end the program.
    check_file_size(message.len() as u64)?;
    let (path, message) = (path.to_owned(), message.to_owned());
    let write = move || create_anew(&path)?.write_all(message.as_bytes());
    // Without a thread, the message is written here.
    own_thread::run_apart(write.clone()).unwrap_or_else(|_| write())
}

/// Why a program cannot be recorded.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WrapError {
    /// The logs cannot be written.
    #[error(transparent)]
    Records(#[from] RecordsError),
    /// The proxy of MPI does not fit.
    #[error(transparent)]
    Proxy(#[from] LoadError),
    /// Calls of MPI cannot be recorded one by one.
    #[error("cannot record calls of MPI one by one")]
    Events(#[source] PortError),
    /// No proxy of this interface is loaded.
    #[error("cannot use a library for interface \"{interface}\": proxies of {}, expected one of it", interfaces.join(", "))]
    NoInterface {
        /// Name of the interface.
        interface: String,
        /// Interfaces with a proxy.
        interfaces: Vec<String>,
    },
    /// Nothing can be chosen.
    #[error("cannot adapt \"{program}\": {why}")]
    NotAdaptable {
        /// Name of the program.
        program: String,
        /// Why not.
        why: String,
    },
    /// A proxy does not record as this recorder does.
    #[error("cannot record {interface}: its proxy records in another version; generate it anew")]
    LibraryVersion {
        /// Name of the interface.
        interface: String,
    },
}

/// The recording of a process, from its first call of MPI to its end.
pub struct Wrapped {
    program: Program,
    // Dropped before the recorder that it leads to.
    mpi: AttachedMpi,
    libraries: Libraries,
    openmp: Option<OpenMpProxy>,
    recorder: RunRecorder,
    n_phases: usize,
    n_communicators: usize,
    circumstances: CircumstancesDefinition,
    process: u32,
    rank: u32,
    /// Whether `mastermind redirect` has sent calls elsewhere.
    is_led_by_hand: bool,
}

/// The call that represents the whole program, open until its end.
struct Program {
    recording: Option<Recording<'static, 0>>,
    thread: Pid,
}

// SAFETY: the recording is ended by the thread that began it, or by another once that is gone, or never touched again
// (`Program::end`).
unsafe impl Send for Program {}

impl Program {
    /// # Safety
    /// The recorder lives until the program is ended.
    unsafe fn begin(recorder: &Recorder, method: &ProxyMethod) -> Self {
        // SAFETY: required of the caller.
        let recorder: &'static Recorder = unsafe { &*std::ptr::from_ref(recorder) };
        Self {
            recording: guest::as_program(|| Recording::begin_anywhere(recorder, method, [])),
            thread: gettid(),
        }
    }

    /// Ends the recording in the thread that began it, or in another once that is gone. Otherwise it stays open, as
    /// when a program ends in another thread.
    fn end(mut self) {
        let is_ours = gettid() == self.thread || !own_thread::is_alive(self.thread);
        match self.recording.take() {
            Some(recording) if is_ours => {
                guest::as_program(|| recording.end(false));
            }
            recording => std::mem::forget(recording),
        }
    }
}

impl Wrapped {
    /// Starts to record in the calling thread, before the first call of MPI.
    ///
    /// # Errors
    /// [`WrapError`].
    pub fn start(
        config: &WrapConfig,
        proxy: &MpiProxy,
        libraries: &[LibraryProxy],
        openmp: Option<&OpenMpProxy>,
        RankOfRun {
            rank,
            ranks,
            local_ranks,
        }: RankOfRun,
    ) -> Result<Self, WrapError> {
        let clock = Clock::detect();
        proxy.set_clock(clock.function());
        let (named, directory) = (config.clone(), config.directory.clone());
        let run = own_thread::run_apart(move || run_definition(&named, ranks));
        let run = run.map_err(|source| RecordsError::Io {
            act: "start the thread that opens the files of",
            path: directory,
            source,
        })?;
        let program = run.assembly.clone();
        // A wrapped shell starts several programs, one after the other or at once.
        let recorder = RunRecorder::start_among_others(RecorderConfig {
            directory: config.directory.clone(),
            rank,
            limit_bytes: config.limit_bytes,
            chunks: ChunkSizes::default(),
            clock,
            mpi: MpiFunctions {
                names: proxy.function_names(),
                before: routine_definitions(proxy.routines()),
            },
            run,
        })?;
        let named = config.clone();
        let circumstances = own_thread::run_apart(move || circumstances_of(&named));
        let circumstances = circumstances.unwrap_or_default();
        recorder.announce(Definition::Circumstances(circumstances.clone()));
        // SAFETY: the recorder's address stays, and what is attached is dropped before it, or the process ends with both.
        let mpi = unsafe { proxy.attach(recorder.recorder()) }?;
        if config.mpi_events {
            let options = MpiEventOptions {
                call_depth: u32::from(config.call_sites) * config.call_depth.max(1),
                processor_time: config.processor_time.unwrap_or_else(|| {
                    own_thread::run_apart(move || ranks_share_processors(local_ranks))
                        .unwrap_or_default()
                }),
            };
            let ids = recorder.register_mpi(options);
            let are_recorded = mpi.record_events(&ids, options);
            if proxy.unknown_abi().is_some() {
                config.remark_unknown_abi(proxy, rank);
            } else if !are_recorded {
                let text = "the proxy has other functions of MPI, expected those it named";
                return Err(WrapError::Events(PortError::failed(text)));
            }
        }
        if !config.mpi_events {
            mpi.sum_calls();
        }
        let method = ProxyMethod::registered(recorder.register(MethodDefinition {
            instance: program,
            class: PROGRAM_CLASS.into(),
            port: PROGRAM_CLASS.into(),
            interface: PROGRAM_CLASS.into(),
            method: "main".into(),
            ..MethodDefinition::default()
        }));
        let mut libraries = Libraries::new(libraries, config.call_sites);
        libraries.record(&recorder)?;
        for UseConfig { interface, library } in &config.uses {
            libraries.use_library(&recorder, interface, library)?;
        }
        if let Some(openmp) = openmp {
            openmp.measure(clock.function());
        }
        Ok(Self {
            libraries,
            openmp: openmp.cloned(),
            // SAFETY: `finish` ends it before the recorder.
            program: unsafe { Program::begin(recorder.recorder(), &method) },
            mpi,
            recorder,
            n_phases: 0,
            n_communicators: 0,
            circumstances,
            process: std::process::id(),
            rank,
            is_led_by_hand: false,
        })
    }

    /// Whether this is the process in which the recording was started, not a forked child.
    pub fn is_own_process(&self) -> bool {
        self.process == std::process::id()
    }

    /// Runs a job in a thread with a table of open files of its own, and waits for it; `None` in a forked child that
    /// has recorded nothing.
    pub fn run_apart<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> std::io::Result<T> + Send + 'static,
    ) -> Option<std::io::Result<T>> {
        self.recorder.run_apart(job)
    }

    /// Ends the recorder's thread, and goes on recording without one; no other thread of the program may run meanwhile.
    ///
    /// # Returns
    /// Whether that is possible ([`RunRecorder::go_on_without_thread`]).
    pub fn go_on_without_thread(&self) -> bool {
        self.recorder.go_on_without_thread()
    }

    /// Threads of the process, and how many of them are the recorder's; `None` where the system does not say.
    pub fn threads(&self) -> Option<(u32, u32)> {
        self.recorder.threads()
    }

    /// Counts calls from before the recording, which have no record.
    pub fn count_lost(&self, calls: u64, reason: &str) {
        self.recorder.count_lost(calls, reason);
    }

    /// The rank that is recorded.
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// Sends the calls of an interface to another library from now on, on request of the user; this ends the
    /// adaptation.
    ///
    /// # Returns
    /// The functions that the library lacks; a call of one ends the process.
    ///
    /// # Errors
    /// [`WrapError`]: no proxy of the interface, no such library, or one without any of the functions.
    pub fn use_library(&mut self, interface: &str, path: &Path) -> Result<Vec<String>, WrapError> {
        self.is_led_by_hand = true;
        self.libraries.use_library(&self.recorder, interface, path)
    }

    /// Notes that another phase of the program begins, with the argument of `MPI_Pcontrol`.
    pub fn begin_phase(&mut self, level: i32) {
        if self.n_phases == MAX_PHASES {
            return;
        }
        self.n_phases += 1;
        let phase = MpiPhaseDefinition {
            ticks: self.recorder.now(),
            level,
            routines: mpi_routines(self.mpi.routines(), self.recorder.mpi_routines()).routines,
        };
        self.recorder.announce(Definition::MpiPhase(phase));
    }

    /// Notes a communicator that recorded calls name from now on.
    ///
    /// # Safety
    /// It has as many ranks as it says.
    pub unsafe fn know_communicator(&mut self, communicator: &MpiCommunicator) {
        if self.n_communicators == MAX_COMMUNICATORS {
            return;
        }
        self.n_communicators += 1;
        // SAFETY: required of the caller.
        let definition = unsafe { communicator_definition(communicator) };
        self.recorder.announce(definition);
    }

    /// Ends the recording, in a process that is about to end.
    ///
    /// # Errors
    /// The logs cannot be written.
    pub fn finish(mut self) -> Result<RunTotals, RecordsError> {
        self.libraries.stop(&self.recorder);
        self.program.end();
        let routines = mpi_routines(self.mpi.routines(), self.recorder.mpi_routines());
        // Its name is looked up where the program has called it, never before: the dynamic linker may be locked then.
        let is_called = !routines.routines.is_empty();
        self.circumstances.mpi_library = is_called.then(mpi_library_version).flatten();
        self.recorder.announce(Definition::MpiRoutines(routines));
        if self.circumstances.mpi_library.is_some() {
            let circumstances = Definition::Circumstances(self.circumstances);
            self.recorder.announce(circumstances);
        }
        let sums: Vec<_> = self.mpi.call_sums().iter().map(call_sum).collect();
        for sums in sums.chunks(SUMS_A_DEFINITION) {
            let sums = sums.to_vec();
            let definition = Definition::MpiCallSums(MpiCallSumsDefinition { sums });
            self.recorder.announce(definition);
        }
        if let Some(openmp) = &self.openmp {
            let (sums, facts) = openmp.finish();
            openmp_sums(&sums, &facts).for_each(|sums| self.recorder.announce(sums));
            if facts.left_out > 0 {
                self.recorder.count_lost(facts.left_out, OPENMP_LEFT_OUT);
            }
            if facts.in_children > 0 {
                self.recorder
                    .count_lost(facts.in_children, OPENMP_IN_CHILDREN);
            }
        }
        // No file is opened in the program's table.
        if let Ok(end) = own_thread::run_apart(end) {
            self.recorder.announce(Definition::End(end));
        }
        drop(self.mpi);
        self.recorder.finish()
    }
}

/// Number of sums of calls per definition, so that each fits into a chunk of any size: some 200 bytes a sum.
const SUMS_A_DEFINITION: usize = 64;

const OPENMP_LEFT_OUT: &str = "there was no room for constructs or threads of OpenMP";
const OPENMP_IN_CHILDREN: &str =
    "constructs of OpenMP in processes that were forked are not measured";

/// Sums of OpenMP as definitions, at least one.
fn openmp_sums(sums: &[OpenMpConstruct], facts: &OpenMpFacts) -> impl Iterator<Item = Definition> {
    let chosen = |texts: &[(u32, &str)]| {
        let texts = texts.iter().filter(|(bit, _)| facts.seen & bit != 0);
        texts.map(|(_, text)| (*text).to_owned()).collect()
    };
    let all = OpenMpSumsDefinition {
        runtimes: chosen(&[(OPENMP_GCC, "GCC"), (OPENMP_LLVM, "LLVM")]),
        unmeasured: chosen(&[
            (OPENMP_OTHER_TOOL, "LLVM's runtime has another tool"),
            (
                OPENMP_SANITIZER,
                "LLVM's runtime has the tool of thread sanitizer",
            ),
            (
                OPENMP_OUTDATED,
                "parallel regions of a compiler before GCC 4.9",
            ),
        ]),
        open_regions: facts.open_regions,
        sums: Vec::new(),
    };
    let mut sums = sums.iter().map(openmp_sum).collect::<Vec<_>>();
    std::iter::from_fn({
        let mut is_first = true;
        move || {
            let rest = sums.split_off(sums.len().min(SUMS_A_DEFINITION));
            let sums = std::mem::replace(&mut sums, rest);
            let is_needed = std::mem::take(&mut is_first) || !sums.is_empty();
            is_needed.then(|| {
                Definition::OpenMpSums(OpenMpSumsDefinition {
                    sums,
                    ..all.clone()
                })
            })
        }
    })
}

fn openmp_sum(sum: &OpenMpConstruct) -> OpenMpSumDefinition {
    OpenMpSumDefinition {
        construct: sum.construct.clone(),
        site: sum.site,
        thread: sum.thread,
        nested: sum.is_nested,
        calls: sum.calls,
        instances: sum.instances,
        ticks: sum.ticks,
        wait_ticks: sum.wait_ticks,
        start_ticks: sum.start_ticks,
        items: sum.items,
    }
}

fn call_sum(sum: &MpiCallSum) -> MpiCallSumDefinition {
    let function = match sum.name.is_null() {
        true => String::new(),
        // SAFETY: a static text of the proxy, which is never closed.
        false => unsafe { CStr::from_ptr(sum.name) }
            .to_string_lossy()
            .into_owned(),
    };
    MpiCallSumDefinition {
        function,
        site: (sum.site != 0).then_some(sum.site),
        bytes_class: u32::try_from(sum.bytes_class).ok(),
        ranks_class: u32::try_from(sum.ranks_class).ok(),
        calls: sum.calls,
        failed: sum.failed,
        ticks: sum.ticks,
        least_ticks: sum.least_ticks,
        greatest_ticks: sum.greatest_ticks,
        bytes: sum.bytes,
        least_bytes: sum.least_bytes,
        greatest_bytes: sum.greatest_bytes,
    }
}

/// The name of the recorded program: the requested program, or, behind a launcher or a script, the name this process
/// was started with.
fn program_name(config: &WrapConfig) -> String {
    let line = std::fs::read("/proc/self/cmdline").unwrap_or_default();
    let words = line.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    let words: Vec<_> = words.take(MAX_WORDS).collect();
    let place = program_place(config, &words);
    let own = words.get(place).map(|word| file_name(word));
    match own.filter(|name| !name.is_empty()) {
        Some(own) => own.to_owned(),
        None => config.program.clone(),
    }
}

/// Index of the program's name in a command line: of the requested program, since an interpreter stands before its
/// script; otherwise the first word.
fn program_place(config: &WrapConfig, words: &[impl AsRef<str>]) -> usize {
    let mut names = words.iter().take(MAX_WORDS);
    let place = names.position(|word| file_name(word.as_ref()) == config.program);
    place.unwrap_or(0)
}

fn file_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or_default()
}

/// Maximum number of words of a command among which to search for the program.
const MAX_WORDS: usize = 8;

fn circumstances_of(config: &WrapConfig) -> CircumstancesDefinition {
    let first_argument = |words: &[String]| Some(program_place(config, words) + 1);
    circumstances(first_argument, None)
}

fn run_definition(config: &WrapConfig, ranks: u32) -> RunDefinition {
    let host = rustix::system::uname();
    RunDefinition {
        assembly: program_name(config),
        parameters: config.settings.clone(),
        ranks,
        host: host.nodename().to_string_lossy().into_owned(),
        processors: processors_online(),
        process: std::process::id(),
        started_unix_ns: SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_nanos() as u64),
        mpi: Some("proxy-mpi".into()),
        ..RunDefinition::default()
    }
}
