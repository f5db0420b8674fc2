//! `run --dry`: methods that decide neither which calls are made nor which messages are sent are left out, and models
//! predict their time.
//!
//! [`Dry::prepare`] finds the methods and their models before the run, [`Dry::leave_out`] puts stand-ins in front of
//! them, and `total` adds up the run's own time and the predictions at its end. `verify` shows whether the program's
//! decisions depend on the outputs of the methods.

mod total;
mod verify;

pub use total::predict_total;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};
use cca_core::{Assembly, LeftOut};
use cca_ports::CommPort;
use clap::Args;
use mastermind_component::names::{self, Names};
use mastermind_composition::model_name;
use mastermind_models::{Metric, ModelSet};

use crate::commands::predict::read_models;
use crate::output;
use crate::session::framework::Session;
use crate::session::recording::recordable_methods;

/// Suffix that means all methods of an instance or a port.
const ALL: &str = ".*";

/// The options.
#[derive(Args)]
#[command(next_help_heading = "Dry runs")]
pub struct DryArguments {
    /// Do not call the methods of [dry] and --dry-method, and predict the time of the whole run: its own time, and of each call that was
    /// left out what these models say
    #[arg(long, value_name = "MODELS", conflicts_with_all = ["adapt", "records_limit"])]
    dry: Option<PathBuf>,
    /// Leave this method out: INSTANCE.METHOD, or INSTANCE.* for all of an instance
    #[arg(long, value_name = "NAME", requires = "dry")]
    dry_method: Vec<String>,
    /// Show instead, on a run of the same size with everything and one whose left-out methods give NaN, whether what is called and sent
    /// depends on what they give
    #[arg(long, requires = "dry", conflicts_with = "records")]
    verify: bool,
    /// Do not leave out the methods of [dry]
    #[arg(long, requires = "dry", hide = true)]
    dry_only: bool,
    /// Make real numbers among the outputs of methods that are left out NaN
    #[arg(long, requires = "dry", hide = true)]
    dry_poison: bool,
}

impl DryArguments {
    /// Whether only the dependence on the methods' outputs is to be shown.
    pub fn verifies(&self) -> bool {
        self.verify
    }

    /// Whether a dry run is requested.
    pub fn is_asked(&self) -> bool {
        self.dry.is_some()
    }
}

/// A method that is left out.
#[derive(Clone, Debug)]
pub struct DryMethod {
    /// Its instance.
    pub instance: String,
    /// The provides port.
    pub port: String,
    /// Its name.
    pub method: String,
    /// As its models name it.
    pub model: String,
    /// Type of its return value; `None` if there is none.
    pub result: Option<String>,
    /// The modelled time: its own time if it calls no other method, otherwise the time of the whole call.
    pub metric: Metric,
}

impl DryMethod {
    /// `INSTANCE.PORT.METHOD`.
    pub fn name(&self) -> String {
        format!("{}.{}.{}", self.instance, self.port, self.method)
    }
}

/// A dry run.
pub struct Dry {
    methods: Vec<DryMethod>,
    models: ModelSet,
    poisons: bool,
}

impl Dry {
    /// Finds the methods to leave out, and their models.
    ///
    /// # Arguments
    /// * `session` - with the assembly built
    /// * `prints_notes` - whether the first rank prints notes on the methods
    ///
    /// # Errors
    /// The models cannot be read; no method is named, or one that does not exist; a method has no model.
    pub fn prepare(
        arguments: &DryArguments,
        session: &Session,
        assembly: &Assembly,
        prints_notes: bool,
    ) -> anyhow::Result<Option<Self>> {
        let Some(path) = &arguments.dry else {
            return Ok(None);
        };
        let models = read_models(path, false)?;
        let known = recordable_methods(&session.framework, assembly);
        let table = assembly.dry.iter().filter(|_| !arguments.dry_only);
        let typed = table.flat_map(|dry| &dry.methods);
        let typed: Vec<_> = typed.chain(&arguments.dry_method).collect();
        if typed.is_empty() {
            bail!(
                "cannot run assembly \"{}\" dry: no method to leave out, expected --dry-method NAME or [dry] with methods; {}",
                assembly.assembly.name,
                candidates(&known, assembly, &models)
            );
        }
        let mut chosen = BTreeSet::new();
        for typed in typed {
            chosen.extend(meant(typed, &known)?);
        }
        let mut methods = Vec::new();
        for [instance, port, method] in chosen {
            let class = assembly.instances.get(&instance).map_or("", String::as_str);
            let is_start = assembly.go.as_ref();
            if is_start.is_some_and(|go| go.port.instance == instance && go.port.port == port) {
                bail!(
                    "cannot leave out method \"{instance}.{method}\": it starts the assembly, expected one that it calls"
                );
            }
            let mut found = DryMethod {
                model: model_name(class, &format!("{port}.{method}")),
                metric: Metric::Wall,
                result: result_of(session, &instance, &port, &method),
                instance,
                port,
                method,
            };
            found.metric = metric_of(&found, assembly, &models, path)?;
            methods.push(found);
        }
        if prints_notes && session.rank == 0 {
            warn_of_results(session, &methods);
        }
        Ok(Some(Self {
            methods,
            models,
            poisons: arguments.dry_poison,
        }))
    }

