//! `MPI_Pcontrol`: the program announces to the measuring tool that a part of it begins.
//!
//! Not among the functions of `functions.txt`: it is variadic. In the calling convention of x86-64 a function that takes the words of
//! all registers gets those that a variadic one would.
//!
//! # Decisions
//!
//! `MPI_Pcontrol` drops nothing: each call begins a phase, which `profile --mpi` shows by its level
//! (1 before the first), with its time in MPI; 0 switches nothing off, 2 and more reset nothing.
//! Totals at each call are in the log, so phases need no record of a call. The proxy reads only
//! arguments that MPI reads: `MPI_IN_PLACE` makes the count and datatype of a side meaningless.
//! Such calls are methods of class `MPI`: in `fit` and in exports like any other, but transparent
//! to exclusive time, workload and profile, so that a component's own time is the same whether they
//! are recorded or not.

use std::ffi::c_int;
use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::call::thread_state;
use crate::target::Target;

/// Receiver of phases; null for none.
static CALLBACK: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());

static TARGET: Target = Target::new(c"MPI_Pcontrol", c"PMPI_Pcontrol");
/// The functions for Fortran; a library may give meaning to the calls of one language only.
static IN_FORTRAN: Target = Target::new(c"mpi_pcontrol_", c"pmpi_pcontrol_");
static IN_F08: Target = Target::new(c"mpi_pcontrol_f08_", c"pmpi_pcontrol_f08_");

/// From now on `callback` is called at each call of `MPI_Pcontrol`.
pub(crate) fn on_pcontrol(callback: Option<extern "C" fn(level: c_int)>) {
    let address = callback.map_or(ptr::null_mut(), |callback| callback as *mut ());
    CALLBACK.store(address, Ordering::Release);
}

/// Reports a call, and does not count calls that `go_on` makes: MPI's function for Fortran may call the one for C.
fn report<T>(level: c_int, go_on: impl FnOnce() -> T) -> T {
    // SAFETY: it lives until the thread has ended.
    let state = unsafe { &*thread_state() };
    if state.is_outermost() {
        report_outermost(level);
    }
    state.within(go_on)
}

fn report_outermost(level: c_int) {
    let callback = CALLBACK.load(Ordering::Acquire);
    if !callback.is_null() {
        // SAFETY: `on_pcontrol` stored such a function there.
        let callback: extern "C" fn(c_int) = unsafe { mem::transmute(callback) };
        callback(level);
    }
}

/// Reports the call and passes it on.
///
/// Not the exported function itself: a call of that would be bound by its name, which the library does not have where `proxy-audit`
/// has taken the names away that the program's MPI lacks.
///
/// # Safety
/// As required by `MPI_Pcontrol`.
unsafe fn passed_on(level: c_int, [b, c, d, e, f]: [usize; 5]) -> c_int {
    type Function = unsafe extern "C-unwind" fn(c_int, usize, usize, usize, usize, usize) -> c_int;
    let Some(target) = TARGET.known() else {
        return report(level, || 0);
    };
    report(level, || {
        // SAFETY: the function takes a number and any words.
        unsafe {
            let target: Function = mem::transmute(target);
            target(level, b, c, d, e, f)
        }
    })
}

/// `int MPI_Pcontrol(const int level, ...)`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn MPI_Pcontrol(
    level: c_int,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> c_int {
    // SAFETY: required of the caller.
    unsafe { passed_on(level, [b, c, d, e, f]) }
}

/// # Safety
/// `level` is the address of an integer.
unsafe fn from_fortran(level: *const c_int, error: usize, target: &Target) {
    // SAFETY: required of the caller.
    let number = unsafe { level.read() };
    let Some(target) = target.known() else {
        // SAFETY: any words will do.
        unsafe { passed_on(number, [0; 5]) };
        return;
    };
    report(number, || {
        // SAFETY: the function takes the address of a number, and MPICH's for `mpi_f08` a second one, or null.
        unsafe {
            let target: unsafe extern "C-unwind" fn(*const c_int, usize) = mem::transmute(target);
            target(level, error);
        }
    });
}

/// `SUBROUTINE MPI_PCONTROL(LEVEL)`, which has no error code in the standard.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mpi_pcontrol_(level: *const c_int, error: usize) {
    // SAFETY: Fortran passes the address.
    unsafe { from_fortran(level, error, &IN_FORTRAN) };
}

/// The same of `mpi_f08`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mpi_pcontrol_f08_(level: *const c_int, error: usize) {
    // SAFETY: Fortran passes the address.
    unsafe { from_fortran(level, error, &IN_F08) };
}
