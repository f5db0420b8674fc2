//! LLVM's runtime, by the tools interface of OpenMP 5 (OMPT, `omp-tools.h`).
//!
//! The runtime looks up `ompt_start_tool` in the process and calls back at each construct. A program with a tool of its
//! own keeps it.
//!
//! A thread that waits runs tasks, in which it may wait again. So each thread has a stack of its waits and tasks; GCC's
//! runtime needs none, since there the calls themselves are on the thread's stack.

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use cca_abi::recording::{OPENMP_LLVM, OPENMP_OTHER_TOOL, OPENMP_SANITIZER};

use crate::names;
use crate::region::Region;
use crate::state;
use crate::sums::{self, Construct, Key, More};
use crate::thread::{self, Interrupted, Thread};

/// A word that the runtime keeps for the tool with each region and task (`ompt_data_t`).
type Data = *const Cell<u64>;

/// `ompt_start_tool_result_t`.
#[repr(C)]
pub struct Tool {
    initialize: extern "C" fn(Lookup, c_int, *mut u64) -> c_int,
    finalize: extern "C" fn(*mut u64),
    data: u64,
}

type Lookup = unsafe extern "C" fn(*const c_char) -> *const c_void;
type SetCallback = unsafe extern "C" fn(event: c_int, callback: *const c_void) -> c_int;
type StartTool = unsafe extern "C" fn(c_uint, *const c_char) -> *const Tool;

static TOOL: Tool = Tool {
    initialize,
    finalize,
    data: 0,
};

/// The runtime calls it to request a tool.
///
/// # Safety
/// `runtime` is a text of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ompt_start_tool(version: c_uint, runtime: *const c_char) -> *const Tool {
    let other = names::other_tool();
    if other != 0 {
        // SAFETY: another definition of this function, such as LLVM's own, which looks for the next one.
        let tool = unsafe {
            let other: StartTool = std::mem::transmute(other);
            other(version, runtime)
        };
        if !tool.is_null() {
            state::note(OPENMP_OTHER_TOOL);
            return tool;
        }
    }
    // SAFETY: texts of C; nothing changes the environment here.
    unsafe {
        let asked = libc::getenv(c"OMP_TOOL_LIBRARIES".as_ptr());
        if !asked.is_null() && *asked != 0 {
            state::note(OPENMP_OTHER_TOOL);
            return ptr::null();
        }
        // Without LLVM's own tool, ThreadSanitizer reports false races.
        if !libc::dlsym(libc::RTLD_DEFAULT, c"__tsan_init".as_ptr()).is_null() {
            state::note(OPENMP_SANITIZER);
            return ptr::null();
        }
    }
    &TOOL
}

extern "C" fn initialize(look_up: Lookup, _: c_int, _: *mut u64) -> c_int {
    let name: &CStr = c"ompt_set_callback";
    // SAFETY: the runtime's function, which takes a text of C.
    let set = unsafe { look_up(name.as_ptr()) };
    if set.is_null() {
        return 0;
    }
    find_runtime(set.addr());
    // SAFETY: the function of that name has this type.
    let set: SetCallback = unsafe { std::mem::transmute(set) };
    // Numbers of `ompt_callbacks_t`.
    let callbacks: [(c_int, *const c_void); 11] = [
        (2, thread_end as *const c_void),
        (3, parallel_begin as *const c_void),
        (4, parallel_end as *const c_void),
        (5, task_create as *const c_void),
        (6, task_schedule as *const c_void),
        (7, implicit_task as *const c_void),
        (16, sync_region_wait as *const c_void),
        (20, work as *const c_void),
        (26, mutex_acquire as *const c_void),
        (27, mutex_acquired as *const c_void),
        (32, dispatch as *const c_void),
    ];
    for (event, callback) in callbacks {
        // SAFETY: each callback has the type of its event. The runtime refuses an event that it does not have.
        unsafe { set(event, callback) };
    }
    1
}

/// From where to where the runtime is mapped.
static RUNTIME: (AtomicUsize, AtomicUsize) = (AtomicUsize::new(0), AtomicUsize::new(0));

