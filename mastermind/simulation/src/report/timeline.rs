//! Activities of chosen processes over time, for the page.

use serde_json::{Value, json};

use crate::engine::{Flight, Slice};

/// Most processes of a timeline.
const MAX_ROWS: usize = 200;

/// Most slices of all its processes together: a page of some ten megabytes.
const MAX_SLICES: usize = 200_000;

/// Maximum number of messages: as many numbers as slices have.
const MAX_FLIGHTS: usize = 100_000;

/// Why there is no timeline of some processes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TimelineError {
    /// A process that there is not.
    #[error("cannot draw timeline of process {rank}: {processes} processes, expected one from 0 to {}", processes - 1)]
    NoProcess {
        /// Its rank.
        rank: u32,
        /// How many there are.
        processes: u32,
    },
    /// More than a page shows.
    #[error("cannot draw timeline: {rows} processes, expected at most {MAX_ROWS}")]
    TooManyRows {
        /// How many.
        rows: usize,
    },
}

/// Activities of chosen processes; only the first slices of each if there are too many.
#[derive(Debug, Clone, Default)]
pub struct Timeline {
    /// By row: a rank, and its slices in order.
    rows: Vec<(u32, Vec<Slice>)>,
    /// Messages between chosen processes.
    flights: Vec<Flight>,
}

impl Timeline {
    /// Without slices yet.
    ///
    /// # Arguments
    /// * `ranks` - one a row
    /// * `processes` - how many there are, ≥ 1
    ///
    /// # Errors
    /// [`TimelineError`].
    pub fn new(mut ranks: Vec<u32>, processes: u32) -> Result<Self, TimelineError> {
        ranks.sort_unstable();
        ranks.dedup();
        let rows = ranks.len();
        if rows > MAX_ROWS {
            return Err(TimelineError::TooManyRows { rows });
        }
        match ranks.last() {
            Some(&rank) if rank >= processes => Err(TimelineError::NoProcess { rank, processes }),
            _ => Ok(Self {
                rows: ranks.into_iter().map(|rank| (rank, Vec::new())).collect(),
                flights: Vec::new(),
            }),
        }
    }

    /// Whether no process was chosen.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Adds a slice, if it belongs to a chosen process; slices of a process come in order.
    pub fn add(&mut self, slice: Slice) {
        let most = MAX_SLICES / self.rows.len().max(1) + 1;
        let row = self
            .rows
            .binary_search_by_key(&slice.process, |(rank, _)| *rank);
        if let Ok(row) = row
            && self.rows[row].1.len() < most
            && slice.end_ns > slice.begin_ns
        {
            self.rows[row].1.push(slice);
        }
    }

    /// Takes a message, if both of its processes are chosen.
    pub fn add_flight(&mut self, flight: Flight) {
        let is_chosen = |rank: u32| {
            self.rows
                .binary_search_by_key(&rank, |(rank, _)| *rank)
                .is_ok()
        };
        if self.flights.len() <= MAX_FLIGHTS && is_chosen(flight.from) && is_chosen(flight.to) {
            self.flights.push(flight);
        }
    }

    /// Messages as sender, receiver, bytes, departure and arrival, one after the other; and the begin of the omitted
    /// part.
    pub fn flights(&self) -> Value {
        let cut_ns = self.flights.get(MAX_FLIGHTS).map(|flight| flight.leaves_ns);
        let shown = &self.flights[..self.flights.len().min(MAX_FLIGHTS)];
        let numbers = |one: &Flight| {
            [
                u64::from(one.from),
                u64::from(one.to),
                one.bytes,
                one.leaves_ns,
                one.arrives_ns,
            ]
        };
        let numbers: Vec<u64> = shown.iter().flat_map(numbers).collect();
        json!({ "cut": cut_ns, "flights": numbers })
    }

    /// For each process its rank, the begin of the omitted part, element, begin and end of each slice, one after the
    /// other, and the waiting time in each.
    pub fn data(&self) -> Value {
        let most = MAX_SLICES / self.rows.len().max(1);
        let rows = self.rows.iter().map(|(rank, slices)| {
            let cut_ns = slices.get(most).map(|slice| slice.begin_ns);
            let shown = &slices[..slices.len().min(most)];
            let numbers = |slice: &Slice| [u64::from(slice.element), slice.begin_ns, slice.end_ns];
            let numbers: Vec<u64> = shown.iter().flat_map(numbers).collect();
            let waits: Vec<u64> = shown.iter().map(|slice| slice.wait_ns).collect();
            json!({ "rank": rank, "cut": cut_ns, "slices": numbers, "waits": waits })
        });
        rows.collect()
    }
}
