//! A semi-empirical model with its error correction term.
//!
//! [`correct`] takes a formula, the points to train with, its fit (`semi_empirical`) and a seed, and returns a
//! [`Corrected`] model or the reason why the base is kept; the same seed gives the same result. `Trial::new` picks the
//! inputs of the tree, `search` evolves candidates, and `Trial::outcome` accepts the fittest if it gains more than it
//! costs, is finite and beats the base at points held out (`held_out`). The result is the mean of the candidates that
//! fit nearly as well. The head of the crate has the formulas of the four cases; `written` turns a corrected model into
//! one that `predict` takes, `platform` transfers it to another machine.
//!
//! ```text
//! $ mastermind correct examples/semi-empirical/evh1.toml examples/semi-empirical/evh1.csv --case 1 --trials 1 \
//!     --population 50 --generations 5
//! ...
//! best at points held out: case 1, seed 1
//!   (1.063*t_comm + T*((-0.1943) + 1.188*(...)))^0.175 * (1.068*t_comm + ...)^0.143 * ...     tree, linear, weight, others
//!   held from 0.62 to 2.17 times the base;                                                    ratio
//!   the gain is evidence for 94 % of this correction, which is what counts                    share
//! ```

use std::collections::BTreeMap;
use std::rc::Rc;

use mastermind_models::expression::Expression;

use crate::case::Case;
use crate::error::Error;
use crate::held_out::{Errors, HeldOut};
use crate::scaling::{self, Scaling};
use crate::search::evaluator::{Evaluator, range_over};
use crate::search::problem::{Genome, Linear, MAX_INPUTS, Problem};
use crate::search::refine::refine;
use crate::search::tree::Tree;
use crate::search::{Candidate, SearchSettings, search};
use crate::semi_empirical::{Residuals, SemiEmpirical};
use crate::slope::slope;
use crate::specification::Specification;
use crate::table::Table;

/// Settings of a correction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Of the search.
    pub search: SearchSettings,
    /// Residuals that are minimised.
    pub residuals: Residuals,
    /// Expected relative noise of times, and its weight against that of repeated observations, in degrees of freedom:
    /// a fit closer than the noise gains nothing.
    pub noise: f64,
    /// See [`Settings::noise`].
    pub noise_freedom: f64,
    /// How far a searched parameter may go from its fit, as a share of its value; its bounds hold as well.
    pub parameter_range: f64,
    /// Gain in the deviance, less the price of the term, at which half of a correction counts; next to nothing of it does at half
    /// of that gain, nearly all of it at twice as much.
    pub evidence: f64,
    /// Most candidates that a corrected model is the mean of.
    pub averaged: usize,
    /// Difference of the fitness at which a candidate has `1/e` of the weight of the fittest in that mean.
    pub averaging: f64,
    /// Greatest error at held-out points, as a share of the base's error there.
    pub held_out: f64,
    /// Factor by which the ratio to the base may leave its range at the training points.
    pub clip: f64,
    /// Factor beyond the range of an input at which the correction's logarithm is halved.
    pub reach: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            search: SearchSettings::default(),
            residuals: Residuals::Relative,
            noise: 0.03,
            noise_freedom: 4.0,
            parameter_range: 2.0,
            evidence: 6.0,
            averaged: 9,
            averaging: 6.0,
            held_out: 1.0,
            clip: 1.3,
            reach: 16.0,
        }
    }
}

/// Factor about the training range within which trees must be bounded.
const STRETCH: f64 = 1.5;

/// Least ratio to the base: a time stays positive where its base is.
pub(crate) const MIN_RATIO: f64 = 1e-3;

/// Relative difference of times below which two models are equal.
const SAME: f64 = 1e-4;

/// Steps of the last refinement.
const LAST_STEPS: usize = 20;

/// Least weight in the mean of a candidate that is worth its place in the formula.
const MIN_WEIGHT: f64 = 0.05;

