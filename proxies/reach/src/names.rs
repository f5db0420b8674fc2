//! The names that an object defines for others, and those that it refers to.

use std::collections::BTreeSet;

use object::{Object, ObjectSymbol};

use crate::ReachError;
use crate::survey::parse;

/// Names in an object's table for the dynamic linker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DynamicNames {
    /// Those that it defines.
    pub defined: BTreeSet<String>,
    /// Those that it refers to and does not define.
    pub referred: BTreeSet<String>,
}

/// Reads the names of an object, but not its code.
///
/// # Errors
/// [`ReachError`]: no ELF file of 64 bits, or code for another processor.
pub fn dynamic_names(bytes: &[u8]) -> Result<DynamicNames, ReachError> {
    let file = parse(bytes)?;
    let mut names = DynamicNames::default();
    for symbol in file.dynamic_symbols() {
        let Ok(name) = symbol.name() else { continue };
        if symbol.is_definition() {
            names.defined.insert(name.to_owned());
        } else if symbol.is_undefined() {
            names.referred.insert(name.to_owned());
        }
    }
    Ok(names)
}
