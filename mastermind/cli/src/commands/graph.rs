//! `mastermind graph`: the wiring of an assembly, as in Figures 1 and 8 of the paper. With records and models it also
//! has the numbers of calls along it and the time at each instance, as in Figure 7. Or the activities of a program
//! model.

mod activity;
mod dot;
mod layout;
mod svg;
mod weights;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::bail;
use cca_core::rc::Script;
use cca_core::{Assembly, Endpoint, MonitorSelection};
use clap::{Args, ValueEnum};
use mastermind_component::add_to_call_graph;
use mastermind_composition::CallGraph;
use mastermind_records::Run;
use serde::Serialize;

use self::weights::{Predicted, Times};
use crate::commands::predict::read_models;
use crate::destination::{Force, is_standard_output};
use crate::errors::WrongUse;
use crate::figures::picture;
use crate::output;
use crate::session::framework::Session;
use crate::session::recording::Recording;
use crate::session::script::{self, ScriptPosition};
use crate::session::{assignment, build, model, read_assembly};

/// Draw the wiring of an assembly, the call graph of a run, or a program model.
#[derive(Args)]
#[command(
    after_help = "Example: mastermind graph examples/shock/shock.toml --format svg -o shock.svg \\\n         \
                        --records records --models models.json"
)]
pub struct Graph {
    /// The assembly file, an rc script, or a program model or diagram (as check takes it)
    assembly: PathBuf,
    /// Of a program model, begin with this activity, not with the one that no other names
    #[arg(long, value_name = "ACTIVITY")]
    main: Option<String>,
    /// Of a diagram, draw the program that is read from it, not what its author drew; dot and JSON always have the program
    #[arg(long)]
    compiled: bool,
    /// What to write [default: by the ending of the output: .dot, .gv, .json, .svg, .png or .pdf; else dot]
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,
    /// Where to write it [default: standard output]
    #[arg(short, long, value_name = "F")]
    output: Option<PathBuf>,
    #[command(flatten)]
    force: Force,
    /// Take another class for an instance first
    #[arg(long, value_name = "INSTANCE=CLASS", value_parser = assignment)]
    replace: Vec<(String, String)>,
    /// Of a script, draw the assembly as it is after this line [default: as it is at the last go]
    #[arg(long, value_name = "LINE")]
    at: Option<usize>,
    /// Draw the proxies that monitoring puts in: all, or a comma list of INSTANCE.PORT or port types
    #[arg(long, value_name = "SPEC")]
    monitor: Option<MonitorSelection>,
    /// Add how often each connection was called, and the own time of each instance, from these records
    #[arg(long, value_name = "DIR")]
    records: Option<PathBuf>,
    /// Add the time that these models of wall time predict for the recorded calls, as fit writes them; the part of it in MPI is
    /// the measured one
    #[arg(long, value_name = "FILE", requires = "records")]
    models: Option<PathBuf>,
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

/// The wiring of an assembly.
#[derive(Debug, Serialize)]
pub struct Wiring {
    assembly: String,
    /// For a script, the line at which the wiring is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<ScriptPosition>,
    instances: Vec<Node>,
    connections: Vec<Edge>,
    /// The Go port that starts it, `INSTANCE.PORT`.
    go: Option<String>,
    /// Number of ranks of the run, over which calls and times are means.
    #[serde(skip_serializing_if = "Option::is_none")]
    ranks: Option<usize>,
    /// Methods by call path, over all ranks, with their callers.
    #[serde(skip_serializing_if = "Option::is_none")]
    call_graph: Option<CallGraph>,
}

/// An instance.
#[derive(Debug, Serialize)]
struct Node {
    name: String,
    class: String,
    /// Ports that are connected.
    uses: Vec<String>,
    provides: Vec<String>,
    /// Its place in the picture: the column from the left, and the row of it from the top.
    column: usize,
    row: usize,
    /// Its own time in the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    measured: Option<Times>,
    /// The same as the models have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    predicted: Option<Predicted>,
}

/// A connection; instances by their place in the list.
#[derive(Debug, Serialize)]
struct Edge {
    user: String,
    uses: String,
    provider: String,
    provides: String,
    /// Whether a proxy is drawn into it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    monitored: bool,
    /// Calls along it, a rank.
    #[serde(skip_serializing_if = "Option::is_none")]
    calls: Option<f64>,
    #[serde(skip)]
    ends: (usize, usize),
}

impl Graph {
    /// Draws the graph.
    ///
    /// # Errors
    /// The assembly, the records or the models cannot be read; the picture cannot be written.
    pub fn execute(self) -> anyhow::Result<ExitCode> {
        self.force.check([self.output.as_deref()], false)?;
        let format = self.format()?;
        let text = if model::is_model(&self.assembly) {
            self.activities(format)?
        } else {
            self.wiring(format)?
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
            Some("dot" | "gv") => Some(Format::Dot),
            Some("json") => Some(Format::Json),
            Some("svg") => Some(Format::Svg),
            Some("png") => Some(Format::Png),
            Some("pdf") => Some(Format::Pdf),
            _ => None,
        };
        match (self.format, by_ending, ending) {
            (Some(said), Some(by_ending), _) if said != by_ending => bail!(WrongUse(
                "cannot write graph: --format says another format than the ending of the file, expected one of them or the same"
            )),
            (Some(said), ..) => Ok(said),
            (None, Some(by_ending), _) => Ok(by_ending),
            (None, None, None) => Ok(Format::Dot),
            (None, None, Some(ending)) => bail!(
                "cannot write graph: no format of ending .{ending}, expected .dot, .gv, .json, .svg, .png or .pdf; or name it with --format"
            ),
        }
    }

