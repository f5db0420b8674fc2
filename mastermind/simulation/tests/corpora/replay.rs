//! Passes each input of a corpus to the fuzzer's function.

use std::fs;
use std::path::Path;

/// Runs all files of a folder, at least twenty.
pub fn replay(folder: &Path, run: fn(&[u8])) {
    let mut inputs = 0;
    for entry in fs::read_dir(folder).expect("a corpus") {
        let path = entry.expect("an input").path();
        println!("{}", path.display());
        run(&fs::read(&path).expect("an input"));
        inputs += 1;
    }
    assert!(inputs >= 20, "{inputs} inputs");
}
