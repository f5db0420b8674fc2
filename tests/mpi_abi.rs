//! The standard ABI of MPI 5.0: a program over it is recorded as it is under every other MPI; calls of an MPI with an ABI that is not known
//! are counted, and the MPI is named.

use std::path::{Path, PathBuf};
use std::process::Command;

use mastermind_tests::{
    Scratch, bin_dir, compile_mpi, ended, mpi_fixture, mpirun, mpis_with, output,
};
use serde_json::Value;

/// Compiles `handles.c` over an MPI of one process.
///
/// # Arguments
/// * `library` - file name of that MPI
/// * `version` - of the standard ABI; `None` for none
fn compile(library: &str, version: Option<u32>, folder: &Path) -> PathBuf {
    let header = format!("-I{}", mpi_fixture("abi").display());
    let (library, program) = (folder.join(library), folder.join("handles"));
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", &header, "-o"]).arg(&library);
    if let Some(version) = version {
        cc.arg(format!("-DABI_VERSION={version}"));
    }
    output(cc.arg(mpi_fixture("abi").join("library.c")));
    let mut cc = Command::new("cc");
    cc.args([&header, "-o"]).arg(&program);
    output(cc.arg(mpi_fixture("handles.c")).arg(&library));
    program
}

/// Runs a program under `wrap`; the result must be the same as alone.
///
/// # Returns
/// The warnings of `wrap`, and the output of `profile --mpi`.
fn recorded(scratch: &Scratch, before: Option<Command>, program: &Path) -> (String, Value) {
    let words = [
        "wrap",
        "--call-sites",
        "--overwrite",
        "--records",
        "records",
        "--",
    ];
    let mastermind = bin_dir().join("mastermind");
    let mut command = match before {
        Some(mut launcher) => {
            launcher.arg(mastermind);
            launcher
        }
        None => Command::new(mastermind),
    };
    command
        .current_dir(scratch.path(""))
        .args(words)
        .arg(program);
    let ended = ended(&mut command);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let complaints = text(&ended.stderr);
    assert_eq!(ended.status.code(), Some(0), "{complaints}");
    assert_eq!(text(&ended.stdout), "0 0 2 6\n", "{complaints}");
    let shown = scratch
        .mastermind(&["profile", "--mpi", "--json", "records"])
        .well();
    (
        complaints,
        serde_json::from_str(&shown).expect("a document"),
    )
}

/// Name, calls, messages and bytes of each function.
fn functions(shown: &Value) -> Vec<(String, u64, u64, u64)> {
    let rows = shown["functions"].as_array().expect("rows").iter();
    let number = |value: &Value| value.as_u64().unwrap_or(0);
    let mut rows: Vec<_> = rows
        .map(|row| {
            let (name, sizes) = (row["name"].as_str().expect("a name"), &row["sizes"]);
            let (messages, bytes) = (number(&sizes["messages"]), number(&sizes["bytes"]));
            (name.to_owned(), number(&row["calls"]), messages, bytes)
        })
        .collect();
    rows.sort();
    rows
}

fn expected() -> Vec<(String, u64, u64, u64)> {
    let row =
        |(name, calls, messages, bytes): (&str, _, _, _)| (name.to_owned(), calls, messages, bytes);
    let rows = [
        ("MPI_Allreduce", 1, 1, 24),
        ("MPI_Bcast", 1, 1, 24),
        ("MPI_Comm_dup", 1, 0, 0),
        ("MPI_Comm_free", 1, 0, 0),
        ("MPI_Finalize", 1, 0, 0),
        ("MPI_Init", 1, 0, 0),
        ("MPI_Irecv", 4, 4, 3 * 240 + 32),
        ("MPI_Isend", 4, 4, 3 * 60 + 9),
        // From no process nothing is received.
        ("MPI_Recv", 2, 1, 9),
        ("MPI_Send", 2, 1, 20),
        ("MPI_Type_commit", 1, 0, 0),
        ("MPI_Type_contiguous", 1, 0, 0),
        ("MPI_Type_free", 1, 0, 0),
        ("MPI_Wait", 2, 2, 9 + 20),
        ("MPI_Waitall", 3, 3, 2 * 180),
    ];
    rows.map(row).into()
}

#[test]
fn the_standard_abi_is_read_as_every_other() {
    for mpi in mpis_with("mpicc") {
        let scratch = Scratch::new();
        let program = compile_mpi(mpi, "handles.c", &[], &[], &scratch.path(""));
        let launcher = mpirun(mpi, 1, &scratch.path(""));
        let (_, shown) = recorded(&scratch, Some(launcher), &program);
        assert_eq!(functions(&shown), expected(), "{mpi}");
    }
    // By the version that the library reports, or by its name.
    for (library, version) in [("libmpi.so.1", Some(1)), ("libmpi_abi.so.1", None)] {
        let scratch = Scratch::new();
        let program = compile(library, version, &scratch.path(""));
        let (_, shown) = recorded(&scratch, None, &program);
        assert_eq!(functions(&shown), expected(), "{library}");
    }
}

#[test]
fn calls_of_an_unknown_abi_are_counted_and_its_mpi_is_named() {
    for (version, name) in [
        (None, "One-process MPI 1.0"),
        (Some(7), "version 7 of the standard ABI"),
    ] {
        let scratch = Scratch::new();
        let program = compile("libmpi.so.1", version, &scratch.path(""));
        let (complaints, shown) = recorded(&scratch, None, &program);
        let expected = expected().into_iter();
        let without_bytes: Vec<_> = expected
            .map(|(name, calls, ..)| (name, calls, 0, 0))
            .collect();
        assert_eq!(functions(&shown), without_bytes);
        assert_eq!(complaints.matches(name).count(), 1, "{complaints}");
    }
}
