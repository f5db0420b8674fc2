//! Estimates what a class changes in the calls of other instances: their number and their arguments.
//!
//! A class that is faster itself may slow down later calls: a coarser compression leaves more to check. So the work
//! of each other instance, in seconds of one class whichever answers, is compared between the steps of a trial and
//! those before it:
//!
//! ```text
//! d = mean in the trial − mean before        se² = v (1/n + 1/n')        v: spread from step to step, pooled
//! no effect     d ~ t(0, se², ν)             with probability 1 − p₀     ν: number of reports − 2
//! an effect     d ~ t(0, se² + τ², ν)        with probability p₀, τ half of the work before
//! ```
//!
//! The estimate for the whole is a mixture of both: a few steps of a trial say nothing about others' calls and delay
//! no decision. The spread of a few reports is hardly known, so a normal distribution would find effects where one
//! report has more work than others.
//!
//! # Source
//! T. J. Mitchell, J. J. Beauchamp, *Bayesian variable selection in linear regression*, J. Am. Stat. Assoc. 83
//! (1988): spike and slab. M. Gönen, W. O. Johnson, Y. Lu, P. H. Westfall, *The Bayesian two-sample t test*,
//! Am. Stat. 59 (2005): the odds.

use std::collections::VecDeque;

use super::posterior::{Ratio, rectified};

/// Prior probability that a class changes the calls of one other instance. Arbitrary: few edges of an assembly do.
const EFFECTS: f64 = 0.02;

/// Standard deviation of such a change, relative to the work.
const EFFECT: f64 = 0.5;

/// Relative error of the estimated work: smaller changes do not count.
const OFF: f64 = 0.02;

/// Number of latest reports that represent the work before a trial. Arbitrary: the work of a run changes over time.
const BEFORE: usize = 32;

/// Minimum number of reports, before a trial and in it together, for their spread to be known.
const LEAST: f64 = 6.0;

/// Work of one instance in several reports.
#[derive(Debug, Clone, Copy, Default)]
struct Mean {
    reports: f64,
    steps: f64,
    /// Seconds per step.
    mean_s: f64,
    /// Sum of squared deviations, by steps.
    squares: f64,
}

impl Mean {
    fn add(&mut self, steps: f64, seconds: f64) {
        self.reports += 1.0;
        self.steps += steps;
        let off = seconds - self.mean_s;
        self.mean_s += off * steps / self.steps;
        self.squares += steps * off * (seconds - self.mean_s);
    }
}

/// Recent work of all instances, by their numbers.
#[derive(Debug, Clone, Default)]
pub struct Work {
    /// Number of steps and seconds per step of each report.
    latest: Vec<VecDeque<(f64, f64)>>,
}

impl Work {
    /// Takes in a report.
    ///
    /// # Arguments
    /// * `seconds` - work of each instance, 0 for none
    pub fn add(&mut self, steps: f64, seconds: &[f64]) {
        self.latest.resize(seconds.len(), VecDeque::new());
        for (latest, seconds) in self.latest.iter_mut().zip(seconds) {
            latest.push_back((steps, seconds / steps));
            if latest.len() > BEFORE {
                latest.pop_front();
            }
        }
    }

    /// The work so far, to compare a beginning trial with.
    pub fn before(&self) -> Compared {
        let means = self.latest.iter().map(|latest| {
            let mut mean = Mean::default();
            latest.iter().for_each(|(steps, s)| mean.add(*steps, *s));
            (mean, Mean::default())
        });
        Compared {
            instances: means.collect(),
        }
    }
}

/// Work before a trial and in it, by the instances' numbers.
#[derive(Debug, Clone, Default)]
pub struct Compared {
    instances: Vec<(Mean, Mean)>,
}

/// Effect of a class on the work of other instances.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Effect {
    /// Probability of any effect.
    pub probability: f64,
    /// Change of the work if there is an effect, seconds per step, and its standard deviation.
    pub changed_s: f64,
    pub deviation_s: f64,
}

impl Compared {
    /// Takes in a report of the trial.
    pub fn add(&mut self, steps: f64, seconds: &[f64]) {
        for ((_, during), seconds) in self.instances.iter_mut().zip(seconds) {
            during.add(steps, seconds / steps);
        }
    }

