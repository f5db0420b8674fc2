//! The time of a call beyond the sizes that were measured, from its signature and the processor.
//!
//! ```text
//! t(n) = κ · core(n) + μ · branches(n) + Σ λ_pc · memory_pc(n)
//! core(n)       instructions and divisions times their cost on the processor
//! branches(n)   mispredictions of a simple predictor, times the cost of one
//! memory_pc(n)  misses of cache c, by pattern p: sequential, strided, irregular; each times the processor's cost for a working set of
//!               its stack distance
//! ```
//!
//! The cost of an instruction depends on how many others run at once, which no count shows: κ is the method's own, from
//! its own measured times. So are μ, since processors predict better than the predictor that counted, and the λ, the
//! part of a miss that is not hidden, as far as the measured sizes have misses; else they stay near those of other
//! kernels. All eight are above 0 and are fitted to logarithms of times. The error of a prediction follows from the
//! uncertainty of each and its part of the time, so a method whose records are all within a cache has a wide interval
//! beyond it.

use super::hits::{Geometry, MemoryModel, Pattern};
use super::trace::LINE_BYTES;
use super::{MIN_SIZES, Signature};
use crate::processor::{Cache, Processor};

/// Counts of a signature, by name.
pub const INSTRUCTIONS: &str = "instructions";
/// See [`INSTRUCTIONS`].
pub const DIVISIONS: &str = "divisions";
/// See [`INSTRUCTIONS`].
pub const MISPREDICTIONS: &str = "mispredictions";

/// Instructions a cycle of a core that waits for nothing, before κ.
///
/// Arbitrary: κ takes any other number up.
const PER_CYCLE: f64 = 3.0;

/// κ, μ and the λ before a time was measured, and the standard deviations of their logarithms.
///
/// Chosen on the kernels of `benches/machines/kernels.c`.
const BEFORE: [(f64, f64); N] = [
    (1.0, 1.5),
    (0.8, 0.7),
    (0.5, 0.5),
    (0.5, 0.5),
    (0.3, 0.7),
    (0.3, 0.7),
    (0.1, 0.9),
    (0.1, 0.9),
];

/// Correlation of the logarithms of the λ of a pattern for the two caches. Arbitrary: neither the same nor unrelated.
const ALIKE: f64 = 0.5;

/// Standard deviation of the logarithm that the form itself is off by at a measured size. Chosen on the same kernels.
const OFF: f64 = 0.05;

/// Standard deviation of the logarithm of any call's time. Chosen on the same kernels.
const AT_ALL: f64 = 0.15;

/// Standard deviations of the logarithms of κ, μ and the λ for each factor of e beyond the measured sizes. That of
/// branches is the largest: a processor remembers the branches of a small call that is made again and again. Chosen on
/// the same kernels.
const DRIFT: [f64; N] = [0.1, 0.6, 0.15, 0.15, 0.25, 0.25, 0.25, 0.25];

/// Rounds of Gauss and Newton; most need six.
const ROUNDS: usize = 40;

/// κ, μ and the λ.
const N: usize = 8;

/// A measured time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// The size.
    pub n: f64,
    /// Time of a call, seconds.
    pub seconds: f64,
}

/// A predicted time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Predicted {
    /// Time of a call, seconds.
    pub seconds: f64,
    /// Standard deviation of its logarithm.
    pub deviation: f64,
    /// The part of it that is computing, 0 to 1.
    pub core: f64,
    /// The part that is mispredicted branches.
    pub branches: f64,
    /// The parts of it that wait for memory, by [`Pattern`].
    pub memory: [f64; 3],
}

/// Why nothing is predicted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TimeError {
    /// Counted without distances.
    #[error(
        "{found} sizes with stack distances, expected at least {MIN_SIZES}; count again with `signature --distances`"
    )]
    Distances {
        /// Sizes that have them.
        found: usize,
    },
    /// The processor's caches are not known.
    #[error(
        "{found} nearest caches with a whole number of sets in the machine file, expected the first and the second"
    )]
    Caches {
        /// How many are known.
        found: usize,
    },
    /// No curve of loads or of reading.
    #[error(
        "no times of {what} in the machine file, expected some; `mastermind machine` measures them"
    )]
    Curve {
        /// The missing number.
        what: &'static str,
    },
    /// No measured time.
    #[error("no measured time above 0, expected at least 1")]
    Measured,
}

