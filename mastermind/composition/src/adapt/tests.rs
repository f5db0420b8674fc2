//! The policy on simulated calls.
//!
//! A `World` simulates the calls of one site next to four instances that never change, passes each step's calls to
//! the `Adapter` and carries out its decisions. Each test gives the seconds that each class needs per unit of size
//! and checks the final class, the account or the decisions. `Calls` does the same for a dispatcher, with calls of
//! many sizes in random order.

use super::*;

mod recalled;
mod several;

/// Normally distributed numbers, the same for the same seed.
struct Noise(u64);

impl Noise {
    fn unit(&mut self) -> f64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }
}

/// A site "flux" with classes "A", "B", …, and four other instances that never change.
struct World {
    adapter: Adapter,
    kinds: Vec<CallKind>,
    noise: Noise,
    class: usize,
    step: u64,
    elapsed_s: f64,
    decisions: Vec<Decision>,
    /// Part of the calls that reports contain.
    told: f64,
}

const CLASSES: [&str; 3] = ["A", "B", "C"];
const SIZES: [f64; 3] = [100.0, 400.0, 1600.0];
const CALLS: u64 = 8;

fn settings(explore: f64) -> AdaptSettings {
    AdaptSettings {
        explore,
        swap_s: 1e-5,
        ..AdaptSettings::default()
    }
}

impl World {
    fn new(n_classes: usize, explore: f64, seed: u64, stored: fn(&str) -> Option<f64>) -> Self {
        let assembly = Assembly::from([("flux".into(), "A".into())]);
        let classes: Vec<String> = CLASSES[..n_classes].iter().map(|c| (*c).into()).collect();
        let alternatives = Alternatives::from([("flux".into(), classes)]);
        let predict =
            move |class: &str, _: &str, at: &Coordinate| Some(stored(class)? * at.number("n")?);
        World {
            adapter: Adapter::new(
                &assembly,
                &alternatives,
                &[],
                settings(explore),
                Box::new(predict),
            ),
            kinds: Vec::new(),
            noise: Noise(seed),
            class: 0,
            step: 0,
            elapsed_s: 0.0,
            decisions: Vec::new(),
            told: 1.0,
        }
    }

    fn batch(&mut self, instance: &str, class: &str, size: f64, mean_s: f64) -> Batch {
        let ln_mean = mean_s.ln() + 0.08 * self.noise.normal() / (CALLS as f64).sqrt();
        let kind = CallKind {
            is_own: false,
            instance: instance.into(),
            class: class.into(),
            port_method: format!("{instance}.compute"),
            coordinate: Coordinate::new().with("n", size),
        };
        let known = self.kinds.iter().position(|known| *known == kind);
        let kind = known.unwrap_or_else(|| {
            self.kinds.push(kind.clone());
            self.adapter.add_kind(&kind)
        });
        Batch {
            kind,
            step: self.step + 1,
            calls: CALLS,
            failed: 0,
            ln_mean,
        }
    }

    /// One step.
    ///
    /// # Arguments
    /// * `cost_s` - seconds per unit of size, by class
    /// * `machine` - factor by which the whole machine is slower
    ///
    /// # Returns
    /// Seconds of the site.
    fn step(&mut self, n_steps: u64, cost_s: &[f64], machine: f64) -> f64 {
        let mut batches = Vec::new();
        let mut seconds = 0.0;
        for size in SIZES {
            let mean_s = machine * cost_s[self.class] * size;
            let batch = self.batch("flux", CLASSES[self.class], size, mean_s);
            seconds += CALLS as f64 * batch.ln_mean.exp();
            batches.push(batch);
        }
        for other in ["mesh", "rk2", "bc", "ic"] {
            let batch = self.batch(other, "other", 10.0, machine * 1e-5);
            batches.push(batch);
        }
        self.step += 1;
        self.elapsed_s += 1.5 * seconds;
        let decided = self.adapter.decide(&Report {
            step: self.step,
            fraction: self.step as f64 / n_steps as f64,
            elapsed_s: self.elapsed_s,
            ranks: 1,
            told: self.told,
            batches: &batches,
            deciding_s: 0.0,
            may_try: true,
            stride: 1.0,
            was_stopped: false,
        });
        for decision in decided {
            if decision.is_swap() {
                let place = CLASSES.iter().position(|class| *class == decision.to);
                self.class = place.expect("a class");
            }
            self.decisions.push(decision);
        }
        seconds
    }

