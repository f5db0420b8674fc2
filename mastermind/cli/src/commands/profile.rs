//! `mastermind profile`: Table 1 of the paper, from the records of a run.
//!
//! The default table has a row for each method: the share of the time, exclusive and inclusive
//! time, time in MPI, calls. The sums are made by `mastermind-records`; `run` and `wrap` may have
//! written them at the end of the run, and `--summary` reads those instead of the logs of all
//! ranks. The other tables of the verb (tree, call sites, MPI, communication matrix, OpenMP, spread
//! over the ranks) are in `profile/`, a file each.
//!
//! ```text
//! $ mastermind profile records --top 2
//! % TIME  EXCLUSIVE ms  INCLUSIVE ms  MPI ms  CALLS  INCLUSIVE us/CALL  NAME       CLASS
//!  100.0         0.130         7.680              1            7680.00  driver.go  hydro.ShockDriver
//!  …
//! 1 rank; 962 records, 0 lost
//! ```
//!
//! Under a launcher several processes read a share of the logs each and the first prints; options
//! whose table is made in one process refuse that (`serial_option`). Whatever keeps a table from
//! being complete (lost records, calls that no proxy saw, a run that has not ended) is printed with
//! it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use mastermind_machine::dispatch::Dispatch;
use mastermind_records::definition::UnmonitoredDefinition;
use mastermind_records::{
    MpiRank, Profile as Table, ProfileOfRanks, ProfileSums, Row, Run, SELF_COST,
};
use serde::{Deserialize, Serialize};

use crate::run_facts::{self, Lacking};
use crate::session::team::{Team, first_alone};
use crate::{output, recorded_dispatch, run_notes, unseen_calls};

mod call_sites;
mod communicators;
mod follow;
pub mod matrix;
mod moved;
pub mod mpi;
mod now;
pub mod openmp;
mod phases;
mod spread;
mod tree;

/// Maximum number of connections that are named. Arbitrary: nobody reads more.
const MAX_CONNECTIONS: usize = 10;

/// Note about a run without an end.
const NOT_ENDED: &str = "the run has not ended, or was killed: calls that were open are not in the table, but for a wrapped program, \
                         which is there up to its latest call of MPI";

/// Show where the time went.
#[derive(Args)]
#[command(after_help = "Example: mastermind profile records --top 10\n         \
                        mastermind profile records --tree")]
pub struct Profile {
    /// The record directory
    records: PathBuf,
    /// Show only the N methods with the most exclusive time
    #[arg(long, visible_alias = "n", value_name = "N")]
    top: Option<usize>,
    /// A row for each rank, instead of the mean over them
    #[arg(long)]
    per_rank: bool,
    /// Read the summary that the run wrote at its end, not the logs of all its ranks
    #[arg(long, conflicts_with = "per_rank")]
    summary: bool,
    /// Show how the exclusive time of each method differs between the ranks: the least and the greatest, whose they are, and the quartiles
    #[arg(long, conflicts_with = "per_rank")]
    spread: bool,
    /// Show the recorded calls by the places that make them, from a run of `wrap --call-sites`
    #[arg(long, conflicts_with_all = ["summary", "per_rank", "spread"])]
    call_sites: bool,
    /// Show what a wrapped program did with MPI: time of each rank, each function with its least and greatest call, sizes of messages,
    /// call sites, and phases (MPI_Pcontrol)
    #[arg(long, conflicts_with_all = ["summary", "spread", "call_sites"])]
    mpi: bool,
    /// Show the communication matrix: messages and bytes of each pair of ranks, from a run of `wrap --mpi-events`
    #[arg(long, conflicts_with_all = ["summary", "per_rank", "spread", "call_sites", "mpi"])]
    matrix: bool,
    /// Show what a wrapped program did with OpenMP: work and waiting of each thread, parallel regions, loops, barriers, tasks and locks by
    /// their source lines, from a run of `wrap --openmp`
    #[arg(long, conflicts_with_all = ["summary", "per_rank", "spread", "call_sites", "mpi", "matrix"])]
    openmp: bool,
    /// Show the methods under those that called them, with inclusive and exclusive times
    #[arg(long, conflicts_with_all = ["summary", "per_rank", "spread", "call_sites", "mpi", "matrix", "openmp", "top"])]
    tree: bool,
    /// Of a run that goes on, print the profile again whenever its records have grown, until the run ends
    #[arg(long, conflicts_with_all = ["summary", "matrix"])]
    follow: bool,
    /// Seconds between two readings of the records with --follow
    #[arg(long, value_name = "SECONDS", default_value_t = follow::DEFAULT_EVERY_S, requires = "follow", value_parser = follow::every)]
    every: f64,
    /// Print one JSON document; with --follow one after the other
    #[arg(long)]
    json: bool,
}

