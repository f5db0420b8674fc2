//! The proxy of MPI, whose names come and go.

use std::ptr;

use crate::object::{Name, Object};

/// The symbol by which the proxy is known; the same as `cca_abi::recording::MPI_PROXY_SYMBOL`.
const PROXY_SYMBOL: &std::ffi::CStr = c"proxy_mpi_v1";

/// A name of the proxy that nothing can be bound to.
struct HiddenName {
    name: Name,
    symbol: *mut libc::Elf64_Sym,
    value: u64,
}

/// The proxy, mapped for good.
pub(crate) struct Proxy {
    pages: Pages,
    hidden: Vec<HiddenName>,
}

// SAFETY: the symbols are written under the lock that holds this, a whole aligned word each.
unsafe impl Send for Proxy {}

impl Proxy {
    /// Hides all names of MPI that the object gives; `None` if it is not the proxy, or cannot be written.
    pub(crate) fn hide(object: Object) -> Option<Self> {
        if !object.defines(&Name::new(PROXY_SYMBOL)) {
            return None;
        }
        let of_mpi = object.defined().into_iter().filter(|(name, _)| {
            let name = name.to_bytes();
            name.starts_with(b"MPI_") || name.starts_with(b"mpi_")
        });
        // SAFETY: symbols of an object that is mapped.
        let hidden = of_mpi.map(|(name, symbol)| unsafe {
            HiddenName {
                name: Name::new(name),
                symbol,
                value: (*symbol).st_value,
            }
        });
        let hidden: Vec<_> = hidden.collect();
        let pages = Pages::of(&object, &hidden)?;
        pages.write(|| hidden.iter().for_each(|name| name.set(0)));
        Some(Self { pages, hidden })
    }

    /// Shows those of the hidden names that the object defines as well.
    pub(crate) fn show_names_of(&mut self, object: &Object) {
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
