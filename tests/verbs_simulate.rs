//! `simulate`: charts, traces, schedules, and refused input.

use std::collections::BTreeSet;

use mastermind_tests::{Scratch, root};
use serde_json::Value;

/// A message of 8 bytes after 1 µs of work, and one back.
const SCHEDULE: &str = "num_ranks 2\nrank 0 {\nl1: calc 1000\nl2: send 8b to 1 tag 1\nl3: recv 8b from 1 tag 2\nl2 requires l1\nl3 requires l2\n}\n\
    rank 1 {\nl1: recv 8b from 0 tag 1\nl2: send 8b to 0 tag 2\nl2 requires l1\n}\n";

fn example(file: &str) -> String {
    root().join("examples").join(file).display().to_string()
}

fn document(text: &str) -> Value {
    serde_json::from_str(text).expect("a document")
}

#[test]
fn charts_are_one_file_that_needs_no_other() {
    let scratch = Scratch::new();
    let [model, machine] = ["sample/sample.puml", "sample/machine.toml"].map(example);
    let simulate = ["simulate", &model, "--machine", &machine, "--ranks", "4"];
    let charts = [&simulate[..], &["--html", "charts.html", "--json"]].concat();
    let report = document(&scratch.mastermind(&charts).well());
    let page = scratch.read("charts.html");
    assert!(page.starts_with("<!DOCTYPE html>") || page.starts_with("<!doctype html>"));
    for foreign in ["src=", "<link", "@import", "https://"] {
        assert!(!page.contains(foreign), "{foreign}");
    }
    let elements = report["elements"].as_array().expect("a list");
    assert!(!elements.is_empty());
    for element in elements {
        let name = element["name"].as_str().expect("a name");
        assert!(page.contains(name), "{name}");
    }
}

#[test]
fn a_trace_ends_with_the_simulation() {
    let scratch = Scratch::new();
    let [model, machine] = ["sample/sample.puml", "sample/machine.toml"].map(example);
    let simulate = [
        "simulate",
        &model,
        "--machine",
        &machine,
        "--ranks",
        "4",
        "--json",
    ];
    let traced = |file| {
        let words = [&simulate[..], &["--trace", file]].concat();
        let report = document(&scratch.mastermind(&words).well());
        let makespan = report["makespan_ns"].as_u64().expect("nanoseconds");
        (makespan, scratch.read(file))
    };
    let (makespan, perfetto) = traced("run.json");
    let perfetto = document(&perfetto);
    let events = perfetto["traceEvents"].as_array().expect("a list").iter();
    let slices: Vec<_> = events.filter(|event| event["ph"] == "X").collect();
    let number = |value: &Value| value.as_f64().expect("a number");
    let ends = slices
        .iter()
        .map(|slice| number(&slice["ts"]) + number(&slice["dur"]));
    let last_us = ends.fold(0.0, f64::max);
    assert!(
        (last_us * 1e3 - makespan as f64).abs() < 1.0,
        "{last_us} us, {makespan} ns"
    );
    let of = |slice: &&Value| (slice["pid"].to_string(), slice["tid"].to_string());
    assert_eq!(slices.iter().map(of).collect::<BTreeSet<_>>().len(), 4);

    let (makespan, paje) = traced("run.paje");
    assert!(paje.starts_with("%EventDef"));
    let times = paje.lines().filter(|line| !line.starts_with('%'));
    let times = times.filter_map(|line| line.split(' ').nth(1)?.parse::<f64>().ok());
    let last_s = times.fold(0.0, f64::max);
    assert!(
        (last_s * 1e9 - makespan as f64).abs() < 1.0,
        "{last_s} s, {makespan} ns"
    );
}

