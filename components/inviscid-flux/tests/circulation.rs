//! The vorticity that the shock leaves on the interface (case study, section 5.1).

use crate::serial::{Flux, Solver, cells};
use hydro_boundary_conditions::Boundary;
use hydro_initial_condition::{ShockInterface, ShockInterfaceParameters};

/// Predicted circulation of the whole interface: Mach 1.5, density ratio 3, 30 degrees.
const PREDICTED: f64 = -0.307438;

/// The integral of the vorticity, and that of its negative part, over the cells at least `margin`
/// cells from the sides. Differences are central, one-sided in the outermost cells.
fn circulation(solver: &mut Solver, margin: usize) -> (f64, f64) {
    solver.update_primitive();
    let (nx, ny) = (solver.shape.nx, solver.shape.ny);
    let inside = |k: usize, n: usize| (margin..n - margin).contains(&k);
    let (mut total, mut negative) = (0.0, 0.0);
    for (i, j) in cells(solver.shape).filter(|(i, j)| inside(*i, nx) && inside(*j, ny)) {
        let (low, high) = (i.saturating_sub(1), (i + 1).min(nx - 1));
        let (below, above) = (j.saturating_sub(1), (j + 1).min(ny - 1));
        let dv = solver.primitive(high, j)[2] - solver.primitive(low, j)[2];
        let du = solver.primitive(i, above)[1] - solver.primitive(i, below)[1];
        let dv_dx = dv / ((high - low) as f64 * solver.dx);
        let du_dy = du / ((above - below) as f64 * solver.dy);
        let part = (dv_dx - du_dy) * solver.dx * solver.dy;
        total += part;
        negative += part.min(0.0);
    }
    (total, negative)
}

#[track_caller]
fn assert_near(found: f64, expected: f64, tolerance: f64) {
    let deviation = (found / expected - 1.0).abs();
    assert!(
        deviation < tolerance,
        "{found}, expected {expected} within {tolerance}"
    );
}

fn solver(flux: Flux) -> Solver {
    let problem = ShockInterface::new(ShockInterfaceParameters::default()).expect("a problem");
    let (n, h) = (64, 1.0 / 64.0);
    let wall = Boundary::Reflecting;
    let sides = [
        Boundary::Fixed(problem.post_shock()),
        Boundary::ZeroGradient,
        wall,
        wall,
    ];
    Solver::new((3 * n, n), (h, h), flux, sides, |x, y| {
        problem.conserved(x, y, h, h)
    })
}

/// The reference values of the specification leave out the cells at the sides; the prediction is
/// for the whole interface.
fn check(flux: Flux, reference: (f64, f64)) {
    let mut solver = solver(flux);
    solver.run(0.0, 0.5);
    let (whole, inner) = (circulation(&mut solver, 0), circulation(&mut solver, 1));
    println!("{flux:?}, total and negative part: {whole:.4?}, off the sides {inner:.4?}");
    let densest = cells(solver.shape)
        .map(|(i, j)| solver.primitive(i, j)[0])
        .fold(0.0, f64::max);
    println!(
        "{} steps, mass {:.4}, maximum density {densest:.3}",
        solver.steps,
        solver.total(0)
    );
    assert_near(whole.1, PREDICTED, 0.08);
    assert_near(inner.0, reference.0, 1e-3);
    assert_near(inner.1, reference.1, 1e-3);
    assert_near(solver.total(0), 8.4042, 1e-3);
    assert_near(densest, 6.68, 0.01);
}

#[test]
fn godunov() {
    check(Flux::Godunov, (-0.2731, -0.2982));
}

#[test]
fn efm() {
    check(Flux::Efm, (-0.2697, -0.2931));
}
