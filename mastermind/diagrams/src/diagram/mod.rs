//! Activity diagrams that others' tools draw, as program models.
//!
//! A reader ([`crate::plantuml`], [`crate::xmi`]) makes a graph of nodes and edges of each activity;
//! here the graph becomes a flow of elements: decisions and merges, loops, forks and joins are found
//! in it. The type and cost of a node come from its stereotype and from words, `cost = 2e-3`, which
//! are those of the TOML form ([`mastermind_programs::read_toml`]). An error is a finding with its
//! position; ignored input is a warning.

mod collect;
mod endless;
mod graph;
mod guards;
mod implicit;
mod names;
mod prose;
mod sections;
mod structure;
mod words;

pub(crate) use collect::{Collected, Subject};
pub(crate) use graph::{Edge, Graph, Guard, Node, NodeKind, Wrapper};
pub(crate) use names::{name_and_words, opening, parts};
pub(crate) use prose::{declares, settle, share_of};
pub(crate) use sections::Sections;
pub(crate) use structure::{Manners, structure, understood};
pub(crate) use words::{
    Annotation, Part, answer, guard_of, known_stereotype, known_word, not, prose,
};

use mastermind_programs::{Finding, Model};

/// A model that was read, and the parts of its file that were ignored.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// The model.
    pub model: Model,
    /// Ignored parts and assumptions, in the order of the file.
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
    /// A Markdown file has no such flowchart, or several and no name was given.
    #[error("cannot read flowchart of Markdown: {}", no_such(wanted.as_deref(), known))]
    NoSuchFlowchart {
        /// The requested number or heading.
        wanted: Option<String>,
        /// The headings of those that there are, in their order.
        known: Vec<String>,
    },
    /// Its contents do not define a model.
    #[error("cannot read diagram: {}{}", .findings[0], more(.findings.len() - 1))]
    Findings {
        /// The errors, in the order of the file; never empty.
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

fn no_such(wanted: Option<&str>, known: &[String]) -> String {
    let found = match wanted {
        Some(wanted) => format!("none is \"{wanted}\""),
        None => format!("it has {}", known.len()),
    };
    let shown = known.iter().take(20).zip(1..);
    let shown: Vec<_> = shown
        .map(|(heading, n)| format!("{n} \"{heading}\""))
        .collect();
    match shown.is_empty() {
        true => format!("{found}, expected a block ```mermaid that begins with graph or flowchart"),
        false => format!(
            "{found}, expected one by number or heading, as FILE.md#1: {}",
            shown.join(", ")
        ),
    }
}
