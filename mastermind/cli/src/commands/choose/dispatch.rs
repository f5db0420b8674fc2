//! `choose --dispatch`: an assembly in which each call goes to the class predicted to be fastest for its parameters.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use cca_core::{Assembly, DecisionTable, TableSource};
use mastermind_component::decision_steps;
use mastermind_composition::{Choice, Decisions, Nearby, Requirement, Workload, decide};
use mastermind_models::ModelSet;
use serde::Serialize;

use crate::destination::Force;
use crate::dispatching::{put_behind, used_ports};
use crate::output;

/// Report on a dispatcher.
#[derive(Debug, Serialize)]
pub struct Dispatched {
    /// The instance.
    instance: String,
    /// The file with its table.
    table: PathBuf,
    /// Classes that calls go to; the default class first.
    classes: Vec<String>,
    /// Predicted time of the workload's calls of the instance if each goes to its class, seconds. The models are
    /// corrected by sizes measured nearby.
    predicted_s: f64,
}

/// Inputs for the dispatch tables.
pub struct Sites<'a> {
    pub assembly: &'a Assembly,
    pub workload: &'a Workload,
    pub models: &'a ModelSet,
    /// Measured times that correct predictions.
    pub nearby: Nearby,
    pub choice: &'a Choice,
    pub requirements: &'a [Requirement],
}

/// A site whose calls are worth dispatching.
struct Site<'a> {
    instance: &'a str,
    port: String,
    /// The default first.
    classes: Vec<String>,
    methods: BTreeMap<String, Decisions>,
}

