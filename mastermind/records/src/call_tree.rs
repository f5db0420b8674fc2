//! The calls of a run as a tree: each method under the method that called it, with inclusive and exclusive times.
//!
//! A node is a call path written with names, `main.go → flux.compute`, with the sums over all ranks and threads. Its
//! exclusive time is the one that [`Profile`](crate::Profile) shows: without the measured calls made from there, and
//! without MPI. The time in MPI is in nodes below it: one node per MPI function if its calls were recorded, otherwise
//! one node [`MPI`] for all functions. The exclusive times of all nodes thus add up to the inclusive times of the
//! roots.
//!
//! ```text
//! main.go            10 ms inclusive, 2 ms exclusive
//!   flux.compute      7 ms            7 ms
//!   MPI               1 ms            1 ms
//! ```

use std::collections::HashMap;

use serde::Serialize;

use crate::definition::{MPI_CLASS, PROGRAM_CLASS};
use crate::log::Log;
use crate::mpi::ended_by;
use crate::path_totals::PathTimes;
use crate::run::Run;

/// Name of the node with the MPI time of calls that have no records.
pub const MPI: &str = "MPI";

/// A method called from one call path. Sums over ranks and threads, times in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CallNode {
    /// Index of the caller in the list; `None` for an outermost call.
    pub parent: Option<usize>,
    /// Number of callers above it.
    pub depth: usize,
    /// `instance.method`, or an MPI function.
    pub name: String,
    /// Class of the instance; all of its classes, separated by commas, if it was replaced while the program ran.
    pub class: String,
    /// Calls; 0 for a call that has not ended, and for [`MPI`].
    pub calls: u64,
    /// Time including all calls made from there.
    pub inclusive_ns: u64,
    /// Time without measured calls and without MPI; the time in MPI for an MPI node.
    pub exclusive_ns: u64,
}

/// The calls of a run: callers before callees, and the longest first among the callees of one caller.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CallTree {
    /// Number of ranks in the sums.
    pub ranks: usize,
    /// The nodes.
    pub nodes: Vec<CallNode>,
}

impl CallTree {
    /// Sums the calls of all ranks by call path, in one reading of the records; the time in MPI functions is added as
    /// children of their callers. Empty for a run without records.
    pub fn new(run: &Run) -> Self {
        let mut growing = Growing::default();
        for log in run.logs() {
            growing.add_log(log);
        }
        growing.add_mpi();
        growing.add_up();
        Self {
            ranks: run.ranks().len(),
            nodes: growing.ordered(),
        }
    }

    /// Names from the outermost call to a node.
    pub fn path(&self, node: usize) -> Vec<&str> {
        let above = |at: &usize| self.nodes.get(*at).and_then(|node| node.parent);
        let places = std::iter::successors(Some(node), above);
        let names = places.filter_map(|at| self.nodes.get(at));
        let mut names: Vec<_> = names.map(|node| node.name.as_str()).collect();
        names.reverse();
        names
    }
}

/// The tree while logs are added: nodes in the order in which they appeared.
#[derive(Default)]
struct Growing {
    nodes: Vec<CallNode>,
    places: HashMap<(Option<usize>, String), usize>,
    /// MPI time of each node that belongs to no node below it, nanoseconds.
    own_mpi_ns: Vec<u64>,
}

impl Growing {
    fn node(&mut self, parent: Option<usize>, name: String, class: &str) -> usize {
        let next = self.nodes.len();
        let place = *self.places.entry((parent, name.clone())).or_insert(next);
        if place == next {
            self.nodes.push(CallNode {
                parent,
                depth: parent.map_or(0, |at| self.nodes[at].depth + 1),
                name,
                class: class.to_owned(),
                calls: 0,
                inclusive_ns: 0,
                exclusive_ns: 0,
            });
            self.own_mpi_ns.push(0);
        }
        let classes = &mut self.nodes[place].class;
        if !classes.split(", ").any(|known| known == class) {
            *classes = format!("{classes}, {class}");
        }
        place
    }

    fn add_log(&mut self, log: &Log) {
        let definitions = log.definitions();
        // Number of a call path → its node.
        let mut nodes = HashMap::<u32, usize>::new();
        let mut in_mpi = Vec::new();
        let parent = |nodes: &HashMap<u32, usize>, call_path: u32| {
            let above = |path: &u32| definitions.call_path(*path).map(|path| path.parent);
            let callers = std::iter::successors(above(&call_path), above);
            callers
                .take_while(|path| *path != 0)
                .find_map(|path| nodes.get(&path).copied())
        };
        // Callers have lower numbers than the called.
        for path in log.path_times(false).into_iter().rev() {
            let Some(method) = definitions.method_of(path.call_path) else {
                continue;
            };
            if method.is_mpi() {
                in_mpi.push(path);
                continue;
            }
            let node = self.node(parent(&nodes, path.call_path), method.name(), &method.class);
            nodes.insert(path.call_path, node);
            self.nodes[node].calls += path.calls;
            self.nodes[node].exclusive_ns += path.own.wall_ns.saturating_sub(path.own.mpi_ns);
            self.own_mpi_ns[node] += path.own.mpi_ns.min(path.own.wall_ns);
        }
        for path in in_mpi {
            self.add_mpi_call(log, &path, parent(&nodes, path.call_path));
        }
        self.add_open_program(log, &nodes);
    }

