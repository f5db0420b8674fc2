//! MPI's status of a message that was received or found: its source and its size.
//!
//! The status is read in place, with the layout of Open MPI since 1.5 and of MPICH and related libraries since they
//! agreed on one ABI in 2013, in C and in Fortran alike. The standard ABI defines the place of the source, and leaves
//! the rest to the MPI, which is queried. If the program passes no status (`MPI_STATUS_IGNORE`), MPI gets one of ours.

use std::ffi::{CStr, c_int};
use std::mem::{self, MaybeUninit};
use std::sync::OnceLock;

use crate::abi::{Abi, abi};
use crate::handle::predefined;
use crate::message::{Arguments, Language};
use crate::target::Target;

/// Bytes of the largest status, that of the standard ABI.
const MAX_STATUS_BYTES: usize = 32;
/// Words of one.
const STATUS_WORDS: usize = MAX_STATUS_BYTES / size_of::<u64>();
/// Statuses that are kept without being allocated.
const N_FEW: usize = 8;

/// A received message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Received {
    /// Rank in the communicator; below 0 for none.
    pub(crate) source: i64,
    /// 0 for a receive that was cancelled.
    pub(crate) bytes: i64,
}

/// Room for the one status that the program does not want.
pub(crate) struct OwnStatus([MaybeUninit<u64>; STATUS_WORDS]);

impl OwnStatus {
    pub(crate) fn new() -> Self {
        Self([MaybeUninit::uninit(); STATUS_WORDS])
    }

    /// As [`OwnStatuses::take_place_of`].
    #[inline(always)]
    pub(crate) fn take_place_of(&mut self, word: &mut usize, language: Language) {
        if is_ignored(language, *word) {
            self.0 = [MaybeUninit::new(0); STATUS_WORDS];
            *word = self.0.as_mut_ptr() as usize;
        }
    }
}

/// Room for several.
pub(crate) struct OwnStatuses {
    few: [MaybeUninit<u64>; STATUS_WORDS * N_FEW],
    many: Vec<u64>,
}

impl OwnStatuses {
    pub(crate) fn new() -> Self {
        Self {
            few: [const { MaybeUninit::uninit() }; STATUS_WORDS * N_FEW],
            many: Vec::new(),
        }
    }

    /// Makes MPI write into this room if the program passes none.
    ///
    /// # Arguments
    /// * `n` - the number of statuses
    pub(crate) fn take_place_of(&mut self, word: &mut usize, language: Language, n: usize) {
        if !is_ignored(language, *word) {
            return;
        }
        *word = if n <= N_FEW {
            for word in &mut self.few[..n * STATUS_WORDS] {
                word.write(0);
            }
            self.few.as_mut_ptr() as usize
        } else {
            self.many.resize(n * STATUS_WORDS, 0);
            self.many.as_mut_ptr() as usize
        };
    }
}

impl Arguments<'_> {
    /// Contents of the status of a receive that has ended; `None` without a status.
    ///
    /// # Arguments
    /// * `at` - place of the statuses
    /// * `nth` - which of them, from 0
    /// * `is_of_request` - whether it may have been cancelled: for a probe MPICH does not set that field, and leaves
    ///   its former value
    ///
    /// # Safety
    /// MPI has written that many statuses there, unless they are ignored.
    pub(crate) unsafe fn status(
        self,
        at: usize,
        nth: usize,
        is_of_request: bool,
    ) -> Option<Received> {
        let address = self.words[at];
        if is_ignored(self.language, address) {
            return None;
        }
        // SAFETY: required of the caller.
        unsafe {
            let number = |of: usize, place: usize| ((address + of) as *const i32).add(place).read();
            let (source, bytes, is_cancelled) = match abi() {
                Abi::OpenMpi => {
                    // MPI_SOURCE, MPI_TAG, MPI_ERROR, _cancelled, and _ucount of 64 bits.
                    let of = 24 * nth;
                    let bytes = ((address + of + 16) as *const i64).read_unaligned();
                    (number(of, 0), bytes, number(of, 3) != 0)
                }
                Abi::Mpich | Abi::Unknown => {
                    // count_lo, count_hi_and_cancelled, MPI_SOURCE, MPI_TAG, MPI_ERROR.
                    let of = 20 * nth;
                    let (low, high) = (number(of, 0), number(of, 1).cast_unsigned());
                    let bytes = u64::from(low.cast_unsigned()) | u64::from(high >> 1) << 32;
                    (number(of, 2), bytes.cast_signed(), high & 1 != 0)
                }
                Abi::Standard => {
                    // MPI_SOURCE, MPI_TAG, MPI_ERROR, and five more.
                    let of = MAX_STATUS_BYTES * nth;
                    let is_cancelled = is_of_request && is_cancelled(address + of);
                    (number(of, 0), byte_count(address + of), is_cancelled)
                }
            };
            Some(Received {
                source: i64::from(source),
                bytes: if is_cancelled && is_of_request {
                    0
                } else {
                    bytes.max(0)
                },
            })
        }
    }
}

