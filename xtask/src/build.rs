//! Builds everything that the binary loads, and puts it beside the binary.
//!
//! ```text
//! <target>/release/mastermind            the binary
//! <target>/release/lib*.so               the component libraries
//! <target>/release/mpi/<name>/lib*.so    the MPI back end, one for each MPI
//! ```

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::steps::{StepError, run_step};
use crate::system::{Mpi, MpiKind, System};
use crate::workspace::Workspace;

/// The packages with the bindings of an MPI.
const BINDINGS: [&str; 2] = ["mpi-sys", "mpi"];

/// File name of the MPI back end.
const BACK_END: &str = "libcca_comm_mpi.so";

/// Builds what [`build`] does together with all tests: Cargo takes other features of some crates where tests are built with
/// them, so what is built without is built twice.
pub fn build_with_tests(workspace: &Workspace, system: &System) -> Result<(), StepError> {
    let targets = ["--lib", "--bins", "--examples", "--tests"];
    let words = [&["build", "--release"], &targets[..]].concat();
    let mut cargo = workspace.cargo(&words);
    with_back_ends(workspace, system, &targets, || {
        run_step("cargo build, with tests", &mut cargo)
    })
}

/// Packages that are built elsewhere: the back end for each MPI, and what `pip` makes a wheel of.
const APART: [&str; 4] = [
    "--exclude",
    "cca-comm-mpi",
    "--exclude",
    "mastermind-python",
];

/// Builds the programs, the components, those written in C too, and a back end for each MPI found.
pub fn build(workspace: &Workspace, system: &System) -> Result<(), StepError> {
    with_back_ends(workspace, system, &FOR_TESTS, || build_programs(workspace))
}

/// What the demonstration leaves out of its first build: it shows no Parquet, no Arrow and no PDF, and the packages that only check the others.
const NOT_SHOWN: [&str; 9] = [
    "--exclude",
    "mastermind-tests",
    "--exclude",
    "must-reach",
    "--exclude",
    "xtask",
    "--no-default-features",
    "--features",
    "mastermind-cli/pictures",
];

/// The same for the demonstration, which tells at its end what the binary lacks.
///
/// # Returns
/// Whether the binary lacks Parquet, Arrow and PDF: where Parquet was built before, nothing is left out.
pub fn build_to_show(workspace: &Workspace, system: &System) -> Result<bool, StepError> {
    let is_first = !has_parquet(workspace);
    if is_first {
        let words = [
            &["build", "--release", "--workspace"],
            &APART[..],
            &NOT_SHOWN[..],
        ]
        .concat();
        let mut cargo = workspace.cargo(&words);
        with_back_ends(workspace, system, &FOR_TESTS, || {
            run_step("cargo build", &mut cargo)
        })?;
    } else {
        build(workspace, system)?;
    }
    Ok(is_first)
}

fn has_parquet(workspace: &Workspace) -> bool {
    let names = fs::read_dir(workspace.release().join("deps"))
        .into_iter()
        .flatten()
        .flatten();
    names
        .map(|entry| entry.file_name())
        .any(|name| name.to_string_lossy().starts_with("libparquet-"))
}

/// What is built of a back end; an example is a program of the end-to-end tests.
const FOR_TESTS: [&str; 2] = ["--lib", "--examples"];

