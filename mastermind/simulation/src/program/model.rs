//! The human form: Performance Prophet's elements in a hierarchy of activities.
//!
//! # Source
//! S. Pllana et al., "Hybrid Performance Modeling and Prediction of Large-Scale Computing Systems",
//! 2008, section III; "Towards an Environment for Performance Modeling", sections 2 and 4.

use std::collections::BTreeMap;

use crate::expression::{Assignment, CostFunction, Expression};

/// A program model.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// Its name.
    pub name: String,
    /// The activity that each process runs.
    pub main: String,
    /// Variables that all activities and cost functions see; each process has its own.
    pub globals: Vec<Variable>,
    /// Cost functions by name.
    pub functions: BTreeMap<String, CostFunction>,
    /// Activities by name.
    pub activities: BTreeMap<String, Activity>,
}

/// A variable and its first value.
#[derive(Debug, Clone, PartialEq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// What it begins with.
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
    /// What it is.
    pub kind: ElementKind,
}

/// One way out of a decision.
#[derive(Debug, Clone, PartialEq)]
pub struct Branch {
    /// When it is taken; `None` where no other guard holds.
    pub guard: Option<Expression>,
    /// What it does.
    pub flow: Vec<Element>,
}

/// What an element is.
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
        /// Its rank; `none` for nobody, `any` for whoever it is.
        from: Expression,
        /// Tag, ≥ 0, or `any`.
        tag: Expression,
        /// Whether the process waits here rather than at the next wait.
        blocking: bool,
    },
    /// Waits for all nonblocking sends and receives.
    Wait,
    /// One process's bytes to all.
    Broadcast {
        /// Its rank.
        root: Expression,
        /// Bytes.
        bytes: Expression,
    },
    /// A reduction to one process.
    Reduce {
        /// Its rank.
        root: Expression,
        /// Bytes.
        bytes: Expression,
    },
    /// A reduction to all.
    AllReduce {
        /// Bytes.
        bytes: Expression,
    },
    /// Each process's bytes to each.
    AllToAll {
        /// Bytes for one process.
        bytes: Expression,
    },
    /// Nobody leaves before all have come.
    Barrier,
}
