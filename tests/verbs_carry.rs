//! `mastermind carry`: models of one machine converted for another.

use std::fmt::Write as _;

use mastermind_tests::{Scratch, root};
use serde_json::Value;

/// Methods that are measured at six sizes here, each a line in `n`.
const METHODS: [&str; 6] = ["one", "two", "three", "four", "five", "six"];

/// Calls of some methods at some sizes, their times by a factor of each.
fn table(methods: &[&str], sizes: &[u32], factor: impl Fn(&str) -> f64) -> String {
    let mut table = String::from("kernel,n,seconds\n");
    for method in methods {
        for n in sizes {
            let seconds = (1e-6 + 2e-9 * f64::from(*n)) * factor(method);
            let _ = writeln!(table, "{method},{n},{seconds}");
        }
    }
    table
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Models of all methods, and the two machine files of the guide.
fn fitted() -> Scratch {
    let scratch = Scratch::new();
    let sizes = [1000, 2000, 4000, 8000, 16_000, 32_000];
    scratch.write("here.csv", table(&METHODS, &sizes, |_| 1.0));
    for file in ["here.toml", "there.toml"] {
        let text = std::fs::read(root().join("examples/carry").join(file)).expect("a machine");
        scratch.write(file, text);
    }
    scratch
        .mastermind(&["fit", "here.csv", "-o", "models.json"])
        .well();
    scratch
}

const CARRY: [&str; 8] = [
    "carry",
    "models.json",
    "--from",
    "here.toml",
    "--to",
    "there.toml",
    "-o",
    "there.json",
];

fn carry(options: &[&str]) -> Vec<&'static str> {
    let options = options.iter().map(|word| &*String::from(*word).leak());
    CARRY.into_iter().chain(options).collect()
}

#[test]
fn calls_there_say_the_factors() {
    let scratch = fitted();
    let factor = |method: &str| if method == "five" { 4.0 } else { 1.2 };
    scratch.write("there.csv", table(&METHODS[..5], &[8000], factor));
    let options = carry(&["--measured", "there.csv", "--json"]);
    let shown = json(&scratch.mastermind(&options).well());
    assert_eq!(
        (&shown["n_measured"], &shown["n_far"]),
        (&5.into(), &1.into())
    );
    for row in shown["models"].as_array().expect("models") {
        let method = row["method"].as_str().expect("a name");
        let expected = match method {
            "five" => "own-calls",
            "six" => "other-methods",
            _ => "common-factor",
        };
        assert_eq!(row["known_by"], expected, "{row}");
        let off = row["factor"].as_f64().expect("a factor") / factor(method) - 1.0;
        assert!(off.abs() < 0.02, "{row}");
    }
    // A file of models like any other, with where it is from.
    let predict = |models: &str, method: &str| {
        let at = [
            "predict", models, "--method", method, "--at", "n=5000", "--json",
        ];
        scratch.mastermind(&at)
    };
    let there = predict("there.json", "five");
    assert!(there.stderr.contains("there.toml"), "{there:?}");
    let (there, here) = (json(&there.stdout), predict("models.json", "five"));
    assert_eq!(here.stderr, "");
    let here = json(&here.stdout);
    let number = |of: &Value, key: &str| of[key].as_f64().expect("a number");
    let ratio = number(&there, "value_s") / number(&here, "value_s");
    assert!((ratio / 4.0 - 1.0).abs() < 0.01, "{ratio}");
    assert_eq!(there["carried"]["known_by"], "own-calls");
    let wide = |of: &Value| number(of, "upper_s") / number(of, "lower_s");
    assert!(wide(&there) > 1.5 && wide(&here) < 1.1, "{there} {here}");
    let figure = [
        "plot",
        "--kind",
        "mean",
        "here.csv",
        "--models",
        "there.json",
    ];
    let figure = [&figure[..], &["--method", "five", "-o", "five.svg"]].concat();
    let figure = scratch.mastermind(&figure);
    assert!(figure.stderr.contains("there.toml"), "{figure:?}");
}

#[test]
fn without_calls_the_processors_say_the_factor() {
    let scratch = fitted();
    let shown = json(&scratch.mastermind(&carry(&["--json"])).well());
    // Three times 1.5, but for the larger two of four loads.
    let expected = 1.5_f64.powf((1.0 + 1.0 + 0.5) / 3.0);
    let found = shown["processors"]["factor"].as_f64().expect("a factor");
    assert!((found / expected - 1.0).abs() < 0.01, "{found} {expected}");
    for row in shown["models"].as_array().expect("models") {
        assert_eq!(row["known_by"], "processors");
        assert!(row["deviation"].as_f64().expect("one") > 0.319);
    }
}

#[test]
fn what_cannot_be_carried_is_an_error() {
    let scratch = fitted();
    let error = |arguments: &[&str]| scratch.mastermind(arguments).error();
    scratch.write("other.csv", table(&["seven"], &[8000], |_| 1.0));
    let found = error(&carry(&["--measured", "other.csv"]));
    assert!(found.contains("seven"), "{found}");
    assert!(!scratch.path("there.json").exists());
    scratch.write("network.toml", "[nodes]\nprocessors = 2\n");
    let mut options = carry(&[]);
    options[5] = "network.toml";
    let found = error(&options);
    assert!(found.contains("[processor]"), "{found}");
    let text = scratch
        .read("there.toml")
        .replace("unstable = false", "unstable = true");
    scratch.write("busy.toml", text);
    options[5] = "busy.toml";
    error(&options);
    scratch.mastermind(&CARRY).well();
    // It is there now, and is not carried on.
    error(&CARRY);
    let found = error(&[
        "carry",
        "there.json",
        "--from",
        "here.toml",
        "--to",
        "there.toml",
        "-o",
        "x.json",
    ]);
    assert!(found.contains("already"), "{found}");
    let counts = scratch.read("models.json").replace("\"wall\"", "\"mpi\"");
    scratch.write("models.json", counts);
    error(&carry(&["--force"]));
}
