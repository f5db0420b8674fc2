//! The recorder in a program that was not written for it: `mastermind wrap` preloads this library with the proxies.
//!
//! ```text
//! loaded                 reads the settings that `wrap` left in the environment, has the proxies call before the first call
//! a program is started   notes it, for `wrap` to report those that it cannot see into (`started.rs`)
//! first call             of MPI, or of a proxied library: starts the recording; not before, so that a shell or a launcher in
//!                        between leaves no records; `mastermind redirect` is listened to (`control.rs`), and with `--adapt`
//!                        another library is chosen where it is faster, by several ranks together (`adapting.rs`)
//! exit                   ends it
//! the first thread       ends before others: the process ends with the last thread that is not ours (`threads.rs`)
//! system calls           are restricted by the program: the recording ends before (`restricted.rs`)
//! one thread             is what the program must have, as for other namespaces: our threads end before (`one_thread.rs`)
//! ```
//!
//! [`mastermind_component::Wrapped`] does the work. Nothing is printed here: errors are left in a file for `wrap` to
//! report, and the program goes on without a measurement.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::yield_now;
use std::time::{Duration, Instant};

use cca_abi::guest;
use cca_comm::{Launch, Launched, launched};
use cca_loader::{LibraryProxy, MpiCommunicator, MpiProxy, OpenMpProxy};
use mastermind_component::{
    LibraryAdaptation, RankOfRun, WRAP_VARIABLE, WrapConfig, Wrapped, own_thread,
};

// Handlers of signals, and threads that a constructor waits for, come by here.
cca_abi::own_thread_destructors!();

#[global_allocator]
static MEMORY: guest::Memory = guest::Memory;

mod adapting;
mod control;
mod interrupted;
mod one_thread;
mod restricted;
mod started;
mod thread_local;
mod threads;

/// The settings from `wrap`, and the proxies it preloaded.
struct Setup {
    config: WrapConfig,
    mpi: MpiProxy,
    libraries: Vec<LibraryProxy>,
    openmp: Option<OpenMpProxy>,
}

static SETUP: OnceLock<Setup> = OnceLock::new();
static RUNNING: Mutex<Option<Wrapped>> = Mutex::new(None);
/// Whether a recording was started, by whichever proxy's first call.
static IS_STARTED: AtomicBool = AtomicBool::new(false);
/// The thread that is starting it; 0 before, [`DONE`] after.
static STARTER: AtomicUsize = AtomicUsize::new(0);
static STARTING_PROCESS: AtomicU32 = AtomicU32::new(0);
/// No thread.
const DONE: usize = usize::MAX;

/// Not 0 while libraries are opened for `--use` and `mastermind redirect`: `proxies/audit`, which the dynamic linker
/// asks about each object, reads it and leaves their calls alone.
#[used]
#[unsafe(export_name = "mastermind_preload_opens_v1")]
pub static OPENS: AtomicU32 = AtomicU32::new(0);

/// Runs `open`, and marks meanwhile that libraries are opened for it.
fn opening<T>(open: impl FnOnce() -> T) -> T {
    OPENS.fetch_add(1, Ordering::AcqRel);
    let opened = open();
    OPENS.fetch_sub(1, Ordering::AcqRel);
    opened
}

/// Called by thread sanitizer, if the program is under it: it sees the memory accesses of this library, but not how its
/// threads synchronise.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_default_suppressions() -> *const c_char {
    c"called_from_lib:libmastermind_preload.so\ncalled_from_lib:libproxy_mpi.so\ncalled_from_lib:libproxy_openmp.so\n".as_ptr()
}

/// Called by leak sanitizer, also that of address sanitizer: memory that this library and the proxies keep until the
/// process ends is no leak of the program.
#[unsafe(no_mangle)]
pub extern "C" fn __lsan_default_suppressions() -> *const c_char {
    c"leak:libmastermind_preload.so\nleak:libproxy_mpi.so\nleak:libproxy_openmp.so\n".as_ptr()
}

/// Called by leak sanitizer: it must not print the suppressions that were used.
#[unsafe(no_mangle)]
pub extern "C" fn __lsan_default_options() -> *const c_char {
    c"print_suppressions=0".as_ptr()
}

