//! `run --adapt-state FILE`: the learned state of adapted runs, kept from one run to the next.
//!
//! The file records how the classes of an assembly compare, and on which machine and with which libraries. On another
//! processor, or with another number of ranks, none of it is used; if the library of a class has changed, only that
//! class is forgotten. The file is rewritten at the end of a run, completely or not at all: under another name first.
//!
//! ```text
//! mastermind adapt-state 1 5d41402a
//! {"processor":"…","processors":2,"ranks":1,"libraries":{"cols.Lz4":{"bytes":44432,"modified_ns":…}},"learned":…}
//! ```
//!
//! The first line ends with the CRC-32 of what follows.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use anyhow::{Context, bail};
use cca_core::Framework;
use mastermind_composition::adapt::Learned;
use mastermind_machine::processor::identify;
use serde::{Deserialize, Serialize};

/// Prefix of the first line.
const HEADER: &str = "mastermind adapt-state 1 ";

/// File that keeps the learned state, and the present circumstances.
pub struct StateFile {
    path: PathBuf,
    circumstances: Circumstances,
}

/// Circumstances for which a state is valid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Circumstances {
    processor: String,
    processors: usize,
    ranks: i32,
    /// By class.
    libraries: BTreeMap<String, Library>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Library {
    bytes: u64,
    modified_ns: u64,
}

#[derive(Serialize, Deserialize)]
struct State {
    #[serde(flatten)]
    circumstances: Circumstances,
    learned: Learned,
}

