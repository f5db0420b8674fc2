//! An action as a changed command of the run. Runs the original and the changed one in turns, to measure what an action
//! saves.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Instant;

use anyhow::{Context, bail};
use mastermind_recommend::{Carried, Saving};
use mastermind_records::definition::CircumstancesDefinition;
use mastermind_records::{Run, RunInfo};
use serde::{Serialize, Serializer};

use crate::run_notes::argument;

/// Options of `run` that record, with their number of values: a run for timing does not record.
const RECORDING: [(&str, usize); 9] = [
    ("--records", 1),
    ("--records-limit", 1),
    ("--monitor", 1),
    ("--history", 1),
    ("--commit", 1),
    ("--overwrite", 0),
    ("--mpi-events", 0),
    ("--call-sites", 0),
    ("--cpu", 0),
];

/// Name of the setting that is the number of ranks.
const RANKS: &str = "ranks";

/// A command of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// Environment variables, in addition to the inherited ones.
    variables: Vec<(String, String)>,
    words: Vec<String>,
    folder: Option<PathBuf>,
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separate = "";
        for (name, value) in &self.variables {
            write!(f, "{separate}{name}={}", quoted(value))?;
            separate = " ";
        }
        for word in &self.words {
            write!(f, "{separate}{}", quoted(word))?;
            separate = " ";
        }
        Ok(())
    }
}

impl Serialize for Command {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// How a run was started.
pub struct Carrying {
    /// The circumstances in its log; `None` for a log of an earlier version.
    started: Option<CircumstancesDefinition>,
    /// Whether its ranks were started by a launcher that the log does not name.
    has_launcher: bool,
    assembly: Option<PathBuf>,
    records: PathBuf,
}

impl Carrying {
    /// The records of the run.
    pub fn records(&self) -> &Path {
        &self.records
    }

    /// # Errors
    /// The records cannot be read.
    pub fn of(records: &Path, assembly: Option<&Path>) -> anyhow::Result<Self> {
        let (directory, _) = super::super::profile::selected(records);
        let info = RunInfo::of(&Run::open(directory)?);
        let started = info
            .circumstances
            .first()
            .map(|found| found.started.clone());
        let is_wrapped = started
            .as_ref()
            .is_some_and(|started| started.first_argument.is_some());
        Ok(Self {
            started,
            has_launcher: is_wrapped && info.ranks > 1,
            assembly: assembly.map(Path::to_path_buf),
            records: records.to_path_buf(),
        })
    }

    /// The command of the run, without recording.
    ///
    /// # Arguments
    /// * `launcher` - the command that starts its ranks
    ///
    /// # Errors
    /// The log does not say how the run was started, or which launcher started its ranks.
    pub fn present(&self, launcher: Option<&str>) -> anyhow::Result<Command> {
        let Some(started) = &self.started else {
            bail!(
                "the records do not say how the run was started, expected records of this version"
            );
        };
        if started.words_left_out > 0 {
            bail!(
                "the records lack {} words of a long command line, expected all of it",
                started.words_left_out
            );
        }
        if self.has_launcher && launcher.is_none() {
            bail!(
                "the records do not say what started the ranks of the run, expected --launcher, as in --launcher \"mpirun -n 4\""
            );
        }
        let own = match started.first_argument {
            Some(_) => started.command.clone(),
            None => without_recording(&started.command),
        };
        let launcher = launcher.into_iter().flat_map(str::split_whitespace);
        Ok(Command {
            variables: Vec::new(),
            words: launcher.map(str::to_owned).chain(own).collect(),
            folder: started.folder.as_ref().map(PathBuf::from),
        })
    }

