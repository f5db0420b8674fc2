//! Runs a question and returns its output.

use std::ffi::OsString;
use std::path::Path;
use std::process::Stdio;

use serde::Serialize;
use serde_json::value::RawValue;
use tokio::io::AsyncReadExt;
use tokio::process::Command;

use crate::Error;
use crate::questions::shown;

/// A program that prints more is ended, in bytes: a browser shows no document as long.
const MAX_ANSWER: u64 = 64 * 1024 * 1024;

/// Answer of a verb.
#[derive(Clone, Debug, Serialize)]
pub struct Answer {
    /// The command line that gives the same, from the folder that is served.
    pub command: String,
    /// Its exit code; `None` where a signal ended it.
    pub code: Option<i32>,
    /// The document it printed, as it is.
    pub answer: Option<Box<RawValue>>,
    /// Its output, if that is no JSON: a picture.
    pub text: Option<String>,
    /// Its output on the standard error, one per line: notes, warnings, errors.
    pub notes: Vec<String>,
}

impl Answer {
    /// Puts another path for one in the command line and the notes.
    pub fn rename(&mut self, path: &str, to: &str) {
        for text in self.notes.iter_mut().chain([&mut self.command]) {
            *text = text.replace(path, to);
        }
    }
}

/// The program with arguments, as every child of the server runs: in the served folder, without input, its output read.
pub fn command_of(program: &Path, folder: &Path, arguments: &[OsString]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder);
    command.env("NO_COLOR", "1").stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs the program. Dropping the future ends it.
///
/// # Errors
/// It cannot be started, or prints more than 64 MiB.
pub async fn ask(program: &Path, folder: &Path, arguments: &[OsString]) -> Result<Answer, Error> {
    let command = shown(arguments);
    let failed = |found: String| Error::Program {
        command: command.clone(),
        found,
    };
    let mut child = command_of(program, folder, arguments)
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| failed(error.to_string()))?;
    let (mut printed, mut notes) = (Vec::new(), Vec::new());
    let (Some(out), Some(err)) = (child.stdout.take(), child.stderr.take()) else {
        return Err(failed("it has no output".to_owned()));
    };
    // One byte beyond the limit, so that a full answer is not treated as a truncated one.
    let (mut out, mut err) = (out.take(MAX_ANSWER + 1), err.take(MAX_ANSWER + 1));
    let both = tokio::try_join!(out.read_to_end(&mut printed), err.read_to_end(&mut notes));
    both.map_err(|error| failed(error.to_string()))?;
    if printed.len().max(notes.len()) as u64 > MAX_ANSWER {
        return Err(failed(format!(
            "it prints more than {MAX_ANSWER} bytes; run it in a terminal"
        )));
    }
    let ended = child
        .wait()
        .await
        .map_err(|error| failed(error.to_string()))?;
    let printed = String::from_utf8_lossy(&printed).into_owned();
    let (answer, text) = match serde_json::from_str(&printed) {
        Ok(document) => (Some(document), None),
        Err(_) => (None, Some(printed).filter(|text| !text.is_empty())),
    };
    Ok(Answer {
        code: ended.code(),
        answer,
        text,
        notes: String::from_utf8_lossy(&notes)
            .lines()
            .map(str::to_owned)
            .collect(),
        command,
    })
}
