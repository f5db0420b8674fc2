//! What can be wrong with a program model.

use std::fs;
use std::process::ExitCode;

use anyhow::Context;
use mastermind_models::ModelSet;
use mastermind_simulation::program;
use serde::Serialize;

use super::Check;
use crate::commands::simulate;
use crate::output;
use crate::session::model;

#[derive(Serialize)]
struct ModelReport {
    model: String,
    activities: usize,
    problems: Vec<ModelProblem>,
    /// What of a diagram was passed over.
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
    fn of(finding: &program::Finding) -> Self {
        Self {
            rule: finding.rule.to_string(),
            element: finding.element.clone(),
            place: finding.place.clone(),
            reason: finding.reason.clone(),
        }
    }
}

impl Check {
    /// Says what the model checker finds.
    pub fn model(&self) -> anyhow::Result<ExitCode> {
        let model::Loaded {
            mut model,
            findings,
            warnings,
        } = model::load(&self.assembly, self.main.as_deref())?;
        if let Some(model) = &mut model {
            for (name, value) in &self.set {
                simulate::set(model, name, value)?;
            }
        }
        let models = match &self.models {
            None => ModelSet::default(),
            Some(path) => {
                let act = || format!("cannot read models \"{}\"", path.display());
                let text = fs::read_to_string(path).with_context(act)?;
                ModelSet::from_json(&text).with_context(act)?
            }
        };
        let findings = match &model {
            Some(model) => program::check(model, &models),
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
}
