//! Plain tables in Parquet files.
//!
//! The file may come from anywhere: a missing column, or one of another type or length, is an error, and every count
//! in the file is checked before memory is allocated by it.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use parquet::basic::{Repetition, Type as Physical};
use parquet::column::reader::get_typed_column_reader;
use parquet::data_type::{ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};

use crate::cell::{Cell, Shape};
use crate::error::ExportError;
use crate::parquet_table::ParquetTable;
use crate::plain_table::{PlainColumn, PlainTable};

/// Most rows of a table that is read: more is no table that was written here, and would fill the memory.
const MAX_ROWS: usize = 1 << 24;

/// Writes a table; see [`PlainTable::write`].
///
/// # Arguments
/// * `path` - its name, for errors
/// * `file` - where it goes
///
/// # Errors
/// The system's; columns of unequal length.
pub(crate) fn write(table: &PlainTable, path: &Path, file: File) -> Result<(), ExportError> {
    let columns: Vec<_> = table
        .columns
        .iter()
        .map(|(name, column)| (name.clone(), shape(column), false))
        .collect();
    let metadata: Vec<_> = table
        .metadata
        .iter()
        .map(|(key, value)| (&**key, &**value))
        .collect();
    let n_rows = table.columns.first().map_or(0, |(_, column)| column.len());
    if let Some((name, _)) = table.columns.iter().find(|(_, c)| c.len() != n_rows) {
        return Err(ExportError::NoTable {
            path: path.into(),
            problem: format!("column \"{name}\" of another length"),
            expected: "columns of one length".into(),
        });
    }
    let out = Box::new(BufWriter::new(file));
    // Small files take a block each anyway, and a thousand of them are read at once.
    let mut written = ParquetTable::create_with((path, out), &columns, &metadata, false)?;
    for row in 0..n_rows {
        written.push(table.columns.iter().map(|(_, column)| cell(column, row)))?;
    }
    written.finish().map(drop)
}

/// Reads a table.
///
/// # Errors
/// [`ExportError::NoTable`] if it is damaged, or has other columns than those of such a table; the system's.
pub(crate) fn read(path: &Path) -> Result<PlainTable, ExportError> {
    let file = File::open(path).map_err(ExportError::unread(path))?;
    let no_table = |problem: String| ExportError::NoTable {
        path: path.into(),
        problem,
        expected: "a whole Parquet file of integers, reals and texts".into(),
    };
    // A reader of foreign bytes: whatever it stumbles over must not end the program.
    let read = || -> Result<PlainTable, ParquetError> {
        let reader = SerializedFileReader::new(file)?;
        from_reader(&reader)
    };
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(read));
    match caught {
        Ok(read) => read.map_err(|error| no_table(error.to_string())),
        Err(_) => Err(no_table("damaged".into())),
    }
}

fn from_reader(reader: &SerializedFileReader<File>) -> Result<PlainTable, ParquetError> {
    let general = |text: String| ParquetError::General(text);
    let about = reader.metadata().file_metadata();
    let n_rows = usize::try_from(about.num_rows()).unwrap_or(usize::MAX);
    if n_rows > MAX_ROWS {
        return Err(general(format!("{n_rows} rows, at most {MAX_ROWS}")));
    }
    let metadata = about.key_value_metadata().into_iter().flatten();
    let metadata = metadata.map(|pair| (pair.key.clone(), pair.value.clone().unwrap_or_default()));
    let schema = about.schema_descr();
    let mut columns = Vec::new();
    for (place, column) in schema.columns().iter().enumerate() {
        if column.self_type().get_basic_info().repetition() != Repetition::REQUIRED {
            return Err(general(format!(
                "column \"{}\" with absent values",
                column.name()
            )));
        }
        let values = match column.physical_type() {
            Physical::INT64 => {
                PlainColumn::Integers(read_column::<Int64Type>(reader, place, n_rows)?)
            }
            Physical::DOUBLE => {
                PlainColumn::Reals(read_column::<DoubleType>(reader, place, n_rows)?)
            }
            Physical::BYTE_ARRAY => {
                let texts = read_column::<ByteArrayType>(reader, place, n_rows)?;
                let text = |bytes: &parquet::data_type::ByteArray| {
                    let text = std::str::from_utf8(bytes.data());
                    text.map(str::to_owned).map_err(|e| general(e.to_string()))
                };
                PlainColumn::Texts(texts.iter().map(text).collect::<Result<_, _>>()?)
            }
            other => return Err(general(format!("column \"{}\" of {other}", column.name()))),
        };
        columns.push((column.name().to_owned(), values));
    }
    Ok(PlainTable {
        columns,
        metadata: metadata.collect(),
    })
}

fn shape(column: &PlainColumn) -> Shape {
    match column {
        PlainColumn::Integers(_) => Shape::Few,
        PlainColumn::Reals(_) => Shape::Real,
        PlainColumn::Texts(_) => Shape::Text,
    }
}

fn cell(column: &PlainColumn, row: usize) -> Cell<'_> {
    let cell = match column {
        PlainColumn::Integers(values) => values.get(row).map(|value| Cell::Integer(*value)),
        PlainColumn::Reals(values) => values.get(row).map(|value| Cell::Real(*value)),
        PlainColumn::Texts(values) => values.get(row).map(|value| Cell::Text(value)),
    };
    cell.unwrap_or(Cell::Absent)
}

/// The values of a column over all row groups.
fn read_column<T: DataType>(
    reader: &SerializedFileReader<File>,
    place: usize,
    n_rows: usize,
) -> Result<Vec<T::T>, ParquetError> {
    let mut values = Vec::new();
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group)?;
        let mut column = get_typed_column_reader::<T>(group.get_column_reader(place)?);
        loop {
            let left = n_rows.saturating_sub(values.len());
            let (n_records, n_values, _) =
                column.read_records(left.max(1), None, None, &mut values)?;
            if values.len() > n_rows {
                return Err(ParquetError::General("more rows than the file says".into()));
            }
            if n_records == 0 && n_values == 0 {
                break;
            }
        }
    }
    match values.len() == n_rows {
        true => Ok(values),
        false => Err(ParquetError::General(format!(
            "{} rows of a column, expected {n_rows}",
            values.len()
        ))),
    }
}
