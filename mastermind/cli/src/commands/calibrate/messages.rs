//! Messages between two ranks, the first and one other; the remaining ranks do nothing.
//!
//! LogGP's parameters cannot be read off one experiment, so each size is sent in several patterns.
//! A round trip gives the one-way time and the send overhead; a receive of a message that has
//! arrived before gives the receive overhead; a row of messages gives the gap. The size up to which
//! messages are eager is bracketed and bisected: a message is eager if it is sent although its
//! receive has not been posted. Above that size, one more pattern shows whether the sender or the
//! receiver moves the bytes of a rendezvous message.
//!
//! ```text
//! one way:        A ─m─▶ B ─m─▶ A               half the round trip
//! receive:        B sends, A computes, A receives: the time of that call alone
//! gap:            A ─mmmm…─▶ B, then one back   (all - 2 one-way) / (n - 1)
//! eager?          A sends m; B exchanges other messages; is m sent before B receives it?
//! fetched?        B starts to send m, then computes: does A get m meanwhile?
//! ```
//!
//! Both ranks run the same functions in the same order, so each pattern is written once with a
//! branch for the first rank.

use std::time::{Duration, Instant};

use cca_ports::{CommPort, PortError, RSliceMut, RVec};
use mastermind_simulation::calibration::{MessageTimes, median};

use super::ranks::MeasuredLink;

/// Largest message, doubles: 4 MiB.
const LARGEST: usize = 1 << 19;

/// Largest message that is sent many times in a row, and that may arrive before its receive, doubles.
const LARGEST_IN_A_ROW: usize = 1 << 13;

/// Messages in a row.
const ROW: usize = 16;

/// Repetitions of a measurement in which one of the two stays away for a while.
const N_AWAY: usize = 5;

/// Other messages that are exchanged while an unexpected message waits.
const N_OTHERS: usize = 20;

/// Tag of the measured messages, and of the messages around them.
const TAG: i32 = 7;

/// Tag of the other messages.
const OTHER_TAG: i32 = 8;

/// Measures messages between the first rank and `peer`; all ranks call this with the same arguments.
///
/// # Returns
/// The measurements on the first rank; a meaningless value on the others.
///
/// # Errors
/// The communicator's.
pub fn measure(
    comm: &impl CommPort,
    peer: i32,
    rounds: u32,
    on_progress: &dyn Fn(f64),
) -> Result<MeasuredLink, PortError> {
    let mut link = MeasuredLink {
        times: Vec::new(),
        rendezvous_bytes: None,
        is_fetched: false,
    };
    let rank = comm.rank()?;
    if rank != 0 && rank != peer {
        return Ok(link);
    }
    let other = if rank == 0 { peer } else { 0 };
    let pair = Pair { comm, rank, other };
    let sizes = sizes();
    link.times = sizes
        .iter()
        .map(|n| MessageTimes::of(8 * *n as u64))
        .collect();
    // Warms up buffers and connections with the largest message; the result is not used.
    pair.back_and_forth(LARGEST, 8)?;
    for round in 0..rounds {
        for at in 0..sizes.len() {
            // Sizes go up and down in turn, so that a drift over time does not look like an effect of size.
            let at = if round % 2 == 0 {
                at
            } else {
                sizes.len() - 1 - at
            };
            pair.one_size(sizes[at], &mut link.times[at])?;
        }
        on_progress(f64::from(round + 1) / f64::from(rounds + 1));
    }
    if let Some(largest) = pair.largest_at_once(&sizes)? {
        link.rendezvous_bytes = Some(8 * largest as u64);
        let asking = link.times.iter().zip(&sizes).filter(|(_, n)| **n > largest);
        let mut parts = Vec::new();
        for (times, n) in asking {
            parts.push(pair.part_of_absence(*n, median(&times.one_way_ns))?);
        }
        // Received long before its sender came back to MPI: the receiver moved the bytes.
        link.is_fetched = median(&parts) < 0.5;
    }
    Ok(link)
}

/// Sizes in doubles: powers of two and the values midway between them.
fn sizes() -> Vec<usize> {
    let powers = (0..).map(|k| 1_usize << k).take_while(|n| *n <= LARGEST);
    let both = powers.flat_map(|n| [n, n + n / 2]);
    let mut sizes: Vec<usize> = both.filter(|n| *n <= LARGEST).collect();
    sizes.dedup();
    sizes
}

