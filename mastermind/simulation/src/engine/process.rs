//! The state of one process.

use super::messages::NIL;

/// When a process waits, or has ended.
pub(super) const NEVER: u64 = u64::MAX;

/// Why a process has no operation due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waits {
    /// It has one.
    No,
    /// For the message of its blocking receive.
    Receive,
    /// For the receiver of its blocking send to be ready.
    Send,
    /// For what it did not wait for before.
    Rest,
    /// For nothing: it has ended.
    Ended,
}

/// A process. The clocks say from when on something is free.
#[derive(Debug, Clone, Copy)]
pub(super) struct Process {
    pub(super) processor: u64,
    pub(super) sending: u64,
    pub(super) receiving: u64,
    /// When its operation is due, [`NEVER`] while it waits.
    pub(super) due: u64,
    /// When that was settled, when what settled it was, and once more.
    pub(super) made: [u64; 3],
    /// Begin of its operation.
    pub(super) since: u64,
    pub(super) work: u64,
    pub(super) overhead: u64,
    /// Its operation.
    pub(super) at: u32,
    /// Messages that have not been looked at, by time.
    pub(super) arrivals: u32,
    /// Messages that no receive was posted for, in order.
    pub(super) early: u32,
    /// Receives that no message came for, in order.
    pub(super) posted: u32,
    /// Nonblocking operations that are not complete, and those inside a collective.
    pub(super) pending: [u16; 2],
    pub(super) waits: Waits,
}

impl Process {
    pub(super) fn new() -> Self {
        Self {
            processor: 0,
            sending: 0,
            receiving: 0,
            due: NEVER,
            made: [0; 3],
            since: 0,
            work: 0,
            overhead: 0,
            at: 0,
            arrivals: NIL,
            early: NIL,
            posted: NIL,
            pending: [0; 2],
            waits: Waits::No,
        }
    }
}
