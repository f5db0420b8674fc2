//! Packs the logs of a directory.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::container::{Container, PackedLog};
use super::write::{ContainerWriter, Unnamed};
use super::{PACKED_EXTENSION, container_paths};
use crate::error::RecordsError;
use crate::layout::LogIdentity;
use crate::log::{Log, is_being_written};
use crate::run::log_paths;
use crate::source::{PackedBytes, read_words};

/// Number of words that are compared at a time. Arbitrary: two such buffers fit into a core's second-level cache.
const COMPARED_WORDS: usize = 1 << 14;

/// Which logs [`pack`] packs, and whether they stay.
#[derive(Clone, Debug, Default)]
pub struct PackOptions {
    /// Whether to keep the logs as well.
    pub keep: bool,
    /// Ranks whose logs are packed, for a run that ends and has none packed yet; `None` for all ranks.
    pub ranks: Option<BTreeSet<u32>>,
}

/// Containers that [`pack`] wrote, with the numbers and bytes of logs in them.
#[derive(Debug, Default)]
pub struct PackedDirectory {
    /// The containers that were written.
    pub containers: Vec<PathBuf>,
    /// How many logs were packed.
    pub n_logs: usize,
    /// Number of their records.
    pub n_records: u64,
    /// Bytes of the logs.
    pub log_bytes: u64,
    /// Bytes of the containers.
    pub packed_bytes: u64,
    /// Number of logs that were in a container before, with the same bytes.
    pub n_packed_before: usize,
    /// Logs that cannot be read; they are left unchanged.
    pub unreadable: Vec<RecordsError>,
}

/// Packs the logs of a directory, one container per host, and removes them once they were read back.
///
/// # Errors
/// [`RecordsError::StillWritten`]; [`RecordsError::NoLogs`] if there are no logs; [`RecordsError::Io`];
/// [`RecordsError::PackedUnlike`]. On an error, logs stay unless their container is complete.
pub fn pack(directory: &Path, options: &PackOptions) -> Result<PackedDirectory, RecordsError> {
    let mut paths = log_paths(directory, None)?;
    if let Some(ranks) = &options.ranks {
        let is_wanted = |identity: LogIdentity| ranks.contains(&identity.rank);
        paths.retain(|path| LogIdentity::from_path(path).is_some_and(is_wanted));
    }
    let n_live = paths.iter().filter(|log| is_being_written(log)).count();
    if n_live > 0 {
        return Err(RecordsError::StillWritten {
            directory: directory.into(),
            n_live,
        });
    }
    let mut done = PackedDirectory::default();
    let containers = match options.ranks {
        None => containers(directory)?,
        Some(_) => Vec::new(),
    };
    if paths.is_empty() && containers.is_empty() {
        return Err(RecordsError::NoLogs {
            directory: directory.into(),
        });
    }
    let mut of_hosts = BTreeMap::<String, Vec<PathBuf>>::new();
    for path in paths {
        if let Some((container, log)) = packed_before(&containers, &path) {
            check_alike(&path, log, container)?;
            done.n_packed_before += 1;
            remove(&[path], options)?;
            continue;
        }
        match Log::host_of(&path) {
            Ok(host) => of_hosts.entry(host).or_default().push(path),
            Err(error) => done.unreadable.push(error),
        }
    }
    for mut paths in of_hosts.into_values() {
        paths.sort_by_key(|path| LogIdentity::from_path(path));
        let unnamed = write(directory, &paths, &mut done)?;
        unnamed.sync()?;
        let container = Container::open(unnamed.part())?;
        for log in container.logs() {
            check_alike(&log.path(directory), log, unnamed.part())?;
        }
        let path = unnamed.keep()?;
        done.packed_bytes += fs::metadata(&path).map_or(0, |file| file.len());
        done.containers.push(path);
        remove(&paths, options)?;
    }
    Ok(done)
}

/// The path of a container, and its logs by file name.
type Opened = (PathBuf, BTreeMap<String, PackedLog>);

/// The existing containers.
fn containers(directory: &Path) -> Result<Vec<Opened>, RecordsError> {
    let paths = container_paths(directory);
    let paths = paths.map_err(RecordsError::io("read records", directory))?;
    let open = |path: PathBuf| {
        let container = Container::open(&path)?;
        let names = container.names().map(ToOwned::to_owned);
        let logs = names.zip(container.logs()).collect();
        Ok((path, logs))
    };
    paths.into_iter().map(open).collect()
}

