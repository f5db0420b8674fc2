//! Which class a call goes to where models cross.

use mastermind_composition::{Decisions, Next, Split, decide, model_name};
use mastermind_models::{Coordinate, Metric, Model, ModelSet, Parameter, SampleSet, fit};

const METHOD: &str = "solver.solve";

/// Models of a class, one for each kind: `a + b q` for q from 1 to `last`, each call off by a hundredth.
fn lines(class: &str, last: u32, kinds: &[(&str, f64, f64)]) -> Vec<Model> {
    let mut set = SampleSet::new(Metric::Wall);
    let kind = Parameter::enumeration("kind", &["round", "square", "flat"]);
    let parameters = [Parameter::integer("q", ""), kind];
    let method = set
        .declare(&model_name(class, METHOD), &parameters)
        .unwrap();
    for (place, (_, a, b)) in kinds.iter().enumerate() {
        for q in 1..=last {
            let q = f64::from(q);
            for off in [0.99, 1.01] {
                set.push(method, &[q, place as f64], off * (a + b * q))
                    .unwrap();
            }
        }
    }
    set.finish()
        .iter()
        .flat_map(|samples| fit(samples).unwrap())
        .collect()
}

fn classes(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn of<'a>(decisions: &'a Decisions, q: f64, kind: &str) -> &'a str {
    let coordinate = Coordinate::new().with("q", q).with("kind", kind);
    decisions.class(&coordinate).unwrap_or("none")
}

/// "a" is 10 + q, "b" 1 + 2 q for round and 50 + q for square: they cross at q = 9 in one kind and nowhere in the other.
#[test]
fn a_call_goes_to_the_class_that_is_faster_there() {
    let a = lines("a", 40, &[("round", 10.0, 1.0), ("square", 10.0, 1.0)]);
    let b = lines("b", 30, &[("round", 1.0, 2.0), ("square", 50.0, 1.0)]);
    let models = ModelSet {
        models: [a, b].concat(),
    };
    let decisions = decide(
        &models,
        "solver",
        &classes(&["a", "b", "unknown"]),
        METHOD,
        &Metric::Wall,
    )
    .unwrap();
    for q in 1..8 {
        assert_eq!(of(&decisions, f64::from(q), "round"), "b", "{q}");
    }
    for q in [10.0, 29.0, 35.0, 40.0, 41.0, 0.0, 1e9] {
        assert_eq!(of(&decisions, q, "round"), "a", "{q}");
        assert_eq!(of(&decisions, q, "square"), "a", "{q}");
    }
    // A kind that nobody measured is nobody's but the default's.
    assert_eq!(of(&decisions, 5.0, "flat"), "none");
    let Split::Labels(labels) = &decisions.steps[0].split else {
        panic!("kinds first: {decisions:?}");
    };
    assert_eq!(labels, &["round", "square"]);
    assert_eq!(decisions.steps[0].next[1], Next::Class("a".into()));
    // The same with the other one as the default: outside of its range, from 1 to 30, it has all calls.
    let decisions = decide(
        &models,
        "solver",
        &classes(&["b", "a"]),
        METHOD,
        &Metric::Wall,
    )
    .unwrap();
    assert_eq!(
        [7.0, 12.0, 30.0, 31.0].map(|q| of(&decisions, q, "round")),
        ["b", "a", "a", "b"]
    );
    assert_eq!(
        [0.5, 7.0, 30.0, 31.0].map(|q| of(&decisions, q, "square")),
        ["b", "a", "a", "b"]
    );
}

/// "b" is faster at every size, and was measured up to 30 only.
#[test]
fn a_class_gets_no_calls_of_sizes_that_it_was_not_measured_at() {
    let a = lines("a", 40, &[("round", 10.0, 2.0)]);
    let b = lines("b", 30, &[("round", 1.0, 1.0)]);
    let models = ModelSet {
        models: [a, b].concat(),
    };
    let classes = classes(&["a", "b"]);
    let decisions = decide(&models, "solver", &classes, METHOD, &Metric::Wall).unwrap();
    let found = [2.0, 29.0, 32.0, 39.0].map(|q| of(&decisions, q, "round"));
    assert_eq!(found, ["b", "b", "a", "a"]);
}

/// Two that differ by less than is worth a table.
#[test]
fn what_is_as_fast_stays_where_it_is() {
    let a = lines("a", 12, &[("round", 10.0, 1.0)]);
    let b = lines("b", 12, &[("round", 9.999, 1.0)]);
    let models = ModelSet {
        models: [a, b].concat(),
    };
    let decisions = decide(
        &models,
        "solver",
        &classes(&["a", "b"]),
        METHOD,
        &Metric::Wall,
    )
    .unwrap();
    assert_eq!(decisions, Decisions::default());
}
