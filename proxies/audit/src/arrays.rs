//! The arrays that the proxy of a C library has for this library, as `cca_proxy.h` declares them.

use std::ffi::{CStr, c_char};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use crate::object::{Definition, Name, Object};
use crate::proxy::{LIBRARY_PROXY, name_of_other};

/// The arrays, one word a function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrays {
    counts: *mut u32,
    targets: *mut usize,
    entries: *mut usize,
    resolvers: *const usize,
    homes: *mut usize,
    home_is_ifunc: *mut u32,
}

// SAFETY: addresses in a proxy, which stays mapped; its threads read and write whole words at a time, as it is done here.
unsafe impl Send for Arrays {}
// SAFETY: as above.
unsafe impl Sync for Arrays {}

impl Arrays {
    fn of(object: &Object) -> Option<Self> {
        Some(Self {
            counts: object.address_of(c"cca_proxy_counts_v1")? as *mut u32,
            targets: object.address_of(c"cca_proxy_targets_v1")? as *mut usize,
            entries: object.address_of(c"cca_proxy_entries_v1")? as *mut usize,
            resolvers: object.address_of(c"cca_proxy_resolvers_v1")? as *const usize,
            homes: object.address_of(c"cca_proxy_homes_v1")? as *mut usize,
            home_is_ifunc: object.address_of(c"cca_proxy_home_is_ifunc_v1")? as *mut u32,
        })
    }

    pub(crate) fn n_definitions(&self, place: usize) -> &'static AtomicU32 {
        // SAFETY: as many as there are names, in memory of the proxy that can be written.
        unsafe { &*self.counts.add(place).cast::<AtomicU32>() }
    }

    /// The definition that the proxy replaces; 0 for none yet.
    pub(crate) fn home(&self, place: usize) -> &'static AtomicUsize {
        self.word(self.homes, place)
    }

    pub(crate) fn home_is_ifunc(&self, place: usize) -> &'static AtomicU32 {
        // SAFETY: as above.
        unsafe { &*self.home_is_ifunc.add(place).cast::<AtomicU32>() }
    }

    fn word(&self, array: *mut usize, place: usize) -> &'static AtomicUsize {
        // SAFETY: as above.
        unsafe { &*array.add(place).cast::<AtomicUsize>() }
    }

    /// The function is looked up again at its next call.
    fn reset(&self, place: usize) {
        // SAFETY: as above. Before the proxy is relocated its entries are not in use, and will be the resolvers.
        let resolver = unsafe { *self.resolvers.add(place) };
        if resolver != 0 {
            self.word(self.targets, place).store(0, Ordering::Release);
            self.word(self.entries, place)
                .store(resolver, Ordering::Release);
        }
    }

    /// Replaces a definition from now on; 0 for none.
    fn settle(&self, place: usize, definition: Option<Definition>) {
        let is_ifunc = definition.is_some_and(|definition| definition.is_ifunc);
        self.home_is_ifunc(place)
            .store(u32::from(is_ifunc), Ordering::Release);
        let address = definition.map_or(0, |definition| definition.address);
        self.home(place).store(address, Ordering::Release);
        self.reset(place);
    }
}

/// The names of the proxy of a C library, in the order of its arrays.
pub(crate) struct Definitions {
    names: Vec<Name>,
    pub(crate) arrays: Arrays,
    /// Whether the proxy is that of OpenMP: it replaces GCC's runtime. LLVM's has the same entry points for programs of
    /// GCC, but is measured through its tools interface.
    is_of_openmp: bool,
}

/// The symbol by which the proxy of OpenMP is known; the same as `cca_abi::recording::OPENMP_PROXY_SYMBOL`.
const OPENMP_PROXY: &CStr = c"proxy_openmp_v1";
/// A symbol that LLVM's runtime of OpenMP defines, and GCC's does not; and the symbol by which it looks up a tool.
const OF_LLVM: &CStr = c"__kmpc_fork_call";
const START_TOOL: &CStr = c"ompt_start_tool";

impl Definitions {
    pub(crate) fn of(object: &Object) -> Option<Self> {
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
        let arrays = Arrays::of(object)?;
        Some(Self {
            names,
            arrays,
            is_of_openmp: object.defines(&Name::new(OPENMP_PROXY)),
        })
    }

    pub(crate) fn names(&self) -> &[Name] {
        &self.names
    }

    pub(crate) fn place(&self, name: &Name) -> Option<usize> {
        self.names.iter().position(|other| other.text == name.text)
    }

    /// Definitions of a name that are mapped.
    pub(crate) fn n_definitions(&self, name: &Name) -> u32 {
        let place = self.place(name);
        place.map_or(0, |place| {
            self.arrays.n_definitions(place).load(Ordering::Acquire)
        })
    }

    /// The definitions of a name in an object that the proxy may replace.
    fn in_object(&self, object: &Object, name: &Name) -> Vec<Definition> {
        let is_other =
            self.is_of_openmp && name.text != START_TOOL && object.defines(&Name::new(OF_LLVM));
        match is_other {
            true => Vec::new(),
            false => object.definitions_of(name),
        }
    }

    /// Counts the definitions of an object. The proxy replaces the only definition of a name.
    pub(crate) fn count(&self, object: &Object) {
        for (place, name) in self.names.iter().enumerate() {
            let definitions = self.in_object(object, name);
            let n = definitions.len() as u32;
            if n == 0 {
                continue;
            }
            let before = self
                .arrays
                .n_definitions(place)
                .fetch_add(n, Ordering::AcqRel);
            if before == 0 && n == 1 {
                self.arrays.settle(place, definitions.first().copied());
            }
        }
    }

    /// Frees the functions that replaced one of these definitions.
    fn forget_other(&self, place: usize, gone: &[Definition]) {
        let home = self.arrays.home(place).load(Ordering::Acquire);
        if gone.iter().any(|definition| definition.address == home) {
            self.arrays.settle(place, None);
        }
    }

    /// An object is about to be unmapped, others stay.
    pub(crate) fn forget<'a>(
        &self,
        object: &Object,
        others: impl Iterator<Item = &'a Object> + Clone,
    ) {
        for (place, name) in self.names.iter().enumerate() {
            if let Some((base, _)) = name_of_other(name.text) {
                self.forget_other(place, &object.definitions_of(&base));
                continue;
            }
            let gone = self.in_object(object, name);
            if gone.is_empty() {
                continue;
            }
            let n = gone.len() as u32;
            self.arrays
                .n_definitions(place)
                .fetch_sub(n, Ordering::AcqRel);
            let home = self.arrays.home(place).load(Ordering::Acquire);
            if home == 0 || gone.iter().any(|definition| definition.address == home) {
                let left: Vec<_> = others
                    .clone()
                    .flat_map(|other| self.in_object(other, name))
                    .collect();
                let only = if left.len() == 1 {
                    left.first().copied()
                } else {
                    None
                };
                self.arrays.settle(place, only);
            }
        }
    }
}
