//! A proxy, whose names are shown and hidden.
//!
//! A name of a proxy is hidden by writing 0 into the value of its symbol: the dynamic linker passes
//! over such a symbol, and the search finds what it would find without the proxy. When a library
//! that defines the name is mapped, the value is written back. The symbol table is in pages that
//! are read only, so they are made writable for each change. Lookups by other threads go on
//! meanwhile; they see the old or the new word, since a symbol's value is one aligned word.
//!
//! ```text
//! proxy mapped           all names hidden                       st_value = 0
//! libmpi mapped          MPI_Send shown                         st_value = stub
//!                        home of MPI_Send = its address in libmpi, to which the stub forwards
//! second definition      of a C library's name: hidden again, bindings to the first go to the stub
//! library unmapped       its homes forgotten, the next definition considered
//! ```
//!
//! The proxy of MPI and those of C libraries differ. MPI has one home for each name, the first
//! definition behind the proxy; a C library's proxy counts definitions in arrays of its own
//! (`arrays.rs`).

use std::ffi::CStr;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::arrays::{Arrays, Definitions};
use crate::object::{Name, Object};

/// The symbol by which the proxy of MPI is known; the same as `cca_abi::recording::MPI_PROXY_SYMBOL`.
const MPI_PROXY: &CStr = c"proxy_mpi_v5";
/// Symbols that an MPI library or its library for Fortran defines, and no library before it.
const OF_MPI_ITSELF: [&CStr; 2] = [c"PMPI_Init", c"pmpi_init_"];
/// The symbol by which the proxy of a C library is known; the same as `cca_abi::recording::LIBRARY_PROXY_SYMBOL`.
pub(crate) const LIBRARY_PROXY: &CStr = c"cca_proxy_v1";

/// A name of the proxy with its symbol and the symbol's own value, which is written back when the
/// name is shown. Nothing can be bound to a hidden name.
struct HiddenName {
    name: Name,
    symbol: *mut libc::Elf64_Sym,
    value: u64,
    is_shown: bool,
}

/// The definition that the proxy of MPI replaces for a name: the first one behind it in the order of search, to which
/// it forwards calls. A definition in front of the proxy counts only if there is no other, and if it is MPI's own.
struct Home {
    /// Address of the definition; 0 for none. Leaked: bindings read it without a lock.
    address: &'static AtomicUsize,
    is_behind: bool,
}

impl Home {
    fn none() -> Self {
        Self {
            address: Box::leak(Box::new(AtomicUsize::new(0))),
            is_behind: false,
        }
    }

    /// Another object with a definition of the name was mapped.
    fn consider(&mut self, definition: usize, is_behind: bool, is_mpi: bool) {
        let is_first = match is_behind {
            true => !self.is_behind,
            false => is_mpi && self.address.load(Ordering::Acquire) == 0,
        };
        if is_first {
            self.is_behind = is_behind;
            self.address.store(definition, Ordering::Release);
        }
    }

    fn forget(&mut self) {
        self.is_behind = false;
        self.address.store(0, Ordering::Release);
    }
}

/// A proxy, mapped for good: the names that it can show or hide, and for each the definition that
/// it replaces.
pub(crate) struct Proxy {
    /// Address at which it is mapped.
    address: usize,
    pages: Pages,
    names: Vec<HiddenName>,
    /// All names, with the addresses of the proxy's symbols.
    stubs: Vec<(Name, usize)>,
    definitions: Option<Definitions>,
    /// Of the proxy of MPI one a name; of others none, which have arrays for that.
    homes: Vec<Home>,
}

// SAFETY: the symbols are written under the lock that holds this, a whole aligned word each.
unsafe impl Send for Proxy {}

impl Proxy {
    /// Whether an object is a proxy.
    pub(crate) fn is_one(object: &Object) -> bool {
        [MPI_PROXY, LIBRARY_PROXY]
            .iter()
            .any(|symbol| object.defines(&Name::new(symbol)))
    }

