//! The lines that a user sees when a wrapped program of MPI has ended: its time, the share of MPI, and the functions
//! with most of it.

use std::collections::BTreeMap;

use mastermind_records::{MpiRank, Run, starts_or_ends};

/// Functions that are named.
const MAX_FUNCTIONS: usize = 3;

/// A few lines; `None` if no rank called MPI.
///
/// # Arguments
/// * `n_ranks` - number of ranks from the launcher
/// * `directory` - the records, as they are named in a command
pub(super) fn lines(run: &Run, n_ranks: Option<usize>, directory: &str) -> Option<String> {
    let ranks = run.mpi_ranks();
    let ranks: Vec<_> = ranks.iter().filter(|rank| rank.calls > 0).collect();
    if ranks.is_empty() {
        return None;
    }
    let sum = |of: fn(&MpiRank) -> u64| ranks.iter().map(|rank| of(rank)).sum::<u64>();
    let application_ns = sum(|rank| rank.application_ns);
    let thread_ns = sum(MpiRank::thread_ns);
    let percent = |ns: u64| 100.0 * ns as f64 / thread_ns.max(1) as f64;
    let of_ranks = ranks.iter().map(|rank| rank.percent());
    let (least, most) = of_ranks.fold((f64::INFINITY, 0.0_f64), |(least, most), of_rank| {
        (least.min(of_rank), most.max(of_rank))
    });
    let a_rank_s = application_ns as f64 * 1e-9 / ranks.len() as f64;
    // Also for a program that hardly does anything.
    let decimals = if a_rank_s < 0.01 { 6 } else { 3 };
    let mut text = format!(
        "MPI: {:.1} % of {a_rank_s:.decimals$} s a rank",
        percent(sum(|rank| rank.mpi_ns))
    );
    if ranks.len() > 1 {
        text += &format!(" on {} ranks ({least:.1} to {most:.1} %)", ranks.len());
    }
    let threads = ranks.iter().map(|rank| rank.threads).max().unwrap_or(0);
    if threads > 1 {
        text += &format!(", {threads} threads each");
    }
    text += &format!(", {} calls", sum(|rank| rank.calls));
    let failed = sum(|rank| rank.failed);
    if failed > 0 {
        text += &format!(", {failed} of them failed");
    }
    let mut functions = BTreeMap::<String, (u64, u64)>::new();
    for routine in ranks.iter().flat_map(|rank| run.mpi_routines(rank.rank)) {
        if !starts_or_ends(&routine.name) {
            let of_function = functions.entry(routine.name).or_default();
            of_function.0 += routine.ns;
            of_function.1 += routine.calls;
        }
    }
    let mut functions: Vec<_> = functions.into_iter().collect();
    functions.sort_by_key(|(_, (ns, _))| std::cmp::Reverse(*ns));
    let named = functions.iter().take(MAX_FUNCTIONS);
    let named = named.map(|(name, (ns, calls))| {
        let plural = if *calls == 1 { "" } else { "s" };
        format!("{name} {:.1} % in {calls} call{plural}", percent(*ns))
    });
    let named: Vec<_> = named.collect();
    if !named.is_empty() {
        text += &format!("\n  most of it: {}", named.join(", "));
    }
    let running = ranks.iter().filter(|rank| rank.is_open).count();
    let missing = n_ranks.unwrap_or(0).saturating_sub(ranks.len());
    if running > 0 {
        text += &format!("\n  ranks that have not ended so far, or were killed: {running}");
    }
    if missing > 0 {
        text += &format!("\n  ranks without records of MPI here so far: {missing}");
    }
    text += &format!("\n  all of it: mastermind profile --mpi {directory}");
    Some(text)
}
