//! Properties of communicators and datatypes, queried from MPI once for each handle.
//!
//! A handle may be freed and used again for another object. Its cached properties are forgotten as it is freed, by
//! `MPI_Comm_free`, `MPI_Comm_disconnect` or `MPI_Type_free` at any depth (an attribute's delete callback may free
//! others), and as MPI returns a new one, for handles that were freed under their profiling names, which no proxy sees.
//! Each thread first searches a small table of its own, whose entries are valid as long as nothing was forgotten since
//! ([`GENERATION`]).

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use cca_abi::recording::{MpiCommunicator, MpiCommunicatorCallback};

use crate::call::thread_state;
use crate::handle::{Kind, predefined};
use crate::target::{Target, base_of};

/// Number of a communicator about which MPI returns nothing.
pub(crate) const UNKNOWN: i64 = -1;

/// Properties of a communicator; they stay for ever, since a request may outlive it, and the end of the run reports it.
#[derive(Debug)]
pub(crate) struct Communicator {
    /// In this process, in the order of their first use; `MPI_COMM_WORLD` is 0.
    number: i64,
    /// Ranks of the own group.
    n_ranks: c_int,
    /// The own rank.
    pub(crate) own: c_int,
    /// Whether it joins two groups; peers are in the other one.
    pub(crate) is_inter: bool,
    /// Number of ranks that calls can address.
    n_peers: c_int,
    /// Their ranks in `MPI_COMM_WORLD`; `None` if they are the same.
    world_ranks: Option<&'static [c_int]>,
    /// Whether it is `MPI_COMM_WORLD` with all ranks that MPI started: a library between the program and MPI may show a part of them.
    is_whole_world: bool,
}

impl Communicator {
    pub(crate) fn is_whole_world(&self) -> bool {
        self.is_whole_world
    }

    pub(crate) fn number(&self) -> i64 {
        self.number
    }

    /// Ranks of the own group.
    pub(crate) fn n_ranks(&self) -> i64 {
        i64::from(self.n_ranks)
    }

    /// Number of ranks that calls can address.
    pub(crate) fn n_peers(&self) -> i64 {
        i64::from(self.n_peers)
    }

    /// The rank in `MPI_COMM_WORLD` of a call's rank; −1 for an invalid one.
    pub(crate) fn world_rank(&self, peer: i64) -> i64 {
        let Some(world_ranks) = self.world_ranks else {
            return if peer < i64::from(self.n_peers) {
                peer
            } else {
                -1
            };
        };
        let rank = usize::try_from(peer)
            .ok()
            .and_then(|peer| world_ranks.get(peer));
        rank.map_or(-1, |rank| i64::from(*rank))
    }
}

/// Changes whenever something is forgotten. Never 0.
static GENERATION: [AtomicU64; 2] = [const { AtomicU64::new(1) }; 2];

/// Cached properties of all handles.
#[derive(Debug, Default)]
struct HandleFacts {
    communicators: BTreeMap<usize, &'static Communicator>,
    /// Sizes, bytes.
    datatypes: BTreeMap<usize, i64>,
    /// Communicators but `MPI_COMM_WORLD` so far.
    n_others: i64,
    /// Lists of ranks, each once.
    lists: BTreeSet<&'static [c_int]>,
}

static HANDLE_FACTS: Mutex<HandleFacts> = Mutex::new(HandleFacts {
    communicators: BTreeMap::new(),
    datatypes: BTreeMap::new(),
    n_others: 0,
    lists: BTreeSet::new(),
});

fn kept() -> MutexGuard<'static, HandleFacts> {
    HANDLE_FACTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A place in a thread's table.
struct CacheEntry<T> {
    handle: Cell<usize>,
    generation: Cell<u64>,
    fact: Cell<T>,
}

impl<T: Copy> CacheEntry<T> {
    const fn new(fact: T) -> Self {
        Self {
            handle: Cell::new(0),
            generation: Cell::new(0),
            fact: Cell::new(fact),
        }
    }
}

/// Places for each type in a thread's table.
const N_PLACES: usize = 16;

