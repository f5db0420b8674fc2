//! UML 2.5.1 activities in XMI, as Eclipse Papyrus writes them, and those that write like it.
//!
//! The type and cost of a node come from an applied stereotype and its tagged values (any profile with a stereotype of
//! Performance Prophet's names), from MARTE's `GaStep` (`hostDemand` is the cost, `rep` a number of rounds), or from a
//! comment at the node with lines `word = text` as in a PlantUML note. A comment at no node may have sections
//! (`<<globals>>`, `<<locals>>`, `<<functions>>`); attributes with a default value, of the main activity and the class
//! that owns it, are globals as well; the body of an opaque action that assigns is its code, and function behaviours
//! are cost functions. Guards are expressions; one in prose gets MARTE's `prob` of its edge or of the step behind it,
//! or an equal part.
//!
//! A document type is refused, and with it every entity that a file would bring.
//!
//! # Source
//! OMG, "Unified Modeling Language 2.5.1", clause 15; "XML Metadata Interchange 2.5.1"; "UML Profile
//! for MARTE 1.2", clause 15 (`GaStep`) and annex B (values with units).

mod activity;
mod annotations;
mod document;
mod edit;
mod nfp;
mod paths;
mod sketch;

pub(crate) use edit::{edited, outline};

use std::collections::{BTreeMap, BTreeSet};

use crate::diagram::{Collected, DiagramError, Reading, Sections, Subject, declares, understood};
use crate::picture::Picture;
use annotations::Annotations;
use document::Document;
use mastermind_programs::{Activity, ElementKind, Model, Rule, visit};

/// Longest file, bytes.
const LONGEST: usize = 256 << 20;

/// Most attributes of an element.
const MAX_ATTRIBUTES: usize = 1000;

/// Reads the activities of an XMI file.
///
/// # Errors
/// [`DiagramError::TooLong`]; [`DiagramError::Attributes`]; [`DiagramError::Xml`] for text that is no XML or has a
/// document type; [`DiagramError::Findings`] with all errors that prevent a model.
pub fn read_xmi(text: &str) -> Result<Reading, DiagramError> {
    read_xmi_from(text, None)
}

/// Reads the activities of an XMI file that one of them leads to.
///
/// # Arguments
/// * `main` - its name; without one, it is the activity that no other names
///
/// # Errors
/// As [`read_xmi`]; a finding if no activity has that name.
pub fn read_xmi_from(text: &str, main: Option<&str>) -> Result<Reading, DiagramError> {
    with_document(text, |document| read(document, main))?
}

fn read(document: &Document<'_, '_>, main: Option<&str>) -> Result<Reading, DiagramError> {
    let mut out = Collected::default();
    let activities = document.activities();
    let file = Subject {
        element: "file",
        at: "line 1",
    };
    if activities.is_empty() {
        out.find(Rule::Syntax, file, "no uml:Activity, expected one");
    }
    let names = names(document, &activities);
    let mut sections = Sections::default();
    let annotations = Annotations::of(document, &mut sections, &mut out);
    let has_variables = document
        .elements()
        .any(|node| node.has_tag_name("defaultValue") || document.kind(node) == "FunctionBehavior");
    let mut read: Vec<Read> = Vec::new();
    for (i, node) in activities.iter().enumerate() {
        // Errors in an unreachable activity are no reason to refuse the file.
        let id = document.id(*node).unwrap_or_default();
        let Some(name) = names.get(id).cloned() else {
            continue;
        };
        let reader = activity::Reader::new(document, &annotations, &names);
        let mut own = Collected::default();
        let (graph, mut locals) = reader.activity(*node, &mut own);
        let declares =
            has_variables || sections.declare() || !locals.is_empty() || declares(&graph);
        let structured = understood(&graph, declares, &name, &mut own);
        locals.extend(structured.locals);
        let flow = structured.flow;
        let mut calls = BTreeSet::new();
        visit(&flow, &mut |element| {
            if let ElementKind::Activity { activity } = &element.kind {
                calls.insert(activity.clone());
            }
        });
        read.push(Read {
            index: i,
            name,
            activity: Activity { locals, flow },
            calls,
            own,
        });
    }
    let model = assemble((document, &activities), read, main, sections, &mut out);
    out.reading(model)
}

/// The activities of an XMI file as their author drew them.
///
/// # Arguments
/// * `main` - the name of the only requested one
///
/// # Errors
/// As [`read_xmi`], except for requirements of models only.
pub fn pictures_of_xmi(text: &str, main: Option<&str>) -> Result<Vec<Picture>, DiagramError> {
    let is_wanted = |name: &str| main.is_none_or(|main| main == name);
    let pictures: Vec<_> = with_document(text, |document| {
        let activities = document.activities().into_iter();
        let all = activities.map(|activity| sketch::picture(document, activity));
        all.filter(|picture| is_wanted(&picture.name)).collect()
    })?;
    if pictures.is_empty() {
        let mut out = Collected::default();
        let place = Subject {
            element: main.unwrap_or("file"),
            at: "line 1",
        };
        let reason = "no uml:Activity, or none of that name, expected one";
        out.find(Rule::UnknownActivity, place, reason);
        let findings = out.findings;
        return Err(DiagramError::Findings { findings });
    }
    Ok(pictures)
}

