//! Chooses the class that works at each site, again and again while the application runs.
//!
//! This module is a pure policy: it reads no records and replaces no component. After each step of the application
//! the caller passes the calls of that step, of all ranks ([`Report`]), to the [`Adapter`], which returns the changes
//! to make ([`Decision`]). The caller then reports whether each change could be made ([`Adapter::done`]). Every rank
//! has its own `Adapter` and passes it the same reports, so all ranks decide the same.
//!
//! ```text
//! Report { step, batches, .. } ──decide──▶ [Decision { site: "flux", act: Try, from: "A", to: "B", .. }]
//!                                            │ the caller replaces A by B on all ranks
//! Decision, Ok(()) or Err(reason) ──done──▶ nothing, or the decision that undoes it
//! ```
//!
//! The policy:
//!
//! * [`belief`] estimates the times of the classes of a site: from stored models where they exist, corrected by the
//!   observed calls. A state of the machine ([`machine`]), of any size, that slows
//!   all instances is subtracted from the times of each step.
//! * When the time of a class at equal parameters changes ([`LevelWatch`]), its estimate is corrected at all sizes at
//!   once. [`noise`] infers from all calls of a site which of them were delayed.
//! * Another class is tried if the expected saving over all calls to come, given the uncertainty about it, exceeds
//!   the expected cost of the trial, and if the budget covers that cost. Several sites explore at once, each with its
//!   share of the remaining budget, as long as enough other instances show the state of the machine.
//! * The explored class gets the calls that the budget covers even in the worst case, small ones first ([`Limits`]).
//!   Where calls cannot be sent elsewhere, it gets all of them.
//! * One account holds the time that all classes other than the given ones cost in excess of the given ones, in
//!   trials or not. When it is overdrawn, the given class comes back. The account of a class includes what it changes
//!   in the calls of other instances ([`coupling`]).
//! * The explored class stays if, after enough calls, it is surely faster and expected to save more than the
//!   hysteresis over all calls. The previous class comes back once the explored one is surely no faster, once more
//!   calls cost more than they are worth, or once the budget is spent.
//! * The caller should decide again once a trial has the calls that a decision needs ([`Adapter::wants_look`]).
//!   Within a step it may take calls back from a trial that loses half of the remaining budget
//!   ([`Adapter::may_lose_s`]).
//! * In a long run a class that was slower is tried once more: it may have been cold.
//! * Each change doubles the number of calls that the next change at that site needs.
//! * A dispatcher sends each call to one of several classes. There the same decision is made for each call kind
//!   ([`Sending`]), and all of these decisions together are a table ([`Adapter::new_tables`]).

mod belief;
mod coupling;
mod decision;
mod growth;
mod kinds;
mod learned;
mod level;
mod limits;
mod machine;
mod noise;
mod posterior;
mod sending;
mod site;
mod spread;
mod table;
mod trials;

use std::collections::BTreeMap;

use mastermind_models::Coordinate;

pub use belief::{Beliefs, Kept, Kind};
pub use decision::{Act, Decision};
pub use kinds::CallKind;
pub use learned::Learned;
pub use level::weighted_median;
pub use limits::{Admitted, Limits};
pub use posterior::{Posterior, expected_saving};
pub use sending::{Allowed, Calls, Expected, Sending, Sent};
pub use site::size_step;

use crate::decide::Decisions;
use crate::workload::{Alternatives, Assembly};
use coupling::Work;
use kinds::Kinds;
use machine::State;
use site::{GIVEN, Seen, Site};

/// Prediction of a stored model: maps class, method (`PORT.METHOD`) and coordinate to seconds per call; `None`
/// without a model.
pub type Predict<'a> = dyn Fn(&str, &str, &Coordinate) -> Option<f64> + Send + Sync + 'a;

/// Part of the remaining budget that one trial may lose until the next decision.
const TO_A_TRIAL: f64 = 0.5;

/// Maximum number of steps of a trial between two decisions. Arbitrary: hundreds of steps would add no information.
const MOST_STEPS_UNSEEN: f64 = 64.0;

