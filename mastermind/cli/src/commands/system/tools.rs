//! The methods of a system that need files: fitted models, records, simulations, closed forms, and
//! runs.
//!
//! The crate `mastermind-system` evaluates formulas and constants itself and asks a trait, `Tools`,
//! for everything else, so it depends on neither the simulator nor the records. `FileTools` is that
//! trait for the command line; names of files are relative to the system file. Every method is
//! checked twice: `problems` before the evaluation, as far as the files show, and again when it is
//! evaluated with numbers.
//!
//! ```text
//! method            tool          evaluates
//! model = …         Model         a fitted model at a coordinate; interval of the prediction
//! records = …       Records       the mean of recorded calls
//! simulate = …      Simulation    a program model, a schedule or a recorded run, on a machine
//! loggp = …         ClosedForm    Sweep3D's equations, or one message
//! run = …           Execution     `mastermind run` as a process
//! ```
//!
//! The machine of a simulation is a component of the system: attributes that the system file sets
//! replace those of the machine file (`machine_of`).

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use mastermind_component::names;
use mastermind_models::{Coordinate, Metric, ModelSet, predict};
use mastermind_programs::goal::{WaitOrder, read_goal_in};
use mastermind_programs::{KnownRanks, System, lower_with};
use mastermind_simulation::analytic::Sweep3d;
use mastermind_simulation::engine::{simulate, simulate_schedule};
use mastermind_simulation::machine::{Link, Machine, read_machine};
use mastermind_system::{
    Answer, Attributes, Dimension, Quantity, Tool, ToolCall, ToolError, ToolMethod, Tools,
};

use super::execution;
use crate::commands::predict::read_models;
use crate::commands::simulate::{schedule, set};
use crate::recorded_run::{self, RecordedRun};
use crate::session::model;

/// Closed forms of LogGP and the numbers that each takes.
const FORMS: [(&str, &[&str]); 4] = [
    (
        "sweep3d",
        &[
            "columns",
            "rows",
            "k_blocks",
            "angle_groups",
            "block",
            "bytes",
        ],
    ),
    ("send", &["bytes"]),
    ("receive", &["bytes"]),
    ("message", &["bytes"]),
];

/// Evaluates methods with the files next to a system file.
pub struct FileTools {
    folder: PathBuf,
}

fn tool_error(error: anyhow::Error) -> ToolError {
    error.into_boxed_dyn_error()
}

impl Tools for FileTools {
    fn attributes(&self, machine: &str) -> Result<Attributes, ToolError> {
        let machine = self.machine(machine).map_err(tool_error)?;
        Ok(attributes(&machine))
    }

    fn check(&self, method: &ToolMethod) -> Vec<ToolError> {
        self.problems(method).into_iter().map(tool_error).collect()
    }

    fn evaluate(&self, call: &ToolCall<'_>) -> Result<Answer, ToolError> {
        let answer = match call.method.tool {
            Tool::Model => self.predicted(call),
            Tool::Records => {
                let at: Vec<_> = call.numbers.iter().map(|(name, x)| (&**name, *x)).collect();
                let method = call.method.call.as_deref().unwrap_or_default();
                execution::recorded(&self.path(&call.method.subject), method, &at)
            }
            Tool::Simulation => self.simulated(call),
            Tool::ClosedForm => self.closed_form(call),
            Tool::Execution => execution::executed(&self.path(&call.method.subject), call),
        };
        answer.map_err(tool_error)
    }
}

