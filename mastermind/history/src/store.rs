//! The store: a folder of runs, which needs no server and is read by pandas, Polars and DuckDB as it is.
//!
//! ```text
//! STORE/program=shock/machine=node3%2CEPYC%2C8/run=20261127T170102Z-0a1b2c3d/sums.parquet
//! ```
//!
//! A run is one file. It is written under another name into the run's folder, synchronised and then renamed: so a
//! reader at the same time, or after a crash, finds a whole run or none, and two processes that add the same run leave
//! one. A file contains the version of its schema; a file with a later version is refused by itself, not with the whole
//! store.
//!
//! Names in paths hold only letters, digits, `.`, `_` and `-`, the rest as `%XX`, as Hive's partitions have it; the true names are in the file.

mod columns;
mod names;

pub use columns::table_of;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use mastermind_export::PlainTable;

use crate::error::HistoryError;
use crate::run_sums::RunSums;

/// Version of the schema that is written; files of this and of earlier versions are read.
pub const VERSION: u32 = 1;

/// Name of the file of a run.
const FILE: &str = "sums.parquet";

/// A folder of runs.
#[derive(Clone, Debug)]
pub struct Store {
    path: PathBuf,
}

/// A run, and its file.
#[derive(Clone, Debug)]
pub struct StoredRun {
    /// Its name.
    pub id: String,
    /// Its file.
    pub path: PathBuf,
    /// The run.
    pub sums: RunSums,
}

/// Outcome of adding a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Added {
    /// Its name.
    pub id: String,
    /// Its file.
    pub path: PathBuf,
    /// Whether the store did not have it before.
    pub is_new: bool,
}

impl Store {
    /// A store that may not be there yet.
    pub fn new(path: &Path) -> Self {
        Self { path: path.into() }
    }

    /// Its folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a run; an existing one stays unchanged.
    ///
    /// # Errors
    /// The system's: the store is read-only, the disk full.
    pub fn add(&self, run: &RunSums) -> Result<Added, HistoryError> {
        let id = run.id();
        let folder = self.folder(run, &id);
        let path = folder.join(FILE);
        fs::create_dir_all(&folder).map_err(written(&folder))?;
        let mut added = Added {
            id,
            path: path.clone(),
            is_new: false,
        };
        if path.exists() {
            return Ok(added);
        }
        let is_new = self.write(run, &folder, &path);
        if is_new.is_err() {
            // A folder that was made for nothing; one with a file of another's stays.
            let _ = fs::remove_dir(&folder);
        }
        added.is_new = is_new?;
        Ok(added)
    }

    /// # Returns
    /// Whether this process was the first to write it.
    fn write(&self, run: &RunSums, folder: &Path, path: &Path) -> Result<bool, HistoryError> {
        let unfinished = tempfile::Builder::new()
            .prefix(".unfinished-")
            .tempfile_in(folder)
            .map_err(written(folder))?;
        let file = unfinished.reopen().map_err(written(path))?;
        let table = columns::table(run);
        table
            .write(path, file)
            .map_err(HistoryError::table("write", path))?;
        unfinished.as_file().sync_all().map_err(written(path))?;
        match unfinished.persist_noclobber(path) {
            Ok(_) => {
                if let Ok(folder) = File::open(folder) {
                    // The name; the file itself is synchronised. Not all file systems can.
                    let _ = folder.sync_all();
                }
                Ok(true)
            }
            Err(failed) if failed.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(failed) => Err(written(path)(failed.error)),
        }
    }

    fn folder(&self, run: &RunSums, id: &str) -> PathBuf {
        let part = |key: &str, name: &str| format!("{key}={}", names::encoded(name));
        self.path
            .join(part("program", &run.circumstances.program))
            .join(part("machine", &run.circumstances.machine))
            .join(part("run", id))
    }

