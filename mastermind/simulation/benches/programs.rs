//! How many messages a CPU second the engine simulates of programs that are no wavefront, at a thousand, ten thousand and
//! a hundred thousand processes.
//!
//! Prints processes, messages, CPU seconds, messages a CPU second, bytes of the engine a process, messages of a process at once. An
//! argument picks the programs whose name has it; `large` runs a hundred thousand processes too.
//!
//! Machines differ, and the speed of one changes within minutes. So each row also reports the speed of a fixed loop at
//! the same time, the least of some tries, and how many steps of that loop a message took. A step is a load from a
//! table of 256 kB at an index from the step before, and a round of SplitMix64 (an addition, two multiplications, three
//! shifts) that gives the next index: a chain of dependent loads and of integer work, as an engine of events is. The
//! loop must never change, or the ratios of two commits cannot be compared. The verdict depends on the rate alone.

#[path = "../tests/engine/common.rs"]
mod common;

use std::process::ExitCode;

use common::{machine, outcome};
use must_reach::Figures;
use rustix::time::{ClockId, clock_gettime};

fn cpu_s() -> f64 {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

/// Steps of the reference loop: some ten milliseconds.
const REFERENCE_STEPS: u32 = 1 << 20;

/// CPU seconds of a step of the reference loop, which the head of this file describes.
fn reference_step_s() -> f64 {
    let table: Vec<u32> = (0..1 << 16)
        .map(|i: u32| i.wrapping_mul(2_654_435_761))
        .collect();
    let begin = cpu_s();
    let mut bits = 0_u64;
    for _ in 0..REFERENCE_STEPS {
        bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15)
            ^ u64::from(table[bits as usize % table.len()]);
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
    }
    std::hint::black_box(bits);
    (cpu_s() - begin) / f64::from(REFERENCE_STEPS)
}

/// A program: its name, the operations of all processes, and the required rates, million messages a CPU second, at
/// each size.
struct Case {
    name: &'static str,
    flow: fn(u32) -> String,
    least: [f64; 3],
}

/// Bytes that the engine may need for a rank with so many elements, in addition to those for each more and for each
/// message in flight or waiting.
const MAX_BYTES: usize = 450;
const ELEMENTS: usize = 8;
const ELEMENT_BYTES: usize = 12;
const MESSAGE_BYTES: usize = 64;

const CASES: [Case; 7] = [
    Case {
        name: "3-D halo, non-blocking",
        flow: |n| halo(n, ""),
        least: [6.0, 6.0, 5.0],
    },
    Case {
        name: "3-D halo with a barrier a step",
        flow: |n| halo(n, r#"{ barrier = "all" },"#),
        least: [7.0, 7.0, 4.0],
    },
    Case {
        name: "ring all-reduce",
        flow: |n| ring((2 * (n - 1)).min(1_000_000 / n)),
        least: [6.0, 6.0, 5.0],
    },
    Case {
        name: "collectives",
        flow: |_| {
            r#"{ loop = "l", count = 5, body = [
                { broadcast = "b", root = 0, bytes = 800 },
                { reduce = "r", root = 0, bytes = 800 },
                { allreduce = "a", bytes = 8 },
            ] },"#
                .into()
        },
        least: [7.0, 7.0, 4.0],
    },
    Case {
        name: "tree with branches",
        flow: |_| tree(),
        least: [2.0, 2.0, 2.0],
    },
    Case {
        name: "fan-in",
        flow: |_| {
            r#"{ loop = "l", count = 10, body = [
                { send = "s", to = "process == 0 ? none : 0", bytes = 100 },
                { loop = "all", count = "process == 0 ? processes - 1 : 0", variable = "i", body = [
                    { recv = "r", from = "processes - 1 - i" },
                ] },
            ] },"#
                .into()
        },
        least: [1.0, 1.0, 1.0],
    },
    Case {
        name: "master and workers",
        flow: |_| {
            r#"{ loop = "l", count = 10, body = [
                { action = "work", cost = "process == 0 ? 0 : us(10 + process % 7)" },
                { send = "result", to = "process == 0 ? none : 0", bytes = 100 },
                { loop = "all", count = "process == 0 ? processes - 1 : 0", body = [{ recv = "r", from = "any" }] },
                { loop = "each", count = "process == 0 ? processes - 1 : 0", variable = "i", body = [
                    { send = "task", to = "i + 1", bytes = 100 },
                ] },
                { recv = "task", from = "process == 0 ? none : 0" },
            ] },"#
                .into()
        },
        least: [1.0, 1.0, 1.0],
    },
];

