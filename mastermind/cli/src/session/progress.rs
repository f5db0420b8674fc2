//! The `cca.Progress` service: a bar on standard error if that is a terminal.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cca_ports::{PortError, ProgressPort, RStr, Services};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

const STEPS: u64 = 1000;

/// Called when a step of the application has ended, with the completed fraction of the run.
pub type AtStep = dyn Fn(f64) -> Result<(), PortError> + Send + Sync;

/// A bar of the first rank; the others keep silent.
pub struct Progress {
    bar: ProgressBar,
    at_step: Mutex<Option<Arc<AtStep>>>,
}

impl Progress {
    /// Takes part in a framework.
    ///
    /// # Errors
    /// The framework's.
    pub fn add(first_rank: bool, services: &Services) -> Result<Arc<Self>, PortError> {
        let bar = ProgressBar::new(STEPS);
        let shown = first_rank && crate::output::shows_progress();
        bar.set_draw_target(if shown {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        });
        if let Ok(style) =
            ProgressStyle::with_template("[{elapsed_precise}] {bar:40} {percent}% {msg}")
        {
            bar.set_style(style);
        }
        let progress = Arc::new(Progress {
            bar,
            at_step: Mutex::default(),
        });
        services.add_provides_port::<dyn ProgressPort, _>("progress", &progress)?;
        Ok(progress)
    }

    /// Runs `at_step` from now on whenever progress is reported, on each rank.
    pub fn at_each_step(&self, at_step: Box<AtStep>) {
        *self.at_step() = Some(at_step.into());
    }

    /// Does it no longer.
    pub fn end_steps(&self) {
        *self.at_step() = None;
    }

    fn at_step(&self) -> MutexGuard<'_, Option<Arc<AtStep>>> {
        self.at_step.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the bar away.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

impl ProgressPort for Progress {
    fn report(&self, fraction: f64, state: RStr<'_>) -> Result<(), PortError> {
        if !self.bar.is_hidden() {
            self.bar
                .set_position((fraction.clamp(0.0, 1.0) * STEPS as f64) as u64);
            self.bar.set_message(state.to_string());
        }
        let at_step = self.at_step().clone();
        at_step.map_or(Ok(()), |at_step| at_step(fraction))
    }
}
