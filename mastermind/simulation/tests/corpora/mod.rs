//! What fuzzers found worth keeping, and what was picked by hand, goes through the readers again.

mod inputs;

use std::fs;
use std::path::Path;

/// Gives each input of a corpus to what the fuzzer runs.
fn replay(corpus: &str, run: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/corpora")
        .join(corpus);
    let mut inputs = 0;
    for entry in fs::read_dir(&folder).expect("a corpus") {
        let path = entry.expect("an input").path();
        println!("{}", path.display());
        run(&fs::read(&path).expect("an input"));
        inputs += 1;
    }
    assert!(inputs >= 20, "{inputs} inputs");
}

#[test]
fn plantuml() {
    replay("plantuml", |bytes| {
        inputs::plantuml(&String::from_utf8_lossy(bytes))
    });
}

#[test]
fn xmi() {
    replay("xmi", |bytes| inputs::xmi(&String::from_utf8_lossy(bytes)));
}

#[test]
fn goal() {
    replay("goal", inputs::goal);
}
