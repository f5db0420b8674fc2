//! The entry points of GCC's runtime that a compiler calls.
//!
//! ```text
//! GOMP_barrier     mov eax, n        no function in Rust can read its return address, which is the call site: so the entry is assembler
//!                  jmp enter         keeps the six registers, with the other words behind them on the caller's stack
//!                    call measure    measures by the type of the entry, and calls the runtime's function with the same words
//! ```
//!
//! Each argument is one integer-class register or stack word, as in `libgomp_g.h` of GCC 13, so only the numbers of
//! words matter. Entries that only return something, and those for accelerators, are not here: calls of them go
//! straight to the runtime. So do `GOMP_doacross_wait` and similar functions, whose numbers of arguments vary.

use std::arch::naked_asm;
use std::ffi::c_void;
use std::ptr;

use cca_abi::recording::{OPENMP_GCC, OPENMP_OUTDATED};

use crate::names;
use crate::region::Region;
use crate::state;
use crate::sums::{self, Construct, Key, More};
use crate::tasks;
use crate::thread;
use Construct::{
    Atomic, Barrier, Critical, Loop, Ordered, Sections, Task, Taskgroup, Taskloop, Taskwait,
};

/// Measurement of an entry point.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// A region, which may begin a loop or sections with it. Words 0 and 1 are the function and its data.
    Parallel(Option<Construct>),
    /// The same; the runtime reads the first word of the data.
    ParallelReductions,
    /// Work begins to be handed out; the result says whether there is any.
    Start(Construct),
    /// More of it.
    Next,
    /// It is all done; the team waits for itself.
    End,
    EndWithoutWait,
    Wait(Construct),
    /// Waits within another construct, which counts.
    WaitWithin,
    /// Returns whether the calling thread is chosen.
    Single,
    /// Returns null if the calling thread is chosen; else waits for the data that the chosen thread
    /// publishes.
    SingleCopy,
    /// Word 0 is the function of the tasks.
    Tasks(Construct),
    /// Of compilers before GCC 4.9: the thread that begins a region calls its function itself.
    Outdated,
}
use Kind::{
    End, EndWithoutWait, Next, Outdated, Parallel, ParallelReductions, Single, SingleCopy, Start,
    Tasks, Wait, WaitWithin,
};

/// An entry point.
struct Entry {
    n_words: usize,
    kind: Kind,
}

macro_rules! entries {
    ($($name:ident, $n_words:literal, $kind:expr;)*) => {
        #[expect(non_camel_case_types, reason = "named as the functions are")]
        enum Code { $($name),* }

        const ENTRIES: &[Entry] = &[$(Entry { n_words: $n_words, kind: $kind }),*];

        /// Names of all, each with a zero at its end.
        pub(crate) const NAMES: &str = concat!($(stringify!($name), "\0"),*);
        pub(crate) const N_ENTRIES: usize = ENTRIES.len();

        $(
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            pub unsafe extern "C-unwind" fn $name() {
                naked_asm!("mov eax, {code}", "jmp {enter}", code = const Code::$name as usize, enter = sym enter)
            }
        )*
    };
}

