//! The classes that can be instantiated.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};

use cca_loader::{
    Class, IndexedClass, Library, LoadError, find_index_files, find_libraries,
    is_component_library, read_index,
};

use crate::error::{FrameworkError, names};

/// Component classes by name.
#[derive(Clone, Debug, Default)]
pub struct Repository {
    classes: BTreeMap<&'static str, Class>,
    // A class that an earlier library has already, as on any search path.
    hidden: Vec<Class>,
    libraries: Vec<PathBuf>,
}

impl Repository {
    /// Adds a library, or all component libraries of a folder and those that its `.cca` files name.
    ///
    /// # Errors
    /// [`LoadError`]: of the library; of a folder's first library or index file that cannot be used.
    pub fn add_path(&mut self, path: &Path) -> Result<(), LoadError> {
        let errors = self.add_what_opens(path);
        errors.into_iter().next().map_or(Ok(()), Err)
    }

    /// Adds a library, or all component libraries of a folder, except for those that cannot be opened.
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
        let mut errors: Vec<_> = libraries.iter().map(add).filter_map(Result::err).collect();
        if path.is_dir() {
            errors.extend(self.add_indexed(path));
        }
        errors
    }

    /// Adds the libraries and classes that a folder's index files name. Libraries that are no component libraries are
    /// skipped, as in a folder.
    ///
    /// # Returns
    /// Why files or libraries cannot be used.
    fn add_indexed(&mut self, folder: &Path) -> Vec<LoadError> {
        let mut errors = Vec::new();
        // The folder has just been read.
        for index in find_index_files(folder).unwrap_or_default() {
            match read_index(&index) {
                Ok(classes) => {
                    let added = classes
                        .iter()
                        .map(|class| self.add_indexed_class(&index, class));
                    errors.extend(added.filter_map(Result::err));
                }
                Err(error) => errors.push(error),
            }
        }
        errors
    }

    fn add_indexed_class(&mut self, index: &Path, indexed: &IndexedClass) -> Result<(), LoadError> {
        let IndexedClass {
            library,
            class,
            alias,
        } = indexed;
        if self.classes.contains_key(&**alias)
            || (library.exists() && !is_component_library(library))
        {
            return Ok(());
        }
        let library = Library::open(library)?;
        self.add_library(&library);
        if self.classes.contains_key(&**alias) {
            return Ok(());
        }
        // A function of C has no dots in its name.
        let is_it =
            |known: &&Class| known.name() == class || known.name().replace('.', "_") == *class;
        let mut found = library.classes().iter().filter(is_it);
        let Some(found) = found.next() else {
            let known: Vec<_> = library.classes().iter().map(|c| c.name().into()).collect();
            return Err(LoadError::Index {
                path: index.into(),
                what: format!(
                    "class \"{class}\" is not in library \"{}\", expected {}",
                    library.path().display(),
                    names(&known)
                ),
            });
        };
        self.insert(&found.renamed(alias));
        Ok(())
    }

    /// Adds an opened library's classes.
    ///
    /// # Errors
    /// None now; a class that exists already stays unchanged.
    pub fn add(&mut self, library: &Library) -> Result<(), LoadError> {
        self.add_library(library);
        Ok(())
    }

    /// Adds an opened library's classes; a class that exists already stays unchanged.
    pub fn add_library(&mut self, library: &Library) {
        if self.libraries.iter().any(|known| known == library.path()) {
            return;
        }
        self.libraries.push(library.path().into());
        library
            .classes()
            .iter()
            .for_each(|class| self.insert(class));
    }

    /// Adds another repository's classes; a class that exists already stays unchanged.
    pub fn merge(&mut self, other: &Repository) {
        for library in &other.libraries {
            if self.libraries.contains(library) {
                continue;
            }
            self.libraries.push(library.clone());
            let classes = other.classes.values().chain(&other.hidden);
            let of_library = classes.filter(|class| class.library() == library);
            of_library.for_each(|class| self.insert(class));
        }
    }

    /// Adds one class; one of its name that is there already stays.
    pub fn add_class(&mut self, class: &Class) {
        self.classes
            .entry(class.name())
            .or_insert_with(|| class.clone());
    }

    fn insert(&mut self, class: &Class) {
        match self.classes.entry(class.name()) {
            Entry::Vacant(entry) => drop(entry.insert(class.clone())),
            Entry::Occupied(_) => self.hidden.push(class.clone()),
        }
    }

    /// That there is no such class.
    pub(crate) fn unknown(&self, instance: &str, class: &str) -> FrameworkError {
        let all: Vec<_> = self.classes.keys().map(|name| name.to_string()).collect();
        FrameworkError::UnknownClass {
            instance: instance.into(),
            class: class.into(),
            known: if all.is_empty() {
                "a class of a library on the path, and there is none".into()
            } else {
                names(&all)
            },
        }
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
