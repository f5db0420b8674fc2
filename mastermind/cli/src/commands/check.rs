//! `mastermind check`: everything that can be wrong with an assembly or a program model without
//! running it.

use std::path::PathBuf;
use std::process::ExitCode;

use cca_core::rc::Script;
use cca_core::{Assembly, AssemblyProblems, FrameworkError};
use clap::Args;
use mastermind_models::ModelSet;
use serde::Serialize;

use crate::commands::predict::read_models;
use crate::output;
use crate::session::framework::Session;
use crate::session::script::{self, Trial, try_out};
use crate::session::{Problems, assignment, build, model, read_assembly};

/// Check an assembly or a program model without running it.
#[derive(Args)]
#[command(after_help = "Example: mastermind check examples/shock/shock.toml")]
pub struct Check {
    /// The assembly file, an rc script, or a program model (TOML with a [model] table, the same as JSON,
    /// PlantUML, XMI, a flowchart of Mermaid or of Markdown: FILE.md#2)
    assembly: PathBuf,
    /// Of a program model, begin with this activity, not with the one that no other names
    #[arg(long, value_name = "ACTIVITY")]
    main: Option<String>,
    /// Set a parameter first; KEY may be PORT.KEY
    #[arg(long, value_name = "INSTANCE.KEY=VALUE", value_parser = assignment)]
    set: Vec<(String, String)>,
    /// Take another class for an instance first
    #[arg(long, value_name = "INSTANCE=CLASS", value_parser = assignment)]
    replace: Vec<(String, String)>,
    /// Of a script, what is not understood is a problem
    #[arg(long)]
    strict: bool,
    /// Fitted models that the costs of a program model name
    #[arg(long, value_name = "FILE")]
    models: Option<PathBuf>,
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
    /// Lines of a script that are ignored, and possible mistakes.
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct ModelReport {
    model: String,
    activities: usize,
    problems: Vec<ModelProblem>,
    /// Elements of a diagram that were ignored.
    warnings: Vec<ModelProblem>,
}

#[derive(Serialize)]
struct ModelProblem {
    rule: String,
    element: String,
    place: String,
    reason: String,
}

impl ModelProblem {
    fn of(finding: &mastermind_programs::Finding) -> Self {
        Self {
            rule: finding.rule.to_string(),
            element: finding.element.clone(),
            place: finding.place.clone(),
            reason: finding.reason.clone(),
        }
    }
}

/// A class that cannot take an instance's place.
#[derive(Debug, thiserror::Error)]
#[error("cannot take alternative \"{class}\" for instance \"{instance}\"")]
struct BadAlternative {
    instance: String,
    class: String,
    source: AssemblyProblems,
}

/// Problems of an assembly with each of its alternatives, one at a time.
fn alternatives(assembly: &Assembly) -> anyhow::Result<Problems> {
    let mut problems = Problems::new();
    for (instance, classes) in &assembly.alternatives {
        for class in classes {
            let mut changed = assembly.clone();
            changed.alternatives.clear();
            changed.replace(instance, class)?;
            if changed.instances == assembly.instances {
                continue;
            }
            let built = build(&Session::serial()?, &changed, Problems::new(), true);
            problems.extend(built.err().map(|source| {
                let (instance, class) = (instance.clone(), class.clone());
                let bad = BadAlternative {
                    instance,
                    class,
                    source,
                };
                bad.into()
            }));
        }
    }
    Ok(problems)
}

impl Check {
    /// Builds the assembly in a framework of its own and reports all problems.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn execute(self) -> anyhow::Result<ExitCode> {
        if model::is_model(&self.assembly) {
            return self.model();
        }
        let (assembly, problems, warnings) = if Script::is_script(&self.assembly) {
            self.script()?
        } else {
            let (assembly, changes) =
                read_assembly(&self.assembly, &self.replace, &self.set, self.strict)?;
            let problems = match build(&Session::serial()?, &assembly, changes, true) {
                Ok(_) => alternatives(&assembly)?,
                Err(AssemblyProblems { problems, .. }) => problems,
            };
            (assembly, problems, Vec::new())
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
            warnings,
        };
        self.show(&report)?;
        Ok(if report.problems.is_empty() {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        })
    }

    /// Tries a script out: as it is, and, where that is right, with each of its alternatives in turn.
    fn script(&self) -> anyhow::Result<(Assembly, Problems, Vec<String>)> {
        let options = script::Options {
            replace: &self.replace,
            set: &self.set,
            strict: self.strict,
            at: None,
        };
        let Trial {
            assembly,
            mut problems,
            warnings,
            ..
        } = try_out(&self.assembly, options)?;
        if !problems.is_empty() {
            return Ok((assembly, problems, warnings));
        }
        for (instance, classes) in &assembly.alternatives {
            for class in classes {
                let mut replace = self.replace.clone();
                replace.push((instance.clone(), class.clone()));
                let options = script::Options {
                    replace: &replace,
                    ..options
                };
                let trial = try_out(&self.assembly, options)?;
                let mut found = trial.problems;
                if !assembly.instances.contains_key(instance) {
                    let known = Vec::from_iter(assembly.instances.keys().cloned()).join(", ");
                    let instance = instance.clone();
                    found.push(FrameworkError::UnknownInstance { instance, known }.into());
                }
                if !found.is_empty() {
                    let name = assembly.assembly.name.clone();
                    let problems_found = AssemblyProblems {
                        name,
                        problems: found,
                    };
                    let bad = BadAlternative {
                        instance: instance.clone(),
                        class: class.clone(),
                        source: problems_found,
                    };
                    problems.push(bad.into());
                }
            }
        }
        Ok((assembly, problems, warnings))
    }

    /// Reports the findings of the model checker.
    fn model(&self) -> anyhow::Result<ExitCode> {
        let model::Loaded {
            mut model,
            findings,
            warnings,
        } = model::load(&self.assembly, self.main.as_deref())?;
        if let Some(model) = &mut model {
            for (name, value) in &self.set {
                super::simulate::set(model, name, value)?;
            }
        }
        let models = match &self.models {
            None => ModelSet::default(),
            Some(path) => read_models(path, false)?,
        };
        let findings = match &model {
            Some(model) => mastermind_programs::check(model, &models),
            None => findings,
        };
        let of_file = || self.assembly.display().to_string();
        let report = ModelReport {
            model: model
                .as_ref()
                .map_or_else(of_file, |model| model.name.clone()),
            activities: model.as_ref().map_or(0, |model| model.activities.len()),
            problems: findings.iter().map(ModelProblem::of).collect(),
            warnings: warnings.iter().map(ModelProblem::of).collect(),
        };
        if self.json {
            output::json(&report)?;
        } else {
            for warning in &warnings {
                crate::output::complain!("warning: {warning}");
            }
            for finding in &findings {
                crate::output::complain!("error: {finding}");
            }
            let ModelReport {
                model, activities, ..
            } = &report;
            output::line(match findings.len() {
                0 => format!("{model}: {activities} activities, no problem"),
                1 => format!("{model}: 1 problem"),
                n => format!("{model}: {n} problems"),
            });
        }
        Ok(if findings.is_empty() {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        })
    }

    fn show(&self, report: &Report) -> anyhow::Result<()> {
        if self.json {
            return output::json(report);
        }
        for warning in &report.warnings {
            crate::output::complain!("warning: {warning}");
        }
        for problem in &report.problems {
            crate::output::complain!("{problem}");
        }
        let Report {
            assembly,
            instances,
            connections,
            problems,
            ..
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
