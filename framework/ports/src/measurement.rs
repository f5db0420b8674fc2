//! Measurement that a component requests itself: timers, events, their control, and their values while the run goes on.
//!
//! ```
//! # use cca_ports::{MeasurementPort, PortError, UsesPort};
//! # fn solve(measurement: &UsesPort<dyn MeasurementPort>) -> Result<(), PortError> {
//! let measurement = measurement.get()?;
//! let timer = measurement.create_timer("smooth".into(), "solver".into())?;
//! measurement.start(timer)?;
//! // …
//! measurement.stop(timer)
//! # }
//! ```

use crate::{PortError, RSlice, RStr, RString, RVec, StableAbi, port};

/// Name of the group that all calls of MPI are in.
pub const MPI_GROUP: &str = "MPI";

/// Values of a timer, over all threads. Times run from start to stop; those still running are not in them.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, StableAbi)]
pub struct TimerValues {
    /// Name.
    pub name: RString,
    /// Group.
    pub group: RString,
    /// How often it was started and stopped.
    pub calls: u64,
    /// How often other timers were started within it.
    pub subcalls: u64,
    /// Wall time, nanoseconds; a timer within itself counts once.
    pub inclusive_ns: u64,
    /// Wall time without the timers within it, nanoseconds.
    pub exclusive_ns: u64,
    /// Process virtual time (processor time of the thread), nanoseconds.
    pub virtual_inclusive_ns: u64,
    /// Process virtual time without the timers within it, nanoseconds.
    pub virtual_exclusive_ns: u64,
}

/// Values of an atomic event, over all threads.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, StableAbi)]
pub struct EventValues {
    /// Name.
    pub name: RString,
    /// How often it was triggered.
    pub count: u64,
    /// Smallest value; NaN before the first.
    pub min: f64,
    /// Largest value; NaN before the first.
    pub max: f64,
    /// Mean; NaN before the first.
    pub mean: f64,
    /// Standard deviation of these values (divided by their number); NaN before the first.
    pub std_deviation: f64,
}

/// A group of timers or monitored methods.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, Eq, StableAbi)]
pub struct TimerGroup {
    /// Name: as given with a timer, an interface for the methods of monitored ports, or [`MPI_GROUP`].
    pub name: RString,
    /// Whether it is measured.
    pub is_enabled: bool,
}

/// The value that a metric has at this moment, in the calling thread.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, StableAbi)]
pub struct MetricValue {
    /// Name: `wall`, `process_virtual`, `mpi`, or a counter's.
    pub name: RString,
    /// Unit; empty for pure numbers.
    pub unit: RString,
    /// Whether it can be had here; if not, `value` means nothing.
    pub is_available: bool,
    /// The value; only differences mean something.
    pub value: u64,
}

/// The interfaces of TAU's measurement component: timing, events, control and query.
#[port(name = "cca.Measurement", version = "1.0")]
pub trait MeasurementPort {
    /// Timing: the timer of this name and group, made if it is new, and enabled unless its group is disabled.
    ///
    /// # Errors
    /// An empty name or group.
    fn create_timer(&self, name: RStr<'_>, group: RStr<'_>) -> Result<u32, PortError>;

    /// Timing: gives a timer another name, from the next start on.
    ///
    /// # Errors
    /// An unknown timer; an empty name; a name that another timer of the group has.
    fn rename_timer(&self, timer: u32, name: RStr<'_>) -> Result<(), PortError>;

    /// Timing: moves a timer to another group, from the next start on.
    ///
    /// # Errors
    /// As [`MeasurementPort::rename_timer`].
    fn regroup_timer(&self, timer: u32, group: RStr<'_>) -> Result<(), PortError>;

    /// Timing: starts a timer in the calling thread.
    ///
    /// # Errors
    /// An unknown timer.
    fn start(&self, timer: u32) -> Result<(), PortError>;

    /// Timing: stops a timer; the calling thread must have started it, and no other since that still runs.
    ///
    /// # Errors
    /// It is not the timer that was started last.
    fn stop(&self, timer: u32) -> Result<(), PortError>;

    /// Events: the atomic event of this name, made if it is new.
    ///
    /// # Errors
    /// An empty name.
    fn create_event(&self, name: RStr<'_>) -> Result<u32, PortError>;

    /// Events: adds a value.
    ///
    /// # Errors
    /// An unknown event; a value that is not finite.
    fn trigger(&self, event: u32, value: f64) -> Result<(), PortError>;

    /// Control: switches the measurement of a group, including timers added to it later, on or off. Running timers
    /// end as they began.
    ///
    /// # Errors
    /// No such group.
    fn set_group_enabled(&self, group: RStr<'_>, is_enabled: bool) -> Result<(), PortError>;

    /// Control: the same for all groups there are, and for those to come.
    ///
    /// # Errors
    /// None of its own.
    fn set_all_enabled(&self, is_enabled: bool) -> Result<(), PortError>;

    /// Query: the groups, by name.
    ///
    /// # Errors
    /// None of its own.
    fn groups(&self) -> Result<RVec<TimerGroup>, PortError>;

    /// Query: the present values of metrics, in the calling thread; of all but counters if none is named.
    ///
    /// # Errors
    /// An unknown metric.
    fn metrics(&self, names: RSlice<'_, RString>) -> Result<RVec<MetricValue>, PortError>;

    /// Query: the values of all timers so far, in the order in which they were made.
    ///
    /// # Errors
    /// None of its own.
    fn timers(&self) -> Result<RVec<TimerValues>, PortError>;

    /// Query: the values of all events so far, in the order in which they were made.
    ///
    /// # Errors
    /// None of its own.
    fn events(&self) -> Result<RVec<EventValues>, PortError>;
}
