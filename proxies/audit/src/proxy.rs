//! A proxy, whose names come and go.

use std::ffi::{CStr, c_char};
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use crate::object::{Name, Object};

/// The symbol by which the proxy of MPI is known; the same as `cca_abi::recording::MPI_PROXY_SYMBOL`.
const MPI_PROXY: &CStr = c"proxy_mpi_v1";
/// The symbol by which the proxy of a C library is known; the same as `cca_abi::recording::LIBRARY_PROXY_SYMBOL`.
const LIBRARY_PROXY: &CStr = c"cca_proxy_v1";

/// A name of the proxy that nothing can be bound to.
struct HiddenName {
    name: Name,
    symbol: *mut libc::Elf64_Sym,
    value: u64,
}

/// A proxy, mapped for good.
pub(crate) struct Proxy {
    pages: Pages,
    hidden: Vec<HiddenName>,
    definitions: Option<Definitions>,
}

// SAFETY: the symbols are written under the lock that holds this, a whole aligned word each.
unsafe impl Send for Proxy {}

impl Proxy {
    /// Hides all names that a proxy gives; `None` if the object is no proxy, or cannot be written.
    pub(crate) fn hide(object: &Object) -> Option<Self> {
        let definitions = Definitions::of(object);
        let names: Vec<Name> = if object.defines(&Name::new(MPI_PROXY)) {
            names_of_mpi(object)
        } else {
            definitions.as_ref()?.names.clone()
        };
        let hidden = names.into_iter().filter_map(|name| {
            let symbol = object.find(&name)?;
            // SAFETY: a symbol of an object that is mapped.
            let value = unsafe { (*symbol).st_value };
            Some(HiddenName {
                name,
                symbol,
                value,
            })
        });
        let hidden: Vec<_> = hidden.collect();
        let pages = Pages::of(object, &hidden)?;
        pages.write(|| hidden.iter().for_each(|name| name.set(0)));
        Some(Self {
            pages,
            hidden,
            definitions,
        })
    }

    /// Shows those of the hidden names that the object defines as well, and counts its definitions.
    pub(crate) fn show_names_of(&mut self, object: &Object) {
        if let Some(definitions) = &self.definitions {
            definitions.count(object);
        }
        let is_defined = |name: &HiddenName| object.defines(&name.name);
        if !self.hidden.iter().any(is_defined) {
            return;
        }
        let hidden = &mut self.hidden;
        self.pages.write(|| {
            hidden.retain(|name| {
                let shown = is_defined(name);
                if shown {
                    name.set(name.value);
                }
                !shown
            });
        });
    }
}

fn names_of_mpi(object: &Object) -> Vec<Name> {
    let of_mpi = object.defined().into_iter().filter(|(name, _)| {
        let name = name.to_bytes();
        name.starts_with(b"MPI_") || name.starts_with(b"mpi_")
    });
    of_mpi.map(|(name, _)| Name::new(name)).collect()
}

/// The arrays of the proxy of a C library, as `cca_proxy.h` has them, in the order of its names.
struct Definitions {
    names: Vec<Name>,
    counts: *mut u32,
    targets: *mut usize,
    entries: *mut usize,
    resolvers: *const usize,
}

impl Definitions {
    fn of(object: &Object) -> Option<Self> {
        object.find(&Name::new(LIBRARY_PROXY))?;
        let mut at = object.address_of(c"cca_proxy_names_v1")? as *const c_char;
        let mut names = Vec::new();
        // SAFETY: texts one after the other, the last empty, in a library that stays mapped.
        unsafe {
            while *at != 0 {
                let name = CStr::from_ptr(at);
                names.push(Name::new(name));
                at = at.add(name.count_bytes() + 1);
            }
        }
        Some(Self {
            names,
            counts: object.address_of(c"cca_proxy_counts_v1")? as *mut u32,
            targets: object.address_of(c"cca_proxy_targets_v1")? as *mut usize,
            entries: object.address_of(c"cca_proxy_entries_v1")? as *mut usize,
            resolvers: object.address_of(c"cca_proxy_resolvers_v1")? as *const usize,
        })
    }

    /// Counts what an object defines. Where a name has its second definition, calls are sent by their callers from now on.
    fn count(&self, object: &Object) {
        for (place, name) in self.names.iter().enumerate() {
            if !object.defines(name) {
                continue;
            }
            // SAFETY: as many of each as there are names, in memory of the proxy that can be written; its threads read them
            // whole words at a time.
            unsafe {
                let count = &*self.counts.add(place).cast::<AtomicU32>();
                let resolver = *self.resolvers.add(place);
                // Before the proxy is relocated, its entries are not in use, and will be the resolvers.
                if count.fetch_add(1, Ordering::AcqRel) >= 1 && resolver != 0 {
                    let word = |array: *mut usize| &*array.add(place).cast::<AtomicUsize>();
                    word(self.targets).store(0, Ordering::Release);
                    word(self.entries).store(resolver, Ordering::Release);
                }
            }
        }
    }
}

impl HiddenName {
    fn set(&self, value: u64) {
        // SAFETY: the symbol lies in pages that are writable now. Other threads may look it up: they find either value.
        unsafe { ptr::write_volatile(&raw mut (*self.symbol).st_value, value) };
    }
}

/// The pages that the symbols lie in.
struct Pages {
    start: usize,
    bytes: usize,
    protection: i32,
}

impl Pages {
    /// `None` if there are none, or they cannot be made writable.
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

/// How the segment is mapped that an address of the object lies in.
fn protection(object: &Object, address: usize) -> Option<i32> {
    let base = object.address();
    // SAFETY: the proxy is linked to start at 0, with its header.
    let headers = unsafe {
        let header = &*(base as *const libc::Elf64_Ehdr);
        let first = (base + header.e_phoff as usize) as *const libc::Elf64_Phdr;
        std::slice::from_raw_parts(first, header.e_phnum as usize)
    };
    let segment = headers.iter().find(|header| {
        let start = base + header.p_vaddr as usize;
        header.p_type == libc::PT_LOAD
            && (start..start + header.p_memsz as usize).contains(&address)
    })?;
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
