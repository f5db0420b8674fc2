//! Decision tables inside a site: finds where models cross, and compiles the class for each call into a table.
//!
//! ```text
//! factors = two:   n < 8  default | n < 410  Gsl | n < 131073  RustFft | default
//! factors = large: n < 11 default | n < 4592  RustFft | default
//! ```
//!
//! At each point, the class of least expected time replaces the default if it is likely to be faster, by all credible
//! formulas of both classes, and by more than 1 %. Redirecting a call costs nothing, so the probability need only
//! exceed one half. Where calls were measured near a point, their ratio of measured to predicted time corrects the
//! prediction ([`Nearby`]).
//!
//! With one numeric parameter, the points form a grid over the measured range of the default class. Neighbouring points
//! of the same class are merged, and bisection finds each bound between two classes. Several parameters of a method are
//! usually correlated, so most combinations in their ranges never occur. The points are then the recorded coordinates,
//! from the workload and from the runs that correct predictions, points between neighbouring ones, and a sparse grid.
//! The table is a decision tree ([`tree`]).

use std::collections::{BTreeMap, BTreeSet};

use mastermind_models::{Coordinate, Model, ModelSet, Total, Value};
use statrs::function::erf::erfc;

use crate::error::Error;
use crate::nearby::Nearby;
use crate::workload::{Workload, model_name};

mod points;
mod tree;

use self::points::points;
use self::tree::{Point, Splits, tree};

/// Grid points along the parameter of a method with one numeric parameter.
const N_ALONG: usize = 192;

/// Calls outside the measured range, by up to this factor, go to the class at the end of the range. Calls further
/// outside go to the default class.
const BEYOND: f64 = 2.0;

/// Bisection steps between two neighbouring points of different classes.
const HALVINGS: usize = 12;

/// Share of the default's time that another class must be expected to save; a smaller gain does not justify a table
/// step.
const LEAST_GAIN: f64 = 0.01;

/// Upper limit of the additional time of a class relative to the best class; also used for classes without a
/// prediction.
const MOST_MORE: f64 = 1e3;

/// Probability of being faster above which a class replaces the default.
const RATHER: f64 = 0.5;

/// Number of calls whose mean time is compared: so many that the spread of single calls is negligible.
const N_COMPARED: f64 = 1e6;

/// The decision table of one method.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Decisions {
    /// Steps, the first one first; each step leads only to later ones. Empty if all calls go to the default class.
    pub steps: Vec<DecisionStep>,
}

/// A test of one parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct DecisionStep {
    /// The parameter.
    pub parameter: String,
    /// How the parameter's values are divided.
    pub split: Split,
    /// The target of each range.
    pub next: Vec<Next>,
}

/// How the values of a parameter are divided.
#[derive(Debug, Clone, PartialEq)]
pub enum Split {
    /// Lower bounds of all ranges but the first, ascending.
    Bounds(Vec<f64>),
    /// One range for each of these values; any other value goes to the default class.
    Labels(Vec<String>),
}

/// The target of a range.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// A later step.
    Step(usize),
    /// A class.
    Class(String),
}

impl Decisions {
    /// The classes that the table uses.
    pub fn classes(&self) -> BTreeSet<&str> {
        let ends = self.steps.iter().flat_map(|step| &step.next);
        ends.filter_map(|next| match next {
            Next::Class(class) => Some(class.as_str()),
            Next::Step(_) => None,
        })
        .collect()
    }

    /// The class for a call; None for the default class, where the table has no entry.
    pub fn class(&self, coordinate: &Coordinate) -> Option<&str> {
        let mut step = self.steps.first()?;
        loop {
            let place = match &step.split {
                Split::Bounds(bounds) => {
                    let x = coordinate.number(&step.parameter)?;
                    bounds.iter().filter(|bound| **bound <= x).count()
                }
                Split::Labels(labels) => {
                    let label = coordinate.label(&step.parameter)?;
                    labels.iter().position(|known| known == label)?
                }
            };
            match &step.next[place] {
                Next::Step(next) => step = &self.steps[*next],
                Next::Class(class) => return Some(class),
            }
        }
    }
}

