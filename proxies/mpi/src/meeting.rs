//! Meetings of all ranks of `MPI_COMM_WORLD`, opted in: calls that no rank returns from before all have come.
//!
//! MPI requires every rank to make the collective calls on a communicator in the same order, so the n-th of them is the
//! same call on each. An exchange at the end of such a call waits only for ranks that are in the same call: it adds no
//! wait that the program does not have, whatever its messages are. It uses a communicator of its own, made at its first
//! use by `MPI_Comm_split`: duplicating `MPI_COMM_WORLD` would call the program's functions that copy its attributes.

use std::ffi::{c_int, c_void};
use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

use cca_abi::recording::{MpiBytesCallback, MpiMeeting, MpiMeetingCallback};

use crate::call::ThreadState;
use crate::event::report_meetings;
use crate::facts::{self, Communicator};
use crate::handle::{Kind, predefined};
use crate::message::{Arguments, Message};
use crate::target::Target;
use crate::wrappers::MESSAGES;

/// Receiver of meetings; null for none.
static CALLBACK: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());
/// Meetings so far.
static N_MEETINGS: AtomicU64 = AtomicU64::new(0);
/// Number of the next meeting that is reported.
static NEXT: AtomicU64 = AtomicU64::new(1);
/// The communicator that is exchanged over; 0 before it was needed.
static COMMUNICATOR: AtomicUsize = AtomicUsize::new(0);

/// Calls `callback` at the first meeting, and at those that it requests.
pub(crate) fn on_meeting(callback: Option<MpiMeetingCallback>) {
    let address = callback.map_or(ptr::null_mut(), |callback| callback as *mut ());
    CALLBACK.store(address, Ordering::Release);
    report_meetings(callback.is_some());
}

/// An outermost call has returned without an error.
///
/// # Safety
/// The arguments belong to a call of this function.
pub(crate) unsafe fn returned(state: &ThreadState, function: usize, arguments: Arguments<'_>) {
    let Some(Message {
        comm: Some(at),
        is_awaited: true,
        ..
    }) = MESSAGES[function]
    else {
        return;
    };
    // SAFETY: there is a communicator at this place.
    let communicator = unsafe { arguments.handle(Kind::Communicator, at) };
    // Where the program sees a part of the world, other ranks make other calls.
    let is_whole = || {
        let known = state.recent.communicator(communicator);
        known.is_some_and(Communicator::is_whole_world)
    };
    if communicator == predefined().world && is_whole() {
        met(state);
    }
}

fn met(state: &ThreadState) {
    let number = N_MEETINGS.fetch_add(1, Ordering::AcqRel) + 1;
    let callback = CALLBACK.load(Ordering::Acquire);
    if number != NEXT.load(Ordering::Acquire) || callback.is_null() {
        return;
    }
    let Some((rank, ranks)) = facts::rank_and_size(predefined().world) else {
        return;
    };
    let meeting = MpiMeeting {
        number,
        rank,
        ranks,
        sum,
        gather,
        broadcast,
    };
    // SAFETY: `on_meeting` stored such a function there.
    let next = state.within(|| unsafe {
        let callback: MpiMeetingCallback = mem::transmute(callback);
        callback(&raw const meeting)
    });
    NEXT.store(next, Ordering::Release);
}

/// The communicator of the exchange. Making it is collective.
fn communicator() -> Option<usize> {
    let known = COMMUNICATOR.load(Ordering::Acquire);
    if known != 0 {
        return Some(known);
    }
    let split = SPLIT.known()?;
    let mut made = 0usize;
    // SAFETY: the function has these arguments; it writes a handle, of 32 bits or an address.
    let error = unsafe {
        let split: unsafe extern "C" fn(usize, c_int, c_int, *mut usize) -> c_int =
            mem::transmute(split);
        split(predefined().world, 0, 0, &raw mut made)
    };
    COMMUNICATOR.store(made, Ordering::Release);
    (error == 0 && made != 0).then_some(made)
}

