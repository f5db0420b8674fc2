//! The component class.

use std::sync::Arc;

use cca_ports::{Component, Parameter, PortError, RSlice, RVec, Services, component};
use hydro_ports::{CellBox, Patch, RegridderPort, States};

use crate::{Clustering, Marks, Thresholds, buffered, cluster, flags};

/// Finds where the solution is steep, and covers it with boxes (error estimator, Berger and Rigoutsos).
#[component(class = "hydro.Regridder", version = "1.0")]
struct Regridder {
    relative: Parameter<f64>,
    tracer: Parameter<f64>,
    buffer: Parameter<i64>,
    efficiency: Parameter<f64>,
    min_side: Parameter<i64>,
    max_side: Parameter<i64>,
}

impl Component for Regridder {
    fn set_services(services: &Services) -> Result<Arc<Self>, PortError> {
        let parameters = services.parameters("parameters")?;
        let default = Thresholds::default();
        let threshold = |key: &str, default: f64, help: &str| {
            let parameter = parameters.real(key, default).bounds(1e-12, 1e12);
            parameter.unit("1").help(help).add()
        };
        let cells = |key: &str, default: i64, lower: f64, help: &str| {
            let parameter = parameters.integer(key, default).bounds(lower, 1e6);
            parameter.unit("cells").help(help).add()
        };
        let component = Arc::new(Regridder {
            relative: threshold(
                "relative",
                default.relative,
                "difference of density or pressure to a neighbour, over the cell's own, above which it is refined",
            )?,
            tracer: threshold(
                "tracer",
                default.tracer,
                "difference of the tracer's mass fraction to a neighbour above which a cell is refined",
            )?,
            buffer: cells(
                "buffer",
                2,
                0.0,
                "cells around such a cell that are refined too",
            )?,
            efficiency: parameters
                .real("efficiency", 0.75)
                .bounds(0.0, 1.0)
                .unit("1")
                .help("part of a patch's cells that had to be refined, at least")
                .add()?,
            min_side: cells(
                "min_side",
                8,
                2.0,
                "smallest side of a patch, in its own cells",
            )?,
            max_side: cells(
                "max_side",
                64,
                4.0,
                "largest side of a patch, in its own cells",
            )?,
        });
        services.add_provides_port::<dyn RegridderPort, _>("regridder", &component)?;
        Ok(component)
    }
}

impl RegridderPort for Regridder {
    fn flag(&self, patch: Patch, state: States<'_>) -> Result<RVec<bool>, PortError> {
        patch.shape.check("state", state.shape())?;
        let thresholds = Thresholds {
            relative: self.relative.get(),
            tracer: self.tracer.get(),
        };
        Ok(flags(patch.shape, thresholds, state.values()?).into())
    }

    fn cluster(
        &self,
        level: u32,
        nx: usize,
        ny: usize,
        flags: RSlice<'_, bool>,
        required: RSlice<'_, CellBox>,
    ) -> Result<RVec<CellBox>, PortError> {
        if flags.len() != nx * ny {
            return Err(PortError::failed(format_args!(
                "cannot cluster cells of level \"{level}\": {} flags, expected {nx} x {ny}",
                flags.len()
            )));
        }
        let marks = Marks::new(nx, ny, flags.to_vec());
        let mut marks = buffered(&marks, self.buffer.get() as usize);
        required.iter().for_each(|cells| marks.mark(cells));
        // Side lengths are in cells of the finer patches.
        let wanted = Clustering {
            efficiency: self.efficiency.get(),
            min_side: (self.min_side.get() + 1) / 2,
            max_side: self.max_side.get() / 2,
        };
        let boxes = cluster(&marks, wanted);
        boxes.map(RVec::from).map_err(PortError::failed)
    }
}
