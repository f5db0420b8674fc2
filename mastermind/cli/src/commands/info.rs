//! `mastermind info`: the facts about a run in its logs.
//!
//! Records must be readable years later and on another machine, so each log begins with the
//! definitions of its run: the assembly and its classes with the hashes of their libraries,
//! parameters, connections, the clock and its step, the command line, host and user. `RunInfo`
//! (crate `mastermind-records`) merges them over the ranks; this file adds the decisions of an
//! adapted run and the code that libraries ran, and prints a row for each fact; `report` shows the
//! same rows.
//!
//! ```text
//! WHAT        FOUND
//! assembly    shock
//! ranks       2
//! clock       tsc at 2400.0 MHz, in steps of 0.417 ns; a record costs 31.0 ns
//! component   flux = hydro.GodunovFlux 1.0, libhydro.so (9f..)
//! records     2242 in 2 logs, 0 lost
//! ```
//!
//! A fact that ranks differ in has the ranks after it; one that no log has is "not known" rather
//! than left out.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use mastermind_component::decisions_file;
use mastermind_composition::adapt::Decision;
use mastermind_machine::dispatch::Dispatch;
use mastermind_records::definition::{
    CircumstancesDefinition, ClassDefinition, ConnectionDefinition, SwapDefinition,
};
use mastermind_records::{CircumstancesInfo, ClockInfo, RunInfo};
use serde::Serialize;

use crate::commands::profile::selected;
use crate::session::summing;
use crate::session::team::Team;
use crate::{output, recorded_dispatch, run_facts};

