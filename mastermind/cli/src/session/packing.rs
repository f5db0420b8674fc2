//! Packs the logs of a node when a run ends without an error: the last process to end does it, for all.
//!
//! While a run goes on, each rank holds a shared lock, together with the others of its node, on a file of the record
//! directory that lists their numbers, `.ranks-HOST`. A rank that ends without an error requests the lock exclusively.
//! It gets the lock if no other rank of the node holds it any more. Then all logs of the node are complete, and nobody
//! reads them, so it packs them ([`pack`]) and removes the file. So ranks exchange no message for it, and none waits
//! for another one; a killed rank has released its lock, and its log is packed as it is.
//!
//! Nothing is lost if this fails. A container gets its name only when it is complete and was compared with the logs,
//! and the logs are removed only then: a node that dies, a full disk or a read-only folder leave the logs, for
//! `mastermind pack`. Under `wrap` the launching process packs once the program has ended, not a thread in the program:
//! there, reading and writing hundreds of megabytes would break the rules for a guest. After the end it slows nobody
//! down, and does not require that the program ends without an error.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use mastermind_records::{LogIdentity, PackOptions, RecordsError, pack};
use rustix::fs::{FlockOperation, OFlags, flock};

use crate::session::summing::{Summed, sum_up};
use crate::{call_site, errors, output};

/// Number of logs of a node from which they are packed by default. Arbitrary: few files are no problem for a file
/// system, and stay as they were written.
const MIN_LOGS: usize = 16;

/// Maximum bytes of the logs of a node that are packed by default: 200 MB of log are packed and compared in a second
/// (`cargo xtask scale`), so the end of a run takes at most some 10 s longer.
const MAX_BYTES: u64 = 2_000_000_000;

/// What becomes of the logs of a run that ended well.
#[derive(Args, Clone, Debug, Default)]
pub struct PackArguments {
    /// When the run has ended well, pack the logs of each node into one file, however many they are; without it those of a node are packed
    /// from 16 on, as long as they have less than 2 GB
    #[arg(long, conflicts_with = "keep_logs")]
    pack: bool,
    /// Leave the logs as they are, one a rank and thread
    #[arg(long)]
    keep_logs: bool,
    /// Do not sum the run up at its end for `profile --summary`
    #[arg(long)]
    no_summary: bool,
}

impl PackArguments {
    /// Begins to count this process among those of the node.
    ///
    /// # Arguments
    /// * `directory` - of the logs at the end
    /// * `rank` - whose logs they are; `None` for those of all ranks, if this process alone starts them
    /// * `sums_up` - whether the last process of the node sums its ranks up too, unless that is switched off
    ///
    /// # Returns
    /// `None` if nothing is to be done with the logs, or the directory does not permit it.
    pub fn begin(&self, directory: &Path, rank: Option<u32>, sums_up: bool) -> Option<NodeLogs> {
        let sums_up = sums_up && self.has_summary();
        if self.keep_logs && !sums_up {
            return None;
        }
        NodeLogs::begin(directory, rank, self, sums_up).ok()
    }

    /// Whether the run is to be summed up at its end.
    pub fn has_summary(&self) -> bool {
        !self.no_summary
    }
}

/// The logs of the processes of this node, until the last of them ends.
#[derive(Debug)]
pub struct NodeLogs {
    directory: PathBuf,
    /// The list of the ranks, locked together with the others.
    list: File,
    path: PathBuf,
    packs: Packs,
    sums_up: bool,
}

/// Whether the logs are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Packs {
    Never,
    WhereMany,
    Always,
}

