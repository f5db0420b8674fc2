//! The whole procedure over a table: both bases, trials of the cases, and how often and how far
//! they improve.
//!
//! A search for a correction is random, so a single one says little about the method or about its
//! case. The procedure fits the base formula twice, by squared and by relative residuals, starts
//! from the better one, and runs a search for each case and seed. The summary then answers two
//! different questions, with different points: how often a case helps is measured at the test
//! points, and which trial to use is decided by points held out of its own search. The test points
//! decide nothing, so their errors remain an honest measure.
//!
//! ```text
//! fit, squared and relative ─▶ base with the smaller relative error at the training points
//! base within 5 %           ─▶ end: good enough, no trials
//! else                      ─▶ 4 cases x 30 seeds, on all cores, each Accepted or Refused
//!                           ─▶ Summary of each case (test points), Report::best (held-out points)
//! ```
//!
//! A refused trial counts with the error of its base, and is neither better nor worse than it.
//! `control` is the error of interpolating the ratio of observed to calculated times, which needs
//! no search.

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use serde::Serialize;

use crate::case::Case;
use crate::control::Control;
use crate::correction::{Corrected, Outcome, Settings, correct, relative_error};
use crate::error::Error;
use crate::held_out::HeldOut;
use crate::semi_empirical::{Residuals, SemiEmpirical};
use crate::specification::Specification;
use crate::table::Table;

/// Errors of calculated times at the points for training and for testing.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Errors {
    /// Root mean square error at the training points, seconds.
    pub rmse_train: f64,
    /// Root mean square relative error there.
    pub rrmse_train: f64,
    /// Root mean square error at the test points, seconds; `None` without such points.
    pub rmse_test: Option<f64>,
    /// Root mean square relative error there.
    pub rrmse_test: Option<f64>,
}

impl Errors {
    /// Of the times that `calculate` gives for a table.
    pub fn of(train: &Table, test: &Table, calculate: impl Fn(&Table) -> Vec<f64>) -> Self {
        let error = |table: &Table, f: fn(&[f64], &[f64]) -> f64| {
            (!table.is_empty()).then(|| f(&table.observed, &calculate(table)))
        };
        Self {
            rmse_train: error(train, absolute_error).unwrap_or(0.0),
            rrmse_train: error(train, relative_error).unwrap_or(0.0),
            rmse_test: error(test, absolute_error),
            rrmse_test: error(test, relative_error),
        }
    }
}

/// Root mean square of the errors.
fn absolute_error(observed: &[f64], calculated: &[f64]) -> f64 {
    let pairs = observed.iter().zip(calculated);
    let squares: f64 = pairs.map(|(y, t)| (y - t).powi(2)).sum();
    (squares / observed.len() as f64).sqrt()
}

/// One trial of one case: the outcome of a search with one seed, and the errors of the model that it
/// returns.
#[derive(Debug, Clone)]
pub struct Trial {
    /// The case.
    pub case: Case,
    /// Its seed.
    pub seed: u64,
    /// Its outcome.
    pub outcome: Outcome,
    /// Errors of the returned model: the corrected one, or the base if the correction is refused.
    pub errors: Errors,
}

impl Trial {
    /// The corrected model, if it was accepted.
    pub fn corrected(&self) -> Option<&Corrected> {
        match &self.outcome {
            Outcome::Accepted(corrected) => Some(corrected.as_ref()),
            Outcome::Refused(_) => None,
        }
    }
}

/// How often and how far the trials of a case improve on a base at the test points, by relative errors.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Improvement {
    /// Trials that do, per cent.
    pub better_percent: f64,
    /// Trials whose error is more than 5 % larger, per cent.
    pub worse_percent: f64,
    /// Median reduction of the error, per cent.
    pub median_reduction_percent: f64,
    /// Greatest reduction, per cent.
    pub best_reduction_percent: f64,
}

/// The trials of a case together: how many were accepted, and how often and how far they improve on
/// either base.
#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    /// The case.
    pub case: Case,
    /// Trials.
    pub trials: usize,
    /// Trials whose term was accepted.
    pub accepted: usize,
    /// Against the base that was chosen; the others are against either.
    #[serde(flatten)]
    pub chosen: Option<Improvement>,
    /// Against the base of squared residuals.
    pub against_squared: Option<Improvement>,
    /// Against the base of relative residuals.
    pub against_relative: Option<Improvement>,
}

