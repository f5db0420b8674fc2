//! `profile --matrix` and `plot --kind matrix`: how much each rank has sent to each other rank.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::bail;
use mastermind_records::Run;
use serde::Serialize;

use crate::figures::matrix::{self, Matrix};
use crate::output;

/// Messages from one rank to another, by their ranks in `MPI_COMM_WORLD`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Cell {
    from: u32,
    to: u32,
    messages: u64,
    bytes: u64,
}

/// The communication matrix of a run: its point-to-point messages, as their senders recorded them, and its one-sided
/// transfers, in both directions if a call reads and writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Table {
    ranks: usize,
    /// Pairs that have exchanged any.
    cells: Vec<Cell>,
}

impl Table {
    /// # Errors
    /// The run has no recorded calls of MPI with communicators.
    pub fn of(run: &Run, directory: &Path) -> anyhow::Result<Self> {
        let methods = || {
            run.logs()
                .iter()
                .flat_map(|log| log.definitions().methods())
        };
        let has_peers = methods().any(|method| {
            method.is_mpi()
                && method
                    .parameters
                    .iter()
                    .any(|parameter| parameter.name == "world_peer")
        });
        if !has_peers {
            bail!(
                "cannot show the communication matrix of \"{}\": no calls of MPI with their peers, expected some; record with wrap --mpi-events",
                directory.display()
            );
        }
        let mut cells = BTreeMap::<(u32, u32), (u64, u64)>::new();
        for calls in run.mpi_calls() {
            let own = calls.rank;
            let sent = calls.to.into_iter().map(|(to, moved)| ((own, to), moved));
            let fetched = calls.from.into_iter();
            let fetched = fetched.map(|(from, moved)| ((from, own), moved));
            for (pair, (messages, bytes)) in sent.chain(fetched) {
                let cell = cells.entry(pair).or_default();
                cell.0 += messages;
                cell.1 += bytes;
            }
        }
        let cell = |((from, to), (messages, bytes))| Cell {
            from,
            to,
            messages,
            bytes,
        };
        Ok(Self {
            ranks: run.ranks().len(),
            cells: cells.into_iter().map(cell).collect(),
        })
    }

    /// The pairs with the most bytes first.
    pub fn text(&self, top: usize) -> String {
        let mut cells = self.cells.clone();
        cells.sort_by_key(|cell| std::cmp::Reverse(cell.bytes));
        let row = |cell: &Cell| {
            vec![
                cell.from.to_string(),
                cell.to.to_string(),
                cell.messages.to_string(),
                cell.bytes.to_string(),
                format!("{:.1}", cell.bytes as f64 / cell.messages.max(1) as f64),
            ]
        };
        let header = ["FROM", "TO", "MESSAGES", "BYTES", "BYTES/MESSAGE"];
        output::table(&header, &[0, 1, 2, 3, 4], cells.iter().take(top).map(row))
    }

    /// The picture.
    pub fn figure(&self) -> Matrix {
        let highest = self
            .cells
            .iter()
            .map(|cell| cell.from.max(cell.to) + 1)
            .max();
        let cells = self.cells.iter().filter(|cell| cell.bytes > 0);
        Matrix {
            title: "bytes sent from rank to rank".into(),
            n_ranks: highest.unwrap_or(0).max(self.ranks as u32),
            cells: cells
                .map(|cell| matrix::Cell {
                    from: cell.from,
                    to: cell.to,
                    bytes: cell.bytes,
                })
                .collect(),
        }
    }
}