    fn activities(&self, format: Format) -> anyhow::Result<String> {
        let is_picture = matches!(format, Format::Svg | Format::Png | Format::Pdf);
        let as_drawn = is_picture && !self.compiled;
        let main = self.main.as_deref();
        if as_drawn && let Some(pictures) = model::pictures(&self.assembly, main)? {
            let svg = mastermind_diagrams::picture::svg(&pictures);
            return Ok(output::well_formed(&svg).into_owned());
        }
        let drawn =
            activity::ActivityPicture::of(&model::read(&self.assembly, self.main.as_deref())?);
        Ok(match format {
            Format::Dot => activity::dot(&drawn),
            Format::Json => serde_json::to_string_pretty(&drawn)? + "\n",
            Format::Svg | Format::Png | Format::Pdf => {
                output::well_formed(&activity::svg(&drawn)).into_owned()
            }
        })
    }

    /// The assembly, and for a script the line at which it is shown.
    fn read(&self) -> anyhow::Result<(Assembly, Option<ScriptPosition>)> {
        if Script::is_script(&self.assembly) {
            let options = script::Options {
                replace: &self.replace,
                at: self.at,
                ..script::Options::default()
            };
            return script::try_out(&self.assembly, options)?.reported(false);
        }
        if self.at.is_some() {
            bail!(WrongUse(
                "cannot draw assembly at a line: the file is no script, expected an rc script with --at"
            ));
        }
        let (assembly, mut problems) = read_assembly(&self.assembly, &self.replace, &[], false)?;
        match problems.pop() {
            Some(problem) => Err(anyhow::Error::from_boxed(problem)),
            None => Ok((assembly, None)),
        }
    }

    fn wiring(&self, format: Format) -> anyhow::Result<String> {
        let (assembly, at) = self.read()?;
        let mut wiring = Wiring::of(&assembly);
        wiring.at = at;
        if let Some(selection) = &self.monitor {
            wiring.put_proxies(&assembly, selection)?;
        }
        if let Some(records) = &self.records {
            let run = super::profile::open(records)?;
            let left_out = weights::add_measured(&mut wiring, &run)?;
            if !left_out.is_empty() {
                output::message(&format!(
                    "note: calls of {} were recorded too, of instances that are not in the graph",
                    left_out.join(", ")
                ));
            }
            super::profile::warn_of_missing_records(&run, "they are in the graph");
            wiring.add_call_graph(&run);
            if let Some(path) = &self.models {
                let models = read_models(path, false)?;
                weights::add_predicted(&mut wiring, &run, &models)?;
            }
        }
        Ok(match format {
            Format::Dot => dot::draw(&wiring),
            Format::Json => {
                wiring.place();
                serde_json::to_string_pretty(&wiring)? + "\n"
            }
            Format::Svg | Format::Png | Format::Pdf => {
                output::well_formed(&svg::draw(&wiring)).into_owned()
            }
        })
    }
}

impl Wiring {
    /// Stores the places of the instances, so that other pictures of the assembly use them too.
    fn place(&mut self) {
        for (column, instances) in layout::columns(self).iter().enumerate() {
            for (row, instance) in instances.iter().enumerate() {
                let node = &mut self.instances[*instance];
                (node.column, node.row) = (column, row);
            }
        }
    }

