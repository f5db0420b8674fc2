//! The best assembly for a workload.
//!
//! The input is the recorded calls, the candidate classes of each instance, the current assembly and the models. The
//! result is a [`Choice`]: the best assembly, and a row for each class of each instance (`choose/outcome.rs`).
//! `Composition::new` predicts the time of an instance's calls with each class (`predicted`), adds the interaction
//! costs of pairs, and forbids assemblies that violate a requirement. `optimise` finds the assembly of least cost, and
//! `Composition::choice` reports which results are uncertain. A class without a model is either an error or reported
//! and not chosen; an instance with a single class may use its measured time instead.
//!
//! ```text
//! flux is called 10 times with q = 2 and once with q = 8, states 3 times with q = 4, mesh never
//! GodunovFlux takes 1 + 3 q    10 * 7 + 25 = 95 s   for flux, current
//! EfmFlux takes     4 + q      10 * 6 + 12 = 72 s   for flux, chosen
//! Muscl takes       q           3 * 4      = 12 s   for states, which has no alternative
//! best 72 + 12 = 84 s, current 95 + 12 = 107 s, of 4 assemblies: mesh has two classes too
//! ```

use std::collections::{BTreeMap, BTreeSet};

use mastermind_models::ModelSet;
use num_bigint::BigUint;

use crate::between_runs::BetweenRuns;
use crate::error::{Error, Lacking};
use crate::interaction::Interaction;
use crate::optimise::{Found, Problem, ProblemError, SearchOptions, optimise, pareto_front};
use crate::patterns::{CallPatterns, WeightedCall};
use crate::predicted::{Predicted, predict_calls};
use crate::ranks::{RankEffect, RankEffects};
use crate::requirement::{Attributes, Requirement};
use crate::run_bounds::RunBounds;
use crate::run_spread::RunSpread;
use crate::score::{Seconds, is_stale, recorded_with};
use crate::unseen::SeenPairs;
use crate::workload::{Alternatives, Assembly, Call, Recorded, Workload};

mod doubt;
mod outcome;
mod pruning;
mod tables;

pub use outcome::{CallsFollow, Choice, Doubt, OnRanks, Ranked, Row};
pub use pruning::Pruning;
use pruning::without;
use tables::{Auxiliary, SiteTable};

/// Options of [`choose_with`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChooseOptions {
    /// Number of best assemblies to return; at least 2 are computed.
    pub n_best: usize,
    /// Requirements on the assembly.
    pub requirements: Vec<Requirement>,
    /// Attributes that the classes declare.
    pub attributes: Attributes,
    /// An attribute whose sum over the instances is minimised together with time; the result then has a Pareto set.
    pub pareto: Option<String>,
    /// Return an error where an alternative has no model, instead of choosing among the others.
    pub strict: bool,
    /// Spread of the time of each class between runs.
    pub run_spread: Option<RunSpread>,
    /// Spread of totals between runs.
    pub between_runs: Option<BetweenRuns>,
    /// Bounds of the ratio of measured to predicted totals, where there are enough runs; they then determine the
    /// interval.
    pub run_bounds: Option<RunBounds>,
    /// Interactions of classes at coupled instances.
    pub interactions: Vec<Interaction>,
    /// Pairs of classes at coupled instances that runs show. With None, unseen pairs are not reported.
    pub pairs: Option<SeenPairs>,
    /// Calls of each instance by the classes of its neighbours. Instances that no run shows get the calls of the
    /// workload.
    pub patterns: Option<CallPatterns>,
    /// Effect of the number of ranks on the time of each instance; None where the models already include it.
    pub rank_effects: Option<RankEffects>,
    /// Which seconds of the workload the models predict, so that they are scored; None where the workload was not run.
    pub scored: Option<Seconds>,
    /// Instances left out of the search. The Pareto search includes them.
    pub pruning: Pruning,
}

