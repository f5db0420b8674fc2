//! Calls without a record: the run's results are the same, the totals cover all calls, and every verb that reads
//! records reports the share that is unknown.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use mastermind_tests::{Scratch, bin_dir, is_of_waiting, skip};
use serde_json::Value;

/// The obstacle to a run's records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Obstacle {
    Nothing,
    /// The limit that the user sets.
    Limit,
    /// A file system in memory, of 300 KiB.
    FullDisk,
    /// Files may not grow beyond 600 blocks of 512 bytes; a process that writes more gets a signal.
    FileSize,
    /// No more than 16 files may be open.
    OpenFiles,
}

impl Obstacle {
    /// The obstacles that cost records, and the reason as the verbs word it.
    const LOSING: [(Obstacle, &str); 3] = [
        (Obstacle::Limit, "the limit of the records is reached"),
        (Obstacle::FullDisk, "No space left on device"),
        (Obstacle::FileSize, "File too large"),
    ];

    /// The shell script that runs the program, whose command line is its arguments; `$0` is the record directory.
    fn script(self) -> &'static str {
        match self {
            Obstacle::Nothing | Obstacle::Limit => "exec \"$@\"",
            Obstacle::FullDisk => {
                "mkdir \"$0\" && mount -t tmpfs -o size=300k none \"$0\" && \"$@\" && cp -r \"$0\" copy && \
                 umount \"$0\" && rmdir \"$0\" && mv copy \"$0\""
            }
            Obstacle::FileSize => "ulimit -f 600; exec \"$@\"",
            Obstacle::OpenFiles => "ulimit -n 16; exec \"$@\"",
        }
    }

    /// Whether this machine permits it; notes it as skipped if not.
    fn is_there(self) -> bool {
        let allowed = ["-Urm", "sh", "-c", "mount -t tmpfs none /tmp"];
        let is_there = self != Obstacle::FullDisk
            || Command::new("unshare")
                .args(allowed)
                .status()
                .is_ok_and(|status| status.success());
        if !is_there {
            skip("unshare", "no file system of its own for a process");
        }
        is_there
    }
}

/// Runs the case study with its results in a file.
///
/// # Returns
/// Its output.
fn run(scratch: &Scratch, assembly: &Path, records: &str, obstacle: Obstacle) -> String {
    let mut command = Command::new("unshare");
    if obstacle == Obstacle::FullDisk {
        // A user and mounts of its own.
        command.args(["-Urm", "sh"]);
    } else {
        command = Command::new("sh");
    }
    command.args(["-c", obstacle.script(), records]);
    command
        .arg(bin_dir().join("mastermind"))
        .arg("run")
        .arg(assembly);
    let result = format!("statistics.csv={records}.csv");
    command.args(["--set", &result, "--records", records]);
    if obstacle == Obstacle::Limit {
        command.args(["--records-limit", "64K"]);
    }
    scratch.run(&mut command).well()
}

/// The output of a run without the lines about times and records.
fn results(printed: &str) -> Vec<&str> {
    let is_result = |line: &&str| !line.starts_with("rank 0: ") && !line.contains(": done on ");
    printed.lines().filter(is_result).collect()
}

fn profile(scratch: &Scratch, records: &str) -> Value {
    let text = scratch.mastermind(&["profile", records, "--json"]).well();
    serde_json::from_str(&text).expect("JSON")
}

/// Calls by method.
fn calls(profile: &Value) -> BTreeMap<String, u64> {
    let rows = profile["rows"].as_array().expect("rows");
    let row = |row: &Value| {
        let name = row["name"].as_str().expect("a name").to_owned();
        (name, row["calls"].as_f64().expect("calls") as u64)
    };
    rows.iter().map(row).collect()
}

fn sums(profile: &Value) -> (f64, f64) {
    let rows = profile["rows"].as_array().expect("rows");
    let number = |row: &Value, field: &str| row[field].as_f64().expect("a number");
    let own = rows.iter().map(|row| number(row, "exclusive_ns")).sum();
    let longest = rows.iter().map(|row| number(row, "inclusive_ns"));
    (own, longest.fold(0.0, f64::max))
}

