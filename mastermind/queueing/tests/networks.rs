//! Closed networks against the exact solutions of another program, and against what holds for all of them.

use mastermind_queueing::{
    Class, Kind, Network, NetworkError, Solution, Station, bard_schweitzer, exact, linearizer,
    read_network,
};
use proptest::prelude::*;

use crate::recorded::{RECORDED, recorded};

/// The relative error of the worst class.
fn worst(solution: &Solution, expected: &[f64]) -> f64 {
    let pairs = solution.throughput.iter().zip(expected);
    pairs
        .map(|(found, expected)| (found / expected - 1.0).abs())
        .fold(0.0, f64::max)
}

fn median(mut errors: Vec<f64>) -> f64 {
    errors.sort_by(f64::total_cmp);
    errors[errors.len() / 2]
}

#[test]
fn recorded_networks_are_solved_as_by_line() {
    let (mut by_linearizer, mut by_schweitzer) = (Vec::new(), Vec::new());
    for (at, line) in RECORDED.lines().enumerate() {
        let (network, expected) = recorded(line);
        let error = worst(&exact(&network).expect("a solution"), &expected);
        // LINE has no think time of 0 s, but 1e-8 s in its place.
        let has_none = network.classes.iter().any(|class| class.think_s == 0.0);
        let bound = if has_none { 1e-6 } else { 1e-9 };
        assert!(error < bound, "network {at}: {error:e}");
        let has_one_server =
            |station: &Station| matches!(station.kind, Kind::Delay | Kind::Queue { servers: 1 });
        if network.stations.iter().all(has_one_server) {
            by_linearizer.push(worst(
                &linearizer(&network).expect("a fixed point"),
                &expected,
            ));
            by_schweitzer.push(worst(
                &bard_schweitzer(&network).expect("a fixed point"),
                &expected,
            ));
        }
    }
    assert!(by_linearizer.len() > 50, "{}", by_linearizer.len());
    let most = |errors: &[f64]| errors.iter().copied().fold(0.0, f64::max);
    let worst = [most(&by_linearizer), most(&by_schweitzer)];
    let medians = [median(by_linearizer), median(by_schweitzer)];
    println!("linearizer, Bard-Schweitzer: medians {medians:?}, worst {worst:?}");
    assert!(
        medians[0] < 0.005 && worst[0] < 0.03,
        "{medians:?} {worst:?}"
    );
    assert!(medians[1] < 0.06 && worst[1] < 0.2, "{medians:?} {worst:?}");
}

/// One class at m servers, by the birth and death of its customers: the ratio of the probabilities of n and n - 1 is
/// (N - n + 1) D / (Z min(n, m)).
fn repairmen(customers: u32, think_s: f64, service_s: f64, servers: u32) -> f64 {
    let mut weights = vec![1.0];
    for n in 1..=customers {
        let ratio =
            f64::from(customers - n + 1) * service_s / (think_s * f64::from(n.min(servers)));
        weights.push(weights[n as usize - 1] * ratio);
    }
    let busy = weights.iter().zip(0_u32..);
    let busy: f64 = busy
        .map(|(weight, n)| weight * f64::from(n.min(servers)))
        .sum();
    busy / weights.iter().sum::<f64>() / service_s
}

fn one_station(customers: u32, think_s: f64, demand_s: f64, kind: Kind) -> Network {
    Network {
        stations: vec![Station {
            name: "station".into(),
            kind,
            demand_s: vec![demand_s],
        }],
        classes: vec![Class {
            name: "all".into(),
            customers,
            think_s,
        }],
    }
}

