//! What the operations of all communicators share: reductions, completed requests, argument checks.

use cca_abi::RVec;

use crate::CommError;

/// Most values that one message or one array may have: MPI counts in a C `int`.
pub const MAX_VALUES: usize = i32::MAX as usize;

/// How `all_reduce` makes one value of the ranks' values, element by element.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// The least.
    Min = 0,
    /// The greatest.
    Max = 1,
    /// The sum; its rounding depends on the number of ranks.
    Sum = 2,
}

/// A send or receive that has ended.
#[repr(C)]
#[derive(Clone, Debug, PartialEq)]
pub struct Completion {
    /// The request as it was given out.
    pub request: u64,
    /// Its position in the array that was waited for.
    pub index: usize,
    /// For a receive the values that came, which may be fewer than there was room for; for a send
    /// the values sent, so that the memory can be used again.
    pub data: RVec<f64>,
}

/// Checks that `rank` is one of `size` ranks.
///
/// # Errors
/// [`CommError::Rank`] if it is not.
pub fn check_rank(operation: &'static str, rank: i32, size: i32) -> Result<(), CommError> {
    if (0..size).contains(&rank) {
        Ok(())
    } else {
        Err(CommError::Rank {
            operation,
            found: rank,
            last: size - 1,
        })
    }
}

/// Checks that `tag` is not negative: negative tags are MPI's own.
///
/// # Errors
/// [`CommError::Tag`] if it is.
pub fn check_tag(operation: &'static str, tag: i32) -> Result<(), CommError> {
    if tag >= 0 {
        Ok(())
    } else {
        Err(CommError::Tag {
            operation,
            found: tag,
        })
    }
}

/// Checks that MPI can count `length` values.
///
/// # Returns
/// The length as MPI takes it.
///
/// # Errors
/// [`CommError::TooLong`] above [`MAX_VALUES`].
pub fn check_length(operation: &'static str, length: usize) -> Result<i32, CommError> {
    i32::try_from(length).map_err(|_| CommError::TooLong {
        operation,
        found: length as u64,
    })
}
