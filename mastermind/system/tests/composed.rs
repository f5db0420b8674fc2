//! Requests and profiles: matches, and the reports for requests that match nothing.

use mastermind_system::Problem;

use super::{problems, with_graph};

/// A task on a processor that waits for messages, with a placeholder for the tested parts.
fn pair(select: &str, with: &str, formula: &str) -> String {
    format!(
        r#"
        [units]
        cell = {{}}
        block = {{ count = "10", of = "cell" }}
        [components.task]
        domain = "application"
        kind = "task"
        requests.core = {{ select = {{ {select} }}, with = {{ {with} }} }}
        methods = [{{ formula = "{formula}" }}]
        [components.slow]
        domain = "hardware"
        kind = "processor"
        attributes = {{ clock = "1 GHz", maker = "a" }}
        accepts = {{ cells = "cell" }}
        methods = [{{ formula = "us(1)" }}]
        [components.fast]
        domain = "hardware"
        kind = "processor"
        attributes = {{ clock = "3 GHz", maker = "b" }}
        accepts = {{ cells = "cell" }}
        methods = [{{ formula = "us(1) * (cells / (1 * cell))" }}]
        "#
    )
}

const CELLS: &str = "cells = \"3 * block\"";

#[test]
fn a_selector_is_a_condition_over_profiles() {
    for select in [
        "name = \"fast\"",
        "domain = \"hardware\", clock = \"> 2000 MHz\"",
        "kind = \"processor\", maker = \"!= a\"",
        "kind = \"processor\", clock = \"3 GHz\"",
        "clock = \"<= 3 GHz\", maker = \"b\", method = \"formula\"",
    ] {
        with_graph(&pair(select, CELLS, "core"), &[], |graph, _| {
            let edge = &graph.edges[0];
            assert_eq!(graph.component(edge.to).name, "fast", "{select}");
        });
    }
}

#[test]
fn what_matches_nothing_or_several_is_named_with_what_is_nearest() {
    let found = problems(&pair(
        "kind = \"processor\", clock = \"> 5 GHz\"",
        CELLS,
        "us(1)",
    ));
    let [
        Problem::NoMatch {
            request,
            owner,
            nearest,
            ..
        },
    ] = &found[..]
    else {
        panic!("{found:?}");
    };
    assert_eq!((&**request, &**owner), ("core", "task"));
    assert!(nearest.contains("clock is"), "{nearest}");
    let found = problems(&pair("kind = \"processor\"", CELLS, "us(1)"));
    let [Problem::SeveralMatches { found: names, .. }] = &found[..] else {
        panic!("{found:?}");
    };
    assert_eq!(names, "fast, slow");
    // An empty selector matches anything.
    let found = problems(&pair("", CELLS, "us(1)"));
    assert!(
        matches!(found[..], [Problem::SeveralMatches { .. }]),
        "{found:?}"
    );
    // A number in another unit is never equal.
    let found = problems(&pair("clock = \"3 B\"", CELLS, "us(1)"));
    assert!(matches!(found[..], [Problem::NoMatch { .. }]), "{found:?}");
}

#[test]
fn parameters_must_conform() {
    let fast = "name = \"fast\"";
    let found = problems(&pair(fast, "", "core"));
    assert!(matches!(found[..], [Problem::Missing { .. }]), "{found:?}");
    let found = problems(&pair(fast, "cells = \"3 * block\", n = 1", "core"));
    assert!(
        matches!(found[..], [Problem::Unaccepted { .. }]),
        "{found:?}"
    );
    for with in ["cells = 3", "cells = \"3 * B\""] {
        let found = problems(&pair(fast, with, "core"));
        assert!(
            matches!(found[..], [Problem::Units { .. }]),
            "{with}: {found:?}"
        );
    }
    // Blocks are cells by a rule.
    assert!(problems(&pair(fast, CELLS, "core")).is_empty());
}

#[test]
fn formulas_are_checked_before_anything_is_evaluated() {
    let fast = "name = \"fast\"";
    for formula in ["core + missing", "core + latency(core)", "core + foo(1)"] {
        let found = problems(&pair(fast, CELLS, formula));
        assert!(
            matches!(found[..], [Problem::Formula { .. }]),
            "{formula}: {found:?}"
        );
    }
    let found = problems(&pair(fast, CELLS, "core * core"));
    assert!(matches!(found[..], [Problem::Units { .. }]), "{found:?}");
    assert!(problems(&pair(fast, CELLS, "2 / clock(core) + core")).is_empty());
}

#[test]
fn all_problems_are_reported_at_once() {
    let text = r#"
        [parameters]
        a = "b + 1"
        b = "a + 1"
        [components.one]
        domain = "application"
        kind = "task"
        requests.two = { select = { name = "two" } }
        then.three = { select = { kind = "processor" } }
        [components.two]
        domain = "application"
        kind = "task"
        requests.one = { select = { name = "one" } }
        methods = [{ simulate = "missing", on = "nobody" }]
        [components.three]
        domain = "hardware"
        kind = "processor"
        machine = "other.toml"
        [components.four]
        domain = "hardware"
        kind = "disk"
        requests.task = { select = { name = "two" } }
        methods = [{ constant = 5 }]
        "#;
    let found = problems(text);
    let has = |is: fn(&Problem) -> bool| assert!(found.iter().any(is), "{found:?}");
    has(|one| matches!(one, Problem::Circle { circle } if circle == "one -> two -> one"));
    has(|one| matches!(one, Problem::Formula { place, .. } if place == "parameter \"a\""));
    has(|one| matches!(one, Problem::Domain { request, .. } if request == "three"));
    has(|one| matches!(one, Problem::Domain { request, .. } if request == "task"));
    has(|one| matches!(one, Problem::Tool { place, .. } if place.contains("machine of")));
    has(|one| matches!(one, Problem::Tool { place, .. } if place.contains("method")));
    has(|one| matches!(one, Problem::NoMachine { found, .. } if found.contains("nobody")));
    has(|one| matches!(one, Problem::NoTotal { .. }));
    has(|one| matches!(one, Problem::Units { place, .. } if place.contains("four")));
}

#[test]
fn what_the_total_needs_nothing_of_is_known() {
    let text = pair("name = \"fast\"", CELLS, "core");
    with_graph(&text, &[], |graph, _| assert_eq!(graph.unused(), ["slow"]));
}
