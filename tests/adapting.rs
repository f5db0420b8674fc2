//! `run --adapt`: components are swapped while the application runs, on all ranks at the same step, and swapped back if
//! they are no better or fail.

use std::path::{Path, PathBuf};

use mastermind_tests::{Scratch, field, mpis, rust_library};
use serde_json::Value;

/// The case study with a flux of the fixture, which delegates its computation to another one.
fn shock(scratch: &Scratch, flux: &str, others: &[&str], more: &str) -> PathBuf {
    let library = rust_library("adapting");
    let others: Vec<_> = others.iter().map(|class| format!("\"{class}\"")).collect();
    let alternatives = format!("flux = [{}]\n#", others.join(", "));
    let flux = format!("flux = \"{flux}\"\nkernel = \"hydro.EfmFlux\"");
    let go = format!("{more}\n[go]");
    scratch.example(
        "shock/shock.toml",
        &[&library],
        &[
            ("flux = \"hydro.GodunovFlux\"", &flux),
            (
                "\"rhs.flux\" = \"flux.flux\"",
                "\"rhs.flux\" = \"flux.flux\"\n\"flux.kernel\" = \"kernel.flux\"",
            ),
            (
                "flux = [\"hydro",
                &format!("{alternatives} flux = [\"hydro"),
            ),
            ("states = [\"hydro", "# states = [\"hydro"),
            ("cfl = 0.4", "cfl = 0.4\nmax_steps = 60"),
            ("[go]", &go),
        ],
    )
}

/// Models of the steady flux and of the slowing flux before it slows down. They are of medians, which calls that waited
/// for the processor do not move: even on a busy machine the flux that takes a third of the time is chosen.
fn models(scratch: &Scratch) -> String {
    for class in ["SteadyFlux", "SlowingFlux"] {
        let assembly = shock(scratch, &format!("test.{class}"), &["test.SteadyFlux"], "");
        let records = format!("models-{class}");
        let arguments = ["--set", "driver.max_steps=4", "--records", &records];
        scratch.verb("run", &assembly, &arguments).well();
    }
    let fit = [
        "fit",
        "models-SteadyFlux",
        "models-SlowingFlux",
        "--statistic",
        "median",
        "-o",
        "models.json",
    ];
    scratch.mastermind(&fit).well();
    "models.json".into()
}

/// The log of decisions on a rank, as text and as its lines.
fn decisions(scratch: &Scratch, records: &str, rank: u32) -> (String, Vec<Value>) {
    let text = scratch.read(&format!("{records}/decisions.{rank}.jsonl"));
    let lines = text.lines().map(serde_json::from_str);
    let lines = lines.collect::<Result<_, _>>().expect("a line of JSON");
    (text, lines)
}

/// The actions among the decisions. Changes of level are left out: on a busy machine a level may change for a while.
fn acts(decisions: &[Value]) -> Vec<&str> {
    let acts = decisions.iter().map(|decision| decision["act"].as_str());
    let acts = acts.map(|act| act.expect("an act"));
    acts.filter(|act| *act != "level").collect()
}

fn adapt(scratch: &Scratch, assembly: &Path, models: &str, more: &[&str]) -> String {
    let records = ["--records", "records", "--overwrite", "--adapt", models];
    let run = scratch.verb("run", assembly, &[&records, more].concat());
    run.well()
}

/// Takes the field that was written to `field.csv`.
fn take_field(scratch: &Scratch) -> Vec<f64> {
    let numbers = field(&scratch.read("field.csv"));
    std::fs::remove_file(scratch.path("field.csv")).expect("the field");
    numbers
}

const FIELD: [&str; 2] = ["--set", "output.csv=field.csv"];

