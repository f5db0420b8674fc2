//! The parts of a running program that several verbs need: its libraries, its ranks, its framework.
//!
//! `run`, `check`, `graph`, `shell` and others all need a framework with the libraries of an
//! assembly opened, its instances made and the standard services in place; some of them on several
//! ranks. `Session` (`framework.rs`) is that, with or without MPI. This file holds the steps that
//! come before and after: reading an assembly or a script and changing it by options, finding
//! libraries, building it, and connecting the instance that starts it.
//!
//! ```text
//! read_assembly ─▶ Assembly + Problems      --replace and --set applied
//! build         ─▶ libraries opened, instances made and connected, or all problems at once
//! connect_main  ─▶ @main uses the Go port of [go]
//!
//! library path:  CCA_COMPONENT_PATH, then the assembly's path,
//!                or the folder of this program if neither names any
//! ```
//!
//! Problems are collected rather than returned one by one, so that a user mends an assembly in one
//! round.

pub mod agreement;
pub mod asking;
pub mod back_end;
pub mod describing;
pub mod framework;
pub mod gathering;
pub mod model;
pub mod packing;
pub mod progress;
pub mod recording;
pub mod script;
pub mod sources;
mod spare_process;
pub mod summing;
pub mod team;
pub mod trial;

use std::error::Error;
use std::path::{Path, PathBuf};

use anyhow::Context;
use cca_core::rc::Script;
use cca_core::{Assembly, AssemblyProblems, ConnectionId, FrameworkError, Repository};
use cca_ports::{GoPort, UsesPort};
use mastermind_composition::RANKS;

use framework::Session;

/// The instance that calls the assembly's Go port.
pub const MAIN: &str = "@main";

/// Its uses port.
const MAIN_PORT: &str = "main";

/// Problems of an assembly.
pub type Problems = Vec<Box<dyn Error + Send + Sync>>;

/// Reports that the code of a library called `exit` while it was opened, or while an instance of it was made or ended.
///
/// # Returns
/// Whether it did: this program may end for other reasons.
pub fn last_words() -> bool {
    let Some(doing) = cca_loader::activity() else {
        return false;
    };
    crate::output::complain!("error: cannot {doing}: it ended the process, expected it to return");
    true
}

/// Folder of this program, where the libraries built with it lie.
///
/// # Errors
/// The system does not report it.
pub fn own_folder() -> anyhow::Result<PathBuf> {
    let program = std::env::current_exe().context("cannot find this program's folder")?;
    Ok(program.parent().unwrap_or(Path::new(".")).to_path_buf())
}

/// Folder of the libraries built with this program: its own folder in a build, `lib/mastermind` next to `bin` in an
/// installation.
///
/// # Errors
/// The system does not report the path of this program.
pub fn libraries_folder() -> anyhow::Result<PathBuf> {
    let own = own_folder()?;
    let installed = own.parent().map(|prefix| prefix.join("lib/mastermind"));
    Ok(match installed.filter(|folder| folder.is_dir()) {
        Some(installed) if !own.join(MPI_PROXY).exists() => installed,
        _ => own,
    })
}

/// File name of the proxy of MPI, which every installation has.
pub const MPI_PROXY: &str = "libproxy_mpi.so";

/// The default folders for component libraries: `CCA_COMPONENT_PATH`, otherwise those of the libraries built with this
/// program.
///
/// # Errors
/// The system does not report the path of this program.
pub fn default_path() -> anyhow::Result<Vec<PathBuf>> {
    let path = component_path();
    if path.is_empty() {
        return Ok(vec![libraries_folder()?]);
    }
    Ok(path)
}

/// Libraries of an assembly, and folders to search for them, those from the user first; without any that do not exist.
pub fn library_path(assembly: &Assembly) -> Vec<PathBuf> {
    let mut path = component_path();
    path.extend(own_path(assembly, &path));
    path.retain(|entry| entry.exists());
    path
}

