//! `mastermind describe`: one class, or all classes of a library, in full.
//!
//! A component library describes itself only in part: class names are static, but ports and
//! parameters exist once an instance has registered them. So an instance of each class is made in a
//! framework of its own, inspected and dropped. The result is printed as text or JSON, or, with
//! `--format c`, as a header from which a component in C can provide or use the same interfaces.
//!
//! ```text
//! $ mastermind describe hydro.EfmFlux
//! hydro.EfmFlux 1.0
//!   …description, library…
//!   provides flux : hydro.Flux 1.0
//!     compute(..) -> ..
//!       performance parameter q (integer, ..)
//! ```
//!
//! The instances are made in this process: `trial::make_instances` first tries them in another,
//! which a damaged library may end.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use cca_abi::{MethodDescriptor, PerfDescriptor, ROption, c_header};
use cca_core::{InstanceParameter, PortInfo};
use cca_loader::{Class, Library};
use cca_ports::Bounds;
use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::output;
use crate::session::default_path;

/// Describe a class or a library: ports, methods, parameters.
#[derive(Args)]
#[command(
    after_help = "Example: mastermind describe hydro.GodunovFlux\n         mastermind describe hydro.GodunovFlux --format c > flux.h"
)]
pub struct Describe {
    /// A library's path, or a class
    #[arg(value_name = "LIB|CLASS")]
    what: String,
    /// Libraries or folders to look for the class in [default: CCA_COMPONENT_PATH, else those of this program]
    #[arg(long, value_name = "PATH")]
    path: Vec<PathBuf>,
    /// Print one JSON document
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// The output: text, or the interfaces of the ports as a C header that includes cca.h
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    C,
}

#[derive(Serialize)]
struct Description {
    class: String,
    version: String,
    doc: String,
    library: PathBuf,
    provides: Vec<Port>,
    uses: Vec<Port>,
    parameters: Vec<Parameter>,
}

#[derive(Serialize)]
struct Port {
    name: String,
    interface: String,
    version: String,
    hash: String,
    methods: Vec<Method>,
}

#[derive(Serialize)]
struct Method {
    signature: String,
    doc: String,
    parameters: Vec<PerformanceParameter>,
}

#[derive(Serialize)]
struct PerformanceParameter {
    name: String,
    kind: String,
    unit: String,
    labels: Vec<String>,
}

#[derive(Serialize)]
struct Parameter {
    key: String,
    port: String,
    kind: String,
    default: String,
    bounds: Option<[f64; 2]>,
    choices: Vec<String>,
    unit: String,
    help: String,
    title: String,
    group: String,
    prompt: String,
}

impl Describe {
    /// Describes the class or the library's classes.
    ///
    /// # Errors
    /// There is no such class; the file is not a library.
    pub fn execute(self) -> anyhow::Result<ExitCode> {
        crate::session::trial::make_instances();
        let classes = self.classes()?;
        if self.format == Format::C {
            output::line(c_headers(&classes)?.trim_end());
            return Ok(ExitCode::SUCCESS);
        }
        let descriptions = classes
            .iter()
            .map(describe)
            .collect::<anyhow::Result<Vec<_>>>()?;
        if self.json {
            output::json(&descriptions)?;
        } else {
            let texts: Vec<_> = descriptions.iter().map(text).collect();
            output::line(texts.join("\n\n"));
        }
        Ok(ExitCode::SUCCESS)
    }

    fn classes(&self) -> anyhow::Result<Vec<Class>> {
        let path = PathBuf::from(&self.what);
        if path.is_file() || self.what.contains('/') {
            return Ok(Library::open(&path)?.classes().to_vec());
        }
        let paths = if self.path.is_empty() {
            default_path()?
        } else {
            self.path.clone()
        };
        let repository = super::list::repository(&paths)?;
        match repository.class(&self.what) {
            Some(class) => Ok(vec![class.clone()]),
            None => {
                let known: Vec<_> = repository.classes().map(Class::name).collect();
                bail!(
                    "cannot describe class \"{}\": unknown, expected one of {}",
                    self.what,
                    known.join(", ")
                )
            }
        }
    }
}

/// The interfaces that classes provide and use, each once, as headers for C. Interfaces that a class in C knows by name
/// only are left out.
fn c_headers(classes: &[Class]) -> anyhow::Result<String> {
    let mut headers = BTreeMap::new();
    for class in classes {
        let (_, info) = super::list::look(class)?;
        for port in info.provides.iter().chain(&info.uses) {
            let interface = port.interface;
            if !interface.methods().is_empty() {
                let key = (interface.name.as_str(), interface.version.as_str());
                let is_known = super::new::CCA_H.contains(&format!("_NAME \"{}\"", key.0));
                // A component in C includes `cca.h` anyway; a second definition would not compile.
                headers.entry(key).or_insert_with(|| match is_known {
                    true => format!("/* The interface {} {} is in cca.h. */\n", key.0, key.1),
                    false => c_header(interface),
                });
            }
        }
    }
    let names: Vec<_> = classes.iter().map(Class::name).collect();
    if headers.is_empty() {
        bail!(
            "cannot describe \"{}\" for C: no interface with its methods, expected a port written in Rust",
            names.join(", ")
        );
    }
    Ok(headers.into_values().collect::<Vec<_>>().join("\n"))
}

