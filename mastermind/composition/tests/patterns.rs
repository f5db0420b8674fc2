//! Calls that follow from the classes of other instances: made runs whose every call and second is known.

use std::collections::{BTreeMap, BTreeSet};

use mastermind_composition::{
    Alternatives, Assembly, Call, CallPatterns, Choice, ChooseOptions, PatternRun, RunTimes,
    Settings, SizedRun, Workload, choose_with, interactions, model_name, problem_of,
    scale_workload, times_over_predicted,
};
use mastermind_models::{Coordinate, Metric, Model, ModelSet, Parameter, SampleSet, fit};

const CHECKS: [(&str, f64); 3] = [("Adler", 1.0), ("Fnv", 2.0), ("Slow", 10.0)];
const PACKS: [(&str, f64, f64); 4] = [
    // Seconds for a block, and what part of it is left for the check.
    ("Zlib", 4.0, 0.30),
    ("Lz4", 1.5, 0.55),
    ("Zstd", 1.7, 0.30),
    ("Plain", 0.1, 1.00),
];
const STORES: [(&str, f64); 2] = [("Rows", 1.0), ("Columns", 1.3)];
/// Which of the two blocks are scanned, by the classes of store and pack.
const SCANS: [(&str, f64); 2] = [("Direct", 0.6), ("Gather", 0.4)];

/// Seconds in proportion to `q`.
fn line(class: &str, port_method: &str, slope: f64) -> Model {
    let mut set = SampleSet::new(Metric::Wall);
    let name = model_name(class, port_method);
    let method = set
        .declare(&name, &[Parameter::integer("q", "byte")])
        .unwrap();
    for q in 1..=40 {
        let q = f64::from(q);
        for off in [1e-6, -1e-6] {
            set.push(method, &[q], slope * q * (1.0 + off)).unwrap();
        }
    }
    fit(&set.finish()[0]).unwrap().remove(0)
}

fn models() -> ModelSet {
    let packs = PACKS.map(|(class, slope, _)| line(class, "pack.pack", slope));
    let checks = CHECKS.map(|(class, slope)| line(class, "check.sum", slope));
    let stores = STORES.map(|(class, slope)| line(class, "store.put", slope));
    let scans = SCANS.map(|(class, slope)| line(class, "scan.scan", slope));
    let models = packs.into_iter().chain(checks).chain(stores).chain(scans);
    ModelSet {
        models: models.collect(),
    }
}

fn slope(instance: &str, class: &str) -> f64 {
    let of = |table: &[(&str, f64)]| table.iter().find(|(c, _)| *c == class).unwrap().1;
    match instance {
        "pack" => of(&PACKS.map(|(c, slope, _)| (c, slope))),
        "check" => of(&CHECKS),
        "store" => of(&STORES),
        _ => of(&SCANS),
    }
}

/// The calls of a run: number and size by instance. The checks follow from the pack, the scans from pack and store.
fn calls(classes: &Assembly) -> Vec<(&'static str, &'static str, u64, f64)> {
    let pack = PACKS.iter().find(|(c, ..)| *c == classes["pack"]).unwrap();
    let wide = if classes["store"] == "Columns" {
        3.0
    } else {
        1.0
    };
    let scanned = (20.0 * pack.2 * wide).round();
    vec![
        ("store", "store.put", 2, 12.0),
        ("pack", "pack.pack", 3, 20.0),
        ("check", "check.sum", (20.0 * pack.2).round() as u64, 16.0),
        ("scan", "scan.scan", scanned as u64, 8.0),
    ]
}

/// A run; every second `disturbed` times as long as its model says.
fn run(classes: &Assembly, disturbed: f64) -> Workload {
    let call = |(instance, port_method, count, q): (&str, &str, u64, f64)| {
        let seconds = disturbed * count as f64 * q * slope(instance, &classes[instance]);
        Call {
            instance: instance.into(),
            class: classes[instance].clone(),
            port_method: port_method.into(),
            coordinate: Coordinate::new().with("q", q),
            count,
            measured_s: seconds,
            processor_s: seconds,
            computation_s: seconds,
            mpi_s: 0.0,
        }
    };
    Workload {
        metric: Metric::Wall,
        calls: calls(classes).into_iter().map(call).collect(),
    }
}

fn total_s(classes: &Assembly) -> f64 {
    run(classes, 1.0).recorded().processor_s
}

fn all() -> Vec<Assembly> {
    let mut all = Vec::new();
    for (pack, ..) in PACKS {
        for (check, _) in CHECKS {
            for (store, _) in STORES {
                for (scan, _) in SCANS {
                    let pairs = [
                        ("pack", pack),
                        ("check", check),
                        ("store", store),
                        ("scan", scan),
                    ];
                    let pairs = pairs.map(|(i, c)| (i.to_owned(), c.to_owned()));
                    all.push(Assembly::from(pairs));
                }
            }
        }
    }
    all
}

