//! Whether intervals tell two assemblies apart, and what is risked by choosing one of them.

use serde::Serialize;

/// What is known of the difference of two assemblies.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Expected cost of the second less that of the first, seconds: positive where the first is better.
    pub difference: f64,
    /// Standard deviation of that, seconds.
    pub deviation: f64,
    /// Probability that the second is better than the first.
    pub reversed: f64,
    /// What choosing the first is expected to cost more than knowing which is better, seconds.
    pub regret: f64,
    /// Index of the site whose costs are most of the deviation: measuring it would tell most.
    pub measure: Option<usize>,
}

impl Comparison {
    /// Whether the difference is beyond doubt at a level, 0.95 say, on both sides.
    pub fn is_told(&self, level: f64) -> bool {
        self.reversed.min(1.0 - self.reversed) < 0.5 * (1.0 - level)
    }
}

/// Compares two assemblies whose costs are normal, each site and alternative independent of the others.
///
/// Sites where both have the same alternative do not count. What all sites of a run share does not count either, since it
/// leaves the order of assemblies as it is; the deviations given are those without it.
///
/// The assembly of least expected cost is the one of least expected regret: what the best would have cost is the same for all.
///
/// # Arguments
/// * `first`, `second` - index of the alternative of each site, shape `[sites]`
/// * `difference` - expected cost of the second less that of the first, seconds, pairs included
/// * `deviations` - standard deviation of each alternative's cost, shape `[sites][alternatives]`, seconds, ≥ 0
///
/// # Source
/// C. E. Clark, The greatest of a finite set of random variables, Operations Research 9 (1961): the expected smaller of two.
pub fn compare_assemblies(
    first: &[usize],
    second: &[usize],
    difference: f64,
    deviations: &[Vec<f64>],
) -> Comparison {
    let mut variance = 0.0;
    let mut largest = (0.0, None);
    for (site, deviations) in deviations.iter().enumerate() {
        let (a, b) = (first[site], second[site]);
        if a == b {
            continue;
        }
        let both = deviations[a].powi(2) + deviations[b].powi(2);
        variance += both;
        if both > largest.0 {
            largest = (both, Some(site));
        }
    }
    let deviation = variance.sqrt();
    let (reversed, regret) = if deviation > 0.0 {
        let z = difference / deviation;
        let (density, below) = standard_normal(z);
        (
            1.0 - below,
            (deviation * density - difference * (1.0 - below)).max(0.0),
        )
    } else if difference < 0.0 {
        (1.0, -difference)
    } else {
        (if difference > 0.0 { 0.0 } else { 0.5 }, 0.0)
    };
    Comparison {
        difference,
        deviation,
        reversed,
        regret,
        measure: largest.1,
    }
}

/// Density and distribution function of the standard normal distribution.
fn standard_normal(z: f64) -> (f64, f64) {
    let density = (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
    (density, 0.5 * libm::erfc(-z / std::f64::consts::SQRT_2))
}
