//! `mastermind proxy FILE.sidl`: ports in Rust, C and Fortran, each with the proxy that measures
//! its calls.
//!
//! SIDL is the interface language of CCA; existing components are described in it. From one file
//! the generator writes the same interface in three languages, all with the same hash, so that a
//! component in Fortran connects to one in Rust. The three outputs differ in what a user does with
//! them: a Rust crate is a dependency, the C source is compiled into a component, and the Fortran
//! module calls that C source.
//!
//! ```text
//! $ mastermind proxy solver.sidl -o solver-ports
//! solver-ports/rust/     Cargo.toml, src/lib.rs: #[port] traits
//! solver-ports/c/        solver_ports.h, solver_ports.c, cca.h, …
//! solver-ports/fortran/  solver_ports.f90, cca.f90
//! ```
//!
//! Without `--source-only` the C source is compiled once for syntax, so a mistake appears here
//! instead of in a user's build. Interfaces that cannot be expressed are listed as left out, with
//! the reason.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::ValueEnum;
use proxy_generate::sidl::{Library, SidlFile, read};
use serde::Serialize;

use super::super::new::{CCA_F90, CCA_H, PortCrate};
use super::{HEADERS, Proxy, run};
use crate::destination::is_standard_output;
use crate::errors::WrongUse;
use crate::output;

/// Header that the source in C includes, in addition to `cca.h` and `cca_recording.h`.
pub(super) const CCA_PORT_PROXY_H: &str =
    include_str!("../../../../../framework/abi/include/cca_port_proxy.h");

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Language {
    Rust,
    C,
    Fortran,
}

/// The generated files, for `--json`.
#[derive(Serialize)]
struct GeneratedFiles {
    ports: Vec<String>,
    rust: Option<PathBuf>,
    c: Option<PathBuf>,
    fortran: Option<PathBuf>,
    left_out: Vec<LeftOut>,
}

#[derive(Serialize)]
struct LeftOut {
    name: String,
    reason: String,
}

/// Whether the argument names a file of SIDL.
pub fn is_sidl(name: &str) -> bool {
    let ending = Path::new(name).extension();
    ending.is_some_and(|ending| ending.eq_ignore_ascii_case("sidl"))
}

/// The text of a file.
fn text_of(path: &Path) -> anyhow::Result<String> {
    let act = || format!("cannot read SIDL \"{}\"", path.display());
    let bytes = fs::read(path).with_context(act)?;
    // Comments of old files are in any encoding.
    Ok(String::from_utf8(bytes).unwrap_or_else(|error| {
        error
            .into_bytes()
            .iter()
            .map(|byte| char::from(*byte))
            .collect()
    }))
}

impl Proxy {
    /// Writes the ports of a file of SIDL.
    ///
    /// # Errors
    /// It is not SIDL, or defines no port; the files cannot be written; the C compiler refuses the generated source.
    pub(super) fn make_ports(&self) -> anyhow::Result<ExitCode> {
        if self.markup.is_some() || self.suggest_markup {
            bail!(WrongUse(
                "cannot use a mark-up with SIDL: its comments hold it, expected @perf NAME=EXPRESSION there"
            ));
        }
        if is_standard_output(&self.output) {
            bail!(
                "cannot make ports of \"{}\": no folder, expected one; use -o DIR",
                self.header
            );
        }
        let library = self.read_sidl()?;
        if library.ports.is_empty() {
            let reasons: Vec<_> = library
                .left
                .iter()
                .map(|left| format!("{}: {}", left.name, left.reason))
                .collect();
            bail!(
                "cannot make ports of \"{}\": no interface with a method, expected one{}{}",
                self.header,
                if reasons.is_empty() { "" } else { "; " },
                reasons.join("; ")
            );
        }
        let stem = Path::new(&self.header)
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let wanted = |language| self.language.is_none_or(|only| only == language);
        let rust = if wanted(Language::Rust) {
            self.write_rust(&library, &stem)?
        } else {
            None
        };
        // Fortran's module is linked with the source in C.
        let c = match wanted(Language::C) || wanted(Language::Fortran) {
            true => Some(self.write_c(&library, &stem)?),
            false => None,
        };
        let fortran = match wanted(Language::Fortran) {
            true => Some(self.write_fortran(&library, &stem)?),
            false => None,
        };
        let made = GeneratedFiles {
            ports: library.ports.iter().map(|port| port.name.clone()).collect(),
            rust,
            c,
            fortran,
            left_out: library
                .left
                .into_iter()
                .map(|left| LeftOut {
                    name: left.name,
                    reason: left.reason,
                })
                .collect(),
        };
        self.print_ports(&made)?;
        Ok(ExitCode::SUCCESS)
    }

