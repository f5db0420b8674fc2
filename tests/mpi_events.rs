//! Each call of MPI as a record, on request: bytes, peer and ranks, in C and Fortran, under each MPI of this machine,
//! in a wrapped program and in a run of the case study.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use mastermind_tests::{Scratch, bin_dir, compile_mpi, mpi_fixture, mpirun, mpis_with, output};
use serde_json::Value;

fn mastermind(arguments: &[&str]) -> String {
    output(Command::new(bin_dir().join("mastermind")).args(arguments))
}

/// Runs a program on two ranks, every call of MPI recorded.
fn record(mpi: &str, program: &Path, scratch: &Scratch) -> String {
    let records = scratch.text(&format!("records-{mpi}"));
    let mut command = mpirun(mpi, 2, &scratch.path(""));
    command.arg(bin_dir().join("mastermind"));
    command.args(["wrap", "--mpi-events", "--records", &records, "--"]);
    output(command.arg(program));
    records
}

/// A recorded call: function, bytes, peer, ranks.
type Event = (String, i64, i64, i64);

/// The calls of MPI of a rank, in their order.
fn events(records: &str, rank: u32, scratch: &Scratch) -> Vec<Event> {
    let out = scratch.path(&format!("csv-{}", folder_name(records, rank)));
    mastermind(&[
        "export",
        records,
        "--format",
        "csv",
        "-o",
        &out.display().to_string(),
    ]);
    let mut events = Vec::new();
    for entry in fs::read_dir(&out).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy();
        let parts: Vec<_> = name.split('.').collect();
        let ["MPI", "MPI", function, of_rank, "csv"] = parts[..] else {
            continue;
        };
        if of_rank != format!("rank{rank:04}") {
            continue;
        }
        let mut table = csv::Reader::from_path(&path).expect("a table");
        let header = table.headers().expect("a header").clone();
        for row in table.records() {
            let row = row.expect("a row");
            let number = |column: &str| -> i64 {
                let at = header.iter().position(|name| name == column);
                row[at.expect("the column")].parse().expect("a number")
            };
            let event = (number("bytes"), number("peer"), number("ranks"));
            assert!(number("wall_ns") >= number("mpi_ns"), "{row:?}");
            events.push((
                number("seq"),
                (function.to_owned(), event.0, event.1, event.2),
            ));
        }
    }
    events.sort();
    events.into_iter().map(|(_, event)| event).collect()
}

/// A name for each directory and rank.
fn folder_name(records: &str, rank: u32) -> String {
    let name = Path::new(records).file_name().expect("a name");
    format!("{}-{rank}", name.to_string_lossy())
}

fn event(function: &str, bytes: i64, peer: i64, ranks: i64) -> Event {
    (function.into(), bytes, peer, ranks)
}

#[test]
fn bytes_peer_and_ranks_of_each_call() {
    for mpi in mpis_with("mpicc") {
        let scratch = Scratch::new();
        let program = compile_mpi(mpi, "events.c", &[], &[], &scratch.path(""));
        let records = record(mpi, &program, &scratch);
        for rank in [0, 1] {
            let other = i64::from(1 - rank);
            let own = [3, 5][rank as usize];
            let expected = [
                event("MPI_Init", 0, -1, 0),
                event("MPI_Type_contiguous", 0, -1, 0),
                event("MPI_Type_commit", 0, -1, 0),
                event("MPI_Irecv", 84, -1, 2),
                event("MPI_Isend", 60, other, 2),
                // The receive is from any rank, of up to 84 bytes.
                event("MPI_Waitall", 120, other, 2),
                event("MPI_Completed", 60, other, 2),
                event("MPI_Completed", 60, other, 2),
                event("MPI_Send", 0, -1, 2),
                event("MPI_Bcast", 100, 1, 2),
                event("MPI_Gather", 16, 0, 2),
                event("MPI_Scatterv", own, 0, 2),
                event("MPI_Allgather", 9, -1, 2),
                event("MPI_Allgatherv", own, -1, 2),
                event("MPI_Alltoall", 8, -1, 2),
                event("MPI_Alltoallv", [2, 4][rank as usize], -1, 2),
                event("MPI_Reduce_scatter", 32, -1, 2),
                event("MPI_Comm_split", 0, -1, 2),
                event("MPI_Allreduce", 48, -1, 1),
                event("MPI_Barrier", 0, -1, 2),
                event("MPI_Finalize", 0, -1, 0),
            ];
            assert_eq!(events(&records, rank, &scratch), expected, "{mpi}");
        }
        // Two requests that a call completed are no calls, and a part without a time has no model.
        let tables = [
            mastermind(&["profile", "--mpi", "--json", &records]),
            mastermind(&["fit", &records, "-o", "-"]),
        ];
        for table in tables {
            assert!(
                table.contains("MPI_Waitall") && !table.contains("MPI_Completed"),
                "{mpi}: {table}"
            );
        }
    }
}

