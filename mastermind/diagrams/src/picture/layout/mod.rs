//! Positions of nodes, edges and frames of a picture: in layers, with few crossings, and frames around their members.
//!
//! Edges that close a cycle are reversed; each node is in the layer behind all its predecessors (`ranks`); an edge over
//! several layers has a place in each of them, and its label one of its own, so no line crosses a box or a text
//! (`items`). In each layer the members of a frame are adjacent, frames in the same order in all layers; barycentres
//! improve the order (`order`). Places along a layer attract each other along edges, as far as order and frames allow
//! (`places`).
//!
//! # Source
//! K. Sugiyama, S. Tagawa, M. Toda, "Methods for visual understanding of hierarchical system structures", IEEE Trans. SMC 11,
//! 1981; U. Brandes, B. Köpf, "Fast and simple horizontal coordinate assignment", Graph Drawing 2001 (aligned segments that
//! do not cross).

mod order;
mod places;
mod ranks;

/// Input of the layout, along the layers (`across`) and through them (`along`), px.
#[derive(Debug, Clone, Default)]
pub(super) struct Plan {
    pub(super) boxes: Vec<Box>,
    pub(super) edges: Vec<Edge>,
    pub(super) groups: Vec<Group>,
    /// Room for the title of a frame: before its first layer, and at its side.
    pub(super) title: [f64; 2],
}

/// A node: its extent before and behind its axis across, and along.
#[derive(Debug, Clone, Copy)]
pub(super) struct Box {
    pub(super) before: f64,
    pub(super) behind: f64,
    pub(super) along: f64,
    pub(super) group: Option<usize>,
}

/// An edge and the room for its label.
#[derive(Debug, Clone, Copy)]
pub(super) struct Edge {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) label: Option<[f64; 2]>,
}

/// A frame; lanes reach over all layers, in their order.
#[derive(Debug, Clone, Copy)]
pub(super) struct Group {
    pub(super) parent: Option<usize>,
    pub(super) is_lane: bool,
    /// The room that its title takes across.
    pub(super) across: f64,
}

/// All positions.
#[derive(Debug, Default)]
pub(super) struct Layout {
    /// The axis of each node across, and its middle along.
    pub(super) boxes: Vec<[f64; 2]>,
    /// The room across that each node could take.
    pub(super) room: Vec<[f64; 2]>,
    pub(super) edges: Vec<Route>,
    /// First and last place of each frame across, then along.
    pub(super) groups: Vec<[f64; 4]>,
    /// Size across and along.
    pub(super) size: [f64; 2],
}

/// The path of an edge.
#[derive(Debug, Clone, Default)]
pub(super) struct Route {
    /// Whether it was turned round: the points lead from its end to its begin.
    pub(super) is_turned: bool,
    /// The layers that it passes: the place across, and where the layer begins and ends.
    pub(super) passes: Vec<[f64; 3]>,
    /// The begin of its label across, and the middle of it along.
    pub(super) label: Option<[f64; 2]>,
    /// Begins and ends of the layers of its two ends.
    pub(super) ends: [[f64; 2]; 2],
}

/// Distances, px: between boxes of a layer, between layers, around the members of a frame.
pub(super) const GAP: f64 = 26.0;
pub(super) const LAYER_GAP: f64 = 34.0;
pub(super) const FRAME: f64 = 14.0;

/// Something with a place in a layer.
#[derive(Debug, Clone, Copy)]
struct Item {
    kind: Kind,
    layer: usize,
    group: Option<usize>,
    before: f64,
    behind: f64,
    along: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Node,
    /// An edge passes, or has its label here.
    Pass,
    /// Keeps a place for a frame that has nothing in the layer.
    Hold,
}

/// All items, the segments between items of neighbouring layers, and the layers in their order.
#[derive(Debug, Default)]
struct Layers {
    items: Vec<Item>,
    segments: Vec<(usize, usize)>,
    layers: Vec<Vec<usize>>,
    /// The items of each edge between its ends, from the upper one.
    chains: Vec<Vec<usize>>,
    /// Frames from the outermost to the one of a group.
    paths: Vec<Vec<usize>>,
}

impl Layers {
    /// The frames of an item, the outermost first.
    fn path(&self, item: usize) -> &[usize] {
        self.items[item]
            .group
            .map_or(&[], |group| &self.paths[group])
    }
}

