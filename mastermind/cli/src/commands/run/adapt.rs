//! `run --adapt`: the instances that may be swapped, the calls that may be redirected, and the
//! report on the result.
//!
//! Adapting itself, deciding which class answers which calls while the application runs, is in
//! `mastermind-component` and `mastermind-composition`. This file is its beginning and its end.
//! Before anything is recorded it finds out what may be changed: each alternative is tried in a
//! framework of its own, because only an instance says whether its ports are stateless or hand over
//! state. After the run it reports the decisions and writes the assembly as it is then.
//!
//! ```text
//! assembly ─┬─ with_dispatchers   instances whose calls may go to several classes
//!           ├─ swappable          instances that may be replaced between two calls
//!           └─ Adapting::begin    an instance @adaptation, called at each cca.Progress step
//! end ───── tell                  decisions, tables of where calls go, adapted.toml, learned state
//! ```
//!
//! An instance behind a dispatcher is not swapped as well: two mechanisms would decide about the
//! same calls. An application that reports no step is never adapted, and a warning says so.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use cca_core::{Assembly, DecisionEnd, DecisionTable, TableSource};
use mastermind_component::{AdaptConfig, AdaptOutcome, Adaptation, AtDeadlock, Mastermind};
use mastermind_composition::Alternatives;
use mastermind_composition::adapt::{AdaptSettings, Learned};
use mastermind_models::{Model, ModelSet};

use super::state::StateFile;
use crate::commands::predict::read_models;
use crate::dispatching::{put_behind, used_ports};
use crate::output;
use crate::session::build;
use crate::session::framework::Session;
use crate::shipped::{ShippedModels, add_shipped, note_shipped};

/// Name of the instance that swaps.
const INSTANCE: &str = "@adaptation";

/// File of the assembly at the end of an adapted run, next to the records.
const ADAPTED: &str = "adapted.toml";

/// A percentage, `2` or `2%`, as a fraction.
///
/// # Errors
/// It is no percentage, or not from 0 to 100.
pub fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim();
    let part = number.parse::<f64>().ok().map(|percent| percent / 100.0);
    let in_range = part.filter(|part| (0.0..=1.0).contains(part));
    in_range.ok_or_else(|| format!("\"{text}\", expected a percentage from 0 to 100"))
}

/// The assembly with a dispatcher in place of each instance with alternatives. It sends all calls to the present class
/// at first.
///
/// # Returns
/// Also the reasons why instances are left unchanged.
///
/// # Errors
/// No instance can be dispatched.
pub fn with_dispatchers(assembly: &Assembly) -> anyhow::Result<(Assembly, Vec<String>)> {
    let mut dispatched = assembly.clone();
    let mut left = Vec::new();
    for (instance, others) in &assembly.alternatives {
        let Some(current) = assembly.instances.get(instance) else {
            continue;
        };
        let ports: Vec<_> = used_ports(assembly, instance).into_iter().collect();
        let [port] = ports[..] else {
            let n = ports.len();
            left.push(format!(
                "calls of \"{instance}\" are not dispatched: {n} of its ports are used, expected one"
            ));
            continue;
        };
        let others = others.iter().filter(|class| *class != current);
        let classes: Vec<_> = [current].into_iter().chain(others).cloned().collect();
        // A dispatcher that cannot be built leaves the assembly as it was.
        let mut tried = dispatched.clone();
        let table = DecisionTable {
            port: port.into(),
            providers: put_behind(&mut tried, instance, &classes),
            methods: BTreeMap::new(),
        };
        tried
            .dispatch
            .insert(instance.clone(), TableSource::Table(table));
        // A framework of its own for each attempt: a failed one leaves nothing behind.
        match build(&Session::serial()?, &tried, Vec::new(), false) {
            Ok(_) => dispatched = tried,
            Err(found) => {
                let problems = found.problems.iter().map(ToString::to_string);
                let problems = problems.collect::<Vec<_>>().join("; ");
                left.push(format!(
                    "calls of \"{instance}\" are not dispatched: {problems}"
                ));
            }
        }
    }
    if dispatched.dispatch.len() == assembly.dispatch.len() {
        let why = match left.is_empty() {
            true => "no [alternatives]".into(),
            false => left.join("; "),
        };
        bail!(
            "cannot dispatch calls in assembly \"{}\": {why}, expected an instance with two classes whose ports are stateless",
            assembly.assembly.name
        );
    }
    Ok((dispatched, left))
}

