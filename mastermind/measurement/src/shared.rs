//! State that the threads of a recorder share: their logs, and the leases on them.
//!
//! A thread that records for the first time takes the lease of a log (`Shared::lease`): one whose thread is gone, or a
//! new one, which begins with the common definitions. From then on it appends its records without a lock; the state
//! here is locked only for rare events: a new method or call path, a definition, a log that changes hands. A log has
//! one writer at a time: it passes on when the system no longer knows its thread, since destructors may record after
//! the one that gave it back. `Shared::finish` ends all logs, and leaves living threads the memory of theirs.
//! `thread_log` writes one log, `recorder` is the public interface.
//!
//! ```text
//! thread A   lease of rank0000-thread00.mmr, records, ends: given back
//! thread B   lease of rank0000-thread01.mmr, records on
//! thread C   begins when A is gone: lease of rank0000-thread00.mmr, whose records go on behind A's
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use cca_abi::recording::{ProxyMethod, Recorder};
use mastermind_records::definition::{
    ClockDefinition, MethodDefinition, MpiRoutineDefinition, RunDefinition,
};
use mastermind_records::{
    Calibration, ChunkPreparer, Definition, LogIdentity, LogWriter, RecordsError, Run, RunningSums,
    own_thread,
};
use memmap2::MmapMut;
use rustix::thread::{Pid, gettid};

use crate::clock::Clock;
use crate::cost::measure_cost;
use crate::counters::CounterPlan;
use crate::recorder::{MpiFunctions, RecorderConfig, RunTotals};
use crate::thread_end::ThreadValue;
use crate::thread_log::ThreadLog;

mod forked;

/// Maximum number of a rank's logs that are searched for a free number.
const MAX_LOGS: u32 = 100_000;

/// The state of a recorder.
#[derive(Debug)]
pub(crate) struct Shared {
    config: RecorderConfig,
    start: Calibration,
    /// The latest calibration of all logs, once it is settled.
    end: OnceLock<Calibration>,
    first_process: u32,
    /// Id of the process that owns the logs; it changes in a forked child, once it records.
    process: AtomicU32,
    preparer: Mutex<Arc<ChunkPreparer>>,
    /// The recorder of the contexts.
    recorder: AtomicPtr<Recorder>,
    /// Definitions at the beginning of every log.
    preamble: Vec<Definition>,
    registry: Mutex<Registry>,
    logs: Mutex<Logs>,
    /// Calls that no log could count.
    dropped: AtomicU64,
    /// In a forked child: the counter of lost calls in a log of the parent, in a file that both have mapped; for calls
    /// that no log of the child can count.
    parents_lost: AtomicPtr<AtomicU64>,
    /// Id of the process in which a thread restarts the recording.
    beginner: AtomicU32,
    /// Id of a forked child that cannot restart the recording.
    refused_in: AtomicU32,
    /// Whether a log could not be created: later threads then get none either, and do not try again at each call.
    is_full: AtomicBool,
    /// Whether there may be a log that a thread has released.
    may_have_free: AtomicBool,
    /// Whether other processes of the rank may have logs in the directory.
    is_among_others: bool,
    /// Whether nothing more is to be recorded.
    has_ended: AtomicBool,
}

#[derive(Debug, Default)]
struct Registry {
    /// Index: id − 1.
    methods: Vec<RegisteredMethod>,
    announcements: Vec<Definition>,
}

/// A method that proxies record.
#[derive(Clone, Debug)]
pub(crate) struct RegisteredMethod {
    pub(crate) definition: Arc<MethodDefinition>,
    /// Plan of its counters, if it has some.
    pub(crate) counters: Option<Arc<CounterPlan>>,
    switch: Arc<ProxyMethod>,
}

