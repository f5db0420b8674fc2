//! From measurements in files to models, predictions, source code and figures.

use std::fmt::Write as _;

use mastermind_tests::Scratch;
use serde_json::Value;

/// A table of calls of two kernels: a line in `n` for each label, five repetitions with a spread of up to 2 %.
fn table() -> String {
    run_of_kernels(1, 1.0)
}

/// The same kernels in another run: other calls with the same spread, and all times multiplied by a factor.
fn run_of_kernels(seed: u64, factor: f64) -> String {
    let mut table = String::from("kernel,n [element],order,rep,time_us\n");
    let mut state = seed;
    for rep in 0..5 {
        for i in 1..=8 {
            let n = 1000 * i * i;
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let share = (state >> 11) as f64 / (1_u64 << 53) as f64;
            let spread = factor * (1.0 + 0.02 * (2.0 * share - 1.0));
            for (order, slope) in [("sorted", 0.002), ("random", 0.02)] {
                let us = (3.0 + slope * f64::from(n)) * spread;
                let _ = writeln!(table, "sort,{n},{order},{rep},{us}");
            }
            let _ = writeln!(
                table,
                "copy,{n},sorted,{rep},{}",
                0.5 * f64::from(n) * spread
            );
        }
    }
    table
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn a_table_becomes_models_that_predict() {
    let scratch = Scratch::new();
    scratch.write("t.csv", table());
    let fit = ["fit", "t.csv", "-o", "models.json", "--json"];
    let models = json(&scratch.mastermind(&fit).well());
    assert_eq!(models, json(&scratch.read("models.json")));
    let models = models["models"].as_array().expect("models");
    let methods: Vec<_> = models
        .iter()
        .map(|model| model["method"].as_str().expect("a name"))
        .collect();
    assert!(
        methods.contains(&"sort") && methods.contains(&"copy"),
        "{methods:?}"
    );
    assert_eq!(models[0]["range"]["n"][1], 64_000.0);
    let predict = |options: &[&str]| {
        let words = [&["predict", "models.json"], options].concat();
        scratch.mastermind(&words)
    };
    let at = ["--method", "sort", "--at", "n=20000,order=random"];
    let found = json(&predict(&[&at[..], &["--json"]].concat()).well());
    let number = |key: &str| found[key].as_f64().expect("a number");
    assert!((number("value_s") / 403e-6 - 1.0).abs() < 0.03, "{found}");
    assert!(number("lower_s") < number("value_s") && number("value_s") < number("upper_s"));
    assert_eq!(
        (number("level"), &found["extrapolated"]),
        (0.95, &Value::Bool(false))
    );
    let output = predict(&["--method", "sort", "--at", "n=1e6,order=sorted"]).well();
    assert!(
        output.contains("outside the measured range: n = 1000000, measured from 1000 to 64000"),
        "{output}"
    );
    // Another run of the same kind lies within the intervals, one of a slower machine does not.
    scratch.write("other.csv", run_of_kernels(2, 1.0));
    scratch.write("slower.csv", run_of_kernels(2, 1.2));
    let against = |file: &str| {
        let words = ["--against", file, "--method", "sort", "--json"];
        json(&predict(&words).well())
    };
    let inside = |checked: &Value| -> Vec<f64> {
        let rows = checked["rows"].as_array().expect("rows");
        let inside = |row: &Value| row["inside_percent"].as_f64().expect("a share");
        rows.iter().map(inside).collect()
    };
    let slower = inside(&against("slower.csv"));
    assert!(slower.iter().all(|percent| *percent < 10.0), "{slower:?}");
    let checked = against("other.csv");
    let rows = checked["rows"].as_array().expect("rows");
    let calls: u64 = rows
        .iter()
        .map(|row| row["calls"].as_u64().expect("calls"))
        .sum();
    assert_eq!(calls, 80);
    assert!(
        inside(&checked).iter().all(|percent| *percent >= 90.0),
        "{checked}"
    );
    assert!(
        rows.iter()
            .all(|row| row["half_width_percent"].as_f64() < Some(10.0)),
        "{checked}"
    );
}

/// A column without times: its unit appears in the fit and in the figure.
#[test]
fn a_counter_is_modelled_in_its_own_unit() {
    let scratch = Scratch::new();
    let mut table = String::from("n [element],time_us,misses [line]\n");
    for i in 1..=8 {
        for (rep, off) in [-0.5, 0.0, 0.5].into_iter().enumerate() {
            let n = 1000.0 * f64::from(i);
            let _ = writeln!(
                table,
                "{n},{},{}",
                3.0 + rep as f64,
                100.0 + 0.125 * n + off
            );
        }
    }
    scratch.write("t.csv", table);
    let params = ["--params", "n"];
    let run = |words: &[&str]| scratch.mastermind(&[words, &params].concat());
    let fit = [
        "fit",
        "t.csv",
        "--metric",
        "misses [line]",
        "-o",
        "models.json",
    ];
    let text = run(&[&fit[..], &["--format", "text"]].concat()).well();
    assert!(text.starts_with("t, misses\n"), "{text}");
    for part in ["T            100 + 0.125 * n line", "line/element"] {
        assert!(text.contains(part), "{text}");
    }
    let model = &json(&scratch.read("models.json"))["models"][0];
    assert_eq!(model["metric"], "misses [line]");
    assert_eq!(model["coefficients"][0]["unit"], "line");
    let at = [
        "predict",
        "models.json",
        "--method",
        "t",
        "--at",
        "n=4500",
        "--metric",
        "misses",
    ];
    let text = run(&at).well();
    assert!(
        text.starts_with("t at n=4500: misses 6.625e2 line\n95 % of such calls count "),
        "{text}"
    );
    let found = json(&run(&[&at[..], &["--json"]].concat()).well());
    assert_eq!(
        (&found["unit"], &found["metric"]),
        (&json("\"line\""), &json("\"misses [line]\""))
    );
    assert!(
        (found["value"].as_f64().expect("a number") - 662.5).abs() < 1e-6,
        "{found}"
    );
    let against = [
        "predict",
        "models.json",
        "--metric",
        "misses",
        "--against",
        "t.csv",
    ];
    assert!(run(&against).well().contains("100.0"));
    let plot = [
        "plot",
        "t.csv",
        "--kind",
        "mean",
        "--method",
        "t",
        "--metric",
        "misses [line]",
    ];
    run(&[&plot[..], &["-o", "m.svg"]].concat()).well();
    let picture = scratch.read("m.svg");
    assert!(picture.contains("mean misses [line]") && picture.contains("0.125 * n line"));
    let rust = run(&["predict", "models.json", "--format", "rust"]).well();
    assert!(
        rust.contains("Predicted misses of a call of t, line."),
        "{rust}"
    );
    let wrong = run(&["fit", "t.csv", "--metric", "hits"]).error();
    assert!(wrong.contains("\"hits\""), "{wrong}");
    let suggest = scratch.mastermind(&["suggest", "models.json", "--method", "t"]);
    let wrong = suggest.error();
    assert!(
        wrong.contains("no model of its time, expected one of nothing"),
        "{wrong}"
    );
}

#[test]
fn what_cannot_be_predicted_says_why() {
    let scratch = Scratch::new();
    scratch.write("t.csv", table());
    scratch
        .mastermind(&["fit", "t.csv", "-o", "models.json"])
        .well();
    let error = |options: &[&str]| {
        let words = [&["predict", "models.json"], options].concat();
        scratch.mastermind(&words).error()
    };
    for (options, message) in [
        (
            &["--at", "n=1"][..],
            "cannot predict: no method, expected --method NAME of copy, sort",
        ),
        (
            &["--method", "merge", "--at", "n=1"],
            "cannot predict \"merge\": no model of it, expected one of copy, sort",
        ),
        (
            &["--method", "sort", "--at", "n=1,order=odd"],
            "no model where order=odd",
        ),
        (
            &["--method", "sort", "--at", "order=sorted"],
            "no number for parameter \"n\"",
        ),
        (
            &["--method", "sort", "--at", "n=x,order=sorted"],
            "cannot predict \"sort\"",
        ),
        (
            &["--method", "sort", "--at", "n=nan,order=sorted"],
            "n=nan, expected a finite number",
        ),
        (
            &["--method", "sort", "--at", "n=1,order=sorted,m=3"],
            "parameter \"m\" is unknown",
        ),
    ] {
        let found = error(options);
        assert!(found.contains(message), "{options:?}: {found}");
    }
    scratch.write("other.csv", "kernel,n,time\nmerge,1,1\n");
    let found = error(&["--against", "other.csv"]);
    assert!(
        found.contains("none is of a method measured, expected one of merge"),
        "{found}"
    );
}

#[test]
fn records_in_place_of_models_are_an_error_that_names_fit() {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.path("records")).expect("a folder");
    for words in [
        &["predict", "records"][..],
        &["suggest", "records", "--method", "compute"],
    ] {
        let error = scratch.mastermind(words).error();
        let expected = "cannot read models \"records\": a directory, expected a file as `mastermind fit records -o models.json` writes it";
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn inputs_that_cannot_be_read_say_where() {
    let scratch = Scratch::new();
    for (name, text, message) in [
        (
            "a.csv",
            "n,time\n1,2\n2,slow\n",
            "cannot read measurements \"a.csv\", line 3, column 2: \"slow\", expected a number",
        ),
        (
            "b.csv",
            "",
            "cannot read measurements \"b.csv\": nothing in it",
        ),
        (
            "c.csv",
            "n,cost\n1,2\n",
            "no column \"wall\", expected one of n, cost",
        ),
        (
            "d.dat",
            "n,time\n1,2\n",
            "an ending of no known format, expected .csv",
        ),
        (
            "e.txt",
            "PARAMETER x\nPOINTS 1 2\nDATA 1\n",
            "cannot read measurements \"e.txt\", line 3: 1 DATA lines",
        ),
        (
            "f.jsonl",
            "{}\n",
            "cannot read measurements \"f.jsonl\", line 1, column 2",
        ),
    ] {
        scratch.write(name, text);
        let found = scratch.mastermind(&["fit", name]).error();
        assert!(found.contains(message), "{name}: {found}");
    }
    scratch.write("g.csv", "n,time\n1,2\n2,-1\n3,5\n4,nan\n");
    let ended = scratch.mastermind(&["fit", "g.csv"]);
    assert!(ended.stderr.contains(
        "warning: set aside 1 of 4 values of \"g\" in \"g.csv\", line 3: a time below zero"
    ));
    ended.well();
    scratch.write("h.csv", "n,time\n1,-2\n2,\n3,inf\n");
    let found = scratch.mastermind(&["fit", "h.csv"]).error();
    for message in [
        "warning: set aside 1 of 3 values of \"h\" in \"h.csv\", line 2: a time below zero",
        "error: cannot fit \"h\": 0 samples, as 3 were not taken, expected at least 1 with a finite time",
    ] {
        assert!(found.contains(message), "{found}");
    }
    let named = scratch
        .mastermind(&["fit", "d.dat", "--from", "csv", "--unit", "ms"])
        .well();
    assert!(named.contains("0.002 s"), "{named}");
}

/// A mistake in a formula is reported once, with the name of the faulty part.
#[test]
fn formulas_that_cannot_be_meant_are_refused() {
    let scratch = Scratch::new();
    scratch.write("t.csv", table());
    scratch.write("models.json", "those of before");
    let fit = |options: &[&str]| {
        let words = ["fit", "t.csv", "-o", "models.json", "--force", "--formula"];
        let words = [&words, options].concat();
        scratch.mastermind(&words)
    };
    let ended = fit(&["a * (n"]);
    assert_eq!(
        (ended.code, ended.stderr.matches("error: ").count()),
        (Some(2), 1)
    );
    assert!(
        ended.stderr.contains("nothing fits at character"),
        "{}",
        ended.stderr
    );
    for (options, message) in [
        (
            &["a * N + b"][..],
            "\"N\" is unknown, expected a parameter (n), perhaps \"n\"",
        ),
        (
            &["a * m + b"],
            "expected a parameter that varies (n) in place of one",
        ),
        (
            &["a * order"],
            "\"order\" has labels, expected a numeric parameter (n)",
        ),
        (&["a * n", "--bounds", "b=0:1"], "cannot fit unknown \"b\""),
        (
            &["a * n", "--bounds", "a=1:0"],
            "cannot fit unknown \"a\": from 1 to 0",
        ),
        (
            &["a * n", "--monotone", "m"],
            "no numeric parameter \"m\", expected one of n",
        ),
    ] {
        let found = fit(options).error();
        assert!(found.contains(message), "{options:?}: {found}");
    }
    // Nothing was fitted, so nothing written.
    assert_eq!(scratch.read("models.json"), "those of before");
    let meant = fit(&["a * m + b", "--bounds", "a=:,b=:,m=:"]);
    assert!(meant.well().contains("the points do not tell"));
}

/// A formula that decreases where it must not is kept level instead of being refused.
#[test]
fn a_formula_is_held_within_limits() {
    let scratch = Scratch::new();
    scratch.write("t.csv", "n,time\n1,8\n2,9\n3,7\n6,6\n8,8\n9,5\n");
    let fit = ["fit", "t.csv", "--formula", "a + b * n", "--format", "text"];
    let free = scratch.mastermind(&fit).well();
    assert!(!free.contains("held at its limits"), "{free}");
    let held = scratch
        .mastermind(&[&fit[..], &["--monotone", "n"]].concat())
        .well();
    for part in ["held at its limits", "AICc", "BIC"] {
        assert!(held.contains(part), "{held}");
    }
}

#[test]
fn nothing_to_suggest_says_why() {
    let scratch = Scratch::new();
    scratch.write("t.csv", table());
    let theory = ["fit", "t.csv", "-o", "theory.json", "--formula", "2e-8 * n"];
    scratch.mastermind(&theory).well();
    let suggest = ["suggest", "theory.json", "--method", "copy"];
    let ended = scratch.mastermind(&suggest);
    assert!(ended.stdout.is_empty(), "{ended:#?}");
    let found = ended.error();
    assert!(
        found.contains("its formula has no coefficient that is unsure, expected one"),
        "{found}"
    );
    for option in [
        ["--n", "0"],
        ["--repetitions", "0"],
        ["--reach", "0.5"],
        ["--reach", "nan"],
    ] {
        let ended = scratch.mastermind(&[&suggest[..], &option].concat());
        assert_eq!(ended.code, Some(2), "{ended:#?}");
    }
}

#[test]
fn models_are_printed_in_other_languages() {
    let scratch = Scratch::new();
    scratch.write("t.csv", table());
    scratch
        .mastermind(&["fit", "t.csv", "-o", "models.json"])
        .well();
    for (format, part) in [
        ("rust", "pub fn copy"),
        ("c", "#include <math.h>"),
        ("latex", "\\begin{equation}"),
        ("text", "cross-validated"),
        ("table", "CV-SMAPE"),
    ] {
        let fitted = scratch
            .mastermind(&["fit", "t.csv", "--format", format])
            .well();
        assert!(fitted.contains(part), "{format}: {fitted}");
        let stored = scratch
            .mastermind(&["predict", "models.json", "--format", format])
            .well();
        assert_eq!(fitted, stored, "{format}");
        let one = scratch.mastermind(&[
            "predict",
            "models.json",
            "--format",
            format,
            "--method",
            "sort",
        ]);
        assert!(!one.well().contains("copy"), "{format}");
    }
}

#[test]
fn means_and_deviations_are_drawn() {
    let scratch = Scratch::new();
    scratch.write("t.csv", table());
    scratch
        .mastermind(&["fit", "t.csv", "-o", "models.json"])
        .well();
    let plot = |options: &[&str]| {
        let words = [
            &["plot", "t.csv", "--kind", "mean", "--method", "sort"],
            options,
        ]
        .concat();
        scratch.mastermind(&words)
    };
    plot(&["-o", "apart.svg"]).well();
    let apart = scratch.read("apart.svg");
    for part in [
        "mean wall time [µs]",
        "standard deviation [µs]",
        "order = random",
        "T = ",
        "sigma = ",
        "n [element]",
    ] {
        assert!(apart.contains(part), "{part}");
    }
    plot(&["--modes", "together", "-o", "together.svg"]).well();
    assert!(!scratch.read("together.svg").contains("order = "));
    plot(&["--models", "models.json", "-o", "mean.png"]).well();
    assert!(
        std::fs::read(scratch.path("mean.png"))
            .expect("a figure")
            .starts_with(b"\x89PNG")
    );
    // Models of medians are drawn with the measured medians.
    let fit = [
        "fit",
        "t.csv",
        "--statistic",
        "median",
        "-o",
        "medians.json",
    ];
    scratch.mastermind(&fit).well();
    plot(&["--models", "medians.json", "-o", "medians.svg"]).well();
    let medians = scratch.read("medians.svg");
    assert!(medians.contains("median wall time [µs]") && !medians.contains("mean wall time"));
    for (options, message) in [
        (
            &["--parameter", "m"][..],
            "no number \"m\", expected one of n",
        ),
        (
            &["--method", "merge"],
            "the argument '--method <NAME>' cannot be used multiple times",
        ),
    ] {
        let ended = plot(options);
        assert!(ended.stderr.contains(message), "{ended:#?}");
    }
    let error = scratch
        .mastermind(&["plot", "t.csv", "--kind", "mean", "--method", "merge"])
        .error();
    assert!(
        error.contains("cannot draw \"merge\": no calls of it, expected one of"),
        "{error}"
    );
}

#[test]
fn a_curve_says_where_it_holds_the_other_parameter() {
    let scratch = Scratch::new();
    let mut table = String::from("kernel,n,m,time_us\n");
    for n in (1..=8).map(|i| 1000 * i * i) {
        for m in [2, 4, 8, 16, 32] {
            for spread in [0.99, 1.0, 1.01] {
                let us = (3.0 + 0.002 * f64::from(n * m)) * spread;
                let _ = writeln!(table, "mix,{n},{m},{us}");
            }
        }
    }
    scratch.write("two.csv", table);
    let plot = |method: &str, options: &[&str]| {
        let words = [
            "plot", "two.csv", "--kind", "mean", "-o", "p.svg", "--force", "--method", method,
        ];
        scratch.mastermind(&[&words[..], options].concat()).well();
        scratch.read("p.svg")
    };
    assert!(plot("mix", &[]).contains(" at m = 8"));
    assert!(plot("mix", &["--parameter", "m"]).contains(" at n = 25"));
    scratch.write("one.csv", self::table());
    scratch
        .mastermind(&[
            "plot", "one.csv", "--kind", "mean", "-o", "q.svg", "--method", "copy",
        ])
        .well();
    let one = scratch.read("q.svg");
    assert!(one.contains("T = ") && !one.contains(" at "), "{one}");
}

#[test]
fn notes_that_repeat_are_printed_once_below_the_table() {
    let scratch = Scratch::new();
    let mut table = String::from("kernel,n,time_us\n");
    for (kernel, sizes) in [("one", 2), ("two", 2), ("three", 1)] {
        for n in 1..=sizes {
            let _ = writeln!(table, "{kernel},{n},{}", 10 * n + 1);
        }
    }
    scratch.write("few.csv", table);
    let fitted = scratch.mastermind(&["fit", "few.csv"]).well();
    let lines: Vec<_> = fitted.lines().collect();
    assert!(lines[0].trim_end().ends_with("NOTES"), "{fitted}");
    let formulas = lines.iter().filter(|line| line.starts_with("  T = "));
    assert_eq!(formulas.count(), 3, "{fitted}");
    assert!(fitted.contains(" s for n 1 to 2\n"), "{fitted}");
    assert!(
        lines.iter().all(|line| line.chars().count() <= 100),
        "{fitted}"
    );
    let ends = |end: &str| lines.iter().filter(|line| line.ends_with(end)).count();
    // If several rows have the sentence, the figures are in the rows; otherwise in the sentence.
    assert_eq!(ends("  a 2, 3"), 2, "{fitted}");
    assert_eq!(
        ends("a  not validated: n coordinates, at least m would tell families apart"),
        1,
        "{fitted}"
    );
    assert_eq!(
        ends("b  constant: 1 coordinate was measured; measure another size"),
        1,
        "{fitted}"
    );
}

/// Criterion's folder with a benchmark of several sizes, a line in the size, as it lies after two measurements.
fn criterion(scratch: &Scratch, name: &str) {
    for size in [64, 128, 256, 512, 1024] {
        for (measurement, slope) in [("new", 3.0), ("base", 300.0)] {
            let folder = format!("{name}/sort/heap/{size}/{measurement}");
            std::fs::create_dir_all(scratch.path(&folder)).expect("a folder");
            let benchmark = format!(
                r#"{{"group_id":"sort","function_id":"heap","value_str":"{size}","throughput":null}}"#
            );
            scratch.write(&format!("{folder}/benchmark.json"), benchmark);
            let iterations: Vec<_> = (1..=10).map(|i| f64::from(2 * i)).collect();
            let one = |n: &f64| n * (50.0 + slope * f64::from(size)) * (1.0 + 0.001 * (n % 3.0));
            let times: Vec<_> = iterations.iter().map(one).collect();
            let sample =
                serde_json::json!({"sampling_mode": "Linear", "iters": iterations, "times": times});
            scratch.write(&format!("{folder}/sample.json"), sample.to_string());
            scratch.write(&format!("{folder}/estimates.json"), "{}");
        }
    }
}

#[test]
fn the_folder_of_criterion_is_read_and_its_latest_measurement_counts() {
    let scratch = Scratch::new();
    criterion(&scratch, "target/criterion");
    let fit = ["fit", "target/criterion", "-o", "m.json", "--json"];
    let models = json(&scratch.mastermind(&fit).well());
    assert_eq!(models["models"][0]["method"], "sort/heap");
    let predict = |input: &str, output: &str| {
        scratch
            .mastermind(&["fit", input, "-o", output, "--force"])
            .well();
        let at = [
            "predict",
            output,
            "--method",
            "sort/heap",
            "--at",
            "value=512",
            "--json",
        ];
        let predicted = json(&scratch.mastermind(&at).well());
        predicted["value_s"].as_f64().expect("a time")
    };
    let newest = predict("target/criterion", "new.json");
    assert!((newest / 1586e-9 - 1.0).abs() < 0.05, "{newest}");
    // One measurement is a folder, or one of its files.
    let base = predict("target/criterion/sort/heap/512/base", "base.json");
    assert!((base / 153_650e-9 - 1.0).abs() < 0.05, "{base}");
    let file = predict(
        "target/criterion/sort/heap/512/base/sample.json",
        "file.json",
    );
    assert_eq!(file.to_bits(), base.to_bits());
    scratch.write(
        "target/criterion/sort/heap/64/new/sample.json",
        "{\"iters\":",
    );
    let broken = scratch.mastermind(&["fit", "target/criterion"]).error();
    assert!(broken.contains("sort/heap/64"), "{broken}");
}
