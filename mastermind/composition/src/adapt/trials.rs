//! Trials: which class is explored next, which calls it gets, and what ends the trial.
//!
//! A trial replaces the class at a site for some calls, to learn whether another one is faster. It goes through four
//! stages, each decided once per report:
//!
//! * begin: [`Adapter::worth_trying`] compares the expected saving over all calls to come with the expected cost, for
//!   each class of each site; [`Adapter::begin_trials`] starts the best ones, each with a share of the remaining
//!   budget.
//! * admit: [`Adapter::admit`] chooses the calls that the class gets until the next decision.
//! * settle: [`Adapter::settle`] keeps the class once it is faster with probability [`SURE`], or ends the trial once
//!   it is as surely not faster, once more calls cost more than they are worth, or once the budget is spent.
//! * guard: [`Adapter::guard`] brings the given class back if kept classes have overdrawn the account.
//!
//! ```text
//! step 40: flux: try A to B: expected to take 0.80 times the time of A, within a factor 1.50; ...
//! step 46: flux: keep B: 0.790 times the time of A, within a factor 1.04, after 20 calls
//! ```

use std::collections::BTreeMap;

use super::belief::MOST_CALLS;
use super::coupling::Effect;
use super::limits;
use super::machine::Residual;
use super::posterior::{Posterior, Ratio, expected_saving};
use super::site::{FIRST_CALLS, GIVEN, Seen, Site, Trial, failed_calls};
use super::{Act, Adapter, Decision, Report, TO_A_TRIAL};

/// Number of instances without a trial that surely show the state of the machine: the majority of them.
const MIN_OTHERS: usize = 3;

/// Maximum number of trials of one class.
const MOST_TRIALS: u32 = 20;

/// Probability of a class being faster, or not faster, at which a trial ends: one kept class in twenty is a mistake,
/// and the budget bounds its cost.
const SURE: f64 = 0.95;

/// Ratio of times above which the explored class counts as equal to the previous one. Arbitrary: a hundredth of a run
/// is no reason to change the class.
const ONE_CLASS: f64 = 0.99;

/// Probability that a class was slower in its first trial only because it was cold, and the standard deviation of the
/// logarithm of its time in that case. Arbitrary.
const COLD: f64 = 0.05;
const COLD_DEVIATION: f64 = 0.5;

/// Factor by which the steps so far must have grown before such a class is tried again, and factor on the number of
/// its calls then that are not believed. Arbitrary.
const LATER: u64 = 8;
const WARMED: f64 = 4.0;

/// Quantile of the standard normal distribution for the probability [`SURE`].
const Z_SURE: f64 = 1.645;

/// A trial ends if doubling its calls has left more than this part of the variance. Arbitrary: as long as calls
/// inform, the contribution of their spread halves with each doubling, which leaves far less.
const TOLD_NOTHING: f64 = 0.9;

