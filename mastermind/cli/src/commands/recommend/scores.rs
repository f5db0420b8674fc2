//! The results of recommendations, kept in the folder of the history: a file each, so that two writers do not collide.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use mastermind_recommend::Score;

/// The folder in the store. Runs lie next to it, in folders `program=…`.
const FOLDER: &str = "recommendations";

/// The scores of a store.
pub struct Scores(PathBuf);

impl Scores {
    pub fn new(store: &Path) -> Self {
        Self(store.join(FOLDER))
    }

    /// All scores, ordered by the names of their files; none if the store has none. An unreadable one is a warning.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn read(&self) -> anyhow::Result<Vec<Score>> {
        let act = || format!("cannot read recommendations \"{}\"", self.0.display());
        let entries = match fs::read_dir(&self.0) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.with_context(act)?,
        };
        let paths: Result<Vec<PathBuf>, _> = entries
            .map(|entry| entry.map(|entry| entry.path()))
            .collect();
        let mut paths = paths.with_context(act)?;
        paths.retain(|path| path.extension().is_some_and(|end| end == "json"));
        paths.sort();
        let mut scores = Vec::new();
        for path in paths {
            let read =
                || -> anyhow::Result<Score> { Ok(serde_json::from_slice(&fs::read(&path)?)?) };
            match read().with_context(|| format!("cannot read score \"{}\"", path.display())) {
                Ok(score) => scores.push(score),
                Err(error) => output(&error),
            }
        }
        Ok(scores)
    }

    /// Adds a score.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn keep(&self, score: &Score) -> anyhow::Result<()> {
        let act = || format!("cannot keep score in \"{}\"", self.0.display());
        fs::create_dir_all(&self.0).with_context(act)?;
        let text = serde_json::to_string_pretty(score)? + "\n";
        // Written under another name first: a reader never finds an incomplete file.
        let mut file = tempfile::Builder::new()
            .prefix("score-")
            .suffix(".unfinished")
            .tempfile_in(&self.0)
            .with_context(act)?;
        file.write_all(text.as_bytes()).with_context(act)?;
        let path = file.path().with_extension("json");
        file.persist_noclobber(path).with_context(act)?;
        Ok(())
    }
}

fn output(error: &anyhow::Error) {
    crate::output::complain!("{}", crate::errors::warning(error));
}
