//! `run --adapt`: which instances may be swapped, and what came of it.

use std::collections::BTreeSet;
use std::path::Path;
use std::process;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use cca_core::Assembly;
use mastermind_component::{AdaptConfig, AdaptOutcome, Adaptation, AtDeadlock, Mastermind};
use mastermind_composition::Alternatives;
use mastermind_composition::adapt::AdaptSettings;
use mastermind_models::{Model, ModelSet};

use crate::commands::predict::read_models;
use crate::output;
use crate::session::build;
use crate::session::framework::Session;
use crate::shipped::{ShippedModels, add_shipped, tell_shipped};

/// Name of the instance that swaps.
const INSTANCE: &str = "adaptation";

/// A percentage, `2` or `2%`, as a part.
///
/// # Errors
/// It is none, or not from 0 to 100.
pub fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim();
    let part = number.parse::<f64>().ok().map(|percent| percent / 100.0);
    let in_range = part.filter(|part| (0.0..=1.0).contains(part));
    in_range.ok_or_else(|| format!("\"{text}\", expected a percentage from 0 to 100"))
}

/// The alternatives that may be put in while the application runs: tried out in a framework of their own.
///
/// # Returns
/// Those of each instance that has some, and why others are left out.
///
/// # Errors
/// The assembly cannot be built; nothing may be swapped.
fn swappable(assembly: &Assembly) -> anyhow::Result<(Alternatives, Vec<String>)> {
    let session = Session::serial()?;
    build(&session, assembly, Vec::new(), false)?;
    let framework = &session.framework;
    let mut swappable = Alternatives::new();
    let mut left_out = Vec::new();
    for (instance, classes) in &assembly.alternatives {
        let Some(current) = assembly.instances.get(instance) else {
            continue;
        };
        let undeclared = |class: &str| {
            format!(
                "\"{instance}\" is not swapped to or from {class}: it neither declares its ports stateless nor provides \
                 cca.StatefulComponent"
            )
        };
        if !framework.may_be_replaced(instance)? {
            left_out.push(undeclared(current));
            continue;
        }
        let mut others = Vec::new();
        for class in classes.iter().filter(|class| *class != current) {
            if let Err(error) = framework.replace_instance(instance, class) {
                left_out.push(format!("{class} is not put in at \"{instance}\": {error}"));
            } else if framework.may_be_replaced(instance)? {
                others.push(class.clone());
            } else {
                left_out.push(undeclared(class));
            }
        }
        if !others.is_empty() {
            swappable.insert(instance.clone(), others);
        }
    }
    if swappable.is_empty() {
        let why = match (left_out.is_empty(), assembly.alternatives.is_empty()) {
            (true, true) => "no [alternatives]".into(),
            (true, false) => "[alternatives] names no other class than the present ones".into(),
            _ => left_out.join("; "),
        };
        bail!(
            "cannot adapt assembly \"{}\": nothing may be swapped ({why}), expected an instance with two classes that may",
            assembly.assembly.name
        );
    }
    Ok((swappable, left_out))
}

/// Classes of which no model tells anything before they are tried.
fn without_models(
    assembly: &Assembly,
    alternatives: &Alternatives,
    models: &ModelSet,
) -> Vec<String> {
    let mut unknown = Vec::new();
    for (instance, others) in alternatives {
        for class in others.iter().chain(assembly.instances.get(instance)) {
            let prefix = format!("{class}::");
            if !models.models.iter().any(|m| m.method.starts_with(&prefix)) {
                unknown.push(format!(
                    "no model of {class}, which may work at \"{instance}\": what it takes is learnt in the run"
                ));
            }
        }
    }
    unknown
}

/// The models of the classes that may be swapped, and of those in their places: others decide nothing.
fn of_sites(assembly: &Assembly, alternatives: &Alternatives, models: &ModelSet) -> ModelSet {
    let sites = alternatives.iter();
    let classes: BTreeSet<&String> = sites
        .flat_map(|(instance, others)| others.iter().chain(assembly.instances.get(instance)))
        .collect();
    let is_of_sites = |model: &&Model| {
        let class = model.method.split_once("::").map(|(class, _)| class);
        class.is_some_and(|class| classes.iter().any(|known| *known == class))
    };
    ModelSet {
        models: models.models.iter().filter(is_of_sites).cloned().collect(),
    }
}