/// Finds the mapping of the object that contains an address.
fn find_runtime(address: usize) {
    unsafe extern "C" fn visit(
        info: *mut libc::dl_phdr_info,
        _: libc::size_t,
        address: *mut c_void,
    ) -> c_int {
        // SAFETY: `dl_iterate_phdr` passes a description, as many headers as it declares, and the
        // address.
        let (base, headers, address) = unsafe {
            let info = &*info;
            let n = usize::from(info.dlpi_phnum);
            (
                info.dlpi_addr as usize,
                std::slice::from_raw_parts(info.dlpi_phdr, n),
                address.addr(),
            )
        };
        let loaded = headers
            .iter()
            .filter(|header| header.p_type == libc::PT_LOAD);
        let ends = loaded.map(|header| base + (header.p_vaddr + header.p_memsz) as usize);
        match ends.max() {
            Some(end) if (base..end).contains(&address) => {
                RUNTIME.0.store(base, Ordering::Relaxed);
                RUNTIME.1.store(end, Ordering::Relaxed);
                1
            }
            _ => 0,
        }
    }
    // SAFETY: `visit` gets its own argument type; it uses the address as a number.
    unsafe { libc::dl_iterate_phdr(Some(visit), ptr::without_provenance_mut(address)) };
}

/// Call site of a construct, from the address that the runtime passes. A function that ends with the call has left
/// already, and the address is one of the runtime, which called that function; then the call site is that of the
/// region.
fn call_site(thread: &Thread, address: *const c_void) -> usize {
    let runtime = RUNTIME.0.load(Ordering::Relaxed)..RUNTIME.1.load(Ordering::Relaxed);
    if !runtime.contains(&address.addr()) {
        return address.addr();
    }
    // SAFETY: null, or a place of a static table.
    let region = unsafe { thread.region.get().as_ref() };
    region.map_or(address.addr(), Region::site)
}

extern "C" fn finalize(_: *mut u64) {}

/// A thread's wait or task.
#[derive(Clone, Copy)]
struct Frame {
    /// The task: that runs, or that waits.
    task: Data,
    is_wait: bool,
    interrupted: Interrupted,
    begun: (u64, u64),
}

/// Frames of a thread. Tasks within tasks are as deep as the thread's stack allows; deeper ones are work of the last
/// frame.
const MAX_FRAMES: usize = 1 << 10;
const STACK_BYTES: usize = MAX_FRAMES * size_of::<Frame>();

/// The tasks and waits that a thread is in.
pub(crate) struct Tasks {
    /// Mapped at the first; the innermost is the last.
    frames: Cell<*mut Frame>,
    n_frames: Cell<usize>,
    /// The wait for a lock, and the call of it.
    mutex: Cell<Option<Interrupted>>,
}

impl Tasks {
    pub(crate) const fn new() -> Self {
        Self {
            frames: Cell::new(ptr::null_mut()),
            n_frames: Cell::new(0),
            mutex: Cell::new(None),
        }
    }

    fn push(&self, frame: Frame) -> bool {
        if self.frames.get().is_null() {
            self.frames.set(map());
        }
        let n = self.n_frames.get();
        if n == MAX_FRAMES || self.frames.get().is_null() {
            state::leave_out();
            return false;
        }
        // SAFETY: there is room for it, of this thread alone.
        unsafe { *self.frames.get().add(n) = frame };
        self.n_frames.set(n + 1);
        true
    }

    /// The innermost frame of a task, and its place.
    fn find(&self, task: Data, is_wait: bool) -> Option<(usize, Frame)> {
        // SAFETY: as many were written, by this thread.
        let frame = |place| unsafe { *self.frames.get().add(place) };
        let frames = (0..self.n_frames.get())
            .rev()
            .map(|place| (place, frame(place)));
        let is_meant = |frame: &Frame| frame.task == task && frame.is_wait == is_wait;
        let mut found = frames.filter(|(_, frame)| is_meant(frame));
        found.next()
    }

    /// Takes the innermost frame of a task, and those within it, which have ended without a word.
    fn take(&self, task: Data, is_wait: bool) -> Option<Frame> {
        let (place, frame) = self.find(task, is_wait)?;
        self.n_frames.set(place);
        Some(frame)
    }
}

/// Memory for the frames of a thread; null if there is none.
fn map() -> *mut Frame {
    // SAFETY: new memory; `errno` is the program's.
    unsafe {
        let errno = *libc::__errno_location();
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let memory = libc::mmap(ptr::null_mut(), STACK_BYTES, protection, flags, -1, 0);
        *libc::__errno_location() = errno;
        match memory {
            libc::MAP_FAILED => ptr::null_mut(),
            memory => memory.cast(),
        }
    }
}

