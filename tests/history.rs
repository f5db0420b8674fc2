//! Runs over time: which data of them are kept, what their check reports, and its exit code.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use mastermind_history::{Cell, RunSums, Store};
use mastermind_tests::{Scratch, mpis};
use serde_json::Value;

/// Times of three components in a run, nanoseconds a call.
type Times = [f64; 3];

const NAMES: [&str; 3] = ["flux.compute", "states.compute", "rk2.advance"];

/// Adds a run that started in that second.
fn add(store: &Path, second: u64, times: Times, calls: u64) {
    add_named(store, second, NAMES, times, calls);
}

fn add_named(store: &Path, second: u64, names: [&str; 3], times: Times, calls: u64) {
    let cell = |(name, ns): (&str, f64)| Cell {
        method: name.into(),
        class: "C".into(),
        parameters: "{\"n\":1000}".into(),
        bits: -1,
        means: "{\"n\":1000}".into(),
        calls,
        total_ns: ns * calls as f64,
        mean_log: ns.ln(),
        quantiles_ns: [ns; 5],
        ..Cell::default()
    };
    let mut run = RunSums {
        cells: names.into_iter().zip(times).map(cell).collect(),
        ..RunSums::default()
    };
    run.circumstances.program = "shock".into();
    run.circumstances.machine = "node".into();
    run.circumstances.started_unix_ns = second * 1_000_000_000;
    run.circumstances.commit = Some(format!("c{second}"));
    Store::new(store).add(&run).expect("added");
}

/// Off by less than a percent, another in each run.
fn noise(second: u64, component: u64) -> f64 {
    1.0 + 0.001 * ((second * 7 + component * 5 + second * second * 3) % 11) as f64
}

fn usual(second: u64) -> Times {
    [0, 1, 2].map(|component| 1e5 * noise(second, component))
}

