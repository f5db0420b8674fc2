//! Predictions of the components' models, queried while the run goes on.

use crate::{PortError, RStr, StableAbi, port};

/// A predicted time with its interval.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, StableAbi)]
pub struct PredictedTime {
    /// Seconds.
    pub value_s: f64,
    /// Lower end of the 95 % interval, seconds, at least 0.
    pub lower_s: f64,
    /// Upper end, seconds; infinite if the models give none.
    pub upper_s: f64,
    /// Whether a parameter is outside the measured range.
    pub extrapolated: bool,
}

/// The models of the components and of the whole assembly, for components that ask while the application runs.
///
/// A framework service: a uses port of this interface is led to it. The records of this rank count, each read once.
/// All arguments and results are plain, so that components in C can ask (`cca_perf_model` in `cca.h`).
#[port(name = "cca.PerfModel", version = "1.0")]
pub trait PerfModelPort {
    /// The time of one call of a method of a class.
    ///
    /// # Arguments
    /// * `method` - `CLASS::PORT.METHOD`, as in models
    /// * `at` - its performance parameters, `q=4000,axis=y`; empty for a method without
    ///
    /// # Errors
    /// No models; none of this method, or not with these parameters.
    fn predict(&self, method: RStr<'_>, at: RStr<'_>) -> Result<PredictedTime, PortError>;

    /// The exclusive time of all calls recorded so far on this rank, if an instance were of another
    /// class.
    ///
    /// # Arguments
    /// * `instance` - its name; empty for none
    /// * `class` - the class that would replace its own
    ///
    /// # Errors
    /// No models; nothing recorded; a call without a model.
    fn total(&self, instance: RStr<'_>, class: RStr<'_>) -> Result<PredictedTime, PortError>;

    /// The class that would be fastest at an instance for the calls recorded so far, among those that the assembly
    /// allows and that have models; the present one if there is no other. It lives as long as the process.
    ///
    /// # Errors
    /// No models; no such instance, or no call of it.
    fn best(&self, instance: RStr<'_>) -> Result<RStr<'static>, PortError>;
}
