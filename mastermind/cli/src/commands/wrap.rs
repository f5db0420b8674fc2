//! `mastermind wrap`: proxies preloaded under a program that was not written for them.
//!
//! [`Wrap::execute`] checks the libraries, prepares the record directory, starts the program with the proxies preloaded
//! and a variable that holds their settings ([`WrapConfig`]), and passes on how it ended. In the program
//! `mastermind-preload` records. Its processes write into a file what they mapped and started (`trace`). If a launcher
//! starts `wrap`, each rank has one of its own, and none waits for another. None of this may change the program: if no
//! records can be written it runs without, and signals reach it. `round_about` and `left` find calls that the proxies
//! did not see; `messages` prints errors and
//! remarks at the end, and `closing` the summary.
//!
//! ```text
//! $ mpirun -n 2 mastermind wrap --call-sites -- ./ring
//! MPI: 94.9 % of 0.005207 s a rank on 2 ranks (93.9 to 95.6 %), 206 calls
//!   most of it: MPI_Barrier 67.5 % in 2 calls, MPI_Recv 26.2 % in 100 calls, MPI_Send 1.2 % in 100 calls
//!   all of it: mastermind profile --mpi ring.records
//! ```
//!
//! # Decisions
//!
//! `wrap` stays the parent of the program, to pass on its signals and its end, and to report if no MPI was seen. The
//! program inherits what `wrap` inherited (`wrap/inherited.rs`). A signal is passed on unless the whole process group
//! got it, which a witness in the group reports (`wrap/signals.rs`). `wrap` is stopped while the program is, and ends
//! by the program's signal (`wrap/child.rs`). The dynamic linker gets the room for thread-local memory that the
//! program's libraries need without ours; a program that it cannot start with the preloaded libraries runs without them
//! (`wrap/loading.rs`). The preloaded library starts to record at the first call of MPI and not before: a shell, an
//! interpreter or a launcher in between leaves no logs. The proxy exports more functions than an older MPI has, and
//! programs check for them (mpi4py by weak references). So an audit library hides all its names in memory before
//! anything is bound, and shows each once a library is mapped that defines it. A killed program has its row up to its
//! latest call of MPI, whose end is in the header of the log. Failed calls are counted by the error code that MPI
//! returns, or writes as Fortran's. At the end of the process, logs that other threads still have are marked as
//! finished and stay mapped.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, anyhow, bail};
use cca_comm::{Launch, Launched};
use cca_loader::LibraryProxy;
use clap::Args;
use mastermind_component::{
    Claim, Claimant, LibraryAdaptConfig, TRACE_VARIABLE, UseConfig, WRAP_VARIABLE, WrapConfig,
    claim,
};
use mastermind_records::layout::EXTENSION;
use mastermind_records::{LogIdentity, Run, create_anew, holds_records, trim};
use rustix::fs::Access;

mod adapting;
mod child;
mod closing;
mod inherited;
mod left;
mod loading;
mod messages;
mod mpi_names;
mod refused;
mod round_about;
mod signals;

use adapting::AdaptArguments;
use child::Ended;
pub(super) use child::end_as;
use loading::Loading;
use round_about::Interface;
use signals::Signals;

use super::history::KeepArguments;
use super::run::size;
use super::trying::TryArguments;
use crate::call_site;
use crate::errors;
use crate::session::back_end;
use crate::session::packing::PackArguments;
use crate::session::recording::{ProcessorTimeOption, await_ranks, cannot_be_written, check_ended};
use crate::session::{libraries_folder, name_of_run, summing};
use crate::trace::Trace;
use crate::{recorded_dispatch, unseen_calls};

/// File name of the library that records within the program.
const PRELOADED: &str = "libmastermind_preload.so";

/// File name of the library that the dynamic linker calls for each library it maps: it hides functions that the
/// program's MPI lacks.
const AUDIT: &str = "libproxy_audit.so";