impl Adapter {
    /// The class most worth exploring at a site: expected gain in seconds, the class, and the reason.
    pub(super) fn worth_trying(
        &mut self,
        index: usize,
        to_come: f64,
        report: &Report<'_>,
    ) -> Option<(f64, usize, String)> {
        let steps = report.step.max(1) as f64;
        let settings = self.settings;
        let left_s = self.left_to_new_s();
        let site = &mut self.sites[index];
        if site.dispatched.is_some() || site.trial.is_some() {
            return None;
        }
        let current = site.current;
        if site.beliefs.calls(current) < site.needed(current).min(MOST_CALLS) {
            return None;
        }
        let posterior = site.beliefs.posterior();
        let current_s = site.to_come_s(&posterior, current, to_come);
        let calls: f64 = site.calls.iter().sum::<f64>();
        let a_call_s = site.to_come_s(&posterior, current, 1.0) / calls;
        let mut best: Option<(f64, usize, String)> = None;
        for arm in 0..site.arms.len() {
            let tried = &site.arms[arm];
            if arm == current || tried.refused.is_some() || tried.trials >= MOST_TRIALS {
                continue;
            }
            let expected = Prospect::of(site, &posterior, arm, to_come, settings.hysteresis);
            // A rejected class is tried again only if it may have improved, if the present one became worse, or if it
            // is still uncertain.
            let least = expected.ratio * (-expected.deviation).exp();
            let is_slower = tried.trials > 0 && least > 1.0 - 2.0 * settings.hysteresis;
            // One more trial, since the class may have been cold.
            let is_later = report.step >= LATER * tried.tried_until;
            let is_first = tried.trials == 1 && arm != GIVEN && !site.is_known(arm);
            let may_be_cold = is_slower && is_first && is_later;
            if is_slower && !may_be_cold {
                continue;
            }
            let saved_s = match may_be_cold {
                true => {
                    COLD * current_s
                        * (1.0 - settings.hysteresis)
                        * expected_saving(0.0, COLD_DEVIATION)
                }
                false => expected.saved_s,
            };
            // A trial that needs most of the calls to come would end too late.
            let most_s = limits::most_lost_s(site, &posterior, [arm, current], FIRST_CALLS);
            let calls_a_step = site.calls.iter().map(|calls| calls / steps);
            let is_borne = match site.is_limited {
                true => limits::borne(&most_s, calls_a_step, TO_A_TRIAL * left_s),
                false => vec![true; most_s.len()],
            };
            let borne = site.calls.iter().zip(is_borne);
            let n_borne: f64 = borne.filter(|(_, is)| *is).map(|(calls, _)| calls).sum();
            let needed = site.needed(arm);
            if needed > 0.5 * n_borne * to_come {
                site.arms[arm].is_unborne = n_borne == 0.0;
                continue;
            }
            site.arms[arm].is_unborne = false;
            site.arms[arm].may_be_cold = may_be_cold;
            let n_dear = match may_be_cold {
                true => believed_after(2),
                false => needed,
            };
            let trial_s = n_dear * a_call_s * (expected.ratio - 1.0).max(0.0);
            let again = f64::from(site.arms[arm].trials).exp2();
            let swaps_s = 2.0 * settings.swap_s * f64::from(report.ranks);
            let cost_s = again * (trial_s + swaps_s);
            let gain_s = saved_s - cost_s;
            if gain_s <= 0.0 || trial_s > left_s || best.as_ref().is_some_and(|b| b.0 >= gain_s) {
                continue;
            }
            let known = match site.beliefs.is_unknown(arm) {
                true => format!("nothing is known of {}", site.class(arm)),
                false => format!(
                    "expected to take {:.2} times the time of {}, within a factor {:.2}",
                    expected.ratio,
                    site.class(current),
                    (2.0 * expected.deviation).exp(),
                ),
            };
            let reason = format!(
                "{known}; of {current_s:.3} s to come {saved_s:.3} s may be saved, at a cost of {cost_s:.4} s"
            );
            best = Some((gain_s, arm, reason));
        }
        best
    }

    /// Begins trials in the order of their expected gain.
    ///
    /// # Arguments
    /// * `residuals` - by step, how much slower than usual each instance ran
    pub(super) fn begin_trials(
        &mut self,
        to_come: f64,
        residuals: &BTreeMap<u64, Vec<Residual>>,
        report: &Report<'_>,
        decisions: &mut Vec<Decision>,
    ) {
        let worth: Vec<_> = (0..self.sites.len())
            .map(|index| self.worth_trying(index, to_come, report))
            .collect();
        let mut order: Vec<usize> = (0..worth.len()).filter(|at| worth[*at].is_some()).collect();
        let gain_s = |at: &usize| worth[*at].as_ref().map_or(0.0, |(gain_s, ..)| *gain_s);
        order.sort_by(|a, b| gain_s(b).total_cmp(&gain_s(a)));
        for index in order {
            // Earlier trials in this order have taken their shares of the remaining budget.
            if let Some((_, arm, reason)) = self.worth_trying(index, to_come, report)
                && self.may_begin_beside((index, arm), residuals)
            {
                decisions.push(self.begin_trial(index, arm, reason, report));
            }
        }
    }

    /// Whether a trial may begin at a site while others go on or classes are suspected to have changed: enough of the
    /// other instances must show the state of the machine, or at least one where there are fewer. Before any
    /// does, only classes with stored models begin together.
    fn may_begin_beside(
        &self,
        (index, arm): (usize, usize),
        residuals: &BTreeMap<u64, Vec<Residual>>,
    ) -> bool {
        let is_doubtful = |at: usize| {
            let site = &self.sites[at];
            at != index && (site.trial.is_some() || site.is_suspected())
        };
        if !(0..self.sites.len()).any(is_doubtful) {
            return true;
        }
        let n_without = |is_left_out: &dyn Fn(usize) -> bool| {
            let is_other = |instance: &str| {
                let mut left_out = (0..self.sites.len()).filter(|at| is_left_out(*at));
                !left_out.any(|at| self.sites[at].is_answered_by(instance))
            };
            self.kinds.n_showing(residuals, is_other)
        };
        let n_others = n_without(&|at| at == index || is_doubtful(at));
        if n_others >= MIN_OTHERS {
            return true;
        }
        let n_now = n_without(&is_doubtful);
        let is_known = self.sites[index].is_known(arm);
        n_now < MIN_OTHERS && (n_others > 0 || (n_now == 0 && is_known))
    }

