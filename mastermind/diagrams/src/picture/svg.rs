//! Pictures as one SVG document, side by side.
//!
//! A [`Picture`] says what is connected, not where it is. `Drawer` measures the texts of its nodes
//! and labels, hands boxes, edges and frames to `layout`, and draws what comes back. The layout
//! knows only two directions, across the layers and along them; that a picture may run down, up,
//! left or right is known to this file alone, as sizes that are turned before the layout and as
//! `page` after it.
//!
//! ```text
//! Picture ─▶ wrapped texts, sizes ─▶ Plan ─▶ layout ─▶ Layout ─▶ page() ─▶ <svg>
//!
//! Direction::Down    page([across, along]) = [across, along]
//! Direction::Right   page([across, along]) = [along, across]
//! ```
//!
//! Later elements cover earlier ones: frames come first, then edges, nodes, and labels with a white
//! rim. A note has no box of its own: the box of its node becomes wider instead.

use std::fmt::Write;

use super::colours::{colour, is_dark};
use super::layout::{Box, Edge, GAP, Group, Layout, Plan, Route, layout};
use super::measure::{LINE, SIZE, size_of, width_of, wrapped};
use super::shapes::{outline, reach, size};
use super::{Colours, Direction, Line, Picture, PictureEdge, Shape, Stroke};

const MARGIN: f64 = 20.0;

/// Height of a picture's title, and of a frame's.
const TITLE: f64 = 30.0;
const FRAME_TITLE: f64 = 16.0;

const STYLE: &str = "text{font-family:Helvetica,Arial,sans-serif;font-size:12px;fill:#222;white-space:pre}\
.title{font-size:15px;font-weight:bold}.middle{text-anchor:middle}.box{fill:#f4f6fa;stroke:#345}.choice{fill:#fff8e6;stroke:#8a6a10}\
.note{fill:#fffbd6;stroke:#a89a40}.dot{fill:#222}.ring{fill:none;stroke:#345}.frame{fill:#000;fill-opacity:0.025;stroke:#888}\
.edge{fill:none;stroke:#345;stroke-width:1.2}.label{paint-order:stroke;stroke:white;stroke-width:3px}";

/// The pictures as an SVG document.
pub fn svg(pictures: &[Picture]) -> String {
    let mut body = String::new();
    let (mut x, mut tallest) = (MARGIN, 0.0_f64);
    for picture in pictures {
        let drawer = Drawer::new(picture);
        let [width, height] = drawer.draw(x, &mut body);
        x += width + 2.0 * MARGIN;
        tallest = tallest.max(height);
    }
    let (width, height) = ((x - MARGIN).max(120.0), tallest + 2.0 * MARGIN);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\">\n<style>{STYLE}</style>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{body}</svg>\n"
    )
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

/// A place across and along.
type At = [f64; 2];

struct Drawer<'a> {
    picture: &'a Picture,
    texts: Vec<Vec<Line>>,
    /// Width and height of each node.
    sizes: Vec<(f64, f64)>,
    /// The box of each node in the plan; a note next to a node has that node's box.
    boxes: Vec<usize>,
    layout: Layout,
    is_across: bool,
}

