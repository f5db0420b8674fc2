//! LoPC against an event simulation of its machine: a thread on each processor, messages that interrupt it.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use mastermind_queueing::{Lopc, lopc};

/// Numbers that look random, the same each time (a linear congruential generator with Knuth's constants).
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    /// Exponential, of mean 1.
    fn exponential(&mut self) -> f64 {
        let uniform = (self.below(1 << 30) as f64 + 0.5) / f64::from(1 << 30);
        -uniform.ln()
    }
}

/// A message that waits for its handler: a request of a processor, or a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Message {
    Request(usize),
    Reply,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Arrival(Message),
    /// The handler that runs ends.
    Handled,
    /// The thread's work ends, unless it was interrupted meanwhile: which time it went on.
    Worked(u64),
}

#[derive(Debug, Clone, Default)]
struct Processor {
    waiting: VecDeque<Message>,
    handled: Option<Message>,
    /// Work that is left, nanoseconds, and since when the thread goes on with it.
    work_ns: Option<u64>,
    since: Option<u64>,
    resumed: u64,
}

/// The mean time of a round, nanoseconds.
fn simulated(
    processors: usize,
    (work_ns, latency_ns, handler_ns): (f64, u64, f64),
    is_exponential: bool,
    rounds: u64,
) -> f64 {
    let mut random = Random(7);
    let mut all = vec![Processor::default(); processors];
    let mut events = BinaryHeap::new();
    let mut number = 0;
    let mut push = |events: &mut BinaryHeap<_>, at: u64, processor: usize, event: Event| {
        number += 1;
        events.push(Reverse((at, number, processor, event)));
    };
    // A thread goes on where no handler runs; or the next handler begins.
    macro_rules! next {
        ($at:expr, $who:expr) => {{
            let (at, who) = ($at, $who);
            let it: &mut Processor = &mut all[who];
            if let (None, Some(message)) = (it.handled, it.waiting.front().copied()) {
                it.waiting.pop_front();
                if let (Some(since), Some(left)) = (it.since.take(), it.work_ns) {
                    it.work_ns = Some(left - (at - since));
                }
                it.handled = Some(message);
                let factor = if is_exponential {
                    random.exponential()
                } else {
                    1.0
                };
                push(
                    &mut events,
                    at + (handler_ns * factor) as u64,
                    who,
                    Event::Handled,
                );
            } else if let (None, None, Some(left)) = (it.handled, it.since, it.work_ns) {
                (it.since, it.resumed) = (Some(at), it.resumed + 1);
                push(&mut events, at + left, who, Event::Worked(it.resumed));
            }
        }};
    }
    for who in 0..processors {
        all[who].work_ns = Some((work_ns * random.exponential()) as u64);
        next!(0, who);
    }
    let (mut n_rounds, mut now) = (0, 0);
    while let Some(Reverse((at, _, who, event))) = events.pop() {
        now = at;
        match event {
            Event::Arrival(message) => all[who].waiting.push_back(message),
            Event::Worked(resumed) if resumed == all[who].resumed && all[who].since.is_some() => {
                (all[who].work_ns, all[who].since) = (None, None);
                let other = (who + 1 + random.below(processors as u64 - 1) as usize) % processors;
                push(
                    &mut events,
                    at + latency_ns,
                    other,
                    Event::Arrival(Message::Request(who)),
                );
            }
            Event::Worked(_) => {}
            Event::Handled => match all[who].handled.take() {
                Some(Message::Request(origin)) => {
                    push(
                        &mut events,
                        at + latency_ns,
                        origin,
                        Event::Arrival(Message::Reply),
                    );
                }
                _ => {
                    all[who].work_ns = Some((work_ns * random.exponential()) as u64);
                    n_rounds += 1;
                    if n_rounds == rounds * processors as u64 {
                        break;
                    }
                }
            },
        }
        next!(at, who);
    }
    now as f64 / rounds as f64
}

#[test]
fn a_round_takes_what_an_event_simulation_finds() {
    let mut errors = Vec::new();
    for work_ns in [0.0, 2e3, 1e4, 5e4] {
        for handler_ns in [200.0, 1e3, 4e3] {
            for is_exponential in [false, true] {
                let it = Lopc {
                    work_s: work_ns / 1e9,
                    latency_s: 1e-6,
                    handler_s: handler_ns / 1e9,
                    variation: f64::from(u8::from(is_exponential)),
                };
                let found_ns = 1e9 * lopc(&it).expect("times").round_s;
                let times = (work_ns, 1000, handler_ns);
                let simulated_ns = simulated(16, times, is_exponential, 3000);
                errors.push((found_ns / simulated_ns - 1.0).abs());
            }
        }
    }
    errors.sort_by(f64::total_cmp);
    println!("{errors:?}");
    let (median, worst) = (errors[errors.len() / 2], errors[errors.len() - 1]);
    assert!(
        median < 0.02 && worst < 0.1,
        "median {median}, worst {worst}"
    );
}

#[test]
fn times_that_are_none_have_no_round() {
    let it = Lopc {
        work_s: 1.0,
        latency_s: 1.0,
        handler_s: 1.0,
        variation: 1.0,
    };
    for wrong in [f64::NAN, -1.0, f64::INFINITY] {
        assert_eq!(
            lopc(&Lopc {
                work_s: wrong,
                ..it
            }),
            None
        );
        assert_eq!(
            lopc(&Lopc {
                latency_s: wrong,
                ..it
            }),
            None
        );
        assert_eq!(
            lopc(&Lopc {
                handler_s: wrong,
                ..it
            }),
            None
        );
        assert_eq!(
            lopc(&Lopc {
                variation: wrong,
                ..it
            }),
            None
        );
    }
}
