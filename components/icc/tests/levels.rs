//! Interpolation between levels keeps the sum, the bounds and the linear part (case study, section 5).

use hydro_icc::{Constant, Linear, Profile, RegionError, prolong, restrict};
use hydro_ports::{CellBox, GHOST, NVAR, Patch, Shape, Sides};
use proptest::prelude::*;

fn patch(level: u32, i0: usize, j0: usize, nx: usize, ny: usize) -> Patch {
    let ghost = GHOST;
    Patch {
        id: u64::from(level),
        level,
        shape: Shape { nx, ny, ghost },
        i0,
        j0,
        x_lower: 0.0,
        y_lower: 0.0,
        dx: 1.0,
        dy: 1.0,
        boundary: Sides::default(),
    }
}

const COARSE: (usize, usize, usize, usize) = (3, 2, 5, 4);

fn coarse_patch() -> Patch {
    let (i, j, nx, ny) = COARSE;
    patch(0, i, j, nx, ny)
}

fn fine_patch() -> Patch {
    let (i, j, nx, ny) = COARSE;
    patch(1, 2 * i, 2 * j, 2 * nx, 2 * ny)
}

/// Gas with densities of its own and energy enough for any slope.
fn gas(values: &[f64]) -> Vec<f64> {
    let plane = coarse_patch().shape.plane();
    let scale = [1.0, 0.1, 0.1, 1.0, 1.0];
    let offset = [0.5, 0.0, 0.0, 5.0, 0.0];
    let value = |k: usize| offset[k / plane] + scale[k / plane] * values[k];
    (0..NVAR * plane).map(value).collect()
}

fn prolonged<P: Profile>(coarse: &[f64]) -> Vec<f64> {
    let fine_patch = fine_patch();
    let mut fine = vec![f64::NAN; fine_patch.shape.len()];
    let region = fine_patch.cells();
    let given_up = prolong::<P>((coarse_patch(), coarse), (fine_patch, &mut fine), region);
    assert_eq!(given_up, Ok(0));
    fine
}

fn restricted(fine: &[f64]) -> Vec<f64> {
    let coarse_patch = coarse_patch();
    let mut coarse = vec![f64::NAN; coarse_patch.shape.len()];
    let region = coarse_patch.cells();
    restrict((fine_patch(), fine), (coarse_patch, &mut coarse), region).expect("restricted");
    coarse
}

/// Interior cells with their value in each variable.
fn cells(patch: Patch) -> impl Iterator<Item = (usize, i64, i64, usize)> {
    let CellBox { i, j, nx, ny } = patch.cells();
    (0..NVAR).flat_map(move |variable| {
        (0..nx * ny).map(move |k| {
            let (i, j) = (i + k % nx, j + k / nx);
            let at = variable * patch.shape.plane() + patch.offset(i, j);
            (variable, i, j, at)
        })
    })
}

proptest! {
    /// The mean of the four children is the parent, to 1e-15 of the values.
    #[test]
    fn children_have_the_mean_of_their_parent(
        values in prop::collection::vec(0.0..1.0f64, coarse_patch().shape.len()),
    ) {
        let coarse = gas(&values);
        for fine in [prolonged::<Linear>(&coarse), prolonged::<Constant>(&coarse)] {
            let back = restricted(&fine);
            for (_, _, _, at) in cells(coarse_patch()) {
                let error = (back[at] - coarse[at]).abs();
                prop_assert!(error <= 1e-15 * coarse[at].abs().max(1.0), "{error:e}");
            }
        }
    }

    /// No value is beyond those of the cell and its four neighbours along either axis: a slope reaches a neighbour's
    /// value at most.
    #[test]
    fn no_new_extrema(values in prop::collection::vec(0.0..1.0f64, coarse_patch().shape.len())) {
        let coarse = gas(&values);
        let fine = prolonged::<Linear>(&coarse);
        let (patch, row) = (coarse_patch(), coarse_patch().shape.row());
        for (variable, i, j, at) in cells(fine_patch()) {
            let parent = variable * patch.shape.plane() + patch.offset(i / 2, j / 2);
            let near = [parent, parent - 1, parent + 1, parent - row, parent + row];
            let least = near.iter().map(|k| coarse[*k]).fold(f64::INFINITY, f64::min);
            let most = near.iter().map(|k| coarse[*k]).fold(f64::NEG_INFINITY, f64::max);
            prop_assert!(least - 1e-14 <= fine[at] && fine[at] <= most + 1e-14);
        }
    }
}

