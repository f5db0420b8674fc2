//! The functions of an object, by address.

use object::read::elf::ElfFile64;
use object::{Endianness, Object, ObjectSymbol, SymbolKind};

use crate::ReachError;

/// The functions in an object's symbol tables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Functions {
    /// First address, the one behind the last, and the name.
    all: Vec<(u64, u64, String)>,
}

impl Functions {
    /// Reads the symbols of an object's file, those for debugging and those for the dynamic linker.
    ///
    /// # Errors
    /// [`ReachError::NotElf`].
    pub fn of(bytes: &[u8]) -> Result<Self, ReachError> {
        let file = ElfFile64::<Endianness>::parse(bytes).map_err(ReachError::NotElf)?;
        let symbols = file.symbols().chain(file.dynamic_symbols());
        let functions =
            symbols.filter(|symbol| symbol.is_definition() && symbol.kind() == SymbolKind::Text);
        let extents = functions.filter_map(|symbol| {
            let (address, name) = (symbol.address(), symbol.name().ok()?);
            (symbol.size() > 0).then(|| (address, address + symbol.size(), name.to_owned()))
        });
        let mut all: Vec<_> = extents.collect();
        all.sort();
        Ok(Self { all })
    }

    /// The function at an address of the file. If the object has no symbol for it, as for the inner functions of a
    /// stripped library, the result is `None`: the function before it is another one.
    pub fn at(&self, address: u64) -> Option<&str> {
        let behind = self.all.partition_point(|(first, ..)| *first <= address);
        let before = self.all[..behind].iter().rev();
        // Functions with several names begin at one address.
        let mut holders = before.take(8).filter(|(_, end, _)| address < *end);
        holders.next().map(|(_, _, name)| name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_between_functions_is_in_none() {
        let function = |first, end, name: &str| (first, end, name.to_owned());
        let functions = Functions {
            all: vec![
                function(16, 32, "a"),
                function(40, 48, "b"),
                function(40, 48, "c"),
            ],
        };
        let at = |address| functions.at(address);
        assert_eq!(
            [at(15), at(16), at(31), at(32), at(47), at(48)],
            [None, Some("a"), Some("a"), None, Some("c"), None]
        );
    }
}
