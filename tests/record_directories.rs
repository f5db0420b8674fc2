//! Where records go: never over others, and never half a run.

use std::fs;
use std::path::PathBuf;

use mastermind_tests::{Scratch, assert_golden};

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
    // What is wrong with the rest of the line is seen before anything is thrown away.
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

#[test]
fn a_directory_that_cannot_be() {
    let scratch = Scratch::new();
    let assembly = sod(&scratch);
    scratch.write("file", "mine");
    let mut errors = String::new();
    for directory in ["file", "file/records", "/proc/records", "/dev/null/records"] {
        errors += &scratch
            .verb("run", &assembly, &["--records", directory])
            .error();
    }
    assert_golden("records-unwritable", &errors);
    assert_eq!(scratch.read("file"), "mine");
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