#[test]
fn a_component_that_becomes_slow_is_replaced_and_nothing_else_changes() {
    let scratch = Scratch::new();
    let models = models(&scratch);
    let slow = "[parameters.flux]\nslow_after = 600";
    let classes = ["test.SlowingFlux", "test.SteadyFlux"];
    let assembly = shock(&scratch, classes[0], &classes, slow);
    scratch.verb("run", &assembly, &FIELD).well();
    let expected = take_field(&scratch);
    let output = adapt(&scratch, &assembly, &models, &FIELD);
    assert_eq!(take_field(&scratch), expected, "{output}");
    let (_, decided) = decisions(&scratch, "records", 0);
    // The classes that were tried before it slowed down have been swapped out again.
    assert!(acts(&decided).ends_with(&["try", "keep"]), "{output}");
    assert!(
        output.contains("try test.SlowingFlux to test.SteadyFlux"),
        "{output}"
    );
    // The records name the classes that ran, and say that one was swapped in.
    let info: Value = {
        let text = scratch.mastermind(&["info", "records", "--json"]).well();
        serde_json::from_str(&text).expect("JSON")
    };
    let swaps = info["swaps"].as_array().expect("swaps");
    let last = swaps.last().expect("a swap");
    assert_eq!(
        (&last["from"], &last["to"]["class"]),
        (
            &Value::from("test.SlowingFlux"),
            &Value::from("test.SteadyFlux")
        )
    );
    assert_eq!(
        info["decisions"].as_array().map(Vec::len),
        Some(decided.len())
    );
    let output = scratch.mastermind(&["info", "records"]).well();
    assert!(output.contains("keep test.SteadyFlux"), "{output}");
}

#[test]
fn ranks_swap_at_the_same_step() {
    let scratch = Scratch::new();
    let models = models(&scratch);
    let slow = "[parameters.flux]\nslow_after = 250";
    let classes = ["test.SlowingFlux", "test.SteadyFlux"];
    let assembly = shock(&scratch, classes[0], &classes, slow);
    // Decisions take a limited share of the run's time. Where the machine is busy, few steps do not pay for one.
    let long = ["--set", "driver.max_steps=300"];
    for mpi in mpis() {
        let ranks = ["--ranks", "3", "--mpi", mpi.kind.name()];
        let output = adapt(&scratch, &assembly, &models, &[&long[..], &ranks].concat());
        assert!(output.contains("keep test.SteadyFlux"), "{output}");
        let (first, decided) = decisions(&scratch, "records", 0);
        let acts = acts(&decided);
        assert!(
            acts.windows(2).any(|acts| acts == ["try", "keep"]),
            "{first}"
        );
        for rank in 1..3 {
            assert_eq!(decisions(&scratch, "records", rank).0, first);
        }
    }
}

#[test]
fn one_that_fails_in_its_first_call_goes_and_the_run_goes_on() {
    let scratch = Scratch::new();
    let models = models(&scratch);
    let classes = ["test.SteadyFlux", "test.FailingFlux"];
    let assembly = shock(&scratch, classes[0], &classes, "");
    // A run of a second, in which a decision is affordable on a busy machine too.
    let long = [&FIELD[..], &["--set", "driver.max_steps=300"]].concat();
    scratch.verb("run", &assembly, &long).well();
    let expected = take_field(&scratch);
    // A class that nothing is known of could be a hundred times slower. A run this short cannot afford one call of it.
    let most = [&long[..], &["--explore", "20%"]].concat();
    let output = adapt(&scratch, &assembly, &models, &most);
    assert_eq!(take_field(&scratch), expected);
    let (text, decided) = decisions(&scratch, "records", 0);
    assert_eq!(acts(&decided), ["try", "failed"], "{text}");
    assert!(
        output.contains("failed test.FailingFlux to test.SteadyFlux"),
        "{output}"
    );
}