extern "C" fn thread_end(_: Data) {
    thread::with(|thread| {
        let frames = thread.ompt.frames.replace(ptr::null_mut());
        thread.ompt.n_frames.set(0);
        if !frames.is_null() {
            // SAFETY: `map` returned it, and nothing else refers to it.
            unsafe { libc::munmap(frames.cast(), STACK_BYTES) };
        }
    });
}

/// The value that the tool has given; 0 for none.
fn value(data: Data) -> u64 {
    // SAFETY: null, or a word of the runtime that lives as long as the callback.
    unsafe { data.as_ref() }.map_or(0, Cell::get)
}

fn set_value(data: Data, value: u64) {
    // SAFETY: as above.
    if let Some(data) = unsafe { data.as_ref() } {
        data.set(value);
    }
}

/// The regions in progress have addresses as values.
fn region(parallel: Data) -> Option<&'static Region> {
    // SAFETY: 0, or the value of `parallel_begin`: a place in a static table.
    unsafe { (value(parallel) as *const Region).as_ref() }
}

/// `ompt_parallel_league`: teams of teams.
const LEAGUE: c_uint = 0x4000_0000;

extern "C" fn parallel_begin(
    _task: Data,
    _frame: *const c_void,
    parallel: Data,
    _requested: c_uint,
    flags: c_int,
    site: *const c_void,
) {
    set_value(parallel, 0);
    if flags.cast_unsigned() & LEAGUE != 0 || !state::begin() {
        return;
    }
    state::note(OPENMP_LLVM);
    let begin = |thread: &Thread| Region::begin(thread, call_site(thread, site), site.addr());
    if let Some(region) = thread::with(begin) {
        set_value(parallel, ptr::from_ref(region) as u64);
    }
}

extern "C" fn parallel_end(parallel: Data, _task: Data, _flags: c_int, _site: *const c_void) {
    if let Some(region) = region(parallel) {
        set_value(parallel, 0);
        thread::with(|thread| region.end(thread));
    }
}

/// `ompt_scope_begin`, and `ompt_scope_beginend`.
const BEGIN: c_int = 1;
const AT_ONCE: c_int = 3;
/// `ompt_task_implicit`, `ompt_task_explicit`.
const IMPLICIT: c_int = 2;
const EXPLICIT: c_int = 4;

extern "C" fn implicit_task(
    endpoint: c_int,
    parallel: Data,
    task: Data,
    n_threads: c_uint,
    number: c_uint,
    flags: c_int,
) {
    if flags & IMPLICIT == 0 {
        return;
    }
    // Such a thread is in nothing else. The runtime reports some barriers' begin only, or ends them for another task.
    if number != 0 {
        thread::with(|thread| thread.ompt.n_frames.set(0));
    }
    if endpoint == BEGIN {
        set_value(task, 0);
        if let Some(region) = region(parallel) {
            let (number, n_threads) = (number as usize, n_threads as usize);
            thread::with(|thread| region.enter(thread, number, n_threads));
        }
    } else if number != 0 {
        // The first thread's part ends with the region.
        thread::with(Thread::leave);
    }
}

/// Of an explicit task the call site, with a 1 behind it; 0 of others.
fn task_site(task: Data) -> Option<usize> {
    let value = value(task);
    (value & 1 == 1).then_some((value >> 1) as usize)
}

extern "C" fn task_create(
    _task: Data,
    _frame: *const c_void,
    new: Data,
    flags: c_int,
    _has_dependences: c_int,
    site: *const c_void,
) {
    if flags & EXPLICIT == 0 || !state::begin() {
        set_value(new, 0);
        return;
    }
    let site = thread::with(|thread| call_site(thread, site));
    set_value(new, (site as u64) << 1 | 1);
    let more = More {
        calls: 1,
        ..More::default()
    };
    sums::add(Key::of(Construct::Task, site), more);
}

/// Values of `ompt_task_status_t`: the task's code has ended.
const ENDED: [c_int; 3] = [1, 3, 4];

extern "C" fn task_schedule(prior: Data, status: c_int, next: Data) {
    if !state::is_on() {
        return;
    }
    let has_ended = ENDED.contains(&status);
    thread::with(|thread| {
        let is_left = has_ended || task_site(next).is_none();
        if let Some(site) = task_site(prior).filter(|_| is_left) {
            let frame = thread.ompt.take(prior, false);
            let ticks = frame.map_or(0, |frame| {
                let ticks = thread.end_task(frame.begun);
                thread.resume(frame.interrupted);
                ticks
            });
            let more = More {
                instances: u64::from(has_ended),
                ticks,
                ..More::default()
            };
            sums::add(Key::of(Construct::Task, site), more);
        }
        let is_new = task_site(next).is_some() && thread.ompt.find(next, false).is_none();
        if is_new {
            let interrupted = thread.interrupt();
            let is_kept = thread.ompt.push(Frame {
                task: next,
                is_wait: false,
                interrupted,
                begun: thread.begin_task(),
            });
            if !is_kept {
                thread.resume(interrupted);
            }
        }
    });
}