/// A corrected model: the fittest candidate of a search, and others that the points speak for nearly as much.
#[derive(Debug, Clone, PartialEq)]
pub struct Corrected {
    /// Which case.
    pub case: Case,
    /// Unknowns of the base: as fitted in cases 1 and 2, as searched in cases 3 and 4.
    pub unknowns: Vec<f64>,
    /// Unknowns of the base as fitted, from which only a share of the correction counts.
    pub(crate) fitted: Vec<f64>,
    /// That share, of the logarithm: `gain³ / (gain³ + evidence³)`.
    pub(crate) share: f64,
    /// Weight of this candidate in the geometric mean with the others; all weights together are 1.
    pub(crate) weight: f64,
    /// The others, which have an empty list.
    pub(crate) others: Vec<Corrected>,
    pub(crate) scalings: Vec<Scaling>,
    /// Inputs of the tree; of an integrated term the base comes after them.
    pub(crate) terminals: Vec<Terminal>,
    pub(crate) base_unit: f64,
    pub(crate) tree: Tree,
    pub(crate) linear: Linear,
    /// Ends of the ratio to the base.
    pub(crate) ratio: [f64; 2],
    /// Range of each input at the training points.
    pub(crate) ranges: Vec<[f64; 2]>,
    pub(crate) reach: f64,
    /// Errors at held-out points; `None` for a model that has passed no gate.
    pub(crate) held_out: Option<HeldOut>,
}

/// An input of a tree, other than the base.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Terminal {
    pub(crate) source: Source,
    /// The divisor of its values.
    pub(crate) unit: f64,
}

/// Where the values of a terminal come from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Source {
    /// The input of this place.
    Input(usize),
    /// Derivative of the base by one of its unknowns, divided by the scale.
    Slope(Expression),
}

impl Terminal {
    /// Values at the points of a table.
    fn column(&self, specification: &Specification, table: &Table) -> Vec<f64> {
        let values = match &self.source {
            Source::Input(place) => table.inputs[*place].clone(),
            Source::Slope(slope) => specification.evaluate_part(slope, table),
        };
        values.iter().map(|x| x / self.unit).collect()
    }
}

/// Outcome of a trial.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It beat its base.
    Accepted(Box<Corrected>),
    /// It did not: the base is kept.
    Refused(Refusal),
}

/// Why the base is kept.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Refusal {
    /// No term was found that is finite everywhere near the points.
    NoTerm,
    /// The gain of the term is within chance, or less than its size costs.
    TooLittle {
        /// Root mean square relative error of the base at the training points.
        base: f64,
        /// Gain in the deviance less the price of the term.
        gain: f64,
    },
    /// The term did not beat the base at the held-out points.
    HeldOut {
        /// Root mean square relative error of the base there.
        base: f64,
        /// Error of the corrected model.
        corrected: f64,
    },
}

/// Root mean square of the relative errors.
pub fn relative_error(observed: &[f64], calculated: &[f64]) -> f64 {
    let pairs = observed.iter().zip(calculated);
    let squares = pairs.map(|(y, t)| ((y - t) / y).powi(2));
    (squares.sum::<f64>() / observed.len() as f64).sqrt()
}

/// Corrects a fitted model by one search.
///
/// # Errors
/// [`Error::TooManyInputs`].
pub fn correct(
    specification: &Specification,
    train: &Table,
    base: &SemiEmpirical,
    case: Case,
    seed: u64,
    settings: &Settings,
) -> Result<Outcome, Error> {
    let trial = Trial::new(specification, train, base, case, settings)?;
    match trial.search(train, seed) {
        Some(found) => trial.outcome(train, &found, seed),
        None => Ok(Outcome::Refused(Refusal::NoTerm)),
    }
}

/// As [`correct`], and also returns the best candidate of each complexity at the end of the search, the fittest first,
/// whether or not it passes the gates: the candidates for a choice.
///
/// # Errors
/// [`Error::TooManyInputs`].
pub fn correct_and_front(
    specification: &Specification,
    train: &Table,
    base: &SemiEmpirical,
    case: Case,
    seed: u64,
    settings: &Settings,
) -> Result<(Outcome, Vec<Corrected>), Error> {
    let trial = Trial::new(specification, train, base, case, settings)?;
    let Some(found) = trial.search(train, seed) else {
        return Ok((Outcome::Refused(Refusal::NoTerm), Vec::new()));
    };
    let outcome = trial.outcome(train, &found, seed)?;
    let mut front = Vec::new();
    for candidate in &found.candidates {
        let share = trial.share(found.base_fitness - candidate.fitness);
        front.extend(trial.finish(train, candidate.genome.clone(), share)?);
    }
    Ok((outcome, front))
}

