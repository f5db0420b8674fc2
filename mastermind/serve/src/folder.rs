//! The one folder that is shown, its entries, and how its files are written. No path leads out of
//! it, not by a link either.
//!
//! The page sends paths, and only by a path could a page reach files outside the folder that it may
//! use. Every path therefore goes through `existing` or `new_file`: parts that lead up or start
//! at the root are refused by their form; the rest is resolved by the system and must lie below the
//! folder, so a link out of it is refused too.
//!
//! ```text
//! page: "a/../../etc/passwd"   refused by form
//! page: "link/secret"          link -> /etc: resolved, refused
//! page: "-o"                   "./-o": a verb would take it for an option
//! ```
//!
//! Files are written whole or not at all: to a temporary file in the same folder that then replaces
//! the old one. The page sends the text that it had read; if the file has changed meanwhile, the
//! write is refused, so no edit in an editor is lost.

use std::fs;
use std::io::{Read, Write};
use std::path::{Component, Path, PathBuf};

use serde::Serialize;

use crate::Error;

/// Folders deeper than this are not listed.
const MAX_DEPTH: usize = 6;

/// Entries beyond this number are not listed.
const MAX_ENTRIES: usize = 2000;

/// Bytes of a file from which its type is detected.
const HEAD: u64 = 64 * 1024;

/// Files longer than this are not shown as text, in bytes.
const MAX_TEXT: u64 = 4 * 1024 * 1024;

/// Type of an entry of the folder, by its name and its first lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// An assembly in TOML.
    Assembly,
    /// An rc script.
    Script,
    /// A program model, a diagram or a schedule.
    Model,
    /// A machine for simulations.
    Machine,
    /// Fitted models.
    Models,
    /// A record directory.
    Records,
    /// A closed queueing network.
    Network,
}

/// A file or record directory of the folder that some verb reads, as the page lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// From the folder, with `/`.
    pub path: String,
    /// Its type.
    pub kind: Kind,
    /// Its last change, in nanoseconds since 1970; for a record directory that of its newest log.
    pub changed_ns: String,
    /// Its size in bytes; for a record directory that of its logs.
    pub bytes: u64,
}

/// Contents of the folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Listing {
    /// By path.
    pub entries: Vec<Entry>,
    /// Whether there is more than is listed.
    pub cut: bool,
}

/// The folder that is served: the only access that the server gives to files, all of them below
/// `root`.
#[derive(Clone, Debug)]
pub struct Folder {
    root: PathBuf,
}

impl Folder {
    /// Opens a folder.
    ///
    /// # Errors
    /// It is no folder, or cannot be read.
    pub fn open(path: &Path) -> Result<Folder, Error> {
        let file = |reason| Error::File {
            act: "open folder",
            path: path.to_owned(),
            reason,
        };
        let root = path.canonicalize().map_err(file)?;
        fs::read_dir(&root).map_err(file)?;
        Ok(Folder { root })
    }

    /// Its path.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A path of an argument: relative to the folder, if it exists within. It begins with `./` if it could be parsed as
    /// an option.
    ///
    /// # Errors
    /// The path leads out of the folder, or to nothing.
    pub fn existing(&self, path: &str) -> Result<PathBuf, Error> {
        let relative = Self::relative(path)?;
        let whole = self.root.join(&relative);
        let real = whole.canonicalize().map_err(|reason| Error::File {
            act: "open",
            path: relative.clone(),
            reason,
        })?;
        self.within(&relative, &real)?;
        Ok(relative)
    }

    /// The path of a file that may not be there yet; its folder has to be.
    ///
    /// # Errors
    /// The path leads out of the folder, its own folder is not there, or it is a link.
    pub fn new_file(&self, path: &str) -> Result<PathBuf, Error> {
        let relative = Self::relative(path)?;
        let whole = self.root.join(&relative);
        if whole.symlink_metadata().is_ok() {
            return self.existing(path);
        }
        let parent = whole.parent().unwrap_or(&self.root);
        let real = parent.canonicalize().map_err(|reason| Error::File {
            act: "open folder of",
            path: relative.clone(),
            reason,
        })?;
        self.within(&relative, &real)?;
        Ok(relative)
    }

