//! Files whose elements have no identifiers: references are paths then (`//A/w`, `//@packagedElement.0/@node.1`).
//!
//! A path is `/` for each level below the document's root element: the name of a child, or `@`, its tag and its index
//! among the siblings of that tag. Each element without an identifier gets the path by which the file refers to it as
//! its identifier, so the rest of the reader needs identifiers only.
//!
//! # Source
//! Eclipse Modeling Framework, `org.eclipse.emf.ecore.InternalEObject.eURIFragmentSegment` and `eObjectForURIFragmentSegment`.

use std::collections::{HashMap, HashSet};

use roxmltree::{Document as Xml, Node};

/// Tags whose elements take part in a flow.
const TAGS: [&str; 8] = [
    "node",
    "ownedNode",
    "structuredNode",
    "containedNode",
    "executableNode",
    "edge",
    "ownedEdge",
    "containedEdge",
];

/// Deepest element that gets a path: each is as long as it is deep.
const DEEPEST: usize = 64;

fn has_id(node: Node<'_, '_>) -> bool {
    let mut all = node.attributes();
    all.any(|one| one.name() == "xmi.id" || (one.name() == "id" && one.namespace().is_some()))
}

/// The text with an identifier at each element that has none; `None` if all elements of flows have one.
pub(super) fn with_identifiers(text: &str, xml: &Xml<'_>) -> Option<String> {
    let is_activity = |node: &Node<'_, '_>| {
        node.tag_name().name() == "Activity"
            || node
                .attributes()
                .any(|one| one.value().ends_with(":Activity"))
    };
    let lacks = |node: &Node<'_, '_>| {
        node.is_element()
            && !has_id(*node)
            && (TAGS.contains(&node.tag_name().name()) || is_activity(node))
    };
    xml.root().descendants().find(lacks)?;
    let mut referred: HashSet<&str> = HashSet::new();
    for node in xml.root().descendants() {
        for attribute in node.attributes() {
            let words = attribute.value().split_whitespace();
            referred.extend(words.filter(|word| word.starts_with('/') || word.starts_with("#/")));
        }
    }
    let mut made = String::with_capacity(text.len() + text.len() / 4);
    let mut from = 0;
    let mut paths: HashMap<roxmltree::NodeId, [String; 2]> = HashMap::new();
    let mut counts: HashMap<(roxmltree::NodeId, &str), usize> = HashMap::new();
    for node in xml.root().descendants().filter(Node::is_element) {
        let tag = node.tag_name().name();
        let count = node.parent().map_or(0, |parent| {
            let count = counts.entry((parent.id(), tag)).or_default();
            *count += 1;
            *count - 1
        });
        let Some(own) = own_paths(node, count, &paths) else {
            continue;
        };
        if !has_id(node) {
            let known = own.iter().find(|path| referred.contains(path.as_str()));
            let hashed = || {
                own.iter()
                    .find(|path| referred.contains(format!("#{path}").as_str()))
            };
            let path = match (known, hashed()) {
                (Some(path), _) => path.clone(),
                (None, Some(path)) => format!("#{path}"),
                (None, None) => own[1].clone(),
            };
            let behind = node.range().start + 1;
            let name = text[behind..].find(|c: char| c.is_whitespace() || matches!(c, '/' | '>'));
            let at = behind + name?;
            made.push_str(&text[from..at]);
            made.push_str(" xmi.id=\"");
            made.push_str(
                &path
                    .replace('&', "&amp;")
                    .replace('<', "&lt;")
                    .replace('"', "&quot;"),
            );
            made.push('"');
            from = at;
        }
        paths.insert(node.id(), own);
    }
    made.push_str(&text[from..]);
    Some(made)
}

/// The paths of an element, by names and by places: its own among the siblings of its tag is `place`.
fn own_paths(
    node: Node<'_, '_>,
    place: usize,
    paths: &HashMap<roxmltree::NodeId, [String; 2]>,
) -> Option<[String; 2]> {
    let parent = node.parent().filter(Node::is_element);
    let Some(parent) = parent else {
        return Some(["/".to_owned(), "/".to_owned()]);
    };
    if node.ancestors().take(DEEPEST + 1).count() > DEEPEST {
        return None;
    }
    let tag = node.tag_name().name();
    let place = format!("@{tag}.{place}");
    let [named, placed] = paths.get(&parent.id())?;
    let name = node.attribute("name").unwrap_or(&place);
    Some([format!("{named}/{name}"), format!("{placed}/{place}")])
}
