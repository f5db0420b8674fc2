//! Changes of an XMI file: another name of a node, other text of its words. Nodes and edges stay as they are, since
//! tools keep their positions in separate files.

use std::ops::Range;

use roxmltree::Node;

use super::document::{Document, references};
use super::{MAX_ATTRIBUTES, document};
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
    id: String,
    /// Position of a comment about it: in front of the other children of its activity.
    comment_at: usize,
}

struct Scanned {
    name: String,
    nodes: Vec<Named>,
}

/// Contents of a text.
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
    if document::most_attributes(text) > MAX_ATTRIBUTES {
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
                id: document.id(node).unwrap_or_default().to_owned(),
                comment_at: activity
                    .first_element_child()
                    .map_or(0, |child| child.range().start),
            };
            if document.kind(node) == "CallBehaviorAction" {
                "activity".clone_into(&mut named.kind);
            }
            for child in node.children().filter(|child| child.has_tag_name("body")) {
                named.pieces.extend(content("code", child));
            }
            if let Some(id) = document.id(node) {
                for other in document.elements() {
                    match document.kind(other) {
                        "Comment" | "ownedComment" => commented(other, id, text, &mut named),
                        _ => said(other, id, &mut named),
                    }
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

/// The words of a node in a stereotype.
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

/// The words of a node in a comment, one per line.
fn commented(comment: Node<'_, '_>, id: &str, text: &str, named: &mut Named) {
    let body = comment.children().find(|child| child.has_tag_name("body"));
    let body = body
        .and_then(|body| body.first_child())
        .filter(Node::is_text);
    let (Some(body), [target]) = (body, &references(comment, "annotatedElement")[..]) else {
        return;
    };
    // A body with entities differs from its text.
    if *target != id || body.text() != text.get(body.range()) {
        return;
    }
    let mut at = body.range().start;
    for line in text[body.range()].split_inclusive('\n') {
        if let Some((word, said)) = known_word(line) {
            let begin = at + (said.as_ptr() as usize - line.as_ptr() as usize);
            named.pieces.push(Piece {
                word: word.to_owned(),
                text: said.to_owned(),
                at: begin..begin + said.len(),
            });
        }
        at += line.len();
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
            match node.pieces.iter().find(|piece| piece.word == *word) {
                Some(_) if new.trim().is_empty() => {
                    let found = "what the file says is changed here, and not taken away";
                    return Err(refused("change", &node.name, found));
                }
                Some(piece) => (piece.at.clone(), escaped(new.trim())),
                None => (
                    node.comment_at..node.comment_at,
                    comment(text, node, word, new.trim())?,
                ),
            }
        }
        Edit::Rename { key, to } => {
            let node = node(key)?;
            (
                node.name_at
                    .clone()
                    .ok_or_else(|| refused("rename", &node.name, "it has no name"))?,
                escaped(to.trim()),
            )
        }
        _ => {
            let found = "elements of XMI are drawn in the tool that wrote it, which keeps their places in files of its own";
            return Err(refused("rearrange", "diagram", found));
        }
    };
    Ok(format!("{}{new}{}", &text[..at.start], &text[at.end..]))
}

/// A comment of UML with a word of a node, in a form that every tool keeps.
fn comment(text: &str, node: &Named, word: &str, said: &str) -> Result<String, EditError> {
    if said.is_empty() {
        return Ok(String::new());
    }
    if node.id.is_empty() || node.comment_at == 0 || !text.contains("xmlns:xmi=") {
        let found =
            format!("nothing of the file says its {word}, and it has no identifier to say it of");
        return Err(refused("change", &node.name, found));
    }
    let is_free = |n: &usize| !text.contains(&format!("\"_mastermind_{n}\""));
    let n = (1..).find(is_free).unwrap_or(0);
    let line = text[..node.comment_at]
        .rfind('\n')
        .map_or("", |at| &text[at..node.comment_at]);
    let indent = if line.trim().is_empty() { line } else { "" };
    Ok(format!(
        "<ownedComment xmi:type=\"uml:Comment\" xmi:id=\"_mastermind_{n}\" annotatedElement=\"{}\">{indent}  <body>{word} = {}</body>{indent}</ownedComment>{indent}",
        escaped(&node.id),
        escaped(said)
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

    /// The text from one mark to another, with both.
    fn between(text: &str, from: &str, to: &str) -> String {
        let begin = text.find(from).unwrap_or_default();
        let end = text.find(to).map_or(begin, |at| at + to.len());
        text[begin..end].to_owned()
    }

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
        // A word that no stereotype has goes into a comment, which is then changed.
        let set = |word: &str, text: &str| Edit::SetWord {
            key: "0.2".into(),
            word: word.into(),
            text: text.into(),
        };
        let commented = edited(TEXT, Form::Xmi, &[set("code", "P = 1 - 2")])?;
        let without: String =
            commented.replace(&between(&commented, "<ownedComment", "</ownedComment>"), "");
        assert_eq!(
            without.split_whitespace().collect::<String>(),
            TEXT.split_whitespace().collect::<String>()
        );
        assert!(format!("{:?}", read_xmi(&commented)?.model).contains("\"P\""));
        let again = edited(&commented, Form::Xmi, &[set("code", "P = 3")])?;
        assert_eq!(again, commented.replace("P = 1 - 2", "P = 3"));
        assert!(edited(TEXT, Form::Xmi, &[Edit::Remove { key: "0.0".into() }]).is_err());
        Ok(())
    }
}
