//! `PerfModel`: predictions of the models, for a call and for the whole assembly, while the run goes on.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Mutex;

use cca_ports::{PerfModelPort, PortError, PredictedTime, RStr, Services};
use mastermind_composition::{
    Alternatives, Assembly, Choice, ChooseOptions, Workload, choose_with,
};
use mastermind_models::{Coordinate, Metric, ModelSet, predict};
use mastermind_records::RunFollower;
use std::sync::Arc;

use crate::mastermind::locked;
use crate::samples::is_of_component;
use crate::workload::Calls;

/// Records read at once.
const AT_ONCE: u64 = 4096;

/// Provides `cca.PerfModel`; it answers once it has models, and for the assembly once it follows a run.
#[derive(Default)]
pub struct PerfModel {
    asked: Mutex<Option<PredictionInputs>>,
    /// Names that were returned; they live as long as the process.
    names: Mutex<BTreeSet<&'static str>>,
}

struct PredictionInputs {
    models: ModelSet,
    assembly: Assembly,
    alternatives: Alternatives,
    run: RunFollower,
    calls: Calls,
}

impl PerfModel {
    /// Name of the provides port.
    pub const PORT: &'static str = "perf_model";

    /// Joins a framework through the services of an instance of its own.
    ///
    /// # Errors
    /// Errors of the framework.
    pub fn add(services: &Services) -> Result<Arc<Self>, PortError> {
        let perf_model = Arc::new(Self::default());
        services.add_provides_port::<dyn PerfModelPort, _>(Self::PORT, &perf_model)?;
        Ok(perf_model)
    }

    /// Starts to answer.
    ///
    /// # Arguments
    /// * `directory` - of the logs of this rank
    pub fn answer(
        &self,
        models: ModelSet,
        assembly: Assembly,
        alternatives: Alternatives,
        (directory, rank): (&Path, u32),
    ) {
        *locked(&self.asked) = Some(PredictionInputs {
            models,
            assembly,
            alternatives,
            run: RunFollower::new(directory, Some(rank)),
            calls: Calls::default(),
        });
    }

    fn asked<T>(
        &self,
        work: impl FnOnce(&mut PredictionInputs) -> Result<T, PortError>,
    ) -> Result<T, PortError> {
        match locked(&self.asked).as_mut() {
            Some(asked) => work(asked),
            None => Err(PortError::failed(
                "cannot predict: no models, expected run --records DIR --models FILE",
            )),
        }
    }

    fn lasting(&self, name: &str) -> RStr<'static> {
        let mut names = locked(&self.names);
        if let Some(known) = names.get(name) {
            return RStr::from_str(known);
        }
        let name: &'static str = Box::leak(name.into());
        names.insert(name);
        RStr::from_str(name)
    }
}

impl PredictionInputs {
    /// Reads the new records of the logs.
    fn read_new(&mut self) -> Result<(), PortError> {
        self.run.refresh().map_err(PortError::failed)?;
        loop {
            let calls = &mut self.calls;
            let read = self.run.read_on(AT_ONCE, |record, own| {
                if is_of_component(record) && !record.method.is_mpi() {
                    let seconds = |ns: u64| ns as f64 * 1e-9;
                    calls.add_record(record, seconds(own.wall_ns), seconds(own.mpi_ns));
                }
            });
            if read.is_none() {
                return Ok(());
            }
        }
    }

    fn choice(
        &mut self,
        assembly: &Assembly,
        alternatives: &Alternatives,
    ) -> Result<Choice, PortError> {
        self.read_new()?;
        let mut calls = self.calls.so_far();
        calls.retain(|call| assembly.contains_key(&call.instance));
        if calls.is_empty() {
            return Err(PortError::failed(
                "cannot predict the assembly: no recorded call of it, expected some",
            ));
        }
        let workload = Workload {
            metric: Metric::Wall,
            calls,
        };
        let options = ChooseOptions::default();
        choose_with(&workload, alternatives, assembly, &self.models, &options)
            .map_err(PortError::failed)
    }
}

impl PerfModelPort for PerfModel {
    fn predict(&self, method: RStr<'_>, at: RStr<'_>) -> Result<PredictedTime, PortError> {
        let at = coordinate(&at)?;
        self.asked(|asked| {
            let model = asked.models.find(&method, Metric::Wall, &at);
            let prediction = model.and_then(|model| predict(model, &at));
            let prediction = prediction.map_err(PortError::failed)?;
            Ok(PredictedTime {
                value_s: prediction.value_s,
                lower_s: prediction.lower_s,
                upper_s: prediction.upper_s,
                extrapolated: prediction.extrapolated,
            })
        })
    }

    fn total(&self, instance: RStr<'_>, class: RStr<'_>) -> Result<PredictedTime, PortError> {
        self.asked(|asked| {
            let mut assembly = asked.assembly.clone();
            if !instance.is_empty() {
                let place = assembly.get_mut(instance.as_str());
                *place.ok_or_else(|| unknown(&instance))? = class.to_string();
            }
            let choice = asked.choice(&assembly, &Alternatives::new())?;
            // The spread between runs is unknown here.
            let [lower_s, upper_s] = choice.interval_s.unwrap_or([0.0, f64::INFINITY]);
            Ok(PredictedTime {
                value_s: choice.predicted_s,
                lower_s,
                upper_s,
                extrapolated: choice.instances.iter().any(|row| row.extrapolated),
            })
        })
    }

    fn best(&self, instance: RStr<'_>) -> Result<RStr<'static>, PortError> {
        let class = self.asked(|asked| {
            let (assembly, alternatives) = (asked.assembly.clone(), asked.alternatives.clone());
            let choice = asked.choice(&assembly, &alternatives)?;
            let class = choice.best.get(instance.as_str()).cloned();
            class.ok_or_else(|| unknown(&instance))
        })?;
        Ok(self.lasting(&class))
    }
}

fn unknown(instance: &str) -> PortError {
    PortError::failed(format_args!(
        "cannot predict instance \"{instance}\": unknown, expected one of the assembly"
    ))
}

/// Parameters as a component writes them: `q=4000,axis=y`.
fn coordinate(text: &str) -> Result<Coordinate, PortError> {
    let mut coordinate = Coordinate::new();
    for pair in text.split(',').filter(|pair| !pair.trim().is_empty()) {
        let Some((name, value)) = pair.split_once('=') else {
            return Err(PortError::failed(format_args!(
                "cannot read parameters \"{text}\": \"{pair}\", expected NAME=VALUE"
            )));
        };
        let (name, value) = (name.trim(), value.trim());
        coordinate = match value.parse::<f64>() {
            Ok(number) => coordinate.with(name, number),
            Err(_) => coordinate.with(name, value),
        };
    }
    Ok(coordinate)
}
