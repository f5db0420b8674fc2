//! The points of one mode, to which a model is fitted.
//!
//! A mode of more than 4096 coordinates is reduced to about as many points: if one parameter varies, neighbours are merged; if several
//! vary, every n-th coordinate is taken. Totals and numbers of calls cover all coordinates. A coordinate whose only call is set aside is
//! no point, and its call counts at the point before; but it was measured, so it extends the range on which a formula must have a value.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::formula::sum::Term;
use crate::samples::noise::Noise;
use crate::samples::sample::{Samples, Summary};
use crate::samples::spikes::merged;

/// Points of one method and mode, column by column.
#[derive(Debug, Clone)]
pub(crate) struct Points {
    /// Values of the enumeration parameters that distinguish this mode from others.
    pub mode: BTreeMap<String, String>,
    /// Measured labels of the enumeration parameters that do not affect the times.
    pub shared: BTreeMap<String, Vec<String>>,
    /// Names of the numeric parameters, shape `[n_params]`.
    pub names: Vec<String>,
    /// Their units, shape `[n_params]`.
    pub units: Vec<String>,
    /// Values of the numeric parameters, shape `[n_params][n_points]`.
    pub columns: Vec<Vec<f64>>,
    /// Smallest and largest measured value of the numeric parameters, shape `[n_params]`, including coordinates whose calls are all
    /// set aside.
    ranges: Vec<[f64; 2]>,
    /// Unit of the values: "s" for times, else that of the counter.
    pub value_unit: String,
    /// Mean time of the calls that are not set aside, seconds, shape `[n_points]`.
    pub mean_s: Vec<f64>,
    /// Calls, shape `[n_points]`.
    pub count: Vec<f64>,
    /// Sum of squared deviations from the mean, s², shape `[n_points]`; at least the contribution of the clock's step.
    pub m2_s2: Vec<f64>,
    /// All calls at each point, shape `[n_points]`.
    pub all: Vec<Summary>,
    /// All calls at each point, binned by time, shape `[n_points][..]`.
    pub bins: Vec<Vec<Summary>>,
    /// Dependence of the spread on the time.
    pub noise: Noise,
    /// Step of the clock, seconds; 0 if unknown.
    pub clock_step_s: f64,
    /// Points with a mean time below about this are weighted down for the step of the clock, seconds; 0 if the spread already includes it.
    pub blurred_below_s: f64,
    /// Distinct coordinates with kept calls that the points represent; the number of points if none were merged or left out.
    pub n_coordinates: usize,
    /// Calls at all these coordinates.
    pub n_calls: u64,
}

