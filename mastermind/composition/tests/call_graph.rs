//! Call graphs counted by hand.

use std::collections::BTreeSet;

use mastermind_composition::{CallGraph, OwnTime, VertexId};

fn compute(compute_s: f64) -> OwnTime {
    OwnTime {
        compute_s,
        mpi_s: 0.0,
    }
}

/// `main` calls `a` and `b`, each of which calls `c`; a rank adds `scale` times the time.
fn add_rank(graph: &mut CallGraph, scale: f64) -> [VertexId; 5] {
    let main = graph.vertex(None, "driver", "go.run");
    let a = graph.vertex(Some(main), "a", "p.m");
    let b = graph.vertex(Some(main), "b", "p.m");
    let below_a = graph.vertex(Some(a), "c", "p.m");
    let below_b = graph.vertex(Some(b), "c", "p.m");
    graph.add_call(main, compute(scale), []);
    graph.add_call(a, compute(10.0 * scale), [("n", 1.0)]);
    graph.add_call(
        b,
        OwnTime {
            compute_s: 0.1 * scale,
            mpi_s: 0.1 * scale,
        },
        [],
    );
    for n in [2.0, 4.0, 6.0] {
        graph.add_call(below_a, compute(scale), [("n", n), ("m", -n)]);
    }
    graph.add_call(below_b, compute(0.2 * scale), [("n", 100.0)]);
    [main, a, b, below_a, below_b]
}

#[test]
fn ranks_are_merged_and_paths_kept_apart() {
    let mut graph = CallGraph::new();
    let first = add_rank(&mut graph, 1.0);
    assert_eq!(first, add_rank(&mut graph, 2.0));
    let [main, a, b, below_a, below_b] = first;
    assert_eq!(graph.vertices().count(), 5);
    assert_eq!(
        (
            graph.calls(main).count,
            graph.calls(below_a).count,
            graph.calls(below_b).count
        ),
        (2, 6, 2)
    );
    let n = graph.calls(below_a).parameters["n"];
    assert_eq!((n.count, n.least, n.most, n.mean), (6, 2.0, 6.0, 4.0));
    assert!((n.deviation() - (8.0_f64 / 3.0).sqrt()).abs() < 1e-12);
    assert!((graph.inclusive_s(main) - 3.0 * 14.4).abs() < 1e-12);
    assert!((graph.inclusive_s(b) - 3.0 * 0.4).abs() < 1e-12);
    assert_eq!((graph.caller(below_a), graph.caller(main)), (Some(a), None));
    let json = serde_json::to_value(&graph).unwrap();
    assert_eq!(
        (&json[3]["caller"], &json[3]["calls"]["count"]),
        (&1.into(), &6.into())
    );
}

/// `b` takes 0.4 of the 13.4 s below `main`: less than 0.1 of the mean of the two, so it goes, and with it what it calls.
#[test]
fn the_two_rules_of_pruning() {
    let mut graph = CallGraph::new();
    let [_, _, b, below_a, below_b] = add_rank(&mut graph, 1.0);
    assert_eq!(graph.minor(0.1, 0.1), [b, below_b]);
    // "c" is called from "a" too, where it matters.
    assert_eq!(
        graph.minor_instances(0.1, 0.1),
        BTreeSet::from(["b".into()])
    );
    assert_eq!(graph.minor(0.1, 0.05), []);
    // 3 of the 13 s of `a` are below it.
    assert_eq!(graph.minor(0.3, 0.05), [below_a]);
}

#[test]
fn recursion_is_found() {
    let mut graph = CallGraph::new();
    let [_, a, ..] = add_rank(&mut graph, 1.0);
    assert_eq!(graph.recursive(), []);
    let c = graph.vertex(Some(a), "c", "p.m");
    let again = graph.vertex(Some(c), "a", "p.m");
    assert_eq!(graph.recursive(), [again]);
}
