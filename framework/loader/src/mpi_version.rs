//! The MPI library of the process, as it reports itself.

use std::ffi::{c_char, c_int};
use std::fs;
use std::path::Path;

use libloading::os::unix::{Library as Handle, RTLD_LAZY};

/// The flag of `dlopen` that opens only libraries that are loaded already; value of Linux.
const RTLD_NOLOAD: c_int = 4;

/// Room for a library's version text, bytes: MPICH's `MPI_MAX_LIBRARY_VERSION_STRING`, the longest of the known ones.
const MAX_VERSION_BYTES: usize = 8192;

/// Profiling names, so that no call is counted.
type LibraryVersion = unsafe extern "C" fn(text: *mut c_char, length: *mut c_int) -> c_int;
const NAME: &[u8] = b"PMPI_Get_library_version\0";

/// Name and version of the MPI library that the process has loaded, such as `Open MPI v4.1.4` or `MPICH 4.0.2`; `None`
/// if there is none, or if it does not report them. May be called before MPI starts and after it ended (MPI 3.0,
/// section 8.1.1).
pub fn mpi_library_version() -> Option<String> {
    let version = version_of(&Handle::this());
    version.or_else(|| loaded().into_iter().find_map(|handle| version_of(&handle)))
}

/// Handles of loaded libraries with MPI's names: a library may have opened its own MPI, whose names are then not
/// global.
fn loaded() -> Vec<Handle> {
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let mut paths: Vec<&str> = maps
        .lines()
        .filter_map(|line| Some(&line[line.find('/')?..]))
        .filter(|path| {
            let name = Path::new(path).file_name();
            name.is_some_and(|name| name.to_string_lossy().starts_with("libmpi"))
        })
        .collect();
    paths.dedup();
    let opened = paths.into_iter().filter_map(|path| {
        // SAFETY: the library is loaded already, so nothing of it runs.
        unsafe { Handle::open(Some(path), RTLD_LAZY | RTLD_NOLOAD) }.ok()
    });
    opened.collect()
}

fn version_of(handle: &Handle) -> Option<String> {
    // SAFETY: the type is MPI's.
    let function = unsafe { handle.get::<LibraryVersion>(NAME) }.ok()?;
    let mut text = vec![0u8; MAX_VERSION_BYTES];
    let mut length: c_int = 0;
    // SAFETY: there is as much room as any library needs; the call is allowed at any time.
    let error = unsafe { function(text.as_mut_ptr().cast(), &raw mut length) };
    if error != 0 {
        return None;
    }
    let end = text.iter().position(|byte| *byte == 0)?;
    Some(condensed(&String::from_utf8_lossy(&text[..end]))).filter(|text| !text.is_empty())
}

/// Name and version, without when, where and how it was built.
fn condensed(text: &str) -> String {
    let first = text.lines().next().unwrap_or_default();
    let first = first.split(',').next().unwrap_or_default();
    let words = first.split_whitespace();
    let words = words.map(|word| word.strip_suffix(':').unwrap_or(word));
    words
        .filter(|word| *word != "Version")
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_the_first_thing_said() {
        let open = "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4, May 26, 2022";
        assert_eq!(condensed(open), "Open MPI v4.1.4");
        let mpich = "MPICH Version:\t4.0.2\nMPICH Release date:\tThu Apr  7 12:34:45 CDT 2022\n";
        assert_eq!(condensed(mpich), "MPICH 4.0.2");
        let intel = "Intel(R) MPI Library 2021.9 for Linux* OS\n";
        assert_eq!(
            condensed(intel),
            "Intel(R) MPI Library 2021.9 for Linux* OS"
        );
    }

    #[test]
    fn a_process_without_mpi_has_no_version() {
        assert_eq!(mpi_library_version(), None);
    }
}
