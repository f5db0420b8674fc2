//! Settings of runs as parameters of their calls: what an assembly was told, and the ranks.

use anyhow::{Context, bail};
use mastermind_composition::{RANKS, Settings};
use mastermind_models::{CallSink, Error, Parameter, Refused};
use mastermind_records::Run;

/// The settings of a run that are numbers: all parameters of its assembly, as `mesh.nx`, and [`RANKS`].
pub fn settings(run: &Run) -> Settings {
    let definition = run.logs().first().map(|log| &log.definitions().run);
    let mut settings = Settings::new();
    for (name, value) in definition.iter().flat_map(|run| &run.parameters) {
        if let Some(number) = value.parse().ok().filter(|number: &f64| number.is_finite()) {
            settings.insert(name.clone(), number);
        }
    }
    settings.insert(
        RANKS.into(),
        definition.map_or(1.0, |run| f64::from(run.ranks)),
    );
    settings
}

/// The full name of a setting: `INSTANCE.KEY` means `INSTANCE.PORT.KEY` too, where only one port has it.
///
/// # Errors
/// No setting of the name is a number, or several are.
pub fn full_name(settings: &Settings, key: &str) -> anyhow::Result<String> {
    if settings.contains_key(key) {
        return Ok(key.into());
    }
    let is_meant = |name: &&String| {
        let (instance, rest) = key.split_once('.').unwrap_or((key, ""));
        let of_instance = name
            .strip_prefix(instance)
            .and_then(|n| n.strip_prefix('.'));
        of_instance.is_some_and(|n| n == rest || n.ends_with(&format!(".{rest}")))
    };
    match settings.keys().filter(is_meant).collect::<Vec<_>>()[..] {
        [name] => Ok(name.clone()),
        [] => bail!("no such number among the run's parameters, expected INSTANCE.KEY"),
        _ => bail!("several ports have it, expected INSTANCE.PORT.KEY"),
    }
}

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
