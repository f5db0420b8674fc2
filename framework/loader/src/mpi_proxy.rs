//! The proxy of MPI: a library that takes the place of MPI's functions in every library opened after it.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::fs::File;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::ptr;

use cca_abi::recording::{
    ClockFunction, MPI_PROXY_SYMBOL, MpiCallSum, MpiCommunicatorCallback, MpiEventOptions,
    MpiMeetingCallback, MpiProxyEntry, MpiProxyFunctions, MpiStackCallback, Recorder,
};
use libloading::os::unix::{Library as Handle, RTLD_GLOBAL, RTLD_NOW};

use crate::LoadError;
use crate::library::linker_error;

/// One function of MPI and its time, over all threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MpiRoutine {
    /// Name in C.
    pub name: String,
    /// Calls, without those that MPI makes itself.
    pub calls: u64,
    /// Time, in ticks of the clock it was given.
    pub ticks: u64,
}

/// The opened proxy of MPI.
///
/// Libraries find MPI's functions by name, in the order in which libraries were opened: so the proxy must be opened
/// before the first library that needs MPI (the communicator's back end), and a program that is itself linked to MPI
/// needs it preloaded.
#[derive(Clone, Debug)]
pub struct MpiProxy {
    functions: &'static MpiProxyFunctions,
}

impl MpiProxy {
    /// Opens the proxy for all libraries after it (`RTLD_NOW | RTLD_GLOBAL`), for good.
    ///
    /// # Arguments
    /// * `clock` - the clock of the recorder, `None` for the time-stamp counter
    ///
    /// # Errors
    /// [`LoadError`]: no file, no shared library, another library, or another processor.
    pub fn open(path: &Path, clock: Option<ClockFunction>) -> Result<Self, LoadError> {
        let no_file = |source| LoadError::NoFile {
            path: path.into(),
            source,
        };
        File::open(path).map_err(no_file)?;
        let path: PathBuf = path.canonicalize().map_err(no_file)?;
        // SAFETY: the library has no initialisers of its own; naming it is asking for it.
        let handle = unsafe { Handle::open(Some(&path), RTLD_NOW | RTLD_GLOBAL) };
        let handle = ManuallyDrop::new(handle.map_err(|error| LoadError::NotLoadable {
            path: path.clone(),
            source: linker_error(&error),
        })?);
        // SAFETY: the symbol has the type that its name promises.
        let entry = unsafe { handle.get::<MpiProxyEntry>(MPI_PROXY_SYMBOL.as_bytes()) };
        let entry = entry.map_err(|_| LoadError::NoMpiProxy {
            path: path.clone(),
            symbol: MPI_PROXY_SYMBOL,
        })?;
        // SAFETY: null, or static functions of a library that is never closed.
        let functions = unsafe { entry().as_ref() };
        let functions = functions
            .filter(|functions| functions.size >= size_of::<MpiProxyFunctions>() as u64)
            .ok_or(LoadError::NoMpiInterception { path })?;
        let proxy = Self { functions };
        proxy.set_clock(clock);
        Ok(proxy)
    }

    /// Sets the clock, `None` for the time-stamp counter; before the first call of MPI.
    pub fn set_clock(&self, clock: Option<ClockFunction>) {
        (self.functions.set_clock)(clock);
    }

    /// Names of the functions of MPI in C, in the order that totals and events have.
    pub fn function_names(&self) -> Vec<String> {
        let mut names = Vec::new();
        (self.functions.functions)((&raw mut names).cast(), add_name);
        names
    }

    /// Registers `callback`, which is called once, in the thread that is the first to call MPI, before that call begins.
    pub fn before_first_call(&self, callback: extern "C" fn()) {
        (self.functions.before_first_call)(Some(callback));
    }

    /// From now on `callback` is called with the level at each call of `MPI_Pcontrol`.
    pub fn on_pcontrol(&self, callback: extern "C" fn(level: c_int)) {
        (self.functions.on_pcontrol)(Some(callback));
    }

    /// From now on `callback` is called with each communicator that a recorded call is the first to use, before that call begins.
    ///
    /// # Arguments
    /// * `callback` - gets null as its context
    pub fn on_communicator(&self, callback: MpiCommunicatorCallback) {
        (self.functions.on_communicator)(ptr::null_mut(), Some(callback));
    }

    /// From now on `callback` is called with each stack of calls that a recorded call is the first to come from.
    pub fn on_stack(&self, callback: MpiStackCallback) {
        (self.functions.on_stack)(Some(callback));
    }

    /// Calls `callback` at the first meeting of all ranks, and at those that it requests ([`crate::Meeting`]).
    pub fn on_meeting(&self, callback: MpiMeetingCallback) {
        (self.functions.on_meeting)(Some(callback));
    }

