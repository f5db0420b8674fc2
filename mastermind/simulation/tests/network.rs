//! Links in classes: which one two nodes have, said without the engines, and that machine files say which.

use mastermind_simulation::machine::{Link, Machine, read_machine};

/// The link of two nodes.
pub fn between(machine: &Machine, [a, b]: [u32; 2]) -> &Link {
    if let Some(switch) = &machine.switch
        && a / switch.nodes == b / switch.nodes
    {
        return &switch.link;
    }
    match &machine.group {
        Some(group) if a / group.nodes == b / group.nodes => &group.link,
        _ => &machine.inter,
    }
}

const CLASSES: &str = "[nodes]\nper_switch = 2\nper_group = 4\n[network]\nlatency_ns = 5000\n\
    [network.switch]\nlatency_ns = 1000\n[network.group]\nlatency_ns = 2000\n";

#[test]
fn a_machine_file_says_which_nodes_are_near() {
    let machine = read_machine(CLASSES).expect("a machine");
    let latencies = [1, 2, 3, 4].map(|node| between(&machine, [0, node]).latency_ns);
    assert_eq!(latencies, [1000, 2000, 2000, 5000]);
    // What a class does not say is as it is for all.
    assert_eq!(
        machine.switch.expect("switches").link.gap_ns,
        machine.inter.gap_ns
    );
    for (from, to, expected) in [
        (
            "per_switch = 2\n",
            "",
            "\"network.switch\": no \"nodes.per_switch\"",
        ),
        (
            "per_group = 4\n",
            "",
            "\"network.group\": no \"nodes.per_group\"",
        ),
        (
            "per_group = 4",
            "per_group = 3",
            "\"nodes.per_group\": 3, expected a multiple of nodes.per_switch",
        ),
        (
            "per_group = 4",
            "per_group = 0",
            "\"nodes.per_group\": 0, expected a whole number",
        ),
    ] {
        let error = read_machine(&CLASSES.replace(from, to)).expect_err("a refusal");
        assert!(error.to_string().contains(expected), "{error}");
    }
}
