//! GOAL schedules: valid and refused ones, and the end of each.

mod loggopsim;
mod naive;
mod sweep;

use std::io::Read;

use mastermind_programs::goal::{read_goal, read_goal_of};
use mastermind_simulation::engine::{
    Limits, ScheduleOutcome, SimulationError, simulate_schedule, simulate_schedule_with,
};
use mastermind_simulation::machine::{Link, Machine, Rendezvous};
use proptest::prelude::*;

use crate::engine::{common, wavefront};

/// L 2500, o 1500, g 1000, G 1; messages of more than 100 kB ask first.
fn machine() -> Machine {
    let link = Link {
        rendezvous_bytes: 100_000,
        ..Link::default()
    };
    Machine {
        intra: link,
        inter: link,
        ..Machine::default()
    }
}

/// So that an engine that does not end fails.
const LIMITS: Limits = Limits {
    max_events: 10_000_000,
    max_time_ns: u64::MAX,
};

fn run_on(text: &str, machine: &Machine) -> Result<ScheduleOutcome, SimulationError> {
    let schedule = read_goal(text.as_bytes()).expect("a schedule");
    simulate_schedule_with(schedule, machine, LIMITS, &mut |_| ())
}

fn run(text: &str) -> Result<ScheduleOutcome, SimulationError> {
    run_on(text, &machine())
}

/// A file may claim any length; room is made for as much only if there is that much.
#[test]
fn a_claimed_length_takes_nothing() {
    let calcs = (0..20_000).map(|i| format!("l{i}: calc {i}\n"));
    let text = format!("num_ranks 1\nrank 0 {{\n{}}}\n", calcs.collect::<String>());
    for bytes in [0, 1 << 44, u64::MAX] {
        let schedule = read_goal_of(text.as_bytes(), bytes).expect("a schedule");
        assert_eq!(schedule.operations(), 20_000);
    }
}

fn finishes(text: &str) -> Vec<u64> {
    let outcome = run(text).expect("an end");
    outcome.processes.iter().map(|p| p.finish_ns).collect()
}

#[test]
fn a_message_takes_what_loggp_says() {
    let text = "num_ranks 2\nrank 0 {\nl1: calc 1000\nl2: send 6000b to 1 tag 3\nl2 requires l1\n}\n\
        rank 1 {\nl1: recv 6000b from 0 tag 3\nl2: calc 10\nl2 requires l1\n}\n";
    // 1000 + o; 1000 + o + L + o + (s - 1) G, then 10.
    assert_eq!(
        finishes(text),
        [2500, 1000 + 1500 + 2500 + 1500 + 5999 + 10]
    );
    // Also when no receive is there; and a second message waits for the interface: g + (s - 1) G.
    let text = "num_ranks 2\nrank 0 {\nsend 6000b to 1\nsend 6000b to 1\n}\nrank 1 {\n}\n";
    let outcome = run(text).expect("an end");
    let second = 1000 + 5999;
    assert_eq!(outcome.processes[0].finish_ns, second + 1500);
    assert_eq!(
        outcome.processes[1].finish_ns,
        4000 + 1500 + 5999 + 1500 + 5999
    );
    assert_eq!((outcome.messages, outcome.unreceived), (2, 2));
}

/// All senders' messages wait at one receiver, which takes them one after the other; and so do a rank's own that
/// nothing orders.
#[test]
fn many_wait_in_line_for_one_rank() {
    const SENDERS: u64 = 300;
    const EACH: u64 = 100;
    let mut text = format!("num_ranks {}\nrank 0 {{\n}}\n", SENDERS + 1);
    for rank in 1..=SENDERS {
        let sends = "send 6000b to 0\n".repeat(EACH as usize);
        text += &format!("rank {rank} {{\n{sends}}}\n");
    }
    let outcome = run(&text).expect("an end");
    let n = SENDERS * EACH;
    assert_eq!((outcome.messages, outcome.unreceived), (n, n));
    let finishes = outcome.processes.iter().map(|process| process.finish_ns);
    let expected = |rank| match rank {
        0 => 1500 + 2500 + n * (1500 + 5999),
        _ => (EACH - 1) * (1000 + 5999) + 1500,
    };
    assert!(finishes.eq((0..=SENDERS).map(expected)));
}

