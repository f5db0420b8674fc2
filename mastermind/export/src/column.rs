//! Memory of the columns of batches.
//!
//! The first access to a page of memory costs more than everything else about a number: 1 to 6 µs for 4 KiB on a
//! virtual machine. Therefore columns have mappings of their own, for which large pages are requested; the next
//! batch's column takes what a batch's column leaves of a mapping; and a batch in which every row has the same number
//! (rank, class, time in MPI, a parameter of other methods) reuses the memory of an earlier one.

use std::collections::HashMap;
use std::io;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_buffer::{ArrowNativeType, Buffer, ScalarBuffer, ToByteSlice};
use memmap2::{Advice, MmapMut};

/// Bytes of a mapping, at most: a few large pages.
const MAPPING: usize = 8 << 20;
/// What columns begin at a multiple of, bytes.
const ALIGNMENT: usize = 64;
/// Numbers of which columns are kept that have nothing else.
const KEPT: usize = 64;

/// What all who make columns share.
#[derive(Default)]
pub(crate) struct Memory {
    /// Columns in which every row has the same number, by its bytes.
    constants: Mutex<HashMap<Vec<u8>, Buffer>>,
    /// Rooms that their columns have left.
    spare: Mutex<Vec<Room>>,
}

/// Memory that nobody reads or writes but who has it.
struct Room {
    mapping: Arc<MmapMut>,
    start: NonNull<u8>,
    n_bytes: usize,
}

// SAFETY: the pointer is into the mapping that goes with it, and memory may be used by any thread.
unsafe impl Send for Room {}

/// Whoever panicked had put all of an entry there, or nothing.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Memory {
    /// A column of so many times the number.
    pub(crate) fn times<T: ArrowNativeType>(&self, n_rows: usize, number: T) -> ScalarBuffer<T> {
        let bytes = number.to_byte_slice();
        let mut constants = locked(&self.constants);
        if let Some(column) = constants.get(bytes)
            && column.len() >= n_rows * size_of::<T>()
        {
            return ScalarBuffer::new(column.clone(), 0, n_rows);
        }
        if constants.len() >= KEPT {
            constants.clear();
        }
        let column = Buffer::from(vec![number; n_rows]);
        constants.insert(bytes.to_vec(), column.clone());
        column.into()
    }

    /// Room for so many bytes.
    ///
    /// # Arguments
    /// * `n_beyond` - so many bytes may be asked for next
    fn room(&self, n_bytes: usize, n_beyond: usize) -> io::Result<Room> {
        let mut spare = locked(&self.spare);
        if let Some(place) = spare.iter().position(|room| room.n_bytes >= n_bytes) {
            return Ok(spare.swap_remove(place));
        }
        drop(spare);
        let n_bytes = n_bytes.saturating_add(n_beyond).min(MAPPING.max(n_bytes));
        let mut mapping = MmapMut::map_anon(n_bytes.next_multiple_of(ALIGNMENT))?;
        // Without large pages it is slower, and nothing else.
        let _ = mapping.advise(Advice::HugePage);
        let start = NonNull::new(mapping.as_mut_ptr());
        Ok(Room {
            start: start.ok_or(io::ErrorKind::OutOfMemory)?,
            n_bytes: mapping.len(),
            mapping: Arc::new(mapping),
        })
    }
}

/// The numbers of a batch's column while they are taken, and room for those of the next batches.
pub(crate) struct Column<T: ArrowNativeType> {
    memory: Arc<Memory>,
    room: Option<Room>,
    /// Where the batch's numbers begin in the room.
    start: NonNull<T>,
    /// Numbers of the batch that were taken.
    len: usize,
    /// Numbers that there is room for.
    most: usize,
}

impl<T: ArrowNativeType> Column<T> {
    pub(crate) fn new(memory: &Arc<Memory>) -> Self {
        Self {
            memory: Arc::clone(memory),
            room: None,
            start: NonNull::dangling(),
            len: 0,
            most: 0,
        }
    }

    /// Drops what was taken, and finds room for a batch.
    ///
    /// # Arguments
    /// * `n_rows` - of the batch
    /// * `n_beyond` - so many rows may follow it
    ///
    /// # Errors
    /// There is no memory.
    pub(crate) fn prepare(&mut self, n_rows: usize, n_beyond: usize) -> io::Result<()> {
        self.len = 0;
        if self.most < n_rows {
            self.leave();
            let n_bytes = |n: usize| n.saturating_mul(size_of::<T>());
            let room = self.memory.room(n_bytes(n_rows), n_bytes(n_beyond))?;
            self.take(room);
        }
        Ok(())
    }

    fn take(&mut self, room: Room) {
        self.start = room.start.cast();
        self.most = room.n_bytes / size_of::<T>();
        self.room = Some(room);
    }

    /// Leaves the room to others.
    fn leave(&mut self) {
        (self.len, self.most) = (0, 0);
        if let Some(room) = self.room.take() {
            locked(&self.memory.spare).push(room);
        }
    }

    /// Takes a number.
    ///
    /// # Panics
    /// There are as many as [`Column::prepare`] found room for.
    #[inline(always)]
    pub(crate) fn push(&mut self, number: T) {
        assert!(self.len < self.most, "room for each row");
        // SAFETY: the room has `most` numbers from `start` on, aligned, and nobody else uses them.
        unsafe { self.start.add(self.len).write(number) };
        self.len += 1;
    }

    /// Takes a number again and again until there are so many.
    pub(crate) fn fill(&mut self, n_rows: usize, number: T) {
        while self.len < n_rows {
            self.push(number);
        }
    }

    /// What was taken.
    pub(crate) fn numbers(&self) -> &[T] {
        // SAFETY: `len` numbers were written from `start` on; where there is none, it is aligned and not null.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    /// So many times the same number, of which none was taken.
    pub(crate) fn times(&self, n_rows: usize, number: T) -> ScalarBuffer<T> {
        self.memory.times(n_rows, number)
    }

    /// What was taken, as a column; none is left.
    pub(crate) fn finish(&mut self) -> ScalarBuffer<T> {
        if let [first, others @ ..] = self.numbers()
            && others.iter().all(|number| number == first)
        {
            let column = self.times(self.len, *first);
            self.len = 0;
            return column;
        }
        let Some(mut room) = self.room.take() else {
            return ScalarBuffer::default();
        };
        let n_bytes = std::mem::take(&mut self.len) * size_of::<T>();
        let n_taken = n_bytes.next_multiple_of(ALIGNMENT).min(room.n_bytes);
        let mapping = Arc::clone(&room.mapping);
        // SAFETY: so many bytes were written at the room's start. They belong to it no more, and the mapping lives as long as the buffer.
        let column = unsafe {
            let column = Buffer::from_custom_allocation(room.start, n_bytes, mapping);
            room.start = room.start.add(n_taken);
            column
        };
        room.n_bytes -= n_taken;
        self.take(room);
        column.into()
    }
}

impl<T: ArrowNativeType> Drop for Column<T> {
    fn drop(&mut self) {
        self.leave();
    }
}
