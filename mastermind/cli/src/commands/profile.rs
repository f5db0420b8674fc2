//! `mastermind profile`: Table 1 of the paper, from the records of a run.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use mastermind_records::{Profile as Table, Row, Run, SELF_COST};

use crate::output;

/// Show where the time went.
#[derive(Args)]
#[command(after_help = "Example: mastermind profile records --top 10")]
pub struct Profile {
    /// The record directory
    records: PathBuf,
    /// Show only the N methods with the most exclusive time
    #[arg(long, value_name = "N")]
    top: Option<usize>,
    /// A row for each rank, instead of the mean over them
    #[arg(long)]
    per_rank: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl Profile {
    /// Reads the records and shows the table.
    ///
    /// # Errors
    /// There are no records; they cannot be read.
    pub fn execute(self) -> anyhow::Result<ExitCode> {
        let run = open(&self.records)?;
        let mut profile = Table::new(&run, self.per_rank);
        profile.rows.truncate(self.top.unwrap_or(usize::MAX));
        if self.json {
            output::json(&profile)?;
            return Ok(ExitCode::SUCCESS);
        }
        output::line(text(&profile, &run));
        let ranks = if profile.ranks == 1 {
            "1 rank".into()
        } else {
            format!("{} ranks", profile.ranks)
        };
        let mean = if self.per_rank || profile.ranks == 1 {
            ""
        } else {
            ", mean over them"
        };
        output::line(format!(
            "{ranks}{mean}; {} records, {} lost",
            run.n_records(),
            profile.lost_records
        ));
        if !run.is_finished() {
            output::line(
                "the run has not ended, or was killed: calls that were open are not in the table",
            );
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Opens a run and says what of it is damaged.
///
/// # Errors
/// There are no records; they cannot be read.
pub fn open(directory: &Path) -> anyhow::Result<Run> {
    let run = Run::open(directory)?;
    for error in run.unreadable() {
        eprintln!("warning: {error}");
    }
    for damage in run.damage() {
        eprintln!("warning: {damage}");
    }
    Ok(run)
}

fn text(profile: &Table, run: &Run) -> String {
    let mut rows: Vec<_> = profile.rows.iter().map(cells).collect();
    if let Some(ns) = profile.self_cost_ns {
        let calls = run.n_records() as f64 / profile.ranks.max(1) as f64;
        let longest = profile
            .rows
            .iter()
            .map(|row| row.inclusive_ns)
            .fold(1.0, f64::max);
        rows.push(cells(&Row {
            name: SELF_COST.into(),
            class: String::new(),
            rank: None,
            calls,
            inclusive_ns: ns,
            exclusive_ns: ns,
            mpi_ns: None,
            percent: 100.0 * ns / longest,
        }));
    }
    let header = [
        "% TIME",
        "EXCLUSIVE ms",
        "INCLUSIVE ms",
        "MPI ms",
        "CALLS",
        "INCLUSIVE us/CALL",
        "NAME",
        "CLASS",
    ];
    output::table(&header, &[0, 1, 2, 3, 4, 5], rows)
}

fn cells(row: &Row) -> Vec<String> {
    let calls = if row.calls.fract() == 0.0 {
        format!("{}", row.calls)
    } else {
        format!("{:.2}", row.calls)
    };
    let name = match row.rank {
        Some(rank) => format!("{} [rank {rank}]", row.name),
        None => row.name.clone(),
    };
    vec![
        format!("{:.1}", row.percent),
        format!("{:.3}", row.exclusive_ns * 1e-6),
        format!("{:.3}", row.inclusive_ns * 1e-6),
        row.mpi_ns
            .map_or_else(String::new, |ns| format!("{:.3}", ns * 1e-6)),
        calls,
        format!("{:.2}", row.inclusive_ns * 1e-3 / row.calls.max(1.0)),
        name,
        row.class.clone(),
    ]
}
