//! Fluxes between the levels: the change of a coarse cell next to a finer level, and its right value.
//!
//! A face is stored at the index of its lower cell ([`hydro_ports::map_faces`]).

use cca_ports::RVec;
use hydro_ports::{CellBox, NVAR, Patch, Shape};

use crate::Side;

/// The fluxes through the four sides of a fine patch over the steps of its level, on the coarse faces; each of shape
/// `[NVAR][faces]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Border {
    sides: [Vec<f64>; 4],
}

impl Border {
    /// No flux yet.
    pub fn reset(&mut self, shape: Shape) {
        let faces = [shape.ny, shape.ny, shape.nx, shape.nx].map(|cells| NVAR * cells / 2);
        for (side, faces) in self.sides.iter_mut().zip(faces) {
            side.clear();
            side.resize(faces, 0.0);
        }
    }

    /// Adds the fluxes of one stage: over each coarse face the mean of two fine ones.
    ///
    /// # Arguments
    /// * `weight` - time for which they acted
    /// * `fluxes` - across x and y, shape `[NVAR][ny + 2g][nx + 2g]`
    pub fn add(&mut self, shape: Shape, weight: f64, fluxes: [&[f64]; 2]) {
        let (row, plane, g) = (shape.row(), shape.plane(), shape.ghost);
        // First face of a side, and the distance to the next.
        let walks = [
            (0, g * row + g - 1, row),
            (0, g * row + g + shape.nx - 1, row),
            (1, (g - 1) * row + g, 1),
            (1, (g + shape.ny - 1) * row + g, 1),
        ];
        for (sums, (axis, first, stride)) in self.sides.iter_mut().zip(walks) {
            let faces = sums.len() / NVAR;
            for (k, sum) in sums.iter_mut().enumerate() {
                let face = k / faces * plane + first + 2 * (k % faces) * stride;
                let flux = fluxes[axis];
                *sum += weight * 0.5 * (flux[face] + flux[face + stride]);
            }
        }
    }

    /// Appends the sums next to a strip of coarse cells to a message, shape `[NVAR][cells]`.
    ///
    /// # Arguments
    /// * `cells` - the patch, in coarse cells
    /// * `strip` - part of `side.strip(cells)`
    pub fn read(&self, side: Side, cells: &CellBox, strip: &CellBox, message: &mut RVec<f64>) {
        let sums = &self.sides[side as usize];
        let first = match side {
            Side::Left | Side::Right => strip.j - cells.j,
            Side::Bottom | Side::Top => strip.i - cells.i,
        };
        for of_variable in sums.chunks_exact((sums.len() / NVAR).max(1)) {
            message.extend_from_copy_slice(&of_variable[first as usize..][..strip.cells()]);
        }
    }
}

/// Replaces the fluxes of a coarse patch by those of a finer level, in the cells next to it.
///
/// # Arguments
/// * `side` - the side of the finer patch that the cells touch
/// * `strip` - the cells, of the coarse patch's interior
/// * `fine` - fluxes × time of the finer level, shape `[NVAR][cells]`
/// * `coarse` - fluxes × time of the coarse level across the axis of `side`, shape `[NVAR][ny + 2g][nx + 2g]`
/// * `state` - the coarse patch's states after its step, corrected here, same shape
///
/// # Source
/// Case study, section 5, "Reflux".
pub fn correct(
    patch: &Patch,
    (side, strip): (Side, &CellBox),
    fine: &[f64],
    coarse: &[f64],
    state: &mut [f64],
) {
    let row = patch.shape.row();
    // The face's distance from its cell, and the sign of its flux in the cell's balance.
    let (back, per_width) = match side {
        Side::Left => (0, -1.0 / patch.dx),
        Side::Right => (1, 1.0 / patch.dx),
        Side::Bottom => (0, -1.0 / patch.dy),
        Side::Top => (row, 1.0 / patch.dy),
    };
    let cells = strip.cells();
    for (variable, fine) in fine.chunks_exact(cells.max(1)).enumerate() {
        for (k, fine) in fine.iter().enumerate() {
            let (i, j) = (strip.i + k as i64 % strip.nx, strip.j + k as i64 / strip.nx);
            let at = variable * patch.shape.plane() + patch.offset(i, j);
            state[at] += per_width * (fine - coarse[at - back]);
        }
    }
}

