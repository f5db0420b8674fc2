//! Data of a run for the wiring: calls along the connections, time at the instances, measured and
//! predicted.
//!
//! Two pictures need them. The wiring shows the connections of an assembly and puts the recorded
//! calls along them; its dual, `dual`, shows only calls that were made, whether or not a port was
//! connected. Both take a call's time as own time: the wall time of the call without the measured
//! calls made from it, split into time inside and outside MPI, so that nothing is counted twice.
//!
//! ```text
//! recorded call path                       edge             instance
//! driver.go > flux.compute > states.get    flux -> states   states: compute 2.1 ms + MPI 0.3 ms
//! ```
//!
//! A call counts for the connection from the enclosing measured instance. Instances between the two
//! that were not measured do not appear in the path; then the only connection that leads to the
//! port gets the call, if there is only one.

use std::collections::BTreeMap;

use anyhow::bail;
use mastermind_component::workload;
use mastermind_composition::{Alternatives, choose};
use mastermind_models::{Metric, ModelSet};
use mastermind_records::Run;
use serde::Serialize;

use super::{Edge, Node, Wiring};

/// Own time of an instance, without the measured calls made from it, for each rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Times {
    /// Outside MPI, seconds.
    pub compute_s: f64,
    /// Inside MPI, seconds.
    pub mpi_s: f64,
}

/// Own time of an instance by its models.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Predicted {
    /// The time; the part inside MPI is taken from the measured time.
    #[serde(flatten)]
    pub times: Times,
    /// Whether there is a model of each method called; else the time is the measured one.
    pub modelled: bool,
}

impl Times {
    fn total_s(&self) -> f64 {
        self.compute_s + self.mpi_s
    }
}

/// Records of a run, for each instance and each pair of caller and callee.
struct Recorded {
    /// Own times, means over the ranks.
    times: BTreeMap<String, Times>,
    /// Class of each instance, as it was in the end.
    classes: BTreeMap<String, String>,
    /// Calls over all ranks.
    calls: BTreeMap<Ends, u64>,
}

impl Recorded {
    fn of(run: &Run) -> Self {
        let mean = 1.0 / run.ranks().len().max(1) as f64;
        let mut recorded = Recorded {
            times: BTreeMap::new(),
            classes: BTreeMap::new(),
            calls: BTreeMap::new(),
        };
        for log in run.logs() {
            let definitions = log.definitions();
            for path in log.path_times(false) {
                // Time in MPI belongs to the caller, also where its calls were recorded one by one.
                let method = definitions.method_of(path.call_path);
                let Some(method) = method.filter(|method| !method.is_mpi() && path.calls > 0)
                else {
                    continue;
                };
                let (instance, own) = (&method.instance, path.own);
                let classes = &mut recorded.classes;
                classes.insert(instance.clone(), method.class.clone());
                let time = recorded.times.entry(instance.clone()).or_default();
                time.compute_s += own.wall_ns.saturating_sub(own.mpi_ns) as f64 * 1e-9 * mean;
                time.mpi_s += own.mpi_ns as f64 * 1e-9 * mean;
                let caller = definitions.call_path(path.call_path);
                let caller = caller.and_then(|path| definitions.method_of(path.parent));
                let caller = caller.map_or_else(String::new, |caller| caller.instance.clone());
                let ends = (caller, instance.clone(), method.port.clone());
                *recorded.calls.entry(ends).or_default() += path.calls;
            }
        }
        recorded
    }
}