/// What a run is adapted by, found to be right before anything is recorded.
pub struct Adapting {
    models: ModelSet,
    /// Those of classes that may be swapped.
    of_sites: ModelSet,
    shipped: Vec<ShippedModels>,
    alternatives: Alternatives,
    left_out: Vec<String>,
    /// Part of the run's seconds that trials may cost.
    explore: f64,
    patience: Duration,
}

impl Adapting {
    /// Reads the models, and tries out what may be swapped.
    ///
    /// # Errors
    /// The models cannot be read; nothing may be swapped.
    ///
    /// # Arguments
    /// * `explore` - part of the run's seconds that trials may cost
    /// * `patience` - longest time that a rank waits for the others to report a step
    pub fn prepare(
        assembly: &Assembly,
        models: &Path,
        explore: f64,
        patience: Duration,
    ) -> anyhow::Result<Self> {
        let mut models = read_models(models, false)?;
        let shipped = add_shipped(&mut models, assembly, false)?;
        let (alternatives, mut left_out) = swappable(assembly)?;
        left_out.extend(without_models(assembly, &alternatives, &models));
        Ok(Adapting {
            of_sites: of_sites(assembly, &alternatives, &models),
            models,
            shipped,
            alternatives,
            left_out,
            explore,
            patience,
        })
    }

    /// The models, all of them, for who asks while the run goes on; the adaptation has its own.
    pub fn take_models(&mut self) -> ModelSet {
        std::mem::take(&mut self.models)
    }

    /// Adapts the run from its first step on.
    ///
    /// # Arguments
    /// * `directory` - where this rank's logs are written
    ///
    /// # Errors
    /// The framework's; the log of decisions cannot be made.
    pub fn begin(
        self,
        session: &Session,
        assembly: &Assembly,
        mastermind: &Arc<Mastermind>,
        directory: &Path,
    ) -> anyhow::Result<Arc<Adaptation>> {
        if session.rank == 0 {
            tell_shipped(&self.shipped);
            for why in self.left_out {
                output::complain!("warning: {why}");
            }
        }
        let framework = &session.framework;
        let services =
            framework.services(INSTANCE, "mastermind.Adaptation", env!("CARGO_PKG_VERSION"))?;
        let config = AdaptConfig {
            directory: directory.to_path_buf(),
            rank: session.rank as u32,
            assembly: assembly.instances.clone(),
            alternatives: self.alternatives,
            settings: AdaptSettings {
                explore: self.explore,
                ..AdaptSettings::default()
            },
            patience: self.patience,
        };
        let (rank, size) = (session.rank, session.size);
        let give_up = move |why: &str| give_up(rank, size, why);
        let give_up = (size > 1).then(|| Box::new(give_up) as Box<AtDeadlock>);
        let models = self.of_sites;
        let adaptation =
            Adaptation::add(framework, &services, mastermind, &config, models, give_up);
        let adaptation = Arc::new(adaptation.context("cannot adapt the run")?);
        framework.connect_defaults()?;
        let stepping = Arc::clone(&adaptation);
        let step = move |fraction| stepping.step(fraction);
        session.progress.at_each_step(Box::new(step));
        Ok(adaptation)
    }
}

/// Ends the run: the rank that is waited for waits as well, and the launcher ends it.
fn give_up(rank: i32, size: i32, why: &str) {
    output::complain!("error: cannot adapt rank {rank} of {size}: {why}; run it without --adapt");
    process::exit(1);
}

/// Tells what was decided: all warnings of this rank, and on the first one the decisions.
pub fn tell(session: &Session, outcome: &AdaptOutcome) {
    for warning in &outcome.warnings {
        output::complain!("warning: {warning}");
    }
    if session.rank > 0 {
        return;
    }
    if outcome.steps == 0 {
        output::complain!(
            "warning: nothing was adapted: the application reported no step through cca.Progress, expected one after each"
        );
        return;
    }
    for decision in &outcome.decisions {
        output::line(decision.to_string());
    }
    let swaps = outcome.decisions.iter().filter(|d| d.is_swap()).count();
    output::line(format!(
        "adapted: {} decisions, of which {swaps} swap, in {} steps, {:.3} s spent on it; {}",
        outcome.decisions.len(),
        outcome.steps,
        outcome.own_s,
        outcome.log.display()
    ));
}

#[cfg(test)]
mod tests {
    use super::percent;

    #[test]
    fn percentages() {
        assert_eq!(percent("2%"), Ok(0.02));
        assert_eq!(percent("0.5"), Ok(0.005));
        for wrong in ["", "%", "-1%", "101", "two", "nan"] {
            assert!(percent(wrong).is_err(), "{wrong}");
        }
    }
}
