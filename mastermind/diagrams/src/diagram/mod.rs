//! Activity diagrams that others' tools draw, as program models.
//!
//! A reader ([`crate::plantuml`], [`crate::xmi`]) makes a graph of nodes and edges of each activity;
//! here the graph becomes a flow of elements: decisions and merges, loops, forks and joins are found
//! in it. What a node is and costs is said by its stereotype and by words, `cost = 2e-3`, which are
//! those of the TOML form ([`mastermind_programs::read_toml`]). What cannot be understood is a finding
//! with its place; what is passed over is a warning.

mod collect;
mod graph;
mod guards;
mod implicit;
mod prose;
mod sections;
mod structure;
mod words;

pub(crate) use collect::{Collected, Place};
pub(crate) use graph::{Edge, Graph, Guard, Node, NodeKind, Wrapper};
pub(crate) use prose::{declares, settle};
pub(crate) use sections::Sections;
pub(crate) use structure::{Manners, structure};
pub(crate) use words::{Annotation, Part, guard_of, prose};

use mastermind_programs::{Finding, Model};

/// A model that was read, and what of its file was passed over.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// The model.
    pub model: Model,
    /// What was passed over or taken for granted, in the order of the file.
    pub warnings: Vec<Finding>,
}

/// A diagram that is no model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DiagramError {
    /// It is longer than any diagram may be.
    #[error("cannot read diagram: {found} bytes, expected at most {most}")]
    TooLong {
        /// Its bytes.
        found: usize,
        /// The bound.
        most: usize,
    },
    /// It is no XML, or brings entities of its own.
    #[error("cannot read diagram: no XML without a document type of its own")]
    Xml(#[from] roxmltree::Error),
    /// An element of it has more attributes than any needs; a reader compares each with all others.
    #[error("cannot read diagram: an element of {found} attributes, expected at most {most}")]
    Attributes {
        /// How many it has.
        found: usize,
        /// The bound.
        most: usize,
    },
    /// It says what no model can be made of.
    #[error("cannot read diagram: {}{}", .findings[0], more(.findings.len() - 1))]
    Findings {
        /// What is wrong, in the order of the file; never nothing.
        findings: Vec<Finding>,
    },
}

fn more(n: usize) -> String {
    if n == 0 {
        String::new()
    } else {
        format!("; {n} more findings, see check")
    }
}