/// Called by the dynamic linker when the library is loaded.
#[used]
#[unsafe(link_section = ".init_array")]
static ON_LOAD: extern "C" fn() = on_load;

extern "C" fn on_load() {
    // No panic may reach the program, and no message of one its output.
    let _ = catch_unwind(|| {
        std::panic::set_hook(Box::new(|_| ()));
        guest::Memory::prepare_for_forks();
        started::prepare();
        restricted::prepare();
        one_thread::prepare();
        interrupted::prepare();
        let Some(text) = variable(WRAP_VARIABLE) else {
            return;
        };
        let Ok(config) = serde_json::from_str::<WrapConfig>(&text) else {
            return;
        };
        if has(c"__msan_init") {
            return leave_message(&config, 0, OF_MEMORY_SANITIZER);
        }
        if variable("LD_PRELOAD").is_some_and(|list| list.contains("/vgpreload_core")) {
            return leave_message(&config, 0, UNDER_VALGRIND);
        }
        let libraries = config.libraries.iter().map(|path| LibraryProxy::open(path));
        let libraries = libraries.collect::<Result<Vec<_>, _>>();
        let openmp = config.openmp.as_ref().map(|path| OpenMpProxy::open(path));
        match (
            MpiProxy::open(&config.proxy, None),
            libraries,
            openmp.transpose(),
        ) {
            (Ok(mpi), Ok(libraries), Ok(openmp)) => {
                let asked = SETUP.get_or_init(|| Setup {
                    config,
                    mpi,
                    libraries,
                    openmp,
                });
                // Handlers run in reverse order: handlers of the program, which may call too, run before.
                // SAFETY: the function lives as long as the process: the library is never closed.
                unsafe {
                    libc::atexit(end);
                    at_quick_exit(end);
                }
                threads::prepare();
                asked.mpi.before_first_call(start);
                asked.mpi.on_pcontrol(begin_phase);
                asked.mpi.on_communicator(know_communicator);
                asked.mpi.on_stack(know_stack);
                // From the first call on: all ranks count the same ones.
                if asked.config.adapt.is_some() && !is_alone(launched(variable).ok().flatten()) {
                    asked.mpi.on_meeting(adapting::meet);
                }
                asked
                    .libraries
                    .iter()
                    .for_each(|proxy| proxy.before_first_call(start_at_call));
                if let Some(openmp) = &asked.openmp {
                    openmp.before_first_call(start_at_call);
                }
            }
            (Err(error), ..) | (_, Err(error), _) | (.., Err(error)) => {
                leave_message(&config, 0, &error.to_string());
            }
        }
    });
}

/// Why a program of MemorySanitizer is not recorded: it ends at a read of memory whose writes it has not seen.
const OF_MEMORY_SANITIZER: &str = "cannot measure a program of MemorySanitizer: it takes memory that other libraries have written as \
                                   uninitialised; it runs without";

/// Why a program under Valgrind is not recorded.
const UNDER_VALGRIND: &str = "cannot measure a program under Valgrind: it reports memory of the dynamic linker, which `wrap` watches, as \
                              faults of the program";

/// Whether an object that the process began with defines a name.
fn has(name: &CStr) -> bool {
    // SAFETY: a C string; if any thread holds the dynamic linker's lock, it is this one.
    !unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }.is_null()
}

unsafe extern "C" {
    fn at_quick_exit(function: extern "C" fn()) -> c_int;
}

/// Number of calls that came where no recording may begin.
static N_POSTPONED: AtomicU64 = AtomicU64::new(0);
/// Why they have no record.
const POSTPONED: &str = "calls of signal handlers came before the recording had begun, while memory was being asked for or the like: they \
                         are counted, and have no record";

/// Starts the recording at a call of a library.
///
/// # Returns
/// 1 if a recording may begin with another call only.
extern "C" fn start_at_call() -> u32 {
    if own_thread::is_own() || guest::is_at_work() || restricted::is_restricted() {
        return 0;
    }
    if !IS_STARTED.load(Ordering::Acquire) && interrupted::is_delicate() {
        N_POSTPONED.fetch_add(1, Ordering::Relaxed);
        return 1;
    }
    start();
    0
}

