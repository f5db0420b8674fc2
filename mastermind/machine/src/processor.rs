//! Costs of a processor, measured by small programs of its instructions.
//!
//! Everything is measured in several passes, which the caller spreads over time, since another program may have the
//! processor, or its caches, during one of them. A number that differs between the passes is [`Number::unstable`]: on a
//! machine with several tenants that is true of the larger caches and of memory, which no repetition mends.
//!
//! ```text
//! identity    its description by the system and by the instruction cpuid
//! chains      times of single instructions, each waiting for the one before it, or none
//! memory      times of loads, and bytes a nanosecond, over the size of the memory
//! ratio       times of one processor divided by those of another
//! ```
//!
//! The clock's frequency is that of a chain of multiplications: additions can be renamed away, and the time-stamp counter runs at another one.

#[cfg(target_arch = "x86_64")]
mod chains;
mod identity;
#[cfg(target_arch = "x86_64")]
mod memory;
mod ratio;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use identity::{Cache, Identity, identify};
pub use ratio::{Kind, Ratio};

/// Difference between the passes, as a part of the least, from which a number is unstable.
///
/// # Source
/// Numbers of a quiet machine repeat within 3 to 7 %, those of shared caches by 30 % and more (the study behind this
/// design): any bound between the two separates them.
pub const UNSTABLE: f64 = 0.15;

/// A quantity measured several times in each of several passes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Number {
    /// The best of all.
    pub best: f64,
    /// The quartile of all on the side of the best.
    pub quartile: f64,
    /// The best of each pass.
    pub passes: Vec<f64>,
    /// Whether the passes differ by [`UNSTABLE`] or more.
    pub unstable: bool,
}

/// A time that depends on how much memory is used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Bytes that are visited, a cache line after the other in an order that no prefetcher knows.
    pub bytes: u64,
    /// Whether the system gave pages of 2 MiB.
    pub huge_pages: bool,
    /// From one load to the next that depends on it, nanoseconds.
    pub ns: Number,
}

/// A rate that depends on how much memory is used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bandwidth {
    /// Bytes that each thread reads from one end to the other.
    pub bytes: u64,
    /// Threads that read at once.
    pub threads: usize,
    /// Of all threads together, bytes a nanosecond.
    pub bytes_per_ns: Number,
}

/// All of it. Times in nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Processor {
    /// Its identity.
    #[serde(flatten)]
    pub identity: Identity,
    /// Cycles a second.
    pub clock_hz: Number,
    /// An instruction that waits for the one before it.
    pub latency_ns: BTreeMap<String, Number>,
    /// An instruction among others that do not wait for each other.
    pub throughput_ns: BTreeMap<String, Number>,
    /// Additional time of a mispredicted branch, and of the first use of a page of 4 KiB.
    pub penalty_ns: BTreeMap<String, Number>,
    /// Loads that wait for each other.
    pub load: Vec<Latency>,
    /// Reading.
    pub read: Vec<Bandwidth>,
}

/// Measurements of a pass: all values of each, by name.
pub type Pass = BTreeMap<Key, Vec<f64>>;

