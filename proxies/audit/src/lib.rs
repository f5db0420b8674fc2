//! Keeps proxies from giving names that the program's libraries lack.
//!
//! The proxy of MPI exports every function of MPI-4 and of Fortran's bindings. A program that asks first whether its MPI has a
//! function (a weak reference, `dlsym`) would find it there, call it, and end, since an older MPI has none to forward it to.
//! So this library, given to the dynamic linker by `LD_AUDIT`, sees each library once it is mapped and before anything is
//! bound to it:
//!
//! ```text
//! a proxy                    all its names are hidden: their values in its symbol table become 0
//! any other library          the names that it defines as well are shown again
//! ```
//!
//! The same holds for the generated proxies of C libraries, which are told as well how many definitions of a name there are.
//! So a name is seen where it would be seen without the proxy. No call is slowed: only `la_objopen` is here, and the
//! dynamic linker audits no calls where there is neither `la_pltenter` nor `la_pltexit`.
//!
//! It runs in a link-map namespace of its own, with its own C library, and touches the program only by
//! the tables of the proxies.

#![cfg(all(target_os = "linux", target_pointer_width = "64"))]

mod object;
mod proxy;

use std::ffi::{c_long, c_uint};
use std::sync::{Mutex, PoisonError};

use object::{LinkMap, Object};
use proxy::Proxy;

/// The newest version of the interface that is known here (`LAV_CURRENT` since glibc 2.35).
const AUDIT_VERSION: c_uint = 2;
/// The namespace of the program (`LM_ID_BASE`).
const PROGRAM: c_long = 0;

/// What is mapped, as far as it matters.
struct Seen {
    proxies: Vec<Proxy>,
    /// The program itself, which is mapped before the proxies.
    program: Option<Object>,
}

static SEEN: Mutex<Seen> = Mutex::new(Seen {
    proxies: Vec::new(),
    program: None,
});

impl Seen {
    fn add(&mut self, object: Object) {
        if let Some(mut proxy) = Proxy::hide(&object) {
            if let Some(program) = &self.program {
                proxy.show_names_of(program);
            }
            self.proxies.push(proxy);
            return;
        }
        self.program.get_or_insert(object);
        for proxy in &mut self.proxies {
            proxy.show_names_of(&object);
        }
    }
}

/// Called by the dynamic linker when it loads this library, with its version of the interface.
#[unsafe(no_mangle)]
pub extern "C" fn la_version(version: c_uint) -> c_uint {
    version.min(AUDIT_VERSION)
}

/// Called by the dynamic linker for each object that it has mapped; nothing is bound to it yet.
///
/// # Safety
/// `map` describes the object, as the dynamic linker has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn la_objopen(
    map: *const LinkMap,
    namespace: c_long,
    _cookie: *mut usize,
) -> c_uint {
    // SAFETY: null is no object; else required of the caller.
    let object = unsafe { map.as_ref().and_then(|map| Object::of(map)) };
    if let Some(object) = object.filter(|_| namespace == PROGRAM) {
        let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
        seen.add(object);
    }
    // No binding of this object is audited.
    0
}
