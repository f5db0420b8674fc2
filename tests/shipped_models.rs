//! Models that come with a component: they are used where none were fitted here, and the output says so.

use std::fs;
use std::os::unix::fs::symlink;

use mastermind_tests::{Scratch, bin_dir};
use serde_json::Value;

#[test]
fn models_next_to_a_library_count_until_there_are_own_ones() {
    let scratch = Scratch::new();
    // A vendor's folder: one flux, with the models of its times at the vendor's.
    fs::create_dir(scratch.path("vendor")).expect("a folder");
    let library = "libhydro_efm_flux.so";
    let vendors = scratch.path(&format!("vendor/{library}"));
    let own = bin_dir().join(library);
    symlink(&own, &vendors).expect("a link");
    let [own, vendors] = [own, vendors].map(|path| path.display().to_string());
    let edits = [
        (own.as_str(), vendors.as_str()),
        ("end_time = 0.85", "end_time = 0.03"),
        (", \"hydro.EfmFluxC\"]", "]"),
        ("states = [", "# states = ["),
    ];
    let assembly = scratch.example("shock/shock.toml", &[], &edits);
    let record = |records: &str, more: &[&str]| {
        let run = scratch.verb("run", &assembly, &[&["--records", records], more].concat());
        run.well();
    };
    record("godunov", &[]);
    record("efm", &["--replace", "flux=hydro.EfmFlux"]);
    scratch
        .mastermind(&["fit", "godunov", "-o", "own.json"])
        .well();
    let fit = ["fit", "efm", "-o", "vendor/libhydro_efm_flux.models.json"];
    scratch.mastermind(&fit).well();
    let choose = |models: &str, more: &[&str]| {
        let models = ["--models", models, "--records", "godunov"];
        scratch.verb("choose", &assembly, &[&models[..], more].concat())
    };

    let ended = choose("own.json", &[]);
    let note = "note: models of hydro.EfmFlux came with its library, ";
    assert!(ended.stderr.contains(note), "{ended:#?}");
    let output = ended.well();
    assert!(output.contains("hydro.EfmFlux "), "{output}");
    let json = choose("own.json", &["--json"]).well();
    let chosen: Value = serde_json::from_str(&json).expect("JSON");
    let shipped = chosen["shipped_models"].as_array().expect("a list");
    // Only missing models are taken: the other classes that were recorded there have their own.
    assert_eq!(shipped.len(), 1, "{json}");
    assert_eq!(shipped[0]["class"], "hydro.EfmFlux");
    assert!(
        chosen["predicted_s"].as_f64() > Some(0.0) && chosen["interval_s"].is_array(),
        "{json}"
    );

    // With own models of the class nothing is taken from the vendor.
    let fit = ["fit", "godunov", "efm", "-o", "both.json"];
    scratch.mastermind(&fit).well();
    let ended = choose("both.json", &[]);
    assert!(!ended.stderr.contains("came with"), "{ended:#?}");
    ended.well();

    // A file that holds no models is an error; without the library next to it, it belongs to nobody.
    let broken = "vendor/libhydro_efm_flux.models.json";
    scratch.write(broken, "{\"models\": 3}");
    let error = choose("own.json", &[]).error();
    assert!(
        error.contains("cannot read models \"") && error.contains("libhydro_efm_flux.models.json"),
        "{error}"
    );
    fs::remove_file(&vendors).expect("the link");
    let ended = choose("own.json", &[]);
    let lacking = "warning: not chosen from: ";
    assert!(ended.stderr.contains(lacking), "{ended:#?}");
}