    /// The command of the run with a change.
    ///
    /// # Errors
    /// As [`Carrying::present`]; or no argument of the command line corresponds to the change.
    pub fn changed(&self, change: &Carried, launcher: Option<&str>) -> anyhow::Result<Command> {
        let mut command = match change {
            Carried::Program => bail!(
                "it is a change of the program, expected --after with records of the changed one"
            ),
            Carried::Measure(..) => bail!("it is more runs, which plan --run makes"),
            _ => self.present(launcher)?,
        };
        match change {
            Carried::Replace(changes) => {
                if let (Some(assembly), None) = (&self.assembly, &command.folder) {
                    command.folder = assembly.parent().map(Path::to_path_buf);
                }
                for (instance, class) in changes {
                    drop_replaced(&mut command.words, instance);
                    command
                        .words
                        .extend(["--replace".into(), format!("{instance}={class}")]);
                }
            }
            Carried::Variable(name, value) => command.variables.push((name.clone(), value.clone())),
            Carried::Set(name, value) => self.set(&mut command, name, *value)?,
            Carried::Program | Carried::Measure(..) => {}
        }
        Ok(command)
    }

    fn set(&self, command: &mut Command, name: &str, value: f64) -> anyhow::Result<()> {
        let first_argument = self
            .started
            .as_ref()
            .and_then(|started| started.first_argument);
        let Some(first) = first_argument else {
            match name {
                RANKS => {
                    drop_option(&mut command.words, "--ranks", 1);
                    command.words.extend(["--ranks".into(), value.to_string()]);
                }
                _ => command
                    .words
                    .extend(["--set".into(), format!("{name}={value}")]),
            }
            return Ok(());
        };
        let n_words = self
            .started
            .as_ref()
            .map_or(0, |started| started.command.len());
        let before = command.words.len() - n_words;
        let arguments = command.words.iter_mut().skip(before + first as usize);
        let named = arguments
            .zip(1..)
            .find(|(_, place)| argument(*place) == name);
        match named {
            Some((word, _)) => *word = value.to_string(),
            None if name == RANKS => {
                let Some(place) = command.words[..before]
                    .iter()
                    .position(|word| ["-n", "-np", "--np"].contains(&word.as_str()))
                else {
                    bail!(
                        "--launcher does not say how many ranks it starts, expected \"-n\" and their number"
                    );
                };
                match command.words.get_mut(place + 1) {
                    Some(word) if place + 1 < before => *word = value.to_string(),
                    _ => bail!("--launcher ends with \"-n\", expected a number behind it"),
                }
            }
            None => bail!(
                "\"{name}\" is a name that the run was given, expected the argument of the program that it stands for, as arg:1"
            ),
        }
        Ok(())
    }
}

fn without_recording(command: &[String]) -> Vec<String> {
    let mut words = command.to_vec();
    for (option, values) in RECORDING {
        drop_option(&mut words, option, values);
    }
    words
}

/// Removes an earlier choice of the instance's class from the command.
fn drop_replaced(words: &mut Vec<String>, instance: &str) {
    let is_of = |word: &String| {
        word.split_once('=')
            .is_some_and(|(name, _)| name == instance)
    };
    while let Some(place) =
        (1..words.len()).find(|place| words[place - 1] == "--replace" && is_of(&words[*place]))
    {
        words.drain(place - 1..=place);
    }
}

/// Removes all occurrences of an option and its values from words.
fn drop_option(words: &mut Vec<String>, option: &str, values: usize) {
    let mut place = 0;
    while place < words.len() {
        let rest = words[place].strip_prefix(option);
        match rest {
            Some("") => {
                let end = (place + 1 + values).min(words.len());
                words.drain(place..end);
            }
            Some(rest) if rest.starts_with('=') => {
                words.remove(place);
            }
            _ => place += 1,
        }
    }
}

/// Runs both in turns, so that other work on the machine affects both alike.
///
/// # Returns
/// The saving of the changed one: the difference of the means, with Student's interval if each ran twice or more.
///
/// # Errors
/// One cannot be started, or fails.
pub fn in_turns(present: &Command, changed: &Command, repeat: usize) -> anyhow::Result<Saving> {
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..repeat {
        for (times, command) in times.iter_mut().zip([present, changed]) {
            times.push(time_s(command)?);
        }
    }
    let [before, after] = times;
    Ok(Saving::of_runs(&before, &after))
}

fn time_s(command: &Command) -> anyhow::Result<f64> {
    let act = || format!("cannot run \"{command}\"");
    let mut words = command.words.iter();
    let program = words.next().with_context(act)?;
    // A command of this program may have the path that it had then.
    let is_own = Path::new(program)
        .file_name()
        .is_some_and(|name| name == "mastermind");
    let own = std::env::current_exe().context("cannot find this program")?;
    let mut process = match is_own {
        true => std::process::Command::new(own),
        false => std::process::Command::new(program),
    };
    process.args(words).envs(command.variables.iter().cloned());
    if let Some(folder) = &command.folder {
        process.current_dir(folder);
    }
    // Its output is discarded: a program may print more than memory holds.
    process.stdin(Stdio::null()).stdout(Stdio::null());
    let began = Instant::now();
    let ended = process.output().with_context(act)?;
    let seconds = began.elapsed().as_secs_f64();
    if !ended.status.success() {
        crate::output::message(String::from_utf8_lossy(&ended.stderr).trim_end());
        bail!("{}: {}, expected it to end well", act(), ended.status);
    }
    Ok(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    fn wrapped(ranks: bool) -> Carrying {
        Carrying {
            started: Some(CircumstancesDefinition {
                command: words("./p 4 5"),
                first_argument: Some(1),
                ..CircumstancesDefinition::default()
            }),
            has_launcher: ranks,
            assembly: None,
            records: PathBuf::new(),
        }
    }

    fn text(command: anyhow::Result<Command>) -> String {
        command.map_or_else(
            |error| format!("error: {error}"),
            |command| command.to_string(),
        )
    }

    #[test]
    fn a_run_is_started_again_without_recording() {
        let carrying = Carrying {
            started: Some(CircumstancesDefinition {
                command: words(
                    "mastermind run a.toml --records r --ranks=2 --overwrite --mpi-events --replace flux=Old --set m.n=4",
                ),
                ..CircumstancesDefinition::default()
            }),
            has_launcher: false,
            assembly: None,
            records: PathBuf::new(),
        };
        assert_eq!(
            text(carrying.present(None)),
            "mastermind run a.toml --ranks=2 --replace flux=Old --set m.n=4"
        );
        let replace = Carried::Replace(vec![("flux".into(), "Efm".into())]);
        assert_eq!(
            text(carrying.changed(&replace, None)),
            "mastermind run a.toml --ranks=2 --set m.n=4 --replace flux=Efm"
        );
        let ranks = Carried::Set("ranks".into(), 4.0);
        assert_eq!(
            text(carrying.changed(&ranks, None)),
            "mastermind run a.toml --replace flux=Old --set m.n=4 --ranks 4"
        );
    }

    #[test]
    fn a_wrapped_program_gets_other_arguments_variables_and_ranks() {
        let second = Carried::Set("arg:2".into(), 32.0);
        assert_eq!(text(wrapped(false).changed(&second, None)), "./p 4 32");
        let variable = Carried::Variable("A".into(), "x y".into());
        assert_eq!(
            text(wrapped(false).changed(&variable, None)),
            "A='x y' ./p 4 5"
        );
        let ranks = Carried::Set("ranks".into(), 2.0);
        assert_eq!(
            text(wrapped(true).changed(&ranks, Some("mpirun -n 4 -x A"))),
            "mpirun -n 2 -x A ./p 4 5"
        );
        assert!(wrapped(true).changed(&second, None).is_err());
        assert!(
            wrapped(false)
                .changed(&Carried::Set("n".into(), 1.0), None)
                .is_err()
        );
        assert!(wrapped(false).changed(&Carried::Program, None).is_err());
    }
}
