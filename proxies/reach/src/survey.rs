//! How one object uses proxied functions.
//!
//! A preloaded proxy gets a call only if the dynamic linker binds it by name. This file searches
//! for evidence of all others in one ELF file, without running it, in two steps: the addresses of
//! the proxied functions inside the object (exported, or in its own symbol table), and the places
//! that refer to these addresses directly. Such a place never goes through the dynamic linker.
//!
//! ```text
//! call 401250 <deflate>        code:        a direct call of the object's own deflate
//! .data: 401250                relocation:  a table of functions, filled by address
//! deflate, local symbol        a static copy, even where nobody is seen to call it
//! -Bsymbolic                   named references search the library itself first
//! ```
//!
//! A name alone is weak evidence: with few local functions of a library's names, they may be others
//! of the same name (`MIN_LOCAL`).

use std::collections::{BTreeMap, BTreeSet};

use object::elf::{
    self, DF_SYMBOLIC, DT_FLAGS, DT_SYMBOLIC, EM_X86_64, PT_DYNAMIC, PT_INTERP, R_X86_64_IRELATIVE,
    R_X86_64_RELATIVE, STV_PROTECTED,
};
use object::read::elf::{Dyn, ElfFile64, FileHeader, ProgramHeader};
use object::{
    Endianness, Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget,
    SectionKind, SymbolFlags, SymbolKind,
};

use crate::ReachError;
use crate::code::Code;

type File<'a> = ElfFile64<'a, Endianness>;

/// Findings about an object and a set of functions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survey {
    /// How it is started, if it is a program.
    pub linkage: Linkage,
    /// Whether it has a table of its own functions, or only of its exported ones.
    pub has_symbols: bool,
    /// The functions that it exports, in their order.
    pub exports: Vec<String>,
    /// The functions of others that it refers to by name, which a preloaded proxy takes.
    pub refers: Vec<String>,
    /// The calls that go round a proxy, by function.
    pub findings: Vec<Finding>,
}

/// How an object is linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Linkage {
    /// A program that the dynamic linker starts.
    Program,
    /// A library, or an object that has a table for the dynamic linker but names none.
    Library,
    /// A program without a dynamic linker: nothing can be preloaded.
    Static,
}

/// Calls of a function that go round a proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The function.
    pub function: String,
    /// Why.
    pub reason: Reason,
    /// Places that call it, or take its address.
    pub n_sites: u64,
}

/// Reasons why a call bypasses a preloaded proxy, in the order in which findings are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Reason {
    /// The object holds the function for itself: a static copy of the library.
    Copy,
    /// A library linked with `-Bsymbolic`, which searches itself first.
    Symbolic,
    /// The function is exported as protected: the library's own calls were bound when it was linked.
    Protected,
    /// The library's own calls were bound when it was linked or compiled (`-Bsymbolic-functions`, a hidden alias,
    /// `-fno-semantic-interposition`, a static function).
    Internal,
}

/// Searches for calls of some functions that bypass a preloaded proxy of them.
///
/// # Arguments
/// * `bytes` - the object's file
/// * `debug` - the file with its symbols that was split off, if there is one
/// * `names` - the functions
///
/// # Errors
/// [`ReachError`]: no ELF file of 64 bits, or code for another processor.
pub fn survey(
    bytes: &[u8],
    debug: Option<&[u8]>,
    names: &BTreeSet<&str>,
) -> Result<Survey, ReachError> {
    let file = parse(bytes)?;
    let debug = debug.and_then(|bytes| parse(bytes).ok());
    let exported = exported(&file, names);
    let own = own_functions(&file, debug.as_ref(), names, &exported);
    let addresses = exported.values().flatten().map(|function| function.address);
    let addresses = addresses.chain(own.iter().map(|(_, address)| *address));
    let mut sites: BTreeMap<u64, u64> = addresses.map(|address| (address, 0)).collect();
    count_in_code(&file, &mut sites);
    count_unnamed_words(&file, &mut sites);
    let mut findings = Findings::default();
    let is_symbolic = is_symbolic(&file);
    for (name, addresses) in &exported {
        for function in addresses {
            let reason = match function.is_protected {
                true => Reason::Protected,
                false if is_symbolic => Reason::Symbolic,
                false => Reason::Internal,
            };
            findings.add(name, reason, sites[&function.address]);
        }
    }
    for (name, address) in &own {
        let (reason, n_sites) = match exported.get(*name) {
            // A part of it, or an alias: under another address only, or it would be counted twice.
            Some(exported) if exported.iter().any(|other| other.address == *address) => continue,
            Some(_) => (Reason::Internal, sites[address]),
            // Even if no call of it was found, the object has its own copy.
            None => (Reason::Copy, sites[address]),
        };
        findings.add(name, reason, n_sites);
    }
    let named = named_words(&file, names);
    if is_symbolic {
        for (name, n_sites) in &named {
            if exported.contains_key(name) {
                findings.add(name, Reason::Symbolic, *n_sites);
            }
        }
    }
    let refers = named.keys().filter(|name| !exported.contains_key(*name));
    Ok(Survey {
        linkage: linkage(&file),
        has_symbols: file.symbols().next().is_some() || debug.is_some(),
        refers: refers.map(|name| (*name).to_owned()).collect(),
        exports: exported.keys().map(|name| (*name).to_owned()).collect(),
        findings: findings.into_vec(),
    })
}

