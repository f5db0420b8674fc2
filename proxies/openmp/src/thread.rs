//! Current state of a thread: which region it takes part in, and whether it waits.
//!
//! # Work and waiting
//!
//! Every moment of a thread in a region is either waiting or work; work is what remains. A wait may
//! be interrupted: at a barrier the runtime has a thread run tasks, which are work, and a task may
//! wait again. The state is therefore a small stack in the callers: `begin_wait` and `interrupt`
//! return the earlier state, `end_wait` and `resume` take it back.
//!
//! ```text
//! barrier      |==wait==|            |==wait==|         waited = both, without the task
//! task                  |--work--|wait|               own time = without its wait
//!              begin    interrupt     resume  end
//! ```
//!
//! A region may end before a thread has noticed that its wait at the last barrier is over. The
//! region then ends the wait on its behalf: `Part::since` is cleared by whichever of the two comes
//! first, so the time is counted once.
//!
//! The state is a thread-local of plain cells: without a destructor, its first access needs no lock
//! of the dynamic linker.

use std::arch::naked_asm;
use std::cell::Cell;
use std::ptr;
use std::sync::atomic::Ordering;

use crate::region::{Part, Region};
use crate::state::now;
use crate::sums::{self, Construct, Key, More, Sum};

/// A thread of the program: the region and team it is in, and whether it works or waits at this
/// moment.
pub(crate) struct Thread {
    /// The region that it takes part in; null outside of all, and if there was no room for it.
    pub(crate) region: Cell<*const Region>,
    /// Its place there.
    pub(crate) part: Cell<*const Part>,
    /// Its number in the team; 0 outside of a region.
    pub(crate) number: Cell<usize>,
    /// Whether it waits.
    is_waiting: Cell<bool>,
    /// Since when.
    since: Cell<u64>,
    /// Waiting time so far at its current place, before a task interrupted the wait.
    waited: Cell<u64>,
    /// Time that its current task has spent on waiting and on other tasks.
    other: Cell<u64>,
    /// The loop or the like that it gets work of; null outside.
    work_sum: Cell<*const Sum>,
    /// Pieces of work that it got.
    items: Cell<u64>,
    /// The function of the region or task that it runs for GCC's runtime; 0 for none.
    pub(crate) function: Cell<usize>,
    pub(crate) ompt: crate::ompt::Tasks,
}

thread_local! {
    // Nothing to drop: the first access needs no lock of the dynamic linker.
    static THREAD: Thread = const {
        Thread {
            region: Cell::new(ptr::null()),
            part: Cell::new(ptr::null()),
            number: Cell::new(0),
            is_waiting: Cell::new(false),
            since: Cell::new(0),
            waited: Cell::new(0),
            other: Cell::new(0),
            work_sum: Cell::new(ptr::null()),
            items: Cell::new(0),
            function: Cell::new(0),
            ompt: crate::ompt::Tasks::new(),
        }
    };
}

/// Calls a function with the state of the calling thread.
#[inline(always)]
pub(crate) fn with<T>(act: impl FnOnce(&Thread) -> T) -> T {
    THREAD.with(act)
}

/// Runs a function of the program's, of a region or a task, in place of GCC's runtime.
///
/// # Safety
/// The function takes the data.
pub(crate) unsafe fn run(function: usize, data: usize) {
    let outer = with(|thread| thread.function.replace(function));
    // SAFETY: required of the caller.
    unsafe { call(data, function) };
    with(|thread| thread.function.set(outer));
}

/// Where a call comes from.
///
/// # Arguments
/// * `returns_to` - its return address. A function that ends with this call has left already, and the call returns to
///   that function's caller; then it is the begin of the function
#[inline(always)]
pub(crate) fn call_site(returns_to: usize) -> usize {
    if returns_to != &raw const proxy_openmp_behind_call as usize {
        return returns_to;
    }
    // Call sites are looked up by the byte before them.
    with(|thread| thread.function.get() + 1)
}

unsafe extern "C" {
    /// The code behind [`call`].
    static proxy_openmp_behind_call: u8;
}

/// Calls a function with data: the only place that functions of the program return to.
#[unsafe(naked)]
unsafe extern "C-unwind" fn call(_data: usize, _function: usize) {
    naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "call rsi",
        ".hidden proxy_openmp_behind_call",
        ".globl proxy_openmp_behind_call",
        "proxy_openmp_behind_call:",
        "pop rbp",
        ".cfi_def_cfa rsp, 8",
        "ret",
        ".cfi_endproc",
    )
}

/// A wait that is interrupted by a task, or by none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interrupted {
    was_waiting: bool,
    waited: u64,
}

