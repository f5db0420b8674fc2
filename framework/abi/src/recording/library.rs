//! Functions that the generated proxy of a C library offers to the program that loads it; the same as in
//! `cca_proxy.h`.

use std::ffi::{c_char, c_void};

use super::{ProxyMethod, Recorder};

/// Name of the function that the proxy of a C library exports.
pub const LIBRARY_PROXY_SYMBOL: &str = "cca_proxy_v1";

/// Version of [`LibraryProxyFunctions`].
pub const LIBRARY_PROXY_VERSION: u64 = 3;

/// The type of that function.
pub type LibraryProxyEntry = extern "C" fn() -> *const LibraryProxyFunctions;

/// One performance parameter of a function.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct LibraryProxyParameter {
    /// Its name.
    pub name: *const c_char,
    /// A [`super::ParameterKind`] as a number.
    pub kind: u32,
    /// Names of an enumeration's values, the last for all others; 0 for numbers.
    pub n_labels: u32,
    /// These names.
    pub labels: *const *const c_char,
    /// Its unit, empty by default.
    pub unit: *const c_char,
}

/// One function of the interface.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct LibraryProxyFunction {
    /// Name in the library.
    pub name: *const c_char,
    /// Name of its group.
    pub group: *const c_char,
    /// Its declaration in C.
    pub signature: *const c_char,
    /// Its performance parameters.
    pub parameters: *const LibraryProxyParameter,
    /// Number of them.
    pub n_parameters: u32,
    /// 1 if its calls can be recorded; else they are forwarded only. 2 more if it replaces another definition of a name
    /// (`cca_spare_N_NAME`), whose calls are never redirected.
    pub is_recorded: u32,
}

/// The functions of the proxy of a C library.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct LibraryProxyFunctions {
    /// Bytes of this struct; a later version has more at its end.
    pub size: u64,
    /// [`LIBRARY_PROXY_VERSION`].
    pub version: u64,
    /// Name of the interface.
    pub interface: *const c_char,
    /// Its functions.
    pub functions: *const LibraryProxyFunction,
    /// Number of them.
    pub n_functions: u64,
    /// From now on `callback` is called before the first call of each function begins, by every thread that makes such a call.
    /// It returns 1 to be called again before the function's next call.
    pub before_first_call: extern "C" fn(callback: Option<extern "C" fn() -> u32>),
    /// Path of the library that the program's calls go to of themselves, as far as one is loaded; null if none is.
    pub own_library: extern "C" fn() -> *const c_char,
    /// From now on calls go to `functions`, one address each, null for the program's own library, and are recorded as
    /// `methods` through `recorder`; not, if `methods` is null. With `has_call_sites` each record ends with the address that
    /// the call returns to. Returns 0, and changes nothing, if it cannot be done. One thread at a time.
    pub use_functions: unsafe extern "C" fn(
        functions: *const *mut c_void,
        methods: *const *const ProxyMethod,
        recorder: *const Recorder,
        has_call_sites: u32,
    ) -> u32,
}

// SAFETY: tables of a library that is never closed, and never changed.
unsafe impl Send for LibraryProxyFunctions {}
// SAFETY: as for `Send`.
unsafe impl Sync for LibraryProxyFunctions {}
