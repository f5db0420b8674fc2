//! Chooses between libraries while the program runs: on one rank in a thread, on several ranks in a call of MPI in
//! which all meet.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cca_loader::{Meeting, MpiMeeting};
use mastermind_component::LibraryAdaptation;

use crate::{Errno, RUNNING, threads};

/// Receives the end of the thread, and the process that it belongs to.
static THREAD: Mutex<Option<(Receiver<()>, u32)>> = Mutex::new(None);
static HAS_ENDED: Mutex<bool> = Mutex::new(false);
static END: Condvar = Condvar::new();

/// Chooses the library on one rank of several.
static MEETING: Mutex<Option<LibraryAdaptation>> = Mutex::new(None);

/// Begins to choose.
pub(crate) fn begin(mut adaptation: LibraryAdaptation) {
    let (ends, has_ended) = channel();
    let begun = threads::spawn("mastermind-adapt", move || {
        let _ends: Sender<()> = ends;
        while !ends_within(adaptation.pause()) {
            // No panic may reach the program; after a panic the choice ends.
            let look = AssertUnwindSafe(|| adaptation.look(&RUNNING));
            if !catch_unwind(look).unwrap_or(false) {
                return;
            }
        }
    });
    *locked(&THREAD) = begun.ok().map(|()| (has_ended, std::process::id()));
}

/// Begins to choose together with the other ranks.
pub(crate) fn begin_to_meet(adaptation: LibraryAdaptation) {
    *locked(&MEETING) = Some(adaptation);
}

/// Chooses while all ranks are on the way out of one call of MPI; nothing is chosen where this rank does not take part.
///
/// # Safety
/// The meeting comes from the proxy of MPI.
pub(crate) unsafe extern "C" fn meet(meeting: *const MpiMeeting) -> u64 {
    let _errno = Errno::keep();
    let next = catch_unwind(|| {
        // SAFETY: required of the caller.
        let meeting = unsafe { Meeting::new(&*meeting) };
        locked(&MEETING).as_mut()?.meet(&meeting, &RUNNING)
    });
    next.ok().flatten().unwrap_or(0)
}

/// Ends the choice, once the recording has been taken away.
pub(crate) fn end() {
    // A lock that is taken means that a meeting is under way, so this rank has met.
    if let Some(adaptation) = MEETING.try_lock().ok().as_deref().and_then(Option::as_ref) {
        adaptation.has_never_met();
    }
    let thread = locked(&THREAD).take();
    // A forked child has no such thread.
    let Some((has_ended, _)) = thread.filter(|(_, process)| *process == std::process::id()) else {
        return;
    };
    *locked(&HAS_ENDED) = true;
    END.notify_all();
    // The thread sends nothing: at its end the sender is dropped.
    let _ = has_ended.recv();
}

/// Waits, and returns whether the end has come meanwhile.
fn ends_within(pause: Duration) -> bool {
    let waited = END.wait_timeout_while(locked(&HAS_ENDED), pause, |has_ended| !*has_ended);
    *waited.map_or_else(|poisoned| poisoned.into_inner().0, |(ended, _)| ended)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
