//! Reads the words of a log's file in pieces.
//!
//! If another process truncates a mapped file, its reader is killed. So logs are read through a buffer of a few hundred
//! kilobytes, whatever their size, and the missing rest of a truncated file is reported as such.
//!
//! ```text
//! LogFile            identity of a file or of a packed log, and range of its committed words
//!   ├─ Source        the same, opened
//!   └─ Window        some of these words in memory; moves on to later ones on request
//! ```

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::definitions::{CommonDefinitions, Definitions};
use crate::layout::Calibration;
use crate::path_totals::PathTotals;
use crate::scan::Scanned;

const WORD: usize = size_of::<u64>();
/// Words of a window. They fit into a core's second-level cache.
pub(crate) const WINDOW_WORDS: usize = 1 << 15;

/// A packed log in a container; implemented only in `packed`. Code in a measured process has no implementation, and
/// does not contain the decoder.
pub(crate) trait PackedBytes: std::fmt::Debug + Send + Sync {
    /// Bytes of the original file.
    fn n_bytes(&self) -> u64;
    /// Opens it; `None` if the container is gone or damaged.
    fn reader(&self) -> Option<Box<dyn WordReader>>;
    /// Result of scanning its entries, if it is known.
    fn scanned(&self, known: Option<&Arc<CommonDefinitions>>) -> Option<(Definitions, Scanned)>;
    /// The same log for readers that have read its definitions.
    fn without_definitions(&self) -> Arc<dyn PackedBytes>;
}

/// Reads words of a log.
pub(crate) trait WordReader: std::fmt::Debug {
    /// Reads as many of `words` as the log has from byte `at` on, a multiple of 8.
    ///
    /// # Returns
    /// Number of complete words read.
    fn read_words(&mut self, at: u64, words: &mut [u64]) -> usize;

    /// Sums up the records of an undamaged log.
    ///
    /// # Arguments
    /// * `begin`, `end` - bytes of the log's file, multiples of 8; an entry begins there
    ///
    /// # Returns
    /// `None` if some words cannot be read.
    fn sum_up(&mut self, begin: u64, end: u64, definitions: &Definitions) -> Option<PathTotals>;
}

/// An open log.
#[derive(Debug)]
pub(crate) enum Source {
    File(Arc<File>),
    Packed(Box<dyn WordReader>, u64),
}

impl Source {
    /// As [`WordReader::read_words`].
    pub(crate) fn read_words(&mut self, at: u64, words: &mut [u64]) -> usize {
        match self {
            Self::File(file) => read_words(file, at, words),
            Self::Packed(reader, _) => reader.read_words(at, words),
        }
    }

    /// Its length.
    pub(crate) fn n_bytes(&self) -> io::Result<u64> {
        match self {
            Self::File(file) => Ok(file.metadata()?.len()),
            Self::Packed(_, n_bytes) => Ok(*n_bytes),
        }
    }
}

/// Location of a log.
#[derive(Debug)]
enum LogLocation {
    /// Device and inode number of the file, which distinguish it from another file of its name.
    File(u64, u64),
    Container(Arc<dyn PackedBytes>),
}

/// A log's file. Each reader opens it anew, since a run may have more logs than a process may open files; a followed
/// log may stay open.
#[derive(Debug)]
pub(crate) struct LogFile {
    path: PathBuf,
    place: LogLocation,
    /// Position of its entries, bytes.
    entries_at: u64,
    /// Whether a later reading found fewer words than were committed when it was opened.
    is_cut: AtomicBool,
    kept: Option<Arc<File>>,
    /// How to find it if its file is gone.
    moved: Option<Moved>,
}

/// Finds a log that was packed after it was opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moved {
    /// When the log began, to exclude another log of the same name.
    pub(crate) start: Option<Calibration>,
    pub(crate) find: FindPacked,
}

/// Finds the packed log with this original path and start.
pub(crate) type FindPacked = fn(&Path, Option<Calibration>) -> Option<PackedLogBytes>;

/// A packed log, independent of its container.
pub(crate) type PackedLogBytes = Arc<dyn PackedBytes>;

impl LogFile {
    pub(crate) fn new(path: &Path, file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        Ok(Self::at(
            path,
            LogLocation::File(metadata.dev(), metadata.ino()),
        ))
    }

    /// A log of a container.
    pub(crate) fn packed(bytes: Arc<dyn PackedBytes>) -> Self {
        Self::at(Path::new(""), LogLocation::Container(bytes))
    }

    fn at(path: &Path, place: LogLocation) -> Self {
        Self {
            path: path.into(),
            place,
            entries_at: 0,
            is_cut: AtomicBool::new(false),
            kept: None,
            moved: None,
        }
    }

    /// Result of scanning its entries, if it is known.
    pub(crate) fn scanned(
        &self,
        known: Option<&Arc<CommonDefinitions>>,
    ) -> Option<(Definitions, Scanned)> {
        match &self.place {
            LogLocation::File(..) => None,
            LogLocation::Container(bytes) => bytes.scanned(known),
        }
    }

    /// From now on only its records are read.
    pub(crate) fn forget_definitions(&mut self) {
        if let LogLocation::Container(bytes) = &self.place {
            self.place = LogLocation::Container(bytes.without_definitions());
        }
    }

    /// Keeps the file open from now on.
    pub(crate) fn keep_open(&mut self) {
        self.kept = self.open();
    }

    /// From now on it is also found after it was packed.
    pub(crate) fn set_moved(&mut self, moved: Moved) {
        self.moved = Some(moved);
    }

    /// Position of its entries, bytes.
    pub(crate) fn entries_at(&self) -> u64 {
        self.entries_at
    }

