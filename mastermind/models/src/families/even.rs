//! Forms that are fitted as if the points lay as far off at every size, in seconds.
//!
//! In: points, and the normal forms that were fitted to them with a scatter that goes with the time. Out: the same forms fitted with one
//! that does not.
//!
//! Where the spread of the calls does not explain how far the points lie from every formula, what is left is what the formula leaves out:
//! a start, a cache, an uneven share. It may be a share of the time, or as long at every size. Taken for a share where it is not, small
//! sizes decide what is predicted beyond the large ones. Which it is nobody knows beforehand, so both are weighed by their likelihood.

use crate::families::candidate::Candidate;
use crate::families::hypothesis::Hypothesis;
use crate::families::normal_form::Found;
use crate::samples::noise::Noise;
use crate::samples::points::Points;
use crate::solve::likelihood::FEW;
use crate::solve::limits::Limits;

/// The likeliest forms that are fitted again, of each number of products; of several parameters as many for all of them.
const N_FORMS: usize = 60;

/// The normal forms fitted with the same scatter at every size; none where there are fewer points than tell the two apart or none lies off,
/// and of a fit that is negative on the range or falls where it must not.
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
