//! Common parts of events: their order in time, the order of those of one nanosecond, and the queues of messages.
//!
//! * `tie_break`: which of two events of one nanosecond comes first;
//! * `calendar`: which process is visited in which window of time; `queue`: single events in order, for schedules;
//!   `occupied`: which buckets of such a ring are not empty;
//! * `messages`: the message pool; `heap`: those in flight, in order of arrival; `lists`: unexpected messages and
//!   posted receives, matched by sender and tag; `key_index`: the index of a long list; `posted`: the first posted
//!   receives of a process, in a cache line; `slab`: the waiting entries in the lists of schedules;
//! * `shared_links`: the turns of messages at links that lead out of a switch or a group;
//! * `prefetch`: memory that a large run touches in no order.
//!
//! # Decisions
//!
//! No operation of the engines takes more than the logarithm of the number of waiting entries
//! (`events`: `heap`, `lists`). Messages in flight are a heap by arrival; one that arrives before
//! the process can take it moves, once, to a heap of those that wait for the same resource, by
//! tie-break key. Unexpected messages and posted receives are lists in order; a long list has an
//! index by sender and tag.

pub(crate) mod calendar;
pub(crate) mod heap;
pub(crate) mod key_index;
pub(crate) mod lists;
pub(crate) mod messages;
pub(crate) mod occupied;
pub(crate) mod posted;
pub(crate) mod prefetch;
pub(crate) mod queue;
pub(crate) mod shared_links;
pub(crate) mod slab;
pub(crate) mod tie_break;

/// When something happens that does not.
pub(crate) const NEVER: u64 = u64::MAX;
