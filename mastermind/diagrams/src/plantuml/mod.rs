//! PlantUML activity diagrams, in the new syntax and in the legacy one.
//!
//! Each `@startuml NAME … @enduml` is an activity, the first the main one. A stereotype and words give
//! the type and cost of an action; words are in braces, on lines of their own, or in a note at the
//! action:
//!
//! ```text
//! @startuml Main
//! floating note left
//!   <<globals>>
//!   P = 4
//!   <<functions>>
//!   F_A1() = us(P)
//! end note
//! start
//! :A1 <<action+>> {cost = F_A1()};
//! if (process == 0) then (yes)
//!   :to all <<broadcast>>;
//!   note right: bytes = 800
//! endif
//! while (i = 1, 10)
//!   :step;
//!   note right
//!     cost = ms(1) * i
//!   end note
//! endwhile
//! partition "threads <<parallel>> {threads = 4}" {
//!   :part <<action+>> {cost = ms(2)};
//! }
//! stop
//! @enduml
//! ```
//!
//! Words are those of the TOML form; sections `<<globals>>`, `<<locals>>` and `<<functions>>` are in any note or
//! legend. Conditions, cases and guards are expressions, which may use `chance(0.3)`. Other text gets a probability,
//! with a warning: the share in its label (`then (yes, 30 %)`), or an equal part.
//!
//! # Source
//! The PlantUML Language Reference Guide, "Activity diagram (legacy)" and "Activity diagram (new
//! syntax)".

mod edit;
mod flow;
mod legacy;
mod lines;
mod new;
mod scan;
mod sketch;
mod text;

pub(crate) use edit::{edited, outline};

use std::collections::BTreeMap;

use crate::diagram::{
    Collected, DiagramError, Graph, Manners, Reading, Sections, Subject, declares, settle,
    structure,
};
use crate::picture::Picture;
use mastermind_programs::{Activity, Model, Rule, Variable};

/// Longest file, bytes: for text written by hand.
const LONGEST: usize = 32 << 20;

/// Reads the activity diagrams of a PlantUML file.
///
/// # Errors
/// [`DiagramError::TooLong`]; [`DiagramError::Findings`] with all that no model can be made of.
pub fn read_plantuml(text: &str) -> Result<Reading, DiagramError> {
    if text.len() > LONGEST {
        let (found, most) = (text.len(), LONGEST);
        return Err(DiagramError::TooLong { found, most });
    }
    let mut out = Collected::default();
    let blocks = lines::blocks(text, &mut out);
    if blocks.is_empty() {
        let place = Subject {
            element: "file",
            at: "line 1",
        };
        out.find(Rule::Syntax, place, "no @startuml, expected a diagram");
    }
    let mut model = Model {
        name: String::new(),
        main: String::new(),
        ranks: None,
        globals: Vec::new(),
        functions: BTreeMap::new(),
        activities: BTreeMap::new(),
    };
    let mut read = Vec::new();
    for block in &blocks {
        let mut sections = Sections::default();
        let is_legacy = legacy::is_legacy(block);
        let graph = match is_legacy {
            true => legacy::graph(block, &mut sections, &mut out),
            false => new::graph(block, &mut sections, &mut out),
        };
        // The arrows of the legacy syntax are drawn as they come: bars are its forks, so that several arrows out of an action are
        // alternatives. The blocks of the new one leave nothing out.
        let manners = Manners {
            merges_by_itself: is_legacy,
            leaves_out_nodes: is_legacy,
            parts_by_decision: is_legacy,
        };
        read.push((block, graph, manners, sections));
    }
    let declares = read
        .iter()
        .any(|(_, graph, _, sections)| sections.declare() || declares(graph));
    for (block, mut graph, manners, sections) in read {
        settle(&mut graph, manners, declares, &mut out);
        let name = unused(&block.name, &model);
        add(&mut model, name, &graph, manners, sections, &mut out);
    }
    out.reading(model)
}

/// The activity diagrams of a PlantUML file as their author drew them.
///
/// # Arguments
/// * `main` - the name of the only requested one, as in the model: a diagram without a name is `Main`, or `Activity 2`
///
/// # Errors
/// As [`read_plantuml`], except for requirements of models only.
pub fn pictures_of_plantuml(text: &str, main: Option<&str>) -> Result<Vec<Picture>, DiagramError> {
    if text.len() > LONGEST {
        let (found, most) = (text.len(), LONGEST);
        return Err(DiagramError::TooLong { found, most });
    }
    let mut out = Collected::default();
    let mut pictures = sketch::pictures(text, &mut out);
    pictures.retain(|picture| main.is_none_or(|main| picture.name == main));
    if pictures.is_empty() {
        let place = Subject {
            element: main.unwrap_or("file"),
            at: "line 1",
        };
        let reason = "no @startuml, or none of that name, expected a diagram";
        out.find(Rule::Syntax, place, reason);
    }
    if out.findings.is_empty() {
        Ok(pictures)
    } else {
        let findings = out.findings;
        Err(DiagramError::Findings { findings })
    }
}

/// The name of a diagram behind `n_before` others.
fn name_or_number(name: &str, n_before: usize) -> String {
    match (name, n_before) {
        ("", 0) => "Main".to_owned(),
        ("", n_before) => format!("Activity {}", n_before + 1),
        (name, _) => name.to_owned(),
    }
}

fn unused(name: &str, model: &Model) -> String {
    let base = name_or_number(name, model.activities.len());
    let mut name = base.clone();
    let mut n = 1;
    while model.activities.contains_key(&name) {
        n += 1;
        name = format!("{base} {n}");
    }
    name
}

fn add(
    model: &mut Model,
    name: String,
    graph: &Graph,
    manners: Manners,
    sections: Sections,
    out: &mut Collected,
) {
    // A graph that was not understood would only give more findings of the same.
    let structured = if out.findings.is_empty() {
        structure(graph, manners, &name, out)
    } else {
        structure(&Graph::default(), manners, &name, out)
    };
    let mut locals = sections.locals;
    // A variable that a loop counts may be there already.
    let is_new = |local: &Variable| locals.iter().all(|known| known.name != local.name);
    let new: Vec<_> = structured.locals.into_iter().filter(is_new).collect();
    locals.extend(new);
    let flow = structured.flow;
    if model.main.is_empty() {
        (model.name, model.main) = (name.clone(), name.clone());
    }
    model.globals.extend(sections.globals);
    for (function, value) in sections.functions {
        if model.functions.insert(function.clone(), value).is_some() {
            let place = Subject {
                element: &function,
                at: &name,
            };
            out.find(
                Rule::Annotation,
                place,
                "the cost function is there twice, expected once",
            );
        }
    }
    model.activities.insert(name, Activity { locals, flow });
}
