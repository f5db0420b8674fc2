//! An rc script run line by line.
//!
//! An assembly file is known before it runs; an rc script is a sequence of commands, may start
//! several components one after the other, and may change the assembly in between. So recording and
//! adaptation begin at the first `go` and not at the beginning, and every rank interprets the same
//! lines.
//!
//! # Ranks must stay together
//!
//! A line can fail on one rank only. After each line the ranks count failures; what follows depends
//! on the count, on all ranks alike:
//!
//! ```text
//! failed on no rank     next line
//! failed on all ranks   reported by the first, passed over; with --strict the end
//! failed on some        the end: the ranks are no longer in the same state
//! ```
//!
//! A component that fails on some ranks may leave the others waiting in MPI. Then one rank prints
//! the reason and aborts the run (`agree`); several would print over each other.

mod adapting;

use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, anyhow, bail};
use cca_core::rc::{Host, Interpreter, RcError, Script, Step};
use cca_core::{Assembly, Endpoint, Start};
use cca_ports::CommPort;
use mastermind_component::Mastermind;
use mastermind_composition::Alternatives;

use self::adapting::ScriptAdapting;
use super::{Run, print_counters, print_end, start};
use crate::errors::WrongUse;
use crate::output;
use crate::session::agreement::count_failed;
use crate::session::back_end;
use crate::session::framework::{COMM, COMM_PORT, Quiet, Session};
use crate::session::recording::Instruments;
use crate::session::script::{AtLine, Options, folder, name, try_out};
use crate::session::{MAIN, apply, connect_main, default_path};

/// Carries out a script, recorded from the first `go` on.
struct Running<'a> {
    run: &'a Run,
    session: &'a Session,
    instruments: Option<&'a Instruments>,
    mastermind: Option<Arc<Mastermind>>,
    adapting: Option<ScriptAdapting>,
    /// The alternatives that the script's comments name.
    alternatives: Alternatives,
    has_started: bool,
    /// An error of the command line, not of a line of the script.
    wrong_options: Option<anyhow::Error>,
    /// Whether the last start failed on some of the ranks and not on others.
    failed_somewhere: bool,
    /// Whether it failed on this one.
    failed_here: bool,
    /// Lines that failed and were passed over.
    failed_lines: usize,
}

