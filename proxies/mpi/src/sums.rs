//! Totals of calls of MPI, by function, call site, and class of size and of communicator: the data that a report would
//! take from a record of each call, without records.
//!
//! The table is one for the process ([`Shared`]), of fixed size: a program with more places that call MPI than it has room for has the
//! others' calls counted together.
//!
//! # Decisions
//!
//! Sums need no record: in a program that is wrapped without `--mpi-events` the proxy sums calls up
//! by function, call site, and classes of size and of communicator, in one table of fixed size
//! (`proxies/mpi/src/sums.rs`), which is a definition at the end of the run; a killed run has its
//! totals by function only. With events, consecutive calls that find no message and no completed
//! request share one record (`polls.rs`), with their number, so that the records of a program that
//! polls grow with its work rather than with its polls.

use crate::message::Moved;
use crate::shared::Shared;
use cca_abi::recording::MpiCallSum;

/// Sums that are kept, a power of two. mpiP's default is 2048 call sites a process, its reports of real programs have fewer than 200.
const MAX_SUMS: usize = 4096;
/// Places in which a sum may be, starting at its own; with most of the table in use, hardly any needs
/// more.
const MAX_PROBES: usize = 64;

/// Which calls a sum is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Key {
    site: u64,
    /// Place of the function, plus 1; 0 for a free place.
    function: u32,
    /// Binary logarithms plus 1; 0 for none.
    bytes: u8,
    ranks: u8,
}

/// Totals of a class of calls.
#[derive(Clone, Copy, Debug)]
struct Sum {
    key: Key,
    calls: u64,
    failed: u64,
    ticks: u64,
    least_ticks: u64,
    greatest_ticks: u64,
    bytes: u64,
    least_bytes: u64,
    greatest_bytes: u64,
}

impl Sum {
    const FREE: Self = Self {
        key: Key {
            site: 0,
            function: 0,
            bytes: 0,
            ranks: 0,
        },
        calls: 0,
        failed: 0,
        ticks: 0,
        least_ticks: u64::MAX,
        greatest_ticks: 0,
        bytes: 0,
        least_bytes: u64::MAX,
        greatest_bytes: 0,
    };
}

struct Sums {
    places: [Sum; MAX_SUMS],
    n_left_out: u64,
}

static SUMS: Shared<Sums> = Shared::new(Sums {
    places: [Sum::FREE; MAX_SUMS],
    n_left_out: 0,
});

/// Adds a call.
///
/// # Arguments
/// * `function` - its place
/// * `site` - its return address; 0 if it is not requested
#[inline(always)]
pub(crate) fn add(function: usize, site: usize, moved: &Moved, ticks: u64, has_failed: bool) {
    let bytes = match has_failed {
        true => 0,
        false => moved.bytes.max(0).cast_unsigned(),
    };
    let class = |number: u64| (u64::BITS - number.leading_zeros()) as u8;
    let key = Key {
        site: site as u64,
        function: function as u32 + 1,
        bytes: class(bytes),
        ranks: class(moved.ranks().max(0).cast_unsigned()),
    };
    SUMS.enter().add(key, bytes, ticks, has_failed);
}

impl Sums {
    #[inline(always)]
    fn add(&mut self, key: Key, bytes: u64, ticks: u64, has_failed: bool) {
        let Some(sum) = self.place(key) else {
            self.n_left_out += 1;
            return;
        };
        sum.calls += 1;
        sum.failed += u64::from(has_failed);
        sum.ticks = sum.ticks.wrapping_add(ticks);
        sum.least_ticks = sum.least_ticks.min(ticks);
        sum.greatest_ticks = sum.greatest_ticks.max(ticks);
        sum.bytes = sum.bytes.wrapping_add(bytes);
        sum.least_bytes = sum.least_bytes.min(bytes);
        sum.greatest_bytes = sum.greatest_bytes.max(bytes);
    }

    /// The place of a sum; `None` if there is no room.
    #[inline(always)]
    fn place(&mut self, key: Key) -> Option<&mut Sum> {
        let what = u64::from(key.function) << 16 | u64::from(key.bytes) << 8 | u64::from(key.ranks);
        // The multiplier is 2⁶⁴ divided by the golden ratio.
        let mixed = (key.site.rotate_left(32) ^ what).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let first = (mixed >> (u64::BITS - MAX_SUMS.ilog2())) as usize;
        let mut probes = (first..first + MAX_PROBES).map(|place| place % MAX_SUMS);
        let found = probes.find(|place| {
            let known = self.places[*place].key;
            known == key || known.function == 0
        })?;
        let sum = &mut self.places[found];
        sum.key = key;
        Some(sum)
    }
}

/// Calls `each` with each sum, and with one of no function that has the calls there was no room for, if there are any.
///
/// # Arguments
/// * `name` - the name of a function by its place
pub(crate) fn each(
    name: impl Fn(usize) -> *const std::ffi::c_char,
    mut each: impl FnMut(&MpiCallSum),
) {
    let (sums, n_left_out) = {
        let held = SUMS.enter();
        let used = held.places.iter().filter(|sum| sum.calls > 0);
        (used.copied().collect::<Vec<_>>(), held.n_left_out)
    };
    for sum in sums {
        let class = |class: u8| i32::from(class) - 1;
        each(&MpiCallSum {
            name: name(sum.key.function as usize - 1),
            site: sum.key.site,
            bytes_class: class(sum.key.bytes),
            ranks_class: class(sum.key.ranks),
            calls: sum.calls,
            failed: sum.failed,
            ticks: sum.ticks,
            least_ticks: sum.least_ticks,
            greatest_ticks: sum.greatest_ticks,
            bytes: sum.bytes,
            least_bytes: sum.least_bytes,
            greatest_bytes: sum.greatest_bytes,
        });
    }
    if n_left_out > 0 {
        each(&MpiCallSum {
            calls: n_left_out,
            ..MpiCallSum::NONE
        });
    }
}

/// Forgets all sums.
pub(crate) fn forget() {
    let mut held = SUMS.enter();
    // One by one: the caller's stack may be small.
    held.places.iter_mut().for_each(|place| *place = Sum::FREE);
    held.n_left_out = 0;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_exact_and_what_has_no_room_is_counted() {
        let mut sums = Box::new(Sums {
            places: [Sum::FREE; MAX_SUMS],
            n_left_out: 0,
        });
        let key = |site: u64| Key {
            site: 0x7f00_0000_0000 + 5 * site,
            function: 3,
            bytes: 4,
            ranks: 2,
        };
        for turn in 0..3 {
            for site in 0..1000 {
                sums.add(key(site), 8 + turn, 10 * turn + 1, turn == 2);
            }
        }
        let sum = *sums.place(key(7)).expect("room");
        assert_eq!((sum.calls, sum.failed, sum.ticks), (3, 1, 33));
        assert_eq!((sum.least_ticks, sum.greatest_ticks), (1, 21));
        assert_eq!(
            (sum.bytes, sum.least_bytes, sum.greatest_bytes),
            (27, 8, 10)
        );
        assert_eq!(sums.n_left_out, 0);
        (0..2 * MAX_SUMS as u64).for_each(|site| sums.add(key(10_000 + site), 8, 1, false));
        let calls: u64 = sums.places.iter().map(|sum| sum.calls).sum();
        assert_eq!(calls + sums.n_left_out, 3000 + 2 * MAX_SUMS as u64);
        assert!(sums.n_left_out > 0);
    }
}
