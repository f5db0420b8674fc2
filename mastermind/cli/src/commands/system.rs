//! `mastermind system`: a model of application, runtime and hardware, whose parts are evaluated by
//! different methods.
//!
//! A system file composes a model from components of three domains (application, runtime,
//! hardware). A component states what it returns, what it requests from others, and one or more
//! methods to evaluate it, the cheapest first. Composition and evaluation are in
//! `mastermind-system`; this file reads the file and its parameters, lends it the tools that need
//! files (`system/tools.rs`), and prints the result.
//!
//! ```text
//! $ mastermind system evaluate system/sweep3d.toml
//! COMPONENT  DOMAIN       METHOD      VALUE   INTERVAL          UNIT
//! k_block    application  grind time  40.631  40.043 to 47.687  us
//! sweep      application  pipeline    24.151  23.864 to 27.594  ms
//! Sweep3D: 24.151 ms, 95 % interval 23.864 to 27.594 ms
//! ```
//!
//! With `--cross-check` all methods of a component are evaluated, at the parameters of the file's
//! `[cross_check]` table where it has one. A cheap method that agrees there with the dearest one
//! replaces it in the evaluation that was asked for.

mod execution;
mod graph;
mod report;
mod tools;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, anyhow, bail};
use clap::{Args, Subcommand};
use mastermind_system::{
    Comparison, Given, Graph, Problem, Scope, System as SystemModel, compose, evaluate,
    offered_method, read_given, read_system,
};
use serde::Serialize;

use self::report::CrossChecked;
use self::tools::FileTools;
use crate::destination::Force;
use crate::output;
use crate::session::assignment;

/// Compose one model of application, runtime and hardware, and evaluate it.
///
/// A system file names components of three domains. Each has a profile, which others ask for, requests for what it runs on and goes on
/// to, and methods: constants, formulas, fitted models, records, LogGP simulations and closed forms, queueing networks, or real calls.
#[derive(Args)]
#[command(
    after_help = "Example: mastermind system evaluate examples/system/sweep3d.toml --set px=20 --cross-check"
)]
pub struct System {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Report everything that keeps a system from being evaluated
    Check(Check),
    /// Draw which component requests which
    Graph(graph::Draw),
    /// Evaluate the time of the system, and say which method evaluated what
    Evaluate(Evaluate),
}

#[derive(Args)]
#[command(after_help = "Example: mastermind system check examples/system/sweep3d.toml")]
struct Check {
    #[command(flatten)]
    file: SystemFile,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
#[command(
    after_help = "Example: mastermind system evaluate examples/system/sweep3d.toml --method sweep=simulation\n\
                  Example: mastermind system evaluate examples/system/sweep3d.toml --cross-check --set px=4 --set py=4"
)]
struct Evaluate {
    #[command(flatten)]
    file: SystemFile,
    /// Take this method for a component, by its name or kind, whatever else says which
    #[arg(long, value_name = "COMPONENT=METHOD", value_parser = assignment)]
    method: Vec<(String, String)>,
    /// Evaluate all methods of each component, show how far they differ, and take the cheapest that is within the bound of the dearest
    #[arg(long)]
    cross_check: bool,
    /// Largest relative difference at which a cheap method stands in for a dear one [default: that of the file, else 0.07]
    #[arg(long, value_name = "SHARE", requires = "cross_check", value_parser = share)]
    bound: Option<f64>,
    #[command(flatten)]
    force: Force,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// A system file and values of its parameters.
#[derive(Args)]
struct SystemFile {
    /// The system file
    #[arg(value_name = "S.toml")]
    system: PathBuf,
    /// Let a parameter have another value: a number, a quantity as "25 us", or a formula
    #[arg(long, value_name = "PARAMETER=VALUE", value_parser = assignment)]
    set: Vec<(String, String)>,
}

fn share(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|x: &f64| (0.0..=10.0).contains(x));
    number.ok_or_else(|| "expected a number from 0 to 10, as 0.05 for 5 %".into())
}

impl System {
    /// Executes the chosen action.
    ///
    /// # Errors
    /// The file cannot be read; the system cannot be evaluated.
    pub fn execute(self) -> anyhow::Result<ExitCode> {
        match self.action {
            Action::Check(action) => action.execute(),
            Action::Graph(action) => action.execute(),
            Action::Evaluate(action) => action.execute(),
        }
    }
}

impl SystemFile {
    fn read(&self) -> anyhow::Result<SystemModel> {
        let act = || format!("cannot read system \"{}\"", self.system.display());
        let text = fs::read_to_string(&self.system).with_context(act)?;
        read_system(&text).with_context(|| format!("cannot use \"{}\"", self.system.display()))
    }

    /// The values of `--set`.
    fn given(&self, system: &SystemModel) -> anyhow::Result<BTreeMap<String, Given>> {
        let read = |(name, value): &(String, String)| {
            if !system.parameters.contains_key(name) {
                let known: Vec<_> = system.parameters.keys().map(String::as_str).collect();
                bail!(
                    "cannot set parameter \"{name}\": no such parameter, expected one of {}",
                    if known.is_empty() {
                        "none".into()
                    } else {
                        known.join(", ")
                    }
                );
            }
            let given = read_given(&format!("parameter \"{name}\""), value)?;
            Ok((name.clone(), given))
        };
        self.set.iter().map(read).collect()
    }