/// Result of a search, and the fitness of the base.
struct SearchResult {
    /// The fittest first; at least one.
    candidates: Vec<Candidate>,
    base_fitness: f64,
}

/// One search and its inputs.
pub(crate) struct Trial<'a> {
    pub(crate) specification: &'a Specification,
    pub(crate) base: &'a SemiEmpirical,
    case: Case,
    pub(crate) settings: &'a Settings,
    scalings: Vec<Scaling>,
    /// Inputs of the tree.
    terminals: Vec<Terminal>,
}

/// Geometric mean of a positive column; 1 of another.
fn unit_of(column: &[f64]) -> f64 {
    if column.iter().any(|x| *x <= 0.0) {
        return 1.0;
    }
    let sum: f64 = column.iter().map(|x| x.ln()).sum();
    (sum / column.len() as f64).exp()
}

/// The range of a column, stretched on both sides.
fn stretched(column: &[f64]) -> [f64; 2] {
    let low = column.iter().copied().fold(f64::INFINITY, f64::min);
    let high = column.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if low > 0.0 {
        return [low / STRETCH, high * STRETCH];
    }
    let room = (STRETCH - 1.0) * (high - low);
    [low - room, high + room]
}

impl<'a> Trial<'a> {
    fn new(
        specification: &'a Specification,
        train: &Table,
        base: &'a SemiEmpirical,
        case: Case,
        settings: &'a Settings,
    ) -> Result<Self, Error> {
        let times = specification.evaluate(train, &base.values);
        let mut trial = Self {
            specification,
            base,
            case,
            settings,
            scalings: scaling::find(specification, train, &times),
            terminals: Vec::new(),
        };
        trial.terminals = trial.inputs(train);
        let n_inputs = trial.terminals.len();
        if !case.searches_parameters() && n_inputs < MAX_INPUTS {
            let slopes = trial.slopes(train).into_iter();
            trial
                .terminals
                .extend(slopes.take(MAX_INPUTS - 1 - n_inputs));
        }
        match n_inputs < MAX_INPUTS {
            true => Ok(trial),
            false => Err(Error::TooManyInputs {
                model: specification.name.clone(),
                n_inputs,
                most: MAX_INPUTS - 1,
            }),
        }
    }

    /// The fittest candidate behind the gates.
    fn outcome(&self, train: &Table, found: &SearchResult, seed: u64) -> Result<Outcome, Error> {
        let Some(best) = found.candidates.first() else {
            return Ok(Outcome::Refused(Refusal::NoTerm));
        };
        let gain = found.base_fitness - best.fitness;
        if gain <= 0.0 {
            return Ok(Outcome::Refused(Refusal::TooLittle {
                base: self.error_of_base(train),
                gain,
            }));
        }
        let share = self.share(gain);
        let Some(mean) = self.mean(train, found, share)? else {
            return Ok(Outcome::Refused(Refusal::NoTerm));
        };
        let Some(held_out) = self.held_out(train, seed)? else {
            return Ok(Outcome::Refused(Refusal::NoTerm));
        };
        if let Some(Errors {
            base, corrected, ..
        }) = held_out.against(self.settings.held_out)
        {
            return Ok(Outcome::Refused(Refusal::HeldOut { base, corrected }));
        }
        Ok(Outcome::Accepted(Box::new(Corrected {
            held_out: Some(held_out),
            ..mean
        })))
    }

    /// The corrected model of a search, without the test at held-out points; `None` if nothing is gained.
    pub(crate) fn corrected(&self, train: &Table, seed: u64) -> Result<Option<Corrected>, Error> {
        let Some(found) = self.search(train, seed) else {
            return Ok(None);
        };
        let gain = |best: &Candidate| found.base_fitness - best.fitness;
        match found.candidates.first().map(gain) {
            Some(gain) if gain > 0.0 => self.mean(train, &found, self.share(gain)),
            _ => Ok(None),
        }
    }

