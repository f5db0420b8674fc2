//! The dynamic symbols of an object that is mapped.
//!
//! The audit library must know which names an object defines before the dynamic linker binds
//! anything to it, and it runs in a namespace of its own, in which `dlsym` finds none of the
//! program's objects. So the tables are read where the dynamic linker has mapped them. The dynamic
//! section lists their addresses; a name is found by its hash, a definition's version by a parallel
//! array.
//!
//! ```text
//! link_map ─▶ dynamic section ─┬─ DT_SYMTAB    symbols: value, kind, section (0: undefined)
//!                              ├─ DT_STRTAB    their names
//!                              ├─ DT_GNU_HASH  Bloom filter, buckets, chains (or DT_HASH)
//!                              ├─ DT_VERSYM    version number of each symbol, DT_VERDEF their names
//!                              └─ DT_RELA, DT_JMPREL   words that the dynamic linker fills
//! ```
//!
//! Only reading happens here. `proxy.rs` writes symbol values of proxies, under a lock.

use std::ffi::{CStr, c_char};

/// The public part of the dynamic linker's description of an object (`struct link_map`).
#[repr(C)]
#[derive(Debug)]
pub struct LinkMap {
    address: usize,
    name: *const c_char,
    dynamic: *const Dynamic,
}

impl LinkMap {
    /// Path of the object's file; empty for the program itself.
    pub(crate) fn path(&self) -> String {
        if self.name.is_null() {
            return String::new();
        }
        // SAFETY: the dynamic linker's text.
        let name = unsafe { CStr::from_ptr(self.name) };
        name.to_string_lossy().into_owned()
    }
}

/// An entry of the dynamic section (`Elf64_Dyn`).
#[repr(C)]
#[derive(Debug)]
struct Dynamic {
    tag: i64,
    value: u64,
}

const DT_NULL: i64 = 0;
const DT_PLTRELSZ: i64 = 2;
const DT_HASH: i64 = 4;
const DT_STRTAB: i64 = 5;
const DT_SYMTAB: i64 = 6;
const DT_RELA: i64 = 7;
const DT_RELASZ: i64 = 8;
const DT_JMPREL: i64 = 23;
const DT_GNU_HASH: i64 = 0x6FFF_FEF5;
const DT_VERSYM: i64 = 0x6FFF_FFF0;
const DT_VERDEF: i64 = 0x6FFF_FFFC;
const DT_VERDEFNUM: i64 = 0x6FFF_FFFD;

/// A name to search for, with both of its hashes: an object has a table of one hash or the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Name {
    pub(crate) text: &'static CStr,
    pub(crate) gnu: u32,
    sysv: u32,
}

impl Name {
    pub(crate) fn new(text: &'static CStr) -> Self {
        Self {
            text,
            gnu: gnu_hash(text.to_bytes()),
            sysv: sysv_hash(text.to_bytes()),
        }
    }
}

/// An object that is mapped for good, or for as long as it is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Object {
    address: usize,
    symbols: *mut libc::Elf64_Sym,
    strings: *const c_char,
    table: HashTable,
    relocations: [Relocations; 2],
    versions: Option<Versions>,
}

/// The versions of symbols: one number a symbol, and a list that names them.
#[derive(Clone, Copy, Debug)]
struct Versions {
    numbers: *const u16,
    first: *const u8,
    n: usize,
}

/// A table of relocations, and its bytes.
#[derive(Clone, Copy, Debug)]
struct Relocations {
    first: *const libc::Elf64_Rela,
    bytes: usize,
}

/// A word that the dynamic linker writes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Relocation {
    /// Where, from the object's address on.
    pub(crate) offset: usize,
    pub(crate) kind: u32,
    /// Place in the symbol table.
    pub(crate) symbol: usize,
    pub(crate) addend: usize,
}

/// A function's definition in an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Definition {
    pub(crate) address: usize,
    /// Whether the code there returns the address when it is called.
    pub(crate) is_ifunc: bool,
}

