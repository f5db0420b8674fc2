//! Networks in TOML.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::network::{Class, Kind, Network, NetworkError, Station};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NetworkFile {
    #[serde(default)]
    stations: Vec<StationTable>,
    #[serde(default)]
    classes: Vec<ClassTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StationTable {
    name: String,
    /// Of a queue; one, where it is not given.
    servers: Option<u32>,
    #[serde(default)]
    delay: bool,
    /// By class, seconds; 0 for those that are not named.
    #[serde(default)]
    demand_s: BTreeMap<String, f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClassTable {
    name: String,
    customers: u32,
    #[serde(default)]
    think_s: f64,
}

/// Reads a closed network.
///
/// ```
/// let network = mastermind_queueing::read_network(
///     r#"
///     [[classes]]
///     name = "ranks"
///     customers = 16
///     think_s = 10e-3          # computation between two uses of what is shared
///
///     [[stations]]
///     name = "memory"
///     servers = 2              # 1 where it is not given; delay = true where nobody waits
///     demand_s = { ranks = 2e-3 }
///     "#,
/// )?;
/// assert_eq!(network.stations[0].demand_s, [2e-3]);
/// # Ok::<(), mastermind_queueing::NetworkError>(())
/// ```
///
/// # Errors
/// [`NetworkError::File`], and those of [`Network::check`].
pub fn read_network(text: &str) -> Result<Network, NetworkError> {
    let wrong = |found: String| NetworkError::File { found };
    let file: NetworkFile = toml::from_str(text).map_err(|error| wrong(error.to_string()))?;
    for (what, names) in [
        (
            "class",
            file.classes.iter().map(|one| &one.name).collect::<Vec<_>>(),
        ),
        (
            "station",
            file.stations.iter().map(|one| &one.name).collect(),
        ),
    ] {
        let is_again = |at: usize| names[..at].contains(&names[at]);
        if let Some(at) = (0..names.len()).find(|at| is_again(*at)) {
            let name = names[at];
            return Err(wrong(format!("{what} \"{name}\" twice, expected once")));
        }
    }
    let mut stations = Vec::new();
    for mut table in file.stations {
        let name = table.name;
        let kind = match (table.delay, table.servers) {
            (true, Some(_)) => {
                return Err(wrong(format!(
                    "station \"{name}\" has servers and is a delay, expected one of both"
                )));
            }
            (true, None) => Kind::Delay,
            (false, servers) => Kind::Queue {
                servers: servers.unwrap_or(1),
            },
        };
        let classes = file.classes.iter();
        let demand_s = classes.map(|class| table.demand_s.remove(&class.name).unwrap_or(0.0));
        let demand_s = demand_s.collect();
        if let Some(class) = table.demand_s.keys().next() {
            return Err(wrong(format!(
                "station \"{name}\" has a demand of class \"{class}\", expected a class of the network"
            )));
        }
        stations.push(Station {
            name,
            kind,
            demand_s,
        });
    }
    let classes = file.classes.into_iter();
    let classes = classes.map(|class| Class {
        name: class.name,
        customers: class.customers,
        think_s: class.think_s,
    });
    let network = Network {
        stations,
        classes: classes.collect(),
    };
    network.check()?;
    Ok(network)
}