/// Chooses the class of each instance so that the predicted time of the workload is smallest: [`choose_with`] with
/// `strict` and no other options, so every candidate must have its models.
///
/// # Errors
/// The errors of [`choose_with`].
pub fn choose(
    workload: &Workload,
    alternatives: &Alternatives,
    current: &Assembly,
    models: &ModelSet,
) -> Result<Choice, Error> {
    let options = ChooseOptions {
        strict: true,
        ..ChooseOptions::default()
    };
    choose_with(workload, alternatives, current, models, &options)
}

/// Chooses the class of each instance so that the predicted time of the workload is smallest.
///
/// The time of an assembly is `Σ count · T(class of the instance, coordinate)` over the recorded calls, plus the
/// interactions of its classes. Requirements forbid classes, or pairs of them. The current class of an instance is
/// always a candidate, listed or not. Among equal assemblies, the one with more current classes wins, then the one with
/// classes listed first. Predicted times are expected values, so the assembly of least time is also the one of least
/// expected regret.
///
/// # Arguments
/// * `workload` - recorded calls; an instance without calls costs nothing
/// * `alternatives` - classes for some instances of `current`; the others keep theirs
/// * `current` - the current assembly
/// * `models` - a model for each candidate class, method and mode called
///
/// # Errors
/// [`Error::UnknownInstance`]; [`Error::Requirement`]; [`Error::Problem`] where no assembly is allowed;
/// [`Error::Lacking`] with all missing models: of any candidate with `strict`, otherwise of an instance's only
/// candidate. An instance without alternatives may lack its model if all its calls were recorded with its current
/// class; its measured time then counts.
pub fn choose_with(
    workload: &Workload,
    alternatives: &Alternatives,
    current: &Assembly,
    models: &ModelSet,
    options: &ChooseOptions,
) -> Result<Choice, Error> {
    let search = Composition::new(workload, alternatives, current, models, options)?;
    search.choice(options)
}

/// The problem that [`choose_with`] solves, for other solvers: see [`crate::optimise::cfn`].
///
/// # Errors
/// The errors of [`choose_with`].
pub fn problem_of(
    workload: &Workload,
    alternatives: &Alternatives,
    current: &Assembly,
    models: &ModelSet,
    options: &ChooseOptions,
) -> Result<Problem, Error> {
    Ok(Composition::new(workload, alternatives, current, models, options)?.problem)
}

fn check_known(instance: &str, current: &Assembly) -> Result<(), Error> {
    if current.contains_key(instance) {
        return Ok(());
    }
    Err(Error::unknown_instance(instance, current))
}

/// The listed classes without duplicates, plus the current one.
fn candidates<'a>(listed: Option<&'a Vec<String>>, current: &'a str) -> Vec<&'a str> {
    let mut classes: Vec<&str> = Vec::new();
    for class in listed
        .into_iter()
        .flatten()
        .map(String::as_str)
        .chain([current])
    {
        if !classes.contains(&class) {
            classes.push(class);
        }
    }
    classes
}

/// Number of assemblies: `∏ Cᵢ` over all instances that have alternatives, called or not.
fn count(alternatives: &Alternatives, current: &Assembly) -> BigUint {
    let sizes = alternatives.iter().map(|(instance, listed)| {
        BigUint::from(candidates(Some(listed), &current[instance]).len())
    });
    sizes.product()
}

/// An instance with calls.
struct Place<'a, 'c> {
    instance: &'a str,
    current: &'a str,
    calls: &'c [WeightedCall],
}

