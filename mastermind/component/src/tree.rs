//! Combines data of all ranks on the first one, in as many rounds as the number of ranks has binary digits.
//!
//! In round k each rank whose number is an odd multiple of 2^k sends its data to the rank 2^k before it, and is done.
//! These are the data of 2^k consecutive ranks from its own on, or of fewer at the end. So combined data always
//! belong to consecutive ranks, the earlier ones on the left, and a rank stores at most one part in addition to its
//! own.
//!
//! ```text
//! round 0    0 ◄─ 1    2 ◄─ 3    4 ◄─ 5    6
//! round 1    0 ◄────── 2         4 ◄────── 6
//! round 2    0 ◄──────────────── 4
//! ```
//!
//! A message has at most 64 kB: larger ones would be sent by another protocol, whose buffers MPI keeps.

use cca_ports::{CommPort, Completion, PortError, RSliceMut};

use crate::summary::{packed, unpacked};

/// Doubles of a message: 64 kB.
const MAX_WORDS: usize = 8192;

/// Tag of the messages. Arbitrary: no other message of the program is under way during a collective operation.
const TAG: i32 = 4711;

/// Combines data of all ranks on the first one. Collective.
///
/// # Arguments
/// * `own` - the data of this rank
/// * `to_bytes` - serializes them for sending
/// * `join` - adds the bytes of the following ranks to the data of some ranks. It cannot fail, since the ranks before
///   this one wait for it: an error is part of the result
///
/// # Returns
/// The data of all ranks on the first rank, `None` elsewhere.
///
/// # Errors
/// Errors of the communicator.
pub fn join_on_first<T>(
    mut own: T,
    comm: &impl CommPort,
    to_bytes: impl FnOnce(&T) -> Vec<u8>,
    mut join: impl FnMut(&mut T, &[u8]),
) -> Result<Option<T>, PortError> {
    let (rank, size) = (comm.rank()?, comm.size()?);
    let mut distance = 1;
    while distance < size {
        if rank & distance != 0 {
            send(&to_bytes(&own), rank - distance, comm)?;
            return Ok(None);
        }
        if rank + distance < size {
            join(&mut own, &receive(rank + distance, comm)?);
        }
        distance *= 2;
    }
    Ok(Some(own))
}

/// Broadcasts bytes of the first rank. Collective.
///
/// # Arguments
/// * `own` - the bytes on the first rank; ignored elsewhere
///
/// # Errors
/// Errors of the communicator.
pub fn give_to_all(own: &[u8], comm: &impl CommPort) -> Result<Vec<u8>, PortError> {
    let is_first = comm.rank()? == 0;
    let mut words = match is_first {
        true => packed(own),
        false => Vec::new(),
    };
    let mut length = [words.len() as f64];
    comm.broadcast(0, RSliceMut::from_mut_slice(&mut length))?;
    words.resize(length[0] as usize, 0.0);
    for part in words.chunks_mut(MAX_WORDS) {
        comm.broadcast(0, RSliceMut::from_mut_slice(part))?;
    }
    Ok(unpacked(&words))
}

/// Sends the number of words, then the words, in messages of at most [`MAX_WORDS`].
fn send(bytes: &[u8], to: i32, comm: &impl CommPort) -> Result<(), PortError> {
    let words = packed(bytes);
    let length = [words.len() as f64];
    for part in std::iter::once(&length[..]).chain(words.chunks(MAX_WORDS)) {
        let request = comm.send(to, TAG, part.into())?;
        complete(request, comm)?;
    }
    Ok(())
}

fn receive(from: i32, comm: &impl CommPort) -> Result<Vec<u8>, PortError> {
    let next = |length| complete(comm.receive(from, TAG, length)?, comm);
    let length = next(1)?.data.first().map_or(0, |length| *length as usize);
    let mut words = Vec::new();
    while words.len() < length {
        let part = next((length - words.len()).min(MAX_WORDS))?;
        words.extend_from_slice(&part.data);
    }
    Ok(unpacked(&words))
}

/// Waits for one request.
fn complete(request: u64, comm: &impl CommPort) -> Result<Completion, PortError> {
    let mut requests = [request];
    let completed = comm.wait_some(RSliceMut::from_mut_slice(&mut requests))?;
    let first = completed.iter().next().cloned();
    first.ok_or_else(|| PortError::failed("a message that was waited for has not come"))
}