    /// The evaluators of methods; they find files relative to the system file.
    fn tools(&self) -> FileTools {
        FileTools::new(self.system.parent().unwrap_or(Path::new("")))
    }

    /// The graph of a system without problems.
    fn composed<'a>(
        &self,
        system: &'a SystemModel,
        scope: &Scope<'a>,
        tools: &FileTools,
    ) -> anyhow::Result<Graph<'a>> {
        let (graph, problems) = compose(system, scope, tools);
        if problems.is_empty() {
            return Ok(graph);
        }
        let mut text = format!("cannot use \"{}\"", self.system.display());
        for problem in problems {
            text += &format!("\n{}", worded(problem));
        }
        Err(anyhow!(text))
    }
}

/// A problem with its causes, indented.
fn worded(problem: Problem) -> String {
    let text = crate::errors::worded(&anyhow::Error::from(problem));
    text.trim_end().trim_start_matches("error: ").to_owned()
}

#[derive(Serialize)]
struct Checked<'a> {
    system: &'a str,
    components: usize,
    requests: usize,
    /// The component whose time is the system's.
    total: Option<&'a str>,
    /// Components that the total does not depend on.
    unused: Vec<&'a str>,
    problems: Vec<String>,
}

impl Check {
    fn execute(self) -> anyhow::Result<ExitCode> {
        let system = self.file.read()?;
        let scope = Scope::new(&system, self.file.given(&system)?);
        let (graph, problems) = compose(&system, &scope, &self.file.tools());
        let problems: Vec<_> = problems.into_iter().map(worded).collect();
        let checked = Checked {
            system: &system.name,
            components: system.components.len(),
            requests: graph.edges.len(),
            total: graph.total.map(|total| &*graph.component(total).name),
            unused: graph.unused(),
            problems,
        };
        let code = match checked.problems.is_empty() {
            true => ExitCode::SUCCESS,
            false => ExitCode::FAILURE,
        };
        if self.json {
            output::json(&checked)?;
            return Ok(code);
        }
        for problem in &checked.problems {
            output::line(problem);
        }
        for unused in &checked.unused {
            output::line(format!("note: the total needs nothing of \"{unused}\""));
        }
        output::line(format!(
            "{}: {} components, {} requests matched, {} problems",
            checked.system,
            checked.components,
            checked.requests,
            checked.problems.len()
        ));
        Ok(code)
    }
}

impl Evaluate {
    fn execute(self) -> anyhow::Result<ExitCode> {
        let mut system = self.file.read()?;
        if let Some(bound) = self.bound {
            system.cross_check.bound = bound;
        }
        let system = system;
        let given = self.file.given(&system)?;
        let scope = Scope::new(&system, given.clone());
        let tools = self.file.tools();
        let graph = self.file.composed(&system, &scope, &tools)?;
        let mut chosen = self.chosen(&system)?;
        // All methods at the real parameters may be too expensive: then they are compared at
        // others, and the agreeing ones are used.
        let is_apart = self.cross_check && !system.cross_check.at.is_empty();
        let comparison = match self.cross_check && !is_apart {
            true => Comparison::All,
            false => Comparison::None,
        };
        let mut elsewhere = None;
        if is_apart {
            let mut at = given;
            at.extend(system.cross_check.at.clone());
            let scope = Scope::new(&system, at);
            let graph = self.file.composed(&system, &scope, &tools)?;
            let found = evaluate(&graph, &scope, &tools, &chosen, Comparison::All)?;
            for (place, method) in report::agreeing(&graph, &found) {
                // A method of `--method` stays.
                chosen.entry(place).or_insert(method);
            }
            elsewhere = Some(CrossChecked::of(&graph, &scope, &found, &chosen)?);
        }
        let found = evaluate(&graph, &scope, &tools, &chosen, comparison)?;
        let report = report::Report::of(&graph, &scope, &found, elsewhere)?;
        if self.json {
            output::json(&report)?;
        } else {
            report.print();
        }
        Ok(ExitCode::SUCCESS)
    }

    /// The methods of `--method`, by the places of components.
    fn chosen(&self, system: &SystemModel) -> anyhow::Result<BTreeMap<usize, usize>> {
        let find = |(name, method): &(String, String)| {
            let act = || format!("cannot take method \"{method}\" for \"{name}\"");
            let place = system.components.iter().position(|one| one.name == *name);
            let place = place.with_context(|| {
                let known = system.components.iter().map(|one| &*one.name);
                let known: Vec<_> = known.collect();
                format!(
                    "{}: no such component, expected one of {}",
                    act(),
                    known.join(", ")
                )
            })?;
            let component = &system.components[place];
            let method = offered_method(component, method).with_context(|| {
                let known = component.methods.iter().map(|one| &*one.name);
                let known: Vec<_> = known.collect();
                format!(
                    "{}: it has none, expected one of {}",
                    act(),
                    known.join(", ")
                )
            })?;
            Ok((place, method))
        };
        self.method.iter().map(find).collect()
    }
}
