//! A port at run time, and the description of its interface.
//!
//! # Decisions
//!
//! A port is `{object, vtable}` behind a C table with a header (size, name, version, hash of the
//! signature text). Connecting compares all of it, and, between two Rust libraries, the structural
//! layout of every type that the methods pass (`abi_stable`), condensed to the field that differs.
//! A panic is caught on the provider's side.

use core::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use abi_stable::StableAbi;
use abi_stable::type_layout::TypeLayout;

use crate::recording::{MethodPointer, ParameterKind, Recorder};
use crate::{Decision, ErrorBuffer, PortError, RSlice, RStr, Slot, SlotPointer};

/// A port: an object and the table of functions that work on it. The table begins with a [`VtableHeader`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RawPort {
    /// First argument of the functions.
    pub object: *const c_void,
    /// The interface's table.
    pub vtable: *const VtableHeader,
}

// SAFETY: the object behind a port is `Send + Sync` (`add_provides_port` demands it of Rust, `cca.h` of C).
unsafe impl Send for RawPort {}
// SAFETY: as for `Send`.
unsafe impl Sync for RawPort {}

/// A port with the share of its object that it owns.
#[repr(C)]
#[derive(Debug, StableAbi)]
#[sabi(unsafe_opaque_fields)]
pub struct OwnedPort {
    /// The port itself.
    pub port: RawPort,
    /// Releases the reference; null if there is nothing to release.
    pub release: Option<unsafe extern "C" fn(object: *const c_void)>,
    /// The interface as the provider was compiled against it.
    pub interface: InterfacePointer,
}

// SAFETY: as for `RawPort`.
unsafe impl Send for OwnedPort {}
// SAFETY: as for `RawPort`.
unsafe impl Sync for OwnedPort {}

impl OwnedPort {
    /// A port on a share of `object`.
    ///
    /// `table` is a table of functions that take a pointer to a `T`, and `interface` describes it.
    pub fn shared<T: Send + Sync + 'static>(
        object: Arc<T>,
        table: *const VtableHeader,
        interface: &'static InterfaceDescriptor,
    ) -> Self {
        unsafe extern "C" fn release<T>(object: *const c_void) {
            // SAFETY: the pointer came from `Arc::into_raw` and is given back once (`Drop`).
            // A destructor that panics must not unwind across the border.
            let object = unsafe { Arc::from_raw(object.cast::<T>()) };
            let _ = catch_unwind(AssertUnwindSafe(|| drop(object)));
        }
        OwnedPort {
            port: RawPort {
                object: Arc::into_raw(object).cast(),
                vtable: table,
            },
            release: Some(release::<T>),
            interface: InterfacePointer::new(interface),
        }
    }
}

impl Drop for OwnedPort {
    fn drop(&mut self) {
        if let Some(release) = self.release.take() {
            // SAFETY: the share is owned and given back once.
            unsafe { release(self.port.object) }
        }
    }
}

/// The first words of every table: which interface it is a table of.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct VtableHeader {
    /// Bytes of the whole table, this header included.
    pub size: usize,
    /// Name of the interface, such as `hydro.Flux`.
    pub interface: RStr<'static>,
    /// Version of the interface, such as `1.0`.
    pub version: RStr<'static>,
    /// [`hash_signature`] of the interface's signature text.
    pub hash: u64,
}

/// An interface as one library knows it. Static, never changed.
#[repr(C)]
pub struct InterfaceDescriptor {
    /// Name of the interface, such as `hydro.Flux`.
    pub name: RStr<'static>,
    /// Version of the interface, such as `1.0`.
    pub version: RStr<'static>,
    /// [`hash_signature`] of the interface's signature text.
    pub hash: u64,
    /// Bytes of the interface's table.
    pub vtable_size: usize,
    /// The methods, in the order of the table. Empty from C.
    pub methods: RSlice<'static, MethodDescriptor>,
    /// Layouts of the types that the methods pass, for the structural check. Empty from C.
    pub layouts: RSlice<'static, &'static TypeLayout>,
    /// Makes a proxy of this interface. `None` from C that is written by hand.
    pub new_proxy: Option<NewProxy>,
    /// Makes a dispatcher of this interface. `None` from C that is written by hand.
    pub new_dispatcher: Option<NewDispatcher>,
}

/// Makes a proxy: forwards every call to `target`'s provider and records it through `recorder`.
///
/// # Arguments
/// * `target` - the slot that leads to the provider; outlives the proxy
/// * `recorder` - outlives the proxy
/// * `methods` - the methods as the recorder knows them, one each, in the table's order; they outlive the proxy
/// * `proxy` - space for the proxy
pub type NewProxy = unsafe extern "C" fn(
    target: *const Slot,
    recorder: *const Recorder,
    methods: RSlice<'_, MethodPointer>,
    proxy: *mut OwnedPort,
    error: *mut ErrorBuffer,
) -> i32;

