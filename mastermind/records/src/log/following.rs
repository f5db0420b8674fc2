//! Follows a log that grows: takes in entries since the last reading.

use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use super::{HeaderWords, Log, RunningSums, WORD};
use crate::error::RecordsError;
use crate::scan::scan_until;

impl Log {
    /// Takes in the entries that were committed since the log was opened or refreshed; reads only these.
    ///
    /// # Arguments
    /// * `most_words` - approximate limit
    ///
    /// # Returns
    /// Number of words not yet taken in.
    ///
    /// # Errors
    /// [`RecordsError::Io`] if the file is gone or another file has its name.
    pub(crate) fn refresh(&mut self, most_words: usize) -> Result<usize, RecordsError> {
        let file = self.file.open().ok_or_else(|| {
            let gone = std::io::Error::from(std::io::ErrorKind::NotFound);
            RecordsError::io("follow record log", &self.path)(gone)
        })?;
        let Some(header) = HeaderWords::read_first_page(&file) else {
            return Ok(0);
        };
        let header = header.get();
        let bytes = file.metadata().map_or(0, |metadata| metadata.len());
        let there = bytes.saturating_sub(self.file.entries_at()) as usize / WORD;
        // If the header is changing, the next refresh takes it in.
        let Some(committed) = header.committed_bytes() else {
            return Ok(0);
        };
        let claimed = committed / WORD as u64;
        let end = there.min(usize::try_from(claimed).unwrap_or(usize::MAX));
        if end > self.n_words {
            self.take_in(end, most_words);
        }
        self.finished = header.finished.load(Ordering::Relaxed) == 1;
        self.dropped = header.cells.dropped.load(Ordering::Relaxed);
        let latest = header.calibrations[1..].iter();
        let latest = latest.filter_map(|cell| cell.load().flatten());
        self.time = self.time_base(latest.max_by_key(|latest| latest.ns));
        Ok(end.saturating_sub(self.n_words))
    }

    /// Continues after the full chunks of a log of this process without reading the rest of them: the writer reports
    /// their definitions and the number of records.
    ///
    /// # Returns
    /// Whether that position is beyond the words already taken in.
    pub(crate) fn skip_to(&mut self, known: RunningSums) -> bool {
        let RunningSums { sums, definitions } = known;
        if sums.n_words <= self.n_words {
            return false;
        }
        self.totals = OnceLock::new();
        self.last_end_ns = OnceLock::new();
        self.scanned_totals = None;
        self.definitions = definitions;
        self.n_words = sums.n_words;
        self.n_records = sums.totals.n_records();
        self.latest = (0, Vec::new());
        true
    }

    /// Number of words taken in.
    pub(crate) fn n_words(&self) -> usize {
        self.n_words
    }

    /// Reads the entries up to word `end`, or about `most_words` of them.
    fn take_in(&mut self, end: usize, most_words: usize) {
        self.totals = OnceLock::new();
        self.last_end_ns = OnceLock::new();
        self.scanned_totals = None;
        let begin = self.n_words;
        self.definitions.believe_at_most(end);
        let memory = std::mem::take(&mut self.latest.1);
        let mut window = self.file.window(begin, end).with_memory(memory);
        let until = begin.saturating_add(most_words);
        let scanned = scan_until(&mut window, begin, until, &mut self.definitions);
        self.n_words = match until < end {
            true => scanned.end,
            false => window.end(),
        };
        self.latest = window.into_words();
        self.n_records += scanned.n_records;
        self.last = scanned.last.or(self.last);
        self.add_damage(&scanned);
        self.gaps.extend(scanned.gaps);
    }
}
