//! The calls of a run, and the classes that could answer them.

use std::collections::BTreeMap;

use mastermind_models::{Coordinate, Metric};
use serde::Serialize;

/// Instance name to class name.
pub type Assembly = BTreeMap<String, String>;

/// Instance name to its candidate classes.
pub type Alternatives = BTreeMap<String, Vec<String>>;

/// All calls of one method of one instance at one coordinate.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The instance called.
    pub instance: String,
    /// The class of the instance when it was called.
    pub class: String,
    /// The method, `PORT.METHOD`: "flux.compute".
    pub port_method: String,
    /// Values of the performance parameters.
    pub coordinate: Coordinate,
    /// Number of calls, over all ranks.
    pub count: u64,
    /// Time of all these calls, seconds, in the workload's metric.
    pub measured_s: f64,
    /// Total processor time: about the number of calls times the median of one, so calls that waited for the processor
    /// do not affect it.
    pub processor_s: f64,
    /// The part of `processor_s` spent computing, without MPI.
    pub computation_s: f64,
    /// The part of `measured_s` spent in MPI: transfers, and waiting for other ranks.
    pub mpi_s: f64,
}

/// The calls of a run.
///
/// The times of calls are added. So either no call in the workload contains another, or the metric and the models are
/// of exclusive time; otherwise inner calls are counted twice.
#[derive(Debug, Clone, PartialEq)]
pub struct Workload {
    /// The measured time that is to be predicted.
    pub metric: Metric,
    /// The calls, in any order; a coordinate may occur several times.
    pub calls: Vec<Call>,
}

impl Call {
    /// The call and its count.
    pub(crate) fn counted(&self) -> (&Self, f64) {
        (self, self.count as f64)
    }

    /// Measured times of these calls.
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
    /// Total measured times of all calls.
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

/// Measured times of calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Recorded {
    /// Processor time, seconds: for each group of calls, their number times the median of one.
    pub processor_s: f64,
    /// Wall time, seconds, including waits for the processor.
    pub wall_s: f64,
    /// The part of the processor time spent computing, without MPI, seconds.
    pub computation_s: f64,
    /// The part of the wall time spent in MPI, seconds.
    pub mpi_s: f64,
}

impl Recorded {
    /// Ratio of wall time to processor time; None without processor time.
    pub fn wall_ratio(&self) -> Option<f64> {
        (self.processor_s > 0.0).then(|| self.wall_s / self.processor_s)
    }
}

/// Name of the model of a method of a class: `hydro.GodunovFlux::flux.compute`.
pub fn model_name(class: &str, port_method: &str) -> String {
    format!("{class}::{port_method}")
}
