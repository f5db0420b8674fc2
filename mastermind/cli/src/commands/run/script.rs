//! An rc script run line by line.

use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, anyhow};
use cca_core::rc::{Host, Interpreter, RcError, Script, Step};
use cca_core::{Assembly, Endpoint};
use mastermind_component::Mastermind;

use super::{Run, start, tell_counters, tell_done};
use crate::output;
use crate::session::framework::Session;
use crate::session::recording::Instruments;
use crate::session::script::{AtLine, folder, initial_path, name};
use crate::session::{MAIN, apply, connect_main};

/// Starts what a script says, recorded from the first `go` on.
struct Running<'a> {
    run: &'a Run,
    session: &'a Session,
    instruments: Option<&'a Instruments>,
    mastermind: Option<Arc<Mastermind>>,
    has_started: bool,
}

impl Host for Running<'_> {
    fn say(&mut self, text: &str) {
        if self.session.rank == 0 {
            output::line(text);
        }
    }

    fn go(
        &mut self,
        interpreter: &Interpreter<'_>,
        endpoint: &Endpoint,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        let mut assembly = interpreter.assembly(&name(&self.run.assembly));
        if let Some(go) = &mut assembly.go {
            go.port = endpoint.clone();
        }
        self.start(&assembly)?;
        Ok(())
    }

    fn shell(&mut self, line: &str) -> Option<Result<(), Box<dyn Error + Send + Sync>>> {
        self.run.enable_shell.then(|| system(line))
    }
}

impl Running<'_> {
    fn start(&mut self, assembly: &Assembly) -> anyhow::Result<()> {
        let session = self.session;
        let started = Instant::now();
        if !self.has_started {
            session.together(self.set(assembly))?;
        }
        let go = connect_main(session, assembly);
        let go = session.together(go.and_then(|go| go.context("the instance is not there")))?;
        if !self.has_started {
            self.mastermind = self.run.record(session, assembly, self.instruments)?;
        }
        self.has_started = true;
        start(session, &go, assembly)?;
        if session.rank == 0 {
            tell_counters(session, assembly)?;
            tell_done(session, assembly, started);
        }
        drop(go);
        Ok(session.framework.release_services(MAIN)?)
    }

    /// Parameters that the options say otherwise.
    fn set(&self, assembly: &Assembly) -> anyhow::Result<()> {
        let mut changes = Assembly {
            instances: assembly.instances.clone(),
            ..Assembly::default()
        };
        if let Some(problem) = apply(&mut changes, &[], &self.run.set).pop() {
            return Err(anyhow::Error::from_boxed(problem));
        }
        for (instance, key, value) in changes.parameter_settings() {
            self.session
                .framework
                .set_parameter(instance, &key, value)?;
        }
        Ok(())
    }
}

/// Has the system run a line.
///
/// # Errors
/// It cannot, or the line failed.
pub fn system(line: &str) -> Result<(), Box<dyn Error + Send + Sync>> {
    let status = std::process::Command::new("sh").args(["-c", line]).status();
    let status = status?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{status}, expected success").into())
    }
}

impl Run {
    /// Carries a script out, line by line; what is not understood is told and passed over, unless strict.
    ///
    /// # Errors
    /// It cannot be read; what it starts fails.
    pub(super) fn execute_script(
        &self,
        session: Session,
        instruments: Option<&Instruments>,
    ) -> anyhow::Result<ExitCode> {
        let script = session.together(Script::read(&self.assembly).map_err(Into::into))?;
        let mut running = Running {
            run: self,
            session: &session,
            instruments,
            mastermind: None,
            has_started: false,
        };
        let folder = folder(&self.assembly);
        let mut interpreter = Interpreter::new(&session.framework, initial_path()?, folder);
        for (instance, class) in &self.replace {
            interpreter.replace(instance, class);
        }
        let mut code = ExitCode::SUCCESS;
        for line in script.commands() {
            match interpreter.line(line.text, &mut running) {
                Ok(Step::Next) => {}
                Ok(Step::End) => break,
                Ok(Step::Exit(with)) => {
                    code = ExitCode::from(u8::try_from(with).unwrap_or(1));
                    break;
                }
                Err(error @ RcError::Host { .. }) if running.has_started => {
                    return self.failed(&session, anyhow!(error));
                }
                Err(error) => {
                    let error = AtLine {
                        line: line.number,
                        error,
                    };
                    if error.error.is_passed_over() && !self.strict {
                        if session.rank == 0 {
                            error.warn();
                        }
                        continue;
                    }
                    session.together::<()>(Err(anyhow!(error)))?;
                }
            }
        }
        let mastermind = running.mastermind.take();
        self.close(session, mastermind)?;
        Ok(code)
    }
}
