//! The binary interface of the MPI of this process: the layout of handles and statuses, which no header of ours
//! defines.
//!
//! ```text
//! Open MPI   handles are addresses of its own variables        it defines `ompi_mpi_comm_world`
//! MPICH      handles are numbers of 32 bits                    its version names one of the libraries that agreed on this ABI
//! standard   handles are addresses, predefined ones constants  `MPI_Abi_get_version` of the library says so (MPI 5.0, chapter 20)
//! ```
//!
//! With any other ABI nothing is read: calls are counted and timed, which needs no handle, and a request for more is
//! answered with the library's name.

use std::ffi::{CStr, CString, c_char, c_int};
use std::mem;
use std::path::Path;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::target::{Target, base_of, holder};

/// A binary interface of MPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Abi {
    OpenMpi,
    /// The ABI that MPICH and related libraries agreed on in 2013.
    Mpich,
    /// The ABI of MPI 5.0.
    Standard,
    Unknown,
}

impl Abi {
    /// Whether a handle in C is an address; else a number of 32 bits.
    #[inline(always)]
    pub(crate) fn has_addresses(self) -> bool {
        matches!(self, Self::OpenMpi | Self::Standard)
    }

    /// `MPI_PROC_NULL`.
    #[inline(always)]
    pub(crate) fn proc_null(self) -> i64 {
        match self {
            Self::OpenMpi => -2,
            Self::Mpich | Self::Unknown => -1,
            Self::Standard => -3,
        }
    }
}

impl Abi {
    /// `MPI_ROOT`.
    pub(crate) fn root(self) -> i64 {
        match self {
            Self::OpenMpi | Self::Standard => -4,
            Self::Mpich | Self::Unknown => -3,
        }
    }
}

/// The number of an [`Abi`]; [`NOT_FOUND`] before the search.
static FOUND: AtomicU8 = AtomicU8::new(NOT_FOUND);
const NOT_FOUND: u8 = 0;

/// Those that are known, by their number less 1.
const ALL: [Abi; 4] = [Abi::OpenMpi, Abi::Mpich, Abi::Standard, Abi::Unknown];

/// The ABI of the MPI of this process; unknown as long as none is loaded.
#[inline(always)]
pub(crate) fn abi() -> Abi {
    match FOUND.load(Ordering::Relaxed) {
        NOT_FOUND => find(),
        1 => Abi::OpenMpi,
        2 => Abi::Mpich,
        3 => Abi::Standard,
        _ => Abi::Unknown,
    }
}

#[cold]
#[inline(never)]
fn find() -> Abi {
    if COMM_SIZE.known().is_none() {
        return Abi::Unknown;
    }
    let found = match standard_version() {
        Some(1) => Abi::Standard,
        Some(_) => Abi::Unknown,
        None if OPEN_MPI_WORLD.known().is_some() => Abi::OpenMpi,
        None if is_of_mpich(&library_version()) => Abi::Mpich,
        None => Abi::Unknown,
    };
    let place = ALL.iter().position(|abi| *abi == found).unwrap_or(0);
    FOUND.store(place as u8 + 1, Ordering::Relaxed);
    found
}

/// Whether an MPI of unknown ABI is loaded.
pub(crate) fn is_refused() -> bool {
    abi() == Abi::Unknown && FOUND.load(Ordering::Relaxed) != NOT_FOUND
}

/// Name of the library if its ABI is unknown, as it reports itself; null if the ABI is known.
pub(crate) fn unknown_name() -> *const c_char {
    static NAME: OnceLock<CString> = OnceLock::new();
    if !is_refused() {
        return ptr::null();
    }
    NAME.get_or_init(|| CString::new(described()).unwrap_or_default())
        .as_ptr()
}

fn described() -> String {
    let version = library_version();
    let says = match standard_version() {
        Some(version) => format!("version {version} of the standard ABI"),
        None => match version.lines().next() {
            Some(line) => format!("\"{}\"", line.trim()),
            None => "no version".into(),
        },
    };
    format!("\"{}\" ({says})", library())
}

/// The file of the MPI library.
fn library() -> String {
    let Some(address) = COMM_SIZE.known() else {
        return "MPI".into();
    };
    let name = holder(address).dli_fname;
    if name.is_null() {
        return "MPI".into();
    }
    // SAFETY: the dynamic linker's text.
    let name = unsafe { CStr::from_ptr(name) };
    name.to_string_lossy().into_owned()
}

/// The major version of the standard ABI that the MPI library has; `None` for one of its own.
fn standard_version() -> Option<c_int> {
    let comm_size = COMM_SIZE.known()?;
    // Another library of the process may have it: one that translates is in front of the MPI that it
    // uses.
    let ask = ABI_GET_VERSION.known();
    let Some(ask) = ask.filter(|ask| base_of(*ask) == base_of(comm_size)) else {
        let library = library();
        let name = Path::new(&library).file_name()?.to_string_lossy();
        return name.starts_with("libmpi_abi.so").then_some(1);
    };
    let (mut major, mut minor): (c_int, c_int) = (-1, -1);
    // SAFETY: `int MPI_Abi_get_version(int *, int *)`, which may be called at any time.
    let error = unsafe {
        let ask: unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int = mem::transmute(ask);
        ask(&raw mut major, &raw mut minor)
    };
    // Both are -1 in a library whose ABI is its own (MPICH's `libmpi.so.12`).
    (error == 0 && major >= 0).then_some(major)
}

/// More than any `MPI_MAX_LIBRARY_VERSION_STRING`, bytes: MPICH's, the longest known, is 8192.
const MAX_VERSION: usize = 1 << 14;

/// Version text of the MPI library; empty if it has no function for that.
fn library_version() -> String {
    let Some(ask) = GET_LIBRARY_VERSION.known() else {
        return String::new();
    };
    let mut text = vec![0u8; MAX_VERSION];
    let mut length: c_int = 0;
    // SAFETY: `int MPI_Get_library_version(char *, int *)`, which may be called at any time; there is room.
    unsafe {
        let ask: unsafe extern "C" fn(*mut u8, *mut c_int) -> c_int = mem::transmute(ask);
        ask(text.as_mut_ptr(), &raw mut length);
    }
    let text = CStr::from_bytes_until_nul(&text).unwrap_or_default();
    text.to_string_lossy().into_owned()
}

/// Whether a library has MPICH's ABI, by its version text (the MPICH ABI Compatibility Initiative, 2013).
fn is_of_mpich(version: &str) -> bool {
    ["MPICH", "MVAPICH", "Intel(R) MPI Library"]
        .iter()
        .any(|name| version.contains(name))
}

static COMM_SIZE: Target = Target::of_mpi(c"PMPI_Comm_size");
static ABI_GET_VERSION: Target = Target::of_mpi(c"PMPI_Abi_get_version");
static GET_LIBRARY_VERSION: Target = Target::of_mpi(c"PMPI_Get_library_version");
static OPEN_MPI_WORLD: Target = Target::of_mpi(c"ompi_mpi_comm_world");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kin_of_mpich_say_so() {
        for version in [
            "MPICH Version:      5.0.2",
            "MPI VERSION    : CRAY MPICH version 8.1.25.17",
            "MVAPICH2 Version      :\t2.3.7",
            "Intel(R) MPI Library 2021.6 for Linux* OS",
        ] {
            assert!(is_of_mpich(version), "{version}");
        }
        for version in ["HPE MPT 2.28", "LAM/MPI 7.1.4", ""] {
            assert!(!is_of_mpich(version), "{version}");
        }
    }
}
