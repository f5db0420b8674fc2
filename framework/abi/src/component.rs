//! Exports of a component library: its entry symbol, its classes, and the component's own table.

use core::ffi::c_void;

use crate::{ErrorBuffer, RStr, RawPort};

/// Name of the function that every component library exports; the number is [`ABI_VERSION`].
pub const ENTRY_SYMBOL: &str = "cca_component_v2";

/// Version of the layouts in this crate.
pub const ABI_VERSION: u32 = 2;

/// Crate and version of the structural layouts of a Rust library; layouts of another version are
/// not comparable.
pub const LAYOUT_ABI: &str = "abi_stable 0.11.3";

/// Signature of the function behind [`ENTRY_SYMBOL`]. Its result lives as long as the library.
pub type LibraryEntry = unsafe extern "C" fn() -> *const LibraryDescriptor;

/// The list of a library's classes.
#[repr(C)]
#[derive(Debug)]
pub struct LibraryDescriptor {
    /// [`ABI_VERSION`] that the library was built against.
    pub abi_version: u32,
    /// Number of classes.
    pub n_classes: u32,
    /// The classes, `n_classes` of them.
    pub classes: *const ClassDescriptor,
    /// [`LAYOUT_ABI`] of a Rust library, empty from C.
    pub layout_abi: RStr<'static>,
}

/// One component class.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ClassDescriptor {
    /// Name of the class, such as `hydro.GodunovFlux`.
    pub class: RStr<'static>,
    /// Version of the class.
    pub version: RStr<'static>,
    /// First paragraph of its documentation.
    pub doc: RStr<'static>,
    /// Makes an instance.
    pub create:
        unsafe extern "C-unwind" fn(component: *mut RawComponent, error: *mut ErrorBuffer) -> i32,
}

/// An instance of a component class; the framework destroys it.
#[repr(C)]
#[derive(Debug)]
pub struct RawComponent {
    /// First argument of the functions.
    pub object: *const c_void,
    /// The component's functions.
    pub vtable: *const ComponentVtable,
}

/// The functions of a component (`gov.cca.Component`, `gov.cca.ComponentRelease`).
#[repr(C)]
#[derive(Debug)]
pub struct ComponentVtable {
    /// Bytes of this table.
    pub size: usize,
    /// Registers the component's ports. `services` is a port of interface `cca.Services` and lives as long as the component.
    pub set_services: unsafe extern "C-unwind" fn(
        object: *const c_void,
        services: RawPort,
        error: *mut ErrorBuffer,
    ) -> i32,
    /// Releases the component: no port may be used afterwards.
    pub release_services:
        unsafe extern "C-unwind" fn(object: *const c_void, error: *mut ErrorBuffer) -> i32,
    /// Destroys the instance.
    pub destroy: unsafe extern "C" fn(object: *const c_void),
}

// SAFETY: components are `Send + Sync` (`Component` demands it of Rust, `cca.h` of C).
unsafe impl Send for RawComponent {}
// SAFETY: as for `Send`.
unsafe impl Sync for RawComponent {}
