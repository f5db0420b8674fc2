//! The shift between two whole runs: another state of the machine changes the times of all methods, by almost the same
//! factor.
//!
//! Blocks of one run do not reveal this shift. The other methods of the two runs do, since few changes of a program
//! affect most methods:
//!
//! ```text
//! b        weighted median effect of the other methods, by their precision: the shift of the whole run
//! φ²       median of ((effect - b) / standard error)² of the other methods, divided by its value under chance alone
//! interval from min(e, e - b) - φ h to max(e, e - b) + φ h       e, h: effect and half-width of the method
//! ```
//!
//! The interval contains the method's own change whether the machine or the program caused the shift. All standard
//! errors are multiplied by φ (the Birge ratio, R. T. Birge, Physical Review 40, 1932, here by medians). The part of a
//! shift beyond [`MAX_SHIFT`] is attributed to the program, not to the state of the machine.

use crate::effect::{Effect, Estimate};

/// Maximum shift of a whole run that is attributed to the state of the machine, as a logarithm: a factor of 1.5. One in
/// ten quiet runs of the case study took 1.4 times as long on a virtual machine.
const MAX_SHIFT: f64 = 0.405;

/// Minimum number of other methods from which a shift is estimated.
const MIN_OTHERS: usize = 3;

/// Lower bound of a half-width in the weights: no shift is equal for all methods to higher precision than this.
const BEST_KNOWN: f64 = 0.05;

/// Prior weight, in methods, of the assumption that methods differ only by chance.
const PRIOR_METHODS: f64 = 4.0;

/// Median of the square of a standard normal variable.
const MEDIAN_CHI_SQUARED: f64 = 0.4549;

/// The effects of methods; their intervals include the shift between the whole runs.
///
/// # Arguments
/// * `estimates` - one per method; `None` for a method without an estimate
pub(crate) fn effects(estimates: &[Option<Estimate>]) -> Vec<Option<Effect>> {
    let of = |place: usize| {
        let estimate = estimates[place]?;
        let others = estimates.iter().enumerate().filter(|(k, _)| *k != place);
        let others = others.filter_map(|(_, other)| *other);
        let others: Vec<_> = others.filter(|other| other.half < MAX_SHIFT).collect();
        let (shift, ratio) = shift(&others).unwrap_or((0.0, 1.0));
        let without = estimate.log - shift.clamp(-MAX_SHIFT, MAX_SHIFT);
        let half = estimate.half * ratio;
        Some(Effect::between(
            estimate.log,
            f64::min(estimate.log, without) - half,
            f64::max(estimate.log, without) + half,
        ))
    };
    (0..estimates.len()).map(of).collect()
}

/// The shift b and the Birge ratio φ of the given methods.
fn shift(methods: &[Estimate]) -> Option<(f64, f64)> {
    if methods.len() < MIN_OTHERS {
        return None;
    }
    let mut methods = methods.to_vec();
    methods.sort_by(|a, b| a.log.total_cmp(&b.log));
    let weight = |method: &Estimate| 1.0 / method.half.max(BEST_KNOWN);
    let all: f64 = methods.iter().map(weight).sum();
    let mut below = 0.0;
    let middle = methods.iter().find(|method| {
        below += weight(method);
        below >= 0.5 * all
    })?;
    let mut squares: Vec<f64> = methods
        .iter()
        .map(|method| ((method.log - middle.log) / method.deviation()).powi(2))
        .collect();
    squares.sort_by(f64::total_cmp);
    let n = squares.len();
    let median = 0.5 * (squares[(n - 1) / 2] + squares[n / 2]);
    let n = n as f64;
    let seen = (PRIOR_METHODS + n * median / MEDIAN_CHI_SQUARED) / (PRIOR_METHODS + n);
    Some((middle.log, seen.max(1.0).sqrt()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(percent: f64, half_percent: f64) -> Option<Estimate> {
        Some(Estimate {
            log: (percent / 100.0).ln_1p(),
            half: half_percent / 100.0,
            quantile: 2.9,
        })
    }

    fn ends(estimates: &[Option<Estimate>]) -> (f64, f64) {
        let effect = effects(estimates)[0].unwrap();
        (effect.lower_percent.unwrap(), effect.upper_percent.unwrap())
    }

    #[test]
    fn a_run_that_is_slower_as_a_whole_has_no_slower_method() {
        let shifted = [12.0, 15.0, 9.0, 14.0, 20.0].map(|percent| estimate(percent, 2.0));
        let (lower, upper) = ends(&shifted);
        assert!(lower < 5.0 && upper > 12.0, "{lower} to {upper}");
    }

    #[test]
    fn a_method_that_changed_alone_is_reported_as_before() {
        let alone = [40.0, 0.5, -0.5, 1.0, 0.0].map(|percent| estimate(percent, 2.0));
        let (lower, upper) = ends(&alone);
        assert!(lower > 36.0 && upper < 45.0, "{lower} to {upper}");
        // A method that did not change is not affected by one that did.
        let others = [0.2, 40.0, -0.5, 1.0, 0.0].map(|percent| estimate(percent, 2.0));
        let (lower, upper) = ends(&others);
        assert!(lower > -5.0 && upper < 5.0, "{lower} to {upper}");
    }

    #[test]
    fn twice_as_long_in_all_methods_is_more_than_a_state() {
        let (lower, upper) = ends(&[100.0, 101.0, 99.0, 103.0].map(|p| estimate(p, 1.0)));
        assert!(lower > 25.0 && upper < 110.0, "{lower} to {upper}");
    }

    #[test]
    fn methods_that_differ_more_than_their_errors_say_widen_the_interval() {
        let apart = [8.0, 9.0, -8.0, 7.0, -9.0, 1.0, -1.0].map(|percent| estimate(percent, 1.0));
        let (lower, _) = ends(&apart);
        assert!(lower < 0.0, "{lower}");
    }

    #[test]
    fn few_or_vague_methods_show_no_shift() {
        let few = [estimate(12.0, 2.0), estimate(30.0, 2.0), None];
        let (lower, upper) = ends(&few);
        assert!((9.0..11.0).contains(&lower) && (13.0..15.0).contains(&upper));
        let vague = [12.0, 30.0, 30.0, 30.0, 30.0];
        let mut vague = vague.map(|percent| estimate(percent, 90.0));
        vague[0] = estimate(12.0, 2.0);
        assert_eq!(ends(&vague), (lower, upper));
    }
}
