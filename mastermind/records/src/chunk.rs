//! Mapped pieces of a log.
//!
//! A page costs 0.8 µs when it is allocated, written with zeros through the file and then mapped in one go, against
//! 4.7 µs when it is only allocated and faulted in (ext4, Linux 6.18). Writing it also makes a full disk an error
//! here, and never a `SIGBUS` at the first store.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use memmap2::{Advice, MmapMut, MmapOptions};
use rustix::fs::FallocateFlags;
use rustix::io::Errno;

use crate::layout::HEADER_BYTES;

/// Smallest unit of allocation, bytes.
pub(crate) const GRAIN_BYTES: u64 = 4096;
/// Zeros that are written at a time, bytes.
pub(crate) const WRITE_BYTES: usize = 1 << 20;

/// A mapped piece of the entry stream.
#[derive(Debug)]
pub(crate) struct Chunk {
    map: MmapMut,
    /// Offset of its first byte in the entry stream.
    offset: u64,
}

/// A piece of the entry stream, bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

impl Chunk {
    /// Allocates, clears, maps and faults in a piece of the file. The file may be closed then.
    ///
    /// # Arguments
    /// * `offset`, `bytes` - place in the entry stream, multiples of 8
    pub(crate) fn prepare(file: &File, offset: u64, bytes: u64, zeros: &[u8]) -> io::Result<Self> {
        let start = HEADER_BYTES as u64 + offset;
        check_file_size(start + bytes)?;
        match rustix::fs::fallocate(file, FallocateFlags::empty(), start, bytes) {
            Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => {}
            Err(error) => return Err(error.into()),
        }
        let mut written = 0;
        while written < bytes {
            let piece = zeros.len().min((bytes - written) as usize);
            file.write_all_at(&zeros[..piece], start + written)?;
            written += piece as u64;
        }
        // SAFETY: the file is the log's own; mappings of its pieces do not overlap. Only a foreign process that
        // shortens the file could pull the memory away.
        let mut map = unsafe {
            MmapOptions::new()
                .offset(start)
                .len(bytes as usize)
                .map_mut(file)?
        };
        match map.advise(Advice::PopulateWrite) {
            Ok(()) => {}
            // Linux before 5.14.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                for page in map.chunks_mut(GRAIN_BYTES as usize) {
                    // A store that the compiler may not leave out.
                    std::hint::black_box(page)[0] = 0;
                }
            }
            Err(error) => return Err(error),
        }
        Ok(Self { map, offset })
    }

    /// As [`Chunk::prepare`]; where the disk has no room for all of the piece, half of it, a quarter, or what does fit.
    ///
    /// # Returns
    /// With the chunk, why there can be none after it.
    pub(crate) fn prepare_what_fits(
        file: &File,
        Piece { offset, bytes }: Piece,
        zeros: &[u8],
    ) -> (io::Result<Self>, Option<io::Error>) {
        let error = match Self::prepare(file, offset, bytes, zeros) {
            Err(error) if is_for_want_of_room(&error) => error,
            chunk => return (chunk, None),
        };
        let mut less = bytes;
        loop {
            less = less / 2 / GRAIN_BYTES * GRAIN_BYTES;
            if less == 0 {
                return (Err(error), None);
            }
            if let Ok(chunk) = Self::prepare(file, offset, less, zeros) {
                return (Ok(chunk), Some(error));
            }
        }
    }

    /// First word.
    pub(crate) fn start(&mut self) -> *mut u64 {
        self.map.as_mut_ptr().cast()
    }

    /// Number of words.
    pub(crate) fn n_words(&self) -> usize {
        self.map.len() / size_of::<u64>()
    }

    /// The words, once nobody appends to them any more.
    pub(crate) fn words(&self) -> &[u64] {
        bytemuck::cast_slice(&self.map)
    }

    /// Offset of the first byte in the entry stream.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }
}

/// Looks whether the system lets a file grow to `bytes` (`ulimit -f`): who writes beyond gets a signal that ends the process.
///
/// # Errors
/// `EFBIG`, as where that signal is ignored.
pub fn check_file_size(bytes: u64) -> io::Result<()> {
    use rustix::process::{Resource, getrlimit};
    match getrlimit(Resource::Fsize).current {
        Some(limit) if bytes > limit => Err(Errno::FBIG.into()),
        _ => Ok(()),
    }
}

fn is_for_want_of_room(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), FileTooLarge | QuotaExceeded | StorageFull)
}
