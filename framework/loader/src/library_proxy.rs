//! The generated proxy of a C library, and the libraries that its calls may go to.
//!
//! `mastermind proxy` generates, from a header, a shared library with the same functions as a C
//! library. Loaded before it, the proxy records each call and forwards it; it can also forward to
//! another library with the same interface. This module is the loader's side: it opens a proxy,
//! checks its version, reads its self-description into safe types, and directs its calls.
//!
//! ```text
//! program ── dgemm ─▶ proxy ── record ──▶ recorder
//!                       └───── forward ─▶ its own libblas.so.3
//!                                    or ▶ Alternative (libopenblas.so.0)
//! ```
//!
//! Libraries that are opened here are never closed: programs keep addresses of functions, and their
//! threads may be inside. An [`Alternative`] is opened with `RTLD_DEEPBIND`, so that its calls of
//! its own functions do not come back to the proxy.

use std::ffi::{CStr, c_char, c_void};
use std::fs::File;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::ptr;

use cca_abi::recording::{
    LIBRARY_PROXY_SYMBOL, LIBRARY_PROXY_VERSION, LibraryProxyEntry, LibraryProxyFunction,
    LibraryProxyFunctions, LibraryProxyParameter, ParameterKind, ProxyMethod, Recorder,
};
use libloading::os::unix::{Library as Handle, RTLD_LOCAL, RTLD_NOW};

use crate::LoadError;
use crate::library::linker_error;

/// glibc's `RTLD_DEEPBIND`: a library's own names come before the program's.
const RTLD_DEEPBIND: i32 = 8;

/// A number in a proxy that is not 0 if the mark-up declares that nothing is kept between calls.
const STATELESS_SYMBOL: &[u8] = b"cca_proxy_stateless_v1";

/// One function of a proxy's interface, with the performance parameters that its calls are recorded
/// with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LibraryFunction {
    /// Name in the library; of its other definitions `NAME@N`.
    pub name: String,
    /// Whether it replaces a definition other than the first.
    pub is_other: bool,
    /// Name of its group.
    pub group: String,
    /// Its performance parameters.
    pub parameters: Vec<FunctionParameter>,
    /// Whether its calls can be recorded; else they are forwarded only.
    pub is_recorded: bool,
}

/// One performance parameter of a function. Its value is a word of the record, read according to
/// `kind`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionParameter {
    /// Its name.
    pub name: String,
    /// How its word is read.
    pub kind: ParameterKind,
    /// Its unit, empty by default.
    pub unit: String,
    /// Names of an enumeration's values.
    pub labels: Vec<String>,
}

/// The opened proxy of a C library: describes its functions, and directs and records their calls.
#[derive(Clone, Debug)]
pub struct LibraryProxy {
    functions: &'static LibraryProxyFunctions,
    interface: String,
    is_stateless: bool,
}

/// A library with the functions of an interface, opened for good. Its own calls of them stay in it.
#[derive(Debug)]
pub struct Alternative {
    path: PathBuf,
    addresses: Vec<*mut c_void>,
    missing: Vec<String>,
}

// SAFETY: addresses of functions of a library that is never closed.
unsafe impl Send for Alternative {}

impl LibraryProxy {
    /// Opens a proxy, for good.
    ///
    /// # Errors
    /// [`LoadError`]: no file, no shared library, another library, or a proxy of another version.
    pub fn open(path: &Path) -> Result<Self, LoadError> {
        let (handle, path) = open(path, RTLD_NOW | RTLD_LOCAL)?;
        // SAFETY: the symbol has the type that its name promises.
        let entry = unsafe { handle.get::<LibraryProxyEntry>(LIBRARY_PROXY_SYMBOL.as_bytes()) };
        let no_proxy = || LoadError::NoLibraryProxy {
            path: path.clone(),
            symbol: LIBRARY_PROXY_SYMBOL,
        };
        let entry = entry.map_err(|_| no_proxy())?;
        // SAFETY: null, or static functions of a library that is never closed.
        let functions = unsafe { entry().as_ref() }.ok_or_else(no_proxy)?;
        if functions.version != LIBRARY_PROXY_VERSION
            || functions.size < size_of::<LibraryProxyFunctions>() as u64
        {
            return Err(LoadError::LibraryProxyVersion {
                path,
                found: functions.version,
                expected: LIBRARY_PROXY_VERSION,
            });
        }
        // SAFETY: a number that is never changed, in a library that is never closed.
        let is_stateless = unsafe {
            let stateless = handle.get::<*const u32>(STATELESS_SYMBOL);
            stateless.is_ok_and(|stateless| **stateless != 0)
        };
        Ok(Self {
            functions,
            is_stateless,
            // SAFETY: the proxy's text.
            interface: unsafe { text(functions.interface) },
        })
    }

    /// Name of the interface.
    pub fn interface(&self) -> &str {
        &self.interface
    }

    /// Whether its mark-up declares that nothing is kept between calls, so that each may go to another
    /// library.
    pub fn is_stateless(&self) -> bool {
        self.is_stateless
    }

    /// The functions of the interface, in the proxy's order.
    pub fn functions(&self) -> Vec<LibraryFunction> {
        // SAFETY: the proxy's own tables.
        unsafe { self.table().iter().map(|function| described(function)) }.collect()
    }