#[test]
fn totals_go_on_when_records_stop() {
    let scratch = Scratch::new();
    let edit = ("cfl = 0.4", "cfl = 0.4\nmax_steps = 40");
    let assembly = scratch.example("shock/shock.toml", &[], &[edit]);
    let printed = run(&scratch, &assembly, "whole", Obstacle::Nothing);
    let (result, whole) = (scratch.read("whole.csv"), profile(&scratch, "whole"));
    assert_eq!(whole["lost_records"], 0);
    let obstacles = Obstacle::LOSING.map(|(obstacle, _)| obstacle).into_iter();
    for obstacle in obstacles.chain([Obstacle::OpenFiles]) {
        if !obstacle.is_there() {
            continue;
        }
        let records = &format!("{obstacle:?}");
        let under = run(&scratch, &assembly, records, obstacle);
        assert_eq!(results(&under), results(&printed), "{records}");
        assert!(
            scratch.read(&format!("{records}.csv")) == result,
            "{records}: results"
        );
        let found = profile(&scratch, records);
        assert_eq!(calls(&found), calls(&whole), "{records}");
        let (own, longest) = sums(&found);
        assert!(
            (own / longest - 1.0).abs() < 1e-3,
            "{records}: {own} of {longest} ns"
        );
        let lost = found["lost_records"].as_u64().expect("a number");
        let is_losing = obstacle != Obstacle::OpenFiles;
        assert_eq!(lost > 0, is_losing, "{records}: {lost} lost");
        let summary = scratch.mastermind(&["profile", records, "--summary", "--json"]);
        let summary: Value = serde_json::from_str(&summary.well()).expect("JSON");
        assert_eq!(calls(&summary), calls(&whole), "{records}");
    }
}

#[test]
fn every_verb_says_what_it_does_not_know() {
    let scratch = Scratch::new();
    let fewer = ("cfl = 0.4", "cfl = 0.4\nmax_steps = 40");
    let no_choice = [
        "flux = [\"hydro.GodunovFlux\", \"hydro.EfmFlux\", \"hydro.EfmFluxC\"]",
        "states = [\"hydro.StatesConstructor\", \"hydro.MinmodStates\"]",
    ];
    let edits = [fewer, (no_choice[0], ""), (no_choice[1], "")];
    let assembly = scratch.example("shock/shock.toml", &[], &edits);
    run(&scratch, &assembly, "whole", Obstacle::Nothing);
    scratch
        .mastermind(&["fit", "whole", "-o", "models.json"])
        .well();
    let (of_whole, silent) = choose(&scratch, &assembly, "whole");
    let silent: Vec<_> = silent.lines().filter(|line| !is_of_waiting(line)).collect();
    assert!(silent.is_empty(), "{silent:?}");
    for (obstacle, reason) in Obstacle::LOSING {
        if !obstacle.is_there() {
            continue;
        }
        let part = &format!("{obstacle:?}");
        let warnings = run(&scratch, &assembly, part, obstacle);
        assert!(warnings.contains(reason), "{warnings}");
        let (of_part, said) = choose(&scratch, &assembly, part);
        let without = &format!("have no record: {reason}");
        assert!(said.contains(without), "{said}");
        // The same calls, predicted at the mean of their size class.
        assert!(
            (of_part / of_whole - 1.0).abs() < 0.1,
            "{of_part} s of {of_whole} s"
        );
        check_verbs(&scratch, part, without);
    }
}

/// The time that `choose` predicts for the unchanged assembly, in seconds, and its warnings.
fn choose(scratch: &Scratch, assembly: &Path, records: &str) -> (f64, String) {
    let options = ["--models", "models.json", "--records", records, "--json"];
    let ended = scratch.verb("choose", assembly, &options);
    let said = ended.stderr.clone();
    let choice: Value = serde_json::from_str(&ended.well()).expect("JSON");
    (choice["current_s"].as_f64().expect("seconds"), said)
}

/// Every verb that reads incomplete records reports that.
fn check_verbs(scratch: &Scratch, part: &str, without: &str) {
    for arguments in [
        &["profile", part][..],
        &["compare", "whole", part],
        &["export", part, "--format", "csv", "-o", "csv"],
        &[
            "export",
            part,
            "--format",
            "perfetto",
            "-o",
            "trace.json",
            "--force",
        ],
        &["export", part, "--format", "extrap", "-o", "extrap"],
        &["plot", part, "--kind", "graph", "--force"],
        &[
            "plot",
            part,
            "--kind",
            "mean",
            "--method",
            "flux.compute",
            "--force",
        ],
        &["fit", part],
    ] {
        let ended = scratch.mastermind(arguments);
        let said = ended.stderr.clone();
        assert!(said.contains(without), "{arguments:?}: {ended:?}");
        let output = ended.well();
        if arguments[0] == "compare" {
            assert!(output.contains("cannot tell: "), "{output}");
        }
    }
    for left in ["csv", "extrap"] {
        fs::remove_dir_all(scratch.path(left)).expect("a folder");
    }
}