/// File name of the proxy of OpenMP.
const OPENMP: &str = "libproxy_openmp.so";

/// Entry points of OpenMP by which calls that bypass its proxy are found: a program of GCC with OpenMP calls one of
/// them.
const OF_OPENMP: [&str; 2] = ["GOMP_parallel", "GOMP_parallel_reductions"];

/// Maximum bytes of records that are read at the end of a program: that takes a fraction of a second.
const MAX_BYTES_READ: u64 = 1 << 28;

/// Measure MPI, and libraries that have a proxy, in a program that stays as it is.
#[derive(Args)]
#[command(
    after_help = "Example: mpirun -n 3 mastermind wrap --records records -- hpcc\n         \
                        mastermind wrap --proxy proxies/libzlib_proxy.so -- rsync -a from to\n         \
                        mastermind wrap --proxy libblas_proxy.so --use blas=/opt/libopenblas.so -- ./solver\n         \
                        mastermind wrap --proxy libblas_proxy.so --use blas=/opt/libopenblas.so --adapt models.json -- ./solver\n         \
                        mastermind profile records"
)]
pub struct Wrap {
    /// The record directory, with one log for each thread [default: PROGRAM.records, named after the program behind a launcher]
    #[arg(long, value_name = "DIR")]
    records: Option<PathBuf>,
    /// Drop the records that are there already
    #[arg(long, visible_alias = "force")]
    overwrite: bool,
    /// Record each call of MPI, with its bytes, its peer and its communicator; without this, sums by function, call site and size are
    /// kept
    #[arg(long)]
    mpi_events: bool,
    /// Measure OpenMP for `profile --openmp`: work and waiting of each thread, in parallel regions, loops, barriers, tasks and locks by
    /// source line
    #[arg(long)]
    openmp: bool,
    #[command(flatten)]
    processor_time: ProcessorTimeOption,
    /// A proxy that `mastermind proxy` made: each call of its functions is recorded with its parameters. Calls that bypass it are named
    /// at the end, with the reason
    #[arg(long, value_name = "LIB")]
    proxy: Vec<PathBuf>,
    /// Record the function, file and line of each caller of MPI and of proxied functions, for `profile --call-sites` and `profile
    /// --mpi`; with a number, that many callers deep. Each call of MPI is recorded, as with --mpi-events
    #[arg(long, value_name = "DEPTH", num_args = 0..=1, require_equals = true, default_missing_value = "1",
          value_parser = clap::value_parser!(u32).range(1..=64))]
    call_sites: Option<u32>,
    /// Send the calls of a proxy's interface to another library; with --adapt, a candidate
    #[arg(long = "use", value_name = "INTERFACE=LIB", value_parser = library_of_interface)]
    uses: Vec<UseConfig>,
    #[command(flatten)]
    adapt: AdaptArguments,
    /// Do not start the program if a library of --use lacks functions; without this, a call of one ends it
    #[arg(long)]
    strict: bool,
    /// Maximum size of the records of a rank, such as 500M or 4G; later calls are summed up by call path and class of size
    #[arg(long, value_name = "SIZE", value_parser = size)]
    records_limit: Option<u64>,
    /// Record a setting of the run, such as n=400; fit --by NAME makes it a parameter of the calls
    #[arg(long, value_name = "NAME=VALUE", value_parser = name_of_run)]
    set: Vec<(String, String)>,
    #[command(flatten)]
    pack: PackArguments,
    #[command(flatten)]
    keep: KeepArguments,
    #[command(flatten)]
    tried: TryArguments,
    /// The program and its arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "PROGRAM ARGS")]
    program: Vec<OsString>,
}

