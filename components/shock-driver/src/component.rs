//! The component class.

use std::sync::Arc;

use cca_abi::Interface;
use cca_ports::{
    CommPort, Component, GoPort, Parameter, PortError, PortRef, ProgressPort, RSliceMut, Reduction,
    Services, UsesPort, component,
};
use hydro_ports::{
    ArrayName, CharacteristicsPort, InitialConditionPort, IntegratorPort, Lent, MeshPort,
    OutputPort, StatisticsPort,
};

use crate::{Clock, Schedule};

/// The mesh as its port is called.
type MeshStub = <dyn MeshPort as Interface>::Stub;

/// Levels that a mesh may add one by one before the first step.
const MAX_INITIAL_REGRIDS: usize = 16;

/// Runs the case study: initial condition, time steps, regridding, output and statistics.
#[component(class = "hydro.ShockDriver", version = "1.0")]
struct ShockDriver {
    mesh: UsesPort<dyn MeshPort>,
    integrator: UsesPort<dyn IntegratorPort>,
    ic: UsesPort<dyn InitialConditionPort>,
    characteristics: UsesPort<dyn CharacteristicsPort>,
    output: UsesPort<dyn OutputPort>,
    statistics: UsesPort<dyn StatisticsPort>,
    comm: UsesPort<dyn CommPort>,
    progress: UsesPort<dyn ProgressPort>,
    parameters: Parameters,
}

struct Parameters {
    end_time: Parameter<f64>,
    cfl: Parameter<f64>,
    max_steps: Parameter<i64>,
    output_every: Parameter<i64>,
    statistics_every: Parameter<i64>,
    regrid_every: Parameter<i64>,
    balance_at: Parameter<f64>,
}

impl Component for ShockDriver {
    fn set_services(services: &Services) -> Result<Arc<Self>, PortError> {
        let parameters = services.parameters("parameters")?;
        let steps = |key: &str, default: i64, help: &str| {
            let parameter = parameters.integer(key, default).bounds(0.0, 1e15);
            parameter.unit("steps").help(help).add()
        };
        let end_time = parameters.real("end_time", 0.85);
        let end_time = end_time.bounds(f64::MIN_POSITIVE, 1e6);
        let cfl = parameters.real("cfl", 0.4).bounds(1e-3, 1.0).unit("1");
        let parameters = Parameters {
            end_time: end_time
                .unit("channel height / sqrt(pressure / density of air)")
                .help("time at which the run ends")
                .add()?,
            cfl: cfl
                .help("part of a cell that the fastest wave may cross in a step")
                .add()?,
            max_steps: steps(
                "max_steps",
                0,
                "steps after which the run ends; 0: no limit",
            )?,
            output_every: steps(
                "output_every",
                0,
                "steps between outputs, from the start on; 0: at the end only",
            )?,
            statistics_every: steps(
                "statistics_every",
                0,
                "steps between statistics, from the start on; 0: at the end only",
            )?,
            regrid_every: steps("regrid_every", 4, "steps between regrids; 0: none")?,
            balance_at: parameters
                .real("balance_at", 0.5)
                .bounds(0.0, 1.0)
                .unit("1")
                .help("part of the run after which the patches are shared anew, once; 0: never")
                .add()?,
        };
        let component = Arc::new(ShockDriver {
            mesh: services.register_uses_port("mesh")?,
            integrator: services.register_uses_port("integrator")?,
            ic: services.register_uses_port("ic")?,
            characteristics: services.register_uses_port("characteristics")?,
            output: services.register_uses_port("output")?,
            statistics: services.register_uses_port("statistics")?,
            comm: services.register_uses_port("comm")?,
            progress: services.register_uses_port("progress")?,
            parameters,
        });
        services.add_provides_port::<dyn GoPort, _>("go", &component)?;
        Ok(component)
    }
}

impl GoPort for ShockDriver {
    fn go(&self) -> Result<(), PortError> {
        let steps = |parameter: &Parameter<i64>| parameter.get() as u64;
        let run = Run {
            mesh: self.mesh.get()?,
            integrator: self.integrator.get()?,
            ic: self.ic.get()?,
            characteristics: self.characteristics.get()?,
            output: self.output.get()?,
            statistics: self.statistics.get()?,
            comm: self.comm.get()?,
            progress: self.progress.get()?,
            schedule: Schedule {
                end_time: self.parameters.end_time.get(),
                cfl: self.parameters.cfl.get(),
                max_steps: steps(&self.parameters.max_steps),
            },
            output_every: steps(&self.parameters.output_every),
            statistics_every: steps(&self.parameters.statistics_every),
            regrid_every: steps(&self.parameters.regrid_every),
            balance_at: self.parameters.balance_at.get(),
        };
        run.run()
    }
}

