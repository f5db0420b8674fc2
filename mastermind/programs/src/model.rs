//! The human form: Performance Prophet's elements in a hierarchy of activities.
//!
//! # Source
//! S. Pllana et al., "Hybrid Performance Modeling and Prediction of Large-Scale Computing Systems",
//! 2008, section III; "Towards an Environment for Performance Modeling", sections 2 and 4.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::expression::{Assignment, CostFunction, Expression};

/// A program model.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// Its name.
    pub name: String,
    /// The activity that each process runs.
    pub main: String,
    /// Numbers of ranks that its costs and partners are known for, as for recorded runs; `None` if it holds for any
    /// number.
    pub ranks: Option<KnownRanks>,
    /// Variables that all activities and cost functions see; each process has its own.
    pub globals: Vec<Variable>,
    /// Cost functions by name.
    pub functions: BTreeMap<String, CostFunction>,
    /// Activities by name.
    pub activities: BTreeMap<String, Activity>,
}

/// Numbers of ranks that a model of recorded runs is known for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownRanks {
    /// Numbers of ranks of the runs, ascending; one or more.
    pub recorded: Vec<u32>,
    /// The largest number that its patterns and costs apply to. If `None`, that of the largest run, and only the
    /// recorded ones.
    pub most: Option<u32>,
    /// Whether these are powers of two only.
    pub powers_of_two: bool,
}

impl KnownRanks {
    /// Known for the number of ranks of one run.
    pub fn of_run(ranks: u32) -> Self {
        Self {
            recorded: vec![ranks],
            most: None,
            powers_of_two: false,
        }
    }

    /// Whether the model is known for this number of ranks.
    pub fn has(&self, ranks: u32) -> bool {
        let least = self.recorded.first().copied().unwrap_or(1);
        let is_within = self
            .most
            .is_some_and(|most| (least..=most).contains(&ranks));
        self.recorded.contains(&ranks)
            || is_within && (!self.powers_of_two || ranks.is_power_of_two())
    }

    /// The largest recorded number.
    pub fn largest(&self) -> u32 {
        self.recorded.last().copied().unwrap_or(1)
    }
}

impl fmt::Display for KnownRanks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let least = self.recorded.first().copied().unwrap_or(1);
        let names: Vec<_> = self.recorded.iter().map(u32::to_string).collect();
        match (self.most, names.split_last()) {
            (Some(most), _) if self.powers_of_two => {
                write!(f, "a power of two from {least} to {most}")
            }
            (Some(most), _) => write!(f, "{least} to {most}"),
            (None, Some((last, others))) if !others.is_empty() => {
                write!(f, "{} or {last}", others.join(", "))
            }
            (None, _) => write!(f, "{least}"),
        }
    }
}

impl Model {
    /// Makes another activity the main one, and removes those that it does not lead to. `None` if no activity has that
    /// name.
    pub fn begin_with(&mut self, main: &str) -> Option<()> {
        self.activities.get(main)?;
        main.clone_into(&mut self.main);
        let mut reached = BTreeSet::new();
        let mut left = vec![self.main.clone()];
        while let Some(name) = left.pop() {
            let activity = self.activities.get(&name);
            if reached.insert(name) {
                let flow = activity.map_or(&[][..], |activity| &activity.flow);
                visit(flow, &mut |element| {
                    if let ElementKind::Activity { activity } = &element.kind {
                        left.push(activity.clone());
                    }
                });
            }
        }
        self.activities.retain(|name, _| reached.contains(name));
        Some(())
    }

    /// The actions without a cost, which take no time, and without an assignment: activity and action.
    pub fn without_cost(&self) -> Vec<(&str, &str)> {
        let mut found = Vec::new();
        for (name, activity) in &self.activities {
            visit(&activity.flow, &mut |element| {
                if let ElementKind::Action { cost: None, code } = &element.kind
                    && code.is_empty()
                {
                    found.push((name.as_str(), element.name.as_str()));
                }
            });
        }
        found
    }
}

/// Calls a function for each element of a flow, and of the flows in it.
pub fn visit<'a>(flow: &'a [Element], call: &mut dyn FnMut(&'a Element)) {
    for element in flow {
        call(element);
        match &element.kind {
            ElementKind::Decision { branches } => {
                branches.iter().for_each(|branch| visit(&branch.flow, call));
            }
            ElementKind::Loop { flow, .. }
            | ElementKind::While { flow, .. }
            | ElementKind::Parallel { flow, .. }
            | ElementKind::Critical { flow, .. } => visit(flow, call),
            _ => {}
        }
    }
}

/// A variable and its first value.
#[derive(Debug, Clone, PartialEq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its initial value.
    pub value: Expression,
}

/// A named flow of elements.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Activity {
    /// Variables that it alone sees; they begin anew each time it is entered.
    pub locals: Vec<Variable>,
    /// Its elements, in order.
    pub flow: Vec<Element>,
}

/// A named step of an activity.
#[derive(Debug, Clone, PartialEq)]
pub struct Element {
    /// Its name, under which its time is counted.
    pub name: String,
    /// Its type.
    pub kind: ElementKind,
}

