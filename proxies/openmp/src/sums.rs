//! Totals of constructs, by call site; for parallel regions also by thread number.
//!
//! The table is one for the process, of fixed size, and has no lock: a place belongs to its first key for good.

use std::ffi::CStr;
use std::sync::atomic::{AtomicU64, Ordering};

use cca_abi::recording::OpenMpSum;

use crate::state;

/// Maximum number of sums, a power of two: enough for a program of 100 regions on 128 threads. Arbitrary; sums without
/// room are reported.
const MAX_SUMS: usize = 1 << 14;
/// Places in which a sum may be, starting at its own.
const MAX_PROBES: usize = 64;

/// A construct of OpenMP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Construct {
    /// A parallel region, and a thread's part in it.
    Parallel = 1,
    /// A loop that the runtime hands out.
    Loop,
    Sections,
    Single,
    /// A barrier, one at the end of a loop or the like among them, that at the end of a region not.
    Barrier,
    Task,
    Taskloop,
    Taskwait,
    Taskgroup,
    Critical,
    Ordered,
    Atomic,
    Lock,
}

impl Construct {
    const ALL: [(Self, &'static CStr); 13] = [
        (Self::Parallel, c"parallel"),
        (Self::Loop, c"loop"),
        (Self::Sections, c"sections"),
        (Self::Single, c"single"),
        (Self::Barrier, c"barrier"),
        (Self::Task, c"task"),
        (Self::Taskloop, c"taskloop"),
        (Self::Taskwait, c"taskwait"),
        (Self::Taskgroup, c"taskgroup"),
        (Self::Critical, c"critical"),
        (Self::Ordered, c"ordered"),
        (Self::Atomic, c"atomic"),
        (Self::Lock, c"lock"),
    ];

    fn name(bits: u8) -> &'static CStr {
        let all = Self::ALL.iter();
        let mut named = all.filter(|(construct, _)| *construct as u8 == bits);
        named.next().map_or(c"", |(_, name)| *name)
    }
}

/// Which sum: 48 bits of call site, 11 of thread number plus 1, 1 of whether the region is within another one, 4 of construct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key(u64);

const SITE_BITS: u32 = 48;
const THREAD_BITS: u32 = 11;

impl Key {
    /// The construct at a call site.
    #[inline(always)]
    pub(crate) fn of(construct: Construct, site: usize) -> Self {
        let site = site as u64 & ((1 << SITE_BITS) - 1);
        Self(site | (construct as u64) << (SITE_BITS + THREAD_BITS + 1))
    }

    /// The part of a thread of the team.
    pub(crate) fn of_thread(self, thread: usize) -> Self {
        Self(self.0 | (thread as u64 + 1) << SITE_BITS)
    }

    /// In a region that is within another one.
    pub(crate) fn nested(self, is_nested: bool) -> Self {
        Self(self.0 | u64::from(is_nested) << (SITE_BITS + THREAD_BITS))
    }

    fn sum(self) -> OpenMpSum {
        let Self(bits) = self;
        OpenMpSum {
            construct: Construct::name((bits >> (SITE_BITS + THREAD_BITS + 1)) as u8).as_ptr(),
            site: bits & ((1 << SITE_BITS) - 1),
            thread: (bits >> SITE_BITS & ((1 << THREAD_BITS) - 1)) as i32 - 1,
            is_nested: (bits >> (SITE_BITS + THREAD_BITS)) as u32 & 1,
            ..OpenMpSum::NONE
        }
    }
}

/// Values that are added at once.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct More {
    pub(crate) calls: u64,
    pub(crate) instances: u64,
    pub(crate) ticks: u64,
    pub(crate) wait_ticks: u64,
    pub(crate) start_ticks: u64,
    pub(crate) items: u64,
}

/// A sum; [`OpenMpSum`] defines its content.
#[repr(align(64))]
pub(crate) struct Sum {
    /// 0 for a free place.
    key: AtomicU64,
    calls: AtomicU64,
    instances: AtomicU64,
    ticks: AtomicU64,
    wait_ticks: AtomicU64,
    start_ticks: AtomicU64,
    items: AtomicU64,
}

