//! Dispatchers: an instance that sends each call of a port to one of several others, by a decision table over the call's
//! performance parameters.
//!
//! `[dispatch]` of an assembly names the table's file, or `[dispatch.INSTANCE]` is the table:
//!
//! ```toml
//! port = "fft"                                # that all of them provide, and the dispatcher too
//! providers = ["fft-Fftw", "fft-Gsl"]         # instances; the first gets every call that the table does not mention
//!
//! [[methods.forward]]                         # step 0
//! parameter = "n"
//! bounds = [8.0, 400.0, 65537.0]              # below 8, from 8 on, from 400 on, from 65537 on
//! next = ["fft-Fftw", "fft-Gsl", "fft-Fftw", "fft-Fftw"]
//! ```
//!
//! A step with `labels` in place of `bounds` belongs to an enumeration, and has as many ends in `next`; a number in
//! `next` is a later step. The calls reach the providers through uses ports of the dispatcher, each named like its
//! provider, so they are recorded under the name of the provider that answers. Its own port belongs to the framework,
//! and is not recorded.
//!
//! # Decisions
//!
//! A dispatcher is generated with the proxy (`port-macro/src/port/dispatcher.rs`,
//! `cca_port_proxy.h`): the functions of a port that compute the call's parameters, look up a
//! provider in a tree of bounds (`abi/src/dispatch.rs`) and call it. The framework makes one from
//! `[dispatch]` of an assembly (`core/src/dispatch.rs`), as an instance with a uses port for each
//! provider, so that a call is recorded once, under the name and class of the provider that
//! answers; its own port belongs to the framework and is not recorded. The dispatcher keeps its
//! uses ports as long as it exists, so none of its providers can be removed; at the end they are
//! released after all other connections, unless a caller is still inside. Only ports that are
//! declared stateless can have a dispatcher. The tree comes from `composition/src/decide.rs`: at a
//! point, the class of least expected time, provided that it is more likely than not to be faster
//! than the default, over all pairs of their credible formulas by weight, and faster by more than a
//! hundredth; else the default. With one parameter the points form a grid over the range of the
//! default class's models; with several they are the measured points and points between those, with
//! a thin additional grid (`decide/points.rs`, `decide/tree.rs`). `nearby.rs` corrects the models
//! there. Means over many calls are compared, so the scatter of single calls does not affect the
//! decision. Parameters that are known only from the result are 0 in the tree.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use cca_abi::{
    Decision, DecisionNode, INNER_NODE, InterfaceDescriptor, MethodDescriptor, PerfDescriptor,
    PortError, RSlice, SlotPointer, call, decision_key, is_real,
};
use cca_ports::{ComponentId, STATELESS, TypeMap};
use serde::{Deserialize, Serialize};

use crate::connections::ConnectionId;
use crate::connector::Connector;
use crate::error::{FrameworkError, names};
use crate::framework::{Framework, interface_of};
use crate::lead::Change;
use crate::state::{ClassOrigin, Provided, Provides, Uses};

/// Class of an instance that dispatches.
const CLASS: &str = "cca.Dispatcher";

/// Where the calls of a port go.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct DecisionTable {
    /// The provides port, of the providers and of the dispatcher.
    pub port: String,
    /// Instances, each once; the first one gets the calls that the table does not mention.
    pub providers: Vec<String>,
    /// Method to its steps; the decision begins at the first.
    #[serde(default)]
    pub methods: BTreeMap<String, Vec<DecisionStep>>,
}

/// Where an assembly has a table.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum TableSource {
    /// In a file; relative to the assembly's file.
    File(PathBuf),
    /// In the assembly itself.
    Table(DecisionTable),
}

impl TableSource {
    /// The table.
    ///
    /// # Errors
    /// As [`DecisionTable::read`].
    pub fn table(&self) -> Result<DecisionTable, DispatchError> {
        match self {
            TableSource::File(file) => DecisionTable::read(file),
            TableSource::Table(table) => Ok(table.clone()),
        }
    }
}

