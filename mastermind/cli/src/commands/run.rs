//! `mastermind run`: runs an assembly, alone or on several ranks, recorded or not.
//!
//! [`Run::execute`] is the order of a run: launch the ranks, if `--ranks` says so and no launcher has; build the
//! assembly; record and adapt, if requested; start the Go port; sum up and take the framework apart; end the recording.
//! The ranks go from step to step together (`Session::together`), so that an error on one of them is reported once and
//! ends all. If records cannot be written, the run goes on without, with a warning. `session` has the ranks, the
//! framework and the recording, `run/adapt.rs` the swaps; a file that is an rc script goes to `run/script.rs`.
//!
//! ```text
//! $ mastermind run examples/sod/sod.toml --records records --set driver.max_steps=20
//! flux: 40320 riemann_problems (Riemann problems solved, one a face)          counters of the first rank
//! flux: 41692 newton_iterations (Newton iterations for their pressures)
//! sod: done on 1 rank in 0.41 s
//! rank 0: 2242 records, 164568 bytes, in records
//! ```

mod adapt;
pub mod control;
pub mod dry;
mod ending;
mod script;
mod state;

pub use adapt::percent;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use cca_comm::{Launched, MpiKind};
use cca_core::rc::Script;
use cca_core::{Assembly, MonitorSelection};
use cca_loader::ExitWatch;
use cca_ports::{CommPort, GoPort, UsesPort};
use clap::{Args, ValueEnum};
use mastermind_component::{Adaptation, CounterChoice, Mastermind};
use mastermind_measurement::probe_counters;

use super::history::KeepArguments;
use super::trying::TryArguments;
use crate::commands::predict::read_models;
use crate::errors::WrongUse;
use crate::session::back_end::{self, MpiName};
use crate::session::framework::{COMM, COMM_PORT, Quiet, Session, at_rank};
use crate::session::gathering::local_directory;
use crate::session::packing::PackArguments;
use crate::session::recording::{
    ClockName, Instruments, ProcessorTimeOption, Recording, await_ranks, cannot_be_written,
};
use crate::session::{assignment, build, read_assembly, setting_or_name};

use adapt::Adapting;
use control::Control;
use dry::{Dry, DryArguments};
use ending::{print_counters, print_end};
pub use script::system;

/// Time for a launcher to pass on the output.
const LAST_WORDS: Duration = Duration::from_millis(400);

