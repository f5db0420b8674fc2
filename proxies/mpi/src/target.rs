//! The function behind a wrapper, looked up at its first call.

use std::ffi::{CStr, c_int, c_void};
use std::io::Write;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::wrappers::N_FUNCTIONS;

/// What is called before the first call of MPI; null if nothing is, or was already.
static CALLBACK: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// Has `callback` called once, before the first call of MPI begins.
pub(crate) fn before_first_call(callback: Option<extern "C" fn()>) {
    let address = callback.map_or(ptr::null_mut(), |callback| callback as *mut c_void);
    CALLBACK.store(address, Ordering::Release);
}

fn call_back() {
    let callback = CALLBACK.swap(ptr::null_mut(), Ordering::AcqRel);
    if !callback.is_null() {
        // SAFETY: `before_first_call` stored such a function there.
        let callback: extern "C" fn() = unsafe { std::mem::transmute(callback) };
        callback();
    }
}

/// Where a wrapper leads.
pub(crate) struct Target {
    address: AtomicPtr<c_void>,
    profiling: &'static CStr,
    plain: &'static CStr,
}

impl Target {
    /// # Arguments
    /// * `profiling` - the profiling name, `PMPI_x`
    /// * `plain` - the name of the wrapper, for an MPI that has no profiling name of it (MPICH: `mpi_x_f08_`)
    pub(crate) const fn new(profiling: &'static CStr, plain: &'static CStr) -> Self {
        Self {
            address: AtomicPtr::new(ptr::null_mut()),
            profiling,
            plain,
        }
    }

    /// The function's address, never null.
    #[inline(always)]
    pub(crate) fn address(&self) -> *mut c_void {
        let address = self.address.load(Ordering::Relaxed);
        if address.is_null() {
            return self.find();
        }
        address
    }

    /// The function's address, null if there is none.
    pub(crate) fn address_if_any(&self) -> *mut c_void {
        let address = self.address.load(Ordering::Relaxed);
        if address.is_null() {
            return self.look_up();
        }
        address
    }

    /// The function's address; `None` if there is none.
    pub(crate) fn known(&self) -> Option<*mut c_void> {
        Some(self.address_if_any()).filter(|address| !address.is_null())
    }

    fn look_up(&self) -> *mut c_void {
        // SAFETY: the names end with a zero.
        let global = unsafe { libc::dlsym(libc::RTLD_DEFAULT, self.profiling.as_ptr()) };
        let found = if global.is_null() {
            self.find_in_any_library()
        } else {
            global
        };
        self.address.store(found, Ordering::Relaxed);
        found
    }

    #[cold]
    #[inline(never)]
    fn find(&self) -> *mut c_void {
        call_back();
        let found = self.look_up();
        if found.is_null() {
            // What the dynamic linker would have done, had this library not given the name.
            let text = format!(
                "cannot call {:?}: no MPI library with it is loaded, expected one ({N_FUNCTIONS} functions are wrapped)\n",
                self.plain
            );
            let _ = std::io::stderr().write_all(text.as_bytes());
            std::process::abort();
        }
        found
    }

    /// The MPI library may have been loaded for one library alone (`RTLD_LOCAL`), or have no profiling name.
    fn find_in_any_library(&self) -> *mut c_void {
        let mut search = Search {
            names: [self.profiling, self.plain],
            own: own_base(),
            is_after_own: false,
            found: [ptr::null_mut(); 2],
        };
        // SAFETY: `visit` gets `search`, which lives until the call returns.
        unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut search).cast()) };
        let [profiling, plain] = search.found;
        if profiling.is_null() {
            plain
        } else {
            profiling
        }
    }
}

struct Search {
    names: [&'static CStr; 2],
    /// Where this library is loaded.
    own: *mut c_void,
    /// Whether the libraries now visited were loaded after this one. Those before it may take MPI's place as well, and lead
    /// back to this one.
    is_after_own: bool,
    found: [*mut c_void; 2],
}

unsafe extern "C" fn visit(
    info: *mut libc::dl_phdr_info,
    _: libc::size_t,
    search: *mut c_void,
) -> c_int {
    // SAFETY: `dl_iterate_phdr` passes a valid description, and what `find_in_any_library` gave it.
    let (info, search) = unsafe { (&*info, &mut *search.cast::<Search>()) };
    if info.dlpi_addr as usize == search.own.addr() {
        search.is_after_own = true;
        return 0;
    }
    // SAFETY: the name is valid; the library is loaded already, and the handle is not needed after the look-up.
    unsafe {
        let handle = libc::dlopen(info.dlpi_name, libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        if handle.is_null() {
            return 0;
        }
        let [profiling, _] = search.names;
        for (name, found) in search.names.iter().zip(&mut search.found) {
            let address = libc::dlsym(handle, name.as_ptr());
            // A library's own dependencies are searched too, the wrapper among them.
            let is_another = !address.is_null() && base_of(address) != search.own;
            if found.is_null() && is_another && (search.is_after_own || *name == profiling) {
                *found = address;
            }
        }
        libc::dlclose(handle);
    }
    0
}

fn own_base() -> *mut c_void {
    base_of(own_base as *mut c_void)
}

/// Where the library that an address lies in is loaded.
fn base_of(address: *mut c_void) -> *mut c_void {
    // SAFETY: zeros are a valid description; `dladdr` takes any address.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        libc::dladdr(address, &mut info);
        info.dli_fbase
    }
}
