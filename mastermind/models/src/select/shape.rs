//! The shape of the scatter of calls: from uniform between two ends, over normal, to peaked with long tails.
//!
//! In: distances of calls to the model. Out: the factor by which an interval is wider or narrower than for normal
//! calls. Uniformly distributed calls all lie within 1.73 standard deviations, so that an interval for normal calls
//! contains them all:
//!
//! ```text
//! p    shape                  95 % of the calls lie within, in standard deviations
//! 1    two-sided exponential  2.12
//! 4/3                         2.05
//! 2    normal                 1.96
//! 4                           1.80
//! inf  even                   1.65
//! ```

use statrs::distribution::{ContinuousCDF, Normal};
use statrs::function::beta::beta_reg;
use statrs::function::gamma::ln_gamma;

/// Powers `p` of the shapes, whose density is `exp(-|x / a|^p)`: 2/p - 1 is 1, a half, 0, minus a half, -1.
const POWERS: [f64; 5] = [1.0, 4.0 / 3.0, 2.0, 4.0, f64::INFINITY];

/// The normal one of them.
const NORMAL: usize = 2;

/// Prior probability of each shape: normal has as much as all others together, so that few calls count as nearly
/// normal.
const PRIOR: [f64; 5] = [0.125, 0.125, 0.5, 0.125, 0.125];

/// Maximum number of calls that count: many calls are not independent, and their true shape is none of these.
const MOST_CALLS: f64 = 1000.0;

/// Weights below this count as 0.
const NEGLIGIBLE: f64 = 1e-4;

/// Up to where the incomplete beta function is a series of few terms, and the share of the sum at which it ends.
const SERIES: f64 = 0.6;
const LAST_TERM: f64 = 1e-7;

/// Steps of the search of a quantile at most, and the relative one that is the last: each doubles the digits.
const STEPS: usize = 50;
const LAST_STEP: f64 = 1e-3;

/// A shape, with the statistics of the calls that determine its scale.
#[derive(Clone, Copy)]
struct Shape {
    power: f64,
    /// Sum of the distances to this power; of the even shape, the largest distance.
    sum: f64,
    /// Number of calls.
    n: f64,
    /// Logarithm of the beta function of `1/p` and `n/p`.
    ln_beta: f64,
}

/// Ratio of the half-width of an interval for a call to that for normal calls, with the shape inferred from the
/// calls.
///
/// A new call is predicted by all shapes together, each as likely as it makes the calls seen. Their scale is integrated out, evenly over
/// its logarithm: with `S = Σ |rᵢ|ᵖ` over `n` calls a shape has the likelihood `(p / 2 Γ(1/p))ⁿ Γ(n/p) / (p S^(n/p))`, and for a new call `x` the
/// share `|x|ᵖ / (S + |x|ᵖ)` has the beta distribution of `1/p` and `n/p`; for `p = 2` this is Student's t. The coefficients of the model are
/// allowed for as they are there: `n` is `freedom`, and the distances are scaled to what they are without the coefficients.
///
/// # Arguments
/// * `distances` - of calls to the model in any one unit, and how many calls each is of
/// * `freedom` - calls less coefficients, > 0
/// * `level` - probability that the interval holds a call, in 0..1
///
/// # Source
/// G.E.P. Box, G.C. Tiao, Biometrika 49 (1962) 419, for the shapes and weighing them by likelihood; the scale's integral is elementary
/// (recalled, not looked up). The powers and the prior were looked at on lines at the sizes of `benches/extrap/tuning.py`, with calls that are
/// even, normal, exponential, triangular, log-normal, Student's t and a sine at random moments.
pub(crate) fn ratio_to_normal(distances: &[(f64, f64)], freedom: f64, level: f64) -> f64 {
    let n: f64 = distances.iter().map(|(_, count)| count).sum();
    let squares: f64 = distances.iter().map(|(x, count)| count * x * x).sum();
    let scale = (squares / n).sqrt();
    if !(scale > 0.0 && scale.is_finite() && freedom > 0.0) {
        return 1.0;
    }
    let freedom = freedom.min(MOST_CALLS);
    let (mut sums, mut largest) = ([0.0; 4], 0.0_f64);
    for (x, count) in distances {
        let x = x.abs() / scale;
        let square = x * x;
        let powers = [x, x * x.cbrt(), square, square * square];
        sums.iter_mut()
            .zip(powers)
            .for_each(|(sum, power)| *sum += count * power);
        largest = largest.max(x);
    }
    let [one, middle, two, four] = sums.map(|sum| sum * freedom / n);
    let sums = [one, middle, two, four, largest];
    let shapes: [Shape; 5] = std::array::from_fn(|k| Shape::new(POWERS[k], sums[k], freedom));
    let likelihoods = shapes.map(|shape| shape.log_likelihood());
    let most = likelihoods.into_iter().fold(f64::NEG_INFINITY, f64::max);
    let weights: [f64; 5] = std::array::from_fn(|k| PRIOR[k] * (likelihoods[k] - most).exp());
    let all: f64 = weights.iter().sum();
    let weights = weights.map(|weight| weight / all);
    let start = Normal::standard().inverse_cdf(0.5 + level / 2.0);
    let normal = quantile(&shapes[NORMAL..=NORMAL], &[1.0], level, start);
    quantile(&shapes, &weights, level, normal) / normal
}

