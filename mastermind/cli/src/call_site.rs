//! Resolves the call sites of recorded calls: the addresses that they return to, as function, file and line.
//!
//! The records hold addresses. The processes wrote the mappings of their objects into a file for `wrap`, so that the
//! calls of a killed program are known too. The result is stored next to the logs, for `profile --call-sites`.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use addr2line::Loader;
use anyhow::Context;
use cpp_demangle::DemangleOptions;
use mastermind_records::{Log, Record, Run, Value, create_anew};
use proxy_reach::Functions;
use serde::{Deserialize, Serialize};

use crate::session::summing;
use crate::trace::Trace;

/// Mappings of the objects of a process: returns the object that an address lies in, and its load offset.
pub type Mapped<'a> = dyn Fn(u32, u64) -> Option<(&'a Path, u64)> + 'a;

/// The addresses that the calls of a stack return to, by process and number.
pub type Stacks<'a> = dyn Fn(u32, u64) -> Option<&'a [u64]> + 'a;

/// Suffix of the files next to the logs, one for each rank.
const FILES: &str = "call-sites.json";

/// A place that calls.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct CallSite {
    /// Process in which it was mapped.
    pub process: u32,
    /// Address that the call returns to.
    pub address: u64,
    /// The program or library it lies in.
    pub object: PathBuf,
    /// The address in the object's file, without the load offset.
    pub offset: u64,
    /// The function, as the object names it: mangled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The source location, if there is debug information.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Its line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The functions that it is inlined in and those that called it, the innermost first; callers where the stack was
    /// recorded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub callers: Vec<CallSite>,
}

impl CallSite {
    /// `function (file:line)`, or the known parts of it, followed by ` < ` and its caller.
    pub fn name(&self) -> String {
        let callers = self.callers.iter().map(|caller| caller.own_name());
        let names: Vec<_> = [self.own_name()].into_iter().chain(callers).collect();
        names.join(" < ")
    }

    fn own_name(&self) -> String {
        let object = self
            .object
            .file_name()
            .unwrap_or_default()
            .to_string_lossy();
        let place = match (&self.file, self.line) {
            (Some(file), Some(line)) => {
                let file = Path::new(file).file_name().unwrap_or_default();
                format!("{}:{line}", file.to_string_lossy())
            }
            _ if object.is_empty() => format!("{:#x}", self.address),
            _ => format!("{object}+{:#x}", self.offset),
        };
        match &self.function {
            Some(function) => format!("{} ({place})", as_in_source(function)),
            None => place,
        }
    }
}

/// The name of a function as in its source: for C++ and Rust with the scope and without arguments, for a Fortran module
/// as `module::procedure`; any other unchanged.
fn as_in_source(symbol: &str) -> String {
    if let Ok(name) = rustc_demangle::try_demangle(symbol) {
        // Without the hash at its end.
        return format!("{name:#}");
    }
    if let Ok(name) = cpp_demangle::Symbol::new(symbol) {
        let options = DemangleOptions::new().no_params().no_return_type();
        if let Ok(name) = name.demangle_with_options(&options) {
            return name;
        }
    }
    in_a_fortran_module(symbol).unwrap_or_else(|| symbol.to_owned())
}

/// Of `__module_MOD_procedure` (gfortran) and `module_mp_procedure_` (Intel).
fn in_a_fortran_module(symbol: &str) -> Option<String> {
    let gfortran = symbol
        .strip_prefix("__")
        .and_then(|name| name.split_once("_MOD_"));
    let intel = || {
        symbol
            .strip_suffix('_')
            .and_then(|name| name.split_once("_mp_"))
    };
    let (module, procedure) = gfortran.or_else(intel)?;
    // In GNU Fortran a procedure within another ends with a number.
    let procedure = procedure
        .split('.')
        .next()
        .filter(|name| !name.is_empty())?;
    (!module.is_empty()).then(|| format!("{module}::{procedure}"))
}

/// The file of a rank.
pub fn file(directory: &Path, rank: u32) -> PathBuf {
    directory.join(format!("rank{rank:04}.{FILES}"))
}

/// The call sites that `wrap` left next to the logs, and those that it could not leave, since it was killed or still
/// runs. Empty if they were not requested.
pub fn read(directory: &Path, run: &Run) -> Vec<CallSite> {
    let (directory, _) = crate::commands::profile::selected(directory);
    let texts = files(directory).filter_map(|path| fs::read(path).ok());
    let texts = texts.filter_map(|text| serde_json::from_slice::<Vec<CallSite>>(&text).ok());
    let mut sites: Vec<CallSite> = texts.flatten().collect();
    sites.extend(
        summing::taken_in::<Vec<CallSite>>(directory, summing::CALL_SITES).unwrap_or_default(),
    );
    let trace = Trace::of_open_run(directory);
    if !trace.is_empty() {
        let known = sites.iter().map(|site| (site.process, site.address));
        let known: BTreeSet<_> = known.collect();
        let missing = addresses(run, true)
            .into_iter()
            .filter(|site| !known.contains(site));
        let mapped = |process, address| trace.object_at(process, address);
        sites.extend(resolved(missing, &mapped, &|process, number| {
            trace.stack(process, number)
        }));
    }
    sites
}