    /// Reads all runs, by program, machine and start.
    ///
    /// # Arguments
    /// * `is_wanted` - whether a program is read, by its name
    ///
    /// # Returns
    /// The runs, and why others could not be read.
    ///
    /// # Errors
    /// The folder itself cannot be read.
    pub fn read(
        &self,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Result<(Vec<StoredRun>, Vec<HistoryError>), HistoryError> {
        let mut paths = Vec::new();
        for program in folders(&self.path, "program")? {
            for machine in folders(&program, "machine")? {
                let runs = folders(&machine, "run")?.into_iter();
                paths.extend(runs.map(|run| run.join(FILE)).filter(|path| path.exists()));
            }
        }
        let (mut runs, mut unread) = (Vec::new(), Vec::new());
        for read in crate::parallel::map(&paths, |path| read_run(path)) {
            match read {
                Ok(run) if is_wanted(&run.sums.circumstances.program) => runs.push(run),
                Ok(_) => {}
                Err(error) => unread.push(error),
            }
        }
        let key = |run: &StoredRun| {
            let circumstances = &run.sums.circumstances;
            let (program, machine) = (&circumstances.program, &circumstances.machine);
            (
                program.clone(),
                machine.clone(),
                circumstances.started_unix_ns,
                run.id.clone(),
            )
        };
        runs.sort_by_cached_key(key);
        Ok((runs, unread))
    }

    /// The one run with a name, with the beginning of one, or of a commit.
    ///
    /// # Errors
    /// No run matches, or several do.
    pub fn find<'r>(
        &self,
        runs: &'r [StoredRun],
        name: &str,
    ) -> Result<&'r StoredRun, HistoryError> {
        let of_name = runs.iter().filter(|run| run.id.starts_with(name));
        let mut found: Vec<&StoredRun> = of_name.collect();
        if found.is_empty() {
            let of_commit = |run: &&StoredRun| {
                let commit = run.sums.circumstances.commit.as_deref();
                commit.is_some_and(|commit| commit.starts_with(name))
            };
            found = runs.iter().filter(of_commit).collect();
        }
        match found[..] {
            [run] => Ok(run),
            _ => Err(HistoryError::NoSuchRun {
                name: name.into(),
                path: self.path.clone(),
                found: match found.len() {
                    0 => "no such run".into(),
                    n => format!("{n} runs"),
                },
            }),
        }
    }

    /// Takes a run out of the store.
    ///
    /// # Errors
    /// The system's.
    pub fn drop_run(&self, run: &StoredRun) -> Result<(), HistoryError> {
        fs::remove_file(&run.path).map_err(HistoryError::io("remove from", &run.path))?;
        // Folders that hold nothing any more; others stay.
        for folder in run.path.ancestors().skip(1).take(3) {
            if fs::remove_dir(folder).is_err() {
                break;
            }
        }
        Ok(())
    }
}

fn written(path: &Path) -> impl FnOnce(io::Error) -> HistoryError {
    HistoryError::io("write", path)
}

/// The folders `KEY=…` of a folder.
fn folders(of: &Path, key: &str) -> Result<Vec<PathBuf>, HistoryError> {
    let read = || HistoryError::io("read", of);
    let prefix = format!("{key}=");
    let mut folders = Vec::new();
    for entry in fs::read_dir(of).map_err(read())? {
        let entry = entry.map_err(read())?;
        let is_of_key = |name: &str| name.starts_with(&prefix);
        if entry.file_name().to_str().is_some_and(is_of_key) && entry.path().is_dir() {
            folders.push(entry.path());
        }
    }
    Ok(folders)
}

/// Reads the file of a run.
fn read_run(path: &Path) -> Result<StoredRun, HistoryError> {
    let table = PlainTable::read(path).map_err(HistoryError::table("read", path))?;
    let sums = columns::run(&table).map_err(|(found, expected)| HistoryError::NoRun {
        path: path.into(),
        found,
        expected,
    })?;
    Ok(StoredRun {
        id: sums.id(),
        path: path.into(),
        sums,
    })
}
