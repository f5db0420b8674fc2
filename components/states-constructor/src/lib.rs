//! MUSCL reconstruction: the states on both sides of every face of a patch.
//!
//! [`construct`] is the kernel; the slope [`Limiter`] is a type parameter, so that each limiter
//! gets its own compiled loop.

mod component;
mod limiter;
mod muscl;

pub use limiter::{Limiter, Mc, Minmod};
pub use muscl::construct;
