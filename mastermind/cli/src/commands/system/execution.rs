//! Components that are called and timed: `mastermind run` as a process of its own, and its records.

use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use mastermind_component::{names, names::Names, samples};
use mastermind_models::{CallSink, Error, Metric, Parameter, Refused};
use mastermind_records::Run;
use mastermind_system::{Answer, ToolCall};

use crate::commands::profile;

/// Minimum number of calls for an interval by quantiles: with fewer, one of its ends would be the least or the greatest
/// call itself.
const MIN_CALLS: usize = 40;

/// The recorded calls of a method with the requested parameters.
struct Calls<'a> {
    /// By method: its name, and the parameters' names.
    methods: Vec<(String, Vec<String>)>,
    wanted: &'a [(&'a str, f64)],
    by_name: HashMap<String, usize>,
    /// By method: own times of its calls, seconds.
    seconds: Vec<Vec<f64>>,
}

impl CallSink for Calls<'_> {
    fn declare(&mut self, method: &str, parameters: &[Parameter]) -> Result<usize, Error> {
        if let Some(known) = self.by_name.get(method) {
            return Ok(*known);
        }
        let number = self.methods.len();
        let parameters = parameters.iter().map(|parameter| parameter.name.clone());
        self.methods.push((method.to_owned(), parameters.collect()));
        self.seconds.push(Vec::new());
        self.by_name.insert(method.to_owned(), number);
        Ok(number)
    }

    fn take(&mut self, method: usize, coordinate: &[f64], seconds: f64) -> Result<(), Refused> {
        let names = &self.methods[method].1;
        let is_wanted = self.wanted.iter().all(|(name, value)| {
            let at = names.iter().position(|known| known == name);
            at.is_some_and(|at| coordinate[at] == *value)
        });
        if is_wanted {
            self.seconds[method].push(seconds);
        }
        Ok(())
    }
}

/// Mean and interval of the recorded calls of a method.
///
/// # Errors
/// There is no such method; it was not called with these parameters.
pub fn recorded(records: &Path, call: &str, at: &[(&str, f64)]) -> anyhow::Result<Answer> {
    let run = profile::open(records)?;
    let mut calls = Calls {
        methods: Vec::new(),
        wanted: at,
        by_name: HashMap::new(),
        seconds: Vec::new(),
    };
    samples(&run, &mut calls, &Metric::Wall)?;
    let known: Vec<_> = calls
        .methods
        .iter()
        .map(|(name, _)| Names::of_model(name).and_of_run(&run))
        .collect();
    let place = names::one("take calls of", call, "no calls of it", &known)?;
    let mut seconds = std::mem::take(&mut calls.seconds[place]);
    if seconds.is_empty() {
        let parameters = &calls.methods[place].1;
        bail!(
            "cannot take calls of \"{call}\": none with {}, expected some; its parameters are {}",
            at.iter()
                .map(|(name, value)| format!("{name} = {value}"))
                .collect::<Vec<_>>()
                .join(", "),
            parameters.join(", ")
        );
    }
    seconds.sort_by(f64::total_cmp);
    Ok(summed_up(&seconds))
}

/// # Arguments
/// * `seconds` - sorted, at least one
fn summed_up(seconds: &[f64]) -> Answer {
    let n = seconds.len();
    let mean_s = seconds.iter().sum::<f64>() / n as f64;
    // The interval is of single calls, and the mean may lie outside it if a few take very long.
    let quantile = |share: f64| seconds[((n - 1) as f64 * share).round() as usize];
    let interval_s =
        (n >= MIN_CALLS).then(|| [quantile(0.025).min(mean_s), quantile(0.975).max(mean_s)]);
    let notes = match n {
        0..MIN_CALLS => vec![format!("{n} calls, too few for an interval")],
        _ => Vec::new(),
    };
    Answer {
        value_s: mean_s,
        interval_s,
        notes,
    }
}

/// Runs an assembly and times it, or a method of it.
///
/// # Errors
/// The run fails; its records lack the requested calls.
pub fn executed(assembly: &Path, call: &ToolCall<'_>) -> anyhow::Result<Answer> {
    let folder = tempfile::tempdir().context("cannot make a folder for the records")?;
    let records = folder.path().join("records");
    let own = std::env::current_exe().context("cannot find this program")?;
    let mut command = Command::new(own);
    command
        .arg("run")
        .arg(assembly)
        .arg("--records")
        .arg(&records);
    for (key, value) in &call.numbers {
        command.args(["--set", &format!("{key}={value}")]);
    }
    if let Some(ranks) = call.ranks.filter(|ranks| *ranks > 1) {
        command.args(["--ranks", &ranks.to_string()]);
    }
    let act = || format!("cannot run assembly \"{}\"", assembly.display());
    let ended = command.stdin(Stdio::null()).output().with_context(act)?;
    if !ended.status.success() {
        let said = String::from_utf8_lossy(&ended.stderr);
        bail!(
            "{}: {}, expected it to end well\n{}",
            act(),
            ended.status,
            said.trim_end()
        );
    }
    match &call.method.call {
        Some(method) => recorded(&records, method, &[]),
        None => {
            let run = profile::open(&records)?;
            Ok(Answer {
                value_s: length_s(&run),
                interval_s: None,
                notes: vec!["one run".into()],
            })
        }
    }
}

/// From the first recorded call to the end of the last one, on the rank that took longest.
fn length_s(run: &Run) -> f64 {
    let length_ns = |log: &mastermind_records::Log| {
        let (mut first, mut last) = (u64::MAX, 0);
        for record in log.records() {
            first = first.min(record.start_ns);
            last = last.max(record.start_ns + record.wall_ns);
        }
        last.saturating_sub(first)
    };
    let longest_ns = run.logs().iter().map(length_ns).max().unwrap_or(0);
    longest_ns as f64 / 1e9
}
