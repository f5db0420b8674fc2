//! The machine form: a flat list of operations that each process runs for itself.

use crate::expression::Compiled;
use crate::symbols::System;

/// Index of the first loop or decision: they take no time, and none is kept for them.
pub const STRUCTURE: u32 = 1 << 31;

/// How a process takes part in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// It waits until the operation is complete.
    Blocking,
    /// It continues, and waits at the next wait.
    Nonblocking,
    /// As nonblocking, inside a collective: only the collective's own wait is for it.
    Internal,
}

impl Mode {
    /// Calls that a wait of this mode counts: waits of collectives count none.
    pub fn calls(self) -> u32 {
        u32::from(self != Self::Internal)
    }
}

/// One operation. Targets are indices of operations.
#[derive(Debug, Clone, PartialEq)]
pub enum Operation {
    /// Takes the processor for a time.
    Compute {
        /// Seconds.
        cost: Compiled,
        /// The element it is counted under.
        element: u32,
    },
    /// Gives a variable a value; takes no time.
    Assign {
        /// Its place.
        slot: u32,
        /// The value.
        value: Compiled,
    },
    /// Goes to `target`.
    Jump {
        /// Where to.
        target: u32,
    },
    /// Goes to `target` unless the condition holds.
    JumpUnless {
        /// The condition.
        condition: Compiled,
        /// Where to.
        target: u32,
    },
    /// Sets `counter` to 0 and goes to `exit` if there is no round; a count that is no number, or
    /// below 0, is an error.
    LoopStart {
        /// Rounds.
        count: Compiled,
        /// Place of the counter.
        counter: u32,
        /// Place that keeps the rounds, rounded.
        limit: u32,
        /// Behind the loop.
        exit: u32,
        /// The loop.
        element: u32,
    },
    /// Adds 1 to `counter` and goes to `start` if a round is left.
    LoopNext {
        /// Place of the counter.
        counter: u32,
        /// Place that keeps the rounds.
        limit: u32,
        /// The first operation of the body.
        start: u32,
    },
    /// Counts a call of an element whose other operations do not count it.
    Count {
        /// The element.
        element: u32,
    },
    /// Sends a message.
    Send {
        /// Rank, or `none`.
        to: Compiled,
        /// Bytes.
        bytes: Compiled,
        /// Tag.
        tag: Compiled,
        /// How.
        mode: Mode,
        /// Whether it belongs to a collective: apart from all others, and not counted as a call.
        collective: bool,
        /// The element it is counted under.
        element: u32,
    },
    /// Receives a message.
    Receive {
        /// Rank, `none` or `any`.
        from: Compiled,
        /// Tag, or `any`.
        tag: Compiled,
        /// How.
        mode: Mode,
        /// Whether it belongs to a collective.
        collective: bool,
        /// The element it is counted under.
        element: u32,
        /// Place of the variable that gets the rank of the sender; of a blocking one only.
        sender: Option<u32>,
    },
    /// Waits for the incomplete messages of one mode.
    Wait {
        /// Which: nonblocking or internal.
        mode: Mode,
        /// The element it is counted under.
        element: u32,
    },
    /// Waits for the first nonblocking receive to be complete that no wait took.
    WaitAny {
        /// Place of the variable that gets the rank of its sender, or `none` if none is left.
        sender: Option<u32>,
        /// The element it is counted under.
        element: u32,
    },
    /// A parallel region; execution continues behind it.
    Parallel(Box<Region>),
    /// No guard of a decision held: an error.
    NoBranch {
        /// The decision.
        element: u32,
    },
    /// Takes a lock, in a parallel region only.
    Lock {
        /// Index of the lock.
        lock: u32,
    },
    /// Gives a lock back.
    Unlock {
        /// Index of the lock.
        lock: u32,
    },
    /// The end of the program or of a region.
    End,
}

impl Operation {
    /// Converts its expressions to lists of steps; those of a region stay unchanged.
    pub fn flatten(&mut self) {
        let expressions: &mut [&mut Compiled] = match self {
            Self::Compute { cost: value, .. }
            | Self::Assign { value, .. }
            | Self::JumpUnless {
                condition: value, ..
            }
            | Self::LoopStart { count: value, .. } => &mut [value],
            Self::Send { to, bytes, tag, .. } => &mut [to, bytes, tag],
            Self::Receive { from, tag, .. } => &mut [from, tag],
            _ => &mut [],
        };
        expressions.iter_mut().for_each(|value| value.flatten());
    }
}

/// A parallel region: a list of operations of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct Region {
    /// Threads.
    pub threads: Compiled,
    /// Operations of each thread.
    pub operations: Vec<Operation>,
    /// The element it is counted under.
    pub element: u32,
}

/// An element of the machine form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ElementInfo {
    /// Its name.
    pub name: String,
    /// The activity, and the enclosing elements.
    pub place: String,
    /// Its type, as the file form calls it.
    pub kind: &'static str,
}

/// The machine form of a model for one system.
#[derive(Debug, Clone, PartialEq)]
pub struct Program {
    /// Name of the model.
    pub name: String,
    /// The system that it was made for.
    pub system: System,
    /// Operations of each process.
    pub operations: Vec<Operation>,
    /// Where each process begins; empty where all begin at the first operation.
    pub starts: Vec<u32>,
    /// Places of variables that a process has.
    pub slots: u32,
    /// Locks of parallel regions.
    pub locks: u32,
    /// Elements that take time, by index.
    pub elements: Vec<ElementInfo>,
    /// Loops and decisions, by index less [`STRUCTURE`].
    pub structures: Vec<ElementInfo>,
}
