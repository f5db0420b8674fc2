//! Where results go: a new file, standard output (`-`), or an existing file, which is only replaced with `--force`.
//!
//! A verb that writes anything has [`Force`] among its options. It calls [`Force::check`] before its work, so that
//! nobody waits for a result that cannot be kept, and [`Force::write`] after it:
//!
//! ```ignore
//! self.force.check([self.output.as_deref()], self.json)?;
//! let text = work()?;
//! self.force.write("models", path, text)?;
//! ```
//!
//! A document on standard output has it for itself: tables and notes of the same verb then go to standard error.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use clap::Args;
use tempfile::NamedTempFile;

use crate::errors::WrongUse;
use crate::output;

/// Whether files may be written over.
#[derive(Args, Clone, Copy, Default)]
pub struct Force {
    /// Write over what is there
    #[arg(long)]
    pub force: bool,
}

/// Whether a path means standard output.
pub fn is_standard_output(path: &Path) -> bool {
    path == Path::new("-")
}

impl Force {
    /// Checks, before the work, whether its results can be kept. If one of them goes to standard output, that is
    /// reserved for the document from here on.
    ///
    /// # Arguments
    /// * `outputs` - the requested destinations
    /// * `json` - whether a JSON document is printed as well
    ///
    /// # Errors
    /// A file exists and may not be replaced; two documents are meant for standard output.
    pub fn check<'p>(
        self,
        outputs: impl IntoIterator<Item = Option<&'p Path>>,
        json: bool,
    ) -> anyhow::Result<()> {
        let mut printed = usize::from(json);
        for path in outputs.into_iter().flatten() {
            if is_standard_output(path) {
                printed += 1;
                output::give_to_document();
            } else {
                self.check_file(path)?;
            }
        }
        if printed > 1 {
            bail!(WrongUse(
                "cannot print two documents: both on standard output, expected a file for one of them"
            ));
        }
        Ok(())
    }

    fn check_file(self, path: &Path) -> anyhow::Result<()> {
        // A device or a pipe accepts anything.
        if !self.force && path.is_file() {
            return Err(exists(path));
        }
        Ok(())
    }

    /// Checks that a folder is empty or does not exist yet, before files are written into it.
    ///
    /// # Errors
    /// It is not empty and may not be written into; it cannot be read.
    pub fn check_folder(self, path: &Path) -> anyhow::Result<()> {
        let act = || format!("cannot write into folder \"{}\"", path.display());
        if is_standard_output(path) {
            return Err(anyhow!(
                "cannot write several files to standard output, expected a folder"
            ));
        }
        let mut entries = match fs::read_dir(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            entries => entries.with_context(act)?,
        };
        if !self.force && entries.next().is_some() {
            bail!(
                "{}: it is not empty, expected an empty or a new one; take another name, or --force",
                act()
            );
        }
        Ok(())
    }

    /// Writes a result; one that cannot be written completely leaves the earlier file.
    ///
    /// # Arguments
    /// * `kind` - its name in errors
    ///
    /// # Errors
    /// The file exists and may not be replaced, or cannot be written.
    pub fn write(self, kind: &str, path: &Path, bytes: impl AsRef<[u8]>) -> anyhow::Result<()> {
        let act = || format!("cannot write {kind} \"{}\"", path.display());
        let (mut file, pending) = self.begin(kind, path)?;
        let written = file.write_all(bytes.as_ref()).and_then(|()| file.flush());
        written.with_context(act)?;
        pending.put_in_place()
    }

    /// Begins a result that is written in place; the writer must be flushed.
    fn create(self, kind: &str, path: &Path) -> anyhow::Result<Box<dyn Write + Send>> {
        if is_standard_output(path) {
            return Ok(Box::new(BufWriter::new(output::Document)));
        }
        let file = self.open(path).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => exists(path),
            _ => anyhow::Error::from(error)
                .context(format!("cannot write {kind} \"{}\"", path.display())),
        })?;
        Ok(Box::new(BufWriter::new(file)))
    }

    /// Begins a result that is written piece by piece. It replaces a file only when it is complete
    /// ([`Pending::put_in_place`]), so that a user who interrupts it still has the earlier file.
    ///
    /// # Errors
    /// As [`Force::write`].
    pub fn begin(
        self,
        kind: &str,
        path: &Path,
    ) -> anyhow::Result<(Box<dyn Write + Send>, Pending)> {
        let is_file = !is_standard_output(path) && (path.is_file() || !path.exists());
        // For a link, the file that it leads to is written.
        let target = path.canonicalize().unwrap_or_else(|_| path.into());
        let parent = target.parent().filter(|p| !p.as_os_str().is_empty());
        let made = is_file.then(|| {
            tempfile::Builder::new()
                .prefix(".unfinished-")
                .permissions(Permissions::from_mode(0o666))
                .tempfile_in(parent.unwrap_or(Path::new(".")))
        });
        let is_direct = Pending {
            made: None,
            is_forced: self.force,
        };
        // Where no temporary file can be made next to it, the file itself may still be writable.
        let Some(Ok(made)) = made else {
            return Ok((self.create(kind, path)?, is_direct));
        };
        let writer = made.reopen();
        let writer =
            writer.with_context(|| format!("cannot write {kind} \"{}\"", path.display()))?;
        let pending = Pending {
            made: Some((made, target)),
            is_forced: self.force,
        };
        Ok((Box::new(BufWriter::new(writer)), pending))
    }

    fn open(self, path: &Path) -> io::Result<File> {
        let is_taken = !self.force && (path.is_file() || !path.exists());
        let mut options = OpenOptions::new();
        options.write(true).truncate(true);
        if is_taken {
            // Another program may be as fast.
            return options.create_new(true).open(path);
        }
        options.create(true).open(path)
    }
}