    /// The same of other points with their base.
    pub(crate) fn of_base<'b>(
        &'b self,
        train: &Table,
        base: &'b SemiEmpirical,
    ) -> Result<Trial<'b>, Error> {
        Trial::new(self.specification, train, base, self.case, self.settings)
    }

    /// Columns of the inputs that the tree may see.
    pub(crate) fn varying<'t>(&self, table: &'t Table) -> impl Iterator<Item = &'t [f64]> {
        let of = |terminal: &Terminal| match terminal.source {
            Source::Input(place) => Some(table.inputs[place].as_slice()),
            Source::Slope(_) => None,
        };
        self.terminals.iter().filter_map(of)
    }

    /// The mean of the fittest candidates, weighted by fitness, as one model; of several equal ones only the fittest.
    fn mean(
        &self,
        train: &Table,
        found: &SearchResult,
        share: f64,
    ) -> Result<Option<Corrected>, Error> {
        let least = found.candidates[0].fitness;
        let mut members: Vec<(Corrected, Vec<f64>)> = Vec::new();
        for candidate in &found.candidates {
            let weight = ((least - candidate.fitness) / self.settings.averaging).exp();
            if weight < MIN_WEIGHT || members.len() == self.settings.averaged.max(1) {
                break;
            }
            let Some(member) = self.finish(train, candidate.genome.clone(), share)? else {
                continue;
            };
            let times = member.predict(self.specification, train);
            let is_same = |(_, known): &(Corrected, Vec<f64>)| {
                let mut pairs = known.iter().zip(&times);
                pairs.all(|(a, b)| (a / b - 1.0).abs() < SAME)
            };
            if !members.iter().any(is_same) {
                members.push((Corrected { weight, ..member }, times));
            }
        }
        let mut members = members.into_iter().map(|(member, _)| member);
        let Some(mut corrected) = members.next() else {
            return Ok(None);
        };
        corrected.others = members.collect();
        corrected.balance();
        while !corrected.others.is_empty() && corrected.model(self.specification, train).is_err() {
            corrected.others.pop();
            corrected.balance();
        }
        Ok(Some(corrected))
    }

    /// Share of a correction that its gain is evidence for.
    fn share(&self, gain: f64) -> f64 {
        let (signal, noise) = (gain.max(0.0).powi(3), self.settings.evidence.powi(3));
        signal / (signal + noise)
    }

    fn inputs(&self, table: &Table) -> Vec<Terminal> {
        let is_free = |input: &usize| {
            let column = &table.inputs[*input];
            let varies = column.iter().any(|x| *x != column[0]);
            varies && !self.scalings.iter().any(|scaling| scaling.input == *input)
        };
        let inputs = (0..table.inputs.len()).filter(is_free);
        inputs
            .map(|input| Terminal {
                source: Source::Input(input),
                unit: unit_of(&table.inputs[input]),
            })
            .collect()
    }

    /// Slopes of the base by its unknowns, if they vary and are finite.
    fn slopes(&self, table: &Table) -> Vec<Terminal> {
        let specification = self.specification;
        let mut values: BTreeMap<&str, f64> = BTreeMap::new();
        let constants = specification.constants.iter();
        values.extend(constants.map(|(name, value)| (name.as_str(), *value)));
        let of_scale = |scaling: &Scaling| (specification.inputs[scaling.input].as_str(), 1.0);
        values.extend(self.scalings.iter().map(of_scale));
        let names = specification.unknown_names();
        values.extend(names.iter().copied().zip(self.base.values.iter().copied()));
        let mut terminals: Vec<Terminal> = Vec::new();
        for name in names {
            let Some(slope) = slope(specification.expression(), name, &values) else {
                continue;
            };
            let column = specification.evaluate_part(&slope, table);
            let squares: f64 = column.iter().map(|x| x * x).sum();
            let unit = (squares / column.len() as f64).sqrt();
            let varies = column.iter().any(|x| (x - column[0]).abs() > 1e-9 * unit);
            if unit.is_finite() && unit > 0.0 && varies {
                let source = Source::Slope(slope);
                terminals.push(Terminal { source, unit });
            }
        }
        terminals
    }

    /// Points that a tree cannot distinguish: they differ only in inputs that scale the time.
    pub(crate) fn groups(&self, table: &Table) -> Vec<Vec<usize>> {
        let mut groups: Vec<(Vec<f64>, Vec<usize>)> = Vec::new();
        let inputs = self
            .terminals
            .iter()
            .filter_map(|terminal| match terminal.source {
                Source::Input(place) => Some(place),
                Source::Slope(_) => None,
            });
        let inputs: Vec<usize> = inputs.collect();
        for i in 0..table.len() {
            let at: Vec<f64> = inputs.iter().map(|j| table.inputs[*j][i]).collect();
            match groups.iter_mut().find(|(known, _)| *known == at) {
                Some((_, members)) => members.push(i),
                None => groups.push((at, vec![i])),
            }
        }
        groups.into_iter().map(|(_, members)| members).collect()
    }

    /// Mean square of the weighted residuals that is attributed to noise, from the expected noise of times and from
    /// repeated observations.
    fn noise_squares(&self, table: &Table) -> f64 {
        let scale = scaling::factor(&self.scalings, table);
        let freedom = self.settings.noise_freedom;
        let (mut squares, mut n) = (freedom * self.settings.noise.powi(2), freedom);
        for members in self.groups(table) {
            let times = members.iter().map(|i| table.observed[*i] / scale[*i]);
            let times: Vec<f64> = times.collect();
            let mean = times.iter().sum::<f64>() / times.len() as f64;
            squares += times.iter().map(|t| (t / mean - 1.0).powi(2)).sum::<f64>();
            n += times.len() as f64 - 1.0;
        }
        let roots = self.settings.residuals.roots(table);
        let pairs = roots.iter().zip(&table.observed);
        let weights: f64 = pairs.map(|(root, y)| (root * y).powi(2)).sum();
        (squares / n * weights / table.len() as f64).max(f64::MIN_POSITIVE)
    }

    fn base_unit(&self, table: &Table) -> f64 {
        let scale = scaling::factor(&self.scalings, table);
        let base = self.specification.evaluate(table, &self.base.values);
        let over_scale: Vec<f64> = base.iter().zip(&scale).map(|(b, s)| b / s).collect();
        unit_of(&over_scale)
    }

    fn problem<'p>(
        &self,
        table: &Table,
        formula: &'p crate::column_formula::ColumnFormula,
    ) -> Problem<'p> {
        let scale = scaling::factor(&self.scalings, table);
        let base = self.specification.evaluate(table, &self.base.values);
        let over_scale: Vec<f64> = base.iter().zip(&scale).map(|(b, s)| b / s).collect();
        let base_unit = self.base_unit(table);
        let of = |terminal: &Terminal| terminal.column(self.specification, table);
        let mut inputs: Vec<Vec<f64>> = self.terminals.iter().map(of).collect();
        let is_input = |terminal: &&Terminal| matches!(terminal.source, Source::Input(_));
        let n_plain = self.terminals.iter().filter(is_input).count();
        if self.case.is_integrated() {
            inputs.push(over_scale.iter().map(|b| b / base_unit).collect());
        }
        let room = self.settings.parameter_range;
        let bounds = self.specification.unknowns.values();
        let ranges = self.base.values.iter().zip(bounds).map(|(value, unknown)| {
            let half = room * value.abs();
            [
                (value - half).max(unknown.lower),
                (value + half).min(unknown.upper),
            ]
        });
        Problem {
            case: self.case,
            base: formula,
            fitted: self.base.values.clone(),
            ranges: ranges.collect(),
            limits: inputs.iter().map(|column| stretched(column)).collect(),
            inputs,
            n_plain,
            base_unit,
            n_distinct: self.groups(table).len() as f64,
            scale,
            observed: table.observed.clone(),
            roots: self.settings.residuals.roots(table),
            noise_squares: self.noise_squares(table),
        }
    }

    fn search(&self, table: &Table, seed: u64) -> Option<SearchResult> {
        let formula = self.specification.over(table)?;
        let problem = self.problem(table, &formula);
        if problem.inputs.is_empty() {
            return None;
        }
        Some(SearchResult {
            candidates: search(&problem, &self.settings.search, seed),
            base_fitness: problem.fitness_of_base(),
        })
    }

    fn error_of_base(&self, table: &Table) -> f64 {
        let times = self.specification.evaluate(table, &self.base.values);
        relative_error(&table.observed, &times)
    }

    /// The corrected model of a tree, its constants at their best over a table.
    fn finish(
        &self,
        table: &Table,
        genome: Genome,
        share: f64,
    ) -> Result<Option<Corrected>, Error> {
        let found = self.refined(table, genome)?;
        Ok(found.map(|corrected| Corrected { share, ..corrected }))
    }

    /// A corrected model that counts fully, with its constants optimal over a table.
    fn refined(&self, table: &Table, mut genome: Genome) -> Result<Option<Corrected>, Error> {
        let Some(formula) = self.specification.over(table) else {
            return Ok(None);
        };
        let problem = self.problem(table, &formula);
        let mut workspace = problem.workspace();
        let genes = genome.parameters.genes.clone();
        genome.parameters = Rc::new(problem.parameters(genes, &workspace));
        let before = genome.clone();
        refine(
            &problem,
            &mut genome,
            &mut workspace,
            LAST_STEPS,
            self.settings.search.gene_price,
        );
        if range_over(&genome.tree, &problem.limits).is_none() {
            genome = before;
        }
        let Some(linear) = problem.linear(&genome.tree, &genome.parameters, &mut workspace) else {
            return Ok(None);
        };
        let unknowns = problem.unknowns(&genome.parameters.genes);
        let base = self.specification.evaluate(table, &unknowns);
        let ratios: Vec<f64> = table
            .observed
            .iter()
            .zip(&base)
            .map(|(y, b)| y / b)
            .collect();
        let low = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        let high = ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let clip = self.settings.clip;
        let range = |column: &Vec<f64>| {
            [
                column.iter().copied().fold(f64::INFINITY, f64::min),
                column.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            ]
        };
        Ok(Some(Corrected {
            case: self.case,
            unknowns,
            fitted: self.base.values.clone(),
            share: 1.0,
            weight: 1.0,
            others: Vec::new(),
            scalings: self.scalings.clone(),
            terminals: self.terminals.clone(),
            base_unit: problem.base_unit,
            tree: genome.tree,
            linear,
            ratio: [(low / clip).max(MIN_RATIO), (high * clip).max(MIN_RATIO)],
            ranges: table.inputs.iter().map(range).collect(),
            reach: self.settings.reach,
            held_out: None,
        }))
    }
}