/// Part by which the calls of a trial must grow before it is decided on again: its deviation is then smaller by 7 %.
const MORE_CALLS: f64 = 0.15;

/// Settings that bound the cost of adaptation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdaptSettings {
    /// Part of the run's time that trials may cost, 0 to 1.
    pub explore: f64,
    /// Number of calls that the first decision about a class needs.
    pub least_calls: u64,
    /// Part of the time that a class must save to be kept, 0 to 1.
    pub hysteresis: f64,
    /// Seconds that one replacement takes on each rank.
    pub swap_s: f64,
}

impl Default for AdaptSettings {
    fn default() -> Self {
        AdaptSettings {
            explore: 0.02,
            least_calls: 20,
            hysteresis: 0.03,
            swap_s: 1e-3,
        }
    }
}

/// Calls of one kind on all ranks, in one step or several consecutive ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Batch {
    /// Number of the call kind, as returned by [`Adapter::add_kind`].
    pub kind: usize,
    /// The application's step in which the calls were made; of several steps, the last one.
    pub step: u64,
    /// Number of calls that did not fail.
    pub calls: u64,
    /// Number of calls that failed.
    pub failed: u64,
    /// Median logarithm of the exclusive time of the calls that did not fail, in seconds.
    pub ln_mean: f64,
}

/// Calls and time since the last report.
#[derive(Debug, Clone, Copy)]
pub struct Report<'a> {
    /// Steps of the application so far.
    pub step: u64,
    /// Part of the run that is done, 0 to 1; 0 if unknown.
    pub fraction: f64,
    /// Seconds since the run began, of all ranks together.
    pub elapsed_s: f64,
    /// Number of ranks.
    pub ranks: u32,
    /// Part of the calls since the last report that `batches` contains, above 0 to 1; below 1 if calls come faster
    /// than they can be examined.
    pub told: f64,
    /// The reported calls, in the order of their steps.
    pub batches: &'a [Batch],
    /// Seconds that a decision takes, summed over all ranks.
    pub deciding_s: f64,
    /// Whether a dispatcher may begin trials.
    pub may_try: bool,
    /// Steps until the next report unless one is wanted earlier.
    pub stride: f64,
    /// Whether the explored classes were stopped inside the step, because they had lost as much as
    /// [`Adapter::may_lose_s`] allows.
    pub was_stopped: bool,
}

/// A dispatcher of an assembly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DispatchedSite {
    /// Its instance.
    pub instance: String,
    /// Instances to which it sends calls, and their classes; the first one gets the calls that no table mentions.
    pub providers: Vec<(String, String)>,
}

/// Destinations of a dispatcher's calls: its instance, and for each method (`PORT.METHOD`) the table, which names the
/// providers' instances.
pub type Tables = (String, BTreeMap<String, Decisions>);

/// Decides which class works at each site; see the [module](self) for the policy.
pub struct Adapter {
    sites: Vec<Site>,
    settings: AdaptSettings,
    predict: Box<Predict<'static>>,
    kinds: Kinds,
    /// Cost of dispatchers' trials, seconds summed over all ranks.
    sent_s: f64,
    /// Work of each instance in the recent reports, in seconds of one class.
    work: Work,
    /// Step of the last report.
    reported_at: u64,
    budget_s: f64,
    /// Step of the next early decision.
    look_at: u64,
}

impl Adapter {
    /// # Arguments
    /// * `assembly` - class of each instance at the start of the run
    /// * `alternatives` - classes that may take their places; instances without alternatives stay as they are
    /// * `dispatched` - dispatchers, whose tables may change
    /// * `predict` - stored models
    pub fn new(
        assembly: &Assembly,
        alternatives: &Alternatives,
        dispatched: &[DispatchedSite],
        settings: AdaptSettings,
        predict: Box<Predict<'static>>,
    ) -> Self {
        let sites = alternatives.iter().filter_map(|(instance, classes)| {
            let current = assembly.get(instance)?;
            let site = Site::new(instance, current, classes, settings.least_calls);
            (site.arms.len() > 1).then_some(site)
        });
        let dispatched = dispatched.iter().filter(|site| site.providers.len() > 1);
        let dispatched = dispatched
            .map(|site| Site::of_dispatcher(&site.instance, &site.providers, settings.least_calls));
        Adapter {
            sites: sites.chain(dispatched).collect(),
            settings,
            predict,
            kinds: Kinds::default(),
            sent_s: 0.0,
            work: Work::default(),
            reported_at: 0,
            budget_s: 0.0,
            look_at: 0,
        }
    }