/// The calls of a rank that move bytes and begin or complete requests, each with how often it was made.
fn counted(all: &[Event], function: &str) -> BTreeMap<Event, usize> {
    let mut counted = BTreeMap::new();
    for event in all.iter().filter(|event| event.0 == function) {
        *counted.entry(event.clone()).or_default() += 1;
    }
    counted
}

/// Sum of the bytes of a function.
fn bytes(all: &[Event], function: &str) -> i64 {
    let events = all.iter().filter(|event| event.0 == function);
    events.map(|event| event.1).sum()
}

#[test]
fn a_request_completes_with_its_bytes_and_peer() {
    for mpi in mpis_with("mpicc") {
        let scratch = Scratch::new();
        let program = compile_mpi(mpi, "requests.c", &[], &[], &scratch.path(""));
        let records = record(mpi, &program, &scratch);
        for rank in [0, 1] {
            let all = events(&records, rank, &scratch);
            let other = i64::from(1 - rank);
            let of = |function: &str| counted(&all, function);
            let list =
                |events: &[(Event, usize)]| events.iter().cloned().collect::<BTreeMap<_, _>>();
            let with = |function: &str, bytes, n| (event(function, bytes, other, 2), n);
            // To nobody and from there.
            assert_eq!(
                of("MPI_Send"),
                list(&[(event("MPI_Send", 0, -1, 2), 1)]),
                "{mpi}"
            );
            assert_eq!(
                of("MPI_Recv"),
                list(&[(event("MPI_Recv", 0, -1, 2), 1)]),
                "{mpi}"
            );
            // Each of three sizes was received and sent, eight times over.
            let begun = |function| [10, 20, 30].map(|bytes| with(function, bytes, 8));
            assert_eq!(of("MPI_Irecv"), list(&begun("MPI_Irecv")), "{mpi}");
            let mut sent = begun("MPI_Isend").to_vec();
            sent.push((event("MPI_Isend", 0, -1, 2), 1));
            assert_eq!(of("MPI_Isend"), list(&sent), "{mpi}");
            let waited = [10, 20, 30].map(|bytes| with("MPI_Wait", bytes, 2));
            let mut waited = waited.to_vec();
            waited.push(with("MPI_Wait", 56, 2));
            waited.push((event("MPI_Wait", 0, -1, 2), 1));
            waited.push((event("MPI_Wait", 100, 0, 2), 1));
            // One that was prepared and not started.
            waited.push((event("MPI_Wait", 0, -1, 0), 1));
            assert_eq!(of("MPI_Wait"), list(&waited), "{mpi}");
            let all_of = [with("MPI_Waitall", 120, 1), with("MPI_Waitall", 112, 2)];
            assert_eq!(of("MPI_Waitall"), list(&all_of), "{mpi}");
            let any = [10, 20, 30].map(|bytes| with("MPI_Waitany", bytes, 2));
            assert_eq!(of("MPI_Waitany"), list(&any), "{mpi}");
            // MPI decides how many of these there are.
            for function in [
                "MPI_Waitsome",
                "MPI_Test",
                "MPI_Testall",
                "MPI_Testany",
                "MPI_Testsome",
            ] {
                assert_eq!(bytes(&all, function), 120, "{function} of {mpi}");
                let peers = of(function).into_keys().filter(|event| event.1 > 0);
                assert!(
                    peers.into_iter().all(|event| event.2 == other),
                    "{function} of {mpi}"
                );
            }
            // A prepared request moves nothing until it is started.
            for function in ["MPI_Recv_init", "MPI_Send_init"] {
                assert_eq!(of(function), list(&[with(function, 0, 1)]), "{mpi}");
            }
            assert_eq!(
                of("MPI_Startall"),
                list(&[with("MPI_Startall", 112, 2)]),
                "{mpi}"
            );
            assert_eq!(of("MPI_Start"), list(&[with("MPI_Start", 56, 2)]), "{mpi}");
            // Three of these were sends.
            assert_eq!(
                of("MPI_Start_send"),
                list(&[with("MPI_Start_send", 56, 3)]),
                "{mpi}"
            );
        }
    }
}

