//! Detects a deadlock of ranks that wait for one another longer than any step takes.
//!
//! Exchanges follow the order of the application's steps. If one rank reports a step that another does not, each
//! waits for the other for ever, the first one in the exchange. A watching thread reports this.

use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::mastermind::locked;

/// Called once, in a thread of its own, with a description of the missing step.
pub type AtDeadlock = dyn Fn(&str) + Send;

/// Number of checks per patience whether an exchange has ended.
const LOOKS: u32 = 10;

/// Watches the time that a rank waits for the others.
pub struct Patience {
    shared: Arc<(Mutex<Waiting>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Waiting {
    /// Start of the wait, and the step.
    since: Option<(Instant, u64)>,
    has_ended: bool,
}

impl Patience {
    /// # Arguments
    /// * `limit` - longest time that one step of the application may keep the other ranks waiting
    /// * `at_deadlock` - called when that time has passed
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn new(limit: Duration, at_deadlock: Box<AtDeadlock>) -> std::io::Result<Self> {
        let shared = Arc::new((Mutex::new(Waiting::default()), Condvar::new()));
        let looking = Arc::clone(&shared);
        let look = move || look_on(&looking, limit, &*at_deadlock);
        let thread = thread::Builder::new().name("patience".into()).spawn(look)?;
        Ok(Patience {
            shared,
            thread: Some(thread),
        })
    }

    /// Runs an exchange with the other ranks under watch.
    pub fn wait_for<T>(&self, step: u64, exchange: impl FnOnce() -> T) -> T {
        locked(&self.shared.0).since = Some((Instant::now(), step));
        let done = exchange();
        locked(&self.shared.0).since = None;
        done
    }
}

impl Drop for Patience {
    fn drop(&mut self) {
        locked(&self.shared.0).has_ended = true;
        self.shared.1.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn look_on(shared: &(Mutex<Waiting>, Condvar), limit: Duration, at_deadlock: &AtDeadlock) {
    let mut waiting = locked(&shared.0);
    while !waiting.has_ended {
        if let Some((since, step)) = waiting.since
            && since.elapsed() > limit
        {
            at_deadlock(&format!(
                "step {step} of the application has ended on this rank, and for {:.0} s not on another one, expected every rank \
                 to report each step through cca.Progress",
                limit.as_secs_f64()
            ));
            return;
        }
        let waited = shared.1.wait_timeout(waiting, limit / LOOKS);
        waiting = waited.map_or_else(|poisoned| poisoned.into_inner().0, |(waiting, _)| waiting);
    }
}
