//! The recorder of one rank: its threads' logs, and their common definitions.
//!
//! [`RunRecorder`] is the public interface of this crate: the host of a run starts one, registers
//! methods with it, hands its [`Recorder`] to the proxies, and ends it. The calls themselves never
//! come here. A proxy goes from the `Recorder` to its thread's context and appends to that thread's
//! log; this type is for the rare operations around that, and all of them go to the state that the
//! threads share (`shared.rs`).
//!
//! ```text
//! RunRecorder::start(config)      a log for the calling thread; definitions of the run
//!   register(method) -> id        proxies get a ProxyMethod by id
//!   recorder()                    what proxies record into: its address stays valid for ever
//!   announce, count_lost          definitions that every log gets
//! finish() -> RunTotals           logs of threads that still run stay mapped
//! ```
//!
//! The recorder is leaked on purpose: a thread that outlives the recording may still be on its way
//! through it. After a fork the child ends nothing, since logs and the preparing thread belong to
//! the parent.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::c_void;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cca_abi::recording::{MPI_EVENT_PARAMETERS, MpiEventOptions, ProxyMethod, Recorder};
use mastermind_records::definition::{
    CALL_SITE_UNIT, COMMUNICATOR_UNIT, LossDefinition, MPI_CLASS, MethodDefinition,
    MpiRoutineDefinition, PROCESSOR_TIME_UNIT, ParameterDefinition, RANK_UNIT, REQUEST_UNIT,
    RunDefinition, TAG_UNIT,
};
use mastermind_records::{
    ChunkSizes, Definition, LogIdentity, LogTotals, ProfileSums, RecordsError, RunningSums,
};

use crate::clock::Clock;
use crate::functions::FUNCTIONS;
use crate::shared::Shared;

/// What a recorder records, and where: the directory and its limits, the clock, the functions of
/// MPI, and the run as its logs describe it.
#[derive(Clone, Debug)]
pub struct RecorderConfig {
    /// Directory of the logs; it exists.
    pub directory: PathBuf,
    /// This rank.
    pub rank: u32,
    /// Bytes that the records of this rank may take; `None` for no limit.
    pub limit_bytes: Option<u64>,
    /// Sizes of the mapped pieces.
    pub chunks: ChunkSizes,
    /// The clock.
    pub clock: Clock,
    /// The functions of MPI whose totals the logs keep; none without MPI.
    pub mpi: MpiFunctions,
    /// The run; if [`RunDefinition::mpi`] is set, the records declare that MPI is measured.
    pub run: RunDefinition,
}

/// The functions of MPI, by the place of their totals.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MpiFunctions {
    /// Names in C.
    pub names: Vec<String>,
    /// Totals before the recording.
    pub before: Vec<MpiRoutineDefinition>,
}

/// Totals of a recorded run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunTotals {
    /// Calls recorded.
    pub records: u64,
    /// Calls that could not be recorded.
    pub dropped: u64,
    /// Bytes of all logs.
    pub bytes: u64,
    /// Number of logs.
    pub logs: u32,
    /// Number of times that a call waited for the next piece of a log.
    pub late_chunks: u64,
    /// Why a log took no more records; of the first that did not.
    pub refusal: Option<String>,
    /// Relative difference between the clock's rate over the run and as measured at start; beyond 10⁻³ the clock is
    /// not to be trusted.
    pub clock_drift: f64,
}

/// The recorder of one rank: owner of the logs of all its threads, from start to finish. Dropping
/// it ends the recording as well.
#[derive(Debug)]
pub struct RunRecorder {
    /// Never freed: a thread that is left behind may still be inside it.
    recorder: &'static Recorder,
    shared: Option<Arc<Shared>>,
}

impl RunTotals {
    pub(crate) fn add(&mut self, log: LogTotals) {
        self.records += log.records;
        self.dropped += log.dropped;
        self.bytes += log.bytes;
        self.late_chunks += log.late_chunks;
        if self.refusal.is_none() {
            self.refusal = log.refusal;
        }
    }
}

impl RunRecorder {
    /// Starts to record, with a log for the calling thread.
    ///
    /// # Errors
    /// [`RecordsError::Exists`] if the directory holds records of this rank; [`RecordsError::Io`] if it cannot be
    /// written.
    pub fn start(config: RecorderConfig) -> Result<Self, RecordsError> {
        Self::start_with(config, false)
    }

    /// As [`RunRecorder::start`], in a directory where other processes of the rank may have logs already, or make some.
    ///
    /// # Errors
    /// [`RecordsError::Io`] if the directory cannot be written.
    pub fn start_among_others(config: RecorderConfig) -> Result<Self, RecordsError> {
        Self::start_with(config, true)
    }

