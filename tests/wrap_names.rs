//! A wrapped program finds the same names as alone: the proxy exports none that its MPI lacks.

use std::process::Command;

use mastermind_tests::{Scratch, bin_dir, compile_mpi, mpirun, mpis_with, output};
use serde_json::Value;

#[test]
fn names_that_mpi_lacks_are_not_found_and_all_others_are() {
    for mpi in mpis_with("mpicc") {
        let scratch = Scratch::new();
        let folder = scratch.path("");
        let program = compile_mpi(mpi, "optional.c", &[], &[], &folder);
        let plugin = ["-DPLUGIN", "-shared", "-fPIC"];
        let plugin = compile_mpi(mpi, "optional.c", &plugin, &[], &folder);
        let launch = |wrap: &[&str]| {
            let mut command = mpirun(mpi, 1, &folder);
            if !wrap.is_empty() {
                command.arg(bin_dir().join("mastermind"));
            }
            output(command.args(wrap).arg(&program).arg(&plugin))
        };
        let plain = launch(&[]);
        assert!(
            plain.contains("program MPI_Allreduce: weak 1, default 1, next 1"),
            "{plain}"
        );
        let records = scratch.text("records");
        let wrapped = launch(&["wrap", "--records", &records, "--"]);
        assert_eq!(wrapped, plain, "{mpi}");

        let mut profile = Command::new(bin_dir().join("mastermind"));
        let text = output(profile.args(["profile", &records, "--json"]));
        let profile: Value = serde_json::from_str(&text).expect("JSON");
        let rows = profile["rows"].as_array().expect("rows");
        let has_large = plain.contains("program MPI_Allreduce_c: weak 1");
        let called = if has_large {
            "MPI_Allreduce_c()"
        } else {
            "MPI_Allreduce()"
        };
        let row = rows.iter().find(|row| row["name"] == called);
        let row = row.unwrap_or_else(|| panic!("{called} of {mpi} in {text}"));
        assert_eq!(row["calls"], 1.0);
    }
}
