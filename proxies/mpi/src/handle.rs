//! Handles of MPI: how they look in both languages and in both families of MPI.
//!
//! Those of Open MPI are addresses in C, and numbers in Fortran that it translates; those of MPICH and its kin are the same numbers
//! of 32 bits in both.

use std::ffi::c_void;
use std::mem;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::facts;
use crate::message::{Arguments, Language};
use crate::target::Target;

/// What a handle stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Communicator,
    Datatype,
}

/// What a function does with handles of which something is kept ([`crate::facts`]); generated from its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Handles {
    None,
    /// Gives one back, whose address is its only argument.
    Frees(Kind),
    /// Makes one; where its address is.
    Makes(Kind, usize),
}

/// The handles that each MPI has from the start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Predefined {
    pub(crate) is_open_mpi: bool,
    pub(crate) world: usize,
    pub(crate) no_communicator: usize,
    pub(crate) no_datatype: usize,
    pub(crate) byte: usize,
    pub(crate) double: usize,
    pub(crate) sum: usize,
}

/// As MPICH's `mpi.h` and those of its kin (the ABI that they agreed on in 2013) have them.
const OF_MPICH: Predefined = Predefined {
    is_open_mpi: false,
    world: 0x4400_0000,
    no_communicator: 0x0400_0000,
    no_datatype: 0x0c00_0000,
    byte: 0x4c00_010d,
    double: 0x4c00_080b,
    sum: 0x5800_0003,
};

static WORLD: Target = Target::new(c"ompi_mpi_comm_world", c"ompi_mpi_comm_world");
static NO_COMMUNICATOR: Target = Target::new(c"ompi_mpi_comm_null", c"ompi_mpi_comm_null");
static NO_DATATYPE: Target = Target::new(c"ompi_mpi_datatype_null", c"ompi_mpi_datatype_null");
static BYTE: Target = Target::new(c"ompi_mpi_byte", c"ompi_mpi_byte");
static DOUBLE: Target = Target::new(c"ompi_mpi_double", c"ompi_mpi_double");
static SUM: Target = Target::new(c"ompi_mpi_op_sum", c"ompi_mpi_op_sum");

/// The handles of the MPI of this process.
#[inline]
pub(crate) fn predefined() -> &'static Predefined {
    static FOUND: OnceLock<Predefined> = OnceLock::new();
    FOUND.get_or_init(|| {
        let address = |target: &Target| target.address_if_any() as usize;
        match address(&WORLD) {
            0 => OF_MPICH,
            world => Predefined {
                is_open_mpi: true,
                world,
                no_communicator: address(&NO_COMMUNICATOR),
                no_datatype: address(&NO_DATATYPE),
                byte: address(&BYTE),
                double: address(&DOUBLE),
                sum: address(&SUM),
            },
        }
    })
}

/// Whether the MPI of this process is Open MPI.
#[inline(always)]
pub(crate) fn is_open_mpi() -> bool {
    match FAMILY.load(Ordering::Relaxed) {
        UNKNOWN => find_family() == OPEN_MPI,
        family => family == OPEN_MPI,
    }
}

/// [`Predefined::is_open_mpi`] in a byte, which each recorded call asks for several times.
static FAMILY: AtomicU8 = AtomicU8::new(UNKNOWN);
const UNKNOWN: u8 = 0;
const MPICH: u8 = 1;
const OPEN_MPI: u8 = 2;

#[cold]
#[inline(never)]
fn find_family() -> u8 {
    let family = match predefined().is_open_mpi {
        true => OPEN_MPI,
        false => MPICH,
    };
    FAMILY.store(family, Ordering::Relaxed);
    family
}

/// From the handle in Fortran to that in C.
static FROM_FORTRAN: [Target; 2] = [
    Target::new(c"PMPI_Comm_f2c", c"PMPI_Comm_f2c"),
    Target::new(c"PMPI_Type_f2c", c"PMPI_Type_f2c"),
];

impl Arguments<'_> {
    /// The handle at a place, as C has it.
    ///
    /// # Safety
    /// There is a handle of this kind at the place.
    #[inline]
    pub(crate) unsafe fn handle(self, kind: Kind, at: usize) -> usize {
        let word = self.words[at];
        match (self.language, is_open_mpi()) {
            (Language::C, true) => word,
            (Language::C, false) => word as u32 as usize,
            // SAFETY: required of the caller: in Fortran its address.
            (Language::Fortran, _) => unsafe { self.handle_there(kind, word) },
        }
    }

    /// The handle at an address, as C has it.
    ///
    /// # Safety
    /// There is a handle of this kind at the address.
    unsafe fn handle_there(self, kind: Kind, address: usize) -> usize {
        // SAFETY: required of the caller.
        unsafe {
            match (self.language, is_open_mpi()) {
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
    let function = FROM_FORTRAN[kind as usize].address_if_any();
    if function.is_null() {
        return 0;
    }
    // SAFETY: the function takes an integer and returns a handle, which is an address.
    unsafe {
        let function: unsafe extern "C" fn(i32) -> usize =
            mem::transmute::<*mut c_void, _>(function);
        function(handle)
    }
}

impl Handles {
    /// Before a call: what is kept of a handle that it gives back is forgotten.
    ///
    /// # Safety
    /// The arguments are those of a function that does this with handles.
    #[inline]
    pub(crate) unsafe fn before(self, arguments: Arguments<'_>) {
        if let Self::Frees(kind) = self {
            // SAFETY: MPI reads the handle as well.
            let handle = unsafe { arguments.handle_there(kind, arguments.words[0]) };
            facts::forget_one(kind, handle);
        }
    }

    /// After a call that succeeded: what is kept of an earlier one that had the handle of the one that it made is forgotten.
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
