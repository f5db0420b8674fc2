//! A component class, and making instances of it.

use std::path::{Path, PathBuf};
use std::slice;

use cca_abi::{ErrorBuffer, PortError, RawComponent, RawPort, call};

use crate::LoadError;

type Create = unsafe extern "C-unwind" fn(*mut RawComponent, *mut ErrorBuffer) -> i32;

/// A component class.
#[derive(Clone, Debug)]
pub struct Class {
    name: &'static str,
    version: &'static str,
    doc: &'static str,
    library: PathBuf,
    create: Create,
}

impl Class {
    pub(crate) fn new(
        name: &'static str,
        version: &'static str,
        doc: &'static str,
        create: Create,
        library: &Path,
    ) -> Self {
        Class {
            name,
            version,
            doc,
            library: library.into(),
            create,
        }
    }

    /// Name, such as `hydro.GodunovFlux`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Version.
    pub fn version(&self) -> &'static str {
        self.version
    }

    /// What it is, one paragraph; may be empty.
    pub fn doc(&self) -> &'static str {
        self.doc
    }

    /// Absolute path of its library.
    pub fn library(&self) -> &Path {
        &self.library
    }

    /// Makes an instance.
    ///
    /// # Errors
    /// [`LoadError::Create`] with the component's words, a panic's included.
    pub fn create(&self) -> Result<Instance, LoadError> {
        // SAFETY: a class's `create` writes a component and returns 0, or writes an error and returns another status.
        let raw = unsafe { call(|component, error| (self.create)(component, error)) };
        let raw: RawComponent = raw.map_err(|source| self.error(source))?;
        let size = size_of::<cca_abi::ComponentVtable>();
        // SAFETY: the table is the component's, or null; only its size is read before the size is known to be right.
        let table_size = unsafe { raw.vtable.as_ref() }.map(|table| table.size);
        if table_size != Some(size) {
            let found =
                table_size.map_or("no table".into(), |size| format!("a table of {size} bytes"));
            return Err(self.error(PortError::failed(format_args!(
                "{found}, expected {size} bytes"
            ))));
        }
        // SAFETY: the table is as large as it must be; words are read, not functions, of which C may have left one out.
        let words =
            unsafe { slice::from_raw_parts(raw.vtable.cast::<usize>(), size / size_of::<usize>()) };
        if words.contains(&0) {
            return Err(self.error(PortError::failed(
                "a table with a function missing, expected all",
            )));
        }
        Ok(Instance { raw })
    }

    fn error(&self, source: PortError) -> LoadError {
        LoadError::Create {
            class: self.name.into(),
            source,
        }
    }
}

/// An instance of a class; destroyed when dropped.
#[derive(Debug)]
pub struct Instance {
    raw: RawComponent,
}

impl Instance {
    /// Has the component register its ports.
    ///
    /// # Safety
    /// `services` is a `cca.Services` port that lives at least as long as the instance.
    ///
    /// # Errors
    /// The component's, a panic's included.
    pub unsafe fn set_services(&self, services: RawPort) -> Result<(), PortError> {
        // SAFETY: object and table are one component's; the services are the caller's promise.
        unsafe {
            call(|_: *mut (), error| {
                ((*self.raw.vtable).set_services)(self.raw.object, services, error)
            })
        }
    }

    /// Has the component say goodbye.
    ///
    /// # Errors
    /// The component's, a panic's included.
    pub fn release_services(&self) -> Result<(), PortError> {
        // SAFETY: object and table are one component's.
        unsafe {
            call(|_: *mut (), error| ((*self.raw.vtable).release_services)(self.raw.object, error))
        }
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // SAFETY: object and table are one component's, destroyed once.
        unsafe { ((*self.raw.vtable).destroy)(self.raw.object) }
    }
}