impl Wrap {
    /// Runs the program and ends as it did.
    ///
    /// # Errors
    /// It cannot be started; a library does not fit.
    pub fn execute(self) -> anyhow::Result<ExitCode> {
        let name = program_name(&self.program);
        let name = name.context("cannot start program: no name, expected one")?;
        if let Some(code) = self.tried.execute(Some(&self.directory(&name)))? {
            return Ok(code);
        }
        // Before anything starts a thread: all are to have them blocked.
        let mut signals = Signals::block();
        let launched = back_end::launcher()?;
        let proxies = self.proxy.iter().map(|path| absolute(path));
        let proxies = proxies.collect::<Result<Vec<_>, _>>()?;
        let adapt = self.adapt.config(&name, &self.uses)?;
        let (config, claim) = match self.config(name, proxies, adapt, launched.as_ref()) {
            Err(error) if cannot_be_written(&error) => {
                return self.unrecorded(error, &mut signals).map(end_as);
            }
            found => found?,
        };
        let rank = launched.map(|launched| launched.rank as u32);
        let logs = self.pack.begin(&config.directory, rank, true);
        let status = self.measure(&config, launched.as_ref(), &mut signals);
        if let Some(logs) = logs {
            logs.end(status.as_ref().is_ok_and(ExitStatus::success));
        }
        claim.give_up();
        drop(signals);
        status.map(end_as)
    }

    /// Runs the program with the proxies preloaded, and reports the results.
    fn measure(
        &self,
        config: &WrapConfig,
        launched: Option<&Launched>,
        signals: &mut Signals,
    ) -> anyhow::Result<ExitStatus> {
        let mut interfaces = check_libraries(config, self.strict)?;
        interfaces.extend(config.openmp.iter().map(|_| Interface {
            name: "OpenMP".into(),
            functions: OF_OPENMP.map(str::to_owned).into(),
        }));
        forget(config, launched)?;
        let trace = trace_file(config, launched);
        refused::prepare(config, launched);
        let loading = Loading::of(&self.program);
        if let Some(why) = loading.obstacle() {
            return self.unrecorded(anyhow!("{why}"), signals);
        }
        let command = self.command(config, &trace, &loading)?;
        let ended = child::run(command, signals);
        let found = Trace::take(&trace);
        let Ended { process, status } = match ended {
            Err(error) if child::is_of_limit(&error) => return self.unrecorded(error, signals),
            ended => ended?,
        };
        if loading.is_whole() && child::is_of_linker(status) && found.ended_in_linker(process) {
            return self.unrecorded(
                anyhow!(
                    "cannot measure \"{}\": the dynamic linker ended it before any of its code ran, expected it to start with the \
                     libraries of wrap as without",
                    config.program
                ),
                signals,
            );
        }
        trim_logs(config, launched);
        messages::report_errors(config, launched, &found);
        self.write_call_sites(&config.directory, &found, launched);
        adapting::print_decisions(config, launched);
        if launched.is_none_or(|launched| launched.rank == 0) {
            if launched.and_then(|launched| launched.size) > Some(1) {
                await_ranks(&config.directory, None);
            }
            let run = records_of(config);
            let mut lines = self.round_about_lines(&found, &interfaces, run.as_ref());
            lines.extend(unseen_mpi_lines(config, &found, run.as_ref()));
            if run.is_some() {
                leave_unseen(config, &lines);
            }
            let directory = run.as_ref().map(|_| &*config.directory);
            recorded_dispatch::leave(directory, found.objects.iter().cloned());
            if let Some(run) = run {
                messages::print_mpi_share(&run, config, launched);
                messages::print_openmp(&run, config);
            }
            self.keep.keep(&config.directory, None);
            for directory in config.spawned() {
                self.write_call_sites(&directory, &found, None);
                crate::output::complain!(
                    "note: records of ranks that were spawned: {}",
                    directory.display()
                );
            }
        }
        Ok(status)
    }