#[test]
fn what_one_rank_cannot_make_is_put_in_on_none() {
    let scratch = Scratch::new();
    let models = models(&scratch);
    let classes = ["test.SteadyFlux", "test.OnceFlux"];
    let assembly = shock(&scratch, classes[0], &classes, "");
    for mpi in mpis() {
        let ranks = ["--ranks", "2", "--mpi", mpi.kind.name()];
        adapt(&scratch, &assembly, &models, &ranks);
        let (text, decided) = decisions(&scratch, "records", 0);
        assert_eq!(acts(&decided), ["try", "failed"], "{text}");
        assert_eq!(decisions(&scratch, "records", 1).0, text);
        let reason = decided[1]["reason"].as_str().expect("a reason");
        assert!(reason.contains("it fails on 1 of 2 ranks"), "{reason}");
    }
}

/// Its calls are then answered by the class that the run began with.
#[test]
fn one_that_fails_after_it_was_kept_goes_and_the_run_goes_on() {
    let scratch = Scratch::new();
    let classes = ["test.SteadyFlux", "test.LateFlux"];
    let assembly = shock(&scratch, classes[0], &classes, "");
    let long = [&FIELD[..], &["--set", "driver.max_steps=300"]].concat();
    scratch.verb("run", &assembly, &long).well();
    let expected = take_field(&scratch);
    // Nothing is known before.
    let run = [
        &["--records", "records", "--explore", "100%"],
        &long[..],
        &["--adapt"],
    ]
    .concat();
    let output = scratch.verb("run", &assembly, &run).well();
    assert_eq!(take_field(&scratch), expected, "{output}");
    let (text, decided) = decisions(&scratch, "records", 0);
    let acts = acts(&decided);
    assert!(acts.ends_with(&["try", "keep", "failed"]), "{text}");
    let last = decided.iter().rfind(|decision| decision["act"] == "failed");
    assert_eq!(
        last.map(|last| &last["to"]),
        Some(&Value::from(classes[0])),
        "{text}"
    );
    // The adapted assembly that the run leaves behind runs as it is.
    let adapted = scratch.path("records/adapted.toml");
    scratch.verb("run", &adapted, &FIELD).well();
}

/// Nothing is known of the class, and one step with it would take as long as a thousand. It gets the cheapest calls,
/// and inside the step these return to the class before.
#[test]
fn one_that_is_far_slower_is_stopped_inside_a_step() {
    let scratch = Scratch::new();
    let classes = ["test.SteadyFlux", "test.CrawlingFlux"];
    let assembly = shock(&scratch, classes[0], &classes, "");
    scratch.verb("run", &assembly, &FIELD).well();
    let expected = take_field(&scratch);
    let run = [
        &["--records", "records", "--explore", "20%"],
        &FIELD[..],
        &["--adapt"],
    ]
    .concat();
    let output = scratch.verb("run", &assembly, &run).well();
    assert_eq!(take_field(&scratch), expected, "{output}");
    let (text, decided) = decisions(&scratch, "records", 0);
    let back = decided.iter().find(|decision| decision["act"] == "back");
    let reason = back.and_then(|back| back["reason"].as_str());
    assert!(
        reason.is_some_and(|reason| reason.starts_with("stopped inside a step, ")),
        "{text}"
    );
    scratch
        .mastermind(&["export", "records", "-o", "calls.csv"])
        .well();
    let table = scratch.read("calls.csv");
    let calls_of = |class: &str| table.lines().filter(|line| line.contains(class)).count();
    let [crawling, steady] = ["test.CrawlingFlux", "test.SteadyFlux"].map(calls_of);
    let trials = decided
        .iter()
        .filter(|decision| decision["act"] == "try")
        .count();
    let a_step = (crawling + steady) / 60;
    assert!(
        (1..trials * a_step).contains(&crawling),
        "{crawling} of {a_step} a step: {text}"
    );
}

