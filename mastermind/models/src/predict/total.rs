//! The time of many calls of one model together.

use crate::error::Error;
use crate::predict::call::predict_summand;
use crate::samples::parameter::Coordinate;
use crate::select::model::Model;
use crate::solve::uncertainty::Uncertainty;

/// Total time of many calls of one model, summed one coordinate at a time.
///
/// The variance of a total has these parts:
/// * calls vary independently about their model: `Σ count · sigma²`;
/// * errors of the coefficients are common to all calls: `gᵀ C g`, where `g` is the sum of the gradients of the
///   calls;
/// * the formula itself may be wrong: the spread of the total over the model's alternatives, by weight;
/// * the factor of a model carried over from another machine is wrong for all calls alike.
///
/// The total is multiplied by the model's `total_ratio`, since calls that were set aside or got little weight belong
/// to it. Delays add to it, some per call and some per second of call time ([`crate::HeldUp`]); they increase the
/// variance of each call, and their mean is estimated from as many calls as were fitted.
#[derive(Debug, Clone)]
pub struct Total<'a> {
    model: &'a Model,
    time_s: f64,
    /// The part of it that delays take.
    held_up_s: f64,
    /// Standard deviation that delays add to a call, summed over the calls, without `total_ratio`.
    delays_s: f64,
    calls: Uncertainty,
    /// Derivative of the total with respect to the model's coefficients.
    gradient: Vec<f64>,
    /// The total by each alternative.
    alternatives_s: Vec<f64>,
    extrapolated: bool,
    clamped: bool,
}

impl<'a> Total<'a> {
    /// No calls yet.
    pub fn new(model: &'a Model) -> Self {
        Self {
            model,
            time_s: 0.0,
            held_up_s: 0.0,
            delays_s: 0.0,
            calls: Uncertainty::default(),
            gradient: vec![0.0; model.coefficients.len()],
            alternatives_s: vec![0.0; model.alternatives.len()],
            extrapolated: false,
            clamped: false,
        }
    }

    /// Adds `count` calls at one coordinate.
    ///
    /// # Errors
    /// Those of [`crate::predict`].
    pub fn add(&mut self, coordinate: &Coordinate, count: f64) -> Result<(), Error> {
        let prediction = predict_summand(self.model, coordinate)?;
        let delay_s2 = prediction
            .held_up
            .map_or(0.0, |held_up| held_up.variance_s2);
        self.delays_s += count * delay_s2.sqrt();
        let delays_s2 = count * delay_s2;
        let of_delays_s = count * self.model.delays_s(prediction.value_s);
        self.held_up_s += of_delays_s;
        let count = count * self.model.total_ratio;
        self.time_s += count * prediction.value_s + of_delays_s;
        self.extrapolated |= prediction.extrapolated;
        self.clamped |= prediction.clamped;
        let deviation_s = self.model.deviation_s(coordinate)?;
        let variance = match prediction.upper_s.is_finite() {
            true => count * deviation_s * deviation_s + delays_s2,
            // The time of the call is unknown.
            false => f64::INFINITY,
        };
        self.calls.add(variance, self.model.freedom.sigma);
        let gradient = self.model.gradient(coordinate)?;
        let pairs = self.gradient.iter_mut().zip(gradient);
        pairs.for_each(|(sum, g)| *sum += count * g);
        for (sum, alternative) in self.alternatives_s.iter_mut().zip(&self.model.alternatives) {
            let time_s = self.model.alternative_s(alternative, coordinate);
            let time_s = time_s.map_or(prediction.value_s, |time_s| time_s.max(0.0));
            *sum += count * time_s + of_delays_s;
        }
        Ok(())
    }

    /// The predicted time, seconds.
    pub fn time_s(&self) -> f64 {
        self.time_s
    }

    /// The part of the total that delays take if they are as frequent as during the measurement, seconds.
    pub fn held_up_s(&self) -> f64 {
        self.held_up_s
    }

    /// Its uncertainty.
    pub fn uncertainty(&self) -> Uncertainty {
        let mut sum = self.calls;
        sum.merge(&self.model.coefficient_uncertainty(&self.gradient));
        let pairs = self.alternatives_s.iter().zip(&self.model.alternatives);
        let between = pairs.map(|(total, a)| a.weight * (total - self.time_s).powi(2));
        sum.add(between.sum(), self.model.freedom.coefficients);
        let n_records = (self.model.n_records as f64).max(1.0);
        let of_mean_s2 = self.delays_s * self.delays_s / n_records;
        sum.add(of_mean_s2, self.model.freedom.sigma);
        let carried = self.model.carried.as_ref();
        let of_factor = carried.and_then(|of| of.deviation).unwrap_or(0.0);
        sum.add((of_factor * self.time_s).powi(2), f64::INFINITY);
        sum
    }

    /// Whether a call lies outside the range the model was measured in.
    pub fn extrapolated(&self) -> bool {
        self.extrapolated
    }

    /// Whether the formula was negative at a call and was replaced by 0.
    pub fn clamped(&self) -> bool {
        self.clamped
    }
}
