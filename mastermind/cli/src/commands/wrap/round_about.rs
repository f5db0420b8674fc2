//! Finds calls of the proxied functions that are not in the records because they bypass the proxies, and the reasons.
//!
//! The file of the processes (`trace.rs`) names the objects. Their files show the rest (`proxy_reach`): copies of
//! functions, and calls that were bound when the object was linked. A program that nothing can be preloaded into is
//! named too.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use proxy_reach::{Linkage, Reason, Survey, shared_texts, survey};

use super::mpi_names;
use crate::trace::{Bound, OtherDefinition, Trace};

/// Maximum number of functions that a line names; it gives the number of the others.
const MAX_NAMED: usize = 4;

/// The functions of one proxy.
#[derive(Clone, Debug)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Its functions.
    pub functions: Vec<String>,
}

/// The calls that bypass the proxies, a line for each object and reason.
///
/// # Arguments
/// * `program` - the file that was started
/// * `interfaces` - the proxied interfaces
pub fn lines(program: Option<&Path>, trace: &Trace, interfaces: &[Interface]) -> Vec<String> {
    let names = interfaces.iter().flat_map(|interface| &interface.functions);
    let names: BTreeSet<&str> = names.map(String::as_str).collect();
    let mut lines: Vec<String> = program
        .into_iter()
        .chain(trace.started.keys().map(|(path, _)| path.as_path()))
        .filter_map(|path| not_preloaded(&found(path)?))
        .collect();
    lines.extend(cleared(trace));
    let objects = trace.programs.iter().chain(&trace.objects);
    let surveys: Vec<_> = objects
        .filter_map(|path| Some((path.as_path(), surveyed(path, &names)?)))
        .collect();
    for (path, survey) in &surveys {
        let is_program = trace.programs.contains(*path);
        lines.extend(of_object(path, survey, is_program));
    }
    lines.extend(bound(trace));
    for path in &trace.elsewhere {
        let exports = surveyed(path, &names).map_or(0, |survey| survey.exports.len());
        if exports > 0 {
            lines.push(format!(
                "{}: opened by dlmopen, where no library can be preloaded: calls of its {exports} functions",
                path.display()
            ));
        }
    }
    for interface in interfaces {
        lines.extend(copies_without_symbols(interface, &surveys));
    }
    let mut known = BTreeSet::new();
    lines.retain(|line| known.insert(line.clone()));
    lines
}

/// The meaning of the functions `NAME@NUMBER` in the records, a line each.
pub fn other_definitions(trace: &Trace) -> Vec<String> {
    let line = |other: &OtherDefinition| {
        let version = match other.version.as_str() {
            "" => String::new(),
            version => format!(", version {version}"),
        };
        let (function, library) = (&other.function, other.library.display());
        format!(
            "{function}@{}: {function} of {library}{version}",
            other.number
        )
    };
    trace.definitions.iter().map(line).collect()
}

/// The file of a program, found as the system does; for a script, its interpreter.
pub fn found(path: &Path) -> Option<PathBuf> {
    let path = if path.components().count() > 1 || path.is_absolute() {
        path.to_owned()
    } else {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        let mut files = std::env::split_paths(&folders).map(|folder| folder.join(path));
        files.find(|file| super::is_program(file))?
    };
    let path = path.canonicalize().ok().filter(|path| path.is_file())?;
    let bytes = fs::read(&path).ok()?;
    let Some(line) = bytes.strip_prefix(b"#!") else {
        return Some(path);
    };
    let line = line.split(|byte| *byte == b'\n').next()?;
    let line = String::from_utf8_lossy(line);
    let interpreter = Path::new(line.split_whitespace().next()?).to_owned();
    interpreter.canonicalize().ok()
}