    fn start_with(config: RecorderConfig, is_among_others: bool) -> Result<Self, RecordsError> {
        let shared = Shared::start(config, is_among_others)?;
        let object = Arc::as_ptr(&shared).cast::<c_void>();
        // SAFETY: the functions take `object` for the `Shared` that it is; it lives as long as the box, and `context`
        // gives each thread the context of the log that it has the lease of.
        let recorder =
            unsafe { Recorder::new(object, shared.start_calibration().ticks, FUNCTIONS) };
        let recorder = Box::leak(Box::new(recorder));
        shared.set_recorder(recorder);
        Ok(Self {
            recorder,
            shared: Some(shared),
        })
    }

    /// The recorder that proxies use; its address is stable.
    pub fn recorder(&self) -> &Recorder {
        self.recorder
    }

    /// The run when the recording began; `None` once it has ended.
    pub fn run(&self) -> Option<&RunDefinition> {
        Some(self.shared.as_ref()?.run())
    }

    /// Registers a method.
    ///
    /// Its definition goes into each log before the first record that needs it.
    ///
    /// # Arguments
    /// * `method` - its `id` is ignored; counters must be as [`crate::probe_counters`] defines them
    ///
    /// # Returns
    /// Its id, from 1. A method whose instance has changed its class gets a new id.
    pub fn register(&self, method: MethodDefinition) -> u32 {
        let Some(shared) = &self.shared else { return 0 };
        shared.register(method)
    }

    /// The object that proxies of a registered method read, so that [`RunRecorder::switch`] reaches
    /// them.
    pub fn method(&self, id: u32) -> Option<Arc<ProxyMethod>> {
        self.shared.as_ref()?.method(id)
    }

    /// The interfaces of the methods registered so far; timers have none.
    pub fn interfaces(&self) -> BTreeSet<String> {
        let shared = self.shared.as_ref();
        shared.map_or_else(BTreeSet::new, |shared| shared.interfaces())
    }

    /// Directory of the logs.
    pub fn directory(&self) -> Option<&Path> {
        Some(self.shared.as_ref()?.directory())
    }

    /// The recorded rank; `None` once the recording has ended.
    pub fn rank(&self) -> Option<u32> {
        Some(self.shared.as_ref()?.rank())
    }

    /// Switches the recording of methods on or off while their proxies stay in place; calls in flight end as they
    /// began.
    ///
    /// # Arguments
    /// * `is_meant` - which methods
    ///
    /// # Returns
    /// Number of selected methods among those registered so far.
    pub fn switch(&self, on: bool, is_meant: impl Fn(&MethodDefinition) -> bool) -> usize {
        let shared = self.shared.as_ref();
        shared.map_or(0, |shared| shared.switch(on, is_meant))
    }

    /// Registers all functions of MPI as methods, whose calls have [`MPI_EVENT_PARAMETERS`].
    ///
    /// # Arguments
    /// * `options` - selects the functions that are not always registered
    ///
    /// # Returns
    /// Their ids, in the order of [`RecorderConfig::mpi`].
    pub fn register_mpi(&self, options: MpiEventOptions) -> Vec<u32> {
        let Some(shared) = &self.shared else {
            return Vec::new();
        };
        let units = [
            "bytes",
            RANK_UNIT,
            "",
            COMMUNICATOR_UNIT,
            RANK_UNIT,
            TAG_UNIT,
            REQUEST_UNIT,
            REQUEST_UNIT,
            PROCESSOR_TIME_UNIT,
            CALL_SITE_UNIT,
        ];
        let is_asked = |unit: &str| match unit {
            PROCESSOR_TIME_UNIT => options.processor_time,
            CALL_SITE_UNIT => options.call_depth > 0,
            _ => true,
        };
        let parameters = MPI_EVENT_PARAMETERS.iter().zip(units);
        let parameters: Vec<_> = parameters
            .filter(|(_, unit)| is_asked(unit))
            .map(|(name, unit)| ParameterDefinition {
                name: (*name).into(),
                unit: unit.into(),
                ..ParameterDefinition::default()
            })
            .collect();
        let names = shared.mpi_functions().names.iter();
        names
            .map(|name| {
                shared.register(MethodDefinition {
                    instance: MPI_CLASS.into(),
                    class: MPI_CLASS.into(),
                    port: MPI_CLASS.into(),
                    interface: MPI_CLASS.into(),
                    method: name.clone(),
                    parameters: parameters.clone(),
                    ..MethodDefinition::default()
                })
            })
            .collect()
    }

    /// Totals of MPI in the logs of this recorder so far, over all threads, for the functions that were called.
    pub fn mpi_routines(&self) -> Vec<MpiRoutineDefinition> {
        self.shared
            .as_ref()
            .map_or_else(Vec::new, |shared| shared.mpi_routines())
    }

    /// Writes a definition to every log: to the calling thread's at once, to others when their threads record next.
    pub fn announce(&self, definition: Definition) {
        let Some(shared) = &self.shared else { return };
        shared.announce(definition);
    }

