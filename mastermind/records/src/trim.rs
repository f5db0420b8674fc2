//! Operations on a log that need only its header: they free the room that a killed program's log reserves for later
//! records, and read the number of lost calls.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::Ordering;

use rustix::fs::{FlockOperation, flock};

use crate::flush::give_sums_back;
use crate::layout::{HEADER_BYTES, LogHeader, MAGIC, PAGE_BYTES, VERSION};

const WORD: usize = size_of::<u64>();

/// Truncates a log that is not finished, and that no program writes, to its contents. A damaged log stays unchanged.
///
/// # Errors
/// The file cannot be read or truncated.
pub fn trim(log: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let options = options.read(true).write(true);
    let file = options.custom_flags(libc::O_NOFOLLOW).open(log)?;
    // Its writer has it locked. A reader may find it shorter.
    if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        return Ok(());
    }
    let page = first_page(&file)?;
    let header = header_of(&page);
    let is_whole = is_whole(header);
    let is_finished = header.finished.load(Ordering::Relaxed) == 1;
    let Some(committed) = header
        .committed_bytes()
        .filter(|_| is_whole && !is_finished)
    else {
        return Ok(());
    };
    let end = HEADER_BYTES as u64 + committed;
    if !is_empty_at(&file, end)? {
        return Ok(());
    }
    if header.stopped.load(Ordering::Relaxed) == 0 {
        give_sums_back(&file);
    }
    file.set_len(end)
}

/// Number of calls of a log without a record; 0 for a file that is not a log.
///
/// # Errors
/// The file cannot be read.
pub fn lost_calls(log: &Path) -> io::Result<u64> {
    let page = first_page(&File::open(log)?)?;
    let header = header_of(&page);
    let lost = header.cells.dropped.load(Ordering::Relaxed);
    Ok(if is_whole(header) { lost } else { 0 })
}

type Page = [u64; PAGE_BYTES / WORD];

fn first_page(file: &File) -> io::Result<Page> {
    let mut page = [0; PAGE_BYTES / WORD];
    file.read_exact_at(bytemuck::cast_slice_mut(&mut page), 0)?;
    Ok(page)
}

fn header_of(page: &Page) -> &LogHeader {
    // SAFETY: the page is aligned and larger than a header; every bit pattern is a valid header.
    unsafe { &*page.as_ptr().cast::<LogHeader>() }
}

fn is_whole(header: &LogHeader) -> bool {
    header.magic == MAGIC
        && header.version == VERSION
        && header.identity_check == header.computed_identity_check()
}

/// Whether the file has room for an entry at `end` and contains none there; otherwise the committed count cannot be
/// trusted.
fn is_empty_at(file: &File, end: u64) -> io::Result<bool> {
    let mut word = [0; WORD];
    match file.read_exact_at(&mut word, end) {
        Ok(()) => Ok(word == [0; WORD]),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}
