//! Creates files of a record directory anew, and never writes through an existing link.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::Path;

use crate::chunk::check_file_size;

/// Creates a file. Removes an existing file of this name first; for a link, removes the link, not its target.
///
/// # Errors
/// The file cannot be created, for example because another process creates it at the same moment, or because a folder
/// has its name.
pub fn create_anew(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    OpenOptions::new().write(true).create_new(true).open(path)
}

/// Writes a file completely or not at all, and without the signal for a file that is too large.
///
/// # Errors
/// It cannot be written; then no part of it stays.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let part = path.with_extension("part");
    let written = check_file_size(bytes.len() as u64)
        .and_then(|()| create_anew(&part))
        .and_then(|mut file| file.write_all(bytes))
        .and_then(|()| fs::rename(&part, path));
    if written.is_err() {
        let _ = fs::remove_file(&part);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_link_is_replaced_and_its_target_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let (target, path) = (folder.path().join("target"), folder.path().join("file"));
        fs::write(&target, "foreign").expect("a file");
        let links: [fn(&Path, &Path) -> io::Result<()>; 2] = [
            |from, to| symlink(from, to),
            |from, to| fs::hard_link(from, to),
        ];
        for link in links {
            link(&target, &path).expect("a link");
            create_anew(&path)
                .and_then(|mut file| file.write_all(b"own"))
                .expect("a file");
            assert_eq!(fs::read_to_string(&target).expect("a file"), "foreign");
            assert_eq!(fs::read_to_string(&path).expect("a file"), "own");
            fs::remove_file(&path).expect("a file");
        }
    }
}
