//! Pullin's equilibrium flux method: each side of a face streams half a Maxwellian across it.
//!
//! [`efm_flux`] is the kernel; `components/efm-flux-c` is the same kernel in C.

mod component;
mod efm;

pub use efm::{EfmError, efm_flux};
