//! The overview of a large run in a file next to its logs.
//!
//! ```text
//! magic          8 bytes
//! length         of the description, 8 bytes
//! description    JSON: names, rows, the files that it was computed from; padded with spaces to whole words
//! arrays         of each row: starts, methods (32 bits), times (32 bits, real); words, long calls (64 bits)
//! checksum       CRC-32 of all before it, in 8 bytes
//! ```
//!
//! It belongs to the files of the directory as they were, by name, length and time of the last change. If one of these differs it is
//! ignored. All numbers are in the machine's order; the magic differs on a machine of the other one.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use std::os::unix::fs::MetadataExt;

use serde::{Deserialize, Serialize};

use super::{Bins, LogMarks, LongCall, Overview, Row, RowName};
use crate::definition::Definition;
use crate::definitions::Definitions;
use crate::error::RecordsError;
use crate::layout::{EXTENSION, LogIdentity};
use crate::log::{Log, RunningSums};
use crate::own_file::write_whole;
use crate::packed::PACKED_EXTENSION;
use crate::path_totals::PathTotals;
use crate::preparer::RetiredSums;

/// Name of the file in the directory of the logs.
pub const OVERVIEW_FILE: &str = "mastermind-overview.bin";

const MAGIC: u64 = u64::from_le_bytes(*b"MMOVER01");
const WORD: usize = size_of::<u64>();

/// A file of the directory: name, length, time of the last change in nanoseconds.
type FileState = (String, u64, i64);

/// What the arrays mean.
#[derive(Serialize, Deserialize)]
struct Description {
    files: Vec<FileState>,
    span_ns: u64,
    bin_ns: u64,
    n_bins: usize,
    names: Vec<String>,
    notes: Vec<String>,
    /// Different lists of definitions.
    definitions: Vec<Vec<Definition>>,
    rows: Vec<RowDescription>,
}

#[derive(Serialize, Deserialize)]
struct RowDescription {
    name: RowName,
    n_threads: u32,
    n_parts: usize,
    marks: Option<MarksDescription>,
}

#[derive(Serialize, Deserialize)]
struct MarksDescription {
    rank: u32,
    thread: u32,
    begin_ns: u64,
    n_long: usize,
    definitions: usize,
}

/// Definitions that reading the records of a log requires.
pub(super) fn definitions(log: &Log) -> Arc<[Definition]> {
    let definitions = log.definitions();
    let methods = definitions
        .methods()
        .map(|method| Definition::Method((**method).clone()));
    let paths = definitions.call_paths().map(Definition::CallPath);
    let clock = definitions.clock.clone().map(Definition::Clock);
    methods.chain(paths).chain(clock).collect()
}

/// Opens a log without reading its entries.
///
/// # Errors
/// Those of [`Log::open`].
pub(super) fn open(directory: &Path, marks: &LogMarks) -> Result<Log, RecordsError> {
    let n_words = marks.words.last().copied().unwrap_or(0);
    let n_words = usize::try_from(n_words).unwrap_or(usize::MAX);
    let mut definitions = Definitions::of_at_most(n_words);
    marks
        .definitions
        .iter()
        .for_each(|one| definitions.add(one.clone()));
    let sums = RetiredSums {
        totals: PathTotals::default(),
        n_words,
    };
    let known = RunningSums { sums, definitions };
    Log::open_behind(&marks.identity.path(directory), Some(known))
}

/// The logs and containers of a directory, by name.
fn files(directory: &Path) -> std::io::Result<Vec<FileState>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let path = entry.path();
        let extension = path.extension();
        if extension.is_some_and(|one| one == EXTENSION || one == PACKED_EXTENSION) {
            let metadata = entry.metadata()?;
            let changed_ns = metadata.mtime().saturating_mul(1_000_000_000) + metadata.mtime_nsec();
            let name = entry.file_name().to_string_lossy().into_owned();
            files.push((name, metadata.len(), changed_ns));
        }
    }
    files.sort();
    Ok(files)
}

