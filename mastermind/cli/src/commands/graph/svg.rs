//! The wiring of an assembly as a picture: provides ports on the left of a box, uses ports on its
//! right.
//!
//! Boxes stand in columns (`layout.rs`), users left of their providers, so wires lead from left to
//! right. With a run the picture carries its measurements: thicker wires have more calls
//! (logarithmically), redder boxes take more of the longest time, and a circle with P marks each
//! connection that had a proxy, with a dashed line to the Mastermind as in the paper's Figures 1
//! and 8.
//!
//! ```text
//! ┌────────────┐              ┌────────────┐
//! │  driver    │  960         │   flux     │
//! │ ■ go  flux ■────Ⓟ─────────■ flux       │
//! └────────────┘    ┊         └────────────┘
//!               Mastermind ── Measurement
//! ```
//!
//! Drawing order is the only depth that SVG has: wires first, boxes over them, and labels and
//! proxies last.

use std::fmt::Write;

use super::layout::columns;
use super::{Edge, Node, Wiring};
use crate::figures::way;

// Lengths in pixels.
const LETTER: f64 = 7.0;
const TITLE_LETTER: f64 = 9.0;
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
.provides-mark{fill:#2a7f3f}.uses-mark{fill:#b5541c}.go{fill:#c02040}\
.time{font-size:11px;text-anchor:middle}.calls{font-size:10px;fill:#a03c00}.halo{font-size:10px;fill:none;stroke:white;stroke-width:3px;stroke-linejoin:round}\
.proxy{fill:#ffe9a8;stroke:#8a6d00}.p{font-size:10px;font-weight:bold;text-anchor:middle}\
.record{fill:none;stroke:#8a6d00;stroke-dasharray:4 4;stroke-width:0.9}.mastermind{fill:#fff6d8;stroke:#8a6d00;stroke-width:1.2}";

/// Radius of a proxy.
const PROXY: f64 = 8.0;

/// Size of the box to which proxies report, and of the measuring component's box.
const REPORTED: (f64, f64) = (130.0, 34.0);

/// A box.
struct Placed {
    x: f64,
    y: f64,
    head: f64,
    width: f64,
    height: f64,
}

fn width(node: &Node) -> f64 {
    let longest = |ports: &[String]| ports.iter().map(|p| p.chars().count()).max().unwrap_or(0);
    let ports = longest(&node.provides) + longest(&node.uses) + 6;
    let lines = node.lines();
    let lines = lines.iter().chain([&node.name, &node.class]);
    let title = lines.map(|line| line.chars().count()).max().unwrap_or(0) + 3;
    LETTER * ports.max(title).max(14) as f64
}

/// Height of the text above the ports.
fn head(node: &Node) -> f64 {
    HEAD + LINE * node.lines().len() as f64
}

fn height(node: &Node) -> f64 {
    head(node) + LINE * node.provides.len().max(node.uses.len()) as f64 + 8.0
}

/// Height of the port at `place` of its list.
fn port_y(placed: &Placed, place: usize) -> f64 {
    placed.y + placed.head + LINE * (place as f64 + 0.5)
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
        .map(|node| (width(node), height(node), head(node)))
        .collect();
    let tall = |column: &Vec<usize>| {
        let boxes: f64 = column.iter().map(|node| sizes[*node].1 + GAP_Y).sum();
        boxes - GAP_Y
    };
    let total = columns.iter().map(tall).fold(0.0, f64::max);
    let mut placed: Vec<_> = sizes
        .iter()
        .map(|(width, height, head)| Placed {
            x: 0.0,
            y: 0.0,
            head: *head,
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
    let (placed, width, mut height) = place(wiring);
    let width = width.max(2.0 * MARGIN + TITLE_LETTER * wiring.title().chars().count() as f64);
    let has_proxies = wiring.connections.iter().any(|edge| edge.monitored);
    let mastermind = ((width - REPORTED.0) / 2.0 - REPORTED.0, height);
    if has_proxies {
        height += REPORTED.1 + MARGIN;
    }
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\">\n<style>{STYLE}</style>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text class=\"title\" x=\"{MARGIN}\" y=\"{:.0}\">{}</text>\n",
        MARGIN + 12.0,
        escaped(&wiring.title())
    );
    let used = uses_by_height(wiring, &placed);
    let calls = wiring.connections.iter().filter_map(|edge| edge.calls);
    let most = calls.fold(0.0, f64::max);
    let bounds = placed
        .iter()
        .map(|at| [at.x, at.y, at.x + at.width, at.y + at.height]);
    let bounds: Vec<_> = bounds.collect();
    // Drawn over the boxes, below which connections pass so that they hide no text.
    let mut over = String::new();
    for edge in &wiring.connections {
        let (from, to) = ends(edge, wiring, &placed, &used);
        let way = way::corners(from, to, &bounds);
        draw_wire(&mut svg, edge, &way, most);
        // The text of a wire stands on its first piece.
        let to = way[1];
        draw_on_wire(&mut over, edge, from, to);
        if edge.monitored {
            let (x, y) = proxy_place(from, to);
            let (x2, y2) = (mastermind.0 + REPORTED.0 / 2.0, mastermind.1);
            let _ = writeln!(
                svg,
                "<path class=\"record\" d=\"M{x:.1} {y:.1} L{x2:.1} {y2:.1}\"/>"
            );
        }
    }
    let weights = wiring.instances.iter().map(Node::weight_s);
    let heaviest = weights.fold(0.0, f64::max);
    for (index, (node, at)) in wiring.instances.iter().zip(&placed).enumerate() {
        let share = match heaviest {
            0.0 => 0.0,
            heaviest => node.weight_s() / heaviest,
        };
        draw_box(&mut svg, node, at, share);
        draw_ports(&mut svg, node, &used[index], at, wiring.go.as_deref());
    }
    svg += &over;
    if has_proxies {
        draw_mastermind(&mut svg, mastermind);
    }
    svg + "</svg>\n"
}

/// A place of the picture.
type At = (f64, f64);

/// Both ends of a connection.
fn ends(edge: &Edge, wiring: &Wiring, placed: &[Placed], used: &[Vec<&str>]) -> (At, At) {
    let (user, provider) = edge.ends;
    let uses = used[user].iter().position(|port| *port == edge.uses);
    let mut provided = wiring.instances[provider].provides.iter();
    let provides = provided.position(|port| *port == edge.provides);
    let (from, to) = (&placed[user], &placed[provider]);
    let begin = (from.x + from.width, port_y(from, uses.unwrap_or(0)));
    (begin, (to.x, port_y(to, provides.unwrap_or(0))))
}

/// Length of the straight part of a wire between two ends.
fn bend((x1, _): At, (x2, _): At) -> f64 {
    ((x2 - x1).abs() / 2.0).max(GAP_X / 2.0)
}

/// Place of a wire's proxy: after the user, where the wires of its ports are apart and there is no box.
fn proxy_place(from: At, to: At) -> At {
    let ((x1, y1), (x2, y2)) = (from, to);
    let bend = bend(from, to);
    let curve = |t: f64, [a, b, c, d]: [f64; 4]| {
        let s = 1.0 - t;
        s * s * s * a + 3.0 * s * s * t * b + 3.0 * s * t * t * c + t * t * t * d
    };
    let wanted = x1 + (0.6 * GAP_X).min((x2 - x1) / 2.0);
    let xs = [x1, x1 + bend, x2 - bend, x2];
    let (mut low, mut high) = (0.0, 0.5);
    // For a wire that leads back: its middle.
    for _ in 0..20 {
        let t = (low + high) / 2.0;
        if curve(t, xs) < wanted || x2 <= x1 {
            low = t;
        } else {
            high = t;
        }
    }
    (curve(low, xs), curve(low, [y1, y1, y2, y2]))
}

/// A wire; the more calls of the `most` there are, the thicker.
fn draw_wire(svg: &mut String, edge: &Edge, way: &[At], most: f64) {
    let mut path = String::new();
    for (place, ends) in way.windows(2).enumerate() {
        let [from, to] = [ends[0], ends[1]];
        let ((x1, y1), (x2, y2)) = (from, to);
        let bend = bend(from, to);
        let _ = match place {
            0 => write!(
                path,
                "M{x1:.1} {y1:.1} C{:.1} {y1:.1} {:.1} {y2:.1} {x2:.1} {y2:.1}",
                x1 + bend,
                x2 - bend
            ),
            // Every second piece is level.
            place if place % 2 == 1 => write!(path, " L{x2:.1} {y2:.1}"),
            _ => write!(
                path,
                " C{:.1} {y1:.1} {:.1} {y2:.1} {x2:.1} {y2:.1}",
                x1 + bend,
                x2 - bend
            ),
        };
    }
    let thick = edge.calls.map_or_else(String::new, |calls| {
        // Logarithmic, since numbers of calls differ by orders of magnitude.
        let width = 1.0 + 3.0 * (1.0 + calls).ln() / (1.0 + most).ln();
        format!(" style=\"stroke-width:{width:.1}\"")
    });
    let _ = writeln!(
        svg,
        "<path class=\"wire\"{thick} d=\"{path}\"><title>{}.{} to {}.{}</title></path>",
        escaped(&edge.user),
        escaped(&edge.uses),
        escaped(&edge.provider),
        escaped(&edge.provides)
    );
}

/// The calls, at the begin of the wire, where it is apart from others, and the proxy.
fn draw_on_wire(svg: &mut String, edge: &Edge, from: At, to: At) {
    if let Some(calls) = edge.label() {
        let (x, y) = (from.0 + PORT, from.1 - 3.0);
        // A halo keeps lines behind the text from showing through.
        for class in ["halo", "calls"] {
            let _ = writeln!(
                svg,
                "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{calls}</text>"
            );
        }
    }
    if edge.monitored {
        let (x, y) = proxy_place(from, to);
        let _ = writeln!(
            svg,
            "<circle class=\"proxy\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{PROXY}\"/>\
             <text class=\"p\" x=\"{x:.1}\" y=\"{:.1}\">P</text>",
            y + 3.5
        );
    }
}

/// Draws where the proxies append their records, and the measuring component, as in the paper's Figures 1 and 8.
fn draw_mastermind(svg: &mut String, (x, y): At) {
    let (width, height) = REPORTED;
    let middle = y + height / 2.0;
    let _ = writeln!(
        svg,
        "<path class=\"wire\" d=\"M{:.1} {middle:.1} h{width:.1}\"><title>mastermind to measurement</title></path>",
        x + width,
    );
    for (place, name) in [(0.0, "Mastermind"), (2.0, "Measurement")] {
        let x = x + place * width;
        let _ = writeln!(
            svg,
            "<rect class=\"mastermind\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width}\" height=\"{height}\" rx=\"8\"/>\n\
             <text class=\"name\" x=\"{:.1}\" y=\"{:.1}\">{name}</text>",
            x + width / 2.0,
            middle + 4.0
        );
    }
}

/// Each instance's uses ports in the order of where they lead, so that few connections cross.
fn uses_by_height<'a>(wiring: &'a Wiring, placed: &[Placed]) -> Vec<Vec<&'a str>> {
    let ports = |(at, node): (usize, &'a Node)| {
        let height = |port: &str| {
            let leads = |edge: &&Edge| edge.ends.0 == at && edge.uses == port;
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

/// A box with its names and times; the larger its share of the longest time, the redder.
fn draw_box(svg: &mut String, node: &Node, at: &Placed, share: f64) {
    let middle = at.x + at.width / 2.0;
    let fill = match share {
        0.0 => String::new(),
        share => {
            let mix = |from: f64, to: f64| (from + (to - from) * share).round();
            let (r, g, b) = (mix(244.0, 250.0), mix(246.0, 190.0), mix(250.0, 160.0));
            format!(" style=\"fill:rgb({r},{g},{b})\"")
        }
    };
    let _ = writeln!(
        svg,
        "<rect class=\"box\"{fill} x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"4\"/>\n\
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
    for (place, line) in node.lines().iter().enumerate() {
        let y = at.y + 51.0 + LINE * place as f64;
        let line = escaped(line);
        let _ = writeln!(
            svg,
            "<text class=\"time\" x=\"{middle:.1}\" y=\"{y:.1}\">{line}</text>"
        );
    }
}

fn draw_ports(svg: &mut String, node: &Node, uses: &[&str], at: &Placed, go: Option<&str>) {
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