    fn swaps(&self) -> usize {
        self.decisions.iter().filter(|d| d.is_swap()).count()
    }
}

const NOTHING: fn(&str) -> Option<f64> = |_| None;

/// If calls can no longer be watched, a trial would go on to the end of the run, however slow the class.
#[test]
fn nothing_stays_on_trial_that_cannot_be_watched() {
    let mut world = World::new(2, 1.0, 1, NOTHING);
    while !world.adapter.is_trying() {
        world.step(1000, &[1e-6, 1e-6], 1.0);
    }
    assert_eq!(world.class, 1);
    let report = Report {
        step: world.step + 1,
        fraction: 0.5,
        elapsed_s: world.elapsed_s,
        ranks: 1,
        told: 1.0,
        batches: &[],
        deciding_s: 0.0,
        may_try: true,
        stride: 1.0,
        was_stopped: false,
    };
    let back = world.adapter.abandon("the disk is full", &report);
    let [back] = &back[..] else {
        panic!("{back:?}");
    };
    assert_eq!(
        (back.act, back.from.as_str(), back.to.as_str()),
        (Act::Back, "B", "A")
    );
    assert_eq!(back.reason, "the disk is full");
    assert!(!world.adapter.is_trying());
    assert_eq!(world.adapter.abandon("again", &report), []);
}

#[test]
fn a_faster_class_is_found_and_kept() {
    let mut world = World::new(3, 0.02, 1, NOTHING);
    let cost_s = [1e-6, 0.5e-6, 0.8e-6];
    let total: f64 = (0..400).map(|_| world.step(400, &cost_s, 1.0)).sum();
    assert_eq!(world.class, 1, "{:#?}", world.decisions);
    let best = 400.0 * CALLS as f64 * SIZES.iter().sum::<f64>() * 0.5e-6;
    assert!(total < 1.1 * best, "{total} {best}");
}

#[test]
fn one_that_is_a_hundred_times_slower_costs_no_more_than_the_budget() {
    for seed in 0..20 {
        let mut world = World::new(2, 0.02, seed, NOTHING);
        let total: f64 = (0..400).map(|_| world.step(400, &[1e-6, 1e-4], 1.0)).sum();
        assert_eq!(world.class, 0);
        // The budget of the whole run, and one step that may be in flight.
        let given = 400.0 * CALLS as f64 * SIZES.iter().sum::<f64>() * 1e-6;
        let step = given / 400.0;
        assert!(
            total < 1.03 * given + 100.0 * step,
            "{seed}: {total} {given}"
        );
        assert!(world.swaps() <= 2, "{:#?}", world.decisions);
    }
}

/// A call of an unknown class may take a hundred times as long.
#[test]
fn a_run_that_is_too_short_to_bear_a_call_tries_none_and_says_so() {
    let of = |n_steps: u64| {
        let mut world = World::new(2, 0.02, 0, NOTHING);
        world.adapter.limit_trials("flux");
        for _ in 0..n_steps {
            world.step(n_steps, &[1e-6, 0.5e-6], 1.0);
        }
        world
    };
    let short = of(10);
    assert!(short.decisions.is_empty(), "{:#?}", short.decisions);
    let unborne: Vec<_> = short.adapter.unborne().collect();
    assert_eq!(unborne, [("flux", "B")]);
    let long = of(400);
    assert_eq!(long.class, 1, "{:#?}", long.decisions);
    assert_eq!(long.adapter.unborne().count(), 0);
}

#[test]
fn ties_do_not_churn() {
    for seed in 0..5 {
        let mut world = World::new(2, 0.02, seed, NOTHING);
        let n_steps = 100_000 / (CALLS * SIZES.len() as u64);
        for _ in 0..n_steps {
            world.step(n_steps, &[1e-6, 1e-6], 1.0);
        }
        // A second trial, if the few calls of the first one left open whether the class saves time.
        assert!(world.swaps() <= 4, "seed {seed}: {:#?}", world.decisions);
        let keeps = world.decisions.iter().filter(|d| d.act == Act::Keep);
        assert!(keeps.count() <= 1, "seed {seed}: {:#?}", world.decisions);
    }
}

