//! Reads a container: its index, its definitions, and the words of its logs.
//!
//! The index is at the end of the file. [`Container::open`] reads the foot, checks the CRC-32 of the index, and checks
//! that all blocks lie within the file. It reads no block, so opening a container of thousands of logs takes little
//! time. Each log becomes a [`PackedLog`], from which readers request words by byte position as if from the original
//! file. A block reader finds the block that contains the word, checks its CRC-32 and unpacks it. It keeps the last
//! unpacked block, so sequential reading unpacks each block once.
//!
//! ```text
//! pack-rank0000.mmp                         read_words(at = 65536, ..) of rank0001-thread00.mmr
//!   blocks of rank0000-thread00.mmr
//!   blocks of rank0001-thread00.mmr    <--   3. unpack the second block: the words of its entries
//!   definitions                        <--   2. replace the numbers of definitions by their words
//!   index                              <--   1. position, words and CRC-32 of each block
//!   foot
//! ```

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use super::block::{Decoder, MAX_BLOCK_WORDS};
use super::definitions::Dictionary;
use super::sums::sum_up;
use super::{FOOT_BYTES, HEAD_BYTES, MAGIC, VERSION};
use crate::definitions::{CommonDefinitions, Definitions};
use crate::error::RecordsError;
use crate::layout::LogIdentity;
use crate::path_totals::PathTotals;
use crate::scan::Scanned;
use crate::source::{PackedBytes, WordReader};

const WORD: usize = size_of::<u64>();
/// Maximum unpacked bytes of the index or of the definitions, so that a damaged number does not take all memory. A log
/// of a run takes about 200 bytes in the index and some 10 kB of definitions, most of them shared.
const MAX_PART_BYTES: u64 = 1 << 31;

/// Positions of all parts of a container.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Index {
    pub(super) logs: Vec<LogIndex>,
    pub(super) definitions: DefinitionsIndex,
}

/// Position of the definitions.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct DefinitionsIndex {
    /// Position in the file.
    pub(super) at: u64,
    pub(super) n_bytes: u64,
    pub(super) crc: u32,
    /// Words of each definition.
    pub(super) lengths: Vec<u32>,
}

/// A log in a container.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct LogIndex {
    /// Its file name.
    pub(super) name: String,
    pub(super) rank: u32,
    pub(super) thread: u32,
    /// Bytes of the original file.
    pub(super) n_bytes: u64,
    /// Position of its blocks in the container.
    pub(super) at: u64,
    pub(super) blocks: Vec<BlockIndex>,
    /// Result of scanning its entries, if none of them is damaged.
    pub(super) scanned: Option<ScannedIndex>,
}

/// A block.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct BlockIndex {
    pub(super) n_bytes: u32,
    pub(super) n_words: u32,
    pub(super) crc: u32,
}

/// Result of scanning the entries of an undamaged log.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct ScannedIndex {
    /// Number of words of its entries.
    pub(super) n_words: u64,
    pub(super) n_records: u64,
    /// Call path and start of the last record.
    pub(super) last: Option<(u32, u64)>,
    /// Numbers of the definitions, in their order.
    pub(super) definitions: Vec<u32>,
}

/// An open container.
#[derive(Debug)]
pub(crate) struct Container {
    path: PathBuf,
    /// Device and inode number of the file, which distinguish it from another file of its name.
    identity: (u64, u64),
    index: Index,
}

impl Container {
    /// Reads the index of a container.
    ///
    /// # Errors
    /// [`RecordsError::Io`], [`RecordsError::NotPacked`], [`RecordsError::PackedVersion`], [`RecordsError::PackedDamage`].
    pub(crate) fn open(path: &Path) -> Result<Arc<Self>, RecordsError> {
        let act = || RecordsError::io("read packed records", path);
        let file = File::open(path).map_err(act())?;
        let metadata = file.metadata().map_err(act())?;
        let index = Self::read_index(path, &file, metadata.len())?;
        Ok(Arc::new(Self {
            path: path.into(),
            identity: (metadata.dev(), metadata.ino()),
            index,
        }))
    }

