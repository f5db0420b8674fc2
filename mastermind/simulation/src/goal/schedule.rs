//! A schedule as it is kept: 24 bytes an operation, and no more for one that waits for the one before.

use crate::engine::reserve;

/// What an operation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Calc,
    Send,
    Receive,
}

/// Any rank or tag.
pub(super) const ANY: u32 = u32::MAX;

/// An operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Op {
    /// Nanoseconds of a calculation, bytes of a message.
    pub(super) size: u64,
    /// The other rank, or [`ANY`].
    pub(super) peer: u32,
    /// Or [`ANY`].
    pub(super) tag: u32,
    /// How many must end or begin before it.
    pub(super) waits: u32,
    pub(super) kind: Kind,
    pub(super) cpu: u8,
    pub(super) nic: u8,
    /// Whether one of those that must end is the operation before it.
    pub(super) after_previous: bool,
}

/// Who waits for an operation, beside the one behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Dependent {
    /// The operation waited for.
    pub(super) on: u32,
    /// The one that waits.
    pub(super) op: u32,
    /// Whether it waits for the begin only.
    pub(super) begin: bool,
}

/// One rank's part of a schedule, by places in the lists of all.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Part {
    pub(super) first_op: usize,
    pub(super) ops: u32,
    pub(super) first_dependent: usize,
    pub(super) dependents: u32,
    /// Processors and interfaces that its operations name, at least 1.
    pub(super) cpus: u16,
    pub(super) nics: u16,
}

/// A schedule: the operations of each rank and what they wait for.
#[derive(Debug, Default)]
pub struct Schedule {
    pub(super) ops: Vec<Op>,
    /// By rank, and in a rank by the operation waited for.
    pub(super) dependents: Vec<Dependent>,
    /// One a rank.
    pub(super) parts: Vec<Part>,
}

impl Schedule {
    /// Adds an operation.
    #[inline]
    pub(super) fn push(&mut self, op: Op) {
        if self.ops.len() == self.ops.capacity() {
            let more = self.ops.len().max(1 << 12);
            reserve(&mut self.ops, more);
        }
        self.ops.push(op);
    }

    /// Ranks.
    pub fn ranks(&self) -> usize {
        self.parts.len()
    }

    /// Operations of all ranks.
    pub fn operations(&self) -> usize {
        self.ops.len()
    }

    /// Memory that it takes, bytes.
    pub fn memory_bytes(&self) -> usize {
        self.ops.capacity() * size_of::<Op>()
            + self.dependents.capacity() * size_of::<Dependent>()
            + self.parts.capacity() * size_of::<Part>()
    }
}
