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

/// Who waits for an operation, beside the one behind it, as a reader finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Wait {
    /// The operation waited for.
    pub(crate) on: u32,
    pub(crate) by: Dependent,
}

/// Most operations of a rank.
pub(crate) const MAX_OPS: u32 = 1 << 31;

/// An operation of the rank that waits for another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Dependent(u32);

impl Dependent {
    /// # Arguments
    /// * `op` - below [`MAX_OPS`]
    /// * `begin` - whether it waits for the begin only
    pub(crate) fn new(op: u32, begin: bool) -> Self {
        Self(op << 1 | u32::from(begin))
    }

    #[inline]
    pub(crate) fn op(self) -> u32 {
        self.0 >> 1
    }

    #[inline]
    pub(crate) fn begin(self) -> bool {
        self.0 & 1 == 1
    }
}

/// Who waits for each operation.
#[derive(Debug, Default)]
pub(crate) struct Dependents {
    /// By the operation waited for.
    all: Vec<Dependent>,
    /// By operation, in the order of all: the first of those that wait for it, and one more for the end; empty where nothing waits so.
    firsts: Vec<u32>,
}

impl Dependents {
    /// Adds those of a rank, whose operations are the last so far.
    ///
    /// # Arguments
    /// * `waits` - by the operation waited for
    pub(crate) fn add_rank(&mut self, part: &mut Part, waits: &[Wait]) {
        if waits.is_empty() {
            return;
        }
        part.depends = true;
        part.begins = waits.iter().any(|wait| wait.by.begin());
        make_room(&mut self.all, waits.len());
        let n_before = self.all.len() as u32;
        let more = part.first_op + part.ops as usize - self.firsts.len();
        make_room(&mut self.firsts, more);
        self.firsts.resize(part.first_op, n_before);
        let mut waits = waits.iter().peekable();
        for op in 0..part.ops {
            self.firsts.push(self.all.len() as u32);
            while let Some(wait) = waits.next_if(|wait| wait.on == op) {
                self.all.push(wait.by);
            }
        }
    }

    /// Ends the list when all ranks are there; nothing where there are more than 2³², which have no place in a memory.
    fn end(&mut self, operations: usize) -> Option<()> {
        let n = u32::try_from(self.all.len()).ok()?;
        if n > 0 {
            self.firsts.resize(operations + 1, n);
        }
        Some(())
    }

    /// Those that wait for the operation at this place.
    #[inline]
    pub(crate) fn of(&self, place: usize) -> &[Dependent] {
        match self.firsts.get(place..place + 2) {
            Some([first, end]) => &self.all[*first as usize..*end as usize],
            _ => &[],
        }
    }

    /// Where it is kept who waits for the operation at this place.
    #[inline]
    pub(crate) fn place(&self, place: usize) -> Option<&u32> {
        self.firsts.get(place)
    }

    fn bytes(&self) -> usize {
        self.all.capacity() * size_of::<Dependent>() + self.firsts.capacity() * size_of::<u32>()
    }
}

/// Makes room for so many more, and for as many again as there are where there is none.
fn make_room<T>(list: &mut Vec<T>, more: usize) {
    if list.capacity() - list.len() < more {
        reserve(list, more.max(list.len()).max(1 << 12));
    }
}

/// One rank's part of a schedule, by places in the lists of all.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Part {
    pub(crate) first_op: usize,
    pub(crate) ops: u32,
    /// Whether operations of it wait for others than the one before, and whether some of them do for a begin.
    pub(crate) depends: bool,
    pub(crate) begins: bool,
    /// Processors and interfaces that its operations name, at least 1.
    pub(crate) cpus: u16,
    pub(crate) nics: u16,
}

/// A schedule: the operations of each rank and what they wait for.
#[derive(Debug, Default)]
pub struct Schedule {
    pub(crate) ops: Ops,
    pub(crate) dependents: Dependents,
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

    /// The schedule when all of it has been read; nothing where more than 2³² operations wait for others.
    pub(crate) fn end(mut self) -> Option<Self> {
        let n = self.operations();
        self.dependents.end(n).map(|()| self)
    }

    /// Memory that it takes, bytes.
    pub fn memory_bytes(&self) -> usize {
        self.ops.bytes() + self.dependents.bytes() + self.parts.capacity() * size_of::<Part>()
    }
}
