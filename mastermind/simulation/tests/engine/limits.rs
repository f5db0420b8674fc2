//! Where a run is stopped, and which engine it was on.

use mastermind_models::ModelSet;
use mastermind_programs::goal::read_goal;
use mastermind_programs::{System, lower, read_toml};
use mastermind_simulation::engine::{
    EngineChoice, Limits, Rules, ScheduleSlices, SimulationError, simulate_schedule_by,
    simulate_schedule_with, simulate_with,
};
use mastermind_simulation::machine::{Machine, Queue, Waiting, read_machine};

use crate::engine::common::{machine, outcome, program, run};

fn model(flow: &str) -> String {
    format!("[model]\nname = \"m\"\nmain = \"Main\"\n[activities.Main]\nflow = [\n{flow}\n]\n")
}

/// Rounds of work and a message to the next process.
fn ring(rounds: &str, to: &str, receive: &str) -> String {
    model(&format!(
        "{{ loop = \"l\", count = {rounds}, body = [{{ action = \"a\", cost = \"us(1)\" }}, \
         {{ send = \"s\", to = \"{to}\", bytes = 8 }}, {receive} ] }},"
    ))
}

const NEXT: &str = "(process + 1) % processes";
const BEFORE: &str = "{ recv = \"r\", from = \"(process - 1) % processes\" }";
const WAITED: &str = "{ irecv = \"r\", from = \"(process - 1) % processes\" }, { wait = \"w\" }";

/// Three processes on one node of a processor.
fn oversubscribed(waiting: Waiting) -> Machine {
    Machine {
        nodes: Some(1),
        processors: 1,
        queue: Queue::RoundRobin { quantum_ns: 1000 },
        waiting,
        ..machine()
    }
}

fn noisy() -> Machine {
    let noise = "[noise]\nevery_ns = 100\nlength_ns = 10\n";
    read_machine(noise).expect("a machine")
}

#[test]
fn noise_is_refused_where_its_rule_says_nothing() {
    let eager = ring("3", NEXT, BEFORE);
    let crowded = Machine {
        noise: noisy().noise,
        ..oversubscribed(Waiting::Blocks)
    };
    let error = run(&eager, &crowded, 3).expect_err("a refusal").to_string();
    let expected = "cannot use machine with noise: 3 processes on a node of 1 processors";
    assert!(error.starts_with(expected), "{error}");
    let by = |rules, machine: &Machine| {
        let text = b"num_ranks 1\nrank 0 {\nl1: calc 1000\n}\n";
        let schedule = read_goal(&text[..]).expect("a schedule");
        let slices = ScheduleSlices::default();
        simulate_schedule_by(
            schedule,
            machine,
            (rules, Limits::default()),
            &mut |_| (),
            slices,
        )
    };
    let error = by(Rules::LogGopSim, &noisy()).expect_err("a refusal");
    assert!(
        error
            .to_string()
            .contains("noise is once in 100 ns, expected none"),
        "{error}"
    );
    let switched = read_machine("[nodes]\nper_group = 2\n").expect("a machine");
    let error = by(Rules::LogGopSim, &switched).expect_err("a refusal");
    assert!(
        error.to_string().contains("network is switches or groups"),
        "{error}"
    );
    let own = by(Rules::Own, &noisy()).expect("an end");
    assert!(
        (1080..=1120).contains(&own.makespan_ns),
        "{}",
        own.makespan_ns
    );
    // The rank only computed.
    assert_eq!(own.processes[0].work_ns, own.makespan_ns);
}

#[test]
fn a_wait_for_any_that_nothing_ends_is_an_error() {
    let flow = "{ irecv = \"r\", from = \"process == 0 ? 1 : none\" }, { waitany = \"next\" },";
    let error = run(&model(flow), &machine(), 2)
        .expect_err("a deadlock")
        .to_string();
    let expected = "process 0 waits in \"next\" of \"Main\" for any of its nonblocking receives";
    assert!(error.contains(expected), "{error}");
}

#[test]
fn a_run_is_stopped_by_its_limits_on_each_engine() {
    let long = "1_000_000_000";
    let cases = [
        (ring(long, NEXT, BEFORE), machine()),
        (ring(long, NEXT, WAITED), machine()),
        (ring(long, NEXT, BEFORE), oversubscribed(Waiting::Blocks)),
        (ring(long, NEXT, BEFORE), oversubscribed(Waiting::Spins)),
    ];
    let events = Limits {
        max_events: 10_000,
        ..Limits::default()
    };
    let time = Limits {
        max_time_ns: 5_000_000,
        ..Limits::default()
    };
    for (text, machine) in cases {
        let program = program(&text, &machine, 3);
        let stopped = |limits| simulate_with(&program, &machine, limits, &mut |_| ());
        let Err(SimulationError::Limit { events: n, .. }) = stopped(events) else {
            panic!("no end by events: {text}");
        };
        assert!((10_001..100_000).contains(&n), "{n} events");
        let Err(SimulationError::Limit { now_ns, .. }) = stopped(time) else {
            panic!("no end by time: {text}");
        };
        assert!((5_000_001..6_000_000).contains(&now_ns), "{now_ns} ns");
    }
}

