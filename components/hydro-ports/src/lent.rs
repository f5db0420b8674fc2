//! An array that a mesh has lent out.

use std::mem;

use cca_ports::{PortError, RVec};

use crate::{ArrayName, MeshPort, Patch, States, StatesMut};

/// An array taken out of a mesh; dropping it puts it back, so that an error in between leaves the mesh whole.
#[derive(Debug)]
pub struct Lent<'a, M: MeshPort> {
    mesh: &'a M,
    patch: Patch,
    array: ArrayName,
    values: RVec<f64>,
    is_out: bool,
}

impl<'a, M: MeshPort> Lent<'a, M> {
    /// Takes an array of a patch.
    ///
    /// # Errors
    /// The errors of [`MeshPort::take`]; an array of another length than the patch's.
    pub fn take(mesh: &'a M, patch: Patch, array: ArrayName) -> Result<Self, PortError> {
        let values = mesh.take(patch.id, array)?;
        let lent = Lent {
            mesh,
            patch,
            array,
            values,
            is_out: true,
        };
        lent.states()?;
        Ok(lent)
    }

    /// The patch whose array it is.
    pub fn patch(&self) -> Patch {
        self.patch
    }

    /// The values, shape `[NVAR][ny + 2g][nx + 2g]`.
    pub fn values(&self) -> &[f64] {
        self.values.as_slice()
    }

    /// The values, to be changed.
    pub fn values_mut(&mut self) -> &mut [f64] {
        self.values.as_mut_slice()
    }

    /// The array as it is passed on for reading.
    ///
    /// # Errors
    /// None: the length was checked.
    pub fn states(&self) -> Result<States<'_>, PortError> {
        States::new(self.patch.shape, &self.values)
    }

    /// The array as it is passed on for writing.
    ///
    /// # Errors
    /// None: the length was checked.
    pub fn states_mut(&mut self) -> Result<StatesMut<'_>, PortError> {
        StatesMut::new(self.patch.shape, &mut self.values)
    }

    /// Puts the array back.
    ///
    /// # Errors
    /// The errors of [`MeshPort::put`].
    pub fn put(mut self) -> Result<(), PortError> {
        self.give_back()
    }

    fn give_back(&mut self) -> Result<(), PortError> {
        self.is_out = false;
        let values = mem::take(&mut self.values);
        self.mesh.put(self.patch.id, self.array, values)
    }
}

impl<M: MeshPort> Drop for Lent<'_, M> {
    fn drop(&mut self) {
        if self.is_out {
            // An error is already being returned, which is more informative than this one.
            let _ = self.give_back();
        }
    }
}