impl Place<'_, '_> {
    /// The row and the prediction of one candidate class; `only` if the instance has no other candidate.
    fn row_of(
        &self,
        class: &str,
        only: bool,
        workload: &Workload,
        models: &ModelSet,
        options: &ChooseOptions,
        missing: &mut Vec<Lacking>,
    ) -> Result<(Row, Predicted), Error> {
        let calls = self.calls.iter().map(|(call, count)| (call, *count));
        let mut predicted = predict_calls(class, calls, workload, models, missing)?;
        if let Some(spread) = &options.run_spread {
            predicted.scale(spread.shift(self.instance, class).exp());
        }
        let measured_s = self
            .measured_s(class)
            .filter(|_| only && !missing.is_empty());
        if let Some(time_s) = measured_s {
            missing.clear();
            predicted = Predicted {
                time_s,
                ..Predicted::default()
            };
        }
        Ok((self.row(class, measured_s.is_some(), &predicted), predicted))
    }

    fn row(&self, class: &str, measured_only: bool, predicted: &Predicted) -> Row {
        let calls: f64 = self.calls.iter().map(|(_, count)| count).sum();
        Row {
            instance: self.instance.into(),
            class: class.into(),
            chosen: false,
            current: class == self.current,
            calls: calls.round() as u64,
            predicted_s: predicted.time_s,
            held_up_s: predicted.held_up_s,
            interval_s: predicted.whole_interval_s(),
            measured_s: None,
            extrapolated: predicted.extrapolated,
            clamped: predicted.clamped,
            bounded: predicted.bounded,
            measured_only,
            stale: false,
        }
    }

    /// Time of the calls if all of them went to `class`, seconds.
    fn measured_s(&self, class: &str) -> Option<f64> {
        let calls: Vec<&Call> = self.calls.iter().map(|(call, _)| call).collect();
        recorded_with(&calls, class).map(|recorded| recorded.wall_s)
    }
}

/// Adds the effect of the number of ranks to the time of each class of an instance.
///
/// # Arguments
/// * `seen` - classes that the runs show
/// * `mpi_s` - time of the instance in MPI, independent of its class
///
/// # Returns
/// Variance of the time added to its computing, seconds squared.
fn add_effect(
    effect: &RankEffect,
    seen: &BTreeSet<String>,
    mpi_s: f64,
    rows: &mut [(Row, Predicted)],
) -> f64 {
    let seen = rows.iter().filter(|(row, _)| seen.contains(&row.class));
    let (n, logs) = seen.fold((0.0, 0.0), |(n, logs), (row, _)| {
        (n + 1.0, logs + row.predicted_s.ln())
    });
    if n == 0.0 {
        return 0.0;
    }
    let run_s = f64::exp(logs / n);
    for (row, predicted) in rows.iter_mut().filter(|(row, _)| !row.measured_only) {
        let added_s = effect.added_s(run_s, predicted.time_s) + mpi_s;
        predicted.time_s += added_s;
        row.predicted_s += added_s;
        row.interval_s = row.interval_s.map(|end| (end + added_s).max(0.0));
    }
    (effect.ratio * run_s * effect.deviation).powi(2)
}

/// The 95 % interval of the time of one fresh run; None where the spread between runs is unknown.
///
/// # Arguments
/// * `time_s` - the predicted time, seconds
/// * `variance_s2` - variance of `time_s` by models, interactions and other predicted parts, seconds squared
fn interval_s(time_s: f64, variance_s2: f64, options: &ChooseOptions) -> Option<[f64; 2]> {
    let between_runs = options.between_runs.as_ref();
    let between_runs = between_runs.filter(|between_runs| between_runs.is_known())?;
    if time_s <= 0.0 {
        return Some([0.0, 0.0]);
    }
    let relative = variance_s2 / time_s.powi(2);
    Some(match &options.run_bounds {
        Some(bounds) => bounds.interval_s(time_s, relative),
        None => between_runs.interval_s(time_s, relative, mastermind_models::LEVEL),
    })
}

/// The interaction of two sites for one pair of classes.
struct Together {
    /// Site and class of each; the first one takes the additional time.
    sites: [(usize, usize); 2],
    seconds: f64,
    /// Time of the first one without the interaction, seconds.
    mean_s: f64,
    /// Runs that show both.
    runs: usize,
}

