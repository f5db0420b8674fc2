//! The tables of `profile --mpi` as text.
//!
//! Each table is a method of [`Report`] that lays out its rows; a value that is not known is an empty cell. Times are
//! milliseconds, those of single calls microseconds.
//!
//! ```text
//!  MPI ms  APP %  MPI %  CALLS  ...  FUNCTION
//!   0.131   1.20   1.27    100  ...  MPI_Send
//! ```

use mastermind_records::MpiRank;

use super::{CommunicatorSizeRow, FunctionRow, RankRow, Report, SiteRow, SizeRow, Spread};
use crate::commands::profile::communicators::{self, CommunicatorRow};
use crate::commands::profile::now;
use crate::commands::profile::phases::PhaseRow;
use crate::output;

impl Report {
    /// The tables as text.
    pub fn text(&self, top: usize) -> String {
        let mut parts = vec![
            rank_text(
                &self.ranks,
                Some([self.application_over_ranks, self.over_ranks]),
            ),
            self.function_text(top),
        ];
        if let Some(efficiency) = &self.efficiency {
            parts.insert(1, efficiency.to_string());
        }
        let n_found = self.ranks.iter().filter(|row| row.has_mpi()).count();
        if let Some(text) = now::missing_ranks(self.ranks_of_run, n_found) {
            parts.push(text);
        }
        if self.has_spawned {
            parts.push(now::SPAWNED.into());
        }
        if !self.calls_now.is_empty() {
            parts.push(now::text(&self.calls_now));
        }
        if self.is_assembly {
            parts.push("times and calls of functions are of whole processes, percentages of the recorded calls, which components made".into());
        }
        if self
            .functions
            .iter()
            .all(|function| function.recorded.is_none())
        {
            parts.push(
                "least and greatest calls, sizes and call sites: record with wrap --mpi-events or wrap --call-sites".into(),
            );
        } else {
            parts.push(self.size_text());
            parts.push(self.by_communicator_text(top));
        }
        if self.calls_without_site > 0 {
            parts.push(format!(
                "{} calls are in the functions' rows only: there was no room for their sizes and call sites",
                self.calls_without_site
            ));
        }
        if !self.call_sites.is_empty() {
            parts.push(self.site_text(top));
        }
        if !self.phases.is_empty() {
            parts.push(self.phase_text());
        }
        if self.communicators.iter().any(CommunicatorRow::is_no_world) {
            parts.push(communicators::text(&self.communicators, top));
        }
        parts.join("\n\n")
    }

    fn function_text(&self, top: usize) -> String {
        let header = [
            "MPI ms",
            "APP %",
            "MPI %",
            "CALLS",
            "FAILED",
            "LEAST us",
            "MEAN us",
            "GREATEST us",
            "MAX/MEAN",
            "COV",
            "BYTES",
            "LEAST B",
            "MEAN B",
            "GREATEST B",
            "OF BYTES %",
            "FUNCTION",
        ];
        let cells = |row: &FunctionRow| {
            let us = |ns: u64| format!("{:.2}", ns as f64 * 1e-3);
            let known = |text: Option<String>| text.unwrap_or_default();
            let sizes = row.sizes.as_ref();
            vec![
                format!("{:.3}", row.ns as f64 * 1e-6),
                share(row.shares.map(|shares| shares.app_percent)),
                share(row.shares.map(|shares| shares.mpi_percent)),
                row.calls.to_string(),
                row.failed.to_string(),
                known(row.recorded.map(|times| us(times.least_ns))),
                format!("{:.2}", row.ns as f64 * 1e-3 / row.calls.max(1) as f64),
                known(row.recorded.map(|times| us(times.greatest_ns))),
                format!("{:.2}", row.over_ranks.imbalance),
                format!("{:.2}", row.over_ranks.cov),
                known(sizes.map(|sizes| sizes.bytes.to_string())),
                known(sizes.map(|sizes| sizes.least_bytes.to_string())),
                known(sizes.map(|sizes| format!("{:.1}", sizes.mean_bytes()))),
                known(sizes.map(|sizes| sizes.greatest_bytes.to_string())),
                known(row.moved.percent().map(|percent| format!("{percent:.2}"))),
                row.name.clone(),
            ]
        };
        let numbers: Vec<_> = (0..header.len() - 1).collect();
        output::table(
            &header,
            &numbers,
            self.functions.iter().take(top).map(cells),
        )
    }

