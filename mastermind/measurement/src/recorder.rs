//! The recorder of one rank: its threads' logs, and what all of them define.

use std::cell::RefCell;
use std::ffi::c_void;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use cca_abi::recording::{Recorder, RecorderFunctions, RecordingContext, word};
use mastermind_records::definition::{ClockDefinition, MethodDefinition, RunDefinition};
use mastermind_records::{
    Calibration, ChunkPreparer, ChunkSizes, Definition, LogIdentity, LogTotals, LogWriter,
    RecordsError,
};
use rustix::thread::{Pid, gettid};

use crate::clock::Clock;
use crate::cost::measure_cost;
use crate::thread_log::ThreadLog;

/// What to record, and where.
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
    /// The run; where [`RunDefinition::mpi`] is set, the records say that MPI is measured.
    pub run: RunDefinition,
}

/// What a run has recorded.
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
    /// Relative difference between the clock's rate over the run and as measured at start; beyond 10⁻³ the clock is
    /// not to be trusted.
    pub clock_drift: f64,
}

/// The recorder of one rank.
#[derive(Debug)]
pub struct RunRecorder {
    recorder: Box<Recorder>,
    shared: Option<Arc<Shared>>,
}

#[derive(Debug)]
struct Shared {
    config: RecorderConfig,
    start: Calibration,
    process: u32,
    preparer: Arc<ChunkPreparer>,
    /// Whether `/proc` tells which threads live.
    can_see_threads: bool,
    /// What every log begins with.
    preamble: Vec<Definition>,
    registry: Mutex<Registry>,
    logs: Mutex<Logs>,
    /// Calls that no log could count.
    dropped: AtomicU64,
}

#[derive(Debug, Default)]
struct Registry {
    /// Index: id − 1.
    methods: Vec<Arc<MethodDefinition>>,
    announcements: Vec<Definition>,
}

#[derive(Debug, Default)]
struct Logs {
    all: Vec<LogPointer>,
    /// Given back, each with the thread that had it.
    free: Vec<(LogPointer, Pid)>,
    n_created: u32,
}

/// A log, owned by `Logs::all` and used by the thread that has its lease.
#[derive(Clone, Copy, Debug, PartialEq)]
struct LogPointer(*mut ThreadLog);

// SAFETY: the log itself is `Send`; who may use it is settled by the leases.
unsafe impl Send for LogPointer {}

/// A thread's right to use a log, given back when the thread ends.
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

thread_local! {
    static LEASES: RefCell<Vec<Lease>> = const { RefCell::new(Vec::new()) };
}

impl RunRecorder {
    /// Starts to record, with a log for the calling thread.
    ///
    /// # Errors
    /// [`RecordsError::Exists`] if the directory holds records of this rank; [`RecordsError::Io`] if it cannot be
    /// written.
    pub fn start(config: RecorderConfig) -> Result<Self, RecordsError> {
        let preparer =
            ChunkPreparer::start(config.limit_bytes).map_err(|source| RecordsError::Io {
                act: "start the thread that prepares records in",
                path: config.directory.clone(),
                source,
            })?;
        let clock = ClockDefinition {
            name: config.clock.name().into(),
            ticks_per_second: config.clock.ticks_per_second(),
        };
        let preamble = vec![
            Definition::Run(config.run.clone()),
            Definition::Clock(clock),
            Definition::Cost(measure_cost(&config.clock)),
        ];
        let shared = Arc::new(Shared {
            start: config.clock.calibration(),
            config,
            process: std::process::id(),
            preparer: Arc::new(preparer),
            can_see_threads: is_alive(gettid()),
            preamble,
            registry: Mutex::default(),
            logs: Mutex::default(),
            dropped: AtomicU64::new(0),
        });
        shared.lease()?;
        let object = Arc::as_ptr(&shared).cast::<c_void>();
        // SAFETY: the functions take `object` for the `Shared` that it is; it lives as long as the box, and `context`
        // gives each thread the context of the log that it has the lease of.
        let recorder = unsafe { Recorder::new(object, shared.start.ticks, FUNCTIONS) };
        Ok(Self {
            recorder: Box::new(recorder),
            shared: Some(shared),
        })
    }

    /// What proxies record into; its address stays.
    pub fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// Takes note of a method.
    ///
    /// Its definition goes into each log before the first record that needs it.
    ///
    /// # Arguments
    /// * `method` - its `id` is ignored
    ///
    /// # Returns
    /// The id for [`cca_abi::recording::ProxyMethod::register`]. A method whose instance has changed its class is
    /// another method.
    pub fn register(&self, method: MethodDefinition) -> u32 {
        let Some(shared) = &self.shared else { return 0 };
        let mut registry = locked(&shared.registry);
        let id = registry.methods.len() as u32 + 1;
        registry
            .methods
            .push(Arc::new(MethodDefinition { id, ..method }));
        id
    }