#[test]
fn the_given_assembly_is_the_guard() {
    for (explore, least) in [(0.02, 0.97), (0.005, 0.99)] {
        for seed in 0..50 {
            let mut world = World::new(3, explore, seed, NOTHING);
            let cost_s = [1e-6, 1.3e-6, 1.1e-6];
            let total: f64 = (0..500).map(|_| world.step(500, &cost_s, 1.0)).sum();
            let given = 500.0 * CALLS as f64 * SIZES.iter().sum::<f64>() * 1e-6;
            assert!(
                given / total >= least,
                "{explore} {seed}: {}",
                given / total
            );
        }
    }
}

#[test]
fn a_class_that_becomes_slower_is_replaced() {
    let stored: fn(&str) -> Option<f64> = |class| Some(if class == "A" { 1e-6 } else { 1.2e-6 });
    let mut world = World::new(2, 0.02, 3, stored);
    for _ in 0..100 {
        world.step(300, &[1e-6, 1.2e-6], 1.0);
    }
    assert_eq!(world.class, 0, "{:#?}", world.decisions);
    let tried = world.decisions.len();
    let mut after = 0.0;
    for _ in 0..200 {
        after += world.step(300, &[4e-6, 1.2e-6], 1.0);
    }
    assert_eq!(world.class, 1, "{:#?}", world.decisions);
    let decided = &world.decisions[tried..];
    let acts: Vec<_> = decided.iter().map(|decision| decision.act).collect();
    assert_eq!(acts, [Act::Level, Act::Try, Act::Keep], "{decided:#?}");
    assert!(decided[0].step <= 105, "{decided:#?}");
    let oracle = 200.0 * CALLS as f64 * SIZES.iter().sum::<f64>() * 1.2e-6;
    assert!(after < 1.1 * oracle, "{after} {oracle}");
}

#[test]
fn a_slow_machine_is_no_slow_class() {
    let mut world = World::new(2, 0.02, 4, |_| Some(1e-6));
    for step in 0..300 {
        let machine = if step >= 100 { 1.9 } else { 1.0 };
        world.step(300, &[1e-6, 1e-6], machine);
    }
    let levels = world.decisions.iter().filter(|d| d.act == Act::Level);
    assert_eq!(levels.count(), 0, "{:#?}", world.decisions);
}

/// One of four calls is reported: a trial that is slower by half has cost four times as much.
#[test]
fn calls_that_are_told_stand_for_those_that_are_not() {
    let spent_s = |told: f64| {
        let mut world = World::new(2, 1.0, 5, NOTHING);
        world.told = told;
        while !world.decisions.iter().any(|d| d.act == Act::Back) {
            world.step(1000, &[1e-6, 1.5e-6], 1.0);
            assert!(world.step < 500, "{:#?}", world.decisions);
        }
        let back = world.decisions.iter().find(|d| d.act == Act::Back);
        back.map_or(0.0, |back| back.spent_s)
    };
    let ratio = spent_s(0.25) / spent_s(1.0);
    assert!((ratio - 4.0).abs() < 0.4, "{ratio}");
}

#[test]
fn a_failing_class_goes_and_does_not_come_back() {
    let stored: fn(&str) -> Option<f64> = |class| Some(if class == "A" { 1e-6 } else { 0.3e-6 });
    let mut world = World::new(2, 0.02, 5, stored);
    while world.class == 0 {
        world.step(200, &[1e-6, 0.3e-6], 1.0);
        assert!(world.step < 50, "B was never tried");
    }
    let mut failed = world.batch("flux", "B", 100.0, 1e-4);
    (failed.calls, failed.failed) = (0, 1);
    let decided = world.adapter.decide(&Report {
        step: world.step + 1,
        fraction: 0.2,
        elapsed_s: world.elapsed_s,
        ranks: 1,
        told: 1.0,
        batches: &[failed],
        deciding_s: 0.0,
        may_try: true,
        stride: 1.0,
        was_stopped: false,
    });
    assert_eq!((decided[0].act, decided[0].to.as_str()), (Act::Failed, "A"));
    world.class = 0;
    let before = world.decisions.len();
    for _ in 0..100 {
        world.step(200, &[1e-6, 0.3e-6], 1.0);
    }
    assert_eq!(world.decisions.len(), before, "{:#?}", world.decisions);
}