#[test]
fn a_schedule_is_stopped_by_its_limits() {
    let text = b"num_ranks 1\nrank 0 {\nl1: calc 1000\nl2: calc 1000\nl3: calc 1000\nl2 requires l1\nl3 requires l2\n}\n";
    let run = |max_events, max_time_ns| {
        let limits = Limits {
            max_events,
            max_time_ns,
        };
        let schedule = read_goal(&text[..]).expect("a schedule");
        simulate_schedule_with(schedule, &machine(), limits, &mut |_| ())
    };
    assert_eq!(run(3, 2000).expect("an end").makespan_ns, 3000);
    for (max_events, max_time_ns) in [(2, 2000), (3, 1999)] {
        let stopped = run(max_events, max_time_ns);
        assert!(matches!(stopped, Err(SimulationError::Limit { .. })));
    }
}

#[test]
fn more_rounds_than_any_run_ends_with_are_refused() {
    for receive in [BEFORE, WAITED] {
        let text = ring("\"1e18\"", NEXT, receive);
        let error = run(&text, &machine(), 2)
            .expect_err("a refusal")
            .to_string();
        let expected = "its count is 1000000000000000000, expected a number of rounds, at least 0 and at most 1e12";
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn the_outcome_names_the_engine() {
    let choice = |text: &str, machine: &Machine| outcome(text, machine, 3).engine;
    let eager = ring("3", NEXT, BEFORE);
    assert_eq!(choice(&eager, &machine()), EngineChoice::FixedDistances);
    let crowded = oversubscribed(Waiting::Blocks);
    assert_eq!(choice(&eager, &crowded), EngineChoice::Oversubscribed);
    let waited = ring("3", NEXT, WAITED);
    assert_eq!(choice(&waited, &machine()), EngineChoice::Eager);
    assert_eq!(choice(&eager, &noisy()), EngineChoice::Eager);
    let switched = read_machine("[nodes]\nper_switch = 2\n").expect("a machine");
    assert_eq!(choice(&eager, &switched), EngineChoice::Classes);
    let mut small = machine();
    small.inter.rendezvous_bytes = 7;
    small.intra.rendezvous_bytes = 7;
    let nonblocking = waited.replace("{ send", "{ isend");
    assert_eq!(choice(&nonblocking, &small), EngineChoice::Rendezvous);
    let distant = model(
        "{ send = \"s\", to = \"process == 2 ? none : 2\", bytes = 8 },\
         { loop = \"l\", count = \"process == 2 ? 2 : 0\", body = [{ recv = \"r\", from = \"any\" }] },",
    );
    assert_eq!(choice(&distant, &machine()), EngineChoice::Eager);
    let threads =
        model("{ parallel = \"p\", threads = 2, body = [{ action = \"a\", cost = \"ns(1)\" }] },");
    assert_eq!(choice(&threads, &machine()), EngineChoice::Operations);
}

#[test]
fn a_model_of_a_hundred_thousand_elements_runs() {
    let elements = "{ action = \"a\", cost = \"ns(1)\" },\n".repeat(100_000);
    let model = read_toml(&model(&elements)).expect("a model");
    let system = System {
        processes: 2,
        nodes: 2,
        processors: 1,
    };
    let program = lower(&model, &ModelSet::default(), system).expect("a machine form");
    let ended = simulate_with(&program, &machine(), Limits::default(), &mut |_| ());
    assert_eq!(ended.expect("an end").makespan_ns, 100_000);
}

#[test]
fn times_that_no_clock_holds_are_refused() {
    let text = |error: SimulationError| error.to_string();
    let expected = "expected at most 2305843009213693952 ns";
    // A hundred times ten years; alone, and with messages that make the general engine run it.
    let years = "{ loop = \"l\", count = 100, body = [{ action = \"a\", cost = 3.2e8 }] },";
    for flow in [
        years.to_owned(),
        format!("{years} {{ irecv = \"r\", from = \"none\" }},"),
    ] {
        let error = text(run(&model(&flow), &machine(), 2).expect_err("a refusal"));
        assert!(error.ends_with(expected), "{error}");
    }
    let calc = (0..4000).map(|i| format!("l{i}: calc 1e15\n"));
    let calc: String = calc
        .map(|line| line.replace("1e15", "1000000000000000"))
        .collect();
    let requires: String = (1..4000)
        .map(|i| format!("l{i} requires l{}\n", i - 1))
        .collect();
    let schedule = format!("num_ranks 1\nrank 0 {{\n{calc}{requires}}}\n");
    let goal = read_goal(schedule.as_bytes()).expect("a schedule");
    let error = simulate_schedule_with(goal, &machine(), Limits::default(), &mut |_| ());
    let error = text(error.expect_err("a refusal"));
    assert!(error.ends_with(expected), "{error}");
    // Bytes of an hour each, one message and several, on links that they share and on those that they do not.
    for near in ["", "uplinks = 1\n"] {
        let machine = format!(
            "[nodes]\nper_switch = 1\n[network]\ngap_per_byte_ns = 3.6e12\n[network.switch]\n{near}"
        );
        let machine = read_machine(&machine).expect("a machine");
        let one = "{ send = \"s\", to = \"process == 0 ? 1 : none\", bytes = 1e15 }, { recv = \"r\", from = \"process == 1 ? 0 : none\" },";
        for flow in [one, "{ alltoall = \"a\", bytes = 1e15 },"] {
            let error = text(run(&model(flow), &machine, 4).expect_err("a refusal"));
            assert!(error.ends_with(expected), "{error}");
        }
        let goal = "num_ranks 2\nrank 0 {\nsend 1000000000000000b to 1\n}\nrank 1 {\nrecv 1000000000000000b from 0\n}\n";
        let goal = read_goal(goal.as_bytes()).expect("a schedule");
        let error = simulate_schedule_with(goal, &machine, Limits::default(), &mut |_| ());
        let error = text(error.expect_err("a refusal"));
        assert!(error.ends_with(expected), "{error}");
    }
}