    pub(crate) fn set_entries_at(&mut self, entries_at: u64) {
        self.entries_at = entries_at;
    }

    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut.load(Ordering::Relaxed)
    }

    fn note_cut(&self) {
        self.set_cut(true);
    }

    pub(crate) fn set_cut(&self, is_cut: bool) {
        self.is_cut.store(is_cut, Ordering::Relaxed);
    }

    /// Opens the file, unless it is gone, another file has its name, or the log is in a container.
    pub(crate) fn open(&self) -> Option<Arc<File>> {
        let LogLocation::File(device, number) = self.place else {
            return None;
        };
        if let Some(kept) = &self.kept {
            let is_there = kept.metadata().is_ok_and(|metadata| metadata.nlink() > 0);
            return is_there.then(|| Arc::clone(kept));
        }
        let file = File::open(&self.path).ok()?;
        let metadata = file.metadata().ok()?;
        ((metadata.dev(), metadata.ino()) == (device, number)).then(|| Arc::new(file))
    }

    /// Opens the log, loose or packed.
    pub(crate) fn source(&self) -> Option<Source> {
        match &self.place {
            LogLocation::File(..) => match self.kept.clone().or_else(|| self.open()) {
                Some(file) => Some(Source::File(file)),
                None => {
                    let moved = self.moved?;
                    let bytes = (moved.find)(&self.path, moved.start)?;
                    Some(Source::Packed(bytes.reader()?, bytes.n_bytes()))
                }
            },
            LogLocation::Container(bytes) => Some(Source::Packed(bytes.reader()?, bytes.n_bytes())),
        }
    }

    /// Sums over the records of an undamaged packed log, which takes less time than reading them.
    ///
    /// # Arguments
    /// * `end` - end of the entries, words
    ///
    /// # Returns
    /// `None` for another log, or if some words cannot be read.
    pub(crate) fn packed_sums(&self, end: usize, definitions: &Definitions) -> Option<PathTotals> {
        let LogLocation::Container(bytes) = &self.place else {
            return None;
        };
        let end = self.entries_at + (end * WORD) as u64;
        bytes.reader()?.sum_up(self.entries_at, end, definitions)
    }

    /// A window on the words `begin..end` of the entries.
    pub(crate) fn window(&self, begin: usize, end: usize) -> Window<'_> {
        let source = match begin < end {
            true => self.source(),
            false => None,
        };
        if source.is_none() && begin < end {
            self.note_cut();
        }
        Window {
            of: self,
            end: if source.is_none() {
                begin.min(end)
            } else {
                end
            },
            source,
            first: begin,
            words: Cow::Owned(Vec::new()),
        }
    }
}

/// Reads as many of `words` as the file has from byte `at` on.
///
/// # Returns
/// Number of complete words read.
pub(crate) fn read_words(file: &File, at: u64, words: &mut [u64]) -> usize {
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(words);
    let mut n_read = 0;
    while n_read < bytes.len() {
        match file.read_at(&mut bytes[n_read..], at + n_read as u64) {
            Ok(0) => break,
            Ok(n) => n_read += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    n_read / WORD
}

/// Some words of a log in memory.
#[derive(Debug)]
pub(crate) struct Window<'f> {
    of: &'f LogFile,
    source: Option<Source>,
    /// Position of the first word in memory.
    first: usize,
    words: Cow<'f, [u64]>,
    /// End of the words to be read.
    end: usize,
}

impl<'f> Window<'f> {
    /// End of the words: earlier than before if the file was truncated meanwhile.
    pub(crate) fn end(&self) -> usize {
        self.end
    }

    /// Uses words that were just read, which are then not read again.
    pub(crate) fn with_words(self, words: &'f [u64]) -> Self {
        let words = Cow::Borrowed(words);
        Window { words, ..self }
    }

    /// Reuses memory of an earlier window.
    pub(crate) fn with_memory(self, mut memory: Vec<u64>) -> Self {
        memory.clear();
        let words = Cow::Owned(memory);
        Window { words, ..self }
    }

    /// The memory, and the position of its first word.
    pub(crate) fn into_words(self) -> (usize, Vec<u64>) {
        (self.first, self.words.into_owned())
    }

    /// The words from `at` on that are in memory: at least `least`, unless they end before. Positions before the
    /// window's first word are read again.
    #[inline(always)]
    pub(crate) fn from(&mut self, at: usize, least: usize) -> &[u64] {
        let begin = self.place(at, least);
        &self.words[begin..]
    }

    /// Index of word `at` in memory.
    #[inline(always)]
    fn place(&mut self, at: usize, least: usize) -> usize {
        let last = self.first + self.words.len();
        let is_there = at >= self.first && (at + least <= last || (last == self.end && at <= last));
        if !is_there {
            self.load(at, least);
        }
        at - self.first
    }

    #[cold]
    fn load(&mut self, at: usize, least: usize) {
        self.first = at;
        let wanted = least.max(WINDOW_WORDS).min(self.end.saturating_sub(at));
        // Borrowed words would otherwise be copied only to be overwritten.
        if let Cow::Borrowed(_) = self.words {
            self.words = Cow::Owned(Vec::new());
        }
        let words = self.words.to_mut();
        words.resize(wanted, 0);
        let Some(source) = &mut self.source else {
            words.clear();
            return;
        };
        let from = self.of.entries_at + (at * WORD) as u64;
        let n_read = source.read_words(from, words);
        if n_read < wanted {
            self.of.note_cut();
            words.truncate(n_read);
            self.end = at + n_read;
        }
    }
}