/// Builds the table that assigns each call of a method to a class.
///
/// # Arguments
/// * `instance` - the site; errors name it
/// * `classes` - the candidates, the default first; a class without a model is never chosen
/// * `port_method` - the method, `PORT.METHOD`
/// * `workload` - the metric, and the sizes that the site is called with; its times are ignored
/// * `nearby` - measured times that correct predictions
///
/// # Returns
/// The table; without steps if every call goes to the default.
///
/// # Errors
/// [`Error::Predict`] if a model cannot be evaluated within its range.
pub fn decide(
    models: &ModelSet,
    instance: &str,
    classes: &[String],
    port_method: &str,
    workload: &Workload,
    nearby: &Nearby,
) -> Result<Decisions, Error> {
    let site = Site {
        nearby,
        models,
        instance,
        classes,
        port_method,
        workload,
    };
    let labels = site.labels();
    let tree = site.by_labels(&labels, &Coordinate::new())?;
    Ok(decisions(tree, classes))
}

/// A decision tree under construction.
#[derive(Debug, Clone, PartialEq)]
enum Tree {
    /// Index of a class.
    Class(usize),
    Step {
        parameter: String,
        split: Split,
        next: Vec<Tree>,
    },
}

const DEFAULT: Tree = Tree::Class(0);

struct Site<'a> {
    nearby: &'a Nearby,
    models: &'a ModelSet,
    instance: &'a str,
    classes: &'a [String],
    port_method: &'a str,
    workload: &'a Workload,
}

