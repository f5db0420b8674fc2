//! Activities of UML as nodes, edges, partitions and comments, with the words of their author.
//!
//! Nothing is evaluated and nothing left out: buffers and parameters are boxes, edges to pins lead to their action, a
//! guard is shown as written. XMI has no positions unless the file has diagram interchange, which tools write in forms
//! of their own; so all diagrams are laid out like others.

use std::collections::HashMap;

use roxmltree::Node;

use super::activity::{EDGES, NODES, OBJECTS};
use super::document::{Document, LocalName, references, text, value};
use crate::picture::{
    Colours, Line, Picture, PictureEdge, PictureGroup, PictureNode, Shape, Stroke, markdown,
};

/// Deepest nesting of groups and structured nodes that is searched.
const DEEPEST: usize = 32;

/// The picture of an activity.
pub(super) fn picture<'a>(document: &Document<'a, '_>, activity: Node<'a, '_>) -> Picture {
    let name = document.name(activity).unwrap_or_default();
    let mut sketch = Sketch {
        document,
        picture: Picture {
            title: lines(&name),
            name,
            ..Picture::default()
        },
        ends: HashMap::new(),
        in_group: HashMap::new(),
    };
    sketch.partitions(activity, None, 0);
    sketch.members(activity, None, 0);
    sketch.edges(activity);
    sketch.comments(activity);
    sketch.picture
}

fn lines(text: &str) -> Vec<Line> {
    markdown(text, false)
}

struct Sketch<'d, 'a, 'input> {
    document: &'d Document<'a, 'input>,
    picture: Picture,
    /// Nodes by the identifiers of theirs and of their pins.
    ends: HashMap<&'a str, usize>,
    /// The group of a node by its identifier, where the group names it.
    in_group: HashMap<&'a str, usize>,
}

impl<'a> Sketch<'_, 'a, '_> {
    /// Partitions and interruptible regions, which may name their nodes or have them inside.
    fn partitions(&mut self, owner: Node<'a, '_>, parent: Option<usize>, depth: usize) {
        for child in owner.children().filter(Node::is_element) {
            let kind = self.document.kind(child);
            let is_partition = kind == "ActivityPartition";
            if depth > DEEPEST || !(is_partition || kind == "InterruptibleActivityRegion") {
                continue;
            }
            let Some(id) = self.document.id(child) else {
                continue;
            };
            let group = self.group(child, parent, is_partition);
            self.in_group.insert(id, group);
            for role in ["node", "containedNode"] {
                for node in references(child, role) {
                    self.in_group.insert(node, group);
                }
            }
            self.partitions(child, Some(group), depth + 1);
        }
    }

    fn group(&mut self, node: Node<'a, '_>, parent: Option<usize>, is_partition: bool) -> usize {
        let title = self.document.name(node).unwrap_or_default();
        self.picture.groups.push(PictureGroup {
            title: lines(&title),
            parent,
            colours: Colours::default(),
            // Partitions side by side are swimlanes; one in another is a frame.
            is_lane: is_partition && parent.is_none(),
        });
        self.picture.groups.len() - 1
    }

    fn members(&mut self, owner: Node<'a, '_>, group: Option<usize>, depth: usize) {
        for child in owner.children().filter(Node::is_element) {
            let Some(id) = self.document.id(child) else {
                continue;
            };
            if let Some(partition) = self.in_group.get(id).copied()
                && ["ActivityPartition", "InterruptibleActivityRegion"]
                    .contains(&self.document.kind(child))
            {
                if depth <= DEEPEST {
                    self.members(child, Some(partition), depth + 1);
                }
            } else if NODES.contains(&child.tag_name().name()) && !self.ends.contains_key(id) {
                self.node(child, id, group, depth);
            }
        }
    }