/// If it were a hundred times slower the run could afford the cheapest calls: the others go to the class before, in the
/// same step.
#[test]
fn one_of_which_nothing_is_known_begins_with_the_cheapest_calls() {
    let scratch = Scratch::new();
    let classes = ["test.SteadyFlux", "test.SlowingFlux"];
    let assembly = shock(&scratch, classes[0], &classes, "");
    // A run of seconds, in which a second decision is affordable on a busy machine too.
    let long = ["--set", "driver.max_steps=750"];
    let run = ["--records", "records", "--explore", "2%", "--adapt"];
    let run = [&run[..], &long].concat();
    scratch.verb("run", &assembly, &run).well();
    let (text, decided) = decisions(&scratch, "records", 0);
    let swaps = decided.iter().filter(|d| d["from"] != d["to"]).count();
    scratch
        .mastermind(&["export", "records", "-o", "calls.csv"])
        .well();
    let table = scratch.read("calls.csv");
    let mut lines = table
        .lines()
        .map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next().expect("a header");
    let at = |name: &str| header.iter().position(|known| *known == name);
    let [class, q, start] = ["class", "q", "start_ns"].map(|name| at(name).expect("a column"));
    let number = |text: &str| text.parse::<f64>().expect("a number");
    let mut calls: Vec<_> = lines
        .filter(|line| classes.contains(&line[class]))
        .map(|line| (number(line[start]), line[class], number(line[q])))
        .collect();
    calls.sort_by(|a, b| a.0.total_cmp(&b.0));
    let first = calls.iter().find(|(_, class, _)| *class == classes[1]);
    let least = calls
        .iter()
        .map(|(_, _, q)| *q)
        .fold(f64::INFINITY, f64::min);
    assert_eq!(first.map(|(_, _, q)| *q), Some(least), "{text}");
    let changes = calls
        .windows(2)
        .filter(|pair| pair[0].1 != pair[1].1)
        .count();
    assert!(changes > swaps, "{changes} changes, {swaps} swaps: {text}");
}

/// The class before answers the call that fails, and the dispatcher sends no more calls to the failing class.
#[test]
fn one_that_fails_where_a_dispatcher_tries_it_gets_no_calls_and_the_run_goes_on() {
    let scratch = Scratch::new();
    let models = models(&scratch);
    let classes = ["test.SteadyFlux", "test.FailingFlux"];
    let assembly = shock(&scratch, classes[0], &classes, "");
    // A run of seconds, in which a decision is affordable on a busy machine too.
    let long = [&FIELD[..], &["--set", "driver.max_steps=300"]].concat();
    scratch.verb("run", &assembly, &long).well();
    let expected = take_field(&scratch);
    let output = adapt(
        &scratch,
        &assembly,
        &models,
        &[&long[..], &["--dispatch", "--explore", "100%"]].concat(),
    );
    assert_eq!(take_field(&scratch), expected, "{output}");
    let (text, decided) = decisions(&scratch, "records", 0);
    let acts = acts(&decided);
    assert_eq!(acts[..2], ["try", "failed"], "{text}");
    assert!(!acts[2..].contains(&"try"), "{text}");
    assert!(output.contains("all calls: test.SteadyFlux"), "{output}");
}

/// Past the limit calls are only summed up, and no decision is based on calls that are not recorded.
#[test]
fn where_calls_have_no_record_any_more_the_run_goes_on_as_it_is() {
    let scratch = Scratch::new();
    let models = models(&scratch);
    let classes = ["test.SlowingFlux", "test.SteadyFlux"];
    let slow = "[parameters.flux]\nslow_after = 600";
    let assembly = shock(&scratch, "test.SlowingFlux", &classes, slow);
    let output = adapt(&scratch, &assembly, &models, &["--records-limit", "100K"]);
    let (_, decisions) = decisions(&scratch, "records", 0);
    let last = decisions.last().expect("a decision");
    assert_eq!(last["act"], "stop", "{output}");
    let why = "calls of rank 0 have no record from here on: the limit of the records is reached";
    assert_eq!(last["reason"], why);
}