/// One branch of a decision.
#[derive(Debug, Clone, PartialEq)]
pub struct Branch {
    /// Its condition; `None` if it is taken when no other guard holds.
    pub guard: Option<Expression>,
    /// Its elements.
    pub flow: Vec<Element>,
}

/// Type of an element.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ElementKind {
    /// `action+`: a code block that takes its cost, then assigns.
    Action {
        /// Seconds, ≥ 0; none is no time.
        cost: Option<Expression>,
        /// Assignments, before the cost is evaluated (the paper's Figure 8, lines 72 to 76).
        code: Vec<Assignment>,
    },
    /// `activity+`: another activity of the model.
    Activity {
        /// Its name.
        activity: String,
    },
    /// The first branch whose guard holds.
    Decision {
        /// The branches.
        branches: Vec<Branch>,
    },
    /// A number of rounds.
    Loop {
        /// Rounds, rounded; evaluated once.
        count: Expression,
        /// A variable that counts them from 0, seen in the body.
        variable: Option<String>,
        /// The body.
        flow: Vec<Element>,
    },
    /// Rounds as long as a condition holds.
    While {
        /// The condition, before each round.
        condition: Expression,
        /// The body.
        flow: Vec<Element>,
    },
    /// `ParallelDo`: every thread runs the body; all wait for the last.
    Parallel {
        /// Threads, ≥ 1.
        threads: Expression,
        /// The body. Its assignments are each thread's own.
        flow: Vec<Element>,
    },
    /// A part of a parallel body that one thread at a time may be in.
    Critical {
        /// Name of the lock.
        lock: String,
        /// The body.
        flow: Vec<Element>,
    },
    /// A message to another process.
    Send {
        /// Its rank; `none` for nobody.
        to: Expression,
        /// Bytes, ≥ 1.
        bytes: Expression,
        /// Tag, ≥ 0.
        tag: Expression,
        /// Whether the process waits until a large message is taken.
        blocking: bool,
    },
    /// A message from another process.
    Receive {
        /// Its rank; `none` for nobody, `any` for any sender.
        from: Expression,
        /// Tag, ≥ 0, or `any`.
        tag: Expression,
        /// Whether the process waits here rather than at the next wait.
        blocking: bool,
        /// A variable that gets the rank of the sender; only where the process waits here.
        sender: Option<String>,
    },
    /// Waits for all nonblocking sends and receives.
    Wait,
    /// Waits for the next of the nonblocking receives to be complete, and continues at once if none is left.
    WaitAny {
        /// A variable that gets the rank of its sender, or `none` if none is left.
        sender: Option<String>,
    },
    /// A collective operation.
    Collective(Collective),
}

/// A collective operation of all processes, or of a group.
#[derive(Debug, Clone, PartialEq)]
pub struct Collective {
    /// Which.
    pub kind: CollectiveKind,
    /// Its root, if it has one, in the numbers of the group.
    pub root: Expression,
    /// Bytes, if it has some: of the whole (broadcast, reduce, allreduce, scan), else of one process's part.
    pub bytes: Expression,
    /// Participants: all if `None`.
    pub group: Option<Group>,
}

/// The processes `first`, `first + stride`, …, evaluated by each of them: a communicator that a rank expression
/// defines. A process with a size of 0 takes no part.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// Rank of the first.
    pub first: Expression,
    /// How many they are.
    pub size: Expression,
    /// From one to the next.
    pub stride: Expression,
}

/// Which collective operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CollectiveKind {
    /// One process's bytes to all.
    Broadcast,
    /// A reduction to one process.
    Reduce,
    /// A reduction to all.
    AllReduce,
    /// Each process's bytes to each.
    AllToAll,
    /// No process leaves before all have come.
    Barrier,
    /// Each process's part to one.
    Gather,
    /// One process's parts, one to each.
    Scatter,
    /// Each process's part to all.
    AllGather,
    /// A reduction of which each process keeps a part.
    ReduceScatter,
    /// A reduction over each process and those before it.
    Scan,
}

impl CollectiveKind {
    /// Each with its name.
    pub const ALL: [(&'static str, Self); 10] = [
        ("broadcast", Self::Broadcast),
        ("reduce", Self::Reduce),
        ("allreduce", Self::AllReduce),
        ("alltoall", Self::AllToAll),
        ("barrier", Self::Barrier),
        ("gather", Self::Gather),
        ("scatter", Self::Scatter),
        ("allgather", Self::AllGather),
        ("reducescatter", Self::ReduceScatter),
        ("scan", Self::Scan),
    ];

    /// The one with that name.
    pub fn named(name: &str) -> Option<Self> {
        let found = Self::ALL.iter().find(|(known, _)| *known == name);
        found.map(|(_, kind)| *kind)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        let mut all = Self::ALL.into_iter();
        all.find(|(_, kind)| *kind == self)
            .map_or("", |(name, _)| name)
    }

    /// Whether one process is its root.
    pub fn has_root(self) -> bool {
        matches!(
            self,
            Self::Broadcast | Self::Reduce | Self::Gather | Self::Scatter
        )
    }

    /// Whether it moves bytes.
    pub fn has_bytes(self) -> bool {
        self != Self::Barrier
    }
}