/// [`MpiMeeting::sum`].
///
/// # Safety
/// As there.
unsafe extern "C" fn sum(words: *mut f64, n: u64) -> u32 {
    type Function = unsafe extern "C" fn(*const f64, *mut f64, c_int, usize, usize, usize) -> c_int;
    let done = || {
        let (double, sum) = (predefined().double, predefined().sum);
        let (communicator, all_reduce) = (communicator()?, ALL_REDUCE.known()?);
        let n_words = c_int::try_from(n).ok()?;
        // SAFETY: there are as many words; the function has these arguments.
        let error = unsafe {
            let own = std::slice::from_raw_parts(words, n as usize).to_vec();
            let all_reduce: Function = mem::transmute(all_reduce);
            all_reduce(own.as_ptr(), words, n_words, double, sum, communicator)
        };
        (error == 0).then_some(())
    };
    u32::from(done().is_some())
}

/// [`MpiMeeting::broadcast`].
///
/// # Safety
/// As there.
unsafe extern "C" fn broadcast(bytes: *mut u8, n: u64) -> u32 {
    type Function = unsafe extern "C" fn(*mut u8, c_int, usize, c_int, usize) -> c_int;
    let done = || {
        let (communicator, broadcast) = (communicator()?, BROADCAST.known()?);
        let n = c_int::try_from(n).ok()?;
        // SAFETY: there are as many bytes; the function has these arguments.
        let error = unsafe {
            let broadcast: Function = mem::transmute(broadcast);
            broadcast(bytes, n, predefined().byte, 0, communicator)
        };
        (error == 0).then_some(())
    };
    u32::from(done().is_some())
}

/// [`MpiMeeting::gather`]. A rank whose bytes exceed its part of the count that MPI can express sends none.
///
/// # Safety
/// As there.
unsafe extern "C" fn gather(
    bytes: *const u8,
    n: u64,
    out: *mut c_void,
    each: MpiBytesCallback,
) -> u32 {
    type Function = unsafe extern "C" fn(
        *const u8,
        c_int,
        usize,
        *mut u8,
        *const c_int,
        *const c_int,
        usize,
        c_int,
        usize,
    ) -> c_int;
    let done = || {
        let byte = predefined().byte;
        let (communicator, gather) = (communicator()?, GATHER.known()?);
        let (rank, ranks) = facts::rank_and_size(communicator)?;
        let ranks = ranks.max(1) as usize;
        let most = c_int::MAX as usize / ranks;
        let own = c_int::try_from(n).unwrap_or(c_int::MAX);
        let own = if own as usize > most { 0 } else { own };
        // The lengths, each in its own place: a sum is as cheap as any.
        let mut lengths = vec![0.0; ranks];
        lengths[rank as usize] = f64::from(own);
        // SAFETY: there are as many words.
        if unsafe { sum(lengths.as_mut_ptr(), ranks as u64) } == 0 {
            return None;
        }
        let lengths: Vec<c_int> = lengths.into_iter().map(|length| length as c_int).collect();
        let places = lengths.iter().scan(0, |next, length| {
            let place = *next;
            *next += length;
            Some(place)
        });
        let places: Vec<c_int> = places.collect();
        let is_root = rank == 0;
        let n_bytes: usize = lengths.iter().map(|length| *length as usize).sum();
        let mut all = vec![0u8; if is_root { n_bytes } else { 0 }];
        // SAFETY: there are as many bytes, and room for those of all ranks; the function has these
        // arguments.
        let error = unsafe {
            let gather: Function = mem::transmute(gather);
            let (lengths, places) = (lengths.as_ptr(), places.as_ptr());
            let to = all.as_mut_ptr();
            gather(bytes, own, byte, to, lengths, places, byte, 0, communicator)
        };
        if error != 0 {
            return None;
        }
        for (place, length) in places.into_iter().zip(lengths).filter(|_| is_root) {
            // SAFETY: the bytes of this rank have arrived; `each` is called with its own argument
            // types.
            unsafe { each(out, all.as_ptr().add(place as usize), length as u64) };
        }
        Some(())
    };
    u32::from(done().is_some())
}

static SPLIT: Target = Target::of_mpi(c"PMPI_Comm_split");
static ALL_REDUCE: Target = Target::of_mpi(c"PMPI_Allreduce");
static BROADCAST: Target = Target::of_mpi(c"PMPI_Bcast");
static GATHER: Target = Target::of_mpi(c"PMPI_Gatherv");
