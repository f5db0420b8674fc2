//! A component class, and making instances of it.

use std::path::{Path, PathBuf};
use std::slice;

use cca_abi::{ErrorBuffer, PortError, RawComponent, RawPort, call};

use crate::regions::NamedInstance;
use crate::{LoadError, activity};

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

    /// The same class by another name, as an index file may give it.
    pub fn renamed(&self, name: &str) -> Self {
        let class = self.clone();
        // As other names of classes it lives until the process ends: libraries are never closed.
        let name = String::leak(name.into());
        Class { name, ..class }
    }

    /// Version.
    pub fn version(&self) -> &'static str {
        self.version
    }

    /// Description, one paragraph; may be empty.
    pub fn doc(&self) -> &'static str {
        self.doc
    }

    /// Absolute path of its library.
    pub fn library(&self) -> &Path {
        &self.library
    }

    /// Makes an instance.
    ///
    /// # Arguments
    /// * `name` - name that the report uses if its code ends the process
    ///
    /// # Errors
    /// [`LoadError::Create`] with the component's words, a panic's included.
    pub fn create(&self, name: &str) -> Result<Instance, LoadError> {
        let named = NamedInstance::add(&self.library, name, self.name);
        let _creating =
            activity::begin(format!("create instance \"{name}\" of class {}", self.name));
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
        // SAFETY: the table is large enough; words are read, not functions, since C may have left out some.
        let words =
            unsafe { slice::from_raw_parts(raw.vtable.cast::<usize>(), size / size_of::<usize>()) };
        if words.contains(&0) {
            return Err(self.error(PortError::failed(
                "a table with a function missing, expected all",
            )));
        }
        Ok(Instance { raw, named })
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
    // Given up after the instance was destroyed.
    named: NamedInstance,
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
        let _setting = activity::begin(format!("set services of {}", self.named));
        // SAFETY: object and table are one component's; the services are the caller's promise.
        unsafe {
            call(|_: *mut (), error| {
                ((*self.raw.vtable).set_services)(self.raw.object, services, error)
            })
        }
    }

    /// Releases the component.
    ///
    /// # Errors
    /// The component's, a panic's included.
    pub fn release_services(&self) -> Result<(), PortError> {
        let _releasing = activity::begin(format!("release services of {}", self.named));
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