/// Lays a plan out.
pub(super) fn layout(plan: &Plan) -> Layout {
    let ranks = ranks::ranks(plan);
    let mut layers = items(plan, &ranks);
    order::arrange(plan, &mut layers);
    let across = places::places(plan, &layers);
    finish(plan, &ranks, &layers, &across)
}

fn paths(groups: &[Group]) -> Vec<Vec<usize>> {
    let mut paths: Vec<Vec<usize>> = Vec::with_capacity(groups.len());
    for (i, group) in groups.iter().enumerate() {
        let mut path = match group.parent {
            Some(parent) if parent < i => paths[parent].clone(),
            _ => Vec::new(),
        };
        path.push(i);
        paths.push(path);
    }
    paths
}

fn items(plan: &Plan, ranks: &ranks::Ranks) -> Layers {
    let paths = paths(&plan.groups);
    let mut layers = Layers {
        paths,
        ..Layers::default()
    };
    let n_layers = ranks.rank.iter().max().map_or(0, |last| last + 1);
    for (node, layer) in plan.boxes.iter().zip(&ranks.rank) {
        layers.items.push(Item {
            kind: Kind::Node,
            layer: *layer,
            group: node.group,
            before: node.before,
            behind: node.behind,
            along: node.along,
        });
    }
    for (i, edge) in plan.edges.iter().enumerate() {
        let (from, to) = ranks.ends(plan, i);
        let mut chain = Vec::new();
        if edge.from != edge.to {
            let (first, last) = (ranks.rank[from], ranks.rank[to]);
            let group = common(&layers, from, to);
            let middle = usize::midpoint(first, last);
            let mut before = from;
            for layer in first + 1..last {
                let label = edge.label.filter(|_| layer == middle);
                layers.items.push(Item {
                    kind: Kind::Pass,
                    layer,
                    group,
                    before: 2.0,
                    behind: label.map_or(2.0, |[across, _]| across + 6.0),
                    along: label.map_or(0.0, |[_, along]| along),
                });
                let item = layers.items.len() - 1;
                layers.segments.push((before, item));
                chain.push(item);
                before = item;
            }
            layers.segments.push((before, to));
        }
        layers.chains.push(chain);
    }
    hold(plan, &mut layers, n_layers);
    layers.layers = vec![Vec::new(); n_layers];
    for (i, item) in layers.items.iter().enumerate() {
        layers.layers[item.layer].push(i);
    }
    layers
}

/// The innermost frame that contains both items.
fn common(layers: &Layers, a: usize, b: usize) -> Option<usize> {
    let both = layers.path(a).iter().zip(layers.path(b));
    both.take_while(|(a, b)| a == b)
        .last()
        .map(|(group, _)| *group)
}

/// Puts something of each frame in each layer between its first and its last one.
fn hold(plan: &Plan, layers: &mut Layers, n_layers: usize) {
    let mut present: Vec<Vec<usize>> = vec![Vec::new(); plan.groups.len()];
    for item in 0..layers.items.len() {
        for group in layers.path(item) {
            present[*group].push(layers.items[item].layer);
        }
    }
    for group in (0..plan.groups.len()).rev() {
        let all = &mut present[group];
        all.sort_unstable();
        all.dedup();
        let span = match (plan.groups[group].is_lane, all.first(), all.last()) {
            (true, ..) => 0..n_layers,
            (false, Some(first), Some(last)) => *first..*last + 1,
            _ => continue,
        };
        let missing: Vec<usize> = span
            .filter(|layer| all.binary_search(layer).is_err())
            .collect();
        for layer in missing {
            layers.items.push(Item {
                kind: Kind::Hold,
                layer,
                group: Some(group),
                before: 1.0,
                behind: 1.0,
                along: 0.0,
            });
            for above in layers.paths[group].clone() {
                if above != group {
                    present[above].push(layer);
                }
            }
        }
    }
}