/// Six neighbours on a periodic grid as cubic as `n` allows, ten steps.
fn halo(n: u32, then: &str) -> String {
    let a = (1..=n)
        .filter(|a| n.is_multiple_of(*a) && a * a * a <= n)
        .max()
        .unwrap_or(1);
    let rest = n / a;
    let b = (1..=rest)
        .filter(|b| rest.is_multiple_of(*b) && b * b <= rest)
        .max()
        .unwrap_or(1);
    let faces = [1, n - 1, a, n - a, a * b, n - a * b];
    let mut body = String::new();
    for (k, face) in faces.iter().enumerate() {
        body += &format!(
            "{{ irecv = \"r{k}\", from = \"(process + {face}) % processes\", tag = {k} }},"
        );
    }
    for (k, face) in faces.iter().enumerate() {
        let back = n - face;
        body += &format!(
            "{{ isend = \"s{k}\", to = \"(process + {back}) % processes\", bytes = 2000, tag = {k} }},"
        );
    }
    format!(
        r#"{{ loop = "steps", count = 10, body = [ {body} {{ action = "inner", cost = "us(50 + process % 5)" }}, {{ wait = "w" }}, {{ action = "outer", cost = "us(10)" }}, {then} ] }},"#
    )
}

/// Pieces that move round a ring, for `steps` steps.
fn ring(steps: u32) -> String {
    format!(
        r#"{{ loop = "steps", count = {steps}, body = [
            {{ irecv = "r", from = "(process - 1) % processes" }},
            {{ isend = "s", to = "(process + 1) % processes", bytes = 1000 }},
            {{ wait = "w" }},
            {{ action = "add", cost = "ns(500)" }},
        ] }},"#
    )
}

/// Results go up a binary tree, and down; leaves work longer where their number says so.
fn tree() -> String {
    r#"{ loop = "l", count = 10, body = [
        { decision = "kind", branches = [
            { guard = "process % 3 == 0", body = [{ action = "long", cost = "us(20)" }] },
            { guard = "process % 3 == 1", body = [{ action = "middle", cost = "us(10)" }] },
            { body = [{ action = "short", cost = "us(5)" }] },
        ] },
        { recv = "left", from = "2 * process + 1 < processes ? 2 * process + 1 : none" },
        { recv = "right", from = "2 * process + 2 < processes ? 2 * process + 2 : none" },
        { send = "up", to = "process == 0 ? none : div(process - 1, 2)", bytes = "process % 2 == 0 ? 100 : 200" },
        { recv = "down", from = "process == 0 ? none : div(process - 1, 2)" },
        { send = "left down", to = "2 * process + 1 < processes ? 2 * process + 1 : none", bytes = 100 },
        { send = "right down", to = "2 * process + 2 < processes ? 2 * process + 2 : none", bytes = 100 },
    ] },"#
        .into()
}

fn main() -> ExitCode {
    must_reach::judge(measure)
}

fn measure(figures: &mut Figures) {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_large = arguments.iter().any(|argument| argument == "large");
    let picked = |name: &str| {
        let mut words = arguments
            .iter()
            .filter(|a| *a != "large" && !a.starts_with("--"));
        words.clone().count() == 0 || words.any(|word| name.contains(word.as_str()))
    };
    let sizes = [1000, 10_000, 100_000];
    let n_sizes = if is_large { 3 } else { 2 };
    for case in CASES.iter().filter(|case| picked(case.name)) {
        for (n, least) in sizes.into_iter().zip(case.least).take(n_sizes) {
            let flow = (case.flow)(n);
            let text = format!(
                "[model]\nname = \"m\"\nmain = \"Main\"\n[activities.Main]\nflow = [\n{flow}\n]\n"
            );
            let (mut least_s, mut last) = (f64::MAX, None);
            let mut step_s = reference_step_s();
            for _ in 0..if n < 100_000 { 3 } else { 1 } {
                let begin = cpu_s();
                last = Some(outcome(&text, &machine(), n));
                least_s = least_s.min(cpu_s() - begin);
                step_s = step_s.min(reference_step_s());
            }
            let outcome = last.expect("a run");
            let rate = outcome.messages as f64 / least_s / 1e6;
            let row = format!("{}, {n} processes", case.name);
            println!(
                "{row}: {} messages, {} events, {least_s:.3} CPU s, {rate:.2} M messages/CPU s, {:.1} steps of {:.2} ns a message, {} B a process, {:.1} messages of it at once, finish {} ns",
                outcome.messages,
                outcome.events,
                least_s / outcome.messages as f64 / step_s,
                step_s * 1e9,
                outcome.memory_bytes / n as usize,
                outcome.most_messages as f64 / f64::from(n),
                outcome.makespan_ns,
            );
            figures.time(&row, rate, least.., " M messages/CPU s");
            let waiting_bytes = outcome.most_messages * MESSAGE_BYTES;
            let more_elements = outcome.elements.len().saturating_sub(ELEMENTS);
            let max_bytes = (MAX_BYTES + more_elements * ELEMENT_BYTES) as f64;
            let own_bytes = outcome.memory_bytes.saturating_sub(waiting_bytes) / n as usize;
            let row = format!("{row}: memory of a rank but for its messages");
            figures.fact(&row, own_bytes as f64, ..=max_bytes, " B");
        }
    }
}