/// A result that is not complete yet; if it is dropped, nothing of it is left.
#[derive(Debug)]
pub struct Pending {
    /// The temporary file, next to the file that it will replace.
    made: Option<(NamedTempFile, PathBuf)>,
    is_forced: bool,
}

impl Pending {
    /// Puts the result in its place; it must be complete and flushed.
    ///
    /// # Errors
    /// The file exists by now and may not be replaced; the system's.
    pub fn put_in_place(self) -> anyhow::Result<()> {
        let Some((made, path)) = self.made else {
            return Ok(());
        };
        let placed = match self.is_forced {
            true => made.persist(&path),
            false => made.persist_noclobber(&path),
        };
        placed
            .map(drop)
            .map_err(|failed| match failed.error.kind() {
                ErrorKind::AlreadyExists => exists(&path),
                _ => anyhow::Error::from(failed.error)
                    .context(format!("cannot write \"{}\"", path.display())),
            })
    }
}

fn exists(path: &Path) -> anyhow::Error {
    anyhow!(
        "cannot write \"{}\": it exists, expected a new file; take another name, or --force",
        path.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_stays_unless_forced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("models.json");
        let (no, yes) = (Force { force: false }, Force { force: true });
        no.check([Some(&*path)], true).unwrap();
        no.write("models", &path, "first").unwrap();
        for refused in [
            no.check([Some(&*path)], false),
            no.write("models", &path, "second"),
        ] {
            let error = refused.unwrap_err().to_string();
            assert!(error.contains("it exists, expected a new file"), "{error}");
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "first");
        yes.check([Some(&*path)], false).unwrap();
        yes.write("models", &path, "2nd").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "2nd");
        // A device accepts anything.
        no.write("models", Path::new("/dev/null"), "third").unwrap();
        let error = no.check_folder(folder.path()).unwrap_err().to_string();
        assert!(error.contains("it is not empty"), "{error}");
        yes.check_folder(folder.path()).unwrap();
        no.check_folder(&folder.path().join("new")).unwrap();
    }

    #[test]
    fn what_was_there_stays_until_what_follows_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("models.json");
        let (no, yes) = (Force { force: false }, Force { force: true });
        let n_files = || fs::read_dir(folder.path()).unwrap().count();
        let write = |force: Force, text: &str| {
            let (mut writer, pending) = force.begin("models", &path).unwrap();
            writer.write_all(text.as_bytes()).unwrap();
            writer.flush().unwrap();
            pending
        };
        write(no, "first").put_in_place().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "first");
        drop(write(yes, "cut"));
        assert_eq!(fs::read_to_string(&path).unwrap(), "first");
        let refused = write(no, "second").put_in_place().unwrap_err();
        assert!(refused.to_string().contains("it exists"), "{refused}");
        let link = folder.path().join("link.json");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let (mut writer, pending) = yes.begin("models", &link).unwrap();
        writer.write_all(b"through the link").unwrap();
        drop(writer);
        pending.put_in_place().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "through the link");
        assert!(link.is_symlink());
        assert_eq!(n_files(), 2, "the file and the link");
        let (mut writer, pending) = no.begin("models", Path::new("/dev/null")).unwrap();
        writer.write_all(b"gone").unwrap();
        pending.put_in_place().unwrap();
    }

    #[test]
    fn standard_output_is_for_one_document() {
        let (no, out) = (Force::default(), Path::new("-"));
        assert!(no.check([Some(out), Some(out)], false).is_err());
        assert!(no.check([Some(out)], true).is_err());
        assert!(no.check_folder(out).is_err());
    }
}