impl Site<'_> {
    fn of_site(&self) -> impl Iterator<Item = &Model> {
        let names: Vec<_> = self
            .classes
            .iter()
            .map(|class| model_name(class, self.port_method))
            .collect();
        let models = self.models.models.iter();
        models.filter(move |model| {
            model.metric == self.workload.metric && names.contains(&model.method)
        })
    }

    /// Enumeration parameters, each with the values that at least one model covers.
    fn labels(&self) -> Vec<(String, BTreeSet<String>)> {
        let mut found: Vec<(String, BTreeSet<String>)> = Vec::new();
        for model in self.of_site() {
            let shared = model
                .shared
                .iter()
                .flat_map(|(name, labels)| labels.iter().map(move |l| (name, l)));
            for (name, label) in model.mode.iter().chain(shared) {
                match found.iter_mut().find(|(known, _)| known == name) {
                    Some((_, labels)) => drop(labels.insert(label.clone())),
                    None => found.push((name.clone(), [label.clone()].into())),
                }
            }
        }
        found
    }

    fn by_labels(
        &self,
        labels: &[(String, BTreeSet<String>)],
        at: &Coordinate,
    ) -> Result<Tree, Error> {
        let Some(((parameter, values), rest)) = labels.split_first() else {
            return self.by_numbers_of_default(at);
        };
        let next = values
            .iter()
            .map(|label| self.by_labels(rest, &at.clone().with(parameter, label.as_str())));
        let next: Vec<Tree> = next.collect::<Result<_, _>>()?;
        if next.iter().all(|tree| *tree == DEFAULT) {
            return Ok(DEFAULT);
        }
        Ok(Tree::Step {
            parameter: parameter.clone(),
            split: Split::Labels(values.iter().cloned().collect()),
            next,
        })
    }

    /// Models of the candidates in a mode, with the index of each class.
    fn in_mode(&self, at: &Coordinate) -> Vec<(usize, &Model)> {
        let find = |class: &String| {
            self.models
                .find(
                    &model_name(class, self.port_method),
                    self.workload.metric.clone(),
                    at,
                )
                .ok()
        };
        let found = self.classes.iter().enumerate();
        found
            .filter_map(|(place, class)| Some((place, find(class)?)))
            .collect()
    }

    fn by_numbers_of_default(&self, at: &Coordinate) -> Result<Tree, Error> {
        let candidates = self.in_mode(at);
        let Some((0, default)) = candidates.first() else {
            return Ok(DEFAULT);
        };
        let ranges: Vec<(&String, [f64; 2])> = default
            .range
            .iter()
            .map(|(name, range)| (name, *range))
            .collect();
        match ranges[..] {
            [] => self.at_point(&candidates, at).map(Tree::Class),
            [range] => self.by_number(&candidates, range, at),
            _ => self.by_numbers(&candidates, &ranges, at),
        }
    }

    fn by_number(
        &self,
        candidates: &[(usize, &Model)],
        (parameter, [low, high]): (&String, [f64; 2]),
        at: &Coordinate,
    ) -> Result<Tree, Error> {
        let class = |x: f64| {
            let at = at.clone().with(parameter, x);
            self.at_point(candidates, &at).map(Tree::Class)
        };
        let points = grid(low, high, N_ALONG);
        let (mut bounds, mut next) = (Vec::new(), vec![DEFAULT]);
        let mut begins = |place: f64, tree: Tree| {
            if *next.last().unwrap_or(&DEFAULT) != tree {
                bounds.push(place);
                next.push(tree);
            }
        };
        let [begin, end] = beyond([low, high]);
        let mut before = class(low)?;
        begins(begin, before.clone());
        for pair in points.windows(2) {
            let here = class(pair[1])?;
            if here != before {
                let place = halved(pair[0], pair[1], |x| Ok(class(x)? == before))?;
                begins(place, here.clone());
                before = here;
            }
        }
        begins(end, DEFAULT);
        Ok(match bounds[..] {
            [] => DEFAULT,
            _ => Tree::Step {
                parameter: parameter.clone(),
                split: Split::Bounds(bounds),
                next,
            },
        })
    }

    /// A tree over several numeric parameters, within the measured ranges of the default class.
    fn by_numbers(
        &self,
        candidates: &[(usize, &Model)],
        ranges: &[(&String, [f64; 2])],
        at: &Coordinate,
    ) -> Result<Tree, Error> {
        let recorded = self.recorded(candidates);
        let mut known = Vec::new();
        for (sizes, weight) in points(ranges, at, &recorded) {
            let named = ranges.iter().zip(&sizes);
            let at = named.fold(at.clone(), |at, ((name, _), x)| at.with(name, *x));
            if let Some(more) = self.more(candidates, &at)? {
                known.push(Point {
                    sizes,
                    more: more.iter().map(|more| weight * more).collect(),
                    weight,
                });
            }
        }
        let names: Vec<_> = ranges.iter().map(|(name, _)| name.as_str()).collect();
        let inner = split(&names, tree(&known, LEAST_GAIN));
        if inner == DEFAULT {
            return Ok(DEFAULT);
        }
        let outside = |inner: Tree, (parameter, range): &(&String, [f64; 2])| {
            let next = vec![DEFAULT, inner, DEFAULT];
            step(parameter, beyond(*range).into(), next)
        };
        Ok(ranges.iter().rev().fold(inner, outside))
    }

    /// Recorded coordinates: those of the workload's calls at the site, and those of each candidate that correct
    /// predictions.
    fn recorded(&self, candidates: &[(usize, &Model)]) -> Vec<&Coordinate> {
        let calls = self.workload.calls.iter();
        let of_site = calls
            .filter(|call| call.instance == self.instance && call.port_method == self.port_method)
            .map(|call| &call.coordinate);
        let of_candidates = candidates.iter().flat_map(|(place, _)| {
            let name = model_name(&self.classes[*place], self.port_method);
            self.nearby.coordinates(&name)
        });
        of_site.chain(of_candidates).collect()
    }

    /// Additional time of a call at a point with each class, relative to the best class; None if the default class has
    /// no prediction. It is 0 for the default where the default is chosen, and [`MOST_MORE`] for a class without a
    /// prediction.
    fn more(
        &self,
        candidates: &[(usize, &Model)],
        at: &Coordinate,
    ) -> Result<Option<Vec<f64>>, Error> {
        let expected = self.expected(candidates, at)?;
        if !expected.iter().any(|(place, _)| *place == 0) {
            return Ok(None);
        }
        let mut times_s = vec![f64::INFINITY; self.classes.len()];
        for (place, expected) in &expected {
            times_s[*place] = expected.time_s;
        }
        let least_s = times_s.iter().copied().fold(f64::INFINITY, f64::min);
        let best = self.best(&expected);
        if best == 0 {
            times_s[0] = least_s;
        }
        let more = times_s.iter().map(|s| (s / least_s - 1.0).min(MOST_MORE));
        Ok(Some(more.collect()))
    }

    /// The chosen class for calls at a point.
    fn at_point(&self, candidates: &[(usize, &Model)], at: &Coordinate) -> Result<usize, Error> {
        Ok(self.best(&self.expected(candidates, at)?))
    }

    /// Expected times of calls at a point, with the index of each class; only for classes whose model covers the point.
    fn expected(
        &self,
        candidates: &[(usize, &Model)],
        at: &Coordinate,
    ) -> Result<Vec<(usize, Expected)>, Error> {
        let mut all = Vec::new();
        for (place, model) in candidates.iter().filter(|(_, model)| model.covers(at)) {
            let expected =
                Expected::of(model, at).map_err(|source| self.disagree(*place, source))?;
            let name = model_name(&self.classes[*place], self.port_method);
            let factor = self.nearby.factor(&name, at);
            all.extend(expected.map(|expected| (*place, expected.times(factor))));
        }
        Ok(all)
    }

    /// The class to choose; the default if it has no prediction.
    fn best(&self, expected: &[(usize, Expected)]) -> usize {
        let default = expected.iter().find(|(place, _)| *place == 0);
        let best = expected
            .iter()
            .min_by(|(_, a), (_, b)| a.time_s.total_cmp(&b.time_s));
        let (Some((_, default)), Some((place, best))) = (default, best) else {
            return 0;
        };
        let is_worth = best.time_s < (1.0 - LEAST_GAIN) * default.time_s;
        let is_faster = is_worth && best.chance_below(default) > RATHER;
        if is_faster { *place } else { 0 }
    }

    fn disagree(&self, place: usize, source: mastermind_models::Error) -> Error {
        Error::Predict {
            instance: self.instance.into(),
            class: self.classes[place].clone(),
            port_method: self.port_method.into(),
            source: Box::new(source),
        }
    }
}

