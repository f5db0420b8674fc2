//! The calls of all ranks of all runs as one flow, with the computation between them.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::RangeInclusive;

use mastermind_programs::CollectiveKind;

use super::folding::{
    Call, Kind, Loops, Node, Repeats, SharedNode, aligned, folded, number_columns,
};

/// Share of the computation of a rank up to which the computation before a call of several runs has no element of its own.
const SHORT_COST: f64 = 0.005;

/// The flow of all ranks of all runs. With several runs the ranks with the most calls come first: their order includes
/// the order of the others.
///
/// # Errors
/// It has more elements than `most`: how many are known by then.
pub(super) fn flow(
    runs: &[Vec<Vec<Call>>],
    repeats: Repeats,
    most: usize,
    loops: Loops,
) -> Result<Vec<SharedNode>, usize> {
    let mut flows = Vec::new();
    for ranks in runs {
        let mut ranks = ranks.to_vec();
        number_columns(&mut ranks, repeats.is_exact);
        for calls in ranks {
            let nodes = folded(calls, repeats);
            // The common flow has at least the elements of one rank.
            if nodes.len() > most {
                return Err(nodes.len());
            }
            flows.push((flows.len(), nodes));
        }
    }
    let points = flows.len();
    if loops == Loops::OfSameCalls {
        flows.sort_by_key(|(_, nodes)| Reverse(nodes.iter().map(Node::len).sum::<usize>()));
    }
    let mut places = Vec::new();
    for (point, nodes) in flows {
        places = aligned(places, nodes, (point, points), loops);
        let elements = count(&places);
        if elements > most {
            return Err(elements);
        }
    }
    Ok(places)
}

/// Adds to the computation before each collective that all ranks wait in the time that the busiest rank waits there for
/// others: another rank is the slowest each time, which means over rounds do not show.
///
/// # Arguments
/// * `is_world` - whether a group consists of all ranks
///
/// # Returns
/// The added computation, relative.
pub(super) fn level_phases(ranks: &mut [Vec<Call>], is_world: &dyn Fn(u32) -> bool) -> f64 {
    let joins_all = |call: &Call| {
        let kind = match call.key.kind {
            Kind::Collective(kind) => kind,
            _ => return false,
        };
        let waits = matches!(
            kind,
            CollectiveKind::AllReduce
                | CollectiveKind::AllToAll
                | CollectiveKind::AllGather
                | CollectiveKind::ReduceScatter
                | CollectiveKind::Barrier
        );
        waits && is_world(call.key.group)
    };
    let ends: Vec<Vec<usize>> = ranks
        .iter()
        .map(|calls| {
            (0..calls.len())
                .filter(|at| joins_all(&calls[*at]))
                .collect()
        })
        .collect();
    let n_phases = ends.first().map_or(0, Vec::len);
    if ends.iter().any(|ends| ends.len() != n_phases) {
        return 0.0;
    }
    let computed_ns =
        |ranks: &[Vec<Call>]| -> u64 { ranks.iter().flatten().map(|call| call.compute_ns).sum() };
    let before_ns = computed_ns(ranks);
    let mut slowest_ns = vec![0_u64; n_phases];
    let mut busiest_ns = 0;
    for (calls, ends) in ranks.iter().zip(&ends) {
        let (mut start, mut own_ns) = (0, 0);
        for (slowest_ns, end) in slowest_ns.iter_mut().zip(ends) {
            let phase_ns: u64 = calls[start..=*end].iter().map(|call| call.compute_ns).sum();
            *slowest_ns = phase_ns.max(*slowest_ns);
            own_ns += phase_ns;
            start = end + 1;
        }
        busiest_ns = own_ns.max(busiest_ns);
    }
    // Waits of the busiest rank for others, distributed over the phases by their times.
    let all_ns: u64 = slowest_ns.iter().sum();
    let late = (all_ns - busiest_ns) as f64 / all_ns.max(1) as f64;
    for (calls, ends) in ranks.iter_mut().zip(&ends) {
        for (slowest_ns, end) in slowest_ns.iter().zip(ends) {
            calls[*end].compute_ns += (late * *slowest_ns as f64).round() as u64;
        }
    }
    (computed_ns(ranks) - before_ns) as f64 / before_ns.max(1) as f64
}