/// The recorded calls of an instance.
struct Scored {
    class: String,
    measured: Recorded,
    /// None without a model.
    predicted: Option<Predicted>,
}

/// The sites, and the time of each of their classes.
struct Composition<'a> {
    alternatives: &'a Alternatives,
    current: &'a Assembly,
    /// Instance of each site.
    instances: Vec<&'a str>,
    /// Candidates of each site.
    classes: Vec<Vec<&'a str>>,
    /// Times of the classes of each site, by the calls that it gets.
    tables: Vec<SiteTable>,
    /// Sites of the problem beyond those of instances.
    auxiliaries: Vec<Auxiliary>,
    problem: Problem,
    /// Variance of the times that the number of ranks adds at all sites, seconds squared.
    ranks_s2: f64,
    /// Time of all sites in MPI on that number of ranks, seconds.
    mpi_s: f64,
    /// Interactions of pairs of sites.
    together: Vec<Together>,
    /// Whether every candidate must have its models.
    strict: bool,
    /// Models without which nothing can be chosen.
    refused: Vec<Lacking>,
    without_model: Vec<Lacking>,
    measured: Recorded,
    /// For each instance whose calls were all recorded with one class: that class, the measured time, and the
    /// prediction.
    measured_of: BTreeMap<&'a str, Scored>,
}

impl<'a> Composition<'a> {
    fn new(
        workload: &'a Workload,
        alternatives: &'a Alternatives,
        current: &'a Assembly,
        models: &ModelSet,
        options: &ChooseOptions,
    ) -> Result<Self, Error> {
        let mut calls: BTreeMap<&str, Vec<&Call>> = BTreeMap::new();
        for call in &workload.calls {
            calls.entry(&call.instance).or_default().push(call);
        }
        for instance in alternatives
            .keys()
            .map(String::as_str)
            .chain(calls.keys().copied())
        {
            check_known(instance, current)?;
        }
        let instances: Vec<&str> = current.keys().map(String::as_str).collect();
        let listed = current.iter();
        let classes = listed.map(|(instance, class)| candidates(alternatives.get(instance), class));
        let mut composition = Self {
            alternatives,
            current,
            instances,
            classes: classes.collect(),
            tables: Vec::new(),
            auxiliaries: Vec::new(),
            problem: Problem::new(),
            ranks_s2: 0.0,
            mpi_s: 0.0,
            together: Vec::new(),
            strict: options.strict,
            refused: Vec::new(),
            without_model: Vec::new(),
            measured: workload.recorded(),
            measured_of: BTreeMap::new(),
        };
        for (site, instance) in current.keys().enumerate() {
            let calls = calls.remove(instance.as_str()).unwrap_or_default();
            composition.record(instance, &calls, workload, models)?;
            composition.add(site, &calls, options, workload, models)?;
        }
        let mut refused = std::mem::take(&mut composition.refused);
        if !refused.is_empty() {
            refused.sort();
            refused.dedup();
            return Err(Error::Lacking(refused));
        }
        composition.couple()?;
        for interaction in &options.interactions {
            composition.join(interaction)?;
        }
        for requirement in &options.requirements {
            composition.require(requirement, &options.attributes)?;
        }
        Ok(composition)
    }

    /// The sum of the interactions in an assembly, seconds.
    fn together_s(&self, choice: &[usize]) -> f64 {
        let is_so = |at: &Together| at.sites.iter().all(|(site, c)| choice[*site] == *c);
        let so = self.together.iter().filter(|at| is_so(at));
        so.map(|at| at.seconds).sum()
    }