    fn node(&mut self, node: Node<'a, '_>, id: &'a str, group: Option<usize>, depth: usize) {
        let kind = self.document.kind(node);
        let named = ["inPartition", "inInterruptibleRegion", "inGroup"]
            .iter()
            .flat_map(|role| references(node, role))
            .find_map(|id| self.in_group.get(id));
        let group = named.or_else(|| self.in_group.get(id)).copied().or(group);
        let holds_flow = matches!(
            kind,
            "StructuredActivityNode"
                | "structuredNode"
                | "LoopNode"
                | "ExpansionRegion"
                | "ConditionalNode"
                | "SequenceNode"
        );
        let first = self.picture.nodes.len();
        if holds_flow && depth <= DEEPEST {
            let inner = self.group(node, group, false);
            self.members(node, Some(inner), depth + 1);
            if self.picture.nodes.len() > first {
                // Edges to the whole lead to its first node.
                self.ends.insert(id, first);
                return self.pins(node, first);
            }
            self.picture.groups.pop();
        }
        let shape = match kind {
            "InitialNode" => Shape::Initial,
            "ActivityFinalNode" => Shape::Final,
            "FlowFinalNode" => Shape::FlowFinal,
            "DecisionNode" | "MergeNode" | "ConditionalNode" => Shape::Diamond,
            "ForkNode" | "JoinNode" => Shape::Bar,
            "AcceptEventAction" | "AcceptCallAction" => Shape::Flag,
            "SendSignalAction" | "BroadcastSignalAction" => Shape::Stadium,
            kind if OBJECTS.contains(&kind) => Shape::Rectangle,
            _ => Shape::Rounded,
        };
        let is_bare = matches!(
            shape,
            Shape::Initial | Shape::Final | Shape::FlowFinal | Shape::Bar
        );
        let name = self.document.name(node).filter(|_| !is_bare);
        let name = match (name, shape) {
            (None, Shape::Rounded) => text(node, "body"),
            (name, _) => name,
        };
        self.picture.nodes.push(PictureNode {
            text: lines(&name.unwrap_or_default()),
            shape,
            colours: Colours::default(),
            group,
            about: None,
        });
        self.ends.insert(id, first);
        self.pins(node, first);
    }

    /// The contents of an action are its pins.
    fn pins(&mut self, node: Node<'a, '_>, to: usize) {
        for pin in node.descendants().filter(Node::is_element) {
            if self.document.kind(pin).ends_with("Pin")
                && let Some(id) = self.document.id(pin)
            {
                self.ends.entry(id).or_insert(to);
            }
        }
    }

    fn edges(&mut self, activity: Node<'a, '_>) {
        let is_edge = |node: &Node<'a, '_>| EDGES.contains(&node.tag_name().name());
        for edge in activity.descendants().filter(is_edge) {
            let [from, to] = ["source", "target"].map(|role| {
                let ids = references(edge, role);
                self.ends.get(ids.first()?).copied()
            });
            let (Some(from), Some(to)) = (from, to) else {
                continue;
            };
            let is_object = self.document.kind(edge) == "ObjectFlow";
            self.picture.edges.push(PictureEdge {
                from,
                to,
                from_group: None,
                to_group: None,
                label: lines(&self.label(edge)),
                stroke: if is_object {
                    Stroke::Dashed
                } else {
                    Stroke::Solid
                },
                tips: [false, true],
                colour: None,
            });
        }
    }

    /// The guard of an edge in brackets, or its name.
    fn label(&self, edge: Node<'a, '_>) -> String {
        let name = self.document.name(edge).unwrap_or_default();
        let mut children = edge.children();
        let guard = children.find(|child| child.has_tag_name_local("guard"));
        let said = guard.and_then(|guard| {
            let said = value(guard).filter(|said| !said.trim().is_empty());
            said.or_else(|| guard.attribute("name").map(str::to_owned))
        });
        match said.as_deref().map(str::trim) {
            // Texts that mean "no guard".
            None | Some("" | "true" | "1") => name,
            Some(said) if said.starts_with('[') => said.to_owned(),
            Some(said) => format!("[{said}]"),
        }
    }

