//! What a run called, and which classes could have answered.

use std::collections::BTreeMap;

use mastermind_models::{Coordinate, Metric};
use serde::Serialize;

/// Instance name to class name.
pub type Assembly = BTreeMap<String, String>;

/// Instance name to the classes that may take its place.
pub type Alternatives = BTreeMap<String, Vec<String>>;

/// All calls of one method of one instance at one coordinate.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The instance called.
    pub instance: String,
    /// The class it had when it was called.
    pub class: String,
    /// The method, `PORT.METHOD`: "flux.compute".
    pub port_method: String,
    /// Values of the performance parameters.
    pub coordinate: Coordinate,
    /// How often, over all ranks.
    pub count: u64,
    /// Time of all these calls, seconds, in the workload's metric.
    pub measured_s: f64,
    /// The same as processor time: about their number times the median of one, which calls that waited for the processor do
    /// not move.
    pub processor_s: f64,
    /// Of `processor_s` what they computed: the same without time in MPI.
    pub computation_s: f64,
    /// Of `measured_s` what they spent in MPI: moving data, and waiting for other ranks.
    pub mpi_s: f64,
}

/// The calls of a run.
///
/// Times of calls are added. Either no call here contains another, or the metric and the models are
/// of exclusive time; otherwise the inner call is counted twice.
#[derive(Debug, Clone, PartialEq)]
pub struct Workload {
    /// The time that was measured and is to be predicted.
    pub metric: Metric,
    /// The calls, in any order; the same coordinate may come several times.
    pub calls: Vec<Call>,
}

impl Call {
    /// The call and how many of it there are.
    pub(crate) fn counted(&self) -> (&Self, f64) {
        (self, self.count as f64)
    }

    /// What these calls took.
    pub(crate) fn recorded(&self) -> Recorded {
        Recorded {
            processor_s: self.processor_s,
            wall_s: self.measured_s,
            computation_s: self.computation_s,
            mpi_s: self.mpi_s,
        }
    }
}

impl Workload {
    /// What all calls took together.
    pub fn recorded(&self) -> Recorded {
        let sum = |of: fn(&Call) -> f64| self.calls.iter().map(of).sum();
        Recorded {
            processor_s: sum(|call| call.processor_s),
            wall_s: sum(|call| call.measured_s),
            computation_s: sum(|call| call.computation_s),
            mpi_s: sum(|call| call.mpi_s),
        }
    }
}

/// What calls took when they were recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Recorded {
    /// Processor time, seconds: of each kind of call its number times the median of one.
    pub processor_s: f64,
    /// Wall time, seconds, with what calls waited for the processor.
    pub wall_s: f64,
    /// Of the processor time that of computing, without MPI, seconds.
    pub computation_s: f64,
    /// Of the wall time that in MPI, seconds.
    pub mpi_s: f64,
}

impl Recorded {
    /// Wall seconds for each processor second; None without any.
    pub fn wall_ratio(&self) -> Option<f64> {
        (self.processor_s > 0.0).then(|| self.wall_s / self.processor_s)
    }
}

/// Name of the model of a method of a class: `hydro.GodunovFlux::flux.compute`.
pub fn model_name(class: &str, port_method: &str) -> String {
    format!("{class}::{port_method}")
}