    /// Puts a definition into every log: at once into the calling thread's, into the others as they come by.
    pub fn announce(&self, definition: Definition) {
        let Some(shared) = &self.shared else { return };
        locked(&shared.registry).announcements.push(definition);
        if let Some(log) = shared.leased() {
            shared.catch_up(log);
        }
    }

    /// Reads the clock of the records, in ticks.
    pub fn now(&self) -> u64 {
        self.shared
            .as_ref()
            .map_or(0, |shared| shared.config.clock.now())
    }

    /// Ends all logs.
    ///
    /// # Errors
    /// [`RecordsError`] of the first log that cannot be ended properly; the others are ended all the same.
    pub fn finish(mut self) -> Result<RunTotals, RecordsError> {
        self.end()
    }

    fn end(&mut self) -> Result<RunTotals, RecordsError> {
        let Some(shared) = self.shared.take() else {
            return Ok(RunTotals::default());
        };
        if shared.process != std::process::id() {
            // A forked child: logs and preparing thread are the parent's.
            std::mem::forget(shared);
            return Ok(RunTotals::default());
        }
        shared.finish()
    }
}

impl Drop for RunRecorder {
    fn drop(&mut self) {
        // Who wants to know calls `finish`.
        let _ = self.end();
    }
}

impl Shared {
    /// The log that the calling thread has the lease of.
    fn leased(&self) -> Option<LogPointer> {
        let found = LEASES.try_with(|leases| {
            let leases = leases.borrow();
            leases
                .iter()
                .find(|lease| std::ptr::eq(lease.shared.as_ptr(), self))
                .map(|lease| lease.log)
        });
        found.ok().flatten()
    }

    /// Gives the calling thread the lease of a log: one given back, or a new one.
    fn lease(self: &Arc<Self>) -> Result<LogPointer, RecordsError> {
        let log = match self.take_free() {
            Some(log) => log,
            None => self.new_log()?,
        };
        let kept = LEASES.try_with(|leases| {
            let mut leases = leases.borrow_mut();
            leases.retain(|lease| lease.shared.strong_count() > 0);
            leases.push(Lease {
                shared: Arc::downgrade(self),
                log,
                thread: gettid(),
            });
        });
        if kept.is_err() {
            // The thread is ending and could not give it back.
            self.give_back(log, gettid());
            return Err(RecordsError::NoLogs {
                directory: self.config.directory.clone(),
            });
        }
        Ok(log)
    }

    fn new_log(&self) -> Result<LogPointer, RecordsError> {
        let thread = {
            let mut logs = locked(&self.logs);
            logs.n_created += 1;
            logs.n_created - 1
        };
        let identity = LogIdentity {
            rank: self.config.rank,
            thread,
        };
        let config = &self.config;
        let writer = LogWriter::create(
            &config.directory,
            identity,
            self.start,
            config.chunks,
            &self.preparer,
        )?;
        let mut log = Box::new(ThreadLog::new(writer));
        for definition in &self.preamble {
            log.define(definition)?;
        }
        let context = log.context();
        let log = LogPointer(Box::into_raw(log));
        // SAFETY: nobody else knows the log yet.
        unsafe {
            (*context).clock = config.clock.function();
            (*context).flags = if config.run.mpi.is_some() {
                word::MPI_MEASURED
            } else {
                0
            };
            (*context).thread = thread;
            (*context).owner = log.0.cast();
        }
        self.catch_up(log);
        locked(&self.logs).all.push(log);
        Ok(log)
    }

    fn give_back(&self, log: LogPointer, thread: Pid) {
        let mut logs = locked(&self.logs);
        if logs.all.contains(&log) {
            logs.free.push((log, thread));
        }
    }

    /// A log whose thread is gone.
    ///
    /// A log is given back by a destructor of the ending thread; destructors after it may still record. So the log
    /// passes on only when the system does not know the thread any more.
    fn take_free(&self) -> Option<LogPointer> {
        let mut logs = locked(&self.logs);
        let gone = logs
            .free
            .iter()
            .position(|(_, thread)| self.can_see_threads && !is_alive(*thread))?;
        let (log, _) = logs.free.swap_remove(gone);
        // SAFETY: nobody has the lease of the log, and it lives as long as it is in the list of all.
        unsafe { (*(*log.0).context()).path = 0 };
        Some(log)
    }

    fn catch_up(&self, log: LogPointer) {
        let registry = locked(&self.registry);
        // SAFETY: the calling thread has the lease (or made the log), and no other borrow of the log is alive.
        // What cannot be written now is tried again at the next occasion.
        let _ = unsafe { &mut *log.0 }.catch_up(&registry.announcements);
    }

    fn call_path(&self, log: LogPointer, parent: u32, method: u32) -> Option<u32> {
        // SAFETY: the calling thread has the lease, and no other borrow of the log is alive.
        let known = unsafe { &*log.0 }.known_call_path(parent, method);
        if known.is_some() {
            return known;
        }
        self.catch_up(log);
        let definition = locked(&self.registry)
            .methods
            .get((method as usize).checked_sub(1)?)?
            .clone();
        // SAFETY: as above.
        unsafe { &mut *log.0 }.define_call_path(parent, &definition)
    }