/// On several ranks the first waits for the logs of the others. A failure to keep the run is a warning, and the run
/// succeeds.
#[test]
fn a_run_keeps_itself_at_its_end() {
    let scratch = Scratch::new();
    let assembly = scratch.example("sod/sod.toml", &[], &[]);
    let run = |records: &str, options: &[&str]| {
        let steps = [
            "--set",
            "driver.max_steps=3",
            "--records",
            records,
            "--history",
            "store",
        ];
        scratch.verb("run", &assembly, &[&steps, options].concat())
    };
    run("alone", &["--commit", "1a2b"]).well();
    let mut n_runs = 1;
    for mpi in mpis() {
        let name = mpi.kind.name();
        run(name, &["--ranks", "2", "--mpi", name]).well();
        n_runs += 1;
    }
    let list = scratch.mastermind(&["history", "list", "store", "--json"]);
    let list: Value = serde_json::from_str(&list.well()).expect("JSON");
    let runs = list["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), n_runs, "{list:#}");
    let is_whole = |run: &Value| run["circumstances"]["finished"] == true;
    assert!(runs.iter().all(is_whole), "{list:#}");
    let of_commit = |run: &&Value| run["circumstances"]["commit"] == "1a2b";
    assert_eq!(runs.iter().filter(of_commit).count(), 1);
    fs::remove_dir_all(scratch.path("store")).expect("the store");
    scratch.write("store", "no folder");
    let ended = run("other", &[]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("warning"), "{ended:?}");
    let without = scratch.verb("run", &assembly, &["--history", "store"]);
    assert_eq!(without.code, Some(2), "{without:?}");
}

#[test]
fn a_run_is_kept_with_its_circumstances_and_cells() {
    let scratch = Scratch::new();
    let assembly = scratch.example("sod/sod.toml", &[], &[]);
    let assembly = assembly.to_str().expect("a path");
    let run = [
        "run",
        assembly,
        "--set",
        "driver.max_steps=3",
        "--records",
        "r",
    ];
    scratch.mastermind(&run).well();
    let add = [
        "history",
        "add",
        "r",
        "--commit",
        "1a2b",
        "--machine",
        "ci/1",
    ];
    scratch.mastermind(&add).well();
    // The same run is there once.
    scratch.mastermind(&add).well();
    let list = scratch.mastermind(&["history", "list", "--json"]).well();
    let list: Value = serde_json::from_str(&list).expect("JSON");
    let runs = list["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), 1, "{list:#}");
    let circumstances = &runs[0]["circumstances"];
    assert_eq!(circumstances["program"], "sod");
    assert_eq!(circumstances["commit"], "1a2b");
    assert_eq!(
        circumstances["settings"]["driver.parameters.max_steps"],
        "3"
    );
    assert_eq!(circumstances["finished"], true);
    let machine = circumstances["machine"].as_str().expect("a machine");
    assert!(machine.starts_with("ci/1, "), "{machine}");
    let shown = scratch
        .mastermind(&["history", "show", "1a2b", "--json"])
        .well();
    let shown: Value = serde_json::from_str(&shown).expect("JSON");
    let cells = shown["cells"].as_array().expect("cells");
    let calls = |of: &Value| of["calls"].as_u64().expect("calls");
    // A caller's own time consists of its segments; a method that calls none has no segments.
    let of = |method: &str| {
        let mut cells = cells.iter();
        cells.find(|cell| cell["method"] == method).expect("a cell")
    };
    let advance = of("rk2.advance");
    let own = |place: usize| advance["segments_ns"][place].as_f64().expect("a time");
    let total = advance["total_ns"].as_f64().expect("a time");
    assert!(own(0) > 0.0 && own(0) <= own(1) && own(1) <= own(2));
    assert!(own(0) <= total / calls(advance) as f64, "{advance:#}");
    assert!(of("flux.compute")["segments_ns"][0].is_null());
    let profile = scratch.mastermind(&["profile", "r", "--json"]).well();
    let profile: Value = serde_json::from_str(&profile).expect("JSON");
    for row in profile["rows"].as_array().expect("rows") {
        let of = cells.iter().filter(|cell| cell["method"] == row["name"]);
        let n: u64 = of.map(calls).sum();
        let is_measurement = row["name"] == "(measurement)";
        assert!(
            is_measurement || Some(n as f64) == row["calls"].as_f64(),
            "{row:#}"
        );
    }
    scratch
        .mastermind(&["history", "export", "-o", "runs.csv"])
        .well();
    let table = fs::read_to_string(scratch.path("runs.csv")).expect("a table");
    assert_eq!(table.lines().count(), 1 + cells.len());
    let id = runs[0]["run"].as_str().expect("a name");
    scratch.mastermind(&["history", "drop", id]).well();
    let error = scratch.mastermind(&["history", "list"]).error();
    assert!(
        error.contains("no run in it, expected at least 1"),
        "{error}"
    );
}

#[test]
fn a_slower_component_ends_a_check_with_1_and_more_work_does_not() {
    let scratch = Scratch::new();
    let store = scratch.path("history");
    (1..=20).for_each(|second| add(&store, second, usual(second), 100));
    let check = ["history", "check", "--fail-above", "4%", "--json"];
    scratch.mastermind(&check).well();
    (21..=26).for_each(|second| add(&store, second, usual(second), 200));
    let more = scratch.mastermind(&check).well();
    let more: Value = serde_json::from_str(&more).expect("JSON");
    for component in more["programs"][0]["components"]
        .as_array()
        .expect("components")
    {
        assert_eq!(component["verdict"], "same", "{component:#}");
        assert!(
            component["calls_percent"].as_f64() > Some(99.0),
            "{component:#}"
        );
    }
    for second in 27..=31 {
        let [flux, states, rk2] = usual(second);
        add(&store, second, [flux, 1.06 * states, rk2], 200);
    }
    let slower = scratch.mastermind(&check);
    assert_eq!(slower.code, Some(1), "{slower:#?}");
    assert!(
        slower
            .stderr
            .contains("slower: states.compute of shock by "),
        "{slower:#?}"
    );
    let slower: Value = serde_json::from_str(&slower.stdout).expect("JSON");
    let first = &slower["programs"][0]["components"][0];
    assert_eq!(first["name"], "states.compute");
    assert_eq!(first["verdict"], "slower");
    assert_eq!(first["changes"][0]["commit"], "c27");
    let interval =
        ["lower_percent", "upper_percent"].map(|end| first[end].as_f64().expect("an end"));
    assert!(interval[0] < 6.0 && 6.0 < interval[1], "{interval:?}");
    // Compared with the present usual time, or with a limit above it, all is well.
    scratch
        .mastermind(&[&check[..], &["--since", "c31"]].concat())
        .well();
    scratch
        .mastermind(&["history", "check", "--fail-above", "10"])
        .well();
    let text = scratch
        .mastermind(&["history", "check", "--markdown"])
        .well();
    assert!(text.contains("| slower | +"), "{text}");
    let error = scratch
        .mastermind(&["history", "check", "--since", "beef"])
        .error();
    assert!(
        error.contains("cannot compare with \"beef\": no run of this name or commit"),
        "{error}"
    );
}

/// A slow-down that more runs do not show ends with 0; one that they show, and a command that adds no run, do not.
#[test]
fn a_slow_down_is_confirmed_by_more_runs() {
    let confirmed = |factor: f64, command: &str| {
        let scratch = Scratch::new();
        let slowed = |second: u64, factor: f64| {
            let [flux, states, rk2] = usual(second);
            [flux, factor * states, rk2]
        };
        let store = scratch.path("history");
        (1..=20).for_each(|second| add(&store, second, usual(second), 100));
        (21..=25).for_each(|second| add(&store, second, slowed(second, 1.06), 100));
        for second in 26..=31 {
            let next = scratch.path(&format!("next/{second}"));
            add(&next, second, slowed(second, factor), 100);
        }
        let check = ["history", "check", "--fail-above", "4%", "--json"];
        let confirm = ["--confirm", command, "--confirm-n", "6"];
        scratch.mastermind(&[&check[..], &confirm].concat())
    };
    let add_next = "d=$(ls next | head -n 1); cp -r next/$d/. history; rm -r next/$d";
    let held = confirmed(1.06, add_next);
    assert_eq!(held.code, Some(1), "{held:#?}");
    let other = confirmed(1.0, add_next);
    assert_eq!(other.code, Some(0), "{other:#?}");
    let document: Value = serde_json::from_str(&other.stdout).expect("JSON");
    assert_eq!(document["programs"][0]["runs"], 31);
    for (command, why) in [("true", "added no run"), ("exit 3", "expected success")] {
        let error = confirmed(1.0, command).error();
        assert!(error.contains(why), "{error}");
    }
}

/// A component whose instance was renamed keeps its history.
#[test]
fn a_renamed_component_keeps_its_history() {
    let scratch = Scratch::new();
    let store = scratch.path("history");
    (1..=20).for_each(|second| add(&store, second, usual(second), 100));
    for second in 21..=26 {
        let [flux, states, rk2] = usual(second);
        add_named(
            &store,
            second,
            ["riemann.solve", "states.compute", "rk2.advance"],
            [1.06 * flux, states, rk2],
            100,
        );
    }
    let check = ["history", "check", "--json", "--fail-above", "4%"];
    let unnamed = scratch.mastermind(&check).well();
    assert!(!unnamed.contains("\"slower\""), "{unnamed}");
    let renamed = ["--renamed", "flux.compute=riemann.solve"];
    let found = scratch.mastermind(&[&check[..], &renamed].concat());
    assert_eq!(found.code, Some(1), "{found:#?}");
    let document: Value = serde_json::from_str(&found.stdout).expect("JSON");
    let first = &document["programs"][0]["components"][0];
    assert_eq!(first["name"], "riemann.solve");
    assert_eq!(first["verdict"], "slower");
    for wrong in ["x=y", "states.compute=rk2.advance"] {
        let error = scratch
            .mastermind(&["history", "check", "--renamed", wrong])
            .error();
        assert!(error.contains("cannot rename"), "{error}");
    }
}

#[test]
fn a_store_that_is_damaged_or_read_only_says_so() {
    let scratch = Scratch::new();
    let store = scratch.path("history");
    let error = scratch.mastermind(&["history", "check"]).error();
    assert!(error.contains("cannot read history \"history\""), "{error}");
    (1..=3).for_each(|second| add(&store, second, usual(second), 10));
    let few = scratch.mastermind(&["history", "check"]).well();
    assert!(few.contains("3 runs, expected at least 8"), "{few}");
    let list = scratch.mastermind(&["history", "list", "--json"]).well();
    let list: Value = serde_json::from_str(&list).expect("JSON");
    let file = list["runs"][0]["file"].as_str().expect("a file");
    let file = scratch.path(file);
    let bytes = fs::read(&file).expect("a run");
    fs::write(&file, &bytes[..bytes.len() / 2]).expect("cut");
    let cut = scratch.mastermind(&["history", "list", "--json"]);
    assert!(cut.stderr.contains("warning: cannot read run"), "{cut:#?}");
    let list: Value = serde_json::from_str(&cut.well()).expect("JSON");
    assert_eq!(list["runs"].as_array().map(Vec::len), Some(2));
    let program = store.join("program=shock");
    fs::set_permissions(&program, Permissions::from_mode(0o555)).expect("read-only");
    if fs::create_dir(program.join("x")).is_err() {
        let mut run = RunSums::default();
        run.circumstances.program = "shock".into();
        run.circumstances.machine = "other".into();
        let error = Store::new(&store).add(&run).expect_err("read-only");
        assert!(
            error.to_string().starts_with("cannot write history"),
            "{error}"
        );
    }
    fs::set_permissions(&program, Permissions::from_mode(0o755)).expect("writable");
}