/// One run, with its ports and parameters as they were at its start.
struct Run<'a> {
    mesh: PortRef<'a, dyn MeshPort>,
    integrator: PortRef<'a, dyn IntegratorPort>,
    ic: PortRef<'a, dyn InitialConditionPort>,
    characteristics: PortRef<'a, dyn CharacteristicsPort>,
    output: PortRef<'a, dyn OutputPort>,
    statistics: PortRef<'a, dyn StatisticsPort>,
    comm: PortRef<'a, dyn CommPort>,
    progress: PortRef<'a, dyn ProgressPort>,
    schedule: Schedule,
    output_every: u64,
    statistics_every: u64,
    regrid_every: u64,
    balance_at: f64,
}

impl Run<'_> {
    fn run(&self) -> Result<(), PortError> {
        self.mesh.create()?;
        self.initialise()?;
        let mut clock = Clock::default();
        let mut is_due = self.balance_at > 0.0;
        while !self.schedule.is_over(clock) {
            if is_due && self.schedule.fraction(clock) >= self.balance_at {
                is_due = false;
                self.mesh.balance()?;
            }
            let stepped = self.step(clock);
            clock = stepped.map_err(|error| {
                let Clock { step, time } = clock;
                let step = step + 1;
                error.context(format_args!("step {step} from time {time}"))
            })?;
            let state = format!("step {}, time {:.4}", clock.step, clock.time);
            let fraction = self.schedule.fraction(clock);
            self.progress.report(fraction, state.as_str().into())?;
        }
        self.output.write(clock.step, clock.time)?;
        self.statistics.summarise(clock.step, clock.time)?;
        Ok(())
    }

    /// Fills the mesh, and again after each change that an adaptive mesh then makes of itself; then shares it.
    fn initialise(&self) -> Result<(), PortError> {
        for _ in 0..MAX_INITIAL_REGRIDS {
            self.on_patches(|_, state| {
                let patch = state.patch();
                self.ic.initialise(patch, state.states_mut()?)
            })?;
            if !self.mesh.regrid(0.0)?.is_new {
                break;
            }
        }
        // The coarse cells get the means of the finer ones that were filled after them.
        for level in (0..self.mesh.levels()?).rev() {
            self.mesh.end_step(level)?;
        }
        self.mesh.balance()?;
        Ok(())
    }

    /// One step, after the work that is due before it.
    fn step(&self, clock: Clock) -> Result<Clock, PortError> {
        let Clock { step, time } = clock;
        let is_due = |every: u64| every > 0 && step % every == 0;
        if is_due(self.output_every) {
            self.output.write(step, time)?;
        }
        if is_due(self.statistics_every) {
            self.statistics.summarise(step, time)?;
        }
        if step > 0 && is_due(self.regrid_every) {
            self.mesh.regrid(time)?;
        }
        let rate = self.max_rate()?;
        let (dt, next) = self.schedule.next(clock, rate).map_err(PortError::failed)?;
        self.integrator.advance(time, dt)?;
        Ok(next)
    }

    /// The fastest wave on any rank; on a finer level, which takes smaller steps, it counts as much less.
    fn max_rate(&self) -> Result<f64, PortError> {
        let mut rate = 0.0;
        self.on_patches(|level, state| {
            let patch_rate = self
                .characteristics
                .max_rate(state.patch(), state.states()?)?;
            let patch_rate = patch_rate / f64::from(level).exp2();
            // No rate must not get lost among those that are larger than none.
            let patch_rate = if patch_rate.is_nan() {
                f64::INFINITY
            } else {
                patch_rate
            };
            rate = f64::max(rate, patch_rate);
            Ok(())
        })?;
        let mut rates = [rate];
        let values = RSliceMut::from_mut_slice(&mut rates);
        self.comm.all_reduce(Reduction::Max, values)?;
        Ok(rates[0])
    }

    fn on_patches(
        &self,
        mut work: impl FnMut(u32, &mut Lent<'_, MeshStub>) -> Result<(), PortError>,
    ) -> Result<(), PortError> {
        for level in 0..self.mesh.levels()? {
            for patch in &self.mesh.patches(level)? {
                let mut state = Lent::take(&*self.mesh, *patch, ArrayName::State)?;
                work(level, &mut state)?;
                state.put()?;
            }
        }
        Ok(())
    }
}
