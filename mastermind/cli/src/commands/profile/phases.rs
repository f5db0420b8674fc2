//! The phases of a run: time in MPI between calls of `MPI_Pcontrol`, by level.

use std::collections::BTreeMap;

use mastermind_records::Run;
use serde::Serialize;

/// The parts of the run with one level of `MPI_Pcontrol`, of all ranks.
#[derive(Clone, Debug, Serialize)]
pub struct PhaseRow {
    pub(super) level: i32,
    /// Parts, over all ranks.
    pub(super) parts: usize,
    pub(super) application_ns: u64,
    /// The same on all threads that called MPI.
    #[serde(skip)]
    pub(super) thread_ns: u64,
    pub(super) mpi_ns: u64,
    pub(super) calls: u64,
    /// Calls and nanoseconds of each function.
    pub(super) functions: BTreeMap<String, (u64, u64)>,
}

/// A row for each level, over all ranks; empty if no call began a phase.
pub fn phases(run: &Run) -> Vec<PhaseRow> {
    let mut levels = BTreeMap::<i32, PhaseRow>::new();
    let mut has_begun_phases = false;
    for phase in run.ranks().iter().flat_map(|rank| run.mpi_phases(*rank)) {
        has_begun_phases |= phase.number > 0;
        let row = levels.entry(phase.level).or_insert(PhaseRow {
            level: phase.level,
            parts: 0,
            application_ns: 0,
            thread_ns: 0,
            mpi_ns: 0,
            calls: 0,
            functions: BTreeMap::new(),
        });
        row.parts += 1;
        row.application_ns += phase.time.application_ns;
        row.thread_ns += phase.time.thread_ns();
        row.mpi_ns += phase.time.mpi_ns;
        row.calls += phase.time.calls;
        for routine in phase.routines {
            let (calls, ns) = row.functions.entry(routine.name).or_default();
            *calls += routine.calls;
            *ns += routine.ns;
        }
    }
    match has_begun_phases {
        true => levels.into_values().collect(),
        false => Vec::new(),
    }
}
