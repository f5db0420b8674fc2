//! Inputs that fuzzers found interesting go through the generators again.

mod inputs;

use std::fs;
use std::path::Path;

use arbitrary::{Arbitrary, Unstructured};

/// Passes each input of a corpus to the fuzzer's function.
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
fn header() {
    replay("header", |bytes| {
        // As the fuzzer takes its bytes apart.
        let texts = <(&str, &str)>::arbitrary_take_rest(Unstructured::new(bytes));
        inputs::header(texts.expect("two texts"));
    });
}

#[test]
fn sidl() {
    replay("sidl", |bytes| {
        inputs::sidl(&String::from_utf8_lossy(bytes))
    });
}
