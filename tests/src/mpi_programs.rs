//! Programs that use MPI, compiled on the spot, and run under its launcher.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::{bin_dir, root, skip};

const MPIS: [&str; 2] = ["openmpi", "mpich"];

/// The MPIs whose `program` (`mpicc`, `mpif90`, `mpirun`) can be started; notes the others as skipped.
pub fn mpis_with(program: &str) -> Vec<&'static str> {
    let (found, missing): (Vec<_>, Vec<_>) = MPIS.into_iter().partition(|mpi| {
        let mut version = Command::new(format!("{program}.{mpi}"));
        version
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        version.status().is_ok_and(|status| status.success())
    });
    for mpi in missing {
        skip(mpi, format_args!("no {program}.{mpi} on this machine"));
    }
    found
}

/// The back end for an MPI among the tested libraries; notes a missing one as skipped.
pub fn back_end_library(mpi: &str) -> Option<PathBuf> {
    let library = bin_dir().join("mpi").join(mpi).join("libcca_comm_mpi.so");
    if library.is_file() {
        return Some(library);
    }
    skip(mpi, format_args!("no {}", library.display()));
    None
}

/// The output of a program that ends well.
///
/// # Panics
/// If it cannot be started, or fails.
pub fn output(command: &mut Command) -> String {
    let output = ended(command);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        text(&output.stdout),
        text(&output.stderr)
    );
    text(&output.stdout)
}

/// How a program ended.
///
/// # Panics
/// If it cannot be started.
pub fn ended(command: &mut Command) -> Output {
    let output = command.stdin(Stdio::null()).output();
    output.unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// A source of `tests/fixtures/mpi`.
pub fn mpi_fixture(name: &str) -> PathBuf {
    root().join("tests/fixtures/mpi").join(name)
}

/// Compiles a program of `tests/fixtures/mpi`, in C or in Fortran.
///
/// # Arguments
/// * `objects` - to be linked to it
///
/// # Panics
/// If it does not compile.
pub fn compile_mpi(
    mpi: &str,
    source: &str,
    options: &[&str],
    objects: &[PathBuf],
    folder: &Path,
) -> PathBuf {
    let program = folder.join(format!("{source}{}", options.concat().replace('/', "_")));
    let compiler = if source.ends_with(".c") {
        "mpicc"
    } else {
        "mpif90"
    };
    let mut link = Command::new(format!("{compiler}.{mpi}"));
    link.args(options).arg("-o").arg(&program);
    link.arg(mpi_fixture(source)).args(objects);
    output(link.args(["-ldl", "-lpthread"]));
    program
}

/// The launcher of an MPI for `ranks` of the program to be added.
///
/// # Arguments
/// * `folder` - a folder of the test's own
pub fn mpirun(mpi: &str, ranks: u32, folder: &Path) -> Command {
    let mut command = Command::new(format!("mpirun.{mpi}"));
    if mpi == "openmpi" {
        // Launchers that run at the same time remove each other's shared files (Open MPI 4.1).
        command.env("OMPI_MCA_orte_tmpdir_base", folder);
        command.args([
            "--allow-run-as-root",
            "--oversubscribe",
            "--bind-to",
            "none",
        ]);
    }
    command.args(["-n", &ranks.to_string()]);
    command
}
