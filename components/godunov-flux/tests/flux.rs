//! Reference fluxes of case study section 4.4, and properties of the flux.

use hydro_godunov_flux::godunov_flux;
use hydro_godunov_flux::riemann::{Riemann, RiemannError};
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
    godunov_flux(axis, SHAPE, GAMMA, &fill(left), &fill(right), &mut flux).expect("a flux");
    let face = SHAPE.faces(axis).first;
    std::array::from_fn(|variable| flux[variable * SHAPE.plane() + face])
}

#[track_caller]
fn assert_close(found: State, expected: State, tolerance: f64) {
    for (found, expected) in found.into_iter().zip(expected) {
        let error = (found - expected).abs() / expected.abs().max(1.0);
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
            [0.3953910706, 0.6698366625, 0., 1.1540375173],
        ),
        (
            [1., 0.5, 0.1, 1., 0.],
            [3., 0.5, -0.1, 1., 0.],
            [0.5, 1.25, 0.05, 1.815],
        ),
        (
            post,
            [1., 0., 0., 1., 0.],
            [1.5300206336, 3.7155172415, 0., 7.5863523085],
        ),
        (
            post,
            [3., 0., 0., 1., 0.],
            [1.3172265109, 3.8589708083, 0., 6.7237776538],
        ),
        (
            [1., 3., 0., 1., 0.],
            [0.5, 3., 0., 0.4, 0.],
            [3., 10., 0., 24.],
        ),
        (
            [1., 0., 1., 1., 0.],
            [1., 0., -1., 1., 0.],
            [0., 1., 0., 0.],
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
fn an_error_names_face_and_states() {
    let plane = SHAPE.plane();
    let mut left: Vec<f64> = (0..SHAPE.len())
        .map(|k| [1., 0., 0., 1., 0.][k / plane])
        .collect();
    let right = left.clone();
    left[plane + 3 * SHAPE.row() + 2] = -40.0;
    let mut flux = vec![0.0; SHAPE.len()];
    let error = godunov_flux(Axis::X, SHAPE, GAMMA, &left, &right, &mut flux).expect_err("vacuum");
    assert_eq!((error.axis, error.i, error.j), (Axis::X, 2, 3));
    assert!(matches!(error.cause, RiemannError::Vacuum { left, .. } if left[1] == -40.0));
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
        assert_close(mirrored, [-mass, normal, -tangential, -energy, -tracer], 1e-12);
    }

    #[test]
    fn strong_problems_are_solved(
        rho in prop::array::uniform2(-6.0..6.0f64),
        p in prop::array::uniform2(-6.0..6.0f64),
        part in 0.0..0.98f64,
        close in 0.0..20.0f64,
    ) {
        let [rho_l, rho_r] = rho.map(|x| 10f64.powf(x));
        let [p_l, p_r] = p.map(|x| 10f64.powf(x));
        let [c_l, c_r] = [(GAMMA * p_l / rho_l).sqrt(), (GAMMA * p_r / rho_r).sqrt()];
        let vacuum = 2.0 * (c_l + c_r) / (GAMMA - 1.0);
        for parting in [part * vacuum, -close * c_l.max(c_r)] {
            let (left, right) = ([rho_l, 0.0, 0.0, p_l, 0.0], [rho_r, parting, 0.0, p_r, 0.0]);
            let star = Riemann::new(GAMMA).star(&left, &right);
            prop_assert!(star.is_ok(), "{star:?}");
        }
    }
}
