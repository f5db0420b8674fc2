//! Computation that a recorded run left out and that a replay adds: the methods of a dry run.
//!
//! Input: a rank, and for each of its threads the time at which it would have computed longer and by how much. Output:
//! the rank, with all later calls delayed by that, and with the processor time before the next one.

use crate::RecordedRank;
use crate::call::{Action, action};

/// Computation that was left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delay {
    /// When it would have begun, nanoseconds.
    pub at_ns: u64,
    /// How long it would have taken, nanoseconds.
    pub length_ns: u64,
}

impl RecordedRank {
    /// Adds the computation that the rank left out.
    ///
    /// # Arguments
    /// * `delays` - for each of its threads, in the order of time
    pub fn delay(&mut self, delays: &[Vec<Delay>]) {
        let mut last_ns = 0;
        for (place, calls) in self.threads.iter_mut().enumerate() {
            let of_thread = delays.get(place).map_or(&[][..], Vec::as_slice);
            let mut next = of_thread.iter().peekable();
            let (mut later_ns, mut unspent_ns) = (0_u64, 0_u64);
            for call in calls {
                while let Some(delay) = next.next_if(|delay| delay.at_ns <= call.start_ns) {
                    later_ns = later_ns.saturating_add(delay.length_ns);
                    unspent_ns = unspent_ns.saturating_add(delay.length_ns);
                }
                call.start_ns = call.start_ns.saturating_add(later_ns);
                call.end_ns = call.end_ns.saturating_add(later_ns);
                if let Some(cpu_ns) = &mut call.cpu_before_ns
                    && !matches!(
                        action(&call.function),
                        Action::Exchanged | Action::Completed
                    )
                {
                    *cpu_ns = cpu_ns.saturating_add(std::mem::take(&mut unspent_ns));
                }
            }
            let rest: u64 = next.map(|delay| delay.length_ns).sum();
            last_ns = last_ns.max(later_ns.saturating_add(rest));
        }
        self.span_ns.1 = self.span_ns.1.saturating_add(last_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RecordedCall;

    fn call(start_ns: u64, cpu_before_ns: Option<u64>) -> RecordedCall {
        RecordedCall {
            function: "MPI_Send".into(),
            start_ns,
            end_ns: start_ns + 5,
            cpu_before_ns,
            bytes: 0,
            peer: None,
            world_peer: None,
            communicator: None,
            tag: None,
            request: None,
            requests: 0,
        }
    }

    #[test]
    fn all_that_follows_is_later() {
        let mut rank = RecordedRank {
            threads: vec![vec![call(10, Some(8)), call(20, None), call(30, Some(2))]],
            span_ns: (0, 40),
            ..RecordedRank::default()
        };
        let delay = |at_ns, length_ns| Delay { at_ns, length_ns };
        rank.delay(&[vec![
            delay(5, 100),
            delay(25, 1000),
            delay(26, 1),
            delay(39, 7),
        ]]);
        let starts: Vec<_> = rank.threads[0].iter().map(|call| call.start_ns).collect();
        assert_eq!(starts, [110, 120, 1131]);
        assert_eq!(rank.threads[0][2].end_ns, 1136);
        let cpu: Vec<_> = rank.threads[0]
            .iter()
            .map(|call| call.cpu_before_ns)
            .collect();
        assert_eq!(cpu, [Some(108), None, Some(1003)]);
        assert_eq!(rank.elapsed_ns(), 40 + 1108);
    }
}
