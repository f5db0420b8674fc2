//! The memory of a log, as seen by our thread.
//!
//! If the pieces of a log are memory of the process ([`Medium::Memory`]), our thread writes them to the file: every
//! second, when one is full, and at the end. It writes the entries first, then the header with the number of entries in
//! the file. A killed process thus leaves a readable log, which lacks at most its last second. Our thread frees the
//! memory, or the writer does once our thread no longer needs it.
//!
//! This module also ends a log whose thread lives on (`cut`): no store of that thread may reach a page beyond the end
//! of the file.

use std::fs::File;
use std::io;
use std::mem::{ManuallyDrop, offset_of};
use std::os::fd::{FromRawFd, IntoRawFd, RawFd};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{ptr, slice};

use cca_abi::recording::LogCells;
use memmap2::MmapMut;
use rustix::fs::FallocateFlags;
use rustix::mm::{MremapFlags, mremap_fixed};

use crate::chunk::{Chunk, Medium, check_file_size};
use crate::error::RecordsError;
use crate::layout::{Calibration, HEADER_BYTES, LogHeader, PAGE_BYTES};
use crate::log::Log;
use crate::path_totals::PathTotals;
use crate::preparer::{Slot, locked};

const WORD: usize = size_of::<u64>();
/// Number of attempts to read a count that is changing.
const N_TRIES: usize = 10;

/// The memory that a log is written to, and how much of it is in the file.
#[derive(Debug, Default)]
pub(crate) struct LogMemory {
    /// Descriptor of the file in our thread's own table; only that thread may use and close it. Open while the log is
    /// written, since it carries the lock.
    file: Option<RawFd>,
    header: Option<Region>,
    /// Chunks that still have to be written and freed.
    chunks: Vec<Region>,
    /// Words in the part already written that still change in place.
    kept: Vec<Region>,
    /// Bytes of the entry stream in the file.
    written: u64,
    /// Records that could not be written to the file; no later record is written.
    lost: u64,
    /// The error of that write.
    error: Option<io::Error>,
    /// Whether the log has ended, although its thread may live on: nothing is appended any more.
    has_ended: bool,
}

/// Memory that has to be written to the file.
#[derive(Clone, Copy, Debug)]
struct Region {
    start: *const u8,
    n_bytes: usize,
    /// Position in the entry stream, or position of the header in the file, bytes.
    offset: u64,
}

// SAFETY: any thread may read the memory while the region is in the list.
unsafe impl Send for Region {}

impl Region {
    /// The words between two positions of the entry stream that lie in this region; for committed entries.
    fn entries(&self, from: u64, to: u64) -> Option<(u64, &[u8])> {
        let from = from.max(self.offset);
        let to = to.min(self.offset + self.n_bytes as u64);
        let n_bytes = to.checked_sub(from).filter(|n_bytes| *n_bytes > 0)?;
        let start = self.start.wrapping_add((from - self.offset) as usize);
        // SAFETY: mapped while it is in the list; committed words are not written any more.
        Some((from, unsafe {
            slice::from_raw_parts(start, n_bytes as usize)
        }))
    }

    /// A copy of words that change meanwhile; each word is consistent.
    fn copy(&self, n_bytes: usize) -> Vec<u8> {
        let words = self.start.cast::<AtomicU64>();
        let n_words = n_bytes.min(self.n_bytes) / WORD;
        // SAFETY: mapped while it is in the list, and aligned.
        let word = |place| unsafe { &*words.add(place) }.load(Ordering::Acquire);
        (0..n_words)
            .flat_map(|place| word(place).to_ne_bytes())
            .collect()
    }
}

impl Slot {
    /// Registers the header of a new log. Runs in our thread, which keeps the file open if the log is in memory.
    ///
    /// # Safety
    /// The header is mapped until [`Slot::end_writing`] or [`Slot::cut`] has run.
    pub(crate) unsafe fn begin_writing(&self, file: File, header: *const LogHeader) {
        let mut memory = locked(&self.memory);
        memory.header = Some(Region {
            start: header.cast(),
            n_bytes: HEADER_BYTES,
            offset: 0,
        });
        if self.medium() == Medium::Memory {
            memory.file = Some(file.into_raw_fd());
        }
    }

    /// Registers a chunk that will be appended to.
    ///
    /// # Returns
    /// Whether the chunk may be used; false once the log has ended.
    pub(crate) fn add_chunk(&self, chunk: &mut Chunk) -> bool {
        let mut memory = locked(&self.memory);
        if !memory.has_ended {
            memory.chunks.push(Region {
                start: chunk.start().cast(),
                n_bytes: chunk.n_words() * WORD,
                offset: chunk.offset(),
            });
        }
        !memory.has_ended
    }

    /// Whether the log has ended, although its thread may live on.
    pub(crate) fn has_ended(&self) -> bool {
        locked(&self.memory).has_ended
    }

    /// Registers words that change in place.
    ///
    /// # Arguments
    /// * `offset` - position in the entry stream, bytes
    pub(crate) fn add_kept(&self, start: *const u64, n_words: usize, offset: u64) {
        locked(&self.memory).kept.push(Region {
            start: start.cast(),
            n_bytes: n_words * WORD,
            offset,
        });
    }