/// Resolves the call sites of the recorded calls of a rank, or of all ranks, and stores them next to the logs.
///
/// # Arguments
/// * `are_recorded` - whether records have call sites; otherwise only sums of calls of MPI have some
///
/// # Errors
/// They cannot be written. Without logs nothing is written.
pub fn write(
    directory: &Path,
    rank: Option<u32>,
    mapped: &Mapped<'_>,
    stacks: &Stacks<'_>,
    are_recorded: bool,
) -> anyhow::Result<()> {
    let run = match rank {
        Some(rank) => Run::open_rank(directory, rank),
        None => Run::open(directory),
    };
    let Ok(run) = run else {
        return Ok(());
    };
    let addresses = addresses(&run, are_recorded);
    if addresses.is_empty() {
        return Ok(());
    }
    let sites = resolved(addresses, mapped, stacks);
    let text = serde_json::to_string_pretty(&sites)? + "\n";
    let path = file(directory, rank.unwrap_or(0));
    create_anew(&path)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .with_context(|| format!("cannot write call sites \"{}\"", path.display()))
}

/// Merges the files of the ranks of a node into the file of the first of them.
///
/// # Arguments
/// * `ranks` - the ranks of the node; `None` for all
///
/// # Errors
/// It cannot be written; then the files stay.
pub fn join(directory: &Path, ranks: Option<&BTreeSet<u32>>) -> anyhow::Result<()> {
    let own = |path: &PathBuf| {
        let rank = path.file_name()?.to_str()?.strip_suffix(FILES)?;
        let rank = rank.strip_suffix('.')?.strip_prefix("rank")?.parse().ok()?;
        ranks
            .is_none_or(|ranks| ranks.contains(&rank))
            .then_some(rank)
    };
    let files = files(directory).filter_map(|path| Some((own(&path)?, path)));
    let files: BTreeMap<u32, PathBuf> = files.collect();
    if files.len() < 2 {
        return Ok(());
    }
    let mut sites = Vec::new();
    for path in files.values() {
        let act = || format!("cannot join call sites \"{}\"", path.display());
        let text = fs::read(path).with_context(act)?;
        let of_rank: Vec<CallSite> = serde_json::from_slice(&text).with_context(act)?;
        sites.extend(of_rank);
    }
    let mut paths = files.values();
    let Some(first) = paths.next() else {
        return Ok(());
    };
    let part = first.with_extension("part");
    let written = create_anew(&part)
        .and_then(|mut file| file.write_all(&serde_json::to_vec(&sites)?))
        .and_then(|()| fs::rename(&part, first));
    if written.is_err() {
        let _ = fs::remove_file(&part);
    }
    written.with_context(|| format!("cannot write call sites \"{}\"", first.display()))?;
    for path in paths {
        let _ = fs::remove_file(path);
    }
    Ok(())
}

/// The files that ranks left in a directory.
pub fn files(directory: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let is_one = |path: &PathBuf| path.to_string_lossy().ends_with(FILES);
    entries.map(|entry| entry.path()).filter(is_one)
}

/// Where calls come from, by process and address.
fn resolved(
    addresses: impl IntoIterator<Item = (u32, u64)>,
    mapped: &Mapped<'_>,
    stacks: &Stacks<'_>,
) -> Vec<CallSite> {
    let mut known = BTreeMap::new();
    let mut find = |process, address| {
        let site = CallSite {
            process,
            address,
            ..CallSite::default()
        };
        let Some((path, base)) = mapped(process, address) else {
            return vec![site];
        };
        let known = known
            .entry(path.to_owned())
            .or_insert_with(|| DebugInfo::of(path));
        known.describe(&CallSite {
            object: path.to_owned(),
            offset: address - base,
            ..site
        })
    };
    let sites = addresses.into_iter().map(|(process, address)| {
        let own = [address];
        let stack = stacks(process, address).unwrap_or(&own);
        let mut frames = stack.iter().flat_map(|address| find(process, *address));
        let first = frames.next().unwrap_or_default();
        CallSite {
            // By which the records know it.
            address,
            callers: frames.collect(),
            ..first
        }
    });
    sites.collect()
}

