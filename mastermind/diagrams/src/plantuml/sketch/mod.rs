//! A diagram of PlantUML as its author drew it.
//!
//! [`pictures`] fills a [`Picture`] for each diagram of a file. Texts, branch labels, swimlanes, partitions, notes and
//! colours come from the file; nothing is evaluated, so diagrams that define no model are drawn too. As PlantUML does,
//! the new syntax (`new`) ends `if`, `switch` and `repeat` in a diamond where several branches meet, and the legacy one
//! (`legacy`) draws only what the file has.
//!
//! ```text
//! if (ready?) then (yes)      ◇ ready? ──yes──► go ──┐
//!   :go;                         └──────no───────────► ◇ ──►
//! else (no)
//! endif
//! ```

mod legacy;
mod new;

use std::collections::BTreeMap;

use super::lines::{self, Block, Line};
use super::name_or_number;
use super::text::after;
use crate::diagram::{Collected, Subject};
use crate::picture::{
    Colours, Line as Text, Picture, PictureEdge, PictureGroup, PictureNode, Shape, Stroke, creole,
};
use mastermind_programs::Rule;

/// The pictures of a file, each with its findings.
pub(super) fn pictures(text: &str, out: &mut Collected) -> Vec<Picture> {
    let blocks = lines::blocks(text, out);
    let numbered = blocks.iter().enumerate();
    numbered
        .map(|(n_before, block)| Picture {
            name: name_or_number(&block.name, n_before),
            ..picture(block, out)
        })
        .collect()
}

fn picture(block: &Block, out: &mut Collected) -> Picture {
    let mut canvas = match super::legacy::is_legacy(block) {
        true => legacy::draw(block, out),
        false => new::draw(block, out),
    };
    canvas.picture.title = creole(&block.title.join("\n"));
    if canvas.picture.title.is_empty() {
        canvas.picture.title = creole(&block.name);
    }
    canvas.picture
}

/// A loose end: an edge without a target yet, and how it is drawn.
#[derive(Debug, Clone)]
struct Tail {
    from: usize,
    label: Vec<Text>,
    stroke: Stroke,
    colour: Option<String>,
}

impl Tail {
    fn of(from: usize, label: &str) -> Self {
        Self {
            from,
            label: creole(label),
            stroke: Stroke::Solid,
            colour: None,
        }
    }
}

/// A frame that is open. It is a group of its own in each swimlane that it reaches.
#[derive(Debug, Default)]
struct Frame {
    title: Vec<Text>,
    colours: Colours,
    by_parent: BTreeMap<Option<usize>, usize>,
}

/// A picture under construction.
#[derive(Debug, Default)]
struct Canvas {
    picture: Picture,
    /// Where the next node's edges leave.
    tails: Vec<Tail>,
    /// The node that a note belongs to.
    last: Option<usize>,
    frames: Vec<Frame>,
    lane: Option<usize>,
    lanes: BTreeMap<String, usize>,
}

impl Canvas {
    /// The innermost group, made if it is new.
    fn group(&mut self) -> Option<usize> {
        let mut parent = self.lane;
        for frame in &mut self.frames {
            let groups = &mut self.picture.groups;
            let made = frame.by_parent.entry(parent).or_insert_with(|| {
                groups.push(PictureGroup {
                    title: frame.title.clone(),
                    parent,
                    colours: frame.colours.clone(),
                    is_lane: false,
                });
                groups.len() - 1
            });
            parent = Some(*made);
        }
        parent
    }

    /// Adds a node that no edge leads to yet.
    fn node(&mut self, text: Vec<Text>, shape: Shape, colours: Colours) -> usize {
        let group = self.group();
        self.picture.nodes.push(PictureNode {
            text,
            shape,
            colours,
            group,
            about: None,
        });
        self.picture.nodes.len() - 1
    }

    /// Adds a node that the loose ends lead to; it is the only loose end then.
    fn then(&mut self, text: Vec<Text>, shape: Shape, colours: Colours) -> usize {
        let node = self.node(text, shape, colours);
        self.tie(node);
        self.tails = vec![Tail::of(node, "")];
        self.last = Some(node);
        node
    }

    /// Leads the loose ends to a node.
    fn tie(&mut self, node: usize) {
        for tail in std::mem::take(&mut self.tails) {
            self.edge(tail, node);
        }
    }

    fn edge(&mut self, tail: Tail, to: usize) {
        self.picture.edges.push(PictureEdge {
            from: tail.from,
            to,
            from_group: None,
            to_group: None,
            label: tail.label,
            stroke: tail.stroke,
            tips: [false, true],
            colour: tail.colour,
        });
    }

