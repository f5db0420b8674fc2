//! A uniform moving gas stays uniform on three levels of any boxes (case study, section 5, test a).

use std::sync::Arc;

use hydro_ports::{CellBox, GAMMA, MeshPort, NVAR, RegridderPort, conserved};
use mastermind_tests::{
    Application, FixedBoxes, RankComm, Uniform, example, host_stands_in, on_ranks,
};
use proptest::prelude::*;

const GAS: [f64; NVAR] = [1.3, 0.7, -0.4, 0.9, 0.25];
const STEPS: usize = 3;
const DT: f64 = 0.002;

/// The largest deviation of a cell from the gas after some steps, with a regrid before each, and the largest number of
/// levels.
fn deviation(sets: &[Vec<Vec<CellBox>>], comm: RankComm) -> (f64, usize) {
    let changes = [
        "mesh.nx=24",
        "mesh.ny=16",
        "mesh.base_side=9",
        "mesh.x_upper=1.5",
    ];
    let sides = ["left", "right", "bottom", "top"].map(|side| format!("bc.{side}=outflow"));
    let changes: Vec<&str> = changes
        .into_iter()
        .chain(sides.iter().map(|side| &side[..]))
        .collect();
    let mut assembly = example("shock-amr/shock-amr.toml", &changes);
    host_stands_in(&mut assembly, "regridder", "regridder");
    let application = Application::new(comm);
    let regridder = Arc::new(FixedBoxes::new(sets.to_vec()));
    application
        .host
        .add_provides_port::<dyn RegridderPort, _>("regridder", &regridder)
        .expect("a port");
    application.assemble(&assembly);
    application.initialise(&Uniform(GAS));
    let wanted = conserved(GAMMA, GAS);
    let (mut largest, mut most_levels) = (0.0, 0);
    for step in 0..STEPS {
        let time = step as f64 * DT;
        application.with_mesh(|mesh| mesh.regrid(time));
        application.advance(time, DT);
        let levels = application.levels();
        most_levels = most_levels.max(levels.len());
        for state in levels.iter().flat_map(|cells| cells.values()) {
            for (found, wanted) in state.iter().zip(wanted) {
                assert!(found.is_finite(), "a cell is no number");
                largest = f64::max(largest, (found - wanted).abs());
            }
        }
    }
    (largest, most_levels)
}

const COARSE: CellBox = CellBox {
    i: 0,
    j: 0,
    nx: 24,
    ny: 16,
};

/// Boxes inside `all` without common cells, made from arbitrary ones.
fn disjoint(boxes: impl IntoIterator<Item = CellBox>, all: &CellBox) -> Vec<CellBox> {
    let mut kept: Vec<CellBox> = Vec::new();
    for cells in boxes.into_iter().filter_map(|cells| cells.intersect(all)) {
        let rest = cells.minus_all(&kept);
        kept.extend(rest);
    }
    kept
}

/// Boxes to refine of level 0 and of level 1: of any size down to one cell, the second nested in the first.
fn boxes() -> impl Strategy<Value = Vec<Vec<CellBox>>> {
    let boxes = |nx, ny, n| prop::collection::vec((0..nx, 0..ny, 1..10i64, 1..8i64), n);
    (boxes(24i64, 16i64, 0..4usize), boxes(48, 32, 0..4)).prop_map(|(level_0, level_1)| {
        let make = |(i, j, nx, ny)| CellBox { i, j, nx, ny };
        let level_1 = disjoint(level_1.into_iter().map(make), &COARSE.refine());
        let around = level_1.iter().map(|cells| cells.grow(2).coarsen());
        let level_0 = disjoint(level_0.into_iter().map(make).chain(around), &COARSE);
        vec![level_0, level_1]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_boxes(sets in prop::collection::vec(boxes(), 1..6)) {
        let (deviation, _) = deviation(&sets, RankComm::alone());
        prop_assert!(deviation <= 1e-13, "{deviation:e}");
    }
}

#[test]
fn arbitrary_boxes_on_three_ranks() {
    let l = CellBox {
        i: 3,
        j: 5,
        nx: 9,
        ny: 4,
    };
    let foot = CellBox {
        i: 3,
        j: 9,
        nx: 4,
        ny: 7,
    };
    let fine = [
        CellBox {
            i: 8,
            j: 12,
            nx: 3,
            ny: 18,
        },
        CellBox {
            i: 11,
            j: 12,
            nx: 11,
            ny: 1,
        },
    ];
    let all = vec![vec![l, foot], fine.to_vec()];
    // The first regrids, of the initial condition, are repeated until nothing changes.
    let sets = vec![
        all.clone(),
        all.clone(),
        all.clone(),
        vec![vec![foot]],
        all,
        vec![vec![l]],
    ];
    for (deviation, levels) in on_ranks(3, |comm| deviation(&sets, comm)) {
        println!("largest deviation {deviation:e} on {levels} levels");
        assert!(deviation <= 1e-13, "{deviation:e}");
        assert_eq!(levels, 3);
    }
}
