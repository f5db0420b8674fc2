//! Which class works at each place, decided again and again while the application runs.
//!
//! State in, decision out: nothing here reads records or replaces anything. After each of the application's steps the
//! [`Adapter`] gets the calls of that step, of all ranks ([`Report`]), and says what is to change ([`Decision`]); who asked
//! tells it whether that could be done ([`Adapter::done`]). Every rank has an `Adapter` of its own and gives it the same
//! reports, so that all decide the same.
//!
//! How it decides:
//!
//! * The times of the classes of a site are believed as [`belief`] has it: stored models where there are, corrected by what
//!   is seen. A state of the machine that all other instances feel as well is taken out.
//! * A class whose time at equal parameters has changed ([`LevelWatch`]) is corrected at all sizes at once; which calls are delayed is
//!   estimated from all calls of a site ([`noise`]).
//! * Another class is tried where what it is expected to save in all calls to come, over what is not known of it, exceeds
//!   what the trial is expected to cost, and that is within the budget. Trials go on at several sites at once, each with its part of what is
//!   left, as long as enough other instances show the state of the machine.
//! * A class on trial gets the calls whose cost can be borne if it is as slow as it may be, small ones first ([`Limits`]); where calls
//!   cannot be sent elsewhere it gets all.
//! * What calls of classes that were not given take beyond the given ones is on one account, trials or not; where it is overdrawn the given class
//!   comes back. What a class changes in the calls of other instances counts as its own ([`coupling`]).
//! * What was tried stays if it is surely faster, by more than the hysteresis over all kinds of calls, once enough calls were seen. The class
//!   before comes back once the other is surely no faster, once more calls are not worth what they cost, or once the budget is spent.
//! * It is decided again once a trial has the calls that this takes ([`Adapter::wants_look`]); who asks may take calls back inside a step
//!   where it loses half of what is left ([`Adapter::may_lose_s`]).
//! * A class that was slower is tried once more where the run is long: it may have been cold.
//! * Each change doubles the calls that the next one at that site needs.
//! * Where a dispatcher sends each call to one of several classes, the same is decided for each kind of call ([`Sending`]), and all of
//!   it together is a table ([`Adapter::new_tables`]).

mod belief;
mod coupling;
mod decision;
mod growth;
mod kinds;
mod learned;
mod level;
mod limits;
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
pub use level::{Level, LevelWatch, weighted_median};
pub use limits::{Admitted, Limits};
pub use posterior::{Posterior, expected_saving};
pub use sending::{Allowed, Calls, Expected, Sending, Sent};

use crate::decide::Decisions;
use crate::workload::{Alternatives, Assembly};
use coupling::Work;
use kinds::Kinds;
use site::{GIVEN, Seen, Site};

/// What a stored model predicts: class, method (`PORT.METHOD`) and coordinate to seconds a call; `None` without one.
pub type Predict<'a> = dyn Fn(&str, &str, &Coordinate) -> Option<f64> + Send + Sync + 'a;

/// Part of what trials may still cost that one may lose until it is decided on.
const TO_A_TRIAL: f64 = 0.5;

/// Most steps of a trial between two decisions. Arbitrary: hundreds of steps would tell no more.
const MOST_STEPS_UNSEEN: f64 = 64.0;

/// How careful the adapter is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdaptSettings {
    /// Part of the run's seconds that trials may cost, 0 to 1.
    pub explore: f64,
    /// Calls of a class needed before it is believed, the first time.
    pub least_calls: u64,
    /// Part of the time that a class must save to be kept.
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

/// Calls of one kind, of all ranks, of one step or of several that follow one another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Batch {
    /// Number of the kind, as [`Adapter::add_kind`] told it.
    pub kind: usize,
    /// The step of the application that they were made in; the last one of several.
    pub step: u64,
    /// Those that did not fail.
    pub calls: u64,
    /// Those that failed.
    pub failed: u64,
    /// Middle logarithm of the own time of those that did not, in seconds.
    pub ln_mean: f64,
}

/// What happened since the last report.
#[derive(Debug, Clone, Copy)]
pub struct Report<'a> {
    /// Steps of the application so far.
    pub step: u64,
    /// Part of the run that is done, 0 to 1; 0 where that is not known.
    pub fraction: f64,
    /// Seconds since the run began, of all ranks together.
    pub elapsed_s: f64,
    /// Number of ranks.
    pub ranks: u32,
    /// Part of the calls since the last report that is told, above 0 to 1: where calls come faster than they may be looked at.
    pub told: f64,
    /// The calls that are told, in the order of the steps that they were made in.
    pub batches: &'a [Batch],
    /// Seconds that a decision takes, of all ranks together.
    pub deciding_s: f64,
    /// Whether a dispatcher may begin trials.
    pub may_try: bool,
    /// Steps until the next report, where it is not wanted before.
    pub stride: f64,
    /// Whether the classes on trial were stopped inside the step, since they had lost what [`Adapter::may_lose_s`] allows.
    pub was_stopped: bool,
}

