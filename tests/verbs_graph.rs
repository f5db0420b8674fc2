//! `graph` with the records of a run and models of them: Figures 1, 7 and 8 of the paper.

use std::path::PathBuf;

use mastermind_tests::Scratch;
use serde_json::Value;

/// Records a few steps and fits models.
fn recorded(scratch: &Scratch) -> PathBuf {
    let edit = ("cfl = 0.4", "cfl = 0.4\nmax_steps = 3");
    let assembly = scratch.example("shock/shock.toml", &[], &[edit]);
    scratch
        .verb("run", &assembly, &["--records", "records"])
        .well();
    let fit = ["fit", "records", "-o", "models.json"];
    scratch.mastermind(&fit).well();
    assembly
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn calls_and_times_of_a_run_are_those_of_its_profile() {
    let scratch = Scratch::new();
    let assembly = recorded(&scratch);
    let with = ["--records", "records", "--models", "models.json"];
    let graph = |format| {
        scratch.verb(
            "graph",
            &assembly,
            &[&with[..], &["--format", format]].concat(),
        )
    };
    let graph_json = json(&graph("json").well());
    let profile = json(&scratch.mastermind(&["profile", "records", "--json"]).well());
    let rows = profile["rows"].as_array().expect("rows");
    let sum = |instance: &str, field: &str| -> f64 {
        let prefix = format!("{instance}.");
        let of_instance = |row: &&Value| row["name"].as_str().expect("a name").starts_with(&prefix);
        let rows = rows.iter().filter(of_instance);
        rows.map(|row| row[field].as_f64().expect("a number")).sum()
    };
    let edges = graph_json["connections"].as_array().expect("connections");
    let calls = |instance: &str| -> f64 {
        let to = edges.iter().filter(|edge| edge["provider"] == instance);
        to.map(|edge| edge["calls"].as_f64().unwrap_or(0.0)).sum()
    };
    for instance in ["flux", "states", "mesh", "rk2", "bc", "output"] {
        assert!(calls(instance) > 0.0, "{instance}");
        assert_eq!(calls(instance), sum(instance, "calls"), "{instance}");
    }
    assert_eq!(graph_json["ranks"], 1);
    for node in graph_json["instances"].as_array().expect("instances") {
        let name = node["name"].as_str().expect("a name");
        let measured_s = node["measured"]["compute_s"].as_f64().expect("a time");
        let own_s = sum(name, "exclusive_ns") * 1e-9;
        assert!(
            (measured_s / own_s - 1.0).abs() < 1e-6,
            "{name}: {measured_s}, expected {own_s}"
        );
        // Models keep the total of the calls that they were fitted to, unless a part was clamped.
        let predicted_s = node["predicted"]["compute_s"].as_f64().expect("a time");
        assert!(
            predicted_s > 0.5 * own_s && predicted_s < 2.0 * own_s,
            "{name}: {predicted_s}, measured {own_s}"
        );
        assert_eq!(node["predicted"]["modelled"], true, "{name}");
    }
    let picture = graph("svg").well();
    // "output" has nothing to write, and does not ask the mesh.
    assert_eq!(picture.matches("class=\"calls\"").count(), 12);
    assert!(picture.contains("model: "), "{picture}");
    let dot = graph("dot").well();
    assert_eq!(dot.matches("[label=\"").count(), 11 + 12, "{dot}");
}

/// The dual of another assembly: with models of its records elsewhere.
#[test]
fn what_has_no_model_is_named() {
    let scratch = Scratch::new();
    let assembly = recorded(&scratch);
    let other = ["--replace", "flux=hydro.EfmFlux", "--records", "records"];
    let ended = scratch.verb(
        "graph",
        &assembly,
        &[&other[..], &["--models", "models.json"]].concat(),
    );
    let error = ended.error();
    assert!(error.contains("hydro.EfmFlux"), "{error}");
    scratch.verb("graph", &assembly, &other).well();
    let ended = scratch.verb("graph", &assembly, &["--models", "models.json"]);
    assert_eq!(ended.code, Some(2), "{ended:#?}");
    let sod = scratch.write(
        "other.toml",
        "[assembly]\nname = \"other\"\n[instances]\nx = \"x.Y\"\n",
    );
    let error = scratch
        .verb("graph", &sod, &["--records", "records"])
        .error();
    assert!(
        error.contains("expected some of an instance of the assembly"),
        "{error}"
    );
}

#[test]
fn proxies_are_where_a_run_would_put_them() {
    let scratch = Scratch::new();
    let assembly = scratch.example("shock/shock.toml", &[], &[]);
    let graph = |monitor: &str| {
        scratch.verb(
            "graph",
            &assembly,
            &["--format", "svg", "--monitor", monitor],
        )
    };
    let proxies = |monitor: &str| graph(monitor).well().matches("class=\"proxy\"").count();
    // The mesh has four users.
    assert_eq!(proxies("flux.flux,states.states,mesh.mesh"), 2 + 4);
    assert_eq!(proxies("hydro.Flux"), 1);
    assert_eq!(proxies("all"), 13);
    assert_eq!(proxies("none"), 0);
    let error = graph("nobody.there").error();
    assert!(error.contains("cannot monitor \"nobody.there\""), "{error}");
}
