//! Sums a wrapped run of several ranks up when it ends without an error: the last process of a node sums its ranks up,
//! the last node joins all.
//!
//! ```text
//! node A   ranks 0 2 4      the last wrap of the node reads their logs    .sums-A.3of8   ─┐
//! node B   ranks 1 3 5 6 7  the same; all 8 ranks are there now           .sums-B.5of8   ─┴► mastermind-summary.json
//! ```
//!
//! The sums are joined in a tree over the ranks' numbers. So the summary equals the result of `profile` over all logs,
//! to the byte, and no process holds more than the sums of a few ranks. No rank waits for another one, and nothing is
//! sent.
//!
//! # Decisions
//!
//! `run` sums up over MPI, by messages of the application's own communicator: it started all ranks. Under `wrap` the
//! processes that started the ranks do it after these have ended, and not by messages before `MPI_Finalize`, since
//! every way of sending them breaks the rules for a guest. The first two points follow from the standard of MPI, the
//! third was seen under MPICH 4.0:
//!
//! * A message on the program's communicators may be received by a receive of any source and tag that the program left
//!   open, into memory that the program may have freed. So it needs a communicator of its own.
//! * Making one is a collective call that cannot be given up, and waits for ever if not all ranks run under `wrap`
//!   (`mpirun -n 1 mastermind wrap A : -n 3 B`); `MPI_Comm_idup` calls the program's functions that copy attributes.
//! * Nonblocking collective operations can be waited for within a limit, but not withdrawn. If a rank comes to its end
//!   later than the limit, or never, one is left open, and MPICH over UCX writes lines of warnings about that into the
//!   program's output as it ends.
//! * So no message may be sent before a rank knows that all others take part, which it can learn by messages only.
//!
//! A file for each node, whose name has its number of ranks, needs none of this. If a rank is killed, ends without
//! `MPI_Finalize` or was never under `wrap`, the numbers add up to less than all ranks, and then there is no summary.
//! The summary includes calls after `MPI_Finalize`, too.

use std::collections::BTreeSet;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use anyhow::Context;
use mastermind_component::CLAIM_FILE;
use mastermind_records::{ProfileOfRanks, ProfileSums, Run, SUMMARY_FILE, create_anew};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::{call_site, output, recorded_dispatch};

/// Longest time that a process spends on summing up its own logs, or on joining the sums of all.
const MAX_TIME: Duration = Duration::from_secs(1);

/// Maximum bytes of the logs of a node that are summed up: a processor reads 500 MB and more of log in a second.
const MAX_BYTES: u64 = 1 << 30;

/// Prefix of the names of the files that the nodes leave for one another.
const PARTS: &str = ".sums-";

/// Sums the ranks of this node up, and all ranks if this is the last node.
///
/// # Arguments
/// * `ranks` - the ranks of the node; `None` for all that left logs
/// * `n_bytes` - size of their logs
///
/// # Errors
/// The logs cannot be read, or the summary cannot be written.
pub fn sum_up(
    directory: &Path,
    ranks: Option<&BTreeSet<u32>>,
    n_bytes: u64,
) -> anyhow::Result<Summed> {
    let end = Instant::now() + MAX_TIME;
    if n_bytes > MAX_BYTES {
        give_up(directory, &format!("logs of {n_bytes} bytes"));
        return Ok(Summed::Nothing);
    }
    let run = match ranks {
        Some(ranks) => Run::open_set(directory, ranks)?,
        None => Run::open(directory)?,
    };
    let n_all = run.started_ranks() as usize;
    // A sum over several programs in one directory is meaningless.
    let is_of_one = run.programs().len() == 1 && run.unreadable().is_empty();
    if n_all < 2 || !is_of_one || !run.is_finished() {
        return Ok(Summed::Nothing);
    }
    let n_own = run.ranks().len();
    let n_at_once = 4 * available_parallelism().map_or(1, usize::from);
    let Some(own) = ProfileOfRanks::until(&run, end, n_at_once) else {
        give_up(directory, &format!("{n_own} ranks"));
        return Ok(Summed::Nothing);
    };
    drop(run);
    if n_own == n_all {
        own.into_sums().write(directory)?;
        return Ok(Summed::AllOnThisNode);
    }
    write_part(directory, &own, n_own, n_all)?;
    join_parts(directory, n_all)
}

