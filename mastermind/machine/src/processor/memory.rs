//! Loads and reads over the size of the memory, and the first use of pages.
//!
//! The time of a computation changes where its data outgrow a cache, and this file measures by how
//! much: the time of a load that waits for the one before, the rate of reading in order, and the
//! cost of a page that is used for the first time. A load is measured along a random cycle through
//! all lines, each containing the address of the next: no prefetcher knows the next line, and no
//! two loads overlap. The loops are assembly, so that no compiler shortens them.
//!
//! ```text
//! Key::Load(bytes, huge)      ns a load       rises where a cache ends; huge pages save address translation
//! Key::Read(bytes, threads)   bytes a ns      each thread with memory of its own
//! Key::Penalty("page fault")  ns a page
//! ```
//!
//! Sizes are two an octave, from a part of the first cache to more than the last. Values are only
//! taken here; what they mean is decided by their readers.

use std::arch::asm;
use std::hint::black_box;
use std::ptr::null_mut;
use std::sync::Barrier;
use std::thread::{available_parallelism, scope};
use std::time::{Duration, Instant};

use super::{Key, MeasureError, Pass};

/// Bytes of a cache line of every x86-64 processor.
const LINE: usize = 64;

/// Bytes of a small page.
const PAGE: usize = 4096;

/// The least and the largest size: from a part of the nearest cache to more than the last cache of most processors.
const SMALLEST: usize = 4 << 10;
const LARGEST: usize = 256 << 20;

/// How long a value is measured.
const LONG: Duration = Duration::from_millis(3);

/// Minimum number of bytes that are read between two readings of the clock.
const BETWEEN_CLOCKS: usize = 1 << 20;

/// Values of each in a pass.
const VALUES: usize = 8;

/// Memory of this module's own, unmapped at its end.
struct Mapped {
    start: *mut u8,
    bytes: usize,
}

// SAFETY: nothing else uses the memory, and threads only read it.
unsafe impl Sync for Mapped {}

