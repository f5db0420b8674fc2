//! `cargo xtask demo`: the whole job once, from the sources to a chosen implementation.

use std::process::Command;

use crate::build;
use crate::steps::{StepError, run_step};
use crate::system::System;
use crate::workspace::Workspace;

/// Builds everything, then runs the steps of the demonstration one by one.
pub fn demo(workspace: &Workspace, system: &System) -> Result<(), StepError> {
    build::build(workspace, system)?;
    run_step(
        "what this machine offers",
        &mut mastermind(workspace, &["doctor"]),
    )
}

/// The binary with these arguments, in the root of the workspace.
fn mastermind(workspace: &Workspace, arguments: &[&str]) -> Command {
    let mut command = Command::new(workspace.release().join("mastermind"));
    command.current_dir(&workspace.root).args(arguments);
    command
}
