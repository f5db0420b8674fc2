//! Data that a call of MPI moves: bytes, peer and number of ranks, read from its arguments.
//!
//! # Decisions
//!
//! A recorded call of MPI has the same parameters whatever the function, by a table of argument
//! places (`proxies/mpi/messages.txt`): bytes, peer, ranks, communicator, the peer's rank in
//! `MPI_COMM_WORLD`, and, if requested, its call site, which two functions in assembler pass on
//! (`entry.rs`). The data of a request is kept by its handle from the call that makes it to the one
//! that completes it (`proxies/mpi/src/request.rs`). Data of received messages comes from the
//! status; if the program passes none, the proxy passes one of its own (`status.rs`).

use std::{array, ptr};

use crate::abi::abi;
use crate::facts::{Communicator, Recent, UNKNOWN};
use crate::handle::Kind;
use crate::status::Received;

/// The language of an entry point, which determines how its arguments are passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Language {
    /// Numbers and handles by value.
    C,
    /// All by address; a handle is an integer, in `mpi_f08` within a structure of nothing else.
    Fortran,
}

/// Places of the arguments that describe the moved data; a line of `messages.txt`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message {
    pub(crate) here: Size,
    /// On the root, if that differs.
    pub(crate) root: Option<Size>,
    pub(crate) peer: Option<usize>,
    pub(crate) comm: Option<usize>,
    /// Whether counts have 64 bits.
    pub(crate) wide: bool,
    /// Whether the peer sends or receives, and is no root.
    pub(crate) is_to_one: bool,
    /// Whether no rank of the communicator returns before all of them have called.
    pub(crate) is_awaited: bool,
    /// Whether `comm` is the place of a window.
    pub(crate) is_window: bool,
    /// Whether arrays are of the own group on an intercommunicator too.
    pub(crate) is_of_own: bool,
}

/// A number of bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub(crate) counts: Counts,
    /// Place of the datatype.
    pub(crate) datatype: usize,
}

/// Places of counts.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Counts {
    /// No count.
    None,
    /// A count.
    One(usize),
    /// A count that is moved for each rank.
    EachRank(usize),
    /// An array of a count for each rank.
    Sum(usize),
    /// This rank's in an array of a count for each.
    Own(usize),
    /// A number of parts, and a count of 64 bits in each.
    Product(usize, usize),
    /// One element.
    Element,
}

/// Data that is moved.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moved {
    /// 0 for unknown ones as well.
    pub(crate) bytes: i64,
    /// −1 for no single one: none, or any.
    peer: i64,
    /// The peer's rank in `MPI_COMM_WORLD`; −1 for no single one.
    world_peer: i64,
    /// Where the peer's rank is meant; `None` for none that is known, or several.
    communicator: Option<&'static Communicator>,
    /// Ranks of the communicators, if all have the same number; else 0.
    ranks: i64,
    /// As the call gives it; −1 for none.
    tag: i64,
    /// The first of the requests, −1 if they are not consecutive, and their number.
    request: i64,
    n_requests: i64,
}

impl Moved {
    /// Nothing that is known.
    pub(crate) const NOTHING: Self = Self {
        bytes: 0,
        peer: -1,
        world_peer: -1,
        communicator: None,
        ranks: 0,
        tag: -1,
        request: -1,
        n_requests: 0,
    };

    /// The same as the data of a request.
    pub(crate) fn with_request(self, number: i64) -> Self {
        Self {
            request: number,
            n_requests: 1,
            ..self
        }
    }

    /// Place of the request in [`Moved::words`].
    pub(crate) const REQUEST: usize = 6;

    /// Whether it has a single peer.
    pub(crate) fn has_peer(self) -> bool {
        self.peer >= 0
    }

    /// Whether it belongs to requests whose numbers its record does not contain.
    pub(crate) fn is_scattered(self) -> bool {
        self.n_requests > 0 && self.request < 0
    }

    /// The same with a peer, below 0 for none.
    #[inline(always)]
    pub(crate) fn with_peer(self, peer: i64) -> Self {
        let peer = peer.max(-1);
        let world_rank = |communicator: &Communicator| communicator.world_rank(peer);
        Self {
            peer,
            world_peer: self
                .communicator
                .filter(|_| peer >= 0)
                .map_or(-1, world_rank),
            ..self
        }
    }

    /// Number of ranks; 0 if it is unknown.
    pub(crate) fn ranks(&self) -> i64 {
        self.communicator.map_or(self.ranks, Communicator::n_ranks)
    }

