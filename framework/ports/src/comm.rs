//! The communicator: messages between a component and its peers on other ranks (SCMD).
//!
//! A back end is a component like any other: `cca-comm` holds the serial one, `cca-comm-mpi` the one on MPI.

use crate::{PortError, RSlice, RSliceMut, RVec, StableAbi, port};

/// How `all_reduce` combines values.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, StableAbi)]
pub enum Reduction {
    /// The smallest.
    Min = 0,
    /// The largest.
    Max = 1,
    /// The sum, in an order of the back end's choice.
    Sum = 2,
}

// SAFETY: its variants are numbered from 0 to 2.
unsafe impl cca_abi::Enumeration for Reduction {
    const COUNT: u64 = 3;
}

/// A finished request.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, StableAbi)]
pub struct Completion {
    /// The request, as `send` or `receive` returned it.
    pub request: u64,
    /// Its place in the list given to `wait_some`.
    pub index: usize,
    /// The received data; for a send, the buffer sent, to be used again.
    pub data: RVec<f64>,
}

/// A communicator. Collective operations are called by every rank in the same order.
#[port(name = "cca.Comm", version = "1.0")]
pub trait CommPort {
    /// This process's rank, from 0.
    ///
    /// # Errors
    /// The back end's.
    fn rank(&self) -> Result<i32, PortError>;

    /// Number of ranks.
    ///
    /// # Errors
    /// The back end's.
    fn size(&self) -> Result<i32, PortError>;

    /// The communicator as a Fortran integer handle, for components that call MPI themselves; 0 without MPI.
    ///
    /// # Errors
    /// The back end's.
    fn fortran_handle(&self) -> Result<i32, PortError>;

    /// Waits until every rank is here.
    ///
    /// # Errors
    /// The back end's.
    fn barrier(&self) -> Result<(), PortError>;

    /// Combines `values` elementwise over the ranks; every rank gets the result. The same length on every rank.
    ///
    /// # Errors
    /// The back end's.
    fn all_reduce(&self, reduction: Reduction, values: RSliceMut<'_, f64>)
    -> Result<(), PortError>;

    /// Gives `root`'s `values` to every rank. The same length on every rank.
    ///
    /// # Errors
    /// The back end's.
    fn broadcast(&self, root: i32, values: RSliceMut<'_, f64>) -> Result<(), PortError>;

    /// Collects every rank's `values`, of any length, on `root`.
    ///
    /// # Returns
    /// On `root` one list a rank, in rank order; elsewhere none.
    ///
    /// # Errors
    /// The back end's.
    fn gather(&self, root: i32, values: RSlice<'_, f64>) -> Result<RVec<RVec<f64>>, PortError>;

    /// Begins to send `data`, which the back end keeps until the request is finished.
    ///
    /// # Errors
    /// No such rank; the back end's.
    fn send(&self, to: i32, tag: i32, data: RVec<f64>) -> Result<u64, PortError>;

    /// Begins to receive `length` doubles.
    ///
    /// # Errors
    /// No such rank; the back end's.
    fn receive(&self, from: i32, tag: i32, length: usize) -> Result<u64, PortError>;

    /// Waits until at least one request is finished (`MPI_Waitsome`). Finished ones become 0 in the list, and zeros are
    /// passed over.
    ///
    /// # Returns
    /// The finished requests; none if all are 0.
    ///
    /// # Errors
    /// An unknown request; a message of another length than expected; the back end's.
    fn wait_some(&self, requests: RSliceMut<'_, u64>) -> Result<RVec<Completion>, PortError>;

    /// Ends the run of every rank with an exit code, because this rank cannot continue.
    ///
    /// # Errors
    /// The back end's; else it does not return.
    fn abort(&self, code: i32) -> Result<(), PortError>;
}
