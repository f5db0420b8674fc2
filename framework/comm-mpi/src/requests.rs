//! The sends and receives in flight, with the memory that MPI reads and writes meanwhile.
//!
//! MPI works on the memory of a message after the call that posted it has returned. The table
//! therefore owns the data of every open message, and gives it back only after MPI has ended the
//! request; callers know a message by its number alone. A number is awaited by at most one thread
//! at a time, so a wait may use the MPI handles without a lock.
//!
//! ```text
//! receive of at most n values:   | n values | 1 spare value | GUARD |
//!                                  MPI may write n + 1 values ^
//!   n + 1 values arrived  ->  Truncated: the message was too long
//!   GUARD overwritten     ->  Overrun: the library wrote past the buffer, which is leaked
//! ```
//!
//! The spare value and the guard exist because Open MPI cuts some long messages without an error
//! (`Requests::receive`).

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::mem;

use cca_abi::RVec;
use cca_comm::{CommError, Completion, check_length};
use mpi::ffi::{self, MPI_Comm, MPI_Request, MPI_Status};

use crate::library::{check, error_class, error_text, is_success};

/// The value after the room of a receive: a NaN that no calculation gives.
const GUARD: u64 = 0x7ff8_c0de_feed_beef;

/// All requests that were given out and not yet handed back.
pub(crate) struct Requests {
    /// The request given out last; 0 is never given out.
    last: u64,
    open: BTreeMap<u64, Message>,
}

impl std::fmt::Debug for Requests {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let open = self.open.keys();
        f.debug_set().entries(open).finish()
    }
}

/// One message. The heap memory of `data` stays where it is until MPI has ended the request.
struct Message {
    data: RVec<f64>,
    /// The expected message of a receive; `None` for a send.
    receive: Option<Expected>,
    state: State,
    /// Whether a thread waits for it.
    is_awaited: bool,
}

/// Sender, tag and most values of a receive.
#[derive(Clone, Copy)]
struct Expected {
    from: i32,
    tag: i32,
    length: usize,
}

impl Expected {
    fn truncated(self, detail: String) -> CommError {
        CommError::Truncated {
            from: self.from,
            tag: self.tag,
            wanted: self.length,
            detail,
        }
    }
}

enum State {
    UnderWay(MPI_Request),
    /// MPI has ended it; how, is not handed back yet.
    Ended(Result<(), CommError>),
}

impl Requests {
    pub(crate) fn new() -> Self {
        Self {
            last: 0,
            open: BTreeMap::new(),
        }
    }

    /// Posts a send and keeps its data until it has ended.
    pub(crate) fn send(
        &mut self,
        comm: MPI_Comm,
        to: i32,
        tag: i32,
        data: RVec<f64>,
    ) -> Result<u64, CommError> {
        let count = check_length("send", data.len())?;
        // SAFETY: a constant of the rsmpi shim, never written.
        let (double, mut request) = unsafe { (ffi::RSMPI_DOUBLE, ffi::RSMPI_REQUEST_NULL) };
        // SAFETY: `data` has `count` doubles, and its memory neither moves nor is touched until the
        // request has ended: it is kept in `open`, which hands it out only then.
        let code = unsafe {
            ffi::MPI_Isend(
                data.as_ptr().cast(),
                count,
                double,
                to,
                tag,
                comm,
                &mut request,
            )
        };
        check("send", code)?;
        Ok(self.keep(Message {
            data,
            receive: None,
            state: State::UnderWay(request),
            is_awaited: false,
        }))
    }

    /// Posts a receive into memory of its own.
    pub(crate) fn receive(
        &mut self,
        comm: MPI_Comm,
        from: i32,
        tag: i32,
        length: usize,
    ) -> Result<u64, CommError> {
        // Room for one value more: a message that fills it is too long. Open MPI (seen in 4.1.4) cuts
        // short messages of a rank to itself without an error. Then the guard, which only a write
        // past that room can change.
        let room = check_length("receive", length)?.saturating_add(1);
        let mut data = RVec::from(vec![0.0; length + 1]);
        data.push(f64::from_bits(GUARD));
        // SAFETY: a constant of the rsmpi shim, never written.
        let (double, mut request) = unsafe { (ffi::RSMPI_DOUBLE, ffi::RSMPI_REQUEST_NULL) };
        // SAFETY: `data` has at least `room` doubles, and its memory neither moves nor is touched
        // until the request has ended: it is kept in `open`, which hands it out only then.
        let code = unsafe {
            ffi::MPI_Irecv(
                data.as_mut_ptr().cast(),
                room,
                double,
                from,
                tag,
                comm,
                &mut request,
            )
        };
        check("receive", code)?;
        let receive = Some(Expected { from, tag, length });
        Ok(self.keep(Message {
            data,
            receive,
            state: State::UnderWay(request),
            is_awaited: false,
        }))
    }

    fn keep(&mut self, message: Message) -> u64 {
        self.last += 1;
        self.open.insert(self.last, message);
        self.last
    }

