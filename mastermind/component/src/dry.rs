//! The calls of a dry run: how often each omitted method would have been called, with which parameters, and how long
//! each rank took without them.
//!
//! Input: a run whose logs name the omitted methods ([`mastermind_records::definition::RunDefinition::dry`]). Output: a
//! [`DryRank`] for each rank. Models predict the time of the omitted calls.

use std::sync::Arc;

use mastermind_models::Coordinate;
use mastermind_records::Run;
use mastermind_records::definition::MethodDefinition;
use rustc_hash::FxHashMap;

use crate::samples::method_name;
use crate::workload::coordinate;

/// Calls of a method that was left out, with the same parameters.
#[derive(Clone, Debug)]
pub struct DryCalls {
    /// `INSTANCE.PORT.METHOD`.
    pub name: String,
    /// `CLASS::PORT.METHOD`, as models name it.
    pub model: String,
    /// Their parameters.
    pub coordinate: Coordinate,
    /// How many there were.
    pub count: u64,
}

/// A rank of a dry run.
#[derive(Clone, Debug)]
pub struct DryRank {
    /// The rank.
    pub rank: u32,
    /// From its first recorded call of a component to the end of the last one, without the omitted calls, nanoseconds.
    pub own_ns: u64,
    /// Its time in MPI, nanoseconds; `None` where that was not measured.
    pub mpi_ns: Option<u64>,
    /// Number of its threads that called omitted methods.
    pub n_threads: usize,
    /// The calls.
    pub calls: Vec<DryCalls>,
}

/// The ranks of a dry run in order, without those that have no recorded call.
pub fn dry_ranks(run: &Run) -> Vec<DryRank> {
    let ranks = run.ranks().into_iter();
    ranks.filter_map(|rank| dry_rank(run, rank)).collect()
}

fn dry_rank(run: &Run, rank: u32) -> Option<DryRank> {
    let (mut first_ns, mut last_ns, mut left_out_ns) = (u64::MAX, 0, 0);
    let (mut n_threads, mut mpi_ns) = (0, None);
    // Index of a call in `calls`, by its log's number of the method and its words.
    let mut calls: Vec<DryCalls> = Vec::new();
    for (log, _) in run.logs_of(rank) {
        let definitions = log.definitions();
        let dry: FxHashMap<u32, Arc<MethodDefinition>> = definitions
            .methods()
            .filter(|method| definitions.run.leaves_out(method))
            .map(|method| (method.id, Arc::clone(method)))
            .collect();
        let mut places: FxHashMap<(u32, Vec<u64>), usize> = FxHashMap::default();
        for record in log.records() {
            // MPI starts before the assembly does, and ends after it.
            if record.method.is_mpi() {
                continue;
            }
            first_ns = first_ns.min(record.start_ns);
            last_ns = last_ns.max(record.start_ns + record.wall_ns);
            if record.parent_seq.is_none() {
                mpi_ns = match (mpi_ns, record.mpi_ns) {
                    (sum, Some(ns)) => Some(sum.unwrap_or(0) + ns),
                    (sum, None) => sum,
                };
            }
            let Some(method) = dry.get(&record.method.id) else {
                continue;
            };
            left_out_ns += record.wall_ns;
            let words = record.values.iter().take(method.parameters.len());
            let key = (method.id, words.copied().collect());
            let place = *places.entry(key).or_insert_with(|| {
                let MethodDefinition {
                    instance,
                    port,
                    method: name,
                    ..
                } = &**method;
                calls.push(DryCalls {
                    name: format!("{instance}.{port}.{name}"),
                    model: method_name(method),
                    coordinate: coordinate(&record),
                    count: 0,
                });
                calls.len() - 1
            });
            calls[place].count += 1;
        }
        n_threads += usize::from(!places.is_empty());
    }
    (last_ns > 0).then(|| DryRank {
        rank,
        own_ns: last_ns.saturating_sub(first_ns).saturating_sub(left_out_ns),
        mpi_ns,
        n_threads,
        calls,
    })
}