#[test]
fn a_schedule_ends_when_loggp_says() {
    let scratch = Scratch::new();
    let machine = example("sweep3d/machine.toml");
    scratch.write("ping.goal", SCHEDULE);
    let words = ["simulate", "ping.goal", "--machine", &machine];
    let report = document(
        &scratch
            .mastermind(&[&words[..], &["--json"]].concat())
            .well(),
    );
    let charts = [&words[..], &["--html", "ping.html"]].concat();
    scratch.mastermind(&charts).well();
    let page = scratch.read("ping.html");
    // Calls and time of each rank: work, then two messages' overhead.
    assert!(page.contains("[1,1000],[2,3007]"), "{page}");
    let timed = [&charts[..], &["--timeline", "0-1", "--force"]].concat();
    scratch.mastermind(&timed).well();
    let page = scratch.read("ping.html");
    // The work, and the send behind it.
    let row = "\"rank\":0,\"slices\":[0,0,1000,1,1000,2500,";
    assert!(page.contains(row), "{page}");
    let beyond = [&charts[..], &["--timeline", "0,2", "--force"]].concat();
    let error = scratch.mastermind(&beyond).error();
    let expected = "timeline of process 2: 2 processes, expected one from 0 to 1";
    assert!(error.contains(expected), "{error}");
    let backwards = [&charts[..], &["--timeline", "1-0", "--force"]].concat();
    let ended = scratch.mastermind(&backwards);
    assert_eq!(ended.code, Some(2), "{ended:#?}");
    assert!(
        ended.stderr.contains("\"1-0\", expected a rank"),
        "{ended:#?}"
    );
    // Twice o + L + o + (s - 1) G, after the work.
    assert_eq!(report["makespan_ns"], 1000 + 2 * (1500 + 2500 + 1500 + 7));
    assert_eq!(report["messages"], 2);
    assert!(scratch.mastermind(&words).well().contains("ping"));
}

#[test]
fn a_schedule_on_too_few_processors_is_warned_of() {
    let scratch = Scratch::new();
    scratch.write("ping.goal", SCHEDULE);
    let simulate = ["simulate", "ping.goal", "--machine", "m.toml"];
    for (nodes, is_warned_of) in [(1, true), (2, false)] {
        scratch.write(
            "m.toml",
            format!("[nodes]\ncount = {nodes}\nwaiting = \"yields\"\n"),
        );
        let ended = scratch.mastermind(&simulate);
        let warning = "warning: 2 ranks on a node of 1 processors: each rank of a schedule";
        assert_eq!(
            ended.stderr.contains(warning),
            is_warned_of,
            "{}",
            ended.stderr
        );
        ended.well();
    }
}

#[test]
fn sensitivities_are_the_counts_on_the_longest_path() {
    let scratch = Scratch::new();
    scratch.write("ping.goal", SCHEDULE);
    let [model, machine] = ["sweep3d/sweep3d.toml", "sweep3d/machine.toml"].map(example);
    let ping = ["simulate", "ping.goal", "--machine", &machine];
    let sweep = ["simulate", &model, "--machine", &machine, "--ranks", "100"];
    for (simulate, latencies) in [(&ping[..], Some(2)), (&sweep, None)] {
        let asked = [simulate, &["--sensitivity", "--json"]].concat();
        let report = document(&scratch.mastermind(&asked).well());
        let found = &report["sensitivity"];
        assert_eq!(found["makespan_ns"], report["makespan_ns"]);
        let rows = found["rows"].as_array().expect("rows");
        let times = rows
            .iter()
            .map(|row| row["time_ns"].as_u64().expect("a time"));
        assert_eq!(Some(times.sum()), report["makespan_ns"].as_u64());
        let latency = rows.iter().find(|row| row["parameter"] == "latency_ns");
        let count = latency.and_then(|row| row["count"].as_u64());
        assert!(latencies.is_none() || count == latencies, "{count:?}");
        // The growth that is tolerated makes the run that much longer.
        let one = &found["tolerance"][1];
        assert_eq!(one["confirmed"], true);
        let factor = 1.0 + one["growth_percent"].as_f64().expect("bounded") / 100.0;
        let grown = format!("[network]\nlatency_ns = {}\n", (2500.0 * factor).round());
        let text = std::fs::read_to_string(&machine).expect("a machine");
        let text = text.replace("[network]\nlatency_ns = 2500\n", &grown);
        scratch.write("slow.toml", text);
        let slow = simulate.iter().map(|word| match *word == machine {
            true => "slow.toml",
            false => word,
        });
        let slow: Vec<_> = slow.chain(["--json"]).collect();
        let slow = document(&scratch.mastermind(&slow).well());
        let [slow, before] = [slow, report].map(|it| it["makespan_ns"].as_f64().expect("a time"));
        assert!((slow / before - 1.05).abs() < 0.001, "{}", slow / before);
    }
    // Ranks that share a processor wait for each other's work, which no count shows.
    scratch.write("one.toml", "[nodes]\ncount = 1\nprocessors = 4\n");
    let crowded = [
        "simulate",
        &model,
        "--machine",
        "one.toml",
        "--ranks",
        "100",
    ];
    let error = scratch
        .mastermind(&[&crowded[..], &["--sensitivity"]].concat())
        .error();
    assert!(error.contains("more processes than processors"), "{error}");
}

