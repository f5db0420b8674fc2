//! `mastermind list`: the classes found in component libraries.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use cca_core::{InstanceInfo, PortInfo, Repository};
use cca_loader::{Class, Library, find_libraries};
use clap::Args;
use serde::Serialize;

use crate::output;
use crate::session::default_path;
use crate::session::framework::Session;
use crate::session::trial;

/// List the classes found in component libraries.
#[derive(Args)]
#[command(after_help = "Example: mastermind list target/release")]
pub struct List {
    /// Libraries, or folders with libraries [default: CCA_COMPONENT_PATH, else those of this program]
    paths: Vec<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// A class and what it registers.
#[derive(Serialize)]
pub struct ClassRow {
    class: String,
    version: String,
    doc: String,
    provides: Vec<PortRow>,
    uses: Vec<PortRow>,
    library: PathBuf,
    /// Why the ports are not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

#[derive(Serialize)]
struct PortRow {
    name: String,
    interface: String,
    version: String,
}

impl List {
    /// Lists the classes.
    ///
    /// # Errors
    /// A path does not exist; a file named explicitly is not a library.
    pub fn execute(self) -> anyhow::Result<ExitCode> {
        let paths = if self.paths.is_empty() {
            default_path()?
        } else {
            self.paths.clone()
        };
        trial::make_instances();
        let mut failures = Vec::new();
        let mut rows = Vec::new();
        for path in libraries(&paths)? {
            match Library::open(&path) {
                Ok(library) => rows.extend(library.classes().iter().map(row)),
                Err(error) => failures.push(anyhow::Error::from(error)),
            }
        }
        if self.json {
            output::json(&rows)?;
        } else if !rows.is_empty() {
            output::line(table(&rows));
        }
        for failure in &failures {
            crate::output::complain!("{}", crate::errors::worded(failure));
        }
        if rows.is_empty() && failures.is_empty() {
            let paths: Vec<_> = paths
                .iter()
                .map(|path| path.display().to_string())
                .collect();
            anyhow::bail!(
                "cannot list classes of \"{}\": no component library, expected some",
                paths.join("\", \"")
            );
        }
        Ok(if failures.is_empty() {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        })
    }
}

fn libraries(paths: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut libraries = Vec::new();
    for path in paths {
        if path.is_dir() {
            let found = find_libraries(path);
            libraries.extend(
                found.with_context(|| format!("cannot read folder \"{}\"", path.display()))?,
            );
        } else {
            libraries.push(path.clone());
        }
    }
    Ok(libraries)
}

fn row(class: &Class) -> ClassRow {
    let ports = |ports: &[PortInfo]| {
        let row = |port: &PortInfo| PortRow {
            name: port.name.clone(),
            interface: port.interface.name.to_string(),
            version: port.interface.version.to_string(),
        };
        ports.iter().map(row).collect()
    };
    let (info, error) = match look(class) {
        Ok((_, info)) => (Some(info), None),
        Err(error) => (
            None,
            Some(crate::errors::worded(&error).trim_end().to_string()),
        ),
    };
    ClassRow {
        class: class.name().into(),
        version: class.version().into(),
        doc: class.doc().into(),
        provides: info
            .as_ref()
            .map_or_else(Vec::new, |info| ports(&info.provides)),
        uses: info
            .as_ref()
            .map_or_else(Vec::new, |info| ports(&info.uses)),
        library: class.library().into(),
        error,
    }
}

/// Makes an instance of a class in a framework of its own, since only an instance registers the ports of a class.
///
/// # Errors
/// The class does not make an instance.
pub fn look(class: &Class) -> anyhow::Result<(Session, InstanceInfo)> {
    const NAME: &str = "instance";
    let session = Session::serial()?;
    session.framework.create_instance(NAME, class)?;
    let info = session
        .framework
        .instances()
        .into_iter()
        .find(|info| info.name == NAME);
    Ok((session, info.context("the instance is not there")?))
}

/// The classes of libraries and folders.
///
/// # Errors
/// A path does not exist, or a file is not a library.
pub fn repository(paths: &[PathBuf]) -> anyhow::Result<Repository> {
    let mut repository = Repository::default();
    for path in paths {
        repository.add_path(path)?;
    }
    Ok(repository)
}

fn table(rows: &[ClassRow]) -> String {
    // Names only: their interfaces would make the table wider than a screen; `describe` and `--json` have them.
    let ports = |ports: &[PortRow]| {
        let names: Vec<_> = ports.iter().map(|port| port.name.as_str()).collect();
        names.join(" ")
    };
    let file = |path: &Path| {
        path.file_name()
            .map_or_else(String::new, |name| name.to_string_lossy().into())
    };
    let cells = rows.iter().map(|row| {
        let provides = row.error.clone().unwrap_or_else(|| ports(&row.provides));
        vec![
            row.class.clone(),
            row.version.clone(),
            provides,
            ports(&row.uses),
            file(&row.library),
        ]
    });
    output::table(
        &["CLASS", "VERSION", "PROVIDES", "USES", "LIBRARY"],
        &[],
        cells,
    )
}