/// Times of a method.
pub struct TimeModel<'s> {
    signature: &'s Signature,
    memory: MemoryModel<'s>,
    costs: Costs,
    /// Logarithms of κ, μ and the λ.
    logs: [f64; N],
    /// Their covariance.
    covariance: [[f64; N]; N],
    largest: f64,
}

/// Costs of the processor.
struct Costs {
    /// Those that are missed.
    caches: [Geometry; 2],
    /// Bytes of those that the curves are of.
    measured: [f64; 2],
    /// Working set and nanoseconds for a line: of loads that wait for each other, of reading from one end to the other.
    load: Vec<(f64, f64)>,
    read: Vec<(f64, f64)>,
    cycle_ns: f64,
    division_ns: f64,
    misprediction_ns: f64,
}

impl Costs {
    fn of(processor: &Processor) -> Result<Self, TimeError> {
        let [first, second] = caches(processor)?;
        let load = processor.load.iter().filter(|of| !of.huge_pages);
        let load: Vec<_> = load.map(|of| (of.bytes as f64, of.ns.best)).collect();
        let read = processor.read.iter().filter(|of| of.threads == 1);
        let line_ns = |rate: f64| LINE_BYTES as f64 / rate;
        let read = read.map(|of| (of.bytes as f64, line_ns(of.bytes_per_ns.best)));
        let read: Vec<_> = read.collect();
        for (curve, what) in [(&load, "loads"), (&read, "reading")] {
            if curve.is_empty() {
                return Err(TimeError::Curve { what });
            }
        }
        let best = |of: Option<&crate::processor::Number>| of.map_or(0.0, |number| number.best);
        Ok(Self {
            caches: [first, second],
            measured: [first, second].map(Geometry::bytes),
            load: rising(load),
            read: rising(read),
            cycle_ns: 1e9 / processor.clock_hz.best,
            division_ns: best(processor.throughput_ns.get("division")),
            misprediction_ns: best(processor.penalty_ns.get("branch misprediction")),
        })
    }

    /// Additional time of an access with a stack distance in bytes that misses the two caches with the given
    /// probabilities, nanoseconds.
    ///
    /// A miss costs as much as with the smallest working set that does not fit, or with a working set of the
    /// distance if that is larger.
    fn miss_ns(&self, pattern: Pattern, bytes: f64, missed: [f64; 2], is_store: bool) -> [f64; 2] {
        let curve = match pattern {
            Pattern::Sequential => &self.read,
            Pattern::Strided | Pattern::Irregular => &self.load,
        };
        let [first, second] = self.measured;
        let nearest = at(curve, 0.5 * first);
        let of_second = at(curve, (2.0 * first).min(second)) - nearest;
        let beyond = at(curve, bytes.max(2.0 * second)) - nearest;
        // A line that was written goes back as well.
        let by = if is_store { 2.0 } else { 1.0 };
        [
            missed[0] * of_second,
            missed[1] * by * (beyond - of_second).max(0.0),
        ]
    }
}

/// The first and the second cache.
fn caches(processor: &Processor) -> Result<[Geometry; 2], TimeError> {
    let of_level = |level| {
        let mut caches = processor.identity.caches.iter();
        let cache: &Cache = caches.find(|cache| cache.level == level)?;
        Geometry::of(cache.bytes, cache.ways?.into())
    };
    let caches: Vec<Geometry> = [1, 2].into_iter().filter_map(of_level).collect();
    <[Geometry; 2]>::try_from(caches).map_err(|caches| TimeError::Caches {
        found: caches.len(),
    })
}

/// A curve that nowhere falls: where a larger working set takes less, the smaller one was disturbed.
fn rising(mut curve: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    curve.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut least = f64::INFINITY;
    for (_, value) in curve.iter_mut().rev() {
        least = least.min(*value);
        *value = least;
    }
    curve
}

/// A curve between its points, over the logarithm; beyond its ends as there.
fn at(curve: &[(f64, f64)], x: f64) -> f64 {
    let after = curve.partition_point(|(of, _)| *of < x);
    match (after.checked_sub(1).map(|of| curve[of]), curve.get(after)) {
        (Some((x0, y0)), Some((x1, y1))) => y0 + (y1 - y0) * (x / x0).ln() / (x1 / x0).ln(),
        (Some((_, y)), None) | (None, Some(&(_, y))) => y,
        (None, None) => 0.0,
    }
}

