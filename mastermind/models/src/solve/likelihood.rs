//! How likely a fit makes what was measured, on one scale for all forms.
//!
//! In: fitted times at the points. Out: a deviance, −2 ln of the likelihood with the standard deviation profiled out, to
//! which each coefficient adds its price; what the form itself cost to choose is added by `select`.

use crate::samples::points::Points;

/// Relative distance that counts as rounding.
pub(crate) const ROUNDING: f64 = 1e-10;

/// Ratio of the variance of the means about the best form to that within the points, each by its
/// degrees of freedom, above which the spread of the calls does not explain the distance.
const UNEXPLAINED: f64 = 4.0;

/// Points of one call each below which a criterion that knows of few points is taken.
pub(crate) const FEW: usize = 6;

/// Units of deviance by which a form that the spread of the calls explains may be behind the likeliest, and is as good a candidate to be
/// the right one.
const CREDIBLE: f64 = 6.0;

/// Whether the spread of the calls explains what the forms leave: of one at least that is about as likely as the likeliest. That one alone
/// may be a little farther off than another, and cheaper.
///
/// # Arguments
/// * `forms` - deviance by calls, distance and number of coefficients of each
pub(crate) fn are_explained<'d>(
    forms: impl Iterator<Item = (f64, &'d Distance, usize)> + Clone,
    counts: Counts,
) -> bool {
    let least = (forms.clone().map(|(deviance, ..)| deviance)).fold(f64::INFINITY, f64::min);
    let mut credible = forms.filter(|(deviance, ..)| *deviance <= least + CREDIBLE);
    least.is_finite() && credible.any(|(_, distance, n)| distance.is_explained(n, counts))
}

/// How many points and calls there are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counts {
    /// Distinct coordinates.
    pub n_points: usize,
    /// Calls at all of them.
    pub n_records: f64,
}

impl Counts {
    /// Of the points of a mode.
    pub fn of(points: &Points) -> Self {
        Self {
            n_points: points.len(),
            n_records: points.n_records(),
        }
    }

    /// One call a point, and few points.
    pub fn are_few(self) -> bool {
        self.n_points < FEW && self.n_records <= self.n_points as f64
    }
}

/// How far the means lie from fitted times, and the calls from their means.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Distance {
    /// `Σ nᵢ ((ȳᵢ − fᵢ) / fᵢ)²`.
    pub lack: f64,
    /// `Σ m2ᵢ / fᵢ²`.
    pub within: f64,
    /// `Σ nᵢ ln(fᵢ / ȳᵢ)`.
    pub log_ratio: f64,
}

impl Distance {
    /// Of fitted times, shape `[n_points]`; those not positive are infinitely far.
    pub fn new(points: &Points, fitted_s: &[f64]) -> Self {
        let mut distance = Self {
            lack: 0.0,
            within: 0.0,
            log_ratio: 0.0,
        };
        let smallest = 1e-6 * points.largest_s();
        for (i, &f) in fitted_s.iter().enumerate() {
            let (n, y) = (points.count[i], points.mean_s[i]);
            let off = if f > 0.0 { y / f - 1.0 } else { f64::INFINITY };
            distance.lack += n * off * off;
            distance.within += points.m2_s2[i] / (f * f);
            distance.log_ratio -= n * (y.max(smallest) / f).ln();
        }
        distance
    }

    /// Whether the spread of the calls explains how far the means lie from a fit with `n` coefficients.
    ///
    /// Calls that agree to rounding explain a fit that meets them to rounding.
    pub fn is_explained(&self, n: usize, counts: Counts) -> bool {
        let n_points = counts.n_points as f64;
        let (between, within) = (n_points - n as f64, counts.n_records - n_points);
        let variance = (self.within / within).max(ROUNDING * ROUNDING);
        within > 0.0 && between >= 0.0 && self.lack <= UNEXPLAINED * variance * between.max(1.0)
    }

