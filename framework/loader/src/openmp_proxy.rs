//! The proxy of OpenMP, in a program that it was preloaded under.

use std::ffi::{CStr, c_void};
use std::mem::ManuallyDrop;
use std::path::Path;

use cca_abi::recording::{
    ClockFunction, OPENMP_PROXY_SYMBOL, OpenMpFacts, OpenMpProxyEntry, OpenMpProxyFunctions,
    OpenMpStartCallback, OpenMpSum,
};
use libloading::os::unix::{Library as Handle, RTLD_GLOBAL, RTLD_NOW};

use crate::LoadError;
use crate::library::linker_error;

/// Totals of constructs of one type from one call site ([`OpenMpSum`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenMpConstruct {
    /// The directive: `parallel`, `loop`, `barrier`, …
    pub construct: String,
    /// The address that the calls return to.
    pub site: u64,
    /// Number of the thread whose part in regions this is; `None` for the constructs as a whole.
    pub thread: Option<u32>,
    /// Whether the regions are within others.
    pub is_nested: bool,
    /// How often threads came to it.
    pub calls: u64,
    /// How many there were.
    pub instances: u64,
    /// Their time, clock ticks.
    pub ticks: u64,
    /// Time of waiting, clock ticks.
    pub wait_ticks: u64,
    /// Of a thread's part the time from the begin of regions until it came, clock ticks.
    pub start_ticks: u64,
    /// Threads of teams, pieces of work.
    pub items: u64,
}

/// The opened proxy of OpenMP.
#[derive(Clone, Debug)]
pub struct OpenMpProxy {
    functions: &'static OpenMpProxyFunctions,
}

impl OpenMpProxy {
    /// Opens the proxy, for good.
    ///
    /// # Errors
    /// [`LoadError`]: no shared library, another library, or another processor.
    pub fn open(path: &Path) -> Result<Self, LoadError> {
        // SAFETY: the library has no initialisers of its own; naming it is asking for it.
        let handle = unsafe { Handle::open(Some(path), RTLD_NOW | RTLD_GLOBAL) };
        let handle = ManuallyDrop::new(handle.map_err(|error| LoadError::NotLoadable {
            path: path.into(),
            source: linker_error(&error),
        })?);
        // SAFETY: the symbol has the type that its name promises.
        let entry = unsafe { handle.get::<OpenMpProxyEntry>(OPENMP_PROXY_SYMBOL.as_bytes()) };
        let entry = entry.map_err(|_| LoadError::NoOpenMpProxy {
            path: path.into(),
            symbol: OPENMP_PROXY_SYMBOL,
        })?;
        // SAFETY: null, or static functions of a library that is never closed.
        let functions = unsafe { entry().as_ref() };
        let functions = functions
            .filter(|functions| functions.size >= size_of::<OpenMpProxyFunctions>() as u64)
            .ok_or_else(|| LoadError::NoOpenMpInterception { path: path.into() })?;
        Ok(Self { functions })
    }

    /// Calls `callback` in the first thread that reaches a construct, before that begins.
    pub fn before_first_call(&self, callback: OpenMpStartCallback) {
        (self.functions.before_first_call)(Some(callback));
    }

    /// Measures from now on, by a clock, `None` for the time-stamp counter.
    pub fn measure(&self, clock: Option<ClockFunction>) {
        (self.functions.measure)(clock);
    }

    /// Measures no more.
    ///
    /// # Returns
    /// All sums, and further facts.
    pub fn finish(&self) -> (Vec<OpenMpConstruct>, OpenMpFacts) {
        let mut sums = Vec::new();
        let facts = (self.functions.finish)((&raw mut sums).cast(), add);
        (sums, facts)
    }
}

/// # Safety
/// The list is the one of [`OpenMpProxy::finish`]; the proxy passes a sum with a static text.
unsafe extern "C" fn add(sums: *mut c_void, sum: *const OpenMpSum) {
    // SAFETY: required of the caller.
    let (sums, sum, construct) = unsafe {
        let sum = &*sum;
        (
            &mut *sums.cast::<Vec<OpenMpConstruct>>(),
            sum,
            CStr::from_ptr(sum.construct),
        )
    };
    sums.push(OpenMpConstruct {
        construct: construct.to_string_lossy().into_owned(),
        site: sum.site,
        thread: u32::try_from(sum.thread).ok(),
        is_nested: sum.is_nested != 0,
        calls: sum.calls,
        instances: sum.instances,
        ticks: sum.ticks,
        wait_ticks: sum.wait_ticks,
        start_ticks: sum.start_ticks,
        items: sum.items,
    });
}
