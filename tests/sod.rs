//! Sod's problem through the whole assembly, against its exact solution (case study, table of section 4.5).

use hydro_godunov_flux::riemann::{Riemann, State};
use hydro_ports::GAMMA;
use mastermind_tests::{Application, RankComm, example};

const LEFT: State = [1.0, 0.0, 0.0, 1.0, 0.0];
const RIGHT: State = [0.125, 0.0, 0.0, 0.1, 1.0];
const END: f64 = 0.2;

/// Mean absolute errors of density, velocity and pressure.
fn errors(n: usize, flux: &str) -> [f64; 3] {
    let changes = [format!("mesh.nx={n}"), format!("flux={flux}")];
    let assembly = example("sod/sod.toml", &changes.each_ref().map(|c| &c[..]));
    let cells = Application::run(&assembly, RankComm::alone()).cells();
    let riemann = Riemann::new(GAMMA);
    let star = riemann.star(&LEFT, &RIGHT).expect("a solution");
    let mut errors = [0.0; 3];
    for i in 0..n {
        let x = (i as f64 + 0.5) / n as f64;
        let exact = riemann.sample(&LEFT, &RIGHT, &star, (x - 0.5) / END);
        let found = cells[&(i, 0)];
        assert_eq!(found, cells[&(i, 1)], "rows differ at {i}");
        for (error, variable) in errors.iter_mut().zip([0, 1, 3]) {
            *error += (found[variable] - exact[variable]).abs() / n as f64;
        }
    }
    errors
}

fn check(flux: &str, table: [(usize, [f64; 3]); 3]) {
    for (n, expected) in table {
        let found = errors(n, flux);
        println!("{flux}, {n} cells: rho, u, p {found:.6?}, reference {expected:.6?}");
        for (found, expected) in found.into_iter().zip(expected) {
            let deviation = (found / expected - 1.0).abs();
            assert!(
                deviation <= 0.15,
                "{flux} {n}: {found}, expected {expected} to 15 %"
            );
        }
    }
}

#[test]
fn godunov() {
    check(
        "hydro.GodunovFlux",
        [
            (100, [0.004204, 0.008242, 0.002808]),
            (200, [0.002234, 0.004192, 0.001392]),
            (400, [0.001254, 0.002199, 0.000706]),
        ],
    );
}

#[test]
fn efm() {
    check(
        "hydro.EfmFlux",
        [
            (100, [0.005152, 0.009673, 0.003557]),
            (200, [0.002656, 0.004904, 0.001761]),
            (400, [0.001455, 0.002553, 0.000892]),
        ],
    );
}
