//! How a wrapped program used MPI, on the page: ranks, functions, senders and receivers, call sites.

use std::path::Path;

use mastermind_records::Run;

use super::page::{Cell, Page};
use crate::commands::profile::matrix::Table;
use crate::commands::profile::mpi::{FunctionRow, RankRow, Report, Shares, SiteRow};
use crate::figures;

/// Maximum number of call sites on the page, those with the most time.
const MAX_SITES: usize = 30;

/// Fills the section; omitted for a run that was not wrapped.
///
/// # Arguments
/// * `command` - a verb and its options on the records, as a user would type them
///
/// # Errors
/// A picture cannot be drawn.
pub fn section(
    page: &mut Page,
    run: &Run,
    directory: &Path,
    command: impl Fn(&str, &str) -> String,
) -> anyhow::Result<()> {
    // An assembly's page shows its components.
    if run.mpi_ranks().iter().all(|rank| rank.calls == 0) {
        return Ok(());
    }
    let report = Report::of(run, directory, false)?;
    page.section("mpi", "MPI", &command("profile", " --mpi"));
    ranks(page, &report);
    page.heading("Functions");
    let header = [
        "function",
        "MPI ms",
        "% of application",
        "% of MPI",
        "calls",
        "failed",
        "us/call",
        "max/mean over ranks",
        "bytes",
        "bytes/message",
    ];
    page.table(&header, report.functions.iter().map(function));
    if let Ok(matrix) = Table::of(run, directory) {
        page.heading("Who sent to whom");
        page.figure(
            &figures::svg(&matrix.figure())?,
            "bytes of point-to-point messages, as their senders recorded them",
            &command("plot", " --kind matrix -o matrix.svg"),
        );
    }
    if !report.call_sites.is_empty() {
        page.heading("Call sites");
        let header = [
            "function",
            "called from",
            "MPI ms",
            "% of application",
            "% of MPI",
            "calls",
            "us/call",
            "bytes",
        ];
        page.table(&header, report.call_sites.iter().take(MAX_SITES).map(site));
        let n = report.call_sites.len();
        if n > MAX_SITES {
            page.paragraph(&format!(
                "The {MAX_SITES} of {n} with the most time; the command above shows more."
            ));
        }
    }
    Ok(())
}

/// Application and MPI time of each rank.
fn ranks(page: &mut Page, report: &Report) {
    page.paragraph(&format!(
        "From the first call of MPI to the end of the program, without what starting and ending MPI took. MPI time over the ranks: the \
         largest is {:.2} of the mean.",
        report.over_ranks.imbalance
    ));
    if let Some(efficiency) = &report.efficiency {
        page.paragraph(&format!(
            "{efficiency}. Parallel efficiency is the part of the run in which a rank computes, in the mean; it is the product of how even the \
             work is and of what waiting and messages leave."
        ));
    }
    page.key();
    let longest = report.ranks.iter().map(|row| row.rank.application_ns);
    let longest = longest.max().unwrap_or(0).max(1) as f64;
    let row = |RankRow { rank, .. }: &RankRow| {
        let compute_ns = rank.application_ns.saturating_sub(rank.mpi_ns);
        vec![
            count(rank.rank.into()),
            Cell::Bar([compute_ns as f64 / longest, rank.mpi_ns as f64 / longest]),
            milliseconds(rank.application_ns),
            milliseconds(rank.mpi_ns),
            percent(rank.percent()),
            milliseconds(rank.start_and_end_ns),
            count(rank.calls),
            count(rank.failed),
        ]
    };
    let header = [
        "rank",
        "",
        "application ms",
        "MPI ms",
        "MPI %",
        "start and end ms",
        "calls",
        "failed",
    ];
    page.table(&header, report.ranks.iter().map(row));
}

fn function(row: &FunctionRow) -> Vec<Cell> {
    let sizes = row.sizes.as_ref();
    let each = row.ns as f64 * 1e-3 / row.calls.max(1) as f64;
    let mut cells = vec![Cell::Text(row.name.clone()), milliseconds(row.ns)];
    cells.extend(shares(row.shares));
    cells.extend([
        count(row.calls),
        count(row.failed),
        Cell::Number(format!("{each:.2}"), each),
        Cell::Number(
            format!("{:.2}", row.over_ranks.imbalance),
            row.over_ranks.imbalance,
        ),
        sizes.map_or(nothing(), |sizes| count(sizes.bytes)),
        sizes.map_or(nothing(), |sizes| {
            Cell::Number(format!("{:.1}", sizes.mean_bytes()), sizes.mean_bytes())
        }),
    ]);
    cells
}

fn site(row: &SiteRow) -> Vec<Cell> {
    let each = row.times.mean_ns() * 1e-3;
    let mut cells = vec![
        Cell::Text(row.name.clone()),
        Cell::Text(row.call_site.clone()),
        milliseconds(row.times.ns),
    ];
    cells.extend(shares(row.shares));
    cells.extend([
        count(row.times.calls),
        Cell::Number(format!("{each:.2}"), each),
        count(row.sizes.bytes),
    ]);
    cells
}

fn shares(shares: Option<Shares>) -> [Cell; 2] {
    shares.map_or([nothing(), nothing()], |shares| {
        [percent(shares.app_percent), percent(shares.mpi_percent)]
    })
}

fn nothing() -> Cell {
    Cell::Text(String::new())
}

fn count(number: u64) -> Cell {
    Cell::Number(number.to_string(), number as f64)
}

fn percent(percent: f64) -> Cell {
    Cell::Number(format!("{percent:.2}"), percent)
}

fn milliseconds(ns: u64) -> Cell {
    Cell::Number(format!("{:.3}", ns as f64 * 1e-6), ns as f64)
}
