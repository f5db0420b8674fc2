//! Random programs: as the text of a model, and written out for one process.

use std::fmt::Write as _;

use mastermind_simulation::machine::Machine;

use super::interpreter::{Class, Step};
use super::threads;

/// Tag of the messages of collectives here, which no program of these has.
const COLLECTIVE: i32 = 1000;

/// What every process does.
#[derive(Debug, Clone)]
pub enum Round {
    Work {
        factor: u64,
        modulus: u64,
        even: bool,
    },
    /// A message to the process `shift` further, one from as far back.
    Shift { shift: u32, bytes: u64, times: u32 },
    /// Even ranks send to the next, and wait until it is taken.
    Pairs { bytes: u64 },
    /// All send to the first, which takes them in no order.
    Gather { bytes: u64 },
    Collective {
        kind: &'static str,
        root: u32,
        bytes: u64,
    },
    /// Threads that work, `locked` of it in a critical section.
    Region {
        threads: u32,
        factor: u64,
        modulus: u64,
        locked: u64,
    },
}

pub fn model(rounds: &[Round]) -> String {
    let mut text =
        String::from("[model]\nname = \"m\"\nmain = \"Main\"\n[activities.Main]\nflow = [\n");
    for (k, round) in rounds.iter().enumerate() {
        let _ = match round {
            Round::Work {
                factor,
                modulus,
                even,
            } => {
                let guard = if *even { "process % 2 == 0" } else { "true" };
                writeln!(
                    text,
                    r#"{{ decision = "{k}", branches = [
                        {{ guard = "{guard}", body = [{{ action = "work {k}", cost = "ns((process * {factor}) % {modulus})" }}] }},
                        {{ body = [] }},
                    ] }},"#
                )
            }
            Round::Shift {
                shift,
                bytes,
                times,
            } => writeln!(
                text,
                r#"{{ loop = "{k}", count = {times}, variable = "i", body = [
                    {{ action = "a", cost = "ns(process * 17 + i)" }},
                    {{ irecv = "b", from = "(process - {shift}) % processes", tag = "i" }},
                    {{ isend = "c", to = "(process + {shift}) % processes", bytes = {bytes}, tag = "i" }},
                    {{ wait = "w" }},
                    {{ send = "on", to = "(process + {shift}) % processes", bytes = 8, tag = {k} }},
                    {{ recv = "back", from = "(process - {shift}) % processes", tag = {k} }},
                ] }},"#
            ),
            Round::Pairs { bytes } => writeln!(
                text,
                r#"{{ send = "p{k}", to = "process % 2 == 0 && process + 1 < processes ? process + 1 : none", bytes = {bytes} }},
                   {{ recv = "q{k}", from = "process % 2 == 1 ? process - 1 : none" }},"#
            ),
            Round::Gather { bytes } => writeln!(
                text,
                r#"{{ send = "g{k}", to = "process == 0 ? none : 0", bytes = {bytes}, tag = {} }},
                   {{ loop = "{k}", count = "process == 0 ? processes - 1 : 0", body = [{{ recv = "h", from = "any", tag = {} }}] }},"#,
                100 + k,
                100 + k
            ),
            Round::Collective {
                kind: "barrier", ..
            } => writeln!(text, r#"{{ barrier = "{k}" }},"#),
            Round::Collective { kind, root, bytes } => {
                let root = match *kind {
                    "broadcast" | "reduce" => format!("root = {root}, "),
                    _ => String::new(),
                };
                writeln!(text, r#"{{ {kind} = "{k}", {root}bytes = {bytes} }},"#)
            }
            Round::Region {
                threads,
                factor,
                modulus,
                locked,
            } => writeln!(
                text,
                r#"{{ parallel = "{k}", threads = {threads}, body = [
                    {{ action = "own", cost = "ns((thread * {factor} + process * 13) % {modulus})" }},
                    {{ critical = "c", body = [{{ action = "locked", cost = "ns({locked} + thread)" }}] }},
                    {{ action = "rest", cost = "ns(thread * 100)" }},
                ] }},"#
            ),
        };
    }
    text + "]\n"
}

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
            Round::Collective { kind, root, bytes } => {
                collective(&mut steps, kind, (rank, n, root), bytes);
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

fn send(to: u32, bytes: u64, tag: i32) -> Step {
    Step::Send {
        to,
        bytes,
        tag,
        class: Class::Blocking,
    }
}

fn receive(from: u32, tag: i32) -> Step {
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
        "alltoall" => {
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
