//! `gov.cca.ports.BuilderService` by the names of instances: identities, properties, classes by name.

use std::path::Path;
use std::time::Duration;

use cca_loader::{Class, Library, LoadError};
use cca_ports::{ComponentId, TypeMap};

use crate::error::FrameworkError;
use crate::framework::{Framework, refuse_own};
use crate::repository::Repository;
use crate::state::Connection;

impl Framework {
    /// Makes an instance of a class of the framework's repository. With an empty name, the instance is named after the
    /// last part of the class name, with a number.
    ///
    /// # Returns
    /// Its name.
    ///
    /// # Errors
    /// An unknown class; as [`Framework::create_instance`].
    pub fn create_instance_of(
        &self,
        name: &str,
        class: &str,
        properties: TypeMap,
    ) -> Result<String, FrameworkError> {
        refuse_own(name)?;
        let (found, name) = {
            let mut state = self.shared.lock();
            let found = state.repository.class(class).cloned();
            let found = found.ok_or_else(|| {
                let shown = if name.is_empty() { class } else { name };
                state.repository.unknown(shown, class)
            })?;
            let name = if name.is_empty() {
                state.free_name(class)
            } else {
                name.to_string()
            };
            (found, name)
        };
        self.create_instance_with(&name, &found, properties)?;
        Ok(name)
    }

    /// Adds a library's classes, or those of a folder's libraries, to the framework's repository.
    ///
    /// # Errors
    /// As [`Repository::add_path`].
    pub fn append_repository_path(&self, path: &Path) -> Result<(), LoadError> {
        // Opening a library runs its initialisers, which must not happen under the lock.
        let mut added = Repository::default();
        added.add_path(path)?;
        self.add_repository(&added);
        Ok(())
    }

    /// Adds an opened library's classes to the framework's repository.
    pub fn add_library(&self, library: &Library) {
        self.shared.lock().repository.add_library(library);
    }

    /// Adds one class to the framework's repository; one of its name that is there already stays.
    pub fn add_class(&self, class: &Class) {
        self.shared.lock().repository.add_class(class);
    }

    /// Whether the framework's repository has a class.
    pub fn has_class(&self, class: &str) -> bool {
        self.shared.lock().repository.class(class).is_some()
    }

    /// Adds another repository's classes to the framework's.
    pub fn add_repository(&self, repository: &Repository) {
        self.shared.lock().repository.merge(repository);
    }

    /// The classes of the framework's repository, by name.
    pub fn available_classes(&self) -> Vec<Class> {
        self.shared.lock().repository.classes().cloned().collect()
    }

    /// Every component.
    pub fn component_ids(&self) -> Vec<ComponentId> {
        let state = self.shared.lock();
        state.instances.keys().map(|name| state.id(name)).collect()
    }

    /// The component of a name.
    ///
    /// # Errors
    /// No component has that name.
    pub fn component_id(&self, name: &str) -> Result<ComponentId, FrameworkError> {
        let state = self.shared.lock();
        state.instance(name)?;
        Ok(state.id(name))
    }

    /// Properties of a component.
    ///
    /// # Errors
    /// No such component.
    pub fn component_properties(&self, name: &str) -> Result<TypeMap, FrameworkError> {
        Ok(self.shared.lock().instance(name)?.properties.clone())
    }

    /// Replaces the properties of a component.
    ///
    /// # Errors
    /// No such component.
    pub fn set_component_properties(
        &self,
        name: &str,
        properties: TypeMap,
    ) -> Result<(), FrameworkError> {
        self.shared.lock().instance_mut(name)?.properties = properties;
        Ok(())
    }

    /// Properties of a port, used or provided.
    ///
    /// # Errors
    /// No such component or port.
    pub fn port_properties(&self, instance: &str, port: &str) -> Result<TypeMap, FrameworkError> {
        let id = self.component_id(instance)?;
        let mut state = self.shared.lock();
        Ok(state.port_properties_mut(&id, port)?.clone())
    }

    /// Replaces the properties of a port, used or provided.
    ///
    /// # Errors
    /// No such component or port.
    pub fn set_port_properties(
        &self,
        instance: &str,
        port: &str,
        properties: TypeMap,
    ) -> Result<(), FrameworkError> {
        let id = self.component_id(instance)?;
        *self.shared.lock().port_properties_mut(&id, port)? = properties;
        Ok(())
    }

    /// Properties of the connection of a uses port.
    ///
    /// # Errors
    /// No such component or port; not connected.
    pub fn connection_properties(&self, user: &str, uses: &str) -> Result<TypeMap, FrameworkError> {
        self.with_connection(user, uses, |connection| connection.properties.clone())
    }

    /// Replaces the properties of the connection of a uses port.
    ///
    /// # Errors
    /// No such component or port; not connected.
    pub fn set_connection_properties(
        &self,
        user: &str,
        uses: &str,
        properties: TypeMap,
    ) -> Result<(), FrameworkError> {
        self.with_connection(user, uses, |connection| connection.properties = properties)
    }

    fn with_connection<R>(
        &self,
        user: &str,
        uses: &str,
        work: impl FnOnce(&mut Connection) -> R,
    ) -> Result<R, FrameworkError> {
        let mut state = self.shared.lock();
        let connection = state.uses_mut(user, uses)?.connection.as_mut();
        let connection = connection.ok_or_else(|| FrameworkError::NotConnected {
            instance: user.into(),
            port: uses.into(),
        })?;
        Ok(work(connection))
    }

    /// Ends the part of a program that got its services by that name (`AbstractFramework.releaseServices`).
    ///
    /// # Errors
    /// As [`Framework::destroy_instance`].
    pub fn release_services(&self, name: &str) -> Result<(), FrameworkError> {
        self.destroy_instance(name, Duration::ZERO)
    }
}