/// Show what a run was: its assembly, where it ran, its clock, what is missing
#[derive(Args)]
#[command(after_help = "Example: mastermind info records")]
pub struct Info {
    /// The record directory
    records: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Facts about a run from its logs.
#[derive(Serialize)]
struct Document {
    #[serde(flatten)]
    info: RunInfo,
    /// The programs that `wrap` has recorded, if there are several, with the numbers of their processes.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    programs: BTreeMap<String, usize>,
    /// Decisions of `run --adapt`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    decisions: Vec<Decision>,
    /// Which code its libraries ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    dispatch: Option<Dispatch>,
}

impl Info {
    /// Reads the definitions and prints them.
    ///
    /// # Errors
    /// There are no records; they cannot be read.
    pub fn execute(self) -> anyhow::Result<ExitCode> {
        let team = Team::of_launch("info")?;
        let run = team.together(run_facts::open(&self.records, &team))?;
        let own = (RunInfo::of(&run), run.processes_of_programs());
        let whole_team = team.join(own, |(info, programs), (later, others)| {
            info.append(later);
            for (name, processes) in others {
                programs.entry(name).or_default().extend(processes);
            }
        })?;
        let Some((info, programs)) = whole_team else {
            return Ok(ExitCode::SUCCESS);
        };
        let programs = Some(programs).filter(|programs| programs.len() > 1);
        let programs = programs.into_iter().flatten();
        let document = Document {
            info,
            programs: programs
                .map(|(name, processes)| (name, processes.len()))
                .collect(),
            decisions: decisions(&self.records)?,
            dispatch: recorded_dispatch::read(&self.records),
        };
        if self.json {
            output::json(&document)?;
        } else {
            let mut rows = rows(&document.info, &document.decisions);
            let (directory, program) = selected(&self.records);
            if document.info.ranks > 1 && program.is_none() {
                rows.push((
                    "summary",
                    summing::describe(directory, document.info.ranks as usize),
                ));
            }
            let libraries = document.dispatch.iter().flat_map(recorded_dispatch::rows);
            output::line(text(rows.into_iter().chain(libraries)));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The decisions in the first rank's log, if there is one; a truncated line is left out.
fn decisions(records: &Path) -> anyhow::Result<Vec<Decision>> {
    let path = decisions_file(records, 0);
    let text = match fs::read_to_string(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        text => text.with_context(|| format!("cannot read decisions \"{}\"", path.display()))?,
    };
    let lines = text.lines();
    Ok(lines
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect())
}

/// A run in a line: ranks, host, start, records.
pub fn summary(info: &RunInfo) -> String {
    let ranks = match info.ranks {
        1 => "1 rank".to_owned(),
        n => format!("{n} ranks"),
    };
    let hosts = Vec::from_iter(info.hosts.iter().cloned()).join(", ");
    let started = info
        .started_unix_ns
        .map_or_else(String::new, |ns| format!(", {}", time(ns)));
    let lost = run_facts::lost(info.lost_records, info.damaged_logs);
    format!(
        "{ranks} on {hosts}{started}; {} calls recorded, {lost}",
        info.records
    )
}

/// The facts about a run, line by line.
pub fn rows(info: &RunInfo, decisions: &[Decision]) -> Vec<(&'static str, String)> {
    let mut rows = vec![
        ("assembly", info.assembly.clone()),
        ("ranks", ranks(info)),
        (
            "host",
            Vec::from_iter(info.hosts.iter().cloned()).join(", "),
        ),
    ];
    rows.extend(started_rows(info));
    let mpi = info.mpi.clone();
    rows.push(("time in MPI", mpi.unwrap_or_else(|| "not measured".into())));
    rows.extend(
        info.clocks
            .iter()
            .map(|clock| ("clock", clock_text(clock, info))),
    );
    rows.extend(component_rows(info));
    let decision = |decision: &Decision| ("decision", decision.to_string());
    rows.extend(decisions.iter().map(decision));
    rows.extend(connection_rows(info));
    rows.extend(counter_rows(info));
    for c in &info.unmonitored {
        let (user, provider) = (&c.user, &c.provider);
        let (uses, provides, reason) = (&c.uses_port, &c.provides_port, &c.reason);
        let text = format!("{user}.{uses} to {provider}.{provides}: {reason}");
        rows.push(("not recorded", text));
    }
    let lost = run_facts::lost(info.lost_records, info.damaged_logs);
    rows.push((
        "records",
        format!("{} in {} logs, {lost}", info.records, info.logs),
    ));
    if !info.finished {
        rows.push(("end", "has not ended, or was killed".into()));
    }
    rows
}

/// The components, their parameters, the methods that were left out, and the replaced components.
fn component_rows(info: &RunInfo) -> Vec<(&'static str, String)> {
    let mut rows = Vec::new();
    let of_class = |class: &ClassDefinition| {
        let ClassDefinition {
            instance,
            class,
            version,
            library,
            library_hash,
        } = class;
        (
            "component",
            format!("{instance} = {class} {version}, {library} ({library_hash})"),
        )
    };
    rows.extend(info.classes.iter().map(of_class));
    let parameter = |(key, value): (&String, &String)| ("parameter", format!("{key} = {value}"));
    rows.extend(info.parameters.iter().map(parameter));
    rows.extend(info.dry.iter().map(|name| ("left out", name.clone())));
    let swap = |swap: &SwapDefinition| {
        let to = &swap.to;
        (
            "replaced",
            format!("{}: {} by {}", to.instance, swap.from, to.class),
        )
    };
    rows.extend(info.swaps.iter().map(swap));
    rows
}

fn connection_rows(info: &RunInfo) -> impl Iterator<Item = (&'static str, String)> {
    let connection = |c: &ConnectionDefinition| {
        let how = if c.monitored {
            "recorded"
        } else {
            "not recorded"
        };
        let (user, provider) = (&c.user, &c.provider);
        let connection = format!(
            "{user}.{} to {provider}.{}, {how}",
            c.uses_port, c.provides_port
        );
        ("connection", connection)
    };
    info.connections.iter().map(connection)
}

/// The counters with their units, and those that could not be read with the reasons.
fn counter_rows(info: &RunInfo) -> Vec<(&'static str, String)> {
    let counter = |(name, unit): (&String, &String)| match unit.as_str() {
        "" => ("counter", name.clone()),
        unit => ("counter", format!("{name} [{unit}]")),
    };
    let mut rows: Vec<_> = info.counters.iter().map(counter).collect();
    for (name, why) in &info.missing_counters {
        let why = Vec::from_iter(why.iter().cloned()).join("; ");
        rows.push(("counter", format!("{name} not read: {why}")));
    }
    rows
}

/// Shown for a fact that is not in the logs.
const UNKNOWN: &str = "not known";

/// How and when it was started, on which machine, and its share of the processors.
fn started_rows(info: &RunInfo) -> Vec<(&'static str, String)> {
    let mut rows = Vec::new();
    for found in &info.circumstances {
        let CircumstancesInfo { started, ranks } = found;
        let of_ranks = match ranks.len() < info.ranks_with_logs {
            true => format!(" ({})", ranks_text(ranks)),
            false => String::new(),
        };
        let mut row = |what, found: Option<String>| {
            let found = found.unwrap_or_else(|| UNKNOWN.into());
            rows.push((what, found + &of_ranks));
        };
        row("command", Some(command_text(started)));
        row("folder", started.folder.clone());
        row("user", started.user.clone());
        row(
            "recorded by",
            started
                .version
                .as_ref()
                .map(|version| format!("mastermind {version}")),
        );
        if info.mpi.is_some() {
            row("MPI library", started.mpi_library.clone());
        }
        let usable = started.processors_usable;
        let usable = usable.map_or_else(String::new, |n| format!(", {n} usable"));
        let processor = started.processor.as_ref();
        row("processor", processor.map(|model| model.clone() + &usable));
    }
    if info.circumstances.is_empty() {
        rows.push(("command", UNKNOWN.into()));
    }
    let at = |time: Option<u64>, load: Option<f64>| {
        let time = time.map_or_else(|| UNKNOWN.into(), self::time);
        let load = load.map(|load| format!(", load {load}"));
        time + &load.unwrap_or_default()
    };
    rows.push(("started", at(info.started_unix_ns, info.load_begin)));
    rows.push(("ended", at(info.ended_unix_ns, info.load_end)));
    let shares = info.processor_shares.iter();
    let lowest = shares.min_by(|(_, one), (_, other)| one.total_cmp(other));
    let share = lowest.map(|(rank, share)| match info.processor_shares.len() {
        1 => format!("{:.1} %", 100.0 * share),
        _ => format!("{:.1} % on rank {rank}, the least", 100.0 * share),
    });
    rows.push(("processor share", share.unwrap_or_else(|| UNKNOWN.into())));
    rows
}

/// The command line, words with blanks quoted.
fn command_text(started: &CircumstancesDefinition) -> String {
    let words = started.command.iter().map(|word| {
        let is_plain = !word.is_empty() && !word.contains(|c: char| c.is_whitespace() || c == '\'');
        match is_plain {
            true => word.clone(),
            false => format!("'{}'", word.replace('\'', r"'\''")),
        }
    });
    let mut text = words.collect::<Vec<_>>().join(" ");
    match started.words_left_out {
        0 => {}
        n => text += &format!(" … ({n} more words)"),
    }
    text
}

fn ranks_text(ranks: &[u32]) -> String {
    let numbers: Vec<_> = ranks.iter().map(ToString::to_string).collect();
    match ranks.len() {
        1 => format!("rank {}", numbers[0]),
        _ => format!("ranks {}", numbers.join(", ")),
    }
}

fn time(unix_ns: u64) -> String {
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_nanos(unix_ns);
    humantime::format_rfc3339_seconds(time).to_string()
}

fn text(rows: impl Iterator<Item = (&'static str, String)>) -> String {
    let rows = rows.map(|(what, found)| vec![what.to_string(), found]);
    output::table(&["WHAT", "FOUND"], &[], rows)
}

fn ranks(info: &RunInfo) -> String {
    match info.ranks_with_logs {
        n if n == info.ranks as usize => n.to_string(),
        n => format!("{}, of which {n} left logs", info.ranks),
    }
}

fn clock_text(clock: &ClockInfo, info: &RunInfo) -> String {
    let mut text = format!("{} at {:.1} MHz", clock.name, clock.ticks_per_second / 1e6);
    match clock.step_ns {
        Some(ns) => text += &format!(", in steps of {ns:.3} ns"),
        None => text += ", step not known",
    }
    if let Some(ns) = clock.record_ns {
        text += &format!("; a record costs {ns:.1} ns");
    }
    if clock.ranks.len() < info.ranks_with_logs {
        text += &format!("; {}", ranks_text(&clock.ranks));
    }
    text
}
