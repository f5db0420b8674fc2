//! A disk that fills up while a run is recorded: the run goes on, its results are the same, and calls that could not be
//! recorded are counted.

use std::process::Command;

use mastermind_tests::{Scratch, bin_dir};
use serde_json::Value;

/// A limit of the size of a file takes the place of a full disk; blocks of 512 bytes.
const BLOCKS: u32 = 600;

#[test]
fn what_does_not_fit_is_counted() {
    let scratch = Scratch::new();
    let edit = ("cfl = 0.4", "cfl = 0.4\nmax_steps = 40");
    let assembly = scratch.example("shock/shock.toml", &[], &[edit]);
    let flow = ["--set", "statistics.csv=flow.csv"];
    let calls = |records: &str| -> (f64, f64) {
        let text = scratch.mastermind(&["profile", records, "--json"]).well();
        let profile: Value = serde_json::from_str(&text).expect("JSON");
        let number = |field: &str| profile[field].as_f64().expect("a number");
        (number("records"), number("lost_records"))
    };
    let arguments = [&flow[..], &["--records", "whole"]].concat();
    scratch.verb("run", &assembly, &arguments).well();
    let (expected, (whole, none)) = (scratch.read("flow.csv"), calls("whole"));
    assert_eq!(none, 0.0);

    std::fs::remove_file(scratch.path("flow.csv")).expect("a file");
    // A process that writes beyond the limit gets a signal that ends it. A recording must not cause that.
    let limited = format!("ulimit -f {BLOCKS}; exec \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &limited, "sh"]);
    command
        .arg(bin_dir().join("mastermind"))
        .arg("run")
        .arg(&assembly);
    command.args(flow).args(["--records", "cut"]);
    let output = scratch.run(&mut command).well();
    assert_eq!(scratch.read("flow.csv"), expected, "results have changed");
    let (cut, lost) = calls("cut");
    assert!(cut > 1000.0 && lost > 0.0, "{cut} records, {lost} lost");
    assert_eq!(cut + lost, whole);
    let lost = format!("{lost} dropped (File too large");
    assert!(output.contains(&lost), "{output}");
}