    /// Whether a fit meets the means to rounding.
    pub fn is_met(&self, counts: Counts) -> bool {
        self.lack <= ROUNDING * ROUNDING * counts.n_records
    }

    /// Whether a fit is as near as the spread of the calls lets the right one be: the ratio of the two variances is less
    /// than half its standard deviation above 1.
    pub fn is_near(&self, n: usize, counts: Counts) -> bool {
        let n_points = counts.n_points as f64;
        let (between, within) = ((n_points - n as f64).max(1.0), counts.n_records - n_points);
        let variance = (self.within / within).max(ROUNDING * ROUNDING);
        self.lack <= variance * (between + (between / 2.0).sqrt())
    }

    /// −2 ln of the profile likelihood and Schwarz's price of `n` coefficients, each call an observation that is
    /// normal with a standard deviation proportional to the fitted time; infinite with more coefficients than points.
    ///
    /// # Source
    /// G. Schwarz, Ann. Statist. 6 (1978) 461 (recalled, not looked up).
    pub fn by_calls(&self, n: usize, counts: Counts) -> f64 {
        // One coefficient beside the constant goes through two points, and says what is not known beyond them.
        if n > counts.n_points || n + 1 > counts.n_points.max(3) {
            return f64::INFINITY;
        }
        let n_records = counts.n_records;
        let variance = (self.lack + self.within) / n_records + ROUNDING * ROUNDING;
        finite(n_records * variance.ln() + 2.0 * self.log_ratio + n as f64 * n_records.ln())
    }

    /// The same with each mean as an observation and Akaike's corrected price, which knows that there are few.
    ///
    /// With [`FEW`] points of one call the standard deviation is integrated out instead, since the
    /// correction is infinite there.
    ///
    /// # Source
    /// C.M. Hurvich, C.-L. Tsai, Biometrika 76 (1989) 297; the marginal likelihood under a scale prior:
    /// H. Jeffreys, *Theory of Probability* (1961), chapter V (recalled, not looked up).
    pub fn by_means(&self, n: usize, counts: Counts) -> f64 {
        let (m, k) = (counts.n_points as f64, n as f64 + 1.0);
        let variance = self.lack / counts.n_records + ROUNDING * ROUNDING;
        let log_ratio = 2.0 * self.log_ratio / counts.n_records;
        if counts.n_points < FEW {
            let spare = m - n as f64;
            if spare < 1.0 {
                return f64::INFINITY;
            }
            return finite(spare * (variance.ln() + log_ratio) + n as f64 * m.ln());
        }
        if m < k + 2.0 {
            return f64::INFINITY;
        }
        let akaike = 2.0 * k + 2.0 * k * (k + 1.0) / (m - k - 1.0);
        finite(m * (variance.ln() + log_ratio) + akaike)
    }
}

fn finite(deviance: f64) -> f64 {
    if deviance.is_nan() {
        f64::INFINITY
    } else {
        deviance
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four points of five calls: with one coefficient more all distances are explained, and the likeliest form is just beyond.
    #[test]
    fn one_credible_form_is_enough_to_explain_the_points() {
        let counts = Counts {
            n_points: 4,
            n_records: 20.0,
        };
        let of = |lack: f64| Distance {
            lack,
            within: 16e-4,
            log_ratio: 0.0,
        };
        let (near, beside, far) = (of(1e-4), of(5e-4), of(1e-2));
        let explained =
            |forms: &[(f64, &Distance, usize)]| are_explained(forms.iter().copied(), counts);
        assert!(!explained(&[(-167.0, &beside, 3), (-130.0, &far, 2)]));
        assert!(explained(&[(-167.0, &beside, 3), (-165.0, &near, 3)]));
        assert!(
            !explained(&[(-167.0, &beside, 3), (-160.0, &near, 3)]),
            "not credible"
        );
        assert!(!explained(&[(f64::INFINITY, &near, 3)]), "no form at all");
    }
}