/// The library path of an assembly; the folder of this program's libraries if neither the assembly nor the user
/// (`first`) gives one.
fn own_path(assembly: &Assembly, first: &[PathBuf]) -> Vec<PathBuf> {
    let own = &assembly.assembly.path;
    match own.is_empty() && first.is_empty() {
        true => libraries_folder().into_iter().collect(),
        false => own.clone(),
    }
}

/// A change given as `LEFT=RIGHT`.
///
/// # Errors
/// There is no `=`, or one side of it is empty.
pub fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((left, right)) if !left.is_empty() && !right.is_empty() => {
            Ok((left.into(), right.into()))
        }
        _ => Err(format!("\"{text}\", expected NAME=VALUE")),
    }
}

/// A parameter's setting given as `INSTANCE.KEY=VALUE`.
///
/// # Errors
/// There is no `=` or no instance.
pub fn setting(text: &str) -> Result<(String, String), String> {
    match assignment(text) {
        Ok(setting) if setting.0.contains('.') => Ok(setting),
        _ => Err(format!("\"{text}\", expected INSTANCE.KEY=VALUE")),
    }
}

/// A parameter's setting, or a name and a value that a user gives to a run: the name has no point.
///
/// # Errors
/// There is no `=`; a name without a point is no identifier, or the name of the number of ranks.
pub fn setting_or_name(text: &str) -> Result<(String, String), String> {
    if let Ok(setting) = setting(text) {
        return Ok(setting);
    }
    name_of_run(text).map_err(|_| {
        format!("\"{text}\", expected INSTANCE.KEY=VALUE, or NAME=VALUE with a name of letters and digits")
    })
}

/// A name and a value that a user gives to a run.
///
/// # Errors
/// There is no `=`; the name is no identifier, or the name of the number of ranks.
pub fn name_of_run(text: &str) -> Result<(String, String), String> {
    let is_part = |c: char| c.is_alphanumeric() || "_-".contains(c);
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && name.chars().all(is_part)
            && name != RANKS
    };
    match assignment(text) {
        Ok(named) if is_name(&named.0) => Ok(named),
        _ => Err(format!(
            "\"{text}\", expected NAME=VALUE with a name of letters and digits, other than {RANKS}"
        )),
    }
}

/// Reads an assembly, or carries out a script that makes one, and applies the options to it. Lines of a script that
/// fail are skipped, as in a run, and reported.
///
/// # Returns
/// The assembly, and errors for options that name missing parts.
///
/// # Errors
/// It cannot be read; with `strict`, a line of a script fails.
pub fn read_assembly(
    path: &Path,
    replace: &[(String, String)],
    set: &[(String, String)],
    strict: bool,
) -> anyhow::Result<(Assembly, Problems)> {
    if Script::is_script(path) {
        let options = script::Options {
            replace,
            set,
            strict,
            at: None,
        };
        return Ok((
            script::try_out(path, options)?.reported(strict)?.0,
            Problems::new(),
        ));
    }
    let mut assembly = Assembly::read(path)?;
    let problems = apply(&mut assembly, replace, set);
    Ok((assembly, problems))
}

/// Applies the options to an assembly.
///
/// # Returns
/// Errors for options that name missing parts.
pub fn apply(
    assembly: &mut Assembly,
    replace: &[(String, String)],
    set: &[(String, String)],
) -> Problems {
    let mut problems = Problems::new();
    for (instance, class) in replace {
        let replaced = assembly.replace(instance, class);
        problems.extend(replaced.err().map(Into::into));
    }
    for (key, value) in set {
        let (instance, key) = key.split_once('.').unwrap_or((key, ""));
        let set = assembly.set(instance, key, value);
        problems.extend(set.err().map(Into::into));
    }
    problems
}