    /// Budget for a new trial: the running ones have their shares.
    fn left_to_new_s(&self) -> f64 {
        self.left_s() - self.shares_s().iter().sum::<f64>()
    }

    pub(super) fn begin_trial(
        &mut self,
        index: usize,
        arm: usize,
        reason: String,
        report: &Report<'_>,
    ) -> Decision {
        let site = &mut self.sites[index];
        let from = site.current;
        site.current = arm;
        if site.arms[arm].may_be_cold {
            site.beliefs.shift(arm, 0.0, 1.0);
        }
        site.arms[arm].trials += 1;
        site.trial = Some(Trial {
            from,
            began: report.step,
            calls: 0.0,
            excess_s: 0.0,
            is_admitted: Vec::new(),
            told: (0.0, f64::INFINITY),
            compared: self.work.before(),
            effect: Effect::default(),
        });
        self.decision(index, Act::Try, from, arm, reason, report)
    }

    /// Chooses the calls that each explored class gets until the next decision: those whose worst-case cost is within
    /// the trial's share of the budget.
    pub(super) fn admit(&mut self, steps: f64) {
        let shares_s = self.shares_s();
        for (site, may_lose_s) in self.sites.iter_mut().zip(shares_s) {
            let Some(from) = site.trial.as_ref().map(|trial| trial.from) else {
                continue;
            };
            let posterior = site.beliefs.posterior();
            let classes = [site.current, from];
            let most_s = limits::most_lost_s(site, &posterior, classes, FIRST_CALLS);
            let calls_a_step = site.calls.iter().map(|calls| calls / steps);
            let is_admitted = match site.is_limited {
                true => limits::borne(&most_s, calls_a_step, may_lose_s),
                false => vec![true; most_s.len()],
            };
            if let Some(trial) = &mut site.trial {
                trial.is_admitted = is_admitted;
            }
        }
    }

    /// Ends a trial that has a result, and reports changed levels.
    pub(super) fn settle(
        &mut self,
        index: usize,
        report: &Report<'_>,
        (seen, to_come): (&Seen, f64),
        decisions: &mut Vec<Decision>,
    ) {
        if let Some((arm, factor)) = seen.changed {
            let reason = format!("{factor:.2} times the time it took at equal parameters");
            decisions.push(self.decision(index, Act::Level, arm, arm, reason, report));
        }
        if let Some((arm, factor)) = seen.off_models {
            let reason = format!(
                "{factor:.3} times what its model predicts compared with that of {}: no model is believed here any more",
                self.sites[index].class(GIVEN)
            );
            decisions.push(self.decision(index, Act::Level, arm, arm, reason, report));
        }
        if seen.failed > 0 {
            self.drop_failed(index, report, seen, decisions);
            return;
        }
        let trial = self.sites[index].trial.clone();
        let Some(trial) = trial.filter(|_| !report.was_stopped) else {
            return;
        };
        let spent_s = self.spent_s();
        let site = &mut self.sites[index];
        let (arm, from) = (site.current, trial.from);
        let needed = site.needed(arm);
        let steps = (report.step - trial.began) as f64;
        let mut own = site.beliefs.ratio([arm, from], &site.lengths);
        own.deviation = own
            .deviation
            .hypot(site.states.variance_of_mean(steps).sqrt());
        let posterior = site.beliefs.posterior();
        let from_s = site.to_come_s(&posterior, from, 1.0);
        let instance = self.kinds.instance(&site.instance);
        let effect = trial.compared.effect(|other| Some(other) == instance);
        let believed = Whole::of(own, effect, from_s / report.step.max(1) as f64);
        let ratio = believed.middle.ln_mean.exp();
        if let Some(trial) = site.trial.as_mut() {
            trial.effect = effect;
        }
        site.arms[arm].beside = site.arms[from].beside + ratio - own.ln_mean.exp();
        let least = 1.0 - self.settings.hysteresis;
        let is_new = trial.calls >= 2.0 * trial.told.0;
        let middle = believed.middle;
        let variance = middle.deviation.powi(2);
        // Compare the value of perfect knowledge with the expected cost of doubling the calls.
        let saved = expected_saving(middle.ln_mean - least.ln(), middle.deviation);
        let a_call_s = from_s / site.calls.iter().sum::<f64>();
        let as_many_s = trial.calls * a_call_s * (ratio - 1.0).max(0.0);
        let is_worth_more = to_come * from_s * least * saved > as_many_s;
        let tells_nothing = is_new && variance > TOLD_NOTHING * trial.told.1;
        if let Some(trial) = site.trial.as_mut().filter(|_| is_new) {
            trial.told = (trial.calls.max(1.0), variance);
        }
        // One-sided bound at probability `SURE`, as a factor.
        let within = (Z_SURE * middle.deviation).exp();
        let others = match effect.probability > 0.5 {
            true => ", including the changed calls of others",
            false => "",
        };
        let after = format!(
            "{ratio:.3} times the time of {}{others}, within a factor {within:.2}, after {:.0} calls",
            site.class(from),
            trial.calls
        );
        if trial.calls > believed_after(site.arms[arm].trials)
            && believed.is_below(least) < 1.0 - SURE
        {
            self.end_trial(index, false, after, report, decisions);
        } else if trial.calls >= needed && ratio < least && believed.is_below(ONE_CLASS) >= SURE {
            self.end_trial(index, true, after, report, decisions);
        } else if trial.calls >= needed && (tells_nothing || !is_worth_more) {
            let reason = format!("{after}: more calls are not worth their cost");
            self.end_trial(index, false, reason, report, decisions);
        } else if !trial.is_admitted.is_empty() && !trial.is_admitted.contains(&true) {
            let reason = format!(
                "what is left bears no more of its calls, after {:.0}",
                trial.calls
            );
            self.end_trial(index, false, reason, report, decisions);
        } else if trial.excess_s > 0.0 && spent_s > self.budget_s {
            let reason = format!("the budget is spent after {:.0} calls", trial.calls);
            self.end_trial(index, false, reason, report, decisions);
        }
    }