impl Sites<'_> {
    /// Writes the best assembly with dispatchers, and their tables next to it.
    ///
    /// # Errors
    /// There is no place to write it to; models do not fit the calls; a file cannot be written.
    pub fn write(&self, path: &Path, force: Force) -> anyhow::Result<Vec<Dispatched>> {
        let mut assembly = self.assembly.clone();
        assembly.instances = self.choice.best.clone();
        for entry in &mut assembly.assembly.path {
            *entry = entry.canonicalize().unwrap_or_else(|_| entry.clone());
        }
        let mut dispatched = Vec::new();
        for instance in self.assembly.alternatives.keys() {
            let Some(site) = self.site(instance)? else {
                continue;
            };
            let table = table_path(path, instance);
            let providers = put_behind(&mut assembly, instance, &site.classes);
            // The table lies next to the assembly.
            let file = table.file_name();
            let file = file.map_or_else(|| table.clone(), PathBuf::from);
            let source = TableSource::File(file);
            assembly.dispatch.insert(instance.clone(), source);
            let text = toml::to_string(&decision_table(&site, &providers))
                .context("cannot write decision table: no TOML form")?;
            force.write("decision table", &table, text)?;
            dispatched.push(Dispatched {
                instance: instance.clone(),
                table,
                predicted_s: self.predicted_s(&site)?,
                classes: site.classes,
            });
        }
        let text = toml::to_string(&assembly).context("cannot write assembly: no TOML form")?;
        force.write("assembly", path, text)?;
        Ok(dispatched)
    }

    /// The tables of an instance's methods; None, with a note, if one class is best for all calls.
    fn site<'s>(&'s self, instance: &'s str) -> anyhow::Result<Option<Site<'s>>> {
        let calls = self.workload.calls.iter();
        let methods: BTreeSet<&str> = calls
            .filter(|call| call.instance == instance)
            .map(|call| call.port_method.as_str())
            .collect();
        let ports: BTreeSet<&str> = methods
            .iter()
            .filter_map(|m| m.split_once('.'))
            .map(|(port, _)| port)
            .collect();
        let connected = &used_ports(self.assembly, instance) | &ports;
        let [port] = connected.iter().copied().collect::<Vec<_>>()[..] else {
            if connected.len() > 1 {
                output::message(&format!(
                    "note: calls of \"{instance}\" are not dispatched: it provides {} ports, expected one",
                    connected.len()
                ));
            }
            return Ok(None);
        };
        let default = &self.choice.best[instance];
        let mut classes = vec![default.clone()];
        for class in self.assembly.alternatives[instance]
            .iter()
            .chain(self.assembly.instances.get(instance))
        {
            if !classes.contains(class) && self.is_allowed(instance, class)? {
                classes.push(class.clone());
            }
        }
        let mut decided = BTreeMap::new();
        for port_method in methods {
            let decisions = decide(
                self.models,
                instance,
                &classes,
                port_method,
                self.workload,
                &self.nearby,
            )?;
            let method = port_method
                .split_once('.')
                .map_or(port_method, |(_, method)| method);
            decided.insert(method.to_owned(), decisions);
        }
        let used: BTreeSet<String> = decided
            .values()
            .flat_map(|d| d.classes())
            .map(str::to_owned)
            .collect();
        classes.retain(|class| class == default || used.contains(class));
        if classes.len() < 2 {
            output::message(&format!(
                "note: calls of \"{instance}\" are not dispatched: nowhere do the models expect another class to be faster than {default}"
            ));
            return Ok(None);
        }
        Ok(Some(Site {
            instance,
            port: port.to_owned(),
            classes,
            methods: decided,
        }))
    }

    /// Whether a class may be at an instance, with the best classes at the others.
    fn is_allowed(&self, instance: &str, class: &str) -> anyhow::Result<bool> {
        let mut other = self.choice.best.clone();
        other.insert(instance.into(), class.into());
        for requirement in self
            .requirements
            .iter()
            .filter(|r| r.instances().contains(instance))
        {
            if !requirement.is_met(&other, &self.assembly.attributes)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn predicted_s(&self, site: &Site<'_>) -> anyhow::Result<f64> {
        let mut sum_s = 0.0;
        for call in self
            .workload
            .calls
            .iter()
            .filter(|call| call.instance == site.instance)
        {
            let method = call
                .port_method
                .split_once('.')
                .map_or("", |(_, method)| method);
            let decided = site
                .methods
                .get(method)
                .and_then(|decisions| decisions.class(&call.coordinate));
            let class = decided.unwrap_or(&site.classes[0]);
            let name = mastermind_composition::model_name(class, &call.port_method);
            let model = self
                .models
                .find(&name, self.workload.metric.clone(), &call.coordinate)?;
            let mut total = mastermind_models::Total::new(model);
            total.add(&call.coordinate, call.count as f64)?;
            sum_s += total.time_s() * self.nearby.factor(&name, &call.coordinate);
        }
        Ok(sum_s)
    }
}

/// `best.fft.dispatch.toml` next to `best.toml`.
fn table_path(assembly: &Path, instance: &str) -> PathBuf {
    let stem = assembly.file_stem().unwrap_or_default().to_string_lossy();
    assembly.with_file_name(format!("{stem}.{instance}.dispatch.toml"))
}

fn decision_table(site: &Site<'_>, providers: &[String]) -> DecisionTable {
    let provider = |class: &str| {
        let place = site.classes.iter().position(|known| known == class);
        providers[place.unwrap_or(0)].clone()
    };
    let methods = site
        .methods
        .iter()
        .filter(|(_, decisions)| !decisions.steps.is_empty());
    DecisionTable {
        port: site.port.clone(),
        providers: providers.to_vec(),
        methods: methods
            .map(|(method, decisions)| (method.clone(), decision_steps(decisions, provider)))
            .collect(),
    }
}

/// The output of `--dispatch`, which must be a file, as tables lie next to it.
///
/// # Errors
/// There is none, or it is standard output.
pub fn place(output: Option<&Path>) -> anyhow::Result<&Path> {
    match output {
        Some(path) if !crate::destination::is_standard_output(path) => Ok(path),
        _ => bail!(crate::errors::WrongUse(
            "cannot write decision tables: no file for the assembly next to which they are written, expected -o ASSEMBLY2"
        )),
    }
}

/// Prints the report on the dispatchers.
pub fn print(dispatched: &[Dispatched]) {
    for one in dispatched {
        output::line(format!(
            "calls of {} go to {} by their parameters: {:.4} s predicted, by {}",
            one.instance,
            one.classes.join(", "),
            one.predicted_s,
            one.table.display()
        ));
    }
}