fn describe(class: &Class) -> anyhow::Result<Description> {
    let (session, info) = super::list::look(class)?;
    let parameters = session.framework.parameters(&info.name)?;
    Ok(Description {
        class: class.name().into(),
        version: class.version().into(),
        doc: class.doc().into(),
        library: class.library().into(),
        provides: info.provides.iter().map(port).collect(),
        uses: info.uses.iter().map(port).collect(),
        parameters: parameters.iter().map(parameter).collect(),
    })
}

fn port(info: &PortInfo) -> Port {
    Port {
        name: info.name.clone(),
        interface: info.interface.name.to_string(),
        version: info.interface.version.to_string(),
        hash: format!("{:016x}", info.interface.hash),
        methods: info.interface.methods().iter().map(method).collect(),
    }
}

fn method(method: &MethodDescriptor) -> Method {
    Method {
        signature: method.signature.to_string(),
        doc: method.doc.to_string(),
        parameters: method
            .parameters
            .iter()
            .map(performance_parameter)
            .collect(),
    }
}

fn performance_parameter(parameter: &PerfDescriptor) -> PerformanceParameter {
    PerformanceParameter {
        name: parameter.name.to_string(),
        kind: format!("{:?}", parameter.kind).to_lowercase(),
        unit: parameter.unit.to_string(),
        labels: parameter.labels.iter().map(ToString::to_string).collect(),
    }
}

fn parameter(parameter: &InstanceParameter) -> Parameter {
    let description = &parameter.description;
    Parameter {
        key: description.key.to_string(),
        port: parameter.port.clone(),
        kind: description.default.kind().into(),
        default: description.default.to_string(),
        bounds: match description.bounds {
            ROption::RSome(bounds) => Some([bounds.lower, bounds.upper]),
            ROption::RNone => None,
        },
        choices: description
            .choices
            .iter()
            .map(ToString::to_string)
            .collect(),
        unit: description.unit.to_string(),
        help: description.help.to_string(),
        title: parameter.title.clone(),
        group: description.group.to_string(),
        prompt: description.prompt.to_string(),
    }
}

fn text(class: &Description) -> String {
    let mut lines = vec![
        format!("{} {}", class.class, class.version),
        format!("  {}", class.doc),
        format!("  library {}", class.library.display()),
    ];
    for (kind, ports) in [("provides", &class.provides), ("uses", &class.uses)] {
        for port in ports {
            lines.push(format!(
                "  {kind} {} : {} {}",
                port.name, port.interface, port.version
            ));
            for method in &port.methods {
                lines.push(format!("    {}", method.signature));
                lines.extend(
                    method
                        .parameters
                        .iter()
                        .map(|p| format!("      performance parameter {}", perf_text(p))),
                );
            }
        }
    }
    lines.extend(parameter_lines(&class.parameters));
    lines.join("\n")
}

/// Lines for the parameters; the parameters of a port with a title stand below the title.
fn parameter_lines(parameters: &[Parameter]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut port = None;
    for parameter in parameters {
        if port.replace(&parameter.port) != Some(&parameter.port) && !parameter.title.is_empty() {
            lines.push(format!("  {}: {}", parameter.port, parameter.title));
        }
        lines.push(format!("  parameter {}", parameter_text(parameter)));
    }
    lines
}

fn perf_text(parameter: &PerformanceParameter) -> String {
    let PerformanceParameter {
        name,
        kind,
        unit,
        labels,
    } = parameter;
    let unit = if unit.is_empty() {
        String::new()
    } else {
        format!(", {unit}")
    };
    let labels = if labels.is_empty() {
        String::new()
    } else {
        format!(": {}", labels.join(", "))
    };
    format!("{name} ({kind}{unit}{labels})")
}

fn parameter_text(parameter: &Parameter) -> String {
    let unit = if parameter.unit.is_empty() {
        String::new()
    } else {
        format!(" {}", parameter.unit)
    };
    let mut text = format!(
        "{} = {}{unit} ({}",
        parameter.key, parameter.default, parameter.kind
    );
    if let Some([lower, upper]) = parameter.bounds {
        text += &format!(", {}", Bounds { lower, upper });
    }
    if !parameter.choices.is_empty() {
        text += &format!(": {}", parameter.choices.join(", "));
    }
    if !parameter.group.is_empty() {
        text += &format!(", group \"{}\"", parameter.group);
    }
    text += ")";
    if !parameter.help.is_empty() {
        text += &format!(": {}", parameter.help);
    }
    if !parameter.prompt.is_empty() {
        text += &format!("; asked for as \"{}\"", parameter.prompt);
    }
    text
}