/// Process and address of every call.
fn addresses(run: &Run, are_recorded: bool) -> BTreeSet<(u32, u64)> {
    let mut addresses = BTreeSet::new();
    for log in run.logs() {
        let process = process_of(log);
        let sums = log.definitions().mpi_call_sums.iter();
        addresses.extend(sums.filter_map(|sum| Some((process, sum.site?))));
        let openmp = log.definitions().openmp.iter();
        let openmp = openmp.flat_map(|openmp| &openmp.sums);
        addresses.extend(openmp.map(|sum| (process, sum.site)));
        if are_recorded {
            let sites = log.records().filter_map(|record| address(&record));
            addresses.extend(sites.map(|address| (process, address)));
        }
    }
    addresses
}

/// The process whose objects the addresses of a log lie in: a forked child has its parent's.
pub fn process_of(log: &Log) -> u32 {
    let run = &log.definitions().run;
    run.forked_from.unwrap_or(run.process)
}

/// The address that a recorded call returns to, if it was recorded.
pub fn address(record: &Record<'_>) -> Option<u64> {
    let parameters = record.method.parameters.iter().zip(record.parameters());
    let mut sites = parameters.filter(|(definition, _)| definition.is_call_site());
    match sites.next()? {
        (_, Value::Integer(address)) => Some(address.cast_unsigned()),
        _ => None,
    }
}

/// Debug information of an object.
struct DebugInfo {
    functions: Functions,
    /// Its debug information, in a file of its own or not.
    lines: Option<Loader>,
}

impl DebugInfo {
    fn of(path: &Path) -> Self {
        let bytes = fs::read(path).unwrap_or_default();
        Self {
            functions: Functions::of(&bytes).unwrap_or_default(),
            lines: Loader::new(path).ok(),
        }
    }

    /// An address of the object with its function and line, followed by the functions that it is inlined in.
    fn describe(&self, site: &CallSite) -> Vec<CallSite> {
        // The call itself lies before the address that it returns to.
        let call = site.offset.saturating_sub(1);
        let mut frames = self.frames(call, site);
        // If there are lines, there are the symbols of all functions.
        let symbol = self.lines.as_ref().filter(|_| !frames.is_empty());
        let symbol = symbol.and_then(|lines| lines.find_symbol(call));
        let function = self.functions.at(call).or(symbol);
        if frames.is_empty() {
            frames.push(site.clone());
        }
        // The last one is the compiled function, which symbols name too.
        if let (Some(last), Some(function)) = (frames.last_mut(), function) {
            last.function = Some(function.to_owned());
        }
        frames
    }

    /// The frames at an address by the debug information, the innermost inlined function first.
    fn frames(&self, address: u64, site: &CallSite) -> Vec<CallSite> {
        let mut found = Vec::new();
        let lines = self.lines.as_ref();
        let Some(mut frames) = lines.and_then(|lines| lines.find_frames(address).ok()) else {
            return found;
        };
        while let Ok(Some(frame)) = frames.next() {
            let name = frame
                .function
                .as_ref()
                .and_then(|name| name.raw_name().ok());
            let location = frame.location.as_ref();
            found.push(CallSite {
                function: name.map(Cow::into_owned),
                file: location
                    .and_then(|location| location.file)
                    .map(str::to_owned),
                line: location.and_then(|location| location.line),
                ..site.clone()
            });
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::as_in_source;

    #[test]
    fn names_are_those_of_the_source() {
        let names = [
            ("main", "main"),
            (
                "_Z12ExchangeHaloRK19SparseMatrix_STRUCTR13Vector_STRUCT",
                "ExchangeHalo",
            ),
            ("_ZN4grid5Solve3runEi", "grid::Solve::run"),
            ("_ZNK4grid6FieldsIdE4normEv", "grid::Fields<double>::norm"),
            (
                "_ZN4grid12_GLOBAL__N_14haloEv.constprop.0",
                "grid::(anonymous namespace)::halo",
            ),
            (
                "_ZN3std2io5stdio6_print17h0123456789abcdefE",
                "std::io::stdio::_print",
            ),
            ("_RNvC6_123foo3bar", "123foo::bar"),
            ("__transport_MOD_exchange_halo", "transport::exchange_halo"),
            ("transport_mp_exchange_halo_", "transport::exchange_halo"),
            ("dgemm_", "dgemm_"),
            ("_mp_", "_mp_"),
            ("_Z", "_Z"),
            ("__libc_start_main", "__libc_start_main"),
        ];
        for (symbol, expected) in names {
            assert_eq!(as_in_source(symbol), expected, "{symbol}");
        }
    }
}
