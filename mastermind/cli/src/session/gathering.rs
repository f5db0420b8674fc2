//! Records that are kept on a disk of the node while a run goes on, and gathered at its end.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// A folder of one rank, below one that the ranks of a node share.
///
/// # Arguments
/// * `parent` - the folder that the user names
pub fn local_directory(parent: &Path, rank: i32) -> PathBuf {
    // Earlier runs and simultaneous ones have other process numbers.
    parent.join(format!("mastermind-{}-rank{rank:04}", std::process::id()))
}

/// Moves all files of a rank's folder to where the records of all ranks go, and removes the folder.
///
/// # Errors
/// The file that could not be moved, and why; it and the following ones stay.
pub fn gather(local: &Path, directory: &Path) -> Result<(), (PathBuf, io::Error)> {
    let failed = |path: &Path| {
        let path = path.to_path_buf();
        |error| (path, error)
    };
    for entry in fs::read_dir(local).map_err(failed(local))? {
        let from = entry.map_err(failed(local))?.path();
        let Some(name) = from.file_name() else {
            continue;
        };
        move_file(&from, &directory.join(name)).map_err(failed(&from))?;
    }
    fs::remove_dir(local).map_err(failed(local))
}

fn move_file(from: &Path, to: &Path) -> io::Result<()> {
    match fs::rename(from, to) {
        Err(error) if error.kind() == ErrorKind::CrossesDevices => {}
        moved => return moved,
    }
    // A reader sees the complete file or none.
    let mut part = to.as_os_str().to_owned();
    part.push(".part");
    let copied = fs::copy(from, &part).and_then(|_| fs::rename(&part, to));
    if copied.is_err() {
        let _ = fs::remove_file(&part);
    }
    copied?;
    fs::remove_file(from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_files_are_moved_and_the_folder_is_gone() {
        let folder = std::env::temp_dir().join(format!("mastermind-gather-{}", std::process::id()));
        let (local, directory) = (local_directory(&folder, 3), folder.join("records"));
        assert!(local.ends_with(format!("mastermind-{}-rank0003", std::process::id())));
        for folder in [&local, &directory] {
            fs::create_dir_all(folder).unwrap();
        }
        fs::write(local.join("a"), "1").unwrap();
        fs::write(local.join("b"), "2").unwrap();
        gather(&local, &directory).unwrap();
        assert_eq!(fs::read_to_string(directory.join("b")).unwrap(), "2");
        assert!(!local.exists());
        assert_eq!(gather(&local, &directory).unwrap_err().0, local);
        fs::remove_dir_all(&folder).unwrap();
    }
}
