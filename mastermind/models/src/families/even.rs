//! Normal forms fitted with homoscedastic errors: the same scatter in seconds at every size.
//!
//! In: points, and the normal forms that were fitted to them with relative errors. Out: the same forms fitted with absolute errors.
//!
//! Where the spread of the calls does not explain the residuals of any formula, the residuals are effects that the formulas leave out:
//! a start-up cost, a cache, an uneven share. Such an effect may be proportional to the time, or equally long at every size. With relative
//! errors alone, small sizes would dominate extrapolation. The error model is not known beforehand, so both are weighed by likelihood.

use crate::families::candidate::Candidate;
use crate::families::hypothesis::Hypothesis;
use crate::families::normal_form::Found;
use crate::samples::noise::Noise;
use crate::samples::points::Points;
use crate::solve::likelihood::FEW;
use crate::solve::limits::Limits;

/// Number of the likeliest forms to refit, for each number of products; with several parameters, for all numbers together.
const N_FORMS: usize = 60;

/// Fits normal forms with the same scatter at every size.
///
/// Returns none if there are too few points to distinguish the error models, or if a form already passes through all points. Fits that
/// break a limit (negative on the range, or falling where they must not) are left out.
pub(crate) fn evenly_scattered(
    points: &Points,
    found: &Found<'_>,
    limits: &Limits<'_>,
) -> Vec<Candidate> {
    if points.len() < FEW || found.meets() {
        return Vec::new();
    }
    let mut even = points.clone();
    even.noise = Noise::Absolute;
    let walks = limits.walks(points, &[]);
    let fit = |(family, terms)| {
        let fitted = Hypothesis::sum(family, terms).fit_on(&walks, &even, limits)?;
        (!fitted.held).then_some(Candidate {
            is_even: true,
            ..fitted
        })
    };
    found
        .even_forms(N_FORMS / points.varying().len().max(1))
        .into_iter()
        .filter_map(fit)
        .collect()
}
