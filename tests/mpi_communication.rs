//! Which ranks exchange how much: communicators, sources and sizes of receives, reused handles, and the communication
//! matrix, under each MPI of this machine.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use mastermind_tests::{Scratch, bin_dir, compile_mpi, mpirun, mpis_with, output};
use serde_json::Value;

/// A recorded call: bytes, peer, number of ranks, communicator, peer in `MPI_COMM_WORLD`.
type Event = [i64; 5];

/// The calls of a function of a rank, in their order.
fn events(csv: &Path, function: &str, rank: u32) -> Vec<Event> {
    let path = csv.join(format!("MPI.MPI.{function}.rank{rank:04}.csv"));
    let Ok(mut table) = csv::Reader::from_path(&path) else {
        return Vec::new();
    };
    let header = table.headers().expect("a header").clone();
    let row = |row: csv::StringRecord| {
        ["bytes", "peer", "ranks", "comm", "world_peer"].map(|column| {
            let at = header.iter().position(|name| name == column);
            row[at.expect(column)].parse().expect("a number")
        })
    };
    table
        .records()
        .map(|record| row(record.expect("a row")))
        .collect()
}

fn without_comm(events: &[Event]) -> Vec<[i64; 4]> {
    let without = |[bytes, peer, ranks, _, world]: &Event| [*bytes, *peer, *ranks, *world];
    events.iter().map(without).collect()
}

#[test]
fn peers_have_a_meaning_in_every_communicator() {
    for mpi in mpis_with("mpicc") {
        let scratch = Scratch::new();
        let program = compile_mpi(mpi, "communication.c", &[], &[], &scratch.path(""));
        let mut command = mpirun(mpi, 4, &scratch.path(""));
        command.arg(bin_dir().join("mastermind"));
        command.args([
            "wrap",
            "--mpi-events",
            "--records",
            &scratch.text("records"),
            "--",
        ]);
        output(command.arg(&program));
        scratch
            .mastermind(&["export", "records", "--format", "csv", "-o", "csv"])
            .well();
        let csv = scratch.path("csv");
        let of = |function: &str, rank| events(&csv, function, rank);
        for rank in 0..2u32 {
            let (receiver, from, to) = (rank + 2, i64::from(rank), i64::from(rank + 2));
            assert_eq!(
                without_comm(&of("MPI_Send", rank)),
                [[40, 1, 2, to]],
                "{mpi}"
            );
            // It asked for 100 bytes from any source.
            let received = without_comm(&of("MPI_Recv", receiver));
            assert_eq!(received, [[40, 0, 2, from]], "{mpi}");
            assert_eq!(
                without_comm(&of("MPI_Waitall", rank)),
                [[8, 1, 2, to]],
                "{mpi}"
            );
            assert_eq!(
                without_comm(&of("MPI_Waitall", receiver)),
                [[8, 0, 2, from]],
                "{mpi}"
            );
            let asked = without_comm(&of("MPI_Irecv", receiver));
            let any = [[50, 0, 2, from], [50, -1, 2, -1]];
            assert!(asked.ends_with(&any), "{mpi}: {asked:?}");
        }
        assert_eq!(without_comm(&of("MPI_Ssend", 0)), [[41, 0, 4, 3]], "{mpi}");
        assert_eq!(without_comm(&of("MPI_Probe", 3)), [[41, 3, 4, 0]], "{mpi}");
        let found = without_comm(&of("MPI_Iprobe", 3));
        assert_eq!(found.last(), Some(&[41, 3, 4, 0]), "{mpi}");
        assert_eq!(without_comm(&of("MPI_Wait", 3)), [[41, 3, 4, 0]], "{mpi}");
        for rank in 0..4u32 {
            let exchanged = of("MPI_Sendrecv", rank);
            let expected: Vec<_> = (1..=8i64)
                .map(|i| {
                    let own = i64::from(rank);
                    let other = if i % 2 == 1 { own ^ 1 } else { own ^ 2 };
                    [100 + i, i64::from(other > own), 2, other]
                })
                .collect();
            assert_eq!(without_comm(&exchanged), expected, "{mpi}, rank {rank}");
            let numbers: std::collections::BTreeSet<_> =
                exchanged.iter().map(|event| event[3]).collect();
            assert_eq!(numbers.len(), 8, "{mpi}: {exchanged:?}");
            let broadcast: Vec<_> = of("MPI_Bcast", rank).iter().map(|event| event[0]).collect();
            assert_eq!(broadcast, [201, 202, 203, 204], "{mpi}");
            assert!(
                of("MPI_Bcast", rank).iter().all(|event| event[3] == 0),
                "{mpi}"
            );
        }
        communicators(&scratch, mpi);
        by_communicator(&scratch, mpi);
        matrix(&scratch, mpi);
    }
}

