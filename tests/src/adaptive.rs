//! Shared by the tests of the adaptive mesh: stepping by hand, the composite solution, and stand-ins for components.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use cca_abi::Interface;
use cca_core::{Assembly, Endpoint};
use cca_ports::{PortError, RSlice, RVec, UsesPort};
use hydro_ports::{
    ArrayName, CellBox, Change, Domain, GAMMA, InitialConditionPort, IntegratorPort, Lent,
    MeshPort, NVAR, Patch, RegridderPort, States, StatesMut, Traffic, conserved,
};

use crate::{Application, Cells};

/// The ports as they are called.
type MeshStub = <dyn MeshPort as Interface>::Stub;
type IntegratorStub = <dyn IntegratorPort as Interface>::Stub;

/// Regrids after which a mesh has all its levels.
const MAX_REGRIDS: usize = 16;

/// An endpoint of a connection.
///
/// # Panics
/// If it is not `INSTANCE.PORT`.
pub fn end(text: &str) -> Endpoint {
    Endpoint::try_from(text.to_string()).expect("INSTANCE.PORT")
}

/// Removes an instance from an assembly; users of its port `port` get the host's port with the instance's name instead.
///
/// # Panics
/// If there is no such instance.
pub fn host_stands_in(assembly: &mut Assembly, instance: &str, port: &str) {
    assembly.instances.remove(instance).expect("an instance");
    assembly.parameters.remove(instance);
    assembly.alternatives.remove(instance);
    let (old, new) = (
        end(&format!("{instance}.{port}")),
        end(&format!("host.{instance}")),
    );
    for provides in assembly.connections.values_mut() {
        if *provides == old {
            *provides = new.clone();
        }
    }
}

/// Inserts the host's port `port` into a connection, and connects the host's `to_PORT` to the former provider.
///
/// # Panics
/// If the uses port is not connected.
pub fn host_stands_between(assembly: &mut Assembly, uses: &str, port: &str) {
    let host = end(&format!("host.{port}"));
    let provider = assembly.connections.insert(end(uses), host);
    let provider = provider.expect("connected");
    let onward = end(&format!("host.to_{port}"));
    assembly.connections.insert(onward, provider);
}

impl Application {
    /// Works with the mesh.
    ///
    /// # Panics
    /// If there is no `mesh.mesh`, or the work fails.
    pub fn with_mesh<T>(&self, work: impl FnOnce(&MeshStub) -> Result<T, PortError>) -> T {
        let done = self
            .framework
            .with_port::<dyn MeshPort, _>("mesh", "mesh", work);
        done.expect("mesh.mesh").expect("done by the mesh")
    }

    /// Makes the mesh and fills it, as the driver does.
    ///
    /// # Panics
    /// If that fails.
    pub fn initialise(&self, ic: &impl InitialConditionPort) {
        self.with_mesh(|mesh| mesh.create());
        for _ in 0..MAX_REGRIDS {
            let changed = self.with_mesh(|mesh| {
                for level in 0..mesh.levels()? {
                    for patch in &mesh.patches(level)? {
                        let mut state = Lent::take(mesh, *patch, ArrayName::State)?;
                        ic.initialise(*patch, state.states_mut()?)?;
                        state.put()?;
                    }
                }
                Ok(mesh.regrid(0.0)?.is_new)
            });
            if !changed {
                break;
            }
        }
        self.with_mesh(|mesh| {
            (0..mesh.levels()?)
                .rev()
                .try_for_each(|level| mesh.end_step(level).map(drop))
        });
    }

    /// One step of the coarsest level.
    ///
    /// # Panics
    /// If there is no `rk2.integrator`, or the step fails.
    pub fn advance(&self, time: f64, dt: f64) {
        let integrator = |port: &IntegratorStub| port.advance(time, dt);
        let done =
            self.framework
                .with_port::<dyn IntegratorPort, _>("rk2", "integrator", integrator);
        done.expect("rk2.integrator").expect("a step");
    }

    /// Conserved states of this rank's patches by level, then by column and row of the level.
    ///
    /// # Panics
    /// If `mesh.mesh` is not there or fails.
    pub fn levels(&self) -> Vec<Cells> {
        self.with_mesh(|mesh| {
            (0..mesh.levels()?)
                .map(|level| conserved_cells(mesh, level))
                .collect()
        })
    }

