//! More processes than processors on a node: the processors as a facility with a queue.

use mastermind_simulation::engine::Outcome;
use mastermind_simulation::machine::{Link, Machine, Queue, Waiting};

use crate::engine::common::outcome;

/// Nodes of `processors` processors, links that take no processor time.
fn node(nodes: u32, processors: u32, queue: Queue) -> Machine {
    let link = Link {
        latency_ns: 1000,
        send_overhead_ns: 0,
        receive_overhead_ns: 0,
        gap_ns: 0,
        gap_per_byte_ns: 0.0,
        ..Link::default()
    };
    Machine {
        nodes: Some(nodes),
        processors,
        queue,
        intra: link,
        inter: link,
        ..Machine::default()
    }
}

fn model(flow: &str) -> String {
    format!("[model]\nname = \"m\"\nmain = \"Main\"\n[activities.Main]\nflow = [\n{flow}\n]\n")
}

fn finishes_us(outcome: &Outcome) -> Vec<f64> {
    let finishes = outcome.processes.iter().map(|p| p.finish_ns as f64 / 1e3);
    finishes.collect()
}

const WORK: &str = r#"{ action = "work", cost = "us(process == 0 ? 10 : process == 1 ? 3 : 5)" }"#;

/// By hand, quantum 4: 0 to 4, 1 to 7 (its end), 2 to 11, 0 to 15, 2 to 16 (its end), 0 to 18.
#[test]
fn round_robin_is_the_schedule_by_hand() {
    let queue = Queue::RoundRobin { quantum_ns: 4000 };
    let found = outcome(&model(WORK), &node(1, 1, queue), 3);
    assert_eq!(finishes_us(&found), [18.0, 7.0, 16.0]);
    assert_eq!(found.processes[0].work_ns, 10_000);
    assert_eq!(found.processes[0].wait_ns(), 8000);
    // Two processors: 0 and 1 begin, 1 ends at 3, 2 to 4 and on since no other waits, 0 to 10.
    let found = outcome(&model(WORK), &node(1, 2, queue), 3);
    assert_eq!(finishes_us(&found), [10.0, 3.0, 8.0]);
}

#[test]
fn first_come_is_first_served() {
    let found = outcome(&model(WORK), &node(1, 1, Queue::Fcfs), 3);
    assert_eq!(finishes_us(&found), [10.0, 13.0, 18.0]);
    let action = found.element_of(2, 0);
    assert_eq!((action.calls, action.total_ns), (1, 18_000));
    let found = outcome(&model(WORK), &node(1, 2, Queue::Fcfs), 3);
    assert_eq!(finishes_us(&found), [10.0, 3.0, 8.0]);
}

/// A process that waits gives its processor to the next: 0 works to 10 and waits, 1 works to 15 and
/// sends, which takes 1; 0 works on to 26.
#[test]
fn who_waits_gives_its_processor_back() {
    let flow = r#"{ action = "first", cost = "us(process == 0 ? 10 : 5)" },
        { recv = "r", from = "process == 0 ? 1 : none" },
        { send = "s", to = "process == 1 ? 0 : none", bytes = 1 },
        { action = "last", cost = "process == 0 ? us(10) : 0" },"#;
    let found = outcome(&model(flow), &node(1, 1, Queue::Fcfs), 2);
    assert_eq!(finishes_us(&found), [26.0, 15.0]);
}

/// Processors enough, the queue changes nothing: also with messages inside nodes and between them.
#[test]
fn a_crowd_of_one_processor_each_is_no_crowd() {
    let flow = r#"{ loop = "l", count = 20, variable = "i", body = [
        { action = "a", cost = "us((process * 7 + i * 3) % 5)" },
        { isend = "s", to = "(process + 1) % processes", bytes = "100 * i + 1" },
        { recv = "r", from = "(process - 1) % processes" },
        { wait = "w" },
        { allreduce = "all", bytes = 8 },
    ] }"#;
    let mut machine = node(3, 4, Queue::Fcfs);
    machine.inter = Link::default();
    let alone = outcome(&model(flow), &machine, 12);
    // Twelve on three nodes of four; on two nodes two more processors than processes change nothing.
    machine.processors = 5;
    assert_eq!(
        outcome(&model(flow), &machine, 12).processes,
        alone.processes
    );
    // One for all of a node: they wait.
    machine.processors = 1;
    assert!(outcome(&model(flow), &machine, 12).makespan_ns > alone.makespan_ns);
}