#[test]
fn a_schedule_with_a_message_that_nobody_receives_is_an_error() {
    let scratch = Scratch::new();
    scratch.write(
        "lost.goal",
        "num_ranks 2\nrank 0 {\nl1: send 8b to 1 tag 3\n}\nrank 1 {\nl1: calc 10\n}\n",
    );
    let machine = example("sweep3d/machine.toml");
    let simulate = ["simulate", "lost.goal", "--machine", &machine];
    let error = scratch.mastermind(&simulate).error();
    assert!(
        error.contains("1 of 1 messages were received by nobody"),
        "{error}"
    );
}

#[test]
fn a_limit_ends_a_run_with_an_error() {
    let scratch = Scratch::new();
    let [model, machine] = ["sample/sample.puml", "sample/machine.toml"].map(example);
    scratch.write("ping.goal", SCHEDULE);
    for model in [model.as_str(), "ping.goal"] {
        let simulate = ["simulate", model, "--machine", &machine, "--ranks", "2"];
        let limited = |limit| [&simulate[..], &["--limit", limit, "--json"]].concat();
        let error = scratch.mastermind(&limited("events=2,time=1")).error();
        let expected = "expected at most 2 events and 1000000000 ns";
        assert!(error.contains(expected), "{error}");
        scratch.mastermind(&limited("events=100,time=1")).well();
        let misused = scratch.mastermind(&limited("rounds=2"));
        assert_eq!(misused.code, Some(2), "{misused:#?}");
        let expected = "expected events=N or time=S";
        assert!(misused.stderr.contains(expected), "{misused:#?}");
    }
}

#[test]
fn what_a_schedule_has_not_is_refused() {
    let scratch = Scratch::new();
    let machine = example("sweep3d/machine.toml");
    scratch.write("ping.goal", SCHEDULE);
    let simulate = ["simulate", "ping.goal", "--machine", &machine];
    for option in [["--main", "x"], ["--set", "a=1"]] {
        let error = scratch
            .mastermind(&[&simulate[..], &option].concat())
            .error();
        assert!(error.contains(option[0]), "{error}");
    }
    let error = scratch
        .mastermind(&[&simulate[..], &["--ranks", "3"]].concat())
        .error();
    assert!(
        error.contains("--ranks 3, expected its own number, 2"),
        "{error}"
    );
    for verb in ["check", "graph", "convert"] {
        let mut words = vec![verb, "ping.goal"];
        if verb == "convert" {
            words.extend(["-o", "made"]);
        }
        let error = scratch.mastermind(&words).error();
        assert!(
            error.contains("a GOAL schedule, expected a program model"),
            "{verb}: {error}"
        );
    }
}

/// A message of 100 kB, which asks first.
const LARGE: &str = "num_ranks 2\nrank 0 {\nl1: calc 1000\nl2: send 100000b to 1 tag 1\nl2 requires l1\n}\n\
    rank 1 {\nl1: recv 100000b from 0 tag 1\n}\n";

