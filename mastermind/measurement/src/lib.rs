//! Clocks, counters and the recording context of each thread.
//!
//! [`RunRecorder`] owns the logs of a rank's threads. Proxies record into it through [`cca_abi::recording::Recording`],
//! and read its [`Clock`].

mod circumstances;
mod clock;
mod clock_step;
mod cost;
mod counters;
mod events;
mod functions;
mod processors;
mod recorder;
mod shared;
mod thread_end;
mod thread_log;
mod timers;

pub use circumstances::{circumstances, end};
pub use clock::Clock;
pub use cost::measure_cost;
pub use counters::{CounterError, counter_names, current_counter, probe_counters};
pub use events::{AtomicEvents, EventError};
pub use processors::{processors_online, ranks_share_processors};
pub use recorder::{MpiFunctions, RecorderConfig, RunRecorder, RunTotals};
pub use timers::{TimerError, TimerSums, Timers, process_virtual_ns};
