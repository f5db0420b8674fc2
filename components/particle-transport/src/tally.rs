//! The balance of particles.

use grid_ports::Direction;

/// Particles of an iteration, of the whole cube when summed over the ranks; in units of the source over the total cross
/// section times a cell's volume.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// Born, by the source and by scattering.
    pub born: f64,
    /// Removed by absorption and scattering.
    pub removed: f64,
    /// Particles that left the cube.
    pub leaked: f64,
}

impl Tally {
    /// Adds the flux that leaves through faces of the cube across an axis.
    ///
    /// # Arguments
    /// * `faces` - shape `[n_directions][faces of a direction]`
    /// * `thickness` - side of a cell times the total cross section
    pub fn leak(&mut self, directions: &[Direction], axis: usize, faces: &[f64], thickness: f64) {
        let per_direction = faces.len() / directions.len().max(1);
        for (direction, faces) in directions
            .iter()
            .zip(faces.chunks_exact(per_direction.max(1)))
        {
            let out: f64 = faces.iter().sum();
            self.leaked += direction.weight * direction.cosines[axis] * out / thickness;
        }
    }

    /// Part of the born particles that is neither removed nor leaked.
    pub fn imbalance(&self) -> f64 {
        (self.born - self.removed - self.leaked) / self.born
    }
}
