//! The choice of a class for each single call, by its kind, where changing costs nothing.

use super::belief::{Beliefs, Kind, Posterior, expected_saving};

/// What a class of which nothing is known takes beyond what is usual, in times of the best: one in twenty is a hundred times slower.
const FAR_SLOWER: f64 = 5.0;

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
            beliefs: Beliefs::with_scales(n_arms),
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

    /// The class believed to be fastest at a kind, of those of which anything is known.
    pub fn fastest(&mut self, kind: usize) -> usize {
        let posterior = self.beliefs.posterior();
        fastest(&self.beliefs, &posterior, kind)
    }

    fn decide(&mut self, kind: usize) -> (usize, bool) {
        let posterior = self.beliefs.posterior();
        let fastest_at = |kind| fastest(&self.beliefs, &posterior, kind);
        let outlook = Outlook {
            best: (0..self.calls.len()).map(fastest_at).collect(),
            posterior: &posterior,
            noise: self.beliefs.deviation().powi(2),
            calls: &self.calls,
            n_calls: self.n_calls,
            to_come: match self.horizon {
                Horizon::Calls(all) => (all - self.n_calls).max(0.0) / self.n_calls,
                Horizon::Unknown => 1.0,
            },
        };
        let mut chosen = (outlook.best[kind], false);
        let mut most = 0.0;
        let mut awaited = None;
        for arm in (0..self.beliefs.n_arms()).filter(|arm| *arm != outlook.best[kind]) {
            let trial = Trial {
                arm,
                is_unknown: self.beliefs.is_unknown(arm),
            };
            let gain = outlook.value_s(trial, kind) - outlook.cost_s(trial, kind);
            if gain <= most {
                continue;
            }
            match outlook.wait(trial, kind) {
                Wait::No => {
                    most = gain;
                    chosen = (arm, true);
                }
                Wait::ForKind(cheaper) => awaited = Some(cheaper),
                Wait::ForNewKind => {}
            }
        }
        // What was decided there may be that nothing is tried yet.
        if let Some(cheaper) = awaited {
            self.choices[cheaper] = None;
        }
        chosen
    }
}

/// The class believed to be fastest at a kind: one of which nothing is known is only ever tried.
fn fastest(beliefs: &Beliefs, posterior: &Posterior, kind: usize) -> usize {
    let known = posterior.fastest(kind, |arm| !beliefs.is_unknown(arm));
    known.unwrap_or(0)
}

/// A class that a call may be sent to for what it tells.
#[derive(Clone, Copy)]
struct Trial {
    arm: usize,
    is_unknown: bool,
}

/// Whether a trial is better made at another kind.
enum Wait {
    No,
    /// At a kind that was called before.
    ForKind(usize),
    /// At a kind that was not.
    ForNewKind,
}

/// What is believed as a call is sent, and which calls are to come.
struct Outlook<'a> {
    posterior: &'a Posterior,
    /// The class believed to be fastest, by kind.
    best: Vec<usize>,
    /// Variance of a call's logarithm.
    noise: f64,
    /// Calls so far, by kind, and of all kinds.
    calls: &'a [f64],
    n_calls: f64,
    /// Calls to come for each so far.
    to_come: f64,
}

impl Outlook<'_> {
    /// What a call of a class at a kind is expected to save in all calls to come, by what it tells, seconds.
    fn value_s(&self, trial: Trial, kind: usize) -> f64 {
        let kinds = 0..self.calls.len();
        kinds
            .map(|other| self.to_come * self.calls[other] * self.worth_s(trial.arm, kind, other))
            .sum()
    }

    /// The same in one call of another kind.
    fn worth_s(&self, arm: usize, kind: usize, other: usize) -> f64 {
        let now = self.best[other];
        if now == arm {
            return 0.0;
        }
        let posterior = self.posterior;
        let told = posterior.covariance(arm, kind, other)
            / (posterior.variance(arm, kind) + self.noise).sqrt();
        let ln_ratio = posterior.ln_mean(arm, other) - posterior.ln_mean(now, other);
        posterior.ln_mean(now, other).exp() * expected_saving(ln_ratio, told.abs())
    }

    /// What a call of a class is expected to take more than one of the best, seconds.
    fn cost_s(&self, trial: Trial, kind: usize) -> f64 {
        let (posterior, best) = (self.posterior, self.best[kind]);
        let ln_ratio = posterior.ln_mean(trial.arm, kind) - posterior.ln_mean(best, kind);
        let variance = posterior.variance(trial.arm, kind).min(1.0);
        let far_slower = if trial.is_unknown { FAR_SLOWER } else { 0.0 };
        let ratio = (ln_ratio + variance / 2.0).exp() + far_slower;
        posterior.ln_mean(best, kind).exp() * (ratio - 1.0).max(0.0)
    }

    /// A trial waits for a call of a kind at which it costs less and tells nearly as much: what is saved so counts by how much
    /// of what is not known here is told there, against what is lost until such a call comes.
    fn wait(&self, trial: Trial, kind: usize) -> Wait {
        let cost_s = self.cost_s(trial, kind);
        let lost_a_call_s = self.value_s(trial, kind) / (self.to_come * self.n_calls);
        let is_cheaper = |other: &usize| {
            let there_s = self.cost_s(trial, *other);
            let told = self.posterior.told(trial.arm, *other, kind, self.noise);
            let until = self.n_calls / self.calls[*other];
            told * (cost_s - there_s) > lost_a_call_s * until
                && self.value_s(trial, *other) > there_s
        };
        if let Some(cheaper) = (0..self.calls.len()).find(is_cheaper) {
            return Wait::ForKind(cheaper);
        }
        // A call that is cheaper than all so far by a half is as far off as the first one is.
        match trial.is_unknown && 0.5 * cost_s > lost_a_call_s * self.n_calls {
            true => Wait::ForNewKind,
            false => Wait::No,
        }
    }
}