    fn read_sidl(&self) -> anyhow::Result<Library> {
        let own = Path::new(&self.header);
        let text = text_of(own)?;
        let canonical = own.canonicalize().ok();
        let mut others = Vec::new();
        for folder in &self.include {
            let act = || format!("cannot read folder \"{}\"", folder.display());
            let mut paths = Vec::new();
            for entry in fs::read_dir(folder).with_context(act)? {
                paths.push(entry.with_context(act)?.path());
            }
            paths.sort();
            for path in paths {
                let name = path.display().to_string();
                if is_sidl(&name) && path.canonicalize().ok() != canonical {
                    others.push((name, text_of(&path)?));
                }
            }
        }
        let others: Vec<_> = others
            .iter()
            .map(|(name, text)| SidlFile { name, text })
            .collect();
        let name = own.file_name().unwrap_or_default().to_string_lossy();
        let file = SidlFile {
            name: &name,
            text: &text,
        };
        Ok(read(file, &others)?)
    }

    /// Writes the crate; none if Rust was not requested and the framework's sources are missing.
    fn write_rust(&self, library: &Library, stem: &str) -> anyhow::Result<Option<PathBuf>> {
        let folder = self.output.join("rust");
        let name = format!(
            "{}-ports",
            stem.to_lowercase().replace(['_', '.', ' '], "-")
        );
        let made = match PortCrate::of(&name, &folder, self.framework.as_deref()) {
            Ok(made) => made,
            Err(error) if self.language.is_none() && self.framework.is_none() => {
                output::message(&format!("warning: no ports in Rust: {error:#}\n"));
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        self.write_file(&folder, "Cargo.toml", &made.manifest)?;
        self.write_file(&folder.join("src"), "lib.rs", &library.rust())?;
        if let Some(lock) = &made.lock {
            fs::copy(lock, folder.join("Cargo.lock"))
                .with_context(|| format!("cannot copy \"{}\"", lock.display()))?;
        }
        Ok(Some(folder))
    }

    fn write_c(&self, library: &Library, stem: &str) -> anyhow::Result<PathBuf> {
        let folder = self.output.join("c");
        let made = library.c(stem);
        let file = made.file_stem;
        self.write_file(&folder, &format!("{file}_ports.h"), &made.header)?;
        self.write_file(&folder, &format!("{file}_ports.c"), &made.source)?;
        let headers = HEADERS
            .iter()
            .filter(|(name, _)| *name == "cca_recording.h")
            .copied();
        for (name, text) in
            headers.chain([("cca.h", CCA_H), ("cca_port_proxy.h", CCA_PORT_PROXY_H)])
        {
            self.write_common(&folder, name, text)?;
        }
        if !self.source_only {
            let source = folder.join(format!("{file}_ports.c"));
            let mut command = self.compiler(&[]);
            command.args(["-fsyntax-only", "-fPIC"]).arg(&source);
            run(&mut command, "").with_context(|| {
                format!(
                    "cannot compile \"{}\"; --source-only leaves it",
                    source.display()
                )
            })?;
        }
        Ok(folder)
    }

    fn write_fortran(&self, library: &Library, stem: &str) -> anyhow::Result<PathBuf> {
        let folder = self.output.join("fortran");
        let file = library.c(stem).file_stem;
        let module = library.fortran(stem);
        self.write_file(&folder, &format!("{file}_ports.f90"), &module)?;
        self.write_common(&folder, "cca.f90", CCA_F90)?;
        Ok(folder)
    }

    /// Writes a file that is the same for all ports of a folder.
    pub(super) fn write_common(&self, folder: &Path, name: &str, text: &str) -> anyhow::Result<()> {
        match fs::read_to_string(folder.join(name)).ok().as_deref() == Some(text) {
            true => Ok(()),
            false => self.write_file(folder, name, text),
        }
    }

    pub(super) fn write_file(&self, folder: &Path, name: &str, text: &str) -> anyhow::Result<()> {
        fs::create_dir_all(folder)
            .with_context(|| format!("cannot make folder \"{}\"", folder.display()))?;
        self.force.write("file", &folder.join(name), text)
    }

    fn print_ports(&self, made: &GeneratedFiles) -> anyhow::Result<()> {
        if self.json {
            return output::json(made);
        }
        output::line(format!("{}: {} ports", self.header, made.ports.len()));
        for port in &made.ports {
            output::line(format!("  {port}"));
        }
        for left in &made.left_out {
            output::line(format!("  left out: {}: {}", left.name, left.reason));
        }
        if let Some(rust) = &made.rust {
            output::line(format!(
                "Rust: {}, a crate that components depend on",
                rust.display()
            ));
        }
        if let Some(c) = &made.c {
            output::line(format!(
                "C: {}, whose source is compiled with a component",
                c.display()
            ));
        }
        if let Some(fortran) = &made.fortran {
            output::line(format!(
                "Fortran: {}, compiled in this order: cca.f90, the module, a component; linked with the source in C",
                fortran.display()
            ));
        }
        Ok(())
    }
}
