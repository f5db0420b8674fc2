//! `mastermind fit`: models of the recorded methods.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use mastermind_component::samples;
use mastermind_models::{Metric, Model, ModelSet, SampleSet, Samples};

use crate::output;

/// Fit models to the records of one or several runs.
#[derive(Args)]
#[command(
    after_help = "Example: mastermind fit records-godunov records-efm -o models.json --method flux.compute"
)]
pub struct Fit {
    /// Record directories
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    /// Where the models go
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Only methods with this name, or whose name CLASS::PORT.METHOD ends in it
    #[arg(long, value_name = "NAME")]
    method: Option<String>,
    /// Which time; wall time is without that of the measured calls made from it
    #[arg(long, value_enum, default_value_t = MetricName::Wall)]
    metric: MetricName,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum MetricName {
    Wall,
    Mpi,
    Compute,
}

impl From<MetricName> for Metric {
    fn from(name: MetricName) -> Self {
        match name {
            MetricName::Wall => Metric::Wall,
            MetricName::Mpi => Metric::Mpi,
            MetricName::Compute => Metric::Compute,
        }
    }
}

impl Fit {
    /// Fits the models.
    ///
    /// # Errors
    /// There are no records; no method of the name; the output cannot be written.
    pub fn execute(self) -> anyhow::Result<ExitCode> {
        let samples = self.samples()?;
        let mut models = Vec::new();
        let mut failures = Vec::new();
        for samples in &samples {
            match mastermind_models::fit(samples) {
                Ok(fitted) => models.extend(fitted),
                Err(error) => failures.push(anyhow::Error::from(error)),
            }
        }
        for failure in &failures {
            eprint!("{}", crate::errors::worded(failure));
        }
        let models = ModelSet { models };
        if let Some(path) = &self.output {
            fs::write(path, models.to_json()?)
                .with_context(|| format!("cannot write models \"{}\"", path.display()))?;
        }
        if self.json {
            output::line(models.to_json()?);
        } else {
            output::line(table(&models.models));
        }
        Ok(if failures.is_empty() {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        })
    }

    fn samples(&self) -> anyhow::Result<Vec<Samples>> {
        let metric = Metric::from(self.metric);
        let mut set = SampleSet::new(metric);
        for input in &self.inputs {
            samples(&super::profile::open(input)?, &mut set, metric)?;
        }
        let mut found = set.finish();
        let known: Vec<_> = found.iter().map(|samples| samples.method.clone()).collect();
        if let Some(name) = &self.method {
            found.retain(|samples| names(&samples.method, name));
        }
        match (&self.method, found.is_empty()) {
            (Some(name), true) => {
                bail!(
                    "cannot fit \"{name}\": no calls recorded, expected one of {}",
                    known.join(", ")
                )
            }
            (None, true) => {
                bail!("cannot fit {metric} time: none recorded, expected calls that have it")
            }
            _ => Ok(found),
        }
    }
}

/// Whether `CLASS::PORT.METHOD` is meant by a name: it, or an end of it that begins at a part.
pub(super) fn names(method: &str, name: &str) -> bool {
    let rest = method.strip_suffix(name);
    rest.is_some_and(|rest| rest.is_empty() || rest.ends_with("::") || rest.ends_with('.'))
}

fn table(models: &[Model]) -> String {
    let rows = models.iter().map(|model| {
        let mode: Vec<_> = model
            .mode
            .iter()
            .map(|(name, label)| format!("{name}={label}"))
            .collect();
        let range: Vec<_> = model
            .range
            .iter()
            .map(|(name, [lower, upper])| format!("{name} {lower} to {upper}"))
            .collect();
        let notes: Vec<_> = model.notes.iter().map(ToString::to_string).collect();
        vec![
            model.method.clone(),
            mode.join(" "),
            format!("{} s", model.expression),
            model.r2.map_or_else(String::new, |r2| format!("{r2:.4}")),
            model
                .cv_smape
                .map_or_else(String::new, |smape| format!("{smape:.2}")),
            model.n_records.to_string(),
            range.join(", "),
            notes.join("; "),
        ]
    });
    let header = [
        "METHOD",
        "MODE",
        "TIME",
        "R2",
        "CV-SMAPE %",
        "CALLS",
        "RANGE",
        "NOTES",
    ];
    output::table(&header, &[3, 4, 5], rows)
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn a_method_is_named_by_its_end() {
        let method = "hydro.GodunovFlux::flux.compute";
        for name in [
            method,
            "GodunovFlux::flux.compute",
            "flux.compute",
            "compute",
        ] {
            assert!(names(method, name), "{name}");
        }
        for name in ["lux.compute", "hydro.EfmFlux::flux.compute", "flux"] {
            assert!(!names(method, name), "{name}");
        }
    }
}
