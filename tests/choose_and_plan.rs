//! From planned runs to models, and from these to the best assembly, with what it must have.

use std::path::PathBuf;

use mastermind_tests::{Scratch, mpis};
use serde_json::Value;

/// The case study for a short while, with two fluxes and two constructors of states, and their authors' annotations.
fn shock(scratch: &Scratch) -> PathBuf {
    let attributes = "[attributes.\"hydro.GodunovFlux\"]\nscratch_bytes = 64.0\nexact = 1\n\n\
                      [attributes.\"hydro.EfmFlux\"]\nscratch_bytes = 128.0\nexact = 0\n\n[go]";
    let fluxes = "\"hydro.GodunovFlux\", \"hydro.EfmFlux\", \"hydro.EfmFluxC\"";
    let edits = [
        (fluxes, "\"hydro.GodunovFlux\", \"hydro.EfmFlux\""),
        ("end_time = 0.85", "end_time = 0.03"),
        ("[go]", attributes),
    ];
    scratch.example("shock/shock.toml", &[], &edits)
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn planned_runs_give_the_models_of_every_alternative() {
    let scratch = Scratch::new();
    let assembly = shock(&scratch);
    let plan = |arguments: &[&str]| scratch.verb("plan", &assembly, arguments);
    let output = plan(&[]).well();
    assert!(
        output.contains(
            "4 runs show every alternative, and all 4 pairs of connected ones; no fewer would do"
        ) && output.contains("5 times each: 20 runs, of unknown length"),
        "{output}"
    );
    let run = [
        "--run",
        "--records",
        "planned",
        "--repeat",
        "2",
        "--set",
        "mesh.nx=48",
    ];
    let output = plan(&run).well();
    assert!(output.contains("8 runs in "), "{output}");
    let again = plan(&run).error();
    assert!(
        again.contains(
            "cannot record planned runs in \"planned\": it exists, expected a new folder"
        ),
        "{again}"
    );
    let planned = json(&plan(&["--like", "planned/run1-1", "--repeat", "2", "--json"]).well());
    assert_eq!(
        (&planned["total_runs"], &planned["least_runs"]),
        (&Value::from(8), &Value::from(4))
    );
    assert!(planned["expected_s"].as_f64() > Some(0.0), "{planned}");
    assert_eq!(planned["runs"][0]["flux"], "hydro.GodunovFlux");

    let folders: Vec<String> = (1..=4).map(|run| format!("planned/run{run}-1")).collect();
    let mut fit = vec!["fit", "-o", "models.json"];
    fit.extend(folders.iter().map(String::as_str));
    scratch.mastermind(&fit).well();
    let choose = |arguments: &[&str]| {
        let models = ["--models", "models.json", "--records", "planned/run1-1"];
        scratch.verb("choose", &assembly, &[&models[..], arguments].concat())
    };
    let chosen = json(&choose(&["--json", "--best", "3", "--pareto", "scratch_bytes"]).well());
    assert_eq!(
        (&chosen["assemblies"], &chosen["proved"]),
        (&Value::from("4"), &Value::from(true))
    );
    let ranked = chosen["ranked"].as_array().expect("assemblies");
    let times: Vec<_> = ranked
        .iter()
        .map(|r| r["predicted_s"].as_f64().expect("seconds"))
        .collect();
    assert!(times.len() == 3 && times.is_sorted(), "{times:?}");
    assert_eq!(ranked[0]["assembly"]["flux"], chosen["best"]["flux"]);
    assert!(chosen["doubt"]["told_apart"].is_boolean(), "{chosen}");
    assert!(!chosen["pareto"].as_array().expect("a set").is_empty());

    assert_eq!(chosen["between_runs"], Value::Null);
    assert_eq!(chosen["interval_s"], Value::from(vec![Value::Null; 2]));
    let output = choose(&[]).well();
    assert!(
        output.contains("spread between runs unknown: no interval"),
        "{output}"
    );
    assert!(
        output.contains("seconds are those of the wall in the runs"),
        "{output}"
    );
    let mut medians = vec!["fit", "-o", "medians.json", "--statistic", "median"];
    medians.extend(folders.iter().map(String::as_str));
    scratch.mastermind(&medians).well();
    let output = scratch.verb(
        "choose",
        &assembly,
        &["--models", "medians.json", "--records", "planned/run1-1"],
    );
    let output = output.well();
    assert!(
        output.contains("seconds are those of the processor: "),
        "{output}"
    );
    // A single repetition of one assembly is not enough, unless earlier runs add information.
    for run in 1..=2 {
        let (from, to) = (format!("planned/run1-{run}"), format!("once/run1-{run}"));
        std::fs::create_dir_all(scratch.path("once")).expect("a folder");
        std::os::unix::fs::symlink(scratch.path(&from), scratch.path(&to)).expect("a link");
    }
    let output = choose(&["--runs", "once"]).well();
    assert!(
        output.contains(
            "spread between runs hardly known, 1 degrees of freedom, expected 3: no interval"
        ),
        "{output}"
    );
    let earlier = json(&choose(&["--json", "--runs", "once", "--earlier", "planned"]).well());
    assert_eq!(earlier["between_runs"]["freedom"], 5.0);
    assert!(earlier["interval_s"][1].as_f64() > Some(0.0), "{earlier}");
    let spread = json(&choose(&["--json", "--runs", "planned"]).well());
    assert_eq!(
        (
            &spread["between_runs"]["runs"],
            &spread["between_runs"]["freedom"]
        ),
        (&2.into(), &4.0.into())
    );
    let [low, high] = [0, 1].map(|at| spread["interval_s"][at].as_f64().expect("an end"));
    assert!(low < times[0] && times[0] < high, "{spread}");
    // Two totals, twenty times each: there are no tails, so the interval ends at these values, not at two deviations.
    for run in 0..40 {
        let (from, to) = (
            format!("planned/run1-{}", run % 2 + 1),
            format!("many/{run}"),
        );
        std::fs::create_dir_all(scratch.path("many")).expect("a folder");
        std::os::unix::fs::symlink(scratch.path(&from), scratch.path(&to)).expect("a link");
    }
    let many = json(&choose(&["--json", "--runs", "many"]).well());
    // If other work made these runs differ from the models, Student's interval is the narrower one.
    let bounds = ["low", "high"].map(|end| many["run_bounds"][end].as_f64());
    let output = choose(&["--runs", "many"]).well();
    let says = output.contains("95 % of the runs differ from what the models say by ");
    assert_eq!(says, bounds[0].is_some(), "{output}");
    if let [Some(low), Some(high)] = bounds {
        let deviation = many["between_runs"]["deviation"]
            .as_f64()
            .expect("a number");
        let apart = 2.0 * deviation * (39.0_f64 / 40.0).sqrt();
        assert!(
            ((high - low) / apart - (40.0_f64 / 39.0).sqrt()).abs() < 0.01,
            "{many}"
        );
    }
    let error = choose(&["--runs", "planned/run1-1"]).error();
    assert!(
        error.contains("no folder in it, expected one for each run"),
        "{error}"
    );

    let error = choose(&["--runs", "planned", "--set", "mesh.nx=96"]).error();
    assert!(
        error.contains("cannot scale the workload to mesh") && error.contains("all runs have 48"),
        "{error}"
    );
    let error = choose(&["--runs", "planned", "--set", "mesh.depth=96"]).error();
    assert!(
        error.contains("cannot scale the workload by mesh.depth: no such number"),
        "{error}"
    );
    let error = choose(&["--runs", "planned", "--set", "mesh.nx=many"]).error();
    assert!(
        error.contains("cannot scale the workload by mesh.nx: \"many\", expected a number"),
        "{error}"
    );

    let exact = [
        "--require",
        "flux.exact == 1",
        "--export",
        "shock.cfn",
        "--json",
    ];
    let exact = json(&choose(&exact).well());
    assert_eq!(exact["best"]["flux"], "hydro.GodunovFlux");
    assert!(
        scratch
            .read("shock.cfn")
            .starts_with("{\"problem\":{\"name\":\"shock-godunov\"")
    );
    let error = choose(&["--require", "flux.exact > 1"]).error();
    assert!(
        error.contains("cannot choose an assembly: none of them is allowed, expected one; take back one of the requirements \"flux.exact > 1\""),
        "{error}"
    );
    let error = choose(&["--require", "states.exact > 1"]).error();
    assert!(error.contains("of \"states\" declares no exact"), "{error}");
    let error = choose(&["--pareto", "residual"]).error();
    assert!(
        error.contains("cannot find the Pareto set of residual: no class declares it"),
        "{error}"
    );
}

#[test]
fn an_alternative_without_a_model_is_named_or_refused() {
    let scratch = Scratch::new();
    let assembly = shock(&scratch);
    scratch
        .verb("run", &assembly, &["--records", "records"])
        .well();
    scratch
        .mastermind(&["fit", "records", "-o", "models.json"])
        .well();
    let models = ["--models", "models.json", "--records", "records"];
    let ended = scratch.verb("choose", &assembly, &models);
    assert!(
        ended.stderr.contains(
            "warning: not chosen from: cannot predict instance \"flux\" as \"hydro.EfmFlux\""
        ),
        "{ended:#?}"
    );
    assert!(ended.well().contains("choose the current assembly"));
    let error = scratch
        .verb("choose", &assembly, &[&models[..], &["--strict"]].concat())
        .error();
    assert!(
        error.contains("record a run with --replace flux=hydro.EfmFlux and fit it"),
        "{error}"
    );
}

#[test]
fn records_of_another_assembly_are_refused() {
    let scratch = Scratch::new();
    let assembly = shock(&scratch);
    scratch
        .verb("run", &assembly, &["--records", "records"])
        .well();
    scratch
        .mastermind(&["fit", "records", "-o", "models.json"])
        .well();
    let other = "[assembly]\nname = \"other\"\n\n[instances]\nsolver = \"hydro.EfmFlux\"\n";
    let other = scratch.write("other.toml", other);
    let models = ["--models", "models.json", "--records", "records"];
    let error = scratch.verb("choose", &other, &models).error();
    assert!(
        error.contains("cannot choose for records \"records\": calls of other instances or classes, expected some of an instance of assembly \"other\""),
        "{error}"
    );
    // An instance of the same name, of another class.
    let namesake = "[assembly]\nname = \"namesake\"\n\n[instances]\nstates = \"hydro.EfmFlux\"\n";
    let namesake = scratch.write("namesake.toml", namesake);
    let error = scratch.verb("choose", &namesake, &models).error();
    assert!(
        error.contains("calls of other instances or classes, expected some of an instance of assembly \"namesake\""),
        "{error}"
    );
    let error = scratch.verb("plan", &other, &[]).error();
    assert!(
        error.contains("cannot plan runs: no instance has two classes"),
        "{error}"
    );

    let graph = ["--records", "records", "--format", "json"];
    let graph = json(&scratch.verb("graph", &assembly, &graph).well());
    let vertices = graph["call_graph"].as_array().expect("vertices");
    let flux = vertices
        .iter()
        .find(|v| v["instance"] == "flux")
        .expect("the flux");
    let caller = &vertices[flux["caller"].as_u64().expect("a caller") as usize];
    assert_eq!(caller["instance"], "rhs");
    let n = flux["calls"]["count"].as_u64().expect("calls");
    assert_eq!(flux["calls"]["parameters"]["q"]["count"], n);
    assert!(n > 0 && flux["inclusive_s"].as_f64() > Some(0.0), "{flux}");
}

/// Runs of two assemblies at three sizes, each with its own disturbances: the predicted total at another size uses all
/// of them, whichever one is named.
#[test]
fn a_larger_total_is_the_same_whichever_run_is_named() {
    let scratch = Scratch::new();
    let assembly = shock(&scratch);
    for flux in ["hydro.GodunovFlux", "hydro.EfmFlux"] {
        for nx in [24, 36, 48] {
            let [x, y] = [format!("mesh.nx={nx}"), format!("mesh.ny={}", nx / 3)];
            let (folder, class) = (format!("runs/{flux}-{nx}"), format!("flux={flux}"));
            let words = ["--records", &folder, "--set", &x, "--set", &y];
            let end = ["--set", "driver.end_time=0.1", "--replace", &class];
            let words = [&words[..], &end[..]].concat();
            scratch.verb("run", &assembly, &words).well();
        }
    }
    let runs: Vec<String> = std::fs::read_dir(scratch.path("runs"))
        .expect("runs")
        .map(|run| run.expect("a run").path().display().to_string())
        .collect();
    let runs: Vec<&str> = runs.iter().map(String::as_str).collect();
    let fit = [&["fit"], &runs[..], &["-o", "models.json"]].concat();
    scratch.mastermind(&fit).well();
    let larger = ["--set", "mesh.nx=96", "--set", "mesh.ny=32"];
    let totals = |named: &&str| {
        let words = ["--models", "models.json", "--json", "--runs", "runs"];
        let records = ["--best", "2", "--records", named];
        let words = [&words[..], &records[..], &larger[..]].concat();
        let choice = json(&scratch.verb("choose", &assembly, &words).well());
        let ranked = choice["ranked"].as_array().expect("assemblies");
        let total = |ranked: &Value| ranked["predicted_s"].as_f64().expect("seconds");
        ranked.iter().map(total).collect::<Vec<f64>>()
    };
    let all: Vec<Vec<f64>> = runs.iter().map(totals).collect();
    for (totals, named) in all.iter().zip(&runs) {
        assert_eq!(totals.len(), 2, "{named}");
        for (total, first) in totals.iter().zip(&all[0]) {
            assert!((total / first - 1.0).abs() < 1e-9, "{named}: {all:?}");
        }
    }
}

/// Calls of `flux` predicted at twice the largest mesh, compared with a run of that size.
#[test]
fn a_larger_workload_is_predicted_from_smaller_runs() {
    let scratch = Scratch::new();
    let assembly = shock(&scratch);
    let run = |nx: u32, folder: &str| {
        let [x, y] = [format!("mesh.nx={nx}"), format!("mesh.ny={}", nx / 3)];
        let end = "driver.end_time=0.1";
        let words = ["--records", folder, "--set", &x, "--set", &y, "--set", end];
        scratch.verb("run", &assembly, &words).well();
    };
    for nx in [48, 72, 96] {
        run(nx, &format!("runs/{nx}"));
    }
    run(192, "large");
    scratch
        .mastermind(&["fit", "runs/48", "runs/72", "runs/96", "-o", "models.json"])
        .well();
    let calls = |arguments: &[&str]| {
        let models = ["--models", "models.json", "--json"];
        let chosen = scratch.verb("choose", &assembly, &[&models[..], arguments].concat());
        let chosen = json(&chosen.well());
        let rows = chosen["instances"].as_array().expect("rows");
        let of = |name: &str| {
            let current = |row: &&Value| row["instance"] == name && row["current"] == true;
            let row = rows.iter().find(current).expect("a row");
            row["calls"].as_f64().expect("a number")
        };
        ["flux", "mesh", "output"].map(of)
    };
    let larger = ["--set", "mesh.nx=192", "--set", "mesh.ny=64"];
    let scaled = calls(&[&["--records", "runs/48", "--runs", "runs"], &larger[..]].concat());
    let run = calls(&["--records", "large"]);
    for (scaled, run) in scaled.iter().zip(run) {
        assert!((scaled / run - 1.0).abs() < 0.05, "{scaled}, run {run}");
    }
    // A setting of the runs is a parameter of their calls.
    let fit = |by: &'static str| {
        let inputs = ["fit", "runs/48", "runs/72", "runs/96", "--json", "--by", by];
        scratch.mastermind(&inputs)
    };
    let models = json(&fit("mesh.nx,ranks").well());
    for model in models["models"].as_array().expect("models") {
        let range = &model["range"];
        assert_eq!(
            (&range["mesh.nx"][0], &range["mesh.nx"][1]),
            (&48.0.into(), &96.0.into())
        );
        assert_eq!(range["ranks"][1], 1.0);
    }
    let error = fit("mesh.nz").error();
    let wanted = "no such number among the run's settings, expected INSTANCE.KEY";
    assert!(
        error.contains("by \"mesh.nz\"") && error.contains(wanted),
        "{error}"
    );
}

