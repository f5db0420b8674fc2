//! Changes of an XMI file: another name, another text of what is said of a node. Nodes and edges stay as they are, since tools keep
//! their places in files beside this one.

use std::ops::Range;

use roxmltree::Node;

use super::document::Document;
use super::{MOST_ATTRIBUTES, document};
use crate::diagram::{known_stereotype, known_word};
use crate::edit::{
    Edit, EditError, Form, Item, Key, Outline, OutlineActivity, Word, no_such, number, refused,
};

/// A piece of the text that may be another one.
struct Piece {
    word: String,
    text: String,
    at: Range<usize>,
}

/// A node of an activity.
struct Named {
    kind: String,
    name: String,
    name_at: Option<Range<usize>>,
    line: usize,
    pieces: Vec<Piece>,
}

struct Scanned {
    name: String,
    nodes: Vec<Named>,
}

/// What a text has.
pub(crate) fn outline(text: &str) -> Result<Outline, EditError> {
    let scanned = scan(text)?;
    let item = |node: &Named| Item {
        kind: node.kind.clone(),
        name: node.name.clone(),
        words: node
            .pieces
            .iter()
            .map(|piece| Word {
                word: piece.word.clone(),
                text: piece.text.clone(),
            })
            .collect(),
        lines: [node.line; 2],
        ..Item::default()
    };
    let mut activities: Vec<_> = scanned
        .iter()
        .map(|activity| OutlineActivity {
            key: String::new(),
            name: activity.name.clone(),
            flow: activity.nodes.iter().map(item).collect(),
        })
        .collect();
    number(&mut activities);
    Ok(Outline {
        form: Form::Xmi,
        can_rearrange: false,
        activities,
        declared: Vec::new(),
    })
}

fn wrong(found: impl ToString) -> EditError {
    EditError::Form {
        found: found.to_string(),
        expected: "XML without a document type of its own",
    }
}

fn scan(text: &str) -> Result<Vec<Scanned>, EditError> {
    if document::most_attributes(text) > MOST_ATTRIBUTES {
        return Err(wrong("an element of too many attributes"));
    }
    let xml = roxmltree::Document::parse(text).map_err(wrong)?;
    let document = Document::new(&xml);
    let line = |node: Node<'_, '_>| {
        let at = document.at(node);
        at.trim_start_matches("line ").parse().unwrap_or(1)
    };
    let mut found = Vec::new();
    for activity in document.activities() {
        let within = activity.descendants().filter(Node::is_element);
        let actions = within.filter(|node| is_action(document.kind(*node)));
        let nodes = actions.map(|node| {
            let name_at = node
                .attributes()
                .find(|one| one.name() == "name")
                .map(|one| one.range_value());
            let mut named = Named {
                kind: "action".to_owned(),
                name: document.name(node).unwrap_or_default(),
                name_at,
                line: line(node),
                pieces: Vec::new(),
            };
            if document.kind(node) == "CallBehaviorAction" {
                "activity".clone_into(&mut named.kind);
            }
            for child in node.children().filter(|child| child.has_tag_name("body")) {
                named.pieces.extend(content("code", child));
            }
            if let Some(id) = document.id(node) {
                for stereotype in document.elements() {
                    said(stereotype, id, &mut named);
                }
            }
            named
        });
        found.push(Scanned {
            name: document.name(activity).unwrap_or_default(),
            nodes: nodes.collect(),
        });
    }
    Ok(found)
}

fn is_action(kind: &str) -> bool {
    kind.ends_with("Action") || matches!(kind, "LoopNode" | "ActionState" | "CallState")
}

/// What a stereotype says of a node.
fn said(stereotype: Node<'_, '_>, id: &str, named: &mut Named) {
    let mut attributes = stereotype.attributes();
    if !attributes.any(|one| one.name().starts_with("base_") && one.value() == id) {
        return;
    }
    if let Some(kind) = known_stereotype(stereotype.tag_name().name()) {
        kind.clone_into(&mut named.kind);
    }
    for one in stereotype.attributes() {
        if let Some(word) = word_of(one.name()) {
            named.pieces.push(Piece {
                word,
                text: one.value().to_owned(),
                at: one.range_value(),
            });
        }
    }
    for child in stereotype.children().filter(Node::is_element) {
        if let Some(word) = word_of(child.tag_name().name()) {
            named.pieces.extend(content(&word, child));
        }
    }
}

