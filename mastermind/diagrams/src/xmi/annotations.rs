//! Annotations of elements by profiles and comments.

use std::collections::HashMap;

use roxmltree::Node;

use super::document::{Document, references, text};
use super::nfp;
use crate::diagram::{Annotation, Collected, Sections, Subject};
use mastermind_programs::Rule;

/// Attributes of MARTE's steps that change no mean time.
const SILENT: [&str; 4] = ["id", "name", "concurRes", "behavDemands"];

/// Annotations of elements, by their identifier.
#[derive(Debug, Default)]
pub(super) struct Annotations<'a> {
    of: HashMap<&'a str, Said>,
}

/// Annotations of one element.
#[derive(Debug, Clone, Default)]
pub(super) struct Said {
    pub(super) annotation: Annotation,
    /// `GaStep` gave a cost.
    pub(super) has_demand: bool,
    /// MARTE's `rep`: rounds.
    pub(super) rounds: Option<String>,
    /// MARTE's `prob`: the share of the times that it is done, of those that something before it is.
    pub(super) share: Option<f64>,
}

impl<'a> Annotations<'a> {
    pub(super) fn of(
        document: &Document<'a, '_>,
        sections: &mut Sections,
        out: &mut Collected,
    ) -> Self {
        let mut found = Self::default();
        for node in document.elements() {
            if matches!(document.kind(node), "Comment" | "ownedComment") {
                found.comment(document, node, sections, out);
                continue;
            }
            let base = node
                .attributes()
                .find(|one| one.name().starts_with("base_"));
            if let Some(base) = base {
                found.stereotype(document, node, base.value(), out);
            }
        }
        found
    }

    /// Annotations of an element.
    pub(super) fn said(&self, id: Option<&str>) -> Said {
        id.and_then(|id| self.of.get(id))
            .cloned()
            .unwrap_or_default()
    }

    fn comment(
        &mut self,
        document: &Document<'a, '_>,
        node: Node<'a, '_>,
        sections: &mut Sections,
        out: &mut Collected,
    ) {
        let at = document.at(node);
        let place = Subject {
            element: "comment",
            at: &at,
        };
        let targets = references(node, "annotatedElement");
        let mut prose = false;
        sections.begin();
        for line in text(node, "body").unwrap_or_default().lines() {
            let line = line.trim();
            if line.is_empty() || sections.line(line, place, out) {
                continue;
            }
            let mut taken = false;
            for target in &targets {
                let said = self.of.entry(target).or_default();
                let inside = line
                    .strip_prefix("<<")
                    .and_then(|line| line.strip_suffix(">>"));
                taken |= match inside {
                    Some(name) => said.annotation.stereotype(name, place, out),
                    None => said.annotation.said(line),
                };
            }
            prose |= !taken;
        }
        if prose {
            out.warn(Rule::Ignored, place, "the text of a comment");
        }
    }

    fn stereotype(
        &mut self,
        document: &Document<'a, '_>,
        node: Node<'a, '_>,
        target: &'a str,
        out: &mut Collected,
    ) {
        let name = node.tag_name().name();
        let at = document.at(node);
        let place = Subject {
            element: name,
            at: &at,
        };
        let said = self.of.entry(target).or_default();
        if matches!(name, "GaStep" | "SaStep" | "PaStep") {
            step(said, node, place, out);
            return;
        }
        if !said.annotation.stereotype(name, place, out) {
            let reason = format!("«{name}» is none of the stereotypes that say what an element is");
            out.warn(Rule::Ignored, place, reason);
            return;
        }
        for (word, text) in tagged(node) {
            if !said.annotation.word(word, &text) {
                let reason = format!("tagged value \"{word}\" is not used");
                out.warn(Rule::Ignored, place, reason);
            }
        }
    }
}

/// Tagged values: attributes, and children with text. Not the identifier nor the element it is at.
fn tagged<'a>(node: Node<'a, '_>) -> Vec<(&'a str, String)> {
    let attributes = node.attributes();
    let own = attributes.filter(|one| {
        one.namespace().is_none() && !one.name().starts_with("base_") && one.name() != "xmi.id"
    });
    let mut found: Vec<_> = own
        .map(|one| (one.name(), one.value().to_owned()))
        .collect();
    for child in node.children().filter(Node::is_element) {
        if let Some(text) = child.text().map(str::trim).filter(|text| !text.is_empty()) {
            found.push((child.tag_name().name(), text.to_owned()));
        }
    }
    found
}

/// MARTE's step of a scenario.
fn step(said: &mut Said, node: Node<'_, '_>, place: Subject<'_>, out: &mut Collected) {
    for (word, text) in tagged(node) {
        match word {
            "hostDemand" => match nfp::seconds(&text) {
                Ok(text) => {
                    said.has_demand = true;
                    said.annotation.word("cost", &text);
                }
                Err(reason) => out.find(Rule::Annotation, place, reason),
            },
            "rep" => {
                let text = text.trim().trim_start_matches('(').trim_end_matches(')');
                let text = text.trim_start_matches("value=");
                if text.trim() != "1" {
                    said.rounds = Some(text.trim().to_owned());
                }
            }
            "prob" => match text.trim().parse() {
                Ok(share) if (0.0..=1.0).contains(&share) => said.share = Some(share),
                _ => out.warn(
                    Rule::Ignored,
                    place,
                    format!("prob \"{text}\", expected a number from 0 to 1"),
                ),
            },
            _ if SILENT.contains(&word) => {}
            _ => {
                let reason = format!(
                    "tagged value \"{word}\" is not used, expected hostDemand, rep or prob"
                );
                out.warn(Rule::Ignored, place, reason);
            }
        }
    }
}
