//! Texts that an object and a library share, if no symbols identify the library.

use std::collections::BTreeSet;

use object::read::elf::ElfFile64;
use object::{Endianness, Object, ObjectSection, SectionKind};

use crate::ReachError;

/// Letters that a text has at least: shorter ones are in any program.
const MIN_LETTERS: usize = 8;

/// Constant texts of a library that an object has as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedTexts {
    /// Those that both have.
    pub n_shared: usize,
    /// Number of texts of the library.
    pub n_library: usize,
}

impl SharedTexts {
    /// Whether the object contains a copy of the library, or of a good part of it: a linker takes the required files of
    /// an archive, each with all its texts.
    pub fn indicate_a_copy(&self) -> bool {
        const MIN_SHARED: usize = 5;
        self.n_shared >= MIN_SHARED && self.n_shared * 4 >= self.n_library
    }
}

/// Counts the constant texts of `library` that `object` has too.
///
/// # Errors
/// [`ReachError::NotElf`].
pub fn shared_texts(object: &[u8], library: &[u8]) -> Result<SharedTexts, ReachError> {
    let library = texts(library)?;
    let object = texts(object)?;
    Ok(SharedTexts {
        n_shared: library.intersection(&object).count(),
        n_library: library.len(),
    })
}

/// Printable texts, ended by 0, of the constants of an object.
fn texts(bytes: &[u8]) -> Result<BTreeSet<&[u8]>, ReachError> {
    let file = ElfFile64::<Endianness>::parse(bytes).map_err(ReachError::NotElf)?;
    let is_constant = |kind| {
        matches!(
            kind,
            SectionKind::ReadOnlyData | SectionKind::ReadOnlyString
        )
    };
    let sections = file
        .sections()
        .filter(|section| is_constant(section.kind()));
    let data = sections.filter_map(|section| section.data().ok());
    let pieces = data.flat_map(|data| data.split(|byte| *byte == 0));
    let printable = |byte: &u8| (b' '..=b'~').contains(byte) || matches!(byte, b'\n' | b'\t');
    Ok(pieces
        .filter(|piece| piece.len() >= MIN_LETTERS && piece.iter().all(printable))
        .collect())
}
