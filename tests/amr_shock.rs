//! The solution on three levels equals that on fine cells everywhere (case study, section 5, tests c and d).

use std::collections::BTreeMap;
use std::sync::Arc;

use hydro_ports::{
    CellBox, GAMMA, InitialConditionPort, NVAR, RegridderPort, primitive, rankine_hugoniot,
};
use mastermind_tests::{Application, FixedBoxes, Jump, RankComm, example, host_stands_in};

/// Primitive states on the cells of `level`, from the finest level that has them.
fn composite(application: &Application, level: usize) -> BTreeMap<(usize, usize), [f64; NVAR]> {
    let mut cells = BTreeMap::new();
    for (of_level, states) in application.levels().iter().enumerate() {
        let width = 1 << (level - of_level);
        for ((i, j), state) in states {
            for k in 0..width * width {
                let place = (i * width + k % width, j * width + k / width);
                cells.insert(place, primitive(GAMMA, *state));
            }
        }
    }
    cells
}

const NX: usize = 192;
const START: f64 = 0.25;

/// A shock through a channel whose middle third, from 1 to 2, is refined; cells of level 1 along x at some times.
fn profiles(times: [f64; 4]) -> [Vec<[f64; NVAR]>; 4] {
    let post = rankine_hugoniot(1.5, GAMMA, 1.0, 1.0);
    let jump = Jump {
        x: START,
        left: [post.rho, post.u, 0.0, post.p, 0.0],
        right: [1.0, 0.0, 0.0, 1.0, 0.0],
    };
    let middle = vec![vec![CellBox {
        i: 64,
        j: 0,
        nx: 64,
        ny: 4,
    }]];
    times.map(|time| {
        let changes = [
            format!("mesh.nx={NX}"),
            "mesh.ny=4".into(),
            "mesh.y_upper=0.0625".into(),
            "mesh.max_levels=2".into(),
            format!("driver.end_time={time}"),
        ];
        let changes = changes.each_ref().map(|change| &change[..]);
        let mut assembly = example("shock-amr/shock-amr.toml", &changes);
        host_stands_in(&mut assembly, "regridder", "regridder");
        host_stands_in(&mut assembly, "ic", "ic");
        let application = Application::new(RankComm::alone());
        let regridder = Arc::new(FixedBoxes::new(vec![middle.clone()]));
        let (host, ic) = (&application.host, Arc::new(jump));
        host.add_provides_port::<dyn RegridderPort, _>("regridder", &regridder)
            .and_then(|()| host.add_provides_port::<dyn InitialConditionPort, _>("ic", &ic))
            .expect("ports");
        application.assemble(&assembly);
        application.go().expect("a run");
        let cells = composite(&application, 1);
        (0..2 * NX).map(|i| cells[&(i, 3)]).collect()
    })
}

/// Where the pressure crosses the middle of the jump.
fn shock_place(profile: &[[f64; NVAR]], middle: f64) -> f64 {
    let dx = 3.0 / profile.len() as f64;
    let last = profile
        .iter()
        .rposition(|state| state[3] > middle)
        .expect("a shock");
    let (p, next) = (profile[last][3], profile[last + 1][3]);
    (last as f64 + 0.5 + (p - middle) / (p - next)) * dx
}

/// Section 5, test c.
#[test]
fn a_shock_that_enters_and_leaves_a_finer_level_keeps_speed_and_plateau() {
    let post = rankine_hugoniot(1.5, GAMMA, 1.0, 1.0);
    // Before the finer level, twice within it, and after it.
    let times = [0.35, 0.5, 0.9, 1.25];
    let profiles = profiles(times);
    let middle = 0.5 * (post.p + 1.0);
    let places = profiles
        .each_ref()
        .map(|profile| shock_place(profile, middle));
    for k in 1..4 {
        let speed = (places[k] - places[k - 1]) / (times[k] - times[k - 1]);
        println!(
            "to {:.3}: speed {speed:.5}, exact {:.5}",
            places[k], post.shock_speed
        );
        assert!((speed / post.shock_speed - 1.0).abs() < 0.01, "{speed}");
    }
    for (place, profile) in places.iter().zip(&profiles) {
        let cell = |x: f64| (x / 3.0 * profile.len() as f64) as usize;
        // Behind the shock, and before the disturbance that its start left.
        for state in &profile[cell(place - 0.25)..cell(place - 0.08)] {
            for (found, expected) in [(state[0], post.rho), (state[1], post.u), (state[3], post.p)]
            {
                let deviation = (found / expected - 1.0).abs();
                assert!(
                    deviation < 0.005,
                    "{found}, expected {expected} behind {place}"
                );
            }
        }
    }
}

/// Section 5, test d.
#[test]
fn three_levels_are_as_good_as_fine_cells_everywhere() {
    let end = "driver.end_time=0.3";
    let fine = example("shock/shock.toml", &["mesh.nx=384", "mesh.ny=128", end]);
    let fine = Application::run(&fine, RankComm::alone()).cells();
    let adaptive = example("shock-amr/shock-amr.toml", &[end]);
    let adaptive = Application::run(&adaptive, RankComm::alone());
    let cells: Vec<usize> = adaptive.levels().iter().map(|cells| cells.len()).collect();
    let adaptive = composite(&adaptive, 2);
    assert_eq!(adaptive.len(), fine.len());
    let (mut difference, mut norm) = (0.0, 0.0);
    for (place, state) in &fine {
        difference += (adaptive[place][0] - state[0]).abs();
        norm += state[0].abs();
    }
    let relative = difference / norm;
    println!(
        "L1 of the density differs by {:.4} %, with {cells:?} cells of {}",
        100.0 * relative,
        fine.len()
    );
    assert!(relative < 0.02, "{relative}");
}