    /// Adds the callers and callees of a run. Recursion is noted, since the times of a recursive path are hard to read.
    fn add_call_graph(&mut self, run: &Run) {
        let mut graph = CallGraph::new();
        add_to_call_graph(&mut graph, run);
        let vertices: Vec<_> = graph.vertices().collect();
        let recursive = graph.recursive();
        let names: BTreeSet<String> = recursive
            .iter()
            .map(|id| vertices[id.index()].1)
            .map(|vertex| format!("{}.{}", vertex.instance, vertex.method))
            .collect();
        if !names.is_empty() {
            let names: Vec<_> = names.into_iter().collect();
            output::message(&format!(
                "warning: recursion in the call graph, each level of it counted by itself: {}",
                names.join(", ")
            ));
        }
        self.call_graph = Some(graph);
    }

    fn of(assembly: &Assembly) -> Self {
        let names: Vec<_> = assembly.instances.keys().collect();
        let place = |name: &String| names.binary_search(&name).ok();
        let mut nodes: Vec<_> = assembly
            .instances
            .iter()
            .map(|(name, class)| Node {
                name: name.clone(),
                class: class.clone(),
                uses: Vec::new(),
                provides: Vec::new(),
                column: 0,
                row: 0,
                measured: None,
                predicted: None,
            })
            .collect();
        let mut add = |at: usize, used: bool, port: &String| {
            let node = &mut nodes[at];
            let ports = if used {
                &mut node.uses
            } else {
                &mut node.provides
            };
            if !ports.contains(port) {
                ports.push(port.clone());
            }
        };
        let mut edges = Vec::new();
        for (uses, provides) in &assembly.connections {
            let ends = (place(&uses.instance), place(&provides.instance));
            let (Some(user), Some(provider)) = ends else {
                continue;
            };
            add(user, true, &uses.port);
            add(provider, false, &provides.port);
            edges.push(Edge {
                user: uses.instance.clone(),
                uses: uses.port.clone(),
                provider: provides.instance.clone(),
                provides: provides.port.clone(),
                monitored: false,
                calls: None,
                ends: (user, provider),
            });
        }
        if let Some(go) = &assembly.go
            && let Some(at) = place(&go.port.instance)
        {
            add(at, false, &go.port.port);
        }
        Wiring {
            assembly: assembly.assembly.name.clone(),
            at: None,
            instances: nodes,
            connections: edges,
            go: assembly.go.as_ref().map(|go| go.port.to_string()),
            ranks: None,
            call_graph: None,
        }
    }