/// Run an assembly.
#[derive(Args)]
#[command(
    after_help = "Example: mastermind run examples/shock/shock.toml --ranks 3 --records records \\\n         \
                        --set driver.end_time=0.4 --replace flux=hydro.EfmFlux"
)]
pub struct Run {
    /// The assembly file, or an rc script
    assembly: PathBuf,
    /// Number of ranks; more than one starts itself under the MPI launcher found
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    ranks: Option<u32>,
    /// Which connections are monitored: all, none, or a comma list of INSTANCE.PORT or port types
    /// [default: all with --records, else none]
    #[arg(long, value_name = "SPEC")]
    monitor: Option<MonitorSelection>,
    /// Record every monitored call in this directory, with one log for each thread. If it cannot be written, a warning says so and
    /// the run goes on unrecorded
    #[arg(long, value_name = "DIR")]
    records: Option<PathBuf>,
    /// Write the records to this folder first, for example on the local disk of each node, and move them to the record directory at
    /// the end; those of a killed run stay there
    #[arg(long, value_name = "DIR", requires = "records")]
    records_local: Option<PathBuf>,
    /// Drop the records that are there already, unless a program still writes them
    #[arg(long, visible_alias = "force", requires = "records")]
    overwrite: bool,
    /// Maximum size of the records of a rank, such as 500M or 4G; later calls are summed up by call path and class of size
    #[arg(long, value_name = "SIZE", value_parser = size, requires = "records")]
    records_limit: Option<u64>,
    /// Count events in each call of all methods or of one: names from `mastermind doctor`, separated by commas
    #[arg(long, value_name = "[INSTANCE.METHOD:]LIST", value_parser = counters, requires = "records")]
    counters: Vec<CounterChoice>,
    /// The clock of the records; the coarse ones show the effect of a clock with large steps
    #[arg(
        long,
        value_name = "NAME",
        value_enum,
        default_value_t,
        requires = "records"
    )]
    clock: ClockName,
    /// Record each call of MPI as well, with its bytes, its peer and its number of ranks
    #[arg(long, requires = "records")]
    mpi_events: bool,
    #[command(flatten)]
    processor_time: ProcessorTimeOption,
    /// Which MPI to use, if both are there
    #[arg(long, value_name = "NAME")]
    mpi: Option<MpiName>,
    /// Set a parameter; KEY may be PORT.KEY. A NAME without a point names a setting of the run, for fit --by NAME
    #[arg(long, value_name = "INSTANCE.KEY=VALUE|NAME=VALUE", value_parser = setting_or_name)]
    set: Vec<(String, String)>,
    /// Replace the class of an instance
    #[arg(long, value_name = "INSTANCE=CLASS", value_parser = assignment)]
    replace: Vec<(String, String)>,
    /// Models for components that use the port cca.PerfModel [default: those of --adapt]
    #[arg(long, value_name = "FILE", requires = "records")]
    models: Option<PathBuf>,
    /// Swap components among the [alternatives] while the run goes on, by these models and the run's own records; without models, by
    /// the records alone. Every decision is printed and written to the record directory
    #[arg(long, value_name = "MODELS", requires = "records")]
    adapt: Option<Option<PathBuf>>,
    /// Send each call of an instance with [alternatives] to one of its classes by its parameters, and learn during the run which one.
    /// An assembly with [dispatch] is always adapted in this way
    #[arg(long, requires = "adapt")]
    dispatch: bool,
    /// Share of the run time that trials of other components may cost
    #[arg(long, value_name = "PERCENT", value_parser = adapt::percent, default_value = "2%", requires = "adapt")]
    explore: f64,
    /// Seconds that a rank waits for another one to report a step, before the run ends with an error
    #[arg(long, value_name = "SECONDS", default_value = "600", value_parser = clap::value_parser!(u32).range(1..), requires = "adapt")]
    adapt_patience: u32,
    /// Begin with what earlier runs have learned, which this file keeps, and keep there what this run learns. On another processor, with
    /// another number of ranks or changed libraries it is not used, which a warning says
    #[arg(long, value_name = "FILE", requires = "adapt")]
    adapt_state: Option<PathBuf>,
    /// Allow swaps by hand, on one rank: mastermind redirect PID INSTANCE=CLASS replaces the class of an instance while the run goes
    /// on; state that the component does not save is lost
    #[arg(long, conflicts_with = "adapt")]
    redirectable: bool,
    /// End a script at the first line that fails or is not understood; without this, the line is reported and skipped
    #[arg(long)]
    strict: bool,
    /// Allow a script to run commands of the system
    #[arg(long)]
    enable_shell: bool,
    #[command(flatten)]
    dry: DryArguments,
    #[command(flatten)]
    pack: PackArguments,
    #[command(flatten)]
    keep: KeepArguments,
    #[command(flatten)]
    tried: TryArguments,
}

