//! Carries the models of one machine over to another: a common factor, and an own factor for each method that is far
//! from it.
//!
//! In: models, the expected common factor, and ratios of calls measured on the other machine to the models'
//! predictions. Out: models of the other machine, each with the origin of its factor and the uncertainty of its
//! times.
//!
//! One number does not describe the difference between two processors: a call on the other machine takes the common
//! factor times its time here, within [`BY_COMMON`]. A single measured call is less exact than that, so calls first
//! determine the common factor. A method gets its own factor only if it deviates from the common factor by more than
//! two standard deviations, mostly because a library runs other code on the other machine.
//!
//! ```text
//! ratios a method ──► mean ──► common factor of those within 2 deviations ──► factor a model
//!                        └──── the others ──► their own
//! left-out methods, left-out sizes ──► deviation, by how the factor is known
//! ```

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::samples::metric::Metric;
use crate::select::carried::{Carried, KnownBy, NamedMachine};
use crate::select::model::{Model, ModelSet};

/// Standard deviation of the logarithm of a time by one factor for several methods.
///
/// # Source
/// A study on an Emerald Rapids and a Cascade Lake: with one factor for each family of kernels, the error was 9.5 %
/// at the median and 29 % at the ninth decile of the calls; `ln 1.29 / 1.645`, the wider of the two.
pub const BY_COMMON: f64 = 0.155;

/// Standard deviation of the logarithm of a time of a method, about its own factor.
///
/// # Source
/// The same study: after one measured call of each implementation, the median error of other calls was 14 %, to which
/// both calls contribute equally: `ln 1.14 / 0.6745 / √2`.
pub const BY_CALL: f64 = 0.137;

/// Standard deviation of the logarithm of a time by one factor for all methods of a machine, with no call measured.
///
/// # Source
/// The same study: with one ratio of the two processors, the median error was 16 to 24 %; `ln 1.24 / 0.6745`.
pub const BY_PROCESSORS: f64 = 0.319;

/// Weight of the figures above, in number of methods or sizes, relative to the measured ones.
///
/// Arbitrary: from 2 to 8 the factors that the tests of this module find are the same.
const KNOWN_BEFORE: f64 = 4.0;

/// Number of standard deviations from the common factor beyond which a method has its own factor.
const FAR: f64 = 2.0;

/// Rounds in which methods are sorted into those that agree and the others; most sets need two.
const ROUNDS: usize = 20;

/// The common factor as expected before any call is measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Expected {
    /// Time on the other machine over time on this one.
    pub factor: f64,
    /// Standard deviation of its logarithm.
    pub deviation: f64,
}

/// Calls at one size on the other machine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// Index of the model that predicts these calls on this machine.
    pub model: usize,
    /// Measured time on the other machine over the model's prediction.
    pub ratio: f64,
    /// Standard deviation of the logarithm of `ratio` due to the scatter of the calls.
    pub deviation: f64,
}

/// Summary of a [`carry`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Carriage {
    /// Time on the other machine over time on this one, of the methods that agree.
    pub common_factor: f64,
    /// Methods with calls measured on the other machine.
    pub n_measured: usize,
    /// Measured methods that have a factor of their own.
    pub n_far: usize,
    /// Standard deviation of the logarithm of a method's time, predicted by the common factor.
    pub deviation: f64,
}

/// A method on the other machine.
#[derive(Debug, Default)]
struct Method {
    /// Logarithms of the ratios.
    logs: Vec<f64>,
    /// Variance of the mean of `logs` due to the scatter of calls.
    noise: f64,
    is_far: bool,
}

impl Method {
    fn mean(&self) -> f64 {
        self.logs.iter().sum::<f64>() / self.logs.len() as f64
    }

    /// Mean square about a value.
    fn square_about(&self, of: f64) -> f64 {
        let squares = self.logs.iter().map(|log| (log - of).powi(2));
        squares.sum::<f64>() / self.logs.len() as f64
    }
}

/// Whether the processor determines a metric: MPI times depend on the network, and counters are not times.
fn is_of_processor(model: &Model) -> bool {
    matches!(model.metric, Metric::Wall | Metric::Compute) && !model.method.starts_with("MPI::")
}