/// A comparison of one parameter.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct DecisionStep {
    /// The parameter.
    pub parameter: String,
    /// Of a number: where the next end of `next` begins, ascending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bounds: Vec<f64>,
    /// Of an enumeration: its values, each once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// Next step: one more than there are bounds, or one for each label.
    pub next: Vec<DecisionEnd>,
}

/// Where a step leads.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum DecisionEnd {
    /// A later step.
    Step(usize),
    /// A provider.
    Provider(String),
}

/// Why calls cannot be dispatched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DispatchError {
    /// The table cannot be read.
    #[error("cannot read decision table \"{}\"", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The file is not a decision table.
    #[error("cannot read decision table \"{}\": malformed, expected what choose --dispatch writes", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Position and cause.
        source: Box<toml::de::Error>,
    },
    /// It does not fit the assembly.
    #[error("cannot dispatch calls of \"{instance}\": {found}, expected {expected}")]
    Unfit {
        /// The dispatcher.
        instance: String,
        /// The value found.
        found: String,
        /// The value expected.
        expected: String,
    },
    /// The library that knows the interface made none.
    #[error("cannot dispatch calls of \"{instance}\"")]
    Make {
        /// The dispatcher.
        instance: String,
        /// The library's words.
        source: PortError,
    },
    /// The framework's.
    #[error(transparent)]
    Framework(#[from] FrameworkError),
}

impl DecisionTable {
    /// Reads a table.
    ///
    /// # Errors
    /// It cannot be read, or is malformed.
    pub fn read(path: &Path) -> Result<Self, DispatchError> {
        let text = fs::read_to_string(path).map_err(|source| DispatchError::Read {
            path: path.into(),
            source,
        })?;
        toml::from_str(&text).map_err(|source| DispatchError::Malformed {
            path: path.into(),
            source: Box::new(source),
        })
    }
}

/// A problem with a table: the value found, and the value expected.
struct Wrong(String, String);

/// The tree of a method, with the data that its nodes point to.
#[derive(Default)]
struct Tree {
    nodes: Vec<DecisionNode>,
    _bounds: Vec<Vec<i64>>,
    _next: Vec<Vec<u32>>,
}

impl Tree {
    fn decision(&self) -> Decision {
        let nodes = match self.nodes.is_empty() {
            true => std::ptr::null(),
            false => self.nodes.as_ptr(),
        };
        Decision { nodes }
    }
}

/// State of a dispatching instance besides its ports.
#[derive(Clone)]
pub struct Dispatching {
    /// As the table named them.
    providers: Vec<String>,
    interface: &'static InterfaceDescriptor,
    /// Of its uses ports, in the order of the providers; every port that was made over them has a share.
    slots: Arc<Vec<SlotPointer>>,
}

// SAFETY: slots serve every thread, and the interface is immutable.
unsafe impl Send for Dispatching {}
// SAFETY: as for `Send`.
unsafe impl Sync for Dispatching {}

impl Dispatching {
    /// How many of its ports there are, those among them that tables before were for and that a caller may still be inside.
    pub fn n_ports(&self) -> usize {
        Arc::strong_count(&self.slots) - 1
    }
}

/// Data that a dispatcher points to.
struct DispatchStorage {
    slots: Arc<Vec<SlotPointer>>,
    _trees: Vec<Tree>,
}

// SAFETY: slots serve every thread, and the nodes are immutable.
unsafe impl Send for DispatchStorage {}
// SAFETY: as for `Send`.
unsafe impl Sync for DispatchStorage {}

/// Makes the trees of a table, one for each method of the interface.
fn trees(
    table: &DecisionTable,
    interface: &'static InterfaceDescriptor,
) -> Result<Vec<Tree>, Wrong> {
    let methods = interface.methods();
    let known: Vec<_> = methods.iter().map(|m| m.name.to_string()).collect();
    if let Some(method) = table.methods.keys().find(|name| !known.contains(name)) {
        return Err(Wrong(format!("method \"{method}\""), names(&known)));
    }
    let trees = methods.iter().map(|method| {
        let steps = table.methods.get(method.name.as_str());
        let made = steps.map(|steps| tree(method, steps, &table.providers));
        made.unwrap_or_else(|| Ok(Tree::default()))
    });
    trees.collect()
}