impl<'s> TimeModel<'s> {
    /// Fits κ, μ and the λ.
    ///
    /// # Arguments
    /// * `signature` - of the method, with distances
    /// * `processor` - where the times were measured
    /// * `measured` - times of the method
    ///
    /// # Errors
    /// [`TimeError`].
    pub fn of(
        signature: &'s Signature,
        processor: &Processor,
        measured: &[Measured],
    ) -> Result<Self, TimeError> {
        let with = |size: &&super::Traced| size.memory.is_some();
        let found = signature.sizes.iter().filter(with).count();
        let memory = MemoryModel::of(signature).ok_or(TimeError::Distances { found })?;
        let mut model = Self {
            signature,
            memory,
            costs: Costs::of(processor)?,
            logs: BEFORE.map(|(value, _)| value.ln()),
            covariance: [[0.0; N]; N],
            largest: measured.iter().map(|of| of.n).fold(0.0, f64::max),
        };
        let usable = measured.iter().filter(|of| of.seconds > 0.0);
        let rows: Vec<Row> = usable
            .map(|of| Row {
                parts: model.parts_ns(of.n),
                log: (1e9 * of.seconds).ln(),
            })
            .collect();
        if rows.is_empty() {
            return Err(TimeError::Measured);
        }
        (model.logs, model.covariance) = fit(&rows);
        Ok(model)
    }

    /// The same method with the caches of another processor, each miss of which has this processor's
    /// cost.
    ///
    /// # Errors
    /// [`TimeError::Caches`].
    pub fn with_caches_of(mut self, processor: &Processor) -> Result<Self, TimeError> {
        self.costs.caches = caches(processor)?;
        Ok(self)
    }

    /// Of a call of a size.
    pub fn at(&self, n: f64) -> Predicted {
        let parts = self.parts_ns(n);
        let (ns, shares) = weighted(&parts, &self.logs);
        let mut variance = 0.0;
        for (i, one) in shares.iter().enumerate() {
            for (j, other) in shares.iter().enumerate() {
                variance += one * self.covariance[i][j] * other;
            }
        }
        let beyond = (n / self.largest).ln().max(0.0);
        for (share, drift) in shares.iter().zip(DRIFT) {
            variance += (share * drift * beyond).powi(2);
        }
        let [core, branches, ..] = shares;
        let patterns = [Pattern::Sequential, Pattern::Strided, Pattern::Irregular];
        let memory = patterns.map(|of| shares[place(of, 0)] + shares[place(of, 1)]);
        Predicted {
            seconds: 1e-9 * ns,
            deviation: (variance + AT_ALL * AT_ALL).sqrt(),
            core,
            branches,
            memory,
        }
    }

    /// The parts before κ, μ and the λ.
    fn parts_ns(&self, n: f64) -> [f64; N] {
        let costs = &self.costs;
        let count = |name: &str| self.signature.count(name, n);
        let core =
            count(INSTRUCTIONS) * costs.cycle_ns / PER_CYCLE + count(DIVISIONS) * costs.division_ns;
        let branches = count(MISPREDICTIONS) * costs.misprediction_ns;
        let mut parts = [0.0; N];
        (parts[0], parts[1]) = (core, branches);
        let bytes = |lines: f64| lines * LINE_BYTES as f64;
        self.memory.each(n, costs.caches, |of| {
            let ns = costs.miss_ns(of.pattern, bytes(of.distance), of.missed, of.is_store);
            for (cache, ns) in ns.iter().enumerate() {
                parts[place(of.pattern, cache)] += of.count * ns;
            }
        });
        parts
    }
}

/// Where the λ of a pattern and a cache is.
fn place(pattern: Pattern, cache: usize) -> usize {
    2 + 2 * pattern as usize + cache
}

/// The inverse of the covariance of the logarithms of κ, μ and the λ before a time was measured.
fn precision_before() -> [[f64; N]; N] {
    let mut covariance = [[0.0; N]; N];
    for (i, (_, one)) in BEFORE.iter().enumerate() {
        for (j, (_, other)) in BEFORE.iter().enumerate() {
            covariance[i][j] = match i == j {
                true => one * other,
                false if i.min(j) >= 2 && i / 2 == j / 2 => ALIKE * one * other,
                false => 0.0,
            };
        }
    }
    inverted(covariance)
}

/// A measured time and the parts of it.
struct Row {
    parts: [f64; N],
    log: f64,
}

/// The time, and the share of each part.
fn weighted(parts: &[f64; N], logs: &[f64; N]) -> (f64, [f64; N]) {
    let mut shares = [0.0; N];
    for i in 0..N {
        shares[i] = parts[i] * logs[i].exp();
    }
    let sum = shares.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    (sum, shares.map(|of| of / sum))
}