    /// From now on an explored class at an instance gets only the calls that [`Adapter::limits`] returns; the caller
    /// can have the previous class answer the others.
    pub fn limit_trials(&mut self, instance: &str) {
        let mut sites = self.sites.iter_mut();
        if let Some(site) = sites.find(|site| site.instance == instance) {
            site.is_limited = true;
        }
    }

    /// Calls that each explored class gets until the next decision; no entry for a class that gets all of them.
    pub fn limits(&self) -> Vec<Limits> {
        let sites = self.sites.iter().filter(|site| site.is_limited);
        sites.filter_map(limits::of).collect()
    }

    /// Instances whose class may change, each with its present class, and the instances to which dispatchers send
    /// calls.
    pub fn classes(&self) -> impl Iterator<Item = (&str, &str)> {
        self.sites.iter().flat_map(|site| {
            let is_at_work = |place: usize| site.dispatched.is_some() || place == site.current;
            let arms = site.arms.iter().enumerate();
            arms.filter(move |(place, _)| is_at_work(*place))
                .map(|(_, arm)| (arm.instance.as_str(), arm.class.as_str()))
        })
    }

    /// Instances, each with a class that was never tried because the budget did not cover one of its calls.
    pub fn unborne(&self) -> impl Iterator<Item = (&str, &str)> {
        self.sites.iter().flat_map(|site| {
            let arms = site.arms.iter();
            arms.filter(|arm| arm.is_unborne && arm.trials == 0)
                .map(|arm| (arm.instance.as_str(), arm.class.as_str()))
        })
    }

    /// The tables of the dispatchers whose table changed in the last decision.
    pub fn new_tables(&self) -> Vec<Tables> {
        let sites = self.sites.iter();
        sites
            .filter_map(|site| {
                let dispatched = site.dispatched.as_ref()?;
                dispatched
                    .is_new
                    .then(|| (site.instance.clone(), table::of(site, dispatched)))
            })
            .collect()
    }

    /// The tables of all dispatchers according to the present estimates, without trials.
    pub fn best_tables(&self) -> Vec<Tables> {
        let sites = self.sites.iter();
        sites
            .filter_map(|site| {
                let dispatched = site.dispatched.as_ref()?;
                Some((site.instance.clone(), table::of_best(site, dispatched)))
            })
            .collect()
    }

    /// Leaves a dispatcher as it is from now on, because its table could not be changed.
    pub fn stop_dispatching(&mut self, instance: &str, why: &str) {
        let site = self.site(instance).map(|index| &mut self.sites[index]);
        if let Some(dispatched) = site.and_then(|site| site.dispatched.as_mut()) {
            dispatched.stopped = Some(why.into());
            dispatched.is_new = false;
        }
    }

    /// Registers a call kind, to which reports may refer from now on.
    ///
    /// # Returns
    /// Its number: 0 for the first kind, and one more for each that follows.
    pub fn add_kind(&mut self, kind: &CallKind) -> usize {
        self.kinds.add(kind, &self.sites)
    }

    /// Expected time of a call according to the calls that decisions have seen so far: median logarithm of its
    /// seconds, and standard deviation of one call; `None` if nothing is known about it.
    pub fn expected(&mut self, call: &CallKind) -> Option<(f64, f64)> {
        let mut sites = self.sites.iter_mut();
        match sites.find(|site| site.is_answered_by(&call.instance)) {
            Some(site) => site.expected(call),
            None => self.kinds.expected(call),
        }
    }

