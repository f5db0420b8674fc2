//! The MPIs of this machine that can be tested: launcher and back end.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::Command;
use std::thread::available_parallelism;

use cca_comm::{MpiKind, find_launcher, launch_command, version_of};

use crate::{back_end_library, skip};

/// An MPI with its launcher and a back end.
pub struct Mpi {
    /// Which.
    pub kind: MpiKind,
    launcher: String,
}

impl Mpi {
    /// The launcher's line for `ranks` of the program under test, started by hand.
    pub fn launch(&self, ranks: usize) -> Command {
        let as_root = fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
        let cores = available_parallelism().map_or(1, usize::from);
        let words = launch_command(&self.launcher, self.kind, ranks, as_root, cores);
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        command
    }
}

/// The MPIs that can be tested; a note for each that cannot.
pub fn mpis() -> Vec<Mpi> {
    let there = |kind: MpiKind| {
        let launcher = find_launcher(kind, version_of);
        let Some(launcher) = launcher else {
            skip(kind.name(), format_args!("no launcher of {kind}"));
            return None;
        };
        back_end_library(kind.name()).map(|_| Mpi { kind, launcher })
    };
    MpiKind::ALL.into_iter().filter_map(there).collect()
}