#[test]
fn linear_data_are_carried_exactly() {
    let patch = coarse_patch();
    let all = patch.array_cells();
    let mut coarse = vec![0.0; patch.shape.len()];
    let value = |variable: usize, x: f64, y: f64| {
        [10.0, 0.5, -0.5, 100.0, 3.0][variable] + 0.25 * x - 0.125 * y
    };
    for variable in 0..NVAR {
        for (i, j) in (all.j..all.j_end()).flat_map(|j| (all.i..all.i_end()).map(move |i| (i, j))) {
            let at = variable * patch.shape.plane() + patch.offset(i, j);
            coarse[at] = value(variable, i as f64 + 0.5, j as f64 + 0.5);
        }
    }
    let fine = prolonged::<Linear>(&coarse);
    for (variable, i, j, at) in cells(fine_patch()) {
        let expected = value(variable, 0.5 * (i as f64 + 0.5), 0.5 * (j as f64 + 0.5));
        assert!((fine[at] - expected).abs() < 1e-13);
    }
}

#[test]
fn a_profile_without_pressure_is_given_up() {
    let patch = coarse_patch();
    let plane = patch.shape.plane();
    let mut coarse: Vec<f64> = (0..NVAR * plane)
        .map(|k| [1.0, 0.0, 0.0, 1.0, 0.0][k / plane])
        .collect();
    // A jet whose energy is nearly all kinetic: a slope of momentum at constant energy leaves no pressure.
    let (i, j) = (5, 3);
    for (k, momentum) in [(i - 1, 1.0), (i, 1.39), (i + 1, 2.0)] {
        coarse[plane + patch.offset(k, j)] = momentum;
    }
    let fine_patch = fine_patch();
    let mut fine = vec![0.0; fine_patch.shape.len()];
    let region = CellBox {
        i: 2 * i,
        j: 2 * j,
        nx: 2,
        ny: 2,
    };
    let done = prolong::<Linear>((patch, &coarse), (fine_patch, &mut fine), region);
    assert_eq!(done, Ok(1));
    assert_eq!(
        fine[fine_patch.shape.plane() + fine_patch.offset(2 * i, 2 * j)],
        1.39
    );
}

#[test]
fn regions_that_do_not_fit_are_refused() {
    let (coarse_patch, fine_patch) = (coarse_patch(), fine_patch());
    let coarse = vec![1.0; coarse_patch.shape.len()];
    let mut fine = vec![1.0; fine_patch.shape.len()];
    let odd = CellBox {
        i: 7,
        j: 4,
        nx: 2,
        ny: 2,
    };
    let mut prolong = |region| {
        prolong::<Linear>((coarse_patch, &coarse), (fine_patch, &mut fine), region)
            .expect_err("region")
    };
    assert_eq!(prolong(odd), RegionError::Odd { region: odd });
    let beyond = CellBox {
        i: 40,
        j: 4,
        nx: 2,
        ny: 2,
    };
    let error = prolong(beyond);
    assert_eq!(
        error.to_string(),
        "cannot use region \"2 x 2 cells from (40, 4)\": outside the array of 14 x 12 cells from (4, 2)"
    );
    let mut coarse = coarse;
    let region = CellBox {
        i: 0,
        j: 0,
        nx: 1,
        ny: 1,
    };
    assert!(restrict((fine_patch, &fine), (coarse_patch, &mut coarse), region).is_err());
}
