//! What was measured near a coordinate beyond what the model tells there.
//!
//! A formula is smooth, and a few per cent off where many sizes are fitted by one: where two classes cross, that sends calls to
//! the slower one although calls of that very size were measured. So a prediction is corrected by the ratios of measured to
//! predicted times nearby, in logarithms: the mean of a Gaussian process through them,
//!
//! ```text
//! c(x) = Σ k(x, xᵢ) aᵢ,  (K + ν) a = r,  k(d) = (1 + d√5 + 5d²/3) exp(−d√5),  d = |x − x'| / h
//! ```
//!
//! with `r` the logarithms of such ratios and `x` the logarithms of sizes, in which those of a model spread alike in all directions:
//! sizes that always grow together count once, and by what they differ all the same. Far from all measurements the model alone
//! speaks, and calls of other labels say nothing of one another. The reach `h` and the noise `ν` are those that tell each measured ratio
//! best from the others (leave-one-out); where none does better than the model alone, the ratios are noise, and nothing is corrected.
//!
//! # Source
//! C.E. Rasmussen, C.K.I. Williams, *Gaussian Processes for Machine Learning* (2006), equations 2.25, 4.17 and 5.12.

use std::collections::BTreeMap;

use mastermind_models::{Coordinate, ModelSet, Total, Value};
use nalgebra::{Cholesky, DMatrix, DVector, Dyn};

use crate::score::Seconds;
use crate::workload::{Workload, model_name};

/// Reaches that are tried, in standard deviations of the sizes.
const REACHES: [f64; 7] = [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4];

/// Variances of what no other ratio tells that are tried, in those of what the others do.
const NOISES: [f64; 5] = [0.001, 0.01, 0.1, 0.3, 1.0];

/// Part of the squared error of a model alone that the corrected one must stay below.
const WORTH: f64 = 0.9;

/// Ratios by which reach and noise are found at most, and those that correct: of more, one in so many counts.
const MAX_TRIED: usize = 150;
const MAX_PLACES: usize = 600;

/// Part of the variance of all sizes that a direction has at least: what hardly varies is not stretched beyond all measure.
const LEAST_SPREAD: f64 = 1e-3;

/// Calls whose mean time is compared: so many that how single calls spread does not count.
const N_COMPARED: f64 = 1e6;

/// Measured times beside predicted ones, by model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Nearby {
    measured: BTreeMap<String, Measured>,
}

/// What was measured of a model.
#[derive(Debug, Clone, Default, PartialEq)]
struct Measured {
    coordinates: Vec<Coordinate>,
    /// None where ratios tell nothing of one another.
    correction: Option<Correction>,
}

/// A measured time over the predicted one.
#[derive(Debug, Clone, PartialEq)]
struct Ratio {
    at: Place,
    ln: f64,
}

/// A coordinate: its words, and its sizes in logarithms.
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
                // So that 0 is a size too.
                Value::Number(x) => sizes.push(if *x >= 1.0 { x.ln() } else { x - 1.0 }),
            }
        }
        Place { labels, sizes }
    }

    /// Squared distance; None between calls of other words.
    fn distance2(&self, other: &Self) -> Option<f64> {
        let apart = self.sizes.iter().zip(&other.sizes);
        let is_alike = self.labels == other.labels && self.sizes.len() == other.sizes.len();
        is_alike.then(|| apart.map(|(a, b)| (a - b).powi(2)).sum())
    }
}

impl Nearby {
    /// # Arguments
    /// * `runs` - of any classes
    /// * `seconds` - which of them the models tell
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

    /// By what a prediction is to be multiplied.
    ///
    /// # Arguments
    /// * `model` - name of the model, as [`model_name`] has it
    pub fn factor(&self, model: &str, at: &Coordinate) -> f64 {
        let measured = self.measured.get(model);
        let correction = measured.and_then(|measured| measured.correction.as_ref());
        correction.map_or(1.0, |correction| correction.ln_at(Place::of(at)).exp())
    }

    /// Whether anything is corrected.
    pub fn is_known(&self) -> bool {
        let mut measured = self.measured.values();
        measured.any(|measured| measured.correction.is_some())
    }

    /// Where calls of a model were measured.
    pub(crate) fn coordinates(&self, model: &str) -> &[Coordinate] {
        let measured = self.measured.get(model);
        measured.map_or(&[], |measured| &measured.coordinates)
    }
}

/// The mean of a Gaussian process through the ratios of one model.
#[derive(Debug, Clone, PartialEq)]
struct Correction {
    /// Sizes are stretched.
    places: Vec<Place>,
    /// What each counts, shape `[n_places]`.
    shares: DVector<f64>,
    reach: f64,
    stretch: Stretch,
}

impl Correction {
    /// None where ratios tell nothing of one another.
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

    /// The logarithm of the factor at a place that is not stretched yet.
    fn ln_at(&self, place: Place) -> f64 {
        let place = self.stretch.apply(place);
        let told = self.places.iter().zip(&self.shares);
        told.map(|(other, share)| share * together(&place, other, self.reach))
            .sum()
    }
}

/// How two ratios go together.
fn together(a: &Place, b: &Place, reach: f64) -> f64 {
    a.distance2(b).map_or(0.0, |distance2| {
        let d = (5.0 * distance2).sqrt() / reach;
        (1.0 + d + d * d / 3.0) * (-d).exp()
    })
}

/// The same of all, shape `[n_places][n_places]`.
fn near(places: &[Place], reach: f64) -> DMatrix<f64> {
    DMatrix::from_fn(places.len(), places.len(), |i, j| {
        together(&places[i], &places[j], reach)
    })
}

fn with_noise(mut near: DMatrix<f64>, noise: f64) -> Option<Cholesky<f64, Dyn>> {
    (0..near.nrows()).for_each(|i| near[(i, i)] += noise);
    Cholesky::new(near)
}

/// Sum of the squares by which each ratio is off what all the others tell.
fn left_out(near: DMatrix<f64>, noise: f64, lns: &DVector<f64>) -> Option<f64> {
    let inverse = with_noise(near, noise)?.inverse();
    let shares = &inverse * lns;
    let off = shares.iter().enumerate();
    Some(
        off.map(|(i, share)| (share / inverse[(i, i)]).powi(2))
            .sum(),
    )
}

/// Makes sizes spread alike in all directions.
#[derive(Debug, Clone, PartialEq)]
struct Stretch {
    /// Factor of the covariance of the sizes, shape `[n_sizes][n_sizes]`, lower triangular; none where it has none.
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
