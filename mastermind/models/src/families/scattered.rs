//! Forms that are fitted as if the points lay off by a power of the time.
//!
//! In: points, and the normal forms that were fitted to them with a scatter that goes with the time. Out: the same forms fitted with one
//! that goes with a lower power of it, down to none.
//!
//! Where the spread of the calls does not explain how far the points lie from every formula, what is left is what the formula leaves out:
//! a start, a cache, an uneven share. It may be a share of the time, or as long at every size, or between the two: over many orders of
//! magnitude small sizes are often off by a larger share than large ones. Taken for a share where it is not, small
//! sizes decide what is predicted beyond the large ones. Which it is nobody knows beforehand, so all are weighed by their likelihood.
//!
//! # Source
//! R.J. Carroll, D. Ruppert, *Transformation and Weighting in Regression* (1988), for the power of the mean (recalled, not looked up).

use crate::families::candidate::Candidate;
use crate::families::hypothesis::Hypothesis;
use crate::families::normal_form::Found;
use crate::samples::noise::Noise;
use crate::samples::points::Points;
use crate::solve::likelihood::FEW;
use crate::solve::limits::Limits;

/// Powers of the time that the scatter may go with, beside 1.
const POWERS: [f64; 4] = [0.0, 0.25, 0.5, 0.75];

/// The likeliest forms that are fitted again, of each number of products; of several parameters as many for all of them.
const N_FORMS: usize = 60;

/// The normal forms fitted with each such scatter; none where there are fewer points than tell them apart or none lies off, and of a fit
/// that is negative on the range or falls where it must not.
pub(crate) fn scattered(points: &Points, found: &Found<'_>, limits: &Limits<'_>) -> Vec<Candidate> {
    if points.len() < FEW || found.meets() {
        return Vec::new();
    }
    let walks = limits.walks(points, &[]);
    let n_forms = N_FORMS / points.varying().len().max(1);
    let mut list = Vec::new();
    // Several parameters seldom span as many orders of magnitude as would tell powers between apart.
    let powers = match points.varying().len() {
        0 | 1 => &POWERS[..],
        _ => &POWERS[..1],
    };
    for &power in powers {
        let mut scattered = points.clone();
        scattered.noise = match power {
            0.0 => Noise::Absolute,
            power => Noise::Power(power),
        };
        let fit = |(family, terms)| {
            let fitted = Hypothesis::sum(family, terms).fit_on(&walks, &scattered, limits)?;
            (!fitted.held).then_some(Candidate {
                scatter: power,
                ..fitted
            })
        };
        let forms = found.scattered_forms(n_forms, power).into_iter();
        list.extend(forms.filter_map(fit));
    }
    list
}
