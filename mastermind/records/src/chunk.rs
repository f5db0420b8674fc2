//! Pieces of a log in memory.
//!
//! A page costs 0.8 µs when it is allocated, written with zeros through the file and then mapped in one go, against
//! 4.7 µs when it is only allocated and faulted in (ext4, Linux 6.18). Writing it also makes a full disk an error
//! here, and never a `SIGBUS` at the first store.
//!
//! This requires that a block stays where it is once it is written. A copy-on-write file system needs a new block when
//! the page is stored to again, and can refuse it only by a signal. So a file is mapped only if its file system is
//! known to keep blocks in place ([`Medium::of`]). Otherwise the pieces are memory of the process, which our thread
//! writes to the file (`flush`).

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

/// Where the pieces of a log lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Medium {
    /// Pages of the file: a killed process loses nothing.
    Mapped,
    /// Memory of the process, written to the file by our thread.
    Memory,
}

/// `f_type` of file systems that keep written blocks in place; `statfs(2)`.
const KEEPING: [i64; 4] = [
    0xEF53,      // ext2, ext3, ext4
    0x5846_5342, // XFS: it copies only blocks that a user has shared with a second file
    0x0102_1994, // tmpfs
    0x8584_58F6, // ramfs
];
/// `f_type` of overlayfs, which stores its files in another file system.
const OVERLAY: i64 = 0x794C_7630;
/// Flag of a file that ext4 stores in extents (`FS_EXTENT_FL`); files of an overlay have the flags of the underlying
/// files.
const EXTENTS: u32 = 0x0008_0000;
/// Flag of a file whose blocks are not copied on write (`FS_NOCOW_FL`).
const NO_COPY: u32 = 0x0080_0000;

impl Medium {
    /// The medium for an empty file. Disables copy-on-write for a file that is not mapped, if the file system supports
    /// it.
    pub(crate) fn of(file: &File) -> Self {
        let system = rustix::fs::fstatfs(file).map_or(0, |system| system.f_type);
        let flags = rustix::fs::ioctl_getflags(file);
        let has_extents = flags.is_ok_and(|flags| flags.bits() & EXTENTS != 0);
        if KEEPING.contains(&system) || (system == OVERLAY && has_extents) {
            return Self::Mapped;
        }
        // Rewriting a block then needs no new block. Where the flag is unknown, a full disk is an error.
        if let Ok(flags) = flags {
            let flags = rustix::fs::IFlags::from_bits_retain(flags.bits() | NO_COPY);
            let _ = rustix::fs::ioctl_setflags(file, flags);
        }
        Self::Memory
    }
}

/// A piece of the entry stream.
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
    /// Allocates, clears, maps and faults in a piece of the file. The caller may close the file afterwards.
    ///
    /// # Arguments
    /// * `offset`, `bytes` - place in the entry stream, multiples of 8
    pub(crate) fn prepare(
        file: &File,
        medium: Medium,
        offset: u64,
        bytes: u64,
        zeros: &[u8],
    ) -> io::Result<Self> {
        let start = HEADER_BYTES as u64 + offset;
        check_file_size(start + bytes)?;
        let is_allocated = match rustix::fs::fallocate(file, FallocateFlags::empty(), start, bytes)
        {
            Ok(()) => true,
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::PERM) => false,
            Err(error) => return Err(error.into()),
        };
        // The first write takes blocks that were allocated and never written.
        if medium == Medium::Mapped || !is_allocated {
            write_zeros(file, start, bytes, zeros)?;
        }
        if medium == Medium::Memory {
            let mut map = MmapMut::map_anon(bytes as usize)?;
            fault_in(&mut map)?;
            return Ok(Self { map, offset });
        }
        // SAFETY: the file is the log's own; mappings of its pieces do not overlap. Only a foreign process that
        // shortens the file could remove the memory.
        let mut map = unsafe {
            MmapOptions::new()
                .offset(start)
                .len(bytes as usize)
                .map_mut(file)?
        };
        fault_in(&mut map)?;
        Ok(Self { map, offset })
    }

    /// As [`Chunk::prepare`]; if the disk lacks room for the whole piece, prepares half of it, a quarter, or whatever
    /// fits.
    ///
    /// # Returns
    /// The chunk, and why no chunk can follow it, if none can.
    pub(crate) fn prepare_what_fits(
        file: &File,
        medium: Medium,
        Piece { offset, bytes }: Piece,
        zeros: &[u8],
    ) -> (io::Result<Self>, Option<io::Error>) {
        let error = match Self::prepare(file, medium, offset, bytes, zeros) {
            Err(error) if is_for_want_of_room(&error) => error,
            chunk => return (chunk, None),
        };
        let mut less = bytes;
        loop {
            less = less / 2 / GRAIN_BYTES * GRAIN_BYTES;
            if less == 0 {
                return (Err(error), None);
            }
            if let Ok(chunk) = Self::prepare(file, medium, offset, less, zeros) {
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

    /// The words, once no thread appends to them any more.
    pub(crate) fn words(&self) -> &[u64] {
        bytemuck::cast_slice(&self.map)
    }

    /// Offset of the first byte in the entry stream.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }
}

/// Writes zeros to a piece of a file.
fn write_zeros(file: &File, start: u64, bytes: u64, zeros: &[u8]) -> io::Result<()> {
    let mut written = 0;
    while written < bytes {
        let piece = zeros.len().min((bytes - written) as usize);
        file.write_all_at(&zeros[..piece], start + written)?;
        written += piece as u64;
    }
    Ok(())
}

/// Makes the system provide the pages now, not at the first store.
fn fault_in(map: &mut MmapMut) -> io::Result<()> {
    match map.advise(Advice::PopulateWrite) {
        Ok(()) => Ok(()),
        // Linux before 5.14, or the system call is not allowed.
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::InvalidInput
                    | io::ErrorKind::PermissionDenied
                    | io::ErrorKind::Unsupported
            ) =>
        {
            for page in map.chunks_mut(GRAIN_BYTES as usize) {
                // A store that the compiler may not remove.
                std::hint::black_box(page)[0] = 0;
            }
            Ok(())
        }
        Err(error) => Err(error),
    }
}

/// Checks that the system lets a file grow to `bytes` (`ulimit -f`). A process that writes beyond the limit gets a
/// signal that ends it.
///
/// # Errors
/// `EFBIG`, the error that a write returns if that signal is ignored.
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
