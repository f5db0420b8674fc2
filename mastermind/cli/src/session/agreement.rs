//! Agreement of ranks after an operation that may have ended on some of them and still run, possibly for ever, on
//! others.
//!
//! Collective operations of the communicator could meet those that a component has left half-way. So the verdicts go as
//! messages with a tag of their own to the first rank, which sends the count back. A rank on which the operation failed
//! waits with a limit: a rank that has not ended by then waits for this one, and the run is ended.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use anyhow::Context;
use cca_ports::{CommPort, PortError, RSliceMut, RVec};

use super::framework::{COMM, COMM_PORT, Session};

/// Tag of the messages: the largest that every MPI allows, so that no component uses it by chance.
///
/// # Source
/// MPI 4.1, section 9.1.2: `MPI_TAG_UB` is at least 32767.
const TAG: i32 = 32767;

/// How long a rank with a failure waits for others to end too. Arbitrary: ranks with the same failure end at one
/// collective operation, within milliseconds. A run that must be ended ends that much later.
const PATIENCE: Duration = Duration::from_secs(5);

/// The number of ranks on which an operation failed, after all have ended it.
///
/// # Arguments
/// * `give_up` - called by a thread of its own if it failed on this rank and another does not end; it ends the process
///
/// # Errors
/// The communicator's.
pub fn count_failed(
    session: &Session,
    has_failed: bool,
    give_up: impl FnOnce() + Send + 'static,
) -> anyhow::Result<u32> {
    if session.size == 1 {
        return Ok(u32::from(has_failed));
    }
    let (done, wait) = channel::<()>();
    let watch = has_failed.then(|| {
        thread::Builder::new()
            .name("agreement".into())
            .spawn(move || {
                if wait.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                    give_up();
                }
            })
    });
    let watch = watch
        .transpose()
        .context("cannot wait for the other ranks: no thread")?;
    let (rank, size) = (session.rank, session.size);
    let counted = session
        .framework
        .with_port::<dyn CommPort, _>(COMM, COMM_PORT, |comm| {
            exchange(comm, rank, size, has_failed)
        });
    drop(done);
    if let Some(watch) = watch {
        let _ = watch.join();
    }
    Ok(counted?? as u32)
}

fn exchange(
    comm: &impl CommPort,
    rank: i32,
    size: i32,
    has_failed: bool,
) -> Result<f64, PortError> {
    let own = f64::from(u8::from(has_failed));
    if rank > 0 {
        wait_for(comm, comm.send(0, TAG, RVec::from(vec![own]))?)?;
        return wait_for(comm, comm.receive(0, TAG, 1)?);
    }
    let mut sum = own;
    for from in 1..size {
        sum += wait_for(comm, comm.receive(from, TAG, 1)?)?;
    }
    for to in 1..size {
        wait_for(comm, comm.send(to, TAG, RVec::from(vec![sum]))?)?;
    }
    Ok(sum)
}

/// Waits for a message.
///
/// # Returns
/// The number in it.
fn wait_for(comm: &impl CommPort, request: u64) -> Result<f64, PortError> {
    let mut requests = [request];
    let completed = comm.wait_some(RSliceMut::from_mut_slice(&mut requests))?;
    let data = completed
        .first()
        .and_then(|done| done.data.first().copied());
    data.ok_or_else(|| PortError::failed("a message without a number, expected one"))
}