impl Corrected {
    /// Times at the points of a table, seconds.
    pub fn predict(&self, specification: &Specification, table: &Table) -> Vec<f64> {
        let fitted = specification.evaluate(table, &self.fitted);
        let mut times = fitted.clone();
        for member in self.members() {
            let factors = member.factors(specification, table, &fitted);
            let share = self.share * member.weight;
            let pairs = times.iter_mut().zip(factors);
            pairs.for_each(|(time, factor)| *time *= factor.powf(share));
        }
        times
    }

    /// This candidate, then the others that the model is the mean of.
    pub(crate) fn members(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(&self.others)
    }

    /// Number of models that this one is the weighted geometric mean of; 1 for a single one.
    pub fn n_members(&self) -> usize {
        1 + self.others.len()
    }

    /// The fittest candidate alone, without the others of the mean; its error at held-out points is `single`.
    #[must_use]
    pub fn alone(&self) -> Self {
        Self {
            weight: 1.0,
            others: Vec::new(),
            ..self.clone()
        }
    }

    /// Errors at held-out points; `None` for a model that has passed no gate.
    pub fn held_out(&self) -> Option<&HeldOut> {
        self.held_out.as_ref()
    }

    /// Weight and unknowns of the base of each model that this one is the mean of, the fittest first.
    pub fn bases(&self) -> impl Iterator<Item = (f64, &[f64])> {
        self.members()
            .map(|member| (member.weight, member.unknowns.as_slice()))
    }

