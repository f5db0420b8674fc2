//! Finds which calls of a program and its libraries bypass a preloaded proxy, from their files.
//!
//! A preloaded library takes the calls that the dynamic linker binds by name. Everything else bypasses it, unseen: a copy of
//! the library within the program, calls that a library makes of its own functions and that were bound when it was linked, a
//! program that has no dynamic linker. [`survey`] finds these in an object's symbols, relocations and code, with the number of
//! places that call:
//!
//! ```text
//! symbols        which proxied functions the object exports, refers to, or holds for itself (a static copy)
//! relocations    words that hold the address of such a function without naming it, or in a library linked with -Bsymbolic
//! code           direct calls and jumps, and taken addresses, of such a function
//! ```
//!
//! [`shared_texts`] compares an object without symbols with the library: an object with a copy has its messages
//! too.
//!
//! A pure function of bytes: nothing is loaded, run or changed.

mod code;
mod error;
mod functions;
mod names;
mod survey;
mod texts;

pub use error::ReachError;
pub use functions::Functions;
pub use names::{DynamicNames, dynamic_names};
pub use survey::{Finding, Linkage, Reason, Survey, survey};
pub use texts::{SharedTexts, shared_texts};