impl Thread {
    fn part(&self) -> Option<&Part> {
        // SAFETY: null, or a place of a static table.
        unsafe { self.part.get().as_ref() }
    }

    /// Begins to wait.
    ///
    /// # Returns
    /// The thread's previous state, for [`Thread::end_wait`].
    pub(crate) fn begin_wait(&self) -> Interrupted {
        let before = self.interrupt();
        self.wait();
        before
    }

    /// Waits from now on.
    pub(crate) fn wait(&self) {
        let since = now();
        self.since.set(since);
        self.is_waiting.set(true);
        if let Some(part) = self.part() {
            part.since.store(since, Ordering::Relaxed);
        }
    }

    /// Ends a wait.
    ///
    /// # Returns
    /// How long it was, without tasks that ran meanwhile, ticks.
    pub(crate) fn end_wait(&self, before: Interrupted) -> u64 {
        self.stop_waiting();
        let waited = self.waited.get();
        self.resume(before);
        waited
    }

    /// Something else comes in between, if the thread waits.
    pub(crate) fn interrupt(&self) -> Interrupted {
        let was_waiting = self.is_waiting.get();
        self.stop_waiting();
        Interrupted {
            was_waiting,
            waited: self.waited.replace(0),
        }
    }

    /// The thread continues in its previous state.
    pub(crate) fn resume(&self, before: Interrupted) {
        self.waited.set(before.waited);
        if before.was_waiting {
            self.wait();
        }
    }

    /// Adds its wait since the latest reading to the sums of its waits.
    pub(crate) fn stop_waiting(&self) {
        if !self.is_waiting.replace(false) {
            return;
        }
        let since = self.since.get();
        let ticks = now().saturating_sub(since);
        if let Some(part) = self.part() {
            // The region may have ended meanwhile, and counted the time itself; its place may be another region's by now. Times at
            // which one begins to wait differ.
            let ended = part
                .since
                .compare_exchange(since, 0, Ordering::Relaxed, Ordering::Relaxed);
            if ended.is_err() {
                return;
            }
            part.wait_ticks.fetch_add(ticks, Ordering::Relaxed);
        }
        self.waited.set(self.waited.get() + ticks);
        self.other.set(self.other.get() + ticks);
    }

    /// The thread works from now on, whatever its previous state.
    pub(crate) fn work(&self) {
        self.is_waiting.set(false);
        self.waited.set(0);
    }

    /// The thread takes part in no region any more.
    pub(crate) fn leave(&self) {
        self.work();
        self.region.set(ptr::null());
        self.part.set(ptr::null());
        self.number.set(0);
    }

    /// Counts a construct in which the thread has waited.
    pub(crate) fn add_wait(&self, construct: Construct, site: usize, wait_ticks: u64) {
        let more = More {
            calls: 1,
            // All threads of a team come to a barrier.
            instances: u64::from(construct != Construct::Barrier || self.number.get() == 0),
            wait_ticks,
            ..More::default()
        };
        sums::add(Key::of(construct, site), more);
    }

    /// Begins to get work of a loop or of sections.
    pub(crate) fn begin_work(&self, construct: Construct, site: usize) {
        self.end_work();
        let Some(sum) = sums::sum(Key::of(construct, site)) else {
            return;
        };
        sum.add(More {
            calls: 1,
            instances: u64::from(self.number.get() == 0),
            ..More::default()
        });
        self.work_sum.set(sum);
    }

    /// Takes note of pieces of work.
    #[inline(always)]
    pub(crate) fn get_work(&self, items: u64) {
        self.items.set(self.items.get() + items);
    }

    /// Adds its work up.
    pub(crate) fn end_work(&self) {
        let items = self.items.replace(0);
        // SAFETY: null, or a place of a static table.
        if let Some(sum) = unsafe { self.work_sum.replace(ptr::null()).as_ref() } {
            sum.add(More {
                items,
                ..More::default()
            });
        }
    }

    /// Begins a task.
    ///
    /// # Returns
    /// Arguments of [`Thread::end_task`].
    pub(crate) fn begin_task(&self) -> (u64, u64) {
        (now(), self.other.replace(0))
    }

    /// Ends a task, or its run for the time being.
    ///
    /// # Returns
    /// Its time without waiting and without other tasks that ran meanwhile, ticks.
    pub(crate) fn end_task(&self, (begin, other_before): (u64, u64)) -> u64 {
        let all = now().saturating_sub(begin);
        let own = all.saturating_sub(self.other.get());
        self.other.set(other_before + all);
        own
    }
}
