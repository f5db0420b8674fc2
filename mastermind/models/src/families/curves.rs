//! Curves with a scale: a time that saturates, decays, or grows exponentially from a level of its own; and divided work plus its
//! communication cost.
//!
//! In: points of one varying parameter. Out: hypotheses `[f +] b · g(x / h)`, each with its scale `h`, and `a / x + b g(x)`.
//!
//! Sums of powers and logarithms have no scale, but some costs of programs do: a throughput that saturates, `x / (x + h)`; a start-up cost
//! that wears off, `exp(−x / h)`; a cost that doubles with each step. A sum of terms follows such a curve within the measured sizes and
//! leaves it beyond them. The curves are therefore candidates like all others, and where the points do not distinguish the two, the
//! prediction averages both. The scale is uncertain as well: each form is tried with its best scale and one scale to either side, so that
//! predictions average over it.

use crate::families::hypothesis::{Hypothesis, Shape};
use crate::formula::exponent::Exponent;
use crate::formula::family::Family;
use crate::formula::sum::{Factor, Term};
use crate::samples::points::Points;
use crate::solve::likelihood::INCREDIBLE;

/// Distinct values that two coefficients and a scale need, with two to spare.
const MIN_VALUES: usize = 5;

/// Step between the scales that are tried, as a logarithm: arbitrary, below it the curves hardly differ.
const STEP: f64 = 0.5;

/// Steps towards the best scale, each to the minimum of the parabola through three scales.
const REFINEMENTS: usize = 6;

/// Distance of the outer two scales from the best one, in standard deviations: the outer nodes of three-point Gauss–Hermite quadrature.
const ASIDE: f64 = 1.732_050_807_568_877_2;

/// Bounds of the standard deviation of the logarithm of a scale: at the lower one the scale counts as known.
const KNOWN: [f64; 2] = [1e-3, 1.0];

/// The function of `u`, the parameter over the scale.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Bend {
    /// `exp(u)`.
    Growth,
    /// `exp(−u)`.
    Decay,
    /// `u / (1 + u)`.
    Saturation,
}

/// A bend, the power of the parameter that multiplies it, and the power in the other column, if there is one.
#[derive(Debug, Clone, Copy)]
struct Curve {
    bend: Bend,
    power: i32,
    other: Option<i32>,
}

/// The candidate curves. Source: costs of programs, see the head of this file.
const CURVES: [Curve; 7] = [
    Curve::new(Bend::Growth, 0, Some(0)),
    Curve::new(Bend::Decay, 0, Some(0)),
    Curve::new(Bend::Saturation, 0, None),
    Curve::new(Bend::Saturation, 0, Some(0)),
    Curve::new(Bend::Saturation, 0, Some(1)),
    Curve::new(Bend::Saturation, 1, None),
    Curve::new(Bend::Saturation, 1, Some(0)),
];

impl Curve {
    const fn new(bend: Bend, power: i32, other: Option<i32>) -> Self {
        Self { bend, power, other }
    }

    /// Its second column at a value of the parameter.
    fn value(self, x: f64, scale: f64) -> f64 {
        let u = x / scale;
        let bent = match self.bend {
            Bend::Growth => u.exp(),
            Bend::Decay => (-u).exp(),
            Bend::Saturation => u / (1.0 + u),
        };
        bent * x.powi(self.power)
    }

    /// Scales between which the curve is neither a straight line nor level over a range.
    fn scales(self, [low, high]: [f64; 2]) -> [f64; 2] {
        match self.bend {
            Bend::Growth => [high / 8.0, 2.0 * high],
            Bend::Decay => [0.5 * low, 2.0 * high],
            Bend::Saturation => [0.5 * low, 4.0 * high],
        }
    }

    fn hypothesis(self, param: &str, scale: f64) -> Hypothesis {
        let power = |power| Factor::new(param, Exponent::Fraction(power, 1), 0);
        let bent = match self.bend {
            Bend::Growth => Factor::exponential(param, scale.recip()),
            Bend::Decay => Factor::exponential(param, -scale.recip()),
            Bend::Saturation => Factor::saturating(param, scale),
        };
        let mut factors = vec![bent];
        if self.power > 0 {
            factors.insert(0, power(self.power));
        }
        let other = self.other.map(|other| match other {
            0 => Term::new(1.0, Vec::new()),
            other => Term::new(1.0, vec![power(other)]),
        });
        let bent = Term::new(1.0, factors);
        Hypothesis {
            family: Family::Curve,
            shape: Shape::Sum {
                constant: false,
                terms: other.into_iter().chain([bent]).collect(),
            },
            n_searched: 1,
        }
    }
}

/// The candidate curves with their likeliest scales, except those farther from the points than any credible form.
///
/// # Arguments
/// * `least` - `Σ nᵢ (yᵢ / fᵢ − 1)²` of the nearest other form
pub(crate) fn curves(points: &Points, param: usize, least: f64) -> Vec<Hypothesis> {
    let range = points.range(param);
    if points.values(param).len() < MIN_VALUES || range[0] <= 0.0 {
        return Vec::new();
    }
    let fits = Fits::new(points, param);
    let name = &points.names[param];
    let of = |curve: &Curve| -> Vec<Hypothesis> {
        let Some((scale, left)) = fits.best(*curve, range) else {
            return Vec::new();
        };
        if (left - least) / fits.variance(left) > INCREDIBLE {
            return Vec::new();
        }
        let deviation = fits.deviation(*curve, scale, left);
        let aside = (ASIDE * deviation).exp();
        let scales = [scale, scale / aside, scale * aside];
        let n = if deviation > KNOWN[0] { 3 } else { 1 };
        (scales[..n].iter())
            .map(|scale| curve.hypothesis(name, *scale))
            .collect()
    };
    let curves = CURVES.iter().flat_map(of);
    curves.chain(divided(name)).collect()
}

