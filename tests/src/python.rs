//! The Python package, as it would be installed.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use crate::{Scratch, bin_dir, root, skip};

/// Puts the package into a folder, to be used with that in `PYTHONPATH`.
///
/// # Returns
/// Whether there is a Python.
///
/// # Panics
/// The folder cannot be written, or has a package already.
pub fn python_package(scratch: &Scratch) -> bool {
    if Command::new("python3").arg("--version").output().is_err() {
        skip("python3", "no python3");
        return false;
    }
    let folder = scratch.path("mastermind");
    fs::create_dir(&folder).expect("a new folder");
    let source = root().join("mastermind/python/mastermind");
    for entry in fs::read_dir(source).expect("the package").flatten() {
        if entry.path().is_file() {
            symlink(entry.path(), folder.join(entry.file_name())).expect("a file of the package");
        }
    }
    let library = bin_dir().join("lib_mastermind.so");
    symlink(library, folder.join("_mastermind.abi3.so")).expect("the extension module");
    true
}
