//! `system graph`: the dependence graph, a band for each domain, as Graphviz, JSON, or a picture.
//!
//! # Source
//! The bands are as in Figure 3.2 of V. Adve et al., "POEMS", IEEE TSE 2000.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::bail;
use clap::{Args, ValueEnum};
use mastermind_system::{Domain, Graph, Protocol, Scope};
use serde::Serialize;

use super::SystemFile;
use crate::destination::{Force, is_standard_output};
use crate::errors::WrongUse;
use crate::figures::picture;
use crate::output;

/// Draw a system.
#[derive(Args)]
#[command(
    after_help = "Example: mastermind system graph examples/system/sweep3d.toml -o sweep3d.svg"
)]
pub struct Draw {
    #[command(flatten)]
    file: SystemFile,
    /// What to write [default: by the ending of the output: .dot, .gv, .json, .svg, .png or .pdf; else dot]
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,
    /// Where to write it [default: standard output]
    #[arg(short, long, value_name = "F")]
    output: Option<PathBuf>,
    #[command(flatten)]
    force: Force,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Graphviz
    Dot,
    /// One JSON document
    Json,
    /// A picture
    Svg,
    /// A picture in pixels
    Png,
    /// A picture as a page
    Pdf,
}

/// A dependence graph.
#[derive(Serialize)]
struct DependenceGraph {
    system: String,
    total: Option<String>,
    components: Vec<Vertex>,
    requests: Vec<Arrow>,
}

#[derive(Serialize)]
struct Vertex {
    name: String,
    domain: &'static str,
    kind: String,
    methods: Vec<String>,
    /// Its place in the picture: the row of its domain, and the column, which may be half-integral.
    row: usize,
    column: f64,
}

#[derive(Serialize)]
struct Arrow {
    from: String,
    to: String,
    request: String,
    protocol: &'static str,
    #[serde(skip)]
    ends: (usize, usize),
}

impl Draw {
    /// Draws the graph.
    ///
    /// # Errors
    /// The system cannot be read, or its requests do not match; the picture cannot be written.
    pub fn execute(self) -> anyhow::Result<ExitCode> {
        self.force.check([self.output.as_deref()], false)?;
        let format = self.format()?;
        let system = self.file.read()?;
        let scope = Scope::new(&system, self.file.given(&system)?);
        let graph = self.file.composed(&system, &scope, &self.file.tools())?;
        let drawn = DependenceGraph::of(&graph);
        let text = match format {
            Format::Dot => dot(&drawn),
            Format::Json => serde_json::to_string_pretty(&drawn)? + "\n",
            _ => output::well_formed(&svg(&drawn)).into_owned(),
        };
        let bytes = match format {
            Format::Png => picture::Format::Png.render(&text)?,
            Format::Pdf => picture::Format::Pdf.render(&text)?,
            _ => text.into_bytes(),
        };
        let path = self.output.as_deref().unwrap_or(Path::new("-"));
        self.force.write("graph", path, bytes)?;
        Ok(ExitCode::SUCCESS)
    }

    /// The format: as said, else by the ending.
    fn format(&self) -> anyhow::Result<Format> {
        let path = self
            .output
            .as_deref()
            .filter(|path| !is_standard_output(path));
        let ending = path.and_then(|path| path.extension()?.to_str());
        let by_ending = match ending {
            Some("gv") => Some(Format::Dot),
            Some(ending) => Format::from_str(ending, false).ok(),
            None => None,
        };
        match (self.format, by_ending, ending) {
            (Some(said), Some(by_ending), _) if said != by_ending => bail!(WrongUse(
                "cannot write graph: --format says another format than the ending of the file, expected one of them or the same"
            )),
            (Some(format), ..) | (None, Some(format), _) => Ok(format),
            (None, None, None) => Ok(Format::Dot),
            (None, None, Some(ending)) => bail!(
                "cannot write graph: no format of ending .{ending}, expected .dot, .gv, .json, .svg, .png or .pdf; or name it with --format"
            ),
        }
    }
}

