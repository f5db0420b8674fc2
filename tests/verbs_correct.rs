//! `mastermind correct`: the contract's JSON, models that `predict` takes, another machine, figures, and wrong input.

use std::fs;

use mastermind_tests::{Scratch, root};
use serde_json::Value;

/// The example by its name, as text.
fn example(file: &str) -> String {
    root()
        .join("examples/semi-empirical")
        .join(file)
        .display()
        .to_string()
}

/// A search that is small, for time.
const SMALL: [&str; 6] = [
    "--trials",
    "2",
    "--population",
    "400",
    "--generations",
    "30",
];

fn correct(scratch: &Scratch, options: &[&str]) -> Value {
    let (specification, data) = (example("evh1.toml"), example("evh1.csv"));
    let arguments = [
        &["correct", &specification, &data][..],
        &SMALL,
        options,
        &["--json"],
    ]
    .concat();
    let text = scratch.mastermind(&arguments).well();
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn the_document_has_what_the_contract_says() {
    let scratch = Scratch::new();
    let (models, figures) = (scratch.text("models.json"), scratch.text("figures"));
    let other = example("evh1-other-machine.csv");
    let document = correct(
        &scratch,
        &["-o", &models, "--plot", &figures, "--platform", &other],
    );
    for base in ["base", "base_relative"] {
        let base = &document[base];
        for name in ["g", "h", "i", "j"] {
            let parameter = &base["parameters"][name];
            assert!(parameter["value"].is_f64(), "{base}");
            for key in ["std_error", "at_bound"] {
                assert!(parameter.get(key).is_some(), "{base}");
            }
        }
        for key in ["rmse_train", "rmse_test", "rrmse_test"] {
            assert!(base[key].is_f64(), "{base}");
        }
    }
    let trials = document["trials"].as_array().expect("trials");
    assert_eq!(trials.len(), 8);
    for trial in trials {
        assert!(
            trial["expression"]
                .as_str()
                .expect("a formula")
                .contains("t_comm"),
            "{trial}"
        );
        assert!(trial["case"].is_u64() && trial["seed"].is_u64() && trial["accepted"].is_boolean());
        assert!(
            trial["rmse_test"].is_f64() && trial["rrmse_test"].is_f64(),
            "{trial}"
        );
    }
    let summary = document["summary"].as_array().expect("a summary");
    assert_eq!(summary.len(), 4);
    for case in summary {
        for key in [
            "better_percent",
            "median_reduction_percent",
            "best_reduction_percent",
        ] {
            assert!(case[key].is_f64(), "{case}");
        }
    }
    assert!(
        document["platform"]
            .as_array()
            .is_some_and(|p| !p.is_empty())
    );
    let at = ["--at", "nx=1024,np=128,T=1", "--json"];
    let predict = [
        &["predict", &models, "--method", "EVH1 communication time"][..],
        &at,
    ]
    .concat();
    let predicted: Value =
        serde_json::from_str(&scratch.mastermind(&predict).well()).expect("JSON");
    let value = predicted["value_s"].as_f64().expect("a time");
    assert!(
        value > 0.0 && predicted["upper_s"].as_f64().is_some_and(|u| u > value),
        "{predicted}"
    );
    for figure in ["fit.svg", "prediction.svg", "frequency.svg"] {
        let text = fs::read_to_string(scratch.path("figures").join(figure)).expect("a figure");
        assert!(text.contains("<svg") && text.contains("EVH1"), "{figure}");
    }
}

#[test]
fn the_same_seed_gives_the_same_document() {
    let scratch = Scratch::new();
    let options = ["--case", "3", "--seed", "11"];
    let first = correct(&scratch, &options);
    assert_eq!(first, correct(&scratch, &options));
    assert_eq!(first["trials"].as_array().map(Vec::len), Some(2));
}

#[test]
fn nothing_is_overwritten_unasked_and_wrong_use_is_an_error() {
    let scratch = Scratch::new();
    let (specification, data) = (example("evh1.toml"), example("evh1.csv"));
    let models = scratch.path("models.json");
    fs::write(&models, "mine").expect("a file");
    let models_text = models.display().to_string();
    let refused = scratch.mastermind(&["correct", &specification, &data, "-o", &models_text]);
    assert_eq!(refused.code, Some(1));
    assert!(
        refused.stderr.contains("it exists, expected a new file"),
        "{}",
        refused.stderr
    );
    assert_eq!(fs::read_to_string(&models).expect("a file"), "mine");
    let wrong = scratch.mastermind(&["correct", &specification, &data, "--case", "5"]);
    assert_eq!(wrong.code, Some(2));
    assert!(
        wrong.stderr.contains("expected 1, 2, 3 or 4"),
        "{}",
        wrong.stderr
    );
}

#[test]
fn data_that_cannot_be_fitted_are_errors_with_their_line() {
    let scratch = Scratch::new();
    let specification = example("evh1.toml");
    let of = |rows: &str| {
        let data = scratch.path("data.csv");
        fs::write(&data, format!("nx,np,T,t_observed,train\n{rows}")).expect("a file");
        let data = data.display().to_string();
        let ended = scratch.mastermind(&["correct", &specification, &data]);
        assert_eq!(ended.code, Some(1), "{}", ended.stderr);
        ended.stderr
    };
    let good = "256,4,1,1,1\n256,16,1,2,1\n512,4,1,3,1\n512,16,1,5,1\n";
    let (zero, domain) = (
        format!("{good}512,16,1,0,1\n"),
        format!("{good}512,0,1,3,1\n"),
    );
    for (rows, part) in [
        ("256,4,1,x,1\n", "\"x\" in column \"t_observed\" of line 2"),
        (
            "256,4,1,1,1\n",
            "1 points to train with, expected at least 4",
        ),
        (zero.as_str(), "an observation of 0 in line 6"),
        (
            domain.as_str(),
            "no finite value at nx = 512, np = 0, T = 1",
        ),
    ] {
        let error = of(rows);
        assert!(error.contains(part), "{error}\nlacks {part}");
    }
}
