//! Notes on whole runs, the same in every verb: how long their processes waited for a processor, and whether several
//! had different settings.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use mastermind_composition::RANKS;
use mastermind_records::definition::CircumstancesDefinition;
use mastermind_records::{Definitions, ProcessorTime, Run, RunInfo};

use crate::commands::run::dry;

/// Share of the processor below which times are not those of the program alone.
pub const MIN_SHARE: f64 = 0.8;

/// Waiting that is ignored, nanoseconds: less than one period of Linux's scheduler at its longest usual value (100 ms,
/// the default of `cpu.cfs_period_us`) says nothing about a run.
const MAX_WAITING_NS: u64 = 100_000_000;

/// Difference of the load averages of two runs that is ignored: one more busy program on the machine.
const MAX_OTHER_LOAD: f64 = 1.0;

/// Prefix of the names of a program's arguments.
const ARGUMENT: &str = "arg:";

/// Maximum number of values of a setting that are listed.
const MAX_VALUES: usize = 6;

/// The number of ranks that waited for a processor, and the one of them with the smallest share of it.
pub fn waiting(run: &Run) -> (usize, Option<(u32, ProcessorTime)>) {
    let waited =
        |time: &ProcessorTime| time.waiting_ns > MAX_WAITING_NS && time.share() < MIN_SHARE;
    let mut times = run.processor_times();
    times.retain(|_, time| waited(time));
    (times.len(), times.into_iter().reduce(least))
}

/// The one of two ranks with the smaller share of the processor.
pub fn least(one: (u32, ProcessorTime), later: (u32, ProcessorTime)) -> (u32, ProcessorTime) {
    match later.1.share() < one.1.share() {
        true => later,
        false => one,
    }
}

/// Warns that ranks of a run waited for a processor.
pub fn warn_of_waiting(run: &Run) {
    warn_of_waiting_times(waiting(run));
}

/// The same, from the result of [`waiting`].
pub fn warn_of_waiting_times(found: (usize, Option<(u32, ProcessorTime)>)) {
    if let Some(text) = waiting_text(found) {
        crate::output::complain!("warning: {text}");
    }
}

/// The note on ranks that waited for a processor; `None` if none did.
pub fn waiting_text(found: (usize, Option<(u32, ProcessorTime)>)) -> Option<String> {
    let (n_ranks, Some((rank, time))) = found else {
        return None;
    };
    let ranks = match n_ranks {
        1 => format!("rank {rank}"),
        n => format!("{n} ranks, least of all rank {rank},"),
    };
    Some(format!(
        "{ranks} had {:.0} % of the processor time that it was ready for, expected at least {:.0} %: \
         its times contain {:.1} s of waiting for a processor",
        100.0 * time.share(),
        100.0 * MIN_SHARE,
        time.waiting_ns as f64 * 1e-9
    ))
}

/// Warns that two compared runs ran on different machines or under different load.
pub fn warn_of_other_circumstances(infos: [&RunInfo; 2]) {
    let mut differing = Vec::new();
    let mut add = |what: &str, values: [String; 2]| {
        let [first, second] = values;
        if first != second {
            differing.push(format!("{what} ({first}, {second})"));
        }
    };
    let started = |info: &RunInfo| {
        info.circumstances
            .first()
            .map(|found| found.started.clone())
    };
    let known = infos.map(started);
    add("hosts", infos.map(|info| join(&info.hosts)));
    // A fact that one of the logs does not have differs from nothing.
    if let [Some(first), Some(second)] = &known {
        let mut both = |what: &str, values: [Option<String>; 2]| {
            if let [Some(first), Some(second)] = values {
                add(what, [first, second]);
            }
        };
        let of = |of: fn(&CircumstancesDefinition) -> Option<String>| [of(first), of(second)];
        both("processor", of(|found| found.processor.clone()));
        let usable = of(|found| found.processors_usable.map(|n| n.to_string()));
        both("processors usable", usable);
        both("MPI library", of(|found| found.mpi_library.clone()));
        both("version of Mastermind", of(|found| found.version.clone()));
    }
    if let [Some(first), Some(second)] = infos.map(|info| info.load_begin)
        && (first - second).abs() > MAX_OTHER_LOAD
    {
        differing.push(format!("load ({first:.1}, {second:.1})"));
    }
    if !differing.is_empty() {
        crate::output::complain!(
            "warning: the runs differ in {}: a difference may be that of the circumstances",
            differing.join(", ")
        );
    }
}