    /// Proxies where a run would put them.
    fn put_proxies(
        &mut self,
        assembly: &Assembly,
        selection: &MonitorSelection,
    ) -> anyhow::Result<()> {
        let session = Session::serial()?;
        build(&session, assembly, Vec::new(), false)?;
        let selected = Recording::selecting(selection.clone()).select(&session, assembly)?;
        for edge in &mut self.connections {
            let is_it = |(user, uses): (&String, &String)| *user == edge.user && *uses == edge.uses;
            edge.monitored = selected.iter().any(|c| is_it((&c.user, &c.uses)));
        }
        Ok(())
    }
}

/// The call graph of a run, with the time at each instance, as a picture; `None` if it has no calls between instances,
/// as in a wrapped program without proxies.
pub fn calls_of_run(run: &Run) -> Option<String> {
    let dual = weights::dual(run);
    let is_drawn = dual.instances.len() > 1;
    is_drawn.then(|| output::well_formed(&svg::draw(&dual)).into_owned())
}

/// The wiring of the assembly that ran, with its calls and times, as a picture; `None` if nothing was connected, as in
/// a wrapped program.
///
/// # Errors
/// None of its instances was called.
pub fn of_run(run: &Run) -> anyhow::Result<Option<String>> {
    let definition = run.logs().first().map(|log| &log.definitions().run);
    let Some(definition) = definition.filter(|run| !run.connections.is_empty()) else {
        return Ok(None);
    };
    let mut assembly = Assembly::default();
    assembly.assembly.name.clone_from(&definition.assembly);
    let classes = definition.classes.iter();
    let classes = classes.filter(|class| !class.library.is_empty());
    assembly.instances = classes
        .map(|class| (class.instance.clone(), class.class.clone()))
        .collect();
    let end = |instance: &str, port: &str| Endpoint {
        instance: instance.into(),
        port: port.into(),
    };
    for connection in &definition.connections {
        let uses = end(&connection.user, &connection.uses_port);
        let provides = end(&connection.provider, &connection.provides_port);
        assembly.connections.insert(uses, provides);
    }
    let mut wiring = Wiring::of(&assembly);
    weights::add_measured(&mut wiring, run)?;
    Ok(Some(output::well_formed(&svg::draw(&wiring)).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    pub fn wiring() -> Wiring {
        let text = r#"
            [assembly]
            name = "a<b"
            [instances]
            driver = "x.Driver"
            left = "x.Side"
            right = "x.Side"
            [connections]
            "driver.left" = "left.side"
            "driver.right" = "right.side"
            "left.other" = "right.side"
            "right.back" = "driver.self"
            "driver.lost" = "nobody.there"
            [go]
            port = "driver.go"
        "#;
        Wiring::of(&toml::from_str(text).unwrap())
    }

    #[test]
    fn connections_between_instances_are_drawn() {
        let wiring = wiring();
        assert_eq!(wiring.connections.len(), 4);
        let dot = dot::draw(&wiring);
        assert!(
            dot.contains("\"driver\":\"u_left\" -> \"left\":\"p_side\""),
            "{dot}"
        );
        let svg = svg::draw(&wiring);
        assert_eq!(svg.matches("class=\"box\"").count(), 3);
        assert_eq!(svg.matches("class=\"wire\"").count(), 4);
        assert!(svg.contains("a&lt;b") && !svg.contains("a<b"), "{svg}");
        let json = serde_json::to_string(&wiring).unwrap();
        assert!(json.contains(r#""go":"driver.go""#), "{json}");
    }

    #[test]
    fn proxies_and_weights_are_drawn() {
        let mut wiring = wiring();
        wiring.ranks = Some(3);
        wiring.connections[0].monitored = true;
        wiring.connections[0].calls = Some(12.5);
        let times = Times {
            compute_s: 0.0123,
            mpi_s: 2e-4,
        };
        wiring.instances[1].measured = Some(times);
        wiring.instances[1].predicted = Some(Predicted {
            times,
            modelled: true,
        });
        let svg = svg::draw(&wiring);
        assert_eq!(svg.matches("class=\"proxy\"").count(), 1);
        assert_eq!(svg.matches("class=\"record\"").count(), 1);
        assert_eq!(svg.matches("class=\"mastermind\"").count(), 2);
        assert!(svg.contains(">Measurement</text>"), "{svg}");
        assert!(svg.contains(">12.5</text>"), "{svg}");
        assert_eq!(svg.matches("12.3 ms + 200 µs MPI").count(), 2);
        let dot = dot::draw(&wiring);
        assert!(dot.contains("style=dashed"), "{dot}");
        assert!(dot.contains("[label=\"12.5\"]"), "{dot}");
        let json = serde_json::to_string(&wiring).unwrap();
        assert!(json.contains(r#""monitored":true,"calls":12.5"#), "{json}");
        let predicted = r#""predicted":{"compute_s":0.0123,"mpi_s":0.0002,"modelled":true}"#;
        assert!(json.contains(predicted), "{json}");
    }

    #[test]
    fn users_stand_left_of_what_they_use_where_there_is_no_cycle() {
        let wiring = wiring();
        let layers = layout::layers(&wiring);
        let layer = |name: &str| {
            let at = wiring.instances.iter().position(|node| node.name == name);
            layers[at.unwrap()]
        };
        assert_eq!((layer("driver"), layer("left"), layer("right")), (0, 1, 2));
    }

    #[test]
    fn an_empty_assembly_has_a_picture() {
        let wiring = Wiring::of(&Assembly::default());
        assert!(svg::draw(&wiring).starts_with("<svg"));
        assert!(dot::draw(&wiring).starts_with("digraph"));
    }
}
