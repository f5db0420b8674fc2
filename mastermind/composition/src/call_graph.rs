//! The call graph of a run: methods of instances by call path, with the number of calls, their parameters and own time.
//!
//! ```
//! use mastermind_composition::{CallGraph, OwnTime};
//!
//! let mut graph = CallGraph::new();
//! let main = graph.vertex(None, "driver", "go.run");
//! let flux = graph.vertex(Some(main), "flux", "flux.compute");
//! graph.add_call(main, OwnTime { compute_s: 1.0, mpi_s: 0.0 }, []);
//! for q in [100.0, 300.0] {
//!     graph.add_call(flux, OwnTime { compute_s: 4.0, mpi_s: 0.5 }, [("q", q)]);
//! }
//! assert_eq!(graph.inclusive_s(main), 10.0);
//! assert_eq!(graph.calls(flux).parameters["q"].mean, 200.0);
//! ```

use std::collections::{BTreeMap, BTreeSet, HashMap};

use petgraph::Direction;
use petgraph::graph::{DiGraph, NodeIndex};
use serde::{Serialize, Serializer};

/// A vertex of a [`CallGraph`].
pub type VertexId = NodeIndex;

/// Own time of calls: without that of measured calls made from them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct OwnTime {
    /// Outside MPI, seconds.
    pub compute_s: f64,
    /// Inside MPI, seconds.
    pub mpi_s: f64,
}

/// A method of an instance on one call path.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Vertex {
    /// The instance.
    pub instance: String,
    /// Its method, `PORT.METHOD`.
    pub method: String,
    /// Own time of all calls, over ranks and runs.
    pub time: OwnTime,
}

/// The calls along an edge, from a caller to a called vertex.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Calls {
    /// Number of calls, over ranks and runs.
    pub count: u64,
    /// Values of each numerical parameter.
    pub parameters: BTreeMap<String, Distribution>,
}

/// Values of a parameter over the calls of an edge.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Distribution {
    /// Number of values.
    pub count: u64,
    /// The smallest.
    pub least: f64,
    /// The largest.
    pub most: f64,
    /// Their mean.
    pub mean: f64,
    /// Sum of squares about the mean.
    #[serde(skip)]
    squares: f64,
}

impl Distribution {
    fn of(value: f64) -> Self {
        Self {
            count: 1,
            least: value,
            most: value,
            mean: value,
            squares: 0.0,
        }
    }

    /// Standard deviation of the values.
    pub fn deviation(&self) -> f64 {
        (self.squares / self.count.max(1) as f64).sqrt()
    }

    /// Adds a value; the update of Welford, Technometrics 4 (1962).
    fn add(&mut self, value: f64) {
        self.count += 1;
        self.least = self.least.min(value);
        self.most = self.most.max(value);
        let off = value - self.mean;
        self.mean += off / self.count as f64;
        self.squares += off * (value - self.mean);
    }
}

/// The call graph of one or several runs: a tree of call paths for each method without a measured caller.
///
/// Vertices are identified by their path of names, so successively added ranks and runs are merged.
#[derive(Debug, Clone, Default)]
pub struct CallGraph {
    graph: DiGraph<Vertex, Calls>,
    /// Calls of vertices without a measured caller.
    roots: HashMap<VertexId, Calls>,
    known: HashMap<(Option<VertexId>, String, String), VertexId>,
}

impl CallGraph {
    /// Creates an empty graph.
    pub fn new() -> Self {
        Self::default()
    }

    /// The vertex of a method called from `caller`; created if it does not exist.
    ///
    /// # Arguments
    /// * `caller` - None if no measured call encloses it
    /// * `method` - `PORT.METHOD`
    pub fn vertex(&mut self, caller: Option<VertexId>, instance: &str, method: &str) -> VertexId {
        let key = (caller, instance.to_owned(), method.to_owned());
        if let Some(&known) = self.known.get(&key) {
            return known;
        }
        let vertex = self.graph.add_node(Vertex {
            instance: instance.into(),
            method: method.into(),
            time: OwnTime::default(),
        });
        match caller {
            Some(caller) => {
                self.graph.add_edge(caller, vertex, Calls::default());
            }
            None => {
                self.roots.insert(vertex, Calls::default());
            }
        }
        self.known.insert(key, vertex);
        vertex
    }

    /// Adds a call of a vertex.
    ///
    /// # Arguments
    /// * `parameters` - its numerical parameters
    pub fn add_call<'p>(
        &mut self,
        vertex: VertexId,
        time: OwnTime,
        parameters: impl IntoIterator<Item = (&'p str, f64)>,
    ) {
        let own = &mut self.graph[vertex].time;
        own.compute_s += time.compute_s;
        own.mpi_s += time.mpi_s;
        let edge = self.graph.first_edge(vertex, Direction::Incoming);
        let calls = match edge {
            Some(edge) => &mut self.graph[edge],
            None => self.roots.entry(vertex).or_default(),
        };
        calls.count += 1;
        for (name, value) in parameters {
            match calls.parameters.get_mut(name) {
                Some(distribution) => distribution.add(value),
                None => {
                    calls
                        .parameters
                        .insert(name.into(), Distribution::of(value));
                }
            }
        }
    }

