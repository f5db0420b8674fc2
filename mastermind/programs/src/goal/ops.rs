//! Operations in eight bytes each: a run waits for memory more than for anything else.
//!
//! ```text
//! bits    0..2  2       3..7   7..64
//!         kind  behind  waits  calculation: 41 of nanoseconds, 8 of cpu, 8 of nic
//!                              message: 21 of bytes, 12 of tag, 24 of peer; cpu and nic are 0
//!                              place in the table of those that do not fit
//! ```

use crate::goal::schedule::{ANY, Kind, Op};
use crate::huge_pages::reserve;

/// Type of an operation, or that it is in the table.
const KIND: u64 = 3;
const IN_TABLE: u64 = 3;

/// Whether it waits for the end of the operation before it.
const AFTER_PREVIOUS: u64 = 1 << 2;

/// Number of operations that must end or begin before it, if it is not in the table.
const WAIT: u64 = 1 << 3;
const WAITS: u64 = 15 * WAIT;

/// Where the rest begins.
const REST: u32 = 7;

const CALC_BITS: u32 = 41;
const SIZE_BITS: u32 = 21;
const TAG_BITS: u32 = 12;
const PEER_BITS: u32 = 24;

const TAG: u32 = REST + SIZE_BITS;
const PEER: u32 = TAG + TAG_BITS;
const CPU: u32 = REST + CALC_BITS;
const NIC: u32 = CPU + 8;

/// The operations of all ranks.
#[derive(Debug, Clone, Default)]
pub struct Ops {
    packed: Vec<u64>,
    /// Those that need more bits.
    table: Vec<Op>,
}

/// A number for a field of `bits` bits, the greatest for [`ANY`]; `None` if it needs more bits.
#[inline]
fn short(number: u32, bits: u32) -> Option<u64> {
    let any = (1 << bits) - 1;
    match number {
        ANY => Some(any),
        number => Some(u64::from(number)).filter(|number| *number < any),
    }
}

/// The number in `bits` bits at a place.
#[inline(always)]
fn field(packed: u64, at: u32, bits: u32) -> u64 {
    packed >> at & ((1 << bits) - 1)
}

#[inline(always)]
fn long(packed: u64, at: u32, bits: u32) -> u32 {
    match field(packed, at, bits) {
        any if any == (1 << bits) - 1 => ANY,
        number => number as u32,
    }
}

#[inline]
fn pack(op: &Op) -> Option<u64> {
    let rest = match op.kind {
        Kind::Calc if op.size < 1 << CALC_BITS => {
            op.size << REST | u64::from(op.cpu) << CPU | u64::from(op.nic) << NIC
        }
        Kind::Send | Kind::Receive if op.size < 1 << SIZE_BITS && op.cpu == 0 && op.nic == 0 => {
            let (tag, peer) = (short(op.tag, TAG_BITS)?, short(op.peer, PEER_BITS)?);
            op.size << REST | tag << TAG | peer << PEER
        }
        _ => return None,
    };
    Some(op.kind as u64 | rest)
}

