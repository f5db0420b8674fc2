//! Queries of the MPI library itself: its version, and the text of its error codes.

use std::ffi::{c_char, c_int};

use cca_comm::{CommError, MpiKind};
use mpi::ffi;

/// The library's own version text. MPI need not be started.
pub fn library_version() -> String {
    // SAFETY: a constant of the rsmpi shim, never written.
    let length = unsafe { ffi::RSMPI_MAX_LIBRARY_VERSION_STRING };
    text(usize::try_from(length).unwrap_or(0), |buffer, used| {
        // SAFETY: the buffer has the length that the library requires, `used` is a valid place; the
        // function may be called before MPI is started.
        unsafe { ffi::MPI_Get_library_version(buffer, used) }
    })
}

/// Which implementation of MPI this library was built with, `None` for one we do not know.
pub fn kind() -> Option<MpiKind> {
    MpiKind::of_version(&library_version())
}

/// Turns the code that an MPI function returned into a result.
pub(crate) fn check(operation: &'static str, code: c_int) -> Result<(), CommError> {
    if is_success(code) {
        Ok(())
    } else {
        Err(CommError::Library {
            operation,
            text: error_text(code),
        })
    }
}

/// Whether an MPI function returned `MPI_SUCCESS`.
pub(crate) fn is_success(code: c_int) -> bool {
    code == ffi::MPI_SUCCESS as c_int
}

/// The class of an error code: one of the `MPI_ERR_*` constants.
pub(crate) fn error_class(code: c_int) -> c_int {
    let mut class = code;
    // SAFETY: `class` is a valid place; the function does not depend on the code being known.
    unsafe { ffi::MPI_Error_class(code, &mut class) };
    class
}

/// The library's text for an error code, in one line.
pub(crate) fn error_text(code: c_int) -> String {
    let text = text(ffi::MPI_MAX_ERROR_STRING as usize, |buffer, used| {
        // SAFETY: the buffer has the length that the library requires, `used` is a valid place.
        unsafe { ffi::MPI_Error_string(code, buffer, used) }
    });
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    if lines.is_empty() {
        format!("MPI error {code}")
    } else {
        lines.join(" ")
    }
}

/// Calls a function that fills a buffer with `most` characters or fewer and returns their number.
fn text(most: usize, fill: impl FnOnce(*mut c_char, *mut c_int) -> c_int) -> String {
    let mut buffer = vec![0_u8; most + 1];
    let mut used: c_int = 0;
    fill(buffer.as_mut_ptr().cast(), &mut used);
    let used = usize::try_from(used).unwrap_or(0).min(most);
    String::from_utf8_lossy(&buffer[..used])
        .trim_end_matches('\0')
        .trim()
        .to_owned()
}
