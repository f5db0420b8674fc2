//! Call sites of several callers: each stack that occurs has a number, and is reported once.

use std::collections::HashMap;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use cca_abi::recording::{MPI_STACK, MpiStackCallback};

/// Deepest stack.
const MAX_DEPTH: usize = 64;
/// Maximum number of calls between the program's function and this one: those of this library.
const MAX_OWN: usize = 16;
/// Maximum number of stacks that are reported; calls from others are recorded with their return
/// address.
const MAX_STACKS: usize = 1 << 16;

static DEPTH: AtomicUsize = AtomicUsize::new(1);
static CALLBACK: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());

type Numbers = HashMap<Box<[usize]>, u64>;

fn numbers() -> &'static Mutex<Numbers> {
    static NUMBERS: OnceLock<Mutex<Numbers>> = OnceLock::new();
    NUMBERS.get_or_init(Mutex::default)
}

/// Sets the depth of stacks.
pub(crate) fn set_depth(n: u32) {
    DEPTH.store((n as usize).clamp(1, MAX_DEPTH), Ordering::Relaxed);
}

/// From now on `callback` is called with each stack that is found.
pub(crate) fn on_stack(callback: Option<MpiStackCallback>) {
    let address = callback.map_or(ptr::null_mut(), |callback| callback as *mut ());
    CALLBACK.store(address, Ordering::Release);
}

/// The number of the stack that the calling thread's call is made from.
///
/// # Arguments
/// * `site` - the address that the call returns to
///
/// # Returns
/// That address, if there is no number more.
#[cold]
#[inline(never)]
pub(crate) fn number(site: usize) -> usize {
    // No panic goes into the program.
    let found = catch_unwind(AssertUnwindSafe(|| {
        let mut frames = [ptr::null_mut::<c_void>(); MAX_DEPTH + MAX_OWN];
        // SAFETY: there is room for as many addresses as passed.
        let n = unsafe { libc::backtrace(frames.as_mut_ptr(), frames.len() as i32) };
        let frames: Vec<usize> = frames
            .iter()
            .take(n.max(0) as usize)
            .map(|frame| frame.addr())
            .collect();
        let own = frames.iter().position(|frame| *frame == site);
        let depth = DEPTH.load(Ordering::Relaxed);
        let stack: Vec<usize> = match own {
            Some(own) => frames[own..].iter().copied().take(depth).collect(),
            // The object has no information on its stack.
            None => vec![site],
        };
        known(&stack)
    }));
    match found {
        Ok(Some(number)) => number as usize,
        _ => site,
    }
}

fn known(stack: &[usize]) -> Option<u64> {
    let mut numbers = numbers().lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(number) = numbers.get(stack) {
        return Some(*number);
    }
    if numbers.len() == MAX_STACKS {
        return None;
    }
    let number = MPI_STACK | numbers.len() as u64;
    let callback = CALLBACK.load(Ordering::Acquire);
    if callback.is_null() {
        return None;
    }
    // SAFETY: `on_stack` stored such a function there; its arguments are valid as long as the call
    // lasts.
    let is_kept = unsafe {
        let callback: MpiStackCallback = std::mem::transmute(callback);
        callback(number, stack.as_ptr(), stack.len() as u64) != 0
    };
    is_kept.then(|| {
        numbers.insert(stack.into(), number);
        number
    })
}