#[derive(Debug, Default)]
struct Logs {
    all: Vec<LogPointer>,
    /// Released logs, each with its former thread.
    free: Vec<(LogPointer, Pid)>,
    /// Leased logs, each with its thread.
    leased: Vec<(LogPointer, Pid)>,
    n_created: u32,
    /// Number of logs whose files are being made.
    n_beginning: u32,
}

/// Maximum time that the end of a run waits for logs that threads have begun to create. Otherwise, the process might
/// end between the creation and the removal of a file, and leave a log that never ends.
const PATIENCE_WITH_FILES: Duration = Duration::from_secs(10);

/// A log, owned by `Logs::all` and used by the thread that has its lease.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LogPointer(pub(crate) *mut ThreadLog);

// SAFETY: the log itself is `Send`; the leases decide which thread may use it.
unsafe impl Send for LogPointer {}

/// A thread's right to use a log, released when the thread ends.
struct Lease {
    shared: Weak<Shared>,
    log: LogPointer,
    thread: Pid,
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.upgrade() {
            shared.give_back(self.log, self.thread);
        }
    }
}

static LEASES: ThreadValue<Vec<Lease>> = ThreadValue::new();

impl Shared {
    /// Starts the preparing thread and the log of the calling thread.
    ///
    /// # Arguments
    /// * `is_among_others` - whether other processes of the rank may have logs in the directory already
    pub(crate) fn start(
        config: RecorderConfig,
        is_among_others: bool,
    ) -> Result<Arc<Self>, RecordsError> {
        let preparer =
            ChunkPreparer::start(config.limit_bytes).map_err(|source| RecordsError::Io {
                act: "start the thread that prepares records in",
                path: config.directory.clone(),
                source,
            })?;
        let clock = ClockDefinition {
            name: config.clock.name().into(),
            ticks_per_second: config.clock.ticks_per_second(),
            step_ticks: config.clock.step_ticks(),
        };
        let preamble = vec![
            Definition::Run(config.run.clone()),
            Definition::Clock(clock),
            Definition::Cost(measure_cost(&config.clock)),
        ];
        let shared = Arc::new(Self {
            start: config.clock.calibration(),
            end: OnceLock::new(),
            config,
            first_process: std::process::id(),
            process: AtomicU32::new(std::process::id()),
            preparer: Mutex::new(Arc::new(preparer)),
            recorder: AtomicPtr::default(),
            preamble,
            registry: Mutex::default(),
            logs: Mutex::default(),
            dropped: AtomicU64::new(0),
            parents_lost: AtomicPtr::default(),
            beginner: AtomicU32::new(std::process::id()),
            refused_in: AtomicU32::new(0),
            is_full: AtomicBool::new(false),
            may_have_free: AtomicBool::new(false),
            is_among_others,
            has_ended: AtomicBool::new(false),
        });
        shared.lease()?;
        Ok(shared)
    }

    pub(crate) fn start_calibration(&self) -> Calibration {
        self.start
    }

    pub(crate) fn end_calibration(&self) -> Calibration {
        *self.end.get_or_init(|| self.config.clock.calibration())
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.config.directory
    }

    pub(crate) fn run(&self) -> &RunDefinition {
        &self.config.run
    }

    pub(crate) fn rank(&self) -> u32 {
        self.config.rank
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.config.clock
    }

    /// Whether this is not a forked child, to which neither logs nor preparing thread belong.
    pub(crate) fn is_own_process(&self) -> bool {
        self.process.load(Ordering::Acquire) == std::process::id()
    }

    /// Whether a thread that has no log cannot get one.
    pub(crate) fn is_full(&self) -> bool {
        self.is_full.load(Ordering::Relaxed) && locked(&self.logs).free.is_empty()
    }

    /// As `is_full`, as far as known without a lock.
    pub(crate) fn has_nothing_free(&self) -> bool {
        self.is_full.load(Ordering::Relaxed) && !self.may_have_free.load(Ordering::Relaxed)
    }

    /// Counts a call that no log can count.
    pub(crate) fn count_dropped(&self) {
        self.count_lost(1);
    }