    /// Makes all weights together 1.
    fn balance(&mut self) {
        let sum: f64 = self.members().map(|member| member.weight).sum();
        self.weight /= sum;
        self.others.iter_mut().for_each(|other| other.weight /= sum);
    }

    /// The corrected times of this candidate alone, with the full correction, divided by those of the base as
    /// fitted.
    fn factors(&self, specification: &Specification, table: &Table, fitted: &[f64]) -> Vec<f64> {
        let base = specification.evaluate(table, &self.unknowns);
        let scale = scaling::factor(&self.scalings, table);
        let of = |terminal: &Terminal| terminal.column(specification, table);
        let mut inputs: Vec<Vec<f64>> = self.terminals.iter().map(of).collect();
        if self.case.is_integrated() {
            let over = base.iter().zip(&scale).map(|(b, s)| b / s / self.base_unit);
            inputs.push(over.collect());
        }
        let mut tree = vec![0.0; table.len()];
        let columns: Vec<&[f64]> = inputs.iter().map(Vec::as_slice).collect();
        Evaluator::new(table.len()).evaluate(&self.tree, &columns, &mut tree);
        let factor = |i: usize| {
            let term = scale[i] * (self.linear.constant + self.linear.factor * tree[i]);
            let ratio = (self.linear.of_base * base[i] + term) / base[i];
            // In this order, which the formula has too: never NaN.
            let capped = self.ratio[1].min(ratio);
            let ratio = capped.max(self.ratio[0]).powf(self.trust(&table.point(i)));
            if !self.is_moved() {
                return ratio;
            }
            let capped = (1.0 / MIN_RATIO).min(base[i] * ratio / fitted[i]);
            capped.max(MIN_RATIO)
        };
        (0..table.len()).map(factor).collect()
    }