    /// Sums of the conserved variables over the finest cells there are, times their area in cells of the coarsest level.
    /// For one rank.
    ///
    /// # Panics
    /// As [`Application::levels`].
    pub fn totals(&self) -> [f64; NVAR] {
        let levels = self.levels();
        let mut totals = [0.0; NVAR];
        for (level, cells) in levels.iter().enumerate() {
            let finer = levels.get(level + 1);
            let is_covered = |(i, j): (usize, usize)| {
                finer.is_some_and(|finer| finer.contains_key(&(2 * i, 2 * j)))
            };
            for (_, state) in cells.iter().filter(|(place, _)| !is_covered(**place)) {
                for (total, value) in totals.iter_mut().zip(state) {
                    *total += value * 0.25f64.powi(level as i32);
                }
            }
        }
        totals
    }
}

fn conserved_cells(mesh: &impl MeshPort, level: u32) -> Result<Cells, PortError> {
    let mut cells = BTreeMap::new();
    for patch in &mesh.patches(level)? {
        let state = Lent::take(mesh, *patch, ArrayName::State)?;
        let shape = patch.shape;
        for (j, row) in shape.interior_rows().take(shape.ny).enumerate() {
            for i in 0..shape.nx {
                let u = std::array::from_fn(|v| state.values()[v * shape.plane() + row + i]);
                cells.insert((patch.i0 + i, patch.j0 + j), u);
            }
        }
        state.put()?;
    }
    Ok(cells)
}

/// Gas at rest with a disc of ten times the pressure, off the middle.
pub struct Blast;

impl InitialConditionPort for Blast {
    fn initialise(&self, patch: Patch, state: StatesMut<'_>) -> Result<(), PortError> {
        fill(patch, state, |x, y| {
            let inside = (x - 0.4).powi(2) + (y - 0.45).powi(2) < 0.02;
            let (p, z) = if inside { (10.0, 1.0) } else { (1.0, 0.0) };
            [1.0, 0.0, 0.0, p, z]
        })
    }
}

/// The same gas everywhere, by its primitive state.
pub struct Uniform(pub [f64; NVAR]);

impl InitialConditionPort for Uniform {
    fn initialise(&self, patch: Patch, state: StatesMut<'_>) -> Result<(), PortError> {
        fill(patch, state, |_, _| self.0)
    }
}

/// Two gases on the two sides of a column, by their primitive states.
#[derive(Clone, Copy)]
pub struct Jump {
    /// The place of the jump.
    pub x: f64,
    /// The gas before it.
    pub left: [f64; NVAR],
    /// The gas after it.
    pub right: [f64; NVAR],
}

impl InitialConditionPort for Jump {
    fn initialise(&self, patch: Patch, state: StatesMut<'_>) -> Result<(), PortError> {
        fill(patch, state, |x, _| {
            if x < self.x { self.left } else { self.right }
        })
    }
}

fn fill(
    patch: Patch,
    state: StatesMut<'_>,
    primitive: impl Fn(f64, f64) -> [f64; NVAR],
) -> Result<(), PortError> {
    let shape = patch.shape;
    let values = state.into_values()?;
    for (j, row) in shape.interior_rows().take(shape.ny).enumerate() {
        for i in 0..shape.nx {
            let (x, y) = patch.centre(i, j);
            for (v, value) in conserved(GAMMA, primitive(x, y)).into_iter().enumerate() {
                values[v * shape.plane() + row + i] = value;
            }
        }
    }
    Ok(())
}

/// A regridder whose boxes are given.
pub struct FixedBoxes {
    sets: Vec<Vec<Vec<CellBox>>>,
    /// Regrids so far.
    regrids: AtomicUsize,
}

impl FixedBoxes {
    /// # Arguments
    /// * `sets` - for one regrid after the other, the last again and again: for each level the boxes to refine, in its cells
    pub fn new(sets: Vec<Vec<Vec<CellBox>>>) -> Self {
        let regrids = AtomicUsize::new(0);
        FixedBoxes { sets, regrids }
    }
}

impl RegridderPort for FixedBoxes {
    fn flag(&self, patch: Patch, _: States<'_>) -> Result<RVec<bool>, PortError> {
        Ok(vec![false; patch.shape.nx * patch.shape.ny].into())
    }