fn tree(
    method: &'static MethodDescriptor,
    steps: &[DecisionStep],
    providers: &[String],
) -> Result<Tree, Wrong> {
    let parameters = match method.parameters.is_empty() {
        true => &[],
        false => method.parameters.as_slice(),
    };
    let mut tree = Tree::default();
    for (place, step) in steps.iter().enumerate() {
        let known = || {
            names(
                &parameters
                    .iter()
                    .map(|p| p.name.to_string())
                    .collect::<Vec<_>>(),
            )
        };
        let parameter = parameters.iter().position(|p| p.name == *step.parameter);
        let Some(parameter) = parameter else {
            let found = format!("parameter \"{}\" of \"{}\"", step.parameter, method.name);
            return Err(Wrong(found, known()));
        };
        let (bounds, ends) = bounds_and_ends(step, &parameters[parameter])?;
        let next = ends.into_iter().map(|end| match end {
            None => Ok(0),
            Some(DecisionEnd::Step(next)) if *next > place && *next < steps.len() => {
                Ok(*next as u32 | INNER_NODE)
            }
            Some(DecisionEnd::Step(next)) => Err(Wrong(
                format!("step {next} behind step {place} of \"{}\"", method.name),
                format!("a later one of {}", steps.len()),
            )),
            Some(DecisionEnd::Provider(name)) => {
                let found = providers.iter().position(|provider| provider == name);
                let wrong = || Wrong(format!("provider \"{name}\""), names(providers));
                found.map(|place| place as u32).ok_or_else(wrong)
            }
        });
        let next: Vec<u32> = next.collect::<Result<_, _>>()?;
        tree.nodes.push(DecisionNode {
            parameter: parameter as u32,
            is_real: is_real(parameters[parameter].kind).into(),
            n_bounds: bounds.len(),
            bounds: bounds.as_ptr(),
            next: next.as_ptr(),
        });
        // The numbers keep their address when the vectors that contain them move.
        tree._bounds.push(bounds);
        tree._next.push(next);
    }
    Ok(tree)
}

/// The keys of a step's bounds, and where each of the ranges between them leads; none is the first provider.
fn bounds_and_ends<'a>(
    step: &'a DecisionStep,
    parameter: &'static PerfDescriptor,
) -> Result<(Vec<i64>, Vec<Option<&'a DecisionEnd>>), Wrong> {
    let wrong = |found: String, expected: &str| {
        Wrong(
            format!("{found} of parameter \"{}\"", step.parameter),
            expected.into(),
        )
    };
    if step.labels.is_empty() {
        let is_ascending = step.bounds.is_sorted_by(|a, b| a < b);
        if step.bounds.is_empty() || !is_ascending || step.bounds.iter().any(|b| b.is_nan()) {
            let found = format!("bounds {:?}", step.bounds);
            return Err(wrong(found, "at least one, ascending"));
        }
        if step.next.len() != step.bounds.len() + 1 {
            let found = format!("{} ends for {} bounds", step.next.len(), step.bounds.len());
            return Err(wrong(found, "one more"));
        }
        let key = |bound: &f64| match is_real(parameter.kind) {
            true => decision_key(bound.to_bits(), true),
            // The first whole number that is not below.
            false => bound.ceil() as i64,
        };
        let bounds = step.bounds.iter().map(key).collect();
        return Ok((bounds, step.next.iter().map(Some).collect()));
    }
    let known: Vec<String> = match parameter.labels.is_empty() {
        true => Vec::new(),
        false => parameter.labels.iter().map(|l| l.to_string()).collect(),
    };
    if let Some(label) = step.labels.iter().find(|label| !known.contains(label)) {
        return Err(wrong(format!("label \"{label}\""), &names(&known)));
    }
    if step.next.len() != step.labels.len() {
        let found = format!("{} ends for {} labels", step.next.len(), step.labels.len());
        return Err(wrong(found, "one for each"));
    }
    // One range for each value, and one on either side.
    let bounds = (0..=known.len() as i64).collect();
    let end = |label: &String| {
        let place = step.labels.iter().position(|own| own == label);
        place.map(|place| &step.next[place])
    };
    let ends = [None].into_iter().chain(known.iter().map(end));
    Ok((bounds, ends.chain([None]).collect()))
}

