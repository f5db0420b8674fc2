//! Methods that are left out: in a dry run, calls of a method return at once and compute nothing.
//!
//! [`Framework::leave_out`] puts a dispatcher (`dispatch.rs`) in front of a provides port. Calls of each method that is left
//! out go to a [`StandIn`], all others to the provider. The port keeps its instance and its class, so that a proxy in front of
//! it records every call, with its parameters, as if it were the provider's.
//!
//! # Decisions
//!
//! A dry run puts a dispatcher in front of a provides port (`core/src/stand_in.rs`): calls of
//! methods that are left out lead to a port without a table, which the generated dispatcher knows
//! and answers itself; all others lead to the provider. The port keeps its instance and class, so
//! that proxies record as always; the logs name the methods, and their times are added afterwards, from
//! models (`cli/src/commands/run/dry/total.rs`) or in a replay.

use std::sync::Arc;

use cca_abi::{
    Decision, DecisionNode, InterfaceDescriptor, OwnedPort, PortError, RSlice, SlotPointer,
    StandIn, call,
};

use crate::connections::ConnectionId;
use crate::connector::{Connector, Target};
use crate::error::{FrameworkError, names};
use crate::framework::{Framework, interface_of};
use crate::lead::{Change, straight_target};
use crate::state::Provided;

/// A method that is left out.
#[derive(Debug)]
pub struct LeftOut {
    /// Name of the method.
    pub method: String,
    stand_in: Arc<StandIn>,
}

impl LeftOut {
    /// Numbers among its outputs that were poisoned until now.
    pub fn n_poisoned(&self) -> u64 {
        self.stand_in.n_poisoned()
    }
}

/// Why a method cannot be left out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LeaveOutError {
    /// The interface has no such method.
    #[error(
        "cannot leave out method \"{method}\" of \"{instance}.{port}\": unknown, expected {known}"
    )]
    UnknownMethod {
        /// The instance.
        instance: String,
        /// Its provides port.
        port: String,
        /// The method.
        method: String,
        /// The methods there are.
        known: String,
    },
    /// No component or library can make a stand-in of the interface.
    #[error(
        "cannot leave out methods of \"{instance}.{port}\": no dispatcher of \"{interface}\" in any library, \
         expected a port made by #[port] or by mastermind proxy in one of them"
    )]
    NoDispatcher {
        /// The instance.
        instance: String,
        /// Its provides port.
        port: String,
        /// The interface.
        interface: String,
    },
    /// The library that knows the interface made none.
    #[error("cannot leave out methods of \"{instance}.{port}\"")]
    Make {
        /// The instance.
        instance: String,
        /// Its provides port.
        port: String,
        /// The library's words.
        source: PortError,
    },
    /// The framework's.
    #[error(transparent)]
    Framework(#[from] FrameworkError),
}

/// Data that the dispatcher in front of a provides port points to.
struct StandInStorage {
    slots: Vec<SlotPointer>,
    _connectors: Vec<Connector>,
    _nodes: Vec<(Box<DecisionNode>, Box<u32>)>,
    _stand_ins: Vec<Arc<StandIn>>,
}

// SAFETY: slots and stand-ins serve every thread, and the nodes are immutable.
unsafe impl Send for StandInStorage {}
// SAFETY: as for `Send`.
unsafe impl Sync for StandInStorage {}

impl StandInStorage {
    /// A slot that leads to `target` as long as this is kept.
    fn add(&mut self, target: Arc<Target>) {
        let mut connector = Connector::default();
        // It led nowhere before.
        drop(connector.point_to(Some(target)));
        // SAFETY: the slot is boxed in the connector, which is kept as long as the dispatcher is.
        self.slots
            .push(unsafe { SlotPointer::new(connector.slot()) });
        self._connectors.push(connector);
    }
}