/// A dispatcher of an assembly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DispatchedSite {
    /// Its instance.
    pub instance: String,
    /// Instances that it sends calls to, and their classes; the first one has those that no table tells of.
    pub providers: Vec<(String, String)>,
}

/// Where a dispatcher sends calls: its instance, and by method (`PORT.METHOD`) the table, which names the providers' instances.
pub type Tables = (String, BTreeMap<String, Decisions>);

/// Decides which class works at each site.
pub struct Adapter {
    sites: Vec<Site>,
    settings: AdaptSettings,
    predict: Box<Predict<'static>>,
    kinds: Kinds,
    /// What trials of dispatchers have cost, seconds over all ranks.
    sent_s: f64,
    /// Calls of all instances of late, as what they take in one class.
    work: Work,
    /// Step of the last report.
    reported_at: u64,
    budget_s: f64,
    /// Step at which what is in doubt is decided on.
    look_at: u64,
}

impl Adapter {
    /// # Arguments
    /// * `assembly` - class of each instance as the run begins
    /// * `alternatives` - classes that may take their places; instances with none are left as they are
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

    /// From now on a class on trial at an instance gets only the calls that [`Adapter::limits`] says: who asks can have the others answered by
    /// the class before.
    pub fn limit_trials(&mut self, instance: &str) {
        let mut sites = self.sites.iter_mut();
        if let Some(site) = sites.find(|site| site.instance == instance) {
            site.is_limited = true;
        }
    }

    /// Which calls each class on trial gets until the next decision; nothing of one that gets all.
    pub fn limits(&self) -> Vec<Limits> {
        let sites = self.sites.iter().filter(|site| site.is_limited);
        sites.filter_map(limits::of).collect()
    }

    /// Instances whose class may change, each with its class now, and those that dispatchers send calls to.
    pub fn classes(&self) -> impl Iterator<Item = (&str, &str)> {
        self.sites.iter().flat_map(|site| {
            let is_at_work = |place: usize| site.dispatched.is_some() || place == site.current;
            let arms = site.arms.iter().enumerate();
            arms.filter(move |(place, _)| is_at_work(*place))
                .map(|(_, arm)| (arm.instance.as_str(), arm.class.as_str()))
        })
    }

    /// Instances, each with a class that was never tried, since the run could not bear one of its calls.
    pub fn unborne(&self) -> impl Iterator<Item = (&str, &str)> {
        self.sites.iter().flat_map(|site| {
            let arms = site.arms.iter();
            arms.filter(|arm| arm.is_unborne && arm.trials == 0)
                .map(|arm| (arm.instance.as_str(), arm.class.as_str()))
        })
    }

    /// The tables of the dispatchers that are to send calls by another one than they did before the last decision.
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

    /// The tables of all dispatchers by what is believed now, without trials.
    pub fn best_tables(&self) -> Vec<Tables> {
        let sites = self.sites.iter();
        sites
            .filter_map(|site| {
                let dispatched = site.dispatched.as_ref()?;
                Some((site.instance.clone(), table::of_best(site, dispatched)))
            })
            .collect()
    }

    /// Leaves a dispatcher as it is from now on, since its table could not be changed.
    pub fn stop_dispatching(&mut self, instance: &str, why: &str) {
        let site = self.site(instance).map(|index| &mut self.sites[index]);
        if let Some(dispatched) = site.and_then(|site| site.dispatched.as_mut()) {
            dispatched.stopped = Some(why.into());
            dispatched.is_new = false;
        }
    }

    /// A kind of call that reports may be about from now on.
    ///
    /// # Returns
    /// Its number: 0 for the first, and one more for each that follows.
    pub fn add_kind(&mut self, kind: &CallKind) -> usize {
        self.kinds.add(kind, &self.sites)
    }

    /// What a call is expected to take by what was decided on so far: middle logarithm of its seconds, and standard deviation of one call; `None`
    /// if nothing is known of it.
    pub fn expected(&mut self, call: &CallKind) -> Option<(f64, f64)> {
        let mut sites = self.sites.iter_mut();
        match sites.find(|site| site.is_answered_by(&call.instance)) {
            Some(site) => site.expected(call),
            None => self.kinds.expected(call),
        }
    }