/// The call graph of a run, with each instance's time outside and inside MPI: the dual of the wiring. Its connections
/// are the paths of calls, whether or not ports were connected.
///
/// # Source
/// Ray et al., IPDPS 2004, Figure 7: vertices weighted by compute and communication time, edges by invocations.
pub fn dual(run: &Run) -> Wiring {
    let n_ranks = run.ranks().len();
    let Recorded {
        times,
        classes,
        calls,
    } = Recorded::of(run);
    let nodes = times.iter().map(|(name, times)| Node {
        name: name.clone(),
        class: classes.get(name).cloned().unwrap_or_default(),
        uses: Vec::new(),
        provides: Vec::new(),
        column: 0,
        row: 0,
        measured: Some(*times),
        predicted: None,
    });
    let assembly = run.logs().first().map(|log| &log.definitions().run);
    let mut wiring = Wiring {
        assembly: assembly.map_or_else(String::new, |run| run.assembly.clone()),
        at: None,
        instances: nodes.collect(),
        connections: Vec::new(),
        go: None,
        ranks: Some(n_ranks),
        call_graph: None,
    };
    let names: Vec<String> = times.into_keys().collect();
    for ((caller, callee, port), n) in calls {
        let ends = (names.binary_search(&caller), names.binary_search(&callee));
        // Calls from outside of all measured instances, such as the first one, have no caller.
        let (Ok(user), Ok(provider)) = ends else {
            continue;
        };
        let mut see = |at: usize, ports: fn(&mut Node) -> &mut Vec<String>| {
            let ports = ports(&mut wiring.instances[at]);
            if !ports.contains(&port) {
                ports.push(port.clone());
            }
        };
        see(user, |node| &mut node.uses);
        see(provider, |node| &mut node.provides);
        wiring.connections.push(Edge {
            user: caller,
            uses: port.clone(),
            provider: callee,
            provides: port,
            monitored: false,
            calls: Some(n as f64 / n_ranks.max(1) as f64),
            ends: (user, provider),
        });
    }
    wiring
}

/// Instance that calls, instance that is called and its port.
type Ends = (String, String, String);

/// Calls and times of a run, means over its ranks.
///
/// A call counts to the connection between the instance that the enclosing measured call was made to and the port called, or,
/// where calls between were not measured, to the only connection that leads to the port.
///
/// # Returns
/// Instances that were called and are not in the wiring.
///
/// # Errors
/// No recorded call was of an instance of the assembly.
pub fn add_measured(wiring: &mut Wiring, run: &Run) -> anyhow::Result<Vec<String>> {
    let n_ranks = run.ranks().len();
    let Recorded { times, calls, .. } = Recorded::of(run);
    for node in &mut wiring.instances {
        node.measured = times.get(&node.name).copied();
    }
    if wiring.instances.iter().all(|node| node.measured.is_none()) {
        let known: Vec<_> = times.into_keys().collect();
        bail!(
            "cannot draw records: calls of {}, expected some of an instance of the assembly",
            known.join(", ")
        );
    }
    let mut along = vec![0; wiring.connections.len()];
    for (ends, n) in calls {
        if let Some(at) = connection(wiring, &ends) {
            along[at] += n;
        }
    }
    for (edge, n) in wiring.connections.iter_mut().zip(along) {
        edge.calls = (n > 0).then(|| n as f64 / n_ranks as f64);
    }
    wiring.ranks = Some(n_ranks);
    let is_drawn = |name: &String| wiring.instances.iter().any(|node| node.name == *name);
    Ok(times.into_keys().filter(|name| !is_drawn(name)).collect())
}

/// The connection that calls went along.
fn connection(wiring: &Wiring, (caller, callee, port): &Ends) -> Option<usize> {
    let edges = wiring.connections.iter().enumerate();
    let to_port = edges.filter(|(_, edge)| edge.provider == *callee && edge.provides == *port);
    let to_port: Vec<_> = to_port.collect();
    let of_caller = to_port.iter().find(|(_, edge)| edge.user == *caller);
    match (of_caller, &to_port[..]) {
        (Some((at, _)), _) | (None, [(at, _)]) => Some(*at),
        _ => None,
    }
}

