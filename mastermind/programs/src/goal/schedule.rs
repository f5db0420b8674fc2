//! A schedule in memory: eight bytes for most operations, and four for the operations that wait for
//! them.
//!
//! A schedule has millions of operations and a simulation visits each of them a few times, so its
//! speed is that of the memory. Operations are packed (`ops.rs`); this file packs the dependences
//! between them. Most operations are waited for by nobody or by the next one, which an operation
//! says itself. Of the others most are waited for by operations in a row close behind, and one word
//! is enough; a list is the exception.
//!
//! ```text
//! op   0     1     2     3     4        requires: 1 -> 0, 2 -> 0, 3 -> 0, 4 -> 1
//! firsts[0] = run: length 3, distance 1     operations 1, 2, 3
//! firsts[1] = run: length 1, distance 3     operation 4
//! firsts[k] = list at i                     lists[i - 1] = n, lists[i ..] = dependents
//! ```
//!
//! A list is not known to be complete until its rank has been read, so its waits are collected in
//! `rest` and laid out at `end_rank`. While the schedule runs it is only read, except for the number
//! of waits that each operation counts down.

use std::ops::Range;

use crate::goal::ops::Ops;
use crate::huge_pages::reserve;

/// Type of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Keeps a processor for a time.
    Calc,
    /// Sends a message.
    Send,
    /// Takes a message.
    Receive,
}

/// Any rank or tag.
pub const ANY: u32 = u32::MAX;

/// An operation unpacked, as code works with it; in memory it takes eight bytes (`ops.rs`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Op {
    /// Nanoseconds of a calculation, bytes of a message.
    pub size: u64,
    /// The other rank, or [`ANY`].
    pub peer: u32,
    /// Or [`ANY`].
    pub tag: u32,
    /// Number of operations that must end or begin before it, if that is stored here.
    pub waits: u32,
    /// Its type.
    pub kind: Kind,
    /// The processor of the rank.
    pub cpu: u8,
    /// The interface of the rank.
    pub nic: u8,
}

/// An operation that waits for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Wait {
    /// The operation waited for.
    on: u32,
    by: Dependent,
}

/// Most operations of a rank.
pub(crate) const MAX_OPS: u32 = 1 << 31;

/// An operation of the rank that waits for another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dependent(u32);

impl Dependent {
    /// # Arguments
    /// * `op` - below [`MAX_OPS`]
    /// * `begin` - whether it waits for the begin only
    #[inline(always)]
    pub(crate) fn new(op: u32, begin: bool) -> Self {
        Self(op << 1 | u32::from(begin))
    }

    /// Its place in the rank.
    #[inline(always)]
    pub fn op(self) -> u32 {
        self.0 >> 1
    }

    /// Whether it waits for the begin only.
    #[inline(always)]
    pub fn begin(self) -> bool {
        self.0 & 1 == 1
    }
}

/// Operations that wait for each operation, in addition to the one behind it.
///
/// For most operations those are neighbours, or one: four bytes encode them, without another look-up.
#[derive(Debug, Clone, Default)]
pub struct Dependents {
    /// By operation, in the order of all; none behind the end.
    firsts: Vec<Waiters>,
    /// For operations whose dependents are no run: their number, and they.
    lists: Vec<Dependent>,
    /// Entries of the present rank that will be added to `lists`.
    rest: Vec<Wait>,
}

/// Operations that wait for an operation: none, a run of operations behind it that wait for its end,
/// or a list.
///
/// ```text
/// bits  31  0..31
///       0   0 for nobody, else the place of a list and 1
///       1   11 of the length of a run, 20 of its distance
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Waiters(u32);

impl Waiters {
    const NOBODY: Self = Self(0);
    const RUN: u32 = 1 << 31;
    const LENGTH: u32 = 1 << 20;
    const MAX_LENGTH: u32 = (1 << 11) - 1;
    const DISTANCE: u32 = Self::LENGTH - 1;

    /// A list of the present rank whose place is not known yet.
    const OPEN_LIST: Self = Self(Self::RUN - 1);

    /// One operation that waits for the end of operation `on`, if that is near behind.
    #[inline]
    fn one(on: u32, by: Dependent) -> Option<Self> {
        let distance = by.op().checked_sub(on)?;
        // A run is of operations that wait for the end; a wait for the begin goes into a list.
        let is_run = distance <= Self::DISTANCE && !by.begin();
        is_run.then_some(Self(Self::RUN | Self::LENGTH | distance))
    }

