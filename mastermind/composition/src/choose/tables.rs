//! Cost of each class of a site, by the classes that decide its calls.
//!
//! If no other class decides a site's calls, the cost of each of its classes is one number. If the calls depend on one
//! other site, the costs form a table over the classes of both sites. If they depend on two, the third dimension
//! becomes an auxiliary site, whose alternatives are the combinations of the two sites' classes; an alternative that
//! contradicts the classes chosen there is forbidden. So the cost of an assembly stays an exact sum of tables over two
//! sites.

use mastermind_models::ModelSet;

use super::outcome::{CallsFollow, Row};
use super::{ChooseOptions, Composition, Place, Scored, Together, add_effect};
use crate::error::Error;
use crate::interaction::Interaction;
use crate::patterns::WeightedCall;
use crate::predicted::{Predicted, predict_calls};
use crate::score::recorded_with;
use crate::workload::{Assembly, Call, Workload};

/// The costs of the classes of a site.
pub(super) struct SiteTable {
    /// The sites whose classes decide the calls, none to two, and the number of classes of each.
    neighbours: Vec<(usize, usize)>,
    /// For each combination of their classes, the last site fastest: a row and its prediction for each class with a
    /// model. Empty where the site is not called.
    patterns: Vec<Vec<(Row, Predicted)>>,
}

impl SiteTable {
    /// The rows for the calls that the site gets in an assembly.
    pub fn rows(&self, choice: &[usize]) -> &[(Row, Predicted)] {
        let place = |at, (site, n): &(usize, usize)| at * n + choice[*site];
        &self.patterns[self.neighbours.iter().fold(0, place)]
    }

    /// Number of predictions.
    pub fn n_evaluated(&self) -> usize {
        self.patterns.iter().map(Vec::len).sum()
    }

    /// Mean time of a class over the calls that the site gets with a class of another site, seconds.
    fn mean_s(&self, class: &str, other: (usize, usize)) -> Option<f64> {
        let combinations = combinations(&self.neighbours);
        let is_meant = |combination: &[usize]| {
            let mut places = self.neighbours.iter().zip(combination);
            places.all(|((site, _), c)| *site != other.0 || *c == other.1)
        };
        let meant = combinations.iter().zip(&self.patterns);
        let meant = meant.filter(|(combination, _)| is_meant(combination));
        let times = meant.map(|(_, rows)| Some(of_class(rows, class)?.time_s));
        let times: Vec<f64> = times.collect::<Option<_>>()?;
        Some(times.iter().sum::<f64>() / times.len() as f64)
    }
}

/// All combinations of the classes of some sites, the last site fastest.
fn combinations(neighbours: &[(usize, usize)]) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for (_, n) in neighbours {
        let longer = |known: &Vec<usize>| {
            let known = known.clone();
            (0..*n).map(move |class| [known.as_slice(), &[class]].concat())
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}

/// A site of the problem that represents the classes of two other sites.
pub(super) struct Auxiliary {
    /// The two sites, and the number of classes of each.
    sites: [(usize, usize); 2],
}

impl Auxiliary {
    /// Number of its alternatives.
    pub fn n_values(&self) -> usize {
        self.sites.iter().map(|(_, n)| n).product()
    }

    /// Its alternative in an assembly.
    fn value(&self, choice: &[usize]) -> usize {
        let [(a, _), (b, n)] = self.sites;
        choice[a] * n + choice[b]
    }
}

fn of_class<'r>(rows: &'r [(Row, Predicted)], class: &str) -> Option<&'r Predicted> {
    let mut rows = rows.iter();
    let row = rows.find(|(row, _)| row.class == class);
    row.map(|(_, predicted)| predicted)
}

impl<'a> Composition<'a> {
    /// The prediction for the class of a site in an assembly.
    pub(super) fn predicted(&self, site: usize, choice: &[usize]) -> Option<&Predicted> {
        let class = self.classes[site][choice[site]];
        of_class(self.tables[site].rows(choice), class)
    }

    /// Time of an assembly without interactions, seconds.
    pub(super) fn alone_s(&self, choice: &[usize]) -> f64 {
        let sites = 0..self.instances.len();
        let predicted = sites.filter_map(|site| self.predicted(site, choice));
        predicted.map(|predicted| predicted.time_s).sum()
    }

    /// Records the measured time of an instance's calls, where one class answered all of them.
    pub(super) fn record(
        &mut self,
        instance: &'a str,
        calls: &[&Call],
        workload: &Workload,
        models: &ModelSet,
    ) -> Result<(), Error> {
        let Some(class) = calls.first().map(|call| call.class.clone()) else {
            return Ok(());
        };
        let Some(measured) = recorded_with(calls, &class) else {
            return Ok(());
        };
        let mut lacking = Vec::new();
        let counted = calls.iter().map(|call| call.counted());
        let predicted = predict_calls(&class, counted, workload, models, &mut lacking)?;
        let scored = Scored {
            class,
            measured,
            predicted: lacking.is_empty().then_some(predicted),
        };
        self.measured_of.insert(instance, scored);
        Ok(())
    }

