//! Record logs: layout, writer, reader and exports.
//!
//! * [`LogWriter`] writes the log of one thread to a memory-mapped file, which stays readable if the process is killed.
//! * [`Log`] reads one log and [`Run`] all logs of a directory; both report damage.
//! * [`RunFollower`] reads the logs of a running program as they grow, each record once.
//! * [`RunInfo`] collects facts about a run apart from its calls.
//! * [`Profile`] sums up a run, [`compare()`] compares two runs, [`write_csv`] exports one; [`Overview`] is what it did when.
//!
//! [`cca_abi::recording::word`] defines the words of a record; [`layout`] defines the file.

mod calibration;
mod call_tree;
mod chunk;
mod compare;
mod counting;
mod coverage;
mod csv_export;
mod damage;
pub mod definition;
mod definitions;
mod effect;
mod error;
mod exclusive;
mod flush;
mod follow;
mod info;
pub mod layout;
mod log;
mod made;
mod mpi;
mod openmp;
mod own_file;
pub mod own_thread;
pub mod packed;
mod parallel;
mod path_totals;
mod preparer;
mod profile;
mod rank_tree;
mod records;
mod run;
mod scan;
mod source;
mod spread;
mod state;
mod summary;
mod timeline;
mod totals;
mod trim;
mod writer;

pub use calibration::TimeBase;
pub use call_tree::{CallNode, CallTree, MPI};
pub use chunk::check_file_size;
pub use compare::{
    Compared, MARGIN_PERCENT, Overall, RunCalls, Side, Verdict, compare, compare_calls,
    compare_within, overall,
};
pub use coverage::{Coverage, MethodCoverage};
pub use csv_export::write_csv;
pub use damage::Damage;
pub use definition::{Definition, MPI_CLASS};
pub use definitions::Definitions;
pub use effect::{Effect, LEVEL as EFFECT_LEVEL};
pub use error::RecordsError;
pub use exclusive::{Exclusive, ExclusiveSeries, ExclusiveTimes};
pub use follow::{RunFollower, Stretch};
pub use info::{CircumstancesInfo, ClockInfo, RunInfo};
pub use layout::{Calibration, LogIdentity};
pub use log::{Log, OpenCallInfo, RunningSums, is_being_written};
pub use made::MadeLog;
pub use mpi::{
    CallTimes, CommunicatorClass, MessageSizes, MpiCallNow, MpiCalls, MpiPhase, MpiRank, ended_by,
    one_sided, sends, starts_or_ends,
};
pub use openmp::{OpenMpProcess, OpenMpTimes};
pub use own_file::create_anew;
pub use packed::{PackOptions, PackedDirectory, holds_records, pack, packed_ranks};
pub use parallel::in_parallel;
pub use path_totals::PathTimes;
pub use preparer::ChunkPreparer;
pub use profile::{Profile, ProfileOfRanks, ProfileSums, Row, SELF_COST};
pub use rank_tree::RankTree;
pub use records::{Record, RecordValues, Records, RecordsPlace, Series, Value};
pub use run::{MpiRoutine, ProcessorTime, Run, open_run, rank_ranges};
pub use spread::RankSpread;
pub use summary::SUMMARY_FILE;
pub use timeline::{OVERVIEW_FILE, Overview, Part, RowName, RowSlices, Slice, View, ViewRow};
pub use totals::UnrecordedCalls;
pub use trim::{lost_calls, trim};
pub use writer::{ChunkSizes, Kept, LogTotals, LogWriter, RecordWords};
