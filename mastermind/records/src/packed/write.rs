//! Writes a container.
//!
//! [`ContainerWriter::add`] reads a log from start to end and appends its blocks: first the header, then the entries in
//! blocks of about 16,384 words. Definitions go to a dictionary that all logs of the container share.
//! [`ContainerWriter::finish`] writes the dictionary, the index and the foot. A crash in between must not leave an
//! incomplete container: the writer uses another file name, and [`Unnamed::keep`] gives the finished file its own.
//!
//! ```text
//! create("pack-rank0000.mmp")     pack-rank0000.part: head
//! add("rank0000-thread00.mmr")    pack-rank0000.part: head, blocks
//! add("rank0001-thread00.mmr")    pack-rank0000.part: head, blocks, blocks
//! finish()                        pack-rank0000.part: head, blocks, blocks, definitions, index, foot
//! sync(), keep()                  pack-rank0000.mmp
//! ```

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use super::block::{BLOCK_WORDS, Encoder, MAX_BLOCK_WORDS, PaddingLeft};
use super::columns::put_compressed;
use super::container::{BlockIndex, DefinitionsIndex, Index, LogIndex, ScannedIndex};
use super::definitions::Dictionary;
use super::{HEAD_BYTES, MAGIC, VERSION};
use crate::chunk::check_file_size;
use crate::error::RecordsError;
use crate::layout::{HEADER_BYTES, LogIdentity, PAGE_BYTES};
use crate::log::{Log, Undamaged};
use crate::made::MadeLog;
use crate::own_file::create_anew;

const WORD: usize = size_of::<u64>();

/// Writes a container under a temporary name until it is complete.
#[derive(Debug)]
pub struct ContainerWriter {
    path: PathBuf,
    part: PathBuf,
    file: BufWriter<File>,
    at: u64,
    index: Index,
    dictionary: Dictionary,
    words: Vec<u64>,
}

/// Facts about a log that is packed.
struct LogShape {
    identity: LogIdentity,
    header_words: usize,
    /// Words of its entries.
    n_words: usize,
    undamaged: Option<Undamaged>,
}

impl ContainerWriter {
    /// Creates a container that [`ContainerWriter`] writes under the extension `part` until it is complete.
    ///
    /// # Errors
    /// [`RecordsError::Io`] if the temporary file cannot be created, or an old one not removed.
    pub fn create(path: &Path) -> Result<Self, RecordsError> {
        let part = path.with_extension("part");
        let begin = || -> io::Result<_> {
            let mut file = BufWriter::with_capacity(1 << 20, create_anew(&part)?);
            file.write_all(&MAGIC)?;
            file.write_all(&VERSION.to_le_bytes())?;
            file.write_all(&[0; 4])?;
            Ok(file)
        };
        let file = begin().map_err(RecordsError::io("write packed records", path))?;
        Ok(Self {
            path: path.into(),
            part,
            file,
            at: HEAD_BYTES,
            index: Index::default(),
            dictionary: Dictionary::default(),
            words: Vec::new(),
        })
    }

    /// Packs a log.
    ///
    /// # Arguments
    /// * `name` - file name of the log
    /// * `bytes` - of the log, from its beginning
    /// * `log` - the same log, opened: if it is undamaged, the index stores its facts for readers
    ///
    /// # Errors
    /// [`RecordsError::Io`] from reading or writing.
    pub fn add(&mut self, name: &str, bytes: &mut dyn Read, log: &Log) -> Result<(), RecordsError> {
        let shape = LogShape {
            identity: log.identity(),
            header_words: log.entries_at() as usize / WORD,
            n_words: log.n_bytes() as usize / WORD,
            undamaged: log.undamaged(),
        };
        let added = self.try_add(name, bytes, &shape);
        added.map_err(RecordsError::io("write packed records", &self.path))
    }

    /// Packs a log that was made in memory.
    ///
    /// # Errors
    /// [`RecordsError::Io`].
    pub fn add_made(&mut self, mut log: MadeLog) -> Result<(), RecordsError> {
        let undamaged = log.undamaged();
        let shape = LogShape {
            identity: log.identity(),
            header_words: HEADER_BYTES / WORD,
            n_words: undamaged.n_words,
            undamaged: Some(undamaged),
        };
        let path = shape.identity.path(Path::new(""));
        let name = path.file_name().and_then(|name| name.to_str());
        let added = self.try_add(name.unwrap_or_default(), &mut log.bytes(), &shape);
        added.map_err(RecordsError::io("write packed records", &self.path))
    }

