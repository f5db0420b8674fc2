//! The port interfaces and shared types of the shock case study.
//!
//! Arrays travel as [`States`] and [`StatesMut`]; the mesh owns them and lends them out by [`MeshPort::take`] and
//! [`MeshPort::put`], which move a pointer and copy nothing. `include/hydro.h` is `hydro.Flux` for C.

cca_abi::shared_types!();

mod adaptive;
mod cell_box;
mod faces;
mod flow;
mod gas;
mod kernels;
mod lent;
mod mesh;
mod types;

pub use adaptive::{BalancerPort, InterLevelPort, Load, RegridderPort};
pub use cell_box::CellBox;
pub use faces::{FaceError, Lines, map_faces};
pub use flow::{
    BoundaryPort, CharacteristicsPort, InitialConditionPort, IntegratorPort, OutputPort,
    Statistics, StatisticsPort,
};
pub use gas::{PostShock, conserved, primitive, rankine_hugoniot};
pub use kernels::{FluxPort, FluxPortVtable, RhsPort, StatesPort};
pub use lent::Lent;
pub use mesh::{ArrayName, Change, Domain, MeshPort, Patch, Sides, Traffic};
pub use types::{Axis, GAMMA, GHOST, NVAR, Shape, States, StatesMut};