    /// Counts calls that are in no log.
    pub(crate) fn count_lost(&self, calls: u64) {
        let parents = self.parents_lost.load(Ordering::Acquire);
        // SAFETY: a forked child unmaps nothing of its parent's.
        let lost = unsafe { parents.as_ref() }.unwrap_or(&self.dropped);
        lost.fetch_add(calls, Ordering::Relaxed);
    }

    pub(crate) fn register(&self, method: MethodDefinition) -> u32 {
        let mut registry = locked(&self.registry);
        let id = registry.methods.len() as u32 + 1;
        let counters = CounterPlan::new(&method);
        let same = |known: &&RegisteredMethod| known.definition.counters == method.counters;
        // Methods with the same counters share the counters that a thread opens.
        let shared = registry.methods.iter().find(same);
        let (counters, counters_ns) = match shared {
            Some(known) => (known.counters.clone(), known.definition.counters_ns),
            None => {
                let cost = counters.as_ref().map(|plan| plan.cost_ns(self.clock()));
                (counters, cost.unwrap_or(0))
            }
        };
        let switch = Arc::new(ProxyMethod::registered(id));
        if counters.is_some() {
            switch.enable_counters();
        }
        registry.methods.push(RegisteredMethod {
            definition: Arc::new(MethodDefinition {
                id,
                counters_ns,
                ..method
            }),
            counters,
            switch,
        });
        id
    }

    pub(crate) fn method(&self, id: u32) -> Option<Arc<ProxyMethod>> {
        let registry = locked(&self.registry);
        let method = registry.methods.get((id as usize).checked_sub(1)?)?;
        Some(Arc::clone(&method.switch))
    }

    /// `instance.method` of an id.
    pub(crate) fn method_name(&self, id: u32) -> Option<String> {
        let registry = locked(&self.registry);
        let method = registry.methods.get((id as usize).checked_sub(1)?)?;
        Some(method.definition.name())
    }

    pub(crate) fn interfaces(&self) -> BTreeSet<String> {
        let registry = locked(&self.registry);
        let interfaces = registry.methods.iter();
        let interfaces = interfaces.map(|method| method.definition.interface.clone());
        interfaces.filter(|name| !name.is_empty()).collect()
    }

    /// Switches on or off the methods that `is_meant` selects.
    ///
    /// # Returns
    /// Number of selected methods.
    pub(crate) fn switch(&self, on: bool, is_meant: impl Fn(&MethodDefinition) -> bool) -> usize {
        let registry = locked(&self.registry);
        let meant = registry.methods.iter();
        let meant = meant.filter(|method| is_meant(&method.definition));
        let switched = meant.map(|method| match (on, &method.counters) {
            (true, Some(_)) => method.switch.enable_counters(),
            _ => method.switch.set_enabled(on),
        });
        switched.count()
    }

    pub(crate) fn announce(&self, definition: Definition) {
        if self.has_ended() {
            return;
        }
        locked(&self.registry).announcements.push(definition);
        // The process ends after the destructor that has returned its log.
        if let Some(log) = self.leased().or_else(|| self.given_back_by(gettid())) {
            self.catch_up(log);
        }
    }

    /// The log of which the calling thread has the lease.
    pub(crate) fn leased(&self) -> Option<LogPointer> {
        let found = LEASES.with(|leases| {
            let leases = leases.borrow();
            leases
                .iter()
                .find(|lease| ptr::eq(lease.shared.as_ptr(), self))
                .map(|lease| lease.log)
        });
        found.flatten()
    }

