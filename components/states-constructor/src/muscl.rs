//! The reconstruction kernel.

use hydro_ports::{Axis, Lines, NVAR, Shape};

use crate::Limiter;

/// Planes that must stay positive: density and pressure.
const POSITIVE: [usize; 2] = [0, 3];

/// Reconstructs the states on both sides of every face across `axis`.
///
/// With the limited slope `s` of each cell, the face between cells `i` and `i + 1` gets
/// `left = w[i] + s[i]/2` and `right = w[i+1] - s[i+1]/2`. A face state without positive density
/// and pressure is replaced, all variables of it, by the value of its cell.
///
/// # Arguments
/// * `w` - primitive states `(rho, u, v, p, z)`, shape `[NVAR][ny + 2g][nx + 2g]`, two ghost cells
///   filled on each side across `axis`
/// * `left`, `right` - outputs of the same shape; a face lies at the index of its lower cell, and
///   only the faces of the interior are written
///
/// # Returns
/// The number of face states that were replaced by their cell's value.
///
/// # Panics
/// If an array is shorter than `shape.len()`, or the patch has fewer than two ghost cells.
///
/// # Source
/// Case study, section 4.1. `Axis::X` walks `i` innermost, `Axis::Y` walks `j` innermost with
/// stride `nx + 2g`, as section 3 requires.
pub fn construct<L: Limiter>(
    axis: Axis,
    shape: Shape,
    w: &[f64],
    left: &mut [f64],
    right: &mut [f64],
) -> u64 {
    assert!(
        shape.ghost >= 2,
        "cannot reconstruct with {} ghost cells, expected 2",
        shape.ghost
    );
    let (lines, plane) = (shape.faces(axis), shape.plane());
    let mut replaced = 0;
    for start in lines.starts() {
        for variable in (0..NVAR).map(|v| v * plane) {
            let w = &w[variable..][..plane];
            let left = &mut left[variable..][..plane][start..];
            let right = &mut right[variable..][..plane][start..];
            match axis {
                Axis::X => sequential::<L>(&w[start - 1..][..lines.n_faces + 3], left, right),
                Axis::Y => strided::<L>(&w[start - lines.stride..], left, right, lines),
            }
        }
        replaced += replace_negative(lines, start, plane, w, left, 0);
        replaced += replace_negative(lines, start, plane, w, right, lines.stride);
    }
    replaced
}

/// One line of contiguous faces; face `k` lies between cells `k + 1` and `k + 2` of `w`.
fn sequential<L: Limiter>(w: &[f64], left: &mut [f64], right: &mut [f64]) {
    for ((w, left), right) in w.windows(4).zip(left).zip(right) {
        let (below, across, above) = (w[1] - w[0], w[2] - w[1], w[3] - w[2]);
        *left = w[1] + 0.5 * L::slope(below, across);
        *right = w[2] - 0.5 * L::slope(across, above);
    }
}

/// One line of faces with a stride; `w` begins one cell before the first face.
fn strided<L: Limiter>(w: &[f64], left: &mut [f64], right: &mut [f64], lines: Lines) {
    let Lines {
        n_faces, stride, ..
    } = lines;
    let faces = left
        .iter_mut()
        .step_by(stride)
        .zip(right.iter_mut().step_by(stride));
    let (mut cell, mut next) = (w[stride], w[2 * stride]);
    let mut across = next - cell;
    let mut half_slope = 0.5 * L::slope(cell - w[0], across);
    for ((left, right), &after) in faces
        .zip(w[3 * stride..].iter().step_by(stride))
        .take(n_faces)
    {
        let above = after - next;
        *left = cell + half_slope;
        half_slope = 0.5 * L::slope(across, above);
        *right = next - half_slope;
        (cell, next, across) = (next, after, above);
    }
}

/// Replaces the states of a line that lack positive density or pressure; returns how many.
fn replace_negative(
    lines: Lines,
    start: usize,
    plane: usize,
    w: &[f64],
    states: &mut [f64],
    to_cell: usize,
) -> u64 {
    let mut replaced = 0;
    let [rho, p] = POSITIVE.map(|variable| variable * plane + start);
    for face in (0..lines.n_faces).map(|k| k * lines.stride) {
        if !(states[rho + face] > 0.0 && states[p + face] > 0.0) {
            for state in (0..NVAR).map(|v| v * plane + start + face) {
                states[state] = w[state + to_cell];
            }
            replaced += 1;
        }
    }
    replaced
}
