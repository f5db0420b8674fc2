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
fn nothing_is_overwritten_unasked_and_wrong_use_is_told() {
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
fn data_that_cannot_be_fitted_are_told_by_line() {
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
        let told = of(rows);
        assert!(told.contains(part), "{told}\nlacks {part}");
    }
}

#[test]
fn parameters_of_another_machine_are_fitted_or_set() {
    let scratch = Scratch::new();
    let other = example("evh1-other-machine.csv");
    let of = |options: &[&str]| {
        let document = correct(
            &scratch,
            &[&["--case", "4", "--platform", &other], options].concat(),
        );
        document["platform"][0].clone()
    };
    let (fitted, set) = (of(&[]), of(&["--set", "g=7e-8,i=4e-5,j=4e-8"]));
    for (name, value) in [("g", 7e-8), ("i", 4e-5), ("j", 4e-8)] {
        assert_eq!(set["parameters"][name].as_f64(), Some(value), "{set}");
        assert_ne!(fitted["parameters"][name].as_f64(), Some(value), "{fitted}");
    }
    // What does not belong to the machine is that of the first one in both.
    assert_eq!(set["parameters"]["h"], fitted["parameters"]["h"]);
    assert!(fitted["rrmse_test"].as_f64() < Some(0.2), "{fitted}");
    let (specification, data) = (example("evh1.toml"), example("evh1.csv"));
    let wrong = |options: &[&str]| {
        let arguments = [
            &["correct", &specification, &data, "--case", "4"][..],
            &SMALL,
            options,
        ]
        .concat();
        scratch.mastermind(&arguments).stderr
    };
    for (options, part) in [
        (
            &["--platform", &other, "--set", "q=1"][..],
            "no such unknown, expected one of g, h, i, j",
        ),
        (&["--platform", &other, "--set", "g"], "expected NAME=VALUE"),
        (&["--set", "g=1"], "--platform"),
        (&["--platform", "none.csv"], "cannot read \"none.csv\""),
        (&["--good-enough", "-1"], "expected a number of at least 0"),
    ] {
        let told = wrong(options);
        assert!(told.contains(part), "{told}\nlacks {part}");
    }
}

/// Times of a method over its parameter `Q`, with a contention above 2000 that `a + b*Q` lacks.
fn table_of_a_method(q: &str) -> String {
    let mut text = format!("{q},t,train\n");
    for i in 1..=24 {
        let x = f64::from(400 * i);
        let noise = 1.0 + 0.01 * f64::from(i * 7 % 5 - 2);
        let time = (2e-5 + 4e-8 * x + 3e-10 * (x - 2000.0).max(0.0).powf(1.6)) * noise;
        text += &format!("{x},{time:e},{}\n", i % 2);
    }
    text
}

#[test]
fn an_assembly_is_chosen_with_a_corrected_model() {
    let scratch = Scratch::new();
    let edits = [
        (
            "\"hydro.GodunovFlux\", \"hydro.EfmFlux\", \"hydro.EfmFluxC\"",
            "\"hydro.GodunovFlux\", \"hydro.EfmFlux\"",
        ),
        ("end_time = 0.85", "end_time = 0.02"),
    ];
    let assembly = scratch.example("shock/shock.toml", &[], &edits);
    let run = [
        "--run",
        "--records",
        "planned",
        "--repeat",
        "1",
        "--set",
        "mesh.nx=32",
    ];
    scratch.verb("plan", &assembly, &run).well();
    let mut fit = vec!["fit", "-o", "models.json"];
    let folders: Vec<String> = (1..=4).map(|run| format!("planned/run{run}-1")).collect();
    fit.extend(
        folders
            .iter()
            .filter(|folder| scratch.path(folder).exists())
            .map(String::as_str),
    );
    scratch.mastermind(&fit).well();
    let mut models: Value = serde_json::from_str(&scratch.read("models.json")).expect("JSON");
    let all = models["models"].as_array_mut().expect("models");
    let is_flux = |model: &Value| {
        let method = model["method"].as_str().expect("a name");
        method.starts_with("hydro.GodunovFlux::") && model["metric"] == "wall"
    };
    let place = all.iter().position(is_flux).expect("a model of the flux");
    let method = all[place]["method"].as_str().expect("a name").to_owned();
    let (mode, q) = (
        all[place]["mode"].clone(),
        all[place]["params"][0]
            .as_str()
            .expect("a parameter")
            .to_owned(),
    );
    scratch.write("flux.csv", table_of_a_method(&q));
    let specification = format!(
        "name = \"flux\"\nmethod = \"{method}\"\nobservation = \"t\"\ninputs = [\"{q}\"]\nformula = \"a + b*{q}\"\n\
         [unknowns]\na = {{ lower = 1e-7, upper = 1e-3 }}\nb = {{ lower = 1e-10, upper = 1e-5 }}\n"
    );
    scratch.write("flux.toml", specification);
    let correct = [
        &[
            "correct",
            "flux.toml",
            "flux.csv",
            "--case",
            "4",
            "-o",
            "corrected.json",
            "--json",
        ][..],
        &SMALL,
    ]
    .concat();
    let document: Value = serde_json::from_str(&scratch.mastermind(&correct).well()).expect("JSON");
    assert_eq!(document["trials"][0]["accepted"], true, "{document}");
    let corrected: Value = serde_json::from_str(&scratch.read("corrected.json")).expect("JSON");
    let choose = || {
        let options = [
            "--models",
            "models.json",
            "--records",
            "planned/run1-1",
            "--json",
        ];
        let text = scratch.verb("choose", &assembly, &options).well();
        serde_json::from_str::<Value>(&text).expect("JSON")
    };
    let before = choose();
    // The corrected model in place of all of that method, whatever their modes.
    all.retain(|model| model["method"] != method.as_str());
    all.push(corrected["models"][0].clone());
    scratch.write("models.json", models.to_string());
    let after = choose();
    assert_eq!(
        before["best"].as_object().map(|b| b.len()),
        after["best"].as_object().map(|b| b.len())
    );
    let seconds = |document: &Value| document["predicted_s"].as_f64().expect("seconds");
    assert!(
        seconds(&after) > 0.0 && seconds(&after).is_finite(),
        "{after}"
    );
    let at = format!("{q}=6000");
    let predict = |models: &str| -> Value {
        let text = scratch
            .mastermind(&[
                "predict", models, "--method", &method, "--at", &at, "--json",
            ])
            .well();
        serde_json::from_str(&text).expect("JSON")
    };
    let value = predict("models.json")["value_s"].as_f64().expect("seconds");
    let truth = 2e-5 + 4e-8 * 6000.0 + 3e-10 * 4000f64.powf(1.6);
    assert!((value / truth - 1.0).abs() < 0.05, "{value} {truth} {mode}");
}