/// Recent look-ups of a thread.
pub(crate) struct Recent {
    communicators: [CacheEntry<Option<&'static Communicator>>; N_PLACES],
    datatypes: [CacheEntry<i64>; N_PLACES],
}

impl Recent {
    pub(crate) const fn new() -> Self {
        Self {
            communicators: [const { CacheEntry::new(None) }; N_PLACES],
            datatypes: [const { CacheEntry::new(0) }; N_PLACES],
        }
    }

    /// Properties of a communicator; `None` for another handle.
    #[inline]
    pub(crate) fn communicator(&self, handle: usize) -> Option<&'static Communicator> {
        let find = || find_communicator(handle);
        looked_up(&self.communicators, Kind::Communicator, handle, find)
    }

    /// Properties of the group of a window; `None` for another handle. No communicator has the same
    /// handle.
    #[inline]
    pub(crate) fn window(&self, handle: usize) -> Option<&'static Communicator> {
        let find = || find_window(handle);
        looked_up(&self.communicators, Kind::Window, handle, find)
    }

    /// Bytes of an element of a datatype; 0 for another handle.
    #[inline]
    pub(crate) fn size_of(&self, handle: usize) -> i64 {
        looked_up(&self.datatypes, Kind::Datatype, handle, || {
            find_size(handle)
        })
    }
}

#[inline]
fn looked_up<T: Copy + Default>(
    places: &[CacheEntry<T>; N_PLACES],
    kind: Kind,
    handle: usize,
    find: impl FnOnce() -> T,
) -> T {
    let generation = generation(kind).load(Ordering::Acquire);
    // The multiplier is 2⁶⁴ divided by the golden ratio: handles differ in a few bits only.
    let hash =
        (handle as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - N_PLACES.ilog2());
    let place = &places[hash as usize];
    if place.handle.get() == handle && place.generation.get() == generation {
        return place.fact.get();
    }
    let fact = guarded(find);
    place.handle.set(handle);
    place.generation.set(generation);
    place.fact.set(fact);
    fact
}

/// No panic goes into the program.
#[cold]
#[inline(never)]
fn guarded<T: Default>(find: impl FnOnce() -> T) -> T {
    // SAFETY: it lives until the thread has ended.
    let state = unsafe { &*thread_state() };
    // Calls of a library between the program and MPI to answer this are not the program's.
    state.within(|| catch_unwind(AssertUnwindSafe(find)).unwrap_or_default())
}

/// Forgets the cached properties of a handle.
pub(crate) fn forget_one(kind: Kind, handle: usize) {
    {
        let mut kept = kept();
        match kind {
            Kind::Communicator | Kind::Window => drop(kept.communicators.remove(&handle)),
            Kind::Datatype => drop(kept.datatypes.remove(&handle)),
        }
    }
    generation(kind).fetch_add(1, Ordering::AcqRel);
}

/// Generation of the table in which this is kept.
#[inline(always)]
fn generation(kind: Kind) -> &'static AtomicU64 {
    match kind {
        Kind::Communicator | Kind::Window => &GENERATION[0],
        Kind::Datatype => &GENERATION[1],
    }
}

/// Forgets the cached properties of all handles: some may have been freed unseen. Reported communicators stay.
pub(crate) fn forget_all() {
    {
        let mut kept = kept();
        kept.communicators.clear();
        kept.datatypes.clear();
    }
    for generation in &GENERATION {
        generation.fetch_add(1, Ordering::AcqRel);
    }
}

/// Whether peers have ranks in `MPI_COMM_WORLD`: sums of calls name none, and need no groups.
static HAS_PEERS: AtomicBool = AtomicBool::new(true);

/// Sets whether peers are needed, for properties that are found from now on.
pub(crate) fn want_peers(are_wanted: bool) {
    HAS_PEERS.store(are_wanted, Ordering::Release);
}

/// Receiver of communicators; null for none.
static CALLBACK: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());
/// First argument of the callback.
static CONTEXT: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// From now on `callback` is called with each communicator that is found, and with `context`.
pub(crate) fn on_communicator(context: *mut c_void, callback: Option<MpiCommunicatorCallback>) {
    let address = callback.map_or(ptr::null_mut(), |callback| callback as *mut ());
    CONTEXT.store(context, Ordering::Release);
    CALLBACK.store(address, Ordering::Release);
}

