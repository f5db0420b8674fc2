//! Trials: which class is tried next, which calls it gets, and what ends it.

use super::belief::{Posterior, expected_saving};
use super::kinds::MOST_USUAL;
use super::limits;
use super::site::{GIVEN, Seen, Site, Trial, failed_calls};
use super::{Act, Adapter, Decision, Report, TO_A_TRIAL};

/// Trials beyond which no class is tried again.
const MOST_TRIALS: u32 = 20;

/// Calls of a class that are paid for and not believed where they alone have stopped a trial: libraries start up in them.
///
/// Arbitrary: one is enough where a library plans or starts threads in its first call; three leave room for one at each of a few sizes.
const FIRST_CALLS: f64 = 3.0;

/// Probability that a class is faster, or is not, at which a trial ends: one keep in twenty is wrong, and the budget bounds what that costs.
const SURE: f64 = 0.95;

/// Ratio of times down to which two classes count as one. Arbitrary: a hundredth of a run is no reason to change it.
const ONE_CLASS: f64 = 0.99;

/// Standard deviations above the mean below which a normal number is with the probability [`SURE`].
const Z_SURE: f64 = 1.645;

/// A trial ends where twice the calls have left more than this part of the variance of what is not known. Arbitrary: as long as calls
/// tell anything their own spread counts half as much each time, and far less than this is left.
const TOLD_NOTHING: f64 = 0.9;

impl Adapter {
    /// The class that is best tried at a site: seconds won, the class, why.
    pub(super) fn worth_trying(
        &mut self,
        index: usize,
        to_come: f64,
        report: &Report<'_>,
    ) -> Option<(f64, usize, String)> {
        let steps = report.step.max(1) as f64;
        let settings = self.settings;
        let left_s = self.budget_s - self.spent_s;
        let site = &mut self.sites[index];
        if site.dispatched.is_some() {
            return None;
        }
        let current = site.current;
        if site.beliefs.calls(current) < site.needed.min(MOST_USUAL) {
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
            // What was tried and went must have become better, or the present one worse, or not be known yet.
            let least = expected.ratio * (-expected.deviation).exp();
            if tried.trials > 0 && least > 1.0 - 2.0 * settings.hysteresis {
                continue;
            }
            // More calls than are to come tell nothing in time.
            let most_s = limits::most_lost_s(site, &posterior, [arm, current], FIRST_CALLS);
            let calls_a_step = site.calls.iter().map(|calls| calls / steps);
            let is_borne = match site.is_limited {
                true => limits::borne(&most_s, calls_a_step, TO_A_TRIAL * left_s),
                false => vec![true; most_s.len()],
            };
            let borne = site.calls.iter().zip(is_borne);
            let n_borne: f64 = borne.filter(|(_, is)| *is).map(|(calls, _)| calls).sum();
            if site.needed > 0.5 * n_borne * to_come {
                site.arms[arm].is_unborne = n_borne == 0.0;
                continue;
            }
            site.arms[arm].is_unborne = false;
            let trial_s = site.needed * a_call_s * (expected.ratio - 1.0).max(0.0);
            let again = f64::from(site.arms[arm].trials).exp2();
            let swaps_s = 2.0 * settings.swap_s * f64::from(report.ranks);
            let cost_s = again * (trial_s + swaps_s);
            let gain_s = expected.saved_s - cost_s;
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
            let saved_s = expected.saved_s;
            let reason = format!(
                "{known}; of {current_s:.3} s to come {saved_s:.3} s may be saved, at a cost of {cost_s:.4} s"
            );
            best = Some((gain_s, arm, reason));
        }
        best
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
        site.arms[arm].trials += 1;
        site.trial = Some(Trial {
            from,
            began: report.step,
            calls: 0.0,
            excess_s: 0.0,
            is_admitted: Vec::new(),
            told: (0.0, f64::INFINITY),
        });
        self.decision(index, Act::Try, from, arm, reason, report)
    }

