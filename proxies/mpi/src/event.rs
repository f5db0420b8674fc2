//! A record for each call of MPI, opted in.
//!
//! # Decisions
//!
//! Parts of a call are records of their own (`MPI_PARTS`), of no length, behind that of the call,
//! if one record has no room for them: one `MPI_Startall` starts messages to several ranks,
//! `MPI_Sendrecv` has two partners, and a call may complete requests that did not begin one after
//! the other. Each process numbers requests as they begin, so two numbers identify the requests
//! that a call completed. So the communication matrix has all messages, and a replay knows the
//! messages that each wait waited for.

use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicU8, Ordering};
use std::{array, ptr};

use cca_abi::recording::{MPI_EVENT_PARAMETERS, ProxyMethod, Recorder, Recording};

use crate::abi;
use crate::call::{ThreadState, attached, now, thread_state};
use crate::facts;
use crate::handle::Handles;
use crate::meeting;
use crate::message::{Arguments, MAX_WORDS, Moved};
use crate::pending::forget;
use crate::processor_time;
use crate::request::{Requests, Role, after_one, one_before};
use crate::stack;
use crate::status::{OwnStatus, OwnStatuses};
use crate::sums;
use crate::wrappers::{
    COMPLETED, EXCHANGED, HANDLES, MESSAGES, N_FUNCTIONS, N_METHODS, NAMES, ROLES, SIGNATURES,
    STARTED_RECEIVE, STARTED_SEND, TARGETS,
};

/// Whether calls go through [`ENTER`]: 0 if none is recorded; the exported functions test it (`entry.rs`).
pub(crate) static STATE: AtomicU8 = AtomicU8::new(UNDECIDED);
/// The first call decides: no setting has been made so far, or the MPI, whose handles may be of an unknown ABI, was not
/// loaded yet.
const UNDECIDED: u8 = 4;
/// Each call is recorded.
const RECORDED: u8 = 1;
/// With the address that it returns to.
const WITH_SITES: u8 = 2;
/// With the number of the stack that it is made from.
const WITH_STACKS: u8 = 8;
/// A callback is registered for meetings of all ranks.
const MEETING: u8 = 16;
/// Calls are summed up, if they are not recorded.
const SUMMED: u8 = 32;
/// With the processor time that its thread took since its previous call.
const WITH_PROCESSOR_TIME: u8 = 64;

/// Methods of the functions, and of parts of calls.
static METHODS: [ProxyMethod; N_METHODS] = [const { ProxyMethod::new() }; N_METHODS];

/// Words of a call that are in registers.
const N_REGISTERS: usize = 6;
/// Most words of most functions: the point-to-point ones, and the reductions.
const N_FEW_WORDS: usize = 8;

/// A function of [`N_REGISTERS`] words.
type OfRegisters = unsafe extern "C-unwind" fn(usize, usize, usize, usize, usize, usize) -> usize;
/// A function of [`N_FEW_WORDS`].
type FewWords =
    unsafe extern "C-unwind" fn(usize, usize, usize, usize, usize, usize, usize, usize) -> usize;
/// A function of [`MAX_WORDS`].
type ManyWords = unsafe extern "C-unwind" fn(
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
) -> usize;

/// Number of parameters of a call: with all optional ones, with one, and with none.
const N_WITH_ALL: usize = MPI_EVENT_PARAMETERS.len();
const N_WITH_ONE: usize = N_WITH_ALL - 1;
const N_WITHOUT: usize = N_WITH_ALL - Moved::MAX_ASKED;

/// Records each call from now on as the methods with these ids, one per name; records none if the numbers differ, or if
/// the MPI's handles are of an unknown ABI.
///
/// # Arguments
/// * `n_sites` - number of callers that a call's site consists of
/// * `has_processor_time` - whether each call has the processor time before it
pub(crate) fn record(ids: &[u32], n_sites: u32, has_processor_time: bool) -> bool {
    let all = ids.len() == METHODS.len() && !abi::is_refused();
    if all {
        for (method, id) in METHODS.iter().zip(ids) {
            method.register(*id);
        }
    }
    forget();
    facts::forget_all();
    stack::set_depth(n_sites);
    if has_processor_time {
        processor_time::measure_cost();
    }
    let state = match (all, n_sites) {
        (false, _) => 0,
        (true, 0) => RECORDED | UNDECIDED,
        (true, 1) => RECORDED | WITH_SITES | UNDECIDED,
        (true, _) => RECORDED | WITH_SITES | WITH_STACKS | UNDECIDED,
    };
    let state = match has_processor_time && all {
        true => state | WITH_PROCESSOR_TIME,
        false => state,
    };
    change(|before| (before & (MEETING | SUMMED)) | state);
    all
}

