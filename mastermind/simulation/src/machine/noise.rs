//! Interruptions of computation by the operating system and other load of a machine.
//!
//! Time is divided in periods of `every_ns`. In each of them a processor is interrupted once, at a random time in it, for a
//! length that is always the same or random. A computation that an interruption begins in takes that much longer, so that
//! more of them may begin in it; where a processor waits or works for messages, an interruption delays nothing. Times and lengths
//! depend on seed, processor and number of the period alone: a run is the same every time, and with other lengths the same
//! places are interrupted.
//!
//! There is no state, since engines take computations in any order of processes. Noise delays only, so that no window and no horizon depends
//! on it.
//!
//! # Source
//! T. Hoefler, T. Schneider, A. Lumsdaine, "Characterizing the Influence of System Noise on Large-Scale Applications by
//! Simulation", SC 2010 (noise lengthens computations; recorded detours there, random ones here).

use mastermind_programs::expression::mixed;

/// Most interruptions of a computation that are random one by one; further ones count as the average.
const MAX_RANDOM: u64 = 1 << 20;

/// How long interruptions are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Lengths {
    /// All the same.
    #[default]
    Constant,
    /// Exponentially distributed.
    Exponential,
}

/// Interruptions of all processors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Noise {
    /// Length of a period, nanoseconds, ≥ 1: there is one interruption in each.
    pub every_ns: u64,
    /// Its mean length, nanoseconds, at most half of the period.
    pub length_ns: u64,
    /// How lengths are distributed.
    pub lengths: Lengths,
    /// Whether all processors are interrupted at once, for as long.
    pub is_synchronous: bool,
    /// Another one gives other times.
    pub seed: u64,
}

impl Noise {
    /// When and for how long a processor is interrupted in a period, nanoseconds.
    ///
    /// # Arguments
    /// * `processor` - rank, and index of the rank's processor if it has several
    pub fn interruption(&self, processor: (u32, u32), period: u64) -> (u64, u64) {
        let (rank, cpu) = if self.is_synchronous {
            (0, 0)
        } else {
            processor
        };
        let own = mixed(self.seed ^ mixed(u64::from(rank) << 32 | u64::from(cpu)));
        let bits = mixed(own ^ mixed(period));
        let length_ns = match self.lengths {
            Lengths::Constant => self.length_ns,
            Lengths::Exponential => {
                // Above 0 and below 1.
                let uniform = ((mixed(bits) >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
                (-uniform.ln() * self.length_ns as f64).round() as u64
            }
        };
        (period * self.every_ns + bits % self.every_ns, length_ns)
    }

    /// How long a computation takes with its interruptions, nanoseconds.
    ///
    /// # Arguments
    /// * `processor` - as in [`Noise::interruption`]
    pub fn lengthened_ns(&self, processor: (u32, u32), begin_ns: u64, work_ns: u64) -> u64 {
        let first = begin_ns / self.every_ns;
        let mut end_ns = begin_ns.saturating_add(work_ns);
        for period in first..first.saturating_add(MAX_RANDOM) {
            let (at_ns, length_ns) = self.interruption(processor, period);
            if at_ns >= end_ns {
                return end_ns - begin_ns;
            }
            if at_ns >= begin_ns {
                end_ns = end_ns.saturating_add(length_ns);
            }
        }
        let left_ns = end_ns.saturating_sub((first + MAX_RANDOM) * self.every_ns);
        let share = self.length_ns as f64 / self.every_ns as f64;
        let more_ns = (left_ns as f64 * share / (1.0 - share)).round() as u64;
        end_ns.saturating_add(more_ns) - begin_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOISE: Noise = Noise {
        every_ns: 10_000,
        length_ns: 400,
        lengths: Lengths::Exponential,
        is_synchronous: false,
        seed: 3,
    };

    #[test]
    fn interruptions_are_as_long_and_as_many_as_they_say() {
        for lengths in [Lengths::Constant, Lengths::Exponential] {
            let noise = Noise { lengths, ..NOISE };
            let sum: u64 = (0..100_000)
                .map(|period| {
                    let (at_ns, length_ns) = noise.interruption((7, 0), period);
                    assert_eq!(at_ns / 10_000, period);
                    length_ns
                })
                .sum();
            let mean = sum as f64 / 1e5;
            assert!((mean - 400.0).abs() < 5.0, "{mean}");
        }
    }

    #[test]
    fn processors_are_interrupted_at_times_of_their_own_unless_synchronous() {
        let same = |noise: Noise| {
            let equal = |period: &u64| {
                noise.interruption((0, 0), *period) == noise.interruption((1, 0), *period)
            };
            (0..1000).filter(equal).count()
        };
        assert!(same(NOISE) < 5);
        let is_synchronous = true;
        assert_eq!(
            same(Noise {
                is_synchronous,
                ..NOISE
            }),
            1000
        );
    }

    #[test]
    fn a_computation_of_many_periods_takes_its_share_longer() {
        let noise = Noise {
            every_ns: 10,
            length_ns: 4,
            lengths: Lengths::Constant,
            ..NOISE
        };
        // Four of ten nanoseconds remain, and interruptions beyond the random ones are replaced by their
        // average.
        let found = noise.lengthened_ns((0, 0), 5, 60_000_000);
        assert!(found.abs_diff(100_000_000) < 100, "{found}");
        let short = noise.lengthened_ns((0, 0), 5, 600_000);
        assert!(short.abs_diff(1_000_000) < 20, "{short}");
    }
}
