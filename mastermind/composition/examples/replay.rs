//! Replays measured times through the policy by which `run --adapt` has a dispatcher send calls, and through plain ones beside it; for
//! `benches/adapt/run.sh`, which measures the times and replays others of `mabwiser`.
//!
//! ```text
//! replay SEQUENCE.json…       one line of JSON a file: share of the oracle's speed by policy
//! ```

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::time::Instant;

use mastermind_composition::adapt::{Allowed, Beliefs, Calls, Kind, Sending};
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

/// Calls after which it is decided anew where the next ones go, as a run does after a step of the application.
const STEP: usize = 10;

/// Part of a run's seconds that trials may cost, as `run --adapt` has it.
const EXPLORE: f64 = 0.02;

struct Ours {
    beliefs: Beliefs,
    sending: Sending,
    /// Number there of each kind; a kind is known when it is first called.
    known: Vec<Option<usize>>,
    kinds: Vec<Kind>,
    stored: Vec<Vec<Option<f64>>>,
    /// Calls so far, by kind known.
    calls: Vec<f64>,
    n_calls: usize,
    /// How many there are in all, if that is told.
    n_all: Option<usize>,
    elapsed_s: f64,
    spent_s: f64,
}

impl Ours {
    fn new(sequence: &Sequence, n_all: Option<usize>, is_stored: bool) -> Self {
        let n_arms = sequence.times[0].len();
        let kinds = sequence.kinds.iter().map(|size| Kind {
            group: size.group,
            x: size.x.clone(),
        });
        Ours {
            beliefs: Beliefs::with_scales(n_arms),
            sending: Sending::default(),
            known: vec![None; sequence.kinds.len()],
            kinds: kinds.collect(),
            stored: match is_stored {
                true => sequence.stored.clone(),
                false => vec![vec![None; n_arms]; sequence.kinds.len()],
            },
            calls: Vec::new(),
            n_calls: 0,
            n_all,
            elapsed_s: 0.0,
            spent_s: 0.0,
        }
    }

    /// The number of a kind. Where it is new its calls go where those of the nearest known one do, as the table has it.
    fn known(&mut self, kind: usize) -> usize {
        if let Some(known) = self.known[kind] {
            return known;
        }
        let new = self.kinds[kind].clone();
        let nearest = self.beliefs.nearest(new.group, &new.x);
        let to = nearest.map_or(0, |nearest| self.sending.to(nearest));
        let known = self.beliefs.add_kind(new, &self.stored[kind]);
        self.sending.add_kind(to);
        self.calls.push(0.0);
        self.known[kind] = Some(known);
        known
    }

    /// The class believed to be fastest at a kind that was perhaps never called.
    fn fastest(&mut self, kind: usize) -> usize {
        let posterior = self.beliefs.posterior();
        let is_known = |arm: usize| !self.beliefs.is_unknown(arm);
        posterior.fastest(kind, is_known).unwrap_or(0)
    }

    fn decide(&mut self) {
        let n_calls = self.n_calls as f64;
        let to_come = self
            .n_all
            .map_or(1.0, |all| (all as f64 - n_calls).max(0.0) / n_calls);
        let calls = Calls {
            so_far: &self.calls,
            to_come,
            a_step: STEP as f64 / n_calls,
            stride: 1.0,
        };
        let allowed = Allowed {
            left_s: EXPLORE * self.elapsed_s * (1.0 + to_come) - self.spent_s,
            deciding_s: 0.0,
            may_try: true,
        };
        let refused = vec![false; self.beliefs.n_arms()];
        self.sending
            .decide(&mut self.beliefs, calls, &refused, allowed);
    }
}

impl Policy for Ours {
    fn choose(&mut self, kind: usize) -> usize {
        let kind = self.known(kind);
        self.sending.to(kind)
    }

    fn learn(&mut self, kind: usize, arm: usize, seconds: f64) {
        let kind = self.known(kind);
        if self.sending.is_trial(kind, arm) {
            let best = self.sending.best(kind);
            let best_s = self.beliefs.posterior().ln_mean(best, kind).exp();
            self.spent_s += (seconds - best_s).max(0.0);
        }
        self.sending.answered(kind, arm);
        self.beliefs.observe(arm, kind, 1.0, seconds.ln());
        self.calls[kind] += 1.0;
        self.elapsed_s += seconds;
        self.n_calls += 1;
        if self.n_calls.is_multiple_of(STEP) {
            self.decide();
        }
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
    let mut ours = Ours::new(sequence, None, false);
    let calls = sequence.calls.iter().zip(&sequence.times);
    let seconds = calls.map(|(kind, times)| {
        let kind = ours.known(*kind);
        let chosen = ours.fastest(kind);
        for (arm, seconds) in times.iter().enumerate() {
            ours.beliefs.observe(arm, kind, 1.0, seconds.ln());
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
    let all = Some(sequence.calls.len());
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
            Box::new(Ours::new(&sequence, None, false)),
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
            let arm = ours.fastest(place);
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
