//! Levels of one rank: fields that are linear in space and time are filled exactly, and a mesh
//! stays whole.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use cca_ports::{CommPort, Completion, PortError, RSlice, RSliceMut, RVec, Reduction};
use hydro_amr_mesh::{Hierarchy, Layout, Ports};
use hydro_icc::{Linear, prolong, restrict};
use hydro_ports::{
    ArrayName, BoundaryPort, CellBox, Domain, InterLevelPort, NVAR, Patch, States, StatesMut,
};

/// The only rank: without peers.
struct Alone;

fn nobody<T>() -> Result<T, PortError> {
    Err(PortError::failed("nobody is there"))
}

impl CommPort for Alone {
    fn rank(&self) -> Result<i32, PortError> {
        Ok(0)
    }

    fn size(&self) -> Result<i32, PortError> {
        Ok(1)
    }

    fn fortran_handle(&self) -> Result<i32, PortError> {
        Ok(0)
    }

    fn barrier(&self) -> Result<(), PortError> {
        Ok(())
    }

    fn all_reduce(&self, _: Reduction, _: RSliceMut<'_, f64>) -> Result<(), PortError> {
        Ok(())
    }

    fn broadcast(&self, _: i32, _: RSliceMut<'_, f64>) -> Result<(), PortError> {
        Ok(())
    }

    fn gather(&self, _: i32, _: RSlice<'_, f64>) -> Result<RVec<RVec<f64>>, PortError> {
        nobody()
    }

    fn send(&self, _: i32, _: i32, _: RVec<f64>) -> Result<u64, PortError> {
        nobody()
    }

    fn receive(&self, _: i32, _: i32, _: usize) -> Result<u64, PortError> {
        nobody()
    }

    fn wait_some(&self, _: RSliceMut<'_, u64>) -> Result<RVec<Completion>, PortError> {
        nobody()
    }

    fn abort(&self, _: i32) -> Result<(), PortError> {
        nobody()
    }
}

/// Leaves the cells beyond the domain as they are.
struct Open;

impl BoundaryPort for Open {
    fn fill(&self, _: Patch, _: StatesMut<'_>) -> Result<(), PortError> {
        Ok(())
    }
}

/// Interpolates this number of times, and fails from then on.
struct Icc(AtomicUsize);

impl InterLevelPort for Icc {
    fn prolong(
        &self,
        coarse_patch: Patch,
        coarse: States<'_>,
        fine_patch: Patch,
        fine: StatesMut<'_>,
        regions: RSlice<'_, CellBox>,
    ) -> Result<(), PortError> {
        let left = |n: usize| n.checked_sub(1);
        if self.0.fetch_update(Relaxed, Relaxed, left).is_err() {
            return Err(PortError::failed("no mood"));
        }
        let (coarse, fine) = (coarse.values()?, fine.into_values()?);
        for region in regions.iter() {
            let done = prolong::<Linear>((coarse_patch, coarse), (fine_patch, fine), *region);
            done.map_err(PortError::failed)?;
        }
        Ok(())
    }

    fn restrict(
        &self,
        fine_patch: Patch,
        fine: States<'_>,
        coarse_patch: Patch,
        coarse: StatesMut<'_>,
        region: CellBox,
    ) -> Result<(), PortError> {
        let (fine, coarse) = (fine.values()?, coarse.into_values()?);
        let done = restrict((fine_patch, fine), (coarse_patch, coarse), region);
        done.map_err(PortError::failed)
    }
}

static ICC: Icc = Icc(AtomicUsize::new(usize::MAX));

const PORTS: Ports<'static, Alone, Open, Icc> = Ports {
    comm: &Alone,
    bc: &Open,
    icc: &ICC,
};

const DOMAIN: Domain = Domain {
    nx: 24,
    ny: 16,
    x_lower: 0.0,
    x_upper: 24.0,
    y_lower: 0.0,
    y_upper: 16.0,
};

fn layout(boxes: &[CellBox]) -> Layout {
    Layout {
        boxes: boxes.to_vec(),
        ranks: vec![0; boxes.len()],
    }
}

fn base() -> Layout {
    layout(&[
        CellBox::between((0, 0), (10, 16)),
        CellBox::between((10, 0), (24, 16)),
    ])
}

/// Two patches of level 1 that touch, across the border of the base patches.
fn fine() -> Layout {
    layout(&[
        CellBox::between((8, 8), (18, 20)),
        CellBox::between((18, 12), (32, 20)),
    ])
}