impl Points {
    /// Gathers the points at `rows` of the samples; rows with the same numeric coordinate become one point.
    ///
    /// More than `most` coordinates are reduced to about as many points. If one parameter varies, neighbours are merged at the mean of
    /// their coordinates, weighted by calls. If several vary, every n-th coordinate is taken, since neighbours in one parameter are no
    /// neighbours in another.
    ///
    /// # Arguments
    /// * `numbers` - positions of the numeric parameters
    pub fn gather(
        samples: &Samples,
        numbers: &[usize],
        mut rows: Vec<usize>,
        mode: BTreeMap<String, String>,
        shared: BTreeMap<String, Vec<String>>,
        most: usize,
    ) -> Self {
        let value = |row: usize, param: usize| samples.coordinates[row][param];
        let order = |&a: &usize, &b: &usize| {
            let pairs = numbers.iter().map(|&i| value(a, i).total_cmp(&value(b, i)));
            pairs.fold(Ordering::Equal, Ordering::then)
        };
        rows.sort_by(order);
        let same = |a: &usize, b: &usize| numbers.iter().all(|&i| value(*a, i) == value(*b, i));
        let is_kept = |row: &usize| samples.kept[*row].count > 0;
        let coordinates = with_calls(&rows, rows.chunk_by(same), is_kept);
        let n_varying = numbers
            .iter()
            .filter(|&&i| rows.iter().any(|&row| value(row, i) != value(rows[0], i)))
            .count();
        let cells = cells(&rows, &coordinates, n_varying, most);
        let sum = |of: &[Summary]| -> Vec<Summary> {
            let merged = |cell: &&[usize]| {
                let mut sum = of[cell[0]];
                cell[1..].iter().for_each(|&row| sum.merge(&of[row]));
                sum
            };
            cells.iter().map(merged).collect()
        };
        let (kept, all) = (sum(&samples.kept), sum(&samples.times));
        let column = |&param: &usize| -> Vec<f64> {
            let mean = |cell: &&[usize]| {
                let mut kept = cell.iter().copied().filter(|row| is_kept(row));
                let first = kept.clone().next().map(|row| value(row, param));
                let last = kept.clone().next_back().map(|row| value(row, param));
                if let (Some(first), true) = (first, first == last) {
                    // The mean of equal numbers may differ from them by rounding.
                    return first;
                }
                let calls = |row: usize| samples.kept[row].count as f64;
                let all: f64 = kept.clone().map(calls).sum();
                kept.by_ref()
                    .map(|row| calls(row) * value(row, param))
                    .sum::<f64>()
                    / all
            };
            cells.iter().map(mean).collect()
        };
        let bins = |cell: &&[usize]| match cell {
            [row] => samples.bins[*row].clone(),
            rows => merged(rows.iter().flat_map(|&row| &samples.bins[row])),
        };
        let mut points = Self {
            mode,
            shared,
            names: (numbers.iter().map(|&i| samples.parameters[i].name.clone())).collect(),
            units: (numbers.iter().map(|&i| samples.parameters[i].unit.clone())).collect(),
            value_unit: samples.metric.unit().into(),
            columns: numbers.iter().map(column).collect(),
            ranges: numbers
                .iter()
                .map(|&param| range(rows.iter().map(|&row| value(row, param))))
                .collect(),
            mean_s: kept.iter().map(|kept| kept.mean_s).collect(),
            count: kept.iter().map(|kept| kept.count as f64).collect(),
            m2_s2: kept.iter().map(|kept| samples.squares(kept)).collect(),
            all,
            bins: cells.iter().map(bins).collect(),
            noise: Noise::Relative,
            clock_step_s: samples.clock_step_s,
            blurred_below_s: 0.0,
            n_coordinates: coordinates.len(),
            n_calls: rows.iter().map(|&row| samples.times[row].count).sum(),
        };
        points.noise = Noise::of(&points);
        points
    }

    /// The points at `rows` only, with the noise of all points and the range of the selected ones.
    pub fn subset(&self, rows: &[usize]) -> Self {
        let take =
            |column: &Vec<f64>| -> Vec<f64> { rows.iter().map(|&row| column[row]).collect() };
        let columns: Vec<Vec<f64>> = self.columns.iter().map(take).collect();
        Self {
            ranges: columns
                .iter()
                .map(|column| range(column.iter().copied()))
                .collect(),
            columns,
            mean_s: take(&self.mean_s),
            count: take(&self.count),
            m2_s2: take(&self.m2_s2),
            all: rows.iter().map(|&row| self.all[row]).collect(),
            bins: rows.iter().map(|&row| self.bins[row].clone()).collect(),
            ..self.clone()
        }
    }

    /// The points at `rows` only, with the range of all points.
    pub fn within(&self, rows: &[usize]) -> Self {
        Self {
            ranges: self.ranges.clone(),
            n_coordinates: self.n_coordinates - (self.len() - rows.len()),
            ..self.subset(rows)
        }
    }

