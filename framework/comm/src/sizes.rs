//! Compares the launcher's number of ranks with MPI's: a wrong launcher or a missing back end must
//! never lead to n separate runs of one rank.

use thiserror::Error;

use crate::{Launched, Launcher, MpiKind};

/// Size that the MPI back end reports after it has started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MpiSize {
    /// The implementation it was built with.
    pub kind: MpiKind,
    /// Number of ranks of its communicator.
    pub size: i32,
}

/// Why this process must not continue.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum SizeError {
    /// The launcher started another number of ranks than MPI has.
    #[error(
        "cannot run {}: {kind} has {found}, expected the {wanted} that {} started; start with \
         {kind}'s own launcher, or choose the other MPI with --mpi",
        ranks(*wanted), launcher.name()
    )]
    Mismatch {
        /// The MPI in use.
        kind: MpiKind,
        /// Its number of ranks.
        found: i32,
        /// The launcher's number of ranks.
        wanted: i32,
        /// The launcher.
        launcher: Launcher,
    },
    /// The launcher started several ranks, and there is no MPI to join them.
    #[error(
        "cannot run {}: no MPI back end found, expected one for {}; build it with cargo xtask \
         build, or run without a launcher",
        wanted.map_or_else(|| "the ranks".to_owned(), ranks), launcher.name()
    )]
    MissingBackEnd {
        /// The launcher's number of ranks, if it reports one.
        wanted: Option<i32>,
        /// The launcher.
        launcher: Launcher,
    },
}

fn ranks(count: i32) -> String {
    format!("{count} rank{}", if count == 1 { "" } else { "s" })
}

/// Compares the launcher's number of ranks with MPI's.
///
/// # Arguments
/// * `launched` - the launcher's description, `None` without a launcher
/// * `mpi` - MPI's size, `None` if no back end is loaded
///
/// # Errors
/// [`SizeError::Mismatch`] if the numbers differ; [`SizeError::MissingBackEnd`] if several ranks,
/// or an unknown number, were started without a back end. Without a launcher MPI's size is always
/// accepted: there are launchers we do not know.
pub fn compare_sizes(launched: Option<&Launched>, mpi: Option<MpiSize>) -> Result<(), SizeError> {
    let Some(&Launched { size, launcher, .. }) = launched else {
        return Ok(());
    };
    match (size, mpi) {
        (Some(wanted), Some(MpiSize { kind, size: found })) if wanted != found => {
            Err(SizeError::Mismatch {
                kind,
                found,
                wanted,
                launcher,
            })
        }
        (_, Some(_)) | (Some(1), None) => Ok(()),
        (wanted, None) => Err(SizeError::MissingBackEnd { wanted, launcher }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by(launcher: Launcher, size: Option<i32>) -> Option<Launched> {
        Some(Launched {
            rank: 0,
            local_size: None,
            size,
            launcher,
        })
    }

    #[test]
    fn equal_sizes_and_single_ranks_go_on() {
        let mpi = |size| {
            Some(MpiSize {
                kind: MpiKind::OpenMpi,
                size,
            })
        };
        let open_mpi = |size| by(Launcher::OpenMpi, Some(size));
        for (launched, mpi) in [
            (None, None),
            (None, mpi(1)),
            (None, mpi(8)),
            (open_mpi(3), mpi(3)),
            (open_mpi(1), mpi(1)),
            (open_mpi(1), None),
            (by(Launcher::Pmix, None), mpi(3)),
        ] {
            assert_eq!(
                compare_sizes(launched.as_ref(), mpi),
                Ok(()),
                "{launched:?} {mpi:?}"
            );
        }
    }

    #[test]
    fn the_wrong_launcher_is_named() {
        let mpi = MpiSize {
            kind: MpiKind::Mpich,
            size: 1,
        };
        let error = compare_sizes(by(Launcher::OpenMpi, Some(3)).as_ref(), Some(mpi));
        assert_eq!(
            error.expect_err("mismatch").to_string(),
            "cannot run 3 ranks: MPICH has 1, expected the 3 that Open MPI's mpirun started; start \
             with MPICH's own launcher, or choose the other MPI with --mpi"
        );
    }

    #[test]
    fn a_missing_back_end_is_named() {
        for (size, what) in [(Some(3), "3 ranks"), (None, "the ranks")] {
            let error = compare_sizes(by(Launcher::Slurm, size).as_ref(), None);
            assert_eq!(
                error.expect_err("no back end").to_string(),
                format!(
                    "cannot run {what}: no MPI back end found, expected one for Slurm's srun; \
                     build it with cargo xtask build, or run without a launcher"
                )
            );
        }
    }
}
