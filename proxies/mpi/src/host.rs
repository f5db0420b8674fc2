//! Functions that the program that loads this library calls.

use std::ffi::{c_char, c_int, c_void};
use std::ptr;

use cca_abi::recording::{
    ClockFunction, MpiCallSumCallback, MpiCommunicatorCallback, MpiMeetingCallback,
    MpiProxyFunctions, MpiStackCallback, Recorder,
};

use crate::totals;
use crate::wrappers::NAMES;
use crate::{abi, call, event, facts, meeting, phase, stack, sums, target};

static FUNCTIONS: MpiProxyFunctions = MpiProxyFunctions {
    size: size_of::<MpiProxyFunctions>() as u64,
    set_clock,
    attach,
    totals: function_totals,
    functions,
    record_events,
    before_first_call,
    on_pcontrol,
    on_communicator,
    on_stack,
    on_meeting,
    unknown_abi,
    sum_calls,
    call_sums,
};

/// The entry point, [`cca_abi::recording::MpiProxyEntry`].
#[unsafe(no_mangle)]
pub extern "C" fn proxy_mpi_v5() -> *const MpiProxyFunctions {
    &raw const FUNCTIONS
}

extern "C" fn set_clock(clock: Option<ClockFunction>) {
    call::set_clock(clock);
}

unsafe extern "C" fn attach(recorder: *const Recorder) -> u32 {
    // SAFETY: null, or a recorder that lives until it is detached.
    let fits = unsafe { recorder.as_ref() }.is_none_or(|recorder| recorder.check_version().is_ok());
    event::record(&[], 0, false);
    event::sum(false);
    sums::forget();
    call::attach(if fits { recorder } else { ptr::null() });
    u32::from(fits)
}

extern "C" fn function_totals(
    out: *mut c_void,
    each: extern "C" fn(out: *mut c_void, name: *const c_char, calls: u64, ticks: u64),
) {
    for (name, (calls, ticks)) in NAMES.iter().zip(totals::sums()) {
        if calls > 0 {
            each(out, name.as_ptr(), calls, ticks);
        }
    }
}

extern "C" fn functions(
    out: *mut c_void,
    each: extern "C" fn(out: *mut c_void, name: *const c_char),
) {
    for name in NAMES {
        each(out, name.as_ptr());
    }
}

unsafe extern "C" fn record_events(
    ids: *const u32,
    n: u64,
    call_sites: u32,
    processor_time: u32,
) -> u32 {
    if ids.is_null() || n == 0 {
        return u32::from(event::record(&[], 0, false));
    }
    // SAFETY: the caller passes that many.
    let ids = unsafe { std::slice::from_raw_parts(ids, n as usize) };
    u32::from(event::record(ids, call_sites, processor_time != 0))
}

extern "C" fn on_pcontrol(callback: Option<extern "C" fn(level: c_int)>) {
    phase::on_pcontrol(callback);
}

extern "C" fn on_communicator(context: *mut c_void, callback: Option<MpiCommunicatorCallback>) {
    facts::on_communicator(context, callback);
}

extern "C" fn on_stack(callback: Option<MpiStackCallback>) {
    stack::on_stack(callback);
}

extern "C" fn on_meeting(callback: Option<MpiMeetingCallback>) {
    meeting::on_meeting(callback);
}

extern "C" fn sum_calls(are_summed: u32) {
    event::sum(are_summed != 0);
}

extern "C" fn call_sums(out: *mut c_void, each: MpiCallSumCallback) {
    let name = |function: usize| NAMES[function].as_ptr();
    // SAFETY: `each` is called with its own argument types.
    sums::each(name, |sum| unsafe { each(out, sum) });
}

extern "C" fn unknown_abi() -> *const c_char {
    abi::unknown_name()
}

extern "C" fn before_first_call(callback: Option<extern "C" fn()>) {
    target::before_first_call(callback);
}