/// Converts a tree into a table.
///
/// # Arguments
/// * `classes` - names of the classes, by index
fn decisions(tree: Tree, classes: &[String]) -> Decisions {
    let mut steps = Vec::new();
    if let Tree::Step { .. } = tree {
        flatten(tree, classes, &mut steps);
        reverse(&mut steps);
    }
    Decisions { steps }
}

/// Appends a tree to `steps`, each step after those that it leads to. Equal steps are stored once.
///
/// # Returns
/// The root of the tree.
fn flatten(tree: Tree, classes: &[String], steps: &mut Vec<DecisionStep>) -> Next {
    let (parameter, split, next) = match tree {
        Tree::Class(place) => return Next::Class(classes[place].clone()),
        Tree::Step {
            parameter,
            split,
            next,
        } => (parameter, split, next),
    };
    let next = next.into_iter().map(|tree| flatten(tree, classes, steps));
    let step = DecisionStep {
        next: next.collect(),
        parameter,
        split,
    };
    let known = steps.iter().position(|known| *known == step);
    Next::Step(known.unwrap_or_else(|| {
        steps.push(step);
        steps.len() - 1
    }))
}

fn split(names: &[&str], splits: Splits) -> Tree {
    match splits {
        Splits::Class(place) => Tree::Class(place),
        Splits::At { number, bound, two } => {
            let next = two.map(|splits| split(names, splits));
            step(names[number], vec![bound], next.into())
        }
    }
}

/// Builds a table from calls of a method whose classes are given. Calls between and beyond these go to the class of the
/// nearest given call.
///
/// # Arguments
/// * `calls` - coordinates with the same parameters, and the index of the class for each
/// * `exceptions` - classes for calls of about these sizes only, which override `calls`
/// * `about` - the range of sizes that count as about equal to a size
pub fn of_calls(
    calls: &[(&Coordinate, usize)],
    exceptions: &[(&Coordinate, usize)],
    about: impl Fn(f64) -> [f64; 2],
    classes: &[String],
) -> Decisions {
    let tree = by_labels_of(calls, 0);
    let first = calls
        .first()
        .and_then(|(at, _)| at.values.first_key_value());
    // A table without steps sends calls to the default, so another single class needs a step.
    let rule = match (&tree, first) {
        (Tree::Class(1..), Some((parameter, Value::Number(x)))) => {
            let next = vec![tree.clone(), tree.clone()];
            decisions(step(parameter, vec![*x], next), classes)
        }
        _ => decisions(tree, classes),
    };
    let n_before: usize = exceptions.iter().map(|(at, _)| at.values.len()).sum();
    let mut steps = Vec::new();
    for (at, class) in exceptions {
        let after = steps.len() + at.values.len();
        let is_last = after == n_before && rule.steps.is_empty();
        let otherwise = match is_last {
            true => Next::Class(classes[0].clone()),
            false => Next::Step(after),
        };
        for (name, value) in &at.values {
            let within = match steps.len() + 1 == after {
                true => Next::Class(classes[*class].clone()),
                false => Next::Step(steps.len() + 1),
            };
            steps.push(within_step(
                calls,
                (name, value),
                &about,
                within,
                &otherwise,
            ));
        }
    }
    let moved = rule.steps.into_iter().map(|mut step| {
        for next in &mut step.next {
            if let Next::Step(place) = next {
                *place += n_before;
            }
        }
        step
    });
    steps.extend(moved);
    Decisions { steps }
}

