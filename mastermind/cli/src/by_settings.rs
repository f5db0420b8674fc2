//! Settings of runs as parameters of their calls: what an assembly was told, and the ranks.

use anyhow::Context;
use mastermind_component::{full_name, settings};
use mastermind_models::{CallSink, Error, Parameter, Refused};
use mastermind_records::Run;

/// Gives calls on to another sink with settings of their run as further parameters.
pub struct BySettings<'s, S> {
    sink: &'s mut S,
    parameters: Vec<Parameter>,
    values: Vec<f64>,
    coordinate: Vec<f64>,
}

impl<'s, S: CallSink> BySettings<'s, S> {
    /// # Arguments
    /// * `by` - names of the settings; a parameter is called as it is here
    ///
    /// # Errors
    /// A setting is not there, ambiguous, or no number.
    pub fn new(sink: &'s mut S, run: &Run, by: &[String]) -> anyhow::Result<Self> {
        let settings = settings(run);
        let value = |key: &String| {
            let name = full_name(&settings, key);
            name.map(|name| settings[&name])
                .with_context(|| format!("cannot fit by \"{key}\""))
        };
        let values: Vec<f64> = by.iter().map(value).collect::<anyhow::Result<_>>()?;
        Ok(Self {
            sink,
            // Real, since another run may have a fraction.
            parameters: by.iter().map(|key| Parameter::real(key, "")).collect(),
            values,
            coordinate: Vec::new(),
        })
    }
}

impl<S: CallSink> CallSink for BySettings<'_, S> {
    fn declare(&mut self, method: &str, parameters: &[Parameter]) -> Result<usize, Error> {
        let all: Vec<Parameter> = parameters.iter().chain(&self.parameters).cloned().collect();
        self.sink.declare(method, &all)
    }

    fn clock_step(&mut self, step_s: f64) {
        self.sink.clock_step(step_s);
    }

    fn take(&mut self, method: usize, coordinate: &[f64], seconds: f64) -> Result<(), Refused> {
        self.coordinate.clear();
        self.coordinate
            .extend(coordinate.iter().chain(&self.values));
        self.sink.take(method, &self.coordinate, seconds)
    }
}