#[test]
fn what_cannot_be_put_in_is_not_asked_for_again() {
    let stored: fn(&str) -> Option<f64> = |class| Some(if class == "A" { 1e-6 } else { 0.3e-6 });
    let mut world = World::new(2, 0.02, 6, stored);
    while world.class == 0 {
        world.step(200, &[1e-6, 0.3e-6], 1.0);
    }
    let asked = world.decisions.last().expect("a decision").clone();
    let told = world.adapter.done(&asked, Err("no such class".into()));
    assert_eq!(told.expect("what follows").act, Act::Failed);
    world.class = 0;
    let before = world.decisions.len();
    for _ in 0..100 {
        world.step(200, &[1e-6, 0.3e-6], 1.0);
    }
    assert_eq!(world.decisions.len(), before, "{:#?}", world.decisions);
}

/// Steps of 20 calls of sizes 16 to 32768, in any order, sent by a dispatcher whose table changes between them.
struct Calls<F> {
    adapter: Adapter,
    seconds: F,
    noise: Noise,
    /// By instance of the class and size, the number of the kind.
    kinds: BTreeMap<(usize, u32), usize>,
    table: Decisions,
    elapsed_s: f64,
    oracle_s: f64,
    step: u64,
    decisions: Vec<Decision>,
}

const STEPS: u64 = 400;

impl<F: Fn(usize, f64) -> f64> Calls<F> {
    fn new(n_arms: usize, seed: u64, seconds: F) -> Self {
        let providers = CLASSES[..n_arms].iter();
        let providers = providers.map(|class| (format!("fft-{class}"), (*class).to_owned()));
        let site = DispatchedSite {
            instance: "fft".into(),
            providers: providers.collect(),
        };
        let (none, nothing) = (Assembly::new(), Alternatives::new());
        Calls {
            adapter: Adapter::new(
                &none,
                &nothing,
                &[site],
                settings(0.02),
                Box::new(|_, _, _| None),
            ),
            seconds,
            noise: Noise(seed),
            kinds: BTreeMap::new(),
            table: Decisions::default(),
            elapsed_s: 0.0,
            oracle_s: 0.0,
            step: 0,
            decisions: Vec::new(),
        }
    }

    /// The index of the class that a call goes to.
    fn to(&self, size: f64) -> usize {
        let to = self.table.class(&Coordinate::new().with("n", size));
        let to =
            to.and_then(|instance| CLASSES.iter().position(|c| format!("fft-{c}") == instance));
        to.unwrap_or(0)
    }

    fn step(&mut self, n_arms: usize, fails: impl Fn(usize) -> bool) {
        let mut calls: BTreeMap<(usize, u32), Vec<f64>> = BTreeMap::new();
        for _ in 0..20 {
            let power = 4 + (self.noise.unit() * 12.0) as u32;
            let size = f64::from(1 << power);
            let arm = self.to(size);
            let took = (self.seconds)(arm, size) * (0.05 * self.noise.normal()).exp();
            calls.entry((arm, power)).or_default().push(took.ln());
            self.elapsed_s += took;
            let times = (0..n_arms).map(|arm| (self.seconds)(arm, size));
            self.oracle_s += times.min_by(f64::total_cmp).expect("a class");
        }
        let mut batches = Vec::new();
        for ((arm, power), ln) in calls {
            let n_kinds = self.kinds.len();
            let kind = *self.kinds.entry((arm, power)).or_insert(n_kinds);
            if kind == n_kinds {
                self.adapter.add_kind(&CallKind {
                    is_own: false,
                    instance: format!("fft-{}", CLASSES[arm]),
                    class: CLASSES[arm].into(),
                    port_method: "fft.forward".into(),
                    coordinate: Coordinate::new().with("n", f64::from(1 << power)),
                });
            }
            let (n, is_failing) = (ln.len() as u64, fails(arm));
            batches.push(Batch {
                kind,
                step: self.step + 1,
                calls: if is_failing { 0 } else { n },
                failed: if is_failing { n } else { 0 },
                ln_mean: ln.iter().sum::<f64>() / n as f64,
            });
        }
        self.step += 1;
        let decided = self.adapter.decide(&Report {
            step: self.step,
            fraction: self.step as f64 / STEPS as f64,
            elapsed_s: self.elapsed_s,
            ranks: 1,
            told: 1.0,
            batches: &batches,
            deciding_s: 0.0,
            may_try: true,
            stride: 1.0,
            was_stopped: false,
        });
        self.decisions.extend(decided);
        for (instance, tables) in self.adapter.new_tables() {
            assert_eq!(instance, "fft");
            self.table = tables["fft.forward"].clone();
        }
    }
}

