//! Texts that must stay as they are: `tests/golden/`, rewritten with `BLESS=1`.

use std::fs;

use crate::root;

/// Checks that `text` equals `tests/golden/<name>.txt`.
///
/// # Panics
/// If it differs.
#[track_caller]
pub fn assert_golden(name: &str, text: &str) {
    let path = root().join(format!("tests/golden/{name}.txt"));
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, text).expect("a golden file");
        return;
    }
    let golden = fs::read_to_string(&path).unwrap_or_default();
    let shown = path.display();
    assert!(
        text == golden,
        "not as in {shown}; if this is right, write it with BLESS=1\n--- found\n{text}\n--- expected\n{golden}"
    );
}
