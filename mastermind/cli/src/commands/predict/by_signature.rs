//! `predict --signature`: a call beyond the measured sizes, from its operations there and their cost on the processor.
//!
//! The method's own times are predictions of its model within its range, so the records need not exist any more.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use mastermind_machine::signature::time::{Measured, Predicted, TimeModel};
use mastermind_models::{Coordinate, Model, Prediction, predict};
use serde::Serialize;

use super::{digits, outside};
use crate::commands::signature::hits;
use crate::{machine_file, output};

/// Number of sizes of the model's range at which its times are taken, equally spaced on a logarithmic scale.
///
/// Arbitrary: from 4 to 16 the predictions of the kernels of `benches/machines/kernels.c` are the same to a few per
/// cent.
const POINTS: usize = 6;

/// Quantile of the normal distribution at the upper end of an interval of 95 %.
const NORMAL: f64 = 1.959_963_984_540_054;

/// What a call does, and where.
#[derive(Args)]
pub struct BySignature {
    /// What a call does, as signature --distances writes it: beyond the measured sizes its time is predicted from that
    #[arg(long, value_name = "S.json", requires = "machine", conflicts_with_all = ["against", "along", "format", "shown"])]
    pub signature: Option<PathBuf>,
    /// The machine file, with the table [processor] that machine writes, of where the models are of
    #[arg(long, value_name = "M.toml", requires = "signature")]
    machine: Option<PathBuf>,
}

#[derive(Serialize)]
struct Document<'a> {
    value_s: f64,
    lower_s: f64,
    upper_s: f64,
    level: f64,
    extrapolated: bool,
    by_signature: bool,
    /// Prediction of the model without the signature, seconds.
    without_s: f64,
    parts: Option<Parts>,
    model: &'a str,
    at: &'a Coordinate,
}

/// Parts of the time, each 0 to 1.
#[derive(Clone, Copy, Serialize)]
struct Parts {
    computing: f64,
    branches: f64,
    sequential: f64,
    strided: f64,
    irregular: f64,
}

impl Parts {
    fn of(predicted: &Predicted) -> Self {
        let [sequential, strided, irregular] = predicted.memory;
        Self {
            computing: predicted.core,
            branches: predicted.branches,
            sequential,
            strided,
            irregular,
        }
    }
}

impl BySignature {
    /// Predicts and prints.
    ///
    /// # Errors
    /// A file cannot be read; the signature is over another parameter, or without distances; the machine file has no curves.
    pub fn print(
        &self,
        signature: &Path,
        model: &Model,
        coordinate: &Coordinate,
        json: bool,
    ) -> anyhow::Result<()> {
        let without = predict(model, coordinate)?;
        let predicted = self.predicted(signature, model, coordinate)?;
        let within = |by: f64| predicted.seconds * (by * NORMAL * predicted.deviation).exp();
        let document = match without.extrapolated {
            true => Document {
                value_s: predicted.seconds,
                lower_s: within(-1.0),
                upper_s: within(1.0),
                level: without.level,
                extrapolated: true,
                by_signature: true,
                without_s: without.value_s,
                parts: Some(Parts::of(&predicted)),
                model: &model.method,
                at: coordinate,
            },
            false => measured(model, coordinate, &without),
        };
        match json {
            true => output::json(&document)?,
            false => document.print_text(model, coordinate),
        }
        Ok(())
    }

    fn predicted(
        &self,
        path: &Path,
        model: &Model,
        coordinate: &Coordinate,
    ) -> anyhow::Result<Predicted> {
        let act = || {
            let method = &model.method;
            format!(
                "cannot predict \"{method}\" by signature \"{}\"",
                path.display()
            )
        };
        let signature = hits::read(path)?;
        let parameter = &signature.parameter;
        if model.params != [parameter.clone()] {
            bail!(
                "{}: it is over {parameter}, expected a model over that alone; this one is over {}",
                act(),
                match &model.params[..] {
                    [] => "nothing".to_owned(),
                    some => some.join(", "),
                }
            );
        }
        if !model.metric.is_time() {
            bail!(
                "{}: a model of {}, expected one of a time",
                act(),
                model.metric.quantity()
            );
        }
        let Some(machine) = &self.machine else {
            bail!("{}: no machine file, expected --machine M.toml", act());
        };
        let processor = machine_file::read(machine)?;
        let own = own_times(model, coordinate, parameter)?;
        let times = TimeModel::of(&signature, &processor, &own).with_context(act)?;
        let n = coordinate.number(parameter).filter(|n| *n > 0.0);
        let n = n.with_context(|| format!("{}: no size above 0, expected one", act()))?;
        Ok(times.at(n))
    }
}

/// Predictions of the model at sizes within its range.
///
/// # Errors
/// The model has other parameters.
pub fn own_times(
    model: &Model,
    coordinate: &Coordinate,
    parameter: &str,
) -> anyhow::Result<Vec<Measured>> {
    let range = model.range.get(parameter).copied();
    let [low, high] = range
        .unwrap_or([1.0, 1.0])
        .map(|of| of.max(f64::MIN_POSITIVE));
    let point = |place: usize| {
        let part = place as f64 / (POINTS - 1) as f64;
        // Rounding must not lead out of the range.
        let n = (low * (high / low).powf(part)).clamp(low, high);
        let at = coordinate.clone().with(parameter, n);
        let seconds = predict(model, &at)?.value_s;
        Ok(Measured { n, seconds })
    };
    (0..POINTS).map(point).collect()
}

/// A size within the measured ones: the prediction of the model stays.
fn measured<'a>(model: &'a Model, at: &'a Coordinate, without: &Prediction) -> Document<'a> {
    Document {
        value_s: without.value_s,
        lower_s: without.lower_s,
        upper_s: without.upper_s,
        level: without.level,
        extrapolated: false,
        by_signature: false,
        without_s: without.value_s,
        parts: None,
        model: &model.method,
        at,
    }
}

impl Document<'_> {
    fn print_text(&self, model: &Model, coordinate: &Coordinate) {
        let metric = &model.metric;
        let time = |seconds: f64| metric.with_unit(&digits(seconds));
        output::line(format!(
            "{} at {coordinate}: {} {}",
            model.method,
            metric.quantity(),
            time(self.value_s)
        ));
        output::line(format!(
            "{} % of such calls take {} to {}",
            100.0 * self.level,
            digits(self.lower_s),
            time(self.upper_s)
        ));
        let Some(parts) = self.parts else {
            output::line("within the measured range: by the model, without the signature");
            return;
        };
        let shares = [
            ("computing", parts.computing),
            ("mispredicted branches", parts.branches),
            ("memory in sequence", parts.sequential),
            ("memory by strides", parts.strided),
            ("memory in no order", parts.irregular),
        ];
        let shares = shares.iter().filter(|(_, share)| *share >= 0.005);
        let shares = shares.map(|(name, share)| format!("{name} {:.0} %", 100.0 * share));
        output::line(format!(
            "by the signature: {}; the formula alone gives {}",
            Vec::from_iter(shares).join(", "),
            time(self.without_s)
        ));
        output::line(format!(
            "outside the measured range: {}",
            outside(model, coordinate)
        ));
    }
}
