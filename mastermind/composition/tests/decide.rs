//! Which class a call goes to where models cross.

use mastermind_composition::{
    Call, Decisions, Nearby, Next, Seconds, Split, Workload, decide, model_name,
};
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

/// A workload that says the metric alone.
fn uncalled() -> Workload {
    Workload {
        metric: Metric::Wall,
        calls: Vec::new(),
    }
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
        &uncalled(),
        &Nearby::default(),
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
    // The same with the other one as the default: far outside of its range, from 1 to 30, it has all calls.
    let decisions = decide(
        &models,
        "solver",
        &classes(&["b", "a"]),
        METHOD,
        &uncalled(),
        &Nearby::default(),
    )
    .unwrap();
    assert_eq!(
        [7.0, 12.0, 30.0, 61.0].map(|q| of(&decisions, q, "round")),
        ["b", "a", "a", "b"]
    );
    assert_eq!(
        [0.4, 7.0, 30.0, 61.0].map(|q| of(&decisions, q, "square")),
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
    let decisions = decide_by(&models, &classes, &Nearby::default());
    let found = [2.0, 29.0, 32.0, 39.0].map(|q| of(&decisions, q, "round"));
    assert_eq!(found, ["b", "b", "a", "a"]);
}

/// "a" and "b" cross at 9, and 40 is the largest size that was measured.
#[test]
fn calls_a_little_larger_than_those_measured_go_where_the_largest_do() {
    let a = lines("a", 40, &[("round", 1.0, 2.0)]);
    let b = lines("b", 40, &[("round", 10.0, 1.0)]);
    let models = ModelSet {
        models: [a, b].concat(),
    };
    let decisions = decide_by(&models, &classes(&["a", "b"]), &Nearby::default());
    let found = [8.0, 10.0, 40.0, 79.0, 81.0].map(|q| of(&decisions, q, "round"));
    assert_eq!(found, ["a", "b", "b", "b", "a"]);
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
        &uncalled(),
        &Nearby::default(),
    )
    .unwrap();
    assert_eq!(decisions, Decisions::default());
}

fn decide_by(models: &ModelSet, classes: &[String], nearby: &Nearby) -> Decisions {
    decide(models, "solver", classes, METHOD, &uncalled(), nearby).unwrap()
}

/// Times of both classes at many sizes, as their models tell them but for a factor.
fn measured(factor: impl Fn(&str, f64) -> f64) -> Workload {
    let call = |class: &str, q: f64, seconds: f64| Call {
        instance: "solver".into(),
        class: class.into(),
        port_method: METHOD.into(),
        coordinate: Coordinate::new().with("q", q).with("kind", "round"),
        count: 10,
        measured_s: 10.0 * seconds,
        processor_s: 10.0 * seconds,
        computation_s: 10.0 * seconds,
        mpi_s: 0.0,
    };
    let sizes = (1..=40).map(f64::from);
    let both = sizes.flat_map(|q| {
        [("a", 10.0 + q), ("b", 12.0 + q)].map(|(class, s)| call(class, q, s * factor(class, q)))
    });
    Workload {
        metric: Metric::Wall,
        calls: both.collect(),
    }
}

/// By its formula "b" is slower everywhere; between 16 and 24 it was measured to take half as long.
#[test]
fn sizes_that_were_measured_correct_the_models_nearby() {
    let a = lines("a", 40, &[("round", 10.0, 1.0)]);
    let b = lines("b", 40, &[("round", 12.0, 1.0)]);
    let models = ModelSet {
        models: [a, b].concat(),
    };
    let classes = classes(&["a", "b"]);
    let near = |q: f64| (16.0..=24.0).contains(&q);
    let half = |class: &str, q: f64| if class == "b" && near(q) { 0.5 } else { 1.0 };
    let nearby = Nearby::of(&[measured(half)], &models, Seconds::Wall);
    assert!(nearby.is_known());
    let decisions = decide_by(&models, &classes, &nearby);
    for q in [18.0, 20.0, 22.0] {
        assert_eq!(of(&decisions, q, "round"), "b", "{q}");
    }
    for q in [2.0, 8.0, 34.0, 40.0] {
        assert_eq!(of(&decisions, q, "round"), "a", "{q}");
    }
    // Of another kind nothing was measured.
    let flat = Coordinate::new().with("q", 20.0).with("kind", "flat");
    assert_eq!(nearby.factor(&model_name("b", METHOD), &flat), 1.0);
    // Times that are off by chance, one up and the next down, tell nothing of one another.
    let chance = |_: &str, q: f64| if q % 2.0 == 0.0 { 1.3 } else { 0.75 };
    let nearby = Nearby::of(&[measured(chance)], &models, Seconds::Wall);
    assert!(!nearby.is_known());
    assert_eq!(decide_by(&models, &classes, &nearby).steps, []);
}

/// Two families of sizes, thin ones with a width of the root of `n` and thick ones with one of half of it, as matrices have; "a" takes
/// `n w`, "b" `4 n^(5/4)`, so that they cross at 256 for thin ones and at 16 for thick ones, and hardly any place of the ranges is called.
#[test]
fn sizes_that_depend_on_one_another_are_decided_where_they_lie() {
    let wide = |n: f64| [(n, n.sqrt()), (n, n / 2.0)];
    let time = |class: &str, n: f64, w: f64| {
        if class == "a" {
            n * w
        } else {
            4.0 * n.powf(1.25)
        }
    };
    let sizes: Vec<(f64, f64)> = (4..=24)
        .flat_map(|i| wide(2_f64.powf(f64::from(i) / 2.0)))
        .collect();
    let mut set = SampleSet::new(Metric::Wall);
    let parameters = [Parameter::real("n", ""), Parameter::real("w", "")];
    let mut calls = Vec::new();
    for class in ["a", "b"] {
        let method = set
            .declare(&model_name(class, METHOD), &parameters)
            .unwrap();
        for &(n, w) in &sizes {
            for off in [0.99, 1.01] {
                set.push(method, &[n, w], off * time(class, n, w)).unwrap();
            }
            let seconds = time(class, n, w);
            calls.push(Call {
                instance: "solver".into(),
                class: class.into(),
                port_method: METHOD.into(),
                coordinate: Coordinate::new().with("n", n).with("w", w),
                count: 1,
                measured_s: seconds,
                processor_s: seconds,
                computation_s: seconds,
                mpi_s: 0.0,
            });
        }
    }
    let samples = set.finish();
    let models = ModelSet {
        models: samples
            .iter()
            .flat_map(|samples| fit(samples).unwrap())
            .collect(),
    };
    let run = Workload {
        metric: Metric::Wall,
        calls,
    };
    // By runs that correct predictions, and by the workload alone.
    let nearby = Nearby::of(std::slice::from_ref(&run), &models, Seconds::Wall);
    for (workload, nearby) in [(uncalled(), nearby), (run, Nearby::default())] {
        let classes = classes(&["a", "b"]);
        let decisions = decide(&models, "solver", &classes, METHOD, &workload, &nearby).unwrap();
        // Of sizes that were recorded, and of those between them.
        for step in 17..96 {
            for (n, w) in wide(2_f64.powf(f64::from(step) / 8.0)) {
                let at = Coordinate::new().with("n", n).with("w", w);
                let class = decisions.class(&at).unwrap();
                let least = time("a", n, w).min(time("b", n, w));
                assert!(time(class, n, w) <= 1.1 * least, "{n} {w}: {class}");
            }
        }
    }
}
