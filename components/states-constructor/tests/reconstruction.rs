//! Properties of the reconstruction (case study, section 4.1).

use hydro_ports::{Axis, GHOST, NVAR, Shape};
use hydro_states_constructor::{Limiter, Mc, Minmod, construct};
use proptest::prelude::*;

const SHAPE: Shape = Shape {
    nx: 7,
    ny: 5,
    ghost: GHOST,
};

fn array(shape: Shape, value: impl Fn(usize, usize, usize) -> f64) -> Vec<f64> {
    let (row, plane) = (shape.row(), shape.plane());
    (0..shape.len())
        .map(|k| value(k / plane, k % row, k % plane / row))
        .collect()
}

fn states<L: Limiter>(axis: Axis, shape: Shape, w: &[f64]) -> (Vec<f64>, Vec<f64>, u64) {
    let (mut left, mut right) = (vec![f64::NAN; shape.len()], vec![f64::NAN; shape.len()]);
    let replaced = construct::<L>(axis, shape, w, &mut left, &mut right);
    (left, right, replaced)
}

/// Indices of every face value, all variables.
fn faces(axis: Axis, shape: Shape) -> Vec<usize> {
    let lines = shape.faces(axis);
    let line = |start| (0..lines.n_faces).map(move |k| start + k * lines.stride);
    let planes = (0..NVAR).map(|v| v * shape.plane());
    planes
        .flat_map(|v| lines.starts().flat_map(line).map(move |face| v + face))
        .collect()
}

#[test]
fn linear_data_are_reproduced() {
    for axis in [Axis::X, Axis::Y] {
        let at = |v: usize, x: f64, y: f64| 10.0 + v as f64 + 0.5 * x + 0.25 * y;
        let w = array(SHAPE, |v, i, j| at(v, i as f64, j as f64));
        let (left, right, replaced) = states::<Mc>(axis, SHAPE, &w);
        assert_eq!(replaced, 0);
        let (dx, dy) = if axis == Axis::X {
            (0.5, 0.0)
        } else {
            (0.0, 0.5)
        };
        let exact = array(SHAPE, |v, i, j| at(v, i as f64 + dx, j as f64 + dy));
        for k in faces(axis, SHAPE) {
            assert_eq!((left[k], right[k]), (exact[k], exact[k]));
        }
    }
}

#[test]
fn constant_data_stay_constant() {
    let w = array(SHAPE, |v, _, _| 0.1 + v as f64);
    for axis in [Axis::X, Axis::Y] {
        let (left, right, _) = states::<Minmod>(axis, SHAPE, &w);
        for k in faces(axis, SHAPE) {
            assert_eq!((left[k], right[k]), (w[k], w[k]));
        }
    }
}

#[test]
fn only_the_faces_of_the_interior_are_written() {
    let w = array(SHAPE, |_, i, j| 1.0 + (i + j) as f64);
    for axis in [Axis::X, Axis::Y] {
        let (left, right, _) = states::<Mc>(axis, SHAPE, &w);
        let n_faces = faces(axis, SHAPE).len();
        assert_eq!(left.iter().filter(|value| !value.is_nan()).count(), n_faces);
        assert_eq!(
            right.iter().filter(|value| !value.is_nan()).count(),
            n_faces
        );
    }
}

#[test]
fn a_state_without_positive_density_becomes_the_cell_value() {
    let w = array(SHAPE, |v, i, _| {
        if v == 0 && i == 4 {
            -1.0
        } else {
            1.0 + v as f64
        }
    });
    let (left, right, replaced) = states::<Mc>(Axis::X, SHAPE, &w);
    assert_eq!(replaced, 2 * SHAPE.ny as u64);
    let cell = 3 * SHAPE.row() + 4;
    assert_eq!(left[cell], -1.0);
    assert_eq!(right[cell - 1], -1.0);
    assert_eq!(right[3 * SHAPE.plane() + cell - 1], 4.0);
}

fn any_array(shape: Shape) -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(0.01..10.0f64, shape.len())
}

proptest! {
    #[test]
    fn no_new_extrema(w in any_array(SHAPE), axis in prop_oneof![Just(Axis::X), Just(Axis::Y)]) {
        let step = SHAPE.faces(axis).stride;
        for (left, right, _) in [states::<Mc>(axis, SHAPE, &w), states::<Minmod>(axis, SHAPE, &w)] {
            for k in faces(axis, SHAPE) {
                let (low, high) = (w[k].min(w[k + step]), w[k].max(w[k + step]));
                // w + (w' - w) may miss w' by the rounding of the difference.
                let rounding = 4.0 * f64::EPSILON * high;
                prop_assert!((low - rounding..=high + rounding).contains(&left[k]));
                prop_assert!((low - rounding..=high + rounding).contains(&right[k]));
            }
        }
    }

    #[test]
    fn mirrored_data_give_mirrored_states(w in any_array(SHAPE)) {
        let (row, plane) = (SHAPE.row(), SHAPE.plane());
        let mirrored = array(SHAPE, |v, i, j| w[v * plane + j * row + row - 1 - i]);
        let (left, right, _) = states::<Mc>(Axis::X, SHAPE, &w);
        let (left_m, right_m, _) = states::<Mc>(Axis::X, SHAPE, &mirrored);
        for k in faces(Axis::X, SHAPE) {
            let (start, i) = (k - k % row, k % row);
            let mirror = start + row - 2 - i;
            prop_assert_eq!(left[k].to_bits(), right_m[mirror].to_bits());
            prop_assert_eq!(right[k].to_bits(), left_m[mirror].to_bits());
        }
    }

    #[test]
    fn y_on_transposed_data_equals_x(w in any_array(SHAPE)) {
        let turned_shape = Shape { nx: SHAPE.ny, ny: SHAPE.nx, ghost: GHOST };
        let at = |v: usize, i: usize, j: usize| v * SHAPE.plane() + j * SHAPE.row() + i;
        let turned = array(turned_shape, |v, i, j| w[at(v, j, i)]);
        let (left, right, _) = states::<Mc>(Axis::X, SHAPE, &w);
        let (left_t, right_t, _) = states::<Mc>(Axis::Y, turned_shape, &turned);
        let back = |q: &[f64]| array(turned_shape, |v, i, j| q[at(v, j, i)]);
        let (left, right) = (back(&left), back(&right));
        for k in faces(Axis::Y, turned_shape) {
            prop_assert_eq!(left[k].to_bits(), left_t[k].to_bits());
            prop_assert_eq!(right[k].to_bits(), right_t[k].to_bits());
        }
    }
}
