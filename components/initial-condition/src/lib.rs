//! Initial states, cell by cell.
//!
//! [`ShockInterface`] is the case study's problem, a shock before an oblique interface;
//! [`RiemannProblem`] is two constant states. Both give the conserved mean state of a cell from its
//! centre and size.

mod component;
mod riemann_problem;
mod shock_interface;

pub use riemann_problem::RiemannProblem;
pub use shock_interface::{ParameterError, ShockInterface, ShockInterfaceParameters};