fn announce(communicator: &Communicator) {
    let callback = CALLBACK.load(Ordering::Acquire);
    if callback.is_null() {
        return;
    }
    let announced = MpiCommunicator {
        number: communicator.number,
        own: i64::from(communicator.own),
        is_inter: u32::from(communicator.is_inter),
        n_ranks: communicator.n_peers.max(0) as u32,
        world_ranks: communicator
            .world_ranks
            .map_or(ptr::null(), <[c_int]>::as_ptr),
    };
    // SAFETY: `on_communicator` stored such a function there; its arguments are valid as long as the call
    // lasts.
    unsafe {
        let callback: MpiCommunicatorCallback = std::mem::transmute(callback);
        callback(CONTEXT.load(Ordering::Acquire), &raw const announced);
    }
}

#[cold]
#[inline(never)]
fn find_communicator(handle: usize) -> Option<&'static Communicator> {
    let predefined = predefined();
    if handle == predefined.no_communicator || handle == 0 {
        return None;
    }
    if let Some(known) = kept().communicators.get(&handle) {
        return Some(known);
    }
    let is_world = handle == predefined.world;
    let (size, rank) = match is_world {
        true => (&SEEN_SIZE, &SEEN_RANK),
        false => (&COMM_SIZE, &COMM_RANK),
    };
    let mut found = Communicator {
        number: 0,
        n_ranks: ask(size, handle)?,
        own: ask(rank, handle)?,
        is_inter: ask(&COMM_TEST_INTER, handle)? != 0,
        n_peers: 0,
        world_ranks: None,
        is_whole_world: is_world,
    };
    found.n_peers = match found.is_inter {
        true => ask(&COMM_REMOTE_SIZE, handle)?,
        false => found.n_ranks,
    };
    let has_peers = HAS_PEERS.load(Ordering::Acquire);
    let world_ranks = match is_world {
        true if is_world_shown_whole() => None,
        true => {
            let ranks = ranks_of_seen_world(&found, handle);
            let is_of_all = Some(found.n_ranks) == ask(&COMM_SIZE, handle);
            found.is_whole_world = is_of_all && ranks.is_none();
            ranks
        }
        false if !has_peers => None,
        false => world_ranks(&found, handle),
    };
    let mut kept = kept();
    if let Some(known) = kept.communicators.get(&handle) {
        return Some(known);
    }
    found.world_ranks = world_ranks.map(|ranks| kept.list(ranks));
    if !is_world {
        kept.n_others += 1;
        found.number = kept.n_others;
    }
    let known: &'static Communicator = Box::leak(Box::new(found));
    kept.communicators.insert(handle, known);
    drop(kept);
    if has_peers {
        announce(known);
    }
    Some(known)
}

#[cold]
#[inline(never)]
fn find_window(handle: usize) -> Option<&'static Communicator> {
    if handle == 0 {
        return None;
    }
    if let Some(known) = kept().communicators.get(&handle) {
        return Some(known);
    }
    let group = Group::of(&WIN_GROUP, handle)?;
    let n_ranks = ask(&GROUP_SIZE, group.0)?;
    let mut found = Communicator {
        number: UNKNOWN,
        n_ranks,
        own: ask(&GROUP_RANK, group.0)?,
        is_inter: false,
        n_peers: n_ranks,
        world_ranks: None,
        is_whole_world: false,
    };
    drop(group);
    let has_peers = HAS_PEERS.load(Ordering::Acquire);
    let world_ranks = has_peers
        .then(|| known_world_ranks(&found, &WIN_GROUP, handle))
        .flatten();
    let mut kept = kept();
    found.world_ranks = world_ranks.map(|ranks| kept.list(ranks));
    let known: &'static Communicator = Box::leak(Box::new(found));
    Some(kept.communicators.entry(handle).or_insert(known))
}

impl HandleFacts {
    /// The list of these ranks, which stays.
    fn list(&mut self, ranks: Vec<c_int>) -> &'static [c_int] {
        if let Some(list) = self.lists.get(&ranks[..]) {
            return list;
        }
        let list: &'static [c_int] = Vec::leak(ranks);
        self.lists.insert(list);
        list
    }
}