/// Makes a dispatcher: sends every call to the provider that the method's decision has for it.
///
/// # Arguments
/// * `providers` - the slots of the providers, connected; they and the array outlive the dispatcher
/// * `decisions` - one for each method, in the table's order; each is a whole tree whose leaves are indices in
///   `providers` and whose parameters are the method's, and outlives the dispatcher; one more, which is never read,
///   where providers are stand-ins
/// * `dispatcher` - space for the dispatcher
pub type NewDispatcher = unsafe extern "C" fn(
    providers: *const SlotPointer,
    decisions: RSlice<'_, Decision>,
    dispatcher: *mut OwnedPort,
    error: *mut ErrorBuffer,
) -> i32;

/// An interface's description as it crosses the border: by address.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, StableAbi)]
#[sabi(unsafe_opaque_fields)]
pub struct InterfacePointer(*const InterfaceDescriptor);

impl InterfacePointer {
    /// A pointer to a description.
    pub fn new(descriptor: &'static InterfaceDescriptor) -> Self {
        InterfacePointer(descriptor)
    }

    /// The description; `None` for a null pointer.
    pub fn get(self) -> Option<&'static InterfaceDescriptor> {
        // SAFETY: null, or the address of a static of a library that is never closed (`new`; `cca.h` requires it of
        // C).
        unsafe { self.0.as_ref() }
    }
}

// SAFETY: descriptions are immutable and static.
unsafe impl Send for InterfacePointer {}
// SAFETY: as for `Send`.
unsafe impl Sync for InterfacePointer {}

/// One method of an interface.
#[repr(C)]
pub struct MethodDescriptor {
    /// Name of the method.
    pub name: RStr<'static>,
    /// Its signature as written, without attributes.
    pub signature: RStr<'static>,
    /// First paragraph of its documentation.
    pub doc: RStr<'static>,
    /// Its performance parameters, in the order of `#[perf(…)]`.
    pub parameters: RSlice<'static, PerfDescriptor>,
}

/// One performance parameter of a method.
#[repr(C)]
pub struct PerfDescriptor {
    /// Name of the parameter.
    pub name: RStr<'static>,
    /// Type of its 8-byte word.
    pub kind: ParameterKind,
    /// Unit, empty by default.
    pub unit: RStr<'static>,
    /// Names of an enumeration's values, by value; empty otherwise.
    pub labels: RSlice<'static, RStr<'static>>,
}

impl InterfaceDescriptor {
    /// The methods; none from C.
    pub fn methods(&'static self) -> &'static [MethodDescriptor] {
        // C leaves a null pointer with length 0, which must not become a slice.
        if self.methods.is_empty() {
            &[]
        } else {
            self.methods.as_slice()
        }
    }
}

/// The first place, from 0, of a table that holds no function: C may have left one out.
///
/// # Safety
/// `table` points to a table of as many bytes as its header declares.
pub unsafe fn missing_function(table: *const VtableHeader) -> Option<usize> {
    // SAFETY: the table has a header and, after it, one word a function (the caller's promise).
    let functions = unsafe {
        let n_functions =
            (*table).size.saturating_sub(size_of::<VtableHeader>()) / size_of::<*const c_void>();
        core::slice::from_raw_parts(table.add(1).cast::<*const c_void>(), n_functions)
    };
    functions.iter().position(|function| function.is_null())
}

/// Bytes of the longest name or description; a text that claims to be longer is not a text.
pub const MAX_TEXT_BYTES: usize = 65_536;

/// A text that came across the border, if it is valid: C may have left a null pointer, or bytes that are not UTF-8,
/// where Rust expects a text.
pub fn checked_text<'a>(text: &RStr<'a>) -> Option<&'a str> {
    let length = text.len();
    if length == 0 {
        return Some("");
    }
    if text.as_ptr().is_null() || length > MAX_TEXT_BYTES {
        return None;
    }
    // SAFETY: the library promises `length` bytes, for as long as the text lives; pointer and length have been checked.
    let bytes = unsafe { core::slice::from_raw_parts(text.as_ptr(), length) };
    core::str::from_utf8(bytes).ok()
}

/// The interface hash: 64-bit FNV-1a of the signature text.
///
/// It covers names and order of methods and arguments, not the layout of argument structs; for those there is the
/// structural check of [`InterfaceDescriptor::layouts`].
pub const fn hash_signature(text: &str) -> u64 {
    let bytes = text.as_bytes();
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut i = 0;
    while i < bytes.len() {
        hash = (hash ^ bytes[i] as u64).wrapping_mul(0x0000_0100_0000_01b3);
        i += 1;
    }
    hash
}

/// Whether an argument may be passed twice: it is a number or a borrow.
#[doc(hidden)]
pub const fn owns_nothing<T>(_: &T) -> bool {
    !std::mem::needs_drop::<T>()
}

/// The recorder's methods of a proxy, as many as the interface has.
///
/// # Errors
/// [`ErrorCode::Failed`](crate::ErrorCode::Failed) for another number of them.
pub fn proxy_methods<const N: usize>(
    methods: RSlice<'_, MethodPointer>,
) -> Result<[MethodPointer; N], PortError> {
    methods.as_slice().try_into().map_err(|_| {
        let found = methods.len();
        PortError::failed(format_args!(
            "cannot make a proxy: {found} methods, expected {N}"
        ))
    })
}
