//! The Rust source of models, as golden files: `BLESS=1` writes them.

use std::fs;
use std::path::Path;

use mastermind_diagrams::read_plantuml;
use mastermind_models::ModelSet;
use mastermind_programs::transform::{TransformError, transform};
use mastermind_programs::{Model, read_toml};

fn is_golden(name: &str, model: &Model, models: &ModelSet) {
    let source = transform(model, models).expect("a source");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/transform");
    let path = path.join(format!("{name}.rs"));
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, &source).expect("the golden file is written");
    }
    let golden = fs::read_to_string(&path).expect("a golden file");
    assert_eq!(source, golden, "{name}: BLESS=1 takes the new source");
}

/// The second Performance Prophet paper's Figures 7 and 8.
#[test]
fn the_sample_of_the_paper() {
    let diagram = include_str!("../../../examples/sample/sample.puml");
    let reading = read_plantuml(diagram).expect("a diagram");
    is_golden("sample", &reading.model, &ModelSet::default());
}

#[test]
fn the_sweep() {
    let text = include_str!("../../../examples/sweep3d/sweep3d.toml");
    let model = read_toml(text).expect("a model");
    is_golden("sweep3d", &model, &ModelSet::default());
}

#[test]
fn costs_of_fitted_models() {
    let text = include_str!("transformed/fitted.toml");
    let models = include_str!("../../../tests/golden/transform/models.json");
    let models = ModelSet::from_json(models).expect("models");
    is_golden("fitted", &read_toml(text).expect("a model"), &models);
}

#[test]
fn everything_a_model_may_have() {
    let text = include_str!("transformed/features.toml");
    let model = read_toml(text).expect("a model");
    is_golden("features", &model, &ModelSet::default());
}

#[test]
fn what_has_no_rust_form_is_refused() {
    let model = |cost: &str| {
        let text = format!(
            "[model]\nname = \"m\"\nmain = \"Main\"\n[activities.Main]\nflow = [{{ action = \"a\", cost = '{cost}' }}]\n"
        );
        read_toml(&text).expect("a model")
    };
    let transform = |model: &Model| transform(model, &ModelSet::default());
    let error = transform(&model("unknown + 1")).expect_err("an unknown name");
    assert!(matches!(&error, TransformError::Unsound(_)), "{error}");
    assert_eq!(error.findings().len(), 1);
    let asks = "chance(0.5) ? 1 : 2";
    assert!(transform(&model(asks)).is_err(), "only conditions may ask");
    let error = transform(&model("model(\"f\", n = 1)")).expect_err("no fitted models are given");
    assert!(
        error.to_string().starts_with("cannot transform "),
        "{error}"
    );
}

#[test]
fn what_only_the_run_knows_has_no_source() {
    for element in [
        "{ recv = \"r\", from = \"any\", sender = \"who\" }",
        "{ waitany = \"w\", sender = \"who\" }",
    ] {
        let text = format!(
            "[model]\nname = \"m\"\nmain = \"Main\"\n[globals]\nwho = 0\n[activities.Main]\nflow = [{element}]\n"
        );
        let model = read_toml(&text).expect("a model");
        let error = transform(&model, &ModelSet::default()).expect_err("no source");
        let expected = "of \"Main\" to Rust: a sender that only the run determines";
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn what_holds_with_a_probability_has_no_source() {
    let text = "[model]\nname = \"m\"\nmain = \"Main\"\n[activities.Main]\nflow = [{ decision = \"d\", branches = [{ guard = \"chance(0.5)\", body = [{ action = \"a\", cost = 1 }] }, { body = [] }] }]\n";
    let model = read_toml(text).expect("a model");
    let error = transform(&model, &ModelSet::default()).expect_err("no source");
    assert!(error.to_string().contains("with a probability"), "{error}");
}
