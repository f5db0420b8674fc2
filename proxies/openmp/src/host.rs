//! Functions that the program that loads this library calls.

use std::ffi::c_void;

use cca_abi::recording::{
    ClockFunction, OpenMpFacts, OpenMpProxyFunctions, OpenMpStartCallback, OpenMpSumCallback,
};

use crate::{region, state, sums};

static FUNCTIONS: OpenMpProxyFunctions = OpenMpProxyFunctions {
    size: size_of::<OpenMpProxyFunctions>() as u64,
    before_first_call,
    measure,
    finish,
};

/// The entry point, [`cca_abi::recording::OpenMpProxyEntry`].
#[unsafe(no_mangle)]
pub extern "C" fn proxy_openmp_v1() -> *const OpenMpProxyFunctions {
    &raw const FUNCTIONS
}

extern "C" fn before_first_call(callback: Option<OpenMpStartCallback>) {
    state::before_first_call(callback);
}

extern "C" fn measure(clock: Option<ClockFunction>) {
    state::turn_on(clock);
}

extern "C" fn finish(out: *mut c_void, each: OpenMpSumCallback) -> OpenMpFacts {
    state::turn_off();
    let open_regions = region::add_open();
    // SAFETY: `each` is called with its own argument types.
    sums::each(|sum| unsafe { each(out, sum) });
    OpenMpFacts {
        seen: state::seen(),
        open_regions,
        left_out: state::n_left_out(),
        in_children: state::n_in_children(),
    }
}