entries! {
    GOMP_parallel, 4, Parallel(None);
    GOMP_parallel_reductions, 4, ParallelReductions;
    GOMP_parallel_loop_static, 8, Parallel(Some(Loop));
    GOMP_parallel_loop_dynamic, 8, Parallel(Some(Loop));
    GOMP_parallel_loop_guided, 8, Parallel(Some(Loop));
    GOMP_parallel_loop_nonmonotonic_dynamic, 8, Parallel(Some(Loop));
    GOMP_parallel_loop_nonmonotonic_guided, 8, Parallel(Some(Loop));
    GOMP_parallel_loop_runtime, 7, Parallel(Some(Loop));
    GOMP_parallel_loop_nonmonotonic_runtime, 7, Parallel(Some(Loop));
    GOMP_parallel_loop_maybe_nonmonotonic_runtime, 7, Parallel(Some(Loop));
    GOMP_parallel_sections, 5, Parallel(Some(Sections));
    GOMP_loop_static_start, 6, Start(Loop);
    GOMP_loop_dynamic_start, 6, Start(Loop);
    GOMP_loop_guided_start, 6, Start(Loop);
    GOMP_loop_nonmonotonic_dynamic_start, 6, Start(Loop);
    GOMP_loop_nonmonotonic_guided_start, 6, Start(Loop);
    GOMP_loop_runtime_start, 5, Start(Loop);
    GOMP_loop_nonmonotonic_runtime_start, 5, Start(Loop);
    GOMP_loop_maybe_nonmonotonic_runtime_start, 5, Start(Loop);
    GOMP_loop_ordered_static_start, 6, Start(Loop);
    GOMP_loop_ordered_dynamic_start, 6, Start(Loop);
    GOMP_loop_ordered_guided_start, 6, Start(Loop);
    GOMP_loop_ordered_runtime_start, 5, Start(Loop);
    GOMP_loop_doacross_static_start, 5, Start(Loop);
    GOMP_loop_doacross_dynamic_start, 5, Start(Loop);
    GOMP_loop_doacross_guided_start, 5, Start(Loop);
    GOMP_loop_doacross_runtime_start, 4, Start(Loop);
    GOMP_loop_start, 9, Start(Loop);
    GOMP_loop_ordered_start, 9, Start(Loop);
    GOMP_loop_doacross_start, 8, Start(Loop);
    GOMP_loop_static_next, 2, Next;
    GOMP_loop_dynamic_next, 2, Next;
    GOMP_loop_guided_next, 2, Next;
    GOMP_loop_runtime_next, 2, Next;
    GOMP_loop_nonmonotonic_dynamic_next, 2, Next;
    GOMP_loop_nonmonotonic_guided_next, 2, Next;
    GOMP_loop_nonmonotonic_runtime_next, 2, Next;
    GOMP_loop_maybe_nonmonotonic_runtime_next, 2, Next;
    GOMP_loop_ordered_static_next, 2, Next;
    GOMP_loop_ordered_dynamic_next, 2, Next;
    GOMP_loop_ordered_guided_next, 2, Next;
    GOMP_loop_ordered_runtime_next, 2, Next;
    GOMP_loop_ull_static_start, 7, Start(Loop);
    GOMP_loop_ull_dynamic_start, 7, Start(Loop);
    GOMP_loop_ull_guided_start, 7, Start(Loop);
    GOMP_loop_ull_nonmonotonic_dynamic_start, 7, Start(Loop);
    GOMP_loop_ull_nonmonotonic_guided_start, 7, Start(Loop);
    GOMP_loop_ull_runtime_start, 6, Start(Loop);
    GOMP_loop_ull_nonmonotonic_runtime_start, 6, Start(Loop);
    GOMP_loop_ull_maybe_nonmonotonic_runtime_start, 6, Start(Loop);
    GOMP_loop_ull_ordered_static_start, 7, Start(Loop);
    GOMP_loop_ull_ordered_dynamic_start, 7, Start(Loop);
    GOMP_loop_ull_ordered_guided_start, 7, Start(Loop);
    GOMP_loop_ull_ordered_runtime_start, 6, Start(Loop);
    GOMP_loop_ull_doacross_static_start, 5, Start(Loop);
    GOMP_loop_ull_doacross_dynamic_start, 5, Start(Loop);
    GOMP_loop_ull_doacross_guided_start, 5, Start(Loop);
    GOMP_loop_ull_doacross_runtime_start, 4, Start(Loop);
    GOMP_loop_ull_start, 10, Start(Loop);
    GOMP_loop_ull_ordered_start, 10, Start(Loop);
    GOMP_loop_ull_doacross_start, 8, Start(Loop);
    GOMP_loop_ull_static_next, 2, Next;
    GOMP_loop_ull_dynamic_next, 2, Next;
    GOMP_loop_ull_guided_next, 2, Next;
    GOMP_loop_ull_runtime_next, 2, Next;
    GOMP_loop_ull_nonmonotonic_dynamic_next, 2, Next;
    GOMP_loop_ull_nonmonotonic_guided_next, 2, Next;
    GOMP_loop_ull_nonmonotonic_runtime_next, 2, Next;
    GOMP_loop_ull_maybe_nonmonotonic_runtime_next, 2, Next;
    GOMP_loop_ull_ordered_static_next, 2, Next;
    GOMP_loop_ull_ordered_dynamic_next, 2, Next;
    GOMP_loop_ull_ordered_guided_next, 2, Next;
    GOMP_loop_ull_ordered_runtime_next, 2, Next;
    GOMP_sections_start, 1, Start(Sections);
    GOMP_sections2_start, 3, Start(Sections);
    GOMP_sections_next, 0, Next;
    GOMP_loop_end, 0, End;
    GOMP_loop_end_cancel, 0, End;
    GOMP_sections_end, 0, End;
    GOMP_sections_end_cancel, 0, End;
    GOMP_loop_end_nowait, 0, EndWithoutWait;
    GOMP_sections_end_nowait, 0, EndWithoutWait;
    GOMP_barrier, 0, Wait(Barrier);
    GOMP_barrier_cancel, 0, Wait(Barrier);
    GOMP_single_start, 0, Single;
    GOMP_single_copy_start, 0, SingleCopy;
    GOMP_single_copy_end, 1, WaitWithin;
    GOMP_workshare_task_reduction_unregister, 1, Wait(Barrier);
    GOMP_taskwait, 0, Wait(Taskwait);
    GOMP_taskwait_depend, 1, Wait(Taskwait);
    GOMP_taskgroup_end, 0, Wait(Taskgroup);
    GOMP_critical_start, 0, Wait(Critical);
    GOMP_critical_name_start, 1, Wait(Critical);
    GOMP_atomic_start, 0, Wait(Atomic);
    GOMP_ordered_start, 0, Wait(Ordered);
    GOMP_task, 10, Tasks(Task);
    GOMP_taskloop, 11, Tasks(Taskloop);
    GOMP_taskloop_ull, 11, Tasks(Taskloop);
    GOMP_parallel_start, 3, Outdated;
    GOMP_parallel_loop_static_start, 7, Outdated;
    GOMP_parallel_loop_dynamic_start, 7, Outdated;
    GOMP_parallel_loop_guided_start, 7, Outdated;
    GOMP_parallel_loop_runtime_start, 6, Outdated;
    GOMP_parallel_sections_start, 4, Outdated;
}