    /// Adds a site. Classes without a model are forbidden, or recorded as errors.
    ///
    /// # Arguments
    /// * `recorded` - the site's calls in the workload, used for an instance that no run shows
    pub(super) fn add(
        &mut self,
        site: usize,
        recorded: &[&Call],
        options: &ChooseOptions,
        workload: &Workload,
        models: &ModelSet,
    ) -> Result<(), Error> {
        let instance = self.instances[site];
        let patterns = options.patterns.as_ref().filter(|p| !p.is_empty());
        let pattern = patterns.and_then(|patterns| patterns.get(instance));
        let names: &[String] = pattern.map_or(&[], |pattern| &pattern.neighbours);
        let site_of = |name: &String| self.instances.iter().position(|i| i == name);
        let sites: Vec<Option<usize>> = names.iter().map(site_of).collect();
        let open = sites.iter().flatten();
        let open = open.map(|at| (*at, self.classes[*at].len()));
        let neighbours: Vec<(usize, usize)> = open.filter(|(_, n)| *n > 1).collect();
        let counted = recorded
            .iter()
            .map(|call| ((*call).clone(), call.count as f64));
        let recorded: Vec<WeightedCall> = counted.collect();
        let mut all_missing = Vec::new();
        let (mut patterns, mut is_called) = (Vec::new(), Vec::new());
        for combination in combinations(&neighbours) {
            let class = |at: &Option<usize>| {
                let Some(at) = at else { return "" };
                let place = neighbours.iter().position(|(site, _)| site == at);
                self.classes[*at][place.map_or(0, |place| combination[place])]
            };
            let beside: Vec<&str> = sites.iter().map(class).collect();
            let place = Place {
                instance,
                current: &self.current[instance],
                calls: pattern.map_or(&recorded, |pattern| pattern.calls(&beside)),
            };
            is_called.push(!place.calls.is_empty());
            patterns.push(self.rows_of(
                &place,
                site,
                workload,
                models,
                options,
                &mut all_missing,
            )?);
        }
        self.add_ranks(instance, options, &mut patterns);
        let costs = self.own_costs(site, &patterns, &is_called);
        if self.strict || costs.iter().all(|c| *c == f64::INFINITY) {
            self.refused.append(&mut all_missing);
        }
        self.without_model.append(&mut all_missing);
        self.problem
            .add_site(instance, &self.classes[site], &costs)?;
        self.tables.push(SiteTable {
            neighbours,
            patterns,
        });
        Ok(())
    }

    /// The rows of a site's classes for some calls; only classes with models.
    fn rows_of(
        &self,
        place: &Place<'a, '_>,
        site: usize,
        workload: &Workload,
        models: &ModelSet,
        options: &ChooseOptions,
        all_missing: &mut Vec<crate::Lacking>,
    ) -> Result<Vec<(Row, Predicted)>, Error> {
        let mut rows = Vec::new();
        if place.calls.is_empty() {
            return Ok(rows);
        }
        let classes = &self.classes[site];
        for class in classes {
            let mut missing = Vec::new();
            let is_only = classes.len() == 1;
            let row = place.row_of(class, is_only, workload, models, options, &mut missing)?;
            match missing.is_empty() {
                true => rows.push(row),
                false => all_missing.append(&mut missing),
            }
        }
        Ok(rows)
    }

    /// Adds the effect of the number of ranks to a site's times.
    fn add_ranks(
        &mut self,
        instance: &str,
        options: &ChooseOptions,
        patterns: &mut [Vec<(Row, Predicted)>],
    ) {
        let Some(effects) = &options.rank_effects else {
            return;
        };
        let Some(effect) = effects.computing.get(instance) else {
            return;
        };
        let Some(seen) = effects.classes.get(instance) else {
            return;
        };
        let mpi_s = effects.mpi_s(instance);
        let is_modelled = |rows: &&mut Vec<(Row, Predicted)>| {
            let mut rows = rows.iter();
            rows.any(|(row, _)| !row.measured_only)
        };
        let modelled = patterns.iter_mut().filter(is_modelled);
        let added: Vec<f64> = modelled
            .map(|rows| add_effect(effect, seen, mpi_s, rows))
            .collect();
        if !added.is_empty() {
            self.ranks_s2 += added.iter().copied().fold(0.0, f64::max);
            self.mpi_s += mpi_s;
        }
    }

    /// Unary cost of each class: its time if no other class decides the calls, else 0; infinite if the class is not a
    /// candidate.
    ///
    /// # Arguments
    /// * `is_called` - for each of `patterns`, whether it has calls
    fn own_costs(
        &self,
        site: usize,
        patterns: &[Vec<(Row, Predicted)>],
        is_called: &[bool],
    ) -> Vec<f64> {
        // A negative prediction is not a valid time, so such a class is chosen only if there is no other.
        let is_clamped = |class: &str| {
            let mut rows = patterns.iter().flatten();
            rows.any(|(row, _)| row.class == class && row.clamped)
        };
        let has_model = |class: &str| {
            let mut patterns = patterns.iter().zip(is_called);
            patterns.all(|(rows, is_called)| !is_called || of_class(rows, class).is_some())
        };
        let classes = &self.classes[site];
        let any_good = classes
            .iter()
            .any(|class| has_model(class) && !is_clamped(class));
        let cost = |class: &&str| {
            let is_left_out = !has_model(class) || is_clamped(class) && any_good;
            match (is_left_out, patterns) {
                (true, _) => f64::INFINITY,
                (false, [rows]) => of_class(rows, class).map_or(0.0, |p| p.time_s),
                _ => 0.0,
            }
        };
        classes.iter().map(cost).collect()
    }

