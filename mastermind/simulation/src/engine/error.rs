//! Reasons why a simulation cannot come to its end.

use std::fmt;

use super::limits::{Limits, MAX_TIME_NS};

/// A process that waits forever.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocked {
    /// Its rank.
    pub process: u32,
    /// The element it waits in.
    pub element: String,
    /// Its position in the model.
    pub place: String,
    /// The event it waits for.
    pub waits_for: String,
    /// Since when, nanoseconds.
    pub since_ns: u64,
}

impl fmt::Display for Blocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "process {} waits in \"{}\" of \"{}\" for {} since {} ns",
            self.process, self.element, self.place, self.waits_for, self.since_ns
        )
    }
}

/// A simulation that cannot come to its end.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SimulationError {
    /// A number that an element gives cannot be used.
    #[error(
        "cannot run element \"{element}\" of \"{place}\" on process {process}: {what} is {found}, expected {expected}"
    )]
    Value {
        /// The element.
        element: String,
        /// Position in the model.
        place: String,
        /// The process.
        process: u32,
        /// Which number.
        what: &'static str,
        /// Its value.
        found: f64,
        /// The allowed values.
        expected: String,
    },
    /// No guard of a decision holds.
    #[error(
        "cannot leave decision \"{element}\" of \"{place}\" on process {process}: no guard holds, expected one or a branch without"
    )]
    NoBranch {
        /// The decision.
        element: String,
        /// Position in the model.
        place: String,
        /// The process.
        process: u32,
    },
    /// A process loops forever without time passing.
    #[error(
        "cannot go on with process {process} at {at_ns} ns: {steps} steps without time, expected an end; does a loop never end?"
    )]
    Endless {
        /// The process.
        process: u32,
        /// When.
        at_ns: u64,
        /// Steps.
        steps: u64,
    },
    /// It is stopped by a requested limit.
    #[error(
        "cannot end the simulation: {events} events and {now_ns} ns of simulated time, expected at most {}",
        limit_of(limits, *now_ns)
    )]
    Limit {
        /// Events so far.
        events: u64,
        /// Simulated time, nanoseconds.
        now_ns: u64,
        /// The limits.
        limits: Limits,
    },
    /// The requested rules have no parameters for this machine.
    #[error(
        "cannot use machine with the rules of LogGOPSim: {what} is {found}, expected {expected}"
    )]
    Machine {
        /// Which parameter.
        what: &'static str,
        /// The value found.
        found: String,
        /// The values that those rules have.
        expected: &'static str,
    },
    /// Computation is interrupted where processes share processors.
    #[error(
        "cannot use machine with noise: {per_node} processes on a node of {processors} processors, expected at most as many \
         processes as processors"
    )]
    Noise {
        /// Processes of a node.
        per_node: u32,
        /// Its processors.
        processors: u32,
    },
    /// The longest path is requested for a run that cannot show what a time depends on.
    #[error("cannot follow the longest path: {found}")]
    NoPath {
        /// The reason, and the expected run.
        found: &'static str,
    },
    /// Processes wait forever.
    #[error("cannot end the simulation: {n_blocked} processes wait for ever, expected 0; {}", .blocked[0])]
    Deadlock {
        /// How many.
        n_blocked: usize,
        /// The first of them, at most 100, never none.
        blocked: Vec<Blocked>,
    },
    /// Threads of a parallel region wait for each other's locks for ever.
    #[error(
        "cannot end parallel region \"{element}\" of \"{place}\" on process {process}: its threads wait for each other's locks for ever, expected an end"
    )]
    Locked {
        /// The region.
        element: String,
        /// Position in the model.
        place: String,
        /// The process.
        process: u32,
    },
}

fn limit_of(limits: &Limits, now_ns: u64) -> String {
    let Limits {
        max_events,
        max_time_ns,
    } = limits;
    let parts = [
        (*max_events, "events", *max_events < u64::MAX),
        (
            *max_time_ns,
            "ns",
            *max_time_ns < MAX_TIME_NS || *max_time_ns < now_ns,
        ),
    ];
    let given = parts.iter().filter(|(_, _, is_given)| *is_given);
    let given: Vec<String> = given
        .map(|(most, unit, _)| format!("{most} {unit}"))
        .collect();
    given.join(" and ")
}

/// An error on its way out of the engine: a pointer, so that successful results need no room for one.
pub(crate) type BoxedError = Box<SimulationError>;

impl From<BoxedError> for SimulationError {
    fn from(stop: BoxedError) -> Self {
        *stop
    }
}
