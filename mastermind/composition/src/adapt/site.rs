//! A site: one place where another class may answer while the application runs.
//!
//! A site is either an instance whose class is replaced, or a dispatcher, which sends each call kind to one of
//! several instances. The classes of a site are its arms, numbered from 0; arm [`GIVEN`] is the class at the start of
//! the run. A call's kind consists of its method, labels, and sizes in steps of an eighth of an octave. Calls of the
//! same method and labels form a group, within which times may be compared across sizes:
//!
//! ```text
//! fft.forward n=1000 real=true     key "fft.forward n~80 real=true"     group "fft.forward real=true"     x = [ln 1000]
//! ```
//!
//! A [`Site`] takes in answered calls ([`Site::take`]), updates the [`Beliefs`] of its arms, the account of excess
//! seconds and the [`LevelWatch`] of each arm. `trials` decides from these when a class is explored and when that
//! ends.

use std::collections::BTreeMap;

use mastermind_models::{Coordinate, Value};

use super::belief::{Beliefs, Kind};
use super::coupling::{Compared, Effect};
use super::growth::Growth;
use super::level::{Level, LevelWatch, STATE, StepStates, weighted_median};
use super::machine::State;
use super::posterior::Posterior;
use super::sending::{Allowed, Calls, Expected, Sending, Sent};
use super::{Act, CallKind, Predict};

/// Steps per octave of a size; sizes within a step have the same kind.
const KINDS_AN_OCTAVE: f64 = 8.0;

/// Limit of the number of sizes that a site distinguishes, since the time of a decision grows with the cube of that
/// number; a further size counts as the nearest known kind. Where one class answers all calls, only their sum
/// matters.
const MOST_KINDS: usize = 16;

/// The same at a dispatcher, where each call kind may go to another class.
const MOST_KINDS_SENT: usize = 64;

/// Maximum weight, in calls, of what is known about a class after its level has changed.
pub const CALLS_AFTER_CHANGE: f64 = 5.0;

/// Number of first calls of a class that count towards the cost but not towards its estimate if they alone stopped a
/// trial: libraries start up in them.
///
/// Arbitrary: one is enough if a library plans or starts threads in its first call; three leave room for one at each
/// of a few sizes.
pub const FIRST_CALLS: f64 = 3.0;

/// Standard deviation of the error of the estimated power of a size: that of two algorithms (`OWN_OF_OTHERS`).
const POWER_DEVIATION: f64 = 0.5;

/// The class of a site at the start of the run; at a dispatcher, the class of the calls that no table mentions.
pub const GIVEN: usize = 0;

/// Key of a kind: method, labels, and sizes rounded to steps.
pub fn kind_key(port_method: &str, coordinate: &Coordinate) -> String {
    let mut key = port_method.to_owned();
    for (name, value) in &coordinate.values {
        let part = match value {
            Value::Label(label) => format!(" {name}={label}"),
            Value::Number(x) => format!(" {name}~{}", size_step(*x)),
        };
        key.push_str(&part);
    }
    key
}

/// Number of the step in which a size lies; sizes within a step have the same kind.
pub fn size_step(size: f64) -> i64 {
    (KINDS_AN_OCTAVE * ln(size)).round() as i64
}

/// Key of calls at one coordinate.
pub fn own_key(port_method: &str, coordinate: &Coordinate) -> String {
    let mut key = port_method.to_owned();
    for (name, value) in &coordinate.values {
        let part = match value {
            Value::Label(label) => format!(" {name}={label}"),
            Value::Number(x) => format!(" {name}={x}"),
        };
        key.push_str(&part);
    }
    key
}

/// Key of a call's group, its method and labels, and the logarithms of its sizes.
pub fn sizes_of(call: &CallKind) -> (String, Vec<f64>) {
    let mut group = call.port_method.clone();
    let mut x = Vec::new();
    for (name, value) in &call.coordinate.values {
        match value {
            Value::Label(label) => group.push_str(&format!(" {name}={label}")),
            // To base e, as `Beliefs` expects.
            Value::Number(size) => x.push(ln(*size) * std::f64::consts::LN_2),
        }
    }
    (group, x)
}

/// Bounds of the sizes that have the same kind as this size.
pub fn kind_bounds(size: f64) -> [f64; 2] {
    let step = size_step(size) as f64;
    [step - 0.5, step + 0.5].map(|edge| unln(edge / KINDS_AN_OCTAVE))
}

