//! Whether the best assembly is distinguished from the next one.
//!
//! The deciding figure is the precision of the means over runs ([`RunSpread`](crate::RunSpread)). The calls of one run
//! share its state, so their spread within a run would distinguish even two copies of one class. The errors of models,
//! of interactions, and of the mean calls that depend on a differing class are added. If no class was run twice, the
//! precision is unknown, unless earlier runs show how much runs differ.

use super::outcome::Doubt;
use super::{ChooseOptions, Composition};
use crate::optimise::{Found, compare_assemblies};
use crate::run_spread::{MeanVariance, Part};

/// A difference below this share of the time of the differing instances is ignored: formulas fitted to the same times
/// at other sizes differ by as much. Source: a study of synthetic assemblies, whose totals were predicted to 1.2 % on
/// average from 75 runs.
const LEAST_DIFFERENCE: f64 = 0.01;

/// A site whose time differs between the two assemblies.
struct Differing<'a> {
    site: usize,
    parts: [Part<'a>; 2],
    /// Variance of the difference from all sources except the means over runs, seconds squared.
    others_s2: f64,
}

impl Composition<'_> {
    /// Compares the best assembly with another one.
    pub(super) fn doubt(&self, best: &Found, next: &Found, options: &ChooseOptions) -> Doubt {
        let sites = 0..self.instances.len();
        let differing = sites.filter_map(|site| self.differing(site, best, next, options));
        let differing: Vec<Differing<'_>> = differing.collect();
        let parts: Vec<Part<'_>> = differing.iter().flat_map(|at| at.parts).collect();
        let of_runs = of_runs(&parts, options);
        let others_s2: f64 = differing.iter().map(|at| at.others_s2).sum();
        let (variance_s2, freedom) = match of_runs {
            Some(of_runs) => {
                let whole_s2 = of_runs.variance_s2 + others_s2;
                // Degrees of freedom by Satterthwaite, with the other variances taken as exactly known.
                let share = of_runs.variance_s2 / whole_s2;
                (whole_s2, of_runs.freedom / (share * share))
            }
            None => (f64::INFINITY, f64::INFINITY),
        };
        let comparison = compare_assemblies(next.cost - best.cost, variance_s2.sqrt(), freedom);
        let seconds_s: f64 = differing.iter().map(|at| at.parts[1].seconds).sum();
        let is_large = comparison.difference.abs() >= LEAST_DIFFERENCE * seconds_s;
        let variance_of = |at: &Differing<'_>| {
            let of_runs = self::of_runs(&at.parts, options).map_or(0.0, |of| of.variance_s2);
            of_runs + at.others_s2
        };
        let most = differing.iter().map(|at| (at.site, variance_of(at)));
        let most = most.max_by(|a, b| a.1.total_cmp(&b.1));
        let run = most.filter(|_| variance_s2 > 0.0).map(|(site, _)| {
            let class = |found: &Found| self.classes[site][found.choice[site]].to_owned();
            (self.instances[site].to_owned(), [class(best), class(next)])
        });
        Doubt {
            told_apart: comparison.is_told(mastermind_models::LEVEL) && is_large,
            spread_known: of_runs.is_some(),
            models_deviation: others_s2.sqrt(),
            comparison,
            run,
        }
    }

    /// The times of a site in two assemblies; None where they are equal.
    fn differing<'s>(
        &'s self,
        site: usize,
        best: &Found,
        next: &Found,
        options: &ChooseOptions,
    ) -> Option<Differing<'s>> {
        let part = |found: &Found, sign: f64| {
            let predicted = self.predicted(site, &found.choice);
            Part {
                instance: self.instances[site],
                class: self.classes[site][found.choice[site]],
                seconds: sign * predicted.map_or(0.0, |predicted| predicted.time_s),
            }
        };
        let parts = [part(best, -1.0), part(next, 1.0)];
        let [first, second] = &parts;
        if first.class == second.class && first.seconds + second.seconds == 0.0 {
            return None;
        }
        let others_s2 = self.models_s2(site, best, next, options)
            + self.calls_s2(site, &parts, best, next, options)
            + self.together_s2(site, best, next, options);
        Some(Differing {
            site,
            parts,
            others_s2,
        })
    }

    /// Variance from the errors of a site's models, seconds squared. If both assemblies have the same class, its error
    /// cancels except for the part that belongs to the difference in time.
    fn models_s2(&self, site: usize, best: &Found, next: &Found, options: &ChooseOptions) -> f64 {
        let predicted = [best, next].map(|found| self.predicted(site, &found.choice));
        let spread = options.run_spread.as_ref();
        let is_levelled = |found: &Found| {
            let class = self.classes[site][found.choice[site]];
            spread.is_some_and(|spread| spread.knows(self.instances[site], class))
        };
        let levelled = [best, next].map(is_levelled);
        // The means over runs already contain the scatter of a fit, so within the measured sizes it is not added again.
        let variance_s2 = |of: usize| match predicted[of] {
            Some(predicted) if predicted.extrapolated || !levelled[of] => {
                predicted.uncertainty.variance_s2()
            }
            _ => 0.0,
        };
        match predicted {
            [Some(a), Some(b)] if best.choice[site] == next.choice[site] => match a.time_s > 0.0 {
                true => variance_s2(0) * (b.time_s / a.time_s - 1.0).powi(2),
                false => variance_s2(1),
            },
            _ => variance_s2(0) + variance_s2(1),
        }
    }

    /// Variance from the mean calls of a site, which each run draws anew, seconds squared. Equal calls in both
    /// assemblies have the same error.
    fn calls_s2(
        &self,
        site: usize,
        parts: &[Part<'_>; 2],
        best: &Found,
        next: &Found,
        options: &ChooseOptions,
    ) -> f64 {
        let pattern = options.patterns.as_ref();
        let Some(pattern) = pattern.and_then(|patterns| patterns.get(self.instances[site])) else {
            return 0.0;
        };
        let classes = |found: &Found| -> Vec<&str> {
            let all = self.instances.iter().zip(&self.classes).zip(&found.choice);
            let class = |name: &String| {
                let mut all = all.clone();
                let at = all.find(|((instance, _), _)| *instance == name);
                at.map_or("", |((_, classes), c)| classes[*c])
            };
            pattern.neighbours.iter().map(class).collect()
        };
        let [first, second] = [best, next].map(classes);
        let [of_first, of_second] = [&first, &second].map(|at| pattern.mean_variance(at));
        let [a, b] = parts.map(|part| part.seconds);
        match first == second {
            true => (a + b).powi(2) * of_first,
            false => a * a * of_first + b * b * of_second,
        }
    }

    /// Variance from the interactions of a site with its neighbours, seconds squared: those that runs show, and those
    /// of unseen pairs.
    fn together_s2(&self, site: usize, best: &Found, next: &Found, options: &ChooseOptions) -> f64 {
        let is_in_one = |sites: &[(usize, usize); 2]| {
            let is_in = |found: &Found| sites.iter().all(|(site, c)| found.choice[*site] == *c);
            is_in(best) != is_in(next)
        };
        let spread = options.run_spread.as_ref();
        let spread = spread.and_then(|spread| spread.of_instance(self.instances[site]));
        let own = self.together.iter().filter(|at| at.sites[0].0 == site);
        let own = own.filter(|at| is_in_one(&at.sites));
        let seen_s2: f64 = own.map(|at| at.mean_s * at.mean_s / at.runs as f64).sum();
        let seen_s2 = spread.map_or(0.0, |spread| spread.variance_s2 * seen_s2);
        let mut unseen_s2 = 0.0;
        for (found, other) in [(best, next), (next, best)] {
            let pairs = options.pairs.as_ref();
            for (sites, seconds) in pairs.map_or_else(Vec::new, |p| self.unseen(&found.choice, p)) {
                let differs = |site: &&usize| found.choice[**site] != other.choice[**site];
                // An unseen pair counts once: at the first of its two sites that differs.
                if sites.iter().find(differs) == Some(&site) {
                    unseen_s2 += seconds * seconds;
                }
            }
        }
        seen_s2 + unseen_s2
    }
}

/// Precision of the means over runs; estimated from earlier runs where those of the workload do not show it.
fn of_runs(parts: &[Part<'_>], options: &ChooseOptions) -> Option<MeanVariance> {
    let spread = options.run_spread.as_ref();
    let known = spread.and_then(|spread| spread.of_difference(parts));
    let earlier = options.between_runs.filter(|between| between.is_known());
    let of_totals = || {
        let earlier = earlier?;
        let squares = parts.iter().map(|part| part.seconds * part.seconds);
        let relative = earlier.deviation.powi(2) / earlier.runs.max(1) as f64;
        Some(MeanVariance {
            variance_s2: squares.sum::<f64>() * relative,
            freedom: earlier.freedom,
        })
    };
    known.or_else(of_totals)
}