/// # Returns
/// The oracle's seconds over those taken.
fn dispatched(n_arms: usize, seed: u64, seconds: impl Fn(usize, f64) -> f64) -> f64 {
    let mut calls = Calls::new(n_arms, seed, seconds);
    for _ in 0..STEPS {
        calls.step(n_arms, |_| false);
    }
    calls.oracle_s / calls.elapsed_s
}

#[test]
fn each_call_goes_to_the_class_that_is_fastest_at_its_size() {
    // One has a start-up, the other is slower for each point.
    let seconds = |arm: usize, size: f64| [1e-6 + 1e-9 * size, 3e-9 * size][arm];
    let mut calls = Calls::new(2, 7, seconds);
    for _ in 0..STEPS {
        calls.step(2, |_| false);
    }
    let share = calls.oracle_s / calls.elapsed_s;
    assert!(share > 0.97, "{share}");
    let (instance, tables) = calls.adapter.best_tables().remove(0);
    assert_eq!(instance, "fft");
    let at = |n: f64| {
        let at = Coordinate::new().with("n", n);
        tables["fft.forward"]
            .class(&at)
            .unwrap_or("fft-A")
            .to_owned()
    };
    // They cross at 500.
    assert_eq!([at(64.0), at(4096.0), at(1e6)], ["fft-B", "fft-A", "fft-A"]);
    let tried = calls
        .decisions
        .iter()
        .find(|decision| decision.act == Act::Try);
    let tried = tried.expect("a trial").to_string();
    assert!(tried.contains("fft: fft.forward n="), "{tried}");
    assert!(!calls.decisions.iter().any(Decision::is_swap));
}

/// A call of the largest size would cost a fifth of the time of all others.
#[test]
fn a_class_of_which_nothing_is_known_is_tried_where_that_is_cheap() {
    let shares: Vec<f64> = (0..20)
        .map(|seed| dispatched(2, seed, |arm, size| [1e-9, 1e-7][arm] * size))
        .collect();
    // A budget for a class twenty times slower covers one a hundred times slower only where its calls are few.
    assert!(shares.iter().all(|share| *share > 0.9), "{shares:?}");
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    assert!(mean > 0.98, "{mean}: {shares:?}");
}

#[test]
fn a_class_that_fails_on_trial_gets_no_calls_any_more() {
    let mut calls = Calls::new(2, 3, |arm, size| [2e-9, 1e-9][arm] * size);
    while calls.decisions.is_empty() {
        calls.step(2, |arm| arm == 1);
    }
    for _ in 0..50 {
        calls.step(2, |arm| arm == 1);
    }
    let acts: Vec<Act> = calls.decisions.iter().map(|d| d.act).collect();
    assert_eq!(acts, [Act::Try, Act::Failed], "{:#?}", calls.decisions);
    assert_eq!(calls.to(1024.0), 0);
}

#[test]
fn a_class_that_becomes_slow_loses_its_calls() {
    let slow = std::cell::Cell::new(1.0);
    let mut calls = Calls::new(2, 5, |arm, size| [1e-9 * slow.get(), 1.5e-9][arm] * size);
    for _ in 0..200 {
        calls.step(2, |_| false);
    }
    assert_eq!(calls.to(1024.0), 0, "{:#?}", calls.decisions);
    slow.set(4.0);
    for _ in 0..40 {
        calls.step(2, |_| false);
    }
    for d in &calls.decisions {
        println!("{d}");
    }
    let sizes = [16.0, 1024.0, 32768.0];
    assert_eq!(sizes.map(|n| calls.to(n)), [1; 3], "{:#?}", calls.decisions);
    let level = calls.decisions.iter().find(|d| d.act == Act::Level);
    assert_eq!(level.expect("a change").from, "A");
}