    /// Writes all missing parts to the file. Runs in our thread.
    pub(crate) fn write_out(&self) -> io::Result<()> {
        let (file, header, chunks, kept, written, lost, is_broken) = {
            let memory = locked(&self.memory);
            let (Some(file), Some(header)) = (memory.file, memory.header) else {
                return Ok(());
            };
            let regions = (memory.chunks.clone(), memory.kept.clone());
            let is_broken = memory.error.is_some();
            let (written, lost) = (memory.written, memory.lost);
            (file, header, regions.0, regions.1, written, lost, is_broken)
        };
        // SAFETY: the descriptor belongs to this thread, which alone closes it; `ManuallyDrop` leaves it open.
        let file = ManuallyDrop::new(unsafe { File::from_raw_fd(file) });
        // SAFETY: mapped while it is in the list; the fields that change are atomic.
        let live = unsafe { &*header.start.cast::<LogHeader>() };
        let mut counts = (0..N_TRIES).map(|_| live.committed_bytes());
        let Some(committed) = counts.find_map(|count| count) else {
            return Ok(());
        };
        let mut is_written = written;
        let entries = || {
            for chunk in &chunks {
                if let Some((offset, bytes)) = chunk.entries(written, committed) {
                    file.write_all_at(bytes, HEADER_BYTES as u64 + offset)?;
                }
            }
            Ok(())
        };
        let result = if is_broken { Ok(()) } else { entries() };
        if result.is_ok() && !is_broken {
            is_written = committed;
            locked(&self.memory).written = committed;
        }
        for words in kept.iter().filter(|words| words.offset < is_written) {
            let n_bytes = words.n_bytes.min((is_written - words.offset) as usize);
            file.write_all_at(&words.copy(n_bytes), HEADER_BYTES as u64 + words.offset)?;
        }
        let is_stopped = live.stopped.load(Ordering::Acquire) > 0;
        let n_bytes = if is_stopped { HEADER_BYTES } else { PAGE_BYTES };
        let mut bytes = header.copy(n_bytes);
        set(&mut bytes, dropped_at(), |dropped| dropped + lost);
        if is_stopped {
            set(&mut bytes, offset_of!(LogHeader, stopped), |_| {
                is_written + 1
            });
        } else {
            set(&mut bytes, committed_at(), |_| is_written);
        }
        file.write_all_at(&bytes, 0)?;
        result
    }

    /// Writes the missing part of a full or last chunk to the file. Runs in our thread. If the write fails, the records
    /// of that part are counted as lost.
    pub(crate) fn put_down(&self, chunk: &Chunk, n_words: usize) {
        let result = self.write_out();
        let begin = chunk.offset();
        let mut memory = locked(&self.memory);
        memory.chunks.retain(|region| region.offset != begin);
        if self.medium() == Medium::Mapped {
            return;
        }
        let n_written = memory.written.saturating_sub(begin) as usize / WORD;
        if n_written < n_words {
            let mut rest = PathTotals::default();
            rest.add_entries(&chunk.words()[n_written..n_words], &self.definitions());
            memory.lost += rest.n_records();
            memory.error = memory.error.take().or(result.err());
        }
    }

    /// Writes the missing part of a log that has ended, truncates the file to its length and closes it. Runs in our
    /// thread; the log's memory may be freed afterwards.
    ///
    /// # Returns
    /// Number of records that could not be written.
    pub(crate) fn end_writing(&self, n_bytes: u64) -> io::Result<u64> {
        let result = self.write_out();
        let mut memory = locked(&self.memory);
        let header = memory.header.take();
        memory.has_ended = true;
        memory.chunks.clear();
        memory.kept.clear();
        let (file, n_bytes) = match memory.file.take() {
            // SAFETY: the descriptor belongs to this thread, and nobody else uses it from now on.
            Some(file) => (unsafe { File::from_raw_fd(file) }, memory.written),
            None => (self.open()?, n_bytes),
        };
        // SAFETY: still mapped; the field is atomic.
        let live = header.map(|header| unsafe { &*header.start.cast::<LogHeader>() });
        if live.is_some_and(|live| live.stopped.load(Ordering::Acquire) == 0) {
            give_sums_back(&file);
        }
        let cut = file.set_len(HEADER_BYTES as u64 + n_bytes);
        result?;
        cut?;
        Ok(memory.lost)
    }

    /// Ends a log whose thread lives on and may append meanwhile. Runs in our thread. Replaces the log's pages by
    /// copies that are only in memory, and truncates the file to the entries that it had by then.
    ///
    /// # Arguments
    /// * `entries` - appended after them
    ///
    /// # Returns
    /// The log, opened for reading.
    pub(crate) fn cut(&self, end: Calibration, entries: &[u64]) -> Result<Log, RecordsError> {
        let act = RecordsError::io("cut record log", &self.path);
        let cut = self.cut_file(end);
        cut.and_then(|()| self.append(entries)).map_err(act)?;
        Log::open(&self.path)
    }

