//! Where calls of each kind go, at a place where each call may go to another class.

use super::belief::Beliefs;
use super::posterior::{Posterior, expected_saving};

/// Part of a call's time that another class is believed to save before calls are sent there for good.
const LEAST_GAIN: f64 = 0.01;

/// What a class of which nothing is known takes beyond what is usual, in times of the best: one in twenty is a hundred times slower.
const FAR_SLOWER: f64 = 5.0;

/// In times of the best what such a class may take at most, as far as a budget is to bear it.
const MUCH_SLOWER: f64 = 20.0;

/// Standard deviations by which a class of which something is known may be slower than expected.
const FAR: f64 = 2.0;

/// Calls, of which kinds and how many, so far and to come.
#[derive(Debug, Clone, Copy)]
pub struct Calls<'a> {
    /// So far, by kind.
    pub so_far: &'a [f64],
    /// For each so far, how many are to come.
    pub to_come: f64,
    /// For each so far, how many are made in a step.
    pub a_step: f64,
    /// Steps until it is decided again, where no trial asks for it at the next one.
    pub stride: f64,
}

impl Calls<'_> {
    /// Whether calls of a kind are made in each step.
    fn is_frequent(&self, kind: usize) -> bool {
        self.a_step * self.so_far[kind] >= 1.0
    }

    /// Calls of a kind until it is decided again.
    fn a_look(&self, kind: usize) -> f64 {
        let a_step = self.a_step * self.so_far[kind];
        match self.is_frequent(kind) {
            true => a_step,
            false => self.stride * a_step,
        }
    }

    /// Calls of a kind until a trial of it can be ended, at least one.
    fn at_once(&self, kind: usize) -> f64 {
        self.a_look(kind).max(1.0)
    }
}

/// What may be tried.
#[derive(Debug, Clone, Copy)]
pub struct Allowed {
    /// Seconds that trials may cost beyond what the best classes take.
    pub left_s: f64,
    /// Seconds that deciding on a trial takes.
    pub deciding_s: f64,
    /// Whether there may be trials.
    pub may_try: bool,
}

/// Calls of one kind go to another class.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sent {
    /// The kind.
    pub kind: usize,
    /// The class before.
    pub from: usize,
    /// The class from now on; the same where one that was on trial stays.
    pub to: usize,
    /// Whether the class before was on trial.
    pub was_trial: bool,
    /// What is expected of a trial; `None` where the class is believed to be faster.
    pub trial: Option<Expected>,
}

/// What is expected of a trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Expected {
    /// Seconds of all calls to come that it may save.
    pub saved_s: f64,
    /// Seconds that it costs.
    pub cost_s: f64,
}

/// Sends calls of each kind to the class believed to be fastest of those that have answered such calls, or to another one where that is
/// believed to be faster still, or where what calls would tell of it is worth more, over the calls of all kinds that are to come, than what
/// they are expected to cost. Changing costs nothing.
#[derive(Debug, Clone, Default)]
pub struct Sending {
    /// The class believed to be fastest, by kind.
    best: Vec<usize>,
    /// The class on trial, by kind.
    trials: Vec<Option<usize>>,
    /// Whether it has answered a call, by kind.
    has_answered: Vec<bool>,
    /// Whether it is to be decided again at the next step.
    is_urgent: bool,
}

impl Sending {
    /// A kind that is new, and the class that its calls go to.
    pub fn add_kind(&mut self, to: usize) {
        self.best.push(to);
        self.trials.push(None);
        self.has_answered.push(false);
    }

    /// The class that calls of a kind go to.
    pub fn to(&self, kind: usize) -> usize {
        self.trials[kind].unwrap_or(self.best[kind])
    }

    /// The class believed to be fastest.
    pub fn best(&self, kind: usize) -> usize {
        self.best[kind]
    }

    /// Whether calls of a kind go to a class to see what it takes.
    pub fn is_trial(&self, kind: usize, arm: usize) -> bool {
        self.trials[kind] == Some(arm)
    }

    /// Takes note of calls that a class has answered.
    pub fn answered(&mut self, kind: usize, arm: usize) {
        self.has_answered[kind] |= self.is_trial(kind, arm);
    }

    /// Whether there are trials.
    pub fn is_trying(&self) -> bool {
        self.trials.iter().any(Option::is_some)
    }

    /// Whether a trial is to be ended at the next step, since it will have told something by then.
    pub fn is_urgent(&self) -> bool {
        self.is_urgent
    }

