//! Boxes of cells in the arrays of patches.

use cca_ports::RVec;
use hydro_ports::{CellBox, NVAR, Patch};

/// Where the rows of a box begin in a patch's array, variable by variable.
fn rows(patch: &Patch, region: &CellBox) -> impl Iterator<Item = usize> {
    let (patch, region) = (*patch, *region);
    (0..NVAR).flat_map(move |variable| {
        let plane = variable * patch.shape.plane();
        (region.j..region.j_end()).map(move |j| plane + patch.offset(region.i, j))
    })
}

/// Appends a box of cells to a message: variable slowest, then rows, columns fastest.
///
/// # Panics
/// If the box reaches beyond the array.
pub fn read(patch: &Patch, values: &[f64], region: &CellBox, message: &mut RVec<f64>) {
    message.reserve(region.doubles());
    for row in rows(patch, region) {
        message.extend_from_copy_slice(&values[row..][..region.nx as usize]);
    }
}

/// Appends a box of cells between two times to a message: `old + part (new - old)`.
///
/// # Panics
/// If the box reaches beyond an array.
pub fn read_between(
    patch: &Patch,
    (old, new): (&[f64], &[f64]),
    part: f64,
    region: &CellBox,
    message: &mut RVec<f64>,
) {
    message.reserve(region.doubles());
    for row in rows(patch, region) {
        let (old, new) = (
            &old[row..][..region.nx as usize],
            &new[row..][..region.nx as usize],
        );
        message.extend(
            old.iter()
                .zip(new)
                .map(|(old, new)| old + part * (new - old)),
        );
    }
}

/// Writes a box of cells: the inverse of [`read`].
///
/// # Panics
/// If the box reaches beyond the array, or `message` is shorter than it.
pub fn write(patch: &Patch, values: &mut [f64], region: &CellBox, message: &[f64]) {
    let columns = region.nx as usize;
    for (row, message) in rows(patch, region).zip(message.chunks_exact(columns.max(1))) {
        values[row..][..columns].copy_from_slice(message);
    }
}