    fn within(&self, given: &Path, real: &Path) -> Result<(), Error> {
        if real.starts_with(&self.root) {
            return Ok(());
        }
        Err(Error::Outside {
            path: given.to_owned(),
            found: "a link leads out of it",
        })
    }

    /// The path without parts that lead up or elsewhere.
    fn relative(path: &str) -> Result<PathBuf, Error> {
        let outside = |found| Error::Outside {
            path: PathBuf::from(path),
            found,
        };
        if path.is_empty() || path.contains('\0') {
            return Err(outside("no path"));
        }
        let parts = Path::new(path).components();
        let plain: Option<PathBuf> = parts
            .filter(|part| *part != Component::CurDir)
            .map(|part| matches!(part, Component::Normal(_)).then_some(part))
            .collect();
        let plain = plain.ok_or_else(|| outside("leads out of it"))?;
        Ok(match plain.to_string_lossy() {
            text if text.is_empty() => PathBuf::from("."),
            text if text.starts_with('-') => Path::new(".").join(&plain),
            _ => plain,
        })
    }

    /// The record directories at a path: itself, or all below it.
    ///
    /// # Errors
    /// The path leads out of the folder, or to nothing.
    pub fn runs(&self, path: &str) -> Result<Vec<PathBuf>, Error> {
        let relative = self.existing(path)?;
        if records(&self.root.join(&relative), &relative).is_some() {
            return Ok(vec![relative]);
        }
        let mut below = Listing::default();
        self.list_below(&relative, 0, &mut below);
        let runs = below.entries.into_iter();
        let runs = runs.filter(|entry| entry.kind == Kind::Records);
        Ok(runs.map(|entry| entry.path.into()).collect())
    }

    /// The text of a file.
    ///
    /// # Errors
    /// It is not within the folder, no text, or longer than 4 MiB.
    pub fn text(&self, path: &str) -> Result<String, Error> {
        let relative = self.existing(path)?;
        let failed = |reason| Error::File {
            act: "read",
            path: relative.clone(),
            reason,
        };
        let file = fs::File::open(self.root.join(&relative)).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        if length > MAX_TEXT {
            return Err(failed(std::io::Error::other(format!(
                "{length} bytes, expected at most {MAX_TEXT}"
            ))));
        }
        let mut text = String::new();
        file.take(MAX_TEXT)
            .read_to_string(&mut text)
            .map_err(failed)?;
        Ok(text)
    }

    /// Writes a file, whole or not at all. `was` is its text when it was read, `None` for a file that shall be new.
    ///
    /// # Errors
    /// The file has changed since, or is there although it shall be new; it cannot be written.
    pub fn write(&self, path: &str, was: Option<&str>, text: &str) -> Result<(), Error> {
        let relative = self.new_file(path)?;
        // A link within the folder stays one.
        let whole = self.root.join(&relative);
        let whole = whole.canonicalize().unwrap_or(whole);
        let is = if whole.exists() {
            Some(self.text(path)?)
        } else {
            None
        };
        if is.as_deref() != was {
            return Err(Error::Changed { path: relative });
        }
        let failed = |reason| Error::File {
            act: "write",
            path: relative.clone(),
            reason,
        };
        let folder = whole.parent().unwrap_or(&self.root);
        let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
        file.write_all(text.as_bytes()).map_err(failed)?;
        if let Ok(before) = fs::metadata(&whole) {
            file.as_file()
                .set_permissions(before.permissions())
                .map_err(failed)?;
        } else {
            use std::os::unix::fs::PermissionsExt;
            // As a file that an editor makes, for the usual mask 022.
            let usual = fs::Permissions::from_mode(0o644);
            file.as_file().set_permissions(usual).map_err(failed)?;
        }
        file.as_file().sync_all().map_err(failed)?;
        // A file that was to be new may have been made by another program since the check.
        let kept = match was {
            Some(_) => file.persist(&whole),
            None => file.persist_noclobber(&whole),
        };
        kept.map(drop).map_err(|error| failed(error.error))
    }

