//! `run --dry`: methods are left out, their calls are recorded and predicted by models, and no verb treats them as
//! measurements.

use std::path::PathBuf;

use mastermind_tests::{Scratch, mpis};
use serde_json::Value;

/// The shock problem with few steps, and models of its kernels from a run of it.
struct Shock {
    scratch: Scratch,
    assembly: PathBuf,
}

impl Shock {
    /// # Arguments
    /// * `flux` - class of the flux
    /// * `fit` - options of the fit
    fn new(flux: &str, fit: &[&str]) -> Self {
        let scratch = Scratch::new();
        let edits = [
            ("cfl = 0.4", "cfl = 0.4\nmax_steps = 6"),
            (
                "flux = \"hydro.GodunovFlux\"",
                &format!("flux = \"{flux}\""),
            ),
        ];
        let assembly = scratch.example("shock/shock.toml", &[], &edits);
        let shock = Self { scratch, assembly };
        shock.run(&["--records", "real"]).well();
        let fit = [&["fit", "real", "-o", "models.json"], fit].concat();
        shock.scratch.mastermind(&fit).well();
        shock
    }

    fn run(&self, arguments: &[&str]) -> mastermind_tests::Ended {
        self.scratch.verb("run", &self.assembly, arguments)
    }

    fn dry(&self, arguments: &[&str]) -> mastermind_tests::Ended {
        let dry = ["--dry", "models.json", "--records", "dry"];
        self.run(&[&dry, arguments].concat())
    }

    fn prediction(&self) -> Value {
        serde_json::from_str(&self.scratch.read("dry/dry.json")).expect("JSON")
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let text = self.scratch.mastermind(arguments).well();
        serde_json::from_str(&text).expect("JSON")
    }
}

fn calls(profile: &Value, name: &str) -> u64 {
    let rows = profile["rows"].as_array().expect("rows");
    let row = rows.iter().find(|row| row["name"] == name);
    row.map_or(0, |row| row["calls"].as_f64().expect("calls") as u64)
}

fn method<'a>(prediction: &'a Value, name: &str) -> &'a Value {
    let rows = prediction["methods"].as_array().expect("methods");
    let row = rows.iter().find(|row| row["method"] == name);
    row.unwrap_or_else(|| panic!("{name}: {prediction:#}"))
}

#[test]
fn kernels_are_left_out_recorded_and_predicted() {
    let shock = Shock::new("hydro.GodunovFlux", &[]);
    let said = shock.dry(&[]).well();
    // The flux counts the Riemann problems that it solves.
    assert!(!said.contains("riemann_problems"), "{said}");
    let prediction = shock.prediction();
    let of = |name: &str| prediction[name].as_f64().expect("a number");
    let parts = of("own_s") + of("predicted_s");
    assert!((of("total_s") - parts).abs() < 1e-12, "{prediction:#}");
    let [low, high] = [0, 1].map(|end| prediction["interval_s"][end].as_f64().expect("an end"));
    assert!(low <= of("total_s") && of("total_s") <= high);
    let profiles = ["real", "dry"].map(|records| shock.json(&["profile", records, "--json"]));
    let mut sum = 0.0;
    for (row, name) in [
        ("flux.flux.compute", "flux.compute"),
        ("states.states.compute", "states.compute"),
    ] {
        let row = method(&prediction, row);
        let [real, dry] = profiles.each_ref().map(|profile| calls(profile, name));
        assert_eq!(row["calls"].as_u64(), Some(dry));
        assert_eq!((real, row["beyond_range"].as_u64()), (dry, Some(0)));
        sum += row["predicted_s"].as_f64().expect("seconds");
    }
    assert!(
        (sum - of("predicted_s")).abs() < 1e-9 * sum,
        "{prediction:#}"
    );
    // The methods that are not left out run.
    assert!(calls(&profiles[1], "mesh.fill_ghosts") > 0);
}

/// Calls at sizes beyond those of the models are counted as such, with a warning.
#[test]
fn a_method_of_another_size_is_beyond_the_range() {
    let shock = Shock::new("hydro.GodunovFlux", &[]);
    let larger = ["--set", "mesh.nx=384", "--set", "mesh.ny=128"];
    let ended = shock.dry(&larger);
    assert!(
        ended.stderr.contains("calls are outside of"),
        "{}",
        ended.stderr
    );
    ended.well();
    let prediction = shock.prediction();
    let row = method(&prediction, "flux.flux.compute");
    assert_eq!(row["calls"], row["beyond_range"]);
}

