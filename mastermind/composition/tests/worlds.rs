//! The decisions on swaps replayed in made worlds, in simulated seconds: what a run takes beside the given and the best fixed assembly.
//!
//! The long version prints a table and fails on a missed row: `cargo test --release -p mastermind-composition --test all worlds::long --
//! --ignored --nocapture`, with another number of seeds in `SEEDS`, of steps in `STEPS` and a part of a world's name in `ONLY`. `cargo xtask
//! adapt` runs it first.

use std::collections::BTreeMap;
use std::time::Instant;

use self::states::State;
use fastrand::Rng;
use mastermind_composition::adapt::{
    AdaptSettings, Adapter, Admitted, Batch, CallKind, Decision, Limits, Report,
};
use mastermind_composition::{Alternatives, Assembly};
use mastermind_models::Coordinate;

mod earlier;
mod fresh;
mod states;

/// Sizes of a call, by its number in the step.
type SizesOfCall = Box<dyn Fn(&mut Rng, usize) -> Vec<f64>>;

/// Seconds of a call by its sizes and the part of the run that is done.
type Cost = Box<dyn Fn(&[f64], f64) -> f64>;

struct SiteOf {
    /// The given class first.
    classes: Vec<Cost>,
    sizes: SizesOfCall,
    calls: usize,
    /// Another site, and by what its classes multiply the first size here; none is 1 for all.
    grown_by: Option<(usize, Vec<f64>)>,
}

struct World {
    sites: Vec<SiteOf>,
    steps: u64,
    /// Standard deviation of a call's logarithm.
    noise: f64,
    /// Part of the calls that are delayed, and by how much at most, seconds.
    delayed: (f64, f64),
    /// Of the first call of each class that is not given.
    start_s: f64,
    /// Calls in which a class that is not given warms up, and by what they are slower.
    warm: (usize, f64),
    /// By what the noise grows, by the part of the run that is done.
    noisier: fn(f64) -> f64,
    /// Chance that a slow stretch begins in a step, its steps, and by what all is slower in it.
    stretch: (f64, u64, f64),
    /// By what all is slower, by the part of the run that is done.
    machine: fn(f64) -> f64,
    /// Chance that the whole machine becomes slower in a step: 2 to 12 times, for 2 to 12 steps.
    states: f64,
    /// By what stored models are wrong, by the first size; None without models.
    models: Option<fn(f64) -> f64>,
    /// Whether calls that a class on trial is not to get go to the class before it.
    is_limited: bool,
}

impl World {
    fn new(sites: Vec<SiteOf>, steps: u64) -> Self {
        World {
            sites,
            steps,
            noise: 0.05,
            delayed: (0.0, 0.0),
            start_s: 0.0,
            warm: (0, 1.0),
            noisier: |_| 1.0,
            stretch: (0.0, 0, 1.0),
            machine: |_| 1.0,
            states: 0.0,
            models: None,
            is_limited: true,
        }
    }
}

/// What came of a run: seconds.
struct Outcome {
    total_s: f64,
    given_s: f64,
    /// Of the assembly that is best over the whole run.
    fixed_s: f64,
    decisions: Vec<Decision>,
    /// Of each decision, real seconds.
    deciding_s: Vec<f64>,
    /// Classes at the end.
    classes: Vec<usize>,
}

const MEETING: u64 = 4;