    /// Whether the base has other parameters than those fitted.
    pub(crate) fn is_moved(&self) -> bool {
        self.fitted != self.unknowns
    }

    /// Share of the correction that counts, of its logarithm: as much as its gain is evidence for.
    pub fn share(&self) -> f64 {
        self.share
    }

    /// Least and greatest ratio of the corrected time to the base, of the fittest candidate.
    pub fn ratio_range(&self) -> [f64; 2] {
        self.ratio
    }

    /// Sets an unknown; its value in the fitted base, and in the other members of a mean, moves by the
    /// same factor.
    pub(crate) fn set_unknown(&mut self, place: usize, value: f64) {
        let factor = value / self.unknowns[place];
        let moved = |known: f64| match factor.is_finite() {
            true => factor * known,
            false => value,
        };
        for other in &mut self.others {
            other.fitted[place] = moved(other.fitted[place]);
            other.unknowns[place] = moved(other.unknowns[place]);
        }
        self.fitted[place] = moved(self.fitted[place]);
        self.unknowns[place] = value;
    }

    /// Sets the ends of the ratio to the base, for all members of the mean.
    pub(crate) fn set_ratio(&mut self, ratio: [f64; 2]) {
        self.ratio = ratio;
        self.others.iter_mut().for_each(|other| other.ratio = ratio);
    }

    /// Share of the correction that counts at a point: 1 in the range of the training points, less the further out.
    fn trust(&self, point: &[f64]) -> f64 {
        let beyond = |(input, [low, high]): (usize, [f64; 2])| {
            let x = point[input];
            match low > 0.0 {
                true => (x / high).max(low / x).max(1.0),
                false => 1.0 + ((x - high).max(low - x).max(0.0)) / (high - low).max(1e-300),
            }
        };
        let distance: f64 = self.damped_inputs().map(beyond).product();
        1.0 / (1.0 + distance.ln() / self.reach.ln())
    }

    /// Inputs beyond whose range the correction is damped, with the range: all except those that scale the
    /// time.
    pub(crate) fn damped_inputs(&self) -> impl Iterator<Item = (usize, [f64; 2])> + '_ {
        let is_scaling = |input: usize| self.scalings.iter().any(|s| s.input == input);
        let ranges = self.ranges.iter().copied().enumerate();
        ranges.filter(move |(input, _)| !is_scaling(*input))
    }
}
