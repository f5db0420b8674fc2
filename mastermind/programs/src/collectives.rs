//! The activities of the collectives, from `collectives.toml`, and which of them a library takes.

use std::sync::LazyLock;

use crate::model::{Activity, Model};
use crate::read::read_toml;

/// Read once; the tests see that it can be read.
static COLLECTIVES: LazyLock<Option<Model>> =
    LazyLock::new(|| read_toml(include_str!("collectives.toml")).ok());

/// The activity of a collective.
pub(crate) fn activity(name: &str) -> Option<&'static Activity> {
    COLLECTIVES.as_ref()?.activities.get(name)
}

/// Library whose choices of algorithms a simulation uses.
///
/// # Source
/// MPICH: R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19(1), 2005, the sizes that its configuration variables
/// (`MPIR_CVAR_BCAST_SHORT_MSG_SIZE` and the like) still have as defaults. Open MPI: the fixed rules of its component
/// `coll/tuned` up to 4.0 (`coll_tuned_decision_fixed.c`); its split binary tree for broadcasts is modelled as the
/// scatter and ring, its binary trees of reductions as binomial, and segments of all pipelines as 64 KiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Collectives {
    /// One algorithm each, for all sizes: binomial trees, recursive doubling, pairwise exchange.
    #[default]
    Basic,
    /// As MPICH.
    Mpich,
    /// As Open MPI.
    OpenMpi,
}

/// An algorithm for messages up to a size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Choice {
    /// Bytes; infinite for the last.
    pub most_bytes: f64,
    /// Name of its activity.
    pub activity: &'static str,
}

impl Collectives {
    /// Each with its name in a machine file.
    pub const ALL: [(&'static str, Self); 3] = [
        ("basic", Self::Basic),
        ("mpich", Self::Mpich),
        ("openmpi", Self::OpenMpi),
    ];

    /// Its name in a machine file.
    pub fn name(self) -> &'static str {
        let mut all = Self::ALL.into_iter();
        all.find(|(_, library)| *library == self)
            .map_or("", |(name, _)| name)
    }

    /// Algorithms of a library for a collective, by size, the last for all larger sizes.
    pub(crate) fn choices(self, collective: &'static str, processes: u32) -> Vec<Choice> {
        let last = |activity| (f64::INFINITY, activity);
        // Some libraries decide by the bytes of all parts together.
        let by_parts = |most: f64, small, large| {
            vec![(most / f64::from(processes.max(1)), small), last(large)]
        };
        let list = match (self, collective) {
            (Self::Mpich, "broadcast") if processes < 8 => vec![last("broadcast")],
            // Up to half a MiB on a power of two it gathers by doubling; here that part goes around the
            // ring.
            (Self::Mpich, "broadcast") => vec![(12_287.0, "broadcast"), last("broadcast by parts")],
            (Self::Mpich, "reduce") => vec![(2048.0, "reduce"), last("reduce by halves")],
            (Self::Mpich, "allreduce") => vec![(2048.0, "allreduce"), last("allreduce by halves")],
            (Self::Mpich, "alltoall") if processes >= 8 => vec![
                (256.0, "alltoall by bits"),
                (32_768.0, "alltoall at once"),
                last("alltoall"),
            ],
            (Self::Mpich, "alltoall") => vec![(32_768.0, "alltoall at once"), last("alltoall")],
            (Self::OpenMpi, "broadcast") => vec![
                (2047.0, "broadcast"),
                (370_727.0, "broadcast by parts"),
                last("broadcast by pipeline"),
            ],
            (Self::OpenMpi, "reduce") => vec![(20_479.0, "reduce"), last("reduce by pipeline")],
            (Self::OpenMpi, "allreduce") => vec![(9999.0, "allreduce"), last("allreduce by ring")],
            (Self::OpenMpi, "alltoall") if processes > 12 => vec![
                (199.0, "alltoall by bits"),
                (2999.0, "alltoall at once"),
                last("alltoall"),
            ],
            (Self::OpenMpi, "alltoall") => vec![(2999.0, "alltoall at once"), last("alltoall")],
            (Self::Mpich, "allgather") => by_parts(524_287.0, "allgather", "allgather by ring"),
            (Self::OpenMpi, "allgather") => by_parts(49_999.0, "allgather", "allgather by ring"),
            (Self::Mpich, "reducescatter") => {
                by_parts(524_287.0, "reducescatter by halves", "reducescatter")
            }
            (Self::OpenMpi, "reducescatter") => {
                by_parts(12_288.0, "reducescatter by halves", "reducescatter")
            }
            (Self::OpenMpi, "scan") => vec![last("scan in line")],
            _ => vec![last(collective)],
        };
        let choice = |(most_bytes, activity)| Choice {
            most_bytes,
            activity,
        };
        list.into_iter().map(choice).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CollectiveKind;

    #[test]
    fn every_choice_has_its_activity() {
        for (name, library) in Collectives::ALL {
            for (collective, _) in CollectiveKind::ALL {
                for processes in [2, 8, 100] {
                    let choices = library.choices(collective, processes);
                    assert_eq!(choices.last().map(|c| c.most_bytes), Some(f64::INFINITY));
                    for choice in choices {
                        assert!(activity(choice.activity).is_some(), "{name}: {choice:?}");
                    }
                }
            }
        }
    }
}
