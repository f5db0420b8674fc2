//! Records of a method so far, queried while the run goes on.

use crate::{PortError, RStr, RString, RVec, StableAbi, port};

/// One invocation of a method.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, StableAbi)]
pub struct Invocation {
    /// Start, nanoseconds since the start of the run.
    pub start_ns: u64,
    /// Wall time, nanoseconds.
    pub wall_ns: u64,
    /// Wall time without the measured calls made from it, nanoseconds.
    pub exclusive_ns: u64,
    /// Time in MPI, nanoseconds; 0 where [`Invocation::has_mpi`] does not hold.
    pub mpi_ns: u64,
    /// Whether time in MPI was measured.
    pub has_mpi: bool,
    /// Whether the call returned an error or panicked.
    pub failed: bool,
    /// The performance parameters, in the order of the mark-up; of an enumeration the index of the value.
    pub parameters: RVec<f64>,
}

/// Totals of the invocations of a method.
#[repr(C)]
#[derive(Clone, Debug, Default, PartialEq, StableAbi)]
pub struct MethodTotals {
    /// Invocations that ended and were recorded.
    pub calls: u64,
    /// Sum of their wall times, nanoseconds.
    pub inclusive_ns: u64,
    /// Sum of their wall times without the measured calls made from them, nanoseconds.
    pub exclusive_ns: u64,
    /// Sum of their times in MPI, nanoseconds; 0 if it was not measured.
    pub mpi_ns: u64,
    /// Names of the performance parameters.
    pub parameters: RVec<RString>,
}

/// The record objects of a rank's methods. A method is named `instance.method`.
///
/// A component registers a uses port of this interface in `set_services`; the framework connects it to the run's
/// recorder. In a run that is not recorded each query returns an error that says so. A query costs as much as the
/// records since the last one.
#[port(name = "cca.PerfParam", version = "1.0")]
pub trait PerfParamPort {
    /// The methods that were called so far, by name.
    ///
    /// # Errors
    /// The records cannot be read.
    fn methods(&self) -> Result<RVec<RString>, PortError>;

    /// Totals of the invocations of a method so far; zeros before the first.
    ///
    /// # Errors
    /// The records cannot be read.
    fn totals(&self, method: RStr<'_>) -> Result<MethodTotals, PortError>;

    /// Invocations of a method, in the order in which they ended; those of several threads in the order in which a
    /// query found them. An invocation's number never changes, so a caller that skips the known ones gets the new ones.
    ///
    /// # Arguments
    /// * `first` - how many to pass over
    /// * `most` - how many to return at most
    ///
    /// # Errors
    /// The records cannot be read.
    fn invocations(
        &self,
        method: RStr<'_>,
        first: u64,
        most: usize,
    ) -> Result<RVec<Invocation>, PortError>;
}
