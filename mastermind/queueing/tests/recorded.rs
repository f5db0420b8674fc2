//! Random networks and their exact throughputs, as LINE 3.0.8 found them.

use mastermind_queueing::{Class, Kind, Network, Station};
use serde_json::Value;

/// Networks, a line each, with the throughputs that LINE 3 finds by its exact method: `benches/queueing/line.py --record`.
pub const RECORDED: &str = include_str!("networks.jsonl");

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

/// A recorded network and its throughputs by class.
pub fn recorded(line: &str) -> (Network, Vec<f64>) {
    let document: Value = serde_json::from_str(line).expect("a document");
    let list = |name: &str| document[name].as_array().expect("a list").clone();
    let classes: Vec<Class> = list("classes")
        .iter()
        .map(|class| Class {
            name: text(&class["name"]),
            customers: number(&class["customers"]) as u32,
            think_s: number(&class["think_s"]),
        })
        .collect();
    let stations = list("stations");
    let stations = stations.iter().map(|station| Station {
        name: text(&station["name"]),
        kind: match station["delay"] == true {
            true => Kind::Delay,
            false => Kind::Queue {
                servers: station["servers"].as_u64().unwrap_or(1) as u32,
            },
        },
        demand_s: classes
            .iter()
            .map(|class| number(&station["demand_s"][&class.name]))
            .collect(),
    });
    let network = Network {
        stations: stations.collect(),
        classes,
    };
    (network, list("throughput").iter().map(number).collect())
}