impl Profile {
    /// Reads the records and shows the table.
    ///
    /// # Errors
    /// There are no records; they cannot be read.
    pub fn execute(self) -> anyhow::Result<ExitCode> {
        if let Some(option) = self.serial_option() {
            first_alone(&format!("profile {option}"))?;
        }
        match self.follow {
            true => self.show_again(),
            false => self.show(),
        }
    }

    /// The option whose table is not made in parallel.
    fn serial_option(&self) -> Option<&'static str> {
        let options = [
            ("--follow", self.follow),
            ("--summary", self.summary),
            ("--tree", self.tree),
            ("--call-sites", self.call_sites),
            ("--mpi", self.mpi),
            ("--matrix", self.matrix),
            ("--openmp", self.openmp),
        ];
        let given = options.into_iter().find(|(_, is_given)| *is_given);
        given.map(|(option, _)| option)
    }

    fn show(&self) -> anyhow::Result<ExitCode> {
        if self.tree {
            return self.show_tree();
        }
        if self.call_sites {
            return self.show_call_sites();
        }
        if self.mpi {
            return self.show_mpi();
        }
        if self.matrix {
            return self.show_matrix();
        }
        if self.openmp {
            return self.show_openmp();
        }
        let report = match self.summary {
            true => self.of_summary()?,
            false => match self.of_records()? {
                Some(report) => report,
                // The first process prints.
                None => return Ok(ExitCode::SUCCESS),
            },
        };
        self.print(report)?;
        Ok(ExitCode::SUCCESS)
    }

    fn print(&self, report: ProfileReport) -> anyhow::Result<()> {
        let ProfileReport {
            table: mut profile,
            ranks,
            openmp,
            has_ended,
            damaged_logs,
        } = report;
        profile.rows.truncate(self.top.unwrap_or(usize::MAX));
        if self.json {
            return output::json(&Document {
                profile: &profile,
                damaged_logs,
                mpi_ranks: &ranks,
                unseen_calls: &unseen_calls::read(&self.records),
                dispatch: recorded_dispatch::read(&self.records).as_ref(),
            });
        }
        if ranks.iter().any(mpi::RankRow::has_mpi) {
            output::line(mpi::rank_text(&ranks, None) + "\n");
        }
        for line in openmp {
            output::line(format!("OpenMP, {line}\n"));
        }
        output::line(match self.spread {
            true => spread::text(&profile),
            false => text(&profile),
        });
        self.print_numbers(&profile, damaged_logs);
        print_events(&profile);
        print_missing_counters(&profile);
        print_unseen_calls(&unseen_calls::read(&self.records));
        if let Some(dispatch) = recorded_dispatch::read(&self.records) {
            recorded_dispatch::note(&dispatch);
        }
        if !has_ended {
            output::line(NOT_ENDED);
        }
        Ok(())
    }

    /// Prints the numbers of ranks and records, and the step of the clock if it is large.
    fn print_numbers(&self, profile: &Table, damaged_logs: u64) {
        let ranks = if profile.ranks == 1 {
            "1 rank".into()
        } else {
            format!("{} ranks", profile.ranks)
        };
        let mean = if self.per_rank || self.spread || profile.ranks == 1 {
            ""
        } else {
            ", mean over them"
        };
        output::line(format!(
            "{ranks}{mean}; {} records, {}{}",
            profile.records,
            run_facts::lost(profile.lost_records, damaged_logs),
            match profile.lost_reasons.is_empty() {
                true => String::new(),
                false => {
                    let reasons: Vec<_> = profile.lost_reasons.iter().cloned().collect();
                    format!(" ({})", reasons.join("; "))
                }
            }
        ));
        if let Some(step_ns) = profile.clock_step_ns {
            output::line(format!(
                "the clock goes in steps of {step_ns:.3} ns: one call's time is up to that too long or too short, sums are unbiased"
            ));
        }
    }
}

