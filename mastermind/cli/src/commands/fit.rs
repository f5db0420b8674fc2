//! `mastermind fit`: models of the measured methods.
//!
//! The verb reads measurements (`measurements.rs`), groups them by method and metric, fits each
//! group with the crate `mastermind-models`, and prints or writes the models. It is written for
//! runs with many methods and ranks: under a launcher every process reads a share of the records,
//! the first one fits; models are written to the output as they are made, so memory does not grow
//! with their alternatives.
//!
//! ```text
//! $ mastermind fit godunov efm -o models.json
//! METHOD                       MODE  R2  CV-SMAPE %  WEIGHT %  CALLS  NOTES
//! hydro.EfmFlux::flux.compute  ..
//!   T = 2e-9 * n s for n 1000 to 64000
//! ```
//!
//! A method that cannot be fitted is reported and does not stop the others; the exit code is then
//! 1. Without any model the output of an earlier fit stays in place.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, ValueEnum};
use mastermind_models::{Language, Model, ModelSet, ModelWriter, Samples, Statistic, render};

use crate::commands::wishes::Wishes;
use crate::destination::{Force, Pending};
use crate::measurements::{self, Measured, Reading};
use crate::output;
use crate::session::team::Team;

mod notes;

use notes::Notes;

/// Fit models to the records of one or several runs, or to tables and files of Extra-P.
#[derive(Args)]
#[command(
    after_help = "Example: mastermind fit records-godunov records-efm -o models.json --method flux.compute\n\
                  Example: mastermind fit sort.csv --time seconds --params n,order --format rust\n\n\
                  fit --evolve SPEC.toml DATA.csv is the verb correct: a semi-empirical formula, and the term that it lacks"
)]
pub struct Fit {
    /// Record directories, tables (.csv, .tsv), files of Extra-P (.txt, .json, .jsonl, .extra-p) and of benchmark programs (.json, .csv,
    /// target/criterion), or directories of such files
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    /// Where the models go, as JSON
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    force: Force,
    /// Only this method: CLASS::PORT.METHOD, INSTANCE.PORT.METHOD of a run, or all whose name ends in it
    #[arg(long, value_name = "NAME")]
    method: Option<String>,
    #[command(flatten)]
    measured: Measured,
    /// The statistic of the calls at one coordinate [default: clean; for functions of MPI median, since a call lasts as long as another
    /// rank is late]
    #[arg(long, value_enum)]
    statistic: Option<StatisticName>,
    #[command(flatten)]
    wishes: Wishes,
    /// What is printed
    #[arg(long, value_enum, default_value_t = Printed::Table)]
    format: Printed,
    /// Print and write the shown formula of each model alone: predictions will average over no others
    #[arg(long)]
    shown: bool,
    /// Print one JSON document, as --format json
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    reading: Reading,
}

/// What models are printed as.
#[derive(Clone, Copy, ValueEnum, PartialEq, Eq)]
pub enum Printed {
    /// A line a model, its formula below it
    Table,
    /// The models with all that is known of them, as -o writes them
    Json,
    /// Formula, coefficients with their errors, measures of the fit, range
    Text,
    /// Equations
    Latex,
    /// A Rust function a model
    Rust,
    /// A C function a model
    C,
}

#[derive(Clone, Copy, ValueEnum)]
enum StatisticName {
    /// The mean of those that the machine did not hold up; of all where none is seen to be
    Clean,
    /// Their mean, spikes set aside
    Mean,
    /// Their median
    Median,
    /// The fastest
    #[value(alias = "minimum")]
    Min,
}

impl From<StatisticName> for Statistic {
    fn from(name: StatisticName) -> Self {
        match name {
            StatisticName::Clean => Self::Clean,
            StatisticName::Mean => Self::Mean,
            StatisticName::Median => Self::Median,
            StatisticName::Min => Self::Minimum,
        }
    }
}

impl Printed {
    /// Models in this form.
    ///
    /// # Errors
    /// They have no JSON form.
    pub fn print(self, models: &ModelSet) -> anyhow::Result<String> {
        let language = match self {
            Self::Table => return Ok(table(&models.models)),
            Self::Json => return Ok(models.to_json()?),
            Self::Text => Language::Text,
            Self::Latex => Language::Latex,
            Self::Rust => Language::Rust,
            Self::C => Language::C,
        };
        let text = render(&models.models, language);
        Ok(text.trim_end().to_owned())
    }
}

impl Fit {
    /// Fits the models.
    ///
    /// # Errors
    /// There are no measurements; no method of the name; the output cannot be written.
    pub fn execute(self) -> anyhow::Result<ExitCode> {
        let team = Team::of_launch("fit")?;
        let checked = self.wishes.check();
        let checked = checked.and_then(|()| self.force.check([self.output.as_deref()], self.json));
        team.together(checked)?;
        let mut fitted = Fitted::default();
        let mut read = Vec::new();
        let metrics = measurements::metrics(&self.inputs, &self.reading, &self.measured);
        for of in team.together(metrics)? {
            let statistic = self.statistic.map(Statistic::from);
            let samples = measurements::read(&of.inputs, &of.reading, &of.metric, statistic, &team);
            read.push((of, samples.transpose()));
        }
        let is_first = team.is_first();
        // The other processes would wait for the models, which the first one fits.
        drop(team);
        if !is_first {
            return Ok(ExitCode::SUCCESS);
        }
        for (of, samples) in read {
            let samples = samples.unwrap_or_else(|| Ok(Vec::new()));
            let named = samples.and_then(|samples| {
                measurements::select(samples, self.method.as_deref(), &of.metric, &of.inputs)
            });
            match named {
                Ok(samples) => self.fit(&samples, &mut fitted)?,
                Err(error) => fitted.failures.push(error),
            }
        }
        let Fitted {
            models,
            written,
            mut failures,
        } = fitted;
        // One method, and it failed: that is the error of the command.
        if let ([], [_]) = (&models[..], &failures[..]) {
            return Err(failures.remove(0));
        }
        for failure in &failures {
            crate::output::complain!("{}", crate::errors::worded(failure));
        }
        if models.is_empty() && !failures.is_empty() {
            // The output of an earlier fit stays.
            return Ok(ExitCode::FAILURE);
        }
        if let Some(path) = &self.output {
            let (written, pending) = written.map_or_else(|| self.writer(path), Ok)?;
            written.finish().with_context(|| cannot_write(path))?;
            pending.put_in_place()?;
        }
        output::line(self.printed().print(&ModelSet { models })?);
        Ok(if failures.is_empty() {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        })
    }
}

