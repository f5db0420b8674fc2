//! The proxy of MPI in C and Fortran programs under each MPI of this machine, and in a recorded run of the case study.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use mastermind_tests::{
    back_end_library, bin_dir, compile_mpi, mpi_fixture, mpirun, mpis_with, output, root,
};

/// Compiles a program of the fixtures with the report.
fn compile(mpi: &str, source: &str, options: &[&str], folder: &Path) -> PathBuf {
    let report = folder.join("report.o");
    let mut cc = Command::new("cc");
    output(
        cc.args(["-c", "-o"])
            .arg(&report)
            .arg(mpi_fixture("report.c")),
    );
    compile_mpi(mpi, source, options, &[report], folder)
}

/// Runs a program on two ranks with the proxy preloaded.
fn run(mpi: &str, program: &Path) -> String {
    let preload = format!("LD_PRELOAD={}", bin_dir().join("libproxy_mpi.so").display());
    let mut command = mpirun(mpi, 2, program.parent().expect("a folder"));
    output(command.args(["env", &preload]).arg(program))
}

/// Parses the lines `WHO NAME CALLS TIME` of both ranks: calls and time by name.
fn parsed<'a>(text: &'a str, who: &str) -> BTreeMap<&'a str, Vec<(u64, f64)>> {
    let mut parsed: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for line in text.lines() {
        let words: Vec<_> = line.split_whitespace().collect();
        if let [first, name, calls, time] = words[..]
            && first == who
        {
            let value = (calls.parse().expect("calls"), time.parse().expect("time"));
            parsed.entry(name).or_default().push(value);
        }
    }
    parsed
}

/// Checks that both ranks report these numbers of calls, and no others except those that start and end MPI.
fn assert_calls(text: &str, expected: &[(&str, u64)]) {
    let of_name = parsed(text, "proxy");
    for (name, calls) in expected {
        let found: Vec<_> = of_name[name].iter().map(|(calls, _)| *calls).collect();
        assert_eq!(found, [*calls; 2], "{name}\n{text}");
        assert!(
            of_name[name].iter().all(|(_, ticks)| *ticks > 0.0),
            "{name}"
        );
    }
    let known = |name: &&&str| expected.iter().any(|(other, _)| other == *name);
    let others: Vec<_> = of_name.keys().filter(|name| !known(name)).collect();
    assert!(
        others
            .iter()
            .all(|name| name.starts_with("MPI_Init") || **name == "MPI_Finalize"),
        "{text}"
    );
}

#[test]
fn calls_in_c_are_counted_once_from_every_thread() {
    for mpi in mpis_with("mpicc") {
        let folder = tempfile::tempdir().expect("a folder");
        let program = compile(mpi, "calls.c", &[], folder.path());
        let text = run(mpi, &program);
        let expected = [
            ("MPI_Barrier", 10),
            ("MPI_Allreduce", 7),
            ("MPI_Sendrecv", 5),
            ("MPI_Comm_dup", 1),
        ];
        assert_calls(&text, &expected);
    }
}

#[test]
fn calls_in_fortran_are_counted_once_by_every_interface() {
    for mpi in mpis_with("mpif90") {
        for interface in [&[][..], &["-DMPIF"], &["-DF08"]] {
            let folder = tempfile::tempdir().expect("a folder");
            let program = compile(mpi, "calls.F90", interface, folder.path());
            let text = run(mpi, &program);
            let expected = [
                ("MPI_Barrier", 10),
                ("MPI_Allreduce", 7),
                ("MPI_Sendrecv", 5),
                ("MPI_Comm_set_name", 1),
                ("MPI_Comm_dup", 1),
            ];
            assert_calls(&text, &expected);
        }
    }
}

/// Without an MPI library a wrapper that is called says so; loading it does no harm.
#[test]
fn a_program_without_mpi_is_left_alone() {
    let mut command = Command::new("sh");
    command.args(["-c", "exit 0"]);
    command.env("LD_PRELOAD", bin_dir().join("libproxy_mpi.so"));
    output(&mut command);
}