impl Shape {
    fn new(power: f64, sum: f64, n: f64) -> Self {
        let ln_beta = match power.is_finite() {
            true => ln_gamma(power.recip()) + ln_gamma(n / power) - ln_gamma((n + 1.0) / power),
            false => 0.0,
        };
        Self {
            power,
            sum,
            n,
            ln_beta,
        }
    }

    /// Log-likelihood of the distances, with the scale integrated out.
    fn log_likelihood(&self) -> f64 {
        let Self { power, sum, n, .. } = *self;
        if power.is_infinite() {
            return -n * (2.0 * sum).ln() - n.ln();
        }
        let each = (power / 2.0).ln() - ln_gamma(power.recip());
        n * each + ln_gamma(n / power) - power.ln() - n / power * sum.ln()
    }

    /// Probability that a new call is within `x` of the model, and its derivative.
    fn inside(&self, x: f64) -> [f64; 2] {
        let Self { power, sum, n, .. } = *self;
        if power.is_infinite() {
            let within = n / (n + 1.0);
            if x < sum {
                return [within * x / sum, within / sum];
            }
            let outside = (1.0 - within) * (sum / x).powf(n);
            return [1.0 - outside, n * outside / x];
        }
        let (a, b) = (power.recip(), n / power);
        let part = x.powf(power);
        let share = part / (part + sum);
        let logarithm = a * share.ln() + b * (-share).ln_1p() - self.ln_beta;
        let slope = power * logarithm.exp() / x;
        if share > SERIES {
            return [beta_reg(a, b, share), slope];
        }
        let (mut series, mut term, mut k) = (1.0, 1.0, 0.0);
        while term > LAST_TERM * series {
            term *= share * (a + b + k) / (a + 1.0 + k);
            series += term;
            k += 1.0;
        }
        [x * slope * series, slope]
    }
}

