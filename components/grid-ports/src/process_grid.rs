//! How ranks share a grid.

use cca_ports::PortError;

/// Ranks in columns and rows, row after row from the lower left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessGrid {
    /// Columns.
    pub columns: i32,
    /// Rows.
    pub rows: i32,
    /// Column of this rank.
    pub x: i32,
    /// Row of this rank.
    pub y: i32,
}

impl ProcessGrid {
    /// The place of a rank.
    ///
    /// # Arguments
    /// * `columns` - how many; 0 for the most that are not more than the rows
    ///
    /// # Errors
    /// The ranks do not fill this number of columns.
    pub fn new(rank: i32, size: i32, columns: i32) -> Result<Self, PortError> {
        let most = (1..=size).take_while(|columns| columns * columns <= size);
        let square = most.filter(|columns| size % columns == 0).last();
        let columns = match columns {
            0 => square.unwrap_or(1),
            columns => columns,
        };
        if columns < 1 || size % columns != 0 {
            return Err(PortError::failed(format_args!(
                "cannot share grid: {size} ranks in {columns} columns, expected a divisor of {size}"
            )));
        }
        Ok(Self {
            columns,
            rows: size / columns,
            x: rank % columns,
            y: rank / columns,
        })
    }

    /// The rank `dx` columns and `dy` rows away; none beyond the edges.
    pub fn neighbour(&self, dx: i32, dy: i32) -> Option<i32> {
        let (x, y) = (self.x + dx, self.y + dy);
        let inside = (0..self.columns).contains(&x) && (0..self.rows).contains(&y);
        inside.then(|| y * self.columns + x)
    }
}

/// The cells of one of `parts` that share `cells`: first, and how many.
pub fn share(cells: usize, parts: i32, part: i32) -> (usize, usize) {
    let (parts, part) = (parts as usize, part as usize);
    let first = cells * part / parts;
    (first, cells * (part + 1) / parts - first)
}

#[cfg(test)]
mod tests {
    use super::{ProcessGrid, share};

    #[test]
    fn ranks_are_as_square_as_they_can_be() {
        for (size, columns) in [(1, 1), (2, 1), (4, 2), (6, 2), (7, 1), (12, 3)] {
            let grid = ProcessGrid::new(0, size, 0).expect("a grid");
            assert_eq!((grid.columns, grid.rows), (columns, size / columns));
        }
        let refused = ProcessGrid::new(0, 4, 3).expect_err("no divisor");
        let expected = "cannot share grid: 4 ranks in 3 columns, expected a divisor of 4";
        assert_eq!(refused.message(), expected);
    }

    #[test]
    fn neighbours_end_at_the_edges() {
        let grid = ProcessGrid::new(3, 6, 2).expect("a grid");
        let around = [(-1, 0), (1, 0), (0, -1), (0, 1)];
        let found = around.map(|(dx, dy)| grid.neighbour(dx, dy));
        assert_eq!(found, [Some(2), None, Some(1), Some(5)]);
    }

    #[test]
    fn each_cell_has_one_part() {
        for (cells, parts) in [(10, 3), (7, 7), (64, 4), (5, 2)] {
            let mut next = 0;
            for part in 0..parts {
                let (first, n) = share(cells, parts, part);
                assert_eq!(first, next);
                next += n;
            }
            assert_eq!(next, cells);
        }
    }
}
