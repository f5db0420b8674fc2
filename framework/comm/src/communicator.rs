//! The operations of a communicator, whichever back end it has, and the port that offers them to
//! components.

use cca_abi::RVec;
use cca_ports::{CommPort, Completion, PortError, RSlice, RSliceMut, Reduction};

use crate::CommError;

/// A communicator; [`CommPort`] documents the operations.
pub trait Communicator: Send + Sync + 'static {
    /// This process among the ranks, from 0.
    fn rank(&self) -> i32;
    /// Number of ranks.
    fn size(&self) -> i32;
    /// The communicator for components that call MPI themselves, as Fortran's integer; 0 without MPI.
    fn fortran_handle(&self) -> i32;
    /// Waits for all ranks.
    ///
    /// # Errors
    /// The back end's.
    fn barrier(&self) -> Result<(), CommError>;
    /// Replaces each value by the reduction over all ranks.
    ///
    /// # Errors
    /// [`CommError::TooLong`]; the back end's.
    fn all_reduce(&self, reduction: Reduction, values: &mut [f64]) -> Result<(), CommError>;
    /// Replaces the values of all ranks by those of `root`.
    ///
    /// # Errors
    /// [`CommError::Rank`], [`CommError::TooLong`]; the back end's.
    fn broadcast(&self, root: i32, values: &mut [f64]) -> Result<(), CommError>;
    /// Collects the values of all ranks on `root`: one array per rank there, none elsewhere.
    ///
    /// # Errors
    /// [`CommError::Rank`], [`CommError::TooLong`]; the back end's.
    fn gather(&self, root: i32, values: &[f64]) -> Result<Vec<Vec<f64>>, CommError>;
    /// Posts a message and returns without waiting; the data comes back with the completed request.
    ///
    /// # Errors
    /// [`CommError::Rank`], [`CommError::Tag`], [`CommError::TooLong`]; the back end's.
    fn send(&self, to: i32, tag: i32, data: RVec<f64>) -> Result<u64, CommError>;
    /// Posts a receive of at most `length` values and returns without waiting.
    ///
    /// # Errors
    /// [`CommError::Rank`], [`CommError::Tag`], [`CommError::TooLong`]; the back end's.
    fn receive(&self, from: i32, tag: i32, length: usize) -> Result<u64, CommError>;
    /// Waits until at least one of `requests` has ended, and returns all that have; those become 0, and zeros are passed
    /// over.
    ///
    /// # Errors
    /// [`CommError::UnknownRequest`] (nothing is changed); [`CommError::Truncated`] and the back end's for a message that
    /// failed (that request is closed and set to 0; the others that have ended are returned by the next call).
    fn wait_some(&self, requests: &mut [u64]) -> Result<Vec<Completion>, CommError>;
    /// Ends all ranks at once, with `code` as the exit code of the run.
    fn abort(&self, code: i32) -> !;
}

impl From<CommError> for PortError {
    fn from(error: CommError) -> Self {
        PortError::failed(error)
    }
}

/// A communicator as the provider of a `cca.Comm` port.
#[derive(Debug, Default)]
pub struct Provided<C>(pub C);

impl<C: Communicator> CommPort for Provided<C> {
    fn rank(&self) -> Result<i32, PortError> {
        Ok(self.0.rank())
    }

    fn size(&self) -> Result<i32, PortError> {
        Ok(self.0.size())
    }

    fn fortran_handle(&self) -> Result<i32, PortError> {
        Ok(self.0.fortran_handle())
    }

    fn barrier(&self) -> Result<(), PortError> {
        Ok(self.0.barrier()?)
    }

    fn all_reduce(
        &self,
        reduction: Reduction,
        values: RSliceMut<'_, f64>,
    ) -> Result<(), PortError> {
        Ok(self.0.all_reduce(reduction, values.into_mut_slice())?)
    }

    fn broadcast(&self, root: i32, values: RSliceMut<'_, f64>) -> Result<(), PortError> {
        Ok(self.0.broadcast(root, values.into_mut_slice())?)
    }

    fn gather(&self, root: i32, values: RSlice<'_, f64>) -> Result<RVec<RVec<f64>>, PortError> {
        let gathered = self.0.gather(root, values.as_slice())?;
        Ok(gathered.into_iter().map(RVec::from).collect())
    }

    fn send(&self, to: i32, tag: i32, data: RVec<f64>) -> Result<u64, PortError> {
        Ok(self.0.send(to, tag, data)?)
    }

    fn receive(&self, from: i32, tag: i32, length: usize) -> Result<u64, PortError> {
        Ok(self.0.receive(from, tag, length)?)
    }

    fn wait_some(&self, requests: RSliceMut<'_, u64>) -> Result<RVec<Completion>, PortError> {
        Ok(self.0.wait_some(requests.into_mut_slice())?.into())
    }

    fn abort(&self, code: i32) -> Result<(), PortError> {
        self.0.abort(code)
    }
}
