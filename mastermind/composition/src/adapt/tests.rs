//! The policy on simulated calls.

use super::*;

/// Numbers with a normal spread, the same for the same seed.
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

/// A site "flux" with classes "A", "B", …, beside four instances that never change.
struct World {
    adapter: Adapter,
    kinds: Vec<CallKind>,
    noise: Noise,
    class: usize,
    step: u64,
    elapsed_s: f64,
    decisions: Vec<Decision>,
    /// Part of the calls that reports tell.
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
            calls: CALLS,
            failed: 0,
            ln_mean,
        }
    }

    /// One step.
    ///
    /// # Arguments
    /// * `cost_s` - seconds for each unit of size, of each class
    /// * `machine` - by what all is slower
    ///
    /// # Returns
    /// Seconds in the site.
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

/// Where calls can be watched no longer, a trial would go on to the end of the run, whatever the class takes.
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
        // Of the budget, of the whole run, and the one step that may be in flight.
        let given = 400.0 * CALLS as f64 * SIZES.iter().sum::<f64>() * 1e-6;
        let step = given / 400.0;
        assert!(
            total < 1.03 * given + 100.0 * step,
            "{seed}: {total} {given}"
        );
        assert!(world.swaps() <= 2, "{:#?}", world.decisions);
    }
}

#[test]
fn ties_do_not_churn() {
    for seed in 0..5 {
        let mut world = World::new(2, 0.02, seed, NOTHING);
        let n_steps = 100_000 / (CALLS * SIZES.len() as u64);
        for _ in 0..n_steps {
            world.step(n_steps, &[1e-6, 1e-6], 1.0);
        }
        assert!(world.swaps() <= 2, "seed {seed}: {:#?}", world.decisions);
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

/// Of four calls one is told: a trial that is slower by a half has cost four times as much.
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

/// Sends 4000 calls of sizes 16 to 32768, in any order.
///
/// # Arguments
/// * `seconds` - of a class at a size
///
/// # Returns
/// The oracle's seconds over those of the dispatcher.
fn dispatched(n_arms: usize, seed: u64, seconds: impl Fn(usize, f64) -> f64) -> f64 {
    let mut noise = Noise(seed);
    let mut dispatcher = Dispatcher::new(n_arms, Horizon::Calls(4000.0));
    let sizes: Vec<f64> = (4..16).map(|k| f64::from(1 << k)).collect();
    let mut kinds = vec![None; sizes.len()];
    let (mut total, mut oracle) = (0.0, 0.0);
    for _ in 0..4000 {
        let place = (noise.unit() * sizes.len() as f64) as usize;
        let size = sizes[place];
        let kind = *kinds[place].get_or_insert_with(|| {
            let x = vec![size.ln()];
            dispatcher.add_kind(Kind { group: 0, x }, &vec![None; n_arms])
        });
        let arm = dispatcher.choose(kind);
        let took = seconds(arm, size) * (0.05 * noise.normal()).exp();
        dispatcher.observe(arm, kind, took);
        total += took;
        let times = (0..n_arms).map(|arm| seconds(arm, size));
        oracle += times.min_by(f64::total_cmp).expect("a class");
    }
    oracle / total
}

#[test]
fn each_call_goes_to_the_class_that_is_fastest_at_its_size() {
    // One has a start-up, the other is slower for each point.
    let share = dispatched(2, 7, |arm, size| [1e-6 + 1e-9 * size, 3e-9 * size][arm]);
    assert!(share > 0.97, "{share}");
}

/// A call of the largest size would cost a fifth of all that the others take.
#[test]
fn a_class_of_which_nothing_is_known_is_tried_where_that_is_cheap() {
    for seed in 0..20 {
        let share = dispatched(2, seed, |arm, size| [1e-9, 1e-7][arm] * size);
        assert!(share > 0.98, "{seed}: {share}");
    }
}
