//! Times that a formula gives, to the nanosecond.

use crate::engine::common::{machine, outcome, run};
use mastermind_simulation::engine::SimulationError;
use mastermind_simulation::machine::{Link, Machine, Queue, Rendezvous, read_machine};

const S: u64 = 1000;

/// A model whose main activity is `flow`.
fn main_with(flow: &str) -> String {
    format!("[model]\nname = \"m\"\nmain = \"Main\"\n[activities.Main]\nflow = [\n{flow}\n]\n")
}

/// `2 o + L + (s - 1) G`: from a send to the end of its receipt.
fn one_way(link: &Link) -> u64 {
    let bytes = (link.gap_per_byte_ns * (S - 1) as f64).round() as u64;
    link.send_overhead_ns + link.latency_ns + link.receive_overhead_ns + bytes
}

fn machines() -> [Machine; 2] {
    let fast = Link {
        latency_ns: 700,
        send_overhead_ns: 210,
        receive_overhead_ns: 340,
        gap_ns: 50,
        gap_per_byte_ns: 0.08,
        ..Link::default()
    };
    let inter = Machine {
        inter: fast,
        ..machine()
    };
    [machine(), inter]
}

fn finish(flow: &str, machine: &Machine, processes: u32) -> u64 {
    outcome(&main_with(flow), machine, processes).makespan_ns
}

#[test]
fn ping_pong() {
    let flow = format!(
        r#"{{ loop = "rounds", count = 7, body = [
            {{ send = "ping", to = "process == 0 ? 1 : none", bytes = {S} }},
            {{ recv = "pong", from = "1 - process" }},
            {{ send = "back", to = "process == 1 ? 0 : none", bytes = {S} }},
        ] }}"#
    );
    for machine in machines() {
        assert_eq!(finish(&flow, &machine, 2), 14 * one_way(&machine.inter));
    }
}

#[test]
fn ring() {
    let flow = format!(
        r#"{{ recv = "before", from = "process - 1" }},
           {{ send = "first", to = "(process + 1) % processes", bytes = {S} }},
           {{ recv = "last", from = "process == 0 ? processes - 1 : none" }},"#
    );
    for machine in machines() {
        assert_eq!(finish(&flow, &machine, 13), 13 * one_way(&machine.inter));
    }
}

