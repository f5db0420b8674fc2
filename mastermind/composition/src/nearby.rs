//! Corrections of a model's predictions from measurements near a coordinate.
//!
//! A formula is smooth, and a few per cent off where it fits many sizes. Where two classes cross, such an error sends
//! calls to the slower class even if calls of that very size were measured. So a prediction is corrected by the ratios
//! of measured to predicted times nearby, in logarithms: the mean of a Gaussian process through them,
//!
//! ```text
//! c(x) = Σ k(x, xᵢ) aᵢ,  (K + ν) a = r,  k(d) = (1 + d√5 + 5d²/3) exp(−d√5),  d = |x − x'| / h
//! ```
//!
//! where `r` are the logarithms of the ratios and `x` the logarithms of sizes, scaled so that the sizes of a model have
//! equal variance in all directions: sizes that always grow together then count as one direction, and their differences
//! keep their weight. Far from all measurements the model alone predicts, and calls with different labels do not affect
//! one another. The length scale `h` and the noise `ν` minimise the leave-one-out error of the measured ratios. If none
//! improves on the model alone, the ratios are noise and nothing is corrected.
//!
//! # Source
//! C.E. Rasmussen, C.K.I. Williams, *Gaussian Processes for Machine Learning* (2006), equations 2.25, 4.17 and 5.12.

use std::collections::BTreeMap;

use mastermind_models::{Coordinate, ModelSet, Total, Value};
use nalgebra::{Cholesky, DMatrix, DVector, Dyn};

use crate::score::Seconds;
use crate::workload::{Workload, model_name};

/// Candidate length scales, in standard deviations of the sizes.
const REACHES: [f64; 7] = [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4];

/// Candidate noise variances, relative to the variance that the other ratios explain.
const NOISES: [f64; 5] = [0.001, 0.01, 0.1, 0.3, 1.0];

/// The corrected squared error must stay below this share of the model's own error.
const WORTH: f64 = 0.9;

/// Largest number of ratios used to select length scale and noise, and to correct; of more, every n-th is used.
const MAX_TRIED: usize = 150;
const MAX_PLACES: usize = 600;

/// Smallest variance of a direction, as a share of the variance of all sizes: limits how far a nearly constant size is
/// stretched.
const LEAST_SPREAD: f64 = 1e-3;

/// Number of calls whose mean time is compared: so many that the spread of single calls is negligible.
const N_COMPARED: f64 = 1e6;

/// Measured times compared with predicted ones, by model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Nearby {
    measured: BTreeMap<String, Measured>,
}

/// The measurements of one model.
#[derive(Debug, Clone, Default, PartialEq)]
struct Measured {
    coordinates: Vec<Coordinate>,
    /// None where the ratios do not predict one another.
    correction: Option<Correction>,
}

/// Logarithm of the ratio of measured to predicted time at a coordinate.
#[derive(Debug, Clone, PartialEq)]
struct Ratio {
    at: Place,
    ln: f64,
}

/// A coordinate: its labels, and the logarithms of its sizes.
#[derive(Debug, Clone, PartialEq)]
struct Place {
    labels: Vec<String>,
    sizes: Vec<f64>,
}

impl Place {
    fn of(coordinate: &Coordinate) -> Self {
        let (mut labels, mut sizes) = (Vec::new(), Vec::new());
        for value in coordinate.values.values() {
            match value {
                Value::Label(label) => labels.push(label.clone()),
                // Continued linearly below 1, so that 0 is a valid size.
                Value::Number(x) => sizes.push(if *x >= 1.0 { x.ln() } else { x - 1.0 }),
            }
        }
        Place { labels, sizes }
    }

    /// Squared distance; None between coordinates with different labels.
    fn distance2(&self, other: &Self) -> Option<f64> {
        let apart = self.sizes.iter().zip(&other.sizes);
        let is_alike = self.labels == other.labels && self.sizes.len() == other.sizes.len();
        is_alike.then(|| apart.map(|(a, b)| (a - b).powi(2)).sum())
    }
}

