//! The function behind a wrapper, looked up at its first call: the next definition of its name in the order of search.

use std::ffi::{CStr, c_int, c_void};
use std::io::Write;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::wrappers::N_FUNCTIONS;

/// Callback before the first call of MPI; null if there is none, or after the call.
static CALLBACK: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// Registers `callback`, which is called once, before the first call of MPI begins.
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

/// Where a wrapper leads: the definition of its name that the program would find without this library.
///
/// That is the next one in the order of search. It need not be MPI's own: task-aware MPIs, load balancers and checkers give MPI's
/// names as well, and a program that runs through one of them must not be led past it to `PMPI_x`.
pub(crate) struct Target {
    address: AtomicPtr<c_void>,
    /// The name of the wrapper; `None` for a function that only MPI itself has.
    plain: Option<&'static CStr>,
    profiling: &'static CStr,
}

impl Target {
    /// # Arguments
    /// * `plain` - the name of the wrapper
    /// * `profiling` - the profiling name, `PMPI_x`, which is used if no other library has the plain one
    pub(crate) const fn new(plain: &'static CStr, profiling: &'static CStr) -> Self {
        Self {
            address: AtomicPtr::new(ptr::null_mut()),
            plain: Some(plain),
            profiling,
        }
    }

    /// A symbol of MPI itself, whatever library is in front of it.
    ///
    /// # Arguments
    /// * `name` - a profiling name, or that of a variable
    pub(crate) const fn of_mpi(name: &'static CStr) -> Self {
        Self {
            address: AtomicPtr::new(ptr::null_mut()),
            plain: None,
            profiling: name,
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

    /// The function's address, null if there is no such function.
    pub(crate) fn address_if_any(&self) -> *mut c_void {
        let address = self.address.load(Ordering::Relaxed);
        if address.is_null() {
            return self.look_up();
        }
        address
    }

    /// The function's address; `None` if there is no such function.
    pub(crate) fn known(&self) -> Option<*mut c_void> {
        Some(self.address_if_any()).filter(|address| !address.is_null())
    }

    fn look_up(&self) -> *mut c_void {
        let in_any_library = |name, is_plain| find_in_any_library(name, is_plain);
        let next = |name: &'static CStr| {
            // SAFETY: the name ends with a zero; this library is in the global scope, behind whose place it is searched.
            let next = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
            // The MPI library may have been loaded for one library alone (`RTLD_LOCAL`).
            some(next).or_else(|| in_any_library(name, true))
        };
        // SAFETY: as above.
        let global = || some(unsafe { libc::dlsym(libc::RTLD_DEFAULT, self.profiling.as_ptr()) });
        let found = self.plain.and_then(next);
        let found = found
            .or_else(global)
            .or_else(|| in_any_library(self.profiling, false))
            .unwrap_or(ptr::null_mut());
        self.address.store(found, Ordering::Relaxed);
        found
    }

    #[cold]
    #[inline(never)]
    fn find(&self) -> *mut c_void {
        call_back();
        let found = self.look_up();
        if found.is_null() {
            // The dynamic linker would have done the same if this library did not define the name.
            let text = format!(
                "cannot call {:?}: no MPI library with it is loaded, expected one ({N_FUNCTIONS} functions are wrapped)\n",
                self.plain.unwrap_or(self.profiling)
            );
            let _ = std::io::stderr().write_all(text.as_bytes());
            std::process::abort();
        }
        found
    }
}

fn some(address: *mut c_void) -> Option<*mut c_void> {
    (!address.is_null()).then_some(address)
}

/// The first definition of a name among all libraries, in the order in which they were loaded.
///
/// # Arguments
/// * `is_plain` - whether this library has the name too: libraries that were loaded before it may take MPI's place as well, and lead
///   back to it
fn find_in_any_library(name: &'static CStr, is_plain: bool) -> Option<*mut c_void> {
    let mut search = Search {
        name,
        own: own_base(),
        is_searched: !is_plain,
        found: ptr::null_mut(),
    };
    // SAFETY: `visit` gets `search`, which lives until the call returns.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut search).cast()) };
    some(search.found)
}

struct Search {
    name: &'static CStr,
    /// Where this library is loaded.
    own: *mut c_void,
    /// Whether the libraries now visited count.
    is_searched: bool,
    found: *mut c_void,
}

unsafe extern "C" fn visit(
    info: *mut libc::dl_phdr_info,
    _: libc::size_t,
    search: *mut c_void,
) -> c_int {
    // SAFETY: `dl_iterate_phdr` passes a valid description, and the pointer of
    // `find_in_any_library`.
    let (info, search) = unsafe { (&*info, &mut *search.cast::<Search>()) };
    if info.dlpi_addr as usize == search.own.addr() {
        search.is_searched = true;
        return 0;
    }
    if !search.is_searched {
        return 0;
    }
    // SAFETY: the name is valid; the library is loaded already, and the handle is not needed after the look-up.
    unsafe {
        let handle = libc::dlopen(info.dlpi_name, libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        if handle.is_null() {
            return 0;
        }
        let address = libc::dlsym(handle, search.name.as_ptr());
        libc::dlclose(handle);
        // A library's own dependencies are searched too, the wrapper among them.
        if !address.is_null() && base_of(address) != search.own {
            search.found = address;
            return 1;
        }
    }
    0
}

fn own_base() -> *mut c_void {
    base_of(own_base as *mut c_void)
}

/// Address at which the library that contains an address is loaded.
pub(crate) fn base_of(address: *mut c_void) -> *mut c_void {
    holder(address).dli_fbase
}

/// The library that contains an address.
pub(crate) fn holder(address: *mut c_void) -> libc::Dl_info {
    // SAFETY: zeros are a valid description; `dladdr` takes any address.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        libc::dladdr(address, &mut info);
        info
    }
}
