//! The driver: iterations of sweeps from the eight corners.
//!
//! The particles of an octant of directions enter the cube at one corner and cross it to the
//! opposite one. A cell can be computed when its three upstream neighbours are done, so the work is
//! a wavefront. The ranks share the cube along x and y; each has the whole of z, cut into blocks of
//! `k_block` cells, and passes the faces of a block on while it works on the next. Smaller blocks
//! fill the pipeline sooner and cost more messages: this is what the parameters `k_block` and
//! `angle_group` are for.
//!
//! ```text
//! 3 ranks along x, flight towards +x          time ─▶
//! rank 0   b0  b1  b2  b3
//! rank 1       b0  b1  b2  b3                 after each block: a message to the next rank along x,
//! rank 2           b0  b1  b2  b3             and one along y
//! ```
//!
//! An iteration sweeps all octants with the present source, then `scatter` makes the next source
//! from the flux. In between, the particles are counted: those born must be removed or leave the
//! cube, up to `BALANCE`. Faces that got lost between ranks are detected there; otherwise the
//! result would only be slightly wrong.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use cca_ports::{
    CommPort, Component, GoPort, Parameter, PortError, PortRef, ProgressPort, RSlice, RSliceMut,
    RVec, Reduction, Services, UsesPort, component,
};
use grid_ports::{Block, Direction, ProcessGrid, TransportPort, share};

use crate::quadrature::N_DIRECTIONS;
use crate::{Tally, directions};

/// Side of the cube times the total cross section.
const THICKNESS: f64 = 8.0;

/// Most that the particles of an iteration may be out of balance.
const BALANCE: f64 = 1e-10;

/// Transport of particles in a cube that the ranks share along x and y.
#[component(class = "grid.TransportDriver", version = "1.0")]
struct TransportDriver {
    transport: UsesPort<dyn TransportPort>,
    comm: UsesPort<dyn CommPort>,
    progress: UsesPort<dyn ProgressPort>,
    parameters: Parameters,
}

struct Parameters {
    cells: Parameter<i64>,
    k_block: Parameter<i64>,
    angle_group: Parameter<i64>,
    iterations: Parameter<i64>,
    scattering: Parameter<f64>,
    columns: Parameter<i64>,
    output: Parameter<String>,
}

impl Component for TransportDriver {
    fn set_services(services: &Services) -> Result<Arc<Self>, PortError> {
        let parameters = services.parameters("parameters")?;
        let whole = |key: &str, default: i64, bounds: (f64, f64), unit: &str, help: &str| {
            let parameter = parameters.integer(key, default).bounds(bounds.0, bounds.1);
            parameter.unit(unit).help(help).add()
        };
        let parameters = Parameters {
            cells: whole("cells", 48, (1.0, 1e4), "cells", "cells along each axis")?,
            k_block: whole(
                "k_block",
                8,
                (1.0, 1e4),
                "cells",
                "cells of a block along z",
            )?,
            angle_group: whole("angle_group", 3, (1.0, 6.0), "1", "directions of a group")?,
            iterations: whole(
                "iterations",
                10,
                (1.0, 1e9),
                "1",
                "iterations of the source",
            )?,
            scattering: parameters
                .real("scattering", 0.5)
                .bounds(0.0, 1.0)
                .unit("1")
                .help("part of the collisions that scatter")
                .add()?,
            columns: whole(
                "columns",
                0,
                (0.0, 1e6),
                "ranks",
                "ranks side by side along x; 0: as many as along y, or fewer",
            )?,
            output: parameters
                .text("output", "")
                .help("table of the source at the end; empty: none")
                .add()?,
        };
        let component = Arc::new(TransportDriver {
            transport: services.register_uses_port("transport")?,
            comm: services.register_uses_port("comm")?,
            progress: services.register_uses_port("progress")?,
            parameters,
        });
        services.add_provides_port::<dyn GoPort, _>("go", &component)?;
        Ok(component)
    }
}

