//! An rc script carried out without starting anything: the assembly it makes, and the lines that fail.
//!
//! One rule for `check`, `run`, `graph`, `choose` and `plan`: a script is a list of attempts, and a line fails if it
//! fails in `run`. The effects of a component inside `go` are not known here. So a line that fails only because a `go`
//! was skipped is a doubt, which is reported as a warning: the components that a skipped `go` reaches may have made or
//! removed ports, parameters and connections of their own, and one with a port to the framework (`cca.BuilderService`
//! and its like) anything at all.
//!
//! ```text
//! create s            the instance is made
//! go s go             skipped; s may have ports now that it did not have before
//! config s PP_1 ALL   a doubt
//! config s2 PP_1 ALL  an error: there is no s2, and s cannot make one
//! ```
//!
//! # Decisions
//!
//! An rc script is a list of attempts, as in Ccaffeine: a failure is reported and the next line follows, on all ranks
//! alike. A line that fails on some ranks only ends the run, since they are no longer in the same state. `check`,
//! `graph`, `choose` and `plan` carry out the lines without starting anything (`cli/src/session/script.rs`): a line
//! that fails only because of a skipped `go` is a doubt. After a `go` the ranks agree on how many of them it failed by
//! messages of their own (`session/agreement.rs`), since a component may have left a collective operation half-way. The
//! possible swaps of `run --adapt` are known before the first line (`cli/src/commands/run/script/adapting.rs`).

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt;
use std::path::Path;

use anyhow::{anyhow, bail};
use cca_core::rc::{Command, Host, Interpreter, RcError, Script, Step};
use cca_core::{Assembly, AssemblyProblems, Endpoint, Framework, FrameworkError};

use super::framework::Session;
use super::{Problems, apply, default_path};

/// Interfaces of the framework through which a component changes instances, connections or classes that are not its own.
const CHANGES_OTHERS: [&str; 6] = [
    "cca.PlainFramework",
    "cca.BuilderService",
    "cca.AbstractFramework",
    "cca.ReplacementService",
    "cca.ServiceRegistry",
    "cca.ComponentRepository",
];

/// An error in a line of a script.
#[derive(Debug)]
pub struct AtLine {
    /// From 1.
    pub line: usize,
    /// The error.
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
    /// Warns that the line is skipped.
    pub fn warn(&self) {
        crate::output::complain!("warning: {self}; passed over");
    }
}

/// Options for the trial of a script.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// Other classes for instances.
    pub replace: &'a [(String, String)],
    /// Parameters set at the first `go`.
    pub set: &'a [(String, String)],
    /// Whether lines that are not understood are a problem.
    pub strict: bool,
    /// Line after which the assembly is taken, from 1 [default: the last `go`].
    pub at: Option<usize>,
}

/// Where in a script an assembly was taken.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct ScriptPosition {
    /// Line, from 1.
    pub line: usize,
    /// The line.
    pub command: String,
    /// Number of `go` in the whole script.
    pub starts: usize,
}

impl fmt::Display for ScriptPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ScriptPosition {
            line,
            command,
            starts,
        } = self;
        write!(f, "as at line {line}, {command}; ")?;
        match starts {
            1 => write!(f, "1 start in the script"),
            n => write!(f, "{n} starts in the script"),
        }
    }
}

/// The assembly that a script makes, and its problems.
pub struct Trial {
    /// The assembly at the place.
    pub assembly: Assembly,
    /// The line where the assembly was taken; `None` at the end of a script that starts nothing.
    pub place: Option<ScriptPosition>,
    /// Lines that fail, and changes that cannot be made.
    pub problems: Problems,
    /// Ignored lines, and possible errors.
    pub warnings: Vec<String>,
}

impl Trial {
    /// Reports ignored lines.
    ///
    /// # Errors
    /// With `strict`, a line fails.
    pub fn reported(self, strict: bool) -> anyhow::Result<(Assembly, Option<ScriptPosition>)> {
        if strict && !self.problems.is_empty() {
            let name = self.assembly.assembly.name;
            let problems = self.problems;
            return Err(AssemblyProblems { name, problems }.into());
        }
        self.warn();
        for problem in self.problems {
            let problem =
                anyhow::Error::from_boxed(problem).context("a line of the script is passed over");
            crate::output::complain!("{}", crate::errors::warning(&problem).trim_end());
        }
        Ok((self.assembly, self.place))
    }

    /// Prints the warnings.
    pub fn warn(&self) {
        for warning in &self.warnings {
            crate::output::complain!("warning: {warning}");
        }
    }
}

