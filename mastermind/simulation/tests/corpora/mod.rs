//! What fuzzers found worth keeping, and what was picked by hand, goes through the reader of schedules again.

mod inputs;
mod replay;

use std::path::Path;

#[test]
fn goal() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpora/goal");
    replay::replay(&folder, inputs::goal);
}