/// The shock example with its libraries where these tests find them.
fn shock(folder: &Path) -> String {
    let text = fs::read_to_string(root().join("examples/shock/shock.toml")).expect("the example");
    let text = text.replace("../../target/release", &bin_dir().display().to_string());
    let path = folder.join("shock.toml");
    fs::write(&path, text).expect("a file");
    path.display().to_string()
}

fn mastermind(arguments: &[&str]) -> String {
    let mut command = Command::new(bin_dir().join("mastermind"));
    output(command.current_dir(root()).args(arguments))
}

/// The lines of all CSV files of a record directory, header first, cells apart.
fn csv_tables(records: &str, out: &Path) -> Vec<Vec<Vec<String>>> {
    mastermind(&[
        "export",
        records,
        "--format",
        "csv",
        "-o",
        out.to_str().expect("UTF-8"),
    ]);
    let mut tables = Vec::new();
    for entry in fs::read_dir(out).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|extension| extension != "csv") {
            continue;
        }
        let text = fs::read_to_string(path).expect("a table");
        let cells = |line: &str| line.split(',').map(str::to_owned).collect();
        tables.push(text.lines().map(cells).collect());
    }
    tables
}

/// Wall ≥ MPI ≥ 0 and compute = wall − MPI in every record.
///
/// # Returns
/// The sum of MPI times over all records.
fn check_mpi_of_records(records: &str, out: &Path) -> u64 {
    let mut sum = 0;
    for table in csv_tables(records, out) {
        assert_eq!(table[0][2..5], ["wall_ns", "mpi_ns", "compute_ns"]);
        for row in &table[1..] {
            let [wall, mpi, compute] =
                [2, 3, 4].map(|column: usize| row[column].parse::<u64>().expect("a time"));
            assert_eq!(wall, mpi + compute, "{row:?}");
            sum += mpi;
        }
    }
    sum
}

#[test]
fn mpi_time_of_components_is_in_their_records() {
    for mpi in mpis_with("mpirun") {
        if back_end_library(mpi).is_none() {
            continue;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let records = folder.path().join("records");
        let records = records.to_str().expect("UTF-8");
        let run = [
            "run",
            &shock(folder.path()),
            "--mpi",
            mpi,
            "--ranks",
            "3",
            "--set",
            "driver.max_steps=3",
            "--records",
            records,
        ];
        mastermind(&run);
        assert!(check_mpi_of_records(records, &folder.path().join("csv")) > 0);
        let profile: serde_json::Value =
            serde_json::from_str(&mastermind(&["profile", records, "--json"])).expect("JSON");
        let rows = profile["rows"].as_array().expect("rows");
        let calls = |name: &str| {
            let row = rows.iter().find(|row| row["name"] == name);
            row.unwrap_or_else(|| panic!("{name} in {rows:#?}"))["calls"].as_f64()
        };
        assert_eq!(calls("MPI_Init_thread()"), Some(1.0));
        assert_eq!(calls("MPI_Finalize()"), Some(1.0));
        assert!(calls("MPI_Waitsome()") > Some(0.0));
    }
}

/// A run of one rank has no MPI: its time is 0, and known to be.
#[test]
fn without_mpi_its_time_is_unknown() {
    let folder = tempfile::tempdir().expect("a folder");
    let records = folder.path().join("records");
    let records = records.to_str().expect("UTF-8");
    let steps = "driver.max_steps=2";
    let assembly = shock(folder.path());
    let run = ["run", &assembly, "--set", steps];
    mastermind(&[&run[..], &["--records", records]].concat());
    let profile = mastermind(&["profile", records, "--json"]);
    let profile: serde_json::Value = serde_json::from_str(&profile).expect("JSON");
    let rows = profile["rows"].as_array().expect("rows");
    assert!(!rows.is_empty() && rows.iter().all(|row| row["mpi_ns"].is_null()));
}

/// Number of arguments of each MPI function that a header declares.
fn declared(header: &str) -> BTreeMap<String, usize> {
    let mut text = String::new();
    let mut rest = header;
    while let Some((code, comment)) = rest.split_once("/*") {
        text += code;
        rest = comment.split_once("*/").map_or("", |(_, after)| after);
    }
    text += rest;
    let code: Vec<_> = text
        .lines()
        .filter(|line| !line.trim_start().starts_with('#') && !line.trim_end().ends_with('\\'))
        .collect();
    let text = code.join(" ");
    let mut declared = BTreeMap::new();
    for (at, _) in text.match_indices("int MPI_") {
        let Some((name, arguments)) = text[at + 4..].split_once('(') else {
            continue;
        };
        let (mut depth, mut commas, mut end) = (1, 0, 0);
        for (place, c) in arguments.char_indices() {
            match c {
                '(' => depth += 1,
                ')' => depth -= 1,
                ',' if depth == 1 => commas += 1,
                _ => {}
            }
            if depth == 0 {
                end = place;
                break;
            }
        }
        let name = name.trim();
        if !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            // A field of that name.
            continue;
        }
        let none = matches!(arguments[..end].trim(), "" | "void");
        declared.insert(name.to_owned(), if none { 0 } else { commas + 1 });
    }
    declared
}