impl<'a> Drawer<'a> {
    fn new(picture: &'a Picture) -> Self {
        let texts: Vec<_> = picture
            .nodes
            .iter()
            .map(|node| wrapped(&node.text))
            .collect();
        let is_across = matches!(picture.direction, Direction::Left | Direction::Right);
        let sizes = picture.nodes.iter().zip(&texts);
        let sizes: Vec<_> = sizes
            .map(
                |(node, text)| match (node.shape, size(node.shape, size_of(text))) {
                    (Shape::Bar, (width, height)) if is_across => (height, width),
                    (_, size) => size,
                },
            )
            .collect();
        let turned = |(width, height): (f64, f64)| {
            if is_across {
                (height, width)
            } else {
                (width, height)
            }
        };
        let mut plan = Plan {
            // Titles are above: in front of the first layer, or next to all of them.
            title: if is_across {
                [0.0, FRAME_TITLE]
            } else {
                [FRAME_TITLE, 0.0]
            },
            ..Plan::default()
        };
        let mut boxes = vec![0; picture.nodes.len()];
        let is_note_on_another = |node: usize| {
            picture.nodes[node]
                .about
                .is_some_and(|about| about < boxes.len())
        };
        let own: Vec<usize> = (0..picture.nodes.len())
            .filter(|node| !is_note_on_another(*node))
            .collect();
        for node in &own {
            let (across, along) = turned(sizes[*node]);
            boxes[*node] = plan.boxes.len();
            plan.boxes.push(Box {
                before: across / 2.0,
                behind: across / 2.0,
                along,
                group: picture.nodes[*node].group,
            });
        }
        for (node, one) in picture.nodes.iter().enumerate() {
            if let Some(about) = one.about.filter(|about| *about < boxes.len()) {
                let (across, along) = turned(sizes[node]);
                boxes[node] = boxes[about];
                let place = &mut plan.boxes[boxes[about]];
                // Only on one side: the axis, on which edges meet the node, stays in the node's
                // middle.
                place.behind += GAP / 2.0 + across;
                place.along = place.along.max(along);
            }
        }
        for edge in &picture.edges {
            let label = wrapped(&edge.label);
            let room = (!label.is_empty()).then(|| {
                let (across, along) = turned(size_of(&label));
                [across + 4.0, along + 4.0]
            });
            plan.edges.push(Edge {
                from: boxes[edge.from],
                to: boxes[edge.to],
                label: room,
            });
        }
        for group in &picture.groups {
            let title = group.title.iter().map(width_of).fold(0.0, f64::max) * 1.1 + 16.0;
            plan.groups.push(Group {
                parent: group.parent,
                is_lane: group.is_lane,
                across: if is_across { 0.0 } else { title },
            });
        }
        Self {
            picture,
            texts,
            sizes,
            boxes,
            layout: layout(&plan),
            is_across,
        }
    }

    /// Draws the picture from there on; its width and height.
    fn draw(&self, x: f64, body: &mut String) -> [f64; 2] {
        let [across, along] = self.layout.size;
        let (width, height) = if self.is_across {
            (along, across)
        } else {
            (across, along)
        };
        let title_width = self.picture.title.iter().map(width_of).fold(0.0, f64::max) * 1.3;
        let lines = self.picture.title.len();
        let top = MARGIN
            + if lines > 0 {
                TITLE + LINE * 1.2 * (lines - 1) as f64
            } else {
                0.0
            };
        let whole = width.max(title_width);
        for (i, line) in self.picture.title.iter().enumerate() {
            let at = [x + whole / 2.0, MARGIN + 15.0 + LINE * 1.2 * i as f64];
            text(body, "title middle", at, line, None);
        }
        let shift = [x + (whole - width) / 2.0, top];
        let _ = writeln!(
            body,
            "<g transform=\"translate({:.1} {top:.1})\">",
            shift[0]
        );
        self.frames(body);
        for (edge, route) in self.picture.edges.iter().zip(&self.layout.edges) {
            self.edge(edge, route, body);
        }
        for node in 0..self.picture.nodes.len() {
            self.node(node, body);
        }
        for (edge, route) in self.picture.edges.iter().zip(&self.layout.edges) {
            self.label(edge, route, body);
        }
        body.push_str("</g>\n");
        [whole, top - MARGIN + height]
    }

    /// A place of the layout on the page.
    fn page(&self, [across, along]: At) -> [f64; 2] {
        match self.picture.direction {
            Direction::Down => [across, along],
            Direction::Up => [across, self.layout.size[1] - along],
            Direction::Right => [along, across],
            Direction::Left => [self.layout.size[1] - along, across],
        }
    }

    fn frames(&self, body: &mut String) {
        for (group, [before, behind, begin, end]) in
            self.picture.groups.iter().zip(&self.layout.groups)
        {
            if behind <= before {
                continue;
            }
            let (a, b) = (self.page([*before, *begin]), self.page([*behind, *end]));
            let (l, t) = (a[0].min(b[0]), a[1].min(b[1]));
            let (w, h) = ((a[0] - b[0]).abs(), (a[1] - b[1]).abs());
            let _ = writeln!(
                body,
                "<rect class=\"frame\" x=\"{l:.1}\" y=\"{t:.1}\" width=\"{w:.1}\" height=\"{h:.1}\" rx=\"4\"{}/>",
                look(&group.colours, true)
            );
            let class = if group.is_lane { "title middle" } else { "" };
            let at = if group.is_lane {
                [l + w / 2.0, t + 17.0]
            } else {
                [l + 8.0, t + 15.0]
            };
            for line in group.title.iter().take(1) {
                let bold: Line = line
                    .iter()
                    .map(|run| super::Run {
                        bold: true,
                        ..run.clone()
                    })
                    .collect();
                text(body, class, at, &bold, None);
            }
        }
    }

