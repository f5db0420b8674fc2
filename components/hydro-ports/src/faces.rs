//! The sweep over the faces of a patch, shared by the flux components.
//!
//! A face is stored at the index of its left (or lower) cell, so that an array of face values has
//! the shape of the cell array. The faces of an interior of `nx × ny` cells are, ghost cells `g`:
//!
//! ```text
//! axis X: j = g .. ny + g,  i = g - 1 .. nx + g     i inner, sequential
//! axis Y: i = g .. nx + g,  j = g - 1 .. ny + g     j inner, stride nx + 2g
//! ```

use std::error::Error;
use std::fmt;

use cca_ports::PortError;

use crate::{Axis, NVAR, Shape};

/// The lines of faces that a sweep walks, as offsets into one variable's plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lines {
    /// Offset of the first face of the first line.
    pub first: usize,
    /// Number of lines.
    pub n_lines: usize,
    /// Distance between the first faces of neighbouring lines.
    pub line_stride: usize,
    /// Faces of one line.
    pub n_faces: usize,
    /// Distance between neighbouring faces of a line; also between the two cells of a face.
    pub stride: usize,
}

impl Lines {
    /// Offset of the first face of each line, in the order of the walk.
    pub fn starts(self) -> impl Iterator<Item = usize> {
        (0..self.n_lines).map(move |line| self.first + line * self.line_stride)
    }
}

impl Shape {
    /// The faces across `axis` of the interior cells.
    ///
    /// # Panics
    /// If the patch has no ghost cell.
    pub fn faces(&self, axis: Axis) -> Lines {
        assert!(self.ghost > 0, "cannot sweep a patch without ghost cells");
        let (row, g) = (self.row(), self.ghost);
        match axis {
            Axis::X => Lines {
                first: g * row + g - 1,
                n_lines: self.ny,
                line_stride: row,
                n_faces: self.nx + 1,
                stride: 1,
            },
            Axis::Y => Lines {
                first: (g - 1) * row + g,
                n_lines: self.nx,
                line_stride: 1,
                n_faces: self.ny + 1,
                stride: row,
            },
        }
    }
}

/// A face whose flux has no value; the reason is the source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FaceError<E> {
    /// Axis that the face is across.
    pub axis: Axis,
    /// Column of the face in the array, ghost cells included.
    pub i: usize,
    /// Row of the face in the array, ghost cells included.
    pub j: usize,
    /// Why there is no flux.
    pub cause: E,
}

impl<E> fmt::Display for FaceError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "cannot compute flux of {:?} face \"({}, {})\"",
            self.axis, self.i, self.j
        )
    }
}

impl<E: Error + 'static> Error for FaceError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.cause)
    }
}

impl<E: Error> From<FaceError<E>> for PortError {
    /// Place and cause in one line, since no source crosses the border.
    fn from(error: FaceError<E>) -> Self {
        PortError::failed(&error.cause).context(&error)
    }
}

/// Computes the flux of every face across `axis` from the states on its two sides.
///
/// The function sees states turned into the face's frame, `(rho, u_n, u_t, p, z)`, and returns the
/// flux in that frame, `(mass, normal momentum, tangential momentum, energy, tracer)`.
///
/// # Arguments
/// * `left`, `right` - primitive states `(rho, u, v, p, z)`, shape `[NVAR][ny + 2g][nx + 2g]`
/// * `flux` - output of the same shape; only the faces of the interior are written
/// * `flux_of` - the flux of one face
///
/// # Errors
/// The first face, in the order of the walk, for which `flux_of` fails; later faces are not written.
///
/// # Panics
/// If an array is shorter than `shape.len()`, or the patch has no ghost cell.
pub fn map_faces<E>(
    axis: Axis,
    shape: Shape,
    left: &[f64],
    right: &[f64],
    flux: &mut [f64],
    mut flux_of: impl FnMut(&[f64; NVAR], &[f64; NVAR]) -> Result<[f64; NVAR], E>,
) -> Result<(), FaceError<E>> {
    let (lines, plane, row) = (shape.faces(axis), shape.plane(), shape.row());
    let (left, right) = (&left[..NVAR * plane], &right[..NVAR * plane]);
    let flux = &mut flux[..NVAR * plane];
    let (normal, tangential) = match axis {
        Axis::X => (1, 2),
        Axis::Y => (2, 1),
    };
    let order = [0, normal, tangential, 3, 4];
    for start in lines.starts() {
        for face in (0..lines.n_faces).map(|k| start + k * lines.stride) {
            let l = order.map(|variable| left[variable * plane + face]);
            let r = order.map(|variable| right[variable * plane + face]);
            let f = flux_of(&l, &r).map_err(|cause| {
                let (i, j) = (face % row, face / row);
                FaceError { axis, i, j, cause }
            })?;
            for (variable, value) in order.into_iter().zip(f) {
                flux[variable * plane + face] = value;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape {
        nx: 3,
        ny: 2,
        ghost: 2,
    };

    #[test]
    fn lines_cover_the_faces_of_the_interior() {
        let x = SHAPE.faces(Axis::X);
        assert_eq!(x.starts().collect::<Vec<_>>(), [15, 22]);
        assert_eq!((x.n_faces, x.stride), (4, 1));
        let y = SHAPE.faces(Axis::Y);
        assert_eq!(y.starts().collect::<Vec<_>>(), [9, 10, 11]);
        assert_eq!((y.n_faces, y.stride), (3, 7));
    }

    #[test]
    fn states_are_turned_into_the_frame_of_the_face_and_back() {
        let plane = SHAPE.plane();
        let states: Vec<f64> = (0..SHAPE.len()).map(|k| (k / plane) as f64).collect();
        for (axis, seen) in [
            (Axis::X, [0., 1., 2., 3., 4.]),
            (Axis::Y, [0., 2., 1., 3., 4.]),
        ] {
            let mut flux = vec![-1.0; SHAPE.len()];
            let done = map_faces::<()>(axis, SHAPE, &states, &states, &mut flux, |l, r| {
                assert_eq!((l, r), (&seen, &seen));
                Ok(*l)
            });
            assert_eq!(done, Ok(()));
            let written = flux.iter().zip(&states).filter(|(f, s)| f == s).count();
            let left_alone = flux.iter().filter(|f| **f == -1.0).count();
            let lines = SHAPE.faces(axis);
            assert_eq!(written, NVAR * lines.n_lines * lines.n_faces);
            assert_eq!(written + left_alone, SHAPE.len());
        }
    }

    #[test]
    fn an_error_names_the_face() {
        let states = vec![0.0; SHAPE.len()];
        let mut flux = states.clone();
        let mut faces = 0;
        let error = map_faces(Axis::Y, SHAPE, &states, &states, &mut flux, |_, _| {
            faces += 1;
            if faces == 5 {
                Err("no")
            } else {
                Ok([0.0; NVAR])
            }
        });
        let expected = FaceError {
            axis: Axis::Y,
            i: 3,
            j: 2,
            cause: "no",
        };
        assert_eq!(error, Err(expected));
        assert_eq!(
            expected.to_string(),
            "cannot compute flux of Y face \"(3, 2)\""
        );
    }
}
