//! Errors of this crate: why no choice, plan or scaled workload can be computed.

use std::fmt;

use serde::Serialize;

use crate::optimise::ProblemError;
use crate::requirement::RequirementError;
use crate::scaling::Settings;
use crate::workload::Assembly;

/// A required model that the set does not contain.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Lacking {
    /// The instance.
    pub instance: String,
    /// The candidate class.
    pub class: String,
    /// The method, `PORT.METHOD`.
    pub port_method: String,
    /// The recorded mode, `axis=y`; empty for a method without modes or without any model.
    pub mode: String,
}

impl fmt::Display for Lacking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            instance,
            class,
            port_method,
            mode,
        } = self;
        let place = if mode.is_empty() {
            String::new()
        } else {
            format!(" where {mode}")
        };
        write!(
            f,
            "cannot predict instance \"{instance}\" as \"{class}\": no model of \
             \"{class}::{port_method}\"{place}, expected one; \
             record a run with --replace {instance}={class} and fit it"
        )
    }
}

/// An expected error of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Models are missing: all of them, sorted; never empty.
    #[error("{}{}", .0[0], more(.0.len() - 1))]
    Lacking(Vec<Lacking>),
    /// The workload or the alternatives name an instance that is not in the assembly.
    #[error(
        "cannot choose for instance \"{instance}\": it is not in the assembly, expected {known}"
    )]
    UnknownInstance {
        /// The name.
        instance: String,
        /// The instances of the assembly, separated by commas.
        known: String,
    },
    /// A model could not be evaluated at a recorded coordinate.
    #[error(
        "cannot predict instance \"{instance}\" as \"{class}\": its model and the recorded calls of {port_method} disagree, expected the same parameters; fit the model again"
    )]
    Predict {
        /// The instance.
        instance: String,
        /// The class.
        class: String,
        /// The method.
        port_method: String,
        /// The error of the model.
        source: Box<mastermind_models::Error>,
    },
    /// A requirement cannot be read, or is about an attribute that a class does not declare.
    #[error(transparent)]
    Requirement(#[from] RequirementError),
    /// No assembly is allowed, or the costs are invalid.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// Some classes of an instance declare an attribute, and one does not.
    #[error(
        "cannot find the Pareto set of {attribute}: class \"{class}\" of \"{instance}\" declares none, expected {attribute} = NUMBER under [attributes.\"{class}\"] in the assembly"
    )]
    Attribute {
        /// The attribute.
        attribute: String,
        /// The class without it.
        class: String,
        /// Its instance.
        instance: String,
    },
    /// No class declares an attribute.
    #[error(
        "cannot find the Pareto set of {attribute}: no class declares it, expected {attribute} = NUMBER under [attributes.CLASS] in the assembly"
    )]
    NoAttribute {
        /// The attribute.
        attribute: String,
    },
    /// The workload is to be scaled by a setting that does not vary among the runs.
    #[error(
        "cannot scale the workload to {setting} = {wanted}: all runs have {found}, expected runs with several values of it"
    )]
    NotVaried {
        /// The setting.
        setting: String,
        /// The requested value.
        wanted: f64,
        /// The value in all runs.
        found: f64,
    },
    /// Two settings vary together in the runs, but not in the request.
    #[error(
        "cannot scale the workload to {setting} = {wanted}: it goes with {other} in the runs, expected {expected}; run some where they differ"
    )]
    Together {
        /// The setting.
        setting: String,
        /// The setting that it varies with.
        other: String,
        /// The requested value.
        wanted: f64,
        /// The value that the relation in the runs gives.
        expected: f64,
    },
    /// There are too few sizes to estimate growth.
    #[error(
        "cannot scale the workload: runs of {found} different settings, expected at least {expected}"
    )]
    TooFewSizes {
        /// Number of different settings.
        found: usize,
        /// Number that is needed.
        expected: usize,
    },
    /// No run has the requested number of ranks.
    #[error(
        "cannot predict {wanted} ranks: the runs have {}, expected one with {wanted}; how long ranks wait for one another, and for a \
         processor where there are fewer, follows from no run with another number: record a small one with --ranks {wanted}",
        listed(found)
    )]
    RanksNotRun {
        /// The requested number.
        wanted: u64,
        /// The numbers of ranks in the runs, ascending.
        found: Vec<u64>,
    },
    /// The workload cannot be scaled by a setting.
    #[error(
        "cannot scale the workload by {setting}: {found}, expected a number above 0 that all runs have"
    )]
    Setting {
        /// The setting.
        setting: String,
        /// What was found.
        found: String,
    },
    /// No instance has alternatives, so there is nothing to choose or plan.
    #[error(
        "cannot plan runs: no instance has two classes, expected some under [alternatives] in the assembly"
    )]
    NoAlternatives,
}

impl Error {
    /// The error for a setting that is missing in some runs, or not above 0.
    pub(crate) fn unknown_setting(setting: &str, wanted: &Settings) -> Self {
        let found = wanted
            .get(setting)
            .map_or_else(|| "no value".into(), f64::to_string);
        Self::Setting {
            setting: setting.into(),
            found,
        }
    }

    /// The error for an instance that is not in the assembly.
    pub(crate) fn unknown_instance(instance: &str, assembly: &Assembly) -> Self {
        let known: Vec<_> = assembly.keys().map(String::as_str).collect();
        Self::UnknownInstance {
            instance: instance.into(),
            known: known.join(", "),
        }
    }
}

/// Formats numbers as `1, 2`.
fn listed(numbers: &[u64]) -> String {
    let numbers: Vec<_> = numbers.iter().map(u64::to_string).collect();
    numbers.join(", ")
}

/// `; 2 more models are lacking`, or an empty string.
fn more(n: usize) -> String {
    match n {
        0 => String::new(),
        1 => "; 1 more model is lacking".into(),
        n => format!("; {n} more models are lacking"),
    }
}