    /// Writes the call sites of this rank next to its logs.
    fn write_call_sites(&self, directory: &Path, found: &Trace, launched: Option<&Launched>) {
        let are_recorded = self.call_sites.is_some();
        let rank = launched.map(|launched| launched.rank as u32);
        let mapped = |process, address| found.object_at(process, address);
        let stacks = |process, number| found.stack(process, number);
        if let Err(error) = call_site::write(directory, rank, &mapped, &stacks, are_recorded) {
            let error = error.context("the records have addresses only");
            crate::output::complain!("{}", errors::warning(&error));
        }
    }

    /// Reports the calls that are not in the records because they bypass the proxies.
    ///
    /// # Returns
    /// A line for each object and reason.
    fn round_about_lines(
        &self,
        trace: &Trace,
        interfaces: &[Interface],
        run: Option<&Run>,
    ) -> Vec<String> {
        if interfaces.is_empty() {
            return Vec::new();
        }
        let program = round_about::found(Path::new(&self.program[0]));
        let others = round_about::other_definitions(trace);
        if !others.is_empty() {
            crate::output::complain!(
                "note: of functions with several definitions\n  {}",
                others.join("\n  ")
            );
        }
        let mut lines = round_about::lines(program.as_deref(), trace, interfaces);
        lines.extend(run.into_iter().flat_map(|run| left::lines(run, interfaces)));
        if lines.is_empty() {
            return lines;
        }
        let names: Vec<_> = interfaces
            .iter()
            .map(|interface| interface.name.as_str())
            .collect();
        crate::output::complain!(
            "note: calls of {} that are not in the records\n  {}",
            names.join(", "),
            lines.join("\n  ")
        );
        lines
    }

    /// Runs the program without recording: a failing measurement never ends the program that it measures.
    fn unrecorded(
        &self,
        error: anyhow::Error,
        signals: &mut Signals,
    ) -> anyhow::Result<ExitStatus> {
        let error = error.context("nothing is recorded, the program runs without");
        crate::output::complain!("{}", errors::warning(&error));
        let command = || {
            let mut command = Command::new(&self.program[0]);
            command.args(&self.program[1..]);
            command
        };
        match child::run(command(), signals) {
            Err(error) if child::is_of_limit(&error) => {
                Err(child::become_program(command(), signals))
            }
            ended => ended.map(|ended| ended.status),
        }
    }

    /// The record directory, unless it belongs to another run.
    fn directory(&self, name: &str) -> PathBuf {
        match &self.records {
            Some(directory) => directory.clone(),
            None => PathBuf::from(format!("{name}.records")),
        }
    }

    fn config(
        &self,
        name: String,
        libraries: Vec<PathBuf>,
        adapt: Option<LibraryAdaptConfig>,
        launched: Option<&Launched>,
    ) -> anyhow::Result<(WrapConfig, Claim)> {
        let proxy = back_end::mpi_proxy()?;
        let directory = self.directory(&name);
        let act = || format!("cannot make record directory \"{}\"", directory.display());
        fs::create_dir_all(&directory).with_context(act)?;
        let writable = rustix::fs::access(&directory, Access::WRITE_OK | Access::EXEC_OK);
        writable.map_err(io::Error::from).with_context(act)?;
        // The program may go elsewhere.
        let directory = directory.canonicalize().with_context(act)?;
        let claimant = claimant(launched);
        let clear: Option<&dyn Fn(&Path) -> bool> = self.overwrite.then_some(&clear);
        let claim = claim(&directory, &claimant, clear).with_context(act)?;
        if claim.number > 1 && launched.is_none_or(|launched| launched.rank == 0) {
            crate::output::complain!(
                "note: \"{}\" belongs to another run; the records are in \"{}\"",
                directory.display(),
                claim.directory.display()
            );
        }
        let config = WrapConfig {
            directory: claim.directory.clone(),
            run: claimant.run,
            proxy,
            program: name,
            settings: self.set.iter().cloned().collect(),
            limit_bytes: self.records_limit,
            openmp: match self.openmp {
                true => Some(libraries_folder()?.join(OPENMP)),
                false => None,
            },
            mpi_events: self.mpi_events
                || self.call_sites.is_some()
                || self.processor_time.is_asked(),
            libraries,
            processor_time: self.processor_time.choice(),
            call_sites: self.call_sites.is_some(),
            call_depth: self.call_sites.unwrap_or(1),
            uses: match adapt {
                Some(_) => Vec::new(),
                None => self.uses.clone(),
            },
            adapt,
        };
        Ok((config, claim))
    }

