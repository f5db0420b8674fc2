//! A semi-empirical model with its error correction term.

use fastrand::Rng;

use crate::case::Case;
use crate::error::Error;
use crate::scaling::{self, Scaling};
use crate::search::evaluator::{Evaluator, range_over};
use crate::search::problem::{Genome, Linear, Problem, complexity};
use crate::search::refine::refine;
use crate::search::tree::Tree;
use crate::search::{Candidate, SearchSettings, search};
use crate::semi_empirical::{Residuals, SemiEmpirical};
use crate::specification::Specification;
use crate::table::Table;

/// Settings of a correction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Of the search.
    pub search: SearchSettings,
    /// What is minimised.
    pub residuals: Residuals,
    /// How far a searched parameter may go from its fit, as a share of its value.
    pub parameter_range: f64,
    /// Candidates of the search, the fittest of each complexity, that are judged by points held out.
    pub n_validated: usize,
    /// Price of a node in that judgement, in units of the deviance.
    pub validated_price: f64,
    /// The error at points held out, as a share of the base's error at all training points, below which a term is
    /// accepted where no points are repeated; 1 where they are.
    pub gate: f64,
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
            parameter_range: 0.3,
            n_validated: 4,
            validated_price: 1.0,
            gate: 0.75,
            clip: 1.3,
            reach: 16.0,
        }
    }
}

/// Factor about the training range within which trees must be bounded.
const STRETCH: f64 = 1.5;

/// Least ratio to the base: a time stays positive where its base is.
const MIN_RATIO: f64 = 1e-3;

/// Base error by that of repeated observations up to which there is nothing to correct, and degrees of freedom from
/// which on the latter is taken for known.
const NOISE_RATIO: f64 = 2.5;
const MIN_REPEATED: usize = 2;

/// Steps of the last refinement.
const LAST_STEPS: usize = 20;

/// Steps of the refinement without a group of points, and most groups left out one by one.
const FOLD_STEPS: usize = 6;
const MAX_FOLDS: usize = 12;

/// A corrected model.
#[derive(Debug, Clone, PartialEq)]
pub struct Corrected {
    /// Which case.
    pub case: Case,
    /// Unknowns of the base: as fitted in cases 1 and 2, as searched in cases 3 and 4.
    pub unknowns: Vec<f64>,
    pub(crate) scalings: Vec<Scaling>,
    /// Inputs of the tree and what they are divided by.
    pub(crate) terminals: Vec<(usize, f64)>,
    pub(crate) base_unit: f64,
    pub(crate) tree: Tree,
    pub(crate) linear: Linear,
    /// Ends of the ratio to the base.
    pub(crate) ratio: [f64; 2],
    /// Range of each input at the training points.
    pub(crate) ranges: Vec<[f64; 2]>,
    pub(crate) reach: f64,
}

/// What became of a trial.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It beat its base on the points held out.
    Accepted(Box<Corrected>),
    /// It did not: the base stands.
    Refused(Refusal),
}