    /// Ends all trials after calls were taken back inside a step, attributing the loss to the class that has lost
    /// most. The other classes remain to be explored.
    pub(super) fn stop_trials(&mut self, report: &Report<'_>, decisions: &mut Vec<Decision>) {
        let on_trial = (0..self.sites.len()).filter(|index| self.sites[*index].trial.is_some());
        let on_trial: Vec<usize> = on_trial.collect();
        let lost_s = |index: &usize| self.sites[*index].lost_s();
        let slowest = on_trial.iter().copied();
        let Some(slowest) = slowest.max_by(|a, b| lost_s(a).total_cmp(&lost_s(b))) else {
            return;
        };
        let instance = self.sites[slowest].instance.clone();
        for index in on_trial {
            let site = &mut self.sites[index];
            let (arm, Some(trial)) = (site.current, site.trial.clone()) else {
                continue;
            };
            if index != slowest {
                site.arms[arm].trials -= 1;
                let reason = format!("taken back with the class being explored at \"{instance}\"");
                self.end_trial(index, false, reason, report, decisions);
                self.sites[index].patience /= 2.0;
                continue;
            }
            let ratio = site.beliefs.ratio([arm, trial.from], &site.lengths);
            let believed = match site.beliefs.calls(arm) > FIRST_CALLS {
                true => format!(
                    "believed to take {:.1} times the time of {}",
                    ratio.ln_mean.exp(),
                    site.class(trial.from)
                ),
                // A library starts up in its first calls.
                false => {
                    site.beliefs.forget(arm);
                    "too few to believe".into()
                }
            };
            let reason = format!(
                "stopped inside a step, {:.4} s slower in {:.0} calls: {believed}",
                trial.excess_s, trial.calls
            );
            self.end_trial(index, false, reason, report, decisions);
        }
    }

    pub(super) fn end_trial(
        &mut self,
        index: usize,
        keep: bool,
        reason: String,
        report: &Report<'_>,
        decisions: &mut Vec<Decision>,
    ) {
        let site = &mut self.sites[index];
        let Some(trial) = site.trial.take() else {
            return;
        };
        site.account_s += trial.effect.expected_s() * (report.step - trial.began) as f64;
        let arm = site.current;
        site.arms[arm].tried_until = report.step;
        site.patience *= 2.0;
        let decision = match keep {
            true => self.decision(index, Act::Keep, arm, arm, reason, report),
            false => {
                site.current = trial.from;
                self.decision(index, Act::Back, arm, trial.from, reason, report)
            }
        };
        decisions.push(decision);
    }