/// Carries models over to another machine.
///
/// # Arguments
/// * `models` - models of this machine; none is itself carried over
/// * `machines` - this machine and the other
/// * `expected` - the common factor expected without a measured call
/// * `measured` - calls on the other machine, each with the index of its model; ratios ≤ 0 are ignored
/// * `is_other_code` - whether libraries run other code on the other machine: methods without a measured call are
///   then unknown
///
/// # Returns
/// The models of times that the processor determines, and a summary of the common factor.
pub fn carry(
    models: &ModelSet,
    machines: [&NamedMachine; 2],
    expected: Expected,
    measured: &[Measured],
    is_other_code: bool,
) -> (ModelSet, Carriage) {
    let mut methods: BTreeMap<(&str, String), Method> = BTreeMap::new();
    let key = |model: &'_ Model| model.metric.to_string();
    for of in measured
        .iter()
        .filter(|of| of.ratio > 0.0 && of.ratio.is_finite())
    {
        let Some(model) = models.models.get(of.model).filter(|m| is_of_processor(m)) else {
            continue;
        };
        let method = methods.entry((&model.method, key(model))).or_default();
        method.logs.push(of.ratio.ln());
        method.noise += of.deviation.powi(2);
    }
    for method in methods.values_mut() {
        method.noise /= (method.logs.len() as f64).powi(2);
    }
    let mut list: Vec<&mut Method> = methods.values_mut().collect();
    let (common, spread) = common(&mut list, expected);
    let deviations = Deviations::of(&methods, common, spread, expected);
    let mut sizes: BTreeMap<usize, usize> = BTreeMap::new();
    measured
        .iter()
        .for_each(|of| *sizes.entry(of.model).or_default() += 1);
    let classes = far_classes(&methods);
    let carried = models.models.iter().enumerate();
    let carried = carried.filter(|(_, model)| is_of_processor(model));
    let carried = carried.map(|(place, model)| {
        let method = methods.get(&(model.method.as_str(), key(model)));
        let (log, known_by) = match method {
            Some(method) if method.is_far => (method.mean(), KnownBy::OwnCalls),
            Some(_) => (common, KnownBy::CommonFactor),
            None if is_other_code => (common, KnownBy::Nothing),
            None => match classes.get(class(&model.method)) {
                Some(log) => (*log, KnownBy::Class),
                None if methods.is_empty() => (common, KnownBy::Processors),
                None => (common, KnownBy::OtherMethods),
            },
        };
        let factor = log.exp();
        let mut carried = model.clone().times(factor);
        carried.carried = Some(Carried {
            from: machines[0].clone(),
            to: machines[1].clone(),
            factor,
            known_by,
            deviation: deviations.at(known_by, method),
            n_points: sizes.get(&place).copied().unwrap_or(0),
        });
        carried
    });
    let set = ModelSet {
        models: carried.collect(),
    };
    let carriage = Carriage {
        common_factor: common.exp(),
        n_measured: methods.len(),
        n_far: methods.values().filter(|method| method.is_far).count(),
        deviation: spread,
    };
    (set, carriage)
}

/// The class of a method, `CLASS::PORT.METHOD`.
fn class(method: &str) -> &str {
    method.split("::").next().unwrap_or(method)
}

/// Returns the logarithm of the common factor and the standard deviation of methods from it; marks the methods that
/// are far from it.
///
/// The start is the weighted median of the methods and of the expected factor, which a minority of methods that run
/// other code does not move. Then the methods within [`FAR`] standard deviations are averaged, until that set no
/// longer changes.
fn common(methods: &mut [&mut Method], expected: Expected) -> (f64, f64) {
    let before = expected.factor.ln();
    let weight_before = (BY_COMMON / expected.deviation).powi(2);
    let mut points: Vec<(f64, f64)> = methods.iter().map(|method| (method.mean(), 1.0)).collect();
    points.push((before, weight_before));
    let mut common = weighted_median(&mut points);
    let mut spread = BY_COMMON;
    for _ in 0..ROUNDS {
        let mut has_changed = false;
        for method in methods.iter_mut() {
            let deviation = (spread * spread + method.noise).sqrt();
            let is_far = (method.mean() - common).abs() > FAR * deviation;
            has_changed |= is_far != method.is_far;
            method.is_far = is_far;
        }
        let near = || methods.iter().filter(|method| !method.is_far);
        let (mut sum, mut weights) = (0.0, 0.0);
        for method in near() {
            let weight = (spread * spread + method.noise).recip();
            sum += weight * method.mean();
            weights += weight;
        }
        let weight = expected.deviation.powi(-2);
        common = (sum + weight * before) / (weights + weight);
        let squares =
            near().map(|method| ((method.mean() - common).powi(2) - method.noise).max(0.0));
        let squares: f64 = squares.sum();
        let n = near().count() as f64;
        spread = ((KNOWN_BEFORE * BY_COMMON.powi(2) + squares) / (KNOWN_BEFORE + n)).sqrt();
        if !has_changed {
            break;
        }
    }
    (common, spread)
}