fn normal(rng: &mut Rng) -> f64 {
    (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0
}

fn name(site: usize, class: usize) -> String {
    format!("S{site}.C{class}")
}

fn run(world: &World, seed: u64) -> Outcome {
    let mut rng = Rng::with_seed(seed);
    let n_sites = world.sites.len();
    let mut assembly = Assembly::new();
    let mut alternatives = Alternatives::new();
    for (at, site) in world.sites.iter().enumerate() {
        assembly.insert(format!("s{at}"), name(at, 0));
        let classes = (0..site.classes.len()).map(|class| name(at, class));
        alternatives.insert(format!("s{at}"), classes.collect());
    }
    // Models are right for the first part of the run, with the names of their classes.
    let mut stored: BTreeMap<(String, Vec<u64>), f64> = BTreeMap::new();
    let shared = std::sync::Arc::new(std::sync::Mutex::new(BTreeMap::new()));
    let known = std::sync::Arc::clone(&shared);
    let predict = move |class: &str, _: &str, at: &Coordinate| {
        let sizes: Vec<u64> = at
            .values
            .keys()
            .filter_map(|k| at.number(k))
            .map(f64::to_bits)
            .collect();
        let known: std::sync::MutexGuard<'_, BTreeMap<(String, Vec<u64>), f64>> =
            known.lock().ok()?;
        known.get(&(class.to_owned(), sizes)).copied()
    };
    let settings = AdaptSettings {
        swap_s: 1e-4,
        ..AdaptSettings::default()
    };
    let mut adapter = Adapter::new(&assembly, &alternatives, &[], settings, Box::new(predict));
    for at in (0..n_sites).filter(|_| world.is_limited) {
        adapter.limit_trials(&format!("s{at}"));
    }
    let mut limits: Vec<Limits> = Vec::new();
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    let mut is_shared: BTreeMap<String, bool> = BTreeMap::new();
    let mut at_work = vec![0; n_sites];
    let mut fixed = Fixed::new(world);
    let mut n_calls: Vec<Vec<usize>> = world
        .sites
        .iter()
        .map(|s| vec![0; s.classes.len()])
        .collect();
    let mut slow_until = 0;
    let mut state = State::default();
    let (mut total_s, mut rest_s) = (0.0, 0.0);
    let (mut calls, mut met_at) = (BTreeMap::<(u64, usize), Vec<f64>>::new(), 0);
    let mut decisions = Vec::new();
    let mut deciding_s = Vec::new();
    let mut lengths: Vec<f64> = Vec::new();
    // What a step without a trial took at most of late, and where a trial was stopped inside the step.
    let mut usual_steps: Vec<f64> = Vec::new();
    let mut was_stopped = false;
    let (mut before_trial, mut lost_s) = (vec![0; n_sites], 0.0);
    for step in 1..=world.steps {
        let done = step as f64 / world.steps as f64;
        let mut machine = (world.machine)(done) * (0.01 * normal(&mut rng)).exp();
        if world.stretch.0 > 0.0 && step > slow_until && rng.f64() < world.stretch.0 {
            slow_until = step + world.stretch.1;
        }
        if step < slow_until {
            machine *= world.stretch.2;
        }
        if world.states > 0.0 {
            state.step(&mut rng, world.states);
        }
        let n_calls_in_step: usize = world.sites.iter().map(|site| site.calls).sum();
        let mut n_before = 0;
        let begun_s = total_s;
        let on_trial = adapter.on_trial();
        let on_trial: Vec<usize> = on_trial
            .map(|site| site[1..].parse().expect("a site"))
            .collect();
        let longest_s = usual_steps.iter().copied().fold(0.0, f64::max);
        let may_lose_s = adapter.may_lose_s();
        let fuse_s = may_lose_s.map(|may_lose_s| longest_s + (may_lose_s - lost_s).max(0.0));
        for (at, site) in world.sites.iter().enumerate() {
            for k in 0..site.calls {
                let base = (site.sizes)(&mut rng, k);
                let sizes = site.grown(&base, |other| at_work[other]);
                let delay = rng.f64() < world.delayed.0;
                let delay_s = if delay {
                    world.delayed.1 * rng.f64()
                } else {
                    0.0
                };
                let mut coordinate = Coordinate::new();
                for (name, size) in ["a", "b"].iter().zip(&sizes) {
                    coordinate = coordinate.with(name, *size);
                }
                let is_limited = limits.iter().any(|l| refuses(l, at, &coordinate));
                let class = match is_limited && !was_stopped {
                    true => before_trial[at],
                    false => at_work[at],
                };
                let slowed = match world.states > 0.0 {
                    true => state.slows(&mut rng, n_before as f64 / n_calls_in_step as f64),
                    false => 1.0,
                };
                n_before += 1;
                for (other, cost) in site.classes.iter().enumerate() {
                    let noise = world.noise * (world.noisier)(done) * normal(&mut rng);
                    let slower = machine * slowed * noise.exp();
                    let own_s = cost(&sizes, done) * slower;
                    for beside in 0..fixed.seconds[at].len() {
                        let sizes = site.grown(&base, |_| beside);
                        fixed.seconds[at][beside][other] += cost(&sizes, done) * slower + delay_s;
                    }
                    if let Some(wrong) = world.models {
                        let key = sizes.iter().map(|x| x.to_bits()).collect();
                        stored.insert((name(at, other), key), cost(&sizes, 0.0) * wrong(sizes[0]));
                    }
                    if other != class {
                        continue;
                    }
                    let mut seconds = own_s + delay_s;
                    if class > 0 && n_calls[at][class] == 0 {
                        seconds += world.start_s;
                    }
                    if class > 0 && n_calls[at][class] < world.warm.0 {
                        seconds += own_s * (world.warm.1 - 1.0);
                    }
                    n_calls[at][class] += 1;
                    total_s += seconds;
                    if let Some(fuse_s) = fuse_s
                        && !was_stopped
                        && total_s - begun_s > fuse_s
                    {
                        was_stopped = true;
                        for tried in &on_trial {
                            at_work[*tried] = before_trial[*tried];
                        }
                    }
                    let kind = CallKind {
                        instance: format!("s{at}"),
                        class: name(at, class),
                        port_method: "p.m".into(),
                        coordinate: coordinate.clone(),
                        is_own: false,
                    };
                    let own = CallKind {
                        is_own: true,
                        ..kind.clone()
                    };
                    // As the component has it: a size that comes again is one of its own, where another of about that size was there before.
                    let is_first = !kinds.contains_key(&kind.key());
                    let shared = is_shared.get(&own.key()).copied();
                    is_shared.entry(own.key()).or_insert(!is_first);
                    let kind = if shared == Some(true) { own } else { kind };
                    let known = kinds.entry(kind.key());
                    let kind = *known.or_insert_with(|| adapter.add_kind(&kind));
                    calls.entry((step, kind)).or_default().push(seconds);
                }
            }
        }
        let rest = 2e-5 * machine;
        total_s += rest;
        rest_s += rest;
        let length_s = total_s - begun_s;
        let mut sorted = lengths.clone();
        sorted.sort_by(f64::total_cmp);
        let usual = sorted.get(sorted.len() / 2).copied().unwrap_or(length_s);
        lengths.push(length_s);
        if lengths.len() > 31 {
            lengths.remove(0);
        }
        if !on_trial.is_empty() {
            lost_s += length_s - usual;
        } else {
            usual_steps.push(length_s);
            if usual_steps.len() > 31 {
                usual_steps.remove(0);
            }
        }
        let is_met = adapter.wants_look(step)
            || was_stopped
            || step - met_at >= MEETING
            || length_s > 2.0 * usual;
        if !is_met {
            continue;
        }
        if world.models.is_some() {
            *shared.lock().expect("a map") = std::mem::take(&mut stored);
        }
        let began = Instant::now();
        let batches = calls.iter_mut().map(|((step, kind), seconds)| {
            seconds.sort_by(f64::total_cmp);
            Batch {
                kind: *kind,
                step: *step,
                calls: seconds.len() as u64,
                failed: 0,
                ln_mean: seconds[(seconds.len() - 1) / 2].ln(),
            }
        });
        let batches: Vec<_> = batches.collect();
        let decided = adapter.decide(&Report {
            step,
            fraction: done,
            elapsed_s: total_s,
            ranks: 1,
            told: 1.0,
            batches: &batches,
            deciding_s: 0.0,
            may_try: true,
            stride: (step - met_at) as f64,
            was_stopped,
        });
        (was_stopped, lost_s) = (false, 0.0);
        deciding_s.push(began.elapsed().as_secs_f64());
        met_at = step;
        calls.clear();
        for decision in decided {
            if decision.is_swap() {
                let at: usize = decision.site[1..].parse().expect("a site");
                let class = decision.to.rsplit_once('C').expect("a class").1;
                before_trial[at] = at_work[at];
                at_work[at] = class.parse().expect("a class");
                total_s += 3e-5;
            }
            decisions.push(decision);
        }
        limits = adapter.limits();
    }
    Outcome {
        total_s,
        given_s: rest_s + fixed.of(world, &vec![0; n_sites]),
        fixed_s: rest_s + fixed.best(world),
        decisions,
        deciding_s,
        classes: at_work,
    }
}

/// What the calls of a run take in classes that stay: seconds by site, class of the site that decides its sizes, and its own class.
struct Fixed {
    seconds: Vec<Vec<Vec<f64>>>,
}

impl Fixed {
    fn new(world: &World) -> Self {
        let sites = world.sites.iter().map(|site| {
            let n_beside = site.grown_by.as_ref().map_or(1, |(_, by)| by.len());
            vec![vec![0.0; site.classes.len()]; n_beside]
        });
        Fixed {
            seconds: sites.collect(),
        }
    }

    /// Seconds of an assembly.
    fn of(&self, world: &World, classes: &[usize]) -> f64 {
        let sites = world.sites.iter().zip(&self.seconds).zip(classes);
        let seconds = sites.map(|((site, seconds), class)| {
            let beside = site.grown_by.as_ref().map_or(0, |(of, _)| classes[*of]);
            seconds[beside][*class]
        });
        seconds.sum()
    }

    /// Seconds of the best assembly.
    fn best(&self, world: &World) -> f64 {
        let mut classes = vec![0; world.sites.len()];
        let mut best_s = f64::INFINITY;
        loop {
            best_s = best_s.min(self.of(world, &classes));
            let next =
                (0..classes.len()).find(|at| classes[*at] + 1 < world.sites[*at].classes.len());
            let Some(next) = next else {
                return best_s;
            };
            classes[next] += 1;
            classes[..next].fill(0);
        }
    }
}

impl SiteOf {
    /// Sizes of a call beside other classes.
    fn grown(&self, sizes: &[f64], class_at: impl Fn(usize) -> usize) -> Vec<f64> {
        let mut sizes = sizes.to_vec();
        if let Some((other, by)) = &self.grown_by {
            sizes[0] *= by[class_at(*other)];
        }
        sizes
    }
}

/// Whether a call goes to the class before the one on trial.
fn refuses(limits: &Limits, at: usize, coordinate: &Coordinate) -> bool {
    limits.instance == format!("s{at}")
        && match limits.methods.get("p.m") {
            Some(Admitted::All) => false,
            Some(Admitted::By(table)) => table.class(coordinate) != Some(&limits.class),
            _ => true,
        }
}

fn power(a: f64, b: f64) -> Cost {
    Box::new(move |x, _| a * x[0].powf(b))
}

fn repeated(_: &mut Rng, k: usize) -> Vec<f64> {
    vec![[64.0, 256.0, 1024.0, 4096.0][k % 4]]
}

fn different(rng: &mut Rng, _: usize) -> Vec<f64> {
    vec![(16.0 * 512.0_f64.powf(rng.f64())).round()]
}

fn two_sizes(rng: &mut Rng, _: usize) -> Vec<f64> {
    vec![
        (16.0 * 128.0_f64.powf(rng.f64())).round(),
        (4.0 * 256.0_f64.powf(rng.f64())).round(),
    ]
}

type Sizes = fn(&mut Rng, usize) -> Vec<f64>;

fn site(classes: Vec<Cost>, sizes: Sizes, calls: usize) -> SiteOf {
    SiteOf {
        classes,
        sizes: Box::new(sizes),
        calls,
        grown_by: None,
    }
}

/// Slower for small sizes, faster for large ones, where the seconds are.
fn direct() -> Cost {
    Box::new(|x, _| 1e-9 * x[0] * x.get(1).copied().unwrap_or(64.0))
}

fn transformed() -> Cost {
    Box::new(|x, _| {
        let n = x[0] + x.get(1).copied().unwrap_or(64.0);
        4e-6 + 2.4e-9 * n * n.log2()
    })
}

fn slowing() -> Cost {
    Box::new(|x, done| 2e-8 * x[0] * if done > 0.5 { 60.0 } else { 1.0 })
}

/// Worlds by name, with the least shares of given/total and best fixed/total.
fn worlds(steps: u64) -> Vec<(&'static str, World, [f64; 2])> {
    let two = |a: Cost, b: Cost, sizes: Sizes, calls: usize| {
        World::new(vec![site(vec![a, b], sizes, calls)], steps)
    };
    let many = |given_best: bool| {
        let sites = (0..3).map(|at| {
            let (a, b) = if given_best {
                (2e-8, 3.2e-8)
            } else {
                (3.2e-8, 2e-8)
            };
            let sizes: Sizes = [repeated, different, different][at];
            site(
                vec![power(a, 1.0), power(b, 1.0), power(4e-8, 1.0)],
                sizes,
                6,
            )
        });
        World::new(sites.collect(), steps)
    };
    let hundred = || {
        let classes = vec![power(2e-8, 1.0), power(2e-6, 1.0), power(1.2e-8, 1.0)];
        World::new(vec![site(classes, repeated, 8)], steps)
    };
    vec![
        (
            "repeated, given best",
            two(power(2e-8, 1.0), power(3.4e-8, 1.0), repeated, 8),
            [0.97, 0.97],
        ),
        (
            "repeated, given 1.67",
            two(power(3.4e-8, 1.0), power(2e-8, 1.0), repeated, 8),
            [1.0, 0.97],
        ),
        (
            "different, given best",
            two(power(2e-8, 1.0), power(3.4e-8, 1.0), different, 8),
            [0.97, 0.97],
        ),
        (
            "different, given 1.67",
            two(power(3.4e-8, 1.0), power(2e-8, 1.0), different, 8),
            [1.0, 0.97],
        ),
        (
            "two sizes, given best",
            two(transformed(), direct(), two_sizes, 12),
            [0.97, 0.97],
        ),
        (
            "two sizes, given slow",
            two(direct(), transformed(), two_sizes, 12),
            [1.0, 0.97],
        ),
        (
            "crossing, given best",
            two(power(1e-8, 1.1), power(2e-7, 0.8), different, 8),
            [0.97, 0.97],
        ),
        (
            "crossing, given slow",
            two(power(2e-7, 0.8), power(1e-8, 1.1), different, 8),
            [0.97, 0.95],
        ),
        ("one 100 times", hundred(), [0.98, 0.98]),
        (
            "20 % delayed, best",
            World {
                delayed: (0.2, 1e-2),
                ..two(power(2e-7, 1.0), power(3.4e-7, 1.0), different, 8)
            },
            [0.97, 0.95],
        ),
        (
            "20 % delayed, slow",
            World {
                delayed: (0.2, 1e-2),
                ..two(power(3.4e-7, 1.0), power(2e-7, 1.0), different, 8)
            },
            [1.0, 0.95],
        ),
        (
            "start-up, given slow",
            World {
                start_s: 3e-3,
                ..two(power(3.4e-8, 1.0), power(2e-8, 1.0), repeated, 8)
            },
            [0.97, 0.95],
        ),
        ("three sites, best", many(true), [0.97, 0.97]),
        ("three sites, slow", many(false), [1.0, 0.97]),
        (
            "tie",
            two(power(2e-8, 1.0), power(2e-8, 1.0), repeated, 8),
            [0.97, 0.97],
        ),
        (
            "two speeds, best",
            World {
                machine: |d| if (d * 20.0) as i64 % 2 == 0 { 1.0 } else { 1.6 },
                ..two(power(2e-8, 1.0), power(3e-8, 1.0), repeated, 8)
            },
            [0.955, 0.955],
        ),
        (
            "models right, slow",
            World {
                models: Some(|_| 1.0),
                ..many(false)
            },
            [1.0, 0.95],
        ),
        (
            "models wrong, best",
            World {
                models: Some(|x| if x > 500.0 { 3.0 } else { 1.0 }),
                ..many(true)
            },
            [0.97, 0.92],
        ),
        (
            "models right, slows",
            World {
                models: Some(|_| 1.0),
                ..two(
                    Box::new(|x, done| 1e-8 * x[0] * if done > 0.33 { 30.0 } else { 1.0 }),
                    power(3e-8, 1.0),
                    |_, k| vec![[1050.0, 5250.0][k % 2]],
                    32,
                )
            },
            [1.0, 0.9],
        ),
        (
            "60 times slower",
            World {
                delayed: (0.05, 1e-3),
                ..World::new(
                    vec![
                        site(vec![slowing(), power(3e-8, 1.0)], repeated, 6),
                        site(vec![power(2e-8, 1.0), power(3e-8, 1.0)], different, 6),
                        site(vec![power(2e-8, 1.0), power(4e-8, 1.0)], repeated, 6),
                    ],
                    steps,
                )
            },
            [1.0, 0.8],
        ),
    ]
}

fn sorted(mut all: Vec<f64>) -> Vec<f64> {
    all.sort_by(f64::total_cmp);
    all
}

/// One draw of each world.
///
/// One row is below what is wanted of the policy: "60 times slower", where that is 1 / 1.08 of an oracle that swaps at once.
#[test]
fn runs_reach_what_they_are_to_reach() {
    reach(|world, least| (world, least));
}

/// Several ranks, or classes that keep something from call to call. The first large call of a class that is a hundred times slower takes all
/// that trials may cost in this run, so that the third class is not tried.
#[test]
fn runs_in_which_a_class_on_trial_gets_all_calls_reach_it_too() {
    reach(|world, [given, fixed]| {
        let world = World {
            is_limited: false,
            ..world
        };
        (world, [given.min(0.97), fixed.min(0.97)])
    });
}

fn reach(changed: impl Fn(World, [f64; 2]) -> (World, [f64; 2])) {
    let all = worlds(2000).into_iter().chain(earlier::worlds(2000));
    for (name, world, least) in all.chain(states::worlds(2000)) {
        let (world, [given, mut fixed]) = changed(world, least);
        if !world.is_limited && name == "one 100 times" {
            fixed = 0.6;
        }
        let outcome = run(&world, 0);
        let shares = [outcome.given_s, outcome.fixed_s].map(|s| s / outcome.total_s);
        let is_reached = shares[0] >= given && shares[1] >= fixed;
        assert!(
            is_reached,
            "{name}: {shares:?}, expected {given} and {fixed}: {:#?}",
            outcome.decisions
        );
    }
}

/// In a hundred steps, which take some 30 ms here. The first call of a library that starts up takes a fourteenth of such a run: what one call
/// takes nobody can take back.
#[test]
fn short_runs_lose_little() {
    for (name, world, _) in worlds(100) {
        let least = least_of_short(name);
        let outcome = run(&world, 1);
        let share = outcome.given_s / outcome.total_s;
        assert!(share >= least, "{name}: {share}: {:#?}", outcome.decisions);
    }
}

/// A component that becomes 60 times slower from step 1001 on is replaced within a dozen steps, whatever trials there were.
#[test]
fn a_slow_component_is_replaced_within_a_dozen_steps() {
    let mut all = worlds(2000);
    let (_, world, _) = all.pop().expect("the last world");
    for seed in 0..4 {
        let outcome = run(&world, seed);
        let gone = outcome.decisions.iter().find(|decision| {
            decision.step > 1000
                && decision.site == "s0"
                && decision.from == name(0, 0)
                && decision.is_swap()
        });
        let step = gone.map(|decision| decision.step);
        assert!(
            step.is_some_and(|step| step <= 1012),
            "seed {seed}: {step:?}"
        );
    }
}

/// Least share of the given class's time in a run of a hundred steps, in every run. In the other worlds nothing is asked of so short a run:
/// what disturbs calls lasts for a tenth of it and more.
fn least_of_short(name: &str) -> f64 {
    match name {
        "start-up, given slow" => 0.9,
        _ => 0.97,
    }
}

/// Every run must reach the least given/total of its world, and their mean the least fixed/total.
#[test]
#[ignore = "prints a table"]
fn long() {
    let seeds = std::env::var("SEEDS").map_or(50, |s| s.parse().expect("a number"));
    let steps =
        std::env::var("STEPS").map_or(vec![100, 2000], |s| vec![s.parse().expect("a number")]);
    let only = std::env::var("ONLY").unwrap_or_default();
    let mut missed = Vec::new();
    for steps in steps {
        println!(
            "{steps} steps: given/total mean worst, fixed/total mean worst, decisions, longest µs of one, classes at the end; least given/total \
             of each run and fixed/total in the mean"
        );
        let of_short = |(name, world, _)| (name, world, Some([least_of_short(name), 0.0]));
        let judged = |(name, world, least)| (name, world, Some(least));
        let others = earlier::worlds(steps).into_iter();
        let others = others
            .chain(fresh::worlds(steps))
            .chain(states::worlds(steps));
        let all: Vec<_> = match steps < 1000 {
            true => worlds(steps)
                .into_iter()
                .map(of_short)
                .chain(others.map(|(name, world, _)| (name, world, None)))
                .collect(),
            false => worlds(steps)
                .into_iter()
                .chain(others)
                .map(judged)
                .collect(),
        };
        for (name, world, least) in all {
            if !name.contains(&only) {
                continue;
            }
            let outcomes: Vec<_> = (0..seeds).map(|seed| run(&world, seed)).collect();
            let n = outcomes.len() as f64;
            let given = sorted(outcomes.iter().map(|o| o.given_s / o.total_s).collect());
            let fixed = sorted(outcomes.iter().map(|o| o.fixed_s / o.total_s).collect());
            let mean = |all: &[f64]| all.iter().sum::<f64>() / n;
            let decisions = outcomes
                .iter()
                .map(|o| o.decisions.len() as f64)
                .sum::<f64>()
                / n;
            let deciding: f64 = outcomes.iter().flat_map(|o| &o.deciding_s).sum();
            let share = deciding / outcomes.iter().map(|o| o.total_s).sum::<f64>();
            let longest = outcomes
                .iter()
                .flat_map(|o| &o.deciding_s)
                .copied()
                .fold(0.0, f64::max);
            let is_missed =
                |[of_each, in_the_mean]: [f64; 2]| given[0] < of_each || mean(&fixed) < in_the_mean;
            let verdict = match least {
                None => "nothing is asked".into(),
                Some(least) if is_missed(least) => format!("MISSED {least:?}"),
                Some(least) => format!("reached {least:?}"),
            };
            if verdict.starts_with("MISSED") {
                missed.push(format!("{steps} steps, {name}"));
            }
            println!(
                "{name:24} {:.3} {:.3}  {:.3} {:.3}  {decisions:5.1}  {:.2} % {:.0} µs  {:?}  {verdict}",
                mean(&given),
                given[0],
                mean(&fixed),
                fixed[0],
                100.0 * share,
                1e6 * longest,
                outcomes[0].classes
            );
            if !only.is_empty() {
                let worst = |a: &&Outcome, b: &&Outcome| {
                    (a.fixed_s / a.total_s).total_cmp(&(b.fixed_s / b.total_s))
                };
                let worst = outcomes.iter().min_by(worst).expect("a seed");
                for decision in &worst.decisions {
                    println!(
                        "    {decision} [{:.5} of {:.5}]",
                        decision.spent_s, decision.budget_s
                    );
                }
            }
        }
    }
    assert!(missed.is_empty(), "missed: {missed:?}");
}

/// What a decision takes at a site of three classes, one and two sizes.
#[test]
#[ignore = "measures time"]
fn decisions_are_cheap() {
    for (name, sizes) in [("one size", different as Sizes), ("two sizes", two_sizes)] {
        let classes = vec![power(2e-8, 1.0), power(2.6e-8, 1.0), power(1.5e-8, 1.0)];
        let world = World::new(vec![site(classes, sizes, 12)], 4000);
        let outcome = run(&world, 1);
        let all = sorted(outcome.deciding_s);
        let at = |part: f64| 1e6 * all[(part * (all.len() - 1) as f64) as usize];
        println!(
            "{name}: {} decisions, median {:.1} µs, 90 % {:.1}, 95 % {:.1}, 98 % {:.1}, 99 % {:.1}",
            all.len(),
            at(0.5),
            at(0.9),
            at(0.95),
            at(0.98),
            at(0.99)
        );
    }
}
