//! Recording a run: where the logs go, which connections are monitored, and how it ends.
//!
//! # The order of a recorded run
//!
//! Each step of recording depends on the state of the session. The clock and the proxy of MPI are
//! chosen before MPI starts (`Instruments`); connections are selected after the assembly is built
//! and before it starts; the directory is checked and cleared by one rank before any writes; the
//! recorder starts before the proxies that report to it.
//!
//! ```text
//! Instruments::open    clock, libproxy_mpi.so           before MPI and the libraries
//! Recording::select    connections and counters          assembly is built
//! prepare_directory    refuses or drops earlier records
//! start_recorder       the log of this rank
//! Recording::start     @mastermind, a proxy in each connection
//! … go …
//! await_ranks          the first rank lets the others end
//! ```
//!
//! A directory that cannot be written does not fail the run: it goes on unrecorded
//! (`cannot_be_written`). Records of a run that still writes are never dropped, even with
//! `--overwrite`.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, anyhow, bail};
use cca_core::{Assembly, ConnectionId, Framework, FrameworkError, MonitorSelection, is_own};
use cca_loader::MpiProxy;
use clap::{Args, ValueEnum};
use mastermind_component::{
    CounterChoice, Mastermind, is_decisions_file, library_hash, routine_definitions,
};
use mastermind_measurement::{
    Clock, MpiFunctions, RecorderConfig, RunRecorder, processors_online, ranks_share_processors,
};
use mastermind_records::definition::{
    ClassDefinition, ConnectionDefinition, RunDefinition, UnmonitoredDefinition,
};
use mastermind_records::{
    ChunkSizes, LogIdentity, OVERVIEW_FILE, SUMMARY_FILE, holds_records, is_being_written,
    packed_ranks,
};

use super::back_end;
use super::describing::describe_interfaces;
use super::framework::Session;
use super::gathering::local_directory;
use super::{MAIN, default_path, library_path};
use crate::commands::run::dry;
use mastermind_component::names::{self, Names};

/// Name of the Mastermind's instance.
const INSTANCE: &str = "@mastermind";

/// The source of MPI time, as [`RunDefinition::mpi`] has it.
const MPI_SOURCE: &str = "proxy-mpi";

/// A clock by its name on the command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ClockName {
    /// The time-stamp counter where the processor says that it is constant, else CLOCK_MONOTONIC
    #[default]
    Detect,
    /// CLOCK_MONOTONIC
    Monotonic,
    /// CLOCK_MONOTONIC as if it advanced by 100 ns at once
    #[value(name = "coarse-100ns")]
    Coarse100Ns,
    /// CLOCK_MONOTONIC as if it advanced by 1 us at once
    #[value(name = "coarse-1us")]
    Coarse1Us,
}

impl ClockName {
    fn clock(self) -> Clock {
        match self {
            Self::Detect => Clock::detect(),
            Self::Monotonic => Clock::monotonic(),
            Self::Coarse100Ns => Clock::coarse::<100>("coarse-100ns"),
            Self::Coarse1Us => Clock::coarse::<1_000>("coarse-1us"),
        }
    }
}

/// Whether processor time is recorded.
#[derive(Args, Clone, Copy, Debug)]
pub struct ProcessorTimeOption {
    /// Record with each call of MPI what processor time its thread took since its previous call, so that a replay computes as long as the rank
    /// did and not as long as it waited for a processor; some 50 to 900 ns a call. Each call of MPI is recorded, as with --mpi-events. auto: with
    /// --mpi-events where there are more ranks than processors
    #[arg(
        long,
        value_name = "WHEN",
        value_enum,
        num_args = 0..=1,
        require_equals = true,
        default_value = "auto",
        default_missing_value = "on"
    )]
    cpu: ProcessorTimeName,
}

/// When processor time is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ProcessorTimeName {
    Auto,
    On,
    Off,
}

impl ProcessorTimeOption {
    /// Whether it is requested.
    pub fn is_asked(self) -> bool {
        self.choice() == Some(true)
    }

    /// The choice; `None` to record it if ranks share a processor.
    pub fn choice(self) -> Option<bool> {
        match self.cpu {
            ProcessorTimeName::Auto => None,
            ProcessorTimeName::On => Some(true),
            ProcessorTimeName::Off => Some(false),
        }
    }
}

