//! Totals on a number of ranks, and of classes that were never seen side by side.

use std::collections::BTreeSet;

use mastermind_composition::{
    Alternatives, Assembly, BetweenRuns, Call, Choice, ChooseOptions, EarlierSpread, Error,
    RunTimes, Seconds, SeenPairs, Settings, SiteTime, SizedRun, Workload, choose_with, model_name,
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

/// Whether what a rank waits for is measured: in the time in MPI that calls spend, or as if they computed.
#[derive(Clone, Copy, PartialEq)]
enum Waits {
    InMpi,
    Unmeasured,
}

/// What a run takes: the flux as its model tells on any number of ranks, the mesh `1 + wait` times as much.
fn run(size: f64, ranks: f64, wait: f64, waits: Waits) -> SizedRun {
    let call = |instance: &str, class: &str, port_method: &str, seconds: f64, mpi_s: f64| Call {
        instance: instance.into(),
        class: class.into(),
        port_method: port_method.into(),
        coordinate: Coordinate::new().with("q", size),
        count: 100,
        measured_s: 100.0 * (seconds + mpi_s),
        processor_s: 100.0 * (seconds + mpi_s),
        computation_s: 100.0 * seconds,
        mpi_s: 100.0 * mpi_s,
    };
    let (mesh_s, wait_s) = (1e-3 * size, 1e-3 * size * wait);
    let (mesh_s, wait_s) = match waits {
        Waits::InMpi => (mesh_s, wait_s),
        Waits::Unmeasured => (mesh_s + wait_s, 0.0),
    };
    SizedRun {
        settings: [("mesh.n".to_owned(), size), ("ranks".to_owned(), ranks)].into(),
        workload: Workload {
            metric: Metric::Wall,
            calls: vec![
                call("flux", "Slow", "flux.compute", 2e-3 * size, 0.0),
                call("mesh", "Mesh", "mesh.exchange", mesh_s, wait_s),
            ],
        },
        processors: Some(2),
    }
}

/// One rank waits for nothing, two wait for half of what a call takes, the less the larger the mesh is.
fn runs(waits: Waits) -> Vec<SizedRun> {
    let sizes = [2.0, 4.0, 8.0];
    let wait = |n: f64, ranks: f64| if ranks > 1.0 { ranks / n } else { 0.0 };
    let of = |ranks: f64| sizes.map(|n| run(n, ranks, wait(n, ranks), waits));
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

/// Quiet runs: the interval is of the parts that ranks add, and hardly of more.
fn told(runs: &[SizedRun], size: f64, ranks: f64) -> Choice {
    let (models, wanted) = (models(), wanted(size, ranks));
    let earlier = EarlierSpread {
        deviation: 0.01,
        freedom: 20.0,
    };
    let options = ChooseOptions {
        rank_effects: rank_effects(runs, &wanted, &models, Seconds::Wall).unwrap(),
        between_runs: BetweenRuns::pooled(&[], Some(earlier)),
        ..ChooseOptions::default()
    };
    let workload = scale_workload(runs, &wanted).unwrap().workload;
    choose_with(&workload, &alternatives(), &assembly(), &models, &options).unwrap()
}

fn assert_near(found: f64, expected: f64, within: f64) {
    assert!(
        (found / expected - 1.0).abs() < within,
        "{found}, {expected}"
    );
}

#[test]
fn what_two_ranks_wait_is_told_by_runs_on_two_ranks() {
    for waits in [Waits::InMpi, Waits::Unmeasured] {
        let runs = runs(waits);
        // 100 calls of 8: 1.6 s of the flux, 0.8 s of the mesh, and a quarter more of that on two ranks.
        assert_near(told(&runs, 8.0, 1.0).current_s, 2.4, 0.01);
        let two = told(&runs, 8.0, 2.0);
        assert_near(two.current_s, 2.6, 0.02);
        // The flux waits for nobody, so that the other class is as much faster as it is.
        assert_near(two.predicted_s, 1.8, 0.02);
        assert_eq!(two.best["flux"], "Fast");
        // A size more, where the wait is half as long: 3.2 s, 1.6 s and 0.2 s.
        let larger = told(&runs, 16.0, 2.0);
        assert_near(larger.current_s, 5.0, 0.03);
        let on_ranks = larger.on_ranks.unwrap();
        assert!(!on_ranks.effects.is_oversubscribed());
        let (mesh, mpi) = (&on_ranks.effects.computing["mesh"], &on_ranks.effects.mpi);
        match waits {
            Waits::InMpi => {
                assert_near(mesh.ratio, 1.0, 0.01);
                assert_near(mpi.as_ref().unwrap().seconds, 0.2, 0.01);
                // The best assembly: half of what the flux takes, and the mesh.
                assert_near(on_ranks.computation_s, 3.2, 0.01);
                assert_near(on_ranks.mpi_s, 0.2, 0.01);
            }
            Waits::Unmeasured => {
                assert_near(mesh.ratio, 1.125, 0.02);
                assert_eq!(mpi, &None);
            }
        }
    }
}

/// Four ranks of two processors wait as long as it pleases the system, and compute what they always do.
#[test]
fn time_in_mpi_has_an_interval_of_its_own() {
    let uneven = [0.5, 2.0, 0.7, 1.5, 0.4, 1.8];
    let sizes = [2.0, 2.0, 4.0, 4.0, 8.0, 8.0];
    let rows = sizes.iter().zip(uneven);
    let runs: Vec<SizedRun> = rows
        .map(|(n, wait)| run(*n, 4.0, wait, Waits::InMpi))
        .collect();
    let four = told(&runs, 8.0, 4.0);
    let on_ranks = four.on_ranks.unwrap();
    assert!(on_ranks.effects.is_oversubscribed(), "of 2 processors");
    let [low, high] = on_ranks.computation_interval_s.unwrap();
    assert_near(on_ranks.computation_s, 1.6, 0.01);
    assert!(low > 1.5 && high < 1.7, "{low} to {high}");
    let mpi = on_ranks.effects.mpi.clone().unwrap();
    let [low, high] = mpi.interval_s.unwrap();
    // What waits of 0.4 and 1.8 times the mesh's 0.8 s take, and more: these are two runs of many.
    assert!(low < 0.32 && high > 1.44, "{low} to {high}");
    let [whole_low, whole_high] = four.interval_s.unwrap();
    assert_near(four.predicted_s, on_ranks.computation_s + mpi.seconds, 1e-9);
    assert!(
        whole_high > 1.6 + 1.44 && whole_low > 1.5,
        "{whole_low} to {whole_high}"
    );
    // Two runs tell a line, and nothing of how far off others are.
    let few = [runs[0].clone(), runs[5].clone()];
    let few = told(&few, 8.0, 4.0);
    assert_eq!(few.interval_s, None);
    let on_ranks = few.on_ranks.unwrap();
    assert_eq!(on_ranks.effects.mpi.unwrap().interval_s, None);
    assert!(on_ranks.computation_interval_s.is_some());
}

#[test]
fn ranks_that_no_run_had_are_refused() {
    let (runs, models) = (runs(Waits::InMpi), models());
    let refused = rank_effects(&runs, &wanted(8.0, 4.0), &models, Seconds::Wall).unwrap_err();
    assert!(matches!(&refused, Error::RanksNotRun { wanted: 4, found } if *found == [1, 2]));
    let text = refused.to_string();
    assert!(
        text.starts_with("cannot predict 4 ranks: the runs have 1, 2, expected one with 4; "),
        "{text}"
    );
    // Models of one number of ranks and two sizes that spend nothing in MPI are of these.
    let is_one = |run: &SizedRun| run.settings["ranks"] == 1.0 && run.settings["mesh.n"] > 2.0;
    let one: Vec<_> = runs.into_iter().filter(is_one).collect();
    let effects = rank_effects(&one, &wanted(16.0, 1.0), &models, Seconds::Wall).unwrap();
    assert_eq!(effects, None);
}

/// The models say that time grows with the size of a call; from run to run it grows faster, since large problems leave the caches.
#[test]
fn times_grow_from_size_to_size_as_runs_do() {
    let mut runs: Vec<SizedRun> = [2.0, 4.0, 8.0]
        .map(|n| run(n, 1.0, 0.0, Waits::InMpi))
        .into();
    for run in &mut runs {
        let factor = (run.settings["mesh.n"] / 4.0).powf(0.2);
        let flux = &mut run.workload.calls[0];
        flux.measured_s *= factor;
        flux.computation_s *= factor;
    }
    let larger = told(&runs, 16.0, 1.0);
    // 3.2 s of the flux by its model, 4^0.2 times as much as runs grow, and 1.6 s of the mesh.
    assert_near(larger.current_s, 3.2 * 4f64.powf(0.2) + 1.6, 0.01);
    let effects = larger.on_ranks.unwrap().effects;
    assert!(effects.is_of_size());
    assert_near(effects.computing["mesh"].ratio, 1.0, 0.01);
    // A second setting that varies by itself: which of the two it is that times grow with, no run tells.
    for (run, steps) in runs.iter_mut().zip([3.0, 1.0, 2.0]) {
        run.settings.insert("driver.steps".into(), steps);
    }
    let mut wanted = wanted(16.0, 1.0);
    wanted.insert("driver.steps".into(), 2.0);
    let effects = rank_effects(&runs, &wanted, &models(), Seconds::Wall).unwrap();
    assert_eq!(effects, None);
}

/// Each run was disturbed in its own way, as the machine was during it: the effects are those of all runs, whichever assembly is asked
/// about, and those of one assembly alone would be of its disturbance.
#[test]
fn effects_are_of_all_runs_not_of_one_assembly() {
    let of = |class: &str, times: [f64; 4]| {
        let sizes = [2.0, 4.0, 8.0, 16.0].into_iter().zip(times);
        let runs = sizes.map(|(n, disturbed)| {
            let mut run = run(n, 1.0, 0.0, Waits::InMpi);
            for call in &mut run.workload.calls {
                let is_flux = call.instance == "flux";
                let share = if is_flux && class == "Fast" { 0.5 } else { 1.0 };
                call.class = if is_flux {
                    class.into()
                } else {
                    call.class.clone()
                };
                call.measured_s *= share * disturbed;
                call.computation_s *= share * disturbed;
            }
            run
        });
        runs.collect::<Vec<_>>()
    };
    let slow = of("Slow", [1.0, 1.0, 1.0, 1.0]);
    let fast = of("Fast", [1.0, 1.0, 1.0, 1.6]);
    let third = of("Slow", [1.0; 4]);
    let all = [slow, fast.clone(), third].concat();
    let effects = |runs: &[SizedRun]| {
        let found = rank_effects(runs, &wanted(32.0, 1.0), &models(), Seconds::Wall).unwrap();
        found.unwrap().computing
    };
    let of_all = effects(&all);
    // The median of three runs at each size is not disturbed.
    assert_near(of_all["flux"].ratio, 1.0, 0.02);
    assert_near(of_all["mesh"].ratio, 1.0, 0.02);
    assert!(effects(&fast)["flux"].ratio > 1.2);
    // Classes that runs have do not make an instance grow: they have equal runs at each size.
    let mut reversed = all;
    reversed.reverse();
    assert_eq!(effects(&reversed)["flux"].ratio, of_all["flux"].ratio);
}

/// The time of an instance grows faster from the last recorded size on, as where data leave a cache: how much faster larger sizes are
/// is not known, and the interval holds what it may be.
#[test]
fn growth_that_sets_in_at_the_last_size_is_said_to_be_unknown() {
    let with_knee = |factor: f64| {
        let mut runs: Vec<SizedRun> = [2.0, 4.0, 8.0, 16.0]
            .map(|n| run(n, 1.0, 0.0, Waits::InMpi))
            .into();
        let flux = &mut runs[3].workload.calls[0];
        flux.measured_s *= factor;
        flux.computation_s *= factor;
        runs
    };
    let [smooth, knee] = [1.0, 1.5].map(|factor| told(&with_knee(factor), 32.0, 1.0));
    let ratio = |ends: Option<[f64; 2]>| ends.map(|[low, high]| high / low).unwrap();
    assert!(ratio(smooth.interval_s) < 1.1, "{:?}", smooth.interval_s);
    // As steep as at the knee and further: 6.4 s of the flux times 1.5 for each doubling.
    let [low, high] = knee.interval_s.unwrap();
    let fast_s = 3.2;
    assert!(
        low < fast_s + 3.2 && high > 1.5 * 1.5 * fast_s + 3.2,
        "{low} to {high}"
    );
    let known = |choice: &Choice| {
        let effects = &choice.on_ranks.as_ref().unwrap().effects;
        effects.computing["flux"].deviation
    };
    assert!(
        known(&smooth) < 0.01 && known(&knee) > 0.2,
        "{}",
        known(&knee)
    );
}

/// The run shows the slow flux with the mesh, so that the fast one with it is a pair that nobody has seen.
#[test]
fn a_pair_that_was_never_seen_makes_the_interval_wider() {
    let time = |class: &str| SiteTime {
        class: class.into(),
        ratio: 1.0,
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
        let workload = run(8.0, 1.0, 0.0, Waits::InMpi).workload;
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
