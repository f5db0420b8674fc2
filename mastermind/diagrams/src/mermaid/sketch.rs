//! A flowchart as its author drew it.

use std::collections::BTreeMap;

use super::chart::{Chart, Label};
use super::source::Source;
use crate::picture::{
    Colours, Line, Picture, PictureEdge, PictureGroup, PictureNode, Shape, markdown,
};

fn lines(label: &Label) -> Vec<Line> {
    markdown(&label.text, label.is_markdown)
}

/// The picture of a chart.
pub(super) fn picture(chart: &Chart, source: &Source, name: Option<&str>) -> Picture {
    let groups_as_ends = chart.groups_as_ends();
    let mut places = BTreeMap::new();
    let mut nodes = Vec::new();
    for (i, vertex) in chart.nodes.iter().enumerate() {
        if groups_as_ends.contains_key(&i) {
            continue;
        }
        let mut colours = Colours::default();
        let classes = ["default".to_owned()]
            .into_iter()
            .chain(vertex.classes.iter().cloned());
        for style in classes
            .filter_map(|class| chart.classes.get(&class))
            .chain([&vertex.colours])
        {
            for (own, new) in [
                (&mut colours.fill, &style.fill),
                (&mut colours.stroke, &style.stroke),
                (&mut colours.text, &style.text),
            ] {
                if new.is_some() {
                    own.clone_from(new);
                }
            }
        }
        let label = vertex.label.clone().unwrap_or_else(|| Label {
            text: vertex.id.clone(),
            is_markdown: false,
        });
        let is_bare = matches!(vertex.shape, Shape::Bar | Shape::Initial | Shape::Final);
        places.insert(i, nodes.len());
        nodes.push(PictureNode {
            text: if is_bare { Vec::new() } else { lines(&label) },
            shape: vertex.shape,
            colours,
            group: vertex.group,
            about: None,
        });
    }
    // An edge to a subgraph leads to a node of it, and is drawn up to the frame.
    let inner = |group: usize, is_first: bool| {
        let in_group = |node: &usize| {
            let mut at = chart.nodes[*node].group;
            while at.is_some_and(|at| at != group) {
                at = at.and_then(|at| chart.groups[at].parent);
            }
            at.is_some() && places.contains_key(node)
        };
        let mut all = (0..chart.nodes.len()).filter(in_group);
        if is_first {
            all.next()
        } else {
            all.next_back()
        }
    };
    let mut edges = Vec::new();
    for (number, link) in chart.links.iter().enumerate() {
        let end = |node: usize, is_first: bool| match groups_as_ends.get(&node) {
            Some(group) => Some((*places.get(&inner(*group, is_first)?)?, Some(*group))),
            None => Some((*places.get(&node)?, None)),
        };
        let (Some((from, from_group)), Some((to, to_group))) =
            (end(link.from, false), end(link.to, true))
        else {
            continue;
        };
        let colours = &chart.link_colours;
        let colour = colours.get(&Some(number)).or_else(|| colours.get(&None));
        edges.push(PictureEdge {
            from,
            to,
            from_group,
            to_group,
            label: lines(&link.label),
            stroke: link.written.stroke,
            tips: link.written.tips,
            colour: colour.cloned(),
        });
    }
    let groups = chart.groups.iter().map(|group| PictureGroup {
        title: lines(&group.title),
        parent: group.parent,
        colours: chart.classes.get(&group.id).cloned().unwrap_or_default(),
        is_lane: false,
    });
    let title = source.title.as_deref();
    Picture {
        name: title.or(name).unwrap_or("Main").to_owned(),
        title: title
            .map(|title| markdown(title, false))
            .unwrap_or_default(),
        direction: chart.direction,
        nodes,
        edges,
        groups: groups.collect(),
    }
}
