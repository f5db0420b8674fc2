//! The shock meets the interface head on: the states behind the waves (case study, sections 2 and 9 item 5).

use mastermind_tests::{Application, Cells, RankComm, example};

const N: usize = 400;
const LENGTH: f64 = 1.5;
const END: f64 = 0.541;

/// Exact solution of the impact for a density ratio of 3.
const PRESSURE: f64 = 3.06222684;
const VELOCITY: f64 = 0.60486482;
const AIR: f64 = 2.17772050;
const FREON: f64 = 6.41344386;

fn run(flux: &str) -> Cells {
    let changes = [
        format!("flux={flux}"),
        format!("mesh.nx={N}"),
        "mesh.ny=2".into(),
        "mesh.patches_y=1".into(),
        "mesh.patch_sizes=even".into(),
        format!("mesh.x_upper={LENGTH}"),
        // So tall that the cells do not shorten the time step.
        "mesh.y_upper=1e9".into(),
        "ic.angle_deg=0".into(),
        format!("driver.end_time={END}"),
    ];
    let assembly = example("shock/shock.toml", &changes.each_ref().map(|c| &c[..]));
    Application::run(&assembly, RankComm::alone()).cells()
}

/// Mean of a variable between two places.
fn plateau(cells: &Cells, variable: usize, (from, to): (f64, f64)) -> f64 {
    let dx = LENGTH / N as f64;
    let inside = (0..N).filter(|i| (from..to).contains(&((*i as f64 + 0.5) * dx)));
    let values: Vec<f64> = inside.map(|i| cells[&(i, 0)][variable]).collect();
    values.iter().sum::<f64>() / values.len() as f64
}

fn check(flux: &str) {
    let cells = run(flux);
    // The reflected shock is at 0.230, the contact at 0.742, the transmitted shock at 0.955.
    let (air, freon) = ((0.35, 0.65), (0.80, 0.92));
    for (name, variable, place, exact) in [
        ("pressure of air", 3, air, PRESSURE),
        ("pressure of Freon", 3, freon, PRESSURE),
        ("velocity of air", 1, air, VELOCITY),
        ("velocity of Freon", 1, freon, VELOCITY),
        ("density of air", 0, air, AIR),
        ("density of Freon", 0, freon, FREON),
    ] {
        let found = plateau(&cells, variable, place);
        println!("{flux}: {name} {found:.5}, exact {exact:.5}");
        assert!(
            (found / exact - 1.0).abs() < 0.01,
            "{flux}: {name} {found}, expected {exact} to 1 %"
        );
    }
}

#[test]
fn godunov() {
    check("hydro.GodunovFlux");
}

#[test]
fn efm() {
    check("hydro.EfmFlux");
}
