//! `mastermind convert`: a program model as Rust source, a recorded run as a GOAL schedule or a
//! program model.
//!
//! The simulator runs three representations of a program, and this verb leads from one to the next.
//! A recorded run is exact for its own number of ranks and has no variables; a program model has
//! loops and expressions that a person can edit; Rust source is the model as a crate of its own,
//! built against the simulation. The input and the ending of the output decide which conversion is
//! meant.
//!
//! ```text
//! record directory ──▶ x.goal       schedule: one run, message by message (crate replay)
//!                  ──▶ x.toml       program model of that number of ranks
//! several of them  ──▶ x.toml       one model for all numbers of ranks
//! model (any form) ──▶ DIR          a crate with main.rs (crate programs, `transform`)
//! ```
//!
//! The conversions are in the library crates. This file checks the combination of options and
//! writes the files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use mastermind_models::ModelSet;
use mastermind_programs::Collectives;
use mastermind_programs::transform::transform;

use crate::commands::predict::read_models;
use crate::destination::Force;
use crate::output;
use crate::recorded_run::{self, RecordedRun};
use crate::recorded_runs::RecordedRuns;
use crate::session::model;
use crate::session::sources::SIMULATION;

/// Write a program model as Rust source, or a recorded run as a schedule or a model.
#[derive(Args)]
#[command(after_help = "Example: mastermind convert examples/sample/sample.puml -o sample")]
pub struct Convert {
    /// The model: TOML with a [model] table, the same as JSON, activity diagrams in PlantUML (.puml)
    /// or XMI (.uml, .xmi, .emx), a flowchart of Mermaid (.mmd) or of Markdown (FILE.md#2); or the record directory of a run with --mpi-events
    model: PathBuf,
    /// Record directories of further runs of the same program on other numbers of ranks, for one model of all of them
    #[arg(value_name = "RUN")]
    more: Vec<PathBuf>,
    /// Where to write the crate: Cargo.toml and src/main.rs; of a recorded run the schedule, a .goal, or the model, a .toml
    #[arg(short, long, value_name = "DIR|F.goal|F.toml")]
    output: PathBuf,
    /// Fitted models that costs name, as fit writes them; the crate has a copy
    #[arg(long, value_name = "FILE")]
    models: Option<PathBuf>,
    /// Take the shown formula of each model alone, not the median over all credible ones
    #[arg(long, requires = "models")]
    shown: bool,
    /// Of a schedule of a recorded run: whose algorithms its collectives are written by
    #[arg(long, value_enum, default_value_t)]
    collectives: Library,
    #[command(flatten)]
    force: Force,
    /// This program's sources of the simulation, which the crate is built against [default: found above this program or this
    /// folder]
    #[arg(long, value_name = "DIR")]
    simulation: Option<PathBuf>,
}

/// Whose algorithms collectives are made by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Library {
    #[default]
    Basic,
    Mpich,
    Openmpi,
}

impl From<Library> for Collectives {
    fn from(library: Library) -> Self {
        match library {
            Library::Basic => Self::Basic,
            Library::Mpich => Self::Mpich,
            Library::Openmpi => Self::OpenMpi,
        }
    }
}

impl Convert {
    /// Writes the crate, or the schedule.
    ///
    /// # Errors
    /// The model cannot be read or is not sound; there is another program in the folder; a file cannot
    /// be written.
    pub fn execute(self) -> anyhow::Result<ExitCode> {
        if self.more.is_empty() {
            return self.execute_one();
        }
        if let Some(path) = self.paths().iter().find(|path| !recorded_run::is_one(path)) {
            bail!(
                "cannot convert \"{}\": no record directory, expected one, as of each of several runs",
                path.display()
            );
        }
        if self.output.extension().is_none_or(|end| end != "toml") {
            bail!(
                "cannot convert runs: output \"{}\", expected a file that ends in .toml for one model of several runs",
                self.output.display()
            );
        }
        self.program_of_runs()
    }

    fn paths(&self) -> Vec<PathBuf> {
        let first = [self.model.clone()].into_iter();
        first.chain(self.more.iter().cloned()).collect()
    }