#[cold]
#[inline(never)]
fn find_size(handle: usize) -> i64 {
    if handle == predefined().no_datatype || handle == 0 {
        return 0;
    }
    if let Some(known) = kept().datatypes.get(&handle) {
        return *known;
    }
    let size = i64::from(ask(&TYPE_SIZE, handle).unwrap_or(0).max(0));
    kept().datatypes.insert(handle, size);
    size
}

/// This process's rank in a communicator, and the number of its ranks.
pub(crate) fn rank_and_size(communicator: usize) -> Option<(u32, u32)> {
    let number = |function| u32::try_from(ask(function, communicator)?).ok();
    Some((number(&COMM_RANK)?, number(&COMM_SIZE)?))
}

/// Whether the program gets MPI's own answer about `MPI_COMM_WORLD`.
fn is_world_shown_whole() -> bool {
    let pairs = [
        (&SEEN_SIZE, &COMM_SIZE),
        (&SEEN_RANK, &COMM_RANK),
        (&SEEN_GROUP, &COMM_GROUP),
    ];
    let is_of_mpi = |(seen, own): &(&Target, &Target)| {
        let library = |target: &Target| target.known().map(base_of);
        library(seen) == library(own)
    };
    pairs.iter().all(is_of_mpi)
}

/// As [`world_ranks`], of the communicator that a library between the program and MPI shows as `MPI_COMM_WORLD`.
fn ranks_of_seen_world(seen: &Communicator, world: usize) -> Option<Vec<c_int>> {
    let ranks = translated(seen, &SEEN_GROUP, world);
    let unknown = || vec![-1; seen.n_peers.max(0) as usize];
    let Some(ranks) = ranks else {
        return Some(unknown());
    };
    // A library that shows another size and rank may leave the group as it is.
    let own = usize::try_from(seen.own)
        .ok()
        .and_then(|own| ranks.get(own).copied());
    if own.is_none() || own != ask(&COMM_RANK, world) {
        return Some(unknown());
    }
    is_other(&ranks).then_some(ranks)
}

/// Whether ranks differ from those of the other communicator.
fn is_other(ranks: &[c_int]) -> bool {
    ranks.iter().zip(0..).any(|(rank, place)| *rank != place)
}

/// Ranks in `MPI_COMM_WORLD` of the ranks in a communicator's calls, −1 for others; `None` if they are the same.
fn world_ranks(communicator: &Communicator, handle: usize) -> Option<Vec<c_int>> {
    let of = match communicator.is_inter {
        true => &COMM_REMOTE_GROUP,
        false => &COMM_GROUP,
    };
    known_world_ranks(communicator, of, handle)
}

/// As [`world_ranks`], with −1 for all if MPI fails.
fn known_world_ranks(
    communicator: &Communicator,
    of: &Target,
    handle: usize,
) -> Option<Vec<c_int>> {
    match translated(communicator, of, handle) {
        Some(ranks) => is_other(&ranks).then_some(ranks),
        None => Some(vec![-1; communicator.n_peers.max(0) as usize]),
    }
}

/// Ranks in `MPI_COMM_WORLD` of the peers of a communicator, −1 for others; `None` if MPI fails.
///
/// # Arguments
/// * `of` - the function that gives their group
fn translated(communicator: &Communicator, of: &Target, handle: usize) -> Option<Vec<c_int>> {
    // Sessions may do without `MPI_COMM_WORLD`, which is an error to ask for then.
    if ask_whether(&INITIALIZED) != Some(true) {
        return None;
    }
    let n = communicator.n_peers.max(0);
    let peers: Vec<c_int> = (0..n).collect();
    let group = Group::of(of, handle)?;
    let world = Group::of(&COMM_GROUP, predefined().world)?;
    let translate = TRANSLATE.known()?;
    let mut ranks = vec![-1; peers.len()];
    // SAFETY: the function has these arguments; both lists have `n` ranks.
    let error = unsafe {
        let translate: unsafe extern "C" fn(
            usize,
            c_int,
            *const c_int,
            usize,
            *mut c_int,
        ) -> c_int = std::mem::transmute::<*mut c_void, _>(translate);
        translate(group.0, n, peers.as_ptr(), world.0, ranks.as_mut_ptr())
    };
    // MPI_UNDEFINED is negative in every MPI.
    ranks.iter_mut().for_each(|rank| *rank = (*rank).max(-1));
    (error == 0).then_some(ranks)
}

