//! An rc script carried out without starting anything: what assembly it makes, and what is wrong with it.

use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};

use cca_core::rc::{Host, Interpreter, RcError, Script, Step};
use cca_core::{Assembly, AssemblyProblems, Endpoint};

use super::framework::Session;

/// What is wrong with a line of a script.
#[derive(Debug)]
pub struct AtLine {
    /// From 1.
    pub line: usize,
    /// What is wrong.
    pub error: RcError,
}

impl fmt::Display for AtLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.error)
    }
}

impl Error for AtLine {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.error.source()
    }
}

impl AtLine {
    /// Tells what is passed over.
    pub fn warn(&self) {
        eprintln!("warning: {self}; passed over");
    }
}

/// Starts nothing and shows nothing.
struct Looking;

impl Host for Looking {
    fn say(&mut self, _: &str) {}

    fn go(
        &mut self,
        interpreter: &Interpreter<'_>,
        start: &Endpoint,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        let Endpoint { instance, port } = start;
        let framework = interpreter.framework();
        Ok(framework.with_port::<dyn cca_ports::GoPort, _>(instance, port, |_| ())?)
    }
}

/// Where libraries are looked for until a script says otherwise: `CCA_COMPONENT_PATH`, else beside this program.
///
/// # Errors
/// The system does not say where this program is.
pub fn initial_path() -> anyhow::Result<Vec<PathBuf>> {
    let path = super::component_path();
    if path.is_empty() {
        return Ok(vec![super::own_folder()?]);
    }
    Ok(path)
}

/// The folder that a script's relative paths begin at.
pub fn folder(script: &Path) -> &Path {
    script.parent().unwrap_or(Path::new(""))
}

/// Name of the assembly that a script makes.
pub fn name(script: &Path) -> String {
    let stem = script.file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}

/// The assembly that a script makes. What is not understood is told and passed over, unless `strict`.
///
/// # Errors
/// The script cannot be read; [`AssemblyProblems`] with everything that is wrong.
pub fn assembly(
    path: &Path,
    replace: &[(String, String)],
    strict: bool,
) -> anyhow::Result<Assembly> {
    let script = Script::read(path)?;
    let session = Session::serial()?;
    let mut interpreter = Interpreter::new(&session.framework, initial_path()?, folder(path));
    for (instance, class) in replace {
        interpreter.replace(instance, class);
    }
    let mut problems: Vec<Box<dyn Error + Send + Sync>> = Vec::new();
    for line in script.commands() {
        match interpreter.line(line.text, &mut Looking) {
            Ok(Step::Next) => {}
            Ok(_) => break,
            Err(error) => {
                let at_line = AtLine {
                    line: line.number,
                    error,
                };
                if at_line.error.is_passed_over() && !strict {
                    at_line.warn();
                } else {
                    problems.push(at_line.into());
                }
            }
        }
    }
    let name = name(path);
    if problems.is_empty() {
        Ok(interpreter.assembly(&name))
    } else {
        Err(AssemblyProblems { name, problems }.into())
    }
}
