//! What several verbs need of a running program: its libraries, its ranks, its framework.

pub mod back_end;
pub mod framework;
pub mod progress;
pub mod recording;
pub mod script;

use std::path::{Path, PathBuf};

use anyhow::Context;
use cca_core::rc::Script;
use cca_core::{Assembly, Repository};

/// Folder of this program, where the libraries built with it lie.
///
/// # Errors
/// The system does not say.
pub fn own_folder() -> anyhow::Result<PathBuf> {
    let program = std::env::current_exe().context("cannot find this program's folder")?;
    Ok(program.parent().unwrap_or(Path::new(".")).to_path_buf())
}

/// The classes on an assembly's path.
///
/// # Errors
/// A path that does not exist, or a library that is none.
pub fn repository_of(assembly: &Assembly) -> anyhow::Result<Repository> {
    let mut repository = Repository::default();
    for path in &assembly.assembly.path {
        repository.add_path(path)?;
    }
    Ok(repository)
}

/// A change given as `LEFT=RIGHT`.
///
/// # Errors
/// There is no `=`, or nothing on one side of it.
pub fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((left, right)) if !left.is_empty() && !right.is_empty() => {
            Ok((left.into(), right.into()))
        }
        _ => Err(format!("\"{text}\", expected NAME=VALUE")),
    }
}

/// Reads an assembly, or carries out a script that makes one, and changes it as the options say.
///
/// # Errors
/// It cannot be read; what a script says is wrong; a change names what is not there.
pub fn read_assembly(
    path: &Path,
    replace: &[(String, String)],
    set: &[(String, String)],
    strict: bool,
) -> anyhow::Result<Assembly> {
    let mut assembly = if Script::is_script(path) {
        script::assembly(path, replace, strict)?
    } else {
        Assembly::read(path)?
    };
    apply(&mut assembly, replace, set)?;
    Ok(assembly)
}

/// Changes an assembly as the options say.
///
/// # Errors
/// A change names what is not there.
pub fn apply(
    assembly: &mut Assembly,
    replace: &[(String, String)],
    set: &[(String, String)],
) -> anyhow::Result<()> {
    for (instance, class) in replace {
        assembly.replace(instance, class)?;
    }
    for (key, value) in set {
        let Some((instance, key)) = key.split_once('.') else {
            anyhow::bail!(
                "cannot set parameter \"{key}\": no instance, expected INSTANCE.KEY=VALUE"
            );
        };
        assembly.set(instance, key, value)?;
    }
    Ok(())
}
