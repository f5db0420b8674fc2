//! Packed records: a container stores the logs of many ranks in one file. Each log is read as if it were a separate
//! file.
//!
//! ```text
//! byte 0   magic, layout version, 0
//!      16  blocks of the logs, one log after the other         `block`: records as columns
//!          definitions, LZ4                                    `definitions`: each once
//!          index, JSON, LZ4                                    positions, and a CRC-32 of each block
//!          position, bytes and CRC-32 of the index, magic      32 bytes
//! ```
//!
//! A packed log keeps its bytes, header and damage included, so readers of records need not know whether they are
//! packed: a [`Window`] requests words from a file or from a container ([`PackedBytes`]). For an undamaged log, the
//! index contains the result of scanning it, so opening reads no records. [`Run::open`] opens loose and packed logs,
//! also both in one directory.
//!
//! Little-endian; the words of a log are in the byte order of the machine that wrote it.
//!
//! [`Window`]: crate::source::Window
//! [`PackedBytes`]: crate::source::PackedBytes
//! [`Run::open`]: crate::Run::open
//!
//! # Decisions
//!
//! Packed records are the logs themselves (`records/packed`): a container gives back each log byte
//! for byte, header and damage included, so readers see words of a log wherever they lie
//! (`records/source`), also where it was packed after they opened it. Only `Run::open` opens
//! containers; code in a measured process cannot reach them, and does not contain the decoder.

mod block;
mod columns;
mod container;
mod definitions;
mod directory;
mod sums;
mod write;

use std::path::{Path, PathBuf};

pub(crate) use container::{Container, PackedLog};
pub(crate) use directory::find_packed;
pub use directory::{PackOptions, PackedDirectory, pack, packed_ranks};
pub use write::ContainerWriter;

/// File name extension of a container, without the dot.
pub const PACKED_EXTENSION: &str = "mmp";

/// First and last bytes of a container.
const MAGIC: [u8; 8] = *b"MMPACKED";
/// Version of the layout.
const VERSION: u32 = 1;
/// Bytes before the blocks.
const HEAD_BYTES: u64 = 16;
/// Bytes after the index.
const FOOT_BYTES: u64 = 32;

/// Whether a file name is that of a log or of a container.
pub fn holds_records(path: &Path) -> bool {
    path.extension()
        .is_some_and(|end| end == crate::layout::EXTENSION || end == PACKED_EXTENSION)
}

/// Paths of the containers in a directory, ordered by name.
pub(crate) fn container_paths(directory: &Path) -> std::io::Result<Vec<PathBuf>> {
    let paths = std::fs::read_dir(directory)?.map(|entry| entry.map(|entry| entry.path()));
    let mut paths = paths.collect::<Result<Vec<_>, _>>()?;
    paths.retain(|path| path.extension().is_some_and(|end| end == PACKED_EXTENSION));
    paths.sort();
    Ok(paths)
}

/// Whether the bytes are a block of that many words; for the fuzz target, which has to bypass the checksum of a
/// container.
#[doc(hidden)]
pub fn is_block(bytes: &[u8], n_words: u16) -> bool {
    let mut words = vec![0; n_words.into()];
    block::Decoder::default()
        .unpack(bytes, None, &mut words)
        .is_some()
}