/// Linear in space and time; a gas at any.
fn value(variable: usize, x: f64, y: f64, time: f64) -> f64 {
    [10.0, 0.5, -0.5, 200.0, 3.0][variable] + 0.125 * x - 0.0625 * y + 2.0 * time
}

/// Gives the interior cells of all levels their value.
fn set(mesh: &mut Hierarchy, level: u32, time: f64) {
    let patches: Vec<Patch> = mesh.patches(level).expect("a level").collect();
    for patch in patches {
        let mut values = mesh.take(patch.id, ArrayName::State).expect("a state");
        for (k, row) in patch.shape.interior_rows().enumerate() {
            let (variable, j) = (k / patch.shape.ny, k % patch.shape.ny);
            for i in 0..patch.shape.nx {
                let (x, y) = patch.centre(i, j);
                values[row + i] = value(variable, x, y, time);
            }
        }
        mesh.put(patch.id, ArrayName::State, values).expect("put");
    }
}

/// The largest error of a level's cells, ghost cells too if they are inside the domain.
fn error_of(mesh: &Hierarchy, level: usize, time: f64) -> f64 {
    let mut largest = 0.0;
    for stored in &mesh.levels()[level].stored {
        let (patch, values) = (stored.patch, stored.array(ArrayName::State));
        let all = CellBox::between((0, 0), ((24 << level) as i64, (16 << level) as i64));
        let inside = patch.array_cells().intersect(&all).expect("cells");
        for (i, j) in
            (inside.j..inside.j_end()).flat_map(|j| (inside.i..inside.i_end()).map(move |i| (i, j)))
        {
            let (x, y) = ((i as f64 + 0.5) * patch.dx, (j as f64 + 0.5) * patch.dy);
            for variable in 0..NVAR {
                let at = variable * patch.shape.plane() + patch.offset(i, j);
                largest = f64::max(largest, (values[at] - value(variable, x, y, time)).abs());
            }
        }
    }
    largest
}

fn mesh() -> Hierarchy {
    let mut mesh = Hierarchy::new(DOMAIN, base(), 0, true).expect("a mesh");
    set(&mut mesh, 0, 0.0);
    mesh.remake(&PORTS, vec![base(), fine()])
        .expect("two levels");
    mesh
}

#[test]
fn new_patches_and_ghost_cells_have_a_linear_field() {
    let mut mesh = mesh();
    for level in [0, 1] {
        mesh.fill_ghosts(&PORTS, level, ArrayName::State, 0.0)
            .expect("filled");
        assert!(error_of(&mesh, level as usize, 0.0) < 1e-13);
    }
    // Interpolated once more around patches that are kept in part.
    let moved = layout(&[
        CellBox::between((10, 8), (22, 20)),
        CellBox::between((22, 8), (34, 20)),
    ]);
    mesh.remake(&PORTS, vec![base(), moved]).expect("moved");
    mesh.fill_ghosts(&PORTS, 1, ArrayName::State, 0.0)
        .expect("filled");
    assert!(error_of(&mesh, 1, 0.0) < 1e-13);
    mesh.remake(&PORTS, vec![base()]).expect("one level");
    assert_eq!(mesh.levels().len(), 1);
}

#[test]
fn ghost_cells_of_a_substep_lie_between_the_coarse_times() {
    let mut mesh = mesh();
    let (begin, dt) = (0.5, 0.25);
    for level in [0, 1] {
        set(&mut mesh, level, begin);
    }
    mesh.begin_step(0, begin, dt).expect("begun");
    set(&mut mesh, 0, begin + dt);
    for part in [0.0, 0.5, 1.0] {
        let time = begin + part * dt;
        set(&mut mesh, 1, time);
        mesh.fill_ghosts(&PORTS, 1, ArrayName::State, time)
            .expect("filled");
        assert!(error_of(&mesh, 1, time) < 1e-13, "{part}");
    }
}

