//! Reads the header of a log.

use std::fs::File;
use std::path::Path;
use std::sync::atomic::Ordering;

use super::{N_TRIES, WORD};
use crate::error::RecordsError;
use crate::layout::{HEADER_BYTES, LogHeader, MAGIC, PAGE_BYTES, VERSION, entries_at};
use crate::source::{Source, read_words};
use crate::totals::{SCRATCH_AT, TOTALS_AT, TOTALS_WORDS};

/// The header of a log at one moment, with the sums of calls without a record.
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

    /// Reads the current first page, without the sums: for a log that grows and is read often.
    pub(super) fn read_first_page(file: &File) -> Option<Self> {
        let mut header = Self(vec![0; PAGE_BYTES / WORD]);
        let n_words = read_words(file, 0, &mut header.0);
        (n_words == header.0.len()).then_some(header)
    }

    /// Whether the fields that belong together stayed unchanged during the reading.
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
        // SAFETY: the words are aligned like the header and at least a page, larger than it; every bit pattern is
        // valid.
        unsafe { &*self.0.as_ptr().cast() }
    }

    /// The sums.
    pub(super) fn totals(&self) -> &[u64] {
        &self.0[TOTALS_AT / WORD..][..TOTALS_WORDS]
    }

    /// The latest calls, which are not in the sums.
    pub(super) fn latest_calls(&self) -> &[u64] {
        &self.0[SCRATCH_AT / WORD..][..self.get().scratch_words()]
    }
}

/// Checks that a file is a log of a known version; tolerates one damaged field.
///
/// # Returns
/// The position of its entries, and whether its identity is undamaged.
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
