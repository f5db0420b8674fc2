//! `mastermind new`: a component or an interface that builds, with its test.
//!
//! A component needs a build that fits the framework, a registration that the loader finds, and an
//! assembly to try it in. This verb writes a folder with all of them from templates: in Rust, C,
//! C++ or Fortran, for a component, an assembler (a component that builds others) or a port.
//! Headers and modules of the framework are compiled into this program and copied along, so a
//! folder in C builds without an installation.
//!
//! ```text
//! $ mastermind new component demo.Mean --language c
//! made demo_mean; next:
//!   cd demo_mean
//!   make test
//!   make
//!   mastermind check assembly.toml
//! ```
//!
//! Placeholders in templates are `@class@`, `@stem@` and the like (`values`). A Rust crate outside
//! the sources gets a copy of their `Cargo.lock`, because types that cross the border must come
//! from the same versions. The interface hash in the C templates is computed as `#[port]` does, so
//! that they fit the Rust template of the same name.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use cca_abi::hash_signature;
use clap::{Args, Subcommand, ValueEnum};

use crate::destination::Force;
use crate::errors::WrongUse;
use crate::output;
use crate::session::sources::FRAMEWORK;

/// Begin a component or a port.
#[derive(Args)]
#[command(after_help = "Example: mastermind new component demo.Solver --language c")]
pub struct New {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// A component class in a library of its own
    Component(Begin),
    /// A component class that makes, connects and starts others, in C, C++ or Fortran
    Assembler(Begin),
    /// An interface, for who provides it and who uses it
    Port(Begin),
}

/// The type of project to create.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subject {
    Component,
    Assembler,
    Port,
}

