//! The points of one mode: what a model is fitted to.

use std::collections::BTreeMap;

use crate::parameter::ParameterKind;
use crate::sample::Samples;

/// Points of one method and mode, column by column.
#[derive(Debug, Clone)]
pub(crate) struct Points {
    /// Values of the enumeration parameters.
    pub mode: BTreeMap<String, String>,
    /// Names of the numeric parameters, shape `[n_params]`.
    pub names: Vec<String>,
    /// Their units, shape `[n_params]`.
    pub units: Vec<String>,
    /// Their values, shape `[n_params][n_points]`.
    pub columns: Vec<Vec<f64>>,
    /// Mean time, seconds, shape `[n_points]`.
    pub mean_s: Vec<f64>,
    /// Calls, shape `[n_points]`.
    pub count: Vec<f64>,
    /// Sum of squared deviations from the mean, s², shape `[n_points]`.
    pub m2_s2: Vec<f64>,
}

impl Points {
    /// Distinct coordinates.
    pub fn len(&self) -> usize {
        self.mean_s.len()
    }

    /// Calls at all points.
    pub fn n_records(&self) -> f64 {
        self.count.iter().sum()
    }

    /// Time of all calls, seconds.
    pub fn total_s(&self) -> f64 {
        self.mean_s
            .iter()
            .zip(&self.count)
            .map(|(mean, count)| mean * count)
            .sum()
    }

    /// Smallest and largest value of parameter `index`.
    pub fn range(&self, index: usize) -> [f64; 2] {
        let fold =
            |start: f64, f: fn(f64, f64) -> f64| self.columns[index].iter().copied().fold(start, f);
        [
            fold(f64::INFINITY, f64::min),
            fold(f64::NEG_INFINITY, f64::max),
        ]
    }

    /// Positions of the numeric parameters with at least two values.
    pub fn varying(&self) -> Vec<usize> {
        let varies = |&index: &usize| {
            let [low, high] = self.range(index);
            low < high
        };
        (0..self.columns.len()).filter(varies).collect()
    }
}

/// Splits samples into one set of points for each combination of enumeration values, in the order
/// of the labels.
pub(crate) fn split_by_mode(samples: &Samples) -> Vec<Points> {
    let (choices, numbers): (Vec<usize>, Vec<usize>) = (0..samples.parameters.len())
        .partition(|&i| matches!(samples.parameters[i].kind, ParameterKind::Enumeration(_)));
    let mut modes: BTreeMap<Vec<u64>, Vec<usize>> = BTreeMap::new();
    for (point, coordinate) in samples.coordinates.iter().enumerate() {
        let labels = choices.iter().map(|&i| coordinate[i] as u64).collect();
        modes.entry(labels).or_default().push(point);
    }
    modes
        .into_values()
        .map(|rows| gather(samples, &numbers, &choices, &rows))
        .collect()
}

/// The points at `rows`, all of one mode.
fn gather(samples: &Samples, numbers: &[usize], choices: &[usize], rows: &[usize]) -> Points {
    let column = |i: usize| {
        rows.iter()
            .map(|&row| samples.coordinates[row][i])
            .collect()
    };
    let coordinate = samples.coordinate(rows[0]);
    let mode = choices.iter().map(|&i| {
        let name = &samples.parameters[i].name;
        (
            name.clone(),
            coordinate.label(name).unwrap_or_default().to_owned(),
        )
    });
    Points {
        mode: mode.collect(),
        names: numbers
            .iter()
            .map(|&i| samples.parameters[i].name.clone())
            .collect(),
        units: numbers
            .iter()
            .map(|&i| samples.parameters[i].unit.clone())
            .collect(),
        columns: numbers.iter().map(|&i| column(i)).collect(),
        mean_s: rows.iter().map(|&row| samples.times[row].mean_s).collect(),
        count: rows
            .iter()
            .map(|&row| samples.times[row].count as f64)
            .collect(),
        m2_s2: rows.iter().map(|&row| samples.times[row].m2_s2).collect(),
    }
}