/// Number of failed calls, in words.
pub fn failed_calls(failed: u64) -> String {
    match failed {
        1 => "1 call failed".into(),
        n => format!("{n} calls failed"),
    }
}

/// Logarithm to base 2 of a size; below 1, continued as the straight line `x − 1`, so that 0 is a size too.
fn ln(x: f64) -> f64 {
    if x >= 1.0 { x.log2() } else { x - 1.0 }
}

/// Inverse of [`ln`].
fn unln(ln: f64) -> f64 {
    if ln >= 0.0 { ln.exp2() } else { ln + 1.0 }
}

/// A class that may work at a site.
#[derive(Debug, Clone)]
pub struct Arm {
    pub class: String,
    /// The instance that answers.
    pub instance: String,
    /// Reason why it is not tried any more.
    pub refused: Option<String>,
    /// Number of its trials.
    pub trials: u32,
    /// Whether the budget was below the cost that one of its calls might have, at the last decision.
    pub is_unborne: bool,
    /// Whether an earlier run left estimates of it.
    pub is_recalled: bool,
    /// Step at which its last trial ended.
    pub tried_until: u64,
    /// Whether it may have been slower only because it was cold, at the last decision.
    pub may_be_cold: bool,
    /// Additional time of the calls of other instances with it instead of the given class, relative to the time of
    /// the given class.
    pub beside: f64,
    watch: LevelWatch,
}

/// A running trial.
#[derive(Debug, Clone)]
pub struct Trial {
    /// The class before.
    pub from: usize,
    /// Step after which it began.
    pub began: u64,
    /// Calls so far.
    pub calls: f64,
    /// Seconds so far in excess of the previous class.
    pub excess_s: f64,
    /// Whether the class gets the calls of a kind, by kind, according to the last decision. A newer kind is not
    /// included; where calls can be sent elsewhere, the class does not get its calls. Empty before the first
    /// decision.
    pub is_admitted: Vec<bool>,
    /// Number of calls at the last check whether more calls reduce the uncertainty, and the variance of the logarithm
    /// of the ratio to the previous class at that time.
    pub told: (f64, f64),
    /// Work of other instances before and during the trial.
    pub compared: Compared,
    /// The class's effect on that work, according to the last decision.
    pub effect: Effect,
}

/// Where a dispatcher sends calls.
#[derive(Debug, Clone, Default)]
pub struct Dispatched {
    pub sending: Sending,
    /// Reason why the table does not change any more.
    pub stopped: Option<String>,
    /// Whether the last decision changed the table.
    pub is_new: bool,
}

/// A site and what is known about its classes.
#[derive(Debug, Clone)]
pub struct Site {
    pub instance: String,
    /// State of a dispatcher; `None` if the class of the instance is replaced.
    pub dispatched: Option<Dispatched>,
    pub arms: Vec<Arm>,
    pub current: usize,
    pub trial: Option<Trial>,
    pub beliefs: Beliefs,
    /// Whether an explored class gets only some of the calls.
    pub is_limited: bool,
    /// Number of calls of each kind so far; future calls are assumed to have the same proportions.
    pub calls: Vec<f64>,
    /// By kind: number of calls of the size of its first one that take as long as all of its calls so far.
    pub lengths: Vec<f64>,
    /// The first call of each kind: `PORT.METHOD` and coordinate.
    pub firsts: Vec<(String, Coordinate)>,
    /// By kind: whether all of its calls have the parameters of the first one.
    pub is_own: Vec<bool>,
    /// Number of calls and their deviation from the estimates of an earlier run, until these are calibrated.
    pub recalled: Option<Vec<(f64, f64)>>,
    /// Number of calls that a class without a stored model must have answered before it is decided on.
    least_calls: f64,
    /// Seconds so far in excess of the given class.
    pub account_s: f64,
    /// States of the machine in successive steps, as they affect the present class.
    pub states: StepStates,
    /// Factor by which trials so far have raised [`Self::needed`].
    pub patience: f64,
    /// Seconds that calls took in excess of their usual time, and number of these calls: delays that are not due to a
    /// class.
    delays: (f64, f64),
    kinds: BTreeMap<String, usize>,
    groups: BTreeMap<String, usize>,
    /// Growth of times with sizes, by group.
    growth: Vec<Growth>,
}

/// A call kind as a site sees it.
#[derive(Debug, Clone)]
pub struct OfSite {
    /// Number of its kind at the site.
    pub kind: usize,
    /// Number of its method and labels.
    group: usize,
    /// Logarithms of its sizes.
    x: Vec<f64>,
    /// Differences from the logarithms of the site's kind.
    off: Vec<f64>,
}