/// The distance within which `level` of new calls lie, by the weighted shapes.
///
/// By Newton's method: all densities fall with the distance, so a step from below ends below the solution.
fn quantile(shapes: &[Shape], weights: &[f64], level: f64, start: f64) -> f64 {
    let mut x = start;
    for _ in 0..STEPS {
        let (mut inside, mut slope) = (0.0, 0.0);
        for (shape, &weight) in shapes.iter().zip(weights) {
            if weight > NEGLIGIBLE {
                let [share, rise] = shape.inside(x);
                inside += weight * share;
                slope += weight * rise;
            }
        }
        let step = (level - inside) / slope;
        x = (x + step).max(0.5 * x);
        if step.abs() < LAST_STEP * x {
            break;
        }
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solve::uncertainty::student_quantile;

    /// Distances at the middles of equal shares of a distribution.
    fn spread(n: usize, quantile: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
        let middles = (0..n).map(|k| (k as f64 + 0.5) / n as f64);
        middles.map(|share| (quantile(share), 1.0)).collect()
    }

    fn even(share: f64) -> f64 {
        2.0 * share - 1.0
    }

    fn normal(share: f64) -> f64 {
        Normal::standard().inverse_cdf(share)
    }

    /// With a scale of 1 and its true share; the sign is the side.
    fn exponential(share: f64) -> f64 {
        let side = even(share);
        -side.signum() * (-side.abs()).ln_1p()
    }

    #[test]
    fn many_calls_have_the_interval_of_their_shape() {
        for (distances, wanted) in [
            (spread(1000, even), 0.95 * 3.0_f64.sqrt()),
            (spread(1000, normal), 1.959_964),
            (spread(1000, exponential), 20.0_f64.ln() / 2.0_f64.sqrt()),
        ] {
            let ratio = ratio_to_normal(&distances, 1000.0, 0.95);
            assert!(
                (1.959_964 * ratio / wanted - 1.0).abs() < 0.01,
                "{ratio} {wanted}"
            );
        }
    }

    #[test]
    fn few_calls_are_nearly_normal() {
        let of = |quantile: fn(f64) -> f64| ratio_to_normal(&spread(6, quantile), 5.0, 0.95);
        assert!((0.9..1.0).contains(&of(even)), "{}", of(even));
        assert!((0.97..1.03).contains(&of(normal)), "{}", of(normal));
        assert!(
            (1.0..1.05).contains(&of(exponential)),
            "{}",
            of(exponential)
        );
    }

    /// Of 30 calls, over many draws of them, intervals hold about what they say, and of even calls not nearly all, as those of normal calls do.
    #[test]
    fn intervals_hold_what_they_say_whatever_the_shape() {
        let mut random = fastrand::Rng::with_seed(1);
        type Function = fn(f64) -> f64;
        let shapes: [(Function, Function, [f64; 2]); 3] = [
            (even, |x| x.min(1.0), [0.95, 0.975]),
            (
                normal,
                |x| 2.0 * Normal::standard().cdf(x) - 1.0,
                [0.94, 0.96],
            ),
            (exponential, |x| 1.0 - (-x).exp(), [0.935, 0.96]),
        ];
        for (draw, held, [least, most]) in shapes {
            let (mut as_seen, mut as_normal) = (0.0, 0.0);
            for _ in 0..1000 {
                let calls: Vec<(f64, f64)> = (0..30).map(|_| (draw(random.f64()), 1.0)).collect();
                let square = calls.iter().map(|(x, _)| x * x).sum::<f64>() / 30.0;
                let half = student_quantile(0.975, 30.0) * square.sqrt();
                as_seen += held(half * ratio_to_normal(&calls, 30.0, 0.95)) / 1000.0;
                as_normal += held(half) / 1000.0;
            }
            assert!(
                (least..most).contains(&as_seen),
                "{as_seen}, as normal {as_normal}"
            );
            let (off, off_as_normal) = ((as_seen - 0.95).abs(), (as_normal - 0.95).abs());
            assert!(
                off < off_as_normal + 0.002,
                "{as_seen}, as normal {as_normal}"
            );
        }
    }

    #[test]
    fn the_normal_shape_predicts_by_students_t() {
        for (n, level) in [(3.0, 0.95), (12.0, 0.95), (38.0, 0.99), (600.0, 0.5)] {
            let shape = Shape::new(2.0, n, n);
            let found = quantile(&[shape], &[1.0], level, 1.5);
            let wanted = student_quantile(0.5 + level / 2.0, n);
            assert!((found / wanted - 1.0).abs() < 1e-5, "{n} {found} {wanted}");
        }
    }

    /// The density is the slope of the probability, and the series is the incomplete beta function.
    #[test]
    fn probabilities_and_densities_agree() {
        for power in POWERS {
            for x in [0.3, 1.1, 1.9, 4.0] {
                let shape = Shape::new(power, if power.is_finite() { 20.0 } else { 1.8 }, 20.0);
                let [inside, slope] = shape.inside(x);
                let step = 1e-5;
                let rise = shape.inside(x + step)[0] - shape.inside(x - step)[0];
                assert!((rise / (2.0 * step) - slope).abs() < 1e-4, "{power} {x}");
                if power.is_finite() {
                    let part = x.powf(power);
                    let (a, b) = (power.recip(), 20.0 / power);
                    let exact = beta_reg(a, b, part / (part + 20.0));
                    assert!(
                        (inside - exact).abs() < 1e-5,
                        "{power} {x}: {inside} {exact}"
                    );
                }
            }
        }
    }

    /// Distances that say nothing leave an interval as it is.
    #[test]
    fn calls_without_spread_say_nothing() {
        assert_eq!(ratio_to_normal(&[(0.0, 5.0)], 4.0, 0.95), 1.0);
        assert_eq!(ratio_to_normal(&[], 4.0, 0.95), 1.0);
        assert_eq!(ratio_to_normal(&[(1.0, 1.0)], 0.0, 0.95), 1.0);
    }
}
