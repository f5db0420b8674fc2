//! The header of a log, read.

use std::fs::File;
use std::path::Path;
use std::sync::atomic::Ordering;

use super::{N_TRIES, WORD};
use crate::error::RecordsError;
use crate::layout::{HEADER_BYTES, LogHeader, MAGIC, PAGE_BYTES, VERSION, entries_at};
use crate::source::{Source, read_words};
use crate::totals::{SCRATCH_AT, TOTALS_AT, TOTALS_WORDS};

/// The header of a log as it was at one moment, with the sums of calls that have no record.
pub(super) struct HeaderWords(Vec<u64>);

impl HeaderWords {
    /// `None` if the file is shorter than a page.
    pub(super) fn read(file: &mut Source) -> Option<Self> {
        let mut header = Self(vec![0; HEADER_BYTES / WORD]);
        for _ in 0..N_TRIES {
            let n_words = file.read_words(0, &mut header.0);
            if n_words < PAGE_BYTES / WORD {
                return None;
            }
            header.0[n_words..].fill(0);
            if header.is_settled(file) {
                break;
            }
        }
        Some(header)
    }

    /// As it is just then, without the sums: of one that grows, and is looked at often.
    pub(super) fn read_first_page(file: &File) -> Option<Self> {
        let mut header = Self(vec![0; PAGE_BYTES / WORD]);
        let n_words = read_words(file, 0, &mut header.0);
        (n_words == header.0.len()).then_some(header)
    }

    /// Whether nothing of it changed that belongs together while it was read.
    fn is_settled(&self, file: &mut Source) -> bool {
        let header = self.get();
        if header.committed_bytes().is_none() {
            return false;
        }
        let changed = header.sums_changed.load(Ordering::Relaxed);
        let mut now = [0];
        let at = std::mem::offset_of!(LogHeader, sums_changed) as u64;
        changed == 0
            || (changed.is_multiple_of(2)
                && file.read_words(at, &mut now) == 1
                && now[0] == changed)
    }

    pub(super) fn get(&self) -> &LogHeader {
        // SAFETY: the words are aligned as the header is, and at least a page, which it fits into; every bit pattern of it is valid.
        unsafe { &*self.0.as_ptr().cast() }
    }

    /// The sums.
    pub(super) fn totals(&self) -> &[u64] {
        &self.0[TOTALS_AT / WORD..][..TOTALS_WORDS]
    }

    /// The latest calls, which are not among the sums.
    pub(super) fn latest_calls(&self) -> &[u64] {
        &self.0[SCRATCH_AT / WORD..][..self.get().scratch_words()]
    }
}

/// Looks whether a file is a log of a version that is known; one damaged field is tolerated.
///
/// # Returns
/// Where its entries begin, and whether its identity is undamaged.
pub(super) fn check_identity(header: &LogHeader, path: &Path) -> Result<(u64, bool), RecordsError> {
    let is_intact = header.identity_check == header.computed_identity_check();
    let by_version = entries_at(header.version);
    let size = u64::from(header.header_bytes);
    let by_size = (1..=VERSION).filter_map(entries_at).find(|at| *at == size);
    if header.magic != MAGIC && (by_version.is_none() || by_version != by_size) {
        return Err(RecordsError::NotALog {
            path: path.into(),
            found: header.magic.to_vec(),
        });
    }
    let known = match is_intact {
        true => by_version,
        false => by_version.or(by_size),
    };
    let entries_at = known.ok_or_else(|| RecordsError::Version {
        path: path.into(),
        found: header.version,
    })?;
    Ok((entries_at, is_intact))
}
