//! Records into the store.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::anyhow;
use clap::Args;
use mastermind_history::{Circumstances, RunSums, Store, sum_up};
use mastermind_records::{Run, RunInfo};

use super::STORE;
use crate::commands::profile::mpi::computing;
use crate::commands::profile::{open, warn_of_missing_records};
use crate::errors::warning;
use crate::session::recording::await_ranks;
use crate::{output, run_notes};

#[derive(Args)]
#[command(after_help = "Example: mastermind history add records --to history --commit 1a2b3c")]
pub(super) struct Add {
    /// Record directories, each one run
    #[arg(required = true)]
    records: Vec<PathBuf>,
    /// The store; made if it is not there
    #[arg(long, value_name = "STORE", default_value = STORE)]
    to: PathBuf,
    #[command(flatten)]
    names: Names,
}

/// What the records do not say of a run.
#[derive(Args, Clone, Default)]
pub(super) struct Names {
    /// The commit that ran
    #[arg(long, value_name = "REV")]
    commit: Option<String>,
    /// Name of the machine, for hosts that are alike [default: the host's name]
    #[arg(long, value_name = "NAME")]
    machine: Option<String>,
}

impl Add {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        for records in &self.records {
            output::line(add(records, &self.to, &self.names)?);
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// `--history` of the verbs that record.
#[derive(Args, Clone, Default)]
pub struct KeepArguments {
    /// Add the run to this history at its end, as history add does
    #[arg(long, value_name = "STORE")]
    history: Option<PathBuf>,
    /// The commit that runs, for the history
    #[arg(long, value_name = "REV", requires = "history")]
    commit: Option<String>,
}

impl KeepArguments {
    /// Whether the run is to be kept.
    pub fn is_asked(&self) -> bool {
        self.history.is_some()
    }

    /// Adds a run that has ended, if requested, and reports it on standard error, since standard output may be the
    /// program's. An error is only a warning: the run has ended, and the records exist.
    ///
    /// # Arguments
    /// * `n_ranks` - number of ranks that must have left logs; `None` if unknown
    pub fn keep(&self, records: &Path, n_ranks: Option<usize>) {
        let Some(store) = &self.history else {
            return;
        };
        let names = Names {
            commit: self.commit.clone(),
            machine: None,
        };
        let added = match await_ranks(records, n_ranks) {
            true => add(records, store, &names),
            false => Err(anyhow!(
                "cannot add \"{}\" to the history: ranks still write, or have left no logs, expected all to have ended; \
                 mastermind history add does it later",
                records.display()
            )),
        };
        match added {
            Ok(text) => output::complain!("history: {text}"),
            Err(error) => output::complain!("{}", warning(&error)),
        }
    }
}

/// Adds the run of a record directory.
///
/// # Returns
/// A text that says what was added, and where.
fn add(records: &Path, to: &Path, names: &Names) -> anyhow::Result<String> {
    let run = open(records)?;
    run_notes::refuse_dry(&run, || {
        format!("cannot add \"{}\" to the history", records.display())
    })?;
    warn_of_missing_records(&run, "they are not in the history");
    let sums = of_run(&run, names);
    let added = Store::new(to).add(&sums)?;
    let cells = match sums.cells.len() {
        1 => "1 row".into(),
        n => format!("{n} rows"),
    };
    Ok(match added.is_new {
        true => format!("{}: {cells} in {}", added.id, added.path.display()),
        false => format!("{}: there already, in {}", added.id, added.path.display()),
    })
}

fn of_run(run: &Run, names: &Names) -> RunSums {
    let info = RunInfo::of(run);
    let found = info.circumstances.first().map(|found| &found.started);
    let hosts: Vec<String> = info.hosts.iter().cloned().collect();
    let processor = found.and_then(|found| found.processor.clone());
    let usable = found.and_then(|found| found.processors_usable);
    let machine = names.machine.clone().unwrap_or_else(|| hosts.join(" "));
    let machine = [
        Some(machine),
        processor.clone(),
        usable.map(|n| n.to_string()),
    ];
    let circumstances = Circumstances {
        program: program(&info.assembly),
        machine: machine.into_iter().flatten().collect::<Vec<_>>().join(", "),
        hosts,
        processor,
        processors_usable: usable,
        mpi_library: found.and_then(|found| found.mpi_library.clone()),
        command: found.map(|found| found.command.clone()).unwrap_or_default(),
        settings: settings(run),
        commit: names.commit.clone(),
        started_unix_ns: info.started_unix_ns.unwrap_or(0),
        load: info.load_begin,
        processor_share: info.processor_shares.values().copied().reduce(f64::min),
        record_ns: info.clocks.first().and_then(|clock| clock.record_ns),
        recorder: found.and_then(|found| found.version.clone()),
        finished: info.finished,
        lost_calls: info.lost_records,
        computing: computing(run),
    };
    sum_up(run, circumstances)
}

/// Name of an assembly, or of a program without its folder.
fn program(assembly: &str) -> String {
    let name = Path::new(assembly)
        .file_name()
        .and_then(|name| name.to_str());
    name.unwrap_or(assembly).to_owned()
}

/// The settings of all programs of the run; one that differs between them has all its values.
fn settings(run: &Run) -> BTreeMap<String, String> {
    let mut all = BTreeMap::<String, String>::new();
    for (name, value) in run_notes::settings(run).into_iter().flatten() {
        match all.get_mut(&name) {
            Some(known) if *known != value => *known += &format!(" | {value}"),
            Some(_) => {}
            None => drop(all.insert(name, value)),
        }
    }
    all
}
