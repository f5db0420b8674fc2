//! The choice of a class for each single call, by its kind, where changing costs nothing.

use super::belief::{Beliefs, Kind, Posterior, expected_saving};

/// How many calls are to come.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Horizon {
    /// So many from the first one on.
    Calls(f64),
    /// As many as were made so far.
    Unknown,
}

/// Sends each call to a class: the one believed to be fastest, or another one where what the call would tell of it is worth
/// more, over the calls of all kinds that are to come, than what it is expected to cost.
#[derive(Debug, Clone)]
pub struct Dispatcher {
    beliefs: Beliefs,
    horizon: Horizon,
    /// Calls of each kind so far.
    calls: Vec<f64>,
    n_calls: f64,
    /// Of each kind: the class, and the number of its calls from which on it is looked at again.
    choices: Vec<Option<(usize, f64)>>,
}

impl Dispatcher {
    /// Nothing known of `n_arms` classes.
    pub fn new(n_arms: usize, horizon: Horizon) -> Self {
        Dispatcher {
            beliefs: Beliefs::new(n_arms),
            horizon,
            calls: Vec::new(),
            n_calls: 0.0,
            choices: Vec::new(),
        }
    }

    /// A kind of call that is new; see [`Beliefs::add_kind`].
    pub fn add_kind(&mut self, kind: Kind, stored_s: &[Option<f64>]) -> usize {
        self.calls.push(0.0);
        self.choices.push(None);
        self.beliefs.add_kind(kind, stored_s)
    }

    /// The class for a call.
    pub fn choose(&mut self, kind: usize) -> usize {
        self.calls[kind] += 1.0;
        self.n_calls += 1.0;
        if let Some((arm, until)) = self.choices[kind]
            && self.calls[kind] < until
        {
            return arm;
        }
        let (arm, is_trial) = self.decide(kind);
        if !is_trial {
            self.choices[kind] = Some((arm, 2.0 * self.calls[kind]));
        }
        arm
    }

    /// Takes in the time of a call.
    pub fn observe(&mut self, arm: usize, kind: usize, seconds: f64) {
        let before = self.beliefs.calls_at(arm, kind);
        self.beliefs.observe(arm, kind, 1.0, seconds.ln());
        if before == 0.0 {
            // What is new of one kind may change the choice at others.
            self.choices.iter_mut().for_each(|choice| *choice = None);
        } else if before.log2().fract() == 0.0 {
            self.choices[kind] = None;
        }
    }

    /// The class believed to be fastest at a kind.
    pub fn fastest(&mut self, kind: usize) -> usize {
        self.beliefs
            .posterior()
            .fastest(kind, |_| true)
            .unwrap_or(0)
    }

    fn decide(&mut self, kind: usize) -> (usize, bool) {
        let to_come = match self.horizon {
            Horizon::Calls(all) => (all - self.n_calls).max(0.0) / self.n_calls,
            Horizon::Unknown => 1.0,
        };
        let noise = self.beliefs.deviation().powi(2);
        let n_arms = self.beliefs.n_arms();
        let calls = &self.calls;
        let posterior = self.beliefs.posterior();
        let best: Vec<usize> = (0..calls.len())
            .map(|kind| posterior.fastest(kind, |_| true).unwrap_or(0))
            .collect();
        let mut chosen = (best[kind], false);
        let mut most = 0.0;
        for arm in (0..n_arms).filter(|arm| *arm != best[kind]) {
            let value: f64 = (0..calls.len())
                .map(|other| {
                    to_come * calls[other] * worth(&posterior, &best, arm, (kind, other), noise)
                })
                .sum();
            let gain = value - cost(&posterior, arm, best[kind], kind);
            if gain > most {
                most = gain;
                chosen = (arm, true);
            }
        }
        chosen
    }
}

/// What a call of a class at one kind is expected to save in a call of another kind, by what it tells, seconds.
fn worth(
    posterior: &Posterior,
    best: &[usize],
    arm: usize,
    (kind, other): (usize, usize),
    noise: f64,
) -> f64 {
    let now = best[other];
    if now == arm {
        return 0.0;
    }
    let told =
        posterior.covariance(arm, kind, other) / (posterior.variance(arm, kind) + noise).sqrt();
    let ln_ratio = posterior.ln_mean(arm, other) - posterior.ln_mean(now, other);
    posterior.ln_mean(now, other).exp() * expected_saving(ln_ratio, told.abs())
}

/// What a call of a class is expected to take more than one of the best, seconds.
fn cost(posterior: &Posterior, arm: usize, best: usize, kind: usize) -> f64 {
    let ln_ratio = posterior.ln_mean(arm, kind) - posterior.ln_mean(best, kind);
    let variance = posterior.variance(arm, kind).min(1.0);
    let ratio = (ln_ratio + variance / 2.0).exp();
    posterior.ln_mean(best, kind).exp() * (ratio - 1.0).max(0.0)
}
