//! The patches of all ranks on one grid.

use hydro_ports::{Domain, GAMMA, NVAR, Patch, primitive};

use crate::{Grid, PatchOutline};

/// A patch as it is sent to the rank that writes.
#[derive(Clone, Debug, PartialEq)]
pub struct GatheredPatch {
    /// Level, 0 the coarsest.
    pub level: u32,
    /// Column and row of its first cell, in cells of its level.
    pub first: (usize, usize),
    /// Columns and rows.
    pub cells: (usize, usize),
    /// Primitive states of its interior cells, shape `[ny][nx][NVAR]`.
    pub states: Vec<[f64; NVAR]>,
}

/// Doubles in front of a patch's states.
const HEAD: usize = 5;

impl GatheredPatch {
    /// Reads the interior of a patch.
    ///
    /// # Arguments
    /// * `u` - conserved states, shape `[NVAR][ny + 2g][nx + 2g]`
    ///
    /// # Panics
    /// If `u` is shorter than `patch.shape.len()`.
    pub fn new(patch: Patch, u: &[f64]) -> Self {
        let shape = patch.shape;
        let state = |k: usize| std::array::from_fn(|v| u[v * shape.plane() + k]);
        let rows = shape.interior_rows().take(shape.ny);
        let cells = rows.flat_map(|row| row..row + shape.nx);
        GatheredPatch {
            level: patch.level,
            first: (patch.i0, patch.j0),
            cells: (shape.nx, shape.ny),
            states: cells.map(|k| primitive(GAMMA, state(k))).collect(),
        }
    }

    /// Appends the patch to a message.
    pub fn pack(&self, message: &mut Vec<f64>) {
        let ((i, j), (nx, ny)) = (self.first, self.cells);
        message.push(f64::from(self.level));
        message.extend([i, j, nx, ny].map(|count| count as f64));
        message.extend(self.states.iter().flatten());
    }

    /// The patches of a message; an incomplete one at its end is ignored.
    pub fn unpack(mut message: &[f64]) -> Vec<Self> {
        let mut patches = Vec::new();
        while let Some((&[level, i, j, nx, ny], rest)) = message.split_first_chunk::<HEAD>() {
            let count = |value: f64| value as usize;
            let values = NVAR * count(nx) * count(ny);
            let Some((values, rest)) = rest.split_at_checked(values) else {
                break;
            };
            patches.push(GatheredPatch {
                level: level as u32,
                first: (count(i), count(j)),
                cells: (count(nx), count(ny)),
                states: values.as_chunks().0.to_vec(),
            });
            message = rest;
        }
        patches
    }
}

/// The grid of the finest level with every patch on it, finer ones over coarser.
///
/// # Arguments
/// * `levels` - number of levels, each of half the cell size of the one before
/// * `patches` - patches of all ranks, in any order; sorted by level here
///
/// # Returns
/// The grid; rho, u, v, p, z on it, NaN where no patch is; the outlines of the patches.
pub fn paint(
    domain: Domain,
    levels: u32,
    patches: &mut [GatheredPatch],
) -> (Grid, [Vec<f64>; NVAR], Vec<PatchOutline>) {
    let refinement = |level: u32| 1usize << levels.saturating_sub(level + 1);
    let (nx, ny) = (domain.nx * refinement(0), domain.ny * refinement(0));
    let grid = Grid {
        nx,
        ny,
        x0: domain.x_lower,
        y0: domain.y_lower,
        dx: (domain.x_upper - domain.x_lower) / nx as f64,
        dy: (domain.y_upper - domain.y_lower) / ny as f64,
    };
    patches.sort_by_key(|patch| patch.level);
    let mut fields = std::array::from_fn(|_| vec![f64::NAN; grid.cells()]);
    let mut outlines = Vec::new();
    for patch in &*patches {
        let width = refinement(patch.level);
        let (i, j) = (patch.first.0 * width, patch.first.1 * width);
        let (columns, rows) = (patch.cells.0 * width, patch.cells.1 * width);
        for row in 0..rows {
            for column in 0..columns {
                let cell = row / width * patch.cells.0 + column / width;
                let k = (j + row) * nx + i + column;
                for (field, value) in fields.iter_mut().zip(patch.states[cell]) {
                    field[k] = value;
                }
            }
        }
        let corner = |i: usize, j: usize| {
            let (x, y) = (i as f64 * grid.dx, j as f64 * grid.dy);
            (grid.x0 + x, grid.y0 + y)
        };
        outlines.push(PatchOutline {
            low: corner(i, j),
            high: corner(i + columns, j + rows),
            level: patch.level as usize,
        });
    }
    (grid, fields, outlines)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOMAIN: Domain = Domain {
        nx: 4,
        ny: 2,
        x_lower: 0.0,
        x_upper: 2.0,
        y_lower: 0.0,
        y_upper: 1.0,
    };

    fn patch(level: u32, first: (usize, usize), cells: (usize, usize), rho: f64) -> GatheredPatch {
        let states = vec![[rho, 0.0, 0.0, 1.0, 0.0]; cells.0 * cells.1];
        GatheredPatch {
            level,
            first,
            cells,
            states,
        }
    }

    #[test]
    fn a_message_of_two_patches_reads_back() {
        let patches = [patch(0, (0, 0), (2, 2), 1.0), patch(1, (4, 0), (1, 3), 2.0)];
        let mut message = Vec::new();
        patches.iter().for_each(|patch| patch.pack(&mut message));
        assert_eq!(GatheredPatch::unpack(&message), patches);
        assert!(GatheredPatch::unpack(&[]).is_empty());
    }

    #[test]
    fn finer_patches_lie_over_coarser() {
        let mut patches = [
            patch(1, (2, 1), (2, 1), 9.0),
            patch(0, (0, 0), (2, 2), 1.0),
            patch(0, (2, 0), (2, 2), 2.0),
        ];
        let (grid, [rho, ..], outlines) = paint(DOMAIN, 2, &mut patches);
        assert_eq!((grid.nx, grid.ny, grid.dx), (8, 4, 0.25));
        assert_eq!(rho[..8], [1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0]);
        assert_eq!(rho[8..16], [1.0, 1.0, 9.0, 9.0, 2.0, 2.0, 2.0, 2.0]);
        let fine = outlines[2];
        assert_eq!((fine.low, fine.high), ((0.5, 0.25), (1.0, 0.5)));
    }

    #[test]
    fn what_no_patch_covers_has_no_value() {
        let (_, [rho, ..], _) = paint(DOMAIN, 1, &mut [patch(0, (0, 0), (4, 1), 1.0)]);
        assert_eq!(rho[..4], [1.0; 4]);
        assert!(rho[4..].iter().all(|rho| rho.is_nan()));
    }
}