    /// The entries of the folder that some verb reads.
    #[must_use]
    pub fn list(&self) -> Listing {
        let mut listing = Listing::default();
        self.list_below(Path::new(""), 0, &mut listing);
        listing
    }

    fn list_below(&self, below: &Path, depth: usize, listing: &mut Listing) {
        let Ok(entries) = fs::read_dir(self.root.join(below)) else {
            return;
        };
        let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
        names.sort();
        for name in names {
            if name.to_string_lossy().starts_with('.') {
                continue;
            }
            if listing.entries.len() >= MAX_ENTRIES {
                listing.cut = true;
                return;
            }
            let relative = below.join(&name);
            let whole = self.root.join(&relative);
            let Ok(metadata) = whole.symlink_metadata() else {
                continue;
            };
            // The target of a link is listed at its own place.
            if metadata.is_dir() {
                if let Some(entry) = records(&whole, &relative) {
                    listing.entries.push(entry);
                } else if depth < MAX_DEPTH {
                    self.list_below(&relative, depth + 1, listing);
                } else {
                    listing.cut = true;
                }
            } else if metadata.is_file()
                && let Some(kind) = kind(&whole)
            {
                listing.entries.push(Entry {
                    path: relative.to_string_lossy().into_owned(),
                    kind,
                    changed_ns: changed_ns(&metadata),
                    bytes: metadata.len(),
                });
            }
        }
    }
}

/// When a file changed last; as text, since the numbers of a page have 53 bits.
fn changed_ns(metadata: &fs::Metadata) -> String {
    let since = metadata
        .modified()
        .ok()
        .and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    since.map_or(0, |since| since.as_nanos()).to_string()
}

/// The entry of a record directory, if it is one: it has logs, loose or packed.
fn records(whole: &Path, relative: &Path) -> Option<Entry> {
    let logs = fs::read_dir(whole).ok()?.flatten().filter(|entry| {
        let name = entry.file_name();
        let end = Path::new(&name).extension();
        end.is_some_and(|end| end == "mmr" || end == "mmp")
    });
    let logs: Vec<_> = logs.filter_map(|entry| entry.metadata().ok()).collect();
    let newest = logs.iter().max_by_key(|log| log.modified().ok())?;
    Some(Entry {
        path: relative.to_string_lossy().into_owned(),
        kind: Kind::Records,
        changed_ns: changed_ns(newest),
        bytes: logs.iter().map(fs::Metadata::len).sum(),
    })
}

/// Type of a file.
fn kind(path: &Path) -> Option<Kind> {
    let ending = path.extension()?.to_str()?.to_ascii_lowercase();
    match ending.as_str() {
        "rc" => Some(Kind::Script),
        "puml" | "plantuml" | "pu" | "iuml" | "wsd" | "uml" | "xmi" | "emx" | "goal" | "mmd"
        | "mermaid" => Some(Kind::Model),
        "toml" => kind_of_toml(&head(path)?),
        "json" => kind_of_json(&head(path)?),
        _ => None,
    }
}

fn head(path: &Path) -> Option<String> {
    let mut head = Vec::new();
    let file = fs::File::open(path).ok()?;
    file.take(HEAD).read_to_end(&mut head).ok()?;
    Some(String::from_utf8_lossy(&head).into_owned())
}

/// By the first tables of a file: those that each reader requires.
fn kind_of_toml(text: &str) -> Option<Kind> {
    let tables: Vec<_> = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix('[')?.split(']').next())
        .map(|name| name.trim_matches(['[', ' ']))
        .collect();
    let has = |name: &str| tables.contains(&name);
    if has("assembly") {
        Some(Kind::Assembly)
    } else if has("model") {
        Some(Kind::Model)
    } else if has("stations") {
        Some(Kind::Network)
    } else if has("network") {
        Some(Kind::Machine)
    } else {
        None
    }
}