    /// Hides all names that a proxy gives; `None` if the object is no proxy, or cannot be written.
    pub(crate) fn hide(object: &Object) -> Option<Self> {
        let definitions = Definitions::of(object);
        let names: Vec<Name> = if object.defines(&Name::new(MPI_PROXY)) {
            names_of_mpi(object)
        } else {
            definitions.as_ref()?.names().to_vec()
        };
        // The values are kept before they are overwritten: nothing else has them.
        let hidden = names.into_iter().filter_map(|name| {
            let symbol = object.find(&name)?;
            // SAFETY: a symbol of an object that is mapped.
            let value = unsafe { (*symbol).st_value };
            Some(HiddenName {
                name,
                symbol,
                value,
                is_shown: true,
            })
        });
        let mut hidden: Vec<_> = hidden.collect();
        let stub = |hidden: &HiddenName| (hidden.name, object.address() + hidden.value as usize);
        let stubs = hidden.iter().map(stub).collect();
        let pages = Pages::of(object, &hidden)?;
        pages.write(|| hidden.iter_mut().for_each(HiddenName::hide));
        let n_homes = match definitions {
            Some(_) => 0,
            None => hidden.len(),
        };
        Some(Self {
            homes: (0..n_homes).map(|_| Home::none()).collect(),
            address: object.address(),
            pages,
            names: hidden,
            stubs,
            definitions,
        })
    }

    /// Address at which it is mapped.
    pub(crate) fn address(&self) -> usize {
        self.address
    }

    /// Another object was mapped: counts its definitions, and shows the names that are visible now.
    ///
    /// # Arguments
    /// * `is_behind` - whether it comes after the proxy in the order of search
    ///
    /// # Returns
    /// Whether the object defines any of the proxy's names.
    pub(crate) fn show_names_of(&mut self, object: &Object, is_behind: bool) -> bool {
        let is_defined = |hidden: &HiddenName| object.defines(&hidden.name);
        if !self.names.iter().any(is_defined) {
            return false;
        }
        if let Some(definitions) = &self.definitions {
            definitions.count(object);
            self.show_those_of_one_definition();
            return true;
        }
        self.consider_homes(object, is_behind);
        let names = &mut self.names;
        self.pages.write(|| {
            let defined = names.iter_mut().filter(|name| is_defined(name));
            defined.for_each(HiddenName::show);
        });
        true
    }

    /// Checks whether the proxy of MPI replaces definitions of an object.
    fn consider_homes(&mut self, object: &Object, is_behind: bool) {
        let is_mpi = OF_MPI_ITSELF
            .iter()
            .any(|name| object.defines(&Name::new(name)));
        for (hidden, home) in self.names.iter().zip(&mut self.homes) {
            if let Some(definition) = object.address_of(hidden.name.text) {
                home.consider(definition, is_behind, is_mpi);
            }
        }
    }

    /// A name is visible while the program has one definition of it. With several it is unknown which one the caller
    /// would have found, so it finds its own, and only bindings to the one that the proxy replaces are led here.
    fn show_those_of_one_definition(&mut self) {
        let Some(definitions) = &self.definitions else {
            return;
        };
        let names = &mut self.names;
        self.pages.write(|| {
            for name in names {
                match definitions.n_definitions(&name.name) {
                    1 => name.show(),
                    _ => name.hide(),
                }
            }
        });
    }

    /// The proxied functions, as `bound` has them.
    pub(crate) fn proxied(&self) -> impl Iterator<Item = Proxied> {
        let definitions = self.definitions.as_ref();
        self.stubs
            .iter()
            .enumerate()
            .map(move |(at, (name, stub))| {
                let place = definitions.and_then(|definitions| definitions.place(name));
                let (name, number) = name_of_other(name.text).unwrap_or((*name, 1));
                Proxied {
                    name,
                    number,
                    stub: *stub,
                    arrays: definitions
                        .zip(place)
                        .map(|(definitions, place)| (definitions.arrays, place)),
                    home: self.homes.get(at).map(|home| home.address),
                }
            })
    }