    /// Takes in a report and decides. The caller must make the swaps before the next call.
    pub fn decide(&mut self, report: &Report<'_>) -> Vec<Decision> {
        let residuals = self.kinds.residuals(report.batches);
        let states = self.kinds.states(&residuals, &self.sites);
        let mut work_s = self.kinds.work_s(report);
        self.kinds.learn(report.batches, &states);
        let done = report.fraction.clamp(0.0, 1.0);
        let seen: Vec<Seen> = (0..self.sites.len())
            .map(|index| self.take(index, report, &states, &mut work_s))
            .collect();
        self.compare_work(report.step, &work_s);
        // The budget is a part of the run with the given classes: otherwise an expensive trial would allow another
        // one.
        let own_s = (report.elapsed_s - self.account_s()).max(0.0);
        // If the remaining length is unknown, assume as much as has passed.
        let (to_come, expected_s) = match done > 0.0 {
            true => ((1.0 - done) / done, own_s / done),
            false => (1.0, 2.0 * own_s),
        };
        self.budget_s = self.settings.explore * expected_s;
        let mut decisions = Vec::new();
        for (index, seen) in seen.iter().enumerate() {
            self.settle(index, report, (seen, to_come), &mut decisions);
            self.send(index, to_come, report, &mut decisions);
        }
        if report.was_stopped {
            self.stop_trials(report, &mut decisions);
        }
        self.guard(report, &mut decisions);
        self.begin_trials(to_come, &residuals, report, &mut decisions);
        self.admit(report.step.max(1) as f64);
        let steps = self
            .sites
            .iter()
            .filter_map(|site| self.steps_to_look(site, report));
        let steps = steps.min_by(f64::total_cmp).unwrap_or(1.0);
        self.look_at = report.step + steps.clamp(1.0, MOST_STEPS_UNSEEN) as u64;
        decisions
    }

    /// Steps until the next early decision about a site: when it will have the calls that the decision needs, or
    /// [`MORE_CALLS`], but no later than when the trial has doubled its length or is expected to have lost half of the
    /// remaining budget.
    fn steps_to_look(&self, site: &Site, report: &Report<'_>) -> Option<f64> {
        if !site.is_trying() {
            return None;
        }
        let calls_a_step = site.calls.iter().sum::<f64>() / report.step.max(1) as f64;
        let Some(trial) = &site.trial else {
            // A dispatcher's trials end as soon as their calls are answered.
            return Some(1.0);
        };
        let so_far = (report.step - trial.began) as f64;
        let lost_a_step_s = trial.excess_s / so_far.max(1.0);
        let until_lost = match lost_a_step_s > 0.0 {
            true => self.may_lose_s().unwrap_or(0.0) / lost_a_step_s,
            false => f64::INFINITY,
        };
        // Use the explored class's own rate once it has had a step: its callers may behave differently now.
        let calls_a_step = match so_far > 0.0 {
            true => trial.calls / so_far,
            false => calls_a_step,
        };
        let missing = site.needed(site.current) - trial.calls;
        let missing = missing.max(MORE_CALLS * trial.calls) / calls_a_step;
        Some(missing.ceil().min(so_far).min(until_lost.floor()))
    }

    /// Whether a decision about a trial is due at a step.
    pub fn wants_look(&self, step: u64) -> bool {
        self.is_trying() && step >= self.look_at
    }

    /// Whether a trial goes on or a class is suspected to have changed.
    pub fn is_in_doubt(&self) -> bool {
        self.is_trying() || self.is_suspecting()
    }

    /// Whether a class is suspected to have changed.
    pub fn is_suspecting(&self) -> bool {
        self.sites.iter().any(Site::is_suspected)
    }

    /// Whether a class is being explored that the next step should decide on.
    pub fn is_trying(&self) -> bool {
        self.sites.iter().any(Site::is_trying)
    }

    /// Whether any class is being explored, including trials that wait for their calls.
    pub fn has_trials(&self) -> bool {
        let dispatched = |site: &Site| {
            site.dispatched
                .as_ref()
                .is_some_and(|d| d.sending.is_trying())
        };
        self.is_trying() || self.sites.iter().any(dispatched)
    }

    /// Seconds that trials may still cost.
    pub fn left_s(&self) -> f64 {
        (self.budget_s - self.spent_s()).max(0.0)
    }