impl DependenceGraph {
    fn of(graph: &Graph<'_>) -> Self {
        let components = graph.system.components.iter().map(|component| Vertex {
            name: component.name.clone(),
            domain: component.domain.name(),
            kind: component.kind.clone(),
            methods: component
                .methods
                .iter()
                .map(|one| one.name.clone())
                .collect(),
            row: 0,
            column: 0.0,
        });
        let requests = graph.edges.iter().map(|edge| Arrow {
            from: graph.component(edge.from).name.clone(),
            to: graph.component(edge.to).name.clone(),
            request: edge.request.clone(),
            protocol: edge.protocol.name(),
            ends: (edge.from, edge.to),
        });
        let mut drawn = Self {
            system: graph.system.name.clone(),
            total: graph.total.map(|total| graph.component(total).name.clone()),
            components: components.collect(),
            requests: requests.collect(),
        };
        drawn.place();
        drawn
    }

    /// Assigns rows within a domain by the longest path of calls; in a row, components whose callers are further left
    /// come first.
    fn place(&mut self) {
        let is_call = |arrow: &&Arrow| arrow.protocol == Protocol::CallReturn.name();
        // There are no cycles, so as many rounds as components settle everything.
        for _ in 0..self.components.len() {
            for arrow in self.requests.iter().filter(is_call) {
                let (from, to) = arrow.ends;
                if self.components[from].domain == self.components[to].domain {
                    let row = self.components[from].row + 1;
                    self.components[to].row = self.components[to].row.max(row);
                }
            }
            for arrow in self.requests.iter().filter(|arrow| !is_call(arrow)) {
                let (from, to) = arrow.ends;
                let row = self.components[from].row.max(self.components[to].row);
                self.components[to].row = row;
                self.components[from].row = row;
            }
        }
        let mut columns = Columns {
            requests: &self.requests,
            found: vec![None; self.components.len()],
            next: 0.0,
        };
        // Components without a caller come first, so that the components that they request are below them.
        let is_requested = |place: &usize| self.requests.iter().any(|one| one.ends.1 == *place);
        let mut order: Vec<usize> = (0..self.components.len()).collect();
        order.sort_by_key(|place| is_requested(place));
        for place in order {
            columns.find(place);
        }
        let found = columns.found;
        for (component, column) in self.components.iter_mut().zip(found) {
            component.column = column.unwrap_or(0.0);
        }
    }
}

/// Columns of a tree of requests: one for each component that requests nothing, otherwise the middle of the requested
/// ones.
struct Columns<'a> {
    requests: &'a [Arrow],
    found: Vec<Option<f64>>,
    next: f64,
}

