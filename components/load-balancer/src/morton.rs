//! Boxes along a curve that fills the domain.

use hydro_ports::Load;

use crate::{BalanceError, check};

/// The finest level that the curve resolves.
const LEVELS: u32 = 12;

/// Orders the centres of the boxes along Morton's curve and cuts it into parts of the same weight.
///
/// # Arguments
/// * `ranks` - number of ranks, >= 1
///
/// # Returns
/// The rank of each box: the part of the curve that contains the middle of its weight.
///
/// # Errors
/// [`BalanceError`]
pub fn morton(loads: &[Load], ranks: u32) -> Result<Vec<u32>, BalanceError> {
    check(loads, ranks)?;
    let mut order: Vec<usize> = (0..loads.len()).collect();
    order.sort_by_key(|k| (key(&loads[*k]), loads[*k].level));
    let total: f64 = loads.iter().map(|load| load.weight).sum();
    let (mut sum, mut assigned) = (0.0, vec![0; loads.len()]);
    for k in order {
        let middle = sum + 0.5 * loads[k].weight;
        sum += loads[k].weight;
        let part = f64::from(ranks) * middle / total;
        // Boxes without weight, 0/0, go to the first rank.
        assigned[k] = (part as u32).min(ranks - 1);
    }
    Ok(assigned)
}

/// Place of a box's centre on the curve: the bits of its coordinates in turn.
fn key(load: &Load) -> u64 {
    let scale = LEVELS.saturating_sub(load.level);
    let coordinate = |first: i64, cells: i64| {
        let centre = (2 * first + cells).max(0) as u64;
        (centre << scale).min(u64::from(u32::MAX))
    };
    let (x, y) = (
        coordinate(load.cells.i, load.cells.nx),
        coordinate(load.cells.j, load.cells.ny),
    );
    (0..32).fold(0, |key, bit| {
        let pair = (x >> bit & 1) | (y >> bit & 1) << 1;
        key | pair << (2 * bit)
    })
}

#[cfg(test)]
mod tests {
    use hydro_ports::CellBox;

    use super::*;

    fn load(level: u32, i: i64, j: i64) -> Load {
        let (nx, ny) = (8, 8);
        let cells = CellBox { i, j, nx, ny };
        Load {
            cells,
            level,
            weight: 1.0,
        }
    }

    #[test]
    fn the_curve_goes_through_one_quarter_after_the_other() {
        let boxes = [
            load(0, 0, 0),
            load(0, 8, 0),
            load(0, 0, 8),
            load(0, 8, 8),
            load(0, 16, 0),
        ];
        assert!(boxes.windows(2).all(|pair| key(&pair[0]) < key(&pair[1])));
    }

    #[test]
    fn a_box_is_where_its_parent_is() {
        let parent = load(0, 24, 8);
        let child = Load {
            cells: parent.cells.refine(),
            level: 1,
            weight: 1.0,
        };
        assert_eq!(key(&parent), key(&child));
    }
}