    /// Appends entries to a log that has ended.
    fn append(&self, entries: &[u64]) -> io::Result<()> {
        if entries.is_empty() {
            return Ok(());
        }
        let file = self.open()?;
        let mut page = [0; PAGE_BYTES / WORD];
        file.read_exact_at(bytemuck::cast_slice_mut(&mut page), 0)?;
        // SAFETY: the page is aligned and larger than a header; every bit pattern is a valid header.
        let header = unsafe { &*page.as_ptr().cast::<LogHeader>() };
        let begin = header.committed_bytes().unwrap_or_default();
        let end = begin + size_of_val(entries) as u64;
        check_file_size(HEADER_BYTES as u64 + end)?;
        file.write_all_at(bytemuck::cast_slice(entries), HEADER_BYTES as u64 + begin)?;
        let is_stopped = header.stopped.load(Ordering::Relaxed) > 0;
        let (at, count) = match is_stopped {
            true => (offset_of!(LogHeader, stopped), end + 1),
            false => (committed_at(), end),
        };
        file.write_all_at(&count.to_ne_bytes(), at as u64)
    }

    fn cut_file(&self, end: Calibration) -> io::Result<()> {
        let (header, chunks) = {
            let mut memory = locked(&self.memory);
            memory.has_ended = true;
            (memory.header, memory.chunks.clone())
        };
        let Some(header) = header else {
            return Ok(());
        };
        // SAFETY: mapped while it is in the list; the fields that change are atomic.
        let live = unsafe { &*header.start.cast::<LogHeader>() };
        if self.medium() == Medium::Memory {
            live.store_latest(end);
            live.finished.store(1, Ordering::Release);
            return self.end_writing(0).map(drop);
        }
        let file = self.open()?;
        header.leave_file(0)?;
        // From now on nobody changes the header in the file.
        let mut page = [0; PAGE_BYTES / WORD];
        file.read_exact_at(bytemuck::cast_slice_mut(&mut page), 0)?;
        // SAFETY: the page is aligned and larger than a header; every bit pattern is a valid header.
        let kept = unsafe { &mut *page.as_mut_ptr().cast::<LogHeader>() };
        let committed = kept.committed_bytes().unwrap_or_default();
        for chunk in &chunks {
            if let Some(from) = committed.checked_sub(chunk.offset) {
                chunk.leave_file(from.min(chunk.n_bytes as u64) as usize)?;
            }
        }
        kept.store_latest(end);
        kept.finished.store(1, Ordering::Release);
        if kept.stopped.load(Ordering::Acquire) == 0 {
            give_sums_back(&file);
        }
        file.write_all_at(bytemuck::cast_slice(&page), 0)?;
        file.set_len(HEADER_BYTES as u64 + committed)
    }
}

impl Region {
    /// Replaces the mapped pages from `from` on by a copy in memory: later stores reach no file. A thread that stores
    /// meanwhile waits until the system has replaced them.
    fn leave_file(&self, from: usize) -> io::Result<()> {
        let from = from / PAGE_BYTES * PAGE_BYTES;
        let n_bytes = self.n_bytes - from;
        if n_bytes == 0 {
            return Ok(());
        }
        let place = self.start.wrapping_add(from);
        let copy = ManuallyDrop::new(MmapMut::map_anon(n_bytes)?);
        let copy = copy.as_ptr().cast_mut();
        // SAFETY: both are mapped, aligned, of this length and disjoint; changes in between are not needed any more.
        // The copy moves to the place of pages that stay mapped as long as their owner has them, who then unmaps the
        // copy. The system is called directly: a program may replace libc's function by one that ignores the address
        // (UCX's has four arguments).
        unsafe {
            ptr::copy_nonoverlapping(place, copy, n_bytes);
            let (old, new) = (copy.cast(), place.cast_mut().cast());
            let moved = mremap_fixed(old, n_bytes, n_bytes, MremapFlags::MAYMOVE, new);
            if let Err(error) = moved {
                libc::munmap(copy.cast(), n_bytes);
                return Err(error.into());
            }
        }
        Ok(())
    }
}

/// Deallocates the header's room for sums of calls without a record, if there are none.
pub(crate) fn give_sums_back(file: &File) {
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    let (begin, end) = (PAGE_BYTES as u64, HEADER_BYTES as u64);
    // If the file system does not support this, the room stays.
    let _ = rustix::fs::fallocate(file, flags, begin, end - begin);
}

fn committed_at() -> usize {
    offset_of!(LogHeader, cells) + offset_of!(LogCells, committed)
}

fn dropped_at() -> usize {
    offset_of!(LogHeader, cells) + offset_of!(LogCells, dropped)
}

/// Changes a word in a copy of the header.
fn set(bytes: &mut [u8], at: usize, change: impl FnOnce(u64) -> u64) {
    if let Some(word) = bytes
        .get_mut(at..)
        .and_then(<[u8]>::first_chunk_mut::<WORD>)
    {
        *word = change(u64::from_ne_bytes(*word)).to_ne_bytes();
    }
}