impl Nearby {
    /// # Arguments
    /// * `runs` - runs with any classes
    /// * `seconds` - which seconds the models predict
    pub fn of(runs: &[Workload], models: &ModelSet, seconds: Seconds) -> Self {
        let mut measured: BTreeMap<(String, String), (&Coordinate, f64, f64)> = BTreeMap::new();
        for run in runs {
            for call in run.calls.iter().filter(|call| call.count > 0) {
                let taken_s = match seconds {
                    Seconds::Processor => call.processor_s,
                    Seconds::Wall => call.measured_s,
                };
                let key = (
                    model_name(&call.class, &call.port_method),
                    format!("{:?}", call.coordinate.values),
                );
                let sum = measured.entry(key).or_insert((&call.coordinate, 0.0, 0.0));
                sum.1 += taken_s;
                sum.2 += call.count as f64;
            }
        }
        let mut ratios: BTreeMap<String, Vec<Ratio>> = BTreeMap::new();
        let mut nearby = Self::default();
        for ((name, _), (coordinate, taken_s, calls)) in measured {
            let metric = runs[0].metric.clone();
            let model = models.find(&name, metric, coordinate).ok();
            let predicted_s = model.and_then(|model| {
                let mut total = Total::new(model);
                total.add(coordinate, N_COMPARED).ok()?;
                Some(total.time_s() / N_COMPARED)
            });
            let ln = predicted_s.map(|predicted_s| (taken_s / calls / predicted_s).ln());
            if let Some(ln) = ln.filter(|ln| ln.is_finite()) {
                let at = Place::of(coordinate);
                let of_model = nearby.measured.entry(name.clone()).or_default();
                of_model.coordinates.push(coordinate.clone());
                ratios.entry(name).or_default().push(Ratio { at, ln });
            }
        }
        for (name, of_model) in &mut nearby.measured {
            of_model.correction = Correction::of(&ratios[name]);
        }
        nearby
    }

    /// The factor that corrects a prediction.
    ///
    /// # Arguments
    /// * `model` - name of the model, as [`model_name`] returns it
    pub fn factor(&self, model: &str, at: &Coordinate) -> f64 {
        let measured = self.measured.get(model);
        let correction = measured.and_then(|measured| measured.correction.as_ref());
        correction.map_or(1.0, |correction| correction.ln_at(Place::of(at)).exp())
    }

    /// Whether any prediction is corrected.
    pub fn is_known(&self) -> bool {
        let mut measured = self.measured.values();
        measured.any(|measured| measured.correction.is_some())
    }

    /// Coordinates at which calls of a model were measured.
    pub(crate) fn coordinates(&self, model: &str) -> &[Coordinate] {
        let measured = self.measured.get(model);
        measured.map_or(&[], |measured| &measured.coordinates)
    }
}

/// The mean of a Gaussian process through the ratios of one model.
#[derive(Debug, Clone, PartialEq)]
struct Correction {
    /// Coordinates with scaled sizes.
    places: Vec<Place>,
    /// Weight of each ratio, shape `[n_places]`.
    shares: DVector<f64>,
    reach: f64,
    stretch: Stretch,
}

impl Correction {
    /// None where the ratios do not predict one another.
    fn of(ratios: &[Ratio]) -> Option<Self> {
        let stretch = Stretch::of(ratios);
        let few = |most: usize| -> (Vec<Place>, DVector<f64>) {
            let every = ratios.len().div_ceil(most).max(1);
            let few = ratios.iter().step_by(every);
            let places = few.clone().map(|ratio| stretch.apply(ratio.at.clone()));
            let lns: Vec<f64> = few.map(|ratio| ratio.ln).collect();
            (places.collect(), DVector::from_vec(lns))
        };
        let (places, lns) = few(MAX_TRIED);
        let tried = REACHES.iter().flat_map(|reach| {
            let near = near(&places, *reach);
            let lns = &lns;
            NOISES.iter().filter_map(move |noise| {
                Some((left_out(near.clone(), *noise, lns)?, *reach, *noise))
            })
        });
        let (squares, reach, noise) = tried.min_by(|a, b| a.0.total_cmp(&b.0))?;
        if squares >= WORTH * lns.norm_squared() {
            return None;
        }
        let (places, lns) = few(MAX_PLACES);
        let shares = with_noise(near(&places, reach), noise)?.solve(&lns);
        Some(Self {
            places,
            shares,
            reach,
            stretch,
        })
    }

