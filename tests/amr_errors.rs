//! Unusual meshes: no patch, narrow patches, more ranks than patches, boxes that form no valid mesh, components that
//! fail in the middle of a regrid.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cca_ports::{PortError, RSlice, UsesPort};
use hydro_ports::{CellBox, InterLevelPort, MeshPort, Patch, RegridderPort, States, StatesMut};
use mastermind_tests::{
    Application, Blast, FixedBoxes, RankComm, example, host_stands_between, host_stands_in,
    on_ranks,
};

const STEPS: &str = "driver.max_steps=6";

fn levels(changes: &[&str], comm: RankComm) -> Vec<usize> {
    let assembly = example("shock-amr/shock-amr.toml", &[&[STEPS], changes].concat());
    let application = Application::run(&assembly, comm);
    application
        .levels()
        .iter()
        .map(|cells| cells.len())
        .collect()
}

#[test]
fn a_regrid_that_makes_no_patch_leaves_the_coarsest_level() {
    let nothing_is_steep = ["regridder.relative=1e9", "regridder.tracer=1e9"];
    assert_eq!(levels(&nothing_is_steep, RankComm::alone()), [96 * 32]);
    assert_eq!(levels(&["mesh.max_levels=1"], RankComm::alone()), [96 * 32]);
}

/// A finer level that is no longer needed is removed.
#[test]
fn a_level_without_patches_goes() {
    let cells = CellBox {
        i: 8,
        j: 8,
        nx: 8,
        ny: 8,
    };
    let sets = vec![vec![vec![cells]], vec![vec![cells]], vec![]];
    assert_eq!(with_boxes(sets).expect("a run"), [96 * 32]);
}

#[test]
fn more_ranks_than_patches_on_a_level_is_no_error() {
    let ranks = on_ranks(7, |comm| levels(&[], comm));
    assert!(ranks.iter().any(|levels| levels[0] == 0), "{ranks:?}");
    let of_level = |level: usize| ranks.iter().map(|levels| levels[level]).sum::<usize>();
    assert_eq!(of_level(0), 96 * 32);
    let alone = levels(&[], RankComm::alone());
    assert_eq!([of_level(1), of_level(2)], alone[1..]);
}

#[test]
fn patches_narrower_than_their_ghost_cells_work() {
    // A patch of two columns, and base patches of two by two cells.
    let narrow = CellBox {
        i: 40,
        j: 3,
        nx: 1,
        ny: 29,
    };
    let cells = with_boxes(vec![vec![vec![narrow]]]).expect("a run");
    assert_eq!(cells, [96 * 32, 2 * 58]);
    let base = ["mesh.base_side=1", "mesh.nx=12", "mesh.ny=4"];
    assert_eq!(levels(&base, RankComm::alone())[0], 48);
}

fn with_boxes(sets: Vec<Vec<Vec<CellBox>>>) -> Result<Vec<usize>, String> {
    let mut assembly = example("shock-amr/shock-amr.toml", &[STEPS]);
    host_stands_in(&mut assembly, "regridder", "regridder");
    let application = Application::new(RankComm::alone());
    let regridder = Arc::new(FixedBoxes::new(sets));
    let added = application
        .host
        .add_provides_port::<dyn RegridderPort, _>("regridder", &regridder);
    added.expect("a port");
    application.assemble(&assembly);
    application.go().map_err(|error| error.to_string())?;
    Ok(application
        .levels()
        .iter()
        .map(|cells| cells.len())
        .collect())
}

#[test]
fn boxes_that_make_no_mesh_are_named() {
    let cells = |i, j, nx, ny| CellBox { i, j, nx, ny };
    for (level_0, level_1, wanted) in [
        (
            vec![cells(90, 0, 8, 8)],
            vec![],
            "cannot use patch \"16 x 16 cells from (180, 0)\" of level \"1\": outside the domain",
        ),
        (
            vec![cells(0, 0, 8, 8), cells(7, 0, 8, 8)],
            vec![],
            "overlaps patch",
        ),
        (
            vec![cells(0, 0, 8, 8)],
            vec![cells(0, 0, 15, 8)],
            "not nested",
        ),
    ] {
        let error = with_boxes(vec![vec![level_0, level_1]]).expect_err("no mesh");
        assert!(error.contains(wanted), "{error}");
    }
}

