//! Names that every model has: the system that it runs on.

use crate::expression::{Kind, Scope, Symbol, SystemProperty};
use crate::model::{KnownRanks, Model};

/// The rank of nobody: a message to or from it does not take place, as MPI's null process.
pub const NOBODY: f64 = -1.0;

/// Any rank, or any tag, of a receive.
pub const ANY: f64 = -2.0;

/// Properties of the system that are the same for all processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct System {
    /// Processes.
    pub processes: u32,
    /// Nodes.
    pub nodes: u32,
    /// Processors of a node.
    pub processors: u32,
}

impl System {
    /// A system that the model can run on, for checks that hold for all of them.
    pub(crate) fn any_of(model: &Model) -> Self {
        Self {
            processes: model.ranks.as_ref().map_or(2, KnownRanks::largest),
            nodes: 2,
            processors: 1,
        }
    }

    /// Processes of a node, the last aside: ranks fill one node after the other.
    pub fn processes_per_node(&self) -> u32 {
        self.processes.div_ceil(self.nodes.max(1)).max(1)
    }

    /// Whether a name exists in every model.
    pub fn knows(name: &str) -> bool {
        let any = Self {
            processes: 1,
            nodes: 1,
            processors: 1,
        };
        any.scope(true).contains_key(name)
    }

    /// The names and their meanings; with the numbers of this system as values, or, for checks that
    /// hold for every system, as places of unknown value.
    pub(crate) fn scope(&self, every_system: bool) -> Scope {
        let number = |value: f64| {
            if every_system {
                Symbol::Slot(0, Kind::Number)
            } else {
                Symbol::Value(value, Kind::Number)
            }
        };
        let mut scope = Scope::new();
        for (name, symbol) in [
            ("processes", number(f64::from(self.processes))),
            ("nodes", number(f64::from(self.nodes))),
            ("processors", number(f64::from(self.processors))),
            ("none", Symbol::Value(NOBODY, Kind::Number)),
            ("any", Symbol::Value(ANY, Kind::Number)),
            ("process", Symbol::Property(SystemProperty::Process)),
            ("pid", Symbol::Property(SystemProperty::Process)),
            ("thread", Symbol::Property(SystemProperty::Thread)),
            ("tid", Symbol::Property(SystemProperty::Thread)),
            ("threads", Symbol::Property(SystemProperty::Threads)),
            ("node", Symbol::Property(SystemProperty::Node)),
            ("nid", Symbol::Property(SystemProperty::Node)),
        ] {
            scope.insert(name.into(), symbol);
        }
        scope
    }
}