/// The type of a symbol whose value is a function that gives the address (`STT_GNU_IFUNC`).
const IFUNC: u8 = 10;

#[derive(Clone, Copy, Debug)]
enum HashTable {
    Gnu(*const u32),
    SysV(*const u32),
}

// SAFETY: the tables are only read, except for values that `Proxy` writes under a lock.
unsafe impl Send for Object {}
// SAFETY: as above.
unsafe impl Sync for Object {}

impl Object {
    /// `None` if it has no dynamic symbols.
    ///
    /// # Safety
    /// The dynamic linker's own description of an object that is mapped.
    pub(crate) unsafe fn of(map: &LinkMap) -> Option<Self> {
        let (mut symbols, mut strings, mut gnu, mut sysv) = (None, None, None, None);
        let (mut rela, mut jmprel, mut rela_bytes, mut jmprel_bytes) = (None, None, 0, 0);
        let (mut versym, mut verdef, mut n_versions) = (None, None, 0);
        let mut entry = map.dynamic;
        // SAFETY: the section ends with DT_NULL, as the ELF specification has it.
        while let Some(Dynamic { tag, value }) = unsafe { entry.as_ref() } {
            let value = *value as usize;
            // The dynamic linker has added the address, but not where the section cannot be written (the vDSO).
            let pointer = if value < map.address {
                value + map.address
            } else {
                value
            };
            match *tag {
                DT_NULL => break,
                DT_SYMTAB => symbols = Some(pointer),
                DT_STRTAB => strings = Some(pointer),
                DT_GNU_HASH => gnu = Some(pointer),
                DT_HASH => sysv = Some(pointer),
                DT_RELA => rela = Some(pointer),
                DT_JMPREL => jmprel = Some(pointer),
                DT_VERSYM => versym = Some(pointer),
                DT_VERDEF => verdef = Some(pointer),
                DT_VERDEFNUM => n_versions = value,
                DT_RELASZ => rela_bytes = value,
                DT_PLTRELSZ => jmprel_bytes = value,
                _ => {}
            }
            // SAFETY: not the last.
            entry = unsafe { entry.add(1) };
        }
        let gnu = gnu.map(|at| HashTable::Gnu(at as *const u32));
        let sysv = || sysv.map(|at| HashTable::SysV(at as *const u32));
        let table = |first: Option<usize>, bytes| Relocations {
            first: first.unwrap_or_default() as *const _,
            bytes: first.map_or(0, |_| bytes),
        };
        Some(Self {
            address: map.address,
            symbols: symbols? as *mut libc::Elf64_Sym,
            strings: strings? as *const c_char,
            table: gnu.or_else(sysv)?,
            relocations: [table(rela, rela_bytes), table(jmprel, jmprel_bytes)],
            versions: versym.zip(verdef).map(|(numbers, first)| Versions {
                numbers: numbers as *const u16,
                first: first as *const u8,
                n: n_versions,
            }),
        })
    }

    /// Where the object is mapped.
    pub(crate) fn address(&self) -> usize {
        self.address
    }

    /// Whether the object defines a function or variable of this name.
    pub(crate) fn defines(&self, name: &Name) -> bool {
        self.find(name).is_some()
    }

    /// The symbol of a function or variable that the object defines.
    pub(crate) fn find(&self, name: &Name) -> Option<*mut libc::Elf64_Sym> {
        // SAFETY: the tables belong to a mapped object.
        unsafe {
            let found = match self.table {
                HashTable::Gnu(table) => self.find_by_gnu_hash(table, name),
                HashTable::SysV(table) => self.find_by_sysv_hash(table, name),
            };
            found.map(|at| self.symbols.add(at as usize))
        }
    }

