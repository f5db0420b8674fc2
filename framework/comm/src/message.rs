//! Argument checks that the operations of all communicators share.

use crate::CommError;

/// Most values that one message or one array may have: MPI counts in a C `int`.
pub const MAX_VALUES: usize = i32::MAX as usize;

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
