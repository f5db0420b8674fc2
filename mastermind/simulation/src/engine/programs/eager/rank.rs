//! The state of one process.

use crate::engine::outcome::ProcessResult;
use crate::engine::programs::process::WaitState;
use crate::events::NEVER;
use crate::events::messages::NIL;
use crate::events::tie_break::TieBreak;

/// A process: two cache lines. The clocks say from when on something is free.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(super) struct Rank {
    pub(super) processor: u64,
    /// When its operation is due, [`NEVER`] while it waits.
    pub(super) due: u64,
    /// Tie-break key of that.
    pub(super) tie_break: TieBreak,
    pub(super) receiving: u64,
    pub(super) sending: u64,
    /// Begin of its operation.
    pub(super) since: u64,
    pub(super) work: u64,
    pub(super) overhead: u64,
    /// Its step.
    pub(super) at: u32,
    /// Whom it waits for a message from, or sends the one to that is due.
    pub(super) peer: u32,
    /// Of which tag.
    pub(super) tag: i32,
    /// Messages on their way: a heap by arrival.
    pub(super) arrivals: u32,
    /// Messages that are there and wait for the processor and the interface: a heap by tie-break key.
    pub(super) waiting: u32,
    /// The last of its unexpected messages.
    pub(super) unexpected: u32,
    /// The last of the nonblocking receives that no message came for and that found no place in line.
    pub(super) posted: u32,
    /// Nonblocking receives that are not complete, and those inside a collective.
    pub(super) pending: [u16; 2],
    pub(super) wait_state: WaitState,
    /// Whom it may send to, as [`Bound`](crate::engine::programs::horizon::Bound) has it.
    pub(super) receivers: u8,
    /// Whether that is to be found anew.
    pub(super) is_redirected: bool,
}

impl Rank {
    pub(super) fn new() -> Self {
        Self {
            processor: 0,
            due: NEVER,
            tie_break: TieBreak::START,
            receiving: 0,
            sending: 0,
            since: 0,
            work: 0,
            overhead: 0,
            at: 0,
            peer: NIL,
            tag: 0,
            arrivals: NIL,
            waiting: NIL,
            unexpected: NIL,
            posted: NIL,
            pending: [0; 2],
            wait_state: WaitState::Ready,
            receivers: 0,
            is_redirected: true,
        }
    }

    /// From when on it can take a message.
    #[inline(always)]
    pub(super) fn free(&self) -> u64 {
        self.processor.max(self.receiving)
    }

    pub(super) fn result(&self) -> ProcessResult {
        ProcessResult {
            finish_ns: self.processor,
            work_ns: self.work,
            overhead_ns: self.overhead,
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_process_is_two_cache_lines() {
        assert_eq!(size_of::<super::Rank>(), 128);
    }
}