/// Words of the entry with the most.
const MAX_WORDS: usize = 11;
/// Words that are passed in registers.
const N_REGISTERS: usize = 6;

/// Passes a call on to [`measure`]: the number of its entry is in `eax`, all else is as the caller left it.
#[unsafe(naked)]
unsafe extern "C-unwind" fn enter() {
    naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "sub rsp, {room}",
        "mov [rsp], rdi",
        "mov [rsp + 8], rsi",
        "mov [rsp + 16], rdx",
        "mov [rsp + 24], rcx",
        "mov [rsp + 32], r8",
        "mov [rsp + 40], r9",
        "mov edi, eax",
        "mov rsi, rsp",
        "lea rdx, [rbp + 16]",
        "mov rcx, [rbp + 8]",
        "call {measure}",
        "leave",
        ".cfi_def_cfa rsp, 8",
        "ret",
        ".cfi_endproc",
        measure = sym measure,
        room = const size_of::<usize>() * N_REGISTERS,
    )
}

/// A call in progress.
struct Call {
    code: usize,
    words: [usize; MAX_WORDS],
    /// The address that it returns to.
    site: usize,
}

impl Call {
    /// Calls the runtime's function with the words.
    ///
    /// # Safety
    /// The words are those of the caller, or replace them.
    unsafe fn go_on(&self) -> usize {
        let target = names::target(self.code);
        let [a, b, c, d, e, f, g, h, i, j, k] = self.words;
        type W = usize;
        // SAFETY: required of the caller. A function without an argument for a register or word does not read it.
        unsafe {
            if ENTRIES[self.code].n_words <= N_REGISTERS {
                let target: unsafe extern "C-unwind" fn(W, W, W, W, W, W) -> W =
                    std::mem::transmute(target);
                return target(a, b, c, d, e, f);
            }
            type All = unsafe extern "C-unwind" fn(W, W, W, W, W, W, W, W, W, W, W) -> W;
            let target: All = std::mem::transmute(target);
            target(a, b, c, d, e, f, g, h, i, j, k)
        }
    }
}