/// Instances whose ports, parameters and connections are unknown, because components were not started.
#[derive(Default)]
struct Unknown {
    instances: BTreeSet<String>,
    /// Anything may have been changed.
    all: bool,
}

impl Unknown {
    /// A `go` of an instance is passed over.
    fn add_start(&mut self, framework: &Framework, instance: &str) {
        for name in framework.reachable(instance) {
            let uses = framework.instance(&name).map(|info| info.uses);
            self.all |= uses.unwrap_or_default().iter().any(|port| {
                let interface = port.interface.name.as_str();
                CHANGES_OTHERS.contains(&interface)
            });
            self.instances.insert(name);
        }
    }

    /// A line that may or may not fail: the same holds for following lines that name the same instances.
    fn add_line(&mut self, framework: &Framework, line: &str) {
        for word in line.split_whitespace() {
            if framework.component_id(word).is_ok() {
                self.instances.insert(word.into());
            }
        }
    }

    /// Whether a component that was not started may have made the line succeed.
    fn covers(&self, error: &RcError) -> bool {
        let of_framework = match error {
            RcError::Framework(error) => Some(error),
            RcError::Host { source, .. } => source.downcast_ref(),
            _ => None,
        };
        match (error, of_framework) {
            (RcError::NotLoaded { .. } | RcError::UnknownClass { .. }, _) => self.all,
            (
                _,
                Some(
                    FrameworkError::PortNotDefined { instance, .. }
                    | FrameworkError::NotConnected { instance, .. }
                    | FrameworkError::AlreadyConnected { instance, .. },
                ),
            ) => self.all || self.instances.contains(instance),
            // The parameter exists, so its value is wrong.
            (
                _,
                Some(FrameworkError::Parameter {
                    instance, found, ..
                }),
            ) => found == "unknown" && (self.all || self.instances.contains(instance)),
            (
                _,
                Some(
                    FrameworkError::UnknownInstance { .. }
                    | FrameworkError::InstanceExists { .. }
                    | FrameworkError::UnknownClass { .. },
                ),
            ) => self.all,
            _ => false,
        }
    }
}

/// Starts nothing and shows nothing.
struct Looking<'a> {
    name: &'a str,
    options: Options<'a>,
    /// The line that is carried out.
    line: usize,
    /// Lines with a `go` that `run` would make.
    starts: Vec<usize>,
    /// The line whose `go` the assembly is taken at.
    wanted: Option<usize>,
    taken: Option<Assembly>,
    unknown: Unknown,
    /// Uses ports that were reported.
    unconnected: BTreeSet<(String, String)>,
    changes: Problems,
    warnings: Vec<String>,
}

