//! Reasons why an object cannot be read.

use thiserror::Error;

/// Reason why an object cannot be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReachError {
    /// Not an ELF file for this machine, or a damaged one.
    #[error("cannot read symbols: no whole ELF file of 64 bits, expected one")]
    NotElf(#[source] object::Error),
    /// Code of another processor.
    #[error("cannot read code: of another processor, expected x86-64")]
    Processor,
}
