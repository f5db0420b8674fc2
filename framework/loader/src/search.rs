//! Which files of a folder are component libraries.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use cca_abi::recording::MPI_PROXY_SYMBOL;
use memchr::memmem;

/// What every component library has in its symbol table, whatever its version.
const MARK: &[u8] = b"cca_component_v";

/// The component libraries of a folder, sorted by name.
///
/// A file is taken for one if it ends in `.so` and names the entry function; it is read, not run, so that a folder with
/// other libraries in it does no harm. The proxy of MPI has the entry function, from `cca-abi`, but no class.
///
/// # Errors
/// The folder or a library in it cannot be read.
pub fn find_libraries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let library = path.extension().is_some_and(|extension| extension == "so");
        if library && path.is_file() {
            let bytes = fs::read(&path)?;
            let names = |mark| memmem::find(&bytes, mark).is_some();
            if names(MARK) && !names(MPI_PROXY_SYMBOL.as_bytes()) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_that_name_the_entry_function_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
        write("libb.so", b"\0cca_component_v1\0");
        write("liba.so", b"\0cca_component_v2\0");
        write("libm.so", b"\0cos\0");
        write("libproxy_mpi.so", b"\0cca_component_v1\0proxy_mpi_v1\0");
        write("notes.txt", b"cca_component_v1");
        let found = find_libraries(folder.path()).unwrap();
        let names: Vec<_> = found.iter().map(|path| path.file_name().unwrap()).collect();
        assert_eq!(names, ["liba.so", "libb.so"]);
    }
}