    /// # Safety
    /// The proxy's description of itself is true.
    unsafe fn table(&self) -> &'static [LibraryProxyFunction] {
        let n = self.functions.n_functions as usize;
        // SAFETY: required of the caller.
        unsafe { slice(self.functions.functions, n) }
    }

    /// From now on `callback` is called before the first call of each function begins, by every thread that makes such a
    /// call: it does its work once, and lets other threads wait meanwhile, or their calls are not recorded.
    /// It returns 1 to be called again before the function's next call.
    pub fn before_first_call(&self, callback: extern "C" fn() -> u32) {
        (self.functions.before_first_call)(Some(callback));
    }

    /// Path of the library that the program's calls go to of themselves; `None` if none is loaded yet.
    pub fn own_library(&self) -> Option<PathBuf> {
        let path = (self.functions.own_library)();
        // SAFETY: null, or the dynamic linker's text.
        (!path.is_null()).then(|| unsafe { text(path) }.into())
    }

    /// From now on calls go to `target`, `None` for the program's own library, and are recorded as `methods`.
    ///
    /// # Arguments
    /// * `methods` - one a function, or none if calls are not to be recorded any more
    /// * `has_call_sites` - whether the address that a call returns to is a parameter more, the last
    ///
    /// # Returns
    /// Whether it could be done; else nothing changes.
    ///
    /// # Safety
    /// The recorder keeps its address until no more calls are recorded, and the methods for ever. Only one thread at a
    /// time calls this.
    pub unsafe fn use_functions(
        &self,
        target: Option<&Alternative>,
        methods: &[*const ProxyMethod],
        recorder: &Recorder,
        has_call_sites: bool,
    ) -> bool {
        let n = self.functions.n_functions as usize;
        let fits = target.is_none_or(|target| target.addresses.len() == n);
        if !fits || (!methods.is_empty() && methods.len() != n) {
            return false;
        }
        let addresses = target.map_or(ptr::null(), |target| target.addresses.as_ptr());
        let methods = if methods.is_empty() {
            ptr::null()
        } else {
            methods.as_ptr()
        };
        // SAFETY: as many as there are functions; the rest is required of the caller.
        unsafe {
            (self.functions.use_functions)(addresses, methods, recorder, u32::from(has_call_sites))
                != 0
        }
    }

    /// Opens a library that the proxy's calls may go to (`RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND`), for good.
    ///
    /// # Errors
    /// [`LoadError`]: no file, no shared library, or one without any of the functions.
    pub fn alternative(&self, path: &Path) -> Result<Alternative, LoadError> {
        let (handle, path) = open(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND)?;
        let mut addresses = Vec::new();
        let mut missing = Vec::new();
        for LibraryFunction { name, is_other, .. } in self.functions() {
            if is_other {
                addresses.push(ptr::null_mut());
                continue;
            }
            // SAFETY: used as an address only.
            let found = unsafe { handle.get::<*mut c_void>(name.as_bytes()) };
            let address = found.map_or(ptr::null_mut(), |found| found.as_raw_ptr());
            if address.is_null() {
                missing.push(name);
            }
            addresses.push(address);
        }
        if addresses.iter().all(|address| address.is_null()) {
            return Err(LoadError::NoAlternative {
                path,
                interface: self.interface.clone(),
                n_functions: addresses.len(),
            });
        }
        Ok(Alternative {
            path,
            addresses,
            missing,
        })
    }
}

impl Alternative {
    /// Absolute path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Functions of the interface that it lacks; a call of one ends the process.
    pub fn missing(&self) -> &[String] {
        &self.missing
    }
}

fn open(path: &Path, flags: i32) -> Result<(ManuallyDrop<Handle>, PathBuf), LoadError> {
    let no_file = |source| LoadError::NoFile {
        path: path.into(),
        source,
    };
    File::open(path).map_err(no_file)?;
    let path = path.canonicalize().map_err(no_file)?;
    // SAFETY: naming a library is asking for its initialisers to run.
    let handle = unsafe { Handle::open(Some(&path), flags) };
    let handle = handle.map_err(|error| LoadError::NotLoadable {
        path: path.clone(),
        source: linker_error(&error),
    })?;
    Ok((ManuallyDrop::new(handle), path))
}

/// # Safety
/// The proxy's own table of a function.
unsafe fn described(function: &LibraryProxyFunction) -> LibraryFunction {
    // SAFETY: required of the caller.
    unsafe {
        let parameters = slice(function.parameters, function.n_parameters as usize);
        let name = text(function.name);
        let is_other = function.is_recorded & 2 != 0;
        let other = name.strip_prefix("cca_spare_").filter(|_| is_other);
        let other = other.and_then(|other| other.split_once('_'));
        LibraryFunction {
            name: other.map_or_else(|| name.clone(), |(n, base)| format!("{base}@{n}")),
            is_other,
            group: text(function.group),
            parameters: parameters.iter().map(|p| parameter(p)).collect(),
            is_recorded: function.is_recorded & 1 != 0,
        }
    }
}

/// # Safety
/// The proxy's own table of a parameter.
unsafe fn parameter(parameter: &LibraryProxyParameter) -> FunctionParameter {
    // SAFETY: required of the caller.
    unsafe {
        let labels = slice(parameter.labels, parameter.n_labels as usize);
        FunctionParameter {
            name: text(parameter.name),
            kind: match parameter.kind {
                1 => ParameterKind::Real,
                2 => ParameterKind::Enumeration,
                _ => ParameterKind::Integer,
            },
            unit: text(parameter.unit),
            labels: labels.iter().map(|label| text(*label)).collect(),
        }
    }
}

/// # Safety
/// Null, or the first of `n` that live for ever.
unsafe fn slice<T>(first: *const T, n: usize) -> &'static [T] {
    if first.is_null() || n == 0 {
        return &[];
    }
    // SAFETY: required of the caller.
    unsafe { std::slice::from_raw_parts(first, n) }
}

/// # Safety
/// Null, or a text of C.
unsafe fn text(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: required of the caller.
    unsafe { CStr::from_ptr(text) }
        .to_string_lossy()
        .into_owned()
}
