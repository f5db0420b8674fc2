//! One place where another class may answer while the application runs: an instance whose class is replaced, or a dispatcher, which sends
//! calls of each kind to one of several instances.

use std::collections::BTreeMap;

use mastermind_models::{Coordinate, Value};

use super::belief::{Beliefs, Kind};
use super::coupling::{Compared, Effect};
use super::growth::Growth;
use super::level::{Level, LevelWatch, STATE, StepStates};
use super::posterior::Posterior;
use super::sending::{Allowed, Calls, Expected, Sending, Sent};
use super::{Act, CallKind, Predict};

/// Steps of a size's logarithm to base 2 in which calls count as one kind.
const KINDS_AN_OCTAVE: f64 = 8.0;

/// Kinds of calls at a site that are told apart, since what a decision takes grows with the cube of their number; a further one
/// counts as the nearest of these. Where one class answers all calls, their sum alone counts.
const MOST_KINDS: usize = 16;

/// The same where each kind of call may go to another class.
const MOST_KINDS_SENT: usize = 64;

/// Calls that what is known of a class counts for after its level has changed.
pub const CALLS_AFTER_CHANGE: f64 = 5.0;

/// Calls of a class that are paid for and not believed where they alone have stopped a trial: libraries start up in them.
///
/// Arbitrary: one is enough where a library plans or starts threads in its first call; three leave room for one at each of a few sizes.
pub const FIRST_CALLS: f64 = 3.0;

/// Standard deviation of the power of a size by which a time grows beside the one that was found: that of two algorithms (`OWN_OF_OTHERS`).
const POWER_DEVIATION: f64 = 0.5;

/// The class that a site has as the run begins, or, at a dispatcher, that of the calls which no table tells of.
pub const GIVEN: usize = 0;

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

/// Sizes of the kind that a size is of: from where on, and up to where.
pub fn kind_bounds(size: f64) -> [f64; 2] {
    let step = (KINDS_AN_OCTAVE * ln(size)).round();
    [step - 0.5, step + 0.5].map(|edge| unln(edge / KINDS_AN_OCTAVE))
}

/// How many calls failed, in words.
pub fn failed_calls(failed: u64) -> String {
    match failed {
        1 => "1 call failed".into(),
        n => format!("{n} calls failed"),
    }
}

/// Logarithm to base 2 of a size; of what is none, of 1 and the distance from 0, so that 0 is a size too.
fn ln(x: f64) -> f64 {
    if x >= 1.0 { x.log2() } else { x - 1.0 }
}

/// The size of such a logarithm.
fn unln(ln: f64) -> f64 {
    if ln >= 0.0 { ln.exp2() } else { ln + 1.0 }
}

/// A class that may work at a site.
#[derive(Debug, Clone)]
pub struct Arm {
    pub class: String,
    /// The instance that answers.
    pub instance: String,
    /// Why it is not put in any more.
    pub refused: Option<String>,
    /// How often it was put in.
    pub trials: u32,
    /// Whether what trials may cost was less than one call of it might, when it was last considered.
    pub is_unborne: bool,
    /// Whether something is known of it from an earlier run.
    pub is_recalled: bool,
    /// Step at which its last trial ended.
    pub tried_until: u64,
    /// Whether it may have been slower only since it was cold, when it was last considered.
    pub may_be_cold: bool,
    /// What the calls of other instances take more with it than with the given class, relative to the time of that class.
    pub beside: f64,
    watch: LevelWatch,
}

/// A trial that goes on.
#[derive(Debug, Clone)]
pub struct Trial {
    /// The class before.
    pub from: usize,
    /// Step after which it began.
    pub began: u64,
    /// Calls so far.
    pub calls: f64,
    /// Seconds so far beyond what the class before would have taken.
    pub excess_s: f64,
    /// Whether it gets calls of a kind, by kind, as it was decided last; kinds that came since are not in it, and where calls can be sent
    /// elsewhere it does not get those. Empty before the first decision.
    pub is_admitted: Vec<bool>,
    /// Calls at the last check of whether more of them reduce the uncertainty, and the variance then of the logarithm of the ratio to the class
    /// before.
    pub told: (f64, f64),
    /// Calls of other instances before and during it.
    pub compared: Compared,
    /// What the class changes in these, as it was decided last.
    pub effect: Effect,
}

/// Where a dispatcher sends calls.
#[derive(Debug, Clone, Default)]
pub struct Dispatched {
    pub sending: Sending,
    /// Why nothing is sent elsewhere any more.
    pub stopped: Option<String>,
    /// Whether there is another table than at the last decision.
    pub is_new: bool,
}