/// Work divided by a parameter, plus the cost of communication: proportional to the logarithm of the parameter (a tree of messages), or to
/// the parameter (one message to each rank). The scale is the value at which work and communication cost the same.
fn divided(param: &str) -> impl Iterator<Item = Hypothesis> {
    let term = |power, logarithm| {
        let factor = Factor::new(param, Exponent::Fraction(power, 1), logarithm);
        Term::new(1.0, vec![factor])
    };
    let costs = [term(0, 1), term(1, 0)];
    let work = term(-1, 0);
    costs.into_iter().map(move |cost| Hypothesis {
        family: Family::Curve,
        shape: Shape::Sum {
            constant: false,
            terms: vec![work.clone(), cost],
        },
        n_searched: 0,
    })
}

/// Minimum of the parabola through three values, strictly between the outer two places; if there is none, the middle of the wider interval.
fn vertex([low, middle, high]: [(f64, f64); 3]) -> f64 {
    let (below, above) = (middle.1 - low.1, high.1 - middle.1);
    let (fall, rise) = (low.0 - middle.0, high.0 - middle.0);
    let by = 0.5 * (fall * above * above - rise * below * below) / (fall * above + rise * below);
    let is_inside = by.is_finite() && by > -below && by < above && by != 0.0;
    match is_inside {
        true => middle.1 + by,
        false if above > below => middle.1 + 0.5 * above,
        false => middle.1 - 0.5 * below,
    }
}

/// Weighted residual sums of squares of curves fitted to the points.
struct Fits<'a> {
    x: &'a [f64],
    y: &'a [f64],
    /// Weights of the squared residuals: calls over the squared time.
    weights: Vec<f64>,
    /// Relative variance of a call, from the spread of calls at the same size; 0 if unknown.
    of_calls: f64,
}

impl<'a> Fits<'a> {
    fn new(points: &'a Points, param: usize) -> Self {
        let smallest = 1e-6 * points.largest_s();
        let pairs = points.mean_s.iter().zip(&points.count);
        let weights: Vec<f64> = pairs.map(|(y, n)| n / y.max(smallest).powi(2)).collect();
        let within = points.m2_s2.iter().zip(&points.mean_s);
        let within: f64 = within.map(|(m2, y)| m2 / y.max(smallest).powi(2)).sum();
        let spare = points.n_records() - points.len() as f64;
        Self {
            x: &points.columns[param],
            y: &points.mean_s,
            weights,
            of_calls: if spare >= 1.0 { within / spare } else { 0.0 },
        }
    }

    /// Relative variance of a call, at least the residual variance of the best curve.
    fn variance(&self, left: f64) -> f64 {
        let spare = self.x.len().saturating_sub(3).max(1) as f64;
        (left / spare).max(self.of_calls).max(f64::MIN_POSITIVE)
    }

    /// The scale with the least residual sum of squares, and that sum; `None` if the minimum is at an end, so that no scale is identified.
    fn best(&self, curve: Curve, range: [f64; 2]) -> Option<(f64, f64)> {
        let [low, high] = curve.scales(range).map(f64::ln);
        let n = ((high - low) / STEP).ceil();
        let step = (high - low) / n;
        let tried = (0..=n as usize).map(|k| low + step * k as f64);
        let left = |scale: f64| self.left(curve, scale.exp());
        let tried: Vec<(f64, f64)> = tried.map(|scale| (left(scale), scale)).collect();
        let best = (0..tried.len()).min_by(|&a, &b| tried[a].0.total_cmp(&tried[b].0))?;
        if best == 0 || best + 1 == tried.len() || !tried[best].0.is_finite() {
            return None;
        }
        let [mut low, mut found, mut high] = [tried[best - 1], tried[best], tried[best + 1]];
        for _ in 0..REFINEMENTS {
            let next = vertex([low, found, high]);
            let next = (left(next), next);
            let (inner, outer) = match next.0 < found.0 {
                true => (next, found),
                false => (found, next),
            };
            match outer.1 < inner.1 {
                true => low = outer,
                false => high = outer,
            }
            found = inner;
        }
        Some((found.1.exp(), found.0))
    }

    /// Standard deviation of the logarithm of the scale, from the curvature of the residual sum of squares.
    fn deviation(&self, curve: Curve, scale: f64, left: f64) -> f64 {
        let by = 0.5 * STEP;
        let [less, more] = [-by, by].map(|by| self.left(curve, scale * by.exp()));
        let curvature = (less + more - 2.0 * left) / (by * by) / self.variance(left);
        let deviation = (2.0 / curvature).sqrt();
        match deviation.is_finite() {
            true => deviation.clamp(KNOWN[0], KNOWN[1]),
            false => KNOWN[1],
        }
    }

    /// Residual sum of squares of one or two columns, by the normal equations.
    fn left(&self, curve: Curve, scale: f64) -> f64 {
        let (mut aa, mut ab, mut bb, mut ay, mut by, mut yy) = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0);
        for ((&x, &y), &w) in self.x.iter().zip(self.y).zip(&self.weights) {
            let a = curve.other.map_or(0.0, |power| x.powi(power));
            let b = curve.value(x, scale);
            aa += w * a * a;
            ab += w * a * b;
            bb += w * b * b;
            ay += w * a * y;
            by += w * b * y;
            yy += w * y * y;
        }
        let explained = match curve.other {
            None => by * by / bb,
            Some(_) => {
                let b = (aa * by - ab * ay) / (aa * bb - ab * ab);
                let a = (ay - b * ab) / aa;
                a * ay + b * by
            }
        };
        let left = yy - explained;
        if left.is_finite() {
            left.max(0.0)
        } else {
            f64::INFINITY
        }
    }
}
