//! Boxes around shapes of marks.

use proptest::prelude::*;

use super::*;

const WANTED: Clustering = Clustering {
    efficiency: 0.75,
    min_side: 4,
    max_side: 32,
};

fn marks(nx: usize, ny: usize, boxes: &[CellBox]) -> Marks {
    let mut marks = Marks::new(nx, ny, Vec::new());
    boxes.iter().for_each(|cells| marks.mark(cells));
    marks
}

/// Every marked cell is in one box, and boxes share none.
fn check(marks: &Marks, boxes: &[CellBox], wanted: Clustering) {
    let domain = marks.domain();
    let covered: usize = boxes.iter().map(|cells| marks.count(cells)).sum();
    assert_eq!(covered, marks.count(&domain));
    for (k, cells) in boxes.iter().enumerate() {
        assert!(domain.contains(cells) && !cells.is_empty());
        assert!(
            boxes[..k]
                .iter()
                .all(|other| other.intersect(cells).is_none())
        );
        for (side, whole) in [(cells.nx, domain.nx), (cells.ny, domain.ny)] {
            assert!(side >= wanted.min_side.min(whole) && side <= wanted.max_side);
        }
    }
}

#[test]
fn no_marks_no_boxes() {
    assert_eq!(cluster(&marks(40, 20, &[]), WANTED), Ok(vec![]));
}

#[test]
fn a_full_box_is_left_whole() {
    let cells = CellBox::between((5, 3), (25, 13));
    assert_eq!(cluster(&marks(40, 20, &[cells]), WANTED), Ok(vec![cells]));
}

#[test]
fn two_boxes_with_a_gap_stay_two() {
    let two = [
        CellBox::between((2, 2), (8, 10)),
        CellBox::between((20, 5), (30, 15)),
    ];
    assert_eq!(cluster(&marks(40, 20, &two), WANTED), Ok(two.to_vec()));
}

#[test]
fn an_l_is_cut_at_its_edge() {
    let upright = CellBox::between((0, 0), (6, 20));
    let foot = CellBox::between((0, 0), (30, 6));
    let marks = marks(40, 20, &[upright, foot]);
    let boxes = cluster(&marks, WANTED).expect("boxes");
    check(&marks, &boxes, WANTED);
    let wasted: usize = boxes.iter().map(|b| b.cells() - marks.count(b)).sum();
    assert_eq!((boxes.len(), wasted), (2, 0));
}

#[test]
fn a_box_that_is_too_large_is_cut_and_one_that_is_too_small_grown() {
    let wide = marks(100, 20, &[CellBox::between((0, 0), (100, 10))]);
    let boxes = cluster(&wide, WANTED).expect("boxes");
    check(&wide, &boxes, WANTED);
    assert_eq!(boxes.len(), 4);
    let lonely = marks(40, 20, &[CellBox::between((39, 0), (40, 1))]);
    let corner = CellBox::between((36, 0), (40, 4));
    assert_eq!(cluster(&lonely, WANTED), Ok(vec![corner]));
}

#[test]
fn a_domain_narrower_than_a_box_is_covered() {
    let narrow = marks(40, 2, &[CellBox::between((10, 0), (12, 1))]);
    let boxes = cluster(&narrow, WANTED).expect("boxes");
    check(&narrow, &boxes, WANTED);
    assert_eq!(boxes, [CellBox::between((9, 0), (13, 2))]);
}

#[test]
fn sides_that_leave_no_room_to_cut_are_refused() {
    for (min_side, max_side) in [(0, 8), (8, 15), (8, 4)] {
        let wanted = Clustering {
            min_side,
            max_side,
            ..WANTED
        };
        let error = cluster(&marks(8, 8, &[]), wanted);
        assert_eq!(error, Err(ClusterError::Sides { min_side, max_side }));
    }
}

proptest! {
    #[test]
    fn any_marks_are_covered(
        boxes in prop::collection::vec((0..60i64, 0..40i64, 1..12i64, 1..12i64), 0..12),
        min_side in 1..6i64,
        room in 0..20i64,
    ) {
        let boxes: Vec<_> = boxes.into_iter().map(|(i, j, nx, ny)| CellBox { i, j, nx, ny }).collect();
        let wanted = Clustering { efficiency: 0.75, min_side, max_side: 2 * min_side + room };
        let marks = marks(61, 37, &boxes);
        let found = cluster(&marks, wanted).expect("boxes");
        check(&marks, &found, wanted);
        // A box that wastes more is too narrow to be cut.
        for cells in &found {
            let is_full = marks.count(cells) as f64 >= wanted.efficiency * cells.cells() as f64;
            prop_assert!(is_full || cells.nx.max(cells.ny) < 2 * min_side);
        }
    }
}