#[test]
fn no_verb_takes_dry_calls_for_measurements() {
    let shock = Shock::new("hydro.GodunovFlux", &[]);
    shock.dry(&[]).well();
    let fit = shock
        .scratch
        .mastermind(&["fit", "dry", "-o", "of-dry.json"]);
    assert!(fit.stderr.contains("flux.flux.compute"), "{}", fit.stderr);
    fit.well();
    let models: Value = serde_json::from_str(&shock.scratch.read("of-dry.json")).expect("JSON");
    let models = models["models"].as_array().expect("models");
    let has = |name: &str| models.iter().any(|model| model["method"] == name);
    assert!(
        !has("hydro.GodunovFlux::flux.compute") && !has("hydro.StatesConstructor::states.compute")
    );
    assert!(has("hydro.InviscidFlux::rhs.evaluate"));
    for verb in [
        &["profile", "dry"][..],
        &["profile", "dry", "--summary"],
        &["compare", "real", "dry"],
        &["export", "dry", "-o", "dry.csv"],
        &["info", "dry"],
    ] {
        let said = shock.scratch.mastermind(verb).stderr;
        assert!(said.contains("dry run"), "{verb:?}: {said}");
    }
    let info = shock.json(&["info", "dry", "--json"]);
    let left_out = serde_json::json!(["flux.flux.compute", "states.states.compute"]);
    assert_eq!(info["dry"], left_out);
    let added = ["history", "add", "dry", "--to", "history"];
    let error = shock.scratch.mastermind(&added).error();
    assert!(error.contains("dry"), "{error}");
    // A full run that overwrites the dry one is not a dry run.
    shock.run(&["--records", "dry", "--overwrite"]).well();
    assert!(!shock.scratch.path("dry/dry.json").exists());
    let said = shock.scratch.mastermind(&["profile", "dry"]).stderr;
    assert!(!said.contains("dry run"), "{said}");
}

#[test]
fn what_cannot_be_run_dry_is_an_error() {
    let shock = Shock::new("hydro.GodunovFlux", &[]);
    let undeclared = shock
        .scratch
        .read("shock.toml")
        .replace("[dry]\nmethods", "#");
    let undeclared = shock.scratch.write("undeclared.toml", undeclared);
    let dry = ["--dry", "models.json", "--records", "none"];
    let error = shock.scratch.verb("run", &undeclared, &dry).error();
    assert!(error.contains("flux.compute ("), "{error}");
    for (arguments, expected) in [
        (
            &["--dry-method", "flux.comput"][..],
            "\"flux.flux.compute\"",
        ),
        (&["--dry-method", "fluxes.*"], "no such instance"),
        (&["--dry-method", "rhs.evaluate"], "--metric inclusive"),
        (&["--dry-method", "driver.go"], "starts the assembly"),
        (
            &["--replace", "flux=hydro.EfmFlux"],
            "hydro.EfmFlux::flux.compute",
        ),
    ] {
        let error = shock.dry(arguments).error();
        assert!(error.contains(expected), "{arguments:?}: {error}");
        assert!(!shock.scratch.path("dry").exists(), "{arguments:?}");
    }
    for arguments in [
        &["--dry", "models.json"][..],
        &[
            "--dry",
            "models.json",
            "--records",
            "dry",
            "--monitor",
            "flux.flux",
        ],
        &["--dry-method", "flux.compute"],
        &[
            "--dry",
            "models.json",
            "--records",
            "dry",
            "--adapt",
            "models.json",
        ],
    ] {
        assert_eq!(shock.run(arguments).code, Some(2), "{arguments:?}");
    }
    // The driver needs a rate.
    let error = shock
        .dry(&["--dry-method", "characteristics.max_rate"])
        .error();
    assert!(error.contains("--verify"), "{error}");
}

/// A method that calls others is left out with its callees, by models of its whole time.
#[test]
fn a_method_that_calls_others_is_predicted_with_them() {
    let shock = Shock::new("hydro.GodunovFlux", &["--metric", "inclusive"]);
    shock.dry(&["--dry-method", "rhs.*"]).well();
    let prediction = shock.prediction();
    let count = |name: &str| method(&prediction, name)["calls"].as_u64();
    let real = shock.json(&["profile", "real", "--json"]);
    assert_eq!(
        count("rhs.rhs.evaluate"),
        Some(calls(&real, "rhs.evaluate"))
    );
    assert_eq!(count("flux.flux.compute"), Some(0));
}