#[cfg(test)]
mod tests {
    use hydro_ports::{Domain, GHOST};

    use super::*;
    use crate::layout;

    const DOMAIN: Domain = Domain {
        nx: 12,
        ny: 8,
        x_lower: 0.0,
        x_upper: 6.0,
        y_lower: 0.0,
        y_upper: 2.0,
    };

    /// The value of a face is its column and row on its level, different for each axis.
    fn fluxes(patch: &Patch) -> [Vec<f64>; 2] {
        let (shape, cells) = (patch.shape, patch.array_cells());
        [0.0, 1000.0].map(|axis| {
            let value = |k: usize| {
                let (column, row) = (k % shape.row(), k % shape.plane() / shape.row());
                axis + (cells.i + column as i64) as f64 * 10.0 + (cells.j + row as i64) as f64
            };
            (0..shape.len()).map(value).collect()
        })
    }

    #[test]
    fn fine_faces_are_averaged_side_by_side() {
        let cells = CellBox::between((4, 3), (7, 5));
        let fine = layout::patch(&DOMAIN, 1, 0, &cells.refine());
        let mut border = Border::default();
        border.reset(fine.shape);
        let [x, y] = fluxes(&fine);
        border.add(fine.shape, 0.5, [&x, &y]);
        border.add(fine.shape, 0.5, [&x, &y]);
        let read = |side: Side| {
            let mut message = RVec::new();
            border.read(side, &cells, &side.strip(&cells), &mut message);
            assert_eq!(message.len(), NVAR * side.strip(&cells).cells());
            message[..side.strip(&cells).cells()].to_vec()
        };
        // Faces left of column 8 are stored at 7; rows 6 and 7, 8 and 9.
        assert_eq!(read(Side::Left), [76.5, 78.5]);
        assert_eq!(read(Side::Right), [136.5, 138.5]);
        assert_eq!(read(Side::Bottom), [1090.0, 1110.0, 1130.0].map(|v| v));
        assert_eq!(read(Side::Top), [1094.0, 1114.0, 1134.0]);
        let mut message = RVec::new();
        let part = CellBox::between((5, 5), (7, 6));
        border.read(Side::Top, &cells, &part, &mut message);
        assert_eq!(message[..2], [1114.0, 1134.0]);
    }

    #[test]
    fn a_neighbouring_cell_gets_the_difference_of_the_fluxes() {
        let patch = layout::patch(&DOMAIN, 0, 0, &CellBox::between((0, 0), (12, 8)));
        let cells = CellBox::between((4, 3), (7, 5));
        let [x, y] = fluxes(&patch);
        for (side, coarse, cell, flux, change) in [
            (Side::Left, &x, (3, 4), 34.0, -2.0),
            (Side::Right, &x, (7, 4), 64.0, 2.0),
            (Side::Bottom, &y, (5, 2), 1052.0, -4.0),
            (Side::Top, &y, (5, 5), 1054.0, 4.0),
        ] {
            let (i, j) = cell;
            let strip = CellBox { i, j, nx: 1, ny: 1 };
            assert!(side.strip(&cells).contains(&strip));
            let mut state = vec![0.0; patch.shape.len()];
            correct(
                &patch,
                (side, &strip),
                &[flux + 1.0; NVAR],
                coarse,
                &mut state,
            );
            assert_eq!(state[patch.offset(i, j)], change, "{side:?}");
            assert_eq!(state.iter().filter(|value| **value != 0.0).count(), NVAR);
        }
        assert_eq!(GHOST, patch.shape.ghost);
    }
}