    /// Which kinds of calls the class on trial gets from now on: those of which one costs no more than what may be lost until it is decided
    /// again.
    pub(super) fn admit(&mut self, steps: f64) {
        let may_lose_s = self.may_lose_s();
        let trials = self.sites.iter_mut().filter(|site| site.trial.is_some());
        for (site, may_lose_s) in trials.zip(may_lose_s) {
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

    /// Ends a trial that has told enough, and takes note of what has changed.
    pub(super) fn settle(
        &mut self,
        index: usize,
        report: &Report<'_>,
        (seen, to_come): (&Seen, f64),
        decisions: &mut Vec<Decision>,
    ) {
        if let Some((arm, factor)) = seen.changed {
            let reason = format!(
                "{factor:.2} times the time it took at equal parameters, over two times {} calls",
                self.settings.least_calls
            );
            decisions.push(self.decision(index, Act::Level, arm, arm, reason, report));
        }
        if seen.failed > 0 {
            self.drop_failed(index, report, seen, decisions);
            return;
        }
        let Some(trial) = self.sites[index].trial.clone() else {
            return;
        };
        let spent_s = self.spent_s + trial.excess_s.max(0.0);
        let site = &mut self.sites[index];
        let (arm, from) = (site.current, trial.from);
        let believed = site.beliefs.ratio([arm, from], &site.lengths);
        let ratio = believed.ln_mean.exp();
        let least = 1.0 - self.settings.hysteresis;
        let is_new = trial.calls >= 2.0 * trial.told.0;
        let variance = believed.deviation.powi(2);
        // What is known then against what as many calls again are expected to cost.
        let posterior = site.beliefs.posterior();
        let from_s = site.to_come_s(&posterior, from, 1.0);
        let saved = expected_saving(believed.ln_mean - least.ln(), believed.deviation);
        let a_call_s = from_s / site.calls.iter().sum::<f64>();
        let as_many_s = trial.calls * a_call_s * (ratio - 1.0).max(0.0);
        // Where it gets all calls they have told of all kinds, and a second trial is twice as long.
        let gets_all = trial.is_admitted.iter().all(|is_admitted| *is_admitted);
        let is_worth_more = to_come * from_s * least * saved > as_many_s;
        let tells_nothing = is_new && variance > TOLD_NOTHING * trial.told.1;
        if let Some(trial) = site.trial.as_mut().filter(|_| is_new) {
            trial.told = (trial.calls.max(1.0), variance);
        }
        // At both ends of what is believed with that probability.
        let within = (Z_SURE * believed.deviation).exp();
        let after = format!(
            "{ratio:.3} times the time of {}, within a factor {within:.2}, after {} calls",
            site.class(from),
            trial.calls
        );
        if report.was_stopped {
            let calls = site.beliefs.calls(arm);
            let believed = match calls > FIRST_CALLS {
                true => format!(
                    "believed to take {ratio:.1} times the time of {}",
                    site.class(from)
                ),
                // A library that is called for the first time starts up.
                false => {
                    site.beliefs.forget(arm);
                    "too few to believe".into()
                }
            };
            let excess_s = trial.excess_s;
            let reason = format!(
                "stopped inside a step, {excess_s:.4} s slower in {} calls: {believed}",
                trial.calls
            );
            self.end_trial(index, false, reason, report, decisions);
        } else if trial.calls > FIRST_CALLS && believed.is_below(least) < 1.0 - SURE {
            self.end_trial(index, false, after, report, decisions);
        } else if trial.calls >= site.needed
            && ratio < least
            && believed.is_below(ONE_CLASS) >= SURE
        {
            self.end_trial(index, true, after, report, decisions);
        } else if trial.calls >= site.needed && (gets_all || tells_nothing || !is_worth_more) {
            let reason = format!("{after}: more calls are not worth their cost");
            self.end_trial(index, false, reason, report, decisions);
        } else if !trial.is_admitted.is_empty() && !trial.is_admitted.contains(&true) {
            let reason = format!(
                "what is left bears no more of its calls, after {}",
                trial.calls
            );
            self.end_trial(index, false, reason, report, decisions);
        } else if trial.excess_s > 0.0 && spent_s > self.budget_s {
            let reason = format!("the budget is spent after {} calls", trial.calls);
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
        self.spent_s += trial.excess_s.max(0.0);
        let arm = site.current;
        site.needed *= 2.0;
        let decision = match keep {
            true => self.decision(index, Act::Keep, arm, arm, reason, report),
            false => {
                site.current = trial.from;
                self.decision(index, Act::Back, arm, trial.from, reason, report)
            }
        };
        decisions.push(decision);
    }

    /// The class before one that failed on trial comes back, or the given one in the place of one that was kept: errors of the given class
    /// are the application's.
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

/// What another class is expected to bring.
struct Prospect {
    /// Mean ratio of its time to that of the present one.
    ratio: f64,
    /// Standard deviation of the ratio's logarithm.
    deviation: f64,
    /// Seconds, of those to come.
    saved_s: f64,
}

impl Prospect {
    fn of(site: &Site, posterior: &Posterior, arm: usize, to_come: f64, least: f64) -> Self {
        let (mut seconds, mut ratios, mut deviations, mut saved) = (0.0, 0.0, 0.0, 0.0);
        for (kind, calls) in site.lengths.iter().enumerate() {
            let current = posterior.ln_mean(site.current, kind);
            let ln_ratio = posterior.ln_mean(arm, kind) - current;
            let variance = posterior.variance(arm, kind) + posterior.variance(site.current, kind);
            let weight = calls * current.exp();
            let deviation = variance.sqrt();
            seconds += weight;
            ratios += weight * (ln_ratio + variance.min(1.0) / 2.0).exp();
            deviations += weight * deviation;
            // What saves less than the hysteresis is not kept.
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