#[test]
fn a_component_in_c_is_left_out() {
    if !mastermind_tests::bin_dir()
        .join("libhydro_efm_flux_c.so")
        .exists()
    {
        return mastermind_tests::skip("a component in C", "it was not built");
    }
    let shock = Shock::new("hydro.EfmFluxC", &[]);
    shock.dry(&[]).well();
    let real = shock.json(&["profile", "real", "--json"]);
    let prediction = shock.prediction();
    let row = method(&prediction, "flux.flux.compute");
    assert_eq!(row["calls"].as_u64(), Some(calls(&real, "flux.compute")));
}

#[test]
fn outputs_that_are_used_are_found() {
    let shock = Shock::new("hydro.GodunovFlux", &[]);
    let verify = ["--dry", "models.json", "--verify"];
    let ended = shock.run(&verify);
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    // With unchanged outputs the steps are the same; with NaN there is no next step.
    assert!(
        ended.stdout.contains("left as they are: the same calls"),
        "{ended:#?}"
    );
    assert!(
        ended
            .stdout
            .contains("of flux.flux.compute alone NaN: call"),
        "{ended:#?}"
    );
    let sweep = mastermind_tests::bin_dir().join("libhydro_size_sweep.so");
    // A sweep over sizes calls its kernels whatever their results.
    let edits = [
        ("sizes = 48", "sizes = 4"),
        ("largest = 4e6", "largest = 4e4"),
        ("repetitions = 20", "repetitions = 2"),
    ];
    let sweep = shock.scratch.example("sweep/sweep.toml", &[&sweep], &edits);
    shock
        .scratch
        .verb("run", &sweep, &["--records", "sweep"])
        .well();
    shock
        .scratch
        .mastermind(&["fit", "sweep", "-o", "sweep.json"])
        .well();
    let kernels = ["--dry-method", "flux.*", "--dry-method", "states.compute"];
    let verify = [&["--dry", "sweep.json", "--verify"][..], &kernels].concat();
    let said = shock.scratch.verb("run", &sweep, &verify).well();
    assert!(said.contains("NaN: the same calls"), "{said}");
}

#[test]
fn each_rank_is_predicted() {
    for mpi in mpis() {
        let shock = Shock::new("hydro.GodunovFlux", &[]);
        let kind = mpi.kind.name();
        let ranks = ["--ranks", "2", "--mpi", kind, "--mpi-events"];
        shock.dry(&ranks).well();
        let prediction = shock.prediction();
        let rows = prediction["ranks"].as_array().expect("ranks");
        assert_eq!(rows.len(), 2, "{prediction:#}");
        assert!(
            rows.iter()
                .all(|row| row["predicted_s"].as_f64() > Some(0.0))
        );
        let real = shock.json(&["profile", "real", "--json"]);
        let row = method(&prediction, "flux.flux.compute");
        assert_eq!(row["calls"].as_u64(), Some(calls(&real, "flux.compute")));
        // In a replay the ranks wait for each other, and compute for the predicted time of the calls that were left
        // out.
        shock.scratch.write("machine.toml", MACHINE);
        let replay = ["simulate", "dry", "--machine", "machine.toml", "--json"];
        let error = shock.scratch.mastermind(&replay).error();
        assert!(error.contains("dry run"), "{error}");
        let simulated = shock.json(&[&replay[..], &["--models", "models.json"]].concat());
        let work: f64 = rows
            .iter()
            .map(|row| row["predicted_s"].as_f64().unwrap_or(0.0))
            .sum();
        let processes = simulated["processes"].as_array().expect("processes");
        assert_eq!(processes.len(), 2);
        let makespan_s = simulated["makespan_ns"].as_f64().expect("a time") * 1e-9;
        assert!(makespan_s > 0.5 * work, "{makespan_s} {work}");
        let verify = [
            "--dry",
            "models.json",
            "--verify",
            "--ranks",
            "2",
            "--mpi",
            kind,
        ];
        let ended = shock.run(&verify);
        assert_eq!(ended.code, Some(1), "{ended:#?}");
        assert!(
            ended.stdout.contains("left as they are: the same calls"),
            "{ended:#?}"
        );
    }
}

const MACHINE: &str = "[nodes]\nprocessors = 1\n[network]\nlatency_ns = 1500\noverhead_ns = 300\ngap_ns = 500\ngap_per_byte_ns = 0.1\n";
