//! The call tree, folded stacks, and the profile of a run in progress: their times agree with the profile.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use mastermind_tests::{Scratch, bin_dir};
use serde_json::Value;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Records of a short run of Sod's shock tube.
fn recorded() -> Scratch {
    let scratch = Scratch::new();
    let assembly = scratch.example("sod/sod.toml", &[], &[]);
    let steps = ["--records", "records", "--set", "driver.max_steps=10"];
    scratch.verb("run", &assembly, &steps).well();
    scratch
}

/// Exclusive nanoseconds by name, of rows of a profile or nodes of a tree.
fn exclusive(rows: &Value) -> BTreeMap<String, f64> {
    let mut sums = BTreeMap::new();
    for row in rows.as_array().expect("rows") {
        let name = row["name"].as_str().expect("a name");
        let ns = row["exclusive_ns"].as_f64().expect("a time");
        *sums.entry(name.to_owned()).or_default() += ns;
    }
    sums
}

#[test]
fn the_tree_and_the_folded_stacks_have_the_times_of_the_profile() {
    let scratch = recorded();
    let profile = json(&scratch.mastermind(&["profile", "records", "--json"]).well());
    let tree = json(
        &scratch
            .mastermind(&["profile", "records", "--tree", "--json"])
            .well(),
    );
    let by_method = exclusive(&profile["rows"]);
    assert!(by_method.len() > 5, "{by_method:?}");
    assert_eq!(exclusive(&tree["nodes"]), by_method);
    let root = &tree["nodes"][0];
    let total: f64 = by_method.values().sum();
    assert_eq!(root["name"], "driver.go");
    assert_eq!(root["inclusive_ns"].as_f64(), Some(total));
    scratch
        .mastermind(&["export", "records", "-o", "stacks.folded"])
        .well();
    let mut by_stack = BTreeMap::new();
    for line in scratch.read("stacks.folded").lines() {
        let (path, ns) = line.rsplit_once(' ').expect("a path and a number");
        let ns: u64 = ns.parse().expect("whole nanoseconds");
        let name = path.rsplit(';').next().expect("a name");
        assert!(path.starts_with("driver.go"), "{path}");
        *by_stack.entry(name.to_owned()).or_default() += ns as f64;
    }
    assert_eq!(by_stack, by_method);
    let document = scratch.mastermind(&["export", "records", "--format", "folded", "-o", "-"]);
    assert_eq!(document.well(), scratch.read("stacks.folded"));
}

#[test]
fn a_run_is_followed_to_its_end() {
    let scratch = recorded();
    // A run that has ended is shown once.
    let once = scratch.mastermind(&["profile", "records", "--json"]).well();
    let followed = scratch.mastermind(&["profile", "records", "--follow", "--json"]);
    assert_eq!(json(&followed.well()), json(&once));
    // A log that is locked, as its program does while it writes, is followed until it is unlocked.
    let logs = std::fs::read_dir(scratch.path("records")).expect("a folder");
    let mut logs = logs.map(|log| log.expect("a log").path());
    let is_log = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "mmr");
    let log = File::open(logs.find(is_log).expect("a log")).expect("a log");
    log.lock().expect("a lock");
    let mut follow = Command::new(bin_dir().join("mastermind"));
    follow
        .args([
            "profile", "records", "--follow", "--every", "0.05", "--json",
        ])
        .current_dir(scratch.path(""))
        .stdout(Stdio::piped());
    let mut follow = follow.spawn().expect("a reader");
    let output = follow.stdout.take().expect("its output");
    let mut documents = serde_json::Deserializer::from_reader(output).into_iter::<Value>();
    let first = documents.next().expect("a document").expect("JSON");
    assert_eq!(first, json(&once));
    assert!(follow.try_wait().expect("a state").is_none(), "it ended");
    log.unlock().expect("no lock");
    let last = documents.last().expect("another document").expect("JSON");
    assert_eq!(last, first);
    assert!(follow.wait().expect("an end").success());
    for options in [
        &["--follow", "--summary"][..],
        &["--every", "1"],
        &["--follow", "--every", "0"],
        &["--tree", "--mpi"],
    ] {
        let words = [&["profile", "records"], options].concat();
        assert_eq!(scratch.mastermind(&words).code, Some(2), "{options:?}");
    }
}
