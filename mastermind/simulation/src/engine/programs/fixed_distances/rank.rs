//! The state of one process.

use crate::engine::outcome::ProcessResult;
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
    pub(super) sending: u64,
    pub(super) receiving: u64,
    /// Begin of its operation.
    pub(super) since: u64,
    pub(super) work: u64,
    pub(super) overhead: u64,
    /// Its step.
    pub(super) at: u32,
    /// Whom it waits for a message from, or [`NIL`].
    pub(super) peer: u32,
    /// Of which tag.
    pub(super) tag: i32,
    /// Whom the message that it sends next is to.
    pub(super) to: u32,
    /// Messages that it has not taken, by time.
    pub(super) arrivals: u32,
    /// Unexpected messages, in order.
    pub(super) unexpected: u32,
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
            sending: 0,
            receiving: 0,
            since: 0,
            work: 0,
            overhead: 0,
            at: 0,
            peer: NIL,
            tag: 0,
            to: NIL,
            arrivals: NIL,
            unexpected: NIL,
            receivers: 0,
            is_redirected: true,
        }
    }

    pub(super) fn has_ended(&self) -> bool {
        self.due == NEVER && self.peer == NIL
    }

    pub(super) fn result(&self) -> ProcessResult {
        ProcessResult {
            finish_ns: self.processor,
            work_ns: self.work,
            overhead_ns: self.overhead,
        }
    }
}
