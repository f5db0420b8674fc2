//! How likely a fit makes what was measured, on one scale for all forms.
//!
//! In: fitted times at the points. Out: a deviance, −2 ln of the likelihood with the standard deviation profiled out, to
//! which each coefficient adds its price; what the form itself cost to choose is added by `select`.

use std::f64::consts::PI;

use crate::samples::points::Points;

/// Relative distance that counts as rounding.
pub(crate) const ROUNDING: f64 = 1e-10;

/// Ratio of the variance of the means about the best form to that within the points, each by its
/// degrees of freedom, above which the spread of the calls does not explain the distance.
pub(crate) const UNEXPLAINED: f64 = 4.0;

/// Points from which on a formula of three coefficients or more may be seen to be the right one.
const TOLD: f64 = 5.0;

/// Points of one call each below which a criterion for small samples applies.
pub(crate) const FEW: usize = 6;

/// What is expected of how much a term changes the time over the range, before it is measured: any share from 1 % to ten times, each
/// order of magnitude as likely as another.
const GROWTH: f64 = 1000.0;

/// Units of deviance by which a form that the spread of the calls explains may be behind the likeliest, and is as good a candidate to be
/// the right one.
const CREDIBLE: f64 = 6.0;

/// Units of deviance behind the best from which on a form is not averaged.
pub(crate) const INCREDIBLE: f64 = 14.0;

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

/// How many points and calls there are, and how far apart.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counts {
    /// Distinct coordinates.
    pub n_points: usize,
    /// Calls at all of them.
    pub n_records: f64,
    /// `Σ nᵢ (ȳᵢ / ȳ − 1)²`, `ȳ` being the mean of all.
    pub spread: f64,
}

impl Counts {
    /// Of the points of a mode.
    pub fn of(points: &Points) -> Self {
        let (n_records, pairs) = (points.n_records(), || {
            points.mean_s.iter().zip(&points.count)
        });
        let mean_s = pairs().map(|(y, n)| n * y).sum::<f64>() / n_records;
        let off = |(y, n): (&f64, &f64)| n * (y / mean_s - 1.0).powi(2);
        Self {
            n_points: points.len(),
            n_records,
            spread: pairs().map(off).sum(),
        }
    }

    /// Whether there are few points, of one call each.
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

    /// As [`Self::new`], with the same standard deviation at all points: distances are relative to the geometric mean
    /// of the times.
    pub fn even(points: &Points, fitted_s: &[f64]) -> Self {
        let smallest = 1e-6 * points.largest_s();
        let pairs = || points.mean_s.iter().zip(&points.count);
        let logarithms = pairs().map(|(y, n)| n * y.max(smallest).ln());
        let scale = (logarithms.sum::<f64>() / points.n_records()).exp();
        let lack = pairs().zip(fitted_s);
        let lack = lack.map(|((y, n), f)| n * ((y - f) / scale).powi(2));
        Self {
            lack: lack.sum(),
            within: points.m2_s2.iter().sum::<f64>() / (scale * scale),
            log_ratio: 0.0,
        }
    }

    /// Whether the spread of the calls explains how far the means lie from a fit with `n` coefficients.
    ///
    /// Calls that agree to rounding explain a fit that meets them to rounding. Some of the many sums of two terms go
    /// through three or four points by chance, so a form of several terms counts as unexplained below [`TOLD`]
    /// points.
    pub fn is_explained(&self, n: usize, counts: Counts) -> bool {
        let n_points = counts.n_points as f64;
        let (between, within) = (n_points - n as f64, counts.n_records - n_points);
        let variance = (self.within / within).max(ROUNDING * ROUNDING);
        let is_told = n <= 2 || n_points >= TOLD;
        within > 0.0
            && between >= 0.0
            && is_told
            && self.lack <= UNEXPLAINED * variance * between.max(1.0)
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
        // A constant and one coefficient fit two points exactly, and leave the uncertainty beyond them undetermined.
        if n > counts.n_points || n + 1 > counts.n_points.max(3) {
            return f64::INFINITY;
        }
        let n_records = counts.n_records;
        let variance = (self.lack + self.within) / n_records + ROUNDING * ROUNDING;
        finite(n_records * variance.ln() + 2.0 * self.log_ratio + n as f64 * n_records.ln())
    }

    /// As [`Self::by_calls`], with each mean as an observation and Akaike's price, corrected for few observations;
    /// below [`FEW`] points, where the correction is infinite, the marginal likelihood.
    ///
    /// # Source
    /// C.M. Hurvich, C.-L. Tsai, Biometrika 76 (1989) 297 (recalled, not looked up).
    pub fn by_means(&self, n: usize, counts: Counts) -> f64 {
        let (m, k) = (counts.n_points as f64, n as f64 + 1.0);
        let variance = self.lack / counts.n_records + ROUNDING * ROUNDING;
        let log_ratio = 2.0 * self.log_ratio / counts.n_records;
        if counts.n_points < FEW {
            return self.marginal(n, counts);
        }
        if m < k + 2.0 {
            return f64::INFINITY;
        }
        let akaike = 2.0 * k + 2.0 * k * (k + 1.0) / (m - k - 1.0);
        finite(m * (variance.ln() + log_ratio) + akaike)
    }

