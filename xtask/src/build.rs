//! Builds everything that the binary loads, and puts it next to the binary.
//!
//! ```text
//! <target>/release/mastermind            the binary
//! <target>/release/lib*.so               the component libraries
//! <target>/release/mpi/<name>/lib*.so    the MPI back end, one for each MPI
//! ```

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::steps::{StepError, run_step};
use crate::system::{Mpi, MpiKind, System};
use crate::workspace::Workspace;

/// The packages with the bindings of an MPI.
const BINDINGS: [&str; 2] = ["mpi-sys", "mpi"];

/// File name of the MPI back end.
const BACK_END: &str = "libcca_comm_mpi.so";

/// Builds the same as [`build`] together with all tests: Cargo enables other features of some crates when tests are
/// built with them, so crates built without tests are built twice. The back ends are built at the same time, one after
/// the other: neither build alone keeps two processors busy from beginning to end.
pub fn build_with_tests(workspace: &Workspace, system: &System) -> Result<(), StepError> {
    let targets = ["--lib", "--bins", "--examples", "--tests"];
    let words = [&["build", "--release"], &targets[..]].concat();
    std::thread::scope(|scope| {
        let back_ends = scope.spawn(|| {
            back_ends(system).try_for_each(|mpi| build_back_end(workspace, mpi, &targets))
        });
        run_step("cargo build, with tests", &mut workspace.cargo(&words))?;
        if system.c_compiler {
            build_c_components(workspace)?;
        }
        match back_ends.join() {
            Ok(built) => built,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// A package that is built for each MPI, if there is one.
const OF_AN_MPI: [&str; 2] = ["--exclude", "cca-comm-mpi"];

/// The package that `pip` makes a wheel of.
const OF_PYTHON: [&str; 2] = ["--exclude", "mastermind-python"];

/// Builds the programs, the components, those written in C too, and a back end for each MPI found.
pub fn build(workspace: &Workspace, system: &System) -> Result<(), StepError> {
    build_selection(workspace, system, &[])
}

/// Packages that the demonstration leaves out of its first build: it shows no Parquet, no Arrow and no PDF, and needs
/// none of the packages that only check the others; dependencies of other packages need not be named.
const NOT_SHOWN: [&str; 11] = [
    "--exclude",
    "cca-port-macro",
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

/// The same for the demonstration, which reports at its end the parts that the binary lacks.
///
/// # Returns
/// Whether the binary lacks the parts that are not shown: if Parquet was built before, nothing is
/// left out.
pub fn build_to_show(workspace: &Workspace, system: &System) -> Result<bool, StepError> {
    let is_first = !has_parquet(workspace);
    let left_out = if is_first { &NOT_SHOWN[..] } else { &[] };
    build_selection(workspace, system, left_out)?;
    Ok(is_first)
}

/// Starts [`build_to_show`] while packages are being installed. A crate that needs one of them may fail: the failure is
/// not reported here, because the crate is built again, and a failure reported, once they are installed.
pub fn begin(workspace: &Workspace) {
    if has_parquet(workspace) {
        return;
    }
    let mpi = Mpi::of_packages(MpiKind::ALL[0]);
    let mut cargo = cargo_of_selection(workspace, &NOT_SHOWN);
    with_bindings(&mut cargo, &mpi).arg("--keep-going");
    let child = cargo
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut child) = child else { return };
    let lines = child.stderr.take().map(BufReader::new);
    for line in lines
        .into_iter()
        .flat_map(BufRead::lines)
        .map_while(Result::ok)
    {
        if line.trim_start().starts_with("Compiling ") {
            println!("{line}");
        }
    }
    let _ = child.wait();
}

fn cargo_of_selection(workspace: &Workspace, left_out: &[&str]) -> Command {
    let words = ["build", "--release", "--workspace"];
    workspace.cargo(&[&words, &OF_PYTHON[..], left_out].concat())
}

/// Builds the Rust crates with the back end for the first MPI, then the back end for each other one, for which only the
/// bindings are rebuilt, then the C libraries.
fn build_selection(
    workspace: &Workspace,
    system: &System,
    left_out: &[&str],
) -> Result<(), StepError> {
    let mut mpis = back_ends(system).peekable();
    if mpis.peek().is_none() {
        let mut cargo = cargo_of_selection(workspace, left_out);
        run_step("cargo build", cargo.args(OF_AN_MPI))?;
    }
    for mpi in mpis {
        let title = format!("cargo build, with the MPI back end for {}", mpi.kind.name());
        let mut cargo = cargo_of_selection(workspace, left_out);
        run_step(&title, with_bindings(&mut cargo, mpi))?;
        take_back_end(workspace, mpi)?;
    }
    if system.c_compiler {
        build_c_components(workspace)?;
    }
    Ok(())
}

/// Builds the bindings of one MPI separately from those of another. Their build script does not declare that it depends
/// on MPICC: a level of optimisation distinguishes them for Cargo, though there is nothing in them to optimise.
fn with_bindings<'a>(command: &'a mut Command, mpi: &Mpi) -> &'a mut Command {
    let profile = match mpi.kind {
        MpiKind::OpenMpi => "profile.release.package.mpi-sys.opt-level=1",
        MpiKind::Mpich => "profile.release.package.mpi-sys.opt-level=2",
    };
    with_mpi(command, mpi).args(["--config", profile])
}

/// Moves the back end that was just built to the folder in which it is searched. No copy stays: the loader would use a
/// copy next to the binary as a component, and Cargo one MPI's for another's, since the name is the same.
fn take_back_end(workspace: &Workspace, mpi: &Mpi) -> Result<(), StepError> {
    let release = workspace.release();
    let built = release.join(BACK_END);
    place_back_end(workspace, mpi, &built)?;
    for path in [built, release.join("deps").join(BACK_END)] {
        match fs::remove_file(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                return Err(StepError::File {
                    act: "remove",
                    path: path.display().to_string(),
                    source,
                });
            }
            _ => {}
        }
    }
    Ok(())
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

/// Builds the programs and the components: all that needs neither MPI nor libclang nor Python.
pub fn build_programs(workspace: &Workspace) -> Result<(), StepError> {
    let words = [
        &["build", "--release", "--workspace"],
        &OF_AN_MPI[..],
        &OF_PYTHON[..],
    ]
    .concat();
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
    let mut command = workspace.c_compiler();
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

/// `cargo` set up for the tests of the MPI back end under one MPI, in a target folder of its own: by itself the package is built with
/// other features of the crates that it uses.
pub fn back_end_cargo(workspace: &Workspace, mpi: &Mpi, arguments: &[&str]) -> Command {
    let mut command = workspace.cargo(arguments);
    command.env("CARGO_TARGET_DIR", back_end_target(workspace, mpi));
    with_mpi(&mut command, mpi);
    command
}

fn with_mpi<'a>(command: &'a mut Command, mpi: &Mpi) -> &'a mut Command {
    command
        .env("MPICC", &mpi.mpicc)
        // The build script would use either of these before MPICC.
        .env_remove("MPI_PKG_CONFIG")
        .env_remove("CRAY_MPICH_DIR")
}

fn back_end_target(workspace: &Workspace, mpi: &Mpi) -> PathBuf {
    workspace.target.join("mpi").join(mpi.kind.name())
}

fn build_back_end(workspace: &Workspace, mpi: &Mpi, targets: &[&str]) -> Result<(), StepError> {
    begin_target(workspace, mpi)?;
    let title = format!("MPI back end for {}", mpi.kind.name());
    // Quiet, since another build prints its progress at the same time.
    let arguments = [
        &["build", "--release", "--quiet", "-p", "cca-comm-mpi"],
        targets,
    ]
    .concat();
    run_step(&title, &mut back_end_cargo(workspace, mpi, &arguments))?;
    let built = back_end_target(workspace, mpi)
        .join("release")
        .join(BACK_END);
    place_back_end(workspace, mpi, &built)
}

fn place_back_end(workspace: &Workspace, mpi: &Mpi, built: &Path) -> Result<(), StepError> {
    let folder = workspace.release().join("mpi").join(mpi.kind.name());
    place(built, &folder, BACK_END)
}

/// Fills the target folder of one MPI with the build for another, except for the bindings: most of it is the same.
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
    // Their build script does not declare that it depends on MPICC.
    let [sys, safe] = BINDINGS;
    let words = ["clean", "--release", "--quiet", "-p", sys, "-p", safe];
    let mut clean = back_end_cargo(workspace, mpi, &words);
    clean.env("CARGO_TARGET_DIR", &new);
    run_step("without the bindings", &mut clean)?;
    fs::rename(&new, &target).map_err(failed("rename"))
}

/// Puts a copy of `file` into `folder` under `name`. The old copy is replaced, not overwritten, so
/// a process that has it mapped continues.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bindings_of_one_mpi_are_not_taken_for_those_of_another() {
        let [first, second] = MpiKind::ALL.map(|kind| {
            let mut command = Command::new("cargo");
            with_bindings(&mut command, &Mpi::of_packages(kind));
            let words = command.get_args().map(|word| word.to_os_string());
            words.collect::<Vec<_>>()
        });
        assert_ne!(first, second);
        assert_eq!(first[0], "--config");
    }
}