/// Positions along, and the paths of edges.
fn finish(plan: &Plan, ranks: &ranks::Ranks, layers: &Layers, across: &places::Places) -> Layout {
    let n = layers.layers.len();
    let mut first = vec![usize::MAX; plan.groups.len()];
    let mut last = vec![0; plan.groups.len()];
    for (i, item) in layers.items.iter().enumerate() {
        for group in layers.path(i) {
            first[*group] = first[*group].min(item.layer);
            last[*group] = last[*group].max(item.layer);
        }
    }
    // How many frames begin before a layer, and end behind it, one in the other.
    let (mut opens, mut closes) = (vec![0_usize; n], vec![0_usize; n]);
    for (i, item) in layers.items.iter().enumerate() {
        let path = layers.path(i);
        let opening = path
            .iter()
            .filter(|group| first[**group] == item.layer)
            .count();
        let closing = path
            .iter()
            .filter(|group| last[**group] == item.layer)
            .count();
        opens[item.layer] = opens[item.layer].max(opening);
        closes[item.layer] = closes[item.layer].max(closing);
    }
    let mut spans = Vec::with_capacity(n);
    let mut at = 0.0;
    for (layer, items) in layers.layers.iter().enumerate() {
        let along = items.iter().map(|item| layers.items[*item].along);
        let along = along.fold(0.0, f64::max);
        at += (FRAME + plan.title[0]) * opens[layer] as f64;
        spans.push([at, at + along]);
        at += along + FRAME * closes[layer] as f64;
        if layer + 1 < n {
            at += LAYER_GAP;
        }
    }
    let mut groups = vec![[0.0; 4]; plan.groups.len()];
    for (group, place) in groups.iter_mut().enumerate() {
        if first[group] == usize::MAX {
            continue;
        }
        // Frames in it that begin or end with it.
        let inner = |ends: &[usize], is_it: &dyn Fn(usize) -> bool| {
            let all = (0..plan.groups.len()).filter(|other| is_it(ends[*other]));
            let depth = |other: usize| layers.paths[other].iter().position(|above| *above == group);
            let below = all.filter_map(|other| Some(layers.paths[other].len() - depth(other)?));
            below.max().unwrap_or(1) as f64
        };
        let n_first = inner(&first, &|layer| layer == first[group]);
        let n_last = inner(&last, &|layer| layer == last[group]);
        let [before, behind] = across.groups[group];
        let begin = spans[first[group]][0] - (FRAME + plan.title[0]) * n_first;
        let end = spans[last[group]][1] + FRAME * n_last;
        *place = [before, behind, begin, end];
    }
    let middle = |item: usize| {
        let [begin, end] = spans[layers.items[item].layer];
        f64::midpoint(begin, end)
    };
    let boxes = (0..plan.boxes.len())
        .map(|i| [across.items[i], middle(i)])
        .collect();
    let edges = (0..plan.edges.len())
        .map(|i| {
            let (from, to) = ranks.ends(plan, i);
            let chain = &layers.chains[i];
            let passes = chain.iter().map(|item| {
                let [begin, end] = spans[layers.items[*item].layer];
                [across.items[*item], begin, end]
            });
            let label = chain.iter().find(|item| layers.items[**item].along > 0.0);
            Route {
                is_turned: ranks.is_turned[i],
                passes: passes.collect(),
                label: label.map(|item| [across.items[*item] + 5.0, middle(*item)]),
                ends: [from, to].map(|node| spans[layers.items[node].layer]),
            }
        })
        .collect();
    Layout {
        boxes,
        room: room(plan, layers, across),
        edges,
        groups,
        size: [across.end, at],
    }
}

/// The room that each node has between its neighbours.
fn room(plan: &Plan, layers: &Layers, across: &places::Places) -> Vec<[f64; 2]> {
    let mut room = vec![[0.0, across.end]; plan.boxes.len()];
    for layer in &layers.layers {
        for (at, item) in layer
            .iter()
            .enumerate()
            .filter(|(_, item)| **item < plan.boxes.len())
        {
            if let Some(before) = at.checked_sub(1).map(|at| layer[at]) {
                room[*item][0] = across.items[before] + layers.items[before].behind + GAP / 2.0;
            }
            if let Some(behind) = layer.get(at + 1) {
                room[*item][1] = across.items[*behind] - layers.items[*behind].before - GAP / 2.0;
            }
            if let Some(group) = layers.items[*item].group {
                let [begin, end] = across.groups[group];
                room[*item][0] = room[*item][0].max(begin + 4.0);
                room[*item][1] = room[*item][1].min(end - 4.0);
            }
        }
    }
    room
}

#[cfg(test)]
mod tests;