    /// The run, if it is one.
    #[inline(always)]
    fn run(self, on: u32) -> Option<Range<u32>> {
        let from = on + (self.0 & Self::DISTANCE);
        let length = (self.0 & !Self::RUN) / Self::LENGTH;
        (self.0 & Self::RUN != 0).then_some(from..from + length)
    }

    /// The run extended by the operation behind it, if that is the waiting one.
    #[inline]
    fn with(self, on: u32, by: Dependent) -> Option<Self> {
        let run = self.run(on)?;
        let is_next = by == Dependent::new(run.end, false) && run.len() < Self::MAX_LENGTH as usize;
        is_next.then(|| Self(self.0 + Self::LENGTH))
    }
}

impl Dependents {
    /// Has an operation of the rank that is read wait for operation `on` of it.
    ///
    /// # Arguments
    /// * `room` - operations of all ranks that there is room for
    #[inline]
    pub(crate) fn add(&mut self, part: &mut Part, on: u32, by: Dependent, room: usize) {
        part.depends = true;
        part.begins |= by.begin();
        // The list ends with the last operation that anybody waits for: a schedule without waits
        // has none.
        let place = part.first_op + on as usize;
        if place >= self.firsts.len() {
            if place >= self.firsts.capacity() {
                // As much as the operations have room for: growth by doubling would copy the list
                // each time.
                let more = room.max(place + 1) - self.firsts.len();
                make_room(&mut self.firsts, more);
            }
            self.firsts.resize(place + 1, Waiters::NOBODY);
        }
        let waiters = &mut self.firsts[place];
        let added = match *waiters {
            Waiters::NOBODY => Waiters::one(on, by),
            run => run.with(on, by),
        };
        match added {
            Some(added) => *waiters = added,
            None => self.add_to_list(place, on, by),
        }
    }

    #[cold]
    #[inline(never)]
    fn add_to_list(&mut self, place: usize, on: u32, by: Dependent) {
        let before = self.firsts[place].run(on).into_iter().flatten();
        let before = before.map(|op| Dependent::new(op, false));
        let waits = before.chain([by]).map(|by| Wait { on, by });
        self.rest.extend(waits);
        self.firsts[place] = Waiters::OPEN_LIST;
    }

    /// Ends a rank, whose operations are the last so far.
    ///
    /// # Arguments
    /// * `is_sorted` - whether those that wait for the same operation come in their own order, not in that in which they were added
    pub(crate) fn end_rank(&mut self, part: &Part, is_sorted: bool) {
        if is_sorted {
            self.rest.sort_unstable();
        } else {
            // A stable sort: dependents of one operation keep the order of the file.
            self.rest.sort_by_key(|wait| wait.on);
        }
        for waits in self.rest.chunk_by(|a, b| a.on == b.on) {
            make_room(&mut self.lists, waits.len() + 1);
            self.lists.push(Dependent(waits.len() as u32));
            let first = self.lists.len() as u32;
            self.lists.extend(waits.iter().map(|wait| wait.by));
            self.firsts[part.first_op + waits[0].on as usize] = Waiters(first);
        }
        self.rest.clear();
    }

    /// Nothing where the lists are longer than 2³¹, which has no place in a memory.
    fn end(&mut self) -> Option<()> {
        (self.lists.len() < Waiters::OPEN_LIST.0 as usize).then_some(())
    }

    /// Operations that wait for one of a rank whose first one is at this place: a run that waits for the end, and
    /// others.
    #[inline(always)]
    pub fn of(&self, first_op: usize, op: u32) -> (Range<u32>, &[Dependent]) {
        let waiters = self.firsts.get(first_op + op as usize);
        let waiters = waiters.copied().unwrap_or(Waiters::NOBODY);
        match waiters.run(op) {
            Some(run) => (run, &[]),
            None if waiters == Waiters::NOBODY => (0..0, &[]),
            None => (0..0, self.list(waiters.0 as usize)),
        }
    }

    /// Those that wait for an operation of a rank.
    pub fn all_of(&self, first_op: usize, op: u32) -> impl Iterator<Item = Dependent> {
        let (run, others) = self.of(first_op, op);
        let run = run.map(|op| Dependent::new(op, false));
        run.chain(others.iter().copied())
    }

