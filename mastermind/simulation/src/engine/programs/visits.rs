//! The round of visits of the two engines that visit a process in place of each event (`eager`, `fixed_distances`).

use crate::engine::error::BoxedError;
use crate::engine::limits::Limits;
use crate::engine::outcome::{EngineChoice, Outcome, Progress};
use crate::engine::programs::ranks::{ProcessView, Ranks};
use crate::engine::programs::run::PROGRESS_EVERY;
use mastermind_programs::Program;

/// Totals of all processes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Totals {
    pub(super) messages: u64,
    pub(super) events: u64,
    pub(super) ties: u64,
}

/// Shared state of an engine's processes, and its visit of one of them. `None` from a process: the engine gives the
/// program up, which does not come to its end or is of another form.
pub(super) trait Visits {
    const ENGINE: EngineChoice;

    /// The first steps of a process.
    fn start(&mut self, view: &mut ProcessView<'_>) -> Option<()>;

    /// The process to be visited next, those of one window in any order; none when nothing is due.
    fn next(&mut self) -> Option<u32>;

    /// Prefetches the state for the next visits during the present one.
    fn prefetch(&mut self, ranks: &Ranks);

    /// All events of a process in the window, and after it as long as no rank can send to the
    /// process.
    fn visit(&mut self, view: &mut ProcessView<'_>) -> Option<()>;

    /// The remaining messages when nothing can continue: they came to processes that have ended.
    fn drain(&mut self, view: &mut ProcessView<'_>) -> Option<()>;

    /// The totals, and begin and end of the window, nanoseconds.
    fn so_far(&self) -> (Totals, [u64; 2]);

    /// Messages that were never received, and receives that no message came for; `None` if some process has not
    /// ended.
    fn left(&self, ranks: &Ranks) -> Option<[u64; 2]>;

    /// Most messages at once, and bytes of all but the processes.
    fn memory(&self) -> (usize, usize);
}

/// Runs a program to its end, or up to a limit.
pub(super) fn run<State: Visits>(
    program: &Program,
    (mut ranks, mut state): (Ranks, State),
    limits: Limits,
    progress: &mut dyn FnMut(Progress),
) -> Option<Result<Outcome, BoxedError>> {
    let processes = 0..program.system.processes;
    for process in processes.clone() {
        state.start(&mut ranks.view(process))?;
    }
    let mut next_report = PROGRESS_EVERY;
    while let Some(process) = state.next() {
        state.prefetch(&ranks);
        let (totals, [begin_ns, _]) = state.so_far();
        if let Err(stopped) = limits.check(totals.events, begin_ns) {
            return Some(Err(stopped));
        }
        state.visit(&mut ranks.view(process))?;
        let (Totals { events, .. }, [_, now_ns]) = state.so_far();
        if events >= next_report {
            next_report = events + PROGRESS_EVERY;
            progress(Progress { now_ns, events });
        }
    }
    // The last visit may have run far ahead.
    if let Err(stopped) = limits.check(state.so_far().0.events, 0) {
        return Some(Err(stopped));
    }
    for process in processes {
        state.drain(&mut ranks.view(process))?;
    }
    let left = state.left(&ranks)?;
    let (totals, _) = state.so_far();
    Some(Ok(ranks.outcome(
        program,
        State::ENGINE,
        totals,
        left,
        state.memory(),
    )))
}
