//! The classes that can be instantiated.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cca_loader::{Class, Library, LoadError, find_libraries};

/// Component classes by name.
#[derive(Debug, Default)]
pub struct Repository {
    classes: BTreeMap<&'static str, Class>,
    // A class that an earlier library has already, as on any search path.
    hidden: Vec<Class>,
    libraries: Vec<PathBuf>,
}

impl Repository {
    /// Adds a library, or all component libraries of a folder.
    ///
    /// # Errors
    /// [`LoadError`]: of the library; of a folder's first library that cannot be opened.
    pub fn add_path(&mut self, path: &Path) -> Result<(), LoadError> {
        if !path.is_dir() {
            return self.add(&Library::open(path)?);
        }
        let libraries = find_libraries(path);
        let libraries = libraries.map_err(|source| LoadError::NoFile {
            path: path.into(),
            source,
        })?;
        libraries
            .iter()
            .try_for_each(|library| self.add(&Library::open(library)?))
    }

    /// Adds an opened library's classes.
    ///
    /// # Errors
    /// None now; a class that is there already stays as it was.
    pub fn add(&mut self, library: &Library) -> Result<(), LoadError> {
        if self.libraries.iter().any(|known| known == library.path()) {
            return Ok(());
        }
        self.libraries.push(library.path().into());
        for class in library.classes() {
            match self.classes.entry(class.name()) {
                std::collections::btree_map::Entry::Vacant(entry) => {
                    entry.insert(class.clone());
                }
                std::collections::btree_map::Entry::Occupied(_) => self.hidden.push(class.clone()),
            }
        }
        Ok(())
    }

    /// A class by name.
    pub fn class(&self, name: &str) -> Option<&Class> {
        self.classes.get(name)
    }

    /// All classes, by name.
    pub fn classes(&self) -> impl Iterator<Item = &Class> {
        self.classes.values()
    }

    /// Classes that another library, earlier on the path, has as well.
    pub fn hidden(&self) -> &[Class] {
        &self.hidden
    }
}
