//! A uniform mesh in patches: who owns which cells, and which cells go where.
//!
//! [`decompose`] cuts the mesh and assigns the patches to ranks; [`ghost_plan`] lists every copy
//! from a patch's interior to another's ghost cells, corners included; [`pack`] and [`unpack`] move
//! a region to and from a message. Ghost cells outside the mesh belong to the boundary conditions.

mod decomposition;
mod ghost_plan;
mod region;

pub use decomposition::{MeshError, Patch, Splitting, decompose};
pub use ghost_plan::{GhostCopy, GhostPlan, ghost_plan};
pub use region::{Region, copy, pack, unpack};
