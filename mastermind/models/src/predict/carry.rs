//! Models of one machine for another one: a common factor, and one of its own for a method that is far from it.
//!
//! In: models, what is known of the common factor before anything was measured there, and what calls there took by what the models
//! say. Out: models of the other machine, each with how its factor is known and how far off its times may be.
//!
//! Processors differ in many ways, and one number does not hold them: a call there takes the common factor times what it takes here, give or
//! take [`BY_COMMON`]. That is less than a single measured call is off by, so calls there first tell the common factor. A method takes
//! its own factor only where it is further from the common one than two standard deviations: mostly a library that runs other code there.
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
/// A study on an Emerald Rapids and a Cascade Lake: one factor a family of kernels was off by 9.5 % at the median and 29 % at nine tenths of
/// the calls; `ln 1.29 / 1.645`, the wider of the two.
pub const BY_COMMON: f64 = 0.155;

/// Standard deviation of the logarithm of a time of a method, about its own factor.
///
/// # Source
/// The same study: with one measured call of each implementation others were off by 14 % at the median, the two calls' share of it
/// alike: `ln 1.14 / 0.6745 / √2`.
pub const BY_CALL: f64 = 0.137;

/// Standard deviation of the logarithm of a time by one factor for all methods of a machine, of which no call was measured.
///
/// # Source
/// The same study: one ratio of the two processors was off by 16 to 24 % at the median; `ln 1.24 / 0.6745`.
pub const BY_PROCESSORS: f64 = 0.319;

/// How many methods, or sizes, the figures above count as, beside those that were measured.
///
/// Arbitrary: from 2 to 8 the factors that the tests of this module find are the same.
const KNOWN_BEFORE: f64 = 4.0;

/// Deviations from the common factor beyond which a method has its own.
const FAR: f64 = 2.0;

/// Rounds in which methods are sorted into those that agree and the others; most sets need two.
const ROUNDS: usize = 20;

/// The common factor as it is known without a call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Expected {
    /// Time there by time here.
    pub factor: f64,
    /// Standard deviation of its logarithm.
    pub deviation: f64,
}

/// Calls at one size on the other machine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// Place of the model that predicts them here.
    pub model: usize,
    /// Their time there, by what the model says.
    pub ratio: f64,
    /// Standard deviation of the logarithm of that which the calls' scatter brings.
    pub deviation: f64,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Carriage {
    /// Time there by time here, of methods that agree.
    pub common_factor: f64,
    /// Methods that were measured there.
    pub n_measured: usize,
    /// Those that have a factor of their own.
    pub n_far: usize,
    /// Standard deviation of the logarithm of a method's time by the common factor.
    pub deviation: f64,
}

/// A method on the other machine.
#[derive(Debug, Default)]
struct Method {
    /// Logarithms of the ratios.
    logs: Vec<f64>,
    /// Variance that the scatter of calls gives to the mean of these.
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

/// Whether times of a metric are the processor's: those in MPI are the network's, and counts are no times.
fn is_of_processor(model: &Model) -> bool {
    matches!(model.metric, Metric::Wall | Metric::Compute) && !model.method.starts_with("MPI::")
}

/// Makes models for another machine.
///
/// # Arguments
/// * `models` - of this machine; none carried itself
/// * `machines` - this one and the other
/// * `expected` - the common factor without a call
/// * `measured` - calls there, each with the place of its model; ratios that are not above 0 are left out
/// * `is_other_code` - whether libraries run other code there: what was not measured is not known then
///
/// # Returns
/// The models, those that are no time of the processor left out, and what was found of the factor.
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

/// The logarithm of the common factor, and the deviation of methods from it; marks those that are far.
///
/// It begins with the median by weight, what was known before among them, which a minority of methods that run other code does not move;
/// then those within [`FAR`] deviations are averaged, until they stay the same.
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

/// Mean logarithm of the factors of classes of which all measured methods are far.
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

/// Standard deviations of the logarithm of a time, by how its factor is known: what was seen at methods and sizes that were left out, beside
/// the figures of the study.
struct Deviations {
    /// Of a call of a method about the method's own factor.
    of_call: f64,
    /// Of methods that agree, by the common factor of the others.
    of_near: f64,
    /// Of any method, by the common factor of the others.
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
        // The weight of one method in the common factor, which without it is as much further away.
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
            // Its methods, and how they differ among each other, as those of all classes do.
            KnownBy::Class => Some((self.of_call.powi(2) * 2.0).sqrt().hypot(BY_COMMON)),
            KnownBy::OtherMethods => Some(self.of_any),
            KnownBy::Processors => Some(self.of_processors),
            KnownBy::Nothing => None,
        }
    }
}
