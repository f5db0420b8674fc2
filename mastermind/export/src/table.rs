//! All records of a run as one table.
//!
//! Every format has the same columns in the same order, and one row per call, in the order of ranks, threads and ends
//! of calls:
//!
//! ```text
//! run,rank,thread,instance,class,port,method,seq,start_ns,wall_ns,mpi_ns,compute_ns,PARAMETERS,COUNTERS,callpath,parent_seq,failed
//! ```
//!
//! Absent parameters (those that a method does not have) and values that were not measured have empty cells, never 0.

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

use mastermind_records::{Log, Record, Run, Value};

#[cfg(feature = "parquet")]
use crate::arrow_table::ArrowTable;
use crate::cell::Cell;
use crate::columns::{Columns, N_FIRST};
use crate::csv_table::CsvTable;
use crate::error::ExportError;
#[cfg(feature = "parquet")]
use crate::parquet_table::ParquetTable;

/// As what a table is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableFormat {
    /// Parquet: compressed, columns typed; metadata under the keys `mastermind.run` and `mastermind.columns`.
    Parquet,
    /// An Arrow IPC file (Feather, version 2): typed, not compressed; the same metadata, and the unit at each field.
    Arrow,
    /// Comma-separated values: absent is empty; no metadata.
    Csv,
}

/// A file that takes rows.
pub(crate) trait Rows {
    /// Appends a row: a cell a column.
    fn push(&mut self, cells: &[Cell<'_>]) -> Result<(), ExportError>;

    /// Writes what is left.
    fn finish(self: Box<Self>) -> Result<(), ExportError>;
}

#[cfg(feature = "parquet")]
impl Rows for ParquetTable {
    fn push(&mut self, cells: &[Cell<'_>]) -> Result<(), ExportError> {
        ParquetTable::push(self, cells.iter().copied())
    }

    fn finish(self: Box<Self>) -> Result<(), ExportError> {
        ParquetTable::finish(*self).map(drop)
    }
}

/// Writes all records of a run into one file.
///
/// # Arguments
/// * `name` - of the run, for the column `run`
/// * `about` - what is known of the run, a JSON document, for the file's metadata
/// * `path`, `out` - where it goes, and its name for errors
///
/// # Returns
/// The number of rows.
///
/// # Errors
/// [`ExportError`].
pub fn write_table(
    run: &Run,
    name: &str,
    about: &str,
    out: (&Path, Box<dyn Write + Send>),
    format: TableFormat,
) -> Result<u64, ExportError> {
    let columns = Columns::of(run);
    let described = columns.described().to_string();
    let metadata = [
        ("mastermind.run", about),
        ("mastermind.columns", &described),
    ];
    let mut rows: Box<dyn Rows> = match format {
        #[cfg(feature = "parquet")]
        TableFormat::Parquet => {
            let shapes = columns.columns.iter();
            let shapes: Vec<_> = shapes
                .map(|column| (column.name.clone(), column.shape, column.is_nullable))
                .collect();
            Box::new(ParquetTable::create_with(out, &shapes, &metadata, true)?)
        }
        #[cfg(feature = "parquet")]
        TableFormat::Arrow => Box::new(ArrowTable::create(out, &columns, &metadata)?),
        TableFormat::Csv => Box::new(CsvTable::create(out, &columns)?),
        #[cfg(not(feature = "parquet"))]
        _ => {
            // It is in the files that this build cannot write.
            let _ = metadata;
            return Err(ExportError::WithoutParquet);
        }
    };
    let mut written = 0;
    for rank in run.ranks() {
        for (log, first_seq) in run.logs_of(rank) {
            written += write_log(log, (name, rank, first_seq), &columns, rows.as_mut())?;
        }
    }
    rows.finish()?;
    Ok(written)
}

fn write_log(
    log: &Log,
    (run, rank, first_seq): (&str, u32, u64),
    columns: &Columns,
    rows: &mut dyn Rows,
) -> Result<u64, ExportError> {
    let thread = log.identity().thread;
    // Call path → columns of the method's values, name of the path.
    let mut paths: HashMap<u32, (Vec<usize>, String)> = HashMap::new();
    let n = columns.columns.len();
    let mut written = 0;
    for record in log.records_from(first_seq) {
        let (places, callpath) = paths.entry(record.call_path).or_insert_with(|| {
            let name = log.definitions().call_path_name(record.call_path);
            (columns.places_of(record.method), name)
        });
        let mut cells = vec![Cell::Absent; n];
        fill(&mut cells, &record, (run, rank, thread), callpath, places);
        rows.push(&cells)?;
        written += 1;
    }
    Ok(written)
}

fn fill<'a>(
    cells: &mut [Cell<'a>],
    record: &Record<'a>,
    (run, rank, thread): (&'a str, u32, u32),
    callpath: &'a str,
    places: &[usize],
) {
    // Nanoseconds and counts beyond i64 do not happen in this century; the bits stay all the same.
    let integer = |value: u64| Cell::Integer(value.cast_signed());
    let or_absent = |value: Option<u64>| value.map_or(Cell::Absent, integer);
    let method = record.method;
    let first = [
        Cell::Text(run),
        Cell::Integer(rank.into()),
        Cell::Integer(thread.into()),
        Cell::Text(&method.instance),
        Cell::Text(&method.class),
        Cell::Text(&method.port),
        Cell::Text(&method.method),
        integer(record.seq),
        integer(record.start_ns),
        integer(record.wall_ns),
        or_absent(record.mpi_ns),
        or_absent(record.compute_ns()),
    ];
    cells[..N_FIRST].copy_from_slice(&first);
    let parameter = |value: Value<'a>| match value {
        Value::Integer(value) => Cell::Integer(value),
        Value::Real(value) => Cell::Real(value),
        Value::Label(_, Some(label)) => Cell::Text(label),
        Value::Label(word, None) => Cell::Index(word),
    };
    let values = record.parameters().map(parameter);
    let values = values.chain(record.counters().map(or_absent));
    for (place, value) in places.iter().zip(values) {
        cells[*place] = value;
    }
    let n = cells.len();
    cells[n - 3..].copy_from_slice(&[
        Cell::Text(callpath),
        or_absent(record.parent_seq),
        Cell::Flag(record.failed),
    ]);
}