    /// Decides. What is to be swapped is to be swapped before the next call.
    pub fn decide(&mut self, report: &Report<'_>) -> Vec<Decision> {
        let residuals = self.kinds.residuals(report.batches);
        let sites = self.sites.iter();
        let machine: Vec<f64> = sites
            .map(|site| {
                let is_other = |instance: &str| !site.is_answered_by(instance);
                self.kinds.machine(&residuals, is_other)
            })
            .collect();
        let of_all = self.kinds.machine(&residuals, |_| true);
        let mut work_s = self.kinds.work_s(report);
        self.kinds.learn(report.batches, of_all);
        let done = report.fraction.clamp(0.0, 1.0);
        let seen: Vec<Seen> = (0..self.sites.len())
            .map(|index| self.take(index, report, &machine, &mut work_s))
            .collect();
        self.compare_work(report.step, &work_s);
        // Of the run as it would be with the given classes, else a trial that is dear would allow another.
        let own_s = (report.elapsed_s - self.account_s()).max(0.0);
        // Where it is not known how much is to come, as much as has been.
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

    /// Steps until a site that is in doubt is to be decided on: when there will be the calls that this takes, at the latest when a trial has
    /// gone on for twice as long as now or is expected to have lost half of what is left.
    fn steps_to_look(&self, site: &Site, report: &Report<'_>) -> Option<f64> {
        if !site.is_trying() && !site.is_suspected() {
            return None;
        }
        let calls_a_step = site.calls.iter().sum::<f64>() / report.step.max(1) as f64;
        let Some(trial) = &site.trial else {
            // A dispatcher's trials end as soon as their calls were answered; a few calls show a change.
            return Some(1.0);
        };
        let so_far = (report.step - trial.began) as f64;
        let lost_a_step_s = trial.excess_s / so_far.max(1.0);
        let until_lost = match lost_a_step_s > 0.0 {
            true => self.may_lose_s().unwrap_or(0.0) / lost_a_step_s,
            false => f64::INFINITY,
        };
        // Of the class on trial itself, once it has had a step: what it is called by may have changed.
        let calls_a_step = match so_far > 0.0 {
            true => trial.calls / so_far,
            false => calls_a_step,
        };
        let missing = (site.needed(site.current) - trial.calls).max(0.0) / calls_a_step;
        Some(missing.ceil().min(so_far).min(until_lost.floor()))
    }

    /// Whether what is in doubt is to be decided on at a step.
    pub fn wants_look(&self, step: u64) -> bool {
        self.is_in_doubt() && step >= self.look_at
    }

    /// Whether more calls are wanted soon: a trial goes on, or a class is suspected to have changed.
    pub fn is_in_doubt(&self) -> bool {
        self.is_trying() || self.sites.iter().any(Site::is_suspected)
    }

    /// Whether a class is on trial that is to be decided on at the next step.
    pub fn is_trying(&self) -> bool {
        self.sites.iter().any(Site::is_trying)
    }

    /// Whether a class is on trial, be it one that may wait for its calls.
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

    /// Seconds that the run has taken so far beyond what it would have taken with the given classes, over all ranks: below 0 where classes that
    /// were kept have saved more than trials have cost.
    ///
    /// # Source
    /// Wu, Shariff, Lattimore, Szepesvari, *Conservative bandits*, ICML 2016.
    fn account_s(&self) -> f64 {
        self.sent_s + self.sites.iter().map(|site| site.account_s).sum::<f64>()
    }

    /// The same, at least 0: what was saved pays for trials and allows no dearer one.
    fn spent_s(&self) -> f64 {
        self.account_s().max(0.0)
    }

    /// Takes note of what each instance was called with, in and between trials.
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

    /// What the classes on trial may lose until it is decided on them, seconds over all ranks, before calls go back to the classes before
    /// them inside a step; `None` without a trial.
    ///
    /// # Source
    /// The account of conservative bandits: Wu, Shariff, Lattimore, Szepesvari, ICML 2016.
    pub fn may_lose_s(&self) -> Option<f64> {
        let is_trying = self.sites.iter().any(|site| site.trial.is_some());
        is_trying.then(|| self.shares_s().iter().sum())
    }

    /// What each site's trial may lose until it is decided on it, seconds over all ranks, shape `[n_sites]`; 0 without one. The first of
    /// the sites has half of what is left, the next half of the rest: a class of which nothing was known leaves something for the others. (Equal
    /// parts were tried on the made worlds of `tests/worlds.rs`: in short runs at three sites they found less and lost more.)
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

    /// The instances of which classes are on trial.
    pub fn on_trial(&self) -> impl Iterator<Item = &str> {
        let sites = self.sites.iter().filter(|site| site.trial.is_some());
        sites.map(|site| site.instance.as_str())
    }

    /// Ends the trials that go on, since calls can be watched no longer: the classes before come back.
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

    /// Tells whether a decided swap was made on all ranks. Where it was not, the class before works on, and the other is
    /// not put in again.
    ///
    /// # Returns
    /// What follows from a swap that was not made.
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
        machine: &[f64],
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
                // No table sends calls without parameters anywhere else.
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
            let ln_mean = batch.ln_mean - machine[index];
            let instance = known.instance;
            taken.push((
                batch.step,
                instance,
                site.answered(arm, of_site, n, ln_mean),
            ));
        }
        if taken.is_empty() {
            return seen;
        }
        // What was believed before these calls, once for all of them: a fit for each would take longer than they do.
        let before = site.beliefs.posterior();
        let is_known = site.beliefs.calls(GIVEN) > 0.0;
        for (step, instance, calls) in taken {
            let ln_s = match is_known {
                true => before.ln_mean(GIVEN, calls.kind),
                false => calls.ln_mean,
            };
            work_s[instance] += calls.stand_for * calls.length * ln_s.exp();
            self.sent_s += site.trial_cost_s(&before, calls);
            site.take(&before, calls, step, &mut seen);
        }
        if seen.changed.is_some() {
            self.kinds.forget(&site.instance);
        }
        seen
    }

    /// Decides where a dispatcher sends calls.
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