    /// Brings several loose ends together in a diamond.
    fn merge(&mut self) {
        if self.tails.len() > 1 {
            self.then(Vec::new(), Shape::Diamond, Colours::default());
            self.last = None;
        }
    }

    fn open_frame(&mut self, title: &str, colour: Option<&str>) {
        self.frames.push(Frame {
            title: creole(title),
            colours: filled(colour),
            by_parent: BTreeMap::new(),
        });
        self.last = None;
    }

    /// Continues in a swimlane, which is made if its name is new.
    fn enter_lane(&mut self, name: &str, title: &str, colour: Option<&str>) {
        let groups = &mut self.picture.groups;
        let lane = self.lanes.entry(name.to_owned()).or_insert_with(|| {
            groups.push(PictureGroup {
                title: creole(title),
                parent: None,
                colours: filled(colour),
                is_lane: true,
            });
            groups.len() - 1
        });
        self.lane = Some(*lane);
    }

    /// A note or legend, of one line or of several; returns whether the line begins one.
    fn note<'l>(
        &mut self,
        line: &Line,
        lines: &mut impl Iterator<Item = &'l Line>,
        out: &mut Collected,
    ) -> bool {
        let floating = after(&line.text, "floating");
        let note = after(floating.unwrap_or(&line.text), "note");
        let legend = after(&line.text, "legend");
        let Some(rest) = note.or(legend) else {
            return false;
        };
        let mut text = String::new();
        let mut head = rest;
        if let (Some((before, said)), true) = (rest.split_once(':'), legend.is_none()) {
            head = before;
            said.trim().clone_into(&mut text);
        } else {
            let end = if legend.is_some() {
                "endlegend"
            } else {
                "endnote"
            };
            loop {
                let Some(next) = lines.next() else {
                    wrong(line, format!("it is not ended, expected {end}"), out);
                    return true;
                };
                if next.text.replace(' ', "").eq_ignore_ascii_case(end) {
                    break;
                }
                text.push_str(&next.text);
                text.push('\n');
            }
        }
        let colour = head.split_whitespace().find(|word| word.starts_with('#'));
        let note = self.node(creole(&text), Shape::Note, filled(colour));
        let is_about = floating.is_none() && legend.is_none();
        self.picture.nodes[note].about = self.last.filter(|_| is_about);
        true
    }
}

/// Colours of a `#red`, or `#red;line:blue;text:white` in the file.
fn filled(colour: Option<&str>) -> Colours {
    let mut colours = Colours::default();
    for part in colour.unwrap_or_default().split(';') {
        let part = part.trim();
        match part.split_once(':') {
            Some(("line" | "line.dashed" | "line.bold", value)) => {
                colours.stroke = Some(value.to_owned());
            }
            Some(("text", value)) => colours.text = Some(value.to_owned()),
            Some(("back", value)) => colours.fill = Some(value.to_owned()),
            None if part.starts_with('#') => colours.fill = Some(part.to_owned()),
            _ => {}
        }
    }
    colours
}

/// The style of an arrow from the text between its brackets: `#blue,dashed`.
fn arrow_style(arrow: &str) -> (Stroke, Option<String>) {
    let inside = arrow
        .split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'));
    let (mut stroke, mut colour) = (Stroke::Solid, None);
    for word in inside.map_or("", |found| found.0).split([',', ';']) {
        match word.trim() {
            "dashed" | "dotted" => stroke = Stroke::Dashed,
            "bold" => stroke = Stroke::Thick,
            "hidden" => stroke = Stroke::Hidden,
            word if word.starts_with('#') => colour = Some(word.to_owned()),
            _ => {}
        }
    }
    (stroke, colour)
}