/// Says that a run has no summary.
fn give_up(directory: &Path, what: &str) {
    let directory = directory.display();
    output::complain!(
        "note: the run is not summed up, since {what} are more than is read in {} s; mastermind profile {directory} does it",
        MAX_TIME.as_secs()
    );
}

/// Removes the summary of an earlier run, and the files that its nodes left for one another.
pub fn forget(directory: &Path) {
    let _ = fs::remove_file(directory.join(SUMMARY_FILE));
    for (path, ..) in parts(directory) {
        let _ = fs::remove_file(path);
    }
}

/// Describes which ranks the summary covers.
///
/// # Arguments
/// * `n_ranks` - number of ranks of the run
pub fn describe(directory: &Path, n_ranks: usize) -> String {
    let n_unjoined: usize = parts(directory).iter().map(|(_, n, _)| n).sum();
    match ProfileSums::read(directory) {
        Ok(sums) if sums.ranks() == n_ranks => "of all ranks, profile --summary shows it".into(),
        Ok(sums) => format!("of {} ranks, not of all", sums.ranks()),
        Err(_) if n_unjoined > 0 => format!("none, only {n_unjoined} ranks were summed up"),
        Err(_) => "none, profile reads the logs".into(),
    }
}

fn write_part(
    directory: &Path,
    own: &ProfileOfRanks,
    n_own: usize,
    n_all: usize,
) -> anyhow::Result<()> {
    let host = rustix::system::uname();
    let host = host.nodename().to_string_lossy().replace('/', "-");
    let path = directory.join(format!("{PARTS}{host}.{n_own}of{n_all}"));
    let unfinished = directory.join(format!(".unfinished{PARTS}{host}"));
    let act = || format!("cannot write \"{}\"", path.display());
    let written = create_anew(&unfinished)
        .and_then(|mut file| file.write_all(&serde_json::to_vec(own)?))
        .and_then(|()| fs::rename(&unfinished, &path));
    if written.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    written.with_context(act)
}

/// Joins the sums of all nodes, once they cover all ranks. If several nodes end at once, the first to write the summary
/// counts.
fn join_parts(directory: &Path, n_all: usize) -> anyhow::Result<Summed> {
    let parts: Vec<_> = parts(directory);
    let parts = parts.iter().filter(|(_, _, of)| *of == n_all);
    if parts.clone().map(|(_, n_ranks, _)| n_ranks).sum::<usize>() != n_all {
        return Ok(Summed::Part);
    }
    let mut all = ProfileOfRanks::default();
    for (path, ..) in parts.clone() {
        // Another node has joined the files and removed this one.
        let Ok(text) = fs::read(path) else {
            return Ok(Summed::Part);
        };
        let part = serde_json::from_slice(&text);
        all.merge(part.with_context(|| format!("cannot read \"{}\"", path.display()))?);
    }
    let sums = serde_json::to_value(all.into_sums())?;
    if !write_once(directory, &sums)? {
        return Ok(Summed::Part);
    }
    for (path, ..) in parts {
        let _ = fs::remove_file(path);
    }
    Ok(Summed::AllHere)
}