    /// The same points with some of their calls only. Points left without calls are dropped, but stay within the range.
    ///
    /// # Arguments
    /// * `weighted` - number of calls to take from each bin, and the bin, by time, shape `[n_points][..]`
    pub fn of_calls(&self, weighted: &[Vec<(f64, Summary)>]) -> Self {
        let n_calls = |row: usize| weighted[row].iter().map(|(n, _)| n).sum::<f64>();
        let rows: Vec<usize> = (0..self.len()).filter(|&row| n_calls(row) >= 0.5).collect();
        let mut points = self.within(&rows);
        for (i, &row) in rows.iter().enumerate() {
            let (n, bins) = (n_calls(row), &weighted[row]);
            let mean_s = bins.iter().map(|(n, bin)| n * bin.mean_s).sum::<f64>() / n;
            let m2_s2 = bins.iter().map(|(n, bin)| {
                let off = bin.mean_s - mean_s;
                n * (bin.m2_s2 / bin.count as f64 + off * off)
            });
            points.mean_s[i] = mean_s;
            points.count[i] = n;
            points.m2_s2[i] = m2_s2.sum::<f64>().max(n * self.clock_step_s.powi(2) / 6.0);
            let likely = bins.iter().filter(|(n, bin)| 2.0 * n >= bin.count as f64);
            points.bins[i] = likely.map(|(_, bin)| *bin).collect();
            points.all[i] = Summary::EMPTY;
            let (bins, all) = (&points.bins[i], &mut points.all[i]);
            bins.iter().for_each(|bin| all.merge(bin));
        }
        points.noise = Noise::of(&points);
        points.blur();
        points
    }

    /// Reduces the weight of each point to the number of sharp calls that carry the same information as its blurred ones.
    pub fn blur(&mut self) {
        for (i, mean_s) in self.mean_s.iter().enumerate() {
            let worth = 1.0 / (1.0 + (self.blurred_below_s / mean_s).powi(2));
            self.count[i] *= worth;
            self.m2_s2[i] *= worth;
        }
    }

    /// Unit of a coefficient: the unit of the values over `unit`, such as `s/double`; `1` if both are empty.
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

    /// Smallest and largest measured value of parameter `index`.
    pub fn range(&self, index: usize) -> [f64; 2] {
        self.ranges[index]
    }

    /// Pairs of parameters, with their usual values, such that at every point one of the two has its usual value: their interaction was
    /// not measured.
    pub fn apart(&self) -> Vec<[(String, f64); 2]> {
        let varying = self.varying();
        let usual: Vec<f64> = varying.iter().map(|&param| self.usual(param)).collect();
        let mut pairs = Vec::new();
        for (i, &p) in varying.iter().enumerate() {
            for (j, &q) in varying.iter().enumerate().skip(i + 1) {
                let mut columns = self.columns[p].iter().zip(&self.columns[q]);
                if columns.all(|(x, y)| *x == usual[i] || *y == usual[j]) {
                    let named = |param: usize, usual| (self.names[param].clone(), usual);
                    pairs.push([named(p, usual[i]), named(q, usual[j])]);
                }
            }
        }
        pairs
    }

    /// The value of a parameter that most points have.
    fn usual(&self, param: usize) -> f64 {
        let mut column = self.columns[param].clone();
        column.sort_by(f64::total_cmp);
        let runs = column.chunk_by(|a, b| a == b);
        let longest = runs.max_by_key(|run| run.len());
        longest.map_or(f64::NAN, |run| run[0])
    }

    /// Distinct values of parameter `index`, ascending.
    pub fn values(&self, index: usize) -> Vec<f64> {
        let mut values = self.columns[index].clone();
        values.sort_by(f64::total_cmp);
        values.dedup();
        values
    }

    /// Coordinates with each varying parameter at an end of its range, shape `[n_corners][n_params]`; none if fewer than two or more than
    /// `most` parameters vary.
    pub fn corners(&self, most: usize) -> Vec<Vec<f64>> {
        let varying = self.varying();
        if varying.len() < 2 || varying.len() > most {
            return Vec::new();
        }
        let low: Vec<f64> = self.ranges.iter().map(|[low, _]| *low).collect();
        let corner = |corner: usize| {
            let mut values = low.clone();
            let is_high = |place: &usize| corner >> place & 1 == 1;
            for place in (0..varying.len()).filter(is_high) {
                values[varying[place]] = self.ranges[varying[place]][1];
            }
            values
        };
        (0..1 << varying.len()).map(corner).collect()
    }

    /// Value of parameter `name` of a coordinate, shape `[n_params]`.
    pub fn at(&self, coordinate: &[f64], name: &str) -> Option<f64> {
        let param = self.names.iter().position(|known| known == name)?;
        Some(coordinate[param])
    }

    /// Positions of the numeric parameters with at least two values among the points.
    pub fn varying(&self) -> Vec<usize> {
        let varies = |&index: &usize| {
            let [low, high] = range(self.columns[index].iter().copied());
            low < high
        };
        (0..self.columns.len()).filter(varies).collect()
    }
}