/// A tagged value as the TOML form calls it; MARTE's, which have units, by their own names.
fn word_of(name: &str) -> Option<String> {
    if matches!(name, "hostDemand" | "rep" | "prob") {
        return Some(name.to_owned());
    }
    known_word(&format!("{name} = 1")).map(|(word, _)| word.to_owned())
}

/// The text in an element.
fn content(word: &str, node: Node<'_, '_>) -> Option<Piece> {
    let inside = node
        .first_child()
        .filter(|child| child.is_text() && child.next_sibling().is_none())?;
    let text = inside.text()?.trim().to_owned();
    Some(Piece {
        word: word.to_owned(),
        text,
        at: inside.range(),
    })
}

/// A text after one change.
pub(crate) fn edited(text: &str, edit: &Edit) -> Result<String, EditError> {
    let scanned = scan(text)?;
    let node = |key: &str| {
        let (flow, at) = Key::parse(key)?.element().ok_or_else(|| no_such(key))?;
        let found = scanned.get(flow.activity).filter(|_| flow.steps.is_empty());
        found
            .and_then(|activity| activity.nodes.get(at))
            .ok_or_else(|| no_such(key))
    };
    let (at, new) = match edit {
        Edit::SetWord {
            key,
            word,
            text: new,
        } => {
            let node = node(key)?;
            let piece = node.pieces.iter().find(|piece| piece.word == *word);
            let piece = piece.ok_or_else(|| {
                refused(
                    "change",
                    &node.name,
                    format!("nothing of the file says its {word}"),
                )
            })?;
            (piece.at.clone(), new)
        }
        Edit::Rename { key, to } => {
            let node = node(key)?;
            (
                node.name_at
                    .clone()
                    .ok_or_else(|| refused("rename", &node.name, "it has no name"))?,
                to,
            )
        }
        _ => {
            let found = "elements of XMI are drawn in the tool that wrote it, which keeps their places in files of its own";
            return Err(refused("rearrange", "diagram", found));
        }
    };
    Ok(format!(
        "{}{}{}",
        &text[..at.start],
        escaped(new.trim()),
        &text[at.end..]
    ))
}

fn escaped(text: &str) -> String {
    let text = text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    text.replace('"', "&quot;").replace('\n', "&#10;")
}

#[cfg(test)]
mod tests {
    use crate::edit::{Edit, Form, edited, outline};
    use crate::read_xmi;

    const TEXT: &str = include_str!("../../tests/diagrams/files/papyrus-sample.uml");

    #[test]
    fn a_cost_and_a_name_are_changed_and_nothing_else() -> Result<(), Box<dyn std::error::Error>> {
        let outline = outline(TEXT, Form::Xmi)?;
        let flow = &outline.activities[0].flow;
        assert_eq!((flow[0].name.as_str(), flow[0].key.as_str()), ("A1", "0.0"));
        let cost = flow[0]
            .words
            .iter()
            .find(|word| word.word == "cost")
            .ok_or("no cost")?;
        assert_eq!(cost.text, "F_A1()");
        let edits: Vec<Edit> = serde_json::from_str(
            r#"[{"edit":"set-word","key":"0.0","word":"cost","text":"F_A1() * (1 < 2)"},{"edit":"rename","key":"0.0","to":"a \"b\""}]"#,
        )?;
        let text = edited(TEXT, Form::Xmi, &edits)?;
        let changed = TEXT
            .lines()
            .zip(text.lines())
            .filter(|(old, new)| old != new)
            .count();
        assert_eq!((changed, TEXT.lines().count()), (2, text.lines().count()));
        let model = read_xmi(&text)?.model;
        assert!(format!("{model:?}").contains("a \\\"b\\\""));
        assert_eq!(edited(TEXT, Form::Xmi, &[])?, TEXT);
        assert!(edited(TEXT, Form::Xmi, &[Edit::Remove { key: "0.0".into() }]).is_err());
        Ok(())
    }
}