#[test]
fn nothing_to_swap_is_an_error() {
    let scratch = Scratch::new();
    let models = models(&scratch);
    let error = |assembly: &Path| {
        let arguments = ["--records", "none", "--adapt", &models];
        scratch.verb("run", assembly, &arguments).error()
    };
    let alone = shock(&scratch, "test.SteadyFlux", &["test.SteadyFlux"], "");
    assert!(
        error(&alone).contains(
            "nothing may be swapped ([alternatives] names no other class than the present ones)"
        ),
        "{}",
        error(&alone)
    );
    let silent = shock(&scratch, "test.SilentFlux", &["test.SteadyFlux"], "");
    let output = error(&silent);
    assert!(
        output.contains("test.SilentFlux: it neither declares its ports stateless nor provides cca.StatefulComponent"),
        "{output}"
    );
}

/// One rank reports more steps than another: if the application goes on nevertheless, nothing is adapted any more; if
/// it waits for ever, the run ends with the reason.
#[test]
fn ranks_that_report_other_numbers_of_steps_are_reported() {
    let scratch = Scratch::new();
    let models = models(&scratch);
    let classes = ["test.SteadyFlux", "test.SlowingFlux"];
    let uneven = "[parameters.uneven]\nfirst = 3\nothers = 5\n";
    let assembly = shock(&scratch, classes[0], &classes, uneven);
    let text = scratch.read("shock.toml");
    let text = text.replace("[instances]", "[instances]\nuneven = \"test.UnevenSteps\"");
    let text = text.replace(
        "[connections]",
        "[connections]\n\"uneven.onward\" = \"driver.go\"",
    );
    scratch.write(
        "shock.toml",
        text.replace("port = \"driver.go\"", "port = \"uneven.go\""),
    );
    for mpi in mpis() {
        let ranks = [
            "--ranks",
            "2",
            "--mpi",
            mpi.kind.name(),
            "--adapt-patience",
            "3",
        ];
        let records = ["--records", "records", "--overwrite", "--adapt", &models];
        let run =
            |more: &[&str]| scratch.verb("run", &assembly, &[&records[..], &ranks, more].concat());
        let ended = run(&[]);
        let expected = "warning: nothing is adapted any more: the application has ended on rank 0 after 3 reported steps and \
                        reports step 4 on rank 1, expected as many on each";
        assert!(ended.stderr.contains(expected), "{ended:#?}");
        ended.well();
        let ended = run(&[
            "--set",
            "uneven.first=0",
            "--set",
            "uneven.others=1",
            "--set",
            "uneven.goes_on=true",
        ]);
        let expected = "of the application has ended on this rank, and for 3 s not on another one";
        assert!(ended.stderr.contains(expected), "{ended:#?}");
        // MPICH's launcher occasionally passes on how the killed rank ended.
        assert_ne!(ended.code, Some(0), "{ended:#?}");
    }
}

/// A class that no model covers is named, and is tried all the same.
#[test]
fn a_class_without_a_model_is_named() {
    let scratch = Scratch::new();
    let models = models(&scratch);
    let assembly = shock(&scratch, "test.SteadyFlux", &["test.KnowingFlux"], "");
    // Long enough for its seconds to pay for a trial on a busy machine, too.
    let long = ["--set", "driver.max_steps=300"];
    let records = ["--records", "records", "--adapt", &models];
    let ended = scratch.verb("run", &assembly, &[&records[..], &long].concat());
    let expected = "warning: no model of test.KnowingFlux, which may work at \"flux\": what it takes is learnt in the run";
    assert!(ended.stderr.contains(expected), "{ended:#?}");
    let output = ended.well();
    assert!(
        output.contains("try test.SteadyFlux to test.KnowingFlux"),
        "{output}"
    );
}