/// The finishing times are those that LogGOPSim prints with L 2500, o 1500, g 1000, G 1, S 65535.
#[test]
fn a_schedule_runs_by_the_rules_of_loggopsim_where_they_are_asked_for() {
    let scratch = Scratch::new();
    scratch.write("large.goal", LARGE);
    let machine = example("sample/machine.toml");
    let simulate = ["simulate", "large.goal", "--machine", &machine, "--json"];
    let finishes = |options: &[&str]| {
        let report = document(
            &scratch
                .mastermind(&[&simulate[..], options].concat())
                .well(),
        );
        let processes = report["processes"].as_array().expect("a list").clone();
        let finish = |process: &Value| process["finish_ns"].as_u64().expect("nanoseconds");
        processes.iter().map(finish).collect::<Vec<_>>()
    };
    let trace = ["--rules", "loggopsim", "--trace", "large.json"];
    assert_eq!(finishes(&trace), [5000, 106_499]);
    assert_ne!(finishes(&[]), [5000, 106_499]);
    let trace = document(&scratch.read("large.json"));
    let events = trace["traceEvents"].as_array().expect("a list").iter();
    let kinds: BTreeSet<_> = events
        .filter(|event| event["ph"] == "X")
        .map(|event| event["name"].as_str().expect("a name").to_owned())
        .collect();
    assert_eq!(kinds, ["calc", "recv", "send"].map(str::to_owned).into());
    let model = example("sample/sample.puml");
    let words = [
        "simulate",
        &model,
        "--machine",
        &machine,
        "--rules",
        "loggopsim",
    ];
    let error = scratch.mastermind(&words).error();
    assert!(error.contains("GOAL schedules"), "{error}");
}

/// The elements that a diagram drawn for people lacks are listed by line; another activity is chosen by its name.
#[test]
fn actions_without_costs_are_listed_with_their_places() {
    let scratch = Scratch::new();
    let text = "@startuml Main\nstart\n:read the file;\n:work {cost = ms(1)};\n:write it;\nstop\n@enduml\n\
        @startuml Other\nstart\n:alone {cost = ms(7)};\nstop\n@enduml\n";
    scratch.write("people.puml", text);
    let words = ["simulate", "people.puml", "--missing-costs", "--json"];
    let report = document(&scratch.mastermind(&words).well());
    let missing = report["missing_costs"].as_array().expect("a list");
    let shown: Vec<_> = missing
        .iter()
        .map(|one| (one["element"].as_str(), one["place"].as_str()))
        .collect();
    let expected = [("read the file", "line 3"), ("write it", "line 5")];
    assert_eq!(
        shown,
        expected.map(|(element, place)| (Some(element), Some(place)))
    );
    let machine = example("sample/machine.toml");
    let words = [
        "simulate",
        "people.puml",
        "--machine",
        &machine,
        "--ranks",
        "1",
        "--json",
        "--main",
        "Other",
    ];
    let report = document(&scratch.mastermind(&words).well());
    assert_eq!(report["makespan_ns"], 7_000_000);
    let words = ["check", "people.puml", "--main", "Nobody"];
    let error = scratch.mastermind(&words).error();
    assert!(
        error.contains("Nobody") && error.contains("Other"),
        "{error}"
    );
}

