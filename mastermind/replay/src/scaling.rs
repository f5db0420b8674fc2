//! Computation of a recorded run as another processor takes it: each stretch between two calls of MPI by the factors of the components that computed
//! in it.
//!
//! Input: a rank, the calls of components on each of its threads, and a factor for each of them. Output: the rank, with
//! the processor time before its calls scaled by the factors. A stretch belongs to the innermost call of a component;
//! time outside of all has the general factor.

use crate::RecordedRank;
use crate::call::{Action, action, ends};

/// A call of a component on a thread.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ComponentCall {
    /// When it began, nanoseconds.
    pub start_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// Time on the other processor by time on the recorded one.
    pub factor: f64,
}

/// A stretch of time with one factor.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Stretch {
    start_ns: u64,
    end_ns: u64,
    factor: f64,
}

/// Where a thread is with which factor.
#[derive(Debug)]
struct Factors {
    /// In the order of time, apart from each other.
    stretches: Vec<Stretch>,
    others: f64,
}

impl Factors {
    /// # Arguments
    /// * `calls` - of one thread, each inside of another or after it
    /// * `others` - the factor outside of all
    fn of(calls: &[ComponentCall], others: f64) -> Self {
        let mut calls = calls.to_vec();
        // Of calls that begin at once the longer one is outside.
        calls.sort_by_key(|call| (call.start_ns, u64::MAX - call.end_ns));
        let mut stretches = Vec::new();
        let mut open: Vec<ComponentCall> = Vec::new();
        let mut now_ns = 0;
        let mut go_on = |open: &[ComponentCall], now_ns: &mut u64, to_ns: u64| {
            if let Some(call) = open.last()
                && to_ns > *now_ns
            {
                stretches.push(Stretch {
                    start_ns: *now_ns,
                    end_ns: to_ns,
                    factor: call.factor,
                });
            }
            *now_ns = to_ns.max(*now_ns);
        };
        for call in calls {
            while let Some(inner) = open.last().filter(|inner| inner.end_ns <= call.start_ns) {
                let end_ns = inner.end_ns;
                go_on(&open, &mut now_ns, end_ns);
                open.pop();
            }
            go_on(&open, &mut now_ns, call.start_ns);
            open.push(call);
        }
        while let Some(inner) = open.last() {
            let end_ns = inner.end_ns;
            go_on(&open, &mut now_ns, end_ns);
            open.pop();
        }
        Self { stretches, others }
    }

    /// The mean factor from one time to another.
    fn between(&self, from_ns: u64, to_ns: u64) -> f64 {
        let length = to_ns.saturating_sub(from_ns) as f64;
        if length == 0.0 {
            return self.others;
        }
        let first = self.stretches.partition_point(|of| of.end_ns <= from_ns);
        let within = self.stretches[first..].iter();
        let within = within.take_while(|of| of.start_ns < to_ns);
        let more = within.map(|of| {
            let part_ns = of.end_ns.min(to_ns) - of.start_ns.max(from_ns);
            (of.factor - self.others) * part_ns as f64
        });
        self.others + more.sum::<f64>() / length
    }
}

impl RecordedRank {
    /// Lets the rank compute as another processor does.
    ///
    /// # Arguments
    /// * `components` - calls of components, for each of its threads
    /// * `others` - the factor of computation outside of components
    pub fn scale(&mut self, components: &[Vec<ComponentCall>], others: f64) {
        let (start_ns, end_ns) = self.span_ns;
        let mut last_ns = end_ns;
        for (place, calls) in self.threads.iter_mut().enumerate() {
            let factors = Factors::of(components.get(place).map_or(&[], Vec::as_slice), others);
            let mut now_ns = start_ns;
            for call in calls {
                match action(&call.function) {
                    // The span begins where MPI was started.
                    Action::StartOrEnd if !ends(call) => continue,
                    Action::Exchanged | Action::Completed => {}
                    _ => {
                        let gap_ns = call.start_ns.saturating_sub(now_ns);
                        let own_ns = call.cpu_before_ns.unwrap_or(gap_ns) as f64;
                        let factor = factors.between(now_ns, call.start_ns.max(now_ns));
                        call.cpu_before_ns = Some((own_ns * factor).round() as u64);
                    }
                }
                let until_ns = if ends(call) {
                    call.start_ns
                } else {
                    call.end_ns
                };
                now_ns = now_ns.max(until_ns);
            }
            let rest_ns = end_ns.saturating_sub(now_ns) as f64;
            let rest_ns = rest_ns * factors.between(now_ns, end_ns.max(now_ns));
            if place == 0 {
                last_ns = now_ns.saturating_add(rest_ns.round() as u64);
            }
        }
        self.span_ns.1 = last_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(start_ns: u64, end_ns: u64, factor: f64) -> ComponentCall {
        ComponentCall {
            start_ns,
            end_ns,
            factor,
        }
    }

    #[test]
    fn time_belongs_to_the_innermost_call() {
        let calls = [
            call(10, 90, 2.0),
            call(20, 40, 4.0),
            call(40, 50, 8.0),
            call(95, 99, 3.0),
        ];
        let factors = Factors::of(&calls, 1.0);
        for (from, to, expected) in [
            (0, 10, 1.0),
            (10, 20, 2.0),
            (20, 40, 4.0),
            (30, 50, (40.0 + 80.0) / 20.0),
            (50, 95, (80.0 + 5.0) / 45.0),
            (
                0,
                100,
                (10.0 + 2.0 * 50.0 + 4.0 * 20.0 + 8.0 * 10.0 + 5.0 + 12.0 + 1.0) / 100.0,
            ),
            (200, 300, 1.0),
            (60, 60, 1.0),
        ] {
            let found = factors.between(from, to);
            assert!(
                (found - expected).abs() < 1e-12,
                "{from} {to} {found} {expected}"
            );
        }
    }
}
