//! A rank's block of the grid.

use grid_ports::{ProcessGrid, share};

/// A side of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Towards lower x.
    West,
    /// Towards higher x.
    East,
    /// Towards lower y.
    South,
    /// Towards higher y.
    North,
}

impl Side {
    /// All, in the order in which they are sent.
    pub const ALL: [Self; 4] = [Self::West, Self::East, Self::South, Self::North];

    /// Steps in columns and rows of the ranks.
    pub fn steps(self) -> (i32, i32) {
        match self {
            Self::West => (-1, 0),
            Self::East => (1, 0),
            Self::South => (0, -1),
            Self::North => (0, 1),
        }
    }

    /// The side of the neighbour that touches this one.
    pub fn opposite(self) -> Self {
        match self {
            Self::West => Self::East,
            Self::East => Self::West,
            Self::South => Self::North,
            Self::North => Self::South,
        }
    }
}

/// Temperatures of a block, one ghost cell around it.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// Cells of a row, ghost cells included.
    pub columns: usize,
    /// Rows, ghost cells included.
    pub rows: usize,
    /// First column and row in the whole grid.
    pub first: (usize, usize),
    /// Shape `[rows][columns]`.
    pub cells: Vec<f64>,
}

impl Block {
    /// The block of a rank, all temperatures 0.
    ///
    /// # Arguments
    /// * `cells` - along x and y of the whole grid
    pub fn new(grid: ProcessGrid, (nx, ny): (usize, usize)) -> Self {
        let (x0, width) = share(nx, grid.columns, grid.x);
        let (y0, height) = share(ny, grid.rows, grid.y);
        let (columns, rows) = (width + 2, height + 2);
        Self {
            columns,
            rows,
            first: (x0, y0),
            cells: vec![0.0; columns * rows],
        }
    }

    /// Index of the first cell, step from one to the next, and how many, of the last cells inside at a side.
    fn edge(&self, side: Side) -> (usize, usize, usize) {
        let (columns, rows) = (self.columns, self.rows);
        match side {
            Side::West => (columns + 1, columns, rows - 2),
            Side::East => (2 * columns - 2, columns, rows - 2),
            Side::South => (columns + 1, 1, columns - 2),
            Side::North => ((rows - 2) * columns + 1, 1, columns - 2),
        }
    }

    /// Cells at a side.
    pub fn length(&self, side: Side) -> usize {
        self.edge(side).2
    }

    /// The last cells inside at a side.
    pub fn inner(&self, side: Side) -> Vec<f64> {
        let (first, step, n) = self.edge(side);
        (0..n).map(|k| self.cells[first + k * step]).collect()
    }

    /// Fills the ghost cells at a side.
    pub fn fill(&mut self, side: Side, values: &[f64]) {
        let (first, step, _) = self.edge(side);
        let ghost = match side {
            Side::West => first - 1,
            Side::East => first + 1,
            Side::South => first - self.columns,
            Side::North => first + self.columns,
        };
        for (k, value) in values.iter().enumerate() {
            self.cells[ghost + k * step] = *value;
        }
    }

    /// The cells inside, row after row.
    pub fn inside(&self) -> impl Iterator<Item = f64> {
        let rows = self.cells.chunks_exact(self.columns);
        let rows = rows.skip(1).take(self.rows - 2);
        rows.flat_map(|row| row[1..self.columns - 1].iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hot_spot;

    #[test]
    fn what_one_block_sends_fills_the_other() {
        let [left, right] = [0, 1].map(|rank| {
            let grid = ProcessGrid::new(rank, 2, 2).expect("a grid");
            let mut block = Block::new(grid, (8, 3));
            hot_spot(block.columns, block.first, (8, 3), &mut block.cells);
            block
        });
        let mut filled = left.clone();
        filled.fill(Side::East, &right.inner(Side::West));
        // The ghost cells have the values of their places from the start.
        assert_eq!(left.length(Side::East), 3);
        for (a, b) in filled.cells.iter().zip(&left.cells) {
            assert!((a - b).abs() < 1e-14, "{a} {b}");
        }
    }

    #[test]
    fn a_block_without_neighbours_mirrors_itself() {
        let grid = ProcessGrid::new(0, 1, 0).expect("a grid");
        let mut block = Block::new(grid, (3, 4));
        hot_spot(block.columns, block.first, (3, 4), &mut block.cells);
        for side in Side::ALL {
            let edge = block.inner(side);
            block.fill(side, &edge);
        }
        let row = |j: usize| &block.cells[j * 5..(j + 1) * 5];
        assert_eq!(row(0)[1..4], row(1)[1..4]);
        assert_eq!(row(5)[1..4], row(4)[1..4]);
        assert_eq!(row(2)[0], row(2)[1]);
        assert_eq!(row(2)[4], row(2)[3]);
        assert_eq!(block.inside().count(), 12);
    }
}
