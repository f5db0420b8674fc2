//! Reference fluxes of case study section 4.4, and properties of the flux.

use hydro_efm_flux::{EfmError, efm_flux};
use hydro_ports::{Axis, GHOST, NVAR, Shape};
use proptest::prelude::*;

const GAMMA: f64 = 1.4;
const SHAPE: Shape = Shape {
    nx: 3,
    ny: 2,
    ghost: GHOST,
};

type State = [f64; NVAR];

/// The flux of one pair of states, through the kernel of a whole patch.
fn flux_of(axis: Axis, left: State, right: State) -> State {
    let fill =
        |state: State| -> Vec<f64> { (0..SHAPE.len()).map(|k| state[k / SHAPE.plane()]).collect() };
    let mut flux = vec![f64::NAN; SHAPE.len()];
    efm_flux(axis, SHAPE, GAMMA, &fill(left), &fill(right), &mut flux).expect("a flux");
    let face = SHAPE.faces(axis).first;
    std::array::from_fn(|variable| flux[variable * SHAPE.plane() + face])
}

#[track_caller]
fn assert_close(found: State, expected: State, tolerance: f64) {
    let scale = expected
        .iter()
        .fold(1.0, |scale: f64, value| scale.max(value.abs()));
    for (found, expected) in found.into_iter().zip(expected) {
        let error = (found - expected).abs() / scale;
        assert!(
            error <= tolerance,
            "{found}, expected {expected} within {tolerance:e}"
        );
    }
}

fn turned([rho, u, v, p, z]: State) -> State {
    [rho, v, u, p, z]
}

#[test]
fn the_table_of_fluxes() {
    let c0 = GAMMA.sqrt();
    let u2 = 2.0 * c0 / (GAMMA + 1.0) * (1.5 - 1.0 / 1.5);
    let post = [54.0 / 29.0, u2, 0.0, 59.0 / 24.0, 0.0];
    let cases = [
        (
            [1., 0.3, -0.2, 1., 0.],
            [1., 0.3, -0.2, 1., 0.],
            [0.3, 1.09, -0.06, 1.0695],
        ),
        (
            [1., 0., 0., 1., 0.],
            [0.125, 0., 0., 0.1, 0.],
            [0.3543391775, 0.55, 0., 1.0897793942],
        ),
        (
            [1., 0.5, 0.1, 1., 0.],
            [3., 0.5, -0.1, 1., 0.],
            [0.5127448808, 1.1410730171, 0.0882848234, 2.1961699743],
        ),
        (
            post,
            [1., 0., 0., 1., 0.],
            [1.4290215521, 3.8770481829, 0., 7.4305173991],
        ),
        (
            post,
            [3., 0., 0., 1., 0.],
            [1.1369755335, 3.8770481829, 0., 7.9363559414],
        ),
        (
            [1., 3., 0., 1., 0.],
            [0.5, 3., 0., 0.4, 0.],
            [3.0003358713, 9.9998169619, 0., 24.0007608266],
        ),
        (
            [1., 0., 1., 1., 0.],
            [1., 0., -1., 1., 0.],
            [0., 1., 0.7978845608, 0.],
        ),
    ];
    for (left, right, [mass, normal, tangential, energy]) in cases {
        let expected = [mass, normal, tangential, energy, 0.0];
        assert_close(flux_of(Axis::X, left, right), expected, 1e-9);
        assert_close(
            flux_of(Axis::Y, turned(left), turned(right)),
            turned(expected),
            1e-9,
        );
    }
}

#[test]
fn the_tracer_goes_with_the_mass() {
    let (left, right) = ([1.0, 0.0, 0.0, 1.0, 0.25], [0.125, 0.0, 0.0, 0.1, 0.75]);
    let [mass, .., tracer] = flux_of(Axis::X, left, right);
    assert_eq!(tracer, 0.25 * mass);
    let [mass, .., tracer] = flux_of(Axis::X, right, left);
    assert!(mass < 0.0);
    assert_eq!(tracer, 0.25 * mass);
}

#[test]
fn what_is_no_state_is_an_error_with_its_face() {
    let plane = SHAPE.plane();
    let left: Vec<f64> = (0..SHAPE.len())
        .map(|k| [1., 0., 0., 1., 0.][k / plane])
        .collect();
    for (variable, value) in [(0, 0.0), (1, f64::NAN), (3, -1.0), (4, f64::INFINITY)] {
        let mut right = left.clone();
        right[variable * plane + 2 * SHAPE.row() + 4] = value;
        let mut flux = vec![0.0; SHAPE.len()];
        let error = efm_flux(Axis::Y, SHAPE, GAMMA, &left, &right, &mut flux).expect_err("bad");
        assert_eq!((error.axis, error.i, error.j), (Axis::Y, 4, 2));
        assert!(matches!(error.cause, EfmError::NonPhysical { .. }));
    }
}

fn any_state() -> impl Strategy<Value = State> {
    let size = || (-2.0..2.0f64).prop_map(f64::exp);
    (size(), -1.0..1.0f64, -1.0..1.0f64, size(), 0.0..1.0f64)
        .prop_map(|(rho, u, v, p, z)| [rho, u, v, p, z])
}

proptest! {
    #[test]
    fn equal_states_give_the_physical_flux(w in any_state()) {
        let [rho, u, v, p, z] = w;
        let energy = p / (GAMMA - 1.0) + 0.5 * rho * (u * u + v * v);
        let expected = [rho * u, rho * u * u + p, rho * u * v, u * (energy + p), rho * u * z];
        assert_close(flux_of(Axis::X, w, w), expected, 1e-14);
    }

    #[test]
    fn the_mirrored_problem_has_the_mirrored_flux(left in any_state(), right in any_state()) {
        let mirror = |[rho, u, v, p, z]: State| [rho, -u, v, p, z];
        let [mass, normal, tangential, energy, tracer] = flux_of(Axis::X, left, right);
        let mirrored = flux_of(Axis::X, mirror(right), mirror(left));
        assert_close(mirrored, [-mass, normal, -tangential, -energy, -tracer], 1e-14);
    }
}
