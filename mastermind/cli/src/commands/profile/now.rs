//! Notes of `profile --mpi` on a run that is in progress, hangs or was killed, and on the ranks without records.

use mastermind_records::{Log, MpiCallNow, Run};

use crate::output;

/// Number of ranks that the launcher started.
pub fn ranks_of_run(run: &Run) -> u32 {
    let of_log = |log: &Log| log.definitions().run.ranks;
    run.logs().iter().map(of_log).max().unwrap_or(0)
}

/// A note if some programs of a job were not wrapped, or recorded elsewhere.
///
/// # Arguments
/// * `all` - ranks of the job
/// * `n_found` - number of ranks with calls of MPI in the records
pub fn missing_ranks(all: u32, n_found: usize) -> Option<String> {
    let found = u32::try_from(n_found).ok().filter(|found| *found < all)?;
    Some(format!(
        "{} of {all} ranks have no records of MPI here: other programs of the job, not wrapped or with records elsewhere, or ranks that \
         have called nothing so far; what only they did is in no table",
        all - found
    ))
}

/// Note for a run in which processes were spawned.
pub const SPAWNED: &str = "processes that MPI_Comm_spawn started have an MPI_COMM_WORLD of their own; peers of messages between the worlds are not known";

/// Whether a function starts processes with a world of their own.
fn spawns(function: &str) -> bool {
    matches!(function, "MPI_Comm_spawn" | "MPI_Comm_spawn_multiple")
}

/// Whether a program of a run has started some.
pub fn has_spawned(run: &Run) -> bool {
    let routines = run
        .ranks()
        .into_iter()
        .flat_map(|rank| run.mpi_routines(rank));
    let mut spawns = routines.filter(|routine| spawns(&routine.name));
    spawns.any(|routine| routine.calls > routine.failed)
}

/// The calls that threads are in.
pub fn text(calls: &[MpiCallNow]) -> String {
    let cells = |call: &MpiCallNow| {
        vec![
            call.rank.to_string(),
            call.thread.to_string(),
            format!("{:.6}", call.start_ns as f64 * 1e-9),
            call.function.clone(),
        ]
    };
    let header = ["RANK", "THREAD", "SINCE s", "IN"];
    output::table(&header, &[0, 1, 2], calls.iter().map(cells))
}
