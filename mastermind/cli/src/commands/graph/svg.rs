//! The wiring as a picture: provides ports on the left of a box, uses ports on its right.

use std::fmt::Write;

use super::layout::columns;
use super::{Node, Wiring};

// Lengths in pixels.
const LETTER: f64 = 7.0;
const LINE: f64 = 18.0;
const HEAD: f64 = 44.0;
const GAP_X: f64 = 90.0;
const GAP_Y: f64 = 26.0;
const MARGIN: f64 = 24.0;
const TITLE: f64 = 34.0;
const PORT: f64 = 8.0;

const STYLE: &str = "text{font-family:Helvetica,Arial,sans-serif;font-size:12px;fill:#222}\
.title{font-size:16px;font-weight:bold}.name{font-size:13px;font-weight:bold;text-anchor:middle}\
.class{font-size:11px;fill:#555;text-anchor:middle}.port{font-size:11px}.uses{text-anchor:end}\
.box{fill:#f4f6fa;stroke:#345;stroke-width:1.2}.wire{fill:none;stroke:#345;stroke-width:1.3}\
.provides-mark{fill:#2a7f3f}.uses-mark{fill:#b5541c}.go{fill:#c02040}";

/// A box.
struct Placed {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

fn width(node: &Node) -> f64 {
    let longest = |ports: &[String]| ports.iter().map(|p| p.chars().count()).max().unwrap_or(0);
    let ports = longest(&node.provides) + longest(&node.uses) + 6;
    let title = node.name.chars().count().max(node.class.chars().count()) + 3;
    LETTER * ports.max(title).max(14) as f64
}

fn height(node: &Node) -> f64 {
    HEAD + LINE * node.provides.len().max(node.uses.len()) as f64 + 8.0
}

/// Height of the port at `place` of its list.
fn port_y(placed: &Placed, place: usize) -> f64 {
    placed.y + HEAD + LINE * (place as f64 + 0.5)
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

/// The boxes, and the size of the picture.
fn place(wiring: &Wiring) -> (Vec<Placed>, f64, f64) {
    let columns = columns(wiring);
    let sizes: Vec<_> = wiring
        .instances
        .iter()
        .map(|node| (width(node), height(node)))
        .collect();
    let tall = |column: &Vec<usize>| {
        let boxes: f64 = column.iter().map(|node| sizes[*node].1 + GAP_Y).sum();
        boxes - GAP_Y
    };
    let total = columns.iter().map(tall).fold(0.0, f64::max);
    let mut placed: Vec<_> = sizes
        .iter()
        .map(|(width, height)| Placed {
            x: 0.0,
            y: 0.0,
            width: *width,
            height: *height,
        })
        .collect();
    let mut x = MARGIN;
    for column in &columns {
        let wide = column.iter().map(|node| sizes[*node].0).fold(0.0, f64::max);
        let mut y = MARGIN + TITLE + (total - tall(column)) / 2.0;
        for node in column {
            let at = &mut placed[*node];
            (at.x, at.y, at.width) = (x, y, wide);
            y += at.height + GAP_Y;
        }
        x += wide + GAP_X;
    }
    let right = if columns.is_empty() { 300.0 } else { x - GAP_X };
    (placed, right + MARGIN, total + TITLE + 2.0 * MARGIN)
}

/// The wiring as an SVG document.
pub fn draw(wiring: &Wiring) -> String {
    let (placed, width, height) = place(wiring);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\">\n<style>{STYLE}</style>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text class=\"title\" x=\"{MARGIN}\" y=\"{:.0}\">{}</text>\n",
        MARGIN + 12.0,
        escaped(&wiring.assembly)
    );
    let used = uses_by_height(wiring, &placed);
    // Under the boxes: a connection that passes some does not hide what is written in them.
    for edge in &wiring.connections {
        let (user, provider) = edge.ends;
        let uses = used[user].iter().position(|port| *port == edge.uses);
        let mut provided = wiring.instances[provider].provides.iter();
        let provides = provided.position(|port| *port == edge.provides);
        let (from, to) = (&placed[user], &placed[provider]);
        let (x1, y1) = (from.x + from.width, port_y(from, uses.unwrap_or(0)));
        let (x2, y2) = (to.x, port_y(to, provides.unwrap_or(0)));
        let bend = ((x2 - x1).abs() / 2.0).max(GAP_X / 2.0);
        let _ = writeln!(
            svg,
            "<path class=\"wire\" d=\"M{x1:.1} {y1:.1} C{:.1} {y1:.1} {:.1} {y2:.1} {x2:.1} {y2:.1}\"><title>{}.{} to {}.{}</title></path>",
            x1 + bend,
            x2 - bend,
            escaped(&edge.user),
            escaped(&edge.uses),
            escaped(&edge.provider),
            escaped(&edge.provides)
        );
    }
    for (index, (node, at)) in wiring.instances.iter().zip(&placed).enumerate() {
        draw_box(&mut svg, node, &used[index], at, wiring.go.as_deref());
    }
    svg + "</svg>\n"
}

/// Each instance's uses ports in the order of where they lead, so that few connections cross.
fn uses_by_height<'a>(wiring: &'a Wiring, placed: &[Placed]) -> Vec<Vec<&'a str>> {
    let ports = |(at, node): (usize, &'a Node)| {
        let height = |port: &str| {
            let leads = |edge: &&super::Edge| edge.ends.0 == at && edge.uses == port;
            let edge = wiring.connections.iter().find(leads);
            edge.map_or(0.0, |edge| {
                let to = &placed[edge.ends.1];
                to.y + to.height / 2.0
            })
        };
        let mut ports: Vec<_> = node.uses.iter().map(String::as_str).collect();
        ports.sort_by(|a, b| height(a).total_cmp(&height(b)));
        ports
    };
    wiring.instances.iter().enumerate().map(ports).collect()
}

fn draw_box(svg: &mut String, node: &Node, uses: &[&str], at: &Placed, go: Option<&str>) {
    let middle = at.x + at.width / 2.0;
    let _ = writeln!(
        svg,
        "<rect class=\"box\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"4\"/>\n\
         <text class=\"name\" x=\"{middle:.1}\" y=\"{:.1}\">{}</text>\n\
         <text class=\"class\" x=\"{middle:.1}\" y=\"{:.1}\">{}</text>",
        at.x,
        at.y,
        at.width,
        at.height,
        at.y + 18.0,
        escaped(&node.name),
        at.y + 33.0,
        escaped(&node.class)
    );
    let half = PORT / 2.0;
    for (place, port) in node.provides.iter().enumerate() {
        let y = port_y(at, place);
        let starts = go.and_then(|go| go.split_once('.')) == Some((&*node.name, &**port));
        let mark = if starts { "go" } else { "provides-mark" };
        let _ = writeln!(
            svg,
            "<rect class=\"{mark}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{PORT}\" height=\"{PORT}\"/>\
             <text class=\"port\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            at.x - half,
            y - half,
            at.x + 10.0,
            y + 4.0,
            escaped(port)
        );
    }
    for (place, port) in uses.iter().enumerate() {
        let y = port_y(at, place);
        let right = at.x + at.width;
        let _ = writeln!(
            svg,
            "<rect class=\"uses-mark\" x=\"{:.1}\" y=\"{:.1}\" width=\"{PORT}\" height=\"{PORT}\"/>\
             <text class=\"port uses\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            right - half,
            y - half,
            right - 10.0,
            y + 4.0,
            escaped(port)
        );
    }
}
