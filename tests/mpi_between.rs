//! A library of MPI functions between the program and MPI, linked or preloaded. The program runs through it as it does
//! alone, under each MPI of this machine. Calls that the library makes are not counted as the program's.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::slice;

use mastermind_tests::{Scratch, bin_dir, compile_mpi, mpi_fixture, mpirun, mpis_with, output};
use serde_json::Value;

/// Builds the library.
///
/// # Arguments
/// * `is_by_name` - whether it asks the dynamic linker for the next definitions (`RTLD_NEXT`), and takes no profiling names
fn library(mpi: &str, is_by_name: bool, folder: &Path) -> PathBuf {
    let library = folder.join(format!("libbetween_{is_by_name}.so"));
    let mut cc = Command::new(format!("mpicc.{mpi}"));
    cc.args(["-shared", "-fPIC", "-o"]).arg(&library);
    cc.arg(mpi_fixture("between.c"));
    if is_by_name {
        cc.arg("-DBY_NAME");
    }
    output(cc.arg("-ldl"));
    library
}

/// The lines of four ranks, in order.
fn lines(mpi: &str, before: &[&str], program: &Path, folder: &Path) -> Vec<String> {
    let text = output(mpirun(mpi, 4, folder).args(before).arg(program));
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

/// Calls of each function of MPI, summed over the ranks.
fn calls(scratch: &Scratch, records: &str) -> BTreeMap<String, u64> {
    let profile = shown(scratch, &["profile", "--mpi", "--json", records]);
    let rows = profile["functions"].as_array().expect("rows");
    let call = |row: &Value| {
        let name = row["name"].as_str().expect("a name");
        (name.to_owned(), row["calls"].as_u64().expect("calls"))
    };
    rows.iter().map(call).collect()
}

fn shown(scratch: &Scratch, arguments: &[&str]) -> Value {
    let ended = scratch.mastermind(arguments);
    serde_json::from_str(&ended.well()).expect("a document")
}

#[test]
fn a_program_runs_through_a_library_before_mpi() {
    let expected = [
        ("MPI_Barrier", 4),
        ("MPI_Comm_dup", 4),
        ("MPI_Comm_free", 4),
        ("MPI_Finalize", 4),
        ("MPI_Init", 4),
        ("MPI_Isend", 40),
        ("MPI_Recv", 42),
        ("MPI_Send", 2),
        ("MPI_Wait", 40),
    ];
    let expected = BTreeMap::from(expected.map(|(name, calls)| (name.to_owned(), calls)));
    for mpi in mpis_with("mpicc") {
        for (is_by_name, is_linked) in [(false, true), (false, false), (true, true), (true, false)]
        {
            let way = format!("by name: {is_by_name}, linked: {is_linked}");
            let scratch = Scratch::new();
            let folder = scratch.path("");
            let library = library(mpi, is_by_name, &folder);
            let linked: &[PathBuf] = if is_linked {
                slice::from_ref(&library)
            } else {
                &[]
            };
            let program = compile_mpi(mpi, "ring.c", &[], linked, &folder);
            let preload = format!("LD_PRELOAD={}", library.display());
            let before: &[&str] = if is_linked { &[] } else { &["env", &preload] };
            let alone = lines(mpi, before, &program, &folder);
            assert!(alone[3].starts_with("rank 1 of 2"), "{mpi}: {alone:?}");
            let mastermind = bin_dir().join("mastermind").display().to_string();
            for events in [&[][..], &["--mpi-events"]] {
                let records = scratch.text(&format!("records{}", events.len()));
                let mut words = before.to_vec();
                words.extend([&*mastermind, "wrap"]);
                words.extend(events);
                words.extend(["--records", &*records, "--"]);
                let context = format!("{mpi}, {way}, {events:?}");
                assert_eq!(lines(mpi, &words, &program, &folder), alone, "{context}");
                assert_eq!(calls(&scratch, &records), expected, "{context}");
            }
            let matrix = shown(&scratch, &["profile", "--matrix", "--json", "records1"]);
            let cell = |cell: &Value| {
                ["from", "to", "messages", "bytes"].map(|of| cell[of].as_u64().expect("a number"))
            };
            let cells: Vec<_> = matrix["cells"]
                .as_array()
                .expect("cells")
                .iter()
                .map(cell)
                .collect();
            // The ranks are those of MPI, not those that the library shows to the program.
            let expected = [
                [0, 1, 11, 120],
                [1, 0, 10, 80],
                [2, 3, 11, 120],
                [3, 2, 10, 80],
            ];
            assert_eq!(cells, expected, "{mpi}, {way}");
        }
    }
}
