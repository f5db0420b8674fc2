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
        let errors = self.add_what_opens(path);
        errors.into_iter().next().map_or(Ok(()), Err)
    }

    /// Adds a library, or all component libraries of a folder, but for those that cannot be opened.
    ///
    /// # Returns
    /// Why they cannot.
    pub fn add_what_opens(&mut self, path: &Path) -> Vec<LoadError> {
        let libraries = match path.is_dir() {
            true => find_libraries(path),
            false => Ok(vec![path.into()]),
        };
        let libraries = match libraries {
            Ok(libraries) => libraries,
            Err(source) => {
                let path = path.into();
                return vec![LoadError::NoFile { path, source }];
            }
        };
        let add = |library: &PathBuf| self.add(&Library::open(library)?);
        libraries.iter().map(add).filter_map(Result::err).collect()
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