pub(crate) fn parse(bytes: &[u8]) -> Result<File<'_>, ReachError> {
    let file = File::parse(bytes).map_err(ReachError::NotElf)?;
    let is_known = file.elf_header().e_machine(file.endian()) == EM_X86_64;
    is_known.then_some(file).ok_or(ReachError::Processor)
}

fn linkage(file: &File<'_>) -> Linkage {
    let has = |kind| {
        let mut headers = file.elf_program_headers().iter();
        headers.any(|header| header.p_type(file.endian()) == kind)
    };
    let is_library = file.elf_header().e_type(file.endian()) == elf::ET_DYN;
    match (has(PT_INTERP), has(PT_DYNAMIC)) {
        (true, _) => Linkage::Program,
        // A position-independent static program has a table too, which marks it as a program.
        (false, true) if is_library && !is_position_independent_program(file) => Linkage::Library,
        _ => Linkage::Static,
    }
}

fn is_position_independent_program(file: &File<'_>) -> bool {
    flag(file, elf::DT_FLAGS_1, elf::DF_1_PIE.0)
}

fn is_symbolic(file: &File<'_>) -> bool {
    flag(file, DT_FLAGS, DF_SYMBOLIC.0) || {
        let table = file.elf_dynamic_table();
        table.is_ok_and(|table| {
            let mut entries = table.dynamics().iter();
            entries.any(|entry| entry.d_tag(file.endian()) == DT_SYMBOLIC)
        })
    }
}

/// Whether the dynamic table has an entry with a bit.
fn flag(file: &File<'_>, tag: elf::DynamicTag, bit: u64) -> bool {
    let endian = file.endian();
    file.elf_dynamic_table().is_ok_and(|table| {
        let mut entries = table.dynamics().iter();
        entries.any(|entry| entry.d_tag(endian) == tag && entry.d_val(endian) & bit != 0)
    })
}

/// A function that the object exports.
struct Exported {
    address: u64,
    is_protected: bool,
}

/// The functions by name; of each one address a version.
fn exported<'a>(file: &File<'a>, names: &BTreeSet<&str>) -> BTreeMap<&'a str, Vec<Exported>> {
    let mut exported: BTreeMap<&str, Vec<Exported>> = BTreeMap::new();
    for symbol in file.dynamic_symbols().filter(ObjectSymbol::is_definition) {
        let Some(name) = symbol.name().ok().filter(|name| names.contains(name)) else {
            continue;
        };
        let is_protected = matches!(
            symbol.flags(),
            SymbolFlags::Elf { st_other, .. } if st_other.visibility() == STV_PROTECTED
        );
        let all = exported.entry(name).or_default();
        if all.iter().all(|other| other.address != symbol.address()) {
            all.push(Exported {
                address: symbol.address(),
                is_protected,
            });
        }
    }
    exported
}

/// Fewest functions that an object holds for itself alone (static in C, or hidden by its linker): fewer may be others of the same
/// name, as `compress` of Python's bz2.
const MIN_LOCAL: usize = 3;

