//! Finds the optimal assembly among `∏ Cᵢ`, exactly.
//!
//! A [`Problem`] has sites, whose alternatives have costs, and pairs of sites, whose combinations of alternatives have
//! further costs. The cost of an assembly is the sum of both; an infinite cost forbids an alternative or a combination.
//! * [`optimise`] returns the best assembly, or the best few, and proves that there is no better one or states the gap;
//! * [`pareto_front`] returns every assembly that no other one beats in several objectives;
//! * [`insignificant`] finds the sites whose choice hardly matters, with a bound on the possible loss;
//! * [`compare_assemblies`] reports whether intervals distinguish two assemblies, and the expected loss of choosing
//!   one;
//! * [`cfn`] writes a problem for other solvers of weighted constraint networks.
//!
//! The search first makes costs as local as possible (soft arc consistency), which gives a lower bound, and drops
//! alternatives that no optimal assembly has. The rest is solved by variable elimination if its tables are small
//! enough, which is computed in advance. Otherwise branch and bound fixes one site after the other, and each branch is
//! treated the same way.
//!
//! ```
//! use mastermind_composition::optimise::{Problem, SearchOptions, optimise};
//!
//! let mut problem = Problem::new();
//! let flux = problem.add_site("flux", &["Godunov", "Efm"], &[3.0, 2.0])?;
//! let states = problem.add_site("states", &["Muscl", "Constant"], &[1.0, 1.5])?;
//! problem.add_pair(flux, states, &[0.0, 0.0, 4.0, 0.5])?;
//! let found = optimise(&problem, &SearchOptions::default())?;
//! assert_eq!((found.best[0].choice.as_slice(), found.best[0].cost), (&[0, 0][..], 4.0));
//! assert!(found.proved());
//! # Ok::<(), mastermind_composition::optimise::ProblemError>(())
//! ```
//!
//! # Source
//! R. Dechter, Bucket elimination, Artificial Intelligence 113 (1999); V. Kolmogorov, A new look at reweighted message passing,
//! IEEE PAMI 37 (2015): the forward and backward passes, with the messages kept in the costs themselves; R. Goldstein,
//! Biophysical Journal 66 (1994): dead-end elimination; E. Rollón and J. Larrosa, Bucket elimination for multiobjective
//! optimization problems, Journal of Heuristics 12 (2006).

mod cfn;
mod consistency;
mod eliminate;
mod k_best;
mod network;
mod order;
mod pareto;
mod problem;
mod regret;
mod search;
mod significance;
mod weights;

pub use cfn::cfn;
pub use pareto::{ParetoPoint, pareto_front};
pub use problem::{Pair, Problem, ProblemError, Site};
pub use regret::{Comparison, compare_assemblies};
pub use search::{Found, Optimum, SearchOptions, optimise};
pub use significance::{Insignificant, insignificant, least_lost};