impl Overview {
    /// Writes it next to the logs that it was computed from, which no program writes any more.
    ///
    /// # Errors
    /// [`RecordsError::Io`], [`RecordsError::Encode`].
    pub fn keep(&self, directory: &Path) -> Result<PathBuf, RecordsError> {
        let path = directory.join(OVERVIEW_FILE);
        let io = || RecordsError::io("write overview", &path);
        let bytes = self.to_bytes(files(directory).map_err(io())?, &path)?;
        write_whole(&path, &bytes).map_err(io())?;
        Ok(path)
    }

    /// Reads the overview of a directory; `None` if there is none, or if it is of other logs or damaged.
    pub fn kept(directory: &Path) -> Option<Self> {
        let mut file = File::open(directory.join(OVERVIEW_FILE)).ok()?;
        let n_bytes = usize::try_from(file.metadata().ok()?.len()).ok()?;
        let mut words = vec![0_u64; n_bytes / WORD];
        if words.len() * WORD != n_bytes {
            return None;
        }
        file.read_exact(bytemuck::cast_slice_mut(&mut words)).ok()?;
        let files = files(directory).ok()?;
        Self::from_words(&words, &files)
    }

    fn to_bytes(&self, files: Vec<FileState>, path: &Path) -> Result<Vec<u8>, RecordsError> {
        let mut numbers: BTreeMap<*const Definition, usize> = BTreeMap::new();
        let mut lists: Vec<Arc<[Definition]>> = Vec::new();
        let mut number = |list: &Arc<[Definition]>| {
            *numbers.entry(list.as_ptr()).or_insert_with(|| {
                let same = lists.iter().position(|known| known == list);
                same.unwrap_or_else(|| {
                    lists.push(Arc::clone(list));
                    lists.len() - 1
                })
            })
        };
        let rows = self.rows.iter().map(|row| RowDescription {
            name: row.name.clone(),
            n_threads: row.n_threads,
            n_parts: row.bins.methods.len(),
            marks: row.marks.as_ref().map(|marks| MarksDescription {
                rank: marks.identity.rank,
                thread: marks.identity.thread,
                begin_ns: marks.begin_ns,
                n_long: marks.long.len(),
                definitions: number(&marks.definitions),
            }),
        });
        let rows = rows.collect();
        let description = Description {
            files,
            span_ns: self.span_ns,
            bin_ns: self.bin_ns,
            n_bins: self.n_bins,
            names: self.names.clone(),
            notes: self.notes.clone(),
            definitions: lists.iter().map(|list| list.to_vec()).collect(),
            rows,
        };
        let encode = |source| RecordsError::Encode {
            path: path.into(),
            source,
        };
        let mut text = serde_json::to_vec(&description).map_err(encode)?;
        text.resize(text.len().next_multiple_of(WORD), b' ');
        let mut bytes = Vec::new();
        bytes.extend(MAGIC.to_ne_bytes());
        bytes.extend((text.len() as u64).to_ne_bytes());
        bytes.extend(text);
        for row in &self.rows {
            bytes.extend_from_slice(bytemuck::cast_slice(&row.bins.starts));
            bytes.extend_from_slice(bytemuck::cast_slice(&row.bins.methods));
            bytes.extend_from_slice(bytemuck::cast_slice(&row.bins.times));
            bytes.resize(bytes.len().next_multiple_of(WORD), 0);
            if let Some(marks) = &row.marks {
                bytes.extend_from_slice(bytemuck::cast_slice(&marks.words));
                for call in &marks.long {
                    let words = [u64::from(call.method), call.begin_ns, call.end_ns];
                    bytes.extend_from_slice(bytemuck::cast_slice(&words));
                }
            }
        }
        bytes.extend(u64::from(crc32fast::hash(&bytes)).to_ne_bytes());
        Ok(bytes)
    }

