//! Handles of MPI in both languages, by the ABI of the MPI at hand ([`crate::abi`]).
//!
//! Handles of Open MPI and of the standard ABI are addresses in C, and numbers in Fortran that MPI translates; those of
//! MPICH and related libraries are the same numbers of 32 bits in both.

use std::mem;
use std::sync::OnceLock;

use crate::abi::{Abi, abi};
use crate::facts;
use crate::message::{Arguments, Language};
use crate::target::Target;

/// Type of the object of a handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Communicator,
    Datatype,
    /// Its group is kept, as of a communicator.
    Window,
}

/// The effect of a function on handles with cached properties ([`crate::facts`]); generated from its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Handles {
    None,
    /// Frees one, whose address is its only argument.
    Frees(Kind),
    /// Makes one; where its address is.
    Makes(Kind, usize),
}

/// The handles that each MPI has from the start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Predefined {
    pub(crate) world: usize,
    pub(crate) no_communicator: usize,
    pub(crate) no_datatype: usize,
    pub(crate) byte: usize,
    pub(crate) double: usize,
    pub(crate) sum: usize,
}

/// As in `mpi.h` of MPICH and related libraries (the ABI that they agreed on in 2013).
const OF_MPICH: Predefined = Predefined {
    world: 0x4400_0000,
    no_communicator: 0x0400_0000,
    no_datatype: 0x0c00_0000,
    byte: 0x4c00_010d,
    double: 0x4c00_080b,
    sum: 0x5800_0003,
};

/// As the standard has them (MPI 5.0, section A.1.2, the ABI's constants).
const STANDARD: Predefined = Predefined {
    world: 0x101,
    no_communicator: 0x100,
    no_datatype: 0x200,
    byte: 0x247,
    double: 0x214,
    sum: 0x21,
};

static WORLD: Target = Target::of_mpi(c"ompi_mpi_comm_world");
static NO_COMMUNICATOR: Target = Target::of_mpi(c"ompi_mpi_comm_null");
static NO_DATATYPE: Target = Target::of_mpi(c"ompi_mpi_datatype_null");
static BYTE: Target = Target::of_mpi(c"ompi_mpi_byte");
static DOUBLE: Target = Target::of_mpi(c"ompi_mpi_double");
static SUM: Target = Target::of_mpi(c"ompi_mpi_op_sum");

/// The handles of the MPI of this process.
#[inline]
pub(crate) fn predefined() -> &'static Predefined {
    static FOUND: OnceLock<Predefined> = OnceLock::new();
    FOUND.get_or_init(|| {
        let address = |target: &Target| target.address_if_any() as usize;
        match abi() {
            Abi::OpenMpi => Predefined {
                world: address(&WORLD),
                no_communicator: address(&NO_COMMUNICATOR),
                no_datatype: address(&NO_DATATYPE),
                byte: address(&BYTE),
                double: address(&DOUBLE),
                sum: address(&SUM),
            },
            Abi::Mpich | Abi::Unknown => OF_MPICH,
            Abi::Standard => STANDARD,
        }
    })
}

/// From the handle in Fortran to that in C; the standard ABI has the second ones.
static FROM_FORTRAN: [[Target; 2]; 3] = [
    [
        Target::of_mpi(c"PMPI_Comm_f2c"),
        Target::of_mpi(c"PMPI_Comm_fromint"),
    ],
    [
        Target::of_mpi(c"PMPI_Type_f2c"),
        Target::of_mpi(c"PMPI_Type_fromint"),
    ],
    [
        Target::of_mpi(c"PMPI_Win_f2c"),
        Target::of_mpi(c"PMPI_Win_fromint"),
    ],
];

impl Arguments<'_> {
    /// The handle at a place, as C has it.
    ///
    /// # Safety
    /// There is a handle of this type at the place.
    #[inline]
    pub(crate) unsafe fn handle(self, kind: Kind, at: usize) -> usize {
        let word = self.words[at];
        match (self.language, abi().has_addresses()) {
            (Language::C, true) => word,
            (Language::C, false) => word as u32 as usize,
            // SAFETY: required of the caller: in Fortran its address.
            (Language::Fortran, _) => unsafe { self.handle_there(kind, word) },
        }
    }

    /// The handle at an address, as C has it.
    ///
    /// # Safety
    /// There is a handle of this type at the address.
    unsafe fn handle_there(self, kind: Kind, address: usize) -> usize {
        // SAFETY: required of the caller.
        unsafe {
            match (self.language, abi().has_addresses()) {
                (Language::C, true) => (address as *const usize).read(),
                (_, false) => (address as *const u32).read() as usize,
                (Language::Fortran, true) => from_fortran(kind, (address as *const i32).read()),
            }
        }
    }
}

/// # Safety
/// There is such a handle.
unsafe fn from_fortran(kind: Kind, handle: i32) -> usize {
    let [first, second] = &FROM_FORTRAN[kind as usize];
    let Some(function) = first.known().or_else(|| second.known()) else {
        return 0;
    };
    // SAFETY: the function takes an integer and returns a handle, which is an address.
    unsafe {
        let function: unsafe extern "C" fn(i32) -> usize = mem::transmute(function);
        function(handle)
    }
}

impl Handles {
    /// Before a call: forgets the cached properties of a handle that it frees.
    ///
    /// # Safety
    /// The arguments belong to a function with this effect on handles.
    #[inline]
    pub(crate) unsafe fn before(self, arguments: Arguments<'_>) {
        if let Self::Frees(kind) = self {
            // SAFETY: MPI reads the handle as well.
            let handle = unsafe { arguments.handle_there(kind, arguments.words[0]) };
            facts::forget_one(kind, handle);
        }
    }

    /// After a call that succeeded: forgets the cached properties of an earlier object with the handle of the new one.
    ///
    /// # Safety
    /// As for [`Handles::before`].
    #[inline]
    pub(crate) unsafe fn after(self, arguments: Arguments<'_>) {
        if let Self::Makes(kind, at) = self {
            // SAFETY: MPI has written the handle there.
            let handle = unsafe { arguments.handle_there(kind, arguments.words[at]) };
            facts::forget_one(kind, handle);
        }
    }
}