    /// The MPI that is loaded, if handles have an ABI in it that the proxy does not know: then no call is recorded one by one.
    pub fn unknown_abi(&self) -> Option<String> {
        let name = (self.functions.unknown_abi)();
        // SAFETY: null, or a text that the proxy keeps.
        let name = (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) })?;
        Some(name.to_string_lossy().into_owned())
    }

    /// Time in MPI so far, by function, for those that were called; without the time that went into a recorder's
    /// logs.
    pub fn routines(&self) -> Vec<MpiRoutine> {
        let mut routines = Vec::new();
        (self.functions.totals)((&raw mut routines).cast(), add);
        routines
    }

    /// From now on time in MPI is added to the records of `recorder`.
    ///
    /// # Errors
    /// The proxy was built for recorders of another version.
    ///
    /// # Safety
    /// `recorder` stays at its address until the result is dropped, and no thread is in a call of MPI at that
    /// time.
    pub unsafe fn attach(&self, recorder: &Recorder) -> Result<AttachedMpi, LoadError> {
        // SAFETY: required of the caller.
        if unsafe { (self.functions.attach)(recorder) } == 0 {
            return Err(LoadError::MpiProxyVersion);
        }
        Ok(AttachedMpi {
            proxy: self.clone(),
        })
    }
}

extern "C" fn add_name(names: *mut c_void, name: *const c_char) {
    // SAFETY: `MpiProxy::function_names` passes its list, and the proxy a static name.
    let (names, name) = unsafe { (&mut *names.cast::<Vec<String>>(), CStr::from_ptr(name)) };
    names.push(name.to_string_lossy().into_owned());
}

extern "C" fn add(routines: *mut c_void, name: *const c_char, calls: u64, ticks: u64) {
    // SAFETY: `MpiProxy::routines` passes its list, and the proxy a static name.
    let (routines, name) = unsafe {
        (
            &mut *routines.cast::<Vec<MpiRoutine>>(),
            CStr::from_ptr(name),
        )
    };
    routines.push(MpiRoutine {
        name: name.to_string_lossy().into_owned(),
        calls,
        ticks,
    });
}

/// # Safety
/// The list is the one of [`AttachedMpi::call_sums`].
unsafe extern "C" fn add_sum(sums: *mut c_void, sum: *const MpiCallSum) {
    // SAFETY: required of the caller; the proxy passes a sum.
    unsafe { (*sums.cast::<Vec<MpiCallSum>>()).push(*sum) };
}

/// The proxy of MPI while it reports to a recorder; dropping it ends the reports.
#[derive(Debug)]
pub struct AttachedMpi {
    proxy: MpiProxy,
}

impl AttachedMpi {
    /// Records each call of MPI from now on, as the methods with these ids, one a function in the order of
    /// [`MpiProxy::function_names`]; with none, no call any more.
    ///
    /// # Arguments
    /// * `options` - the parameters of the methods that are not always there
    ///
    /// # Returns
    /// Whether calls are recorded.
    pub fn record_events(&self, ids: &[u32], options: MpiEventOptions) -> bool {
        let record = self.proxy.functions.record_events;
        let (n, depth) = (ids.len() as u64, options.call_depth);
        // SAFETY: the ids are read during the call only.
        unsafe { record(ids.as_ptr(), n, depth, u32::from(options.processor_time)) != 0 }
    }

    /// Sums calls of MPI that are not recorded up from now on, by function, call site and size.
    pub fn sum_calls(&self) {
        (self.proxy.functions.sum_calls)(1);
    }

    /// Those sums; the name of the function is null in one of calls that there was no room for.
    pub fn call_sums(&self) -> Vec<MpiCallSum> {
        let mut sums = Vec::new();
        (self.proxy.functions.call_sums)((&raw mut sums).cast(), add_sum);
        sums
    }

    /// As [`MpiProxy::on_communicator`], until this is dropped.
    ///
    /// # Safety
    /// `callback` may be called with `context` as long as this lives.
    pub unsafe fn on_communicator(&self, context: *mut c_void, callback: MpiCommunicatorCallback) {
        (self.proxy.functions.on_communicator)(context, Some(callback));
    }

    /// As [`MpiProxy::routines`].
    pub fn routines(&self) -> Vec<MpiRoutine> {
        self.proxy.routines()
    }
}

impl Drop for AttachedMpi {
    fn drop(&mut self) {
        (self.proxy.functions.on_communicator)(ptr::null_mut(), None);
        // SAFETY: null is allowed.
        unsafe { (self.proxy.functions.attach)(ptr::null()) };
    }
}
