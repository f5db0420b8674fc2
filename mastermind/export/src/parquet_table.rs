//! One Parquet file: columns collected in memory, written a row group at a time.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::{Compression, ConvertedType, Encoding, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesPtr};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{ColumnPath, Type};

use crate::error::ExportError;

/// Rows of a row group: what a table holds in memory at most.
const ROWS_PER_GROUP: usize = 1 << 19;

/// How a column is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Shape {
    /// Integers, no two alike: differences, packed.
    Delta,
    /// Integers of few values: a dictionary, or differences where it grows too large.
    Few,
    /// Real numbers.
    Real,
    /// Text of few values.
    Text,
}

/// Values of one column; absent ones have a level of 0 and no value.
#[derive(Debug)]
enum Values {
    Integers(Vec<i64>),
    Reals(Vec<f64>),
    Texts(Vec<ByteArray>),
}

#[derive(Debug)]
struct Column {
    values: Values,
    /// For each row whether it has a value.
    levels: Vec<i16>,
}

/// A cell of a row.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cell<'a> {
    Integer(i64),
    Real(f64),
    Text(&'a str),
    Absent,
}

/// A table that is being written.
pub(crate) struct ParquetTable {
    path: PathBuf,
    writer: SerializedFileWriter<File>,
    columns: Vec<Column>,
    rows: usize,
}

impl ParquetTable {
    /// # Arguments
    /// * `columns` - names, each once, and shapes; every column may have absent values
    pub(crate) fn create(path: &Path, columns: &[(String, Shape)]) -> Result<Self, ExportError> {
        let file = File::create(path).map_err(ExportError::io(path))?;
        let writer = writer(file, columns).map_err(ExportError::parquet(path))?;
        let column = |shape: Shape| Column {
            values: match shape {
                Shape::Delta | Shape::Few => Values::Integers(Vec::new()),
                Shape::Real => Values::Reals(Vec::new()),
                Shape::Text => Values::Texts(Vec::new()),
            },
            levels: Vec::new(),
        };
        Ok(Self {
            path: path.into(),
            writer,
            columns: columns.iter().map(|(_, shape)| column(*shape)).collect(),
            rows: 0,
        })
    }

    /// Appends a row: a cell a column, each of its column's type or absent.
    pub(crate) fn push<'a>(
        &mut self,
        cells: impl Iterator<Item = Cell<'a>>,
    ) -> Result<(), ExportError> {
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            let present = match (&mut column.values, cell) {
                (Values::Integers(values), Cell::Integer(value)) => {
                    values.push(value);
                    true
                }
                (Values::Reals(values), Cell::Real(value)) => {
                    values.push(value);
                    true
                }
                (Values::Texts(values), Cell::Text(value)) => {
                    values.push(value.as_bytes().to_vec().into());
                    true
                }
                _ => false,
            };
            column.levels.push(present.into());
        }
        self.rows += 1;
        if self.rows == ROWS_PER_GROUP {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), ExportError> {
        if self.rows > 0 {
            write_group(&mut self.writer, &mut self.columns)
                .map_err(ExportError::parquet(&self.path))?;
            self.rows = 0;
        }
        Ok(())
    }

    /// Writes what is left, and the footer.
    ///
    /// # Returns
    /// The file.
    pub(crate) fn finish(mut self) -> Result<PathBuf, ExportError> {
        self.flush()?;
        self.writer
            .close()
            .map_err(ExportError::parquet(&self.path))?;
        Ok(self.path)
    }
}

fn writer(
    file: File,
    columns: &[(String, Shape)],
) -> Result<SerializedFileWriter<File>, ParquetError> {
    let mut fields = Vec::new();
    for (name, shape) in columns {
        let (physical, converted) = match shape {
            Shape::Delta | Shape::Few => (Physical::INT64, ConvertedType::NONE),
            Shape::Real => (Physical::DOUBLE, ConvertedType::NONE),
            Shape::Text => (Physical::BYTE_ARRAY, ConvertedType::UTF8),
        };
        let field = Type::primitive_type_builder(name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_converted_type(converted);
        fields.push(Arc::new(field.build()?));
    }
    let schema = Type::group_type_builder("record").with_fields(fields);
    SerializedFileWriter::new(file, Arc::new(schema.build()?), properties(columns))
}

fn properties(columns: &[(String, Shape)]) -> WriterPropertiesPtr {
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::GZIP(Default::default()))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true);
    for (name, shape) in columns {
        let path = ColumnPath::from(name.as_str());
        // The encoding beside a dictionary is the one it falls back to.
        properties = properties.set_column_dictionary_enabled(path.clone(), *shape != Shape::Delta);
        if matches!(shape, Shape::Delta | Shape::Few) {
            properties = properties.set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
        }
    }
    Arc::new(properties.build())
}

fn write_group(
    writer: &mut SerializedFileWriter<File>,
    columns: &mut [Column],
) -> Result<(), ParquetError> {
    let mut group = writer.next_row_group()?;
    for column in columns {
        if let Some(mut file_column) = group.next_column()? {
            write_column(&mut file_column, column)?;
            file_column.close()?;
        }
    }
    group.close().map(|_| ())
}

fn write_column(
    file_column: &mut SerializedColumnWriter<'_>,
    column: &mut Column,
) -> Result<(), ParquetError> {
    let levels = Some(column.levels.as_slice());
    match &mut column.values {
        Values::Integers(values) => {
            file_column
                .typed::<Int64Type>()
                .write_batch(values, levels, None)?;
            values.clear();
        }
        Values::Reals(values) => {
            file_column
                .typed::<DoubleType>()
                .write_batch(values, levels, None)?;
            values.clear();
        }
        Values::Texts(values) => {
            file_column
                .typed::<ByteArrayType>()
                .write_batch(values, levels, None)?;
            values.clear();
        }
    }
    column.levels.clear();
    Ok(())
}