/// Sums calls up from now on, or no longer.
pub(crate) fn sum(are_summed: bool) {
    facts::forget_all();
    facts::want_peers(!are_summed);
    change(|before| match are_summed {
        true => before | SUMMED | UNDECIDED,
        false => before & !SUMMED,
    });
}

/// Routes calls through [`ENTER`] from now on to report meetings of ranks, or stops that.
pub(crate) fn report_meetings(are_reported: bool) {
    change(|before| match are_reported {
        true => before | MEETING,
        false => before & !MEETING,
    });
}

/// Calls are not recorded by default, or if their handles cannot be read.
#[cold]
fn decide() -> u8 {
    match abi::is_refused() {
        true => change(|_| 0),
        false => change(|before| before & !UNDECIDED),
    }
}

/// # Returns
/// The state afterwards.
fn change(by: impl Fn(u8) -> u8) -> u8 {
    let changed = STATE.fetch_update(Ordering::AcqRel, Ordering::Acquire, |state| Some(by(state)));
    by(changed.unwrap_or_else(|state| state))
}

/// A call of this type, or of this entry, that has come in.
struct Entered<'a, const KIND: u8, const ENTRY: usize> {
    /// Place of its entry.
    code: usize,
    state: &'a ThreadState,
    words: &'a mut [usize; MAX_WORDS],
    target: *mut c_void,
    site: usize,
    /// The requested parameters, and whether the first of them is the processor time.
    asked: [u64; Moved::MAX_ASKED],
    has_processor_time: bool,
}

/// The arguments before the call contain all data of the record.
const BY_ARGUMENTS: u8 = 0;
/// The call makes or completes one request, or receives one message.
const OF_ONE: u8 = 1;
/// It has several requests, prepares or starts them, or sends and receives; or it makes or frees a communicator or a datatype.
const ANY: u8 = 2;

/// Which of these each function is.
static KINDS: [u8; N_FUNCTIONS] = {
    let mut kinds = [ANY; N_FUNCTIONS];
    let mut function = 0;
    while function < N_FUNCTIONS {
        kinds[function] = match (ROLES[function], HANDLES[function]) {
            (Role::None, Handles::None) => BY_ARGUMENTS,
            (role, Handles::None) if role.is_of_one() => OF_ONE,
            _ => ANY,
        };
        function += 1;
    }
    kinds
};

/// Makes a call and records it.
///
/// It gets the number of the call's entry; its words, with those in registers first, and room for the others; the
/// address of the others on the stack; and the call's return address.
type Enter = unsafe extern "C-unwind" fn(
    code: u32,
    words: *mut [usize; MAX_WORDS],
    stack: *const usize,
    site: usize,
) -> usize;

/// The function for the calls of each entry.
pub(crate) static ENTER: [Enter; 3 * N_FUNCTIONS] = {
    let mut enter = [enter_as::<ANY, ANY_ENTRY> as Enter; 3 * N_FUNCTIONS];
    let mut code = 0;
    while code < 3 * N_FUNCTIONS {
        enter[code] = match KINDS[code / 3] {
            BY_ARGUMENTS => enter_as::<BY_ARGUMENTS, ANY_ENTRY>,
            OF_ONE => enter_as::<OF_ONE, ANY_ENTRY>,
            _ => enter_as::<ANY, ANY_ENTRY>,
        };
        code += 1;
    }
    // Those that programs in C call most.
    macro_rules! each_by_itself {
        ($($name:literal)*) => {$(
            enter[3 * place_of($name)] = enter_as::<{ KINDS[place_of($name)] }, { 3 * place_of($name) }>;
        )*};
    }
    each_by_itself! {
        c"MPI_Send" c"MPI_Recv" c"MPI_Isend" c"MPI_Irecv" c"MPI_Wait"
        c"MPI_Barrier" c"MPI_Bcast" c"MPI_Reduce" c"MPI_Allreduce"
    }
    enter
};