    /// The middle of a node on the page, and its size; a bar covers all nodes that it connects.
    fn place(&self, node: usize) -> ([f64; 2], (f64, f64)) {
        let [across, along] = self.layout.boxes[self.boxes[node]];
        let (mut width, mut height) = self.sizes[node];
        let one = &self.picture.nodes[node];
        if let Some(about) = one.about {
            // Next to its node, behind the earlier notes.
            let earlier = (0..node).filter(|other| self.picture.nodes[*other].about == one.about);
            let side = |node: usize| {
                if self.is_across {
                    self.sizes[node].1
                } else {
                    self.sizes[node].0
                }
            };
            let before: f64 = earlier.map(|other| side(other) + GAP / 2.0).sum();
            let at = across + side(about) / 2.0 + before + GAP / 2.0 + side(node) / 2.0;
            return (self.page([at, along]), (width, height));
        }
        if one.shape == Shape::Bar {
            let mut ends = [across - 20.0, across + 20.0];
            for (edge, route) in self.picture.edges.iter().zip(&self.layout.edges) {
                let (from, to) = (edge.from == node, edge.to == node);
                if !from && !to {
                    continue;
                }
                let other = if from { edge.to } else { edge.from };
                let first = match (from, route.is_turned) {
                    (true, false) | (false, true) => route.passes.first(),
                    _ => route.passes.last(),
                };
                let place = first.map_or(self.layout.boxes[self.boxes[other]][0], |pass| pass[0]);
                ends = [ends[0].min(place - 12.0), ends[1].max(place + 12.0)];
            }
            let room = self.layout.room[self.boxes[node]];
            ends = [
                ends[0].max(room[0]).min(across - 12.0),
                ends[1].min(room[1]).max(across + 12.0),
            ];
            let long = ends[1] - ends[0];
            (width, height) = if self.is_across {
                (6.0, long)
            } else {
                (long, 6.0)
            };
            return (
                self.page([f64::midpoint(ends[0], ends[1]), along]),
                (width, height),
            );
        }
        (self.page([across, along]), (width, height))
    }

    fn node(&self, node: usize, body: &mut String) {
        let one = &self.picture.nodes[node];
        let (at, size) = self.place(node);
        let class = match one.shape {
            Shape::Diamond | Shape::Hexagon => "choice",
            Shape::Note => "note",
            _ => "box",
        };
        let look = format!("class=\"{class}\"{}", look(&one.colours, false));
        if let Some(about) = one.about {
            let (other, _) = self.place(about);
            let _ = writeln!(
                body,
                "<path class=\"edge\" stroke-dasharray=\"3 3\" d=\"M{:.1} {:.1} L{:.1} {:.1}\"/>",
                at[0], at[1], other[0], other[1]
            );
            // The line ends under the node that it leads to.
            self.redraw(about, body);
        }
        let _ = writeln!(body, "{}", outline(one.shape, at, size, &look));
        self.words(node, at, size, body);
    }

    fn redraw(&self, node: usize, body: &mut String) {
        if node < self.picture.nodes.len() && self.picture.nodes[node].about.is_none() {
            self.node(node, body);
        }
    }

    fn words(&self, node: usize, [x, y]: [f64; 2], (_, height): (f64, f64), body: &mut String) {
        let one = &self.picture.nodes[node];
        let lines = &self.texts[node];
        let fill = one.colours.fill.as_deref().and_then(colour);
        let own = one.colours.text.as_deref().and_then(colour);
        let white = fill
            .is_some_and(|fill| is_dark(&fill))
            .then(|| "white".to_owned());
        let ink = own.or(white);
        let below = matches!(one.shape, Shape::Initial | Shape::Final | Shape::FlowFinal);
        let first = if below {
            y - height / 2.0 + 20.0 + SIZE * 0.9
        } else {
            y - LINE * lines.len() as f64 / 2.0 + SIZE * 0.95
        };
        for (i, line) in lines.iter().enumerate() {
            let at = [x, first + LINE * i as f64];
            text(body, "middle", at, line, ink.as_deref());
        }
    }

