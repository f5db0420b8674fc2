//! Cycles that are not allowed. Components may use each other; but a Go port that is led back to itself never ends.

use std::collections::{BTreeMap, BTreeSet};

use cca_abi::Interface;
use cca_ports::GoPort;

use crate::connections::ConnectionId;
use crate::framework::Framework;

/// Go ports that lead back to where they begin.
#[derive(Debug, thiserror::Error)]
#[error("cannot run with a cycle of Go ports: {ports}, expected an end")]
pub struct GoCycle {
    ports: String,
}

impl Framework {
    /// A cycle of connections of Go ports, if there is one.
    pub(crate) fn go_cycle(&self) -> Option<GoCycle> {
        let interface = <dyn GoPort>::descriptor().name;
        let connections = self.connection_interfaces().into_iter();
        let of_go = connections.filter(|(_, name)| *name == *interface);
        cycle_from(of_go.map(|(connection, _)| connection))
    }
}

/// A cycle among connections of Go ports, if there is one.
pub(crate) fn cycle_from(connections: impl IntoIterator<Item = ConnectionId>) -> Option<GoCycle> {
    let mut from: BTreeMap<String, Vec<ConnectionId>> = BTreeMap::new();
    for connection in connections {
        let user = connection.user.clone();
        from.entry(user).or_default().push(connection);
    }
    let mut done = BTreeSet::new();
    from.keys().find_map(|start| cycle(start, &from, &mut done))
}

/// The first cycle found in a search from an instance.
fn cycle<'a>(
    start: &'a str,
    from: &'a BTreeMap<String, Vec<ConnectionId>>,
    done: &mut BTreeSet<&'a str>,
) -> Option<GoCycle> {
    let next = |instance: &str| from.get(instance).map_or(&[][..], Vec::as_slice).iter();
    let mut way: Vec<&ConnectionId> = Vec::new();
    let mut open = vec![(start, next(start))];
    while let Some((instance, rest)) = open.last_mut() {
        let Some(connection) = rest.next() else {
            done.insert(*instance);
            open.pop();
            way.pop();
            continue;
        };
        let to = connection.provider.as_str();
        if let Some(at) = open.iter().position(|(instance, _)| *instance == to) {
            let ports = way[at..].iter().chain([&connection]);
            let ports: Vec<_> = ports
                .map(|c| {
                    format!(
                        "\"{}.{}\" to \"{}.{}\"",
                        c.user, c.uses, c.provider, c.provides
                    )
                })
                .collect();
            return Some(GoCycle {
                ports: ports.join(", "),
            });
        }
        if !done.contains(to) {
            way.push(connection);
            open.push((to, next(to)));
        }
    }
    None
}