/// A profile, and the data printed with it.
struct ProfileReport {
    table: Table,
    ranks: Vec<mpi::RankRow>,
    openmp: Vec<String>,
    has_ended: bool,
    damaged_logs: u64,
}

/// The part of the profile from one of several processes.
#[derive(Serialize, Deserialize)]
struct Share {
    profile: ProfileOfRanks,
    ranks: Vec<MpiRank>,
    openmp: Vec<String>,
    is_finished: bool,
    damaged_logs: u64,
}

impl Share {
    fn of(run: &Run, per_rank: bool) -> Self {
        Self {
            profile: ProfileOfRanks::new(run, per_rank),
            ranks: run.mpi_ranks(),
            openmp: openmp::lines(run),
            is_finished: run.is_finished(),
            damaged_logs: run.damaged_logs(),
        }
    }

    fn append(&mut self, later: Self) {
        self.profile.append(later.profile);
        self.ranks.extend(later.ranks);
        self.openmp.extend(later.openmp);
        self.is_finished &= later.is_finished;
        self.damaged_logs += later.damaged_logs;
    }
}

impl Profile {
    fn of_summary(&self) -> anyhow::Result<ProfileReport> {
        let sums = ProfileSums::read(&self.records)
            .context("cannot show summary: there is none of all ranks, expected one; without --summary their logs are read")?;
        let mut table = Table::of_sums(&sums);
        if self.spread {
            table.show_spreads(&sums);
        }
        warn_of_unmonitored(&table.unmonitored);
        run_notes::warn_of_dry_summary(&self.records);
        Ok(ProfileReport {
            table,
            ranks: Vec::new(),
            openmp: Vec::new(),
            has_ended: true,
            damaged_logs: 0,
        })
    }