impl Host for Looking<'_> {
    fn say(&mut self, _: &str) {}

    fn warn(&mut self, text: &str) {
        self.warnings.push(text.into());
    }

    fn go(
        &mut self,
        interpreter: &Interpreter<'_>,
        start: &Endpoint,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        let Endpoint { instance, port } = start;
        let framework = interpreter.framework();
        framework.with_port::<dyn cca_ports::GoPort, _>(instance, port, |_| ())?;
        if self.starts.is_empty() && !self.options.set.is_empty() {
            let mut assembly = interpreter.assembly(self.name);
            self.changes = apply(&mut assembly, &[], self.options.set);
            for (instance, key, value) in assembly.parameter_settings() {
                let set = framework.set_parameter(instance, &key, value);
                self.changes.extend(set.err().map(Into::into));
            }
        }
        self.starts.push(self.line);
        if self.wanted == Some(self.line) {
            let mut assembly = interpreter.assembly(self.name);
            if let Some(go) = &mut assembly.go {
                go.port = start.clone();
            }
            self.taken = Some(assembly);
        }
        let wiring = framework.wiring_from(instance);
        for (instance, port, interface) in wiring.unconnected {
            // Connections that a component may have made in an earlier `go` are not known.
            let is_new = self.unconnected.insert((instance.clone(), port.clone()));
            if is_new && !self.unknown.instances.contains(&instance) {
                self.warnings.push(format!(
                    "line {}: uses port \"{port}\" of \"{instance}\" is unconnected, expected a provider of \"{interface}\" if it is \
                     called",
                    self.line
                ));
            }
        }
        if let Some(cycle) = wiring.go_cycle {
            self.warnings.push(format!("line {}: {cycle}", self.line));
        }
        self.unknown.add_start(framework, instance);
        Ok(())
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

/// Carries a script out without starting anything. Nothing is printed.
///
/// # Errors
/// The script cannot be read; there is no such line in it.
pub fn try_out(path: &Path, options: Options<'_>) -> anyhow::Result<Trial> {
    let script = Script::read(path)?;
    if let Some(at) = options.at
        && script.commands().all(|line| line.number < at)
    {
        bail!(
            "cannot take the assembly of \"{}\" at line {at}: no command there or later, expected a line of the script",
            path.display()
        );
    }
    let wanted = options.at.or_else(|| last_go(&script));
    let first = attempt(path, &script, options, wanted)?;
    match first {
        Attempt::Whole(trial) => Ok(*trial),
        // The line that looks like the last start fails, or is not reached.
        Attempt::At(line) => match attempt(path, &script, options, Some(line))? {
            Attempt::Whole(trial) => Ok(*trial),
            Attempt::At(_) => bail!(
                "cannot carry out script \"{}\": line {line} started something once and not again, expected the same twice",
                path.display()
            ),
        },
    }
}

/// The line of the last `go`, as it reads.
fn last_go(script: &Script) -> Option<usize> {
    let mut last = None;
    for line in script.commands() {
        match Command::parse(&line.text) {
            Ok(Command::Go(..)) => last = Some(line.number),
            Ok(Command::Exit(_) | Command::Eof) => break,
            _ => {}
        }
    }
    last
}

/// A script carried out.
enum Attempt {
    /// With the requested assembly.
    Whole(Box<Trial>),
    /// The last start is at this line, and the assembly was not taken there.
    At(usize),
}

fn attempt(
    path: &Path,
    script: &Script,
    options: Options<'_>,
    wanted: Option<usize>,
) -> anyhow::Result<Attempt> {
    let session = Session::serial()?;
    let mut interpreter = Interpreter::new(&session.framework, default_path()?, folder(path));
    for (instance, class) in options.replace {
        interpreter.replace(instance, class);
    }
    let name = name(path);
    let mut looking = Looking {
        name: &name,
        options,
        line: 0,
        starts: Vec::new(),
        wanted,
        taken: None,
        unknown: Unknown::default(),
        unconnected: BTreeSet::new(),
        changes: Problems::new(),
        warnings: Vec::new(),
    };
    let mut problems = Problems::new();
    let mut at = None;
    for line in script.commands() {
        if let Some(wanted) = options.at
            && line.number > wanted
            && at.is_none()
        {
            at = Some(interpreter.assembly(&name));
        }
        looking.line = line.number;
        match interpreter.line(&line.text, &mut looking) {
            Ok(Step::Next) => {}
            Ok(_) => break,
            Err(error) => {
                let is_doubt = looking.unknown.covers(&error);
                let is_harmless = error.is_harmless() && !options.strict;
                let at_line = AtLine {
                    line: line.number,
                    error,
                };
                if is_doubt {
                    let framework = &session.framework;
                    looking.unknown.add_line(framework, &line.text);
                    if let Ok(Command::Go(instance, _)) = Command::parse(&line.text) {
                        looking.unknown.add_start(framework, &instance);
                    }
                    let starts = lines(&looking.starts);
                    looking.warnings.push(format!(
                        "{:#}; unless what {starts} started has changed that",
                        anyhow!(at_line)
                    ));
                } else if is_harmless {
                    looking.warnings.push(format!("{at_line}; passed over"));
                } else {
                    problems.push(at_line.into());
                }
            }
        }
    }
    if looking.taken.is_none()
        && options.at.is_none()
        && let Some(last) = looking.starts.last()
    {
        return Ok(Attempt::At(*last));
    }
    problems.append(&mut looking.changes);
    let shown = options.at.or(looking.starts.last().copied());
    let place = shown.and_then(|at| {
        let line = script.commands().filter(|line| line.number <= at).last()?;
        Some(ScriptPosition {
            line: line.number,
            command: line.text.into_owned(),
            starts: looking.starts.len(),
        })
    });
    let taken = looking.taken.or(at);
    let mut assembly = taken.unwrap_or_else(|| interpreter.assembly(&name));
    let changes = apply(&mut assembly, &[], options.set);
    if looking.starts.is_empty() {
        problems.extend(changes);
    }
    assembly.alternatives = script.alternatives()?;
    Ok(Attempt::Whole(Box::new(Trial {
        assembly,
        place,
        problems,
        warnings: looking.warnings,
    })))
}

/// `line 3`, `lines 3 and 7`, `lines 3 to 9`.
fn lines(lines: &[usize]) -> String {
    match lines {
        [] => "nothing".into(),
        [line] => format!("line {line}"),
        [first, second] => format!("lines {first} and {second}"),
        [first, .., last] => format!("lines {first} to {last}"),
    }
}
