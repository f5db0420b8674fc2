//! Where recorded calls come from: the addresses that they return to, as function, file and line.
//!
//! The records hold addresses; where the objects were mapped stands in what the processes wrote down for `wrap`, so that a killed
//! program's calls are known too. What was found lies beside the logs, for `profile --call-sites`.

#[cfg(feature = "call-sites")]
mod source;
#[cfg(not(feature = "call-sites"))]
#[path = "call_site/without_source.rs"]
mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use mastermind_records::{Log, Record, Run, Value};
use proxy_reach::Functions;
use serde::{Deserialize, Serialize};

use source::Lines;
use source::as_in_source;
pub use source::check;

/// Where the objects of a process were mapped: the one that an address lies in, and what it was moved by.
pub type Mapped<'a> = dyn Fn(u32, u64) -> Option<(&'a Path, u64)> + 'a;

/// The addresses that the calls of a stack return to, by process and number.
pub type Stacks<'a> = dyn Fn(u32, u64) -> Option<&'a [u64]> + 'a;

/// The end of the names of the files beside the logs, one a rank.
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
    /// The address in the object's file, without where it was mapped.
    pub offset: u64,
    /// The function, as the object names it: mangled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The source, where there is debug information.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Its line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Those that called its function, the innermost first, where the stack was recorded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub callers: Vec<CallSite>,
}

impl CallSite {
    /// `function (file:line)`, or as much of it as is known, and behind ` < ` who called that.
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

/// The file of a rank.
pub fn file(directory: &Path, rank: u32) -> PathBuf {
    directory.join(format!("rank{rank:04}.{FILES}"))
}

/// The call sites that `wrap` left beside the logs; none where it was not asked for them.
pub fn read(directory: &Path) -> Vec<CallSite> {
    let (directory, _) = crate::commands::profile::selected(directory);
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let is_one = |path: &PathBuf| path.to_string_lossy().ends_with(FILES);
    let files = entries.map(|entry| entry.path()).filter(is_one);
    let texts = files.filter_map(|path| fs::read(path).ok());
    let sites = texts.filter_map(|text| serde_json::from_slice::<Vec<CallSite>>(&text).ok());
    sites.flatten().collect()
}

/// Finds out where the recorded calls of a rank come from, or of all, and leaves it beside the logs.
///
/// # Errors
/// It cannot be written. Where there are no logs, nothing is.
pub fn write(
    directory: &Path,
    rank: Option<u32>,
    mapped: &Mapped<'_>,
    stacks: &Stacks<'_>,
) -> anyhow::Result<()> {
    let run = match rank {
        Some(rank) => Run::open_rank(directory, rank),
        None => Run::open(directory),
    };
    let Ok(run) = run else {
        return Ok(());
    };
    let addresses = addresses(&run);
    if addresses.is_empty() {
        return Ok(());
    }
    let mut known = BTreeMap::new();
    let mut find = |process, address| {
        let mapped = mapped(process, address);
        let mut site = CallSite {
            process,
            address,
            ..CallSite::default()
        };
        if let Some((path, base)) = mapped {
            site.object = path.to_owned();
            site.offset = address - base;
            let known = known
                .entry(path.to_owned())
                .or_insert_with(|| Known::of(path));
            known.describe(&mut site);
        }
        site
    };
    let sites = addresses.into_iter().map(|(process, address)| {
        let Some([first, callers @ ..]) = stacks(process, address) else {
            return find(process, address);
        };
        let callers = callers
            .iter()
            .map(|caller| find(process, *caller))
            .collect();
        CallSite {
            // By which the records know it.
            address,
            callers,
            ..find(process, *first)
        }
    });
    let sites: Vec<CallSite> = sites.collect();
    let text = serde_json::to_string_pretty(&sites)? + "\n";
    let path = file(directory, rank.unwrap_or(0));
    fs::write(&path, text)
        .with_context(|| format!("cannot write call sites \"{}\"", path.display()))
}

/// Process and address of every call.
fn addresses(run: &Run) -> BTreeSet<(u32, u64)> {
    let mut addresses = BTreeSet::new();
    for log in run.logs() {
        let process = process_of(log);
        let sites = log.records().filter_map(|record| address(&record));
        addresses.extend(sites.map(|address| (process, address)));
    }
    addresses
}

/// The process whose objects a log's addresses lie in: a forked child has those of its parent.
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

/// What is known of an object.
struct Known {
    functions: Functions,
    lines: Lines,
}

impl Known {
    fn of(path: &Path) -> Self {
        let bytes = fs::read(path).unwrap_or_default();
        Self {
            functions: Functions::of(&bytes).unwrap_or_default(),
            lines: Lines::of(path),
        }
    }

    fn describe(&self, site: &mut CallSite) {
        // The call itself lies before the address that it returns to.
        let call = site.offset.saturating_sub(1);
        let symbol = self.lines.describe(call, site);
        let function = self.functions.at(call).or(symbol);
        site.function = function.map(str::to_owned);
    }
}