/// What an instance's classes do, as far as is known.
#[derive(Debug, Clone)]
pub struct Site {
    pub instance: String,
    /// Of a dispatcher; else the class of the instance is replaced.
    pub dispatched: Option<Dispatched>,
    pub arms: Vec<Arm>,
    pub current: usize,
    pub trial: Option<Trial>,
    pub beliefs: Beliefs,
    /// Whether a class on trial gets only some of the calls.
    pub is_limited: bool,
    /// Calls of each kind so far: what is to come is like it.
    pub calls: Vec<f64>,
    /// By kind: how many calls of the size of its first one take as long as all of its calls so far.
    pub lengths: Vec<f64>,
    /// The first call of each kind: `PORT.METHOD` and coordinate.
    pub firsts: Vec<(String, Coordinate)>,
    /// By kind: whether all of its calls have the parameters of the first.
    pub is_own: Vec<bool>,
    /// Calls so far and by how much they are off what an earlier run has left, where that is still to be compared.
    pub recalled: Option<Vec<(f64, f64)>>,
    /// Calls that a class must have answered before it is believed of which no stored model tells anything.
    least_calls: f64,
    /// Seconds so far that calls took beyond what they would have taken in the given class.
    pub account_s: f64,
    /// The machine's, as the class that works here feels it.
    pub states: StepStates,
    /// By how much that has grown with the trials so far.
    pub patience: f64,
    /// Seconds of calls beyond what they usually take, and how many calls: delays, which no class is to blame for.
    delays: (f64, f64),
    kinds: BTreeMap<String, usize>,
    groups: BTreeMap<String, usize>,
    /// How times grow with sizes, by group of kinds.
    growth: Vec<Growth>,
}

/// What a kind of call is at a site.
#[derive(Debug, Clone)]
pub struct OfSite {
    /// Number among the kinds of the site.
    pub kind: usize,
    /// Number of its method and labels.
    group: usize,
    /// Logarithms of its sizes.
    x: Vec<f64>,
    /// By how much these are off those of the site's kind.
    off: Vec<f64>,
}

/// By what calls are told apart.
struct Names {
    /// Of the kind.
    key: String,
    /// Method and labels.
    group: String,
    /// Logarithms of the sizes.
    x: Vec<f64>,
}

/// Calls of one kind that a class of the site has answered.
#[derive(Debug, Clone, Copy)]
pub struct Answered {
    pub arm: usize,
    /// Number among the kinds of the site.
    pub kind: usize,
    pub calls: f64,
    /// As many calls were made for these: all of them, if all are told.
    pub stand_for: f64,
    /// Middle logarithm of the seconds that they would have taken with the sizes of the kind's first call, without the state of the machine.
    pub ln_mean: f64,
    /// As many calls of these sizes take as long as one of them.
    pub length: f64,
}

