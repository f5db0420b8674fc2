//! Totals on a number of ranks, and of classes that were never seen side by side.

use std::collections::BTreeSet;

use mastermind_composition::{
    Alternatives, Assembly, BetweenRuns, Call, ChooseOptions, EarlierSpread, Error, RunTimes,
    Seconds, SeenPairs, Settings, SiteTime, SizedRun, Workload, choose_with, model_name,
    rank_effects, scale_workload,
};
use mastermind_models::{Coordinate, Metric, ModelSet, Parameter, SampleSet, fit};

/// Seconds of a call of `q` by a class, as its model was fitted: of both numbers of ranks together.
const MODELS: [(&str, &str, f64); 3] = [
    ("Mesh", "mesh.exchange", 1e-3),
    ("Slow", "flux.compute", 2e-3),
    ("Fast", "flux.compute", 1e-3),
];

fn models() -> ModelSet {
    let model = |(class, port_method, each): (&str, &str, f64)| {
        let mut set = SampleSet::new(Metric::Wall);
        let q = [Parameter::integer("q", "double")];
        let method = set.declare(&model_name(class, port_method), &q).unwrap();
        for q in 1..=9 {
            let q = f64::from(q);
            for off in [0.999, 1.001] {
                set.push(method, &[q], each * q * off).unwrap();
            }
        }
        fit(&set.finish()[0]).unwrap().remove(0)
    };
    ModelSet {
        models: MODELS.map(model).into(),
    }
}

/// What a run takes: the flux as its model tells on any number of ranks, the mesh `1 + wait` times as much.
fn run(size: f64, ranks: f64, wait: f64) -> SizedRun {
    let call = |instance: &str, class: &str, port_method: &str, seconds: f64| Call {
        instance: instance.into(),
        class: class.into(),
        port_method: port_method.into(),
        coordinate: Coordinate::new().with("q", size),
        count: 100,
        measured_s: 100.0 * seconds,
        processor_s: 100.0 * seconds,
    };
    SizedRun {
        settings: [("mesh.n".to_owned(), size), ("ranks".to_owned(), ranks)].into(),
        workload: Workload {
            metric: Metric::Wall,
            calls: vec![
                call("flux", "Slow", "flux.compute", 2e-3 * size),
                call("mesh", "Mesh", "mesh.exchange", 1e-3 * size * (1.0 + wait)),
            ],
        },
    }
}

/// One rank waits for nothing, two wait for half of what a call takes, the less the larger the mesh is.
fn runs() -> Vec<SizedRun> {
    let sizes = [2.0, 4.0, 8.0];
    let of = |ranks: f64| sizes.map(|n| run(n, ranks, if ranks > 1.0 { 2.0 / n } else { 0.0 }));
    [of(1.0), of(2.0)].concat()
}

fn wanted(size: f64, ranks: f64) -> Settings {
    [("mesh.n".to_owned(), size), ("ranks".to_owned(), ranks)].into()
}

fn assembly() -> Assembly {
    [("flux", "Slow"), ("mesh", "Mesh")]
        .map(|(instance, class)| (instance.to_owned(), class.to_owned()))
        .into()
}

fn alternatives() -> Alternatives {
    Alternatives::from([("flux".into(), vec!["Slow".into(), "Fast".into()])])
}

