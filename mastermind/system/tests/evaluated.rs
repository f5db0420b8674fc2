//! Values of systems: units, data flow, intervals, comparisons.

use std::collections::BTreeMap;

use mastermind_system::{Comparison, Evaluation, Problem, evaluate};

use super::{Sums, evaluated, with_graph};

fn close(found: f64, expected: f64) {
    assert!(
        (found - expected).abs() <= 1e-9 * expected.abs(),
        "{found} {expected}"
    );
}

fn interval(found: &Evaluation) -> [f64; 2] {
    found.interval.expect("an interval")
}

const TWO: &str = r#"
    [parameters]
    n = 4
    [components.task]
    domain = "application"
    kind = "task"
    requests.a = { select = { name = "a" } }
    requests.b = { select = { name = "b" } }
    methods = [{ formula = "n * a + b" }]
    [components.a]
    domain = "hardware"
    kind = "processor"
    returns = "ms"
    methods = [{ constant = "2 ms", interval = ["1 ms", "2.5 ms"] }]
    [components.b]
    domain = "hardware"
    kind = "disk"
    methods = [{ constant = "10 ms", interval = ["7 ms", "14 ms"] }]
    "#;

#[test]
fn independent_intervals_are_added_as_squares() {
    let found = evaluated(TWO, &[], Comparison::None);
    close(found.value, 18e-3);
    // 4 × 1 ms and 3 ms below, 4 × 0.5 ms and 4 ms above.
    let [lower, upper] = interval(&found);
    close(lower, 18e-3 - 5e-3);
    close(upper, 18e-3 + (4e-6_f64 + 16e-6).sqrt());
    assert!(found.without_interval.is_empty());
    // A parameter takes a value with another unit, or a formula.
    close(
        evaluated(TWO, &[("n", "2 * 3")], Comparison::None).value,
        22e-3,
    );
}

#[test]
fn an_interval_that_is_asked_for_twice_is_moved_at_once() {
    let text = TWO.replace("{ name = \"b\" }", "{ name = \"a\" }");
    let text = text.replace("n * a + b", "n * a - b");
    let found = evaluated(&text, &[], Comparison::None);
    close(found.value, 6e-3);
    // 3 × 1 ms below and 3 × 0.5 ms above: the subtracted part moves along.
    let [lower, upper] = interval(&found);
    close(lower, 3e-3);
    close(upper, 7.5e-3);
    // One component with one value is one row.
    let of_a = found.nodes.iter().find(|node| node.requests == 2);
    assert!(of_a.is_some(), "{found:?}");
}

#[test]
fn an_interval_without_an_end_stays_without() {
    let text = TWO.replace(
        "constant = \"10 ms\", interval = [\"7 ms\", \"14 ms\"]",
        "model = \"open\", models = \"m.json\", at = { x = 1 }",
    );
    let [lower, upper] = interval(&evaluated(&text, &[], Comparison::None));
    assert!(
        lower.is_finite() && upper == f64::INFINITY,
        "{lower} {upper}"
    );
}

#[test]
fn what_is_not_known_to_be_off_is_listed() {
    let text = TWO.replace(", interval = [\"1 ms\", \"2.5 ms\"]", "");
    let found = evaluated(&text, &[], Comparison::None);
    with_graph(&text, &[], |graph, _| {
        let [place] = found.without_interval[..] else {
            panic!("{found:?}");
        };
        assert_eq!(graph.component(place).name, "a");
    });
}

#[test]
fn the_total_is_the_longest_path_of_the_data_flow() {
    let task = |name: &str, ms: u32, then: &str| {
        format!(
            "[components.{name}]\ndomain = \"application\"\nkind = \"task\"\n\
             methods = [{{ constant = \"{ms} ms\" }}]\n{then}\n"
        )
    };
    let to = |name: &str| format!("then.{name} = {{ select = {{ name = \"{name}\" }} }}\n");
    let text = task("first", 1, &(to("left") + &to("right")))
        + &task("left", 20, &to("last"))
        + &task("right", 3, &to("last"))
        + &task("last", 5, "");
    let found = evaluated(&text, &[], Comparison::None);
    close(found.value, 26e-3);
}

