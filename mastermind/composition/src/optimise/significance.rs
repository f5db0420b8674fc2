//! Sites whose choice hardly affects the cost.

use super::problem::Problem;

/// A site that may be left out of the search.
#[derive(Debug, Clone, PartialEq)]
pub struct Insignificant {
    /// Index of the site.
    pub site: usize,
    /// The alternative it keeps: the one with the least possible loss.
    pub alternative: usize,
    /// Bound on the cost of the best assembly with that alternative above the optimum, seconds.
    pub bound: f64,
}

/// The sites that together change the cost of the best assembly by at most `tolerance`, least significant first.
///
/// With alternative `a` at a site instead of any other `b`, an assembly costs at most
/// `max over b of c(a) − c(b) + Σ over pairs of max over neighbours of (p(a, ·) − p(b, ·))` more. These bounds add up
/// over sites that are fixed one after the other, so they hold whatever is chosen elsewhere.
///
/// # Arguments
/// * `tolerance` - limit of the sum over all returned sites, seconds
pub fn insignificant(problem: &Problem, tolerance: f64) -> Vec<Insignificant> {
    let sites = 0..problem.sites().len();
    let mut bounds: Vec<Insignificant> = sites
        .filter(|&site| problem.sites()[site].costs.len() > 1)
        .map(|site| least_lost(problem, site))
        .collect();
    bounds.sort_by(|a, b| a.bound.total_cmp(&b.bound));
    let mut sum = 0.0;
    bounds
        .into_iter()
        .take_while(|dropped| {
            sum += dropped.bound;
            sum <= tolerance
        })
        .collect()
}

/// The alternative of a site with the least possible loss, whatever is chosen elsewhere. The bound is infinite where
/// forbidden combinations may require another alternative.
pub fn least_lost(problem: &Problem, site: usize) -> Insignificant {
    let n = problem.sites()[site].costs.len();
    let of = |a: usize| {
        let others = (0..n).filter(|&b| b != a);
        others.fold(0.0, |most: f64, b| most.max(excess(problem, site, a, b)))
    };
    let bounds = (0..n).map(|a| (a, of(a)));
    let (alternative, bound) = bounds
        .min_by(|x, y| x.1.total_cmp(&y.1))
        .unwrap_or((0, 0.0));
    Insignificant {
        site,
        alternative,
        bound,
    }
}

/// Bound on the additional cost of `a` compared with `b` at a site.
fn excess(problem: &Problem, site: usize, a: usize, b: usize) -> f64 {
    let costs = &problem.sites()[site].costs;
    // A forbidden alternative is in no assembly.
    if costs[b] == f64::INFINITY {
        return 0.0;
    }
    let mut sum = costs[a] - costs[b];
    for pair in problem.pairs() {
        let columns = problem.sites()[pair.second].costs.len();
        let cost = |own: usize, other: usize| match pair.first == site {
            true => pair.costs[own * columns + other],
            false => pair.costs[other * columns + own],
        };
        let n = match (pair.first == site, pair.second == site) {
            (true, _) => columns,
            (_, true) => problem.sites()[pair.first].costs.len(),
            _ => continue,
        };
        let with_b = (0..n).filter(|&w| cost(b, w) < f64::INFINITY);
        let most = with_b.map(|w| cost(a, w) - cost(b, w));
        sum += most.fold(f64::NEG_INFINITY, f64::max);
    }
    sum
}