    fn command(
        &self,
        config: &WrapConfig,
        trace: &Path,
        loading: &Loading,
    ) -> anyhow::Result<Command> {
        let libraries = libraries_folder()?;
        let (own, audit) = (libraries.join(PRELOADED), libraries.join(AUDIT));
        let mut preloaded = vec![&config.proxy, &own];
        preloaded.extend(&config.openmp);
        preloaded.extend(&config.libraries);
        let needed = [&config.proxy, &own, &audit];
        for library in needed.into_iter().chain(&config.openmp) {
            if !library.exists() {
                bail!(
                    "cannot measure \"{}\": no library \"{}\", expected it where the libraries of this program are",
                    config.program,
                    library.display()
                );
            }
            whole(library).with_context(|| format!("cannot measure \"{}\"", config.program))?;
        }
        let mut command = Command::new(&self.program[0]);
        command
            .args(&self.program[1..])
            .env("LD_PRELOAD", before("LD_PRELOAD", &preloaded))
            .env("LD_AUDIT", before("LD_AUDIT", &[&audit]))
            .env(WRAP_VARIABLE, serde_json::to_string(config)?)
            .env(TRACE_VARIABLE, trace)
            .envs(loading.variables(&preloaded));
        Ok(command)
    }
}

/// Lists the calls of MPI that are missing in the records of a program with other recorded calls.
///
/// # Returns
/// A line for each object and reason.
fn unseen_mpi_lines(config: &WrapConfig, trace: &Trace, run: Option<&Run>) -> Vec<String> {
    let names = run
        .into_iter()
        .flat_map(Run::logs)
        .find_map(|log| Some(log.definitions().mpi_totals.as_ref()?.functions.clone()));
    let lines = mpi_names::lines(trace, &names.unwrap_or_default());
    if !lines.is_empty() {
        crate::output::complain!(
            "note: calls of MPI of {} that are not in the records\n  {}",
            config.program,
            lines.join("\n  ")
        );
    }
    lines
}

/// Writes the findings on calls that are not in the records next to the logs.
fn leave_unseen(config: &WrapConfig, lines: &[String]) {
    let act = || format!("cannot write into \"{}\"", config.directory.display());
    if let Err(error) = unseen_calls::write(&config.directory, lines).with_context(act) {
        let error = error.context("profile will not show what was not recorded");
        crate::output::complain!("{}", errors::warning(&error));
    }
}

/// Programs that start other ones as ranks.
const LAUNCHERS: [&str; 9] = [
    "aprun", "jsrun", "mpiexec", "mpirun", "orterun", "prterun", "prun", "srun", "flux",
];

/// File name of the program: behind a launcher, the first word that names one, since the launcher's options come before it.
fn program_name(words: &[OsString]) -> Option<String> {
    let first = Path::new(words.first()?).file_name()?.to_string_lossy();
    // As in `mpirun.openmpi` and `mpiexec.hydra`.
    let stem = first.split('.').next().unwrap_or_default();
    let behind = words.iter().skip(1).filter(|_| LAUNCHERS.contains(&stem));
    let behind = behind.map(Path::new).find(|word| is_program(word));
    let name = behind.and_then(Path::file_name);
    Some(name.map_or(first, OsStr::to_string_lossy).into_owned())
}

/// Whether a word names a file that can be run, by its path or in one of the folders of `PATH`.
fn is_program(word: &Path) -> bool {
    let can_run = |path: &Path| path.is_file() && rustix::fs::access(path, Access::EXEC_OK).is_ok();
    if word.components().count() > 1 || word.is_absolute() {
        return can_run(word);
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| can_run(&folder.join(word)))
}

