//! `mastermind predict`: the time of calls that were not measured, and how well such predictions
//! hold.
//!
//! A prediction is a value, an interval for one call, and the reservations that belong to it:
//! outside the measured range, negative and clamped to 0, contradicted by the formula that is
//! shown, held up as often as in the measured run. The numbers come from the crate
//! `mastermind-models`; this file finds the model for a name and a mode, gives the coordinate the
//! types that the model has, and prints the number together with every reservation.
//!
//! ```text
//! $ mastermind predict models.json --method sort --at n=1e5
//! sort at n=100000: wall time 4.753e-3 s
//! 95 % of such calls take 4.351e-3 to 5.191e-3 s
//! outside the measured range: n = 100000, measured from 1000 to 64000
//! ```
//!
//! `--along` predicts a curve (`predict/along.rs`), `--signature` a call beyond the measured sizes
//! (`predict/by_signature.rs`), and `--against` compares predictions with other measurements
//! (`held_out.rs`).

mod along;
pub mod by_signature;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Args;
use mastermind_models::{Carried, Coordinate, Metric, Model, ModelSet, Prediction, predict};
use serde::Serialize;

use crate::carried;
use crate::commands::fit::Printed;
use crate::held_out;
use crate::measurements::{Measured, Reading};
use crate::output;
use mastermind_component::names::{self, Names};

/// Predict the time of a call, or check predictions against other measurements.
#[derive(Args)]
#[command(
    after_help = "Example: mastermind predict models.json --method flux.compute --at q=1e6,axis=y\n\
                  Example: mastermind predict models.json --method flux.compute --at q=1e7 --signature flux.json --machine here.toml\n\
                  Example: mastermind predict models.json --against records-of-another-run"
)]
pub struct Predict {
    /// Models, as fit writes them
    models: PathBuf,
    /// The method, CLASS::PORT.METHOD or an end of it
    #[arg(long, value_name = "NAME")]
    method: Option<String>,
    /// Value of each parameter of the call
    #[arg(long, value_name = "K=V,K=V", value_parser = pair, value_delimiter = ',')]
    at: Vec<(String, String)>,
    /// Predict for values of this parameter, from the least measured one to twice the greatest
    #[arg(long, value_name = "PARAMETER", conflicts_with_all = ["against", "format"])]
    along: Option<String>,
    #[command(flatten)]
    by_signature: by_signature::BySignature,
    #[command(flatten)]
    measured: Measured,
    /// Measurements to compare predictions with, as fit reads them: the share of calls within their intervals
    #[arg(long, value_name = "INPUT", num_args = 1.., conflicts_with = "at")]
    against: Vec<PathBuf>,
    /// Predict by the shown formula alone, not by the median over all credible ones
    #[arg(long)]
    shown: bool,
    /// Print the models themselves, as fit does
    #[arg(long, value_enum, conflicts_with_all = ["at", "against", "json"])]
    format: Option<Printed>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    reading: Reading,
}

/// `k=v`, without the blanks around them.
fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() && !value.trim().is_empty() => {
            Ok((name.trim().into(), value.trim().into()))
        }
        _ => Err("expected PARAMETER=VALUE".into()),
    }
}

impl Predict {
    /// Predicts.
    ///
    /// # Errors
    /// The models cannot be read; none is of the method, the mode or the parameters.
    pub fn execute(self) -> anyhow::Result<ExitCode> {
        let models = read_models(&self.models, self.shown)?;
        if let Some(format) = self.format {
            let mut models = models;
            if let Some(name) = &self.method {
                let meant = names::of_models(&models, name);
                models.models.retain(|model| meant.contains(&model.method));
            }
            output::line(format.print(&models)?);
            return Ok(ExitCode::SUCCESS);
        }
        let metric = &of_models(&models, &self.measured.metric());
        if !self.against.is_empty() {
            let inputs = (&self.against[..], &self.reading);
            return held_out::check(&models, self.method.as_deref(), metric, inputs, self.json);
        }
        let Some(name) = &self.method else {
            let known = methods(&models, metric);
            match known.is_empty() {
                true => bail!(
                    "cannot predict: no model of {}, expected at least 1; fit one",
                    metric.quantity()
                ),
                false => bail!(
                    "cannot predict: no method, expected --method NAME of {}",
                    known.join(", ")
                ),
            }
        };
        let (model, coordinate) = self.find(&models, name, metric)?;
        if let Some(along) = &self.along {
            along::print(model, &coordinate, along, self.json)?;
            return Ok(ExitCode::SUCCESS);
        }
        if let Some(signature) = &self.by_signature.signature {
            let by = &self.by_signature;
            by.print(signature, model, &coordinate, self.json)?;
            return Ok(ExitCode::SUCCESS);
        }
        let prediction = predict(model, &coordinate)?;
        if self.json {
            let (model_name, at) = (&model.method, &coordinate);
            match model.metric.is_time() {
                true => output::json(&Document {
                    prediction,
                    model: model_name,
                    carried: model.carried.as_ref(),
                    at,
                })?,
                false => output::json(&CounterPrediction::new(&prediction, model, at))?,
            }
        } else {
            print(model, &coordinate, &prediction);
        }
        Ok(ExitCode::SUCCESS)
    }