/// A measured quantity.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// Hertz.
    Clock,
    /// Nanoseconds of an instruction.
    Latency(&'static str),
    /// Nanoseconds of an instruction.
    Throughput(&'static str),
    /// Nanoseconds.
    Penalty(&'static str),
    /// Nanoseconds, by bytes and whether pages are huge.
    Load(u64, bool),
    /// Bytes a nanosecond, by bytes and threads.
    Read(u64, usize),
}

/// A measurement that cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MeasureError {
    /// There are no kernels for it.
    #[error("cannot measure processor: architecture {found}, expected x86_64")]
    Architecture {
        /// The architecture.
        found: &'static str,
    },
    /// Not enough memory.
    #[error("cannot measure processor: no {bytes} bytes of memory to be had, expected as many")]
    Memory {
        /// Requested bytes.
        bytes: u64,
    },
}

/// Measures everything once, in some seconds.
///
/// # Arguments
/// * `progress` - is called with the part that is done, 0 to 1
///
/// # Errors
/// [`MeasureError`].
#[cfg(target_arch = "x86_64")]
pub fn measure(mut progress: impl FnMut(f64)) -> Result<Pass, MeasureError> {
    let mut pass = Pass::new();
    chains::measure(&mut pass);
    progress(0.1);
    memory::measure(&mut pass, |part| progress(0.1 + 0.9 * part))?;
    Ok(pass)
}

/// Measures everything once, in some seconds.
///
/// # Arguments
/// * `progress` - is called with the part that is done, 0 to 1
///
/// # Errors
/// [`MeasureError::Architecture`], always.
#[cfg(not(target_arch = "x86_64"))]
pub fn measure(_progress: impl FnMut(f64)) -> Result<Pass, MeasureError> {
    Err(MeasureError::Architecture {
        found: std::env::consts::ARCH,
    })
}

impl Number {
    /// A number of all passes; `None` without a value.
    ///
    /// # Arguments
    /// * `passes` - the values of each
    /// * `is_time` - whether less is better
    pub fn of(passes: &[&[f64]], is_time: bool) -> Option<Self> {
        let better = |one: f64, other: f64| match is_time {
            true => one.min(other),
            false => one.max(other),
        };
        let best_of = |values: &[f64]| values.iter().copied().reduce(better);
        let bests: Vec<f64> = passes.iter().filter_map(|pass| best_of(pass)).collect();
        let best = best_of(&bests)?;
        let mut all = passes.concat();
        all.sort_by(f64::total_cmp);
        if !is_time {
            all.reverse();
        }
        let far = bests.iter().map(|of| (of - best).abs()).fold(0.0, f64::max);
        Some(Self {
            best,
            quartile: all[(all.len() - 1) / 4],
            unstable: far >= UNSTABLE * best.abs(),
            passes: bests,
        })
    }
}

impl Processor {
    /// Puts passes together.
    ///
    /// # Returns
    /// `None` if they do not have the clock's frequency.
    pub fn of(identity: Identity, passes: &[Pass]) -> Option<Self> {
        let number = |key: &Key, is_time: bool| {
            let values: Vec<&[f64]> = passes
                .iter()
                .filter_map(|pass| pass.get(key).map(Vec::as_slice))
                .collect();
            Number::of(&values, is_time)
        };
        let mut processor = Self {
            identity,
            clock_hz: number(&Key::Clock, false)?,
            latency_ns: BTreeMap::new(),
            throughput_ns: BTreeMap::new(),
            penalty_ns: BTreeMap::new(),
            load: Vec::new(),
            read: Vec::new(),
        };
        for key in passes.first()?.keys() {
            let is_time = !matches!(key, Key::Clock | Key::Read(..));
            let Some(number) = number(key, is_time) else {
                continue;
            };
            match *key {
                Key::Clock => {}
                Key::Latency(name) => {
                    processor.latency_ns.insert(name.into(), number);
                }
                Key::Throughput(name) => {
                    processor.throughput_ns.insert(name.into(), number);
                }
                Key::Penalty(name) => {
                    processor.penalty_ns.insert(name.into(), number);
                }
                Key::Load(bytes, huge_pages) => processor.load.push(Latency {
                    bytes,
                    huge_pages,
                    ns: number,
                }),
                Key::Read(bytes, threads) => processor.read.push(Bandwidth {
                    bytes,
                    threads,
                    bytes_per_ns: number,
                }),
            }
        }
        Some(processor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_unstable_where_its_passes_differ() {
        let of = |passes: [&[f64]; 3], is_time| Number::of(&passes, is_time).unwrap();
        let steady = of([&[1.0, 1.1, 9.0], &[1.05], &[1.14]], true);
        assert_eq!(steady.best, 1.0);
        assert_eq!(steady.passes, [1.0, 1.05, 1.14]);
        assert!(!steady.unstable);
        assert!(of([&[1.0], &[1.2], &[1.0]], true).unstable);
        let rate = of([&[10.0, 2.0], &[9.0], &[9.5]], false);
        assert_eq!((rate.best, rate.quartile), (10.0, 10.0));
        assert!(!rate.unstable);
        assert_eq!(Number::of(&[&[]], true), None);
    }
}