    /// Writes the crate of a model, or the schedule or model of a run.
    ///
    /// # Errors
    /// As [`Convert::execute`].
    fn execute_one(self) -> anyhow::Result<ExitCode> {
        if recorded_run::is_one(&self.model) {
            return match self.output.extension().is_some_and(|end| end == "toml") {
                true => self.program(),
                false => self.schedule(),
            };
        }
        if self.collectives != Library::Basic {
            bail!(
                "cannot convert model \"{}\": --collectives is for recorded runs, expected none",
                self.model.display()
            );
        }
        let mut models = match &self.models {
            Some(path) => read_models(path, self.shown)?,
            None => ModelSet::default(),
        };
        // Each call takes the mean.
        models
            .models
            .iter_mut()
            .for_each(|model| model.sigma = None);
        let source = transform(&model::read(&self.model, None)?, &models)?;
        let simulation = SIMULATION.find(self.simulation.as_deref())?;
        let main = self.output.join("src/main.rs");
        let manifest_path = self.output.join("Cargo.toml");
        let models_path = self
            .models
            .as_ref()
            .map(|_| self.output.join("src/models.json"));
        self.force.check(
            [Some(&*main), Some(&manifest_path), models_path.as_deref()],
            false,
        )?;
        let name = crate_name(&self.model);
        let programs = simulation.with_file_name("programs");
        let manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\nmastermind-programs = {{ path = {programs:?} }}\nmastermind-simulation = {{ path = {simulation:?} }}\n"
        );
        let folder = self.output.join("src");
        let act = || format!("cannot make folder \"{}\"", folder.display());
        fs::create_dir_all(&folder).with_context(act)?;
        self.force.write("manifest", &manifest_path, manifest)?;
        self.force.write("program", &main, source)?;
        if let Some(path) = &models_path {
            self.force.write("models", path, models.to_json()?)?;
        }
        let folder = self.output.display();
        output::line(format!(
            "{folder} is written; next:\n  cd {folder}\n  cargo run --release -- MACHINE.toml PROCESSES"
        ));
        Ok(ExitCode::SUCCESS)
    }
}

impl Convert {
    /// Writes the program model of a recorded run.
    ///
    /// # Errors
    /// The records cannot be read, or are of no single program; the output is there already.
    fn program(&self) -> anyhow::Result<ExitCode> {
        if self.collectives != Library::Basic {
            bail!(
                "cannot convert run \"{}\": --collectives is for schedules, expected none; the machine says whose algorithms a model takes",
                self.model.display()
            );
        }
        self.force.check([Some(&*self.output)], false)?;
        let run = RecordedRun::read(&self.model)?;
        let name = self
            .output
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy();
        let program = run.program(&name)?;
        self.force.write("model", &self.output, program.toml)?;
        output::line(format!(
            "{} is written: {} elements for {} ranks; the run took {:.6} ms",
            self.output.display(),
            program.elements,
            run.ranks.len(),
            run.longest_ns() as f64 / 1e6
        ));
        Ok(ExitCode::SUCCESS)
    }

    /// Writes the program model of several recorded runs.
    ///
    /// # Errors
    /// The records cannot be read, or are of no single program; the output is there already.
    fn program_of_runs(&self) -> anyhow::Result<ExitCode> {
        self.force.check([Some(&*self.output)], false)?;
        let runs = RecordedRuns::read(&self.paths())?;
        let name = self
            .output
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy();
        let program = runs.program(&name)?;
        self.force.write("model", &self.output, program.toml)?;
        output::line(format!(
            "{} is written: {} elements for {} ranks, from {} runs",
            self.output.display(),
            program.elements,
            program.ranks,
            1 + self.more.len()
        ));
        Ok(ExitCode::SUCCESS)
    }

    /// Writes the schedule of a recorded run.
    ///
    /// # Errors
    /// The records cannot be read or do not fit together; the output is no schedule, or there already.
    fn schedule(&self) -> anyhow::Result<ExitCode> {
        let is_schedule = self.output.extension().is_some_and(|end| end == "goal");
        if !is_schedule && self.output != Path::new("-") {
            bail!(
                "cannot convert run \"{}\": output \"{}\", expected a file that ends in .goal or .toml",
                self.model.display(),
                self.output.display()
            );
        }
        self.force.check([Some(&*self.output)], false)?;
        let run = RecordedRun::read(&self.model)?;
        let replay = run.replay(self.collectives.into())?;
        self.force.write("schedule", &self.output, replay.goal)?;
        output::line(format!(
            "{} is written: {} ranks, {} messages and {} calls of collectives; the run took {:.6} ms",
            self.output.display(),
            run.ranks.len(),
            replay.messages,
            replay.collectives,
            run.longest_ns() as f64 / 1e6
        ));
        Ok(ExitCode::SUCCESS)
    }
}

/// A crate's name for a model's file.
fn crate_name(model: &Path) -> String {
    let stem = model.file_stem().unwrap_or_default().to_string_lossy();
    let letters = stem.chars().map(|letter| match letter {
        'a'..='z' | '0'..='9' => letter,
        'A'..='Z' => letter.to_ascii_lowercase(),
        _ => '-',
    });
    format!("model-{}", letters.collect::<String>().trim_matches('-'))
}