/// Functions of these names in the object's own table, and parts that a compiler made of one (`name.part.0`), which are not
/// exported at that address.
fn own_functions<'a>(
    file: &File<'a>,
    debug: Option<&File<'a>>,
    names: &BTreeSet<&'a str>,
    exported: &BTreeMap<&str, Vec<Exported>>,
) -> BTreeSet<(&'a str, u64)> {
    let symbols = file
        .symbols()
        .chain(debug.into_iter().flat_map(|debug| debug.symbols()));
    let functions =
        symbols.filter(|symbol| symbol.is_definition() && symbol.kind() == SymbolKind::Text);
    let named = functions.filter_map(|symbol| {
        let name = symbol.name().ok()?;
        let (first, rest) = name.split_once('.').unwrap_or((name, ""));
        let name = names.get(first)?;
        // The part that is seldom run is jumped to from within the function.
        let is_whole = !rest.starts_with("cold");
        is_whole.then(|| (*name, symbol.address(), symbol.is_local()))
    });
    let mut own: BTreeSet<(&str, u64, bool)> = named
        .filter(|(name, address, _)| {
            let same = exported.get(name).into_iter().flatten();
            same.into_iter().all(|other| other.address != *address)
        })
        .collect();
    let is_alone =
        |(name, _, is_local): &&(&str, u64, bool)| *is_local && !exported.contains_key(name);
    let local: BTreeSet<&str> = own
        .iter()
        .filter(is_alone)
        .map(|(name, ..)| *name)
        .collect();
    if local.len() < MIN_LOCAL {
        own.retain(|(name, _, is_local)| !is_local || exported.contains_key(name));
    }
    own.into_iter()
        .map(|(name, address, _)| (name, address))
        .collect()
}

fn count_in_code(file: &File<'_>, sites: &mut BTreeMap<u64, u64>) {
    let sections = file
        .sections()
        .filter(|section| section.kind() == SectionKind::Text);
    for section in sections {
        if let Ok(bytes) = section.data() {
            Code {
                address: section.address(),
                bytes,
            }
            .count_sites(sites);
        }
    }
}

/// Counts words that the dynamic linker fills with an address within the object, without a name: tables of functions.
fn count_unnamed_words(file: &File<'_>, sites: &mut BTreeMap<u64, u64>) {
    for (_, relocation) in file.dynamic_relocations().into_iter().flatten() {
        let is_unnamed = matches!(
            relocation.flags(),
            RelocationFlags::Elf { r_type } if r_type == R_X86_64_RELATIVE || r_type == R_X86_64_IRELATIVE
        );
        if let Some(n) = sites
            .get_mut(&(relocation.addend() as u64))
            .filter(|_| is_unnamed)
        {
            *n += 1;
        }
    }
}

/// Words that the dynamic linker fills by name, by function.
fn named_words<'a>(file: &File<'a>, names: &BTreeSet<&str>) -> BTreeMap<&'a str, u64> {
    let mut words = BTreeMap::new();
    for (_, relocation) in file.dynamic_relocations().into_iter().flatten() {
        let RelocationTarget::Symbol(symbol) = relocation.target() else {
            continue;
        };
        let symbol = file
            .dynamic_symbol_table()
            .and_then(|table| object::ObjectSymbolTable::symbol_by_index(&table, symbol).ok());
        let name = symbol.and_then(|symbol| symbol.name().ok());
        if let Some(name) = name.filter(|name| names.contains(name)) {
            *words.entry(name).or_default() += 1;
        }
    }
    words
}

/// Findings, summed up by function and reason.
#[derive(Default)]
struct Findings(BTreeMap<(String, Reason), u64>);

impl Findings {
    /// A copy counts even if no call of it was found.
    fn add(&mut self, function: &str, reason: Reason, n_sites: u64) {
        if n_sites > 0 || reason == Reason::Copy {
            *self.0.entry((function.to_owned(), reason)).or_default() += n_sites;
        }
    }

    fn into_vec(self) -> Vec<Finding> {
        let one = |((function, reason), n_sites)| Finding {
            function,
            reason,
            n_sites,
        };
        self.0.into_iter().map(one).collect()
    }
}
