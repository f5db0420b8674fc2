//! The control: the accuracy of interpolating `y / base` without any search.

use crate::table::Table;

/// Interpolates `ln(y / base)` over the logarithms of the inputs, each by its range: linear radial basis functions, which
/// pass through all points, and are constant far from them.
#[derive(Debug, Clone)]
pub struct Control {
    units: Vec<Option<[f64; 2]>>,
    centres: Vec<Vec<f64>>,
    weights: Vec<f64>,
    mean: f64,
    range: [f64; 2],
}

impl Control {
    /// # Arguments
    /// * `base` - at the points, shape `[n_points]`, seconds
    pub fn new(train: &Table, base: &[f64]) -> Option<Self> {
        let unit = |column: &Vec<f64>| {
            let positive = column.iter().all(|x| *x > 0.0);
            let low = column.iter().copied().fold(f64::INFINITY, f64::min);
            let high = column.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            (positive && high > low).then(|| [low.ln(), high.ln() - low.ln()])
        };
        let units: Vec<_> = train.inputs.iter().map(unit).collect();
        let mut sites: Vec<(Vec<f64>, f64, f64)> = Vec::new();
        for (i, (observed, base)) in train.observed.iter().zip(base).enumerate() {
            let at = place(&units, &train.point(i));
            let value = (observed / base).ln();
            match sites.iter_mut().find(|(known, ..)| *known == at) {
                Some((_, sum, n)) => {
                    *sum += value;
                    *n += 1.0;
                }
                None => sites.push((at, value, 1.0)),
            }
        }
        let n = sites.len();
        let values: Vec<f64> = sites.iter().map(|(_, sum, n)| sum / n).collect();
        let mean = values.iter().sum::<f64>() / n as f64;
        let kernel = nalgebra::DMatrix::from_fn(n, n, |i, j| distance(&sites[i].0, &sites[j].0));
        let right = nalgebra::DVector::from_fn(n, |i, _| values[i] - mean);
        let solution = kernel.lu().solve(&right)?;
        let range = [
            values.iter().copied().fold(f64::INFINITY, f64::min),
            values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        ];
        Some(Self {
            units,
            centres: sites.into_iter().map(|(at, ..)| at).collect(),
            weights: solution.iter().copied().collect(),
            mean,
            range,
        })
    }

    /// Times at the points of a table, seconds; the ratio stays within its range at the points known.
    pub fn predict(&self, table: &Table, base: &[f64]) -> Vec<f64> {
        let time = |i: usize| {
            let at = place(&self.units, &table.point(i));
            let pairs = self.centres.iter().zip(&self.weights);
            let sum: f64 = pairs.map(|(c, w)| w * distance(c, &at)).sum();
            base[i] * (self.mean + sum).clamp(self.range[0], self.range[1]).exp()
        };
        (0..table.len()).map(time).collect()
    }
}

fn place(units: &[Option<[f64; 2]>], point: &[f64]) -> Vec<f64> {
    let pairs = units.iter().zip(point);
    let scaled = pairs.filter_map(|(unit, x)| unit.map(|[low, width]| (x.ln() - low) / width));
    scaled.collect()
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    let squares = a.iter().zip(b).map(|(a, b)| (a - b).powi(2));
    squares.sum::<f64>().sqrt()
}