/// Results of the methods so far.
#[derive(Default)]
struct Fitted {
    /// Models for printing; for a table, with the first alternative only.
    models: Vec<Model>,
    /// The output file, if any. It is opened for the first model, so that a fit without one leaves the output of an
    /// earlier fit.
    written: Option<(ModelWriter, Pending)>,
    /// Why there is no model of some.
    failures: Vec<anyhow::Error>,
}

impl Fit {
    /// The printed results.
    fn printed(&self) -> Printed {
        match self.json {
            true => Printed::Json,
            false => self.format,
        }
    }

    /// The document of the models, begun.
    fn writer(&self, path: &Path) -> anyhow::Result<(ModelWriter, Pending)> {
        let (file, pending) = self.force.begin("models", path)?;
        Ok((ModelWriter::new(file)?, pending))
    }

    /// Fits models of each method, and reports why a method has none.
    ///
    /// # Errors
    /// The output cannot be written.
    fn fit(&self, samples: &[Samples], fitted: &mut Fitted) -> anyhow::Result<()> {
        for samples in samples {
            let models = match self.wishes.fit(samples) {
                Ok(models) => models,
                Err(error) => {
                    fitted.failures.push(anyhow::Error::from(error));
                    continue;
                }
            };
            for mut model in models {
                if self.shown {
                    model.alternatives.clear();
                }
                if let Some(path) = &self.output {
                    let written = match fitted.written.take() {
                        Some(written) => written,
                        None => self.writer(path)?,
                    };
                    let (written, _) = fitted.written.insert(written);
                    written.push(&model).with_context(|| cannot_write(path))?;
                }
                if self.printed() == Printed::Table {
                    // The first one has the weight of the shown formula. With many methods the other alternatives take
                    // most of the memory.
                    model.alternatives.truncate(1);
                    model.alternatives.shrink_to_fit();
                }
                fitted.models.push(model);
            }
        }
        Ok(())
    }
}

fn cannot_write(path: &Path) -> String {
    format!("cannot write models \"{}\"", path.display())
}

/// Maximum number of columns of a formula or a note; names may make the table wider.
const WIDTH: usize = 100;

/// A line for each model, with its formula and range below, and the notes below all of them. With several metrics each
/// line names its own.
fn table(models: &[Model]) -> String {
    let n_metrics = models
        .iter()
        .map(|model| &model.metric)
        .collect::<BTreeSet<_>>()
        .len();
    let notes = Notes::of(models);
    let rows = models.iter().map(|model| {
        let mode: Vec<_> = model
            .mode
            .iter()
            .map(|(name, label)| format!("{name}={label}"))
            .collect();
        vec![
            match n_metrics {
                0 | 1 => model.method.clone(),
                _ => format!("{}: {}", model.method, model.metric),
            },
            mode.join(" "),
            model.r2.map_or_else(String::new, |r2| format!("{r2:.4}")),
            model
                .cv_smape
                .map_or_else(String::new, |smape| format!("{smape:.2}")),
            format!("{:.0}", 100.0 * model.weight()),
            model.n_records.to_string(),
            notes.cell(&model.notes),
        ]
    });
    let header = [
        "METHOD",
        "MODE",
        "R2",
        "CV-SMAPE %",
        "WEIGHT %",
        "CALLS",
        "NOTES",
    ];
    let table = output::table(&header, &[2, 3, 4, 5], rows);
    let mut lines = table.lines();
    let mut text: Vec<String> = lines.next().into_iter().map(str::to_owned).collect();
    for (row, model) in lines.zip(models) {
        text.push(row.to_owned());
        text.push(output::wrapped("  T = ", &formula(model), WIDTH));
    }
    for (place, (mark, sentence)) in notes.sentences().enumerate() {
        if place == 0 {
            text.push(String::new());
        }
        text.push(output::wrapped(&format!("{mark}  "), sentence, WIDTH));
    }
    text.join("\n")
}

/// The formula and its measured range: `2e-9 * n s for n 1000 to 64000`. A function of MPI without bytes or ranks is
/// recorded with 0 of them, which is no size.
fn formula(model: &Model) -> String {
    let is_mpi = model.method.starts_with(measurements::MPI_METHODS);
    let range = model.range.iter();
    let range = range.filter(|(_, range)| !is_mpi || **range != [0.0, 0.0]);
    let range = range.map(|(name, [lower, upper])| match lower == upper {
        true => format!("{name} {lower}"),
        false => format!("{name} {lower} to {upper}"),
    });
    let range = range.collect::<Vec<_>>().join(", ");
    let formula = model.metric.with_unit(&model.expression);
    match range.as_str() {
        "" => formula,
        range => format!("{formula} for {range}"),
    }
}
