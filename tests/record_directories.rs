//! Where records go: they never overwrite others, and a run is never split.

use std::fs;
use std::path::PathBuf;

use mastermind_records::{Calibration, ChunkPreparer, ChunkSizes, LogIdentity, LogWriter};
use mastermind_tests::{Scratch, assert_golden, mpis};

fn sod(scratch: &Scratch) -> PathBuf {
    scratch.example(
        "sod/sod.toml",
        &[],
        &[("cfl = 0.4", "cfl = 0.4\nmax_steps = 3")],
    )
}

/// The files of a folder with their contents.
fn contents(scratch: &Scratch, folder: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = fs::read_dir(scratch.path(folder)).expect("a folder");
    let mut files: Vec<_> = entries
        .map(|entry| entry.expect("an entry").path())
        .map(|path| (path.clone(), fs::read(path).expect("a file")))
        .collect();
    files.sort();
    files
}

#[test]
fn records_are_not_written_over_others() {
    let scratch = Scratch::new();
    let assembly = sod(&scratch);
    let into = ["--records", "records"];
    scratch.verb("run", &assembly, &into).well();
    let before = contents(&scratch, "records");
    assert!(!before.is_empty());
    let mut errors = scratch.verb("run", &assembly, &into).error();
    errors += &scratch
        .verb("run", &assembly, &[&into[..], &["--ranks", "2"]].concat())
        .error();
    // A mistake in the rest of the line is found before anything is deleted.
    let wrong = ["--overwrite", "--monitor", "flux.flow"];
    errors += &scratch
        .verb("run", &assembly, &[&into[..], &wrong].concat())
        .error();
    assert_golden("records-kept", &errors);
    assert!(contents(&scratch, "records") == before, "records lost");
    scratch
        .verb("run", &assembly, &[&into[..], &["--overwrite"]].concat())
        .well();
    assert!(contents(&scratch, "records") != before, "old records");
}

/// How many calls a damaged log lacks is not known, which each count of lost calls says.
#[test]
fn a_damaged_log_may_hide_calls() {
    let scratch = Scratch::new();
    scratch
        .verb("run", &sod(&scratch), &["--records", "records"])
        .well();
    let shown = |verb: &[&str]| scratch.mastermind(&[verb, &["records"]].concat()).well();
    assert!(shown(&["profile"]).contains(" records, 0 lost\n"));
    let log = scratch.path("records/rank0000-thread00.mmr");
    let mut bytes = fs::read(&log).expect("a log");
    // The last records.
    let place = bytes.len() - 8000;
    bytes[place..place + 100].fill(0xff);
    fs::write(&log, bytes).expect("a damaged log");
    for verb in [&["profile"][..], &["profile", "--tree"], &["info"]] {
        let text = shown(verb);
        assert!(
            text.contains(" lost and an unknown number in 1 damaged log"),
            "{text}"
        );
    }
    for verb in [&["profile", "--json"][..], &["info", "--json"]] {
        let text = shown(verb);
        assert!(text.contains("\"damaged_logs\": 1"), "{text}");
    }
}

#[test]
fn a_directory_with_other_files_is_fine() {
    let scratch = Scratch::new();
    fs::create_dir(scratch.path("records")).expect("a folder");
    scratch.write("records/notes.txt", "mine");
    scratch
        .verb("run", &sod(&scratch), &["--records", "records"])
        .well();
    assert_eq!(scratch.read("records/notes.txt"), "mine");
}

/// A failing measurement never ends the program that it measures: the run ends as usual, and reports that nothing is
/// recorded.
#[test]
fn where_no_records_can_be_written_the_run_goes_on() {
    let scratch = Scratch::new();
    let assembly = sod(&scratch);
    scratch.write("file", "mine");
    let mut warnings = String::new();
    for directory in ["file", "file/records", "/proc/records", "/dev/null/records"] {
        let ended = scratch.verb("run", &assembly, &["--records", directory]);
        warnings += &ended.stderr;
        let said = ended.well();
        assert!(said.contains("done on 1 rank"), "{said}");
    }
    assert_golden("records-unwritable", &warnings);
    assert_eq!(scratch.read("file"), "mine");
    for mpi in mpis() {
        let arguments = [
            "--ranks",
            "2",
            "--mpi",
            mpi.kind.name(),
            "--records",
            "file",
        ];
        let ended = scratch.verb("run", &assembly, &arguments);
        let n_warnings = ended.stderr.matches("nothing is recorded").count();
        assert_eq!(n_warnings, 1, "{ended:?}");
        let said = ended.well();
        assert!(said.contains("done on 2 ranks"), "{said}");
    }
}

/// The logs of a program that still records are not removed under it.
#[test]
fn a_live_run_is_not_overwritten() {
    let scratch = Scratch::new();
    let assembly = sod(&scratch);
    fs::create_dir(scratch.path("records")).expect("a folder");
    let preparer = ChunkPreparer::start(None).expect("a thread").into();
    let identity = LogIdentity { rank: 0, thread: 0 };
    let (start, sizes) = (Calibration::default(), ChunkSizes::default());
    let log = LogWriter::create(&scratch.path("records"), identity, start, sizes, &preparer);
    let log = log.expect("a log");
    let arguments = ["--records", "records", "--overwrite"];
    let error = scratch.verb("run", &assembly, &arguments).error();
    assert!(
        error.contains("a program still writes 1 of the logs there"),
        "{error}"
    );
    assert!(log.path().exists());
    drop(log);
    scratch.verb("run", &assembly, &arguments).well();
}

#[test]
fn what_is_monitored_must_be_there() {
    let scratch = Scratch::new();
    let assembly = sod(&scratch);
    let mut errors = String::new();
    for spec in [
        "flux.flow",
        "flux",
        "hydro.Flow",
        "flux.flux,nobody.x,rhs.y",
    ] {
        let arguments = ["--records", "records", "--monitor", spec];
        errors += &scratch.verb("run", &assembly, &arguments).error();
        assert!(!scratch.path("records").exists());
    }
    assert_golden("records-monitor", &errors);
}

#[test]
fn records_kept_on_the_node_are_gathered_at_the_end() {
    let scratch = Scratch::new();
    let assembly = sod(&scratch);
    let calls = |records: &str| {
        let profile = scratch.mastermind(&["profile", records, "--json"]).well();
        let profile: serde_json::Value = serde_json::from_str(&profile).expect("JSON");
        profile["records"].as_u64().expect("a number")
    };
    let gathered = |records: &str, ranks: &[&str]| {
        let into = ["--records", records, "--records-local", "node"];
        scratch
            .verb("run", &assembly, &[&into[..], ranks].concat())
            .well();
        scratch
            .mastermind(&["profile", records, "--summary"])
            .well();
        assert_eq!(contents(&scratch, "node"), []);
        calls(records)
    };
    scratch
        .verb("run", &assembly, &["--records", "direct"])
        .well();
    assert_eq!(gathered("alone", &[]), calls("direct"));
    for mpi in mpis() {
        let name = mpi.kind.name();
        let n_records = gathered(name, &["--ranks", "2", "--mpi", name]);
        assert!(n_records > 0);
        let logs = contents(&scratch, name);
        let logs = logs
            .iter()
            .filter(|(path, _)| path.extension().is_some_and(|e| e == "mmr"));
        assert_eq!(logs.count(), 2, "{name}");
    }
}
