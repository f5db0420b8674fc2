//! The current action of a library's code, which is reported if the code ends the process instead.

use std::cell::Cell;
use std::ptr;

thread_local! {
    /// The innermost of this thread; null if none. Without an initialiser or a destructor, so that a signal handler may
    /// read it.
    static CURRENT: Cell<*const ActivityGuard> = const { Cell::new(ptr::null()) };
}

/// While it lives, this thread runs code of a library for an action; dropping it restores the action
/// before.
pub(crate) struct ActivityGuard {
    text: String,
    outer: *const ActivityGuard,
}

/// From now on this thread has the code of a library do something, such as `open library "…"`.
pub(crate) fn begin(text: String) -> Box<ActivityGuard> {
    let outer = CURRENT.get();
    let guard = Box::new(ActivityGuard { text, outer });
    CURRENT.set(&raw const *guard);
    guard
}

impl Drop for ActivityGuard {
    fn drop(&mut self) {
        CURRENT.set(self.outer);
    }
}

/// The action that this thread has a library's code do, such as `open library "…"`, if there is one.
pub fn activity() -> Option<String> {
    with_text(str::to_owned)
}

/// As [`activity`], without making anything: for a signal handler.
pub(crate) fn with_text<T>(use_text: impl FnOnce(&str) -> T) -> Option<T> {
    // SAFETY: guards are boxed and leave the cell when they are dropped, in the reverse order of their making, all in this
    // thread; the text is used during this call only.
    let guard = unsafe { CURRENT.get().as_ref() };
    guard.map(|guard| use_text(&guard.text))
}
