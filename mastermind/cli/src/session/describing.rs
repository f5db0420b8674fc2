//! Interfaces that no component of an assembly can make a proxy of, as libraries of the path describe them.
//!
//! Two components in C may communicate through an interface of which both know only the name and the hash. A class of
//! another library, which need not be part of the assembly, may be able to make a proxy of it: a component in Rust, or
//! one with the code that `mastermind proxy` generates. Only an instance of a class reports the interfaces that it
//! knows. So another process makes an instance of each class first, and this process makes one only of the class that
//! knows the interface, in a framework of its own.
//!
//! A library of which the assembly has an instance is not asked: its code may keep the ports of one instance in
//! variables, and the interfaces of that instance are known already.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use cca_abi::InterfaceDescriptor;
use cca_core::Framework;
use cca_loader::{Library, find_libraries};

use super::trial::{self, Wanted};

/// Has a framework ask the libraries of a path.
///
/// # Arguments
/// * `path` - libraries, and folders with libraries
pub fn describe_interfaces(framework: &Framework, path: Vec<PathBuf>) {
    let asked = Mutex::new(BTreeMap::new());
    framework.describe_interfaces_by(move |framework, interface| {
        let wanted = Wanted::of(interface);
        let mut asked = asked.lock().unwrap_or_else(PoisonError::into_inner);
        *asked
            .entry(wanted.clone())
            .or_insert_with(|| find(framework, &path, &wanted))
    });
}

fn find(
    framework: &Framework,
    path: &[PathBuf],
    wanted: &Wanted,
) -> Option<&'static InterfaceDescriptor> {
    let instances = framework.instances().into_iter();
    let in_use: BTreeSet<_> = instances
        .filter_map(|instance| instance.library?.canonicalize().ok())
        .collect();
    let libraries = path.iter().flat_map(|entry| match entry.is_dir() {
        true => find_libraries(entry).unwrap_or_default(),
        false => vec![entry.clone()],
    });
    let mut others = libraries.filter(|library| {
        let whole = library.canonicalize();
        whole.is_ok_and(|whole| !in_use.contains(&whole))
    });
    others.find_map(|library| {
        let place = trial::class_that_knows(&library, wanted)?;
        let library = Library::open(&library).ok()?;
        wanted.of_class(library.classes().get(place)?)
    })
}
