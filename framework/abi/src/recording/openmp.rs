//! Functions that the proxy of OpenMP offers to the program that loads it.

use std::ffi::{c_char, c_void};

use super::ClockFunction;

/// Name of the function that the proxy of OpenMP exports.
pub const OPENMP_PROXY_SYMBOL: &str = "proxy_openmp_v1";

/// The type of that function; it returns null where OpenMP cannot be measured on this processor.
pub type OpenMpProxyEntry = extern "C" fn() -> *const OpenMpProxyFunctions;

/// Totals of constructs of one type from one call site; for parallel regions also the part of one thread of the team.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct OpenMpSum {
    /// The directive: `parallel`, `loop`, `barrier`, `task`, …
    pub construct: *const c_char,
    /// The address that the calls return to.
    pub site: u64,
    /// Number of the thread in its team, whose part in regions this is; −1 for the constructs as a whole.
    pub thread: i32,
    /// Not 0 for regions within others.
    pub is_nested: u32,
    /// How often threads came to it; of regions and tasks how many there were.
    pub calls: u64,
    /// How many there were, however many threads came to each; of tasks how many ran.
    pub instances: u64,
    /// Time in clock ticks. Region: from begin to end. Part of a thread: from its arrival to the end of the region.
    /// Task: its own work, without waiting and without other tasks.
    pub ticks: u64,
    /// Time that threads waited, without tasks that they ran meanwhile, clock ticks.
    pub wait_ticks: u64,
    /// Of a thread's part the time from the begin of regions until it came, clock ticks.
    pub start_ticks: u64,
    /// Threads of the teams of regions; pieces of work that threads got of loops and sections.
    pub items: u64,
}

impl OpenMpSum {
    /// No calls.
    pub const NONE: Self = Self {
        construct: c"".as_ptr(),
        site: 0,
        thread: -1,
        is_nested: 0,
        calls: 0,
        instances: 0,
        ticks: 0,
        wait_ticks: 0,
        start_ticks: 0,
        items: 0,
    };
}

/// State that is needed in addition to the sums.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct OpenMpFacts {
    /// [`OPENMP_GCC`] and the like.
    pub seen: u32,
    /// Regions that were in progress when the measurement ended; their sums contain the part until then.
    pub open_regions: u64,
    /// Sums, regions, threads and functions of tasks that there was no room for.
    pub left_out: u64,
    /// Constructs in processes that were forked, which are in no sum.
    pub in_children: u64,
}

/// Constructs of GCC's runtime were measured.
pub const OPENMP_GCC: u32 = 1;
/// LLVM's runtime was measured.
pub const OPENMP_LLVM: u32 = 2;
/// LLVM's runtime has another tool, and was not measured.
pub const OPENMP_OTHER_TOOL: u32 = 4;
/// LLVM's runtime belongs to a program of thread sanitizer, whose own tool it needs, and was not measured.
pub const OPENMP_SANITIZER: u32 = 8;
/// Regions of a compiler before GCC 4.9 were not measured.
pub const OPENMP_OUTDATED: u32 = 16;

/// Receives one sum, which is valid until the function returns, and the pointer that the caller passed.
pub type OpenMpSumCallback = unsafe extern "C" fn(out: *mut c_void, sum: *const OpenMpSum);

/// Called before the first construct, by several threads at once if they arrive together; returns 0 once the state is
/// final.
pub type OpenMpStartCallback = extern "C" fn() -> u32;

/// The functions of the proxy of OpenMP.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct OpenMpProxyFunctions {
    /// Bytes of this struct; a later version has more functions at its end.
    pub size: u64,
    /// Calls `callback` in each thread that reaches a construct before anything is measured, until it has returned 0.
    pub before_first_call: extern "C" fn(callback: Option<OpenMpStartCallback>),
    /// Measures from now on, by a clock, `None` for the time-stamp counter.
    pub measure: extern "C" fn(clock: Option<ClockFunction>),
    /// Measures no more, and calls `each` with `out` for each sum.
    pub finish: extern "C" fn(out: *mut c_void, each: OpenMpSumCallback) -> OpenMpFacts,
}
