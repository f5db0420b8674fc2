//! A schedule as it is kept: eight bytes for most operations, and no more for one that waits for the one before.

use crate::events::huge_pages::reserve;
use crate::goal::ops::Ops;

/// What an operation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Calc,
    Send,
    Receive,
}

/// Any rank or tag.
pub(crate) const ANY: u32 = u32::MAX;

/// An operation as it is worked with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Op {
    /// Nanoseconds of a calculation, bytes of a message.
    pub(crate) size: u64,
    /// The other rank, or [`ANY`].
    pub(crate) peer: u32,
    /// Or [`ANY`].
    pub(crate) tag: u32,
    /// How many must end or begin before it, where that is kept here.
    pub(crate) waits: u32,
    pub(crate) kind: Kind,
    pub(crate) cpu: u8,
    pub(crate) nic: u8,
}

/// Who waits for an operation, beside the one behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Dependent {
    /// The operation waited for.
    pub(crate) on: u32,
    /// The one that waits.
    pub(crate) op: u32,
    /// Whether it waits for the begin only.
    pub(crate) begin: bool,
}

/// One rank's part of a schedule, by places in the lists of all.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Part {
    pub(crate) first_op: usize,
    pub(crate) ops: u32,
    pub(crate) first_dependent: usize,
    pub(crate) dependents: u32,
    /// Processors and interfaces that its operations name, at least 1.
    pub(crate) cpus: u16,
    pub(crate) nics: u16,
}

/// A schedule: the operations of each rank and what they wait for.
#[derive(Debug, Default)]
pub struct Schedule {
    pub(crate) ops: Ops,
    /// By rank, and in a rank by the operation waited for.
    pub(crate) dependents: Vec<Dependent>,
    /// By operation, in the order of all: the first of those that wait for it, and one more for the end; empty where
    /// nothing waits so.
    first_dependents: Vec<u32>,
    /// One a rank.
    pub(crate) parts: Vec<Part>,
}

impl Schedule {
    /// Ranks.
    pub fn ranks(&self) -> usize {
        self.parts.len()
    }

    /// Operations of all ranks.
    pub fn operations(&self) -> usize {
        self.ops.len()
    }

    /// Notes where the dependents of each operation begin: they lie in the order of the operations, as ranks are read one
    /// after the other. Nothing where there are more than 2³², which have no place in a memory.
    pub(crate) fn index(&mut self) -> Option<()> {
        if self.dependents.is_empty() {
            return Some(());
        }
        u32::try_from(self.dependents.len()).ok()?;
        let mut parts: Vec<&Part> = self.parts.iter().filter(|part| part.ops > 0).collect();
        parts.sort_unstable_by_key(|part| part.first_op);
        reserve(&mut self.first_dependents, self.ops.len() + 1);
        let mut at = 0;
        for part in parts {
            let end = part.first_dependent + part.dependents as usize;
            for op in 0..part.ops {
                self.first_dependents.push(at as u32);
                while at < end && self.dependents[at].on == op {
                    at += 1;
                }
            }
        }
        self.first_dependents.push(at as u32);
        Some(())
    }

    /// Those that wait for the operation at this place.
    #[inline]
    pub(crate) fn dependents_of(&self, place: usize) -> std::ops::Range<usize> {
        self.first_dependents[place] as usize..self.first_dependents[place + 1] as usize
    }

    /// Memory that it takes, bytes.
    pub fn memory_bytes(&self) -> usize {
        self.ops.bytes()
            + self.dependents.capacity() * size_of::<Dependent>()
            + self.first_dependents.capacity() * size_of::<u32>()
            + self.parts.capacity() * size_of::<Part>()
    }
}