    #[cold]
    fn list(&self, first: usize) -> &[Dependent] {
        let length = self.lists[first - 1].0 as usize;
        &self.lists[first..first + length]
    }

    /// The entry with the operations that wait for the one at this place.
    #[inline(always)]
    pub fn place(&self, place: usize) -> Option<&impl Sized> {
        self.firsts.get(place)
    }

    fn bytes(&self) -> usize {
        size_of_val(&self.firsts[..]) + size_of_val(&self.lists[..])
    }
}

/// Makes room for `more` elements; if there is not enough, doubles the room.
fn make_room<T>(list: &mut Vec<T>, more: usize) {
    if list.capacity() - list.len() < more {
        reserve(list, more.max(list.len()).max(1 << 12));
    }
}

/// One rank's part of a schedule, by places in the lists of all.
#[derive(Debug, Clone, Copy, Default)]
pub struct Part {
    /// Where its operations begin.
    pub first_op: usize,
    /// How many there are.
    pub ops: u32,
    /// Whether operations of it wait for others than the one before.
    pub depends: bool,
    /// Whether some of them wait for a begin.
    pub begins: bool,
    /// Processors that its operations name, at least 1.
    pub cpus: u16,
    /// Interfaces that they name, at least 1.
    pub nics: u16,
}

/// A schedule: the operations of all ranks in one list, the waits between them, and the part of
/// each rank.
#[derive(Debug, Clone, Default)]
pub struct Schedule {
    /// The operations of all ranks; a run counts their remaining waits in them.
    pub ops: Ops,
    /// Operations that wait for them.
    pub dependents: Dependents,
    /// One a rank.
    pub parts: Vec<Part>,
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

    /// The schedule when all of it has been read; nothing where more than 2³¹ operations wait for others in lists.
    pub(crate) fn end(mut self) -> Option<Self> {
        self.dependents.end().map(|()| self)
    }

    /// Memory that it takes, bytes.
    pub fn memory_bytes(&self) -> usize {
        self.ops.bytes() + self.dependents.bytes() + self.parts.capacity() * size_of::<Part>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Waits of a rank: the waiting operation, the operation it waits for, and whether it waits for
    /// the begin.
    fn waits() -> impl Strategy<Value = Vec<(u32, u32, bool)>> {
        let run =
            (0..4_u32, 0..20_u32, 1..5000_u32, 1..3_u32).prop_map(|(on, by, length, step)| {
                let by_all = (by..by + length).step_by(step as usize);
                by_all.map(|by| (on, by, false)).collect()
            });
        let single = (0..20_u32, 0..20_u32, any::<bool>()).prop_map(|wait| vec![wait]);
        let far = (0..4_u32, 0..3_000_000_u32).prop_map(|(on, by)| vec![(on, by, false)]);
        let some = prop_oneof![1 => run, 4 => single, 1 => far];
        prop::collection::vec(some, 0..12).prop_map(|waits| waits.concat())
    }

    proptest! {
        #[test]
        fn who_waits_is_as_it_was_added(ranks in prop::collection::vec((waits(), any::<bool>()), 1..4)) {
            let mut dependents = Dependents::default();
            let mut parts = Vec::new();
            for (at, (waits, is_sorted)) in ranks.iter().enumerate() {
                let mut part = Part { first_op: 20 * at, ops: 20, ..Part::default() };
                for (on, by, begin) in waits {
                    dependents.add(&mut part, *on, Dependent::new(*by, *begin), 0);
                }
                dependents.end_rank(&part, *is_sorted);
                parts.push(part);
            }
            for (part, (waits, is_sorted)) in parts.iter().zip(&ranks) {
                prop_assert_eq!(part.begins, waits.iter().any(|(_, _, begin)| *begin));
                for op in 0..20 {
                    let of_op = waits.iter().filter(|(on, ..)| *on == op);
                    let mut expected: Vec<_> = of_op.map(|(_, by, begin)| Dependent::new(*by, *begin)).collect();
                    if *is_sorted {
                        expected.sort();
                    }
                    let found: Vec<_> = dependents.all_of(part.first_op, op).collect();
                    prop_assert_eq!(found, expected);
                }
            }
        }
    }
}
