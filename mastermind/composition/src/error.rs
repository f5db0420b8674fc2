//! Why no choice can be made.

use std::fmt;

/// A model that the choice needs and the set lacks.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lacking {
    /// The instance.
    pub instance: String,
    /// The class that might take its place.
    pub class: String,
    /// The method it would be called by, `PORT.METHOD`.
    pub port_method: String,
    /// The mode recorded, `axis=y`; empty for a method without modes or without any model.
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
    /// Models are lacking: all of them, sorted, never none.
    #[error("{}{}", .0[0], more(.0.len() - 1))]
    Lacking(Vec<Lacking>),
    /// The workload or the alternatives name an instance that the assembly has not.
    #[error(
        "cannot choose for instance \"{instance}\": it is not in the assembly, expected {known}"
    )]
    UnknownInstance {
        /// The name.
        instance: String,
        /// The instances there are, a comma list.
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
        /// What the model says.
        source: Box<mastermind_models::Error>,
    },
}

/// `; 2 more models are lacking`, or nothing.
fn more(n: usize) -> String {
    match n {
        0 => String::new(),
        1 => "; 1 more model is lacking".into(),
        n => format!("; {n} more models are lacking"),
    }
}
