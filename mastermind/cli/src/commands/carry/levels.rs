//! `carry --signature`: the effect of other caches on a method's time, before the common factor.
//!
//! A cache there may hold data that do not fit into the one here, or the other way round. That changes which level an
//! access misses. The signature gives the number of such accesses, and the method's own times here give their cost. The
//! factor is the geometric mean over the model's range; the common factor, which holds for all methods, is applied in
//! addition.

use std::path::PathBuf;

use anyhow::{Context, bail};
use mastermind_component::names;
use mastermind_machine::processor::Processor;
use mastermind_machine::signature::time::TimeModel;
use mastermind_models::{Coordinate, Model, ModelSet};
use serde::Serialize;

use crate::commands::predict::by_signature::own_times;
use crate::commands::signature::hits;

/// Spread of the factors over a range, relative to their mean, from which a warning says that one factor does not hold.
///
/// The deviation of a method by the common factor is 0.155 (`models::carry`).
const WIDE: f64 = 0.3;

/// A method and its signature.
#[derive(Clone, Debug)]
pub struct OfMethod {
    method: String,
    path: PathBuf,
}

/// `METHOD=S.json`.
pub fn of_method(text: &str) -> Result<OfMethod, String> {
    match text.split_once('=') {
        Some((method, path)) if !method.is_empty() && !path.is_empty() => Ok(OfMethod {
            method: method.to_owned(),
            path: path.into(),
        }),
        _ => Err(format!("\"{text}\", expected METHOD=S.json")),
    }
}

/// The effect of the caches there.
#[derive(Debug, Serialize)]
pub struct Levels {
    /// The method.
    pub method: String,
    /// Time with the caches there relative to the caches here, mean over the range.
    pub factor: f64,
    /// The least and the greatest of the range.
    pub between: [f64; 2],
}

/// Multiplies the times of methods by the effect of the caches there.
///
/// # Errors
/// A signature cannot be read, has no distances, or is over another parameter than the model; no model is of the
/// method.
pub fn apply(
    models: &mut ModelSet,
    signatures: &[OfMethod],
    [here, there]: [&Processor; 2],
) -> anyhow::Result<Vec<Levels>> {
    let mut found = Vec::new();
    for of in signatures {
        let act = || {
            let path = of.path.display();
            format!("cannot carry \"{}\" by signature \"{path}\"", of.method)
        };
        let meant = names::of_models(models, &of.method);
        let is_meant = |model: &&mut Model| meant.contains(&model.method) && model.metric.is_time();
        let mut any = false;
        for model in models.models.iter_mut().filter(is_meant) {
            any = true;
            let levels = levels(model, of, [here, there]).with_context(act)?;
            *model = model.clone().times(levels.factor);
            found.push(levels);
        }
        if !any {
            bail!("{}: no model of it, expected one", act());
        }
    }
    for of in &found {
        let [least, most] = of.between;
        if (most - least) > WIDE * of.factor {
            crate::output::complain!(
                "warning: the caches there change times of {} by {least:.2} to {most:.2} over its range, and one factor of {:.2} is taken; \
                 `predict --signature --machine` of the other machine goes by the size",
                of.method,
                of.factor
            );
        }
    }
    Ok(found)
}

fn levels(model: &Model, of: &OfMethod, [here, there]: [&Processor; 2]) -> anyhow::Result<Levels> {
    let signature = hits::read(&of.path)?;
    let parameter = &signature.parameter;
    if model.params != [parameter.clone()] {
        bail!("it is over {parameter}, expected a model over that alone");
    }
    let mut coordinate = Coordinate::new();
    for (name, label) in &model.mode {
        coordinate = coordinate.with(name, label.as_str());
    }
    let own = own_times(model, &coordinate, parameter)?;
    let times = || TimeModel::of(&signature, here, &own);
    let (before, after) = (times()?, times()?.with_caches_of(there)?);
    let factors = own
        .iter()
        .map(|of| after.at(of.n).seconds / before.at(of.n).seconds);
    let factors: Vec<f64> = factors.collect();
    let logs: f64 = factors.iter().map(|of| of.ln()).sum();
    Ok(Levels {
        method: model.method.clone(),
        factor: (logs / factors.len() as f64).exp(),
        between: [
            factors.iter().copied().fold(f64::INFINITY, f64::min),
            factors.iter().copied().fold(0.0, f64::max),
        ],
    })
}
