//! Exports records as comma-separated values: one file per instance, port, method and rank.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use csv::Writer;

use crate::definition::MethodDefinition;
use crate::error::RecordsError;
use crate::log::Log;
use crate::records::Record;
use crate::run::Run;

/// Writes all records of a run.
///
/// Columns: `seq,start_ns,wall_ns,mpi_ns,compute_ns,<parameters…>,<counters…>,callpath,parent_seq`. `mpi_ns` and
/// `compute_ns` are empty if MPI was not measured, a counter is empty if it could not be read, and `parent_seq` is
/// empty if no measured call encloses this one. Rows are in the order in which the calls ended.
///
/// # Arguments
/// * `directory` - created if it does not exist; files of the same names are replaced
///
/// # Returns
/// The files, in the order of their first record.
///
/// # Errors
/// [`RecordsError::Io`], [`RecordsError::Csv`].
pub fn write_csv(run: &Run, directory: &Path) -> Result<Vec<PathBuf>, RecordsError> {
    std::fs::create_dir_all(directory).map_err(RecordsError::io("create directory", directory))?;
    let mut paths = Vec::new();
    for rank in run.ranks() {
        let mut tables = Tables {
            directory,
            rank,
            tables: HashMap::new(),
            paths: Vec::new(),
        };
        for (log, first_seq) in run.logs_of(rank) {
            tables.write_log(log, first_seq)?;
        }
        paths.extend(tables.finish()?);
    }
    Ok(paths)
}

/// Key of a table within a rank.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct TableKey {
    instance: String,
    port: String,
    method: String,
    columns: Vec<String>,
}

impl TableKey {
    fn new(method: &MethodDefinition) -> Self {
        let parameters = method
            .parameters
            .iter()
            .map(|parameter| parameter.name.clone());
        let counters = method.counters.iter().map(|counter| counter.name.clone());
        Self {
            instance: method.instance.clone(),
            port: method.port.clone(),
            method: method.method.clone(),
            columns: parameters.chain(counters).collect(),
        }
    }

    /// `flux.flux.compute.rank0000`, with `-2` and so on if a table with other columns has taken the name.
    fn file_name(&self, rank: u32, taken: &[PathBuf], directory: &Path) -> PathBuf {
        let plain: String = format!("{}.{}.{}", self.instance, self.port, self.method)
            .chars()
            .map(|c| {
                if c.is_alphanumeric() || "._-".contains(c) {
                    c
                } else {
                    '_'
                }
            })
            .collect();
        let mut path = directory.join(format!("{plain}.rank{rank:04}.csv"));
        let mut n = 2;
        while taken.contains(&path) {
            path = directory.join(format!("{plain}-{n}.rank{rank:04}.csv"));
            n += 1;
        }
        path
    }
}

struct Table {
    path: PathBuf,
    writer: Writer<File>,
}

/// The tables of one rank.
struct Tables<'d> {
    directory: &'d Path,
    rank: u32,
    tables: HashMap<TableKey, Table>,
    paths: Vec<PathBuf>,
}

impl Tables<'_> {
    fn write_log(&mut self, log: &Log, first_seq: u64) -> Result<(), RecordsError> {
        let mut names: HashMap<u32, (TableKey, String)> = HashMap::new();
        let mut row = Vec::new();
        for record in log.records_from(first_seq) {
            let (key, callpath) = names.entry(record.call_path).or_insert_with(|| {
                (
                    TableKey::new(record.method),
                    log.definitions().call_path_name(record.call_path),
                )
            });
            fill(&mut row, &record, callpath);
            let table = self.table(key)?;
            table
                .writer
                .write_record(&row)
                .map_err(csv_error(&table.path))?;
        }
        Ok(())
    }

    fn table(&mut self, key: &TableKey) -> Result<&mut Table, RecordsError> {
        if !self.tables.contains_key(key) {
            let path = key.file_name(self.rank, &self.paths, self.directory);
            let mut writer = Writer::from_path(&path).map_err(csv_error(&path))?;
            let before = ["seq", "start_ns", "wall_ns", "mpi_ns", "compute_ns"];
            let columns = key.columns.iter().map(|name| no_formula(name));
            let header = before.into_iter().map(Cow::Borrowed).chain(columns);
            let header = header.chain(["callpath", "parent_seq"].map(Cow::Borrowed));
            let header = header.map(Cow::into_owned);
            writer.write_record(header).map_err(csv_error(&path))?;
            self.paths.push(path.clone());
            self.tables.insert(key.clone(), Table { path, writer });
        }
        self.tables
            .get_mut(key)
            .ok_or_else(|| RecordsError::NoLogs {
                directory: self.directory.into(),
            })
    }

    fn finish(self) -> Result<Vec<PathBuf>, RecordsError> {
        for mut table in self.tables.into_values() {
            table
                .writer
                .flush()
                .map_err(|error| csv_error(&table.path)(error.into()))?;
        }
        Ok(self.paths)
    }
}

fn fill(row: &mut Vec<String>, record: &Record<'_>, callpath: &str) {
    let or_empty = |value: Option<u64>| value.map(|value| value.to_string()).unwrap_or_default();
    row.clear();
    row.extend([record.seq, record.start_ns, record.wall_ns].map(|number| number.to_string()));
    row.extend([record.mpi_ns, record.compute_ns()].map(or_empty));
    row.extend(record.parameters().map(|value| value.to_string()));
    row.extend(record.counters().map(or_empty));
    row.push(no_formula(callpath).into_owned());
    row.push(or_empty(record.parent_seq));
}

/// A name that spreadsheets do not interpret as a formula: an apostrophe marks it as text.
fn no_formula(name: &str) -> Cow<'_, str> {
    match name.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        true => Cow::Owned(format!("'{name}")),
        false => Cow::Borrowed(name),
    }
}

fn csv_error(path: &Path) -> impl FnOnce(csv::Error) -> RecordsError {
    let path = path.to_path_buf();
    move |source| RecordsError::Csv { path, source }
}
