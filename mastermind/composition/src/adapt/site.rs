//! One instance whose class may change while the application runs.

use std::collections::BTreeMap;

use mastermind_models::{Coordinate, Value};

use super::belief::{Beliefs, Kind, Posterior};
use super::level::{Level, LevelWatch};
use super::{CallKind, Predict};

/// Steps of a size's logarithm to base 2 in which calls count as one kind.
const KINDS_AN_OCTAVE: f64 = 8.0;

/// Calls that what is known of a class counts for after its level has changed.
const CALLS_AFTER_CHANGE: f64 = 5.0;

/// Key of a kind: method, labels, and sizes in steps.
pub fn kind_key(port_method: &str, coordinate: &Coordinate) -> String {
    let mut key = port_method.to_owned();
    for (name, value) in &coordinate.values {
        let part = match value {
            Value::Label(label) => format!(" {name}={label}"),
            Value::Number(x) => format!(" {name}~{:.0}", (KINDS_AN_OCTAVE * ln(*x)).round()),
        };
        key.push_str(&part);
    }
    key
}

/// Logarithm to base 2 of a size; of what is none, of 1 and the distance from 0, so that 0 is a size too.
fn ln(x: f64) -> f64 {
    if x >= 1.0 { x.log2() } else { x - 1.0 }
}

/// A class that may work at a site.
#[derive(Debug, Clone)]
pub struct Arm {
    pub class: String,
    /// Why it is not put in any more.
    pub refused: Option<String>,
    /// How often it was put in.
    pub trials: u32,
    watch: LevelWatch,
}

/// A trial that goes on.
#[derive(Debug, Clone)]
pub struct Trial {
    /// The class before.
    pub from: usize,
    /// Calls so far.
    pub calls: f64,
    /// Seconds so far beyond what the class before would have taken.
    pub excess_s: f64,
    /// Seconds that it would have taken.
    pub baseline_s: f64,
}

/// What an instance's classes do, as far as is known.
#[derive(Debug, Clone)]
pub struct Site {
    pub instance: String,
    pub arms: Vec<Arm>,
    pub current: usize,
    pub trial: Option<Trial>,
    pub beliefs: Beliefs,
    /// Calls of each kind so far: what is to come is like it.
    pub calls: Vec<f64>,
    /// Calls that a class must have answered before it is believed.
    pub needed: f64,
    kinds: BTreeMap<String, usize>,
    groups: BTreeMap<String, usize>,
}

/// Calls of one kind that a class of the site has answered.
#[derive(Debug, Clone, Copy)]
pub struct Calls {
    pub arm: usize,
    /// Number among the kinds of the site.
    pub kind: usize,
    pub calls: f64,
    /// As many calls were made for these: all of them, if all are told.
    pub stand_for: f64,
    /// Middle logarithm of their seconds, without the state of the machine.
    pub ln_mean: f64,
}

/// What a site has seen of its class since the last decision.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// A level that has changed: by which factor.
    pub changed: Option<f64>,
    /// Calls of the present class that failed.
    pub failed: u64,
}

impl Site {
    pub fn new(instance: &str, current: &str, classes: &[String], needed: u64) -> Self {
        let mut names = vec![current.to_owned()];
        names.extend(classes.iter().filter(|class| *class != current).cloned());
        let arm = |class: String| Arm {
            class,
            refused: None,
            trials: 0,
            watch: LevelWatch::default(),
        };
        Site {
            instance: instance.into(),
            beliefs: Beliefs::new(names.len()),
            arms: names.into_iter().map(arm).collect(),
            current: 0,
            trial: None,
            calls: Vec::new(),
            needed: needed as f64,
            kinds: BTreeMap::new(),
            groups: BTreeMap::new(),
        }
    }

    /// Whether the class that works here is suspected to have changed.
    pub fn is_suspected(&self) -> bool {
        self.arms[self.current].watch.is_suspecting()
    }

    pub fn class(&self, arm: usize) -> &str {
        &self.arms[arm].class
    }

    /// The number of a class.
    pub fn arm(&self, class: &str) -> Option<usize> {
        self.arms.iter().position(|arm| arm.class == class)
    }

    /// Takes in calls of this instance.
    pub fn take(&mut self, taken: Calls, seen: &mut Seen) {
        let Calls {
            arm,
            kind,
            calls,
            stand_for,
            ln_mean,
        } = taken;
        self.calls[kind] += stand_for;
        if let Some(trial) = self.trial.as_mut().filter(|_| arm == self.current) {
            let a_call_s = self.beliefs.posterior().ln_mean(trial.from, kind).exp();
            trial.calls += calls;
            trial.baseline_s += stand_for * a_call_s;
            trial.excess_s += stand_for * (ln_mean.exp() - a_call_s);
        } else if let Some(usual) = self.beliefs.seen_ln(arm, kind)
            && self.beliefs.calls_at(arm, kind) >= CALLS_AFTER_CHANGE
        {
            let deviation = self.beliefs.deviation();
            let watch = &mut self.arms[arm].watch;
            match watch.take(calls, ln_mean - usual, deviation) {
                Level::Same => {}
                Level::Suspected => return,
                Level::Changed(by) => {
                    self.beliefs.shift(arm, by, CALLS_AFTER_CHANGE);
                    seen.changed = Some(by.exp());
                }
            }
        }
        self.beliefs.observe(arm, kind, calls, ln_mean);
    }

    /// The number of a kind of call among those of the site.
    pub fn kind(&mut self, call: &CallKind, predict: &Predict<'_>) -> usize {
        let key = kind_key(&call.port_method, &call.coordinate);
        if let Some(known) = self.kinds.get(&key) {
            return *known;
        }
        let mut group = call.port_method.clone();
        let mut x = Vec::new();
        for (name, value) in &call.coordinate.values {
            match value {
                Value::Label(label) => group.push_str(&format!(" {name}={label}")),
                // To the base e, as the beliefs have it.
                Value::Number(size) => x.push(ln(*size) * std::f64::consts::LN_2),
            }
        }
        let n_groups = self.groups.len();
        let group = *self.groups.entry(group).or_insert(n_groups);
        let stored = self.arms.iter().map(|arm| {
            let predicted = predict(&arm.class, &call.port_method, &call.coordinate);
            predicted.filter(|seconds| *seconds > 0.0)
        });
        let stored: Vec<_> = stored.collect();
        let kind = self.beliefs.add_kind(Kind { group, x }, &stored);
        self.calls.push(0.0);
        self.kinds.insert(key, kind);
        kind
    }

    /// Seconds of all calls to come with a class, over all ranks.
    ///
    /// # Arguments
    /// * `to_come` - how many calls are to come for each call so far
    pub fn to_come_s(&self, posterior: &Posterior, arm: usize, to_come: f64) -> f64 {
        let seconds = |(kind, calls): (usize, &f64)| calls * posterior.ln_mean(arm, kind).exp();
        to_come * self.calls.iter().enumerate().map(seconds).sum::<f64>()
    }

    /// The ratio of the seconds of one class to those of another over all kinds of calls seen here.
    pub fn ratio(&mut self, arm: usize, other: usize) -> f64 {
        let posterior = self.beliefs.posterior();
        self.to_come_s(&posterior, arm, 1.0) / self.to_come_s(&posterior, other, 1.0)
    }
}
