//! The component class of the kernels.

use std::sync::Arc;

use cca_ports::{Component, PortError, RSlice, RSliceMut, Services, component};
use grid_ports::{Block, Direction, TransportPort};

use crate::Faces;

/// Discrete ordinates with diamond differences on a block.
#[component(class = "grid.DiamondSweep", version = "1.0")]
struct DiamondSweep;

impl Component for DiamondSweep {
    fn set_services(services: &Services) -> Result<Arc<Self>, PortError> {
        let component = Arc::new(DiamondSweep);
        services.add_provides_port::<dyn TransportPort, _>("transport", &component)?;
        Ok(component)
    }
}

fn check(array: &str, found: usize, expected: usize) -> Result<(), PortError> {
    if found == expected {
        return Ok(());
    }
    Err(PortError::failed(format_args!(
        "cannot use array \"{array}\": {found} values, expected {expected}"
    )))
}

impl TransportPort for DiamondSweep {
    fn sweep(
        &self,
        block: Block,
        directions: RSlice<'_, Direction>,
        source: RSlice<'_, f64>,
        mut flux: RSliceMut<'_, f64>,
        mut x_faces: RSliceMut<'_, f64>,
        mut y_faces: RSliceMut<'_, f64>,
        mut z_faces: RSliceMut<'_, f64>,
    ) -> Result<(), PortError> {
        let (n, Block { nx, ny, nz, .. }) = (directions.len(), block);
        check("source", source.len(), nx * ny * nz)?;
        check("flux", flux.len(), nx * ny * nz)?;
        check("x_faces", x_faces.len(), n * nz * ny)?;
        check("y_faces", y_faces.len(), n * nz * nx)?;
        check("z_faces", z_faces.len(), n * ny * nx)?;
        let faces = Faces {
            x: &mut x_faces,
            y: &mut y_faces,
            z: &mut z_faces,
        };
        crate::sweep(block, &directions, &source, &mut flux, faces);
        Ok(())
    }

    fn total(&self, values: RSlice<'_, f64>) -> Result<f64, PortError> {
        Ok(values.iter().sum())
    }

    fn scatter(
        &self,
        ratio: f64,
        fixed: f64,
        mut flux: RSliceMut<'_, f64>,
        mut source: RSliceMut<'_, f64>,
    ) -> Result<f64, PortError> {
        check("flux", flux.len(), source.len())?;
        Ok(crate::scatter(ratio, fixed, &mut flux, &mut source))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_of_other_shapes_are_refused() {
        let block = Block {
            nx: 2,
            ny: 2,
            nz: 2,
            octant: 0,
            thickness: 1.0,
        };
        let directions = crate::directions();
        let (source, mut flux) = ([0.0; 8], [0.0; 8]);
        let (mut x, mut y, mut z) = ([0.0; 24], [0.0; 24], [0.0; 23]);
        let refused = DiamondSweep.sweep(
            block,
            RSlice::from_slice(&directions),
            RSlice::from_slice(&source),
            RSliceMut::from_mut_slice(&mut flux),
            RSliceMut::from_mut_slice(&mut x),
            RSliceMut::from_mut_slice(&mut y),
            RSliceMut::from_mut_slice(&mut z),
        );
        let message = refused.expect_err("23 faces").message().to_string();
        assert_eq!(
            message,
            "cannot use array \"z_faces\": 23 values, expected 24"
        );
    }
}