impl Run {
    /// Runs the assembly.
    ///
    /// # Errors
    /// Anything that is wrong with it, or went wrong in it.
    pub fn execute(self) -> anyhow::Result<ExitCode> {
        if let Some(code) = self.tried.execute(self.records.as_deref())? {
            return Ok(code);
        }
        self.check_options()?;
        if self.dry.verifies() {
            return self.verify();
        }
        let launched = back_end::launcher()?;
        let mpi = self.mpi.map(MpiKind::from);
        let ranks = self.ranks.unwrap_or(1) as usize;
        if launched.is_none() && ranks > 1 {
            self.check_before_launch()?;
            back_end::start_ranks(ranks, mpi)?;
        }
        let first_rank = launched.is_none_or(|launched| launched.rank == 0);
        let instruments = match self.records {
            Some(_) => Some(Instruments::open(first_rank, self.clock)?),
            None => None,
        };
        let session = self.start_session(launched.as_ref(), mpi)?;
        if Script::is_script(&self.assembly) {
            return self.execute_script(session, instruments.as_ref());
        }
        let started = Instant::now();
        let (assembly, mut adapting, go) = session.together(self.assemble(&session))?;
        let dry = session.together(Dry::prepare(&self.dry, &session, &assembly, true))?;
        let left_out = dry.as_ref().map(|dry| dry.leave_out(&session)).transpose();
        let left_out = session.together(left_out)?.unwrap_or_default();
        let mastermind = self.record(&session, &assembly, instruments.as_ref(), dry.as_ref())?;
        if dry.is_some() && mastermind.is_none() {
            session.together(Err(anyhow!(
                "cannot run dry: nothing is recorded, expected records to predict from"
            )))?;
        }
        let is_recorded = mastermind.is_some();
        let answer = self.answer(&session, &assembly, adapting.as_mut(), is_recorded);
        let adaptation = self.adapt(adapting, &session, &assembly, mastermind.as_ref());
        session.together(answer)?;
        let adaptation = session.together(adaptation)?;
        let control = self.redirectable.then(|| Control::open(&session));
        let control = session.together(control.transpose())?;
        let ended = run_main(&session, &go, &assembly, control.as_ref());
        let ended = ended.and_then(|()| {
            let ended = adaptation.as_ref().map(|adaptation| adaptation.end());
            Ok(ended.transpose().map(|_| ())?)
        });
        session.progress.end_steps();
        if let (Some(adaptation), Some(records)) = (&adaptation, &self.records) {
            let state = self.adapt_state.as_deref();
            adapt::print_outcome(&session, &assembly, &adaptation.outcome(), records, state);
        }
        drop(adaptation);
        if let (Some(_), Some(records)) =
            (&dry, self.records.as_ref().filter(|_| session.rank == 0))
        {
            dry::leave_poisoned(records, &left_out)?;
        }
        if let Err(error) = ended {
            let error = match &dry {
                Some(dry) => error.context(dry.suspicion()),
                None => error,
            };
            return self.failed(&session, error);
        }
        if session.rank == 0 {
            print_counters(&session, assembly.instances.keys())?;
            print_end(&session, &assembly, started);
        }
        drop(go);
        let (rank, size) = (session.rank, session.size as usize);
        let logs = self.close(session, mastermind)?;
        if let (Some(dry), Some(records)) = (&dry, self.records.as_ref().filter(|_| rank == 0)) {
            await_ranks(records, Some(size));
            dry::predict_total(records, dry.methods(), dry.models())?;
        }
        if let Some(logs) = logs {
            logs.end(true);
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Checks the options that need others.
    fn check_options(&self) -> anyhow::Result<()> {
        if self.processor_time.is_asked() && self.records.is_none() {
            bail!("cannot record processor time: no --records, expected --records DIR");
        }
        if self.keep.is_asked() && self.records.is_none() {
            bail!(WrongUse(
                "cannot keep a run in a history: no --records, expected --records DIR"
            ));
        }
        self.check_dry()
    }

    /// Starts the session once all ranks have agreed; of an error before that, one rank of a node reports it.
    fn start_session(
        &self,
        launched: Option<&Launched>,
        mpi: Option<MpiKind>,
    ) -> anyhow::Result<Session> {
        let session = self
            .agree(launched)
            .and_then(|()| Session::start(launched, mpi));
        session.map_err(|error| match back_end::is_first_on_node() {
            true => error,
            // An error before the ranks have met concerns all ranks of a node.
            false => anyhow!(Quiet),
        })
    }

    /// Checks that the options of a dry run go with the others.
    fn check_dry(&self) -> anyhow::Result<()> {
        if !self.dry.is_asked() {
            return Ok(());
        }
        if Script::is_script(&self.assembly) {
            bail!(WrongUse(
                "cannot run an rc script dry: its instances come and go, expected an assembly file; save one in mastermind shell"
            ));
        }
        if self.records.is_none() && !self.dry.verifies() {
            bail!(WrongUse(
                "cannot run dry: no --records, expected --records DIR for the calls that are predicted"
            ));
        }
        let is_selected = |selection: &MonitorSelection| *selection != MonitorSelection::All;
        if self.monitor.as_ref().is_some_and(is_selected) {
            bail!(WrongUse(
                "cannot run dry: --monitor leaves calls without a record, expected all of them"
            ));
        }
        Ok(())
    }

    /// Runs `--verify`, with the options that both of its runs get.
    fn verify(&self) -> anyhow::Result<ExitCode> {
        let mut words: Vec<OsString> = vec![self.assembly.clone().into()];
        let mut add = |option: &str, value: String| words.push(format!("{option}={value}").into());
        for (key, value) in &self.set {
            add("--set", format!("{key}={value}"));
        }
        for (instance, class) in &self.replace {
            add("--replace", format!("{instance}={class}"));
        }
        if let Some(mpi) = self.mpi.and_then(|mpi| mpi.to_possible_value()) {
            add("--mpi", mpi.get_name().to_owned());
        }
        if let Some(ranks) = self.ranks.filter(|ranks| *ranks > 1) {
            add("--ranks", ranks.to_string());
            words.push("--mpi-events".into());
        }
        let session = Session::serial()?;
        let (assembly, _, _go) = self.assemble(&session)?;
        let dry = Dry::prepare(&self.dry, &session, &assembly, false)?;
        let dry = dry.context("cannot verify: no dry run, expected --dry MODELS")?;
        dry.verify(&self.dry, &words)
    }

    /// Checks for errors that would occur on every rank, so that they are reported once, before there are ranks.
    fn check_before_launch(&self) -> anyhow::Result<()> {
        if Script::is_script(&self.assembly) {
            // Whether its lines work shows only when they are carried out: a line that fails does not end the script.
            Script::read(&self.assembly)?;
            self.prepare_adapting_script()?;
            return match self.recording()? {
                Some(recording) => recording.check_directory(),
                None => Ok(()),
            };
        }
        let session = Session::serial()?;
        let (assembly, _, _go) = self.assemble(&session)?;
        Dry::prepare(&self.dry, &session, &assembly, false)?;
        if let Some(recording) = self.recording()? {
            recording.select(&session, &assembly)?;
            recording.check_directory()?;
        }
        Ok(())
    }

    /// Checks that `--ranks` agrees with the launcher.
    fn agree(&self, launched: Option<&Launched>) -> anyhow::Result<()> {
        if let (
            Some(wanted),
            Some(Launched {
                size: Some(found),
                launcher,
                ..
            }),
        ) = (self.ranks, launched)
            && i64::from(wanted) != i64::from(*found)
        {
            bail!(
                "cannot run {wanted} ranks: {} started {found}, expected as many as --ranks says",
                launcher.name()
            );
        }
        Ok(())
    }

    fn assemble(
        &self,
        session: &Session,
    ) -> anyhow::Result<(Assembly, Option<Adapting>, UsesPort<dyn GoPort>)> {
        let (given, changes) = read_assembly(
            &self.assembly,
            &self.replace,
            &self.parameters(),
            self.strict,
        )?;
        // It makes instances, so it comes before those of the run: a component that allows one instance per process
        // keeps the last.
        let prepared = self.prepare_adapting(&given);
        let assembly = match &prepared {
            Ok((assembly, _)) => assembly,
            // An error of the assembly without adaptation is reported first.
            Err(_) => &given,
        };
        let go = build(session, assembly, changes, true)?;
        let go = go.context("cannot start assembly: no Go port, expected one")?;
        let (assembly, adapting) = prepared?;
        Ok((assembly, adapting, go))
    }

    /// Starts to record, if requested. The ranks go from one step to the next together.
    fn record(
        &self,
        session: &Session,
        assembly: &Assembly,
        instruments: Option<&Instruments>,
        dry: Option<&Dry>,
    ) -> anyhow::Result<Option<Arc<Mastermind>>> {
        let mut recording = session.together(self.recording())?;
        if let (Some(recording), Some(dry)) = (&mut recording, dry) {
            recording.dry = dry.names();
        }
        let (Some(recording), Some(instruments)) = (recording, instruments) else {
            return Ok(None);
        };
        let selected = session.together(recording.select(session, assembly))?;
        let prepared = recording.prepare_directory(session.rank == 0);
        if recordable(session, prepared)?.is_none() {
            return Ok(None);
        }
        let recorder = recording.start_recorder(session, assembly, &selected, instruments);
        let Some(recorder) = recordable(session, recorder)? else {
            recording.drop_logs_of(session.rank);
            return Ok(None);
        };
        session
            .together(recording.start(session, recorder, &selected, instruments))
            .map(Some)
    }

    /// The adaptation of the run, and the assembly with dispatchers if those are requested.
    fn prepare_adapting(&self, given: &Assembly) -> anyhow::Result<(Assembly, Option<Adapting>)> {
        let Some(models) = &self.adapt else {
            return Ok((given.clone(), None));
        };
        let (assembly, left_out) = match self.dispatch {
            true => adapt::with_dispatchers(given)?,
            false => (given.clone(), Vec::new()),
        };
        let patience = Duration::from_secs(u64::from(self.adapt_patience));
        let adapting = Adapting::prepare(
            &assembly,
            models.as_deref(),
            left_out,
            self.explore,
            patience,
        )?;
        let adapting = adapting.keep_in(self.adapt_state.as_deref());
        Ok((assembly, Some(adapting)))
    }

    /// Makes `cca.PerfModel` answer, if there are models and the run is recorded.
    fn answer(
        &self,
        session: &Session,
        assembly: &Assembly,
        adapting: Option<&mut Adapting>,
        is_recorded: bool,
    ) -> anyhow::Result<()> {
        let models = match &self.models {
            _ if !is_recorded => None,
            Some(models) => Some(read_models(models, false)?),
            None => adapting.map(Adapting::take_models),
        };
        if let (Some(models), Some(records)) = (models, &self.records) {
            session.perf_model.answer(
                models,
                assembly.instances.clone(),
                assembly.alternatives.clone(),
                (&self.rank_directory(session, records), session.rank as u32),
            );
        }
        Ok(())
    }

    /// The folder of this rank's logs while they are written.
    fn rank_directory(&self, session: &Session, records: &Path) -> PathBuf {
        match &self.records_local {
            Some(local) => local_directory(local, session.rank),
            None => records.to_path_buf(),
        }
    }

    /// Adapts the run, if requested. Without records nothing can be adapted, which is a warning.
    fn adapt(
        &self,
        adapting: Option<Adapting>,
        session: &Session,
        assembly: &Assembly,
        mastermind: Option<&Arc<Mastermind>>,
    ) -> anyhow::Result<Option<Arc<Adaptation>>> {
        let (Some(adapting), Some(records)) = (adapting, &self.records) else {
            return Ok(None);
        };
        let Some(mastermind) = mastermind else {
            if session.rank == 0 {
                crate::output::complain!("warning: nothing is adapted, since nothing is recorded");
            }
            return Ok(None);
        };
        let directory = self.rank_directory(session, records);
        let begun = adapting.begin(session, assembly, mastermind, &directory);
        begun.map(Some)
    }

    fn recording(&self) -> anyhow::Result<Option<Recording>> {
        let selection = self.monitor.clone();
        let Some(directory) = &self.records else {
            if selection.is_some_and(|selection| selection != MonitorSelection::None) {
                bail!(WrongUse(
                    "cannot monitor without records: no directory, expected --records DIR"
                ));
            }
            return Ok(None);
        };
        Ok(Some(Recording {
            directory: directory.clone(),
            local: self.records_local.clone(),
            overwrite: self.overwrite,
            limit_bytes: self.records_limit,
            mpi_events: self.mpi_events || self.processor_time.is_asked(),
            processor_time: self.processor_time.choice(),
            selection: selection.unwrap_or(MonitorSelection::All),
            counters: self.counters.clone(),
            named: self
                .set
                .iter()
                .filter(|(key, _)| !key.contains('.'))
                .cloned()
                .collect(),
            dry: Vec::new(),
        }))
    }

    /// The parameters to set.
    fn parameters(&self) -> Vec<(String, String)> {
        let set = self.set.iter().filter(|(key, _)| key.contains('.'));
        set.cloned().collect()
    }

    fn failed(&self, session: &Session, error: anyhow::Error) -> anyhow::Result<ExitCode> {
        let error = session.at_rank(error);
        if session.size == 1 {
            return Err(error);
        }
        // If several ranks have failed, one reports it and ends the others: the first rank if it is among them.
        if session.rank > 0 {
            thread::sleep(LAST_WORDS);
        }
        if back_end::is_first_to_report() {
            crate::output::complain!("{}", crate::errors::worded(&error));
        } else {
            thread::sleep(LAST_WORDS);
        }
        // The others may wait for this rank for ever: MPI ends them. MPICH's launcher drops output that it has not
        // passed on by then.
        thread::sleep(LAST_WORDS);
        session
            .framework
            .with_port::<dyn CommPort, _>(COMM, COMM_PORT, |comm| comm.abort(1))??;
        Ok(ExitCode::FAILURE)
    }
}

/// The value, or `None` if a rank cannot write records: a measurement never ends the program that it measures, so the
/// run then goes on without, with a warning. Collective.
///
/// # Errors
/// Any other error.
fn recordable<T>(session: &Session, result: anyhow::Result<T>) -> anyhow::Result<Option<T>> {
    let (wrong, result) = match result {
        Err(error) if !cannot_be_written(&error) => (Err(error), Err(anyhow!(Quiet))),
        result => (Ok(()), result),
    };
    session.together(wrong)?;
    match session.together(result) {
        Ok(value) => Ok(Some(value)),
        Err(error) => {
            if !error.is::<Quiet>() {
                let error = error.context("nothing is recorded, the run goes on");
                eprint!("{}", crate::errors::warning(&error));
            }
            Ok(None)
        }
    }
}

/// Runs the application, and carries out requests to `control` until it has ended.
fn run_main(
    session: &Session,
    go: &UsesPort<dyn GoPort>,
    assembly: &Assembly,
    control: Option<&Control>,
) -> anyhow::Result<()> {
    thread::scope(|scope| {
        if let Some(control) = control {
            scope.spawn(|| control.serve(&session.framework));
        }
        let ended = start(session, go, assembly);
        if let Some(control) = control {
            control.end();
        }
        ended
    })
}

fn start(session: &Session, go: &UsesPort<dyn GoPort>, assembly: &Assembly) -> anyhow::Result<()> {
    let name = &assembly.assembly.name;
    let act = format!("cannot run assembly \"{name}\" to its end");
    let (rank, size, context) = (session.rank, session.size, act.clone());
    let _watch = ExitWatch::begin(move || {
        let found = anyhow!("a component ended the process, expected it to return");
        let error = at_rank(rank, size, found.context(context.clone()));
        crate::output::complain!("{}", crate::errors::worded(&error));
        thread::sleep(LAST_WORDS);
        true
    });
    let ended = go.get()?.go().context(act);
    session.progress.clear();
    ended
}

/// A number of bytes, `K`, `M`, `G` for 2¹⁰, 2²⁰, 2³⁰.
pub fn size(text: &str) -> Result<u64, String> {
    let wrong = || format!("\"{text}\", expected bytes such as 500M or 4G");
    let (digits, shift) = match text.to_ascii_uppercase().chars().last() {
        Some('K') => (&text[..text.len() - 1], 10),
        Some('M') => (&text[..text.len() - 1], 20),
        Some('G') => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    number
        .checked_mul(1 << shift)
        .filter(|bytes| *bytes > 0)
        .ok_or_else(wrong)
}

/// Counters of a method or of all methods, checked for availability.
fn counters(text: &str) -> Result<CounterChoice, String> {
    let (method, list) = match text.split_once(':') {
        Some((method, list)) => (Some(method.to_owned()), list),
        None => (None, text),
    };
    let names = list.split(',').map(str::trim);
    Ok(CounterChoice {
        method,
        counters: probe_counters(names).map_err(|error| error.to_string())?,
    })
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_have_units() {
        assert_eq!(size("4096"), Ok(4096));
        assert_eq!(size("2k"), Ok(2048));
        assert_eq!(size("3G"), Ok(3 << 30));
        for wrong in ["", "G", "-1", "1.5G", "0", "99999999999G"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }
}
