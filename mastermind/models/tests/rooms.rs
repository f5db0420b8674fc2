//! The six rooms of this crate use each other one way.

use std::fs;
use std::path::{Path, PathBuf};

/// Each room uses only those before it.
const ROOMS: [&str; 6] = [
    "formula", "samples", "solve", "families", "select", "predict",
];

#[test]
fn rooms_use_only_those_before_them() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = Vec::new();
    for (place, room) in ROOMS.iter().enumerate() {
        let files = files(&source.join(room));
        assert!(files.len() > 3, "{room}: {} files", files.len());
        for file in files {
            let text = fs::read_to_string(&file).unwrap();
            for later in &ROOMS[place + 1..] {
                // Links of doc comments may go anywhere.
                let code = text
                    .lines()
                    .filter(|line| !line.trim_start().starts_with("//"));
                let named = format!("crate::{later}::");
                if code.clone().any(|line| line.contains(&named)) {
                    wrong.push(format!("{}: {later}", file.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut list = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => list.extend(files(&path)),
            false => list.push(path),
        }
    }
    list
}
