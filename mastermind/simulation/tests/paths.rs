//! The longest path of a simulation: it is as long as the simulation, its stages add up, and its counts are the derivatives that
//! simulations with other parameters find.

use mastermind_programs::goal::read_goal;
use mastermind_simulation::engine::{
    Limits, SimulationError, program_path, schedule_path, simulate, simulate_schedule,
};
use mastermind_simulation::machine::{Link, LinkClass, Machine, NearLink, Parameter};
use mastermind_simulation::sensitivity::{LongestPath, TimedPath, latency_tolerance};

use crate::engine::common::program;

/// The link of a class.
fn link_mut(machine: &mut Machine, class: LinkClass) -> Option<&mut Link> {
    match class {
        LinkClass::Intra => Some(&mut machine.intra),
        LinkClass::Switch => machine.switch.as_mut().map(|near| &mut near.link),
        LinkClass::Group => machine.group.as_mut().map(|near| &mut near.link),
        LinkClass::Inter => Some(&mut machine.inter),
    }
}

/// The whole parameters of a link.
fn whole_mut(link: &mut Link, parameter: Parameter) -> Option<&mut u64> {
    match parameter {
        Parameter::Latency => Some(&mut link.latency_ns),
        Parameter::SendOverhead => Some(&mut link.send_overhead_ns),
        Parameter::ReceiveOverhead => Some(&mut link.receive_overhead_ns),
        Parameter::Gap => Some(&mut link.gap_ns),
        Parameter::GapPerByte | Parameter::OverheadPerByte => None,
    }
}

/// A machine on which the longest path shows all that a time depends on.
pub fn without_obstacles(machine: Machine) -> Machine {
    let free = |near: NearLink| NearLink {
        uplinks: None,
        ..near
    };
    Machine {
        noise: None,
        switch: machine.switch.map(free),
        group: machine.group.map(free),
        ..machine
    }
}

/// Checks that the stages of a path add up to the time, and its counts against simulations with a parameter that is one nanosecond
/// longer: where the path is made of the same stages then, the time has grown by the count.
///
/// # Returns
/// How many derivatives were compared, and of how many the path did not stay.
pub fn check(machine: &Machine, run: &dyn Fn(&Machine) -> TimedPath) -> [usize; 2] {
    let (time_ns, path) = run(machine).expect("an end");
    let parameters = LinkClass::ALL.into_iter();
    let parameters = parameters.flat_map(|class| Parameter::ALL.map(|one| (class, one)));
    let of_links = parameters.clone().map(|(class, one)| path.of(class, one));
    let of_links: u64 = of_links.map(|one| one.time_ns).sum();
    let of_work: u64 = path.work.iter().map(|work| work.time_ns).sum();
    assert_eq!(path.other_ns, 0, "{path:?}");
    assert_eq!(of_links + of_work, time_ns);
    assert_eq!(path.ranks_ns.iter().sum::<u64>(), time_ns);
    let counts = |path: &LongestPath| -> Vec<u64> {
        let links = parameters.clone();
        let links = links.map(|(class, one)| path.of(class, one).count);
        links
            .chain(path.work.iter().map(|work| work.count))
            .collect()
    };
    let mut compared = [0; 2];
    for (class, parameter) in parameters.clone() {
        let mut changed = *machine;
        let link = link_mut(&mut changed, class);
        let Some(value) = link.and_then(|link| whole_mut(link, parameter)) else {
            continue;
        };
        *value += 1;
        let (later_ns, later) = run(&changed).expect("an end");
        if counts(&path) == counts(&later) {
            compared[0] += 1;
            let count = path.of(class, parameter).count;
            assert_eq!(later_ns - time_ns, count, "{class:?} {parameter:?}");
        } else {
            compared[1] += 1;
        }
    }
    compared
}

/// The path of a program model.
pub fn of_model(text: &str, ranks: u32) -> impl Fn(&Machine) -> TimedPath + '_ {
    move |machine| {
        let program = program(text, machine, ranks);
        let (outcome, path) = program_path(&program, machine, Limits::default(), &mut |_| ())?;
        assert_eq!(
            outcome.makespan_ns,
            simulate(&program, machine)?.makespan_ns
        );
        Ok((outcome.makespan_ns, path))
    }
}

/// The path of a schedule.
pub fn of_schedule(text: &str) -> impl Fn(&Machine) -> TimedPath + '_ {
    move |machine| {
        let schedule = || read_goal(text.as_bytes()).expect("a schedule");
        let (outcome, path) = schedule_path(schedule(), machine, Limits::default(), &mut |_| ())?;
        let plain = simulate_schedule(schedule(), machine)?;
        assert_eq!(outcome.makespan_ns, plain.makespan_ns);
        Ok((outcome.makespan_ns, path))
    }
}

/// Rank 1 is the slower one until the latency is 3,000 ns more, for 10 messages.
const TURNS: &str = r#"
    [model]
    name = "turns"
    main = "Main"
    [activities.Main]
    flow = [
        { loop = "turns", count = 10, body = [
            { action = "work", cost = "process == 0 ? 1e-6 : 40e-6" },
            { send = "there", to = "process == 0 ? 1 : none", bytes = 1 },
            { recv = "here", from = "process == 1 ? 0 : none" },
        ] },
    ]
    "#;

#[test]
fn latency_is_tolerated_while_it_is_hidden() {
    let machine = Machine::default();
    let run = of_model(TURNS, 2);
    let (time_ns, path) = run(&machine).expect("an end");
    // All messages but the first arrive before rank 1 receives them.
    assert_eq!(path.of(LinkClass::Inter, Parameter::Latency).count, 0);
    let mut simulate = |factor| {
        let mut machine = machine;
        machine.scale_latency(factor);
        run(&machine)
    };
    let found = latency_tolerance((time_ns, &path), 0.05, &mut simulate).expect("a tolerance");
    let growth = found.growth.expect("bounded");
    let (at_ns, _) = simulate(1.0 + growth).expect("an end");
    assert!(found.confirmed);
    let slowdown = at_ns as f64 / time_ns as f64 - 1.0;
    assert!((slowdown - 0.05).abs() < 0.001, "{slowdown}");
}

#[test]
fn a_machine_on_which_the_path_hides_something_is_refused() {
    let crowded = Machine {
        nodes: Some(1),
        ..Machine::default()
    };
    let found = of_model(TURNS, 2)(&crowded);
    assert!(
        matches!(found, Err(SimulationError::NoPath { .. })),
        "{found:?}"
    );
}