    /// All of it together: peer, communicator and ranks if they are the same.
    pub(crate) fn sum(all: impl Iterator<Item = Self>) -> Self {
        let sum = all.reduce(|a, b| {
            let is_one = match (a.communicator, b.communicator) {
                (Some(a), Some(b)) => ptr::eq(a, b),
                (a, b) => a.is_none() && b.is_none(),
            };
            // In the order of an array of requests, which mostly is that in which they began.
            let is_next = a.request >= 0 && a.request + a.n_requests == b.request;
            Self {
                request: if is_next { a.request } else { -1 },
                n_requests: a.n_requests + b.n_requests,
                tag: if a.tag == b.tag { a.tag } else { -1 },
                bytes: a.bytes.saturating_add(b.bytes),
                peer: if a.peer == b.peer && is_one {
                    a.peer
                } else {
                    -1
                },
                world_peer: if a.world_peer == b.world_peer {
                    a.world_peer
                } else {
                    -1
                },
                ranks: if a.ranks() == b.ranks() { a.ranks() } else { 0 },
                communicator: a.communicator.filter(|_| is_one),
            }
        });
        sum.unwrap_or(Self::NOTHING)
    }

    pub(crate) fn without_bytes(self) -> Self {
        Self { bytes: 0, ..self }
    }

    /// The data received by the call that sends this.
    pub(crate) fn exchanged(self, source: i64, tag: i64) -> Self {
        Self {
            bytes: 0,
            tag,
            ..self.with_peer(source)
        }
    }

    /// The received data, in place of this expected data.
    #[inline(always)]
    pub(crate) fn received(self, received: Received) -> Self {
        Self {
            bytes: received.bytes,
            ..self.with_peer(received.source)
        }
    }

    /// Maximum number of optional parameters of a record.
    pub(crate) const MAX_ASKED: usize = 2;

    /// Words of a record, as [`cca_abi::recording::MPI_EVENT_PARAMETERS`] has them.
    ///
    /// # Arguments
    /// * `asked` - the requested parameters, from the front
    #[inline(always)]
    pub(crate) fn words<const N: usize>(self, asked: [u64; Self::MAX_ASKED]) -> [u64; N] {
        let number = self.communicator.map_or(UNKNOWN, Communicator::number);
        let all = [
            self.bytes,
            self.peer,
            self.ranks(),
            number,
            self.world_peer,
            self.tag,
            self.request,
            self.n_requests,
        ];
        array::from_fn(|place| match all.get(place) {
            Some(word) => word.cast_unsigned(),
            None => asked.get(place - all.len()).map_or(0, |word| *word),
        })
    }
}

/// Most words of a call: 13 arguments in C, the error code of Fortran, and room.
pub(crate) const MAX_WORDS: usize = 16;

/// The arguments of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arguments<'a> {
    pub(crate) language: Language,
    /// The words of the call, and those behind them.
    pub(crate) words: &'a [usize; MAX_WORDS],
}

impl Message {
    /// The data that the call moves, by its arguments; nothing to or from `MPI_PROC_NULL`.
    ///
    /// # Safety
    /// The arguments belong to a call that MPI is about to get, after MPI was started and before it was ended.
    #[inline(always)]
    pub(crate) unsafe fn read(&self, arguments: Arguments<'_>, recent: &Recent) -> Moved {
        // SAFETY: the places are those of a communicator and of a rank, which MPI reads as well.
        unsafe {
            let communicator = self.comm.and_then(|at| match self.is_window {
                true => recent.window(arguments.handle(Kind::Window, at)),
                false => recent.communicator(arguments.handle(Kind::Communicator, at)),
            });
            let peer = self.peer.map_or(-1, |at| arguments.number(at, false));
            let own = communicator.map_or(-1, |communicator| i64::from(communicator.own));
            let size = match self.root {
                Some(root) if own == peer && own >= 0 => root,
                _ => self.here,
            };
            // Between two groups other arguments of a collective function count, and arrays have other lengths.
            let between = communicator.filter(|communicator| communicator.is_inter);
            let bytes = match between.filter(|_| !self.is_to_one) {
                _ if self.peer.is_some() && peer == abi().proc_null() => 0,
                Some(between) => self.bytes_between(peer, arguments, between, recent),
                None => self.bytes(size, arguments, communicator, recent),
            };
            // It follows the peer in all functions that send to one rank or receive from one.
            let tag = match self.peer {
                Some(at) if self.is_to_one => arguments.number(at + 1, false),
                _ => -1,
            };
            Moved {
                bytes,
                communicator,
                tag,
                ..Moved::NOTHING
            }
            .with_peer(peer)
        }
    }

