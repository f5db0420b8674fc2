//! `cargo xtask bench`: the benchmarks that answer a question, each beside its baseline.

use std::process::Command;

use crate::build;
use crate::steps::{StepError, run_step};
use crate::workspace::Workspace;

/// Package and bench target of each.
const BENCHES: &[(&str, &str)] = &[
    ("mastermind-component", "port_call"),
    ("mastermind-measurement", "append"),
    ("proxy-mpi", "wrapper"),
    ("mastermind-records", "read"),
    ("mastermind-models", "summarise"),
];

/// Packages whose examples are libraries that a benchmark loads.
const LIBRARIES: [&str; 2] = ["mastermind-component", "proxy-mpi"];

/// Builds the libraries that the benchmarks load, then runs them one by one.
pub fn bench(workspace: &Workspace) -> Result<(), StepError> {
    build::build_default_members(workspace)?;
    for package in LIBRARIES {
        run_step(
            &format!("libraries of {package}"),
            &mut workspace.cargo(&["build", "--release", "-p", package, "--examples"]),
        )?;
    }
    BENCHES.iter().try_for_each(|(package, bench)| {
        run_step(
            &format!("bench {bench}"),
            &mut workspace.cargo(&["bench", "-p", package, "--bench", bench]),
        )
    })
}

/// The table of model fitting: 10⁸ records to models, then Extra-P and ours on the same functions.
pub fn extrap(workspace: &Workspace) -> Result<(), StepError> {
    run_step(
        "bench summarise",
        &mut workspace.cargo(&["bench", "-p", "mastermind-models", "--bench", "summarise"]),
    )?;
    let mut script = Command::new("sh");
    script
        .arg(workspace.root.join("benches/extrap/run.sh"))
        .env("CARGO_TARGET_DIR", &workspace.target);
    run_step("Extra-P and ours", &mut script)
}