impl NodeLogs {
    fn begin(
        directory: &Path,
        rank: Option<u32>,
        asked: &PackArguments,
        sums_up: bool,
    ) -> io::Result<Self> {
        let host = rustix::system::uname();
        let host = host.nodename().to_string_lossy().replace('/', "-");
        let path = directory.join(format!(".ranks-{host}"));
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        // Never through a link, which another user may have put there.
        options.custom_flags(OFlags::NOFOLLOW.bits() as i32);
        let list = options.open(&path)?;
        if flock(&list, FlockOperation::NonBlockingLockExclusive).is_ok() {
            // Nobody else is here: the list is from a run that was killed.
            list.set_len(0)?;
        }
        flock(&list, FlockOperation::LockShared)?;
        let mut logs = Self {
            directory: directory.into(),
            list,
            path,
            packs: match (asked.keep_logs, asked.pack) {
                (true, _) => Packs::Never,
                (false, false) => Packs::WhereMany,
                (false, true) => Packs::Always,
            },
            sums_up,
        };
        let line = rank.map_or("all\n".to_owned(), |rank| format!("{rank}\n"));
        let listed = logs.list.write_all(line.as_bytes());
        if let Err(error) = listed {
            logs.end(false);
            return Err(error);
        }
        Ok(logs)
    }

    /// Ends this process's part of a run. The last process of a node sums up the logs of all, and packs them.
    ///
    /// # Arguments
    /// * `is_well` - whether the run ended without an error, as far as this process knows
    pub fn end(mut self, is_well: bool) {
        if flock(&self.list, FlockOperation::NonBlockingLockExclusive).is_err() {
            return;
        }
        if is_well && let Err(error) = self.close() {
            output::message(&errors::warning(&error));
        }
        let _ = fs::remove_file(&self.path);
    }

    fn close(&mut self) -> anyhow::Result<()> {
        let mut text = String::new();
        let read =
            io::Seek::rewind(&mut self.list).and_then(|()| self.list.read_to_string(&mut text));
        read.with_context(|| format!("cannot read \"{}\"", self.path.display()))?;
        // One line that is not a number means all ranks.
        let ranks: Option<BTreeSet<u32>> = text.lines().map(|line| line.parse().ok()).collect();
        let (n_logs, n_bytes) = self.size(ranks.as_ref());
        if n_logs == 0 {
            return Ok(());
        }
        // The logs are read faster before they are packed.
        let summed = match self.sums_up {
            true => sum_up(&self.directory, ranks.as_ref(), n_bytes),
            false => Ok(Summed::ByRun),
        };
        let summed = summed.unwrap_or_else(|error| {
            let error = error.context("the run has no summary");
            output::message(&errors::warning(&error));
            Summed::Nothing
        });
        let packed = self.pack(ranks.clone(), n_logs, n_bytes);
        if packed.context("the logs are not packed, and stay")? {
            call_site::join(&self.directory, ranks.as_ref())?;
            let of_node = ranks.is_none_or(|ranks| ranks.contains(&0));
            summed.take_in(&self.directory, of_node)?;
        }
        Ok(())
    }

    /// # Returns
    /// Whether it packed them.
    fn pack(
        &self,
        ranks: Option<BTreeSet<u32>>,
        n_logs: usize,
        n_bytes: u64,
    ) -> anyhow::Result<bool> {
        let is_asked = self.packs == Packs::Always;
        if self.packs == Packs::Never || (n_logs < MIN_LOGS && !is_asked) {
            return Ok(false);
        }
        if n_bytes > MAX_BYTES && !is_asked {
            let directory = self.directory.display();
            output::complain!(
                "note: {n_logs} logs with {n_bytes} bytes are not packed, which would take some time; \
                 mastermind pack {directory} does it"
            );
            return Ok(false);
        }
        let options = PackOptions { keep: false, ranks };
        match pack(&self.directory, &options) {
            // Processes that the program left behind go on writing.
            Err(RecordsError::StillWritten { .. }) => Ok(false),
            packed => Ok(packed.map(|_| true)?),
        }
    }

    /// The logs of the node, and their bytes.
    fn size(&self, ranks: Option<&BTreeSet<u32>>) -> (usize, u64) {
        let entries = fs::read_dir(&self.directory)
            .into_iter()
            .flatten()
            .flatten();
        let own = entries.filter(|entry| {
            let identity = LogIdentity::from_path(&entry.path());
            identity.is_some_and(|found| ranks.is_none_or(|ranks| ranks.contains(&found.rank)))
        });
        own.fold((0, 0), |(n, bytes), entry| {
            (n + 1, bytes + entry.metadata().map_or(0, |file| file.len()))
        })
    }
}