    /// Seconds that the run has taken so far in excess of the given classes, summed over all ranks; negative where
    /// kept classes have saved more than trials have cost.
    ///
    /// # Source
    /// Wu, Shariff, Lattimore, Szepesvari, *Conservative bandits*, ICML 2016.
    fn account_s(&self) -> f64 {
        self.sent_s + self.sites.iter().map(|site| site.account_s).sum::<f64>()
    }

    /// [`Self::account_s`], but at least 0: savings pay for past trials and do not raise the budget.
    fn spent_s(&self) -> f64 {
        self.account_s().max(0.0)
    }

    /// Records the work of each instance, in and between trials.
    fn compare_work(&mut self, step: u64, work_s: &[f64]) {
        let steps = step.saturating_sub(self.reported_at) as f64;
        self.reported_at = step;
        if steps == 0.0 {
            return;
        }
        self.work.add(steps, work_s);
        for trial in self.sites.iter_mut().filter_map(|site| site.trial.as_mut()) {
            trial.compared.add(steps, work_s);
        }
    }

    /// Seconds, summed over all ranks, that the explored classes may lose until the next decision before the caller
    /// hands calls back to the previous classes inside a step; `None` without a trial.
    ///
    /// # Source
    /// The account of conservative bandits: Wu, Shariff, Lattimore, Szepesvari, ICML 2016.
    pub fn may_lose_s(&self) -> Option<f64> {
        let is_trying = self.sites.iter().any(|site| site.trial.is_some());
        is_trying.then(|| self.shares_s().iter().sum())
    }

    /// Seconds, summed over all ranks, that each site's trial may lose until the next decision, shape `[n_sites]`; 0
    /// without a trial. The first of the sites gets half of the remaining budget and the next half of the rest, so
    /// that an unknown class leaves some for the others. (Equal shares were tried on the synthetic worlds of
    /// `tests/worlds.rs`: in short runs at three sites they found less and lost more.)
    fn shares_s(&self) -> Vec<f64> {
        let mut left_s = self.left_s();
        let shares = self.sites.iter().map(|site| match site.trial {
            Some(_) => {
                let share_s = TO_A_TRIAL * left_s;
                left_s -= share_s;
                share_s
            }
            None => 0.0,
        });
        shares.collect()
    }

    /// The instances at which a class is being explored.
    pub fn on_trial(&self) -> impl Iterator<Item = &str> {
        let sites = self.sites.iter().filter(|site| site.trial.is_some());
        sites.map(|site| site.instance.as_str())
    }

    /// Ends the running trials because calls can no longer be watched: the previous classes come back.
    ///
    /// # Arguments
    /// * `reason` - why
    pub fn abandon(&mut self, reason: &str, report: &Report<'_>) -> Vec<Decision> {
        let mut decisions = Vec::new();
        for index in 0..self.sites.len() {
            self.end_trial(index, false, reason.into(), report, &mut decisions);
            let calls_end = Report {
                may_try: false,
                ..*report
            };
            self.send(index, 0.0, &calls_end, &mut decisions);
        }
        decisions
    }

    /// Reports whether a decided swap was made on all ranks. If it was not, the previous class goes on and the other
    /// class is not tried again.
    ///
    /// # Returns
    /// The decision that follows from a failed swap.
    pub fn done(&mut self, decision: &Decision, made: Result<(), String>) -> Option<Decision> {
        let Err(error) = made else { return None };
        let index = self.site(&decision.site)?;
        let site = &mut self.sites[index];
        let arm = site.arms.iter().position(|arm| arm.class == decision.to)?;
        site.arms[arm].refused = Some(error.clone());
        site.current = site
            .arms
            .iter()
            .position(|arm| arm.class == decision.from)
            .unwrap_or(site.current);
        site.trial = None;
        Some(Decision {
            act: Act::Failed,
            to: decision.from.clone(),
            from: decision.from.clone(),
            reason: format!("{} cannot be put in: {error}", decision.to),
            ..decision.clone()
        })
    }

