//! What the processor offers and takes, and what libraries make of it.
//!
//! A library for many processors holds its hot loops several times, and chooses among them as it is loaded: by the processor, or by a
//! variable of the environment. A library that does not know the processor may choose code that is several times slower than the
//! best that it holds, and says nothing. [`dispatch`] asks the libraries which code they chose; [`Level`] orders codes by the
//! instructions that they need, so that an answer can be compared with what the processor offers.
//!
//! ```text
//! dispatch::known      which libraries answer, and how they are asked
//! dispatch::ask        asks one: it is loaded into this process, which should be one that can be spared
//! level                instruction sets, in an order
//! processor            times of instructions, loads, reading, faults
//! signature            what a call does, over its size
//! ```
//!
//! Nothing here starts a process, reads the environment or prints.

pub mod dispatch;
mod level;
pub mod processor;
pub mod signature;

pub use level::{Level, offered};