/// Warns that methods were left out of a run: the records of their calls are no measurements.
pub fn warn_of_dry(methods: &BTreeSet<String>) {
    if !methods.is_empty() {
        let names: Vec<&str> = methods.iter().map(String::as_str).collect();
        warn_of_dry_run(&names.join(", "));
    }
}

/// The same for a run of which only the summary is read.
pub fn warn_of_dry_summary(records: &Path) {
    if dry::has_prediction(records) {
        warn_of_dry_run("methods");
    }
}

fn warn_of_dry_run(what: &str) {
    crate::output::complain!(
        "warning: a dry run, which left out {what}: their calls took no time, and what followed computed with what they left"
    );
}

/// Refuses a dry run, for verbs that are only for measurements.
///
/// # Arguments
/// * `act` - the failed action: `cannot replay run "records"`
///
/// # Errors
/// The run was dry.
pub fn refuse_dry(run: &Run, act: impl FnOnce() -> String) -> anyhow::Result<()> {
    let methods = run.dry_methods();
    if methods.is_empty() {
        return Ok(());
    }
    anyhow::bail!(
        "{}: a dry run, which left out {}, expected one with everything",
        act(),
        Vec::from_iter(methods).join(", ")
    )
}

fn join(names: &BTreeSet<String>) -> String {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    names.join(" ")
}

/// All inputs of a program, by name: its settings, the arguments of a wrapped program as `arg:1`, and its number of
/// ranks.
pub type Settings = BTreeMap<String, String>;

/// The distinct settings of the programs of a run; most runs have one.
pub fn settings(run: &Run) -> Vec<Settings> {
    let mut all = Vec::new();
    for log in run.logs() {
        let settings = settings_of(log.definitions());
        if !all.contains(&settings) {
            all.push(settings);
        }
    }
    all
}

fn settings_of(definitions: &Definitions) -> Settings {
    let mut settings = definitions.run.parameters.clone();
    settings.insert(RANKS.into(), definitions.run.ranks.to_string());
    let circumstances = definitions.circumstances.iter();
    let arguments = circumstances.flat_map(|found| found.arguments());
    let arguments = arguments.enumerate();
    settings.extend(arguments.map(|(place, word)| (argument(place + 1), word.clone())));
    settings
}

/// Name of an argument of a wrapped program.
///
/// # Arguments
/// * `place` - from 1
pub fn argument(place: usize) -> String {
    format!("{ARGUMENT}{place}")
}

/// Notes that runs of different settings are combined.
///
/// # Arguments
/// * `runs` - settings of each
/// * `by` - the settings that are parameters of its calls
/// * `act` - what is done with the runs: `their calls are fitted together`
/// * `has_by` - whether a setting can be made a parameter
pub fn note_unlike(runs: &[Settings], by: &[String], act: &str, has_by: bool) {
    let names: BTreeSet<&str> = runs
        .iter()
        .flat_map(Settings::keys)
        .map(String::as_str)
        .collect();
    let is_by = |name: &&str| by.iter().any(|by| is_meant(by, name));
    let mut chosen: Vec<&str> = names.iter().copied().filter(is_by).collect();
    // If settings vary together, one suffices: first a name that the user gave, then a parameter, then an argument.
    let mut unlike: Vec<&str> = names
        .into_iter()
        .filter(|name| is_unlike(runs, name))
        .collect();
    unlike.sort_by_key(|name| (name.starts_with(ARGUMENT), name.contains('.')));
    let (mut differing, mut numbers) = (Vec::new(), Vec::new());
    for name in unlike {
        if follows(runs, &chosen, name) {
            continue;
        }
        differing.push(format!("{name} ({})", values(runs, name)));
        if runs.iter().all(|run| number(run, name).is_some()) {
            numbers.push(name);
            chosen.push(name);
        }
    }
    if differing.is_empty() {
        return;
    }
    let advice = match (has_by, &numbers[..]) {
        (false, _) => String::new(),
        (true, []) => {
            "; name a number of each with wrap or run --set NAME=NUMBER, and fit --by NAME".into()
        }
        (true, [one]) => format!("; --by {one} makes it a parameter"),
        (true, several) => format!("; --by {} makes them parameters", several.join(",")),
    };
    crate::output::complain!(
        "note: the {} runs differ in {}, and {act}{advice}",
        runs.len(),
        differing.join(", ")
    );
}