/// Writes the summary, unless there is one.
///
/// # Returns
/// Whether there was none.
fn write_once(directory: &Path, sums: &Value) -> anyhow::Result<bool> {
    let path = directory.join(SUMMARY_FILE);
    let own = directory.join(format!(".unfinished{PARTS}{}", std::process::id()));
    let act = || format!("cannot write \"{}\"", path.display());
    let written = create_anew(&own)
        .and_then(|mut file| file.write_all(&serde_json::to_vec(sums)?))
        .and_then(|()| fs::hard_link(&own, &path));
    let _ = fs::remove_file(&own);
    match written {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        written => written.map(|()| true).with_context(act),
    }
}

/// Member of the summary with the code that the libraries of the run ran.
pub const DISPATCH: &str = "dispatch";

/// Member with where calls come from.
pub const CALL_SITES: &str = "call_sites";

/// The ranks that a process has summed up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Summed {
    /// Nothing.
    Nothing,
    /// `run` does it at its end, over MPI.
    ByRun,
    /// The ranks of this node; others end later.
    Part,
    /// All ranks, of several nodes.
    AllHere,
    /// All ranks, which are on this node.
    AllOnThisNode,
}

impl Summed {
    /// Takes the small files of a packed run into its summary, so that a run on one node leaves two files, the summary
    /// and the container.
    ///
    /// # Arguments
    /// * `has_first` - whether this node has rank 0
    ///
    /// # Errors
    /// The summary cannot be written; then the files stay.
    pub fn take_in(self, directory: &Path, has_first: bool) -> anyhow::Result<()> {
        let path = directory.join(SUMMARY_FILE);
        let is_here = match self {
            Self::Nothing | Self::Part => false,
            Self::ByRun => has_first && path.is_file(),
            Self::AllHere | Self::AllOnThisNode => true,
        };
        if !is_here {
            return Ok(());
        }
        let mut taken = vec![(DISPATCH, directory.join(recorded_dispatch::FILE))];
        if self == Self::AllOnThisNode {
            let sites = call_site::files(directory).map(|path| (CALL_SITES, path));
            let sites: Vec<_> = sites.collect();
            // More than one if they could not be joined.
            taken.extend(sites.into_iter().take(1));
        }
        let act = || format!("cannot write \"{}\"", path.display());
        let mut summary: Map<String, Value> = json_in(&path).with_context(act)?;
        taken.retain(|(member, path)| match json_in(path) {
            Some(Value::Null) | None => false,
            Some(found) => summary.insert((*member).into(), found).is_none(),
        });
        if !taken.is_empty() {
            let part = directory.join(format!(".unfinished{PARTS}{}", std::process::id()));
            create_anew(&part)
                .and_then(|mut file| file.write_all(&serde_json::to_vec(&summary)?))
                .and_then(|()| fs::rename(&part, &path))
                .with_context(act)?;
        }
        for (_, path) in taken {
            let _ = fs::remove_file(path);
        }
        if self != Self::ByRun {
            // All ranks have ended: none needs the claim any more, and other runs see that the directory has records.
            let _ = fs::remove_file(directory.join(CLAIM_FILE));
        }
        Ok(())
    }
}

fn json_in<T: DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

/// A value that was taken into the summary.
pub fn taken_in<T: DeserializeOwned>(directory: &Path, member: &str) -> Option<T> {
    let mut summary: Map<String, Value> = json_in(&directory.join(SUMMARY_FILE))?;
    serde_json::from_value(summary.remove(member)?).ok()
}

/// The files that the nodes left: path, number of its ranks, and number of ranks of the run.
fn parts(directory: &Path) -> Vec<(PathBuf, usize, usize)> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let part = |path: PathBuf| {
        let name = path.file_name()?.to_str()?.strip_prefix(PARTS)?;
        let (_, numbers) = name.rsplit_once('.')?;
        let (n_ranks, n_all) = numbers.split_once("of")?;
        let (n_ranks, n_all) = (n_ranks.parse().ok()?, n_all.parse().ok()?);
        Some((path, n_ranks, n_all))
    };
    let mut parts: Vec<_> = entries.filter_map(|entry| part(entry.path())).collect();
    parts.sort();
    parts
}
