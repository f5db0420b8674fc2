//! Settings of runs as parameters of their calls: parameters of an assembly, arguments of a wrapped program, names that a user gave, and the
//! ranks.

use anyhow::Context;
use mastermind_component::{full_name, settings};
use mastermind_composition::Settings;
use mastermind_models::{CallSink, Error, Parameter, Refused};
use mastermind_records::Run;

use crate::run_notes::argument;

/// Passes calls on to another sink with settings of their run as further parameters.
pub struct BySettings<'s, S> {
    sink: &'s mut S,
    parameters: Vec<Parameter>,
    values: Vec<f64>,
    coordinate: Vec<f64>,
}

impl<'s, S: CallSink> BySettings<'s, S> {
    /// # Arguments
    /// * `by` - names of the settings, which become the names of the parameters
    ///
    /// # Errors
    /// A setting does not exist, is ambiguous, or is no number.
    pub fn new(sink: &'s mut S, run: &Run, by: &[String]) -> anyhow::Result<Self> {
        let settings = all_settings(run);
        let value = |key: &String| {
            let name = full_name(&settings, key);
            name.map(|name| settings[&name])
                .with_context(|| format!("cannot fit records \"{}\" by \"{key}\"", folder(run)))
        };
        let values: Vec<f64> = by.iter().map(value).collect::<anyhow::Result<_>>()?;
        Ok(Self {
            sink,
            // Real, since another run may have a fraction as its value.
            parameters: by.iter().map(|key| Parameter::real(key, "")).collect(),
            values,
            coordinate: Vec::new(),
        })
    }
}

/// The settings of a run, and the arguments of a wrapped program, as far as they are numbers.
fn all_settings(run: &Run) -> Settings {
    let mut all = settings(run);
    let logs = run.logs().iter();
    let mut circumstances = logs.filter_map(|log| log.definitions().circumstances.as_ref());
    let arguments = circumstances.next().map(|found| found.arguments());
    for (place, word) in arguments.unwrap_or_default().iter().enumerate() {
        if let Some(number) = word.parse().ok().filter(|number: &f64| number.is_finite()) {
            all.insert(argument(place + 1), number);
        }
    }
    all
}

/// Where the records are.
fn folder(run: &Run) -> String {
    let log = run.logs().first();
    let folder = log.and_then(|log| log.path().parent());
    folder.map_or_else(String::new, |folder| folder.display().to_string())
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
