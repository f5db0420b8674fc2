//! `mastermind choose`: the best assembly among the alternatives.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use cca_core::Assembly;
use clap::Args;
use mastermind_component::workload;
use mastermind_composition::{Choice, Row, choose};
use mastermind_models::Metric;

use crate::commands::predict::read_models;

use crate::commands::profile::tell_missing_records;
use crate::output;

/// Choose the best assembly for a recorded workload.
#[derive(Args)]
#[command(
    after_help = "Example: mastermind choose examples/shock/shock.toml --models models.json --records records"
)]
pub struct Choose {
    /// The assembly file, with its [alternatives]
    assembly: PathBuf,
    /// Models, as fit writes them
    #[arg(long, value_name = "FILE")]
    models: PathBuf,
    /// The records of the workload
    #[arg(long, value_name = "DIR")]
    records: PathBuf,
    /// Write the best assembly here
    #[arg(short, long, value_name = "ASSEMBLY2")]
    output: Option<PathBuf>,
    /// Predict by the shown formula of each model alone, not by the median over all credible ones
    #[arg(long)]
    shown: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl Choose {
    /// Predicts and chooses.
    ///
    /// # Errors
    /// A file cannot be read; an alternative has no model.
    pub fn execute(self) -> anyhow::Result<ExitCode> {
        let assembly = Assembly::read(&self.assembly)?;
        let models = read_models(&self.models, self.shown)?;
        let run = super::profile::open(&self.records)?;
        let mut calls = workload(&run, Metric::Wall);
        tell_missing_records(
            &run,
            "they are predicted at the mean size of their class, those of unknown size not at all",
        );
        // What the assembly does not have, such as the program that started it, cannot be chosen.
        calls
            .calls
            .retain(|call| assembly.instances.contains_key(&call.instance));
        let choice = choose(&calls, &assembly.alternatives, &assembly.instances, &models)?;
        if let Some(path) = &self.output {
            self.write(&assembly, &choice, path)?;
        }
        if self.json {
            output::json(&choice)?;
        } else {
            tell(&choice);
        }
        Ok(ExitCode::SUCCESS)
    }

    fn write(&self, assembly: &Assembly, choice: &Choice, path: &PathBuf) -> anyhow::Result<()> {
        let mut best = assembly.clone();
        best.instances = choice.best.clone();
        // Its path was relative to the file it was read from.
        for entry in &mut best.assembly.path {
            *entry = entry.canonicalize().unwrap_or_else(|_| entry.clone());
        }
        let text = toml::to_string(&best).context("cannot write assembly: no TOML form")?;
        fs::write(path, text)
            .with_context(|| format!("cannot write assembly \"{}\"", path.display()))
    }
}

fn tell(choice: &Choice) {
    let rows = choice
        .instances
        .iter()
        .filter(|row| !row.measured_only)
        .map(cells);
    let header = [
        "INSTANCE",
        "CLASS",
        "CALLS",
        "PREDICTED s",
        "95 % INTERVAL s",
        "MEASURED s",
        "",
    ];
    output::line(output::table(&header, &[2, 3, 5], rows));
    let [lower, upper] = choice.interval_s;
    output::line(format!(
        "{} assemblies; best {:.4} s predicted ({lower:.4} to {upper:.4}), the current one {:.4} s",
        choice.assemblies, choice.predicted_s, choice.current_s
    ));
    let changed = choice
        .instances
        .iter()
        .filter(|row| row.chosen && !row.current);
    let changed: Vec<_> = changed
        .map(|row| format!("--replace {}={}", row.instance, row.class))
        .collect();
    output::line(match changed.is_empty() {
        true => "choose the current assembly".into(),
        false => format!("choose {}", changed.join(" ")),
    });
}

fn cells(row: &Row) -> Vec<String> {
    let [lower, upper] = row.interval_s;
    let mut marks = Vec::new();
    for (marked, mark) in [
        (row.chosen, "chosen"),
        (row.current, "current"),
        (row.extrapolated, "extrapolated"),
        (row.clamped, "clamped at 0"),
    ] {
        if marked {
            marks.push(mark);
        }
    }
    vec![
        row.instance.clone(),
        row.class.clone(),
        row.calls.to_string(),
        format!("{:.4}", row.predicted_s),
        format!("{lower:.4} to {upper:.4}"),
        row.measured_s
            .map_or_else(String::new, |s| format!("{s:.4}")),
        marks.join(", "),
    ]
}
