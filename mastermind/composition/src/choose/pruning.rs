//! Instances left out of the search for the best assembly.

use std::collections::BTreeSet;

use crate::optimise::{Insignificant, Problem, insignificant, least_lost};

/// Instances to leave out of the search. Each keeps the class with the least possible loss.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Pruning {
    /// Leave out instances that together slow the best assembly by at most this share of the time of the current one,
    /// whatever the other instances choose; 0 for none.
    pub tolerance: f64,
    /// Leave out these instances whatever the possible loss (see [`crate::CallGraph::minor_instances`]), except where a
    /// requirement may demand another class of one.
    pub minor: BTreeSet<String>,
}

impl Pruning {
    /// The sites to leave out.
    ///
    /// # Arguments
    /// * `problem` - the problem, whose sites have the names of their instances
    /// * `present_s` - the time of the current assembly, seconds
    pub(super) fn of(&self, problem: &Problem, present_s: f64) -> Vec<Insignificant> {
        let mut pruned = match self.tolerance > 0.0 {
            true => insignificant(problem, self.tolerance * present_s),
            false => Vec::new(),
        };
        for (at, site) in problem.sites().iter().enumerate() {
            let is_open = site.costs.len() > 1 && pruned.iter().all(|known| known.site != at);
            if is_open && self.minor.contains(&site.name) {
                let least = least_lost(problem, at);
                pruned.extend(Some(least).filter(|least| least.bound.is_finite()));
            }
        }
        pruned
    }
}

/// The problem with a single alternative at each of these sites.
pub(super) fn without(problem: &Problem, pruned: &[Insignificant]) -> Problem {
    let mut left = problem.clone();
    for at in pruned {
        let others = (0..problem.sites()[at.site].costs.len()).filter(|c| *c != at.alternative);
        others.for_each(|other| left.forbid(at.site, other));
    }
    left
}
