//! Inputs that fuzzers found interesting go through the readers of assemblies and scripts again.

mod inputs;

use std::fs;
use std::path::Path;

/// Passes each input of a corpus to the fuzzer's function.
fn replay(corpus: &str, run: fn(&str)) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/corpora")
        .join(corpus);
    let mut inputs = 0;
    for entry in fs::read_dir(&folder).expect("a corpus") {
        let path = entry.expect("an input").path();
        println!("{}", path.display());
        let bytes = fs::read(&path).expect("an input");
        run(&String::from_utf8_lossy(&bytes));
        inputs += 1;
    }
    assert!(inputs >= 20, "{inputs} inputs");
}

#[test]
fn assembly() {
    replay("assembly", inputs::assembly);
}

#[test]
fn rc() {
    replay("rc", inputs::rc);
}