/// `INTERFACE=LIB`.
fn library_of_interface(text: &str) -> Result<UseConfig, String> {
    let Some((interface, library)) = text
        .split_once('=')
        .filter(|(name, path)| !name.is_empty() && !path.is_empty())
    else {
        return Err("no interface and library, expected INTERFACE=LIB".into());
    };
    let library = absolute(Path::new(library)).map_err(|error| format!("{error:#}"))?;
    Ok(UseConfig {
        interface: interface.into(),
        library,
    })
}

/// The program may go elsewhere, and the dynamic linker takes a colon for the end of a path.
fn absolute(path: &Path) -> anyhow::Result<PathBuf> {
    let act = || format!("cannot open library \"{}\"", path.display());
    let path = path.canonicalize().with_context(act)?;
    whole(&path)?;
    Ok(path)
}

/// Whether the dynamic linker takes the path of a library, in a variable, for one path.
fn whole(path: &Path) -> anyhow::Result<()> {
    if path.to_string_lossy().contains([':', ' ']) {
        bail!(
            "cannot open library \"{}\": a colon or a blank in its path, expected none (the dynamic linker takes it for an end)",
            path.display()
        );
    }
    Ok(())
}

/// Makes the file in which the processes of the program list what they map; if it cannot be made, they list nothing.
fn trace_file(config: &WrapConfig, launched: Option<&Launched>) -> PathBuf {
    let rank = launched.map_or(0, |launched| launched.rank);
    let path = config.directory.join(format!("rank{rank:04}.mapped"));
    let _ = create_anew(&path);
    path
}

/// Opens proxies and libraries as the program will, and reports mismatches.
///
/// # Returns
/// The interfaces of the proxies.
fn check_libraries(config: &WrapConfig, strict: bool) -> anyhow::Result<Vec<Interface>> {
    let proxies = config.libraries.iter().map(|path| LibraryProxy::open(path));
    let proxies = proxies.collect::<Result<Vec<_>, _>>()?;
    let allowed = config.adapt.iter().flat_map(|adapt| &adapt.alternatives);
    for UseConfig { interface, library } in config.uses.iter().chain(allowed) {
        let Some(proxy) = proxies.iter().find(|proxy| proxy.interface() == interface) else {
            let names: Vec<_> = proxies.iter().map(LibraryProxy::interface).collect();
            bail!(
                "cannot use a library for interface \"{interface}\": proxies of [{}], expected one of it",
                names.join(", ")
            );
        };
        let alternative = proxy.alternative(library)?;
        let missing = alternative.missing();
        if config.adapt.is_some() {
            adapting::check(proxy, library, missing)?;
        }
        if missing.is_empty() {
            continue;
        }
        let error = anyhow!(
            "cannot send all calls of {interface} to \"{}\": it lacks {} of {} functions: {}",
            library.display(),
            missing.len(),
            first_definitions(proxy).count(),
            missing.join(" ")
        );
        if strict {
            return Err(error);
        }
        crate::output::complain!(
            "{}",
            errors::warning(
                &error.context("a call of a function that is not there ends the program")
            )
        );
    }
    let interfaces = proxies.iter().map(|proxy| Interface {
        name: proxy.interface().to_owned(),
        functions: first_definitions(proxy).collect(),
    });
    Ok(interfaces.collect())
}

/// Names of a proxy's functions, each once.
fn first_definitions(proxy: &LibraryProxy) -> impl Iterator<Item = String> {
    let functions = proxy.functions().into_iter();
    let first = functions.filter(|function| !function.is_other);
    first.map(|function| function.name)
}

