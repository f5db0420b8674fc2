//! A log in a container, and the facts about it that a container keeps.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use super::{HeaderWords, Log, Opening, WORD, check_identity};
use crate::definitions::{CommonDefinitions, Definitions};
use crate::error::RecordsError;
use crate::layout::Calibration;
use crate::scan::scan_until;
use crate::source::{FindPacked, LogFile, Moved, PackedBytes, Source};

/// The entries of an undamaged log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Undamaged {
    pub(crate) n_words: usize,
    pub(crate) n_records: u64,
    /// Call path and start of the last record.
    pub(crate) last: Option<(u32, u64)>,
}

impl Log {
    /// Opens a log of a container.
    ///
    /// # Arguments
    /// * `path` - of the original file
    ///
    /// # Errors
    /// Those of [`Log::open`], or the container is gone.
    pub(crate) fn open_packed(
        path: &Path,
        bytes: Arc<dyn PackedBytes>,
        methods: &Arc<CommonDefinitions>,
    ) -> Result<Self, RecordsError> {
        let file = LogFile::packed(bytes);
        let source = file.source().ok_or_else(|| {
            let gone = std::io::Error::from(std::io::ErrorKind::NotFound);
            RecordsError::io("open packed record log", path)(gone)
        })?;
        let opening = Opening {
            methods: Some(Arc::clone(methods)),
            ..Opening::default()
        };
        let mut log = Self::open_source(path, file, source, opening)?;
        log.file.forget_definitions();
        Ok(log)
    }

    /// From now on also finds its records if it was packed meanwhile, as at the end of a run.
    pub(crate) fn follow_packing(&mut self, find: FindPacked) {
        let start = self.start;
        self.file.set_moved(Moved { start, find });
    }

    /// When the log began, by the clock of its machine.
    pub(crate) fn start(&self) -> Option<Calibration> {
        self.start
    }

    /// Name of the machine on which a log was written; empty if its first definition does not contain one.
    ///
    /// # Errors
    /// Those of [`Log::open`].
    pub(crate) fn host_of(path: &Path) -> Result<String, RecordsError> {
        let act = || RecordsError::io("open record log", path);
        let file = Arc::new(File::open(path).map_err(act())?);
        let mut log_file = LogFile::new(path, &file).map_err(act())?;
        let mut source = Source::File(Arc::clone(&file));
        let n_bytes = source.n_bytes().map_err(act())?;
        let header = HeaderWords::read(&mut source).ok_or_else(|| RecordsError::TooShort {
            path: path.into(),
            bytes: n_bytes,
        })?;
        let (entries_at, _) = check_identity(header.get(), path)?;
        log_file.set_entries_at(entries_at);
        let there = n_bytes.saturating_sub(entries_at) as usize / WORD;
        let mut definitions = Definitions::of_at_most(there);
        scan_until(&mut log_file.window(0, there), 0, 1, &mut definitions);
        Ok(definitions.run.host)
    }

    /// Facts about its entries, if no part of the log is damaged.
    pub(crate) fn undamaged(&self) -> Option<Undamaged> {
        let is_whole = self.damage.is_empty() && self.gaps.is_empty() && self.known.is_none();
        is_whole.then_some(Undamaged {
            n_words: self.n_words,
            n_records: self.n_records,
            last: self.last,
        })
    }

    /// Position of its entries, bytes.
    pub(crate) fn entries_at(&self) -> u64 {
        self.file.entries_at()
    }
}