    /// The logarithm of the factor at a coordinate whose sizes are not scaled yet.
    fn ln_at(&self, place: Place) -> f64 {
        let place = self.stretch.apply(place);
        let told = self.places.iter().zip(&self.shares);
        told.map(|(other, share)| share * together(&place, other, self.reach))
            .sum()
    }
}

/// Covariance of two ratios.
fn together(a: &Place, b: &Place, reach: f64) -> f64 {
    a.distance2(b).map_or(0.0, |distance2| {
        let d = (5.0 * distance2).sqrt() / reach;
        (1.0 + d + d * d / 3.0) * (-d).exp()
    })
}

/// The covariance matrix, shape `[n_places][n_places]`.
fn near(places: &[Place], reach: f64) -> DMatrix<f64> {
    DMatrix::from_fn(places.len(), places.len(), |i, j| {
        together(&places[i], &places[j], reach)
    })
}

fn with_noise(mut near: DMatrix<f64>, noise: f64) -> Option<Cholesky<f64, Dyn>> {
    (0..near.nrows()).for_each(|i| near[(i, i)] += noise);
    Cholesky::new(near)
}

/// Sum of squared leave-one-out residuals of the ratios.
fn left_out(near: DMatrix<f64>, noise: f64, lns: &DVector<f64>) -> Option<f64> {
    let inverse = with_noise(near, noise)?.inverse();
    let shares = &inverse * lns;
    let off = shares.iter().enumerate();
    Some(
        off.map(|(i, share)| (share / inverse[(i, i)]).powi(2))
            .sum(),
    )
}

/// Scales sizes to equal variance in all directions.
#[derive(Debug, Clone, PartialEq)]
struct Stretch {
    /// Cholesky factor of the covariance of the sizes, shape `[n_sizes][n_sizes]`, lower triangular; None where it has
    /// none.
    factor: Option<DMatrix<f64>>,
}

impl Stretch {
    fn of(ratios: &[Ratio]) -> Self {
        let n_sizes = ratios.first().map_or(0, |ratio| ratio.at.sizes.len());
        let alike = |ratio: &&Ratio| ratio.at.sizes.len() == n_sizes;
        let sizes: Vec<&[f64]> = ratios
            .iter()
            .filter(alike)
            .map(|ratio| ratio.at.sizes.as_slice())
            .collect();
        let n = sizes.len().max(1) as f64;
        let mean = |j: usize| sizes.iter().map(|sizes| sizes[j]).sum::<f64>() / n;
        let means: Vec<f64> = (0..n_sizes).map(mean).collect();
        let mut covariance = DMatrix::from_fn(n_sizes, n_sizes, |i, j| {
            let product = |sizes: &&[f64]| (sizes[i] - means[i]) * (sizes[j] - means[j]);
            sizes.iter().map(product).sum::<f64>() / n
        });
        let least = LEAST_SPREAD * covariance.trace() / n_sizes.max(1) as f64;
        (0..n_sizes).for_each(|j| covariance[(j, j)] += least);
        Self {
            factor: Cholesky::new(covariance).map(|cholesky| cholesky.l()),
        }
    }

    fn apply(&self, place: Place) -> Place {
        let Some(factor) = &self.factor else {
            return place;
        };
        if factor.nrows() != place.sizes.len() {
            return place;
        }
        let mut sizes = DVector::from_vec(place.sizes);
        // The diagonal of a factor is positive, so this does not fail.
        factor.solve_lower_triangular_mut(&mut sizes);
        Place {
            labels: place.labels,
            sizes: sizes.data.into(),
        }
    }
}
