//! `mastermind check`: everything that can be wrong with an assembly without running it.

use std::path::PathBuf;
use std::process::ExitCode;

use cca_core::rc::Script;
use cca_core::{Assembly, AssemblyProblems};
use clap::Args;
use serde::Serialize;

use crate::output;
use crate::session::framework::Session;
use crate::session::{assignment, build, read_assembly, setting};

/// Check an assembly without running it.
#[derive(Args)]
#[command(after_help = "Example: mastermind check examples/shock/shock.toml")]
pub struct Check {
    /// The assembly file, or an rc script
    assembly: PathBuf,
    /// Set a parameter first; KEY may be PORT.KEY
    #[arg(long, value_name = "INSTANCE.KEY=VALUE", value_parser = setting)]
    set: Vec<(String, String)>,
    /// Take another class for an instance first
    #[arg(long, value_name = "INSTANCE=CLASS", value_parser = assignment)]
    replace: Vec<(String, String)>,
    /// Of a script, what is not understood is a problem
    #[arg(long)]
    strict: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    assembly: String,
    instances: usize,
    connections: usize,
    problems: Vec<String>,
}

impl Check {
    /// Builds the assembly in a framework of its own and tells all that is wrong.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn execute(self) -> anyhow::Result<ExitCode> {
        let read = read_assembly(&self.assembly, &self.replace, &self.set, self.strict);
        let (assembly, problems) = match read.map_err(anyhow::Error::downcast) {
            Ok((assembly, changes)) => {
                // A script need not start anything.
                let starts = assembly.go.is_some() || !Script::is_script(&self.assembly);
                let problems = match build(&Session::serial()?, &assembly, changes, starts) {
                    Ok(_) => Vec::new(),
                    Err(AssemblyProblems { problems, .. }) => problems,
                };
                (assembly, problems)
            }
            // A script that does not make an assembly.
            Err(Ok(AssemblyProblems { name, problems })) => {
                let mut assembly = Assembly::default();
                assembly.assembly.name = name;
                (assembly, problems)
            }
            Err(Err(error)) => return Err(error),
        };
        let problems = problems.into_iter().map(anyhow::Error::from_boxed);
        let worded: Vec<_> = problems.map(|p| crate::errors::worded(&p)).collect();
        let report = Report {
            assembly: assembly.assembly.name.clone(),
            instances: assembly.instances.len(),
            connections: assembly.connections.len(),
            problems: worded
                .iter()
                .map(|text| text.trim_end().to_string())
                .collect(),
        };
        self.tell(&report)?;
        Ok(if report.problems.is_empty() {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        })
    }

    fn tell(&self, report: &Report) -> anyhow::Result<()> {
        if self.json {
            return output::json(report);
        }
        for problem in &report.problems {
            eprintln!("{problem}");
        }
        let Report {
            assembly,
            instances,
            connections,
            problems,
        } = report;
        output::line(match problems.len() {
            0 => {
                format!("{assembly}: {instances} instances, {connections} connections, no problem")
            }
            1 => format!("{assembly}: 1 problem"),
            n => format!("{assembly}: {n} problems"),
        });
        Ok(())
    }
}