/// Why the base stands.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Refusal {
    /// No term was found that is finite everywhere near the points.
    NoTerm,
    /// The base is as near to the observations as repeated observations are to each other: there is nothing to correct.
    Noise {
        /// Root mean square relative error of the base.
        base: f64,
        /// Relative standard deviation of repeated observations.
        noise: f64,
    },
    /// The term did not beat the base on the points held out.
    HeldOut {
        /// Root mean square relative error of the base there.
        base: f64,
        /// That of the corrected model.
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
pub fn correct(
    specification: &Specification,
    train: &Table,
    base: &SemiEmpirical,
    case: Case,
    seed: u64,
    settings: &Settings,
) -> Result<Outcome, Error> {
    let trial = Trial {
        specification,
        base,
        case,
        settings,
        scalings: scaling::find(
            specification,
            train,
            &specification.evaluate(train, &base.values),
        ),
    };
    let of_base = relative_error(
        &train.observed,
        &specification.evaluate(train, &base.values),
    );
    let noise = trial.noise(train);
    if let Some(noise) = noise
        && of_base <= NOISE_RATIO * noise
    {
        return Ok(Outcome::Refused(Refusal::Noise {
            base: of_base,
            noise,
        }));
    }
    // Without repetitions the noise is not known, and the term has more to prove.
    let gate = match noise {
        Some(_) => 1.0,
        None => settings.gate,
    };
    let candidates = trial.search(train, seed)?;
    let mut best: Option<(f64, f64, Genome)> = None;
    for candidate in candidates.into_iter().take(settings.n_validated) {
        let error = trial.held_out_error(train, &candidate.genome, seed);
        let n = trial.groups(train).len() as f64;
        let price = settings.validated_price * complexity(&candidate.genome.tree);
        let score = 2.0 * n * error.ln() + price;
        if score.is_finite() && best.as_ref().is_none_or(|(least, ..)| score < *least) {
            best = Some((score, error, candidate.genome));
        }
    }
    let Some((_, error, genome)) = best else {
        return Ok(Outcome::Refused(Refusal::NoTerm));
    };
    if error >= gate * of_base {
        return Ok(Outcome::Refused(Refusal::HeldOut {
            base: of_base,
            corrected: error,
        }));
    }
    Ok(match trial.finish(train, genome)? {
        Some(corrected) => Outcome::Accepted(Box::new(corrected)),
        None => Outcome::Refused(Refusal::NoTerm),
    })
}

struct Trial<'a> {
    specification: &'a Specification,
    base: &'a SemiEmpirical,
    case: Case,
    settings: &'a Settings,
    scalings: Vec<Scaling>,
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

impl Trial<'_> {
    fn terminals(&self, table: &Table) -> Vec<(usize, f64)> {
        let is_free = |input: &usize| {
            let column = &table.inputs[*input];
            let varies = column.iter().any(|x| *x != column[0]);
            varies && !self.scalings.iter().any(|scaling| scaling.input == *input)
        };
        let inputs = (0..table.inputs.len()).filter(is_free);
        inputs
            .map(|input| (input, unit_of(&table.inputs[input])))
            .collect()
    }

    /// Points that a tree cannot tell apart: those that differ in nothing but inputs that scale the time.
    fn groups(&self, table: &Table) -> Vec<Vec<usize>> {
        let mut groups: Vec<(Vec<f64>, Vec<usize>)> = Vec::new();
        let terminals = self.terminals(table);
        for i in 0..table.len() {
            let at: Vec<f64> = terminals.iter().map(|(j, _)| table.inputs[*j][i]).collect();
            match groups.iter_mut().find(|(known, _)| *known == at) {
                Some((_, members)) => members.push(i),
                None => groups.push((at, vec![i])),
            }
        }
        groups.into_iter().map(|(_, members)| members).collect()
    }

    /// Relative standard deviation of the scaled times of points that a tree cannot tell apart; `None` where too few are
    /// repeated.
    fn noise(&self, table: &Table) -> Option<f64> {
        let scale = scaling::factor(&self.scalings, table);
        let (mut squares, mut freedom) = (0.0, 0);
        for members in self.groups(table) {
            let times = members.iter().map(|i| table.observed[*i] / scale[*i]);
            let times: Vec<f64> = times.collect();
            let mean = times.iter().sum::<f64>() / times.len() as f64;
            squares += times.iter().map(|t| (t / mean - 1.0).powi(2)).sum::<f64>();
            freedom += times.len() - 1;
        }
        (freedom >= MIN_REPEATED).then(|| (squares / freedom as f64).sqrt())
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
        whole: &Table,
        formula: &'p crate::column_formula::ColumnFormula,
    ) -> Problem<'p> {
        let scale = scaling::factor(&self.scalings, table);
        let base = self.specification.evaluate(table, &self.base.values);
        let over_scale: Vec<f64> = base.iter().zip(&scale).map(|(b, s)| b / s).collect();
        let base_unit = self.base_unit(whole);
        let terminals = self.terminals(whole);
        let of = |(input, unit): &(usize, f64)| -> Vec<f64> {
            table.inputs[*input].iter().map(|x| x / unit).collect()
        };
        let mut inputs: Vec<Vec<f64>> = terminals.iter().map(of).collect();
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
            base_unit,
            n_distinct: self.groups(table).len() as f64,
            scale,
            observed: table.observed.clone(),
            roots: self.settings.residuals.roots(table),
        }
    }

    fn search(&self, table: &Table, seed: u64) -> Result<Vec<Candidate>, Error> {
        let Some(formula) = self.specification.over(table) else {
            return Ok(Vec::new());
        };
        let problem = self.problem(table, table, &formula);
        if problem.inputs.is_empty() {
            return Ok(Vec::new());
        }
        Ok(search(&problem, &self.settings.search, seed))
    }

    /// Root mean square relative error at points held out: every group of points that differ in nothing a tree sees is left
    /// out once, and the constants are found from the others.
    fn held_out_error(&self, table: &Table, genome: &Genome, seed: u64) -> f64 {
        let mut groups = self.groups(table);
        Rng::with_seed(seed).shuffle(&mut groups);
        let n_folds = groups.len().min(MAX_FOLDS);
        let mut squares = 0.0;
        for fold in 0..n_folds {
            let mut parts = [Vec::new(), Vec::new()];
            for (place, members) in groups.iter().enumerate() {
                parts[usize::from(place % n_folds == fold)].extend(members);
            }
            let [kept, left_out] = parts.map(|places| table.at(&places));
            let Ok(Some(corrected)) = self.refined(&kept, table, genome.clone(), FOLD_STEPS) else {
                return f64::INFINITY;
            };
            let calculated = corrected.predict(self.specification, &left_out);
            let error = relative_error(&left_out.observed, &calculated);
            squares += error * error * left_out.len() as f64;
        }
        (squares / table.len() as f64).sqrt()
    }

    /// The corrected model of a tree, its constants at their best over a table.
    fn finish(&self, table: &Table, genome: Genome) -> Result<Option<Corrected>, Error> {
        self.refined(table, table, genome, LAST_STEPS)
    }

    /// # Arguments
    /// * `whole` - the table whose units the tree has
    fn refined(
        &self,
        table: &Table,
        whole: &Table,
        mut genome: Genome,
        n_steps: usize,
    ) -> Result<Option<Corrected>, Error> {
        let Some(formula) = self.specification.over(table) else {
            return Ok(None);
        };
        let problem = self.problem(table, whole, &formula);
        let mut workspace = problem.workspace();
        let before = genome.clone();
        refine(&problem, &mut genome, &mut workspace, n_steps);
        if range_over(&genome.tree, &problem.limits).is_none() {
            genome = before;
        }
        let Some(linear) = problem.linear(&genome, &mut workspace) else {
            return Ok(None);
        };
        let unknowns = problem.unknowns(&genome.genes);
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
            scalings: self.scalings.clone(),
            terminals: self.terminals(whole),
            base_unit: problem.base_unit,
            tree: genome.tree,
            linear,
            ratio: [(low / clip).max(MIN_RATIO), (high * clip).max(MIN_RATIO)],
            ranges: table.inputs.iter().map(range).collect(),
            reach: self.settings.reach,
        }))
    }
}