#[test]
fn a_large_message_asks_first() {
    let text = "num_ranks 2\nrank 0 {\nl1: send 200000b to 1\nl2: calc 5\nl2 requires l1\n}\n\
        rank 1 {\nl1: calc 10000\nl2: recv 200000b from 0\nl2 requires l1\n}\n";
    // The request waits for the calculation: it takes o, and so does the answer.
    let answer = 10_000 + 1500 + 1500 + 2500;
    let data = answer + 1500 + 2500;
    assert_eq!(finishes(text), [answer + 1500 + 5, data + 1500 + 199_999]);
}

#[test]
fn a_large_message_is_fetched_while_its_sender_works() {
    let text = "num_ranks 2\nrank 0 {\nl1: send 200000b to 1\nl2: calc 900000\n}\n\
        rank 1 {\nl1: calc 10000\nl2: recv 200000b from 0\nl2 requires l1\n}\n";
    let fetched = |rendezvous| {
        let mut machine = machine();
        machine.intra.rendezvous = rendezvous;
        machine.inter.rendezvous = rendezvous;
        let schedule = read_goal(text.as_bytes()).expect("a schedule");
        let outcome = simulate_schedule(schedule, &machine).expect("an end");
        outcome
            .processes
            .iter()
            .map(|p| p.finish_ns)
            .collect::<Vec<_>>()
    };
    // The request waits for the calculation: o; then there and back; the sender hears of it after its own.
    let bytes = 10_000 + 1500 + 2 * (1500 + 2500) + 1500 + 199_999;
    let worked = 1500 + 900_000;
    assert_eq!(fetched(Rendezvous::Fetched), [worked + 1500, bytes]);
    // As it sends them itself only after the calculation.
    let sent = worked + 1500 + 2500 + 1500 + 199_999;
    assert_eq!(fetched(Rendezvous::Sent), [worked + 1500, sent]);
}

#[test]
fn requires_delays_across_processors() {
    let text = "num_ranks 1\nrank 0 {\na: calc 1000 cpu 0\nb: calc 500 cpu 1\nb requires a\n\
        c: calc 500 cpu 2\nc irequires a\n}\n";
    let outcome = run(text).expect("an end");
    assert_eq!(outcome.makespan_ns, 1500);
    assert_eq!(outcome.processes[0].work_ns, 2000);
    let text = "num_ranks 1\nrank 0 {\na: calc 1000 cpu 0\nb: calc 300 cpu 1\nc: calc 500 cpu 1\nc requires a\nc requires b\n}\n";
    assert_eq!(finishes(text), [1500]);
}

#[test]
fn empty_messages_gain_no_time() {
    let empty = "num_ranks 2\nrank 0 {\nsend 0b to 1\n}\nrank 1 {\nrecv 0b from 0\n}\n";
    assert_eq!(finishes(empty), finishes(&empty.replace("0b", "1b")));
}

#[test]
fn any_source_and_any_tag_are_taken() {
    let text = "num_ranks 3\nrank 0 {\nl1: recv 8b from -1 tag -1\nl2: recv 8b from 2 tag 7\nl2 requires l1\n}\n\
        rank 1 {\nsend 8b to 0 tag 9\n}\nrank 2 {\na: calc 100000\nb: send 8b to 0 tag 7\nb requires a\n}\n";
    assert_eq!(finishes(text)[0], 100_000 + 5500 + 7);
}

#[test]
fn what_never_ends_is_named() {
    let text =
        "num_ranks 2\nrank 0 {\nl1: recv 8b from 1 tag 4\n}\nrank 1 {\nl1: recv 8b from 0\n}\n";
    let Err(SimulationError::Deadlock { n_blocked, blocked }) = run(text) else {
        panic!("two ranks wait for each other");
    };
    assert_eq!(n_blocked, 2);
    assert_eq!(blocked[0].place, "rank 0");
    assert_eq!(blocked[0].waits_for, "a message from rank 1, tag 4");
    let circle = "num_ranks 1\nrank 0 {\na: calc 1\nb: calc 1\na requires b\nb requires a\n}\n";
    assert!(matches!(
        run(circle),
        Err(SimulationError::Deadlock { n_blocked: 1, .. })
    ));
}