/// Settings of a procedure: which cases are tried, how often, and up to which error a base needs no
/// correction.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Cases to try.
    pub cases: Vec<Case>,
    /// Trials of each.
    pub n_trials: usize,
    /// Seed of the first trial; the others follow.
    pub seed: u64,
    /// Relative error of the base at the training points up to which it is good enough, and no trial is made.
    pub good_enough: f64,
    /// Of each trial.
    pub settings: Settings,
}

impl Default for Plan {
    /// The paper's thirty trials of all four cases; a base is good enough at 5 %.
    fn default() -> Self {
        Self {
            cases: Case::ALL.to_vec(),
            n_trials: 30,
            seed: 1,
            good_enough: 0.05,
            settings: Settings::default(),
        }
    }
}

/// Results of the procedure: both bases with their errors, all trials, their summary by case, and a
/// control without a search.
#[derive(Debug, Clone)]
pub struct Report {
    /// Fitted to squared residuals.
    pub squared: (SemiEmpirical, Errors),
    /// Fitted to relative residuals; `None` where an observation is not positive.
    pub relative: Option<(SemiEmpirical, Errors)>,
    /// The base that is better at the training points by relative error.
    pub chosen: Residuals,
    /// The base is good enough, and there are no trials.
    pub is_good_enough: bool,
    /// By case, then seed.
    pub trials: Vec<Trial>,
    /// By case; without test points only the counts.
    pub summary: Vec<Summary>,
    /// Relative error at the test points of interpolating the ratio to the base, without any search.
    pub control: Option<f64>,
}

impl Report {
    /// The base that corrections start from.
    pub fn base(&self) -> &(SemiEmpirical, Errors) {
        match &self.relative {
            Some(relative) if self.chosen == Residuals::Relative => relative,
            _ => &self.squared,
        }
    }

    /// The accepted trial with the least relative error at training points held out of its search; test points do not
    /// affect the choice.
    pub fn best(&self) -> Option<&Trial> {
        self.best_of(|_| true)
    }

    /// The same of a case.
    pub fn best_of_case(&self, case: Case) -> Option<&Trial> {
        self.best_of(|trial| trial.case == case)
    }

    fn best_of(&self, is_asked: impl Fn(&Trial) -> bool) -> Option<&Trial> {
        let held_out = |trial: &Trial| trial.corrected()?.held_out().map(HeldOut::error);
        let asked = self.trials.iter().filter(|trial| is_asked(trial));
        let judged = asked.filter_map(|trial| Some((held_out(trial)?, trial)));
        let best = judged.min_by(|(a, _), (b, _)| a.total_cmp(b));
        best.map(|(_, trial)| trial)
    }
}

/// Fits, and corrects where the fit is not good enough: the paper's Figure 4.
///
/// Trials run on all cores; each depends on its seed alone.
///
/// # Arguments
/// * `progress` - called with the share of all trials done, from any thread
///
/// # Errors
/// The errors of [`SemiEmpirical::fit`]. A failure with relative residuals is an error only if a correction, which
/// uses them, is needed.
pub fn procedure(
    specification: &Specification,
    table: &Table,
    plan: &Plan,
    progress: &(dyn Fn(f64) + Sync),
) -> Result<Report, Error> {
    let (train, test) = (table.part(true), table.part(false));
    let fit = |residuals| -> Result<(SemiEmpirical, Errors), Error> {
        let base = SemiEmpirical::fit(specification, &train, residuals)?;
        let errors = Errors::of(&train, &test, |t| specification.evaluate(t, &base.values));
        Ok((base, errors))
    };
    let squared = fit(Residuals::Squared)?;
    let relative = fit(Residuals::Relative);
    let chosen = match &relative {
        Ok((_, errors)) if errors.rrmse_train <= squared.1.rrmse_train => Residuals::Relative,
        _ => Residuals::Squared,
    };
    let base_error = match &relative {
        Ok((_, errors)) => errors.rrmse_train.min(squared.1.rrmse_train),
        Err(_) => f64::INFINITY,
    };
    let is_good_enough = base_error <= plan.good_enough;
    // Relative residuals need positive times; only a correction needs relative residuals.
    let relative = match relative {
        Ok(relative) => Some(relative),
        Err(error) if !is_good_enough => return Err(error),
        Err(_) => None,
    };
    let mut report = Report {
        squared,
        relative,
        chosen,
        is_good_enough,
        trials: Vec::new(),
        summary: Vec::new(),
        control: None,
    };
    let base = report.base().0.clone();
    if !test.is_empty() {
        let times = |table: &Table| specification.evaluate(table, &base.values);
        let control = Control::new(&train, &times(&train));
        let calculated = control.map(|c| c.predict(&test, &times(&test)));
        report.control = calculated.map(|t| relative_error(&test.observed, &t));
    }
    if !is_good_enough {
        report.trials = trials(specification, (&train, &test), &base, plan, progress)?;
        let summary = plan.cases.iter().map(|case| summarise(&report, *case));
        report.summary = summary.collect();
    }
    Ok(report)
}