    /// Adds a recorded MPI function; its time is part of its caller's time in MPI.
    fn add_mpi_call(&mut self, log: &Log, path: &PathTimes, parent: Option<usize>) {
        let Some(method) = log.definitions().method_of(path.call_path) else {
            return;
        };
        let node = self.node(parent, format!("{}()", method.method), &method.class);
        // If the caller has not ended, its time in MPI is not known.
        let of_caller = parent.map(|parent| &mut self.own_mpi_ns[parent]);
        if let Some(left) = of_caller {
            *left = left.saturating_sub(path.wall_ns);
        }
        self.nodes[node].calls += path.calls;
        self.nodes[node].exclusive_ns += path.wall_ns;
    }

    /// Adds a wrapped program that was killed or still runs: up to its last known moment, without the calls made from
    /// it.
    fn add_open_program(&mut self, log: &Log, nodes: &HashMap<u32, usize>) {
        let open = log.open_calls().iter().filter(|_| !log.is_finished());
        for open in open {
            let method = log.definitions().method_of(open.call_path);
            let Some(method) = method.filter(|method| method.class == PROGRAM_CLASS) else {
                continue;
            };
            let ns = ended_by(log, open.start_ns);
            let in_mpi = log.mpi_totals().iter().map(|routine| routine.ticks).sum();
            let mpi_ns = log.time().length_ns(in_mpi).min(ns);
            let called_ns: u64 = log
                .path_times(false)
                .iter()
                .filter(|path| {
                    let definition = log.definitions().call_path(path.call_path);
                    let method = log.definitions().method_of(path.call_path);
                    definition.is_some_and(|path| path.parent == open.call_path)
                        && method.is_some_and(|method| !method.is_mpi())
                })
                .map(|path| path.wall_ns.saturating_sub(path.mpi_ns.unwrap_or(0)))
                .sum();
            let node = match nodes.get(&open.call_path) {
                Some(node) => *node,
                None => self.node(None, method.name(), &method.class),
            };
            self.nodes[node].calls += 1;
            self.nodes[node].exclusive_ns += (ns - mpi_ns).saturating_sub(called_ns);
            self.own_mpi_ns[node] += mpi_ns;
        }
    }

    /// Adds a node for the MPI time that belongs to no recorded call.
    fn add_mpi(&mut self) {
        for place in 0..self.nodes.len() {
            let ns = self.own_mpi_ns[place];
            if ns > 0 {
                let node = self.node(Some(place), MPI.into(), MPI_CLASS);
                self.nodes[node].exclusive_ns += ns;
            }
        }
    }

    /// Computes inclusive times from the innermost nodes outwards: nodes below a node have higher numbers.
    fn add_up(&mut self) {
        for place in (0..self.nodes.len()).rev() {
            self.nodes[place].inclusive_ns += self.nodes[place].exclusive_ns;
            let ns = self.nodes[place].inclusive_ns;
            if let Some(parent) = self.nodes[place].parent {
                self.nodes[parent].inclusive_ns += ns;
            }
        }
    }

    /// Orders callers before callees, the longest first.
    fn ordered(self) -> Vec<CallNode> {
        let mut below = vec![Vec::new(); self.nodes.len()];
        let mut waiting = Vec::new();
        for (place, node) in self.nodes.iter().enumerate() {
            match node.parent {
                Some(parent) => below[parent].push(place),
                None => waiting.push((place, None)),
            }
        }
        // The last one on the stack is taken first.
        let shortest_first = |place: &usize| {
            (
                self.nodes[*place].inclusive_ns,
                std::cmp::Reverse(place.to_owned()),
            )
        };
        waiting.sort_by_key(|(place, _)| shortest_first(place));
        let mut ordered = Vec::new();
        while let Some((place, parent)) = waiting.pop() {
            let own = ordered.len();
            ordered.push(CallNode {
                parent,
                ..self.nodes[place].clone()
            });
            let mut called = std::mem::take(&mut below[place]);
            called.sort_by_key(shortest_first);
            waiting.extend(called.into_iter().map(|place| (place, Some(own))));
        }
        ordered
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inclusive_times_add_up_and_the_longest_comes_first() {
        let mut growing = Growing::default();
        let main = growing.node(None, "main.go".into(), "Main");
        let short = growing.node(Some(main), "a.f".into(), "A");
        let long = growing.node(Some(main), "b.f".into(), "B");
        assert_eq!(growing.node(Some(main), "a.f".into(), "A"), short);
        // Each level of a recursive method is another path.
        let again = growing.node(Some(short), "a.f".into(), "A");
        for (node, ns) in [(main, 1), (short, 2), (long, 9), (again, 3)] {
            growing.nodes[node].exclusive_ns = ns;
        }
        growing.own_mpi_ns[short] = 3;
        growing.add_mpi();
        growing.add_up();
        // Another class has replaced it meanwhile.
        assert_eq!(growing.node(Some(main), "b.f".into(), "B2"), long);
        assert_eq!(growing.nodes[long].class, "B, B2");
        let tree = CallTree {
            ranks: 1,
            nodes: growing.ordered(),
        };
        let rows: Vec<_> = tree
            .nodes
            .iter()
            .map(|node| (node.depth, node.name.as_str(), node.inclusive_ns))
            .collect();
        let expected = [
            (0, "main.go", 18),
            (1, "b.f", 9),
            (1, "a.f", 8),
            (2, "a.f", 3),
            (2, MPI, 3),
        ];
        assert_eq!(rows, expected);
        assert_eq!(tree.path(4), ["main.go", "a.f", MPI]);
        let exclusive: u64 = tree.nodes.iter().map(|node| node.exclusive_ns).sum();
        assert_eq!(exclusive, tree.nodes[0].inclusive_ns);
    }
}