    /// Counts calls that have no record.
    ///
    /// # Arguments
    /// * `reason` - the reason, which is written to the logs
    pub fn count_lost(&self, calls: u64, reason: &str) {
        let Some(shared) = self.shared.as_ref().filter(|_| calls > 0) else {
            return;
        };
        shared.count_lost(calls);
        let reason = reason.into();
        shared.announce(Definition::Loss(LossDefinition { reason }));
    }

    /// Reads the clock of the records, in ticks.
    pub fn now(&self) -> u64 {
        self.shared
            .as_ref()
            .map_or(0, |shared| shared.clock().now())
    }

    /// Sums of the full chunks of each log of this rank: a follower may skip these
    /// ([`mastermind_records::RunFollower::skip`]).
    pub fn running_sums(&self) -> BTreeMap<LogIdentity, RunningSums> {
        let shared = self.shared.as_ref();
        shared.map_or_else(BTreeMap::new, |shared| shared.running_sums())
    }

    /// Runs a closure where files are opened in a separate table: in the recorder's thread, or in a short-lived
    /// process. Waits for it; `None` in a forked child that has recorded nothing.
    pub fn run_apart<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> Option<io::Result<T>> {
        self.shared.as_ref()?.run_apart(job)
    }

    /// Ends the recorder's thread and continues without one; to be called while no other thread of the program runs.
    ///
    /// # Returns
    /// Whether that is possible: not if the logs are in memory, or if no short-lived process can be started.
    pub fn go_on_without_thread(&self) -> bool {
        let shared = self.shared.as_ref();
        shared.is_some_and(|shared| shared.go_on_without_thread())
    }

    /// Number of threads of the process, and of those the recorder's; `None` if the system does not report them.
    pub fn threads(&self) -> Option<(u32, u32)> {
        self.shared.as_ref()?.threads()
    }

    /// Writes data that is only in memory to the files of this rank's logs, if the file system lets no log be mapped: a
    /// reader then finds all committed records.
    pub fn write_out(&self) {
        if let Some(shared) = &self.shared {
            shared.write_out();
        }
    }

    /// Sums up the records of this rank so far. Later records use the same clock rate, so without later records the
    /// sums equal those of the finished logs.
    ///
    /// # Errors
    /// The logs cannot be read.
    pub fn sums(&self) -> Result<ProfileSums, RecordsError> {
        let Some(shared) = &self.shared else {
            return Ok(ProfileSums::default());
        };
        let mut run = shared.open_for_sums()?;
        run.calibrate(shared.end_calibration());
        Ok(ProfileSums::of_rank(&run, shared.rank()))
    }

    /// Time that the calling thread has spent in MPI so far, nanoseconds; `None` if it is not measured.
    pub fn thread_mpi_ns(&self) -> Option<u64> {
        let shared = self.shared.as_ref()?;
        // SAFETY: null, or the calling thread's context, which is valid as long as the recorder.
        let context = unsafe { self.recorder.thread_context().as_ref() }?;
        let ns = context.mpi_ticks as f64 * 1e9 / shared.clock().ticks_per_second();
        context.mpi_is_measured().then_some(ns as u64)
    }

    /// Ends all logs. Logs of living threads are marked as finished and stay mapped, and with them the recorder.
    ///
    /// # Errors
    /// [`RecordsError`] of the first log that cannot be ended properly; the others are ended all the same.
    pub fn finish(mut self) -> Result<RunTotals, RecordsError> {
        self.end()
    }

    /// As [`RunRecorder::finish`], while others still have references to the recorder, which therefore stays: calls
    /// that come through them are not recorded any more.
    ///
    /// # Errors
    /// As [`RunRecorder::finish`].
    pub fn finish_in_use(&self) -> Result<RunTotals, RecordsError> {
        let Some(shared) = &self.shared else {
            return Ok(RunTotals::default());
        };
        if !shared.is_own_process() {
            return Ok(RunTotals::default());
        }
        // A thread may search for its context at the former address of any context.
        let (totals, _) = shared.finish(true);
        totals
    }

    fn end(&mut self) -> Result<RunTotals, RecordsError> {
        let Some(shared) = self.shared.take() else {
            return Ok(RunTotals::default());
        };
        if !shared.is_own_process() {
            // In a forked child, logs and preparing thread belong to the parent.
            std::mem::forget(shared);
            return Ok(RunTotals::default());
        }
        let (totals, is_in_use) = shared.finish(false);
        if is_in_use {
            // Threads that are left behind may still be inside it.
            std::mem::forget(shared);
        }
        totals
    }
}

impl Drop for RunRecorder {
    fn drop(&mut self) {
        // A caller that needs the result calls `finish`.
        let _ = self.end();
    }
}