impl Dispatching {
    /// The port that sends calls by these trees.
    fn port(&self, name: &str, trees: Vec<Tree>) -> Result<Arc<Provided>, DispatchError> {
        let failed = |source| DispatchError::Make {
            instance: name.into(),
            source,
        };
        let new_dispatcher = self.interface.new_dispatcher;
        let new_dispatcher =
            new_dispatcher.ok_or_else(|| failed(PortError::failed("no dispatcher")))?;
        let decisions: Vec<Decision> = trees.iter().map(Tree::decision).collect();
        let kept = DispatchStorage {
            slots: Arc::clone(&self.slots),
            _trees: trees,
        };
        // SAFETY: the new port keeps slots and trees (`own_with`); the trees are whole, and their indices of providers
        // are those of the slots, each connected and acquired.
        let port = unsafe {
            call(|port, error| {
                new_dispatcher(
                    kept.slots.as_ptr(),
                    RSlice::from_slice(&decisions),
                    port,
                    error,
                )
            })
        };
        let port = port.map_err(failed)?;
        Ok(Provided::own_with(port, Arc::new(kept)))
    }
}

impl Framework {
    /// Makes an instance that sends each call of a port to one of several instances.
    ///
    /// # Errors
    /// The table does not fit the interface; the providers do not provide it, or do not declare their ports stateless;
    /// none of their libraries makes a dispatcher of it; the framework's.
    pub fn create_dispatcher(
        &self,
        name: &str,
        table: &DecisionTable,
    ) -> Result<(), DispatchError> {
        let unfit = |Wrong(found, expected)| DispatchError::Unfit {
            instance: name.into(),
            found,
            expected,
        };
        let interface = self.interface_of_all(table)?.map_err(unfit)?;
        if interface.new_dispatcher.is_none() {
            let found = format!("no dispatcher of \"{}\" in any library", interface.name);
            return Err(unfit(Wrong(
                found,
                "a port made by #[port] or by mastermind proxy in one of them".into(),
            )));
        }
        let trees = trees(table, interface).map_err(unfit)?;
        let origin = ClassOrigin {
            class: CLASS.into(),
            version: env!("CARGO_PKG_VERSION").into(),
            library: None,
        };
        let id = self.add_entry(name, origin, TypeMap::default())?;
        let made = self.lead_to_all(&id, table, interface).and_then(|slots| {
            let dispatching = Dispatching {
                providers: table.providers.clone(),
                interface,
                slots: Arc::new(slots),
            };
            let port = dispatching.port(name, trees)?;
            let mut state = self.shared.lock();
            let entry = state.entry_mut(&id)?;
            entry.dispatching = Some(dispatching);
            let provides = Provides {
                port,
                properties: TypeMap::default(),
                users: Default::default(),
            };
            entry.provides.insert(table.port.clone(), provides);
            Ok(())
        });
        if made.is_err() {
            self.remove_entry(&id);
        }
        made
    }