/// The options on recording: where the logs go, and which connections, counters and calls of MPI
/// they contain.
#[derive(Clone, Debug)]
pub struct Recording {
    /// Where the logs go.
    pub directory: PathBuf,
    /// The folder for the logs during the run, if it is another one; each rank makes a folder of its own in it.
    pub local: Option<PathBuf>,
    /// Whether existing records are removed.
    pub overwrite: bool,
    /// Bytes a rank, at most.
    pub limit_bytes: Option<u64>,
    /// Whether each call of MPI is recorded.
    pub mpi_events: bool,
    /// Whether to record the processor time between calls; `None` to do so if ranks share a processor.
    pub processor_time: Option<bool>,
    /// Which connections.
    pub selection: MonitorSelection,
    /// The counters to read, by calls.
    pub counters: Vec<CounterChoice>,
    /// Names and values that the user gave to the run.
    pub named: Vec<(String, String)>,
    /// Methods that are left out, each `INSTANCE.PORT.METHOD`.
    pub dry: Vec<String>,
}

/// The clock of the records, and the source of MPI time; both chosen before MPI starts.
#[derive(Clone, Debug)]
pub struct Instruments {
    clock: Clock,
    mpi: Option<MpiProxy>,
}

impl Instruments {
    /// Chooses the clock and opens the proxy of MPI, before any library that needs MPI. Without it, MPI time is not
    /// measured, and the first rank warns of that.
    ///
    /// # Errors
    /// The system does not report the path of this program.
    pub fn open(first_rank: bool, clock: ClockName) -> anyhow::Result<Self> {
        let clock = clock.clock();
        let path = back_end::mpi_proxy()?;
        let mpi = match MpiProxy::open(&path, clock.function()) {
            Ok(mpi) => Some(mpi),
            Err(error) => {
                let error = anyhow::Error::new(error).context("MPI time is not measured");
                if first_rank {
                    crate::output::complain!("{}", crate::errors::warning(&error));
                }
                None
            }
        };
        Ok(Instruments { clock, mpi })
    }

    /// The proxy of MPI, if there is MPI and it works: if ranks have communicated by MPI, the proxy has seen that.
    /// Without MPI its time is unknown, not 0.
    fn working_mpi(&self, session: &Session) -> Option<&MpiProxy> {
        let (mpi, kind) = (self.mpi.as_ref()?, session.mpi?);
        if mpi.routines().is_empty() {
            let error = anyhow!(
                "cannot measure {kind}: 0 calls seen, expected those that start it; \
                 is the program, or a library before it, linked to MPI?"
            );
            let error = error.context("MPI time is not measured");
            if session.rank == 0 {
                crate::output::complain!("{}", crate::errors::warning(&error));
            }
            return None;
        }
        Some(mpi)
    }
}

impl Recording {
    /// A recording that is not started, for checking a selection of connections.
    pub fn selecting(selection: MonitorSelection) -> Self {
        Recording {
            directory: PathBuf::new(),
            local: None,
            overwrite: false,
            limit_bytes: None,
            mpi_events: false,
            processor_time: None,
            selection,
            counters: Vec::new(),
            named: Vec::new(),
            dry: Vec::new(),
        }
    }