    /// Pairs of sites of an assembly whose two classes no run shows together, and the standard deviation of their
    /// interaction.
    fn unseen(&self, choice: &[usize], pairs: &SeenPairs) -> Vec<([usize; 2], f64)> {
        let mut assembly = self.current.clone();
        assembly.extend(self.assembly(choice));
        let site = |instance: &String| self.instances.iter().position(|i| i == instance);
        let seconds = |site: usize| {
            let predicted = self.predicted(site, choice);
            predicted.map_or(0.0, |predicted| predicted.time_s)
        };
        let unseen = pairs.unseen(&assembly).into_iter().filter_map(|pair| {
            let [a, b] = &pair.instances;
            let sites = [site(a)?, site(b)?];
            let deviation = seconds(sites[0]).hypot(seconds(sites[1])) * pairs.deviation();
            Some((sites, deviation))
        });
        unseen.collect()
    }

    /// Variance of the interactions of pairs that no run shows, seconds squared.
    fn unseen_s2(&self, choice: &[usize], pairs: &SeenPairs) -> f64 {
        let unseen = self.unseen(choice, pairs).into_iter();
        unseen.map(|(_, seconds)| seconds * seconds).sum()
    }

    /// Index of the current class of each site.
    fn current_choice(&self) -> Vec<usize> {
        let sites = self.instances.iter().zip(&self.classes);
        let place = |(instance, classes): (&&str, &Vec<&str>)| {
            let current = &self.current[*instance];
            classes.iter().position(|class| class == current)
        };
        sites.map(|site| place(site).unwrap_or(0)).collect()
    }

    /// The current assembly; `None` where one of its classes is no candidate, or is forbidden.
    ///
    /// # Arguments
    /// * `like` - any other assembly, used for its number of sites
    fn found_current(&self, like: &Found) -> Option<Found> {
        let mut choice = like.choice.clone();
        for (site, classes) in self.classes.iter().enumerate() {
            let current = &self.current[self.instances[site]];
            choice[site] = classes.iter().position(|class| class == current)?;
        }
        self.complete(&mut choice);
        let cost = self.problem.cost(&choice);
        cost.is_finite().then_some(Found { choice, cost })
    }

    /// Forbids combinations of classes that violate a requirement.
    fn require(&mut self, requirement: &Requirement, attributes: &Attributes) -> Result<(), Error> {
        let mut sites = Vec::new();
        for instance in requirement.instances() {
            check_known(instance, self.current)?;
            sites.extend(self.instances.iter().position(|known| *known == instance));
        }
        let (first, second) = match sites[..] {
            [first, second] => (first, Some(second)),
            [only] => (only, None),
            _ => return Ok(()),
        };
        let n_second = second.map_or(1, |second| self.classes[second].len());
        let mut costs = Vec::new();
        for class in &self.classes[first] {
            for other in 0..n_second {
                let mut assembly =
                    Assembly::from([(self.instances[first].to_owned(), (*class).to_owned())]);
                if let Some(second) = second {
                    let class = self.classes[second][other];
                    assembly.insert(self.instances[second].into(), class.into());
                }
                let is_met = requirement.is_met(&assembly, attributes)?;
                costs.push(if is_met { 0.0 } else { f64::INFINITY });
            }
        }
        match second {
            Some(second) => self.problem.add_pair(first, second, &costs)?,
            None => {
                let forbidden = costs.iter().enumerate().filter(|(_, cost)| **cost > 0.0);
                forbidden.for_each(|(at, _)| self.problem.forbid(first, at));
            }
        }
        Ok(())
    }

