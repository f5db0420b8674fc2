//! More ranks than processors: how long a turn is, and what a rank does that waits.

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

/// A pause in the work of a rank: longer than an interrupt, shorter than the turn of another.
const PAUSE: Duration = Duration::from_micros(300);

/// Fewest turns whose length is believed.
const FEWEST_TURNS: usize = 8;

/// What was measured of a node with more ranks than processors.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Crowd {
    /// Ranks.
    pub ranks: u32,
    /// Processors.
    pub processors: u32,
    /// Part of a processor that a rank takes which waits while the others sleep.
    pub alone: f64,
    /// The same while all others work.
    pub among_others: f64,
    /// Median length of a turn of those, nanoseconds; `None` where too few were seen.
    pub turn_ns: Option<u64>,
}

impl Crowd {
    /// What a rank does that waits: who leaves an idle processor idle blocks; who takes the better half of its even
    /// share of busy ones spins.
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
/// What the first rank measured; on the others it means nothing.
///
/// # Errors
/// The communicator's.
pub fn measure(
    comm: &impl CommPort,
    processors: u32,
    tell: &dyn Fn(f64),
) -> Result<Crowd, PortError> {
    let alone = wait_while(comm, || {
        thread::sleep(ALONE);
        Vec::new()
    })?;
    tell(0.1);
    let among_others = wait_while(comm, || work(WORK))?;
    tell(0.9);
    let gathered = comm.gather(0, RSlice::from_slice(&among_others.turns_ns))?;
    let turns_ns: Vec<f64> = gathered
        .iter()
        .flat_map(|turns| turns.iter().copied())
        .collect();
    Ok(Crowd {
        ranks: comm.size()? as u32,
        processors,
        alone: alone.share,
        among_others: among_others.share,
        turn_ns: (turns_ns.len() >= FEWEST_TURNS).then(|| median(&turns_ns) as u64),
    })
}

/// What a rank has seen.
struct Seen {
    /// Of a processor, while it waited.
    share: f64,
    /// Its turns, while it worked.
    turns_ns: Vec<f64>,
}

/// The first rank waits for a message of the second, while the others do something and then wait for the first.
fn wait_while(comm: &impl CommPort, others: impl FnOnce() -> Vec<f64>) -> Result<Seen, PortError> {
    let rank = comm.rank()?;
    comm.barrier()?;
    let mut seen = Seen {
        share: 0.0,
        turns_ns: Vec::new(),
    };
    if rank == 0 {
        let (begin, before) = (Instant::now(), processor_time());
        let mut request = [comm.receive(1, 0, 1)?];
        comm.wait_some(RSliceMut::from_mut_slice(&mut request))?;
        let used = processor_time().saturating_sub(before);
        seen.share = used.as_secs_f64() / begin.elapsed().as_secs_f64();
    } else {
        seen.turns_ns = others();
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

/// Works for a time: the lengths of its turns but the first and the last, nanoseconds.
fn work(time: Duration) -> Vec<f64> {
    let mut turns_ns = Vec::new();
    let begin = Instant::now();
    let (mut turn, mut last) = (begin, begin);
    let mut is_first = true;
    while begin.elapsed() < time {
        let now = Instant::now();
        if now - last > PAUSE {
            if !is_first {
                turns_ns.push((last - turn).as_nanos() as f64);
            }
            (turn, is_first) = (now, false);
        }
        last = now;
    }
    turns_ns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_done_while_waiting_is_told_by_the_processors_share() {
        let crowd = |alone, among_others| Crowd {
            ranks: 4,
            processors: 2,
            alone,
            among_others,
            turn_ns: None,
        };
        assert_eq!(crowd(0.01, 0.0).waiting(), Waiting::Blocks);
        assert_eq!(crowd(0.99, 0.02).waiting(), Waiting::Yields);
        assert_eq!(crowd(0.99, 0.49).waiting(), Waiting::Spins);
    }
}