    /// An object is about to be unmapped: nothing leads there any more.
    ///
    /// # Arguments
    /// * `others` - those that stay, each with whether it comes after the proxy
    pub(crate) fn forget<'a>(
        &mut self,
        object: &Object,
        others: impl Iterator<Item = (&'a Object, bool)> + Clone,
    ) {
        if let Some(definitions) = &self.definitions {
            definitions.forget(object, others.map(|(other, _)| other));
            self.show_those_of_one_definition();
            return;
        }
        let mut is_left = false;
        for (hidden, home) in self.names.iter().zip(&mut self.homes) {
            let gone = object.address_of(hidden.name.text);
            if gone.is_some() && gone == Some(home.address.load(Ordering::Acquire)) {
                // Another library may define the name too, and is its home from now on.
                home.forget();
                is_left = true;
            }
        }
        if is_left {
            others.for_each(|(other, is_behind)| self.consider_homes(other, is_behind));
        }
    }
}

/// A function of a proxy, in the form in which bindings look for it: by name, and by the definition
/// that it replaces.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Proxied {
    name: Name,
    /// 1 if it replaces the first definition of its name, else the number of another one, once that
    /// was bound.
    number: u32,
    /// Address of the proxy's symbol.
    stub: usize,
    /// State of the proxy of a C library, and the function's index in it.
    arrays: Option<(Arrays, usize)>,
    /// For a function of MPI, the definition that the proxy replaces; 0 for none.
    home: Option<&'static AtomicUsize>,
}

impl Proxied {
    pub(crate) fn hash(&self) -> u32 {
        self.name.gnu
    }

    pub(crate) fn is(&self, name: &CStr) -> bool {
        self.name.text == name
    }

    pub(crate) fn name(&self) -> &'static CStr {
        self.name.text
    }

    pub(crate) fn stub(&self) -> usize {
        self.stub
    }

    /// Whether an object has a definition of the name itself.
    pub(crate) fn is_defined_by(&self, object: &Object) -> bool {
        object.defines(&self.name)
    }

    pub(crate) fn is_of_mpi(&self) -> bool {
        self.home.is_some()
    }

    /// Whether it replaces a definition other than the first.
    pub(crate) fn is_other(&self) -> bool {
        self.number > 1
    }

    /// Its number among the functions for the definitions of its name.
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// Whether it replaces the definition at an address, of several.
    pub(crate) fn stands_for_other(&self, address: usize) -> bool {
        let home = |(arrays, place): (Arrays, usize)| arrays.home(place).load(Ordering::Acquire);
        self.arrays.map(home) == Some(address)
    }

    /// Replaces the definition at an address from now on, if it replaces none yet.
    ///
    /// # Returns
    /// Whether it does. A result of an IFUNC is not claimed: when its object is unmapped, nothing shows that it
    /// went with it.
    pub(crate) fn claim(&self, address: usize, definer: &Object) -> bool {
        let Some((arrays, place)) = self.arrays else {
            return false;
        };
        let definitions = definer.definitions_of(&self.name);
        let mut definitions = definitions.iter();
        if !definitions.any(|found| found.address == address && !found.is_ifunc) {
            return false;
        }
        let home = arrays.home(place);
        let claimed = home.compare_exchange(0, address, Ordering::AcqRel, Ordering::Acquire);
        claimed.is_ok() || claimed == Err(address)
    }

    /// Definitions that are mapped, of a function of a C library.
    pub(crate) fn n_definitions(&self) -> u32 {
        let count =
            |(arrays, place): (Arrays, usize)| arrays.n_definitions(place).load(Ordering::Acquire);
        self.arrays.map_or(1, count)
    }

    /// Whether the proxy replaces the definition at an address of an object; if it replaces none yet, it does from now
    /// on.
    ///
    /// # Arguments
    /// * `address` - address at which it is called: for an IFUNC, its result
    pub(crate) fn stands_for(&self, address: usize, definer: &Object) -> bool {
        let Some((arrays, place)) = self.arrays else {
            return self
                .home
                .is_some_and(|home| home.load(Ordering::Acquire) == address);
        };
        if self.n_definitions() <= 1 {
            return true;
        }
        let home = arrays.home(place);
        let claimed = home.compare_exchange(0, address, Ordering::AcqRel, Ordering::Acquire);
        // The first binding decides which of several definitions the proxy replaces.
        let Err(home) = claimed else {
            return true;
        };
        // The home may be the resolver of an IFUNC, while the binding has the address that it
        // returned.
        let is_ifunc = arrays.home_is_ifunc(place).load(Ordering::Acquire) != 0;
        home == address || (is_ifunc && definer.has_symbol_at(self.name.text, home))
    }
}

