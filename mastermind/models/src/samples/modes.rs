//! Splits samples into modes: enumeration parameters that affect the times are fitted separately, the others together.

use std::collections::BTreeMap;

use statrs::distribution::{ContinuousCDF, FisherSnedecor};

use crate::samples::parameter::ParameterKind;
use crate::samples::points::Points;
use crate::samples::sample::{Samples, Summary};

/// Significance level: a difference with a smaller p-value is not attributed to chance.
const CHANCE: f64 = 0.01;

/// Relative difference of means that counts as rounding.
const ROUNDING: f64 = 1e-9;

/// Treatment of enumeration parameters, such as modes, axes or levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Modes {
    /// Separately if an F test finds a difference at coordinates that labels have in common, else together.
    #[default]
    ByTest,
    /// Each combination separately.
    Apart,
    /// All together: the mean over all calls, whatever their labels, as in the paper's Figures 4 and 5.
    Together,
}

/// Points of each mode, in the order of the labels.
///
/// # Arguments
/// * `most` - approximate limit of the points of a mode, see [`Points::gather`]
pub(crate) fn split(samples: &Samples, modes: Modes, most: usize) -> Vec<Points> {
    let (choices, numbers): (Vec<usize>, Vec<usize>) = (0..samples.parameters.len())
        .partition(|&i| matches!(samples.parameters[i].kind, ParameterKind::Enumeration(_)));
    let mut told = choices.clone();
    for &choice in &choices {
        let others: Vec<usize> = told.iter().copied().filter(|&i| i != choice).collect();
        let shared = match modes {
            Modes::Apart => false,
            Modes::Together => true,
            Modes::ByTest => alike(samples, choice, &others, &numbers),
        };
        if shared {
            told = others;
        }
    }
    let mut groups: BTreeMap<Vec<u64>, Vec<usize>> = BTreeMap::new();
    for (row, coordinate) in samples.coordinates.iter().enumerate() {
        let labels = told.iter().map(|&i| coordinate[i] as u64).collect();
        groups.entry(labels).or_default().push(row);
    }
    let points = |rows: Vec<usize>| {
        let mode = told.iter().map(|&i| label(samples, rows[0], i));
        let idle = choices.iter().filter(|choice| !told.contains(choice));
        let shared = idle.map(|&i| {
            let mut labels: Vec<u64> = rows
                .iter()
                .map(|&r| samples.coordinates[r][i] as u64)
                .collect();
            labels.sort_unstable();
            labels.dedup();
            let ParameterKind::Enumeration(names) = &samples.parameters[i].kind else {
                return (samples.parameters[i].name.clone(), Vec::new());
            };
            let labels = labels.iter().map(|&label| names[label as usize].clone());
            (samples.parameters[i].name.clone(), labels.collect())
        });
        let (mode, shared) = (mode.collect(), shared.collect());
        Points::gather(samples, &numbers, rows, mode, shared, most)
    };
    groups.into_values().map(points).collect()
}

/// Name and label of an enumeration parameter at a row.
fn label(samples: &Samples, row: usize, param: usize) -> (String, String) {
    let name = samples.parameters[param].name.clone();
    let label = samples.coordinate(row).label(&name).map(str::to_owned);
    (name, label.unwrap_or_default())
}

/// Whether the labels of `choice` do not affect the times, for equal labels of `others` and equal numbers.
///
/// An F test compares the relative variance between labels with that within. Returns `false` if fewer than two labels were called, if
/// they have no coordinate in common, or if no coordinate was called twice and the means differ by more than rounding.
fn alike(samples: &Samples, choice: usize, others: &[usize], numbers: &[usize]) -> bool {
    let mut cells: BTreeMap<Vec<u64>, Vec<usize>> = BTreeMap::new();
    for (row, coordinate) in samples.coordinates.iter().enumerate() {
        if samples.kept[row].count == 0 {
            continue;
        }
        let fixed = others.iter().chain(numbers);
        let key = fixed.map(|&i| (coordinate[i] + 0.0).to_bits()).collect();
        cells.entry(key).or_default().push(row);
    }
    let labels = |rows: &[usize]| {
        let mut labels: Vec<u64> = rows
            .iter()
            .map(|&r| samples.coordinates[r][choice].to_bits())
            .collect();
        labels.sort_unstable();
        labels.dedup();
        labels.len()
    };
    let all: Vec<usize> = (0..samples.coordinates.len()).collect();
    let n_labels = labels(&all);
    let common: Vec<&Vec<usize>> = cells
        .values()
        .filter(|rows| labels(rows) == n_labels)
        .collect();
    if n_labels < 2 || common.is_empty() {
        return false;
    }
    let (mut between, mut within, mut n_between, mut n_within) = (0.0, 0.0, 0.0, 0.0);
    let mut largest: f64 = 0.0;
    for rows in common {
        let mut pooled = Summary::EMPTY;
        rows.iter()
            .for_each(|&row| pooled.merge(&samples.kept[row]));
        if pooled.mean_s <= 0.0 {
            // All values are 0, as those of a counter may be.
            continue;
        }
        let mean_s = pooled.mean_s;
        for &row in rows {
            let cell = &samples.kept[row];
            let off = (cell.mean_s - pooled.mean_s) / mean_s;
            between += cell.count as f64 * off * off;
            within += samples.squares(cell) / (mean_s * mean_s);
            n_within += cell.count as f64 - 1.0;
            largest = largest.max(off.abs());
        }
        n_between += rows.len() as f64 - 1.0;
    }
    if largest <= ROUNDING {
        return true;
    }
    if n_within < 1.0 || within <= 0.0 {
        return false;
    }
    let ratio = (between / n_between) / (within / n_within);
    ratio.is_finite()
        && FisherSnedecor::new(n_between, n_within).is_ok_and(|f| f.sf(ratio) > CHANCE)
}
