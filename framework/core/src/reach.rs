//! Reachability from a start: the instances that calls from one instance may come to, along the present
//! connections.

use std::collections::BTreeSet;

use cca_abi::Interface;
use cca_ports::GoPort;

use crate::connections::ConnectionId;
use crate::framework::Framework;
use crate::go_cycle::{GoCycle, cycle_from};

/// Possible problems with the wiring reachable from a start. None of them prevents a successful run: a port may never
/// be called, a cycle never be closed.
#[derive(Debug, Default)]
pub struct WiringProblems {
    /// Uses ports that lead nowhere: instance, port, interface.
    pub unconnected: Vec<(String, String, String)>,
    /// Go ports that lead back to where they begin.
    pub go_cycle: Option<GoCycle>,
}

impl Framework {
    /// An instance and those that calls from it may come to. An unknown instance reaches none.
    pub fn reachable(&self, instance: &str) -> BTreeSet<String> {
        let state = self.shared.lock();
        let mut reached = BTreeSet::new();
        let mut open = vec![instance.to_string()];
        while let Some(name) = open.pop() {
            let Some(entry) = state.instances.get(&name) else {
                continue;
            };
            if !reached.insert(name) {
                continue;
            }
            let connections = entry.uses.values().filter_map(|u| u.connection.as_ref());
            let next = connections.map(|connection| connection.provider.clone());
            open.extend(next.filter(|provider| !reached.contains(provider)));
        }
        reached
    }

    /// Possible problems with the wiring reachable from an instance.
    pub fn wiring_from(&self, instance: &str) -> WiringProblems {
        let go = <dyn GoPort>::descriptor().name;
        let mut problems = WiringProblems::default();
        let mut of_go = Vec::new();
        let reached = self.reachable(instance);
        let state = self.shared.lock();
        let entries = reached
            .iter()
            .filter_map(|name| Some((name, state.instances.get(name)?)));
        for (name, entry) in entries {
            for (port, uses) in &entry.uses {
                match &uses.connection {
                    None => {
                        let interface = uses.interface.name.to_string();
                        problems
                            .unconnected
                            .push((name.clone(), port.clone(), interface));
                    }
                    Some(connection) if uses.interface.name == go => of_go.push(ConnectionId {
                        user: name.clone(),
                        uses: port.clone(),
                        provider: connection.provider.clone(),
                        provides: connection.port.clone(),
                    }),
                    Some(_) => {}
                }
            }
        }
        drop(state);
        problems.go_cycle = cycle_from(of_go);
        problems
    }
}