    /// Decides anew. Trials end of which calls were answered, since what they tell is known; the others wait for theirs, as long as
    /// calls are to come.
    ///
    /// # Arguments
    /// * `refused` - whether a class gets no calls, by class
    ///
    /// # Returns
    /// What changes.
    pub fn decide(
        &mut self,
        beliefs: &mut Beliefs,
        calls: Calls<'_>,
        refused: &[bool],
        allowed: Allowed,
    ) -> Vec<Sent> {
        let posterior = beliefs.posterior();
        let before: Vec<usize> = (0..self.best.len()).map(|kind| self.to(kind)).collect();
        let tried = self.trials.clone();
        for (kind, trial) in self.trials.iter_mut().enumerate() {
            let goes_on = calls.to_come > 0.0 && !self.has_answered[kind];
            *trial = trial.filter(|arm| goes_on && !refused[*arm]);
        }
        // Where a class is believed to be fastest and has not answered a call yet, that is a trial as well.
        let mut unseen = Vec::new();
        for (kind, now) in self.best.iter_mut().enumerate() {
            let is_possible = |arm: usize| !refused[arm] && !beliefs.is_unknown(arm);
            let Some(fastest) = posterior.fastest(kind, is_possible) else {
                continue;
            };
            let saved = posterior.ln_mean(*now, kind) - posterior.ln_mean(fastest, kind);
            if is_possible(*now) && saved <= -(1.0 - LEAST_GAIN).ln() {
                continue;
            }
            match beliefs.calls_at(fastest, kind) > 0.0 || !is_possible(*now) {
                true => *now = fastest,
                false => unseen.push((kind, fastest)),
            }
        }
        for (kind, trial) in self.trials.iter_mut().enumerate() {
            *trial = trial.filter(|arm| *arm != self.best[kind]);
        }
        let mut expected = vec![None; self.best.len()];
        if allowed.may_try {
            let outlook = Outlook {
                beliefs,
                posterior: &posterior,
                best: &self.best,
                noise: beliefs.deviation().powi(2),
                calls,
                n_calls: calls.so_far.iter().sum(),
            };
            let mut left_s = allowed.left_s;
            let is_free = |arm: &usize| !refused[*arm] && !self.trials.contains(&Some(*arm));
            let free_arms: Vec<usize> = (0..beliefs.n_arms()).filter(is_free).collect();
            for (kind, arm) in unseen {
                let most_s = outlook.most_s(arm, kind);
                // What it is believed to save may bear it, too.
                let is_borne = most_s <= left_s.max(outlook.gain_s(arm, kind));
                if self.trials[kind].is_none() && is_borne {
                    left_s -= most_s;
                    self.trials[kind] = Some(arm);
                    self.has_answered[kind] = false;
                    expected[kind] = Some(outlook.trial(arm, kind));
                }
            }
            for arm in free_arms {
                let free = (0..self.best.len()).filter(|kind| self.trials[*kind].is_none());
                let Some((kind, trial)) = outlook.best_trial(arm, free, left_s) else {
                    continue;
                };
                if trial.saved_s > trial.cost_s + allowed.deciding_s {
                    left_s -= outlook.most_s(arm, kind);
                    self.trials[kind] = Some(arm);
                    self.has_answered[kind] = false;
                    expected[kind] = Some(trial);
                }
            }
        }
        let mut trials = self.trials.iter().enumerate();
        self.is_urgent = trials.any(|(kind, trial)| trial.is_some() && calls.is_frequent(kind));
        let kinds = before.into_iter().zip(expected).enumerate();
        let sent = kinds.map(|(kind, (from, trial))| Sent {
            kind,
            from,
            to: self.to(kind),
            was_trial: tried[kind].is_some(),
            trial,
        });
        let has_ended = |kind: usize| tried[kind].is_some() && self.trials[kind].is_none();
        sent.filter(|sent| sent.from != sent.to || has_ended(sent.kind))
            .collect()
    }
}

/// What is believed as it is decided, and which calls are to come.
struct Outlook<'a> {
    beliefs: &'a Beliefs,
    posterior: &'a Posterior,
    /// The class believed to be fastest, by kind.
    best: &'a [usize],
    /// Variance of a call's logarithm.
    noise: f64,
    calls: Calls<'a>,
    n_calls: f64,
}

