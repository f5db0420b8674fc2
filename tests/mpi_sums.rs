//! Sums of calls of MPI without a record each: `profile --mpi` shows the same as with records; polls that find nothing
//! share a record.

use std::path::Path;

use mastermind_records::Run;
use mastermind_tests::{Scratch, bin_dir, compile_mpi, mpirun, mpis_with, root};
use serde_json::{Value, json};

/// Runs a program on two ranks under `wrap`, and shows it.
fn shown(mpi: &str, options: &[&str], program: &Path, scratch: &Scratch) -> Value {
    let mut command = mpirun(mpi, 2, &scratch.path(""));
    command.arg(bin_dir().join("mastermind")).arg("wrap");
    command
        .args(options)
        .args(["--overwrite", "--records", "records", "--"]);
    scratch.run(command.arg(program)).well();
    let text = scratch
        .mastermind(&["profile", "records", "--mpi", "--json"])
        .well();
    serde_json::from_str(&text).expect("JSON")
}

/// The cells of a table's rows that do not depend on time, in order.
fn table(report: &Value, name: &str) -> Vec<String> {
    let columns = [
        "name",
        "call_site",
        "calls",
        "failed",
        "messages",
        "bytes",
        "least_bytes",
        "greatest_bytes",
        "from_bytes",
        "to_bytes",
        "from_ranks",
        "to_ranks",
        "sizes",
    ];
    let row = |row: &Value| {
        let cells = columns
            .iter()
            .filter_map(|column| Some((*column, row.get(*column)?)));
        json!(cells.collect::<Vec<_>>()).to_string()
    };
    let mut rows: Vec<_> = report[name]
        .as_array()
        .expect("rows")
        .iter()
        .map(row)
        .collect();
    rows.sort();
    rows
}

#[test]
fn sums_show_what_records_show() {
    for mpi in mpis_with("mpicc") {
        for source in ["ring.c", "phases.c"] {
            let scratch = Scratch::new();
            let options = ["-g", "-O1"];
            let program = compile_mpi(mpi, source, &options, &[], &scratch.path(""));
            let of_records = shown(mpi, &["--call-sites"], &program, &scratch);
            let of_sums = shown(mpi, &[], &program, &scratch);
            for name in ["functions", "sizes", "by_communicator", "call_sites"] {
                let rows = table(&of_sums, name);
                assert!(!rows.is_empty(), "{mpi}, {source}: {name}");
                assert_eq!(rows, table(&of_records, name), "{mpi}, {source}: {name}");
            }
            let times = |row: &Value| {
                ["least_ns", "ns", "greatest_ns"].map(|of| row[of].as_u64().expect("a time"))
            };
            for row in of_sums["call_sites"].as_array().expect("rows") {
                let [least, all, greatest] = times(row);
                assert!(least <= greatest && greatest <= all, "{row}");
            }
            let records = Run::open(&scratch.path("records"))
                .expect("records")
                .n_records();
            // The records of the whole program.
            assert_eq!(records, 2, "{mpi}, {source}");
        }
    }
}

#[test]
fn calls_that_find_nothing_share_a_record() {
    for mpi in mpis_with("mpicc") {
        let scratch = Scratch::new();
        let program = compile_mpi(mpi, "polls.c", &["-g"], &[], &scratch.path(""));
        let report = shown(mpi, &["--call-sites"], &program, &scratch);
        let expected = [
            ("MPI_Iprobe", 100_000),
            ("MPI_Request_get_status", 50_000),
            ("MPI_Test", 50_000),
        ];
        for (name, calls) in expected {
            for table in ["functions", "call_sites"] {
                let rows = report[table].as_array().expect("rows").iter();
                let of_name = rows.filter(|row| row["name"] == name);
                let n: u64 = of_name
                    .map(|row| row["calls"].as_u64().expect("calls"))
                    .sum();
                assert_eq!(n, calls, "{mpi}: {name} in {table}");
            }
        }
        let run = Run::open(&scratch.path("records")).expect("records");
        assert!(run.n_records() < 40, "{mpi}: {}", run.n_records());
        let polled: u64 = run
            .logs()
            .iter()
            .flat_map(|log| log.records())
            .map(|record| record.calls())
            .sum();
        assert!(polled > 200_000, "{mpi}: {polled}");
        // Every message finds its receive.
        let machine = root().join("examples/sweep3d/machine.toml");
        let machine = machine.display().to_string();
        let words = ["simulate", "records", "--machine", &machine, "--json"];
        let replayed: Value =
            serde_json::from_str(&scratch.mastermind(&words).well()).expect("JSON");
        assert_eq!(replayed["messages"], 4, "{mpi}: {replayed}");
    }
}
