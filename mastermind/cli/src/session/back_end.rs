//! The ranks: the launcher's variables, the matching back end, and starting ranks ourselves.

use std::io::ErrorKind;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::os::unix::process::{CommandExt, parent_id};
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, anyhow, bail};
use cca_comm::{Launched, Launcher, MpiKind, find_launcher, launch_command, launched, version_of};
use clap::ValueEnum;

use super::{MPI_PROXY, libraries_folder};

/// An MPI by the name that `--mpi` takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MpiName {
    /// Open MPI.
    Openmpi,
    /// MPICH.
    Mpich,
}

impl From<MpiName> for MpiKind {
    fn from(name: MpiName) -> Self {
        match name {
            MpiName::Openmpi => MpiKind::OpenMpi,
            MpiName::Mpich => MpiKind::Mpich,
        }
    }
}

/// Both, in the order in which they are tried.
pub const KINDS: [MpiKind; 2] = [MpiKind::OpenMpi, MpiKind::Mpich];

/// The launcher that started this process, if one did.
///
/// # Errors
/// Its variables are invalid.
pub fn launcher() -> anyhow::Result<Option<Launched>> {
    Ok(launched(|name| std::env::var(name).ok())?)
}

/// Whether this is the first of the processes that a launcher started on this machine, or the only one.
pub fn is_first_on_node() -> bool {
    let places = [
        "OMPI_COMM_WORLD_LOCAL_RANK",
        "MPI_LOCALRANKID",
        "SLURM_LOCALID",
    ];
    let place = places.iter().find_map(|name| std::env::var(name).ok());
    place.is_none_or(|place| place == "0")
}

/// Whether no other process that a launcher started on this machine has called this before. That process reports an
/// error that all have in the middle of a run, when they can no longer communicate.
pub fn is_first_to_report() -> bool {
    // The processes that it started on a machine are children of one process. The name is free again when its holder
    // has ended.
    let name = format!("mastermind: last words to {}", parent_id());
    let claimed =
        SocketAddr::from_abstract_name(name).and_then(|name| UnixListener::bind_addr(&name));
    match claimed {
        Ok(held) => {
            std::mem::forget(held);
            true
        }
        Err(error) => error.kind() != ErrorKind::AddrInUse,
    }
}

/// Path of an MPI's back end, whether it exists or not.
///
/// # Errors
/// The system does not report the path of this program.
pub fn library(kind: MpiKind) -> anyhow::Result<PathBuf> {
    Ok(libraries_folder()?
        .join("mpi")
        .join(kind.name())
        .join("libcca_comm_mpi.so"))
}

/// Path of the proxy of MPI, whether it exists or not.
///
/// # Errors
/// The system does not report the path of this program.
pub fn mpi_proxy() -> anyhow::Result<PathBuf> {
    Ok(libraries_folder()?.join(MPI_PROXY))
}

/// The back end for the ranks that a launcher started, if there is one.
///
/// # Errors
/// The system does not report the path of this program.
pub fn back_end(
    launched: &Launched,
    wanted: Option<MpiKind>,
) -> anyhow::Result<Option<(MpiKind, PathBuf)>> {
    let natural = match launched.launcher {
        Launcher::OpenMpi => Some(MpiKind::OpenMpi),
        Launcher::Mpich => Some(MpiKind::Mpich),
        _ => None,
    };
    let candidates: Vec<_> = match wanted.or(natural) {
        Some(kind) => vec![kind],
        None => KINDS.to_vec(),
    };
    for kind in candidates {
        let library = library(kind)?;
        if library.exists() {
            return Ok(Some((kind, library)));
        }
    }
    Ok(None)
}

/// Becomes the launcher that starts `ranks` processes of this very command.
///
/// # Errors
/// No MPI with both a launcher and a back end; the launcher cannot be started. On success it does not return.
pub fn start_ranks(ranks: usize, wanted: Option<MpiKind>) -> anyhow::Result<()> {
    let found = launch(ranks, wanted);
    let (_, mut command) = found.map_err(|error| anyhow!("cannot run {ranks} ranks: {error}"))?;
    command.args(std::env::args_os().skip(1));
    let program = command.get_program().to_string_lossy().into_owned();
    super::trial::end();
    let error = command.exec();
    Err(error).with_context(|| format!("cannot start launcher \"{program}\""))
}

/// The command line that starts this program on `ranks` ranks, without arguments of its own, and its MPI.
///
/// # Errors
/// No MPI with both a launcher and a back end.
pub fn launch(ranks: usize, wanted: Option<MpiKind>) -> anyhow::Result<(MpiKind, Command)> {
    let kinds = KINDS.into_iter();
    let mut missing = Vec::new();
    for kind in kinds.filter(|kind| wanted.is_none_or(|wanted| wanted == *kind)) {
        let Some(program) = find_launcher(kind, version_of) else {
            missing.push(format!("no launcher of {kind}"));
            continue;
        };
        if !library(kind)?.exists() {
            missing.push(format!("no back end for {kind}"));
            continue;
        }
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let is_root = rustix::process::geteuid().is_root();
        let words = launch_command(&program, kind, ranks, is_root, cores);
        let own = std::env::current_exe().context("cannot find this program")?;
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).arg(own);
        return Ok((kind, command));
    }
    bail!(
        "{}, expected an MPI with its back end; run mastermind doctor",
        missing.join(", ")
    )
}
