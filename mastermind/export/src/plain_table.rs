//! A small table, whole in memory: columns of one type without absent values, and texts about it; to and from a Parquet file, and to
//! comma-separated values.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use crate::error::ExportError;
#[cfg(feature = "parquet")]
use crate::plain_parquet;

/// Values of a column, one a row.
#[derive(Clone, Debug, PartialEq)]
pub enum PlainColumn {
    /// Signed integers.
    Integers(Vec<i64>),
    /// Real numbers; not a number where there is none.
    Reals(Vec<f64>),
    /// Texts.
    Texts(Vec<String>),
}

impl PlainColumn {
    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            Self::Integers(values) => values.len(),
            Self::Reals(values) => values.len(),
            Self::Texts(values) => values.len(),
        }
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn text(&self, row: usize) -> String {
        let text = match self {
            Self::Integers(values) => values.get(row).map(i64::to_string),
            Self::Reals(values) => {
                let value = values.get(row).filter(|value| !value.is_nan());
                value.map(f64::to_string)
            }
            Self::Texts(values) => values.get(row).cloned(),
        };
        text.unwrap_or_default()
    }
}

/// A table and texts about it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlainTable {
    /// Names, each once, and columns of the same length.
    pub columns: Vec<(String, PlainColumn)>,
    /// Keys and values of the file's metadata.
    pub metadata: Vec<(String, String)>,
}

impl PlainTable {
    /// The column of a name.
    pub fn column(&self, name: &str) -> Option<&PlainColumn> {
        let mut columns = self.columns.iter();
        columns.find(|(of, _)| of == name).map(|(_, column)| column)
    }

    /// The text of a key.
    pub fn text(&self, key: &str) -> Option<&str> {
        let mut metadata = self.metadata.iter();
        let found = metadata.find(|(of, _)| of == key);
        found.map(|(_, text)| &**text)
    }

    /// Writes the table as a Parquet file.
    ///
    /// # Arguments
    /// * `path` - its name, for errors
    /// * `file` - where it goes
    ///
    /// # Errors
    /// The system's; columns of unequal length; this build has no Parquet.
    pub fn write(&self, path: &Path, file: File) -> Result<(), ExportError> {
        #[cfg(feature = "parquet")]
        return plain_parquet::write(self, path, file);
        #[cfg(not(feature = "parquet"))]
        {
            let _ = (path, file);
            Err(ExportError::WithoutParquet)
        }
    }

    /// Reads the table of a Parquet file.
    ///
    /// # Errors
    /// [`ExportError::NoTable`] if it is damaged, or has other columns than such a table; the system's; this build has no Parquet.
    pub fn read(path: &Path) -> Result<Self, ExportError> {
        #[cfg(feature = "parquet")]
        return plain_parquet::read(path);
        #[cfg(not(feature = "parquet"))]
        {
            let _ = path;
            Err(ExportError::WithoutParquet)
        }
    }

    /// Writes the table as comma-separated values, with a line of names; what is not a number is empty.
    ///
    /// # Arguments
    /// * `path` - its name, for errors
    /// * `out` - where it goes
    ///
    /// # Errors
    /// The system's.
    pub fn write_csv(&self, path: &Path, out: impl Write) -> Result<(), ExportError> {
        let mut writer = csv::Writer::from_writer(out);
        let names = self.columns.iter().map(|(name, _)| name);
        writer.write_record(names).map_err(ExportError::csv(path))?;
        let n_rows = self.columns.first().map_or(0, |(_, column)| column.len());
        for row in 0..n_rows {
            let values = self.columns.iter().map(|(_, column)| column.text(row));
            writer
                .write_record(values)
                .map_err(ExportError::csv(path))?;
        }
        writer.flush().map_err(ExportError::io(path))
    }
}

#[cfg(all(test, feature = "parquet"))]
mod tests {
    use super::*;

    fn table() -> PlainTable {
        let texts = ["a", "", "ä\n\u{0}"].map(String::from).to_vec();
        let column = |name: &str, column| (name.to_owned(), column);
        PlainTable {
            columns: vec![
                column("n", PlainColumn::Integers(vec![1, i64::MIN, 3])),
                column("x", PlainColumn::Reals(vec![0.5, -0.0, f64::MAX])),
                column("t", PlainColumn::Texts(texts)),
            ],
            metadata: vec![("version".into(), "1".into())],
        }
    }

    #[test]
    fn a_table_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.parquet");
        table().write(&path, File::create(&path).unwrap()).unwrap();
        let read = PlainTable::read(&path).unwrap();
        assert_eq!(read.columns, table().columns);
        assert_eq!(read.text("version"), Some("1"));
        let mut text = Vec::new();
        table().write_csv(&path, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(text.starts_with("n,x,t\n1,0.5,a\n"), "{text}");
    }

    #[test]
    fn a_damaged_table_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.parquet");
        table().write(&path, File::create(&path).unwrap()).unwrap();
        let whole = std::fs::read(&path).unwrap();
        for length in 0..whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            let error = PlainTable::read(&path).unwrap_err();
            assert!(matches!(error, ExportError::NoTable { .. }), "{error}");
        }
        // Flipped bytes may leave a table; they end nothing.
        for place in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[place] ^= 0x55;
            std::fs::write(&path, bytes).unwrap();
            let _ = PlainTable::read(&path);
        }
    }
}
