//! Quantiles of a weighted mixture of normal distributions.

use statrs::function::erf::erfc;

/// A component of the mixture.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part {
    /// Its probability; all add up to one.
    pub weight: f64,
    /// Its mean.
    pub mean: f64,
    /// Its standard deviation, ≥ 0, finite.
    pub deviation: f64,
}

/// The value that the mixture stays below with `probability`.
///
/// By bisection: the distribution function is monotone, and a few parts make it cheap.
pub(crate) fn quantile(parts: &[Part], probability: f64) -> f64 {
    let reach = |sign: f64| {
        parts
            .iter()
            .map(move |part| part.mean + sign * 9.0 * part.deviation)
    };
    let mut low = reach(-1.0).fold(f64::INFINITY, f64::min);
    let mut high = reach(1.0).fold(f64::NEG_INFINITY, f64::max);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if below(parts, middle) < probability {
            low = middle;
        } else {
            high = middle;
        }
        if high - low <= 1e-12 * high.abs() {
            break;
        }
    }
    0.5 * (low + high)
}

/// Probability of a value below `x`.
fn below(parts: &[Part], x: f64) -> f64 {
    let share = |part: &Part| {
        let z = (x - part.mean) / part.deviation;
        // A component without spread has half of its probability below its mean.
        let z = if z.is_nan() { 0.0 } else { z };
        0.5 * part.weight * erfc(-z / std::f64::consts::SQRT_2)
    };
    parts.iter().map(share).sum()
}

/// Weighted median of the values of the parts: halfway between the two that enclose the middle.
///
/// The mean would not do: far from the points it follows the fastest growing part, however small its weight. Parts
/// that are not above 0, which no time is, count only if all are so.
pub(crate) fn middle(parts: &mut [Part]) -> f64 {
    parts.sort_unstable_by(|a, b| a.mean.total_cmp(&b.mean));
    let first = parts.partition_point(|part| part.mean <= 0.0);
    let parts = if first < parts.len() {
        &parts[first..]
    } else {
        &parts[..]
    };
    let half = 0.5 * parts.iter().map(|part| part.weight).sum::<f64>();
    let mut below = 0.0;
    for (i, part) in parts.iter().enumerate() {
        let next = below + part.weight;
        if next >= half {
            return match parts.get(i + 1) {
                Some(above) if next == half => 0.5 * (part.mean + above.mean),
                _ => part.mean,
            };
        }
        below = next;
    }
    parts.last().map_or(0.0, |part| part.mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_one_and_of_two_parts() {
        let part = |weight, mean, deviation| Part {
            weight,
            mean,
            deviation,
        };
        let one = quantile(&[part(1.0, 2.0, 3.0)], 0.975);
        assert!((one - (2.0 + 3.0 * 1.959_964)).abs() < 1e-5, "{one}");
        // Far apart: the 97.5 % of the whole is the 95 % of the upper half.
        let two = quantile(&[part(0.5, 0.0, 1.0), part(0.5, 100.0, 1.0)], 0.975);
        assert!((two - 101.644_854).abs() < 1e-5, "{two}");
        assert!((quantile(&[part(1.0, 5.0, 0.0)], 0.5) - 5.0).abs() < 1e-9);
    }
}