#[derive(Args)]
struct Begin {
    /// Its name, such as demo.Solver
    name: String,
    /// In which language
    #[arg(long, value_name = "LANGUAGE", default_value = "rust")]
    language: Language,
    /// The folder to make [default: after the name]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    #[command(flatten)]
    force: Force,
    /// The folder `framework` of the sources, for Rust [default: the one that this program was built from]
    #[arg(long, value_name = "DIR")]
    framework: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Language {
    Rust,
    C,
    /// C++.
    #[value(name = "cpp", alias = "c++")]
    Cpp,
    Fortran,
}

macro_rules! template {
    ($name:literal) => {
        include_str!(concat!("new/templates/", $name))
    };
}

/// The door for components in C.
pub const CCA_H: &str = include_str!("../../../../framework/abi/include/cca.h");

/// The framework for components in C, and classes over it in C++.
const CCA_FRAMEWORK_H: &str = include_str!("../../../../framework/abi/include/cca_framework.h");
const CCA_HPP: &str = include_str!("../../../../framework/abi/include/cca.hpp");

/// The framework for components in Fortran.
const CCA_FRAMEWORK_F90: &str = include_str!("../../../../framework/abi/include/cca_framework.f90");

pub(super) const CCA_F90: &str = include_str!("../../../../framework/abi/include/cca.f90");

/// A name in the forms that sources need.
#[derive(Debug, PartialEq, Eq)]
struct Names {
    /// `demo.Solver`.
    class: String,
    /// `Solver`.
    type_name: String,
    /// `demo_solver`.
    stem: String,
}

impl Names {
    fn of(name: &str) -> anyhow::Result<Self> {
        let good = name.split('.').all(|part| {
            part.starts_with(|c: char| c.is_ascii_alphabetic())
                && part
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
        });
        if !good {
            bail!(
                "cannot begin \"{name}\": bad name, expected letters, digits, - and _ in parts between dots, such as demo.Solver"
            );
        }
        let last = name.rsplit('.').next().unwrap_or(name);
        let words = last.split(['-', '_']).filter(|word| !word.is_empty());
        let capital = |word: &str| word[..1].to_ascii_uppercase() + &word[1..];
        let type_name: String = words.map(capital).collect();
        let class = match name.rsplit_once('.') {
            Some((package, _)) => format!("{package}.{type_name}"),
            None => format!("user.{type_name}"),
        };
        let stem = name.to_ascii_lowercase().replace(['.', '-'], "_");
        Ok(Names {
            class,
            type_name,
            stem,
        })
    }
}

impl New {
    /// Writes the files.
    ///
    /// # Errors
    /// A bad name; a folder that is there; one that cannot be written.
    pub fn execute(self) -> anyhow::Result<ExitCode> {
        let (begin, subject) = match &self.what {
            What::Component(begin) => (begin, Subject::Component),
            What::Assembler(begin) => (begin, Subject::Assembler),
            What::Port(begin) => (begin, Subject::Port),
        };
        let is_port = subject == Subject::Port;
        if subject == Subject::Assembler && begin.language == Language::Rust {
            bail!(WrongUse(
                "cannot begin assembler in Rust: a component in Rust uses cca.BuilderService, expected --language c, cpp or fortran"
            ));
        }
        let names = Names::of(&begin.name)?;
        let crate_name = names.stem.replace('_', "-") + if is_port { "-ports" } else { "" };
        let folder = begin
            .output
            .clone()
            .unwrap_or_else(|| match begin.language {
                Language::Rust => crate_name.clone().into(),
                _ => names.stem.clone().into(),
            });
        begin.force.check_folder(&folder)?;
        let place = match begin.language {
            Language::Rust => {
                CrateLocation::of(&folder, &FRAMEWORK.find(begin.framework.as_deref())?)?
            }
            _ => CrateLocation::default(),
        };
        if is_port && begin.language == Language::Fortran {
            bail!(WrongUse(
                "cannot begin port in Fortran: an interface is written in Rust or C, expected --language rust or c"
            ));
        }
        let values = values(&names, &crate_name, &place, begin.language);
        for (path, template) in files(subject, begin.language, &names.stem) {
            write(&folder.join(path), &filled(template, &values), begin.force)?;
        }
        if let Some(lock) = &place.lock {
            // With other versions of the shared dependencies, the library would not fit this program.
            fs::copy(lock, folder.join("Cargo.lock"))
                .with_context(|| format!("cannot copy \"{}\"", lock.display()))?;
        }
        output::line(next_steps(&folder, subject, begin.language));
        Ok(ExitCode::SUCCESS)
    }
}

fn write(path: &Path, text: &str, force: Force) -> anyhow::Result<()> {
    if let Some(folder) = path.parent() {
        let act = || format!("cannot make folder \"{}\"", folder.display());
        fs::create_dir_all(folder).with_context(act)?;
    }
    force.write("file", path, text)
}

fn filled(template: &str, values: &[(&'static str, String)]) -> String {
    let mut text = template.to_string();
    for (key, value) in values {
        text = text.replace(&format!("@{key}@"), value);
    }
    text
}

/// The manifest and the lock file of a crate of ports in a new folder.
pub struct PortCrate {
    /// `Cargo.toml`.
    pub manifest: String,
    /// Lock file with the versions to build with, so that its types are those of this program.
    pub lock: Option<PathBuf>,
}

impl PortCrate {
    /// # Arguments
    /// * `name` - of the crate
    /// * `folder` - of the crate, which does not exist yet
    /// * `framework` - the folder `framework` of the sources, if given
    ///
    /// # Errors
    /// The sources are not found.
    pub fn of(name: &str, folder: &Path, framework: Option<&Path>) -> anyhow::Result<Self> {
        let place = CrateLocation::of(folder, &FRAMEWORK.find(framework)?)?;
        let names = Names::of("demo.Port")?;
        let values = values(&names, name, &place, Language::Rust);
        Ok(PortCrate {
            manifest: filled(template!("port.toml"), &values),
            lock: place.lock,
        })
    }
}

/// The files of a folder, each with its template.
fn files(subject: Subject, language: Language, stem: &str) -> Vec<(String, &'static str)> {
    let files: &[(&str, &str)] = match (subject, language) {
        (Subject::Component | Subject::Assembler, Language::Rust) => &[
            ("Cargo.toml", template!("component.toml")),
            ("src/lib.rs", template!("component.rs.txt")),
            ("assembly.toml", template!("assembly.toml")),
        ],
        (Subject::Port, Language::Rust) => &[
            ("Cargo.toml", template!("port.toml")),
            ("src/lib.rs", template!("port.rs.txt")),
        ],
        (Subject::Component, Language::C) => &[
            ("STEM.c", template!("component.c.txt")),
            ("include/cca.h", CCA_H),
            ("test.c", template!("component_test.c.txt")),
            ("Makefile", template!("component.mk")),
            ("assembly.toml", template!("assembly.toml")),
        ],
        (Subject::Component, Language::Cpp) => &[
            ("STEM.cpp", template!("component.cpp.txt")),
            ("include/cca.h", CCA_H),
            ("include/cca_framework.h", CCA_FRAMEWORK_H),
            ("include/cca.hpp", CCA_HPP),
            ("test.c", template!("component_test.c.txt")),
            ("Makefile", template!("component_cpp.mk")),
            ("assembly.toml", template!("assembly.toml")),
        ],
        (Subject::Component, Language::Fortran) => &[
            ("STEM.f90", template!("component.f90.txt")),
            ("include/cca.f90", CCA_F90),
            ("include/cca.h", CCA_H),
            ("test.c", template!("component_test.c.txt")),
            ("Makefile", template!("component_f90.mk")),
            ("assembly.toml", template!("assembly.toml")),
        ],
        (Subject::Assembler, Language::C) => &[
            ("STEM.c", template!("assembler.c.txt")),
            ("include/cca.h", CCA_H),
            ("include/cca_framework.h", CCA_FRAMEWORK_H),
            ("Makefile", template!("assembler.mk")),
            ("assembly.toml", template!("assembly.toml")),
        ],
        (Subject::Assembler, Language::Cpp) => &[
            ("STEM.cpp", template!("assembler.cpp.txt")),
            ("include/cca.h", CCA_H),
            ("include/cca_framework.h", CCA_FRAMEWORK_H),
            ("include/cca.hpp", CCA_HPP),
            ("Makefile", template!("assembler_cpp.mk")),
            ("assembly.toml", template!("assembly.toml")),
        ],
        (Subject::Assembler, Language::Fortran) => &[
            ("STEM.f90", template!("assembler.f90.txt")),
            ("include/cca.f90", CCA_F90),
            ("include/cca_framework.f90", CCA_FRAMEWORK_F90),
            ("Makefile", template!("assembler_f90.mk")),
            ("assembly.toml", template!("assembly.toml")),
        ],
        (Subject::Port, _) => &[
            ("STEM.h", template!("port.h.txt")),
            ("include/cca.h", CCA_H),
            ("test.c", template!("port_test.c.txt")),
            ("Makefile", template!("port.mk")),
        ],
    };
    let named = |(path, template): &(&str, &'static str)| (path.replace("STEM", stem), *template);
    files.iter().map(named).collect()
}

/// Values for the placeholders of the templates.
fn values(
    names: &Names,
    crate_name: &str,
    place: &CrateLocation,
    language: Language,
) -> Vec<(&'static str, String)> {
    // As `#[port]` defines the interface of `port.rs.txt`.
    let signature = format!(
        "{} 1.0; compute(rule: Rule, values: RSlice<'_, f64>) -> f64",
        names.class
    );
    let path = match language {
        Language::Rust => &place.libraries,
        _ => ".",
    };
    let workspace = match place.is_member {
        true => "",
        false => "\n# Not a member of a workspace around it.\n[workspace]\n",
    };
    vec![
        ("crate", crate_name.into()),
        ("class", names.class.clone()),
        ("Type", names.type_name.clone()),
        ("stem", names.stem.clone()),
        ("GUARD", names.stem.to_ascii_uppercase()),
        ("framework", place.framework.clone()),
        ("workspace", workspace.into()),
        ("path", path.into()),
        ("hash", format!("{:016x}", hash_signature(&signature))),
        ("signature", signature),
    ]
}

/// The place of a Rust crate relative to the framework's sources.
#[derive(Debug, Default, PartialEq, Eq)]
struct CrateLocation {
    /// Path of the folder `framework`: relative within the sources, which may be moved, else absolute.
    framework: String,
    /// Path of the folder that libraries are built into.
    libraries: String,
    /// Whether the sources' workspace includes it as a member.
    is_member: bool,
    /// Lock file with the versions that the sources are built with, unless the crate is a member.
    lock: Option<PathBuf>,
}

impl CrateLocation {
    /// # Arguments
    /// * `folder` - the crate's, not there yet
    /// * `framework` - canonical
    fn of(folder: &Path, framework: &Path) -> anyhow::Result<Self> {
        let parent = std::path::absolute(folder)?;
        let parent = parent.parent().unwrap_or(Path::new("/"));
        let parent = parent.canonicalize().unwrap_or(parent.to_path_buf());
        let root = framework.parent().unwrap_or(framework);
        let inside = parent.strip_prefix(root).ok();
        // From the crate's own folder.
        let up = inside.map(|inside| "../".repeat(inside.components().count() + 1));
        // A crate in a folder that the workspace lists by a pattern becomes one of its members.
        let is_member = match inside {
            Some(inside) => has_member(root, &inside.join("*").display().to_string())?,
            None => false,
        };
        let lock = Some(root.join("Cargo.lock")).filter(|lock| !is_member && lock.is_file());
        Ok(CrateLocation {
            framework: match &up {
                Some(up) => format!("{up}framework"),
                None => framework.display().to_string(),
            },
            libraries: match &up {
                Some(up) if is_member => format!("{up}target/release"),
                _ => "target/release".into(),
            },
            is_member,
            lock,
        })
    }
}

/// Whether the workspace at a root has members by this pattern.
fn has_member(root: &Path, pattern: &str) -> anyhow::Result<bool> {
    let path = root.join("Cargo.toml");
    if !path.is_file() {
        return Ok(false);
    }
    let act = || format!("cannot read \"{}\"", path.display());
    let text = fs::read_to_string(&path).with_context(act)?;
    let manifest: toml::Table = toml::from_str(&text).with_context(act)?;
    let members = manifest
        .get("workspace")
        .and_then(|table| table.get("members"));
    let members = members.and_then(toml::Value::as_array);
    let is_it = |member: &toml::Value| member.as_str() == Some(pattern);
    Ok(members.is_some_and(|members| members.iter().any(is_it)))
}

fn next_steps(folder: &Path, subject: Subject, language: Language) -> String {
    let folder = folder.display();
    let commands = match (subject, language) {
        (Subject::Component | Subject::Assembler, Language::Rust) => {
            "cargo test\n  cargo build --release\n  mastermind check assembly.toml"
        }
        (Subject::Port, Language::Rust) => "cargo test",
        (Subject::Assembler, _) => "make\n  mastermind run assembly.toml",
        (Subject::Component, _) => "make test\n  make\n  mastermind check assembly.toml",
        (Subject::Port, _) => "make test",
    };
    format!("made {folder}; next:\n  cd {folder}\n  {commands}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_the_forms_that_sources_need() {
        let names = Names::of("demo.fast-solver").unwrap();
        assert_eq!(names.class, "demo.FastSolver");
        assert_eq!(names.type_name, "FastSolver");
        assert_eq!(names.stem, "demo_fast_solver");
        assert_eq!(Names::of("solver").unwrap().class, "user.Solver");
        for wrong in ["", "1st", "a b", "a..b", "a/b", "é"] {
            assert!(Names::of(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn templates_leave_nothing_open() {
        let names = Names::of("demo.Solver").unwrap();
        for (subject, language) in [
            (Subject::Component, Language::Rust),
            (Subject::Port, Language::Rust),
            (Subject::Component, Language::C),
            (Subject::Port, Language::C),
            (Subject::Component, Language::Cpp),
            (Subject::Component, Language::Fortran),
            (Subject::Assembler, Language::C),
            (Subject::Assembler, Language::Cpp),
            (Subject::Assembler, Language::Fortran),
        ] {
            let values = values(&names, "demo-solver", &CrateLocation::default(), language);
            for (path, template) in files(subject, language, "demo_solver") {
                let text = filled(template, &values);
                assert!(
                    !text.contains('@') || text.contains("-o $@"),
                    "{path}:\n{text}"
                );
            }
        }
    }

    #[test]
    fn a_crate_among_the_sources_is_one_of_them() {
        let sources = tempfile::tempdir().unwrap();
        let root = sources.path().canonicalize().unwrap();
        let framework = root.join("framework");
        fs::create_dir_all(root.join("components/near")).unwrap();
        let manifest = "[workspace]\nmembers = [\"framework/*\", \"components/*\"]\n";
        fs::write(root.join("Cargo.toml"), manifest).unwrap();
        fs::write(root.join("Cargo.lock"), "").unwrap();
        let place = |folder: &str| CrateLocation::of(&root.join(folder), &framework).unwrap();
        let member = CrateLocation {
            framework: "../../framework".into(),
            libraries: "../../target/release".into(),
            is_member: true,
            lock: None,
        };
        assert_eq!(place("components/solver"), member);
        let aside = CrateLocation {
            framework: "../framework".into(),
            libraries: "target/release".into(),
            is_member: false,
            lock: Some(root.join("Cargo.lock")),
        };
        assert_eq!(place("solver"), aside);
        assert_eq!(
            place("components/near/solver").framework,
            "../../../framework"
        );
        let elsewhere = tempfile::tempdir().unwrap();
        let place = CrateLocation::of(&elsewhere.path().join("solver"), &framework).unwrap();
        assert_eq!(place.framework, framework.display().to_string());
        assert!(!place.is_member);
    }
}
