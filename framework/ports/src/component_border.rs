//! The C functions behind a component class; code that `#[component]` generates calls them.

use core::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};

use cca_abi::{ComponentVtable, ErrorBuffer, PortError, RawComponent, RawPort, guard, guard_value};

use crate::{Component, Services};

/// An instance at the border: the component exists from `set_services` on.
struct Border<T> {
    component: OnceLock<Arc<T>>,
}

impl<T: Component> Border<T> {
    const TABLE: &'static ComponentVtable = &ComponentVtable {
        size: size_of::<ComponentVtable>(),
        set_services: Self::set_services,
        release_services: Self::release_services,
        destroy: Self::destroy,
    };

    unsafe extern "C-unwind" fn set_services(
        object: *const c_void,
        services: RawPort,
        error: *mut ErrorBuffer,
    ) -> i32 {
        // SAFETY: the object is the `Border` that `create` made; the error buffer is the framework's.
        unsafe {
            guard(error, || {
                let border = &*object.cast::<Self>();
                let component = T::set_services(&Services::checked(services)?)?;
                let set = border.component.set(component);
                set.map_err(|_| PortError::failed("set_services was called twice"))
            })
        }
    }

    unsafe extern "C-unwind" fn release_services(
        object: *const c_void,
        error: *mut ErrorBuffer,
    ) -> i32 {
        // SAFETY: as in `set_services`.
        unsafe {
            guard(error, || match (*object.cast::<Self>()).component.get() {
                Some(component) => component.release_services(),
                None => Ok(()),
            })
        }
    }

    unsafe extern "C" fn destroy(object: *const c_void) {
        // SAFETY: the framework destroys an instance once. A destructor that panics must not unwind across the border.
        let border = unsafe { Box::from_raw(object.cast_mut().cast::<Self>()) };
        let _ = catch_unwind(AssertUnwindSafe(|| drop(border)));
    }
}

/// Makes an instance.
///
/// # Safety
/// `component` points to space for a `RawComponent`, `error` to space for an `ErrorBuffer`.
pub unsafe fn create<T: Component>(component: *mut RawComponent, error: *mut ErrorBuffer) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        guard_value(component, error, || {
            let border = Border::<T> {
                component: OnceLock::new(),
            };
            Ok(RawComponent {
                object: Box::into_raw(Box::new(border)).cast_const().cast(),
                vtable: Border::<T>::TABLE,
            })
        })
    }
}
