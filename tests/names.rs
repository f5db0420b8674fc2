//! A method has one name in a run and one in models, and each verb accepts a shorter form that means one method.

use mastermind_tests::Scratch;

fn recorded() -> Scratch {
    let scratch = Scratch::new();
    let assembly = scratch.example("sod/sod.toml", &[], &[]);
    let short = ["--set", "driver.max_steps=6", "--records", "records"];
    scratch.verb("run", &assembly, &short).well();
    scratch
        .mastermind(&["fit", "records", "-o", "models.json"])
        .well();
    scratch
}

#[test]
fn short_forms_that_mean_one_method_are_taken_in_every_verb() {
    let scratch = recorded();
    for name in [
        "flux.flux.compute",
        "flux.compute",
        "hydro.GodunovFlux::flux.compute",
        "GodunovFlux::flux.compute",
    ] {
        for kind in ["scatter", "mean"] {
            let plot = [
                "plot", "records", "--kind", kind, "--method", name, "-o", "f.svg", "--force",
            ];
            scratch.mastermind(&plot).well();
            assert!(scratch.read("f.svg").contains("compute"), "{name}");
        }
        let fitted = scratch
            .mastermind(&["fit", "records", "--method", name, "--json"])
            .well();
        let fitted: serde_json::Value = serde_json::from_str(&fitted).expect("JSON");
        let models = fitted["models"].as_array().expect("models");
        let is_it =
            |model: &serde_json::Value| model["method"] == "hydro.GodunovFlux::flux.compute";
        assert!(
            !models.is_empty() && models.iter().all(is_it),
            "{name}: {fitted}"
        );
    }
    for name in ["hydro.GodunovFlux::flux.compute", "flux.compute"] {
        let format = [
            "predict",
            "models.json",
            "--method",
            name,
            "--format",
            "text",
        ];
        let text = scratch.mastermind(&format).well();
        assert!(text.contains("hydro.GodunovFlux"), "{name}: {text}");
    }
    let assembly = scratch.path("sod.toml");
    for (name, records) in [("states.states.compute", "a"), ("states.compute", "b")] {
        let counters = format!("{name}:ru_minflt");
        let options = [
            "--counters",
            &counters,
            "--records",
            records,
            "--set",
            "driver.max_steps=1",
        ];
        scratch.verb("run", &assembly, &options).well();
    }
}

#[test]
fn what_means_several_lists_them_and_what_means_none_names_the_nearest() {
    let scratch = recorded();
    let plot = |name: &str| {
        scratch
            .mastermind(&["plot", "records", "--kind", "scatter", "--method", name])
            .error()
    };
    let error = plot("compute");
    assert!(
        error.contains("methods of this name, expected one; name "),
        "{error}"
    );
    assert!(
        error.contains("\"flux.flux.compute\" or ") && error.contains("\"states.states.compute\""),
        "{error}"
    );
    let error = plot("flux.comptue");
    assert!(
        error.contains("no calls of it, expected one of "),
        "{error}"
    );
    assert!(
        error.contains("the nearest is \"flux.flux.compute\""),
        "{error}"
    );
    let fit = scratch
        .mastermind(&["fit", "records", "--method", "stats.compute"])
        .error();
    assert!(
        fit.contains("the nearest is \"hydro.") && fit.contains("::states.compute\""),
        "{fit}"
    );
    let predict = scratch.mastermind(&[
        "predict",
        "models.json",
        "--method",
        "compute",
        "--at",
        "q=1",
    ]);
    assert!(
        predict
            .error()
            .contains("methods of this name, expected one")
    );
}