/// Bytes of the message of a status of the standard ABI; 0 if MPI fails.
///
/// # Safety
/// There is such a status, which MPI has written.
unsafe fn byte_count(status: usize) -> i64 {
    let Some(count) = GET_COUNT.known() else {
        return 0;
    };
    let mut bytes: i64 = 0;
    // SAFETY: the function has these arguments, a count of 64 bits among them.
    let error = unsafe {
        let count: unsafe extern "C" fn(usize, usize, *mut i64) -> c_int = mem::transmute(count);
        count(status, predefined().byte, &raw mut bytes)
    };
    // MPI_UNDEFINED is negative.
    if error == 0 { bytes.max(0) } else { 0 }
}

/// Whether a receive was cancelled, by its status of the standard ABI.
///
/// # Safety
/// As for [`byte_count`].
unsafe fn is_cancelled(status: usize) -> bool {
    let Some(test) = TEST_CANCELLED.known() else {
        return false;
    };
    let mut flag: c_int = 0;
    // SAFETY: the function has these arguments.
    let error = unsafe {
        let test: unsafe extern "C" fn(usize, *mut c_int) -> c_int = mem::transmute(test);
        test(status, &raw mut flag)
    };
    error == 0 && flag != 0
}

static GET_COUNT: Target = Target::of_mpi(c"PMPI_Get_count_c");
static TEST_CANCELLED: Target = Target::of_mpi(c"PMPI_Test_cancelled");

fn is_ignored(language: Language, address: usize) -> bool {
    match language {
        // MPICH's values are 1.
        Language::C => address <= 1,
        Language::Fortran => address <= 1 || ignored_in_fortran().contains(&address),
    }
}

/// Variables with the address of the ignored status in Fortran.
const ADDRESSES: [&CStr; 4] = [
    c"MPI_F_STATUS_IGNORE",
    c"MPI_F_STATUSES_IGNORE",
    c"MPI_F08_STATUS_IGNORE",
    c"MPI_F08_STATUSES_IGNORE",
];

/// Such things themselves: common blocks and variables of `mpi_f08`.
const THEMSELVES: [&CStr; 6] = [
    c"mpi_fortran_status_ignore_",
    c"mpi_fortran_statuses_ignore_",
    c"mpifcmb5_",
    c"mpifcmb9_",
    c"MPIR_F08_MPI_STATUS_IGNORE_OBJ",
    c"MPIR_F08_MPI_STATUSES_IGNORE_OBJ",
];

/// The addresses that mark an ignored status in Fortran; looked up once MPI was started from there.
fn ignored_in_fortran() -> &'static [usize] {
    static FOUND: OnceLock<Vec<usize>> = OnceLock::new();
    FOUND.get_or_init(|| {
        // SAFETY: the names end with a zero.
        let find =
            |name: &&CStr| unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) } as usize;
        let variables = ADDRESSES.iter().map(find).filter(|address| *address != 0);
        // SAFETY: a variable of the MPI library.
        let addresses = variables.map(|variable| unsafe { (variable as *const usize).read() });
        let themselves = THEMSELVES.iter().map(find);
        addresses
            .chain(themselves)
            .filter(|address| *address != 0)
            .collect()
    })
}