impl Mapped {
    /// # Arguments
    /// * `huge` - whether pages of 2 MiB are requested, which the system may refuse
    fn new(bytes: usize, huge: bool) -> Result<Self, MeasureError> {
        let advice = match huge {
            true => libc::MADV_HUGEPAGE,
            false => libc::MADV_NOHUGEPAGE,
        };
        // SAFETY: new memory, without a user yet.
        let start = unsafe {
            let start = libc::mmap(
                null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            if start == libc::MAP_FAILED {
                return Err(MeasureError::Memory {
                    bytes: bytes as u64,
                });
            }
            // If it is refused, the pages stay as they are.
            libc::madvise(start, bytes, advice);
            start.cast::<u8>()
        };
        Ok(Self { start, bytes })
    }

    fn words(&mut self) -> &mut [usize] {
        // SAFETY: memory of that many words, aligned to a page, zero at first, borrowed with self.
        unsafe {
            std::slice::from_raw_parts_mut(self.start.cast(), self.bytes / size_of::<usize>())
        }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`, with this length.
        unsafe { libc::munmap(self.start.cast(), self.bytes) };
    }
}

/// Measures all of it.
///
/// # Arguments
/// * `progress` - is called with the part that is done
pub fn measure(pass: &mut Pass, mut progress: impl FnMut(f64)) -> Result<(), MeasureError> {
    pass.insert(Key::Penalty("page fault"), page_faults()?);
    let sizes: Vec<usize> = sizes().collect();
    let all = sizes.iter().sum::<usize>() as f64 * 3.0;
    let mut done = 0.0;
    for bytes in sizes {
        for huge in [false, true] {
            // A page of 2 MiB is not given for less.
            if huge && bytes < 2 << 20 {
                continue;
            }
            pass.insert(Key::Load(bytes as u64, huge), loads(bytes, huge)?);
        }
        let threads = available_parallelism().map_or(1, usize::from);
        for threads in [1, 2].into_iter().filter(|n| *n <= threads) {
            pass.insert(Key::Read(bytes as u64, threads), reads(bytes, threads)?);
        }
        done += 3.0 * bytes as f64;
        progress(done / all);
    }
    Ok(())
}

/// Two sizes an octave.
fn sizes() -> impl Iterator<Item = usize> {
    let octaves = (LARGEST / SMALLEST).ilog2();
    (0..octaves)
        .flat_map(|octave| [SMALLEST << octave, (SMALLEST << octave) / 2 * 3])
        .chain([LARGEST])
}

/// Time from one load to the next that depends on it: a cycle through all lines, each of which contains the place of
/// the next one.
fn loads(bytes: usize, huge: bool) -> Result<Vec<f64>, MeasureError> {
    let mut memory = Mapped::new(bytes, huge)?;
    let lines = bytes / LINE;
    let step = LINE / size_of::<usize>();
    let start = memory.start as usize;
    let words = memory.words();
    // Sattolo's algorithm, which makes a permutation of one cycle.
    let mut order: Vec<u32> = (0..lines as u32).collect();
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    for place in (1..lines).rev() {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        order.swap(place, (seed >> 11) as usize % place);
    }
    for (line, next) in order.iter().enumerate() {
        words[line * step] = start + *next as usize * LINE;
    }
    drop(order);
    let mut at = start;
    // Once through the part of it that fits the caches.
    follow(&mut at, lines.min(1 << 20));
    let one = |_| {
        let (began, mut n) = (Instant::now(), 0);
        while began.elapsed() < LONG {
            follow(&mut at, 2048);
            n += 2048;
        }
        began.elapsed().as_secs_f64() * 1e9 / n as f64
    };
    let values = (0..VALUES).map(one).collect();
    black_box(at);
    Ok(values)
}

/// Goes a number of steps along a cycle.
fn follow(at: &mut usize, steps: usize) {
    // SAFETY: each line of the cycle contains the address of one.
    unsafe {
        asm!(
            "2:", "mov {p}, [{p}]", "dec {n}", "jnz 2b",
            p = inout(reg) *at,
            n = inout(reg) steps => _,
            options(readonly, nostack)
        );
    }
}

/// Bytes a nanosecond of threads that read memory of their own from one end to the other.
fn reads(bytes: usize, threads: usize) -> Result<Vec<f64>, MeasureError> {
    let memories: Result<Vec<Mapped>, _> = (0..threads).map(|_| Mapped::new(bytes, true)).collect();
    let mut memories = memories?;
    // Untouched pages are all one page of zeros.
    memories
        .iter_mut()
        .for_each(|memory| memory.words().fill(1));
    let barrier = Barrier::new(threads);
    // Looking at the clock takes as long as reading some kilobytes.
    let rounds = (BETWEEN_CLOCKS / bytes).max(1);
    let one = |_| {
        scope(|scope| {
            let started: Vec<_> = memories
                .iter()
                .map(|memory| {
                    let barrier = &barrier;
                    scope.spawn(move || {
                        read(memory);
                        barrier.wait();
                        let (began, mut n) = (Instant::now(), 0);
                        while began.elapsed() < LONG {
                            (0..rounds).for_each(|_| read(memory));
                            n += rounds * bytes;
                        }
                        n as f64 / began.elapsed().as_secs_f64() * 1e-9
                    })
                })
                .collect();
            let rates = started.into_iter().filter_map(|thread| thread.join().ok());
            rates.sum()
        })
    };
    Ok((0..VALUES).map(one).collect())
}

/// Reads all of a memory, by the widest loads that the processor has without changing its clock.
fn read(memory: &Mapped) {
    let (start, n) = (memory.start, memory.bytes / 256);
    if is_x86_feature_detected!("avx") {
        // SAFETY: reads of the memory, 256 bytes a round, registers that are declared as changed.
        unsafe {
            asm!(
                "2:",
                "vmovups ymm0, [{p}]", "vmovups ymm1, [{p} + 32]", "vmovups ymm2, [{p} + 64]", "vmovups ymm3, [{p} + 96]",
                "vmovups ymm0, [{p} + 128]", "vmovups ymm1, [{p} + 160]", "vmovups ymm2, [{p} + 192]", "vmovups ymm3, [{p} + 224]",
                "add {p}, 256", "dec {n}", "jnz 2b", "vzeroupper",
                p = inout(reg) start => _,
                n = inout(reg) n => _,
                out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
                out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
                out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
                out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
                options(readonly, nostack)
            );
        }
        return;
    }
    // SAFETY: reads of the memory, 256 bytes a round, registers that are declared as changed.
    unsafe {
        asm!(
            "2:", "mov {k}, 16", "3:", "movups xmm0, [{p}]", "add {p}, 16", "dec {k}", "jnz 3b", "dec {n}", "jnz 2b",
            p = inout(reg) start => _,
            n = inout(reg) n => _,
            k = out(reg) _,
            out("xmm0") _,
            options(readonly, nostack)
        );
    }
}

/// Cost of the first use of a page.
fn page_faults() -> Result<Vec<f64>, MeasureError> {
    const PAGES: usize = 2048;
    let one = |_| {
        let mut memory = Mapped::new(PAGES * PAGE, false)?;
        let words = memory.words();
        let began = Instant::now();
        for page in 0..PAGES {
            words[page * (PAGE / size_of::<usize>())] = 1;
        }
        let ns = began.elapsed().as_secs_f64() * 1e9 / PAGES as f64;
        black_box(words);
        Ok(ns)
    };
    (0..VALUES).map(one).collect()
}