/// Whether a setting differs. Parameters of a class exist only in the runs that have the class.
fn is_unlike(runs: &[Settings], name: &str) -> bool {
    let distinct: BTreeSet<_> = runs.iter().map(|run| run.get(name)).collect();
    match name.starts_with(ARGUMENT) {
        true => distinct.len() > 1,
        false => distinct.into_iter().flatten().count() > 1,
    }
}

/// Whether runs with the same values of some settings have the same value of another.
fn follows(runs: &[Settings], of: &[&str], name: &str) -> bool {
    let mut known = BTreeMap::new();
    !of.is_empty()
        && runs.iter().all(|run| {
            let key: Vec<_> = of.iter().map(|of| run.get(*of)).collect();
            *known.entry(key).or_insert(run.get(name)) == run.get(name)
        })
}

/// The values of a setting, each once.
fn values(runs: &[Settings], name: &str) -> String {
    let mut shown: Vec<&str> = Vec::new();
    for run in runs {
        let value = run.get(name).map_or("none", String::as_str);
        if !shown.contains(&value) {
            shown.push(value);
        }
    }
    let more = if shown.len() > MAX_VALUES {
        ", …"
    } else {
        ""
    };
    shown.truncate(MAX_VALUES);
    shown.join(", ") + more
}

fn number(run: &Settings, name: &str) -> Option<f64> {
    let number = run.get(name)?.parse().ok();
    number.filter(|number: &f64| number.is_finite())
}

/// Whether `INSTANCE.KEY` or a whole name means a setting.
pub fn is_meant(by: &str, name: &str) -> bool {
    let of_instance = || {
        let (instance, key) = by.split_once('.')?;
        let rest = name.strip_prefix(instance)?.strip_prefix('.')?;
        Some(rest == key || rest.ends_with(&format!(".{key}")))
    };
    by == name || of_instance().unwrap_or(false)
}

/// The distinct settings of the processes of each program.
pub fn settings_of_programs(run: &Run) -> BTreeMap<String, Vec<Settings>> {
    let mut programs = BTreeMap::<String, Vec<Settings>>::new();
    for log in run.logs() {
        let settings = settings_of(log.definitions());
        let of_program = programs.entry(log.definitions().run.assembly.clone());
        let of_program = of_program.or_default();
        if !of_program.contains(&settings) {
            of_program.push(settings);
        }
    }
    programs
}

/// Notes that the records of a run are of one program with different settings.
///
/// # Arguments
/// * `programs` - as from [`settings_of_programs`]
pub fn note_unlike_programs(programs: &BTreeMap<String, Vec<Settings>>) {
    for runs in programs.values().filter(|runs| runs.len() > 1) {
        note_unlike(runs, &[], "their records are put together", false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_that_follows_others_is_no_other() {
        let run = |n: &str, out: &str| {
            let settings = [("n", n), ("arg:1", n), ("arg:2", out)];
            Settings::from(settings.map(|(name, value)| (name.into(), value.into())))
        };
        let runs = [run("1", "a"), run("2", "b"), run("2", "c")];
        assert!(follows(&runs, &["n"], "arg:1"));
        assert!(!follows(&runs, &["n"], "arg:2"));
        assert!(!follows(&runs, &[], "n"));
        assert!(is_unlike(&runs, "n"));
        assert_eq!(values(&runs, "arg:2"), "a, b, c");
    }

    #[test]
    fn a_setting_is_meant_by_a_short_name() {
        assert!(is_meant("n", "n"));
        assert!(is_meant("mesh.nx", "mesh.mesh.nx"));
        assert!(is_meant("mesh.nx", "mesh.nx"));
        assert!(!is_meant("mesh.nx", "mesh.mesh.onx"));
        assert!(!is_meant("n", "mesh.n"));
    }
}