/// One call in five waits for twenty times its computing time, whichever class answers: the class that computes
/// faster is still found.
#[test]
fn delayed_calls_hide_no_faster_class() {
    for seed in 0..5 {
        let mut world = World::new(2, 0.02, seed, NOTHING);
        for step in 1..=1000_u64 {
            let mut batches = Vec::new();
            for size in SIZES {
                let mut seconds = [3.4e-6, 2e-6][world.class] * size;
                if world.noise.unit() < 0.2 {
                    seconds += 6.8e-2 * world.noise.unit();
                }
                let batch = world.batch("flux", CLASSES[world.class], size, seconds);
                let batch = Batch { calls: 1, ..batch };
                world.elapsed_s += batch.ln_mean.exp();
                batches.push(batch);
            }
            let decided = world.adapter.decide(&Report {
                step,
                fraction: step as f64 / 1000.0,
                elapsed_s: world.elapsed_s,
                ranks: 1,
                told: 1.0,
                batches: &batches,
                deciding_s: 0.0,
                may_try: true,
                stride: 1.0,
                was_stopped: false,
            });
            for decision in decided.iter().filter(|decision| decision.is_swap()) {
                let class = CLASSES.iter().position(|class| *class == decision.to);
                world.class = class.expect("a class");
            }
            world.decisions.extend(decided);
        }
        assert_eq!(world.class, 1, "seed {seed}: {:#?}", world.decisions);
    }
}

/// Calls of many different sizes in each step, whose means a trial compares: a decision computes the posterior before
/// and after them, and no fit is larger than the number of sizes seen early in the run.
#[test]
fn a_decision_takes_no_longer_with_more_calls_or_sizes() {
    let mut world = World::new(3, 0.5, 4, |_| None);
    let mut n_trials = 0;
    for step in 1..=200_u64 {
        let mut batches = Vec::new();
        for _ in 0..30 {
            let size = (16.0 * 512.0_f64.powf(world.noise.unit())).round();
            let cost_s = [3e-8, 4e-8, 2e-8][world.class];
            let batch = world.batch("flux", CLASSES[world.class], size, cost_s * size);
            world.elapsed_s += CALLS as f64 * batch.ln_mean.exp();
            batches.push(batch);
        }
        n_trials += u64::from(world.adapter.is_trying());
        let before = world.adapter.sites[0].beliefs.n_fits;
        let decided = world.adapter.decide(&Report {
            step,
            fraction: step as f64 / 200.0,
            elapsed_s: world.elapsed_s,
            ranks: 1,
            told: 1.0,
            batches: &batches,
            deciding_s: 0.0,
            may_try: true,
            stride: 1.0,
            was_stopped: false,
        });
        let n_fits = world.adapter.sites[0].beliefs.n_fits - before;
        assert!(n_fits <= 2, "step {step}: {n_fits}");
        for decision in decided.iter().filter(|decision| decision.is_swap()) {
            let class = CLASSES.iter().position(|class| *class == decision.to);
            world.class = class.expect("a class");
        }
    }
    assert!(n_trials > 0);
    assert_eq!(CLASSES[world.class], "C");
    let n_kinds = world.adapter.sites[0].beliefs.n_kinds();
    assert!(n_kinds <= 16, "{n_kinds}");
}

#[test]
fn kinds_without_end_are_taken_together() {
    let mut site = Site::of_dispatcher(
        "fft",
        &[("a".into(), "A".into()), ("b".into(), "B".into())],
        20,
    );
    for place in 0..1000 {
        let call = CallKind {
            is_own: false,
            instance: "a".into(),
            class: "A".into(),
            port_method: "fft.forward".into(),
            coordinate: Coordinate::new().with("n", 1.1_f64.powi(place)),
        };
        site.kind(&call, 0, &|_, _, _| None);
    }
    assert!(site.calls.len() <= 64, "{}", site.calls.len());
}

