//! Boxes by weight alone.

use hydro_ports::Load;

use crate::{BalanceError, check};

/// Gives the boxes, heaviest first, each to the rank that has least.
///
/// # Arguments
/// * `ranks` - number of ranks, >= 1
///
/// # Returns
/// The rank of each box. The heaviest rank has at most 4/3 of the least possible, and no rank more than another by over
/// one box.
///
/// # Errors
/// [`BalanceError`]
///
/// # Source
/// R. L. Graham, SIAM J. Appl. Math. 17 (1969), "longest processing time first"; from memory, not checked.
pub fn knapsack(loads: &[Load], ranks: u32) -> Result<Vec<u32>, BalanceError> {
    check(loads, ranks)?;
    let mut order: Vec<usize> = (0..loads.len()).collect();
    // Stable, so that boxes of one weight keep their order.
    order.sort_by(|a, b| loads[*b].weight.total_cmp(&loads[*a].weight));
    let mut sums = vec![0.0f64; ranks as usize];
    let mut assigned = vec![0; loads.len()];
    for k in order {
        let least = (0..sums.len()).min_by(|a, b| sums[*a].total_cmp(&sums[*b]));
        let rank = least.unwrap_or(0);
        sums[rank] += loads[k].weight;
        assigned[k] = rank as u32;
    }
    Ok(assigned)
}