/// The names that classify a call.
struct Names {
    /// Key of the kind.
    key: String,
    /// Key of the group: method and labels.
    group: String,
    /// Logarithms of the sizes.
    x: Vec<f64>,
}

/// Calls of one kind that one class of the site has answered.
#[derive(Debug, Clone, Copy)]
pub struct Answered {
    pub arm: usize,
    /// Number of their kind at the site.
    pub kind: usize,
    pub calls: f64,
    /// Number of calls that these represent; equal to `calls` if all calls are reported.
    pub stand_for: f64,
    /// Median logarithm of the seconds that they would have taken with the sizes of the kind's first call, without
    /// the state of the machine.
    pub ln_mean: f64,
    /// Time of one of them in units of a call with the sizes of the kind's first call.
    pub length: f64,
}

/// Findings about the classes of a site since the last decision.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// A class whose level has changed, and the factor.
    pub changed: Option<(usize, f64)>,
    /// A class whose time contradicts the stored models, and the factor.
    pub off_models: Option<(usize, f64)>,
    /// Number of failed calls of the present class.
    pub failed: u64,
}

impl Arm {
    fn new(instance: &str, class: &str) -> Self {
        Arm {
            class: class.into(),
            instance: instance.into(),
            refused: None,
            trials: 0,
            is_unborne: false,
            is_recalled: false,
            tried_until: 0,
            may_be_cold: false,
            beside: 0.0,
            watch: LevelWatch::default(),
        }
    }
}

impl Site {
    pub fn new(instance: &str, current: &str, classes: &[String], needed: u64) -> Self {
        let others = classes.iter().filter(|class| *class != current);
        let names = std::iter::once(current).chain(others.map(String::as_str));
        let arms: Vec<_> = names.map(|class| Arm::new(instance, class)).collect();
        Self::of_arms(instance, Beliefs::new(arms.len()), arms, None, needed)
    }

    /// Creates the site of a dispatcher.
    ///
    /// # Arguments
    /// * `providers` - instances to which calls are sent, and their classes; the first one gets the calls that no
    ///   table mentions
    pub fn of_dispatcher(instance: &str, providers: &[(String, String)], needed: u64) -> Self {
        let arms: Vec<_> = providers
            .iter()
            .map(|(name, class)| Arm::new(name, class))
            .collect();
        let beliefs = Beliefs::with_scales(arms.len());
        Self::of_arms(instance, beliefs, arms, Some(Dispatched::default()), needed)
    }

    fn of_arms(
        instance: &str,
        beliefs: Beliefs,
        arms: Vec<Arm>,
        dispatched: Option<Dispatched>,
        needed: u64,
    ) -> Self {
        Site {
            instance: instance.into(),
            dispatched,
            beliefs,
            arms,
            current: GIVEN,
            trial: None,
            is_limited: false,
            calls: Vec::new(),
            lengths: Vec::new(),
            firsts: Vec::new(),
            is_own: Vec::new(),
            recalled: None,
            growth: Vec::new(),
            least_calls: needed as f64,
            account_s: 0.0,
            states: StepStates::default(),
            patience: 1.0,
            delays: (0.0, 0.0),
            kinds: BTreeMap::new(),
            groups: BTreeMap::new(),
        }
    }

    /// Whether a class has a stored model or estimates of an earlier run.
    pub fn is_known(&self, arm: usize) -> bool {
        self.beliefs.is_stored(arm) || self.arms[arm].is_recalled
    }

    /// Number of calls that a class must have answered before it is decided on: for a known class, just enough to
    /// confirm the estimate.
    pub fn needed(&self, arm: usize) -> f64 {
        let calls = match self.is_known(arm) {
            true => self.least_calls.min(FIRST_CALLS + 1.0),
            false => self.least_calls,
        };
        self.patience * calls
    }

    /// Whether a class that answers here is suspected to have changed.
    pub fn is_suspected(&self) -> bool {
        match self.dispatched {
            Some(_) => self.arms.iter().any(|arm| arm.watch.is_suspecting()),
            None => self.arms[self.current].watch.is_suspecting(),
        }
    }

    /// Seconds that the running trial has lost so far.
    pub fn lost_s(&self) -> f64 {
        self.trial
            .as_ref()
            .map_or(0.0, |trial| trial.excess_s.max(0.0))
    }

