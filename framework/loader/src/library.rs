//! One component library: opened, checked, and kept open for ever.

use std::fs::File;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use cca_abi::{
    ABI_VERSION, ClassDescriptor, ENTRY_SYMBOL, LAYOUT_ABI, LibraryDescriptor, LibraryEntry,
    checked_text,
};
use libloading::os::unix::{Library as Handle, RTLD_GLOBAL, RTLD_LOCAL, RTLD_NOW};

use crate::error::LinkerError;
use crate::image::Image;
use crate::regions::add_library;
use crate::{Class, LoadError, activity};

/// More classes than any library has: a count beyond it is not a count.
const MAX_CLASSES: u32 = 65_536;

/// Called before a library is opened, with its absolute path.
pub type Trial = fn(&Path) -> Result<(), LoadError>;

static TRIAL: OnceLock<Trial> = OnceLock::new();

/// Calls `trial` before a library is opened: the dynamic linker trusts the contents of a file and runs its code, so a
/// damaged one ends the process or never returns. Only another process can find that out. The first trial stays.
pub fn try_libraries_with(trial: Trial) {
    let _ = TRIAL.set(trial);
}

/// An opened component library.
#[derive(Debug)]
pub struct Library {
    path: PathBuf,
    classes: Vec<Class>,
    // Never closed: ports and code of it may be in use until the process ends. `None` for the program itself.
    _handle: Option<ManuallyDrop<Handle>>,
}

impl Library {
    /// Opens a library by path (`RTLD_NOW | RTLD_LOCAL`) and reads its classes, if the [trial](try_libraries_with) has no
    /// objection.
    ///
    /// # Errors
    /// [`LoadError`]: no file, no shared library, no component library, or one built against other layouts.
    pub fn open(path: &Path) -> Result<Self, LoadError> {
        if let (Some(trial), Ok(path)) = (TRIAL.get(), path.canonicalize()) {
            trial(&path)?;
        }
        Self::open_untried(path)
    }

    /// As [`Library::open`], without the trial.
    ///
    /// # Errors
    /// As [`Library::open`].
    pub fn open_untried(path: &Path) -> Result<Self, LoadError> {
        Self::open_with(path, RTLD_LOCAL)
    }

    /// Opens a library whose symbols the libraries opened after it must see (`RTLD_GLOBAL`), such as an MPI back end.
    ///
    /// # Errors
    /// As [`Library::open`].
    pub fn open_global(path: &Path) -> Result<Self, LoadError> {
        Self::open_with(path, RTLD_GLOBAL)
    }

    /// The classes that are linked into this program itself.
    ///
    /// # Errors
    /// The program describes no classes, or the system does not report its file.
    pub fn of_program() -> Result<Self, LoadError> {
        let no_file = |source| LoadError::NoFile {
            path: "this program".into(),
            source,
        };
        let path = std::env::current_exe().map_err(no_file)?;
        // SAFETY: the entry of the crate that this one is linked with; its result is static.
        let descriptor = unsafe { cca_abi::cca_component_v2().as_ref() };
        let descriptor = descriptor.ok_or_else(|| malformed(&path, "no description"))?;
        let classes = classes(descriptor, &path)?;
        Ok(Library {
            path,
            classes,
            _handle: None,
        })
    }

    fn open_with(path: &Path, scope: i32) -> Result<Self, LoadError> {
        let no_file = |source| LoadError::NoFile {
            path: path.into(),
            source,
        };
        // Opened first: the linker's own words for a missing file are of no use, and a bare name would be searched for.
        File::open(path).map_err(no_file)?;
        let path = path.canonicalize().map_err(no_file)?;
        if let Some(image) = Image::read(&path).map_err(no_file)? {
            image.check(&path)?;
        }
        let _opening = activity::begin(format!("open library \"{}\"", path.display()));
        // SAFETY: the initialisers of a component library may run; the user requests that by naming it.
        let handle = unsafe { Handle::open(Some(&path), RTLD_NOW | scope) };
        let handle = handle.map_err(|error| LoadError::NotLoadable {
            path: path.clone(),
            source: linker_error(&error),
        })?;
        let handle = ManuallyDrop::new(handle);
        add_library(&path);
        let descriptor = descriptor(&handle, &path)?;
        let classes = classes(descriptor, &path)?;
        Ok(Library {
            path,
            classes,
            _handle: Some(handle),
        })
    }