#[test]
fn collectives_of_powers_of_two() {
    for machine in machines() {
        for k in 0..7_u32 {
            for kind in ["broadcast", "reduce", "allreduce"] {
                let flow = format!(r#"{{ {kind} = "c", bytes = {S} }}"#);
                let expected = u64::from(k) * one_way(&machine.inter);
                // A reduction's messages meet: the last receipts queue at their process.
                if kind == "reduce" && k > 1 {
                    assert!(finish(&flow, &machine, 1 << k) >= expected);
                } else {
                    assert_eq!(finish(&flow, &machine, 1 << k), expected, "{kind} {k}");
                }
            }
        }
    }
}

#[test]
fn collectives_end_with_any_number_of_processes() {
    for processes in 1..20 {
        for kind in ["broadcast", "reduce", "allreduce", "alltoall"] {
            for bytes in [8, 100_000] {
                let flow = format!(r#"{{ {kind} = "c", bytes = {bytes} }}, {{ barrier = "b" }}"#);
                let outcome = outcome(&main_with(&flow), &machine(), processes);
                assert_eq!((outcome.unreceived, outcome.unmatched), (0, 0));
                assert_eq!(outcome.element(0).calls, u64::from(processes));
            }
        }
    }
}

#[test]
fn incast_is_serialised_by_the_receiver() {
    let flow = format!(
        r#"{{ send = "in", to = "process == 0 ? none : 0", bytes = {S} }},
           {{ loop = "all", count = "process == 0 ? processes - 1 : 0", body = [{{ recv = "r", from = "any" }}] }},"#
    );
    for mut machine in machines() {
        for gap_ns in [0, 5000] {
            machine.inter.gap_ns = gap_ns;
            let link = machine.inter;
            let bytes =
                one_way(&link) - link.latency_ns - link.send_overhead_ns - link.receive_overhead_ns;
            let apart = gap_ns.max(link.receive_overhead_ns) + bytes;
            assert_eq!(finish(&flow, &machine, 10), one_way(&link) + 8 * apart);
        }
    }
}

/// POEMS Eq. 1b and 3b, `s - 1` for the size as in LogGP.
#[test]
fn large_messages_ask_first() {
    let mut machine = machine();
    machine.inter.rendezvous_bytes = 10;
    let flow = format!(
        r#"{{ send = "s", to = "process == 0 ? 1 : none", bytes = {S} }},
           {{ recv = "r", from = "process == 1 ? 0 : none" }},"#
    );
    let (o, l) = (1500, 2500);
    let outcome = outcome(&main_with(&flow), &machine, 2);
    assert_eq!(outcome.processes[0].finish_ns, 4 * o + 2 * l);
    assert_eq!(outcome.processes[1].finish_ns, 5 * o + 3 * l + S - 1);
    // The receiver comes late: the request waits there.
    let late = format!(r#"{{ action = "late", cost = "process * us(100)" }}, {flow}"#);
    let expected = 100_000 + o + o + l + o + l + o + S - 1;
    assert_eq!(finish(&late, &machine, 2), expected);
}

#[test]
fn a_large_message_may_be_fetched_while_its_sender_works() {
    let mut machine = machine();
    machine.inter.rendezvous_bytes = 10;
    let flow = format!(
        r#"{{ isend = "s", to = "process == 0 ? 1 : none", bytes = {S} }},
           {{ recv = "r", from = "process == 1 ? 0 : none" }},
           {{ action = "work", cost = "process == 0 ? us(900) : 0" }},
           {{ wait = "sent" }},"#
    );
    let (o, l) = (1500, 2500);
    let times = |machine: &Machine| -> Vec<u64> {
        let found = outcome(&main_with(&flow), machine, 2);
        found.processes.iter().map(|p| p.finish_ns).collect()
    };
    let worked = o + 900_000;
    assert_eq!(times(&machine), [worked + o, worked + o + l + o + S - 1]);
    machine.inter.rendezvous = Rendezvous::Fetched;
    // Request, its receipt, there and back, the bytes; then the sender is notified.
    assert_eq!(
        times(&machine),
        [worked + o, o + l + o + 2 * (o + l) + o + S - 1]
    );
}

#[test]
fn links_in_a_node_differ() {
    let text = "[nodes]\nprocessors = 2\n[network]\nlatency_ns = 9000\n[network.intra]\nlatency_ns = 100\noverhead_ns = 10\n";
    let machine = read_machine(text).expect("a machine");
    let flow = |to: u32| {
        format!(
            r#"{{ send = "s", to = "process == 0 ? {to} : none", bytes = 1 }}, {{ recv = "r", from = "process == {to} ? 0 : none" }}"#
        )
    };
    assert_eq!(finish(&flow(1), &machine, 4), 120);
    assert_eq!(finish(&flow(2), &machine, 4), 12_000);
}

/// POEMS Eq. 5 on a grid of one row, where no second message comes: `W` and a message a process.
#[test]
fn a_wave_through_one_row_is_the_recurrence() {
    for n in [1, 2, 10, 160] {
        let flow = format!(
            r#"{{ recv = "west", from = "process - 1" }}, {{ action = "w", cost = "us(10)" }},
               {{ send = "east", to = "process == processes - 1 ? none : process + 1", bytes = {S} }}"#
        );
        let w = 10_000;
        let expected = u64::from(n - 1) * (w + one_way(&machine().inter)) + w;
        assert_eq!(finish(&flow, &machine(), n), expected);
    }
}

#[test]
fn threads_share_processors_and_locks() {
    let region = |threads: u32, body: &str| {
        format!(r#"{{ parallel = "p", threads = {threads}, body = [{body}] }}"#)
    };
    let work = r#"{ action = "a", cost = "us(10)" }"#;
    let critical = format!(r#"{{ critical = "c", body = [{work}] }}"#);
    let mut two = Machine {
        processors: 2,
        ..machine()
    };
    assert_eq!(finish(&region(2, work), &two, 1), 10_000);
    assert_eq!(finish(&region(3, work), &two, 1), 20_000);
    assert_eq!(finish(&region(2, &critical), &two, 1), 20_000);
    two.queue = Queue::RoundRobin { quantum_ns: 5_000 };
    // By hand: 0 and 1 to 5 us, 2 and 0 to 10 us, 1 and 2 to 15 us.
    assert_eq!(finish(&region(3, work), &two, 1), 15_000);
    let outcome = outcome(&main_with(&region(3, work)), &two, 1);
    let action = outcome
        .elements
        .iter()
        .position(|e| e.name == "a")
        .expect("the action");
    assert_eq!(outcome.element(action).calls, 3);
    let crossed = r#"{ decision = "d", branches = [
        { guard = "thread == 0", body = [{ critical = "x", body = [{ action = "b", cost = 1 }, { critical = "y", body = [] }] }] },
        { body = [{ critical = "y", body = [{ action = "b", cost = 1 }, { critical = "x", body = [] }] }] },
    ] }"#;
    let error = run(&main_with(&region(2, crossed)), &two, 1).expect_err("two locks");
    assert!(matches!(error, SimulationError::Locked { .. }));
}

#[test]
fn times_of_a_process_add_up() {
    let flow = format!(
        r#"{{ action = "a", cost = "us(process + 1)" }}, {{ allreduce = "r", bytes = {S} }}, {{ barrier = "b" }}"#
    );
    let outcome = outcome(&main_with(&flow), &machine(), 11);
    for (rank, process) in outcome.processes.iter().enumerate() {
        let all = (0..outcome.elements.len()).map(|e| outcome.element_of(rank, e).total_ns);
        assert_eq!(all.sum::<u64>(), process.finish_ns, "{rank}");
        assert_eq!(process.work_ns, 1000 * (rank as u64 + 1));
        assert_eq!(
            process.work_ns + process.overhead_ns + process.wait_ns(),
            process.finish_ns
        );
    }
}

#[test]
fn a_deadlock_names_who_waits_for_what() {
    let flow = r#"{ loop = "l", count = 1, body = [{ recv = "first", from = "1 - process", tag = 3 }] }, { send = "s", to = "1 - process", bytes = 1, tag = 3 }"#;
    let error = run(&main_with(flow), &machine(), 2).expect_err("a deadlock");
    let text = error.to_string();
    assert!(text.contains("2 processes wait for ever"), "{text}");
    assert!(text.contains("process 0 waits in \"first\" of \"Main/l\" for a message from process 1, tag 3 since 0 ns"), "{text}");
    let large =
        r#"{ send = "s", to = "1 - process", bytes = 1e6 }, { recv = "r", from = "1 - process" }"#;
    let error = run(&main_with(large), &machine(), 2).expect_err("a deadlock");
    assert!(
        error
            .to_string()
            .contains("the receiver of a large message")
    );
}

#[test]
fn messages_that_nobody_takes_are_counted() {
    let flow = r#"{ loop = "l", count = 3, body = [{ send = "s", to = "process == 0 ? 1 : none", bytes = 1 }] }, { recv = "r", from = "process == 1 ? 0 : none" }, { irecv = "never", from = "process == 1 ? 0 : none", tag = 9 }"#;
    let outcome = outcome(&main_with(flow), &machine(), 2);
    assert_eq!(
        (outcome.messages, outcome.unreceived, outcome.unmatched),
        (3, 2, 1)
    );
}

#[test]
fn numbers_that_cannot_be_are_refused() {
    for (flow, part) in [
        (
            r#"{ action = "a", cost = "process - 1" }"#,
            "its cost is -1",
        ),
        (
            r#"{ action = "a", cost = "ln(process - 1)" }"#,
            "its cost is -inf",
        ),
        (
            r#"{ send = "s", to = "process + 7", bytes = 1 }"#,
            "its receiver is 8",
        ),
        (
            r#"{ send = "s", to = 0, bytes = "process - 1" }"#,
            "its size is -1",
        ),
        (
            r#"{ send = "s", to = 0, bytes = 1, tag = "process / 2 - 7" }"#,
            "its tag is -6.5",
        ),
        (
            r#"{ send = "s", to = 0, bytes = 1, tag = -3 }"#,
            "its tag is -3",
        ),
        (r#"{ recv = "r", from = "any", tag = -3 }"#, "its tag is -3"),
        (
            r#"{ loop = "l", count = "process - 1", body = [] }"#,
            "its count is -1",
        ),
        (
            r#"{ decision = "d", branches = [{ guard = "process > 5", body = [] }] }"#,
            "no guard holds",
        ),
        (
            r#"{ while = "w", condition = "process >= 0", body = [] }"#,
            "steps without time",
        ),
    ] {
        let error = run(&main_with(flow), &machine(), 2)
            .expect_err(flow)
            .to_string();
        assert!(error.contains(part), "{flow}: {error}");
        assert!(error.starts_with("cannot "), "{error}");
    }
}

#[test]
fn machine_files_are_checked() {
    for text in [
        "[nodes]\nprocessors = 0",
        "[nodes]\ncount = 1.5",
        "[network]\nlatency_ns = -1",
        "[network]\nlatency_ns = nan",
        "[network]\nlatenzy_ns = 1",
        "[nodes]\nqueue = \"lifo\"",
    ] {
        assert!(read_machine(text).is_err(), "{text}");
    }
    let machine = read_machine(
        "[nodes]\ncount = 8\nprocessors = 4\nqueue = { round_robin_ns = 10_000_000 }\n",
    )
    .expect("a machine");
    assert_eq!((machine.nodes, machine.processors), (Some(8), 4));
    assert_eq!(
        machine.queue,
        Queue::RoundRobin {
            quantum_ns: 10_000_000
        }
    );
}

/// All send to the first at once, which takes the messages by number, the last first: each waits for the processor,
/// and for its receive. Lists and heaps hold `n` each; were one walked at each receipt, this would not end.
#[test]
fn many_senders_to_one_are_taken_one_after_the_other() {
    for machine in machines() {
        let n = 20_000;
        let found = outcome(
            &main_with(
                r#"{ send = "s", to = "process == 0 ? none : 0", bytes = 1 },
                   { loop = "all", count = "process == 0 ? processes - 1 : 0", variable = "i", body = [
                       { recv = "r", from = "processes - 1 - i" },
                   ] },"#,
            ),
            &machine,
            n,
        );
        let link = &machine.inter;
        // The interface takes one message a gap, the processor one an overhead.
        let each = link.gap_ns.max(link.receive_overhead_ns);
        let first = link.send_overhead_ns + link.latency_ns;
        let expected = first + u64::from(n - 2) * each + link.receive_overhead_ns;
        assert_eq!(found.processes[0].finish_ns, expected);
        assert_eq!((found.messages, found.unreceived), (u64::from(n - 1), 0));
    }
}