/// M/D/1: arrivals with exponential times between, one processor, a fixed service. The customers are
/// messages to 64 processes of the second node, far more than ever wait together.
///
/// # Source
/// Pollaczek and Khinchine: the mean wait is `rho D / (2 (1 - rho))`.
#[test]
fn a_queue_at_a_node_waits_as_theory_says() {
    for (service_us, rho) in [(30.0, 0.3), (50.0, 0.5), (70.0, 0.7)] {
        let text = format!(
            r#"
[model]
name = "queue"
main = "Main"
[globals]
seed = 20077
[activities.Main]
flow = [{{ decision = "who", branches = [
    {{ guard = "process == 0", body = [{{ loop = "customers", count = 256000, variable = "k", body = [
        {{ action = "random", code = "seed = (seed * 16807) % 2147483647" }},
        {{ action = "between", cost = "-ln(seed / 2147483647) * us(100)" }},
        {{ send = "customer", to = "64 + k % 64", bytes = 1 }},
    ] }}] }},
    {{ guard = "process >= 64", body = [{{ loop = "services", count = 4000, body = [
        {{ recv = "customer", from = 0 }},
        {{ action = "service", cost = "us({service_us})" }},
    ] }}] }},
    {{ body = [] }},
] }}]
"#
        );
        let found = outcome(&text, &node(2, 1, Queue::Fcfs), 128);
        let service = found.elements.iter().position(|e| e.name == "service");
        let service = found.element(service.expect("the service"));
        assert_eq!(service.calls, 256_000);
        let wait_us = service.total_ns as f64 / service.calls as f64 / 1e3 - service_us;
        let theory_us = rho * service_us / (2.0 * (1.0 - rho));
        assert!(
            (wait_us / theory_us - 1.0).abs() < 0.03,
            "{rho}: {wait_us} {theory_us}"
        );
    }
}

/// Both processes work, 0 sends, 1 takes the message and works again.
const RELAY: &str = r#"
    { action = "work", cost = "us(30)" },
    { decision = "d", branches = [
        { guard = "process == 0", body = [
            { send = "s", to = "1", bytes = "1" },
            { recv = "r", from = "1" },
        ] },
        { guard = "process == 1", body = [
            { recv = "r", from = "0" },
            { action = "more", cost = "us(20)" },
            { send = "s", to = "0", bytes = "1" },
        ] },
        { body = [] },
    ] },"#;

fn relayed(waiting: Waiting, processes: u32, quantum_ns: u64) -> Vec<u64> {
    let machine = Machine {
        waiting,
        ..node(1, 1, Queue::RoundRobin { quantum_ns })
    };
    let outcome = outcome(&model(RELAY), &machine, processes);
    outcome.processes.iter().map(|p| p.finish_ns).collect()
}

#[test]
fn who_spins_keeps_the_processor_until_its_turn_is_over() {
    // By hand, turns of 50 us: 0 works to 30, sends, spins to 50; 1 works to 80, has the message, works to 100, sends,
    // ends. 0 polls from 100 on and has its answer at 101.
    let finishes = relayed(Waiting::Spins, 2, 50_000);
    assert_eq!(finishes, [101_000, 100_000]);
    // Turns of 70 us: 0 spins to 70, 1 works to 120.
    assert_eq!(relayed(Waiting::Spins, 2, 70_000), [121_000, 120_000]);
    // Turns of 20 us: 0 to 20, 1 to 40, 0 to 50 and spins to 60, 1 to 70, has the message and works to 80, 0 spins to
    // 100, 1 works to 110.
    assert_eq!(relayed(Waiting::Spins, 2, 20_000), [111_000, 110_000]);
}

#[test]
fn of_so_many_turns_one_is_double() {
    // Turns of 20 us, each second one double: 0 to 20; 1 to 40 and on, it waits from 50, to 60; 0 to 70, sends, spins
    // to 80 and on to 100; 1 has the message and works to 120.
    let quantum_ns = 20_000;
    let machine = Machine {
        waiting: Waiting::Spins,
        regroup_turns: Some(2),
        ..node(1, 1, Queue::RoundRobin { quantum_ns })
    };
    let found = outcome(&model(RELAY), &machine, 2);
    let finishes: Vec<u64> = found.processes.iter().map(|p| p.finish_ns).collect();
    assert_eq!(finishes, [121_000, 120_000]);
}

#[test]
fn who_yields_leaves_the_processor_to_who_has_work() {
    // 0 works to 30, sends, yields; 1 works to 60, has the message, works to 80, sends, ends; 0 has its answer at 81.
    assert_eq!(relayed(Waiting::Yields, 2, 50_000), [81_000, 80_000]);
    assert_eq!(relayed(Waiting::Blocks, 2, 50_000), [81_000, 80_000]);
}

#[test]
fn who_yields_is_queued_when_its_message_is_there() {
    // Turns of 30 us: 0 to 30, 1 to 60, and with its message it is queued for more; 2 to 90, 1 to 110.
    let finishes = relayed(Waiting::Yields, 3, 30_000);
    assert_eq!(finishes, [111_000, 110_000, 90_000]);
    // Turns of 100 us: 2 works from 80 to 110, while the answer has been waiting since 81; 0 takes it with its
    // processor.
    assert_eq!(
        relayed(Waiting::Yields, 3, 100_000),
        [110_000, 80_000, 110_000]
    );
}

#[test]
fn waiting_that_is_in_vain_is_a_deadlock() {
    for waiting in [Waiting::Yields, Waiting::Spins] {
        let quantum_ns = 10_000;
        let machine = Machine {
            waiting,
            ..node(1, 1, Queue::RoundRobin { quantum_ns })
        };
        let flow = r#"{ recv = "never", from = "(process + 1) % processes" }"#;
        let error = crate::engine::common::run(&model(flow), &machine, 3).expect_err("a deadlock");
        assert!(
            error.to_string().contains("3 processes wait for ever"),
            "{error}"
        );
    }
}