    /// Absolute path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The classes, in the library's order.
    pub fn classes(&self) -> &[Class] {
        &self.classes
    }
}

pub(crate) fn linker_error(error: &libloading::Error) -> LinkerError {
    let words =
        std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string);
    LinkerError(words)
}

fn descriptor(handle: &Handle, path: &Path) -> Result<&'static LibraryDescriptor, LoadError> {
    // SAFETY: the symbol has the type that its name promises.
    let entry = unsafe { handle.get::<LibraryEntry>(ENTRY_SYMBOL.as_bytes()) };
    let Ok(entry) = entry else {
        return Err(match other_version(handle) {
            Some(found) => version_error(path, found),
            None => LoadError::NoComponent {
                path: path.into(),
                symbol: ENTRY_SYMBOL,
            },
        });
    };
    // SAFETY: as the entry's name promises; its result lives as long as the library, which is never closed.
    let descriptor = unsafe { entry().as_ref() };
    let descriptor = descriptor.ok_or_else(|| malformed(path, "no description, expected one"))?;
    if descriptor.abi_version != ABI_VERSION {
        return Err(version_error(path, descriptor.abi_version));
    }
    let layout_abi = checked_text(&descriptor.layout_abi)
        .ok_or_else(|| malformed(path, "layout version that is no text, expected UTF-8"))?;
    if !layout_abi.is_empty() && layout_abi != LAYOUT_ABI {
        return Err(LoadError::LayoutAbi {
            path: path.into(),
            found: layout_abi.into(),
            expected: LAYOUT_ABI,
        });
    }
    Ok(descriptor)
}

/// The version in the name of a library's entry function, if it is not ours.
fn other_version(handle: &Handle) -> Option<u32> {
    (1..100).find(|version| {
        let symbol = format!("cca_component_v{version}");
        // SAFETY: the symbol is only looked up, never called.
        unsafe { handle.get::<LibraryEntry>(symbol.as_bytes()) }.is_ok()
    })
}

fn version_error(path: &Path, found: u32) -> LoadError {
    LoadError::AbiVersion {
        path: path.into(),
        found,
        expected: ABI_VERSION,
    }
}

fn malformed(path: &Path, what: impl Into<String>) -> LoadError {
    LoadError::Malformed {
        path: path.into(),
        what: what.into(),
    }
}

fn classes(descriptor: &'static LibraryDescriptor, path: &Path) -> Result<Vec<Class>, LoadError> {
    let n = descriptor.n_classes;
    if n == 0 {
        return Err(malformed(path, "no class, expected at least one"));
    }
    if n > MAX_CLASSES || descriptor.classes.is_null() {
        return Err(malformed(
            path,
            format!("a list of {n} classes, expected 1 to {MAX_CLASSES}"),
        ));
    }
    (0..n as usize)
        .map(|i| {
            // SAFETY: the library promises `n` classes in static memory; count and pointer have been checked. Each
            // function pointer is checked before it is used as a function: C may have left it out.
            let class = unsafe {
                let class = descriptor.classes.add(i);
                let create = (&raw const (*class).create).cast::<*const ()>();
                (!create.read().is_null()).then(|| &*class)
            };
            let class = class.ok_or_else(|| {
                malformed(
                    path,
                    format!("class {i} without a create function, expected one"),
                )
            })?;
            checked_class(class, path)
        })
        .collect()
}

fn checked_class(descriptor: &'static ClassDescriptor, path: &Path) -> Result<Class, LoadError> {
    let text = |what, text| {
        checked_text(text).ok_or_else(|| {
            malformed(
                path,
                format!("class {what} that is no text, expected UTF-8"),
            )
        })
    };
    let name = text("name", &descriptor.class)?;
    if name.is_empty() || name.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err(malformed(
            path,
            format!("class name {name:?}, expected a name without blanks"),
        ));
    }
    let (version, doc) = (
        text("version", &descriptor.version)?,
        text("description", &descriptor.doc)?,
    );
    Ok(Class::new(name, version, doc, descriptor.create, path))
}
