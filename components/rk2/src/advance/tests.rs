//! A logging mesh under the advance: order of calls, arithmetic of a step, errors.

use std::sync::Mutex;

use cca_ports::RVec;
use hydro_ports::{Change, Domain, GHOST, Sides, Traffic};

use super::*;

const SHAPE: Shape = Shape {
    nx: 3,
    ny: 2,
    ghost: GHOST,
};

/// A mesh with one patch on each level, which logs its calls.
struct Logging {
    levels: u32,
    log: Mutex<Vec<String>>,
    /// By patch, then by array; `None` while it is out.
    arrays: Mutex<Vec<[Option<RVec<f64>>; 2]>>,
    weights: Mutex<f64>,
}

impl Logging {
    fn new(levels: u32) -> Self {
        let array = || Some(vec![1.0; SHAPE.len()].into());
        Logging {
            levels,
            log: Mutex::default(),
            arrays: Mutex::new((0..levels).map(|_| [array(), array()]).collect()),
            weights: Mutex::new(0.0),
        }
    }

    fn log(&self, what: String) -> Result<(), PortError> {
        self.log.lock().expect("log").push(what);
        Ok(())
    }

    fn lines(&self, prefix: &str) -> Vec<String> {
        let log = self.log.lock().expect("log");
        let lines = log.iter().filter_map(|line| line.strip_prefix(prefix));
        lines.map(String::from).collect()
    }

    fn is_whole(&self) -> bool {
        let arrays = self.arrays.lock().expect("arrays");
        arrays.iter().flatten().all(Option::is_some)
    }
}

impl MeshPort for Logging {
    fn create(&self) -> Result<(), PortError> {
        Ok(())
    }

    fn domain(&self) -> Result<Domain, PortError> {
        Err(PortError::failed("no domain"))
    }

    fn levels(&self) -> Result<u32, PortError> {
        Ok(self.levels)
    }

    fn patches(&self, level: u32) -> Result<RVec<Patch>, PortError> {
        let patch = Patch {
            id: u64::from(level),
            level,
            shape: SHAPE,
            i0: 0,
            j0: 0,
            x_lower: 0.0,
            y_lower: 0.0,
            dx: 1.0,
            dy: 1.0,
            boundary: Sides::default(),
        };
        Ok([patch].into_iter().collect())
    }

    fn take(&self, patch: u64, array: ArrayName) -> Result<RVec<f64>, PortError> {
        let mut arrays = self.arrays.lock().expect("arrays");
        let taken = arrays[patch as usize][array as usize].take();
        taken.ok_or_else(|| PortError::failed("taken already"))
    }

    fn put(&self, patch: u64, array: ArrayName, data: RVec<f64>) -> Result<(), PortError> {
        self.arrays.lock().expect("arrays")[patch as usize][array as usize] = Some(data);
        Ok(())
    }

    fn begin_step(&self, level: u32, time: f64, dt: f64) -> Result<(), PortError> {
        self.log(format!("L{level}"))?;
        self.log(format!("begin {level} {time} {dt}"))
    }

    fn fill_ghosts(&self, level: u32, array: ArrayName, time: f64) -> Result<Traffic, PortError> {
        assert!(self.is_whole(), "an array is out");
        self.log(format!("ghosts {level} {array:?} {time}"))?;
        Ok(Traffic::default())
    }

    fn add_fluxes(
        &self,
        _: u64,
        weight: f64,
        flux_x: RSlice<'_, f64>,
        _: RSlice<'_, f64>,
    ) -> Result<(), PortError> {
        *self.weights.lock().expect("weights") += weight * flux_x[0];
        Ok(())
    }

    fn end_step(&self, level: u32) -> Result<Traffic, PortError> {
        self.log(format!("end {level}"))?;
        Ok(Traffic::default())
    }

    fn regrid(&self, _: f64) -> Result<Change, PortError> {
        Ok(Change::default())
    }

    fn balance(&self) -> Result<Change, PortError> {
        Ok(Change::default())
    }
}

/// `dU/dt = a U` with flux 1, or an error.
struct Decay(Option<f64>);

impl RhsPort for Decay {
    fn evaluate(
        &self,
        _: Patch,
        state: States<'_>,
        rate: StatesMut<'_>,
        flux_x: StatesMut<'_>,
        _: StatesMut<'_>,
    ) -> Result<(), PortError> {
        let a = self.0.ok_or_else(|| PortError::failed("no rate"))?;
        flux_x.into_values()?.fill(1.0);
        let rates = rate.into_values()?.iter_mut().zip(state.values()?);
        rates.for_each(|(rate, u)| *rate = a * u);
        Ok(())
    }
}

fn advance(mesh: &Logging, rhs: &Decay, dt: f64) -> Result<(), PortError> {
    let mut scratch = Scratch::default();
    let scratch = &mut scratch;
    Advance { mesh, rhs, scratch }.level(0, 1.0, dt)
}

/// Case study, section 5: the visit order of three levels.
#[test]
fn levels_are_visited_depth_first_in_half_steps() {
    let mesh = Logging::new(3);
    advance(&mesh, &Decay(Some(-1.0)), 0.5).expect("advanced");
    assert_eq!(mesh.lines("L").concat(), "0122122");
    assert_eq!(mesh.lines("end "), ["2", "2", "1", "2", "2", "1", "0"]);
    assert_eq!(
        mesh.lines("begin 2 "),
        ["1 0.125", "1.125 0.125", "1.25 0.125", "1.375 0.125"]
    );
    assert_eq!(mesh.lines("ghosts ").len(), 14, "section 6");
    assert_eq!(
        mesh.lines("ghosts 1 "),
        ["State 1", "Stage 1.25", "State 1.25", "Stage 1.5"]
    );
}

#[test]
fn a_step_of_one_level_is_heuns_and_its_fluxes_act_for_dt() {
    let mesh = Logging::new(1);
    advance(&mesh, &Decay(Some(-2.0)), 0.25).expect("advanced");
    let state = mesh.take(0, ArrayName::State).expect("the state");
    assert_eq!(state[GHOST * SHAPE.row() + GHOST], 1.0 - 0.5 + 0.125);
    assert_eq!(*mesh.weights.lock().expect("weights"), 0.25);
}

#[test]
fn an_error_leaves_the_mesh_whole() {
    let mesh = Logging::new(2);
    let error = advance(&mesh, &Decay(None), 0.5).expect_err("no rate");
    assert_eq!(error.message(), "no rate");
    assert!(mesh.is_whole());
}