    /// The model of the name and mode, and the coordinate with the types of values that the model has.
    fn find<'m>(
        &self,
        models: &'m ModelSet,
        name: &str,
        metric: &Metric,
    ) -> anyhow::Result<(&'m Model, Coordinate)> {
        let known: Vec<_> = methods(models, metric)
            .iter()
            .map(|method| Names::of_model(method))
            .collect();
        let place = names::one("predict", name, "no model of it", &known)?;
        let method = known[place].shown();
        let of_method = |model: &&Model| model.method == *method && model.metric == *metric;
        let is_number = |name: &str| {
            let mut models = models.models.iter().filter(of_method);
            models.any(|model| model.params.iter().any(|param| param == name))
        };
        let mut coordinate = Coordinate::new();
        for (name, value) in &self.at {
            if coordinate.values.contains_key(name) {
                bail!("cannot predict \"{method}\": {name} twice, expected each parameter once");
            }
            coordinate = match value.parse::<f64>() {
                Ok(number) if is_number(name) => {
                    if !number.is_finite() {
                        bail!(
                            "cannot predict \"{method}\": {name}={value}, expected a finite number"
                        );
                    }
                    coordinate.with(name, number)
                }
                Err(_) if is_number(name) => {
                    bail!("cannot predict \"{method}\": {name}={value}, expected a number")
                }
                _ => coordinate.with(name, value.as_str()),
            };
        }
        let model = models.find(method, metric.clone(), &coordinate)?;
        Ok((model, coordinate))
    }
}

/// Reads a file of models.
///
/// # Arguments
/// * `shown` - the shown formula of each alone is to predict
///
/// # Errors
/// It cannot be read, or holds something else.
pub fn read_models(path: &Path, shown: bool) -> anyhow::Result<ModelSet> {
    let act = || format!("cannot read models \"{}\"", path.display());
    if path.is_dir() {
        let fit = format!("`mastermind fit {} -o models.json`", path.display());
        bail!("{}: a directory, expected a file as {fit} writes it", act());
    }
    let text = fs::read_to_string(path).with_context(act)?;
    let models = ModelSet::from_json(&text).with_context(act)?;
    carried::note(path, &models);
    Ok(match shown {
        true => models.shown_alone(),
        false => models,
    })
}

/// The metric of this name as the models have it, with its unit.
fn of_models(models: &ModelSet, metric: &Metric) -> Metric {
    let mut metrics = models.models.iter().map(|model| &model.metric);
    let same = metrics.find(|known| known.name() == metric.name());
    same.unwrap_or(metric).clone()
}

fn methods(models: &ModelSet, metric: &Metric) -> Vec<String> {
    let of_metric = models.models.iter().filter(|model| model.metric == *metric);
    let names: BTreeSet<_> = of_metric.map(|model| model.method.clone()).collect();
    names.into_iter().collect()
}

#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    prediction: Prediction,
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    carried: Option<&'a Carried>,
    at: &'a Coordinate,
}

/// A predicted value of a counter.
#[derive(Serialize)]
struct CounterPrediction<'a> {
    value: f64,
    lower: f64,
    upper: f64,
    unit: &'a str,
    metric: &'a Metric,
    level: f64,
    extrapolated: bool,
    clamped: bool,
    shown: f64,
    contradicts: bool,
    model: &'a str,
    at: &'a Coordinate,
}

