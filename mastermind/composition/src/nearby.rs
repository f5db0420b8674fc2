//! What was measured near a coordinate beyond what the model tells there.
//!
//! A formula is smooth, and a few per cent off where many sizes are fitted by one: where two classes cross, that sends calls to
//! the slower one although calls of that very size were measured. So a prediction is corrected by the ratios of measured to
//! predicted times nearby, in logarithms
//!
//! ```text
//! c(x) = Σ w r / (Σ w + w₀),  w = exp(−d² / 2 h²)
//! ```
//!
//! with `r` the logarithm of such a ratio, `d` the distance of its sizes from `x` in logarithms, and `w₀` what the model counts for.
//! The width `h` is the one that tells each measured ratio best from the others (leave-one-out); where none does better than the
//! models alone, the ratios are noise, and nothing is corrected.
//!
//! # Source
//! Nadaraya, Theory of Probability and Its Applications 9, 1964: the weighted mean; the prior weight is ours.

use std::collections::BTreeMap;

use mastermind_models::{Coordinate, ModelSet, Total, Value};

use crate::score::Seconds;
use crate::workload::{Workload, model_name};

/// Widths that are tried, in logarithms of a size.
const WIDTHS: [f64; 5] = [0.1, 0.2, 0.35, 0.5, 0.8];

/// What the model counts for beside measured ratios: a tenth of a measurement of the very size.
const OF_MODEL: f64 = 0.1;

/// Part of the squared error of the models alone that the corrected one must stay below.
const WORTH: f64 = 0.9;

/// Sizes of a model at most: of more, one in so many counts.
const MOST_SIZES: usize = 1000;

/// Calls whose mean time is compared: so many that how single calls spread does not count.
const N_COMPARED: f64 = 1e6;

/// Measured times beside predicted ones, by model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Nearby {
    ratios: BTreeMap<String, Vec<Ratio>>,
    /// None where they tell nothing of one another.
    width: Option<f64>,
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
                nearby
                    .ratios
                    .entry(name)
                    .or_default()
                    .push(Ratio { at, ln });
            }
        }
        for ratios in nearby.ratios.values_mut() {
            let every = ratios.len().div_ceil(MOST_SIZES).max(1);
            let mut place = 0;
            ratios.retain(|_| {
                place += 1;
                (place - 1) % every == 0
            });
        }
        nearby.width = nearby.best_width();
        nearby
    }

    /// By what a prediction is to be multiplied.
    ///
    /// # Arguments
    /// * `model` - name of the model, as [`model_name`] has it
    pub fn factor(&self, model: &str, at: &Coordinate) -> f64 {
        let (Some(width), Some(ratios)) = (self.width, self.ratios.get(model)) else {
            return 1.0;
        };
        correction(ratios, &Place::of(at), width, None).exp()
    }

    /// Whether anything is corrected.
    pub fn is_known(&self) -> bool {
        self.width.is_some()
    }

    /// The width by which each ratio is told best by the others.
    fn best_width(&self) -> Option<f64> {
        let squares = |told: &dyn Fn(&[Ratio], usize) -> f64| -> f64 {
            let of_model = |ratios: &Vec<Ratio>| -> f64 {
                let off = |(at, ratio): (usize, &Ratio)| (ratio.ln - told(ratios, at)).powi(2);
                ratios.iter().enumerate().map(off).sum()
            };
            self.ratios.values().map(of_model).sum()
        };
        let alone = squares(&|_, _| 0.0);
        let by_width = WIDTHS.map(|width| {
            let by_others =
                |ratios: &[Ratio], at: usize| correction(ratios, &ratios[at].at, width, Some(at));
            (squares(&by_others), width)
        });
        let best = by_width.into_iter().min_by(|a, b| a.0.total_cmp(&b.0));
        best.filter(|(squares, _)| *squares < WORTH * alone)
            .map(|(_, width)| width)
    }
}

/// The weighted mean of ratios near a place.
///
/// # Arguments
/// * `but` - one that does not count
fn correction(ratios: &[Ratio], at: &Place, width: f64, but: Option<usize>) -> f64 {
    let (mut sum, mut weights) = (0.0, OF_MODEL);
    for (place, ratio) in ratios.iter().enumerate() {
        let Some(distance2) = ratio.at.distance2(at).filter(|_| Some(place) != but) else {
            continue;
        };
        let weight = (-0.5 * distance2 / (width * width)).exp();
        sum += weight * ratio.ln;
        weights += weight;
    }
    sum / weights
}
