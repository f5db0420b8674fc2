//! Dispatchers in an assembly: instances that send each call to one of several others.

use std::collections::BTreeSet;

use cca_core::{Assembly, Endpoint};

/// Provides ports of an instance that others are connected to.
pub fn used_ports<'a>(assembly: &'a Assembly, instance: &str) -> BTreeSet<&'a str> {
    let connected = assembly.connections.values();
    connected
        .filter(|end| end.instance == instance)
        .map(|end| end.port.as_str())
        .collect()
}

/// Makes room for a dispatcher in place of an instance: adds an instance of each class behind it, with the parameters
/// and connections of the replaced one. The caller adds the dispatcher itself.
///
/// # Returns
/// Names of the added instances, in the order of the classes.
pub fn put_behind(assembly: &mut Assembly, instance: &str, classes: &[String]) -> Vec<String> {
    let mut providers: Vec<String> = Vec::new();
    for class in classes {
        let last = class.rsplit('.').next().unwrap_or(class);
        let mut name = format!("{instance}-{last}");
        while assembly.instances.contains_key(&name) {
            name.push('-');
        }
        assembly.instances.insert(name.clone(), class.clone());
        providers.push(name);
    }
    assembly.instances.remove(instance);
    assembly.alternatives.remove(instance);
    if let Some(parameters) = assembly.parameters.remove(instance) {
        for provider in &providers {
            assembly
                .parameters
                .insert(provider.clone(), parameters.clone());
        }
    }
    let own: Vec<_> = assembly
        .connections
        .keys()
        .filter(|uses| uses.instance == instance)
        .cloned()
        .collect();
    for uses in own {
        if let Some(provides) = assembly.connections.remove(&uses) {
            for provider in &providers {
                let end = Endpoint {
                    instance: provider.clone(),
                    port: uses.port.clone(),
                };
                assembly.connections.insert(end, provides.clone());
            }
        }
    }
    providers
}
