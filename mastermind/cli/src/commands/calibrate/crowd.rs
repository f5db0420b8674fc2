//! More ranks than processors: the length of a time slice, and whether a waiting rank blocks or spins.

use std::thread;
use std::time::{Duration, Instant};

use cca_ports::{CommPort, PortError, RSlice, RSliceMut, RVec};
use mastermind_simulation::calibration::median;
use mastermind_simulation::machine::Waiting;
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// Time that the first rank waits while the others sleep.
const ALONE: Duration = Duration::from_millis(100);

/// Time that it waits while they work.
const WORK: Duration = Duration::from_millis(1500);

/// A pause in the work of a rank: longer than an interrupt, shorter than the time slice of another rank.
const PAUSE: Duration = Duration::from_micros(300);

/// Fewest turns whose length is believed.
const FEWEST_TURNS: usize = 8;

/// Measurements of an oversubscribed node, with more ranks than processors.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Crowd {
    /// Ranks.
    pub ranks: u32,
    /// Processors.
    pub processors: u32,
    /// Part of a processor that a waiting rank uses while the others sleep.
    pub alone: f64,
    /// The same while all others work.
    pub among_others: f64,
    /// Median length of a time slice, nanoseconds; `None` where too few were seen.
    pub turn_ns: Option<u64>,
    /// Number of time slices per change of which ranks share a processor; `None` where no change was seen.
    pub regroup_turns: Option<u32>,
}

/// A time slice: its begin, on a clock of its rank, and its length, nanoseconds.
type Turn = [f64; 2];

impl Crowd {
    /// How a rank waits: if it leaves an idle processor idle, it blocks; if it uses at least half of its even share of
    /// busy processors, it spins.
    pub fn waiting(&self) -> Waiting {
        let even = f64::from(self.processors) / f64::from(self.ranks);
        if self.alone < 0.5 {
            Waiting::Blocks
        } else if self.among_others > 0.5 * even {
            Waiting::Spins
        } else {
            Waiting::Yields
        }
    }
}

/// Measures; all ranks call this.
///
/// # Returns
/// The measurements on the first rank; a meaningless value on the others.
///
/// # Errors
/// The communicator's.
pub fn measure(
    comm: &impl CommPort,
    processors: u32,
    on_progress: &dyn Fn(f64),
) -> Result<Crowd, PortError> {
    let alone = wait_while(comm, || {
        thread::sleep(ALONE);
        Vec::new()
    })?;
    on_progress(0.1);
    let among_others = wait_while(comm, || work(WORK))?;
    on_progress(0.9);
    let gathered = comm.gather(0, RSlice::from_slice(among_others.turns.as_flattened()))?;
    let turns: Vec<&[Turn]> = gathered.iter().map(|turns| turns.as_chunks().0).collect();
    let turns_ns: Vec<f64> = turns
        .iter()
        .copied()
        .flatten()
        .map(|turn| turn[1])
        .collect();
    let turn_ns = (turns_ns.len() >= FEWEST_TURNS).then(|| median(&turns_ns));
    let ranks = comm.size()? as u32;
    Ok(Crowd {
        ranks,
        processors,
        alone: alone.share,
        among_others: among_others.share,
        turn_ns: turn_ns.map(|ns| ns as u64),
        regroup_turns: turn_ns.and_then(|ns| regroup_turns(&turns, ns, ranks, processors)),
    })
}

/// Number of time slices per change of which ranks share a processor.
///
/// Where each processor goes round among equally many ranks, the next slice of a rank comes after a whole number of
/// rounds. If it does not, one of the ranks of its processor had a slice too long or too short, and all of them are
/// late or early once.
fn regroup_turns(turns: &[&[Turn]], turn_ns: f64, ranks: u32, processors: u32) -> Option<u32> {
    let round = ranks / processors.max(1);
    let pairs = turns.iter().flat_map(|turns| turns.windows(2));
    let between = pairs.map(|pair| ((pair[1][0] - pair[0][0]) / turn_ns).round() as u32);
    let (mut n, mut n_out_of_step) = (0_u32, 0_u32);
    for turns in between {
        n += 1;
        n_out_of_step += u32::from(!turns.is_multiple_of(round));
    }
    let every = f64::from(round) * f64::from(n) / f64::from(n_out_of_step);
    (n_out_of_step > 0).then(|| (every.round() as u32).max(2))
}

/// Time slices that a rank observed.
struct TimeSlices {
    /// Of a processor, while it waited.
    share: f64,
    /// Its turns, while it worked.
    turns: Vec<Turn>,
}

/// The first rank waits for a message of the second, while the others run `others` and then wait for the first.
fn wait_while(
    comm: &impl CommPort,
    others: impl FnOnce() -> Vec<Turn>,
) -> Result<TimeSlices, PortError> {
    let rank = comm.rank()?;
    comm.barrier()?;
    let mut seen = TimeSlices {
        share: 0.0,
        turns: Vec::new(),
    };
    if rank == 0 {
        let (begin, before) = (Instant::now(), processor_time());
        let mut request = [comm.receive(1, 0, 1)?];
        comm.wait_some(RSliceMut::from_mut_slice(&mut request))?;
        let used = processor_time().saturating_sub(before);
        seen.share = used.as_secs_f64() / begin.elapsed().as_secs_f64();
    } else {
        seen.turns = others();
    }
    if rank == 1 {
        let mut request = [comm.send(0, 0, RVec::from(vec![1.0]))?];
        comm.wait_some(RSliceMut::from_mut_slice(&mut request))?;
    }
    comm.barrier()?;
    Ok(seen)
}

/// Processor time of this thread.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Works for a time: its time slices except the first and the last.
fn work(time: Duration) -> Vec<Turn> {
    let mut turns = Vec::new();
    let begin = Instant::now();
    let (mut turn, mut last) = (begin, begin);
    let mut is_first = true;
    while begin.elapsed() < time {
        let now = Instant::now();
        if now - last > PAUSE {
            if !is_first {
                let ns = |time: Duration| time.as_nanos() as f64;
                turns.push([ns(turn - begin), ns(last - turn)]);
            }
            (turn, is_first) = (now, false);
        }
        last = now;
    }
    turns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processors_share_shows_what_waiting_ranks_do() {
        let crowd = |alone, among_others| Crowd {
            ranks: 4,
            processors: 2,
            alone,
            among_others,
            turn_ns: None,
            regroup_turns: None,
        };
        assert_eq!(crowd(0.01, 0.0).waiting(), Waiting::Blocks);
        assert_eq!(crowd(0.99, 0.02).waiting(), Waiting::Yields);
        assert_eq!(crowd(0.99, 0.49).waiting(), Waiting::Spins);
    }

    #[test]
    fn a_turn_out_of_step_is_one_of_all_ranks_of_its_processor() {
        // Two ranks in turns of 4 ms: one has a double turn at 16 ms, so both are late once.
        let turns =
            |begins: &[f64]| -> Vec<Turn> { begins.iter().map(|ms| [ms * 1e6, 3.9e6]).collect() };
        let long = turns(&[0.0, 8.0, 16.0, 28.0, 36.0, 44.0]);
        let late = turns(&[4.0, 12.0, 24.0, 32.0, 40.0]);
        let found = regroup_turns(&[&long, &late], 3.9e6, 2, 1);
        // 2 of 9 are late, so one of 2 * 9 / 2 turns.
        assert_eq!(found, Some(9));
        assert_eq!(regroup_turns(&[&long[3..]], 3.9e6, 2, 1), None);
    }
}