fn trials(
    specification: &Specification,
    (train, test): (&Table, &Table),
    base: &SemiEmpirical,
    plan: &Plan,
    progress: &(dyn Fn(f64) + Sync),
) -> Result<Vec<Trial>, Error> {
    let seeds = (0..plan.n_trials as u64).map(|k| plan.seed.wrapping_add(k));
    let seeds: Vec<u64> = seeds.collect();
    let jobs = plan
        .cases
        .iter()
        .flat_map(|case| seeds.iter().map(move |seed| (*case, *seed)));
    let jobs: Vec<(Case, u64)> = jobs.collect();
    let n_done = AtomicUsize::new(0);
    let trial = |(case, seed): &(Case, u64)| -> Result<Trial, Error> {
        let outcome = correct(specification, train, base, *case, *seed, &plan.settings)?;
        let errors = Errors::of(train, test, |table| match &outcome {
            Outcome::Accepted(corrected) => corrected.predict(specification, table),
            Outcome::Refused(_) => specification.evaluate(table, &base.values),
        });
        let done = 1 + n_done.fetch_add(1, Ordering::Relaxed);
        progress(done as f64 / jobs.len() as f64);
        Ok(Trial {
            case: *case,
            seed: *seed,
            outcome,
            errors,
        })
    };
    jobs.par_iter().map(trial).collect()
}

fn summarise(report: &Report, case: Case) -> Summary {
    let trials: Vec<&Trial> = report.trials.iter().filter(|t| t.case == case).collect();
    let against = |errors: &Errors| improvement(&trials, errors.rrmse_test?);
    let accepted = trials.iter().filter(|t| t.corrected().is_some());
    Summary {
        case,
        trials: trials.len(),
        accepted: accepted.count(),
        chosen: against(&report.base().1),
        against_squared: against(&report.squared.1),
        against_relative: report.relative.as_ref().and_then(|(_, e)| against(e)),
    }
}

fn improvement(trials: &[&Trial], base: f64) -> Option<Improvement> {
    let errors = trials.iter().map(|trial| trial.errors.rrmse_test);
    let errors: Vec<f64> = errors.collect::<Option<_>>()?;
    if errors.is_empty() {
        return None;
    }
    let share = |is: &dyn Fn(f64) -> bool| {
        100.0 * errors.iter().filter(|e| is(**e)).count() as f64 / errors.len() as f64
    };
    // Per trial, relative to the base: positive where the error has become smaller.
    let mut reductions: Vec<f64> = errors.iter().map(|e| 100.0 * (1.0 - e / base)).collect();
    reductions.sort_by(f64::total_cmp);
    let n = reductions.len();
    Some(Improvement {
        better_percent: share(&|e| e < base),
        worse_percent: share(&|e| e > 1.05 * base),
        median_reduction_percent: 0.5 * (reductions[(n - 1) / 2] + reductions[n / 2]),
        best_reduction_percent: reductions[n - 1],
    })
}
