//! Records in other tools' formats.
//!
//! * [`write_table`]: all records of a run as one table, in Parquet, Arrow or comma-separated values, with the same columns;
//! * [`write_parquet`]: a dataset partitioned by method and rank, where methods have many parameters of their own;
//! * [`RecordBatches`]: the same table as Arrow record batches in memory, of the columns, methods and ranks that are wanted;
//! * [`write_perfetto`]: a trace in Chrome's JSON format, for Perfetto;
//! * [`write_extrap`]: Extra-P's text format and its JSON lines.
//!
//! CSV by method is `mastermind_records::write_csv`. This crate is apart from the records because Parquet is much to build.

mod arrow_stream;
mod arrow_table;
mod batch;
mod columns;
mod csv_table;
mod error;
mod extrap;
mod names;
mod parquet_table;
mod parquet_writer;
mod perfetto;
mod table;

pub use arrow_stream::{MethodFilter, RecordBatches, Selection};
pub use error::ExportError;
pub use extrap::{ExtrapFormat, Extrapolated, write_extrap};
pub use parquet_writer::write_parquet;
pub use perfetto::write_perfetto;
pub use table::{TableFormat, write_table};
