//! Instruction sets and costs of the processor, and the code that libraries choose for it.
//!
//! A library for many processors contains its hot loops several times, and chooses among them as it is loaded: by the
//! processor, or by a variable of the environment. A library that does not know the processor may choose code that is
//! several times slower than the best that it contains, without a message. [`dispatch`] asks the libraries which code
//! they chose; [`Level`] orders codes by the instructions that they need, so that an answer can be compared with the
//! processor's instruction set.
//!
//! ```text
//! dispatch::known      the libraries that can be queried, and how
//! dispatch::ask        queries one: it is loaded into this process, which should be one that can be spared
//! level                instruction sets, in an order
//! processor            times of instructions, loads, reading, faults
//! signature            the work of a call, over its size
//! ```
//!
//! Nothing here starts a process, reads the environment or prints.

pub mod dispatch;
mod level;
pub mod processor;
pub mod signature;

pub use level::{Level, offered};
