//! Sod's problem against its exact solution (case study, table of section 4.5).

use crate::serial::{Flux, GAMMA, Solver, cells};
use hydro_boundary_conditions::Boundary;
use hydro_godunov_flux::riemann::Riemann;
use hydro_initial_condition::RiemannProblem;
use hydro_ports::NVAR;

const END: f64 = 0.2;
const SOD: RiemannProblem = RiemannProblem::SOD;

/// Mean absolute errors of density, velocity and pressure, and the change of the total mass.
fn errors(n: usize, flux: Flux) -> ([f64; 3], f64) {
    let dx = 1.0 / n as f64;
    let initial = |x: f64, _| SOD.conserved(x, dx);
    // Three equal rows: the problem has no dependence on y.
    let mut solver = Solver::new(
        (n, 3),
        (dx, 1e9),
        flux,
        [Boundary::ZeroGradient; 4],
        initial,
    );
    let mass = solver.total(0);
    solver.run(0.0, END);
    solver.update_primitive();
    let riemann = Riemann::new(GAMMA);
    let star = riemann.star(&SOD.left, &SOD.right).expect("a solution");
    let mut sums = [0.0; NVAR];
    for (i, j) in cells(solver.shape).filter(|(_, j)| *j == 1) {
        let x = (i as f64 + 0.5) * dx;
        let exact = riemann.sample(&SOD.left, &SOD.right, &star, (x - SOD.x0) / END);
        for (variable, found) in solver.primitive(i, j).into_iter().enumerate() {
            sums[variable] += (found - exact[variable]).abs() * dx;
        }
    }
    ([sums[0], sums[1], sums[3]], (solver.total(0) - mass) / mass)
}

fn check(flux: Flux, table: [(usize, [f64; 3]); 2]) {
    for (n, expected) in table {
        let (found, mass_change) = errors(n, flux);
        println!("{flux:?}, {n} cells: rho, u, p {found:.6?}, mass change {mass_change:.1e}");
        for (found, expected) in found.into_iter().zip(expected) {
            let deviation = found / expected - 1.0;
            assert!(
                deviation.abs() <= 0.15,
                "{flux:?} {n}: {found}, expected {expected} ± 15 %"
            );
        }
        assert!(
            mass_change.abs() < 1e-15 * n as f64,
            "mass changed by {mass_change:e}"
        );
    }
}

#[test]
fn godunov() {
    check(
        Flux::Godunov,
        [
            (100, [0.004204, 0.008242, 0.002808]),
            (200, [0.002234, 0.004192, 0.001392]),
        ],
    );
}

#[test]
fn efm() {
    check(
        Flux::Efm,
        [
            (100, [0.005152, 0.009673, 0.003557]),
            (200, [0.002656, 0.004904, 0.001761]),
        ],
    );
}