#[test]
fn requests_of_fortran_complete_with_their_bytes() {
    for mpi in mpis_with("mpif90") {
        for interface in [&[][..], &["-DF08"]] {
            let scratch = Scratch::new();
            let program = compile_mpi(mpi, "requests.F90", interface, &[], &scratch.path(""));
            let records = record(mpi, &program, &scratch);
            for rank in [0, 1] {
                let all = events(&records, rank, &scratch);
                let expected = [
                    ("MPI_Send", 0),
                    ("MPI_Isend", 3 * 24),
                    ("MPI_Irecv", 3 * 24),
                    ("MPI_Waitany", 48),
                    ("MPI_Testsome", 48),
                    ("MPI_Testall", 48),
                    ("MPI_Recv_init", 0),
                    ("MPI_Send_init", 0),
                    ("MPI_Startall", 3 * 128),
                    ("MPI_Waitall", 3 * 128),
                ];
                for (function, moved) in expected {
                    assert_eq!(
                        bytes(&all, function),
                        moved,
                        "{function} of {mpi} {interface:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn calls_in_fortran_by_every_interface() {
    for mpi in mpis_with("mpif90") {
        for interface in [&[][..], &["-DMPIF"], &["-DF08"]] {
            let scratch = Scratch::new();
            let report = scratch.path("report.o");
            let mut cc = Command::new("cc");
            output(
                cc.args(["-c", "-o"])
                    .arg(&report)
                    .arg(mpi_fixture("report.c")),
            );
            let program = compile_mpi(mpi, "calls.F90", interface, &[report], &scratch.path(""));
            let records = record(mpi, &program, &scratch);
            for rank in [0, 1] {
                let all = events(&records, rank, &scratch);
                let other = i64::from(1 - rank);
                for (expected, n) in [
                    (event("MPI_Barrier", 0, -1, 2), 10),
                    (event("MPI_Allreduce", 8, -1, 2), 7),
                    (event("MPI_Sendrecv", 8, other, 2), 5),
                    (event("MPI_Comm_dup", 0, -1, 2), 1),
                ] {
                    let found = all.iter().filter(|event| **event == expected).count();
                    assert_eq!(found, n, "{mpi} {interface:?} {expected:?}\n{all:?}");
                }
            }
        }
    }
}

/// The recorded calls are in the rows of MPI's functions, not additional to them, and a model of one has the sizes as
/// parameters.
#[test]
fn a_call_of_mpi_can_be_modelled() {
    for mpi in mpis_with("mpicc") {
        let scratch = Scratch::new();
        let program = compile_mpi(mpi, "sizes.c", &[], &[], &scratch.path(""));
        let records = record(mpi, &program, &scratch);
        let profile: Value =
            serde_json::from_str(&mastermind(&["profile", &records, "--json"])).expect("JSON");
        let rows = profile["rows"].as_array().expect("rows");
        let names: Vec<_> = rows.iter().filter_map(|row| row["name"].as_str()).collect();
        assert!(names.contains(&"MPI_Send()"), "{names:?}");
        assert!(
            names.iter().all(|name| !name.starts_with("MPI.")),
            "{names:?}"
        );
        let fit = mastermind(&["fit", &records, "--method", "MPI_Send", "--json"]);
        let fit: Value = serde_json::from_str(&fit).expect("JSON");
        let model = &fit["models"][0];
        assert_eq!(model["method"], "MPI::MPI.MPI_Send");
        assert_eq!(model["n_records"], 180);
        let range = model["range"].as_object().expect("a range");
        assert_eq!(range["bytes"], serde_json::json!([4096.0, 1048576.0]));
        assert!(!range.contains_key("peer"), "{range:?}");
        // The curve is drawn though the calls have a peer and a communicator, which the model does not.
        let [models, picture] = ["models.json", "send.svg"].map(|name| scratch.text(name));
        mastermind(&["fit", &records, "--method", "MPI_Send", "-o", &models]);
        mastermind(&[
            "plot", &records, "--kind", "scatter", "--method", "MPI_Send", "--models", &models,
            "-o", &picture,
        ]);
        assert!(
            scratch
                .read("send.svg")
                .contains("with the interval of a call"),
            "{mpi}"
        );
        // The receiving half of an exchange has no time of its own, and no picture in the report.
        mastermind(&["report", &records, "-o", &scratch.text("page.html")]);
        let page = scratch.read("page.html");
        assert!(page.contains("--method MPI_Sendrecv "), "{mpi}");
        assert!(page.contains("--method MPI_Send --models"), "{mpi}");
        assert!(!page.contains("--method MPI_Sendrecv_recv"), "{mpi}");
    }
}