/// A dispatcher that sends the calls of some methods to stand-ins and all others to a provider.
fn stand_in_port(
    new_dispatcher: cca_abi::NewDispatcher,
    interface: &'static InterfaceDescriptor,
    provider: Arc<Target>,
    left_out: &[LeftOut],
) -> Result<(OwnedPort, StandInStorage), PortError> {
    let mut kept = StandInStorage {
        slots: Vec::new(),
        _connectors: Vec::new(),
        _nodes: Vec::new(),
        _stand_ins: Vec::new(),
    };
    kept.add(provider);
    let mut decisions = Vec::new();
    for method in interface.methods() {
        let Some(found) = left_out.iter().find(|out| out.method == *method.name) else {
            let nodes = std::ptr::null();
            decisions.push(Decision { nodes });
            continue;
        };
        let next = Box::new(kept.slots.len() as u32);
        let node = Box::new(DecisionNode {
            parameter: 0,
            is_real: 0,
            n_bounds: 0,
            bounds: std::ptr::null(),
            next: &raw const *next,
        });
        decisions.push(Decision {
            nodes: &raw const *node,
        });
        let stand_in = Arc::clone(&found.stand_in);
        kept.add(Target::new(stand_in.port(), Arc::clone(&stand_in) as _));
        kept._nodes.push((node, next));
        kept._stand_ins.push(stand_in);
    }
    // An extra decision marks that there are stand-ins: see `NewDispatcher`.
    decisions.push(Decision {
        nodes: std::ptr::null(),
    });
    // SAFETY: the new port keeps slots, nodes and stand-ins (`Provided::in_front_of`), which are boxed or shared; each
    // leaf is the index of a slot, each slot is connected, and a node without bounds reads no parameter.
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
    Ok((port?, kept))
}

impl Framework {
    /// Leaves out methods of a provides port from the next call on: each call of them returns at once, with its outputs as they are
    /// and the default of its result.
    ///
    /// # Arguments
    /// * `methods` - names, each once
    /// * `poisons` - whether real numbers among the outputs become NaN
    ///
    /// # Returns
    /// The methods, in this order.
    ///
    /// # Errors
    /// No such instance, port or method; no library makes dispatchers of the interface. Calls are then dispatched as
    /// before.
    pub fn leave_out(
        &self,
        instance: &str,
        port: &str,
        methods: &[String],
        poisons: bool,
    ) -> Result<Vec<LeftOut>, LeaveOutError> {
        let (provided, interface) = {
            let state = self.shared.lock();
            let provided = Arc::clone(&state.provides(instance, port)?.port);
            let own = interface_of(&provided);
            let interface = match own.new_dispatcher {
                Some(_) => own,
                None => state.proxied(own).unwrap_or(own),
            };
            (provided, interface)
        };
        let names_of_port = || (instance.to_owned(), port.to_owned());
        let Some(new_dispatcher) = interface.new_dispatcher else {
            let (instance, port) = names_of_port();
            let interface = interface.name.to_string();
            return Err(LeaveOutError::NoDispatcher {
                instance,
                port,
                interface,
            });
        };
        let known: Vec<_> = interface
            .methods()
            .iter()
            .map(|m| m.name.to_string())
            .collect();
        if let Some(method) = methods.iter().find(|method| !known.contains(method)) {
            let (instance, port) = names_of_port();
            return Err(LeaveOutError::UnknownMethod {
                instance,
                port,
                method: method.clone(),
                known: names(&known),
            });
        }
        let left_out = methods.iter().map(|method| LeftOut {
            method: method.clone(),
            stand_in: Arc::new(StandIn::new(poisons)),
        });
        let left_out: Vec<_> = left_out.collect();
        let provider = straight_target(instance, &provided);
        let made = stand_in_port(new_dispatcher, interface, provider, &left_out);
        let (made, kept) = made.map_err(|source| {
            let (instance, port) = names_of_port();
            LeaveOutError::Make {
                instance,
                port,
                source,
            }
        })?;
        self.put_in_front(
            instance,
            port,
            &Provided::in_front_of(&provided, made, Arc::new(kept)),
        )?;
        Ok(left_out)
    }

    /// Leads all users of a provides port to another port, and those to come.
    fn put_in_front(
        &self,
        instance: &str,
        port: &str,
        front: &Arc<Provided>,
    ) -> Result<(), FrameworkError> {
        let (before, users) = {
            let mut state = self.shared.lock();
            let entry = state.instance_mut(instance)?;
            let provides = entry.provides_port_mut(instance, port)?;
            let before = std::mem::replace(&mut provides.port, Arc::clone(front));
            let users: Vec<_> = provides.users.iter().cloned().collect();
            let with_ids = users
                .into_iter()
                .map(|(user, uses)| (state.id(&user), uses));
            (before, with_ids.collect::<Vec<_>>())
        };
        drop(before);
        for (user, uses) in users {
            let connection = ConnectionId {
                user: user.name.to_string(),
                uses,
                provider: instance.into(),
                provides: port.into(),
            };
            self.lead(&user, &connection, front, Change::Reconnect)?;
        }
        Ok(())
    }
}