    /// Where an edge meets a node: the place across, and along its outline.
    fn port(&self, edge: usize, node: usize, is_upper: bool) -> At {
        let [axis, middle] = self.layout.boxes[self.boxes[node]];
        let one = &self.picture.nodes[node];
        let (across, along) = match self.is_across {
            true => (self.sizes[node].1, self.sizes[node].0),
            false => self.sizes[node],
        };
        // The edges of this side, by their targets.
        let aim = |edge: usize| {
            let route = &self.layout.edges[edge];
            let pass = if is_upper {
                route.passes.first()
            } else {
                route.passes.last()
            };
            let picture = &self.picture.edges[edge];
            let other = if picture.from == node {
                picture.to
            } else {
                picture.from
            };
            pass.map_or(self.layout.boxes[self.boxes[other]][0], |pass| pass[0])
        };
        if one.shape == Shape::Bar {
            let (at, (width, height)) = self.place(node);
            let (at, half) = if self.is_across {
                (at[1], height / 2.0)
            } else {
                (at[0], width / 2.0)
            };
            // A bar is long enough to be met straight; other shapes share their side among the
            // edges.
            let place = aim(edge).clamp(at - half + 4.0, at + half - 4.0);
            return [
                place,
                middle + if is_upper { along / 2.0 } else { -along / 2.0 },
            ];
        }
        let mut side: Vec<usize> = (0..self.picture.edges.len())
            .filter(|other| {
                self.upper_of(*other)
                    .is_some_and(|ends| ends[usize::from(!is_upper)] == node)
            })
            .collect();
        side.sort_by(|a, b| aim(*a).total_cmp(&aim(*b)));
        let place = side.iter().position(|other| *other == edge).unwrap_or(0) as f64;
        let n = side.len().max(1) as f64;
        let step = (across * 0.7 / n).min(18.0);
        let off_axis = (place - (n - 1.0) / 2.0) * step;
        let reach = reach(one.shape, across, along, off_axis);
        [
            axis + off_axis,
            middle + if is_upper { reach } else { -reach },
        ]
    }

    /// The upper and the lower end of an edge, unless it leads to its own source.
    fn upper_of(&self, edge: usize) -> Option<[usize; 2]> {
        let one = &self.picture.edges[edge];
        let ends = match self.layout.edges[edge].is_turned {
            true => [one.to, one.from],
            false => [one.from, one.to],
        };
        (self.boxes[one.from] != self.boxes[one.to] && one.stroke != Stroke::Hidden).then_some(ends)
    }

    fn edge(&self, edge: &PictureEdge, route: &Route, body: &mut String) {
        let index =
            (0..self.picture.edges.len()).find(|i| std::ptr::eq(&self.picture.edges[*i], edge));
        let Some(index) = index.filter(|_| edge.stroke != Stroke::Hidden) else {
            return;
        };
        let stroke = edge.colour.as_deref().and_then(colour);
        let stroke = stroke.unwrap_or_else(|| "#345".to_owned());
        let dashes = match edge.stroke {
            Stroke::Dashed => " stroke-dasharray=\"4 3\"",
            Stroke::Thick => " stroke-width=\"2.6\"",
            _ => "",
        };
        let Some([upper, lower]) = self.upper_of(index) else {
            return self.ring(edge, &stroke, body);
        };
        let (mut begin, mut end) = (
            self.port(index, upper, true),
            self.port(index, lower, false),
        );
        let (first, last) = match route.is_turned {
            true => (edge.to_group, edge.from_group),
            false => (edge.from_group, edge.to_group),
        };
        // An edge of a frame begins or ends at the frame, not at the node in it that the layout
        // used.
        if let Some(group) = first {
            begin[1] = self.layout.groups[group][3].max(begin[1]);
        }
        if let Some(group) = last {
            end[1] = self.layout.groups[group][2].min(end[1]);
        }
        let mut path = String::new();
        let mut at = begin;
        let point = |at: At| {
            let [x, y] = self.page(at);
            format!("{x:.1} {y:.1}")
        };
        let _ = write!(path, "M{}", point(at));
        let go = |to: At, path: &mut String, at: &mut At| {
            let middle = f64::midpoint(at[1], to[1]);
            if (at[0] - to[0]).abs() < 0.5 {
                let _ = write!(path, " L{}", point(to));
            } else {
                let (a, b) = ([at[0], middle], [to[0], middle]);
                let _ = write!(path, " C{} {} {}", point(a), point(b), point(to));
            }
            *at = to;
        };
        if first.is_none() {
            go([at[0], route.ends[0][1].max(at[1])], &mut path, &mut at);
        }
        for [across, top, bottom] in &route.passes {
            go([*across, *top], &mut path, &mut at);
            go([*across, *bottom], &mut path, &mut at);
        }
        if last.is_none() {
            go([end[0], route.ends[1][0].min(end[1])], &mut path, &mut at);
        }
        go(end, &mut path, &mut at);
        let _ = writeln!(
            body,
            "<path class=\"edge\" style=\"stroke:{stroke}\"{dashes} d=\"{path}\"/>"
        );
        let [at_begin, at_end] = match route.is_turned {
            true => [edge.tips[1], edge.tips[0]],
            false => edge.tips,
        };
        for (is_there, tip, back) in [(at_begin, begin, 8.0), (at_end, end, -8.0)] {
            if is_there {
                let [a, b] =
                    [[tip[0] - 4.0, tip[1] + back], [tip[0] + 4.0, tip[1] + back]].map(point);
                let _ = writeln!(
                    body,
                    "<path fill=\"{stroke}\" d=\"M{} L{a} L{b} Z\"/>",
                    point(tip)
                );
            }
        }
    }

