//! The longest path of a schedule.

use crate::engine::schedules::{Run, ScheduleOutcome, ScheduleSlices, run_to_end};
use crate::engine::{Limits, Progress, SimulationError};
use crate::machine::Machine;
use crate::sensitivity::recorder::Recorder;
use crate::sensitivity::{LongestPath, obstacle};
use mastermind_programs::goal::Schedule;

/// Runs a schedule and follows its longest path.
///
/// # Errors
/// As [`simulate_schedule_with`]; [`SimulationError::NoPath`] on a machine where stages wait for others than the path shows.
pub fn schedule_path(
    schedule: Schedule,
    machine: &Machine,
    limits: Limits,
    progress: &mut dyn FnMut(Progress),
) -> Result<(ScheduleOutcome, LongestPath), SimulationError> {
    if let Some(found) = obstacle(machine, false) {
        return Err(SimulationError::NoPath { found });
    }
    let ranks = schedule.ranks();
    let parts = schedule.parts.iter();
    let mut recorder = Recorder::new(parts.map(|part| (part.cpus, part.nics)));
    let mut run = Run::new(schedule, machine, ScheduleSlices::default());
    let per_node = run.per_node;
    run.recorder = Some(&mut recorder);
    let outcome = run_to_end(run, limits, progress)?;
    let class_of = |a: u32, b: u32| machine.class_between(a / per_node, b / per_node);
    let path = LongestPath::new(&recorder, machine, class_of, (1, ranks));
    Ok((outcome, path))
}