impl Columns<'_> {
    fn find(&mut self, place: usize) {
        if self.found[place].is_some() {
            return;
        }
        // A component that is requested again later keeps its column, and the new caller moves to it.
        self.found[place] = Some(self.next);
        let requests = self.requests.iter().filter(|one| one.ends.0 == place);
        let (calls, then): (Vec<_>, Vec<_>) =
            requests.partition(|one| one.protocol == Protocol::CallReturn.name());
        let mut below = Vec::new();
        for call in calls {
            let is_new = self.found[call.ends.1].is_none();
            self.find(call.ends.1);
            below.extend(self.found[call.ends.1].filter(|_| is_new));
        }
        let column = match below.is_empty() {
            true => {
                self.next += 1.0;
                self.next - 1.0
            }
            false => below.iter().sum::<f64>() / below.len() as f64,
        };
        self.found[place] = Some(column);
        for flow in then {
            self.find(flow.ends.1);
        }
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The graph in Graphviz' language.
fn dot(drawn: &DependenceGraph) -> String {
    let mut text = format!(
        "digraph {} {{\n  node [shape=box, fontname=\"Helvetica\"];\n",
        quoted(&drawn.system)
    );
    for domain in Domain::ALL {
        let of_domain = drawn
            .components
            .iter()
            .filter(|one| one.domain == domain.name());
        let name = domain.name();
        let _ = writeln!(text, "  subgraph cluster_{name} {{\n    label=\"{name}\";");
        for one in of_domain {
            let label = format!("{}\n{}\n{}", one.name, one.kind, one.methods.join("\n"));
            let label = quoted(label.trim_end()).replace('\n', "\\n");
            let _ = writeln!(text, "    {} [label={label}];", quoted(&one.name));
        }
        text += "  }\n";
    }
    for arrow in &drawn.requests {
        let style = match arrow.protocol == Protocol::DataFlow.name() {
            true => ", style=bold",
            false => "",
        };
        let (from, to, label) = (
            quoted(&arrow.from),
            quoted(&arrow.to),
            quoted(&arrow.request),
        );
        let _ = writeln!(text, "  {from} -> {to} [label={label}{style}];");
    }
    text + "}\n"
}

// Lengths of the picture, pixels.
const LETTER: f64 = 6.8;
const LINE: f64 = 15.0;
const PAD: f64 = 10.0;
const GAP_X: f64 = 70.0;
const GAP_Y: f64 = 56.0;
const MARGIN: f64 = 20.0;
const BAND_LABEL: f64 = 100.0;

const STYLE: &str = "text{font-family:Helvetica,Arial,sans-serif;font-size:11px;fill:#222}\
.name{font-weight:bold;font-size:12px}.middle{text-anchor:middle}.band{fill:#555;font-size:13px}\
.application{fill:#f4f6fa}.runtime{fill:#f1f7f0}.hardware{fill:#faf5ec}.box{fill:#fff;stroke:#345}\
.edge{fill:none;stroke:#345;stroke-width:1.2}.flow{stroke:#a0490b;stroke-width:2}.request{fill:#7a3b00}";

/// A box in the picture.
struct Frame {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

/// The graph as an SVG document.
fn svg(drawn: &DependenceGraph) -> String {
    let lines = |one: &Vertex| -> Vec<String> {
        let head = [one.name.clone(), one.kind.clone()].into_iter();
        head.chain(one.methods.iter().map(|method| format!("· {method}")))
            .collect()
    };
    let width_of = |one: &Vertex| {
        let longest = lines(one).iter().map(|line| line.chars().count()).max();
        longest.unwrap_or(0) as f64 * LETTER + 2.0 * PAD
    };
    let mut frames: Vec<Option<Frame>> = drawn.components.iter().map(|_| None).collect();
    let mut bands = String::new();
    let mut rows: Vec<(usize, Vec<usize>)> = Vec::new();
    for (band, domain) in Domain::ALL.iter().enumerate() {
        let all = 0..drawn.components.len();
        let members: Vec<usize> = all
            .filter(|i| drawn.components[*i].domain == domain.name())
            .collect();
        let deepest = members.iter().map(|i| drawn.components[*i].row).max();
        for row in 0..deepest.map_or(0, |deepest| deepest + 1) {
            let in_row = members.iter().filter(|i| drawn.components[**i].row == row);
            rows.push((band, in_row.copied().collect()));
        }
    }
    let widest = drawn.components.iter().map(width_of).fold(0.0, f64::max);
    let last = drawn
        .components
        .iter()
        .map(|one| one.column)
        .fold(0.0, f64::max);
    let total_width = BAND_LABEL + (last + 1.0) * (widest + GAP_X) + 2.0 * MARGIN;
    let center = |one: &Vertex| BAND_LABEL + MARGIN + (one.column + 0.5) * (widest + GAP_X);
    let mut y = MARGIN;
    for (band, domain) in Domain::ALL.iter().enumerate() {
        let of_band = rows
            .iter()
            .filter(|(of, row)| *of == band && !row.is_empty());
        let of_band: Vec<&Vec<usize>> = of_band.map(|(_, row)| row).collect();
        if of_band.is_empty() {
            continue;
        }
        let top = y;
        y += PAD;
        for (i, row) in of_band.iter().enumerate() {
            let heights = row
                .iter()
                .map(|i| LINE * lines(&drawn.components[*i]).len() as f64 + PAD);
            let tallest = heights.fold(0.0, f64::max);
            for place in *row {
                let one = &drawn.components[*place];
                let width = width_of(one);
                let height = LINE * lines(one).len() as f64 + PAD;
                frames[*place] = Some(Frame {
                    x: center(one) - width / 2.0,
                    y: y + (tallest - height) / 2.0,
                    width,
                    height,
                });
            }
            y += tallest + if i + 1 < of_band.len() { GAP_Y } else { PAD };
        }
        let name = domain.name();
        let _ = writeln!(
            bands,
            "<rect class=\"{name}\" x=\"{MARGIN:.0}\" y=\"{top:.0}\" width=\"{:.0}\" height=\"{:.0}\" rx=\"6\"/>\n\
             <text class=\"band\" x=\"{:.0}\" y=\"{:.0}\">{name}</text>",
            total_width - 2.0 * MARGIN,
            y - top,
            MARGIN + PAD,
            top + 20.0
        );
        y += GAP_Y / 2.0;
    }
    let mut edges = String::new();
    for arrow in &drawn.requests {
        let ends = (&frames[arrow.ends.0], &frames[arrow.ends.1]);
        if let (Some(from), Some(to)) = ends {
            draw_arrow(&mut edges, arrow, from, to);
        }
    }
    let mut boxes = String::new();
    for (one, frame) in drawn.components.iter().zip(&frames) {
        let Some(Frame {
            x,
            y,
            width,
            height,
        }) = frame
        else {
            continue;
        };
        let _ = writeln!(
            boxes,
            "<rect class=\"box\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"5\"/>"
        );
        for (i, line) in lines(one).iter().enumerate() {
            let class = if i == 0 { "name middle" } else { "middle" };
            let _ = writeln!(
                boxes,
                "<text class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                x + width / 2.0,
                y + LINE * (i as f64 + 1.0),
                escaped(line)
            );
        }
    }
    let height = y - GAP_Y / 2.0 + MARGIN;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{total_width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {total_width:.0} {height:.0}\">\n<style>{STYLE}</style>\n\
         <defs><marker id=\"tip\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"7\" markerHeight=\"7\" \
         orient=\"auto-start-reverse\"><path d=\"M0 0 L10 5 L0 10 z\" fill=\"#345\"/></marker></defs>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{bands}{edges}{boxes}</svg>\n"
    )
}

/// From the bottom of a box to the top of another one below it, else from side to side.
fn draw_arrow(edges: &mut String, arrow: &Arrow, from: &Frame, to: &Frame) {
    let is_flow = arrow.protocol == Protocol::DataFlow.name();
    let class = if is_flow { "edge flow" } else { "edge" };
    let is_below = to.y > from.y + from.height;
    let (start, end, path) = if is_below {
        let (x1, y1) = (from.x + from.width / 2.0, from.y + from.height);
        let (x2, y2) = (to.x + to.width / 2.0, to.y);
        let middle = (y1 + y2) / 2.0;
        let path =
            format!("M{x1:.1} {y1:.1} C{x1:.1} {middle:.1} {x2:.1} {middle:.1} {x2:.1} {y2:.1}");
        ((x1, y1), (x2, y2), path)
    } else {
        let is_right = to.x > from.x;
        let x1 = if is_right {
            from.x + from.width
        } else {
            from.x
        };
        let x2 = if is_right { to.x } else { to.x + to.width };
        let (y1, y2) = (from.y + from.height / 2.0, to.y + to.height / 2.0);
        (
            (x1, y1),
            (x2, y2),
            format!("M{x1:.1} {y1:.1} L{x2:.1} {y2:.1}"),
        )
    };
    let _ = writeln!(
        edges,
        "<path class=\"{class}\" marker-end=\"url(#tip)\" d=\"{path}\"/>\n\
         <text class=\"request\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
        (start.0 + end.0) / 2.0 + 5.0,
        (start.1 + end.1) / 2.0 - 3.0,
        escaped(&arrow.request)
    );
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}
