//! Paths along which a formula is checked for absurd values: along each parameter, to beyond its range.

use super::prior::AHEAD;
use crate::formula::sum::Formula;
use crate::samples::points::Points;

/// Places on a path.
const N_PLACES: u32 = 9;

/// Places along each varying parameter, with the others as at the middle point, and along all varying parameters together.
#[derive(Debug, Clone)]
pub(crate) struct Paths {
    /// Values of all numeric parameters, shape `[n_params][n_paths · n_places]`.
    pub columns: Vec<Vec<f64>>,
    n_paths: usize,
    /// Pairs of positions of parameters that were never varied together.
    apart: Vec<[usize; 2]>,
}

impl Paths {
    /// From the least value of a parameter to [`AHEAD`] times the greatest.
    pub fn new(points: &Points) -> Self {
        let varying = points.varying();
        let together = varying.len() > 1;
        let n_paths = varying.len() + usize::from(together);
        let middle = points.len() / 2;
        let mut columns = vec![Vec::new(); points.names.len()];
        for path in 0..n_paths {
            let walked = |param: usize| match varying.get(path) {
                Some(&walked) => walked == param,
                None => varying.contains(&param),
            };
            for (param, column) in columns.iter_mut().enumerate() {
                let here = points.columns[param].get(middle).copied().unwrap_or(0.0);
                let [low, high] = points.range(param);
                column.extend((0..N_PLACES).map(|k| match walked(param) {
                    true => place(low, high, f64::from(k) / f64::from(N_PLACES - 1)),
                    false => here,
                }));
            }
        }
        let position = |name: &str| points.names.iter().position(|known| known == name);
        let pairs = points.apart().into_iter();
        let apart = pairs.filter_map(|[(p, _), (q, _)]| Some([position(&p)?, position(&q)?]));
        Self {
            columns,
            n_paths,
            apart: apart.collect(),
        }
    }

    /// Whether a product contains two parameters that were never varied together.
    ///
    /// # Arguments
    /// * `has` - whether the parameter at a position is in the product
    pub fn is_unseen(&self, has: impl Fn(usize) -> bool) -> bool {
        self.apart.iter().any(|&[p, q]| has(p) && has(q))
    }

    /// Splits values at all places into the values along each path.
    pub fn split<'v>(&self, values: &'v [f64]) -> impl Iterator<Item = &'v [f64]> + Clone {
        values.chunks(N_PLACES as usize).take(self.n_paths)
    }

    /// Values of a formula at the places of all paths, one path after the other; NaN where the formula has no value.
    pub fn values(&self, formula: &Formula, points: &Points) -> Vec<f64> {
        let n = self.n_paths * N_PLACES as usize;
        let value = |i: usize| {
            let number = |name: &str| {
                let param = points.names.iter().position(|known| known == name)?;
                Some(self.columns[param][i])
            };
            formula.evaluate(number).unwrap_or(f64::NAN)
        };
        (0..n).map(value).collect()
    }
}

/// The place at a share of the way from `low` to beyond `high`: geometric if `low` is positive, else linear.
fn place(low: f64, high: f64, share: f64) -> f64 {
    if low > 0.0 {
        low * (AHEAD * high / low).powf(share)
    } else {
        let end = high + (AHEAD - 1.0) * (high - low);
        low + (end - low) * share
    }
}
