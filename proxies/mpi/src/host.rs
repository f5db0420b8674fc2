//! What the program that loads this library calls.

use std::ffi::{c_char, c_void};
use std::ptr;

use cca_abi::recording::{ClockFunction, MpiProxyFunctions, Recorder};

use crate::call;
use crate::totals::sums;
use crate::wrappers::NAMES;

static FUNCTIONS: MpiProxyFunctions = MpiProxyFunctions {
    size: size_of::<MpiProxyFunctions>() as u64,
    set_clock,
    attach,
    totals,
};

/// The entry point, [`cca_abi::recording::MpiProxyEntry`].
#[unsafe(no_mangle)]
pub extern "C" fn proxy_mpi_v1() -> *const MpiProxyFunctions {
    &raw const FUNCTIONS
}

extern "C" fn set_clock(clock: Option<ClockFunction>) {
    call::set_clock(clock);
}

unsafe extern "C" fn attach(recorder: *const Recorder) -> u32 {
    // SAFETY: null, or a recorder that lives until it is detached.
    let fits = unsafe { recorder.as_ref() }.is_none_or(|recorder| recorder.check_version().is_ok());
    call::attach(if fits { recorder } else { ptr::null() });
    u32::from(fits)
}

extern "C" fn totals(
    out: *mut c_void,
    each: extern "C" fn(out: *mut c_void, name: *const c_char, calls: u64, ticks: u64),
) {
    for (name, (calls, ticks)) in NAMES.iter().zip(sums()) {
        if calls > 0 {
            each(out, name.as_ptr(), calls, ticks);
        }
    }
}