    fn read_index(path: &Path, file: &File, n_bytes: u64) -> Result<Index, RecordsError> {
        let damage = |part| RecordsError::PackedDamage {
            path: path.into(),
            part,
        };
        let mut head = [0; HEAD_BYTES as usize];
        let n_read = read_up_to(file, &mut head);
        let n_read = n_read.map_err(RecordsError::io("read packed records", path))?;
        if head[..8] != MAGIC {
            return Err(RecordsError::NotPacked {
                path: path.into(),
                found: head[..n_read.min(8)].into(),
            });
        }
        let version = number(&head[8..12]) as u32;
        if version != VERSION {
            return Err(RecordsError::PackedVersion {
                path: path.into(),
                found: version,
            });
        }
        let mut foot = [0; FOOT_BYTES as usize];
        let foot_at = n_bytes.checked_sub(FOOT_BYTES);
        let foot_at = foot_at.filter(|at| *at >= HEAD_BYTES);
        let foot_at = foot_at.ok_or_else(|| damage("end"))?;
        file.read_exact_at(&mut foot, foot_at)
            .map_err(|_| damage("end"))?;
        let (at, crc) = (number(&foot[..8]), number(&foot[16..20]) as u32);
        let n_unpacked = u64::from(number(&foot[20..24]) as u32);
        let n_packed = number(&foot[8..16]);
        if foot[24..] != MAGIC || at.checked_add(n_packed) != Some(foot_at) || at < HEAD_BYTES {
            return Err(damage("end"));
        }
        let bytes = read_part(file, at, n_packed, crc, n_unpacked);
        let bytes = bytes.ok_or_else(|| damage("index"))?;
        let index: Index = serde_json::from_slice(&bytes).map_err(|_| damage("index"))?;
        match index.is_within(at) {
            true => Ok(index),
            false => Err(damage("index")),
        }
    }

    /// The logs; they share the definitions while they are opened.
    pub(crate) fn logs(self: &Arc<Self>) -> impl Iterator<Item = PackedLog> + use<> {
        let dictionary = Arc::new(OnceLock::new());
        let container = Arc::clone(self);
        (0..self.index.logs.len()).map(move |place| PackedLog {
            container: Arc::clone(&container),
            place,
            dictionary: Some(Arc::clone(&dictionary)),
        })
    }

    /// File names of the logs.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.index.logs.iter().map(|log| &*log.name)
    }

    /// Opens the file, unless it is gone or another file has its name.
    fn open_again(&self) -> Option<File> {
        let file = File::open(&self.path).ok()?;
        let metadata = file.metadata().ok()?;
        ((metadata.dev(), metadata.ino()) == self.identity).then_some(file)
    }

    fn read_dictionary(&self, file: &File) -> Option<Dictionary> {
        let index = &self.index.definitions;
        let n_words: u64 = index.lengths.iter().map(|length| u64::from(*length)).sum();
        let bytes = read_part(
            file,
            index.at,
            index.n_bytes,
            index.crc,
            n_words * WORD as u64,
        )?;
        let (words, _) = bytes.as_chunks::<WORD>();
        let words = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        Dictionary::new(words, &index.lengths)
    }
}

impl Index {
    /// Whether all parts in the index lie between the head and the index.
    fn is_within(&self, end: u64) -> bool {
        let is_there = |at: u64, n_bytes: u64| {
            at >= HEAD_BYTES && at.checked_add(n_bytes).is_some_and(|behind| behind <= end)
        };
        let definitions = &self.definitions;
        is_there(definitions.at, definitions.n_bytes)
            && self.logs.iter().all(|log| {
                let n_bytes = log
                    .blocks
                    .iter()
                    .map(|block| u64::from(block.n_bytes))
                    .sum();
                let mut blocks = log.blocks.iter();
                let n_words: u64 = log
                    .blocks
                    .iter()
                    .map(|block| u64::from(block.n_words))
                    .sum();
                is_there(log.at, n_bytes)
                    && blocks.all(|block| block.n_words as usize <= MAX_BLOCK_WORDS)
                    && log.n_bytes.div_ceil(WORD as u64) == n_words
                    && Path::new(&log.name).file_name() == Some(log.name.as_ref())
            })
    }
}

