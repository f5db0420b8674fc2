//! What `wrap` and `profile` report of calls of MPI that bypass the proxy, of ranks that are not wrapped, and of a run
//! that hangs; and bytes that are moved otherwise than by plain messages.

use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use mastermind_tests::{Scratch, bin_dir, compile_mpi, mpirun, mpis_with};
use serde_json::Value;

fn shown(scratch: &Scratch, arguments: &[&str]) -> Value {
    let arguments = [&["profile", "records", "--json"], arguments].concat();
    serde_json::from_str(&scratch.mastermind(&arguments).well()).expect("JSON")
}

fn wrap(command: &mut Command, options: &[&str]) {
    command.arg(bin_dir().join("mastermind")).arg("wrap");
    command.args(options).args(["--records", "records", "--"]);
}

#[test]
fn own_definitions_and_profiling_names_are_reported() {
    for mpi in mpis_with("mpicc") {
        for (options, name) in [(&[][..], "MPI_Send"), (&["-DPROFILING"], "PMPI_Send")] {
            let scratch = Scratch::new();
            let program = compile_mpi(mpi, "own_names.c", options, &[], &scratch.path(""));
            let mut command = mpirun(mpi, 1, &scratch.path(""));
            wrap(&mut command, &[]);
            let ended = scratch.run(command.arg(&program));
            assert!(ended.stderr.contains(name), "{mpi}: {ended:?}");
            ended.well();
            for arguments in [&[][..], &["--mpi"]] {
                let lines = &shown(&scratch, arguments)["unseen_calls"];
                let lines = lines
                    .as_array()
                    .unwrap_or_else(|| panic!("{mpi}, {name}, {arguments:?}"));
                assert_eq!(lines.len(), 1, "{mpi}: {lines:?}");
                let line = lines[0].as_str().expect("a line");
                assert!(line.contains(&format!(" {name} ")), "{mpi}: {line}");
            }
        }
        // Another program has nothing to say.
        let scratch = Scratch::new();
        let program = compile_mpi(mpi, "ring.c", &[], &[], &scratch.path(""));
        let mut command = mpirun(mpi, 2, &scratch.path(""));
        wrap(&mut command, &[]);
        scratch.run(command.arg(&program)).well();
        assert!(shown(&scratch, &[])["unseen_calls"].is_null(), "{mpi}");
    }
}

#[test]
fn ranks_of_other_programs_are_reported() {
    for mpi in mpis_with("mpicc") {
        let scratch = Scratch::new();
        let program = compile_mpi(mpi, "ring.c", &[], &[], &scratch.path(""));
        let mut command = mpirun(mpi, 1, &scratch.path(""));
        wrap(&mut command, &[]);
        command.arg(&program).args([":", "-n", "1"]).arg(&program);
        scratch.run(&mut command).well();
        let report = shown(&scratch, &["--mpi"]);
        assert_eq!(report["ranks_of_run"], 2, "{mpi}");
        assert_eq!(report["ranks"].as_array().map(Vec::len), Some(1), "{mpi}");
        let text = scratch.mastermind(&["profile", "records", "--mpi"]).well();
        assert!(text.contains("1 of 2 ranks"), "{mpi}: {text}");
    }
}

#[test]
fn a_run_that_hangs_shows_where() {
    for mpi in mpis_with("mpicc") {
        for options in [&[][..], &["--mpi-events"]] {
            let scratch = Scratch::new();
            let program = compile_mpi(mpi, "hang.c", &[], &[], &scratch.path(""));
            let mut command = mpirun(mpi, 2, &scratch.path(""));
            wrap(&mut command, options);
            command.arg(&program).current_dir(scratch.path(""));
            command.stdout(Stdio::null()).stderr(Stdio::null());
            let mut launcher = command.spawn().expect("a launcher");
            // Until both have come there.
            let found = (0..600).find_map(|_| {
                thread::sleep(Duration::from_millis(100));
                let ended = scratch.mastermind(&["profile", "records", "--mpi", "--json"]);
                let report: Value = serde_json::from_str(&ended.stdout).ok()?;
                let calls = report["calls_now"].as_array()?.clone();
                let are_there = calls
                    .iter()
                    .filter(|call| call["function"] == "MPI_Recv")
                    .count()
                    == 2;
                are_there.then_some(calls)
            });
            let _ = Command::new("kill").arg(launcher.id().to_string()).status();
            launcher.wait().expect("its end");
            let calls = found.unwrap_or_else(|| panic!("{mpi}, {options:?}: no calls"));
            let ranks: Vec<_> = calls.iter().map(|call| call["rank"].as_u64()).collect();
            assert_eq!(ranks, [Some(0), Some(1)], "{mpi}, {options:?}");
        }
    }
}

/// Bytes of a function, over the ranks.
fn bytes(report: &Value, name: &str) -> u64 {
    let mut rows = report["functions"].as_array().expect("rows").iter();
    let row = rows.find(|row| row["name"] == name);
    row.and_then(|row| row["sizes"]["bytes"].as_u64())
        .unwrap_or(0)
}

#[test]
fn bytes_that_are_no_plain_messages() {
    for mpi in mpis_with("mpicc") {
        let scratch = Scratch::new();
        let program = compile_mpi(mpi, "moved.c", &[], &[], &scratch.path(""));
        let mut command = mpirun(mpi, 2, &scratch.path(""));
        wrap(&mut command, &["--mpi-events"]);
        scratch.run(command.arg(&program)).well();
        let matrix = shown(&scratch, &["--matrix"]);
        let cell = |cell: &Value| ["from", "to", "messages", "bytes"].map(|of| cell[of].as_u64());
        let cells: Vec<_> = matrix["cells"]
            .as_array()
            .expect("cells")
            .iter()
            .map(cell)
            .collect();
        let report = shown(&scratch, &["--mpi"]);
        // Only one of the two has them.
        let has_parts = bytes(&report, "MPI_Start") > 0;
        let (parts, bytes_of_parts) = if has_parts { (1, 4 * 5 * 4) } else { (0, 0) };
        // Rank 0 writes 10, 3 and 4 numbers, and sends 7, in parts; rank 1 reads 5 reals from it, and reads and writes
        // 2, 1 and 1.
        let (there, back) = (28 + 40 + 12 + 16, 8 + 4 + 4);
        let there = [
            Some(0),
            Some(1),
            Some(8 + parts),
            Some(there + 40 + back + bytes_of_parts),
        ];
        let back = [Some(1), Some(0), Some(3), Some(back)];
        assert_eq!(cells, [there, back], "{mpi}");
        for (name, expected) in [
            ("MPI_Put", 40),
            ("MPI_Get", 40),
            ("MPI_Fetch_and_op", 4),
            ("MPI_Compare_and_swap", 4),
            ("MPI_Bcast", 2 * 24),
            ("MPI_Gather", 2 * 16),
            ("MPI_Scatterv", 2 * 24),
            ("MPI_Allgatherv", 2 * 24),
        ] {
            assert_eq!(bytes(&report, name), expected, "{mpi}: {name}");
        }
    }
}
