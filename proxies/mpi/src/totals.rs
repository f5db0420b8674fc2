//! Calls and time of each MPI function for which no log has a place: summed in each thread, and added up when they are
//! requested.

use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cca_abi::recording::MpiTotal;

use crate::call::forget_totals;
use crate::wrappers::N_FUNCTIONS;

/// The totals of a thread, and of those before it that had the same ones. Written by that thread only.
pub(crate) struct Totals {
    functions: [MpiTotal; N_FUNCTIONS],
}

impl Totals {
    const fn new() -> Self {
        Self {
            functions: [const { MpiTotal::new() }; N_FUNCTIONS],
        }
    }

    pub(crate) fn of(&self, function: u32) -> Option<&MpiTotal> {
        self.functions.get(function as usize)
    }
}

/// All totals, and those whose thread has ended.
struct Pool {
    all: Vec<&'static Totals>,
    free: Vec<&'static Totals>,
}

static POOL: Mutex<Pool> = Mutex::new(Pool {
    all: Vec::new(),
    free: Vec::new(),
});

fn pool() -> MutexGuard<'static, Pool> {
    POOL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives the totals back when its thread ends.
struct Return(&'static Totals);

impl Drop for Return {
    fn drop(&mut self) {
        forget_totals();
        pool().free.push(self.0);
    }
}

thread_local! {
    static RETURN: std::cell::Cell<Option<Return>> = const { std::cell::Cell::new(None) };
}

/// Totals for the calling thread: reused from a thread that has ended, or new ones.
pub(crate) fn thread_totals() -> &'static Totals {
    let totals = {
        let mut pool = pool();
        pool.free.pop().unwrap_or_else(|| {
            let totals: &'static Totals = Box::leak(Box::new(Totals::new()));
            pool.all.push(totals);
            totals
        })
    };
    // In a thread that is ending they stay its own for ever.
    let _ = RETURN.try_with(|own| own.set(Some(Return(totals))));
    totals
}

/// Calls and ticks of each function, over all threads so far.
pub(crate) fn sums() -> Vec<(u64, u64)> {
    let mut sums = vec![(0u64, 0u64); N_FUNCTIONS];
    for totals in &pool().all {
        for (sum, total) in sums.iter_mut().zip(&totals.functions) {
            sum.0 = sum.0.wrapping_add(total.calls.load(Ordering::Relaxed));
            sum.1 = sum.1.wrapping_add(total.ticks.load(Ordering::Relaxed));
        }
    }
    sums
}