    /// The profile from all processes that read together.
    ///
    /// # Returns
    /// `None` on all processes except the first.
    fn of_records(&self) -> anyhow::Result<Option<ProfileReport>> {
        let team = Team::of_launch("profile")?;
        let run = team.together(run_facts::open_for_sums(&self.records, &team))?;
        let share = Share::of(&run, self.per_rank);
        let whole = team.join(share, Share::append)?;
        run_facts::warn_of_missing_records(
            &run,
            "their calls and times are in the table, their counters are not",
            &team,
        )?;
        Ok(whole.map(|share| ProfileReport {
            table: share.profile.profile(self.spread),
            ranks: mpi::rows(share.ranks),
            openmp: share.openmp,
            has_ended: share.is_finished,
            damaged_logs: share.damaged_logs,
        }))
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The JSON document: the profile, and for a wrapped program how each rank spent its time.
#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    profile: &'a Table,
    /// Logs of which a part cannot be read: an unknown number of further calls is missing.
    #[serde(skip_serializing_if = "is_zero")]
    damaged_logs: u64,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    mpi_ranks: &'a [mpi::RankRow],
    /// Findings of `wrap` on calls that are not in the records.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    unseen_calls: &'a [String],
    /// Which code its libraries ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    dispatch: Option<&'a Dispatch>,
}

impl Profile {
    fn show_mpi(&self) -> anyhow::Result<ExitCode> {
        let run = open(&self.records)?;
        let report = mpi::Report::of(&run, &self.records, self.per_rank)?;
        warn_of_missing_records(
            &run,
            "they are in calls and times, not in sizes, least and greatest calls, or call sites",
        );
        if self.json {
            output::json(&report)?;
        } else {
            output::line(report.text(self.top.unwrap_or(usize::MAX)));
            print_unseen_calls(&report.unseen_calls);
            if !run.is_finished() {
                output::line(NOT_ENDED);
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    fn show_tree(&self) -> anyhow::Result<ExitCode> {
        let run = open(&self.records)?;
        let tree = tree::Tree::of(&run);
        warn_of_missing_records(&run, "their calls and times are in the tree");
        if self.json {
            output::json(&tree)?;
        } else {
            output::line(tree.text());
            if !run.is_finished() {
                output::line(NOT_ENDED);
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    fn show_openmp(&self) -> anyhow::Result<ExitCode> {
        let run = open(&self.records)?;
        let report = openmp::Report::of(&run, &self.records)?;
        warn_of_missing_records(
            &run,
            "constructs of OpenMP among them are not in the tables",
        );
        if self.json {
            output::json(&report)?;
        } else {
            output::line(report.text(self.top.unwrap_or(usize::MAX)));
        }
        Ok(ExitCode::SUCCESS)
    }

    fn show_matrix(&self) -> anyhow::Result<ExitCode> {
        let run = open(&self.records)?;
        let table = matrix::Table::of(&run, &self.records)?;
        warn_of_missing_records(&run, "they are not in the matrix");
        if now::has_spawned(&run) {
            crate::output::complain!("note: {}", now::SPAWNED);
        }
        if self.json {
            output::json(&table)?;
        } else {
            output::line(table.text(self.top.unwrap_or(usize::MAX)));
        }
        Ok(ExitCode::SUCCESS)
    }

    fn show_call_sites(&self) -> anyhow::Result<ExitCode> {
        let run = open(&self.records)?;
        let mut rows = call_sites::rows(&run, &self.records)?;
        warn_of_missing_records(&run, "they are not in the table");
        rows.truncate(self.top.unwrap_or(usize::MAX));
        if self.json {
            output::json(&serde_json::json!({ "call_sites": rows }))?;
        } else {
            output::line(call_sites::text(&rows));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Reports which calls of a run have no record, which records could not be read to their end, and other facts that a
/// reader of its times must know ([`run_facts`]).
///
/// # Arguments
/// * `shown` - the effect on the output: `they are not in the figure`
pub fn warn_of_missing_records(run: &Run, shown: &str) {
    let mut lacking = Lacking::of(run);
    if lacking.asks_for_methods() {
        lacking.add_methods(run);
    }
    lacking.warn(shown);
}

/// Warns of connections that were selected for recording but have no records.
pub fn warn_of_unmonitored(unmonitored: &BTreeSet<UnmonitoredDefinition>) {
    if unmonitored.is_empty() {
        return;
    }
    let n = match unmonitored.len() {
        1 => "1 connection".to_string(),
        n => format!("{n} connections"),
    };
    eprintln!(
        "warning: calls through {n} are not recorded, and not counted as lost, since there is no proxy"
    );
    for c in unmonitored.iter().take(MAX_CONNECTIONS) {
        let UnmonitoredDefinition {
            user,
            uses_port,
            provider,
            provides_port,
            reason,
        } = c;
        eprintln!("  {user}.{uses_port} -> {provider}.{provides_port}: {reason}");
    }
    if unmonitored.len() > MAX_CONNECTIONS {
        eprintln!("  and {} more", unmonitored.len() - MAX_CONNECTIONS);
    }
}

/// The folder and the program of `FOLDER:PROGRAM`, the records of one of several programs; otherwise the folder alone.
pub fn selected(records: &Path) -> (&Path, Option<&str>) {
    let text = records.to_str().filter(|_| !records.is_dir());
    match text.and_then(|text| text.rsplit_once(':')) {
        Some((folder, program)) if Path::new(folder).is_dir() => (Path::new(folder), Some(program)),
        _ => (records, None),
    }
}

/// Opens a run, or one program's records of it ([`selected`]), and reports damage.
///
/// # Errors
/// There are no records; they cannot be read; there is no such program.
pub fn open(records: &Path) -> anyhow::Result<Run> {
    run_facts::open(records, &Team::alone())
}

/// The same of records that were opened before: what is to be said of them was said.
///
/// # Errors
/// There are no records any more.
pub fn open_again(records: &Path) -> anyhow::Result<Run> {
    let (directory, program) = selected(records);
    let mut run = Run::open(directory)?;
    if let Some(program) = program {
        run.keep_program(program);
    }
    Ok(run)
}

fn text(profile: &Table) -> String {
    let counters: BTreeSet<_> = profile
        .rows
        .iter()
        .flat_map(|row| row.counters.keys())
        .collect();
    let mut rows: Vec<_> = profile
        .rows
        .iter()
        .map(|row| cells(row, &counters))
        .collect();
    if let Some(ns) = profile.self_cost_ns {
        let calls = profile.records as f64 / profile.ranks.max(1) as f64;
        let longest = profile
            .rows
            .iter()
            .map(|row| row.inclusive_ns)
            .fold(1.0, f64::max);
        rows.push(cells(
            &Row {
                name: SELF_COST.into(),
                class: String::new(),
                rank: None,
                calls,
                inclusive_ns: ns,
                exclusive_ns: ns,
                mpi_ns: None,
                percent: 100.0 * ns / longest,
                counters: BTreeMap::new(),
                spread: None,
            },
            &counters,
        ));
    }
    let header = [
        "% TIME",
        "EXCLUSIVE ms",
        "INCLUSIVE ms",
        "MPI ms",
        "CALLS",
        "INCLUSIVE us/CALL",
    ];
    let counted: Vec<_> = counters.iter().map(|name| name.to_uppercase()).collect();
    let counted = counted.iter().map(String::as_str);
    let header: Vec<_> = header
        .into_iter()
        .chain(counted)
        .chain(["NAME", "CLASS"])
        .collect();
    let numbers: Vec<_> = (0..header.len() - 2).collect();
    output::table(&header, &numbers, rows)
}

/// Prints the events that components reported.
fn print_events(profile: &Table) {
    for event in profile.events.iter().filter(|event| event.count > 0) {
        output::line(format!(
            "event {}: {} values, {} to {}, mean {:.6}, deviation {:.6}",
            event.name,
            event.count,
            event.min,
            event.max,
            event.mean,
            event.std_deviation()
        ));
    }
}

/// Prints the findings of `wrap` on calls that are not in the records.
fn print_unseen_calls(lines: &[String]) {
    if !lines.is_empty() {
        output::line(format!(
            "calls that are not in the records\n  {}",
            lines.join("\n  ")
        ));
    }
}

/// Prints the requested counters that could not be counted.
fn print_missing_counters(profile: &Table) {
    for (name, why) in &profile.missing_counters {
        for why in why {
            output::line(format!("{name} not counted: {why}"));
        }
    }
}

fn cells(row: &Row, counters: &BTreeSet<&String>) -> Vec<String> {
    let calls = if row.calls.fract() == 0.0 {
        format!("{}", row.calls)
    } else {
        format!("{:.2}", row.calls)
    };
    let name = match row.rank {
        Some(rank) => format!("{} [rank {rank}]", row.name),
        None => row.name.clone(),
    };
    let mut cells = vec![
        format!("{:.1}", row.percent),
        format!("{:.3}", row.exclusive_ns * 1e-6),
        format!("{:.3}", row.inclusive_ns * 1e-6),
        row.mpi_ns
            .map_or_else(String::new, |ns| format!("{:.3}", ns * 1e-6)),
        calls,
        format!("{:.2}", row.inclusive_ns * 1e-3 / row.calls.max(1.0)),
    ];
    let count = |name: &&String| row.counters.get(*name);
    let counted = counters.iter().map(count);
    cells
        .extend(counted.map(|count| count.map_or_else(String::new, |count| format!("{count:.0}"))));
    cells.extend([name, row.class.clone()]);
    cells
}