    fn comments(&mut self, activity: Node<'a, '_>) {
        let is_comment = |node: &Node<'a, '_>| node.has_tag_name_local("ownedComment");
        for comment in activity.descendants().filter(is_comment) {
            let Some(body) = text(comment, "body").filter(|body| !body.trim().is_empty()) else {
                continue;
            };
            let about = references(comment, "annotatedElement");
            let owner = comment.parent().and_then(|owner| self.document.id(owner));
            let about = about.into_iter().chain(owner);
            let about = about.filter_map(|id| self.ends.get(id)).next().copied();
            let group = about.and_then(|about| self.picture.nodes[about].group);
            self.picture.nodes.push(PictureNode {
                text: lines(&body),
                shape: Shape::Note,
                colours: Colours::default(),
                group,
                about,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::picture::{Shape, letters};
    use crate::xmi::pictures_of_xmi;

    const FILE: &str = r#"<?xml version="1.0"?>
<uml:Model xmlns:xmi="http://www.omg.org/spec/XMI/20131001" xmlns:uml="http://www.eclipse.org/uml2/5.0.0/UML" xmi:id="m" name="M">
<packagedElement xmi:type="uml:Activity" xmi:id="a" name="Work">
<ownedComment xmi:type="uml:Comment" xmi:id="c" annotatedElement="s"><body>by hand</body></ownedComment>
<group xmi:type="uml:ActivityPartition" xmi:id="p" name="Clerk" node="i s"/>
<node xmi:type="uml:InitialNode" xmi:id="i"/>
<node xmi:type="uml:OpaqueAction" xmi:id="s" name="sort"><outputValue xmi:type="uml:OutputPin" xmi:id="o"/></node>
<node xmi:type="uml:DataStoreNode" xmi:id="d" name="disk"/>
<node xmi:type="uml:DecisionNode" xmi:id="q"/>
<node xmi:type="uml:FlowFinalNode" xmi:id="f"/>
<edge xmi:type="uml:ControlFlow" xmi:id="e1" source="i" target="s"/>
<edge xmi:type="uml:ObjectFlow" xmi:id="e2" source="o" target="d"/>
<edge xmi:type="uml:ControlFlow" xmi:id="e3" source="s" target="q"/>
<edge xmi:type="uml:ControlFlow" xmi:id="e4" source="q" target="f"><guard xmi:type="uml:LiteralString" xmi:id="g" value="all done"/></edge>
</packagedElement></uml:Model>"#;

    #[test]
    fn an_activity_is_drawn_with_its_words() {
        let all = pictures_of_xmi(FILE, None).expect("a picture");
        let [picture] = &all[..] else {
            panic!("{} pictures", all.len());
        };
        let names: Vec<_> = picture
            .nodes
            .iter()
            .map(|node| letters(&node.text))
            .collect();
        assert_eq!(names, ["", "sort", "disk", "", "", "by hand"]);
        let shapes: Vec<_> = picture.nodes.iter().map(|node| node.shape).collect();
        let expected = [
            Shape::Initial,
            Shape::Rounded,
            Shape::Rectangle,
            Shape::Diamond,
            Shape::FlowFinal,
            Shape::Note,
        ];
        assert_eq!(shapes, expected);
        let ends: Vec<_> = picture
            .edges
            .iter()
            .map(|edge| (edge.from, edge.to))
            .collect();
        assert_eq!(ends, [(0, 1), (1, 2), (1, 3), (3, 4)]);
        assert_eq!(letters(&picture.edges[3].label), "[all done]");
        assert_eq!(picture.nodes[5].about, Some(1));
        assert!(picture.groups[0].is_lane);
        assert_eq!(
            [picture.nodes[1].group, picture.nodes[2].group],
            [Some(0), None]
        );
        assert!(pictures_of_xmi(FILE, Some("other")).is_err());
    }
}