    fn try_add(&mut self, name: &str, bytes: &mut dyn Read, log: &LogShape) -> io::Result<()> {
        let LogIdentity { rank, thread } = log.identity;
        let mut index = LogIndex {
            name: name.into(),
            rank,
            thread,
            at: self.at,
            ..LogIndex::default()
        };
        let mut definitions = Vec::new();
        let (mut padding, mut n_packed, mut is_all) = (PaddingLeft::default(), 0_u64, false);
        // The header is a separate block, so that it can be read without records.
        let header = log.header_words;
        let end = (header as u64).saturating_add(log.n_words as u64);
        let mut words = std::mem::take(&mut self.words);
        words.clear();
        let mut wanted = header.clamp(PAGE_BYTES / WORD, HEADER_BYTES / WORD);
        let mut of_header = true;
        loop {
            if !is_all {
                let n_bytes;
                (n_bytes, is_all) = read_words(bytes, &mut words, wanted)?;
                index.n_bytes += n_bytes;
            }
            if words.is_empty() {
                break;
            }
            let dictionary = &mut self.dictionary;
            let (n_words, block) = if of_header {
                Encoder::default().pack(&words, true, &mut PaddingLeft::all(), |_, _| 0)
            } else {
                Encoder::default().pack(&words, is_all, &mut padding, |end, whole| {
                    let number = dictionary.add(whole);
                    definitions.push((n_packed + end as u64, number));
                    number
                })
            };
            if n_words == 0 {
                // A definition is longer than the words in memory.
                wanted = (2 * wanted).min(MAX_BLOCK_WORDS);
                continue;
            }
            of_header = false;
            // Otherwise, a signal would report a limit on the file size.
            check_file_size(self.at + block.len() as u64)?;
            self.file.write_all(&block)?;
            self.at += block.len() as u64;
            index.blocks.push(BlockIndex {
                n_bytes: block.len() as u32,
                n_words: n_words as u32,
                crc: crc32fast::hash(&block),
            });
            n_packed += n_words as u64;
            words.drain(..n_words);
            wanted = 2 * BLOCK_WORDS;
        }
        self.words = words;
        definitions.retain(|(behind, _)| *behind <= end);
        index.scanned = log.undamaged.map(|found| ScannedIndex {
            n_words: found.n_words as u64,
            n_records: found.n_records,
            last: found.last,
            definitions: definitions.into_iter().map(|(_, number)| number).collect(),
        });
        self.index.logs.push(index);
        Ok(())
    }

    /// Writes definitions and index. The container gets its name from [`Unnamed::keep`] only.
    ///
    /// # Errors
    /// [`RecordsError::Io`].
    pub fn finish(mut self) -> Result<Unnamed, RecordsError> {
        let written = self.try_finish();
        written.map_err(RecordsError::io("write packed records", &self.path))?;
        Ok(Unnamed {
            path: std::mem::take(&mut self.path),
            part: std::mem::take(&mut self.part),
            is_kept: false,
        })
    }

    fn try_finish(&mut self) -> io::Result<()> {
        let words = self.dictionary.words().iter();
        let words: Vec<u8> = words.flat_map(|word| word.to_le_bytes()).collect();
        let mut part = Vec::new();
        put_compressed(&words, &mut part);
        self.index.definitions = DefinitionsIndex {
            at: self.at,
            n_bytes: part.len() as u64,
            crc: crc32fast::hash(&part),
            lengths: self.dictionary.lengths(),
        };
        self.file.write_all(&part)?;
        self.at += part.len() as u64;
        let index = serde_json::to_vec(&self.index)?;
        part.clear();
        put_compressed(&index, &mut part);
        let n_unpacked = u32::try_from(index.len());
        let n_unpacked = n_unpacked.map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
        self.file.write_all(&part)?;
        self.file.write_all(&self.at.to_le_bytes())?;
        self.file.write_all(&(part.len() as u64).to_le_bytes())?;
        self.file.write_all(&crc32fast::hash(&part).to_le_bytes())?;
        self.file.write_all(&n_unpacked.to_le_bytes())?;
        self.file.write_all(&MAGIC)?;
        self.file.flush()
    }
}

impl Drop for ContainerWriter {
    fn drop(&mut self) {
        // A finished writer leaves no file.
        if !self.part.as_os_str().is_empty() {
            let _ = std::fs::remove_file(&self.part);
        }
    }
}

/// A complete container under its temporary name.
#[derive(Debug)]
pub struct Unnamed {
    path: PathBuf,
    part: PathBuf,
    is_kept: bool,
}

impl Unnamed {
    /// Path of the temporary file, with the extension `part`.
    pub fn part(&self) -> &Path {
        &self.part
    }

    /// Waits until it is on the disk, so that its logs can be removed.
    ///
    /// # Errors
    /// [`RecordsError::Io`], for example if the disk is full.
    pub fn sync(&self) -> Result<(), RecordsError> {
        let synced = File::open(&self.part).and_then(|file| file.sync_all());
        synced.map_err(RecordsError::io("write packed records", &self.path))
    }

    /// Gives it its final name.
    ///
    /// # Errors
    /// [`RecordsError::Io`], for example if another file has the name by now.
    pub fn keep(mut self) -> Result<PathBuf, RecordsError> {
        // Unlike renaming, linking never replaces an existing file.
        let linked = std::fs::hard_link(&self.part, &self.path);
        let named = linked.or_else(|error| match self.path.exists() {
            true => Err(error),
            // Some file systems do not support links.
            false => {
                std::fs::rename(&self.part, &self.path)?;
                self.is_kept = true;
                Ok(())
            }
        });
        named.map_err(RecordsError::io("write packed records", &self.path))?;
        Ok(self.path.clone())
    }
}

impl Drop for Unnamed {
    fn drop(&mut self) {
        if !self.is_kept {
            let _ = std::fs::remove_file(&self.part);
        }
    }
}

/// Reads until `words` has `wanted` words, or to the end.
///
/// # Returns
/// Number of bytes read, and whether they were the last; an incomplete word is filled up with zeros.
fn read_words(
    bytes: &mut dyn Read,
    words: &mut Vec<u64>,
    wanted: usize,
) -> io::Result<(u64, bool)> {
    let before = words.len();
    words.resize(wanted.max(before), 0);
    let room: &mut [u8] = bytemuck::cast_slice_mut(&mut words[before..]);
    let mut n_read = 0;
    while n_read < room.len() {
        match bytes.read(&mut room[n_read..]) {
            Ok(0) => break,
            Ok(n) => n_read += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let is_all = n_read < room.len();
    words.truncate(before + n_read.div_ceil(WORD));
    Ok((n_read as u64, is_all))
}