trait OfSize {
    fn of(bytes: u64) -> Self;
}

impl OfSize for MessageTimes {
    fn of(bytes: u64) -> Self {
        Self {
            bytes,
            ..Self::default()
        }
    }
}

/// One of the two ranks.
struct Pair<'a, C> {
    comm: &'a C,
    rank: i32,
    other: i32,
}

impl<C: CommPort> Pair<'_, C> {
    fn is_first(&self) -> bool {
        self.rank == 0
    }

    /// Waits for all of some requests.
    fn wait(&self, requests: &mut [u64]) -> Result<(), PortError> {
        while requests.iter().any(|request| *request != 0) {
            let ended = self.comm.wait_some(RSliceMut::from_mut_slice(requests))?;
            drop(ended);
        }
        Ok(())
    }

    fn send(&self, n: usize) -> Result<u64, PortError> {
        self.comm.send(self.other, TAG, RVec::from(vec![1.0; n]))
    }

    fn receive(&self, n: usize) -> Result<(), PortError> {
        self.wait(&mut [self.comm.receive(self.other, TAG, n)?])
    }

    /// The two meet: neither has anything under way.
    fn meet(&self) -> Result<(), PortError> {
        let mut requests = [self.comm.receive(self.other, TAG, 1)?, self.send(1)?];
        self.wait(&mut requests)
    }

    /// All that is measured of a size, once.
    fn one_size(&self, n: usize, times: &mut MessageTimes) -> Result<(), PortError> {
        // So that each size takes about the same time, small ones hundreds of times.
        let repetitions = (1 << 18) / (n + 1024) + 4;
        let (one_way_ns, send_ns) = self.back_and_forth(n, repetitions)?;
        times.one_way_ns.push(one_way_ns);
        times.send_ns.push(send_ns);
        if n <= LARGEST_IN_A_ROW {
            times.receive_ns.push(self.there_before(n, one_way_ns)?);
            times.between_ns.push(self.in_a_row(n, one_way_ns)?);
        }
        Ok(())
    }

    /// So many messages there and back: half the time of both, and the time of the sending call.
    fn back_and_forth(&self, n: usize, repetitions: usize) -> Result<(f64, f64), PortError> {
        let (mut ways, mut sends) = (Vec::new(), Vec::new());
        for _ in 0..repetitions {
            let message = RVec::from(vec![1.0; n]);
            let begin = Instant::now();
            let mut requests = [self.comm.receive(self.other, TAG, n)?, 0];
            if self.is_first() {
                let sends_at = Instant::now();
                requests[1] = self.comm.send(self.other, TAG, message)?;
                sends.push(sends_at.elapsed().as_nanos() as f64);
                self.wait(&mut requests)?;
                ways.push(begin.elapsed().as_nanos() as f64 / 2.0);
            } else {
                self.wait(&mut requests)?;
                self.wait(&mut [self.comm.send(self.other, TAG, message)?])?;
            }
        }
        Ok((median(&ways), median(&sends)))
    }

    /// The time of a receive whose message has arrived before.
    fn there_before(&self, n: usize, one_way_ns: f64) -> Result<f64, PortError> {
        let mut times = Vec::new();
        for _ in 0..N_AWAY {
            self.meet()?;
            if !self.is_first() {
                self.wait(&mut [self.send(n)?])?;
                continue;
            }
            // Twice the one-way time and some: the message has arrived when the receive is posted.
            stay_away(Duration::from_nanos(20_000 + 2 * one_way_ns as u64));
            let begin = Instant::now();
            self.receive(n)?;
            times.push(begin.elapsed().as_nanos() as f64);
        }
        Ok(median(&times))
    }

    /// The time between consecutive messages of many in a row.
    fn in_a_row(&self, n: usize, one_way_ns: f64) -> Result<f64, PortError> {
        self.meet()?;
        if self.is_first() {
            let messages: Vec<_> = (0..ROW).map(|_| RVec::from(vec![1.0; n])).collect();
            let begin = Instant::now();
            let mut requests = Vec::new();
            for message in messages {
                requests.push(self.comm.send(self.other, TAG, message)?);
            }
            requests.push(self.comm.receive(self.other, TAG, 1)?);
            self.wait(&mut requests)?;
            let all_ns = begin.elapsed().as_nanos() as f64;
            // The last message's way there and the answer's way back are no gaps.
            return Ok(((all_ns - 2.0 * one_way_ns) / (ROW - 1) as f64).max(0.0));
        }
        let receive = |_| self.comm.receive(self.other, TAG, n);
        let mut requests = (0..ROW).map(receive).collect::<Result<Vec<_>, _>>()?;
        self.wait(&mut requests)?;
        self.wait(&mut [self.send(1)?])?;
        Ok(0.0)
    }

    /// The time until a message has been received whose sender did other work meanwhile, as a part of the time of that
    /// work.
    fn part_of_absence(&self, n: usize, one_way_ns: f64) -> Result<f64, PortError> {
        let away = Duration::from_nanos(1_000_000 + 8 * one_way_ns as u64);
        let mut parts = Vec::new();
        for _ in 0..N_AWAY {
            self.meet()?;
            if self.is_first() {
                let begin = Instant::now();
                self.receive(n)?;
                parts.push(begin.elapsed().as_secs_f64() / away.as_secs_f64());
            } else {
                let mut request = [self.send(n)?];
                stay_away(away);
                self.wait(&mut request)?;
            }
        }
        Ok(median(&parts))
    }

    /// Whether a message is sent eagerly: without its receive, although the receiver has MPI make progress.
    fn is_sent_at_once(&self, n: usize) -> Result<bool, PortError> {
        self.meet()?;
        let mut is_sent = [0.0];
        if self.is_first() {
            let mut requests = [self.send(n)?, 0];
            for _ in 0..N_OTHERS {
                requests[1] = self.comm.receive(self.other, OTHER_TAG, 1)?;
                // Waiting for the other message polls the send as well, so MPI can make progress on
                // it.
                while requests[1] != 0 {
                    drop(
                        self.comm
                            .wait_some(RSliceMut::from_mut_slice(&mut requests))?,
                    );
                }
                let answer = RVec::from(vec![1.0]);
                self.wait(&mut [self.comm.send(self.other, OTHER_TAG, answer)?])?;
            }
            is_sent[0] = f64::from(u8::from(requests[0] == 0));
            self.wait(&mut requests)?;
        } else {
            for _ in 0..N_OTHERS {
                let question = RVec::from(vec![1.0]);
                self.wait(&mut [
                    self.comm.send(self.other, OTHER_TAG, question)?,
                    self.comm.receive(self.other, OTHER_TAG, 1)?,
                ])?;
            }
            self.receive(n)?;
        }
        self.agree(&mut is_sent)?;
        Ok(is_sent[0] != 0.0)
    }

    /// Sends the first rank's result to the other rank.
    fn agree(&self, found: &mut [f64; 1]) -> Result<(), PortError> {
        let mut request = match self.is_first() {
            true => [self
                .comm
                .send(self.other, TAG, RVec::from(found.to_vec()))?],
            false => [self.comm.receive(self.other, TAG, 1)?],
        };
        let ended = self
            .comm
            .wait_some(RSliceMut::from_mut_slice(&mut request))?;
        if let (false, Some(completion)) = (self.is_first(), ended.iter().next()) {
            found.copy_from_slice(&completion.data);
        }
        Ok(())
    }

    /// The largest message that is sent eagerly, doubles; `None` if all are.
    fn largest_at_once(&self, sizes: &[usize]) -> Result<Option<usize>, PortError> {
        let (mut fits, mut waits) = (0, None);
        for n in sizes {
            if !self.is_sent_at_once(*n)? {
                waits = Some(*n);
                break;
            }
            fits = *n;
        }
        let Some(mut waits) = waits else {
            return Ok(None);
        };
        // Eager are all sizes up to `fits`, none from `waits` on.
        while waits - fits > 1 {
            let middle = fits + (waits - fits) / 2;
            match self.is_sent_at_once(middle)? {
                true => fits = middle,
                false => waits = middle,
            }
        }
        Ok(Some(fits))
    }
}

/// Keeps the processor busy without MPI.
fn stay_away(time: Duration) {
    let begin = Instant::now();
    while begin.elapsed() < time {
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::{LARGEST, sizes};

    #[test]
    fn sizes_grow_to_the_largest() {
        let sizes = sizes();
        assert_eq!(sizes[..6], [1, 2, 3, 4, 6, 8]);
        assert_eq!(sizes.last(), Some(&LARGEST));
        assert!(sizes.is_sorted());
    }
}
