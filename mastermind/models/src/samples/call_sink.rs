//! A sink for measured calls, one at a time.

use crate::error::Error;
use crate::samples::parameter::Parameter;
use crate::samples::sample::{Refused, SampleSet};

/// A sink for calls: samples to be fitted, or a count of calls that a model predicted well.
pub trait CallSink {
    /// Declares a method and returns its number; declaring it again with the same parameters returns the same number.
    ///
    /// # Errors
    /// [`Error::ParametersDiffer`] if the method is known with other parameters.
    fn declare(&mut self, method: &str, parameters: &[Parameter]) -> Result<usize, Error>;

    /// Sets the step of the clock of the following calls, seconds: the possible error of each of their times.
    fn clock_step(&mut self, step_s: f64) {
        let _ = step_s;
    }

    /// Takes one call.
    ///
    /// # Arguments
    /// * `method` - number from [`CallSink::declare`]
    /// * `coordinate` - shape `[n_params]`, enumerations as the index of the label
    /// * `seconds` - the time of the call
    ///
    /// # Errors
    /// [`Refused`] with the reason why the call was not taken.
    fn take(&mut self, method: usize, coordinate: &[f64], seconds: f64) -> Result<(), Refused>;

    /// Takes several calls of a method, one after the other; refused calls are left out.
    ///
    /// # Arguments
    /// * `coordinates` - shape `[n_calls][n_params]`
    /// * `seconds` - shape `[n_calls]`
    fn take_all(&mut self, method: usize, coordinates: &[f64], seconds: &[f64]) {
        let n_params = coordinates.len() / seconds.len().max(1);
        for (call, seconds) in seconds.iter().enumerate() {
            let coordinate = &coordinates[call * n_params..][..n_params];
            // The sink counts refused calls.
            let _ = self.take(method, coordinate, *seconds);
        }
    }
}

impl CallSink for SampleSet {
    fn declare(&mut self, method: &str, parameters: &[Parameter]) -> Result<usize, Error> {
        SampleSet::declare(self, method, parameters)
    }

    fn clock_step(&mut self, step_s: f64) {
        self.set_clock_step(step_s);
    }

    fn take(&mut self, method: usize, coordinate: &[f64], seconds: f64) -> Result<(), Refused> {
        self.push(method, coordinate, seconds)
    }

    fn take_all(&mut self, method: usize, coordinates: &[f64], seconds: &[f64]) {
        self.push_all(method, coordinates, seconds);
    }
}