fn packed_before<'c>(containers: &'c [Opened], log: &Path) -> Option<(&'c Path, PackedLog)> {
    let name = log.file_name()?.to_str()?;
    let mut containers = containers.iter();
    containers.find_map(|(path, logs)| Some((&**path, logs.get(name)?.clone())))
}

/// Ranks with packed logs in a directory; ignores unreadable containers.
pub fn packed_ranks(directory: &Path) -> BTreeSet<u32> {
    let paths = container_paths(directory).unwrap_or_default();
    let containers = paths.iter().filter_map(|path| Container::open(path).ok());
    let logs = containers.flat_map(|container| container.logs());
    logs.map(|log| log.identity().rank).collect()
}

/// Finds a packed log by its original path.
pub(crate) fn find_packed(path: &Path) -> Option<PackedLog> {
    let (directory, name) = (path.parent()?, path.file_name()?.to_str()?);
    let containers = container_paths(directory).ok()?;
    containers.into_iter().find_map(|container| {
        let container = Container::open(&container).ok()?;
        let place = container.names().position(|found| found == name)?;
        container.logs().nth(place)
    })
}

/// Writes a container.
fn write(
    directory: &Path,
    logs: &[PathBuf],
    done: &mut PackedDirectory,
) -> Result<Unnamed, RecordsError> {
    let mut writer = ContainerWriter::create(&free_name(directory, logs))?;
    for path in logs {
        let log = Log::open(path)?;
        let act = || RecordsError::io("read record log", path);
        let mut file = File::open(path).map_err(act())?;
        let name = path.file_name().and_then(|name| name.to_str());
        writer.add(name.unwrap_or_default(), &mut file, &log)?;
        done.n_logs += 1;
        done.n_records += log.n_records();
        done.log_bytes += file.metadata().map_err(act())?.len();
    }
    writer.finish()
}

/// `pack-rank0000.mmp`, named after its first rank; with a number if that name is taken.
fn free_name(directory: &Path, logs: &[PathBuf]) -> PathBuf {
    let first = logs.iter().find_map(|path| LogIdentity::from_path(path));
    let rank = first.map_or(0, |first| first.rank);
    let named = |end: String| directory.join(format!("pack-rank{rank:04}{end}.{PACKED_EXTENSION}"));
    let names = (2_u32..).map(|number| named(format!("-{number}")));
    let mut names = std::iter::once(named(String::new())).chain(names);
    let free = names.find(|path| !path.exists());
    free.unwrap_or_else(|| named(String::new()))
}

/// Checks that a log of a container has the bytes of a file.
fn check_alike(log: &Path, packed: PackedLog, container: &Path) -> Result<(), RecordsError> {
    let unlike = || RecordsError::PackedUnlike {
        log: log.into(),
        container: container.into(),
    };
    packed.check()?;
    let file = File::open(log).map_err(RecordsError::io("read record log", log))?;
    let n_bytes = file
        .metadata()
        .map_err(RecordsError::io("read record log", log))?
        .len();
    if n_bytes != packed.n_bytes() {
        return Err(unlike());
    }
    let mut reader = packed.reader().ok_or_else(unlike)?;
    let (mut loose, mut unpacked) = ([0; COMPARED_WORDS], [0; COMPARED_WORDS]);
    let mut at = 0;
    loop {
        let n_loose = read_words(&file, at, &mut loose);
        let n_unpacked = reader.read_words(at, &mut unpacked);
        if loose[..n_loose] != unpacked[..n_unpacked] {
            return Err(unlike());
        }
        if n_loose == 0 {
            return Ok(());
        }
        at += (n_loose * size_of::<u64>()) as u64;
    }
}

/// Removes logs that are in a container.
fn remove(logs: &[PathBuf], options: &PackOptions) -> Result<(), RecordsError> {
    if options.keep {
        return Ok(());
    }
    for log in logs {
        fs::remove_file(log).map_err(RecordsError::io("remove record log", log))?;
    }
    Ok(())
}
