//! The measurement of MPI, switched off and on again by a component while the run goes on, under each MPI.

use std::process::Command;

use mastermind_tests::{
    Scratch, back_end_library, bin_dir, mpirun, mpis_with, output, rust_library,
};
use serde_json::Value;

/// Time that rank 0 waits in each phase, nanoseconds, as in the fixture `switching`.
const LATE_NS: f64 = 120e6;

#[test]
fn its_seconds_follow() {
    for mpi in mpis_with("mpirun") {
        if back_end_library(mpi).is_none() {
            continue;
        }
        let scratch = Scratch::new();
        let library = rust_library("switching");
        let assembly = format!(
            "[assembly]\nname = \"switching\"\npath = [{library:?}]\n\n\
             [instances]\nx = \"test.Switching\"\n\n[go]\nport = \"x.go\"\n"
        );
        let assembly = scratch.write("switching.toml", assembly);
        let records = scratch.text("records");
        let mut command = mpirun(mpi, 2, &scratch.path(""));
        command.arg(bin_dir().join("mastermind"));
        command.arg("run").arg(&assembly);
        output(command.args(["--mpi", mpi, "--records", &records]));
        let mut profile = Command::new(bin_dir().join("mastermind"));
        let text = output(profile.args(["profile", &records, "--per-rank", "--json"]));
        let profile: Value = serde_json::from_str(&text).expect("JSON");
        let rows = profile["rows"].as_array().expect("rows");
        let row = |rank: u32, phase: &str| {
            let named = |row: &&Value| {
                let name = row["name"].as_str().expect("a name");
                row["rank"] == rank && name.rsplit('.').next() == Some(phase)
            };
            let row = rows.iter().find(named);
            row.unwrap_or_else(|| panic!("no {phase} of rank {rank}: {text}"))
        };
        for phase in ["before", "after"] {
            let mpi_ns = row(0, phase)["mpi_ns"].as_f64().expect("a number");
            let wall_ns = row(0, phase)["inclusive_ns"].as_f64().expect("a number");
            assert!(
                (0.9 * LATE_NS..=wall_ns).contains(&mpi_ns),
                "{phase}: {text}"
            );
            // The late rank does not wait, and its work is not MPI's.
            let mpi_ns = row(1, phase)["mpi_ns"].as_f64().expect("a number");
            let wall_ns = row(1, phase)["inclusive_ns"].as_f64().expect("a number");
            assert!(mpi_ns <= wall_ns - 0.9 * LATE_NS, "{phase}: {text}");
        }
        // Not measured is not 0.
        for rank in [0, 1] {
            assert_eq!(row(rank, "without")["calls"], 1.0, "{text}");
            assert_eq!(row(rank, "without")["mpi_ns"], Value::Null, "{text}");
        }
    }
}
