//! The messages that mesh operations report agree with those that MPI was given: bytes, messages and neighbours of each
//! call equal those of the calls of MPI within it, on one level and on several.

use std::collections::{BTreeMap, BTreeSet};

use mastermind_records::{Log, Record, Run};
use mastermind_tests::{Scratch, mpis};

/// Bytes, messages and the other ranks of a call of the mesh.
#[derive(Debug, Default, PartialEq)]
struct Traffic {
    bytes: i64,
    messages: i64,
    peers: BTreeSet<i64>,
}

/// Operations that are collective.
const OPERATIONS: [&str; 4] = ["fill_ghosts", "end_step", "regrid", "balance"];

/// A parameter of a record.
fn value(record: &Record<'_>, name: &str) -> i64 {
    let names = record.method.parameters.iter();
    let mut found = names.zip(record.parameters());
    let found = found.find(|(parameter, _)| parameter.name == name);
    found
        .unwrap_or_else(|| panic!("no {name}: {record:?}"))
        .1
        .as_f64() as i64
}

/// The communicator that a call of MPI names is defined in its log, with as many ranks as the call says.
fn check_communicator(log: &Log, record: &Record<'_>) {
    let number = value(record, "comm");
    if number < 0 {
        return;
    }
    let mut known = log.definitions().mpi_communicators.iter();
    let known = known.find(|known| known.number == number);
    let ranks = known.map(|known| i64::from(known.ranks));
    assert_eq!(ranks, Some(value(record, "ranks")), "{record:?}");
}

/// Compares each call of the mesh with the calls of MPI made from it.
///
/// # Returns
/// The bytes of each operation.
fn check(log: &Log) -> BTreeMap<&'static str, i64> {
    // Calls end before the one that they were made from.
    let mut seen = BTreeMap::<u64, Traffic>::new();
    let mut bytes = BTreeMap::new();
    for record in log.records() {
        let method = record.method;
        if method.is_mpi() {
            check_communicator(log, &record);
            let Some(parent) = record.parent_seq else {
                continue;
            };
            let parent = seen.entry(parent).or_default();
            match method.method.as_str() {
                "MPI_Isend" | "MPI_Irecv" => {
                    parent.peers.insert(value(&record, "peer"));
                }
                "MPI_Allreduce" => {}
                _ => continue,
            }
            parent.bytes += value(&record, "bytes");
            if method.method == "MPI_Irecv" {
                // Room for one more double, which reveals a message that is too long.
                parent.bytes -= size_of::<f64>() as i64;
            }
            parent.messages += 1;
            continue;
        }
        let operation = OPERATIONS.iter().find(|name| **name == method.method);
        let Some(operation) = operation.filter(|_| method.instance == "mesh") else {
            continue;
        };
        let seen = seen.remove(&record.seq).unwrap_or_default();
        let recorded = [
            value(&record, "bytes"),
            value(&record, "messages"),
            value(&record, "neighbours"),
        ];
        let given = [seen.bytes, seen.messages, seen.peers.len() as i64];
        assert_eq!(recorded, given, "{operation}: {record:?}");
        *bytes.entry(*operation).or_default() += recorded[0];
    }
    bytes
}

#[test]
fn operations_of_a_mesh_have_the_messages_that_mpi_has() {
    for mpi in mpis() {
        let name = mpi.kind.name();
        for (file, moving) in [
            ("shock/shock.toml", &OPERATIONS[..1]),
            ("shock-amr/shock-amr.toml", &OPERATIONS[..3]),
        ] {
            let scratch = Scratch::new();
            let libraries = ["amr_mesh", "icc", "regridder", "load_balancer"]
                .map(|name| mastermind_tests::bin_dir().join(format!("libhydro_{name}.so")));
            let libraries: Vec<_> = libraries.iter().map(|path| path.as_path()).collect();
            let assembly = scratch.example(file, &libraries, &[]);
            let run = [
                "--mpi",
                name,
                "--ranks",
                "3",
                "--records",
                "r",
                "--mpi-events",
            ];
            let steps = ["--set", "driver.max_steps=6"];
            scratch
                .verb("run", &assembly, &[&run[..], &steps].concat())
                .well();
            let shown = scratch.mastermind(&["profile", "r", "--mpi", "--json"]);
            let shown: serde_json::Value = serde_json::from_str(&shown.well()).expect("JSON");
            let rows = |table: &str| shown[table].as_array().map_or(0, Vec::len);
            assert_eq!(rows("ranks"), 3, "{file} under {name}: {shown}");
            for rank in shown["ranks"].as_array().into_iter().flatten() {
                let ns = |name: &str| rank[name].as_u64().expect(name);
                let (application, mpi) = (ns("application_ns"), ns("mpi_ns"));
                assert!(mpi > 0 && application > 0, "{file} under {name}: {rank}");
            }
            let percent = |row: &serde_json::Value| row["mpi_percent"].as_f64().unwrap_or(0.0);
            let functions = shown["functions"].as_array().into_iter().flatten();
            // The rest is the recording of calls, and processor time that other work takes meanwhile; no test can
            // predict how much.
            let whole: f64 = functions.clone().map(percent).sum();
            assert!(whole <= 100.01, "{file} under {name}: {whole} %");
            for called in ["MPI_Waitsome", "MPI_Isend", "MPI_Irecv", "MPI_Allreduce"] {
                let mut rows = functions.clone().filter(|row| row["name"] == called);
                let has_time = rows.any(|row| percent(row) > 0.0);
                assert!(has_time, "{file} under {name}: {called} in {shown}");
            }
            assert!(rows("communicators") >= 3, "{file} under {name}: {shown}");
            let run = Run::open(&scratch.path("r")).expect("records");
            let mut bytes = BTreeMap::<&str, i64>::new();
            for of_log in run.logs().iter().map(check) {
                for (operation, moved) in of_log {
                    *bytes.entry(operation).or_default() += moved;
                }
            }
            for operation in moving {
                assert!(bytes[operation] > 0, "{file} under {name}: {bytes:?}");
            }
        }
    }
}