#[test]
fn comments_and_blanks_are_passed_over() {
    let text = "// a tree\nnum_ranks 2 /* of\n two */\n\nrank 1\n{\n\t l1 :  calc  7   cpu 0 // seven\n}\nrank 0 { }\n";
    let error = read_goal(text.as_bytes()).expect_err("} on the line of {");
    assert!(
        error.to_string().starts_with("cannot read line 9"),
        "{error}"
    );
    let text = text.replace("{ }", "{\r\n}");
    assert_eq!(finishes(&text), [0, 7]);
}

/// A chain of calculations whose names have numbers from `first` on.
fn chain(first: u64, n: u64) -> String {
    let mut text = format!("num_ranks 1\nrank 0 {{\nl{first}: calc 1\n");
    for number in first + 1..first + n {
        text += &format!("l{number}: calc 1\nl{number} requires l{}\n", number - 1);
    }
    text + "}\n"
}

#[test]
fn names_of_any_length_are_read() {
    for first in [0, 1, 8, 99_990, 999_990, 99_999_990] {
        let text = chain(first, 40);
        assert_eq!(finishes(&text), [40], "{first}");
        let lines = text.lines().count();
        let other = first + 37;
        // Zeros in front of a number make another name; a name that no operation has; and no
        // number.
        for name in [
            format!("l0{}", other - 1),
            format!("l{}", first + 40),
            "l".into(),
        ] {
            let (right, wrong) = (
                format!("requires l{}\n", other - 1),
                format!("requires {name}\n"),
            );
            let error = read_goal(text.replace(&right, &wrong).as_bytes()).expect_err(&name);
            let line = format!("cannot read line {} ", lines - 5);
            assert!(error.to_string().starts_with(&line), "{first}: {error}");
        }
        // Not behind the one before it, which takes as long.
        let text = text.replace(
            &format!("requires l{}\n", other - 1),
            &format!("requires l{}\n", other - 2),
        );
        assert_eq!(finishes(&text), [40], "{first}");
    }
}

/// Schedules that need more room than most: many waits, large numbers, places of their own.
#[test]
fn operations_of_any_size_are_kept() {
    let large = "num_ranks 2\nrank 0 {\nsend 5000000000b to 1 tag 70000\n}\nrank 1 {\nrecv 5000000000b from 0 tag 70000\n}\n";
    let mut eager = machine();
    eager.inter.rendezvous_bytes = u64::MAX;
    let outcome = run_on(large, &eager);
    let outcome = outcome.expect("an end");
    assert_eq!(outcome.makespan_ns, 1500 + 2500 + 1500 + 4_999_999_999);
    assert_eq!(outcome.unreceived, 0);
    // 20 calculations side by side, then one behind all of them, of 50 minutes.
    let mut text = String::from("num_ranks 1\nrank 0 {\n");
    (0..20).for_each(|cpu| text += &format!("l{cpu}: calc {} cpu {cpu}\n", cpu + 1));
    text += "l20: calc 3000000000000\n";
    (0..20).for_each(|cpu| text += &format!("l20 requires l{cpu}\n"));
    assert_eq!(finishes(&(text + "}\n")), [20 + 3_000_000_000_000]);
}

