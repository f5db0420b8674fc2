//! How an error is worded: `error: …`, its causes indented under it.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::Path;

use cca_core::AssemblyProblems;

use crate::near;
use crate::session::framework::Quiet;

/// Options that do not go together, which the parser cannot detect.
#[derive(Debug)]
pub struct WrongUse(pub &'static str);

impl fmt::Display for WrongUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl Error for WrongUse {}

/// An error with its causes, a line each; for an assembly, every problem with its causes, or a single problem by
/// itself.
pub fn worded(error: &anyhow::Error) -> String {
    if error.is::<Quiet>() {
        return String::new();
    }
    let mut text = String::from("error: ");
    write(&mut text, error.as_ref(), 0, "");
    text
}

/// The text of a warning: a problem that does not prevent the work, worded as an error is.
pub fn warning(error: &anyhow::Error) -> String {
    let mut text = String::from("warning: ");
    write(&mut text, error.as_ref(), 0, "");
    text
}

/// # Arguments
/// * `above` - the message of the error of which this is the cause
fn write(text: &mut String, error: &(dyn Error + 'static), depth: usize, above: &str) {
    if let Some(AssemblyProblems { problems, .. }) = error.downcast_ref()
        && let [problem] = &problems[..]
    {
        return write(text, problem.as_ref(), depth, above);
    }
    let indent = "  ".repeat(depth + 1);
    let message = error.to_string();
    let message = message.trim_end().to_owned() + &hint(error, &message, above);
    let lines: Vec<_> = message.trim_end().lines().collect();
    *text += &lines.join(&format!("\n{indent}"));
    *text += "\n";
    if let Some(problems) = error.downcast_ref::<AssemblyProblems>() {
        for problem in &problems.problems {
            *text += &indent;
            write(text, problem.as_ref(), depth + 1, &message);
        }
    }
    if let Some(source) = error.source() {
        *text += &indent;
        write(text, source, depth + 1, &message);
    }
}

/// A suggestion of the intended name, for a missing file, and for a message that lists the known names.
fn hint(error: &(dyn Error + 'static), message: &str, above: &str) -> String {
    let io = error.downcast_ref::<io::Error>();
    match io.filter(|error| error.kind() == io::ErrorKind::NotFound) {
        Some(_) => {
            near::last_quoted(above).map_or_else(String::new, |path| near::file(Path::new(path)))
        }
        None => near::named(message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_indented_under_their_error() {
        let error = anyhow::anyhow!("no such file\nat all").context("cannot read assembly \"a\"");
        let expected = "error: cannot read assembly \"a\"\n  no such file\n    at all\n";
        assert_eq!(worded(&error), expected);
    }
}
