//! Regions of patch arrays and their transport.

use cca_ports::RVec;
use hydro_ports::{NVAR, Shape};

/// A rectangle of a patch's array, ghost cells counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// First column in the array.
    pub i: usize,
    /// First row in the array.
    pub j: usize,
    /// Columns.
    pub nx: usize,
    /// Rows.
    pub ny: usize,
}

impl Region {
    /// Doubles that the region holds, all variables.
    pub fn len(&self) -> usize {
        NVAR * self.nx * self.ny
    }

    /// Whether the region has no cell.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Index of the first cell of each row of each variable.
    fn rows(self, shape: Shape) -> impl Iterator<Item = usize> {
        let rows = move |plane: usize| {
            (self.j..self.j + self.ny).map(move |j| plane + j * shape.row() + self.i)
        };
        (0..NVAR).flat_map(move |variable| rows(variable * shape.plane()))
    }
}

/// Appends a region to a message: variable slowest, then rows, columns fastest.
///
/// # Arguments
/// * `array` - shape `[NVAR][ny + 2g][nx + 2g]`
/// * `message` - gains `region.len()` doubles
///
/// # Panics
/// If the region reaches beyond the array.
pub fn pack(shape: Shape, array: &[f64], region: Region, message: &mut RVec<f64>) {
    message.reserve(region.len());
    for row in region.rows(shape) {
        message.extend_from_copy_slice(&array[row..][..region.nx]);
    }
}

/// Writes the beginning of a message into a region: the inverse of [`pack`].
///
/// # Arguments
/// * `message` - at least `region.len()` doubles
/// * `array` - shape `[NVAR][ny + 2g][nx + 2g]`
///
/// # Returns
/// The rest of the message, for the next region.
///
/// # Panics
/// If the message is shorter than the region, or the region reaches beyond the array.
pub fn unpack<'a>(
    shape: Shape,
    message: &'a [f64],
    region: Region,
    array: &mut [f64],
) -> &'a [f64] {
    let (values, rest) = message.split_at(region.len());
    for (row, values) in region
        .rows(shape)
        .zip(values.chunks_exact(region.nx.max(1)))
    {
        array[row..][..region.nx].copy_from_slice(values);
    }
    rest
}

/// Copies a region of one array to a region of the same size in another.
///
/// # Panics
/// If the regions differ in size or reach beyond their arrays.
pub fn copy(
    (from_shape, from, source): (Shape, &[f64], Region),
    (to_shape, to, target): (Shape, &mut [f64], Region),
) {
    assert_eq!(
        (source.nx, source.ny),
        (target.nx, target.ny),
        "regions differ in size"
    );
    for (read, write) in source.rows(from_shape).zip(target.rows(to_shape)) {
        to[write..][..target.nx].copy_from_slice(&from[read..][..source.nx]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape {
        nx: 4,
        ny: 3,
        ghost: 2,
    };
    const REGION: Region = Region {
        i: 3,
        j: 1,
        nx: 2,
        ny: 3,
    };

    fn numbered() -> Vec<f64> {
        (0..SHAPE.len()).map(|k| k as f64).collect()
    }

    #[test]
    fn a_message_holds_the_region_in_array_order() {
        let mut message = RVec::new();
        pack(SHAPE, &numbered(), REGION, &mut message);
        assert_eq!(message.len(), REGION.len());
        assert_eq!(message[..6], [11., 12., 19., 20., 27., 28.]);
        assert_eq!(message[6], 11.0 + SHAPE.plane() as f64);
    }

    #[test]
    fn unpack_undoes_pack_and_returns_the_rest() {
        let mut message = RVec::new();
        pack(SHAPE, &numbered(), REGION, &mut message);
        message.push(-1.0);
        let mut unpacked = vec![f64::NAN; SHAPE.len()];
        assert_eq!(unpack(SHAPE, &message, REGION, &mut unpacked), [-1.0]);
        let mut copied = vec![f64::NAN; SHAPE.len()];
        copy((SHAPE, &numbered(), REGION), (SHAPE, &mut copied, REGION));
        let written = unpacked
            .iter()
            .zip(numbered())
            .filter(|(a, b)| **a == *b)
            .count();
        assert_eq!(written, REGION.len());
        assert!(
            unpacked
                .iter()
                .zip(&copied)
                .all(|(a, b)| a.to_bits() == b.to_bits())
        );
    }
}