    /// Bytes of a collective call between two groups.
    ///
    /// # Safety
    /// As for [`Message::read`].
    #[cold]
    #[inline(never)]
    unsafe fn bytes_between(
        &self,
        peer: i64,
        arguments: Arguments<'_>,
        between: &Communicator,
        recent: &Recent,
    ) -> i64 {
        let is_root = self.peer.is_some() && peer == abi().root();
        let size = self.root.filter(|_| is_root).unwrap_or(self.here);
        let n = match self.is_of_own {
            true => between.n_ranks(),
            false => between.n_peers(),
        };
        // SAFETY: the places are those of counts and of a datatype that MPI reads as well: all of one side of the call.
        unsafe {
            let (count, datatype) = match size.counts {
                Counts::None => return 0,
                Counts::One(at) => {
                    let count = arguments.number(at, self.wide);
                    // Count of the root of a gather or scatter for each rank.
                    let each = if is_root && self.root.is_some() { n } else { 1 };
                    (count * each, size.datatype)
                }
                Counts::EachRank(at) => (arguments.number(at, self.wide) * n, size.datatype),
                Counts::Own(at) | Counts::Sum(at)
                    if is_root || matches!(size.counts, Counts::Sum(_)) =>
                {
                    let counts = 0..n.max(0) as usize;
                    let counts = counts.map(|rank| arguments.element(at, rank, self.wide));
                    (counts.sum(), size.datatype)
                }
                // `MPI_Allgatherv`: the array describes the data that the other group sends.
                Counts::Own(_) => (arguments.number(1, self.wide), 2),
                Counts::Sum(_) | Counts::Product(..) | Counts::Element => return 0,
            };
            if count <= 0 {
                return 0;
            }
            let bytes = recent.size_of(arguments.handle(Kind::Datatype, datatype));
            count.saturating_mul(bytes)
        }
    }

    /// # Safety
    /// As for [`Message::read`].
    #[inline(always)]
    unsafe fn bytes(
        &self,
        size: Size,
        arguments: Arguments<'_>,
        communicator: Option<&Communicator>,
        recent: &Recent,
    ) -> i64 {
        let ranks = communicator.map_or(0, Communicator::n_ranks);
        let own = communicator.map_or(0, |communicator| communicator.own.max(0) as usize);
        // SAFETY: the places are those of counts and of a datatype that MPI reads as well.
        unsafe {
            let each = |at: usize| {
                (0..ranks as usize).map(move |rank| arguments.element(at, rank, self.wide))
            };
            let count = match size.counts {
                Counts::None => 0,
                Counts::One(at) => arguments.number(at, self.wide),
                Counts::EachRank(at) => arguments.number(at, self.wide) * ranks,
                Counts::Sum(at) => each(at).sum(),
                // With an unknown rank nothing is read.
                Counts::Own(_) if communicator.is_none() => 0,
                Counts::Own(at) => arguments.element(at, own, self.wide),
                Counts::Product(few, many) => {
                    arguments.number(few, false) * arguments.number(many, true)
                }
                Counts::Element => 1,
            };
            // With no count the datatype may be anything.
            if count <= 0 {
                return 0;
            }
            let bytes = recent.size_of(arguments.handle(Kind::Datatype, size.datatype));
            count.saturating_mul(bytes)
        }
    }
}

impl Arguments<'_> {
    /// # Safety
    /// There is an integer argument at this place, of 64 bits if `wide`.
    pub(crate) unsafe fn number(self, at: usize, wide: bool) -> i64 {
        match self.language {
            Language::C if wide => self.words[at] as i64,
            Language::C => i64::from(self.words[at] as i32),
            // SAFETY: required of the caller.
            Language::Fortran => unsafe { self.element(at, 0, wide) },
        }
    }

    /// An `int` that is passed by address in both languages.
    ///
    /// # Safety
    /// There is an array of `int` at this place, with more than `index` of them.
    pub(crate) unsafe fn pointed(self, at: usize, index: usize) -> i64 {
        // SAFETY: required of the caller.
        unsafe { self.element(at, index, false) }
    }

    /// # Safety
    /// There is an array of integers at this place, of 64 bits if `wide`, with more than `index` of them.
    unsafe fn element(self, at: usize, index: usize, wide: bool) -> i64 {
        // SAFETY: required of the caller.
        unsafe {
            if wide {
                (self.words[at] as *const i64).add(index).read()
            } else {
                i64::from((self.words[at] as *const i32).add(index).read())
            }
        }
    }
}
