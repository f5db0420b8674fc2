//! The record log: layout, writer, reader, exports.
//!
//! * [`LogWriter`] writes the log of one thread, in a memory-mapped file that a killed process leaves readable;
//! * [`Log`] reads one, [`Run`] all logs of a directory, and both say what is damaged;
//! * [`write_csv`] exports a run.
//!
//! What a record is made of, word by word, is [`cca_abi::recording::word`]; the file around it is [`layout`].

mod chunk;
pub mod definition;
mod error;
pub mod layout;
mod writer;

pub use chunk::ChunkPreparer;
pub use definition::Definition;
pub use error::RecordsError;
pub use layout::{Calibration, LogIdentity};
pub use writer::{ChunkSizes, LogTotals, LogWriter, RecordWords};
