//! A table as comma-separated values.

use std::path::{Path, PathBuf};

use csv::Writer;

use crate::cell::{Cell, Out};
use crate::columns::Columns;
use crate::error::ExportError;
use crate::table::Rows;

pub(crate) struct CsvTable {
    path: PathBuf,
    writer: Writer<Out>,
}

impl CsvTable {
    pub(crate) fn create(
        (path, out): (&Path, Out),
        columns: &Columns,
    ) -> Result<Self, ExportError> {
        let mut writer = Writer::from_writer(out);
        let names = columns.columns.iter().map(|column| column.name.as_str());
        writer.write_record(names).map_err(ExportError::csv(path))?;
        Ok(CsvTable {
            path: path.into(),
            writer,
        })
    }
}

impl Rows for CsvTable {
    fn push(&mut self, cells: &[Cell<'_>]) -> Result<(), ExportError> {
        let mut written = Ok(());
        for cell in cells {
            let field = match *cell {
                Cell::Text(text) => self.writer.write_field(text),
                Cell::Integer(value) => self.writer.write_field(value.to_string()),
                // As many digits as give the same number again.
                Cell::Real(value) => self.writer.write_field(format!("{value:?}")),
                Cell::Index(index) => self.writer.write_field(index.to_string()),
                Cell::Flag(flag) => self.writer.write_field(if flag { "true" } else { "false" }),
                Cell::Absent => self.writer.write_field(""),
            };
            written = written.and(field);
        }
        written
            .and_then(|()| self.writer.write_record(None::<&[u8]>))
            .map_err(ExportError::csv(&self.path))
    }

    fn finish(mut self: Box<Self>) -> Result<(), ExportError> {
        self.writer.flush().map_err(ExportError::io(&self.path))
    }
}