    /// The object's definitions of this name at different addresses: one, or one per version.
    pub(crate) fn definitions_of(&self, name: &Name) -> Vec<Definition> {
        let definitions = self.definitions(name).map(|symbol| {
            // SAFETY: a symbol of an object that is mapped.
            let symbol = unsafe { &*symbol };
            Definition {
                address: self.address + symbol.st_value as usize,
                is_ifunc: symbol.st_info & 0xF == IFUNC,
            }
        });
        let mut definitions: Vec<_> = definitions.collect();
        definitions.sort_unstable();
        definitions.dedup();
        definitions
    }

    /// Whether a definition of this name is at an address, or returns that address when it is called
    /// (`IFUNC`).
    pub(crate) fn defines_at(&self, name: &'static CStr, address: usize) -> bool {
        self.definitions(&Name::new(name)).any(|symbol| {
            // SAFETY: a symbol of an object that is mapped.
            let symbol = unsafe { &*symbol };
            symbol.st_info & 0xF == IFUNC || self.address + symbol.st_value as usize == address
        })
    }

    /// Whether a symbol of this name has an address.
    pub(crate) fn has_symbol_at(&self, name: &'static CStr, address: usize) -> bool {
        let definitions = self.definitions_of(&Name::new(name));
        definitions
            .iter()
            .any(|definition| definition.address == address)
    }

    /// The version of the definition of a name at an address; `None` where the object has no versions.
    pub(crate) fn version_of(&self, name: &'static CStr, address: usize) -> Option<&'static CStr> {
        /// The bits of a version's number; the highest bit marks a version that is not the default.
        const NUMBER: u16 = 0x7FFF;
        let versions = self.versions?;
        // SAFETY: the symbols, their version numbers and the list (`Elf64_Verdef`: version, flags, number, n, hash,
        // names, next) belong to a mapped object; the list has as many entries as it declares.
        unsafe {
            let name = Name::new(name);
            let mut symbols = self.definitions(&name);
            let symbol =
                symbols.find(|symbol| self.address + (**symbol).st_value as usize == address)?;
            let place = symbol.offset_from(self.symbols);
            let number = versions.numbers.offset(place).read() & NUMBER;
            let mut at = versions.first;
            for _ in 0..versions.n {
                if at.add(4).cast::<u16>().read() == number {
                    let names = at.add(at.add(12).cast::<u32>().read() as usize);
                    let text = names.cast::<u32>().read() as usize;
                    return Some(CStr::from_ptr(self.strings.add(text)));
                }
                at = at.add(at.add(16).cast::<u32>().read() as usize);
            }
        }
        None
    }

    /// Address that a caller binds the name to: the definition of its default version; for an `IFUNC` the
    /// result of its call.
    pub(crate) fn default_address(&self, name: &Name) -> Option<usize> {
        /// The bit of a version's number that marks a version that is not the default.
        const HIDDEN: u16 = 0x8000;
        let symbol = self.definitions(name).find(|symbol| {
            // SAFETY: the symbols and their version numbers belong to a mapped object.
            self.versions.is_none_or(|versions| unsafe {
                let place = symbol.offset_from(self.symbols);
                versions.numbers.offset(place).read() & HIDDEN == 0
            })
        })?;
        // SAFETY: as above.
        let symbol = unsafe { &*symbol };
        let address = self.address + symbol.st_value as usize;
        if symbol.st_info & 0xF != IFUNC {
            return Some(address);
        }
        // SAFETY: such a symbol is a function without arguments that gives the address; the object is relocated.
        let resolve: extern "C" fn() -> usize = unsafe { std::mem::transmute(address) };
        Some(resolve())
    }

    /// Whether a symbol, by its index in the table, is one that the object needs and does not
    /// define.
    pub(crate) fn is_undefined(&self, symbol: usize) -> bool {
        // SAFETY: as for `name_of`.
        unsafe { (*self.symbols.add(symbol)).st_shndx == 0 }
    }

    fn definitions(&self, name: &Name) -> impl Iterator<Item = *mut libc::Elf64_Sym> {
        // SAFETY: the tables belong to a mapped object.
        let found: Vec<_> = unsafe {
            match self.table {
                HashTable::Gnu(table) => self.all_by_gnu_hash(table, name).collect(),
                HashTable::SysV(table) => self.find_by_sysv_hash(table, name).into_iter().collect(),
            }
        };
        let symbols = self.symbols;
        // SAFETY: as above.
        found
            .into_iter()
            .map(move |at: u32| unsafe { symbols.add(at as usize) })
    }

    /// The words that the dynamic linker writes into the object.
    pub(crate) fn relocations(&self) -> impl Iterator<Item = Relocation> {
        let entries = self.relocations.into_iter().flat_map(|table| {
            let n = table.bytes / size_of::<libc::Elf64_Rela>();
            // SAFETY: `n` is the object's own number of entries.
            (0..n).map(move |at| unsafe { table.first.add(at).read_unaligned() })
        });
        entries.map(|entry| Relocation {
            offset: entry.r_offset as usize,
            kind: entry.r_info as u32,
            symbol: (entry.r_info >> 32) as usize,
            addend: entry.r_addend as usize,
        })
    }

    /// The name of a symbol, by its place in the table.
    pub(crate) fn name_of(&self, symbol: usize) -> &'static CStr {
        // SAFETY: the place belongs to a relocation of the object, which is read while it is mapped.
        unsafe {
            CStr::from_ptr(
                self.strings
                    .add((*self.symbols.add(symbol)).st_name as usize),
            )
        }
    }

