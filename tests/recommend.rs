//! `recommend`: each loss is named with its cause, an action is carried out and scored, and wrong use is an error.

use std::path::PathBuf;

use mastermind_tests::{Scratch, bin_dir, compile_mpi, mpirun, mpis_with, output};
use serde_json::Value;

/// The compiled program of seeded problems.
fn problems(mpi: &str, scratch: &Scratch) -> PathBuf {
    compile_mpi(mpi, "seeded_problems.c", &[], &[], &scratch.path(""))
}

/// Records the program on two ranks.
fn record(mpi: &str, scratch: &Scratch, options: &[&str], folder: &str, words: &[&str]) {
    let program = problems(mpi, scratch);
    let mut command = mpirun(mpi, 2, &scratch.path(""));
    command
        .arg(bin_dir().join("mastermind"))
        .arg("wrap")
        .args(options);
    command.arg("--records").arg(scratch.path(folder));
    output(command.arg("--").arg(program).args(words));
}

fn recommended(scratch: &Scratch, words: &[&str]) -> Value {
    let words = [&["recommend"], words, &["--top", "20", "--json"]].concat();
    let text = scratch.mastermind(&words).well();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The action with this `kind`.
fn of_kind<'v>(document: &'v Value, kind: &str) -> Option<&'v Value> {
    let all = document["recommendations"].as_array().expect("actions");
    all.iter().find(|one| one["kind"] == kind)
}

#[test]
fn each_loss_is_named_with_its_cause() {
    // Processor time, which other tests that run at the same time do not change.
    let options = ["--mpi-events", "--cpu"];
    let seeds = [
        ("uneven", "10000", "balance", "rank 0"),
        ("serial", "10000", "serial-part", "rank 0"),
        ("turns", "10000", "order", "wait"),
        ("small", "10", "messages", "messages"),
    ];
    for mpi in mpis_with("mpicc") {
        let scratch = Scratch::new();
        for (problem, work, kind, cause) in seeds {
            record(mpi, &scratch, &options, problem, &[problem, "10", work]);
            let document = recommended(&scratch, &[problem]);
            let found =
                of_kind(&document, kind).unwrap_or_else(|| panic!("{mpi}, {problem}: {document}"));
            let action = found["action"].as_str().expect("a sentence");
            assert!(action.contains(cause), "{mpi}, {problem}: {action}");
            let [low, high] = [0, 1].map(|end| found["saving"]["interval_s"][end].as_f64());
            assert!(low <= high && high > Some(0.0), "{mpi}, {problem}: {found}");
            let share = |factor: &str| document["efficiency"][factor].as_f64().expect("a share");
            let product = share("load_balance") * share("communication");
            assert!(
                (product - share("parallel")).abs() < 1e-9,
                "{mpi}, {problem}: {document}"
            );
            assert!(
                found["command"].is_null(),
                "nothing changes a program: {found}"
            );
        }
    }
}

#[test]
fn the_profile_has_the_efficiencies_that_sums_give() {
    for mpi in mpis_with("mpicc") {
        let scratch = Scratch::new();
        record(mpi, &scratch, &[], "records", &["uneven", "10", "10000"]);
        let profile = scratch.mastermind(&["profile", "records", "--mpi", "--json"]);
        let profile: Value = serde_json::from_str(&profile.well()).expect("a document");
        let share = |factor: &str| profile["efficiency"][factor].as_f64().expect("a share");
        let product = share("load_balance") * share("communication");
        assert!(
            (product - share("parallel")).abs() < 1e-9,
            "{mpi}: {profile}"
        );
        assert!(
            profile["efficiency"]["transfer"].is_null(),
            "{mpi}: no replay"
        );
    }
}