    /// The vertices, callers before those they call.
    pub fn vertices(&self) -> impl Iterator<Item = (VertexId, &Vertex)> {
        self.graph.node_indices().map(|id| (id, &self.graph[id]))
    }

    /// The caller of a vertex.
    pub fn caller(&self, vertex: VertexId) -> Option<VertexId> {
        self.graph
            .neighbors_directed(vertex, Direction::Incoming)
            .next()
    }

    /// The vertices that a vertex calls.
    pub fn called(&self, vertex: VertexId) -> impl Iterator<Item = VertexId> {
        self.graph.neighbors(vertex)
    }

    /// The calls of a vertex: those along the edge that leads to it.
    ///
    /// # Panics
    /// If the vertex belongs to another graph.
    pub fn calls(&self, vertex: VertexId) -> &Calls {
        match self.graph.first_edge(vertex, Direction::Incoming) {
            Some(edge) => &self.graph[edge],
            None => &self.roots[&vertex],
        }
    }

    /// Time of all calls of a vertex, including measured calls made from them, seconds.
    ///
    /// # Panics
    /// If the vertex belongs to another graph.
    pub fn inclusive_s(&self, vertex: VertexId) -> f64 {
        let mut sum = 0.0;
        let mut open = vec![vertex];
        while let Some(vertex) = open.pop() {
            let OwnTime { compute_s, mpi_s } = self.graph[vertex].time;
            sum += compute_s + mpi_s;
            open.extend(self.called(vertex));
        }
        sum
    }

    /// The vertices that repeat a method of the same instance on their path.
    pub fn recursive(&self) -> Vec<VertexId> {
        let same = |a: &Vertex, b: &Vertex| (&a.instance, &a.method) == (&b.instance, &b.method);
        let is_recursive = |&(id, vertex): &(VertexId, &Vertex)| {
            let mut callers = std::iter::successors(self.caller(id), |&id| self.caller(id));
            callers.any(|caller| same(&self.graph[caller], vertex))
        };
        self.vertices()
            .filter(is_recursive)
            .map(|(id, _)| id)
            .collect()
    }

    /// The vertices that are negligible compared with their caller or siblings, with all vertices below them. Two rules
    /// apply: if the callees of a vertex take less than a share `alpha` of its time together, all of them are
    /// negligible; otherwise each callee that takes less than `beta` of their mean is.
    ///
    /// # Arguments
    /// * `alpha`, `beta` - shares, about 0.1
    ///
    /// # Source
    /// The pruning of the TAU developers' optimiser of component assemblies, as the specification of the case study recalls it.
    pub fn minor(&self, alpha: f64, beta: f64) -> Vec<VertexId> {
        let inclusive: Vec<f64> = self
            .graph
            .node_indices()
            .map(|v| self.inclusive_s(v))
            .collect();
        let mut minor = Vec::new();
        let mut open: Vec<VertexId> = self.graph.externals(Direction::Incoming).collect();
        while let Some(vertex) = open.pop() {
            let called: Vec<VertexId> = self.called(vertex).collect();
            let together: f64 = called.iter().map(|v| inclusive[v.index()]).sum();
            let least = match together < alpha * inclusive[vertex.index()] {
                true => f64::INFINITY,
                false => beta * together / called.len() as f64,
            };
            for called in called {
                if inclusive[called.index()] < least {
                    minor.extend(self.below(called));
                } else {
                    open.push(called);
                }
            }
        }
        minor.sort();
        minor
    }

    /// The instances whose vertices are all minor: see [`Self::minor`].
    pub fn minor_instances(&self, alpha: f64, beta: f64) -> BTreeSet<String> {
        let minor: BTreeSet<VertexId> = self.minor(alpha, beta).into_iter().collect();
        let (little, much): (Vec<_>, Vec<_>) =
            self.vertices().partition(|(id, _)| minor.contains(id));
        let much: BTreeSet<_> = much.iter().map(|(_, vertex)| &vertex.instance).collect();
        let little = little.iter().map(|(_, vertex)| &vertex.instance);
        little.filter(|i| !much.contains(i)).cloned().collect()
    }

    /// A vertex and all vertices below it.
    fn below(&self, vertex: VertexId) -> Vec<VertexId> {
        let mut found = vec![vertex];
        let mut at = 0;
        while at < found.len() {
            found.extend(self.called(found[at]));
            at += 1;
        }
        found
    }
}

/// Serialises numbered vertices, each with the number of its caller: `{"instance", "method", "time", "caller", "calls",
/// "inclusive_s"}`.
impl Serialize for CallGraph {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Row<'a> {
            #[serde(flatten)]
            vertex: &'a Vertex,
            caller: Option<usize>,
            calls: &'a Calls,
            inclusive_s: f64,
        }
        serializer.collect_seq(self.vertices().map(|(id, vertex)| Row {
            vertex,
            caller: self.caller(id).map(NodeIndex::index),
            calls: self.calls(id),
            inclusive_s: self.inclusive_s(id),
        }))
    }
}