/// The folders of `CCA_COMPONENT_PATH`; none if it is not set.
pub fn component_path() -> Vec<PathBuf> {
    let path = std::env::var_os("CCA_COMPONENT_PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path);
    folders.filter(|folder| *folder != PathBuf::new()).collect()
}

/// Opens the libraries of `CCA_COMPONENT_PATH` and then the assembly's, builds it, and connects an instance that calls
/// its Go port.
///
/// # Arguments
/// * `problems` - problems that are known already
/// * `starts` - whether it must have a Go port
///
/// # Errors
/// All its problems, not only the first.
pub fn build(
    session: &Session,
    assembly: &Assembly,
    mut problems: Problems,
    starts: bool,
) -> Result<Option<UsesPort<dyn GoPort>>, AssemblyProblems> {
    let mut repository = Repository::default();
    let mut first = component_path();
    first.retain(|folder| folder.exists() || pass_over(folder, session));
    // A user who names other folders may not have the assembly's.
    let own = own_path(assembly, &first);
    let own = own.iter();
    let own = own.filter(|path| first.is_empty() || path.exists());
    let unopened: Vec<_> = first
        .iter()
        .chain(own)
        .flat_map(|path| repository.add_what_opens(path))
        .collect();
    let is_whole = unopened.is_empty();
    problems.extend(unopened.into_iter().map(Into::into));
    if let Err(found) = session.framework.assemble(assembly, &repository) {
        // A missing class is expected if a library is missing.
        let is_follow_up = |problem: &(dyn Error + Send + Sync + 'static)| {
            let error = problem.downcast_ref::<FrameworkError>();
            !is_whole && matches!(error, Some(FrameworkError::UnknownClass { .. }))
        };
        let found = found.problems.into_iter();
        problems.extend(found.filter(|problem| !is_follow_up(problem.as_ref())));
    }
    let go = match starts {
        true => connect_main(session, assembly),
        false => Ok(None),
    };
    match go {
        Ok(go) if problems.is_empty() => return Ok(go),
        Ok(_) => {}
        Err(error) => problems.push(error.into()),
    }
    let name = assembly.assembly.name.clone();
    Err(AssemblyProblems { name, problems })
}

/// Warns that a folder of `CCA_COMPONENT_PATH` does not exist, which is no error to Ccaffeine either; ranks leave the
/// warning to the process that started them.
fn pass_over(folder: &Path, session: &Session) -> bool {
    if session.size == 1 {
        let folder = folder.display();
        crate::output::complain!(
            "warning: cannot search folder \"{folder}\" of CCA_COMPONENT_PATH: no such folder; passed over"
        );
    }
    false
}

/// Makes the instance that calls the assembly's Go port.
///
/// # Returns
/// `None` if the port's instance could not be made, which has been reported.
pub fn connect_main(
    session: &Session,
    assembly: &Assembly,
) -> anyhow::Result<Option<UsesPort<dyn GoPort>>> {
    let Some(go) = &assembly.go else {
        anyhow::bail!(
            "cannot start assembly \"{}\": no [go] table, expected one with port = \"INSTANCE.PORT\"",
            assembly.assembly.name
        );
    };
    let instance = &go.port.instance;
    let is_made = session.framework.component_id(instance).is_ok();
    if assembly.instances.contains_key(instance) && !is_made {
        return Ok(None);
    }
    let services =
        session
            .framework
            .services(MAIN, "mastermind.Main", env!("CARGO_PKG_VERSION"))?;
    let uses = services.register_uses_port::<dyn GoPort>(MAIN_PORT)?;
    let connected = session.framework.connect(&ConnectionId {
        user: MAIN.into(),
        uses: MAIN_PORT.into(),
        provider: instance.clone(),
        provides: go.port.port.clone(),
    });
    if let Err(error) = connected {
        drop(uses);
        // A script may go on, and start another component.
        session.framework.release_services(MAIN)?;
        return Err(error.into());
    }
    Ok(Some(uses))
}