    /// Address of a function or variable of the object.
    pub(crate) fn address_of(&self, name: &'static CStr) -> Option<usize> {
        let symbol = self.find(&Name::new(name))?;
        // SAFETY: a symbol of an object that is mapped.
        Some(self.address + unsafe { (*symbol).st_value } as usize)
    }

    /// All symbols that the object defines, by name; only if it has a GNU hash table, which lists them.
    pub(crate) fn defined(&self) -> Vec<(&'static CStr, *mut libc::Elf64_Sym)> {
        let HashTable::Gnu(table) = self.table else {
            return Vec::new();
        };
        // SAFETY: as above; the function is called for the proxy, which stays mapped.
        unsafe {
            let gnu = GnuHash::of(table);
            let mut found = Vec::new();
            for bucket in 0..gnu.n_buckets {
                for at in gnu.chain(bucket) {
                    let symbol = self.symbols.add(at.0 as usize);
                    let name = CStr::from_ptr(self.strings.add((*symbol).st_name as usize));
                    if (*symbol).st_shndx != 0 {
                        found.push((name, symbol));
                    }
                }
            }
            found
        }
    }

    unsafe fn find_by_gnu_hash(&self, table: *const u32, name: &Name) -> Option<u32> {
        // SAFETY: required of the caller.
        unsafe { self.all_by_gnu_hash(table, name).next() }
    }

    unsafe fn all_by_gnu_hash(&self, table: *const u32, name: &Name) -> impl Iterator<Item = u32> {
        let name = *name;
        // SAFETY: required of the caller.
        let chain = unsafe {
            let gnu = GnuHash::of(table);
            let may_hold = gnu.n_buckets != 0 && gnu.may_hold(name.gnu);
            may_hold.then(|| gnu.chain(name.gnu % gnu.n_buckets))
        };
        let all = chain.into_iter().flatten();
        // SAFETY: required of the caller.
        let is_it = move |(at, hash): &(u32, u32)| unsafe {
            // The lowest bit of a stored hash marks the end of its chain and belongs to no name.
            hash | 1 == name.gnu | 1 && self.is(*at, &name)
        };
        all.filter(is_it).map(|(at, _)| at)
    }