/// A step that tests whether a parameter is about equal to a value.
fn within_step(
    calls: &[(&Coordinate, usize)],
    (name, value): (&String, &Value),
    about: impl Fn(f64) -> [f64; 2],
    within: Next,
    otherwise: &Next,
) -> DecisionStep {
    let (split, next) = match value {
        Value::Number(x) => {
            let next = vec![otherwise.clone(), within, otherwise.clone()];
            (Split::Bounds(about(*x).into()), next)
        }
        Value::Label(label) => {
            let known = calls.iter().filter_map(|(at, _)| at.label(name));
            let labels: BTreeSet<String> = known.map(str::to_owned).collect();
            let next = labels.iter().map(|known| match known == label {
                true => within.clone(),
                false => otherwise.clone(),
            });
            let next = next.collect();
            (Split::Labels(labels.into_iter().collect()), next)
        }
    };
    DecisionStep {
        parameter: name.clone(),
        split,
        next,
    }
}

/// # Arguments
/// * `place` - index of the first label that distinguishes the calls
fn by_labels_of(calls: &[(&Coordinate, usize)], place: usize) -> Tree {
    let labels = |at: &Coordinate| {
        let values = at.values.iter();
        let labels = values.filter_map(|(name, value)| match value {
            Value::Label(label) => Some((name.clone(), label.clone())),
            Value::Number(_) => None,
        });
        labels.collect::<Vec<_>>()
    };
    let Some((first, _)) = calls.first() else {
        return DEFAULT;
    };
    let Some((parameter, _)) = labels(first).into_iter().nth(place) else {
        return by_numbers_of(calls);
    };
    let mut by_label: BTreeMap<String, Vec<(&Coordinate, usize)>> = BTreeMap::new();
    for (at, class) in calls {
        if let Some(label) = at.label(&parameter) {
            by_label
                .entry(label.into())
                .or_default()
                .push((*at, *class));
        }
    }
    let next: Vec<Tree> = by_label
        .values()
        .map(|calls| by_labels_of(calls, place + 1))
        .collect();
    if next.iter().all(|tree| *tree == DEFAULT) {
        return DEFAULT;
    }
    Tree::Step {
        parameter,
        split: Split::Labels(by_label.into_keys().collect()),
        next,
    }
}

fn by_numbers_of(calls: &[(&Coordinate, usize)]) -> Tree {
    let Some((first, _)) = calls.first() else {
        return DEFAULT;
    };
    let numbers = first.values.iter();
    let names: Vec<&str> = numbers
        .filter(|(_, value)| matches!(value, Value::Number(_)))
        .map(|(name, _)| name.as_str())
        .collect();
    let n_classes = 1 + calls.iter().map(|(_, class)| *class).max().unwrap_or(0);
    let points = calls.iter().map(|(at, class)| Point {
        sizes: names
            .iter()
            .map(|name| at.number(name).unwrap_or(0.0))
            .collect(),
        more: (0..n_classes)
            .map(|other| f64::from(u8::from(other != *class)))
            .collect(),
        weight: 1.0,
    });
    split(&names, tree(&points.collect::<Vec<_>>(), 0.0))
}

/// Reverses the order of the steps, so that each leads to later ones.
fn reverse(steps: &mut [DecisionStep]) {
    steps.reverse();
    let last = steps.len().saturating_sub(1);
    for next in steps.iter_mut().flat_map(|step| &mut step.next) {
        if let Next::Step(place) = next {
            *place = last - *place;
        }
    }
}

/// The mean time of calls at a point, predicted by a model.
#[derive(Debug, Clone)]
struct Expected {
    /// Seconds.
    time_s: f64,
    /// Prediction and weight of each credible formula; the weights sum to 1.
    formulas: Vec<(f64, f64)>,
    /// Standard deviation of each prediction from its coefficients, seconds; infinite where the samples do not
    /// determine it.
    deviation_s: f64,
}

