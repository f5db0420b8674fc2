//! Records in other tools' formats.
//!
//! * [`write_parquet`]: a dataset partitioned by method and rank, for DuckDB, Polars, Spark;
//! * [`write_perfetto`]: a trace in Chrome's JSON format, for Perfetto;
//! * [`write_extrap`]: Extra-P's text format and its JSON lines.
//!
//! CSV is `mastermind_records::write_csv`. This crate is apart from the records because Parquet is much to build.

mod error;
mod extrap;
mod names;
mod parquet_table;
mod parquet_writer;
mod perfetto;

pub use error::ExportError;
pub use extrap::{ExtrapFormat, Extrapolated, write_extrap};
pub use parquet_writer::write_parquet;
pub use perfetto::write_perfetto;