/// Adds the predictions of the models for the recorded calls if each goes to the class that its instance has in the
/// assembly; means over the ranks.
///
/// # Errors
/// A class that was not recorded has no model; a model has other parameters than the calls.
pub fn add_predicted(wiring: &mut Wiring, run: &Run, models: &ModelSet) -> anyhow::Result<()> {
    let mean = 1.0 / run.ranks().len().max(1) as f64;
    let classes = wiring.instances.iter();
    let classes = classes.map(|node| (node.name.clone(), node.class.clone()));
    let classes: BTreeMap<_, _> = classes.collect();
    let mut calls = workload(run, Metric::Wall);
    calls
        .calls
        .retain(|call| classes.contains_key(&call.instance));
    let choice = choose(&calls, &Alternatives::new(), &classes, models)?;
    let rows = choice.instances.iter();
    let rows: BTreeMap<_, _> = rows.map(|row| (&row.instance[..], row)).collect();
    for node in &mut wiring.instances {
        let Some(row) = rows.get(&node.name[..]) else {
            continue;
        };
        let measured = node.measured.unwrap_or_default();
        // Models predict the whole call; the share in MPI is assumed to be the measured one.
        let in_mpi = match measured.total_s() {
            0.0 => 0.0,
            total_s => measured.mpi_s / total_s,
        };
        let total_s = row.predicted_s * mean;
        node.predicted = Some(Predicted {
            times: Times {
                compute_s: total_s * (1.0 - in_mpi),
                mpi_s: total_s * in_mpi,
            },
            modelled: !row.measured_only,
        });
    }
    Ok(())
}

/// Seconds with three digits and a unit that suits them.
fn shown(seconds: f64) -> String {
    let (value, unit) = match seconds {
        0.0 => (0.0, "s"),
        s if s < 0.999_5e-6 => (s * 1e9, "ns"),
        s if s < 0.999_5e-3 => (s * 1e6, "µs"),
        s if s < 0.999_5 => (s * 1e3, "ms"),
        s => (s, "s"),
    };
    let digits = match value {
        v if v == 0.0 || v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.digits$} {unit}")
}

/// `12.3 ms + 200 µs MPI`.
fn both(times: &Times) -> String {
    match times.mpi_s {
        0.0 => shown(times.compute_s),
        mpi_s => format!("{} + {} MPI", shown(times.compute_s), shown(mpi_s)),
    }
}

impl Node {
    /// The lines in the instance's box below its class.
    pub fn lines(&self) -> Vec<String> {
        let measured = self.measured.as_ref().map(both);
        let predicted = self.predicted.as_ref().map(|predicted| {
            let word = if predicted.modelled {
                "model"
            } else {
                "no model"
            };
            format!("{word}: {}", both(&predicted.times))
        });
        measured.into_iter().chain(predicted).collect()
    }

    /// The time that determines the instance's weight: the predicted one where there is one.
    pub fn weight_s(&self) -> f64 {
        let predicted = self.predicted.map(|predicted| predicted.times);
        predicted
            .or(self.measured)
            .map_or(0.0, |times| times.total_s())
    }
}

impl Edge {
    /// The calls along it.
    pub fn label(&self) -> Option<String> {
        self.calls.map(|calls| match calls.fract() {
            0.0 => format!("{calls}"),
            _ => format!("{calls:.1}"),
        })
    }
}

impl Wiring {
    /// The heading of the picture.
    pub fn title(&self) -> String {
        let name = match &self.at {
            None => self.assembly.clone(),
            Some(place) => format!("{} {place}", self.assembly),
        };
        match self.ranks {
            None => name,
            Some(1) => format!("{name}: calls, and own time of each component"),
            Some(n) => {
                format!("{name}: calls, and own time of each component; means over {n} ranks")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_digits() {
        let texts = [0.0, 3.14e-7, 2e-4, 0.0123, 0.9996, 1.5, 250.0].map(shown);
        let expected = [
            "0 s", "314 ns", "200 µs", "12.3 ms", "1.00 s", "1.50 s", "250 s",
        ];
        assert_eq!(texts, expected);
    }

    #[test]
    fn calls_find_their_connection() {
        let wiring = crate::commands::graph::tests::wiring();
        let to = |caller: &str, callee: &str, port: &str| {
            connection(&wiring, &(caller.into(), callee.into(), port.into()))
        };
        let name = |at: Option<usize>| at.map(|at| wiring.connections[at].uses.as_str());
        assert_eq!(name(to("left", "right", "side")), Some("other"));
        assert_eq!(name(to("driver", "right", "side")), Some("right"));
        // Two connections lead there, and the caller has none.
        assert_eq!(name(to("main", "right", "side")), None);
        assert_eq!(name(to("main", "left", "side")), Some("left"));
    }
}