    fn choice(self, options: &ChooseOptions) -> Result<Choice, Error> {
        let search = SearchOptions {
            n_best: options.n_best.max(2),
            ..SearchOptions::default()
        };
        let current_choice = self.current_choice();
        let present_s = self.alone_s(&current_choice);
        let pruned = options.pruning.of(&self.problem, present_s);
        let pruned_s: f64 = pruned.iter().map(|site| site.bound).sum();
        let found = optimise(&without(&self.problem, &pruned), &search)
            .map_err(|error| self.infeasible(error, options))?;
        let mut best = found.best[0].clone();
        self.prefer_current(&mut best);
        let pareto = self.pareto(options)?;
        let mut ranked = vec![best.clone()];
        ranked.extend(
            found
                .best
                .iter()
                .filter(|f| f.choice != best.choice)
                .cloned(),
        );
        let doubt = ranked.get(1);
        let doubt = doubt.map(|next| self.doubt(&best, next, options));
        ranked.truncate(options.n_best.max(1));
        let current = self.found_current(&best);
        let current = current.filter(|current| current.choice != best.choice);
        let against_current = current.map(|current| self.doubt(&best, &current, options));
        let mut sum = Predicted::default();
        let mut instances = Vec::new();
        for (site, table) in self.tables.iter().enumerate() {
            for (row, predicted) in table.rows(&best.choice) {
                let mut row = row.clone();
                row.chosen = row.class == self.classes[site][best.choice[site]];
                let recorded = self.measured_of.get(row.instance.as_str());
                let recorded = recorded.filter(|recorded| recorded.class == row.class);
                row.measured_s = recorded.map(|recorded| recorded.measured.wall_s);
                if row.chosen {
                    sum.merge(predicted);
                }
                instances.push(row);
            }
        }
        self.score(&mut instances, options);
        let together_s = self.together_s(&best.choice);
        sum.time_s += together_s;
        let current_s = present_s + self.together_s(&current_choice);
        let mut assembly = self.current.clone();
        assembly.extend(self.assembly(&best.choice));
        let pairs = options.pairs.as_ref();
        let unseen_pairs = pairs.map_or_else(Vec::new, |pairs| pairs.unseen(&assembly));
        let unseen_s2 = pairs.map_or(0.0, |pairs| self.unseen_s2(&best.choice, pairs));
        let variance_s2 = sum.uncertainty.variance_s2() + self.ranks_s2 + unseen_s2;
        let computation_s = sum.time_s - self.mpi_s;
        let computing = interval_s(computation_s, variance_s2, options);
        let on_ranks = options.rank_effects.as_ref();
        let on_ranks = on_ranks.map(|effects| OnRanks {
            effects: effects.clone(),
            computation_s,
            computation_interval_s: computing,
            mpi_s: self.mpi_s,
        });
        let ranked = ranked.iter().map(|f| self.ranked(f, None)).collect();
        let mut without_model = self.without_model.clone();
        without_model.sort();
        without_model.dedup();
        Ok(Choice {
            assemblies: count(self.alternatives, self.current).to_string(),
            evaluated: self.tables.iter().map(SiteTable::n_evaluated).sum(),
            calls_follow: self.calls_follow(&assembly, options),
            best: assembly,
            predicted_s: sum.time_s,
            held_up_s: sum.held_up_s,
            current_s,
            interval_s: on_ranks.as_ref().map_or(computing, OnRanks::interval_s),
            spread_unknown: sum.unknown.into_iter().collect(),
            spread_unknown_s: sum.unknown_s,
            between_runs: options.between_runs,
            run_bounds: options.run_bounds,
            together_s,
            interactions: options.interactions.clone(),
            unseen_pairs,
            unseen_pairs_s: unseen_s2.sqrt(),
            on_ranks,
            measured: self.measured,
            pruned: (pruned.iter().map(|at| self.instances[at.site].to_owned())).collect(),
            pruned_s,
            proved: found.proved() && pruned_s <= 0.0,
            gap: found.gap()
                + if pruned_s > 0.0 {
                    pruned_s / best.cost
                } else {
                    0.0
                },
            ranked,
            doubt,
            against_current,
            pareto,
            without_model,
            instances,
        })
    }

    /// Marks instances whose models are out of date.
    fn score(&self, rows: &mut [Row], options: &ChooseOptions) {
        let (Some(seconds), Some(between_runs)) = (options.scored, &options.between_runs) else {
            return;
        };
        let scored = self.measured_of.values();
        let whole_s = scored.filter_map(|scored| Some(scored.predicted.as_ref()?.time_s));
        let whole_s: f64 = whole_s.sum();
        for row in rows.iter_mut().filter(|row| !row.measured_only) {
            let scored = self.measured_of.get(row.instance.as_str());
            let scored = scored.filter(|scored| scored.class == row.class);
            let Some(scored) = scored else { continue };
            if let Some(predicted) = &scored.predicted {
                let (measured_s, n_scored) = (scored.measured.of(seconds), self.measured_of.len());
                row.stale = is_stale(predicted, measured_s, whole_s, between_runs, n_scored);
            }
        }
    }