/// Which size of two came first may differ from class to class.
#[test]
fn a_size_that_repeats_is_the_same_kind_for_all_classes() {
    let mut site = Site::new("fft", "A", &["A".into(), "B".into()], 20);
    let mut kind = |arm: usize, n: f64, is_own: bool| {
        let call = CallKind {
            is_own,
            instance: "fft".into(),
            class: CLASSES[arm].into(),
            port_method: "fft.forward".into(),
            coordinate: Coordinate::new().with("n", n),
        };
        site.kind(&call, arm, &|_, _, _| None).kind
    };
    assert_eq!([kind(0, 1024.0, false), kind(0, 1030.0, true)], [0, 1]);
    assert_eq!([kind(1, 1030.0, false), kind(1, 1024.0, true)], [1, 0]);
    assert_eq!(kind(1, 1026.0, false), 0, "of about that size");
}

/// However many sizes there are, and however close: each has its calls, and no other calls go elsewhere because of
/// it.
#[test]
fn each_trial_is_of_its_kind_alone() {
    let at = |method: &str, n: f64, m: f64| {
        let at = Coordinate::new().with("method", method);
        at.with("n", n).with("m", m)
    };
    let mut calls = Vec::new();
    for method in ["a", "b"] {
        for n in [10.0, 11.0, 100.0, 1000.0] {
            for m in [0.0, 5.0, 300.0] {
                calls.push((at(method, n, m), calls.len() % 2));
            }
        }
    }
    let classes: Vec<String> = CLASSES.iter().map(|class| (*class).into()).collect();
    let told: Vec<_> = calls.iter().map(|(at, class)| (at, *class)).collect();
    let trials: Vec<_> = told.iter().step_by(3).map(|(at, _)| (*at, 2)).collect();
    let about = site::kind_bounds;
    let table = crate::decide::of_calls(&told, &trials, about, &classes);
    for (place, (at, class)) in told.iter().enumerate() {
        let expected = if place % 3 == 0 { 2 } else { *class };
        let found = table.class(at).unwrap_or(CLASSES[0]);
        assert_eq!(found, CLASSES[expected], "{at:?}");
    }
    // Next to a trial, and of an unknown label.
    let beside = table.class(&at("a", 10.0, 2.0));
    assert_ne!(beside, Some(CLASSES[2]));
    assert_eq!(
        table.class(&at("c", 10.0, 0.0)).unwrap_or(CLASSES[0]),
        CLASSES[0]
    );
}

#[test]
fn sizes_are_within_the_bounds_of_their_kind_alone() {
    let key = |x: f64| site::kind_key("m", &Coordinate::new().with("n", x));
    for x in (-30..400).map(|place| f64::from(place) * 0.37) {
        let [low, high] = site::kind_bounds(x);
        assert!(low <= x && x < high, "{low} {x} {high}");
        for inside in [low + 1e-9, high - 1e-9] {
            assert_eq!(key(inside), key(x), "{x}");
        }
        for outside in [low - 1e-9, high + 1e-9] {
            assert_ne!(key(outside), key(x), "{x}");
        }
    }
}

/// Otherwise the limits of trials would count with a class that is sixty times slower than it was, and a hundred times slower still.
#[test]
fn a_class_that_has_changed_says_nothing_about_the_others() {
    let mut beliefs = Beliefs::new(2);
    let kind = Kind {
        group: 0,
        x: vec![100.0_f64.ln()],
    };
    let place = beliefs.add_kind(kind, &[None, None]);
    beliefs.observe(0, place, 50.0, 1e-6_f64.ln());
    let before = beliefs.posterior().ln_mean(1, place);
    beliefs.shift(0, 60.0_f64.ln(), 5.0);
    let posterior = beliefs.posterior();
    let of_other = posterior.ln_mean(1, place) - before;
    assert!(of_other.abs() < 0.05, "{of_other}");
    let of_changed = posterior.ln_mean(0, place) - 60e-6_f64.ln();
    assert!(of_changed.abs() < 0.05, "{of_changed}");
}