impl Outlook<'_> {
    /// The kind at which a class is best tried; `None` where it is not worth it.
    fn best_trial(
        &self,
        arm: usize,
        kinds: impl Iterator<Item = usize>,
        left_s: f64,
    ) -> Option<(usize, Expected)> {
        let others = kinds.filter(|kind| self.best[*kind] != arm && self.calls.so_far[*kind] > 0.0);
        let trials = others.map(|kind| (kind, self.trial(arm, kind)));
        let trials: Vec<_> = trials
            .filter(|(kind, trial)| {
                trial.saved_s > trial.cost_s && self.most_s(arm, *kind) <= left_s
            })
            .collect();
        let best = trials
            .iter()
            .filter(|(kind, trial)| !self.is_to_wait(arm, *kind, *trial, &trials));
        let best =
            best.max_by(|(_, a), (_, b)| (a.saved_s - a.cost_s).total_cmp(&(b.saved_s - b.cost_s)));
        best.copied()
    }

    fn trial(&self, arm: usize, kind: usize) -> Expected {
        let n = self.calls.at_once(kind);
        let kinds = 0..self.calls.so_far.len();
        let saved_a_call_so_far =
            kinds.map(|other| self.calls.so_far[other] * self.worth_s(arm, kind, other, n));
        Expected {
            saved_s: self.calls.to_come * saved_a_call_so_far.sum::<f64>(),
            cost_s: n * self.cost_s(arm, kind),
        }
    }

    /// What calls of a class at a kind are expected to save in one of another kind, by what they tell, seconds.
    fn worth_s(&self, arm: usize, kind: usize, other: usize, n: f64) -> f64 {
        let now = self.best[other];
        if now == arm {
            return 0.0;
        }
        let posterior = self.posterior;
        let told = posterior.covariance(arm, kind, other)
            / (posterior.variance(arm, kind) + self.noise / n).sqrt();
        let ln_ratio = posterior.ln_mean(arm, other) - posterior.ln_mean(now, other);
        posterior.ln_mean(now, other).exp() * expected_saving(ln_ratio, told.abs())
    }

    /// What all calls of a kind to come take less in a class than in the best of those that have answered some, seconds.
    fn gain_s(&self, arm: usize, kind: usize) -> f64 {
        let [now_s, then_s] =
            [self.best[kind], arm].map(|arm| self.posterior.ln_mean(arm, kind).exp());
        self.calls.to_come * self.calls.so_far[kind] * (now_s - then_s)
    }

    /// What a call of a class is expected to take more than one of the best, seconds.
    fn cost_s(&self, arm: usize, kind: usize) -> f64 {
        let (posterior, best) = (self.posterior, self.best[kind]);
        let ln_ratio = posterior.ln_mean(arm, kind) - posterior.ln_mean(best, kind);
        let variance = posterior.variance(arm, kind).min(1.0);
        let far_slower = match self.beliefs.is_unknown(arm) {
            true => FAR_SLOWER,
            false => 0.0,
        };
        let ratio = (ln_ratio + variance / 2.0).exp() + far_slower;
        posterior.ln_mean(best, kind).exp() * (ratio - 1.0).max(0.0)
    }

    /// What a trial of a class at a kind costs if that is much slower than expected, seconds: the budget must bear it.
    fn most_s(&self, arm: usize, kind: usize) -> f64 {
        let (posterior, best) = (self.posterior, self.best[kind]);
        let ratio = match self.beliefs.is_unknown(arm) {
            true => MUCH_SLOWER,
            false => {
                let ln_ratio = posterior.ln_mean(arm, kind) - posterior.ln_mean(best, kind);
                (ln_ratio + FAR * posterior.variance(arm, kind).sqrt()).exp()
            }
        };
        // Hardly ever are there more: they are counts, expected from as many as there were.
        let (n, so_far) = (self.calls.a_look(kind), self.calls.so_far[kind]);
        let most = self.calls.at_once(kind) + FAR * (n + n * n / so_far.max(1.0)).sqrt();
        most * posterior.ln_mean(best, kind).exp() * (ratio - 1.0).max(0.0)
    }

    /// Whether a trial waits for calls of a kind at which it costs less and tells nearly as much: what is saved so counts by how much of
    /// what is not known here is told there, against what is lost until such calls come.
    ///
    /// # Arguments
    /// * `others` - trials of the class at kinds that were called
    fn is_to_wait(
        &self,
        arm: usize,
        kind: usize,
        trial: Expected,
        others: &[(usize, Expected)],
    ) -> bool {
        let lost_a_call_s = trial.saved_s / (self.calls.to_come * self.n_calls);
        let a_look = self.calls.a_step * self.n_calls;
        let is_cheaper = |(other, there): &(usize, Expected)| {
            let told = self.posterior.told(arm, *other, kind, self.noise);
            let until = (self.n_calls / self.calls.so_far[*other]).max(a_look);
            told * (trial.cost_s - there.cost_s) > lost_a_call_s * until
        };
        // A call of a kind that is cheaper than all so far by a half is as far off as the first one is.
        let is_dear = || 0.5 * self.cost_s(arm, kind) > lost_a_call_s * self.n_calls.max(a_look);
        others.iter().any(is_cheaper) || (self.beliefs.is_unknown(arm) && is_dear())
    }
}