/// The dispatchers of an assembly, each with its table.
fn dispatchers(assembly: &Assembly) -> anyhow::Result<BTreeMap<String, DecisionTable>> {
    let tables = assembly.dispatch.iter();
    let tables = tables.map(|(instance, source)| Ok((instance.clone(), source.table()?)));
    tables.collect()
}

/// The alternatives that may be swapped in while the application runs: tried out in a framework of their own.
///
/// # Returns
/// The alternatives of each instance that has some, and why others are left out.
///
/// # Errors
/// The assembly cannot be built; nothing may be swapped.
fn swappable(
    assembly: &Assembly,
    dispatchers: &BTreeMap<String, DecisionTable>,
) -> anyhow::Result<(Alternatives, Vec<String>)> {
    let session = Session::serial()?;
    build(&session, assembly, Vec::new(), false)?;
    let framework = &session.framework;
    let mut swappable = Alternatives::new();
    let mut left_out = Vec::new();
    for (instance, classes) in &assembly.alternatives {
        let Some(current) = assembly.instances.get(instance) else {
            continue;
        };
        let mut tables = dispatchers.iter();
        // The dispatcher decides call by call; a swap behind it would be a second decision about
        // the same calls.
        if let Some((dispatcher, _)) = tables.find(|(_, table)| table.providers.contains(instance))
        {
            left_out.push(format!(
                "\"{instance}\" is not swapped: \"{dispatcher}\" sends it calls, and may send them elsewhere"
            ));
            continue;
        }
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
            // The replacement itself is the test: ports must fit, and only the new instance
            // declares whether it may be replaced again.
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
    if swappable.is_empty() && dispatchers.is_empty() {
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

/// Warnings about classes without a model.
fn without_models(candidates: &Alternatives, models: &ModelSet) -> Vec<String> {
    let mut unknown = Vec::new();
    for (instance, classes) in candidates {
        for class in classes {
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

/// Classes that may answer the calls of an instance, by instance: the current ones, and those that may replace them or
/// get calls.
fn candidates(
    assembly: &Assembly,
    alternatives: &Alternatives,
    dispatchers: &BTreeMap<String, DecisionTable>,
) -> Alternatives {
    let class = |instance: &String| assembly.instances.get(instance).cloned();
    let swapped = alternatives.iter().map(|(instance, others)| {
        let classes = others.iter().cloned().chain(class(instance));
        (instance.clone(), classes.collect())
    });
    let dispatched = dispatchers.iter().map(|(instance, table)| {
        let classes = table.providers.iter().filter_map(class);
        (instance.clone(), classes.collect())
    });
    swapped.chain(dispatched).collect()
}

/// The models of the classes that may answer; others do not influence decisions.
fn of_sites(candidates: &Alternatives, models: &ModelSet) -> ModelSet {
    let classes: BTreeSet<&String> = candidates.values().flatten().collect();
    let is_of_sites = |model: &&Model| {
        let class = model.method.split_once("::").map(|(class, _)| class);
        class.is_some_and(|class| classes.iter().any(|known| *known == class))
    };
    ModelSet {
        models: models.models.iter().filter(is_of_sites).cloned().collect(),
    }
}

/// The adaptation of a run, checked before anything is recorded.
pub struct Adapting {
    models: ModelSet,
    /// The models of classes that may be swapped.
    of_sites: ModelSet,
    shipped: Vec<ShippedModels>,
    alternatives: Alternatives,
    dispatchers: BTreeMap<String, DecisionTable>,
    left_out: Vec<String>,
    /// Part of the run's seconds that trials may cost.
    explore: f64,
    patience: Duration,
    /// File that keeps the learned state.
    state: Option<PathBuf>,
}

impl Adapting {
    /// Reads the models, and tries out the alternatives.
    ///
    /// # Errors
    /// The models cannot be read; nothing may be swapped.
    ///
    /// # Arguments
    /// * `models` - file of models; None to learn everything in the run
    /// * `left_out` - why calls of some instances are not dispatched
    /// * `explore` - part of the run's seconds that trials may cost
    /// * `patience` - longest time that a rank waits for the others to report a step
    pub fn prepare(
        assembly: &Assembly,
        models: Option<&Path>,
        mut left_out: Vec<String>,
        explore: f64,
        patience: Duration,
    ) -> anyhow::Result<Self> {
        let is_informed = models.is_some();
        let models = models.map(|file| read_models(file, false)).transpose()?;
        let mut models = models.unwrap_or_default();
        let shipped = add_shipped(&mut models, assembly, false)?;
        let dispatchers = dispatchers(assembly)?;
        let (alternatives, not_swapped) = swappable(assembly, &dispatchers)?;
        left_out.extend(not_swapped);
        let candidates = candidates(assembly, &alternatives, &dispatchers);
        if is_informed {
            left_out.extend(without_models(&candidates, &models));
        }
        Ok(Adapting {
            of_sites: of_sites(&candidates, &models),
            dispatchers,
            models,
            shipped,
            alternatives,
            left_out,
            explore,
            patience,
            state: None,
        })
    }

    /// Begins with the state kept in a file, if there is one.
    pub fn keep_in(self, state: Option<&Path>) -> Self {
        Adapting {
            state: state.map(Path::to_path_buf),
            ..self
        }
    }

    /// Instances that may be swapped.
    pub fn sites(&self) -> impl Iterator<Item = &str> {
        self.alternatives.keys().map(String::as_str)
    }

    /// All models, for queries while the run goes on; the adaptation has its own copy of those it needs.
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
            note_shipped(&self.shipped);
            for why in self.left_out {
                output::complain!("warning: {why}");
            }
        }
        let kept = self.state.as_deref();
        let kept = kept.map(|path| state_file(session, path, assembly));
        let learned = kept.map(|kept| learned_before(session, &kept));
        let framework = &session.framework;
        let services =
            framework.services(INSTANCE, "mastermind.Adaptation", env!("CARGO_PKG_VERSION"))?;
        let config = AdaptConfig {
            directory: directory.to_path_buf(),
            rank: session.rank as u32,
            assembly: assembly.instances.clone(),
            alternatives: self.alternatives,
            dispatchers: self.dispatchers,
            settings: AdaptSettings {
                explore: self.explore,
                ..AdaptSettings::default()
            },
            patience: self.patience,
            learned: learned.unwrap_or_default(),
        };
        let (rank, size) = (session.rank, session.size);
        let give_up = move |why: &str| give_up(rank, size, why);
        // A single rank waits for nobody.
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

/// The file that keeps the learned state of the classes of an assembly.
fn state_file(session: &Session, path: &Path, assembly: &Assembly) -> StateFile {
    let listed = assembly.alternatives.values().flatten();
    let classes = assembly.instances.values().chain(listed);
    StateFile::new(path, &session.framework, session.size, classes)
}

/// The state learned in earlier runs. If it cannot be used, that is a warning, and the run begins without it.
fn learned_before(session: &Session, kept: &StateFile) -> Learned {
    let found = kept.read();
    let (learned, notes) = found.unwrap_or_else(|error| {
        let path = kept.path().display();
        let notes =
            format!("state \"{path}\" is not used: {error:#}; the run begins with nothing learned");
        (Learned::default(), vec![notes])
    });
    for why in notes.iter().filter(|_| session.rank == 0) {
        output::complain!("warning: {why}");
    }
    learned
}

/// Ends the run: the rank that is waited for may be waiting as well, and the launcher ends it.
fn give_up(rank: i32, size: i32, why: &str) {
    output::complain!("error: cannot adapt rank {rank} of {size}: {why}; run it without --adapt");
    process::exit(1);
}

/// Reports the adaptation: the warnings of this rank, and on the first rank the decisions, the calls of each
/// dispatcher, and a file with the current assembly.
///
/// # Arguments
/// * `directory` - for the file
/// * `state` - file that keeps the learned state
pub fn print_outcome(
    session: &Session,
    assembly: &Assembly,
    outcome: &AdaptOutcome,
    directory: &Path,
    state: Option<&Path>,
) {
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
    let (of_calls, others): (Vec<_>, Vec<_>) = outcome
        .decisions
        .iter()
        .partition(|decision| decision.calls.is_some());
    for decision in others {
        output::line(decision.to_string());
    }
    for (instance, table) in &outcome.tables {
        let n = of_calls.iter().filter(|d| d.site == *instance).count();
        let heading = match n {
            0 => "no trial was worth its cost in this run; calls go".into(),
            n => format!("{n} decisions where calls of a size go, now"),
        };
        output::line(format!("{instance}: {heading}:"));
        print_table(assembly, table);
    }
    for (instance, class) in &outcome.unborne {
        output::line(format!(
            "{instance}: {class} was not tried: one call of it might take more than trials may cost in this run; a longer run, models of it, \
             or a higher --explore allows one"
        ));
    }
    let swaps = outcome.decisions.iter().filter(|d| d.is_swap()).count();
    output::line(format!(
        "adapted: {} decisions, of which {swaps} swap, in {} steps, {:.3} s spent on it; {}",
        outcome.decisions.len(),
        outcome.steps,
        outcome.own_s,
        outcome.log.display()
    ));
    if let Some(path) = state
        && let Err(error) = state_file(session, path, assembly).write(outcome.learned.clone())
    {
        output::complain!("warning: {error:#}");
    }
    match write_adapted(session, assembly, outcome, directory) {
        Ok(file) => output::line(format!("the assembly as it is now: {}", file.display())),
        Err(error) => output::complain!("warning: {error:#}"),
    }
}

/// The destinations of calls, a line for each step of a table.
fn print_table(assembly: &Assembly, table: &DecisionTable) {
    let class = |name: &str| {
        let class = assembly.instances.get(name);
        class.cloned().unwrap_or_else(|| name.into())
    };
    let end = |end: &DecisionEnd| match end {
        DecisionEnd::Step(step) => format!("step {step}"),
        DecisionEnd::Provider(name) => class(name),
    };
    if table.methods.is_empty() {
        output::line(format!("  all calls: {}", class(&table.providers[0])));
    }
    for (method, steps) in &table.methods {
        for (place, step) in steps.iter().enumerate() {
            let name = &step.parameter;
            let ranges = match step.labels.is_empty() {
                true => {
                    let below = step
                        .bounds
                        .iter()
                        .map(|bound| format!("{name} < {}", short(*bound)));
                    below.chain(["beyond".into()]).collect::<Vec<_>>()
                }
                false => step.labels.iter().map(|l| format!("{name}={l}")).collect(),
            };
            let ranges = ranges.iter().zip(&step.next);
            let ranges: Vec<_> = ranges
                .map(|(range, to)| format!("{range}: {}", end(to)))
                .collect();
            let place = if steps.len() > 1 {
                format!(" step {place}")
            } else {
                String::new()
            };
            output::line(format!("  {method}{place}: {}", ranges.join(", ")));
        }
    }
}

/// A bound with four digits, or all digits of a whole number.
fn short(bound: f64) -> String {
    let digits = 3 - bound.abs().max(1e-9).log10().floor() as i32;
    format!("{bound:.*}", digits.clamp(0, 12) as usize)
}

/// Drops the parameters that the present class of an instance does not have.
fn drop_unknown(session: &Session, instance: &str, parameters: &mut toml::Table) {
    let Ok(known) = session.framework.parameters(instance) else {
        return;
    };
    let is_known = |port: Option<&str>, key: &str| {
        let mut known = known.iter();
        known.any(|p| port.is_none_or(|port| p.port == port) && p.description.key == *key)
    };
    parameters.retain(|key, value| match value {
        toml::Value::Table(port) => {
            port.retain(|inner, _| is_known(Some(key), inner));
            !port.is_empty()
        }
        _ => is_known(None, key),
    });
}

/// Writes the assembly with the present classes and the dispatch tables.
fn write_adapted(
    session: &Session,
    assembly: &Assembly,
    outcome: &AdaptOutcome,
    directory: &Path,
) -> anyhow::Result<PathBuf> {
    let mut adapted = assembly.clone();
    for entry in &mut adapted.assembly.path {
        *entry = entry.canonicalize().unwrap_or_else(|_| entry.clone());
    }
    for (instance, class) in &outcome.classes {
        let given = adapted.instances.insert(instance.clone(), class.clone());
        let parameters = adapted.parameters.get_mut(instance);
        // Parameters belong to the class of the file; another class may lack some of them.
        if let Some(parameters) = parameters.filter(|_| given.as_ref() != Some(class)) {
            drop_unknown(session, instance, parameters);
            if parameters.is_empty() {
                adapted.parameters.remove(instance);
            }
        }
    }
    for (instance, table) in &outcome.tables {
        let table = TableSource::Table(table.clone());
        adapted.dispatch.insert(instance.clone(), table);
    }
    let file = directory.join(ADAPTED);
    let text = toml::to_string(&adapted).context("cannot write assembly: no TOML form")?;
    let write = fs::write(&file, text);
    write.with_context(|| format!("cannot write assembly \"{}\"", file.display()))?;
    Ok(file)
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
