//! Builds an assembly, or reports every problem with it.

use std::collections::BTreeSet;
use std::error::Error;

use crate::assembly::{Assembly, Endpoint};
use crate::connections::ConnectionId;
use crate::error::{FrameworkError, names};
use crate::framework::{Framework, refuse_own};
use crate::repository::Repository;

/// Everything that is wrong with an assembly.
#[derive(Debug, thiserror::Error)]
#[error("cannot build assembly \"{name}\": {} found", plural(problems.len()))]
pub struct AssemblyProblems {
    /// Name of the assembly.
    pub name: String,
    /// The problems, in the order of the file's tables.
    pub problems: Vec<Box<dyn Error + Send + Sync>>,
}

fn plural(n: usize) -> String {
    if n == 1 {
        "1 problem".into()
    } else {
        format!("{n} problems")
    }
}

/// An uses port that an assembly forgets.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot run with uses port \"{port}\" of \"{instance}\": unconnected, expected a provider of \"{interface}\""
)]
struct Unconnected {
    instance: String,
    port: String,
    interface: String,
}

impl Framework {
    /// Makes the instances, sets their parameters, and connects them.
    ///
    /// # Errors
    /// Everything that is wrong, not only the first; the framework is then of no further use.
    pub fn assemble(
        &self,
        assembly: &Assembly,
        repository: &Repository,
    ) -> Result<(), AssemblyProblems> {
        let mut problems: Vec<Box<dyn Error + Send + Sync>> = Vec::new();
        self.add_repository(repository);
        let made = self.make_instances(assembly, repository, &mut problems);
        let there =
            |instance: &str| made.contains(instance) || !assembly.instances.contains_key(instance);
        let known = |instance: &str| self.shared.lock().instance(instance).map(|_| ());
        // Once for an instance, however many parameters it would have.
        let owners = assembly.parameters.keys().filter(|owner| there(owner));
        problems.extend(owners.filter_map(|owner| known(owner).err().map(Into::into)));
        for (instance, key, value) in assembly.parameter_settings() {
            if there(instance)
                && known(instance).is_ok()
                && let Err(error) = self.set_parameter(instance, &key, value)
            {
                problems.push(error.into());
            }
        }
        let dispatchers = self.make_dispatchers(assembly, &mut problems);
        let there = |instance: &str| {
            there(instance)
                && (dispatchers.contains(instance) || !assembly.dispatch.contains_key(instance))
        };
        for (uses, provides) in &assembly.connections {
            let named = self.service_named(&provides.instance, &provides.port);
            let provides = match named {
                Some((instance, port)) => &Endpoint { instance, port },
                None => provides,
            };
            let connection = ConnectionId {
                user: uses.instance.clone(),
                uses: uses.port.clone(),
                provider: provides.instance.clone(),
                provides: provides.port.clone(),
            };
            if there(&uses.instance)
                && there(&provides.instance)
                && let Err(error) = self.connect(&connection)
            {
                problems.push(error.into());
            }
        }
        if let Err(error) = self.connect_defaults() {
            problems.push(error.into());
        }
        problems.extend(self.problems_of_wiring(assembly));
        find_bad_alternatives(assembly, repository, &mut problems);
        if problems.is_empty() {
            return Ok(());
        }
        Err(AssemblyProblems {
            name: assembly.assembly.name.clone(),
            problems,
        })
    }

    fn make_instances(
        &self,
        assembly: &Assembly,
        repository: &Repository,
        problems: &mut Vec<Box<dyn Error + Send + Sync>>,
    ) -> BTreeSet<String> {
        let mut made = BTreeSet::new();
        for (instance, class) in &assembly.instances {
            let result = refuse_own(instance).and_then(|()| match repository.class(class) {
                Some(class) => self.create_instance(instance, class),
                None => Err(repository.unknown(instance, class)),
            });
            match result {
                Ok(()) => drop(made.insert(instance.clone())),
                Err(error) => problems.push(error.into()),
            }
        }
        made
    }

    fn make_dispatchers(
        &self,
        assembly: &Assembly,
        problems: &mut Vec<Box<dyn Error + Send + Sync>>,
    ) -> BTreeSet<String> {
        let mut made = BTreeSet::new();
        for (instance, source) in &assembly.dispatch {
            if let Err(error) = refuse_own(instance) {
                problems.push(error.into());
                continue;
            }
            match source
                .table()
                .and_then(|table| self.create_dispatcher(instance, &table))
            {
                Ok(()) => drop(made.insert(instance.clone())),
                Err(error) => problems.push(error.into()),
            }
        }
        made
    }

    /// Problems with the current connections of an assembly's instances: uses ports that are not connected, Go ports
    /// in a cycle.
    pub fn problems_of_wiring(&self, assembly: &Assembly) -> Vec<Box<dyn Error + Send + Sync>> {
        let mut problems: Vec<Box<dyn Error + Send + Sync>> = Vec::new();
        for (instance, port, interface) in self.unconnected() {
            // A port that the file connects but that could not be connected has been reported
            // already.
            let end = Endpoint { instance, port };
            if !assembly.connections.contains_key(&end)
                && assembly.instances.contains_key(&end.instance)
            {
                let Endpoint { instance, port } = end;
                problems.push(
                    Unconnected {
                        instance,
                        port,
                        interface,
                    }
                    .into(),
                );
            }
        }
        problems.extend(self.go_cycle().map(Into::into));
        problems
    }
}

fn find_bad_alternatives(
    assembly: &Assembly,
    repository: &Repository,
    problems: &mut Vec<Box<dyn Error + Send + Sync>>,
) {
    for (instance, classes) in &assembly.alternatives {
        if !assembly.instances.contains_key(instance) {
            let known = names(assembly.instances.keys());
            problems.push(
                FrameworkError::UnknownInstance {
                    instance: instance.clone(),
                    known,
                }
                .into(),
            );
        }
        for class in classes
            .iter()
            .filter(|class| repository.class(class).is_none())
        {
            problems.push(repository.unknown(instance, class).into());
        }
    }
}