#[test]
fn parameters_that_do_not_go_together_are_named() {
    let error = |changes: &[&str]| {
        let application = Application::new(RankComm::alone());
        application.assemble(&example("shock-amr/shock-amr.toml", changes));
        application.go().expect_err("an error").to_string()
    };
    let wanted = "instance \"mesh\": cannot make mesh \"1 x 32\": too small, expected at least 2 cells along each axis";
    assert_eq!(error(&["mesh.nx=1"]), wanted);
    let wanted = "instance \"regridder\": cannot cluster cells: sides of 4 to 6 cells";
    assert!(error(&["regridder.max_side=12"]).starts_with(wanted));
    let wanted = "instance \"mesh\": cannot create mesh: x_upper 3, expected more than x_lower 4";
    assert_eq!(error(&["mesh.x_lower=4"]), wanted);
}

/// Interpolates between levels, but fails the next time after it has been set to fail.
struct Moody {
    icc: UsesPort<dyn InterLevelPort>,
    refuses: AtomicBool,
}

impl InterLevelPort for Moody {
    fn prolong(
        &self,
        coarse_patch: Patch,
        coarse: States<'_>,
        fine_patch: Patch,
        fine: StatesMut<'_>,
        regions: RSlice<'_, CellBox>,
    ) -> Result<(), PortError> {
        if self.refuses.swap(false, Ordering::Relaxed) {
            return Err(PortError::failed("no mood"));
        }
        let icc = self.icc.get()?;
        icc.prolong(coarse_patch, coarse, fine_patch, fine, regions)
    }

    fn restrict(
        &self,
        fine_patch: Patch,
        fine: States<'_>,
        coarse_patch: Patch,
        coarse: StatesMut<'_>,
        region: CellBox,
    ) -> Result<(), PortError> {
        let icc = self.icc.get()?;
        icc.restrict(fine_patch, fine, coarse_patch, coarse, region)
    }
}

#[test]
fn a_component_that_fails_in_a_regrid_leaves_a_mesh_that_goes_on() {
    let cells = |i, j| CellBox { i, j, nx: 8, ny: 8 };
    let first = vec![vec![cells(8, 8)]];
    let second = vec![vec![cells(12, 8), cells(40, 16)]];
    let mut assembly = example("shock-amr/shock-amr.toml", &[]);
    host_stands_in(&mut assembly, "regridder", "regridder");
    host_stands_between(&mut assembly, "mesh.icc", "icc");
    let application = Application::new(RankComm::alone());
    let host = &application.host;
    let moody = Arc::new(Moody {
        icc: host.register_uses_port("to_icc").expect("a port"),
        refuses: AtomicBool::new(false),
    });
    let regridder = Arc::new(FixedBoxes::new(vec![first.clone(), first, second]));
    let added = host
        .add_provides_port::<dyn RegridderPort, _>("regridder", &regridder)
        .and_then(|()| host.add_provides_port::<dyn InterLevelPort, _>("icc", &moody));
    added.expect("ports");
    application.assemble(&assembly);
    application.initialise(&Blast);
    let before = application.levels();
    assert_eq!(before[1].len(), 16 * 16);
    moody.refuses.store(true, Ordering::Relaxed);
    let regrid = |mesh: &_| MeshPort::regrid(mesh, 0.0);
    let failed = application
        .framework
        .with_port::<dyn MeshPort, _>("mesh", "mesh", regrid);
    let error = failed.expect("a mesh").expect_err("no mood");
    assert!(error.message().contains("no mood"), "{error}");
    assert!(application.levels() == before);
    application.advance(0.0, 0.001);
    let with_second = application.with_mesh(|mesh| {
        let is_new = mesh.regrid(0.001)?.is_new;
        Ok(is_new && mesh.patches(1)?.len() == 2)
    });
    assert!(with_second);
    application.advance(0.001, 0.001);
}
