//! The first posted receives of a process, in line.

use super::lists::fits;
use super::messages::Message;
use mastermind_programs::Mode;

/// Receives in a cache line.
const MAX_IN_LINE: usize = 7;

/// The first nonblocking receives of a process that no message came for, in the order in which they were posted: a cache
/// line, so that nearly all messages find theirs without a walk. Later ones wait in a list of the message pool.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
pub(crate) struct PostedReceives {
    /// Sender and tag; either may be any.
    receives: [(u32, i32); MAX_IN_LINE],
    /// How many places were given away since the line was empty.
    n: u8,
    /// A bit each: whether its message has not come yet.
    open: u8,
    /// A bit each: whether it belongs to a collective.
    internal: u8,
    /// Messages of the process that have come and are not taken.
    pub(crate) n_present: u32,
}

impl PostedReceives {
    /// Posts a receive behind the others; whether there was room.
    #[inline]
    pub(crate) fn post(&mut self, receive: (u32, i32), mode: Mode) -> bool {
        if self.n as usize == MAX_IN_LINE {
            if self.open.count_ones() as usize == MAX_IN_LINE {
                return false;
            }
            self.close_up();
        }
        let bit = 1 << self.n;
        self.receives[self.n as usize] = receive;
        self.open |= bit;
        if mode == Mode::Internal {
            self.internal |= bit;
        }
        self.n += 1;
        true
    }

    /// Moves all to the front.
    #[cold]
    fn close_up(&mut self) {
        let before = std::mem::take(self);
        self.n_present = before.n_present;
        for place in (0..MAX_IN_LINE).filter(|place| before.open >> place & 1 == 1) {
            self.post(before.receives[place], before.mode(place));
        }
    }

    fn mode(&self, place: usize) -> Mode {
        match self.internal >> place & 1 {
            0 => Mode::Nonblocking,
            _ => Mode::Internal,
        }
    }

    /// Takes the first receive that a message is for: how its process waits.
    #[inline]
    pub(crate) fn take(&mut self, message: &Message) -> Option<Mode> {
        let mut rest = self.open;
        while rest != 0 {
            let place = rest.trailing_zeros() as usize;
            if fits(self.receives[place % MAX_IN_LINE], message) {
                let mode = self.mode(place);
                self.open &= !(1 << place);
                if self.open == 0 {
                    (self.n, self.internal) = (0, 0);
                }
                return Some(mode);
            }
            rest &= rest - 1;
        }
        None
    }

    /// How many there are.
    pub(crate) fn len(&self) -> u64 {
        u64::from(self.open.count_ones())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::messages::{ANY_TAG, ANYBODY, Load, NIL};
    use crate::events::tie_break::TieBreak;
    use crate::loggp::MessagePart;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_message_takes_the_first_receive_that_is_for_it(
            steps in prop::collection::vec((any::<bool>(), 0..3_u32, 0..3_i32, any::<bool>()), 1..60),
        ) {
            let mut posted = PostedReceives::default();
            let mut expected: Vec<((u32, i32), Mode)> = Vec::new();
            for (is_receive, peer, tag, is_internal) in steps {
                if is_receive {
                    let peer = if peer == 2 { ANYBODY } else { peer };
                    let tag = if tag == 2 { ANY_TAG } else { tag };
                    let mode = if is_internal { Mode::Internal } else { Mode::Nonblocking };
                    let has_room = posted.post((peer, tag), mode);
                    prop_assert_eq!(has_room, expected.len() < 7);
                    if has_room {
                        expected.push(((peer, tag), mode));
                    }
                } else {
                    let message = Message {
                        at: 0,
                        tie_break: TieBreak::START,
                        load: Load::new(1, MessagePart::Eager, Mode::Blocking),
                        peer,
                        tag,
                        next: NIL,
                        other: NIL,
                    };
                    let place = expected.iter().position(|(receive, _)| fits(*receive, &message));
                    let mode = place.map(|place| expected.remove(place).1);
                    prop_assert_eq!(posted.take(&message), mode);
                }
                prop_assert_eq!(posted.len(), expected.len() as u64);
            }
        }
    }
}