impl Ops {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.packed.len()
    }

    /// How many there is room for.
    pub(crate) fn room(&self) -> usize {
        self.packed.capacity()
    }

    /// Makes room for `more` operations, if memory allows: a file may claim any length.
    pub(crate) fn make_room(&mut self, more: usize) {
        if self.packed.try_reserve_exact(more).is_ok() {
            reserve(&mut self.packed, more);
        }
    }

    /// Adds an operation that waits for nothing yet, or for the end of the one before it.
    #[inline]
    pub(crate) fn push(&mut self, op: &Op, after_previous: bool) {
        let mut packed = pack(op).unwrap_or_else(|| self.put_in_table(*op, after_previous.into()));
        if after_previous {
            packed |= AFTER_PREVIOUS;
            if packed & KIND != IN_TABLE {
                packed += WAIT;
            }
        }
        if self.packed.len() == self.packed.capacity() {
            let more = self.packed.len().max(1 << 12);
            reserve(&mut self.packed, more);
        }
        self.packed.push(packed);
    }

    #[cold]
    #[inline(never)]
    fn put_in_table(&mut self, op: Op, waits: u32) -> u64 {
        if self.table.len() == self.table.capacity() {
            let more = self.table.len().max(1 << 8);
            reserve(&mut self.table, more);
        }
        self.table.push(Op { waits, ..op });
        IN_TABLE | (self.table.len() as u64 - 1) << REST
    }

    /// The operation at a place, without its waits.
    #[inline(always)]
    pub fn get(&self, at: usize) -> Op {
        let packed = self.packed[at];
        let (kind, size) = match packed & KIND {
            IN_TABLE => return self.table[(packed >> REST) as usize],
            0 => {
                return Op {
                    size: field(packed, REST, CALC_BITS),
                    peer: 0,
                    tag: 0,
                    waits: 0,
                    kind: Kind::Calc,
                    cpu: field(packed, CPU, 8) as u8,
                    nic: field(packed, NIC, 8) as u8,
                };
            }
            1 => (Kind::Send, field(packed, REST, SIZE_BITS)),
            _ => (Kind::Receive, field(packed, REST, SIZE_BITS)),
        };
        Op {
            size,
            peer: long(packed, PEER, PEER_BITS),
            tag: long(packed, TAG, TAG_BITS),
            waits: 0,
            kind,
            cpu: 0,
            nic: 0,
        }
    }

    /// Sender and tag that receives of a rank are for, by their place in it.
    #[inline(always)]
    pub fn receives(&self, first_op: usize) -> impl Fn(u32) -> (u32, u32) {
        move |op| {
            let Op { peer, tag, .. } = self.get(first_op + op as usize);
            (peer, tag)
        }
    }

    /// Type, and nanoseconds or bytes.
    #[inline(always)]
    pub fn kind_and_size(&self, at: usize) -> (Kind, u64) {
        let Op { kind, size, .. } = self.get(at);
        (kind, size)
    }

    /// Where an operation is kept.
    #[inline(always)]
    pub fn place(&self, at: usize) -> Option<&u64> {
        self.packed.get(at)
    }

    /// Whether nothing must end or begin before an operation.
    #[inline(always)]
    pub fn is_free(&self, at: usize) -> bool {
        let packed = self.packed[at];
        match packed & KIND {
            IN_TABLE => self.table[(packed >> REST) as usize].waits == 0,
            _ => packed & WAITS == 0,
        }
    }

    /// Has an operation wait for one more.
    #[inline]
    pub(crate) fn wait(&mut self, at: usize) {
        let packed = self.packed[at];
        if packed & KIND != IN_TABLE && packed & WAITS != WAITS {
            self.packed[at] = packed + WAIT;
        } else {
            self.wait_in_table(at);
        }
    }

    #[cold]
    #[inline(never)]
    fn wait_in_table(&mut self, at: usize) {
        let packed = self.packed[at];
        if packed & KIND != IN_TABLE {
            let waits = ((packed & WAITS) / WAIT) as u32;
            self.packed[at] = self.put_in_table(self.get(at), waits) | packed & AFTER_PREVIOUS;
        }
        self.table[(self.packed[at] >> REST) as usize].waits += 1;
    }

    /// Has an operation wait for the end of the one before it, once.
    #[inline]
    pub(crate) fn wait_for_previous(&mut self, at: usize) {
        if self.packed[at] & AFTER_PREVIOUS == 0 {
            self.packed[at] |= AFTER_PREVIOUS;
            self.wait(at);
        }
    }

    /// Takes a wait from an operation; whether it was the last.
    #[inline(always)]
    pub fn release(&mut self, at: usize) -> bool {
        let packed = &mut self.packed[at];
        if *packed & KIND == IN_TABLE {
            let waits = &mut self.table[(*packed >> REST) as usize].waits;
            *waits -= 1;
            return *waits == 0;
        }
        *packed -= WAIT;
        *packed & WAITS == 0
    }

    /// Takes the wait for the end of the one before it from an operation, if it has that; whether it was the last.
    #[inline(always)]
    pub fn release_next(&mut self, at: usize) -> bool {
        let next = self.packed.get(at);
        next.is_some_and(|packed| packed & AFTER_PREVIOUS != 0) && self.release(at)
    }

    /// Memory in use, bytes, without memory that was reserved for more and never touched.
    pub(crate) fn bytes(&self) -> usize {
        self.packed.len() * size_of::<u64>() + self.table.len() * size_of::<Op>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn number(bits: u32) -> impl Strategy<Value = u64> {
        (0..bits, any::<u64>(), any::<bool>()).prop_map(|(bits, number, all)| match all {
            true => (1 << bits) - 1,
            false => number & ((1 << bits) - 1),
        })
    }

    fn op() -> impl Strategy<Value = Op> {
        let ends = (number(32), number(33), 0..3_u8);
        (number(50), ends, 0..300_u16, 0..300_u16).prop_map(
            |(size, (peer, tag, kind), cpu, nic)| {
                let is_calc = kind == 0;
                // Half of the messages have no processor of their own.
                let place = |number: u16| u8::try_from(number).unwrap_or(0);
                Op {
                    size,
                    peer: if is_calc { 0 } else { peer as u32 },
                    tag: if is_calc { 0 } else { tag as u32 },
                    waits: 0,
                    kind: [Kind::Calc, Kind::Send, Kind::Receive][usize::from(kind)],
                    cpu: place(cpu * u16::from(size % 2 == 0)),
                    nic: place(nic * u16::from(size % 2 == 0)),
                }
            },
        )
    }

    proptest! {
        #[test]
        fn an_operation_is_as_it_was_put_in(all in prop::collection::vec((op(), 0..40_usize, any::<bool>()), 1..20)) {
            let mut ops = Ops::default();
            for (op, waits, after_previous) in &all {
                let at = ops.len();
                ops.push(op, *after_previous && waits % 2 == 0);
                if *after_previous {
                    ops.wait_for_previous(at);
                    ops.wait_for_previous(at);
                }
                (0..*waits).for_each(|_| ops.wait(at));
            }
            for (at, (op, waits, after_previous)) in all.iter().enumerate() {
                let found = Op { waits: 0, ..ops.get(at) };
                prop_assert_eq!(&found, op);
                for left in (0..*waits).rev() {
                    prop_assert!(!ops.is_free(at));
                    prop_assert_eq!(ops.release(at), left == 0 && !after_previous);
                }
                prop_assert_eq!(ops.release_next(at), *after_previous);
                prop_assert!(ops.is_free(at));
            }
        }
    }
}
