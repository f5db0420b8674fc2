//! The state of one process.

use std::collections::VecDeque;

use crate::events::NEVER;
use crate::events::messages::NIL;
use crate::events::tie_break::TieBreak;

/// Why a process has no operation due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WaitState {
    /// It has one: it is ready.
    Ready,
    /// For the message of its blocking receive, `peer` and `tag`.
    Receive,
    /// For the data of its blocking receive, whose request to send it has answered.
    Data,
    /// For the receiver of its blocking send to be ready.
    Send,
    /// For its nonblocking operations.
    Pending,
    /// For a processor of its node.
    Processor,
    /// For nothing: it has ended.
    Ended,
}

/// A process: two cache lines. A clock is the time from which on its resource is free.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(crate) struct Process {
    pub(crate) processor: u64,
    /// When its operation is due, [`NEVER`] while it waits.
    pub(crate) due: u64,
    /// Tie-break key of that.
    pub(crate) tie_break: TieBreak,
    /// Messages in flight: a heap by arrival.
    pub(crate) arrivals: u32,
    /// Its operation.
    pub(crate) at: u32,
    pub(crate) sending: u64,
    pub(crate) receiving: u64,
    /// Begin of its operation.
    pub(crate) since: u64,
    pub(crate) work: u64,
    pub(crate) overhead: u64,
    /// Messages that are there and wait for the processor and the receiving interface, and those that wait for the
    /// processor alone: heaps by tie-break key.
    pub(crate) waiting: [u32; 2],
    /// The last of its unexpected messages.
    pub(crate) unexpected: u32,
    /// The last of the nonblocking receives that no message came for.
    pub(crate) posted: u32,
    /// Source of its blocking receive, or destination of the send that is due: [`NIL`] for no rank.
    pub(crate) peer: u32,
    /// The tag of that message.
    pub(crate) tag: i32,
    /// Nonblocking operations that are not complete, and those inside a collective.
    pub(crate) pending: [u16; 2],
    pub(crate) wait_state: WaitState,
}

/// The nonblocking receives of a process, where its program waits for any of them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Completions {
    /// How many are not complete.
    pub(crate) n_open: u32,
    /// The senders of those that are complete and that no wait took, in order.
    pub(crate) senders: VecDeque<u32>,
}

impl Process {
    /// From when on it can take a message.
    #[inline]
    pub(crate) fn free(&self, has_bytes: bool) -> u64 {
        if has_bytes {
            self.processor.max(self.receiving)
        } else {
            self.processor
        }
    }

    pub(crate) fn new() -> Self {
        Self {
            processor: 0,
            due: NEVER,
            tie_break: TieBreak::START,
            arrivals: NIL,
            waiting: [NIL; 2],
            at: 0,
            sending: 0,
            receiving: 0,
            since: 0,
            work: 0,
            overhead: 0,
            unexpected: NIL,
            posted: NIL,
            peer: NIL,
            tag: 0,
            pending: [0; 2],
            wait_state: WaitState::Ready,
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_process_is_two_cache_lines() {
        assert_eq!(size_of::<super::Process>(), 128);
        assert_eq!(size_of::<crate::events::messages::Message>(), 64);
    }
}
