//! The file of a log: a header, then the words of the entries.
//!
//! ```text
//! byte 0      magic, layout version, header size, rank, thread, check of these      written once
//!      64     finished flag, calibrations (start, and two that alternate as latest)  at start, chunk changes, end
//!      256    LogCells: committed bytes, depth, dropped, open calls                  at each call
//!      4096   sums of calls that have no record, then the latest such calls          once records have stopped
//!      65536  entries (cca_abi::recording::word)                                     at each call
//! ```
//!
//! Version 1 had no such sums: its entries begin at byte 4096. Numbers are in the byte order of the machine that wrote
//! them. A program that writes a log locks it (`flock`) as long as it maps it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use cca_abi::recording::LogCells;

use crate::totals::{SCRATCH_WORDS, STOPPED};

/// First eight bytes of each log, of every version.
pub const MAGIC: [u8; 8] = *b"MMRECORD";
/// Version of the layout that this crate writes; it also reads version 1.
pub const VERSION: u32 = 2;
/// Bytes of the header, after which the entries begin, in this version.
pub const HEADER_BYTES: usize = 65_536;
/// Bytes of the part of the header that is the same in all versions.
pub const PAGE_BYTES: usize = 4096;
/// File name extension of a log, without the dot.
pub const EXTENSION: &str = "mmr";

const CELLS_OFFSET: usize = 256;
const IDENTITY_BYTES: usize = 24;

/// Position of the entries in a log of this version, bytes; `None` for an unknown version.
pub const fn entries_at(version: u32) -> Option<u64> {
    match version {
        1 => Some(PAGE_BYTES as u64),
        VERSION => Some(HEADER_BYTES as u64),
        _ => None,
    }
}

/// Rank and number of a log, which identify it within a run and are in its file name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LogIdentity {
    /// Rank in the run.
    pub rank: u32,
    /// Number of the log within the rank. A later thread continues the log of a thread that has ended.
    pub thread: u32,
}

impl LogIdentity {
    /// Path of the log in a directory: `rank0000-thread00.mmr`.
    pub fn path(self, directory: &Path) -> PathBuf {
        directory.join(format!(
            "rank{:04}-thread{:02}.{EXTENSION}",
            self.rank, self.thread
        ))
    }

    /// The rank and number in the file name of a path; `None` if it is not the name of a log.
    pub fn from_path(path: &Path) -> Option<Self> {
        let (rank, thread) = path
            .file_stem()?
            .to_str()?
            .strip_prefix("rank")?
            .split_once("-thread")?;
        Some(Self {
            rank: rank.parse().ok()?,
            thread: thread.parse().ok()?,
        })
    }
}

/// The same moment on the log's clock and on the system's, from two of which ticks are converted to nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calibration {
    /// Reading of the log's clock, ticks.
    pub ticks: u64,
    /// Reading of `CLOCK_MONOTONIC`, nanoseconds.
    pub ns: u64,
}

/// A calibration in the header, with a check that detects torn and damaged ones.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct CalibrationCell {
    ticks: AtomicU64,
    ns: AtomicU64,
    check: AtomicU64,
}

impl CalibrationCell {
    fn check(calibration: Calibration) -> u64 {
        (calibration.ticks ^ calibration.ns.rotate_left(32)).wrapping_add(0x9E37_79B9_7F4A_7C15)
    }

    pub(crate) fn store(&self, calibration: Calibration) {
        self.check.store(0, Ordering::Release);
        self.ticks.store(calibration.ticks, Ordering::Release);
        self.ns.store(calibration.ns, Ordering::Release);
        self.check
            .store(Self::check(calibration), Ordering::Release);
    }

    /// The calibration; `None` if it is torn or damaged, `Some(None)` if it was never written.
    pub(crate) fn load(&self) -> Option<Option<Calibration>> {
        let check = self.check.load(Ordering::Acquire);
        let calibration = Calibration {
            ticks: self.ticks.load(Ordering::Acquire),
            ns: self.ns.load(Ordering::Acquire),
        };
        if check == Self::check(calibration) {
            Some(Some(calibration))
        } else if check == 0 && calibration == Calibration::default() {
            Some(None)
        } else {
            None
        }
    }
}