/// In a box of walls nothing flows in or out, whichever class computes.
#[test]
fn mass_and_energy_stay_where_components_are_swapped() {
    let scratch = Scratch::new();
    let models = models(&scratch);
    let slow = "[parameters.flux]\nslow_after = 250";
    let classes = ["test.SlowingFlux", "hydro.GodunovFlux"];
    let assembly = shock(&scratch, classes[0], &classes, slow);
    let walls = [
        "bc.left=reflecting",
        "bc.right=reflecting",
        "statistics.csv=sums.csv",
        "driver.statistics_every=10",
    ];
    let walls: Vec<_> = walls.iter().flat_map(|set| ["--set", set]).collect();
    let output = adapt(&scratch, &assembly, &models, &walls);
    assert!(output.contains("keep hydro.GodunovFlux"), "{output}");
    let sums = scratch.read("sums.csv");
    let mut lines = sums.lines();
    let names: Vec<_> = lines.next().expect("a header").split(',').collect();
    let lines: Vec<Vec<f64>> = lines
        .map(|line| {
            line.split(',')
                .map(|n| n.parse().expect("a number"))
                .collect()
        })
        .collect();
    assert!(lines.len() > 1, "{sums}");
    for name in ["mass", "energy"] {
        let at = names.iter().position(|n| *n == name).expect("a column");
        let (first, last) = (lines[0][at], lines[lines.len() - 1][at]);
        assert!(
            (last / first - 1.0).abs() < 1e-12,
            "{name}: {first} to {last}"
        );
    }
}

/// A slow flux and a faster one: the second run begins with what the first one learned.
#[test]
fn what_was_learned_is_kept_for_the_next_run() {
    let scratch = Scratch::new();
    let slow = "[parameters.flux]\nslow_after = 0";
    let classes = ["test.SlowingFlux", "test.SteadyFlux"];
    let assembly = shock(&scratch, classes[0], &classes, slow);
    let run = |more: &[&str]| {
        let records = ["--records", "records", "--overwrite", "--adapt"];
        let long = ["--set", "driver.max_steps=200"];
        let state = ["--adapt-state", "learned"];
        let arguments = [&records[..], &long, &state, more].concat();
        scratch.verb("run", &assembly, &arguments)
    };
    let cold = run(&[]).well();
    assert!(cold.contains("keep test.SteadyFlux"), "{cold}");
    let first = scratch.read("learned");
    let warm = run(&[]).well();
    let (_, decided) = decisions(&scratch, "records", 0);
    assert_eq!(acts(&decided)[..2], ["try", "keep"], "{warm}");
    assert!(decided[0]["step"].as_u64() <= Some(3), "{warm}");
    assert!(
        !decided[0]["reason"]
            .to_string()
            .contains("nothing is known"),
        "{warm}"
    );
    assert_ne!(scratch.read("learned"), first, "it is written anew");
    let not_used = |text: &str| {
        std::fs::write(scratch.path("learned"), text).expect("a file");
        let output = run(&[]).stderr;
        assert!(
            output.contains("state \"learned\" is not used: "),
            "{output}"
        );
        scratch.read("learned")
    };
    let torn = not_used(&first[..first.len() / 2]);
    assert!(torn.starts_with("mastermind adapt-state 1 "), "{torn}");
    assert_eq!(not_used("{\"models\": []}"), "{\"models\": []}");
    for mpi in mpis() {
        std::fs::write(scratch.path("learned"), &first).expect("a file");
        let ranks = ["--ranks", "2", "--mpi", mpi.kind.name()];
        let other = run(&ranks).stderr;
        let is_of_others = other.contains("is not used: it is of 1 ranks, expected 2");
        assert!(is_of_others, "{other}");
        let as_kept = run(&ranks).stderr;
        assert!(!as_kept.contains("is not used"), "{as_kept}");
        let (of_first, _) = decisions(&scratch, "records", 0);
        assert_eq!(decisions(&scratch, "records", 1).0, of_first, "{as_kept}");
    }
}
