//! The exchange between two levels neither loses nor creates anything (case study, section 5, tests b and g; section 9,
//! items 7 and 12).

use cca_core::ConnectionId;
use hydro_ports::{MeshPort, NVAR};
use mastermind_tests::{Application, Blast, RankComm, example};

const STEPS: usize = 100;
const DT: f64 = 0.00125;

/// A box of reflecting walls with both flux components in it.
fn closed_box(reflux: bool, changes: &[&str]) -> Application {
    let reflux = format!("mesh.reflux={reflux}");
    let closed = [
        "mesh.nx=32",
        "mesh.ny=32",
        "mesh.x_upper=1.0",
        "mesh.base_side=16",
        &reflux,
        "bc.left=reflecting",
        "bc.right=reflecting",
    ];
    let mut assembly = example("shock-amr/shock-amr.toml", &[&closed, changes].concat());
    let efm = "hydro.EfmFlux".to_string();
    assembly.instances.insert("efm".into(), efm);
    let application = Application::new(RankComm::alone());
    application.assemble(&assembly);
    application.initialise(&Blast);
    application
}

/// Runs a blast in the box.
///
/// # Returns
/// Relative drifts of mass, energy and tracer, and the regrids that changed the mesh.
fn drifts(application: &Application, between: impl Fn(usize)) -> ([f64; 3], usize) {
    let before = application.totals();
    let mut regrids = 0;
    for step in 0..STEPS {
        between(step);
        let time = step as f64 * DT;
        if step > 0 && step % 4 == 0 && application.with_mesh(|mesh| mesh.regrid(time)).is_new {
            regrids += 1;
        }
        application.advance(time, DT);
    }
    assert_eq!(application.levels().len(), 3);
    let after: [f64; NVAR] = application.totals();
    let drift = |variable: usize| (after[variable] / before[variable] - 1.0).abs();
    ([0, 3, 4].map(drift), regrids)
}

#[test]
fn mass_energy_and_tracer_stay_with_reflux() {
    let (drifts, regrids) = drifts(&closed_box(true, &[]), |_| {});
    println!("drifts of mass, energy, tracer in {STEPS} steps: {drifts:?}, {regrids} regrids");
    assert!(drifts.iter().all(|drift| *drift < 1e-12), "{drifts:?}");
    assert!(regrids > 5, "{regrids} regrids");
}

/// Another interpolation between the levels, and patches that are divided more finely.
#[test]
fn they_stay_with_constant_interpolation_and_small_patches() {
    let changes = [
        "icc=hydro.ConstantICC",
        "regridder.min_side=2",
        "regridder.max_side=12",
    ];
    let (drifts, _) = drifts(&closed_box(true, &changes), |_| {});
    println!("constant interpolation, small patches: {drifts:?}");
    assert!(drifts.iter().all(|drift| *drift < 1e-12), "{drifts:?}");
}

/// The negative control.
#[test]
fn they_drift_without() {
    let (drifts, _) = drifts(&closed_box(false, &[]), |_| {});
    println!("without reflux: {drifts:?}");
    assert!(drifts.iter().all(|drift| *drift > 1e-8), "{drifts:?}");
}

#[test]
fn the_flux_component_can_be_replaced_between_two_steps() {
    let application = closed_box(true, &[]);
    let (drifts, _) = drifts(&application, |step| {
        let provider = match step {
            25 | 75 => "efm",
            50 => "flux",
            _ => return,
        };
        let connection = ConnectionId {
            user: "rhs".into(),
            uses: "flux".into(),
            provider: provider.into(),
            provides: "flux".into(),
        };
        application
            .framework
            .reconnect(&connection)
            .expect("another flux");
    });
    println!("with three replacements: {drifts:?}");
    assert!(drifts.iter().all(|drift| *drift < 1e-12), "{drifts:?}");
}
