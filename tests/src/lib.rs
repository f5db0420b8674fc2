//! End-to-end tests over real dynamic libraries: their shared code.

mod adaptive;
mod application;
mod fixtures;
mod golden;
pub mod guide;
mod launchers;
mod made;
mod missing;
mod mpi_programs;
mod program;
mod python;
mod ranks;
mod written;

pub use adaptive::{
    Blast, FixedBoxes, Jump, MeshCall, MeshSpy, Uniform, end, host_stands_between, host_stands_in,
};
pub use application::{Application, Cells, example};
pub use fixtures::{c_library, cpp_library, rust_library};
pub use golden::assert_golden;
pub use launchers::{Mpi, mpis};
pub use made::{cargo, mastermind, succeeds};
pub use missing::skip;
pub use mpi_programs::{
    back_end_library, compile_mpi, ended, mpi_fixture, mpirun, mpis_with, output,
};
pub use program::{Ended, Scratch, field, is_of_waiting};
pub use python::python_package;
pub use ranks::{RankComm, on_ranks};
pub use written::write_calls;

use std::env;
use std::path::{Path, PathBuf};

/// The folder with the binary, the component libraries and the MPI back ends under test:
/// `MASTERMIND_TEST_BIN_DIR`, else the release folder this test was built into.
///
/// # Panics
/// If this program's own path cannot be read.
pub fn bin_dir() -> PathBuf {
    if let Some(folder) = env::var_os("MASTERMIND_TEST_BIN_DIR") {
        return folder.into();
    }
    // `<target>/release/deps/<test>`.
    let program = env::current_exe().expect("own path");
    let folder = program.ancestors().nth(2).expect("a folder above deps");
    folder.to_owned()
}

/// The root of the workspace.
pub fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}