static SUMS: [Sum; MAX_SUMS] = [const { Sum::free() }; MAX_SUMS];

impl Sum {
    const fn free() -> Self {
        Self {
            key: AtomicU64::new(0),
            calls: AtomicU64::new(0),
            instances: AtomicU64::new(0),
            ticks: AtomicU64::new(0),
            wait_ticks: AtomicU64::new(0),
            start_ticks: AtomicU64::new(0),
            items: AtomicU64::new(0),
        }
    }

    pub(crate) fn add(&self, more: More) {
        for (sum, more) in [
            (&self.calls, more.calls),
            (&self.instances, more.instances),
            (&self.ticks, more.ticks),
            (&self.wait_ticks, more.wait_ticks),
            (&self.start_ticks, more.start_ticks),
            (&self.items, more.items),
        ] {
            if more != 0 {
                sum.fetch_add(more, Ordering::Relaxed);
            }
        }
    }
}

/// The sum of a key; `None` if there is no room.
pub(crate) fn sum(key: Key) -> Option<&'static Sum> {
    // The multiplier is 2⁶⁴ divided by the golden ratio.
    let mixed = key.0.rotate_left(20).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let first = (mixed >> (u64::BITS - MAX_SUMS.ilog2())) as usize;
    for place in first..first + MAX_PROBES {
        let sum = &SUMS[place % MAX_SUMS];
        let found = sum.key.load(Ordering::Relaxed);
        if found == key.0 {
            return Some(sum);
        }
        if found == 0 {
            let claimed = sum
                .key
                .compare_exchange(0, key.0, Ordering::Relaxed, Ordering::Relaxed);
            if claimed.is_ok() || claimed == Err(key.0) {
                return Some(sum);
            }
        }
    }
    state::leave_out();
    None
}

/// Adds to the sum of a key.
pub(crate) fn add(key: Key, more: More) {
    if let Some(sum) = sum(key) {
        sum.add(more);
    }
}

/// Calls `each` with each sum.
pub(crate) fn each(mut each: impl FnMut(&OpenMpSum)) {
    for sum in &SUMS {
        let key = sum.key.load(Ordering::Relaxed);
        if key == 0 {
            continue;
        }
        let load = |number: &AtomicU64| number.load(Ordering::Relaxed);
        each(&OpenMpSum {
            calls: load(&sum.calls),
            instances: load(&sum.instances),
            ticks: load(&sum.ticks),
            wait_ticks: load(&sum.wait_ticks),
            start_ticks: load(&sum.start_ticks),
            items: load(&sum.items),
            ..Key(key).sum()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_exact_and_what_has_no_room_is_counted() {
        let site = |number: usize| 0x7f00_0000_0000 + 5 * number;
        let key = Key::of(Construct::Parallel, site(7))
            .of_thread(511)
            .nested(true);
        let of_key = key.sum();
        assert_eq!((of_key.site, of_key.thread), (site(7) as u64, 511));
        assert_eq!(of_key.is_nested, 1);
        let once = More {
            calls: 1,
            wait_ticks: 3,
            ..More::default()
        };
        let threads: Vec<_> = (0..4)
            .map(|_| {
                std::thread::spawn(move || {
                    (0..1000).for_each(|at| add(Key::of(Construct::Barrier, site(at)), once));
                })
            })
            .collect();
        threads
            .into_iter()
            .for_each(|thread| thread.join().expect("no panic"));
        let (mut n, mut calls, mut wait_ticks) = (0, 0, 0);
        each(|sum| {
            n += 1;
            calls += sum.calls;
            wait_ticks += sum.wait_ticks;
        });
        assert_eq!((n, calls, wait_ticks), (1000, 4000, 12_000));
        assert_eq!(state::n_left_out(), 0);
        (0..2 * MAX_SUMS).for_each(|at| add(Key::of(Construct::Task, site(at)), once));
        calls = 0;
        each(|sum| calls += sum.calls);
        assert_eq!(calls + state::n_left_out(), 4000 + 2 * MAX_SUMS as u64);
        assert!(state::n_left_out() > 0);
    }
}
