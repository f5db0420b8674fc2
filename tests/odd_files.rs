//! Odd files of measurements: each gives a sensible model or one clear error, never a crash.

use std::fs;
use std::path::Path;

use mastermind_tests::Scratch;

/// `expected.tsv` has a line a file: its name, `model` or `error`, and a part of what `fit` says of it.
#[test]
fn odd_files_give_a_model_or_one_clear_error() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/odd");
    let expected = fs::read_to_string(folder.join("expected.tsv")).expect("the list");
    let mut names: Vec<String> = fs::read_dir(&folder)
        .expect("the corpus")
        .map(|entry| {
            entry
                .expect("a file")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .filter(|name| name != "expected.tsv")
        .collect();
    names.sort();
    let listed: Vec<&str> = expected
        .lines()
        .map(|line| line.split('\t').next().expect("a name"))
        .collect();
    assert!(names.len() >= 60, "{} files", names.len());
    assert_eq!(names, listed);
    let scratch = Scratch::new();
    let mut wrong = Vec::new();
    for line in expected.lines() {
        let parts: Vec<&str> = line.split('\t').collect();
        let [name, kind, says] = parts[..] else {
            panic!("{line}");
        };
        let file = folder.join(name).display().to_string();
        let ended = scratch.mastermind(&["fit", &file]);
        let told = match kind {
            "model" => ended.well(),
            _ => {
                let error = ended.error();
                assert_eq!(error.matches("error: ").count(), 1, "{name}: {error}");
                error
            }
        };
        if !told.contains(says) {
            wrong.push(format!("{name}: {told}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
