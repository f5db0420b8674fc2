//! Inputs that fuzzers found interesting, and inputs picked by hand, go through the readers again.

mod inputs;
#[path = "../../../simulation/tests/corpora/replay.rs"]
mod replay;

use std::path::{Path, PathBuf};

fn folder(corpus: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/corpora")
        .join(corpus)
}

#[test]
fn plantuml() {
    replay::replay(&folder("plantuml"), |bytes| {
        inputs::plantuml(&String::from_utf8_lossy(bytes))
    });
}

#[test]
fn mermaid() {
    replay::replay(&folder("mermaid"), |bytes| {
        inputs::mermaid(&String::from_utf8_lossy(bytes))
    });
}

#[test]
fn xmi() {
    replay::replay(&folder("xmi"), |bytes| {
        inputs::xmi(&String::from_utf8_lossy(bytes))
    });
}