    fn site(&self, instance: &str) -> Option<usize> {
        self.sites.iter().position(|site| site.instance == instance)
    }

    fn take(
        &mut self,
        index: usize,
        report: &Report<'_>,
        states: &BTreeMap<u64, Vec<State>>,
        work_s: &mut [f64],
    ) -> Seen {
        let mut seen = Seen::default();
        let site = &mut self.sites[index];
        let mut taken = Vec::new();
        for batch in report.batches {
            let Some(known) = self.kinds.known.get_mut(batch.kind) else {
                continue;
            };
            let Some((_, arm)) = known.place.filter(|(place, _)| *place == index) else {
                continue;
            };
            if site.dispatched.is_some() && known.kind.coordinate.values.is_empty() {
                // Tables send calls by their parameters, so calls without any stay where they are.
                continue;
            }
            if arm == site.current && site.dispatched.is_none() {
                seen.failed += batch.failed;
            }
            let of_site = known.of_site.take();
            let of_site = of_site.unwrap_or_else(|| site.kind(&known.kind, arm, &*self.predict));
            let of_site = known.of_site.insert(of_site);
            if batch.failed > 0 {
                site.refuse_failed(arm, batch.failed);
            }
            if batch.calls == 0 || !batch.ln_mean.is_finite() {
                continue;
            }
            let calls = batch.calls as f64;
            let n = [calls, calls / report.told];
            let state = states.get(&batch.step).map(|of_sites| of_sites[index]);
            let state = state.unwrap_or_default();
            let at = (batch.ln_mean - state.ln, state);
            let answered = site.answered(arm, of_site, n, at);
            taken.push(((batch.step, state), known.instance, answered));
        }
        if taken.is_empty() {
            return seen;
        }
        // One posterior from before these calls serves all of them: a fit per call would take longer than the calls.
        let before = site.beliefs.posterior();
        let is_known = site.beliefs.calls(GIVEN) > 0.0;
        for of_step in taken.chunk_by(|one, other| one.0.0 == other.0.0) {
            let (at, ..) = of_step[0];
            let mut calls_of_step = Vec::with_capacity(of_step.len());
            for (_, instance, calls) in of_step {
                let ln_s = match is_known {
                    true => before.ln_mean(GIVEN, calls.kind),
                    false => calls.ln_mean,
                };
                work_s[*instance] += calls.stand_for * calls.length * ln_s.exp();
                self.sent_s += at.1.ln.exp() * site.trial_cost_s(&before, *calls);
                calls_of_step.push(*calls);
            }
            site.take(&before, at, &calls_of_step, &mut seen);
        }
        if let Some((arm, factor)) = seen.changed {
            let changed = &site.arms[arm];
            self.kinds
                .shift(&changed.instance, &changed.class, factor.ln());
        }
        seen
    }

    /// Decides to which class a dispatcher sends each call kind.
    fn send(
        &mut self,
        index: usize,
        to_come: f64,
        report: &Report<'_>,
        decisions: &mut Vec<Decision>,
    ) {
        let allowed = Allowed {
            left_s: self.budget_s - self.spent_s(),
            deciding_s: report.deciding_s,
            may_try: report.may_try,
        };
        let steps = [report.step.max(1) as f64, report.stride];
        let sent = self.sites[index].send(to_come, steps, allowed);
        for (act, sent, reason) in sent {
            let calls = self.sites[index].calls_of(sent.kind);
            let decided = self.decision(index, act, sent.from, sent.to, reason, report);
            decisions.push(Decision { calls, ..decided });
        }
    }

    fn decision(
        &self,
        index: usize,
        act: Act,
        from: usize,
        to: usize,
        reason: String,
        report: &Report<'_>,
    ) -> Decision {
        let site = &self.sites[index];
        Decision {
            step: report.step,
            fraction: report.fraction,
            site: site.instance.clone(),
            calls: None,
            act,
            from: site.class(from).into(),
            to: site.class(to).into(),
            reason,
            spent_s: self.spent_s(),
            budget_s: self.budget_s,
        }
    }
}

#[cfg(test)]
mod tests;
