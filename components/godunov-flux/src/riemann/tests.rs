//! Star states of case study section 4.2, exact values of section 4.5, and the errors.

use super::*;

fn state(rho: f64, u: f64, p: f64) -> State {
    [rho, u, 0.0, p, 0.0]
}

fn star(left: State, right: State) -> Star {
    Riemann::new(1.4).star(&left, &right).expect("a solution")
}

#[track_caller]
fn assert_close(found: f64, expected: f64, tolerance: f64) {
    let error = (found - expected).abs() / expected.abs().max(1e-3);
    assert!(
        error <= tolerance,
        "{found}, expected {expected} within {tolerance:e}"
    );
}

#[test]
fn the_five_star_states() {
    let cases = [
        (
            state(1., 0., 1.),
            state(0.125, 0., 0.1),
            [0.303130, 0.927453, 0.426319, 0.265574],
        ),
        (
            state(1., -2., 0.4),
            state(1., 2., 0.4),
            [0.00189387, 0., 0.0218521, 0.0218521],
        ),
        (
            state(1., 0., 1000.),
            state(1., 0., 0.01),
            [460.894, 19.5975, 0.575062, 5.99924],
        ),
        (
            state(1., 0., 0.01),
            state(1., 0., 100.),
            [46.0950, -6.19633, 5.99242, 0.575113],
        ),
        (
            state(5.99924, 19.5975, 460.894),
            state(5.99242, -6.19633, 46.0950),
            [1691.65, 8.68977, 14.2823, 31.0426],
        ),
    ];
    for (left, right, [p, u, rho_left, rho_right]) in cases {
        let found = star(left, right);
        assert_close(found.p, p, 1e-5);
        assert_close(found.u, u, 1e-5);
        assert_close(found.rho_left, rho_left, 1e-5);
        assert_close(found.rho_right, rho_right, 1e-5);
        assert!(found.iterations <= MAX_ITERATIONS);
    }
}

#[test]
fn the_solution_of_sod_at_time_0_2() {
    let (left, right) = (state(1.0, 0.0, 1.0), state(0.125, 0.0, 0.1));
    let (riemann, found) = (Riemann::new(1.4), star(left, right));
    for (x, rho, u, p) in [
        (0.10, 1.0, 0.0, 1.0),
        (0.40, 0.60293770, 0.56934663, 0.49247185),
        (0.65, 0.42631943, 0.92745262, 0.30313018),
        (0.80, 0.26557371, 0.92745262, 0.30313018),
        (0.86, 0.125, 0.0, 0.1),
    ] {
        let exact = riemann.sample(&left, &right, &found, (x - 0.5) / 0.2);
        assert_close(exact[0], rho, 1e-7);
        assert_close(exact[1], u, 1e-7);
        assert_close(exact[3], p, 1e-7);
    }
}

#[test]
fn a_shock_hitting_the_interface_head_on() {
    // Case study, section 2: exact values for a density ratio of 3.
    let c0 = 1.4f64.sqrt();
    let u2 = 2.0 * c0 / 2.4 * (1.5 - 1.0 / 1.5);
    let found = star(state(54.0 / 29.0, u2, 59.0 / 24.0), state(3.0, 0.0, 1.0));
    assert_close(found.p, 3.06222684, 1e-8);
    assert_close(found.u, 0.60486482, 1e-8);
    assert_close(found.rho_left, 2.17772050, 1e-8);
    assert_close(found.rho_right, 6.41344386, 1e-8);
}

#[test]
fn tracer_and_tangential_velocity_come_from_the_side_of_the_contact() {
    let (left, right) = ([1.0, 0.0, 3.0, 1.0, 0.0], [0.125, 0.0, -3.0, 0.1, 1.0]);
    let (riemann, found) = (Riemann::new(1.4), star(left, right));
    let before = riemann.sample(&left, &right, &found, found.u - 1e-9);
    let after = riemann.sample(&left, &right, &found, found.u + 1e-9);
    assert_eq!([before[2], before[4]], [3.0, 0.0]);
    assert_eq!([after[2], after[4]], [-3.0, 1.0]);
}

#[test]
fn equal_states_need_one_iteration() {
    let found = star(state(0.7, 0.3, 1.3), state(0.7, 0.3, 1.3));
    assert_eq!((found.p, found.u, found.iterations), (1.3, 0.3, 1));
    assert_close(found.rho_left, 0.7, 1e-15);
    assert_close(found.rho_right, 0.7, 1e-15);
}

#[test]
fn a_vacuum_is_an_error_with_its_states() {
    let (left, right) = (state(1.0, -10.0, 1.0), state(1.0, 10.0, 1.0));
    let error = Riemann::new(1.4).star(&left, &right).expect_err("a vacuum");
    let limit = 10.0 * 1.4f64.sqrt();
    assert!(matches!(
        error,
        RiemannError::Vacuum { left: l, right: r, limit: found }
            if l == left && r == right && (found - limit).abs() < 1e-12
    ));
    assert!(
        error.to_string().contains("[1.0, -10.0, 0.0, 1.0, 0.0]"),
        "{error}"
    );
}

#[test]
fn what_is_no_state_is_an_error() {
    let good = state(1.0, 0.0, 1.0);
    for bad in [
        state(f64::NAN, 0.0, 1.0),
        state(1.0, f64::INFINITY, 1.0),
        state(0.0, 0.0, 1.0),
        state(1.0, 0.0, -1e-9),
        [1.0, 0.0, 0.0, 1.0, f64::NAN],
    ] {
        for (left, right) in [(good, bad), (bad, good)] {
            let error = Riemann::new(1.4).star(&left, &right);
            assert!(
                matches!(error, Err(RiemannError::NonPhysical { .. })),
                "{error:?}"
            );
        }
    }
}