/// One message from the first to the last rank, after work that a variable says: every part of the time is known.
#[test]
fn a_study_varies_ranks_variables_and_the_machine() {
    let scratch = Scratch::new();
    scratch.write(
        "one.toml",
        "[model]\nname = \"one\"\nmain = \"Main\"\n[globals]\nus_of_work = 1\n[activities.Main]\nflow = [\n\
         { action = \"work\", cost = \"us(us_of_work)\" },\n\
         { send = \"s\", to = \"process == 0 ? processes - 1 : none\", bytes = 1 },\n\
         { recv = \"r\", from = \"process == processes - 1 ? 0 : none\" },\n]\n",
    );
    scratch.write(
        "study.toml",
        "ranks = [2, 8]\nanalytic = \"us(us_of_work) + 2 * o + L\"\n[set]\nus_of_work = [1, \"10 * 10\"]\n\
         [machine]\n\"network.latency_ns\" = [1000, 2500]\n",
    );
    let machine = example("sample/machine.toml");
    let words = [
        "simulate",
        "one.toml",
        "--machine",
        &machine,
        "--study",
        "study.toml",
        "--csv",
        "rows.csv",
        "--plot",
        "rows.svg",
        "--json",
    ];
    let report = document(&scratch.mastermind(&words).well());
    let rows = report["rows"].as_array().expect("a list");
    assert_eq!(rows.len(), 8);
    for row in rows {
        let number = |value: &Value| value.as_f64().expect("a number");
        let latency: f64 = row["settings"]["network.latency_ns"]
            .as_str()
            .and_then(|text| text.parse().ok())
            .expect("nanoseconds");
        let work = if row["settings"]["us_of_work"] == "1" {
            1e-6
        } else {
            100e-6
        };
        let expected = work + (2.0 * 1500.0 + latency) * 1e-9;
        assert!((number(&row["time_s"]) - expected).abs() < 1e-12, "{row}");
        assert!((number(&row["ratio"]) - 1.0).abs() < 1e-9, "{row}");
        let ranks = number(&row["ranks"]);
        assert!(
            (number(&row["communication_s"]) - 3000e-9 / ranks).abs() < 1e-12,
            "{row}"
        );
        assert!(
            (number(&row["computation_s"]) - work).abs() < 1e-12,
            "{row}"
        );
    }
    let csv = scratch.read("rows.csv");
    assert_eq!(csv.lines().count(), 9);
    assert!(
        csv.starts_with("ranks,us_of_work,network.latency_ns,time_s,"),
        "{csv}"
    );
    // Over the ranks a line for each latency and work, each with the analytic one.
    let figure = scratch.read("rows.svg");
    let n = |text: &str| figure.matches(text).count();
    assert_eq!(
        n("network.latency_ns = 1000, us_of_work = 10 * 10 (analytic)"),
        1
    );
    assert_eq!(n("(analytic)"), 4);
    assert_eq!(
        n("synchronisation, network.latency_ns = 1000, us_of_work = 1"),
        1
    );
    scratch.write("wrong.toml", "ranks = []\n[set]\nnothing = [1]\n");
    let words = [
        "simulate",
        "one.toml",
        "--machine",
        &machine,
        "--ranks",
        "2",
        "--study",
        "wrong.toml",
    ];
    let error = scratch.mastermind(&words).error();
    assert!(error.contains("\"nothing\""), "{error}");
}

/// One simulation of a model with `chance` is one sample: the report says so, and `--repeat` gives mean and spread.
#[test]
fn random_draws_are_samples() {
    let scratch = Scratch::new();
    let model = "[model]\nname = \"draws\"\nmain = \"Main\"\n[activities.Main]\nflow = [\n  { loop = \"rounds\", count = \"100\", body = [\n    \
        { decision = \"hit\", branches = [{ guard = \"chance(0.25)\", body = [{ action = \"work\", cost = \"us(100)\" }] }, { body = [] }] }\n  ] }\n]\n";
    scratch.write("draws.toml", model);
    let machine = example("sample/machine.toml");
    let simulated = |more: &[&str]| {
        let words = [
            "simulate",
            "draws.toml",
            "--machine",
            &machine,
            "--ranks",
            "1",
            "--json",
        ];
        document(&scratch.mastermind(&[&words[..], more].concat()).well())
    };
    let number = |report: &Value, key: &str| report["sample"][key].as_f64().expect("a number");
    let one = simulated(&[]);
    assert_eq!(number(&one, "repeat"), 1.0);
    assert_eq!(one["sample"].get("std_ns"), None);
    let many = simulated(&["--repeat", "400"]);
    assert_eq!(
        one["makespan_ns"], many["makespan_ns"],
        "the first is seed 0"
    );
    // Binomial: 100 rounds of 100 us with probability 1/4: mean 2.5 ms, deviation 433 us; four standard errors of 400 samples.
    assert!(
        (number(&many, "mean_ns") - 2.5e6).abs() < 4.0 * 433e3 / 20.0,
        "{many}"
    );
    assert!(
        (number(&many, "std_ns") - 433e3).abs() < 4.0 * 433e3 / 28.0,
        "{many}"
    );
    assert_eq!(simulated(&["--seed", "7"]), simulated(&["--seed", "7"]));
}