    /// Whether a class is being explored that the next step should decide on.
    pub fn is_trying(&self) -> bool {
        let dispatched = self.dispatched.as_ref();
        self.trial.is_some() || dispatched.is_some_and(|dispatched| dispatched.sending.is_urgent())
    }

    /// Bars a class from a dispatcher's calls after calls of it failed. Errors of the given class are the
    /// application's.
    pub fn refuse_failed(&mut self, arm: usize, failed: u64) {
        if self.dispatched.is_some() && arm != GIVEN {
            self.arms[arm].refused = Some(failed_calls(failed));
        }
    }

    /// Excess seconds of calls that a dispatcher sent to an explored class; 0 for all other calls.
    pub fn trial_cost_s(&self, before: &Posterior, calls: Answered) -> f64 {
        let Some(dispatched) = &self.dispatched else {
            return 0.0;
        };
        let (kind, sending) = (calls.kind, &dispatched.sending);
        if !sending.is_trial(kind, calls.arm) {
            return 0.0;
        }
        let best_s = before.ln_mean(sending.best(kind), kind).exp();
        calls.stand_for * calls.length * (calls.ln_mean.exp() - best_s).max(0.0)
    }

    /// Decides to which class a dispatcher sends each call kind; changes nothing at another site.
    ///
    /// # Arguments
    /// * `to_come` - expected calls to come for each call so far
    /// * `steps` - number so far, and until the next decision
    ///
    /// # Returns
    /// The changes and their reasons.
    pub fn send(
        &mut self,
        to_come: f64,
        steps: [f64; 2],
        allowed: Allowed,
    ) -> Vec<(Act, Sent, String)> {
        let Some(dispatched) = &mut self.dispatched else {
            return Vec::new();
        };
        dispatched.is_new = false;
        if dispatched.stopped.is_some() {
            return Vec::new();
        }
        let calls = Calls {
            so_far: &self.calls,
            to_come,
            a_step: 1.0 / steps[0],
            stride: steps[1],
        };
        let refused: Vec<bool> = self.arms.iter().map(|arm| arm.refused.is_some()).collect();
        let sent = dispatched
            .sending
            .decide(&mut self.beliefs, calls, &refused, allowed);
        dispatched.is_new = sent.iter().any(|sent| sent.from != sent.to);
        let told = sent.into_iter().map(|sent| {
            let (act, reason) = self.reason(&sent);
            (act, sent, reason)
        });
        told.collect()
    }

    fn reason(&self, sent: &Sent) -> (Act, String) {
        if let Some(expected) = sent.trial {
            let Expected { saved_s, cost_s } = expected;
            let reason = format!(
                "of all calls to come {saved_s:.3} s may be saved, at a cost of {cost_s:.4} s"
            );
            return (Act::Try, reason);
        }
        if let Some(why) = &self.arms[sent.from].refused {
            return (Act::Failed, why.clone());
        }
        let act = match (sent.was_trial, sent.from == sent.to) {
            (true, true) => Act::Keep,
            (true, false) => Act::Back,
            (false, _) => Act::Send,
        };
        let calls = self.beliefs.calls_at(sent.from, sent.kind);
        let reason = match act {
            Act::Keep => format!("the fastest after {calls} calls"),
            Act::Back => format!("not the fastest after {calls} calls"),
            _ => "believed to be faster".into(),
        };
        (act, reason)
    }

    /// Describes the calls of a dispatcher's kind, such as `fft.forward n=1024`; `None` at another site.
    pub fn calls_of(&self, kind: usize) -> Option<String> {
        self.dispatched.as_ref()?;
        let (method, coordinate) = &self.firsts[kind];
        let values = coordinate.values.iter();
        let words = values.map(|(name, value)| match value {
            Value::Label(label) => format!(" {name}={label}"),
            Value::Number(x) => format!(" {name}={x}"),
        });
        Some(method.clone() + &words.collect::<String>())
    }

    pub fn class(&self, arm: usize) -> &str {
        &self.arms[arm].class
    }

    /// The arm of a class that answers as an instance.
    pub fn arm(&self, instance: &str, class: &str) -> Option<usize> {
        self.arms
            .iter()
            .position(|arm| arm.instance == instance && arm.class == class)
    }

    /// Whether calls that an instance answers belong to this site.
    pub fn is_answered_by(&self, instance: &str) -> bool {
        self.arms.iter().any(|arm| arm.instance == instance)
    }