extern "C" fn start() {
    let Some(asked) = SETUP.get() else {
        return;
    };
    // As above.
    if own_thread::is_own() || guest::is_at_work() || restricted::is_restricted() {
        return;
    }
    if IS_STARTED.swap(true, Ordering::AcqRel) {
        guest::run_in_place(wait_for_start);
        return;
    }
    STARTING_PROCESS.store(std::process::id(), Ordering::Release);
    STARTER.store(thread(), Ordering::Release);
    guest::run(|| start_recording(asked));
    STARTER.store(DONE, Ordering::Release);
}

fn start_recording(asked: &Setup) {
    let Setup {
        config,
        mpi,
        libraries,
        openmp,
    } = asked;
    let _ = catch_unwind(AssertUnwindSafe(|| {
        let launched = launched(variable).ok().flatten();
        let rank = launched.map_or(0, |launched| launched.rank as u32);
        let ranks = launched.and_then(|launched| launched.size).unwrap_or(1);
        let spawned = launched.and_then(|launched| config_of_spawned(config, launched));
        let config = spawned.as_ref().unwrap_or(config);
        let local_size = launched.and_then(|launched| launched.local_size);
        let place = RankOfRun {
            rank,
            ranks: ranks as u32,
            local_ranks: local_size.map(|n| n as u32),
        };
        match opening(|| Wrapped::start(config, mpi, libraries, openmp.as_ref(), place)) {
            Ok(mut wrapped) => {
                wrapped.count_lost(N_POSTPONED.load(Ordering::Relaxed), POSTPONED);
                let is_alone = is_alone(launched);
                let adaptation = config.adapt.as_ref().map(|adapt| {
                    opening(|| LibraryAdaptation::start(&mut wrapped, config, adapt, is_alone))
                });
                *RUNNING.lock().unwrap_or_else(PoisonError::into_inner) = Some(wrapped);
                threads::recording_begins();
                if !libraries.is_empty() {
                    control::listen();
                }
                match adaptation {
                    Some(Ok(adaptation)) if is_alone => adapting::begin(adaptation),
                    Some(Ok(adaptation)) => adapting::begin_to_meet(adaptation),
                    // If it cannot be written, `wrap` finds no decisions and reports that.
                    Some(Err(error)) => drop(config.leave_note(rank, &error.to_string())),
                    None => {}
                }
            }
            Err(error) => leave_message(config, rank, &error.to_string()),
        }
    }));
}

/// The configuration for a separate world of ranks that recorded ranks spawned; `None` for the first world.
fn config_of_spawned(config: &WrapConfig, launched: Launched) -> Option<WrapConfig> {
    let launch = Launch::of(launched, variable);
    let is_own = launch.name == config.run;
    let spawned = (launch.is_spawned && !is_own).then(|| config.of_spawned(&launch.name))?;
    spawned.ok()
}

/// Whether the program has one rank.
fn is_alone(launched: Option<Launched>) -> bool {
    launched.is_none_or(|launched| launched.size == Some(1))
}

/// A number that identifies this thread.
fn thread() -> usize {
    // SAFETY: a number of the calling thread.
    unsafe { libc::pthread_self() as usize }
}

/// Makes a calling thread wait while another starts the recording, so that its call is recorded too. The wait has a
/// limit: the other may wait for this one, as when a library that is opened for `--use` starts threads.
fn wait_for_start() {
    const PATIENCE: Duration = Duration::from_secs(2);
    let begin = Instant::now();
    loop {
        let starter = STARTER.load(Ordering::Acquire);
        // A child that was forked meanwhile has no such thread.
        let is_child = STARTING_PROCESS.load(Ordering::Acquire) != std::process::id();
        // The same thread, in a call that the start of the recording makes.
        if starter == DONE
            || (starter != 0 && is_child)
            || starter == thread()
            || begin.elapsed() > PATIENCE
        {
            return;
        }
        yield_now();
    }
}

