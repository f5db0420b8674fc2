//! The vorticity that the shock leaves on the interface (case study, sections 5.1 and 9 item 6).

use mastermind_tests::{Application, RankComm, example};

/// Circulation of the whole interface: Mach 1.5, density ratio 3, 30 degrees.
const PREDICTED: f64 = -0.307438;

/// The shock has passed the interface at 0.466.
fn check(flux: &str) {
    let flux = format!("flux={flux}");
    let changes = ["mesh.nx=192", "mesh.ny=64", "driver.end_time=0.5", &flux];
    let assembly = example("shock/shock.toml", &changes);
    let statistics = Application::run(&assembly, RankComm::alone()).statistics();
    println!("{flux}: {statistics:.5?}, predicted {PREDICTED}");
    let deviation = (statistics.negative_circulation / PREDICTED - 1.0).abs();
    assert!(
        deviation < 0.08,
        "{statistics:?}, expected {PREDICTED} to 8 %"
    );
    // Section 5.1, Godunov at 0.5: mass 8.4042, largest density 6.68, largest pressure 3.28.
    assert!((statistics.mass / 8.4042 - 1.0).abs() < 1e-3);
    assert!((statistics.max_density / 6.68 - 1.0).abs() < 0.01);
    assert!((statistics.max_pressure / 3.28 - 1.0).abs() < 0.01);
}

#[test]
fn godunov() {
    check("hydro.GodunovFlux");
}

#[test]
fn efm() {
    check("hydro.EfmFlux");
}

/// On three levels, the coarsest of 96 x 32 cells, whose means the statistics take.
#[test]
fn on_an_adaptive_mesh() {
    let assembly = example("shock-amr/shock-amr.toml", &["driver.end_time=0.5"]);
    let statistics = Application::run(&assembly, RankComm::alone()).statistics();
    println!("adaptive: {statistics:.5?}, predicted {PREDICTED}");
    let deviation = (statistics.negative_circulation / PREDICTED - 1.0).abs();
    assert!(
        deviation < 0.08,
        "{statistics:?}, expected {PREDICTED} to 8 %"
    );
    assert!((statistics.mass / 8.4042 - 1.0).abs() < 1e-3);
    assert!((statistics.max_density / 6.68 - 1.0).abs() < 0.01);
}
