//! What a call of MPI moves: bytes, peer and number of ranks, read from its arguments.

use std::ffi::{c_int, c_void};

use crate::request::is_open_mpi;
use crate::target::Target;

/// The language of an entry point, which says how its arguments are passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Language {
    /// Numbers and handles by value.
    C,
    /// All by address; a handle is an integer, in `mpi_f08` within a structure of nothing else.
    Fortran,
}

/// Where the arguments say what a call moves; a line of `messages.txt`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message {
    pub(crate) here: Size,
    /// On the root, where that is another.
    pub(crate) root: Option<Size>,
    pub(crate) peer: Option<usize>,
    pub(crate) comm: Option<usize>,
    /// Whether counts have 64 bits.
    pub(crate) wide: bool,
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
    /// There is none.
    None,
    /// A count.
    One(usize),
    /// A count that is moved for each rank.
    EachRank(usize),
    /// An array of a count for each rank.
    Sum(usize),
    /// This rank's in an array of a count for each.
    Own(usize),
}

/// What is moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moved {
    /// 0 for unknown ones as well.
    pub(crate) bytes: i64,
    /// −1 for no single one: none, or any.
    pub(crate) peer: i64,
    /// Ranks of the communicator; 0 where they are unknown.
    pub(crate) ranks: i64,
}

impl Moved {
    /// Nothing that is known.
    pub(crate) const NOTHING: Self = Self {
        bytes: 0,
        peer: -1,
        ranks: 0,
    };

    /// All of it together: peer and ranks where they are the same.
    pub(crate) fn sum(all: impl Iterator<Item = Self>) -> Self {
        let sum = all.reduce(|a, b| Self {
            bytes: a.bytes.saturating_add(b.bytes),
            peer: if a.peer == b.peer { a.peer } else { -1 },
            ranks: if a.ranks == b.ranks { a.ranks } else { 0 },
        });
        sum.unwrap_or(Self::NOTHING)
    }

    pub(crate) fn without_bytes(self) -> Self {
        Self { bytes: 0, ..self }
    }

    /// Words of a record.
    pub(crate) fn words(self) -> [u64; 3] {
        [self.bytes, self.peer, self.ranks].map(i64::cast_unsigned)
    }
}

/// The arguments of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arguments<'a> {
    pub(crate) language: Language,
    pub(crate) words: &'a [usize],
}

impl Message {
    /// What the call moves by its arguments; nothing to `MPI_PROC_NULL` or from there.
    ///
    /// # Safety
    /// The arguments are those of a call that MPI is about to get, after it was started and before it was ended.
    pub(crate) unsafe fn read(&self, arguments: Arguments<'_>) -> Moved {
        // SAFETY: the places are those of a communicator and of a rank, which MPI reads as well.
        unsafe {
            let of_comm = |ask: &[Target; 2]| self.comm.and_then(|at| arguments.ask(ask, at));
            let ranks = of_comm(&COMM_SIZE).unwrap_or(0);
            let peer = self.peer.map_or(-1, |at| arguments.number(at, false));
            let size = match self.root {
                Some(root) if of_comm(&COMM_RANK).map(i64::from) == Some(peer) => root,
                _ => self.here,
            };
            let own = || of_comm(&COMM_RANK).unwrap_or(0);
            // Between two groups other arguments count, and arrays have other lengths.
            let bytes = match of_comm(&COMM_TEST_INTER) {
                Some(is_inter) if is_inter != 0 => 0,
                _ if self.peer.is_some() && peer == proc_null() => 0,
                _ => self.bytes(size, arguments, ranks, own),
            };
            Moved {
                bytes,
                peer: peer.max(-1),
                ranks: i64::from(ranks),
            }
        }
    }

    /// # Safety
    /// As for [`Message::read`].
    unsafe fn bytes(
        &self,
        size: Size,
        arguments: Arguments<'_>,
        ranks: c_int,
        own: impl Fn() -> c_int,
    ) -> i64 {
        // SAFETY: the places are those of counts and of a datatype that MPI reads as well.
        unsafe {
            let each = |at: usize| {
                (0..ranks as usize).map(move |rank| arguments.element(at, rank, self.wide))
            };
            let count = match size.counts {
                Counts::None => 0,
                Counts::One(at) => arguments.number(at, self.wide),
                Counts::EachRank(at) => arguments.number(at, self.wide) * i64::from(ranks),
                Counts::Sum(at) => each(at).sum(),
                Counts::Own(at) => arguments.element(at, own() as usize, self.wide),
            };
            // With no count the datatype may be anything.
            if count <= 0 {
                return 0;
            }
            let bytes = arguments.ask(&TYPE_SIZE, size.datatype).unwrap_or(0);
            count.saturating_mul(i64::from(bytes.max(0)))
        }
    }
}

/// `MPI_PROC_NULL`, which `MPI_ANY_SOURCE` is in the other MPI.
fn proc_null() -> i64 {
    if is_open_mpi() { -2 } else { -1 }
}

/// Functions `(handle, int *result)` of C, and `(int *handle, int *result, int *error)` of Fortran.
static TYPE_SIZE: [Target; 2] = [
    Target::new(c"PMPI_Type_size", c"PMPI_Type_size"),
    Target::new(c"pmpi_type_size_", c"pmpi_type_size_"),
];
static COMM_SIZE: [Target; 2] = [
    Target::new(c"PMPI_Comm_size", c"PMPI_Comm_size"),
    Target::new(c"pmpi_comm_size_", c"pmpi_comm_size_"),
];
static COMM_TEST_INTER: [Target; 2] = [
    Target::new(c"PMPI_Comm_test_inter", c"PMPI_Comm_test_inter"),
    Target::new(c"pmpi_comm_test_inter_", c"pmpi_comm_test_inter_"),
];
static COMM_RANK: [Target; 2] = [
    Target::new(c"PMPI_Comm_rank", c"PMPI_Comm_rank"),
    Target::new(c"pmpi_comm_rank_", c"pmpi_comm_rank_"),
];

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

    /// What MPI says of the handle at a place; `None` if it says nothing.
    ///
    /// # Safety
    /// There is a handle of the kind that is asked about at this place.
    unsafe fn ask(self, functions: &[Target; 2], at: usize) -> Option<c_int> {
        let (mut result, mut error) = (0, 0);
        let function = functions[self.language as usize].address_if_any();
        if function.is_null() {
            return None;
        }
        // SAFETY: the functions have these arguments; the handle is required of the caller.
        unsafe {
            match self.language {
                Language::C => {
                    let ask: unsafe extern "C" fn(usize, *mut c_int) -> c_int =
                        std::mem::transmute::<*mut c_void, _>(function);
                    error = ask(self.words[at], &raw mut result);
                }
                Language::Fortran => {
                    let ask: unsafe extern "C" fn(usize, *mut c_int, *mut c_int) =
                        std::mem::transmute::<*mut c_void, _>(function);
                    ask(self.words[at], &raw mut result, &raw mut error);
                }
            }
        }
        (error == 0).then_some(result)
    }
}
