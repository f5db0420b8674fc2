//! Objects in the program's namespace, as far as they matter to the proxies.

use std::ffi::{CStr, c_uint};
use std::fs::read_link;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::bound;
use crate::object::{Name, Object};
use crate::proxy::Proxy;
use crate::{flags, slots, trace};

/// Role of an object for the proxies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The program itself, which is mapped before the proxies.
    Main,
    /// Anything that the program has loaded.
    Program,
    /// A proxy.
    Proxy,
    /// The library that records, or one that `wrap --use` redirects calls to, with all its dependencies: they are left
    /// unchanged.
    Own,
}

/// An object; leaked, since the dynamic linker gives its address back with each binding.
#[derive(Debug)]
pub(crate) struct Mapped {
    pub(crate) object: Object,
    pub(crate) path: String,
    pub(crate) role: Role,
}

/// Exported by the library that records, a word: not 0 while it opens libraries for `--use`.
const OPENS: &CStr = c"mastermind_preload_opens_v1";

/// All that is mapped.
pub(crate) struct MappedObjects {
    proxies: Vec<Proxy>,
    mapped: Vec<&'static Mapped>,
    closed: Vec<&'static Mapped>,
    /// Address of the word [`OPENS`].
    opens: Option<usize>,
}

impl MappedObjects {
    pub(crate) const fn new() -> Self {
        Self {
            proxies: Vec::new(),
            mapped: Vec::new(),
            closed: Vec::new(),
            opens: None,
        }
    }

    /// An object that was just mapped, with its role.
    pub(crate) fn classify(&mut self, object: Object, path: String) -> Mapped {
        let role = if self.mapped.is_empty() && path.is_empty() {
            Role::Main
        } else if Proxy::is_one(&object) {
            Role::Proxy
        } else if let Some(opens) = object.address_of(OPENS) {
            self.opens = Some(opens);
            Role::Own
        } else if self.is_opening() {
            Role::Own
        } else {
            Role::Program
        };
        let path = match role {
            // The dynamic linker has no name for it.
            Role::Main => read_link("/proc/self/exe")
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            _ => path,
        };
        Mapped { object, path, role }
    }

    fn is_opening(&self) -> bool {
        // SAFETY: a word of the library that records, which is never unmapped.
        self.opens
            .is_some_and(|at| unsafe { &*(at as *const AtomicU32) }.load(Ordering::Acquire) != 0)
    }

    /// Hides the names of a proxy; shows those that another object defines, and counts them.
    ///
    /// # Returns
    /// Which bindings of the object are audited.
    pub(crate) fn add(&mut self, mapped: &'static Mapped) -> c_uint {
        self.mapped.push(mapped);
        if mapped.role == Role::Proxy {
            if let Some(proxy) = Proxy::hide(&mapped.object) {
                self.proxies.push(proxy);
                // The program was mapped before it.
                let others = self.mapped.iter();
                let others =
                    others.filter(|other| matches!(other.role, Role::Main | Role::Program));
                let proxy = self.proxies.last_mut();
                if let Some(proxy) = proxy {
                    others.for_each(|other| {
                        proxy.show_names_of(&other.object, false);
                    });
                }
                bound::publish(&self.proxies);
            }
            return flags(mapped.role, false);
        }
        let mut defines_proxied = false;
        for proxy in &mut self.proxies {
            if mapped.role == Role::Own {
                continue;
            }
            defines_proxied |= proxy.show_names_of(&mapped.object, true);
        }
        flags(mapped.role, defines_proxied)
    }

    /// All objects that the program begins with are bound: leads calls of our own objects past the proxies.
    pub(crate) fn lead_own_past(&self) {
        let target = |name: &Name| {
            let others = self.mapped.iter();
            let mut others = others.filter(|other| other.role == Role::Program);
            others.find_map(|other| other.object.default_address(name))
        };
        for own in &self.mapped {
            if matches!(own.role, Role::Proxy | Role::Own) {
                slots::lead_past(&own.object, target);
            }
        }
    }

    /// Reports the object's references to proxied names that are bound to a definition other than the
    /// proxy.
    pub(crate) fn close(&mut self, mapped: &'static Mapped) {
        if matches!(mapped.role, Role::Main | Role::Program) {
            for slot in slots::round_about(&mapped.object) {
                let target = self.holder(slot.value);
                // Else it is not bound yet, was changed by the program, or leads to the entry that a program which is
                // not position independent has for each function whose address it takes, and from there to the proxy.
                let target =
                    target.filter(|target| target.object.defines_at(slot.name, slot.value));
                if let Some(target) = target.filter(|target| target.role != Role::Own) {
                    trace::slot(mapped, slot.name, target);
                }
            }
        }
        self.closed.push(mapped);
    }

    /// The object that contains an address: the last one that starts before it.
    fn holder(&self, address: usize) -> Option<&'static Mapped> {
        let before = self.mapped.iter().copied();
        before
            .filter(|mapped| mapped.object.address() <= address)
            .max_by_key(|mapped| mapped.object.address())
    }

    /// Forgets definitions that are about to be unmapped.
    pub(crate) fn forget_closed(&mut self) {
        for closed in std::mem::take(&mut self.closed) {
            self.mapped.retain(|mapped| !std::ptr::eq(*mapped, closed));
            if matches!(closed.role, Role::Main | Role::Program) {
                for proxy in &mut self.proxies {
                    let place = self
                        .mapped
                        .iter()
                        .position(|mapped| mapped.object.address() == proxy.address());
                    let others = self.mapped.iter().enumerate();
                    let others = others
                        .filter(|(_, other)| matches!(other.role, Role::Main | Role::Program));
                    let others = others.map(|(at, other)| (&other.object, Some(at) > place));
                    proxy.forget(&closed.object, others);
                }
            }
        }
    }
}