    unsafe fn find_by_sysv_hash(&self, table: *const u32, name: &Name) -> Option<u32> {
        // SAFETY: required of the caller.
        unsafe {
            let (n_buckets, buckets) = (*table, table.add(2));
            if n_buckets == 0 {
                return None;
            }
            let chains = buckets.add(n_buckets as usize);
            let mut at = *buckets.add((name.sysv % n_buckets) as usize);
            while at != 0 {
                if self.is(at, name) {
                    return Some(at);
                }
                at = *chains.add(at as usize);
            }
            None
        }
    }

    unsafe fn is(&self, at: u32, name: &Name) -> bool {
        // SAFETY: required of the caller.
        unsafe {
            let symbol = &*self.symbols.add(at as usize);
            symbol.st_shndx != 0
                && CStr::from_ptr(self.strings.add(symbol.st_name as usize)) == name.text
        }
    }
}

/// A hash table as the GNU linker writes it.
struct GnuHash {
    n_buckets: u32,
    first_symbol: u32,
    n_words: u32,
    shift: u32,
    filter: *const u64,
    buckets: *const u32,
    chains: *const u32,
}

impl GnuHash {
    unsafe fn of(table: *const u32) -> Self {
        // SAFETY: required of the caller: four words, the filter, the buckets, the chains.
        unsafe {
            let [n_buckets, first_symbol, n_words, shift] = [0, 1, 2, 3].map(|at| *table.add(at));
            let filter = table.add(4).cast::<u64>();
            let buckets = filter.add(n_words as usize).cast::<u32>();
            Self {
                n_buckets,
                first_symbol,
                n_words,
                shift,
                filter,
                buckets,
                chains: buckets.add(n_buckets as usize),
            }
        }
    }

    /// The Bloom filter: `false` is certain.
    unsafe fn may_hold(&self, hash: u32) -> bool {
        if self.n_words == 0 {
            return true;
        }
        // SAFETY: required of the caller.
        let word = unsafe { *self.filter.add((hash / u64::BITS % self.n_words) as usize) };
        let bit = |hash: u32| word >> (hash % u64::BITS) & 1 == 1;
        bit(hash) && bit(hash.checked_shr(self.shift).unwrap_or(0))
    }

    /// Symbols of a bucket, with their hashes without the lowest bit.
    unsafe fn chain(&self, bucket: u32) -> impl Iterator<Item = (u32, u32)> + use<> {
        // SAFETY: required of the caller; the last hash of a chain has the lowest bit.
        let mut at = unsafe { *self.buckets.add(bucket as usize) };
        let (first, chains) = (self.first_symbol, self.chains);
        std::iter::from_fn(move || {
            if at < first || at == 0 {
                return None;
            }
            // SAFETY: as above.
            let hash = unsafe { *chains.add((at - first) as usize) };
            let found = (at, hash);
            at = if hash & 1 == 1 { 0 } else { at + 1 };
            Some(found)
        })
    }
}

pub(crate) fn gnu_hash(name: &[u8]) -> u32 {
    name.iter().fold(5381, |hash: u32, byte| {
        hash.wrapping_mul(33).wrapping_add(u32::from(*byte))
    })
}

fn sysv_hash(name: &[u8]) -> u32 {
    name.iter().fold(0, |hash: u32, byte| {
        let hash = (hash << 4).wrapping_add(u32::from(*byte));
        let high = hash & 0xF000_0000;
        (hash ^ high >> 24) & !high
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values of the ELF specification's and the GNU linker's own functions.
    #[test]
    fn hashes_are_those_of_the_linkers() {
        for (name, gnu, sysv) in [
            (c"", 0x0000_1505, 0x0000_0000),
            (c"printf", 0x156b_2bb8, 0x0779_05a6),
            (c"exit", 0x7c96_7e3f, 0x0006_cf04),
            (c"syscall", 0xbac2_12a0, 0x0b09_985c),
            (c"flapenguin.me", 0x8ae9_f18e, 0x0398_7915),
        ] {
            let name = Name::new(name);
            assert_eq!((name.gnu, name.sysv), (gnu, sysv), "{:?}", name.text);
        }
    }
}