    /// An edge to its own source: a loop at the side of the node.
    fn ring(&self, edge: &PictureEdge, stroke: &str, body: &mut String) {
        let ([x, y], (width, height)) = self.place(edge.from);
        let (right, top, bottom) = (x + width / 2.0, y - height / 4.0, y + height / 4.0);
        let far = right + 22.0;
        let _ = writeln!(
            body,
            "<path class=\"edge\" style=\"stroke:{stroke}\" d=\"M{right:.1} {top:.1} C{far:.1} {top:.1} {far:.1} {bottom:.1} {right:.1} {bottom:.1}\"/>\
             <path fill=\"{stroke}\" d=\"M{right:.1} {bottom:.1} l8 -4 v8 Z\"/>"
        );
    }

    fn label(&self, edge: &PictureEdge, route: &Route, body: &mut String) {
        let lines = wrapped(&edge.label);
        let (width, height) = size_of(&lines);
        let (class, [x, y]) = match route.label {
            Some([across, along]) if self.is_across => {
                let [x, y] = self.page([across, along]);
                ("label middle", [x, y + height / 2.0])
            }
            Some(at) => ("label", self.page(at)),
            // A loop at one node.
            None => {
                let ([x, y], (w, _)) = self.place(edge.from);
                ("label", [x + w / 2.0 + 20.0, y])
            }
        };
        let _ = width;
        for (i, line) in lines.iter().enumerate() {
            let y = y - height / 2.0 + SIZE * 0.95 + LINE * i as f64;
            text(body, class, [x, y], line, None);
        }
    }
}

/// Colours as a style.
fn look(colours: &Colours, is_frame: bool) -> String {
    let mut style = String::new();
    if let Some(fill) = colours.fill.as_deref().and_then(colour) {
        let _ = write!(style, "fill:{fill};");
        if is_frame {
            style.push_str("fill-opacity:0.35;");
        }
    }
    if let Some(stroke) = colours.stroke.as_deref().and_then(colour) {
        let _ = write!(style, "stroke:{stroke};");
    }
    if style.is_empty() {
        style
    } else {
        format!(" style=\"{style}\"")
    }
}

/// A line of text, its runs in their styles.
fn text(body: &mut String, class: &str, [x, y]: [f64; 2], line: &Line, ink: Option<&str>) {
    let _ = write!(body, "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\"");
    if let Some(ink) = ink {
        let _ = write!(body, " style=\"fill:{ink}\"");
    }
    body.push('>');
    for run in line {
        let mut look = String::new();
        for (has, attribute) in [
            (run.bold, " font-weight=\"bold\""),
            (run.italic, " font-style=\"italic\""),
            (run.underline, " text-decoration=\"underline\""),
            (run.strike, " text-decoration=\"line-through\""),
            (run.mono, " font-family=\"monospace\""),
        ] {
            if has {
                look.push_str(attribute);
            }
        }
        let words = escaped(&run.text);
        let _ = match look.is_empty() {
            true => write!(body, "{words}"),
            false => write!(body, "<tspan{look}>{words}</tspan>"),
        };
    }
    body.push_str("</text>\n");
}
