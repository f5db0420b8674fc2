//! Random programs, written out for one process.

use mastermind_simulation::machine::Machine;

use super::interpreter::{Class, SENDER, Step};
use super::random::{Grid, Round};
use super::threads;

/// Tag of the messages of collectives here, which no program of these has.
const COLLECTIVE: i32 = 1000;

/// The operations of one process.
pub fn steps(rounds: &[Round], rank: u32, n: u32, machine: &Machine) -> Vec<Step> {
    let mut steps = Vec::new();
    for (k, round) in rounds.iter().enumerate() {
        match *round {
            Round::Work {
                factor,
                modulus,
                even,
            } => {
                if !even || rank.is_multiple_of(2) {
                    steps.push(Step::Work(u64::from(rank) * factor % modulus));
                }
            }
            Round::Shift {
                shift,
                bytes,
                times,
            } => {
                let (to, from) = ((rank + shift) % n, (rank + n - shift % n) % n);
                for i in 0..times {
                    steps.push(Step::Work(u64::from(rank) * 17 + u64::from(i)));
                    let tag = i as i32;
                    steps.push(Step::Receive {
                        from: Some(from),
                        tag,
                        class: Class::Program,
                    });
                    steps.push(Step::Send {
                        to,
                        bytes,
                        tag,
                        class: Class::Program,
                    });
                    steps.push(Step::Wait(Class::Program));
                    let tag = k as i32;
                    steps.push(Step::Send {
                        to,
                        bytes: 8,
                        tag,
                        class: Class::Blocking,
                    });
                    steps.push(Step::Receive {
                        from: Some(from),
                        tag,
                        class: Class::Blocking,
                    });
                }
            }
            Round::Pairs { bytes } => {
                if rank.is_multiple_of(2) && rank + 1 < n {
                    steps.push(send(rank + 1, bytes, 0));
                } else if !rank.is_multiple_of(2) {
                    steps.push(receive(rank - 1, 0));
                }
            }
            Round::Gather { bytes } => {
                let tag = 100 + k as i32;
                if rank > 0 {
                    steps.push(send(0, bytes, tag));
                } else {
                    let any = Step::Receive {
                        from: None,
                        tag,
                        class: Class::Blocking,
                    };
                    steps.extend(vec![any; n as usize - 1]);
                }
            }
            Round::Answers { bytes, answer } => {
                let (tag, back) = (200 + k as i32, 300 + k as i32);
                if rank > 0 {
                    steps.push(send(0, bytes, tag));
                    steps.push(receive(0, back));
                } else {
                    let asked = Step::Receive {
                        from: None,
                        tag,
                        class: Class::Blocking,
                    };
                    for _ in 1..n {
                        steps.extend([asked, send(SENDER, answer, back)]);
                    }
                }
            }
            Round::Any {
                messages,
                bytes,
                work,
                is_from_any,
            } => any_of(
                &mut steps,
                k as i32,
                (rank, n),
                (messages, bytes, work),
                is_from_any,
            ),
            Round::Collective {
                kind,
                root,
                bytes,
                group,
            } => {
                let (first, size, stride) = group.map_or((0, n, 1), |grid| group_of(grid, rank, n));
                let number = (rank - first) / stride;
                let mut own = Vec::new();
                collective(&mut own, kind, (number, size, root.min(size - 1)), bytes);
                steps.extend(own.into_iter().map(|step| in_group(step, first, stride)));
            }
            Round::Region {
                threads,
                factor,
                modulus,
                locked,
            } => {
                let work = |thread: u64| {
                    [
                        (thread * factor + u64::from(rank) * 13) % modulus,
                        locked + thread,
                        thread * 100,
                    ]
                };
                let per_node = n.div_ceil(machine.nodes.unwrap_or(1));
                let processors = (machine.processors / per_node).max(1) as usize;
                let works: Vec<_> = (0..u64::from(threads)).map(work).collect();
                steps.push(Step::Work(threads::elapsed_ns(
                    &works,
                    processors,
                    machine.queue,
                )));
            }
        }
    }
    steps
}

/// Messages from those before, taken as they come, each with an answer of 8 bytes.
fn any_of(
    steps: &mut Vec<Step>,
    k: i32,
    (rank, n): (u32, u32),
    (messages, bytes, work): (u32, u64, u64),
    is_from_any: bool,
) {
    let (tag, back) = (400 + k, 500 + k);
    let before = |i: u32| (rank + n - i - 1) % n;
    let behind = |i: u32| (rank + i + 1) % n;
    steps.extend((0..messages).map(|i| Step::Receive {
        from: (!is_from_any).then_some(before(i)),
        tag,
        class: Class::Program,
    }));
    steps.extend((0..messages).map(|i| Step::Send {
        to: behind(i),
        bytes: bytes + u64::from(i),
        tag,
        class: Class::Program,
    }));
    for _ in 0..messages {
        steps.extend([Step::WaitAny, Step::Work(work), send(SENDER, 8, back)]);
    }
    // The last wait for any finds none; the next one may find sends that were not taken yet.
    steps.extend([Step::WaitAny, Step::Wait(Class::Program)]);
    steps.extend((0..messages).map(|i| receive(behind(i), back)));
}

