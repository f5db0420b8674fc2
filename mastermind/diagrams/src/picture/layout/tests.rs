//! Properties of any layout: nothing overlaps, and frames contain their members.

use super::*;
use proptest::prelude::*;

fn plan(n: usize, edges: &[(usize, usize, bool)], groups: usize) -> Plan {
    let parent = |group: usize| (group >= 2).then_some(group % 2);
    Plan {
        boxes: (0..n)
            .map(|i| Box {
                before: 20.0 + (i % 5) as f64 * 10.0,
                behind: 30.0,
                along: 20.0 + (i % 3) as f64 * 10.0,
                group: (groups > 0 && i % 3 != 0).then(|| i % groups),
            })
            .collect(),
        edges: edges
            .iter()
            .map(|(from, to, label)| Edge {
                from: from % n,
                to: to % n,
                label: label.then_some([40.0, 16.0]),
            })
            .collect(),
        groups: (0..groups)
            .map(|group| Group {
                parent: parent(group),
                is_lane: false,
                across: 60.0,
            })
            .collect(),
        title: [16.0, 0.0],
    }
}

/// Begin and end of a node across, then along.
fn area(plan: &Plan, layout: &Layout, node: usize) -> [f64; 4] {
    let ([across, along], one) = (layout.boxes[node], plan.boxes[node]);
    let half = one.along / 2.0;
    [
        across - one.before,
        across + one.behind,
        along - half,
        along + half,
    ]
}

fn overlap(a: [f64; 4], b: [f64; 4]) -> bool {
    let e = 0.01;
    a[0] + e < b[1] && b[0] + e < a[1] && a[2] + e < b[3] && b[2] + e < a[3]
}

proptest! {
    #[test]
    fn nothing_lies_on_anything_else(
        n in 1..30_usize,
        edges in prop::collection::vec((0..30_usize, 0..30_usize, any::<bool>()), 0..50),
        groups in 0..5_usize,
    ) {
        let plan = plan(n, &edges, groups);
        let layout = layout(&plan);
        for a in 0..n {
            for b in 0..a {
                let (x, y) = (area(&plan, &layout, a), area(&plan, &layout, b));
                prop_assert!(!overlap(x, y), "{a} {x:?} and {b} {y:?}");
            }
            let x = area(&plan, &layout, a);
            for (group, frame) in layout.groups.iter().enumerate() {
                let mut own = plan.boxes[a].group;
                while own.is_some_and(|own| own != group) {
                    own = plan.groups[own.unwrap()].parent;
                }
                if own.is_some() {
                    prop_assert!(frame[0] <= x[0] && x[1] <= frame[1] && frame[2] <= x[2] && x[3] <= frame[3], "{a} {x:?} in {group} {frame:?}");
                } else {
                    prop_assert!(!overlap(x, *frame), "{a} {x:?} beside {group} {frame:?}");
                }
            }
        }
        for (edge, route) in plan.edges.iter().zip(&layout.edges) {
            if let (Some([across, along]), Some(room)) = (route.label, edge.label) {
                let label = [across, across + room[0], along - 8.0, along + 8.0];
                for a in 0..n {
                    prop_assert!(!overlap(label, area(&plan, &layout, a)), "a label on {a}");
                }
            }
        }
    }
}

#[test]
fn a_chain_is_straight() {
    let edges: Vec<_> = (0..20).map(|i| (i, i + 1, false)).collect();
    let layout = layout(&plan(21, &edges, 0));
    let first = layout.boxes[0][0];
    assert!(
        layout
            .boxes
            .iter()
            .all(|[across, _]| (across - first).abs() < 1e-6)
    );
}
