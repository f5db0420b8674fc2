//! The points of one mode: what a model is fitted to.

use std::collections::BTreeMap;

use crate::formula::sum::Term;
use crate::samples::noise::Noise;
use crate::samples::sample::{Samples, Summary};

/// Points of one method and mode, column by column.
#[derive(Debug, Clone)]
pub(crate) struct Points {
    /// Values of the enumeration parameters that tell this mode from others.
    pub mode: BTreeMap<String, String>,
    /// Labels seen of the enumeration parameters that do not matter.
    pub shared: BTreeMap<String, Vec<String>>,
    /// Names of the numeric parameters, shape `[n_params]`.
    pub names: Vec<String>,
    /// Their units, shape `[n_params]`.
    pub units: Vec<String>,
    /// Values of the numeric parameters, shape `[n_params][n_points]`.
    pub columns: Vec<Vec<f64>>,
    /// Unit of the times, "s"; of a counter, its own.
    pub value_unit: String,
    /// Mean time, seconds, shape `[n_points]`; of the calls that are not set aside.
    pub mean_s: Vec<f64>,
    /// Calls, shape `[n_points]`.
    pub count: Vec<f64>,
    /// Sum of squared deviations from the mean, s², shape `[n_points]`; at least what the clock's step makes.
    pub m2_s2: Vec<f64>,
    /// All calls at each point, shape `[n_points]`.
    pub all: Vec<Summary>,
    /// All calls at each point apart by time, shape `[n_points][..]`.
    pub bins: Vec<Vec<Summary>>,
    /// How the spread goes with the time.
    pub noise: Noise,
}

impl Points {
    /// The points at `rows` of the samples; rows with one numeric coordinate become one point.
    ///
    /// # Arguments
    /// * `numbers` - positions of the numeric parameters
    pub fn gather(
        samples: &Samples,
        numbers: &[usize],
        rows: &[usize],
        mode: BTreeMap<String, String>,
        shared: BTreeMap<String, Vec<String>>,
    ) -> Self {
        let mut merged: Vec<(Vec<f64>, Summary, Summary, Vec<Summary>)> =
            Vec::with_capacity(rows.len());
        let mut sorted: Vec<(Vec<f64>, usize)> = rows
            .iter()
            .map(|&row| {
                let values = numbers.iter().map(|&i| samples.coordinates[row][i]);
                (values.collect(), row)
            })
            .collect();
        sorted.sort_by(|(a, _), (b, _)| {
            let pairs = a.iter().zip(b).map(|(a, b)| a.total_cmp(b));
            pairs.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
        });
        for (values, row) in sorted {
            let (kept, all) = (&samples.kept[row], &samples.times[row]);
            match merged.last_mut() {
                Some((last, sum, sum_all, bins)) if *last == values => {
                    sum.merge(kept);
                    sum_all.merge(all);
                    bins.extend(&samples.bins[row]);
                }
                _ => merged.push((values, *kept, *all, samples.bins[row].clone())),
            }
        }
        let name = |&i: &usize| samples.parameters[i].name.clone();
        let unit = |&i: &usize| samples.parameters[i].unit.clone();
        let column = |i: usize| merged.iter().map(|(values, ..)| values[i]).collect();
        let mut points = Self {
            mode,
            shared,
            names: numbers.iter().map(name).collect(),
            units: numbers.iter().map(unit).collect(),
            value_unit: samples.metric.unit().into(),
            columns: (0..numbers.len()).map(column).collect(),
            mean_s: merged.iter().map(|(_, kept, ..)| kept.mean_s).collect(),
            count: merged
                .iter()
                .map(|(_, kept, ..)| kept.count as f64)
                .collect(),
            m2_s2: merged
                .iter()
                .map(|(_, kept, ..)| samples.squares(kept))
                .collect(),
            all: merged.iter().map(|(_, _, all, _)| *all).collect(),
            bins: merged.into_iter().map(|(.., bins)| bins).collect(),
            noise: Noise::Relative,
        };
        points.noise = Noise::of(&points);
        points
    }

    /// The points at `rows` alone, the noise as of all.
    pub fn subset(&self, rows: &[usize]) -> Self {
        let take = |column: &Vec<f64>| rows.iter().map(|&row| column[row]).collect();
        Self {
            columns: self.columns.iter().map(take).collect(),
            mean_s: take(&self.mean_s),
            count: take(&self.count),
            m2_s2: take(&self.m2_s2),
            all: rows.iter().map(|&row| self.all[row]).collect(),
            bins: rows.iter().map(|&row| self.bins[row].clone()).collect(),
            ..self.clone()
        }
    }

    /// Unit of a coefficient: that of the times by one of what it multiplies, `s/double`; `1` where there is neither.
    pub fn per(&self, unit: &str) -> String {
        match (self.value_unit.as_str(), unit) {
            ("", "") => "1".into(),
            ("", below) => format!("1/{below}"),
            (above, "") => above.into(),
            (above, below) => format!("{above}/{below}"),
        }
    }

    /// Distinct coordinates.
    pub fn len(&self) -> usize {
        self.mean_s.len()
    }

    /// Calls at all points that are not set aside.
    pub fn n_records(&self) -> f64 {
        self.count.iter().sum()
    }

    /// Longest mean time, seconds.
    pub fn largest_s(&self) -> f64 {
        self.mean_s.iter().copied().fold(0.0, f64::max)
    }

    /// Value of parameter `name` at point `index`.
    pub fn number(&self, index: usize, name: &str) -> Option<f64> {
        let param = self.names.iter().position(|known| known == name)?;
        Some(self.columns[param][index])
    }

    /// Values of a product at each point; `None` if it names an unknown parameter.
    pub fn column(&self, term: &Term) -> Option<Vec<f64>> {
        (0..self.len())
            .map(|i| term.product(|name| self.number(i, name)).ok())
            .collect()
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

    /// Distinct values of parameter `index`, ascending.
    pub fn values(&self, index: usize) -> Vec<f64> {
        let mut values = self.columns[index].clone();
        values.sort_by(f64::total_cmp);
        values.dedup();
        values
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
