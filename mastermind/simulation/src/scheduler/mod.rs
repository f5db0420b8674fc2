//! Assignment of scarce processors: to processes of an oversubscribed node, and to threads of a parallel region.
//!
//! * `oversubscribed`: nodes with more processes than processors whose processes block while they wait. It has the
//!   processors of a node, its queue and the time slices.
//! * `busy_waiting`: the same nodes if a process that waits keeps its processor (spins) or yields it, as MPI libraries
//!   do.
//! * `region`: the threads of one parallel region on the processors of their process, and its locks.
//!
//! The first two are methods of the engine for programs, which calls `visit_node` instead of visiting
//! each process alone. A schedule has as many processors as it names and needs none of this.

pub(crate) mod busy_waiting;
pub(crate) mod oversubscribed;
pub(crate) mod region;
