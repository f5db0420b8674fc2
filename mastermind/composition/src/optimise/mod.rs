//! The optimal assembly among `∏ Cᵢ`, exactly.
//!
//! A [`Problem`] has sites, each with alternatives that cost something by themselves, and pairs of sites whose alternatives
//! cost something together. The cost of an assembly is the sum of both; an infinite cost forbids what it belongs to.
//! * [`optimise`] gives the best assembly, or the best few, and either proves that there is no better one or states the gap;
//! * [`pareto_front`] gives every assembly that is not worse in all of several objectives;
//! * [`insignificant`] finds the sites that change little whatever is chosen for them, with a bound on how much;
//! * [`compare_assemblies`] says whether intervals tell two assemblies apart, what is risked, and which run would tell;
//! * [`cfn`] writes a problem for other solvers of weighted constraint networks.
//!
//! Costs are made as local as they can be first (soft arc consistency), which gives a lower bound, and alternatives that no
//! optimal assembly has are dropped. What is left is solved by variable elimination where the tables that this takes are small
//! enough, which a count of their values tells beforehand; else one site is settled after the other by branch and bound,
//! and below each branch the same is done again.
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
