//! Odd files of measurements: each gives a sensible model or one clear error, never a crash.

use std::fs;
use std::path::Path;

use mastermind_tests::Scratch;

/// `expected.tsv` has a line for each file: its name, `model` or `error`, and a part of the output of `fit`.
#[test]
fn odd_files_give_a_model_or_one_clear_error() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/odd");
    let expected = fs::read_to_string(folder.join("expected.tsv")).expect("the list");
    let mut names: Vec<String> = fs::read_dir(&folder)
        .expect("the corpus")
        .map(|entry| {
            entry
                .expect("a file")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .filter(|name| name != "expected.tsv")
        .collect();
    names.sort();
    let listed: Vec<&str> = expected
        .lines()
        .map(|line| line.split('\t').next().expect("a name"))
        .collect();
    assert!(names.len() >= 60, "{} files", names.len());
    assert_eq!(names, listed);
    let scratch = Scratch::new();
    let mut wrong = Vec::new();
    for line in expected.lines() {
        let parts: Vec<&str> = line.split('\t').collect();
        let [name, kind, says] = parts[..] else {
            panic!("{line}");
        };
        let file = folder.join(name).display().to_string();
        let ended = scratch.mastermind(&["fit", &file]);
        let output = match kind {
            "model" => ended.well(),
            _ => {
                let error = ended.error();
                assert_eq!(error.matches("error: ").count(), 1, "{name}: {error}");
                error
            }
        };
        if !output.contains(says) {
            wrong.push(format!("{name}: {output}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The readings of a 1 ns clock for a hundred short calls of a hundred sizes, with a method that is too short for it.
#[test]
fn one_call_preempted_among_sizes_measured_once_does_not_decide() {
    let scratch = Scratch::new();
    let (mut spiky, mut zero) = (String::from("q,seconds\n"), String::from("q,seconds\n"));
    for q in 0..100_u64 {
        let ns = match q {
            0 => 164,
            67 => 49_648,
            _ => 51 + q * q * 7919 % 9 + if q < 14 { 50 } else { 0 },
        };
        spiky += &format!("{q},{ns}e-9\n");
        zero += &format!("{q},0\n");
    }
    scratch.write("spiky.csv", spiky);
    scratch.write("zero.csv", zero);
    for statistic in ["mean", "median", "min"] {
        let fit = ["fit", "spiky.csv", "zero.csv", "--statistic", statistic];
        scratch
            .mastermind(&[&fit[..], &["-o", "models.json", "--force"]].concat())
            .well();
        let models = scratch.read("models.json");
        let models: serde_json::Value = serde_json::from_str(&models).expect("models");
        for (model, note, n_records) in [(0, "set-aside", 1), (1, "zero", 100)] {
            let notes = models["models"][model]["notes"].as_array().expect("notes");
            let is_expected = |entry: &serde_json::Value| {
                entry["note"] == note && entry["n_records"].as_u64() == Some(n_records)
            };
            assert!(notes.iter().any(is_expected), "{note}: {notes:?}");
        }
        let spiky = &models["models"][0];
        assert_eq!(
            (spiky["n_points"].as_u64(), spiky["n_records"].as_u64()),
            (Some(99), Some(100)),
            "{spiky}"
        );
        for (at, low, high) in [
            ("q=67", 45e-9, 65e-9),
            ("q=90", 45e-9, 65e-9),
            ("q=5", 80e-9, 125e-9),
        ] {
            let predict = [
                "predict",
                "models.json",
                "--method",
                "spiky",
                "--at",
                at,
                "--json",
            ];
            let prediction = scratch.mastermind(&predict).well();
            let prediction: serde_json::Value =
                serde_json::from_str(&prediction).expect("a prediction");
            let value_s = prediction["value_s"].as_f64().expect("a time");
            assert!((low..high).contains(&value_s), "{at}: {prediction}");
        }
    }
    let plot = [
        "plot",
        "spiky.csv",
        "--kind",
        "mean",
        "--method",
        "spiky",
        "-o",
        "mean.svg",
    ];
    scratch.mastermind(&plot).well();
    let drawn = scratch.read("mean.svg");
    // Calls are set aside by the clean law, as in plain `fit`, which keeps those at the first sizes.
    assert!(drawn.contains(" held up set aside"), "{drawn}");
}