    /// Marks the requests that the calling thread is about to wait for; marks none if one has ended already, or if
    /// there are none.
    pub(crate) fn begin_wait(&mut self, requests: &[u64]) -> Result<Vec<u64>, CommError> {
        let wanted = self.wanted(requests)?;
        let ended = |request: &u64| matches!(self.open[request].state, State::Ended(_));
        if wanted.iter().any(ended) {
            return Ok(Vec::new());
        }
        self.mark(&wanted, true);
        Ok(wanted)
    }

    /// The calling thread waits for them no longer.
    pub(crate) fn end_wait(&mut self, awaited: &[u64]) {
        self.mark(awaited, false);
    }

    fn mark(&mut self, requests: &[u64], is_awaited: bool) {
        for request in requests {
            if let Some(message) = self.open.get_mut(request) {
                message.is_awaited = is_awaited;
            }
        }
    }

    /// Handles that MPI needs to wait for requests in flight. The memory of their messages stays in
    /// the table.
    pub(crate) fn waiting(&self, awaited: &[u64]) -> Waiting {
        let handles: Vec<_> = awaited
            .iter()
            .filter_map(|request| self.open.get(request)?.under_way())
            .collect();
        Waiting {
            requests: awaited.to_vec(),
            indices: vec![0; handles.len()],
            statuses: vec![empty_status(); handles.len()],
            handles,
            in_status: false,
        }
    }

    /// Takes note of how requests have ended.
    pub(crate) fn take_note(
        &mut self,
        mut waiting: Waiting,
        ended: Result<usize, CommError>,
    ) -> Result<(), CommError> {
        let ended = waiting.indices.iter().zip(&waiting.statuses).take(ended?);
        for (index, status) in ended {
            let at = usize::try_from(*index).ok();
            let Some(at) = at.filter(|at| *at < waiting.requests.len()) else {
                continue;
            };
            // The code of a status is set only if the function returns that it is.
            let code = if waiting.in_status {
                status.MPI_ERROR
            } else {
                ffi::MPI_SUCCESS as c_int
            };
            if let Some(message) = self.open.get_mut(&waiting.requests[at]) {
                message.end(code, status, &mut waiting.handles[at]);
            }
        }
        Ok(())
    }

    /// The requests that are not 0, each open and none twice.
    fn wanted(&self, requests: &[u64]) -> Result<Vec<u64>, CommError> {
        let wanted: Vec<u64> = requests
            .iter()
            .copied()
            .filter(|request| *request != 0)
            .collect();
        let mut sorted = wanted.clone();
        sorted.sort_unstable();
        // Two entries for one request would pass the same MPI handle twice to MPI_Waitsome.
        let twice = sorted
            .windows(2)
            .find(|pair| pair[0] == pair[1])
            .map(|pair| pair[0]);
        let closed = || {
            sorted
                .iter()
                .copied()
                .find(|request| !self.open.contains_key(request))
        };
        if let Some(request) = twice.or_else(closed) {
            return Err(CommError::UnknownRequest { request });
        }
        match wanted.iter().find(|request| self.open[request].is_awaited) {
            Some(&request) => Err(CommError::AwaitedRequest { request }),
            None => Ok(wanted),
        }
    }

    /// Takes those of `requests` that have ended out of the table; after an error, only the first
    /// failed one.
    pub(crate) fn hand_back(&mut self, requests: &mut [u64]) -> Result<Vec<Completion>, CommError> {
        let failed = |message: &Message| matches!(message.state, State::Ended(Err(_)));
        let first = requests
            .iter_mut()
            .find(|r| self.open.get(r).is_some_and(failed));
        if let Some(slot) = first
            && let Some(Message {
                state: State::Ended(Err(error)),
                ..
            }) = self.open.remove(&mem::take(slot))
        {
            return Err(error);
        }
        let mut completions = Vec::new();
        for (index, slot) in requests.iter_mut().enumerate() {
            if !self
                .open
                .get(slot)
                .is_some_and(|m| matches!(m.state, State::Ended(_)))
            {
                continue;
            }
            let request = mem::take(slot);
            if let Some(Message { data, .. }) = self.open.remove(&request) {
                completions.push(Completion {
                    request,
                    index,
                    data,
                });
            }
        }
        Ok(completions)
    }

    /// Abandons the requests in flight, before MPI ends.
    pub(crate) fn give_up(&mut self) {
        for message in mem::take(&mut self.open).into_values() {
            let State::UnderWay(mut handle) = message.state else {
                continue;
            };
            if message.receive.is_some() {
                let mut status = empty_status();
                // SAFETY: the handle is of a receive that MPI has not ended; a cancelled receive
                // ends without any other rank, so its memory is free after the wait.
                unsafe {
                    ffi::MPI_Cancel(&mut handle);
                    ffi::MPI_Wait(&mut handle, &mut status);
                }
            } else {
                // SAFETY: the handle is of a send that MPI has not ended. MPI may read the data
                // until it is ended itself, so the memory is never freed.
                unsafe { ffi::MPI_Request_free(&mut handle) };
                mem::forget(message.data);
            }
        }
    }
}