/// The name of which a function of a proxy replaces another definition, and its number: `name` and 2 of
/// `cca_spare_2_name`.
pub(crate) fn name_of_other(name: &'static CStr) -> Option<(Name, u32)> {
    let bytes = name.to_bytes_with_nul();
    let rest = bytes.strip_prefix(b"cca_spare_")?;
    let at = rest.iter().position(|byte| *byte == b'_')?;
    let number = std::str::from_utf8(&rest[..at]).ok()?.parse().ok()?;
    let name = CStr::from_bytes_with_nul(&rest[at + 1..]).ok()?;
    Some((Name::new(name), number))
}

fn names_of_mpi(object: &Object) -> Vec<Name> {
    let of_mpi = object.defined().into_iter().filter(|(name, _)| {
        let name = name.to_bytes();
        name.starts_with(b"MPI_") || name.starts_with(b"mpi_")
    });
    of_mpi.map(|(name, _)| Name::new(name)).collect()
}

impl HiddenName {
    fn show(&mut self) {
        if !self.is_shown {
            self.set(self.value);
            self.is_shown = true;
        }
    }

    fn hide(&mut self) {
        if self.is_shown {
            self.set(0);
            self.is_shown = false;
        }
    }

    fn set(&self, value: u64) {
        // SAFETY: the symbol is in pages that are writable now. Other threads may look it up: they find either value.
        unsafe { ptr::write_volatile(&raw mut (*self.symbol).st_value, value) };
    }
}

/// The pages with the symbols.
struct Pages {
    start: usize,
    bytes: usize,
    protection: i32,
}

impl Pages {
    /// `None` if there are no names, or they cannot be made writable.
    fn of(object: &Object, names: &[HiddenName]) -> Option<Self> {
        let symbols = || names.iter().map(|name| name.symbol as usize);
        let (first, last) = (symbols().min()?, symbols().max()?);
        // SAFETY: a number of the system.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
        let start = first / page * page;
        let end = (last + size_of::<libc::Elf64_Sym>()).next_multiple_of(page);
        let pages = Self {
            start,
            bytes: end - start,
            protection: protection(object, first)?,
        };
        pages
            .protect(pages.protection | libc::PROT_WRITE)
            .then_some(pages)
    }

    /// Runs `change` while the pages can be written, if they can.
    fn write(&self, change: impl FnOnce()) {
        if self.protect(self.protection | libc::PROT_WRITE) {
            change();
            self.protect(self.protection);
        }
    }

    fn protect(&self, protection: i32) -> bool {
        // SAFETY: pages of the proxy, which stay readable.
        unsafe { libc::mprotect(self.start as *mut _, self.bytes, protection) == 0 }
    }
}

/// Protection of the segment that contains an address of the object.
pub(crate) fn protection(object: &Object, address: usize) -> Option<i32> {
    let base = object.address();
    // SAFETY: the object is linked to start at 0, with its header, as all of ours are.
    let headers = unsafe {
        let header = &*(base as *const libc::Elf64_Ehdr);
        let first = (base + header.e_phoff as usize) as *const libc::Elf64_Phdr;
        std::slice::from_raw_parts(first, header.e_phnum as usize)
    };
    let holds = |kind: u32| {
        headers.iter().find(|header| {
            let start = base + header.p_vaddr as usize;
            header.p_type == kind && (start..start + header.p_memsz as usize).contains(&address)
        })
    };
    // Mapped writable at first, and read only once the dynamic linker has relocated the object.
    if holds(libc::PT_GNU_RELRO).is_some() {
        return Some(libc::PROT_READ);
    }
    let segment = holds(libc::PT_LOAD)?;
    let of = |flag: u32, protection: i32| {
        if segment.p_flags & flag != 0 {
            protection
        } else {
            0
        }
    };
    Some(
        of(libc::PF_R, libc::PROT_READ)
            | of(libc::PF_W, libc::PROT_WRITE)
            | of(libc::PF_X, libc::PROT_EXEC),
    )
}
