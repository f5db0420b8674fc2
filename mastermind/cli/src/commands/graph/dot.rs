//! Graphviz: instances as records, ports as their fields.

use std::fmt::Write;

use super::{Node, Wiring};

/// A text between quotes.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// A text in a record's label.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        if "\\\"{}<>| ".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

fn label(node: &Node) -> String {
    let field = |kind: &str, port: &String| format!("<{kind}_{0}> {0}", escaped(port));
    let ports = |kind: &str, ports: &[String]| {
        let fields: Vec<_> = ports.iter().map(|port| field(kind, port)).collect();
        fields.join("|")
    };
    let title = format!("{}\\n{}", escaped(&node.name), escaped(&node.class));
    let (provides, uses) = (ports("p", &node.provides), ports("u", &node.uses));
    format!("{{{{{provides}}}|{title}|{{{uses}}}}}")
}

/// The wiring in Graphviz' language.
pub fn draw(wiring: &Wiring) -> String {
    let mut text = format!("digraph {} {{\n", quoted(&wiring.assembly));
    text += "  rankdir=LR;\n  node [shape=record, fontname=\"Helvetica\"];\n";
    for node in &wiring.instances {
        let _ = writeln!(
            text,
            "  {} [label=\"{}\"];",
            quoted(&node.name),
            label(node)
        );
    }
    for edge in &wiring.connections {
        let port = |kind: &str, name: &str| quoted(&format!("{kind}_{name}"));
        let _ = writeln!(
            text,
            "  {}:{} -> {}:{};",
            quoted(&edge.user),
            port("u", &edge.uses),
            quoted(&edge.provider),
            port("p", &edge.provides)
        );
    }
    text + "}\n"
}
