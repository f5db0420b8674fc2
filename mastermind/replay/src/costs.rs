//! Costs of runs on several numbers of ranks as functions of that number.
//!
//! Each formula of a short list is fitted to all runs but the largest, and predicts that one. The first formula with an
//! error close to the smallest is fitted to all runs. That error, and the same for the sum of all costs, decide how far
//! beyond the recorded runs a model may go.
//!
//! # Source
//! The formulas: work that is shared, work that each rank does, and both with a term that grows with a tree of ranks or
//! with their number; as the single-parameter terms of A. Calotoiu et al., "Using Automated Performance Modeling to
//! Find Scalability Bugs in Complex Codes", SC13.

use std::collections::BTreeMap;

use mastermind_models::{
    Coordinate, FitOptions, Metric, Model, Parameter, SampleSet, Unknown, UserFormula, fit_with,
    predict_value_s,
};

/// Formulas over `processes`, the simplest first.
const FORMULAS: [&str; 5] = [
    "a",
    "a / processes",
    "a + b / processes",
    "a + b * log2(processes)",
    "a + b * processes",
];

/// Formulas of one coefficient, which a second run confirms.
const N_OF_ONE_COEFFICIENT: usize = 2;

/// Errors that differ by less are the same, relative: as costs of ranks that are one cost.
const SAME_ERROR: f64 = 0.02;

/// Largest error of the sum of all costs that a model may have beyond its runs, relative: the bar of the benchmark `end-to-end`.
pub(super) const MAX_ERROR: f64 = 0.15;

/// Largest factor beyond the recorded numbers of ranks: up to here the intervals of fitted models were tested.
pub(super) const MAX_FACTOR: u32 = 4;

/// A cost over the number of ranks, or a size.
#[derive(Debug, Clone)]
pub(super) struct Cost {
    /// Nanoseconds, or bytes, as an expression.
    pub(super) text: String,
    /// Prediction of the other runs for the largest; `None` if too few have it.
    pub(super) held_out: Option<f64>,
    /// By how much the formula is off the run that it is furthest off, relative to the largest cost.
    pub(super) off: f64,
    /// Value of the formula for each run, by its number of ranks.
    pub(super) fitted: BTreeMap<u32, f64>,
}

/// A cost of some ranks in each run.
///
/// # Arguments
/// * `by_ranks` - number of ranks of a run, and the cost of each of its ranks, nanoseconds
pub(super) fn fitted(by_ranks: &BTreeMap<u32, Vec<f64>>) -> Cost {
    let mean = |costs: &[f64]| costs.iter().sum::<f64>() / costs.len().max(1) as f64;
    let all: Vec<(u32, &[f64])> = by_ranks
        .iter()
        .map(|(ranks, costs)| (*ranks, costs.as_slice()))
        .collect();
    let Some(((largest, costs), others)) = all.split_last() else {
        return Cost {
            text: "0".into(),
            held_out: None,
            off: 0.0,
            fitted: BTreeMap::new(),
        };
    };
    let measured = mean(costs);
    let known = match others.len() {
        0 => 0,
        1 => N_OF_ONE_COEFFICIENT,
        _ => FORMULAS.len(),
    };
    let predicted = FORMULAS[..known].iter().map(|formula| {
        let model = fit(formula, others)?;
        predict_value_s(&model, &at(*largest))
            .ok()
            .map(|seconds| seconds * 1e9)
    });
    let predicted: Vec<Option<f64>> = predicted.collect();
    // Of equally good predictions, the one with the smaller error of the fit to all is used.
    let error = |ns: Option<f64>| {
        ns.map_or(f64::INFINITY, |ns| {
            (ns - measured).abs() / measured.max(1.0)
        })
    };
    let errors = FORMULAS.iter().zip(&predicted).map(|(formula, held_out)| {
        let fitted =
            fit(formula, &all).and_then(|model| predict_value_s(&model, &at(*largest)).ok());
        error(*held_out) + error(fitted.map(|seconds| seconds * 1e9))
    });
    let errors: Vec<f64> = errors.collect();
    let least = errors.iter().copied().fold(f64::INFINITY, f64::min);
    let chosen = errors.iter().position(|error| *error <= least + SAME_ERROR);
    let chosen = chosen.filter(|_| least.is_finite());
    let formula = FORMULAS[chosen.unwrap_or(2)];
    let model = fit(formula, &all);
    let text = model.as_ref().and_then(|model| text(model, formula));
    let dearest = all.iter().map(|(_, costs)| mean(costs)).fold(1.0, f64::max);
    let fitted = all.iter().map(|(ranks, costs)| {
        let seconds = model
            .as_ref()
            .and_then(|model| predict_value_s(model, &at(*ranks)).ok());
        (
            *ranks,
            seconds.map_or_else(|| mean(costs), |seconds| seconds * 1e9),
        )
    });
    let fitted: BTreeMap<u32, f64> = fitted.collect();
    let off = |(ranks, costs): &(u32, &[f64])| (fitted[ranks] - mean(costs)).abs() / dearest;
    Cost {
        off: all.iter().map(off).fold(0.0, f64::max),
        fitted,
        text: text.unwrap_or_else(|| measured.round().to_string()),
        held_out: chosen.and_then(|at| predicted[at]),
    }
}

fn at(ranks: u32) -> Coordinate {
    Coordinate::new().with("processes", f64::from(ranks))
}

fn fit(formula: &str, runs: &[(u32, &[f64])]) -> Option<Model> {
    let mut set = SampleSet::new(Metric::Wall);
    let method = set
        .declare("cost", &[Parameter::integer("processes", "int")])
        .ok()?;
    for (ranks, costs) in runs {
        for cost in *costs {
            let _ = set.push(method, &[f64::from(*ranks)], cost * 1e-9);
        }
    }
    // Neither the shared work nor the other work can be negative.
    let unknowns = ["a", "b"].into_iter().filter(|name| formula.contains(name));
    let unknowns = unknowns.map(|name| (name.to_owned(), Unknown::within(0.0, f64::INFINITY)));
    let options = FitOptions {
        formula: Some(UserFormula::parse(formula, unknowns.collect()).ok()?),
        ..FitOptions::default()
    };
    fit_with(&set.finish()[0], &options).ok()?.pop()
}

/// The formula with its coefficients, nanoseconds.
fn text(model: &Model, formula: &str) -> Option<String> {
    let mut text = String::new();
    for part in formula.split_inclusive(' ') {
        let name = part.trim_end();
        if name == "a" || name == "b" {
            let found = model.coefficients.iter().find(|one| one.name == name)?;
            text += &part.replacen(name, &digits(found.value * 1e9), 1);
        } else {
            text += part;
        }
    }
    Some(text)
}

/// A number with four digits.
pub(super) fn digits(x: f64) -> String {
    let decimals = (3 - x.abs().max(1e-9).log10().floor() as i32).clamp(0, 3);
    format!("{x:.*}", decimals as usize)
}