/// The value that half of the weight is at or below.
fn weighted_median(points: &mut [(f64, f64)]) -> f64 {
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let half = 0.5 * points.iter().map(|(_, weight)| weight).sum::<f64>();
    let mut below = 0.0;
    let middle = points.iter().find(|(_, weight)| {
        below += weight;
        below >= half
    });
    middle.map_or(0.0, |(value, _)| *value)
}

/// Mean logarithm of the factors of each class all of whose measured methods are far from the common factor.
fn far_classes<'m>(methods: &BTreeMap<(&'m str, String), Method>) -> BTreeMap<&'m str, f64> {
    let names: BTreeSet<&str> = methods.keys().map(|(name, _)| class(name)).collect();
    let factor = |name: &'m str| {
        let of_class = methods.iter().filter(|((of, _), _)| class(of) == name);
        let means = of_class.map(|(_, method)| method.is_far.then(|| method.mean()));
        let means: Option<Vec<f64>> = means.collect();
        means.map(|means| (name, means.iter().sum::<f64>() / means.len() as f64))
    };
    names.into_iter().filter_map(factor).collect()
}

/// Standard deviations of the logarithm of a time, by the origin of its factor: errors at held-out methods and sizes,
/// combined with the figures of the study.
struct Deviations {
    /// A call of a method, predicted by the method's own factor.
    of_call: f64,
    /// A method that agrees, predicted by the common factor of the others.
    of_near: f64,
    /// Any method, predicted by the common factor of the others.
    of_any: f64,
    of_processors: f64,
}

impl Deviations {
    fn of(
        methods: &BTreeMap<(&str, String), Method>,
        common: f64,
        spread: f64,
        expected: Expected,
    ) -> Self {
        let near = || methods.values().filter(|method| !method.is_far);
        // Leaving one method out moves the common factor away from it, in proportion to the method's weight.
        let weights = near().count() as f64 + (spread / expected.deviation).powi(2);
        let square = |method: &Method| match method.is_far {
            true => method.square_about(common),
            false => {
                let mean = method.mean();
                let away = (mean - common) * weights / (weights - 1.0).max(0.5);
                method.square_about(mean) + away * away
            }
        };
        let with_known = |known: f64, squares: f64, n: f64| {
            ((KNOWN_BEFORE * known * known + squares) / (KNOWN_BEFORE + n)).sqrt()
        };
        let several = methods.values().filter(|method| method.logs.len() > 1);
        let squares = several
            .clone()
            .map(|method| method.square_about(method.mean()) * method.logs.len() as f64);
        let freedom = several.map(|method| method.logs.len() as f64 - 1.0);
        Self {
            of_call: with_known(BY_CALL, squares.sum(), freedom.sum()),
            of_near: with_known(BY_COMMON, near().map(square).sum(), near().count() as f64),
            of_any: with_known(
                BY_COMMON,
                methods.values().map(square).sum(),
                methods.len() as f64,
            ),
            of_processors: expected.deviation,
        }
    }

    /// # Arguments
    /// * `method` - the method on the other machine, if it was measured
    fn at(&self, known_by: KnownBy, method: Option<&Method>) -> Option<f64> {
        let n = method.map_or(1.0, |method| method.logs.len() as f64);
        let of_mean = method.map_or(0.0, |method| method.noise);
        match known_by {
            KnownBy::OwnCalls => Some((self.of_call.powi(2) * (1.0 + 1.0 / n) + of_mean).sqrt()),
            KnownBy::CommonFactor => Some(self.of_near),
            // Scatter of the class's methods, and as much again as methods of all classes differ from each other.
            KnownBy::Class => Some((self.of_call.powi(2) * 2.0).sqrt().hypot(BY_COMMON)),
            KnownBy::OtherMethods => Some(self.of_any),
            KnownBy::Processors => Some(self.of_processors),
            KnownBy::Nothing => None,
        }
    }
}
