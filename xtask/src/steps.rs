//! One step of a command: a heading, a program with its output passed through, the time it took.

use std::fmt;
use std::io::{self, BufRead, BufReader};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Instant;

/// Why a command of `xtask` ended early.
#[derive(Debug)]
pub enum StepError {
    /// The program of a step cannot be started.
    Start {
        title: String,
        program: String,
        source: io::Error,
    },
    /// The program of a step ended with an error.
    Failed { title: String, status: ExitStatus },
    /// A file or folder cannot be read or written.
    File {
        act: &'static str,
        path: String,
        source: io::Error,
    },
    /// Steps failed that do not need one another.
    Several { failed: Vec<StepError> },
    /// A required property does not hold.
    Refuted { what: &'static str },
    /// No such command.
    Usage { found: String, usage: &'static str },
}

impl fmt::Display for StepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start {
                title,
                program,
                source,
            } => {
                write!(
                    f,
                    "step \"{title}\" failed: cannot start \"{program}\": {source}"
                )
            }
            Self::Failed { title, status } => write!(f, "step \"{title}\" failed: {status}"),
            Self::File { act, path, source } => write!(f, "cannot {act} \"{path}\": {source}"),
            Self::Several { failed } => {
                let failures: Vec<_> = failed.iter().map(ToString::to_string).collect();
                f.write_str(&failures.join("\nxtask: "))
            }
            Self::Refuted { what } => write!(f, "{what}"),
            Self::Usage { found, usage } => write!(f, "unknown command \"{found}\"\n\n{usage}"),
        }
    }
}

impl std::error::Error for StepError {}

/// Runs `command` under the heading `title`, whose first line is repeated at the end; it inherits our output, and its
/// input is empty.
///
/// # Errors
/// [`StepError::Start`] if the program cannot be started, [`StepError::Failed`] if it does not
/// end with success.
pub fn run_step(title: &str, command: &mut Command) -> Result<(), StepError> {
    println!("\n==> {title}");
    let start = Instant::now();
    let status = command
        .stdin(Stdio::null())
        .status()
        .map_err(|source| StepError::Start {
            title: title.to_owned(),
            program: command.get_program().to_string_lossy().into_owned(),
            source,
        })?;
    if !status.success() {
        return Err(StepError::Failed {
            title: title.to_owned(),
            status,
        });
    }
    let heading = title.lines().next().unwrap_or(title);
    println!("    {heading}: {:.1} s", start.elapsed().as_secs_f64());
    Ok(())
}

/// As [`run_step`], and returns the program's standard output, which is also copied to ours.
///
/// # Errors
/// As [`run_step`].
pub fn run_step_collecting(title: &str, command: &mut Command) -> Result<String, StepError> {
    let (text, status) = run_step_judged(title, command)?;
    if status.success() {
        return Ok(text);
    }
    Err(StepError::Failed {
        title: title.to_owned(),
        status,
    })
}

/// As [`run_step_collecting`], and leaves the exit status to the caller.
///
/// # Errors
/// [`StepError::Start`] if the program cannot be started.
pub fn run_step_judged(
    title: &str,
    command: &mut Command,
) -> Result<(String, ExitStatus), StepError> {
    println!("\n==> {title}");
    let start = Instant::now();
    let program = command.get_program().to_string_lossy().into_owned();
    let failed = |source| StepError::Start {
        title: title.to_owned(),
        program: program.clone(),
        source,
    };
    let command = command.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().map_err(failed)?;
    let mut text = String::new();
    if let Some(output) = child.stdout.take() {
        for line in BufReader::new(output).lines() {
            let line = line.map_err(failed)?;
            println!("{line}");
            text += &line;
            text += "\n";
        }
    }
    let status = child.wait().map_err(failed)?;
    println!("    {title}: {:.1} s", start.elapsed().as_secs_f64());
    Ok((text, status))
}

/// Output of a program (standard output, then standard error) if it can be started and succeeds.
pub fn output_of(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .ok()?;
    output.status.success().then(|| {
        let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.push_str(&String::from_utf8_lossy(&output.stderr));
        text
    })
}