#[test]
fn what_is_no_schedule_is_refused_by_line() {
    for (body, line, part) in [
        ("", 1, "num_ranks"),
        ("rank 0 {\n}", 1, "num_ranks"),
        ("num_ranks 0", 1, "1 to 16777216"),
        ("num_ranks 99999999999", 1, "1 to 16777216"),
        ("num_ranks 2\nrank 2 {", 2, "below num_ranks"),
        ("num_ranks 2\nrank 1 {\n}\nrank 1 {\n}", 4, "a second time"),
        ("num_ranks 2\nrank 1 {\nl1: calc", 3, "1e15"),
        (
            "num_ranks 2\nrank 1 {\nl1: calc 18446744073709551616",
            3,
            "1e15",
        ),
        ("num_ranks 2\nrank 1 {\nl1: fly 5", 3, "calc, send, recv"),
        ("num_ranks 2\nrank 1 {\n: calc 5", 3, "a label before it"),
        (
            "num_ranks 2\nrank 1 {\nl1: calc 5\nl1 requires",
            4,
            "the end of the line, expected the label",
        ),
        ("\u{7f}ELF\u{2}\u{1}\u{1}", 1, "bytes that are no text"),
        (
            "num_ranks 2\nrank 1 {\nl1: send 5b to 2",
            3,
            "below num_ranks",
        ),
        (
            "num_ranks 2\nrank 1 {\nl1: send 5b to -1",
            3,
            "below num_ranks",
        ),
        ("num_ranks 2\nrank 1 {\nl1: send 5b from 1", 3, "b, to"),
        ("num_ranks 2\nrank 1 {\nl1: calc 5 cpu 256", 3, "below 256"),
        (
            "num_ranks 2\nrank 1 {\nl1: calc 5 tag 1",
            3,
            "tag and a number",
        ),
        (
            "num_ranks 2\nrank 1 {\nl1: calc 5\nl1: calc 5",
            4,
            "each label once",
        ),
        (
            "num_ranks 2\nrank 1 {\nl1: calc 5\nl2 requires l1",
            4,
            "an operation above",
        ),
        (
            "num_ranks 2\nrank 1 {\nl1: calc 5\nl1 requires l1",
            4,
            "requires itself",
        ),
        ("num_ranks 2\nrank 1 {\nl1: calc 5 5", 3, "cpu or nic"),
        (
            "num_ranks 2\nrank 1 {\nl1: calc 5",
            3,
            "the end of the text in rank 1",
        ),
        ("num_ranks 2\n/* never", 2, "in a comment"),
        ("num_ranks 2\n\u{fffd}", 2, "rank, a number and {"),
    ] {
        let error = read_goal(body.as_bytes()).expect_err(body).to_string();
        assert!(
            error.starts_with(&format!("cannot read line {line} ")),
            "{body}: {error}"
        );
        assert!(error.contains(part), "{body}: {error}");
    }
    let long = format!("num_ranks 2\n{}", " ".repeat(1 << 17));
    let error = read_goal(long.as_bytes())
        .expect_err("a long line")
        .to_string();
    assert!(error.contains("a longer line"), "{error}");
}

/// Gives its text in pieces of a few bytes.
struct Slow<'a>(&'a [u8], usize);

impl Read for Slow<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = self.1.min(self.0.len()).min(buffer.len());
        buffer[..n].copy_from_slice(&self.0[..n]);
        self.0 = &self.0[n..];
        Ok(n)
    }
}

fn text_of(grid: (u32, u32), blocks: u32) -> String {
    let mut text = Vec::new();
    sweep::write_sweep(&mut text, grid, blocks, 6000, 1_000_000).expect("text");
    String::from_utf8(text).expect("text")
}

#[test]
fn pieces_of_any_size_give_the_same() {
    let text = text_of((3, 2), 2);
    let whole = run(&text).expect("an end");
    for size in [1, 7, 100] {
        let schedule = read_goal(Slow(text.as_bytes(), size)).expect("a schedule");
        assert_eq!(schedule.ranks(), 6);
        let outcome = simulate_schedule(schedule, &machine()).expect("an end");
        assert_eq!(outcome.processes, whole.processes);
    }
}

#[test]
fn the_wavefront_ends_when_the_model_of_it_does() {
    for (px, py, blocks) in [(1, 1, 2), (4, 3, 5), (10, 10, 20), (7, 2, 3)] {
        let model = wavefront::sweep(px, py, blocks, 1, 6000, 1_000_000);
        let expected = common::outcome(&model, &common::machine(), px * py);
        let outcome = run(&text_of((px, py), blocks)).expect("an end");
        assert_eq!(outcome.makespan_ns, expected.makespan_ns, "{px} x {py}");
        assert_eq!(outcome.processes, expected.processes, "{px} x {py}");
        assert_eq!(outcome.messages, expected.messages);
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(lines in prop::collection::vec(0..16_usize, 0..30), cut in 0..400_usize) {
        let words = [
            "num_ranks 3", "rank 0 {", "rank 1 {", "rank 2\n{", "}", "l1: calc 5", "l2: send 5b to 1",
            "l3: recv 5b from 0", "l2 requires l1", "l3 irequires l2", "recv 8 from -1 tag -1", "/*", "*/",
            "// x", "x: calc 9 cpu 2 nic 3", "x requires l1",
        ];
        let mut text = String::from("num_ranks 3\n");
        for line in lines {
            text += words[line];
            text += "\n";
        }
        text.truncate(cut.max(12));
        if let Ok(schedule) = read_goal(text.as_bytes()) {
            let _ = simulate_schedule(schedule, &machine());
        }
    }
}
