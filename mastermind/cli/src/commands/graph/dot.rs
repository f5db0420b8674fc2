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
    let lines = node.lines();
    let lines = [&node.name, &node.class].into_iter().chain(&lines);
    let title: Vec<_> = lines.map(|line| escaped(line)).collect();
    let title = title.join("\\n");
    let (provides, uses) = (ports("p", &node.provides), ports("u", &node.uses));
    format!("{{{{{provides}}}|{title}|{{{uses}}}}}")
}

/// The wiring in Graphviz' language.
pub fn draw(wiring: &Wiring) -> String {
    let mut text = format!("digraph {} {{\n", quoted(&wiring.title()));
    text += "  rankdir=LR;\n  node [shape=record, fontname=\"Helvetica\"];\n";
    for node in &wiring.instances {
        let _ = writeln!(
            text,
            "  {} [label=\"{}\"];",
            quoted(&node.name),
            label(node)
        );
    }
    for (number, edge) in wiring.connections.iter().enumerate() {
        let port = |kind: &str, name: &str| quoted(&format!("{kind}_{name}"));
        let from = format!("{}:{}", quoted(&edge.user), port("u", &edge.uses));
        let to = format!("{}:{}", quoted(&edge.provider), port("p", &edge.provides));
        let label = edge.label();
        let label = label.map_or_else(String::new, |calls| format!(" [label={}]", quoted(&calls)));
        if edge.monitored {
            let proxy = quoted(&format!("proxy {number}"));
            let _ = writeln!(text, "  {proxy} [shape=circle, label=\"P\"];");
            let _ = writeln!(text, "  {from} -> {proxy}{label};\n  {proxy} -> {to};");
            let _ = writeln!(text, "  {proxy} -> \"mastermind \" [style=dashed];");
        } else {
            let _ = writeln!(text, "  {from} -> {to}{label};");
        }
    }
    if wiring.connections.iter().any(|edge| edge.monitored) {
        // No instance has a blank in its name.
        text += "  \"mastermind \" [label=\"Mastermind\", shape=box, style=rounded];\n";
        text += "  \"measurement \" [label=\"Measurement\", shape=box, style=rounded];\n";
        text += "  \"mastermind \" -> \"measurement \" [style=dashed];\n";
    }
    text + "}\n"
}
