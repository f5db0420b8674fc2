//! The contents of an assembly file. Reading it makes no instance; `build.rs` does.
//!
//! An assembly is a description in TOML: which classes are instantiated under which names, which
//! uses port leads to which provides port, and which parameters are set. The same type serves every
//! reader of the file: `run` builds it, `check` and `graph` inspect it, `choose` and `run --adapt`
//! read the tables `alternatives`, `attributes` and `dispatch`. Nothing here opens a library, so a
//! wrong class or port is found only when the assembly is built.
//!
//! ```toml
//! [assembly]
//! name = "shock"
//! path = ["../target/release"]     # relative to this file
//!
//! [instances]
//! driver = "demo.Driver"
//! flux = "hydro.GodunovFlux"
//!
//! [connections]                    # uses end = provides end
//! "driver.flux" = "flux.flux"
//!
//! [parameters]
//! driver = { steps = 10, mesh = { levels = 3 } }   # a table is a parameter port
//!
//! [go]
//! port = "driver.go"
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fmt, fs, io};

use serde::{Deserialize, Serialize};

use crate::dispatch::TableSource;
use crate::rc::Script;

/// An assembly: instances of classes, connected and with their parameters set. One field for each
/// table of the file; unknown tables are errors, so that a misspelt one is not ignored.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Assembly {
    /// Name and search path.
    pub assembly: Header,
    /// Instance to class.
    #[serde(default)]
    pub instances: BTreeMap<String, String>,
    /// Uses end to provides end, each `INSTANCE.PORT`.
    #[serde(default)]
    pub connections: BTreeMap<Endpoint, Endpoint>,
    /// Instance to parameter to value; a table in a value is a parameter port.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, toml::Table>,
    /// Instance to the classes that may take its place.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub alternatives: BTreeMap<String, Vec<String>>,
    /// Class to attribute to value: order of accuracy, memory in bytes, other properties that an assembly
    /// may have to satisfy.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, BTreeMap<String, f64>>,
    /// Instance that sends each call of a port to one of several others, with its decision table.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dispatch: BTreeMap<String, TableSource>,
    /// Methods that a dry run leaves out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dry: Option<Dry>,
    /// The instance and port that start it.
    pub go: Option<Start>,
}

/// The `[dry]` table.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Dry {
    /// Methods that affect neither which calls are made nor which messages are sent: `INSTANCE.METHOD`, or `INSTANCE.*`
    /// for all of an instance.
    pub methods: Vec<String>,
}

/// The `[assembly]` table.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// Name.
    pub name: String,
    /// Libraries, and folders searched for them; relative to the assembly's file.
    #[serde(default)]
    pub path: Vec<PathBuf>,
}

/// The `[go]` table.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Start {
    /// The Go port.
    pub port: Endpoint,
}

/// One end of a connection, `INSTANCE.PORT` in the file; a table of connections leads from uses
/// ports to provides ports.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct Endpoint {
    /// The instance.
    pub instance: String,
    /// Its port.
    pub port: String,
}

impl TryFrom<String> for Endpoint {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.split_once('.') {
            Some((instance, port)) if !instance.is_empty() && !port.is_empty() => Ok(Endpoint {
                instance: instance.into(),
                port: port.into(),
            }),
            _ => Err(format!("\"{text}\", expected \"INSTANCE.PORT\"")),
        }
    }
}

impl From<Endpoint> for String {
    fn from(end: Endpoint) -> String {
        end.to_string()
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.instance, self.port)
    }
}

/// Reasons why an assembly file cannot be used, or a change cannot be made to what it contains.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AssemblyError {
    /// It cannot be read.
    #[error("cannot read assembly \"{}\"", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The file is not an assembly file.
    #[error("cannot read assembly \"{}\": malformed, expected an assembly file", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Position and cause.
        source: Box<toml::de::Error>,
    },
    /// It is an rc script without the first line that marks it.
    #[error("cannot read assembly \"{}\": an rc script, expected an assembly file; begin it with the line #!ccaffeine or name it *.rc", path.display())]
    Script {
        /// The file.
        path: PathBuf,
    },
    /// A change names something that is not there.
    #[error("cannot change {what}: {found}, expected {expected}")]
    Change {
        /// Target of the change.
        what: String,
        /// The value found.
        found: String,
        /// The value expected.
        expected: String,
    },
}

impl Assembly {
    /// Reads an assembly file; its search path becomes relative to where we are.
    ///
    /// # Errors
    /// [`AssemblyError`]: it cannot be read, or is malformed, with the place.
    pub fn read(path: &Path) -> Result<Self, AssemblyError> {
        let text = fs::read_to_string(path).map_err(|source| AssemblyError::Read {
            path: path.into(),
            source,
        })?;
        let parsed: Result<Assembly, _> = toml::from_str(&text);
        let mut assembly = parsed.map_err(|source| {
            let path = path.to_path_buf();
            // A script without its first line: TOML's message about its text would help nobody.
            if Script::looks_like_script(&path) {
                return AssemblyError::Script { path };
            }
            let source = Box::new(source);
            AssemblyError::Malformed { path, source }
        })?;
        let folder = path.parent().unwrap_or(Path::new(""));
        for entry in &mut assembly.assembly.path {
            *entry = folder.join(&*entry);
        }
        for source in assembly.dispatch.values_mut() {
            if let TableSource::File(file) = source {
                *file = folder.join(&*file);
            }
        }
        Ok(assembly)
    }

