//! `mastermind transform`: a program model as Rust source.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use mastermind_simulation::transform::transform;

use crate::destination::Force;
use crate::output;
use crate::session::model;
use crate::session::sources::SIMULATION;

/// Write Rust source for a program model.
#[derive(Args)]
#[command(after_help = "Example: mastermind transform examples/sample/sample.puml -o sample")]
pub struct Transform {
    /// The model: TOML with a [model] table, the same as JSON, or activity diagrams in PlantUML (.puml)
    /// or XMI (.uml, .xmi)
    model: PathBuf,
    /// Where to write the crate: Cargo.toml and src/main.rs
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    #[command(flatten)]
    force: Force,
    /// This program's sources of the simulation, which the crate is built against [default: found above this program or this
    /// folder]
    #[arg(long, value_name = "DIR")]
    simulation: Option<PathBuf>,
}

impl Transform {
    /// Writes the crate.
    ///
    /// # Errors
    /// The model cannot be read or is not sound; there is another program in the folder; a file cannot
    /// be written.
    pub fn execute(self) -> anyhow::Result<ExitCode> {
        let source = transform(&model::read(&self.model, None)?)?;
        let simulation = SIMULATION.find(self.simulation.as_deref())?;
        let main = self.output.join("src/main.rs");
        let manifest_path = self.output.join("Cargo.toml");
        self.force
            .check([Some(&*main), Some(&manifest_path)], false)?;
        let name = crate_name(&self.model);
        let manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\nmastermind-simulation = {{ path = {simulation:?} }}\n"
        );
        let folder = self.output.join("src");
        let act = || format!("cannot make folder \"{}\"", folder.display());
        fs::create_dir_all(&folder).with_context(act)?;
        self.force.write("manifest", &manifest_path, manifest)?;
        self.force.write("program", &main, source)?;
        let folder = self.output.display();
        output::line(format!(
            "{folder} is written; next:\n  cd {folder}\n  cargo run --release -- MACHINE.toml PROCESSES"
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
