//! Rectangles of cells of one level, and operations on them.

use std::fmt;

use cca_ports::StableAbi;

use crate::NVAR;

/// A rectangle of cells of a level, counted from the domain's lower left cell; it may reach beyond the domain.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, StableAbi)]
pub struct CellBox {
    /// First column.
    pub i: i64,
    /// First row.
    pub j: i64,
    /// Columns; without cells if not positive.
    pub nx: i64,
    /// Rows; without cells if not positive.
    pub ny: i64,
}

impl CellBox {
    /// The box of the cells from `(i, j)` up to but without `(i_end, j_end)`.
    pub fn between((i, j): (i64, i64), (i_end, j_end): (i64, i64)) -> Self {
        let (nx, ny) = (i_end - i, j_end - j);
        CellBox { i, j, nx, ny }
    }

    /// Column after the last.
    pub fn i_end(&self) -> i64 {
        self.i + self.nx
    }

    /// Row after the last.
    pub fn j_end(&self) -> i64 {
        self.j + self.ny
    }

    /// Whether it has no cell.
    pub fn is_empty(&self) -> bool {
        self.nx <= 0 || self.ny <= 0
    }

    /// Number of cells.
    pub fn cells(&self) -> usize {
        (self.nx.max(0) * self.ny.max(0)) as usize
    }

    /// Doubles of the states of its cells.
    pub fn doubles(&self) -> usize {
        NVAR * self.cells()
    }

    /// The cells that both have, if there are any.
    pub fn intersect(&self, other: &CellBox) -> Option<CellBox> {
        let low = (self.i.max(other.i), self.j.max(other.j));
        let end = (
            self.i_end().min(other.i_end()),
            self.j_end().min(other.j_end()),
        );
        let common = CellBox::between(low, end);
        (!common.is_empty()).then_some(common)
    }

    /// Whether every cell of `other` is one of these.
    pub fn contains(&self, other: &CellBox) -> bool {
        other.is_empty() || self.intersect(other) == Some(*other)
    }

    /// The box with `n` more cells on each side.
    pub fn grow(&self, n: i64) -> CellBox {
        CellBox {
            i: self.i - n,
            j: self.j - n,
            nx: self.nx + 2 * n,
            ny: self.ny + 2 * n,
        }
    }

    /// The same cells counted on the next finer level.
    pub fn refine(&self) -> CellBox {
        CellBox {
            i: 2 * self.i,
            j: 2 * self.j,
            nx: 2 * self.nx,
            ny: 2 * self.ny,
        }
    }

    /// The cells of the next coarser level that cover these.
    pub fn coarsen(&self) -> CellBox {
        let low = (self.i.div_euclid(2), self.j.div_euclid(2));
        let up = |end: i64| (end + 1).div_euclid(2);
        CellBox::between(low, (up(self.i_end()), up(self.j_end())))
    }

    /// The cells that are not in `other`, as up to four boxes without common cells.
    pub fn minus(&self, other: &CellBox) -> Vec<CellBox> {
        let Some(common) = self.intersect(other) else {
            let whole = Some(*self).filter(|whole| !whole.is_empty());
            return whole.into_iter().collect();
        };
        let parts = [
            CellBox::between((self.i, self.j), (self.i_end(), common.j)),
            CellBox::between((self.i, common.j), (common.i, common.j_end())),
            CellBox::between((common.i_end(), common.j), (self.i_end(), common.j_end())),
            CellBox::between((self.i, common.j_end()), (self.i_end(), self.j_end())),
        ];
        parts.into_iter().filter(|part| !part.is_empty()).collect()
    }

    /// The cells that are in none of `others`, as boxes without common cells.
    pub fn minus_all<'a>(&self, others: impl IntoIterator<Item = &'a CellBox>) -> Vec<CellBox> {
        let mut rest = self.minus(&CellBox::default());
        for other in others {
            if rest.iter().any(|part| part.intersect(other).is_some()) {
                rest = rest.iter().flat_map(|part| part.minus(other)).collect();
            }
        }
        rest
    }
}

impl fmt::Display for CellBox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CellBox { i, j, nx, ny } = self;
        write!(f, "{nx} x {ny} cells from ({i}, {j})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOX: CellBox = CellBox {
        i: 2,
        j: -1,
        nx: 4,
        ny: 3,
    };

    #[test]
    fn a_common_part_is_in_both() {
        let other = CellBox::between((4, 0), (9, 9));
        let common = CellBox::between((4, 0), (6, 2));
        assert_eq!(BOX.intersect(&other), Some(common));
        assert_eq!(BOX.intersect(&CellBox::between((6, 0), (9, 9))), None);
        assert!(BOX.contains(&common) && !common.contains(&BOX));
        assert!(BOX.contains(&CellBox::default()), "no cell is anywhere");
    }

    #[test]
    fn what_is_left_has_each_cell_once() {
        let holes = [
            CellBox::between((3, 0), (4, 1)),
            CellBox::between((3, -4), (9, 1)),
            CellBox::between((20, 20), (30, 30)),
        ];
        let rest = BOX.minus_all(&holes);
        for j in -3..6 {
            for i in 0..10 {
                let cell = CellBox { i, j, nx: 1, ny: 1 };
                let wanted = BOX.contains(&cell) && !holes.iter().any(|h| h.contains(&cell));
                let found = rest.iter().filter(|part| part.contains(&cell)).count();
                assert_eq!(found, usize::from(wanted), "{cell}");
            }
        }
        assert!(BOX.minus(&BOX.grow(1)).is_empty());
    }

    #[test]
    fn coarsening_undoes_refining_and_covers_odd_cells() {
        assert_eq!(BOX.refine().coarsen(), BOX);
        let odd = CellBox::between((-3, 1), (2, 4));
        assert_eq!(odd.coarsen(), CellBox::between((-2, 0), (1, 2)));
        assert!(odd.coarsen().refine().contains(&odd));
    }

    #[test]
    fn growing_adds_on_each_side() {
        assert_eq!(BOX.grow(2), CellBox::between((0, -3), (8, 4)));
        assert_eq!(BOX.cells(), 12);
        assert_eq!(BOX.grow(-2).cells(), 0);
        assert!(BOX.grow(-2).is_empty());
        assert_eq!(BOX.to_string(), "4 x 3 cells from (2, -1)");
    }
}
