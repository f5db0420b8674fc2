//! Which files of a folder are component libraries.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use cca_abi::recording::{MPI_PROXY_SYMBOL, OPENMP_PROXY_SYMBOL};
use memchr::memmem;

use crate::image::{Image, exports};

/// Part of a symbol's name that every component library has, whatever its version.
const MARK: &str = "cca_component_v";

/// Names in the proxies of MPI and OpenMP and in the recorder that opens them. No component library has one of these.
const NO_COMPONENT: [&str; 2] = [MPI_PROXY_SYMBOL, OPENMP_PROXY_SYMBOL];

/// Bytes of a searched file that are in memory at a time.
const PIECE_BYTES: usize = 1 << 20;

/// The component libraries of a folder, sorted by name.
///
/// A file counts as one if it ends in `.so` and [is one](is_component_library). It is read, not run, so other libraries
/// in the folder do no harm; of those, only the table of symbols is read.
///
/// # Returns
/// Absolute paths: a library may change the working directory when it is opened.
///
/// # Errors
/// The folder cannot be read.
pub fn find_libraries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let folder = folder.canonicalize()?;
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let library = path.extension().is_some_and(|extension| extension == "so");
        if library && path.is_file() && is_component_library(&path) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Whether a file exports a component library's entry function; for a damaged file, whether it contains its name. The
/// proxies of MPI and OpenMP and the preloaded recorder have that function, from `cca-abi`, but no class. For a file
/// that cannot be read, `false`.
pub fn is_component_library(path: &Path) -> bool {
    let Ok(Some(image)) = Image::read(path) else {
        return false;
    };
    let names = |mark: &str| names(path, mark.as_bytes(), image.mapped_bytes()).unwrap_or(false);
    exports(path, MARK).unwrap_or_else(|| names(MARK)) && !NO_COMPONENT.into_iter().any(names)
}

/// Whether the first `limit` bytes of a file contain some bytes.
fn names(path: &Path, mark: &[u8], limit: u64) -> io::Result<bool> {
    let mut file = File::open(path)?.take(limit);
    let mut piece = vec![0; PIECE_BYTES];
    // A possible beginning of the mark at the end of one piece is put in front of the next.
    let mut kept = 0;
    loop {
        let read = file.read(&mut piece[kept..])?;
        if read == 0 {
            return Ok(false);
        }
        let filled = kept + read;
        if memmem::find(&piece[..filled], mark).is_some() {
            return Ok(true);
        }
        kept = filled.min(mark.len() - 1);
        piece.copy_within(filled - kept..filled, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_that_name_the_entry_function_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
        write("libb.so", b"\x7fELF\0cca_component_v2\0");
        write("liba.so", b"\x7fELF\0cca_component_v3\0");
        write("libm.so", b"\x7fELF\0cos\0");
        write(
            "libproxy_mpi.so",
            b"\x7fELF\0cca_component_v2\0proxy_mpi_v5\0",
        );
        write(
            "libproxy_openmp.so",
            b"\x7fELF\0cca_component_v2\0proxy_openmp_v1\0",
        );
        write("libnone.so", b"cca_component_v2");
        write("notes.txt", b"cca_component_v2");
        let found = find_libraries(folder.path()).unwrap();
        let names: Vec<_> = found.iter().map(|path| path.file_name().unwrap()).collect();
        assert_eq!(names, ["liba.so", "libb.so"]);
    }

    #[test]
    fn a_mark_between_two_pieces_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        for before in [
            0,
            PIECE_BYTES - 20,
            PIECE_BYTES - 7,
            PIECE_BYTES,
            2 * PIECE_BYTES - 16,
        ] {
            let mut bytes = vec![b'c'; before];
            bytes.extend(MARK.as_bytes());
            fs::write(&path, &bytes).unwrap();
            assert!(names(&path, MARK.as_bytes(), u64::MAX).unwrap(), "{before}");
            fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
            assert!(
                !names(&path, MARK.as_bytes(), u64::MAX).unwrap(),
                "{before}"
            );
        }
    }
}
