//! An XMI file: identifiers, types and lines of its elements.

use std::collections::HashSet;

use roxmltree::{Document as Xml, Node};

/// A file and the lines of it.
pub(super) struct Document<'a, 'input> {
    xml: &'a Xml<'input>,
    /// Where each line begins.
    lines: Vec<usize>,
    /// Names are written as in addresses, as StarUML does: `%20` for a blank.
    has_escapes: bool,
    /// Decisions whose guards are compared with an incoming value.
    with_input: HashSet<&'a str>,
}

impl<'a, 'input> Document<'a, 'input> {
    pub(super) fn new(xml: &'a Xml<'input>) -> Self {
        let ends = xml.input_text().bytes().enumerate();
        let begins = ends.filter_map(|(i, byte)| (byte == b'\n').then_some(i + 1));
        let lines = std::iter::once(0).chain(begins).collect();
        let mut elements = xml.root().descendants();
        let has_escapes = elements.any(|node| node.attribute("exporter") == Some("StarUML"));
        let mut document = Self {
            xml,
            lines,
            has_escapes,
            with_input: HashSet::new(),
        };
        document.with_input = document.with_input();
        document
    }

    /// UML 2.5, 15.3.3.5: of a decision with an input, or an object flow into it, a guard is a value that its input may have.
    fn with_input(&self) -> HashSet<&'a str> {
        let mut found = HashSet::new();
        for node in self.elements() {
            match self.kind(node) {
                "DecisionNode" => {
                    let names = ["decisionInput", "decisionInputFlow"];
                    let has_any = names.iter().any(|name| !references(node, name).is_empty());
                    found.extend(self.id(node).filter(|_| has_any));
                }
                "ObjectFlow" => found.extend(references(node, "target")),
                _ => {}
            }
        }
        found
    }

    /// Whether a decision compares its guards with a value that comes in.
    pub(super) fn compares(&self, id: &str) -> bool {
        self.with_input.contains(id)
    }

    /// `line 12`.
    pub(super) fn at(&self, node: Node<'_, '_>) -> String {
        let line = self
            .lines
            .partition_point(|begin| *begin <= node.range().start);
        format!("line {line}")
    }

    /// The name of an element, if it is not blank.
    pub(super) fn name(&self, node: Node<'_, '_>) -> Option<String> {
        let name = node.attribute("name")?.trim();
        let name = if self.has_escapes {
            unescaped(name)
        } else {
            name.to_owned()
        };
        Some(name).filter(|name| !name.trim().is_empty())
    }

    /// `xmi:id`, or its name in older forms.
    pub(super) fn id(&self, node: Node<'a, 'input>) -> Option<&'a str> {
        let mut all = node.attributes();
        let is_id =
            |name: &str, in_namespace: bool| name == "xmi.id" || (name == "id" && in_namespace);
        all.find(|one| is_id(one.name(), one.namespace().is_some()))
            .map(|one| one.value())
    }

    /// The type of an element without its prefix: `OpaqueAction` of `xmi:type="uml:OpaqueAction"`, or
    /// of `<uml:OpaqueAction>`.
    pub(super) fn kind(&self, node: Node<'a, 'input>) -> &'a str {
        let mut all = node.attributes();
        let typed = all.find(|one| one.name() == "type" && one.namespace().is_some());
        let name = typed.map_or_else(|| node.tag_name().name(), |one| one.value());
        name.rsplit_once(':').map_or(name, |(_, name)| name)
    }

    /// All elements of the file, in order.
    pub(super) fn elements(&self) -> impl Iterator<Item = Node<'a, 'input>> + use<'a, 'input> {
        self.xml.root().descendants().filter(Node::is_element)
    }

    /// The activities, in the order of the file, without references to them.
    pub(super) fn activities(&self) -> Vec<Node<'a, 'input>> {
        let is_one =
            |node: &Node<'a, 'input>| self.kind(*node) == "Activity" && self.id(*node).is_some();
        self.elements().filter(is_one).collect()
    }

    /// The name of the model around all.
    pub(super) fn model_name(&self) -> Option<String> {
        let mut all = self.elements();
        let model = all.find(|node| matches!(node.tag_name().name(), "Model" | "Package"))?;
        self.name(model)
    }
}

/// A text whose bytes may be written as `%` and two hexadecimal digits; unchanged if that gives no text.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let digits = tail.get(..2).filter(|_| *first == b'%');
        let byte = digits
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        rest = if byte.is_some() { &tail[2..] } else { tail };
        bytes.push(byte.unwrap_or(*first));
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

/// An upper bound of the attributes of an element: each `=` in a tag outside of a value counts.
pub(super) fn most_attributes(text: &str) -> usize {
    let (mut most, mut here) = (0, 0);
    let (mut in_tag, mut quote) = (false, None);
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match (in_tag, quote, byte) {
            (false, _, b'<') => {
                let skipped = [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")];
                let begins = |(begin, _): &&(&str, &str)| bytes[at..].starts_with(begin.as_bytes());
                if let Some((begin, end)) = skipped.iter().find(begins) {
                    let after = text.get(at + begin.len()..).unwrap_or_default();
                    let Some(found) = after.find(end) else {
                        return most;
                    };
                    at += begin.len() + found + end.len();
                    continue;
                }
                (in_tag, here) = (true, 0);
            }
            (true, None, b'>') => in_tag = false,
            (true, None, b'"' | b'\'') => quote = Some(*byte),
            (true, Some(open), byte) if open == *byte => quote = None,
            (true, None, b'=') => {
                here += 1;
                most = most.max(here);
            }
            _ => {}
        }
        at += 1;
    }
    most
}

/// Identifiers in an attribute or a child of that name.
pub(super) fn references<'a>(node: Node<'a, '_>, name: &str) -> Vec<&'a str> {
    let mut found: Vec<&str> = node
        .attribute(name)
        .map_or_else(Vec::new, |ids| ids.split_whitespace().collect());
    for child in node
        .children()
        .filter(|child| child.has_tag_name_local(name))
    {
        let mut all = child.attributes();
        if let Some(id) = all.find(|one| matches!(one.name(), "idref" | "xmi.idref")) {
            found.push(id.value());
        }
    }
    found
}

/// A text in an attribute, or in children, of that name; lines of several children.
pub(super) fn text(node: Node<'_, '_>, name: &str) -> Option<String> {
    if let Some(text) = node.attribute(name) {
        return Some(text.to_owned());
    }
    let children = node
        .children()
        .filter(|child| child.has_tag_name_local(name));
    let texts: Vec<_> = children
        .filter_map(|child| child.text())
        .map(str::trim)
        .collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

/// The text of a value specification: a literal's value, an expression's body.
pub(super) fn value(node: Node<'_, '_>) -> Option<String> {
    text(node, "value").or_else(|| text(node, "body"))
}

/// A tag's name, whatever its namespace.
pub(super) trait LocalName {
    fn has_tag_name_local(&self, name: &str) -> bool;
}

impl LocalName for Node<'_, '_> {
    fn has_tag_name_local(&self, name: &str) -> bool {
        self.is_element() && self.tag_name().name() == name
    }
}
