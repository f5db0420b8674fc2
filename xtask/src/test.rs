//! `cargo xtask test`: every check there is, then the end-to-end tests once more with MPI hidden.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::build::{self, back_end_cargo, back_ends};
use crate::steps::{StepError, run_step};
use crate::system::System;
use crate::workspace::Workspace;

/// Packages with loom tests, and the arguments that select those tests.
const LOOM: &[(&str, &[&str])] = &[("cca-core", &["--test", "loom_connector"])];

/// Runs all checks; the first that fails ends it.
pub fn test(workspace: &Workspace, system: &System) -> Result<(), StepError> {
    run_step(
        "rustfmt",
        &mut workspace.cargo(&["fmt", "--all", "--check"]),
    )?;
    let clippy = ["clippy", "--release", "--all-targets"];
    let deny = ["--", "-D", "warnings"];
    run_step(
        "clippy",
        &mut workspace.cargo(&[&clippy[..], &deny].concat()),
    )?;
    for mpi in back_ends(system) {
        let arguments = [&clippy[..], &["-p", "cca-comm-mpi"], &deny].concat();
        let title = format!("clippy, MPI back end for {}", mpi.kind.name());
        run_step(&title, &mut back_end_cargo(workspace, mpi, &arguments))?;
    }
    build::build(workspace, system)?;
    run_step("tests", &mut workspace.cargo(&["test", "--release"]))?;
    for mpi in back_ends(system) {
        let title = format!("tests, MPI back end for {}", mpi.kind.name());
        let arguments = ["test", "--release", "-p", "cca-comm-mpi"];
        run_step(&title, &mut back_end_cargo(workspace, mpi, &arguments))?;
    }
    loom(workspace)?;
    serial(workspace)
}

/// The tests that try every interleaving of a few threads; all crates are built anew for them.
fn loom(workspace: &Workspace) -> Result<(), StepError> {
    LOOM.iter().try_for_each(|(package, selection)| {
        let arguments = [&["test", "--release", "-p", package][..], selection].concat();
        let mut command = workspace.cargo(&arguments);
        command
            .env("RUSTFLAGS", "--cfg loom")
            .env("CARGO_TARGET_DIR", workspace.target.join("loom"));
        run_step(&format!("loom, {package}"), &mut command)
    })
}

/// The end-to-end tests as on a machine without MPI: no MPI program on PATH, no MPI library on
/// LD_LIBRARY_PATH, and binaries without the back ends beside them.
fn serial(workspace: &Workspace) -> Result<(), StepError> {
    let folder = workspace.target.join("serial");
    let hidden = hide_mpi(workspace, &folder).map_err(|source| StepError::File {
        act: "prepare",
        path: folder.display().to_string(),
        source,
    })?;
    let mut command = workspace.cargo(&["test", "--release", "-p", "mastermind-tests"]);
    command
        .env("PATH", &hidden.path)
        .env("MASTERMIND_TEST_BIN_DIR", &hidden.binaries);
    match hidden.library_path {
        Some(path) => command.env("LD_LIBRARY_PATH", path),
        None => command.env_remove("LD_LIBRARY_PATH"),
    };
    run_step("tests, MPI hidden", &mut command)
}

/// What a machine without MPI would offer.
struct Hidden {
    path: PathBuf,
    binaries: PathBuf,
    library_path: Option<OsString>,
}

fn hide_mpi(workspace: &Workspace, folder: &Path) -> io::Result<Hidden> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    let (path, binaries) = (folder.join("path"), folder.join("bin"));
    fs::create_dir_all(&path)?;
    fs::create_dir_all(&binaries)?;
    for program in on(env::var_os("PATH")).iter().flat_map(files) {
        let Some(name) = program.file_name() else {
            continue;
        };
        let link = path.join(name);
        // The first on PATH is the one that counts.
        if !is_mpi_program(&name.to_string_lossy()) && link.symlink_metadata().is_err() {
            symlink(
                fs::canonicalize(program.parent().unwrap_or(&path))?.join(name),
                link,
            )?;
        }
    }
    for file in files(&workspace.release()) {
        let Some(name) = file.file_name() else {
            continue;
        };
        let copy = binaries.join(name);
        fs::hard_link(&file, &copy).or_else(|_| fs::copy(&file, &copy).map(|_| ()))?;
    }
    let library_path = env::var_os("LD_LIBRARY_PATH").map(|value| {
        let kept = on(Some(value))
            .into_iter()
            .filter(|folder| !holds_mpi(folder));
        env::join_paths(kept).unwrap_or_default()
    });
    Ok(Hidden {
        path,
        binaries,
        library_path,
    })
}

/// The folders of a search path.
fn on(search_path: Option<OsString>) -> Vec<PathBuf> {
    search_path
        .map(|value| env::split_paths(&value).collect())
        .unwrap_or_default()
}

/// The files directly in `folder`, links to files included.
fn files(folder: &PathBuf) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|e| e.path())
        .filter(|p| p.is_file())
}

fn holds_mpi(folder: &PathBuf) -> bool {
    files(folder).any(|file| {
        file.file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with("libmpi"))
    })
}

/// Whether a program of this name belongs to an MPI, its launcher or its compilers.
fn is_mpi_program(name: &str) -> bool {
    const PREFIXES: [&str; 10] = [
        "mpi", "ompi", "orte", "opal", "osh", "shmem", "hydra", "prte", "prun", "pmix",
    ];
    name == "srun" || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_of_mpi_are_known_by_name() {
        for name in [
            "mpirun",
            "mpicc.mpich",
            "orted",
            "hydra_pmi_proxy",
            "prterun",
            "srun",
        ] {
            assert!(is_mpi_program(name), "{name}");
        }
        for name in ["cargo", "cc", "prename", "git", "opam"] {
            assert!(!is_mpi_program(name), "{name}");
        }
    }
}
