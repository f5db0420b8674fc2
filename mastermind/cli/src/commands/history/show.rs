//! The verbs that show the contents of the store: `history list`, `show`, `drop` and `export`.
//!
//! The store holds one file for each run: its circumstances (program, machine, commit, settings,
//! load), and one cell for each method and combination of parameters, with the number of calls,
//! their sum and quantiles. `list` prints a line for each run, `show` the cells of one, `export`
//! one table over all of them. Runs of several ranks have further columns, because their efficiency
//! splits into factors that have different remedies:
//!
//! ```text
//! PARALLEL = BALANCE x COMMUNICATION     the part of the run in which a rank computes
//! SCALING                                computing of all ranks, against the fewest ranks
//! ```
//!
//! Scaling compares runs of one program on the same hosts with otherwise equal settings; with a run
//! of fewer ranks missing, the cell is empty.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::bail;
use clap::Args;
use mastermind_composition::RANKS;
use mastermind_history::{Cell, Computing, Parameters, StoredRun, table_of};
use mastermind_recommend::Efficiency;
use serde_json::{Value, json};

use super::At;
use crate::commands::profile::mpi::efficiency;
use crate::destination::{Force, is_standard_output};
use crate::output;

#[derive(Args)]
#[command(after_help = "Example: mastermind history list history --program shock")]
pub(super) struct List {
    #[command(flatten)]
    at: At,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl List {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        let (_, runs) = self.at.read()?;
        if self.json {
            let runs: Vec<Value> = runs.iter().map(document).collect();
            output::json(&json!({ "runs": runs }))?;
            return Ok(ExitCode::SUCCESS);
        }
        let of_ranks = runs.iter().any(|run| computing(run).is_some());
        let mut header = vec!["RUN", "COMMIT", "CALLS", "SECONDS", "LOAD"];
        if of_ranks {
            header.extend(FACTORS);
        }
        header.extend(["PROGRAM", "MACHINE"]);
        let row = |run: &StoredRun| {
            let circumstances = &run.sums.circumstances;
            let (calls, ns) = sums(&run.sums.cells);
            let mut row = vec![
                run.id.clone(),
                circumstances.commit.clone().unwrap_or_default(),
                calls.to_string(),
                format!("{:.3}", ns * 1e-9),
                circumstances
                    .load
                    .map_or_else(String::new, |load| format!("{load:.2}")),
            ];
            if of_ranks {
                row.extend(factors(run, &runs));
            }
            row.extend([circumstances.program.clone(), circumstances.machine.clone()]);
            row
        };
        let numbers: Vec<usize> = (2..header.len() - 2).collect();
        output::line(output::table(&header, &numbers, runs.iter().map(row)));
        if of_ranks {
            output::line(
                "parallel: the part of the run in which a rank computes, in the mean, = balance, how even the work is, x communication, what waiting \
                 and messages leave; scaling: computing of all ranks, against the run with the fewest ranks and otherwise equal settings",
            );
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Columns on how a run uses its ranks.
const FACTORS: [&str; 4] = ["PARALLEL", "BALANCE", "COMMUNICATION", "SCALING"];

fn computing(run: &StoredRun) -> Option<&Computing> {
    run.sums.circumstances.computing.as_ref()
}

/// The cells of [`FACTORS`], empty where the run has no ranks.
fn factors(run: &StoredRun, runs: &[StoredRun]) -> [String; 4] {
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let found = computing(run).and_then(efficiency);
    let factor = |of: fn(&Efficiency) -> f64| {
        found
            .as_ref()
            .map_or_else(String::new, |found| percent(of(found)))
    };
    [
        factor(|found| found.parallel),
        factor(|found| found.load_balance),
        factor(|found| found.communication),
        scaling(run, runs).map_or_else(String::new, percent),
    ]
}

/// Computation scaling relative to the first run of the fewest ranks with the same settings; `None` without a run of
/// fewer ranks.
fn scaling(run: &StoredRun, runs: &[StoredRun]) -> Option<f64> {
    let own = computing(run)?;
    let work = |run: &StoredRun| {
        let circumstances = &run.sums.circumstances;
        let mut settings = circumstances.settings.clone();
        // The one setting that scaling varies.
        settings.remove(RANKS);
        (
            circumstances.program.clone(),
            // Not the machine's name: a launcher that binds ranks gives them other numbers of processors.
            circumstances.hosts.clone(),
            circumstances.processor.clone(),
            settings,
        )
    };
    let of_work = work(run);
    let others = runs.iter().filter(|other| work(other) == of_work);
    let reference = others
        .filter_map(computing)
        .min_by_key(|computing| computing.ranks)?;
    (reference.ranks < own.ranks).then(|| own.scaling_from(reference))
}

/// Calls and nanoseconds of all cells.
fn sums(cells: &[Cell]) -> (u64, f64) {
    let calls = cells
        .iter()
        .fold(0_u64, |sum, cell| sum.saturating_add(cell.calls));
    (calls, cells.iter().map(|cell| cell.total_ns).sum())
}

fn document(run: &StoredRun) -> Value {
    let (calls, total_ns) = sums(&run.sums.cells);
    json!({
        "run": run.id,
        "file": run.path,
        "calls": calls,
        "total_ns": total_ns,
        "circumstances": run.sums.circumstances,
        "efficiency": computing(run).and_then(efficiency),
    })
}

#[derive(Args)]
#[command(after_help = "Example: mastermind history show 20261127T170102Z")]
pub(super) struct Show {
    /// The run: its name, the beginning of it, or its commit
    run: String,
    #[command(flatten)]
    at: At,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl Show {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        let (store, runs) = self.at.read()?;
        let run = store.find(&runs, &self.run)?;
        if self.json {
            let mut document = document(run);
            document["cells"] = run.sums.cells.iter().map(cell).collect();
            output::json(&document)?;
            return Ok(ExitCode::SUCCESS);
        }
        if let Some(efficiency) = computing(run).and_then(efficiency) {
            output::line(efficiency.to_string());
        }
        let header = [
            "CALLS",
            "TOTAL ms",
            "MEDIAN us",
            "MIN us",
            "MAX us",
            "METHOD",
            "PARAMETERS",
        ];
        let us = |ns: f64| match ns.is_finite() {
            true => format!("{:.3}", ns * 1e-3),
            false => String::new(),
        };
        let row = |cell: &Cell| {
            let [min, _, median, _, max] = cell.quantiles_ns;
            vec![
                cell.calls.to_string(),
                format!("{:.3}", cell.total_ns * 1e-6),
                us(median),
                us(min),
                us(max),
                cell.method.clone(),
                parameters(cell),
            ]
        };
        let mut cells: Vec<&Cell> = run.sums.cells.iter().collect();
        cells.sort_by(|a, b| b.total_ns.total_cmp(&a.total_ns));
        let rows = cells.into_iter().map(row);
        output::line(output::table(&header, &[0, 1, 2, 3, 4], rows));
        Ok(ExitCode::SUCCESS)
    }
}

/// Parameters as `n=3, axis=x`; of a range of them its lower bound.
fn parameters(cell: &Cell) -> String {
    let text = Parameters::read(&cell.parameters);
    let text = text.map_or_else(|| cell.parameters.clone(), |text| text.to_string());
    match cell.bits {
        -1 => text,
        _ => format!("from {text}"),
    }
}

fn cell(cell: &Cell) -> Value {
    let number = |x: f64| if x.is_finite() { json!(x) } else { Value::Null };
    let text = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| json!(text));
    let parameters: Value = text(&cell.parameters);
    let means: Value = text(&cell.means);
    json!({
        "method": cell.method,
        "class": cell.class,
        "parameters": parameters,
        "bits": cell.bits,
        "means": means,
        "calls": cell.calls,
        "failed": cell.failed,
        "total_ns": number(cell.total_ns),
        "mean_log": number(cell.mean_log),
        "deviation_log": number(cell.deviation_log),
        "quantiles_ns": cell.quantiles_ns.map(number),
        "segments_ns": cell.segments_ns.map(number),
    })
}

#[derive(Args)]
#[command(after_help = "Example: mastermind history drop 20261127T170102Z-0a1b2c3d")]
pub(super) struct Drop {
    /// The run: its name, the beginning of it, or its commit
    run: String,
    #[command(flatten)]
    at: At,
}

impl Drop {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        let (store, runs) = self.at.read()?;
        let run = store.find(&runs, &self.run)?;
        store.drop_run(run)?;
        output::line(&run.id);
        Ok(ExitCode::SUCCESS)
    }
}

#[derive(Args)]
#[command(after_help = "Example: mastermind history export -o runs.parquet")]
pub(super) struct Export {
    #[command(flatten)]
    at: At,
    /// The table, a row a cell of a run: .parquet or .csv
    #[arg(short, long, value_name = "F")]
    output: PathBuf,
    #[command(flatten)]
    force: Force,
}

impl Export {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        let ending = self.output.extension().and_then(|ending| ending.to_str());
        let is_csv = match ending {
            _ if is_standard_output(&self.output) => true,
            Some("csv") => true,
            Some("parquet") => false,
            _ => bail!(
                "cannot write history \"{}\": its name has no ending that is known, expected .parquet or .csv",
                self.output.display()
            ),
        };
        self.force.check([Some(&*self.output)], false)?;
        let (_, runs) = self.at.read()?;
        let table = table_of(&runs);
        match is_csv {
            true => {
                let (out, pending) = self.force.begin("history", &self.output)?;
                table.write_csv(&self.output, out)?;
                pending.put_in_place()?;
            }
            false => self.write_parquet(&table, &self.output)?,
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Written under another name first: an export that fails leaves the earlier file.
    fn write_parquet(
        &self,
        table: &mastermind_history::PlainTable,
        path: &Path,
    ) -> anyhow::Result<()> {
        let parent = path
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty());
        let made = tempfile::NamedTempFile::new_in(parent.unwrap_or(Path::new(".")))?;
        table.write(path, made.reopen()?)?;
        let bytes = std::fs::read(made.path())?;
        self.force.write("history", path, bytes)
    }
}