/// The libraries, followed by those that the variable holds already.
fn before(variable: &str, libraries: &[&PathBuf]) -> OsString {
    let own = libraries.iter().map(|library| library.as_os_str());
    let others = std::env::var_os(variable).filter(|others| !others.is_empty());
    own.chain(others.as_deref())
        .collect::<Vec<_>>()
        .join(OsStr::new(":"))
}

/// The claimant of this process: the run of its launch, or a run of its own.
fn claimant(launched: Option<&Launched>) -> Claimant {
    let variable = |name: &str| std::env::var(name).ok();
    let run = launched.map(|launched| Launch::of(*launched, variable).name);
    let own = || {
        let host = rustix::system::uname();
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        format!(
            "{} {} {}",
            host.nodename().to_string_lossy(),
            std::process::id(),
            now.map_or(0, |now| now.as_nanos())
        )
    };
    Claimant {
        run: run.unwrap_or_else(own),
        rank: launched.map(|launched| launched.rank as u32),
    }
}

/// Removes the logs of an earlier run.
///
/// # Returns
/// Whether none is left; if a program still writes one, all of them stay.
fn clear(directory: &Path) -> bool {
    let Ok(logs) = logs(directory, |path| holds_records(path)) else {
        return false;
    };
    check_ended(directory, &logs).is_ok() && logs.iter().all(|log| fs::remove_file(log).is_ok())
}

/// Removes the other files of an earlier run for the rank that this process starts.
fn forget(config: &WrapConfig, launched: Option<&Launched>) -> anyhow::Result<()> {
    let rank = launched.map_or(0, |launched| launched.rank as u32);
    let _ = fs::remove_file(config.message_file(rank));
    let _ = fs::remove_file(call_site::file(&config.directory, rank));
    if rank == 0 {
        summing::forget(&config.directory);
    }
    adapting::forget(config, launched)
}

fn logs(directory: &Path, is_meant: impl Fn(&PathBuf) -> bool) -> anyhow::Result<Vec<PathBuf>> {
    let act = || format!("cannot read records \"{}\"", directory.display());
    let entries = fs::read_dir(directory).with_context(act)?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    let paths: Vec<_> = paths.collect::<Result<_, _>>().with_context(act)?;
    Ok(paths.into_iter().filter(is_meant).collect())
}

/// Truncates the logs of processes that did not end them.
fn trim_logs(config: &WrapConfig, launched: Option<&Launched>) {
    let is_own = |path: &PathBuf| {
        let rank = launched.map(|launched| launched.rank as u32);
        let is_log = path.extension().is_some_and(|e| e == EXTENSION);
        is_log && LogIdentity::from_path(path).is_some_and(|log| rank.is_none_or(|r| r == log.rank))
    };
    for log in logs(&config.directory, is_own).unwrap_or_default() {
        // It can be read all the same.
        let _ = trim(&log);
    }
}

/// The records, if they are read in a moment.
fn records_of(config: &WrapConfig) -> Option<Run> {
    let is_log = |path: &PathBuf| path.extension().is_some_and(|e| e == EXTENSION);
    let paths = logs(&config.directory, is_log).unwrap_or_default();
    let sizes = paths.iter().filter_map(|path| fs::metadata(path).ok());
    if sizes.map(|metadata| metadata.len()).sum::<u64>() > MAX_BYTES_READ {
        return None;
    }
    // The verbs that read the records report damage and gaps.
    Run::open(&config.directory).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launcher_is_not_the_program() {
        let named = |line: &str| {
            let words: Vec<_> = line.split(' ').map(OsString::from).collect();
            program_name(&words)
        };
        for (line, name) in [
            ("/bin/cat x", "cat"),
            ("mpirun -n 2 /bin/cat x", "cat"),
            ("/opt/bin/mpiexec.hydra -n 2 -host nowhere sh -c ls", "sh"),
            ("srun --ntasks=2 ./not-here", "srun"),
            ("sh mpirun", "sh"),
        ] {
            assert_eq!(named(line).as_deref(), Some(name), "{line}");
        }
    }
}