impl FileTools {
    /// # Arguments
    /// * `folder` - base of relative file names
    pub fn new(folder: &Path) -> Self {
        let folder = folder.to_owned();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn machine(&self, name: &str) -> anyhow::Result<Machine> {
        let path = self.path(name);
        let act = || format!("cannot read machine \"{}\"", path.display());
        let text = fs::read_to_string(&path).with_context(act)?;
        read_machine(&text).with_context(act)
    }

    /// The machine for a call: the file's, with the attributes of the call in place of its own.
    fn machine_of(&self, call: &ToolCall<'_>) -> anyhow::Result<Machine> {
        let Some((file, wanted)) = call.machine else {
            bail!("cannot find machine: none, expected on = and a component with machine =");
        };
        let mut machine = self.machine(file)?;
        let of_file = attributes(&machine);
        let inter = machine.inter;
        for (name, value) in wanted {
            // Only attributes that the system file changes: the others would be written back
            // rounded.
            if of_file.get(name).is_some_and(|known| known != value) {
                let mut links = vec![&mut machine.inter];
                // A machine with one type of link keeps one.
                links.extend(
                    [&mut machine.intra]
                        .into_iter()
                        .filter(|link| **link == inter),
                );
                for link in links {
                    put(link, name, value.value)?;
                }
            }
        }
        Ok(machine)
    }

    /// Errors in the files of a method.
    fn problems(&self, method: &ToolMethod) -> Vec<anyhow::Error> {
        let path = self.path(&method.subject);
        let mut problems = Vec::new();
        let mut keep = |found: anyhow::Result<()>| problems.extend(found.err());
        let models = method
            .models
            .as_ref()
            .map(|file| read_models(&self.path(file), false));
        match method.tool {
            Tool::Model => keep(models.transpose().and_then(|models| {
                let models = models.unwrap_or_default();
                known_parameters(&models, method)
            })),
            Tool::Records => {
                let at: Vec<_> = Vec::new();
                let call = method.call.as_deref().unwrap_or_default();
                // At no coordinate: whether the method was recorded at all.
                keep(execution::recorded(&path, call, &at).map(drop));
            }
            Tool::Simulation => {
                keep(models.transpose().map(drop));
                if recorded_run::is_one(&path) || schedule::is_one(&path) {
                    if !path.exists() {
                        keep(Err(anyhow::anyhow!(
                            "cannot read \"{}\": no such file",
                            path.display()
                        )));
                    }
                } else {
                    keep(self.known_variables(&path, method));
                }
            }
            Tool::ClosedForm => keep(known_form(method)),
            Tool::Execution => {
                let text = fs::read_to_string(&path);
                keep(
                    text.map(drop)
                        .with_context(|| format!("cannot read assembly \"{}\"", path.display())),
                );
            }
        }
        problems
    }

    /// Whether a program has the variables that a method sets.
    fn known_variables(&self, path: &Path, method: &ToolMethod) -> anyhow::Result<()> {
        let mut model = model::read(path, None)?;
        method
            .numbers
            .keys()
            .try_for_each(|name| set(&mut model, name, "0"))
    }

    fn predicted(&self, call: &ToolCall<'_>) -> anyhow::Result<Answer> {
        let models = self.models(call.method)?;
        let mut coordinate = Coordinate::new();
        for (name, value) in &call.numbers {
            coordinate = coordinate.with(name, *value);
        }
        let name = named(&models, &call.method.subject)?;
        let model = models.find(&name, Metric::Wall, &coordinate)?;
        let found = predict(model, &coordinate)?;
        let mut notes = Vec::new();
        if found.extrapolated {
            notes.push(format!(
                "{name} at {coordinate} is outside of the measured range"
            ));
        }
        if found.clamped {
            notes.push(format!(
                "{name} is negative at {coordinate}, and 0 was put in its place"
            ));
        }
        // A system consists of sums over many calls, so the mean counts.
        let value_s = found.mean_s;
        Ok(Answer {
            value_s,
            interval_s: Some([found.lower_s.min(value_s), found.upper_s.max(value_s)]),
            notes,
        })
    }

    fn models(&self, method: &ToolMethod) -> anyhow::Result<ModelSet> {
        match &method.models {
            Some(file) => read_models(&self.path(file), false),
            None => Ok(ModelSet::default()),
        }
    }

    fn simulated(&self, call: &ToolCall<'_>) -> anyhow::Result<Answer> {
        let machine = self.machine_of(call)?;
        let path = self.path(&call.method.subject);
        let makespan_ns = if recorded_run::is_one(&path) || schedule::is_one(&path) {
            if !call.numbers.is_empty() {
                bail!(
                    "cannot set variables of \"{}\": it has none, expected no set",
                    path.display()
                );
            }
            let schedule = if schedule::is_one(&path) {
                let text = File::open(&path)?;
                let bytes = text.metadata().map_or(0, |about| about.len());
                read_goal_in(text, bytes, WaitOrder::Operations)?
            } else {
                let replay = RecordedRun::read(&path)?.replay(machine.collectives)?;
                let bytes = replay.goal.len() as u64;
                read_goal_in(&*replay.goal, bytes, WaitOrder::Operations)?
            };
            let ranks = schedule.ranks();
            if let Some(given) = call.ranks.filter(|given| *given as usize != ranks) {
                bail!(
                    "cannot simulate \"{}\" on {given} ranks: expected its own number, {ranks}",
                    path.display()
                );
            }
            simulate_schedule(schedule, &machine)?.makespan_ns
        } else {
            let mut models = self.models(call.method)?;
            // Each call takes the mean.
            models
                .models
                .iter_mut()
                .for_each(|model| model.sigma = None);
            let mut program = model::read(&path, None)?;
            for (name, value) in &call.numbers {
                set(&mut program, name, &format!("{value:?}"))?;
            }
            let known = program.ranks.as_ref().map(KnownRanks::largest);
            let processes = call.ranks.or(known).with_context(|| {
                format!(
                    "cannot simulate \"{}\": no number of ranks, expected ranks =",
                    path.display()
                )
            })?;
            let system = System {
                processes,
                nodes: machine.nodes_for(processes),
                processors: machine.processors,
            };
            let lowered = lower_with(&program, &models, system, machine.collectives, 0)?;
            simulate(&lowered, &machine)?.makespan_ns
        };
        Ok(exactly(makespan_ns))
    }

    fn closed_form(&self, call: &ToolCall<'_>) -> anyhow::Result<Answer> {
        let machine = self.machine_of(call)?;
        let whole = |name: &str, most: f64| {
            let value = call.numbers.get(name).copied().unwrap_or(1.0);
            let is_whole = value.fract() == 0.0 && (1.0..=most).contains(&value);
            let wrong = || {
                format!(
                    "cannot evaluate {}: {name} = {value}, expected a whole number from 1",
                    call.method.subject
                )
            };
            is_whole.then_some(value).with_context(wrong)
        };
        let count = |name: &str| Ok::<_, anyhow::Error>(whole(name, 1e6)? as u32);
        let form = Sweep3d {
            columns: count("columns")?,
            rows: count("rows")?,
            k_blocks: count("k_blocks")?,
            angle_groups: count("angle_groups")?,
            block_ns: (call.numbers.get("block").copied().unwrap_or(0.0) * 1e9).round() as u64,
            bytes: whole("bytes", 1e15)? as u64,
            link: machine.inter,
        };
        Ok(exactly(match &*call.method.subject {
            "sweep3d" => form.iteration_ns(),
            "send" => form.send_ns(),
            "receive" => form.receive_ns(),
            _ => form.total_comm_ns(),
        }))
    }
}

/// An answer of a tool without an error estimate.
fn exactly(ns: u64) -> Answer {
    Answer {
        value_s: ns as f64 / 1e9,
        interval_s: None,
        notes: Vec::new(),
    }
}

/// The method of models that a name means.
fn named(models: &ModelSet, typed: &str) -> anyhow::Result<String> {
    let of_wall = models
        .models
        .iter()
        .filter(|model| model.metric == Metric::Wall);
    let known: Vec<_> = of_wall
        .map(|model| names::Names::of_model(&model.method))
        .collect();
    let place = names::one("predict", typed, "no model of it", &known)?;
    Ok(known[place].shown().to_owned())
}

/// Whether a method gives a fitted model its parameters, and no others.
fn known_parameters(models: &ModelSet, method: &ToolMethod) -> anyhow::Result<()> {
    let name = named(models, &method.subject)?;
    let of_method = models
        .models
        .iter()
        .filter(|model| model.method == name && model.metric == Metric::Wall);
    for model in of_method {
        let needed = model.formula.params();
        let missing = needed
            .iter()
            .find(|name| !method.numbers.contains_key(**name));
        let foreign = method
            .numbers
            .keys()
            .find(|name| !model.params.contains(name));
        let found = match (missing, foreign) {
            (Some(missing), _) => format!("no {missing} in at"),
            (None, Some(foreign)) => format!("{foreign} in at"),
            (None, None) => continue,
        };
        bail!(
            "cannot predict \"{name}\": {found}, expected {}",
            model.params.join(", ")
        );
    }
    Ok(())
}

fn known_form(method: &ToolMethod) -> anyhow::Result<()> {
    let subject = &method.subject;
    let known: Vec<_> = FORMS.iter().map(|(name, _)| *name).collect();
    let form = FORMS.iter().find(|(name, _)| name == subject);
    let (_, numbers) = form.with_context(|| {
        format!(
            "cannot find closed form \"{subject}\": no such form, expected one of {}",
            known.join(", ")
        )
    })?;
    let missing = numbers
        .iter()
        .find(|name| !method.numbers.contains_key(**name));
    let foreign = method
        .numbers
        .keys()
        .find(|name| !numbers.contains(&&***name));
    let found = match (missing, foreign) {
        (Some(missing), _) => format!("no {missing} in with"),
        (None, Some(foreign)) => format!("{foreign} in with"),
        (None, None) => return Ok(()),
    };
    bail!(
        "cannot evaluate closed form \"{subject}\": {found}, expected {}",
        numbers.join(", ")
    )
}

/// The LogGP parameters of a machine's links between nodes, as attributes of a profile.
fn attributes(machine: &Machine) -> Attributes {
    let link = &machine.inter;
    let ns = |ns: u64| Quantity::seconds(ns as f64 / 1e9);
    let per_byte = |ns: f64| Quantity {
        value: ns / 1e9,
        dimension: Dimension::time().times(&Dimension::of("B"), -1),
    };
    let mut found = Attributes::new();
    let mut add = |name: &str, value: Quantity| drop(found.insert(name.to_owned(), value));
    add("latency", ns(link.latency_ns));
    add("send_overhead", ns(link.send_overhead_ns));
    add("receive_overhead", ns(link.receive_overhead_ns));
    add("gap", ns(link.gap_ns));
    add("gap_per_byte", per_byte(link.gap_per_byte_ns));
    add("overhead_per_byte", per_byte(link.overhead_per_byte_ns));
    add(
        "rendezvous",
        Quantity {
            value: link.rendezvous_bytes as f64,
            dimension: Dimension::of("B"),
        },
    );
    add("processors", Quantity::plain(f64::from(machine.processors)));
    if let Some(nodes) = machine.nodes {
        add("nodes", Quantity::plain(f64::from(nodes)));
    }
    found
}

/// Puts an attribute where a link has it.
fn put(link: &mut Link, name: &str, value: f64) -> anyhow::Result<()> {
    if !(value.is_finite() && value >= 0.0) {
        bail!("cannot set {name} of the machine: {value}, expected at least 0");
    }
    let ns = (value * 1e9).round() as u64;
    match name {
        "latency" => link.latency_ns = ns,
        "send_overhead" => link.send_overhead_ns = ns,
        "receive_overhead" => link.receive_overhead_ns = ns,
        "gap" => link.gap_ns = ns,
        "gap_per_byte" => link.gap_per_byte_ns = value * 1e9,
        "overhead_per_byte" => link.overhead_per_byte_ns = value * 1e9,
        "rendezvous" => link.rendezvous_bytes = value.round() as u64,
        _ => bail!(
            "cannot set {name} of the machine: its file says it, expected an attribute of its links"
        ),
    }
    Ok(())
}