    /// The connections to put a proxy into: the selected ones, and the one that starts the assembly.
    ///
    /// # Errors
    /// An item selects nothing; a connection is named for which no proxy can be made.
    pub fn select(
        &self,
        session: &Session,
        assembly: &Assembly,
    ) -> anyhow::Result<Vec<ConnectionId>> {
        let framework = &session.framework;
        let mut path = library_path(assembly);
        if path.is_empty() {
            path = default_path()?;
        }
        describe_interfaces(framework, path);
        let connections = monitorable(framework, assembly);
        let unmatched = self.selection.unmatched(&connections);
        if !unmatched.is_empty() {
            let known: BTreeSet<_> = connections
                .iter()
                .map(|(c, _)| format!("{}.{}", c.provider, c.provides))
                .collect();
            bail!(
                "cannot monitor \"{}\": no such connection, expected one of {}",
                unmatched.join("\", \""),
                Vec::from_iter(known).join(", ")
            );
        }
        let mut selected = Vec::new();
        for (connection, interface) in connections {
            if !self.selection.selects(&connection, &interface) && connection.user != MAIN {
                continue;
            }
            match framework.check_monitorable(&connection.user, &connection.uses) {
                Ok(()) => selected.push(connection),
                // If all are selected, a connection without a proxy is no error.
                Err(error) if self.selection == MonitorSelection::All => {
                    if session.rank == 0 {
                        crate::output::complain!("warning: {error}");
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
        self.counters_of(framework, &selected)?;
        Ok(selected)
    }

    /// The counters, with the whole name of each method that they are chosen for, as in the recorder.
    ///
    /// # Errors
    /// A method is not monitored, or its name means several monitored methods.
    fn counters_of(
        &self,
        framework: &Framework,
        selected: &[ConnectionId],
    ) -> anyhow::Result<Vec<CounterChoice>> {
        let (names, methods): (Vec<_>, Vec<_>) = monitored_methods(framework, selected)
            .into_iter()
            .map(|[instance, port, method]| {
                let names = Names::of_instance(&instance, &port, &method);
                (names, format!("{instance}.{method}"))
            })
            .unzip();
        let mut counters = self.counters.clone();
        for typed in counters
            .iter_mut()
            .filter_map(|choice| choice.method.as_mut())
        {
            let place = names::one("count in", typed, "no such monitored method", &names)?;
            *typed = methods[place].clone();
        }
        Ok(counters)
    }

    /// Checks whether the directory holds records that may not be overwritten.
    ///
    /// # Errors
    /// It does; it cannot be read.
    pub fn check_directory(&self) -> anyhow::Result<()> {
        match self.directory.is_dir().then(|| self.logs_to_drop()) {
            // A directory that cannot be read cannot be written either, which the run reports.
            Some(Err(error)) if !cannot_be_written(&error) => Err(error),
            _ => Ok(()),
        }
    }

    /// Makes the directory, on each rank; on the first one it must not hold records unless they may be overwritten.
    ///
    /// # Errors
    /// It cannot be made ([`cannot_be_written`]); it holds records, or those of a run that has not ended.
    pub fn prepare_directory(&self, is_first: bool) -> anyhow::Result<()> {
        fs::create_dir_all(&self.directory).with_context(|| self.act())?;
        if !is_first {
            return Ok(());
        }
        let logs = self.logs_to_drop()?;
        logs.iter()
            .try_for_each(fs::remove_file)
            .with_context(|| self.act())?;
        drop_decisions(&self.directory).with_context(|| self.act())?;
        dry::drop_prediction(&self.directory).with_context(|| self.act())?;
        // What was computed from an earlier run does not belong to this one.
        for computed in [SUMMARY_FILE, OVERVIEW_FILE] {
            match fs::remove_file(self.directory.join(computed)) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(error).with_context(|| self.act());
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn act(&self) -> String {
        let directory = self.directory.display();
        format!("cannot make record directory \"{directory}\"")
    }

    fn logs_to_drop(&self) -> anyhow::Result<Vec<PathBuf>> {
        let logs = logs(&self.directory).with_context(|| self.act())?;
        if !logs.is_empty() && !self.overwrite {
            bail!(
                "cannot record into \"{}\": {} logs of another run there, expected none; use --overwrite or another directory",
                self.directory.display(),
                logs.len()
            );
        }
        check_ended(&self.directory, &logs)?;
        Ok(logs)
    }

    /// Starts the recorder.
    ///
    /// # Errors
    /// The log cannot be written ([`cannot_be_written`]).
    pub fn start_recorder(
        &self,
        session: &Session,
        assembly: &Assembly,
        selected: &[ConnectionId],
        instruments: &Instruments,
    ) -> anyhow::Result<RunRecorder> {
        let mpi = instruments.working_mpi(session);
        let directory = match &self.local {
            Some(local) => local_directory(local, session.rank),
            None => self.directory.clone(),
        };
        fs::create_dir_all(&directory)
            .with_context(|| format!("cannot make record directory \"{}\"", directory.display()))?;
        let mut run = run_definition(session, assembly, selected)?;
        run.mpi = mpi.map(|_| MPI_SOURCE.into());
        run.parameters.extend(self.named.clone());
        run.dry = self.dry.clone();
        let recorder = RunRecorder::start(RecorderConfig {
            // A component may go elsewhere.
            directory: directory.canonicalize().unwrap_or(directory),
            rank: session.rank as u32,
            limit_bytes: self.limit_bytes,
            chunks: ChunkSizes::default(),
            clock: instruments.clock,
            mpi: mpi.map_or_else(MpiFunctions::default, |mpi| MpiFunctions {
                names: mpi.function_names(),
                before: routine_definitions(mpi.routines()),
            }),
            run,
        })?;
        Ok(recorder)
    }

    /// Removes the logs of a rank whose recorder ended before anything was recorded.
    pub fn drop_logs_of(&self, rank: i32) {
        if let Some(local) = &self.local {
            let _ = fs::remove_dir_all(local_directory(local, rank));
        }
        let logs = logs(&self.directory).unwrap_or_default();
        let is_own = |path: &&PathBuf| {
            LogIdentity::from_path(path).is_some_and(|log| log.rank == rank as u32)
        };
        for log in logs.iter().filter(is_own) {
            // If they stay, they are logs without calls.
            let _ = fs::remove_file(log);
        }
    }

    /// Puts a proxy into every selected connection.
    ///
    /// # Errors
    /// A named connection cannot be monitored.
    pub fn start(
        &self,
        session: &Session,
        recorder: RunRecorder,
        selected: &[ConnectionId],
        instruments: &Instruments,
    ) -> anyhow::Result<Arc<Mastermind>> {
        let framework = &session.framework;
        let mpi = instruments.working_mpi(session);
        let services =
            framework.services(INSTANCE, "mastermind.Mastermind", env!("CARGO_PKG_VERSION"))?;
        let mastermind = Mastermind::add(recorder, mpi, &services)?;
        mastermind.count(self.counters_of(framework, selected)?);
        mastermind.measure(&session.measurement);
        mastermind.answer_through(&session.perf_param);
        if self.mpi_events && mpi.is_some() {
            // Only ranks that share processors wait for one; reading the processor time costs each
            // call, so it is off otherwise.
            let is_shared = || {
                let launched = back_end::launcher().ok().flatten();
                let local_size = launched.and_then(|launched| launched.local_size);
                ranks_share_processors(local_size.map(|n| n as u32))
            };
            let processor_time = self.processor_time.unwrap_or_else(is_shared);
            mastermind.record_mpi_events(processor_time)?;
        }
        let selection = self.selection.clone();
        framework.start_monitoring(
            (INSTANCE, Mastermind::PORT),
            move |connection, interface| {
                is_measured(&connection.provider)
                    && (connection.user == MAIN || selection.selects(connection, interface))
            },
        )?;
        // If all are selected, those that cannot be monitored have been reported (`Recording::select`).
        let mut unmonitored = note_unmonitored(framework, &mastermind);
        match unmonitored.pop() {
            Some(error) if self.selection != MonitorSelection::All => Err(error.into()),
            _ => Ok(mastermind),
        }
    }
}

/// Has the logs name the connections that could not be given a proxy since the last call.
///
/// # Returns
/// The reasons.
pub fn note_unmonitored(framework: &Framework, mastermind: &Mastermind) -> Vec<FrameworkError> {
    let unmonitored = framework.take_unmonitored().into_iter();
    let noted = unmonitored.map(|(connection, error)| {
        mastermind.note_unmonitored(UnmonitoredDefinition {
            user: connection.user,
            uses_port: connection.uses,
            provider: connection.provider,
            provides_port: connection.provides,
            reason: error.to_string(),
        });
        error
    });
    noted.collect()
}

/// Removes the decisions of an earlier run.
fn drop_decisions(directory: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        if name.is_some_and(is_decisions_file) {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// Whether an error means that no records can be written at a place, so that a run goes on without.
pub fn cannot_be_written(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| cause.is::<std::io::Error>())
}

/// Checks that none of these logs is still being written.
///
/// # Errors
/// One is.
pub fn check_ended(directory: &Path, logs: &[PathBuf]) -> anyhow::Result<()> {
    let n_live = logs.iter().filter(|log| is_being_written(log)).count();
    if n_live > 0 {
        bail!(
            "cannot record into \"{}\": a program still writes {n_live} of the logs there, expected one that has ended; \
             use another directory",
            directory.display()
        );
    }
    Ok(())
}

/// How long the first rank waits for others to end. MPI has released all by then, and they need milliseconds;
/// arbitrary, for a busy machine.
const PATIENCE_WITH_RANKS: Duration = Duration::from_secs(2);
/// Time between two checks of whether they have ended.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Waits for ranks that end at the same time as this one: on a busy machine one of them may not have finished.
///
/// # Arguments
/// * `n_ranks` - number of ranks that leave logs; `None` if unknown
///
/// # Returns
/// Whether all have ended.
pub fn await_ranks(directory: &Path, n_ranks: Option<usize>) -> bool {
    let have_ended = || {
        let logs = logs(directory).unwrap_or_default();
        let ranks = logs.iter().filter_map(|log| LogIdentity::from_path(log));
        let mut ranks: BTreeSet<u32> = ranks.map(|log| log.rank).collect();
        if n_ranks.is_some_and(|n| ranks.len() < n) {
            // The logs of another node may be packed.
            ranks.extend(packed_ranks(directory));
        }
        n_ranks.is_none_or(|n| ranks.len() >= n) && !logs.iter().any(|log| is_being_written(log))
    };
    let began = Instant::now();
    loop {
        if have_ended() {
            return true;
        }
        if began.elapsed() >= PATIENCE_WITH_RANKS {
            return false;
        }
        sleep(POLL_INTERVAL);
    }
}

/// Whether calls of a provider are the application's, not those of the services that it finds.
fn is_measured(provider: &str) -> bool {
    !is_own(provider)
}

fn logs(directory: &Path) -> std::io::Result<Vec<PathBuf>> {
    let paths = fs::read_dir(directory)?.map(|entry| entry.map(|entry| entry.path()));
    let paths = paths.collect::<Result<Vec<_>, _>>()?;
    Ok(paths
        .into_iter()
        .filter(|path| holds_records(path))
        .collect())
}

/// Instance, port and name of every method of an assembly that could be recorded.
pub fn recordable_methods(framework: &Framework, assembly: &Assembly) -> BTreeSet<[String; 3]> {
    let connections = monitorable(framework, assembly).into_iter();
    let connections: Vec<_> = connections.map(|(connection, _)| connection).collect();
    monitored_methods(framework, &connections)
}

/// Connections between instances of the assembly, and the one that starts it; the framework's services are not measured.
fn monitorable(framework: &Framework, assembly: &Assembly) -> Vec<(ConnectionId, String)> {
    let connections = framework.connection_interfaces().into_iter();
    connections
        .filter(|(connection, _)| assembly.instances.contains_key(&connection.provider))
        .collect()
}

/// Instance, port and name of every method that the connections lead to.
fn monitored_methods(framework: &Framework, selected: &[ConnectionId]) -> BTreeSet<[String; 3]> {
    let mut names = BTreeSet::new();
    let instances = framework.instances();
    let port = |instance: &str, name: &str, provides: bool| {
        let found = instances.iter().find(|found| found.name == instance)?;
        let ports = if provides {
            &found.provides
        } else {
            &found.uses
        };
        ports.iter().find(|port| port.name == name)
    };
    for connection in selected {
        // A component in C does not describe its methods; the one that makes the proxy does.
        let sides = [
            port(&connection.provider, &connection.provides, true),
            port(&connection.user, &connection.uses, false),
        ];
        let interfaces = sides.into_iter().flatten().map(|port| port.interface);
        let methods = interfaces.flat_map(|interface| framework.described(interface).methods());
        let [provider, provides] = [&connection.provider, &connection.provides];
        names.extend(
            methods.map(|method| [provider.clone(), provides.clone(), method.name.to_string()]),
        );
    }
    names
}

fn run_definition(
    session: &Session,
    assembly: &Assembly,
    monitored: &[ConnectionId],
) -> anyhow::Result<RunDefinition> {
    let framework = &session.framework;
    let mut run = RunDefinition {
        assembly: assembly.assembly.name.clone(),
        ranks: session.size as u32,
        host: rustix::system::uname()
            .nodename()
            .to_string_lossy()
            .into_owned(),
        processors: processors_online(),
        process: std::process::id(),
        started_unix_ns: SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_nanos() as u64),
        ..RunDefinition::default()
    };
    for instance in framework.instances() {
        for parameter in framework.parameters(&instance.name)? {
            let key = format!(
                "{}.{}.{}",
                instance.name, parameter.port, parameter.description.key
            );
            run.parameters.insert(key, parameter.value.to_string());
        }
        let library = instance.library.as_deref();
        run.classes.push(ClassDefinition {
            instance: instance.name,
            class: instance.class,
            version: instance.version,
            library: library
                .and_then(Path::file_name)
                .map_or_else(String::new, |name| name.to_string_lossy().into()),
            library_hash: library.map_or_else(|| Ok(String::new()), hash)?,
        });
    }
    for connection in framework.connections() {
        run.connections.push(ConnectionDefinition {
            monitored: monitored.contains(&connection),
            user: connection.user,
            uses_port: connection.uses,
            provider: connection.provider,
            provides_port: connection.provides,
        });
    }
    Ok(run)
}

fn hash(library: &Path) -> anyhow::Result<String> {
    library_hash(library).with_context(|| format!("cannot read library \"{}\"", library.display()))
}