fn compared(cheap: f64, bound: f64) -> Evaluation {
    let text = format!(
        r#"
        [cross_check]
        bound = {bound}
        [components.task]
        domain = "application"
        kind = "task"
        methods = [{{ name = "cheap", constant = "{cheap} s" }}, {{ name = "middle", constant = "0.95 s" }}, {{ name = "dear", constant = "1 s" }}]
        "#
    );
    evaluated(&text, &[], Comparison::All)
}

#[test]
fn the_cheapest_method_within_the_bound_stands_in_for_the_dearest() {
    for (cheap, bound, expected) in [
        (0.99, 0.02, 0),
        (0.5, 0.06, 1),
        (0.5, 0.02, 2),
        (1.5, 0.5, 0),
    ] {
        let found = compared(cheap, bound);
        let node = &found.nodes[0];
        assert_eq!(node.used, expected, "{cheap} {bound}");
        close(found.value, node.methods[expected].value);
        close(
            node.methods[0].difference.expect("a difference"),
            cheap - 1.0,
        );
    }
}

#[test]
fn a_selector_and_a_choice_say_which_method_counts() {
    let text = r#"
        [components.task]
        domain = "application"
        kind = "task"
        requests.core = { select = { kind = "processor", method = "dear" } }
        methods = [{ formula = "core" }]
        [components.core]
        domain = "hardware"
        kind = "processor"
        methods = [{ name = "cheap", constant = "1 s" }, { name = "dear", constant = "2 s" }]
        "#;
    close(evaluated(text, &[], Comparison::None).value, 2.0);
    // Though both were compared, the selector's method counts.
    close(evaluated(text, &[], Comparison::All).value, 2.0);
    with_graph(text, &[], |graph, scope| {
        let chosen = BTreeMap::from([(0, 0)]);
        let found = evaluate(graph, scope, &Sums, &chosen, Comparison::None).expect("a value");
        close(found.value, 1.0);
    });
}

#[test]
fn networks_are_solved() {
    let text = r#"
        [parameters]
        users = 1
        [components.task]
        domain = "application"
        kind = "task"
        [[components.task.methods]]
        queue = "ranks"
        solver = "exact"
        classes.ranks = { customers = "users", think = "ms(3)" }
        stations.disk = { demand = { ranks = "ms(2)" } }
        stations.wire = { delay = true, demand = { ranks = "ms(1)" } }
        "#;
    // A single customer never waits; many wait for the disk.
    close(evaluated(text, &[], Comparison::None).value, 6e-3);
    let many = evaluated(text, &[("users", "100")], Comparison::None).value;
    assert!((many / 0.2 - 1.0).abs() < 1e-6, "{many}");
    for users in ["0", "1.5", "-1"] {
        let failed = with_graph(text, &[("users", users)], |graph, scope| {
            evaluate(graph, scope, &Sums, &BTreeMap::new(), Comparison::None)
        });
        assert!(matches!(failed, Err(Problem::Value { .. })), "{failed:?}");
    }
}

#[test]
fn a_value_that_is_none_is_refused() {
    for formula in ["n * a - b", "a / (n - 4)", "sqrt(n - 5) * a"] {
        let text = TWO.replace("n * a + b", formula);
        let set = [("n", "4")];
        let failed = with_graph(&text, &set, |graph, scope| {
            evaluate(graph, scope, &Sums, &BTreeMap::new(), Comparison::None)
        });
        assert!(
            matches!(failed, Err(Problem::Value { .. })),
            "{formula}: {failed:?}"
        );
    }
    let text = TWO.replace("[\"7 ms\", \"14 ms\"]", "[\"11 ms\", \"14 ms\"]");
    let failed = with_graph(&text, &[], |graph, scope| {
        evaluate(graph, scope, &Sums, &BTreeMap::new(), Comparison::None)
    });
    assert!(matches!(failed, Err(Problem::Value { .. })), "{failed:?}");
}
