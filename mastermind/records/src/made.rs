//! A log made in memory, for a simulated rank that no recorder observes.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use cca_abi::recording::word::{self, HEAD_WORDS, MAX_RECORD_WORDS};

use crate::definition::{Definition, definition_entry};
use crate::error::RecordsError;
use crate::layout::{Calibration, HEADER_BYTES, LogHeader, LogIdentity, PAGE_BYTES};
use crate::log::Undamaged;
use crate::writer::RecordWords;

const WORD: usize = size_of::<u64>();

/// A log that grows in memory and is then written in one piece.
#[derive(Debug)]
pub struct MadeLog {
    identity: LogIdentity,
    header: Vec<u64>,
    entries: Vec<u64>,
    n_records: u64,
    last: Option<(u32, u64)>,
}

impl MadeLog {
    /// Creates a log without entries.
    ///
    /// # Arguments
    /// * `start` - of its rank
    /// * `end` - of its rank; records lie between the two
    pub fn new(identity: LogIdentity, start: Calibration, end: Calibration) -> Self {
        let mut header = vec![0_u64; HEADER_BYTES / WORD];
        // SAFETY: the words are aligned like the header and larger than it; every bit pattern of it is valid, and
        // nobody else uses them.
        let page = unsafe { &mut *header.as_mut_ptr().cast::<LogHeader>() };
        page.initialise(identity, start);
        page.store_latest(end);
        page.finished.store(1, Ordering::Relaxed);
        Self {
            identity,
            header,
            entries: Vec::new(),
            n_records: 0,
            last: None,
        }
    }

    /// Adds a definition, before the records that need it.
    ///
    /// # Errors
    /// [`RecordsError::Encode`].
    pub fn define(&mut self, definition: &Definition) -> Result<(), RecordsError> {
        let encoded = definition_entry(definition).map_err(|source| RecordsError::Encode {
            path: self.identity.path(Path::new("")),
            source,
        })?;
        self.entries.extend_from_slice(&encoded);
        Ok(())
    }

    /// Adds a record; a record of more words than an entry may have is dropped.
    pub fn append(&mut self, record: RecordWords<'_>) {
        let n_words = HEAD_WORDS + record.values.len();
        if n_words > MAX_RECORD_WORDS {
            return;
        }
        let failed = if record.failed { word::FAILED } else { 0 };
        let measured = if record.mpi.is_some() {
            word::MPI_MEASURED
        } else {
            0
        };
        let head = word::record(record.path, n_words, failed | measured);
        let times = [record.start, record.wall, record.mpi.unwrap_or(0)];
        let words = times.iter().chain(record.values);
        let check = word::folded(words.clone().fold(head, |xor, word| xor ^ word));
        self.entries.push(head | check);
        self.entries.extend(words);
        self.n_records += 1;
        self.last = Some((record.path, record.start));
    }

    /// Rank and number of the log within the rank.
    pub fn identity(&self) -> LogIdentity {
        self.identity
    }

    /// Facts about its entries.
    pub(crate) fn undamaged(&self) -> Undamaged {
        Undamaged {
            n_words: self.entries.len(),
            n_records: self.n_records,
            last: self.last,
        }
    }

    /// Writes it to a file, in which the zeros of the header take no disk space.
    ///
    /// # Errors
    /// [`RecordsError::Io`], [`RecordsError::Exists`].
    pub fn write(mut self, directory: &Path) -> Result<PathBuf, RecordsError> {
        let path = self.identity.path(directory);
        self.commit();
        let write = || -> io::Result<()> {
            let file = OpenOptions::new()
                .write(true)
                .create_new(true)
                .open(&path)?;
            let page = &self.header[..PAGE_BYTES / WORD];
            file.write_all_at(bytemuck::cast_slice(page), 0)?;
            file.write_all_at(bytemuck::cast_slice(&self.entries), HEADER_BYTES as u64)
        };
        match write() {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(RecordsError::Exists { path })
            }
            Err(error) => Err(RecordsError::io("write record log", &path)(error)),
            Ok(()) => Ok(path),
        }
    }

    /// Its bytes, as a reader.
    pub(crate) fn bytes(&mut self) -> impl Read {
        self.commit();
        let header: &[u8] = bytemuck::cast_slice(&self.header);
        header.chain(bytemuck::cast_slice::<_, u8>(&self.entries))
    }

    fn commit(&mut self) {
        let n_bytes = (self.entries.len() * WORD) as u64;
        // SAFETY: as in `new`.
        let page = unsafe { &*self.header.as_mut_ptr().cast::<LogHeader>() };
        page.cells.committed.store(n_bytes, Ordering::Relaxed);
    }
}
