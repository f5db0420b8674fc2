//! The rules of LogGOPSim give its finishing times to the nanosecond.
//!
//! `loggopsim.txt` has those of LogGOPSim itself (github.com/spcl/LogGOPSim, commit of 2024 in which `src/LogGOPSim`
//! was last changed, built with its own Makefile; Host lines of its output) for the 1,000 schedules that `schedule`
//! makes, or a dash if it reports messages that are left. `ping.bin` was written by its `txt2bin` from `PING`.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;

use mastermind_programs::goal::{WaitOrder, read_goal_in};
use mastermind_simulation::engine::{
    Limits, Rules, ScheduleOutcome, ScheduleSlices, SimulationError, simulate_schedule_by,
};
use mastermind_simulation::machine::{Link, Machine};

/// How many schedules there are.
const SCHEDULES: u64 = 1000;

const TIMES: &str = include_str!("loggopsim.txt");

/// Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014: SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) % n
    }
}

/// L, o, g, G, O and S of a schedule.
fn parameters(index: u64) -> [u64; 6] {
    let random = &mut Random(index ^ 0x5eed);
    [
        random.below(5000),
        random.below(3000),
        random.below(3000),
        random.below(8),
        random.below(4),
        500 + random.below(1000),
    ]
}

fn machine(index: u64) -> Machine {
    let [l, o, g, per_byte, overhead_per_byte, s] = parameters(index);
    let link = Link {
        latency_ns: l,
        send_overhead_ns: o,
        receive_overhead_ns: o,
        gap_ns: g,
        gap_per_byte_ns: per_byte as f64,
        overhead_per_byte_ns: overhead_per_byte as f64,
        rendezvous_bytes: s,
        ..Link::default()
    };
    Machine {
        intra: link,
        inter: link,
        ..Machine::default()
    }
}

/// A schedule; most come to their end, since each message with its receive is made after the operations that either
/// waits for, and messages that may match each other begin in order. Every second one has several processors and
/// interfaces, every tenth messages without bytes.
fn schedule(index: u64) -> String {
    let random = &mut Random(index);
    let ranks = 2 + random.below(5);
    let several = index % 2 == 1;
    let mut ops: Vec<Vec<String>> = vec![Vec::new(); ranks as usize];
    let mut waits: Vec<Vec<String>> = vec![Vec::new(); ranks as usize];
    // The last send and receive of each class.
    let mut last: HashMap<(u64, char, String), u64> = HashMap::new();
    let mut add =
        |random: &mut Random, rank: u64, mut op: String, class: Option<(char, String)>| {
            let ops = &mut ops[rank as usize];
            let is_calc = class.is_none();
            if several {
                write!(op, " cpu {}", random.below(3)).expect("a text");
                if !is_calc {
                    write!(op, " nic {}", random.below(2)).expect("a text");
                }
            }
            let n = ops.len() as u64;
            ops.push(format!("l{n}: {op}"));
            if n == 0 {
                return;
            }
            if let Some((kind, class)) = class
                && let Some(before) = last.insert((rank, kind, class), n)
            {
                waits[rank as usize].push(format!("l{n} irequires l{before}"));
            }
            let n_waits = [0, 1, 1, 2][random.below(4) as usize];
            for _ in 0..n_waits {
                let on = n - 1 - random.below(n.min(6));
                let word = if random.below(4) == 0 {
                    "irequires"
                } else {
                    "requires"
                };
                waits[rank as usize].push(format!("l{n} {word} l{on}"));
            }
        };
    for rank in 0..ranks {
        let op = format!("calc {}", random.below(2000));
        add(random, rank, op, None);
    }
    for _ in 0..8 + random.below(50) {
        let rank = random.below(ranks);
        if random.below(3) == 0 {
            let op = format!("calc {}", random.below(4000));
            add(random, rank, op, None);
            continue;
        }
        let to = (rank + 1 + random.below(ranks - 1)) % ranks;
        let tag = random.below(4);
        // Messages that one receive or another may take have one size.
        let any_tag = (rank + 2 * to).is_multiple_of(5);
        let bytes = match (any_tag, tag) {
            (true, _) => 300 + 100 * to,
            (_, 3) => 400,
            (_, 2) if index.is_multiple_of(10) => 0,
            _ => 1 + (index + 7 * rank + 13 * to + 29 * tag) * 97 % 2000,
        };
        let (from, tags) = match (any_tag, tag) {
            (true, _) => (rank.to_string(), "-1".to_owned()),
            (_, 3) => ("-1".to_owned(), "3".to_owned()),
            _ => (rank.to_string(), tag.to_string()),
        };
        let tag = if any_tag { tag.min(2) } else { tag };
        let class = match (any_tag, tag) {
            (true, _) => format!("{rank} {to}"),
            (_, 3) => format!("{to} any"),
            _ => format!("{rank} {to} {tag}"),
        };
        let send = format!("send {bytes}b to {to} tag {tag}");
        add(random, rank, send, Some(('s', class.clone())));
        let receive = format!("recv {bytes}b from {from} tag {tags}");
        add(random, to, receive, Some(('r', class)));
    }
    let mut text = format!("num_ranks {ranks}\n");
    for (rank, (ops, waits)) in ops.iter().zip(&mut waits).enumerate() {
        // The order of these lines is LogGOPSim's order of operations that become free together.
        if index.is_multiple_of(3) {
            waits.reverse();
        }
        let lines = [&ops[..], waits].concat().join("\n");
        write!(text, "rank {rank} {{\n{lines}\n}}\n").expect("a text");
    }
    text
}

