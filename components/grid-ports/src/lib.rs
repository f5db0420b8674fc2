//! The port interfaces and shared types of two model problems on grids that ranks share: heat conduction, whose
//! ranks exchange the edges of their blocks, and particle transport, whose ranks wait for each other in wavefronts.

cca_abi::shared_types!();

mod process_grid;
mod transport;

pub use heat::{HeatPort, HeatPortVtable};
pub use process_grid::{ProcessGrid, share};
pub use transport::{Block, Direction, TransportPort, TransportPortVtable};

mod heat;
