//! `mastermind info`: what the logs of a run know of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use mastermind_component::decisions_file;
use mastermind_composition::adapt::Decision;
use mastermind_records::definition::{ClassDefinition, ConnectionDefinition, SwapDefinition};
use mastermind_records::{Log, Run};
use serde::Serialize;

use super::profile::open;
use crate::output;

/// Tell what a run was: its assembly, where it ran, by which clock, and what of it is missing
#[derive(Args)]
#[command(after_help = "Example: mastermind info records")]
pub struct Info {
    /// The record directory
    records: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// A run, as its logs tell it.
#[derive(Serialize)]
pub struct Told {
    pub assembly: String,
    /// Values of the parameters by `INSTANCE.PORT.KEY`.
    parameters: BTreeMap<String, String>,
    classes: Vec<ClassDefinition>,
    connections: Vec<ConnectionDefinition>,
    /// Components replaced while the run went on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    swaps: Vec<SwapDefinition>,
    /// What `run --adapt` decided.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    decisions: Vec<Decision>,
    /// Ranks of the run, and how many of them left logs.
    ranks: u32,
    ranks_with_logs: usize,
    logs: usize,
    hosts: BTreeSet<String>,
    /// Start of the first rank, nanoseconds since 1970-01-01 UTC.
    started_unix_ns: Option<u64>,
    /// Where MPI time comes from, if it was measured.
    mpi: Option<String>,
    clocks: Vec<ClockTold>,
    /// Counters that were read, with their units.
    counters: BTreeMap<String, String>,
    /// Counters that could not be read, with the reasons.
    missing_counters: BTreeMap<String, BTreeSet<String>>,
    finished: bool,
    records: u64,
    lost_records: u64,
    /// What cannot be read.
    damage: Vec<String>,
}

/// A clock, and what a recorded call costs by it; one for all ranks whose clocks are alike.
#[derive(Serialize)]
pub struct ClockTold {
    name: String,
    ticks_per_second: f64,
    /// What it advances by at once.
    step_ns: Option<f64>,
    /// What a recorded call with two parameters costs.
    record_ns: Option<f64>,
    ranks: Vec<u32>,
}

impl Info {
    /// Reads the definitions and tells them.
    ///
    /// # Errors
    /// There are no records; they cannot be read.
    pub fn execute(self) -> anyhow::Result<ExitCode> {
        let told = Told {
            decisions: decisions(&self.records)?,
            ..told(&open(&self.records)?)
        };
        if self.json {
            output::json(&told)?;
        } else {
            output::line(text(&told));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// What the first rank's log of decisions holds, if there is one; a line that was cut is left out.
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

/// What the logs of a run tell of it.
pub fn told(run: &Run) -> Told {
    // Each log says the same of the run.
    let definition = run.logs().first().map(|log| &log.definitions().run);
    let definition = definition.cloned().unwrap_or_default();
    let definitions = || run.logs().iter().map(Log::definitions);
    let started = definitions().map(|definitions| definitions.run.started_unix_ns);
    let (counters, missing_counters) = counters(run);
    Told {
        assembly: definition.assembly,
        parameters: definition.parameters,
        classes: definition.classes,
        connections: definition.connections,
        swaps: run
            .logs()
            .first()
            .map_or_else(Vec::new, |log| log.definitions().swaps.clone()),
        decisions: Vec::new(),
        ranks: definition.ranks,
        ranks_with_logs: run.ranks().len(),
        logs: run.logs().len(),
        hosts: definitions()
            .map(|definitions| definitions.run.host.clone())
            .collect(),
        started_unix_ns: started.filter(|ns| *ns > 0).min(),
        mpi: definition.mpi,
        clocks: clocks(run),
        counters,
        missing_counters,
        finished: run.is_finished(),
        records: run.n_records(),
        lost_records: run.dropped(),
        damage: run.damage().map(ToString::to_string).collect(),
    }
}

/// The clocks of the ranks, those alike together: the rates of two ranks of one machine differ in the last digits.
fn clocks(run: &Run) -> Vec<ClockTold> {
    let mut clocks = Vec::<ClockTold>::new();
    for log in run.logs() {
        let (definitions, rank) = (log.definitions(), log.identity().rank);
        let Some(clock) = &definitions.clock else {
            continue;
        };
        let step_ns = clock.step_ns();
        let near = |a: f64, b: f64| (a / b - 1.0).abs() < 0.1;
        let alike = |told: &&mut ClockTold| {
            told.name == clock.name
                && near(told.ticks_per_second, clock.ticks_per_second)
                && told.step_ns.is_some() == step_ns.is_some()
                && told.step_ns.zip(step_ns).is_none_or(|(a, b)| near(a, b))
        };
        match clocks.iter_mut().find(alike) {
            Some(told) => told.ranks.push(rank),
            None => clocks.push(ClockTold {
                name: clock.name.clone(),
                ticks_per_second: clock.ticks_per_second,
                step_ns,
                record_ns: definitions.cost.map(|cost| cost.record_ns),
                ranks: vec![rank],
            }),
        }
    }
    clocks.iter_mut().for_each(|told| told.ranks.dedup());
    clocks
}

/// Counters that were read, with units, and those that were not, with reasons.
fn counters(run: &Run) -> (BTreeMap<String, String>, BTreeMap<String, BTreeSet<String>>) {
    let (mut read, mut missing) = (BTreeMap::new(), BTreeMap::<String, BTreeSet<_>>::new());
    let methods = run
        .logs()
        .iter()
        .flat_map(|log| log.definitions().methods());
    for counter in methods.flat_map(|method| &method.counters) {
        match &counter.unavailable {
            None => drop(read.insert(counter.name.clone(), counter.unit.clone())),
            Some(why) => drop(
                missing
                    .entry(counter.name.clone())
                    .or_default()
                    .insert(why.clone()),
            ),
        }
    }
    (read, missing)
}

/// A run in a line: ranks, host, start, records.
pub fn summary(told: &Told) -> String {
    let ranks = match told.ranks {
        1 => "1 rank".to_owned(),
        n => format!("{n} ranks"),
    };
    let hosts = Vec::from_iter(told.hosts.iter().cloned()).join(", ");
    let started = told
        .started_unix_ns
        .map_or_else(String::new, |ns| format!(", {}", time(ns)));
    let lost = told.lost_records;
    format!(
        "{ranks} on {hosts}{started}; {} calls recorded, {lost} lost",
        told.records
    )
}

/// What is told of a run, line by line.
pub fn rows(told: &Told) -> Vec<(&'static str, String)> {
    let mut rows = vec![
        ("assembly", told.assembly.clone()),
        ("ranks", ranks(told)),
        (
            "host",
            Vec::from_iter(told.hosts.iter().cloned()).join(", "),
        ),
    ];
    if let Some(ns) = told.started_unix_ns {
        rows.push(("started", time(ns)));
    }
    let mpi = told.mpi.clone();
    rows.push(("time in MPI", mpi.unwrap_or_else(|| "not measured".into())));
    rows.extend(
        told.clocks
            .iter()
            .map(|clock| ("clock", clock_text(clock, told))),
    );
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
    rows.extend(told.classes.iter().map(of_class));
    let parameter = |(key, value): (&String, &String)| ("parameter", format!("{key} = {value}"));
    rows.extend(told.parameters.iter().map(parameter));
    let swap = |swap: &SwapDefinition| {
        let to = &swap.to;
        (
            "replaced",
            format!("{}: {} by {}", to.instance, swap.from, to.class),
        )
    };
    rows.extend(told.swaps.iter().map(swap));
    let decision = |decision: &Decision| ("decision", decision.to_string());
    rows.extend(told.decisions.iter().map(decision));
    let connection = |c: &ConnectionDefinition| {
        let how = if c.monitored {
            "recorded"
        } else {
            "not recorded"
        };
        let (user, provider) = (&c.user, &c.provider);
        let joined = format!(
            "{user}.{} to {provider}.{}, {how}",
            c.uses_port, c.provides_port
        );
        ("connection", joined)
    };
    rows.extend(told.connections.iter().map(connection));
    let counter = |(name, unit): (&String, &String)| match unit.as_str() {
        "" => ("counter", name.clone()),
        unit => ("counter", format!("{name} [{unit}]")),
    };
    rows.extend(told.counters.iter().map(counter));
    for (name, why) in &told.missing_counters {
        let why = Vec::from_iter(why.iter().cloned()).join("; ");
        rows.push(("counter", format!("{name} not read: {why}")));
    }
    let (records, lost) = (told.records, told.lost_records);
    rows.push((
        "records",
        format!("{records} in {} logs, {lost} lost", told.logs),
    ));
    if !told.finished {
        rows.push(("end", "has not ended, or was killed".into()));
    }
    rows
}

fn time(unix_ns: u64) -> String {
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_nanos(unix_ns);
    humantime::format_rfc3339_seconds(time).to_string()
}

fn text(told: &Told) -> String {
    let rows = rows(told).into_iter();
    let rows = rows.map(|(what, found)| vec![what.to_string(), found]);
    output::table(&["WHAT", "FOUND"], &[], rows)
}

fn ranks(told: &Told) -> String {
    match told.ranks_with_logs {
        n if n == told.ranks as usize => n.to_string(),
        n => format!("{}, of which {n} left logs", told.ranks),
    }
}

fn clock_text(clock: &ClockTold, told: &Told) -> String {
    let mut text = format!("{} at {:.1} MHz", clock.name, clock.ticks_per_second / 1e6);
    match clock.step_ns {
        Some(ns) => text += &format!(", in steps of {ns:.3} ns"),
        None => text += ", step not known",
    }
    if let Some(ns) = clock.record_ns {
        text += &format!("; a record costs {ns:.1} ns");
    }
    if clock.ranks.len() < told.ranks_with_logs {
        let ranks: Vec<_> = clock.ranks.iter().map(ToString::to_string).collect();
        text += &format!("; ranks {}", ranks.join(", "));
    }
    text
}