/// Declared functions that are not wrapped, as in the head of the table: queries, address arithmetic, and functions
/// with floating-point numbers or variable arguments; a predefined callback.
const LEFT_OUT: [&str; 21] = [
    "MPI_Address",
    "MPI_Aint_add",
    "MPI_Aint_diff",
    "MPI_Comm_rank",
    "MPI_Comm_remote_size",
    "MPI_Comm_size",
    "MPI_DUP_FN",
    "MPI_Finalized",
    "MPI_Get_address",
    "MPI_Get_library_version",
    "MPI_Get_processor_name",
    "MPI_Get_version",
    "MPI_Group_rank",
    "MPI_Group_size",
    "MPI_Initialized",
    "MPI_Is_thread_main",
    "MPI_Pcontrol",
    "MPI_Query_thread",
    "MPI_Status_c2f08",
    "MPI_Status_f082c",
    "MPI_Status_f2f08",
];

/// Whether a declared function is not to be in the table: in the list above, of the tools interface, or a conversion of handles.
fn is_left_out(name: &str) -> bool {
    LEFT_OUT.contains(&name)
        || name.starts_with("MPI_T_")
        || ["_c2f", "_f2c", "_f082f"]
            .iter()
            .any(|end| name.ends_with(end))
}

/// The table from which the wrappers are made has every function that this machine's headers declare, with the same
/// number of arguments.
#[test]
fn the_table_agrees_with_the_headers() {
    let table = fs::read_to_string(root().join("proxies/mpi/functions.txt")).expect("the table");
    let table: BTreeMap<&str, usize> = table
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| {
            let (name, numbers) = line.split_once(' ')?;
            Some((name, numbers.split_once(' ')?.0.parse().ok()?))
        })
        .collect();
    assert!(table.len() > 500);
    for mpi in mpis_with("mpicc") {
        let mut show = Command::new(format!("mpicc.{mpi}"));
        let option = if mpi == "openmpi" { "-showme" } else { "-show" };
        let words = output(show.arg(option));
        let folders = words
            .split_whitespace()
            .filter_map(|word| word.strip_prefix("-I"));
        let headers: String = folders
            .flat_map(|folder| {
                ["mpi.h", "mpi_proto.h", "mpio.h"].map(|name| Path::new(folder).join(name))
            })
            .filter_map(|path| fs::read_to_string(path).ok())
            .collect();
        let declared = declared(&headers);
        let missing: Vec<_> = declared
            .keys()
            .filter(|name| !table.contains_key(name.as_str()) && !is_left_out(name))
            .collect();
        assert!(
            missing.is_empty(),
            "{mpi} has functions that the table lacks: {missing:?}"
        );
        let both: Vec<_> = declared
            .iter()
            .filter_map(|(name, n)| Some((name, *n, *table.get(name.as_str())?)))
            .collect();
        assert!(both.len() > 300, "{mpi}: {}", both.len());
        for (name, in_header, in_table) in both {
            assert_eq!(in_header, in_table, "{name} of {mpi}");
        }
    }
}
