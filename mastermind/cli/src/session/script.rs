//! An rc script carried out without starting anything: what assembly it makes, and what is wrong with it.

use std::error::Error;
use std::fmt;
use std::path::Path;

use cca_core::rc::{Host, Interpreter, RcError, Script, Step};
use cca_core::{Assembly, AssemblyProblems, Endpoint};

use super::framework::Session;
use super::{Problems, apply, default_path};

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
        crate::output::complain!("warning: {self}; passed over");
    }
}

/// Starts nothing and shows nothing; what it makes of a script is as it was at the first `go`.
struct Looking<'a> {
    name: &'a str,
    set: &'a [(String, String)],
    /// Whether the wiring is judged at each `go`.
    judge: bool,
    started: Option<Assembly>,
    changes: Problems,
}

impl Host for Looking<'_> {
    fn say(&mut self, _: &str) {}

    fn warn(&mut self, text: &str) {
        crate::output::complain!("warning: {text}");
    }

    fn go(
        &mut self,
        interpreter: &Interpreter<'_>,
        start: &Endpoint,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        let Endpoint { instance, port } = start;
        let framework = interpreter.framework();
        framework.with_port::<dyn cca_ports::GoPort, _>(instance, port, |_| ())?;
        let mut assembly = interpreter.assembly(self.name);
        if self.started.is_none() {
            self.changes = apply(&mut assembly, &[], self.set);
            for (instance, key, value) in assembly.parameter_settings() {
                let set = framework.set_parameter(instance, &key, value);
                self.changes.extend(set.err().map(Into::into));
            }
        }
        let problems = match self.judge {
            true => framework.problems_of_wiring(&assembly),
            false => Problems::new(),
        };
        self.started.get_or_insert(assembly);
        if problems.is_empty() {
            return Ok(());
        }
        let name = self.name.into();
        Err(AssemblyProblems { name, problems }.into())
    }
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

/// What a script makes, and what is wrong with it.
pub struct Trial {
    /// The assembly as it is at the first `go`; at the end, if there is none.
    pub assembly: Assembly,
    /// Lines that fail, and changes that cannot be made.
    pub problems: Problems,
}

/// Carries a script out without starting anything. What is not understood is told and passed over, unless `strict`.
///
/// # Arguments
/// * `judge` - whether connections that are missing at a `go` are a problem. Nothing is, of a script that starts nothing
///
/// # Errors
/// The script cannot be read.
pub fn try_out(
    path: &Path,
    replace: &[(String, String)],
    set: &[(String, String)],
    strict: bool,
    judge: bool,
) -> anyhow::Result<Trial> {
    let script = Script::read(path)?;
    let session = Session::serial()?;
    let mut interpreter = Interpreter::new(&session.framework, default_path()?, folder(path));
    for (instance, class) in replace {
        interpreter.replace(instance, class);
    }
    let name = name(path);
    let mut looking = Looking {
        name: &name,
        set,
        judge,
        started: None,
        changes: Problems::new(),
    };
    let mut problems = Problems::new();
    for line in script.commands() {
        match interpreter.line(&line.text, &mut looking) {
            Ok(Step::Next) => {}
            Ok(_) => break,
            Err(error) => {
                let at_line = AtLine {
                    line: line.number,
                    error,
                };
                if at_line.error.is_harmless() && !strict {
                    at_line.warn();
                } else {
                    problems.push(at_line.into());
                }
            }
        }
    }
    problems.append(&mut looking.changes);
    let assembly = looking.started.unwrap_or_else(|| {
        let mut assembly = interpreter.assembly(&name);
        problems.extend(apply(&mut assembly, &[], set));
        assembly
    });
    Ok(Trial { assembly, problems })
}