    /// Adds the costs of calls that depend on the classes of other sites.
    pub(super) fn couple(&mut self) -> Result<(), Error> {
        for site in 0..self.tables.len() {
            let table = &self.tables[site];
            let n_combinations = table.patterns.len();
            let classes = &self.classes[site];
            let mut costs = Vec::new();
            for class in classes {
                let times = table.patterns.iter().map(|rows| of_class(rows, class));
                costs.extend(times.map(|predicted| predicted.map_or(0.0, |p| p.time_s)));
            }
            match table.neighbours[..] {
                [(other, _)] => self.problem.add_pair(site, other, &costs)?,
                [first, second] => {
                    let auxiliary = self.auxiliary([first, second], site)?;
                    debug_assert_eq!(n_combinations, first.1 * second.1);
                    self.problem.add_pair(site, auxiliary, &costs)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The site of the problem that represents the classes of two others.
    fn auxiliary(&mut self, sites: [(usize, usize); 2], of: usize) -> Result<usize, Error> {
        let n_instances = self.instances.len();
        let mut known = self.auxiliaries.iter();
        if let Some(at) = known.position(|auxiliary| auxiliary.sites == sites) {
            return Ok(n_instances + at);
        }
        let combinations = combinations(&sites);
        let [a, b] = sites.map(|(site, _)| site);
        let name = |combination: &Vec<usize>| {
            let (of_a, of_b) = (combination[0], combination[1]);
            format!("{} {}", self.classes[a][of_a], self.classes[b][of_b])
        };
        let names: Vec<String> = combinations.iter().map(name).collect();
        let title = format!("calls of {}", self.instances[of]);
        let at = self
            .problem
            .add_site(&title, &names, &vec![0.0; names.len()])?;
        for (place, (site, n)) in sites.into_iter().enumerate() {
            let agrees = |class: usize, combination: &Vec<usize>| match combination[place] == class
            {
                true => 0.0,
                false => f64::INFINITY,
            };
            let costs = (0..n).flat_map(|class| {
                let combinations = combinations.iter();
                combinations.map(move |combination| agrees(class, combination))
            });
            self.problem
                .add_pair(site, at, &costs.collect::<Vec<_>>())?;
        }
        self.auxiliaries.push(Auxiliary { sites });
        Ok(at)
    }

    /// Sets the auxiliary sites of a choice to the combinations of the classes chosen.
    pub(super) fn complete(&self, choice: &mut [usize]) {
        for (at, auxiliary) in self.auxiliaries.iter().enumerate() {
            choice[self.instances.len() + at] = auxiliary.value(choice);
        }
    }

    /// Adds the interaction of an instance with a class of another one, for the mean of the calls that it gets there.
    pub(super) fn join(&mut self, interaction: &Interaction) -> Result<(), Error> {
        let place = |instance: &String, class: &String| {
            let site = self.instances.iter().position(|i| *i == instance)?;
            let class = self.classes[site].iter().position(|c| *c == class)?;
            Some((site, class))
        };
        let own = place(&interaction.instance, &interaction.class);
        let other = place(&interaction.beside, &interaction.beside_class);
        let (Some(own), Some(other)) = (own, other) else {
            return Ok(());
        };
        let time_s = self.tables[own.0].mean_s(&interaction.class, other);
        let Some(time_s) = time_s else {
            return Ok(());
        };
        let seconds = time_s * interaction.ln_ratio.exp_m1();
        let n_others = self.classes[other.0].len();
        let mut costs = vec![0.0; self.classes[own.0].len() * n_others];
        costs[own.1 * n_others + other.1] = seconds;
        self.problem.add_pair(own.0, other.0, &costs)?;
        self.together.push(Together {
            sites: [own, other],
            seconds,
            mean_s: time_s,
            runs: interaction.runs.max(1),
        });
        Ok(())
    }

    /// The called instances whose calls depend on the classes of others.
    pub(super) fn calls_follow(
        &self,
        assembly: &Assembly,
        options: &ChooseOptions,
    ) -> Vec<CallsFollow> {
        let Some(patterns) = &options.patterns else {
            return Vec::new();
        };
        let follow = patterns.explained().filter_map(|(instance, from)| {
            let classes: Vec<&str> = from
                .iter()
                .map(|at| assembly.get(at).map_or("", String::as_str))
                .collect();
            Some(CallsFollow {
                instance: instance.to_owned(),
                from: from.to_vec(),
                seen: patterns.get(instance)?.is_seen(&classes),
            })
        });
        follow.collect()
    }
}