/// The requests that one thread waits for, as arrays that MPI takes. They are copies of the table's
/// handles, so the wait needs no lock.
pub(crate) struct Waiting {
    requests: Vec<u64>,
    handles: Vec<MPI_Request>,
    indices: Vec<c_int>,
    statuses: Vec<MPI_Status>,
    /// Whether the statuses report errors.
    in_status: bool,
}

impl Waiting {
    /// Waits until MPI has ended at least one.
    ///
    /// # Returns
    /// How many it has ended.
    pub(crate) fn wait(&mut self) -> Result<usize, CommError> {
        self.ask(ffi::MPI_Waitsome)
    }

    /// Polls for requests that MPI has ended.
    ///
    /// # Returns
    /// How many it has ended.
    pub(crate) fn test(&mut self) -> Result<usize, CommError> {
        self.ask(ffi::MPI_Testsome)
    }

    fn ask(&mut self, function: WaitOrTest) -> Result<usize, CommError> {
        let mut ended: c_int = 0;
        // SAFETY: the three arrays have as many elements as there are handles, and each handle came from MPI and has
        // not ended: no other thread waits for it (`Requests::begin_wait`).
        let code = unsafe {
            function(
                check_length("wait", self.handles.len())?,
                self.handles.as_mut_ptr(),
                &mut ended,
                self.indices.as_mut_ptr(),
                self.statuses.as_mut_ptr(),
            )
        };
        // With MPI_ERR_IN_STATUS each ended request has its own code in its status; any other error
        // is one of the call itself.
        self.in_status = error_class(code) == ffi::MPI_ERR_IN_STATUS as c_int;
        if !self.in_status {
            check("wait", code)?;
        }
        Ok(usize::try_from(ended).unwrap_or(0))
    }
}

/// `MPI_Waitsome` or `MPI_Testsome`.
type WaitOrTest =
    unsafe extern "C" fn(c_int, *mut MPI_Request, *mut c_int, *mut c_int, *mut MPI_Status) -> c_int;

// SAFETY: MPI's handles are valid in each thread of the process, and the memory of messages is owned by the table.
unsafe impl Send for Requests {}

impl Message {
    fn under_way(&self) -> Option<MPI_Request> {
        match self.state {
            State::UnderWay(handle) => Some(handle),
            State::Ended(_) => None,
        }
    }

    /// Notes how MPI has ended this message.
    fn end(&mut self, code: c_int, status: &MPI_Status, handle: &mut MPI_Request) {
        // SAFETY: a constant of the rsmpi shim, never written.
        let null = unsafe { ffi::RSMPI_REQUEST_NULL };
        if *handle != null {
            // SAFETY: the handle is one MPI gave out, ended with an error, and left to us.
            unsafe { ffi::MPI_Request_free(handle) };
        }
        let result = match self.receive {
            None => check("send", code),
            Some(expected) if is_success(code) => self.received(expected, status),
            Some(expected) if error_class(code) == ffi::MPI_ERR_TRUNCATE as c_int => {
                Err(self.truncated(expected, status, code))
            }
            Some(_) => check("receive", code),
        };
        self.state = State::Ended(result);
    }

    /// Truncates the data to the received length.
    fn received(&mut self, expected: Expected, status: &MPI_Status) -> Result<(), CommError> {
        let count = count_of(status)?;
        self.data.truncate(count);
        if count > expected.length {
            Err(expected.truncated(String::new()))
        } else {
            Ok(())
        }
    }

    /// The error of a message that the library found too long.
    fn truncated(&mut self, expected: Expected, status: &MPI_Status, code: c_int) -> CommError {
        if self.data.last().map(|guard| guard.to_bits()) == Some(GUARD) {
            return expected.truncated(format!(": {}", error_text(code)));
        }
        // Memory behind this buffer may be overwritten as well; freeing the buffer could be the
        // next fault.
        mem::forget(mem::take(&mut self.data));
        let Expected { from, tag, length } = expected;
        CommError::Overrun {
            from,
            tag,
            wanted: length,
            found: count_of(status).unwrap_or(0),
        }
    }
}

/// Number of doubles that a receive which MPI has ended got.
fn count_of(status: &MPI_Status) -> Result<usize, CommError> {
    let mut count: c_int = 0;
    // SAFETY: the status is one that MPI has filled for a receive of doubles; the constant of the
    // rsmpi shim is never written.
    let code = unsafe { ffi::MPI_Get_count(status, ffi::RSMPI_DOUBLE, &mut count) };
    check("receive", code)?;
    Ok(usize::try_from(count).unwrap_or(0))
}

/// A status for MPI to fill.
fn empty_status() -> MPI_Status {
    // SAFETY: `MPI_Status` is a C structure of integers, for which zero is a value.
    unsafe { mem::zeroed() }
}