fn alternatives() -> Alternatives {
    let mut alternatives = Alternatives::new();
    for (instance, class) in all().into_iter().flatten() {
        let listed: &mut Vec<String> = alternatives.entry(instance).or_default();
        if !listed.contains(&class) {
            listed.push(class);
        }
    }
    alternatives
}

fn connections() -> BTreeSet<[String; 2]> {
    let ends = [
        ["driver", "pack"],
        ["driver", "store"],
        ["driver", "scan"],
        ["pack", "check"],
    ];
    ends.map(|ends| ends.map(String::from)).into()
}

fn patterns(runs: &[(Assembly, Workload)]) -> CallPatterns {
    let settings = Settings::new();
    let runs = runs.iter().map(|(classes, workload)| PatternRun {
        classes,
        workload,
        settings: &settings,
    });
    CallPatterns::of(&runs.collect::<Vec<_>>(), &connections())
}

/// What is chosen where one run is named.
fn chosen(named: &Assembly, runs: &[(Assembly, Workload)]) -> Choice {
    let (alternatives, current) = (alternatives(), all().remove(0));
    let options = ChooseOptions {
        n_best: 200,
        patterns: Some(patterns(runs)),
        ..ChooseOptions::default()
    };
    choose_with(
        &run(named, 1.0),
        &alternatives,
        &current,
        &models(),
        &options,
    )
    .unwrap()
}

/// A third of the assemblies, such that every three classes are seen together in some run.
fn planned() -> Vec<(Assembly, Workload)> {
    let numbered = all().into_iter().enumerate();
    let planned = numbered.filter(|(at, _)| at % 5 < 3);
    planned
        .map(|(_, classes)| (classes.clone(), run(&classes, 1.0)))
        .collect()
}

#[test]
fn the_instances_that_decide_calls_are_found() {
    let patterns = patterns(&planned());
    let of = |instance: &str| patterns.get(instance).unwrap().neighbours.clone();
    assert_eq!(of("check"), ["pack"]);
    assert_eq!(of("store"), [""; 0]);
    assert_eq!(of("pack"), [""; 0]);
    assert_eq!(
        of("scan").into_iter().collect::<BTreeSet<_>>(),
        ["pack", "store"].map(String::from).into()
    );
}

/// Every assembly costs what its run would take, the best one first, whichever run is named.
#[test]
fn the_choice_is_that_of_enumeration_whichever_run_is_named() {
    let mut expected: Vec<f64> = all().iter().map(total_s).collect();
    expected.sort_by(f64::total_cmp);
    let runs = planned();
    let mut choices = Vec::new();
    for named in all().iter().step_by(7) {
        let choice = chosen(named, &runs);
        assert!((choice.predicted_s / total_s(&choice.best) - 1.0).abs() < 1e-4);
        assert!((choice.current_s / total_s(&all()[0]) - 1.0).abs() < 1e-4);
        assert_eq!(choice.ranked.len(), expected.len());
        for (ranked, expected) in choice.ranked.iter().zip(&expected) {
            let own = total_s(&ranked.assembly);
            assert!(
                (ranked.predicted_s / own - 1.0).abs() < 1e-4,
                "{ranked:?} {own}"
            );
            assert!((ranked.predicted_s / expected - 1.0).abs() < 1e-4);
        }
        choices.push((choice.best, choice.predicted_s));
    }
    assert!(
        choices.iter().all(|choice| *choice == choices[0]),
        "{choices:?}"
    );
}

/// One run of each pack is enough for what only the pack decides.
#[test]
fn one_run_of_each_class_shows_what_it_does_to_another() {
    let base = Assembly::from(
        [
            ("check", "Slow"),
            ("store", "Rows"),
            ("scan", "Direct"),
            ("pack", ""),
        ]
        .map(|(i, c)| (i.to_owned(), c.to_owned())),
    );
    let with = |pack: &str| {
        let mut classes = base.clone();
        classes.insert("pack".into(), pack.into());
        (classes.clone(), run(&classes, 1.0))
    };
    let runs: Vec<_> = PACKS.iter().map(|(pack, ..)| with(pack)).collect();
    let alternatives =
        Alternatives::from([("pack".into(), PACKS.map(|(pack, ..)| pack.into()).to_vec())]);
    let options = ChooseOptions {
        patterns: Some(patterns(&runs)),
        ..ChooseOptions::default()
    };
    for (named, workload) in &runs {
        let choice = choose_with(workload, &alternatives, named, &models(), &options).unwrap();
        assert_eq!(choice.best["pack"], "Zstd", "{named:?}");
        assert!((choice.predicted_s / total_s(&choice.best) - 1.0).abs() < 1e-4);
    }
}

