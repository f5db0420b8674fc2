//! Takes calls back from classes on trial inside a step of the application.
//!
//! What a class takes is judged between steps, and a step in which a class of which nothing was known is a hundred times slower costs as
//! much as a hundred. So a thread looks at the processor time of the process while classes are on trial: once the step has taken what steps
//! take and, beyond that, what the trials may lose, the connections lead back to the classes before, from the next call on. A call that is
//! under way ends where it is.
//!
//! Only in runs of one rank, where no call of a class waits for the same class on another, and only for classes that keep nothing from call
//! to call: the class before answers inside a step that it has not begun.

use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use cca_core::{Framework, KeptWays, LedBack};

use super::pace::process_s;
use crate::mastermind::locked;

/// Shortest time that is waited for: the usual timer slack of Linux, below which timers are no finer (prctl(2), PR_SET_TIMERSLACK).
const SHORTEST_S: f64 = 50e-6;

/// Looks on while a step goes on in which a class is on trial.
pub struct Fuse {
    shared: Arc<(Mutex<Watched>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Watched {
    /// The step that goes on: processor seconds of the process at which calls are taken back, and the ways to the classes before.
    step: Option<(f64, Vec<KeptWays>)>,
    /// Calls were taken back.
    led_back: Vec<LedBack>,
    has_ended: bool,
}

impl Fuse {
    /// # Errors
    /// The system has no thread for it.
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

    /// A step begins in which classes are on trial.
    ///
    /// # Arguments
    /// * `until_s` - processor seconds of the process at which calls go back
    /// * `before` - where they go then
    pub fn step_begins(&self, until_s: f64, before: Vec<KeptWays>) {
        locked(&self.shared.0).step = Some((until_s, before));
        self.shared.1.notify_all();
    }

    /// The step has ended.
    ///
    /// # Returns
    /// Whether calls were taken back.
    pub fn step_ended(&self) -> bool {
        let mut watched = locked(&self.shared.0);
        watched.step = None;
        let led_back = std::mem::take(&mut watched.led_back);
        // Dropped without the lock, on the thread that runs components.
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
    // As many threads may take processor time at once.
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