fn kind_of_json(text: &str) -> Option<Kind> {
    let start = text.trim_start().strip_prefix('{')?.trim_start();
    if start.starts_with("\"models\"") {
        Some(Kind::Models)
    } else if start.starts_with("\"model\"") {
        Some(Kind::Model)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::{Folder, Kind};
    use crate::Error;

    #[test]
    fn no_path_leads_out() -> Result<(), Box<dyn std::error::Error>> {
        let scratch = tempfile::tempdir()?;
        let inner = scratch.path().join("inner");
        fs::create_dir(&inner)?;
        fs::write(scratch.path().join("secret"), "s")?;
        fs::write(inner.join("a.toml"), "[assembly]\n")?;
        symlink(scratch.path().join("secret"), inner.join("link"))?;
        symlink(scratch.path(), inner.join("up"))?;
        symlink("a.toml", inner.join("b.toml"))?;
        let folder = Folder::open(&inner)?;
        for path in [
            "../secret",
            "/etc/passwd",
            "link",
            "up/secret",
            "a/../../secret",
            "",
            "a\0",
        ] {
            assert!(folder.existing(path).is_err(), "{path:?}");
            assert!(folder.text(path).is_err(), "{path:?}");
            assert!(folder.write(path, None, "x").is_err(), "{path:?}");
            assert!(folder.write(path, Some("s"), "x").is_err(), "{path:?}");
        }
        assert!(folder.write("up/new", None, "x").is_err());
        assert_eq!(fs::read_to_string(scratch.path().join("secret"))?, "s");
        assert_eq!(folder.text("./b.toml")?, "[assembly]\n");
        assert!(folder.existing("-a").is_err());
        fs::write(inner.join("-a"), "")?;
        assert_eq!(folder.existing("-a")?.to_string_lossy(), "./-a");
        Ok(())
    }

    #[test]
    fn what_changed_underneath_is_not_lost() -> Result<(), Box<dyn std::error::Error>> {
        let scratch = tempfile::tempdir()?;
        let folder = Folder::open(scratch.path())?;
        folder.write("a.toml", None, "one")?;
        let again = folder.write("a.toml", None, "two");
        assert!(matches!(again, Err(Error::Changed { .. })), "{again:?}");
        folder.write("a.toml", Some("one"), "two")?;
        let stale = folder.write("a.toml", Some("one"), "three");
        assert!(matches!(stale, Err(Error::Changed { .. })), "{stale:?}");
        assert_eq!(folder.text("a.toml")?, "two");
        fs::remove_file(scratch.path().join("a.toml"))?;
        let gone = folder.write("a.toml", Some("two"), "three");
        assert!(matches!(gone, Err(Error::Changed { .. })), "{gone:?}");
        assert_eq!(fs::read_dir(scratch.path())?.count(), 0);
        Ok(())
    }

    #[test]
    fn entries_are_named_by_what_they_are() -> Result<(), Box<dyn std::error::Error>> {
        let scratch = tempfile::tempdir()?;
        let at = |name: &str| scratch.path().join(name);
        fs::create_dir_all(at("runs/first"))?;
        fs::write(at("runs/first/rank0000-thread00.mmr"), "12")?;
        fs::write(at("a.toml"), "# words\n[assembly]\nname = \"a\"\n")?;
        fs::write(at("m.toml"), "[model]\n")?;
        fs::write(at("models.json"), "{\n \"models\": []}")?;
        fs::write(at("other.json"), "{}")?;
        fs::write(at("s.rc"), "")?;
        let folder = Folder::open(scratch.path())?;
        let listed = folder.list().entries;
        let listed: Vec<_> = listed.iter().map(|e| (e.path.as_str(), e.kind)).collect();
        assert_eq!(
            listed,
            [
                ("a.toml", Kind::Assembly),
                ("m.toml", Kind::Model),
                ("models.json", Kind::Models),
                ("runs/first", Kind::Records),
                ("s.rc", Kind::Script),
            ]
        );
        Ok(())
    }
}
