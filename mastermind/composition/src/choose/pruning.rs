//! What is left out of the search for the best assembly.

use std::collections::BTreeSet;

use crate::optimise::{Insignificant, Problem, insignificant, least_lost};

/// Instances that are left out of the search for the best assembly, each with the class with which the least can be lost.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Pruning {
    /// Those that together can make the best assembly slower by at most this part of the time of the present one, whatever
    /// is chosen elsewhere; 0 for none.
    pub tolerance: f64,
    /// Those that matter little, as [`crate::CallGraph::minor_instances`] has it, however much they can; but none that
    /// what is required may ask for another class of.
    pub minor: BTreeSet<String>,
}

impl Pruning {
    /// The sites that are left out.
    ///
    /// # Arguments
    /// * `problem` - its sites have the names of their instances
    /// * `present_s` - the time of the present assembly, seconds
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

/// The problem with one alternative left to each of these sites.
pub(super) fn without(problem: &Problem, pruned: &[Insignificant]) -> Problem {
    let mut left = problem.clone();
    for at in pruned {
        let others = (0..problem.sites()[at.site].costs.len()).filter(|c| *c != at.alternative);
        others.for_each(|other| left.forbid(at.site, other));
    }
    left
}
