//! The samples in Criterion's folder, `target/criterion`.
//!
//! A benchmark has a folder of its own, up to three levels deep, with a folder for each measurement: `new` is the last
//! one, `base` the one before. Only `new` is read, so that no benchmark counts twice; `base`, or a measurement that was
//! saved under a name, is read if it is named.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const BENCHMARK: &str = "benchmark.json";
const SAMPLE: &str = "sample.json";

/// Maximum depth of folders that are searched: `criterion/GROUP/FUNCTION/VALUE/new`, and some for a parent that is
/// named. Arbitrary.
const MAX_DEPTH: usize = 8;

/// `benchmark.json` and `sample.json` of each benchmark below a folder, or of the one whose folder it is; empty if
/// there is none.
///
/// # Errors
/// A folder cannot be read.
pub fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let of_folder = of(folder);
    if !of_folder.is_empty() {
        return Ok(of_folder);
    }
    let mut found = Vec::new();
    look(folder, MAX_DEPTH, &mut found)?;
    Ok(found)
}

/// The pair that a file belongs to; empty if it belongs to none.
pub fn pair(file: &Path) -> Vec<PathBuf> {
    let is_one = file
        .file_name()
        .is_some_and(|name| name == BENCHMARK || name == SAMPLE);
    match file.parent() {
        Some(folder) if is_one => of(folder),
        _ => Vec::new(),
    }
}

fn of(folder: &Path) -> Vec<PathBuf> {
    let both = [folder.join(BENCHMARK), folder.join(SAMPLE)];
    match both.iter().all(|path| path.is_file()) {
        true => both.to_vec(),
        false => Vec::new(),
    }
}

/// Adds the pairs of the folders `new` below a folder, in the order of their names; links are not followed.
fn look(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) -> io::Result<()> {
    let mut folders = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            folders.push(entry.path());
        }
    }
    folders.sort();
    for folder in folders {
        if folder.ends_with("new") {
            found.extend(of(&folder));
        }
        if depth > 1 {
            look(&folder, depth - 1, found)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_measurement_of_each_benchmark_counts() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("criterion");
        for at in ["g/f/8/new", "g/f/8/base", "h/new", "report"] {
            fs::create_dir_all(folder.join(at)).unwrap();
            for file in [BENCHMARK, SAMPLE] {
                fs::write(folder.join(at).join(file), "{}").unwrap();
            }
        }
        let of_all = files(&folder).unwrap();
        let expected = ["g/f/8/new", "h/new"].map(|at| of(&folder.join(at)));
        assert_eq!(of_all, expected.concat());
        let base = folder.join("g/f/8/base");
        assert_eq!(files(&base).unwrap(), of(&base));
        assert_eq!(pair(&base.join(SAMPLE)), of(&base));
        assert!(pair(&base.join("estimates.json")).is_empty());
        assert!(
            files(
                &folder
                    .join("report")
                    .join("..")
                    .join("g")
                    .join("f")
                    .join("8")
                    .join("none")
            )
            .is_err()
        );
    }
}
