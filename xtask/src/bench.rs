//! `cargo xtask bench`: the benchmarks that answer a question, each beside its baseline.

use crate::build;
use crate::steps::{StepError, run_step};
use crate::workspace::Workspace;

/// Package and bench target of each.
const BENCHES: &[(&str, &str)] = &[
    ("mastermind-component", "port_call"),
    ("mastermind-measurement", "append"),
    ("mastermind-records", "read"),
];

/// Builds the libraries that the benchmarks load, then runs them one by one.
pub fn bench(workspace: &Workspace) -> Result<(), StepError> {
    build::build_default_members(workspace)?;
    let probe = [
        "build",
        "--release",
        "-p",
        "mastermind-component",
        "--example",
        "probe",
    ];
    run_step(
        "build the library that port_call calls into",
        &mut workspace.cargo(&probe),
    )?;
    BENCHES.iter().try_for_each(|(package, bench)| {
        run_step(
            &format!("bench {bench}"),
            &mut workspace.cargo(&["bench", "-p", package, "--bench", bench]),
        )
    })
}
