//! `simulate --trace`: what each process does when, to a file.

use std::io::{self, Write};
use std::path::Path;

use anyhow::Context;
use mastermind_simulation::engine::{Limits, Outcome, Progress, Slice, simulate_traced};
use mastermind_simulation::machine::Machine;
use mastermind_simulation::program::Program;
use mastermind_simulation::trace::{Perfetto, paje};

use crate::destination::Force;

/// Simulates and writes the trace.
///
/// # Errors
/// The simulation does not come to its end; the file cannot be written.
pub fn traced(
    (path, force): (&Path, Force),
    program: &Program,
    (machine, limits): (&Machine, Limits),
    progress: &mut dyn FnMut(Progress),
) -> anyhow::Result<Outcome> {
    let act = || format!("cannot write trace \"{}\"", path.display());
    let file = force.create("trace", path)?;
    let end = path.extension().and_then(|end| end.to_str());
    if matches!(end, Some("paje" | "trace")) {
        return to_paje(file, program, (machine, limits), progress, act);
    }
    let mut writer = Perfetto::new(file, &program.elements, &program.name).with_context(act)?;
    let mut wrong: io::Result<()> = Ok(());
    let mut slice = |slice: Slice| {
        if wrong.is_ok() {
            wrong = writer.slice(slice);
        }
    };
    let outcome = simulate_traced(program, machine, limits, progress, &mut slice)?;
    wrong.with_context(act)?;
    writer.finish().with_context(act)?;
    Ok(outcome)
}

fn to_paje(
    mut file: Box<dyn Write + Send>,
    program: &Program,
    (machine, limits): (&Machine, Limits),
    progress: &mut dyn FnMut(Progress),
    act: impl Fn() -> String,
) -> anyhow::Result<Outcome> {
    let mut slices = Vec::new();
    let mut keep = |slice: Slice| slices.push(slice);
    let outcome = simulate_traced(program, machine, limits, progress, &mut keep)?;
    let processes = program.system.processes;
    paje(&mut file, &program.elements, processes, &slices).with_context(act)?;
    Ok(outcome)
}
