//! Models that are shipped with components: the author of `libx.so` may put `libx.models.json` next to it, as `fit -o`
//! writes it.
//!
//! They are used if nothing was recorded on this machine: for a method that was fitted here, its own model is used.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;
use cca_core::Assembly;
use mastermind_models::ModelSet;
use serde::Serialize;

use crate::commands::predict::read_models;
use crate::output;
use crate::session::library_path;

/// End of the name of a file with models, behind the name of the library without its own.
const ENDING: &str = ".models.json";

/// A class with models from the file next to its library.
#[derive(Debug, Serialize, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShippedModels {
    /// The class.
    pub class: String,
    /// Where they are.
    pub file: PathBuf,
}

/// Adds to some models those that were shipped with the classes of an assembly and its alternatives, where they lack
/// some.
///
/// # Returns
/// The classes whose models were added.
///
/// # Errors
/// A folder of libraries, or models next to one, cannot be read.
pub fn add_shipped(
    models: &mut ModelSet,
    assembly: &Assembly,
    shown: bool,
) -> anyhow::Result<Vec<ShippedModels>> {
    let listed = assembly.alternatives.values().flatten();
    let classes: BTreeSet<&String> = assembly.instances.values().chain(listed).collect();
    let mut added = BTreeSet::new();
    for file in files(assembly)? {
        // The first that is found counts, as of libraries; modes of one method belong together.
        let known: BTreeSet<_> = models
            .models
            .iter()
            .map(|m| (m.method.clone(), m.metric.clone()))
            .collect();
        for model in read_models(&file, shown)?.models {
            let class = model
                .method
                .split("::")
                .next()
                .unwrap_or_default()
                .to_owned();
            if classes.contains(&class)
                && !known.contains(&(model.method.clone(), model.metric.clone()))
            {
                models.models.push(model);
                added.insert(ShippedModels {
                    class,
                    file: file.clone(),
                });
            }
        }
    }
    Ok(added.into_iter().collect())
}

/// Prints which models are not of this machine.
pub fn note_shipped(shipped: &[ShippedModels]) {
    for ShippedModels { class, file } in shipped {
        output::message(&format!(
            "note: models of {class} came with its library, {}: of another machine, perhaps; those fitted to records of this one \
             take their place",
            file.display()
        ));
    }
}

/// Models next to the libraries that an assembly is built from, in the order in which these are searched.
fn files(assembly: &Assembly) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for place in library_path(assembly) {
        let mut libraries = vec![place.clone()];
        if place.is_dir() {
            let act = || format!("cannot read folder \"{}\"", place.display());
            let entries = fs::read_dir(&place).with_context(act)?;
            let paths = entries.map(|entry| Ok(entry?.path()));
            libraries = paths.collect::<io::Result<_>>().with_context(act)?;
            libraries.sort();
        }
        files.extend(
            libraries
                .iter()
                .filter_map(|library| models_file_of(library)),
        );
    }
    Ok(files)
}

/// The file of models next to a library, if there is one.
fn models_file_of(library: &Path) -> Option<PathBuf> {
    let stem = library.file_name()?.to_str()?.strip_suffix(".so")?;
    let models = library.with_file_name(format!("{stem}{ENDING}"));
    models.is_file().then_some(models)
}
