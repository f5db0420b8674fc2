//! LAPW0 at the eight configurations of the first Performance Prophet paper's Table I.

use mastermind_models::ModelSet;
use mastermind_programs::expression::Expression;
use mastermind_programs::{System, lower, read_toml};
use mastermind_simulation::engine::simulate;
use mastermind_simulation::machine::read_machine;

/// Atoms, processes, the paper's simulated and measured seconds. For NAT = 64 on two nodes the table has
/// 264 s measured, which contradicts its own error of 7 %: that makes it 294.
const TABLE: [(f64, u32, f64, f64); 8] = [
    (32.0, 4, 280.0, 264.0),
    (32.0, 8, 170.0, 166.0),
    (32.0, 16, 126.0, 131.0),
    (32.0, 32, 98.0, 113.0),
    (64.0, 4, 543.0, 501.0),
    (64.0, 8, 314.0, 294.0),
    (64.0, 16, 211.0, 197.0),
    (64.0, 32, 184.0, 164.0),
];

/// Most that a time may be off that was left out of the fit; the paper's own errors are up to 13 %.
const MAX_LEFT_OUT_ERROR: f64 = 0.12;

#[test]
fn all_eight_configurations_are_met() {
    let text = include_str!("../../../../examples/lapw0/lapw0.toml");
    let machine = include_str!("../../../../examples/lapw0/machine.toml");
    let machine = read_machine(machine).expect("the machine");
    for (atoms, processes, simulated_s, measured_s) in TABLE {
        let mut model = read_toml(text).expect("the model");
        model.globals[0].value = Expression::Number(atoms);
        let system = System {
            processes,
            nodes: processes / 4,
            processors: 4,
        };
        let program = lower(&model, &ModelSet::default(), system).expect("a machine form");
        let found = simulate(&program, &machine).expect("an end");
        let seconds = found.makespan_ns as f64 / 1e9;
        println!("{atoms} {processes} {simulated_s} {measured_s} {seconds:.1}");
        let error = |paper_s: f64| (seconds / paper_s - 1.0).abs();
        assert!(error(measured_s) < 0.03, "{atoms} {processes}: {seconds}");
        assert!(error(simulated_s) < 0.18, "{atoms} {processes}: {seconds}");
    }
}

/// Makespan of the model with these costs, seconds.
fn simulated_s(atoms: f64, processes: u32, costs: [f64; 4]) -> f64 {
    let [each_atom, every, all_atoms, bytes] = costs;
    let text = include_str!("../../../../examples/lapw0/lapw0.toml")
        .replace("26.973 * PNAT", &format!("{each_atom} * PNAT"))
        .replace(
            "26.43 + 0.606 * NAT_",
            &format!("{every} + {all_atoms} * NAT_"),
        )
        .replace("171.4e6", &format!("{bytes}"));
    let machine = include_str!("../../../../examples/lapw0/machine.toml");
    let mut model = read_toml(&text).expect("the model");
    model.globals[0].value = Expression::Number(atoms);
    let system = System {
        processes,
        nodes: processes / 4,
        processors: 4,
    };
    let program = lower(&model, &ModelSet::default(), system).expect("a machine form");
    let machine = read_machine(machine).expect("the machine");
    simulate(&program, &machine).expect("an end").makespan_ns as f64 / 1e9
}

/// Solves `Σ a[i][j] x[j] = b[i]` by elimination with pivots.
fn solved(mut a: [[f64; 5]; 4]) -> [f64; 4] {
    for k in 0..4 {
        let pivot = (k..4).max_by(|&i, &j| a[i][k].abs().total_cmp(&a[j][k].abs()));
        a.swap(k, pivot.expect("a row"));
        let row = a[k];
        for (i, other) in a.iter_mut().enumerate().filter(|(i, _)| *i != k) {
            let factor = other[k] / row[k];
            (0..5).for_each(|j| other[j] -= factor * row[j]);
            assert!(i < 4 && factor.is_finite());
        }
    }
    std::array::from_fn(|k| a[k][4] / a[k][k])
}

/// The example's four costs are fitted to all eight times, so agreement with these is weak evidence. Fitted to seven of
/// them, as the example's are, the model predicts the eighth.
#[test]
fn each_configuration_is_predicted_from_the_others() {
    // The makespan is the sum of the results for each cost alone, except for the little time of an empty
    // exchange.
    let unit = |atoms, processes| {
        let empty = simulated_s(atoms, processes, [0.0, 0.0, 0.0, 8.0]);
        let alone = |cost: usize, value: f64| {
            let mut costs = [0.0, 0.0, 0.0, 8.0];
            costs[cost] = value;
            (simulated_s(atoms, processes, costs) - empty) / value
        };
        [alone(0, 1.0), alone(1, 1.0), alone(2, 1.0), alone(3, 1e8)]
    };
    let rows: Vec<_> = TABLE
        .iter()
        .map(|&(atoms, processes, _, measured_s)| (unit(atoms, processes), measured_s))
        .collect();
    for (left_out, (columns, measured_s)) in rows.iter().enumerate() {
        let mut normal = [[0.0; 5]; 4];
        let others = rows.iter().enumerate().filter(|(row, _)| *row != left_out);
        for (_, (x, y)) in others {
            for i in 0..4 {
                (0..4).for_each(|j| normal[i][j] += x[i] * x[j] / (y * y));
                normal[i][4] += x[i] / y;
            }
        }
        let costs = solved(normal);
        let predicted_s: f64 = columns.iter().zip(costs).map(|(x, c)| x * c).sum();
        let (atoms, processes, ..) = TABLE[left_out];
        let error = predicted_s / measured_s - 1.0;
        println!(
            "{atoms} {processes} {measured_s} {predicted_s:.1} {:+.1} % {costs:?}",
            100.0 * error
        );
        assert!(
            error.abs() < MAX_LEFT_OUT_ERROR,
            "{atoms} {processes}: {predicted_s}, measured {measured_s}"
        );
    }
}