/// What a site has seen of its class since the last decision.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// A class whose level has changed, and by which factor.
    pub changed: Option<(usize, f64)>,
    /// A class that takes another time than the stored models say, and by which factor.
    pub off_models: Option<(usize, f64)>,
    /// Calls of the present class that failed.
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

    /// A dispatcher's.
    ///
    /// # Arguments
    /// * `providers` - instances that calls are sent to, and their classes; the first one has those that no table tells of
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

    /// Whether something is known of a class beside its calls: a stored model, or what an earlier run has left.
    pub fn is_known(&self, arm: usize) -> bool {
        self.beliefs.is_stored(arm) || self.arms[arm].is_recalled
    }

    /// Calls that a class must have answered before it is believed: where something is known of it as many as show that it is not far off.
    pub fn needed(&self, arm: usize) -> f64 {
        let calls = match self.is_known(arm) {
            true => self.least_calls.min(FIRST_CALLS + 1.0),
            false => self.least_calls,
        };
        self.patience * calls
    }

    /// Whether a class that works here is suspected to have changed.
    pub fn is_suspected(&self) -> bool {
        match self.dispatched {
            Some(_) => self.arms.iter().any(|arm| arm.watch.is_suspecting()),
            None => self.arms[self.current].watch.is_suspecting(),
        }
    }

    /// What the trial that goes on has lost so far, seconds.
    pub fn lost_s(&self) -> f64 {
        self.trial
            .as_ref()
            .map_or(0.0, |trial| trial.excess_s.max(0.0))
    }

    /// Whether a class is on trial that is to be decided on at the next step.
    pub fn is_trying(&self) -> bool {
        let dispatched = self.dispatched.as_ref();
        self.trial.is_some() || dispatched.is_some_and(|dispatched| dispatched.sending.is_urgent())
    }

    /// Has a class get no calls of a dispatcher any more of which calls failed. Errors of the given class are the application's.
    pub fn refuse_failed(&mut self, arm: usize, failed: u64) {
        if self.dispatched.is_some() && arm != GIVEN {
            self.arms[arm].refused = Some(failed_calls(failed));
        }
    }

    /// Seconds that calls took beyond what they would have, where a dispatcher has sent them to a class on trial; else 0.
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

    /// Decides where a dispatcher sends calls of each kind; nothing for another site.
    ///
    /// # Arguments
    /// * `to_come` - how many calls are to come for each call so far
    /// * `steps` - so far, and until it is decided again
    ///
    /// # Returns
    /// What changes, and why.
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

    /// Which calls a kind of a dispatcher's is of.
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

    /// The number of a class that answers as an instance.
    pub fn arm(&self, instance: &str, class: &str) -> Option<usize> {
        self.arms
            .iter()
            .position(|arm| arm.instance == instance && arm.class == class)
    }

    /// Whether calls that an instance answers are calls of this site.
    pub fn is_answered_by(&self, instance: &str) -> bool {
        self.arms.iter().any(|arm| arm.instance == instance)
    }

    /// Takes in calls of this instance.
    ///
    /// # Arguments
    /// * `before` - what was believed before
    /// * `step` - that the calls were made in
    pub fn take(&mut self, before: &Posterior, taken: Answered, step: u64, seen: &mut Seen) {
        let Answered {
            arm,
            kind,
            calls,
            stand_for,
            ln_mean,
            length,
        } = taken;
        self.calls[kind] += stand_for;
        self.lengths[kind] += stand_for * length;
        if let Some(dispatched) = &mut self.dispatched {
            dispatched.sending.answered(kind, arm);
        }
        if self.recalled.is_some() && self.calibrate(taken) {
            return;
        }
        let delay_s = (self.delays.0 / self.delays.1.max(1.0)).max(0.0);
        let more_s = |than: usize| {
            let a_call_s = before.ln_mean(than, kind).exp();
            stand_for * (length * (ln_mean.exp() - a_call_s) - delay_s)
        };
        if arm != GIVEN && self.dispatched.is_none() {
            self.account_s += more_s(GIVEN);
        }
        self.beliefs.count(arm, kind, calls, ln_mean);
        let trial = self.trial.as_mut().filter(|_| arm == self.current);
        if let Some(trial) = trial {
            trial.calls += calls;
            trial.excess_s += more_s(trial.from);
        } else if let Some(usual) = self.beliefs.seen_ln(arm, kind)
            && self.beliefs.is_settled(arm, kind)
        {
            let deviation = self.beliefs.deviation();
            self.delays.0 += stand_for * length * (ln_mean.exp() - usual.exp());
            self.delays.1 += stand_for;
            self.states.take((step, calls), ln_mean - usual, deviation);
            let watch = &mut self.arms[arm].watch;
            match watch.take((step, calls), ln_mean - usual, self.beliefs.noise()) {
                Level::Same => {}
                Level::Suspected => return,
                Level::Changed(by) => {
                    self.beliefs.shift(arm, by, CALLS_AFTER_CHANGE);
                    // No state of the machine explains that, so trials before it do not count any more.
                    if by.abs() > STATE {
                        self.patience = 1.0;
                    }
                    seen.changed = Some((arm, by.exp()));
                }
            }
        }
        self.beliefs.believe(arm, kind, calls, ln_mean);
        let wrong = self.beliefs.drop_wrong_models(arm, FIRST_CALLS + 1.0);
        seen.off_models = wrong.map(|off| (arm, off.exp())).or(seen.off_models);
    }

    /// Calls of a kind as they count here.
    ///
    /// # Arguments
    /// * `ln_mean` - middle logarithm of their seconds
    pub fn answered(
        &mut self,
        arm: usize,
        of: &OfSite,
        [calls, stand_for]: [f64; 2],
        ln_mean: f64,
    ) -> Answered {
        let growth = &mut self.growth[of.group];
        if self.trial.is_none() {
            growth.add(&of.x, ln_mean, calls);
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

    /// What a kind of call is among those of the site; new ones are added.
    ///
    /// # Arguments
    /// * `arm` - the class that answered it
    pub fn kind(&mut self, call: &CallKind, arm: usize, predict: &Predict<'_>) -> OfSite {
        let Names { key, group, x } = self.names(call);
        let n_groups = self.groups.len();
        let group = *self.groups.entry(group).or_insert(n_groups);
        self.growth.resize_with(self.groups.len(), Growth::default);
        let first = (call.port_method.clone(), call.coordinate.clone());
        // Whatever the first of about that size was for another class.
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
        // What a dispatcher sends is told apart by ranges of sizes.
        let is_own = call.is_own && self.dispatched.is_none();
        let key = match is_own {
            true => own_key(&call.port_method, &call.coordinate),
            false => kind_key(&call.port_method, &call.coordinate),
        };
        let mut group = call.port_method.clone();
        let mut x = Vec::new();
        for (name, value) in &call.coordinate.values {
            match value {
                Value::Label(label) => group.push_str(&format!(" {name}={label}")),
                // To the base e, as the beliefs have it.
                Value::Number(size) => x.push(ln(*size) * std::f64::consts::LN_2),
            }
        }
        Names { key, group, x }
    }

    /// What a call is expected to take: middle logarithm of its seconds, and standard deviation of one call; `None` if no call of its method
    /// and labels was seen.
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

    /// Seconds of all calls to come with a class, over all ranks.
    ///
    /// # Arguments
    /// * `to_come` - how many calls are to come for each call so far
    pub fn to_come_s(&self, posterior: &Posterior, arm: usize, to_come: f64) -> f64 {
        let seconds = |(kind, n): (usize, &f64)| n * posterior.ln_mean(arm, kind).exp();
        to_come * self.lengths.iter().enumerate().map(seconds).sum::<f64>()
    }
}