    /// The methods by their names.
    pub fn names(&self) -> Vec<String> {
        self.methods.iter().map(DryMethod::name).collect()
    }

    /// The methods.
    pub fn methods(&self) -> &[DryMethod] {
        &self.methods
    }

    /// A message that a failed run may have used outputs that the methods did not give.
    pub fn suspicion(&self) -> String {
        format!(
            "cannot run dry to the end: the program may need what {} would have given; --verify shows it",
            self.names().join(", ")
        )
    }

    /// Whether a method of this name returns something.
    fn returns(&self, name: &str) -> bool {
        let mut methods = self.methods.iter();
        methods.any(|method| method.result.is_some() && method.name() == name)
    }

    /// The models.
    pub fn models(&self) -> &ModelSet {
        &self.models
    }

    /// Leaves the methods out from now on.
    ///
    /// # Errors
    /// No library makes a dispatcher of an interface.
    pub fn leave_out(&self, session: &Session) -> anyhow::Result<Vec<(String, LeftOut)>> {
        let mut by_port = BTreeMap::<(&str, &str), Vec<String>>::new();
        for DryMethod {
            instance,
            port,
            method,
            ..
        } in &self.methods
        {
            let of_port = by_port.entry((instance, port)).or_default();
            of_port.push(method.clone());
        }
        let mut all = Vec::new();
        for ((instance, port), methods) in by_port {
            let framework = &session.framework;
            let left_out = framework.leave_out(instance, port, &methods, self.poisons)?;
            let named = left_out.into_iter();
            all.extend(named.map(|out| (format!("{instance}.{port}.{}", out.method), out)));
        }
        Ok(all)
    }
}

/// The methods that a name means.
///
/// # Errors
/// It means none, or several without `.*`.
fn meant(typed: &str, known: &BTreeSet<[String; 3]>) -> anyhow::Result<Vec<[String; 3]>> {
    if let Some(of) = typed.strip_suffix(ALL) {
        let is_of = |[instance, port, _]: &&[String; 3]| {
            of == instance || of == format!("{instance}.{port}")
        };
        let all: Vec<_> = known.iter().filter(is_of).cloned().collect();
        if all.is_empty() {
            let instances: BTreeSet<_> = known.iter().map(|[i, ..]| i.as_str()).collect();
            bail!(
                "cannot leave out \"{typed}\": no such instance, expected one of {}",
                Vec::from_iter(instances).join(", ")
            );
        }
        return Ok(all);
    }
    let (methods, names): (Vec<_>, Vec<_>) = known
        .iter()
        .map(|[i, port, method]| {
            let names = Names::of_instance(i, port, method);
            ([i.clone(), port.clone(), method.clone()], names)
        })
        .unzip();
    let place = names::one("leave out", typed, "no such method", &names)?;
    Ok(vec![methods[place].clone()])
}

/// The metric to model a method by. A method that is left out makes no calls, so for one that calls others its own time
/// is not enough.
fn metric_of(
    method: &DryMethod,
    assembly: &Assembly,
    models: &ModelSet,
    path: &Path,
) -> anyhow::Result<Metric> {
    let has = |metric: Metric| {
        let of_method = |model: &&mastermind_models::Model| {
            model.method == method.model && model.metric == metric
        };
        models.models.iter().any(|model| of_method(&model))
    };
    let called: BTreeSet<_> = assembly
        .connections
        .iter()
        .filter(|(uses, provides)| {
            uses.instance == method.instance && assembly.instances.contains_key(&provides.instance)
        })
        .map(|(_, provides)| provides.instance.as_str())
        .collect();
    if has(Metric::Inclusive) {
        return Ok(Metric::Inclusive);
    }
    let act = || format!("cannot leave out method \"{}\"", method.name());
    let shown = path.display();
    if !called.is_empty() {
        bail!(
            "{}: it may call {}, which are not called then, and \"{shown}\" has no model of its whole time, expected one; \
             fit RECORDS --metric inclusive",
            act(),
            Vec::from_iter(called).join(", ")
        );
    }
    if !has(Metric::Wall) {
        let known: BTreeSet<_> = models.models.iter().map(|m| m.method.as_str()).collect();
        bail!(
            "{}: no model of \"{}\" in \"{shown}\", which has {}, expected one; fit it",
            act(),
            method.model,
            Vec::from_iter(known).join(", ")
        );
    }
    Ok(Metric::Wall)
}