    /// # Arguments
    /// * `own` - whether an instance, given by its number, is the one of the trial
    pub fn effect(&self, own: impl Fn(usize) -> bool) -> Effect {
        let (mut none, mut changed_s, mut variance) = (1.0, 0.0, 0.0);
        let others = self.instances.iter().enumerate();
        for (_, (before, during)) in others.filter(|(instance, _)| !own(*instance)) {
            let reports = before.reports + during.reports;
            if reports < LEAST || during.reports == 0.0 || before.mean_s <= 0.0 {
                continue;
            }
            let off = OFF * before.mean_s;
            let freedom = reports - 2.0;
            let spread = (before.squares + during.squares) / freedom;
            let error = spread * (1.0 / before.steps + 1.0 / during.steps) + off * off;
            let slab = (EFFECT * before.mean_s).powi(2);
            let difference = during.mean_s - before.mean_s;
            let both = error + slab;
            let ln_tail = |variance: f64| (difference * difference / variance / freedom).ln_1p();
            let ln_odds = 0.5 * (error / both).ln()
                + 0.5 * (freedom + 1.0) * (ln_tail(error) - ln_tail(both))
                + (EFFECTS / (1.0 - EFFECTS)).ln();
            let probability = 1.0 / (1.0 + (-ln_odds).exp());
            none *= 1.0 - probability;
            changed_s += probability * difference * slab / both;
            variance += probability * slab * error / both;
        }
        let probability = 1.0 - none;
        if probability <= 0.0 {
            return Effect::default();
        }
        Effect {
            probability,
            changed_s: changed_s / probability,
            deviation_s: (variance / probability).sqrt(),
        }
    }
}

impl Effect {
    /// Expected change, seconds per step.
    pub fn expected_s(&self) -> f64 {
        self.probability * self.changed_s
    }

    /// Ratio of the seconds of a class to those of another one, including the change in the calls of others if there
    /// is an effect: the log-normal ratio with the mean and variance of their normal sum, which is at least 0.
    ///
    /// # Arguments
    /// * `own` - ratio of their own seconds
    /// * `of_other_s` - seconds per step of the other class
    pub fn with(&self, own: Ratio, of_other_s: f64) -> Ratio {
        let own_ratio = own.ln_mean.exp();
        let deviations = [own.deviation * own_ratio, self.deviation_s / of_other_s];
        let deviation = deviations[0].hypot(deviations[1]);
        let (mean, square) = rectified(own_ratio + self.changed_s / of_other_s, deviation);
        let mean = mean.max(LEAST_RATIO);
        let variance = (square / (mean * mean)).max(1.0).ln();
        Ratio {
            ln_mean: mean.ln() - variance / 2.0,
            deviation: variance.sqrt(),
        }
    }
}

/// Lower bound of a ratio, for others that surely save more than the whole time of the class.
const LEAST_RATIO: f64 = 1e-3;

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(during: impl Fn(f64) -> f64, n: u32) -> Effect {
        let mut rng = fastrand::Rng::with_seed(3);
        let mut noisy = |mean: f64| mean * (0.4 * (rng.f64() - 0.5)).exp();
        let mut work = Work::default();
        for _ in 0..20 {
            work.add(1.0, &[1.0, noisy(2.0), noisy(1.0)]);
        }
        let mut compared = work.before();
        for _ in 0..n {
            compared.add(1.0, &[9.0, noisy(during(2.0)), noisy(1.0)]);
        }
        compared.effect(|instance| instance == 0)
    }

    #[test]
    fn what_changes_others_is_found_and_nothing_else() {
        let none = compared(|s| s, 8);
        assert!(
            none.probability < 0.06 && none.expected_s().abs() < 0.01,
            "{none:?}"
        );
        let doubled = compared(|s| 2.0 * s, 4);
        assert!(doubled.probability > 0.99, "{doubled:?}");
        assert!((doubled.changed_s - 2.0).abs() < 0.6, "{doubled:?}");
        assert_eq!(compared(|s| 2.0 * s, 0), Effect::default());
    }

    /// Few reports with a large spread: one has far more work than the others.
    #[test]
    fn one_report_with_more_work_is_no_effect() {
        let mut rng = fastrand::Rng::with_seed(5);
        let mut heavy = || (6.0 * (rng.f64() - 0.5)).exp();
        let mut n_found = 0;
        for _ in 0..400 {
            let mut work = Work::default();
            (0..6).for_each(|_| work.add(1.0, &[1.0, heavy()]));
            let mut compared = work.before();
            compared.add(1.0, &[1.0, heavy()]);
            n_found += u32::from(compared.effect(|of| of == 0).probability > 0.5);
        }
        assert!(n_found <= 4, "{n_found}");
    }

    #[test]
    fn an_uncertain_saving_of_others_keeps_the_ratio_finite() {
        let own = Ratio {
            ln_mean: 0.0,
            deviation: 0.1,
        };
        let saving = Effect {
            probability: 1.0,
            changed_s: -3.0,
            deviation_s: 1.0,
        };
        let ratio = saving.with(own, 2.0);
        assert!(ratio.deviation < 3.0, "{ratio:?}");
        assert!(ratio.is_below(1.0) > 0.95, "{ratio:?}");
    }

    #[test]
    fn a_faster_class_that_makes_others_slower_is_slower() {
        let own = Ratio {
            ln_mean: 0.7_f64.ln(),
            deviation: 0.02,
        };
        let doubled = compared(|s| 2.0 * s, 4);
        let both = doubled.with(own, 2.0);
        assert!((both.ln_mean.exp() - 1.7).abs() < 0.3, "{both:?}");
    }
}
