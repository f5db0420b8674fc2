//! Why an object cannot be looked into.

use thiserror::Error;

/// Why an object cannot be looked into.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReachError {
    /// No ELF file of this kind of machine, or a damaged one.
    #[error("cannot read symbols: no whole ELF file of 64 bits, expected one")]
    NotElf(#[source] object::Error),
    /// Code of another kind of processor.
    #[error("cannot read code: of another processor, expected x86-64")]
    Processor,
}