    /// Whether nothing more is to be recorded: threads that a component left behind may still call.
    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Acquire)
    }

    /// Gives the calling thread the lease of a log: a released one, or a new one.
    pub(crate) fn lease(self: &Arc<Self>) -> Result<LogPointer, RecordsError> {
        if self.has_ended() {
            return Err(RecordsError::NoLogs {
                directory: self.config.directory.clone(),
            });
        }
        let log = match self.take_free() {
            Some(log) => log,
            None => self
                .new_log()
                .inspect_err(|_| self.is_full.store(true, Ordering::Relaxed))?,
        };
        let kept = LEASES.with(|leases| {
            let mut leases = leases.borrow_mut();
            leases.retain(|lease| lease.shared.strong_count() > 0);
            leases.push(Lease {
                shared: Arc::downgrade(self),
                log,
                thread: gettid(),
            });
        });
        if kept.is_none() {
            // The thread could not give it back.
            self.give_back(log, gettid());
            return Err(RecordsError::NoLogs {
                directory: self.config.directory.clone(),
            });
        }
        Ok(log)
    }

    fn new_log(&self) -> Result<LogPointer, RecordsError> {
        {
            let mut logs = locked(&self.logs);
            // `finish` sets this flag before it checks whether logs begin.
            if self.has_ended() {
                return Err(RecordsError::NoLogs {
                    directory: self.config.directory.clone(),
                });
            }
            logs.n_beginning += 1;
        }
        let log = self.make_log();
        locked(&self.logs).n_beginning -= 1;
        log
    }

    fn make_log(&self) -> Result<LogPointer, RecordsError> {
        let log = LogPointer(Box::into_raw(Box::new(self.begin_log(&mut None)?)));
        if self.settle_in(log) {
            return Ok(log);
        }
        // SAFETY: the pointer came from `Box::into_raw` just now, and no other code has it.
        let log = *unsafe { Box::from_raw(log.0) };
        // The recording has ended meanwhile, and no other code would finish the log.
        let _ = std::fs::remove_file(log.path());
        Err(RecordsError::NoLogs {
            directory: self.config.directory.clone(),
        })
    }

    /// A new log with the common definitions.
    ///
    /// # Arguments
    /// * `context` - context through which it is appended to, taken once the file exists; a new one if it
    ///   is `None`
    fn begin_log(&self, context: &mut Option<MmapMut>) -> Result<ThreadLog, RecordsError> {
        let config = &self.config;
        let preparer = Arc::clone(&locked(&self.preparer));
        let (writer, thread) = loop {
            let thread = {
                let mut logs = locked(&self.logs);
                logs.n_created += 1;
                logs.n_created - 1
            };
            let identity = LogIdentity {
                rank: config.rank,
                thread,
            };
            let created = LogWriter::create_in(
                context,
                &config.directory,
                identity,
                self.start,
                config.chunks,
                &preparer,
            );
            match created {
                // Parent and forked child number their logs alike; the first has no other user, unless processes that
                // do not know each other record one after the other.
                Err(RecordsError::Exists { .. })
                    if thread < MAX_LOGS && (thread > 0 || self.is_among_others) => {}
                created => break (created?, thread),
            }
        };
        let mut log = ThreadLog::new(writer);
        if let Err(error) = self.begin_definitions(&mut log, thread == 0) {
            // Without its definitions, a file is not a log.
            let _ = std::fs::remove_file(log.path());
            return Err(error);
        }
        let context = log.context();
        // SAFETY: nothing else uses the log yet.
        unsafe {
            (*context).measure_with(config.clock.function(), config.run.mpi.is_some());
            (*context).thread = u64::from(thread);
        }
        Ok(log)
    }

    /// Writes the definitions at the beginning of a log.
    fn begin_definitions(&self, log: &mut ThreadLog, is_first: bool) -> Result<(), RecordsError> {
        for definition in &self.preamble {
            match definition {
                Definition::Run(run) => log.define(&Definition::Run(self.run_of_process(run)))?,
                definition => log.define(definition)?,
            }
        }
        log.keep_mpi_totals(&self.config.mpi, is_first)
    }

    /// Adds a log to the list, with the lease for the calling thread.
    ///
    /// # Returns
    /// Whether it was added; false once the recording has ended.
    fn settle_in(&self, log: LogPointer) -> bool {
        self.catch_up(log);
        let mut logs = locked(&self.logs);
        // `finish` sets this flag before it takes the list.
        if self.has_ended() {
            return false;
        }
        // SAFETY: only the calling thread has the log.
        unsafe {
            let context = (*log.0).context();
            (*context).owner = log.0.cast();
            (*context).recorder = self.recorder.load(Ordering::Acquire);
            (*context).show_to_thread();
        }
        logs.all.push(log);
        logs.leased.push((log, gettid()));
        true
    }

    /// The run, with the id of the process that records.
    fn run_of_process(&self, run: &RunDefinition) -> RunDefinition {
        let process = std::process::id();
        RunDefinition {
            forked_from: (process != self.first_process).then_some(self.first_process),
            process: if process == self.first_process {
                run.process
            } else {
                process
            },
            ..run.clone()
        }
    }

    /// Sets the recorder of the contexts; it lives as long as this.
    pub(crate) fn set_recorder(&self, recorder: &Recorder) {
        let recorder = ptr::from_ref(recorder).cast_mut();
        self.recorder.store(recorder, Ordering::Release);
    }

    fn give_back(&self, log: LogPointer, thread: Pid) {
        let mut logs = locked(&self.logs);
        logs.leased.retain(|(leased, _)| *leased != log);
        if logs.all.contains(&log) {
            // SAFETY: the log lives as long as it is in the list; the write is to an atomic.
            unsafe { (*(*log.0).context()).hide_from_thread() };
            logs.free.push((log, thread));
            self.may_have_free.store(true, Ordering::Relaxed);
        }
    }

    /// The log that a thread has released and that no thread has taken since.
    fn given_back_by(&self, thread: Pid) -> Option<LogPointer> {
        let logs = locked(&self.logs);
        let own = logs.free.iter().find(|(_, other)| *other == thread);
        own.map(|(log, _)| *log)
    }

    /// A log whose thread is gone, with the lease for the calling thread; or the calling thread's former one.
    ///
    /// A destructor of the ending thread releases a log; later destructors may still record. So the log passes to
    /// another thread only when the system does not know the former one any more.
    fn take_free(&self) -> Option<LogPointer> {
        let (mut logs, own) = (locked(&self.logs), gettid());
        let is_to_be_had = |thread: Pid| thread == own || !own_thread::is_alive(thread);
        let free = logs
            .free
            .iter()
            .position(|(_, thread)| is_to_be_had(*thread));
        let log = match free {
            Some(free) => logs.free.swap_remove(free).0,
            None => {
                if logs.free.is_empty() {
                    self.may_have_free.store(false, Ordering::Relaxed);
                }
                // A thread that the system ended without a destructor, and whose number is this one's
                // now.
                let leased = logs.leased.iter().position(|(_, thread)| *thread == own)?;
                logs.leased.swap_remove(leased).0
            }
        };
        logs.leased.push((log, own));
        // SAFETY: no thread has the lease of the log, and it lives as long as it is in the list of
        // all.
        unsafe { (*log.0).pass_on() };
        Some(log)
    }

    fn catch_up(&self, log: LogPointer) {
        let registry = locked(&self.registry);
        // SAFETY: the calling thread has the lease (or made the log), and no other borrow of the log is alive.
        // A failed write is tried again at the next occasion.
        let _ = unsafe { &mut *log.0 }.catch_up(&registry.announcements);
    }

    pub(crate) fn call_path(&self, log: LogPointer, parent: u32, method: u32) -> Option<u32> {
        // SAFETY: the calling thread has the lease, and no other borrow of the log is alive.
        let known = unsafe { &*log.0 }.known_call_path(parent, method);
        if known.is_some() {
            return known;
        }
        self.catch_up(log);
        let method = locked(&self.registry)
            .methods
            .get((method as usize).checked_sub(1)?)?
            .clone();
        // SAFETY: as above.
        unsafe { &mut *log.0 }.define_call_path(parent, &method)
    }

    /// Sums of the full chunks of each log.
    pub(crate) fn running_sums(&self) -> BTreeMap<LogIdentity, RunningSums> {
        let logs = locked(&self.logs);
        // SAFETY: a log lives as long as it is in the list; its sums may be read while its thread records.
        let of_log = |log: &LogPointer| unsafe { &*log.0 }.running_sums();
        let sums = logs.all.iter().map(of_log);
        sums.filter_map(|(path, sums)| Some((LogIdentity::from_path(&path)?, sums)))
            .collect()
    }

    /// Writes data that is only in the logs' memory to the files.
    pub(crate) fn write_out(&self) {
        let preparer = Arc::clone(&locked(&self.preparer));
        preparer.write_out();
    }

    /// Runs a closure where files are opened in a separate table: in the recorder's thread, or in a short-lived
    /// process; `None` in a forked child that has recorded nothing.
    pub(crate) fn run_apart<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> Option<io::Result<T>> {
        if !self.is_own_process() {
            return None;
        }
        let preparer = Arc::clone(&locked(&self.preparer));
        Some(preparer.run(job))
    }

    /// Ends the recorder's thread; afterwards, each of its tasks runs in a short-lived process. To be called while no
    /// other thread of the program runs.
    ///
    /// # Returns
    /// Whether that is possible ([`ChunkPreparer::go_on_without_thread`]).
    pub(crate) fn go_on_without_thread(&self) -> bool {
        let preparer = Arc::clone(&locked(&self.preparer));
        self.is_own_process() && preparer.go_on_without_thread()
    }

    /// Number of threads of the process, and of those the recorder's; `None` if the system does not report them.
    pub(crate) fn threads(&self) -> Option<(u32, u32)> {
        if !self.is_own_process() {
            // In a forked child that does not record.
            return own_thread::of_process().map(|n| (n, 0));
        }
        let n_ours = locked(&self.preparer).n_threads();
        if n_ours == 0 {
            return own_thread::of_process().map(|n| (n, 0));
        }
        // That thread sees a `/proc` that no `chroot` of the program hides.
        let n = self.run_apart(|| Ok(own_thread::of_process()))?.ok()?;
        n.map(|n| (n, n_ours))
    }

    /// Opens the logs of this rank, for sums.
    pub(crate) fn open_for_sums(&self) -> Result<Run, RecordsError> {
        self.write_out();
        let announced = locked(&self.registry).announcements.clone();
        let mut sums = BTreeMap::new();
        // Every log must contain the switches first: they determine for which calls time in MPI was measured.
        let is_switch = |definition: &Definition| matches!(definition, Definition::MpiSwitch(_));
        if !announced.iter().any(is_switch) {
            let logs = locked(&self.logs);
            // SAFETY: a log lives as long as it is in the list; its sums may be read while its thread records.
            let of_log = |log: &LogPointer| unsafe { &*log.0 }.running_sums();
            sums.extend(logs.all.iter().map(of_log));
        }
        Run::open_own(&self.config.directory, self.config.rank, sums)
    }

    pub(crate) fn mpi_functions(&self) -> &MpiFunctions {
        &self.config.mpi
    }

    /// Totals of MPI in the logs so far.
    pub(crate) fn mpi_routines(&self) -> Vec<MpiRoutineDefinition> {
        let logs = locked(&self.logs);
        let names = self.config.mpi.names.iter().enumerate();
        let routine = |(place, name): (usize, &String)| {
            let mut routine = MpiRoutineDefinition {
                name: name.clone(),
                ..MpiRoutineDefinition::default()
            };
            for log in &logs.all {
                // SAFETY: a log lives as long as it is in the list; its totals may be read while its thread adds to them.
                let log = unsafe { &*log.0 };
                routine.failed += log.mpi_failed(place);
                if let Some(total) = log.mpi_total(place) {
                    routine.calls += total.calls.load(Ordering::Relaxed);
                    routine.ticks += total.ticks.load(Ordering::Relaxed);
                }
            }
            routine
        };
        names
            .map(routine)
            .filter(|routine| routine.calls > 0)
            .collect()
    }

    /// Ends the recording: all logs are cut to their length. Living threads may be inside theirs, or be ending with
    /// destructors that still record: their records go to memory that stays mapped, and to no file.
    ///
    /// # Arguments
    /// * `keep_contexts` - whether threads without a log may search the contexts for their own
    ///
    /// # Returns
    /// The totals, and whether threads with logs live: then nothing that they may reach, the recorder included,
    /// may be freed.
    pub(crate) fn finish(&self, keep_contexts: bool) -> (Result<RunTotals, RecordsError>, bool) {
        self.has_ended.store(true, Ordering::Release);
        self.switch(false, |_| true);
        self.await_beginning_logs();
        let end = self.end_calibration();
        // The process ends after the destructor that has returned its log.
        let own = self.leased().or_else(|| self.given_back_by(gettid()));
        let logs = std::mem::take(&mut *locked(&self.logs));
        let in_use = self.logs_of_living_threads(&logs, own);
        let mut totals = RunTotals {
            dropped: self.dropped.swap(0, Ordering::Relaxed),
            logs: logs.all.len() as u32,
            clock_drift: self.clock_drift(self.config.clock.calibration()),
            ..RunTotals::default()
        };
        if let Some(first) = logs.all.first() {
            // SAFETY: the log left the list just now, and no thread records any more.
            unsafe { &*first.0 }.count_dropped(std::mem::take(&mut totals.dropped));
        }
        let announcements = locked(&self.registry).announcements.clone();
        let mut first_error = None;
        for log in logs.all {
            let ended = if in_use.contains(&log) {
                // SAFETY: it is never freed; the data read from it does not change.
                unsafe { &*log.0 }.finish_in_use(end, &announcements)
            } else {
                self.catch_up(log);
                // SAFETY: the pointer came from `Box::into_raw` and left the list just now. Its thread is this one, or
                // gone, so no other thread is inside it.
                let log = *unsafe { Box::from_raw(log.0) };
                // A thread that searches for its own context may read this one.
                log.finish(end, keep_contexts || !in_use.is_empty())
            };
            match ended {
                Ok(log) => totals.add(log),
                Err(error) => first_error = first_error.or(Some(error)),
            }
        }
        let is_in_use = !in_use.is_empty();
        // Their threads return them.
        locked(&self.logs).all = in_use;
        (first_error.map_or(Ok(totals), Err), is_in_use)
    }

    /// Waits for threads that are creating the file of a log: each adds its log to the list or removes the file.
    fn await_beginning_logs(&self) {
        let started = Instant::now();
        while locked(&self.logs).n_beginning > 0 && started.elapsed() < PATIENCE_WITH_FILES {
            std::thread::sleep(Duration::from_micros(200));
        }
    }

    /// The logs of other threads that are not gone.
    fn logs_of_living_threads(&self, logs: &Logs, own: Option<LogPointer>) -> Vec<LogPointer> {
        let holders = logs.free.iter().chain(&logs.leased);
        let living = holders
            .filter(|(log, thread)| Some(*log) != own && own_thread::is_alive(*thread))
            .map(|(log, _)| *log);
        living.collect()
    }

    fn clock_drift(&self, end: Calibration) -> f64 {
        let seconds = end.ns.saturating_sub(self.start.ns) as f64 * 1e-9;
        // Two readings are some 30 ns apart; a shorter run gives no useful rate.
        if seconds < 1e-3 {
            return 0.0;
        }
        let rate = end.ticks.saturating_sub(self.start.ticks) as f64 / seconds;
        (rate / self.config.clock.ticks_per_second() - 1.0).abs()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