    /// Takes in the calls of this site in a step.
    ///
    /// # Arguments
    /// * `before` - the posterior before these calls
    /// * `step` - the step
    /// * `state` - state of the machine in it, which the calls' times do not contain
    pub fn take(
        &mut self,
        before: &Posterior,
        (step, state): (u64, State),
        taken: &[Answered],
        seen: &mut Seen,
    ) {
        let mut residuals: BTreeMap<usize, Vec<(f64, f64)>> = BTreeMap::new();
        let mut new: Vec<(Answered, f64)> = Vec::with_capacity(taken.len());
        for answered in taken {
            let Answered { arm, kind, .. } = *answered;
            self.calls[kind] += answered.stand_for;
            self.lengths[kind] += answered.stand_for * answered.length;
            if let Some(dispatched) = &mut self.dispatched {
                dispatched.sending.answered(kind, arm);
            }
            if self.recalled.is_some() && self.calibrate(*answered) {
                continue;
            }
            let usual = self.account(before, state, answered);
            if let Some(usual) = usual {
                let of_arm = residuals.entry(arm).or_default();
                of_arm.push((answered.calls, answered.ln_mean - usual));
            }
            let worth = state.worth(answered.calls, self.beliefs.noise());
            self.beliefs.count(arm, kind, worth, answered.ln_mean);
            new.push((*answered, worth));
        }
        let mut suspected = Vec::new();
        for (arm, mut residuals) in residuals {
            let calls = residuals.iter().map(|(calls, _)| calls).sum();
            let calls = state.worth(calls, self.beliefs.noise());
            let residual = weighted_median(&mut residuals);
            let deviation = self.beliefs.deviation();
            self.states.take((step, calls), residual, deviation);
            let watch = &mut self.arms[arm].watch;
            match watch.take((calls, residual), self.beliefs.noise(), state.is_seen) {
                Level::Same => {}
                Level::Suspected => suspected.push(arm),
                Level::Changed(by) => {
                    self.beliefs.shift(arm, by, CALLS_AFTER_CHANGE);
                    // Earlier trials do not count after so large a change.
                    if by.abs() > STATE {
                        self.patience = 1.0;
                    }
                    seen.changed = Some((arm, by.exp()));
                }
            }
        }
        for (of, worth) in new.iter().filter(|(of, _)| !suspected.contains(&of.arm)) {
            let arm = of.arm;
            let counted = state.counted(of.calls);
            self.beliefs
                .believe((arm, of.kind), counted, (*worth, of.ln_mean));
            let wrong = self.beliefs.drop_wrong_models(arm, FIRST_CALLS + 1.0);
            seen.off_models = wrong.map(|off| (arm, off.exp())).or(seen.off_models);
        }
    }

    /// Charges calls to the account and to the trial.
    ///
    /// # Returns
    /// The logarithm of their usual time, if the class is not being tried and its time is known.
    fn account(&mut self, before: &Posterior, state: State, of: &Answered) -> Option<f64> {
        let Answered {
            arm,
            kind,
            stand_for,
            ln_mean,
            length,
            ..
        } = *of;
        let slower = state.ln.exp();
        let delay_s = (self.delays.0 / self.delays.1.max(1.0)).max(0.0);
        let more_s = |than: usize| {
            let a_call_s = before.ln_mean(than, kind).exp();
            stand_for * slower * (length * (ln_mean.exp() - a_call_s) - delay_s)
        };
        if arm != GIVEN && self.dispatched.is_none() {
            self.account_s += more_s(GIVEN);
        }
        let worth = state.worth(of.calls, self.beliefs.noise());
        let trial = self.trial.as_mut().filter(|_| arm == self.current);
        if let Some(trial) = trial {
            trial.calls += state.counted(of.calls);
            trial.excess_s += more_s(trial.from);
            return None;
        }
        let usual = self.beliefs.seen_ln(arm, kind)?;
        if !self.beliefs.is_settled(arm, kind) {
            return None;
        }
        let undisturbed = stand_for * worth / of.calls;
        self.delays.0 += undisturbed * length * (ln_mean.exp() - usual.exp());
        self.delays.1 += undisturbed;
        Some(usual)
    }