/// In place of an entry: any of its type.
const ANY_ENTRY: usize = usize::MAX;

/// The place of a function in [`NAMES`].
const fn place_of(name: &CStr) -> usize {
    let mut place = 0;
    while place < N_FUNCTIONS {
        if is_same(NAMES[place].to_bytes(), name.to_bytes()) {
            return place;
        }
        place += 1;
    }
    panic!("there is such a function")
}

const fn is_same(a: &[u8], b: &[u8]) -> bool {
    let mut place = 0;
    while place < a.len() && place < b.len() && a[place] == b[place] {
        place += 1;
    }
    place == a.len() && place == b.len()
}

/// An [`Enter`] for calls of one type, or of one entry, whose arguments the compiler then knows.
///
/// # Safety
/// As [`Enter`] requires, for that entry, or one of a function of that type.
unsafe extern "C-unwind" fn enter_as<const KIND: u8, const ENTRY: usize>(
    code: u32,
    words: *mut [usize; MAX_WORDS],
    stack: *const usize,
    site: usize,
) -> usize {
    let code = match ENTRY {
        ANY_ENTRY => code as usize,
        entry => entry,
    };
    let n_words = usize::from(SIGNATURES[code].n_words);
    // SAFETY: it lives until the thread has ended.
    let state = unsafe { &*thread_state() };
    // SAFETY: required of the caller; a function has no more words than there is room for (`build.rs` counts them).
    let words = unsafe {
        for place in N_REGISTERS..n_words {
            // Each as it was stored: a load of two would wait until both stores have left the processor's buffer.
            let word = stack.add(place - N_REGISTERS).read_volatile();
            words.cast::<usize>().add(place).write_volatile(word);
        }
        &mut *words
    };
    let mut entered = Entered::<KIND, ENTRY> {
        code,
        state,
        words,
        target: ptr::null_mut(),
        site,
        asked: [0; Moved::MAX_ASKED],
        has_processor_time: false,
    };
    // The first call of all starts a recording.
    entered.target = TARGETS[code].address();
    let recorded = match STATE.load(Ordering::Acquire) {
        undecided if undecided & UNDECIDED != 0 => decide(),
        decided => decided,
    };
    let is_recorded = recorded & RECORDED != 0 && state.is_outermost();
    let recorder = if is_recorded { attached() } else { None };
    // SAFETY: the words are those of the call.
    unsafe {
        let has_facts = KIND == ANY && recorded & (RECORDED | SUMMED) != 0;
        if has_facts {
            HANDLES[entered.function()].before(entered.arguments());
        }
        let (result, has_failed) = match recorder {
            Some(recorder) if recorded & WITH_PROCESSOR_TIME != 0 => {
                entered.record_with_processor_time(recorder, recorded)
            }
            Some(recorder) if recorded & WITH_SITES != 0 => {
                entered.asked[0] = entered.site_as_asked(recorded);
                entered.record::<N_WITH_ONE>(recorder)
            }
            Some(recorder) => entered.record::<N_WITHOUT>(recorder),
            None if recorded & SUMMED != 0 && state.is_outermost() => entered.sum(),
            None => entered.pass_on(),
        };
        if !has_failed {
            if has_facts {
                HANDLES[entered.function()].after(entered.arguments());
            }
            if recorded & MEETING != 0 && state.is_outermost() {
                meeting::returned(state, entered.function(), entered.arguments());
            }
        }
        result
    }
}

/// Records parts of a call, which take no time of their own.
#[cold]
fn record_parts<const N: usize>(
    recorder: &Recorder,
    parts: impl Iterator<Item = (usize, Moved)>,
    asked: [u64; Moved::MAX_ASKED],
) {
    for (method, moved) in parts {
        let words = moved.words(asked);
        if let Some(recording) = Recording::<N>::begin(recorder, &METHODS[method], || words) {
            let now = recording.start();
            recording.end_at(now, false, words);
        }
    }
}