impl Expected {
    /// None if the prediction is negative.
    fn of(model: &Model, at: &Coordinate) -> Result<Option<Self>, mastermind_models::Error> {
        let mut total = Total::new(model);
        total.add(at, N_COMPARED)?;
        if total.clamped() {
            return Ok(None);
        }
        let ratio = N_COMPARED * model.total_ratio;
        let gradient = model.gradient(at)?;
        let by_coefficients = model.coefficient_uncertainty(&gradient);
        let mut formulas = Vec::new();
        for alternative in &model.alternatives {
            if let Ok(time_s) = model.alternative_s(alternative, at) {
                formulas.push((N_COMPARED * model.mean_s(time_s), alternative.weight));
            }
        }
        if formulas.is_empty() {
            formulas.push((total.time_s(), 1.0));
        }
        let sum: f64 = formulas.iter().map(|(_, weight)| weight).sum();
        formulas.iter_mut().for_each(|(_, weight)| *weight /= sum);
        Ok(Some(Self {
            time_s: total.time_s(),
            formulas,
            deviation_s: ratio * by_coefficients.variance_s2().sqrt(),
        }))
    }

    /// The expected time multiplied by a factor.
    fn times(self, factor: f64) -> Self {
        let formulas = self.formulas.into_iter();
        Self {
            time_s: factor * self.time_s,
            formulas: formulas.map(|(s, weight)| (factor * s, weight)).collect(),
            deviation_s: factor * self.deviation_s,
        }
    }

    /// The probability that this time is below another: over the weighted formulas of both, each with a normal error.
    fn chance_below(&self, other: &Self) -> f64 {
        let deviation_s = self.deviation_s.hypot(other.deviation_s);
        let mut chance = 0.0;
        for (time_s, weight) in &self.formulas {
            for (other_s, other_weight) in &other.formulas {
                chance += weight * other_weight * normal_below((other_s - time_s) / deviation_s);
            }
        }
        chance
    }
}

/// The cumulative standard normal distribution at `z`; one half if `z` is not a number.
fn normal_below(z: f64) -> f64 {
    match z.is_nan() {
        true => 0.5,
        false => 0.5 * erfc(-z / std::f64::consts::SQRT_2),
    }
}

/// The range within which calls are assigned like those at its ends, the upper end excluded.
fn beyond([low, high]: [f64; 2]) -> [f64; 2] {
    match low > 0.0 {
        true => [low / BEYOND, (high * BEYOND).next_up()],
        false => [low, high.next_up()],
    }
}

/// A step over ranges of a parameter. Children that test the same parameter are merged into it.
fn step(parameter: &str, bounds: Vec<f64>, next: Vec<Tree>) -> Tree {
    let (mut all_bounds, mut all_next) = (Vec::new(), Vec::new());
    let begins = [None].into_iter().chain(bounds.into_iter().map(Some));
    for (begin, tree) in begins.zip(next) {
        all_bounds.extend(begin);
        match tree {
            Tree::Step {
                parameter: same,
                split: Split::Bounds(bounds),
                next,
            } if same == parameter => {
                all_bounds.extend(bounds);
                all_next.extend(next);
            }
            other => all_next.push(other),
        }
    }
    Tree::Step {
        parameter: parameter.into(),
        split: Split::Bounds(all_bounds),
        next: all_next,
    }
}

/// Points from one end of a range to the other, without duplicates; equally spaced in logarithms where the range is
/// positive.
fn grid(low: f64, high: f64, n: usize) -> Vec<f64> {
    let share = |place: usize| place as f64 / (n - 1) as f64;
    let point = |place: usize| match place {
        0 => low,
        last if last + 1 == n => high,
        _ if low > 0.0 => low * (high / low).powf(share(place)),
        _ => low + (high - low) * share(place),
    };
    let mut points: Vec<f64> = (0..n).map(point).collect();
    points.dedup();
    points
}

fn between(a: f64, b: f64) -> f64 {
    match a > 0.0 {
        true => (a * b).sqrt(),
        false => 0.5 * (a + b),
    }
}

/// Bisects for the boundary between `a`, where `holds` is true, and `b`, where it is false.
fn halved(a: f64, b: f64, holds: impl Fn(f64) -> Result<bool, Error>) -> Result<f64, Error> {
    let (mut a, mut b) = (a, b);
    for _ in 0..HALVINGS {
        let middle = between(a, b);
        match holds(middle)? {
            true => a = middle,
            false => b = middle,
        }
    }
    Ok(b)
}