    fn size_text(&self) -> String {
        let header = [
            "FROM B",
            "TO B",
            "MESSAGES",
            "BYTES",
            "MEAN us",
            "LEAST us",
            "GREATEST us",
            "FUNCTION",
        ];
        let cells = |row: &SizeRow| {
            let us = |ns: f64| format!("{:.2}", ns * 1e-3);
            vec![
                row.from_bytes.to_string(),
                row.to_bytes.to_string(),
                row.messages.to_string(),
                row.bytes.to_string(),
                us(row.times.mean_ns()),
                us(row.times.least_ns as f64),
                us(row.times.greatest_ns as f64),
                row.name.clone(),
            ]
        };
        output::table(
            &header,
            &[0, 1, 2, 3, 4, 5, 6],
            self.sizes.iter().map(cells),
        )
    }

    fn by_communicator_text(&self, top: usize) -> String {
        let header = [
            "RANKS", "BYTES", "CALLS", "MPI ms", "APP %", "MPI %", "MEAN us", "ALL B", "FUNCTION",
        ];
        let range = |from: u64, to: u64| match from == to {
            true => from.to_string(),
            false => format!("{from}-{to}"),
        };
        let cells = |row: &CommunicatorSizeRow| {
            vec![
                range(row.from_ranks, row.to_ranks),
                range(row.from_bytes, row.to_bytes),
                row.times.calls.to_string(),
                format!("{:.3}", row.times.ns as f64 * 1e-6),
                share(row.shares.map(|shares| shares.app_percent)),
                share(row.shares.map(|shares| shares.mpi_percent)),
                format!("{:.2}", row.times.mean_ns() * 1e-3),
                row.bytes.to_string(),
                row.name.clone(),
            ]
        };
        let rows = self.by_communicator.iter().take(top).map(cells);
        output::table(&header, &[0, 1, 2, 3, 4, 5, 6, 7], rows)
    }

    fn site_text(&self, top: usize) -> String {
        let header = [
            "MPI ms",
            "APP %",
            "MPI %",
            "CALLS",
            "LEAST us",
            "MEAN us",
            "GREATEST us",
            "COV",
            "MESSAGES",
            "BYTES",
            "LEAST B",
            "MEAN B",
            "GREATEST B",
            "OF BYTES %",
            "FUNCTION",
            "CALL SITE",
        ];
        let cells = |row: &SiteRow| {
            let us = |ns: f64| format!("{:.2}", ns * 1e-3);
            let site = match row.rank {
                Some(rank) => format!("{} [rank {rank}]", row.call_site),
                None => row.call_site.clone(),
            };
            vec![
                format!("{:.3}", row.times.ns as f64 * 1e-6),
                share(row.shares.map(|shares| shares.app_percent)),
                share(row.shares.map(|shares| shares.mpi_percent)),
                row.times.calls.to_string(),
                us(row.times.least_ns as f64),
                us(row.times.mean_ns()),
                us(row.times.greatest_ns as f64),
                row.cov.map_or_else(String::new, |cov| format!("{cov:.2}")),
                row.sizes.messages.to_string(),
                row.sizes.bytes.to_string(),
                row.sizes.least_bytes.to_string(),
                format!("{:.1}", row.sizes.mean_bytes()),
                row.sizes.greatest_bytes.to_string(),
                share(row.moved.percent()),
                row.name.clone(),
                site,
            ]
        };
        let numbers: Vec<_> = (0..header.len() - 2).collect();
        output::table(
            &header,
            &numbers,
            self.call_sites.iter().take(top).map(cells),
        )
    }