/// Why nothing can be preloaded into a program; `None` if it can.
fn not_preloaded(path: &Path) -> Option<String> {
    let name = path.display();
    let metadata = fs::metadata(path).ok()?;
    let (user, group) = (rustix::process::getuid(), rustix::process::getgid());
    let takes_user = metadata.mode() & 0o4000 != 0 && metadata.uid() != user.as_raw();
    let takes_group = metadata.mode() & 0o2000 != 0 && metadata.gid() != group.as_raw();
    let mut value = [0u8; 64];
    let has_capabilities = rustix::fs::getxattr(path, "security.capability", &mut value[..])
        .is_ok_and(|n| n > 0)
        && !user.is_root();
    if takes_user || takes_group || has_capabilities {
        return Some(format!(
            "{name}: runs with rights that are not the user's (setuid, setgid or capabilities), so nothing is preloaded: all its calls"
        ));
    }
    let survey = survey(&fs::read(path).ok()?, None, &BTreeSet::new());
    match survey {
        Ok(Survey {
            linkage: Linkage::Static,
            ..
        }) => Some(format!(
            "{name}: linked statically, so nothing is preloaded: all its calls"
        )),
        Ok(_) => None,
        Err(error) => Some(format!(
            "{name}: nothing is preloaded ({error}): all its calls"
        )),
    }
}

/// Programs that were started without the environment of `wrap`.
fn cleared(trace: &Trace) -> Vec<String> {
    let without = trace.started.iter().filter(|((_, kept), _)| !kept);
    let without = without.filter(|((path, _), _)| found(path).is_some());
    let line = |((path, _), n): (&(PathBuf, bool), &usize)| {
        format!(
            "{}: started {n} {} without the environment of wrap (LD_PRELOAD): all its calls",
            path.display(),
            if *n == 1 { "time" } else { "times" }
        )
    };
    without.map(line).collect()
}

fn surveyed(path: &Path, names: &BTreeSet<&str>) -> Option<Survey> {
    let bytes = fs::read(path).ok()?;
    survey(&bytes, None, names).ok()
}

fn of_object(path: &Path, survey: &Survey, is_program: bool) -> Vec<String> {
    let mut by_reason: BTreeMap<Reason, Vec<(&str, u64)>> = BTreeMap::new();
    for finding in &survey.findings {
        let functions = by_reason.entry(finding.reason).or_default();
        functions.push((&finding.function, finding.n_sites));
    }
    let line = |(reason, functions): (Reason, Vec<(&str, u64)>)| {
        let n_sites: u64 = functions.iter().map(|(_, n)| n).sum();
        let places = format!(
            "{n_sites} {}",
            if n_sites == 1 { "place" } else { "places" }
        );
        let functions = named(&functions);
        let path = path.display();
        match reason {
            Reason::Copy => {
                format!("{path}: holds its own copy of {functions}, called from {places}")
            }
            _ if is_program => format!(
                "{path}: the program defines {functions} itself, before any preloaded library, called from {places} in it"
            ),
            Reason::Symbolic => {
                format!("{path}: linked with -Bsymbolic, {places} in it call its own {functions}")
            }
            Reason::Protected => {
                format!("{path}: {places} in it call its own {functions}, exported as protected")
            }
            _ => {
                format!("{path}: {places} in it call its own {functions}, bound when it was linked")
            }
        }
    };
    let mut lines: Vec<_> = by_reason.into_iter().map(line).collect();
    if is_program && survey.findings.is_empty() && !survey.exports.is_empty() {
        let exports: Vec<_> = survey
            .exports
            .iter()
            .map(|name| (name.as_str(), 0))
            .collect();
        lines.push(format!(
            "{}: the program defines {} itself, before any preloaded library",
            path.display(),
            named(&exports)
        ));
    }
    lines
}

/// The functions that are called most often.
pub(super) fn named(functions: &[(&str, u64)]) -> String {
    let mut functions = functions.to_vec();
    functions.sort_by_key(|(name, n)| (std::cmp::Reverse(*n), *name));
    let first: Vec<_> = functions
        .iter()
        .take(MAX_NAMED)
        .map(|(name, _)| *name)
        .collect();
    let mut text = first.join(", ");
    if functions.len() > MAX_NAMED {
        let _ = write!(text, " and {} more", functions.len() - MAX_NAMED);
    }
    text
}

/// Advice about a definition that is not recorded; empty if mark-up does not help.
fn advice(function: &str) -> &'static str {
    match function.starts_with("GOMP_") {
        true => "",
        false => "; definitions = 2, or more, in the mark-up records it too",
    }
}

