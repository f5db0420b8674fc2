//! Trials at several sites at once.

use super::*;

/// Sites "a" and "b" with classes "A" and "B"; stored models predict that "B" is twice as fast.
#[expect(clippy::type_complexity, reason = "an opaque type can have no name")]
fn two_sites() -> (
    Adapter,
    impl FnMut(&mut Adapter, [(&str, f64); 2], bool) -> Vec<Decision>,
) {
    let assembly = ["a", "b"].map(|site| (site.to_owned(), "A".to_owned()));
    let classes = ["A", "B"].map(str::to_owned).to_vec();
    let alternatives = ["a", "b"].map(|site| (site.to_owned(), classes.clone()));
    let stored =
        |class: &str, _: &str, _: &Coordinate| Some(if class == "A" { 1e-3 } else { 5e-4 });
    let (assembly, alternatives) = (assembly.into(), alternatives.into());
    let adapter = Adapter::new(
        &assembly,
        &alternatives,
        &[],
        settings(0.02),
        Box::new(stored),
    );
    let (mut kinds, mut step) = (BTreeMap::new(), 0);
    // Classes of both sites, and the seconds of their calls.
    let decide = move |adapter: &mut Adapter, called: [(&str, f64); 2], was_stopped: bool| {
        step += 1;
        let batches = ["a", "b"]
            .into_iter()
            .zip(called)
            .map(|(site, (class, seconds))| {
                let kind = CallKind {
                    is_own: false,
                    instance: site.into(),
                    class: class.into(),
                    port_method: "p.m".into(),
                    coordinate: Coordinate::new().with("n", 100.0),
                };
                let kind = *kinds
                    .entry(kind.key())
                    .or_insert_with(|| adapter.add_kind(&kind));
                Batch {
                    kind,
                    step,
                    calls: CALLS,
                    failed: 0,
                    ln_mean: seconds.ln(),
                }
            });
        let batches: Vec<_> = batches.collect();
        adapter.decide(&Report {
            step,
            fraction: step as f64 / 1000.0,
            elapsed_s: 16e-3 * step as f64,
            ranks: 1,
            told: 1.0,
            batches: &batches,
            deciding_s: 0.0,
            may_try: true,
            stride: 1.0,
            was_stopped,
        })
    };
    (adapter, decide)
}

fn acts(decided: &[Decision]) -> Vec<(&str, Act, &str)> {
    let acts = decided.iter();
    acts.map(|d| (d.site.as_str(), d.act, d.to.as_str()))
        .collect()
}

/// With stored models, a run switches to the predicted best assembly after just enough calls to confirm them.
#[test]
fn classes_that_stored_models_say_are_faster_are_put_in_at_once_and_kept_soon() {
    let (mut adapter, mut decide) = two_sites();
    let begun = decide(&mut adapter, [("A", 1e-3), ("A", 1e-3)], false);
    assert_eq!(acts(&begun), [("a", Act::Try, "B"), ("b", Act::Try, "B")]);
    let kept = decide(&mut adapter, [("B", 5e-4), ("B", 5e-4)], false);
    assert_eq!(acts(&kept), [("a", Act::Keep, "B"), ("b", Act::Keep, "B")]);
}

#[test]
fn of_several_classes_on_trial_the_slowest_answers_for_a_step_that_was_stopped() {
    let (mut adapter, mut decide) = two_sites();
    decide(&mut adapter, [("A", 1e-3), ("A", 1e-3)], false);
    let stopped = decide(&mut adapter, [("B", 5e-4), ("B", 1.5e-3)], true);
    let expected = [
        ("a", Act::Back, "A"),
        ("b", Act::Back, "A"),
        ("a", Act::Try, "B"),
    ];
    assert_eq!(acts(&stopped), expected);
    assert!(
        stopped[1].reason.contains("stopped inside a step"),
        "{}",
        stopped[1]
    );
    let kept = decide(&mut adapter, [("B", 5e-4), ("A", 1e-3)], false);
    assert_eq!(acts(&kept), [("a", Act::Keep, "B")]);
}

/// The model predicts half the time of the given class; the class takes a hundred times that.
#[test]
fn models_that_calls_contradict_are_dropped_before_their_class_is_kept() {
    let (mut adapter, mut decide) = two_sites();
    decide(&mut adapter, [("A", 1e-3), ("A", 1e-3)], false);
    let seen = decide(&mut adapter, [("B", 1e-1), ("B", 5e-4)], false);
    let expected = [
        ("a", Act::Level, "B"),
        ("a", Act::Back, "A"),
        ("b", Act::Keep, "B"),
    ];
    assert_eq!(acts(&seen), expected, "{seen:#?}");
    assert!(
        seen[0]
            .reason
            .starts_with("200.000 times what its model predicts"),
        "{}",
        seen[0]
    );
    for _ in 0..50 {
        let later = decide(&mut adapter, [("A", 1e-3), ("B", 5e-4)], false);
        assert_eq!(acts(&later), [], "{later:#?}");
    }
}