/// The methods that could be left out, those with the most measured time first.
fn candidates(known: &BTreeSet<[String; 3]>, assembly: &Assembly, models: &ModelSet) -> String {
    let mut times = Vec::new();
    for [instance, port, method] in known {
        let Some(class) = assembly.instances.get(instance) else {
            continue;
        };
        let name = model_name(class, &format!("{port}.{method}"));
        let of_method = models
            .models
            .iter()
            .filter(|model| model.method == name && model.metric == Metric::Wall);
        let seconds: f64 = of_method.map(total::typical_total_s).sum();
        if seconds > 0.0 {
            times.push((seconds, format!("{instance}.{method}")));
        }
    }
    times.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    let all: f64 = times.iter().map(|(seconds, _)| seconds).sum();
    let shares = times.iter().take(MAX_CANDIDATES);
    let shares: Vec<_> = shares
        .map(|(seconds, name)| format!("{name} ({:.0} %)", 100.0 * seconds / all))
        .collect();
    match shares.is_empty() {
        true => "none of its methods has a model".into(),
        false => format!("by their share of the models' time: {}", shares.join(", ")),
    }
}

/// Maximum number of candidates that are printed: the rest takes little.
const MAX_CANDIDATES: usize = 8;

/// Type of a method's return value, as its interface names it; `None` if there is none, or if nothing describes the
/// interface.
fn result_of(session: &Session, instance: &str, port: &str, method: &str) -> Option<String> {
    let found = session.framework.instance(instance).ok()?;
    let port = found.provides.iter().find(|known| known.name == port)?;
    let interface = session.framework.described(port.interface);
    let described = interface
        .methods()
        .iter()
        .find(|known| *known.name == *method)?;
    let (_, result) = described.signature.rsplit_once(" -> ")?;
    (result != "()").then(|| result.to_owned())
}

/// Notes which methods return a value, which is then the default of its type, and warns of instances that may send
/// messages.
fn warn_of_results(session: &Session, methods: &[DryMethod]) {
    let comm = <dyn CommPort as cca_abi::Interface>::descriptor().name;
    for method in methods {
        let name = method.name();
        if let Some(result) = &method.result {
            output::complain!(
                "note: {name} returns a {result}; left out, it returns the default of that"
            );
        }
        let instance = session.framework.instance(&method.instance);
        let mut uses = instance.iter().flat_map(|instance| &instance.uses);
        if session.size > 1 && uses.any(|port| port.interface.name == comm) {
            output::complain!(
                "warning: {name} is of an instance that uses {comm}: messages that it would send are not sent"
            );
        }
    }
}

/// File next to the logs with the prediction of a dry run.
pub const PREDICTION: &str = "dry.json";

/// File next to the logs with the numbers that were made NaN, by method.
const POISONED: &str = "dry-poisoned.json";

/// Writes next to the logs how many numbers of each method were made NaN.
pub fn leave_poisoned(directory: &Path, left_out: &[(String, LeftOut)]) -> anyhow::Result<()> {
    let poisoned: BTreeMap<&str, u64> = left_out
        .iter()
        .map(|(name, out)| (name.as_str(), out.n_poisoned()))
        .collect();
    crate::beside_logs::write(directory, POISONED, Some(&poisoned))
        .map_err(|error| anyhow!("cannot write \"{POISONED}\": {error}"))
}

/// Removes the files of an earlier run.
///
/// # Errors
/// A file cannot be removed.
pub fn drop_prediction(directory: &Path) -> std::io::Result<()> {
    for name in [PREDICTION, POISONED] {
        crate::beside_logs::write::<()>(directory, name, None)?;
    }
    Ok(())
}

/// Whether a dry run has left its prediction in a record directory.
pub fn has_prediction(records: &Path) -> bool {
    records.join(PREDICTION).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_means_a_method_or_all_of_an_instance_or_port() {
        let known = BTreeSet::from(
            [
                ["flux", "flux", "compute"],
                ["mesh", "mesh", "fill"],
                ["mesh", "mesh", "take"],
                ["mesh", "traffic", "counters"],
            ]
            .map(|names| names.map(String::from)),
        );
        let methods = |typed: &str| -> Vec<String> {
            let found = meant(typed, &known).unwrap_or_default();
            found.into_iter().map(|[.., method]| method).collect()
        };
        assert_eq!(methods("flux.compute"), ["compute"]);
        assert_eq!(methods("mesh.mesh.take"), ["take"]);
        assert_eq!(methods("mesh.*"), ["fill", "take", "counters"]);
        assert_eq!(methods("mesh.traffic.*"), ["counters"]);
        assert!(meant("mes.*", &known).is_err());
        assert!(meant("mesh.fil", &known).is_err());
    }
}
