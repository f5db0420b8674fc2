//! The driver: exchanges, steps, agrees.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use cca_ports::{
    CommPort, Component, GoPort, Parameter, PortError, PortRef, ProgressPort, RSlice, RSliceMut,
    RVec, Reduction, Services, UsesPort, component,
};
use grid_ports::{HeatPort, ProcessGrid};

use crate::{Block, Side, conductivity};

/// Part of the longest stable time step that is taken.
const SAFETY: f64 = 0.9;

/// Steps of heat conduction on a grid that the ranks share.
#[component(class = "grid.HeatDriver", version = "1.0")]
struct HeatDriver {
    heat: UsesPort<dyn HeatPort>,
    comm: UsesPort<dyn CommPort>,
    progress: UsesPort<dyn ProgressPort>,
    parameters: Parameters,
}

struct Parameters {
    nx: Parameter<i64>,
    ny: Parameter<i64>,
    steps: Parameter<i64>,
    columns: Parameter<i64>,
    output: Parameter<String>,
}

impl Component for HeatDriver {
    fn set_services(services: &Services) -> Result<Arc<Self>, PortError> {
        let parameters = services.parameters("parameters")?;
        let cells = |key: &str, help: &str| {
            let parameter = parameters.integer(key, 512).bounds(1.0, 1e5);
            parameter.unit("cells").help(help).add()
        };
        let parameters = Parameters {
            nx: cells("nx", "cells along x")?,
            ny: cells("ny", "cells along y")?,
            steps: parameters
                .integer("steps", 100)
                .bounds(1.0, 1e9)
                .unit("1")
                .help("time steps")
                .add()?,
            columns: parameters
                .integer("columns", 0)
                .bounds(0.0, 1e6)
                .unit("ranks")
                .help("ranks side by side along x; 0: as many as along y, or fewer")
                .add()?,
            output: parameters
                .text("output", "")
                .help("table of the temperatures at the end; empty: none")
                .add()?,
        };
        let component = Arc::new(HeatDriver {
            heat: services.register_uses_port("heat")?,
            comm: services.register_uses_port("comm")?,
            progress: services.register_uses_port("progress")?,
            parameters,
        });
        services.add_provides_port::<dyn GoPort, _>("go", &component)?;
        Ok(component)
    }
}

impl GoPort for HeatDriver {
    fn go(&self) -> Result<(), PortError> {
        let comm = self.comm.get()?;
        let columns = self.parameters.columns.get() as i32;
        let grid = ProcessGrid::new(comm.rank()?, comm.size()?, columns)?;
        let size = |parameter: &Parameter<i64>| parameter.get() as usize;
        let cells = (size(&self.parameters.nx), size(&self.parameters.ny));
        if cells.0 < grid.columns as usize || cells.1 < grid.rows as usize {
            return Err(PortError::failed(format_args!(
                "cannot share grid: {} x {} cells, expected at least {} x {}, one for each rank",
                cells.0, cells.1, grid.columns, grid.rows
            )));
        }
        let mut block = Block::new(grid, cells);
        let heat = self.heat.get()?;
        let temperatures = RSliceMut::from_mut_slice(&mut block.cells);
        let (first_x, first_y) = block.first;
        let largest = heat.hot_spot(
            block.columns,
            first_x,
            first_y,
            cells.0,
            cells.1,
            temperatures,
        )?;
        let mut run = Run {
            heat,
            comm,
            grid,
            next: block.cells.clone(),
            block,
            cells,
        };
        let steps = self.parameters.steps.get() as u64;
        run.steps(steps, largest, &*self.progress.get()?)?;
        run.write(&self.parameters.output.get())
    }
}

/// One run.
struct Run<'a> {
    heat: PortRef<'a, dyn HeatPort>,
    comm: PortRef<'a, dyn CommPort>,
    grid: ProcessGrid,
    block: Block,
    next: Vec<f64>,
    cells: (usize, usize),
}

impl Run<'_> {
    /// * `largest` - at least the largest temperature of the block
    fn steps(
        &mut self,
        steps: u64,
        mut largest: f64,
        progress: &impl ProgressPort,
    ) -> Result<(), PortError> {
        let report_every = steps.div_ceil(100);
        for step in 0..steps {
            largest = self.largest(largest)?;
            let rate = SAFETY / (4.0 * conductivity(largest));
            self.exchange()?;
            let (from, to) = (&self.block.cells, &mut self.next);
            largest = self.heat.step(
                self.block.columns,
                rate,
                RSlice::from_slice(from),
                RSliceMut::from_mut_slice(to),
            )?;
            std::mem::swap(&mut self.block.cells, &mut self.next);
            if (step + 1).is_multiple_of(report_every) {
                let state = format!("step {} of {steps}", step + 1);
                progress.report((step + 1) as f64 / steps as f64, state.as_str().into())?;
            }
        }
        Ok(())
    }

    /// The largest temperature on any rank.
    fn largest(&self, mine: f64) -> Result<f64, PortError> {
        let mut largest = [mine];
        let values = RSliceMut::from_mut_slice(&mut largest);
        self.comm.all_reduce(Reduction::Max, values)?;
        Ok(largest[0])
    }

    /// Fills the ghost cells: from the neighbours, or as mirrors at the sides of the grid.
    fn exchange(&mut self) -> Result<(), PortError> {
        let (mut requests, mut sides) = (Vec::new(), Vec::new());
        for side in Side::ALL {
            let (dx, dy) = side.steps();
            let Some(peer) = self.grid.neighbour(dx, dy) else {
                let edge = self.block.inner(side);
                self.block.fill(side, &edge);
                continue;
            };
            let length = self.block.length(side);
            let edge = RVec::from(self.block.inner(side));
            requests.push(self.comm.receive(peer, side.opposite() as i32, length)?);
            sides.push(Some(side));
            requests.push(self.comm.send(peer, side as i32, edge)?);
            sides.push(None);
        }
        while requests.iter().any(|request| *request != 0) {
            let ended = self
                .comm
                .wait_some(RSliceMut::from_mut_slice(&mut requests))?;
            for completion in &ended {
                if let Some(side) = sides[completion.index] {
                    self.block.fill(side, &completion.data);
                }
            }
        }
        Ok(())
    }

    /// Writes the temperatures of all ranks, a row of the grid a line, if there is a path.
    fn write(&self, path: &str) -> Result<(), PortError> {
        if path.is_empty() {
            return Ok(());
        }
        let mine: Vec<f64> = self.block.inside().collect();
        let all = self.comm.gather(0, RSlice::from_slice(&mine))?;
        if self.comm.rank()? != 0 {
            return Ok(());
        }
        let (nx, ny) = self.cells;
        let mut field = vec![0.0; nx * ny];
        for (rank, values) in all.iter().enumerate() {
            let place = ProcessGrid::new(rank as i32, self.comm.size()?, self.grid.columns)?;
            let block = Block::new(place, self.cells);
            for (k, value) in values.iter().enumerate() {
                let width = block.columns - 2;
                let (x, y) = (block.first.0 + k % width, block.first.1 + k / width);
                field[y * nx + x] = *value;
            }
        }
        let line = |row: &[f64]| row.iter().map(f64::to_string).collect::<Vec<_>>().join(",");
        let lines: Vec<_> = field.chunks_exact(nx).map(line).collect();
        fs::write(Path::new(path), lines.join("\n") + "\n").map_err(|error| {
            PortError::failed(error).context(format_args!("cannot write table \"{path}\""))
        })
    }
}
