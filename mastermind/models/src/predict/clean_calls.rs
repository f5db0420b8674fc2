//! Selects the calls that a model describes, to plot or list them with the model.
//!
//! In: a model and the samples it was fitted to. Out: one summary per coordinate, without the calls that the machine
//! delayed.

use crate::predict::call::predict_value_s;
use crate::samples::sample::{Samples, Summary};
use crate::select::model::{HeldUp, Model};
use crate::solve::held_up::{Calls, Delays, Mixture, Weighted};

/// Summaries of the calls that a model describes, shape `[n_coordinates]`.
///
/// Each call is weighted by its probability of being clean; calls at the slower of two speeds are scaled to the
/// faster one. If the model has no delayed calls, these are the calls that are not spikes ([`Samples::kept`]). The
/// summary is empty at coordinates of other modes and where the model has no value.
///
/// # Arguments
/// * `samples` - of the method of the model, with all its parameters
pub fn clean_calls(model: &Model, samples: &Samples) -> Vec<Summary> {
    let rows = 0..samples.coordinates.len();
    let of = |row: usize| {
        let coordinate = samples.coordinate(row);
        if !model.matches(&coordinate) {
            return Summary::EMPTY;
        }
        let Some(held_up) = &model.held_up else {
            return samples.kept[row];
        };
        let curve_s = predict_value_s(model, &coordinate);
        let deviation_s = model.deviation_s(&coordinate);
        match (curve_s, deviation_s) {
            (Ok(curve_s), Ok(deviation_s)) if curve_s > 0.0 && deviation_s > 0.0 => {
                let mixture = mixture(held_up, deviation_s / curve_s);
                of_bins(&samples.bins[row], &mixture, curve_s)
            }
            _ => Summary::EMPTY,
        }
    };
    rows.map(of).collect()
}

/// The mixture of clean and delayed calls that a model describes.
///
/// # Arguments
/// * `scale` - standard deviation of the logarithm of a clean call
fn mixture(held_up: &HeldUp, scale: f64) -> Mixture {
    let (delays, delay) = match (held_up.slower, held_up.of_s) {
        (Some(slower), _) => (Delays::Speed, slower - 1.0),
        (None, Some(of_s)) => (Delays::Share, held_up.median_s / of_s),
        (None, None) => (Delays::Seconds, held_up.median_s),
    };
    Mixture {
        scale,
        share: held_up.share,
        delay,
        delays,
    }
}

/// Summary of the clean calls at one coordinate.
fn of_bins(bins: &Vec<Summary>, mixture: &Mixture, curve_s: f64) -> Summary {
    let calls = Calls {
        bins: std::slice::from_ref(bins),
        clock_step_s: 0.0,
    };
    let clean = mixture.clean(&calls, &[curve_s]);
    let mut weighted = mixture.weighted(&calls, &clean);
    let weighted = weighted.pop().unwrap_or_default();
    let n: f64 = weighted.iter().map(|(n, _)| n).sum();
    if n < 0.5 {
        return Summary::EMPTY;
    }
    let mean_s = weighted.iter().map(|(n, bin)| n * bin.mean_s).sum::<f64>() / n;
    let squares = |(n, bin): &Weighted| {
        let off = bin.mean_s - mean_s;
        n * (bin.m2_s2 / bin.count as f64 + off * off)
    };
    let likely = weighted
        .iter()
        .filter(|(n, bin)| 2.0 * n >= bin.count as f64);
    let ends = likely.map(|(_, bin)| [bin.min_s, bin.max_s]);
    let [min_s, max_s] = ends.fold([mean_s; 2], |[min, max], [low, high]| {
        [min.min(low), max.max(high)]
    });
    Summary {
        count: n.round() as u64,
        mean_s,
        m2_s2: weighted.iter().map(squares).sum(),
        min_s,
        max_s,
    }
}
