//! Records as a Parquet dataset.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs;
use std::path::{Path, PathBuf};

use mastermind_records::definition::{MethodDefinition, ParameterDefinition, ParameterKind};
use mastermind_records::{Log, Record, Run, Value};

use crate::cell::{Cell, Shape};
use crate::error::ExportError;
use crate::names::{distinct, file_stem};
use crate::parquet_table::ParquetTable;

/// Writes all records of a run as a dataset partitioned by method and rank, as DuckDB, Polars and Spark read it:
///
/// ```text
/// OUT/method=flux.flux.compute/rank=0/records.parquet
/// ```
///
/// Columns: `seq`, `start_ns`, `wall_ns`, `mpi_ns` (absent where MPI was not measured; the compute time is the
/// difference), parameters (an enumeration by its labels), counters (absent where one was not read), `callpath`,
/// `parent_seq` (absent where no measured call encloses this one), `thread`, `failed` (1 or 0). Rows are in the order in
/// which the calls ended.
///
/// # Arguments
/// * `directory` - is made if it is not there; must be empty
///
/// # Returns
/// The files.
///
/// # Errors
/// [`ExportError`].
pub fn write_parquet(run: &Run, directory: &Path) -> Result<Vec<PathBuf>, ExportError> {
    make_empty(directory)?;
    add_parquet(run, directory)
}

/// Makes the folder of a dataset.
///
/// # Errors
/// [`ExportError::NotEmpty`] if something is in it; the system's.
pub fn make_empty(directory: &Path) -> Result<(), ExportError> {
    fs::create_dir_all(directory).map_err(ExportError::io(directory))?;
    let mut entries = fs::read_dir(directory).map_err(ExportError::io(directory))?;
    match entries.next() {
        Some(_) => Err(ExportError::NotEmpty {
            path: directory.into(),
        }),
        None => Ok(()),
    }
}

/// As [`write_parquet`], next to the files of other ranks, which other processes may write.
///
/// # Errors
/// [`ExportError`].
pub fn add_parquet(run: &Run, directory: &Path) -> Result<Vec<PathBuf>, ExportError> {
    let mut files = Vec::new();
    for rank in run.ranks() {
        let mut tables = Tables {
            directory,
            rank,
            tables: Vec::new(),
            by_columns: HashMap::new(),
        };
        for (log, first_seq) in run.logs_of(rank) {
            tables.write_log(log, first_seq)?;
        }
        for table in tables.tables {
            files.push(table.finish()?);
        }
    }
    Ok(files)
}

/// The tables of one rank.
struct Tables<'d> {
    directory: &'d Path,
    rank: u32,
    tables: Vec<ParquetTable>,
    /// Stem and columns → table.
    by_columns: HashMap<(String, Vec<(String, Shape)>), usize>,
}

impl Tables<'_> {
    fn write_log(&mut self, log: &Log, first_seq: u64) -> Result<(), ExportError> {
        let mut known: HashMap<u32, (usize, String)> = HashMap::new();
        let thread = log.identity().thread;
        for record in log.records_from(first_seq) {
            let (table, callpath) = match known.entry(record.call_path) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => {
                    let table = self.table(record.method)?;
                    new.insert((table, log.definitions().call_path_name(record.call_path)))
                }
            };
            self.tables[*table].push(cells(&record, callpath, thread))?;
        }
        Ok(())
    }

    /// The table of a method; another one where it was replaced by one with other columns.
    fn table(&mut self, method: &MethodDefinition) -> Result<usize, ExportError> {
        let (stem, columns) = (file_stem(method), columns(method));
        let key = (stem.clone(), columns.clone());
        if let Some(table) = self.by_columns.get(&key) {
            return Ok(*table);
        }
        let same_stem = self.by_columns.keys().filter(|(s, _)| *s == stem).count();
        let file = match same_stem {
            0 => "records.parquet".to_owned(),
            n => format!("records-{}.parquet", n + 1),
        };
        let folder = self
            .directory
            .join(format!("method={stem}/rank={}", self.rank));
        fs::create_dir_all(&folder).map_err(ExportError::io(&folder))?;
        self.tables
            .push(ParquetTable::create(&folder.join(file), &columns)?);
        let index = self.tables.len() - 1;
        self.by_columns.insert(key, index);
        Ok(index)
    }
}

fn columns(method: &MethodDefinition) -> Vec<(String, Shape)> {
    let shape = |parameter: &ParameterDefinition| match parameter.kind {
        ParameterKind::Integer => Shape::Few,
        ParameterKind::Real => Shape::Real,
        ParameterKind::Enumeration => Shape::Text,
    };
    let mut columns: Vec<(String, Shape)> = ["seq", "start_ns", "wall_ns", "mpi_ns"]
        .map(|name| (name.into(), Shape::Delta))
        .into();
    columns.extend(method.parameters.iter().map(|p| (p.name.clone(), shape(p))));
    let counters = method.counters.iter();
    columns.extend(counters.map(|c| (c.name.clone(), Shape::Few)));
    columns.push(("callpath".into(), Shape::Text));
    columns.push(("parent_seq".into(), Shape::Delta));
    columns.push(("thread".into(), Shape::Few));
    columns.push(("failed".into(), Shape::Few));
    let (names, shapes): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
    distinct(names).into_iter().zip(shapes).collect()
}

fn cells<'a>(
    record: &Record<'a>,
    callpath: &'a str,
    thread: u32,
) -> impl Iterator<Item = Cell<'a>> {
    // Nanoseconds and counts beyond i64 do not happen in this century; the bits stay all the same.
    let or_absent = |value: Option<u64>| match value {
        Some(value) => Cell::Integer(value.cast_signed()),
        None => Cell::Absent,
    };
    let times = [
        Some(record.seq),
        Some(record.start_ns),
        Some(record.wall_ns),
        record.mpi_ns,
    ];
    let parameter = |value: Value<'a>| match value {
        Value::Integer(value) => Cell::Integer(value),
        Value::Real(value) => Cell::Real(value),
        Value::Label(_, Some(label)) => Cell::Text(label),
        Value::Label(_, None) => Cell::Absent,
    };
    times
        .map(or_absent)
        .into_iter()
        .chain(record.parameters().map(parameter))
        .chain(record.counters().map(or_absent))
        .chain([
            Cell::Text(callpath),
            or_absent(record.parent_seq),
            Cell::Integer(i64::from(thread)),
            Cell::Integer(i64::from(record.failed)),
        ])
}
