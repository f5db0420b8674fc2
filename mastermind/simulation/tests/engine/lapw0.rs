//! LAPW0 at the eight configurations of the first Performance Prophet paper's Table I.

use mastermind_models::ModelSet;
use mastermind_simulation::engine::simulate;
use mastermind_simulation::expression::Expression;
use mastermind_simulation::machine::read_machine;
use mastermind_simulation::program::{System, lower, read_toml};

/// Atoms, processes, the paper's simulated and measured seconds. Of NAT = 64 on two nodes the table says
/// 264 s measured, which its own error of 7 % does not fit: that makes it 294.
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

#[test]
fn all_eight_configurations_are_predicted() {
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