impl<const KIND: u8, const ENTRY: usize> Entered<'_, KIND, ENTRY> {
    /// Place of its entry.
    #[inline(always)]
    fn code(&self) -> usize {
        match ENTRY {
            ANY_ENTRY => self.code,
            entry => entry,
        }
    }

    /// Place of its function.
    #[inline(always)]
    fn function(&self) -> usize {
        self.code() / 3
    }

    #[inline(always)]
    fn arguments(&self) -> Arguments<'_> {
        Arguments {
            language: SIGNATURES[self.code()].language,
            words: self.words,
        }
    }

    /// The data that the call moves, by its arguments.
    ///
    /// # Safety
    /// As for [`Entered::pass_on`].
    #[inline(always)]
    unsafe fn read(&self) -> Moved {
        match &MESSAGES[self.function()] {
            // SAFETY: required of the caller.
            Some(message) => unsafe { message.read(self.arguments(), &self.state.recent) },
            None => Moved::NOTHING,
        }
    }

    /// Makes the call without a record.
    ///
    /// # Returns
    /// Its result, and whether that is an error.
    ///
    /// # Safety
    /// The words are those of the call.
    unsafe fn pass_on(&self) -> (usize, bool) {
        let call = self.state.begin(self.function() as u32, now);
        // SAFETY: required of the caller.
        let (result, has_failed) = unsafe { self.forward() };
        if has_failed {
            call.count_failure();
        }
        (result, has_failed)
    }

    /// Makes the call and adds it to the sums.
    ///
    /// # Safety
    /// As for [`Entered::pass_on`].
    unsafe fn sum(&mut self) -> (usize, bool) {
        let (function, role, state) = (self.function(), ROLES[self.function()], self.state);
        let mut requests = Requests::default();
        // SAFETY: the caller's own arguments.
        let mut moved = unsafe {
            if KIND != BY_ARGUMENTS {
                requests.read(role, self.arguments());
            }
            match role {
                Role::StartsOne | Role::StartsAll => requests.to_be_started(role),
                _ => self.read(),
            }
        };
        let mut statuses = OwnStatuses::new();
        let wanted = match KIND {
            BY_ARGUMENTS => None,
            _ => requests.statuses(role),
        };
        if let Some((at, n)) = wanted {
            let language = SIGNATURES[self.code()].language;
            statuses.take_place_of(&mut self.words[at], language, n);
        }
        let start = now();
        let cells = state.cells();
        if let Some(cells) = cells {
            cells.mpi_start.store(start, Ordering::Relaxed);
            cells
                .mpi_function
                .store(function as u64 + 1, Ordering::Relaxed);
        }
        let call = state.begin(function as u32, || start);
        // SAFETY: required of the caller; the statuses live until they were read.
        let (result, has_failed) = unsafe { self.forward() };
        if has_failed {
            call.count_failure();
        }
        let stop = call.end();
        if let Some(cells) = cells {
            cells.mpi_function.store(0, Ordering::Relaxed);
        }
        if KIND != BY_ARGUMENTS && !has_failed {
            // SAFETY: the caller's own arguments, after the call.
            moved = unsafe { requests.after(role, self.arguments(), moved) };
        }
        sums::add(
            function,
            self.site,
            &moved,
            stop.saturating_sub(start),
            has_failed,
        );
        (result, has_failed)
    }

    /// Makes the call and records it with its parameters.
    ///
    /// # Safety
    /// As for [`Entered::pass_on`].
    #[inline(always)]
    unsafe fn record<const N: usize>(&mut self, recorder: &Recorder) -> (usize, bool) {
        // SAFETY: required of the caller.
        unsafe {
            match KIND {
                BY_ARGUMENTS => self.record_by_arguments::<N>(recorder),
                OF_ONE => self.record_one::<N>(recorder),
                _ => self.record_any::<N>(recorder),
            }
        }
    }

    /// Place of the parameter that adds up over calls that have one record.
    fn summed(&self) -> Option<usize> {
        self.has_processor_time.then_some(N_WITHOUT)
    }

    /// The call site, in the requested form.
    fn site_as_asked(&self, recorded: u8) -> u64 {
        match recorded & WITH_STACKS {
            0 => self.site as u64,
            _ => stack::number(self.site) as u64,
        }
    }

    /// The same with the processor time that the thread took since its previous call.
    ///
    /// # Safety
    /// As for [`Entered::pass_on`].
    #[inline(never)]
    unsafe fn record_with_processor_time(
        &mut self,
        recorder: &Recorder,
        recorded: u8,
    ) -> (usize, bool) {
        self.has_processor_time = true;
        let processor_time = &self.state.processor_time;
        self.asked[0] = processor_time.before_call(self.state.polls.are_under_way());
        // SAFETY: required of the caller.
        let ended = unsafe {
            match recorded & WITH_SITES {
                0 => self.record::<N_WITH_ONE>(recorder),
                _ => {
                    self.asked[1] = self.site_as_asked(recorded);
                    self.record::<N_WITH_ALL>(recorder)
                }
            }
        };
        processor_time.after_call();
        ended
    }

    /// The same for a call without a request or a status: its arguments contain all data, before it is made.
    ///
    /// # Safety
    /// As for [`Entered::pass_on`].
    #[inline(always)]
    unsafe fn record_by_arguments<const N: usize>(&self, recorder: &Recorder) -> (usize, bool) {
        self.state.polls.append::<N>(recorder);
        // SAFETY: the caller's own arguments.
        let words = unsafe { self.read() }.words(self.asked);
        let recording = Recording::<N>::begin(recorder, &METHODS[self.function()], || words);
        let Some(recording) = recording else {
            // SAFETY: required of the caller.
            return unsafe { self.pass_on() };
        };
        let call = self
            .state
            .begin(self.function() as u32, || recording.start());
        // SAFETY: required of the caller.
        let (result, has_failed) = unsafe { self.forward() };
        if has_failed {
            call.count_failure();
        }
        let (stop, words) = (call.end(), *recording.parameters());
        recording.end_at(stop, has_failed, words);
        (result, has_failed)
    }

    /// The same for a call of one request or one message.
    ///
    /// # Safety
    /// As for [`Entered::pass_on`].
    #[inline(always)]
    unsafe fn record_one<const N: usize>(&mut self, recorder: &Recorder) -> (usize, bool) {
        let role = ROLES[self.function()];
        if !role.may_find_none() {
            self.state.polls.append::<N>(recorder);
        }
        // SAFETY: the caller's own arguments.
        let (one, mut moved) = unsafe { (one_before(role, self.arguments()), self.read()) };
        let words = moved.words(self.asked);
        let recording = Recording::<N>::begin(recorder, &METHODS[self.function()], || words);
        let Some(recording) = recording else {
            // SAFETY: required of the caller.
            return unsafe { self.pass_on() };
        };
        let mut status = OwnStatus::new();
        if let Some(at) = role.status() {
            let language = SIGNATURES[self.code()].language;
            status.take_place_of(&mut self.words[at], language);
        }
        let call = self
            .state
            .begin(self.function() as u32, || recording.start());
        // SAFETY: required of the caller; the status lives until it was read.
        let (result, has_failed) = unsafe { self.forward() };
        if has_failed {
            call.count_failure();
        }
        let stop = call.end();
        if !has_failed {
            // SAFETY: the caller's own arguments, after the call.
            moved = unsafe { after_one(role, one, self.arguments(), moved) };
        }
        let words = moved.words(self.asked);
        // SAFETY: the caller's own arguments, after the call.
        let has_found_none = !has_failed && unsafe { role.has_found_none(self.arguments()) };
        if has_found_none && recording.is_joinable() {
            if let Some(call) = recording.end_joined(stop, words) {
                self.state.polls.add::<N>(call, recorder, self.summed());
            }
        } else {
            if role.may_find_none() {
                self.state.polls.append::<N>(recorder);
            }
            recording.end_at(stop, has_failed, words);
        }
        (result, has_failed)
    }

    /// The same for any call.
    ///
    /// # Safety
    /// As for [`Entered::pass_on`].
    #[inline(always)]
    unsafe fn record_any<const N: usize>(&mut self, recorder: &Recorder) -> (usize, bool) {
        let (role, asked, state) = (ROLES[self.function()], self.asked, self.state);
        let (mut moved, mut requests) = (Moved::NOTHING, Requests::default());
        if !role.may_find_none() {
            state.polls.append::<N>(recorder);
        }
        let recording = Recording::<N>::begin(recorder, &METHODS[self.function()], || {
            let arguments = self.arguments();
            // SAFETY: the caller's own arguments.
            unsafe {
                requests.read(role, arguments);
                moved = match (role, &MESSAGES[self.function()]) {
                    (Role::StartsOne | Role::StartsAll, _) => requests.to_be_started(role),
                    (_, Some(message)) => message.read(arguments, &state.recent),
                    _ => Moved::NOTHING,
                };
            }
            moved.words(asked)
        });
        let Some(recording) = recording else {
            // SAFETY: required of the caller.
            return unsafe { self.pass_on() };
        };
        let mut statuses = OwnStatuses::new();
        if let Some((at, n)) = requests.statuses(role) {
            let language = SIGNATURES[self.code()].language;
            statuses.take_place_of(&mut self.words[at], language, n);
        }
        let call = state.begin(self.function() as u32, || recording.start());
        // SAFETY: required of the caller; the statuses live until they were read.
        let (result, has_failed) = unsafe { self.forward() };
        if has_failed {
            call.count_failure();
        }
        let stop = call.end();
        if !has_failed {
            // SAFETY: the caller's own arguments, after the call.
            moved = unsafe { requests.after(role, self.arguments(), moved) };
        }
        // SAFETY: the caller's own arguments, after the call.
        let has_found_none = !has_failed && unsafe { role.has_found_none(self.arguments()) };
        if has_found_none && recording.is_joinable() {
            if let Some(call) = recording.end_joined(stop, moved.words(asked)) {
                state.polls.add::<N>(call, recorder, self.summed());
            }
            return (result, has_failed);
        }
        if role.may_find_none() {
            state.polls.append::<N>(recorder);
        }
        recording.end_at(stop, has_failed, moved.words(asked));
        if !has_failed {
            self.record_parts::<N>(recorder, &requests);
        }
        (result, has_failed)
    }

    /// Records the parts of a successful call that its own record does not contain.
    #[inline(always)]
    fn record_parts<const N: usize>(&self, recorder: &Recorder, requests: &Requests) {
        // They begin where their call ended.
        let mut asked = self.asked;
        if self.has_processor_time {
            asked[0] = 0;
        }
        match ROLES[self.function()] {
            role @ (Role::StartsOne | Role::StartsAll) => {
                let started = requests.started(role).into_iter();
                let parts = started.map(|(is_receive, moved)| match is_receive {
                    true => (STARTED_RECEIVE, moved),
                    false => (STARTED_SEND, moved),
                });
                record_parts::<N>(recorder, parts, asked);
            }
            Role::Exchanges { .. } => {
                let received = requests.received.map(|moved| (EXCHANGED, moved));
                record_parts::<N>(recorder, received.into_iter(), asked);
            }
            Role::Completes(_) if !requests.completed.is_empty() => {
                let completed = requests.completed.iter();
                let parts = completed.map(|moved| (COMPLETED, *moved));
                record_parts::<N>(recorder, parts, asked);
            }
            _ => {}
        }
    }

    /// # Safety
    /// As for [`Entered::pass_on`].
    #[inline(always)]
    unsafe fn forward(&self) -> (usize, bool) {
        let signature = &SIGNATURES[self.code()];
        // SAFETY: required of the caller; words beyond the arguments are passed on that are never read, and the caller
        // removes them again.
        unsafe {
            let in_registers = |place: usize| self.words[place];
            // As in `enter_as`: each as it was stored.
            let on_stack = |place: usize| ptr::from_ref(&self.words[place]).read_volatile();
            let [a, b, c, d, e, f] = array::from_fn(in_registers);
            let result = match usize::from(signature.n_words) {
                // Where the compiler does not know it, two more words cost less than the question.
                ..=N_REGISTERS if ENTRY != ANY_ENTRY => {
                    let target: OfRegisters = std::mem::transmute(self.target);
                    target(a, b, c, d, e, f)
                }
                ..=N_FEW_WORDS => {
                    let target: FewWords = std::mem::transmute(self.target);
                    target(a, b, c, d, e, f, on_stack(6), on_stack(7))
                }
                _ => {
                    let [g, h, i, j, k, l, m, n, o, p] =
                        array::from_fn(|place| on_stack(N_REGISTERS + place));
                    let target: ManyWords = std::mem::transmute(self.target);
                    target(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p)
                }
            };
            (result, signature.has_failed(result, self.words))
        }
    }
}
