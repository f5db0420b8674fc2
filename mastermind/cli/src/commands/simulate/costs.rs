//! `simulate --missing-costs`: the elements of a model that take no time because nothing gives their cost.

use std::process::ExitCode;

use mastermind_programs::Rule;
use serde::Serialize;

use super::Simulate;
use crate::output;
use crate::session::model;

#[derive(Serialize)]
struct Missing {
    missing_costs: Vec<Uncosted>,
}

/// An action without a cost.
#[derive(Serialize)]
struct Uncosted {
    element: String,
    /// The line of a diagram, otherwise the activity.
    place: String,
}

impl Simulate {
    /// Lists the actions that have no cost.
    ///
    /// # Errors
    /// The model cannot be read, or is no sound one.
    pub(super) fn print_missing_costs(&self) -> anyhow::Result<ExitCode> {
        let (model, warnings) = model::sound(&self.model, self.main.as_deref())?;
        let warned = warnings.iter().filter(|one| one.rule == Rule::NoCost);
        let mut missing_costs: Vec<Uncosted> = warned
            .map(|one| Uncosted {
                element: one.element.clone(),
                place: one.place.clone(),
            })
            .collect();
        if missing_costs.is_empty() {
            let found = model.without_cost().into_iter();
            missing_costs.extend(found.map(|(activity, action)| Uncosted {
                element: action.to_owned(),
                place: activity.to_owned(),
            }));
        }
        if self.json {
            output::json(&Missing { missing_costs })?;
            return Ok(ExitCode::SUCCESS);
        }
        let n = missing_costs.len();
        if n > 0 {
            let rows = missing_costs.into_iter();
            let rows = rows.map(|one| vec![one.element.replace('\n', " "), one.place]);
            output::line(output::table(&["ELEMENT", "PLACE"], &[], rows));
        }
        output::line(format!("{}: {n} actions without a cost", model.name));
        Ok(ExitCode::SUCCESS)
    }
}
