//! Clocks and the recording context of each thread.
//!
//! [`RunRecorder`] owns the logs of a rank's threads and is what proxies record into, through
//! [`cca_abi::recording::Recording`]; [`Clock`] is the clock they read.

mod clock;
mod cost;
mod functions;
mod recorder;
mod shared;
mod thread_log;

pub use clock::Clock;
pub use cost::measure_cost;
pub use recorder::{MpiFunctions, RecorderConfig, RunRecorder, RunTotals};