/// The most likely logarithms of κ, μ and the λ, and their covariance.
fn fit(rows: &[Row]) -> ([f64; N], [[f64; N]; N]) {
    let mut logs = BEFORE.map(|(value, _)| value.ln());
    let before = precision_before();
    let mut inverse = before;
    for _ in 0..ROUNDS {
        let mut matrix = before;
        let mut right = [0.0; N];
        for (i, row) in before.iter().enumerate() {
            let away = (0..N).map(|j| row[j] * (BEFORE[j].0.ln() - logs[j]));
            right[i] = away.sum();
        }
        for row in rows {
            let (ns, shares) = weighted(&row.parts, &logs);
            let weight = OFF.powi(-2);
            for i in 0..N {
                right[i] += weight * shares[i] * (row.log - ns.ln());
                for j in 0..N {
                    matrix[i][j] += weight * shares[i] * shares[j];
                }
            }
        }
        inverse = inverted(matrix);
        let mut largest = 0.0_f64;
        for i in 0..N {
            let step: f64 = (0..N).map(|j| inverse[i][j] * right[j]).sum();
            // A step of more than a factor of e may go past the minimum.
            logs[i] += step.clamp(-1.0, 1.0);
            largest = largest.max(step.abs());
        }
        if largest < 1e-9 {
            break;
        }
    }
    (logs, inverse)
}

/// The inverse of a positive definite matrix.
fn inverted(mut matrix: [[f64; N]; N]) -> [[f64; N]; N] {
    let mut inverse = [[0.0; N]; N];
    for (i, row) in inverse.iter_mut().enumerate() {
        row[i] = 1.0;
    }
    for i in 0..N {
        let pivot = matrix[i][i];
        for j in 0..N {
            matrix[i][j] /= pivot;
            inverse[i][j] /= pivot;
        }
        for k in (0..N).filter(|k| *k != i) {
            let by = matrix[k][i];
            for j in 0..N {
                matrix[k][j] -= by * matrix[i][j];
                inverse[k][j] -= by * inverse[i][j];
            }
        }
    }
    inverse
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inverse_is_one() {
        let mut matrix = [[0.0; N]; N];
        for (i, row) in matrix.iter_mut().enumerate() {
            for (j, of) in row.iter_mut().enumerate() {
                *of = 1.0 / (1.0 + i.abs_diff(j) as f64) + f64::from(u8::from(i == j));
            }
        }
        let inverse = inverted(matrix);
        // Both are symmetric, so rows and columns are equal.
        for (i, row) in matrix.iter().enumerate() {
            for (j, other) in inverse.iter().enumerate() {
                let product: f64 = row.iter().zip(other).map(|(of, by)| of * by).sum();
                assert!((product - f64::from(u8::from(i == j))).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn what_the_times_say_is_fitted_and_the_rest_stays() {
        // Times of 3 core + 0.1 sequential, nothing else in them.
        let row = |core: f64, sequential: f64| Row {
            parts: [core, 0.0, sequential, 0.0, 0.0, 0.0, 0.0, 0.0],
            log: (3.0 * core + 0.1 * sequential).ln(),
        };
        let (logs, covariance) = fit(&[row(1.0, 0.0), row(2.0, 50.0), row(4.0, 500.0)]);
        assert!((logs[0].exp() / 3.0 - 1.0).abs() < 0.03, "{logs:?}");
        assert!((logs[2].exp() / 0.1 - 1.0).abs() < 0.1, "{logs:?}");
        // The other cache of the pattern goes along, half as far; other patterns stay.
        assert!(logs[3] < BEFORE[3].0.ln() - 0.3, "{logs:?}");
        assert!((logs[4] - BEFORE[4].0.ln()).abs() < 1e-9, "{logs:?}");
        assert!(covariance[0][0] < 1e-2 && (covariance[4][4].sqrt() - BEFORE[4].1).abs() < 1e-9);
    }

    #[test]
    fn curves_do_not_fall_and_end_flat() {
        let curve = rising(vec![(1.0, 2.0), (4.0, 9.0), (16.0, 4.0), (64.0, 8.0)]);
        assert_eq!(curve[1], (4.0, 4.0));
        assert_eq!(at(&curve, 0.5), 2.0);
        assert_eq!(at(&curve, 32.0), 6.0);
        assert_eq!(at(&curve, 1e9), 8.0);
    }
}
