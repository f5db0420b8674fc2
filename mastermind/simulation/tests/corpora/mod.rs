//! Inputs that fuzzers found interesting, and inputs picked by hand, go through the reader of schedules
//! again.

mod inputs;
mod replay;

use std::path::Path;

#[test]
fn goal() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpora/goal");
    replay::replay(&folder, inputs::goal);
}
