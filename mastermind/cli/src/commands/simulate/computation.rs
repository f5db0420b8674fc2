//! The computation of a recorded run on another processor: by the factors of carried models, by those of two processors, or as it was.

use std::collections::BTreeMap;

use anyhow::bail;
use mastermind_models::{Carried, KnownBy};
use serde::Serialize;

use super::Simulate;
use crate::commands::predict::read_models;
use crate::machine_file;
use crate::recorded_dry::Added;
use crate::recorded_run::RecordedRun;

/// How the computation of the ranks relates to the recorded one.
#[derive(Serialize)]
pub(super) struct Computation {
    /// The processors of the run, as far as the records say.
    recorded_on: Vec<String>,
    /// The processor of the machine, if its file names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    machine: Option<String>,
    /// The factor for computation outside of components; 1 for unchanged computation.
    factor: f64,
    /// Methods that have a factor of their model.
    n_methods: usize,
    #[serde(skip)]
    how: How,
}

enum How {
    Unchanged,
    ByModels,
    ByProcessors,
    /// With the calls that a dry run left out.
    WithDryCalls(Added),
}

impl Simulate {
    /// Scales the computation of a recorded run to the machine's processor, as far as that is known.
    ///
    /// # Errors
    /// The models are not carried; a machine file has no processor, if that is required.
    pub(super) fn scale(&self, run: &mut RecordedRun) -> anyhow::Result<Computation> {
        let own = machine_file::processor(&self.machine_text()?)?;
        let mut computation = Computation {
            recorded_on: run.processors.iter().cloned().collect(),
            machine: own.map(|of| of.identity.model),
            factor: 1.0,
            n_methods: 0,
            how: How::Unchanged,
        };
        if !run.unpriced.is_empty() {
            // Without models that is refused (`RecordedRun::replay`).
            if let Some(path) = &self.models {
                let models = read_models(path, false)?;
                let added = run.add_dry_calls(&self.model, &models)?;
                if added.beyond_range > 0 {
                    crate::output::complain!(
                        "warning: {} of {} calls are outside of what their models were measured with",
                        added.beyond_range,
                        added.calls
                    );
                }
                computation.how = How::WithDryCalls(added);
            }
            return Ok(computation);
        }
        let mut factors = BTreeMap::new();
        if let Some(path) = &self.models {
            let models = read_models(path, false)?;
            let carried = models.models.iter();
            let carried =
                carried.filter_map(|model| Some((&model.method, model.carried.as_ref()?)));
            let carried: Vec<_> = carried.collect();
            if carried.is_empty() {
                bail!(
                    "models \"{}\" are of the machine that they were fitted on, expected such as carry writes for another one",
                    path.display()
                );
            }
            factors.extend(
                carried
                    .iter()
                    .map(|(method, of)| ((*method).clone(), of.factor)),
            );
            computation.factor = common(carried.iter().map(|(_, of)| *of));
            computation.n_methods = factors.len();
            computation.how = How::ByModels;
        } else if let Some(from) = &self.recorded_on {
            let to = self.machine.as_deref().unwrap_or(from);
            let (one, other) = (machine_file::read(from)?, machine_file::read(to)?);
            computation.factor = machine_file::ratio([(from, &one), (to, &other)])?.factor;
            computation.how = How::ByProcessors;
        } else {
            return Ok(computation);
        }
        run.scale(&self.model, &factors, computation.factor)?;
        Ok(computation)
    }
}

/// The factor of most methods: the common one, or if each has its own, their geometric mean.
fn common<'c>(carried: impl Iterator<Item = &'c Carried> + Clone) -> f64 {
    let own = [KnownBy::OwnCalls, KnownBy::Class];
    let mut shared = carried.clone().filter(|of| !own.contains(&of.known_by));
    if let Some(of) = shared.next() {
        return of.factor;
    }
    let logs: Vec<f64> = carried.map(|of| of.factor.ln()).collect();
    (logs.iter().sum::<f64>() / logs.len() as f64).exp()
}

impl Computation {
    /// The part of the recorded run's time that was predicted, not measured.
    pub(super) fn with_what(&self) -> &'static str {
        match self.how {
            How::WithDryCalls(_) => ", with what its models say of the calls that it left out",
            _ => "",
        }
    }

    /// A line on the computation; `None` if the machine has the processor of the run.
    pub(super) fn line(&self) -> Option<String> {
        let recorded = self.recorded_on.join(", ");
        let on = match recorded.as_str() {
            "" => "a processor that the records do not name",
            name => name,
        };
        Some(match (&self.how, &self.machine) {
            (How::ByModels, _) => format!(
                "computation by the factors of {} methods from models of another machine, all else by {:.3}",
                self.n_methods, self.factor
            ),
            (How::ByProcessors, _) => format!(
                "computation by the factor {:.3} of the two processors",
                self.factor
            ),
            (How::WithDryCalls(added), _) => format!(
                "computation as recorded on {on}, and that of {} calls which a dry run left out by models: {:.4} s on all ranks",
                added.calls, added.seconds
            ),
            (How::Unchanged, Some(machine)) if *machine == recorded => return None,
            (How::Unchanged, Some(machine)) => format!(
                "computation as recorded on {on}, though the machine has {machine}: --recorded-on A.toml scales it by the two processors, \
                 --models by the factors that carry found"
            ),
            (How::Unchanged, None) => format!(
                "computation as recorded on {on}: the machine file does not say what its processor is"
            ),
        })
    }
}
