//! `mastermind graph`: the wiring of an assembly, as in Figures 1 and 8 of the paper, or the activities
//! of a program model.

mod activity;
mod dot;
mod layout;
mod svg;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use cca_core::Assembly;
use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::output;
use crate::session::{assignment, model, read_assembly};

/// Draw the wiring of an assembly, or the activities of a program model.
#[derive(Args)]
#[command(
    after_help = "Example: mastermind graph examples/shock/shock.toml --format svg -o shock.svg"
)]
pub struct Graph {
    /// The assembly file, an rc script, or a program model
    assembly: PathBuf,
    /// What to write
    #[arg(long, value_name = "FORMAT", default_value = "dot")]
    format: Format,
    /// Where to write it [default: standard output]
    #[arg(short, long, value_name = "F")]
    output: Option<PathBuf>,
    /// Take another class for an instance first
    #[arg(long, value_name = "INSTANCE=CLASS", value_parser = assignment)]
    replace: Vec<(String, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Graphviz
    Dot,
    /// One JSON document
    Json,
    /// A picture
    Svg,
}

/// The wiring of an assembly.
#[derive(Debug, Serialize)]
pub struct Wiring {
    assembly: String,
    instances: Vec<Node>,
    connections: Vec<Edge>,
    /// The Go port that starts it, `INSTANCE.PORT`.
    go: Option<String>,
}

/// An instance.
#[derive(Debug, Serialize)]
struct Node {
    name: String,
    class: String,
    /// Ports that are connected.
    uses: Vec<String>,
    provides: Vec<String>,
}

/// A connection; instances by their place in the list.
#[derive(Debug, Serialize)]
struct Edge {
    user: String,
    uses: String,
    provider: String,
    provides: String,
    #[serde(skip)]
    ends: (usize, usize),
}

impl Graph {
    /// Draws the graph.
    ///
    /// # Errors
    /// The assembly cannot be read; the picture cannot be written.
    pub fn execute(self) -> anyhow::Result<ExitCode> {
        let text = if model::is_model(&self.assembly) {
            self.activities()?
        } else {
            self.wiring()?
        };
        match &self.output {
            Some(path) => fs::write(path, text)
                .with_context(|| format!("cannot write graph \"{}\"", path.display()))?,
            None => output::line(text.trim_end()),
        }
        Ok(ExitCode::SUCCESS)
    }

    fn activities(&self) -> anyhow::Result<String> {
        let drawn = activity::Drawn::of(&model::read(&self.assembly)?);
        Ok(match self.format {
            Format::Dot => activity::dot(&drawn),
            Format::Json => serde_json::to_string_pretty(&drawn)? + "\n",
            Format::Svg => activity::svg(&drawn),
        })
    }

    fn wiring(&self) -> anyhow::Result<String> {
        let (assembly, mut problems) = read_assembly(&self.assembly, &self.replace, &[], false)?;
        if let Some(problem) = problems.pop() {
            return Err(anyhow::Error::from_boxed(problem));
        }
        let wiring = Wiring::of(&assembly);
        Ok(match self.format {
            Format::Dot => dot::draw(&wiring),
            Format::Json => serde_json::to_string_pretty(&wiring)? + "\n",
            Format::Svg => svg::draw(&wiring),
        })
    }
}

impl Wiring {
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
            instances: nodes,
            connections: edges,
            go: assembly.go.as_ref().map(|go| go.port.to_string()),
        }
    }
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
