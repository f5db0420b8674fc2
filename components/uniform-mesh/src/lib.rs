//! A uniform mesh in patches: the owner of each cell, and the exchange of cells.
//!
//! [`decompose`] cuts the mesh and assigns the patches to ranks; [`ghost_plan`] lists every copy
//! from a patch's interior to another's ghost cells, corners included; [`pack`] and [`unpack`] move
//! a region to and from a message; [`Exchange`] carries the plan out, and [`Mesh`] keeps the
//! arrays. Ghost cells outside the mesh belong to the boundary conditions.

mod component;
mod decomposition;
mod exchange;
mod ghost_plan;
mod mesh;
mod region;

pub use decomposition::{Block, MeshError, Sizes, Splitting, decompose};
pub use exchange::{Exchange, Field};
pub use ghost_plan::{GhostCopy, GhostPlan, ghost_plan};
pub use mesh::{Mesh, StorageError};
pub use region::{Region, copy, pack, unpack};