    /// Makes a dispatcher use another table from the next call on, while any number of threads call; a call in flight
    /// ends at its provider. The former table is kept as long as a caller may be inside, which is until it releases its
    /// port.
    ///
    /// # Errors
    /// No such dispatcher; a table of another port or other providers, or that does not fit the interface; the
    /// framework's. Calls are then dispatched as before.
    pub fn redirect(&self, name: &str, table: &DecisionTable) -> Result<(), DispatchError> {
        let unfit = |Wrong(found, expected)| DispatchError::Unfit {
            instance: name.into(),
            found,
            expected,
        };
        let found = {
            let state = self.shared.lock();
            let entry = state.exactly(&state.id(name))?;
            entry.dispatching.clone()
        };
        let Some(dispatching) = found else {
            let found = "an instance that dispatches nothing".into();
            return Err(unfit(Wrong(found, "one of [dispatch]".into())));
        };
        if table.providers != dispatching.providers {
            let found = format!("providers {}", table.providers.join(", "));
            return Err(unfit(Wrong(found, dispatching.providers.join(", "))));
        }
        let trees = trees(table, dispatching.interface).map_err(unfit)?;
        let port = dispatching.port(name, trees)?;
        // Only the entry and the ports count as such.
        drop(dispatching);
        let (before, users) = {
            let mut state = self.shared.lock();
            let id = state.id(name);
            let entry = state.entry_mut(&id)?;
            let Some(provides) = entry.provides.get_mut(&table.port) else {
                let known = names(entry.provides.keys());
                return Err(unfit(Wrong(format!("port \"{}\"", table.port), known)));
            };
            let before = std::mem::replace(&mut provides.port, Arc::clone(&port));
            let users: Vec<_> = provides.users.iter().cloned().collect();
            let users = users.into_iter();
            let users = users.map(|(user, uses)| (state.id(&user), uses));
            (before, users.collect::<Vec<_>>())
        };
        drop(before);
        for (user, uses) in users {
            let connection = ConnectionId {
                user: user.name.to_string(),
                uses,
                provider: name.into(),
                provides: table.port.clone(),
            };
            self.lead(&user, &connection, &port, Change::Reconnect)?;
        }
        Ok(())
    }

    /// The interface as described by the first provider whose library makes dispatchers.
    fn interface_of_all(
        &self,
        table: &DecisionTable,
    ) -> Result<Result<&'static InterfaceDescriptor, Wrong>, FrameworkError> {
        let state = self.shared.lock();
        let mut found: Option<&'static InterfaceDescriptor> = None;
        for provider in &table.providers {
            let provides = state.provides(provider, &table.port)?;
            if !provides.properties.get(STATELESS, false).unwrap_or(false) {
                return Ok(Err(Wrong(
                    format!("port \"{}\" of \"{provider}\" may have a state", table.port),
                    "one that its component declares stateless".into(),
                )));
            }
            let interface = interface_of(&provides.port);
            if found.is_none_or(|found| found.new_dispatcher.is_none()) {
                found = Some(interface);
            }
        }
        let none = || Wrong("no providers".into(), "at least one".into());
        Ok(found.ok_or_else(none))
    }

    /// Uses ports of a dispatcher, one for each provider and of its name, connected.
    fn lead_to_all(
        &self,
        id: &ComponentId,
        table: &DecisionTable,
        interface: &'static InterfaceDescriptor,
    ) -> Result<Vec<SlotPointer>, DispatchError> {
        let mut slots = Vec::new();
        for provider in &table.providers {
            let uses = Uses {
                interface,
                properties: TypeMap::default(),
                connector: Connector::default(),
                connection: None,
            };
            let replaced = self
                .shared
                .lock()
                .entry_mut(id)?
                .uses
                .insert(provider.clone(), uses);
            if replaced.is_some() {
                return Err(DispatchError::Unfit {
                    instance: id.name.to_string(),
                    found: format!("provider \"{provider}\" twice"),
                    expected: "each once".into(),
                });
            }
            self.connect(&ConnectionId {
                user: id.name.to_string(),
                uses: provider.clone(),
                provider: provider.clone(),
                provides: table.port.clone(),
            })?;
            let mut state = self.shared.lock();
            let connector = &mut state.uses_mut(&id.name, provider)?.connector;
            // For as long as there is a dispatcher: see `Framework::end`.
            connector.acquire();
            // SAFETY: the slot is boxed, and is not freed while a caller may be inside the dispatcher.
            slots.push(unsafe { SlotPointer::new(connector.slot()) });
        }
        Ok(slots)
    }
}