/// A group, freed at the end.
struct Group(usize);

impl Group {
    fn of(function: &Target, communicator: usize) -> Option<Self> {
        let function = function.address_if_any();
        if function.is_null() {
            return None;
        }
        let mut group = 0usize;
        // SAFETY: the function writes a handle, of 32 bits or an address, there.
        let error = unsafe {
            let ask: unsafe extern "C" fn(usize, *mut usize) -> c_int =
                std::mem::transmute::<*mut c_void, _>(function);
            ask(communicator, &raw mut group)
        };
        (error == 0).then_some(Self(group))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let free = GROUP_FREE.address_if_any();
        if !free.is_null() {
            // SAFETY: the function takes the address of a handle; the group is this one's own.
            unsafe {
                let free: unsafe extern "C" fn(*mut usize) -> c_int =
                    std::mem::transmute::<*mut c_void, _>(free);
                free(&raw mut self.0);
            }
        }
    }
}

/// MPI's answer about a handle; `None` after an error.
fn ask(function: &Target, handle: usize) -> Option<c_int> {
    let function = function.address_if_any();
    if function.is_null() {
        return None;
    }
    let mut result = 0;
    // SAFETY: the functions are `(handle, int *result)`; the handle comes from a call of MPI, and is not the null
    // handle.
    let error = unsafe {
        let ask: unsafe extern "C" fn(usize, *mut c_int) -> c_int =
            std::mem::transmute::<*mut c_void, _>(function);
        ask(handle, &raw mut result)
    };
    (error == 0).then_some(result)
}

/// MPI's answer about itself; `None` after an error.
fn ask_whether(function: &Target) -> Option<bool> {
    let function = function.known()?;
    let mut flag = 0;
    // SAFETY: the function is `(int *flag)`.
    let error = unsafe {
        let ask: unsafe extern "C" fn(*mut c_int) -> c_int =
            std::mem::transmute::<*mut c_void, _>(function);
        ask(&raw mut flag)
    };
    (error == 0).then_some(flag != 0)
}

static INITIALIZED: Target = Target::of_mpi(c"PMPI_Initialized");
static TYPE_SIZE: Target = Target::of_mpi(c"PMPI_Type_size");
static COMM_SIZE: Target = Target::of_mpi(c"PMPI_Comm_size");
static COMM_RANK: Target = Target::of_mpi(c"PMPI_Comm_rank");
static COMM_TEST_INTER: Target = Target::of_mpi(c"PMPI_Comm_test_inter");
static COMM_REMOTE_SIZE: Target = Target::of_mpi(c"PMPI_Comm_remote_size");
static COMM_GROUP: Target = Target::of_mpi(c"PMPI_Comm_group");
static COMM_REMOTE_GROUP: Target = Target::of_mpi(c"PMPI_Comm_remote_group");
static TRANSLATE: Target = Target::of_mpi(c"PMPI_Group_translate_ranks");
static GROUP_FREE: Target = Target::of_mpi(c"PMPI_Group_free");

// The functions that the program finds by these names. MPI itself answers for all other communicators, whose
// handles are its own.
static SEEN_SIZE: Target = Target::new(c"MPI_Comm_size", c"PMPI_Comm_size");
static SEEN_RANK: Target = Target::new(c"MPI_Comm_rank", c"PMPI_Comm_rank");
static SEEN_GROUP: Target = Target::new(c"MPI_Comm_group", c"PMPI_Comm_group");
static WIN_GROUP: Target = Target::of_mpi(c"PMPI_Win_get_group");
static GROUP_SIZE: Target = Target::of_mpi(c"PMPI_Group_size");
static GROUP_RANK: Target = Target::of_mpi(c"PMPI_Group_rank");