proptest! {
    #[test]
    fn one_station_is_as_births_and_deaths_say(
        customers in 1..40_u32, think in 0.05..20.0_f64, servers in 1..6_u32,
    ) {
        let network = one_station(customers, think, 1.0, Kind::Queue { servers });
        let found = exact(&network).expect("a solution").throughput[0];
        let expected = repairmen(customers, think, 1.0, servers);
        prop_assert!((found / expected - 1.0).abs() < 1e-6, "{found} {expected}");
    }

    /// Customers are somewhere, no station is busier than it can be, and no class faster than its bottleneck or an empty network lets it.
    #[test]
    fn solutions_keep_customers_and_bounds(
        classes in prop::collection::vec((0..6_u32, 0.0..3.0_f64), 1..4),
        stations in prop::collection::vec((prop::collection::vec(0.001..1.0_f64, 3), 0..4_u32), 1..6),
    ) {
        let network = Network {
            stations: stations.iter().enumerate().map(|(i, (demands, servers))| Station {
                name: i.to_string(),
                kind: match servers { 0 => Kind::Delay, servers => Kind::Queue { servers: *servers } },
                demand_s: demands[..classes.len()].to_vec(),
            }).collect(),
            classes: classes.iter().enumerate().map(|(r, (customers, think_s))| Class {
                name: r.to_string(), customers: *customers, think_s: *think_s,
            }).collect(),
        };
        for solve in [exact, linearizer, bard_schweitzer] {
            let found = solve(&network).expect("a solution");
            for (r, (customers, think_s)) in classes.iter().enumerate() {
                let there: f64 = found.queue.iter().map(|by_class| by_class[r]).sum();
                let all = there + think_s * found.throughput[r];
                prop_assert!((all - f64::from(*customers)).abs() < 1e-8, "{all} of {customers}");
                let alone: f64 = network.stations.iter().map(|station| station.demand_s[r]).sum();
                let most = f64::from(*customers) / (think_s + alone);
                prop_assert!(found.throughput[r] <= most * (1.0 + 1e-9));
            }
            for (station, busy) in network.stations.iter().zip(&found.utilisation) {
                prop_assert!(station.kind == Kind::Delay || *busy <= 1.0 + 1e-9, "{busy}");
            }
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,200}") {
        let _ = read_network(&text);
    }
}

#[test]
fn what_has_no_solution_is_refused() {
    let found = |network: Network| exact(&network).expect_err("no solution");
    let queue = Kind::Queue { servers: 1 };
    assert!(matches!(
        found(one_station(2, 0.0, 0.0, queue)),
        NetworkError::NoTime { .. }
    ));
    for time in [-1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(
            found(one_station(2, time, 1.0, queue)),
            NetworkError::Time { .. }
        ));
        assert!(matches!(
            found(one_station(2, 1.0, time, queue)),
            NetworkError::Time { .. }
        ));
    }
    let none = Kind::Queue { servers: 0 };
    assert!(matches!(
        found(one_station(2, 1.0, 1.0, none)),
        NetworkError::NoServer { .. }
    ));
    let large = one_station(u32::MAX, 1.0, 1.0, queue);
    assert!(matches!(
        found(large.clone()),
        NetworkError::TooLarge { .. }
    ));
    // A full station serves one customer after the other, whatever their number.
    let full = linearizer(&large).expect("a fixed point");
    assert!(
        (full.throughput[0] - 1.0).abs() < 1e-6,
        "{:?}",
        full.throughput
    );
    let mut ragged = one_station(2, 1.0, 1.0, queue);
    ragged.stations[0].demand_s.push(1.0);
    assert!(matches!(found(ragged), NetworkError::Demands { .. }));
}

#[test]
fn files_that_are_no_network_are_refused_with_the_reason() {
    for (text, reason) in [
        ("", "no class"),
        ("[[classes]]\nname = \"a\"\ncustomers = -1", "customers"),
        (
            "[[classes]]\nname = \"a\"\ncustomers = 1\nthink = 2",
            "think",
        ),
        (
            "[[classes]]\nname = \"a\"\ncustomers = 1\n[[classes]]\nname = \"a\"\ncustomers = 1",
            "twice",
        ),
        (
            "[[classes]]\nname = \"a\"\ncustomers = 1\n[[stations]]\nname = \"s\"\ndemand_s = { b = 1.0 }",
            "class \"b\"",
        ),
        (
            "[[classes]]\nname = \"a\"\ncustomers = 1\n[[stations]]\nname = \"s\"\nservers = 2\ndelay = true",
            "delay",
        ),
    ] {
        let error = read_network(text).expect_err(text).to_string();
        assert!(error.contains(reason), "{error}");
    }
}