    /// −2 ln of the marginal likelihood of fewer than [`FEW`] means: standard deviation and coefficients integrated out.
    ///
    /// The standard deviation and the level have scale-invariant priors; the change by each term is only known to be
    /// within [`GROWTH`]. By Laplace's method such a term of size `a` costs `2 ln ln G + ln(a² / 2πσ²)`, where all
    /// `a²` together are the spread that the fit explains. So no unit matters, and a growth of 2 % that is followed
    /// within 0.2 % is as good as one of 200 % within 20 %.
    ///
    /// # Source
    /// H. Jeffreys, *Theory of Probability* (1961), chapter V, for scales (recalled, not looked up); the rest is our derivation.
    fn marginal(&self, n: usize, counts: Counts) -> f64 {
        let (m, n_terms) = (counts.n_points as f64, n as f64 - 1.0);
        let spare = counts.n_points.saturating_sub(n);
        // −2 ln Γ(spare / 2).
        let gamma = match spare {
            0 => return f64::INFINITY,
            1 => -PI.ln(),
            3 => 4_f64.ln() - PI.ln(),
            _ => 0.0,
        };
        let spare = spare as f64;
        let of_means = m / counts.n_records;
        let rest = of_means * self.lack + ROUNDING * ROUNDING;
        let explained = (of_means * (counts.spread - self.lack)).max(rest / spare);
        let growth = 2.0 * GROWTH.ln().ln() + (explained / n_terms.max(1.0)).ln();
        let log_ratio = 2.0 * self.log_ratio / counts.n_records;
        finite(spare * ((PI * rest).ln() + log_ratio) + gamma + m.ln() + n_terms * growth)
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

    /// Five points of five calls: with one coefficient more all distances are explained, and the likeliest form is just beyond.
    #[test]
    fn one_credible_form_is_enough_to_explain_the_points() {
        let counts = Counts {
            n_points: 5,
            n_records: 25.0,
            spread: 1.0,
        };
        let of = |lack: f64| Distance {
            lack,
            within: 20e-4,
            log_ratio: 0.0,
        };
        let (near, beside, far) = (of(1e-4), of(10e-4), of(1e-2));
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

    /// One of the many sums of two terms goes through four points by chance; one term through three seldom does.
    #[test]
    fn a_sum_of_terms_explains_nothing_of_four_points() {
        let distance = Distance {
            lack: 1e-5,
            within: 16e-4,
            log_ratio: 0.0,
        };
        let counts = |n_points: usize| Counts {
            n_points,
            n_records: n_points as f64 + 16.0,
            spread: 1.0,
        };
        assert!(!distance.is_explained(3, counts(4)));
        assert!(distance.is_explained(3, counts(5)));
        assert!(distance.is_explained(2, counts(3)));
        // Two ranges with a line each.
        assert!(distance.is_explained(4, counts(5)));
    }

    /// By how much a fit with one coefficient more is behind a constant; `shares` are what both leave of times that are 1 in the middle.
    fn behind_constant(shares: [f64; 2]) -> f64 {
        let counts = Counts {
            n_points: 4,
            n_records: 4.0,
            spread: shares[0],
        };
        let [constant, term] = shares.map(|lack| Distance {
            lack,
            within: 0.0,
            log_ratio: 0.0,
        });
        term.by_means(2, counts) - constant.by_means(1, counts)
    }

    /// That a growth is small says nothing against it, where it is followed that much closer.
    #[test]
    fn small_and_large_growths_are_weighed_alike() {
        let large = behind_constant([0.5, 0.005]);
        let small = behind_constant([5e-5, 5e-7]);
        assert!((large - small).abs() < 1e-9, "{large} {small}");
        assert!(
            large < behind_constant([0.5, 0.05]),
            "the closer, the likelier"
        );
        // What explains half of four points is no more likely than the constant.
        assert!(behind_constant([0.5, 0.25]) > 0.0);
    }

    /// The integral over the size of the term and the standard deviation, by sums: four points, of which a term of unit length explains a part.
    #[test]
    fn the_marginal_likelihood_is_the_integral() {
        let (rest, size) = (0.002, 1.0_f64);
        let counts = Counts {
            n_points: 4,
            n_records: 4.0,
            spread: rest + size * size,
        };
        let distance = Distance {
            lack: rest,
            within: 0.0,
            log_ratio: 0.0,
        };
        let (step, n) = (0.01, 1200);
        let mut sum = 0.0;
        for ln_sigma in (-n..n).map(|k| step * f64::from(k)) {
            let variance = (2.0 * ln_sigma).exp();
            let near = (2.0 * PI * variance).powf(-2.0) * (2.0 * PI * variance / 4.0).sqrt();
            for ln_a in (-300..300).map(|k| step * f64::from(k)) {
                let off = rest + (ln_a.exp() - size).powi(2);
                sum += near * (-0.5 * off / variance).exp() / GROWTH.ln() * step * step;
            }
        }
        // What is the same for all forms, the 2 of the integral over the deviation, is left out.
        let found = distance.by_means(2, counts) + 2.0 * 2_f64.ln();
        assert!(
            (found + 2.0 * sum.ln()).abs() < 0.05,
            "{found} {}",
            -2.0 * sum.ln()
        );
    }
}
