//! Replays measured times through the policy that sends each call to a class, and through plain ones beside it; for
//! `benches/adapt/run.sh`, which measures the times and replays others of `mabwiser`.
//!
//! ```text
//! replay SEQUENCE.json…       one line of JSON a file: share of the oracle's speed by policy
//! ```

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::time::Instant;

use mastermind_composition::adapt::{Dispatcher, Horizon, Kind};
use serde::{Deserialize, Serialize};

/// Calls in their order, with what each class would have taken.
#[derive(Deserialize)]
struct Sequence {
    kinds: Vec<Size>,
    /// Number of the kind of each call.
    calls: Vec<usize>,
    /// Seconds by class, of each call.
    times: Vec<Vec<f64>>,
    /// Seconds that stored models predict, by kind and class.
    stored: Vec<Vec<Option<f64>>>,
    /// Middle seconds by kind and class, also of kinds that are not called.
    middle: Vec<Vec<f64>>,
}

#[derive(Deserialize)]
struct Size {
    group: usize,
    x: Vec<f64>,
}

#[derive(Serialize)]
struct Told {
    file: String,
    /// The oracle's seconds over the policy's.
    share: BTreeMap<&'static str, f64>,
    /// The same for one that is told after each call what all classes would have taken: what could be known.
    all_told: f64,
    /// Of the kinds that are not called: by how much what is believed to be fastest is slower than what is.
    unseen_regret: Vec<f64>,
    /// One call of each of these kinds: the oracle's seconds over those of the class believed to be fastest at each, and over those
    /// of the class that would have been the best single one for all calls.
    apart: [f64; 2],
    /// Seconds that our choices took, a call.
    choice_s: f64,
}

/// Chooses a class for a call, and learns what it took.
trait Policy {
    fn choose(&mut self, kind: usize) -> usize;
    fn learn(&mut self, kind: usize, arm: usize, seconds: f64);
}

struct Ours {
    dispatcher: Dispatcher,
    /// Number there of each kind; a kind is known when it is first called.
    known: Vec<Option<usize>>,
    kinds: Vec<Kind>,
    stored: Vec<Vec<Option<f64>>>,
}

impl Ours {
    fn new(sequence: &Sequence, horizon: Horizon, is_stored: bool) -> Self {
        let n_arms = sequence.times[0].len();
        let kinds = sequence.kinds.iter().map(|size| Kind {
            group: size.group,
            x: size.x.clone(),
        });
        Ours {
            dispatcher: Dispatcher::new(n_arms, horizon),
            known: vec![None; sequence.kinds.len()],
            kinds: kinds.collect(),
            stored: match is_stored {
                true => sequence.stored.clone(),
                false => vec![vec![None; n_arms]; sequence.kinds.len()],
            },
        }
    }

    fn known(&mut self, kind: usize) -> usize {
        if let Some(known) = self.known[kind] {
            return known;
        }
        let (new, stored) = (self.kinds[kind].clone(), &self.stored[kind]);
        let known = self.dispatcher.add_kind(new, stored);
        self.known[kind] = Some(known);
        known
    }
}

impl Policy for Ours {
    fn choose(&mut self, kind: usize) -> usize {
        let kind = self.known(kind);
        self.dispatcher.choose(kind)
    }

    fn learn(&mut self, kind: usize, arm: usize, seconds: f64) {
        let kind = self.known(kind);
        self.dispatcher.observe(arm, kind, seconds);
    }
}

/// Numbers of a kind and a class: count, mean, sum of squared deviations.
type Cells = Vec<Vec<(f64, f64, f64)>>;

fn cells(sequence: &Sequence) -> Cells {
    vec![vec![(0.0, 0.0, 0.0); sequence.times[0].len()]; sequence.kinds.len()]
}

fn add(cell: &mut (f64, f64, f64), value: f64) {
    cell.0 += 1.0;
    let off = value - cell.1;
    cell.1 += off / cell.0;
    cell.2 += off * (value - cell.1);
}

fn least(values: impl Iterator<Item = f64>) -> usize {
    let values = values.enumerate();
    values
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .map_or(0, |(arm, _)| arm)
}

/// `StarPU`'s history model (`starpu_perfmodel_history_based`): ten samples of each class at each size, then the least mean;
/// samples off by more than half of the mean are outliers, and forget it where they are more than the others.
struct History(Cells, Vec<Vec<f64>>);

impl Policy for History {
    fn choose(&mut self, kind: usize) -> usize {
        let cells = &self.0[kind];
        let least_known = least(cells.iter().map(|cell| cell.0));
        match cells[least_known].0 < 10.0 {
            true => least_known,
            false => least(cells.iter().map(|cell| cell.1)),
        }
    }

    fn learn(&mut self, kind: usize, arm: usize, seconds: f64) {
        let cell = &mut self.0[kind][arm];
        if cell.0 >= 10.0 && (seconds / cell.1 - 1.0).abs() > 0.5 {
            self.1[kind][arm] += 1.0;
            if self.1[kind][arm] > cell.0 {
                *cell = (0.0, 0.0, 0.0);
                self.1[kind][arm] = 0.0;
            }
            return;
        }
        add(cell, seconds);
    }
}

/// The class with the least mean at the size, and with a chance of 5 % any.
struct EpsilonGreedy(Cells, fastrand::Rng);