    /// Takes another class for an instance.
    ///
    /// # Errors
    /// No such instance.
    pub fn replace(&mut self, instance: &str, class: &str) -> Result<(), AssemblyError> {
        let known = crate::error::names(self.instances.keys());
        let Some(entry) = self.instances.get_mut(instance) else {
            return Err(AssemblyError::Change {
                what: format!("class of instance \"{instance}\""),
                found: "unknown instance".into(),
                expected: known,
            });
        };
        *entry = class.into();
        Ok(())
    }

    /// Sets a parameter, `KEY` or `PORT.KEY`, to a value in TOML's notation, or else to a text.
    ///
    /// # Errors
    /// No such instance; `PORT` is a parameter.
    pub fn set(&mut self, instance: &str, key: &str, value: &str) -> Result<(), AssemblyError> {
        if !self.instances.contains_key(instance) {
            return Err(AssemblyError::Change {
                what: format!("parameter \"{instance}.{key}\""),
                found: "unknown instance".into(),
                expected: crate::error::names(self.instances.keys()),
            });
        }
        // The value is read as the right side of a TOML line; a text that ends the line and begins
        // another would give two entries.
        let parsed = toml::from_str::<toml::Table>(&format!("value = {value}")).ok();
        let parsed = parsed
            .filter(|table| table.len() == 1)
            .and_then(|mut table| table.remove("value"));
        let parsed = parsed.unwrap_or_else(|| toml::Value::String(value.into()));
        let table = self.parameters.entry(instance.into()).or_default();
        match key.split_once('.') {
            Some((port_name, key)) => {
                let port = table
                    .entry(port_name)
                    .or_insert_with(|| toml::Value::Table(toml::Table::new()));
                let toml::Value::Table(port) = port else {
                    return Err(AssemblyError::Change {
                        what: format!("parameter \"{instance}.{port_name}.{key}\""),
                        found: format!("\"{port_name}\" is a parameter"),
                        expected: "a parameter port".into(),
                    });
                };
                port.insert(key.into(), parsed);
            }
            None => drop(table.insert(key.into(), parsed)),
        }
        Ok(())
    }

    /// Every parameter set: instance, `KEY` or `PORT.KEY`, value.
    pub fn parameter_settings(&self) -> Vec<(&str, String, &toml::Value)> {
        let mut settings = Vec::new();
        for (instance, table) in &self.parameters {
            for (key, value) in table {
                match value {
                    toml::Value::Table(port) => settings.extend(
                        port.iter()
                            .map(|(inner, value)| (&**instance, format!("{key}.{inner}"), value)),
                    ),
                    value => settings.push((instance, key.clone(), value)),
                }
            }
        }
        settings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
        [assembly]
        name = "shock"
        path = ["lib"]
        [instances]
        driver = "hydro.ShockDriver"
        [connections]
        "driver.mesh" = "mesh.mesh"
        [parameters.driver]
        end_time = 0.85
        [parameters.driver.more]
        steps = 3
        [go]
        port = "driver.go"
    "#;

    #[test]
    fn an_assembly_reads_and_writes_the_same() {
        let assembly: Assembly = toml::from_str(TEXT).unwrap();
        let again: Assembly = toml::from_str(&toml::to_string(&assembly).unwrap()).unwrap();
        assert_eq!(assembly, again);
        let keys: Vec<_> = assembly
            .parameter_settings()
            .into_iter()
            .map(|(_, key, _)| key)
            .collect();
        assert_eq!(keys, ["end_time", "more.steps"]);
    }

    #[test]
    fn changes_name_what_is_not_there() {
        let mut assembly: Assembly = toml::from_str(TEXT).unwrap();
        assembly.set("driver", "end_time", "0.5").unwrap();
        assembly.set("driver", "more.name", "a b").unwrap();
        assembly.replace("driver", "hydro.Other").unwrap();
        assert_eq!(
            assembly.parameters["driver"]["end_time"].as_float(),
            Some(0.5)
        );
        assert_eq!(
            assembly.parameters["driver"]["more"]["name"].as_str(),
            Some("a b")
        );
        let error = assembly.replace("drivr", "x").unwrap_err().to_string();
        assert_eq!(
            error,
            "cannot change class of instance \"drivr\": unknown instance, expected one of driver"
        );
    }

    #[test]
    fn an_unknown_key_and_a_bad_end_are_refused() {
        let wrong = TEXT.replace("[go]", "[start]");
        assert!(
            toml::from_str::<Assembly>(&wrong)
                .unwrap_err()
                .to_string()
                .contains("start")
        );
        let wrong = TEXT.replace("driver.go", "driver");
        assert!(
            toml::from_str::<Assembly>(&wrong)
                .unwrap_err()
                .to_string()
                .contains("INSTANCE.PORT")
        );
    }
}
