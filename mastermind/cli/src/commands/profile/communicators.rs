//! The communicators that recorded calls of MPI name, with their ranks.

use std::collections::BTreeMap;

use mastermind_records::Run;
use serde::Serialize;

use crate::output;

/// A communicator as a rank names it.
#[derive(Clone, Debug, Serialize)]
pub struct CommunicatorRow {
    rank: u32,
    #[serde(flatten)]
    communicator: mastermind_records::definition::MpiCommunicatorDefinition,
}

impl CommunicatorRow {
    /// Whether it is not `MPI_COMM_WORLD`.
    pub fn is_no_world(&self) -> bool {
        self.communicator.number != 0
    }
}

/// The table of them, the first `top`.
pub fn text(rows: &[CommunicatorRow], top: usize) -> String {
    let header = ["RANK", "COMM", "RANKS", "OWN", "RANKS OF MPI_COMM_WORLD"];
    let cells = |row: &CommunicatorRow| {
        let communicator = &row.communicator;
        let members = match &communicator.world_ranks {
            None => "the same".into(),
            Some(ranks) => short(ranks),
        };
        let kind = if communicator.is_inter {
            " (the other group)"
        } else {
            ""
        };
        vec![
            row.rank.to_string(),
            communicator.number.to_string(),
            communicator.ranks.to_string(),
            communicator.own.to_string(),
            members + kind,
        ]
    };
    output::table(&header, &[0, 1, 2, 3], rows.iter().take(top).map(cells))
}

/// Maximum number of ranks of a communicator that are shown.
const MAX_RANKS_SHOWN: usize = 16;

fn short(ranks: &[i32]) -> String {
    let shown: Vec<_> = ranks
        .iter()
        .take(MAX_RANKS_SHOWN)
        .map(i32::to_string)
        .collect();
    let more = ranks.len().saturating_sub(MAX_RANKS_SHOWN);
    match more {
        0 => shown.join(" "),
        more => format!("{} and {more} more", shown.join(" ")),
    }
}

/// The communicators of each rank.
pub fn rows(run: &Run) -> Vec<CommunicatorRow> {
    let of_rank = |rank: u32| {
        let mut known = BTreeMap::new();
        for (log, _) in run.logs_of(rank) {
            let all = log.definitions().mpi_communicators.iter();
            known.extend(all.map(|communicator| (communicator.number, communicator.clone())));
        }
        known
            .into_values()
            .map(move |communicator| CommunicatorRow { rank, communicator })
    };
    run.ranks().into_iter().flat_map(of_rank).collect()
}
