//! Every box has a rank, and no rank has much more than its share (case study, section 5).

use hydro_load_balancer::{BalanceError, knapsack, morton};
use hydro_ports::{CellBox, Load};
use proptest::prelude::*;

/// Work of a step of the coarsest level.
fn load((level, i, j, nx, ny): (u32, i64, i64, i64, i64)) -> Load {
    let cells = CellBox { i, j, nx, ny };
    let weight = cells.cells() as f64 * f64::from(level).exp2();
    Load {
        cells,
        level,
        weight,
    }
}

fn sums(loads: &[Load], assigned: &[u32], ranks: u32) -> Vec<f64> {
    let mut sums = vec![0.0; ranks as usize];
    for (load, rank) in loads.iter().zip(assigned) {
        sums[*rank as usize] += load.weight;
    }
    sums
}

proptest! {
    #[test]
    fn shares_are_fair(
        boxes in prop::collection::vec((0..3u32, 0..400i64, 0..100i64, 4..64i64, 4..64i64), 0..40),
        ranks in 1..9u32,
    ) {
        let loads: Vec<Load> = boxes.into_iter().map(load).collect();
        let heaviest = loads.iter().map(|load| load.weight).fold(0.0, f64::max);
        let mean = loads.iter().map(|load| load.weight).sum::<f64>() / f64::from(ranks);
        for assigned in [knapsack(&loads, ranks), morton(&loads, ranks)] {
            let assigned = assigned.expect("shared");
            prop_assert_eq!(assigned.len(), loads.len());
            prop_assert!(assigned.iter().all(|rank| *rank < ranks));
            for sum in sums(&loads, &assigned, ranks) {
                prop_assert!(sum <= mean + heaviest + 1e-9, "{sum}, mean {mean}");
            }
        }
        let sums = sums(&loads, &knapsack(&loads, ranks).expect("shared"), ranks);
        let (least, most) = (sums.iter().copied().fold(f64::INFINITY, f64::min), sums.iter().copied().fold(0.0, f64::max));
        prop_assert!(most - least <= heaviest);
    }
}

#[test]
fn ranks_without_boxes_are_allowed() {
    let loads = [load((0, 0, 0, 8, 8))];
    assert_eq!(knapsack(&loads, 5), Ok(vec![0]));
    assert_eq!(morton(&loads, 5), Ok(vec![2]));
    assert_eq!(knapsack(&[], 3), Ok(vec![]));
    let idle = [Load {
        weight: 0.0,
        ..loads[0]
    }];
    assert_eq!(morton(&idle, 3), Ok(vec![0]));
}

#[test]
fn no_rank_and_no_weight_are_refused() {
    assert_eq!(knapsack(&[], 0), Err(BalanceError::NoRank));
    for weight in [-1.0, f64::NAN, f64::INFINITY] {
        let loads = [Load {
            weight,
            ..load((0, 0, 0, 8, 8))
        }];
        assert!(matches!(
            morton(&loads, 2),
            Err(BalanceError::Weight { .. })
        ));
    }
}