/// The planned runs are of one size, two assemblies of three: the calls at another size are those of its classes, whichever of the two
/// is asked about.
#[test]
fn other_settings_have_the_calls_of_their_classes_too() {
    let grown = |classes: &Assembly, n: f64| {
        let mut workload = run(classes, 1.0);
        for call in &mut workload.calls {
            let times = match call.instance.as_str() {
                "scan" => n,
                "check" => n * n,
                _ => 1.0,
            };
            let count = (call.count as f64 * times).round();
            call.processor_s *= count / call.count as f64;
            call.count = count as u64;
        }
        workload
    };
    let settings = |n: f64| Settings::from([("n".to_owned(), n)]);
    let named = [all()[0].clone(), all()[31].clone()];
    let mut runs: Vec<(Assembly, Workload, Settings)> = planned()
        .into_iter()
        .map(|(classes, workload)| (classes, workload, settings(1.0)))
        .collect();
    for classes in &named {
        for n in [1.0, 2.0, 4.0] {
            runs.push((classes.clone(), grown(classes, n), settings(n)));
        }
    }
    let pattern_runs: Vec<PatternRun<'_>> = runs
        .iter()
        .map(|(classes, workload, settings)| PatternRun {
            classes,
            workload,
            settings,
        })
        .collect();
    let wanted = settings(8.0);
    for classes in &named {
        let own = pattern_runs.iter().filter(|run| run.classes == classes);
        let sized = own.clone().map(|run| SizedRun {
            settings: run.settings.clone(),
            workload: run.workload.clone(),
            processors: None,
        });
        let sized: Vec<SizedRun> = sized.collect();
        let scaled = scale_workload(&sized, &wanted).unwrap().workload;
        let patterns = CallPatterns::scaled(&pattern_runs, &connections(), &wanted);
        let options = ChooseOptions {
            n_best: 200,
            patterns: Some(patterns),
            ..ChooseOptions::default()
        };
        let choice = choose_with(&scaled, &alternatives(), &all()[0], &models(), &options).unwrap();
        for ranked in &choice.ranked {
            let own = grown(&ranked.assembly, 8.0).recorded().processor_s;
            assert!(
                (ranked.predicted_s / own - 1.0).abs() < 0.01,
                "{ranked:?} {own}"
            );
        }
    }
}

/// Drawn sizes differ from run to run by themselves, which is no class's doing.
#[test]
fn what_is_drawn_anew_in_each_run_follows_from_no_class() {
    let mut numbers = fastrand::Rng::with_seed(11);
    let mut n_wrong = 0;
    for _ in 0..20 {
        let mut runs = planned();
        for call in runs.iter_mut().flat_map(|(_, run)| &mut run.calls) {
            if call.instance == "store" {
                call.coordinate = Coordinate::new().with("q", 8.0 + 8.0 * numbers.f64());
            }
        }
        let found = patterns(&runs);
        n_wrong += usize::from(!found.get("store").unwrap().neighbours.is_empty());
    }
    assert!(n_wrong <= 1, "{n_wrong} of 20");
}

/// More calls beside a class are no interaction with it: the run's own calls have them already.
#[test]
fn more_calls_are_no_interaction() {
    let mut numbers = fastrand::Rng::with_seed(5);
    let mut times: Vec<RunTimes> = Vec::new();
    for _ in 0..5 {
        for classes in all() {
            let mut workload = run(&classes, 1.0);
            for call in &mut workload.calls {
                call.processor_s *= 1.0 + 0.02 * numbers.f64();
            }
            times.push(times_over_predicted(&workload, &models()).unwrap());
        }
    }
    let joined: BTreeSet<[String; 2]> = BTreeSet::from(
        [["pack", "check"], ["pack", "scan"], ["store", "scan"]].map(|pair| pair.map(String::from)),
    );
    assert_eq!(interactions(&times, &joined), []);
}

/// The auxiliary site is a site of the exported problem, which other solvers need no word about.
#[test]
fn the_problem_stays_one_of_pairs() {
    let options = ChooseOptions {
        patterns: Some(patterns(&planned())),
        ..ChooseOptions::default()
    };
    let (alternatives, current) = (alternatives(), all().remove(0));
    let workload = run(&current, 1.0);
    let problem = problem_of(&workload, &alternatives, &current, &models(), &options).unwrap();
    let names: BTreeMap<&str, usize> = problem
        .sites()
        .iter()
        .map(|site| (site.name.as_str(), site.alternatives.len()))
        .collect();
    let expected = [
        ("check", 3),
        ("pack", 4),
        ("scan", 2),
        ("store", 2),
        ("calls of scan", 8),
    ];
    assert_eq!(names, BTreeMap::from(expected));
}