/// Parses a file that is no longer than any, and that a reader does not take long for.
fn with_document<T>(
    text: &str,
    work: impl FnOnce(&Document<'_, '_>) -> T,
) -> Result<T, DiagramError> {
    if text.len() > LONGEST {
        let (found, most) = (text.len(), LONGEST);
        return Err(DiagramError::TooLong { found, most });
    }
    let (found, most) = (document::most_attributes(text), MAX_ATTRIBUTES);
    if found > most {
        return Err(DiagramError::Attributes { found, most });
    }
    let mut xml = roxmltree::Document::parse(text)?;
    let identified = paths::with_identifiers(text, &xml);
    if let Some(text) = &identified {
        xml = roxmltree::Document::parse(text)?;
    }
    Ok(work(&Document::new(&xml)))
}

/// An activity that was read.
struct Read {
    /// In the order of the file.
    index: usize,
    name: String,
    activity: Activity,
    calls: BTreeSet<String>,
    own: Collected,
}

/// A name for each activity that no other one has, by its identifier.
fn names<'a>(
    document: &Document<'a, '_>,
    activities: &[roxmltree::Node<'a, '_>],
) -> BTreeMap<&'a str, String> {
    let mut taken = BTreeSet::new();
    // The last number that was tried of each name.
    let mut counted = BTreeMap::new();
    let mut names = BTreeMap::new();
    for node in activities {
        let id = document.id(*node).unwrap_or_default();
        let base = document.name(*node).unwrap_or_else(|| id.to_owned());
        let mut name = base.clone();
        while !taken.insert(name.clone()) {
            let n = counted.entry(base.clone()).or_insert(1_usize);
            *n += 1;
            name = format!("{base} {n}");
        }
        names.insert(id, name);
    }
    names
}

/// The model of the main activity and those that it leads to.
fn assemble(
    (document, activities): (&Document<'_, '_>, &[roxmltree::Node<'_, '_>]),
    read: Vec<Read>,
    wanted: Option<&str>,
    mut sections: Sections,
    out: &mut Collected,
) -> Model {
    let main = match wanted {
        Some(name) => named(&read, name, out),
        None => main(&read, out),
    };
    let mut reached = BTreeSet::new();
    let mut left: Vec<String> = main.iter().map(|i| read[*i].name.clone()).collect();
    let calls: BTreeMap<_, _> = read.iter().map(|one| (&one.name, &one.calls)).collect();
    while let Some(name) = left.pop() {
        if reached.insert(name.clone())
            && let Some(calls) = calls.get(&name)
        {
            left.extend(calls.iter().cloned());
        }
    }
    if let Some(main) = main {
        activity::globals(document, activities[main], &mut sections, out);
    }
    activity::functions(document, &mut sections, out);
    let mut kept = BTreeMap::new();
    let name = main.map(|i| read[i].name.clone()).unwrap_or_default();
    for one in read {
        if reached.contains(&one.name) {
            out.findings.extend(one.own.findings);
            out.warnings.extend(one.own.warnings);
            let mut activity = one.activity;
            if one.name == name {
                activity.locals.append(&mut sections.locals);
            }
            kept.insert(one.name, activity);
        } else {
            let reason = format!("nothing leads to it from \"{name}\"");
            let place = Subject {
                element: &one.name,
                at: &document.at(activities[one.index]),
            };
            out.warn(Rule::UnreachableActivity, place, reason);
        }
    }
    Model {
        name: document.model_name().unwrap_or_else(|| name.clone()),
        main: name,
        ranks: None,
        globals: sections.globals,
        functions: sections.functions,
        activities: kept,
    }
}

/// The activity of that name.
fn named(read: &[Read], name: &str, out: &mut Collected) -> Option<usize> {
    let found = read.iter().position(|one| one.name == name);
    if found.is_none() {
        let known: Vec<_> = read.iter().take(20).map(|one| one.name.as_str()).collect();
        let place = Subject {
            element: name,
            at: "file",
        };
        let reason = format!(
            "no activity of that name, expected one of {}",
            known.join(", ")
        );
        out.find(Rule::UnknownActivity, place, reason);
    }
    found
}

/// The activity that no other one names; of several the one called main, or else the first.
fn main(read: &[Read], out: &mut Collected) -> Option<usize> {
    let calls = read.iter().flat_map(|one| {
        let others = one.calls.iter().filter(|name| **name != one.name);
        others.map(String::as_str)
    });
    let called: BTreeSet<&str> = calls.collect();
    let is_root = |i: &usize| !called.contains(read[*i].name.as_str());
    let mut roots: Vec<usize> = (0..read.len()).filter(is_root).collect();
    if roots.is_empty() {
        roots = (0..read.len()).collect();
    }
    let named = roots
        .iter()
        .copied()
        .find(|i| read[*i].name.eq_ignore_ascii_case("main"));
    let main = named.or_else(|| roots.first().copied())?;
    if roots.len() > 1 && named.is_none() {
        let place = Subject {
            element: &read[main].name,
            at: "file",
        };
        let reason = format!(
            "{} activities that no other one names, the first is taken as the main one; choose one by its name (--main)",
            roots.len()
        );
        out.warn(Rule::Ignored, place, reason);
    }
    Some(main)
}
