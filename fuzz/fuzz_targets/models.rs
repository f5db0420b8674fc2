//! Any text as a file of models: read, and asked for a prediction, without a panic.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mastermind_models::{Coordinate, ModelSet, predict};

fuzz_target!(|text: &str| {
    let Ok(models) = ModelSet::from_json(text) else {
        return;
    };
    for model in &models.models {
        let mut coordinate = Coordinate::new();
        for (name, label) in &model.mode {
            coordinate = coordinate.with(name, label.as_str());
        }
        for name in model.range.keys() {
            coordinate = coordinate.with(name, 2.0);
        }
        let _ = predict(model, &coordinate);
    }
});
