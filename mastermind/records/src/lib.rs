//! The record log: layout, writer, reader, exports.
//!
//! * [`LogWriter`] writes the log of one thread, in a memory-mapped file that a killed process leaves readable;
//! * [`Log`] reads one, [`Run`] all logs of a directory, and both say what is damaged;
//! * [`Profile`] sums a run up, [`compare()`] holds two side by side; [`write_csv`] exports one.
//!
//! What a record is made of, word by word, is [`cca_abi::recording::word`]; the file around it is [`layout`].

mod calibration;
mod chunk;
mod compare;
mod csv_export;
mod damage;
pub mod definition;
mod definitions;
mod error;
mod exclusive;
pub mod layout;
mod log;
mod profile;
mod records;
mod run;
mod scan;
mod source;
mod summary;
mod writer;

pub use calibration::TimeBase;
pub use chunk::ChunkPreparer;
pub use compare::{Compared, Side, Verdict, compare};
pub use csv_export::write_csv;
pub use damage::Damage;
pub use definition::{Definition, MPI_CLASS};
pub use definitions::Definitions;
pub use error::RecordsError;
pub use exclusive::{Exclusive, ExclusiveTimes};
pub use layout::{Calibration, LogIdentity};
pub use log::{Log, OpenCallInfo};
pub use profile::{Profile, ProfileSums, Row, SELF_COST};
pub use records::{Record, RecordValues, Records, Value};
pub use run::{MpiRoutine, Run, open_run};
pub use summary::SUMMARY_FILE;
pub use writer::{ChunkSizes, Kept, LogTotals, LogWriter, RecordWords};