#[test]
fn a_coarse_step_ends_with_the_means_and_fluxes_of_the_fine_one() {
    let mut mesh = mesh();
    mesh.begin_step(0, 0.0, 1.0).expect("begun");
    // The coarse level alone accounts for a flux of 1 through every face, the finer one for 3.
    for (level, flux) in [(0, 1.0), (1, 3.0)] {
        let patches: Vec<Patch> = mesh.patches(level).expect("a level").collect();
        for patch in patches {
            let flux = vec![flux; patch.shape.len()];
            mesh.add_fluxes(patch.id, 1.0, [&flux, &flux])
                .expect("added");
        }
    }
    set(&mut mesh, 1, 1.0);
    mesh.end_step(&PORTS, 0).expect("ended");
    let covered: Vec<CellBox> = fine().boxes.iter().map(CellBox::coarsen).collect();
    let is_covered = |i, j| {
        let cell = CellBox { i, j, nx: 1, ny: 1 };
        f64::from(u8::from(covered.iter().any(|cells| cells.contains(&cell))))
    };
    for stored in &mesh.levels()[0].stored {
        let (patch, values) = (stored.patch, stored.array(ArrayName::State));
        let cells = patch.cells();
        for (i, j) in
            (cells.j..cells.j_end()).flat_map(|j| (cells.i..cells.i_end()).map(move |i| (i, j)))
        {
            let (x, y) = (i as f64 + 0.5, j as f64 + 0.5);
            // Two more in over the faces of the finer level, two more out.
            let change = 2.0
                * (is_covered(i - 1, j) + is_covered(i, j - 1)
                    - is_covered(i + 1, j)
                    - is_covered(i, j + 1));
            let wanted = if is_covered(i, j) > 0.0 {
                value(3, x, y, 1.0)
            } else {
                value(3, x, y, 0.0) + change
            };
            let found = values[3 * patch.shape.plane() + patch.offset(i, j)];
            assert!(
                (found - wanted).abs() < 1e-12,
                "({i}, {j}): {found}, expected {wanted}"
            );
        }
    }
}

#[test]
fn a_mesh_with_an_array_out_is_left_as_it_is() {
    let mut mesh = mesh();
    let values = mesh.take(2, ArrayName::Stage).expect("a stage");
    let taken = "cannot take array \"Stage\" of patch \"2\": taken already, expected it put back";
    let error = mesh
        .fill_ghosts(&PORTS, 1, ArrayName::State, 0.0)
        .expect_err("taken");
    assert_eq!(error.message(), taken);
    let error = mesh.remake(&PORTS, vec![base()]).expect_err("taken");
    assert_eq!(error.message(), taken);
    assert!(mesh.take(2, ArrayName::Stage).is_err());
    assert!(
        mesh.put(2, ArrayName::Stage, RVec::from(vec![0.0; 3]))
            .is_err()
    );
    mesh.put(2, ArrayName::Stage, values).expect("put");
    let error = mesh
        .remake(&PORTS, vec![base(), Layout::default(), fine()])
        .expect_err("not nested");
    assert!(error.message().contains("not nested"), "{error}");
    assert_eq!(mesh.layouts(), [base(), fine()]);
    assert!(mesh.begin_step(2, 0.0, 1.0).is_err() && mesh.take(4, ArrayName::State).is_err());
}

#[test]
fn a_component_that_fails_amid_new_patches_leaves_the_mesh_as_it_is() {
    let mut mesh = mesh();
    let moved = layout(&[
        CellBox::between((10, 8), (22, 20)),
        CellBox::between((22, 8), (34, 20)),
    ]);
    let finer = layout(&[CellBox::between((24, 20), (40, 36))]);
    // The first patch of level 1, the second, the patch of level 2.
    for prolongs in 0..3 {
        let icc = Icc(AtomicUsize::new(prolongs));
        let ports = Ports { icc: &icc, ..PORTS };
        let layouts = vec![base(), moved.clone(), finer.clone()];
        let error = mesh.remake(&ports, layouts).expect_err("no mood");
        assert_eq!(error.message(), "no mood");
        assert_eq!(mesh.layouts(), [base(), fine()]);
        for level in [0, 1] {
            mesh.fill_ghosts(&PORTS, level, ArrayName::State, 0.0)
                .expect("filled");
            assert!(error_of(&mesh, level as usize, 0.0) < 1e-13);
        }
    }
    let layouts = vec![base(), moved, finer];
    mesh.remake(&PORTS, layouts).expect("three levels");
    for level in [0, 1, 2] {
        mesh.fill_ghosts(&PORTS, level, ArrayName::State, 0.0)
            .expect("filled");
        assert!(error_of(&mesh, level as usize, 0.0) < 1e-13);
    }
}
