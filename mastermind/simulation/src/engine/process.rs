//! The state of one process.

use super::chain::Chain;
use super::messages::NIL;

/// When a process waits, or has ended.
pub(super) const NEVER: u64 = u64::MAX;

/// Why a process has no operation due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waits {
    /// It has one.
    No,
    /// For the message of its blocking receive, `peer` and `tag`.
    Receive,
    /// For the bytes of its blocking receive, whose request it has answered.
    Bytes,
    /// For the receiver of its blocking send to be ready.
    Send,
    /// For what it did not wait for before.
    Rest,
    /// For a processor of its node.
    Processor,
    /// For nothing: it has ended.
    Ended,
}

/// A process: two cache lines. The clocks say from when on something is free.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(super) struct Process {
    pub(super) processor: u64,
    /// When its operation is due, [`NEVER`] while it waits.
    pub(super) due: u64,
    /// When that was settled.
    pub(super) made: Chain,
    /// Messages on their way: a heap by arrival.
    pub(super) arrivals: u32,
    /// Its operation.
    pub(super) at: u32,
    pub(super) sending: u64,
    pub(super) receiving: u64,
    /// Begin of its operation.
    pub(super) since: u64,
    pub(super) work: u64,
    pub(super) overhead: u64,
    /// Messages that are there and wait for the processor and the receiving interface, and those that wait for the
    /// processor alone: heaps by when they were settled.
    pub(super) waiting: [u32; 2],
    /// The last of the messages that no receive was posted for.
    pub(super) early: u32,
    /// The last of the nonblocking receives that no message came for.
    pub(super) posted: u32,
    /// Whom its blocking receive is from.
    pub(super) peer: u32,
    /// Of which tag.
    pub(super) tag: i32,
    /// Nonblocking operations that are not complete, and those inside a collective.
    pub(super) pending: [u16; 2],
    pub(super) waits: Waits,
}

impl Process {
    /// From when on it can take a message.
    #[inline]
    pub(super) fn free(&self, has_bytes: bool) -> u64 {
        if has_bytes {
            self.processor.max(self.receiving)
        } else {
            self.processor
        }
    }

    pub(super) fn new() -> Self {
        Self {
            processor: 0,
            due: NEVER,
            made: Chain::START,
            arrivals: NIL,
            waiting: [NIL; 2],
            at: 0,
            sending: 0,
            receiving: 0,
            since: 0,
            work: 0,
            overhead: 0,
            early: NIL,
            posted: NIL,
            peer: NIL,
            tag: 0,
            pending: [0; 2],
            waits: Waits::No,
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_process_is_two_cache_lines() {
        assert_eq!(size_of::<super::Process>(), 128);
        assert_eq!(size_of::<super::super::messages::Message>(), 64);
    }
}
