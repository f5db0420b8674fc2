//! All ranks of a program in one call of MPI, as its proxy has them.

use std::ffi::c_void;

use cca_abi::recording::MpiMeeting;

/// All ranks at the end of one call of MPI; they must make the collective calls here in the same
/// order.
#[derive(Debug)]
pub struct Meeting<'a> {
    meeting: &'a MpiMeeting,
}

/// MPI cannot exchange anything, or returned an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot exchange messages between the ranks: MPI reports an error, expected none")]
pub struct MeetingError;

impl<'a> Meeting<'a> {
    /// # Safety
    /// The proxy of MPI passed it, and its call has not returned yet.
    pub unsafe fn new(meeting: &'a MpiMeeting) -> Self {
        Self { meeting }
    }

    /// How many there were so far, this one included.
    pub fn number(&self) -> u64 {
        self.meeting.number
    }

    /// This process's rank.
    pub fn rank(&self) -> u32 {
        self.meeting.rank
    }

    /// Number of ranks.
    pub fn ranks(&self) -> u32 {
        self.meeting.ranks
    }

    /// Adds words up over the ranks, in an order of MPI's choice. Collective.
    ///
    /// # Errors
    /// [`MeetingError`].
    pub fn sum(&self, words: &mut [f64]) -> Result<(), MeetingError> {
        // SAFETY: there are as many words; required of the caller of `new`.
        done(unsafe { (self.meeting.sum)(words.as_mut_ptr(), words.len() as u64) })
    }

    /// Brings bytes of any number to rank 0. Collective.
    ///
    /// # Returns
    /// On rank 0 the bytes of each rank, elsewhere none.
    ///
    /// # Errors
    /// [`MeetingError`].
    pub fn gather(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, MeetingError> {
        let mut gathered: Vec<Vec<u8>> = Vec::new();
        let out = (&raw mut gathered).cast();
        // SAFETY: there are as many bytes; `add` gets the list, which lives until the call returns.
        done(unsafe { (self.meeting.gather)(bytes.as_ptr(), bytes.len() as u64, out, add) })?;
        Ok(gathered)
    }

    /// Gives the bytes of rank 0 to all. Collective.
    ///
    /// # Errors
    /// [`MeetingError`].
    pub fn broadcast(&self, bytes: &mut Vec<u8>) -> Result<(), MeetingError> {
        let mut n = (bytes.len() as u64).to_le_bytes();
        self.broadcast_slice(&mut n)?;
        bytes.resize(u64::from_le_bytes(n) as usize, 0);
        self.broadcast_slice(bytes)
    }

    fn broadcast_slice(&self, bytes: &mut [u8]) -> Result<(), MeetingError> {
        // SAFETY: there are as many bytes; required of the caller of `new`.
        done(unsafe { (self.meeting.broadcast)(bytes.as_mut_ptr(), bytes.len() as u64) })
    }
}

/// # Safety
/// `out` is the list of [`Meeting::gather`], and there are as many bytes.
unsafe extern "C" fn add(out: *mut c_void, bytes: *const u8, n: u64) {
    // SAFETY: required of the caller.
    unsafe {
        let gathered = &mut *out.cast::<Vec<Vec<u8>>>();
        gathered.push(std::slice::from_raw_parts(bytes, n as usize).to_vec());
    }
}

fn done(succeeded: u32) -> Result<(), MeetingError> {
    match succeeded {
        0 => Err(MeetingError),
        _ => Ok(()),
    }
}
