//! A table as an Arrow IPC file, a batch of rows at a time.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Float64Builder, Int64Builder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use crate::cell::{Cell, Out, Shape};
use crate::columns::{Column, Columns};
use crate::error::ExportError;
use crate::table::Rows;

/// Rows of a batch.
const ROWS_PER_BATCH: usize = 1 << 16;

/// Values of one column of a batch.
enum Values {
    Integers(Int64Builder),
    Reals(Float64Builder),
    Texts(StringBuilder),
    Flags(BooleanBuilder),
}

pub(crate) struct ArrowTable {
    path: PathBuf,
    schema: SchemaRef,
    writer: FileWriter<Out>,
    columns: Vec<Values>,
    rows: usize,
}

impl ArrowTable {
    pub(crate) fn create(
        (path, out): (&Path, Out),
        columns: &Columns,
        metadata: &[(&str, &str)],
    ) -> Result<Self, ExportError> {
        let fields = columns.columns.iter();
        let fields: Vec<_> = fields.map(|column| field(column, DataType::Utf8)).collect();
        let metadata = metadata.iter();
        let metadata = metadata.map(|(key, value)| (key.to_string(), value.to_string()));
        let schema = Schema::new_with_metadata(fields, metadata.collect::<HashMap<_, _>>());
        let schema = Arc::new(schema);
        let writer = FileWriter::try_new(out, &schema);
        Ok(ArrowTable {
            path: path.into(),
            writer: writer.map_err(ExportError::arrow(path))?,
            columns: columns.columns.iter().map(values).collect(),
            schema,
            rows: 0,
        })
    }

    fn flush(&mut self) -> Result<(), ExportError> {
        if self.rows == 0 {
            return Ok(());
        }
        self.rows = 0;
        let arrays = self.columns.iter_mut().map(Values::finish).collect();
        RecordBatch::try_new(self.schema.clone(), arrays)
            .and_then(|batch| self.writer.write(&batch))
            .map_err(ExportError::arrow(&self.path))
    }
}

/// The field of a column.
///
/// # Arguments
/// * `text` - how texts are kept
pub(crate) fn field(column: &Column, text: DataType) -> Field {
    let kind = match column.shape {
        Shape::Delta | Shape::Few => DataType::Int64,
        Shape::Real => DataType::Float64,
        Shape::Text => text,
        Shape::Flag => DataType::Boolean,
    };
    let metadata = [("unit", column.unit.as_str()), ("about", column.about)];
    let metadata = metadata.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let field = Field::new(&column.name, kind, column.is_nullable);
    field.with_metadata(HashMap::from(metadata))
}

fn values(column: &Column) -> Values {
    match column.shape {
        Shape::Delta | Shape::Few => Values::Integers(Int64Builder::new()),
        Shape::Real => Values::Reals(Float64Builder::new()),
        Shape::Text => Values::Texts(StringBuilder::new()),
        Shape::Flag => Values::Flags(BooleanBuilder::new()),
    }
}

impl Values {
    fn push(&mut self, cell: Cell<'_>) {
        match (self, cell) {
            (Values::Integers(values), Cell::Integer(value)) => values.append_value(value),
            (Values::Reals(values), Cell::Real(value)) => values.append_value(value),
            (Values::Texts(values), Cell::Text(value)) => values.append_value(value),
            (Values::Texts(values), Cell::Index(index)) => values.append_value(index.to_string()),
            (Values::Flags(values), Cell::Flag(value)) => values.append_value(value),
            (Values::Integers(values), _) => values.append_null(),
            (Values::Reals(values), _) => values.append_null(),
            (Values::Texts(values), _) => values.append_null(),
            (Values::Flags(values), _) => values.append_null(),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Values::Integers(values) => Arc::new(values.finish()),
            Values::Reals(values) => Arc::new(values.finish()),
            Values::Texts(values) => Arc::new(values.finish()),
            Values::Flags(values) => Arc::new(values.finish()),
        }
    }
}

impl Rows for ArrowTable {
    fn push(&mut self, cells: &[Cell<'_>]) -> Result<(), ExportError> {
        for (values, cell) in self.columns.iter_mut().zip(cells) {
            values.push(*cell);
        }
        self.rows += 1;
        match self.rows {
            ROWS_PER_BATCH => self.flush(),
            _ => Ok(()),
        }
    }

    fn finish(mut self: Box<Self>) -> Result<(), ExportError> {
        self.flush()?;
        self.writer.finish().map_err(ExportError::arrow(&self.path))
    }
}