/// The construct of a place where threads wait; `None` if it is no construct of the program's.
fn waits_at(kind: c_int, is_end_of_region: bool) -> Option<Construct> {
    match kind {
        1 | 2 | 3 | 8 if !is_end_of_region => Some(Construct::Barrier),
        5 => Some(Construct::Taskwait),
        6 => Some(Construct::Taskgroup),
        _ => None,
    }
}

extern "C" fn sync_region_wait(
    kind: c_int,
    endpoint: c_int,
    _parallel: Data,
    task: Data,
    site: *const c_void,
) {
    if !state::is_on() || endpoint == AT_ONCE {
        return;
    }
    thread::with(|thread| {
        if endpoint == BEGIN {
            let interrupted = thread.begin_wait();
            let is_kept = thread.ompt.push(Frame {
                task,
                is_wait: true,
                interrupted,
                begun: (0, 0),
            });
            if !is_kept {
                thread.end_wait(interrupted);
            }
            return;
        }
        let Some(frame) = thread.ompt.take(task, true) else {
            return;
        };
        let waited = thread.end_wait(frame.interrupted);
        // SAFETY: null, or a place of a static table.
        let region = unsafe { thread.region.get().as_ref() };
        // Threads other than the first have no call site there, the first has the region's.
        let is_of_region = |region: &Region| region.returns_to() == site.addr();
        let is_end = site.is_null() || region.is_some_and(is_of_region);
        if let Some(construct) = waits_at(kind, is_end) {
            thread.add_wait(construct, call_site(thread, site), waited);
        }
    });
}

extern "C" fn work(
    kind: c_int,
    endpoint: c_int,
    _parallel: Data,
    _task: Data,
    _count: u64,
    site: *const c_void,
) {
    if !state::is_on() {
        return;
    }
    let site = thread::with(|thread| call_site(thread, site));
    let of_single = |instances| More {
        calls: 1,
        instances,
        ..More::default()
    };
    // Numbers of `ompt_work_t`; since OpenMP 5.2 loops have one by schedule.
    let construct = match kind {
        1 | 10..=13 => Construct::Loop,
        2 => Construct::Sections,
        3 if endpoint == BEGIN => {
            return sums::add(Key::of(Construct::Single, site), of_single(1));
        }
        4 if endpoint != 2 => return sums::add(Key::of(Construct::Single, site), of_single(0)),
        7 if endpoint == BEGIN => {
            return sums::add(Key::of(Construct::Taskloop, site), of_single(1));
        }
        _ => return,
    };
    thread::with(|thread| match endpoint {
        BEGIN => thread.begin_work(construct, site),
        _ => thread.end_work(),
    });
}

extern "C" fn dispatch(_parallel: Data, _task: Data, _kind: c_int, _instance: u64) {
    if state::is_on() {
        thread::with(|thread| thread.get_work(1));
    }
}

/// By `ompt_mutex_t`; attempts at a lock do not wait.
fn mutex(kind: c_int) -> Option<Construct> {
    match kind {
        1 | 3 => Some(Construct::Lock),
        5 => Some(Construct::Critical),
        6 => Some(Construct::Atomic),
        7 => Some(Construct::Ordered),
        _ => None,
    }
}

extern "C" fn mutex_acquire(
    kind: c_int,
    _hint: c_uint,
    _implementation: c_uint,
    _wait: u64,
    _site: *const c_void,
) {
    if state::is_on() && mutex(kind).is_some() {
        thread::with(|thread| thread.ompt.mutex.set(Some(thread.begin_wait())));
    }
}

extern "C" fn mutex_acquired(kind: c_int, _wait: u64, site: *const c_void) {
    let Some(construct) = mutex(kind).filter(|_| state::is_on()) else {
        return;
    };
    thread::with(|thread| {
        if let Some(interrupted) = thread.ompt.mutex.take() {
            let waited = thread.end_wait(interrupted);
            thread.add_wait(construct, call_site(thread, site), waited);
        }
    });
}
