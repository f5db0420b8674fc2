//! What `wrap` prints once a program has ended: errors within the program, data that are missing, and where its time
//! went.
//!
//! The library in the program cannot print, since its output is the program's. It leaves its messages as files in the
//! record directory, which are printed here and removed; of several ranks with the same remark, one is enough.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use anyhow::anyhow;
use cca_comm::Launched;
use mastermind_component::{MESSAGE_EXTENSION, REMARK_EXTENSION, WrapConfig};
use mastermind_records::{LogIdentity, Run, lost_calls};

use super::{closing, logs, refused};
use crate::commands::profile;
use crate::errors;
use crate::trace::Trace;

/// Reports errors within the program, and whether no MPI was seen.
pub(super) fn report_errors(config: &WrapConfig, launched: Option<&Launched>, found: &Trace) {
    let rank = launched.map_or(0, |launched| launched.rank as u32);
    // A launcher that is wrapped itself has ranks of its own.
    let is_own_message = |path: &PathBuf| match launched {
        Some(_) => *path == config.message_file(rank),
        None => path.extension().is_some_and(|e| e == MESSAGE_EXTENSION),
    };
    let messages = logs(&config.directory, is_own_message).unwrap_or_default();
    for message in &messages {
        let text = fs::read_to_string(message).unwrap_or_default();
        let _ = fs::remove_file(message);
        let rank = message.file_stem().unwrap_or_default().to_string_lossy();
        let error = anyhow!("{text}").context(format!("{rank} is not measured"));
        crate::output::complain!("{}", errors::warning(&error));
    }
    refused::report(config, launched);
    report_remarks(config, launched);
    let is_seen = |path: &PathBuf| {
        LogIdentity::from_path(path).is_some_and(|log| launched.is_none() || log.rank == rank)
    };
    let seen = logs(&config.directory, is_seen).unwrap_or_default();
    warn_of_lost_calls(config, &seen);
    if seen.is_empty() && messages.is_empty() && rank == 0 {
        let what = if config.libraries.is_empty() {
            "MPI"
        } else {
            "MPI or a proxied library"
        };
        let error = anyhow!(
            "cannot measure {what} of \"{}\": {}",
            config.program,
            why_none(config, found)
        );
        crate::output::complain!("{}", errors::warning(&error.context("nothing is recorded")));
    }
}

/// Reports how many calls have no record, unless a limit was requested.
fn warn_of_lost_calls(config: &WrapConfig, logs: &[PathBuf]) {
    let lost = logs.iter().filter_map(|log| lost_calls(log).ok());
    let lost: u64 = lost.sum();
    if lost > 0 && config.limit_bytes.is_none() {
        crate::output::complain!(
            "warning: {lost} calls have no record; mastermind profile prints the known reasons"
        );
    }
}

/// Reports which requested data are not recorded, each once, since ranks report the same.
fn report_remarks(config: &WrapConfig, launched: Option<&Launched>) {
    let rank = launched.map_or(0, |launched| launched.rank as u32);
    let is_own = |path: &PathBuf| match launched {
        Some(_) => *path == config.remark_file(rank),
        None => path.extension().is_some_and(|e| e == REMARK_EXTENSION),
    };
    let files = logs(&config.directory, is_own).unwrap_or_default();
    let texts = files.iter().map(|file| {
        let text = fs::read_to_string(file).unwrap_or_default();
        let _ = fs::remove_file(file);
        text
    });
    let texts: BTreeSet<String> = texts.collect();
    for text in texts.into_iter().filter(|_| rank == 0) {
        crate::output::complain!("{}", errors::warning(&anyhow!(text)));
    }
}

/// Why there are no records, as far as that is known.
fn why_none(config: &WrapConfig, found: &Trace) -> String {
    let directory = config.directory.display();
    if !config.directory.is_dir() {
        return format!("the record directory \"{directory}\" is gone, expected it to stay");
    }
    if found.is_restricted {
        return "it restricts its system calls (seccomp) before the first call, expected none before".into();
    }
    if found.programs.is_empty() {
        return "no process of it has loaded the proxies, expected one; is it linked statically?"
            .into();
    }
    format!(
        "0 calls seen; possible causes: there are none, they are in a program that is linked statically or started with \
         another LD_PRELOAD, or no file in \"{directory}\" could be opened (another user, limits)"
    )
}

/// Prints the share of MPI in the time.
pub(super) fn print_mpi_share(run: &Run, config: &WrapConfig, launched: Option<&Launched>) {
    let n_ranks = launched
        .and_then(|launched| launched.size)
        .map(|n| n as usize);
    let directory = config.directory.display().to_string();
    if let Some(text) = closing::lines(run, n_ranks, &directory) {
        crate::output::complain!("{text}");
    }
}

/// Prints how the program's threads spent their time.
pub(super) fn print_openmp(run: &Run, config: &WrapConfig) {
    let lines = profile::openmp::lines(run);
    if lines.is_empty() {
        return;
    }
    for line in lines.iter().take(MAX_RANKS_SHOWN) {
        crate::output::complain!("OpenMP, {line}");
    }
    let directory = config.directory.display();
    crate::output::complain!("  all of it: mastermind profile --openmp {directory}");
}

/// Maximum number of ranks whose threads are summarised at the end.
const MAX_RANKS_SHOWN: usize = 4;