/// Smallest and largest of some values.
fn range(values: impl Iterator<Item = f64> + Clone) -> [f64; 2] {
    [
        values.clone().fold(f64::INFINITY, f64::min),
        values.fold(f64::NEG_INFINITY, f64::max),
    ]
}

/// The rows of each coordinate; rows of a coordinate without kept calls are added to the coordinate before, or at the beginning to the
/// one after.
fn with_calls<'r>(
    rows: &'r [usize],
    coordinates: impl Iterator<Item = &'r [usize]>,
    is_kept: impl Fn(&usize) -> bool,
) -> Vec<&'r [usize]> {
    let (mut found, mut start, mut end) = (Vec::new(), 0, 0);
    for coordinate in coordinates {
        let is_first = !rows[start..end].iter().any(&is_kept);
        if !is_first && coordinate.iter().any(&is_kept) {
            found.push(&rows[start..end]);
            start = end;
        }
        end += coordinate.len();
    }
    found.extend((start < end).then(|| &rows[start..end]));
    found
}

/// The rows of each point: those of one coordinate, or of several neighbours if there are more than `most` coordinates.
fn cells<'r>(
    rows: &'r [usize],
    coordinates: &[&'r [usize]],
    n_varying: usize,
    most: usize,
) -> Vec<&'r [usize]> {
    let stride = coordinates.len().div_ceil(most.max(1));
    if stride < 2 {
        return coordinates.to_vec();
    }
    if n_varying != 1 {
        return coordinates.iter().step_by(stride).copied().collect();
    }
    // The first and the last coordinate are not merged, so that the range stays the same.
    let (first, last) = (
        coordinates[0].len(),
        rows.len() - coordinates[coordinates.len() - 1].len(),
    );
    let mut cells = vec![&rows[..first]];
    let mut start = first;
    for group in coordinates[1..coordinates.len() - 1].chunks(stride) {
        let end = start
            + group
                .iter()
                .map(|coordinate| coordinate.len())
                .sum::<usize>();
        cells.push(&rows[start..end]);
        start = end;
    }
    cells.push(&rows[last..]);
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::metric::Metric;
    use crate::samples::parameter::Parameter;
    use crate::samples::sample::SampleSet;

    fn gathered(n_params: usize, n: u32, most: usize) -> Points {
        let parameters = [Parameter::integer("x", ""), Parameter::integer("y", "")];
        let mut set = SampleSet::new(Metric::Wall);
        let method = set.declare("m", &parameters[..n_params]).unwrap();
        for i in 1..=n {
            let coordinate = [f64::from(i), f64::from(i * 7 % n)];
            set.push(method, &coordinate[..n_params], f64::from(i))
                .unwrap();
        }
        let samples = set.finish().remove(0);
        let numbers: Vec<usize> = (0..n_params).collect();
        let rows = (0..samples.times.len()).collect();
        Points::gather(
            &samples,
            &numbers,
            rows,
            BTreeMap::new(),
            BTreeMap::new(),
            most,
        )
    }

    #[test]
    fn more_coordinates_than_are_fitted_are_put_together() {
        let all = gathered(1, 1000, 1000);
        assert_eq!((all.len(), all.n_coordinates), (1000, 1000));
        let thinned = gathered(1, 1000, 100);
        assert_eq!(
            (thinned.len(), thinned.n_coordinates, thinned.n_calls),
            (102, 1000, 1000)
        );
        assert_eq!(
            (thinned.range(0), thinned.n_records()),
            ([1.0, 1000.0], 1000.0)
        );
        assert_eq!(
            thinned.all.iter().map(Summary::total_s).sum::<f64>(),
            500_500.0
        );
        // Each point is at the mean of the calls merged into it.
        assert!(
            thinned.columns[0]
                .iter()
                .zip(&thinned.mean_s)
                .all(|(x, y)| (x / y - 1.0).abs() < 1e-12)
        );
        let several = gathered(2, 1000, 100);
        assert_eq!(
            (several.len(), several.count[0], several.n_calls),
            (100, 1.0, 1000)
        );
    }
}