/// A message after which the process continues.
pub fn send(to: u32, bytes: u64, tag: i32) -> Step {
    Step::Send {
        to,
        bytes,
        tag,
        class: Class::Blocking,
    }
}

/// A receive that the process waits for.
pub fn receive(from: u32, tag: i32) -> Step {
    Step::Receive {
        from: Some(from),
        tag,
        class: Class::Blocking,
    }
}

fn exchange(steps: &mut Vec<Step>, to: u32, from: u32, bytes: u64) {
    steps.push(Step::Send {
        to,
        bytes,
        tag: COLLECTIVE,
        class: Class::Collective,
    });
    steps.push(receive(from, COLLECTIVE));
    steps.push(Step::Wait(Class::Collective));
}

/// First rank, size and stride of the group of a rank.
fn group_of(grid: Grid, rank: u32, n: u32) -> (u32, u32, u32) {
    let Grid { width, is_column } = grid;
    if is_column {
        let first = rank % width;
        (first, (n - first).div_ceil(width), width)
    } else {
        let first = rank - rank % width;
        (first, width.min(n - first), 1)
    }
}

/// The same with the ranks of a group's numbers.
fn in_group(mut step: Step, first: u32, stride: u32) -> Step {
    match &mut step {
        Step::Send { to: number, .. }
        | Step::Receive {
            from: Some(number), ..
        } => *number = first + stride * *number,
        _ => {}
    }
    step
}

/// The messages of one process of a collective.
fn collective(steps: &mut Vec<Step>, kind: &str, (rank, n, root): (u32, u32, u32), bytes: u64) {
    let relative = (rank + n - root) % n;
    let at = |relative: u32| (relative + root) % n;
    // The lowest bit of a process's number below the root is the distance to its parent.
    let parent = (relative > 0).then(|| at(relative & (relative - 1)));
    let reach = if relative == 0 {
        n.next_power_of_two()
    } else {
        relative & relative.wrapping_neg()
    };
    let masks = (0..32)
        .map(|bit| 1_u32 << bit)
        .take_while(|mask| *mask < reach);
    let children = masks
        .filter(|mask| relative + mask < n)
        .map(|mask| at(relative + mask));
    match kind {
        "broadcast" => {
            steps.extend(parent.map(|parent| receive(parent, COLLECTIVE)));
            let children: Vec<_> = children.collect();
            steps.extend(
                children
                    .iter()
                    .rev()
                    .map(|child| send(*child, bytes, COLLECTIVE)),
            );
        }
        "reduce" => {
            steps.extend(children.map(|child| receive(child, COLLECTIVE)));
            steps.extend(parent.map(|parent| send(parent, bytes, COLLECTIVE)));
        }
        "allreduce" => {
            let rounds = 1 << n.ilog2();
            let extra = n - rounds;
            let pair = rank < 2 * extra;
            if pair && rank.is_multiple_of(2) {
                steps.push(send(rank + 1, bytes, COLLECTIVE));
                steps.push(receive(rank + 1, COLLECTIVE));
                return;
            }
            if pair {
                steps.push(receive(rank - 1, COLLECTIVE));
            }
            let folded = if pair { rank / 2 } else { rank - extra };
            for bit in 0..rounds.ilog2() {
                let other = folded ^ (1 << bit);
                let other = if other < extra {
                    2 * other + 1
                } else {
                    other + extra
                };
                exchange(steps, other, other, bytes);
            }
            if pair {
                steps.push(send(rank - 1, bytes, COLLECTIVE));
            }
        }
        "gather" => {
            steps.extend(children.map(|child| receive(child, COLLECTIVE)));
            let parts = u64::from(reach.min(n - relative));
            steps.extend(parent.map(|parent| send(parent, parts * bytes, COLLECTIVE)));
        }
        "scatter" => {
            steps.extend(parent.map(|parent| receive(parent, COLLECTIVE)));
            let masks: Vec<u32> = (0..32)
                .map(|bit| 1 << bit)
                .take_while(|mask| *mask < reach)
                .collect();
            for mask in masks.into_iter().rev().filter(|mask| relative + mask < n) {
                let parts = u64::from(mask.min(n - relative - mask));
                steps.push(send(at(relative + mask), parts * bytes, COLLECTIVE));
            }
        }
        "allgather" => {
            let powers = (0..32).map(|bit| 1_u32 << bit).take_while(|step| *step < n);
            for step in powers {
                let parts = u64::from(step.min(n - step));
                exchange(
                    steps,
                    (rank + n - step) % n,
                    (rank + step) % n,
                    parts * bytes,
                );
            }
        }
        "scan" => {
            let powers = (0..32).map(|bit| 1_u32 << bit).take_while(|step| *step < n);
            for peer in powers.map(|step| rank ^ step).filter(|peer| *peer < n) {
                exchange(steps, peer, peer, bytes);
            }
        }
        "alltoall" | "reducescatter" => {
            for step in 1..n {
                exchange(steps, (rank + step) % n, (rank + n - step) % n, bytes);
            }
        }
        _ => {
            let powers = (0..32).map(|bit| 1_u32 << bit).take_while(|step| *step < n);
            powers.for_each(|step| exchange(steps, (rank + step) % n, (rank + n - step) % n, 1));
        }
    }
}