/// Measures a call according to the type of its entry.
///
/// # Safety
/// `registers` and `stack` are where its words are.
unsafe extern "C-unwind" fn measure(
    code: u32,
    registers: *const usize,
    stack: *const usize,
    site: usize,
) -> usize {
    let (code, site) = (code as usize, thread::call_site(site));
    let Entry { n_words, kind } = ENTRIES[code];
    let mut words = [0; MAX_WORDS];
    for (place, word) in words.iter_mut().enumerate().take(n_words) {
        // SAFETY: required of the caller, which passes as many.
        *word = unsafe {
            match place.checked_sub(N_REGISTERS) {
                None => *registers.add(place),
                Some(behind) => *stack.add(behind),
            }
        };
    }
    let mut call = Call { code, words, site };
    if !state::begin() {
        // SAFETY: the caller's words.
        return unsafe { call.go_on() };
    }
    state::note(OPENMP_GCC);
    // SAFETY: as above; the replacements made by `measure_parallel` and the stubs are equivalent.
    unsafe {
        match kind {
            Parallel(work) => return measure_parallel(call, work, false),
            ParallelReductions => return measure_parallel(call, None, true),
            Tasks(construct) => {
                call.words[0] = tasks::stub(construct, call.words[0], site);
                let more = More {
                    calls: 1,
                    // Of tasks those that run are counted.
                    instances: u64::from(construct == Taskloop),
                    ..More::default()
                };
                sums::add(Key::of(construct, site), more);
                return call.go_on();
            }
            Outdated => {
                state::note(OPENMP_OUTDATED);
                return call.go_on();
            }
            Start(_) | Next | EndWithoutWait | Single => {}
            End | Wait(_) | WaitWithin | SingleCopy => return measure_wait(&call, kind),
        }
        if matches!(kind, EndWithoutWait) {
            thread::with(|thread| thread.end_work());
        }
        let result = call.go_on();
        // A `bool` is the lowest byte of its register.
        let has_work = u64::from(result as u8 != 0);
        match kind {
            Start(construct) => thread::with(|thread| {
                thread.begin_work(construct, site);
                thread.get_work(has_work);
            }),
            Next => thread::with(|thread| thread.get_work(has_work)),
            Single => add_single(site, has_work, 0),
            _ => {}
        }
        result
    }
}

fn add_single(site: usize, instances: u64, wait_ticks: u64) {
    let more = More {
        calls: 1,
        instances,
        wait_ticks,
        ..More::default()
    };
    sums::add(Key::of(Construct::Single, site), more);
}

/// # Safety
/// The words are the caller's.
unsafe fn measure_wait(call: &Call, kind: Kind) -> usize {
    let before = thread::with(|thread| {
        if matches!(kind, End) {
            thread.end_work();
        }
        thread.begin_wait()
    });
    // SAFETY: required of the caller.
    let result = unsafe { call.go_on() };
    thread::with(|thread| {
        let wait_ticks = thread.end_wait(before);
        match kind {
            End => thread.add_wait(Barrier, call.site, wait_ticks),
            Wait(construct) => thread.add_wait(construct, call.site, wait_ticks),
            SingleCopy => add_single(call.site, u64::from(result == 0), wait_ticks),
            _ => {}
        }
    });
    result
}

/// Data that the threads of a team get in place of the region's.
#[repr(C)]
struct Team {
    /// The first word of the data, where the runtime reads it.
    first: usize,
    function: usize,
    data: usize,
    region: &'static Region,
    work: Option<Construct>,
}

/// # Safety
/// The words are the caller's.
unsafe fn measure_parallel(mut call: Call, work: Option<Construct>, reads_data: bool) -> usize {
    let Some(region) = thread::with(|thread| Region::begin(thread, call.site, call.site)) else {
        // SAFETY: required of the caller.
        return unsafe { call.go_on() };
    };
    let data = call.words[1];
    let team = Team {
        first: match reads_data {
            // SAFETY: the runtime reads it too.
            true => unsafe { *(data as *const usize) },
            false => 0,
        },
        function: call.words[0],
        data,
        region,
        work,
    };
    call.words[0] = run_part as *const () as usize;
    call.words[1] = ptr::from_ref(&team) as usize;
    // SAFETY: the team is there until all threads have come back, and its function calls the region's with the region's data.
    let result = unsafe { call.go_on() };
    thread::with(|thread| region.end(thread));
    result
}

/// Function that a thread of a team runs in place of the region's.
///
/// # Safety
/// The runtime calls it with the data from [`measure_parallel`], which has not returned.
unsafe extern "C-unwind" fn run_part(team: *const c_void) {
    // SAFETY: required of the caller.
    let team = unsafe { &*team.cast::<Team>() };
    let (region, function, data) = (team.region, team.function, team.data);
    let (number, n_threads) = names::thread_number();
    thread::with(|thread| {
        region.enter(thread, number, n_threads);
        if let Some(work) = team.work {
            thread.begin_work(work, region.site());
        }
    });
    // SAFETY: as the runtime would call it.
    unsafe { thread::run(function, data) };
    thread::with(|thread| {
        thread.end_work();
        thread.wait();
    });
}