/// The header page.
#[repr(C)]
pub(crate) struct LogHeader {
    pub(crate) magic: [u8; 8],
    pub(crate) version: u32,
    pub(crate) header_bytes: u32,
    pub(crate) rank: u32,
    pub(crate) thread: u32,
    pub(crate) identity_check: u64,
    reserved: [u64; 4],
    /// 1 once the log is finished.
    pub(crate) finished: AtomicU64,
    /// Start, and two slots for the latest.
    pub(crate) calibrations: [CalibrationCell; 3],
    /// Index of the latest calibration.
    pub(crate) latest: AtomicU64,
    /// 0 while the log takes records; then the committed bytes of the entry stream, plus 1.
    pub(crate) stopped: AtomicU64,
    /// Number of changes of the sums of calls without a record; odd during a change.
    pub(crate) sums_changed: AtomicU64,
    reserved_too: [u64; 11],
    pub(crate) cells: LogCells,
}

const _: () = assert!(size_of::<LogHeader>() <= PAGE_BYTES);
const _: () = assert!(std::mem::offset_of!(LogHeader, finished) == 64);
const _: () = assert!(std::mem::offset_of!(LogHeader, cells) == CELLS_OFFSET);
const _: () = assert!(std::mem::offset_of!(LogHeader, identity_check) == IDENTITY_BYTES);

impl LogHeader {
    /// Fills in the fields that are written once.
    pub(crate) fn initialise(&mut self, identity: LogIdentity, start: Calibration) {
        self.magic = MAGIC;
        self.version = VERSION;
        self.header_bytes = HEADER_BYTES as u32;
        self.rank = identity.rank;
        self.thread = identity.thread;
        self.identity_check = self.computed_identity_check();
        self.calibrations[0].store(start);
    }

    /// The expected check of the identity fields.
    pub(crate) fn computed_identity_check(&self) -> u64 {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&self.magic);
        for field in [self.version, self.header_bytes, self.rank, self.thread] {
            hasher.update(&field.to_ne_bytes());
        }
        u64::from(hasher.finalize())
    }

    /// Complete bytes of the entry stream, whether or not the log still takes records; `None` if they changed while the
    /// page was read.
    pub(crate) fn committed_bytes(&self) -> Option<u64> {
        let committed = self.cells.committed.load(Ordering::Acquire);
        match self.stopped.load(Ordering::Acquire) {
            0 if committed >= STOPPED && committed - STOPPED <= HEADER_BYTES as u64 => None,
            0 => Some(committed),
            stopped => Some(stopped - 1),
        }
    }

    /// Words of the latest calls without a record that are not yet summed up.
    pub(crate) fn scratch_words(&self) -> usize {
        let committed = self.cells.committed.load(Ordering::Acquire);
        let bytes = committed.saturating_sub(STOPPED);
        (bytes as usize / size_of::<u64>()).min(SCRATCH_WORDS)
    }

    /// Replaces the latest calibration; the previous one stays until the new one is complete.
    pub(crate) fn store_latest(&self, calibration: Calibration) {
        let next = if self.latest.load(Ordering::Relaxed) == 1 {
            2
        } else {
            1
        };
        self.calibrations[next].store(calibration);
        self.latest.store(next as u64, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_contains_the_identity() {
        let identity = LogIdentity {
            rank: 12_345,
            thread: 7,
        };
        let path = identity.path(Path::new("/records"));
        assert_eq!(path, Path::new("/records/rank12345-thread07.mmr"));
        assert_eq!(LogIdentity::from_path(&path), Some(identity));
        assert_eq!(LogIdentity::from_path(Path::new("rank-thread.mmr")), None);
    }
}