impl Host for Running<'_> {
    fn say(&mut self, text: &str) {
        if self.session.rank == 0 {
            output::line(text);
        }
    }

    fn warn(&mut self, text: &str) {
        if self.session.rank == 0 {
            crate::output::complain!("warning: {text}");
        }
    }

    fn go(
        &mut self,
        interpreter: &Interpreter<'_>,
        endpoint: &Endpoint,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        // The whole assembly is only needed at the first start, and at the first one that is adapted.
        let waits = self
            .adapting
            .as_ref()
            .is_some_and(ScriptAdapting::is_waiting);
        let mut assembly = match self.has_started && !waits {
            false => interpreter.assembly(&name(&self.run.assembly)),
            true => Assembly::default(),
        };
        assembly.assembly.name = name(&self.run.assembly);
        let port = endpoint.clone();
        assembly.go = Some(Start { port });
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
        let go = connect_main(session, assembly);
        let go = session.together(go.and_then(|go| go.context("the instance is not there")))?;
        if let Err(error) = self.begin(assembly) {
            self.wrong_options = Some(error);
            bail!("wrong options");
        }
        if let Err(error) = self.adapt(assembly) {
            self.wrong_options = Some(error);
            bail!("wrong options");
        }
        // Found now, since the services of MAIN are released before the counters are reported.
        let reached = session.framework.reachable(MAIN);
        let mut ended = start(session, &go, assembly);
        if let Some(adapting) = &mut self.adapting {
            let settled = adapting.after_start(ended.is_err());
            ended = ended.and(settled);
        }
        drop(go);
        let released = session.framework.release_services(MAIN);
        self.agree(ended)?;
        released?;
        if session.rank == 0 {
            print_counters(session, &reached)?;
            print_end(session, assembly, started);
        }
        Ok(())
    }

    /// The outcome of a start over all ranks. If it failed on all, the script may go on; if it failed on some, nothing
    /// can follow.
    fn agree(&mut self, ended: anyhow::Result<()>) -> anyhow::Result<()> {
        let session = self.session;
        let (rank, size) = (session.rank, session.size);
        let worded = ended.as_ref().err().map(|error| {
            let text = crate::errors::worded(error);
            match rank {
                0 => text,
                _ => text.replacen(
                    "error: ",
                    &format!("error: cannot run rank {rank} of {size}\n  "),
                    1,
                ),
            }
        });
        let comm = session.framework.another_handle();
        let give_up = move || {
            // One rank reports it and has MPI end the others: launchers do not always survive two.
            if back_end::is_first_to_report() {
                crate::output::complain!("{}", worded.unwrap_or_default().trim_end());
                std::thread::sleep(super::LAST_WORDS);
                let _ = comm.with_port::<dyn CommPort, _>(COMM, COMM_PORT, |comm| comm.abort(1));
            }
            std::thread::sleep(10 * super::LAST_WORDS);
            std::process::exit(1);
        };
        // A collective; a rank that still runs the component never comes to it, hence `give_up`.
        let failed = count_failed(session, ended.is_err(), give_up)?;
        self.failed_somewhere = failed > 0 && i64::from(failed) < i64::from(size);
        self.failed_here = ended.is_err();
        match ended {
            Ok(()) if failed > 0 => Err(anyhow!(Quiet)),
            ended => ended,
        }
    }

    /// Applies the options at the first start.
    fn begin(&mut self, assembly: &Assembly) -> anyhow::Result<()> {
        if !self.has_started {
            self.session.together(self.set(assembly))?;
            self.mastermind = self
                .run
                .record(self.session, assembly, self.instruments, None)?;
            self.has_started = true;
            let mut assembly = assembly.clone();
            assembly.alternatives = self.alternatives.clone();
            let adapting = self.adapting.as_mut().and_then(ScriptAdapting::adapting);
            let is_recorded = self.mastermind.is_some();
            let answer = self
                .run
                .answer(self.session, &assembly, adapting, is_recorded);
            self.session.together(answer)?;
        }
        Ok(())
    }

    /// Adapts the next start, if requested.
    fn adapt(&mut self, assembly: &Assembly) -> anyhow::Result<()> {
        let (Some(adapting), Some(records)) = (&mut self.adapting, &self.run.records) else {
            return Ok(());
        };
        let directory = self.run.rank_directory(self.session, records);
        let begun =
            adapting.before_start(self.session, assembly, self.mastermind.as_ref(), &directory);
        self.session.together(begun)
    }

    /// Decides how to go on after a line, on all ranks alike: a line that failed on all is reported and skipped, unless
    /// strict.
    ///
    /// # Errors
    /// The line ends the script.
    fn settle(&mut self, number: usize, result: Result<Step, RcError>) -> anyhow::Result<Step> {
        let session = self.session;
        let error = match result {
            Err(RcError::Host { .. }) if self.wrong_options.is_some() => {
                let wrong = self.wrong_options.take();
                return Err(wrong.unwrap_or_else(|| anyhow!(Quiet)));
            }
            // The started component failed on some ranks only: the ranks are no longer in the same state. All have
            // ended it, so the run ends in order.
            Err(error) if self.failed_somewhere => {
                let line = number;
                let reports = self.failed_here && back_end::is_first_to_report();
                return Err(match reports {
                    true => session.at_rank(anyhow!(AtLine { line, error })),
                    false => anyhow!(Quiet),
                });
            }
            // Alone there is nobody to agree with.
            Ok(step) if session.size == 1 => return Ok(step),
            Ok(step) if session.count(false)? == 0.0 => return Ok(step),
            // Ranks in different states cannot go on together.
            Ok(_) => return Err(Quiet.into()),
            Err(error) => error,
        };
        let is_harmless = error.is_harmless();
        let error = AtLine {
            line: number,
            error,
        };
        let everywhere = session.size == 1 || session.count(true)? == f64::from(session.size);
        if !everywhere {
            return Err(session.at_rank(anyhow!(error)));
        }
        if self.run.strict {
            return match session.rank {
                0 => Err(error.into()),
                _ => Err(Quiet.into()),
            };
        }
        self.failed_lines += usize::from(!is_harmless);
        if session.rank == 0 {
            match is_harmless {
                true => error.warn(),
                false => crate::output::complain!("{}", crate::errors::worded(&anyhow!(error))),
            }
        }
        Ok(Step::Next)
    }

    /// Parameters for which the options give other values.
    fn set(&self, assembly: &Assembly) -> anyhow::Result<()> {
        let mut changes = Assembly {
            instances: assembly.instances.clone(),
            ..Assembly::default()
        };
        if let Some(problem) = apply(&mut changes, &[], &self.run.parameters()).pop() {
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
    /// The adaptation of a script, if requested. It is prepared before any instance of the script exists, since a
    /// component that allows one instance per process keeps the last.
    ///
    /// # Errors
    /// The models cannot be read; nothing may be swapped.
    pub(super) fn prepare_adapting_script(&self) -> anyhow::Result<Option<ScriptAdapting>> {
        let Some(models) = &self.adapt else {
            return Ok(None);
        };
        if self.dispatch {
            bail!(WrongUse(
                "cannot dispatch calls of an rc script, expected an assembly file; save one in mastermind shell"
            ));
        }
        let options = Options {
            replace: &self.replace,
            set: &self.parameters(),
            strict: false,
            at: None,
        };
        let trial = try_out(&self.assembly, options)?;
        ScriptAdapting::prepare(self, models.as_deref(), trial).map(Some)
    }

    /// Carries a script out, line by line. A line that is not understood or fails is reported and skipped, unless
    /// strict; a failure makes the exit code other than 0.
    ///
    /// # Errors
    /// It cannot be read; a line, or a component it starts, fails on some ranks and not on others; an option is wrong.
    pub(super) fn execute_script(
        &self,
        session: Session,
        instruments: Option<&Instruments>,
    ) -> anyhow::Result<ExitCode> {
        let script = session.together(Script::read(&self.assembly).map_err(Into::into))?;
        let alternatives = session.together(script.alternatives().map_err(Into::into))?;
        let adapting = session.together(self.prepare_adapting_script())?;
        let mut running = Running {
            run: self,
            session: &session,
            instruments,
            mastermind: None,
            adapting,
            alternatives,
            has_started: false,
            wrong_options: None,
            failed_somewhere: false,
            failed_here: false,
            failed_lines: 0,
        };
        let folder = folder(&self.assembly);
        let mut interpreter = Interpreter::new(&session.framework, default_path()?, folder);
        for (instance, class) in &self.replace {
            interpreter.replace(instance, class);
        }
        let mut code = 0;
        let mut ended = Ok(());
        for line in script.commands() {
            let result = interpreter.line(&line.text, &mut running);
            match running.settle(line.number, result) {
                Ok(Step::Next) => {}
                Ok(Step::End) => break,
                Ok(Step::Exit(with)) => {
                    code = u8::try_from(with).unwrap_or(1);
                    break;
                }
                Err(error) => {
                    ended = Err(error);
                    break;
                }
            }
        }
        if let (Some(adapting), Some(records)) = (running.adapting.take(), &self.records) {
            adapting.print_outcome(&session, &self.assembly, records, ended.is_ok());
        }
        ended?;
        if let (Some(records), false, 0) = (&self.records, running.has_started, session.rank) {
            crate::output::complain!(
                "warning: nothing is recorded\n  cannot record into \"{}\": script \"{}\" starts no component, expected a line \
                 go INSTANCE PORT; records that are there are of another run",
                records.display(),
                self.assembly.display()
            );
        }
        let (mastermind, failed) = (running.mastermind.take(), running.failed_lines);
        if failed > 0 && session.rank == 0 {
            let (name, lines) = (
                self.assembly.display(),
                if failed == 1 { "line" } else { "lines" },
            );
            crate::output::complain!(
                "error: cannot carry out all of script \"{name}\": {failed} {lines} failed and passed over; \
                 --strict ends it at the first"
            );
        }
        if let Some(logs) = self.close(session, mastermind)? {
            logs.end(failed == 0);
        }
        Ok(ExitCode::from(if failed > 0 { code.max(1) } else { code }))
    }
}
