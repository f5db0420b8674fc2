//! Takes calls back from explored classes inside a step of the application.
//!
//! Classes are judged between steps, and a step in which an unknown class is a hundred times slower costs as much as
//! a hundred steps. So a thread watches the processor time of the process during trials. Once the step has used the
//! time of the longest usual step plus the loss that the trials may cause, it leads the connections back to the
//! previous classes, from the next call on. A call that is under way ends where it is.
//!
//! This works only in runs of one rank, where no call of a class waits for the same class on another rank, and only
//! for stateless classes: the previous class answers in a step that it has not begun.

use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use cca_core::{Framework, KeptWays, LedBack};

use super::pace::process_s;
use crate::mastermind::locked;

/// Shortest wait: the usual timer slack of Linux, below which timers are no finer (prctl(2), PR_SET_TIMERSLACK).
const SHORTEST_S: f64 = 50e-6;

/// Watches the processor time of steps in which a class is being explored.
pub struct Fuse {
    shared: Arc<(Mutex<Watched>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Watched {
    /// The present step: processor seconds of the process at which calls are taken back, and the ways to the previous
    /// classes.
    step: Option<(f64, Vec<KeptWays>)>,
    /// The connections that were led back.
    led_back: Vec<LedBack>,
    has_ended: bool,
}

impl Fuse {
    /// # Errors
    /// The thread cannot be started.
    pub fn new(framework: Framework) -> std::io::Result<Self> {
        let shared = Arc::new((Mutex::new(Watched::default()), Condvar::new()));
        let looking = Arc::clone(&shared);
        let look = move || look_on(&looking, &framework);
        let thread = thread::Builder::new().name("fuse".into()).spawn(look)?;
        Ok(Fuse {
            shared,
            thread: Some(thread),
        })
    }

    /// Reports the start of a step in which classes are being explored.
    ///
    /// # Arguments
    /// * `until_s` - processor seconds of the process at which calls go back
    /// * `before` - ways to the classes that get them then
    pub fn step_begins(&self, until_s: f64, before: Vec<KeptWays>) {
        locked(&self.shared.0).step = Some((until_s, before));
        self.shared.1.notify_all();
    }

    /// Reports the end of the step.
    ///
    /// # Returns
    /// Whether calls were taken back.
    pub fn step_ended(&self) -> bool {
        let mut watched = locked(&self.shared.0);
        watched.step = None;
        let led_back = std::mem::take(&mut watched.led_back);
        // Drop `led_back` without the lock, on the thread that runs components.
        drop(watched);
        !led_back.is_empty()
    }
}

impl Drop for Fuse {
    fn drop(&mut self) {
        locked(&self.shared.0).has_ended = true;
        self.shared.1.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn look_on(shared: &(Mutex<Watched>, Condvar), framework: &Framework) {
    // This many threads may use processor time at once.
    let threads = thread::available_parallelism().map_or(1, usize::from) as f64;
    let mut watched = locked(&shared.0);
    while !watched.has_ended {
        let left_s = watched.step.as_ref().map(|step| step.0 - process_s());
        watched = match left_s {
            None => match shared.1.wait(watched) {
                Ok(watched) => watched,
                Err(poisoned) => poisoned.into_inner(),
            },
            Some(left_s) if left_s > 0.0 => {
                let wait = Duration::from_secs_f64((left_s / threads).max(SHORTEST_S));
                match shared.1.wait_timeout(watched, wait) {
                    Ok((watched, _)) => watched,
                    Err(poisoned) => poisoned.into_inner().0,
                }
            }
            Some(_) => {
                if let Some((_, before)) = watched.step.take() {
                    watched.led_back = before.iter().map(|b| framework.lead_back(b)).collect();
                }
                watched
            }
        };
    }
}