impl GoPort for TransportDriver {
    fn go(&self) -> Result<(), PortError> {
        let comm = self.comm.get()?;
        let p = &self.parameters;
        let grid = ProcessGrid::new(comm.rank()?, comm.size()?, p.columns.get() as i32)?;
        let cells = p.cells.get() as usize;
        if cells < grid.columns.max(grid.rows) as usize {
            return Err(PortError::failed(format_args!(
                "cannot share grid: {cells} cells a side, expected at least one for each of {} x {} ranks",
                grid.columns, grid.rows
            )));
        }
        let (nx, ny) = (
            share(cells, grid.columns, grid.x).1,
            share(cells, grid.rows, grid.y).1,
        );
        let mut run = Run {
            transport: self.transport.get()?,
            comm,
            grid,
            cells,
            nx,
            ny,
            k_block: p.k_block.get() as usize,
            angle_group: p.angle_group.get() as usize,
            scattering: p.scattering.get(),
            source: vec![1.0; nx * ny * cells],
            flux: vec![0.0; nx * ny * cells],
        };
        let iterations = p.iterations.get() as u64;
        let progress = self.progress.get()?;
        for iteration in 0..iterations {
            let change = run.iteration()?;
            let done = (iteration + 1) as f64 / iterations as f64;
            let state = format!("iteration {}, change {change:.1e}", iteration + 1);
            progress.report(done, state.as_str().into())?;
        }
        run.write(&p.output.get())
    }
}

/// One run: the rank's part of the cube.
struct Run<'a> {
    transport: PortRef<'a, dyn TransportPort>,
    comm: PortRef<'a, dyn CommPort>,
    grid: ProcessGrid,
    /// Along each axis of the cube.
    cells: usize,
    nx: usize,
    ny: usize,
    k_block: usize,
    angle_group: usize,
    scattering: f64,
    /// Shape `[cells][ny][nx]`.
    source: Vec<f64>,
    flux: Vec<f64>,
}