    fn infeasible(&self, error: ProblemError, options: &ChooseOptions) -> Error {
        match error {
            ProblemError::Infeasible { .. } if !options.requirements.is_empty() => {
                let texts: Vec<_> = options
                    .requirements
                    .iter()
                    .map(|r| format!("\"{}\"", r.text()))
                    .collect();
                let hint = format!(
                    "take back one of the requirements {}, or add an alternative that meets them",
                    texts.join(", ")
                );
                ProblemError::Infeasible { hint }.into()
            }
            error => error.into(),
        }
    }

    /// Switches each site back to its current class, else to one listed earlier, where that costs no more.
    fn prefer_current(&self, best: &mut Found) {
        for (site, classes) in self.classes.iter().enumerate() {
            let is_current = |&at: &usize| classes[at] == self.current[self.instances[site]];
            let current = (0..classes.len()).find(is_current);
            let before = best.choice[site];
            for at in current.into_iter().chain(0..before) {
                let mut choice = best.choice.clone();
                choice[site] = at;
                self.complete(&mut choice);
                if self.problem.cost(&choice) <= best.cost {
                    best.choice = choice;
                    break;
                }
            }
        }
    }

    /// The classes at the sites that have alternatives.
    fn assembly(&self, choice: &[usize]) -> Assembly {
        let sites = self.instances.iter().zip(&self.classes).zip(choice);
        let open = sites.filter(|((_, classes), _)| classes.len() > 1);
        open.map(|((instance, classes), &c)| ((*instance).to_owned(), classes[c].to_owned()))
            .collect()
    }

    fn ranked(&self, found: &Found, attribute: Option<f64>) -> Ranked {
        Ranked {
            assembly: self.assembly(&found.choice),
            predicted_s: found.cost,
            attribute,
        }
    }

    /// The Pareto set of time and an attribute; empty unless one is requested.
    fn pareto(&self, options: &ChooseOptions) -> Result<Vec<Ranked>, Error> {
        let Some(attribute) = &options.pareto else {
            return Ok(Vec::new());
        };
        let declared = |class: &&str| options.attributes.get(*class)?.get(attribute).copied();
        let values: Vec<Vec<Option<f64>>> = self
            .classes
            .iter()
            .map(|classes| classes.iter().map(declared).collect())
            .collect();
        let sites = values
            .iter()
            .enumerate()
            .filter(|(_, values)| values.iter().any(Option::is_some));
        let mut n_sites = 0;
        for (site, values) in sites {
            n_sites += 1;
            if let Some(at) = values.iter().position(Option::is_none) {
                return Err(Error::Attribute {
                    attribute: attribute.clone(),
                    class: self.classes[site][at].into(),
                    instance: self.instances[site].into(),
                });
            }
        }
        if n_sites == 0 {
            return Err(Error::NoAttribute {
                attribute: attribute.clone(),
            });
        }
        let costs: Vec<Vec<f64>> = values
            .iter()
            .map(|values| values.iter().map(|v| v.unwrap_or(0.0)).collect())
            .chain(self.auxiliaries.iter().map(|at| vec![0.0; at.n_values()]))
            .collect();
        let second = self.problem.with_costs(&costs)?;
        let front = pareto_front(&[self.problem.clone(), second])?;
        let ranked = front.into_iter().map(|point| {
            let found = Found {
                choice: point.choice,
                cost: point.costs[0],
            };
            self.ranked(&found, Some(point.costs[1]))
        });
        Ok(ranked.collect())
    }
}
