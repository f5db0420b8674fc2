//! Writes one Parquet file: columns collected in memory, written one row group at a time.
//!
//! A row has one cell per column, either of the column's type or absent. Cells are appended to the columns, and a
//! full row group goes to the file, so that memory does not grow with the number of rows. Texts with few distinct
//! values are stored once each, as a dictionary.
//!
//! ```text
//! push(["flux", 1620, absent])      columns in memory, with a level of 0 for the absent cell
//! push(["mesh", absent, 151])
//! ... a full row group              -> file
//! finish                            -> last row group, footer
//! ```

use std::collections::HashMap;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::{Compression, ConvertedType, Encoding, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesPtr};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{ColumnPath, Type};

use crate::cell::{Cell, Out, Shape};
use crate::error::ExportError;

/// Rows per row group, the most that a table keeps in memory.
const ROWS_PER_GROUP: usize = 1 << 19;

/// Values of one column; absent ones have a level of 0 and no value.
#[derive(Debug)]
enum Values {
    Integers(Vec<i64>),
    Reals(Vec<f64>),
    Texts(Texts),
    Flags(Vec<bool>),
}

/// Texts with few distinct values, each stored once.
#[derive(Debug, Default)]
struct Texts {
    rows: Vec<ByteArray>,
    known: HashMap<String, ByteArray>,
}

impl Texts {
    fn push(&mut self, text: &str) {
        if let Some(known) = self.known.get(text) {
            return self.rows.push(known.clone());
        }
        let bytes = ByteArray::from(text.as_bytes().to_vec());
        self.known.insert(text.to_owned(), bytes.clone());
        self.rows.push(bytes);
    }
}

#[derive(Debug)]
struct Column {
    values: Values,
    /// For each row whether it has a value; `None` where every row has one.
    levels: Option<Vec<i16>>,
}

/// A table while it is being written.
pub(crate) struct ParquetTable {
    path: PathBuf,
    writer: SerializedFileWriter<Out>,
    columns: Vec<Column>,
    rows: usize,
}

impl ParquetTable {
    /// # Arguments
    /// * `columns` - names, each once, and shapes; every column may have absent values
    pub(crate) fn create(path: &Path, columns: &[(String, Shape)]) -> Result<Self, ExportError> {
        let columns: Vec<_> = columns
            .iter()
            .map(|(name, shape)| (name.clone(), *shape, true))
            .collect();
        let file = File::create(path).map_err(ExportError::io(path))?;
        let out = Box::new(BufWriter::new(file));
        Self::create_with((path, out), &columns, &[], true)
    }

    /// # Arguments
    /// * `path`, `out` - where it goes, and its name for errors
    /// * `columns` - names, each once, shapes, and whether there may be absent values
    /// * `metadata` - keys and values of the file
    /// * `is_compressed` - whether pages are compressed after encoding
    pub(crate) fn create_with(
        (path, out): (&Path, Out),
        columns: &[(String, Shape, bool)],
        metadata: &[(&str, &str)],
        is_compressed: bool,
    ) -> Result<Self, ExportError> {
        let metadata = metadata.iter().map(|(key, value)| KeyValue {
            key: (*key).into(),
            value: Some((*value).into()),
        });
        let writer = writer(out, columns, (metadata.collect(), is_compressed))
            .map_err(ExportError::parquet(path))?;
        let column = |shape: Shape, is_nullable: bool| Column {
            values: match shape {
                Shape::Delta | Shape::Few => Values::Integers(Vec::new()),
                Shape::Real => Values::Reals(Vec::new()),
                Shape::Text => Values::Texts(Texts::default()),
                Shape::Flag => Values::Flags(Vec::new()),
            },
            levels: is_nullable.then(Vec::new),
        };
        Ok(Self {
            path: path.into(),
            writer,
            columns: columns
                .iter()
                .map(|(_, shape, is_nullable)| column(*shape, *is_nullable))
                .collect(),
            rows: 0,
        })
    }

    /// Appends a row: one cell per column, either of the column's type or absent.
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
                    values.push(value);
                    true
                }
                (Values::Texts(values), Cell::Index(index)) => {
                    values.push(&index.to_string());
                    true
                }
                (Values::Flags(values), Cell::Flag(value)) => {
                    values.push(value);
                    true
                }
                _ => false,
            };
            if let Some(levels) = &mut column.levels {
                levels.push(present.into());
            }
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

    /// Writes the last row group and the footer.
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
    file: Out,
    columns: &[(String, Shape, bool)],
    (metadata, is_compressed): (Vec<KeyValue>, bool),
) -> Result<SerializedFileWriter<Out>, ParquetError> {
    let mut fields = Vec::new();
    for (name, shape, is_nullable) in columns {
        let (physical, converted) = match shape {
            Shape::Delta | Shape::Few => (Physical::INT64, ConvertedType::NONE),
            Shape::Real => (Physical::DOUBLE, ConvertedType::NONE),
            Shape::Text => (Physical::BYTE_ARRAY, ConvertedType::UTF8),
            Shape::Flag => (Physical::BOOLEAN, ConvertedType::NONE),
        };
        let repetition = match is_nullable {
            true => Repetition::OPTIONAL,
            false => Repetition::REQUIRED,
        };
        let field = Type::primitive_type_builder(name, physical)
            .with_repetition(repetition)
            .with_converted_type(converted);
        fields.push(Arc::new(field.build()?));
    }
    let schema = Type::group_type_builder("record").with_fields(fields);
    SerializedFileWriter::new(
        file,
        Arc::new(schema.build()?),
        properties(columns, metadata, is_compressed),
    )
}

fn properties(
    columns: &[(String, Shape, bool)],
    metadata: Vec<KeyValue>,
    is_compressed: bool,
) -> WriterPropertiesPtr {
    let compression = match is_compressed {
        true => Compression::GZIP(Default::default()),
        false => Compression::UNCOMPRESSED,
    };
    let metadata = Some(metadata).filter(|metadata| !metadata.is_empty());
    let mut properties = WriterProperties::builder()
        .set_key_value_metadata(metadata)
        .set_compression(compression)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true);
    for (name, shape, _) in columns {
        let path = ColumnPath::from(name.as_str());
        // Columns with a dictionary fall back to the encoding that is set here.
        properties = properties.set_column_dictionary_enabled(
            path.clone(),
            !matches!(shape, Shape::Delta | Shape::Flag),
        );
        if matches!(shape, Shape::Delta | Shape::Few) {
            properties = properties.set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
        }
    }
    Arc::new(properties.build())
}

fn write_group(
    writer: &mut SerializedFileWriter<Out>,
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
    let levels = column.levels.as_deref();
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
                .write_batch(&values.rows, levels, None)?;
            values.rows.clear();
        }
        Values::Flags(values) => {
            file_column
                .typed::<BoolType>()
                .write_batch(values, levels, None)?;
            values.clear();
        }
    }
    if let Some(levels) = &mut column.levels {
        levels.clear();
    }
    Ok(())
}
