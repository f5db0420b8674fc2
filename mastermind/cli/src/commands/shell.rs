//! `mastermind shell`: the rc commands one by one, with history and completion where there is a terminal.

mod completion;

use std::error::Error;
use std::io::{self, BufRead, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, anyhow};
use cca_core::Endpoint;
use cca_core::rc::{Command, Continuation, Host, Interpreter, Script, Step};
use cca_ports::GoPort;
use clap::Args;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{CompletionType, Config, Editor};

use self::completion::Words;
use super::run::system;
use crate::destination::Force;
use crate::output;
use crate::session::framework::Session;
use crate::session::{default_path, script};

const PROMPT: &str = "cca> ";

/// Run the commands of rc scripts interactively.
#[derive(Args)]
#[command(
    after_help = "Example: mastermind shell examples/shock/shock.rc\n\nhelp lists the commands; save FILE.toml and save FILE.rc write what has been made; the tabulator completes commands, classes, instances and ports."
)]
pub struct Shell {
    /// A script to carry out first
    script: Option<PathBuf>,
    /// Where component libraries are looked for [default: CCA_COMPONENT_PATH, else those of this program]
    #[arg(long, value_name = "DIR")]
    path: Vec<PathBuf>,
    /// Allow commands of the system
    #[arg(long)]
    enable_shell: bool,
}

/// Shows and starts at once.
struct Terminal {
    enable_shell: bool,
}

impl Host for Terminal {
    fn say(&mut self, text: &str) {
        output::line(text);
    }

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
        Ok(framework.with_port::<dyn GoPort, _>(instance, port, |port| port.go())??)
    }

    fn shell(&mut self, line: &str) -> Option<Result<(), Box<dyn Error + Send + Sync>>> {
        self.enable_shell.then(|| system(line))
    }
}

impl Shell {
    /// Reads commands until there are no more.
    ///
    /// # Errors
    /// The script cannot be read; the terminal's.
    pub fn execute(self) -> anyhow::Result<ExitCode> {
        let path = if self.path.is_empty() {
            default_path()?
        } else {
            self.path.clone()
        };
        let session = Session::serial()?;
        let mut terminal = Terminal {
            enable_shell: self.enable_shell,
        };
        let mut failed = false;
        let mut interpreter = Interpreter::new(&session.framework, path, Path::new(""));
        if let Some(file) = &self.script {
            interpreter.set_folder(script::folder(file));
            for line in Script::read(file)?.commands() {
                // As in a run, a line that is not understood is skipped.
                let is_understood = match Command::parse(&line.text) {
                    Err(error) => !error.is_harmless(),
                    Ok(Command::Shell(_)) => self.enable_shell,
                    Ok(_) => true,
                };
                match carry_out(&mut interpreter, &line.text, &mut terminal, &session) {
                    Ok(Step::Next) => {}
                    Ok(Step::End) => break,
                    Ok(Step::Exit(code)) => return Ok(exit(code)),
                    Err(()) => failed |= is_understood,
                }
            }
            interpreter.set_folder(Path::new(""));
        }
        if io::stdin().is_terminal() {
            interpreter.set_verbose(true);
            return interactive(&mut interpreter, &mut terminal, &session);
        }
        let mut continuation = Continuation::default();
        for line in io::stdin().lock().split(b'\n') {
            let line = line.context("cannot read commands from standard input")?;
            let line = String::from_utf8_lossy(&line);
            let Some(line) = continuation.push(&line) else {
                continue;
            };
            match carry_out(&mut interpreter, &line, &mut terminal, &session) {
                Ok(Step::Next) => {}
                Ok(Step::End) => break,
                Ok(Step::Exit(code)) => return Ok(exit(code)),
                Err(()) => failed = true,
            }
        }
        Ok(ExitCode::from(u8::from(failed)))
    }
}

fn exit(code: i32) -> ExitCode {
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}

/// The command that writes the assembly. It is not a command of scripts, where its abbreviations have other meanings.
const SAVE: &str = "save";

/// Writes the present assembly, as a script if the file's name ends so, otherwise as an assembly file.
///
/// # Errors
/// The file exists; it cannot be written; a script cannot express it.
fn save(interpreter: &Interpreter<'_>, path: &Path) -> anyhow::Result<()> {
    let mut assembly = interpreter.assembly(&script::name(path));
    for entry in &mut assembly.assembly.path {
        // It is relative to this session's folder, not the file's.
        *entry = std::path::absolute(&entry).unwrap_or_else(|_| entry.clone());
    }
    let text = match Script::is_script(path) {
        true => Script::of_assembly(&assembly)?.to_string(),
        false => toml::to_string(&assembly).context("cannot write assembly: no TOML form")?,
    };
    let force = Force::default();
    force.check([Some(path)], false)?;
    force.write("assembly", path, text)
}

/// Carries a line out; an error is printed.
fn carry_out(
    interpreter: &mut Interpreter<'_>,
    line: &str,
    terminal: &mut Terminal,
    session: &Session,
) -> Result<Step, ()> {
    let words: Vec<_> = line.split_whitespace().collect();
    if let [SAVE, file] = words[..] {
        let saved = save(interpreter, Path::new(file)).map(|()| Step::Next);
        return saved
            .map_err(|error| crate::output::complain!("{}", crate::errors::worded(&error)));
    }
    let step = interpreter.line(line, terminal);
    session.progress.clear();
    step.map_err(|error| crate::output::complain!("{}", crate::errors::worded(&anyhow!(error))))
}

fn interactive(
    interpreter: &mut Interpreter<'_>,
    terminal: &mut Terminal,
    session: &Session,
) -> anyhow::Result<ExitCode> {
    let config = Config::builder()
        .auto_add_history(true)
        .completion_type(CompletionType::List)
        .build();
    let mut editor = Editor::<Words<'_>, FileHistory>::with_config(config)?;
    editor.set_helper(Some(Words(interpreter.framework())));
    let history = std::env::var_os("HOME").map(|home| Path::new(&home).join(".mastermind_history"));
    if let Some(history) = &history {
        // There is none the first time.
        let _ = editor.load_history(history);
    }
    let mut continuation = Continuation::default();
    let code = loop {
        match editor.readline(PROMPT) {
            Ok(part) => {
                let Some(line) = continuation.push(&part) else {
                    continue;
                };
                match carry_out(interpreter, &line, terminal, session) {
                    Ok(Step::Exit(code)) => break exit(code),
                    Ok(Step::End) => break ExitCode::SUCCESS,
                    Ok(Step::Next) | Err(()) => {}
                }
            }
            // The line is given up, not the session.
            Err(ReadlineError::Interrupted) => {}
            Err(ReadlineError::Eof) => break ExitCode::SUCCESS,
            Err(error) => return Err(error).context("cannot read commands from the terminal"),
        }
    };
    if let Some(history) = &history {
        // A history that cannot be kept is no reason to fail.
        let _ = editor.save_history(history);
    }
    Ok(code)
}