    /// Converts calls of a kind to the sizes of the kind's first call.
    ///
    /// # Arguments
    /// * `ln_mean` - median logarithm of their seconds without the state of the machine
    pub fn answered(
        &mut self,
        arm: usize,
        of: &OfSite,
        [calls, stand_for]: [f64; 2],
        (ln_mean, state): (f64, State),
    ) -> Answered {
        let worth = state.worth(calls, self.beliefs.noise());
        let growth = &mut self.growth[of.group];
        if self.trial.is_none() {
            growth.add(&of.x, ln_mean, worth);
        }
        let grown = growth.over(&of.off);
        Answered {
            arm,
            kind: of.kind,
            calls,
            stand_for,
            ln_mean: ln_mean - grown,
            length: grown.exp(),
        }
    }

    /// Classifies a call at the site, and adds a new kind if needed.
    ///
    /// # Arguments
    /// * `arm` - the class that answered the call
    pub fn kind(&mut self, call: &CallKind, arm: usize, predict: &Predict<'_>) -> OfSite {
        let Names { key, group, x } = self.names(call);
        let n_groups = self.groups.len();
        let group = *self.groups.entry(group).or_insert(n_groups);
        self.growth.resize_with(self.groups.len(), Growth::default);
        let first = (call.port_method.clone(), call.coordinate.clone());
        // Two classes may have had different first calls of about that size.
        let same = self.firsts.iter().position(|known| *known == first);
        if let Some(known) = same.or_else(|| self.kinds.get(&key).copied()) {
            self.kinds.entry(key).or_insert(known);
            return self.of_site(known, group, x);
        }
        let most = match self.dispatched {
            Some(_) => MOST_KINDS_SENT,
            None => MOST_KINDS,
        };
        if self.calls.len() >= most
            && let Some(nearest) = self.beliefs.nearest(group, &x)
        {
            self.kinds.insert(key, nearest);
            return self.of_site(nearest, group, x);
        }
        let stored = self.arms.iter().map(|arm| {
            let predicted = predict(&arm.class, &call.port_method, &call.coordinate);
            predicted.filter(|seconds| *seconds > 0.0)
        });
        let stored: Vec<_> = stored.collect();
        let of = Kind {
            group,
            x: x.clone(),
        };
        let kind = self.beliefs.add_kind(of, &stored);
        self.calls.push(0.0);
        self.lengths.push(0.0);
        self.kinds.insert(key, kind);
        self.firsts.push(first);
        self.is_own.push(call.is_own);
        if let Some(dispatched) = &mut self.dispatched {
            dispatched.sending.add_kind(arm);
        }
        self.of_site(kind, group, x)
    }

    fn names(&self, call: &CallKind) -> Names {
        // Dispatchers distinguish calls by ranges of sizes.
        let is_own = call.is_own && self.dispatched.is_none();
        let key = match is_own {
            true => own_key(&call.port_method, &call.coordinate),
            false => kind_key(&call.port_method, &call.coordinate),
        };
        let (group, x) = sizes_of(call);
        Names { key, group, x }
    }

    /// Expected time of a call: median logarithm of its seconds, and standard deviation of one call; `None` if no
    /// call of its method and labels was seen.
    pub fn expected(&mut self, call: &CallKind) -> Option<(f64, f64)> {
        let arm = self.arm(&call.instance, &call.class)?;
        let Names { key, group, x } = self.names(call);
        let group = *self.groups.get(&group)?;
        let known = self.kinds.get(&key).copied();
        let kind = known.or_else(|| self.beliefs.nearest(group, &x))?;
        let of_site = self.of_site(kind, group, x);
        let posterior = self.beliefs.look();
        let distance = of_site.off.iter().map(|off| off * off).sum::<f64>();
        let variance = posterior.variance(arm, kind)
            + self.beliefs.deviation().powi(2)
            + (POWER_DEVIATION.powi(2) * distance);
        let grown = self.growth[group].over(&of_site.off);
        Some((posterior.ln_mean(arm, kind) + grown, variance.sqrt()))
    }

    fn of_site(&self, kind: usize, group: usize, x: Vec<f64>) -> OfSite {
        let of_kind = &self.beliefs.kind(kind).x;
        let off = x.iter().zip(of_kind).map(|(x, of)| x - of).collect();
        OfSite {
            kind,
            group,
            x,
            off,
        }
    }

    /// Expected seconds of all calls to come with a class, summed over all ranks.
    ///
    /// # Arguments
    /// * `to_come` - expected calls to come for each call so far
    pub fn to_come_s(&self, posterior: &Posterior, arm: usize, to_come: f64) -> f64 {
        let seconds = |(kind, n): (usize, &f64)| n * posterior.ln_mean(arm, kind).exp();
        to_come * self.lengths.iter().enumerate().map(seconds).sum::<f64>()
    }
}