    fn finish(&self) -> Result<RunTotals, RecordsError> {
        let logs = std::mem::take(&mut *locked(&self.logs));
        let end = self.config.clock.calibration();
        let mut totals = RunTotals {
            dropped: self.dropped.load(Ordering::Relaxed),
            logs: logs.all.len() as u32,
            clock_drift: self.clock_drift(end),
            ..RunTotals::default()
        };
        let mut first_error = None;
        for log in logs.all {
            self.catch_up(log);
            // SAFETY: the pointer came from `Box::into_raw` and left the list just now. The recorder is not borrowed
            // any more, so no call is being recorded, and none will be.
            let log = *unsafe { Box::from_raw(log.0) };
            match log.finish(end) {
                Ok(LogTotals {
                    records,
                    dropped,
                    bytes,
                }) => {
                    totals.records += records;
                    totals.dropped += dropped;
                    totals.bytes += bytes;
                }
                Err(error) => first_error = first_error.or(Some(error)),
            }
        }
        first_error.map_or(Ok(totals), Err)
    }

    fn clock_drift(&self, end: Calibration) -> f64 {
        let seconds = end.ns.saturating_sub(self.start.ns) as f64 * 1e-9;
        // Two readings are some 30 ns apart; a shorter run says nothing about the rate.
        if seconds < 1e-3 {
            return 0.0;
        }
        let rate = end.ticks.saturating_sub(self.start.ticks) as f64 / seconds;
        (rate / self.config.clock.ticks_per_second() - 1.0).abs()
    }
}

/// Whether the system knows this thread of the process; if its number was given to a new one, that counts.
fn is_alive(thread: Pid) -> bool {
    Path::new("/proc/self/task")
        .join(thread.as_raw_nonzero().to_string())
        .exists()
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

const FUNCTIONS: RecorderFunctions = RecorderFunctions {
    context,
    roll_over,
    call_path,
    lost,
    counters,
};

/// # Safety
/// `object` is the `Shared` that the recorder was made with.
unsafe fn shared<'a>(object: *const c_void) -> &'a Shared {
    // SAFETY: required of the caller.
    unsafe { &*object.cast() }
}

/// The log of a context; `None` for the cleared context of a forked child.
///
/// # Safety
/// `context` is null or one that [`context`] returned to this thread.
unsafe fn log_of(context: *mut RecordingContext) -> Option<LogPointer> {
    // SAFETY: required of the caller.
    let owner = unsafe { context.as_ref() }?.owner;
    (!owner.is_null()).then_some(LogPointer(owner.cast()))
}

extern "C" fn context(object: *const c_void) -> *mut RecordingContext {
    // SAFETY: called by the recorder made in `RunRecorder::start`, which keeps one strong count.
    let shared = unsafe {
        Arc::increment_strong_count(object.cast::<Shared>());
        Arc::from_raw(object.cast::<Shared>())
    };
    let log = if shared.process == std::process::id() {
        shared.leased().map_or_else(|| shared.lease(), Ok)
    } else {
        Err(RecordsError::NoLogs {
            directory: PathBuf::new(),
        })
    };
    match log {
        // SAFETY: the calling thread has the lease.
        Ok(log) => unsafe { (*log.0).context() },
        Err(_) => {
            shared.dropped.fetch_add(1, Ordering::Relaxed);
            std::ptr::null_mut()
        }
    }
}

extern "C" fn roll_over(object: *const c_void, context: *mut RecordingContext, words: u64) -> u32 {
    // SAFETY: the recorder passes its object and this thread's context; no other borrow of the log is alive.
    let (shared, log) = unsafe { (shared(object), log_of(context)) };
    log.is_some_and(|log| {
        // SAFETY: as above.
        unsafe { &mut *log.0 }.roll_over(words as usize, || shared.config.clock.calibration())
    })
    .into()
}

extern "C" fn call_path(
    object: *const c_void,
    context: *mut RecordingContext,
    parent: u32,
    method: u32,
) -> u32 {
    // SAFETY: the recorder passes its object and this thread's context.
    let (shared, log) = unsafe { (shared(object), log_of(context)) };
    log.and_then(|log| shared.call_path(log, parent, method))
        .unwrap_or(0)
}

extern "C" fn lost(
    object: *const c_void,
    context: *mut RecordingContext,
    path: u32,
    wall: u64,
    mpi: u64,
) {
    // SAFETY: the recorder passes its object and this thread's context.
    let (shared, log) = unsafe { (shared(object), log_of(context)) };
    match log {
        // SAFETY: the calling thread has the lease, and no other borrow of the log is alive.
        Some(log) => unsafe { &mut *log.0 }.lose(path, wall, mpi),
        None => {
            shared.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// No method has counters yet.
extern "C" fn counters(_: *const c_void, _: *mut RecordingContext, _: u32, _: *mut u64) -> u32 {
    0
}