impl Corrected {
    /// Times at the points of a table, seconds.
    pub fn predict(&self, specification: &Specification, table: &Table) -> Vec<f64> {
        let base = specification.evaluate(table, &self.unknowns);
        let scale = scaling::factor(&self.scalings, table);
        let of = |(input, unit): &(usize, f64)| -> Vec<f64> {
            table.inputs[*input].iter().map(|x| x / unit).collect()
        };
        let mut inputs: Vec<Vec<f64>> = self.terminals.iter().map(of).collect();
        if self.case.is_integrated() {
            let over = base.iter().zip(&scale).map(|(b, s)| b / s / self.base_unit);
            inputs.push(over.collect());
        }
        let mut tree = vec![0.0; table.len()];
        Evaluator::new(table.len()).evaluate(&self.tree, &inputs, &mut tree);
        let time = |i: usize| {
            let term = scale[i] * (self.linear.constant + self.linear.factor * tree[i]);
            let ratio = (self.linear.of_base * base[i] + term) / base[i];
            // In this order, which the formula has too: never NaN.
            let capped = self.ratio[1].min(ratio);
            let ratio = capped.max(self.ratio[0]);
            base[i] * ratio.powf(self.trust(&table.point(i)))
        };
        (0..table.len()).map(time).collect()
    }

    /// Least and greatest ratio of the corrected time to the base.
    pub fn ratio_range(&self) -> [f64; 2] {
        self.ratio
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

    /// Inputs beyond whose range the correction is damped, with the range: all but those that scale the time.
    pub(crate) fn damped_inputs(&self) -> impl Iterator<Item = (usize, [f64; 2])> + '_ {
        let is_scaling = |input: usize| self.scalings.iter().any(|s| s.input == input);
        let ranges = self.ranges.iter().copied().enumerate();
        ranges.filter(move |(input, _)| !is_scaling(*input))
    }
}