impl Run<'_> {
    /// Sweeps from all corners, then makes the next source: its largest change on any rank.
    fn iteration(&mut self) -> Result<f64, PortError> {
        let mut tally = Tally::default();
        for octant in 0..8 {
            for group in directions().chunks(self.angle_group) {
                self.wavefront(octant, group, &mut tally)?;
            }
        }
        tally.born = self.transport.total(RSlice::from_slice(&self.source))?;
        tally.removed = self.transport.total(RSlice::from_slice(&self.flux))?;
        let (flux, source) = (&mut self.flux, &mut self.source);
        let change = self.transport.scatter(
            self.scattering,
            1.0,
            RSliceMut::from_mut_slice(flux),
            RSliceMut::from_mut_slice(source),
        )?;
        let mut sums = [tally.born, tally.removed, tally.leaked];
        let values = RSliceMut::from_mut_slice(&mut sums);
        self.comm.all_reduce(Reduction::Sum, values)?;
        let [born, removed, leaked] = sums;
        let imbalance = Tally {
            born,
            removed,
            leaked,
        }
        .imbalance();
        if imbalance.is_nan() || imbalance.abs() > BALANCE {
            return Err(PortError::failed(format_args!(
                "cannot balance particles: {imbalance:e} of those born are missing, expected at most {BALANCE:e}"
            )));
        }
        Ok(change)
    }

    /// The blocks of this rank, one after the other as their particles come in.
    fn wavefront(
        &mut self,
        octant: u32,
        group: &[Direction],
        tally: &mut Tally,
    ) -> Result<(), PortError> {
        // Bits of an octant: 0 for x, 1 for y, 2 for z; a set bit is a flight towards smaller
        // indices.
        let towards = |bit: u32| if octant >> bit & 1 == 0 { 1 } else { -1 };
        let (dx, dy) = (towards(0), towards(1));
        let from = [self.grid.neighbour(-dx, 0), self.grid.neighbour(0, -dy)];
        let to = [self.grid.neighbour(dx, 0), self.grid.neighbour(0, dy)];
        let thickness = THICKNESS / self.cells as f64;
        let (nx, ny, n) = (self.nx, self.ny, group.len());
        // All of z is on this rank: a block leaves here the faces through which the next one is
        // entered.
        let mut z_faces = vec![0.0; n * ny * nx];
        let mut sends = Vec::new();
        for nth in 0..self.cells.div_ceil(self.k_block) {
            let k0 = nth * self.k_block;
            let nz = self.k_block.min(self.cells - k0);
            // From above where the particles fly down.
            let k0 = if octant >> 2 & 1 == 0 {
                k0
            } else {
                self.cells - k0 - nz
            };
            let lengths = [n * nz * ny, n * nz * nx];
            let mut x_faces = self.receive(from[0], 0, lengths[0])?;
            let mut y_faces = self.receive(from[1], 1, lengths[1])?;
            let cells = k0 * ny * nx..(k0 + nz) * ny * nx;
            let block = Block {
                nx,
                ny,
                nz,
                octant,
                thickness,
            };
            self.transport.sweep(
                block,
                RSlice::from_slice(group),
                RSlice::from_slice(&self.source[cells.clone()]),
                RSliceMut::from_mut_slice(&mut self.flux[cells]),
                RSliceMut::from_mut_slice(&mut x_faces),
                RSliceMut::from_mut_slice(&mut y_faces),
                RSliceMut::from_mut_slice(&mut z_faces),
            )?;
            for (axis, faces) in [x_faces, y_faces].into_iter().enumerate() {
                match to[axis] {
                    // Waited for after the last block, so that a send does not delay the next
                    // block.
                    Some(peer) => sends.push(self.comm.send(peer, axis as i32, faces)?),
                    None => tally.leak(group, axis, &faces, thickness),
                }
            }
        }
        tally.leak(group, 2, &z_faces, thickness);
        self.wait(&mut sends)
    }

    /// Flux that enters through the faces of a block: none at the cube's sides.
    fn receive(&self, from: Option<i32>, tag: i32, length: usize) -> Result<RVec<f64>, PortError> {
        let Some(from) = from else {
            return Ok(RVec::from(vec![0.0; length]));
        };
        let mut request = [self.comm.receive(from, tag, length)?];
        let ended = self
            .comm
            .wait_some(RSliceMut::from_mut_slice(&mut request))?;
        let received = ended.into_iter().next().map(|completion| completion.data);
        received.ok_or_else(|| PortError::failed("cannot receive faces: no message, expected one"))
    }

    fn wait(&self, requests: &mut [u64]) -> Result<(), PortError> {
        while requests.iter().any(|request| *request != 0) {
            self.comm.wait_some(RSliceMut::from_mut_slice(requests))?;
        }
        Ok(())
    }

    /// Writes the source of all ranks, a row of cells a line, if there is a path.
    fn write(&self, path: &str) -> Result<(), PortError> {
        if path.is_empty() {
            return Ok(());
        }
        let all = self.comm.gather(0, RSlice::from_slice(&self.source))?;
        if self.comm.rank()? != 0 {
            return Ok(());
        }
        let n = self.cells;
        let mut field = vec![0.0; n * n * n];
        for (rank, values) in all.iter().enumerate() {
            let place = ProcessGrid::new(rank as i32, self.comm.size()?, self.grid.columns)?;
            let (x0, nx) = share(n, place.columns, place.x);
            let (y0, ny) = share(n, place.rows, place.y);
            for (at, value) in values.iter().enumerate() {
                let (i, j, k) = (at % nx, at / nx % ny, at / (nx * ny));
                field[(k * n + y0 + j) * n + x0 + i] = *value;
            }
        }
        let line = |row: &[f64]| row.iter().map(f64::to_string).collect::<Vec<_>>().join(",");
        let lines: Vec<_> = field.chunks_exact(n).map(line).collect();
        fs::write(Path::new(path), lines.join("\n") + "\n").map_err(|error| {
            PortError::failed(error).context(format_args!("cannot write table \"{path}\""))
        })
    }
}

const _: () = assert!(N_DIRECTIONS == 6, "the bounds of angle_group say so");
