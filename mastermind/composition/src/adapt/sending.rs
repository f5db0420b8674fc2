//! Decides to which class a dispatcher sends each call kind.
//!
//! A dispatcher may send each call to another class, so changing costs nothing and each kind has its own best class.
//! The module weighs, for each kind and class, one trial call against its value: a call of a class at one kind also
//! informs about that class at other sizes (through the covariance of the [`Posterior`]), so the expected saving sums
//! over all calls to come.
//!
//! ```text
//! kind n=64     best A   trial B   B is unknown: a short call informs about B at all sizes, and costs little
//! kind n=4096   best A   -         waits for the result of n=64
//! ```
//!
//! [`Sending::decide`] ends trials whose calls were answered, updates the best class of each kind, and begins new
//! trials within the budget.

use super::belief::Beliefs;
use super::posterior::{Posterior, expected_saving};

/// Minimum part of a call's time that another class must save before calls are sent there permanently.
const LEAST_GAIN: f64 = 0.01;

/// Expected excess time of an unknown class, in times of the best class: one in twenty is a hundred times slower.
const FAR_SLOWER: f64 = 5.0;

/// Worst-case time of an unknown class, in times of the best class, that the budget must cover.
const MUCH_SLOWER: f64 = 20.0;

/// Number of standard deviations by which a known class may be slower than expected.
const FAR: f64 = 2.0;

/// Numbers of calls by kind, so far and to come.
#[derive(Debug, Clone, Copy)]
pub struct Calls<'a> {
    /// Calls so far, by kind.
    pub so_far: &'a [f64],
    /// Calls to come for each call so far.
    pub to_come: f64,
    /// Calls per step for each call so far.
    pub a_step: f64,
    /// Steps until the next decision, unless a trial needs one at the next step.
    pub stride: f64,
}

impl Calls<'_> {
    /// Whether calls of a kind are made in each step.
    fn is_frequent(&self, kind: usize) -> bool {
        self.a_step * self.so_far[kind] >= 1.0
    }

    /// Calls of a kind until the next decision.
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

/// Limits on trials.
#[derive(Debug, Clone, Copy)]
pub struct Allowed {
    /// Seconds that trials may cost in excess of the best classes.
    pub left_s: f64,
    /// Seconds that deciding on a trial takes.
    pub deciding_s: f64,
    /// Whether trials may begin.
    pub may_try: bool,
}

/// A changed destination of the calls of one kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sent {
    /// The kind.
    pub kind: usize,
    /// The previous class.
    pub from: usize,
    /// The class from now on; the same class if the explored one stays.
    pub to: usize,
    /// Whether the previous class was being explored.
    pub was_trial: bool,
    /// Expected result of a new trial; `None` if the class is believed to be faster.
    pub trial: Option<Expected>,
}

/// Expected result of a trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Expected {
    /// Seconds that it may save over all calls to come.
    pub saved_s: f64,
    /// Seconds that it costs.
    pub cost_s: f64,
}

/// Sends calls of each kind to the fastest class that has answered such calls. Another class gets them if it is
/// believed to be faster still, or if the information from its calls is worth more, over all calls to come, than
/// their expected cost. Changing costs nothing.
#[derive(Debug, Clone, Default)]
pub struct Sending {
    /// The class believed to be fastest, by kind.
    best: Vec<usize>,
    /// The explored class, by kind.
    trials: Vec<Option<usize>>,
    /// Whether the explored class has answered a call, by kind.
    has_answered: Vec<bool>,
    /// Whether the next step should decide again.
    is_urgent: bool,
}

impl Sending {
    /// Adds a kind and the class that its calls go to.
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

    /// Whether calls of a kind go to a class as a trial.
    pub fn is_trial(&self, kind: usize, arm: usize) -> bool {
        self.trials[kind] == Some(arm)
    }

    /// Records that a class has answered calls of a kind.
    pub fn answered(&mut self, kind: usize, arm: usize) {
        self.has_answered[kind] |= self.is_trial(kind, arm);
    }

    /// Whether there are trials.
    pub fn is_trying(&self) -> bool {
        self.trials.iter().any(Option::is_some)
    }

    /// Whether the next step should decide on a trial, since its calls will have been answered by then.
    pub fn is_urgent(&self) -> bool {
        self.is_urgent
    }

    /// Decides again. Trials with answered calls end; the others wait for their calls, as long as calls are to come.
    ///
    /// # Arguments
    /// * `refused` - whether a class is barred, by class
    ///
    /// # Returns
    /// The changes.
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
        // If the class believed to be fastest has not answered a call yet, sending calls to it is a trial as well.
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
                // Its expected saving may cover it, too.
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

/// Estimates at the time of a decision, and the calls to come.
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
    /// The kind at which exploring a class is worth most; `None` if it is worth it nowhere.
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

    /// Seconds that calls of a class at a kind are expected to save in one call of another kind, by their
    /// information.
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

    /// Seconds that all calls of a kind to come take less in a class than in the present best one.
    fn gain_s(&self, arm: usize, kind: usize) -> f64 {
        let [now_s, then_s] =
            [self.best[kind], arm].map(|arm| self.posterior.ln_mean(arm, kind).exp());
        self.calls.to_come * self.calls.so_far[kind] * (now_s - then_s)
    }

    /// Expected excess seconds of a call of a class over one of the best class.
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

    /// Seconds that a trial of a class at a kind costs if the class is much slower than expected; the budget must
    /// cover them.
    fn most_s(&self, arm: usize, kind: usize) -> f64 {
        let (posterior, best) = (self.posterior, self.best[kind]);
        let ratio = match self.beliefs.is_unknown(arm) {
            true => MUCH_SLOWER,
            false => {
                let ln_ratio = posterior.ln_mean(arm, kind) - posterior.ln_mean(best, kind);
                (ln_ratio + FAR * posterior.variance(arm, kind).sqrt()).exp()
            }
        };
        // Upper bound of the number of calls: a Poisson count whose rate is itself estimated from the count so far.
        let (n, so_far) = (self.calls.a_look(kind), self.calls.so_far[kind]);
        let most = self.calls.at_once(kind) + FAR * (n + n * n / so_far.max(1.0)).sqrt();
        most * posterior.ln_mean(best, kind).exp() * (ratio - 1.0).max(0.0)
    }

    /// Whether a trial should wait for calls of another kind, at which it costs less and is nearly as informative.
    /// The saved cost is weighted by the part of the variance here that a call there removes, and compared with the
    /// loss until such calls come.
    ///
    /// # Arguments
    /// * `others` - trials of the class at each kind with calls so far
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
        // The wait for a kind that is cheaper than all so far by half is estimated as that for the first call.
        let is_dear = || 0.5 * self.cost_s(arm, kind) > lost_a_call_s * self.n_calls.max(a_look);
        others.iter().any(is_cheaper) || (self.beliefs.is_unknown(arm) && is_dear())
    }
}