impl StateFile {
    /// The file for runs of some classes here.
    pub fn new<'a>(
        path: &Path,
        framework: &Framework,
        ranks: i32,
        classes: impl IntoIterator<Item = &'a String>,
    ) -> Self {
        let available = framework.available_classes();
        let library = |class: &String| {
            let known = available.iter().find(|known| known.name() == class);
            let file = known.map(|known| known.library().to_path_buf());
            let file = file.filter(|file| file.is_file());
            // Classes of the program itself have no library of their own.
            let file = file.or_else(|| std::env::current_exe().ok())?;
            let metadata = fs::metadata(file).ok()?;
            let modified = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
            Some(Library {
                bytes: metadata.len(),
                modified_ns: u64::try_from(modified.as_nanos()).ok()?,
            })
        };
        let libraries = classes.into_iter();
        let libraries = libraries.filter_map(|class| Some((class.clone(), library(class)?)));
        let identity = identify();
        StateFile {
            path: path.to_path_buf(),
            circumstances: Circumstances {
                processor: format!("{} ({})", identity.model, identity.signature),
                processors: identity.processors,
                ranks,
                libraries: libraries.collect(),
            },
        }
    }

    /// The state learned in earlier runs; empty if there is no such file.
    ///
    /// # Returns
    /// Also the classes that are forgotten, in words.
    ///
    /// # Errors
    /// The file cannot be read, is incomplete, or is of other circumstances.
    pub fn read(&self) -> anyhow::Result<(Learned, Vec<String>)> {
        let bytes = match fs::read(&self.path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok((Learned::default(), Vec::new()));
            }
            Err(error) => return Err(error.into()),
        };
        let State {
            circumstances,
            mut learned,
        } = parse(&bytes)?;
        let here = &self.circumstances;
        if (&circumstances.processor, circumstances.processors)
            != (&here.processor, here.processors)
        {
            bail!(
                "it is of {} processors {}, expected {} of {}",
                circumstances.processors,
                circumstances.processor,
                here.processors,
                here.processor
            );
        }
        if circumstances.ranks != here.ranks {
            bail!(
                "it is of {} ranks, expected {}",
                circumstances.ranks,
                here.ranks
            );
        }
        let classes: Vec<String> = learned.classes().map(str::to_owned).collect();
        let mut forgotten = Vec::new();
        for class in classes {
            let now = here.libraries.get(&class);
            if now.is_some() && now != circumstances.libraries.get(&class) {
                learned.forget(&class);
                forgotten.push(format!(
                    "what was learned of {class} is forgotten: its library has changed since"
                ));
            }
        }
        Ok((learned, forgotten))
    }

    /// Keeps the learned state for the next run.
    ///
    /// # Errors
    /// The file cannot be written, or was not made by this command.
    pub fn write(&self, learned: Learned) -> anyhow::Result<()> {
        let act = || format!("cannot write state \"{}\"", self.path.display());
        if fs::read(&self.path).is_ok_and(|old| !is_state(&old) && !old.is_empty()) {
            bail!(
                "{}: there is a file that is no state of adapted runs, expected none or one that --adapt-state made",
                act()
            );
        }
        let state = State {
            circumstances: self.circumstances.clone(),
            learned,
        };
        let body = serde_json::to_vec(&state).with_context(act)?;
        let mut new = self.path.clone().into_os_string();
        new.push(".new");
        let new = PathBuf::from(new);
        let write = || -> io::Result<()> {
            let mut file = File::create(&new)?;
            writeln!(file, "{HEADER}{:08x}", crc32fast::hash(&body))?;
            file.write_all(&body)?;
            file.sync_all()?;
            fs::rename(&new, &self.path)
        };
        let written = write();
        if written.is_err() {
            let _ = fs::remove_file(&new);
        }
        written.with_context(act)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn is_state(bytes: &[u8]) -> bool {
    let n = bytes.len().min(HEADER.len());
    bytes[..n] == HEADER.as_bytes()[..n]
}

fn parse(bytes: &[u8]) -> anyhow::Result<State> {
    if !is_state(bytes) || bytes.is_empty() {
        bail!("it is no state of adapted runs, expected a file that --adapt-state made");
    }
    let end = bytes.iter().position(|byte| *byte == b'\n');
    let Some((head, body)) = end.map(|end| (&bytes[..end], &bytes[end + 1..])) else {
        bail!("it ends in its first line, expected a whole state");
    };
    let sum = std::str::from_utf8(&head[HEADER.len().min(head.len())..]);
    let sum = sum.ok().and_then(|sum| u32::from_str_radix(sum, 16).ok());
    if sum != Some(crc32fast::hash(body)) {
        bail!("it is damaged or not whole: its sum is not that of its first line");
    }
    serde_json::from_slice(body).context("it is of another version")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(directory: &Path, processor: &str, ranks: i32, bytes: u64) -> StateFile {
        let library = Library {
            bytes,
            modified_ns: 7,
        };
        StateFile {
            path: directory.join("state"),
            circumstances: Circumstances {
                processor: processor.into(),
                processors: 2,
                ranks,
                libraries: [("A".into(), library)].into(),
            },
        }
    }

    fn learned() -> Learned {
        let text = r#"{"sites":[{"instance":"flux","is_dispatched":false,"arms":[["flux","A"]],
            "kinds":[{"port_method":"p.m","coordinate":{},"is_own":false,"arms":[{"calls":5.0,"ln_s":-7.25}]}]}]}"#;
        serde_json::from_str(text).expect("what was learned")
    }

    #[test]
    fn a_state_is_read_where_it_is_valid() -> anyhow::Result<()> {
        let directory = tempfile::tempdir()?;
        let own = file(directory.path(), "P", 1, 100);
        assert!(own.read()?.0.is_empty(), "the first run");
        own.write(learned())?;
        assert_eq!(own.read()?, (learned(), Vec::new()));
        let error = |of: StateFile| of.read().expect_err("another").to_string();
        assert!(error(file(directory.path(), "Q", 1, 100)).contains("processors P"));
        assert!(error(file(directory.path(), "P", 4, 100)).contains("1 ranks, expected 4"));
        let (left, forgotten) = file(directory.path(), "P", 1, 101).read()?;
        assert_eq!(forgotten.len(), 1);
        assert_ne!(left, learned());
        Ok(())
    }

    #[test]
    fn what_is_no_whole_state_is_not_read_and_what_is_foreign_not_replaced() -> anyhow::Result<()> {
        let directory = tempfile::tempdir()?;
        let own = file(directory.path(), "P", 1, 100);
        own.write(learned())?;
        let whole = fs::read(own.path())?;
        for n in 0..whole.len() {
            fs::write(own.path(), &whole[..n])?;
            assert!(own.read().is_err(), "{n} bytes");
        }
        for place in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[place] ^= 4;
            fs::write(own.path(), &damaged)?;
            assert!(own.read().is_err(), "byte {place}");
        }
        fs::write(own.path(), &whole[..60])?;
        own.write(learned())?;
        assert_eq!(own.read()?.0, learned(), "a torn one is replaced");
        fs::write(own.path(), "models")?;
        assert!(own.read().is_err());
        let error = own.write(learned()).expect_err("foreign").to_string();
        assert!(error.contains("no state of adapted runs"), "{error}");
        assert_eq!(fs::read(own.path())?, b"models");
        Ok(())
    }
}
