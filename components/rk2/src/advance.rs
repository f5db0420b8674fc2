//! The recursive advance of the levels of a mesh.

use cca_ports::{PortError, RSlice};
use hydro_ports::{ArrayName, Lent, MeshPort, Patch, RhsPort, Shape, States, StatesMut};

use crate::{first_stage, second_stage};

/// The arrays of one stage of one patch; they grow to the largest patch and stay.
#[derive(Debug, Default)]
pub struct Scratch {
    rate: Vec<f64>,
    flux_x: Vec<f64>,
    flux_y: Vec<f64>,
}

impl Scratch {
    fn resize(&mut self, shape: Shape) {
        for array in [&mut self.rate, &mut self.flux_x, &mut self.flux_y] {
            array.resize(shape.len(), 0.0);
        }
    }
}

/// One advance of a mesh.
#[derive(Debug)]
pub struct Advance<'a, M, R> {
    /// The mesh.
    pub mesh: &'a M,
    /// The right-hand side.
    pub rhs: &'a R,
    /// Arrays to work in.
    pub scratch: &'a mut Scratch,
}

impl<M: MeshPort, R: RhsPort> Advance<'_, M, R> {
    /// Advances a level by `dt`, then the finer ones to the same time in steps of half the size: `L0 L1 L2 L2 L1 L2 L2`.
    ///
    /// # Errors
    /// The mesh's and the right-hand side's; arrays taken are put back.
    ///
    /// # Source
    /// Case study, section 5.
    pub fn level(&mut self, level: u32, time: f64, dt: f64) -> Result<(), PortError> {
        let mesh = self.mesh;
        mesh.begin_step(level, time, dt)?;
        mesh.fill_ghosts(level, ArrayName::State, time)?;
        for patch in &mesh.patches(level)? {
            self.first_stage(*patch, dt)?;
        }
        mesh.fill_ghosts(level, ArrayName::Stage, time + dt)?;
        for patch in &mesh.patches(level)? {
            self.second_stage(*patch, dt)?;
        }
        if level + 1 < mesh.levels()? {
            let half = 0.5 * dt;
            self.level(level + 1, time, half)?;
            self.level(level + 1, time + half, half)?;
        }
        mesh.end_step(level)?;
        Ok(())
    }

    fn first_stage(&mut self, patch: Patch, dt: f64) -> Result<(), PortError> {
        let state = Lent::take(self.mesh, patch, ArrayName::State)?;
        let mut stage = Lent::take(self.mesh, patch, ArrayName::Stage)?;
        self.evaluate(patch, state.states()?, dt)?;
        let (u, rate) = (state.values(), &self.scratch.rate);
        first_stage(patch.shape, dt, u, rate, stage.values_mut());
        state.put()?;
        stage.put()
    }

    fn second_stage(&mut self, patch: Patch, dt: f64) -> Result<(), PortError> {
        let mut state = Lent::take(self.mesh, patch, ArrayName::State)?;
        let stage = Lent::take(self.mesh, patch, ArrayName::Stage)?;
        self.evaluate(patch, stage.states()?, dt)?;
        let (u1, rate) = (stage.values(), &self.scratch.rate);
        second_stage(patch.shape, dt, u1, rate, state.values_mut());
        state.put()?;
        stage.put()
    }

    /// Leaves the rate of a stage in the scratch arrays; its fluxes act for half the step.
    fn evaluate(&mut self, patch: Patch, state: States<'_>, dt: f64) -> Result<(), PortError> {
        let shape = patch.shape;
        let scratch = &mut *self.scratch;
        scratch.resize(shape);
        self.rhs.evaluate(
            patch,
            state,
            StatesMut::new(shape, &mut scratch.rate)?,
            StatesMut::new(shape, &mut scratch.flux_x)?,
            StatesMut::new(shape, &mut scratch.flux_y)?,
        )?;
        let (flux_x, flux_y) = (&scratch.flux_x[..], &scratch.flux_y[..]);
        self.mesh.add_fluxes(
            patch.id,
            0.5 * dt,
            RSlice::from_slice(flux_x),
            RSlice::from_slice(flux_y),
        )
    }
}

#[cfg(test)]
mod tests;
