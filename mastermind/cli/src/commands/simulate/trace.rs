//! `simulate --trace`: the activities of each process over time, written to a file.

use std::io::{self, Write};
use std::path::Path;

use anyhow::Context;
use mastermind_programs::ElementInfo;
use mastermind_simulation::engine::Slice;
use mastermind_simulation::trace::{Perfetto, paje};

use crate::destination::Force;

/// The simulation that a trace shows.
pub struct TracedSimulation<'a> {
    pub title: &'a str,
    pub elements: &'a [ElementInfo],
    pub processes: u32,
}

/// Simulates and writes the trace.
///
/// # Arguments
/// * `run` - the simulation; it calls the function for each slice
///
/// # Errors
/// The simulation does not come to its end; the file cannot be written.
pub fn traced<T>(
    (path, force): (&Path, Force),
    shown: &TracedSimulation<'_>,
    run: impl FnOnce(&mut dyn FnMut(Slice)) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let act = || format!("cannot write trace \"{}\"", path.display());
    let (mut file, pending) = force.begin("trace", path)?;
    let end = path.extension().and_then(|end| end.to_str());
    if matches!(end, Some("paje" | "trace")) {
        let outcome = to_paje(&mut file, shown, run, act)?;
        file.flush().with_context(act)?;
        pending.put_in_place()?;
        return Ok(outcome);
    }
    let mut writer = Perfetto::new(file, shown.elements, shown.title).with_context(act)?;
    let mut wrong: io::Result<()> = Ok(());
    let outcome = run(&mut |slice: Slice| {
        if wrong.is_ok() {
            wrong = writer.slice(slice);
        }
    })?;
    wrong.with_context(act)?;
    writer.finish().with_context(act)?;
    pending.put_in_place()?;
    Ok(outcome)
}

fn to_paje<T>(
    mut file: &mut (dyn Write + Send),
    shown: &TracedSimulation<'_>,
    run: impl FnOnce(&mut dyn FnMut(Slice)) -> anyhow::Result<T>,
    act: impl Fn() -> String,
) -> anyhow::Result<T> {
    let mut slices = Vec::new();
    let outcome = run(&mut |slice: Slice| slices.push(slice))?;
    paje(&mut file, shown.elements, shown.processes, &slices).with_context(act)?;
    Ok(outcome)
}
