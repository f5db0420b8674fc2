//! Predicted time of a set of calls by one class.

use std::collections::BTreeMap;

use mastermind_models::{Error as ModelError, LEVEL, Model, ModelSet, Uncertainty, predict};

use crate::error::{Error, Lacking};
use crate::workload::{Call, Workload, model_name};

/// Time of all calls of an instance.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Predicted {
    /// Seconds.
    pub time_s: f64,
    /// Its uncertainty.
    pub uncertainty: Uncertainty,
    /// A call lies outside the range its model was measured in.
    pub extrapolated: bool,
    /// A model was negative at a call, and 0 taken.
    pub clamped: bool,
}

impl Predicted {
    /// Adds the time of other calls, by other models.
    pub fn merge(&mut self, other: &Self) {
        self.time_s += other.time_s;
        self.uncertainty.merge(&other.uncertainty);
        self.extrapolated |= other.extrapolated;
        self.clamped |= other.clamped;
    }

    /// Ends of the 95 % interval, seconds, the lower ≥ 0.
    pub fn interval_s(&self) -> [f64; 2] {
        let half_s = self.uncertainty.half_width_s(LEVEL);
        [(self.time_s - half_s).max(0.0), self.time_s + half_s]
    }
}

/// What the calls of an instance share of one model: one mode of one method.
struct Share<'a> {
    model: &'a Model,
    /// Derivative of the total time by the model's coefficients.
    gradient: Vec<f64>,
}

/// Predicts the time of `calls`, were they answered by `class`.
///
/// `Σ count · T(coordinate)`. Its variance has two parts. Calls vary independently about their model:
/// `Σ count · sigma²`. The coefficients of a model are wrong for all its calls alike: with `g` the
/// sum of the gradients of its calls, `gᵀ C g`; models are independent of one another.
///
/// # Errors
/// [`Error::Predict`] if a model has other parameters than the calls. Lacking models are added to
/// `lacking` and their calls left out.
pub(crate) fn predict_calls(
    class: &str,
    calls: &[&Call],
    workload: &Workload,
    models: &ModelSet,
    lacking: &mut Vec<Lacking>,
) -> Result<Predicted, Error> {
    let mut total = Predicted::default();
    let mut shares: BTreeMap<(String, Vec<(String, String)>), Share<'_>> = BTreeMap::new();
    for &call in calls {
        let name = model_name(class, &call.port_method);
        let model = match models.find(&name, workload.metric, &call.coordinate) {
            Ok(model) => model,
            Err(error) => {
                lacking.push(lack(class, call, &error));
                continue;
            }
        };
        let mode = model
            .mode
            .iter()
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect();
        let share = shares.entry((name, mode)).or_insert_with(|| Share {
            model,
            gradient: vec![0.0; model.coefficients.len()],
        });
        add_call(&mut total, share, call).map_err(|source| Error::Predict {
            instance: call.instance.clone(),
            class: class.into(),
            port_method: call.port_method.clone(),
            source: Box::new(source),
        })?;
    }
    for share in shares.values() {
        total
            .uncertainty
            .merge(&share.model.coefficient_uncertainty(&share.gradient));
    }
    Ok(total)
}

fn add_call(total: &mut Predicted, share: &mut Share<'_>, call: &Call) -> Result<(), ModelError> {
    let count = call.count as f64;
    let prediction = predict(share.model, &call.coordinate)?;
    total.time_s += count * prediction.value_s;
    total.extrapolated |= prediction.extrapolated;
    total.clamped |= prediction.clamped;
    let deviation_s = share.model.deviation_s(&call.coordinate)?;
    total
        .uncertainty
        .add(count * deviation_s * deviation_s, share.model.freedom.sigma);
    let gradient = share.model.gradient(&call.coordinate)?;
    share
        .gradient
        .iter_mut()
        .zip(gradient)
        .for_each(|(sum, g)| *sum += count * g);
    Ok(())
}

fn lack(class: &str, call: &Call, error: &ModelError) -> Lacking {
    Lacking {
        instance: call.instance.clone(),
        class: class.into(),
        port_method: call.port_method.clone(),
        mode: match error {
            ModelError::NoMode { found, .. } => found.clone(),
            _ => String::new(),
        },
    }
}
