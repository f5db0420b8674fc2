//! Graphviz: a cluster an activity, nodes and edges as UML has them.

use std::fmt::Write;

use super::{ActivityPicture, Step};

fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

/// The model in Graphviz' language.
pub fn draw(drawn: &ActivityPicture) -> String {
    let mut dot = Dot {
        text: format!("digraph \"{}\" {{\n", quoted(&drawn.model)),
        n: 0,
    };
    dot.text += "  node [fontname=\"Helvetica\"];\n";
    for (i, activity) in drawn.activities.iter().enumerate() {
        let name = quoted(&activity.name);
        let _ = writeln!(dot.text, "  subgraph cluster_{i} {{\n  label=\"{name}\";");
        let begin = dot.node("circle", "", ", style=filled, fillcolor=black, width=0.2");
        let ends = dot.flow(&activity.flow, vec![(begin, String::new())]);
        let end = dot.node(
            "doublecircle",
            "",
            ", style=filled, fillcolor=black, width=0.15",
        );
        dot.tie(&ends, end);
        dot.text += "  }\n";
    }
    dot.text + "}\n"
}

/// A node that an edge leaves, and the text of the edge.
type End = (usize, String);

struct Dot {
    text: String,
    n: usize,
}

impl Dot {
    fn node(&mut self, shape: &str, label: &str, more: &str) -> usize {
        self.n += 1;
        let (n, label) = (self.n, quoted(label).replace('\n', "\\n"));
        let _ = writeln!(
            self.text,
            "  n{n} [shape={shape}, label=\"{label}\"{more}];"
        );
        n
    }

    fn tie(&mut self, ends: &[End], to: usize) {
        for (from, says) in ends {
            let says = quoted(says);
            let label = if says.is_empty() {
                String::new()
            } else {
                format!(" [label=\"[{says}]\"]")
            };
            let _ = writeln!(self.text, "  n{from} -> n{to}{label};");
        }
    }

    fn flow(&mut self, flow: &[Step], mut ends: Vec<End>) -> Vec<End> {
        for step in flow {
            ends = self.step(step, &ends);
        }
        ends
    }

    fn step(&mut self, step: &Step, ends: &[End]) -> Vec<End> {
        let label = format!("{}\n{}", step.name, step.says.join("\n"));
        let label = label.trim_end();
        let none = String::new();
        match step.kind {
            "decision" => {
                let node = self.node("diamond", &step.name, "");
                self.tie(ends, node);
                let ways = step.branches.iter();
                ways.flat_map(|way| self.flow(&way.flow, vec![(node, way.guard.clone())]))
                    .collect()
            }
            "loop" | "while" => {
                let node = self.node("hexagon", label, "");
                self.tie(ends, node);
                let back: Vec<End> = step
                    .branches
                    .iter()
                    .flat_map(|way| self.flow(&way.flow, vec![(node, "again".into())]))
                    .collect();
                self.tie(&back, node);
                vec![(node, none)]
            }
            "parallel" | "critical" => {
                let bar = "box";
                let node = self.node(bar, &format!("«{}»\n{label}", step.kind), ", style=filled");
                self.tie(ends, node);
                let inner: Vec<End> = step
                    .branches
                    .iter()
                    .flat_map(|way| self.flow(&way.flow, vec![(node, String::new())]))
                    .collect();
                let end = self.node(bar, "", ", style=filled, height=0.1");
                self.tie(&inner, end);
                vec![(end, none)]
            }
            kind => {
                let style = if kind == "activity" {
                    "rounded,bold"
                } else {
                    "rounded"
                };
                let label = if kind == "action" {
                    label.to_owned()
                } else {
                    format!("{label}\n«{kind}»")
                };
                let node = self.node("box", &label, &format!(", style=\"{style}\""));
                self.tie(ends, node);
                vec![(node, none)]
            }
        }
    }
}