fn bound(trace: &Trace) -> Vec<String> {
    let line = |(bound, n): (&Bound, &usize)| {
        let (from, to) = (bound.from.display(), bound.to.display());
        let function = &bound.function;
        let counted = |one: &str| format!("{n} {one}{}", if *n == 1 { "" } else { "s" });
        match bound.how.as_str() {
            "dlsym" => format!(
                "{from}: looked up {function} of {to} by dlsym {}, another definition than the one that is recorded{}",
                counted("time"),
                advice(function)
            ),
            "call" => format!(
                "{from}: calls {function} of {to}, another definition than the one that is recorded{}",
                advice(function)
            ),
            _ => format!(
                "{from}: {} to {function} bound to {to}, past the proxy: an address in its data (a table of functions), which the dynamic linker \
                 fills without asking where a name has several definitions",
                counted("reference")
            ),
        }
    };
    // A reference that was reported when it was bound is seen again when its object closes.
    let was_reported = |bound: &Bound| {
        let call = Bound {
            how: "call".into(),
            ..bound.clone()
        };
        bound.how == "slot" && trace.bound.contains_key(&call)
    };
    let is_other = |bound: &Bound| !was_reported(bound) && !mpi_names::is_of_mpi(&bound.function);
    let bound = trace.bound.iter().filter(|(bound, _)| is_other(bound));
    bound.map(line).collect()
}

/// If nothing calls a library by name, whether a program or library without symbols contains a copy of it.
fn copies_without_symbols(interface: &Interface, surveys: &[(&Path, Survey)]) -> Vec<String> {
    let is_function = |name: &String| interface.functions.contains(name);
    let is_named = |survey: &Survey| {
        let found = survey.findings.iter().map(|finding| &finding.function);
        survey
            .refers
            .iter()
            .chain(&survey.exports)
            .chain(found)
            .any(is_function)
    };
    if surveys.iter().any(|(_, survey)| is_named(survey)) {
        return Vec::new();
    }
    let without = surveys.iter().filter(|(_, survey)| !survey.has_symbols);
    let mut without = without.map(|(path, _)| *path).peekable();
    if without.peek().is_none() {
        return Vec::new();
    }
    let Some(library) = library_of(interface) else {
        return Vec::new();
    };
    let Ok(bytes) = fs::read(&library) else {
        return Vec::new();
    };
    let line = |path: &Path| {
        let shared = shared_texts(&fs::read(path).ok()?, &bytes).ok()?;
        shared.indicate_a_copy().then(|| {
            format!(
                "{}: holds its own copy of {}, {} of whose {} constant texts are in it; it has no symbols, so the places that call are not known",
                path.display(),
                library.file_name().unwrap_or_default().to_string_lossy(),
                shared.n_shared,
                shared.n_library
            )
        })
    };
    without.filter_map(line).collect()
}

/// The shared libraries in a folder.
fn libraries_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_library = |path: &PathBuf| path.to_string_lossy().contains(".so");
    entries
        .map(|entry| entry.path())
        .filter(is_library)
        .collect()
}

/// The library of this system with most of an interface's functions, among those named like the interface, or else
/// among all.
fn library_of(interface: &Interface) -> Option<PathBuf> {
    let mut ldconfig = Command::new("ldconfig");
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&paths).chain(["/sbin".into(), "/usr/sbin".into()]);
    ldconfig.env("PATH", std::env::join_paths(folders).ok()?);
    let listed = ldconfig.arg("-p").output().ok()?;
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let libraries = listed.lines().filter(|line| line.contains("x86-64"));
    let listed = libraries.filter_map(|line| Some(line.split_once("=> ")?.1.trim().into()));
    let folders = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let named = std::env::split_paths(&folders).flat_map(|folder| libraries_in(&folder));
    let libraries: BTreeSet<PathBuf> = listed.chain(named).collect();
    let stem = format!("lib{}", interface.name.trim_start_matches("lib"));
    let is_alike = |path: &&PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(&stem)
    };
    let names: BTreeSet<&str> = interface.functions.iter().map(String::as_str).collect();
    let best = |paths: &mut dyn Iterator<Item = &PathBuf>| {
        let counted = paths.filter_map(|path| Some((surveyed(path, &names)?.exports.len(), path)));
        let best = counted.max_by_key(|(n, _)| *n);
        // Another library may have a function of the same name.
        best.filter(|(n, _)| n * 2 >= names.len())
            .map(|(_, path)| path.clone())
    };
    best(&mut libraries.iter().filter(is_alike)).or_else(|| best(&mut libraries.iter()))
}
