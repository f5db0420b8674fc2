//! Records in other tools' formats.
//!
//! * [`write_table`]: all records of a run as one table, in Parquet, Arrow or comma-separated values, with the same columns;
//! * [`write_parquet`]: a dataset partitioned by method and rank, where methods have many parameters of their own;
//! * [`RecordBatches`]: the same table as Arrow record batches in memory, of the columns, methods and ranks that are wanted, and of
//!   rows that meet [`Condition`]s;
//! * [`PlainTable`]: a small table in memory, to a Parquet file and back;
//! * [`write_perfetto`]: a trace in Chrome's JSON format, for Perfetto;
//! * [`write_extrap`]: Extra-P's text format and its JSON lines.
//!
//! CSV by method is `mastermind_records::write_csv`. This crate is separate from the records because Parquet and
//! Arrow take long to build. Without the feature `parquet` there are no `RecordBatches`, and writing either format
//! fails with [`ExportError::WithoutParquet`].

#[cfg(feature = "parquet")]
mod arrow_stream;
#[cfg(feature = "parquet")]
mod arrow_table;
#[cfg(feature = "parquet")]
mod batch;
mod cell;
#[cfg(feature = "parquet")]
mod column;
mod columns;
#[cfg(feature = "parquet")]
mod condition;
mod csv_table;
mod error;
mod extrap;
mod folded;
mod names;
#[cfg(feature = "parquet")]
mod parquet_table;
#[cfg(feature = "parquet")]
mod parquet_writer;
#[cfg(not(feature = "parquet"))]
#[path = "without_parquet.rs"]
mod parquet_writer;
mod perfetto;
#[cfg(feature = "parquet")]
mod plain_parquet;
mod plain_table;
mod table;

#[cfg(feature = "parquet")]
pub use arrow_stream::{MethodFilter, RecordBatches, Selection};
#[cfg(feature = "parquet")]
pub use condition::{Comparison, Condition, Operand};
pub use error::ExportError;
pub use extrap::{ExtrapFormat, Extrapolated, write_extrap};
pub use folded::write_folded;
pub use parquet_writer::{add_parquet, make_empty, write_parquet};
pub use perfetto::write_perfetto;
pub use plain_table::{PlainColumn, PlainTable};
pub use table::{TableFormat, write_table};
