//! `--try VARIABLE=VALUE` of `run` and `wrap`: the same command twice, without and with an environment variable, and
//! the differences.
//!
//! Both runs are processes of their own, this program with the same arguments: a library reads a variable when it is
//! loaded, and a run cannot begin again in a process that has run.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};
use std::time::Instant;

use anyhow::{Context, bail};
use clap::Args;

use crate::errors::WrongUse;
use crate::session::{assignment, back_end};

/// The option, and the one that each of the two runs gets.
const TRY: &str = "--try";
const RECORDS: &str = "--records";

/// The option that permits overwriting both directories.
const OVERWRITE: &str = "--overwrite";

/// What is tried.
#[derive(Args)]
pub struct TryArguments {
    /// Run twice, as it is and with this variable of the environment, and compare: the second run's records go next to the first's, into
    /// DIR.with-VARIABLE
    #[arg(long = "try", value_name = "VARIABLE=VALUE", value_parser = assignment, conflicts_with = "history")]
    variable: Option<(String, String)>,
}

/// One of the two runs.
struct TimedRun {
    status: ExitStatus,
    seconds: f64,
}

impl TryArguments {
    /// Runs both and compares them.
    ///
    /// # Arguments
    /// * `records` - the record directory; `None` without records
    ///
    /// # Returns
    /// The exit code of the run without the variable; `None` if nothing is to be tried.
    ///
    /// # Errors
    /// A launcher has started this process as a rank; a directory exists already; this program cannot be started.
    pub fn execute(&self, records: Option<&Path>) -> anyhow::Result<Option<ExitCode>> {
        let Some((name, value)) = &self.variable else {
            return Ok(None);
        };
        if back_end::launcher()?.is_some() {
            bail!(WrongUse(
                "cannot try a variable in a rank, which starts once: expected --try before the launcher, as in \
                 mastermind wrap --try VARIABLE=VALUE -- mpirun -n 4 ./program"
            ));
        }
        let with = records.map(|records| directory_with(records, name));
        if let Some(taken) = records
            .into_iter()
            .chain(with.as_deref())
            .find(|path| path.exists())
            && !own_arguments().any(|argument| argument == OVERWRITE)
        {
            bail!(
                "cannot write records into \"{}\": it is there already, expected none; --overwrite drops it",
                taken.display()
            );
        }
        let first = once(records, None)?;
        let second = once(with.as_deref(), Some((name, value)))?;
        crate::output::complain!(
            "as it is: {:.3} s; with {name}={value}: {:.3} s, {}; one run each",
            first.seconds,
            second.seconds,
            ratio(first.seconds, second.seconds)
        );
        if !first.status.success() {
            crate::output::complain!("warning: as it is it ended with {}", first.status);
        }
        if first.status != second.status {
            crate::output::complain!(
                "warning: with {name}={value} it ended with {}, not as without",
                second.status
            );
        }
        if let (Some(records), Some(with)) = (records, with)
            && records.exists()
            && with.exists()
        {
            compare(records, &with)?;
        }
        Ok(Some(super::wrap::end_as(first.status)))
    }
}

/// This program's own arguments, without those of a wrapped program.
fn own_arguments() -> impl Iterator<Item = OsString> {
    std::env::args_os().take_while(|argument| argument != "--")
}

/// The record directory of the run with the variable.
fn directory_with(records: &Path, name: &str) -> PathBuf {
    let mut path = records.as_os_str().to_owned();
    path.push(format!(".with-{name}"));
    path.into()
}

/// How many times as fast the second is.
fn ratio(first: f64, second: f64) -> String {
    match first >= second {
        true => format!("{:.2} times as fast", first / second),
        false => format!("{:.2} times slower", second / first),
    }
}

/// Starts this program with its own arguments except `--try`, with its records in a directory.
fn once(records: Option<&Path>, variable: Option<(&String, &String)>) -> anyhow::Result<TimedRun> {
    let program = std::env::current_exe().context("cannot find this program")?;
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let mut command = Command::new(program);
    command
        .args(without_own(&arguments, records))
        .envs(variable);
    let began = Instant::now();
    let status = command
        .status()
        .context("cannot start this program again")?;
    Ok(TimedRun {
        status,
        seconds: began.elapsed().as_secs_f64(),
    })
}

/// The arguments without `--try`, and with the directory for the records if there is one. Those of a wrapped program,
/// after `--`, stay.
fn without_own(arguments: &[OsString], records: Option<&Path>) -> Vec<OsString> {
    let (verb, rest) = arguments.split_at(1.min(arguments.len()));
    let own = rest.iter().position(|argument| argument == "--");
    let (own, program) = rest.split_at(own.unwrap_or(rest.len()));
    let mut kept = verb.to_vec();
    if let Some(records) = records {
        kept.extend([RECORDS.into(), records.into()]);
    }
    let dropped: &[&str] = match records {
        Some(_) => &[TRY, RECORDS],
        None => &[TRY],
    };
    let mut own = own.iter();
    while let Some(argument) = own.next() {
        match option(argument, dropped) {
            Some(true) => {}
            Some(false) => {
                own.next();
            }
            None => kept.push(argument.clone()),
        }
    }
    kept.extend(program.iter().cloned());
    kept
}

/// Whether an argument is one of these options, and whether its value is in it.
fn option(argument: &OsStr, names: &[&str]) -> Option<bool> {
    let text = argument.to_str()?;
    names
        .iter()
        .find_map(|name| match text.strip_prefix(name)? {
            "" => Some(false),
            value if value.starts_with('=') => Some(true),
            _ => None,
        })
}

/// Shows both runs side by side.
fn compare(first: &Path, second: &Path) -> anyhow::Result<()> {
    let program = std::env::current_exe().context("cannot find this program")?;
    let mut command = Command::new(program);
    command.arg("compare").args([first, second]);
    command
        .status()
        .context("cannot start this program again")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_run_has_the_arguments_but_for_what_is_tried() {
        let words = |text: &str| -> Vec<OsString> { text.split(' ').map(Into::into).collect() };
        let given = words("wrap --try A=1 --records=old --set n=4 -- ./p --try x --records y");
        let expected = words("wrap --records new --set n=4 -- ./p --try x --records y");
        assert_eq!(without_own(&given, Some(Path::new("new"))), expected);
        let given = words("run a.toml --records r --try=A=1");
        assert_eq!(without_own(&given, None), words("run a.toml --records r"));
    }
}
