//! Plans for arbitrary patches: every cell is filled once, from the patch that contains it.

use proptest::prelude::*;

use super::*;
use crate::layout::NESTING;

const DOMAIN: CellBox = CellBox {
    i: 0,
    j: 0,
    nx: 24,
    ny: 16,
};

fn cell(i: i64, j: i64) -> CellBox {
    CellBox { i, j, nx: 1, ny: 1 }
}

fn cells(all: CellBox) -> impl Iterator<Item = CellBox> {
    (all.j..all.j_end()).flat_map(move |j| (all.i..all.i_end()).map(move |i| cell(i, j)))
}

/// Boxes without common cells, from any.
fn disjoint(boxes: &[CellBox]) -> Vec<CellBox> {
    let mut kept: Vec<CellBox> = Vec::new();
    for cells in boxes.iter().filter_map(|cells| cells.intersect(&DOMAIN)) {
        let rest = cells.minus_all(&kept);
        kept.extend(rest);
    }
    kept
}

/// A level of the domain's cells, and a finer one inside it, as narrow as two cells.
fn levels() -> impl Strategy<Value = (Vec<CellBox>, Vec<CellBox>)> {
    let boxes = |n| prop::collection::vec((0..24i64, 0..16i64, 1..9i64, 1..9i64), n);
    (boxes(0..6usize), boxes(1..6)).prop_map(|(coarse, fine)| {
        let make = |boxes: Vec<(i64, i64, i64, i64)>| -> Vec<CellBox> {
            let boxes = boxes
                .into_iter()
                .map(|(i, j, nx, ny)| CellBox { i, j, nx, ny });
            boxes.collect()
        };
        let fine = disjoint(&make(fine));
        let mut coarse = make(coarse);
        coarse.extend(fine.iter().map(|cells| cells.grow(NESTING)));
        (
            disjoint(&coarse),
            fine.iter().map(CellBox::refine).collect(),
        )
    })
}

proptest! {
    #[test]
    fn ghost_cells_are_filled_once((coarse, fine) in levels()) {
        let domain = DOMAIN.refine();
        let coarser = Coarser { boxes: &coarse, domain: DOMAIN };
        let fill = Fill::ghosts(&fine, &domain, Some(coarser));
        for (to, own) in fine.iter().enumerate() {
            let steps: Vec<_> = fill.steps.iter().filter(|step| step.to == to).collect();
            let prolongations: Vec<_> = fill.prolongations.iter().filter(|p| p.to == to).collect();
            for ghost in cells(own.grow(2)) {
                let copied = steps.iter().filter(|s| s.kind == Kind::Same && s.region.contains(&ghost));
                let copied = copied.count();
                let regions = prolongations.iter().flat_map(|p| &p.regions);
                let made = regions.filter(|region| region.contains(&ghost)).count();
                let is_wanted = domain.contains(&ghost) && !own.contains(&ghost);
                prop_assert_eq!(copied + made, usize::from(is_wanted));
                let has_fine = fine.iter().any(|cells| cells.contains(&ghost));
                prop_assert_eq!(copied > 0, is_wanted && has_fine);
                if made > 0 {
                    // The coarse cell and its neighbours are there.
                    let parent = ghost.coarsen();
                    for (i, j) in [(0, 0), (-1, 0), (1, 0), (0, -1), (0, 1)] {
                        let near = cell(parent.i + i, parent.j + j);
                        let read = steps.iter().filter(|s| s.kind == Kind::Coarse && s.region.contains(&near));
                        prop_assert_eq!(read.count(), usize::from(DOMAIN.contains(&near)));
                    }
                }
            }
            for step in steps {
                let sources = if step.kind == Kind::Same { &fine } else { &coarse };
                prop_assert!(sources[step.from].contains(&step.region));
            }
        }
        for prolongation in &fill.prolongations {
            prop_assert!(prolongation.regions.iter().all(|r| r.coarsen().refine() == *r));
        }
    }

    #[test]
    fn coarse_cells_get_means_below_and_fluxes_next_to_fine_ones((coarse, fine) in levels()) {
        let covered: Vec<_> = fine.iter().map(CellBox::coarsen).collect();
        let is_covered = |cell: &CellBox| covered.iter().any(|cells| cells.contains(cell));
        let steps = to_coarser(&fine, &coarse, true);
        for here in cells(DOMAIN) {
            let count = |wanted: &dyn Fn(Kind) -> bool| {
                let here = steps.iter().filter(|step| step.region.contains(&here));
                here.filter(|step| wanted(step.kind)).count()
            };
            prop_assert_eq!(count(&|kind| kind == Kind::Mean), usize::from(is_covered(&here)));
            let CellBox { i, j, .. } = here;
            // A cell to the left of a patch has the patch to its right.
            for (side, patch) in Side::ALL.into_iter().zip([(i + 1, j), (i - 1, j), (i, j + 1), (i, j - 1)]) {
                let expected = !is_covered(&here) && is_covered(&cell(patch.0, patch.1));
                prop_assert_eq!(count(&|kind| kind == Kind::Flux(side)), usize::from(expected));
            }
        }
        let without = to_coarser(&fine, &coarse, false);
        prop_assert!(without.iter().all(|step| step.kind == Kind::Mean));
    }
}

#[test]
fn a_new_patch_is_filled_from_the_old_one_and_the_rest_interpolated() {
    let coarse = [DOMAIN];
    let coarser = Coarser {
        boxes: &coarse,
        domain: DOMAIN,
    };
    let (old, new) = (
        CellBox::between((8, 8), (16, 16)),
        CellBox::between((12, 8), (24, 16)),
    );
    let fill = Fill::interiors(&[new], &[old], Some(coarser));
    let rest = CellBox::between((16, 8), (24, 16));
    assert_eq!(
        fill.prolongations,
        [Prolongation {
            to: 0,
            regions: vec![rest]
        }]
    );
    let regions: Vec<_> = fill
        .steps
        .iter()
        .map(|step| (step.kind, step.region))
        .collect();
    let common = CellBox::between((12, 8), (16, 16));
    let around = CellBox::between((7, 3), (13, 9));
    assert_eq!(regions, [(Kind::Same, common), (Kind::Coarse, around)]);
}
