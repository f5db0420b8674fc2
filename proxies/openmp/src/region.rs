//! Parallel regions in progress.
//!
//! A region has a place for each thread of its team. Runtimes let a thread notice late that a region has ended, some
//! only with the next region; so the thread that began the region closes all places when it continues.

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};

use crate::state::{self, now};
use crate::sums::{self, Construct, Key, More};
use crate::thread::Thread;

/// Maximum number of measured regions in progress at once. Arbitrary: more than one needs nested parallelism, or
/// threads of the program's own; regions without room are reported.
const MAX_REGIONS: usize = 128;
/// Maximum number of measured threads of a team: twice those of the largest processors of 2025. Threads without room
/// are reported.
const MAX_THREADS: usize = 512;

/// State of a thread in a region.
#[repr(align(64))]
pub(crate) struct Part {
    /// When it began; 0 before.
    begin: AtomicU64,
    /// Since when it waits; 0 while it works.
    pub(crate) since: AtomicU64,
    /// How long it has waited.
    pub(crate) wait_ticks: AtomicU64,
}

pub(crate) struct Region {
    is_used: AtomicBool,
    is_nested: AtomicBool,
    site: AtomicUsize,
    /// The return address of its call, as the runtime passes it.
    returns_to: AtomicUsize,
    begin: AtomicU64,
    n_threads: AtomicUsize,
    /// The previous region of the thread that began it.
    outer: AtomicPtr<Region>,
    outer_part: AtomicPtr<Part>,
    outer_number: AtomicUsize,
    parts: [Part; MAX_THREADS],
}

static REGIONS: [Region; MAX_REGIONS] = [const { Region::free() }; MAX_REGIONS];

impl Region {
    const fn free() -> Self {
        Self {
            is_used: AtomicBool::new(false),
            is_nested: AtomicBool::new(false),
            site: AtomicUsize::new(0),
            returns_to: AtomicUsize::new(0),
            begin: AtomicU64::new(0),
            n_threads: AtomicUsize::new(0),
            outer: AtomicPtr::new(ptr::null_mut()),
            outer_part: AtomicPtr::new(ptr::null_mut()),
            outer_number: AtomicUsize::new(0),
            parts: [const {
                Part {
                    begin: AtomicU64::new(0),
                    since: AtomicU64::new(0),
                    wait_ticks: AtomicU64::new(0),
                }
            }; MAX_THREADS],
        }
    }

    /// Begins a region, in the calling thread; `None` if there is no room.
    ///
    /// # Arguments
    /// * `site` - call site
    /// * `returns_to` - the address that the runtime passes for it
    pub(crate) fn begin(thread: &Thread, site: usize, returns_to: usize) -> Option<&'static Self> {
        let free = REGIONS.iter().find(|region| {
            !region.is_used.load(Ordering::Relaxed) && !region.is_used.swap(true, Ordering::Acquire)
        });
        let Some(region) = free else {
            state::leave_out();
            return None;
        };
        let outer = thread.region.get();
        region.is_nested.store(!outer.is_null(), Ordering::Relaxed);
        region.outer.store(outer.cast_mut(), Ordering::Relaxed);
        region
            .outer_part
            .store(thread.part.get().cast_mut(), Ordering::Relaxed);
        region
            .outer_number
            .store(thread.number.get(), Ordering::Relaxed);
        region.site.store(site, Ordering::Relaxed);
        region.returns_to.store(returns_to, Ordering::Relaxed);
        region.n_threads.store(0, Ordering::Relaxed);
        region.begin.store(now(), Ordering::Relaxed);
        Some(region)
    }

    /// Its call site.
    pub(crate) fn site(&self) -> usize {
        self.site.load(Ordering::Relaxed)
    }

    /// The return address of its call, as the runtime passes it.
    pub(crate) fn returns_to(&self) -> usize {
        self.returns_to.load(Ordering::Relaxed)
    }

    /// A thread of the team begins its part.
    pub(crate) fn enter(&'static self, thread: &Thread, number: usize, n_threads: usize) {
        self.n_threads.store(n_threads, Ordering::Relaxed);
        thread.work();
        thread.region.set(self);
        thread.number.set(number);
        let Some(part) = self.parts.get(number) else {
            state::leave_out();
            thread.part.set(ptr::null());
            return;
        };
        part.since.store(0, Ordering::Relaxed);
        part.wait_ticks.store(0, Ordering::Relaxed);
        part.begin.store(now(), Ordering::Relaxed);
        thread.part.set(part);
    }

    /// The region has ended, in the thread that began it, which continues in its previous region.
    pub(crate) fn end(&self, thread: &Thread) {
        if state::is_on() {
            self.add(now());
        }
        thread.work();
        thread.region.set(self.outer.load(Ordering::Relaxed));
        thread.part.set(self.outer_part.load(Ordering::Relaxed));
        thread.number.set(self.outer_number.load(Ordering::Relaxed));
        self.is_used.store(false, Ordering::Release);
    }

    /// Adds its sums, as if it ended.
    fn add(&self, end: u64) {
        let n_threads = self.n_threads.load(Ordering::Relaxed);
        let is_nested = self.is_nested.load(Ordering::Relaxed);
        let key = Key::of(Construct::Parallel, self.site()).nested(is_nested);
        let region_begin = self.begin.load(Ordering::Relaxed);
        for (number, part) in self.parts.iter().take(n_threads).enumerate() {
            let begin = part.begin.swap(0, Ordering::Relaxed);
            let since = part.since.swap(0, Ordering::Relaxed);
            let mut wait_ticks = part.wait_ticks.swap(0, Ordering::Relaxed);
            if begin == 0 {
                continue;
            }
            if since != 0 {
                wait_ticks += end.saturating_sub(since);
            }
            let more = More {
                calls: 1,
                ticks: end.saturating_sub(begin),
                wait_ticks,
                start_ticks: begin.saturating_sub(region_begin),
                ..More::default()
            };
            sums::add(key.of_thread(number), more);
        }
        let more = More {
            calls: 1,
            instances: 1,
            ticks: end.saturating_sub(region_begin),
            items: n_threads as u64,
            ..More::default()
        };
        sums::add(key, more);
    }
}

/// Adds the sums of regions in progress when the process ends within them.
///
/// # Returns
/// How many there are.
pub(crate) fn add_open() -> u64 {
    let end = now();
    let open = REGIONS
        .iter()
        .filter(|region| region.is_used.load(Ordering::Acquire));
    open.map(|region| region.add(end)).count() as u64
}