    /// Brings the given class back at the site that has lost most, once all classes other than the given ones have
    /// together overdrawn the budget: no class is so surely faster that its cost needs no bound.
    pub(super) fn guard(&mut self, report: &Report<'_>, decisions: &mut Vec<Decision>) {
        let is_trying = self.sites.iter().any(|site| site.trial.is_some());
        if is_trying || self.account_s() <= self.budget_s {
            return;
        }
        let kept = (0..self.sites.len()).filter(|index| self.sites[*index].current != GIVEN);
        let lost_s = |index: usize| self.sites[index].account_s;
        let Some(worst) = kept.max_by(|a, b| lost_s(*a).total_cmp(&lost_s(*b))) else {
            return;
        };
        let site = &mut self.sites[worst];
        if site.account_s <= 0.0 || site.arms[GIVEN].refused.is_some() {
            return;
        }
        let reason = format!(
            "classes other than the given ones have cost {:.4} s, more than is allowed, most of it here",
            site.account_s
        );
        let arm = std::mem::replace(&mut site.current, GIVEN);
        site.arms[arm].trials += 1;
        decisions.push(self.decision(worst, Act::Back, arm, GIVEN, reason, report));
    }

    /// Replaces a class that failed: in a trial by the previous class, otherwise by the given one. Errors of the
    /// given class are the application's.
    pub(super) fn drop_failed(
        &mut self,
        index: usize,
        report: &Report<'_>,
        seen: &Seen,
        decisions: &mut Vec<Decision>,
    ) {
        let site = &mut self.sites[index];
        let failed = site.current;
        let calls = failed_calls(seen.failed);
        let before = site.trial.take().map_or(GIVEN, |trial| trial.from);
        if before == failed || site.arms[before].refused.is_some() {
            return;
        }
        site.arms[failed].refused = Some(calls.clone());
        site.current = before;
        decisions.push(self.decision(index, Act::Failed, failed, before, calls, report));
    }
}

/// Number of calls of a trial after which a class may count as slower; larger for a class that may have been cold.
fn believed_after(trials: u32) -> f64 {
    FIRST_CALLS * if trials == 2 { WARMED } else { 1.0 }
}

/// Estimated ratio of a class's time to another's: its own seconds and, with a probability, those of others' calls.
struct Whole {
    own: Ratio,
    with_others: Ratio,
    probability: f64,
    /// Normal approximation with the same mean and variance.
    middle: Ratio,
}

impl Whole {
    /// # Arguments
    /// * `of_other_s` - seconds per step of the class it is compared with
    fn of(own: Ratio, effect: Effect, of_other_s: f64) -> Self {
        let with_others = effect.with(own, of_other_s);
        let probability = effect.probability;
        let off = with_others.ln_mean - own.ln_mean;
        let variance = (1.0 - probability) * own.deviation.powi(2)
            + probability * with_others.deviation.powi(2)
            + probability * (1.0 - probability) * off * off;
        Whole {
            own,
            with_others,
            probability,
            middle: Ratio {
                ln_mean: own.ln_mean + probability * off,
                deviation: variance.sqrt(),
            },
        }
    }

    /// Probability that the ratio is below a number, > 0.
    fn is_below(&self, bound: f64) -> f64 {
        let [own, with_others] = [self.own, self.with_others].map(|ratio| ratio.is_below(bound));
        own + self.probability * (with_others - own)
    }
}

/// Expected result of replacing the present class.
struct Prospect {
    /// Mean ratio of the new class's time to that of the present class.
    ratio: f64,
    /// Standard deviation of the ratio's logarithm.
    deviation: f64,
    /// Expected saving over the calls to come, seconds.
    saved_s: f64,
}

impl Prospect {
    fn of(site: &Site, posterior: &Posterior, arm: usize, to_come: f64, least: f64) -> Self {
        let (mut seconds, mut ratios, mut deviations, mut saved) = (0.0, 0.0, 0.0, 0.0);
        let beside = site.arms[arm].beside - site.arms[site.current].beside;
        for (kind, calls) in site.lengths.iter().enumerate() {
            let current = posterior.ln_mean(site.current, kind);
            let own = (posterior.ln_mean(arm, kind) - current).exp();
            let ln_ratio = (own + beside).max(0.1 * own).ln();
            let variance = posterior.variance(arm, kind) + posterior.variance(site.current, kind);
            let weight = calls * current.exp();
            let deviation = variance.sqrt();
            seconds += weight;
            ratios += weight * (ln_ratio + variance.min(1.0) / 2.0).exp();
            deviations += weight * deviation;
            // A class that saves less than the hysteresis is not kept.
            let saving = expected_saving(ln_ratio - (1.0 - least).ln(), deviation);
            saved += weight * (1.0 - least) * saving;
        }
        Prospect {
            ratio: ratios / seconds,
            deviation: deviations / seconds,
            saved_s: to_come * saved,
        }
    }
}