/// A total on two ranks has two parts, each from runs on two ranks. A run gives both of its own.
#[test]
fn computation_and_waiting_of_ranks_are_predicted_apart() {
    let Some(mpi) = mpis().into_iter().next() else {
        return;
    };
    let scratch = Scratch::new();
    let assembly = shock(&scratch);
    let size = |nx: u32| [format!("mesh.nx={nx}"), format!("mesh.ny={}", nx / 3)];
    let mut fit = vec!["fit".to_owned()];
    for ranks in ["1", "2"] {
        for nx in [48, 72, 96] {
            let ([x, y], folder) = (size(nx), format!("runs/{ranks}-{nx}"));
            let records = ["--records", &folder, "--set", &x, "--set", &y];
            let launched = ["--ranks", ranks, "--mpi", mpi.kind.name()];
            let words = [&records[..], &launched].concat();
            scratch.verb("run", &assembly, &words).well();
            fit.push(folder);
        }
    }
    let output = ["-o", "models.json", "--statistic", "median"];
    fit.extend(output.map(str::to_owned));
    let fit: Vec<&str> = fit.iter().map(String::as_str).collect();
    scratch.mastermind(&fit).well();
    let choose = |arguments: &[&str]| {
        let models = ["--models", "models.json", "--json"];
        json(
            &scratch
                .verb("choose", &assembly, &[&models[..], arguments].concat())
                .well(),
        )
    };
    let measured = |folder: &str| {
        let choice = choose(&["--records", folder]);
        ["wall_s", "computation_s", "mpi_s"]
            .map(|part| choice["measured"][part].as_f64().expect(part))
    };
    let [wall_s, computation_s, mpi_s] = measured("runs/2-96");
    assert!(mpi_s > 0.0 && mpi_s < wall_s, "{mpi_s} of {wall_s}");
    assert!(
        computation_s > 0.0 && computation_s < wall_s,
        "{computation_s} of {wall_s}"
    );
    assert_eq!(measured("runs/1-96")[2], 0.0);
    let [x, y] = size(120);
    let wanted = [
        "--records",
        "runs/2-96",
        "--runs",
        "runs",
        "--ranks",
        "2",
        "--set",
        &x,
        "--set",
        &y,
    ];
    let choice = choose(&wanted);
    let on_ranks = &choice["on_ranks"];
    assert_eq!(on_ranks["ranks"], 2, "{choice}");
    assert!(on_ranks["processors"].as_u64() >= Some(1), "{choice}");
    assert_eq!(on_ranks["mpi"]["runs"], 3, "{choice}");
    let [computation_s, mpi_s] =
        ["computation_s", "mpi_s"].map(|part| on_ranks[part].as_f64().expect(part));
    let whole_s = choice["predicted_s"].as_f64().expect("a time");
    assert!(computation_s > 0.0 && mpi_s > 0.0, "{choice}");
    assert!(
        (computation_s + mpi_s - whole_s).abs() < 1e-9 * whole_s,
        "{choice}"
    );
}