    /// # Returns
    /// `None` unless all of it is intact, and of these files.
    fn from_words(words: &[u64], files: &[FileState]) -> Option<Self> {
        let (crc, words) = words.split_last()?;
        if u64::from(crc32fast::hash(bytemuck::cast_slice(words))) != *crc {
            return None;
        }
        let [magic, n_text, rest @ ..] = words else {
            return None;
        };
        let n_text_words = usize::try_from(*n_text).ok()? / WORD;
        let (text, arrays) = rest.split_at_checked(n_text_words)?;
        if *magic != MAGIC {
            return None;
        }
        let description = serde_json::from_slice::<Description>(bytemuck::cast_slice(text)).ok()?;
        let n_bins = u64::try_from(description.n_bins).ok()?;
        let end_ns = description.bin_ns.checked_mul(n_bins)?;
        let has_threads = description.rows.iter().all(|row| row.n_threads > 0);
        if description.files != files || end_ns == 0 || !has_threads {
            return None;
        }
        let definitions = description.definitions.into_iter().map(Arc::from).collect();
        let mut arrays = Arrays {
            words: arrays,
            n_bins: description.n_bins,
            n_methods: description.names.len(),
            definitions,
        };
        let rows = description.rows.into_iter().map(|row| arrays.row(row));
        let rows = rows.collect::<Option<Vec<_>>>()?;
        arrays.words.is_empty().then_some(Self {
            span_ns: description.span_ns,
            bin_ns: description.bin_ns,
            n_bins: description.n_bins,
            names: description.names,
            notes: description.notes,
            rows,
        })
    }
}

/// The arrays that are still to be read.
struct Arrays<'w> {
    words: &'w [u64],
    n_bins: usize,
    n_methods: usize,
    definitions: Vec<Arc<[Definition]>>,
}

impl Arrays<'_> {
    fn take(&mut self, n_words: usize) -> Option<&[u64]> {
        let (taken, rest) = self.words.split_at_checked(n_words)?;
        self.words = rest;
        Some(taken)
    }

    fn row(&mut self, of: RowDescription) -> Option<Row> {
        let n_starts = self.n_bins.checked_add(1)?;
        let n_numbers = of.n_parts.checked_mul(2)?.checked_add(n_starts)?;
        let n_methods = self.n_methods;
        let numbers: &[u32] = bytemuck::cast_slice(self.take(n_numbers.div_ceil(2))?);
        let (starts, rest) = numbers.split_at_checked(n_starts)?;
        let (methods, rest) = rest.split_at_checked(of.n_parts)?;
        let times: &[f32] = bytemuck::cast_slice(rest.get(..of.n_parts)?);
        let is_valid = starts.is_sorted()
            && starts.last().copied() == u32::try_from(of.n_parts).ok()
            && methods.iter().all(|method| (*method as usize) < n_methods);
        if !is_valid {
            return None;
        }
        let bins = Bins {
            starts: starts.to_vec(),
            methods: methods.to_vec(),
            times: times.to_vec(),
        };
        let marks = match of.marks {
            None => None,
            Some(marks) => Some(self.marks(&marks)?),
        };
        Some(Row {
            name: of.name,
            n_threads: of.n_threads,
            bins,
            marks,
        })
    }

    fn marks(&mut self, of: &MarksDescription) -> Option<LogMarks> {
        let words = self.take(self.n_bins.checked_add(1)?)?.to_vec();
        let n_methods = self.n_methods as u64;
        let long = self.take(of.n_long.checked_mul(3)?)?;
        let long = long.chunks_exact(3).map(|call| {
            (call[0] < n_methods).then_some(LongCall {
                method: call[0] as u32,
                begin_ns: call[1],
                end_ns: call[2],
            })
        });
        let long = long.collect::<Option<Vec<_>>>()?;
        words.is_sorted().then_some(())?;
        Some(LogMarks {
            identity: LogIdentity {
                rank: of.rank,
                thread: of.thread,
            },
            definitions: Arc::clone(self.definitions.get(of.definitions)?),
            begin_ns: of.begin_ns,
            words,
            long,
        })
    }
}
