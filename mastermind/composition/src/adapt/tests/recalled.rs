//! Runs that start from the estimates of an earlier run.

use super::*;

/// Seconds per unit of size.
const COST_S: [f64; 3] = [2e-6, 1e-6, 9e-6];

fn after_a_run() -> Learned {
    let mut first = World::new(3, 0.02, 1, |_| None);
    first.step(400, &COST_S, 1.0);
    for _ in 0..399 {
        first.step(400, &COST_S, 1.0);
    }
    assert_eq!(first.class, 1, "{:#?}", first.decisions);
    let text = serde_json::to_string(&first.adapter.learned()).expect("JSON");
    serde_json::from_str(&text).expect("what was written")
}

fn acts(world: &World) -> Vec<(Act, &str)> {
    let acts = world.decisions.iter();
    acts.map(|d| (d.act, d.to.as_str())).collect()
}

/// The machine is slower as a whole than in the earlier run.
#[test]
fn the_fastest_class_is_put_in_at_once_and_the_slowest_not_tried() {
    let learned = after_a_run();
    let mut second = World::new(3, 0.02, 2, |_| None);
    second.adapter.recall(&learned);
    for _ in 0..100 {
        second.step(100, &COST_S, 1.4);
    }
    assert_eq!(
        acts(&second),
        [(Act::Try, "B"), (Act::Keep, "B")],
        "{:#?}",
        second.decisions
    );
    let kept = &second.decisions[1];
    assert!(kept.step <= 4, "{kept}");
}

#[test]
fn what_is_not_so_any_more_is_found_out() {
    let learned = after_a_run();
    let mut second = World::new(3, 0.02, 2, |_| None);
    second.adapter.recall(&learned);
    for _ in 0..100 {
        second.step(100, &[1e-6, 3e-6, 9e-6], 1.0);
    }
    assert_eq!(second.class, 0, "{:#?}", second.decisions);
}

#[test]
fn what_was_learned_of_a_class_is_forgotten_alone() {
    let mut learned = after_a_run();
    learned.forget("B");
    let mut second = World::new(3, 0.02, 2, |_| None);
    second.adapter.recall(&learned);
    for _ in 0..400 {
        second.step(400, &COST_S, 1.0);
    }
    let tried = acts(&second);
    assert!(tried.contains(&(Act::Keep, "B")), "{tried:?}");
    assert!(!tried.contains(&(Act::Try, "C")), "{tried:?}");
    let other = Learned::default();
    assert!(other.is_empty() && !learned.is_empty());
}