#[test]
fn what_two_ranks_wait_is_told_by_runs_on_two_ranks() {
    let (runs, models) = (runs(), models());
    let told = |size: f64, ranks: f64| {
        let wanted = wanted(size, ranks);
        let options = ChooseOptions {
            rank_effects: rank_effects(&runs, &wanted, &models, Seconds::Wall).unwrap(),
            ..ChooseOptions::default()
        };
        let scaled = scale_workload(&runs, &wanted).unwrap();
        choose_with(
            &scaled.workload,
            &alternatives(),
            &assembly(),
            &models,
            &options,
        )
        .unwrap()
    };
    // 100 calls of 8: 1.6 s of the flux, 0.8 s of the mesh, and a quarter more of that on two ranks.
    let one = told(8.0, 1.0);
    assert!(
        (one.current_s / 2.4 - 1.0).abs() < 0.01,
        "{}",
        one.current_s
    );
    let two = told(8.0, 2.0);
    assert!(
        (two.current_s / 2.6 - 1.0).abs() < 0.02,
        "{}",
        two.current_s
    );
    // The flux waits for nobody, so that the other class is as much faster as it is.
    assert!(
        (two.predicted_s / 1.8 - 1.0).abs() < 0.02,
        "{}",
        two.predicted_s
    );
    assert_eq!(two.best["flux"], "Fast");
    assert!(
        two.rank_effects["mesh"].ratio > 1.2,
        "{:?}",
        two.rank_effects
    );
    // A size more, where the wait is half as long: 3.2 s, 1.6 s and 0.2 s.
    let larger = told(16.0, 2.0);
    assert!(
        (larger.current_s / 5.0 - 1.0).abs() < 0.03,
        "{}",
        larger.current_s
    );
}

#[test]
fn ranks_that_no_run_had_are_refused() {
    let (runs, models) = (runs(), models());
    let refused = rank_effects(&runs, &wanted(8.0, 4.0), &models, Seconds::Wall).unwrap_err();
    assert!(matches!(&refused, Error::RanksNotRun { wanted: 4, found } if *found == [1, 2]));
    let text = refused.to_string();
    assert!(
        text.starts_with("cannot predict 4 ranks: the runs have 1, 2, expected one with 4; "),
        "{text}"
    );
    // Models of one number of ranks are of that one.
    let two = runs.into_iter().filter(|run| run.settings["ranks"] == 2.0);
    let two: Vec<_> = two.collect();
    let effects = rank_effects(&two, &wanted(16.0, 2.0), &models, Seconds::Wall).unwrap();
    assert_eq!(effects.len(), 0);
}

/// The run shows the slow flux with the mesh, so that the fast one with it is a pair that nobody has seen.
#[test]
fn a_pair_that_was_never_seen_makes_the_interval_wider() {
    let time = |class: &str| SiteTime {
        class: class.into(),
        seconds: 1.0,
    };
    let seen: RunTimes = [("flux", "Slow"), ("mesh", "Mesh")]
        .map(|(instance, class)| (instance.to_owned(), time(class)))
        .into();
    let joined = BTreeSet::from([["flux".to_owned(), "mesh".to_owned()]]);
    let mut pairs = SeenPairs::of(&[seen], &joined);
    let told = |pairs: Option<SeenPairs>| {
        let earlier = EarlierSpread {
            deviation: 0.02,
            freedom: 20.0,
        };
        let options = ChooseOptions {
            between_runs: BetweenRuns::pooled(&[], Some(earlier)),
            pairs,
            ..ChooseOptions::default()
        };
        let workload = run(8.0, 1.0, 0.0).workload;
        choose_with(&workload, &alternatives(), &assembly(), &models(), &options).unwrap()
    };
    let half_width =
        |ends: Option<[f64; 2]>| ends.map(|[low, high]| (high / low).ln() / 2.0).unwrap();
    let unseen = told(Some(pairs.clone()));
    assert_eq!(unseen.best["flux"], "Fast");
    assert_eq!(unseen.unseen_pairs.len(), 1, "{:?}", unseen.unseen_pairs);
    assert_eq!(unseen.unseen_pairs[0].classes, ["Fast", "Mesh"]);
    // 5 % of 0.8 s each, of 1.6 s together.
    assert!(
        (unseen.unseen_pairs_s - 0.04 * 2_f64.sqrt()).abs() < 1e-3,
        "{}",
        unseen.unseen_pairs_s
    );
    pairs.see(&unseen.best);
    let seen = told(Some(pairs));
    assert_eq!(seen.unseen_pairs.len(), 0);
    let (wide, narrow) = (half_width(unseen.interval_s), half_width(seen.interval_s));
    assert!(wide > 1.5 * narrow, "{wide}, {narrow}");
    assert_eq!(told(None).interval_s, seen.interval_s);
    assert_eq!(unseen.predicted_s, seen.predicted_s);
}
