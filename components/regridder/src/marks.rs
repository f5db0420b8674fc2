//! Marked cells of a whole level.

use hydro_ports::CellBox;

/// Which cells of a level are marked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marks {
    nx: usize,
    ny: usize,
    cells: Vec<bool>,
}

impl Marks {
    /// Marks of `nx × ny` cells.
    ///
    /// # Arguments
    /// * `cells` - shape `[ny][nx]`; cut or filled up with unmarked cells if it has another length
    pub fn new(nx: usize, ny: usize, mut cells: Vec<bool>) -> Self {
        cells.resize(nx * ny, false);
        Marks { nx, ny, cells }
    }

    /// All cells of the level.
    pub fn domain(&self) -> CellBox {
        CellBox::between((0, 0), (self.nx as i64, self.ny as i64))
    }

    /// Marks every cell of a box that is in the domain.
    pub fn mark(&mut self, cells: &CellBox) {
        let Some(inside) = cells.intersect(&self.domain()) else {
            return;
        };
        for j in inside.j..inside.j_end() {
            let first = j as usize * self.nx + inside.i as usize;
            self.cells[first..][..inside.nx as usize].fill(true);
        }
    }

    /// The marks of the cells of one row of a box in the domain.
    pub(crate) fn row(&self, cells: &CellBox, j: i64) -> &[bool] {
        let first = j as usize * self.nx + cells.i as usize;
        &self.cells[first..][..cells.nx as usize]
    }

    /// Marked cells of a box in the domain.
    pub fn count(&self, cells: &CellBox) -> usize {
        let rows = (cells.j..cells.j_end()).map(|j| self.row(cells, j));
        rows.flatten().filter(|marked| **marked).count()
    }
}

/// Marks also every cell within `n` cells, diagonally too, of a marked one.
pub fn buffered(marks: &Marks, n: usize) -> Marks {
    let Marks { nx, ny, .. } = *marks;
    let spread = |cells: &[bool], length: usize, stride: usize, line: &dyn Fn(usize) -> usize| {
        let mut wide = vec![false; cells.len()];
        for first in (0..cells.len() / length.max(1)).map(line) {
            for k in (0..length).filter(|k| cells[first + k * stride]) {
                for near in k.saturating_sub(n)..(k + n + 1).min(length) {
                    wide[first + near * stride] = true;
                }
            }
        }
        wide
    };
    let along_x = spread(&marks.cells, nx, 1, &|row| row * nx);
    let cells = spread(&along_x, ny, nx, &|column| column);
    Marks { nx, ny, cells }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_a_square_cut_at_the_boundary() {
        let mut marks = Marks::new(7, 4, Vec::new());
        marks.mark(&CellBox::between((1, 0), (2, 1)));
        let wide = buffered(&marks, 2);
        let square = CellBox::between((0, 0), (4, 3));
        assert_eq!(wide.count(&square), 12);
        assert_eq!(wide.count(&wide.domain()), 12);
        assert_eq!(buffered(&marks, 0), marks);
    }

    #[test]
    fn what_is_outside_is_not_marked() {
        let mut marks = Marks::new(3, 3, Vec::new());
        marks.mark(&CellBox::between((-5, 1), (1, 9)));
        marks.mark(&CellBox::between((5, 5), (6, 6)));
        assert_eq!(marks.count(&marks.domain()), 2);
    }
}