fn wrong(line: &Line, reason: impl Into<String>, out: &mut Collected) {
    let shown: String = line.text.chars().take(60).collect();
    let at = line.at();
    let place = Subject {
        element: &shown,
        at: &at,
    };
    out.find(Rule::Syntax, place, reason);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::letters;

    fn drawn(lines: &str) -> Picture {
        let mut out = Collected::default();
        let text = format!("@startuml Name\n{lines}\n@enduml\n");
        let mut all = pictures(&text, &mut out);
        assert!(out.findings.is_empty(), "{:?}", out.findings);
        assert_eq!(all.len(), 1);
        all.remove(0)
    }

    /// Edges as `from -label-> to`; a node without a text is its shape.
    fn edges(picture: &Picture) -> Vec<String> {
        let name = |node: usize| {
            let node = &picture.nodes[node];
            let text = letters(&node.text).replace('\n', "/");
            if text.is_empty() {
                format!("{:?}", node.shape)
            } else {
                text
            }
        };
        let shown = picture.edges.iter().map(|edge| {
            let label = letters(&edge.label);
            format!("{} -{label}-> {}", name(edge.from), name(edge.to))
        });
        shown.collect()
    }

    #[test]
    fn branches_keep_their_words() {
        let picture = drawn(
            "title **Order**\nstart\nif (in stock?) then (yes)\n:ship;\n(no) elseif (known?) then (maybe)\n:wait;\nelse (never)\nstop\nendif\n:bill|\nend",
        );
        assert_eq!(letters(&picture.title), "Order");
        assert!(picture.title[0][0].bold);
        let expected = [
            "Initial --> in stock?",
            "in stock? -yes-> ship",
            "in stock? -no-> known?",
            "known? -maybe-> wait",
            "known? -never-> Final",
            "ship --> Diamond",
            "wait --> Diamond",
            "Diamond --> bill",
            "bill --> FlowFinal",
        ];
        assert_eq!(edges(&picture), expected);
        assert_eq!(picture.nodes[6].shape, Shape::Diamond);
        assert_eq!(picture.nodes[7].shape, Shape::Subroutine);
    }

    #[test]
    fn loops_lead_back_by_their_labels() {
        let picture = drawn(
            "while (more?) is (yes)\n:work;\nif (bad?) then (yes)\nbreak\nendif\nbackward:again;\nendwhile (done)\nrepeat\n:try;\nbackward:wait;\nrepeat while (failed?) is (yes) not (no)\n->after all;\nstop",
        );
        let expected = [
            "more? -yes-> work",
            "work --> bad?",
            "bad? --> again",
            "again --> more?",
            "more? -done-> Diamond",
            "bad? -yes-> Diamond",
            "Diamond --> try",
            "wait --> Diamond",
            "try --> failed?",
            "failed? -yes-> wait",
            "failed? -no/after all-> Final",
        ];
        let found: Vec<_> = edges(&picture);
        assert_eq!(
            found
                .iter()
                .map(|edge| edge.replace('\n', "/"))
                .collect::<Vec<_>>(),
            expected
        );
    }

    #[test]
    fn forks_lanes_frames_and_notes_are_drawn() {
        let picture = drawn(
            "|#AliceBlue|a|Alice|\nstart\nnote right #pink: her\\nturn\npartition \"Both\" {\nfork\n:one;\nfork again\n|Bob|\n:two;\nend fork {or}\n}\n#red:three;\nkill\nlegend\nwords\nendlegend",
        );
        let titles: Vec<_> = picture
            .groups
            .iter()
            .map(|group| letters(&group.title))
            .collect();
        assert_eq!(titles, ["Alice", "Both", "Bob", "Both"]);
        assert!(picture.groups[0].is_lane && picture.groups[2].is_lane);
        assert_eq!(picture.groups[3].parent, Some(2));
        let expected = [
            "Initial --> Bar",
            "Bar --> one",
            "Bar --> two",
            "one --> {or}",
            "two --> {or}",
            "{or} --> three",
        ];
        assert_eq!(edges(&picture), expected);
        let note = &picture.nodes[1];
        assert_eq!((note.shape, note.about), (Shape::Note, Some(0)));
        assert_eq!(letters(&note.text), "her\nturn");
        assert_eq!(note.colours.fill.as_deref(), Some("#pink"));
        let legend = &picture.nodes[picture.nodes.len() - 1];
        assert_eq!((legend.shape, legend.about), (Shape::Note, None));
    }

    #[test]
    fn legacy_arrows_are_drawn_as_they_stand() {
        let picture = drawn(
            "(*) --> \"First\\naction\" as A\nif \"ok?\" then\n-->[yes] ===B===\nelse\n-left->[no] A\nendif\n===B=== -[#blue,dashed]-> (*)\npartition Last {\nA --> Z\n}\nnote left: by hand",
        );
        let expected = [
            "Initial --> First/action",
            "First/action --> ok?",
            "ok? -yes-> Bar",
            "ok? -no-> First/action",
            "Bar --> Final",
            "First/action --> Z",
        ];
        assert_eq!(edges(&picture), expected);
        assert_eq!(picture.edges[4].stroke, Stroke::Dashed);
        assert_eq!(picture.edges[4].colour.as_deref(), Some("#blue"));
        let z = picture
            .nodes
            .iter()
            .position(|node| letters(&node.text) == "Z");
        assert_eq!(picture.nodes[z.unwrap_or(0)].group, Some(0));
    }

    #[test]
    fn what_is_not_understood_is_a_finding() {
        for text in ["wat", "endif", "while (x)", ":open", "fork again"] {
            let mut out = Collected::default();
            pictures(&format!("@startuml\n{text}\n@enduml\n"), &mut out);
            assert!(!out.findings.is_empty(), "{text}");
        }
    }
}