fn run(text: &[u8], machine: &Machine, rules: Rules) -> Result<ScheduleOutcome, SimulationError> {
    let schedule = read_goal_in(text, 0, WaitOrder::Lines).expect("a schedule");
    let how = (rules, Limits::default());
    let slices = ScheduleSlices::default();
    simulate_schedule_by(schedule, machine, how, &mut |_| (), slices)
}

fn finishes(outcome: &ScheduleOutcome) -> Vec<u64> {
    outcome.processes.iter().map(|one| one.finish_ns).collect()
}

#[test]
fn finishing_times_are_those_of_loggopsim() {
    let (mut n, mut n_unmatched) = (0, 0);
    for (index, line) in TIMES.lines().enumerate() {
        let text = schedule(index as u64);
        let outcome = run(text.as_bytes(), &machine(index as u64), Rules::LogGopSim);
        n += 1;
        if line == "-" {
            let is_matched = outcome.is_ok_and(|outcome| outcome.unreceived == 0);
            assert!(!is_matched, "schedule {index}");
            n_unmatched += 1;
            continue;
        }
        let recorded: Vec<u64> = line
            .split_whitespace()
            .map(|time| time.parse().expect("nanoseconds"))
            .collect();
        let outcome = outcome.unwrap_or_else(|error| panic!("schedule {index}: {error}"));
        assert_eq!(finishes(&outcome), recorded, "schedule {index}:\n{text}");
    }
    assert_eq!(n, SCHEDULES);
    assert!(n_unmatched < SCHEDULES / 10, "{n_unmatched}");
}

/// Writes the schedules for LogGOPSim, with its parameters in the first line.
#[test]
#[ignore = "writes what loggopsim.txt is recorded from"]
fn write_schedules() {
    let folder = std::env::temp_dir().join("loggopsim-schedules");
    fs::create_dir_all(&folder).expect("a folder");
    for index in 0..SCHEDULES {
        let [l, o, g, per_byte, overhead_per_byte, s] = parameters(index);
        let options = format!("-L {l} -o {o} -g {g} -G {per_byte} -O {overhead_per_byte} -S {s}");
        let text = format!("// {options}\n{}", schedule(index));
        fs::write(folder.join(format!("{index}.goal")), text).expect("a file");
    }
}

/// Source of `ping.bin`.
const PING: &str = "num_ranks 2
rank 0 {
l0: calc 700
l1: send 10b to 1 tag 3
l2: recv 2000b from -1 tag 4 nic 1
l1 irequires l0
l2 requires l1
}
rank 1 {
l0: recv 10b from 0 tag -1 cpu 1
l1: calc 90 cpu 1
l2: send 2000b to 0 tag 4
l1 requires l0
l2 requires l1
}
";

#[test]
fn a_schedule_in_the_binary_form_is_the_same() {
    let binary = include_bytes!("ping.bin");
    for rules in [Rules::Own, Rules::LogGopSim] {
        let [text, binary] =
            [PING.as_bytes(), binary].map(|file| run(file, &machine(5), rules).expect("an end"));
        assert_eq!(finishes(&text), finishes(&binary), "{rules:?}");
        assert_eq!(text.operations, binary.operations);
        assert_eq!(text.messages, 2);
    }
}

#[test]
fn a_broken_binary_form_is_refused() {
    let whole = include_bytes!("ping.bin");
    for length in 8..whole.len() {
        let error = read_goal_in(&whole[..length], 0, WaitOrder::Lines);
        assert!(error.is_err(), "{length} bytes of {}", whole.len());
    }
    let mut used_up = *whole;
    used_up[..8].copy_from_slice(&2342_u64.to_le_bytes());
    let error = read_goal_in(&used_up[..], 0, WaitOrder::Lines).expect_err("no schedule");
    assert!(error.to_string().contains("--save-mem"), "{error}");
    // Any byte may be wrong: it is read or refused, and runs or not.
    for at in 8..whole.len() {
        for change in [1, 0x80, 0xff] {
            let mut broken = *whole;
            broken[at] ^= change;
            if let Ok(schedule) = read_goal_in(&broken[..], 0, WaitOrder::Lines) {
                let how = (Rules::LogGopSim, Limits::default());
                let slices = ScheduleSlices::default();
                let _ = simulate_schedule_by(schedule, &machine(5), how, &mut |_| (), slices);
            }
        }
    }
}

#[test]
fn a_machine_that_loggopsim_has_no_parameters_for_is_refused() {
    let mut half = machine(5);
    half.inter.gap_per_byte_ns = 0.5;
    half.intra = half.inter;
    let error = run(PING.as_bytes(), &half, Rules::LogGopSim).expect_err("no such parameter");
    assert!(error.to_string().contains("0.5"), "{error}");
    assert!(run(PING.as_bytes(), &half, Rules::Own).is_ok());
}