impl<'a> CounterPrediction<'a> {
    fn new(prediction: &Prediction, model: &'a Model, at: &'a Coordinate) -> Self {
        Self {
            value: prediction.value_s,
            lower: prediction.lower_s,
            upper: prediction.upper_s,
            unit: model.metric.unit(),
            metric: &model.metric,
            level: prediction.level,
            extrapolated: prediction.extrapolated,
            clamped: prediction.clamped,
            shown: prediction.shown_s,
            contradicts: prediction.contradicts,
            model: &model.method,
            at,
        }
    }
}

fn print(model: &Model, coordinate: &Coordinate, prediction: &Prediction) {
    let Prediction {
        value_s,
        lower_s,
        upper_s,
        level,
        ..
    } = *prediction;
    let metric = &model.metric;
    output::line(format!(
        "{} at {coordinate}: {} {}",
        model.method,
        metric.quantity(),
        metric.with_unit(&digits(value_s))
    ));
    let percent = 100.0 * level;
    output::line(match upper_s.is_finite() {
        true => format!(
            "{percent} % of such calls {} {} to {}",
            if metric.is_time() { "take" } else { "count" },
            digits(lower_s),
            metric.with_unit(&digits(upper_s))
        ),
        false => "the samples do not show how large its error may be: measure again".into(),
    });
    if let Some(of) = &model.carried {
        output::line(carried::line(of));
    }
    for note in model.notes.iter().filter(|note| note.is_of_fit()) {
        output::line(note.to_string());
    }
    if let Some(held_up) = &prediction.held_up {
        let (percent, mean) = (100.0 * held_up.share, digits(prediction.mean_s));
        let which = match held_up.slower {
            Some(slower) => format!("{percent:.0} % of such calls take {slower:.2} times as long"),
            None => {
                let n_delays = held_up.n_delays(prediction.value_s);
                let often = match n_delays > 1.0 {
                    true => format!("such calls are held up {n_delays:.1} times each"),
                    false => format!("{percent:.0} % of such calls are held up"),
                };
                let mean_s = metric.with_unit(&digits(held_up.mean_s));
                format!("{often} as in the measured run, by {mean_s} on average")
            }
        };
        output::line(format!(
            "{which}: the mean of all is {}",
            metric.with_unit(&mean)
        ));
    }
    if prediction.extrapolated {
        output::line(format!(
            "outside the measured range: {}",
            outside(model, coordinate)
        ));
    }
    if prediction.contradicts {
        output::line(contradiction(model, prediction));
    }
    if prediction.clamped {
        output::line("the formula is negative there, and 0 put in its place: do not rely on it");
    }
}

/// The value of the shown formula alone, and why another one is predicted.
fn contradiction(model: &Model, prediction: &Prediction) -> String {
    let weight = model.alternatives.first().map_or(1.0, |shown| shown.weight);
    let interval = match prediction.shown_upper_s.is_finite() {
        true => format!(
            ", {} to {}",
            digits(prediction.shown_lower_s),
            digits(prediction.shown_upper_s)
        ),
        false => String::new(),
    };
    format!(
        "the shown formula alone gives {}{interval}: it has {:.0} % of the weight, and the median over {} formulas is predicted; \
         --shown takes it alone",
        model.metric.with_unit(&digits(prediction.shown_s)),
        100.0 * weight,
        model.alternatives.len()
    )
}

/// `q = 5e6, measured from 1000 to 4e6`.
fn outside(model: &Model, coordinate: &Coordinate) -> String {
    let outside = model.range.iter().filter_map(|(name, [low, high])| {
        let x = coordinate.number(name)?;
        let is_inside = (*low..=*high).contains(&x);
        (!is_inside).then(|| format!("{name} = {x}, measured from {low} to {high}"))
    });
    outside.collect::<Vec<_>>().join("; ")
}

/// Four digits.
fn digits(seconds: f64) -> String {
    if seconds == 0.0 {
        "0".into()
    } else {
        format!("{seconds:.3e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_pairs() {
        assert_eq!(pair(" q = 1e6"), Ok(("q".into(), "1e6".into())));
        for text in ["q", "q=", "=1"] {
            assert!(pair(text).is_err(), "{text}");
        }
    }
}
