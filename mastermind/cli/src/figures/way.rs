//! Routes a line between boxes that stand in columns: around the boxes in between, not behind them.

/// Room between a line and a box, pixels.
const ROOM: f64 = 9.0;

/// A box: left, top, right, bottom.
pub type Bounds = [f64; 4];

/// The corners of a line from the right side of a box to the left side of another one: both ends, and the ends of a
/// level piece through each column in between.
///
/// # Arguments
/// * `boxes` - all of them; the boxes of a column have the same left and right
pub fn corners(from: (f64, f64), to: (f64, f64), boxes: &[Bounds]) -> Vec<(f64, f64)> {
    let mut columns: Vec<(f64, f64)> = Vec::new();
    for [left, _, right, _] in boxes {
        let is_between = *left > from.0 && *right < to.0;
        if is_between && !columns.iter().any(|column| column.0 == *left) {
            columns.push((*left, *right));
        }
    }
    columns.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut corners = vec![from];
    for (left, right) in columns {
        let share = (0.5 * (left + right) - from.0) / (to.0 - from.0);
        let wanted = from.1 + (to.1 - from.1) * share;
        let of_column = boxes.iter().filter(|bounds| bounds[0] == left);
        let heights: Vec<_> = of_column
            .map(|[_, top, _, bottom]| (*top, *bottom))
            .collect();
        let y = pass(&heights, wanted);
        corners.extend([(left - ROOM, y), (right + ROOM, y)]);
    }
    corners.push(to);
    corners
}

/// The height nearest to the wanted one at which a level line meets none of the boxes.
fn pass(boxes: &[(f64, f64)], wanted: f64) -> f64 {
    let is_free = |y: f64| {
        boxes
            .iter()
            .all(|(top, bottom)| y <= top - ROOM || y >= bottom + ROOM)
    };
    let ends = boxes
        .iter()
        .flat_map(|(top, bottom)| [top - ROOM, bottom + ROOM]);
    let free = [wanted].into_iter().chain(ends).filter(|y| is_free(*y));
    let nearest = free.min_by(|a, b| (a - wanted).abs().total_cmp(&(b - wanted).abs()));
    nearest.unwrap_or(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_goes_round_what_stands_in_between() {
        let boxes = [
            [0.0, 0.0, 50.0, 40.0],
            [100.0, 0.0, 150.0, 60.0],
            [100.0, 90.0, 150.0, 150.0],
            [200.0, 0.0, 250.0, 40.0],
        ];
        let way = corners((50.0, 20.0), (200.0, 30.0), &boxes);
        assert_eq!(way.len(), 4);
        let level = way[1].1;
        assert!(way[1].0 < 100.0 && way[2].0 > 150.0 && way[2].1 == level);
        // Passing above the first box is as short as passing between the two.
        assert!(
            level <= -ROOM || (60.0 + ROOM..=90.0 - ROOM).contains(&level),
            "{level}"
        );
        // Neighbours are connected directly, and so are lines that lead back.
        assert_eq!(corners((50.0, 20.0), (100.0, 30.0), &boxes).len(), 2);
        assert_eq!(corners((150.0, 20.0), (0.0, 30.0), &boxes).len(), 2);
    }

    #[test]
    fn a_free_height_is_kept() {
        assert_eq!(pass(&[(0.0, 10.0), (100.0, 110.0)], 50.0), 50.0);
        assert_eq!(pass(&[(0.0, 10.0)], 4.0), -ROOM);
    }
}
