//! The entry symbol of a Rust component library, and the registry that `#[component]` fills.

use std::sync::OnceLock;

use crate::{ABI_VERSION, ClassDescriptor, LAYOUT_ABI, LibraryDescriptor, RStr};

/// A class as `#[component]` submits it; `inventory` keeps one registry a library.
#[doc(hidden)]
pub struct RegisteredClass(pub ClassDescriptor);

inventory::collect!(RegisteredClass);

struct Exported(LibraryDescriptor);

// SAFETY: the descriptor and everything reachable from it are immutable.
unsafe impl Send for Exported {}
// SAFETY: as for `Send`.
unsafe impl Sync for Exported {}

/// The entry of every Rust component library: rustc exports it from each `cdylib` that this crate is linked into.
///
/// # Safety
/// Callable at any time, from any thread; `unsafe` only because it is reached by name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cca_component_v2() -> *const LibraryDescriptor {
    static LIBRARY: OnceLock<Exported> = OnceLock::new();
    &LIBRARY.get_or_init(library).0
}

fn library() -> Exported {
    let mut classes: Vec<_> = inventory::iter::<RegisteredClass>
        .into_iter()
        .map(|registered| registered.0)
        .collect();
    classes.sort_by_key(|class| class.class.as_str());
    let classes: &'static [ClassDescriptor] = classes.leak();
    Exported(LibraryDescriptor {
        abi_version: ABI_VERSION,
        n_classes: classes.len() as u32,
        classes: classes.as_ptr(),
        layout_abi: RStr::from_str(LAYOUT_ABI),
    })
}
