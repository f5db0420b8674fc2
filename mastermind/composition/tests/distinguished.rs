//! Which differences are those of classes: runs are made whose speed differs from one to the next, as that of real ones does.

use mastermind_composition::{
    Alternatives, Assembly, Call, Choice, ChooseOptions, RunSpread, RunTimes, Workload,
    choose_with, model_name, times_over_predicted,
};
use mastermind_models::{Coordinate, Metric, ModelSet, Parameter, SampleSet, Statistic, fit};

/// Relative standard deviation of an instance's time between runs, and of a call's within one. Source: runs of five seconds on two
/// shared machines.
const BETWEEN: f64 = 0.024;
const WITHIN: f64 = 0.01;

/// Calls of each of 8 sizes in a run.
const CALLS: usize = 6;

/// Seconds of a call of size 1, of each instance.
const INSTANCES: [(&str, f64); 8] = [
    ("mesh", 2.0),
    ("flux", 1.0),
    ("states", 3.0),
    ("icc", 0.5),
    ("rk2", 0.3),
    ("efm", 1.5),
    ("bc", 0.2),
    ("io", 0.7),
];

/// How much all of a run is slower than usual.
type Speed = fn(usize, f64) -> f64;

/// The machine as it is in each run.
fn steady(_: usize, _: f64) -> f64 {
    0.0
}

/// The machine is slower or faster by 10 % in each run.
fn changing(_: usize, drawn: f64) -> f64 {
    0.1 * drawn
}

/// The machine becomes slower by 1 % with each run.
fn drifting(run: usize, _: f64) -> f64 {
    0.01 * run as f64
}

struct Made {
    runs: Vec<(Assembly, Workload)>,
    models: ModelSet,
}

/// Normal numbers by the sum of twelve.
fn normal(numbers: &mut fastrand::Rng) -> f64 {
    (0..12).map(|_| numbers.f64()).sum::<f64>() - 6.0
}

/// Runs of class "A" of the flux, then of class "B", which takes `ratio` times as long, and the models of all calls.
fn made(ratio: f64, n_runs: usize, speed: Speed, seed: u64) -> Made {
    let mut numbers = fastrand::Rng::with_seed(seed);
    let mut set = SampleSet::new(Metric::Wall).with_statistic(Statistic::Median);
    let mut runs = Vec::new();
    for run in 0..2 * n_runs {
        let flux = if run < n_runs { "A" } else { "B" };
        let shared = speed(run, normal(&mut numbers));
        let mut classes = Assembly::new();
        let mut calls = Vec::new();
        for (instance, slope) in INSTANCES {
            let class = if instance == "flux" { flux } else { "Only" };
            let class = format!("{instance}.{class}");
            let factor = if class == "flux.B" { ratio } else { 1.0 };
            let own = BETWEEN * normal(&mut numbers);
            let q = [Parameter::integer("q", "double")];
            let method = set.declare(&model_name(&class, "p.m"), &q).unwrap();
            for size in 1..=8 {
                let q = f64::from(size);
                let mean = slope * factor * q * (shared + own).exp();
                let mut each: Vec<f64> = (0..CALLS)
                    .map(|_| mean * (1.0 + WITHIN * normal(&mut numbers)))
                    .collect();
                for seconds in &each {
                    set.push(method, &[q], *seconds).unwrap();
                }
                each.sort_by(f64::total_cmp);
                let median = f64::midpoint(each[CALLS / 2 - 1], each[CALLS / 2]);
                let seconds = median * CALLS as f64;
                calls.push(Call {
                    instance: instance.into(),
                    class: class.clone(),
                    port_method: "p.m".into(),
                    coordinate: Coordinate::new().with("q", q),
                    count: CALLS as u64,
                    measured_s: seconds,
                    processor_s: seconds,
                    computation_s: seconds,
                    mpi_s: 0.0,
                });
            }
            classes.insert(instance.into(), class);
        }
        let metric = Metric::Wall;
        runs.push((classes, Workload { metric, calls }));
    }
    let models = set.finish();
    let models = models.iter().map(|samples| fit(samples).unwrap().remove(0));
    Made {
        runs,
        models: ModelSet {
            models: models.collect(),
        },
    }
}

fn choice(made: &Made) -> Choice {
    let times = made.runs.iter();
    let times = times.map(|(_, run)| times_over_predicted(run, &made.models).unwrap());
    let times: Vec<RunTimes> = times.collect();
    let options = ChooseOptions {
        run_spread: Some(RunSpread::of(&times)),
        ..ChooseOptions::default()
    };
    let alternatives =
        Alternatives::from([("flux".into(), vec!["flux.A".into(), "flux.B".into()])]);
    let (current, workload) = &made.runs[0];
    choose_with(workload, &alternatives, current, &made.models, &options).unwrap()
}

/// How many of as many trials distinguish the classes, and choose the first.
fn n_distinguished(ratio: f64, n_runs: usize, speed: Speed, n_trials: u64) -> usize {
    let trials = (0..n_trials).filter(|seed| {
        let choice = choice(&made(ratio, n_runs, speed, 1000 + *seed));
        let is_right = ratio == 1.0 || choice.best["flux"] == "flux.A";
        choice.doubt.unwrap().told_apart && is_right
    });
    trials.count()
}

#[test]
fn identical_code_is_not_distinguished() {
    for speed in [steady as Speed, changing, drifting] {
        let n = n_distinguished(1.0, 5, speed, 60);
        // Three are expected at 5 %.
        assert!(n <= 6, "{n} of 60");
    }
}

#[test]
fn a_true_difference_is_found() {
    for speed in [steady as Speed, changing, drifting] {
        let n = n_distinguished(1.1, 3, speed, 60);
        assert!(n >= 54, "{n} of 60");
    }
}

#[test]
fn one_run_of_each_distinguishes_nothing() {
    let choice = choice(&made(2.0, 1, steady, 1));
    assert_eq!(choice.best["flux"], "flux.A");
    let doubt = choice.doubt.unwrap();
    assert!(!doubt.told_apart && !doubt.spread_known);
    assert_eq!(doubt.comparison.regret, f64::INFINITY);
}

/// The model of each class holds how fast the machine was in its runs; the difference of two classes does not.
#[test]
fn the_speed_of_the_machine_is_no_property_of_a_class() {
    let mut squares = 0.0;
    for seed in 0..20 {
        let choice = choice(&made(1.0, 5, drifting, seed));
        let of = |class: &str| {
            let mut rows = choice.instances.iter();
            rows.find(|row| row.class == class).unwrap().predicted_s
        };
        squares += (of("flux.B") / of("flux.A")).ln().powi(2) / 20.0;
    }
    // From the runs of one to those of the other the machine becomes slower by 5 %. What is left are two means of 5 runs.
    let expected = BETWEEN * (2.0_f64 / 5.0).sqrt();
    assert!(squares.sqrt() < 1.5 * expected, "{}", squares.sqrt());
}