/// Computation of a point between two of its calls.
struct Computation {
    point: usize,
    ns: u64,
    n: u64,
    /// The places before which it may be: behind its previous call, up to its next one.
    slots: RangeInclusive<usize>,
}

/// Takes the computation out of calls. Ranks that leave out a call compute before the place where the others do so for as long.
///
/// # Arguments
/// * `runs` - the run of each point
pub(super) fn with_computation(places: Vec<SharedNode>, runs: &[usize]) -> Vec<SharedNode> {
    let mut found = Vec::new();
    let mut behind = vec![0; runs.len()];
    let mut all = Vec::with_capacity(places.len());
    for (at, place) in places.into_iter().enumerate() {
        all.push(match place {
            SharedNode::Call(kind, mut calls) => {
                for (point, call) in calls.iter_mut().enumerate() {
                    let Some(call) = call else { continue };
                    found.push(Computation {
                        point,
                        ns: std::mem::take(&mut call.compute_ns),
                        n: call.n,
                        slots: behind[point]..=at,
                    });
                    behind[point] = at + 1;
                }
                SharedNode::Call(kind, calls)
            }
            SharedNode::Loop(rounds, body) => {
                for (behind, rounds) in behind.iter_mut().zip(&rounds) {
                    *behind = rounds.map_or(*behind, |_| at + 1);
                }
                SharedNode::Loop(rounds, with_computation(body, runs))
            }
            compute => compute,
        });
    }
    let mean = |one: &Computation| one.ns as f64 / one.n as f64;
    // Where others have no choice: how many, and how long they compute, by run and over all runs.
    let mut fixed = HashMap::<(usize, Option<usize>), (u64, f64)>::new();
    for one in found
        .iter()
        .filter(|one| one.slots.start() == one.slots.end())
    {
        for run in [None, Some(runs[one.point])] {
            let (n, sum) = fixed.entry((*one.slots.start(), run)).or_default();
            (*n, *sum) = (*n + 1, *sum + mean(one));
        }
    }
    let mut computed = vec![vec![None; runs.len()]; all.len()];
    for one in found {
        let off = |slot: &usize, run: Option<usize>| {
            let (n, sum) = fixed.get(&(*slot, run))?;
            Some(((sum / *n as f64 - mean(&one)).abs(), *slot))
        };
        let nearest = |run| {
            let all = one.slots.clone().filter_map(|slot| off(&slot, run));
            all.min_by(|a, b| a.0.total_cmp(&b.0))
        };
        let slot = nearest(Some(runs[one.point])).or_else(|| nearest(None));
        let slot = slot.map_or(*one.slots.end(), |(_, slot)| slot);
        computed[slot][one.point] = Some((one.ns, one.n));
    }
    let computed = computed.into_iter().map(SharedNode::Compute);
    computed
        .zip(all)
        .flat_map(|(compute, place)| [compute, place])
        .collect()
}

/// Adds short computation to the next one of the same round, so that a flow has lines only for significant
/// computation.
pub(super) fn join_short_computation(places: &mut [SharedNode], total_ns: &[u64]) {
    for at in 0..places.len() {
        let (before, after) = places.split_at_mut(at + 1);
        let computed = match before.last_mut() {
            Some(SharedNode::Loop(_, body)) => {
                join_short_computation(body, total_ns);
                continue;
            }
            Some(SharedNode::Compute(computed)) => computed,
            _ => continue,
        };
        let is_short = |(computed, total_ns): (&Option<(u64, u64)>, &u64)| {
            computed.is_none_or(|(ns, _)| ns as f64 <= SHORT_COST * *total_ns as f64)
        };
        if !computed.iter().zip(total_ns).all(is_short) {
            continue;
        }
        for (point, computed) in computed.iter_mut().enumerate() {
            let Some((ns, n)) = *computed else { continue };
            let next = after.iter_mut().find_map(|place| match place {
                SharedNode::Compute(next) => next[point].as_mut().filter(|next| next.1 == n),
                _ => None,
            });
            if let Some(next) = next {
                next.0 += ns;
                *computed = None;
            }
        }
    }
}

/// Calls in a flow.
pub(super) fn count(places: &[SharedNode]) -> usize {
    let each = places.iter().map(|place| match place {
        SharedNode::Call(..) => 1,
        SharedNode::Loop(_, body) => count(body),
        SharedNode::Compute(_) => 0,
    });
    each.sum()
}