/// The table of communicators explains their numbers by their ranks.
fn communicators(scratch: &Scratch, mpi: &str) {
    let shown = shown(scratch, "--mpi");
    let rows = shown["communicators"].as_array().expect("rows");
    for rank in 0..4i64 {
        let own = rows.iter().filter(|row| row["rank"] == rank);
        let members: BTreeMap<i64, &Value> = own
            .map(|row| {
                (
                    row["number"].as_i64().expect("a number"),
                    &row["world_ranks"],
                )
            })
            .collect();
        assert_eq!(members[&0], &Value::Null, "{mpi}");
        assert_eq!(
            members[&1],
            &serde_json::json!([rank % 2, rank % 2 + 2]),
            "{mpi}"
        );
        let pairs = rows
            .iter()
            .filter(|row| row["rank"] == rank && row["ranks"] == 2);
        assert_eq!(pairs.count(), 9, "{mpi}: {members:?}");
    }
}

/// Calls are distinguished by the size of their communicator and of their message.
fn by_communicator(scratch: &Scratch, mpi: &str) {
    let shown = shown(scratch, "--mpi");
    let rows = shown["by_communicator"].as_array().expect("rows");
    let of = |function: &str| -> Vec<[u64; 6]> {
        let columns = [
            "from_ranks",
            "to_ranks",
            "from_bytes",
            "to_bytes",
            "calls",
            "bytes",
        ];
        let own = rows.iter().filter(|row| row["name"] == function);
        let mut own: Vec<_> = own
            .map(|row| columns.map(|column| row[column].as_u64().expect(column)))
            .collect();
        own.sort_unstable();
        own
    };
    let exchanged = 4 * (101..=108).sum::<u64>();
    assert_eq!(
        of("MPI_Sendrecv"),
        [[2, 3, 64, 127, 32, exchanged]],
        "{mpi}"
    );
    let broadcast = 4 * (201..=204).sum::<u64>();
    assert_eq!(of("MPI_Bcast"), [[4, 7, 128, 255, 16, broadcast]], "{mpi}");
    // Communicators of one rank are duplicated, those of four are split.
    assert_eq!(of("MPI_Comm_dup"), [[1, 1, 0, 0, 16, 0]], "{mpi}: {shown}");
}

fn shown(scratch: &Scratch, table: &str) -> Value {
    let shown = scratch.mastermind(&["profile", "records", table, "--json"]);
    serde_json::from_str(&shown.well()).expect("JSON")
}

fn matrix(scratch: &Scratch, mpi: &str) {
    let shown = shown(scratch, "--matrix");
    let cells = shown["cells"].as_array().expect("cells");
    let cell = |from: u32, to: u32| {
        let found = cells
            .iter()
            .find(|cell| cell["from"] == from && cell["to"] == to);
        found.map(|cell| (cell["messages"].as_u64(), cell["bytes"].as_u64()))
    };
    let odd = 101 + 103 + 105 + 107;
    let even = 102 + 104 + 106 + 108;
    let known = |messages, bytes| Some((Some(messages), Some(bytes)));
    assert_eq!(cell(0, 1), known(4, odd), "{mpi}");
    assert_eq!(cell(0, 2), known(4 + 3, even + 48), "{mpi}");
    assert_eq!(cell(0, 3), known(1, 41), "{mpi}");
    // Of persistent requests too, whose sends one call starts together.
    assert_eq!(cell(3, 1), known(4 + 2, even + 140), "{mpi}");
    assert_eq!(cell(3, 0), known(2, 120), "{mpi}");
    assert_eq!(cell(1, 0), known(4, odd), "{mpi}");
    assert_eq!(cell(2, 1), None, "{mpi}");
    scratch
        .mastermind(&["plot", "records", "--kind", "matrix", "-o", "matrix.svg"])
        .well();
    let picture = fs::read_to_string(scratch.path("matrix.svg")).expect("a picture");
    assert!(
        picture.contains("sender") && picture.contains("receiver"),
        "{picture}"
    );
}