impl Policy for EpsilonGreedy {
    fn choose(&mut self, kind: usize) -> usize {
        let cells = &self.0[kind];
        match cells.iter().position(|cell| cell.0 == 0.0) {
            Some(unknown) => unknown,
            None if self.1.f64() < 0.05 => self.1.usize(..cells.len()),
            None => least(cells.iter().map(|cell| cell.1)),
        }
    }

    fn learn(&mut self, kind: usize, arm: usize, seconds: f64) {
        add(&mut self.0[kind][arm], seconds);
    }
}

/// The class that is fastest in a draw from what is believed of the logarithm of its mean at the size.
struct Thompson(Cells, fastrand::Rng);

impl Policy for Thompson {
    fn choose(&mut self, kind: usize) -> usize {
        let Thompson(cells, numbers) = self;
        if let Some(unknown) = cells[kind].iter().position(|cell| cell.0 == 0.0) {
            return unknown;
        }
        least(cells[kind].iter().map(|cell| {
            // Prior: 10 % spread, one sample.
            let variance = (0.01 + cell.2) / cell.0.max(1.0);
            let normal: f64 = (0..12).map(|_| numbers.f64()).sum::<f64>() - 6.0;
            cell.1 + normal * (variance / cell.0).sqrt()
        }))
    }

    fn learn(&mut self, kind: usize, arm: usize, seconds: f64) {
        add(&mut self.0[kind][arm], seconds.ln());
    }
}

fn seconds(sequence: &Sequence, policy: &mut dyn Policy) -> f64 {
    let calls = sequence.calls.iter().zip(&sequence.times);
    calls
        .map(|(kind, times)| {
            let arm = policy.choose(*kind);
            policy.learn(*kind, arm, times[arm]);
            times[arm]
        })
        .sum()
}

/// Seconds of the class believed to be fastest at each call, where every class's time of each call is told after it.
fn all_told_s(sequence: &Sequence) -> f64 {
    let mut ours = Ours::new(sequence, Horizon::Unknown, false);
    let calls = sequence.calls.iter().zip(&sequence.times);
    let seconds = calls.map(|(kind, times)| {
        let kind = ours.known(*kind);
        let chosen = ours.dispatcher.fastest(kind);
        for (arm, seconds) in times.iter().enumerate() {
            ours.dispatcher.observe(arm, kind, *seconds);
        }
        times[chosen]
    });
    seconds.sum()
}

fn replay(file: &str) -> Result<Told, Box<dyn Error>> {
    let sequence: Sequence = serde_json::from_str(&fs::read_to_string(file)?)?;
    let best = |kind: usize| least(sequence.middle[kind].iter().copied());
    let calls = sequence.calls.iter().zip(&sequence.times);
    let oracle: f64 = calls.map(|(kind, times)| times[best(*kind)]).sum();
    let all = Horizon::Calls(sequence.calls.len() as f64);
    let mut ours = Ours::new(&sequence, all, false);
    let begin = Instant::now();
    let ours_s = seconds(&sequence, &mut ours);
    let choice_s = begin.elapsed().as_secs_f64() / sequence.calls.len() as f64;
    let outliers = vec![vec![0.0; sequence.times[0].len()]; sequence.kinds.len()];
    let numbers = || fastrand::Rng::with_seed(7);
    let mut others: Vec<(&'static str, Box<dyn Policy>)> = vec![
        (
            "ours, stored models",
            Box::new(Ours::new(&sequence, all, true)),
        ),
        (
            "ours, end unknown",
            Box::new(Ours::new(&sequence, Horizon::Unknown, false)),
        ),
        (
            "StarPU history",
            Box::new(History(cells(&sequence), outliers)),
        ),
        (
            "epsilon-greedy",
            Box::new(EpsilonGreedy(cells(&sequence), numbers())),
        ),
        ("Thompson", Box::new(Thompson(cells(&sequence), numbers()))),
    ];
    let mut share = BTreeMap::from([("ours", oracle / ours_s)]);
    for (name, policy) in &mut others {
        share.insert(name, oracle / seconds(&sequence, &mut **policy));
    }
    let n_arms = sequence.times[0].len();
    let of_arm = |arm: usize| sequence.times.iter().map(|times| times[arm]).sum::<f64>();
    let single = least((0..n_arms).map(of_arm));
    let (mut unseen_regret, mut apart_s) = (Vec::new(), [0.0; 3]);
    for kind in 0..sequence.kinds.len() {
        if ours.known[kind].is_none() {
            let place = ours.known(kind);
            let arm = ours.dispatcher.fastest(place);
            let middle = &sequence.middle[kind];
            unseen_regret.push(middle[arm] / middle[best(kind)] - 1.0);
            let chosen = [best(kind), arm, single];
            let sums = apart_s.iter_mut().zip(chosen);
            sums.for_each(|(sum, arm)| *sum += middle[arm]);
        }
    }
    Ok(Told {
        file: file.into(),
        share,
        all_told: oracle / all_told_s(&sequence),
        unseen_regret,
        apart: [apart_s[0] / apart_s[1], apart_s[0] / apart_s[2]],
        choice_s,
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    for file in std::env::args().skip(1) {
        let told = replay(&file).map_err(|error| format!("cannot replay \"{file}\": {error}"))?;
        println!("{}", serde_json::to_string(&told)?);
    }
    Ok(())
}
