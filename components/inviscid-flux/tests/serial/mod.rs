//! One patch and one process: the kernels strung together without the framework.

use hydro_boundary_conditions::{Boundary, fill_sides};
use hydro_characteristics::max_rate;
use hydro_efm_flux::efm_flux;
use hydro_godunov_flux::godunov_flux;
use hydro_inviscid_flux::{subtract_divergence, to_primitive};
use hydro_ports::{Axis, GHOST, NVAR, Shape};
use hydro_rk2::{first_stage, second_stage};
use hydro_states_constructor::{Mc, construct};

pub const GAMMA: f64 = 1.4;
const CFL: f64 = 0.4;

/// The flux component in use.
#[derive(Clone, Copy, Debug)]
pub enum Flux {
    Godunov,
    Efm,
}

/// A patch with everything that a step needs.
pub struct Solver {
    pub shape: Shape,
    pub dx: f64,
    pub dy: f64,
    pub u: Vec<f64>,
    pub steps: usize,
    flux_kind: Flux,
    sides: [Option<Boundary>; 4],
    stage: Vec<f64>,
    w: Vec<f64>,
    left: Vec<f64>,
    right: Vec<f64>,
    flux: Vec<f64>,
    rate: Vec<f64>,
}

impl Solver {
    /// A patch whose lower corner is the origin.
    pub fn new(
        (nx, ny): (usize, usize),
        (dx, dy): (f64, f64),
        flux_kind: Flux,
        sides: [Boundary; 4],
        initial: impl Fn(f64, f64) -> [f64; NVAR],
    ) -> Self {
        let shape = Shape {
            nx,
            ny,
            ghost: GHOST,
        };
        let zeros = || vec![0.0; shape.len()];
        let (stage, w, left, right) = (zeros(), zeros(), zeros(), zeros());
        let (u, flux, rate, sides) = (zeros(), zeros(), zeros(), sides.map(Some));
        let mut solver = Self {
            shape,
            dx,
            dy,
            u,
            steps: 0,
            flux_kind,
            sides,
            stage,
            w,
            left,
            right,
            flux,
            rate,
        };
        for (i, j) in cells(shape) {
            let state = initial((i as f64 + 0.5) * dx, (j as f64 + 0.5) * dy);
            for (variable, value) in state.into_iter().enumerate() {
                solver.u[index(shape, variable, i, j)] = value;
            }
        }
        solver
    }

    /// Steps until `time`, with the last step cut to end there.
    pub fn run(&mut self, from: f64, time: f64) {
        let mut t = from;
        while t < time {
            let rate = max_rate(self.shape, GAMMA, self.dx, self.dy, &self.u).expect("a rate");
            let dt = (CFL / rate).min(time - t);
            self.step(dt);
            self.steps += 1;
            t = if dt == time - t { time } else { t + dt };
        }
    }

    fn step(&mut self, dt: f64) {
        let mut u = std::mem::take(&mut self.u);
        let mut stage = std::mem::take(&mut self.stage);
        self.compute_rate(&mut u);
        first_stage(self.shape, dt, &u, &self.rate, &mut stage);
        self.compute_rate(&mut stage);
        second_stage(self.shape, dt, &stage, &self.rate, &mut u);
        (self.u, self.stage) = (u, stage);
    }

    fn compute_rate(&mut self, u: &mut [f64]) {
        let (shape, w) = (self.shape, &mut self.w);
        fill_sides(shape, self.sides, u);
        to_primitive(shape, GAMMA, u, w).expect("states");
        self.rate.fill(0.0);
        for (axis, spacing) in [(Axis::X, self.dx), (Axis::Y, self.dy)] {
            let (left, right, flux) = (&mut self.left, &mut self.right, &mut self.flux);
            construct::<Mc>(axis, shape, w, left, right);
            match self.flux_kind {
                Flux::Godunov => {
                    godunov_flux(axis, shape, GAMMA, left, right, flux).expect("a flux");
                }
                Flux::Efm => efm_flux(axis, shape, GAMMA, left, right, flux).expect("a flux"),
            }
            subtract_divergence(axis, shape, spacing, flux, &mut self.rate);
        }
    }

    /// Primitive state of the interior cell `(i, j)`; valid after [`Solver::update_primitive`].
    pub fn primitive(&self, i: usize, j: usize) -> [f64; NVAR] {
        std::array::from_fn(|variable| self.w[index(self.shape, variable, i, j)])
    }

    /// Brings the primitive states up to date with the conserved ones.
    pub fn update_primitive(&mut self) {
        fill_sides(self.shape, self.sides, &mut self.u);
        to_primitive(self.shape, GAMMA, &self.u, &mut self.w).expect("states");
    }

    /// Integral of a conserved variable over the interior.
    pub fn total(&self, variable: usize) -> f64 {
        let value = |(i, j)| self.u[index(self.shape, variable, i, j)];
        cells(self.shape).map(value).sum::<f64>() * self.dx * self.dy
    }
}

/// Index of an interior cell, counted from the first interior cell.
fn index(shape: Shape, variable: usize, i: usize, j: usize) -> usize {
    variable * shape.plane() + (j + shape.ghost) * shape.row() + i + shape.ghost
}

/// The interior cells, row by row.
pub fn cells(shape: Shape) -> impl Iterator<Item = (usize, usize)> {
    (0..shape.nx * shape.ny).map(move |k| (k % shape.nx, k / shape.nx))
}