#[test]
fn a_setting_that_is_free_gets_the_value_of_least_time_and_is_scored() {
    for mpi in mpis_with("mpicc") {
        let scratch = Scratch::new();
        let block = |size: &'static str| ["block", "5", "100", size];
        record(mpi, &scratch, &[], "runs/a", &block("5"));
        record(mpi, &scratch, &[], "runs/b", &block("5"));
        record(mpi, &scratch, &[], "runs/c", &block("200"));
        record(mpi, &scratch, &[], "runs/d", &block("200"));
        let free = ["runs/a", "--runs", "runs", "--free", "arg:4"];
        let document = recommended(&scratch, &free);
        // 80 million additions a step against four.
        let found = of_kind(&document, "setting").unwrap_or_else(|| panic!("{mpi}: {document}"));
        assert_eq!(
            found["change"]["set"],
            serde_json::json!(["arg:4", 200.0]),
            "{found}"
        );
        assert_eq!(found["scores"], 0);
        let action = document["recommendations"].as_array().expect("actions");
        let number = 1 + action
            .iter()
            .position(|one| one["kind"] == "setting")
            .expect("it is there");
        let number = number.to_string();
        let after = [
            "--after",
            "runs/c",
            "--action",
            &number,
            "--history",
            "store",
        ];
        let scored = recommended(&scratch, &[&free[..], &after].concat());
        assert_eq!(scored["score"]["kind"], "setting", "{scored}");
        assert!(
            scored["score"]["measured_s"].as_f64() > Some(0.0),
            "{scored}"
        );
        // The next recommendation knows of it.
        let document = recommended(&scratch, &[&free[..], &["--history", "store"]].concat());
        assert_eq!(of_kind(&document, "setting").expect("still")["scores"], 1);
        // The runs differ in nothing but that.
        let none =
            scratch.mastermind(&["recommend", "runs/a", "--runs", "runs", "--free", "arg:2"]);
        assert!(
            none.error()
                .contains("all runs that differ in nothing else have the value 5")
        );
        let unknown = scratch.mastermind(&["recommend", "runs/a", "--runs", "runs", "--free", "b"]);
        assert!(
            unknown
                .error()
                .contains("no such setting in the run, expected one of arg:1, ")
        );
    }
}

#[test]
fn the_best_assembly_is_that_of_choose() {
    let scratch = Scratch::new();
    let assembly = scratch.example(
        "shock/shock.toml",
        &[],
        &[("end_time = 0.85", "end_time = 0.02")],
    );
    let plan = [
        "--run",
        "--records",
        "planned",
        "--repeat",
        "2",
        "--set",
        "mesh.nx=48",
    ];
    scratch.verb("plan", &assembly, &plan).well();
    let folders: Vec<String> = (1..=6)
        .flat_map(|run| (1..=2).map(move |n| format!("planned/run{run}-{n}")))
        .collect();
    let folders: Vec<&str> = folders.iter().map(String::as_str).collect();
    scratch
        .mastermind(&[&["fit"], &folders[..], &["-o", "models.json"]].concat())
        .well();
    // Of each run whose classes are not the best ones a change to these is recommended, unless it saves less than a hundredth.
    for records in &folders[..6] {
        let words = [
            "--records",
            records,
            "--models",
            "models.json",
            "--runs",
            "planned",
            "--json",
        ];
        let document = scratch.verb("recommend", &assembly, &words).well();
        let document: Value = serde_json::from_str(&document).expect("a document");
        let chosen = scratch.verb("choose", &assembly, &words).well();
        let chosen: Value = serde_json::from_str(&chosen).expect("a document");
        let Some(found) = of_kind(&document, "implementation") else {
            continue;
        };
        for change in found["change"]["replace"].as_array().expect("changes") {
            let instance = change[0].as_str().expect("an instance");
            assert_eq!(chosen["best"][instance], change[1], "{found}");
        }
        let number = |value: &Value| value.as_f64().expect("a number");
        let saved_s = number(&chosen["current_s"]) - number(&chosen["predicted_s"]);
        let against = number(&chosen["against_current"]["difference"]);
        assert!(
            (against - saved_s).abs() < 1e-6 * saved_s.abs().max(1e-3),
            "{chosen}"
        );
        let command = found["command"].as_str().expect("a command");
        assert!(command.contains(" --replace "), "{command}");
        assert!(!command.contains("--records"), "{command}");
    }
}

#[test]
fn what_goes_wrong_is_said() {
    let scratch = Scratch::new();
    let assembly = scratch.example(
        "shock/shock.toml",
        &[],
        &[("end_time = 0.85", "end_time = 0.01")],
    );
    let alone = scratch.verb("recommend", &assembly, &[]);
    assert_eq!(alone.code, Some(2), "{alone:?}");
    assert!(
        alone
            .stderr
            .contains("expected --records with those of one"),
        "{alone:?}"
    );
    let without = scratch.verb("recommend", &assembly, &["--records", "records"]);
    assert_eq!(without.code, Some(2), "{without:?}");
    let none = scratch.mastermind(&["recommend", "nowhere"]);
    assert!(
        none.error()
            .contains("no such file or folder, expected a record directory or an assembly file")
    );
    scratch
        .verb("run", &assembly, &["--records", "records"])
        .well();
    let beyond = scratch.mastermind(&["recommend", "records", "--run", "--action", "99"]);
    assert!(beyond.error().contains("--action 99, expected one of the "));
    std::fs::create_dir_all(scratch.path("store/recommendations")).expect("a folder");
    scratch.write("store/recommendations/bad.json", "{");
    // One that cannot be read is a warning, and the others count.
    let ended = scratch.mastermind(&["recommend", "records", "--history", "store", "--json"]);
    let document: Value = serde_json::from_str(&ended.well()).expect("a document");
    assert!(document["elapsed_s"].as_f64() > Some(0.0));
}