/// Builds the programs, what is in C, and at the same time the back ends, one after the other: neither build alone keeps two processors
/// busy from its beginning to its end.
///
/// # Arguments
/// * `targets` - of the back ends
fn with_back_ends(
    workspace: &Workspace,
    system: &System,
    targets: &[&str],
    build_programs: impl FnOnce() -> Result<(), StepError>,
) -> Result<(), StepError> {
    std::thread::scope(|scope| {
        let back_ends = scope.spawn(|| {
            back_ends(system).try_for_each(|mpi| build_back_end(workspace, mpi, targets))
        });
        build_programs()?;
        if system.c_compiler {
            build_c_components(workspace)?;
        }
        match back_ends.join() {
            Ok(built) => built,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// Builds the programs and the components: all that needs neither MPI nor libclang nor Python.
pub fn build_programs(workspace: &Workspace) -> Result<(), StepError> {
    let words = [&["build", "--release", "--workspace"], &APART[..]].concat();
    run_step("cargo build", &mut workspace.cargo(&words))
}

/// Compiles the component that is written in C, with no more than `cc` and the headers of
/// `cca-abi` and `hydro-ports`.
pub fn build_c_components(workspace: &Workspace) -> Result<(), StepError> {
    let folder = workspace.root.join("components/efm-flux-c");
    let sources = c_sources(&folder)?;
    if sources.is_empty() {
        return Ok(());
    }
    let mut command = Command::new("cc");
    command
        .current_dir(&workspace.root)
        .args(["-O2", "-std=c99", "-Wall", "-Wextra", "-fPIC", "-shared"])
        .args([
            "-I",
            "framework/abi/include",
            "-I",
            "components/hydro-ports/include",
            "-o",
        ])
        .arg(workspace.release().join("libhydro_efm_flux_c.so"))
        .args(&sources)
        .arg("-lm");
    run_step("cc efm-flux-c", &mut command)
}

/// The MPIs for which a back end can be built: all of them, given libclang.
pub fn back_ends(system: &System) -> impl Iterator<Item = &Mpi> {
    system.mpis.iter().filter(|_| system.libclang)
}

/// `cargo` set up for the MPI back end and one MPI, in a target folder of its own: the bindings
/// and the library differ from one MPI to the next.
pub fn back_end_cargo(workspace: &Workspace, mpi: &Mpi, arguments: &[&str]) -> Command {
    let mut command = workspace.cargo(arguments);
    command
        .env("CARGO_TARGET_DIR", back_end_target(workspace, mpi))
        .env("MPICC", &mpi.mpicc)
        // Either of these would be asked before MPICC.
        .env_remove("MPI_PKG_CONFIG")
        .env_remove("CRAY_MPICH_DIR");
    command
}

fn back_end_target(workspace: &Workspace, mpi: &Mpi) -> PathBuf {
    workspace.target.join("mpi").join(mpi.kind.name())
}

fn build_back_end(workspace: &Workspace, mpi: &Mpi, targets: &[&str]) -> Result<(), StepError> {
    begin_target(workspace, mpi)?;
    let title = format!("MPI back end for {}", mpi.kind.name());
    // Quiet, since another build tells beside it what it does.
    let arguments = [
        &["build", "--release", "--quiet", "-p", "cca-comm-mpi"],
        targets,
    ]
    .concat();
    run_step(&title, &mut back_end_cargo(workspace, mpi, &arguments))?;
    let folder = workspace.release().join("mpi").join(mpi.kind.name());
    let built = back_end_target(workspace, mpi)
        .join("release")
        .join(BACK_END);
    place(&built, &folder, BACK_END)
}

/// Begins the target folder of one MPI with what was built for another, but for the bindings: most of it is the same.
fn begin_target(workspace: &Workspace, mpi: &Mpi) -> Result<(), StepError> {
    let target = back_end_target(workspace, mpi);
    let folder = workspace.target.join("mpi");
    let mut others = MpiKind::ALL
        .into_iter()
        .map(|kind| folder.join(kind.name()));
    let Some(other) = others.find(|other| other.is_dir() && !target.exists()) else {
        return Ok(());
    };
    let new = target.with_extension("new");
    let failed = |act| {
        let path = new.display().to_string();
        move |source| StepError::File { act, path, source }
    };
    if new.exists() {
        fs::remove_dir_all(&new).map_err(failed("remove"))?;
    }
    // With the times of the files, by which Cargo goes.
    let mut copy = Command::new("cp");
    copy.arg("-a").arg(other).arg(&new);
    run_step("what the back ends share", &mut copy)?;
    // Their build script does not say that it goes by MPICC.
    let [sys, safe] = BINDINGS;
    let words = ["clean", "--release", "--quiet", "-p", sys, "-p", safe];
    let mut clean = back_end_cargo(workspace, mpi, &words);
    clean.env("CARGO_TARGET_DIR", &new);
    run_step("without the bindings", &mut clean)?;
    fs::rename(&new, &target).map_err(failed("rename"))
}

/// Puts a copy of `file` into `folder` under `name`. The old copy is replaced, not overwritten, so
/// a process that has it mapped goes on.
fn place(file: &Path, folder: &Path, name: &str) -> Result<(), StepError> {
    let failed = |act, path: &Path| {
        let path = path.display().to_string();
        move |source| StepError::File { act, path, source }
    };
    fs::create_dir_all(folder).map_err(failed("create", folder))?;
    let new = folder.join(format!("{name}.new"));
    fs::copy(file, &new).map_err(failed("copy", file))?;
    fs::rename(&new, folder.join(name)).map_err(failed("rename", &new))
}

/// The C sources of `folder`, in order of name; none if there is no such folder.
fn c_sources(folder: &Path) -> Result<Vec<PathBuf>, StepError> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(folder).map_err(|source| StepError::File {
        act: "read",
        path: folder.display().to_string(),
        source,
    })?;
    let mut sources: Vec<_> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e == "c"))
        .collect();
    sources.sort();
    Ok(sources)
}