    fn cluster(
        &self,
        level: u32,
        _: usize,
        _: usize,
        _: RSlice<'_, bool>,
        _: RSlice<'_, CellBox>,
    ) -> Result<RVec<CellBox>, PortError> {
        let regrids = self.regrids.load(Ordering::Relaxed);
        // The coarsest level comes last.
        if level == 0 {
            self.regrids.fetch_add(1, Ordering::Relaxed);
        }
        let set = &self.sets[regrids.min(self.sets.len() - 1)];
        Ok(set.get(level as usize).cloned().unwrap_or_default().into())
    }
}

/// A request to a mesh.
#[derive(Clone, Debug, PartialEq)]
pub enum MeshCall {
    /// A step of a level began; the rank's patches of each level.
    Begin(u32, Vec<usize>),
    /// Ghost cells of a level were filled.
    Ghosts(u32),
    /// A step of a level ended.
    End(u32),
    /// A regrid, with the patches of each level after it.
    Regrid(Vec<Vec<Patch>>),
    /// A balance: whether a patch moved, and the patches of each level after it.
    Balance(bool, Vec<Vec<Patch>>),
}

/// Stands before a mesh and notes the requests.
pub struct MeshSpy {
    mesh: UsesPort<dyn MeshPort>,
    calls: Mutex<Vec<MeshCall>>,
}

impl MeshSpy {
    /// # Arguments
    /// * `mesh` - where the calls go
    pub fn new(mesh: UsesPort<dyn MeshPort>) -> Self {
        let calls = Mutex::default();
        MeshSpy { mesh, calls }
    }

    /// The calls so far, forgotten here.
    ///
    /// # Panics
    /// If a call panicked.
    pub fn take_calls(&self) -> Vec<MeshCall> {
        std::mem::take(&mut self.calls.lock().expect("no panic"))
    }

    fn note(&self, call: MeshCall) {
        self.calls.lock().expect("no panic").push(call);
    }

    fn all_patches(&self) -> Result<Vec<Vec<Patch>>, PortError> {
        let mesh = self.mesh.get()?;
        let patches = |level| Ok(mesh.patches(level)?.to_vec());
        (0..mesh.levels()?).map(patches).collect()
    }
}

impl MeshPort for MeshSpy {
    fn create(&self) -> Result<(), PortError> {
        self.mesh.get()?.create()
    }

    fn domain(&self) -> Result<Domain, PortError> {
        self.mesh.get()?.domain()
    }

    fn levels(&self) -> Result<u32, PortError> {
        self.mesh.get()?.levels()
    }

    fn patches(&self, level: u32) -> Result<RVec<Patch>, PortError> {
        self.mesh.get()?.patches(level)
    }

    fn take(&self, patch: u64, array: ArrayName) -> Result<RVec<f64>, PortError> {
        self.mesh.get()?.take(patch, array)
    }

    fn put(&self, patch: u64, array: ArrayName, data: RVec<f64>) -> Result<(), PortError> {
        self.mesh.get()?.put(patch, array, data)
    }

    fn begin_step(&self, level: u32, time: f64, dt: f64) -> Result<(), PortError> {
        let patches = self.all_patches()?.iter().map(Vec::len).collect();
        self.note(MeshCall::Begin(level, patches));
        self.mesh.get()?.begin_step(level, time, dt)
    }

    fn fill_ghosts(&self, level: u32, array: ArrayName, time: f64) -> Result<Traffic, PortError> {
        self.note(MeshCall::Ghosts(level));
        self.mesh.get()?.fill_ghosts(level, array, time)
    }

    fn add_fluxes(
        &self,
        patch: u64,
        weight: f64,
        flux_x: RSlice<'_, f64>,
        flux_y: RSlice<'_, f64>,
    ) -> Result<(), PortError> {
        self.mesh.get()?.add_fluxes(patch, weight, flux_x, flux_y)
    }

    fn end_step(&self, level: u32) -> Result<Traffic, PortError> {
        self.note(MeshCall::End(level));
        self.mesh.get()?.end_step(level)
    }

    fn regrid(&self, time: f64) -> Result<Change, PortError> {
        let changed = self.mesh.get()?.regrid(time)?;
        self.note(MeshCall::Regrid(self.all_patches()?));
        Ok(changed)
    }

    fn balance(&self) -> Result<Change, PortError> {
        let moved = self.mesh.get()?.balance()?;
        self.note(MeshCall::Balance(moved.is_new, self.all_patches()?));
        Ok(moved)
    }
}