fn number(bytes: &[u8]) -> u64 {
    let bytes = bytes.iter().rev();
    bytes.fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn read_up_to(file: &File, bytes: &mut [u8]) -> io::Result<usize> {
    let mut n_read = 0;
    while n_read < bytes.len() {
        match file.read_at(&mut bytes[n_read..], n_read as u64)? {
            0 => break,
            n => n_read += n,
        }
    }
    Ok(n_read)
}

/// Reads and unpacks bytes of the file, and checks their checksum.
fn read_part(file: &File, at: u64, n_packed: u64, crc: u32, n_unpacked: u64) -> Option<Vec<u8>> {
    if n_packed > MAX_PART_BYTES || n_unpacked > MAX_PART_BYTES {
        return None;
    }
    let mut packed = vec![0; n_packed as usize];
    file.read_exact_at(&mut packed, at).ok()?;
    if crc32fast::hash(&packed) != crc {
        return None;
    }
    super::columns::Bytes(&packed).compressed(n_unpacked as usize)
}

/// A log in a container.
#[derive(Clone, Debug)]
pub(crate) struct PackedLog {
    container: Arc<Container>,
    place: usize,
    /// The definitions, read on first use; `None` for readers of records only, which have them already.
    dictionary: Option<Arc<OnceLock<Option<Arc<Dictionary>>>>>,
}

impl PackedLog {
    fn index(&self) -> &LogIndex {
        &self.container.index.logs[self.place]
    }

    /// Path of the original file.
    pub(crate) fn path(&self, directory: &Path) -> PathBuf {
        directory.join(&self.index().name)
    }

    /// Rank and thread.
    pub(crate) fn identity(&self) -> LogIdentity {
        LogIdentity {
            rank: self.index().rank,
            thread: self.index().thread,
        }
    }

    fn dictionary(&self, file: &File) -> Option<Arc<Dictionary>> {
        let read = || self.container.read_dictionary(file).map(Arc::new);
        self.dictionary.as_ref()?.get_or_init(read).clone()
    }

    /// Checks the checksums of its blocks and of the definitions.
    ///
    /// # Errors
    /// [`RecordsError::PackedDamage`] if they are wrong, [`RecordsError::PackedLogDamage`] if only this log is damaged.
    pub(crate) fn check(&self) -> Result<(), RecordsError> {
        let damage = |part| RecordsError::PackedDamage {
            path: self.container.path.clone(),
            part,
        };
        let file = self.container.open_again();
        let file = file.ok_or_else(|| damage("file, another of its name,"))?;
        if self.dictionary(&file).is_none() {
            return Err(damage("list of definitions"));
        }
        let index = self.index();
        let (mut at, mut bytes) = (index.at, Vec::new());
        for block in &index.blocks {
            bytes.resize(block.n_bytes as usize, 0);
            let read = file.read_exact_at(&mut bytes, at);
            if read.is_err() || crc32fast::hash(&bytes) != block.crc {
                return Err(RecordsError::PackedLogDamage {
                    path: self.container.path.clone(),
                    log: index.name.clone(),
                    offset: at,
                });
            }
            at += u64::from(block.n_bytes);
        }
        Ok(())
    }
}

impl PackedBytes for PackedLog {
    fn n_bytes(&self) -> u64 {
        self.index().n_bytes
    }

    fn reader(&self) -> Option<Box<dyn WordReader>> {
        let file = self.container.open_again()?;
        let dictionary = match &self.dictionary {
            Some(_) => Some(self.dictionary(&file)?),
            None => None,
        };
        Some(Box::new(BlockReader {
            log: self.clone(),
            dictionary,
            file,
            decoder: Decoder::default(),
            packed: Vec::new(),
            words: Vec::new(),
            first: 0,
            block: 0,
            block_at: (0, self.index().at),
        }))
    }

    fn scanned(&self, known: Option<&Arc<CommonDefinitions>>) -> Option<(Definitions, Scanned)> {
        let index = self.index().scanned.as_ref()?;
        let file = self.container.open_again()?;
        let dictionary = self.dictionary(&file)?;
        let end = usize::try_from(index.n_words).ok()?;
        let mut definitions = Definitions::of_at_most(end);
        if let Some(known) = known {
            definitions.share(known);
        }
        for number in &index.definitions {
            definitions.add_entry(dictionary.get(*number as usize)?)?;
        }
        let scanned = Scanned {
            n_records: index.n_records,
            n_entries: index.n_records + index.definitions.len() as u64,
            end,
            last: index.last,
            ..Scanned::default()
        };
        Some((definitions, scanned))
    }

    fn without_definitions(&self) -> Arc<dyn PackedBytes> {
        Arc::new(Self {
            dictionary: None,
            ..self.clone()
        })
    }
}

/// Reads words of a log; keeps the block read last unpacked.
#[derive(Debug)]
struct BlockReader {
    log: PackedLog,
    dictionary: Option<Arc<Dictionary>>,
    file: File,
    decoder: Decoder,
    packed: Vec<u8>,
    words: Vec<u64>,
    /// Position of the first unpacked word.
    first: usize,
    /// The next block to read, and its position: word of the log, and byte of the container.
    block: usize,
    block_at: (usize, u64),
}

impl BlockReader {
    /// Reads the packed bytes of the block that contains a word.
    ///
    /// # Returns
    /// Its first word, and its number of words; `None` if it is missing or damaged.
    fn read_block(&mut self, at: usize) -> Option<(usize, usize)> {
        if at < self.block_at.0 {
            (self.block, self.block_at) = (0, (0, self.log.index().at));
        }
        loop {
            let block = *self.log.index().blocks.get(self.block)?;
            let (first, byte) = self.block_at;
            let n_words = block.n_words as usize;
            self.block += 1;
            self.block_at = (first + n_words, byte + u64::from(block.n_bytes));
            if at >= self.block_at.0 {
                continue;
            }
            self.packed.resize(block.n_bytes as usize, 0);
            self.file.read_exact_at(&mut self.packed, byte).ok()?;
            let is_intact = crc32fast::hash(&self.packed) == block.crc;
            return is_intact.then_some((first, n_words));
        }
    }

    /// Unpacks the block whose packed bytes were read.
    fn unpack(&mut self, first: usize, n_words: usize) -> Option<()> {
        self.first = first;
        self.words.resize(n_words, 0);
        let definitions = self.dictionary.as_deref();
        let unpacked = self
            .decoder
            .unpack(&self.packed, definitions, &mut self.words);
        if unpacked.is_none() {
            self.words.clear();
        }
        unpacked
    }
}

impl WordReader for BlockReader {
    fn read_words(&mut self, at: u64, words: &mut [u64]) -> usize {
        let at = at as usize / WORD;
        let there = (self.log.index().n_bytes as usize / WORD).saturating_sub(at);
        let wanted = words.len().min(there);
        let mut n_read = 0;
        while n_read < wanted {
            let next = at + n_read;
            let is_there = next >= self.first && next < self.first + self.words.len();
            if !is_there {
                let Some((first, n_words)) = self.read_block(next) else {
                    self.words.clear();
                    break;
                };
                // A block is unpacked in place, except the last one: the reader may request its words again.
                let into = words.get_mut(n_read..n_read + n_words);
                let into = into.filter(|_| first == next && n_read + n_words < wanted);
                if let Some(into) = into {
                    let definitions = self.dictionary.as_deref();
                    if self
                        .decoder
                        .unpack(&self.packed, definitions, into)
                        .is_none()
                    {
                        break;
                    }
                    n_read += n_words;
                    continue;
                }
                if self.unpack(first, n_words).is_none() {
                    break;
                }
            }
            let unpacked = &self.words[next - self.first..];
            let n = unpacked.len().min(wanted - n_read);
            words[n_read..n_read + n].copy_from_slice(&unpacked[..n]);
            n_read += n;
        }
        n_read
    }

    fn sum_up(&mut self, begin: u64, end: u64, definitions: &Definitions) -> Option<PathTotals> {
        let (mut at, end) = (begin as usize / WORD, end as usize / WORD);
        let mut totals = PathTotals::default();
        let is_enough = |head| PathTotals::are_sums_enough(head, definitions);
        let (mut values, mut sums) = (Vec::new(), Vec::new());
        while at < end {
            let (first, n_words) = self.read_block(at)?;
            if first == at && first + n_words <= end {
                let summed = sum_up(&self.packed, n_words, is_enough, &mut values, &mut sums);
                if summed.is_some() {
                    sums.iter()
                        .for_each(|sums| totals.add_sums(sums, definitions));
                    at += n_words;
                    continue;
                }
            }
            self.unpack(first, n_words)?;
            let last = n_words.min(end - first);
            at += totals.add_entries(&self.words[at - first..last], definitions);
        }
        Some(totals)
    }
}
