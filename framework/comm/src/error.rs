//! Errors of the operations of a communicator.

use thiserror::Error;

/// Why an operation of a communicator was not done.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum CommError {
    /// A rank that the communicator does not have.
    #[error("cannot {operation}: rank {found}, expected 0 to {last}")]
    Rank {
        /// The failed operation.
        operation: &'static str,
        /// The rank given.
        found: i32,
        /// The highest rank there is.
        last: i32,
    },
    /// A tag below zero.
    #[error("cannot {operation}: tag {found}, expected 0 or more")]
    Tag {
        /// The failed operation.
        operation: &'static str,
        /// The tag given.
        found: i32,
    },
    /// More values than MPI can count.
    #[error("cannot {operation}: {found} values, expected at most {most}", most = crate::MAX_VALUES)]
    TooLong {
        /// The failed operation.
        operation: &'static str,
        /// Number of values given.
        found: u64,
    },
    /// A message with more values than its receive has room for.
    #[error(
        "cannot receive message from rank {from} with tag {tag}: it has more values than the \
         {wanted} expected{detail}"
    )]
    Truncated {
        /// The sender.
        from: i32,
        /// The tag.
        tag: i32,
        /// Room in values.
        wanted: usize,
        /// The library's text, after a colon, or nothing.
        detail: String,
    },
    /// As [`Truncated`](Self::Truncated), but the library has written the whole message all the same,
    /// past the end of the memory it was given: the process is damaged and must end. Open MPI does
    /// so (seen in 4.1.4) with long messages within a machine.
    #[error(
        "cannot receive message from rank {from} with tag {tag}: MPI wrote {found} values into \
         memory for the {wanted} expected; end this run"
    )]
    Overrun {
        /// The sender.
        from: i32,
        /// The tag.
        tag: i32,
        /// Room in values.
        wanted: usize,
        /// Number of values written.
        found: usize,
    },
    /// A request that was never given out, or was completed before.
    #[error("cannot wait for request {request}: it is not open")]
    UnknownRequest {
        /// The request given.
        request: u64,
    },
    /// A request that another thread waits for at this moment.
    #[error("cannot wait for request {request}: another thread waits for it, expected one")]
    AwaitedRequest {
        /// The request given.
        request: u64,
    },
    /// A receive on one rank for which no send was posted: waiting would never end.
    #[error(
        "cannot receive message from rank 0 with tag {tag}: none was sent, and no other rank can send it"
    )]
    NeverSent {
        /// The tag of the first such receive.
        tag: i32,
    },
    /// An error the MPI library reports, in its words.
    #[error("cannot {operation}: {text}")]
    Library {
        /// The failed operation.
        operation: &'static str,
        /// The library's own text.
        text: String,
    },
    /// A call from another thread than the one that started MPI, if MPI allows only that one.
    #[error(
        "cannot {operation}: called from another thread than the one that started MPI, and this MPI allows one"
    )]
    WrongThread {
        /// The failed operation.
        operation: &'static str,
    },
}