    fn phase_text(&self) -> String {
        let header = [
            "LEVEL",
            "PARTS",
            "APPLICATION ms",
            "MPI ms",
            "MPI %",
            "CALLS",
            "MOST TIME IN",
        ];
        let cells = |row: &PhaseRow| {
            let most = row.functions.iter().max_by_key(|(_, (_, ns))| *ns);
            vec![
                row.level.to_string(),
                row.parts.to_string(),
                format!("{:.3}", row.application_ns as f64 * 1e-6),
                format!("{:.3}", row.mpi_ns as f64 * 1e-6),
                format!(
                    "{:.2}",
                    100.0 * row.mpi_ns as f64 / row.thread_ns.max(1) as f64
                ),
                row.calls.to_string(),
                most.map_or_else(String::new, |(name, _)| name.clone()),
            ]
        };
        output::table(&header, &[0, 1, 2, 3, 4, 5], self.phases.iter().map(cells))
    }
}

/// Application and MPI time of each rank, and how MPI time differs between them.
///
/// # Arguments
/// * `over_ranks` - spreads of the times of application and MPI over the ranks, to be printed
pub fn rank_text(ranks: &[RankRow], over_ranks: Option<[Spread; 2]>) -> String {
    let header = [
        "RANK",
        "APPLICATION ms",
        "MPI ms",
        "THREADS",
        "MPI %",
        "INIT AND FINALIZE ms",
        "CALLS",
        "FAILED",
    ];
    let ms = |ns: u64| format!("{:.3}", ns as f64 * 1e-6);
    let cells = |name: String, rank: &MpiRank, percent: f64| {
        vec![
            name,
            ms(rank.application_ns),
            ms(rank.mpi_ns),
            n_threads(rank.threads),
            format!("{percent:.2}"),
            ms(rank.start_and_end_ns),
            rank.calls.to_string(),
            rank.failed.to_string(),
        ]
    };
    let mut lines: Vec<_> = ranks
        .iter()
        .map(|row| cells(row.rank.rank.to_string(), &row.rank, row.mpi_percent))
        .collect();
    let sum = |of: fn(&MpiRank) -> u64| -> u64 { ranks.iter().map(|row| of(&row.rank)).sum() };
    let all = sum(|rank| rank.mpi_ns) as f64 / sum(MpiRank::thread_ns).max(1) as f64;
    lines.push(cells(
        "*".into(),
        &MpiRank {
            application_ns: sum(|rank| rank.application_ns),
            mpi_ns: sum(|rank| rank.mpi_ns),
            start_and_end_ns: sum(|rank| rank.start_and_end_ns),
            calls: sum(|rank| rank.calls),
            failed: sum(|rank| rank.failed),
            threads: ranks.iter().map(|row| row.rank.threads).max().unwrap_or(0),
            ..MpiRank::default()
        },
        100.0 * all,
    ));
    let mut text = output::table(&header, &[0, 1, 2, 3, 4, 5, 6, 7], lines);
    let spreads = over_ranks.filter(|_| ranks.len() > 1);
    for (what, spread) in spreads
        .into_iter()
        .flat_map(|spreads| ["application", "MPI"].into_iter().zip(spreads))
    {
        text += &format!(
            "\n{what} time over the ranks: mean {:.3} ms, least {:.3}, greatest {:.3}, max/mean {:.2}, COV {:.2}",
            spread.mean_ns * 1e-6,
            spread.min_ns * 1e-6,
            spread.max_ns * 1e-6,
            spread.imbalance,
            spread.cov
        );
    }
    text
}

fn n_threads(threads: u32) -> String {
    match threads {
        0 => String::new(),
        known => known.to_string(),
    }
}

fn share(percent: Option<f64>) -> String {
    percent.map_or_else(String::new, |percent| format!("{percent:.2}"))
}
