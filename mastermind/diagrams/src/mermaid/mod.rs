//! Mermaid flowcharts, out of files of their own or out of Markdown.
//!
//! The type and cost of a node are written as in PlantUML: by a stereotype and by words in braces, or on lines of their
//! own, in its text; or in a comment that begins with the node, which pages do not show. Globals and cost functions are
//! in comments, or in a note:
//!
//! ```text
//! flowchart TD
//!     %% <<globals>>
//!     %% P = 4
//!     start([Start]) --> read["Read {cost = ms(3)}"]
//!     read --> more{"i < P"}
//!     more -->|yes| step["Step<br/>cost = ms(1)"]
//!     step --> more
//!     more -->|no| send["to all <<broadcast>> {bytes = 800}"]
//!     send --> done([End])
//! ```
//!
//! Answers at the links out of a decision are guards, as in the other forms: expressions, `yes` and `no` to a condition that is
//! one, or prose, with a share (`yes, 30 %`) or in equal parts. Forks, joins, merges and decisions that are left out are added as
//! for XMI.
//!
//! # Source
//! Mermaid, "Flowcharts - Basic Syntax", version 11.

mod chart;
mod flow;
mod links;
mod markdown;
mod shapes;
mod sketch;
mod source;

use std::collections::BTreeMap;

use crate::diagram::{Collected, DiagramError, Reading, Sections, declares, understood};
use crate::picture::Picture;
use mastermind_programs::{Activity, Model};

pub use markdown::flowchart_of_markdown;

/// Longest file, bytes: for text written by hand.
const LONGEST: usize = 32 << 20;

/// Reads a flowchart of Mermaid as a program model.
///
/// # Arguments
/// * `name` - name of a chart without a title, such as the heading above it
///
/// # Errors
/// [`DiagramError::TooLong`]; [`DiagramError::Findings`] with all that no model can be made of, and for a diagram of Mermaid
/// that is no flowchart.
pub fn read_mermaid(text: &str, name: Option<&str>) -> Result<Reading, DiagramError> {
    if text.len() > LONGEST {
        let (found, most) = (text.len(), LONGEST);
        return Err(DiagramError::TooLong { found, most });
    }
    let mut out = Collected::default();
    let source = source::Source::of(text, &mut out);
    let chart = chart::chart(&source, &mut out);
    let mut sections = Sections::default();
    let graph = flow::graph(&chart, &source, &mut sections, &mut out);
    let title = source.title.clone().or_else(|| name.map(str::to_owned));
    let name = title.filter(|name| !name.is_empty());
    let name = name.unwrap_or_else(|| "Main".to_owned());
    let declares = sections.declare() || declares(&graph);
    let mut locals = sections.locals;
    let mut flow = Vec::new();
    // A graph that was not understood would only give more findings of the same.
    if out.findings.is_empty() {
        let structured = understood(&graph, declares, &name, &mut out);
        locals.extend(structured.locals);
        flow = structured.flow;
    }
    let activities = BTreeMap::from([(name.clone(), Activity { locals, flow })]);
    out.reading(Model {
        name: name.clone(),
        main: name,
        ranks: None,
        globals: sections.globals,
        functions: sections.functions,
        activities,
    })
}

/// A flowchart of Mermaid as its author drew it.
///
/// # Arguments
/// * `name` - as for [`read_mermaid`]
///
/// # Errors
/// As [`read_mermaid`], except for requirements of models only.
pub fn picture_of_mermaid(text: &str, name: Option<&str>) -> Result<Picture, DiagramError> {
    if text.len() > LONGEST {
        let (found, most) = (text.len(), LONGEST);
        return Err(DiagramError::TooLong { found, most });
    }
    let mut out = Collected::default();
    let source = source::Source::of(text, &mut out);
    let chart = chart::chart(&source, &mut out);
    let picture = sketch::picture(&chart, &source, name);
    if out.findings.is_empty() {
        Ok(picture)
    } else {
        let findings = out.findings;
        Err(DiagramError::Findings { findings })
    }
}