extern "C" fn begin_phase(level: c_int) {
    guest::run(|| {
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(wrapped) = running.as_mut().filter(|wrapped| wrapped.is_own_process()) {
            wrapped.begin_phase(level);
        }
    });
}

/// # Safety
/// The communicator has as many ranks as it says.
unsafe extern "C" fn know_communicator(_: *mut c_void, communicator: *const MpiCommunicator) {
    guest::run(|| {
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(wrapped) = running.as_mut().filter(|wrapped| wrapped.is_own_process()) {
            // SAFETY: required of the caller.
            unsafe { wrapped.know_communicator(&*communicator) };
        }
    });
}

/// # Safety
/// There are as many addresses as it says.
unsafe extern "C" fn know_stack(number: u64, addresses: *const usize, n: u64) -> u32 {
    let is_kept = guest::run(|| {
        // SAFETY: required of the caller.
        let addresses = unsafe { std::slice::from_raw_parts(addresses, n as usize) }.to_vec();
        let of_thread = addresses.clone();
        let note = move || Ok(started::note_stack(number, &of_thread));
        let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        // A forked child has no thread of ours before it records.
        match running.as_ref().and_then(|wrapped| wrapped.run_apart(note)) {
            Some(is_noted) => is_noted.unwrap_or(false),
            None => started::note_stack(number, &addresses),
        }
    });
    u32::from(is_kept.unwrap_or(false))
}

extern "C" fn end() {
    // Signals are not blocked: a user who ends a program that waits for its disk must succeed.
    guest::run_in_place(end_recording);
}

fn end_recording() {
    let _ = catch_unwind(|| {
        let postponed = N_POSTPONED.load(Ordering::Relaxed);
        if let (false, true, Some(asked)) = (
            IS_STARTED.load(Ordering::Acquire),
            postponed > 0,
            SETUP.get(),
        ) {
            leave_message(&asked.config, 0, &format!("{postponed} {POSTPONED}"));
        }
        // In a child, another thread of its parent may hold the lock for ever.
        if !is_recorded_process() {
            return;
        }
        let running = RUNNING
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        // A forked child that ends has nothing of its own to end.
        let Some(wrapped) = running.filter(Wrapped::is_own_process) else {
            return;
        };
        let rank = wrapped.rank();
        adapting::end();
        if let Some(asked) = SETUP.get() {
            asked.config.remark_unknown_abi(&asked.mpi, rank);
        }
        if let (Err(error), Some(asked)) = (wrapped.finish(), SETUP.get()) {
            leave_message(&asked.config, rank, &error.to_string());
        }
    });
}

/// Whether this is the process that a recording began in.
fn is_recorded_process() -> bool {
    STARTING_PROCESS.load(Ordering::Acquire) == std::process::id()
}

/// Ends a recording before the program does, and leaves the reason.
fn end_early(why: &str) {
    let rank = RUNNING
        .try_lock()
        .ok()
        .and_then(|running| running.as_ref().map(Wrapped::rank));
    if let (Some(rank), Some(asked)) = (rank, SETUP.get())
        && is_recorded_process()
    {
        // If it cannot be written, the records end there without a message.
        let _ = asked.config.leave_remark(rank, why);
        end();
    }
}

/// Makes the recording go on without the recorder's thread, while no other thread of the program runs.
///
/// # Returns
/// Whether that is possible; also true if no recording has begun.
fn go_on_without_thread() -> bool {
    let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    running.as_ref().is_none_or(Wrapped::go_on_without_thread)
}

/// The `errno` of the calling thread, restored at the end.
struct Errno(c_int);

impl Errno {
    fn keep() -> Self {
        // SAFETY: the calling thread's own word.
        Self(unsafe { *libc::__errno_location() })
    }
}

impl Drop for Errno {
    fn drop(&mut self) {
        // SAFETY: as above.
        unsafe { *libc::__errno_location() = self.0 };
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Leaves a message for `wrap`.
fn leave_message(config: &WrapConfig, rank: u32, message: &str) {
    if config.leave_message(rank, message).is_err() {
        started::note_refused(&config.message_file(rank).with_extension("refused"));
    }
}
